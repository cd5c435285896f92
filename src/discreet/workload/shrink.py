"""Released tables drawn towards what their smaller tables already say, and made into counts that can be.

Estimate.  Let y be the released table of attributes B, every cell with variance s, and let a and b be the
first and the last attribute of B.  If these were independent given the others, the table would be

    q = (table without b) (table without a) / (table without both),

which for two attributes is the product of their own tables over the total.  What a table adds to that is its
residue r = y - q.  Suppose that a cell's true residue has variance t q: larger counts depart further.  Its
moments give t = max(0, sum (r**2 - s) q / sum q**2), and the best linear estimate of the table is

    q + r t q / (t q + s),

of which the nearest table without negative counts and with the released total is taken.  Where the residue is
noise alone, t is near zero and the smaller tables speak; where noise is small, the table itself does.

All of this sees released values only, so it costs nothing; it trades bias for variance, so a shrunk cell has
no interval of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import erf, prod

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.workload.linear import Floats
from discreet.workload.marginal import Attributes, cell_variance, subsets
from discreet.workload.nearest import nearest_counts
from discreet.workload.table import MarginalAnswers


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
    _made: dict[Attributes, tuple[Floats, Floats]] = field(default_factory=dict)

    def table(self, attributes: Attributes) -> Floats:
        """Return one table of counts that are not negative and add up to the released total."""
        return self._estimate(attributes)[0]

    def off(self, attributes: Attributes, records: NDArray[np.int64]) -> float:
        """Estimate how far a table of records is from the truth: the sum of |differences| of all shares.

        0 is the same table and 2 one without a common cell.  A cell's truth is taken to be normal around its
        shrunk value, with the variance that the estimate leaves; so is the mean of the absolute difference.
        """
        table, doubt = self._estimate(attributes)
        total = max(float(table.sum()), 1.0)
        away = np.asarray(records / max(int(records.sum()), 1) - table / total)
        return float(_mean_distance(away, np.sqrt(doubt) / total).sum())

    def _estimate(self, attributes: Attributes) -> tuple[Floats, Floats]:
        if attributes not in self._made:
            self._made[attributes] = self._shrunk(attributes)
        return self._made[attributes]

    def _shrunk(self, attributes: Attributes) -> tuple[Floats, Floats]:
        drawn, variance = self.known.table(attributes), self.known.variance(attributes)
        doubt = np.full_like(drawn, variance)
        if len(attributes) > 1 and variance:
            expected = self._expected(attributes)
            own = _own_variance(expected, drawn, variance)
            drawn, doubt = (
                expected + (drawn - expected) * own / (own + variance),
                own * variance / (own + variance),
            )
        return nearest_counts(drawn, self.known.total), doubt

    def _expected(self, attributes: Attributes) -> Floats:
        """Return the table as it would be if its ends were independent given what lies between them."""
        left, right = self.table(attributes[:-1]), self.table(attributes[1:])
        between = self.table(attributes[1:-1])
        shared = np.divide(1.0, between, out=np.zeros_like(between), where=between > 0)
        return np.asarray(left[..., None] * right[None, ...] * shared[None, ..., None])


def _own_variance(expected: Floats, drawn: Floats, variance: float) -> Floats:
    """Return t q: how far the truth of each cell departs from what smaller tables say, by its moments."""
    weight = float(np.square(expected).sum())
    excess = float(((np.square(drawn - expected) - variance) * expected).sum())
    return np.asarray(expected * (max(excess, 0.0) / weight if weight else 0.0))


def _mean_distance(away: Floats, deviation: Floats) -> Floats:
    """Return the mean of |away + deviation Z| for a standard normal Z."""
    steps = np.divide(away, deviation, out=np.zeros_like(away), where=deviation > 0)
    bell = deviation * np.sqrt(2 / np.pi) * np.exp(-np.square(steps) / 2)
    inside = np.array([erf(step) for step in (steps / np.sqrt(2)).flat]).reshape(away.shape)
    return np.where(deviation > 0, bell + away * inside, np.abs(away))
