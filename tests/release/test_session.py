"""From a question to a release: paid before data is touched, recorded before it leaves, the same for ever."""

import json
import re
import threading
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from scipy.stats import binom

from discreet.errors import BudgetError, CatalogError, EngineError, LedgerError, ParameterError, QueryError
from discreet.release.noisy import Noisy, decode, encode
from discreet.release.opening import open as open_session

COLUMNS = {
    "age": {"type": "integer", "low": 0, "high": 100},
    "ward": {"values": ["A", "B", "C"]},
    "cost": {"low": 0, "high": 50, "step": "0.5"},
}


def frame(people: int = 400, each: int = 3) -> pd.DataFrame:
    rows = people * each
    place = np.arange(rows)
    return pd.DataFrame(
        {
            "person": place % people,
            "age": place % 90,
            "ward": np.array(["A", "B"])[place % 2],
            "cost": (place % 80) / 2,
        }
    )


@pytest.fixture
def session():
    with open_session(
        visits=frame(), unit="person", epsilon=4, rows_per_unit=3, columns=COLUMNS, name="clinic"
    ) as opened:
        yield opened


def test_the_first_answer_is_paid_and_the_same_question_again_is_free(session):
    first = session.query("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    spent = session.budget.limits[0].spent
    again = session.query("select  count(*) as n from VISITS", epsilon=1)
    assert not first.free
    assert again.free
    assert again.noisy == first.noisy
    assert again.receipt.number == first.receipt.number
    assert session.budget.limits[0].spent == spent
    assert spent.epsilon == 1


def test_another_price_is_another_question(session):
    session.query("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    session.query("SELECT COUNT(*) AS n FROM visits", epsilon=2)
    assert session.budget.limits[0].spent.epsilon == 3


def test_a_quote_is_free_and_touches_nothing(session):
    session.engine.close()
    priced = session.quote("SELECT ward, AVG(cost) AS c FROM visits GROUP BY ward", epsilon=1)
    assert priced.cost.epsilon == 1
    assert session.budget.limits[0].spent.epsilon == 0


def test_a_question_over_budget_is_refused_before_the_engine_runs(session):
    session.engine.close()
    with pytest.raises(BudgetError):
        session.query("SELECT COUNT(*) AS n FROM visits", epsilon=5)
    assert session.budget.limits[0].spent.epsilon == 0


def test_the_price_is_durable_before_the_engine_runs(session, monkeypatch):
    seen = []
    run = session.engine.run

    def watched(requests, choice):
        seen.append(session.budget.limits[0].spent.epsilon)
        return run(requests, choice)

    monkeypatch.setattr(session.engine, "run", watched)
    session.query("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    assert seen == [1]


def test_an_engine_failure_stays_spent_and_says_nothing(session):
    session.engine.connection.close()
    with pytest.raises(EngineError) as refusal:
        session.query("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    assert "stays spent" in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert session.budget.limits[0].spent.epsilon == 1


def test_a_request_id_has_one_question(session):
    one = session.query("SELECT COUNT(*) AS n FROM visits", epsilon=1, request_id="r1")
    same = session.query("SELECT COUNT(*) AS n FROM visits", epsilon=1, request_id="r1")
    assert same.noisy == one.noisy
    with pytest.raises(LedgerError):
        session.query("SELECT SUM(age) AS s FROM visits", epsilon=1, request_id="r1")


def test_every_declared_key_appears_with_noise_of_its_own():
    values = [f"w{i:03}" for i in range(200)]
    with open_session(
        visits=frame(), unit="person", epsilon=1, rows_per_unit=3, columns={"ward": {"values": values}}
    ) as opened:
        answer = opened.query("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1)
    assert [row.key[0] for row in answer.rows] == values
    # All 200 groups are empty; one draw broadcast to all of them would make one value.
    assert len({row.cells[1] for row in answer.rows}) > 20


def test_the_order_of_rows_does_not_depend_on_the_order_of_the_data():
    data = frame()
    keys = []
    for rows in (data, data.iloc[::-1]):
        with open_session(visits=rows, unit="person", epsilon=1, rows_per_unit=3, columns=COLUMNS) as opened:
            answer = opened.query("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1)
            keys.append([row.key for row in answer.rows])
    assert keys[0] == keys[1] == [("A",), ("B",), ("C",)]


def test_having_order_and_limit_see_released_values_only(session):
    text = (
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 100 ORDER BY n DESC LIMIT 1"
    )
    answer = session.query(text, epsilon=2)
    assert len(answer) == 1
    everything = session.query("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=2)
    assert len(everything) == 3


def test_answers_are_near_the_truth_and_intervals_cover_it():
    data = frame()
    truth = [data[data.ward == ward].shape[0] for ward in ("A", "B", "C")]
    hits = trials = 0
    with open_session(visits=data, unit="person", epsilon=10**6, rows_per_unit=3, columns=COLUMNS) as opened:
        for k in range(60):
            answer = opened.query(
                f"SELECT ward, COUNT(*) AS n FROM visits WHERE age >= -{k} GROUP BY ward", epsilon=1
            )
            for row, exact in zip(answer.rows, truth, strict=True):
                low, high = row.spans[1]
                hits += low <= exact <= high
                trials += 1
    assert trials == 180
    # Ninety-five in a hundred must cover; fewer than this happens once in ten million runs.
    assert hits >= binom.ppf(1e-7, trials, 0.95)


TRUTHS = {
    "COUNT(age)": lambda d: d.age.count(),
    "SUM(cost)": lambda d: d.cost.sum(),
    "AVG(age)": lambda d: d.age.mean(),
    "VARIANCE(age)": lambda d: d.age.var(),
    "COUNT(DISTINCT person)": lambda d: d.person.nunique(),
    "SUM(age) - 2 * COUNT(*)": lambda d: d.age.sum() - 2 * len(d),
}


@pytest.mark.parametrize(
    "aggregate",
    [
        pytest.param(one, marks=pytest.mark.fuzz if one.startswith(("COUNT(D", "SUM(age)")) else ())
        for one in TRUTHS
    ],
)
def test_intervals_of_every_aggregate_cover_and_linear_ones_are_unbiased(aggregate):
    data = frame()
    truth = float(TRUTHS[aggregate](data))
    errors, hits = [], 0
    with open_session(visits=data, unit="person", epsilon=10**6, rows_per_unit=3, columns=COLUMNS) as opened:
        for k in range(50):
            answer = opened.query(f"SELECT {aggregate} AS v FROM visits WHERE age >= -{k}", epsilon=2)
            (low, high) = answer.rows[0].spans[0]
            # The sample variance divides by n - 1, which moves it by less than this.
            slack = 1.0 if aggregate.startswith("VAR") else 1e-9
            hits += float(low) - slack <= truth <= float(high) + slack
            errors.append(float(answer.value) - truth)
    assert hits >= binom.ppf(1e-7, 50, 0.95)
    if not aggregate.startswith(("AVG", "VAR")):
        deviation = np.std(errors) + 1e-9
        # Six standard errors and a little for fifty draws of a heavier tail than the normal's.
        assert abs(np.mean(errors)) < 8 * deviation / 50**0.5


def test_a_row_level_table_protects_rows():
    with open_session(visits=frame(), epsilon=1, columns=COLUMNS) as opened:
        answer = opened.query("SELECT COUNT(*) AS n FROM visits", epsilon=1)
        assert answer.unit.column is None
        assert abs(int(answer.value) - 1200) < 60
        assert "each row" in answer.card()


def test_an_answer_converts_to_every_frame(session):
    answer = session.query("SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward", epsilon=2)
    assert answer.to_arrow().column_names == ["ward", "n", "c"]
    assert list(answer.to_pandas().columns) == ["ward", "n", "c"]
    assert answer.to_polars().shape == (3, 3)
    wide = answer.to_arrow(intervals=True)
    assert "n_low" in wide.column_names
    assert len(list(answer)) == 3
    json.dumps(answer.intervals("0.9"), default=str)
    assert "±" in str(answer)


def test_a_card_says_whom_it_protects_how_and_with_what(session):
    card = session.query("SELECT SUM(cost) AS c FROM visits", epsilon=1).card()
    for words in ("each person (`person`)", "epsilon 1", "exact", "clamped", "Receipt"):
        assert words in card


def test_group_keys_cannot_inject_markup():
    evil = "<script>alert(1)</script>"
    data = frame().assign(ward=evil)
    with open_session(
        visits=data, unit="person", epsilon=1, rows_per_unit=3, columns={"ward": {"values": [evil]}}
    ) as opened:
        html = opened.query("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("make", [lambda d: d, pl.from_pandas, lambda d: pa.Table.from_pandas(d)])
def test_pandas_polars_and_arrow_all_open(make):
    with open_session(visits=make(frame()), unit="person", epsilon=1, rows_per_unit=3) as opened:
        assert abs(opened.query("SELECT COUNT(*) AS n FROM visits", epsilon=1).value - 1200) < 200


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_open_by_path_and_their_ledger_is_durable(tmp_path, suffix):
    path = tmp_path / f"visits.{suffix}"
    frame().to_csv(path, index=False) if suffix == "csv" else frame().to_parquet(path)
    given = {
        "epsilon": 2,
        "unit": "person",
        "rows_per_unit": 3,
        "ledger": tmp_path / "l.ledger",
        "columns": {"age": "integer"},
    }
    with open_session(path, **given) as opened:
        first = opened.query("SELECT COUNT(*) AS n FROM visits", epsilon=2)
    with open_session(path, **given) as opened:
        assert opened.query("SELECT COUNT(*) AS n FROM visits", epsilon=2).noisy == first.noisy
        with pytest.raises(BudgetError):
            opened.query("SELECT SUM(clamp(age, 0, 9)) AS n FROM visits", epsilon="0.1")


def test_replacing_the_file_does_not_refill_the_budget(tmp_path):
    given = {
        "epsilon": 1,
        "unit": "person",
        "rows_per_unit": 3,
        "ledger": tmp_path / "l.ledger",
        "name": "clinic",
        "columns": {"age": "integer"},
    }
    with open_session(visits=frame(), **given) as opened:
        opened.query("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    with open_session(visits=frame(50), **given) as opened, pytest.raises(BudgetError):
        opened.query("SELECT COUNT(*) AS n FROM visits WHERE age > 3", epsilon="0.5")


def test_a_cap_is_not_changed_by_reopening_with_another(tmp_path):
    given = {"unit": "person", "rows_per_unit": 3, "ledger": tmp_path / "l.ledger", "name": "clinic"}
    open_session(visits=frame(), epsilon=1, **given).close()
    with pytest.raises(CatalogError, match="caps dataset clinic at epsilon 1"):
        open_session(visits=frame(), epsilon=100, **given)


def test_a_manifest_opens_with_its_ledger_beside_it(tmp_path):
    frame().to_parquet(tmp_path / "visits.parquet")
    (tmp_path / "clinic.toml").write_text(
        '[dataset]\nname = "clinic"\n[budget]\nepsilon = 1\n'
        '[tables.visits]\nsource = "visits.parquet"\nunit = "person"\nrows_per_unit = 3\n'
        "[tables.visits.columns]\nage = { type = 'integer', low = 0, high = 100 }\n"
    )
    with open_session(tmp_path / "clinic.toml") as opened:
        assert opened.query("SELECT AVG(age) AS a FROM visits", epsilon=1).columns == ("a",)
    assert (tmp_path / "clinic.ledger").exists()


def test_a_frame_alone_is_called_data():
    with open_session(frame(), unit="person", epsilon=4, rows_per_unit=3, columns=COLUMNS) as opened:
        assert opened.query("SELECT COUNT(*) AS n FROM data", epsilon=1).columns == ("n",)


def test_a_table_may_have_a_name_that_is_nearly_a_keyword():
    with open_session(units=frame(), unit="person", epsilon=4, rows_per_unit=3, columns=COLUMNS) as opened:
        assert opened.query("SELECT COUNT(*) AS n FROM units", epsilon=1).columns == ("n",)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "budget"),
        ({"epsilon": 1}, "no table"),
        ({"epsilon": 0, "visits": frame(2)}, "epsilon"),
        ({"epsilon": 1, "visits": frame(2), "columns": {"nope": "integer"}}, "nope"),
        ({"epsilon": 1, "visits": 17}, "frame|path|pandas|read"),
        ({"epsilon": 1, "visits": frame(2), "rows_per_unti": 3}, "did you mean rows_per_unit"),
        ({"epsilon": 1, "visits": frame(2), "unti": "person"}, "did you mean unit"),
        ({"epsilno": 1, "visits": frame(2)}, "did you mean epsilon"),
        ({"epsilon": 1, "visits": frame(2), "column": {"age": "integer"}}, "did you mean columns"),
    ],
)
def test_opening_without_what_is_needed_says_so(arguments, words):
    with pytest.raises((CatalogError, ParameterError), match=words):
        open_session(**arguments)


def test_a_refusal_costs_nothing(session):
    with pytest.raises(QueryError):
        session.query("SELECT * FROM visits", epsilon=1)
    assert session.budget.entries == 1


def test_undeclared_keys_are_found_privately_with_a_delta():
    data = frame().assign(city=np.where(np.arange(1200) % 400 < 399, "Big", "Lone"))
    with open_session(
        visits=data, unit="person", epsilon=3, delta="1e-6", rows_per_unit=3, groups_per_unit=1
    ) as opened:
        answer = opened.query("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", epsilon=2)
    assert [row.key[0] for row in answer.rows] == ["Big"]
    assert answer.quote.cost.delta > 0


def test_a_released_count_is_read_with_a_prior_for_free(session):
    text = "SELECT COUNT(DISTINCT person) AS n FROM visits WHERE age < 20"
    answer = session.query(text, epsilon="0.3")
    spent = session.budget.limits[0].spent
    belief = answer.believe([Fraction(1, 401)] * 401)
    assert sum(belief.posterior) == 1
    assert abs(int(belief.guess) - int(answer.value)) <= 1
    assert session.budget.limits[0].spent == spent
    with pytest.raises(ParameterError, match="one whole number"):
        session.query("SELECT AVG(age) AS a FROM visits", epsilon="0.3").believe([1])


def test_advice_names_the_best_mechanism_for_one_s_own_loss(session):
    text = "SELECT COUNT(DISTINCT person) AS n FROM visits"
    found = session.quote(text, epsilon=1, prior=[Fraction(1, 9)] * 9, loss="absolute").advice
    # A single count: the geometric mechanism with the best remap attains the optimum.
    assert found.winner.name.endswith("geometric")
    assert float(found.excess.low) == 0
    with pytest.raises(ParameterError, match="zero-one"):
        session.quote(text, epsilon=1, prior=[1], loss="cubic")


def test_a_question_built_in_python_is_the_same_question(session):
    sql = session.query("SELECT ward, COUNT(*) AS count FROM visits WHERE age >= 18 GROUP BY ward", epsilon=1)
    built = session.query(session.table("visits").where("age >= 18").group("ward").count(), epsilon=1)
    assert built.free
    assert built.noisy == sql.noisy
    with pytest.raises(CatalogError, match="visits"):
        session.table("nothing")


def test_bounds_are_found_privately_once_and_used_from_then_on():
    with open_session(
        visits=frame(),
        unit="person",
        epsilon=20,
        rows_per_unit=3,
        columns={"age": {"type": "integer", "bounds": "auto"}},
    ) as opened:
        with pytest.raises(QueryError, match="find_bounds"):
            opened.quote("SELECT AVG(age) AS a FROM visits", epsilon=1)
        low, high = opened.find_bounds("visits", "age")
        spent = opened.budget.limits[0].spent.epsilon
        assert spent == 1
        assert low < high
        opened.find_bounds("visits", "age")
        assert opened.budget.limits[0].spent.epsilon == spent
        answer = opened.query("SELECT AVG(age) AS a FROM visits", epsilon=5)
        assert low <= answer.value <= high


def test_a_prepared_table_is_bounded_once_on_disk(tmp_path):
    data = pd.concat(
        [frame(), pd.DataFrame({"person": [7] * 500, "age": [1] * 500, "ward": "A", "cost": 1.0})]
    )
    data.to_parquet(tmp_path / "visits.parquet")
    (tmp_path / "m.toml").write_text(
        '[dataset]\nname = "clinic"\n[budget]\nepsilon = 100\n'
        '[tables.visits]\nsource = "visits.parquet"\nunit = "person"\nrows_per_unit = 3\nprepared = true\n'
        "[tables.visits.columns]\nage = { type = 'integer', low = 0, high = 100 }\n"
    )
    for _ in range(2):
        with open_session(tmp_path / "m.toml") as opened:
            answer = opened.query("SELECT COUNT(*) AS n FROM visits", epsilon=50)
            assert abs(int(answer.value) - 1200) <= 3
    assert len(list(tmp_path.glob("*.prepared.duckdb"))) == 1


public = st.one_of(
    st.none(),
    st.booleans(),
    st.text(),
    st.integers(),
    st.fractions(),
    st.dates(),
    st.datetimes(),
)


@given(st.lists(st.tuples(public, public), max_size=5))
def test_stored_answers_decode_to_what_was_released(pairs):
    noisy = Noisy(tuple(pairs), (tuple(b for _, b in pairs),))
    assert decode(encode(noisy)) == noisy
    assert encode(decode(encode(noisy))) == encode(noisy)


def test_an_unknown_stored_form_is_refused():
    for payload in (b"[]", b'["release/2", [], []]', b'["release/1", [[{"x": "1"}]], []]'):
        with pytest.raises(LedgerError, match="upgrade"):
            decode(payload)


def test_dates_and_rationals_survive_storage():
    noisy = Noisy(((date(2025, 1, 2), datetime(2025, 1, 2, 3, 4)),), ((Fraction(1, 3),),))
    assert decode(encode(noisy)) == noisy


def test_a_run_that_breaks_off_is_gone_on_with_free(session, monkeypatch):
    run = session.engine.run

    def interrupted(requests, choice):
        raise KeyboardInterrupt

    monkeypatch.setattr(session.engine, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.query("SELECT COUNT(*) AS n FROM visits", epsilon=1, request_id="r")
    monkeypatch.setattr(session.engine, "run", run)
    session.query("SELECT COUNT(*) AS n FROM visits", epsilon=1, request_id="r")
    assert session.budget.limits[0].spent.epsilon == 1


def test_several_processes_may_open_data_for_the_first_time_at_once(tmp_path):
    frame().to_parquet(tmp_path / "visits.parquet")
    for turn in range(4):
        manifest = tmp_path / f"m{turn}.toml"
        manifest.write_text(
            f'[dataset]\nname = "clinic"\nledger = "l{turn}"\n[budget]\nepsilon = 10\n'
            '[tables.visits]\nsource = "visits.parquet"\nunit = "person"\nrows_per_unit = 3\n'
        )
        start, failed = threading.Barrier(8), []

        def client(manifest=manifest, start=start, failed=failed):
            start.wait()
            try:
                open_session(manifest).close()
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=client) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []


def test_a_questions_id_cannot_take_the_place_of_a_stream(session):
    with pytest.raises(ParameterError, match="ids of streams"):
        session.query("SELECT COUNT(*) AS n FROM visits", epsilon=1, request_id="stream visits")
    assert session.budget.limits[0].spent.epsilon == 0
    assert session.stream("visits", length=10, epsilon=1, contribution=1).steps == 0


@pytest.mark.parametrize("part", ["constant", "alias", "inner name"])
def test_a_card_is_markdown_in_which_no_question_becomes_markup(session, part: str):
    odd = "a`</code> <script>alert(1)</script> ``` [x](javascript:y) <img src=x>"
    asked = {
        "constant": f"SELECT COUNT(*) AS n FROM visits WHERE ward = '{odd}\n\n{odd}'",
        "alias": f'SELECT SUM(cost) AS "{odd}" FROM visits',
        "inner name": f'SELECT SUM(v."{odd}") AS n FROM (SELECT cost AS "{odd}" FROM visits) AS v',
    }[part]
    html = MarkdownIt("commonmark", {"html": True}).render(session.query(asked, epsilon=1).card())
    assert {*re.findall(r"<(/?\w+)", html)} <= {
        f"{end}{tag}" for tag in ("h3", "p", "ul", "li", "strong", "code", "em") for end in ("", "/")
    }
    assert "&lt;script&gt;" in html
