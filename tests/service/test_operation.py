"""How a service is run: its file of settings, its counts, and its patience with those who say nothing."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from tests.service.world import ROWS, certify, declare
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import ParameterError
from discreet.service.config import configured
from discreet.service.metrics import measured, tell
from discreet.service.patience import patient
from discreet.service.people import FILE, People
from discreet.service.role import Role
from discreet.service.serving import PromptServer, _serve
from discreet.service.settings import Settings
from discreet.service.wire.door import PostgresDoor
from discreet.service.wire.fault import Gone

FILE_OF_SETTINGS = """
manifests = ["clinic.toml", "more/other.toml"]
host = "127.0.0.1"
port = 9000
rate = 5
slot = 0.5
plain_text = false
postgres_port = 5433
people = "somebody"
"""


def test_one_file_says_how_a_service_is_run(tmp_path: Path):
    (tmp_path / "serve.toml").write_text(FILE_OF_SETTINGS)
    found = configured(tmp_path / "serve.toml")
    assert found.manifests == (tmp_path / "clinic.toml", tmp_path / "more" / "other.toml")
    assert (found.port, found.rate, found.burst, found.slot) == (9000, 5, 10, 0.5)
    assert (found.people, found.postgres_port) == (tmp_path / "somebody", 5433)
    (tmp_path / "least.toml").write_text('manifests = ["clinic.toml"]')
    assert configured(tmp_path / "least.toml").people == tmp_path / FILE


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("colour = 1", "no setting"),
        ('port = "9000"', "port is a whole number"),
        ("port = true", "port is a whole number"),
        ("slot = true", "slot is a number"),
        ("host = 5", "host is a text"),
        ("plain_text = 1", "true or false"),
        ("key = 7", "key is a text"),
        ('host = "0.0.0.0"', "plain-text"),
        ("workers = 0", "workers"),
        ("manifests = []", "manifests"),
        ("=", "cannot be read"),
    ],
)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, line: str, said: str):
    place = tmp_path / "serve.toml"
    place.write_text(line if line.startswith("manifests") else f'manifests = ["clinic.toml"]\n{line}\n')
    with pytest.raises(ParameterError, match=said):
        configured(place)


def test_a_file_and_options_do_not_contradict_each_other(tmp_path: Path):
    manifest = declare(tmp_path, "clinic", ROWS)
    (tmp_path / "serve.toml").write_text('manifests = ["clinic.toml"]')
    for words in (["--port", "1"], [str(manifest)], ["--plain-text"]):
        done = CliRunner().invoke(app, ["serve", "--config", str(tmp_path / "serve.toml"), *words])
        assert isinstance(done.exception, ParameterError)
        assert "into the file" in str(done.exception)
    assert isinstance(CliRunner().invoke(app, ["serve"]).exception, ParameterError)


def test_a_certificate_that_is_none_is_refused_before_an_address_is_told(tmp_path: Path):
    manifest, (certificate, key), told = declare(tmp_path, "clinic", ROWS), certify(tmp_path), []
    People(tmp_path / FILE).add("ada", Role.ANALYST, "clinic")
    (tmp_path / "other").mkdir()
    _, another = certify(tmp_path / "other")
    for one, two in ((key, certificate), (certificate, another), (manifest, key)):
        settings = Settings((manifest,), tmp_path / FILE, port=0, certificate=one, key=two)
        with pytest.raises(ParameterError, match="belong together"):
            asyncio.run(_serve(settings, told.append, None))
    assert told == []


def test_nobody_is_waited_for_by_a_door_that_closes_or_for_ever_by_one_that_is_open():
    async def nothing() -> Any:
        await asyncio.Event().wait()

    for closing, idle, state in ((True, 600.0, "57P01"), (False, 0.01, "57P05")):
        settings = Settings((Path("clinic.toml"),), Path(FILE), idle=idle)
        link: Any = SimpleNamespace(taken=0)
        door = PostgresDoor(SimpleNamespace(), settings, None, _closing=closing)  # type: ignore[arg-type]
        with pytest.raises(Gone) as ended:
            asyncio.run(door._patient(link, link, nothing()))
        assert ended.value.state == state


GATE: Any = SimpleNamespace(counts={("/v1/me", 200): 3}, door=None)
POOL: Any = SimpleNamespace(numbers=[1, 2], idle=1, waiting=0, replaced=4)


def asked_of_metrics(*parts: bytes, patience: float = 5) -> bytes:
    async def whole() -> bytes:
        async def heard(incoming: Any, outgoing: Any) -> None:
            await tell(GATE, POOL, patience, incoming, outgoing)

        async with await asyncio.start_server(heard, "127.0.0.1", 0, limit=4096) as server:
            port = server.sockets[0].getsockname()[1]
            incoming, outgoing = await asyncio.open_connection("127.0.0.1", port)
            for part in parts:
                outgoing.write(part)
            found = b""
            with contextlib.suppress(ConnectionError):
                found = await incoming.read()
            outgoing.close()
            return found

    return asyncio.run(whole())


def test_counts_are_told_on_their_own_port_and_nothing_else_is():
    head, _, body = asked_of_metrics(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert body.decode() == measured(GATE, POOL)
    assert 'discreet_requests_total{route="/v1/me",status="200"} 3' in body.decode()
    assert "discreet_workers_replaced_total 4" in body.decode()
    for other in (b"GET / HTTP/1.1\r\n\r\n", b"POST /metrics HTTP/1.1\r\n\r\n", b"\r\n\r\n"):
        assert asked_of_metrics(other).startswith(b"HTTP/1.1 404")
    assert asked_of_metrics(b"GET /metrics HTTP/1.1\r\n", patience=0.05) == b""
    assert asked_of_metrics(b"x" * 10_000) == b""


async def hello(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


@contextlib.contextmanager
def waiting_briefly(**tls: Path) -> Iterator[int]:
    """Run an HTTP server that waits for a fifth of a second."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        hello, http=patient(0.2), lifespan="off", log_level="error", timeout_keep_alive=30, **tls
    )
    server = PromptServer(config, 0.2)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()


@pytest.fixture
def http() -> Iterator[int]:
    with waiting_briefly() as port:
        yield port


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01\x02\x00"])
def test_whoever_does_not_shake_hands_is_not_waited_for(tmp_path: Path, said: bytes):
    certificate, key = certify(tmp_path)
    with (
        waiting_briefly(ssl_certfile=certificate, ssl_keyfile=key) as port,
        socket.create_connection(("127.0.0.1", port), timeout=30) as line,
    ):
        line.sendall(said)
        assert line.recv(100) == b""


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_whoever_does_not_say_what_they_want_is_not_waited_for(http: int, said: bytes):
    with socket.create_connection(("127.0.0.1", http), timeout=60) as line:
        line.sendall(said)
        assert line.recv(100) == b""


def test_a_second_request_that_does_not_come_whole_is_not_waited_for_either(http: int):
    with socket.create_connection(("127.0.0.1", http), timeout=60) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200" in line.recv(1000)
        line.sendall(b"GET / HTTP/1.1\r\nHos")
        while line.recv(1000):
            pass
