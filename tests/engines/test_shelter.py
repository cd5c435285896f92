"""No printed form, error, cause or local variable of ours shows a cell, and no file lets others read one."""

import gc
import os
import stat
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import discreet as dp
from discreet.engines import scratch
from discreet.engines.duckdb import engine as engine_room
from discreet.engines.duckdb.engine import open_tables, prepare
from discreet.engines.exact import EngineRequest
from discreet.engines.protocol import Origin, Preparation
from discreet.engines.shelter import Sheltered, quietly
from discreet.errors import CatalogError, DiscreetError, EngineError
from discreet.query.catalog.manifest import declare
from discreet.query.price.proving import preparation

CANARY = "canary-7319"
NUMBER = 73197319
PEOPLE = {"person": [CANARY, "b"], "age": [NUMBER, 3], "note": [CANARY, "x"]}
COLUMNS = {"age": {"type": "integer", "low": 0, "high": 10**9}, "note": "text"}
GIVEN: dict[str, Any] = {"unit": "person", "rows_per_unit": 1, "epsilon": 10**6, "columns": COLUMNS}


def shown(value: object) -> str:
    html = getattr(value, "_repr_html_", None)
    return f"{value!r} {value!s} {html() if callable(html) else ''}"


def everything_said(error: BaseException) -> str:
    """Return all that a log of this error could hold, with local variables, but for those of tests."""
    seen, left, words = set(), [error], []
    while left:
        problem = left.pop()
        if problem is None or id(problem) in seen:
            continue
        seen.add(id(problem))
        words += [shown(problem), *map(shown, problem.args), *getattr(problem, "__notes__", [])]
        for frame, _ in traceback.walk_tb(problem.__traceback__):
            if Path(frame.f_code.co_filename).resolve() != Path(__file__).resolve():
                words += [f"{name}={value!r}" for name, value in frame.f_locals.items()]
        left += [problem.__cause__, problem.__context__]
    return "\n".join(words)


def silent(text: str) -> bool:
    return CANARY not in text and str(NUMBER) not in text


def frames() -> dict[str, Any]:
    return {"pandas": pd.DataFrame(PEOPLE), "polars": pl.DataFrame(PEOPLE), "arrow": pa.table(PEOPLE)}


def walk(value: object, depth: int = 4) -> Iterator[object]:
    yield value
    if depth and type(value).__module__.startswith("discreet"):
        names = [*getattr(value, "__dict__", {}), *getattr(type(value), "__slots__", ())]
        for name in names:
            if isinstance(name, str) and not name.startswith("_rows"):
                yield from walk(getattr(value, name, None), depth - 1)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_nothing_that_is_open_shows_a_cell(kind: str) -> None:
    with dp.open(people=frames()[kind], **GIVEN) as data:
        quote = data.quote("SELECT COUNT(*) AS n FROM people WHERE age > 5", epsilon=1)
        for public in (
            data,
            data.engine,
            data.catalog,
            data.ledger,
            data.budget,
            quote,
            data.table("people"),
        ):
            for part in walk(public):
                assert silent(shown(part)), type(part)
    assert silent(repr(Origin(frames()[kind], ())))
    assert silent(repr({"people": Sheltered(frames()[kind])}))


class Hostile:
    """A cell that raises its own secret wherever it is looked at."""

    def __eq__(self, other: object) -> bool:
        raise ValueError(CANARY)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        raise ValueError(CANARY)


def failures(folder: Path) -> dict[str, Callable[[], Any]]:
    pyarrow.parquet.write_table(pa.table(PEOPLE), folder / "people.parquet")
    (folder / "headless.csv").write_text(f"{CANARY},{NUMBER}\n{CANARY},{NUMBER}\n")
    (folder / "headless.toml").write_text(
        "[budget]\nepsilon = 1\n[tables.people]\nsource = 'headless.csv'\nunit = 'person'\n"
        "rows_per_unit = 1\n"
    )
    (folder / "broken.parquet").write_bytes(b"PAR1" + CANARY.encode() * 9)
    (folder / "broken.duckdb").write_bytes(CANARY.encode() * 999)
    given: dict[str, Any] = {"epsilon": 1, "unit": "person", "rows_per_unit": 1}
    wanted = {"columns": {"absent": "text"}}
    people = frames()
    return {
        "no budget": lambda: dp.open(people=people["pandas"]),
        "positional": lambda: dp.open(people["pandas"], **given, **wanted),
        "absent column": lambda: dp.open(people=people["pandas"], **given, **wanted),
        "absent column, polars": lambda: dp.open(people=people["polars"], **given, **wanted),
        "absent unit": lambda: dp.open(people=people["arrow"], epsilon=1, unit="nobody", rows_per_unit=1),
        "bad bounds": lambda: dp.open(
            people=people["pandas"], **given, columns={"age": {"type": "integer", "low": 2, "high": 1}}
        ),
        "misspelt key": lambda: dp.open(people=people["pandas"], rows_per_unt=3, epsilon=1),
        "not a table": lambda: dp.open(people=[CANARY], epsilon=1),
        "no header": lambda: dp.open(folder / "headless.toml"),
        "broken parquet": lambda: dp.open(folder / "broken.parquet", **given),
        "broken duckdb": lambda: dp.open(f"{folder / 'broken.duckdb'}#people", **given),
        "prepared frame": lambda: dp.open(people=people["pandas"], prepared=True, epsilon=1),
    }


FAILURES = (
    "no budget",
    "positional",
    "absent column",
    "absent column, polars",
    "absent unit",
    "bad bounds",
    "misspelt key",
    "not a table",
    "no header",
    "broken parquet",
    "broken duckdb",
    "prepared frame",
)


@pytest.mark.parametrize("name", FAILURES)
def test_what_fails_while_opening_says_nothing(name: str, tmp_path: Path) -> None:
    assert set(failures(tmp_path)) == set(FAILURES)
    with pytest.raises(DiscreetError) as failure:
        failures(tmp_path)[name]()
    assert silent(everything_said(failure.value))


def test_a_cell_that_defends_itself_is_missing_and_unheard() -> None:
    frame = pd.DataFrame({"person": ["a", "b"], "note": [Hostile(), "x"]})
    with dp.open(people=frame, unit="person", rows_per_unit=1, epsilon=10**6) as data:
        assert data.query("SELECT COUNT(note) AS n FROM people", epsilon=10**6).value == 1


class Interrupted(BaseException):
    """What Ctrl-C raises, at a moment that a test chooses."""


def run(engine: engine_room.DuckDB) -> Any:
    return engine._exact(
        [EngineRequest('SELECT note AS "k0", sum(age) AS "m0" FROM people GROUP BY note', 1, ("m0",))], 1
    )


class Interrupting:
    """A connection that raises right before, or right after, its nth statement runs."""

    def __init__(self, connection: Any, turn: int, *, after: bool) -> None:
        self.connection, self.turn, self.after = connection, turn, after

    def execute(self, sql: str, *rest: Any) -> Any:
        self.turn -= 1
        if self.turn == 0 and not self.after:
            raise Interrupted(CANARY)
        try:
            return self.connection.execute(sql, *rest)
        finally:
            if self.turn == 0:
                raise Interrupted(CANARY)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("left", "turn"),
    [
        *(("nothing", turn) for turn in (1, 2)),
        *(("a transaction", turn) for turn in (1, 2, 3, 4)),
        ("an answer", 1),
    ],
)
def test_an_interruption_anywhere_leaves_the_next_question_whole(left: str, turn: int, after: bool) -> None:
    """Also where an earlier interruption has left a transaction, which is ended first."""
    origin = Origin(pa.table(PEOPLE), (("person", "identifier"), ("age", "integer"), ("note", "text")))
    with open_tables({"people": origin}) as engine:
        whole = engine.connection
        if left == "a transaction":
            whole.execute("BEGIN TRANSACTION READ ONLY")
        if left == "an answer":
            run(engine)
        engine.connection = Interrupting(whole, turn, after=after)
        with pytest.raises(Interrupted) as stopped:
            run(engine)
        engine.connection = whole
        assert silent(everything_said(stopped.value))
        assert run(engine).integers("m0", [(CANARY,), ("x",)]) == [NUMBER, 3]


@pytest.mark.parametrize("answered", [False, True])
def test_a_statement_that_writes_is_refused_and_leaves_the_next_question_whole(answered: bool) -> None:
    origin = Origin(pa.table(PEOPLE), (("person", "identifier"), ("age", "integer"), ("note", "text")))
    with open_tables({"people": origin}) as engine:
        if answered:
            run(engine)
        for sql in ("DELETE FROM people", "CREATE TABLE more AS FROM people", "nonsense"):
            with pytest.raises(EngineError):
                engine._exact([EngineRequest(sql, 0, ("m0",))], 1)
            assert run(engine).integers("m0", [(CANARY,), ("x",)]) == [NUMBER, 3]


def test_errors_of_an_engine_carry_neither_cause_nor_context() -> None:
    def work() -> None:
        secret = CANARY
        raise KeyError(secret)

    with pytest.raises(CatalogError) as failure:
        quietly(work, CatalogError("constant"))
    assert failure.value.__context__ is failure.value.__cause__ is None
    assert silent(everything_said(failure.value))

    def deliberate() -> None:
        try:
            work()
        except KeyError:
            raise CatalogError("said on purpose") from None

    with pytest.raises(CatalogError, match="said on purpose") as refusal:
        quietly(deliberate, CatalogError("constant"))
    assert refusal.value.__context__ is None
    assert silent(everything_said(refusal.value))
    with pytest.raises(KeyError) as leak:
        work()
    assert not silent(everything_said(leak.value))


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666])
@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_a_prepared_copy_is_for_its_owner_only(mode: int, mask: int, tmp_path: Path) -> None:
    source, seen = tmp_path / "people.parquet", []
    pyarrow.parquet.write_table(pa.table(PEOPLE), source)
    source.chmod(mode)
    before = os.umask(mask)
    try:
        real = os.replace

        def watched(old: Path, new: Path) -> None:
            seen.extend((stat.S_IMODE(part.stat().st_mode) & 0o077) for part in (old, old.parent))
            real(old, new)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine_room.os, "replace", watched)
            section = {"unit": "person", "rows_per_unit": 1, "prepared": True}
            table = declare({"tables": {"people": section}}).tables[0]
            target = tmp_path / "copy.duckdb"
            asked = Preparation("people", Origin(source, table.offered), preparation(table), "person", 1)
            prepare(asked, target)
    finally:
        os.umask(before)
    assert seen == [0, 0]
    assert stat.S_IMODE((tmp_path / "copy.duckdb").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.duckdb", "people.parquet"]


def test_a_prepared_copy_that_others_could_read_is_taken_from_them(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table(PEOPLE), tmp_path / "people.parquet")
    (tmp_path / "m.toml").write_text(
        "[budget]\nepsilon = 1\n[tables.people]\nsource = 'people.parquet'\nunit = 'person'\n"
        "rows_per_unit = 1\nprepared = true\n"
    )
    dp.open(tmp_path / "m.toml").close()
    (copy,) = tmp_path.glob("*.prepared.duckdb")
    copy.chmod(0o644)
    dp.open(tmp_path / "m.toml").close()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


HEAVY = (
    "SELECT count(*) AS m0 FROM (SELECT a.note || b.note || c.range AS n "
    "FROM v a JOIN v b ON a.person = b.person, range(12) c GROUP BY n)"
)


def test_memory_that_runs_out_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))
    with duckdb.connect(str(tmp_path / "v.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE v AS SELECT 'x' AS person, range || repeat('y', 30) AS note FROM range(300)"
        )
    origin = Origin(str(tmp_path / "v.duckdb"), (("person", "identifier"), ("note", "text")))
    request = EngineRequest(HEAVY, 0, ("m0",))
    with open_tables({"v": origin}, memory="60MB", threads=2) as engine:
        (place,) = tmp_path.glob(f"{scratch.PREFIX}*")
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert engine._exact([request], 1).integers("m0", [()]) == [300 * 300 * 12]
    assert not place.exists()
    with (
        open_tables({"v": origin}, memory="60MB", spill="0B", threads=2) as engine,
        pytest.raises(EngineError),
    ):
        engine._exact([request], 1)


def test_what_a_killed_process_left_behind_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))
    living = scratch.Scratch()
    dead = tmp_path / f"{scratch.PREFIX}dead"
    dead.mkdir()
    (dead / "in-use").touch()
    (dead / "rows.tmp").write_text(CANARY)
    other = scratch.Scratch()
    assert not dead.exists()
    assert living.path.exists()
    path = other.path
    del other
    gc.collect()
    assert not path.exists()
    living.close()
    assert not living.path.exists()
