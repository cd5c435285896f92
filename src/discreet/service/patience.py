"""HTTP with a limit on silence: whoever opens a connection says what they want, or gives it up."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol


class PatientHttp(H11Protocol):
    """One connection, which is closed where the head of a request does not come in time."""

    patience = 10.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what came; what is no whole head of a request is waited for no longer than anything else."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._rest()
        super().connection_lost(exc)

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


def patient(seconds: float) -> type[PatientHttp]:
    """Return the protocol with a limit of so many seconds."""
    return type("PatientHttp", (PatientHttp,), {"patience": seconds})
