"""Plans that were worked out before: the same words at the same price have the same plan, price and proof.

Planning, pricing and proving are pure functions of the declarations, the text and the price, so whoever
repeats a question, or asks what they had quoted, need not wait for them again.  A text that names the date or
the time is planned anew: later it is another question.  Nothing here knows an answer.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from threading import Lock
from typing import Any, TypeAlias

from discreet.mechanisms.codec import encode
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.identity import identity
from discreet.query.language.clock import asks_the_clock
from discreet.query.price.expected import Quote
from discreet.query.price.mechanism import MeasurementShare
from discreet.query.price.sparse import Sparse
from discreet.query.price.together import Together

MOST = 64
LONGEST = 4096
"""Longer questions are planned anew each time, and so are"""

WIDEST = 64
"""those that take more measurements."""

Meaning: TypeAlias = tuple[str, tuple[str, ...]]
"""The identity of a question, and its mechanisms as they are stored."""

PLAIN = (bool, int, float, str, type(None))


class Plans:
    """The newest quotes of one dataset; one object may be shared by threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Catalog, Quote]] = OrderedDict()
        self._lock = Lock()
        self._meanings: OrderedDict[int, tuple[Quote, Meaning]] = OrderedDict()

    def meaning(self, priced: Quote, make: Callable[[], Meaning]) -> Meaning:
        """Return what a ledger calls a priced question, worked out now or before for this very quote."""
        with self._lock:
            found = self._meanings.get(id(priced))
        # A quote that is kept here is there still, so nothing else has its number.
        if found is not None and found[0] is priced:
            return found[1]
        made = make()
        with self._lock:
            self._meanings[id(priced)] = priced, made
            while len(self._meanings) > MOST:
                self._meanings.popitem(last=False)
        return made

    def quote(self, catalog: Catalog, asked: tuple[Any, ...], make: Callable[[], Quote]) -> Quote:
        """Return the quote of a question under these declarations, made now or before."""
        key = _key(asked)
        if key is None:
            return make()
        with self._lock:
            found = self._kept.get(key)
        if found is not None and found[0] is catalog:
            return found[1]
        made = make()
        if len(made.shares) <= WIDEST:
            with self._lock:
                self._kept[key] = catalog, made
                while len(self._kept) > MOST:
                    self._kept.popitem(last=False)
        return made


def _key(asked: tuple[Any, ...]) -> Hashable | None:
    """Return what tells one question from another, None where it cannot be told for certain."""
    text, *price, limits, parameters = asked
    if not isinstance(text, str) or len(text) > LONGEST or asks_the_clock(text):
        return None
    named = isinstance(parameters, Mapping)
    given = list(parameters.items() if named else enumerate(parameters or ()))
    if not all(type(value) in PLAIN for _, value in given) or any(type(one) not in PLAIN for one in price):
        return None
    words = tuple((name, type(value), repr(value)) for name, value in given)
    return (
        text,
        tuple((type(one), repr(one)) for one in price),
        limits,
        named,
        words,
    )


def meant(priced: Quote) -> Meaning:
    """Return what a priced question means to the ledger."""
    return identity(priced.checked), tuple(_stored(share) for share in priced.shares)


def _stored(share: MeasurementShare) -> str:
    match share.mechanism:
        case Together() | Sparse() as planned:
            return planned.stored()
        case mechanism:
            return encode(mechanism)
