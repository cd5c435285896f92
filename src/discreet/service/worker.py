"""A worker: the only process that opens data and ledger.  It reads requests from a pipe and answers them.

    python -m discreet.service.worker

The first message says which manifests to open, how much memory a question may take, and how long a slot is.
How long a question runs depends on the data.  So one that has run is held until the end of its slot before
the ledger hears what came of it: until then there is no answer anywhere, the question counts as running, and
its worker is not free for others, whose waiting would tell the time as well.

Nothing is printed by anybody: standard output and error lead nowhere, a crash leaves no core, and no other
process of the same user may look into this one's memory.  When the pipe closes, the worker ends.
"""

import ctypes
import gc
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, BinaryIO

from discreet.errors import DiscreetError
from discreet.ledger.shield import shielded
from discreet.release.opening import open_manifest
from discreet.release.session import Session
from discreet.service import pipe
from discreet.service.answering import Asked, answer
from discreet.service.pace import until_slot
from discreet.service.replies import Replies
from discreet.service.reply import Reply
from discreet.service.role import Role, Verb

_NOT_DUMPABLE = (4, 0)
_NO_NEW_PRIVILEGES = (38, 1)


def main() -> None:
    """Open what the first message names, then answer until the pipe closes."""
    incoming, outgoing = _pipes()
    _close_up()
    # Once for all requests, and not by a thread for each.
    shielded(lambda: serve(incoming, outgoing))


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer what comes in until nothing does."""
    with suppress(EOFError, BrokenPipeError):
        told, _ = pipe.read(incoming)
        try:
            sessions = opened(told["manifests"], told["threads"])
        except DiscreetError as error:
            outgoing.write(pipe.write({"refused": str(error)}))
            return
        _bound_memory(told["memory"])
        outgoing.write(pipe.write({"datasets": sorted(sessions)}))
        replies = Replies()
        # What is here by now stays, so nobody needs to look through it for what could go.
        gc.collect()
        gc.freeze()
        while True:
            head, _ = pipe.read(incoming)
            hold = slotted(time.monotonic(), told["slot"])
            outgoing.write(_reply(answer(sessions, asked(head), replies, hold)))


def slotted(came: float, slot: float) -> Callable[[], None]:
    """Return what waits for the end of a slot of a request that came at this time."""
    return lambda: time.sleep(until_slot(time.monotonic() - came, slot))


def opened(manifests: list[str], threads: int | None = None) -> dict[str, Session]:
    """Return the open data by the name of the dataset."""
    found: dict[str, Session] = {}
    for manifest in manifests:
        session = open_manifest(manifest, threads=threads)
        if session.catalog.name in found:
            raise DiscreetError(
                f"two manifests declare a dataset {session.catalog.name!r}; give each dataset.name of its own"
            )
        found[session.catalog.name] = session
    return found


def asked(head: Mapping[str, Any]) -> Asked:
    """Return the request of a message."""
    return Asked(
        Verb(head["verb"]),
        head["dataset"],
        head["name"],
        Role(head["role"]),
        head["body"],
        head["kind"],
        head["key"],
        head["project"],
    )


def _reply(reply: Reply) -> bytes:
    head = {"status": reply.status, "kind": reply.kind, "headers": dict(reply.headers)}
    return pipe.write(head, reply.body)


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the two ends that messages go through; whatever else reads or prints meets nothing."""
    ends = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    return ends


def _close_up() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        for option, value in (_NOT_DUMPABLE, _NO_NEW_PRIVILEGES):
            system.prctl(option, value, 0, 0, 0)


def _bound_memory(megabytes: int) -> None:
    """Let this process grow by so much from here on; what needs more fails as everything else does."""
    taken = 0
    with suppress(OSError), open("/proc/self/statm", encoding="ascii") as said:
        taken = int(said.read().split()[0]) * resource.getpagesize()
    limit = taken + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    main()
