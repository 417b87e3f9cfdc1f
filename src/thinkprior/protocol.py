"""How accuracies are measured: what has to be said beside every one of them."""

from __future__ import annotations

from dataclasses import dataclass

BOX_RULE = r"the last complete \boxed{}, braces matched; without one the answer is wrong"


@dataclass(frozen=True)
class Protocol:
    r"""An evaluation protocol; decoding is greedy, one answer a problem.

    Attributes:
        template: the prompt, with {problem} where the problem goes.
        max_new_tokens: the cap on an answer, its end token included.
        max_prompt_tokens: longer prompts are cut to their last so many tokens.
        stop: texts that end an answer, besides the model's end token.
        box_rule: which part of a reply is its answer.
    """

    template: str
    max_new_tokens: int
    max_prompt_tokens: int
    stop: tuple[str, ...] = ()
    box_rule: str = BOX_RULE

    def statement(self) -> str:
        """The protocol in plain text, for captions and notes."""
        ends = " or ".join(["the model's end token", *map(repr, self.stop)])
        return (
            f"Greedy decoding, one answer a problem. Prompt: {self.template!r}, cut to its last "
            f"{self.max_prompt_tokens} tokens. An answer ends at {ends}, or is cut off "
            f"after {self.max_new_tokens} tokens. What counts is {self.box_rule}."
        )
