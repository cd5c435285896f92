"""Conversations that were tampered with: bytes flipped, frames cut, doubled, mixed, in the thousands.

The whole of the protocol is run without a socket, on real data with a real ledger.  Whatever is said, what
comes back is frames and nothing else, and the ledger holds exactly what was told to be paid.
"""

import asyncio
import json
import random
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.service import wire_client as client
from tests.service.world import CANARY, COUNT, ODD, ROWS, declare

from discreet.ledger.entry import Reserved
from discreet.service.answering import answer
from discreet.service.pace import Rates
from discreet.service.people import FILE, People
from discreet.service.role import Role
from discreet.service.settings import Settings
from discreet.service.wire.asking import Asker
from discreet.service.wire.conversation import Conversation
from discreet.service.wire.fault import Fault, Gone
from discreet.service.wire.frame import Garbled
from discreet.service.wire.login import Entrance, Guest, enter
from discreet.service.wire.setting import SessionSettings
from discreet.service.worker import asked, opened

WARDS = "SELECT ward, COUNT(DISTINCT person) AS n FROM visits WHERE stay > $1 GROUP BY ward"
SEEDS = (
    [client.query(COUNT)],
    [client.query("SET discreet.epsilon = 0.25; SHOW discreet.epsilon; BEGIN; SELECT 1; ROLLBACK")],
    [client.query(f"EXPLAIN {COUNT}"), client.query("SHOW discreet.budget"), client.query("SHOW ALL")],
    [
        client.parse(WARDS, "s"),
        client.describe("S", "s"),
        client.bind(b"3", name="s"),
        client.execute(2),
        client.SYNC,
    ],
    [
        client.parse(WARDS, "", 23),
        client.bind(b"\0\0\0\5", form=1, result=1),
        client.describe(),
        client.execute(),
        client.SYNC,
    ],
    [client.query("SELECT relname, oid FROM pg_class WHERE relname ~ '^v' ORDER BY 1"), client.GOODBYE],
    [
        client.parse("SELECT $1::int4[], $2", "a"),
        client.describe("S", "a"),
        client.bind(b"{1,2}", b"x", name="a"),
        client.execute(),
        client.frame("C", b"Sa\0"),
        client.SYNC,
    ],
    [client.query("SELECT * FROM visits"), client.query(f"{COUNT} WHERE note = 'x'"), client.FLUSH],
    [client.query("RESET ALL; DISCARD ALL; DEALLOCATE ALL; CLOSE ALL; SAVEPOINT a; RELEASE a")],
    [
        client.query(
            "SELECT a.attname FROM pg_attribute a LEFT JOIN pg_type t ON t.oid = a.atttypid WHERE attnum > 0"
        )
    ],
)
STARTS = (
    client.TLS,
    struct.pack("!IIII", 16, 80877102, 7, 9),
    struct.pack("!I", 36) + client.STARTUP + client.text("user", "analyst", "database", "x", "")[:28],
    client.frame("p", client.text("SCRAM-SHA-256") + struct.pack("!I", 14) + b"n,,n=,r=abcdefgh"),
)
ANSWERS = frozenset("RSKZTtDCENI123nsv")


class Tape:
    """Bytes that were recorded, played to the protocol; what it says is kept."""

    def __init__(self, said: bytes) -> None:
        self.rest, self.heard = said, b""

    async def exactly(self, size: int) -> bytes:
        if size > len(self.rest):
            raise EOFError
        found, self.rest = self.rest[:size], self.rest[size:]
        return found

    def write(self, said: bytes) -> None:
        self.heard += said

    async def flush(self) -> None:
        pass

    async def secure(self) -> None:
        if self.rest:
            raise Garbled("bytes in the open before TLS")


def tampered(frames: list[bytes], chance: random.Random) -> list[bytes]:
    """Return frames of which some were changed in one of many ways."""
    found = list(frames)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(found))
        one = bytearray(found[at])
        match chance.randrange(9):
            case 0 if one:
                one[chance.randrange(len(one))] ^= 1 << chance.randrange(8)
            case 1 if len(one) > 5:
                place = chance.randrange(5, len(one))
                one[place : place + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 4))
                one[1:5] = struct.pack("!I", len(one) - 1)
            case 2:
                del one[chance.randrange(len(one) + 1) :]
            case 3 if len(one) > 4:
                one[1:5] = chance.choice(
                    (b"\0\0\0\0", b"\xff\xff\xff\xff", struct.pack("!I", chance.randrange(99)))
                )
            case 4:
                found.insert(at, chance.choice(chance.choice(SEEDS)))
            case 5:
                found.insert(at, found[chance.randrange(len(found))])
            case 6 if len(found) > 1:
                found.pop(at)
                continue
            case 7 if one:
                one[0] = chance.choice(b"QPBDEHSCpXdcfF!\0")
            case _ if len(one) > 6:
                text = bytes(one[5:]).replace(
                    chance.choice((b"'", b"(", b"1", b" ")), chance.choice((b"''", b"", b"$2", b";"))
                )
                one[5:] = text
                one[1:5] = struct.pack("!I", len(one) - 1)
        found[min(at, len(found) - 1)] = bytes(one)
    return found


class World:
    """A dataset with an odd person, its ledger, and the way to it without a worker's process."""

    def __init__(self, folder: Path) -> None:
        self.sessions = opened([str(declare(folder, "right", [*ROWS, *ODD]))])
        self.people = People(folder / FILE)
        self.people.add("analyst", Role.ANALYST, "right")
        number = self.people.door("analyst").number
        settings = Settings((folder,), self.people.path, slot=0)
        pool: Any = SimpleNamespace(ask=self.ask, datasets=frozenset({"right"}))
        self.asker = Asker(pool, self.people, Rates(1e9, 1e9), settings)
        person = self.people.current("analyst", number)
        assert person is not None
        self.guest = lambda: Guest(person, number, "right", SessionSettings({"discreet.epsilon": "0.1"}))
        self.failures: list[Any] = []
        self.paid = 0

    async def ask(self, head: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        reply = answer(self.sessions, asked(json.loads(json.dumps(head))))
        self.failures += [head["body"]] if reply.status == 500 else []
        return {"status": reply.status}, reply.body

    def talk(self, said: bytes) -> bytes:
        tape = Tape(said)

        async def patient(message: Any) -> Any:
            return await message

        async def whole() -> None:
            conversation = Conversation(tape, self.guest(), self.asker, 65536)
            with suppress(EOFError, Garbled, Gone):
                await conversation.run(patient)

        asyncio.run(whole())
        frames = client.split(tape.heard)
        assert {letter for letter, _ in frames} <= ANSWERS
        notices = [client.fields(body)["M"] for letter, body in frames if letter == "N"]
        self.paid += sum(one.startswith("cost epsilon") for one in notices)
        return tape.heard

    def knock(self, said: bytes) -> bytes:
        tape = Tape(said)

        async def cancel(_: Any) -> None:
            pass

        async def whole() -> None:
            entrance = Entrance(self.people, lambda: {"right"}, encrypted=False)
            with suppress(EOFError, Garbled, Fault):
                assert await enter(tape, entrance, cancel) is None

        asyncio.run(whole())
        return tape.heard

    def reserved(self) -> int:
        entries = self.sessions["right"].ledger.history("right", last=10**6)
        return sum(isinstance(entry.event, Reserved) for entry in entries)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    found = World(tmp_path)
    yield found
    for session in found.sessions.values():
        session.close()


def spoken(chance: random.Random) -> list[bytes]:
    """Return a conversation; some ask what nobody has asked before, and so pay."""
    if chance.randrange(8):
        return list(chance.choice(SEEDS))
    return [client.query(f"{COUNT} WHERE cost > {chance.randrange(10**6)} - 1"), client.query("SELECT 1")]


def search(world: World, count: int, chance: random.Random) -> None:
    """Play so many tampered frames, and compare what was told with what was paid."""
    played = 0
    while played < count:
        frames = tampered(spoken(chance), chance)
        played += len(frames)
        heard = world.talk(b"".join(frames))
        assert CANARY.encode() not in heard
        starts = tampered([chance.choice(STARTS) for _ in range(2)], chance)
        played += len(starts)
        assert CANARY.encode() not in world.knock(b"".join(starts))
    assert world.failures == []
    assert world.paid == world.reserved()
    world.sessions["right"].ledger.verify()


def test_seeds_are_understood_before_they_are_tampered_with(world: World):
    heard = [client.split(world.talk(b"".join(seed))) for seed in SEEDS]
    assert world.paid == 4
    assert world.paid == world.reserved()
    refused = [client.fields(body)["C"] for frames in heard for letter, body in frames if letter == "E"]
    assert refused == ["42000"]


def test_tampered_frames_break_nothing_and_cost_what_is_told(world: World):
    search(world, 1_000, random.Random())


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(10))
def test_a_hundred_thousand_tampered_frames_break_nothing(world: World, part: int):
    search(world, 10_000, random.Random())
