"""Tables that are bounded once: in every engine the same rows, few of each person, for their owner alone."""

import json
import os
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb as library
import psycopg
import pyarrow
import pyarrow.parquet
import pytest
from tests.engines.world import (
    DAYS,
    MOMENTS,
    REALS,
    TEXTS,
    digested,
    frame,
    loaded,
    open_reference,
    run_duckdb,
    run_reference,
    server,
)

import discreet as dp
from discreet.engines import duckdb, postgres
from discreet.engines.duckdb import engine as duckdb_room
from discreet.engines.opening import open_engine, prepare
from discreet.engines.postgres import prepared as postgres_room
from discreet.engines.protocol import UNPREPARED, Origin, Preparation
from discreet.engines.spark import bucket
from discreet.engines.spark import engine as spark_engine
from discreet.engines.spark import prepared as spark_room
from discreet.engines.spark.session import SETTINGS, begun
from discreet.errors import CatalogError, EngineError
from discreet.query.catalog.manifest import declare
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.plan import Call, Column
from discreet.query.price.proving import preparation
from discreet.query.proof import sealed
from discreet.query.rewrite.prepared import prepared_rows
from discreet.query.rewrite.statements import statements
from discreet.query.statement import Inner, Query, Statement, StoredTable

ENGINES = ["duckdb", "postgres", pytest.param("spark", marks=pytest.mark.spark)]
ROOMS = {"duckdb": duckdb_room, "postgres": postgres_room, "spark": spark_room}
KEPT = 2
SECTION = {"unit": "who", "rows_per_unit": KEPT, "groups_per_unit": 2, "prepared": True}
COLUMNS: dict[str, Any] = {
    "n": {"type": "integer", "low": -100, "high": 1000},
    "t": "text",
    "d": "date",
    "b": "boolean",
    "r": {"type": "decimal", "low": -5, "high": 100, "step": "0.01"},
    "m": "timestamp",
}
TIED = ("n", "t", "d", "b")
"""Columns whose cells are the same texts in all engines, so that one keyed choice is the same in all."""

QUESTIONS = (
    "SELECT b, COUNT(*), SUM(n), AVG(r) FROM v GROUP BY b",
    "SELECT COUNT(DISTINCT who) FROM v",
    "SELECT b, COUNT(DISTINCT who), MEDIAN(n) FROM v GROUP BY b",
    "SELECT t, COUNT(*), SUM(n) FROM v GROUP BY t",
    "SELECT COUNT(*) FROM v WHERE d > DATE '2000-01-01' OR m < TIMESTAMP '1999-01-01 00:00:00' OR r > 2",
    "SELECT AVG(CLAMP(x, 0, 30)) FROM (SELECT who, SUM(n) AS x FROM v GROUP BY who) AS p",
)
PEOPLE: dict[str, Sequence[Any]] = {
    "integer": (0, 1, -1, 2**63 - 1, -(2**63), 7),
    "text": ("", " ", "0", "00", "it's", "\u00e9", "x" * 300, "NULL"),
}


def crowd(kind: str) -> list[dict[str, Any]]:
    """Return rows of people who have from one to many, some of them equal, and of nobody."""
    rows, turn = [], 0
    for place, who in enumerate((*PEOPLE[kind], None)):
        for number in range(1 + place * place):
            awkward = {"t": TEXTS, "d": DAYS, "r": REALS, "m": MOMENTS, "b": (True, False, None)}
            cells = {name: values[turn % len(values)] for name, values in awkward.items()}
            rows.append({"who": who, "n": number - 3, **cells})
            # Equal rows are interchangeable, and each is one.
            turn += number % 3 > 0
    return rows


def table(kind: str, *names: str) -> Any:
    columns = {"who": kind} | {name: COLUMNS[name] for name in names or COLUMNS}
    return declare({"tables": {"v": {**SECTION, "columns": columns}}})


def stored(engine: str, held: pyarrow.Table, columns: Any, folder: Path) -> str:
    """Return the source of a table that is now where an engine reads it."""
    if engine == "postgres":
        return loaded({"v": held}, {"v": columns})[1]["v"]
    (folder / "lake").mkdir()
    half = held.num_rows // 2
    for number, part in enumerate((held,) if engine == "duckdb" else (held.slice(0, half), held.slice(half))):
        pyarrow.parquet.write_table(part, folder / "lake" / f"{number}.parquet")
    return f"spark:{folder / 'lake'}" if engine == "spark" else f"{folder / 'lake' / '0.parquet'}"


def rows_of(origin: Origin) -> list[dict[str, Any]]:
    """Return all rows of a copy, read by nothing of ours."""
    names, rows = [name for name, _ in origin.columns], str(origin.rows)
    listed = ", ".join(f'"{name}"' for name in names)
    if rows.startswith("spark:"):
        return list(pyarrow.parquet.read_table(rows.removeprefix("spark:")).to_pylist())
    address, _, place = rows.partition("#")
    if rows.startswith("postgresql:"):
        schema, _, name = place.partition(".")
        with psycopg.connect(address) as database:
            found = database.execute(f'SELECT {listed} FROM "{schema}"."{name}"').fetchall()
    else:
        with library.connect(address, read_only=True) as database:
            found = database.execute(f"SELECT {listed} FROM {place}").fetchall()
    return [dict(zip(names, row, strict=True)) for row in found]


def counted(rows: Sequence[Any], names: Sequence[str]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in names) for row in rows)


def left(engine: str, folder: Path, schema: str = "") -> list[str]:
    """Return the names of copies, and of anything else that was left beside them."""
    if engine != "postgres":
        return sorted(path.name for path in folder.iterdir() if path.name != "lake")
    with psycopg.connect(server().url()) as database:
        found = database.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [schema]).fetchall()
    return sorted(name for (name,) in found if name != "v")


def schema_of(source: str) -> str:
    return source.partition("#")[2].partition(".")[0]


def all_alike(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    """Have a preparation choose by the digest that all engines share."""
    monkeypatch.setattr(ROOMS[engine], "sealed", lambda proved: digested(sealed(proved)))


def chosen(catalog: Any, held: pyarrow.Table, choice: int) -> Counter[tuple[Any, ...]]:
    """Return the rows that a preparation keeps by its meaning."""
    (declared,) = catalog.tables
    asked = prepared_rows(declared)
    items = tuple((name, Column("p", name)) for name, _ in declared.offered)
    body = Query(
        (*items, ("m0", Call("count_rows", ()))),
        Inner(asked.body, "p"),
        None,
        tuple(column for _, column in items),
    )
    judge = open_reference({"v": held}, {"v": declared.offered})
    found = run_reference(judge, [digested(Statement((), body, len(items), ("m0",)))], choice)
    return Counter(dict(found._totals["m0"]))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_kept_is_what_the_statement_means(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every person the same rows as by the reference, also where people are texts, and none of nobody."""
    all_alike(monkeypatch, engine)
    kind = "integer" if engine == "spark" else "text"
    catalog, choice = table(kind, *TIED), 2**62 + 11
    (declared,) = catalog.tables
    held = frame(crowd(kind), declared.offered)
    origin = Origin(stored(engine, held, declared.offered, tmp_path), declared.offered)
    copy = prepare(Preparation("v", origin, preparation(declared), "who", choice), "clinic", tmp_path)
    names = [name for name, _ in declared.offered]
    found = rows_of(copy)
    assert counted(found, names) == chosen(catalog, held, choice)
    people = Counter(row["who"] for row in crowd(kind) if row["who"] is not None)
    assert Counter(row["who"] for row in found) == {who: min(n, KEPT) for who, n in people.items()}


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_about_a_copy_are_those_about_the_rows_it_keeps(engine: str, tmp_path: Path) -> None:
    """Chosen by the engine's own hash, with every awkward cell; a person's rows are beside each other."""
    kind = "text" if engine == "spark" else "integer"
    catalog = table(kind)
    (declared,) = catalog.tables
    names = [name for name, _ in declared.offered]
    held = frame(crowd(kind), declared.offered)
    origin = Origin(stored(engine, held, declared.offered, tmp_path), declared.offered)
    copy = prepare(Preparation("v", origin, preparation(declared), "who", 5), "clinic", tmp_path)
    found = rows_of(copy)
    offered = open_reference({"v": held}, {"v": declared.offered})._tables["v"]
    assert counted(found, names) <= counted(offered, names)
    people = Counter(row["who"] for row in offered if row["who"] is not None)
    order = [row["who"] for row in found]
    assert Counter(order) == {who: min(n, KEPT) for who, n in people.items()}
    assert sum(one != other for one, other in pairwise(order)) == len(people) - 1
    judge = open_reference({"v": frame(found, declared.offered)}, {"v": declared.offered})
    opened = open_engine({"v": copy})
    run = (
        run_duckdb
        if engine == "duckdb"
        else lambda own, asked, key: own._exact(list(map(digested, asked)), key)
    )
    for question in QUESTIONS:
        asked = statements(check(read(question), catalog))
        ours, meant = run(opened, list(asked), 3), run_reference(judge, asked, 3)
        assert (ours._totals, ours._cells) == (meant._totals, meant._cells), question
    opened.close()


def manifest(source: str, folder: Path, *, version: str = "1", limit: int = KEPT) -> Path:
    """Write a manifest; a folder is named as one that Spark reads."""
    engine = 'engine = "spark"\n' if source.startswith("spark:") else ""
    (folder / "clinic.toml").write_text(
        f'[dataset]\nname = "clinic"\nversion = "{version}"\nledger = "memory.ledger"\n'
        "[budget]\nepsilon = 100000\n"
        f'[tables.v]\nsource = "{source.removeprefix("spark:")}"\n{engine}unit = "who"\n'
        f"rows_per_unit = {limit}\nprepared = true\n"
        '[tables.v.columns]\nwho = "text"\nn = { type = "integer", low = -100, high = 1000 }\n'
    )
    return folder / "clinic.toml"


def asked(path: Path) -> int:
    with dp.open(path) as data:
        return round(float(data.query("SELECT COUNT(*) FROM v", epsilon=500).value))


def more(engine: str, source: str, columns: Any) -> None:
    """Add a row of somebody new to a source."""
    if engine == "postgres":
        with psycopg.connect(server().url()) as database:
            database.execute(f"INSERT INTO {schema_of(source)}.v (who, n) VALUES ('new', 1)")
        return
    place = Path(source.removeprefix("spark:"))
    new = frame([{"who": "new", "n": 1}], columns)
    if engine == "spark":
        pyarrow.parquet.write_table(new, place / "new.parquet")
    else:
        pyarrow.parquet.write_table(pyarrow.concat_tables([pyarrow.parquet.read_table(place), new]), place)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_copy_is_made_once_for_each_version_and_limit(engine: str, tmp_path: Path) -> None:
    columns = (("who", "text"), ("n", "integer"))
    rows = [{"who": f"p{number % 20}", "n": number} for number in range(100)]
    source = stored(engine, frame(rows, columns), columns, tmp_path)
    schema = schema_of(source)
    ledgers = ("clinic.toml", "memory.ledger")

    def copies() -> list[str]:
        return [name for name in left(engine, tmp_path, schema) if not name.startswith(ledgers)]

    before = os.umask(0)
    try:
        assert asked(manifest(source, tmp_path)) == 20 * KEPT
    finally:
        os.umask(before)
    (first,) = copies()
    for _ in range(0 if engine == "postgres" else 2):
        assert stat.S_IMODE((tmp_path / first).stat().st_mode) == (0o700 if engine == "spark" else 0o600)
        # Somebody lets others in, and the next opening does not.
        (tmp_path / first).chmod(0o755)
        dp.open(tmp_path / "clinic.toml").close()
    more(engine, source, columns)
    # What was added belongs to the next version, as with files.
    assert asked(manifest(source, tmp_path)) == 20 * KEPT
    assert copies() == [first]
    if engine == "spark":
        assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / first).iterdir()} == {0o600}
        return
    assert asked(manifest(source, tmp_path, version="2")) == 20 * KEPT + 1
    assert asked(manifest(source, tmp_path, version="2", limit=1)) == 21
    assert len(copies()) == 3


def broken(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a preparation fail when its rows are written, with a cell in the message."""

    def fail(*_: object) -> None:
        raise RuntimeError("s3cret")

    def after(work: Callable[..., Any]) -> Callable[..., None]:
        return lambda *given: fail(work(*given))

    if engine == "duckdb":
        monkeypatch.setattr(duckdb.DuckDB, "legibly", after(duckdb.DuckDB.legibly))
    elif engine == "postgres":
        monkeypatch.setattr(postgres_room, "_only_for_its_owner", fail)
    else:
        from pyspark.sql.readwriter import DataFrameWriter

        monkeypatch.setattr(DataFrameWriter, "saveAsTable", after(DataFrameWriter.saveAsTable))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_fails_in_the_middle_leaves_nothing(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (declared,) = table("integer", "n").tables
    held = frame(crowd("integer"), declared.offered)
    source = stored(engine, held, declared.offered, tmp_path)
    making = Preparation("v", Origin(source, declared.offered), preparation(declared), "who", 5)
    with monkeypatch.context() as patch:
        broken(engine, patch)
        with pytest.raises(EngineError) as refused:
            prepare(making, "clinic", tmp_path)
    assert str(refused.value) == UNPREPARED
    assert refused.value.__cause__ is None
    assert "s3cret" not in repr(refused.value.__context__)
    assert left(engine, tmp_path, schema_of(source)) == []
    prepare(making, "clinic", tmp_path)
    assert len(left(engine, tmp_path, schema_of(source))) == 1


def given_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a file, or a link itself, belong to somebody else than this process."""
    if os.geteuid() == 0:
        os.chown(path, 4321, 4321, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4321)


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def test_what_somebody_else_put_in_the_place_of_a_copy_is_refused(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold any number of rows of a person; and a link of theirs would lead raw rows elsewhere."""
    (declared,) = table("integer", "n").tables
    source = stored(engine, frame(crowd("integer"), declared.offered), declared.offered, tmp_path)
    making = Preparation("v", Origin(source, declared.offered), preparation(declared), "who", 5)
    copy = prepare(making, "clinic", tmp_path)
    (name,) = left(engine, tmp_path)
    place, elsewhere = tmp_path / name, tmp_path / "lake" / "elsewhere"
    with monkeypatch.context() as patch:
        given_away(place, patch)
        with pytest.raises(CatalogError, match="belongs to another user"):
            prepare(making, "clinic", tmp_path)
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    with monkeypatch.context() as patch:
        # What is linked belongs to somebody else.
        given_away(elsewhere, patch)
        with pytest.raises(CatalogError, match="belongs to another user"):
            prepare(making, "clinic", tmp_path)
    elsewhere.rename(tmp_path / "lake" / "gone")
    with monkeypatch.context() as patch:
        # A link that leads to nothing yet does.
        given_away(place, patch)
        with pytest.raises(CatalogError, match="belongs to another user"):
            prepare(making, "clinic", tmp_path)
    assert not elsewhere.exists()
    place.unlink()
    assert prepare(making, "clinic", tmp_path) == copy


def test_what_somebody_else_put_there_meanwhile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (declared,) = table("integer", "n").tables
    origin = Origin(f"spark:{tmp_path / 'lake'}", declared.offered)

    def sooner(_: Preparation, target: Path) -> None:
        target.mkdir()
        given_away(target, monkeypatch)

    monkeypatch.setattr("discreet.engines.spark.prepare", sooner)
    with pytest.raises(CatalogError, match="belongs to another user"):
        prepare(Preparation("v", origin, preparation(declared), "who", 5), "clinic", tmp_path)


def test_copies_have_names_that_files_can_have(tmp_path: Path) -> None:
    (declared,) = table("integer", "n").tables
    source = stored("duckdb", frame(crowd("integer"), declared.offered), declared.offered, tmp_path)
    making = Preparation("v", Origin(source, declared.offered), preparation(declared), "who", 5)
    stems = ("../up", "a/b", "a_b", "a#b", "a\nb", "\u00e9" * 200, "\u00e9" * 201, "\u00e9", 'it\'s "so"')
    (tmp_path / "here").mkdir()
    for stem in stems:
        assert rows_of(prepare(making, stem, tmp_path / "here"))
    assert len(left("duckdb", tmp_path / "here")) == len(stems)
    assert left("duckdb", tmp_path) == ["here"]
    # Copies that were there keep their names.
    assert any(name.startswith('it\'s "so"-') for name in left("duckdb", tmp_path / "here"))


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("folder", ["a*", "[ab]"])
def test_the_name_of_a_folder_is_no_pattern(
    engine: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the same name, in a folder that the pattern means, is not read with it or instead."""
    columns, rows = (("who", "text"), ("n", "integer")), [{"who": "ann", "n": number} for number in range(9)]
    here, beside = tmp_path / folder, tmp_path / "a"
    here.mkdir()
    assert asked(manifest(stored(engine, frame(rows, columns), columns, here), here)) == KEPT
    shutil.copytree(here, beside)
    (copy,) = beside.glob("*.prepared*")
    if engine == "spark":
        pyarrow.parquet.write_table(frame(rows, columns), copy / "more.parquet")
    else:
        copy.unlink()
        with library.connect(str(copy)) as database:
            database.execute("CREATE TABLE v AS SELECT 'ann' AS who, range AS n FROM range(9)")
    for least in (-99, -98):
        with dp.open(here / "clinic.toml") as data:
            found = data.query(f"SELECT COUNT(*) FROM v WHERE n >= {least}", epsilon=500)
        assert round(float(found.value)) == KEPT
        # Once more as where Spark cannot be told of buckets.
        monkeypatch.setattr(bucket, "_forgets", lambda session: False)


@pytest.mark.spark
def test_the_name_of_a_folder_of_rows_is_no_pattern(tmp_path: Path) -> None:
    columns, rows = (("who", "text"), ("n", "integer")), [{"who": "ann", "n": number} for number in range(9)]
    held = frame(rows, columns)
    sources = []
    for name in ("a*", "a"):
        (tmp_path / name).mkdir()
        sources.append(stored("spark", held, columns, tmp_path / name))
    engine = open_engine({"v": Origin(sources[0], columns)})
    assert sum(people(engine).values()) == 9
    engine.close()


def counting(kind: str = "integer") -> Statement:
    """Return a statement that needs all cells of a person in one place: one of them counts."""
    columns = {"who": kind, "t": "text"}
    catalog = declare({"tables": {"v": {**SECTION, "groups_per_unit": 1, "columns": columns}}})
    return statements(check(read("SELECT t, COUNT(DISTINCT who) FROM v GROUP BY t"), catalog))[-1]


def people(engine: Any) -> Mapping[Any, int]:
    """Return how often each person has a row."""
    items = (("who", Column("t0", "who")), ("m0", Call("count_rows", ())))
    found = engine._exact(
        [Statement((), Query(items, StoredTable("v", "t0"), None, (items[0][1],)), 1, ("m0",))], 3
    )
    return found._totals["m0"]


def exchanges(engine: Any, asked: Statement) -> int:
    """Return how often Spark would exchange rows for a statement."""
    text = engine.written(asked).replace(":choice", "7L")
    with engine._looking({"v"}) as session:
        plan = session.sql(text)._jdf.queryExecution().executedPlan().toString()
        assert not [table for table in session.catalog.listTables() if table.name.startswith("copy_")]
    return plan.count("Exchange hashpartitioning")


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["integer", "text"])
def test_people_of_a_copy_are_counted_where_they_are(kind: str, tmp_path: Path) -> None:
    """Only the last sums are exchanged, no catalog knows of the copy, and without buckets it is the same."""
    catalog = table(kind, "t")
    (declared,) = catalog.tables
    held = frame(crowd(kind), declared.offered)
    origin = Origin(stored("spark", held, declared.offered, tmp_path), declared.offered)
    copy = prepare(Preparation("v", origin, preparation(declared), "who", 5), "it's 100% \u00e9", tmp_path)
    asked, totals, seen = counting(kind), [], []
    for _ in range(2):
        engine = open_engine({"v": copy})
        totals.append((engine._exact([asked], 3)._totals, people(engine)))
        seen.append(exchanges(engine, asked))
        engine.close()
        (Path(str(copy.rows).removeprefix("spark:")) / bucket.BUCKETS).unlink(missing_ok=True)
    assert totals[0] == totals[1]
    assert max(totals[0][1].values()) == KEPT
    assert seen[0] == 1 < seen[1]


@pytest.mark.spark
def test_buckets_are_believed_of_copies_alone(tmp_path: Path) -> None:
    """A folder that says that a person's rows are together, and has them apart, counts nobody twice."""
    columns = (("who", "integer"), ("t", "text"))
    lake = tmp_path / "lake"
    lake.mkdir()
    for number in range(2):
        rows = [{"who": who, "t": str((number, place))} for who in range(5) for place in range(3)]
        place = lake / f"part-0000{number}-a_0000{number}.c000.snappy.parquet"
        pyarrow.parquet.write_table(frame(rows, columns), place)
    said = {"buckets": 2, "columns": [["who", "bigint"], ["t", "string"]]}
    (lake / bucket.BUCKETS).write_text(json.dumps(said))

    def shown(origin: Origin) -> int:
        engine = open_engine({"v": origin})
        found = engine._exact([counting()], 3)._totals
        engine.close()
        return sum(sum(held.values()) for held in found.values())

    assert shown(Origin(f"spark:{lake}", columns)) == 5
    # The broken twin is what such a folder would do if it were taken for a copy.
    assert shown(Origin(f"spark:{lake}", columns, copied="who")) == 2 * 5


@pytest.mark.spark
def test_what_a_catalog_takes_for_equal_is_told_apart_in_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise two people would be one, and so would two keys."""
    monkeypatch.setitem(SETTINGS, "spark.sql.collation.schemaLevel.enabled", "true")
    (declared,) = table("text", "t").tables
    held = frame([{"who": who, "t": str(n)} for who in "aAbB" for n in range(5)], declared.offered)
    origin = Origin(stored("spark", held, declared.offered, tmp_path), declared.offered)
    session, changed = begun(""), "ALTER DATABASE default DEFAULT COLLATION"
    session.sql(f"{changed} UTF8_LCASE")
    try:
        copy = prepare(Preparation("v", origin, preparation(declared), "who", 5), "clinic", tmp_path)
        engine = open_engine({"v": copy})
        assert people(engine) == {(who,): KEPT for who in "aAbB"}
        assert sum(engine._exact([counting("text")], 3)._totals["m0"].values()) == len("aAbB")
        engine.close()
    finally:
        session.sql(f"{changed} UTF8_BINARY")


@pytest.mark.spark
def test_a_catalog_that_is_somebody_elses_is_never_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is asked by default may be a database, which would get a table of ours."""
    somebody = {
        "defaultCatalog": "somebody",
        "catalog.somebody": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        "catalog.somebody.url": "jdbc:derby:memory:somebody",
        "catalog.somebody.driver": "org.apache.derby.jdbc.EmbeddedDriver",
    }
    (declared,) = table("integer", "t").tables
    held = frame(crowd("integer"), declared.offered)
    origin = Origin(stored("spark", held, declared.offered, tmp_path), declared.offered)
    begun("")._jvm.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    copies, found = [], []
    for name in ("known", "unknown"):
        copies.append(prepare(Preparation("v", origin, preparation(declared), "who", 5), name, tmp_path))
        for key, value in somebody.items():
            monkeypatch.setitem(SETTINGS, f"spark.sql.{key}", value)
    monkeypatch.setattr(bucket, "_named", lambda session: pytest.fail("a name was looked for"))
    for copy in copies:
        engine = open_engine({"v": copy})
        found.append(people(engine))
        engine.close()
    assert found[0] == found[1]
    assert [bucket.are_in(str(copy.rows).removeprefix("spark:")) for copy in copies] == [True, False]


class Told:
    """A session that only knows its settings."""

    def __init__(self, **said: str) -> None:
        self.said = {f"spark.sql.{name.replace('__', '.')}": value for name, value in said.items()}

    @property
    def conf(self) -> Any:
        return self.said


def test_names_are_given_where_they_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bucket._forgets(Told(catalogImplementation="in-memory"))
    assert not bucket._forgets(Told(catalogImplementation="hive"))
    assert not bucket._forgets(Told(defaultCatalog="somebody"))
    assert not bucket._forgets(Told(catalog__spark_catalog="io.delta.catalog"))
    # Through Spark Connect a name is looked up later, and others see it.
    monkeypatch.setattr(bucket, "is_remote", lambda session: True)
    assert not bucket._forgets(Told(catalogImplementation="in-memory"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rows", [[], [{"who": None, "n": 1}]], ids=["no rows", "nobody's rows"])
def test_a_copy_of_nobody_is_opened_as_any_other(engine: str, rows: list[Any], tmp_path: Path) -> None:
    """Whether it could be would tell for nothing whether there is anybody."""
    columns = (("who", "text"), ("n", "integer"))
    source = stored(engine, frame(rows, columns), columns, tmp_path)
    for _ in range(2):
        assert asked(manifest(source, tmp_path)) == 0


@pytest.mark.spark
def test_whoever_interrupts_an_answer_on_its_way_is_told_so() -> None:
    """Spark says only that its job has ended, and an error would end the payment as a failed one."""

    class Interrupted:
        def toArrow(self) -> Any:
            try:
                raise KeyboardInterrupt
            finally:
                raise RuntimeError("the job was cancelled")

    class Broken:
        def toArrow(self) -> Any:
            raise RuntimeError("broken")

    with pytest.raises(KeyboardInterrupt):
        spark_engine._rows_of(Interrupted())
    with pytest.raises(RuntimeError, match="broken"):
        spark_engine._rows_of(Broken())


def test_only_what_was_proved_is_copied(tmp_path: Path) -> None:
    (declared,) = table("integer", "n").tables
    origin = Origin("postgresql://h/d#public.v", declared.offered)
    bare = Preparation("v", origin, prepared_rows(declared), "who", 5)  # type: ignore[arg-type]
    for rows in (origin.rows, f"spark:{tmp_path}/v", "v.parquet"):
        with pytest.raises(dp.DiscreetError, match="without a derivation"):
            prepare(Preparation("v", Origin(rows, declared.offered), bare.proved, "who", 5), "c", tmp_path)
    assert "12345" not in repr(Preparation("v", origin, preparation(declared), "who", 12345))


@pytest.fixture
def clinic() -> tuple[str, Origin, Any]:
    """A table of the server that a user who is nobody special may read."""
    (declared,) = table("integer", "n").tables
    source = stored("postgres", frame(crowd("integer"), declared.offered), declared.offered, Path())
    schema = schema_of(source)
    with psycopg.connect(server().url(), autocommit=True) as database:
        for role in ("curator", "guest"):
            if database.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone() is None:
                database.execute(f"CREATE ROLE {role} LOGIN")
        database.execute(f"GRANT USAGE ON SCHEMA {schema} TO curator, guest")
        database.execute(f"GRANT SELECT ON {schema}.v TO curator, guest")
    own = source.replace("discreet@", "curator@")
    return schema, Origin(own, declared.offered), preparation(declared)


def ran(*texts: str) -> None:
    with psycopg.connect(server().url(), autocommit=True) as database:
        for text in texts:
            database.execute(text)


def test_who_may_not_create_is_told_so_and_questions_need_nothing_more(clinic: Any, tmp_path: Path) -> None:
    schema, origin, proved = clinic
    with pytest.raises(CatalogError, match="may not create a table") as refused:
        prepare(Preparation("v", origin, proved, "who", 5), "clinic", tmp_path)
    assert schema not in str(refused.value)
    assert left("postgres", tmp_path, schema) == []
    ran(f"GRANT CREATE ON SCHEMA {schema} TO curator")
    copy = prepare(Preparation("v", origin, proved, "who", 5), "clinic", tmp_path)
    ran(f"REVOKE CREATE ON SCHEMA {schema} FROM curator")
    assert prepare(Preparation("v", origin, proved, "who", 5), "clinic", tmp_path) == copy
    opened = postgres.open_tables({"v": copy})
    with pytest.raises(psycopg.Error), opened._snapshot() as connection:
        connection.execute(f"DELETE FROM {postgres.server_of('v', copy.rows).sql}")
    opened.close()
    assert rows_of(copy)


def test_a_copy_on_a_server_is_for_its_owner_alone(clinic: Any, tmp_path: Path) -> None:
    schema, origin, proved = clinic
    ran(
        f"GRANT CREATE ON SCHEMA {schema} TO curator, guest",
        f"ALTER DEFAULT PRIVILEGES FOR ROLE curator IN SCHEMA {schema} GRANT ALL ON TABLES TO PUBLIC, guest",
    )
    making = Preparation("v", origin, proved, "who", 5)
    copy = prepare(making, "clinic", tmp_path)
    name = postgres.server_of("v", copy.rows).sql
    guest = psycopg.connect(server().address.replace("discreet@", "guest@"), autocommit=True)
    for share in ("", f"GRANT SELECT ON {name} TO guest", f"GRANT SELECT (who) ON {name} TO PUBLIC"):
        if share:
            ran(share)
            assert prepare(making, "clinic", tmp_path) == copy
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            guest.execute(f"SELECT count(who) FROM {name}")
    guest.close()
    # Nobody has proved how many rows of a person somebody else's table of that name holds.
    ran(f"ALTER TABLE {name} OWNER TO guest")
    with pytest.raises(CatalogError, match="belongs to somebody else"):
        prepare(making, "clinic", tmp_path)


def test_copies_with_long_names_stay_apart(clinic: Any, tmp_path: Path) -> None:
    schema, origin, proved = clinic
    ran(f"GRANT CREATE ON SCHEMA {schema} TO curator")
    making = Preparation("v", origin, proved, "who", 5)
    stem = "\u00e9" * 60 + "-v-2025."
    made = {prepare(making, f"{stem}{number}", tmp_path).rows for number in (1, 2)}
    assert len(made) == 2
    assert len(left("postgres", tmp_path, schema)) == 2
    assert all(len(name.encode()) <= 63 for name in left("postgres", tmp_path, schema))


def test_whoever_was_sooner_made_the_copy(
    clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema, origin, proved = clinic
    ran(f"GRANT CREATE ON SCHEMA {schema} TO curator")
    making, make, late = Preparation("v", origin, proved, "who", 5), postgres_room._make, []

    def twice(*given: Any) -> None:
        if not late:
            late.append(True)
            prepare(making, "clinic", tmp_path)
        make(*given)

    monkeypatch.setattr(postgres_room, "_make", twice)
    assert rows_of(prepare(making, "clinic", tmp_path))
    assert len(left("postgres", tmp_path, schema)) == 1


def test_people_who_are_no_number_are_nobody_in_a_copy(tmp_path: Path) -> None:
    """NaN is no person, and 7.0 is the same as 7."""
    ran("CREATE SCHEMA odd", "CREATE TABLE odd.v (who numeric, n bigint)")
    ran("INSERT INTO odd.v VALUES ('NaN', 1), ('NaN', 2), (NULL, 3), (7, 4), (7.0, 5), (7.00, 6), (8, 7)")
    rows = {"who": [float("nan"), None, 7.0, 7.0, 7.0, 8.0], "n": [1, 3, 4, 5, 6, 7]}
    pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "v.parquet")
    section = {**SECTION, "columns": {"n": "integer"}}
    (declared,) = declare({"tables": {"v": section}}).tables
    for source in (f"{server().address}#odd.v", str(tmp_path / "v.parquet")):
        making = Preparation("v", Origin(source, declared.offered), preparation(declared), "who", 5)
        found = rows_of(prepare(making, "clinic", tmp_path))
        assert Counter(row["who"] for row in found) == {"7": KEPT, "8": 1}


@pytest.mark.spark
def test_spark_copies_only_where_this_process_can_keep_others_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (declared,) = table("integer", "n").tables
    held = frame(crowd("integer"), declared.offered)
    origin = Origin(stored("spark", held, declared.offered, tmp_path), declared.offered)
    making = Preparation("v", origin, preparation(declared), "who", 5)
    with pytest.raises(CatalogError, match="outside of it"):
        prepare(making, "clinic", tmp_path / "lake")
    for name, says in (("is_remote", True), ("is_seen", False)):
        with monkeypatch.context() as patch:
            patch.setattr(spark_room, name, lambda *_, says=says: says)
            with pytest.raises(CatalogError, match="a Spark of this machine"):
                prepare(making, "clinic", tmp_path)
    assert left("spark", tmp_path) == []
    # Two at once: the first folder stays, and nothing is left of the second.
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "rows").write_text("theirs")
    (tmp_path / "ours").mkdir()
    spark_room._appear(tmp_path / "ours", tmp_path / "made")
    assert (tmp_path / "made" / "rows").read_text() == "theirs"
