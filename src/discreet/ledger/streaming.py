"""The life of a stream inside a writer's turn: paid for once, then released step by step.

Payment and beginning are one transaction, so a stream is paid for and can go on, or neither.  So is every
advance: it reads the state that the head's seal names, computes the state and the answers after it, and
records both.  Hence

1. an answer that left is recorded with the state that produced it, and is found again under its step;
2. a crash before the commit leaves the state as it was, and nothing of the step has left: taking it again,
   with fresh noise, is its first release;
3. two writers take their turns one after the other, and the second finds the step taken;
4. a state that is missing, forged, or of an earlier step is not the one under the seal, and is refused.

A question may run three times only, because a run that breaks off can tell something about the data.  A step
may be tried as often as it takes: it looks at no data but the increment it is given, and whoever advances a
stream must let nothing in it fail that depends on the increment.
"""

from collections.abc import Callable
from dataclasses import dataclass

from discreet.errors import ConflictError, LedgerError
from discreet.ledger.asking import receipt_of
from discreet.ledger.check import kept_secret
from discreet.ledger.codec import digest
from discreet.ledger.entry import Advanced, Request, Reserved, Stored, Streaming
from discreet.ledger.secret import conceal, reveal
from discreet.ledger.store import Row
from discreet.ledger.turn import Turn


@dataclass(frozen=True, slots=True)
class Taken:
    """What an advance leads to: how many steps it took, the state after them, and what is released."""

    steps: int
    state: bytes
    payload: bytes


def begin(turn: Turn, request: Request, state: bytes) -> Streaming:
    """Pay for a stream and begin it, or find the one that the same question began under this id."""
    found = find(turn, request.request_id, request.analyst)
    if found is None:
        paid = turn.account.recorded(request)
        number = turn.pay(paid).number
        _record(turn, number, 1, Taken(0, state, b""))
        return Streaming(turn.dataset, number, paid, request.analyst)
    if found.request.question != request.question:
        raise ConflictError(
            f"dataset {turn.dataset} has a {found.request.question}, and this would be a {request.question}; "
            "go on with the first as it was begun, or choose a new name and pay for a new stream"
        )
    return found


def find(turn: Turn, request_id: str, analyst: str) -> Streaming | None:
    """Return the stream that was begun under this id, or None if there is nothing under it."""
    turn.account.admit(analyst)
    row = turn.store.shelf.reservation(turn.dataset, request_id)
    if row is None:
        return None
    match turn.seals.open(row).event:
        case Reserved(request) if request.request_id == request_id and row.number in turn.account.streams:
            return Streaming(turn.dataset, row.number, request, analyst)
    raise ConflictError(f"request id {request_id} was used for a question, not for a stream; choose a new id")


def begun(turn: Turn, analyst: str) -> tuple[Streaming, ...]:
    """Return the streams that somebody began, the oldest first."""
    turn.account.admit(analyst)
    found = []
    for number in sorted(turn.account.streams):
        row = turn.store.shelf.row(turn.dataset, number)
        match None if row is None else turn.seals.open(row).event:
            case Reserved(request) if request.analyst == analyst:
                found.append(Streaming(turn.dataset, number, request, analyst))
    return tuple(found)


def advance(turn: Turn, stream: Streaming, first: int, take: Callable[[bytes], Taken]) -> Stored:
    """Take the step `first`, and perhaps more after it, or return what was recorded for that step."""
    turn.account.admit(stream.analyst)
    standing = turn.account.standing(stream.number)
    if first <= standing.step:
        return recorded(turn, stream, first, first)[0]
    if stream.analyst != stream.request.analyst:
        # Whose it is, is not told: analysts need not know of each other.
        raise ConflictError(
            "this stream was begun by somebody else, who alone can take its steps; what it released can be "
            "read"
        )
    if first > standing.step + 1:
        raise ConflictError(
            f"the next step of this stream is {standing.step + 1}, got {first}; a step in which nothing "
            "happened is taken with 0"
        )
    if not standing.secret:
        raise ConflictError(
            f"the stream that entry {stream.number} of dataset {turn.dataset} paid for may have gone on "
            "beyond the backup that was restored, so it can never go on from here; begin a new one"
        )
    concealed = kept_secret(turn.store, turn.dataset, stream.number, standing)
    place = turn.seals.ledger, turn.dataset, stream.number, standing.step
    taken = take(reveal(turn.seals.key, *place, concealed))
    return _stored(turn, _record(turn, stream.number, first, taken))


def recorded(turn: Turn, stream: Streaming, first: int, last: int) -> tuple[Stored, ...]:
    """Return what was released at the steps first .. last, each entry checked and none left out."""
    turn.account.admit(stream.analyst)
    found: list[Stored] = []
    expected = first
    for row in turn.store.shelf.steps(turn.dataset, stream.number, first, max(0, last - first + 1)):
        match turn.seals.open(row).event:
            case Advanced(stream.number, begun, ended) if begun <= expected <= ended:
                found.append(_stored(turn, row))
                expected = ended + 1
            case _:
                break
        if expected > last:
            break
    if expected > last:
        return tuple(found)
    raise LedgerError(
        f"step {expected} of the stream that entry {stream.number} of dataset {turn.dataset} paid for is not "
        "in the ledger: it was not taken, or its entry was removed"
    )


def _record(turn: Turn, number: int, first: int, taken: Taken) -> Row:
    last = first + taken.steps - 1
    concealed = conceal(turn.seals.key, turn.seals.ledger, turn.dataset, number, last, taken.state)
    answers = digest(taken.payload), len(taken.payload)
    row = turn.append(Advanced(number, first, last, digest(concealed), *answers), taken.payload)
    turn.store.shelf.keep_secret(turn.dataset, number, concealed)
    return row


def _stored(turn: Turn, row: Row) -> Stored:
    return Stored(row.payload or b"", receipt_of(turn, row))
