"""The sum of independent privacy losses, as far as its moments go."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import gcd, inf, lcm, pi

import numpy as np

from discreet.exact.number import log_bounds
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.loss import (
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    MeshLoss,
    ResponseLoss,
    Summand,
)
from discreet.privacy.many import multiplied
from discreet.privacy.moment import (
    ROUNDING,
    UNIT,
    Complexes,
    Family,
    Reals,
    anchor,
    centre,
    chernoff_constant,
    closed_form,
    family_decay,
    lattice,
    log_moment,
    span,
    terms,
    tilted,
    tractable,
    transformed,
)

MOST_RELEASES = 2**40
"""More releases than this are left to the routes that need no floats."""

_TILTS = np.logspace(-9, 12, 337)
_CHUNK, _MOST_ROWS = 2**17, 16
"""Laws are taken in blocks this large; a product of 16 error bounds, each above 2**-47, cannot underflow."""


@dataclass(frozen=True)
class LossSum:
    """The sum of independent losses: laws with their multiplicities, each able to lose something."""

    parts: tuple[tuple[Summand, int], ...]

    @cached_property
    def variance(self) -> Fraction:
        """Return the total mu squared of the Gaussian parts."""
        return sum(
            (n * law.mu_squared for law, n in self.parts if isinstance(law, GaussianLoss)), Fraction(0)
        )

    @cached_property
    def families(self) -> tuple[tuple[Family, Reals, Reals, Reals | None], ...]:
        """Return the parts with a closed form in their largest loss: family, losses, counts, middles."""
        found: list[tuple[Family, Reals, Reals, Reals | None]] = []
        families: tuple[Family, ...] = (ResponseLoss, LaplaceLoss, BoundedRangeLoss)
        for family in families:
            members = [
                (float(law.pure or 0), float(n))
                for law, n in self.parts
                if isinstance(law, family) or (family is ResponseLoss and _two_valued(law))
            ]
            if members:
                losses, counts = np.array(members).T
                found.append((family, losses, counts, None))
        three = [(float(law.pure or 0), float(n), middle) for law, n, middle in self._three_valued]
        if three:
            losses, counts, middles = np.array(three).T
            found.append((ResponseLoss, losses, counts, middles))
        return tuple(found)

    @cached_property
    def _three_valued(self) -> list[tuple[Summand, int, float]]:
        found = [(law, n, three_valued(law)) for law, n in self.parts if isinstance(law, AtomsLoss)]
        return [(law, n, middle) for law, n, middle in found if middle is not None]

    @cached_property
    def others(self) -> tuple[tuple[GeometricLoss | DiscreteGaussianLoss | AtomsLoss | MeshLoss, int], ...]:
        """Return the remaining parts, which are taken one by one."""
        return tuple(
            (law, n)
            for law, n in self.parts
            if isinstance(law, GeometricLoss | DiscreteGaussianLoss | AtomsLoss | MeshLoss)
            and not _two_valued(law)
            and not (isinstance(law, AtomsLoss) and three_valued(law) is not None)
        )

    @cached_property
    def mesh(self) -> Fraction | None:
        """Return the step that all parts on a mesh share, if there are such parts."""
        return next((law.step for law, _ in self.parts if isinstance(law, MeshLoss)), None)

    def rough(self) -> "LossSum":
        """Return about the same sum on a coarser mesh, where a guess is enough."""
        meshes = [law for law, _ in self.parts if isinstance(law, MeshLoss)]
        block = min((len(law.weights) // 256 for law in meshes), default=1)
        if block < 2:
            return self
        return LossSum(
            tuple((law.coarser(block) if isinstance(law, MeshLoss) else law, n) for law, n in self.parts)
        )

    @cached_property
    def ceiling(self) -> Fraction | None:
        """Return the largest possible sum, rounded up, or None if there is none."""
        tops = [(law.pure, n) for law, n in self.parts]
        return None if any(top is None for top, _ in tops) else _added([(top, n) for top, n in tops if top])

    @cached_property
    def common_lattice(self) -> tuple[Fraction, Fraction] | None:
        """Return (a point, the step) of the lattice that carries the sum, if there is one."""
        base = step = None
        for law, _ in self.parts:
            entry = lattice(law)
            if entry is None or (step is not None and entry.base != base):
                return None
            base, step = entry.base, entry.step if step is None else _common_step(step, entry.step)
        if step is None:
            return None
        unit = Fraction(1) if base is None else log_bounds(1 / base)[0]
        return sum((n * anchor(law) for law, n in self.parts), Fraction(0)), step * unit

    def log_moment(self, tilts: Reals) -> Reals:
        """Return K at real points, none negative."""
        total = float(self.variance) * tilts * (tilts + 1) / 2
        for family, losses, counts, middles in self.families:
            c = losses[:, None]
            inside = np.log(closed_form(family, c, tilts[None, :], _column(middles)))
            total = total + counts @ (c * tilts + inside)
        for law, n in self.others:
            total = total + n * log_moment(law, tilts)
        return np.asarray(total, dtype=np.float64)

    def log_moment_error(self, theta: float) -> float:
        """Return a bound on the rounding error of K at theta."""
        return float(self.log_moment_errors(np.array([theta]))[0])

    def log_moment_errors(self, tilts: Reals) -> Reals:
        """Return bounds on the rounding error of K at several points.

        Each law adds ROUNDING and four units for its exponent; adding up n laws rounds n times what has been
        added up so far, so the whole grows with their number.
        """
        size = float(self.variance) * tilts * (tilts + 1)
        for _, losses, counts, _ in self.families:
            widths = float((counts * (1 + 2 * losses)).sum())
            size = size + ROUNDING * float(counts.sum()) + 4 * tilts * widths
        for law, n in self.others:
            size = size + n * (ROUNDING + 4 * tilts * (1 + span(law)))
            if isinstance(law, DiscreteGaussianLoss):
                # Its moment is that of a Gaussian, which grows with the square of the tilt.
                size = size + 2 * n * float(law.rho) * tilts * (tilts + 1)
        return np.asarray(8 * UNIT * (size + 1) * (1 + len(self.parts) / 16))

    @cached_property
    def tractable(self) -> bool:
        """Whether the error bounds of the float route apply to every part."""
        return sum(n for _, n in self.parts) <= MOST_RELEASES and all(tractable(law) for law, _ in self.parts)

    def centre(self, theta: Fraction) -> Fraction:
        """Return the rational taken out of the whole sum."""
        inside = [(centre(law, theta), n) for law, n in self.parts if not isinstance(law, GaussianLoss)]
        return _added(inside) + self.variance * (theta + Fraction(1, 2))

    def log_decay(self, theta: float, t: float, variance: float) -> float:
        """Return a bound on ln |phi| at and beyond t, never rising with t, for this Gaussian variance."""
        total = -variance * t * t / 2
        for family, losses, counts, _ in self.families:
            total += float(counts @ np.log(family_decay(family, losses, theta, t)))
        return total

    def factors(self, theta: Fraction, t: Reals, window: float) -> Iterator[tuple[Complexes, Reals, Reals]]:
        """Yield phi, a bound on its error, and the multiplicities, for one law or several laws at a time."""
        at = float(theta)
        rows = min(max(1, _CHUNK // len(t)), _MOST_ROWS)
        for family, losses, counts, middles in self.families:
            if family is ResponseLoss or family is LaplaceLoss:
                whole = multiplied(family, losses, counts, at, 2 * pi / window, len(t), middles)
                if whole is not None:
                    yield whole[0][None, :], whole[1][None, :], np.ones(1)
                    continue
            for start in range(0, len(losses), rows):
                some = slice(start, start + rows)
                c, middle = losses[some, None], _column(None if middles is None else middles[some])
                start_value = closed_form(family, c, np.array([[at]]), middle)
                phi = closed_form(family, c, at + 1j * t[None, :], middle) / start_value
                yield phi, _slip(t, 2 * c), counts[some]
        for law, n in self.others:
            if isinstance(law, MeshLoss):
                phi, slip = transformed(law, theta, round(window / float(law.step)), len(t))
                yield phi[None, :], np.full((1, len(t)), slip), np.array([float(n)])
                continue
            yield tilted(law, theta, t)[None, :], _slip(t, np.array([[span(law)]])), np.array([float(n)])

    @cached_property
    def work(self) -> int:
        """Return how many exponentials one sample costs."""
        closed = sum(2 * len(losses) for _, losses, _, _ in self.families)
        return 1 + closed + sum(terms(law) for law, _ in self.others)


def _added(numbers: list[tuple[Fraction, int]]) -> Fraction:
    """Return the sum of numbers, each so many times, brought to lowest terms once."""
    under = lcm(*(number.denominator for number, _ in numbers))
    return Fraction(sum(n * number.numerator * (under // number.denominator) for number, n in numbers), under)


def _column(middles: Reals | None) -> Reals | float:
    return 0.0 if middles is None else middles[:, None]


@lru_cache(maxsize=4096)
def three_valued(law: AtomsLoss) -> float | None:
    """Return how many times as likely as the smallest loss none is, where the losses are c, 0 and -c."""
    if len(law.atoms) != 3:
        return None
    (p, q), (same, also), (r, s) = law.atoms
    return float(same / r) if 0 < q == r and p == s and same == also else None


def _two_valued(law: Summand) -> bool:
    """Whether a law is that of a randomised response by another name."""
    return isinstance(law, GeometricLoss) and law.shift == 1


def _slip(t: Reals, width: Reals) -> Reals:
    """Return the bound on the error of a computed phi whose losses reach `width` from the centre."""
    return np.asarray(UNIT * (ROUNDING + 8 * t[None, :] * (1 + width)))


def _common_step(left: Fraction, right: Fraction) -> Fraction:
    below = left.denominator * right.denominator
    return Fraction(gcd(left.numerator * right.denominator, right.numerator * left.denominator), below)


def chernoff(total: LossSum, delta: Fraction) -> tuple[float, float]:
    """Return a tilt and the epsilon it bounds, rounded up: the best Renyi bound, of order 1 + tilt."""
    target = float(log_bounds(delta)[0])

    def bound(tilts: Reals) -> Reals:
        return np.asarray((total.log_moment(tilts) + chernoff_constant(tilts) - target) / tilts)

    theta, value = lowest(bound)
    return theta, value + (total.log_moment_error(theta) + 2.0**-40 * abs(target) + 2.0**-40) / theta


def saddle(total: LossSum, epsilon: Fraction) -> float:
    """Return the tilt at which the integrand is lowest at t = 0, and so oscillates least."""
    at = float(epsilon)

    def height(tilts: Reals) -> Reals:
        return np.asarray(total.log_moment(tilts) - tilts * at - np.log(tilts) - np.log1p(tilts))

    return lowest(height)[0]


def least_tilt(total: LossSum) -> float:
    """Return a tilt below which nothing is gained: the inverse of where the untilted sum ends."""
    beyond = int(np.searchsorted(np.abs(total.log_moment(_TILTS)), 1e-3))
    step = _TILTS[min(beyond, len(_TILTS) - 1)]
    one, two = total.log_moment(np.array([step, 2 * step]))
    mean, variance = (4 * one - two) / (2 * step), max((two - 2 * one) / step**2, 0.0)
    return float(1 / (abs(mean) + 3 * variance**0.5 + step / 1e9))


def lowest(function: Callable[[Reals], Reals]) -> tuple[float, float]:
    """Return a tilt near which the function is lowest, and its value there."""
    grid, answer = _TILTS, (1.0, inf)
    for _ in range(4):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            values = function(grid)
        values = np.where(np.isfinite(values), values, np.inf)
        best = int(np.argmin(values))
        answer = float(grid[best]), float(values[best])
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 17)
    return answer
