"""What a window means: rows of one partition in an order, and a function of those around each."""

from collections.abc import Callable, Sequence
from typing import Any

from discreet.engines.reference.meaning import AGGREGATES

Cells = Sequence[Any]

_TOGETHER: dict[str, Callable[[list[Any]], Any]] = {
    **{name: AGGREGATES[name] for name in ("sum", "min", "max")},
    "count": len,
}


def window(
    function: str,
    arguments: Sequence[Cells],
    partitions: Sequence[Any],
    order: Sequence[tuple[Cells, bool, bool]],
    frame: tuple[str, int | None, int | None],
) -> list[Any]:
    """Return one cell for each row; all cells of arguments, partitions and order are listed by row."""
    found: list[Any] = [None] * len(partitions)
    members: dict[Any, list[int]] = {}
    for place in sequence(range(len(partitions)), order):
        members.setdefault(partitions[place], []).append(place)
    for rows in members.values():
        keys = [tuple(cells[row] for cells, _, _ in order) for row in rows]
        for place, row in enumerate(rows):
            found[row] = _value(function, arguments, rows, keys, place, frame)
    return found


def sequence(places: Sequence[int], order: Sequence[tuple[Cells, bool, bool]]) -> list[int]:
    """Return rows in an order; by the last term first, because sorting keeps the order of what is equal."""
    rows = list(places)
    for cells, down, first in reversed(order):
        missing = [row for row in rows if cells[row] is None]
        known = sorted((row for row in rows if cells[row] is not None), key=cells.__getitem__, reverse=down)
        rows = missing + known if first else known + missing
    return rows


def _value(
    function: str,
    arguments: Sequence[Cells],
    rows: list[int],
    keys: list[tuple[Any, ...]],
    place: int,
    frame: tuple[str, int | None, int | None],
) -> Any:
    match function:
        case "row_number":
            return place + 1
        case "rank":
            return 1 + keys.index(keys[place])
        case "dense_rank":
            return len(set(keys[: place + 1]))
        case "ntile":
            return _part(arguments[0][rows[place]], place, len(rows))
        case "lag" | "lead":
            distance = arguments[1][rows[place]]
            other = place - distance if function == "lag" else place + distance
            return arguments[0][rows[other]] if 0 <= other < len(rows) else None
    cells = [arguments[0][rows[other]] for other in _frame(frame, keys, place)]
    if function == "nth_value":
        number = arguments[1][rows[place]]
        return cells[number - 1] if number <= len(cells) else None
    if function in ("first_value", "last_value"):
        return (cells[0] if function == "first_value" else cells[-1]) if cells else None
    return _TOGETHER[function]([cell for cell in cells if cell is not None])


def _part(parts: int, place: int, size: int) -> int:
    """Return which of so many parts a place belongs to; the first have one row more where it is uneven."""
    small, larger = divmod(size, parts)
    longer = larger * (small + 1)
    return 1 + (place // (small + 1) if place < longer else larger + (place - longer) // small)


def _frame(frame: tuple[str, int | None, int | None], keys: list[tuple[Any, ...]], place: int) -> range:
    """Return the places that a row sees; a range sees all rows that are equal in the order."""
    kind, start, end = frame
    if kind == "range":
        return range(len(keys) - keys[::-1].index(keys[place]))
    first = 0 if start is None else max(place + start, 0)
    return range(first, len(keys) if end is None else min(place + end + 1, len(keys)))
