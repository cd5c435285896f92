"""The straight way and the long one: the same request means the same on both, and neither knows an answer."""

import asyncio
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from tests.service.world import COUNT, ROWS, declare, exchange
from uvicorn.server import ServerState

import discreet as dp
from discreet.ledger import open_ledger
from discreet.release.session import Session
from discreet.service import api
from discreet.service.answering import Asked, answer
from discreet.service.patience import LONGEST_HEAD, patient
from discreet.service.people import FILE, People
from discreet.service.replies import Replies
from discreet.service.reply import Reply
from discreet.service.role import Role, Verb
from discreet.service.settings import Settings
from discreet.service.worker import opened

PLAIN = {"sql": COUNT, "epsilon": "0.1"}
JSON = {"content-type": "application/json"}
BODIES: list[Any] = [
    PLAIN,
    PLAIN | {"limits": {"rows_per_unit": 2}, "parameters": [1, 2.5, "x", None, True]},
    PLAIN | {"limits": {"weighted_keys": True}},
    PLAIN | {"limits": {"weighted_keys": "on"}},
    PLAIN | {"within": 3, "delta": 0.5, "parameters": {"a": 1}},
    {"sql": [COUNT, COUNT], "epsilon": 1},
    PLAIN | {"seed": 1},
    PLAIN | {"epsilon": True},
    {"sql": "x" * 9000},
    {"sql": "\ud800"},
    [PLAIN],
    None,
]
HEADERS: list[list[tuple[str, str]]] = [
    [*JSON.items()],
    [*JSON.items(), ("accept", "text/csv, */*")],
    [*JSON.items(), ("accept", "application/json"), ("accept", "text/csv")],
    [*JSON.items(), ("idempotency-key", "k-1")],
    [*JSON.items(), ("idempotency-key", "k" * 101)],
    [*JSON.items(), ("idempotency-key", "a"), ("idempotency-key", "b")],
    [("content-type", "application/json; charset=utf-8")],
    [("content-type", "text/plain")],
    [],
]


class Wall:
    """The addresses before a pool that says what it was asked, with the straight way or without it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, straight: bool) -> None:
        self.heads: list[Any] = []
        self.token = People(folder / FILE).add(f"ada{int(straight)}", Role.ANALYST, "clinic")
        pool: Any = SimpleNamespace(ask=self.heard, datasets=frozenset({"clinic"}))
        if not straight:
            monkeypatch.setattr(api, "Direct", lambda inner, *_: inner)
        self.gate = api.application(
            pool, People(folder / FILE), Settings((folder,), folder / FILE, slot=0, rate=1e6, burst=1e6)
        )

    async def heard(self, head: dict[str, Any]) -> Any:
        self.heads.append(head | {"name": "ada"})
        return {"status": 200, "kind": "application/json", "headers": {"Discreet-Free": "true"}}, b"{}"

    def ask(self, verb: str, headers: list[tuple[str, str]], body: bytes, dataset: str = "clinic") -> Any:
        named = [("authorization", f"Bearer {self.token}"), *headers]
        scope = {
            "type": "http",
            "method": "POST",
            "path": f"/v1/datasets/{dataset}/{verb}",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in named],
        }
        return exchange(self.gate, scope, {"type": "http.request", "body": body, "more_body": False})


def test_the_same_request_means_the_same_on_both_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    straight = Wall(tmp_path, monkeypatch, straight=True)
    around = Wall(tmp_path, monkeypatch, straight=False)
    bodies = [*(json.dumps(body).encode() for body in BODIES), b"", b"{", b"\xff", b"[" * 5000]
    bodies += [b'{"sql": "SELECT 1", "epsilon": 1, "epsilon": 2}', b'{"sql": "SELECT 1", "epsilon": NaN}']
    cases = [("query", heard, bodies[0]) for heard in HEADERS]
    cases += [(verb, HEADERS[0], body) for verb in ("query", "quote") for body in bodies]
    cases += [("quote", HEADERS[3], bodies[0]), ("batch", HEADERS[0], bodies[3])]
    for case in cases:
        assert straight.ask(*case) == around.ask(*case)
    assert straight.ask(*cases[0], dataset="other")[0]["status"] == 404
    assert straight.heads == around.heads
    assert len(straight.heads) > 10
    assert straight.gate.counts["/v1/datasets/{dataset}/query", 200] > 3
    assert straight.gate.counts - around.gate.counts == {("/v1/datasets/{dataset}/query", 404): 1}


@pytest.fixture
def session(tmp_path: Path) -> Any:
    manifest = declare(tmp_path, "clinic", ROWS)
    with open_ledger(tmp_path / "clinic.ledger") as ledger:
        ledger.create_dataset("clinic", dp.PureBudget(100000), analysts=["analyst", "ada"], reason="test")
    found = opened([str(manifest)])
    yield found
    for one in found.values():
        one.close()


def test_a_reply_is_kept_for_the_very_answer_and_declarations_it_was_written_for(session: dict[str, Session]):
    data, replies, written = session["clinic"], Replies(), []

    def write() -> Reply:
        written.append(1)
        return Reply(200, "x", b"%d" % len(written))

    first = data.query(COUNT, epsilon=1)
    assert [replies.of(first, data.catalog, "csv", write).body for _ in range(2)] == [b"1", b"2"]
    again = data.query(COUNT, epsilon=1)
    assert again.free
    assert [replies.of(again, data.catalog, "csv", write).body for _ in range(2)] == [b"3", b"3"]
    assert replies.of(data.query(COUNT, epsilon=1), data.catalog, "csv", write).body == b"3"
    assert replies.of(again, data.catalog, "json", write).body == b"4"
    assert replies.of(again, replace(data.catalog), "csv", write).body == b"5"
    assert replies.of(again, data.catalog, "json", write).body == b"4"
    another = replace(again, noisy=replace(again.noisy, values=((12345,),)))
    assert replies.of(another, data.catalog, "json", write).body == b"6"


def test_repeats_are_written_for_whoever_asks_and_under_their_own_limits(session: dict[str, Session]):
    data, replies = session["clinic"], Replies()

    def asked(name: str, kind: str = "application/json", **further: Any) -> Reply:
        body = {"parameters": None, **PLAIN, **further}
        return answer(session, Asked(Verb.QUERY, "clinic", name, Role.ANALYST, body, kind), replies)

    first, *others = (asked("ada") for _ in range(3))
    assert others[0].body == others[1].body
    assert json.loads(others[0].body) == json.loads(first.body) | {"free": True}
    assert asked("ada", "text/csv").kind.startswith("text/csv")
    assert asked("ada", confidence="0.9").body != others[0].body
    # What the ledger does not give somebody, nothing that was kept gives them either.
    assert asked("ben").status == 402
    data.ledger.add_analyst("clinic", "ben", reason="he too")
    assert asked("ben").body == asked("ada").body == others[0].body
    data.ledger.remove_analyst("clinic", "ben", reason="no longer")
    assert (asked("ben").status, asked("cyd").status, asked("ada").status) == (402, 402, 200)
    assert data.budget.limits[0].spent.epsilon == Fraction(1, 10)


class Pipe:
    """The end of a connection that nobody reads."""

    closed = False

    def close(self) -> None:
        self.closed = True

    def get_extra_info(self, _: str) -> None:
        return None

    def write(self, _: bytes) -> None:
        pass

    def is_closing(self) -> bool:
        return self.closed


async def never(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass


@pytest.mark.parametrize(
    "begun",
    [
        b"GET /",
        b"GET / HTTP/1.1\r\nX: ",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;",
    ],
    ids=["address", "header", "behind the body", "beside a piece"],
)
def test_what_has_no_end_is_not_kept(begun: bytes):
    async def whole() -> int:
        config = uvicorn.Config(never, lifespan="off", log_level="critical")
        line: Any = patient(60, 1000)(config, ServerState(), {})
        line.connection_made(Pipe())
        line.data_received(begun)
        sent = 0
        while not line.transport.closed and sent < 10**6:
            line.data_received(b"a" * 1000)
            sent += 1000
        line.connection_lost(None)
        return sent

    assert asyncio.run(whole()) <= LONGEST_HEAD + 10_000


def test_what_stands_behind_a_body_is_no_header():
    heard: list[Any] = []

    async def listener(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        heard.extend(name for name, _ in scope["headers"])

    async def whole() -> None:
        state = ServerState()
        line: Any = patient(60)(uvicorn.Config(listener, lifespan="off", log_level="critical"), state, {})
        line.connection_made(Pipe())
        line.data_received(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n"
        )
        await asyncio.gather(*state.tasks)
        line.connection_lost(None)

    asyncio.run(whole())
    assert heard == [b"host", b"transfer-encoding"]
