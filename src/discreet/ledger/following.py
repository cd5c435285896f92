"""Catching up with what others have paid and answered since, all at once.

Of the many entries that a busy ledger gets between two turns of one process, almost all are payments and
answers.  Between them limits, lists and keys stay as they are, spending only grows, and a limit that admits
the sum at the end has admitted every sum before; so the sum is checked once, and only rows that differ in the
end are hashed.  Each entry's seal and link is checked as ever, and the sum of the rows against the seal of
the newest.  Whatever else was written, or looks wrong, is left to the slow way, entry by entry.
"""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from discreet.ledger.account import Account, Member, Running
from discreet.ledger.check import Seals
from discreet.ledger.codec import read_cost
from discreet.ledger.sieve import ANSWERED, RESERVED, Price, Sieve
from discreet.ledger.trie import trie
from discreet.ledger.written import Change, changed_rows, retallied, running_row, tally_seal
from discreet.privacy.filter import Cost, admits

MANY = 2_000
"""So many entries are caught up with at once."""

Row = tuple[Any, ...]


def caught_up(
    seals: Seals, dataset: str, before: tuple[Account, int], mac: bytes, first: int, rows: list[Row]
) -> tuple[Account, int, tuple[str, int]] | None:
    """Return the account and the tally after some entries, and what the newest of them says of the anchor.

    None where the slow way has to look at them.
    """
    (account, total), last = before, first + len(rows) - 1
    key = seals.key_at(dataset, last)
    if account.closed or seals.key_at(dataset, first) != key:
        return None
    sieve = _sieve(key, seals.ledger, dataset)
    stretch = sieve.stretch(rows, first, last)
    if stretch.problem is not None or stretch.previous != mac:
        return None
    paid: Counter[tuple[Member, Price]] = Counter()
    begun: dict[int, Running] = {}
    ended: list[int] = []
    for number, item in enumerate(stretch.items, first):
        if not isinstance(item, tuple):
            return None
        if item[0] == RESERVED:
            paid[(item[3], item[4]), item[5]] += 1
            begun[number] = Running(1, item[6])
        elif item[0] == ANSWERED:
            run = begun.pop(item[3], None)
            if run is None:
                run = account.running.get(item[3])
                ended.append(item[3])
            if run is None or run.question != item[4]:
                return None
        else:
            return None
    after = _after(account, paid, begun, ended)
    if after is None or len(set(ended)) < len(ended):
        return None
    own = seals.own(dataset, key)
    total = retallied(own, total, _changed(account, after, {member for member, _ in paid}, begun, ended))
    newest = stretch.items[-1]
    if not isinstance(newest, tuple) or tally_seal(own, total) != newest[1]:
        return None
    return after, total, (newest[2], sieve.reached)


@lru_cache(64)
def _sieve(key: bytes, ledger: str, dataset: str) -> Sieve:
    return Sieve(Seals(key, ledger), dataset, ledger, terms=False)


def _after(
    account: Account, paid: Counter[tuple[Member, Price]], begun: dict[int, Running], ended: Iterable[int]
) -> Account | None:
    """Return the account after these payments and answers, None where a limit or the list refuses."""
    spent, running, used = trie(account.spent), trie(account.running), trie(account.used or {})
    touched = set()
    for (member, price), times in paid.items():
        if account.analysts is not None and member[1] not in account.analysts:
            return None
        if account.paces and account.paced(*member):
            return None
        cost = _price(price, times)
        spent = spent.set(member, spent.get(member, Cost.zero) + cost)
        for scope in account.covering(*member):
            used = used.set(scope, used[scope] + cost)
            touched.add(scope)
    for scope in touched:
        if not admits(account.limits[scope], used[scope] + account.lost):
            return None
    for number, run in begun.items():
        running = running.set(number, run)
    for number in ended:
        running = running.without(number)
    return account.changed(spent=spent, running=running, used=used)


@lru_cache(1024)
def _price(price: Price, times: int) -> Cost:
    return read_cost(list(price)).times(times)


def _changed(
    before: Account,
    after: Account,
    members: Iterable[Member],
    begun: dict[int, Running],
    ended: Iterable[int],
) -> list[Change]:
    came = [running_row(number, run) for number, run in begun.items()]
    went = [running_row(number, before.running[number]) for number in ended]
    changed: list[Change] = [(name, None, value) for name, value in came]
    changed += [(name, value, None) for name, value in went]
    return changed + changed_rows(before, after, [["spent", *member] for member in members])
