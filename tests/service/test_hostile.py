"""What a hostile analyst sends: questions that must be refused, shapes that are none, too much, too often.

Whatever comes, the service answers with a stated problem, the ledger does not move, and nobody else notices.
"""

import json
import socket
import ssl
from contextlib import suppress
from typing import Any

import pytest
from tests.attacks.test_sql_refused import CORPUS
from tests.service.world import COUNT, Service

from discreet.service.problem import KINDS

QUERY = "/v1/datasets/clinic/query"
STATED = {kind.status for kind in KINDS.values()} | {200}


@pytest.fixture(autouse=True)
def unmoved(service: Service):
    """The ledger is the same after each of these tests, and the service still answers."""
    before = service.spent()
    yield
    assert service.spent() == before
    assert service.ask("GET", "/health", who=None).json() == {"status": "ok"}


def test_hostile_questions_are_refused_with_clause_reason_and_what_works_instead(service: Service):
    for question, _ in CORPUS[::10]:
        answer = service.query(question)
        assert (answer.status, answer.headers["content-type"]) == (422, "application/problem+json")
        body = answer.json()
        assert body["clause"]
        assert body["reason"]
        assert body["instead"]


BODIES: dict[str, Any] = {
    "nothing": b"",
    "no JSON": b"SELECT 1",
    "half of it": b'{"sql": "SELECT',
    "a list": b"[]",
    "null": b"null",
    "deep": b"[" * 30_000,
    "deep objects": b'{"a":' * 10_000,
    "many digits": b'{"sql": "x", "epsilon": ' + b"9" * 20_000 + b"}",
    "huge exponent": json.dumps({"sql": COUNT, "epsilon": "1e999999999"}).encode(),
    "not finite": b'{"sql": "SELECT COUNT(*) FROM visits", "epsilon": NaN}',
    "infinite": b'{"sql": "SELECT COUNT(*) FROM visits", "epsilon": Infinity}',
    "surrogate": b'{"sql": "SELECT COUNT(*) AS \\ud800 FROM visits", "epsilon": 1}',
    "not UTF-8": b'{"sql": "\xff\xfe", "epsilon": 1}',
    "a seed": json.dumps({"sql": COUNT, "epsilon": 1, "seed": 7}).encode(),
    "another name": json.dumps({"sql": COUNT, "epsilon": 1, "analyst": "curator"}).encode(),
    "a number for SQL": json.dumps({"sql": 5, "epsilon": 1}).encode(),
    "long SQL": json.dumps({"sql": COUNT + " " * 9000, "epsilon": 1}).encode(),
    "wide limits": json.dumps({"sql": COUNT, "epsilon": 1, "limits": {"rows_per_unit": 0}}).encode(),
    "truth for a price": json.dumps({"sql": COUNT, "epsilon": True}).encode(),
    "beyond every number": b'{"sql": "SELECT COUNT(*) FROM visits", "epsilon": 1, "within": 1e999}',
    "endlessly sure": b'{"sql": "SELECT COUNT(*) FROM visits", "epsilon": 1, "confidence": 1e999}',
    "truth for a limit": json.dumps({"sql": COUNT, "epsilon": 1, "limits": {"rows_per_unit": True}}).encode(),
    "a negative price": json.dumps({"sql": COUNT, "epsilon": "-1"}).encode(),
    "words for a price": json.dumps({"sql": COUNT, "epsilon": "__import__('os')"}).encode(),
}


@pytest.mark.parametrize("case", BODIES)
def test_bodies_that_are_no_question_are_problems_of_whoever_sent_them(service: Service, case: str):
    answer = service.ask("POST", QUERY, BODIES[case], Content_Type="application/json")
    assert answer.status in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status


def test_what_is_too_large_is_not_read_to_its_end(service: Service):
    assert service.ask("POST", QUERY, b"x" * 70_000, Content_Type="application/json").status == 413
    big = {"sql": [COUNT] * 101, "epsilon": 1}
    assert service.ask("POST", "/v1/datasets/clinic/batch", big).status == 422


@pytest.mark.parametrize("key", ["x" * 101, "a b", "", "\x7f", "é"])
def test_keys_that_could_be_taken_for_others_are_refused(service: Service, key: str):
    # A control character is not even a header.
    assert service.query(COUNT, Idempotency_Key=key).status == (400 if key == "\x7f" else 422)


def test_methods_and_addresses_that_do_not_exist_are_said_not_to(service: Service):
    assert service.ask("DELETE", QUERY).status == 405
    assert service.ask("GET", QUERY).status == 405
    for path in ("/v1", "/v2/me", "/docs", "/redoc", "//v1/me", "/v1/me/", "/v1/datasets/../me"):
        assert service.ask("GET", path).status == 404, path
    assert service.ask("GET", "/v1/datasets/%2e%2e%2fclinic.toml").status == 404
    assert service.ask("GET", "/v1/datasets/clinic/history?last=0").status == 422


def raw(service: Service, *parts: bytes) -> bytes:
    """Send bytes as they are and return what comes back until the other side closes or falls silent."""
    with (
        socket.create_connection(("localhost", service.port), timeout=20) as plain,
        service.tls().wrap_socket(plain, server_hostname="localhost") as line,
    ):
        said = b""
        with suppress(TimeoutError, ssl.SSLError, ConnectionError):
            for part in parts:
                line.sendall(part)
            line.settimeout(3)
            while more := line.recv(65536):
                said += more
        return said


def shapes(token: str) -> dict[str, bytes]:
    head = f"POST {QUERY} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n".encode()
    kind, hidden = b"Content-Type: application/json\r\n", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    return {
        "two lengths": head + kind + b"Content-Length: 4\r\nContent-Length: 60\r\n\r\nnull" + hidden,
        "length and chunks": head
        + kind
        + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        + hidden,
        "spelt oddly": head + kind + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden,
        "a space before the colon": head + kind + b"Content-Length : 4\r\n\r\nnull" + hidden,
        "a folded line": head + b"Content-\r\n Length: 4\r\n\r\nnull" + hidden,
        "a bare line feed": head.replace(b"\r\n", b"\n") + kind + b"Content-Length: -1\n\n" + hidden,
        "a negative length": head + kind + b"Content-Length: -1\r\n\r\n" + hidden,
        "two tokens": head + f"Authorization: Bearer {token}\r\n".encode() + b"Content-Length: 0\r\n\r\n",
        "not HTTP": bytes(range(256)) * 4,
        "a long line": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        "no host": head.replace(b"Host: x\r\n", b"") + b"Content-Length: 0\r\n\r\n",
        "two hosts": head + b"Host: y\r\nContent-Length: 0\r\n\r\n",
        "another protocol": head
        + b"Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n"
        + hidden,
        "a header behind the body": head.replace(token.encode(), b"none")
        + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
        + f"Authorization: Bearer {token}\r\n\r\n".encode(),
    }


@pytest.mark.parametrize("case", shapes(""))
def test_requests_of_two_meanings_have_none(service: Service, case: str):
    said = raw(service, shapes(service.tokens["curator"])[case])
    statuses = [int(line.split()[1]) for line in said.split(b"\r\n") if line.startswith(b"HTTP/1.1")]
    assert all(400 <= status < 500 for status in statuses), said
    assert b"discreet_requests" not in said


def test_half_a_request_keeps_nobody_waiting(service: Service):
    with socket.create_connection(("localhost", service.port), timeout=20) as plain:
        plain.sendall(b"\x16\x03\x01")
        with service.tls().wrap_socket(
            socket.create_connection(("localhost", service.port), timeout=20), server_hostname="localhost"
        ) as line:
            line.sendall(b"POST /v1/datasets/clinic/query HTTP/1.1\r\nHost: x\r\nContent-")
            assert service.ask("GET", "/v1/me").status == 200


def test_a_request_in_plain_text_gets_nothing(service: Service):
    with socket.create_connection(("localhost", service.port), timeout=20) as plain:
        plain.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        with suppress(ConnectionError):
            assert b"ok" not in plain.recv(1000)


def test_every_answer_carries_the_guarding_headers(service: Service):
    for answer in (service.ask("GET", "/v1/me"), service.ask("GET", "/v1/me", who=None)):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "strict-transport-security" in answer.headers
        assert "server" not in answer.headers


def test_the_description_states_every_problem_and_names_examples(service: Service):
    described = service.ask("GET", "/openapi.json", who=None).json()
    for path, methods in described["paths"].items():
        for operation in methods.values():
            assert operation["summary"], path
    assert described["components"]["schemas"]["Question"]["examples"]
    for kind in KINDS:
        assert service.ask("GET", f"/problems/{kind}", who=None).json()["title"] == KINDS[kind].title
