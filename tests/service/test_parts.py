"""The parts of the wall that need no network: time, messages, problems, catalogues, settings, retries."""

import asyncio
import errno
import http.client
import io
import json
import os
import signal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.world import ROWS, declare, halt

from discreet.errors import (
    AccessError,
    BudgetError,
    BusyError,
    CatalogError,
    ConflictError,
    DiscreetError,
    EngineError,
    LedgerError,
    ParameterError,
    ProofError,
    QueryError,
    ServiceError,
)
from discreet.query.catalog.manifest import Catalog, load
from discreet.service import catalogue, pipe, problem
from discreet.service.line import ATTEMPTS, Line
from discreet.service.pace import Rates, until_slot
from discreet.service.pool import Pool, Worker
from discreet.service.settings import Settings, loopback
from discreet.service.worker import opened


@given(st.floats(0, 1e4), st.floats(1e-3, 10))
def test_an_answer_leaves_at_a_multiple_of_its_slot_and_never_early(elapsed: float, slot: float):
    wait = until_slot(elapsed, slot)
    assert 0 <= wait <= slot * (1 + 1e-9)
    count = (elapsed + wait) / slot
    assert abs(count - round(count)) < 1e-6
    assert round(count) >= 1


def test_without_slots_nothing_waits():
    assert until_slot(0.3, 0) == 0


@given(st.lists(st.floats(0, 2), max_size=200))
def test_nobody_asks_more_often_than_their_rate_and_nobody_pays_for_others(pauses: list[float]):
    rates, at, admitted = Rates(2, 5), 0.0, 0
    for pause in pauses:
        at += pause
        wait = rates.wait("ada", at)
        admitted += wait == 0
        assert wait >= 0
        assert admitted <= 5 + 2 * at + 1e-6
    assert rates.wait("ben", at) == 0


def test_whoever_waits_as_long_as_they_are_told_is_admitted():
    rates = Rates(2, 1)
    assert rates.wait("ada", 0) == 0
    wait = rates.wait("ada", 0)
    assert wait == 0.5
    assert rates.wait("ada", wait) == 0


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()), st.binary(max_size=100))
def test_a_message_is_read_as_it_was_written(head: dict[str, Any], body: bytes):
    assert pipe.read(io.BytesIO(pipe.write(head, body))) == (head, body)


@given(st.binary(max_size=7) | st.binary(min_size=8, max_size=60).map(lambda noise: b"\xff" + noise))
def test_what_is_no_message_is_the_end(garbled: bytes):
    with pytest.raises(EOFError):
        pipe.read(io.BytesIO(garbled))


@given(st.binary(max_size=60))
def test_a_head_that_is_no_object_is_the_end(text: bytes):
    sizes = pipe.LENGTHS.pack(len(text), 0)
    try:
        head, _ = pipe.read(io.BytesIO(sizes + text))
    except EOFError:
        return
    assert isinstance(head, dict)


def test_a_message_that_breaks_off_is_the_end():
    whole = pipe.write({"verb": "quote"}, b"body")
    for length in range(len(whole)):
        with pytest.raises(EOFError):
            pipe.read(io.BytesIO(whole[:length]))


ERRORS = (
    QueryError("WHERE", "it says too much", "say less"),
    QueryError("WHERE", "it says too much", "say less", (3, 7)),
    ParameterError("epsilon must be greater than 0"),
    BudgetError("the limit does not suffice"),
    BusyError("later"),
    ConflictError("the id is taken"),
    ProofError("m0", "was not derived"),
)


@pytest.mark.parametrize("error", ERRORS, ids=str)
def test_an_error_comes_out_of_the_network_as_it_went_in(error: DiscreetError):
    back = problem.raised(json.loads(problem.of(error).body()))
    assert (type(back), str(back)) == (type(error), str(error))


def test_what_is_secret_or_after_data_was_touched_is_told_in_one_way():
    assert problem.of(EngineError("cell 7")) == problem.of(DiscreetError("cell 8")) == problem.FAILED
    told = problem.of(LedgerError("the ledger /home/carl/clinic.ledger is damaged"))
    assert b"carl" not in told.body()
    assert isinstance(problem.raised(json.loads(told.body())), LedgerError)
    assert isinstance(problem.raised(json.loads(problem.FAILED.body())), EngineError)
    assert isinstance(problem.raised(json.loads(problem.UNKNOWN.body())), AccessError)
    assert isinstance(problem.raised({"type": "/problems/new"}), ServiceError)
    assert problem.of(CatalogError("no such table")).kind == "parameter"


MANIFEST = """
[dataset]
name = "all kinds"
version = "7"
ledger = "secret.ledger"
[budget]
epsilon = "1/3"
questions = 40
delta = "1e-9"
[tables.people]
source = "/secret/people.parquet"
unit = "id"
neighbours = "replace"
rows_per_unit = 9
groups_per_unit = 3
rows_per_group = 2
prepared = true
csv = { delimiter = ";" }
[tables.people.columns]
id = { type = "integer" }
age = { type = "integer", low = 0, high = 120, nullable = false }
cost = { type = "decimal", low = "-1/3", high = 5000, step = "0.01" }
found = { type = "decimal", bounds = "auto" }
day = { type = "date", low = 2024-01-01, high = 2024-12-31 }
at = "timestamp"
flag = "boolean"
ward = { type = "text", values = ["A", "=B", "\\u2603"] }
[tables.events]
source = "events.csv"
unit = "row"
[tables.events.columns]
x = "integer"
[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = { type = "text", unique = true }
[views]
grown = "SELECT * FROM people WHERE age >= 18"
"""


def test_a_catalogue_comes_out_as_it_went_in_without_what_is_nobodys_business(tmp_path: Path):
    (tmp_path / "all.toml").write_text(MANIFEST)
    declared = load(tmp_path / "all.toml")
    sent = json.dumps(catalogue.published(declared))
    assert "secret" not in sent
    assert "csv" not in sent
    back = catalogue.known(json.loads(sent))
    assert back == public(declared)
    assert back.tables[0].columns[2].kind.low == Fraction(-1, 3)  # type: ignore[union-attr]


def public(catalog: Catalog) -> Catalog:
    from dataclasses import replace

    tables = tuple(replace(table, source="", csv=()) for table in catalog.tables)
    return replace(catalog, tables=tables, ledger=None, account=None, folder=Path())


def test_nothing_is_served_readable_beyond_this_machine_unless_said(tmp_path: Path):
    given: dict[str, Any] = {"manifests": (tmp_path,), "people": tmp_path}
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):  # noqa: S104
        with pytest.raises(ParameterError, match="plain-text"):
            Settings(**given, host=host)
        assert Settings(**given, host=host, plain_text=True).address.startswith("http:")
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        assert loopback(Settings(**given, host=host).host)
    assert not loopback("localhost.example.org")
    with pytest.raises(ParameterError, match="both"):
        Settings(**given, certificate=tmp_path / "cert.pem")
    with pytest.raises(ParameterError, match="no file"):
        Settings(**given, certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem")
    for wrong in ({"workers": 0}, {"seconds": 0.0}, {"slot": -1.0}, {"slot": float("nan")}, {"rate": 0.0}):
        with pytest.raises(ParameterError):
            Settings(**given, **wrong)  # type: ignore[arg-type]


def test_a_lost_answer_is_asked_for_again_under_the_same_key_and_not_for_ever(monkeypatch):
    slept: list[float] = []
    line = Line("http://127.0.0.1:1", "t", sleep=slept.append)
    sent: list[tuple[Any, ...]] = []
    outcomes: list[Any] = [ConnectionResetError(), http.client.BadStatusLine(""), (503, b"{}", 7.0)]

    def exchange(*request: Any) -> Any:
        sent.append(request)
        outcome = outcomes.pop(0) if outcomes else (200, b'{"n": 1}', None)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(line, "_exchange", exchange)
    assert line.post("v1", "query", body={"sql": "x"}, key="k") == {"n": 1}
    assert len(sent) == 4
    assert len({json.dumps([str(part) for part in request]) for request in sent}) == 1
    assert sent[0][3]["Idempotency-Key"] == "k"
    assert slept[2] == 7.0
    outcomes += [ConnectionResetError()] * ATTEMPTS
    with pytest.raises(ServiceError, match="cannot be reached"):
        line.get("v1", "me")


def test_a_failure_after_payment_is_not_repeated_by_itself(monkeypatch):
    line = Line("http://127.0.0.1:1", "t")
    sent: list[Any] = []

    def exchange(*request: Any) -> Any:
        sent.append(request)
        return 500, problem.FAILED.body(), None

    monkeypatch.setattr(line, "_exchange", exchange)
    with pytest.raises(EngineError):
        line.post("v1", "query", body={}, key="k")
    assert len(sent) == 1


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://x", "https://", "localhost", "https://x/path", "http://example.org"),
        *("https://x:99999", "https://x:y", "https://[x"),
    ],
)
def test_addresses_that_are_none_or_would_show_the_token_are_refused(url: str):
    with pytest.raises(ParameterError):
        Line(url, "token")


def test_a_certificate_that_is_none_is_refused_by_name(tmp_path: Path):
    (tmp_path / "clinic.toml").write_text("manifests = []")
    for name in ("nothing.pem", "clinic.toml"):
        with pytest.raises(ParameterError, match=f"certificate must be .*{name}"):
            Line("https://localhost", "token", certificate=tmp_path / name)


def test_a_worker_past_its_time_is_killed_and_replaced_and_nothing_stays_behind(tmp_path: Path):
    settings = Settings((declare(tmp_path, "clinic", ROWS),), tmp_path, workers=1, seconds=2.0, queue=1)
    head = {"verb": "catalogue", "dataset": "clinic", "name": "ada", "role": "analyst"}
    head |= {"body": {}, "kind": "application/json", "key": None, "project": "project"}

    async def story() -> list[int]:
        async with Pool(settings) as pool:
            assert pool.datasets == {"clinic"}
            (stopped,) = pool.numbers
            halt(stopped)
            asking = asyncio.ensure_future(pool.ask(head))
            await asyncio.sleep(0)
            waiting = asyncio.ensure_future(pool.ask(head))
            await asyncio.sleep(0)
            with pytest.raises(BusyError):
                await pool.ask(head)
            assert await asking is None
            assert (pool.replaced, stopped in pool.numbers) == (1, False)
            await asyncio.gather(waiting, return_exceptions=True)
            return [stopped, *pool.numbers]

    numbers = asyncio.run(story())
    assert not [number for number in numbers if Path(f"/proc/{number}").exists()]


def test_a_manifest_that_cannot_be_opened_is_said_in_the_workers_own_words(tmp_path: Path):
    manifest = declare(tmp_path, "clinic", ROWS)
    (tmp_path / "clinic.csv").unlink()

    async def start() -> None:
        async with Pool(Settings((manifest,), tmp_path, workers=1)):
            raise AssertionError("it opened")

    with pytest.raises(ServiceError, match="visits"):
        asyncio.run(start())


def test_the_engines_of_all_workers_share_the_machine(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    shares = [Settings((), tmp_path / "people", workers=workers).threads for workers in (1, 2, 3, 9)]
    assert shares == [8, 4, 2, 1]
    monkeypatch.setattr("discreet.engines.duckdb.engine.FEW", 0)
    (session,) = opened([str(declare(tmp_path, "clinic", ROWS))], 3).values()
    with session:
        told = session.engine.connection.execute("SELECT current_setting('threads')").fetchone()
    assert told == (3,)


def test_a_worker_that_cannot_be_started_at_once_is_started_later(tmp_path: Path, monkeypatch):
    manifest = declare(tmp_path, "clinic", ROWS)
    spawn, refusals = asyncio.create_subprocess_exec, [OSError(errno.EAGAIN, "no more processes")]

    async def scarce(*words: str, **options: Any) -> Any:
        if refusals:
            raise refusals.pop()
        return await spawn(*words, **options)

    async def use() -> None:
        settings = Settings((manifest,), tmp_path / "people", workers=1)
        with pytest.raises(ServiceError, match="no more processes"):
            async with Pool(settings):
                raise AssertionError("there is no worker")
        async with Pool(settings) as pool:
            (number,) = pool.numbers
            refusals.append(OSError(errno.EAGAIN, "no more processes"))
            os.kill(number, signal.SIGKILL)
            head = {"verb": "catalogue", "dataset": "clinic", "name": "ada", "role": "analyst", "body": {}}
            head |= {"kind": "application/json", "key": None, "project": "project"}
            while (reply := await pool.ask(head)) is None:
                pass
            assert reply[0]["status"] == 200
            assert refusals == []

    monkeypatch.setattr("discreet.service.pool.BETWEEN", 0.01)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", scarce)
    asyncio.run(use())


@pytest.mark.parametrize(("said", "meant"), [(None, "1"), ("3", "3")])
def test_workers_leave_the_cores_to_each_other_unless_somebody_says_otherwise(said, meant, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if said is not None:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", said)
    given: dict[str, str] = {}

    async def noted(*words: str, env: dict[str, str], **options: Any) -> Any:
        given.update(env)
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    with pytest.raises(ServiceError):
        asyncio.run(Worker.spawn())
    assert given["OPENBLAS_NUM_THREADS"] == meant
    assert given["PATH"] == os.environ["PATH"]
