"""Running the service: workers first, then the socket, until a signal says stop."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import uvicorn

from discreet.errors import ParameterError
from discreet.service.api import application
from discreet.service.gate import Gate
from discreet.service.people import People
from discreet.service.pool import Pool
from discreet.service.settings import Settings

CONNECTIONS = 1000


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it, so that the workers end before the process does."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


Beside: TypeAlias = Callable[[Gate, Pool, People, Settings], Callable[..., Any]]
"""What makes of the service another application that stands before it on the same port."""


def serve(settings: Settings, announce: Callable[[str], object], beside: Beside | None = None) -> None:
    """Serve until SIGINT or SIGTERM; `announce` gets the address once it can be reached."""
    asyncio.run(_serve(settings, announce, beside))


async def _serve(settings: Settings, announce: Callable[[str], object], beside: Beside | None) -> None:
    people = People(settings.people)
    people.all()
    listening = _listen(settings)
    with contextlib.closing(listening):
        async with Pool(settings) as pool:
            service = application(pool, people, settings)
            server = _Server(
                uvicorn.Config(
                    service if beside is None else beside(service, pool, people, settings),
                    ssl_certfile=settings.certificate,
                    ssl_keyfile=settings.key,
                    lifespan="off",
                    log_level="error",
                    access_log=False,
                    server_header=False,
                    proxy_headers=False,
                    limit_concurrency=CONNECTIONS,
                    timeout_graceful_shutdown=max(1, int(settings.patience)),
                    ws="none",
                )
            )
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, _stop, server)
            announce(replace(settings, port=listening.getsockname()[1]).address)
            await server.serve(sockets=[listening])


def _stop(server: uvicorn.Server) -> None:
    server.should_exit = True


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listening = socket.create_server((settings.host, settings.port), family=family, backlog=256)
    except OSError as error:
        raise ParameterError(f"cannot listen on {settings.address}: {error.strerror}") from None
    # Head and body of an answer leave as two pieces; the second must not wait for word of the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
