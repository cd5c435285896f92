"""A fixed set of questions of every kind, walked from the text to the proof, and what neighbours say of them.

`walk` prices and proves a question as a session does; `judged` also runs what was accepted on the datasets of
`people` and asks `oracle` whether any two neighbours contradict the price.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache
from hashlib import sha256

from tests.query.gate.oracle import violation
from tests.query.gate.people import Family, family, others, ready, single, worst
from tests.query.questions import VIEWS, clinic

from discreet.errors import DiscreetError, ProofError
from discreet.query.catalog.manifest import Catalog
from discreet.query.check import bounds
from discreet.query.check.batch import combine
from discreet.query.check.measurement import Checked, questions_of
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.expected import Quote
from discreet.query.price.proving import preparation, proof_of
from discreet.query.price.quote import quote
from discreet.query.price.together import Together
from discreet.query.rewrite.statements import statements

DELTA = Fraction(1, 10**9)

CLINICS: dict[str, Callable[[], Catalog]] = {
    "plain": clinic,
    "swaps": lambda: clinic(neighbours="replace"),
    "wide": lambda: clinic(rows=20, groups=None),
    "cells": lambda: clinic(rows=5, groups=None, per_group=2),
    "cell swaps": lambda: clinic(rows=4, groups=None, per_group=1, neighbours="replace"),
    "groups only": lambda: clinic(rows=None, groups=2, per_group=2),
    "one": lambda: clinic(rows=1, groups=None),
    "votes": lambda: clinic(unit=False),
    "vote swaps": lambda: clinic(unit=False, neighbours="replace"),
    "ready": lambda: ready(clinic()),
}
"""Declarations that differ in their limits and neighbours."""


class Verdict(StrEnum):
    """What became of a question."""

    ACCEPTED = "accepted"
    REFUSED = "refused by the checker"
    UNPLANNED = "refused by the planner"
    CRASHED = "crashed"
    BROKEN = "accepted, and broken by a neighbour"


@dataclass(frozen=True)
class Asked:
    """A question, or several that make a batch, about one of the clinics."""

    clinic: str
    text: tuple[str, ...]
    concentrated: bool = False

    def __str__(self) -> str:
        return f"{self.clinic}: {'; '.join(self.text)}"

    def checked(self, catalog: Catalog) -> Checked:
        """Return the checked question, that of a batch, or the one that finds bounds."""
        if self.text[0].startswith("bounds of "):
            return bounds.question(catalog, "visits", self.text[0].removeprefix("bounds of "))
        found = [check(read(text, views=VIEWS), catalog, batched=len(self.text) > 1) for text in self.text]
        return found[0] if len(found) == 1 else combine(found, catalog).whole


@cache
def declared(name: str) -> Catalog:
    """Return one of the clinics."""
    return CLINICS[name]()


@cache
def walk(asked: Asked) -> tuple[Verdict, Quote | None, str]:
    """Price and prove one question; a quote without a proof is of a question that the checker refused."""
    priced = None
    try:
        catalog = declared(asked.clinic)
        conversion = DELTA if asked.concentrated else None
        priced = quote(asked.checked(catalog), epsilon=1, conversion=conversion, delta=DELTA)
        for table in catalog.tables:
            if table.prepared:
                preparation(table)
        proof_of(priced, catalog)
    except ProofError as refused:
        return Verdict.REFUSED, priced, str(refused)
    except DiscreetError as refused:
        return Verdict.UNPLANNED, None, str(refused)
    except Exception as crash:
        return Verdict.CRASHED, None, repr(crash)
    return Verdict.ACCEPTED, priced, ""


@cache
def datasets(name: str) -> Family:
    """Return the datasets on which questions about a clinic are judged."""
    if name.startswith("vote"):
        return family(single(), others())
    if name == "ready":
        return family(worst(), others(), declared(name))
    return family(worst(), others())


def _datasets(name: str) -> Family:
    return datasets("votes" if name.startswith("vote") else name if name == "ready" else "plain")


def broken(asked: Asked, priced: Quote) -> str | None:
    """Return what two neighbours contradict about a priced question, proved or not."""
    known = _datasets(asked.clinic)
    swapped = "swaps" in asked.clinic
    for part in priced.parts or (priced,):
        found = known.integers(statements(part.checked), replaced=swapped)
        for one, other in known.pairs("replace" if swapped else "add-remove"):
            wrong = violation(part, found[one], found[other])
            if wrong is not None:
                return f"{wrong} between datasets {one} and {other}"
    return None


def judged(asked: Asked) -> tuple[Verdict, str]:
    """Walk a question, and run it on the datasets if it was accepted."""
    verdict, priced, why = walk(asked)
    if verdict is not Verdict.ACCEPTED or priced is None:
        return verdict, why
    wrong = broken(asked, priced)
    return (Verdict.ACCEPTED, "") if wrong is None else (Verdict.BROKEN, wrong)


def same(priced: Quote) -> str:
    """Return a text that two quotes share whose statements, claims and noise are the same."""
    shares = [
        (
            share.measured,
            share.mechanism.stored() if isinstance(share.mechanism, Together) else share.mechanism,
        )
        for share in priced.shares
    ]
    running = [statements(checked) for checked in questions_of(priced.checked)]
    return sha256(repr((running, shares, priced.cost)).encode()).hexdigest()
