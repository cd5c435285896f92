"""Released tables drawn towards what other tables already say, and made into counts that can be.

Estimate.  Let y be the released table of attributes B, and let a and b be the first and the last attribute
of B.  If these were independent given the others, the table would be

    q = (table without b) (table without a) / (table without both),

which for two attributes is the product of their own tables over the total.  Two attributes may hang together
because both hang together with a third, c: then

    q = sum over the values of c of (table of a and c) (table of c and b) / (table of c)

is nearer, and is known better than y where c has few values; or a part of it is, or of several such c.  What
y adds to q is told apart from noise (see `departure`), and the nearest table without negative counts and with
the released total is taken.

Which c.  Let R be the centring of the table of a and b on both attributes (see `marginal`), R x its truth and
R y = R x + z what is known of it, of variance s.  Every table d that some c leads to, less that of
independence, is made of other pieces, whose noise is independent of z in Gaussian plans and uncorrelated in
others.  So for the multiple k of R d that is nearest to R y, k |R d| is <R x, R d> / |R d| and noise of
variance s.  It brings the sum of squares down by (k |R d|)**2, which noise alone makes s on average and, of
as many d as there are attributes, hardly ever more than 8 s.  The d that brings it down the furthest is
added, k times but at most once, and what is left is looked at again, four times or until nothing brings it
down by 8 s.  The sum is used where it makes y likelier than independence does.

How far off.  A table that is drawn to q, where noise hides what it adds, looks certain and is not: nobody
knows what is hidden.  Let R y = R x + z be the part that both ends have in common, z with variance s in each
of d directions, and e its estimate, with derivatives that come to f d.  By Stein's lemma the mean of
|e - R x|**2 is that of

    |R y - e|**2 + (2 f - 1) d s,

whatever x is; for an estimate f R y it deviates from it by (1 - f)**2 sqrt(2 d s**2 + 4 s |R x|**2), which is
added once.  The other parts are taken as drawn, so each is off by its d s; making counts possible only brings
all of it nearer.  The derivative of a cell is the variance left to it over that of its noise.  What the
squares come to beyond the variances of cells is given to cells as they count, as departures are; where the
total is not told apart from nothing, neither is any share.

All of this sees released values only, so it costs nothing; it trades bias for variance, so a shrunk cell has
no interval of its own.

References.  Stein, "Estimation of the mean of a multivariate normal distribution", Annals of Statistics 9(6),
1981.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import erf, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.workload.departure import Departure, departed
from discreet.workload.linear import Floats
from discreet.workload.marginal import Attributes, cell_variance, subsets
from discreet.workload.nearest import nearest_counts
from discreet.workload.table import MarginalAnswers, centred

MOST_LEADS, LEAST_GAIN = 4, 8.0

FURTHEST = 2.0
"""How far two tables of shares are apart that have no cell in common."""

TOLD_APART = 3.0
"""Of how many deviations of its noise a total has to be, so that shares of it are known at all."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownTables:
    """The centred pieces of consistent tables (see `marginal`), and the variance s_A of each."""

    sizes: tuple[int, ...]
    centred: Mapping[Attributes, Floats]
    variances: Mapping[Attributes, float]

    @classmethod
    def of(cls, answers: MarginalAnswers) -> "KnownTables":
        """Return what released marginals tell."""
        return cls(answers.plan.workload.sizes, answers.centred, answers.plan.pieces())

    @property
    def total(self) -> float:
        """The released number of records; never negative."""
        return max(float(self.centred[()]), 0.0)

    def table(self, attributes: Attributes) -> Floats:
        """Return one table, put together from its pieces."""
        out = np.zeros([self.sizes[i] for i in attributes])
        for subset in self._pieces(attributes):
            shape = [self.sizes[i] if i in subset else 1 for i in attributes]
            spread = prod(self.sizes[i] for i in attributes if i not in subset)
            out += self.centred[subset].reshape(shape) / spread
        return out

    def variance(self, attributes: Attributes) -> float:
        """Return the variance of every cell of one table."""
        self._pieces(attributes)
        return cell_variance(self.sizes, attributes, self.variances)

    def _pieces(self, attributes: Attributes) -> list[Attributes]:
        found = subsets(attributes)
        if any(subset not in self.centred for subset in found):
            raise ParameterError(f"the table of attributes {attributes} was not released")
        return found


def pooled(*parts: KnownTables) -> KnownTables:
    """Return what several releases about the same records tell together: pieces weighted by precision."""
    if not parts or any(part.sizes != parts[0].sizes for part in parts):
        raise ParameterError("only releases about the same attributes can be pooled")
    centred: dict[Attributes, Floats] = {}
    variances: dict[Attributes, float] = {}
    for attributes in dict.fromkeys(a for part in parts for a in part.centred):
        told = [part for part in parts if attributes in part.centred]
        exact = [part for part in told if part.variances[attributes] == 0]
        if exact:
            centred[attributes], variances[attributes] = exact[0].centred[attributes], 0.0
            continue
        weights = [1 / part.variances[attributes] for part in told]
        mean = sum(w * part.centred[attributes] for w, part in zip(weights, told, strict=True))
        centred[attributes] = np.asarray(mean / sum(weights))
        variances[attributes] = 1 / sum(weights)
    return KnownTables(parts[0].sizes, centred, variances)


@dataclass(frozen=True, slots=True, eq=False)
class ShrunkTables:
    """Tables that are nearer to the truth than the released ones as soon as cells are many and counts few."""

    known: KnownTables
    _apart: dict[Attributes, Departure] = field(default_factory=dict)
    _best: dict[Attributes, Departure] = field(default_factory=dict)

    def table(self, attributes: Attributes) -> Floats:
        """Return one table of counts that are not negative and add up to the released total."""
        return self._estimate(attributes).table

    def off(self, attributes: Attributes, records: NDArray[np.int64]) -> float | None:
        """Estimate how far a table of records is from the truth: the sum of |differences| of all shares.

        0 is the same table and 2 one without a common cell; no two are further apart, and an estimate of 2
        says that nothing is known.  A cell's truth is taken to be normal around its shrunk value, with
        variances that come to what `_squares_off` says; so is the mean of the absolute difference.  Without
        records there is nothing to compare, and no estimate.
        """
        if not records.sum():
            return None
        found, total = self._estimate(attributes), self.known.total
        if total <= TOLD_APART * sqrt(self.known.variances[()]):
            return FURTHEST
        shares = found.table / total
        rest = max(self._squares_off(attributes, found) - float(found.doubt.sum()), 0.0)
        away = np.asarray(records / int(records.sum()) - shares)
        deviation = np.sqrt(found.doubt + rest * shares) / total
        return min(float(_mean_distance(away, deviation).sum()), FURTHEST)

    def _squares_off(self, attributes: Attributes, found: Departure) -> float:
        """Return what the squared errors of all cells come to, as far as that can be known."""
        sizes, variance = self.known.sizes, self.known.variance(attributes)
        left = centred(self.known.table(attributes) - found.believed)
        free = float(found.doubt.mean()) / variance if variance else 1.0
        total = 0.0
        for subset in subsets(attributes):
            degrees, s = prod(sizes[i] - 1 for i in subset), self.known.variances[subset]
            if subset == attributes:
                total += _risk(float(np.square(left).sum()), s, degrees, free)
            else:
                total += degrees * s / prod(sizes[i] for i in attributes if i not in subset)
        return total

    def _estimate(self, attributes: Attributes) -> Departure:
        if attributes not in self._best:
            self._best[attributes] = self._shrunk(attributes)
        return self._best[attributes]

    def _shrunk(self, attributes: Attributes) -> Departure:
        apart = self._departed(attributes)
        explained = self._explained(attributes) if len(attributes) == 2 else None
        if explained is None:
            return apart
        tied = self._counts(attributes, explained)
        return tied if tied.evidence > apart.evidence else apart

    def _departed(self, attributes: Attributes) -> Departure:
        """Return how a table departs from independence of its ends given what lies between them."""
        if attributes not in self._apart:
            expected = self._expected(attributes) if len(attributes) > 1 else None
            self._apart[attributes] = self._counts(attributes, expected)
        return self._apart[attributes]

    def _counts(self, attributes: Attributes, expected: Floats | None) -> Departure:
        """Return the counts that a released table and what is expected of it lead to."""
        drawn, variance = self.known.table(attributes), self.known.variance(attributes)
        if expected is None:
            found = Departure(drawn, drawn, np.full_like(drawn, variance), 0.0)
        else:
            found = departed(drawn, expected, variance)
        return replace(found, table=nearest_counts(found.believed, self.known.total))

    def _expected(self, attributes: Attributes) -> Floats:
        """Return the table as it would be if its ends were independent given what lies between them."""
        left, right = self.table(attributes[:-1]), self.table(attributes[1:])
        between = self.table(attributes[1:-1])
        return np.asarray(left[..., None] * right[None, ...] * _inverse(between)[None, ..., None])

    def _explained(self, pair: Attributes) -> Floats | None:
        """Return the table of two attributes that others lead to, if any leads nearer than none does."""
        found = apart = self._expected(pair)
        left, least = self.known.centred[pair] - centred(apart), LEAST_GAIN * self.known.variances[pair]
        leads = [(more := led - apart, centred(more)) for led in self._leads(pair)]
        for _ in range(MOST_LEADS if leads else 0):
            more, away = max(leads, key=lambda lead: _gain(left, lead[1]))
            if _gain(left, away) <= least:
                break
            times = _times(left, away)
            found, left = found + times * more, left - times * away
        return None if found is apart else np.maximum(found, 0.0)

    def _leads(self, pair: Attributes) -> Iterator[Floats]:
        """Yield the tables of two attributes that each third leads to, if both are known beside it."""
        for third in range(len(self.known.sizes)):
            if third not in pair and all(_joined(one, third) in self.known.centred for one in pair):
                yield self._led(pair, third)

    def _led(self, pair: Attributes, third: int) -> Floats:
        """Return the table of two attributes if they were independent given a third."""
        here, there = (self._by(one, third) for one in pair)
        return np.asarray((here * _inverse(self.table((third,)))) @ there.T)

    def _by(self, one: int, third: int) -> Floats:
        """Return the counts of one attribute by another, which no third has changed."""
        counts = self._departed(_joined(one, third)).table
        return counts if one < third else counts.T


def _risk(squares: float, s: float, degrees: int, free: float) -> float:
    """Return what the squared error of an estimate may be that leaves so many squares of what was drawn."""
    mean = max(squares + (2 * free - 1) * degrees * s, 0.0)
    return mean + (1 - free) ** 2 * sqrt(2 * degrees * s * s + 4 * s * mean)


def _times(left: Floats, away: Floats) -> float:
    """Return how often, at most once, a table is to be added so that the least of another is left."""
    squares = float(np.square(away).sum())
    return min(max(float((left * away).sum()) / squares, 0.0), 1.0) if squares else 0.0


def _gain(left: Floats, away: Floats) -> float:
    """Return how much that brings the sum of squares down."""
    return float(np.square(left).sum() - np.square(left - _times(left, away) * away).sum())


def _joined(one: int, other: int) -> Attributes:
    return (one, other) if one < other else (other, one)


def _inverse(counts: Floats) -> Floats:
    return np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0)


def _mean_distance(away: Floats, deviation: Floats) -> Floats:
    """Return the mean of |away + deviation Z| for a standard normal Z."""
    steps = np.divide(away, deviation, out=np.zeros_like(away), where=deviation > 0)
    bell = deviation * np.sqrt(2 / np.pi) * np.exp(-np.square(steps) / 2)
    inside = np.array([erf(step) for step in (steps / np.sqrt(2)).flat]).reshape(away.shape)
    return np.where(deviation > 0, bell + away * inside, np.abs(away))
