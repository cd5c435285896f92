"""The second port: sockets, TLS, how many may stand before the door and how long, and Cancel.

Whoever has not shown who they are gets little: small messages, a few seconds, and a place that is taken from
them when too many others come.
"""

import asyncio
import secrets
import ssl
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import new as hashed
from pathlib import Path
from types import TracebackType
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from discreet.service.pace import Rates
from discreet.service.role import Verb
from discreet.service.settings import Settings
from discreet.service.wire import frame, setting
from discreet.service.wire.asking import Asker
from discreet.service.wire.conversation import Conversation
from discreet.service.wire.fault import Fault, Gone
from discreet.service.wire.frame import Cancel, Garbled
from discreet.service.wire.login import Entrance, Guest, enter, garbled

HELD = 4 * 65536
"""So many bytes are taken from somebody before what they sent is read."""

SLOWEST = 60.0
"""For so many seconds somebody may leave an answer untaken."""

FAREWELL = 3.0
"""For so many seconds a goodbye may take, which over TLS waits for the other side's."""

EACH = 1024
"""Somebody who may ask once may send so many bytes for it."""

BROKEN = "something is wrong with the service"


class Link(asyncio.Protocol):
    """One socket as a `Wire`: bytes wait here until they are wanted, and no more than a few."""

    def __init__(self, begin: "Callable[[Link], None]", tls: ssl.SSLContext | None) -> None:
        self._begin, self._tls = begin, tls
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._buffer = bytearray()
        self.taken = 0
        """How many bytes were read of what came."""
        self._ended = False
        self._lost = asyncio.Event()
        self._came = asyncio.Event()
        self._free = asyncio.Event()
        self._free.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to talk."""
        self._transport = transport
        self._begin(self)

    def data_received(self, data: bytes) -> None:
        """Keep what came."""
        self._buffer += data
        if len(self._buffer) > HELD:
            self._transport.pause_reading()
        self._came.set()

    def eof_received(self) -> bool:
        """Note that nothing more will come."""
        self._ended = True
        self._came.set()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """Note that nobody is there any more."""
        self._ended = True
        self._lost.set()
        self._came.set()
        self._free.set()

    def pause_writing(self) -> None:
        """Wait for a reader that is slow."""
        self._free.clear()

    def resume_writing(self) -> None:
        """Go on writing."""
        self._free.set()

    async def exactly(self, size: int) -> bytes:
        """Return the next bytes, or raise EOFError where there are no more."""
        while len(self._buffer) < size:
            if self._ended:
                raise EOFError("the other side is gone")
            self._came.clear()
            self._transport.resume_reading()
            await self._came.wait()
        found = bytes(self._buffer[:size])
        del self._buffer[:size]
        self.taken += size
        return found

    def write(self, said: bytes) -> None:
        """Send bytes, soon."""
        if not self._transport.is_closing():
            self._transport.write(said)

    async def flush(self) -> None:
        """Wait until what was sent is on its way."""
        async with asyncio.timeout(SLOWEST):
            await self._free.wait()

    async def secure(self) -> None:
        """Say that TLS may begin, and go on in it; what was sent before, in the open, is nobody's word."""
        # Paused first: nothing that comes in the open from here on is taken for what was said in TLS.
        self._transport.pause_reading()
        if self._buffer or self._tls is None:
            raise Garbled("bytes in the open before TLS")
        self.write(b"S")
        found = await self._loop.start_tls(self._transport, self, self._tls, server_side=True)
        if found is None:
            raise Garbled("no TLS")
        self._transport = found

    def close(self, *, now: bool = False) -> None:
        """End the connection, after what was sent is on its way or at once."""
        if now:
            self._transport.abort()
        else:
            self._transport.close()

    async def gone(self, patience: float) -> None:
        """Wait until the connection has ended, and end it at once where that takes too long."""
        try:
            async with asyncio.timeout(patience):
                await self._lost.wait()
        except TimeoutError:
            self.close(now=True)


@dataclass(slots=True)
class _Held:
    """A connection that somebody has: what is being asked on it, and whether that was cancelled."""

    secret: int
    task: "asyncio.Task[Any] | None" = None
    cancelled: bool = False


@dataclass(slots=True)
class PostgresDoor:
    """The PostgreSQL protocol on a socket; `async with` opens and closes it."""

    asker: Asker
    settings: Settings
    listening: Any
    entered: int = 0
    refused: int = 0
    _strangers: "OrderedDict[Link, None]" = field(default_factory=OrderedDict)
    _names: Counter[str] = field(default_factory=Counter)
    _held: dict[int, _Held] = field(default_factory=dict)
    _talks: "dict[asyncio.Task[None], _Held | None]" = field(default_factory=dict)
    _closing: bool = False
    _bytes: Rates = field(init=False)
    _server: asyncio.Server | None = None

    def __post_init__(self) -> None:
        # A message is never more than what comes at once, so every one gets its turn.
        most = max(self.settings.burst * EACH, 2.0 * self.settings.body)
        self._bytes = Rates(self.settings.rate * EACH, most)

    async def __aenter__(self) -> "PostgresDoor":
        tls = None if self.settings.certificate is None else _tls(self.settings)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Link(self._begin, tls), sock=self.listening)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let what was asked be answered, say goodbye to everybody else."""
        self._closing = True
        if self._server is not None:
            self._server.close()
        for talk, held in list(self._talks.items()):
            if held is None or held.task is None:
                talk.cancel()
        if self._talks:
            await asyncio.wait(list(self._talks), timeout=self.settings.patience)
        for talk in list(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    @property
    def connections(self) -> int:
        """Return how many connections people have."""
        return self._names.total()

    @property
    def strangers(self) -> int:
        """Return how many connections are nobody's yet."""
        return len(self._strangers)

    def _outside(self, link: Link) -> None:
        """Count a connection as nobody's, and send the oldest of those away where there are too many."""
        self._strangers[link] = None
        if len(self._strangers) > self.settings.strangers:
            oldest, _ = self._strangers.popitem(last=False)
            oldest.close(now=True)

    def _begin(self, link: Link) -> None:
        self._outside(link)
        talk = asyncio.ensure_future(self._talk(link))
        self._talks[talk] = None
        talk.add_done_callback(lambda done: self._talks.pop(done, None))

    async def _talk(self, link: Link) -> None:
        try:
            guest = await self._login(link)
            if guest is not None:
                await self._host(link, guest)
        except Fault as refusal:
            self.refused += 1
            link.write(refusal.told("FATAL"))
        except Garbled:
            self.refused += 1
            link.write(garbled().told("FATAL"))
        except (EOFError, OSError, TimeoutError):
            # Nobody is there to be told anything, or nobody listens; ssl.SSLError is an OSError.
            link.close(now=True)
        except asyncio.CancelledError:
            link.write(stopping().told("FATAL"))
            raise
        except Exception:
            # A fault of the service itself: nothing is told but that there was one.
            link.write(Fault("XX000", BROKEN).told("FATAL"))
        finally:
            # Whoever was told goodbye still has a socket here, and no other claim to it than a stranger.
            self._outside(link)
            link.close()
            try:
                await link.gone(FAREWELL)
            finally:
                self._strangers.pop(link, None)

    async def _login(self, link: Link) -> Guest | None:
        entrance = Entrance(
            self.asker.people,
            lambda: self.asker.pool.datasets,
            encrypted=self.settings.certificate is not None,
            end_point=_end_point(self.settings.certificate),
        )
        async with asyncio.timeout(self.settings.patience):
            guest = await enter(link, entrance, self._cancel)
            if guest is not None and (
                self.connections >= self.settings.connections
                or self._names[guest.person.name] >= self.settings.connections_each
            ):
                raise Gone("53300", "too many connections", "close some, or come again later")
            return guest

    async def _host(self, link: Link, guest: Guest) -> None:
        self._strangers.pop(link, None)
        self._names[guest.person.name] += 1
        self.entered += 1
        number, held = self._number(), _Held(secrets.randbits(32))
        self._held[number] = held
        talk = asyncio.current_task()
        if talk is not None:
            self._talks[talk] = held
        try:
            for name in (
                "server_version",
                "server_encoding",
                "integer_datetimes",
                "is_superuser",
                "in_hot_standby",
            ):
                link.write(frame.parameter(name, guest.settings.show(name)))
            for name in setting.TOLD:
                link.write(frame.parameter(name, guest.settings.show(name.lower())))
            link.write(frame.parameter("session_authorization", guest.person.name))
            link.write(frame.cancel_key(number, held.secret) + frame.ready("I"))
            conversation = Conversation(link, guest, self._asking(held), self.settings.body)
            await conversation.run(lambda message: self._patient(link, guest, message))
        finally:
            del self._held[number]
            self._names[guest.person.name] -= 1

    def _number(self) -> int:
        while (number := secrets.randbits(31)) in self._held:
            pass
        return number

    async def _patient(self, link: Link, guest: Guest, message: Awaitable[frame.Message]) -> frame.Message:
        """Return the next message of somebody, or end the connection where none comes.

        To read statements takes everybody's time, also where no worker is asked: so one person is read so
        many bytes a second, over all connections together.
        """
        before = link.taken
        try:
            # Whoever was answered while the service ends is not waited for any more.
            async with asyncio.timeout(0 if self._closing else self.settings.idle):
                found = await message
        except TimeoutError:
            if self._closing:
                raise stopping() from None
            raise Gone("57P05", "nothing was said for too long", "connect again") from None
        loop = asyncio.get_running_loop()
        while (wait := self._bytes.wait(guest.person.name, loop.time(), link.taken - before)) > 0:
            await asyncio.sleep(wait)
        return found

    def _asking(self, held: _Held) -> Any:
        async def ask(guest: Guest, verb: Verb, body: dict[str, Any], key: str | None = None) -> Any:
            if self._closing:
                raise stopping()
            held.cancelled = False
            held.task = asyncio.ensure_future(self.asker(guest, verb, body, key))
            try:
                return await held.task
            except asyncio.CancelledError:
                if held.cancelled:
                    raise Fault(
                        "57014",
                        "cancelled as you wished; what was paid by then stays paid",
                        "asked again it is free if it was answered",
                    ) from None
                raise
            finally:
                held.task = None

        return ask

    async def _cancel(self, wanted: Cancel) -> None:
        """Give up waiting for a question; its worker finishes, and the ledger keeps what it took."""
        held = self._held.get(wanted.number)
        # Both numbers are secret, random, and compared whole.
        if held is not None and held.secret == wanted.secret and held.task is not None:
            held.cancelled = True
            held.task.cancel()


def stopping() -> Gone:
    """Return what everybody is told when the service ends."""
    return Gone("57P01", "the service is being stopped", "connect again later")


def _tls(settings: Settings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["postgresql"])
    context.load_cert_chain(str(settings.certificate), str(settings.key))
    return context


def _end_point(certificate: Path | None) -> bytes | None:
    """Return the hash of a certificate as RFC 5929 has it, or None where proofs cannot be bound to it."""
    if certificate is None:
        return None
    found = x509.load_pem_x509_certificate(certificate.read_bytes())
    used = found.signature_hash_algorithm
    if used is None:
        return None
    name = "sha256" if used.name in ("md5", "sha1") else used.name
    return hashed(name, found.public_bytes(Encoding.DER)).digest()
