"""The stored form of events and accounts: canonical JSON of strings, integers, lists and nothing else.

Two values are equal exactly when their encodings are equal bytes: keys are sorted, there is no white space,
characters outside ASCII are escaped, and rationals are text in lowest terms.  Decoding is an explicit `match`
on the kind; an unknown kind or budget is refused, never guessed.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, assert_never, cast

from discreet.errors import LedgerError
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
    Request,
    Reserved,
    Restored,
    Retried,
    Rotated,
    Scope,
    Succeeded,
)
from discreet.ledger.pace import Pace
from discreet.privacy.filter import ApproximateBudget, Budget, Cost, PureBudget, Rule
from discreet.privacy.ladder import RUNGS, Curve


def canonical(value: object) -> str:
    """Return the one text that stands for this value."""
    return "".join(_pieces(value, 0))


def _encoder() -> Callable[[object, int], Iterable[str]]:
    """Return what encodes a value; made once, since `json` would make it anew for each."""
    spelled = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, _: spelled.iterencode(value)
    return cast(
        Callable[[object, int], Iterable[str]],
        make(None, spelled.default, quoted, None, ":", ",", True, False, False),
    )


_pieces = _encoder()


def digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def fingerprint(request: Request) -> str:
    """Return what makes two requests the same question: snapshot, meaning, price, mechanisms.

    Neither who asks nor in which words.
    """
    known = _known.get(id(request))
    if known is not None and known[0] is request:
        return known[1]
    price = write_cost(request.cost)[:3]  # the Renyi costs follow from it, and older versions had none
    meaning = [request.snapshot, request.question, price, list(request.mechanisms)]
    return _remembered(request, digest(canonical(meaning).encode()))


def same_question(request: Request, other: Request) -> Request:
    """Return the other of two requests that differ in their Renyi costs alone, and so ask the same."""
    _remembered(other, fingerprint(request))
    return other


def _remembered(request: Request, found: str) -> str:
    if len(_known) >= KEPT:
        _known.clear()
    _known[id(request)] = request, found
    return found


KEPT = 256
_known: dict[int, tuple[Request, str]] = {}
"""The newest fingerprints, since each is asked for several times; as long as it is here, a request lives."""


def step_key(step: int) -> str:
    """Return the text under which a step is found; texts are in the order of the steps."""
    return f"{step:012d}"


def lease_key(ledger: str, request: Request) -> str:
    """Return the name under which only one caller at a time runs a question, whatever its ids."""
    return f"[{quoted(ledger)},{quoted(request.dataset)},{quoted(fingerprint(request))}]"


LADDER = "renyi/1"
"""What stands before Renyi costs on the rungs of `discreet.privacy.ladder`; other rungs need another name."""


def write_cost(cost: Cost) -> list[str | None]:
    """Return the stored form of a cost: epsilon, rho, delta and, unless rho says it all, the Renyi costs.

    Those of one release follow from the rest, so only their ladder is named; for several the sums follow it.
    """
    price = [None if cost.epsilon is None else str(cost.epsilon), str(cost.rho), str(cost.delta)]
    match cost.curve:
        case None if cost.epsilon is None or cost.rho == 0:
            return price
        case None:
            return [*price, LADDER]
        case Curve(_, ()):
            return price
        case Curve(plain, steps):
            return [*price, " ".join([LADDER, str(plain), *(f"{step:x}" for step in steps)])]


def read_cost(stored: Any) -> Cost:
    """Return the cost that was stored; where it names no ladder, rho is all that is known of its curve."""
    match stored:
        case [None | str() as epsilon, str(rho), str(delta)]:
            return _cost(epsilon, rho, delta)
        case [None | str() as epsilon, str(rho), str(delta), str(curve)]:
            match curve.split(" "):
                case [name] if name == LADDER:
                    return _release(epsilon, rho, delta)
                case [name, plain, *steps] if name == LADDER and len(steps) == len(RUNGS):
                    sums = Curve(Fraction(plain), tuple(int(step, 16) for step in steps))
                    return replace(_release(epsilon, rho, delta), curve=sums)
    raise LedgerError("the ledger holds a cost in a form this version does not know; upgrade discreet")


def _cost(epsilon: str | None, rho: str, delta: str) -> Cost:
    cost = _release(epsilon, rho, delta)
    return cost if cost.epsilon is None or cost.rho == 0 else cost.plain


@lru_cache(4096)
def _release(epsilon: str | None, rho: str, delta: str) -> Cost:
    # The same few prices come again and again, and rationals take long to read.
    return Cost(None if epsilon is None else Fraction(epsilon), Fraction(rho), Fraction(delta))


def write_budget(budget: Budget) -> list[str]:
    """Return the stored form of a budget."""
    match budget:
        case PureBudget(epsilon):
            return ["pure", str(epsilon)]
        case ApproximateBudget(epsilon, delta, slack, rule):
            return [str(rule), str(epsilon), str(delta), str(slack)]
        case never:
            assert_never(never)


def read_budget(stored: Any) -> Budget:
    """Return the budget that was stored."""
    match stored:
        case ["pure", str(epsilon)]:
            return PureBudget(Fraction(epsilon))
        case ["approximate-zcdp" | "approximate-renyi" as rule, str(epsilon), str(delta), str(slack)]:
            return ApproximateBudget(Fraction(epsilon), Fraction(delta), Fraction(slack), Rule(rule))
    raise LedgerError("the ledger holds a budget in a form this version does not know; upgrade discreet")


def write_pace(pace: Pace) -> list[list[str] | None]:
    """Return the stored form of a pace."""
    return [None if budget is None else write_budget(budget) for budget in (pace.question, pace.day)]


def read_pace(stored: Any) -> Pace:
    """Return the pace that was stored."""
    match stored:
        case [question, day]:
            return Pace(*(None if budget is None else read_budget(budget) for budget in (question, day)))
    raise LedgerError("the ledger holds a pace in a form this version does not know; upgrade discreet")


def write_event(event: Event) -> dict[str, object]:
    """Return the stored form of an event."""
    match event:
        case Created(budget, analysts, reason):
            names = None if analysts is None else list(analysts)
            return {"kind": "created", "budget": write_budget(budget), "analysts": names, "reason": reason}
        case Limited(scope, budget, reason):
            where = {"project": scope.project, "analyst": scope.analyst}
            return {"kind": "limited", **where, "budget": write_budget(budget), "reason": reason}
        case Paced(scope, pace, reason):
            where = {"project": scope.project, "analyst": scope.analyst}
            return {"kind": "paced", **where, "pace": write_pace(pace), "reason": reason}
        case Joined(analyst, reason):
            return {"kind": "joined", "analyst": analyst, "reason": reason}
        case Left(analyst, reason):
            return {"kind": "left", "analyst": analyst, "reason": reason}
        case Closed(reason):
            return {"kind": "closed", "reason": reason}
        case Reserved(request, day):
            return {
                "kind": "reserved",
                "request": request.request_id,
                "dataset": request.dataset,
                "snapshot": request.snapshot,
                "project": request.project,
                "analyst": request.analyst,
                "question": request.question,
                "cost": write_cost(request.cost),
                "mechanisms": list(request.mechanisms),
                **({"text": request.text} if request.text else {}),
                **({} if day is None else {"day": day}),
            }
        case Retried(reservation, attempt):
            return {"kind": "retried", "reservation": reservation, "attempt": attempt}
        case Answered(reservation, question, answer, size):
            place = {"reservation": reservation, "question": question}
            return {"kind": "answered", **place, "digest": answer, "size": size}
        case Failed(reservation, reason_code):
            return {"kind": "failed", "reservation": reservation, "code": reason_code}
        case Advanced(reservation, first, last, secret, answer, size):
            steps = {"reservation": reservation, "first": first, "last": last}
            return {"kind": "advanced", **steps, "secret": secret, "digest": answer, "size": size}
        case Migrated(schema):
            return {"kind": "migrated", "schema": schema}
        case Adopted(anchor, reason):
            return {"kind": "adopted", "anchor": anchor, "reason": reason}
        case Restored(lost, known, mac, reason, day):
            return {
                "kind": "restored",
                "lost": write_cost(lost),
                "known": known,
                "mac": mac,
                "reason": reason,
                **({} if day is None else {"day": day}),
            }
        case Rotated(key, states, reason):
            return {"kind": "rotated", "key": key, "states": [list(s) for s in states], "reason": reason}
        case Succeeded(account, reason):
            return {"kind": "succeeded", "account": account, "reason": reason}
        case never:
            assert_never(never)


def read_event(stored: Any) -> Event:
    """Return the event that was stored; the caller has checked its seal."""
    match stored:
        case {"kind": "created", "budget": budget, "analysts": analysts, "reason": str(reason)}:
            return Created(read_budget(budget), None if analysts is None else tuple(analysts), reason)
        case {
            "kind": "limited",
            "project": project,
            "analyst": analyst,
            "budget": budget,
            "reason": str(reason),
        }:
            return Limited(Scope(project, analyst), read_budget(budget), reason)
        case {"kind": "paced", "project": project, "analyst": analyst, "pace": pace, "reason": str(reason)}:
            return Paced(Scope(project, analyst), read_pace(pace), reason)
        case {"kind": "joined", "analyst": str(analyst), "reason": str(reason)}:
            return Joined(analyst, reason)
        case {"kind": "left", "analyst": str(analyst), "reason": str(reason)}:
            return Left(analyst, reason)
        case {"kind": "closed", "reason": str(reason)}:
            return Closed(reason)
        case {"kind": "reserved"}:
            return Reserved(_read_request(stored), _read_day(stored))
        case {"kind": "retried", "reservation": int(reservation), "attempt": int(attempt)}:
            return Retried(reservation, attempt)
        case {"kind": "answered", "reservation": int(reservation), "question": str(question)}:
            return Answered(reservation, question, stored["digest"], stored["size"])
        case {"kind": "failed", "reservation": int(reservation), "code": str(code)}:
            return Failed(reservation, code)
        case {
            "kind": "advanced",
            "reservation": int(reservation),
            "first": int(first),
            "last": int(last),
            "secret": str(secret),
        }:
            return Advanced(reservation, first, last, secret, stored["digest"], stored["size"])
        case {"kind": "migrated", "schema": int(schema)}:
            return Migrated(schema)
        case {"kind": "adopted", "anchor": str(anchor), "reason": str(reason)}:
            return Adopted(anchor, reason)
        case {"kind": "restored", "lost": lost, "known": int(known), "mac": str(mac), "reason": str(reason)}:
            return Restored(read_cost(lost), known, mac, reason, _read_day(stored))
        case {"kind": "rotated", "key": str(key), "states": list(states), "reason": str(reason)}:
            return Rotated(key, tuple((int(number), str(state)) for number, state in states), reason)
        case {"kind": "succeeded", "account": str(account), "reason": str(reason)}:
            return Succeeded(account, reason)
    raise LedgerError("the ledger holds an event of a kind this version does not know; upgrade discreet")


def _read_day(stored: dict[str, Any]) -> int | None:
    match stored.get("day"):
        case None if "day" not in stored:
            return None
        case int(day) if not isinstance(day, bool) and day > 0:
            return day
    raise LedgerError("the ledger holds a day in a form this version does not know; upgrade discreet")


def _read_request(stored: dict[str, Any]) -> Request:
    return Request(
        request_id=stored["request"],
        dataset=stored["dataset"],
        snapshot=stored["snapshot"],
        project=stored["project"],
        analyst=stored["analyst"],
        question=stored["question"],
        cost=read_cost(stored["cost"]),
        mechanisms=tuple(stored["mechanisms"]),
        text=stored.get("text", ""),
    )
