"""Docstrings of discreet are plain text: what looks like markup in them is mathematics.

Words between single backticks are code, paragraphs that are indented are set as they stand, and everything
else means just what it says.
"""

import re
from itertools import groupby
from typing import Any

from sphinx.application import Sphinx

ALIASES = {
    "Sensitivity | int | str | Decimal | Fraction | float": "Sensitivity | Real",
    "int | str | Decimal | Fraction | float": "Real",
}
"""Types that have a name, which signatures have forgotten."""

MARKUP = re.compile(r"([*|_\\])")


def plain(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Replace a docstring by reStructuredText that shows it as it is."""
    shown: list[str] = []
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        paragraph = list(group)
        if blank:
            shown.append("")
        elif paragraph[0].startswith(" "):
            shown += ["::", "", *(f"   {line}" for line in paragraph)]
        else:
            shown += [_words(line) for line in paragraph]
    lines[:] = [*shown, ""]


def short(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Return a signature in which types go by their names."""
    return tuple(text and _named(text) for text in (signature, result))  # type: ignore[return-value]


def _named(signature: str) -> str:
    signature = re.sub(r"~(?:decimal|fractions)\.", "", signature)
    for long, name in ALIASES.items():
        signature = signature.replace(long, name)
    return re.sub(r",\s*_\w+: .*(?=\))", "", signature)


def _words(line: str) -> str:
    pieces = line.split("`")
    if len(pieces) % 2 == 0:
        return MARKUP.sub(r"\\\1", line).replace("`", "\\`")
    pieces[0::2] = [MARKUP.sub(r"\\\1", piece) for piece in pieces[0::2]]
    pieces[1::2] = [f"``{piece}``" for piece in pieces[1::2]]
    return "".join(pieces)


def setup(app: Sphinx) -> dict[str, Any]:
    """Read docstrings this way on a site."""
    app.connect("autodoc-process-docstring", plain)
    app.connect("autodoc-process-signature", short)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
