"""Released tables joined with one another: their cells are public, so this is free.

What a condition equates finds partners by a look-up, so tables of many groups are joined in the time that
their rows take.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from discreet.errors import QueryError
from discreet.query.check.assembly import PairedTables
from discreet.query.check.formula import Constant, Formula, Operation, Public, Span, evaluate, measured

MOST_PAIRS = 200_000

Line: TypeAlias = tuple[tuple[Public, ...], tuple[Span, ...]]
"""The cells of a row, and their intervals."""

NOWHERE: Span = (None, None)


def paired(join: PairedTables, left: Sequence[Line], right: Sequence[Line]) -> list[Line]:
    """Return the rows of a join."""
    ours, theirs, rest = _sides(join)
    partners: dict[tuple[Public, ...], list[int]] = {}
    for number, (cells, _) in enumerate(right):
        values = dict(enumerate(cells, join.left.width))
        partners.setdefault(tuple(evaluate(side, (), values) for side in theirs), []).append(number)
    found: list[Line] = []
    met: set[int] = set()
    looked = 0
    for cells, spans in left:
        key = tuple(evaluate(side, (), dict(enumerate(cells))) for side in ours)
        alone = True
        # NULL equals nothing, not even NULL.
        for number in () if None in key else partners.get(key, ()):
            looked += 1
            if looked > MOST_PAIRS:
                raise QueryError(
                    "JOIN",
                    f"pairs more than {MOST_PAIRS} rows of the answers",
                    "equate more columns in ON, which is free: the answers are paid for",
                )
            other, theirs_spans = right[number]
            if not rest or _holds(rest, (*cells, *other)):
                found.append(((*cells, *other), (*spans, *theirs_spans)))
                met.add(number)
                alone = False
        if alone and join.outer:
            found.append(((*cells, *_nothing(join.right.width)), (*spans, *_nowhere(join.right.width))))
    if join.full:
        for number, (cells, spans) in enumerate(right):
            if number not in met:
                found.append(((*_nothing(join.left.width), *cells), (*_nowhere(join.left.width), *spans)))
    return found


def _holds(conditions: Sequence[Formula], cells: Sequence[Public]) -> bool:
    values = dict(enumerate(cells))
    return all(evaluate(one, (), values) is True for one in conditions)


def _nothing(width: int) -> tuple[Public, ...]:
    return (None,) * width


def _nowhere(width: int) -> tuple[Span, ...]:
    return (NOWHERE,) * width


def _sides(join: PairedTables) -> tuple[list[Formula], list[Formula], list[Formula]]:
    """Return what a condition equates, on the left and on the right, and what else it says."""
    ours, theirs, rest = [], [], []
    for part in _conjuncts(join.on):
        match part:
            case Operation("eq", (one, other)):
                sides = _side(one, join.left.width), _side(other, join.left.width)
            case _:
                sides = None, None
        if sides == ("left", "right"):
            ours.append(one)
            theirs.append(other)
        elif sides == ("right", "left"):
            ours.append(other)
            theirs.append(one)
        elif part != Constant(True):
            rest.append(part)
    return ours, theirs, rest


def _conjuncts(formula: Formula) -> Iterator[Formula]:
    match formula:
        case Operation("and", arguments):
            for argument in arguments:
                yield from _conjuncts(argument)
        case _:
            yield formula


def _side(formula: Formula, width: int) -> str | None:
    """Return of which table a formula is, if it is of one alone."""
    places = measured(formula)
    if not places:
        return None
    return "left" if max(places) < width else "right" if min(places) >= width else None
