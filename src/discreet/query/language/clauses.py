"""The clauses around a selection: GROUP BY with its sets, ORDER BY, LIMIT and DISTINCT."""

from collections.abc import Callable
from itertools import combinations, product
from math import prod

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.expression import expression
from discreet.query.language.parameter import given
from discreet.query.language.refusal import fields, refusal
from discreet.query.name import same
from discreet.query.plan import Aggregate, Call, Column, Item, Literal, Order, Scalar, aggregates, walk

CUBE_LIMIT = 10

SET_LIMIT = 1_024

SUBTOTALS = "GROUP BY with subtotals"


def group_by(
    clause: exp.Expr | None, items: tuple[Item, ...]
) -> tuple[tuple[Scalar, ...], tuple[tuple[int, ...], ...] | None]:
    """Return the terms grouped by and, if there are several, the sets of them by position."""
    if clause is None:
        return (), None
    if clause.args.get("all") and not clause.args.get("expressions"):
        fields(clause, "all")
        keys = (item.scalar for item in items if not aggregates(item.scalar))
        return tuple(dict.fromkeys(key for key in keys if not isinstance(key, Literal))), None
    terms: list[Scalar] = []

    several = any(node.find(exp.Rollup, exp.Cube, exp.GroupingSets) for node in _entries(clause))

    def place(node: exp.Expr) -> int:
        term = _reference(node, items, SUBTOTALS if several else "GROUP BY")
        if term not in terms:
            terms.append(term)
        return terms.index(term)

    # Several entries multiply: every set of one is joined with every set of the next.
    alternatives = [_sets(node, place) for node in _entries(clause)]
    if all(len(sets) == 1 for sets in alternatives):
        return tuple(terms), None
    count = prod(len(sets) for sets in alternatives)
    if count > SET_LIMIT:
        raise QueryError(
            "GROUP BY",
            f"asks for {count} sets of columns",
            f"list at most {SET_LIMIT} in GROUPING SETS (...)",
        )
    joined = (tuple(sorted({p for chosen in pick for p in chosen})) for pick in product(*alternatives))
    return tuple(terms), tuple(dict.fromkeys(joined))


def _entries(clause: exp.Expr) -> list[exp.Expr]:
    """Return the entries of GROUP BY; a, b WITH ROLLUP is ROLLUP (a, b)."""
    parts = fields(clause, "expressions", "rollup", "cube")
    entries = list(parts.get("expressions", ()))
    for key, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        for node in parts.get(key, ()):
            if fields(node) or len(parts) != 2 or len(parts[key]) != 1:
                raise refusal(node)
            entries = [kind(expressions=entries)]
    return entries


def _sets(node: exp.Expr, place: Callable[[exp.Expr], int]) -> list[tuple[int, ...]]:
    """Return the grouping sets that one entry of GROUP BY stands for."""
    match node:
        case exp.Cube() | exp.Rollup():
            terms = [_columns(part, place) for part in _parts(node)]
            if len(terms) > CUBE_LIMIT:
                raise QueryError(
                    type(node).__name__.upper(),
                    f"of more than {CUBE_LIMIT} columns has too many sets",
                    "list the sets you want in GROUPING SETS (...)",
                )
            chosen = (
                [pick for size in range(len(terms), -1, -1) for pick in combinations(terms, size)]
                if isinstance(node, exp.Cube)
                else [tuple(terms[:size]) for size in range(len(terms), -1, -1)]
            )
            return [tuple(p for part in pick for p in part) for pick in chosen]
        case exp.GroupingSets():
            return [found for part in _parts(node) for found in _sets(part, place)]
        case _:
            return [_columns(node, place)]


def _parts(node: exp.Expr) -> list[exp.Expr]:
    found: list[exp.Expr] = fields(node, "expressions").get("expressions", [])
    if not found:
        word = "GROUPING SETS" if isinstance(node, exp.GroupingSets) else type(node).__name__.upper()
        raise QueryError(word, "lists no columns", f"write {word} (column, column)")
    return found


def _columns(node: exp.Expr, place: Callable[[exp.Expr], int]) -> tuple[int, ...]:
    if isinstance(node, exp.Tuple):
        return tuple(place(part) for part in fields(node, "expressions").get("expressions", ()))
    return (place(node),)


def _reference(node: exp.Expr, items: tuple[Item, ...], clause: str) -> Scalar:
    """Return an output column named by position or alias, or else the expression itself.

    In ORDER BY a name is that of an output column first; in GROUP BY that of a column first.
    """
    if given(node):
        raise QueryError(
            f"{clause} with a parameter",
            "a value that is given is the same in every row, and no place of an output column",
            "name the column, or write its place into the question",
        )
    scalar = expression(node)
    match scalar:
        case Literal(int(position)) if type(position) is int:
            if not 1 <= position <= len(items):
                raise QueryError(f"{clause} {position}", "there is no such output column", "name the column")
            return items[position - 1].scalar
        case Column(None, name):
            for item in items:
                if same(item.name, name) and (clause == "ORDER BY" or _is_key(item.scalar, name, clause)):
                    return item.scalar
    return scalar


def _is_key(scalar: Scalar, name: str, clause: str) -> bool:
    """Whether an output column of this name is what is grouped by, and not a column that it is made of.

    A subtotal is labelled so: COALESCE(a, 'all') AS a ... ROLLUP (a).
    """
    parts = list(walk(scalar))
    labelled = any(isinstance(part, Column) and same(part.name, name) for part in parts)
    marked = any(isinstance(part, Aggregate) or part_is(part, "grouping") for part in parts)
    return not isinstance(scalar, Column) and not marked and not (labelled and clause == SUBTOTALS)


def part_is(scalar: Scalar, function: str) -> bool:
    """Whether a scalar is a call of this function."""
    return isinstance(scalar, Call) and scalar.function == function


def order_by(clause: exp.Expr | None, items: tuple[Item, ...]) -> tuple[Order, ...]:
    """Return the terms of ORDER BY."""
    if clause is None:
        return ()
    terms = []
    listed = fields(clause, "expressions")["expressions"]
    if len(listed) == 1 and isinstance(listed[0], exp.Ordered) and _is_all(listed[0].this):
        parts = fields(listed[0], "this", "desc", "nulls_first")
        first, down = bool(parts.get("nulls_first")), bool(parts.get("desc"))
        return tuple(Order(item.scalar, down, first) for item in items)
    for node in listed:
        terms.append(ordered(node, lambda inner: _reference(inner, items, "ORDER BY")))
    return tuple(terms)


def _is_all(node: object) -> bool:
    """Whether a term of an order is the word ALL, which stands for every output column."""
    return isinstance(node, exp.Var) and str(node.this).upper() == "ALL"


def ordered(node: exp.Expr, read: Callable[[exp.Expr], Scalar] = expression) -> Order:
    """Return one term of an order."""
    if not isinstance(node, exp.Ordered):
        raise refusal(node)
    parts = fields(node, "this", "desc", "nulls_first")
    return Order(read(parts["this"]), bool(parts.get("desc")), bool(parts.get("nulls_first")))


def limit_of(clause: exp.Expr | None) -> int | None:
    """Return the number of LIMIT."""
    if clause is None:
        return None
    count: object = None
    match clause:
        case exp.Limit():
            count = fields(clause, "expression")["expression"]
        case exp.Fetch():
            parts = fields(clause, "direction", "count", "limit_options")
            options = parts.get("limit_options")
            if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
                raise QueryError("FETCH FIRST", "counts rows, without PERCENT or TIES", "write LIMIT 10")
            count = parts.get("count", exp.Literal.number(1))
    return _number(count, "LIMIT")


def offset_of(clause: exp.Expr | None) -> int:
    """Return how many rows OFFSET skips."""
    return 0 if clause is None else _number(fields(clause, "expression")["expression"], "OFFSET")


def _number(node: object, clause: str) -> int:
    match None if node is None else expression(node):
        # Libraries write the type of a parameter beside it: LIMIT $1::INTEGER.
        case Literal(int(count)) | Call("to_whole", (Literal(int(count)),)) if (
            type(count) is int and 0 <= count <= 10**9
        ):
            return count
    raise QueryError(clause, "must be a plain number", f"write {clause} 10")


def is_distinct(clause: exp.Expr | None) -> bool:
    """Whether repeated rows are left out."""
    if clause is None:
        return False
    if not isinstance(clause, exp.Distinct) or clause.args.get("on") or clause.args.get("expressions"):
        raise QueryError("DISTINCT ON", "keeps an arbitrary row", "use GROUP BY")
    return True
