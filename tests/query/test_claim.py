"""The claimed sensitivity, against all contributions one person can make, by enumeration."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.adjacency import Adjacency
from discreet.query.check.contribution import Contribution, claim, contribution


def vectors(limits: Contribution, low: int, high: int, width: int) -> list[tuple[int, ...]]:
    """Return every vector of per-group sums that at most the allowed rows, each in [low, high], can make."""
    found = set()
    for rows in product(range(limits.cell + 1), repeat=width):
        if sum(rows) <= limits.total and (limits.groups is None or sum(n > 0 for n in rows) <= limits.groups):
            spans = [range(min(n * low, 0), max(n * high, 0) + 1) if n else range(1) for n in rows]
            found |= set(product(*spans))
    return list(found)


def norms(moves: list[tuple[int, ...]]) -> tuple[int, int, int]:
    return (
        max(sum(map(abs, move)) for move in moves),
        max(sum(v * v for v in move) for move in moves),
        max(abs(v) for move in moves for v in move),
    )


CASES = [
    (total, cell, groups, low, high)
    for total, cell, groups in ((1, 1, 1), (2, 2, None), (3, 2, 2), (2, 1, 2), (3, 1, None), (3, 2, None))
    for low, high in ((0, 1), (-1, 1), (-2, 1), (0, 2), (-1, 0))
]


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize(("total", "cell", "groups", "low", "high"), CASES)
def test_the_claim_covers_every_person_and_is_reached(
    adjacency: Adjacency, total: int, cell: int, groups: int | None, low: int, high: int
) -> None:
    limits = Contribution(adjacency, total, cell, groups, single=False)
    width = 2 if total == 3 and cell == 1 else 4 if total < 3 else 3
    alone = vectors(limits, low, high, width)
    if adjacency is Adjacency.ADD_REMOVE:
        moves = alone
    else:
        moves = [tuple(a - b for a, b in zip(one, other, strict=True)) for one in alone for other in alone]
    claimed = claim(limits, low, high)
    l1, l2_squared, linf = norms(moves)
    assert l1 <= claimed.l1
    assert l2_squared <= claimed.l2_squared
    assert linf == claimed.linf
    if adjacency is Adjacency.ADD_REMOVE and width >= -(-total // cell):
        assert (l1, l2_squared) == (claimed.l1, claimed.l2_squared)
    if groups is not None:
        assert claimed.l0 is not None
        assert max(sum(v != 0 for v in move) for move in moves) <= claimed.l0


@given(st.integers(1, 9), st.integers(-9, 9), st.integers(0, 9), st.sampled_from(list(Adjacency)))
def test_a_single_group_is_one_number(total: int, low: int, length: int, adjacency: Adjacency) -> None:
    high = low + length
    limits = Contribution(adjacency, total, total, 1, single=True)
    claimed = claim(limits, low, high)
    top, bottom = max(high, 0) * total, min(low, 0) * total
    expected = max(top, -bottom) if adjacency is Adjacency.ADD_REMOVE else top - bottom
    assert claimed.l1 == claimed.linf == expected
    assert claimed.l2_squared == Fraction(expected) ** 2


def test_limits_combine_to_the_tightest() -> None:
    def joint(rows: int | None, per_group: int | None, groups: int | None, *, single: bool = False) -> object:
        found = contribution(Adjacency.ADD_REMOVE, rows, per_group, groups, single=single)
        return None if found is None else (found.total, found.cell, found.groups)

    assert joint(8, None, None) == (8, 8, None)
    assert joint(8, 2, 3) == (6, 2, 3)
    assert joint(4, 2, 3) == (4, 2, 3)
    assert joint(None, 2, 3) == (6, 2, 3)
    assert joint(8, 2, None, single=True) == (2, 2, 1)
    assert joint(None, None, 3) is None
    assert joint(None, 2, None) is None
