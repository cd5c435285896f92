"""Window functions over the rows of an answer, as SQL defines them; they see released values only."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any, Protocol

from discreet.exact.number import sqrt_down
from discreet.query.check.afterwards import LONGEST, shown
from discreet.query.check.formula import (
    Formula,
    NoisyTerm,
    Operation,
    Public,
    Windowed,
    evaluate,
)
from discreet.query.plan import LISTED


class WindowGroup(Protocol):
    """One group of an answer: its key and its released values."""

    @property
    def key(self) -> tuple[Public, ...]:
        """The group key."""

    @property
    def values(self) -> dict[int, Public]:
        """The released value of each measurement."""


def windows(formulas: Sequence[Formula]) -> tuple[Windowed, ...]:
    """Return the window functions that formulas use, each once."""
    found: dict[Windowed, None] = {}
    for formula in formulas:
        match formula:
            case Windowed():
                found[formula] = None
            case Operation(_, arguments):
                found.update(dict.fromkeys(windows(arguments)))
            case _:
                pass
    return tuple(found)


def settled(formula: Formula, known: Sequence[Windowed]) -> Formula:
    """Return a formula in which a window is a released value like others: number n is in place -1 - n."""
    match formula:
        case Windowed():
            return NoisyTerm(-1 - known.index(formula))
        case Operation(name, arguments):
            return Operation(name, tuple(settled(argument, known) for argument in arguments))
        case _:
            return formula


def compute(
    window: Windowed, places: Sequence[WindowGroup], sortable: Callable[[Public], Any]
) -> list[Public]:
    """Return the value of a window function for each place."""
    parts: dict[tuple[Public, ...], list[int]] = {}
    for number, place in enumerate(places):
        group = tuple(_at(term, place) for term in window.partition)
        parts.setdefault(group, []).append(number)
    found: list[Public] = [None] * len(places)
    for numbers in parts.values():
        for term, descending, nulls_first in reversed(window.order):
            numbers.sort(
                key=partial(_rank, term, places, sortable, descending, nulls_first), reverse=descending
            )
        _fill(window, [places[number] for number in numbers], numbers, found)
    return found


def _fill(window: Windowed, rows: Sequence[WindowGroup], numbers: Sequence[int], found: list[Public]) -> None:
    """Compute one part of the rows, in order; every row is evaluated once."""
    ties = [tuple(_at(term, row) for term, _, _ in window.order) for row in rows]
    firsts, lasts, ranks = _ties(ties)
    values = [_at(window.arguments[0], row) for row in rows] if window.arguments else []
    sums = _Sums(values) if window.function in ("sum", "avg", "count") else None
    seen: dict[tuple[int, int], Public] = {}
    for place, number in enumerate(numbers):
        if window.function in RANKED:
            found[number] = RANKED[window.function](
                place, firsts[place], lasts[place], ranks[place], len(rows)
            )
        elif window.function == "ntile":
            found[number] = _part(_count(window, 0, rows[place]), place, len(rows))
        elif window.function in ("lag", "lead"):
            found[number] = _step(window, rows, values, place)
        else:
            low, high = _frame(window, place, lasts[place], len(rows))
            if window.function == "nth_value":
                wanted = low + _count(window, 1, rows[place]) - 1
                found[number] = values[wanted] if wanted < high else None
            elif sums is None:
                if (low, high) not in seen:
                    seen[low, high] = (
                        _listed(values[low:high], _at(window.arguments[1], rows[place]))
                        if window.function == LISTED
                        else _total(window.function, values[low:high])
                    )
                found[number] = seen[low, high]
            else:
                found[number] = sums.of(window.function, low, high)


RANKED: dict[str, Callable[[int, int, int, int, int], Public]] = {
    "row_number": lambda place, first, last, rank, size: place + 1,
    "rank": lambda place, first, last, rank, size: first + 1,
    "dense_rank": lambda place, first, last, rank, size: rank,
    "percent_rank": lambda place, first, last, rank, size: Fraction(first, max(size - 1, 1)),
    "cume_dist": lambda place, first, last, rank, size: Fraction(last + 1, size),
}


def _ties(ties: Sequence[tuple[Public, ...]]) -> tuple[list[int], list[int], list[int]]:
    """Return for each row the first and last that it ties with, and how many different ones there were."""
    starts = [place for place, tie in enumerate(ties) if place == 0 or tie != ties[place - 1]]
    ends = [*starts[1:], len(ties)]
    spread = [(start, end - 1, rank) for rank, (start, end) in enumerate(zip(starts, ends, strict=True), 1)]
    each = [one for one in spread for _ in range(one[0], one[1] + 1)]
    return [one[0] for one in each], [one[1] for one in each], [one[2] for one in each]


class _Sums:
    """Sums and counts of any stretch of rows."""

    def __init__(self, values: Sequence[Public]) -> None:
        numbers = [
            Fraction(0) if value is None or isinstance(value, str) else _number(value) for value in values
        ]
        self._sums = [Fraction(0), *accumulate(numbers)]
        self._counts = [0, *accumulate(int(value is not None) for value in values)]

    def of(self, function: str, low: int, high: int) -> Public:
        high = max(high, low)
        count = self._counts[high] - self._counts[low]
        if function == "count":
            return count
        total = self._sums[high] - self._sums[low]
        return None if not count else total if function == "sum" else total / count


def _number(value: Public) -> Fraction:
    return Fraction(value) if isinstance(value, int | Fraction) else Fraction(0)


def _part(parts: int, place: int, size: int) -> int:
    """Return which of so many parts a place belongs to: the first size % parts of them have one row more."""
    small, larger = divmod(size, parts)
    longer = larger * (small + 1)
    return 1 + (place // (small + 1) if place < longer else larger + (place - longer) // small)


def _count(window: Windowed, argument: int, row: WindowGroup) -> int:
    found = _at(window.arguments[argument], row)
    if not isinstance(found, int):
        raise AssertionError("the language takes whole numbers only")
    return found


def _step(window: Windowed, rows: Sequence[WindowGroup], values: Sequence[Public], place: int) -> Public:
    missing = window.arguments[2]
    steps = _count(window, 1, rows[place])
    other = place - steps if window.function == "lag" else place + steps
    return values[other] if 0 <= other < len(rows) else _at(missing, rows[place])


def _frame(window: Windowed, place: int, last: int, size: int) -> tuple[int, int]:
    kind, start, end = window.frame
    low = 0 if start is None else min(max(place + start, 0), size)
    high = size if end is None else last + 1 if kind == "range" else min(max(place + end + 1, 0), size)
    return low, high


def _at(formula: Formula, place: WindowGroup) -> Public:
    return evaluate(formula, place.key, place.values)


def _rank(
    term: Formula,
    places: Sequence[WindowGroup],
    sortable: Callable[[Public], Any],
    descending: bool,
    nulls_first: bool,
    number: int,
) -> tuple[bool, Any]:
    value = _at(term, places[number])
    return (value is None) != (nulls_first != descending), sortable(value)


def _total(function: str, values: Sequence[Public]) -> Public:
    match function:
        case "first_value" | "last_value":
            return None if not values else values[0 if function == "first_value" else -1]
        case "min" | "max":
            known: list[Any] = [value for value in values if value is not None]
            pick: Callable[[list[Any]], Public] = min if function == "min" else max
            return pick(known) if known else None
        case "median" | "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
            return _SUMMARIES[function]([_number(value) for value in values if value is not None])
    raise AssertionError(f"no window function is called {function}")


def _listed(values: Sequence[Public], between: Public) -> str | None:
    """Return values as one text; a NULL is left out, and what is too long is cut off."""
    found = [text for value in values if value is not None and (text := shown(value)) is not None]
    # Each of them is at least as long as nothing, so no more than this many can be seen.
    return str(between).join(found[: LONGEST + 1])[:LONGEST] if found else None


def _median(numbers: list[Fraction]) -> Public:
    ordered, half = sorted(numbers), len(numbers) // 2
    if not ordered:
        return None
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _variance(numbers: list[Fraction], less: int) -> Fraction | None:
    """Return the sum of squared distances from the mean, over the count or one less."""
    if len(numbers) <= less:
        return None
    mean = sum(numbers, Fraction(0)) / len(numbers)
    return sum(((number - mean) ** 2 for number in numbers), Fraction(0)) / (len(numbers) - less)


def _root(number: Fraction | None) -> Fraction | None:
    return None if number is None else sqrt_down(number, 64)


_SUMMARIES: dict[str, Callable[[list[Fraction]], Public]] = {
    "median": _median,
    "var_samp": lambda numbers: _variance(numbers, 1),
    "var_pop": lambda numbers: _variance(numbers, 0),
    "stddev_samp": lambda numbers: _root(_variance(numbers, 1)),
    "stddev_pop": lambda numbers: _root(_variance(numbers, 0)),
}
