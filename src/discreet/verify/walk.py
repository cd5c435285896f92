"""Loops over a list of which one run has an element more: plain walks, in which the other run waits.

At the extra element the run with the shorter list does nothing; elsewhere both runs look at the same
element.  This is only right for loops that step through the list with one counter and do nothing else
that could tell the two lists apart, which is what is required here; that the counters keep step is
proved, not assumed.
"""

from discreet.verify.syntax import (
    Append,
    Assign,
    Binary,
    Sample,
    Size,
    Variable,
    While,
    expressions,
    statements,
    subexpressions,
)
from discreet.verify.term import UnsupportedError


def walked(statement: While) -> tuple[str, str]:
    """Return the list that a one-sided loop walks over, and its counter."""
    match statement.condition:
        case Binary("<", Variable(counter), Size(array)):
            return array, counter
    at = statement.at
    raise UnsupportedError(
        f"line {at.line}, column {at.column}: a loop over a list that may lose an element "
        "must read `while i < size(d)`"
    )


def require_walk(statement: While) -> None:
    """Refuse a one-sided loop that is more than a plain walk."""
    _, counter = walked(statement)
    at = statement.at
    for inner in statements(statement.body):
        if isinstance(inner, Sample | Append | While):
            raise UnsupportedError(
                f"line {at.line}, column {at.column}: a loop over a list that may lose an element "
                "must not draw, append or loop"
            )
    for inner in statements(statement.body):
        for part in (p for e in expressions(inner) for p in subexpressions(e)):
            if isinstance(part, Size):
                raise UnsupportedError(
                    f"line {part.at.line}, column {part.at.column}: the size of a list cannot be used "
                    "in a loop over a list that may lose an element"
                )
    moved = [s for s in statements(statement.body) if isinstance(s, Assign) and s.target == counter]
    if len(moved) != 1 or moved[0] is not statement.body[-1]:
        raise UnsupportedError(
            f"line {at.line}, column {at.column}: the last statement of this loop must advance {counter}"
        )
