"""SQL text to plan, default deny.

The text is parsed by sqlglot (pinned to one exact version) and translated node by node.  A node class that
is not listed here, or an attribute of a listed class that is not expected, is refused: nothing is ignored,
because what a parser keeps and a planner ignores is where attacks live.  The analyst's text goes no
further than this module.
"""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Tokenizer

from discreet.errors import QueryError
from discreet.query.language.clauses import group_by, is_distinct, limit_of, order_by
from discreet.query.language.expression import expression
from discreet.query.language.refusal import fields, refusal
from discreet.query.name import HIDDEN, folded, same
from discreet.query.plan import Block, Column, Item, Join, Nested, Relation, Scalar, Scan, aggregates

SIZE_LIMIT = 8_192

NODE_LIMIT = 200

DEPTH_LIMIT = 24

NEST_LIMIT = 4

DIALECT = "duckdb"

Views = Mapping[str, Block]


@lru_cache(maxsize=256)  # a question is quoted, asked and asked again
def read(text: str) -> Block:
    """Return the plan of one SELECT statement, or refuse with the clause, the reason and a way out."""
    tree = _parse(text)
    _small(tree)
    return _select(tree, {}, 0)


def fragment(text: str) -> Scalar:
    """Return the scalar that one SQL expression means."""
    tree = _checked_text(text)
    _small(tree)
    return expression(tree)


def _parse(text: str) -> exp.Select:
    tree = _checked_text(text)
    if not isinstance(tree, exp.Select):
        raise QueryError(
            type(tree).__name__.upper(),
            "only SELECT can be asked",
            "write SELECT aggregates FROM table GROUP BY columns",
        )
    return tree


def _checked_text(text: str) -> exp.Expr:
    if len(text.encode("utf-8", "replace")) > SIZE_LIMIT:
        raise QueryError("the question", f"is longer than {SIZE_LIMIT} bytes", "shorten it or split it")
    if any(
        unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs") and character not in "\n\t\r"
        for character in text
    ):
        raise QueryError(
            "the question", "contains invisible or control characters", "retype it as plain text"
        )
    try:
        tokens = Tokenizer(dialect=DIALECT).tokenize(text)
        trees = parse(text, dialect=DIALECT)
    except (SqlglotError, RecursionError, ValueError, IndexError, AttributeError, KeyError):
        raise QueryError(
            "the question", "is not SQL that can be read", "write one SELECT ... FROM ... statement"
        ) from None
    if any(token.comments for token in tokens) or _commented(text):
        raise QueryError("a comment", "is not part of a question", "leave comments out")
    if len(trees) != 1 or trees[0] is None or ";" in _outside_strings(text).rstrip().rstrip(";"):
        raise QueryError(";", "one question is one statement", "ask the questions one at a time")
    tree = trees[0]
    _round_trip(tree)
    return tree


def _outside_strings(text: str) -> str:
    kept, quote = [], None
    for character in text:
        if quote is None and character in "'\"":
            quote = character
        elif character == quote:
            quote = None
        elif quote is None:
            kept.append(character)
    return "".join(kept)


def _commented(text: str) -> bool:
    outside = _outside_strings(text)
    return "--" in outside or "/*" in outside


def _round_trip(tree: exp.Expr) -> None:
    """Refuse a tree that does not survive being written and read again: two readings of it exist."""
    written = tree.sql(dialect=DIALECT)
    try:
        again = parse(written, dialect=DIALECT)
    except (SqlglotError, RecursionError, ValueError, TypeError, IndexError, AttributeError, KeyError):
        again = []
    if len(again) != 1 or again[0] is None or again[0].sql(dialect=DIALECT) != written:
        raise QueryError("the question", "can be read in more than one way", "write it more plainly")


def _small(tree: exp.Expr) -> None:
    for count, node in enumerate(tree.walk()):
        if count >= NODE_LIMIT:
            raise QueryError(
                "the question", f"has more than {NODE_LIMIT} parts", "split it into smaller questions"
            )
        if node.depth > DEPTH_LIMIT:
            raise QueryError("the question", f"is nested more than {DEPTH_LIMIT} levels deep", "flatten it")


def _select(tree: exp.Expr, views: Views, level: int) -> Block:
    if level > NEST_LIMIT:
        raise QueryError("FROM", f"nests more than {NEST_LIMIT} levels of subqueries", "flatten the question")
    if not isinstance(tree, exp.Select):
        raise refusal(tree)
    if tree.args.get("joins") and not tree.args.get("from_"):
        raise refusal(tree)
    for key, (reason, instead) in _CLAUSES.items():
        if tree.args.get(key):
            raise QueryError(_WORDS.get(key, key.upper()), reason, instead)
    parts = fields(
        tree,
        "with_",
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "distinct",
    )
    views = _with(parts.get("with_"), views, level)
    origin = parts.get("from_")
    if not isinstance(origin, exp.From):
        raise QueryError("FROM", "is missing", "name the table: SELECT COUNT(*) FROM table")
    source = _relation(fields(origin, "this")["this"], views, level)
    for join in parts.get("joins") or ():
        source = _join(source, join, views, level)
    items = _items(parts["expressions"], level)
    group, sets = group_by(parts.get("group"), items)
    where = parts.get("where")
    having = parts.get("having")
    block = Block(
        source=source,
        items=items,
        where=None if where is None else expression(fields(where, "this")["this"]),
        group=group,
        having=None if having is None else expression(fields(having, "this")["this"]),
        order=order_by(parts.get("order"), items),
        limit=limit_of(parts.get("limit")),
        distinct=is_distinct(parts.get("distinct")),
        sets=sets,
    )
    if block.where is not None and aggregates(block.where):
        raise QueryError(
            "WHERE", "cannot contain an aggregate", "use HAVING, or a subquery that groups by the person"
        )
    return block


_CLAUSES = {
    "qualify": ("ranks people against each other", "filter with WHERE or HAVING"),
    "windows": (
        "window functions let one row see other people's rows",
        "use GROUP BY, or a subquery grouped by the person",
    ),
    "sample": (
        "sampling inside a question is not supported",
        "ask about all rows; the noise is small on large data",
    ),
    "offset": ("skipping rows is not supported", "use LIMIT, or pick rows from the released table"),
    "hint": ("hints are not part of a question", "leave them out"),
    "into": ("a question cannot write", "save the answer where you asked for it"),
    "locks": ("a question cannot lock", "leave it out"),
    "laterals": ("lateral joins are not supported", "join on the person's column"),
    "pivots": ("pivots are not supported", "use GROUP BY with several columns"),
    "match": ("pattern matching over rows is not supported", "use a subquery grouped by the person"),
    "connect": ("recursive questions are not supported", "use joins"),
    "prewhere": ("is not supported", "use WHERE"),
    "cluster": ("is not supported", "leave it out"),
    "distribute": ("is not supported", "leave it out"),
    "sort": ("is not supported", "use ORDER BY"),
    "settings": ("a question cannot change settings", "leave it out"),
    "format": ("a question cannot choose a format", "convert the answer afterwards"),
    "options": ("a question cannot set options", "leave them out"),
    "kind": ("SELECT AS is not supported", "list the columns"),
    "operation_modifiers": ("is not supported", "leave it out"),
    "exclude": ("is not supported", "list the columns you want"),
}

_WORDS = {
    "windows": "WINDOW",
    "sample": "SAMPLE",
    "locks": "FOR UPDATE",
    "laterals": "LATERAL",
    "pivots": "PIVOT",
}


def _with(clause: exp.Expr | None, views: Views, level: int) -> Views:
    if clause is None:
        return views
    if clause.args.get("recursive"):
        raise QueryError("WITH RECURSIVE", "recursion has no bound known in advance", "use plain WITH")
    known = dict(views)
    for view in fields(clause, "expressions")["expressions"]:
        parts = fields(view, "this", "alias")
        name = _alias(parts["alias"])
        if folded(name) in known:
            raise QueryError(f"WITH {name}", "is defined twice", "give each part its own name")
        known[folded(name)] = _select(parts["this"], known, level + 1)
    return known


def _relation(node: exp.Expr, views: Views, level: int) -> Relation:
    match node:
        case exp.Table():
            if node.args.get("sample"):
                raise QueryError("TABLESAMPLE", *_CLAUSES["sample"])
            if node.args.get("joins") or not isinstance(node.this, exp.Identifier):
                raise QueryError(
                    "FROM", "table functions and nested joins are not supported", "name a declared table"
                )
            if node.args.get("db") or node.args.get("catalog"):
                raise QueryError("FROM", "tables have plain names without a schema", "name a declared table")
            parts = fields(node, "this", "alias")
            name = name_of(parts["this"])
            alias = name if parts.get("alias") is None else _alias(parts["alias"])
            if folded(name) in views:
                return Nested(views[folded(name)], alias, name)
            return Scan(name, alias)
        case exp.Subquery():
            parts = fields(node, "this", "alias")
            if not isinstance(parts["this"], exp.Select):
                raise refusal(parts["this"])
            alias = "subquery" if parts.get("alias") is None else _alias(parts["alias"])
            return Nested(_select(parts["this"], views, level + 1), alias)
        case _:
            raise refusal(node)


def _join(left: Relation, node: exp.Expr, views: Views, level: int) -> Relation:
    parts = fields(node, "this", "side", "kind", "on", "using", "method")
    side, kind, method = (str(parts.get(key) or "").upper() for key in ("side", "kind", "method"))
    words = " ".join(word for word in (method, side, kind, "JOIN") if word)
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER") or method:
        raise QueryError(
            words,
            "only JOIN and LEFT JOIN keep every row with one person",
            "put the private table on the left",
        )
    right = _relation(parts["this"], views, level)
    if parts.get("using"):
        on: list[Scalar] = [_equal(left, right, name_of(name)) for name in parts["using"]]
        condition = on[0]
        for part in on[1:]:
            condition = _and(condition, part)
    elif parts.get("on") is not None:
        condition = expression(parts["on"])
    else:
        raise QueryError(
            words, "joins every row with every other", "say ON a.person = b.person, or USING (person)"
        )
    return Join(left, right, condition, outer=side == "LEFT")


def _equal(left: Relation, right: Relation, name: str) -> Scalar:
    from discreet.query.plan import Call

    return Call("eq", (Column(_first(left), name), Column(_first(right), name)))


def _first(relation: Relation) -> str:
    return _first(relation.left) if isinstance(relation, Join) else relation.alias


def _and(one: Scalar, other: Scalar) -> Scalar:
    from discreet.query.plan import Call

    return Call("and", (one, other))


def _items(nodes: list[exp.Expr], level: int) -> tuple[Item, ...]:
    """Return the output columns; those of the answer get names of their own where they would have one."""
    if len(nodes) == 1 and isinstance(nodes[0], exp.Star):
        fields(nodes[0])
        return ()
    items: list[Item] = []
    for node in nodes:
        match node:
            case exp.Alias():
                parts = fields(node, "this", "alias")
                name, inner = name_of(parts["alias"]), parts["this"]
            case exp.Column():
                name, inner = name_of(node.this), node
            case exp.Star():
                raise QueryError("*", "a private row cannot be released", "list aggregates such as COUNT(*)")
            case _:
                name, inner = _default_name(node), node
        free = name if level else _free(name, [item.name for item in items])
        items.append(Item(free, expression(inner)))
    return tuple(items)


def _default_name(node: exp.Expr) -> str:
    text = node.sql(dialect=DIALECT, normalize_functions="lower").lower()
    return text if len(text) <= 60 else text[:57] + "..."


def _free(name: str, taken: list[str]) -> str:
    candidate, count = name, 1
    while any(same(candidate, other) for other in taken):
        count += 1
        candidate = f"{name}_{count}"
    return candidate


def _alias(node: exp.Expr) -> str:
    return name_of(fields(node, "this")["this"])


def name_of(node: exp.Expr) -> str:
    """Return an identifier's text, refusing what could be mistaken for another name."""
    if not isinstance(node, exp.Identifier):
        raise refusal(node)
    name = str(fields(node, "this", "quoted")["this"])
    if unicodedata.normalize("NFKC", name) != name or not name.isprintable() or not name:
        raise QueryError("a name", "contains characters that look like others", "use the declared spelling")
    if name.startswith(HIDDEN):
        raise QueryError(name, "names beginning with two underscores are reserved", "choose another name")
    return name
