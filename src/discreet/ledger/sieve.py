"""Sifting: all that can be checked of an entry by itself, for a whole stretch of a history at once.

The seal of an entry, the form of its event, its look-up columns, the digest of its answer and its link to the
entry before depend on nothing that came earlier.  So stretches can be sifted in any order, by several
processes, and what is left for replaying them in order is small: who spent what, and which sums are sealed.

There is one strict way to read an entry, `Seals.open`.  The three kinds that make up almost every history
are also read here, faster; whatever looks unusual in the least is left to the strict way, so it alone decides
what is refused and in which words.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted
from json.scanner import make_scanner
from typing import Any, NamedTuple

from discreet.errors import DiscreetError
from discreet.ledger.chain import keyed, sealing
from discreet.ledger.check import Seals
from discreet.ledger.codec import canonical, read_cost, step_key, write_cost
from discreet.ledger.entry import LONGEST_NAME, Entry, named
from discreet.ledger.store import checked_row
from discreet.ledger.written import term_text

RESERVED, ANSWERED, ADVANCED = range(3)
SEAL = 64
"""So many characters a sealed sum has."""

HEAD = re.compile(r'\{"anchor":\["([^"\\]*)",(0|[1-9][0-9]*)\],')
TIME = re.compile(r'","time":"[^"\\]*"\}')
REMEMBERED = 200_000
"""So many names and times that were found to be well-formed are remembered as such."""

BEGUN = 5_000
"""The same for how events begin, which may be long: who asks, what it costs, and what is drawn."""

Price = tuple[str | None, ...]
Item = tuple[Any, ...] | Entry
"""What replaying needs to know of an entry.

    RESERVED, sealed sum, anchor, project, analyst, price, question, term of the row of running requests
    ANSWERED, sealed sum, anchor, reservation, question
    ADVANCED, sealed sum, anchor, reservation, first step, last step, state, term of the row of streams

or, for every other kind, the whole entry.
"""


class _Begun(NamedTuple):
    """How an event begins that pays: who asks, at which price, and what ends the meaning of the question."""

    project: str
    analyst: str
    price: Price
    rest: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some entries in a row: what to replay of them, what they are linked to, and what stopped the sieve."""

    items: list[Item]
    previous: bytes
    mac: bytes
    problem: str | None


class Sieve:
    """Checks the entries of one dataset, each by itself; `terms` are only needed for replaying them."""

    def __init__(self, seals: Seals, dataset: str, name: str, *, terms: bool = True) -> None:
        self._seals = seals
        self._dataset = dataset
        self._name = name
        self._terms = terms
        self._turning = {until for until, _ in seals.earlier.get(dataset, ())}
        self._names: set[str] = set()
        self._times: set[str] = set()
        self._begun: dict[str, _Begun] = {}
        self._head = self._anchor = ""
        self.reached = 0
        """How far the anchor had come by the newest entry that was paid or answered."""
        self._decode = make_scanner(json.JSONDecoder())  # type: ignore[arg-type]

    def stretch(self, rows: Iterable[tuple[Any, ...]], first: int, last: int) -> Stretch:
        """Sift the entries first .. last, up to the first one that is missing, edited or unlinked."""
        items: list[Item] = []
        expected, begin, link = first, b"", b""
        self._use_keys(first)
        for values in rows:
            if values[1] != expected:
                break
            try:
                item = self._quickly(*values) if expected not in self._turning else None
                if item is None:
                    item = self._strictly(values)
            except DiscreetError as problem:
                return Stretch(items, begin, link, str(problem))
            if expected == first:
                begin = values[7]
            elif values[7] != link:
                return Stretch(
                    items,
                    begin,
                    link,
                    f"entry {expected} of dataset {self._dataset} does not follow the one before it",
                )
            items.append(item)
            link, expected = values[8], expected + 1
        missing = (
            f"entry {expected} of dataset {self._dataset} is missing: the history was cut or thinned out"
        )
        return Stretch(items, begin, link, missing if expected <= last else None)

    def _use_keys(self, number: int) -> None:
        key = self._seals.key_at(self._dataset, number)
        self._seal = sealing(key, self._seals.ledger, self._dataset)
        self._own = keyed(self._seals.own(self._dataset, key))

    def _strictly(self, values: tuple[Any, ...]) -> Item:
        if values[1] in self._turning:
            self._use_keys(values[1])
        return self._seals.open(checked_row(values, self._name))

    def _quickly(
        self,
        dataset: Any,
        number: Any,
        kind: Any,
        request: Any,
        asked: Any,
        refers: Any,
        body: Any,
        previous: Any,
        mac: Any,
        payload: Any,
    ) -> Item | None:
        """Return what is to be replayed of an entry of a common kind in its usual form, None for another."""
        if type(body) is not str or not body.isascii() or type(previous) is not bytes:
            return None
        if self._seal(number, previous, body.encode()) != mac:
            return None
        try:
            if kind == "reserved":
                if refers is not None or payload is not None or type(request) is not str:
                    return None
                return self._reserved(number, request, asked, body)
            if request is not None or type(refers) is not int or type(payload) is not bytes:
                return None
            if type(asked) is not str:
                return None
            answer = hashlib.sha256(payload).hexdigest()
            if kind == "answered":
                return self._answered(asked, refers, body, answer, len(payload))
            return self._advanced(asked, refers, body, answer, len(payload)) if kind == "advanced" else None
        except (KeyError, TypeError, ValueError, StopIteration, DiscreetError):
            return None

    def _answered(self, asked: str, refers: int, body: str, answer: str, size: int) -> Item | None:
        """Compare a body with what its columns and its answer say, and read only what stands around that."""
        event = (
            f'"event":{{"digest":"{answer}","kind":"answered","question":{quoted(asked)},'
            f'"reservation":{refers},"size":{size}}},"rows":"'
        )
        head, found, tail = body.partition(event)
        if not found or not self._framed(head, tail):
            return None
        return ANSWERED, tail[:SEAL], self._anchor, refers, asked

    def _reserved(self, number: int, request: str, asked: Any, body: str) -> Item | None:
        """Cut a body between its keys: within a text every quotation mark is escaped, so none looks like one.

        The meaning is put together from the pieces as they are written, and its digest tells whether that is
        how they would be written.
        """
        if not request.isprintable() or not 0 < len(request) <= LONGEST_NAME:
            return None
        before, _, after = body.partition(f',"request":{quoted(request)},"snapshot":')
        head, _, begun = before.partition('"event":')
        begun, _, question = begun.partition(',"question":')
        snapshot, _, tail = after.partition('},"rows":"')
        if not self._framed(head, tail):
            return None
        snapshot, worded, text = snapshot.partition(',"text":')
        if (worded and not _text(text)) or not _text(question):
            return None
        if snapshot not in self._names:
            self._remember(snapshot)
        who = self._begun.get(begun) or self._begin(begun)
        meaning = f"[{snapshot},{question},{who.rest}]"
        if hashlib.sha256(meaning.encode()).hexdigest() != asked:
            return None
        running = b""
        if self._terms:
            running = self._own(term_text(f'["running",{number}]', f'[1,"{asked}"]'))
        return RESERVED, tail[:SEAL], self._anchor, who.project, who.analyst, who.price, asked, running

    def _advanced(self, asked: str, refers: int, body: str, answer: str, size: int) -> Item | None:
        stored, end = self._decode(body, 0)
        event, (anchor, reached), seal = stored["event"], stored["anchor"], stored["rows"]
        if end != len(body) or (type(anchor), type(reached), type(seal)) != (str, int, str):
            return None
        if (event["kind"], event["reservation"]) != ("advanced", refers):
            return None
        if (event["digest"], event["size"]) != (answer, size):
            return None
        first, last, state = event["first"], event["last"], event["secret"]
        if (type(first), type(last), type(state)) != (int, int, str) or asked != step_key(last):
            return None
        row = self._own(term_text(f'["stream",{refers}]', canonical([last, state])))
        return ADVANCED, seal, anchor, refers, first, last, state, row

    def _framed(self, head: str, tail: str) -> bool:
        """Return whether what stands around an event is an anchor, and a sealed sum and a time."""
        if head != self._head:
            found = HEAD.fullmatch(head)
            if found is None:
                return False
            self._head, self._anchor, self.reached = head, found[1], int(found[2])
        time = tail[SEAL:]
        if time not in self._times:
            if TIME.fullmatch(time) is None:
                return False
            if len(self._times) > REMEMBERED:
                self._times.clear()
            self._times.add(time)
        return tail[:SEAL].isalnum()

    def _remember(self, text: str) -> None:
        """Remember a name, if it is written as it would be."""
        name = json.loads(text)
        if quoted(named(name, "name")) != text:
            raise ValueError
        if len(self._names) > REMEMBERED:
            self._names.clear()
        self._names.add(text)

    def _begin(self, text: str) -> "_Begun":
        """Read how an event begins, up to its question, and remember it, if it is written as it would be."""
        event = json.loads(text + "}")
        price, drawn = event["cost"], event["mechanisms"]
        said = {"dataset": self._dataset, "kind": "reserved"}
        usual = {key: event[key] for key in ("analyst", "cost", "mechanisms", "project")}
        if canonical({**said, **usual}) != text + "}" or write_cost(read_cost(price)) != price:
            raise ValueError
        "".join(drawn).encode()
        if len(self._begun) > BEGUN:
            self._begun.clear()
        project, analyst = named(event["project"], "project"), named(event["analyst"], "analyst")
        rest = f"{canonical(price[:3])},{canonical(drawn)}"
        found = self._begun[text] = _Begun(project, analyst, tuple(price), rest)
        return found


def _text(piece: str) -> bool:
    """Return whether a piece of a body is one text, not empty, and without surrogates."""
    if len(piece) < 3 or piece[0] != '"' or piece[-1] != '"':
        return False
    if "\\" not in piece:
        return piece.count('"') == 2
    text: str = json.loads(piece)
    return bool(text.encode())
