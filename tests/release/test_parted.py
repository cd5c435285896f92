"""Histograms of very many cells in SQL: blocks where rows are few, with intervals that hold."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet.errors import LedgerError, ProofError, QueryError
from discreet.query.price import proving
from discreet.query.price.sparse import Sparse
from discreet.query.proof import Divided
from discreet.release.noisy import Noisy, decode, encode
from discreet.release.opening import open as open_session
from discreet.release.parted import possible

CELLS = 2048
QUESTION = f"SELECT HISTOGRAM(x, {CELLS}) AS n FROM people"


def opened(values, tmp_path, *, rows=1, delta=None):
    people = pd.DataFrame({"person": np.arange(len(values)), "x": values, "ward": "A"})
    manifest = tmp_path / "people.toml"
    people.to_parquet(tmp_path / "people.parquet")
    slack = "" if delta is None else f'delta = "{delta}"'
    manifest.write_text(
        f"""
[dataset]
name = "people"
[budget]
epsilon = 50
{slack}
[tables.people]
source = "people.parquet"
unit = "person"
rows_per_unit = {rows}
[tables.people.columns]
x = {{ type = "integer", low = 0, high = {CELLS - 1} }}
ward = {{ type = "text", values = ["A", "B"] }}
"""
    )
    return open_session(manifest)


@pytest.fixture
def few(tmp_path):
    values = np.minimum(np.random.default_rng(4).gamma(2, 20, 3000).astype(int), CELLS - 1)
    with opened(values, tmp_path) as data:
        yield data, np.bincount(values, minlength=CELLS)


def test_few_rows_are_shown_in_blocks_much_nearer_to_the_truth(few):
    data, truth = few
    answer = data.query(QUESTION, epsilon="0.1")
    assert isinstance(answer.quote.shares[0].mechanism, Sparse)
    widths = answer.noisy.widths
    assert len(widths) == CELLS > len(set(widths)) > 1
    shown = np.array([float(row.cells[-1]) for row in answer.rows])
    assert shown.min() >= 0
    # Plain noise is off by 14 in each cell.
    assert np.sqrt(np.square(shown - truth).mean()) < 4
    spans = [row.spans[-1] for row in answer.rows]
    held = [low <= count <= high for (low, high), count in zip(spans, truth.tolist(), strict=True)]
    # Cells of a block are right or wrong together: one wrong block of twenty is usual.
    assert sum(held) >= 0.5 * CELLS
    assert all(low <= row.cells[-1] <= high for row, (low, high) in zip(answer.rows, spans, strict=True))
    again = data.query(QUESTION, epsilon="0.1")
    assert again.free
    assert again.noisy == answer.noisy
    drawn = answer.as_drawn()
    assert sum(row.cells[-1] for row in drawn.rows) == sum(answer.noisy.values[0])
    assert "in blocks of like cells" in answer.card()


def test_many_rows_are_measured_cell_by_cell(few):
    data, truth = few
    answer = data.query(QUESTION, epsilon=12)
    assert answer.noisy.widths == ()
    assert decode(encode(answer.noisy)) == answer.noisy
    off = [abs(row.cells[-1] - count) for row, count in zip(answer.rows, truth.tolist(), strict=True)]
    # Noise at 49/50 of epsilon: beyond 2 with probability 1e-10 in each cell.
    assert max(off) <= 2


def test_what_is_known_beforehand_is_said(few):
    data, _ = few
    priced = data.quote(QUESTION, epsilon="0.1")
    assert priced.expected[-1].radius is None
    assert "cells that are alike are measured in blocks" in str(priced)
    assert "cells that are alike are measured in blocks" in priced._repr_html_()
    with pytest.raises(QueryError, match="fewer than 1024 cells"):
        data.quote(QUESTION, within=10)
    for other in (
        "SELECT HISTOGRAM(x, 1000) FROM people",
        f"SELECT ward, HISTOGRAM(x, {CELLS}) FROM people GROUP BY ward",
        "SELECT x, COUNT(*) FROM people GROUP BY x",
    ):
        assert not isinstance(data.quote(other, epsilon=1).shares[0].mechanism, Sparse)
    assert not isinstance(data.quote(QUESTION, epsilon=17).shares[0].mechanism, Sparse)


def test_people_of_several_rows_pay_for_all_of_them(tmp_path):
    with opened(np.arange(50), tmp_path, rows=8) as data:
        priced = data.quote(QUESTION, epsilon=1)
        made = priced.shares[0].mechanism
        assert isinstance(made, Sparse)
        assert made.reach == priced.shares[0].measured.sensitivity.l1 == 8 * 2**16
        assert Fraction(9, 10) < made.cost.epsilon <= 1
        answer = data.query(QUESTION, epsilon=1)
        assert len(answer.noisy.widths) == CELLS


def test_under_a_budget_with_delta_it_is_charged_as_pure(tmp_path):
    with opened(np.arange(50), tmp_path, delta="1e-6") as data:
        priced = data.quote(QUESTION, epsilon=1)
        assert isinstance(priced.shares[0].mechanism, Sparse)
        assert priced.cost.epsilon == 1


def test_the_checker_refuses_cells_that_move_further_than_the_tree_is_calibrated_for(tmp_path, monkeypatch):
    monkeypatch.setattr(proving, "Divided", lambda name, reach: Divided(name, reach - 1))
    with (
        opened(np.arange(50), tmp_path) as data,
        pytest.raises(ProofError, match="moves further than claimed"),
    ):
        data.quote(QUESTION, epsilon=1)


def test_the_stored_form_names_its_blocks_and_refuses_impossible_ones():
    noisy = Noisy(((0,), (1,), (2,)), ((Fraction(7, 2), Fraction(7, 2), -1),), (2, 2, 1))
    assert decode(encode(noisy)) == noisy
    assert possible(noisy).values == ((3, 3, 0),)
    for wrong in ("[2,2]", "[2,1,1]", "[3,3,3,3]", "[1,1,true]", "[1,1,0]", "[]"):
        with pytest.raises(LedgerError):
            decode(encode(noisy).replace(b"[2,2,1]", wrong.encode()))
