"""Post-processing as values: how output columns follow from noisy measurements alone.

A formula sees released numbers, group keys and constants, nothing else, so it costs no privacy.  It is
evaluated exactly in rationals, and, with an interval in place of each measurement, to an interval that
contains the true value whenever every measurement's interval does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import TypeAlias, assert_never

from discreet.exact.number import sqrt_down, sqrt_up
from discreet.query.check.afterwards import CURVES, WORDS

Public: TypeAlias = int | Fraction | str | bool | date | datetime | None
Span: TypeAlias = tuple[Fraction | None, Fraction | None]
"""An interval; a missing end is unbounded."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the question."""

    value: Public


@dataclass(frozen=True, slots=True)
class Key:
    """The value of a group key, by position."""

    position: int


@dataclass(frozen=True, slots=True)
class NoisyTerm:
    """A released measurement, by position, in natural units (the noisy integer divided by its scale)."""

    measurement: int


@dataclass(frozen=True, slots=True)
class Combination:
    """A sum of released measurements, each times a constant; with `counts` the exact one is not negative."""

    terms: tuple[tuple[int, Fraction], ...]
    counts: bool = False

    def at(self, noisy: Mapping[int, Public]) -> Fraction:
        """Return its value for released measurements."""
        return sum((by * Fraction(noisy[position]) for position, by in self.terms), Fraction(0))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Mean:
    """A total over a count, clamped to [low, high]; NULL unless the count is above `least`."""

    total: Combination
    count: Combination
    low: Fraction
    high: Fraction
    least: Fraction = Fraction(0)

    def at(self, noisy: Mapping[int, Public]) -> Fraction | None:
        """Return its value for released measurements."""
        count = self.count.at(noisy)
        return None if count <= self.least else min(max(self.total.at(noisy) / count, self.low), self.high)


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of numbers in [0, width] from the sums of (width - y)**2, 2 y (width - y) and y**2.

    NULL unless the count, or for a `sample` the count less one, is above `least`.
    """

    corners: tuple[int, int, int]
    width: Fraction
    sample: bool
    least: Fraction = Fraction(0)

    @property
    def count(self) -> Combination:
        """The number of rows: the three terms of one row are width**2 together."""
        return Combination(tuple((position, 1 / self.width**2) for position in self.corners), counts=True)

    @property
    def top(self) -> Fraction:
        """The largest variance, that of numbers at both ends; two of them have it for n - 1 too."""
        return self.width**2 / (2 if self.sample else 4)

    def at(self, noisy: Mapping[int, Public]) -> Fraction | None:
        """Return its value for released measurements."""
        _, mixed, squares = (Fraction(noisy[position]) for position in self.corners)  # type: ignore[arg-type]
        count = self.count.at(noisy)
        rows = count - 1 if self.sample else count
        if rows <= self.least:
            return None
        total = (squares + mixed / 2) / self.width
        return min(max((squares - total**2 / count) / rows, Fraction(0)), self.top)


@dataclass(frozen=True, slots=True)
class Operation:
    """A named function of formulas; the names are those of `evaluate`."""

    name: str
    arguments: tuple["Formula", ...]


@dataclass(frozen=True, slots=True)
class Windowed:
    """A function of the released rows around one; it is computed when all rows are there.

    `order` are terms with whether they descend and whether NULL comes first; `frame` is as in a plan.
    """

    function: str
    arguments: tuple["Formula", ...]
    partition: tuple["Formula", ...]
    order: tuple[tuple["Formula", bool, bool], ...]
    frame: tuple[str, int | None, int | None]


Statistic: TypeAlias = Combination | Mean | Variance
"""What follows from several measurements at once and has an interval of its own."""

Formula: TypeAlias = Constant | Key | NoisyTerm | Statistic | Operation | Windowed


def has_windowed(formula: Formula) -> bool:
    """Whether a formula looks at other released rows."""
    match formula:
        case Windowed():
            return True
        case Operation(_, arguments):
            return any(map(has_windowed, arguments))
        case _:
            return False


def measured(formula: Formula) -> frozenset[int]:
    """Return the positions of the measurements that a formula uses."""
    match formula:
        case NoisyTerm(position):
            return frozenset((position,))
        case Combination(terms):
            return frozenset(position for position, _ in terms)
        case Mean(total, count):
            return measured(total) | measured(count)
        case Variance(corners):
            return frozenset(corners)
        case Operation(_, arguments):
            return frozenset().union(*(measured(argument) for argument in arguments))
        case Windowed(_, arguments, partition, order):
            parts = (*arguments, *partition, *(term for term, _, _ in order))
            return frozenset().union(*(measured(part) for part in parts))
        case Constant() | Key():
            return frozenset()
        case _:
            assert_never(formula)


def evaluate(formula: Formula, key: Sequence[Public], noisy: Mapping[int, Public]) -> Public:
    """Return the value of a formula, NULL wherever SQL would say NULL."""
    match formula:
        case Constant(value):
            return value
        case Key(position):
            return key[position]
        case NoisyTerm(position):
            return noisy[position]
        case Combination() | Mean() | Variance() as statistic:
            return statistic.at(noisy)
        case Operation(name, arguments):
            return _operate(name, [evaluate(argument, key, noisy) for argument in arguments])
        case Windowed():
            raise AssertionError("a window is computed over all rows before any is shown")
        case _:
            assert_never(formula)


def _operate(name: str, values: list[Public]) -> Public:
    match name:
        case "and" | "or":
            return _junction(values, decisive=name == "or")
        case "coalesce":
            return next((value for value in values if value is not None), None)
        case "case":
            for position in range(0, len(values) - 1, 2):
                if values[position] is True:
                    return values[position + 1]
            return values[-1]
        case "is_null":
            return values[0] is None
        case "among":
            return None if values[0] is None else values[0] in values[1:]
        case "distinct":
            return values[0] != values[1]
        case "nullif":
            return None if values[0] == values[1] else values[0]
    if any(value is None for value in values):
        return None
    match name:
        case "not":
            return not values[0]
        case "eq":
            return values[0] == values[1]
        case "ne":
            return values[0] != values[1]
        case "lt":
            return values[0] < values[1]  # type: ignore[operator]
        case "le":
            return values[0] <= values[1]  # type: ignore[operator]
        case "gt":
            return values[0] > values[1]  # type: ignore[operator]
        case "ge":
            return values[0] >= values[1]  # type: ignore[operator]
    if name in WORDS:
        found: Public = WORDS[name](*values)
        return found
    numbers = [Fraction(value) for value in values]  # type: ignore[arg-type]
    if name in CURVES:
        return CURVES[name](*numbers)
    match name:
        case "add":
            return numbers[0] + numbers[1]
        case "subtract":
            return numbers[0] - numbers[1]
        case "multiply":
            return numbers[0] * numbers[1]
        case "divide":
            return None if numbers[1] == 0 else numbers[0] / numbers[1]
        case "ratio":
            return None if numbers[1] <= 0 else numbers[0] / numbers[1]
        case "absolute":
            return abs(numbers[0])
        case "least":
            return min(numbers)
        case "greatest":
            return max(numbers)
        case "clamp":
            return min(max(numbers[0], numbers[1]), numbers[2])
        case "sqrt":
            return None if numbers[0] < 0 else sqrt_down(numbers[0], 64)
        case "round":
            return Fraction(round(numbers[0], int(numbers[1]) if len(numbers) > 1 else 0))
        case "floor":
            return Fraction(numbers[0].__floor__())
        case "ceil":
            return Fraction(numbers[0].__ceil__())
        case "whole_number" | "nearly_whole":
            return Fraction(round(numbers[0]))
    raise AssertionError(f"no formula operation is called {name}")


def _junction(values: list[Public], *, decisive: bool) -> Public:
    if any(value is decisive for value in values):
        return decisive
    return None if any(value is None for value in values) else not decisive


def span(
    formula: Formula,
    key: Sequence[Public],
    spans: Mapping[int, Span],
    known: Mapping[Formula, Span] | None = None,
) -> Span:
    """Return an interval containing the formula's value for all measurements inside their intervals.

    `known` are intervals of parts of it that are found otherwise.
    """
    if known and formula in known:
        return known[formula]
    match formula:
        case Constant(bool()) | Constant(str()) | Constant(date()) | Constant(None):
            return None, None
        case Constant(int() | Fraction() as value):
            return Fraction(value), Fraction(value)
        case Key(position):
            return exactly(key[position])
        case NoisyTerm(position):
            return spans[position]
        case Combination() | Mean() | Variance():
            return None, None
        case Operation(name, arguments):
            return _spread(name, [span(argument, key, spans, known) for argument in arguments])
        case Windowed():
            # It may add up many groups, whose intervals need not all hold at once.
            return None, None
    raise AssertionError("formulas are constants, keys, measurements or operations")


def exactly(value: Public) -> Span:
    """Return the interval of a value that is known: a number is its own, anything else has none."""
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return Fraction(value), Fraction(value)
    return None, None


def _spread(name: str, spans: list[Span]) -> Span:
    match name:
        case "clamp":
            (low, high), (bottom, _), (_, top) = spans
            if bottom is None or top is None:
                return None, None
            return (
                bottom if low is None else min(max(low, bottom), top),
                top if high is None else max(min(high, top), bottom),
            )
        case "greatest" | "least":
            pick = max if name == "greatest" else min
            lows, highs = [low for low, _ in spans], [high for _, high in spans]
            known_lows = [low for low in lows if low is not None]
            known_highs = [high for high in highs if high is not None]
            low = (
                pick(known_lows)
                if len(known_lows) == len(spans) or (name == "greatest" and known_lows)
                else None
            )
            high = (
                pick(known_highs)
                if len(known_highs) == len(spans) or (name == "least" and known_highs)
                else None
            )
            return low, high
        case "sqrt":
            low, high = spans[0]
            return (
                Fraction(0) if low is None else sqrt_down(max(low, Fraction(0)), 64),
                None if high is None else sqrt_up(max(high, Fraction(0)), 64),
            )
        case "coalesce" | "case" | "round" | "floor" | "ceil" | "to_whole":
            return _loose(name, spans)
        case "to_real" | "nullif" | "nearly_whole":
            return spans[0]
        case "whole_number":
            return _whole_ends(*spans[0])
    if any(low is None or high is None for low, high in spans):
        return None, None
    ends = [(low, high) for low, high in spans if low is not None and high is not None]
    match name:
        case "add":
            return ends[0][0] + ends[1][0], ends[0][1] + ends[1][1]
        case "subtract":
            return ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]
        case "multiply":
            corners = [a * b for a in ends[0] for b in ends[1]]
            return min(corners), max(corners)
        case "divide" | "ratio":
            if ends[1][0] <= 0 <= ends[1][1]:
                return None, None
            corners = [a / b for a in ends[0] for b in ends[1]]
            return min(corners), max(corners)
        case "absolute":
            low, high = ends[0]
            return max(low, -high, Fraction(0)), max(abs(low), abs(high))
        case _:
            return None, None


def _whole_ends(low: Fraction | None, high: Fraction | None) -> Span:
    """Return the first and last whole number between two ends, or the one nearest to where none is."""
    first = None if low is None else Fraction(low.__ceil__())
    last = None if high is None else Fraction(high.__floor__())
    if low is None or high is None or first is None or last is None or first <= last:
        return first, last
    nearest = Fraction(round((low + high) / 2))
    return nearest, nearest


def _loose(name: str, spans: list[Span]) -> Span:
    match name:
        case "floor" | "ceil" | "round" | "to_whole":
            low, high = spans[0]
            return (
                None if low is None else Fraction(low.__floor__()),
                None if high is None else Fraction(high.__ceil__()),
            )
        case _:
            values = spans if name == "coalesce" else [*spans[1:-1:2], spans[-1]]
            lows, highs = [low for low, _ in values], [high for _, high in values]
            if None in lows or None in highs:
                return None, None
            return min(low for low in lows if low is not None), max(
                high for high in highs if high is not None
            )
