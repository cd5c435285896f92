"""How far one unit moves an answer, against exhaustive search over small datasets."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import sensitivity as s
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE


def neighbours(domain, size, adjacency):
    """All pairs of neighbouring datasets whose smaller member has `size` records."""
    for base in combinations_with_replacement(domain, size):
        if adjacency is ADD:
            for record in domain:
                yield base, (*base, record)
        elif size:
            for record in domain:
                yield base, (*base[1:], record)


def brute(query, domain, size, adjacency):
    changes = [
        [a - b for a, b in zip(query(x), query(y), strict=True)]
        for x, y in neighbours(domain, size, adjacency)
    ]
    return Sensitivity(
        max(sum(map(abs, c)) for c in changes),
        max(sum(v * v for v in c) for c in changes),
        max(abs(v) for c in changes for v in c),
        max(sum(v != 0 for v in c) for c in changes),
    )


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_counts_sums_and_histograms_match_exhaustive_search(adjacency):
    domain = [Fraction(v) for v in (-2, 0, 3)]
    assert s.count().l1 == brute(lambda d: [sum(v > 0 for v in d)], domain, 3, adjacency).l1
    assert s.total(-2, 3, adjacency).l1 == brute(lambda d: [sum(d, Fraction(0))], domain, 3, adjacency).l1
    cells = brute(lambda d: [sum(v == c for v in d) for c in domain], domain, 3, adjacency)
    assert s.histogram(adjacency) == cells


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_the_mean_with_a_known_minimum_matches_exhaustive_search(adjacency):
    domain = [Fraction(0), Fraction(120)]

    def mean(d):
        return [sum(d, Fraction(0)) / len(d)]

    for records in (1, 2, 5):
        assert s.mean(0, 120, records, adjacency).l1 == brute(mean, domain, records, adjacency).l1


def test_the_average_age_of_the_lecture():
    assert s.mean(0, 120, 100, REPLACE).l1 == Fraction(6, 5)
    assert s.mean(0, 120, 100, ADD).l1 == Fraction(120, 101)
    assert s.mean(0, 120, 1, REPLACE).l1 == 120
    assert s.mean(0, 120, 1, ADD).l1 == 60


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("length", [1, 2, 4])
def test_prefix_sums_match_exhaustive_search(adjacency, length):
    domain = list(range(length))
    found = brute(lambda d: [sum(v <= k for v in d) for k in domain], domain, 2, adjacency)
    claimed = s.prefix_sums(length, adjacency)
    assert (claimed.l1, claimed.l2_squared, claimed.linf) == (found.l1, found.l2_squared, found.linf)


@given(
    st.lists(st.tuples(*[st.integers(0, 1)] * 3), min_size=1, max_size=4, unique=True),
    st.sampled_from([ADD, REPLACE]),
)
def test_a_workload_s_sensitivity_is_the_exhaustive_one(records, adjacency):
    queries = [lambda r, i=i: r[i] for i in range(3)]
    claimed = s.workload(queries, records, adjacency)
    found = brute(lambda d: [Fraction(sum(r[i] for r in d)) for i in range(3)], records, 2, adjacency)
    assert claimed == found


def test_counting_queries_may_answer_with_truth_values():
    truths = s.workload([lambda r: r > 1, lambda r: r == 0], range(3), ADD)
    assert truths == s.workload([lambda r: int(r > 1), lambda r: int(r == 0)], range(3), ADD)


def test_the_cdf_of_three_bits_costs_seven_and_the_marginals_three():
    cells = list(product((0, 1), repeat=3))
    cdf = s.workload([lambda r, c=c: int(r <= c) for c in cells], cells, REPLACE)
    assert s.scaled(cdf, Fraction(1, 10)).l1 == Fraction(7, 10)
    assert cdf.l2_squared == 7
    ones = s.workload([lambda r, i=i: r[i] for i in range(3)], cells, REPLACE)
    assert s.scaled(ones, "1/10").l1 == Fraction(3, 10)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_marginal_tables_match_exhaustive_search(adjacency):
    sizes, sets = (2, 1, 2), [(0,), (0, 2), (1,)]
    domain = list(product(*(range(n) for n in sizes)))
    cells = [(c, v) for c in sets for v in product(*(range(sizes[i]) for i in c))]
    found = brute(
        lambda d: [Fraction(sum(tuple(r[i] for i in c) == v for r in d)) for c, v in cells],
        domain,
        2,
        adjacency,
    )
    claimed = s.marginals(sizes, sets, adjacency)
    assert claimed == found


def test_a_claim_one_too_small_is_caught_by_the_same_search():
    domain = [0, 1, 2]
    found = brute(lambda d: [sum(v == c for v in d) for c in domain], domain, 2, REPLACE)
    assert found != s.histogram(ADD)


def test_groups_multiply():
    group = Sensitivity.spread(2, 3).group(4)
    assert (group.l1, group.l2_squared, group.linf, group.l0) == (24, 18 * 16, 12, 8)
    with pytest.raises(ParameterError):
        Sensitivity.of(1).group(0)


def test_a_single_number_is_scalar_and_a_spread_is_not():
    assert Sensitivity.of(5).scalar
    assert not Sensitivity.spread(2, 1).scalar
    assert not Sensitivity(Fraction(2), Fraction(2), Fraction(1)).scalar


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sensitivity(Fraction(1), Fraction(1), Fraction(2)),
        lambda: Sensitivity(Fraction(1), Fraction(5), Fraction(1)),
        lambda: Sensitivity.of(-1),
        lambda: Sensitivity.spread(-1, 1),
        lambda: s.total(3, 2, ADD),
        lambda: s.mean(0, 1, 0, ADD),
        lambda: s.prefix_sums(0, ADD),
        lambda: s.workload([lambda r: r], [], ADD),
        lambda: s.marginals((2,), [(1,)], ADD),
    ],
)
def test_contradictions_are_refused(make):
    with pytest.raises(ParameterError):
        make()
