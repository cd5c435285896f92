"""Mechanisms in a notebook: what each is, its parameters, what one release promises and how far it strays."""

import sys
from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from inspect import signature
from typing import Any

from discreet.markup import card, figure

UNITS = {
    "groups": "privacy in one group",
    "questions": "privacy of one answer",
    "sensitivity": "privacy at sensitivity 1",
    "steps": "privacy of neighbours",
}
"""What the smallest argument of `guarantee` means."""

CANDIDATES = 10
"""Selections are shown with the loss of quality among this many candidates, whatever their scores."""


def html(mechanism: Any) -> str:
    """Return a mechanism as a card; classes take this as their own `_repr_html_`."""
    theorem = (sys.modules[type(mechanism).__module__].__doc__ or "").strip().splitlines()[0]
    return card(type(mechanism).__name__, _facts(mechanism), note=theorem)


def _facts(mechanism: Any) -> Iterator[tuple[str, str]]:
    for each in fields(mechanism):
        value = getattr(mechanism, each.name)
        if value is not None:
            yield each.name.replace("_", " "), _parameter(value)
    if hasattr(mechanism, "scale"):
        yield "scale", figure(mechanism.scale)
    (unit, *_) = signature(mechanism.guarantee).parameters.values()
    # A staircase knows the sensitivity it was made for.
    yield UNITS[unit.name] if unit.default is not None else "privacy", mechanism.guarantee().words
    if hasattr(mechanism, "radius"):
        yield "accuracy", f"within ± {figure(mechanism.radius('0.05'))}, 95 times in 100"
    if hasattr(mechanism, "shortfall"):
        worst = figure(mechanism.shortfall("0.05", candidates=CANDIDATES))
        yield "accuracy", f"within {worst} of the best of {CANDIDATES} candidates, 95 times in 100"


def _parameter(value: Any) -> str:
    match value:
        case bool() | str():
            return str(value)
        case int() | Fraction():
            return figure(value)
        case _:
            return f"{len(value)} × {len(value[0])} matrix"
