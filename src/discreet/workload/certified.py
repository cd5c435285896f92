"""The best strategy for Gaussian noise on one ordered domain, with a proof of how good it is.

Let M = W' W.  Among all strategies A with columns of length at most one, the total squared error at unit
noise is tr(M X^-1) with X = A' A, so the best one solves

    minimise tr(M X^-1)   over positive definite X with X_ii <= 1,

a convex problem.  For every positive vector v (write V for its diagonal matrix and R for the square root of
V^1/2 M V^1/2):

    lower bound:   optimum >= (tr R)**2 / sum(v)
    upper bound:   X = V^-1/2 R V^-1/2, over its largest diagonal entry, has error tr R * max(R_ii / v_i)

Proof.  The Lagrangian tr(M X^-1) + sum v_i (X_ii - 1) is smallest where X V X = M, that is at the X stated
above, where tr(M X^-1) = tr(X V) = tr R, so that it equals 2 tr R - sum(v); the best multiple of v turns
this into the square.

Both sides meet when R_ii is proportional to v_i, which is where the gradient of the logarithm of the lower
bound in log v vanishes.  Steps towards that proportion, mixed as Anderson does, soon come close to it; where
they stall, a quasi-Newton method climbs on.  It starts from the solution on a domain four times coarser,
because the best v is nearly a smooth function of position.

References.  Li and Miklau, "Optimal error of query sets under the differentially-private matrix mechanism",
ICDT 2013; the convex program: Yuan, Yang, Zhang, Hao, PVLDB 2016; mixing: Anderson, J. ACM 12(4), 1965.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from discreet.errors import ParameterError
from discreet.workload.descent import descend
from discreet.workload.linear import AllRange, Floats, Identity, Prefix, Workload

_COARSEST = 48
_STEPS = 80
_FLOOR = 1e-300
_MIXED = 9
_PATIENCE = 6
"""Big steps go on as long as so many of them halve the gap."""


@dataclass(frozen=True, slots=True, eq=False)
class Certified:
    """A real strategy with unit columns at most, and both sides of its total squared error at unit noise."""

    matrix: Floats
    upper: float
    lower: float

    @property
    def gap(self) -> float:
        """How much better than `upper` the unknown optimum can be, relatively."""
        return self.upper / self.lower - 1


@dataclass(slots=True)
class _Best:
    logs: Floats
    upper: float = np.inf
    lower: float = 0.0


class _CloseEnoughError(Exception):
    """The two sides agree to the tolerance, so the climb may stop."""


def optimum(
    gram_of: Callable[[int], Floats] | Floats, cells: int, *, tolerance: float = 1e-5, steps: int = _STEPS
) -> Certified:
    """Return a strategy within `tolerance` of the best, for a Gram matrix or a family of them by size.

    A family lets the climb start from coarser domains; a single matrix is climbed from its diagonal.
    """
    if not callable(gram_of) and gram_of.shape == (cells, cells):
        asked = np.diagonal(gram_of) > 0
        if not asked.all():
            return _with_unasked(gram_of, asked, tolerance, steps)
    sizes = [cells]
    if callable(gram_of):
        while sizes[-1] // 4 >= _COARSEST:
            sizes.append(sizes[-1] // 4)
    gram = gram_of(sizes[-1]) if callable(gram_of) else gram_of
    if gram.shape != (sizes[-1], sizes[-1]):
        raise ParameterError(f"expected a {sizes[-1]} x {sizes[-1]} Gram matrix, got {gram.shape}")
    best = _climb(gram, _start(gram), tolerance, steps)
    for size in reversed(sizes[:-1]):
        gram = gram_of(size) if callable(gram_of) else gram_of
        best = _climb(gram, _refine(best.logs, size), tolerance, steps)
    return Certified(_strategy(gram, best.logs), best.upper, best.lower)


def _with_unasked(
    gram: Floats, asked: "np.ndarray[tuple[int], np.dtype[np.bool_]]", tolerance: float, steps: int
) -> Certified:
    """Return the optimum when some cells are in no question: each is measured by itself, at no cost."""
    if not asked.any():
        raise ParameterError("the workload counts no cell at all, so there is nothing to measure")
    inner = optimum(gram[np.ix_(asked, asked)], int(asked.sum()), tolerance=tolerance, steps=steps)
    matrix = np.eye(asked.size)
    matrix[np.ix_(asked, asked)] = inner.matrix
    return Certified(matrix, inner.upper, inner.lower)


def lower_bound(gram: Floats) -> float:
    """Return the error no strategy with unit columns can beat, from singular values only (v constant)."""
    weights = np.asarray(np.linalg.eigvalsh(gram), dtype=np.float64)
    return float(_sure_trace(weights) ** 2 / gram.shape[0])


def spectral_bound(workload: Workload) -> float | None:
    """Return the same bound without any matrix, where the singular values are known in closed form.

    Theorem.  The Gram matrix of all ranges is (n + 1) times the inverse of the second difference with fixed
    ends, whose eigenvalues are 4 sin(k pi / 2(n + 1))**2, k = 1, ..., n; that of running counts is the
    inverse of the second difference with one free end, with eigenvalues 4 sin((2k - 1) pi / 2(2n + 1))**2.
    """
    place = np.arange(1, workload.cells + 1)
    match workload:
        case AllRange(n):
            roots = np.sqrt(n + 1) / (2 * np.sin(place * np.pi / (2 * (n + 1))))
        case Prefix(n):
            roots = 1 / (2 * np.sin((2 * place - 1) * np.pi / (2 * (2 * n + 1))))
        case Identity(n):
            roots = np.ones(n)
        case _:
            return None
    # Each root is off by a few roundings.
    return float(roots.sum() ** 2 / workload.cells) * (1 - 1e-12)


def _sure_trace(weights: Floats) -> float:
    """Return a sum of square roots of eigenvalues that their rounding errors cannot have raised."""
    slack = 8 * weights.size * np.finfo(np.float64).eps * float(np.abs(weights).max())
    return float(np.sqrt(np.maximum(weights - slack, 0)).sum()) * (1 - 1e-14)


def _start(gram: Floats) -> Floats:
    return 0.5 * np.log(np.maximum(np.diagonal(gram), _FLOOR))


def _refine(logs: Floats, size: int) -> Floats:
    coarse = (np.arange(logs.size) + 0.5) / logs.size
    return np.asarray(np.interp((np.arange(size) + 0.5) / size, coarse, logs))


def _climb(gram: Floats, start: Floats, tolerance: float, steps: int) -> _Best:
    """Return the best point on the way up: mixed big steps while they pay, then a quasi-Newton method."""
    symmetric = gram.shape[0] % 2 == 0 and bool(np.array_equal(gram, gram[::-1, ::-1]))
    best = _Best(start)

    def look(logs: Floats) -> tuple[float, Floats, Floats, float]:
        if symmetric:
            logs = (logs + logs[::-1]) / 2
        v = np.exp(logs - logs.max())
        diagonal, trace, sure = _root_diagonal(gram, v, symmetric=symmetric)
        # A long step may leave weights of nothing, whose bound is none; it is not taken.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            upper = trace * float(np.max(diagonal / v))
        best.lower = max(best.lower, sure**2 / float(v.sum()))
        if upper < best.upper:
            best.upper, best.logs = upper, logs
        if best.upper <= best.lower * (1 + tolerance):
            raise _CloseEnoughError
        return upper / best.lower - 1, v, diagonal, trace

    def value_and_slope(logs: Floats) -> tuple[float, Floats]:
        _, v, diagonal, trace = look(logs)
        return float(np.log(v.sum()) - 2 * np.log(trace)), v / v.sum() - diagonal / trace

    with suppress(_CloseEnoughError):
        logs, gaps = start, [np.inf]
        places: deque[Floats] = deque(maxlen=_MIXED)
        moves: deque[Floats] = deque(maxlen=_MIXED)
        for _ in range(steps):
            if min(gaps[-_PATIENCE:]) > min(gaps[:-_PATIENCE], default=np.inf) / 2:
                break
            now, v, diagonal, _ = look(logs)
            gaps.append(now)
            places.append(np.log(np.maximum(v, _FLOOR)))
            # Where M is diagonal this lands on the optimum, v_i = R_ii**2 / v_i.
            move = 2 * (np.log(np.maximum(diagonal, _FLOOR)) - places[-1])
            moves.append(move - move.mean())
            logs = _mixed(places, moves)
        descend(value_and_slope, best.logs, steps=steps, memory=20, flat=1e-15)
    return best


def _mixed(places: Sequence[Floats], moves: Sequence[Floats]) -> Floats:
    """Return where to look next: Anderson's mixture of the last places, moved.

    If moves were linear in places, a mixture of places would have the mixture of their moves: the weights,
    which sum to one, are those whose mixed move is least.
    """
    last, move = places[-1], moves[-1]
    if len(moves) == 1:
        return last + move
    apart = np.array([move - one for one in moves][:-1]).T
    before = np.array([last - one for one in places][:-1]).T
    weights = np.linalg.lstsq(apart, move, rcond=1e-10)[0]
    return np.asarray(last + move - (before + apart) @ weights)


def _root_diagonal(gram: Floats, v: Floats, *, symmetric: bool) -> tuple[Floats, float, float]:
    """Return the diagonal and the trace of the square root of V^1/2 M V^1/2, and a sure bound below it."""
    if not symmetric:
        weights, vectors = _spectrum(gram, v)
        roots = np.sqrt(weights)
        return np.square(vectors) @ roots, float(roots.sum()), _sure_trace(weights)
    even, odd = _halves(gram)
    half = v.size // 2
    (first, trace, sure), (second, other, also) = (
        _root_diagonal(part, v[:half], symmetric=False) for part in (even, odd)
    )
    front = (first + second) / 2
    return np.concatenate([front, front[::-1]]), trace + other, sure + also


def _halves(gram: Floats) -> tuple[Floats, Floats]:
    """Return the action on vectors that equal their mirror image, and on those that equal its negative.

    A matrix equal to its own half-turn keeps the two kinds apart, and so does its square root: two
    eigenproblems of half the size cost a quarter.
    """
    half = gram.shape[0] // 2
    near, far = gram[:half, :half], gram[:half, half:][:, ::-1]
    return near + far, near - far


def _spectrum(gram: Floats, v: Floats) -> tuple[Floats, Floats]:
    root = np.sqrt(v)
    weights, vectors = np.linalg.eigh(gram * root[:, None] * root[None, :])
    return np.maximum(weights, 0), vectors


def _strategy(gram: Floats, logs: Floats) -> Floats:
    """Return A with A' A = X scaled to unit columns at most, where X = V^-1/2 R V^-1/2."""
    v = np.exp(logs - logs.max())
    if gram.shape[0] % 2 == 0 and np.array_equal(gram, gram[::-1, ::-1]):
        half = v.size // 2
        even, odd = (_half_root(part, v[:half]) for part in _halves(gram))
        matrix = np.block([[even, even[:, ::-1]], [odd, -odd[:, ::-1]]]) / np.sqrt(2)
    else:
        matrix = _half_root(gram, v)
    return np.asarray(matrix / np.sqrt(np.square(matrix).sum(axis=0).max()))


def _half_root(gram: Floats, v: Floats) -> Floats:
    weights, vectors = _spectrum(gram, v)
    # Directions the workload never asks about still need a trace of weight to keep full rank.
    quarter = np.maximum(weights, weights.max() * 1e-16) ** 0.25
    return np.asarray((quarter[:, None] * vectors.T) / np.sqrt(v)[None, :])
