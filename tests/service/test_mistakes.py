"""What is wrong with a request is told in plain words, whatever is wrong with it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from tests.service.test_described import ODD
from tests.service.test_direct import HEADERS, Wall
from tests.service.world import COUNT

from discreet.service import records, schema
from discreet.service.mistake import OTHERWISE, mistaken

SENT = [
    one
    for one in (*vars(schema).values(), records.ToSynthesise)
    if isinstance(one, type)
    and issubclass(one, schema.Sent)
    and one is not schema.Sent
    and not one.__name__.startswith("_")
]
MACHINERY = re.compile(
    r"0x|functools|<|function|constrained|Input should|Value error|\[|pydantic|str\b|int\b"
)


def refused(model: type[BaseModel], body: Any) -> str:
    """Return how a body is refused, nothing where it is accepted."""
    try:
        model.model_validate(body)
    except ValidationError as error:
        return mistaken([{**one, "loc": ("body", *one["loc"])} for one in error.errors()]).detail
    return ""


@pytest.mark.parametrize("model", SENT, ids=lambda model: model.__name__)
def test_every_mistake_in_every_member_has_words_that_name_it(model: type[BaseModel]):
    example = (model.model_config.get("json_schema_extra") or {}).get("examples", [{}])[0]
    found = []
    for name in model.model_fields:
        for odd in (*ODD, [1.5] * 200, {"a": 2**80, "b": "\ud800"}, ["x" * 9000], {"rows_per_unit": 0}):
            said = refused(model, {**example, name: odd})
            found += [said] if said else []
            assert OTHERWISE not in said
            assert not MACHINERY.search(said), said
            assert name in said or not said
    assert found
    for body in ([], None, 5, "x"):
        assert refused(model, body).startswith("the body must be an object")
    assert "seed is not known here" in refused(model, example | {"seed": 1})


def test_what_is_expected_is_said_once_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wall = Wall(tmp_path, monkeypatch, straight=True)

    def told(body: Any, verb: str = "quote") -> dict[str, Any]:
        begun, said = wall.ask(verb, HEADERS[0], json.dumps(body).encode())
        assert dict(begun["headers"])[b"content-type"] == b"application/problem+json"
        found: dict[str, Any] = json.loads(said["body"])
        return found

    problem = told({"sql": COUNT, "epsilon": True})
    assert problem["detail"] == "epsilon must be a number, or one as text of at most 256 characters"
    assert problem["type"] == "/problems/parameter"
    assert told({"sql": COUNT, "limits": {"rows_per_unit": 0}})["detail"] == (
        "limits.rows_per_unit must be at least 1"
    )
    assert told({})["detail"] == "sql is missing"
    assert told({"sql": 5, "y" * 500: 1})["detail"] == (
        "sql must be SQL of 1 to 8192 characters, or a list of 1 to 100 such texts; "
        f"{'y' * 60}... is not known here"
    )
    assert told({"sql": "\ud800", "epsilon": 1}, "query")["detail"] == (
        "sql must be valid Unicode, without surrogates"
    )
    assert wall.heads == []


TWICE = [
    b'{"sql": "SELECT 1", "epsilon": "0.1", "epsilon": "9"}',
    b'{"sql": "SELECT 1", "epsilon": "9", "limits": {"rows_per_unit": 1, "rows_per_unit": 2}}',
    b'{"sql": "SELECT 1", "epsilon": "0.1", "epsilon": "0.1"}',
    b'{"sql": "SELECT 1", "epsilon": "9", "parameters": {"a": 1, "\\u0061": 2}}',
]


@pytest.mark.parametrize("straight", [True, False])
@pytest.mark.parametrize("body", TWICE)
def test_a_request_that_says_two_things_is_not_paid_at_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes, straight: bool
):
    wall = Wall(tmp_path, monkeypatch, straight=straight)
    for verb in ("query", "quote"):
        begun, said = wall.ask(verb, HEADERS[0], body)
        problem = json.loads(said["body"])
        assert begun["status"] == problem["status"] == 400
        assert "twice" in problem["detail"]
    assert wall.heads == []


@pytest.mark.parametrize("body", [b"{", b"", b"nul", b'{"sql": NaN}', b'{"sql": "a", "epsilon": Infinity}'])
def test_what_is_not_json_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes):
    wall = Wall(tmp_path, monkeypatch, straight=True)
    begun, _ = wall.ask("query", HEADERS[0], body)
    assert begun["status"] == (400 if body else 422)
    assert wall.heads == []
