"""Tokens are shown once, kept as hashes, and worth nothing once they are wrong, old, replaced or revoked."""

import json
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.service.world import ROWS, declare
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app
from discreet.errors import ConflictError, LedgerError, ParameterError
from discreet.ledger import open_ledger
from discreet.service.people import FILE, People
from discreet.service.role import Role, Verb, may, sees_all

START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def people(tmp_path: Path) -> People:
    return People(tmp_path / FILE, lambda: START)


def test_a_token_has_256_secret_bits_and_is_kept_only_as_a_hash(people: People):
    token = people.add("ada", Role.ANALYST, "clinic")
    _, number, secret = token.split("_")
    assert len(bytes.fromhex(secret)) == 32
    kept = people.path.read_bytes()
    assert number.encode() in kept
    assert secret.encode() not in kept
    assert bytes.fromhex(secret) not in kept
    assert stat.S_IMODE(people.path.stat().st_mode) == 0o600


def test_a_token_is_its_holders_and_nothing_near_it_is(people: People):
    ada, ben = (people.add(name, Role.ANALYST, "clinic") for name in ("ada", "ben"))
    found = people.holder(ada)
    assert found is not None
    assert (found.name, found.role, found.datasets) == ("ada", Role.ANALYST, frozenset({"clinic"}))
    crossed = f"dsc_{ada.split('_')[1]}_{ben.split('_')[2]}"
    for near in (ada[:-1], ada + "0", ada.upper(), f" {ada}", ada + "\n", crossed, "", "dsc__", ada[4:]):
        assert people.holder(near) is None


def test_a_token_ends_at_its_hour_and_not_before(people: People):
    token = people.add("ada", Role.ANALYST, "clinic", days=2)
    just, over = (People(people.path, lambda at=at: at) for at in _around(START + timedelta(days=2)))
    assert just.holder(token) is not None
    assert over.holder(token) is None
    assert over.all()[0].standing(over.clock()) == "expired"


def _around(moment: datetime) -> tuple[datetime, datetime]:
    return moment - timedelta(seconds=1), moment


def test_rotating_and_revoking_end_the_old_token(people: People):
    first = people.add("ada", Role.ANALYST, "clinic")
    second = people.rotate("ada")
    assert people.holder(first) is None
    assert people.holder(second) is not None
    people.revoke("ada")
    assert people.holder(second) is None
    assert people.all()[0].standing(START) == "revoked"


def test_whoever_watches_the_register_notices_every_change_at_once(people: People, tmp_path: Path):
    at = [START]
    watch = People(people.path, lambda: at[0]).watched()
    ada, ben = (people.add(name, Role.ANALYST, "clinic") for name in ("ada", "ben"))
    for _ in range(3):
        assert [watch.holder(token).name for token in (ada, ben)] == ["ada", "ben"]
        assert watch.holder(ada[:-1]) is None
        assert watch.holder("dsc_" + "0" * 16 + "_" + "0" * 64) is None
    assert len(watch._known) == 2
    people.allow("ada", "other")
    assert watch.holder(ada).datasets == {"clinic", "other"}
    new = people.rotate("ada")
    assert (watch.holder(ada), watch.holder(new).name) == (None, "ada")
    people.revoke("ben")
    assert (watch.holder(ben), watch.holder(new).name) == (None, "ada")
    at[0] = START + timedelta(days=91)
    assert watch.holder(new) is None
    at[0] = START
    assert watch.holder(new) is not None
    number = people.door("ada").number
    assert [watch.current("ada", given) is not None for given in (number, number, "0" * 16, "")] == [
        True,
        True,
        False,
        False,
    ]
    newest = people.rotate("ada")
    assert (watch.current("ada", number), watch.holder(new)) == (None, None)
    number = people.door("ada").number
    assert watch.current("ada", number).name == watch.holder(newest).name == "ada"
    assert watch.current("ben", number) is None
    other = People(tmp_path / "other", lambda: START)
    zoe = other.add("zoe", Role.AUDITOR, "clinic")
    other.path.replace(people.path)
    assert (watch.holder(newest), watch.holder(zoe).role) == (None, Role.AUDITOR)
    assert watch.current("ada", number) is None
    number = people.door("zoe").number
    assert watch.current("zoe", number) is not None
    people.revoke("zoe")
    assert watch.current("zoe", number) is None
    watch.close()


@pytest.mark.parametrize("name", ["", "Ada", "ada ", "a/b", "-a", "ä", "a" * 64, "a\n", "stream x"])
def test_names_that_could_be_taken_for_others_are_refused(people: People, name: str):
    with pytest.raises(ParameterError):
        people.add(name, Role.ANALYST, "clinic")
    assert people.all() == ()


def test_nobody_is_entered_twice_or_changed_who_is_not_there(people: People):
    people.add("ada", Role.ANALYST, "clinic")
    with pytest.raises(ConflictError):
        people.add("ada", Role.CURATOR, "clinic")
    for act in (people.revoke, people.rotate, lambda name: people.allow(name, "clinic")):
        with pytest.raises(ParameterError):
            act("ben")
    assert [(person.name, person.role) for person in people.all()] == [("ada", Role.ANALYST)]
    with pytest.raises(LedgerError):
        People(people.path.with_name("none")).all()


def test_a_project_is_given_by_dataset_and_an_older_register_knows_none(people: People):
    token = people.add("ada", Role.ANALYST, "clinic")
    people.allow("ada", "other")
    people.assign("ada", "clinic", "waiting times")
    ada = people.holder(token)
    assert ada is not None
    assert [ada.project(dataset) for dataset in ("clinic", "other")] == ["waiting times", "project"]
    for name, dataset in (("ada", "third"), ("ben", "clinic")):
        with pytest.raises(ParameterError):
            people.assign(name, dataset, "x")
    with closing(sqlite3.connect(people.path)) as book:
        book.execute("DROP TABLE work")
    assert people.holder(token) == replace(ada, projects=())


@pytest.mark.parametrize("days", [0, -1, 10**6])
def test_a_token_is_good_for_a_while_and_not_for_ever(people: People, days: int):
    with pytest.raises(ParameterError):
        people.add("ada", Role.ANALYST, "clinic", days=days)


def test_roles_are_what_they_say():
    assert not [verb for verb in (Verb.QUOTE, Verb.QUERY, Verb.BATCH) if may(Role.AUDITOR, verb)]
    assert not may(Role.ANALYST, Verb.METRICS)
    assert all(may(Role.CURATOR, verb) for verb in Verb)
    assert [role for role in Role if sees_all(role)] == [Role.CURATOR, Role.AUDITOR]


def test_the_command_enters_limits_lists_and_revokes(tmp_path: Path):
    manifest = declare(tmp_path, "clinic", ROWS)

    def run(*words: str) -> dict[str, object]:
        done = CliRunner().invoke(app, ["analyst", words[0], str(manifest), *words[1:], "--format", "json"])
        assert done.exit_code == 0, done.output
        found: dict[str, object] = json.loads(done.stdout)
        return found

    token = run("add", "ada", "--epsilon", "1", "--days", "3")["token"]
    assert run("add", "carl", "--role", "curator")["limit"] is None
    people = People(tmp_path / FILE)
    assert isinstance(token, str)
    assert people.holder(token) is not None
    with dp.open(manifest, analyst="ada") as data, pytest.raises(dp.BudgetError, match="ada"):
        data.query("SELECT COUNT(*) FROM visits", epsilon=2)
    run("limit", "ada", "--epsilon", "5")
    with open_ledger(tmp_path / "clinic.ledger") as ledger:
        assert str(ledger.budget("clinic").limits[1].budget.epsilon) == "5"
    limits = run("limit", "ada", "--per-question", "1/10", "--per-day", "1/5")["limits"]
    assert [one["limit_on"] for one in limits] == [
        "analyst ada",
        "analyst ada, per question",
        "analyst ada, per day",
    ]
    with dp.open(manifest, analyst="ada") as data:
        assert data.quote("SELECT COUNT(*) FROM visits", epsilon="1/10").today == 2
        assert "limit per question or per day" in repr(
            data.quote("SELECT COUNT(*) FROM visits", epsilon="1/9")
        )
        with pytest.raises(dp.BudgetError, match="limit per question on analyst ada"):
            data.query("SELECT COUNT(*) FROM visits", epsilon="1/9")
    run("limit", "ada", "--per-question", "none")
    assert [one["limit_on"] for one in run("limit", "--per-day", "50")["limits"]] == [
        "the whole dataset",
        "the whole dataset, per day",
    ]
    with open_ledger(tmp_path / "clinic.ledger") as ledger:
        assert [(one.scope.analyst, one.per) for one in ledger.budget("clinic").paces] == [
            (None, "day"),
            ("ada", "day"),
        ]
        assert ledger.verify().trusted
    assert run("project", "Waiting", "ada", "--epsilon", "2")["limits"][0]["limit_on"] == "project waiting"
    assert [one.project("clinic") for one in people.all()] == ["waiting", "project"]
    assert run("rotate", "ada")["token"] != token
    run("revoke", "ada")
    listed = run("list")["people"]
    assert [(one["name"], one["role"], one["token"]) for one in listed] == [
        ("ada", "analyst", "revoked"),
        ("carl", "curator", "active"),
    ]


def test_a_command_that_is_refused_changes_no_limit(tmp_path: Path):
    manifest = str(declare(tmp_path, "clinic", ROWS))
    assert CliRunner().invoke(app, ["analyst", "add", manifest, "ada", "--epsilon", "1"]).exit_code == 0
    before = (tmp_path / "clinic.ledger").read_bytes()
    refusable = (["add", manifest, "ada"], ["limit", manifest, "ben"], ["add", manifest, "Ada"])
    for words in (*refusable, ["limit", manifest], ["project", manifest, "x", "ada", "ben"]):
        refused = CliRunner().invoke(app, ["analyst", *words, "--epsilon", "9"])
        assert isinstance(refused.exception, dp.DiscreetError)
    assert (tmp_path / "clinic.ledger").read_bytes() == before


def test_the_ledger_admits_whoever_is_entered_where_it_lists_who_may_ask(tmp_path: Path):
    manifest = declare(tmp_path, "clinic", ROWS)
    with open_ledger(tmp_path / "clinic.ledger") as ledger:
        ledger.create_dataset("clinic", dp.PureBudget(100000), analysts=["ben"], reason="test")
    assert CliRunner().invoke(app, ["analyst", "add", str(manifest), "ada"]).exit_code == 0
    with dp.open(manifest, analyst="ada") as data:
        assert data.query("SELECT COUNT(*) FROM visits", epsilon=1).receipt.number > 1
    with dp.open(manifest, analyst="eve") as data, pytest.raises(dp.BudgetError):
        data.query("SELECT COUNT(*) FROM visits WHERE stay > 1", epsilon=1)
