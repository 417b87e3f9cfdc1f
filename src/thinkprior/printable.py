"""Text of others on a terminal and in a log: seen as it is, and obeyed by nothing.

Ids of a data file, answers of a model and names of files stand in messages. A control character in
one of them could clear the screen, colour it, turn the direction of the writing, or, as a line end,
pass for a message of its own.
"""

from __future__ import annotations

LONGEST_LINE = 2000
"""Characters of a line; of a longer one the middle is left out."""


def one_line(text: str) -> str:
    r"""Text as one line: what does not print stands as its escape, such as `\x1b` or `\n`."""
    return _cut("".join(map(_printable, text)))


def lines(text: str) -> str:
    """Text of several lines, each as `one_line` gives it, all but the first indented.

    So none of them passes for the beginning of a message. Applied again it changes nothing.
    """
    first, *rest = [one_line(line.rstrip("\r")) for line in text.split("\n")]
    return "\n".join([first, *(line if line[:1] in ("", " ") else f"  {line}" for line in rest)])


def _printable(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def _cut(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    half = LONGEST_LINE // 2
    return f"{line[:half]} [{len(line) - 2 * half} characters left out] {line[-half:]}"
