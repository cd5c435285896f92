"""Numbers a + b e of which only an interval for e is known: exact linear forms of a symbolic epsilon.

A comparison is decided when it has one answer for every e of the interval, and refused otherwise; so an
unknown is never equal to a number by accident.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any


class UndecidedError(Exception):
    """A computation depends on which value the unknown has."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Where an unknown lies; `high` None is infinity."""

    low: Fraction
    high: Fraction | None = None
    low_included: bool = False
    high_included: bool = False

    def contains(self, value: Fraction) -> bool:
        """Return whether a value lies in the interval."""
        above = value > self.low or (value == self.low and self.low_included)
        below = self.high is None or value < self.high or (value == self.high and self.high_included)
        return above and below

    def inside(self) -> Fraction:
        """Return some point of the interior, or the only point."""
        return self.low + 1 if self.high is None else (self.low + self.high) / 2


@dataclass(frozen=True, slots=True)
class Linear:
    """constant + slope * e, where the slope is not zero and e lies in the interval."""

    constant: Fraction
    slope: Fraction
    interval: Interval

    def _plus(self, other: Any, sign: int) -> "Linear | Fraction":
        match other:
            case bool():
                raise UndecidedError("the unknown epsilon is added to a truth value")
            case int() | Fraction():
                return Linear(self.constant + sign * other, self.slope, self.interval)
            case Linear(constant, slope):
                return linear(self.constant + sign * constant, self.slope + sign * slope, self.interval)
        raise UndecidedError("the unknown epsilon is added to something that is not a number")

    def __add__(self, other: Any) -> "Linear | Fraction":
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Linear | Fraction":
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> "Linear | Fraction":
        return (-self)._plus(other, 1)

    def __neg__(self) -> "Linear":
        return Linear(-self.constant, -self.slope, self.interval)

    def __mul__(self, factor: Any) -> "Linear | Fraction":
        if isinstance(factor, bool) or not isinstance(factor, int | Fraction):
            raise UndecidedError("the unknown epsilon is multiplied by something that is not a number")
        return linear(self.constant * factor, self.slope * factor, self.interval)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> "Linear | Fraction":
        if isinstance(divisor, bool) or not isinstance(divisor, int | Fraction):
            raise UndecidedError("the unknown epsilon is divided by something that is not a number")
        return self * (1 / Fraction(divisor))

    def __rtruediv__(self, other: Any) -> "Linear":
        raise UndecidedError("something is divided by the unknown epsilon")

    def __mod__(self, other: Any) -> "Linear":
        raise UndecidedError("a remainder of the unknown epsilon is taken")

    def signs(self) -> set[int]:
        """Return the signs that the form has somewhere in the interval."""
        root = -self.constant / self.slope
        inside = root > self.interval.low and (self.interval.high is None or root < self.interval.high)
        if inside:
            return {-1, 0, 1}
        point = self.constant + self.slope * self.interval.inside()
        found = {(point > 0) - (point < 0)}
        return found | {0} if self.interval.contains(root) else found


def linear(constant: Fraction, slope: Fraction, interval: Interval) -> Linear | Fraction:
    """Return a form, as a plain number where it is one."""
    return Linear(Fraction(constant), Fraction(slope), interval) if slope else Fraction(constant)
