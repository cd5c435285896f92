"""A number that is only known, or only knowable, up to two rationals around it."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact.number import float_down, float_up

INFINITY = None
"""The upper end of a bound that no finite number can give."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Rationals with low <= true value <= high; `high` is None when the value is infinite or unbounded.

    `route` names the theorem that produced `high`, and `adaptive` says whether that theorem lets the
    parameters of later releases depend on earlier answers.
    """

    low: Fraction
    high: Fraction | None
    route: str = "exact"
    adaptive: str = "fixed parameters"

    def __post_init__(self) -> None:
        if self.high is not None and self.low > self.high:
            raise ParameterError(f"a lower bound of {self.low} lies above its upper bound {self.high}")

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

    def __str__(self) -> str:
        if self.exact:
            return f"{float(self):.6g}"
        return f"[{float_down(self.low):.9g}, {float(self):.9g}]"
