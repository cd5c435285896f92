"""Statements changed at random: whatever the checker still accepts keeps its claim.

A statement of a legitimate question gets one to three random faults: a dropped condition, key or cast, other
constants, column, table or part, an outer join where there was none.  What is refused is refused; what is
accepted is run on two neighbouring datasets, and the exact integers must stay within the claim, or raise on
both sides.  Nothing here knows the checker's rules.
"""

from collections import Counter
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from tests.query.proof.test_acceptance import legitimate
from tests.query.proof.world import Case, _violated
from tests.query.questions import Catalog
from tests.query.worlds import extreme, open_world, row

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.render import render
from discreet.engines.exact import EngineRequest, Exact
from discreet.errors import EngineError, ProofError
from discreet.query.plan import Among, Call, Column, Literal, Scalar
from discreet.query.price import proving
from discreet.query.proof import Claim, Declarations, prove
from discreet.query.statement import Inner, JoinedRows, Named, Query, Stacked, Statement, StoredTable

TABLES = ("visits", "people", "wards")
FUNCTIONS = (
    "eq",
    "ge",
    "le",
    "gt",
    "add",
    "subtract",
    "multiply",
    "clamp",
    "least",
    "greatest",
    "count_rows",
)


def mutate(node: Any, random: Random, pool: dict[str, list[Any]]) -> Any:
    """Return a node with one random change somewhere inside it."""
    if isinstance(node, tuple):
        if not node:
            return node
        if random.random() < 0.08 and not isinstance(node[0], str):
            place = random.randrange(len(node))
            return node[:place] + node[place + 1 :]
        place = random.randrange(len(node))
        return (*node[:place], mutate(node[place], random, pool), *node[place + 1 :])
    if not is_dataclass(node):
        return node
    if random.random() < (0.75 if isinstance(node, Literal | Column | StoredTable | Named) else 0.2):
        return _changed(node, random, pool)
    inside = [
        f.name
        for f in fields(node)
        if isinstance(getattr(node, f.name), tuple) or is_dataclass(getattr(node, f.name))
    ]
    if not inside:
        return _changed(node, random, pool)
    name = random.choice(inside)
    return replace(node, **{name: mutate(getattr(node, name), random, pool)})  # type: ignore[type-var]


def _changed(node: Any, random: Random, pool: dict[str, list[Any]]) -> Any:
    match node:
        case Literal(bool()):
            return Literal(not node.value)
        case Literal(int(value)):
            return Literal(random.choice((0, 1, value + 1, value - 1, 2 * value, value // 2, 2**31)))
        case Literal(Fraction() as value):
            return Literal(random.choice((value * 2, value + 1, -value)))
        case Literal(str()):
            return Literal(random.choice(("A", "B", "zz", "")))
        case Column():
            return random.choice(pool["columns"])
        case Call(name, arguments):
            choice = random.random()
            if choice < 0.4 and arguments:
                return random.choice(arguments)
            if choice < 0.7:
                return Call(random.choice(FUNCTIONS), arguments)
            return Call(name, (*arguments[1:], *arguments[:1]))
        case Among(argument, values):
            return Among(argument, values[1:] or (Literal("A"),))
        case JoinedRows(left, right, on, outer):
            return random.choice(
                (
                    replace(node, outer=not outer),
                    left,
                    JoinedRows(right, left, on, outer),
                    replace(node, on=Literal(True)),
                )
            )
        case Stacked(queries, alias):
            return random.choice((Stacked((*queries, queries[0]), alias), Inner(queries[0], alias)))
        case Named(_, alias):
            return Named(random.choice(pool["parts"]), alias)
        case StoredTable(_, alias):
            return StoredTable(random.choice(TABLES), alias)
        case Query():
            return random.choice(
                (
                    replace(node, where=None),
                    replace(node, having=None),
                    replace(node, group=node.group[1:]),
                    replace(node, group=node.group[:-1]),
                    replace(node, items=node.items[::-1]),
                )
            )
        case _:
            return node


def broken(statement: Statement, random: Random) -> Statement:
    """Return a statement with one to three random faults, in its parts or its body."""
    columns: list[Scalar] = []

    def collect(node: Any) -> None:
        if isinstance(node, Column):
            columns.append(node)
        elif isinstance(node, tuple):
            for part in node:
                collect(part)
        elif is_dataclass(node):
            for f in fields(node):
                collect(getattr(node, f.name))

    collect(statement)
    pool = {"columns": columns or [Column("r", "u")], "parts": [name for name, _ in statement.parts] or ["r"]}
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        queries = [*(query for _, query in statement.parts), statement.body]
        place = random.randrange(len(queries))
        changed = mutate(queries[place], random, pool)
        if not isinstance(changed, Query):
            continue
        if place == len(statement.parts):
            statement = replace(statement, body=changed)
        else:
            parts = [*statement.parts]
            parts[place] = (parts[place][0], changed)
            statement = replace(statement, parts=tuple(parts))
    return statement


def neighbours(random: Random, catalog: Catalog, names: int = 3) -> tuple[DuckDB, DuckDB]:
    """Return two datasets that differ by one person who tries to move everything far."""
    table = catalog.table("visits")
    assert table is not None
    united, swapped = table.unit is not None, table.adjacency == "replace"

    def person(name: str) -> tuple[list[Any], list[Any]]:
        visits = extreme(random, name) if united else [row(random, name)]
        born = [{"person": name, "version": 0, "born": random.choice((1, 1980, 9999))}]
        return visits, born * random.choice((1, 1, 2)) if united else []

    others = [person(str(number)) for number in range(1, names + 1)]
    nobody = [row(random, None) for _ in range(2)] if united else []
    worlds = []
    for present in (True, False):
        mine = person("7") if present or swapped else ([], [])
        visits = [visit for held, _ in others for visit in held] + nobody + mine[0]
        people = [one for _, held in others for one in held] + mine[1]
        worlds.append(open_world(visits, people, catalog))
    return worlds[0], worlds[1]


def integers(engine: DuckDB, statement: Statement) -> Exact | None:
    try:
        request = EngineRequest(render(statement), statement.keys, statement.outputs, statement.cells)
        return engine._exact([request], 7)
    except (EngineError, AssertionError, KeyError, IndexError, ValueError):
        # What cannot be written never runs, whatever the data.
        return None


def accepted(statement: Statement, declared: Declarations, claim: Claim) -> bool:
    try:
        prove([statement], declared, [claim])
    except ProofError:
        return False
    return True


def attempt(seed: int, tries: int, seen: Counter[str]) -> None:
    """Break the statements of one random question, and hold what is accepted against two neighbours."""
    random = Random(seed)
    found = legitimate(seed)
    if found is None:
        return
    priced, catalog = found
    assert isinstance(catalog, Catalog)
    visits = catalog.table("visits")
    assert visits is not None
    declared = proving.declarations(catalog)
    running = proving.statements(priced.checked)
    claims = [proving._claim(priced, statement.outputs) for statement in running]
    if visits.prepared or any(claim.keys is None for claim in claims):
        return
    survivors: list[tuple[Statement, Claim]] = []
    for _ in range(tries):
        statement, claim = random.choice(list(zip(running, claims, strict=True)))
        changed = broken(statement, random)
        if changed == statement:
            continue
        seen["broken"] += 1
        if accepted(changed, declared, claim):
            survivors.append((changed, claim))
    if not survivors:
        return
    for _ in range(2):
        with_, without = neighbours(random, catalog)
        with with_, without:
            for changed, claim in survivors:
                seen["accepted"] += 1
                present, absent = integers(with_, changed), integers(without, changed)
                assert (present is None) == (absent is None), (seed, changed, claim)
                if present is None or absent is None:
                    continue
                case = Case("changed", changed, claim)
                assert not any(_violated(release, case, present, absent) for release in claim), (
                    seed,
                    changed,
                    claim,
                )


def test_whatever_is_accepted_keeps_its_claim() -> None:
    seen: Counter[str] = Counter()
    for seed in range(12):
        attempt(seed, 40, seen)
    assert seen["broken"] >= 150, seen
    assert seen["accepted"] >= 20, seen


@pytest.mark.fuzz
@pytest.mark.timeout(0)
def test_whatever_is_accepted_keeps_its_claim_for_long() -> None:
    seen: Counter[str] = Counter()
    for seed in range(1_000, 6_000):
        attempt(seed, 40, seen)
    assert seen["accepted"] >= 10_000, seen
