"""Replaying a history in whole numbers: the rules of the account once more, in another hand.

`Account` computes with rationals and never changes a value; it is what pays.  Here the same rules are written
a second time, for reading back what was paid: all amounts are whole numbers over one common denominator,
which grows when a price asks for it, and everything is changed in place.  So a history is verified by
something that shares neither arithmetic nor data structures with what wrote it, and many times faster.

Every entry seals the sum over the account's rows, and every sum is compared.  A row's term is kept beside the
row, so only rows that change are hashed.  A rule that is broken here is put to `Account`, which finds the
words; if it finds no rule broken, the two hands disagree, and that is a finding in itself.

Renyi costs are whole numbers too, of units that never change; what a release costs, and how much a budget
admits, is computed a second time in `discreet.ledger.orders`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import gcd, lcm

from discreet.errors import LedgerError
from discreet.ledger.account import Account, Member, Running, Standing
from discreet.ledger.amount import (
    Amount,
    Held,
    Most,
    Priced,
    added,
    cost_of,
    most_of,
    priced,
    times,
    unit_of,
    within,
)
from discreet.ledger.chain import framed, keyed
from discreet.ledger.check import Replayed, Seals, applied
from discreet.ledger.codec import LADDER as RENYI
from discreet.ledger.codec import canonical, fingerprint, read_cost, write_budget, write_cost, write_pace
from discreet.ledger.entry import (
    ATTEMPTS,
    Advanced,
    Answered,
    Entry,
    Event,
    Failed,
    Joined,
    Left,
    Limited,
    Paced,
    Request,
    Reserved,
    Retried,
    Scope,
)
from discreet.ledger.orders import LADDER
from discreet.ledger.pace import Daily, Pace
from discreet.ledger.sieve import ANSWERED, RESERVED, Item, Price
from discreet.ledger.written import DAY, MODULUS, TALLY, all_rows, tally, term_text
from discreet.privacy.filter import Budget

Place = tuple[str | None, str | None]
"""A project and an analyst, None for all."""

FULL = 20_000
"""So many prices are remembered with what they cost at each rung."""

SPELLED = " ".join(["%x"] * len(LADDER))

KNOWN = Reserved | Answered | Advanced | Retried | Failed | Limited | Paced | Joined | Left
"""The events that are replayed here; the others are rare, change much, and are left to `Account`."""


class _Refused(Exception):  # noqa: N818
    """An entry breaks a rule."""


@dataclass(slots=True)
class _Limit:
    """What those whom a limit covers have spent, with what was lost; the most they may; the row's term."""

    budget: Budget
    used: Amount
    most: Most
    term: int


@dataclass(slots=True)
class _Tempo:
    """What was spent on the latest day of a place, and the terms of that row and of its pace's.

    Without a pace neither a question nor a day has a limit, and the day's row stays as it is.
    """

    pace: Pace
    term: int = 0
    question: Most | None = None
    day: Most | None = None
    latest: int = 0
    used: Held = field(default_factory=Held)
    used_term: int = 0


@dataclass(slots=True)
class _Purse:
    """What one analyst has spent in one project, the term of that row, and the limits that cover it."""

    begin: bytes
    spent: Held = field(default_factory=Held)
    term: int = 0
    limits: list[_Limit] = field(default_factory=list)
    tempos: list[tuple[Place, _Tempo]] = field(default_factory=list)
    admitted: bool = False
    version: int = -1


class Abacus:
    """An account that is being replayed, and what its rows add up to."""

    def __init__(self, seals: Seals, dataset: str, number: int, state: Replayed) -> None:
        """Stand before entry `number`, with an account in which everything before was checked."""
        account = state.account
        if account is None:
            raise LedgerError(f"the history of dataset {dataset} does not begin with its creation")
        own = seals.own(dataset, seals.key_at(dataset, number))
        self._seals, self._dataset, self._anchor = seals, dataset, state.anchor
        self._mac, self._tally_mac = keyed(own), keyed(own, TALLY)
        self._total = tally(own, all_rows(account)) if state.total is None else state.total
        self._analysts = None if account.analysts is None else set(account.analysts)
        self._closed, self._lost = account.closed, account.lost
        self._version = 0
        self._prices: dict[Price, Priced] = {}
        self._purses: dict[Member, _Purse] = {}
        self._limits: dict[Place, _Limit] = {}
        self._tempos: dict[Place, _Tempo] = {}
        self._of_project: dict[str, list[_Purse]] = {}
        self._of_analyst: dict[str, list[_Purse]] = {}
        daily = (daily.spent for daily in account.daily.values())
        self._unit = lcm(*(unit_of(cost) for cost in (*account.spent.values(), account.lost, *daily)))
        for member, cost in account.spent.items():
            purse = self._new_purse(member)
            purse.spent.pay(priced(cost, self._unit))
            purse.term = self._spent_term(purse)
        for scope, budget in account.limits.items():
            self._set_limit(scope, budget)
        for scope, pace in account.paces.items():
            self._set_pace(scope, pace)
        for scope, spent in account.daily.items():
            tempo = self._tempos.setdefault((scope.project, scope.analyst), _Tempo(Pace()))
            tempo.latest = spent.day
            tempo.used.pay(priced(spent.spent, self._unit))
            tempo.used_term = self._day_term((scope.project, scope.analyst), tempo)
        self._running = {
            n: (run.attempts, run.question, self._row(["running", n], [run.attempts, run.question]))
            for n, run in account.running.items()
        }
        self._streams = {
            n: (standing.step, standing.secret, self._row(["stream", n], [standing.step, standing.secret]))
            for n, standing in account.streams.items()
        }

    def replayed(self) -> Replayed:
        """Return everything so far in the other hand."""
        questions = {number: question for number, (_, question, _) in self._running.items()}
        return Replayed(self._seals, self._dataset, self._account(), self._total, self._anchor, questions)

    def take(self, number: int, item: Item) -> None:
        """Apply an entry, and raise LedgerError if it breaks a rule or seals anything but what follows."""
        try:
            if isinstance(item, tuple):
                kind, seal, anchor, *rest = item
                if kind == RESERVED:
                    self._pay(number, *rest)
                elif kind == ANSWERED:
                    self._answer(number, *rest)
                else:
                    self._advance(number, *rest)
            else:
                seal, anchor = item.state, None if item.anchor is None else item.anchor[0]
                self._apply(number, item.event)
        except _Refused:
            raise self._broken(number, item) from None
        if self._tally_mac(self._total.to_bytes(32, "big")).hex() != seal:
            raise LedgerError(
                f"entry {number} of dataset {self._dataset} seals totals that its history contradicts"
            )
        if anchor != self._anchor:
            if self._anchor is not None:
                raise LedgerError(
                    f"entry {number} of dataset {self._dataset} was anchored elsewhere, and nothing says why"
                )
            self._anchor = anchor

    def _apply(self, number: int, event: Event) -> None:
        match event:
            case Reserved(request, day):
                asked = fingerprint(request)
                row = self._mac(term_text(canonical(["running", number]), canonical([1, asked])))
                price = tuple(write_cost(request.cost))
                self._pay(number, request.project, request.analyst, price, asked, row, day)
            case Answered(reservation, question):
                self._answer(number, reservation, question)
            case Advanced(reservation, first, last, secret):
                row = self._mac(term_text(canonical(["stream", reservation]), canonical([last, secret])))
                self._advance(number, reservation, first, last, secret, row)
            case Retried(reservation, attempt):
                attempts, question, before = self._running.get(reservation, (ATTEMPTS, "", 0))
                if attempt != attempts + 1 or attempt > ATTEMPTS:
                    raise _Refused
                term = self._row(["running", reservation], [attempt, question])
                self._running[reservation] = attempt, question, term
                self._total = (self._total + term - before) % MODULUS
            case Failed(reservation):
                self._settle(reservation)
            case Limited(scope, budget):
                old = self._limits.get((scope.project, scope.analyst))
                new = self._set_limit(scope, budget)
                self._total = (self._total + new.term - (old.term if old else 0)) % MODULUS
            case Paced(scope, pace):
                known = self._tempos.get((scope.project, scope.analyst))
                before = known.term if known else 0
                self._total = (self._total + self._set_pace(scope, pace).term - before) % MODULUS
            case Joined(analyst) | Left(analyst):
                self._admit(analyst, joins=isinstance(event, Joined))
            case _:
                raise _Refused

    def _pay(
        self,
        number: int,
        project: str,
        analyst: str,
        price: Price,
        question: str,
        running: bytes,
        day: int | None = None,
    ) -> None:
        cost = self._prices.get(price) or self._price(price)
        purse = self._purses.get((project, analyst)) or self._new_purse((project, analyst))
        if purse.version != self._version:
            self._cover(purse, project, analyst)
        if self._closed or not purse.admitted:
            raise _Refused
        for limit in purse.limits:
            limit.used = added(limit.used, cost.whole)
            if not within(limit.used, limit.most):
                raise _Refused
        if purse.tempos or day is not None:
            self._keep_pace(purse, cost, day)
        purse.spent.pay(cost)
        before, purse.term = purse.term, self._spent_term(purse)
        term = int.from_bytes(running, "big")
        self._running[number] = 1, question, term
        self._total = (self._total + purse.term - before + term) % MODULUS

    def _keep_pace(self, purse: _Purse, price: Priced, day: int | None) -> None:
        """Count a payment on its day, in each place that has a limit per day."""
        counted = [(place, tempo) for place, tempo in purse.tempos if tempo.day is not None]
        if (day is not None) != bool(counted):
            raise _Refused
        if not all(within(price.whole, tempo.question) for _, tempo in purse.tempos):
            raise _Refused
        after = [Held() if (day or 0) > tempo.latest else replace(tempo.used) for _, tempo in counted]
        for today in after:
            today.pay(price)
        if not all(within(today.whole, tempo.day) for today, (_, tempo) in zip(after, counted, strict=True)):
            raise _Refused
        for today, (place, tempo) in zip(after, counted, strict=True):
            tempo.used, tempo.latest = today, max(tempo.latest, day or 0)
            before, tempo.used_term = tempo.used_term, self._day_term(place, tempo)
            self._total = (self._total + tempo.used_term - before) % MODULUS

    def _answer(self, number: int, reservation: int, question: str) -> None:
        run = self._running.pop(reservation, None)
        if run is None:
            raise _Refused
        self._total = (self._total - run[2]) % MODULUS
        if run[1] != question:
            raise LedgerError(f"entry {number} of dataset {self._dataset} is filed under another question")

    def _settle(self, reservation: int) -> str:
        run = self._running.pop(reservation, None)
        if run is None:
            raise _Refused
        self._total = (self._total - run[2]) % MODULUS
        return run[1]

    def _advance(self, number: int, reservation: int, first: int, last: int, state: str, row: bytes) -> None:
        if self._closed:
            raise _Refused
        step, secret, before = self._streams.get(reservation, (0, "", 0))
        if (reservation, first, last) == (number - 1, 1, 0):
            self._settle(reservation)
        elif not secret or not step + 1 == first <= last:
            raise _Refused
        term = int.from_bytes(row, "big")
        self._streams[reservation] = last, state, term
        self._total = (self._total + term - before) % MODULUS

    def _admit(self, analyst: str, *, joins: bool) -> None:
        if self._analysts is None:
            raise _Refused
        if (analyst in self._analysts) != joins:
            term = self._row(["analyst", analyst], True)
            self._total = (self._total + (term if joins else -term)) % MODULUS
        (self._analysts.add if joins else self._analysts.discard)(analyst)
        self._version += 1

    def _set_limit(self, scope: Scope, budget: Budget) -> _Limit:
        used = priced(self._lost, self._unit).whole
        for purse in self._covered(scope):
            used = added(used, purse.spent.whole)
        place = scope.project, scope.analyst
        term = self._row(["limit", *place], write_budget(budget))
        limit = self._limits[place] = _Limit(budget, used, most_of(budget, self._unit), term)
        self._version += 1
        return limit

    def _set_pace(self, scope: Scope, pace: Pace) -> _Tempo:
        place = scope.project, scope.analyst
        tempo = self._tempos.setdefault(place, _Tempo(Pace()))
        tempo.pace = pace
        tempo.term = self._row(["pace", *place], write_pace(pace)) if pace.budgets else 0
        tempo.question, tempo.day = self._mosts(pace)
        self._version += 1
        return tempo

    def _mosts(self, pace: Pace) -> tuple[Most | None, Most | None]:
        question = None if pace.question is None else most_of(pace.question, self._unit)
        return question, None if pace.day is None else most_of(pace.day, self._unit)

    def _covered(self, scope: Scope) -> Iterable[_Purse]:
        if scope.project is None:
            return self._purses.values() if scope.analyst is None else self._of_analyst.get(scope.analyst, [])
        if scope.analyst is None:
            return self._of_project.get(scope.project, [])
        purse = self._purses.get((scope.project, scope.analyst))
        return [] if purse is None else [purse]

    def _cover(self, purse: _Purse, project: str, analyst: str) -> None:
        every = (None, None), (project, None), (None, analyst), (project, analyst)
        purse.limits = [self._limits[place] for place in every if place in self._limits]
        found = [(place, self._tempos[place]) for place in every if place in self._tempos]
        purse.tempos = [(place, tempo) for place, tempo in found if tempo.pace.budgets]
        purse.admitted = self._analysts is None or analyst in self._analysts
        purse.version = self._version

    def _new_purse(self, member: Member) -> _Purse:
        purse = self._purses[member] = _Purse(framed(b"row", canonical(["spent", *member]).encode()))
        self._of_project.setdefault(member[0], []).append(purse)
        self._of_analyst.setdefault(member[1], []).append(purse)
        return purse

    def _price(self, price: Price) -> Priced:
        cost = read_cost(list(price))
        if self._unit % unit_of(cost):
            self._rescale(lcm(self._unit, unit_of(cost)))
        if len(self._prices) > FULL:
            self._prices.clear()
        found = self._prices[price] = priced(cost, self._unit)
        return found

    def _rescale(self, unit: int) -> None:
        by, self._unit = unit // self._unit, unit
        self._prices.clear()
        for purse in self._purses.values():
            purse.spent.flat = times(purse.spent.flat, by)
        for limit in self._limits.values():
            limit.used, limit.most = times(limit.used, by), most_of(limit.budget, unit)
        for tempo in self._tempos.values():
            tempo.used.flat = times(tempo.used.flat, by)
            tempo.question, tempo.day = self._mosts(tempo.pace)

    def _price_text(self, held: Held) -> str:
        if held.single:
            return held.single
        epsilon, rho, delta, plain, _ = held.flat
        first = "null" if epsilon is None else f'"{self._text(epsilon)}"'
        sums = f',"{RENYI} {self._text(plain)} {SPELLED % held.steps}"' if held.steps else ""
        return f'[{first},"{self._text(rho)}","{self._text(delta)}"{sums}]'

    def _day_term(self, place: Place, tempo: _Tempo) -> int:
        value = f"[{tempo.latest},{self._price_text(tempo.used)}]"
        return int.from_bytes(self._mac(term_text(canonical(["spent", *place, DAY]), value)), "big")

    def _spent_term(self, purse: _Purse) -> int:
        text = self._price_text(purse.spent).encode()
        return int.from_bytes(self._mac(purse.begin + len(text).to_bytes(8, "big") + text), "big")

    def _text(self, amount: int) -> str:
        if not amount:
            return "0"
        common = gcd(amount, self._unit)
        over = self._unit // common
        return f"{amount // common}/{over}" if over > 1 else f"{amount // common}"

    def _row(self, name: list[object], value: object) -> int:
        return int.from_bytes(self._mac(term_text(canonical(name), canonical(value))), "big")

    def _account(self) -> Account:
        return Account(
            self._dataset,
            {Scope(*place): limit.budget for place, limit in self._limits.items()},
            None if self._analysts is None else frozenset(self._analysts),
            self._closed,
            {member: cost_of(purse.spent, self._unit) for member, purse in self._purses.items()},
            {
                number: Running(attempts, question)
                for number, (attempts, question, _) in self._running.items()
            },
            {number: Standing(step, secret) for number, (step, secret, _) in self._streams.items()},
            self._lost,
            {Scope(*place): tempo.pace for place, tempo in self._tempos.items() if tempo.pace.budgets},
            {
                Scope(*place): Daily(tempo.latest, cost_of(tempo.used, self._unit))
                for place, tempo in self._tempos.items()
                if tempo.latest
            },
        )

    def _broken(self, number: int, item: Item) -> LedgerError:
        """Return the error that the other hand finds in an entry that was refused by this one."""
        try:
            applied(self._account(), Entry(self._dataset, number, self._event(item), "", "", b"", b""))
        except LedgerError as error:
            return error
        return LedgerError(
            f"two ways of replaying entry {number} of dataset {self._dataset} disagree; please report this"
        )

    def _event(self, item: Item) -> Event:
        if isinstance(item, Entry):
            return item.event
        if item[0] == RESERVED:
            project, analyst, price = item[3:6]
            cost = read_cost(list(price))
            return Reserved(Request("?", self._dataset, "?", project, analyst, "?", cost, ()))
        if item[0] == ANSWERED:
            return Answered(item[3], item[4], "", 0)
        reservation, first, last, secret = item[3:7]
        return Advanced(reservation, first, last, secret, "", 0)
