"""Every address that the description names, asked with what it describes and with what is not far from it."""

import json
import random
from typing import Any
from urllib.parse import quote

import pytest
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
BESIDE = {400, 401, 403, 404, 405, 413, 422}
"""What anybody can be told wherever they are, besides what is stated there."""


def operations(service: Service) -> list[tuple[str, str, dict[str, Any], set[int]]]:
    """Return each method and address with an example of what it takes and the statuses it states."""
    described = service.ask("GET", "/openapi.json", who=None).json()
    found = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
            examples = described["components"]["schemas"].get(name, {}).get("examples", [{}])
            queries = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
            example = {"body": examples[0] if content else None, "query": queries}
            found.append((method.upper(), path, example, {int(status) for status in operation["responses"]}))
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
    known = operations(service)
    for _ in range(count):
        method, path, example, stated = chance.choice(known)
        for part in ("dataset", "name", "kind"):
            path = path.replace(f"{{{part}}}", quote(chance.choice(NAMES), safe=""))
        assert "{" not in path
        words = [
            f"{name}={quote(str(chance.choice(ODD[:11])))}"
            for name in example["query"]
            if chance.randrange(3)
        ]
        who = chance.choice(("analyst", "analyst", "auditor", "stranger", None))
        verb = method if chance.randrange(15) else chance.choice(("PUT", "DELETE", "PATCH"))
        headers = {"Content_Type": "application/json"} if chance.randrange(15) else {}
        address = f"{path}?{'&'.join(words)}" if words else path
        answer = service.ask(verb, address, sent(example["body"], chance), who=who, **headers)
        assert answer.status in (stated | BESIDE) - {500}, (verb, address, answer)
        assert answer.headers["cache-control"] == "no-store"
        assert answer.status == 200 or answer.json()["status"] == answer.status
    assert service.ask("POST", "/v1/datasets/clinic/verify", who="auditor").status == 200


def test_whatever_is_near_the_description_is_answered_as_described(service: Service):
    search(service, 60, random.Random())


@pytest.mark.fuzz
def test_thousands_near_the_description_are_answered_as_described(service: Service):
    search(service, 5_000, random.Random())
