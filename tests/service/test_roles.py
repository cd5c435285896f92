"""Every address for every role, and for those who have none: who may, and that the rest learn nothing."""

import json
import re

import pytest
from tests.service.world import BY_WARD, COUNT, ROLES, Service

from discreet.service.role import Role

ONE = "/v1/datasets/clinic"
SPARE = "/v1/datasets/spare"
PRICED = {"sql": COUNT, "epsilon": "0.1"}
STREAM = {"name": "visits", "length": 8, "epsilon": "1", "contribution": 1}
STEP = {"name": "visits", "first": 1, "increments": [1]}
WHY = {"reason": "a test"}
ADDRESSES = {
    "me": ("GET", "/v1/me", None, ROLES),
    "datasets": ("GET", "/v1/datasets", None, ROLES),
    "catalogue": ("GET", ONE, None, ROLES),
    "quote": ("POST", f"{ONE}/quote", PRICED, ("analyst", "curator")),
    "query": ("POST", f"{ONE}/query", PRICED, ("analyst", "curator")),
    "batch": ("POST", f"{ONE}/batch", {"sql": [COUNT], "epsilon": "0.1"}, ("analyst", "curator")),
    "find": ("POST", f"{ONE}/find", PRICED, ("analyst", "curator")),
    "synthesise": (
        "POST",
        f"{ONE}/synthesise",
        {"epsilon": "0.1", "columns": ["ward"]},
        ("analyst", "curator"),
    ),
    "budget": ("GET", f"{ONE}/budget", None, ROLES),
    "history": ("GET", f"{ONE}/history", None, ROLES),
    "metrics": ("GET", "/metrics", None, ("auditor", "curator")),
    "stream": ("POST", f"{SPARE}/streams", STREAM, ("analyst", "curator")),
    "step": ("POST", f"{SPARE}/steps", STEP, ("analyst", "curator")),
    "steps": ("GET", f"{SPARE}/steps?stream=visits", None, ("analyst", "curator")),
    "people": ("GET", f"{SPARE}/people", None, ("curator",)),
    "enter": ("POST", f"{SPARE}/people", {"name": "zoe", **WHY}, ("curator",)),
    "limit of one": ("POST", f"{SPARE}/people/leaver/limit", {"per_day": "9", **WHY}, ("curator",)),
    "rotate": ("POST", f"{SPARE}/people/leaver/rotate", {}, ("curator",)),
    "revoke": ("POST", f"{SPARE}/people/leaver/revoke", None, ("curator",)),
    "limit": ("POST", f"{SPARE}/limit", {"per_question": "50000", **WHY}, ("curator",)),
    "cap": ("POST", f"{SPARE}/cap", {"epsilon": 200000, "known": ["pure", "100000"], **WHY}, ("curator",)),
    "verify": ("POST", f"{SPARE}/verify", None, ("auditor", "curator")),
    "head": ("GET", f"{SPARE}/head", None, ("auditor", "curator")),
}
"""Who may use an address; a step that was taken may be read by sending it again."""


def nameless(path: str) -> str:
    return re.sub(r"clinic|spare", "{dataset}", path)


def test_the_table_names_every_address_that_needs_a_token(service: Service):
    described = service.ask("GET", "/openapi.json", who=None).json()["paths"]
    named = {
        nameless(path).replace("leaver", "{name}").partition("?")[0] for _, path, _, _ in ADDRESSES.values()
    }
    open_to_all = {"/health", "/problems/{kind}"}
    assert set(described) - open_to_all == named | {"/v1/datasets/{dataset}/receipt"}


@pytest.mark.parametrize("name", ADDRESSES)
def test_each_address_answers_the_roles_it_is_for_and_no_others(service: Service, name: str):
    method, path, body, allowed = ADDRESSES[name]
    if name in ("step", "steps"):
        service.ask("POST", f"{SPARE}/streams", STREAM)
    if name == "cap":
        now = service.ask("GET", f"{SPARE}/budget").json()["limits"][0]["budget"]
        body = {**body, "known": now, "epsilon": int(now[1]) + 1}
    for role in ROLES:
        assert service.ask(method, path, body, who=role).status == (200 if role in allowed else 403)


@pytest.mark.parametrize("name", ADDRESSES)
def test_whoever_has_no_good_token_is_told_the_same_everywhere(service: Service, name: str):
    method, path, body, _ = ADDRESSES[name]
    good = service.tokens["analyst"]
    wrong = good[:-1] + ("0" if good[-1] != "0" else "1")
    unknown = "dsc_" + "0" * 16 + "_" + "0" * 64
    told = {
        service.ask(method, path, body, who=None).body,
        service.ask(method, path, body, who=wrong).body,
        service.ask(method, path, body, who=unknown).body,
        service.ask(method, path, body, who="nonsense").body,
        service.ask(method, path, body, who=None, Authorization=f"Basic {good}").body,
        service.ask(method, f"{path}/nowhere", body, who=None).body,
    }
    assert len(told) == 1
    assert json.loads(told.pop())["status"] == 401


@pytest.mark.parametrize("name", [name for name, (_, path, *_) in ADDRESSES.items() if "{" in nameless(path)])
def test_what_is_not_yours_and_what_does_not_exist_look_the_same(service: Service, name: str):
    method, path, body, allowed = ADDRESSES[name]
    who = "analyst" if "analyst" in allowed else "curator"
    stranger = "stranger" if "analyst" in allowed else "elsewhere"
    if stranger == "elsewhere" and not service.people.knows(stranger):
        service.tokens[stranger] = service.people.add(stranger, Role.CURATOR, "other")
    nowhere = nameless(path).format(dataset="nowhere")
    answers = [
        service.ask(method, path, body, who=stranger),
        service.ask(method, nowhere, body, who=stranger),
        service.ask(method, nowhere, body, who=who),
    ]
    assert {answer.status for answer in answers} == {404}
    assert len({answer.body for answer in answers}) == 1


def test_a_token_is_worth_nothing_the_moment_it_is_revoked_or_rotated(service: Service):
    first = service.people.add("ben", Role.ANALYST, "clinic")
    assert service.ask("GET", "/v1/me", who=first).json()["name"] == "ben"
    second = service.people.rotate("ben")
    assert service.ask("GET", "/v1/me", who=first).status == 401
    assert service.ask("GET", "/v1/me", who=second).status == 200
    service.people.revoke("ben")
    assert service.ask("GET", "/v1/me", who=second).status == 401


def test_an_analyst_sees_their_own_history_and_spending_and_an_auditor_everybodys(service: Service):
    asked = {
        role: service.query(BY_WARD, epsilon, who=role)
        for role, epsilon in (("analyst", "0.11"), ("curator", "0.12"))
    }
    assert {reply.status for reply in asked.values()} == {200}
    own = service.ask("GET", f"{ONE}/history", who="analyst").json()["entries"]
    everybody = service.ask("GET", f"{ONE}/history", who="auditor").json()["entries"]
    assert {entry["analyst"] for entry in own if "analyst" in entry} == {"analyst"}
    assert {"analyst", "curator"} <= {entry.get("analyst") for entry in everybody}
    answered = {entry["reservation"] for entry in own if entry["event"] == "answered"}
    # Others who use this service may have a stream that goes on.
    assert answered <= {entry["number"] for entry in own if entry["event"] == "reserved"}
    assert int(asked["analyst"].json()["receipt"].split("/")[1]) in {entry["number"] for entry in own}
    assert int(asked["curator"].json()["receipt"].split("/")[1]) not in {entry["number"] for entry in own}
    spent = service.ask("GET", f"{ONE}/budget", who="analyst").json()["spent"]
    assert {one["analyst"] for one in spent} == {"analyst"}
    assert "curator" not in service.ask("GET", f"{ONE}/budget", who="analyst").body.decode()


def test_a_receipt_is_checked_for_whoever_holds_it_and_a_forged_one_is_nothing(service: Service):
    receipt = service.query(COUNT).json()["receipt"]
    proved = service.ask("POST", f"{ONE}/receipt", {"receipt": receipt}, who="auditor")
    assert (proved.status, proved.json()["event"]) == (200, "answered")
    number = int(receipt.split("/")[1])
    moved = receipt.replace(f"/{number}/", f"/{number - 1}/")
    foreign = receipt.rpartition("/")[0] + "/other"
    for forged in (moved, foreign, "x/1/2/clinic", "x/99999999999999999999/2/clinic"):
        assert service.ask("POST", f"{ONE}/receipt", {"receipt": forged}).status == 404
    assert service.ask("POST", f"{ONE}/receipt", {"receipt": "nonsense"}).status == 422
