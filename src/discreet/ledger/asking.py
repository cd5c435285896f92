"""The life of a request inside a writer's turn: paid, perhaps run again, answered or failed.

A request that is in the account's `running` is paid for and unanswered; this membership is under the seal of
the head, so an index entry that was deleted or moved can make a question cost again, but never make one
payment buy two answers.
"""

from discreet.errors import ConflictError, LedgerError
from discreet.ledger.codec import digest, fingerprint, lease_key
from discreet.ledger.entry import (
    ATTEMPTS,
    Answered,
    Failed,
    Granted,
    Receipt,
    Request,
    Reserved,
    Retried,
    Stored,
)
from discreet.ledger.signing import signed
from discreet.ledger.store import Row
from discreet.ledger.turn import Turn


def reserve(turn: Turn, request: Request) -> Granted | Stored | ConflictError:
    """Pay for a request, or find its answer, or an earlier payment for it that led to nothing.

    The caller holds the lease of the question, so nobody else is running it.  A ConflictError that is
    returned was also recorded.
    """
    outcome = _reserve(turn, request)
    if isinstance(outcome, Stored):
        turn.store.settle(lease_key(turn.seals.ledger, request))
    return outcome


def _reserve(turn: Turn, request: Request) -> Granted | Stored | ConflictError:
    turn.account.admit(request.analyst)
    asked = fingerprint(request)
    row, repeated = turn.store.asked(turn.dataset, request.request_id, asked)
    if row is not None:
        return _resume(turn, request, row)
    if repeated is not None:
        return _stored(turn, repeated, asked)
    orphan = _orphan(turn, asked)
    if orphan is not None:
        return orphan
    paid = turn.account.recorded(request)
    row = turn.pay(paid)
    return Granted(turn.dataset, row.number, 1, paid)


def repeat(turn: Turn, request: Request) -> Stored | None:
    """Return the answer to a question, None where something may be to be run; nothing is ever written.

    So the caller need not hold the lease of the question.
    """
    turn.account.admit(request.analyst)
    asked = fingerprint(request)
    row, repeated = turn.store.asked(turn.dataset, request.request_id, asked)
    if row is not None:
        known = None if row.number in turn.account.running else _resume(turn, request, row)
        return known if isinstance(known, Stored) else None
    return None if repeated is None else _stored(turn, repeated, asked)


def find(turn: Turn, request: Request) -> Stored | None:
    """Return the answer to a question, if it was given by now, to somebody who may ask."""
    turn.account.admit(request.analyst)
    asked = fingerprint(request)
    row = turn.store.shelf.answer(turn.dataset, asked)
    return None if row is None else _stored(turn, row, asked)


def answer(turn: Turn, granted: Granted, payload: bytes) -> Stored:
    """Record an answer, unless there is one already; return the one that stands."""
    if granted.request.dataset != turn.dataset:
        raise _not_granted(turn, granted.number)
    stored = record(turn, granted.number, fingerprint(granted.request), payload)
    turn.store.settle(lease_key(turn.seals.ledger, granted.request))
    return stored


def record(turn: Turn, number: int, asked: str, payload: bytes) -> Stored:
    """Record the answer to a question that an entry paid for, unless there is one; return which stands."""
    run = turn.account.running.get(number)
    if run is None:
        return _settled(turn, number, asked)
    # The account is under the seal of the newest entry, and says what was paid for.
    if run.question != asked:
        raise _not_granted(turn, number)
    written = turn.append(Answered(number, asked, digest(payload), len(payload)), payload)
    return Stored(payload, _unsigned(turn, written))


def _not_granted(turn: Turn, number: int) -> LedgerError:
    return LedgerError(f"entry {number} of dataset {turn.dataset} is not the request that was granted")


def fail(turn: Turn, granted: Granted, reason_code: str) -> None:
    """Record that a request will not be answered."""
    turn.append(Failed(granted.number, reason_code))


def _orphan(turn: Turn, asked: str) -> Granted | None:
    """Take over an earlier payment for the same question whose run broke off, under whatever id."""
    for number in turn.account.orphans(asked):
        run = turn.account.running[number]
        if run.attempts < ATTEMPTS:
            earlier = _reserved(turn, number)
            turn.append(Retried(number, run.attempts + 1))
            return Granted(turn.dataset, number, run.attempts + 1, earlier)
    return None


def _reserved(turn: Turn, number: int) -> Request:
    """Return the request that an entry paid for, after checking its seal."""
    row = turn.store.shelf.row(turn.dataset, number)
    if row is not None:
        match turn.seals.open(row).event:
            case Reserved(request):
                return request
            case _:
                pass
    raise LedgerError(f"entry {number} of dataset {turn.dataset} is not the payment that the account says")


def _resume(turn: Turn, request: Request, row: Row) -> Granted | Stored | ConflictError:
    """Go on with a request whose id is known, if it is the same question."""
    asked = fingerprint(request)
    match turn.seals.open(row).event:
        case Reserved() if row.number in turn.account.streams:
            raise ConflictError(f"request id {request.request_id} stands for a stream; choose a new id")
        case Reserved(earlier) if earlier.request_id == request.request_id and fingerprint(earlier) == asked:
            run = turn.account.running.get(row.number)
        case _:
            raise ConflictError(
                f"request id {request.request_id} was used for another question; choose a new id"
            )
    if run is None:
        return _settled(turn, row.number, asked)
    if run.attempts < ATTEMPTS:
        turn.append(Retried(row.number, run.attempts + 1))
        return Granted(turn.dataset, row.number, run.attempts + 1, earlier)
    turn.append(Failed(row.number, "too-many-attempts"))
    return ConflictError(
        f"request {request.request_id} broke off {ATTEMPTS} times without an answer and stays spent; to ask "
        "again and pay again, choose a new id"
    )


def _settled(turn: Turn, reservation: int, asked: str) -> Stored:
    """Return the answer of a reservation that is no longer running."""
    row = turn.store.shelf.outcome(turn.dataset, reservation)
    if row is not None and row.refers == reservation:
        match turn.seals.open(row).event:
            case Answered():
                return _stored(turn, row, asked)
            case Failed(_, code):
                raise ConflictError(
                    f"entry {reservation} of dataset {turn.dataset} failed ({code}) and stays spent; to ask "
                    "again and pay again, choose a new id"
                )
            case _:
                pass
    raise LedgerError(
        f"the outcome of entry {reservation} of dataset {turn.dataset} is missing from the ledger"
    )


def _stored(turn: Turn, row: Row, asked: str) -> Stored:
    """Return an answer after checking its seal, its bytes and that it answers this question."""
    entry = turn.seals.open(row)
    if not isinstance(entry.event, Answered) or entry.event.question != asked or row.payload is None:
        raise LedgerError(f"entry {row.number} of dataset {turn.dataset} does not answer this question")
    return Stored(row.payload, _unsigned(turn, row))


def _unsigned(turn: Turn, row: Row) -> Receipt:
    """Return the receipt of an entry, to be signed when the turn is over: nobody need wait for that."""
    return Receipt(turn.seals.ledger, turn.dataset, row.number, row.mac.hex())


def receipt_of(turn: Turn, row: Row) -> Receipt:
    """Return the signed receipt of an entry."""
    return signed(turn.seals.key, _unsigned(turn, row))


def newest(turn: Turn) -> Receipt:
    """Return the signed receipt of the newest entry."""
    if turn.standing.row is None:
        raise LedgerError(f"the ledger has no dataset {turn.dataset}; create it first")
    return receipt_of(turn, turn.standing.row)
