"""Everybody sees what they asked, however much others asked since, and goes back page by page."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.test_growth import lengthen
from tests.service.world import COUNT, ROWS, Service, declare

import discreet as dp
from discreet.ledger import open_ledger, past
from discreet.release.session import Session
from discreet.service.answering import Asked, answer
from discreet.service.client import Remote
from discreet.service.role import Role, Verb
from discreet.service.worker import opened

BUSY = "a0"
"""Who asks most."""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[dict[str, Session]]:
    manifest = declare(tmp_path, "clinic", ROWS)
    with open_ledger(tmp_path / "clinic.ledger") as ledger:
        people = ["analyst", "ada", "cora", BUSY]
        ledger.create_dataset("clinic", dp.PureBudget(100000), analysts=people, reason="test")
    found = opened([str(manifest)])
    yield found
    for one in found.values():
        one.close()


def told(session: dict[str, Session], name: str, role: Role = Role.ANALYST, **part: Any) -> dict[str, Any]:
    reply = answer(session, Asked(Verb.HISTORY, "clinic", name, role, {"last": 100} | part))
    assert reply.status == 200, reply
    found: dict[str, Any] = json.loads(reply.body)
    return found


def paid(session: dict[str, Session], name: str, *prices: str) -> None:
    for price in prices:
        body = {"sql": COUNT, "epsilon": price, "parameters": None}
        assert answer(session, Asked(Verb.QUERY, "clinic", name, Role.ANALYST, body)).status == 200


def prices(page: dict[str, Any]) -> list[str]:
    return [one["cost"][0] for one in page["entries"] if one["event"] == "reserved"]


@pytest.mark.parametrize("role", [Role.ANALYST, Role.CURATOR])
def test_a_busy_colleague_hides_nothing(session: dict[str, Session], role: Role):
    paid(session, "ada", "0.1", "0.2", "0.3")
    lengthen(session["clinic"].ledger, 2500)
    page = told(session, "ada", role, own=True, last=2)
    assert prices(page) == ["1/5", "3/10"]
    assert [one["event"] for one in page["entries"]] == ["reserved", "answered"] * 2
    assert page["counted"] == 2
    before = told(session, "ada", role, own=True, before=page["before"])
    assert (prices(before), before["before"]) == (["1/10"], None)
    assert told(session, "cora", role, own=True)["entries"] == []


def test_an_analyst_sees_nothing_but_their_own_and_others_see_all(session: dict[str, Session]):
    paid(session, "ada", "0.1")
    paid(session, "cora", "0.2")
    for part in ({}, {"own": False}, {"own": None}):
        assert {one.get("analyst", "ada") for one in told(session, "ada", **part)["entries"]} == {"ada"}
    every = told(session, "ada", Role.AUDITOR)
    assert prices(every) == ["1/10", "1/5"]
    assert (every["counted"], every["before"]) == (5, None)
    part = told(session, "ada", Role.AUDITOR, last=2, before=4)
    assert [one["number"] for one in part["entries"]] == [2, 3]
    assert (part["counted"], part["before"]) == (2, 2)


def test_a_page_looks_at_so_much_and_says_where_to_go_on(
    session: dict[str, Session], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(past, "SEARCHED", 50)
    paid(session, "ada", "0.1")
    lengthen(session["clinic"].ledger, 199)
    pages = [told(session, "ada")]
    while pages[-1]["before"] is not None:
        pages.append(told(session, "ada", before=pages[-1]["before"]))
    assert [page["counted"] for page in pages] == [0, 0, 0, 1]


class Served:
    """The line of a client that ends in a worker of this process."""

    def __init__(self, session: dict[str, Session]) -> None:
        self.session, self.asked = session, 0

    def get(self, *path: str, **asked: int) -> dict[str, Any]:
        assert path[-1] == "history"
        self.asked += 1
        return told(self.session, "ada", **asked)


def test_a_client_finds_as_many_as_it_asks_for(session: dict[str, Session], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(past, "SEARCHED", 50)
    ledger = session["clinic"].ledger
    for price, size in (("0.1", 100), ("0.2", 220), ("0.3", 230), ("0.4", 300)):
        paid(session, "ada", price)
        lengthen(ledger, size)
    line: Any = Served(session)
    client = Remote(session["clinic"].catalog, "ada", line)
    assert prices({"entries": client.history(3)}) == ["1/5", "3/10", "2/5"]
    assert line.asked < 8
    assert prices({"entries": client.history()}) == ["1/10", "1/5", "3/10", "2/5"]
    third = next(one["number"] for one in client.history() if one.get("cost", [""])[0] == "3/10")
    assert prices({"entries": client.history(1, before=third)}) == ["1/5"]
    listed = [one["number"] for one in client.history()]
    assert listed == sorted({*listed})


def test_pages_are_asked_for_over_http(service: Service):
    for price in ("1/7", "1/11", "1/13"):
        assert service.query(COUNT, price).status == 200
    place = "/v1/datasets/clinic/history"
    page = service.ask("GET", f"{place}?last=2").json()
    assert prices(page) == ["1/11", "1/13"]
    assert prices(service.ask("GET", f"{place}?last=1&before={page['before']}").json()) == ["1/7"]
    assert service.ask("GET", f"{place}?before=0").status == 422
    assert "own must be true or false" in service.ask("GET", f"{place}?own=x").json()["detail"]
    assert service.ask("GET", f"{place}?own=true", who="auditor").json()["entries"] == []
