"""The engine opens every source the same way, shows nothing of itself, and cannot be talked into more."""

import pickle
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from discreet.engines.duckdb.engine import FEW, KEPT, SLOTS, DuckDB, open_tables, prepare
from discreet.engines.duckdb.render import COMPARED, MANY, TYPED, scalar_text
from discreet.engines.duckdb.schema import describe
from discreet.engines.exact import EngineRequest
from discreet.engines.protocol import FAILED, Origin, Preparation
from discreet.errors import CatalogError, EngineError
from discreet.query.catalog.manifest import DeclaredTable, declare
from discreet.query.plan import Among, Call, Column, Literal, Scalar
from discreet.query.price.proving import preparation
from discreet.query.statement import Listed, Query, Statement, StoredTable

COLUMNS = (
    ("id", "identifier"),
    ("age", "integer"),
    ("cost", "decimal"),
    ("ward", "text"),
    ("day", "date"),
    ("ok", "boolean"),
)
FRAME = pyarrow.table(
    {
        "id": [1, 1, 2, None],
        "age": [30, None, 50, 7],
        "cost": [1.5, float("nan"), float("inf"), 2.25],
        "ward": ["A", "B", None, "it's"],
        "day": [date(2024, 1, 1), None, date(2024, 2, 29), date(1, 1, 1)],
        "ok": [True, False, None, True],
    }
)
QUESTION = EngineRequest(
    'SELECT "ward" AS "k0", count(*) AS "m0", sum("age") AS "m1", count("cost") AS "m2" '
    'FROM "people" GROUP BY "ward"',
    1,
    ("m0", "m1", "m2"),
)
EXPECTED = {
    "m0": {("A",): 1, ("B",): 1, (None,): 1, ("it's",): 1},
    "m1": {("A",): 30, ("B",): 0, (None,): 50, ("it's",): 7},
    "m2": {("A",): 1, ("B",): 0, (None,): 0, ("it's",): 1},
}


def sources(folder: Path) -> dict[str, Any]:
    pyarrow.parquet.write_table(FRAME, folder / "people.parquet")
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.register("frame", FRAME)
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
        connection.execute("COPY people TO '" + str(folder / "people.csv") + "' (HEADER)")
    return {
        "arrow": FRAME,
        "pandas": FRAME.to_pandas(),
        "polars": polars.from_arrow(FRAME),
        "lazy polars": polars.from_arrow(FRAME).lazy(),  # type: ignore[union-attr]
        "parquet": "people.parquet",
        "csv": "people.csv",
        "duckdb": "people.duckdb",
        "duckdb table": "people.duckdb#main.people",
    }


@pytest.mark.parametrize(
    "kind", ["arrow", "pandas", "polars", "lazy polars", "parquet", "csv", "duckdb", "duckdb table"]
)
def test_every_source_gives_the_same_integers(kind: str, tmp_path: Path) -> None:
    with open_tables({"people": Origin(sources(tmp_path)[kind], COLUMNS)}, folder=tmp_path) as engine:
        assert engine._exact([QUESTION], 1)._totals == EXPECTED


def test_columns_that_are_not_declared_do_not_exist(tmp_path: Path) -> None:
    with open_tables({"people": Origin(FRAME, (("age", "integer"),))}) as engine, pytest.raises(EngineError):
        engine._exact([EngineRequest("SELECT count(ward) FROM people", 0, ("m0",))], 1)


def test_every_failure_is_the_same_words_and_carries_no_cause() -> None:
    with open_tables({"people": Origin(FRAME, COLUMNS)}) as engine:
        for sql in (
            "SELECT CAST(ward AS INTEGER) FROM people",
            "SELECT error('secret ' || ward) FROM people",
            "SELECT 1 / nothing FROM people",
            "not sql",
            "SELECT 'text' AS m0",
        ):
            with pytest.raises(EngineError) as failure:
                engine._exact([EngineRequest(sql, 0, ("m0",))], 1)
            assert str(failure.value) == FAILED
            assert failure.value.__cause__ is None
            assert failure.value.__context__ is None
        assert engine._exact([QUESTION], 1)._totals == EXPECTED


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM read_csv('/etc/passwd')",
        "SELECT count(*) FROM read_text('/etc/hostname')",
        "COPY people TO '/tmp/leak.csv'",
        "ATTACH '/tmp/leak.db'",
        "SET threads = 1",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CREATE TABLE leak AS SELECT * FROM people",
        "DROP VIEW people",
        "EXPORT DATABASE '/tmp/leak'",
    ],
)
def test_a_locked_connection_does_nothing_but_read_its_tables(sql: str) -> None:
    with open_tables({"people": Origin(FRAME, COLUMNS)}) as engine:
        with pytest.raises(EngineError):
            engine._exact([EngineRequest(sql, 0, ("m0",))], 1)
        assert engine._exact([QUESTION], 1)._totals == EXPECTED


def test_files_beside_the_declared_ones_are_out_of_reach(tmp_path: Path) -> None:
    sources(tmp_path)
    with (
        open_tables({"people": Origin("people.parquet", COLUMNS)}, folder=tmp_path) as engine,
        pytest.raises(EngineError),
    ):
        engine._exact(
            [EngineRequest(f"SELECT count(*) FROM read_csv('{tmp_path}/people.csv')", 0, ("m0",))], 1
        )


def test_exact_integers_do_not_print_copy_or_compare() -> None:
    with open_tables({"people": Origin(FRAME, COLUMNS)}) as engine:
        exact = engine._exact([QUESTION], 1)
    assert "30" not in repr(exact)
    assert "30" not in str(exact)
    with pytest.raises(EngineError):
        pickle.dumps(exact)
    assert exact.integers("m1", [("A",), ("absent",)]) == [30, 0]
    assert exact.groups("m0") == [(None,), ("A",), ("B",), ("it's",)]


def test_keys_come_sorted_whatever_the_insertion_order() -> None:
    seen = set()
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        with open_tables({"people": Origin(FRAME.take(order), COLUMNS)}) as engine:
            seen.add(tuple(engine._exact([QUESTION], 1).groups("m0")))
    assert len(seen) == 1


def test_malformed_cells_become_null_and_never_stop_the_reader(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(
        'id,age,cost,ward,day,ok\n1,30,1.5,A,2024-01-01,true\n2,old,secret-7,B,32.13.2024,maybe\n3,1e99,-inf,"A\n'
        "4,,,,,\n5,7,nan,A,infinity,f\n",
        encoding="utf-8",
    )
    with open_tables({"people": Origin("people.csv", COLUMNS)}, folder=tmp_path) as engine:
        request = EngineRequest(
            "SELECT count(age) AS m0, count(cost) AS m1, count(day) AS m2 FROM people", 0, ("m0", "m1", "m2")
        )
        totals = engine._exact([request], 1)._totals
    assert totals["m1"][()] == 1
    assert totals["m2"][()] == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("absent.csv", "there is no file"),
        ("people.xlsx", "must be .csv, .parquet or .duckdb"),
        ("people.duckdb#absent", "could not be found"),
        ([1, 2, 3], "pandas, Polars or Arrow"),
        (pandas.DataFrame({"id": [1, 2], "Age": [1, 2], "AGE": [1, 2]}), "several columns 'age'"),
        (pyarrow.table({"id": [1]}), "has no column 'age'"),
    ],
)
def test_a_source_that_cannot_be_opened_is_named(rows: Any, message: str, tmp_path: Path) -> None:
    sources(tmp_path)
    (tmp_path / "people.xlsx").write_bytes(b"")
    with pytest.raises(CatalogError, match=message):
        open_tables({"people": Origin(rows, COLUMNS[:2])}, folder=tmp_path)


@pytest.mark.parametrize("limit", [1e-6, 0.3])
def test_a_question_that_takes_too_long_is_stopped(limit: float) -> None:
    """Also where its time is over before its statement has begun."""
    with open_tables({"people": Origin(FRAME, COLUMNS)}, timeout=limit) as engine:
        slow = "SELECT count(*) AS m0 FROM range(100000000) a, range(100000000) b WHERE a.range + b.range = 7"
        with pytest.raises(EngineError):
            engine._exact([EngineRequest(slow, 0, ("m0",))], 1)
        engine.timeout = None
        assert engine._exact([QUESTION], 1)._totals == EXPECTED


def prepared_table() -> DeclaredTable:
    table = {
        "unit": "id",
        "rows_per_unit": 2,
        "prepared": True,
        "columns": {"age": "integer", "ward": "text"},
    }
    return declare({"tables": {"people": table}}).tables[0]


def test_a_prepared_table_keeps_few_rows_of_each_person(tmp_path: Path) -> None:
    rows = pyarrow.table(
        {"id": [1] * 50 + [2, None, 3, 3], "age": [*range(50), 1, 2, 3, 3], "ward": ["A"] * 54}
    )
    table = prepared_table()
    target = tmp_path / "people.prepared.duckdb"
    prepare(Preparation("people", Origin(rows, table.offered), preparation(table), "id", 5), target)
    assert [path.name for path in tmp_path.iterdir()] == ["people.prepared.duckdb"]
    with open_tables({"people": Origin(str(target), table.offered)}) as engine:
        counted = engine._exact(
            [EngineRequest('SELECT "id" AS k0, count(*) AS m0 FROM people GROUP BY "id"', 1, ("m0",))], 1
        )
    assert dict(counted._totals["m0"]) == {(1,): 2, (2,): 1, (3,): 2}


def test_which_rows_are_kept_depends_on_the_key(tmp_path: Path) -> None:
    rows = pyarrow.table({"id": [1] * 50, "age": list(range(50)), "ward": ["A"] * 50})
    table, seen = prepared_table(), set()
    for choice in range(4):
        asked = Preparation("people", Origin(rows, table.offered), preparation(table), "id", choice)
        prepare(asked, tmp_path / "p.duckdb")
        with open_tables({"people": Origin("p.duckdb", table.offered)}, folder=tmp_path) as engine:
            seen.add(
                engine._exact([EngineRequest("SELECT sum(age) AS m0 FROM people", 0, ("m0",))], 1)._totals[
                    "m0"
                ][()]
            )
    assert len(seen) > 1


def test_describing_a_source_returns_names_and_types_only(tmp_path: Path) -> None:
    sources(tmp_path)
    for rows in ("people.csv", "people.parquet", "people.duckdb"):
        described = describe(rows, tmp_path)
        assert [name for name, _ in described] == FRAME.column_names
    with pytest.raises(CatalogError, match="no file"):
        describe("absent.csv", tmp_path)


def test_closing_twice_is_harmless() -> None:
    engine = open_tables({"people": Origin(FRAME, COLUMNS)})
    assert isinstance(engine, DuckDB)
    engine.close()
    engine.close()
    with pytest.raises(EngineError):
        engine._exact([QUESTION], 1)


def test_a_statement_is_written_once_and_never_for_one_that_python_takes_for_it() -> None:
    def listing(value: Any) -> Statement:
        source = Listed(("one",), ((value,),), "l")
        return Statement((), Query((("k0", Column("l", "one")),), source), 1, ())

    with open_tables({"people": Origin(FRAME, COLUMNS)}) as engine:
        kept = [listing(value) for value in (1, True, Fraction(1))]
        assert kept[0] == kept[1] == kept[2]
        texts = [engine.written(one) for one in kept]
        assert len(set(texts)) == len(kept)
        assert all(engine.written(one) is text for one, text in zip(kept, texts, strict=True))
        for number in range(3 * KEPT):
            assert str(1000 + number) in engine.written(listing(1000 + number))
        assert len(engine._texts) <= KEPT


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 64])
def test_arrays_indexed_by_a_key_stay_small_however_many_threads_there_are(threads: int) -> None:
    rows = pyarrow.table({"u": range(FEW + 1)})
    with open_tables({"v": Origin(rows, (("u", "identifier"),))}, threads=threads) as engine:
        (bits,) = engine.connection.execute("SELECT current_setting('perfect_ht_threshold')").fetchone()
        assert 2**bits * threads <= SLOTS < 2 ** (bits + 1) * threads


@pytest.mark.parametrize("many", [MANY, TYPED, TYPED + 1, COMPARED + 1])
@pytest.mark.parametrize("odd", ["|", "\x1f|;~"])
def test_a_text_is_one_of_many_only_where_it_equals_one(many: int, odd: str, tmp_path: Path) -> None:
    values = [f"it's {number}{odd}" for number in range(many - 4)] + ["", " ", "É" + odd, "$choice"]
    near = [v.upper() for v in values] + [v + " " for v in values] + ["it's", "E", "É", "É", "'", odd, "NULL"]
    texts = [*dict.fromkeys([*values, *near]), None]
    file = tmp_path / "texts.duckdb"
    with duckdb.connect(str(file)) as database:
        database.register("held", pyarrow.table({"k": texts}))
        database.execute("CREATE TABLE plain AS SELECT k FROM held")
        database.execute("CREATE TABLE collated (k VARCHAR COLLATE NOCASE)")
        database.execute("INSERT INTO collated FROM held")
    column, among = Column("t", "k"), tuple(Literal(value) for value in [*values, values[0]])
    own, source = (("k0", column), ("m0", Call("count_rows", ()))), StoredTable("v", "t")
    row = Query(own, source, Among(column, among), (column,))
    group = Query(own, source, None, (column,), Among(Call("grouped", (column,)), among))
    for rows in (pyarrow.table({"k": texts}), f"{file}#plain", f"{file}#collated"):
        with open_tables({"v": Origin(rows, (("k", "text"),))}) as engine:
            for query in (row, group):
                sql = engine.written(Statement((), query, 1, ("m0",)))
                found = engine._exact([EngineRequest(sql, 1, ("m0",))], 1)._totals["m0"]
                assert dict(found) == {(value,): 1 for value in values}


def test_few_rows_wake_one_thread_however_they_are_stored(tmp_path: Path) -> None:
    held: dict[str, Any] = {}
    for rows in (FEW // 2, FEW // 2 + 1):
        held[f"frame{rows}"] = pyarrow.table({"u": range(rows)})
        held[f"columns{rows}"] = tmp_path / f"{rows}.parquet"
        held[f"text{rows}"] = tmp_path / f"{rows}.csv"
        held[f"table{rows}"] = f"{tmp_path / 'held.duckdb'}#t{rows}"
        pyarrow.parquet.write_table(held[f"frame{rows}"], held[f"columns{rows}"])
        held[f"text{rows}"].write_text("u\n" + "\n".join(map(str, range(rows))))
        with duckdb.connect(str(tmp_path / "held.duckdb")) as database:
            database.execute(f"CREATE TABLE t{rows} AS SELECT range AS u FROM range({rows})")
    for kind in ("frame", "columns", "text", "table"):
        for rows, expected in ((FEW // 2, 1), (FEW // 2 + 1, 2)):
            # Two tables, of which each alone would be small.
            names = f"{kind}{FEW // 2}", f"{kind}{rows}"
            tables = {f"v{n}": Origin(held[name], (("u", "identifier"),)) for n, name in enumerate(names)}
            with open_tables(tables, threads=2) as engine:
                found = engine.connection.execute("SELECT current_setting('threads')").fetchone()
            assert found == (expected,), (kind, rows)


def test_people_numbered_densely_are_counted_like_any_others(tmp_path: Path) -> None:
    people = "SELECT u, count(*) AS n FROM v GROUP BY u"
    sql = f"SELECT n AS k, count(*) AS m0 FROM ({people}) GROUP BY n"
    answers = []
    for stride in (1, 10**12 + 7):
        file = tmp_path / f"by{stride}.duckdb"
        with duckdb.connect(str(file)) as connection:
            connection.execute(
                f"CREATE TABLE v AS SELECT (range * range % 5003) * {stride} AS u FROM range(40000)"
            )
        with open_tables({"v": Origin(f"{file}#v", (("u", "identifier"),))}, threads=2) as engine:
            plan = engine.connection.execute(f"EXPLAIN {sql}").fetchone()[1]
            assert ("Perfect Hash" in plan) == (stride == 1)
            answers.append(dict(engine._exact([EngineRequest(sql, 1, ("m0",))], 1)._totals["m0"]))
    assert answers[0] == answers[1]


RANDOM_VIEWS = (
    "SELECT * FROM base WHERE random() < 0.1",
    'SELECT id, CAST(age + 9 * "RANDOM" () AS BIGINT) AS age FROM base',
    "SELECT * FROM base TABLESAMPLE 10%",
    "SELECT * FROM base USING SAMPLE 3",
    "SELECT * FROM base WHERE coin('8')",
    'SELECT * FROM (FROM "V0") AS d',
    "SELECT id, made AS age FROM computed",
)


def test_a_view_that_shows_other_rows_each_time_is_refused(tmp_path: Path) -> None:
    """A statement counts a person's rows in one place and adds them up in another."""
    place = tmp_path / "people.duckdb"
    with duckdb.connect(str(place)) as database:
        database.execute("CREATE TABLE base AS SELECT 1 AS id, 10 AS age FROM range(30)")
        database.execute("CREATE MACRO coin(p) AS uuid() < p")
        database.execute("CREATE TABLE computed (id INT, age INT DEFAULT 1, made INT AS (id + 9 * random()))")
        for number, view in enumerate(RANDOM_VIEWS):
            database.execute(f"CREATE VIEW v{number} AS {view}")
    for relation in (*(f"V{number}" for number in range(len(RANDOM_VIEWS))), "computed"):
        with pytest.raises(CatalogError, match="something random"):
            open_tables({"t": Origin(f"{place}#main.{relation}", (("id", "identifier"), ("age", "integer")))})


def test_a_view_that_only_names_what_is_random_is_offered(tmp_path: Path) -> None:
    place = tmp_path / "people.duckdb"
    with duckdb.connect(str(place)) as database:
        database.execute(
            "CREATE TABLE base (id INT, random INT AS (id * 10), sample INT, luck DOUBLE DEFAULT random())"
        )
        database.execute("INSERT INTO base (id, sample) SELECT 1, 5 FROM range(30)")
        database.execute("CREATE VIEW other AS SELECT * FROM base WHERE random() < 0.1")
        database.execute(
            "CREATE VIEW t AS SELECT id, random + \"sample\" AS age, 'random()' AS note FROM base "
            "WHERE random IN (9, 10)"
        )
    with open_tables({"t": Origin(f"{place}#t", (("id", "identifier"), ("age", "integer")))}) as engine:
        asked = EngineRequest("SELECT sum(age) AS m0 FROM t", 0, ("m0",))
        assert engine._exact([asked], 1).integers("m0", [()]) == [450]


@pytest.mark.parametrize(("kind", "there"), [("integer", 1), ("decimal", 2), ("identifier", 4)])
def test_a_whole_number_of_any_length_spoils_no_other(kind: str, there: int, tmp_path: Path) -> None:
    place = tmp_path / "long.duckdb"
    with duckdb.connect(str(place)) as database:
        database.execute("CREATE TABLE t AS SELECT CAST('7' AS BIGNUM) AS x")
        database.execute(
            "INSERT INTO t VALUES ('9223372036854775808'), (repeat('9', 400)), ('-' || repeat('9', 400))"
        )
    asked = EngineRequest("SELECT count(DISTINCT x) AS m0 FROM t", 0, ("m0",))
    with open_tables({"t": Origin(f"{place}#t", (("x", kind),))}) as engine:
        found = engine._exact([asked], 1)
    assert found.integers("m0", [()]) == [there]


@pytest.mark.parametrize("said", ["$choice", "it''s $choice", "CAST($choice AS UBIGINT)", '"$choice'])
def test_a_constant_that_looks_like_a_parameter_is_none(said: str) -> None:
    frame = pyarrow.table({"id": [1], "ward": [said.replace("''", "'")]})
    with open_tables({"t": Origin(frame, (("id", "identifier"), ("ward", "text")))}) as engine:
        counted = f"SELECT count(*) AS m0 FROM t WHERE ward = '{said}'"
        chosen = f"{counted} AND CAST($choice AS UBIGINT) = 7"
        for sql in (counted, chosen):
            assert engine._exact([EngineRequest(sql, 0, ("m0",))], 7).integers("m0", [()]) == [1]


def test_no_collation_of_a_column_makes_two_people_or_two_keys_one(tmp_path: Path) -> None:
    place = tmp_path / "collated.duckdb"
    with duckdb.connect(str(place)) as database:
        database.execute("CREATE TABLE base (who VARCHAR COLLATE NOCASE, g VARCHAR COLLATE NOACCENT)")
        database.execute("INSERT INTO base VALUES ('Eve', 'e'), ('eve', '\u00e9'), ('bob', 'e')")
        database.execute("CREATE VIEW t AS SELECT who, lower(g) AS g FROM base")
    asked = EngineRequest(
        "SELECT g, count(*) AS m0, count(DISTINCT who) AS m1 FROM t WHERE who <> 'BOB' GROUP BY g",
        1,
        ("m0", "m1"),
    )
    for relation in ("base", "t"):
        origin = Origin(f"{place}#{relation}", (("who", "identifier"), ("g", "text")))
        with open_tables({"t": origin}) as engine:
            found = engine._exact([asked], 1)
        for output in ("m0", "m1"):
            assert found.integers(output, [("e",), ("\u00e9",)]) == [2, 1]


@pytest.mark.parametrize("name", ["id=9/ward=B/p.parquet", "one[1].parquet", "o*.parquet", "one?.parquet"])
def test_a_path_means_one_file_and_says_nothing_about_its_rows(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table({"id": [9, 8], "ward": ["Z", "Z"]}), tmp_path / "one1.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2, 3], "ward": ["A", "B", "A"]}), place)
    assert [column for column, _ in describe(place)] == ["id", "ward"]
    columns = (("id", "identifier"), ("ward", "text"))
    with open_tables({"people": Origin(name, columns)}, folder=tmp_path) as engine:
        found = engine.connection.execute('SELECT "id", "ward" FROM "people" ORDER BY 1').fetchall()
    assert found == [(1, "A"), (2, "B"), (3, "A")]


def test_guards_inside_of_guards_are_written_once() -> None:
    """Whatever a guard mentions several times, the engine plans several times; so would each guard inside."""
    part: Scalar = Column("t0", "x")
    for _ in range(20):
        part = Call("finite", (Call("divide", (Column("t0", "y"), part)),))
    text = scalar_text(part)
    assert text.count('"t0"."x"') == 1
    assert text.count("lambda x") == 39
    assert len(text) < 20_000
