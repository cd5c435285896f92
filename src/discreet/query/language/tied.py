"""Subqueries that are tied to the row they stand beside: LATERAL, a value per row, DISTINCT ON.

`(SELECT MAX(e.day) FROM e WHERE e.person = p.person)` is a join with `(SELECT e.person, MAX(e.day) FROM e
GROUP BY e.person)`: what its condition equates with columns outside is what it is grouped by, and what it is
joined on.  Whether the join keeps every row with one person is checked like that of any other join.
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.place import place_of
from discreet.query.language.refusal import fields
from discreet.query.language.tree import every

KEY, VALUE, ROWS = "tied_key", "tied_value", "tied_rows"

_COUNTS = (exp.Count, exp.CountIf, exp.ApproxDistinct)
"""Aggregates that are 0 where there is no row; all others are NULL there."""

_STRICT = (
    exp.Alias,
    exp.Paren,
    exp.Neg,
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.Cast,
    exp.Round,
    exp.DateDiff,
)
"""What is NULL as soon as something in it is."""


def untied(select: exp.Select) -> exp.Select:
    """Return a selection, changed in place, with joins for the subqueries that are tied to its rows."""
    _first_rows(select)
    for join in select.args.get("joins") or ():
        if isinstance(join.this, exp.Lateral):
            _lateral(join)
    _values(select)
    return select


def _first_rows(select: exp.Select) -> None:
    """Say DISTINCT ON (a) ... ORDER BY a, b as the row of each a that comes first."""
    distinct = select.args.get("distinct")
    if not isinstance(distinct, exp.Distinct) or not isinstance(distinct.args.get("on"), exp.Tuple):
        return
    if select.args.get("qualify") or distinct.args.get("expressions"):
        raise QueryError("DISTINCT ON", "stands beside QUALIFY", "write the first row in QUALIFY as well")
    keys = distinct.args["on"].expressions
    order = select.args.get("order")
    terms = [] if order is None else list(order.expressions)
    head, rest = terms[: len(keys)], terms[len(keys) :]
    if len(head) < len(keys) or {term.this.sql() for term in head} != {key.sql() for key in keys} or not rest:
        raise QueryError(
            "DISTINCT ON",
            "keeps any row unless ORDER BY says which",
            "order by its columns first: DISTINCT ON (person) ... ORDER BY person, day",
        )
    number = _row_number(keys, exp.Order(expressions=[term.copy() for term in rest]))
    select.set("qualify", exp.Qualify(this=exp.EQ(this=number, expression=exp.Literal.number(1))))
    select.set("distinct", None)
    if select.parent is not None:
        select.set("order", None)


def _lateral(join: exp.Expr) -> None:
    parts = fields(join.this, "this", "alias")
    inner = parts["this"]
    if (
        not isinstance(inner, exp.Subquery)
        or not isinstance(inner.this, exp.Select)
        or not parts.get("alias")
    ):
        raise QueryError("LATERAL", "needs a subquery with a name", "write LATERAL (SELECT ...) AS x")
    on = join.args.get("on")
    if on is not None and not (isinstance(on, exp.Boolean) and on.this):
        raise QueryError("LATERAL", "is tied by its own condition", "write ON TRUE")
    chosen, ties = _ties(inner.this)
    if not ties:
        raise QueryError(
            "LATERAL", "is not tied to the rows before it", "equate their columns: WHERE e.person = p.person"
        )
    name = str(parts["alias"].this.this)
    _keep_first(chosen, ties)
    if _grouped(chosen) and not chosen.args.get("group"):
        # It has a row for everybody, also for those who have none inside.
        if any(node.find(*_COUNTS) for node in chosen.expressions):
            raise QueryError(
                "COUNT in LATERAL",
                "is 0 for those whom nothing inside belongs to",
                "count in SELECT or WHERE: (SELECT COUNT(*) FROM e WHERE e.person = p.person)",
            )
        if chosen.args.get("having") or not all(map(_is_null_of_nothing, chosen.expressions)):
            raise QueryError(
                "LATERAL",
                "makes something of nothing for those whom no row inside belongs to",
                "select aggregates, and compute with them or filter outside: COALESCE(x.total, 0)",
            )
        join.set("side", "LEFT")
    join.set("this", exp.Subquery(this=chosen, alias=parts["alias"].copy()))
    join.set("on", _equations(chosen, ties, name))
    if str(join.args.get("kind") or "").upper() == "CROSS":
        join.set("kind", None)


def _values(select: exp.Select) -> None:
    """Replace values that are tied to a row by columns of joined subqueries."""
    clauses = [*select.expressions, *(select.args[k] for k in ("where", "having") if select.args.get(k))]
    found = [node for clause in clauses for node in every(clause, exp.Subquery) if _stands_in(node, select)]
    for node in found:
        if not isinstance(node.this, exp.Select) or not _outer(node.this):
            continue
        try:
            mark, join = _joined(node, f"{ROWS}{len(select.args.get('joins') or ())}")
        except QueryError as refused:
            raise refused.at(place_of(node)) from None
        node.replace(mark)
        select.append("joins", join)


def _joined(node: exp.Expr, name: str) -> tuple[exp.Expr, exp.Expr]:
    """Return the column that a value is, and the join that has it."""
    chosen, ties = _ties(fields(node, "this")["this"])
    clauses = [clause for clause in ("group", "having", "limit") if chosen.args.get(clause)]
    if len(chosen.expressions) != 1 or clauses:
        raise QueryError(
            "a subquery for a value",
            "has one column, without GROUP BY, HAVING or LIMIT, where it is tied to a row",
            "select one aggregate: (SELECT MAX(e.day) FROM e WHERE e.person = p.person)",
        )
    (only,) = chosen.expressions
    value = exp.Paren(this=(only.this if isinstance(only, exp.Alias) else only).copy())
    totals = list(_totals(value))
    chosen.set("expressions", [exp.alias_(one.copy(), f"{VALUE}{n}") for n, one in enumerate(totals)])
    # Whoever has no row there has no row to compute with either, so that is done outside.
    for number, total in enumerate(totals):
        column: exp.Expr = exp.column(f"{VALUE}{number}", name)
        if isinstance(total.this if isinstance(total, exp.Filter) else total, _COUNTS):
            column = exp.Coalesce(this=column, expressions=[exp.Literal.number(0)])
        total.replace(column)
    others = [one for one in every(value, exp.Column) if one.text("table") != name]
    if not totals or others or value.find(exp.Query, exp.Window):
        raise QueryError(
            "a subquery for a value",
            "may have many rows for one",
            "select one aggregate alone, and compute with it outside",
        )
    on = _equations(chosen, ties, name)
    join = exp.Join(side="LEFT", this=exp.Subquery(this=chosen, alias=_named(name)), on=on)
    return value, join


def _totals(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the aggregates that a value is made of."""
    if isinstance(node, exp.Filter | exp.WithinGroup | exp.AggFunc):
        yield node
    else:
        for part in list(node.iter_expressions()):
            yield from _totals(part)


def _is_null_of_nothing(node: exp.Expr) -> bool:
    """Whether what is made of aggregates is NULL where there is no row."""
    if isinstance(node, exp.Filter | exp.WithinGroup | exp.AggFunc):
        return True
    return isinstance(node, _STRICT) and any(map(_is_null_of_nothing, node.iter_expressions()))


def _equations(chosen: exp.Select, ties: Sequence[tuple[exp.Expr, exp.Expr]], name: str) -> exp.Expr:
    """Return the condition of the join, with a column for each tie; groups are made by them."""
    starred = any(isinstance(node, exp.Star) for node in chosen.expressions)
    pairs = []
    for number, (inner, outer) in enumerate(ties):
        own = inner.name if starred and isinstance(inner, exp.Column) else f"{KEY}{number}"
        if not (starred and isinstance(inner, exp.Column)):
            chosen.append("expressions", exp.alias_(inner.copy(), own))
        pairs.append(exp.EQ(this=outer.copy(), expression=exp.column(own, name)))
    if _grouped(chosen):
        group = chosen.args.get("group") or exp.Group(expressions=[])
        for inner, _ in ties:
            group.append("expressions", inner.copy())
        chosen.set("group", group)
    return exp.and_(*pairs, copy=False)


def _grouped(chosen: exp.Select) -> bool:
    """Whether a subquery makes groups of its rows."""
    counted = any(node.find(exp.AggFunc) for node in chosen.expressions)
    return bool(chosen.args.get("group") or counted) and chosen.args.get("qualify") is None


def _keep_first(chosen: exp.Select, ties: Sequence[tuple[exp.Expr, exp.Expr]]) -> None:
    """Say ORDER BY ... LIMIT n beside a row as the first n of the rows that it meets."""
    order, limit = chosen.args.get("order"), chosen.args.get("limit")
    if limit is None:
        chosen.set("order", None)
        return
    if order is None:
        raise QueryError(
            "LIMIT in LATERAL", "keeps any row unless ORDER BY says which", "add ORDER BY day DESC"
        )
    number = _row_number([inner for inner, _ in ties], order)
    last = fields(limit, "expression")["expression"].copy()
    chosen.set("qualify", exp.Qualify(this=exp.LTE(this=number, expression=last)))
    chosen.set("order", None)
    chosen.set("limit", None)


def _row_number(keys: Sequence[exp.Expr], order: exp.Expr) -> exp.Expr:
    """Return the place of a row among those that have the same keys."""
    partition = [key.copy() for key in keys]
    return exp.Window(this=exp.RowNumber(), partition_by=partition, order=order.copy(), over="OVER")


def _named(name: str) -> exp.Expr:
    return exp.TableAlias(this=exp.to_identifier(name))


def _ties(select: exp.Select) -> tuple[exp.Select, list[tuple[exp.Expr, exp.Expr]]]:
    """Return a subquery without what ties it to the rows outside, and the pairs that are equal."""
    chosen, names = select.copy(), _own(select)
    kept: list[exp.Expr] = []
    pairs: list[tuple[exp.Expr, exp.Expr]] = []
    for part in _conditions(chosen.args.get("where")):
        if all(_is_own(column, names) for column in every(part, exp.Column)):
            kept.append(part)
            continue
        sides = (part.this, part.expression) if isinstance(part, exp.EQ) else ()
        inner = [side for side in sides if all(_is_own(c, names) for c in every(side, exp.Column))]
        outer = [side for side in sides if not any(_is_own(c, names) for c in every(side, exp.Column))]
        if len(inner) != 1 or len(outer) != 1:
            raise QueryError(
                "a subquery",
                "is tied to the rows outside by something other than equal columns",
                "write inner.x = outer.y, joined by AND",
            ).at(place_of(part))
        pairs.append((inner[0], outer[0]))
    chosen.set("where", exp.Where(this=exp.and_(*kept, copy=False)) if kept else None)
    return chosen, pairs


def _conditions(where: exp.Expr | None) -> list[exp.Expr]:
    if where is None:
        return []
    return list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]


def _own(select: exp.Select) -> frozenset[str]:
    sources = [select.args.get("from_"), *(select.args.get("joins") or ())]
    return frozenset(source.this.alias_or_name.lower() for source in sources if source is not None)


def _is_own(column: exp.Expr, names: frozenset[str]) -> bool:
    return not column.text("table") or column.text("table").lower() in names


def _outer(select: exp.Select) -> bool:
    """Whether a subquery's condition names a column of what is outside."""
    where, names = select.args.get("where"), _own(select)
    return where is not None and any(not _is_own(c, names) for c in every(where, exp.Column))


def _stands_in(node: exp.Expr, select: exp.Select) -> bool:
    """Whether a subquery stands for a value in this very selection."""
    above = node.parent
    while above is not None and above is not select:
        if isinstance(above, exp.Query | exp.Exists) or (
            isinstance(above, exp.In) and above.args.get("query")
        ):
            return False
        above = above.parent
    return True
