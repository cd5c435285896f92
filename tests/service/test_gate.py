"""The gate and the slots without a network: pace, size, patience, and when an answer may leave."""

import asyncio
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.service.world import Service, exchange

from discreet.service import worker
from discreet.service.gate import Gate
from discreet.service.people import FILE, People
from discreet.service.pool import Pool, Worker
from discreet.service.problem import KINDS
from discreet.service.role import Role
from discreet.service.settings import Settings

SLOT = 0.5


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["state"]["person"].name.encode() + body})


class Visit:
    """One person at a gate of a given pace."""

    def __init__(self, folder: Path, **given: Any) -> None:
        people = People(folder / FILE)
        self.token = people.add("ada", Role.ANALYST, "clinic")
        self.at = 0.0
        self.gate = Gate(echo, people, Settings((folder,), people.path, **given), lambda: self.at)

    def ask(self, *parts: bytes, stall: bool = False, **headers: str) -> tuple[int, dict[str, str], bytes]:
        told = [
            {"type": "http.request", "body": part, "more_body": stall or place < len(parts)}
            for place, part in enumerate(parts, 1)
        ]

        named = {"authorization": f"Bearer {self.token}"} | headers
        scope = {
            "type": "http",
            "path": "/v1/me",
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in named.items()],
        }
        sent = exchange(self.gate, scope, *told)
        headed = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], headed, b"".join(part["body"] for part in sent[1:])


def test_whoever_asks_too_often_is_told_when_to_come_again(tmp_path: Path):
    visit = Visit(tmp_path, rate=0.25, burst=2)
    assert [visit.ask(b"")[0] for _ in range(3)] == [200, 200, 429]
    status, headers, body = visit.ask(b"")
    assert (status, headers["retry-after"], json.loads(body)["type"]) == (429, "4", "/problems/rate")
    visit.at += 4
    assert visit.ask(b"")[0] == 200


def test_a_body_is_read_up_to_its_limit_in_whatever_pieces_it_comes(tmp_path: Path):
    visit = Visit(tmp_path, body=10)
    assert visit.ask(b"12345", b"67890")[::2] == (200, b"ada1234567890")
    assert visit.ask(b"12345", b"678901")[0] == 413
    assert visit.ask(*[b"x"] * 11, stall=True)[0] == 413


def test_a_request_that_never_ends_is_ended(tmp_path: Path):
    assert Visit(tmp_path, patience=0.05).ask(b"12345", stall=True)[0] == 408


def test_a_length_stated_in_two_ways_is_none(tmp_path: Path):
    assert Visit(tmp_path).ask(b"", content_length="0", transfer_encoding="chunked")[0] == 400


def test_a_fault_of_the_service_is_one_problem_without_words(tmp_path: Path, monkeypatch):
    visit = Visit(tmp_path)

    async def broken(*_: Any) -> None:
        raise RuntimeError("a secret path")

    monkeypatch.setattr(visit.gate, "_inner", broken)
    status, _, body = visit.ask(b"")
    assert (status, json.loads(body)["type"]) == (500, "/problems/failed")
    assert b"secret" not in body


@pytest.mark.parametrize(("took", "leaves"), [(0.1, 0.5), (0.7, 1.0), (0.5, 0.5)])
def test_what_has_run_is_held_until_the_end_of_a_slot(monkeypatch, took: float, leaves: float):
    at = [100.0]

    def sleep(seconds: float) -> None:
        at[0] += seconds

    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: at[0], sleep=sleep))
    hold = worker.slotted(at[0], SLOT)
    at[0] += took
    hold()
    assert at[0] == pytest.approx(100 + leaves)


def test_a_worker_that_dies_is_missed_and_replaced_at_the_end_of_a_slot(tmp_path: Path, monkeypatch):
    gone, replaced = 0.0, 0.0

    async def died(_: Any) -> None:
        nonlocal gone
        gone = time.monotonic()
        raise EOFError

    async def replace(_: Any) -> None:
        nonlocal replaced
        replaced = time.monotonic()

    async def asked() -> object:
        pool = Pool(Settings((tmp_path,), tmp_path, slot=SLOT))
        monkeypatch.setattr(pool, "_replace", replace)
        pool._idle.put_nowait(SimpleNamespace(gone=False, exchange=died))
        return await pool.ask({})

    begun = time.monotonic()
    assert asyncio.run(asked()) is None
    assert min(time.monotonic(), replaced) >= begun + SLOT > gone - SLOT / 2


def test_nobody_can_tell_how_long_a_new_worker_took_to_open_data(tmp_path: Path, monkeypatch):
    spawned = 0.0

    async def a_while(*_: Any) -> frozenset[str]:
        await asyncio.sleep(SLOT / 10)
        return frozenset({"clinic"})

    def worker_like() -> Any:
        found = Mock(gone=False)
        found.open = found.kill = a_while
        return found

    async def spawn() -> Any:
        nonlocal spawned
        spawned = time.monotonic()
        return worker_like()

    async def ready() -> float:
        pool = Pool(Settings((tmp_path,), tmp_path, slot=SLOT))
        monkeypatch.setattr(Worker, "spawn", spawn)
        begun = time.monotonic()
        replacing = asyncio.ensure_future(pool._replace(worker_like()))
        await pool._later()
        taken = time.monotonic()
        await replacing
        assert begun + SLOT <= spawned
        return taken - begun

    assert asyncio.run(ready()) >= 2 * SLOT


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
SENT = st.fixed_dictionaries(
    {"sql": st.text() | JSON, "epsilon": st.sampled_from(["1e-6", 0.000001, "x", None]) | JSON},
    optional={"confidence": JSON, "limits": JSON, "parameters": JSON, "delta": JSON, "within": JSON},
)


@pytest.mark.fuzz
@settings(max_examples=20_000)
@given(
    st.sampled_from(["quote", "query", "batch", "receipt"]),
    SENT.map(lambda body: json.dumps(body).encode()) | st.binary(max_size=200),
)
def test_whatever_is_sent_is_answered_with_what_is_stated(service: Service, verb: str, body: bytes):
    entries, _ = service.spent()
    answer = service.ask("POST", f"/v1/datasets/clinic/{verb}", body, Content_Type="application/json")
    assert answer.status in {kind.status for kind in KINDS.values()} - {500, 501, 503} | {200}
    assert answer.json() is not None
    if answer.status != 200 or verb in ("quote", "receipt"):
        assert service.spent()[0] == entries
