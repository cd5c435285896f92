"""The theorem that ends every derivation, against all that one person could do."""

from fractions import Fraction
from itertools import product

import pytest

from discreet.privacy.adjacency import Adjacency
from discreet.query.proof.reach import Reach

GROUPS = 3


def contributions(total: int, cell: int, groups: int, ends: tuple[int, int]) -> list[tuple[int, ...]]:
    """Return every vector that weights within the limits, times an end of the interval, can make."""
    weights = [
        n for n in product(range(cell + 1), repeat=GROUPS) if sum(n) <= total and sum(map(bool, n)) <= groups
    ]
    return [
        tuple(a * b for a, b in zip(n, signs, strict=True))
        for n in weights
        for signs in product({min(ends[0], 0), max(ends[1], 0)}, repeat=GROUPS)
    ]


@pytest.mark.parametrize(("total", "cell", "groups"), [(3, 3, 3), (3, 2, 3), (4, 2, 1), (3, 1, 2), (5, 2, 3)])
@pytest.mark.parametrize("ends", [(0, 1), (-2, 1), (0, 3), (-1, 1)])
def test_nobody_moves_further_and_someone_moves_as_far(
    total: int, cell: int, groups: int, ends: tuple[int, int]
) -> None:
    reach = Reach(min(total, cell * groups), cell, groups, *ends)
    vectors = contributions(total, cell, groups, ends)
    alone = reach.moves(Adjacency.ADD_REMOVE, GROUPS)
    assert max(sum(map(abs, v)) for v in vectors) == alone.l1
    assert max(sum(x * x for x in v) for v in vectors) == alone.l2_squared
    assert max(max(map(abs, v)) for v in vectors) == alone.linf
    both = reach.moves(Adjacency.REPLACE, GROUPS)
    corners = {v for v in vectors if sum(map(abs, v)) == alone.l1} | {
        v for v in vectors if sum(map(bool, v)) == 1
    }
    for v, w in product(corners, repeat=2):
        moved = [x - y for x, y in zip(v, w, strict=True)]
        assert sum(map(abs, moved)) <= both.l1
        assert sum(x * x for x in moved) <= both.l2_squared
        assert max(map(abs, moved)) <= both.linf
        assert both.l0 is not None
        assert sum(map(bool, moved)) <= both.l0
    single = reach.moves(Adjacency.REPLACE, 1)
    assert single.l1 == both.linf


def score(level: Fraction, weights: tuple[int, ...], candidate: int) -> int:
    up, unit = level.numerator, level.denominator
    below, here, all_ = sum(weights[:candidate]), weights[candidate], sum(weights)
    return -max(0, unit * below - up * all_, up * all_ - unit * (below + here))


@pytest.mark.parametrize("level", [Fraction(0), Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(1)])
def test_scores_move_as_far_as_derived_and_no_further(level: Fraction) -> None:
    total = 2
    own = [w for w in product(range(total + 1), repeat=3) if sum(w) <= total]
    others = [(0, 0, 0), (3, 0, 1), (5, 5, 5), (0, 9, 0), (7, 0, 0), (0, 0, 7)]

    def moved(one: tuple[int, ...], other: tuple[int, ...]) -> int:
        return max(abs(score(level, one, k) - score(level, other, k)) for k in range(3))

    def beside(rest: tuple[int, ...], mine: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(a + b for a, b in zip(rest, mine, strict=True))

    reach = Reach(total, total, None, 0, 1)
    alone = max(moved(beside(rest, mine), rest) for rest in others for mine in own)
    assert alone == reach.scores(Adjacency.ADD_REMOVE, None, level)
    swapped = max(
        moved(beside(rest, mine), beside(rest, theirs)) for rest in others for mine in own for theirs in own
    )
    assert (
        swapped <= reach.scores(Adjacency.REPLACE, 1, level) <= reach.scores(Adjacency.REPLACE, None, level)
    )
    # In two groups: someone leaves one and enters the other.
    assert 2 * alone == reach.scores(Adjacency.REPLACE, None, level)
