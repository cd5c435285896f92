"""What an outsider with an afternoon tried on the PostgreSQL protocol, and what must hold against it."""

import asyncio
import sqlite3
from contextlib import ExitStack, suppress
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.service.wire_client import SYNC, Client, bind, execute, fields, frame, parse, query
from tests.service.world import COUNT, ROWS, Service, declare

from discreet.errors import ParameterError, QueryError
from discreet.query.catalog.manifest import Catalog, load
from discreet.query.language.parameter import constant
from discreet.service.pace import Rates
from discreet.service.people import FILE, People
from discreet.service.role import Role
from discreet.service.settings import Settings
from discreet.service.wire import reckon, shape, system, types
from discreet.service.wire.door import PostgresDoor
from discreet.service.wire.fault import Fault
from discreet.service.wire.statement import split


def test_a_text_in_dollars_without_end_is_refused_where_it_begins():
    tags = [f"${first}{second}$" for first in "abcdefgh" for second in "abcdefgh"]
    with pytest.raises(Fault) as refused:
        split(f"SELECT {' '.join(tags)}")
    assert refused.value.state == "42601"
    assert refused.value.position == len("SELECT ") + 1


@pytest.mark.parametrize("inner", ["a;b", "$b$;$b$", "'", "$", ""])
def test_a_text_in_dollars_hides_what_is_in_it(inner: str):
    (one, other) = split(f"SELECT $a${inner}$a$; SELECT 2")
    assert one.text == f"SELECT $a${inner}$a$"
    assert other.text == "SELECT 2"


@pytest.mark.parametrize("mark", ["$" + "9" * 5000, "$65", "$00000065", "$" + "0" * 5000 + "65"])
def test_a_mark_that_lies_beyond_reach_is_refused_and_the_connection_goes_on(service: Service, mark: str):
    with Client(service) as line:
        line.login("analyst", service.tokens["analyst"])
        said = line.ask(parse(f"{COUNT} WHERE stay = {mark}"), SYNC)
        assert [fields(body)["C"] for letter, body in said if letter == "E"] == ["54000"]
        said = line.ask(query("SELECT 1"))
        assert [letter for letter, _ in said] == ["T", "D", "C", "Z"]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return load(declare(tmp_path_factory.mktemp("declared"), "clinic", ROWS))


DOUBLED = [f"a{n} AS (SELECT x || x AS x FROM a{n - 1})" for n in range(1, 20)]
SQUARED = [f"a{n} AS (SELECT x * x AS x FROM a{n - 1})" for n in range(1, 20)]
GROWING = (
    "SELECT 'x' * 10000000",
    "SELECT 10000000 * 'x'",
    "SELECT ARRAY[1] * 10000000",
    f"WITH a0 AS (SELECT 'abcdefgh' AS x), {', '.join(DOUBLED)} SELECT x FROM a19",
    f"WITH a0 AS (SELECT ARRAY[1] AS x), {', '.join(DOUBLED)} SELECT cardinality(x) FROM a19",
    f"WITH a0 AS (SELECT 9 AS x), {', '.join(SQUARED)} SELECT x FROM a19",
    "SELECT count(*) FROM generate_series(1, 1000) a, generate_series(1, 1000) b, generate_series(1, 1000) c",
    f"SELECT string_agg(a::text, '{'x' * 9000}') FROM generate_series(1, 1000) a",
    f"SELECT '{'x' * 9000}' FROM generate_series(1, 1000) a",
)
"""Statements about the catalogue that would fill the memory of whoever answers or passes on the answer."""


@pytest.mark.parametrize("sql", GROWING)
def test_nothing_about_the_catalogue_grows_without_end(
    monkeypatch: pytest.MonkeyPatch, catalog: Catalog, sql: str
):
    monkeypatch.setattr(reckon, "STEPS", 100_000)
    with pytest.raises(QueryError):
        system.answered(catalog, "ada", {"sql": sql, "parameters": [], "settings": {}, "rows": True})


def test_a_series_without_end_is_not_written_out(catalog: Catalog):
    sql = "SELECT count(*) FROM generate_series(1, 100000000000000)"
    body = {"sql": sql, "parameters": [], "settings": {}, "rows": True}
    assert system.answered(catalog, "ada", body)["rows"] == [["1000"]]


def test_rows_that_nobody_takes_are_not_heaped_up(service: Service):
    many = "SELECT a FROM pg_database, generate_series(1, 1000) a, generate_series(1, 11) b"
    with Client(service) as line:
        line.login("analyst", service.tokens["analyst"])
        first = [parse(many), bind(portal="one"), execute(1, "one"), bind(portal="two"), execute(1, "two")]
        said = line.ask(*first, SYNC)
        assert [fields(body)["C"] for letter, body in said if letter == "E"] == ["54000"]
        assert [letter for letter, _ in said].count("D") == 1


TRUE = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1", " TRUE ")
FALSE = ("f", "fa", "fals", "false", "n", "no", "of", "off", "0", "No")


@pytest.mark.parametrize("said", [*TRUE, *FALSE])
def test_a_truth_value_is_what_postgresql_takes_it_for_with_and_without_a_type(said: str):
    typed = types.given(said.encode(), 16, 0)
    assert typed == ("truth", str(said in TRUE).lower())
    assert shape._value("open", said, "bool") is (said in TRUE)


@pytest.mark.parametrize("said", ["", "maybe", "o", "2", "tt", "vrai", "01"])
def test_a_word_that_is_no_truth_value_is_refused_and_not_taken_for_false(said: str):
    with pytest.raises(types.Misfit):
        types.given(said.encode(), 16, 0)
    with pytest.raises(ParameterError):
        shape._value("open", said, "bool")


@pytest.mark.parametrize("kind", ["int8", "float8", "numeric"])
@pytest.mark.parametrize("said", ["1_0", "\N{ARABIC-INDIC DIGIT THREE}", "1e99999999", "-1e-99999999", "NaN"])
def test_a_number_is_written_plainly_and_never_worked_out_where_it_is_endless(kind: str, said: str):
    with pytest.raises(types.Misfit):
        types.given(said.encode(), types.TYPES[kind].number, 0)
    with pytest.raises(ParameterError):
        shape._value("open", said, kind)


@pytest.mark.parametrize("value", ["1e999999999", "-1e999999999", "1e-999999999", "0e-999999999"])
def test_no_parameter_is_written_out_for_ever(value: str):
    with pytest.raises(QueryError, match="too large or too fine"):
        constant("1", Decimal(value))


def sockets(service: Service) -> int:
    folder = Path(f"/proc/{service.process.pid}/fd")
    found = 0
    for file in folder.iterdir():
        with suppress(OSError):
            found += file.readlink().name.startswith("socket:")
    return found


def test_whoever_never_says_goodbye_takes_no_more_places_than_a_stranger(service: Service):
    before = sockets(service)
    with ExitStack() as stack:
        for _ in range(100):
            line = stack.enter_context(Client(service))
            line.send(b"\0\0\0\4")
            # It is refused in TLS, whose end nobody answers.
            assert [letter for letter, _ in line.until("E")] == ["E"]
        assert sockets(service) - before <= 64 + 20


def test_guests_who_never_say_goodbye_are_strangers_again(service: Service):
    before = sockets(service)
    with ExitStack() as stack:
        for _ in range(90):
            line = stack.enter_context(Client(service))
            line.login("analyst", service.tokens["analyst"])
            line.send(frame("!"))
            assert [letter for letter, _ in line.until("E")] == ["E"]
        assert sockets(service) - before <= 64 + 20


def test_a_name_is_looked_up_in_the_same_steps_whether_or_not_anybody_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    people = People(tmp_path / FILE)
    for name in ("ada", "ruth"):
        people.add(name, Role.ANALYST, "clinic")
    people.revoke("ruth")
    steps: list[str] = []

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:  # type: ignore[override]
            steps.append(sql)
            return super().execute(sql, *given)

    plain = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *where, **how: plain(*where, factory=Watched, **how))
    taken = []
    for name in ("ada", "ruth", "nobody"):
        steps.clear()
        people.door(name)
        taken.append(tuple(steps))
    assert len(set(taken)) == 1
    assert any("reach" in step for step in taken[0])


class Paced(Exception):  # noqa: N818
    """Somebody has to wait."""


def test_reading_what_one_person_sends_leaves_time_for_others(monkeypatch: pytest.MonkeyPatch):
    door = PostgresDoor(SimpleNamespace(), Settings((), Path("people"), rate=1e-6), None)  # type: ignore[arg-type]
    body = door.settings.body

    def sent(name: str, size: int) -> Any:
        link: Any = SimpleNamespace(taken=0)
        guest: Any = SimpleNamespace(person=SimpleNamespace(name=name))

        async def message() -> Any:
            link.taken += size

        return door._patient(link, guest, message())

    async def wait(_: float) -> None:
        raise Paced

    async def attack() -> None:
        # Each message comes on a connection of its own: together they are one person's.
        await sent("ada", body)
        await sent("ada", body)
        with pytest.raises(Paced):
            await sent("ada", body)
        await sent("bob", body)

    monkeypatch.setattr(asyncio, "sleep", wait)
    asyncio.run(attack())


def test_what_is_counted_by_more_than_one_comes_back_at_the_rate():
    rates = Rates(10.0, 100.0)
    assert rates.wait("ada", 0.0, 100) == 0
    assert rates.wait("ada", 0.0, 50) == 5
    assert rates.wait("ada", 5.0, 50) == 0
    assert rates.wait("bob", 5.0, 100) == 0
