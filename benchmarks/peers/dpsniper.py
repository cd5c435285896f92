"""DP-Sniper's method (Bichsel, Steffen, Bogunovic, Vechev, IEEE S&P 2021) as we read it; none of its code.

The tool itself is on no package registry.  Its method: learn the posterior "which input was it?" by logistic
regression, guess on the outputs with the highest posterior so that one input is guessed with probability
exactly c = 0.01, breaking ties by a coin, and divide Clopper-Pearson limits of the two probabilities.  Runs
are split as in its published experiments: 10.7 parts to learn, 10.7 for the threshold, 10.7 to choose the
direction, 200 for the bound.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

C = 0.01
PARTS = np.array([10.7, 10.7, 10.7, 200.0])

Rows = NDArray[np.float64]


def lower_bound(
    sample: Callable[[Any, int], Any], left: Any, right: Any, runs: int, confidence: float = 0.9
) -> float:
    """Return the lower bound on epsilon that the method reaches with this many runs per input."""
    coins = np.random.default_rng()
    counts = (runs * PARTS / PARTS.sum()).astype(int)

    def draw(side: Any, stage: int) -> Rows:
        return np.asarray(sample(side, counts[stage]), dtype=np.float64).reshape(counts[stage], -1)

    columns = Columns(np.concatenate([draw(left, 0)[:20_000], draw(right, 0)[:20_000]]))
    weights = regression(columns, draw(left, 0), draw(right, 0))
    best = (-np.inf, left, right, 1.0, 0.0, 0.0)
    for one, two, sign in ((left, right, -1.0), (right, left, 1.0)):
        threshold, share = cut(sign * columns.score(draw(two, 1), weights))
        p, q = (chance(columns, weights, draw(x, 2), sign, threshold, share, coins)[0] for x in (one, two))
        best = max(best, (np.log(max(p, 1e-12) / max(q, 1e-12)), one, two, sign, threshold, share), key=first)
    _, one, two, sign, threshold, share = best
    hits = [chance(columns, weights, draw(x, 3), sign, threshold, share, coins)[1] for x in (one, two)]
    alpha, n = (1 - confidence) / 2, int(counts[3])
    lower = betaincinv(hits[0], n - hits[0] + 1, alpha) if hits[0] else 0.0
    upper = betaincinv(hits[1] + 1, n - hits[1], 1 - alpha) if hits[1] < n else 1.0
    return float(max(0.0, np.log(lower / upper))) if lower > 0 else 0.0


def first(candidate: tuple[Any, ...]) -> float:
    """Return what candidates are compared by."""
    return float(candidate[0])


class Columns:
    """Standardised outputs, with a flag for every value that a position often takes."""

    def __init__(self, rows: Rows) -> None:
        self.atoms = []
        for column in rows.T:
            values, counts = np.unique(column, return_counts=True)
            self.atoms.append(values[counts * 200 > len(rows)][:8] if len(values) > 8 else values[1:])
        raw = self.raw(rows)
        self.mean, self.scale = raw.mean(axis=0), raw.std(axis=0) + 1e-12

    def raw(self, rows: Rows) -> Rows:
        """Return positions, without their atoms, and flags."""
        parts = []
        for column, atoms in zip(rows.T, self.atoms, strict=True):
            flags = [column == atom for atom in atoms]
            parts += [np.where(np.isin(column, atoms), 0.0, column), *flags]
        return np.stack(parts, axis=1).astype(np.float64)

    def score(self, rows: Rows, weights: Rows) -> Rows:
        """Return the log odds of `right`."""
        return np.concatenate(
            [(self.raw(part) - self.mean) / self.scale @ weights for part in np.array_split(rows, 16)]
        )


def regression(columns: Columns, left: Rows, right: Rows, rounds: int = 6, ridge: float = 1e-3) -> Rows:
    """Return the weights of a logistic regression, by Newton's method."""
    design = (columns.raw(np.concatenate([left, right])) - columns.mean) / columns.scale
    truth = np.concatenate([np.zeros(len(left)), np.ones(len(right))])
    weights = np.zeros(design.shape[1])
    for _ in range(rounds):
        chances = 1 / (1 + np.exp(-design @ weights))
        slope = design.T @ (truth - chances) / len(design) - ridge * weights
        curve = (design * (chances * (1 - chances))[:, None]).T @ design / len(design)
        weights = weights + np.linalg.solve(curve + ridge * np.eye(len(weights)), slope)
    return weights


def cut(scores: Rows) -> tuple[float, float]:
    """Return a threshold and the share of ties to guess on, so that one score in a hundred is."""
    threshold = float(np.quantile(scores, 1 - C, method="lower"))
    above, ties = np.mean(scores > threshold), np.mean(scores == threshold)
    return threshold, float(np.clip((C - above) / max(ties, 1e-12), 0, 1))


def chance(
    columns: Columns, weights: Rows, rows: Rows, sign: float, threshold: float, share: float, coins: Any
) -> tuple[float, int]:
    """Return how often these outputs are guessed on, as a share and as a count."""
    scores = sign * columns.score(rows, weights)
    hits = int((scores > threshold).sum()) + int(coins.binomial(int((scores == threshold).sum()), share))
    return hits / len(rows), hits
