"""Everybody finds what they asked, whatever others did, and nobody reads through a long history for it."""

import pytest
from tests.ledger.test_growth import PRICE, lengthen
from tests.ledger.world import Place, Server, ask, server_place

from discreet.errors import LedgerError
from discreet.ledger import Ledger, past
from discreet.ledger.entry import Answered, Failed, Reserved
from discreet.ledger.past import Page
from discreet.ledger.shelf import Shelf
from discreet.privacy.filter import PureBudget

ODD = "ad\u00e9_a'x"
"""A name that is not written as it is spelt."""


def opened(place: Place) -> Ledger:
    ledger = place.open()
    ledger.create_dataset("clinic", PureBudget(10**6), reason="opened")
    return ledger


def asked(ledger: Ledger, analyst: str, count: int) -> list[int]:
    """Ask so many questions, the last of which fails, and return the numbers of their payments."""
    paid = []
    for number in range(count):
        granted = ledger.reserve(ask(f"{analyst} {number} {len(paid)}", cost=PRICE, analyst=analyst))
        paid.append(granted.number)
        if number < count - 1:
            ledger.answer(granted, b"1")
        else:
            ledger.fail(granted, "engine")
    return paid


def numbers(page: Page) -> list[int]:
    return [entry.number for entry in page.entries if isinstance(entry.event, Reserved)]


@pytest.mark.parametrize("name", ["ada", ODD])
def test_ones_own_are_found_behind_everything_that_others_did(place: Place, name: str):
    with opened(place) as ledger:
        mine = asked(ledger, name, 5)
        lengthen(ledger, 3000, crowd=3)
        ledger.reserve(ask("who said", question='"event":{"analyst":"ada",', cost=PRICE, analyst="ad"))
        page = ledger.questions_of("clinic", name, last=4)
        assert numbers(page) == mine[1:]
        assert page.questions == 4
        assert page.before == mine[1]
        events = [type(entry.event) for entry in page.entries]
        assert events == [Reserved, Answered] * 3 + [Reserved, Failed]
        assert ledger.questions_of("clinic", name, before=page.before).before is None
        assert numbers(ledger.questions_of("clinic", name, before=page.before)) == mine[:1]
        assert ledger.questions_of("clinic", "nobody") == Page((), 0, None)


def test_pages_have_every_question_once(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(past, "SEARCHED", 37)
    with opened(place) as ledger:
        lengthen(ledger, 400, crowd=7)
        mine = [entry.number for entry in ledger.history("clinic", last=400) if _paid_by(entry, "a3")]
        found, before, pages = [], None, 0
        while True:
            page = ledger.questions_of("clinic", "a3", last=2, before=before)
            assert page.before is None or before is None or page.before < before
            found, before, pages = numbers(page) + found, page.before, pages + 1
            if before is None:
                break
        assert found == mine
        assert len(mine) > 20
        assert pages < 60


def _paid_by(entry: object, analyst: str) -> bool:
    event = entry.event
    return isinstance(event, Reserved) and event.request.analyst == analyst


def test_the_history_of_everybody_has_pages_too(place: Place):
    with opened(place) as ledger:
        lengthen(ledger, 100)
        whole = ledger.history("clinic", last=1000)
        assert ledger.history("clinic", last=10, before=51) == whole[40:50]
        assert ledger.history("clinic", last=10, before=5) == whole[:4]
        assert ledger.history("clinic", last=10, before=1) == ()
        assert ledger.history("clinic", last=10, before=10**9) == whole[-10:]


def steps(ledger: Ledger, analyst: str) -> int:
    """Return how many instructions SQLite executes for a page of an analyst's questions."""
    counted = 0

    def count() -> None:
        nonlocal counted
        counted += 1

    database = ledger._store._database
    database.set_progress_handler(count, 1)
    ledger.questions_of("clinic", analyst, last=10)
    database.set_progress_handler(None, 1)
    return counted


def growth(file: Place, analyst: str) -> float:
    with opened(file) as ledger:
        lengthen(ledger, 300, crowd=2)
        short = steps(ledger, analyst)
        lengthen(ledger, 3000, crowd=2)
        return steps(ledger, analyst) / short


def test_a_page_of_whoever_asked_lately_costs_what_it_shows(file: Place):
    assert growth(file, "a1") < 1.1


def test_whoever_never_asked_is_looked_for_in_so_much_and_no_more(
    file: Place, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(past, "SEARCHED", 250)
    assert growth(file, "nobody") < 1.1


def test_the_count_catches_a_search_without_its_bound(file: Place):
    assert growth(file, "nobody") > 5


def test_the_count_catches_a_search_by_the_index_of_all_payments(
    file: Place, monkeypatch: pytest.MonkeyPatch
):
    true = Shelf._find

    def sorting(self: Shelf, where: str, *values: object, index: str | None = None):
        paid = "kind LIKE" in where
        return true(self, where.replace("LIKE", "="), *values, index="request" if paid else index)

    monkeypatch.setattr(Shelf, "_find", sorting)
    assert growth(file, "a1") > 5


def test_an_edited_question_is_found_out(place: Place):
    with opened(place) as ledger:
        mine = asked(ledger, "ada", 3)
        assert numbers(ledger.questions_of("clinic", "ada")) == mine
        edited = f"replace(body, 'visits', 'wards!') WHERE number = {mine[0]}"
        place.tamper(f"UPDATE {{entry}} SET body = {edited}")
        with pytest.raises(LedgerError, match=f"entry {mine[0]}"):
            ledger.questions_of("clinic", "ada")


def test_postgresql_looks_backwards_by_number_and_stops_at_the_bound(server: Server):
    with server_place(server) as place, opened(place) as ledger:
        lengthen(ledger, 2000, crowd=5)
        said: list[str] = []
        store, true = ledger._store, ledger._store.shelf.run
        store._all("ANALYZE discreet_entry")

        def explained(statement: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
            if "LIKE" in statement:
                said.extend(line for (line,) in true(f"EXPLAIN {statement}", values))
            return true(statement, values)

        object.__setattr__(store.shelf, "run", explained)
        assert ledger.questions_of("clinic", "a3", last=5).questions == 5
        assert any("Index Scan Backward using discreet_entry_pkey" in line for line in said), said
        assert any("Index Cond" in line and "number >=" in line for line in said), said
