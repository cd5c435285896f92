"""Averages and variances on a simplex: all corners together move no further than one of them."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, sqrt
from typing import Any

import pytest
from tests.query.questions import clinic

from discreet.errors import ProofError, QueryError
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.catalog.manifest import declare
from discreet.query.check.aggregate import SQUARE_WIDTH
from discreet.query.check.contribution import Contribution, claim_simplex
from discreet.query.check.measurement import families
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.plan import Call, Case, Column, Literal, Scalar
from discreet.query.price import proving
from discreet.query.price.quote import quote
from discreet.query.proof import Blended, Claim, Declarations, TableDeclaration, prove
from discreet.query.proof.blend import Corners
from discreet.query.proof.reach import Reach
from discreet.query.statement import Inner, Query, Statement, StoredTable


def corners(x: int | None, width: int, degree: int) -> tuple[int, ...]:
    """Return what one row adds, by the binomial theorem; a row without a value adds to the last."""
    if x is None:
        return (*(0,) * (degree + 1), width**degree)
    return (*(comb(degree, i) * x**i * (width - x) ** (degree - i) for i in range(degree + 1)), 0)


def people(total: int, cell: int, groups: int, width: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Yield what every person within the limits adds to all corners of two groups."""
    rows = [(group, x) for group in range(2) for x in (*range(width + 1), None)]
    for size in range(total + 1):
        for own in combinations_with_replacement(rows, size):
            held = [group for group, _ in own]
            if len(set(held)) <= groups and all(held.count(group) <= cell for group in set(held)):
                added = [[0] * (degree + 2) for _ in range(2)]
                for group, x in own:
                    for place, amount in enumerate(corners(x, width, degree)):
                        added[group][place] += amount
                yield tuple(v for part in added for v in part)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize(("total", "cell", "groups"), [(1, 1, 1), (2, 2, 1), (2, 1, 2), (3, 2, 2)])
def test_all_corners_together_move_as_far_as_claimed_and_derived(
    total: int, cell: int, groups: int, degree: int
) -> None:
    width = 2
    alone = set(people(total, cell, groups, width, degree))
    some = sorted(alone)[:: max(len(alone) // 60, 1)]
    for adjacency in Adjacency:
        claimed = claim_simplex(
            Contribution(adjacency, total, cell, groups, single=False), width**degree, degree + 2
        )
        derived = Corners(Reach(total, cell, groups, 0, width**degree), degree + 2).moves(adjacency)
        assert derived == claimed
        swaps = [tuple(a - b for a, b in zip(v, w, strict=True)) for v in alone for w in some]
        moves = alone if adjacency is Adjacency.ADD_REMOVE else swaps
        l1 = max(sum(map(abs, v)) for v in moves)
        l2 = max(sum(a * a for a in v) for v in moves)
        linf = max(abs(a) for v in moves for a in v)
        assert (l1, linf) == (claimed.l1, claimed.linf)
        assert l2 <= claimed.l2_squared
        if adjacency is Adjacency.ADD_REMOVE:
            assert l2 == claimed.l2_squared


def test_noise_for_the_whole_price_on_every_corner_keeps_it_exactly() -> None:
    """Every output, every row that may be added: the ratio of exact probabilities, and that it is reached."""
    width, epsilon = 3, 1
    noise = Geometric.calibrate(epsilon=epsilon, sensitivity=width)
    worst = Fraction(0)
    for x in (0, 1, 2, 3, None):
        row = corners(x, width, 1)
        for output in product(range(-2, 6), repeat=3):
            without = noise.pmf(output[0]) * noise.pmf(output[1]) * noise.pmf(output[2])
            with_ = Fraction(1)
            for z, moved in zip(output, row, strict=True):
                with_ *= noise.pmf(z - moved)
            worst = max(worst, with_ / without, without / with_)
    assert worst == noise.alpha**-width
    assert noise.guarantee(Sensitivity.of(width)).epsilon().high <= epsilon


QUESTIONS = [
    ("SELECT AVG(age) FROM visits", [2]),
    ("SELECT COUNT(age), SUM(age), AVG(age) FROM visits", [2]),
    ("SELECT COUNT(*), AVG(age) FROM visits", [3]),
    ("SELECT STDDEV(age), AVG(age), COUNT(*) FROM visits", [4]),
    ("SELECT AVG(age), AVG(cost) FROM visits", [2, 2]),
    ("SELECT AVG(age) FILTER (WHERE flag), AVG(age), COUNT(*) FROM visits", [3, 2]),
    ("SELECT ward, VAR_POP(age), COUNT(DISTINCT person) FROM visits GROUP BY ward", [3, 1]),
    ("SELECT ward, flag, AVG(age) FROM visits GROUP BY CUBE (ward, flag)", [2]),
]


@pytest.mark.parametrize(("text", "sizes"), QUESTIONS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_simplex_is_one_part_of_the_price_and_is_proved(
    text: str, sizes: list[int], neighbours: str
) -> None:
    catalog = clinic(neighbours=neighbours)
    priced = quote(check(read(text), catalog), epsilon=1)
    assert [len(family) for family in families(priced.checked.measurements)] == sizes
    assert priced.cost.epsilon == 1
    proof = proving.proof_of(priced, catalog)
    assert "simplex" in str(proof)


A = Column("r", "a")
HIGH, LOW = 9, 2


def claimed(*factors: Scalar, top: int, corners: int | None = None) -> bool:
    """Whether the checker believes that sums of these factors move by no more than `top` together."""
    clamped = Call("clamp", (Column("t", "x"), Literal(LOW), Literal(HIGH)))
    other = Call("clamp", (Column("t", "y"), Literal(LOW), Literal(HIGH)))
    rows = Query((("a", clamped), ("b", other)), StoredTable("t", "t"))
    names = tuple(f"m{place}" for place in range(len(factors)))
    items = tuple((name, Call("sum", (factor,))) for name, factor in zip(names, factors, strict=True))
    statement = Statement((), Query(items, Inner(rows, "r")), 0, names)
    l0 = len(factors) if corners is None else corners
    claim = Claim((), (Blended(names, Sensitivity(Fraction(top), Fraction(top**2), Fraction(top), l0)),))
    declared = Declarations((TableDeclaration("t", (("x", "integer"), ("y", "integer"))),))
    try:
        prove([statement], declared, [claim])
    except ProofError:
        return False
    return True


def minus(one: Scalar | int, other: Scalar | int) -> Scalar:
    return Call("subtract", tuple(Literal(a) if isinstance(a, int) else a for a in (one, other)))


def times(*factors: Scalar | int) -> Scalar:
    held = [Literal(a) if isinstance(a, int) else a for a in factors]
    return held[0] if len(held) == 1 else Call("multiply", (times(*held[:-1]), held[-1]))


BELOW, ABOVE = minus(HIGH, A), minus(A, LOW)
WIDTH = HIGH - LOW
MISSING = Case(((Call("is_null", (A,)), Literal(WIDTH)),), Literal(0))


def test_the_checker_knows_the_corners_of_a_simplex() -> None:
    assert claimed(BELOW, ABOVE, top=WIDTH)
    assert claimed(BELOW, ABOVE, MISSING, top=WIDTH)
    assert claimed(times(BELOW, BELOW), times(2, ABOVE, BELOW), times(ABOVE, ABOVE), top=WIDTH**2)


B = Column("r", "b")
BROKEN = {
    "one less": ((BELOW, ABOVE), WIDTH - 1),
    "a corner that is too far away": ((minus(HIGH + 1, A), ABOVE), WIDTH),
    "a corner that may be negative": ((minus(HIGH - 1, A), ABOVE), WIDTH),
    "two columns": ((BELOW, minus(B, LOW)), WIDTH),
    "one corner twice": ((ABOVE, ABOVE), WIDTH),
    "the mixed term without its square": ((times(3, ABOVE, BELOW), times(ABOVE, ABOVE)), WIDTH**2),
    "rows without a value count more": (
        (BELOW, ABOVE, Case(((Call("is_null", (A,)), Literal(WIDTH + 1)),), Literal(0))),
        WIDTH,
    ),
    "two constants for rows without a value": ((BELOW, ABOVE, MISSING, MISSING), WIDTH),
    "rows with a value count too": (
        (BELOW, ABOVE, Case(((Call("is_null", (A,)), Literal(WIDTH)),), Literal(1))),
        WIDTH,
    ),
    "rows without a value of another column": (
        (BELOW, ABOVE, Case(((Call("is_null", (B,)), Literal(WIDTH)),), Literal(0))),
        WIDTH,
    ),
    "a value in place of none": ((BELOW, Call("coalesce", (ABOVE, Literal(WIDTH)))), WIDTH),
    "a constant": ((BELOW, ABOVE, Literal(1)), WIDTH),
    "a third power": ((times(ABOVE, ABOVE, ABOVE), BELOW), WIDTH**3),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_checker_refuses(name: str) -> None:
    factors, top = BROKEN[name]
    assert not claimed(*factors, top=top), name


def test_the_checker_counts_the_coordinates_that_a_person_touches() -> None:
    assert not claimed(BELOW, ABOVE, top=WIDTH, corners=1)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_an_average_errs_no_more_than_one_with_the_count_for_nothing(epsilon: str) -> None:
    """Where the number of people is public, noise on the sum has the deviation sqrt(2) width / epsilon."""
    priced = quote(check(read("SELECT AVG(age), VAR_POP(age) FROM visits"), clinic(rows=1)), epsilon=epsilon)
    spread = sqrt(priced.shares[0].mechanism.variance) / float(priced.shares[0].measured.scale)  # type: ignore[union-attr]
    best = sqrt(2) / float(Fraction(epsilon)) * 120**2
    assert spread <= best * (1 + 1e-9)
    for mean, second in ((m / 20, m / 20 * (m + k * (20 - m) / 5) / 20) for m in range(21) for k in range(6)):
        of_mean = [-mean, 0.5 - mean, 1 - mean]
        of_variance = [u - second - 2 * mean * (v - mean) for u, v in ((0, 0), (0, 0.5), (1, 1))]
        assert sqrt(sum(c * c for c in of_mean)) * spread <= best * sqrt(5) / 2 * (1 + 1e-9)
        assert sqrt(sum(c * c for c in of_variance)) * spread <= best * (1 + 1e-9)
    alone: Any = quote(check(read("SELECT AVG(age) FROM visits"), clinic(rows=1)), epsilon=epsilon).shares[0]
    spread = sqrt(alone.mechanism.variance) / float(alone.measured.scale)
    assert all(sqrt(m**2 + (1 - m) ** 2) * spread <= best / 120 for m in (0, 0.1, 0.3, 0.5, 0.9, 1))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    ("low", "width", "fits"),
    [
        (0, 2**30, True),
        (0, 2**30 + 1, False),
        (-SQUARE_WIDTH // 2, SQUARE_WIDTH, True),
        (-SQUARE_WIDTH // 2, SQUARE_WIDTH + 1, False),
    ],
)
def test_squares_as_wide_as_can_be_proved_are_priced_and_wider_ones_refused(
    low: int, width: int, fits: bool, neighbours: str
) -> None:
    column = {"type": "integer", "low": low, "high": low + width}
    catalog = declare(
        {
            "tables": {
                "t": {"unit": "p", "rows_per_unit": 2, "neighbours": neighbours, "columns": {"x": column}}
            }
        }
    )
    question = read("SELECT VARIANCE(x), COUNT(*) FROM t")
    if fits:
        assert proving.proof_of(quote(check(question, catalog), epsilon=1), catalog)
    else:
        with pytest.raises(QueryError, match="too wide for squares"):
            check(question, catalog)
