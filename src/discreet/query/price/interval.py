"""An interval for every released cell, of which what all groups have in common is worked out once.

The interval of a cell contains the true (clamped) value with the stated confidence.  Only noise is covered:
clamping and bounding contributions are part of the question as checked, unless it counts the people above its
limit, whose loss is then covered too (see `capped`).  How far the noise of a part reaches
depends on the part and the confidence alone, except where groups are measured together.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeGuard

from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.query.check.formula import (
    Combination,
    Formula,
    Mean,
    NoisyTerm,
    Operation,
    Public,
    Span,
    Variance,
    evaluate,
    exactly,
    measured,
    span,
)
from discreet.query.check.measurement import Checked, Measurement
from discreet.query.price.capped import Widening, widening
from discreet.query.price.expected import Quote, coefficients
from discreet.query.price.fieller import Laws, mean, variance
from discreet.query.price.together import Together

Group = tuple[Public, ...]


class Intervals:
    """The intervals of one question's cells at one confidence."""

    def __init__(self, priced: Quote, confidence: Fraction | None = None) -> None:
        self._priced = priced
        self._beta = 1 - (priced.confidence if confidence is None else confidence)
        self._known: dict[int, tuple[Formula, tuple[_IntervalPart, ...]]] = {}

    def of(self, formula: Formula, key: Group, noisy: Mapping[int, Public]) -> Span:
        """Return the interval of a cell; `noisy` holds the released measurements in natural units."""
        parts = self._parts(formula)
        if not parts:
            return exactly(evaluate(formula, key, {}))
        if len(parts) == 1 and parts[0].formula is formula:
            return parts[0].at(key, noisy)
        return span(formula, key, {}, {part.formula: part.at(key, noisy) for part in parts})

    def _parts(self, formula: Formula) -> "tuple[_IntervalPart, ...]":
        # Found by the very formula: it is kept here, so nothing else has its number.
        found = self._known.get(id(formula))
        if found is None:
            named = self._named(formula) if measured(formula) else []
            wider = widening(self._priced, formula, named, self._beta)
            beta = self._beta if wider is None else wider.left
            made = tuple(_IntervalPart(self._priced, part, beta / len(named), wider) for part in named)
            found = self._known[id(formula)] = formula, made
        return found[1]

    def _named(self, formula: Formula) -> list[Formula]:
        """Return the parts of a formula that have intervals of their own, as few of them as there are.

        The count of a group that is shown because of it is a part by itself: its noise is not that of others.
        """
        large = list(dict.fromkeys(_atoms(formula, self._linear)))
        small = list(dict.fromkeys(_atoms(formula, lambda _: False)))
        return large if len(large) <= len(small) else small

    def _linear(self, formula: Formula) -> bool:
        if not coefficients(formula):
            return False
        return not any(_selects(self._priced.shares[position].mechanism) for position in measured(formula))


class _IntervalPart:
    """A part of a formula that has an interval of its own."""

    def __init__(self, priced: Quote, formula: Formula, beta: Fraction, wider: Widening | None) -> None:
        self.formula = formula
        self._wider = wider
        self._priced, self._beta = priced, beta
        self._counts = _counts(priced.checked, formula)
        mechanisms = [priced.shares[position].mechanism for position in sorted(measured(formula))]
        self._grouped = any(isinstance(mechanism, Together) for mechanism in mechanisms)
        self._selected = mechanisms[0] if isinstance(formula, NoisyTerm) else None
        if self._selected is None and any(map(_selects, mechanisms)):
            raise TypeError("a count that finds groups is a part by itself")
        self._noise = None if self._grouped else self._reaching(None)

    def at(self, key: Group, noisy: Mapping[int, Public]) -> Span:
        """Return the interval of the part for one group."""
        found = self._measured(key, noisy)
        if self._wider is None:
            return found
        return self._wider.around(self.formula, coefficients(self.formula), found, noisy)

    def _measured(self, key: Group, noisy: Mapping[int, Public]) -> Span:
        """Return the interval of what is measured, limits included."""
        noise = self._reaching(key) if self._noise is None else self._noise
        if isinstance(self.formula, Mean | Variance):
            find = mean if isinstance(self.formula, Mean) else variance
            return find(self.formula, noisy, noise.laws, self._beta)  # type: ignore[arg-type]
        value = evaluate(self.formula, key, noisy)
        if _selects(self._selected) and isinstance(value, int):
            # A group is shown because its noise was large enough, which its interval takes into account.
            least, most = self._selected.interval(value, self._beta)
            return Fraction(least), Fraction(most)
        radius = noise.radius
        if radius is None or not isinstance(value, int | Fraction):
            return None, None
        low, high = value - radius, value + radius
        # A count is never negative.
        return (max(low, _NOTHING), max(high, _NOTHING)) if self._counts else (low, high)

    def _reaching(self, key: Group | None) -> "_Reaching":
        if isinstance(self.formula, Mean | Variance):
            laws = {position: self._priced.law(position, key) for position in measured(self.formula)}
            return _Reaching({position: law for position, law in laws.items() if law is not None})
        return _Reaching({}, self._priced.reach(coefficients(self.formula), self._beta, key))


_NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True)
class _Reaching:
    """How far noise reaches: the laws of a ratio's parts, or the radius of a sum."""

    laws: Laws
    radius: Fraction | None = None


def _atoms(formula: Formula, whole: Callable[[Formula], bool]) -> Iterator[Formula]:
    """Yield what a formula is made of, taking operations apart unless they are kept whole."""
    match formula:
        case NoisyTerm() | Combination() | Mean() | Variance():
            yield formula
        case Operation(_, arguments):
            if whole(formula):
                yield formula
            else:
                for argument in arguments:
                    yield from _atoms(argument, whole)
        case _:
            return


def _selects(mechanism: object) -> TypeGuard[KeyCount | KeyGaussian]:
    """Whether groups are shown because of what it drew."""
    return isinstance(mechanism, KeyCount | KeyGaussian)


def _counts(checked: Checked, part: Formula) -> bool:
    match part:
        case NoisyTerm(position):
            measurement = checked.measurements[position]
            return isinstance(measurement, Measurement) and measurement.counting
        case Combination(counts=counts):
            return counts
        case _:
            return False
