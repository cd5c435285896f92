"""What an outsider with an afternoon tried on the PostgreSQL protocol, and what must hold against it."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.service.wire_client import SYNC, Client, fields, parse, query
from tests.service.world import COUNT, Service

from discreet.service import pace
from discreet.service.api import Asking
from discreet.service.pace import Rates
from discreet.service.role import Role, Verb
from discreet.service.settings import Settings
from discreet.service.wire.asking import Asker
from discreet.service.wire.fault import Fault
from discreet.service.wire.statement import split


class Worked:
    """A pool whose workers have answered already, or never will."""

    datasets = frozenset({"clinic"})

    def __init__(self, done: bool) -> None:
        self.done = done

    async def ask(self, _: Any) -> Any:
        if not self.done:
            await asyncio.Event().wait()
        return {"status": 200, "kind": "application/json", "headers": {}}, b"{}"


async def over_http(pool: Any, settings: Settings, person: Any) -> None:
    await Asking(pool, settings).reply(person, Verb.QUERY, "clinic", {})


async def over_the_wire(pool: Any, settings: Settings, person: Any) -> None:
    people: Any = SimpleNamespace(current=lambda *_: person)
    guest: Any = SimpleNamespace(person=person, number="1", dataset="clinic")
    await Asker(pool, people, Rates(1.0, 5.0), settings)(guest, Verb.QUERY, {})


@pytest.mark.parametrize("way", [over_http, over_the_wire])
@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("cancels", [1, 2])
def test_whoever_gives_up_is_told_at_the_end_of_the_slot_whether_or_not_there_was_an_answer(
    monkeypatch: pytest.MonkeyPatch, way: Any, done: bool, cancels: int
):
    settings = Settings((), Path("people"), slot=60.0)
    person = SimpleNamespace(name="ada", role=Role.ANALYST, datasets=frozenset({"clinic"}))
    turn = asyncio.sleep

    async def attack() -> None:
        ended = asyncio.Event()

        async def slot(_: float) -> None:
            await ended.wait()

        monkeypatch.setattr(pace.asyncio, "sleep", slot)
        asked = asyncio.ensure_future(way(Worked(done), settings, person))
        for _ in range(cancels):
            for _ in range(5):
                await turn(0)
            asked.cancel()
        for _ in range(5):
            await turn(0)
        assert not asked.done()
        ended.set()
        with pytest.raises(asyncio.CancelledError):
            await asked

    asyncio.run(attack())


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
