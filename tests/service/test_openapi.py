"""What the service says of itself can be used by somebody who knows nothing else of it."""

import copy
import json
from types import SimpleNamespace
from typing import Any

import pyarrow
import pytest
from tests.service.openapi import Document, Operation, faults, operations, validator
from tests.service.world import COUNT, Service, exchange

from discreet.service import api
from discreet.service.gate import OPEN, Gate
from discreet.service.people import FILE, People
from discreet.service.problem import MEDIA_TYPE, PLACE
from discreet.service.role import Role
from discreet.service.settings import Settings
from discreet.service.way import ACCEPTED


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    folder = tmp_path_factory.mktemp("described")
    people = People(folder / FILE)
    people.add("ada", Role.ANALYST, "clinic")
    pool: Any = SimpleNamespace(ask=None, datasets=frozenset({"clinic"}))
    return api.application(pool, people, Settings((folder,), folder / FILE))


def said(gate: Gate, method: str, path: str) -> tuple[int, str, Any]:
    """Return what somebody without a token is told: a status, a form, and a body."""
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}
    begun, body = exchange(gate, scope, {"type": "http.request", "body": b"", "more_body": False})
    form = dict(begun["headers"])[b"content-type"].decode()
    return begun["status"], form, json.loads(body["body"])


@pytest.fixture(scope="module")
def document(gate: Gate) -> Document:
    found: Document = said(gate, "GET", "/openapi.json")[2]
    return found


def test_the_description_keeps_the_rules_and_every_reference_is_something(document: Document):
    assert faults(document) == []
    assert len(operations(document)) > 20


def broken(document: Document, how: str) -> Document:
    twin = copy.deepcopy(document)
    quote = twin["paths"]["/v1/datasets/{dataset}/quote"]["post"]
    match how:
        case "reference":
            del twin["components"]["schemas"]["ProblemShown"]
        case "scheme":
            del twin["components"]["securitySchemes"]
        case "description":
            del quote["responses"]["422"]["description"]
        case "schema":
            twin["components"]["schemas"]["Question"]["properties"]["sql"]["maxLength"] = "8192"
        case "parameter":
            quote["parameters"] = []
        case "name":
            quote["operationId"] = twin["paths"]["/health"]["get"]["operationId"]
        case "member":
            quote["reponses"] = {}
    return twin


@pytest.mark.parametrize(
    "how", ["reference", "scheme", "description", "schema", "parameter", "name", "member"]
)
def test_a_description_that_breaks_a_rule_is_found_out(document: Document, how: str):
    assert faults(broken(document, how))


def secured(document: Document, one: Operation) -> bool:
    return bool(one.said.get("security", document["security"]))


def test_what_needs_a_token_says_so_and_the_rest_does_not(document: Document, gate: Gate):
    for one in operations(document):
        status = said(gate, one.method, one.path)[0]
        assert secured(document, one) == (status == 401), one.path
        assert secured(document, one) != (one.path in OPEN or one.path.startswith(PLACE))
        assert ("401" in one.said["responses"]) == secured(document, one)
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_every_refusal_is_described_as_the_problem_that_it_is(document: Document, gate: Gate):
    for one in operations(document):
        for status in map(int, one.said["responses"]):
            forms = one.forms(status)
            if status != 200:
                assert [*forms] == [MEDIA_TYPE], (one.path, status)
                assert forms[MEDIA_TYPE]["schema"] == {"$ref": "#/components/schemas/ProblemShown"}
        status, form, body = said(gate, one.method, one.path)
        assert form in one.forms(status)
        assert validator(document, one.forms(status)[form]["schema"]).is_valid(body)
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_each_form_that_is_described_is_answered_and_no_other(service: Service):
    document = service.ask("GET", "/openapi.json", who=None).json()
    bodies = {
        "/query": {"sql": COUNT, "epsilon": "0.1"},
        "/quote": {"sql": COUNT, "epsilon": "0.1"},
        "/batch": {"sql": [COUNT], "epsilon": "0.1"},
        "/find": {"sql": COUNT, "epsilon": "0.1"},
        "/synthesise": {"epsilon": "0.1", "columns": ["ward"], "rows": 3},
    }
    asked = 0
    for one in operations(document):
        body = next((body for end, body in bodies.items() if one.path.endswith(end)), None)
        if body is None:
            continue
        path, asked = one.path.replace("{dataset}", "clinic"), asked + 1
        for wanted in ("application/json", *ACCEPTED):
            answer = service.ask(one.method, path, body, Accept=wanted)
            form = answer.headers["content-type"].partition(";")[0]
            assert answer.status == 200
            assert form == (wanted if wanted in one.forms(200) else "application/json")
            if form == "application/json":
                assert validator(document, one.forms(200)[form]["schema"]).is_valid(answer.json())
            if form.endswith("arrow.stream"):
                assert pyarrow.ipc.open_stream(answer.body).read_all().num_rows
    assert asked == len(bodies)
    counts = next(one for one in operations(document) if one.path == "/metrics")
    told = service.ask("GET", "/metrics", who="auditor").headers["content-type"]
    assert [told.partition(";")[0]] == [*counts.forms(200)]
