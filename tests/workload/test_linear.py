"""Implicit workloads against the matrices they stand for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.workload import AllRange, Identity, Marginals, Matrix, Prefix, Product, Total, Union, Workload


def flat_workloads(cells: st.SearchStrategy[int]) -> st.SearchStrategy[Workload]:
    plain = st.sampled_from([Identity, Total, Prefix, AllRange])
    built = st.builds(lambda kind, n: kind(n), plain, cells)
    explicit = cells.flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 1), min_size=n, max_size=n), min_size=1, max_size=4)
    ).map(Matrix.of)
    return st.one_of(built, explicit)


def workloads() -> st.SearchStrategy[Workload]:
    products = st.lists(flat_workloads(st.integers(1, 4)), min_size=1, max_size=3).map(
        lambda f: Product(tuple(f))
    )
    unions = st.integers(1, 4).flatmap(
        lambda n: st.lists(flat_workloads(st.just(n)), min_size=1, max_size=3).map(lambda p: Union(tuple(p)))
    )
    tables = st.lists(st.integers(1, 3), min_size=1, max_size=3).flatmap(
        lambda sizes: st.sets(st.integers(0, len(sizes)), min_size=1).map(
            lambda orders: Marginals.of_order(sizes, *sorted(orders))
        )
    )
    return st.one_of(flat_workloads(st.integers(1, 5)), products, unions, tables)


def written_out(workload: Workload) -> np.ndarray:
    """The matrix, from definitions only: which cells does each question count?"""
    match workload:
        case Identity(n):
            return np.eye(n, dtype=int)
        case Total(n):
            return np.ones((1, n), dtype=int)
        case Prefix(n):
            return np.array([[int(i <= j) for i in range(n)] for j in range(n)])
        case AllRange(n):
            return np.array([[int(a <= i <= b) for i in range(n)] for a in range(n) for b in range(a, n)])
        case Matrix(rows):
            return np.array(rows)
        case Product(factors):
            whole = np.ones((1, 1), dtype=int)
            for factor in factors:
                whole = np.kron(whole, written_out(factor))
            return whole
        case Union(parts):
            return np.vstack([written_out(part) for part in parts])
        case Marginals(sizes, sets):
            rows = []
            for chosen in sets:
                for key in np.ndindex(*[sizes[i] for i in chosen]):
                    rows.append(
                        [
                            int(all(cell[i] == k for i, k in zip(chosen, key, strict=True)))
                            for cell in np.ndindex(*sizes)
                        ]
                    )
            return np.array(rows)


@settings(max_examples=80, deadline=None)
@given(workloads(), st.integers(0, 2**32))
def test_implicit_operators_are_the_matrices_they_stand_for(workload, seed):
    rng = np.random.default_rng(seed)
    matrix = written_out(workload)
    assert matrix.shape == (workload.queries, workload.cells)
    x, y = rng.integers(0, 1000, workload.cells), rng.integers(-50, 50, workload.queries)
    block = rng.integers(0, 9, (workload.cells, 2))
    assert np.array_equal(workload.apply(x), matrix @ x)
    assert np.array_equal(workload.apply(block), matrix @ block)
    assert np.array_equal(workload.transpose_apply(y), matrix.T @ y)
    assert np.array_equal(workload.gram(), matrix.T @ matrix)
    assert np.array_equal(workload.gram_apply(block), matrix.T @ matrix @ block)


def test_integer_histograms_stay_exact_beyond_the_precision_of_floats():
    big = np.array([2**60, 1, 2**55], dtype=np.int64)
    assert Prefix(3).apply(big).tolist() == [2**60, 2**60 + 1, 2**60 + 1 + 2**55]


def test_marginals_of_a_domain_that_cannot_be_written_out_still_know_their_size():
    assert Marginals.of_order((100,) * 14, 0, 1, 2, 3).cells == 100**14


@pytest.mark.parametrize(
    "build",
    [
        lambda: Matrix.of([[0, 2]]),
        lambda: Matrix.of([[0, 1], [1]]),
        lambda: Identity(0),
        lambda: Union((Identity(2), Identity(3))),
        lambda: Marginals((2, 2), ((1, 0),)),
        lambda: Marginals((2, 2), ((0,), (0,))),
        lambda: Prefix(3).apply(np.zeros(4)),
        lambda: AllRange(100_000).gram(),
    ],
)
def test_malformed_workloads_are_refused(build):
    with pytest.raises(ParameterError):
        build()
