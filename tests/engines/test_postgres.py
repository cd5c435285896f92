"""PostgreSQL through the whole path: the same integers, prices and refusals, and nothing stays behind."""

import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pyarrow
import pytest
from tests.attacks.test_sql_refused import CORPUS
from tests.engines.test_conformance import clinic
from tests.engines.world import frame, loaded, open_postgres, server
from tests.ledger.world import Server
from tests.query.questions import WARDS, Questions

import discreet as dp
from discreet.console import surveyor
from discreet.engines import duckdb, postgres
from discreet.engines.opening import describe, open_engine
from discreet.engines.postgres import engine as module
from discreet.engines.postgres.source import LONGEST
from discreet.engines.protocol import FAILED, Origin
from discreet.errors import CatalogError, DiscreetError, EngineError, QueryError
from discreet.query.catalog.manifest import declare
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.plan import Call, Column, Literal
from discreet.query.rewrite.statements import statements
from discreet.query.statement import Query, Statement, StoredTable
from discreet.release.session import proved

QUESTIONS = (
    "SELECT ward, COUNT(*), SUM(cost), AVG(age) FROM visits GROUP BY ward",
    "SELECT COUNT(DISTINCT person) FROM visits WHERE day >= DATE '2024-03-01' OR LOWER(city) LIKE 'a%'",
    "SELECT ward, COUNT(DISTINCT person), MEDIAN(age) FROM visits GROUP BY ward",
    "SELECT w.floor, COUNT(*) FROM visits JOIN wards AS w ON visits.ward = w.ward GROUP BY w.floor",
    "SELECT AVG(CLAMP(x, 0, 30)) FROM (SELECT person, SUM(cost) AS x FROM visits GROUP BY person) AS t",
    "SELECT ward, flag, COUNT(*) FROM visits GROUP BY CUBE (ward, flag)",
    "SELECT HISTOGRAM(age, 10) FROM visits",
    "SELECT COUNT(*) FROM (SELECT person, LAG(ward, 1, 'A') OVER (PARTITION BY person ORDER BY day) AS b "
    "FROM visits UNION ALL SELECT person, SPLIT_PART(city, 'a', 1) FROM visits) AS t WHERE b IN ('A', 'B')",
)
MANIFEST = """
[dataset]
name = "clinic"
ledger = "clinic.ledger"
[budget]
epsilon = 1000
delta = "1e-9"
[tables.visits]
source = "{visits}"
unit = "person"
rows_per_unit = 3
groups_per_unit = 2
[tables.visits.columns]
ward = {{ type = "text", values = ["A", "B", "C"] }}
city = "text"
age = {{ type = "integer", low = 0, high = 120 }}
cost = {{ type = "decimal", low = 0, high = 50, step = "0.01" }}
day = {{ type = "date", low = "2024-01-01", high = "2024-12-31" }}
flag = "boolean"
[tables.wards]
source = "{wards}"
public = true
[tables.wards.columns]
ward = {{ type = "text", unique = true }}
floor = {{ type = "integer", low = 0, high = 4 }}
"""


@pytest.fixture(scope="module")
def tables() -> tuple[dict[str, pyarrow.Table], dict[str, Any], dict[str, str]]:
    frames, columns = clinic(Random(3))
    return frames, columns, loaded(frames, columns)[1]


def test_the_choice_of_a_persons_rows_does_not_depend_on_their_order() -> None:
    """A person who holds 0 and -0 holds one value; which of the two an engine shows, the order decides."""
    columns = {"t": (("who", "text"), ("g", "text"), ("w", "decimal"), ("ok", "boolean"))}
    catalog = declare(
        {
            "tables": {
                "t": {
                    "unit": "who",
                    "rows_per_unit": 2,
                    "columns": {
                        "who": "text",
                        "g": {"type": "text", "values": ["a", "b", "c"]},
                        "w": "decimal",
                        "ok": "boolean",
                    },
                }
            }
        }
    )
    question = "SELECT g, COUNT(DISTINCT CASE WHEN ok THEN w * -1 ELSE w END) FROM t GROUP BY g"
    asked = statements(check(read(question), catalog))
    cells = (("a", 0, True), ("a", 0, False), ("b", 1, False), ("c", 2, False), ("c", 3, True))
    rows = [{"who": "eve", "g": g, "w": float(w), "ok": ok} for g, w, ok in cells]
    found = []
    for order in (rows, rows[::-1]):
        engine = open_postgres({"t": frame(order, columns["t"])}, columns)
        found.append([engine._exact(asked, choice)._totals["m0"] for choice in range(1, 13)])
        engine.close()
    assert found[0] == found[1]


def test_a_draft_knows_the_names_and_types_of_a_table_and_tells_no_address(tables: Any, tmp_path: Path):
    place, _, name = tables[2]["visits"].partition("#")
    asked = {"places": [place, "postgresql://nobody@127.0.0.1:1/hidden"], "drafts": str(tmp_path)}
    found = surveyor.columns({**asked, "given": {"place": "0", "file": name}})
    kinds = {column["name"]: column["type"] for column in found["columns"]}
    assert kinds["ward"] == "text"
    assert len(kinds) == len(found["units"]) - found["left_out"]
    assert all(column["fixed"] for column in found["columns"])
    for given in ({"place": "0", "file": "public.nothing"}, {"place": "1", "file": name}):
        refused = surveyor.work({**asked, "what": "columns", "given": given})
        assert b"refused" in refused
        assert b"hidden" not in refused
        assert b"127.0.0.1" not in refused


def opened(folder: Path, visits: str, wards: str, **keywords: Any) -> dp.Session:
    (folder / "clinic.toml").write_text(MANIFEST.format(visits=visits, wards=wards))
    return dp.open(folder / "clinic.toml", **keywords)


@pytest.fixture
def session(tmp_path: Path, tables: Any) -> Iterator[dp.Session]:
    with opened(tmp_path, tables[2]["visits"], tables[2]["wards"]) as found:
        yield found


def spent(session: dp.Session) -> Any:
    return session.budget.limits[0].spent


def integers(session: dp.Session, question: str) -> Any:
    priced = session.quote(question, epsilon=1)
    exact = session.engine.run(proved(priced), 7)
    return exact._totals, exact._cells


def test_the_whole_path_on_a_server_is_that_of_a_file(
    session: dp.Session, tmp_path: Path, tables: Any
) -> None:
    import pyarrow.parquet

    for name in ("visits", "wards"):
        pyarrow.parquet.write_table(tables[0][name], tmp_path / f"{name}.parquet")
    elsewhere = tmp_path / "file"
    elsewhere.mkdir()
    with opened(elsewhere, "../visits.parquet", "../wards.parquet") as file:
        for question in QUESTIONS:
            ours, theirs = session.quote(question, epsilon=1), file.quote(question, epsilon=1)
            assert (ours.cost, str(ours.proof)) == (theirs.cost, str(theirs.proof))
            assert "discreet.choice" not in "".join(theirs.sql)
            assert all(text.startswith(("SELECT", "WITH")) for text in ours.sql)
            if "DISTINCT" not in question:
                assert integers(session, question) == integers(file, question), question
            answer = session.query(question, epsilon=1)
            paid = spent(session)
            again = session.query(question, epsilon=1)
            assert again.free
            assert spent(session) == paid
            assert [row.cells for row in again.rows] == [row.cells for row in answer.rows]


def test_what_is_refused_opens_no_connection(session: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "connected", lambda place: pytest.fail("a connection was opened"))
    hostile = (
        "SELECT pg_sleep(10) FROM visits",
        "SELECT COUNT(*) FROM visits; DROP TABLE visits",
        "SELECT COUNT(*) FROM pg_catalog.pg_user",
        "SELECT COUNT(*) FROM visits WHERE city = current_setting('discreet.choice')",
        "SELECT set_config('search_path', 'evil', false) FROM visits",
        "SELECT city FROM visits",
        "SELECT COUNT(*) FROM visits WHERE CAST(city AS regclass) = 'x'",
        "SELECT SUM(age) FROM visits GROUP BY lo_import('/etc/passwd')",
        "SELECT MAX(city) FROM visits",
        "COPY visits TO PROGRAM 'id'",
    )
    before = spent(session)
    for question in (*hostile, *(question for question, _ in CORPUS)):
        with pytest.raises(DiscreetError) as refused:
            session.query(question, epsilon=1)
        assert not isinstance(refused.value, EngineError)
    for question in QUESTIONS:
        session.quote(question, epsilon=1)
    assert spent(session) == before


def test_random_questions_are_written_or_refused_without_a_server(session: dp.Session) -> None:
    session.engine.close()
    written = 0
    for seed in range(120):
        try:
            quoted = session.quote(Questions(Random(seed)).draw().sql(), epsilon=1)
        except QueryError:
            continue
        written += bool(quoted.sql)
    assert session.engine._connection is None
    assert written > 10


@pytest.fixture(scope="module")
def fragile() -> Iterator[tuple[Server, str]]:
    """A server of its own, to be stopped, with a table of three rows."""
    own = Server()
    with psycopg.connect(own.url()) as database:
        database.execute("CREATE TABLE votes (k text, a integer)")
        database.execute("INSERT INTO votes VALUES ('a', 1), ('b', 2), ('b', 3)")
    yield own, f"{own.address}#public.votes"
    own.close()


COUNT = Statement((), Query((("m0", Call("count_rows", ())),), StoredTable("votes", "t0")), 0, ("m0",))
VOTES = (("k", "text"), ("a", "integer"))


def votes(source: str, **keywords: Any) -> Any:
    return postgres.open_tables({"votes": Origin(source, VOTES)}, **keywords)


def counted(engine: Any) -> int:
    return engine._exact([COUNT], 1)._totals["m0"][()]


def test_a_server_that_stopped_is_one_error_and_the_next_question_works(fragile: Any, tmp_path: Path) -> None:
    own, source = fragile
    with dp.open(
        votes=source, unit="row", epsilon=10, columns={"a": {"type": "integer", "low": 0, "high": 9}}
    ) as data:
        data.query("SELECT COUNT(*) FROM votes", epsilon=1)
        own.stop()
        before = spent(data)
        with pytest.raises(EngineError) as failure:
            data.query("SELECT SUM(a) FROM votes", epsilon=1)
        assert str(failure.value) == FAILED
        assert failure.value.__cause__ is None
        assert failure.value.__context__ is None
        assert spent(data) != before
        own.start()
        assert data.query("SELECT COUNT(*) FROM votes WHERE a > 1", epsilon=1).rows
        # A restart between two questions is nobody's loss.
        own.stop()
        own.start()
        assert data.query("SELECT COUNT(*) FROM votes WHERE a > 2", epsilon=1).rows


def test_cut_connections_timeouts_and_interrupts_fail_alike(fragile: Any) -> None:
    own, source = fragile
    with psycopg.connect(own.url()) as holder:
        holder.execute("LOCK TABLE votes IN ACCESS EXCLUSIVE MODE")
        assert impatient(source) == FAILED
    engine = votes(source)
    assert counted(engine) == 3
    for stop in ("cut", "interrupt"):
        with psycopg.connect(own.url()) as holder:
            holder.execute("LOCK TABLE votes IN ACCESS EXCLUSIVE MODE")
            said: list[str] = []
            waiting = threading.Thread(target=lambda said=said: said.append(failing(engine)))
            waiting.start()
            _until_waiting(own)
            if stop == "cut":
                with psycopg.connect(own.url()) as other:
                    other.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE application_name = 'discreet'"
                    )
            else:
                engine.interrupt()
            waiting.join()
            assert said == [FAILED]
        assert counted(engine) == 3
    engine.close()


def failing(engine: Any) -> str:
    try:
        counted(engine)
    except EngineError as failure:
        return str(failure)
    return "no failure"


def impatient(source: str) -> str:
    # The table is locked, so it cannot be looked at while opening.
    tables = {"votes": Origin(source, VOTES)}
    engine = module.Postgres(tables, {"votes": postgres.server_of("votes", source)}, {}, 0.3)
    try:
        return failing(engine)
    finally:
        engine.close()


def _until_waiting(own: Server) -> None:
    with psycopg.connect(own.url(), autocommit=True) as other:
        for _ in range(400):
            (found,) = other.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'discreet' "
                "AND wait_event_type = 'Lock'"
            ).fetchone()
            if found:
                return
            time.sleep(0.01)
    raise AssertionError("nobody waits")


def test_a_question_can_write_nothing(fragile: Any) -> None:
    engine = votes(fragile[1])
    for statement in (
        "CREATE TABLE leak (a integer)",
        "CREATE TEMP TABLE leak (a integer)",
        "INSERT INTO public.votes VALUES ('x', 1)",
        "SELECT nextval('public.leak')",
    ):
        with pytest.raises(psycopg.Error), engine._snapshot() as connection:
            connection.execute(statement)
    engine.close()


SETTINGS = {
    "timezone": "'Asia/Tokyo'",
    "datestyle": "'SQL, DMY'",
    "extra_float_digits": "-15",
    "standard_conforming_strings": "off",
    "search_path": "evil, pg_catalog",
    "transform_null_equals": "on",
    "array_nulls": "off",
    "intervalstyle": "sql_standard",
    "work_mem": "'64kB'",
}


def test_no_setting_of_a_server_changes_an_answer(fragile: Any) -> None:
    own, _ = fragile
    with psycopg.connect(own.url(), autocommit=True) as database:
        database.execute("CREATE ROLE reader LOGIN")
        database.execute("CREATE SCHEMA evil")
        database.execute("CREATE FUNCTION evil.length(text) RETURNS integer LANGUAGE sql AS 'SELECT 99'")
        database.execute("GRANT USAGE ON SCHEMA evil TO reader")
        database.execute(
            "CREATE TABLE odd (k text, x double precision, m timestamp with time zone, d date, n text)"
        )
        database.execute(
            "INSERT INTO odd VALUES ('a\\b', 0.1::float8 + 0.2::float8, '2024-01-01 00:30+02', '2024-02-03', "
            "'2024-02-03 10:00:00')"
        )
        database.execute("GRANT SELECT ON odd TO reader")
        for name, value in SETTINGS.items():
            database.execute(f"ALTER ROLE reader SET {name} = {value}")
    columns = (("k", "text"), ("x", "decimal"), ("m", "timestamp"), ("d", "date"), ("n", "text"))
    keys = (
        Call("length", (Column("t0", "k"),)),
        Call("eq", (Column("t0", "k"), Literal("a\\b"))),
        Column("t0", "x"),
        Call("to_day", (Column("t0", "m"),)),
        Call("part", (Literal("hour"), Column("t0", "m"))),
        Call("to_text", (Column("t0", "d"),)),
        Call("parse_moment", (Column("t0", "n"),)),
        Call("shift", (Literal("month"), Column("t0", "d"), Literal(1))),
    )
    items = tuple((f"k{n}", key) for n, key in enumerate(keys))
    asked = Statement(
        (),
        Query((*items, ("m0", Call("count_rows", ()))), StoredTable("odd", "t0"), None, keys),
        len(keys),
        ("m0",),
    )
    found = []
    for user in ("discreet", "reader"):
        address = f"postgresql://{user}@/postgres?host={own.socket}#public.odd"
        wards = {"wards": (Origin(pyarrow.table({}), (("ward", "text"),)), {"ward": ["A", None]})}
        engine = postgres.open_tables({"odd": Origin(address, columns)}, wards)
        found.append(engine._exact([asked], 1)._totals)
        known = Call("count_values", (Column("t0", "ward"),))
        travelled = Statement((), Query((("m0", known),), StoredTable("wards", "t0")), 0, ("m0",))
        assert engine._exact([travelled], 1)._totals["m0"] == {(): 1}
        engine.close()
    assert found[0] == found[1]
    ((row, count),) = found[0]["m0"].items()
    assert count == 1
    assert row[:3] == (3, True, 0.1 + 0.2)
    assert [str(part) for part in row[3:]] == [
        "2023-12-31",
        "22",
        "2024-02-03",
        "2024-02-03 10:00:00",
        "2024-03-03",
    ]


def test_every_type_of_a_server_is_the_declared_type_or_refused(fragile: Any) -> None:
    own, _ = fragile
    with psycopg.connect(own.url(), autocommit=True) as database:
        database.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
        database.execute("CREATE DOMAIN score AS numeric CHECK (VALUE IS NOT NULL)")
        database.execute(
            "CREATE TABLE kinds (id integer, n numeric, f real, s score, c char(5), e mood, u uuid, d date, "
            "m timestamp, z timestamptz, t text, j json)"
        )
        rows = (
            "1, 'NaN', 'NaN', 2.5, 'ab', 'glad', NULL, 'infinity', 'infinity', 'infinity', '12', NULL",
            "2, 1e400, 'infinity', -2.5, '', 'sad', NULL, '0044-03-15 BC', '0044-03-15 BC', "
            "'0044-03-15 BC', '1.5', NULL",
            "3, 1e-400, 1e-40, 1e30, 'abcde', NULL, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '9999-12-31', "
            "'9999-12-31 23:59:59.999999', '9999-12-31 23:59:59+00', '0x1F', NULL",
            "4, 2.50, 0.5, 7, NULL, NULL, NULL, '10000-01-01', '10000-01-01', '10000-01-01 00:00+00', "
            "' 9 ', NULL",
        )
        for row in rows:
            database.execute(f"INSERT INTO kinds VALUES ({row})")
    source = f"{own.address}#public.kinds"

    def read(column: str, kind: str) -> list[Any]:
        origin = Origin(source, (("id", "integer"), (column, kind)))
        return [found for _, found in sorted(zip(*postgres.fetch("kinds", origin).values(), strict=True))]

    (small,) = struct.unpack("f", struct.pack("f", 1e-40))
    assert read("n", "decimal") == [None, None, 0.0, 2.5]
    assert read("n", "integer") == [None, None, 0, 3]
    assert read("n", "text")[3] == "2.5"
    assert read("n", "identifier")[0] is None
    assert read("f", "decimal") == [None, None, small, 0.5]
    assert read("f", "integer") == [None, None, 0, 0]
    assert read("s", "integer") == [3, -3, None, 7]
    assert read("c", "text") == ["ab", "", "abcde", None]
    assert read("e", "text") == ["glad", "sad", None, None]
    assert read("u", "identifier")[2] == "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    assert [str(day) for day in read("d", "date")] == ["None", "None", "9999-12-31", "None"]
    assert read("z", "text")[2] == "9999-12-31 23:59:59"
    for column in ("m", "z"):
        assert [day is None for day in read(column, "timestamp")] == [True, True, False, True]
    assert read("t", "integer") == [12, None, None, 9]
    for column, kind in (("j", "text"), ("d", "integer"), ("u", "decimal"), ("e2", "text")):
        with pytest.raises(CatalogError, match=f"{column}"):
            postgres.open_tables({"kinds": Origin(source, ((column, kind),))})


@pytest.mark.parametrize("beyond", [1, pytest.param(280_000_000 - LONGEST, marks=pytest.mark.fuzz)])
def test_no_text_is_so_long_that_a_server_raises(beyond: int) -> None:
    """A regular expression needs four bytes for each character, and a server gives a gigabyte at most."""
    columns = {"t": (("who", "text"), ("x", "text"))}
    catalog = declare({"tables": {"t": {"unit": "who", "rows_per_unit": 1, "columns": dict(columns["t"])}}})
    schema, sources = loaded({"t": frame([{"who": "eve", "x": "5"}], columns["t"])}, columns)
    with psycopg.connect(server().url()) as database:
        for length in (LONGEST, LONGEST + beyond):
            database.execute(f"INSERT INTO {schema}.t VALUES (%s, repeat('a', %s))", [str(length), length])
    offered = (("who", "text"), ("x", "integer"))
    assert sorted(postgres.fetch("t", Origin(sources["t"], offered))["x"], key=str) == [5, None, None]
    question = "SELECT COUNT(x) FROM t WHERE CAST(x AS INTEGER) = 5 OR REPLACE(x, 'a', '\U0001f642') <> 'b'"
    asked = statements(check(read(question), catalog))
    engine = postgres.open_tables({"t": Origin(sources["t"], columns["t"])})
    try:
        assert engine._exact(asked, 1)._totals["m0"] == {(): 2}
    finally:
        engine.close()


RANDOM_VIEWS = (
    "CREATE VIEW luck.v0 AS SELECT * FROM luck.base WHERE random() < 0.1",
    "CREATE VIEW luck.v1 AS SELECT * FROM luck.base TABLESAMPLE BERNOULLI (10)",
    "CREATE VIEW luck.v2 AS SELECT * FROM (SELECT * FROM luck.v1) AS d",
    "CREATE VIEW luck.v3 AS SELECT * FROM luck.base WHERE who OPERATOR(luck.=~) 'p'",
    "CREATE VIEW luck.v4 AS SELECT who, (SELECT max(y) FROM nextval('luck.steps') AS y) AS x FROM luck.base",
    "CREATE TABLE luck.v5 AS SELECT * FROM luck.base; ALTER TABLE luck.v5 ENABLE ROW LEVEL SECURITY; "
    "CREATE POLICY luck ON luck.v5 USING (random() < 0.5)",
)


def test_a_view_that_shows_other_rows_each_time_is_refused() -> None:
    """A statement counts a person's rows in one place and adds them up in another."""
    columns = (("who", "text"), ("x", "integer"))
    with psycopg.connect(server().url(), autocommit=True) as database:
        database.execute(
            "CREATE SCHEMA luck; CREATE SEQUENCE luck.steps; CREATE TABLE luck.base (who text, x bigint); "
            "CREATE FUNCTION luck.coin(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT random() < 0.5'; "
            "CREATE OPERATOR luck.=~ (FUNCTION = luck.coin, LEFTARG = text, RIGHTARG = text); "
            "CREATE VIEW luck.plain AS SELECT lower(who) AS who, x + 1 AS x, now() AS random FROM luck.base; "
            "CREATE MATERIALIZED VIEW luck.kept AS SELECT who, 1 AS x FROM luck.base WHERE random() < 2"
        )
        for view in RANDOM_VIEWS:
            database.execute(view)
    sources = {name: Origin(f"{server().address}#luck.{name}", columns) for name in ("base", "plain", "kept")}
    postgres.open_tables(sources).close()
    for number in range(len(RANDOM_VIEWS)):
        with pytest.raises(CatalogError, match="other rows each time"):
            postgres.open_tables({"t": Origin(f"{server().address}#luck.v{number}", columns)})


def test_a_password_in_a_source_is_refused_and_not_repeated(tmp_path: Path) -> None:
    for source in (
        "postgresql://u:s3cret@h/d#public.visits",
        "postgresql://h/d?password=s3cret#public.visits",
        "postgresql://h/d?options=-c%20a=s3cret#public.visits",
        "postgresql://h/d?s3cret#public.visits",
        "postgresql://u:s3cret@h/d",
        "postgresql://u:s3cret@h/d#a.b.c",
        "postgresql://u:s3cret@[h/d#public.visits",
    ):
        for problem in (
            lambda source=source: opened(tmp_path, source, source),
            lambda source=source: dp.open(visits=source, epsilon=1),
            lambda source=source: dp.open(source, epsilon=1),
        ):
            with pytest.raises(CatalogError) as refused:
                problem()
            assert "s3cret" not in str(refused.value)
            assert "reached" not in str(refused.value)
            assert refused.value.__cause__ is None


def test_a_server_that_cannot_be_reached_is_said_without_its_address(tmp_path: Path) -> None:
    address = "postgresql://nobody@127.0.0.1:1/hidden"
    with pytest.raises(CatalogError, match="could not be reached") as refused:
        opened(tmp_path, f"{address}#public.visits", f"{address}#public.wards")
    assert "hidden" not in str(refused.value)
    assert "127.0.0.1" not in str(refused.value)


def test_public_tables_travel_to_the_private_ones(tmp_path: Path, tables: Any) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    frames, _, sources = tables
    pyarrow.csv.write_csv(frames["wards"].select(["ward", "floor"]), tmp_path / "wards.csv")
    pyarrow.parquet.write_table(frames["visits"], tmp_path / "visits.parquet")
    found = []
    for visits in (sources["visits"], "visits.parquet"):
        for wards in (sources["wards"], "wards.csv"):
            with opened(tmp_path, visits, wards) as data:
                found.append(integers(data, QUESTIONS[3]))
                assert integers(data, QUESTIONS[0])
    assert all(one == found[0] for one in found)
    assert sum(found[0][0]["m0"].values()) > 0


def test_private_tables_in_two_places_are_refused(tables: Any) -> None:
    frames, columns, sources = tables
    mixed = {
        "visits": Origin(sources["visits"], columns["visits"]),
        "people": Origin(frames["people"], columns["people"]),
    }
    with pytest.raises(CatalogError, match="one place"):
        open_engine(mixed)
    other = sources["people"].replace("discreet@", "somebody@")
    with pytest.raises(CatalogError, match="one place"):
        open_engine({**mixed, "people": Origin(other, columns["people"])})


def test_large_public_tables_are_refused(
    tmp_path: Path, tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PUBLIC_ROWS", 3)
    (tmp_path / "wards.csv").write_text("ward,floor\n" + "A,1\n" * 4)
    with pytest.raises(CatalogError, match="copy it onto the server"):
        opened(tmp_path, tables[2]["visits"], "wards.csv")


def test_a_table_can_be_opened_by_its_address_alone(tables: Any) -> None:
    source = tables[2]["visits"]
    assert dict(describe(source))["cost"] == "DOUBLE"
    columns = {"ward": {"values": list(WARDS)}}
    with dp.open(source, unit="person", rows_per_unit=3, epsilon=5, columns=columns) as data:
        assert len(data.query("SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon=1).rows) == 3


def test_names_that_a_server_would_cut_are_refused(tables: Any) -> None:
    with pytest.raises(CatalogError, match="63 bytes"):
        postgres.open_tables({"x" * 64: Origin(tables[2]["visits"], ())})


def test_arithmetic_that_could_raise_is_never_written() -> None:
    """What the planner grades, statements from elsewhere must grade too."""
    engine = module.Postgres({"t": Origin("postgresql://h/d#t", (("x", "decimal"),))}, {}, {}, None)
    x = Column("t0", "x")
    product = Call("multiply", (x, x))
    for unsafe in (
        Call("multiply", (product, x)),
        Call("divide", (x, product)),
        Call("multiply", (x, Call("exp", (x,)))),
    ):
        asked = Statement(
            (), Query((("m0", Call("count_values", (unsafe,))),), StoredTable("t", "t0")), 0, ("m0",)
        )
        with pytest.raises(QueryError, match="PostgreSQL"):
            engine.written(asked)


def test_the_driver_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(CatalogError, match=r"discreet\[postgres\]"):
        postgres.server_of("visits", "postgresql://h/d#public.visits")


def test_duckdb_is_still_what_files_are_opened_with(tables: Any) -> None:
    frames, columns, _ = tables
    engine = open_engine({"visits": Origin(frames["visits"], columns["visits"])})
    assert isinstance(engine, duckdb.DuckDB)
    engine.close()
    assert server().address.startswith("postgresql://")


def test_the_servers_own_choice_is_of_the_right_size_and_favours_nobody(fragile: Any) -> None:
    """Each of six groups of a person is kept in about a third of the questions, and two are kept in each."""
    own, _ = fragile
    with psycopg.connect(own.url(), autocommit=True) as database:
        database.execute("CREATE TABLE towns (person integer, town text)")
        database.execute(
            "INSERT INTO towns SELECT p, 't' || t FROM generate_series(1, 40) p, generate_series(1, 6) t"
        )
    catalog = declare(
        {"tables": {"towns": {"unit": "person", "groups_per_unit": 2, "columns": {"town": "text"}}}}
    )
    (asked,) = statements(
        check(read("SELECT town, COUNT(DISTINCT person) FROM towns GROUP BY town"), catalog)
    )[-1:]
    engine = postgres.open_tables({"towns": Origin(f"{own.address}#public.towns", catalog.tables[0].offered)})
    rounds = 60
    kept = [engine._exact([asked], choice * 7919 + 1)._totals[asked.outputs[0]] for choice in range(rounds)]
    engine.close()
    assert all(sum(found.values()) == 2 * 40 for found in kept)
    assert len({tuple(sorted(found.items())) for found in kept}) > rounds // 2
    # 2,400 draws of chance 1/3 for each town: six standard deviations are 139.
    for town in ("t1", "t2", "t3", "t4", "t5", "t6"):
        assert abs(sum(found.get((town,), 0) for found in kept) - 800) < 139
