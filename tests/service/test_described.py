"""Every address that the description names, asked with what it describes and with what is not far from it."""

import json
import random
from typing import Any
from urllib.parse import quote

import pytest
from tests.service.openapi import Document, Operation, operations, validator
from tests.service.world import Service

NAMES = ("clinic", "clinic", "other", "nowhere", "analyst", "a b", "\0", "é", "x" * 70)
ODD = (
    None,
    True,
    -1,
    0,
    2**70,
    0.5,
    1e308,
    "",
    "x",
    "1/10",
    "-1",
    "\ud800",
    [],
    {},
    [[]],
    {"a": {}},
    "x" * 9000,
)


def examples(document: Document) -> list[tuple[Operation, Any, list[str]]]:
    """Return each operation with an example of a body that it takes, and the words of its address."""
    found = []
    for one in operations(document):
        content = one.said.get("requestBody", {}).get("content", {}).get("application/json", {})
        name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
        taken = document["components"]["schemas"].get(name, {}).get("examples", [{}])
        queries = [word["name"] for word in one.said.get("parameters", ()) if word["in"] == "query"]
        found.append((one, taken[0] if content else None, queries))
    return found


def sent(example: Any, chance: random.Random) -> bytes | None:
    """Return an example, or something near it, as bytes."""
    if example is None or not chance.randrange(20):
        return None if chance.randrange(4) else chance.randbytes(30)
    body = dict(example)
    for _ in range(chance.randrange(3)):
        name = chance.choice([*body, "epsilon", "sql", "parameters", "limits", "seed"])
        if chance.randrange(4):
            body[name] = chance.choice(ODD)
        else:
            body.pop(name, None)
    return json.dumps(body).encode()


def search(service: Service, count: int, chance: random.Random) -> None:
    """Send so many requests of people who may not change who is entered."""
    document = service.ask("GET", "/openapi.json", who=None).json()
    known = examples(document)
    for _ in range(count):
        one, example, queries = chance.choice(known)
        path = one.path
        for part in ("dataset", "name", "kind"):
            path = path.replace(f"{{{part}}}", quote(chance.choice(NAMES), safe=""))
        assert "{" not in path
        words = [f"{name}={quote(str(chance.choice(ODD[:11])))}" for name in queries if chance.randrange(3)]
        who = chance.choice(("analyst", "analyst", "auditor", "stranger", None))
        verb = one.method if chance.randrange(15) else chance.choice(("PUT", "DELETE", "PATCH"))
        headers = {"Content_Type": "application/json"} if chance.randrange(15) else {}
        address = f"{path}?{'&'.join(words)}" if words else path
        answer = service.ask(verb, address, sent(example, chance), who=who, **headers)
        assert answer.headers["cache-control"] == "no-store"
        assert answer.status != 500, (verb, address, answer)
        assert answer.status == 200 or answer.json()["status"] == answer.status
        if verb == one.method:
            form = answer.headers["content-type"].partition(";")[0]
            described = one.forms(answer.status)
            assert form in described, (verb, address, answer)
            if form.endswith("json"):
                validator(document, described[form]["schema"]).validate(answer.json())
    assert service.ask("POST", "/v1/datasets/clinic/verify", who="auditor").status == 200


def test_whatever_is_near_the_description_is_answered_as_described(service: Service):
    search(service, 60, random.Random())


@pytest.mark.fuzz
def test_thousands_near_the_description_are_answered_as_described(service: Service):
    search(service, 5_000, random.Random())
