"""SQL text to plan, default deny.

The text is parsed by sqlglot (pinned to one exact version) and translated node by node.  A node class that
is not listed here, or an attribute of a listed class that is not expected, is refused: nothing is ignored,
because what a parser keeps and a planner ignores is where attacks live.  The analyst's text goes no
further than this module.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.beside import Beside
from discreet.query.language.clauses import group_by, is_distinct, limit_of, offset_of, order_by
from discreet.query.language.clock import asks_the_clock, dated, this_minute
from discreet.query.language.dialect import Manner, manner_of
from discreet.query.language.expression import expression
from discreet.query.language.inside import Inside
from discreet.query.language.item import name_of, read_items, with_name
from discreet.query.language.keys import without_keys
from discreet.query.language.named import unreserved
from discreet.query.language.operation import combined
from discreet.query.language.parameter import Parameters, bind
from discreet.query.language.parted import without_parts
from discreet.query.language.picked import from_groups
from discreet.query.language.pivot import written_out
from discreet.query.language.refusal import CLAUSE_WORDS, CLAUSES, fields, refusal
from discreet.query.language.semi import without_semi
from discreet.query.language.text import Written, parsed
from discreet.query.language.tied import untied
from discreet.query.language.top import without_top
from discreet.query.language.tree import every
from discreet.query.language.unreadable import reading
from discreet.query.name import folded
from discreet.query.plan import (
    COMMA,
    NATURAL,
    STAR,
    USING,
    Block,
    Call,
    Column,
    Item,
    Join,
    Literal,
    Nested,
    Relation,
    Scalar,
    Scan,
    UnionAll,
    aggregates,
    given,
    rebuilt,
)

NODE_LIMIT = 200

LISTED_LIMIT = 2_000
"""Columns that GROUPING SETS lists, and the lists, are counted apart: all pairs of 28 columns have 1,890."""

DEPTH_LIMIT = 24

NEST_LIMIT = 4

SYSTEM = frozenset(
    ("information_schema", "pg_catalog", "sys", "mysql", "performance_schema", "duckdb", "temp")
)
"""Schemas in which engines keep what they know about themselves."""

Views = Mapping[str, Block]


@reading()
def read(
    text: str,
    parameters: Parameters = (),
    views: tuple[tuple[str, str], ...] = (),
    dialect: str | None = None,
) -> Block:
    """Return the plan of one SELECT statement, or refuse with the clause, the reason and a way out.

    `parameters` are the values of `?` by position, or of `:name` and `$name` by name; `views` are the texts
    of subqueries that the curator has given names, each of which may use those before it.  CURRENT_DATE and
    NOW() are read in UTC: tomorrow the same words are another question.  `dialect` is how the text is
    written, unless in the standard way; views are.
    """
    return _read(text, parameters, views, this_minute() if asks_the_clock(text) else None, manner_of(dialect))


@lru_cache(maxsize=256)  # a question is quoted, asked and asked again
def _read(
    text: str,
    parameters: Parameters,
    views: tuple[tuple[str, str], ...],
    now: datetime | None,
    manner: Manner | None,
) -> Block:
    written = _tree(text, manner)
    tree = dated(bind(written.tree, parameters), now)
    block = _question(tree, _declared(views, tree))
    return replace(block, privacy=written.privacy or ())


def _tree(text: str, manner: Manner | None = None) -> Written:
    written = parsed(text, manner)
    _small(written.tree)
    _prefixed(written.tree)
    return written


def _question(tree: exp.Expr, views: Views) -> Block:
    """Return the plan of a whole question: one SELECT, or answers under each other."""
    if not isinstance(tree, exp.SetOperation):
        return _select(_only_select(tree), views, 0)
    clauses = {key: tree.args.get(key) for key in ("order", "limit", "offset")}
    for key in clauses:
        tree.set(key, None)
    block = _rows(tree, views, 0)
    first = _first(block)
    names = tuple(Item(item.name, Column(None, item.name)) for item in first.items)
    return replace(
        block,
        order=order_by(clauses["order"], names),
        limit=limit_of(clauses["limit"]),
        offset=offset_of(clauses["offset"]),
    )


def _first(block: Block) -> Block:
    """Return the block whose names the columns of a union have."""
    match block.source:
        case UnionAll((first, *_)) if not block.items:
            return _first(first)
        case Nested(inner) if block.items == (Item(STAR, Column(None, STAR)),):
            return _first(inner)
    return block


def _only_select(tree: exp.Expr) -> exp.Select:
    if not isinstance(tree, exp.Select):
        raise QueryError(
            "the question",
            "only SELECT can be asked",
            "write SELECT aggregates FROM table GROUP BY columns",
        )
    return tree


def _declared(views: tuple[tuple[str, str], ...], tree: exp.Expr) -> Views:
    """Return the declared views that a question uses, those first that others use."""
    if not views:
        return {}
    used = {folded(table.name) for table in every(tree, exp.Table)}
    needed: list[tuple[str, exp.Expr]] = []
    for name, text in reversed(views):
        if folded(name) in used:
            inner = _unpriced(_tree(text))
            used |= {folded(table.name) for table in every(inner, exp.Table)}
            needed.insert(0, (name, inner))
    known: dict[str, Block] = {}
    for name, inner in needed:
        try:
            known[folded(name)] = _select(_only_select(inner), known, 1)
        except QueryError as refused:
            raise QueryError(f"the view {name}, {refused.clause}", refused.reason, refused.instead) from None
    return known


def _unpriced(written: Written) -> exp.Expr:
    if written.privacy is not None:
        raise QueryError(
            "WITH DIFFERENTIAL_PRIVACY", "belongs to a whole question", "say it in the outermost SELECT"
        )
    return written.tree


@reading()
def fragment(text: str) -> Scalar:
    """Return the scalar that one SQL expression means."""
    return expression(_unpriced(_tree(text)))


def _small(tree: exp.Expr) -> None:
    labels = {folded(item.alias) for item in tree.expressions if isinstance(item, exp.Alias)}
    sets = every(tree, exp.GroupingSets)
    listed = {id(part) for one in sets for part in every(one, exp.Tuple, exp.Column, exp.Identifier)}
    if len(listed) > LISTED_LIMIT:
        raise QueryError("GROUPING SETS", f"has more than {LISTED_LIMIT} parts", "list fewer sets")
    others = 0
    for node in every(tree, exp.Expr):
        if isinstance(node, exp.Identifier) and not _labels(node, tree, labels):
            unreserved(str(node.this))
        others += id(node) not in listed
        if others > NODE_LIMIT:
            raise QueryError(
                "the question", f"has more than {NODE_LIMIT} parts", "split it into smaller questions"
            )
        if node.depth > DEPTH_LIMIT:
            raise QueryError("the question", f"is nested more than {DEPTH_LIMIT} levels deep", "flatten it")


def _labels(node: exp.Expr, tree: exp.Expr, labels: set[str]) -> bool:
    """Whether a name is that of a column of the answer, which no statement has: tools write __timestamp."""
    named = node.parent
    if isinstance(named, exp.Alias):
        return node.arg_key == "alias" and named.parent is tree
    bare = isinstance(named, exp.Column) and node.arg_key == "this" and not named.table
    return bare and folded(str(node.this)) in labels


def _prefixed(tree: exp.Expr) -> None:
    """Refuse a column whose prefix is that of no table, and one table under two prefixes."""
    paths: dict[str, tuple[str, ...]] = {}
    for node in every(tree, exp.Table):
        path = tuple(folded(node.text(key)) for key in ("catalog", "db") if node.args.get(key))
        known = paths.setdefault(folded(node.name), path)
        shorter, longer = sorted((known, path), key=len)
        if longer[len(longer) - len(shorter) :] != shorter:
            raise QueryError(
                f"FROM {node.name}", "is named under two schemas", "tables here are known by their own names"
            )
        paths[folded(node.name)] = longer
    for column in every(tree, exp.Column):
        path = tuple(folded(column.text(key)) for key in ("catalog", "db") if column.args.get(key))
        if path and paths.get(folded(column.table), ())[-len(path) :] != path:
            raise QueryError(
                f"{column.text('db')}.{column.table}.{column.name}",
                "is a column of a table that FROM does not name",
                f"write {column.table}.{column.name}",
            )


def _rows(tree: exp.Expr, views: Views, level: int) -> Block:
    """Return the rows of a subquery: those of one SELECT, or of several."""
    if not isinstance(tree, exp.SetOperation):
        return _select(tree, views, level)
    known = _with(tree.args.get("with_"), views, level)
    return combined(tree, known, lambda part, views: _rows(part, views, level))


def _select(tree: exp.Expr, views: Views, level: int) -> Block:
    if level > NEST_LIMIT:
        raise QueryError("FROM", f"nests more than {NEST_LIMIT} levels of subqueries", "flatten the question")
    if not isinstance(tree, exp.Select):
        raise refusal(tree)
    if tree.args.get("joins") and not tree.args.get("from_"):
        raise refusal(tree)
    tree = without_keys(tree if level else without_parts(without_top(tree)))
    tree.set("expressions", [with_name(node) for node in tree.expressions])
    tree = untied(without_semi(tree))
    for key, (reason, instead) in CLAUSES.items():
        if tree.args.get(key):
            raise QueryError(CLAUSE_WORDS.get(key, key.upper().replace("_", " ")), reason, instead)
    parts = fields(
        tree,
        "with_",
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "qualify",
        "order",
        "limit",
        "offset",
        "distinct",
    )
    views = _with(parts.get("with_"), views, level)
    inside = Inside(lambda inner: _select(inner, views, level + 1))
    beside = Beside(lambda inner: _select(inner, views, level + 1))
    where = beside.taken_out(inside.taken_out(parts.get("where")))
    in_rows = beside.source(None) is not None
    nodes = [given(inside.taken_out(node)) for node in parts.get("expressions", ())]
    items = read_items([given(beside.taken_out(node)) for node in nodes], level)
    source = _from(parts.get("from_"), parts.get("joins") or (), views, level) or beside.source(None)
    if source is None:
        raise QueryError("FROM", "is missing", "name the table: SELECT COUNT(*) FROM table")
    alone = parts.get("from_") is None
    source = inside.joined(source)
    if in_rows and not alone:
        source = given(beside.source(source))
    if not items and level and is_distinct(parts.get("distinct")):
        items = (Item(STAR, Column(None, STAR)),)
    group, sets = group_by(parts.get("group"), items)
    having, qualify = (beside.taken_out(parts.get(key)) for key in ("having", "qualify"))
    order = beside.taken_out(parts.get("order"))
    block = Block(
        source=source,
        items=items,
        where=None if where is None else expression(fields(where, "this")["this"]),
        group=group,
        having=None if having is None else expression(fields(having, "this")["this"]),
        qualify=None if qualify is None else expression(fields(qualify, "this")["this"]),
        order=order_by(order, items),
        limit=limit_of(parts.get("limit")),
        offset=offset_of(parts.get("offset")),
        distinct=is_distinct(parts.get("distinct")),
        sets=sets,
    )
    if block.where is not None and aggregates(block.where):
        raise QueryError(
            "WHERE", "cannot contain an aggregate", "use HAVING, or a subquery that groups by the person"
        )
    block = from_groups(block, level)
    return block if alone or in_rows else beside.around(block)


def _from(origin: object, joins: Sequence[exp.Expr], views: Views, level: int) -> Relation | None:
    """Return the rows of FROM; a SELECT of values alone has none."""
    if not isinstance(origin, exp.From):
        return None
    source = _relation(fields(origin, "this")["this"], views, level)
    for join in joins:
        source = _join(source, join, views, level)
    return source


def _with(clause: exp.Expr | None, views: Views, level: int) -> Views:
    if clause is None:
        return views
    if clause.args.get("recursive"):
        raise QueryError("WITH RECURSIVE", "recursion has no bound known in advance", "use plain WITH")
    known = dict(views)
    for view in fields(clause, "expressions")["expressions"]:
        # Whether an engine keeps such a part changes no answer.
        parts = fields(view, "this", "alias", "materialized")
        name, columns = _alias_with_columns(parts["alias"])
        if folded(name) in known:
            raise QueryError(f"WITH {name}", "is defined twice", "give each part its own name")
        known[folded(name)] = _called(_rows(parts["this"], known, level + 1), name, columns)
    return known


def _relation(node: exp.Expr, views: Views, level: int) -> Relation:
    match node := written_out(node):
        case exp.Table():
            if node.args.get("sample"):
                raise QueryError("TABLESAMPLE", *CLAUSES["sample"])
            if not isinstance(node.this, exp.Identifier) and "ESTIMATE_REMAINING" in node.sql().upper():
                raise QueryError(
                    "ESTIMATE_REMAINING_DP_AGGREGATES",
                    "is about the budget, not about rows",
                    "look at data.budget, and at data.quote(question, epsilon=...), which is free",
                )
            if node.args.get("joins") or not isinstance(node.this, exp.Identifier):
                raise QueryError(
                    "FROM", "table functions and nested joins are not supported", "name a declared table"
                )
            parts = fields(node, "this", "alias", "db", "catalog")
            path = [name_of(parts[key]) for key in ("catalog", "db", "this") if parts.get(key) is not None]
            if any(folded(part) in SYSTEM for part in path[:-1]):
                raise QueryError(
                    f"FROM {'.'.join(path)}", "the schema is the engine's own", "name a declared table"
                )
            alias = path[-1] if parts.get("alias") is None else _alias(parts["alias"])
            if len(path) == 1 and folded(path[0]) in views:
                return Nested(views[folded(path[0])], alias, path[0])
            return Scan(".".join(path), alias)
        case exp.Subquery():
            parts = fields(node, "this", "alias")
            alias, columns = (
                ("subquery", ()) if not parts.get("alias") else _alias_with_columns(parts["alias"])
            )
            return Nested(_called(_rows(parts["this"], views, level + 1), alias, columns), alias)
        case _:
            raise refusal(node)


def _join(left: Relation, node: exp.Expr, views: Views, level: int) -> Relation:
    parts = fields(node, "this", "side", "kind", "on", "using", "method")
    side, kind, method = (str(parts.get(key) or "").upper() for key in ("side", "kind", "method"))
    words = " ".join(word for word in (method, side, kind, "JOIN") if word)
    if kind not in ("", "INNER", "OUTER", "CROSS") or method not in ("", "NATURAL"):
        raise QueryError(
            words,
            "only JOIN, LEFT, RIGHT and FULL JOIN keep every row with one person",
            "write LEFT JOIN with the private table on the left",
        )
    right = _relation(parts["this"], views, level)
    if parts.get("using"):
        on: Scalar = Call(USING, tuple(Literal(name_of(name)) for name in parts["using"]))
    elif method == "NATURAL":
        on = Call(NATURAL, ())
    elif parts.get("on") is not None:
        on = expression(parts["on"])
    elif side:
        raise QueryError(words, "has no condition", "say ON a.person = b.person, or USING (person)")
    else:
        on = COMMA
    if side == "RIGHT":
        return Join(right, left, on, outer=True)
    return Join(left, right, on, outer=side in ("LEFT", "FULL"), full=side == "FULL")


def _alias(node: exp.Expr) -> str:
    return name_of(fields(node, "this")["this"])


def _alias_with_columns(node: exp.Expr) -> tuple[str, tuple[str, ...]]:
    """Return the name of a subquery, and those of its columns where they are listed: t (a, b)."""
    parts = fields(node, "this", "columns")
    return name_of(parts["this"]), tuple(map(name_of, parts.get("columns", ())))


def _called(block: Block, name: str, columns: tuple[str, ...]) -> Block:
    """Return a subquery whose columns have other names; those of a union have the names of its first part."""
    if not columns:
        return block
    if isinstance(block.source, UnionAll) and not block.items:
        first, *others = block.source.blocks
        blocks = (_called(first, name, columns), *others)
        return replace(block, source=replace(block.source, blocks=blocks))
    if len(columns) != len(block.items):
        raise QueryError(
            f"{name} ({', '.join(columns)})",
            "lists other columns than the subquery selects",
            "list one name for each selected column, and write them out instead of *",
        )
    renamed = tuple(Item(own, item.scalar) for own, item in zip(columns, block.items, strict=True))
    # What the clauses of the subquery call its columns stays as it is.
    meant = {folded(item.name): item.scalar for item in block.items}
    order = tuple(replace(o, scalar=_unaliased(o.scalar, meant)) for o in block.order)
    having = None if block.having is None else _unaliased(block.having, meant)
    return replace(block, items=renamed, order=order, having=having)


def _unaliased(scalar: Scalar, meant: Mapping[str, Scalar]) -> Scalar:
    def own(part: Scalar) -> Scalar | None:
        named = isinstance(part, Column) and part.relation is None
        found = meant.get(folded(part.name)) if named and isinstance(part, Column) else None
        return found if found is not None and aggregates(found) else None

    return rebuilt(scalar, own)
