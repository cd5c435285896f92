"""HTTP with limits on silence and on talk: whoever opens a connection says what they want, or gives it up.

The parser itself knows no limit, so bytes are counted as they come, before anything is made of them: those of
a head that has no end, and those of a whole request, however they are framed.
"""

import asyncio

from httptools import HttpParserError
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD = 16 * 1024
"""So many bytes may come without there being a whole head of a request among them."""

FRAMED = 8
"""A body in the smallest pieces takes so many times its size."""


class PatientHttp(HttpToolsProtocol):
    """One connection, which is closed where the head of a request does not come in time, or does not end."""

    patience = 10.0
    longest = LONGEST_HEAD
    _deadline: asyncio.TimerHandle | None = None
    _taken = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what came; what is no whole head of a request is waited for no longer than anything else."""
        self._taken += len(data)
        super().data_received(data)
        if self._taken > (LONGEST_HEAD if self._in_head else self.longest):
            self.transport.close()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._rest()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to read a head."""
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; what stands behind a body says nothing any more."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Answer a request whose head says one thing about whom it is for."""
        self._in_head = False
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise HttpParserError("a request names one host")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Begin to count anew."""
        super().on_message_complete()
        self._taken, self._in_head = 0, True

    @property
    def _asked(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _watch(self) -> None:
        if self._asked:
            self._rest()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.patience, self._end)

    def _rest(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None

    def _end(self) -> None:
        self._deadline = None
        if not self._asked:
            self.transport.close()


def patient(seconds: float, body: int = 64 * 1024) -> type[PatientHttp]:
    """Return the protocol with a limit of so many seconds, and of so many bytes in a body."""
    return type("PatientHttp", (PatientHttp,), {"patience": seconds, "longest": LONGEST_HEAD + FRAMED * body})
