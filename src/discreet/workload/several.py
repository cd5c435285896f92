"""Several questions about the same cells at one price, none of them worse off than alone at its part of it.

Every question is a 0/1 workload W_i over the cells, and p_i > 0, of sum 1, is its part of the price.

Theorem.  Let A_i serve W_i, and let n_i be the norm of A_i by which its noise is calibrated, l1 for pure
privacy and l2 for concentrated.  Stack the matrices p_i A_i / n_i, or the roots of p_i in place of p_i where
the norm is l2.  The stack has norm at most 1, and least squares answers every question from it with at most
the variance that the question has alone at its part of the price.
Proof.  A change h moves the stack by the sum of p_i |A_i h| / n_i <= 1 in l1, by the root of the sum of
p_i |A_i h|**2 / n_i**2 <= 1 in l2.  Noise of the whole price on the rows of question i is what that question
has alone at its part; further rows only add information, and no linear unbiased estimate has a smaller
variance than that of least squares.

So the stack is where the search begins.  Often a strategy for all questions together is better for each of
them: W is weighted so that what is minimised is the sum over questions of p_i times their error, in units of
what they have alone, and questions that come out worse than alone are weighted up a few times.  Whatever is
found is taken only if no question's largest or mean variance is above that of the stack's bound.

What a question asks falls into pieces that share no cell, as groups do that are apart; each piece is planned
by itself, for a person is in one of them only.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.errors import ParameterError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Pure
from discreet.privacy.sensitivity import Sensitivity
from discreet.workload.column import matrix_sensitivity
from discreet.workload.forecast import Error, inverse_and_sight, supported
from discreet.workload.linear import Floats, Matrix, Prefix, Union
from discreet.workload.noise import Promise, calibrated, spread
from discreet.workload.optimise import optimised_for
from discreet.workload.plan import Plan, StrategyCandidate, plan
from discreet.workload.strategy import Dense, Integers, Strategy, identity, information, matrix_of, rounded

Moves = Callable[[Dense], Sensitivity]
"""How far one person moves what a strategy measures."""

_ROUNDS, _FEW_CELLS = 4, 512
"""So often an optimum is sought with other weights; over more cells, where each takes seconds, once."""

_ALLOWED = 1 + 1e-6
"""Rounding to integers may cost so much of a variance."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """How a strategy serves every question, in units of the variances that it would have alone."""

    strategy: Dense
    largest: Floats
    mean: Floats

    @property
    def fair(self) -> bool:
        """Whether no question is worse off than alone."""
        return bool(max(self.largest.max(), self.mean.max()) <= _ALLOWED)


def plan_several(
    questions: Sequence[Matrix], parts: Sequence[Fraction], guarantee: Promise, moves: Moves
) -> Plan:
    """Return a plan for questions that share a price in these parts, of sum one."""
    workload = Union(tuple(questions))
    counted = [place for place, question in enumerate(questions) if question.array().any()]
    if not counted:
        # Nobody is counted by any question, so any strategy serves.
        return _made(workload, Dense("as asked", np.eye(workload.cells, dtype=np.int64)), guarantee, moves)
    asked = [questions[place] for place in counted]
    total = sum(parts[place] for place in counted)
    shares = np.array([float(parts[place] / total) for place in counted])
    alone = [_alone(question, guarantee) for question in asked]
    if len(alone) == 1:
        return _made(workload, alone[0], guarantee, moves)
    return _made(workload, _fairest(asked, alone, shares, guarantee, moves), guarantee, moves)


def _fairest(
    asked: Sequence[Matrix], alone: Sequence[Dense], shares: Floats, guarantee: Promise, moves: Moves
) -> Dense:
    """Return the strategy with the least sum of relative errors that leaves nobody worse off than alone."""
    pure = isinstance(guarantee, Pure)
    norms = [_norm(moves(strategy), pure=pure) for strategy in alone]
    parts = shares if pure else np.sqrt(shares)
    known = [
        _variances([question], strategy, norm / part)[0]
        for question, strategy, norm, part in zip(asked, alone, norms, parts, strict=True)
    ]

    def standing(strategy: Dense) -> _Standing:
        found = _variances(asked, strategy, _norm(moves(strategy), pure=pure))
        pairs = list(zip(found, known, strict=True))
        return _Standing(
            strategy,
            np.array([one.max() / own.max() for one, own in pairs]),
            np.array([one.mean() / own.mean() for one, own in pairs]),
        )

    scaled = [s.rows * (part / norm) for s, part, norm in zip(alone, parts, norms, strict=True)]
    best = standing(rounded("one beside the other", np.vstack(scaled)))
    weights = shares.copy()
    weighted = [question.gram() / own.sum() for question, own in zip(asked, known, strict=True)]
    # An optimum may be lost in floats or by rounding; the stack never is.
    with suppress(ParameterError):
        for _ in range(_ROUNDS if asked[0].cells <= _FEW_CELLS else 1):
            gram = np.sum([w * one for w, one in zip(weights, weighted, strict=True)], axis=0)
            scale = float(np.diagonal(gram).mean())
            apply = _applied(asked, [w / own.sum() / scale for w, own in zip(weights, known, strict=True)])
            found = standing(optimised_for(gram / scale, guarantee, apply))
            if found.fair:
                return min(best, found, key=lambda one: float(shares @ one.mean)).strategy
            weights = weights * np.clip(np.maximum(found.largest, found.mean), 0.5, 2)
    return best.strategy


def _applied(asked: Sequence[Matrix], weights: Sequence[float]) -> Callable[[Floats], Floats] | None:
    """Return what multiplies by the weighted sum of Gram matrices, or None if that is no faster than it.

    A running count is summed up and back, in the order in which it takes the cells; a few sums are taken and
    given back.
    """
    cells = asked[0].cells
    if cells <= _FEW_CELLS:
        return None
    running: list[tuple[float, Integers]] = []
    others = [np.zeros((0, cells))]
    for weight, question in zip(weights, asked, strict=True):
        rows, size = question.array(), question.queries
        order = np.argsort(-rows.sum(axis=0), kind="stable")[:size]
        # Cells that it does not count come last, where there are any.
        if rows.sum() == size * (size + 1) // 2 and bool(
            (rows[:, order] == np.tri(size)[:, : order.size]).all()
        ):
            running.append((weight, order))
        else:
            others.append(weight**0.5 * rows)
    few = np.vstack(others)
    if 4 * few.shape[0] > cells:
        return None

    def apply(x: Floats) -> Floats:
        found = few.T @ (few @ x)
        for weight, order in running:
            found[order] += weight * np.cumsum(np.cumsum(x[order], axis=0)[::-1], axis=0)[::-1]
        return np.asarray(found)

    return apply


def _norm(change: Sensitivity, *, pure: bool) -> float:
    return float(change.l1) if pure else float(change.l2_squared) ** 0.5


def _variances(asked: Sequence[Matrix], strategy: Dense, norm: float) -> list[Floats]:
    """Return the variances of all answers where noise is calibrated to the norm at unit price."""
    inverse, seen = inverse_and_sight(information(strategy))
    if seen is not None and not all(supported(question.gram(), seen) for question in asked):
        return [np.full(question.queries, np.inf) for question in asked]
    rows = [question.array().astype(np.float64) for question in asked]
    return [np.asarray(np.einsum("ij,ij->i", one @ inverse, one)) * norm**2 for one in rows]


def _made(workload: Union, strategy: Dense, guarantee: Promise, moves: Moves) -> Plan:
    change = moves(strategy)
    noise = calibrated(guarantee, change)
    asked = [part for part in workload.parts if isinstance(part, Matrix)]
    total = float(np.concatenate(_variances(asked, strategy, 1.0)).sum())
    found = Error(total * spread(noise), workload.queries)
    chosen = (StrategyCandidate(strategy, change, found),)
    return Plan(workload, Adjacency.ADD_REMOVE, strategy, noise, change, found, chosen)


@lru_cache(maxsize=64)
def _alone(question: Matrix, guarantee: Promise) -> Dense:
    """Return a strategy for one question, piece by piece."""
    rows = question.array()
    made = [(cells, _piece(rows[:, cells], guarantee)) for cells in _pieces(rows)]
    if all(strategy.shape[0] == 1 for _, strategy in made):
        # Groups that are apart are measured as they are, in whole units.
        return Dense("as asked", np.array([np.isin(np.arange(question.cells), c) for c, _ in made], np.int64))
    found = np.zeros((sum(strategy.shape[0] for _, strategy in made), question.cells))
    first = 0
    for cells, strategy in made:
        found[first : first + strategy.shape[0], cells] = strategy
        first += strategy.shape[0]
    return rounded("piece by piece", found)


def _pieces(rows: Integers) -> list[Integers]:
    """Return the cells that questions count, parted where no question counts cells of two parts."""
    left = np.asarray(rows.any(axis=0))
    found = []
    while left.any():
        piece = np.zeros_like(left)
        piece[np.argmax(left)] = True
        while (grown := np.asarray(rows[rows[:, piece].any(axis=1)].any(axis=0))).sum() > piece.sum():
            piece = grown
        found.append(np.flatnonzero(piece))
        left = np.asarray(left & ~piece)
    return found


def _piece(rows: Integers, guarantee: Promise) -> Floats:
    """Return a strategy of norm one for questions that hang together; cells that they count alike are one."""
    asked = rows[rows.any(axis=1)]
    kinds = sorted({tuple(column) for column in asked.T.tolist()}, reverse=True)
    places = {kind: place for place, kind in enumerate(kinds)}
    made = matrix_of(_strategy(np.array(kinds).T, guarantee))  # type: ignore[arg-type]
    norm = _norm(matrix_sensitivity(made, Adjacency.ADD_REMOVE), pure=isinstance(guarantee, Pure))
    return np.asarray(made[:, [places[tuple(column)] for column in asked.T.tolist()]] / norm)


def _strategy(rows: Integers, guarantee: Promise) -> Strategy:
    cells = rows.shape[1]
    if cells == 1:
        return identity(1)
    running = rows.shape[0] == cells and bool((rows == np.tri(cells)).all())
    return plan(Prefix(cells) if running else Matrix.of(rows.tolist()), guarantee).strategy
