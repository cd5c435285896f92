"""Running the service: workers first, then the socket, until a signal says stop."""

import asyncio
import contextlib
import resource
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import uvicorn
import uvloop

from discreet.errors import ParameterError
from discreet.service.api import application
from discreet.service.gate import Gate
from discreet.service.metrics import LONGEST, tell
from discreet.service.patience import patient
from discreet.service.people import People
from discreet.service.pool import Pool
from discreet.service.settings import Settings
from discreet.service.wire.asking import Asker
from discreet.service.wire.door import PostgresDoor

CONNECTIONS = 1000


class PromptServer(uvicorn.Server):
    """A server that leaves signals to whoever runs it, so that the workers end before the process does.

    Whoever connects shakes hands as soon as they have to say anything else.
    """

    def __init__(self, config: uvicorn.Config, patience: float) -> None:
        super().__init__(config)
        self._patience = patience if config.is_ssl else None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; uvicorn itself would give every stranger a minute for their handshake."""
        made: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        protocol = partial(made, config=self.config, server_state=self.server_state, app_state={})
        self.servers = [
            await asyncio.get_running_loop().create_server(
                protocol, sock=one, ssl=self.config.ssl, ssl_handshake_timeout=self._patience
            )
            for one in sockets or ()
        ]
        self.started = True


Beside: TypeAlias = Callable[[Gate, Pool, People, Settings], Callable[..., Any]]
"""What makes of the service another application that stands before it on the same port."""


def serve(settings: Settings, announce: Callable[[str], object], beside: Beside | None = None) -> None:
    """Serve until SIGINT or SIGTERM; `announce` gets the address once it can be reached."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Each stranger holds a file for a while: as many as the system allows, and not only a few.
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, announce, beside))


async def _serve(settings: Settings, announce: Callable[[str], object], beside: Beside | None) -> None:
    people = People(settings.people)
    people.all()
    _require_tls(settings)
    async with contextlib.AsyncExitStack() as stack:
        listening = stack.enter_context(contextlib.closing(_listen(settings, settings.port)))
        settings = replace(settings, port=listening.getsockname()[1])
        second = None
        if settings.postgres_port is not None:
            second = stack.enter_context(contextlib.closing(_listen(settings, settings.postgres_port)))
            settings = replace(settings, postgres_port=second.getsockname()[1])
        pool = await stack.enter_async_context(Pool(settings))
        gate = application(pool, people, settings)
        whole = gate if beside is None else beside(gate, pool, people, settings)
        server = PromptServer(_configured(whole, settings), settings.patience)
        if second is not None:
            asker = Asker(pool, people, gate.rates, settings, watch=people.watched())
            gate.door = await stack.enter_async_context(PostgresDoor(asker, settings, second))
        if settings.metrics_port is not None:
            heard = partial(tell, gate, pool, settings.patience)
            await stack.enter_async_context(await _counting(settings, heard))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _stop, server)
        announce(settings.address)
        if second is not None:
            announce(settings.postgres_address)
        await server.serve(sockets=[listening])


def _require_tls(settings: Settings) -> None:
    """Refuse a certificate that TLS cannot be spoken with, before anybody is told an address."""
    if settings.certificate is None:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(settings.certificate, settings.key, lambda: "")
    except (OSError, ValueError):
        raise ParameterError(
            f"{settings.certificate} and {settings.key} are not a certificate and its key, both as PEM and "
            "without a passphrase; give the two that belong together"
        ) from None


async def _counting(settings: Settings, heard: Callable[..., Any]) -> asyncio.Server:
    try:
        return await asyncio.start_server(heard, settings.metrics_host, settings.metrics_port, limit=LONGEST)
    except OSError as error:
        place = f"{settings.metrics_host}, port {settings.metrics_port}"
        raise ParameterError(f"cannot listen on {place}: {error.strerror}") from None


def _configured(whole: Callable[..., Any], settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        whole,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
        http=patient(settings.patience, settings.body),
        loop="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=max(1, int(settings.patience)),
        ws="none",
    )


def _stop(server: uvicorn.Server) -> None:
    server.should_exit = True


def _listen(settings: Settings, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listening = socket.create_server((settings.host, port), family=family, backlog=256)
    except OSError as error:
        raise ParameterError(f"cannot listen on {settings.host}, port {port}: {error.strerror}") from None
    # Head and body of an answer leave as two pieces; the second must not wait for word of the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
