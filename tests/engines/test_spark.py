"""Spark through the whole path: the same integers, prices and refusals, and nothing stays in a session."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from math import isclose
from pathlib import Path
from random import Random
from shutil import copytree, rmtree
from typing import Any

import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.attacks.test_sql_refused import CORPUS
from tests.engines.test_conformance import NAMED, WEIGHTED, _read, asked_for, clinic, scalars
from tests.engines.test_postgres import MANIFEST, QUESTIONS, integers, spent
from tests.engines.world import COLUMNS, cells, digested, frame, open_reference, run_reference
from tests.query.questions import Wider, hospital
from tests.query.questions import clinic as declarations

import discreet as dp
from discreet.engines import duckdb, spark
from discreet.engines.opening import describe, open_engine
from discreet.engines.protocol import FAILED, Origin
from discreet.engines.spark import engine as module
from discreet.engines.spark import render as rendering
from discreet.engines.spark import session as sessions
from discreet.errors import CatalogError, DiscreetError, EngineError, ExtraError, QueryError
from discreet.query.catalog.manifest import declare
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.plan import Call, Column, Literal, Scalar, walk
from discreet.query.rewrite.statements import statements
from discreet.query.statement import Query, Statement, StoredTable

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]

TOGETHER = 60
"""Scalars in one statement: Spark compiles each anew."""


def written(folder: Path, frames: dict[str, pyarrow.Table]) -> dict[str, str]:
    """Return the sources of tables that are now folders of Parquet files, two each."""
    for name, held in frames.items():
        (folder / name).mkdir()
        half = held.num_rows // 2
        for number, part in enumerate((held.slice(0, half), held.slice(half))):
            pyarrow.parquet.write_table(part, folder / name / f"{number}.parquet")
    return {name: f"spark:{folder / name}" for name in frames}


def opened(folder: Path, frames: dict[str, pyarrow.Table], columns: dict[str, Any]) -> Any:
    sources = written(folder, frames)
    return spark.open_tables({name: Origin(sources[name], tuple(columns[name])) for name in frames})


def spelt(*keys: Scalar) -> Statement:
    """Return the statement that says what scalars are in each row."""
    named = (Column("t0", "id"), *keys)
    items = tuple((f"k{number}", key) for number, key in enumerate(named))
    counted = (*items, ("m0", Call("count_rows", ())))
    return Statement((), Query(counted, StoredTable("cells", "t0"), None, named), len(named), ("m0",))


def alike(scalar: Scalar, ours: Any, theirs: Any) -> bool:
    """Whether two cells are the same; logarithms and powers of e are those of Java's own library."""
    used = {part.function for part in walk(scalar) if isinstance(part, Call)}
    if used & {"ln", "exp"} and isinstance(ours, float) and isinstance(theirs, float):
        return isclose(ours, theirs, rel_tol=1e-12)
    return type(ours) is type(theirs) and bool(ours == theirs)


def some() -> list[tuple[str, Scalar]]:
    """Return expressions in which every function reads cells, few twice; clocks are made of common ones."""
    chosen, used = [], set[str]()
    for text, scalar in sorted(scalars(), key=lambda asked: -len(asked[0])):
        inside = {part.function for part in walk(scalar) if isinstance(part, Call)}
        if not inside <= used or "TIME ZONE" in text:
            chosen.append((text, scalar))
            if any(isinstance(part, Column) for part in walk(scalar)):
                used |= inside
    return chosen


@pytest.mark.parametrize("chosen", [some, pytest.param(scalars, marks=pytest.mark.fuzz)])
def test_every_function_means_the_same_at_every_cell(
    chosen: Callable[[], list[tuple[str, Scalar]]], tmp_path: Path
) -> None:
    held = {"cells": frame(cells(), COLUMNS)}
    judge, engine = open_reference(held, {"cells": COLUMNS}), opened(tmp_path, held, {"cells": COLUMNS})
    wrong, asked = [], chosen()
    for start in range(0, len(asked), TOGETHER):
        some = asked[start : start + TOGETHER]
        statement = spelt(*(scalar for _, scalar in some))
        found, meant = (
            {key[0]: key for key in exact._totals["m0"]}
            for exact in (engine._exact([statement], 1), run_reference(judge, [statement], 1))
        )
        assert found.keys() == meant.keys()
        for place, (text, scalar) in enumerate(some, 1):
            pairs = [(found[row][place], meant[row][place]) for row in meant]
            wrong += [f"{text}: {pair}" for pair in pairs if not alike(scalar, *pair)][:3]
    engine.close()
    assert not wrong, "\n".join(wrong)


def agree(folder: Path, seeds: range, wanted: int) -> None:
    """Ask random questions until so many statements were compared."""
    compared, tables = 0, clinic(Random(seeds.start))
    judge, engine = open_reference(*tables), opened(folder, *tables)
    for text in NAMED if seeds.start == 0 else ():
        asked = statements(check(read(text), declarations(rows=2)))
        found = engine._exact([digested(statement) for statement in asked], 3)
        assert _read(found) == _read(run_reference(judge, asked, 3)), text
    if seeds.start == 0:
        text = WEIGHTED.format(key="any_day", where="age > 1")
        asked = statements(check(read(text), declarations(rows=40, groups=9)))
        found = engine._exact([digested(statement) for statement in asked], 5)
        assert _read(found) == _read(run_reference(judge, asked, 5)), text
    for seed in seeds:
        random = Random(seed)
        catalog, unit = hospital(random)
        text = Wider(random, unit=unit).question()
        try:
            parts = asked_for(text, catalog)
        except QueryError:
            continue
        if "LN(" in text or "EXP(" in text:
            continue
        for asked in parts:
            meant = run_reference(judge, asked, seed)
            found = engine._exact([digested(statement) for statement in asked], seed)
            assert (found._totals, found._cells) == (meant._totals, meant._cells), (seed, text)
            compared += len(asked)
        if compared >= wanted:
            break
    engine.close()
    assert compared >= wanted


def test_random_questions_have_the_same_integers(tmp_path: Path) -> None:
    agree(tmp_path, range(20_000), 3)


@pytest.mark.fuzz
@pytest.mark.parametrize("where", ["local[2,3]", "local-cluster[2,1,1024]"])
def test_clusters_and_retries_have_the_same_integers(where: str, tmp_path: Path) -> None:
    own = {"PYSPARK_SUBMIT_ARGS": f"--master {where} --conf spark.speculation=true pyspark-shell"}
    asked_elsewhere("agree(folder, range(5 * 10**6, 6 * 10**6), 8)", tmp_path, own)


@pytest.mark.fuzz
def test_a_java_that_was_killed_is_one_error_and_the_next_question_works(tmp_path: Path) -> None:
    asked_elsewhere("killed(folder)", tmp_path, {})


@pytest.mark.fuzz
def test_spark_connect_has_the_same_integers(tmp_path: Path) -> None:
    import pyspark

    home, port = Path(pyspark.__file__).parent, free_port()
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    start = [home / "bin" / "spark-submit", "--master", "local[2]", "--class", server]
    settings = [f"spark.connect.grpc.binding.port={port}", "spark.connect.grpc.binding.address=127.0.0.1"]
    flags = [part for setting in (*settings, "spark.ui.enabled=false") for part in ("--conf", setting)]
    # Whoever starts the server may set what they like.
    hostile = ["--conf", "spark.sql.session.timeZone=Asia/Tokyo", "--conf", "spark.sql.ansi.enabled=false"]
    with subprocess.Popen(
        [*start, *flags, *hostile, "spark-internal"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_for(port, process)
            own = {"SPARK_REMOTE": f"sc://127.0.0.1:{port}", "JAVA_HOME": str(tmp_path)}
            asked_elsewhere("agree(folder, range(7 * 10**6, 8 * 10**6), 8)", tmp_path, own)
        finally:
            process.terminate()
            process.wait()


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


def wait_for(port: int, process: Any) -> None:
    for _ in range(1200):
        assert process.poll() is None
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("no server")


def asked_elsewhere(call: str, folder: Path, own: dict[str, str]) -> None:
    """Run something in a process of its own, which starts a Spark of its own."""
    text = f"from tests.engines.test_spark import *; folder = Path({str(folder)!r}); {call}; print('well')"
    paths = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
    done = subprocess.run(
        [sys.executable, "-c", text],
        env=os.environ | {"PYTHONPATH": paths} | own,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.stdout.endswith("well\n"), done.stderr[-2000:]


def killed(folder: Path) -> None:
    from pyspark import SparkContext

    (source,) = written(folder, {"n": pyarrow.table({"x": pyarrow.array([1, 2], pyarrow.int64())})}).values()
    asked = Statement((), Query((("m0", Call("count_rows", ())),), StoredTable("n", "t0")), 0, ("m0",))
    engine = spark.open_tables({"n": Origin(source, (("x", "integer"),))})
    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
    SparkContext._gateway.proc.wait()
    failures = 0
    for _ in range(3):
        try:
            assert engine._exact([asked], 1)._totals == {"m0": {(): 2}}
        except EngineError:
            failures += 1
    assert failures <= 1


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(1, 9))
def test_many_random_questions_have_the_same_integers(part: int, tmp_path: Path) -> None:
    agree(tmp_path, range(part * 10**6, part * 10**6 + 100_000), 250)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, pyarrow.Table], dict[str, Any]]:
    """A folder with folders of Parquet files, and what they hold."""
    folder = tmp_path_factory.mktemp("lake")
    frames, columns = clinic(Random(3))
    written(folder, frames)
    return folder, frames, columns


def started(folder: Path, visits: str, wards: str, engine: str = 'engine = "spark"', **keywords: Any) -> Any:
    """Open visits with three limits, so that parts of statements are used twice."""
    text = MANIFEST.format(visits=visits, wards=wards)
    limits = f"groups_per_unit = 2\nrows_per_group = 1\n{engine}"
    (folder / "clinic.toml").write_text(text.replace("groups_per_unit = 2", limits))
    return dp.open(folder / "clinic.toml", **keywords)


@pytest.fixture
def session(tmp_path: Path, lake: Any) -> Iterator[dp.Session]:
    pyarrow.csv.write_csv(lake[1]["wards"].select(["ward", "floor"]), tmp_path / "wards.csv")
    with started(tmp_path, str(lake[0] / "visits"), "wards.csv") as found:
        yield found


def test_the_whole_path_in_spark_is_that_of_a_file(
    session: dp.Session, tmp_path: Path, lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also: a public text file travels to the private folder, and parts used twice are computed once."""
    pyarrow.parquet.write_table(lake[1]["visits"], tmp_path / "visits.parquet")
    other = tmp_path / "file"
    other.mkdir()
    kept = counted_keeping(monkeypatch)
    with started(other, "../visits.parquet", "../wards.csv", engine="") as file:
        for question in QUESTIONS:
            ours, theirs = session.quote(question, epsilon=1), file.quote(question, epsilon=1)
            assert (ours.cost, str(ours.proof)) == (theirs.cost, str(theirs.proof))
            assert all(text.startswith(("SELECT", "WITH")) and "`" in text for text in ours.sql)
            # Others are compared with the reference; here groups are chosen by hashes of each engine's own.
            if question in (QUESTIONS[3], QUESTIONS[-1]):
                assert integers(session, question) == integers(file, question), question
        answer = session.query(QUESTIONS[1], epsilon=1)
        paid = spent(session)
        again = session.query(QUESTIONS[1], epsilon=1)
        assert again.free
        assert spent(session) == paid
        assert [row.cells for row in again.rows] == [row.cells for row in answer.rows]
    assert kept
    held = session.engine._session
    assert {table.name for table in held.catalog.listTables()} == {"visits", "wards", "__stored_visits"}
    assert not held.sparkContext._jsc.getPersistentRDDs()


def counted_keeping(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    from pyspark.sql.classic.dataframe import DataFrame

    kept: list[Any] = []
    persist = DataFrame.persist
    monkeypatch.setattr(DataFrame, "persist", lambda own: kept.append(own) or persist(own))
    return kept


def test_what_is_refused_opens_no_session(session: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.engine.close()
    monkeypatch.setattr(module, "begun", lambda address: pytest.fail("a session was opened"))
    hostile = (
        "SELECT COUNT(*) FROM visits; DROP TABLE visits",
        "SELECT COUNT(*) FROM parquet.`/etc/passwd`",
        "SELECT java_method('java.lang.System', 'exit', 1) FROM visits",
        "SELECT COUNT(*) FROM visits WHERE city = :choice",
        "SELECT COUNT(*) FROM __stored_visits",
        "SELECT city FROM visits",
        "CACHE TABLE visits",
        "SET spark.sql.ansi.enabled = false",
    )
    before = spent(session)
    for question in (*hostile, *(question for question, _ in CORPUS)):
        with pytest.raises(DiscreetError) as refused:
            session.query(question, epsilon=1)
        assert not isinstance(refused.value, EngineError)
    for question in QUESTIONS:
        session.quote(question, epsilon=1)
    assert spent(session) == before


def test_what_goes_wrong_is_one_error_and_the_next_question_works(
    tmp_path: Path, lake: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    copytree(lake[0] / "visits", tmp_path / "own")
    with started(tmp_path, str(tmp_path / "own"), str(lake[0] / "wards" / "0.parquet")) as data:
        data.query("SELECT COUNT(*) FROM visits", epsilon=1)
        rmtree(tmp_path / "own")
        before = spent(data)
        capfd.readouterr()
        with pytest.raises(EngineError) as failure:
            data.query("SELECT SUM(age) FROM visits", epsilon=1)
        assert str(failure.value) == FAILED
        assert failure.value.__cause__ is None
        assert failure.value.__context__ is None
        assert spent(data) != before
        (tmp_path / "own").mkdir()
        (tmp_path / "own" / "0.parquet").write_bytes(b"PAR1 but no more of it")
        with pytest.raises(EngineError):
            data.query("SELECT SUM(age) FROM visits WHERE flag", epsilon=1)
        assert capfd.readouterr() == ("", "")
        rmtree(tmp_path / "own")
        copytree(lake[0] / "visits", tmp_path / "own")
        assert data.query("SELECT COUNT(*) FROM visits WHERE age > 1", epsilon=1).rows


# Spark ends the tasks of a join in its own time: seconds, or half a minute of all cores.
@pytest.mark.fuzz
def test_interrupts_and_timeouts_end_a_question(tmp_path: Path) -> None:
    from discreet.query.statement import JoinedRows

    rows = pyarrow.table({"x": pyarrow.array(range(60_000), pyarrow.int64())})
    (source,) = written(tmp_path, {"n": rows}).values()
    one, other = (Call("modulo", (Column(alias, "x"), Literal(1))) for alias in ("a", "b"))
    pairs = JoinedRows(StoredTable("n", "a"), StoredTable("n", "b"), Call("eq", (one, other)))
    odd = Call("ne", (Call("modulo", (Column("a", "x"), Literal(7))), Column("b", "x")))
    endless = Statement((), Query((("m0", Call("count_rows", ())),), pairs, odd), 0, ("m0",))
    short = Statement((), Query((("m0", Call("count_rows", ())),), StoredTable("n", "t0")), 0, ("m0",))
    for timeout in (0.5, None):
        engine = spark.open_tables({"n": Origin(source, (("x", "integer"),))}, timeout=timeout)
        if timeout is None:
            threading.Timer(0.5, engine.interrupt).start()
        with pytest.raises(EngineError):
            engine._exact([endless], 1)
        engine._timeout = None
        assert engine._exact([short], 1)._totals == {"m0": {(): 60_000}}
        engine.close()


ODD = (
    "${spark.app.name}",
    "${env:HOME}",
    "a\\b",
    "it's",
    'say "x"',
    "`",
    "\\'",
    "%",
    "\U0001f642",
    "/*",
    "--",
    ";",
    ":choice",
    "?",
)


def test_nothing_of_the_surroundings_changes_an_answer(tmp_path: Path) -> None:
    """Settings and views of another session do not reach ours, and constants are themselves."""
    texts = pyarrow.table(
        {"t": pyarrow.array(ODD), "m": pyarrow.array([datetime(2024, 1, 1, 0, 30)] * len(ODD))}
    )
    (source,) = written(tmp_path, {"odd`s": texts}).values()
    sessions.begun("").sql("SELECT 1").collect()
    from pyspark.sql import SparkSession

    theirs = SparkSession.builder.getOrCreate()
    theirs.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    theirs.conf.set("spark.sql.ansi.enabled", "false")
    theirs.sql("SELECT 'nobody' AS t").createOrReplaceTempView("odd`s".replace("`", ""))
    engine = spark.open_tables({"odd`s": Origin(source, (("t", "text"), ("m", "timestamp")))})
    tests = tuple((f"m{n}", Call("count_values", (same_text(text),))) for n, text in enumerate(ODD))
    asked = Statement((), Query(tests, StoredTable("odd`s", "t`0")), 0, tuple(name for name, _ in tests))
    found = engine._exact([asked], 1)._totals
    assert found == {name: {(): 1} for name, _ in tests}
    hour = Call("part", (Literal("hour"), Column("t0", "m")))
    items = (("k0", hour), ("k1", Column("t0", "m")), ("m0", Call("count_rows", ())))
    hours = Statement(
        (), Query(items, StoredTable("odd`s", "t0"), None, (hour, Column("t0", "m"))), 2, ("m0",)
    )
    assert engine._exact([hours], 1)._totals == {"m0": {(0, datetime(2024, 1, 1, 0, 30)): len(ODD)}}
    assert theirs.conf.get("spark.sql.ansi.enabled") == "false"
    assert not engine._session.catalog.tableExists("odds")
    engine.close()


def same_text(text: str) -> Scalar:
    return Call("nullif", (Call("eq", (Column("t`0", "t"), Literal(text))), Literal(False)))


def test_every_type_of_a_lake_is_the_declared_type_or_refused(tmp_path: Path) -> None:
    broken = pyarrow.Array.from_buffers(
        pyarrow.string(), 2, pyarrow.array([b"\xff", b"\xfe"], pyarrow.binary()).buffers()
    )
    moments = pyarrow.array([-62135596800000000 - 1, 253402300800000000], pyarrow.timestamp("us"))
    held = pyarrow.table(
        {
            "id": pyarrow.array([1, 2], pyarrow.int32()),
            "n": pyarrow.array(
                [Decimal("2.50"), Decimal("-99999999999999999999.50")], pyarrow.decimal128(38, 2)
            ),
            "f": pyarrow.array([float("nan"), 1e-40], pyarrow.float32()),
            "s": broken,
            "z": pyarrow.array([datetime(2024, 1, 1, 1), None], pyarrow.timestamp("us", "Europe/Berlin")),
            "m": moments,
            "d": pyarrow.array([-719163, 2932897], pyarrow.int32()).cast(pyarrow.date32()),
            "t": pyarrow.array([" 12 ", "0x1F"]),
            "i": pyarrow.array([datetime(1, 1, 1), datetime(9999, 12, 31)], pyarrow.timestamp("us")),
            "l": pyarrow.array([[1], []], pyarrow.list_(pyarrow.int8())),
        }
    )
    pyarrow.parquet.write_table(held, tmp_path / "kinds.parquet")
    source = f"spark:{tmp_path / 'kinds.parquet'}"
    wanted = (
        *(
            ("n", "integer"),
            ("n", "decimal"),
            ("n", "text"),
            ("f", "decimal"),
            ("f", "integer"),
            ("s", "text"),
        ),
        *(("z", "timestamp"), ("z", "date"), ("m", "timestamp"), ("m", "date"), ("m", "text"), ("d", "date")),
        *(("d", "text"), ("t", "integer"), ("t", "decimal"), ("i", "text"), ("id", "identifier")),
    )
    engine = spark.open_tables({"kinds": Origin(source, (("id", "integer"),))})
    with engine._looking({"kinds"}) as held_session:
        stored = {
            one.name: one.dataType.simpleString() for one in held_session.read.parquet(source[6:]).schema
        }
        made = {
            pair: module.offered("kinds", Origin(source, (pair,)), "`__stored_kinds`", stored)
            for pair in wanted
        }
        texts = ", ".join(f"({text} WHERE id = {row})" for text in made.values() for row in (1, 2))
        (cells_,) = held_session.sql(f"SELECT {texts}").collect()
    found = dict(zip(wanted, zip(cells_[::2], cells_[1::2], strict=True), strict=True))
    (small,) = pyarrow.array([1e-40], pyarrow.float32()).to_pylist()
    assert found == {
        ("n", "integer"): (3, None),
        ("n", "decimal"): (2.5, -1e20),
        ("n", "text"): ("2.5", "-99999999999999999999.5"),
        ("f", "decimal"): (None, small),
        ("f", "integer"): (None, 0),
        ("s", "text"): (None, None),
        ("z", "timestamp"): (datetime(2024, 1, 1, 1), None),
        ("z", "date"): (date(2024, 1, 1), None),
        **dict.fromkeys((("m", "timestamp"), ("m", "date"), ("m", "text"), ("d", "date")), (None, None)),
        ("d", "text"): (None, None),
        ("t", "integer"): (12, None),
        ("t", "decimal"): (12.0, None),
        ("i", "text"): ("0001-01-01 00:00:00", "9999-12-31 00:00:00"),
        ("id", "identifier"): (1, 2),
    }
    engine.close()
    for column, kind in (("l", "text"), ("d", "integer"), ("z", "decimal"), ("e2", "text")):
        with pytest.raises(CatalogError, match=f"{column}"):
            spark.open_tables({"kinds": Origin(source, ((column, kind),))})


def test_a_table_of_a_catalog_shows_what_it_holds_now(tmp_path: Path) -> None:
    """Also: opened by its name alone, with all statements and tasks deterministic."""
    votes = pyarrow.table(
        {"who": pyarrow.array(range(6), pyarrow.int64()), "k": ["a", "b", "b", "a", "b", None]}
    )
    (source,) = written(tmp_path, {"votes": votes}).values()
    session = sessions.begun("")
    session.sql(f"CREATE TABLE default.votes USING parquet LOCATION '{source[6:]}'")
    try:
        assert dict(describe("spark:default.votes")) == {"who": "BIGINT", "k": "VARCHAR"}
        columns = {"k": {"values": ["a", "b"]}}
        with dp.open("spark:default.votes", unit="who", rows_per_unit=1, epsilon=5, columns=columns) as data:
            asked = "SELECT k, COUNT(*) FROM votes GROUP BY k"
            first = sum(integers(data, asked)[0]["m0"].values())
            pyarrow.parquet.write_table(votes, tmp_path / "votes" / "2.parquet")
            pyarrow.parquet.write_table(
                pyarrow.table({"who": pyarrow.array([9], pyarrow.int64()), "k": ["a"]}),
                tmp_path / "votes" / "3.parquet",
            )
            assert sum(integers(data, asked)[0]["m0"].values()) > first
        session.sql("CREATE VIEW default.odd AS SELECT who FROM default.votes WHERE rand() < 0.5")
        with pytest.raises(CatalogError, match="something random"):
            open_engine({"odd": Origin("spark:default.odd", (("who", "integer"),))})
    finally:
        session.sql("DROP VIEW IF EXISTS default.odd")
        session.sql("DROP TABLE default.votes")


def test_totals_of_large_numbers_are_exact(tmp_path: Path) -> None:
    # Bits on both sides of every place where a number is cut into parts, and a group without any number.
    ends = [2**63 - 1] * 4 + [-(2**63), None, -1, 2**22 - 1, 2**22, -(2**22) - 1, 2**44 - 1, -(2**44), 2**44]
    held = pyarrow.table({"x": pyarrow.array([*ends, None], pyarrow.int64()), "k": [0] * len(ends) + [1]})
    (source,) = written(tmp_path, {"n": held}).values()
    engine = spark.open_tables({"n": Origin(source, (("x", "integer"), ("k", "integer")))})
    x, k = Column("t0", "x"), Column("t0", "k")
    totals = (Call("sum", (x,)), Call("sum", (Call("multiply_wide", (x, Literal(2**53))),)))
    items = (("k0", k), *((f"m{n}", total) for n, total in enumerate(totals)))
    asked = Statement((), Query(items, StoredTable("n", "t0"), None, (k,)), 1, ("m0", "m1"))
    found = engine._exact([asked], 1)._totals
    engine.close()
    total = sum(end for end in ends if end is not None)
    assert {name: {key: n for key, n in own.items() if n} for name, own in found.items()} == {
        "m0": {(0,): total},
        "m1": {(0,): total * 2**53},
    }


def test_after_a_failure_a_session_is_new_and_nothing_was_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from pyspark.logger import PySparkLogger

    (source,) = written(tmp_path, {"n": pyarrow.table({"x": pyarrow.array([1], pyarrow.int64())})}).values()
    engine = spark.open_tables({"n": Origin(source, (("x", "integer"),))})
    before = engine._session
    wrong = Call("multiply", (Call("add", (Column("t0", "x"), Literal(2**62))), Literal(4)))
    items = (("m0", Call("sum", (wrong,))),)
    said = PySparkLogger.getLogger("SQLQueryContextLogger")
    said.addHandler(caplog.handler)
    with pytest.raises(EngineError) as failure:
        engine._exact([Statement((), Query(items, StoredTable("n", "t0")), 0, ("m0",))], 1)
    said.removeHandler(caplog.handler)
    assert not caplog.records
    assert str(failure.value) == FAILED
    counted = (("m0", Call("count_rows", ())),)
    asked = Statement((), Query(counted, StoredTable("n", "t0")), 0, ("m0",))
    assert engine._exact([asked], 1)._totals == {"m0": {(): 1}}
    assert engine._session is not before
    engine.close()


def test_no_statement_depends_on_when_or_where_it_runs(session: dp.Session) -> None:
    """A task that is run again returns the same rows, since nothing in a plan is random."""
    engine = session.engine
    with engine._looking(set(engine._tables)) as held:
        for question in QUESTIONS:
            for statement in statements(session.quote(question, epsilon=1).checked):
                made = module.render(statement, engine._columns)
                for name, text in made.parts:
                    held.sql(text, {"choice": 1}).createOrReplaceTempView(module.quoted(name))
                plan = held.sql(made.body, {"choice": 1})._jdf.queryExecution().analyzed()
                assert plan.deterministic()


def test_public_tables_travel_and_private_ones_stay(tmp_path: Path, lake: Any) -> None:
    folder, frames, columns = lake
    source = f"spark:{folder / 'wards'}"
    visits = Origin(frames["visits"], columns["visits"])
    engine = open_engine({"visits": visits, "wards": Origin(source, columns["wards"], public=True)})
    assert isinstance(engine, duckdb.DuckDB)
    assert engine.connection.execute("SELECT count(*), sum(floor) FROM wards").fetchone() == (5, 15)
    engine.close()
    for other in (Origin(frames["people"], columns["people"]), Origin("sc://h:1#people", columns["people"])):
        with pytest.raises(CatalogError, match="one place"):
            open_engine({"visits": Origin(f"spark:{folder / 'visits'}", columns["visits"]), "people": other})


def test_the_choice_is_of_the_right_size_and_favours_nobody(tmp_path: Path) -> None:
    """Each of six towns of a person is kept with a chance of a third, and two are kept of each."""
    people = 2_000
    held = pyarrow.table(
        {
            "person": pyarrow.array([who for who in range(people) for _ in range(6)], pyarrow.int64()),
            "town": [f"t{town}" for _ in range(people) for town in range(6)],
        }
    )
    catalog = declare(
        {"tables": {"towns": {"unit": "person", "groups_per_unit": 2, "columns": {"town": "text"}}}}
    )
    (asked,) = statements(
        check(read("SELECT town, COUNT(DISTINCT person) FROM towns GROUP BY town"), catalog)
    )[-1:]
    (source,) = written(tmp_path, {"towns": held}).values()
    engine = spark.open_tables({"towns": Origin(source, catalog.tables[0].offered)})
    found = [engine._exact([asked], choice)._totals[asked.outputs[0]] for choice in (7, 7, 2**63 - 1)]
    engine.close()
    assert found[0] == found[1] != found[2]
    for kept in found[1:]:
        assert sum(kept.values()) == 2 * people
        # 2,000 draws of chance 1/3: six standard deviations are 127.
        assert all(abs(count - people / 3) < 127 for count in kept.values())


def test_cells_that_are_ranked_are_exchanged_once_and_count_for_the_same(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _, columns = lake
    catalog = declarations(rows=2)
    asked = statements(check(read("SELECT city, COUNT(DISTINCT person) FROM visits GROUP BY city"), catalog))
    engine = spark.open_tables({"visits": Origin(f"spark:{folder / 'visits'}", columns["visits"])})

    def counted() -> tuple[Any, int]:
        text = engine.written(asked[-1]).replace(":choice", "7L")
        with engine._looking({"visits"}) as session:
            plan = session.sql(text)._jdf.queryExecution().executedPlan().toString()
        return engine._exact(asked, 7)._totals, plan.count("Exchange hashpartitioning")

    ours, once = counted()
    monkeypatch.setattr(rendering, "together", lambda *_: None)
    theirs, twice = counted()
    engine.close()
    assert ours == theirs
    assert any(ours.values())
    assert once < twice


@pytest.mark.parametrize(
    "source",
    [
        "sc://u:s3cret@h:1#visits",
        "sc://h:1/;token=s3cret#visits",
        "sc://h:1/;use_ssl=true;token=s3cret#visits",
        "spark://s3cret@h:7077#visits",
        "sc://s3cret",
        "spark:s3cret..visits",
    ],
)
def test_a_token_in_a_source_is_refused_and_not_repeated(source: str, tmp_path: Path) -> None:
    for problem in (
        lambda: open_engine({"visits": Origin(source, ())}),
        lambda: dp.open(visits=source, epsilon=1),
        lambda: dp.open(source, epsilon=1),
    ):
        with pytest.raises(CatalogError) as refused:
            problem()
        assert "s3cret" not in str(refused.value)
        assert refused.value.__cause__ is None


def test_what_spark_cannot_read_is_said_when_the_data_is_opened(tmp_path: Path, lake: Any) -> None:
    for source in ("spark:nowhere.visits", f"spark:{tmp_path}/nothing"):
        with pytest.raises(CatalogError, match="could not read it"):
            open_engine({"visits": Origin(source, (("ward", "text"),))})
    text = MANIFEST.format(visits=lake[0] / "visits", wards="wards.csv")
    (tmp_path / "p.toml").write_text(text.replace('unit = "person"', 'unit = "person"\nengine = "dask"'))
    with pytest.raises(CatalogError, match='only "spark"'):
        dp.open(tmp_path / "p.toml")
    wrong = text.replace(f'source = "{lake[0] / "visits"}"', 'source = "spark:a.visits"\nengine = "spark"')
    (tmp_path / "p.toml").write_text(wrong)
    with pytest.raises(CatalogError, match="says by itself"):
        dp.open(tmp_path / "p.toml")


def test_large_public_tables_do_not_travel(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PUBLIC_ROWS", 3)
    folder, frames, columns = lake
    private = Origin(f"spark:{folder / 'visits'}", columns["visits"])
    with pytest.raises(CatalogError, match="where the private tables are"):
        open_engine({"visits": private, "wards": Origin(frames["wards"], columns["wards"], public=True)})
    with pytest.raises(CatalogError, match="too large to travel"):
        spark.fetch("wards", Origin(f"spark:{folder / 'wards'}", columns["wards"]))


def test_java_and_the_library_are_asked_for_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(CatalogError, match=r"openjdk-17-jre-headless.*none was found"):
        sessions._demand_java()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    with pytest.raises(CatalogError, match="older"):
        sessions._demand_java()
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(ExtraError, match=r"discreet\[spark\]"):
        sessions.begun("")
