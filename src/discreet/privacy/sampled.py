"""Amplification by sampling: a release about a secret sample protects those who may not be in it.

Let a base mechanism have the dominating pair (P, Q), and let each unit enter its input with probability q.
Write H for the hockey-stick curve of the base, H(x) = sup over events E of P(E) - x Q(E).

Theorem (Poisson sampling, add-remove).  If every unit enters the sample independently with probability q,
removing a unit compares q P + (1 - q) Q with Q, and adding one the reverse.  With x = exp(epsilon),

    remove:  q H((x - 1 + q) / q)                                for x > 1 - q,  and 1 - x below;
    add:     (1 - x (1 - q)) H(x q / (1 - x (1 - q)))            for x < 1 / (1 - q),  and 0 above.

Both pairs are attained, and at a single release the first curve is the higher one for every epsilon >= 0:
with (P, Q) and (Q, P) alike, the same event gains (x - 1) (1 - q) (P(E) - Q(E)) more in it.  Over several
releases either may be the worse, so the two are composed apart from each other and the larger one counts.

Theorem (replacement).  Let the base law be that of replacing one unit.  If m of n units are drawn without
replacement, q = m / n, and neighbours replace one unit, both orders of every pair of neighbours lie below the
curve that is the first above for x >= 1 and the second for x < 1.  What neighbours in either order attain
from below are the two pairs themselves.
One release attains the curve at every x, but with one order for x >= 1 and with the other below; we know of
no pair of neighbours that attains both, so that many releases keep a gap between the two bounds (of epsilon,
4 to 17 % for Gaussian noise): the worst pair of one release need not be the worst of several.
The proof compares samples with the unit to samples with another one in its place.  If units enter each by
itself, the latter are samples without it, so the base law has to cover removing a unit, too: a base that
tells the size of its sample keeps its epsilon, since whoever sees the size knows that the unit was drawn.

Conditions.  Who is in the sample stays secret, a new sample is drawn for every release, and the size of
the data may be public only under replacement.

References.  Balle, Barthe, Gaboardi, "Privacy amplification by subsampling", NeurIPS 2018; Zhu, Dong, Wang,
"Optimal accounting of differential privacy via characteristic function", AISTATS 2022.  Worst pairs that do
not stay the worst: Lebeda, Regehr, Kamath, Steinke, "Avoiding pitfalls for privacy accounting of subsampled
mechanisms under composition", 2024.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact.number import ball, enclose, exp_bounds, shown
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.bounds import ZERO, Enclosure
from discreet.privacy.zcdp import pure_rho

if TYPE_CHECKING:
    from discreet.privacy.loss import Base


@dataclass(frozen=True, slots=True)
class SampledLoss:
    """The law of a release about a sample that each unit enters with probability `rate`."""

    base: "Base"
    rate: Fraction
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise ParameterError(f"a sampling rate lies strictly between 0 and 1, got {shown(self.rate)}")

    @property
    def slack(self) -> Fraction:
        """Return the probability of an infinite loss."""
        return self.rate * self.base.slack

    @property
    def pure(self) -> Fraction | None:
        """Return the largest finite loss, ln(1 + q (exp(c) - 1)), rounded up; removal has the larger one."""
        top = self.base.pure
        return None if top is None else self._shrunk(top)[1] if top else Fraction(0)

    @property
    def rho(self) -> Fraction:
        """Return a zCDP, rounded up: never more than the base's, by convexity, nor than that of `pure`."""
        whole, top = self.base.rho, self.pure
        return whole if top is None else min(whole, pure_rho(top))

    def delta(self, epsilon: Fraction) -> Enclosure:
        """Return rationals around q H(1 + (exp(epsilon) - 1) / q)."""
        if epsilon == 0:
            low, high = self.base.delta(Fraction(0))
            return self.rate * low, self.rate * high
        least, most = self._stretched(epsilon)
        return self.rate * self.base.delta(most)[0], self.rate * self.base.delta(least)[1]

    def epsilon(self, delta: Fraction) -> tuple[Fraction, Fraction | None]:
        """Return rationals around the smallest epsilon at this delta."""
        if delta >= self.rate:
            return ZERO
        low, high = self.base.epsilon(delta / self.rate)
        return (self._shrunk(low)[0] if low else low), (self._shrunk(high)[1] if high else high)

    def group(self, size: int) -> "SampledLoss":
        """Return the law of one unit; no tight law is known for several at once."""
        if size != 1:
            raise ParameterError(
                "no group bound is stated for a sampled release; compose it unsampled, or protect one unit"
            )
        return self

    def _shrunk(self, loss: Fraction) -> Enclosure:
        """Return rationals around ln(1 + q (exp(loss) - 1))."""
        return enclose(lambda: (ball(self.rate) * ball(loss).expm1()).log1p())

    def _stretched(self, loss: Fraction) -> Enclosure:
        """Return rationals around ln(1 + (exp(loss) - 1) / q)."""
        exp_bounds(loss)  # refuses what is too large to be an exponent
        return enclose(lambda: (ball(loss).expm1() / ball(self.rate)).log1p())
