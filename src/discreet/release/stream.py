"""Named streams: a running count of a dataset, released at every step, paid for once.

Who is protected.  The curator declares c, the most that one person changes the increments of a stream, summed
over all its steps: visits per person, say.  With c = 1 the promise is to each single event.

Theorem.  Let a counter promise epsilon (or rho) towards a change by one of one increment, with all its
answers together.  Let k = c where neighbours differ by the presence of a person, and k = 2 c where they
differ by a person's data.  Towards one person the answers keep k epsilon (or k**2 rho), even if increments
are chosen after seeing earlier answers.
Proof.  Neighbouring streams differ by at most c in the sum of the absolute changes of their increments; if
data are replaced, by c for what goes and c for what comes.  So a chain of at most k changes by one joins
them, and privacy towards a group multiplies, for zCDP with the square.  A counter at epsilon / k (or
rho / k**2) therefore keeps what is asked, and the ledger is charged what it really keeps.

A stream belongs to no table, and takes the strictest relation that the tables of its dataset declare.

What no program can check is the declaration itself: an increment is a number, and does not say whose it is.

Restarts.  Payment, state and answers live in the ledger, each step in one transaction; see
`discreet.ledger.streaming`.  A step is named by its number: asked for again, after a crash or by another
process, it returns what was released and counts nothing twice, whatever increment is given with it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from operator import index
from typing import Any, Protocol, SupportsIndex

from discreet.errors import LedgerError, ParameterError
from discreet.exact.number import Real, positive
from discreet.ledger import Ledger, Request, Streaming, Taken
from discreet.ledger.codec import canonical
from discreet.ledger.entry import STREAM_ID
from discreet.markup import card, listed
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.filter import ApproximateBudget, Budget, Cost, PureBudget
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.query.catalog.manifest import DeclaredTable
from discreet.show.markdown import plain
from discreet.workload.codec import Counter, decode_counter, decode_state, encode_counter, encode_state
from discreet.workload.noise import Promise, towards_one
from discreet.workload.root import LONGEST_STREAM
from discreet.workload.stream import RunningCount, advance, counter_for

SNAPSHOT = "continual"
"""What stands for the version of the data: a stream goes on while versions come and go."""

LARGEST = 2**32
"""No increment may be larger, so that sums stay far from where floats and stored states end."""

BATCH = 1000
"""How many steps are made durable by one transaction, while other writers wait."""

LONGEST_NAME = 100
DRAWN = 300
"""About how many steps a chart shows."""

ROOM = 24
"""The characters a number of a stored state may take, so that its size tells nothing about the numbers."""


class StreamBook(Protocol):
    """Where the steps of a stream are taken and kept."""

    def take(self, first: int, increments: list[int]) -> list[RunningCount]:
        """Take steps from `first` on, at least one, or return what was released for them before."""
        ...

    def recorded(self, first: int, last: int) -> list[RunningCount]:
        """Return what was released at steps from `first` on, at least one and none after `last`."""
        ...

    @property
    def steps(self) -> int:
        """Return how many steps were released."""
        ...


@dataclass(frozen=True, slots=True)
class LedgerBook:
    """The book of a stream in a ledger that is open in this process."""

    ledger: Ledger
    right: Streaming
    counter: Counter

    def take(self, first: int, increments: list[int]) -> list[RunningCount]:
        """Release steps in one transaction, or find what stands there."""
        stored = self.ledger.advance(self.right, first, partial(self._taken, increments))
        return _within(stored.payload, first, first + len(increments) - 1)

    def recorded(self, first: int, last: int) -> list[RunningCount]:
        """Return what stands in the ledger."""
        found = self.ledger.recorded(self.right, first, last)
        return [count for stored in found for count in _within(stored.payload, first, last)]

    @property
    def steps(self) -> int:
        """Return how many steps stand in the ledger."""
        return self.ledger.steps(self.right)

    def _taken(self, increments: list[int], stored: bytes) -> Taken:
        state = _read_state(stored)
        counts = []
        for increment in increments:
            state, value = advance(self.counter, state, increment)
            counts.append([state.step, value, sqrt(self.counter.variance(state.step))])
        return Taken(len(counts), _write_state(state), canonical(counts).encode())


@dataclass(frozen=True, slots=True)
class NamedStream:
    """A stream of a dataset; use `Session.stream`, here or over a connection."""

    name: str
    counter: Counter = field(repr=False)
    contribution: int
    adjacency: Adjacency
    dataset: str
    cost: Cost
    """What the whole stream cost when it was begun."""
    book: StreamBook = field(repr=False)

    def add(self, increment: int, *, step: int) -> RunningCount:
        """Take a step and release the running count; a step taken before returns what it released then."""
        return self.extend([increment], first=step)[0]

    def extend(self, increments: Iterable[int], *, first: int) -> tuple[RunningCount, ...]:
        """Take the steps first, first + 1, ... and release their running counts, many in one write."""
        pending, first = [_increment(value) for value in increments], _integer(first, "step")
        if first < 1 or first + len(pending) - 1 > self.counter.length:
            raise ParameterError(
                f"stream {self.name!r} has the steps 1 to {self.counter.length}, got {first} to "
                f"{first + len(pending) - 1}"
            )
        counts: list[RunningCount] = []
        while pending:
            found = self.book.take(first, pending[:BATCH])
            if not found or found[0].step != first:
                raise LedgerError(f"what stands in the ledger for step {first} is not an answer of it")
            counts += found
            pending, first = pending[len(found) :], first + len(found)
        return tuple(counts)

    def released(self, first: int = 1, last: int | None = None) -> tuple[RunningCount, ...]:
        """Return the running counts that were released at the steps first .. last, by default all of them."""
        end = self.steps if last is None else last
        counts: list[RunningCount] = []
        while first <= end:
            found = self.book.recorded(first, min(end, first + BATCH - 1))
            if not found or found[0].step != first:
                raise LedgerError(f"what stands in the ledger for step {first} is not an answer of it")
            counts += found
            first += len(found)
        return tuple(counts)

    @property
    def steps(self) -> int:
        """Return how many steps were released so far, by whichever process."""
        return self.book.steps

    @property
    def length(self) -> int:
        """Return how many steps there can be."""
        return self.counter.length

    @property
    def guarantee(self) -> Promise:
        """Return the promise to one person by all running counts together."""
        return self.counter.guarantee.group(changes_of(self.contribution, self.adjacency))

    def card(self) -> str:
        """Return a statement for publication: who is protected, how strongly, with which error."""
        facts = [*self._facts(), ("Progress", f"{self.steps} steps released")]
        lines = [f"- **{name}**: {plain(words)}." for name, words in facts]
        return "\n".join([f"### {plain(self._title)}", "", *lines])

    def __repr__(self) -> str:
        return listed(self._title, self._facts())

    def _repr_html_(self) -> str:
        return card(self._title, self._facts())

    @property
    def _title(self) -> str:
        return f"{self.dataset}: a differentially private running count"

    def _facts(self) -> list[tuple[str, str]]:
        from discreet.query.price.words import price
        from discreet.show.number import format_number

        widest = sqrt(max(self.counter.variance(step) for step in _sampled(self.length)))
        whom = (
            "each single event, but not somebody who takes part in several"
            if self.contribution == 1
            else f"each person who adds at most {self.contribution} to all steps together"
        )
        otherwise = "without them" if self.adjacency is Adjacency.ADD_REMOVE else "whatever their data were"
        return [
            ("Stream", f"{self.name}, of at most {self.length} steps"),
            ("Protects", f"{whom}; all counts together would have been almost as likely {otherwise}"),
            ("Strength", f"{price(self.cost)}, for the whole stream, however many steps are taken"),
            ("Error", f"every count is off by {format_number(widest)} or less, as a standard deviation"),
        ]

    def plot(self, path: str | None = None, *, last: int | None = None) -> Any:
        """Return a chart of what was released so far, or at the `last` steps, saved to `path` when given.

        Of many steps it shows some hundreds, evenly spaced and up to the last one.
        """
        from discreet.workload.picture import draw_stream

        counts = self.released(1 if last is None else max(1, self.steps - last + 1))
        shown = counts[:: -max(1, len(counts) // DRAWN)][::-1]
        chart = draw_stream(shown, title=f"{self.name}, a running count")
        if path is not None:
            from discreet.show.save import save

            save(chart, path)
        return chart


def open_stream(
    ledger: Ledger,
    budget: Budget,
    dataset: str,
    project: str,
    analyst: str,
    name: str,
    *,
    length: int | None = None,
    epsilon: Real | None = None,
    rho: Real | None = None,
    contribution: int | None = None,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
) -> NamedStream:
    """Begin a named stream, charging its whole guarantee, or go on with it at no further cost."""
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
        raise ParameterError(f"the name of a stream is 1 to {LONGEST_NAME} printable characters")
    request_id = f"{STREAM_ID}{name}"
    if length is None and epsilon is None and rho is None and contribution is None:
        found = ledger.find_stream(dataset, request_id, analyst)
        if found is None:
            raise ParameterError(
                f"dataset {dataset} has no stream {name!r} yet; begin it with length=, epsilon= and "
                "contribution="
            )
        return _continued(ledger, name, found)
    steps, each = _whole(length, "length", LONGEST_STREAM), _whole(contribution, "contribution", LARGEST)
    promise, price = _promised(budget, epsilon, rho)
    counter, cost = _calibrated(promise, steps, each, adjacency)
    doing = "replacing" if adjacency is Adjacency.REPLACE else "adding"
    whom = {"contribution": each, "neighbours": adjacency.value}
    request = Request(
        request_id=request_id,
        dataset=dataset,
        snapshot=SNAPSHOT,
        project=project,
        analyst=analyst,
        question=f"stream {json.dumps(name)} of {steps} steps at {price}, one person {doing} at most {each}",
        cost=_paid(budget, cost),
        mechanisms=(canonical({"name": "stream/1", "counter": encode_counter(counter), **whom}),),
    )
    return _continued(ledger, name, ledger.open_stream(request, _write_state(counter.start())))


def planned_stream(
    budget: Budget, length: int, epsilon: Real, contribution: int, adjacency: Adjacency
) -> tuple[Counter, Cost]:
    """Return what a stream would be made of and what it would cost; nothing is begun and nothing paid."""
    steps, each = _whole(length, "length", LONGEST_STREAM), _whole(contribution, "contribution", LARGEST)
    counter, cost = _calibrated(_promised(budget, epsilon, None)[0], steps, each, adjacency)
    return counter, _paid(budget, cost)


def _calibrated(promise: Promise, steps: int, each: int, adjacency: Adjacency) -> tuple[Counter, Cost]:
    changes = changes_of(each, adjacency)
    counter = counter_for(steps, towards_one(promise, changes))
    return counter, counter.guarantee.group(changes).price()


def _paid(budget: Budget, cost: Cost) -> Cost:
    """Return a price as a budget adds it up: a pure one adds epsilons and nothing else."""
    return cost.plain if isinstance(budget, PureBudget) else cost


def begun_streams(ledger: Ledger, dataset: str, analyst: str) -> tuple[NamedStream, ...]:
    """Return the streams that an analyst began, the oldest first."""
    found = ledger.streams(dataset, analyst)
    return tuple(
        _continued(ledger, right.request.request_id.removeprefix(STREAM_ID), right) for right in found
    )


def strictest(tables: Iterable[DeclaredTable]) -> Adjacency:
    """Return the relation under which a guarantee holds for the people of all these tables."""
    replaced = any(table.adjacency is Adjacency.REPLACE for table in tables if not table.public)
    return Adjacency.REPLACE if replaced else Adjacency.ADD_REMOVE


def _continued(ledger: Ledger, name: str, right: Streaming) -> NamedStream:
    """Return a stream as it was begun: a newer version might calibrate the same promise differently."""
    match [json.loads(text) for text in right.request.mechanisms]:
        case [
            {
                "name": "stream/1",
                "counter": dict(counter),
                "contribution": int(contribution),
                "neighbours": "add-remove" | "replace" as adjacency,
            }
        ]:
            known = decode_counter(counter)
            book = LedgerBook(ledger, right, known)
            cost = right.request.cost
            return NamedStream(name, known, contribution, Adjacency(adjacency), right.dataset, cost, book)
    raise LedgerError(f"stream {name!r} has a form this version does not know; upgrade discreet")


def _promised(budget: Budget, epsilon: Real | None, rho: Real | None) -> tuple[Promise, str]:
    """Return what is promised to one person and how it was asked for; epsilon means the same as in a query.

    Under a budget with delta that is the largest rho whose conversion gives this epsilon.
    """
    match epsilon, rho:
        case None, given if given is not None:
            exact = positive(given, "rho")
            return Concentrated(exact), f"rho {exact}"
        case given, None if given is not None:
            exact = positive(given, "epsilon")
        case _:
            raise ParameterError("give what the whole stream may cost: either epsilon or rho")
    match budget:
        case PureBudget():
            return Pure(exact), f"epsilon {exact}"
        case ApproximateBudget():
            return Concentrated(budget.worth(exact)), f"epsilon {exact}"


def changes_of(contribution: int, adjacency: Adjacency) -> int:
    """Return how many changes by one lead from a stream to its neighbour, at most."""
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return contribution
        case Adjacency.REPLACE:
            return 2 * contribution


def _whole(value: int | None, what: str, most: int) -> int:
    meaning = {
        "length": "how many steps the stream can have",
        "contribution": "the most that one person adds to all steps together; 1 protects single events",
    }
    if value is None:
        raise ParameterError(f"give {what}=, {meaning[what]}")
    if not 1 <= (exact := _integer(value, what)) <= most:
        raise ParameterError(f"{what} must be from 1 to {most}: {meaning[what]}")
    return exact


def _increment(value: int) -> int:
    if abs(exact := _integer(value, "increment")) > LARGEST:
        raise ParameterError(f"an increment must be between {-LARGEST} and {LARGEST}")
    return exact


def _integer(value: SupportsIndex, what: str) -> int:
    """Return an integer of any kind as Python's own; the message never shows it, for it may be data."""
    try:
        if not isinstance(value, bool):
            return index(value)
    except TypeError:
        pass
    raise ParameterError(f"{what} must be an integer, got {type(value).__name__}")


def _write_state(state: Any) -> bytes:
    """Return a state as text whose length depends on how many numbers it has, and not on their values."""
    text = canonical(encode_state(state))
    room = ROOM * (text.count(",") + 1)
    return text.ljust(-(-len(text) // room) * room).encode()


def _read_state(stored: bytes) -> Any:
    return decode_state(json.loads(stored))


def _within(payload: bytes, first: int, last: int) -> list[RunningCount]:
    counts = [RunningCount(*entry) for entry in json.loads(payload)]
    return [count for count in counts if first <= count.step <= last]


def _sampled(length: int) -> Iterable[int]:
    """Return steps that show how the error changes: all of a short stream, a thousand of a long one."""
    return range(1, length + 1, max(1, length // 1000))
