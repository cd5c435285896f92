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
After `Restored` what may have been released since the backup counts towards every limit, and nothing that was
running or streaming at the backup can be released from again.

Spending is kept once, per project and analyst.  A limit's total is the sum over the pairs it covers; it is
carried along with the account, but never stored, so no second set of totals can disagree with the first.  A
limit set late counts everything from the beginning.

At most four limits cover a request: on everybody, its project, its analyst, and its analyst in its project.
So checking and spending cost the same however many analysts there are.

A limit that is raised restarts the promise at the new budget, over the whole history.  That decision is the
curator's and is recorded with a reason; the theorem of the filter asks that it not be taken by looking at
answers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from discreet.errors import BudgetError, ConflictError
from discreet.ledger.codec import fingerprint, same_question
from discreet.ledger.entry import (
    ATTEMPTS,
    EVERYBODY,
    Adopted,
    Advanced,
    Answered,
    Closed,
    Created,
    Event,
    Failed,
    Joined,
    Left,
    Limited,
    Migrated,
    Paced,
    Request,
    Reserved,
    Restored,
    Retried,
    Rotated,
    Scope,
    Succeeded,
)
from discreet.ledger.name import folded_or_kept
from discreet.ledger.pace import Daily, Pace, too_fast
from discreet.ledger.trie import Key, Trie, Value, trie
from discreet.privacy.filter import Budget, Cost, Filter, adds_orders, admits
from discreet.privacy.grid import GRID
from discreet.privacy.ladder import Curve

Member = tuple[str, str]
"""A project and an analyst."""


@dataclass(frozen=True, slots=True)
class Running:
    """A reservation without an outcome: how often it was run, and the fingerprint of its question."""

    attempts: int
    question: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How many steps a stream has released, and the digest of the state from which alone it may go on.

    A stream without a digest was interrupted by a restored backup and can never go on.
    """

    step: int
    secret: str


@dataclass(frozen=True)
class Account:
    """Where a dataset stands; `running` holds the reservations that have no outcome yet.

    `streams` holds those that are answered step by step, `lost` what may have been released beyond a backup.
    """

    dataset: str
    limits: Mapping[Scope, Budget]
    analysts: frozenset[str] | None
    closed: bool = False
    spent: Mapping[Member, Cost] = field(default_factory=dict)
    running: Mapping[int, Running] = field(default_factory=dict)
    streams: Mapping[int, Standing] = field(default_factory=dict)
    lost: Cost = Cost.zero
    paces: Mapping[Scope, Pace] = field(default_factory=dict)
    daily: Mapping[Scope, Daily] = field(default_factory=dict)
    """What was spent on the latest day under each limit per day."""
    used: Mapping[Scope, Cost] | None = field(default=None, compare=False, repr=False)
    """What each limit counts as spent, without what was lost."""

    def __post_init__(self) -> None:
        for name in ("limits", "spent", "running", "streams", "paces", "daily"):
            object.__setattr__(self, name, trie(getattr(self, name)))
        if self.used is None:
            object.__setattr__(self, "used", trie(self._totals(self.limits)))

    @classmethod
    def opened(cls, dataset: str, event: Created) -> "Account":
        """Return the account as its first event leaves it."""
        analysts = None if event.analysts is None else frozenset(event.analysts)
        return cls(dataset, {EVERYBODY: event.budget}, analysts)

    def changed(self, **changed: object) -> "Account":
        """Return the account with some values changed, of which the mappings are tries already."""
        other = object.__new__(Account)
        other.__dict__.update(self.__dict__, **changed)
        return other

    def filter(self, scope: Scope) -> Filter:
        """Return the filter of one limit: its budget, and what those it covers have spent together."""
        return Filter(self.limits[scope], self.spending(scope))

    def spending(self, scope: Scope) -> Cost:
        """Return what a limit counts as spent, with what may have been lost."""
        used = _known(self.used)[scope]
        return used if self.lost is Cost.zero else used + self.lost

    def admit(self, analyst: str) -> None:
        """Raise BudgetError unless this analyst may see the dataset."""
        if self.analysts is not None and analyst not in self.analysts:
            raise BudgetError(
                f"analyst {analyst} may not ask about dataset {self.dataset}; its curator can add them to "
                "the ledger"
            )

    def check(self, request: Request, day: int | None = None) -> None:
        """Raise BudgetError, naming the limit, unless this request may be paid for on this day."""
        self.admit(request.analyst)
        self._require_open()
        for scope in self.covering(request.project, request.analyst):
            if not admits(self.limits[scope], self.spending(scope) + request.cost):
                raise self._refusal("limit", scope, self.filter(scope).refusal(request.cost))
        if self.paces or day is not None:
            self._check_paces(request, day)

    def _check_paces(self, request: Request, day: int | None) -> None:
        if (day is not None) != self.keeps_days(request):
            raise ConflictError(f"a payment on dataset {self.dataset} brings its day where one is counted")
        for scope in self.paced(request.project, request.analyst):
            found = too_fast(self.paces[scope], self.daily.get(scope, Daily()), day or 0, request.cost)
            if found is not None:
                raise self._refusal(f"limit per {found[0]}", scope, found[1])

    def _refusal(self, limit: str, scope: Scope, why: str) -> BudgetError:
        within = "all of" if scope == EVERYBODY else f"{scope} of"
        return BudgetError(f"the {limit} on {within} dataset {self.dataset} refuses: {why}")

    def keeps_days(self, request: Request) -> bool:
        """Return whether a limit per day covers a request."""
        covering = self.paced(request.project, request.analyst)
        return any(self.paces[scope].day is not None for scope in covering)

    def recorded(self, request: Request) -> Request:
        """Return a request as it is written down: with Renyi costs only where a limit adds them up."""
        return request if self._adds_orders() else same_question(request, request.priced(request.cost.plain))

    def _adds_orders(self) -> bool:
        """Return whether any limit adds up Renyi costs; looked up once for as long as the limits stay."""
        known: tuple[object, bool] | None = self.__dict__.get("_orders")
        if known is None or known[0] is not self.limits:
            paced = (budget for pace in self.paces.values() for budget in pace.budgets)
            known = self.limits, any(map(adds_orders, (*self.limits.values(), *paced)))
            object.__setattr__(self, "_orders", known)
        return known[1]

    def orphans(self, question: str) -> list[int]:
        """Return the reservations for a question that have no outcome, the earliest first."""
        return sorted([number for number, run in _trie(self.running).pairs() if run.question == question])

    def after(self, event: Event, number: int) -> "Account":
        """Return the account after entry `number`, or raise and change nothing."""
        match event:
            case Created():
                raise ConflictError(f"dataset {self.dataset} already has an account")
            case Limited(scope, budget, _):
                total = self._totals([scope])[scope]
                used = _known(self.used).set(scope, total)
                return replace(self, limits=_trie(self.limits).set(scope, budget), used=used)
            case Paced(scope, pace, _):
                paces = _trie(self.paces)
                return replace(self, paces=paces.set(scope, pace) if pace.budgets else paces.without(scope))
            case Joined(analyst, _):
                return replace(self, analysts=self._listed() | {analyst})
            case Left(analyst, _):
                return replace(self, analysts=self._listed() - {analyst})
            case Closed():
                return replace(self, closed=True)
            case Reserved(request, day):
                return self._reserved(request, day, number)
            case Retried(reservation, attempt):
                run = self._waiting(reservation)
                if attempt != run.attempts + 1 or attempt > ATTEMPTS:
                    raise ConflictError(f"entry {reservation} of dataset {self.dataset} has no attempts left")
                again = _trie(self.running).set(reservation, Running(attempt, run.question))
                return self.changed(running=again)
            case Answered(reservation) | Failed(reservation):
                return self._settled(reservation)
            case Advanced():
                return self._advanced(event, number)
            case Migrated():
                return self._with_one_name_each()
            case Restored(lost, day=day):
                return self._restored(lost, day)
            case Rotated(_, states):
                return self._concealed(dict(states))
            case Adopted() | Succeeded():
                return self
            case never:
                assert_never(never)

    def standing(self, reservation: int) -> Standing:
        """Return where a stream stands."""
        if reservation not in self.streams:
            raise ConflictError(f"entry {reservation} of dataset {self.dataset} pays for no stream")
        return self.streams[reservation]

    def _restored(self, lost: Cost, day: int | None) -> "Account":
        counted = [scope for scope, pace in self.paces.items() if pace.day is not None]
        if (day is not None) != bool(counted):
            raise ConflictError(f"a restored dataset {self.dataset} brings its day where one is counted")
        stopped = {n: Standing(standing.step, "") for n, standing in self.streams.items()}
        daily = self._counted(counted, day, lost)
        return replace(self, lost=self.lost + lost, running={}, streams=stopped, daily=daily)

    def _counted(self, scopes: Iterable[Scope], day: int | None, cost: Cost) -> Mapping[Scope, Daily]:
        """Return what is spent daily after one more payment on a day, if it has one."""
        daily = _trie(self.daily)
        for scope in scopes if day is not None else ():
            if self.paces[scope].day is not None:
                daily = daily.set(scope, self.daily.get(scope, Daily()).after(day or 0, cost))
        return daily

    def _reserved(self, request: Request, day: int | None, number: int) -> "Account":
        self.check(request, day)
        member = request.project, request.analyst
        total = self.spent.get(member, Cost.zero) + request.cost
        used = _known(self.used)
        for scope in self.covering(*member):
            used = used.set(scope, used[scope] + request.cost)
        return self.changed(
            spent=_trie(self.spent).set(member, total),
            running=_trie(self.running).set(number, Running(1, fingerprint(request))),
            daily=self._counted(self.paced(*member), day, request.cost),
            used=used,
        )

    def _advanced(self, event: Advanced, number: int) -> "Account":
        self._require_open()
        begins = (event.reservation, event.first, event.last) == (number - 1, 1, 0)
        if not begins and not self._going_on(event.reservation).step + 1 == event.first <= event.last:
            raise ConflictError(
                f"entry {number} of dataset {self.dataset} does not go on where its stream stopped"
            )
        before = self._settled(event.reservation) if begins else self
        streams = _trie(self.streams).set(event.reservation, Standing(event.last, event.secret))
        return before.changed(streams=streams)

    def _going_on(self, reservation: int) -> Standing:
        standing = self.standing(reservation)
        if not standing.secret:
            raise ConflictError(
                f"the stream that entry {reservation} of dataset {self.dataset} paid for may have gone on "
                "beyond the backup that was restored, so it can never go on from here; begin a new one"
            )
        return standing

    def _concealed(self, states: dict[int, str]) -> "Account":
        going = {number for number, standing in self.streams.items() if standing.secret}
        if going != set(states):
            raise ConflictError(f"a new key of dataset {self.dataset} has to conceal every stream's state")
        streams = {n: replace(s, secret=states.get(n, "")) for n, s in self.streams.items()}
        return replace(self, streams=streams)

    def _with_one_name_each(self) -> "Account":
        limits: dict[Scope, Budget] = {}
        for scope, budget in self.limits.items():
            folded = Scope(_folded(scope.project), _folded(scope.analyst))
            if folded not in limits or budget.epsilon < limits[folded].epsilon:
                limits[folded] = budget
        spent: dict[Member, Cost] = {}
        for (project, analyst), cost in self.spent.items():
            member = folded_or_kept(project), folded_or_kept(analyst)
            spent[member] = spent.get(member, Cost.zero) + cost
        analysts = None if self.analysts is None else frozenset(map(folded_or_kept, self.analysts))
        return replace(self, limits=limits, spent=spent, analysts=analysts, used=None)

    def covering(self, project: str, analyst: str) -> list[Scope]:
        """Return the limits that cover what this analyst spends in this project, the widest first."""
        if len(self.limits) == 1:
            return [EVERYBODY]
        return [scope for scope in _every_scope(project, analyst) if scope in self.limits]

    def paced(self, project: str, analyst: str) -> list[Scope]:
        """Return whose pace covers what this analyst spends in this project, the widest first."""
        return (
            []
            if not self.paces
            else [scope for scope in _every_scope(project, analyst) if scope in self.paces]
        )

    def _totals(self, scopes: Iterable[Scope]) -> dict[Scope, Cost]:
        """Return what the pairs that each scope covers have spent, in one walk over all pairs."""
        wanted = dict.fromkeys(scopes, Cost.zero)
        if len(wanted) == 1:
            for scope in wanted:
                covered = (c for m, c in self.spent.items() if scope.covers(*m))
                return {scope: _total(covered)}
        for (project, analyst), cost in self.spent.items():
            for scope in (EVERYBODY, Scope(project), Scope(None, analyst), Scope(project, analyst)):
                if scope in wanted:
                    wanted[scope] += cost
        return wanted

    def _require_open(self) -> None:
        if self.closed:
            raise BudgetError(f"dataset {self.dataset} is closed; only answers already given can be read")

    def _settled(self, reservation: int) -> "Account":
        self._waiting(reservation)
        return self.changed(running=_trie(self.running).without(reservation))

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


def _total(costs: Iterable[Cost]) -> Cost:
    """Return what many costs come to, in whole numbers, since an account may have many: as one by one."""
    some = [cost for cost in costs if not cost.nothing]
    if len(some) < 2:
        return some[0] if some else Cost.zero
    epsilons = [cost.epsilon for cost in some if cost.epsilon is not None]
    epsilon = _whole_sum(epsilons) if len(epsilons) == len(some) else None
    curves = [cost.renyi for cost in some]
    steps = tuple(map(sum, zip(*(curve.steps for curve in curves if curve.steps), strict=True)))
    curve = Curve(_whole_sum(curve.plain for curve in curves), steps)
    return Cost(
        epsilon, _whole_sum(cost.rho for cost in some), _whole_sum(cost.delta for cost in some), curve
    )


def _whole_sum(parts: Iterable[Fraction]) -> Fraction:
    return Fraction(sum(part.numerator * (GRID // part.denominator) for part in parts), GRID)


@lru_cache(4096)
def _every_scope(project: str, analyst: str) -> tuple[Scope, ...]:
    return EVERYBODY, Scope(project), Scope(None, analyst), Scope(project, analyst)


def _trie(values: Mapping[Key, Value]) -> Trie[Key, Value]:
    return trie(values)


def _known(used: Mapping[Scope, Cost] | None) -> Trie[Scope, Cost]:
    return trie({} if used is None else used)


def _folded(name: str | None) -> str | None:
    return None if name is None else folded_or_kept(name)
