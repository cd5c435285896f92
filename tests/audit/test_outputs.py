"""Any output becomes a row of numbers, and the features of rows are what their names say."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.audit.seeded import seeded

from discreet.audit.features import families, lowest_bit, smallest_beside
from discreet.audit.grid import bin_of, blocks, cells, frequent
from discreet.audit.outputs import Layout, atoms
from discreet.audit.runs import fair_split
from discreet.mechanisms.sparse_vector import Above


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_lowest_bit_divides_and_the_next_does_not(x):
    (k,) = lowest_bit(np.array([x]))
    if x == 0:
        assert k == 2000
        return
    exact = Fraction(x) / Fraction(2) ** int(k)
    assert exact.denominator == 1
    assert exact.numerator % 2 == 1


def test_nothing_is_said_of_the_bits_of_infinity():
    assert np.isnan(lowest_bit(np.array([np.inf, -np.inf, np.nan]))).all()


def test_atoms_lay_nested_outputs_out_flat_and_in_order():
    assert list(atoms((1, [2.5, None], {"b": True, "a": 3}))) == [1, 2.5, None, "a", 3, "b", True]
    assert list(atoms(Above(3))) == ["Above", 3, None]
    assert list(atoms(np.array([[1, 2], [3, 4]]))) == [1, 2, 3, 4]


def test_outputs_of_different_length_and_kind_share_a_layout():
    sample = [(1, "x"), (2,), (None, "y", 3)]
    layout = Layout.of(sample)
    rows = layout.rows(sample)
    assert rows.shape == (3, 6)
    assert rows[0, 0] == 1
    assert np.isnan(rows[2, 0])
    kinds = rows[:, 3:]
    assert kinds[0, 1] != kinds[2, 1]
    assert kinds[1, 2] != 0
    # What was not foreseen is cut off or left out, never an error.
    assert Layout(1, tagged=False).rows([(1, 2, 3)]).shape == (1, 1)
    assert layout.rows([()]).shape == (1, 6)


def test_differences_expose_noise_that_was_used_twice():
    rows = np.array([[10.0, 13.0, 11.0], [-4.0, -1.0, -3.0]])
    found = families(Layout(3, tagged=False), rows)
    assert [list(feature(rows)) for feature in found.differences[1:]] == [[3, 3], [-2, -2]]


def test_fair_coins_are_counted_one_by_one():
    with seeded(500):
        halves = [fair_split(1000) for _ in range(200)]
    assert all(left + right == 1000 for left, right in halves)
    # 200 000 coins, 5.4 standard deviations.
    assert abs(sum(right for _, right in halves) - 100_000) < 5.4 * np.sqrt(50_000)
    assert fair_split(0) == (0, 0)
    assert sum(fair_split(1)) == 1


def test_columns_that_depend_on_each_other_form_one_block():
    noise = np.random.default_rng(5)
    shared, alone = noise.normal(size=(2, 4000))
    rows = np.column_stack([shared, alone, shared + noise.normal(size=4000), noise.integers(0, 2, 4000)])
    assert blocks(rows) == [(0, 2), (1,), (3,)]


def test_atoms_are_cells_of_their_own_and_the_rest_is_cut_into_quantiles():
    values = np.concatenate([np.full(500, -1000.0), np.linspace(-3, 3, 500)])
    cuts = cells(values, 2)
    assert len(set(bin_of(cuts, np.array([-1000.0, -2.0, 2.0])))) == 3
    assert len(set(bin_of(cuts, np.array([-2.0, -1.0])))) == 1
    assert list(frequent(values)) == [-1000.0]


def test_the_smallest_ordinary_value_ignores_atoms_and_may_be_missing():
    rows = np.array([[-1000.0, 5.0, 2.0], [-1000.0, -1000.0, -1000.0]])
    found = smallest_beside((np.array([-1000.0]),) * 3, (0, 1, 2))(rows)
    assert found[0] == 2
    assert np.isnan(found[1])
