"""The stored forms of an account: one text, as older versions sealed it, and a table of small rows.

An event touches few rows, so an account of any size is written, and its seal renewed, at the same small cost:

    tally = sum over all rows of HMAC(own key, name, value)   modulo 2**256
    sealed in every entry:   HMAC(own key, tally)

where the own key is derived from the ledger's key for this dataset.  A row that is set, changed or removed
adds or subtracts its term.  Without the key nobody knows a term, nor the tally, of which the entry only shows
a keyed digest; so another set of rows with the same tally could only be guessed, with a chance of 2**-256.
Whoever opens the ledger reads all rows once, adds them up and compares; from then on an open ledger follows
the entries and never reads a row again.
"""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, assert_never

from discreet.errors import LedgerError
from discreet.ledger.account import Account, Running, Standing
from discreet.ledger.chain import SIZES, framed, keyed, mac_of
from discreet.ledger.codec import (
    canonical,
    read_budget,
    read_cost,
    read_pace,
    write_budget,
    write_cost,
    write_pace,
)
from discreet.ledger.entry import (
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
    Reserved,
    Restored,
    Retried,
    Rotated,
    Scope,
    Succeeded,
)
from discreet.ledger.pace import Daily
from discreet.privacy.filter import Cost

MODULUS = 2**256
ROW = framed(b"row")
TALLY = b"tally"
DAY = "day"
"""What ends the names of rows with what was spent on a day; like all that is spent, analysts write them."""

Change = tuple[str, str | None, str | None]
"""The name of a row, its value before and its value after, None where there is no such row."""


def own_key(key: bytes, ledger: str, dataset: str) -> bytes:
    """Return the key under which the rows of one dataset are added up."""
    return mac_of(key, framed(b"discreet account rows", ledger.encode(), dataset.encode()))


@lru_cache(4096)
def term(key: bytes, name: str, value: str) -> int:
    """Return what a row adds to the tally; what it adds now it takes away when it changes."""
    return int.from_bytes(mac_of(key, term_text(name, value)), "big")


def term_text(name: str, value: str) -> bytes:
    """Return what is hashed of a row: its parts, each preceded by its length."""
    first, second = name.encode(), value.encode()
    size, length = len(first), len(second)
    begin = SIZES[size] if size < len(SIZES) else size.to_bytes(8, "big")
    between = SIZES[length] if length < len(SIZES) else length.to_bytes(8, "big")
    return b"".join((ROW, begin, first, between, second))


def tally(key: bytes, rows: Iterable[tuple[str, str]]) -> int:
    """Return the sum over a whole table of rows."""
    mac = keyed(key)
    return sum(int.from_bytes(mac(term_text(name, value)), "big") for name, value in rows) % MODULUS


def tally_seal(key: bytes, total: int) -> str:
    """Return what an entry shows of a tally."""
    return mac_of(key, tally_text(total)).hex()


def tally_text(total: int) -> bytes:
    """Return what is hashed of a tally."""
    return TALLY + total.to_bytes(32, "big")


def all_rows(account: Account) -> Iterator[tuple[str, str]]:
    """Return the whole table of an account."""
    names: list[list[object]] = [["limit", s.project, s.analyst] for s in account.limits]
    names += [["spent", *member] for member in account.spent]
    names += [["analyst", name] for name in account.analysts or ()]
    names += [["running", number] for number in account.running]
    names += [["stream", number] for number in account.streams]
    names += [["pace", s.project, s.analyst] for s in account.paces]
    names += [["spent", s.project, s.analyst, DAY] for s in account.daily]
    names += [["admits"], ["closed"], ["lost"]]
    for name in names:
        value = _value(account, name)
        if value is not None:
            yield canonical(name), value


def changes(before: Account, after: Account, event: Event, number: int) -> list[Change]:
    """Return the rows that entry `number` changes: name, value before and value after."""
    match event:
        case Reserved(request, None):
            paid = changed_rows(before, after, [["spent", request.project, request.analyst]])
            return paid + _changed_run(before, after, number)
        case Answered(reservation):
            return _changed_run(before, after, reservation)
    touched = _touched(event, number)
    if touched is None:
        old, new = dict(all_rows(before)), dict(all_rows(after))
        return [(n, old.get(n), new.get(n)) for n in {**old, **new} if old.get(n) != new.get(n)]
    return changed_rows(before, after, touched)


def changed_rows(before: Account, after: Account, names: Iterable[list[object]]) -> list[Change]:
    """Return those of the named rows that differ between two accounts."""
    pairs = ((name, _value(before, name), _value(after, name)) for name in names)
    return [(_row_name(tuple(name)), old, new) for name, old, new in pairs if old != new]


def _changed_run(before: Account, after: Account, number: int) -> list[Change]:
    old, new = before.running.get(number), after.running.get(number)
    was, now = (None if run is None else running_row(number, run)[1] for run in (old, new))
    return [] if old == new else [(f'["running",{number}]', was, now)]


@lru_cache(4096)
def _row_name(name: tuple[object, ...]) -> str:
    """Return the name of a row as it is stored; a payment names the same ones as the next and its answer."""
    return canonical(name)


def running_row(number: int, run: Running) -> tuple[str, str]:
    """Return the name and the value of the row of a running request."""
    return f'["running",{number}]', canonical([run.attempts, run.question])


def retallied(key: bytes, total: int, changed: Iterable[Change]) -> int:
    """Return the tally after some rows have changed."""
    for name, old, new in changed:
        if old is not None:
            total -= term(key, name, old)
        if new is not None:
            total += term(key, name, new)
    return total % MODULUS


def _touched(event: Event, number: int) -> list[list[object]] | None:
    """Return the names of the rows that an event may touch, None for any of them."""
    match event:
        case Reserved(request, _):
            project, analyst = request.project, request.analyst
            places = (None, None), (project, None), (None, analyst), (project, analyst)
            days: list[list[object]] = [["spent", *place, DAY] for place in places]
            return [["spent", project, analyst], ["running", number], *days]
        case Retried(reservation) | Failed(reservation):
            return [["running", reservation]]
        case Advanced(reservation):
            return [["running", reservation], ["stream", reservation]]
        case Limited(scope):
            return [["limit", scope.project, scope.analyst]]
        case Paced(scope):
            return [["pace", scope.project, scope.analyst]]
        case Joined(analyst) | Left(analyst):
            return [["analyst", analyst]]
        case Closed():
            return [["closed"]]
        case Adopted() | Succeeded():
            return []
        case Answered() | Created() | Migrated() | Restored() | Rotated():
            return None
        case never:
            assert_never(never)


def _value(account: Account, name: list[Any]) -> str | None:
    match name:
        case ["spent", project, analyst]:
            cost = account.spent.get((project, analyst))
            return None if cost is None else _cost_text(cost)
        case ["spent", project, analyst, "day"]:
            daily = account.daily.get(Scope(project, analyst))
            return None if daily is None else canonical([daily.day, write_cost(daily.spent)])
        case ["pace", project, analyst]:
            pace = account.paces.get(Scope(project, analyst))
            return None if pace is None else canonical(write_pace(pace))
        case ["running", number]:
            run = account.running.get(number)
            return None if run is None else running_row(number, run)[1]
        case ["stream", number]:
            standing = account.streams.get(number)
            return None if standing is None else canonical([standing.step, standing.secret])
        case ["limit", project, analyst]:
            budget = account.limits.get(Scope(project, analyst))
            return None if budget is None else canonical(write_budget(budget))
        case ["analyst", name]:
            return "true" if account.analysts is not None and name in account.analysts else None
        case ["admits"]:
            return '"everybody"' if account.analysts is None else '"listed"'
        case ["closed"]:
            return "true" if account.closed else None
        case ["lost"]:
            return None if account.lost == Cost.zero else canonical(write_cost(account.lost))
    raise LedgerError("the ledger holds an account in a form this version does not know; upgrade discreet")


KEPT = 256
_texts: dict[int, tuple[Cost, str, str]] = {}
"""The newest texts of costs: what a row says after one payment it says before the next."""


def _cost_text(cost: Cost) -> str:
    return _cost_texts(cost)[1]


def price_text(cost: Cost) -> str:
    """Return the stored form of a cost without its Renyi costs."""
    return _cost_texts(cost)[2]


def _cost_texts(cost: Cost) -> tuple[Cost, str, str]:
    known = _texts.get(id(cost))
    if known is None or known[0] is not cost:
        written = write_cost(cost)
        known = cost, canonical(written), canonical(written[:3])
        if len(_texts) >= KEPT:
            _texts.clear()
        _texts[id(cost)] = known
    return known


def read_rows(dataset: str, rows: Iterable[tuple[str, str]]) -> Account:
    """Return the account that a table of rows stands for; the caller has checked their tally."""
    kinds = "limit", "pace", "spent", DAY, "running", "stream", "analyst", "admits", "closed", "lost"
    found: dict[str, dict[Any, Any]] = {kind: {} for kind in kinds}
    try:
        for name, value in rows:
            kind, *key = json.loads(name)
            if kind == "spent" and len(key) == 3:
                kind = key.pop()
            found[kind][tuple(key)] = json.loads(value)
        listed = found["admits"][()] == "listed"
        return Account(
            dataset=dataset,
            limits={Scope(*key): read_budget(value) for key, value in found["limit"].items()},
            analysts=frozenset(name for (name,) in found["analyst"]) if listed else None,
            closed=bool(found["closed"]),
            spent={key: read_cost(value) for key, value in found["spent"].items()},
            running={number: Running(*value) for (number,), value in found["running"].items()},
            streams={number: Standing(*value) for (number,), value in found["stream"].items()},
            lost=read_cost(found["lost"][()]) if found["lost"] else Cost.zero,
            paces={Scope(*key): read_pace(value) for key, value in found["pace"].items()},
            daily={Scope(*key): Daily(day, read_cost(cost)) for key, (day, cost) in found[DAY].items()},
        )
    except (KeyError, TypeError, ValueError):
        raise LedgerError(
            "the ledger holds an account in a form this version does not know; upgrade discreet"
        ) from None


def write_account(account: Account) -> str:
    """Return the one text that stands for this account; streams, losses, paces only if any."""
    paces = [[s.project, s.analyst, write_pace(account.paces[s])] for s in sorted(account.paces, key=_order)]
    daily = [
        [s.project, s.analyst, account.daily[s].day, write_cost(account.daily[s].spent)]
        for s in sorted(account.daily, key=_order)
    ]
    streams = [[n, standing.step, standing.secret] for n, standing in sorted(account.streams.items())]
    return canonical(
        {
            **({"streams": streams} if streams else {}),
            **({"lost": write_cost(account.lost)} if account.lost != Cost.zero else {}),
            **({"paces": paces} if paces else {}),
            **({"daily": daily} if daily else {}),
            "dataset": account.dataset,
            "limits": [
                [s.project, s.analyst, write_budget(b)]
                for s, b in sorted(account.limits.items(), key=lambda item: _order(item[0]))
            ],
            "analysts": None if account.analysts is None else sorted(account.analysts),
            "closed": account.closed,
            "spent": [[*member, write_cost(cost)] for member, cost in sorted(account.spent.items())],
            "running": [[n, run.attempts, run.question] for n, run in sorted(account.running.items())],
        }
    )


def read_account(text: str) -> Account:
    """Return the account that was stored as a text; the caller has checked its digest against a seal."""
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
            lost=read_cost(stored["lost"]) if "lost" in stored else Cost.zero,
            paces={Scope(*whom): read_pace(pace) for *whom, pace in stored.get("paces", [])},
            daily={Scope(*s): Daily(day, read_cost(cost)) for *s, day, cost in stored.get("daily", [])},
        )
    except (KeyError, TypeError, ValueError):
        raise LedgerError("the ledger holds an account in a form this version does not know") from None


def _order(scope: Scope) -> tuple[str, str]:
    return scope.project or "", scope.analyst or ""
