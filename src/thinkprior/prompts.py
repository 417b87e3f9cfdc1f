"""How a problem becomes a prompt."""

from __future__ import annotations

from dataclasses import dataclass

from thinkprior.errors import InputError


@dataclass(frozen=True)
class Template:
    """A prompt template.

    Attributes:
        text: the prompt, with `{problem}` where the problem's text goes.
    """

    text: str

    def __post_init__(self) -> None:
        if "{problem}" not in self.text:
            raise InputError(f"prompt template {self.text!r} must contain {{problem}}.")

    def prompt(self, problem: str) -> str:
        """The prompt of a problem; braces in the problem stay as they are."""
        return self.text.replace("{problem}", problem)
