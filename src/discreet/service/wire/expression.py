"""The value and the type of an expression over the catalogue's tables; whatever is not listed is refused."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.service.wire import types
from discreet.service.wire.scalar import (
    AGGREGATES,
    FUNCTIONS,
    Beyond,
    cast,
    joined,
    like,
    matches,
    shown,
    together,
)

if TYPE_CHECKING:
    from discreet.service.wire.reckon import Reckoner, RowScope

_COMPARED: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: lambda a, b: bool(a == b),
    exp.NEQ: lambda a, b: bool(a != b),
    exp.LT: lambda a, b: bool(a < b),
    exp.LTE: lambda a, b: bool(a <= b),
    exp.GT: lambda a, b: bool(a > b),
    exp.GTE: lambda a, b: bool(a >= b),
}


def _product(one: Any, other: Any) -> Any:
    # A text or an array times a number would be so many of it.
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        raise TypeError("no numbers")
    return one * other


_RECKONED: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: _product,
    exp.BitwiseAnd: lambda a, b: int(a) & int(b),
}
_WORDS = {"int": "int4", "bigint": "int8", "smallint": "int2", "boolean": "bool", "double": "float8"}
_WORDS |= {
    "varchar": "text",
    "decimal": "numeric",
    "bpchar": "text",
    "character varying": "text",
    "char": "text",
}
_WORDS |= {
    "integer": "int4",
    "float": "float8",
    "real": "float8",
    "double precision": "float8",
    "json": "text",
}


def evaluate(reckoner: "Reckoner", node: Any, row: "RowScope | None") -> Any:
    """Return the value of an expression for a row."""
    found = _evaluated(reckoner, node, row)
    # The parser writes NOT LIKE, NOT IN and NOT BETWEEN as one node.
    negated = isinstance(node, exp.Expr) and node.args.get("negate")
    return found if not negated or found is None else not found


def _evaluated(reckoner: "Reckoner", node: Any, row: "RowScope | None") -> Any:
    match node:
        case exp.Literal():
            return node.this if node.is_string else _number(node.this)
        case exp.ByteString():
            return str(node.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Column():
            return _column(reckoner, node, row)
        case exp.Paren() | exp.Collate() | exp.Alias():
            return reckoner.value(node.this, row)
        case exp.Parameter() | exp.Placeholder():
            return _parameter(reckoner, node)
        case exp.Dot():
            return reckoner.value(node.expression, row)
        case exp.Cast():
            return cast(reckoner.context, reckoner.value(node.this, row), target(node))
        case exp.Case():
            return _case(reckoner, node, row)
        case exp.And() | exp.Or():
            return _junction(reckoner, node, row)
        case exp.Not():
            found = reckoner.value(node.this, row)
            return None if found is None else not found
        case exp.Neg():
            found = reckoner.value(node.this, row)
            return None if found is None else -found
        case exp.Is() | exp.In() | exp.Exists() | exp.Between() | exp.NullSafeEQ() | exp.NullSafeNEQ():
            return _condition(reckoner, node, row)
        case exp.Subquery() | exp.Select() | exp.Union():
            rows = reckoner.first(node, row)
            return rows[0] if rows else None
        case exp.Array():
            return _array(reckoner, node, row)
        case exp.Bracket():
            return _bracket(reckoner, node, row)
        case exp.Escape():
            return _escaped(reckoner, node, row)
        case exp.Operator() | exp.RegexpLike() | exp.RegexpILike() | exp.Like() | exp.ILike() | exp.DPipe():
            return _text_operator(reckoner, node, row)
        case exp.Binary():
            return _binary(reckoner, node, row)
        case exp.Anonymous() | exp.Func():
            return _call(reckoner, node, row)
        case _:
            raise Beyond(type(node).__name__.upper())


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _column(reckoner: "Reckoner", node: exp.Column, row: "RowScope | None") -> Any:
    name, table = node.name if node.this.quoted else node.name.lower(), node.table.lower()
    around = row
    while around is not None:
        loose = None
        for bound, cells in zip(around.bound, around.cells or ((),) * len(around.bound), strict=True):
            if table not in ("", bound.name):
                continue
            place = bound.place(name)
            if place is not None:
                return None if not cells else cells[place]
            if not table and name == bound.name and cells and len(cells) == 1:
                return cells[0]
            loose = bound if bound.relation.open and (table or name != "oid") else loose
        if loose is not None and (table or around.outer is None):
            return None
        around = around.outer
    if not table and name in FUNCTIONS and name.endswith(("_user", "_schema", "_catalog", "_role", "user")):
        return FUNCTIONS[name][1](reckoner.context)
    raise Beyond(f"a column {node.name[:63]!r}")


def _parameter(reckoner: "Reckoner", node: exp.Expr) -> Any:
    inner = node.this
    name = inner.name if isinstance(inner, exp.Expr) else str(inner)
    place = int(name) if name.isdecimal() else 0
    if not 1 <= place <= len(reckoner.parameters):
        raise Beyond("a parameter without a value")
    return reckoner.parameters[place - 1]


def _case(reckoner: "Reckoner", node: exp.Case, row: "RowScope | None") -> Any:
    subject = None if node.this is None else reckoner.value(node.this, row)
    for one in node.args["ifs"]:
        found = reckoner.value(one.this, row)
        if found is True if node.this is None else (found is not None and found == subject):
            return reckoner.value(one.args["true"], row)
    default = node.args.get("default")
    return None if default is None else reckoner.value(default, row)


def _junction(reckoner: "Reckoner", node: exp.Expr, row: "RowScope | None") -> bool | None:
    decisive = isinstance(node, exp.Or)
    left: bool | None = reckoner.value(node.this, row)
    if left is decisive:
        return decisive
    right: bool | None = reckoner.value(node.expression, row)
    if right is decisive:
        return decisive
    return None if left is None or right is None else not decisive


def _condition(reckoner: "Reckoner", node: exp.Expr, row: "RowScope | None") -> bool | None:
    match node:
        case exp.Exists():
            return bool(reckoner.table(node.this, row).rows)
        case exp.Is():
            value, wanted = reckoner.value(node.this, row), reckoner.value(node.expression, row)
            return value is wanted
        case exp.Between():
            value, low, high = (reckoner.value(node.args[part], row) for part in ("this", "low", "high"))
            return None if value is None or low is None or high is None else bool(low <= value <= high)
        case exp.In():
            query = node.args.get("query")
            found = [reckoner.value(one, row) for one in node.expressions]
            if query is not None:
                found = reckoner.first(query, row)
            value = reckoner.value(node.this, row)
            return None if value is None else any(_same(value, one) for one in found)
        case _:
            same = reckoner.value(node.this, row) == reckoner.value(node.expression, row)
            return same if isinstance(node, exp.NullSafeEQ) else not same


def _same(one: Any, other: Any) -> bool:
    """Compare as PostgreSQL does where one side is a constant in quotes."""
    if isinstance(one, str) != isinstance(other, str) and one is not None and other is not None:
        return shown(one) == shown(other)
    return bool(one == other)


def _array(reckoner: "Reckoner", node: exp.Array, row: "RowScope | None") -> list[Any]:
    inner = node.expressions
    if len(inner) == 1 and isinstance(inner[0], exp.Select | exp.Subquery | exp.Union):
        return reckoner.first(inner[0], row)
    return [reckoner.value(one, row) for one in inner]


def _bracket(reckoner: "Reckoner", node: exp.Bracket, row: "RowScope | None") -> Any:
    found = reckoner.value(node.this, row)
    place = reckoner.value(node.expressions[0], row)
    if not isinstance(found, list) or not isinstance(place, int):
        return None
    # The parser counts from 0, as it does for every dialect.
    return found[place] if 0 <= place < len(found) else None


def _text_operator(reckoner: "Reckoner", node: exp.Expr, row: "RowScope | None") -> Any:
    left, right = reckoner.value(node.this, row), reckoner.value(node.expression, row)
    match node:
        case exp.DPipe():
            if isinstance(left, list) or isinstance(right, list):
                return [*(left or ()), *(right or ())]
            return None if left is None or right is None else f"{shown(left)}{shown(right)}"
        case exp.Like() | exp.ILike():
            return like(left, right, fold=isinstance(node, exp.ILike))
        case exp.Operator():
            return _named_operator(str(node.args.get("operator")), left, right)
        case _:
            return matches(left, right, fold=isinstance(node, exp.RegexpILike))


def _escaped(reckoner: "Reckoner", node: exp.Expr, row: "RowScope | None") -> bool | None:
    """Return LIKE ... ESCAPE, whose escape becomes the usual one."""
    inner, mark = node.this, reckoner.value(node.expression, row)
    if not isinstance(inner, exp.Like | exp.ILike) or not isinstance(mark, str) or len(mark) != 1:
        raise Beyond("ESCAPE")
    left, right = reckoner.value(inner.this, row), reckoner.value(inner.expression, row)
    pattern: Any = None if right is None else str(right).replace("\\", "\\\\").replace(mark, "\\")
    found = like(left, pattern, fold=isinstance(inner, exp.ILike))
    return found if found is None else found is not bool(inner.args.get("negate"))


def _named_operator(name: str, left: Any, right: Any) -> Any:
    plain = name.lower().removeprefix("pg_catalog.")
    match plain:
        case "~" | "~*":
            return matches(left, right, fold=plain == "~*")
        case "!~" | "!~*":
            found = matches(left, right, fold=plain == "!~*")
            return None if found is None else not found
        case "=" | "<>":
            return None if left is None or right is None else _same(left, right) == (plain == "=")
        case _:
            raise Beyond(f"the operator {name[:20]}")


def _binary(reckoner: "Reckoner", node: exp.Expr, row: "RowScope | None") -> Any:
    left = reckoner.value(node.this, row)
    other = node.expression
    every = isinstance(other, exp.All) or (isinstance(other, exp.Anonymous) and other.name.lower() == "all")
    if (every or isinstance(other, exp.Any)) and type(node) in (exp.EQ, exp.NEQ):
        inner = (other.expressions[0] if isinstance(other, exp.Anonymous) else other.this).unnest()
        values = (
            reckoner.first(inner, row)
            if isinstance(inner, exp.Select | exp.Union)
            else reckoner.value(inner, row)
        )
        if left is None or values is None:
            return None
        hits = [_same(left, one) == isinstance(node, exp.EQ) for one in _listed(values)]
        return all(hits) if every else any(hits)
    right = reckoner.value(other, row)
    if left is None or right is None:
        return None
    if type(node) in (exp.EQ, exp.NEQ):
        return _same(left, right) == isinstance(node, exp.EQ)
    act = _COMPARED.get(type(node)) or _RECKONED.get(type(node))
    if act is None:
        raise Beyond(type(node).__name__.upper())
    try:
        return act(left, right)
    except (TypeError, ValueError, OverflowError):
        raise Beyond(f"{type(node).__name__.upper()} of such values") from None


def _listed(values: Any) -> list[Any]:
    if isinstance(values, list):
        return values
    return [one.strip('"') for one in str(values).strip("{}").split(",") if one]


def _call(reckoner: "Reckoner", node: exp.Expr, row: "RowScope | None") -> Any:
    name, given = called(node)
    if name in AGGREGATES:
        return _aggregate(reckoner, name, given, row)
    if name == "array" and len(given) == 1:
        return reckoner.first(given[0], row)
    if name not in FUNCTIONS:
        raise Beyond(f"the function {name[:63]!r}")
    try:
        return FUNCTIONS[name][1](reckoner.context, *(reckoner.value(one, row) for one in given))
    except (TypeError, ValueError):
        raise Beyond(f"{name} of such values") from None


def _aggregate(reckoner: "Reckoner", name: str, given: list[exp.Expr], row: "RowScope | None") -> Any:
    rows = row.group if row is not None and row.group is not None else ()
    argument = given[0] if given else exp.Star()
    distinct = isinstance(argument, exp.Distinct)
    if isinstance(argument, exp.Distinct):
        argument = argument.expressions[0]
    if isinstance(argument, exp.Order):
        argument = argument.this
    values = [True if isinstance(argument, exp.Star) else reckoner.value(argument, one) for one in rows]
    if name == "string_agg":
        between = shown(reckoner.value(given[1], row)) or ""
        told = [one for value in values if (one := shown(value)) is not None]
        return joined(between, told) if told else None
    known, found = together(name, values, distinct)
    if not known:
        raise Beyond(f"the function {name}")
    return found


def target(node: exp.Expr) -> str:
    """Return the type that a value is cast to, as it is called here."""
    written = node.args["to"]
    text = written.sql(dialect="postgres").lower().removeprefix("pg_catalog.").replace('"', "")
    array = text.endswith("[]")
    base = text.removesuffix("[]").partition("(")[0].strip().removeprefix("pg_catalog.")
    base = _WORDS.get(base, base)
    return f"{base}[]" if array else base


def kind(reckoner: "Reckoner", node: Any, row: "RowScope | None") -> str:
    """Return the type of an expression, without any value."""
    found = _kind(reckoner, node, row)
    return found if found in types.TYPES else "text"


def _kind(reckoner: "Reckoner", node: Any, row: "RowScope | None") -> str:
    match node:
        case exp.Literal():
            return "text" if node.is_string else "int4" if isinstance(_number(node.this), int) else "float8"
        case exp.Column():
            return _column_kind(node, row)
        case exp.Paren() | exp.Collate() | exp.Alias() | exp.Neg():
            return _kind(reckoner, node.this, row)
        case exp.Dot():
            return _kind(reckoner, node.expression, row)
        case exp.Cast():
            wanted = target(node)
            return "oid" if wanted.startswith("reg") else wanted
        case exp.Case():
            return _kind(reckoner, node.args["ifs"][0].args["true"], row)
        case exp.Subquery() | exp.Select() | exp.Union():
            heads = reckoner.table(node, row).columns
            return heads[0][1] if heads else "text"
        case exp.Array():
            return "text[]"
        case exp.Anonymous() if str(node.this).lower() == "array":
            return "text[]"
        case exp.DPipe():
            return "text"
        case exp.Condition() if isinstance(node, exp.Predicate | exp.Connector | exp.Not | exp.Operator):
            return "bool"
        case exp.Boolean():
            return "bool"
        case exp.Binary():
            return "int4"
        case exp.Anonymous() | exp.Func():
            name, given = called(node)
            said = AGGREGATES.get(name, FUNCTIONS.get(name, ("text", None))[0])
            return said or (_kind(reckoner, given[0], row) if given else "text")
        case _:
            return "text"


def _column_kind(node: exp.Column, row: "RowScope | None") -> str:
    name, table = node.name.lower(), node.table.lower()
    around = row
    while around is not None:
        for bound in around.bound:
            place = bound.place(name) if table in ("", bound.name) else None
            if place is not None:
                return bound.relation.columns[place][1]
        around = around.outer
    return FUNCTIONS[name][0] if name in FUNCTIONS and not table else "text"


def called(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """Return the name of a function in small letters, and its arguments."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower(), list(node.expressions)
    name = node.sql_name().lower() if isinstance(node, exp.Func) else type(node).__name__.lower()
    return name, list(node.iter_expressions())


def output_name(node: exp.Expr) -> str:
    """Return the name that PostgreSQL gives to a column without one."""
    match node:
        case exp.Cast():
            return output_name(node.this) if output_name(node.this) != "?column?" else "?column?"
        case exp.Dot():
            return output_name(node.expression)
        case exp.Case():
            return "case"
        case exp.Exists():
            return "exists"
        case exp.Anonymous() | exp.Func():
            return called(node)[0]
        case _:
            return node.name if isinstance(node, exp.Column) else "?column?"


def aggregates(node: exp.Expr) -> bool:
    """Return whether an expression has an aggregate that is not inside a subquery."""
    if isinstance(node, exp.Subquery | exp.Select | exp.Exists):
        return False
    if isinstance(node, exp.Anonymous | exp.Func) and called(node)[0] in AGGREGATES:
        return True
    return any(aggregates(one) for one in node.iter_expressions())
