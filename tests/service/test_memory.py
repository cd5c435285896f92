"""What needs more memory than a worker may take is one problem like any other, paid, and not the last."""

from collections.abc import Iterator
from itertools import cycle

import pytest
from tests.service.world import BY_WARD, CANARY, COUNT, ODD, ROWS, Service, certify, declare, launch

from discreet.service.people import FILE, People
from discreet.service.role import Role


@pytest.fixture
def cramped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose workers may grow by one megabyte: too little for a number beside each person."""
    folder = tmp_path_factory.mktemp("cramped")
    many = [(person, *facts) for person, (_, *facts) in zip(range(300_000), cycle(ROWS), strict=False)]
    declare(folder, "clinic", [*many, *ODD])
    certify(folder)
    people = People(folder / FILE)
    tokens = {
        "analyst": people.add("analyst", Role.ANALYST, "clinic"),
        "auditor": people.add("auditor", Role.AUDITOR, "clinic"),
    }
    service = launch(folder, ["clinic"], tokens, "--slot", "0.1", "--memory", "1")
    yield service
    service.stop()


def test_what_needs_too_much_memory_is_one_problem_and_paid_and_the_service_goes_on(cramped: Service):
    before, _ = cramped.spent()
    for question in (BY_WARD, f"{COUNT} WHERE stay > 3"):
        answer = cramped.query(question, "0.1")
        assert (answer.status, answer.json()["type"]) == (500, "/problems/failed")
        assert CANARY not in answer.body.decode()
    after, spent = cramped.spent()
    assert after > before
    assert spent != "0"
    assert cramped.ask("GET", "/health", who=None).status == 200
