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
from collections.abc import Iterable
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted
from json.scanner import make_scanner
from typing import Any

from discreet.errors import DiscreetError
from discreet.ledger.chain import keyed, sealing
from discreet.ledger.check import Seals
from discreet.ledger.codec import canonical, read_cost, step_key, write_cost
from discreet.ledger.entry import LONGEST_NAME, Entry, named
from discreet.ledger.store import checked_row
from discreet.ledger.written import term_text

RESERVED, ANSWERED, ADVANCED = range(3)
REMEMBERED = 200_000
"""So many names and prices that were found to be well-formed are remembered as such."""

DRAWN = 5_000
"""The same for lists of mechanisms, which may be long."""

Price = tuple[str | None, ...]
Item = tuple[Any, ...] | Entry
"""What replaying needs to know of an entry.

    RESERVED, sealed sum, anchor, project, analyst, price, question, term of the row of running requests
    ANSWERED, sealed sum, anchor, reservation, question
    ADVANCED, sealed sum, anchor, reservation, first step, last step, state, term of the row of streams

or, for every other kind, the whole entry.
"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some entries in a row: what to replay of them, what they are linked to, and what stopped the sieve."""

    items: list[Item]
    previous: bytes
    mac: bytes
    problem: str | None


class Sieve:
    """Checks the entries of one dataset, each by itself."""

    def __init__(self, seals: Seals, dataset: str, name: str) -> None:
        self._seals = seals
        self._dataset = dataset
        self._name = name
        self._turning = {until for until, _ in seals.earlier.get(dataset, ())}
        self._known: set[str] = set()
        self._prices: dict[Price, tuple[Price, str]] = {}
        self._drawn: dict[tuple[str, ...], str] = {}
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
                item = self._sifted(values)
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

    def _sifted(self, values: tuple[Any, ...]) -> Item:
        if values[1] in self._turning:
            self._use_keys(values[1])
        else:
            found = self._quickly(*values)
            if found is not None:
                return found
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
            stored, end = self._decode(body, 0)
            event, (anchor, reached), seal = stored["event"], stored["anchor"], stored["rows"]
            if (
                end != len(body)
                or event["kind"] != kind
                or (type(anchor), type(reached), type(seal)) != (str, int, str)
            ):
                return None
            if kind == "reserved":
                if refers is not None or payload is not None:
                    return None
                return self._reserved(number, request, asked, event, seal, anchor)
            if request is not None or type(refers) is not int or event["reservation"] != refers:
                return None
            if type(payload) is not bytes or len(payload) != event["size"]:
                return None
            if hashlib.sha256(payload).hexdigest() != event["digest"]:
                return None
            if kind == "answered":
                if type(asked) is not str or event["question"] != asked:
                    return None
                return ANSWERED, seal, anchor, refers, asked
            return self._advanced(asked, refers, event, seal, anchor) if kind == "advanced" else None
        except (KeyError, TypeError, ValueError, StopIteration, DiscreetError):
            return None

    def _reserved(
        self, number: int, request: Any, asked: Any, event: dict[str, Any], seal: str, anchor: str
    ) -> Item | None:
        snapshot, question, who = event["snapshot"], event["question"], event["analyst"]
        if event["request"] != request or event["dataset"] != self._dataset:
            return None
        if type(request) is not str or not request.isprintable() or not 0 < len(request) <= LONGEST_NAME:
            return None
        for name in (snapshot, event["project"], who):
            if name not in self._known:
                self._remember(name)
        if not question:
            return None
        (question + event.get("text", "")).encode()
        if "day" in event:
            return None
        price = tuple(event["cost"])
        found = self._prices.get(price) or self._price(price)
        drawn = tuple(event["mechanisms"])
        mechanisms = self._drawn.get(drawn) or self._mechanisms(drawn)
        meaning = f"[{quoted(snapshot)},{quoted(question)},{found[1]},{mechanisms}]"
        if hashlib.sha256(meaning.encode()).hexdigest() != asked:
            return None
        running = self._own(term_text(f'["running",{number}]', f'[1,"{asked}"]'))
        return RESERVED, seal, anchor, event["project"], who, found[0], asked, running

    def _advanced(
        self, asked: Any, refers: int, event: dict[str, Any], seal: str, anchor: str
    ) -> Item | None:
        first, last, state = event["first"], event["last"], event["secret"]
        if (type(first), type(last), type(state)) != (int, int, str) or asked != step_key(last):
            return None
        row = self._own(term_text(f'["stream",{refers}]', canonical([last, state])))
        return ADVANCED, seal, anchor, refers, first, last, state, row

    def _remember(self, name: str) -> None:
        named(name, "name")
        if len(self._known) > REMEMBERED:
            self._known.clear()
        self._known.add(name)

    def _price(self, price: Any) -> tuple[Price, str]:
        """Return a price and its text, if it is stored as it would be written."""
        if write_cost(read_cost(list(price))) != list(price):
            raise ValueError
        if len(self._prices) > REMEMBERED:
            self._prices.clear()
        found = self._prices[price] = price, canonical(list(price[:3]))
        return found

    def _mechanisms(self, drawn: tuple[str, ...]) -> str:
        "".join(drawn).encode()
        if len(self._drawn) > DRAWN:
            self._drawn.clear()
        text = self._drawn[drawn] = canonical(list(drawn))
        return text
