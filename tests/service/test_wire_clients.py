"""Clients that analysts already have, over a real socket with TLS: they ask, look around, are refused."""

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import asyncpg
import pandas
import psycopg
import psycopg2
import pytest
import sqlalchemy
from tests.service.world import BY_WARD, COUNT, Service

PEOPLE = "SELECT ward, COUNT(DISTINCT person) AS n FROM visits GROUP BY ward"


@pytest.fixture
def line(service: Service) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(**service.dsn(), autocommit=True) as found:
        yield found


def test_an_answer_is_the_same_through_every_door(service: Service, line: psycopg.Connection[Any]):
    found = line.execute(BY_WARD).fetchall()
    told = service.query(BY_WARD).json()
    assert [tuple(row[name] for name in ("ward", "n", "mean")) for row in told["rows"]] == found
    assert told["free"]


def test_cost_and_receipt_come_as_a_notice_and_a_repeat_is_free(
    service: Service, line: psycopg.Connection[Any]
):
    said: list[tuple[str, str]] = []
    line.add_notice_handler(lambda one: said.append((str(one.message_primary), str(one.message_detail))))
    entries = service.spent()[0]
    asked = f"{COUNT} WHERE stay > 7 AND cost < 90"
    first = line.execute(asked).fetchall()
    assert service.spent()[0] == entries + 2
    assert line.execute(asked).fetchall() == first
    assert service.spent()[0] == entries + 2
    assert [words.partition(";")[0] for words, _ in said] == [
        "cost epsilon 0.1",
        "cost nothing, since it was answered before",
    ]
    receipt = said[0][0].partition("receipt ")[2]
    assert service.ask("POST", "/v1/datasets/clinic/receipt", {"receipt": receipt}).status == 200
    assert "n: ±" in said[0][1]


def test_explain_is_the_free_quote_and_describing_costs_nothing(
    service: Service, line: psycopg.Connection[Any]
):
    before = service.spent()
    asked = f"{COUNT} WHERE stay > 8 AND cost < 80"
    lines = [row[0] for row in line.execute(f"EXPLAIN {asked}")]
    assert "nothing is spent yet" in lines[-1]
    assert "Geometric" in lines[1]
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        line.execute(f"EXPLAIN ANALYZE {asked}")
    line.pgconn.prepare(b"described", asked.encode())
    assert line.pgconn.describe_prepared(b"described").fname(0) == b"n"
    assert service.spent() == before


@pytest.mark.parametrize("binary", [False, True])
def test_parameters_are_constants_in_every_format(line: psycopg.Connection[Any], binary: bool):
    written = line.execute(f"{COUNT} WHERE stay > 3 AND ward = 'A' AND cost < 50.5").fetchall()
    with line.cursor(binary=binary) as cursor:
        asked = f"{COUNT} WHERE stay > %s AND ward = %s AND cost < %s"
        for values in ((3, "A", 50.5), ("3", "A", "50.5"), (3, "A", Decimal("50.5"))):
            for prepare in (False, True):
                assert cursor.execute(asked, values, prepare=prepare).fetchall() == written
    assert psycopg.ClientCursor(line).execute(asked, (3, "A", 50.5)).fetchall() == written
    hostile = "A' OR '1'='1"
    assert line.execute(f"{PEOPLE} HAVING ward = %s", (hostile,)).fetchall() == []
    for odd in ("a\\b", "\\' OR ward = 'A", "\\';--"):
        assert psycopg.ClientCursor(line).execute(f"{PEOPLE} HAVING ward = %s", (odd,)).fetchall() == []


def test_text_and_bytes_say_the_same_and_types_are_postgresqls_own(line: psycopg.Connection[Any]):
    asked = (
        "SELECT ward, stay > 9 AS long, COUNT(DISTINCT person) AS people, COUNT(*) AS n, AVG(cost) AS mean "
        "FROM visits GROUP BY ward, stay > 9"
    )
    texts, packed = line.cursor().execute(asked), line.cursor(binary=True).execute(asked)
    described = [(column.name, column.type_code) for column in texts.description or ()]
    assert described == [("ward", 25), ("long", 16), ("people", 701), ("n", 701), ("mean", 701)]
    assert [column.type_code for column in line.execute(PEOPLE).description or ()] == [25, 20]
    assert texts.fetchall() == packed.fetchall()


def test_intervals_come_as_columns_on_request(service: Service, line: psycopg.Connection[Any]):
    line.execute("SET discreet.intervals = on")
    cursor = line.execute(PEOPLE)
    assert [column.name for column in cursor.description or ()] == ["ward", "n", "n_low", "n_high"]
    rows = cursor.fetchall()
    assert all(low <= n <= high for _, n, low, high in rows)
    told = service.query(PEOPLE).json()["rows"]
    assert [(row["n_low"], row["n_high"]) for row in told] == [row[2:] for row in rows]
    line.execute("RESET discreet.intervals")
    assert len(line.execute(PEOPLE).description or ()) == 2


def test_a_price_is_asked_for_and_the_one_said_last_holds(line: psycopg.Connection[Any]):
    line.execute("SET discreet.within = 200")
    assert line.execute("SHOW discreet.epsilon").fetchall() == [("",)]
    assert "cost" in str(line.execute(f"EXPLAIN {COUNT}").fetchall())
    line.execute("SET discreet.epsilon TO 0.25")
    assert "epsilon 0.25" in str(line.execute(f"EXPLAIN {COUNT}").fetchall())
    line.execute("SET discreet.epsilon = DEFAULT")
    assert line.execute("SHOW discreet.epsilon").fetchall() == [("0.1",)]
    line.execute("SET discreet.epsilon = ''")
    with pytest.raises(psycopg.errors.InvalidParameterValue) as refusal:
        line.execute(COUNT)
    assert "SET discreet.epsilon" in str(refusal.value.diag.message_hint)
    vendor = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.3) COUNT(*) AS n FROM visits"
    assert "epsilon 0.3" in str(line.execute(f"EXPLAIN {vendor}").fetchall())


def test_refusals_are_errors_with_state_hint_and_position(service: Service, line: psycopg.Connection[Any]):
    before = service.spent()
    cases = {
        "SELECT * FROM visits": ("42000", "list aggregates such as COUNT(*)", "1"),
        "SELECT COUNT(*) FROM visits\n  WHERE nonsense > 1": ("42000", None, "37"),
        "SELEKT 1": ("0A000", None, "1"),
        "SELECT FROM WHERE": ("42601", None, "17"),
        "INSERT INTO visits VALUES (1)": ("0A000", None, "1"),
        "COPY visits TO STDOUT": ("0A000", None, "1"),
        "SET discreet.seed = 7": ("42704", None, None),
        "SET client_encoding = 'LATIN1'": ("22023", None, None),
    }
    for sql, (state, hint, position) in cases.items():
        with pytest.raises(psycopg.Error) as refusal:
            line.execute(sql)
        told = refusal.value.diag
        assert (told.sqlstate, told.statement_position) == (state, position), sql
        assert told.message_hint if hint is None else told.message_hint == hint
    line.execute("SET discreet.epsilon = 10000000")
    with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
        line.execute(COUNT)
    assert service.spent() == before


def test_transactions_are_kept_track_of_and_give_nothing_back(service: Service):
    with psycopg.connect(**service.dsn()) as line:
        said: list[str] = []
        line.add_notice_handler(lambda one: said.append(str(one.message_primary)))
        with pytest.raises(psycopg.errors.SyntaxErrorOrAccessRuleViolation):
            line.execute("SELECT * FROM visits")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            line.execute(COUNT)
        line.rollback()
        line.execute("SET discreet.epsilon = 5")
        line.execute(f"{COUNT} WHERE stay > 19")
        before = service.spent()
        line.rollback()
        assert service.spent() == before
        assert any("stays paid" in one for one in said)
        assert line.execute("SHOW discreet.epsilon").fetchall() == [("0.1",)]
        line.commit()
        with line.transaction():
            line.execute("SET LOCAL discreet.epsilon = 7")
            with pytest.raises(psycopg.Error), line.transaction():
                line.execute("SELECT * FROM visits")
            assert line.execute("SHOW discreet.epsilon").fetchall() == [("7",)]
        assert line.execute("SHOW discreet.epsilon").fetchall() == [("0.1",)]


def test_several_statements_in_one_text_end_at_the_first_that_is_refused(line: psycopg.Connection[Any]):
    cursor = line.execute("SHOW discreet.intervals; SET discreet.intervals = on; SELECT ';' AS mark -- ;")
    assert cursor.fetchall() == [("off",)]
    cursor.nextset()
    cursor.nextset()
    assert cursor.fetchall() == [(";",)]
    with pytest.raises(psycopg.Error):
        line.execute("SET discreet.intervals = off; SELEKT; SET discreet.intervals = on")
    assert line.execute("SHOW discreet.intervals").fetchall() == [("off",)]


def test_what_is_declared_is_found_where_clients_look_for_it(line: psycopg.Connection[Any]):
    asked = "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = %s"
    assert line.execute(asked, ("public",)).fetchall() == [("visits", "BASE TABLE")]
    columns = line.execute(
        "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum) "
        "FROM pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped "
        "WHERE c.relname OPERATOR(pg_catalog.~) '^(visits)$' COLLATE pg_catalog.default "
        "AND n.nspname !~ '^pg_' AND a.attnum > 0 AND c.oid = 'public.visits'::regclass "
        "ORDER BY a.attnum DESC LIMIT 3"
    ).fetchall()
    assert columns == [
        ("note", "text", None),
        ("stay", "bigint", "0 to 30"),
        ("cost", "double precision", "0 to 100 in steps of 1/100"),
    ]
    assert line.execute("SELECT current_user, current_database(), 1 + 1").fetchall() == [
        ("analyst", "clinic", 2)
    ]
    grouped = "SELECT relkind, count(*) FROM pg_class GROUP BY 1 HAVING count(*) > 0"
    assert line.execute(grouped).fetchall() == [("r", 1)]
    for sql in ("SELECT * FROM pg_class, visits", "SELECT pg_sleep(1)", "SELECT pg_read_file('/etc/passwd')"):
        with pytest.raises(psycopg.Error):
            line.execute(sql)
    assert line.execute("SELECT * FROM pg_stats").fetchall() == []
    assert line.execute("SELECT reltuples, relpages FROM pg_class").fetchall() == [(-1, 0)]


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_sqlalchemy_and_pandas_read_and_reflect(service: Service, driver: str):
    engine = sqlalchemy.create_engine(f"postgresql+{driver}://", connect_args=service.dsn())
    with engine.connect() as line:
        asked = sqlalchemy.text("SELECT ward, COUNT(*) AS n FROM visits WHERE stay > :stay GROUP BY ward")
        read = pandas.read_sql(asked, line, params={"stay": 3})
        told = service.query("SELECT ward, COUNT(*) AS n FROM visits WHERE stay > 3 GROUP BY ward").json()
        assert read.to_dict("records") == [{"ward": row["ward"], "n": row["n"]} for row in told["rows"]]
        table = sqlalchemy.Table("visits", sqlalchemy.MetaData(), autoload_with=line)
        assert [column.name for column in table.columns] == ["person", "ward", "cost", "stay", "note"]
        composed = sqlalchemy.select(table.c.ward, sqlalchemy.func.count().label("n")).group_by(table.c.ward)
        assert [row.ward for row in line.execute(composed)] == ["A", "B", "C"]
        assert [row.ward for row in line.execute(composed.limit(1).offset(1))] == ["B"]
        chosen = composed.where(
            table.c.ward.in_(["A", "B"]), table.c.stay.in_([3, 4]), table.c.note.like("f%")
        )
        written = "ward IN ('A', 'B') AND stay IN (3, 4) AND note LIKE 'f%'"
        told = service.query(f"SELECT ward, COUNT(*) AS n FROM visits WHERE {written} GROUP BY ward").json()
        assert [row.n for row in line.execute(chosen)] == [row["n"] for row in told["rows"]]
    known = sqlalchemy.inspect(engine)
    assert (known.get_table_names(), known.get_view_names()) == (["visits"], [])
    assert known.get_pk_constraint("visits")["constrained_columns"] == []
    engine.dispose()


def test_psycopg2_asks(service: Service):
    line = psycopg2.connect(**service.dsn())
    with line.cursor() as cursor:
        cursor.execute(f"{COUNT} WHERE stay > %s", (11,))
        assert len(cursor.fetchall()) == 1
    line.close()


def test_marks_of_parameters_need_no_blanks(service: Service, line: psycopg.Connection[Any]):
    async def talk() -> list[Any]:
        how = service.dsn()
        own = await asyncpg.connect(
            **{key: how[key] for key in ("host", "port", "user", "password")},
            database=how["dbname"],
            ssl=service.tls(),
            server_settings={"discreet.epsilon": "0.1"},
        )
        rows = await own.fetch(f"{COUNT} WHERE ward IN ($1,$2) AND stay>$3-$4", "A", "B", 9, 4)
        await own.close()
        return rows

    told = service.query(f"{COUNT} WHERE ward IN ('A', 'B') AND stay > 9 - 4").json()["rows"]
    assert [row["n"] for row in asyncio.run(talk())] == [told[0]["n"]]
    asked = f"{COUNT} WHERE ward IN (%s,%s) AND stay>%s-%s"
    assert line.execute(asked, ("A", "B", 9, 4)).fetchall() == [(told[0]["n"],)]
    names = "SELECT relname FROM pg_class WHERE relname IN (%s,%s)"
    assert line.execute(names, ("visits", "nothing")).fetchall() == [("visits",)]


@pytest.mark.parametrize("place", [1, 2])
def test_a_parameter_groups_and_orders_nothing(service: Service, line: psycopg.Connection[Any], place: int):
    before = service.spent()
    for end in ("GROUP BY %s", "GROUP BY ward ORDER BY %s"):
        with pytest.raises(psycopg.Error, match="with a parameter"):
            line.execute(f"SELECT ward, COUNT(*) AS n FROM visits {end}", (place,))
    assert service.spent() == before


def test_prices_are_not_made_of_pieces(service: Service, line: psycopg.Connection[Any]):
    before = service.spent()
    with pytest.raises(psycopg.errors.SyntaxError):
        line.execute("SET discreet.epsilon = 0.00 1")
    with pytest.raises(psycopg.errors.SyntaxError):
        line.execute("SET discreet.epsilon = 1_0")
    for price in ("1_0", "\uff11", "0.00 1"):
        line.execute(f"SET discreet.epsilon = '{price}'")
        with pytest.raises(psycopg.Error, match="epsilon must be a finite number"):
            line.execute(COUNT)
    assert service.spent() == before
    for price in ("1_0", "\uff11", "0.00 1"):
        assert service.query(COUNT, price).status == 422
    assert service.spent() == before


def test_a_column_may_be_called_like_something_of_the_system(service: Service, line: psycopg.Connection[Any]):
    (told,) = service.query(f"{COUNT} WHERE stay > 17").json()["rows"]
    found = line.execute("SELECT COUNT(*) AS pg_count FROM visits WHERE stay > 17")
    assert found.description is not None
    assert [one.name for one in found.description] == ["pg_count"]
    assert found.fetchall() == [(told["n"],)]


def test_asyncpg_prepares_describes_and_fetches_in_parts(service: Service):
    async def talk() -> None:
        line = await asyncpg.connect(
            host="localhost",
            port=service.wire,
            user="analyst",
            password=service.tokens["analyst"],
            database="clinic",
            ssl=service.tls(),
            server_settings={"discreet.epsilon": "0.1"},
        )
        rows = await line.fetch(f"{COUNT} WHERE stay > $1 AND ward = $2 AND cost < $3", 3, "A", 50.5)
        told = service.query(f"{COUNT} WHERE stay > 3 AND ward = 'A' AND cost < 50.5").json()
        assert [row["n"] for row in rows] == [row["n"] for row in told["rows"]]
        assert told["free"]
        async with line.transaction():
            parts = [row["ward"] async for row in line.cursor(PEOPLE, prefetch=2)]
        assert parts == ["A", "B", "C"]
        assert await line.fetchval("SELECT relname FROM pg_class WHERE oid = $1::oid", 16384) == "visits"
        with pytest.raises(asyncpg.PostgresError):
            await line.fetch("SELECT * FROM visits")
        await line.reset()
        await line.close()

    asyncio.run(talk())
