"""A plan as SQL text: what the dataframe face shows, what history keeps, and what is sent to a service.

Reading the text again gives a plan that measures the same; whoever relies on that compares identities, as a
connection does before it sends one.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import assert_never

from sqlglot.dialects.duckdb import DuckDB

from discreet.query.name import HIDDEN
from discreet.query.plan import (
    COMMA,
    EXISTS,
    LISTED,
    NATURAL,
    STAR,
    USING,
    WINDOW,
    Aggregate,
    Among,
    Block,
    Call,
    Case,
    Column,
    Item,
    Join,
    Literal,
    Nested,
    Order,
    Relation,
    Scalar,
    Scan,
    UnionAll,
    Value,
    Window,
    window_of,
)


def written(block: Block) -> str:
    """Return a plan as one SELECT statement."""
    if isinstance(block.source, UnionAll) and block == Block(block.source, ()):
        return " UNION ALL ".join(map(written, block.source.blocks))
    source, asked = _plain(block.source)
    say = _Words(asked)
    items = ", ".join(map(say.item, block.items)) or "*"
    parts = [f"SELECT {'DISTINCT ' if block.distinct else ''}{items} FROM {say.relation(source)}"]
    for word, scalar in (("WHERE", block.where), ("GROUP BY", None), ("HAVING", block.having)):
        if scalar is not None:
            parts.append(f"{word} {say.text(scalar)}")
        elif word == "GROUP BY" and (block.group or block.sets is not None):
            parts.append(f"{word} {say.groups(block)}")
    if block.qualify is not None:
        parts.append(f"QUALIFY {say.text(block.qualify)}")
    if block.order:
        parts.append(f"ORDER BY {', '.join(map(say.order, block.order))}")
    parts += [] if block.limit is None else [f"LIMIT {block.limit}"]
    parts += [f"OFFSET {block.offset}"] if block.offset else []
    return " ".join(parts)


def text_of(scalar: Scalar) -> str:
    """Return an expression as SQL."""
    return _Words({}).text(scalar)


def _plain(source: Relation) -> tuple[Relation, dict[str, tuple[Block, tuple[Scalar, ...]]]]:
    """Return the rows of FROM without the subqueries of conditions, and those by the names they got."""
    asked: dict[str, tuple[Block, tuple[Scalar, ...]]] = {}
    while isinstance(source, Join) and isinstance(source.on, Call) and source.on.function == EXISTS:
        if not isinstance(source.right, Nested):
            raise AssertionError("a subquery of a condition is a relation of its own")
        asked[source.right.alias] = (source.right.block, source.on.arguments)
        source = source.left
    return source, asked


@dataclass(frozen=True, slots=True)
class _Words:
    """Writes the parts of one SELECT; `asked` are the subqueries of its conditions."""

    asked: dict[str, tuple[Block, tuple[Scalar, ...]]]

    def item(self, item: Item) -> str:
        if item.name == STAR:
            return "*"
        text = self.text(item.scalar)
        return (
            text if text.rpartition(".")[2] == identifier(item.name) else f"{text} AS {identifier(item.name)}"
        )

    def relation(self, relation: Relation) -> str:
        match relation:
            case Scan(table, alias):
                name = ".".join(map(identifier, table.split(".")))
                return name if table.rpartition(".")[2] == alias else f"{name} AS {identifier(alias)}"
            case Nested(block, alias):
                return f"({written(block)}) AS {identifier(alias)}"
            case UnionAll(blocks, alias):
                return f"({' UNION ALL '.join(map(written, blocks))}) AS {identifier(alias)}"
            case Join(left, right, on, full=True):
                return f"{self.relation(left)} {_join(on, 'FULL', self, right)}"
            case Join(left, right, on, outer):
                # What was written as a RIGHT JOIN has a join on the right.
                if isinstance(right, Join) and not isinstance(left, Join):
                    return f"{self.relation(right)} {_join(on, 'RIGHT' if outer else '', self, left)}"
                return f"{self.relation(left)} {_join(on, 'LEFT' if outer else '', self, right)}"
            case _:
                assert_never(relation)

    def groups(self, block: Block) -> str:
        terms = [self.key(term, block.items) for term in block.group]
        if block.sets is None:
            return ", ".join(terms)
        sets = (f"({', '.join(terms[place] for place in chosen)})" for chosen in block.sets)
        return f"GROUPING SETS ({', '.join(sets)})"

    def key(self, term: Scalar, items: tuple[Item, ...]) -> str:
        """Return what is grouped by: the number of its column, where it is one that is long."""
        place = next((n for n, item in enumerate(items, 1) if item.scalar == term), None)
        return self.text(term) if place is None or isinstance(term, Column) else str(place)

    def order(self, order: Order) -> str:
        words = [self.text(order.scalar), *(["DESC"] if order.descending else [])]
        return " ".join([*words, *(["NULLS FIRST"] if order.nulls_first else [])])

    def text(self, scalar: Scalar) -> str:
        match scalar:
            case Literal(value):
                return constant(value)
            case Column(relation, name):
                own = "*" if name == STAR else identifier(name)
                return own if relation is None else f"{identifier(relation)}.{own}"
            case Call():
                return self.call(scalar)
            case Case(branches, otherwise):
                return self.case(branches, otherwise)
            case Among(argument, values):
                listed = ", ".join(constant(value.value) for value in values)
                return f"({self.text(argument)} IN ({listed}))"
            case Aggregate():
                return self.aggregate(scalar)
            case _:
                assert_never(scalar)

    def case(self, branches: tuple[tuple[Scalar, Scalar], ...], otherwise: Scalar) -> str:
        found = self.met(otherwise)
        if found is not None and self.asked[found][1]:
            # NULL is neither in a list nor outside it, which IN says by itself.
            block, (argument,) = self.asked[found]
            listed = isinstance(block.source, Nested) and block.source.alias.startswith(HIDDEN)
            inner = block.source.block if listed and isinstance(block.source, Nested) else block
            return f"({self.text(argument)} IN ({written(inner)}))"
        parts = (f"WHEN {self.text(test)} THEN {self.text(value)}" for test, value in branches)
        return f"CASE {' '.join(parts)} ELSE {self.text(otherwise)} END"

    def met(self, scalar: Scalar) -> str | None:
        """Return the subquery whose rows a condition asks for."""
        match scalar:
            case Call("not", (Call("is_null", (Column(str(relation), _),)),)) if relation in self.asked:
                return relation
            case _:
                return None

    def call(self, call: Call) -> str:
        name, found = call.function, self.met(call)
        if found is not None:
            return f"EXISTS ({written(self.asked[found][0])})"
        if name == WINDOW:
            return self.window(call)
        parts = [self.text(argument) for argument in call.arguments]
        if name in ("like", "ilike") and len(parts) == 3:
            return f"({parts[0]} {name.upper()} {parts[1]} ESCAPE {parts[2]})"
        if name in _SIGNS:
            return f"({f' {_SIGNS[name]} '.join(parts)})"
        if name in _CASTS:
            return f"CAST({parts[0]} AS {_CASTS[name]})"
        match name, call.arguments:
            case "shift", (Literal(str(unit)), _, Literal(int(amount))):
                sign = "-" if amount < 0 else "+"
                return f"({parts[1]} {sign} INTERVAL {abs(amount)} {unit.upper()})"
            case "elapsed", _:
                return f"EXTRACT(EPOCH FROM {parts[1]} - {parts[0]})"
            case "at_zone", _:
                return f"({parts[0]} AT TIME ZONE {parts[1]})"
            case "instant", (Literal(datetime() as moment),):
                return f"CAST('{moment.isoformat(' ')}' AS TIMESTAMPTZ)"
            case "bin", (Literal(int(width)), _):
                return f"TIME_BUCKET(INTERVAL {width // 10**6} SECOND, {parts[1]})"
            case "part", (Literal(str(unit)), _):
                return f"EXTRACT({unit} FROM {parts[1]})"
            case (("like" | "ilike"), (_, _, _)):
                return f"({parts[0]} {name.upper()} {parts[1]} ESCAPE {parts[2]})"
            case "is_null", _:
                return f"({parts[0]} IS NULL)"
            case "not", _:
                return f"(NOT {parts[0]})"
            case "negate", _:
                return f"(-{parts[0]})"
            case _:
                return f"{_FUNCTIONS.get(name, name.upper())}({', '.join(parts)})"

    def window(self, call: Call) -> str:
        window = window_of(call)
        arguments = [self.text(argument) for argument in window.arguments]
        if window.function in ("lag", "lead") and arguments[-1] == "NULL":
            arguments.pop()
        words = []
        if window.partition:
            words.append(f"PARTITION BY {', '.join(map(self.text, window.partition))}")
        if window.order:
            words.append(f"ORDER BY {', '.join(map(self.order, window.order))}")
        usual = ("range", None, 0) if window.order else ("rows", None, None)
        if window.frame != usual:
            kind, start, end = window.frame
            words.append(f"{kind.upper()} BETWEEN {_end(start, 'PRECEDING')} AND {_end(end, 'FOLLOWING')}")
        return f"{window.function.upper()}({', '.join(arguments)}) OVER ({' '.join(words)})"

    def listed(self, found: Window) -> str:
        """Return a list of released values."""
        terms = ", ".join(f"{self.text(o.scalar)}{' DESC' if o.descending else ''}" for o in found.order)
        values = ", ".join(map(self.text, found.arguments))
        return f"STRING_AGG({values}{f' ORDER BY {terms}' if terms else ''})"

    def aggregate(self, found: Aggregate) -> str:
        if found.function == LISTED and isinstance(found.argument, Call):
            text = self.listed(window_of(found.argument))
            return text if found.where is None else f"{text} FILTER (WHERE {self.text(found.where)})"
        argument = "*" if found.argument is None else self.text(found.argument)
        rest = []
        if found.parameter is not None:
            rest.append(constant(found.parameter))
        if found.levels:
            rest.append(_listed(found.levels))
        if found.cells is not None:
            rest.append(str(found.cells) if isinstance(found.cells, int) else _listed(found.cells))
        inner = ", ".join([f"DISTINCT {argument}" if found.distinct else argument, *rest])
        text = f"{found.function.upper()}({inner})"
        if found.within is not None:
            text = f"BOUNDED_PER_GROUP({text}, {', '.join(map(constant, found.within))})"
        return text if found.where is None else f"{text} FILTER (WHERE {self.text(found.where)})"


def _join(on: Scalar, side: str, say: _Words, other: Relation) -> str:
    head = f"{side} JOIN {say.relation(other)}".strip()
    match on:
        case Call(function, names) if function == USING:
            listed = (identifier(str(name.value)) for name in names if isinstance(name, Literal))
            return f"{head} USING ({', '.join(listed)})"
        case Call(function, ()) if function == NATURAL:
            return f"NATURAL {head}"
        case _ if on == COMMA:
            return f"CROSS {head}"
        case _:
            return f"{head} ON {say.text(on)}"


def _end(count: int | None, side: str) -> str:
    if count == 0:
        return "CURRENT ROW"
    if count is None:
        return f"UNBOUNDED {side}"
    return f"{abs(count)} {'PRECEDING' if count < 0 else 'FOLLOWING'}"


def _listed(numbers: tuple[Fraction, ...]) -> str:
    return f"[{', '.join(map(constant, numbers))}]"


_SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "quotient": "//",
    "modulo": "%",
    "eq": "=",
    "ne": "<>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "AND",
    "or": "OR",
    "distinct": "IS DISTINCT FROM",
    "like": "LIKE",
    "ilike": "ILIKE",
}
_CASTS = {
    "to_whole": "BIGINT",
    "to_real": "DOUBLE",
    "to_text": "TEXT",
    "to_day": "DATE",
    "to_moment": "TIMESTAMP",
    "to_truth": "BOOLEAN",
}
_FUNCTIONS = {
    "absolute": "ABS",
    "trunc": "DATE_TRUNC",
    "difference": "DATE_DIFF",
    "interval_low": "DP_INTERVAL_LOW",
    "interval_high": "DP_INTERVAL_HIGH",
}


def identifier(name: str) -> str:
    """Return a name, quoted where it would be read as something else."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.upper() not in DuckDB.Tokenizer.KEYWORDS
    return name if plain else f'"{name}"'


def constant(value: Value) -> str:
    """Return a constant of a plan as SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value) if value >= 0 else f"(-{-value})"
        case Fraction():
            return _decimal(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case _:
            assert_never(value)


def _decimal(value: Fraction) -> str:
    """Return a number with its decimals; one that has no end is a quotient."""
    digits = next((count for count in range(13) if (value * 10**count).denominator == 1), None)
    if digits is None:
        return f"({value.numerator} / {value.denominator})"
    whole = str(abs(int(value * 10**digits))).zfill(digits + 1)
    text = f"{whole[:-digits]}.{whole[-digits:]}" if digits else f"{whole}.0"
    return text if value >= 0 else f"(-{text})"
