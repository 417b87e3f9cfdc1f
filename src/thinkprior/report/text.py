"""Text of others on the page: shown as it is, and doing nothing."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_REPLACEMENT = "\ufffd"


def visible(text: str) -> str:
    """Text without characters that a browser would obey or hide.

    Controls, direction marks and lone surrogates become the replacement character, every kind of
    space a plain one; line ends and tabs stay.
    """
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return " " if character.isspace() else _REPLACEMENT


def breakable(name: str) -> Markup:
    """A name or path, which may be broken after an underscore, dot, colon or slash."""
    return Markup(re.sub("([_.:/])", r"\1<wbr>", str(escape(visible(name)))))
