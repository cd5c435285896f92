"""The account of one dataset: the pure function from its history to what may still happen.

Theorem.  Let an account be any value reached from `Account.opened` by `after`.  Then for every limit in
force, the costs of all requests ever reserved that the limit covers were admitted by its filter when they
were reserved; so whatever was released, by whichever analysts pooling their answers, keeps each limit's
promise.

Proof.  Costs enter only through `Reserved`, and `after` raises unless every covering limit's filter admits
the sum.  No event subtracts.  At most one `Answered` follows each `Reserved`, because answering removes the
reservation from `running` and only a running reservation can be answered; so the released answers cost no
more than what was reserved.  A reservation that becomes a stream leaves `running` at once, and `Advanced` has
to begin at the step after the last one released: so every step is released once, each from the state that the
one before it left, and all of them together are the one run of the stream's mechanism that was paid for.

Spending is kept once, per project and analyst; a limit's total is the sum over the pairs it covers, so a
limit set late counts everything from the beginning, and no second set of totals can disagree with the first.

A limit that is raised restarts the promise at the new budget, over the whole history.  That decision is the
curator's and is recorded with a reason; the theorem of the filter asks that it not be taken by looking at
answers.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, assert_never

from discreet.errors import BudgetError, ConflictError, LedgerError
from discreet.ledger.codec import canonical, fingerprint, read_budget, read_cost, write_budget, write_cost
from discreet.ledger.entry import (
    ATTEMPTS,
    EVERYBODY,
    Advanced,
    Answered,
    Closed,
    Created,
    Event,
    Failed,
    Joined,
    Left,
    Limited,
    Request,
    Reserved,
    Retried,
    Scope,
)
from discreet.privacy.filter import Budget, Cost, Filter

Member = tuple[str, str]
"""A project and an analyst."""


@dataclass(frozen=True, slots=True)
class Running:
    """A reservation without an outcome: how often it was run, and the fingerprint of its question."""

    attempts: int
    question: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How many steps a stream has released, and the digest of the state from which alone it may go on."""

    step: int
    secret: str


@dataclass(frozen=True, slots=True)
class Account:
    """Where a dataset stands; `running` holds the reservations that have no outcome yet.

    `streams` holds those that are answered step by step.
    """

    dataset: str
    limits: Mapping[Scope, Budget]
    analysts: frozenset[str] | None
    closed: bool = False
    spent: Mapping[Member, Cost] = field(default_factory=dict)
    running: Mapping[int, Running] = field(default_factory=dict)
    streams: Mapping[int, Standing] = field(default_factory=dict)

    @classmethod
    def opened(cls, dataset: str, event: Created) -> "Account":
        """Return the account as its first event leaves it."""
        analysts = None if event.analysts is None else frozenset(event.analysts)
        return cls(dataset, {EVERYBODY: event.budget}, analysts)

    def filter(self, scope: Scope) -> Filter:
        """Return the filter of one limit: its budget, and what those it covers have spent together."""
        spent = reduce(Cost.__add__, (c for m, c in self.spent.items() if scope.covers(*m)), Cost.zero)
        return Filter(self.limits[scope], spent)

    def admit(self, analyst: str) -> None:
        """Raise BudgetError unless this analyst may see the dataset."""
        if self.analysts is not None and analyst not in self.analysts:
            raise BudgetError(
                f"analyst {analyst} may not ask about dataset {self.dataset}; its curator can add them to "
                "the ledger"
            )

    def check(self, request: Request) -> None:
        """Raise BudgetError, naming the limit, unless this request may be paid for."""
        self.admit(request.analyst)
        self._require_open()
        for scope in self.limits:
            if scope.covers(request.project, request.analyst):
                try:
                    self.filter(scope).spend(request.cost)
                except BudgetError as refusal:
                    within = "all of" if scope == EVERYBODY else f"{scope} of"
                    raise BudgetError(
                        f"the limit on {within} dataset {self.dataset} refuses: {refusal}"
                    ) from None

    def after(self, event: Event, number: int) -> "Account":
        """Return the account after entry `number`, or raise and change nothing."""
        match event:
            case Created():
                raise ConflictError(f"dataset {self.dataset} already has an account")
            case Limited(scope, budget, _):
                return replace(self, limits={**self.limits, scope: budget})
            case Joined(analyst, _):
                return replace(self, analysts=self._listed() | {analyst})
            case Left(analyst, _):
                return replace(self, analysts=self._listed() - {analyst})
            case Closed():
                return replace(self, closed=True)
            case Reserved(request):
                self.check(request)
                member = request.project, request.analyst
                total = self.spent.get(member, Cost.zero) + request.cost
                run = Running(1, fingerprint(request))
                return replace(
                    self, spent={**self.spent, member: total}, running={**self.running, number: run}
                )
            case Retried(reservation, attempt):
                run = self._waiting(reservation)
                if attempt != run.attempts + 1 or attempt > ATTEMPTS:
                    raise ConflictError(f"entry {reservation} of dataset {self.dataset} has no attempts left")
                return replace(self, running={**self.running, reservation: replace(run, attempts=attempt)})
            case Answered(reservation) | Failed(reservation):
                return self._settled(reservation)
            case Advanced():
                return self._advanced(event, number)
            case never:
                assert_never(never)

    def standing(self, reservation: int) -> Standing:
        """Return where a stream stands."""
        if reservation not in self.streams:
            raise ConflictError(f"entry {reservation} of dataset {self.dataset} pays for no stream")
        return self.streams[reservation]

    def _advanced(self, event: Advanced, number: int) -> "Account":
        self._require_open()
        begins = (event.reservation, event.first, event.last) == (number - 1, 1, 0)
        if not begins and not self.standing(event.reservation).step + 1 == event.first <= event.last:
            raise ConflictError(
                f"entry {number} of dataset {self.dataset} does not go on where its stream stopped"
            )
        before = self._settled(event.reservation) if begins else self
        return replace(
            before, streams={**self.streams, event.reservation: Standing(event.last, event.secret)}
        )

    def _require_open(self) -> None:
        if self.closed:
            raise BudgetError(f"dataset {self.dataset} is closed; only answers already given can be read")

    def _settled(self, reservation: int) -> "Account":
        self._waiting(reservation)
        return replace(self, running={n: run for n, run in self.running.items() if n != reservation})

    def _waiting(self, reservation: int) -> Running:
        if reservation not in self.running:
            raise ConflictError(f"entry {reservation} of dataset {self.dataset} is not waiting for an answer")
        return self.running[reservation]

    def _listed(self) -> frozenset[str]:
        if self.analysts is None:
            raise ConflictError(
                f"dataset {self.dataset} was opened to everybody who holds the ledger, so it keeps no list "
                "of analysts; name the analysts when creating a dataset to keep one"
            )
        return self.analysts


def write_account(account: Account) -> str:
    """Return the one text that stands for this account; streams are named only where there are any."""
    streams = [[n, standing.step, standing.secret] for n, standing in sorted(account.streams.items())]
    return canonical(
        {
            **({"streams": streams} if streams else {}),
            "dataset": account.dataset,
            "limits": [
                [s.project, s.analyst, write_budget(b)] for s, b in sorted(account.limits.items(), key=_order)
            ],
            "analysts": None if account.analysts is None else sorted(account.analysts),
            "closed": account.closed,
            "spent": [[*member, write_cost(cost)] for member, cost in sorted(account.spent.items())],
            "running": [[n, run.attempts, run.question] for n, run in sorted(account.running.items())],
        }
    )


def read_account(text: str) -> Account:
    """Return the account that was stored; the caller has checked its digest against a seal."""
    stored: Any = json.loads(text)
    try:
        return Account(
            dataset=stored["dataset"],
            limits={Scope(project, analyst): read_budget(b) for project, analyst, b in stored["limits"]},
            analysts=None if stored["analysts"] is None else frozenset(stored["analysts"]),
            closed=stored["closed"],
            spent={(project, analyst): read_cost(c) for project, analyst, c in stored["spent"]},
            running={number: Running(*run) for number, *run in stored["running"]},
            streams={number: Standing(*standing) for number, *standing in stored.get("streams", [])},
        )
    except (KeyError, TypeError, ValueError):
        raise LedgerError("the ledger holds an account in a form this version does not know") from None


def _order(item: tuple[Scope, Budget]) -> tuple[str, str]:
    return item[0].project or "", item[0].analyst or ""
