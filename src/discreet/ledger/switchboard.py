"""Many calls that one thread listens to: whoever has spoken is heard, and is listened to again when answered.

A thread for each call would be woken for every message only to wake another one, and all of them would be in
the way of whoever does what was asked for.  All that has come by the same moment is handed on together.
Nothing here waits for one call alone, so nobody who stands still keeps others waiting.
"""

import select
import threading
from collections.abc import Callable

from discreet.ledger.call import Message, PrivateCall

Heard = Callable[[list[tuple[PrivateCall, Message]]], object]


class Switchboard:
    """The calls that are listened to; threads may use it at once, and only its own thread ends a call."""

    def __init__(self, heard: Heard) -> None:
        """Begin without calls; `heard` gets what came, raises nothing, and waits for nobody."""
        self._heard = heard
        self._guard = threading.Lock()
        self._calls: dict[int, PrivateCall] = {}
        self._ready: select.epoll | None = None

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, call: PrivateCall) -> None:
        """Listen to a call from now on."""
        with self._guard:
            if self._ready is None:
                self._ready = select.epoll()
                threading.Thread(target=self._attend, args=(self._ready,), daemon=True).start()
            self._calls[call.number] = call
            self._ready.register(call.number, select.EPOLLIN | select.EPOLLONESHOT)

    def listen(self, call: PrivateCall) -> None:
        """Listen to a call again, once its last message was answered."""
        with self._guard:
            if self._ready is not None and self._calls.get(call.number) is call:
                self._ready.modify(call.number, select.EPOLLIN | select.EPOLLONESHOT)

    def drop(self, call: PrivateCall) -> None:
        """Speak to somebody no more."""
        call.fall_silent()
        self.listen(call)  # and so hear that it has ended

    def close(self) -> None:
        """Speak to nobody any more."""
        with self._guard:
            calls = tuple(self._calls.values())
        for call in calls:
            self.drop(call)

    def _attend(self, ready: select.epoll) -> None:
        while True:
            come: list[tuple[PrivateCall, Message]] = []
            for number, _ in ready.poll():
                self._take_in(ready, self._calls[number], come)
            self._heard(come)
            with self._guard:
                if not self._calls:
                    self._ready = None
                    ready.close()
                    return

    def _take_in(
        self, ready: select.epoll, call: PrivateCall, come: list[tuple[PrivateCall, Message]]
    ) -> None:
        try:
            message = call.gather()
        except (OSError, ValueError):
            with self._guard:
                ready.unregister(call.number)
                del self._calls[call.number]
            call.hang_up()
            return
        if message is None:
            self.listen(call)
        else:
            come.append((call, message))
