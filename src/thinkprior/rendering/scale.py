"""What produced the numbers of a table or figure."""

from dataclasses import dataclass

from thinkprior.errors import InputError


@dataclass(frozen=True)
class Scale:
    """The scale that every caption, figure and CSV names, so that none passes for the paper's.

    Attributes:
        name: The scale's name, which the column `scale` of every CSV holds.
        note: A sentence on the models and problems behind the numbers.

    Raises:
        InputError: For a blank name or note.
    """

    name: str
    note: str

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.note.strip():
            raise InputError(f"a scale needs a name and a note on its models, not {self!r}")
