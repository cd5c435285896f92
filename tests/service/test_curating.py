"""A curator over HTTP: people and tokens, limits that bind at once, the cap, and what proves the ledger."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.service.world import COUNT, Service

from discreet.errors import ConflictError
from discreet.ledger import Receipt, open_ledger
from discreet.service.curating import enter as enter_person
from discreet.service.curating import unfree
from discreet.service.people import FILE, People
from discreet.service.role import Role

SPARE = "/v1/datasets/spare"
WHY = {"reason": "agreed in June"}


def decide(service: Service, place: str, body: Any = None, who: str = "curator") -> Any:
    return service.ask("POST", f"{SPARE}/{place}", body, who=who)


def enter(service: Service, name: str, **limits: str) -> str:
    said = decide(service, "people", {"name": name, **limits, **WHY})
    assert said.status == 200, said.body
    return str(said.json()["token"])


def test_who_is_entered_asks_within_the_limits_they_were_given(service: Service):
    token = enter(service, "ida", epsilon="0.45", per_question="0.2", per_day="0.25")
    ask = {"dataset": "spare", "who": token}
    assert service.query(COUNT, "0.2", **ask).status == 200
    assert service.query(COUNT, "0.2", **ask).json()["free"] is True
    dear = service.query(COUNT, "0.21", **ask)
    assert dear.status == 402
    assert "limit per question on analyst ida" in dear.json()["detail"]
    late = service.query(COUNT, "0.06", **ask)
    assert late.status == 402
    assert "limit per day on analyst ida" in late.json()["detail"]
    quoted = service.ask("POST", f"{SPARE}/quote", {"sql": COUNT, "epsilon": "0.01"}, who=token).json()
    assert (quoted["questions_left"], quoted["questions_today"]) == (25, 5)
    budget = service.ask("GET", f"{SPARE}/budget", who=token).json()
    assert [one["per"] for one in budget["paces"] if one["analyst"] == "ida"] == ["question", "day"]
    assert decide(service, "people/ida/limit", {"per_day": "none", **WHY}).status == 200
    assert service.query(COUNT, "0.06", **ask).status == 200
    refused = service.query(COUNT, "0.195", **ask)
    assert "the limit on analyst ida" in refused.json()["detail"]


def test_a_project_is_limited_over_http_and_binds_whoever_works_for_it(service: Service):
    token = enter(service, "jo")
    assert decide(service, "limit", {"epsilon": "0.2", **WHY}).status == 422
    said = decide(service, "limit", {"project": "Queues", "epsilon": "0.2", **WHY})
    assert said.json() == {"analyst": None, "project": "queues"}
    assert service.query(COUNT, "0.11", dataset="spare", who=token).status == 200
    service.people.assign("jo", "spare", "queues")
    refused = service.query(f"{COUNT} WHERE cost > 7", "0.21", dataset="spare", who=token)
    assert "the limit on project queues" in refused.json()["detail"]
    seen = service.ask("GET", f"{SPARE}/budget", who="analyst").json()
    assert "queues" not in json.dumps(seen)


def test_a_day_of_everybody_together_binds_whoever_asks(service: Service):
    assert decide(service, "limit", {"per_question": "0.5", **WHY}).status == 200
    for who in ("analyst", "curator"):
        said = service.query(COUNT, "0.6", dataset="spare", who=who)
        assert "limit per question on all of dataset spare" in said.json()["detail"]
    assert decide(service, "limit", {"per_question": "none", **WHY}).status == 200
    assert service.query(COUNT, "0.6", dataset="spare").status == 200


def test_tokens_are_made_replaced_and_ended_at_once(service: Service):
    token = enter(service, "joe")
    assert decide(service, "people", {"name": "joe", **WHY}).status == 409
    new = decide(service, "people/joe/rotate", {"days": 3}).json()["token"]
    assert service.ask("GET", "/v1/me", who=token).status == 401
    assert service.ask("GET", "/v1/me", who=new).json()["name"] == "joe"
    assert decide(service, "people/joe/revoke").json()["name"] == "joe"
    assert service.ask("GET", "/v1/me", who=new).status == 401
    listed = service.ask("GET", f"{SPARE}/people", who="curator").json()["people"]
    assert {one["name"]: one["token"] for one in listed}["joe"] == "revoked"
    assert "stranger" not in {one["name"] for one in listed}
    assert not {"hash", "number"} & set(listed[0])


def test_a_name_that_cannot_be_entered_does_not_tell_whose_it_is(service: Service):
    if not service.people.knows("gone"):
        service.people.add("gone", Role.ANALYST, "other")
        service.people.revoke("gone")
    before, told = service.spent("spare"), []
    # Somebody of this dataset, of another one only, a curator, and one of another dataset who was revoked.
    for name in ("leaver", "stranger", "curator", "gone"):
        said = decide(service, "people", {"name": name, **WHY})
        assert said.status == 409
        told.append({key: str(value).replace(name, "NAME") for key, value in said.json().items()})
    assert told == [told[0]] * 4
    assert not {"already", "dataset", "entered for", "other"} & set(told[0]["detail"].split())
    assert service.spent("spare") == before


def test_two_who_enter_one_name_at_once_are_told_the_same(tmp_path: Path):
    people = People(tmp_path / FILE)
    people.add("ada", Role.ANALYST, "other")
    with pytest.raises(ConflictError) as late:
        enter_person(people, "ada", Role.ANALYST, "spare", days=3)
    assert str(late.value) == str(unfree("ada"))
    (ada,) = people.all()
    assert ada.datasets == {"other"}


def test_a_curator_makes_no_curators_and_changes_no_token_of_one_or_of_strangers(service: Service):
    assert decide(service, "people", {"name": "eve", "role": "curator", **WHY}).status == 422
    for verb in ("rotate", "revoke"):
        assert decide(service, f"people/curator/{verb}", {}).status == 403
        assert decide(service, f"people/stranger/{verb}", {}).status == 404
        assert decide(service, f"people/nobody/{verb}", {}).status == 404
    if not service.people.knows("both"):
        service.people.add("both", Role.ANALYST, "spare")
        service.people.allow("both", "other")
    assert decide(service, "people/both/rotate", {}).status == 403
    assert decide(service, "people/stranger/limit", {"epsilon": 1, **WHY}).status == 404


@pytest.mark.parametrize(
    "body",
    [
        {"epsilon": "0", **WHY},
        {"epsilon": "-1", **WHY},
        {"epsilon": "none", **WHY},
        {"per_day": "much", **WHY},
        {"per_question": "1/0", **WHY},
        {"epsilon": 1},
        {"epsilon": 1, "reason": ""},
        {"epsilon": 1, "analyst": "curator", **WHY},
    ],
)
def test_a_limit_that_is_not_understood_changes_nothing(service: Service, body: dict[str, Any]):
    before = service.spent("spare")
    assert decide(service, "people/leaver/limit", body).status == 422
    assert decide(service, "people", {"name": "never", **body}).status == 422
    assert service.spent("spare") == before
    assert not service.people.knows("never")


def test_a_cap_is_raised_once_and_every_worker_shows_it(service: Service):
    known = service.ask("GET", f"{SPARE}/budget", who="curator").json()["limits"][0]["budget"]
    wanted = int(known[1]) + 7
    body = {"epsilon": wanted, "known": known, **WHY}
    assert decide(service, "cap", body).json()["cap"] == ["pure", str(wanted)]
    assert decide(service, "cap", body).status == 409
    assert service.ask("GET", SPARE).json()["budget"]["epsilon"] == str(wanted)
    lower = {"epsilon": wanted - 1, "known": ["pure", str(wanted)], **WHY}
    assert decide(service, "cap", lower).status == 422
    history = service.ask("GET", f"{SPARE}/history", who="auditor").json()["entries"]
    assert history[-1]["reason"] == "agreed in June (curator, over HTTP)"
    assert f"epsilon = {wanted}" in (service.folder / "spare.toml").read_text()


def test_the_receipt_of_the_newest_entry_shows_what_a_backup_lacks(service: Service):
    before = Receipt.parse(service.ask("GET", f"{SPARE}/head", who="auditor").json()["receipt"])
    assert service.query(COUNT, "0.37", dataset="spare").status == 200
    after = Receipt.parse(service.ask("GET", f"{SPARE}/head", who="curator").json()["receipt"])
    assert after.number == before.number + 2
    with open_ledger(service.folder / "spare.ledger") as ledger:
        assert ledger.verify_receipt(after).number == after.number
        assert ledger.newest("spare") == after
    verified = decide(service, "verify", who="auditor").json()
    assert verified["trusted"] is True
    assert verified["entries"] == after.number


def test_the_register_is_not_touched_by_who_may_not(service: Service):
    register = Path(service.folder / FILE)
    before = register.read_bytes()
    for who in ("analyst", "auditor", "stranger"):
        for place in ("people", "people/leaver/rotate", "people/leaver/revoke", "people/leaver/limit"):
            assert decide(service, place, {"name": "eve", **WHY}, who=who).status in (403, 404, 422)
    assert register.read_bytes() == before
    assert isinstance(service.people, People)
