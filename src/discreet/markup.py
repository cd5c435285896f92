"""One small voice in HTML, for notebooks and pages: tables and cards in which every word is escaped.

Ink and paper are inherited from the page, so that they read in light and in dark.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from fractions import Fraction
from html import escape
from typing import Any

GOOD, BAD, OPEN = "#009E73", "#D55E00", "#E69F00"
"""The colours of what was shown, what was refuted, and what is not known."""

LEAST, MOST = Fraction(1, 10**300), Fraction(10**300)
"""Numbers within a float's reach."""

LEFT = "text-align:left;vertical-align:top"
"""How words are set; numbers keep the side that the page gives them."""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str = "") -> str:
    """Return a table with a head and a caption."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{_caption(caption)}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def built(value: Any) -> str:
    """Return a value as it would be built again; classes take this as their own `__repr__`.

    Exact numbers may have more digits than Python writes out: printing names those and never fails.
    """
    parts = ", ".join(
        f"{each.name}={_digits(getattr(value, each.name))}" for each in fields(value) if each.repr
    )
    return f"{type(value).__qualname__}({parts})"


def _digits(part: object) -> str:
    try:
        return repr(part)
    except ValueError:
        return "<a number of thousands of digits>"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of words as plain text, each column as wide as its longest word."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def listed(title: str, facts: Iterable[tuple[str, str]], *, note: str = "") -> str:
    """Return a title over named facts as plain text."""
    body = aligned([(f"  {name}", value) for name, value in facts])
    return "\n".join(part for part in (title, body, note and f"  ({note})") if part)


def card(title: str, facts: Iterable[tuple[str, str]], *, note: str = "", colour: str = "") -> str:
    """Return a title over named facts; a colour marks the side of a card that passes judgement."""
    rows = "".join(
        f'<tr><th style="{LEFT};font-weight:500;padding-right:1.2em">{escape(name)}</th>'
        f'<td style="{LEFT};white-space:pre-wrap">{escape(value)}</td></tr>'
        for name, value in facts
    )
    side = f' style="border-left:4px solid {colour}"' if colour else ""
    small = f'<tfoot><tr><td colspan="2" style="{LEFT};opacity:.75">{escape(note)}</td></tr></tfoot>'
    return f"<table{side}>{_caption(title)}<tbody>{rows}</tbody>{small if note else ''}</table>"


def figure(value: int | Fraction) -> str:
    """Return a number for people: exact where that is short, else rounded to six digits."""
    exact = Fraction(value)
    if exact.denominator == 1 and abs(exact) < 10**15:
        return f"{exact.numerator:,}"
    if exact and not LEAST <= abs(exact) <= MOST:
        digits = exact.numerator.bit_length() - exact.denominator.bit_length()
        return f"about {'-' if exact < 0 else ''}10^{round(digits * 0.30103)}"
    rounded = f"{float(exact):.6g}"
    short = exact.denominator < 1000 and Fraction(rounded) != exact
    return f"{exact.numerator}/{exact.denominator} ≈ {rounded}" if short else rounded


def _caption(text: str) -> str:
    style = "caption-side:top;text-align:left;white-space:nowrap;font-weight:600;padding-bottom:.3em"
    return f'<caption style="{style}">{escape(text)}</caption>' if text else ""
