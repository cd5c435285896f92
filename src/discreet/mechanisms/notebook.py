"""Mechanisms printed, and in a notebook: parameters, what one release promises, how far it strays."""

import sys
from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from typing import Any

from discreet.markup import card, figure
from discreet.privacy.sensitivity import Sensitivity

PURPOSES = ("sensitivity", "groups")
"""What a mechanism remembers that it was made for; None where it was built by hand."""

CANDIDATES = 10
"""Selections are shown with the loss of quality among this many candidates, whatever their scores."""


def html(mechanism: Any) -> str:
    """Return a mechanism as a card; classes take this as their own `_repr_html_`."""
    theorem = (sys.modules[type(mechanism).__module__].__doc__ or "").strip().splitlines()[0]
    return card(type(mechanism).__name__, _facts(mechanism), note=theorem)


def line(mechanism: Any) -> str:
    """Return a mechanism in one line; classes take this as their own `__str__`."""
    facts = ", ".join(f"{what} {value}" for what, value in [*_parameters(mechanism), _promise(mechanism)])
    return f"{type(mechanism).__name__}({facts})"


def _facts(mechanism: Any) -> Iterator[tuple[str, str]]:
    yield from _parameters(mechanism)
    if hasattr(mechanism, "scale"):
        yield "scale", figure(mechanism.scale)
    yield _promise(mechanism)
    if hasattr(mechanism, "radius"):
        yield "accuracy", f"within ± {figure(mechanism.radius('0.05'))}, 95 times in 100"
    if hasattr(mechanism, "shortfall"):
        worst = figure(mechanism.shortfall("0.05", candidates=CANDIDATES))
        yield "accuracy", f"within {worst} of the best of {CANDIDATES} candidates, 95 times in 100"


def _parameters(mechanism: Any) -> Iterator[tuple[str, str]]:
    for each in fields(mechanism):
        value = getattr(mechanism, each.name)
        if value is not None:
            yield each.name.replace("_", " "), _parameter(value)


def _promise(mechanism: Any) -> tuple[str, str]:
    """Return what one release promises; of what does not know its purpose, at the smallest there is."""
    for purpose in PURPOSES:
        if getattr(mechanism, purpose, 0) is None:
            return f"privacy if {purpose} is 1", mechanism.guarantee(1).words
    return "privacy", mechanism.guarantee().words


def _parameter(value: Any) -> str:
    match value:
        case bool() | str():
            return str(value)
        case int() | Fraction():
            return figure(value)
        case Sensitivity():
            return value.words
        case _:
            return f"{len(value)} × {len(value[0])} matrix"
