"""What the ledger holds: requests, the events that make up its history, and the entries that seal them.

The history of a dataset is a sequence of events.  Everything else (who may ask, what is left, which requests
are still running) is a function of that sequence, computed by `account.Account.after`.  An event's meaning
never changes once it is stored: a new meaning is a new kind, and an unknown kind is refused.

A request lives through `Reserved`, perhaps `Retried`, then `Answered` or `Failed`, both final.  It is paid
for by `Reserved`, and nothing pays it back.  A stream is a request that is answered step by step: `Reserved`,
then `Advanced` again and again, each one going on exactly where the one before it stopped.
"""

import re
from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.ledger.pace import Pace
from discreet.privacy.filter import Budget, Cost

LONGEST_NAME = 200
LONGEST_TEXT = 10_000
"""So much of the words in which a question was asked is kept."""

STREAM_ID = "stream "
"""How the request ids of named streams begin, and those of questions may not."""

ATTEMPTS = 3
"""How often one paid request may run: every crash can tell an observer one bit, so the number is small."""

_REASON_CODE = re.compile(r"[a-z][a-z0-9-]{0,39}")


def named(value: str, what: str) -> str:
    """Return a name as it is, refusing what is empty, very long or not printable."""
    if not isinstance(value, str) or not value or not value.isprintable() or len(value) > LONGEST_NAME:
        raise ParameterError(
            f"{what} must be 1 to {LONGEST_NAME} printable characters, got {str(value)[:LONGEST_NAME]!r}"
        )
    return value


@dataclass(frozen=True, slots=True)
class Scope:
    """Whom a limit covers: everybody, one project, one analyst, or one analyst within one project."""

    project: str | None = None
    analyst: str | None = None

    def __post_init__(self) -> None:
        if self.project is not None:
            named(self.project, "project")
        if self.analyst is not None:
            named(self.analyst, "analyst")

    def covers(self, project: str, analyst: str) -> bool:
        """Return whether what this analyst spends in this project counts here."""
        return self.project in (None, project) and self.analyst in (None, analyst)

    def __str__(self) -> str:
        parts = [f"analyst {self.analyst}"] if self.analyst is not None else []
        parts += [f"project {self.project}"] if self.project is not None else []
        return " in ".join(parts) or "the whole dataset"


EVERYBODY = Scope()


@dataclass(frozen=True, slots=True)
class Request:
    """A question that asks to be paid for.

    `question` is its canonical text, `snapshot` the version of the data that the curator declared, and
    `mechanisms` are the stored forms of everything that will be drawn.  None of them, and no part of the
    cost, may depend on the data.  `text` is how the analyst put it, for people who read the history; what
    makes two requests the same question does not include it.
    """

    request_id: str
    dataset: str
    snapshot: str
    project: str
    analyst: str
    question: str
    cost: Cost
    mechanisms: tuple[str, ...]
    text: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.text[:LONGEST_TEXT])
        for what in ("request_id", "dataset", "snapshot", "project", "analyst"):
            named(getattr(self, what), what)
        if not self.question:
            raise ParameterError("question must be the canonical text of a question, got an empty one")
        try:
            "".join((self.question, self.text, *self.mechanisms)).encode()
        except UnicodeEncodeError:
            # Two surrogates and the character they stand for would have the same canonical text.
            raise ParameterError(
                "question, text and mechanisms must be valid Unicode, without surrogates"
            ) from None

    def priced(self, cost: Cost) -> "Request":
        """Return the same request at another price; nothing else needs a second look."""
        other = object.__new__(Request)
        for name in Request.__slots__:
            object.__setattr__(other, name, getattr(self, name))
        object.__setattr__(other, "cost", cost)
        return other


@dataclass(frozen=True, slots=True)
class Created:
    """The account was opened with a cap on everything anybody will ever learn together.

    `analysts` names those who may ask; None means whoever can open the ledger.
    """

    budget: Budget
    analysts: tuple[str, ...] | None
    reason: str


@dataclass(frozen=True, slots=True)
class Limited:
    """A limit was set, raised or lowered; what was spent before counts towards it."""

    scope: Scope
    budget: Budget
    reason: str


@dataclass(frozen=True, slots=True)
class Paced:
    """It was decided how much one question and one day of a scope may cost, or that nothing is."""

    scope: Scope
    pace: Pace
    reason: str


@dataclass(frozen=True, slots=True)
class Joined:
    """An analyst may ask from here on."""

    analyst: str
    reason: str


@dataclass(frozen=True, slots=True)
class Left:
    """An analyst may no longer ask."""

    analyst: str
    reason: str


@dataclass(frozen=True, slots=True)
class Closed:
    """Nothing more will be spent on this dataset; stored answers stay readable."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reserved:
    """A request was paid for, before any data was touched; with the day, where a limit per day covers it."""

    request: Request
    day: int | None = None


@dataclass(frozen=True, slots=True)
class Retried:
    """A paid request that had not been answered runs again, at no further cost."""

    reservation: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer that left, by its digest; its bytes are kept beside the entry.

    `question` is the fingerprint of what was asked, under which the answer is found again.
    """

    reservation: int
    question: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A paid request will never be answered, for a reason out of a fixed public vocabulary."""

    reservation: int
    reason_code: str

    def __post_init__(self) -> None:
        if not _REASON_CODE.fullmatch(self.reason_code):
            raise ParameterError(
                "reason_code must be a short code of lower-case letters, digits and hyphens, such as "
                "'engine-error'; free text could carry data"
            )


@dataclass(frozen=True, slots=True)
class Advanced:
    """A stream took the steps `first` to `last`, and these answers left, by their digest.

    `secret` is the digest of the concealed state after them, the only one from which the stream may go on.
    The event that begins a stream directly follows its payment and takes no step: its `last` is 0.
    """

    reservation: int
    first: int
    last: int
    secret: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Migrated:
    """From here on names have one form, and the account is kept, and sealed, row by row.

    What was spent and limited under several spellings of a name is merged; of two limits the smaller stays.
    """

    schema: int


@dataclass(frozen=True, slots=True)
class Adopted:
    """The history was verified and is anchored in another place from here on."""

    anchor: str
    reason: str


@dataclass(frozen=True, slots=True)
class Restored:
    """The history goes on from a backup; what may have been released after it counts as spent by everybody.

    `known` and `mac` name the newest entry that is known to have been lost, 0 if none is known.  Requests
    that were running may have been answered since, and streams may have gone on, so neither goes on here.
    Limits per day count it on `day`, on which the backup was restored.
    """

    lost: Cost
    known: int
    mac: str
    reason: str
    day: int | None = None


@dataclass(frozen=True, slots=True)
class Rotated:
    """A new key seals this entry and those after it; `states` are the streams' states under the new key."""

    key: str
    states: tuple[tuple[int, str], ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The account takes the place of another that is lost or given up, named `account`."""

    account: str
    reason: str


Event = (
    Created
    | Limited
    | Paced
    | Joined
    | Left
    | Closed
    | Reserved
    | Retried
    | Answered
    | Failed
    | Advanced
    | Migrated
    | Adopted
    | Restored
    | Rotated
    | Succeeded
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One sealed line of a dataset's history.

    `state` is the digest of the account after the event, so the running totals are under the seal; `mac`
    covers the ledger's identity, the dataset, the number, the previous mac and the body.  `anchor` names the
    anchor that held when the entry was written and the number it had reached, None in entries of older
    versions, whose `state` is the digest of the account's whole text.  `time` is for people; it decides
    nothing but the day of a payment that a limit per day covers.
    """

    dataset: str
    number: int
    event: Event
    time: str
    state: str
    previous: bytes
    mac: bytes
    anchor: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of a stored answer: the entry's place in the history, its seal, and the ledger's signature.

    The signature can be checked by anybody who has the ledger's public name, without its key; so whoever
    holds a receipt can prove to a third party that a ledger which lacks its entry was rolled back.
    """

    ledger: str
    dataset: str
    number: int
    mac: str
    signature: str = ""

    def __str__(self) -> str:
        seal = f"{self.mac}.{self.signature}" if self.signature else self.mac
        return f"{self.ledger}/{self.number}/{seal}/{self.dataset}"

    @classmethod
    def parse(cls, text: str) -> "Receipt":
        """Return the receipt that was printed as `text`."""
        parts = text.split("/", 3)
        if len(parts) != 4 or not parts[1].isdecimal():
            raise ParameterError("a receipt reads LEDGER/NUMBER/SEAL/DATASET; this text does not")
        mac, _, signature = parts[2].partition(".")
        return cls(parts[0], parts[3], int(parts[1]), mac, signature)


@dataclass(frozen=True, slots=True)
class Granted:
    """The right to run one request: paid for, durable, and this caller's alone while it runs."""

    dataset: str
    number: int
    attempt: int
    request: Request


@dataclass(frozen=True, slots=True)
class Streaming:
    """The right to go on with one stream: paid for, durable, and for whoever is admitted to the dataset.

    `request` is the one that paid; `analyst` is who holds this right.
    """

    dataset: str
    number: int
    request: Request
    analyst: str


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer that may leave: these bytes and no others."""

    payload: bytes
    receipt: Receipt
