"""Backups go back into either store, and what was released after them stays paid for."""

from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.world import Place, ask, server_place

from discreet.errors import BudgetError, ConflictError, LedgerError, ParameterError
from discreet.ledger import EVERYBODY, Granted, Receipt, Scope, Taken
from discreet.ledger.account import Account
from discreet.ledger.backup import all_that_is_left, backup_ledger, restore_ledger
from discreet.ledger.entry import Closed, Restored
from discreet.privacy.filter import ApproximateBudget, Cost, Filter, PureBudget, Rule

TENTH = Fraction(1, 10)


def spent(place: Place, scope: Scope = EVERYBODY) -> Fraction:
    with place.open() as ledger:
        return next(lim.spent.epsilon for lim in ledger.budget("clinic").limits if lim.scope == scope)


def begun(place: Place, budget=None) -> Receipt:
    with place.open() as ledger:
        ledger.create_dataset("clinic", budget or PureBudget(1), reason="opened")
        ledger.set_limit("clinic", Scope(analyst="ben"), PureBudget("0.5"), reason="a trainee")
        return ledger.answer(ledger.reserve(ask("first")), b"1").receipt


def go_on(place: Place, *names: str) -> list[Receipt]:
    with place.open() as ledger:
        return [ledger.answer(ledger.reserve(ask(name)), b"2").receipt for name in names]


def backed_up(place: Place, tmp_path: Path) -> Path:
    target = tmp_path / "backup"
    assert backup_ledger(place.location, target, key=place.key).trusted
    return target


def lose(place: Place) -> None:
    """Lose the store; the key and the anchor are elsewhere."""
    if place.is_file:
        for left in Path(place.location).parent.glob("test.ledger*"):
            left.unlink()
    else:
        import psycopg

        schema = place.location.rpartition("%3D")[2]
        with psycopg.connect(place.location) as database:
            database.execute("SET client_min_messages = error")
            database.execute(f"DROP SCHEMA {schema} CASCADE")
            database.execute(f"CREATE SCHEMA {schema}")


def restore(place: Place, backup: Path, **options):
    given = {"reason": "the disk broke", "key": place.key, "anchor": place.anchor}
    return restore_ledger(backup, place.location, **{**given, **options})


def test_a_backup_of_either_store_is_a_private_ledger_file_that_verifies(place: Place, tmp_path: Path):
    begun(place)
    backup = backed_up(place, tmp_path)
    assert backup.stat().st_mode & 0o077 == 0
    twin = Place(str(backup), place.anchor)
    with twin.open() as ledger:
        assert ledger.verify().trusted
        assert ledger.reserve(ask("first")).payload == b"1"


def test_a_backup_replaces_nothing(file: Place, tmp_path: Path):
    begun(file)
    (tmp_path / "backup").write_text("mine")
    with pytest.raises(ParameterError, match="exists"):
        backed_up(file, tmp_path)
    assert (tmp_path / "backup").read_text() == "mine"


def test_a_restored_ledger_charges_exactly_what_the_anchor_knows_and_goes_on(place: Place, tmp_path: Path):
    begun(place)
    backup = backed_up(place, tmp_path)
    go_on(place, "a", "b")
    lose(place)
    (charge,) = restore(place, backup)
    assert charge.known
    assert charge.lost.epsilon == 2 * TENTH
    assert spent(place) == 3 * TENTH
    assert spent(place, Scope(analyst="ben")) == 2 * TENTH, "what was lost counts towards every limit"
    with place.open() as ledger:
        assert ledger.verify().trusted
        assert ledger.reserve(ask("first")).payload == b"1"
        assert isinstance(ledger.history("clinic")[-1].event, Restored)
        for name in range(7):
            ledger.answer(ledger.reserve(ask(f"after {name}")), b"3")
        with pytest.raises(BudgetError):
            ledger.reserve(ask("one more"))
    with place.open() as ledger:
        assert ledger.verify().trusted


def test_a_backup_with_everything_in_it_costs_nothing(place: Place, tmp_path: Path):
    begun(place)
    backup = backed_up(place, tmp_path)
    lose(place)
    (charge,) = restore(place, backup)
    assert (charge.lost, charge.known) == (Cost.zero, True)
    assert spent(place) == TENTH


def test_without_an_anchor_all_that_was_left_is_gone_unless_the_curator_states_less(
    place: Place, tmp_path: Path
):
    begun(place)
    backup = backed_up(place, tmp_path)
    (last,) = go_on(place, "a")
    lose(place)
    place.anchor.unlink()
    with pytest.raises(LedgerError, match="a receipt shows entry"):
        restore(place, backup, lost=Cost.zero, receipts=[last])
    lose(place)
    place.anchor.unlink(missing_ok=True)
    (charge,) = restore(place, backup)
    assert not charge.known
    assert spent(place) == 1
    lose(place)
    place.anchor.unlink()
    (charge,) = restore(place, backup, lost=Cost.pure("0.3"), receipts=[last])
    assert spent(place) == 4 * TENTH


def test_all_that_was_left_of_an_approximate_budget_is_gone_on_both_routes(file: Place, tmp_path: Path):
    begun(file, ApproximateBudget(2, "1e-6"))
    backup = backed_up(file, tmp_path)
    lose(file)
    file.anchor.unlink()
    restore(file, backup)
    with file.open() as ledger:
        for cost in (
            Cost.pure("0.000001"),
            Cost.concentrated("0.000001"),
            Cost(Fraction(0), Fraction(0), Fraction(1, 10**9)),
        ):
            with pytest.raises(BudgetError):
                ledger.reserve(ask(f"{cost}", cost=cost))


def test_a_statement_may_not_fall_short_of_the_anchor(file: Place, tmp_path: Path):
    begun(file)
    backup = backed_up(file, tmp_path)
    go_on(file, "a", "b")
    lose(file)
    with pytest.raises(LedgerError, match="state at least that"):
        restore(file, backup, lost=Cost.pure("0.1"))
    lose(file)
    restore(file, backup, lost=Cost.pure("0.25"))
    assert spent(file) == Fraction(35, 100)


def test_an_old_copy_of_the_anchor_is_not_believed_against_a_receipt(file: Place, tmp_path: Path):
    begun(file)
    backup = backed_up(file, tmp_path)
    old = file.anchor.read_bytes()
    (_, last) = go_on(file, "a", "b")
    lose(file)
    file.anchor.write_bytes(old)
    (charge,) = restore(file, backup, receipts=[last])
    assert not charge.known
    assert spent(file) == 1


def test_the_copy_that_was_left_behind_cannot_go_on(file: Place, tmp_path: Path):
    """A ledger that was believed lost comes back after its backup was restored."""
    begun(file)
    backup = backed_up(file, tmp_path)
    go_on(file, "a")
    kept = file.copy()
    lose(file)
    restore(file, backup)
    go_on(file, "b")
    restored = file.copy()
    file.restore(kept)
    with pytest.raises(LedgerError):
        file.open()
    file.restore(restored)
    go_on(file, "c")


def test_nothing_that_was_running_or_streaming_is_released_from_twice(place: Place, tmp_path: Path):
    begun(place)
    with place.open() as ledger:
        running = ledger.reserve(ask("running"))
        stream = ledger.open_stream(ask("stream s"), b"state")
        ledger.abandon(running)
        backup = backed_up(place, tmp_path)
        ledger.answer(ledger.reserve(ask("running")), b"left")
        ledger.advance(stream, 1, lambda state: Taken(1, b"next", b"step"))
    lose(place)
    restore(place, backup)
    with place.open() as ledger:
        with pytest.raises(LedgerError, match="missing"):
            ledger.reserve(ask("running"))
        again = ledger.reserve(ask("asked anew", question=running.request.question))
        assert isinstance(again, Granted)
        assert again.number != running.number, "paid for anew"
        with pytest.raises(ConflictError, match="beyond the backup"):
            ledger.advance(stream, 1, lambda state: Taken(1, b"other", b"other noise"))
        assert ledger.verify().trusted


def test_a_dataset_younger_than_the_backup_comes_back_closed(place: Place, tmp_path: Path):
    begun(place)
    backup = backed_up(place, tmp_path)
    with place.open() as ledger:
        ledger.create_dataset("school", PureBudget(1), reason="opened")
        ledger.answer(ledger.reserve(ask("s", dataset="school")), b"1")
    lose(place)
    restore(place, backup)
    with place.open() as ledger:
        assert isinstance(ledger.history("school")[-1].event, Closed)
        with pytest.raises(BudgetError):
            ledger.reserve(ask("t", dataset="school"))
        assert ledger.verify().trusted


def test_nothing_is_restored_over_a_ledger_or_from_a_damaged_backup(file: Place, tmp_path: Path):
    begun(file)
    backup = backed_up(file, tmp_path)
    with pytest.raises(LedgerError, match="move it aside"):
        restore(file, backup)
    Place(str(backup), file.anchor).tamper("UPDATE {entry} SET payload = 'x' WHERE number = 4")
    lose(file)
    with pytest.raises(LedgerError, match="does not hold"):
        restore(file, backup)
    assert not Path(file.location).exists()


def test_a_ledger_moves_from_a_file_to_a_server(file: Place, server, tmp_path: Path):
    receipt = begun(file)
    backup = backed_up(file, tmp_path)
    with server_place(server) as remote:
        moved = Place(remote.location, file.anchor)
        (charge,) = restore(moved, backup, reason="more machines")
        assert charge.lost == Cost.zero
        with moved.open() as ledger:
            assert ledger.verify_receipt(receipt).number == receipt.number
            assert ledger.verify().trusted
        with pytest.raises(LedgerError):
            file.open()


@pytest.mark.parametrize("rule", list(Rule))
@pytest.mark.parametrize("spent", [Cost.zero, Cost.pure("1/2"), Cost.concentrated("1/1000")])
def test_after_a_lost_history_no_route_is_left_open(rule: Rule, spent: Cost):
    """What remains is counted as spent on every route, not only on the one that a budget is worth most on."""
    budget = ApproximateBudget(1, "1e-9", rule=rule)
    account = Account("clinic", {EVERYBODY: budget}, None, spent={("p", "ann"): spent})
    after = Filter(budget, spent + all_that_is_left(account))
    for cost in (Cost.concentrated("1e-12"), Cost.pure("1e-6"), Cost.approximate("1e-6", "1e-15")):
        assert not after.can_spend(cost)
