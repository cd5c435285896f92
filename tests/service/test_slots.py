"""Time through the network: until the end of a slot nobody can know that a question has run, by any door."""

import threading
import time
from collections.abc import Iterator

import pytest
from tests.service.world import COUNT, ROWS, Service, certify, declare, launch

from discreet.service.people import FILE, People
from discreet.service.role import Role

SLOT = 2.0
OPTIONS = ("--slot", str(SLOT), "--rate", "100000", "--workers", "2")
PLACE = "/v1/datasets/clinic"


@pytest.fixture(scope="module")
def slotted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("slots")
    declare(folder, "clinic", ROWS)
    certify(folder)
    tokens = {"analyst": People(folder / FILE).add("analyst", Role.ANALYST, "clinic")}
    service = launch(folder, ["clinic"], tokens, *OPTIONS)
    yield service
    service.stop()


def asking(service: Service, question: dict[str, str]) -> tuple[threading.Thread, list[float]]:
    """Ask in a thread of its own; when the answer came is told in the list."""
    came: list[float] = []

    def ask() -> None:
        answer = service.ask("POST", f"{PLACE}/query", question)
        came.append(time.monotonic())
        assert answer.status == 200, answer

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, came


def running(service: Service) -> int:
    return service.ask("GET", f"{PLACE}/budget").json()["running"]


def test_until_the_end_of_its_slot_a_question_is_running_and_its_answer_is_nowhere(slotted: Service):
    question = {"sql": f"{COUNT} WHERE stay > 1", "epsilon": "0.1"}
    begun = time.monotonic()
    thread, came = asking(slotted, question)
    looks = []
    while thread.is_alive():
        found = slotted.ask("POST", f"{PLACE}/find", question).json()["answers"]
        history = slotted.ask("GET", f"{PLACE}/history").json()["entries"]
        known = bool(found) or "answered" in [entry["event"] for entry in history]
        paid = "reserved" in [entry["event"] for entry in history]
        looks.append((paid, known, running(slotted), time.monotonic() - begun))
    thread.join()
    early = [(known, count) for paid, known, count, at in looks if paid and at < SLOT]
    assert len(early) >= 3
    assert set(early) == {(False, 1)}
    assert came[0] - begun >= SLOT
    assert slotted.ask("POST", f"{PLACE}/find", question).json()["answers"]


def test_nobody_waits_less_for_a_worker_because_a_question_was_quick(slotted: Service):
    begun = time.monotonic()
    asked = [asking(slotted, {"sql": f"{COUNT} WHERE stay > {n}", "epsilon": "0.1"}) for n in (2, 3)]
    time.sleep(SLOT / 4)  # both have a worker by then, or this says nothing of a quick question
    slotted.ask("POST", f"{PLACE}/quote", {"sql": COUNT, "epsilon": "0.1"})
    waited = time.monotonic() - begun
    for thread, _ in asked:
        thread.join()
    assert waited >= SLOT
