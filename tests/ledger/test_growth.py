"""A long history costs no more per request than a short one: counted in steps, not in time."""

from collections.abc import Callable

import psycopg
import pytest
from tests.ledger.world import Place, Server, ask, server_place

from discreet.ledger import Granted, Ledger, Scope, account, asking, written
from discreet.ledger.codec import digest, fingerprint
from discreet.ledger.entry import Answered, Limited, Reserved
from discreet.ledger.phrase import PREPARED
from discreet.ledger.shelf import Shelf
from discreet.ledger.store import Asked
from discreet.ledger.tables import LAST
from discreet.ledger.trie import Trie
from discreet.ledger.turn import Turn
from discreet.privacy.filter import Cost, PureBudget

PRICE = Cost.pure("0.001")


def lengthen(ledger: Ledger, size: int, crowd: int = 1) -> None:
    """Continue the history to this many entries, by so many analysts."""

    def fill(turn: Turn) -> None:
        while (number := turn.standing.number) < size:
            request = ask(f"fill {number}", cost=PRICE, analyst=f"a{number % crowd}")
            row = turn.append(Reserved(request))
            turn.append(Answered(row.number, fingerprint(request), digest(b""), 0), b"")

    ledger._write("clinic", fill)


def steps(ledger: Ledger, name: str) -> int:
    """Return how many instructions SQLite executes for a release, a retry and a repeated question."""
    counted = 0

    def count() -> None:
        nonlocal counted
        counted += 1

    database = ledger._store._database
    database.set_progress_handler(count, 1)
    ledger.answer(ledger.reserve(ask(name, question=name, cost=PRICE)), b"1")
    ledger.reserve(ask(name, question=name, cost=PRICE))
    ledger.reserve(ask(f"{name} again", question=name, cost=PRICE))
    assert ledger.datasets() == ("clinic",)
    database.set_progress_handler(None, 1)
    return counted


def growth(file: Place) -> float:
    with file.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(10**6), reason="opened")
        lengthen(ledger, 100)
        short = steps(ledger, "short")
        lengthen(ledger, 2000)
        return steps(ledger, "long") / short


def test_no_request_reads_through_the_history(file: Place):
    assert growth(file) < 1.1


def plans(ledger: Ledger, act: Callable[[Turn], object], asked: list[Asked]) -> list[str]:
    """Return how SQLite carries out each statement of a turn."""
    said: list[str] = []
    database = ledger._store._database
    database.set_trace_callback(said.append)
    ledger._turn("clinic", act, asked=asked)
    database.set_trace_callback(None)
    found = [s for s in said if s.startswith(("SELECT", "INSERT", "UPDATE", "DELETE"))]
    return [row[3] for s in found for row in database.execute(f"EXPLAIN QUERY PLAN {s}").fetchall()]


def test_a_turn_that_many_share_reads_through_no_table(file: Place):
    requests = [ask(f"r{number}", question=f"q{number}", cost=PRICE) for number in range(5)]
    asked = [(request.request_id, fingerprint(request)) for request in requests]
    with file.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(10**6), reason="opened")
        granted: list[Granted] = []
        paying = plans(ledger, lambda turn: granted.extend(asking.reserve(turn, r) for r in requests), asked)
        answering = plans(ledger, lambda turn: [asking.answer(turn, g, b"1") for g in granted], [])
        repeating = plans(ledger, lambda turn: [asking.reserve(turn, r) for r in requests], asked)
        for found in (paying, answering, repeating):
            assert any(plan.startswith("SEARCH") for plan in found)
            assert not [plan for plan in found if plan.startswith("SCAN") and "CONSTANT ROW" not in plan]
        assert ledger.verify().trusted


def test_the_count_catches_a_look_up_without_its_index(file: Place, monkeypatch: pytest.MonkeyPatch):
    true = Shelf._find

    def unguided(self: Shelf, where: str, *values: object, index: str | None = None):
        return true(self, where, *values, index=None if index == "asked" else index)

    monkeypatch.setattr(Shelf, "_find", unguided)
    assert growth(file) > 5


def test_postgresql_finds_every_entry_by_an_index(server: Server):
    with server_place(server) as place, place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(10**6), reason="opened")
        lengthen(ledger, 800)
        store = ledger._store
        store._all("ANALYZE discreet_entry")
        for where in (
            "dataset = 'clinic' AND number = 7",
            "dataset = 'clinic' AND request = 'x' AND kind = 'reserved'",
            "dataset = 'clinic' AND asked = 'x' AND kind = 'answered' ORDER BY number LIMIT 1",
            "dataset = 'clinic' AND refers = 7 AND kind IN ('answered', 'failed')",
        ):
            plan = "\n".join(
                line for (line,) in store._all(f"EXPLAIN SELECT * FROM discreet_entry WHERE {where}")
            )
            assert "Index Scan" in plan
            assert "Filter" not in plan, plan


TURN = {
    "discreet_lock": "('clinic')",
    "discreet_find_head": "('clinic')",
    "discreet_asked": "('clinic', 'fill 7', 'unheard of')",
    "discreet_add": "('clinic', 402, 'failed', NULL, NULL, 9, '', '', '', NULL, '{}')",
    "discreet_drop": "('clinic', 'unheard of')",
}
"""The statements of a turn in PostgreSQL, with values."""


def looked_at(plan: dict) -> int:
    """Return how many rows of tables a plan has looked at."""
    below = sum(looked_at(part) for part in plan.get("Plans", ()))
    if "Scan" not in plan["Node Type"] or not {"Relation Name", "Index Name"} & plan.keys():
        return below
    return below + plan["Actual Loops"] * (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0))


def most_looked_at(server: Server, prepared: str) -> int:
    """Return the most rows that one statement looks at in a long history if it was planned before that."""
    with (
        server_place(server) as place,
        place.open() as ledger,
        psycopg.connect(str(place.location)) as line,
    ):
        line.execute(f"{prepared}; SET plan_cache_mode = force_generic_plan")
        ledger.create_dataset("clinic", PureBudget(10**6), reason="opened")
        line.commit()
        for name, values in TURN.items():
            line.execute(f"EXPLAIN EXECUTE {name} {values}")
        line.commit()
        lengthen(ledger, 401, crowd=50)
        found = []
        for name, values in TURN.items():
            ran = line.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {name} {values}").fetchone()
            found.append(looked_at(ran[0][0]["Plan"]))
            line.rollback()
        return max(found)


def test_postgresql_looks_at_few_rows_by_plans_that_were_made_for_none(server: Server):
    assert 1 <= most_looked_at(server, PREPARED.decode()) <= 4


@pytest.mark.parametrize(
    ("said", "otherwise"),
    [
        (LAST, "SELECT coalesce(max(number), 0) FROM discreet_entry WHERE dataset = $1"),
        ("number = h.number LIMIT 1)", "number = h.number)"),
        ("AND name = $2", "AND name IN (SELECT json_array_elements_text(to_json(ARRAY[$2])))"),
    ],
)
def test_the_rows_looked_at_tell_of_a_second_plan(server: Server, said: str, otherwise: str):
    assert said in PREPARED.decode()
    assert most_looked_at(server, PREPARED.decode().replace(said, otherwise)) > 40


def counted(monkeypatch: pytest.MonkeyPatch, ledger: Ledger, name: str) -> int:
    """Return how many rows are sealed, sums made and values written for one release."""
    calls = 0

    def count(module: object, function: str) -> None:
        true = getattr(module, function)

        def counting(*arguments: object):
            nonlocal calls
            calls += 1
            return true(*arguments)

        patch.setattr(module, function, counting)

    with monkeypatch.context() as patch:
        # What was written before is kept until there is too much of it, which other tests decide.
        patch.setattr(written, "_texts", {})
        for module, function in (
            (written, "term"),
            (written, "canonical"),
            (Cost, "__add__"),
            (Trie, "set"),
            (account, "adds_orders"),
        ):
            count(module, function)
        ledger.answer(ledger.reserve(ask(name, question=name, cost=PRICE, analyst="ann")), b"1")
    return calls


def test_a_release_costs_the_same_beside_ten_and_beside_hundreds_of_analysts(file: Place, monkeypatch):
    with file.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(10**6), reason="opened")
        ledger.answer(ledger.reserve(ask("her first", analyst="ann")), b"1")
        costs, looks = [], []
        for crowd in (10, 300):

            def join(turn: Turn, crowd: int = crowd) -> None:
                for number in range(crowd):
                    request = ask(f"{crowd}.{number}", cost=PRICE, analyst=f"a{crowd}.{number}")
                    row = turn.append(Reserved(request))
                    turn.append(Answered(row.number, fingerprint(request), digest(b""), 0), b"")
                    turn.append(Limited(Scope(analyst=request.analyst), PureBudget(5), "a limit"))

            ledger._write("clinic", join)
            ledger.set_limit("clinic", Scope(analyst=f"a{crowd}.0"), PureBudget(5), reason="a limit")
            ledger.reserve(ask(f"first {crowd}", cost=PRICE))
            costs.append(counted(monkeypatch, ledger, f"counted {crowd}"))
            looks.append(steps(ledger, f"looked {crowd}"))
        assert costs[1] == costs[0]
        assert looks[1] < 1.1 * looks[0]
