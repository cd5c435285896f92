"""A number that is only known, or only knowable, up to two rationals around it."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact.number import float_down, float_up, shown
from discreet.markup import card

FIXED = "fixed parameters"
"""Mechanisms may be chosen adaptively, but their parameters are fixed before the first answer."""

FULLY = "fully adaptive"
"""Parameters, too, may depend on earlier answers."""


Enclosure = tuple[Fraction, Fraction]
"""Two rationals around a number."""

ZERO: Enclosure = (Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True, repr=False)
class Bounds:
    """Rationals with low <= true value <= high; `high` is None when the value is infinite or unbounded.

    `route` names the theorem that produced `high`, and `adaptive` says whether that theorem lets the
    parameters of later releases depend on earlier answers.
    """

    low: Fraction
    high: Fraction | None
    route: str = "exact"
    adaptive: str = FIXED

    def __post_init__(self) -> None:
        if self.high is not None and self.low > self.high:
            raise ParameterError(f"a lower bound of {self.low} lies above its upper bound {self.high}")

    def __repr__(self) -> str:
        high = None if self.high is None else shown(self.high)
        return f"Bounds({shown(self.low)}, {high}, {self.route!r}, {self.adaptive!r})"

    @classmethod
    def exactly(cls, value: Fraction, route: str = "exact") -> "Bounds":
        """Return the bounds of a value known exactly."""
        return cls(value, value, route)

    @property
    def exact(self) -> bool:
        """Whether the two ends agree."""
        return self.low == self.high

    def __float__(self) -> float:
        """Return the upper end rounded up, the side that budgets use."""
        return float("inf") if self.high is None else float_up(self.high)

    @property
    def width(self) -> Fraction | None:
        """Return high - low relative to high, or None if there is no upper end."""
        if self.high is None:
            return None
        return (self.high - self.low) / self.high if self.high else Fraction(0)

    @property
    def words(self) -> str:
        """Return the bounds in words: one number where both ends round to it."""
        return f"unbounded, at least {float_down(self.low):.9g}" if self.high is None else str(self)

    def _repr_html_(self) -> str:
        return card("Certified bounds", [("value", self.words), ("by", f"{self.route}, {self.adaptive}")])

    def __str__(self) -> str:
        if self.width is not None and self.width < Fraction(1, 10**8):
            return f"{float(self):.9g}"
        return f"[{float_down(self.low) + 0.0:.9g}, {float(self):.9g}]"
