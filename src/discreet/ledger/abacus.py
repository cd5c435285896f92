"""Replaying a history in whole numbers: the rules of the account once more, in another hand.

`Account` computes with rationals and never changes a value; it is what pays.  Here the same rules are written
a second time, for reading back what was paid: all amounts are whole numbers over one common denominator,
which grows when a price asks for it, and everything is changed in place.  So a history is verified by
something that shares neither arithmetic nor data structures with what wrote it, and many times faster.

Every entry seals the sum over the account's rows, and every sum is compared.  A row's term is kept beside the
row, so only rows that change are hashed.  A rule that is broken here is put to `Account`, which finds the
words; if it finds no rule broken, the two hands disagree, and that is a finding in itself.

Renyi costs are not added up here: a history that has some is left to `Account`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd, lcm

from discreet.errors import LedgerError
from discreet.ledger.account import Account, Member, Running, Standing
from discreet.ledger.chain import framed, keyed
from discreet.ledger.check import Replay, Seals, applied
from discreet.ledger.codec import canonical, fingerprint, read_cost, write_budget, write_cost
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
    Request,
    Reserved,
    Retried,
    Scope,
)
from discreet.ledger.sieve import ANSWERED, REMEMBERED, RESERVED, Item, Price
from discreet.ledger.written import MODULUS, all_rows, tally, tally_text, term_text
from discreet.privacy.filter import Budget, Cost, PureBudget

Amount = tuple[int | None, int, int]
"""An epsilon, a rho and a delta over the common denominator; without an epsilon nothing pure is promised."""

KNOWN = Reserved | Answered | Advanced | Retried | Failed | Limited | Joined | Left
"""The events that are replayed here; the others are rare, change much, and are left to `Account`."""


class _Refused(Exception):  # noqa: N818
    """An entry breaks a rule."""


@dataclass(slots=True)
class _Limit:
    """What those whom a limit covers have spent, with what was lost; the most they may; the row's term."""

    budget: Budget
    used: Amount
    most: tuple[int, int, int]
    term: int


@dataclass(slots=True)
class _Purse:
    """What one analyst has spent in one project, the term of that row, and the limits that cover it."""

    begin: bytes
    spent: Amount = (0, 0, 0)
    term: int = 0
    limits: list[_Limit] = field(default_factory=list)
    admitted: bool = False
    version: int = -1


class Abacus:
    """An account that is being replayed, and what its rows add up to."""

    def __init__(self, seals: Seals, dataset: str, number: int, state: Replay) -> None:
        """Stand before entry `number`, with an account in which everything before was checked."""
        account = state.account
        if account is None:
            raise LedgerError(f"the history of dataset {dataset} does not begin with its creation")
        own = seals.own(dataset, seals.key_at(dataset, number))
        self._seals, self._dataset, self._anchor = seals, dataset, state.anchor
        self._mac = keyed(own)
        self._total = tally(own, all_rows(account)) if state.total is None else state.total
        self._analysts = None if account.analysts is None else set(account.analysts)
        self._closed, self._lost = account.closed, account.lost
        self._version = 0
        self._prices: dict[Price, Amount] = {}
        self._purses: dict[Member, _Purse] = {}
        self._limits: dict[tuple[str | None, str | None], _Limit] = {}
        self._of_project: dict[str, list[_Purse]] = {}
        self._of_analyst: dict[str, list[_Purse]] = {}
        self._unit = lcm(*(_unit(cost) for cost in (*account.spent.values(), account.lost)))
        for member, cost in account.spent.items():
            purse = self._new_purse(member)
            purse.spent = self._amount(cost)
            purse.term = self._spent_term(purse)
        for scope, budget in account.limits.items():
            self._set_limit(scope, budget)
        self._running = {
            n: (run.attempts, run.question, self._row(["running", n], [run.attempts, run.question]))
            for n, run in account.running.items()
        }
        self._streams = {
            n: (standing.step, standing.secret, self._row(["stream", n], [standing.step, standing.secret]))
            for n, standing in account.streams.items()
        }

    def replayed(self) -> Replay:
        """Return everything so far in the other hand."""
        questions = {number: question for number, (_, question, _) in self._running.items()}
        return Replay(self._seals, self._dataset, self._account(), self._total, self._anchor, questions)

    def take(self, number: int, item: Item) -> None:
        """Apply an entry, and raise LedgerError if it breaks a rule or seals anything but what follows."""
        try:
            if isinstance(item, tuple):
                seal, anchor = item[1], item[2]
                if item[0] == RESERVED:
                    self._pay(number, *item[3:])
                elif item[0] == ANSWERED:
                    self._answer(number, item[3], item[4])
                else:
                    self._advance(number, *item[3:])
            else:
                seal, anchor = item.state, None if item.anchor is None else item.anchor[0]
                self._apply(number, item.event)
        except _Refused:
            raise self._broken(number, item) from None
        if self._mac(tally_text(self._total)).hex() != seal:
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
            case Reserved(request):
                asked = fingerprint(request)
                row = self._mac(term_text(canonical(["running", number]), canonical([1, asked])))
                epsilon, rho, delta = write_cost(request.cost)[:3]
                price = epsilon, str(rho), str(delta)
                self._pay(number, request.project, request.analyst, price, asked, row)
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
            case Joined(analyst) | Left(analyst):
                self._admit(analyst, joins=isinstance(event, Joined))
            case _:
                raise _Refused

    def _pay(
        self, number: int, project: str, analyst: str, price: Price, question: str, running: bytes
    ) -> None:
        epsilon, rho, delta = self._prices.get(price) or self._price(price)
        purse = self._purses.get((project, analyst)) or self._new_purse((project, analyst))
        if purse.version != self._version:
            self._cover(purse, project, analyst)
        if self._closed or not purse.admitted:
            raise _Refused
        for limit in purse.limits:
            used, used_rho, used_delta = limit.used
            used = None if used is None or epsilon is None else used + epsilon
            used_rho += rho
            used_delta += delta
            most, most_rho, most_delta = limit.most
            if used_delta > most_delta or (used_rho > most_rho and (used is None or used > most)):
                raise _Refused
            limit.used = used, used_rho, used_delta
        spent, spent_rho, spent_delta = purse.spent
        spent = None if spent is None or epsilon is None else spent + epsilon
        purse.spent = spent, spent_rho + rho, spent_delta + delta
        before, purse.term = purse.term, self._spent_term(purse)
        term = int.from_bytes(running, "big")
        self._running[number] = 1, question, term
        self._total = (self._total + purse.term - before + term) % MODULUS

    def _answer(self, number: int, reservation: int, question: str) -> None:
        if self._settle(reservation) != question:
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
        used = self._amount(self._lost)
        for purse in self._covered(scope):
            used = _sum(used, purse.spent)
        place = scope.project, scope.analyst
        term = self._row(["limit", *place], write_budget(budget))
        limit = self._limits[place] = _Limit(budget, used, self._most(budget), term)
        self._version += 1
        return limit

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
        purse.admitted = self._analysts is None or analyst in self._analysts
        purse.version = self._version

    def _new_purse(self, member: Member) -> _Purse:
        purse = self._purses[member] = _Purse(framed(b"row", canonical(["spent", *member]).encode()))
        self._of_project.setdefault(member[0], []).append(purse)
        self._of_analyst.setdefault(member[1], []).append(purse)
        return purse

    def _price(self, price: Price) -> Amount:
        cost = read_cost(list(price))
        if self._unit % _unit(cost):
            self._rescale(lcm(self._unit, _unit(cost)))
        if len(self._prices) > REMEMBERED:
            self._prices.clear()
        amount = self._prices[price] = self._amount(cost)
        return amount

    def _rescale(self, unit: int) -> None:
        by, self._unit = unit // self._unit, unit
        self._prices.clear()
        for purse in self._purses.values():
            purse.spent = _times(purse.spent, by)
        for limit in self._limits.values():
            limit.used, limit.most = _times(limit.used, by), self._most(limit.budget)

    def _amount(self, cost: Cost) -> Amount:
        unit = self._unit
        epsilon = None if cost.epsilon is None else int(cost.epsilon * unit)
        return epsilon, int(cost.rho * unit), int(cost.delta * unit)

    def _most(self, budget: Budget) -> tuple[int, int, int]:
        """Return the most epsilon, rho and delta that a budget admits; a pure one admits nothing by rho."""
        most = int(budget.epsilon * self._unit)
        if isinstance(budget, PureBudget):
            return most, -1, 0
        return most, int(budget.rho * self._unit), int(budget.slack * self._unit)

    def _spent_term(self, purse: _Purse) -> int:
        epsilon, rho, delta = purse.spent
        first = "null" if epsilon is None else f'"{self._text(epsilon)}"'
        text = f'[{first},"{self._text(rho)}","{self._text(delta)}"]'.encode()
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
        def cost(amount: Amount) -> Cost:
            epsilon, rho, delta = amount
            pure = None if epsilon is None else Fraction(epsilon, self._unit)
            return Cost(pure, Fraction(rho, self._unit), Fraction(delta, self._unit)).plain

        return Account(
            self._dataset,
            {Scope(*place): limit.budget for place, limit in self._limits.items()},
            None if self._analysts is None else frozenset(self._analysts),
            self._closed,
            {member: cost(purse.spent) for member, purse in self._purses.items()},
            {
                number: Running(attempts, question)
                for number, (attempts, question, _) in self._running.items()
            },
            {number: Standing(step, secret) for number, (step, secret, _) in self._streams.items()},
            self._lost,
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


def _unit(cost: Cost) -> int:
    epsilon = 1 if cost.epsilon is None else cost.epsilon.denominator
    return lcm(epsilon, cost.rho.denominator, cost.delta.denominator)


def _sum(one: Amount, other: Amount) -> Amount:
    epsilon = None if one[0] is None or other[0] is None else one[0] + other[0]
    return epsilon, one[1] + other[1], one[2] + other[2]


def _times(amount: Amount, by: int) -> Amount:
    return None if amount[0] is None else amount[0] * by, amount[1] * by, amount[2] * by
