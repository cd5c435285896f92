"""The columns, rows and parameters of a question on the wire; this is a worker's side.

The type of a column follows from the question and the declarations, so Describe needs neither data nor
price.  It is what PostgreSQL would say where that holds every value: whole numbers for counts, numeric for
sums of whole numbers, double precision for what can be a fraction.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.query.catalog.kind import Day, Kind, Moment, Real, Truth, Whole
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.assembly import Made, PairedTables, PiledTables, ReleasedTable, SelectedRows
from discreet.query.check.formula import (
    Combination,
    Constant,
    Formula,
    Key,
    Mean,
    NoisyTerm,
    Operation,
    Public,
    Variance,
    Windowed,
    measured,
)
from discreet.query.check.measurement import (
    Checked,
    KeyColumn,
    Measurement,
    ModeChoice,
    Output,
    RunningGroups,
)
from discreet.query.language.text import parsed
from discreet.query.name import same
from discreet.query.plan import LISTED, Column
from discreet.query.price.expected import Quote
from discreet.query.price.words import lines, paid
from discreet.release.answer import Release
from discreet.service.wire import types

WIDEST = 2**63
NUMBERS = ("int8", "numeric", "float8")
_ALWAYS = {"and": "bool", "or": "bool", "not": "bool", "is_null": "bool", "among": "bool", "distinct": "bool"}
_ALWAYS |= dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), "bool")
_ALWAYS |= dict.fromkeys(("lower", "upper", "trim", "concat", "left", "right", "substring"), "text")
_ALWAYS |= dict.fromkeys(("ltrim", "rtrim", "replace", "split_part", "lpad", "rpad", "to_text"), "text")
_ALWAYS |= dict.fromkeys(("reverse", "initcap", "repeat"), "text")
_ALWAYS |= dict.fromkeys(("like", "ilike", "starts_with"), "bool")
_ALWAYS |= {"shift": "date", "difference": "int8", "to_day": "date", "to_moment": "timestamp"}
_ALWAYS |= {"at_zone": "timestamp", "instant": "timestamp"}
_ALWAYS |= {"length": "int8", "part": "int8", "trunc": "date", "to_whole": "numeric"}
_ALWAYS |= {"floor": "numeric", "ceil": "numeric", "day_at": "date", "moment_at": "timestamp"}
_CLOSED = frozenset(
    ("add", "subtract", "multiply", "absolute", "least", "greatest", "clamp", "coalesce", "nullif")
)
"""Of whole numbers these make whole numbers."""

_RANKS = frozenset(("row_number", "rank", "dense_rank", "ntile", "count"))


def columns(checked: Checked, catalog: Catalog, *, intervals: bool) -> list[tuple[str, str]]:
    """Return the names and types of what a question returns."""
    found = []
    for output, kind in zip(checked.columns, kinds(checked, catalog), strict=True):
        found.append((output.name, kind))
        if intervals and _spanned(output, kind):
            found += [(f"{output.name}_low", kind), (f"{output.name}_high", kind)]
    return found


def _spanned(output: Output, kind: str) -> bool:
    return bool(measured(output.formula)) and kind in NUMBERS and output.end is None


def kinds(checked: Checked, catalog: Catalog) -> list[str]:
    """Return the type of each column of a question."""
    if checked.assembly is not None:
        return _made(checked.assembly.table, [kinds(part, catalog) for part in checked.assembly.parts])
    keyed = checked.keys
    keys = [_key(column, checked, catalog) for column in keyed.columns]
    read = isinstance(keyed, RunningGroups) and bool(keyed.levels)
    if read:
        keys[-1:] = ["float8"]
    found = ["float8" if read else _measured(one) for one in checked.measurements]
    return [_formula(output.formula, keys, found) for output in checked.columns]


def _made(made: Made, parts: Sequence[list[str]]) -> list[str]:
    """Return the types of the columns of a table that is made of released ones."""
    match made:
        case ReleasedTable(part):
            return parts[part]
        case PairedTables(left, right):
            return [*_made(left, parts), *_made(right, parts)]
        case PiledTables(tables):
            return [_joined(own) for own in zip(*(_made(table, parts) for table in tables), strict=True)]
        case SelectedRows(source, outputs):
            below = _made(source, parts)
            return ["float8" if one.end else _formula(one.formula, (), below) for one in outputs]


def _key(column: KeyColumn, checked: Checked, catalog: Catalog) -> str:
    if column.values is not None:
        return _joined(_constant(value) for value in column.values if value is not None)
    if column.day:
        return "date"
    if isinstance(column.scalar, Column):
        tables = [table for name in checked.tables if (table := catalog.table(name)) is not None]
        declared = [one.kind for table in tables for one in table.columns if same(one.name, column.name)]
        if len(declared) == 1:
            return of_kind(declared[0])
    return "text"


def of_kind(kind: Kind) -> str:
    """Return the type that a declared column has for clients."""
    match kind:
        case Whole():
            return "int8"
        case Real():
            return "float8"
        case Truth():
            return "bool"
        case Day():
            return "date"
        case Moment():
            return "timestamp"
        case _:
            return "text"


def _measured(one: object) -> str:
    match one:
        case Measurement() if one.scale != 1:
            return "float8"
        case Measurement():
            return "int8" if one.counting else "numeric"
        case ModeChoice():
            return _joined(_constant(value) for value in one.values if value is not None)
        case _:
            return "float8"


def _constant(value: Public) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int8"
        case Fraction():
            return "float8"
        case datetime():
            return "timestamp"
        case date():
            return "date"
        case _:
            return "text"


def _joined(kinds: Iterable[str]) -> str:
    """Return a type that holds values of all these."""
    found = set(kinds)
    if len(found) == 1:
        return found.pop()
    if found and found <= set(NUMBERS):
        return "float8" if "float8" in found else "numeric"
    return "text"


def _formula(formula: Formula, keys: Sequence[str], noisy: Sequence[str]) -> str:
    match formula:
        case Constant(value):
            return _constant(value)
        case Key(position):
            return keys[position]
        case NoisyTerm(position):
            return noisy[position]
        case Combination() | Mean() | Variance():
            return "float8"
        case Operation(name, arguments):
            return _operation(name, [_formula(one, keys, noisy) for one in arguments])
        case Windowed(name, arguments):
            inner = [_formula(one, keys, noisy) for one in arguments]
            if name in _RANKS:
                return "int8"
            if name == LISTED:
                return "text"
            if name in ("lag", "lead", "min", "max", "first_value", "last_value", "nth_value"):
                return inner[0]
            return "numeric" if name == "sum" and "float8" not in inner else "float8"


def _operation(name: str, inner: list[str]) -> str:
    if name in _ALWAYS:
        return _ALWAYS[name]
    if name == "case":
        return _joined([*inner[1:-1:2], inner[-1]])
    if name in _CLOSED:
        return _joined(inner)
    return "numeric" if name == "round" and len(inner) == 1 else "float8"


def released(release: Release, catalog: Catalog, *, intervals: bool) -> dict[str, Any]:
    """Return an answer as the wire has it: columns, rows, what was paid, and how far off it may be."""
    checked = release.quote.checked
    chosen = kinds(checked, catalog)
    table: list[list[Public]] = []
    for row in release.rows:
        cells: list[Public] = []
        for output, kind, cell, (low, high) in zip(
            checked.columns, chosen, row.cells, row.spans, strict=True
        ):
            cells.append(cell)
            if intervals and _spanned(output, kind):
                # Outwards, where a column has whole numbers: the interval still holds.
                whole = kind != "float8"
                cells.append(floor(low) if whole and low is not None else low)
                cells.append(ceil(high) if whole and high is not None else high)
        table.append(cells)
    heads = columns(checked, catalog, intervals=intervals)
    widened = [(name, _wide(kind, [row[n] for row in table])) for n, (name, kind) in enumerate(heads)]
    written = [[text(cell, kind) for cell, (_, kind) in zip(row, widened, strict=True)] for row in table]
    return {"columns": widened, "rows": written, **_paid(release)}


def _wide(kind: str, cells: Iterable[Public]) -> str:
    """Return a type that holds these values: the one that was foreseen, unless one does not fit it."""
    for cell in cells:
        if cell is None or kind == "text":
            continue
        found = _constant(cell)
        if found == "float8" and isinstance(cell, Fraction) and cell.denominator == 1:
            found = "int8"
        if found == "int8" and isinstance(cell, int | Fraction) and not -WIDEST < cell < WIDEST:
            found = "numeric"
        kind = kind if found == kind or (found in NUMBERS and kind == "float8") else _joined((kind, found))
    return kind


def text(cell: Public, kind: str) -> str | None:
    """Return a value as PostgreSQL writes it."""
    match cell:
        case None:
            return None
        case bool():
            return "t" if cell else "f"
        case int() | Fraction():
            return _number(Fraction(cell), kind)
        case datetime():
            return cell.isoformat(sep=" ")
        case date():
            return cell.isoformat()
        case _:
            return cell


def _number(value: Fraction, kind: str) -> str:
    if value.denominator == 1 and kind != "float8":
        return str(value.numerator)
    try:
        return repr(float(value)).removesuffix(".0")
    except OverflowError:
        return "Infinity" if value > 0 else "-Infinity"


def _paid(release: Release) -> dict[str, str]:
    quote = release.quote
    cost = "nothing, since it was answered before" if release.free else paid(quote)
    errors = [f"{name}: {'± ' * error[0].isdecimal()}{error}" for name, error, _ in lines(quote) if error]
    said = [*errors, f"at {float(quote.confidence):.0%}", *release.said]
    return {"paid": f"cost {cost}; receipt {release.receipt}", "detail": "; ".join(said)}


def explained(priced: Quote) -> dict[str, Any]:
    """Return a quote as the lines of an EXPLAIN."""
    from discreet.query.price.words import text as words

    return {"lines": words(priced).splitlines()}


_KINDS: Mapping[str, Any] = {
    "whole": int,
    "number": Decimal,
    "text": str,
    "date": date.fromisoformat,
    "moment": datetime.fromisoformat,
}
_BY_TYPE = {
    "int8": "whole",
    "int4": "whole",
    "int2": "whole",
    "oid": "whole",
    "float8": "number",
    "bool": "truth",
}
_BY_TYPE |= {"numeric": "number", "text": "text", "date": "date", "timestamp": "moment"}
_EXAMPLES: Mapping[str, Any] = {"whole": 1, "number": Decimal("0.5"), "text": "a", "truth": True}
_EXAMPLES = {**_EXAMPLES, "date": date(2000, 1, 1), "moment": datetime(2000, 1, 1)}


def parameters(sent: Sequence[tuple[str, str | None]], sql: str, catalog: Catalog) -> list[Any] | None:
    """Return the values of parameters; of which type an open one is, its place in the question says.

    Where only a type was sent, a value of it stands for all.
    """
    if not sent:
        return None
    inferred = types_of(sql, catalog, len(sent))
    return [_value(kind, said, inferred[place]) for place, (kind, said) in enumerate(sent)]


def _value(kind: str, said: str | None, inferred: str) -> Any:
    if kind == "type":
        return _EXAMPLES[_BY_TYPE.get(said or inferred, "text")]
    if kind == "null" or said is None:
        return None
    if kind == "open":
        kind, said = _opened(said, inferred)
    if kind == "truth":
        return said == "true"
    try:
        return _KINDS[kind](said)
    except (ValueError, ArithmeticError):
        raise ParameterError(f"a parameter is no {inferred}, as its place in the question needs") from None


def _opened(said: str, inferred: str) -> types.Given:
    """Return an open parameter, read as one of its type would have been."""
    try:
        return types.given(said.encode(), types.TYPES[inferred].number, 0)
    except types.Misfit:
        raise ParameterError(f"a parameter is no {inferred}, as its place in the question needs") from None


def types_of(sql: str, catalog: Catalog, count: int) -> list[str]:
    """Return the types that parameters have by their place in a question; text where nothing says."""
    found = ["text"] * count
    if not count:
        return found
    try:
        tree = parsed(sql).tree
    except QueryError:
        return found
    for node in tree.find_all(exp.Parameter, exp.Placeholder):
        name = node.this.name if isinstance(node.this, exp.Expr) else str(node.this)
        if name.isdecimal() and 1 <= int(name) <= count:
            found[int(name) - 1] = _place(node, catalog) or found[int(name) - 1]
    return found


_CASTS = {
    "INT": "int8",
    "BIGINT": "int8",
    "SMALLINT": "int8",
    "TINYINT": "int8",
    "BOOLEAN": "bool",
    "DATE": "date",
}
_CASTS |= {"DOUBLE": "float8", "FLOAT": "float8", "DECIMAL": "numeric", "TIMESTAMP": "timestamp"}


def _place(node: exp.Expr, catalog: Catalog) -> str | None:
    """Return the type of the column that stands beside a parameter, or that it is cast to.

    What is reckoned from parameters alone, as in stay > $1 - $2, has the type of what stands beside that.
    """
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.Neg | exp.Tuple) or (
        isinstance(parent, exp.Add | exp.Sub | exp.Mul | exp.Div) and not parent.find(exp.Column)
    ):
        parent = parent.parent
    if isinstance(parent, exp.Cast):
        target = parent.to.this
        return _CASTS.get(target.name if hasattr(target, "name") else str(target))
    if isinstance(parent, exp.Limit | exp.Offset):
        return "int8"
    if not isinstance(parent, exp.Binary | exp.Between | exp.In):
        return None
    beside = [one.name for one in parent.iter_expressions() if isinstance(one, exp.Column)]
    declared = [
        of_kind(column.kind)
        for name in beside
        for table in catalog.tables
        for column in table.columns
        if same(column.name, name)
    ]
    return declared[0] if len(set(declared)) == 1 else None
