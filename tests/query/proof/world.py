"""Two neighbouring datasets on which hostile statements show themselves, and short words for statements."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import pyarrow

from discreet.engines.duckdb.engine import DuckDB, open_tables
from discreet.engines.duckdb.render import render
from discreet.engines.exact import EngineRequest, Exact
from discreet.engines.protocol import Origin
from discreet.errors import EngineError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.plan import Call, Column, Literal, Scalar
from discreet.query.proof import (
    Blended,
    Chosen,
    Claim,
    Declarations,
    Divided,
    Kept,
    KeptByWeight,
    Noised,
    Reached,
    Swapped,
    SwappedAmong,
    TableDeclaration,
)
from discreet.query.proof.declared import outputs_of
from discreet.query.statement import Inner, Named, Query, Source, Statement, StoredTable

W = 2**16
WARDS = ("a", "b", "c")
HUGE = 2**53

VISITS = (
    ("person", "identifier"),
    ("k", "text"),
    ("a", "integer"),
    ("x", "integer"),
    ("c", "decimal"),
    ("s", "text"),
)
TABLES = Declarations(
    (
        TableDeclaration("visits", VISITS, "person"),
        TableDeclaration("swaps", VISITS, "person", Adjacency.REPLACE),
        TableDeclaration("ready", VISITS, "person", kept=2),
        TableDeclaration("votes", (("k", "text"), ("a", "integer"), ("c", "decimal"))),
        TableDeclaration("members", (("person", "integer"), ("a", "integer"))),
        TableDeclaration("united", (("person", "integer"), ("a", "integer")), "person"),
        TableDeclaration("scores", (("person", "decimal"), ("a", "integer")), "person"),
        TableDeclaration("wards", (("ward", "text"), ("name", "text")), public=True),
        TableDeclaration("codes", (("code", "integer"), ("name", "text")), public=True),
    )
)


def _visit(person: str | None, k: str, **other: Any) -> dict[str, Any]:
    return {"person": person, "k": k, "a": 1, "x": 1, "c": 1.0, "s": "1", **other}


def _rows(*, eve: bool) -> dict[str, list[dict[str, Any]]]:
    """Return the tables with the last person, or without (where neighbours replace: as someone else)."""
    others = [_visit("bob", "a"), _visit("EVE", "b"), _visit("ann", "c", x=2)]
    mine = [_visit("eve", "a", a=10**6, x=number, s=f"s{number}", c=1e300) for number in range(12)]
    mine += [_visit("eve", "b", x=number) for number in (0, 3)]
    mine += [_visit("eve", "c", x=number) for number in (0, 3, 4, 5, 6)]
    mine += [_visit("eve", f"z{number}", x=-number, s="xab") for number in range(8)]
    mine += [_visit("eve", "a", x=2**63 - 1), _visit("eve", "a", x=-(2**63), s="abc")]
    mine += [_visit("eve", "a", x=HUGE), _visit("eve", "a", x=HUGE + 1)]
    nobody = [_visit(None, "a") for _ in range(50)]
    votes = [{"k": "a", "a": -20, "c": 0.5} for _ in range(5)]
    person = [{"person": HUGE, "a": 1}]
    wards = [("a", "x"), ("a", "y"), ("b", "x"), ("c", "z")]
    return {
        "visits": others + (mine if eve else []),
        "swaps": others + (mine if eve else [{**row, "k": "b", "x": 0, "a": -(10**6)} for row in mine]),
        "ready": others + (nobody if eve else []),
        "votes": votes + ([{"k": "a", "a": 10**6, "c": float(HUGE)}] if eve else []),
        "members": person + ([{"person": HUGE + 1, "a": 1}] if eve else []),
        "united": person + ([{"person": HUGE + 1, "a": 1}] if eve else []),
        "scores": [{"person": float(HUGE), "a": 1}],
        "wards": [{"ward": ward, "name": name} for ward, name in wards],
        "codes": [{"code": HUGE, "name": "x"}, {"code": HUGE + 1, "name": "y"}],
    }


_ARROW = {
    "identifier": pyarrow.string(),
    "text": pyarrow.string(),
    "integer": pyarrow.int64(),
    "decimal": pyarrow.float64(),
}


@cache
def engine(*, eve: bool) -> DuckDB:
    """Return one of the two datasets, open."""
    origins = {}
    for table in TABLES.tables:
        schema = pyarrow.schema([(name, _ARROW[kind]) for name, kind in table.columns])
        held = pyarrow.Table.from_pylist(_rows(eve=eve)[table.name], schema=schema)
        origins[table.name] = Origin(held, table.columns)
    return open_tables(origins, threads=1, memory="1GB")


def run(statement: Statement, *, eve: bool) -> Exact | None:
    """Return a statement's exact integers, or None where the engine raises."""
    request = EngineRequest(render(statement), statement.keys, statement.outputs, statement.cells)
    try:
        return engine(eve=eve)._exact([request], 7)
    except EngineError:
        return None


@dataclass(frozen=True)
class Case:
    """A statement with what is claimed about it; `seen` says whether the datasets show a violation."""

    name: str
    statement: Statement
    claim: Claim
    seen: bool = True


def violated(case: Case) -> bool:
    """Whether the exact integers of the neighbouring datasets contradict the claim."""
    present, absent = run(case.statement, eve=True), run(case.statement, eve=False)
    if present is None or absent is None:
        return (present is None) != (absent is None)
    return any(_violated(release, case, present, absent) for release in case.claim)


def _violated(release: Any, case: Case, present: Exact, absent: Exact) -> bool:
    if isinstance(release, Chosen):
        return _scored(release, present, absent)
    if isinstance(release, KeptByWeight):
        return _weighed(release, present, absent)
    moved = []
    for output in outputs_of(release):
        one, other = present._totals[output], absent._totals[output]
        keys = [key for key in {*one, *other} if _leaves(key, case.claim)]
        moved += [d for key in keys if (d := one.get(key, 0) - other.get(key, 0))]
    match release:
        case Noised(_, Sensitivity() as claimed) | Blended(_, Sensitivity() as claimed):
            within = sum(map(abs, moved)) <= claimed.l1 and sum(d * d for d in moved) <= claimed.l2_squared
            within = within and max(map(abs, moved), default=0) <= claimed.linf
            return not within or (claimed.l0 is not None and len(moved) > claimed.l0)
        case Reached(_, int(reach)) | Divided(_, int(reach)) | Blended(_, int(reach)):
            return sum(map(abs, moved)) > reach
        case Swapped(_, each, back):
            # What is added and what is taken, in the hull of (1, 1), (1 + back, 0) and (0, 1 + back).
            up, down = sum(d for d in moved if d > 0), -sum(d for d in moved if d < 0)
            return max(up + back * down, down + back * up) > (1 + back) * each
        case SwappedAmong(_, each):
            up, down = sum(d for d in moved if d > 0), -sum(d for d in moved if d < 0)
            return max(up, down) > each
        case Kept(_, groups):
            return max(map(abs, moved), default=0) > 1 or len(moved) > groups
    raise TypeError(release)


def _weighed(release: KeptByWeight, present: Exact, absent: Exact) -> bool:
    """Whether somebody in so many keys adds more to one of them, or is in more keys, than a threshold is for.

    A key that is there with a weight of nothing is there, too.
    """
    one, other = present._totals[release.output], absent._totals[release.output]
    moved = {key: abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other}}
    theirs = [d for key, d in moved.items() if d or (key in one) != (key in other)]
    if len(theirs) > len(release.weights) or not theirs:
        return bool(theirs)
    return max(theirs) > release.weights[len(theirs) - 1] or sum(d * d for d in theirs) > release.squares


def _leaves(key: tuple[Any, ...], claim: Claim) -> bool:
    return claim.keys is None or all(part in values for part, values in zip(key, claim.keys, strict=True))


def _scored(release: Chosen, present: Exact, absent: Exact) -> bool:
    """Whether weights of candidates move further than claimed, outside of the grid, or both ways."""
    one, other = present._cells[release.output], absent._cells[release.output]
    moved = [
        one.get(key, {}).get(value, 0) - other.get(key, {}).get(value, 0)
        for key in {*one, *other}
        for value in {*one.get(key, {}), *other.get(key, {})}
    ]
    outside = release.level is not None and any(
        value is not None and not 0 <= value < release.size for weights in one.values() for value in weights
    )
    factor = 1 if release.level is None else max(release.level, 1 - release.level) * release.level.denominator
    both = release.monotone and min(moved, default=0) < 0 < max(moved, default=0)
    return outside or both or factor * sum(moved) > release.moves or max(moved, default=0) > release.moves


def c(alias: str, name: str) -> Column:
    return Column(alias, name)


def f(name: str, *arguments: Scalar | int | str | Fraction) -> Call:
    return Call(name, tuple(a if not isinstance(a, int | str | Fraction) else Literal(a) for a in arguments))


def there(scalar: Scalar) -> Call:
    return f("not", f("is_null", scalar))


def moves(*norms: int) -> Sensitivity:
    """Return a sensitivity: of one number, or l1, linf and squared l2 apart."""
    if len(norms) == 1:
        return replace(Sensitivity.of(norms[0]), l0=None)
    l1, linf, l2 = norms
    return Sensitivity(Fraction(l1), Fraction(l2), Fraction(linf))


def noised(sensitivity: Sensitivity | int, *keys: tuple[Any, ...], output: str = "m0") -> Claim:
    claimed = sensitivity if isinstance(sensitivity, Sensitivity) else moves(sensitivity)
    return Claim(keys, (Noised(output, claimed),))


def total(
    scalar: Scalar, source: Source, where: Scalar | None = None, *keys: Column, having: Scalar | None = None
) -> Query:
    """Return a final query: one total for each combination of keys."""
    items = tuple((f"k{place}", key) for place, key in enumerate(keys))
    return Query((*items, ("m0", scalar)), source, where, keys, having)


def statement(body: Query, *parts: tuple[str, Query], cells: bool = False) -> Statement:
    keys = len(body.items) - 1
    return Statement(parts, body, keys, ("m0",), cells)


def rows(table: str = "visits", **extra: Scalar) -> Query:
    """Return a person's rows: person u, key k and numbers, nobody's left out."""
    items = {"u": c("t", "person"), "k": c("t", "k"), "a": f("clamp", c("t", "a"), 0, 9), "x": c("t", "x")}
    return Query(tuple((items | extra).items()), StoredTable(table, "t"), there(c("t", "person")))


def people(
    part: str = "rows", where: Scalar | None = None, most: int = 3 * W, count: Scalar | None = None
) -> Query:
    """Return each person's share: W for a row, at most three rows in all."""
    share = f("narrow", f("least", W, f("quotient", most, count or f("count_rows"))))
    return Query((("u", c("r", "u")), ("w", share)), Named(part, "r"), where, (c("r", "u"),))


def inner(query: Query, alias: str = "r") -> Inner:
    return Inner(query, alias)
