"""What an engine is asked and what it returns: exact integers, by type apart from anything released.

An `Exact` has no public field, no printed form and no conversion: the only ways to read it are the two
methods that the release hands to a mechanism.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from discreet.errors import EngineError

Cell = int | str | bool | date | None
GroupKey = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """One generated statement: `keys` columns of group keys, then integers named by `outputs`.

    With `cells`, the last key column is a candidate of a selection and the integer its weight.
    """

    sql: str
    keys: int
    outputs: tuple[str, ...]
    cells: bool = False


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Exact:
    """The exact integers of a question, keyed by group; groups that are absent hold zero."""

    _totals: Mapping[str, Mapping[GroupKey, int]]
    _cells: Mapping[str, Mapping[GroupKey, Mapping[Cell, int]]]

    def __repr__(self) -> str:
        return "<exact integers, not released>"

    def __reduce__(self) -> str:
        raise EngineError("exact integers cannot be copied out of the process")

    def integers(self, output: str, keys: Sequence[GroupKey]) -> list[int]:
        """Return one exact integer for each group key, zero for groups without rows."""
        found = self._totals[output]
        return [found.get(key, 0) for key in keys]

    def weights(self, output: str, key: GroupKey) -> Mapping[Cell, int]:
        """Return the weight of each candidate that occurs in one group; the others weigh nothing."""
        return self._cells[output].get(key, {})

    def groups(self, output: str) -> list[GroupKey]:
        """Return the group keys that occur in the data, sorted; a threshold decides what may be released."""
        return sorted(self._totals[output], key=_order)


def _order(key: GroupKey) -> tuple[tuple[str, Cell], ...]:
    return tuple((type(part).__name__, part) for part in key)


def collect(requests: Sequence[EngineRequest], tables: Sequence[Sequence[tuple[object, ...]]]) -> Exact:
    """Return the integers of all requests by output and group."""
    totals: dict[str, dict[GroupKey, int]] = {}
    cells: dict[str, dict[GroupKey, dict[Cell, int]]] = {}
    for request, rows in zip(requests, tables, strict=True):
        if request.cells:
            (output,) = request.outputs
            groups = cells.setdefault(output, {})
            for row in rows:
                _put(groups.setdefault(row[: request.keys - 1], {}), row[request.keys - 1], row[-1])  # type: ignore[arg-type]
            continue
        for position, output in enumerate(request.outputs, request.keys):
            held = totals.setdefault(output, {})
            for row in rows:
                _put(held, row[: request.keys], row[position])
    return Exact(totals, cells)


def whole(value: object) -> object:
    """Return a total, which some engines make a decimal, as the integer that it is."""
    return int(value) if isinstance(value, Decimal) and value == value.to_integral_value() else value


def _put(held: dict[Any, int], key: object, value: object) -> None:
    """Note one integer; a key that comes twice would hide another group's, so it is a failure."""
    if key in held:
        raise EngineError("the engine returned one group twice")
    held[key] = _integer(value)


def _integer(value: object) -> int:
    if value is None:
        return 0
    if type(value) is not int:
        raise EngineError("the engine returned something other than an integer")
    return value
