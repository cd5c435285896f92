"""Rows that belong to a person only through another table are protected for that person.

The promise is restated here from its words: a row belongs to the first person who holds its key, whoever is
removed takes along all that belongs to her, in every table.  Small databases of every shape are compared with
what is left of them without each of their people: keys that repeat, that several people hold, that nobody
holds, rows without a person, without a key, and without a row that they refer to.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from random import Random
from typing import Any

import pyarrow
import pytest
from tests.query.gate.oracle import violation

from discreet.engines.duckdb.engine import open_tables
from discreet.engines.duckdb.render import render
from discreet.engines.exact import EngineRequest
from discreet.engines.protocol import Origin
from discreet.engines.reference.engine import Reference
from discreet.errors import CatalogError, ProofError, QueryError
from discreet.query.catalog.manifest import Catalog, declare
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.plan import Call, Column
from discreet.query.price.expected import Quote
from discreet.query.price.proving import declarations, proof_of
from discreet.query.price.quote import quote
from discreet.query.proof import Claim, Declarations, Noised, TableDeclaration, prove
from discreet.query.rewrite.statements import statements
from discreet.query.statement import Inner, JoinedRows, Query, Source, Statement, StoredTable

Row = dict[str, Any]
Data = dict[str, list[Row]]

SMALL = Fraction(1, 10**9)


def shop(*, rows: int = 1, neighbours: str = "add-remove", **changed: Any) -> Catalog:
    """Return orders of people, items of orders and parts of items."""
    limits = {"neighbours": neighbours, "rows_per_unit": rows}
    number = {"type": "integer", "low": 0, "high": 3}
    body: dict[str, Any] = {
        "orders": {"unit": "who", **limits, "columns": {"id": "integer", "who": "text"}},
        "items": {
            "unit": "orders.who",
            **limits,
            "columns": {
                "id": "integer",
                "order_ref": {"type": "integer", "references": "orders.id"},
                "x": number,
            },
        },
        "parts": {
            "unit": "items.orders.who",
            **limits,
            "columns": {"item_ref": {"type": "integer", "references": "items.id"}, "y": number},
        },
    }
    for name, other in changed.items():
        body[name] = {key: value for key, value in {**body[name], **other}.items() if value is not None}
    return declare({"tables": body})


QUESTIONS = (
    "SELECT COUNT(*), SUM(x) FROM items",
    "SELECT x, COUNT(*) FROM items GROUP BY x",
    "SELECT COUNT(*), SUM(y) FROM parts",
    "SELECT y, SUM(i.x) FROM parts p JOIN items i ON p.item_ref = i.id GROUP BY y",
    "SELECT COUNT(*), COUNT(DISTINCT o.who) FROM orders o JOIN items i ON o.id = i.order_ref",
    "SELECT COUNT(*) FROM orders o LEFT JOIN items i ON o.id = i.order_ref AND i.x > 0",
    "SELECT COUNT(*) FROM items a JOIN items b ON a.order_ref = b.order_ref",
    "SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.order_ref = o.id AND x > 1)",
    "SELECT COUNT(*) FROM orders o WHERE id NOT IN (SELECT order_ref FROM items)",
    "SELECT COUNT(*) FROM (SELECT order_ref, COUNT(*) AS n FROM items GROUP BY order_ref) WHERE n > 1",
    "SELECT COUNT(*) FROM orders o, items i, parts p WHERE o.id = i.order_ref AND i.id = p.item_ref",
    "SELECT AVG(CLAMP(n, 0, 3)) FROM (SELECT o.who, COUNT(i.id) AS n FROM orders o "
    "LEFT JOIN items i ON o.id = i.order_ref GROUP BY o.who)",
)


@cache
def asked(question: str, rows: int, neighbours: str) -> tuple[Quote, tuple[Statement, ...]]:
    catalog = shop(rows=rows, neighbours=neighbours)
    checked = check(read(question), catalog)
    priced = quote(checked, epsilon=1, conversion=SMALL, delta=SMALL)
    proof_of(priced, catalog)
    return priced, statements(checked)


def owners(data: Data) -> dict[str, list[str | None]]:
    """Return whose each row is, from the words of the promise alone."""

    def first(people: list[str | None]) -> str | None:
        return min((who for who in people if who is not None), default=None)

    orders = [row["who"] for row in data["orders"]]
    items = [
        first([who for who, o in zip(orders, data["orders"], strict=True) if _equal(o["id"], i["order_ref"])])
        for i in data["items"]
    ]
    parts = [
        first([who for who, i in zip(items, data["items"], strict=True) if _equal(i["id"], p["item_ref"])])
        for p in data["parts"]
    ]
    return {"orders": orders, "items": items, "parts": parts}


def _equal(one: int | None, other: int | None) -> bool:
    return one is not None and one == other


def without(data: Data, person: str) -> Data:
    """Return what is left when a person is removed with all that belongs to her."""
    whose = owners(data)
    return {
        name: [row for row, who in zip(rows, whose[name], strict=True) if who != person]
        for name, rows in data.items()
    }


def databases(random: Random) -> Iterator[Data]:
    """Yield databases in which keys repeat, are shared, are missing and refer to nothing."""
    keys = (1, 1, 2, 2, 3, None)
    while True:
        yield {
            "orders": [
                {"id": random.choice(keys), "who": random.choice(("a", "a", "b", "b", "c", None))}
                for _ in range(random.randint(0, 6))
            ],
            "items": [
                {
                    "id": random.choice(keys),
                    "order_ref": random.choice(keys),
                    "x": random.choice((0, 1, 3, None, 9)),
                }
                for _ in range(random.randint(0, 6))
            ],
            "parts": [
                {"item_ref": random.choice(keys), "y": random.choice((0, 2, 3, -5))}
                for _ in range(random.randint(0, 4))
            ],
        }


def compared(data: Data, question: str, rows: int, neighbours: str, other: Data) -> str | None:
    priced, running = asked(question, rows, neighbours)
    one, two = (Reference(tables)._exact(running, 7) for tables in (data, other))
    return violation(priced, one, two)


def search(seed: int, count: int) -> int:
    """Compare random databases with what is left without each person, or with another one in her place."""
    random, cases = Random(seed), 0
    for data, _ in zip(databases(random), range(count), strict=False):
        question = random.choice(QUESTIONS)
        rows, neighbours = random.choice((1, 2, 5)), random.choice(("add-remove", "replace"))
        for person in {who for whose in owners(data).values() for who in whose} - {None}:
            left = without(data, person)
            other = left
            if neighbours == "replace":
                # Somebody else is there instead, with orders of new keys and as much as she likes.
                other = {name: list(held) for name, held in left.items()}
                other["orders"] += [{"id": 7, "who": person}] * random.randint(0, 3)
                other["items"] += [{"id": 8, "order_ref": 7, "x": 3}] * random.randint(0, 4)
                other["parts"] += [{"item_ref": 8, "y": 3}] * random.randint(0, 4)
                if without(other, person) != left:
                    continue
            wrong = compared(data, question, rows, neighbours, other)
            assert wrong is None, (question, rows, neighbours, data, person, wrong)
            cases += 1
    return cases


def test_whoever_is_removed_with_all_her_rows_moves_no_more_than_is_charged() -> None:
    assert search(1, 200) >= 200


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", range(10, 14))
def test_whoever_is_removed_moves_no_more_in_thousands_of_databases(seed: int) -> None:
    assert search(seed, 4_000) >= 5_000


def small() -> Iterator[Data]:
    """Yield every database of at most three orders with two keys and two people, and two kinds of items."""
    orders = [{"id": key, "who": who} for key, who in product((1, 2), ("a", "b", None))]
    for count in range(4):
        for chosen in combinations_with_replacement(orders, count):
            items = [{"id": n, "order_ref": ref, "x": 3} for n, ref in enumerate((1, 1, 2, 3, None))]
            yield {"orders": list(chosen), "items": items, "parts": []}


def test_in_every_small_database_the_others_keep_their_rows() -> None:
    """With one row for each person, a count tells exactly how many people have rows."""
    priced, running = asked("SELECT COUNT(*) FROM items", 1, "add-remove")
    assert priced.shares[0].measured.sensitivity.l1 > 0
    for data in small():
        people = {who for who in owners(data)["items"] if who is not None}
        total = Reference(data)._exact(running, 7)._totals["m0"].get((), 0)
        for person in people:
            left = Reference(without(data, person))._exact(running, 7)._totals["m0"].get((), 0)
            # Each person weighs one whole row, give or take what rounding down takes off.
            assert abs((total - left) * len(people) - total) <= 8 * len(people), (data, person)


def dropping(source: Source) -> Source:
    """Return a path that drops keys of several people, as one might think is safest."""
    match source:
        case JoinedRows(left, Inner(query, alias), on, outer):
            several = Call(
                "eq",
                (
                    Call("count_distinct", query.items[1][1].arguments),
                    Call("count_distinct", (query.group[0],)),
                ),
            )  # type: ignore[union-attr]
            return JoinedRows(left, Inner(replace(query, having=several), alias), on, outer)
        case _:
            return source


def changed(statement: Statement, change: Any) -> Statement:
    """Return a statement whose paths are changed, wherever they stand."""

    def again(query: Query) -> Query:
        match query.source:
            case Inner(inner, alias):
                return replace(query, source=Inner(again(inner), alias))
            case JoinedRows(StoredTable()):
                return replace(query, source=change(query.source))
            case _:
                return query

    parts = tuple((name, again(query)) for name, query in statement.parts)
    return replace(statement, parts=parts, body=again(statement.body))


def test_dropping_keys_of_several_people_would_break_the_promise_and_is_refused() -> None:
    priced, (running,) = asked("SELECT COUNT(*) FROM items", 1, "add-remove")
    twin = changed(running, dropping)
    assert twin != running
    data: Data = {
        "orders": [{"id": n, "who": who} for n in range(5) for who in (f"a{n}", "z")],
        "items": [{"id": n, "order_ref": n, "x": 1} for n in range(5)],
        "parts": [],
    }
    left = without(data, "z")
    assert len(left["items"]) == 5
    one, two = (Reference(tables)._exact([twin], 7) for tables in (data, left))
    assert violation(priced, one, two) is not None
    one, two = (Reference(tables)._exact([running], 7) for tables in (data, left))
    assert violation(priced, one, two) is None
    claim = Claim((), (Noised("m0", priced.shares[0].measured.sensitivity),))
    prove([running], declarations(shop()), [claim])
    with pytest.raises(ProofError):
        prove([twin], declarations(shop()), [claim])


def _edit(source: Source, /, **other: Any) -> Source:
    """Return a path whose lookup differs in one thing."""
    match source:
        case JoinedRows(left, Inner(query, alias), on, outer):
            return JoinedRows(left, Inner(replace(query, **other), alias), on, outer)
    raise AssertionError("not a path")


TWINS = {
    "another key": lambda s: _edit(
        s,
        items=(("k", Column(s.right.query.source.alias, "who")), s.right.query.items[1]),
        group=(Column(s.right.query.source.alias, "who"),),
    ),
    "the last person": lambda s: _edit(
        s, items=(s.right.query.items[0], ("u", Call("max", s.right.query.items[1][1].arguments)))
    ),
    "some rows": lambda s: _edit(s, where=Call("gt", (s.right.query.group[0], s.right.query.group[0]))),
    "another table": lambda s: _edit(s, source=StoredTable("others", s.right.query.source.alias)),
    "another column for the key": lambda s: _edit(
        s, items=(("k", Column(s.right.query.source.alias, "who")), s.right.query.items[1])
    ),
    "the key as person": lambda s: _edit(
        s, items=(s.right.query.items[0], ("u", Call("min", (s.right.query.group[0],))))
    ),
    "an outer join": lambda s: replace(s, outer=True),
    "another column": lambda s: replace(s, on=Call("eq", (Column(s.left.alias, "id"), s.on.arguments[1]))),
    "an inequality": lambda s: replace(s, on=Call("le", s.on.arguments)),
    "no path": lambda s: s.left,
}


@pytest.mark.parametrize("name", TWINS)
def test_a_path_that_is_not_the_declared_one_is_refused(name: str) -> None:
    priced, (running,) = asked("SELECT COUNT(*) FROM items", 1, "add-remove")
    claim = Claim((), (Noised("m0", priced.shares[0].measured.sensitivity),))
    twin = changed(running, TWINS[name])
    assert twin != running
    others = TableDeclaration("others", (("id", "integer"), ("who", "text")), "who")
    known = Declarations((*declarations(shop()).tables, others))
    prove([running], known, [claim])
    with pytest.raises(ProofError):
        prove([twin], known, [claim])


def test_engines_agree_about_rows_through_keys() -> None:
    kinds = {"id": pyarrow.int64(), "order_ref": pyarrow.int64(), "item_ref": pyarrow.int64()}
    catalog = shop(rows=2)
    for data, _ in zip(databases(Random(5)), range(4), strict=False):
        origins = {}
        for table in catalog.tables:
            schema = [
                (c, kinds.get(c, pyarrow.string() if c == "who" else pyarrow.int64()))
                for c, _ in table.offered
            ]
            frame = pyarrow.Table.from_pylist(data[table.name], schema=pyarrow.schema(schema))
            origins[table.name] = Origin(frame, table.offered)
        with open_tables(origins, threads=1) as engine:
            for question in QUESTIONS:
                _, running = asked(question, 2, "add-remove")
                requests = [EngineRequest(render(s), s.keys, s.outputs, s.cells) for s in running]
                found, wanted = engine._exact(requests, 7), Reference(data)._exact(running, 7)
                assert {n: dict(t) for n, t in found._totals.items()} == {
                    n: dict(t) for n, t in wanted._totals.items()
                }, question


ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "nowhere": ({"items": {"unit": "shops.who"}}, "not declared"),
    "no reference": ({"items": {"columns": {"id": "integer", "order_ref": "integer"}}}, "no column refers"),
    "another person": ({"orders": {"unit": "row", "rows_per_unit": None}}, "a path ends at the person"),
    "elsewhere": ({"items": {"unit": "orders.id"}}, "a path ends at the person"),
    "a shorter path": ({"parts": {"unit": "items.who"}}, "a path ends at the person"),
    "other neighbours": ({"items": {"neighbours": "replace"}}, "neighbours must be those"),
    "prepared": ({"orders": {"prepared": True}}, "prepared"),
    "no order": ({"orders": {"columns": {"id": "integer"}}}, "declare the type"),
    "types": ({"orders": {"columns": {"id": "text", "who": "text"}}}, "compared as keys"),
    "no table": (
        {"items": {"columns": {"order_ref": {"type": "integer", "references": "nowhere.id"}}}},
        "must name a declared column",
    ),
    "no column": (
        {"items": {"columns": {"order_ref": {"type": "integer", "references": "orders.nr"}}}},
        "must name a declared column",
    ),
    "two ways": (
        {
            "items": {
                "columns": {
                    "id": "integer",
                    "one": {"type": "integer", "references": "orders.id"},
                    "two": {"type": "integer", "references": "orders.id"},
                }
            }
        },
        "several columns refer",
    ),
    "itself": ({"items": {"unit": "items.x"}}, "not declared"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_path_that_leads_nowhere_is_refused_with_advice(name: str) -> None:
    other, words = ERRORS[name]
    with pytest.raises(CatalogError, match=words):
        shop(**other)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("SELECT order_ref, COUNT(*) FROM items GROUP BY order_ref", "one group per person"),
        (
            "SELECT i.id, COUNT(*) FROM items i JOIN parts p ON i.id = p.item_ref GROUP BY i.id",
            "one group per",
        ),
        ("SELECT COUNT(*) FROM items i JOIN parts p ON i.x = p.y", "joined on the person"),
        ("SELECT COUNT(*) FROM orders o JOIN items i ON o.id = i.id", "joined on the person"),
        ("SELECT COUNT(*) FROM orders o JOIN items i ON o.id >= i.order_ref", "joined on the person"),
        ("SELECT COUNT(*) FROM orders o JOIN items i ON o.id = i.order_ref + 0", "joined on the person"),
        ("SELECT COUNT(*) FROM orders o JOIN parts p ON o.id = p.item_ref", "joined on the person"),
        (
            "SELECT COUNT(*) FROM (SELECT x, COUNT(*) AS n FROM items GROUP BY x) a JOIN orders ON id = x",
            "person",
        ),
    ],
)
def test_what_does_not_follow_the_keys_is_refused(question: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        check(read(question), shop())


def test_a_detail_costs_its_own_limit_and_not_the_product() -> None:
    catalog = shop(orders={"rows_per_unit": 10}, items={"rows_per_unit": 40})
    for question in (
        "SELECT COUNT(*) FROM orders o JOIN items i ON o.id = i.order_ref",
        "SELECT COUNT(*) FROM items i JOIN orders o ON o.id = i.order_ref",
        "SELECT COUNT(*) FROM items i LEFT JOIN orders o ON o.id = i.order_ref",
        "SELECT COUNT(*) FROM (SELECT * FROM orders WHERE id > 3) o JOIN items i ON o.id = i.order_ref",
    ):
        assert check(read(question), catalog).rows.rows == 40, question
    asked_once = "SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.order_ref = o.id)"
    assert check(read(asked_once), catalog).rows.rows == 10
    both = "SELECT COUNT(*) FROM items a JOIN items b ON a.order_ref = b.order_ref"
    assert check(read(both), catalog).rows.rows == 1_600
