"""Lists of constants before people's rows: FROM GENERATE_SERIES(...) AS s (k) LEFT JOIN visits ON hour = s.k.

Such a list says which groups are shown, whoever is in them.  So it is read as the condition that what is
joined to it is one of its values: groups that a condition lists are shown with nobody in them, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.expression import expression
from discreet.query.language.moment import interval_of
from discreet.query.language.place import place_of
from discreet.query.language.unmatched import demand_unmatched
from discreet.query.name import folded
from discreet.query.plan import MONTHS, Call, Literal, constant

MOST = 2_000
"""Longer lists than this are not written out."""

_DAYS = {"day": 1, "week": 7}


@dataclass(frozen=True, slots=True)
class Keys:
    """Constants under a name: that of the list, and that of its one column."""

    alias: str
    column: str
    values: tuple[exp.Expr, ...]

    def named(self, node: exp.Expr) -> bool:
        """Whether a column is that of the list, which days are as dates, too."""
        if isinstance(node, exp.Cast) and node.to.this is exp.DataType.Type.DATE:
            return all(isinstance(one, exp.Cast) for one in self.values) and self.named(node.this)
        if not isinstance(node, exp.Column):
            return False
        own = folded(node.name) in (self.column, self.alias)
        return folded(node.table) == self.alias and own if node.table else own


def without_keys(tree: exp.Select) -> exp.Select:
    """Return a SELECT without lists of constants before its rows."""
    origin = tree.args.get("from_")
    keys = None if origin is None else _keys(origin.this, _listed_parts(tree))
    if origin is None or keys is None:
        return tree
    joins = list(tree.args.get("joins") or ())
    if not joins:
        raise _refused("is about nobody", origin.this)
    first, *rest = joins
    side, kind = (str(first.args.get(key) or "").upper() for key in ("side", "kind"))
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER") or first.args.get("method"):
        raise _refused("is joined with JOIN or LEFT JOIN", first)
    if len({expression(value) for value in keys.values}) < len(keys.values):
        raise _refused("has a value twice, which would count people twice", origin.this)
    on = first.args.get("on")
    tests = [] if on is None else list(on.flatten()) if isinstance(on, exp.And) else [on]
    equated = next(((test, other) for test in tests for other in _equated(test, keys)), None)
    if equated is None:
        raise _refused("needs a condition that equates it with something of the rows", first)
    if side == "LEFT":
        demand_unmatched(tree, keys.named)
    tree.set("expressions", [_shown(node, keys) for node in tree.expressions])
    said, subject = equated
    conditions = [test for test in tests if test is not said]
    where = tree.args.get("where")
    conditions += [] if where is None else [where.this]
    listed = exp.In(this=subject.copy(), expressions=[value.copy() for value in keys.values])
    tree.set("from_", exp.From(this=first.this))
    tree.set("joins", rest)
    tree.set("where", exp.Where(this=exp.and_(listed, *conditions, copy=False)))
    for node in list(tree.find_all(exp.Column)):
        if keys.named(node):
            node.replace(
                exp.Paren(this=subject.copy()) if isinstance(subject, exp.Binary) else subject.copy()
            )
    return tree


def _shown(node: exp.Expr, keys: Keys) -> exp.Expr:
    """Return an output column under its name, which is that of the list's column where it is it."""
    return exp.alias_(node, node.name) if keys.named(node) else node


def _equated(test: exp.Expr, keys: Keys) -> Iterator[exp.Expr]:
    """Yield what a condition equates with the list's column."""
    while isinstance(test, exp.Paren):
        test = test.this
    if isinstance(test, exp.EQ):
        for one, other in ((test.this, test.expression), (test.expression, test.this)):
            if keys.named(one) and not any(map(keys.named, other.find_all(exp.Column))):
                yield other


def _listed_parts(tree: exp.Select) -> dict[str, Keys]:
    """Return the parts of WITH that are lists of constants, which leave the question."""
    clause, found = tree.args.get("with_"), {}
    for part in list(clause.expressions) if clause is not None else ():
        keys = _constant_select(part.this, folded(part.alias))
        names: list[exp.Expr] = part.args["alias"].args.get("columns") or []
        if keys is not None:
            column = folded(names[0].name) if len(names) == 1 else keys.column
            found[folded(part.alias)] = Keys(keys.alias, column, keys.values)
            part.pop()
    if clause is not None and not clause.expressions:
        tree.set("with_", None)
    return found


def _keys(node: exp.Expr, parts: dict[str, Keys]) -> Keys | None:
    """Return the constants that a relation lists."""
    alias = node.args.get("alias")
    name = folded(alias.name) if isinstance(alias, exp.TableAlias) and alias.name else ""
    listed = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    columns: list[exp.Expr] = listed or []
    match node:
        case exp.Table(this=exp.Identifier()) if folded(node.name) in parts and not node.args.get("db"):
            known = parts[folded(node.name)]
            return Keys(name or known.alias, known.column, known.values)
        case exp.Table(this=exp.GenerateSeries()):
            values = _values(node.this)
        case exp.Unnest(expressions=[inner]):
            values = _values(inner)
        case exp.Values():
            values = _rows(node)
        case exp.Subquery():
            found = _constant_select(node.this, name)
            return (
                found
                if found is None or len(columns) != 1
                else Keys(name, folded(columns[0].name), found.values)
            )
        case _:
            return None
    if values is None:
        return None
    return Keys(name, folded(columns[0].name) if len(columns) == 1 else name, values)


def _constant_select(node: exp.Expr, alias: str) -> Keys | None:
    """Return the list of (SELECT UNNEST(...) AS k), or of (SELECT k FROM UNNEST(...) AS k)."""
    if isinstance(node, exp.Values):
        values = _rows(node)
        return None if values is None else Keys(alias, alias, values)
    if not isinstance(node, exp.Select) or len(node.expressions) != 1:
        return None
    (item,) = node.expressions
    inner, origin = item.unalias(), node.args.get("from_")
    rest = {key for key, value in node.args.items() if value} - {"expressions", "from_"}
    if rest:
        return None
    if origin is not None:
        found = _keys(origin.this, {})
        plain = found is not None and (found.named(inner) or isinstance(inner, exp.Star))
        name = (
            folded(item.alias_or_name) if not isinstance(inner, exp.Star) else found.column if found else ""
        )
        return Keys(alias, name, found.values) if found is not None and plain else None
    listed = inner.this if isinstance(inner, exp.Explode) else inner
    values = _values(listed) if isinstance(inner, exp.Explode | exp.GenerateSeries) else None
    return None if values is None else Keys(alias, folded(item.alias_or_name), values)


def _rows(node: exp.Expr) -> tuple[exp.Expr, ...] | None:
    """Return the constants of VALUES ('A'), ('B')."""
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    if any(len(row) != 1 for row in rows) or len(rows) > MOST:
        return None
    return _constants([row[0] for row in rows])


def _constants(nodes: list[exp.Expr]) -> tuple[exp.Expr, ...] | None:
    constants = [expression(node) for node in nodes]
    return tuple(nodes) if all(isinstance(one, Literal | Call) for one in constants) else None


def _values(node: exp.Expr) -> tuple[exp.Expr, ...] | None:
    """Return the constants of a list or a series."""
    if isinstance(node, exp.Array):
        return _constants(node.expressions)
    if not isinstance(node, exp.GenerateSeries | exp.GenerateDateArray):
        return None
    start, end = (_day(expression(node.args[key])) for key in ("start", "end"))
    step = node.args.get("step")
    if type(start) is int and type(end) is int:
        width = 1 if step is None else constant(expression(step))
        last = end if node.args.get("is_end_exclusive") else end + 1
        if width is not None and width > 0 and len(range(start, last, width)) <= MOST:
            return (
                tuple(exp.Literal.number(value) for value in range(start, last, width) if value >= 0) or None
            )
    if isinstance(start, date) and isinstance(end, date):
        days = list(_days(start, end, step))
        if 0 < len(days) <= MOST:
            return tuple(exp.cast(exp.Literal.string(day.isoformat()), "DATE") for day in days)
    raise _refused(f"needs constant ends with at most {MOST} numbers, or days, from one to the other", node)


def _day(found: object) -> object:
    """Return a constant: a text, or the beginning of a day, is that day."""
    value = found.value if isinstance(found, Literal) else None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value.date() if value.time() == datetime.min.time() else None
    return value


def _days(start: date, end: date, step: exp.Expr | None) -> Iterator[date]:
    """Yield the days of a series, or one more than are written out."""
    unit, amount = ("day", 1) if not isinstance(step, exp.Interval) else _length(step)
    if amount <= 0 or (unit in MONTHS and start.day > 28) or unit not in (*MONTHS, *_DAYS):
        return
    for place in range(MOST + 1):
        try:
            if unit in _DAYS:
                day = start + timedelta(days=place * amount * _DAYS[unit])
            else:
                month = 12 * start.year + start.month - 1 + place * amount * MONTHS[unit]
                day = date(month // 12, month % 12 + 1, start.day)
        except (OverflowError, ValueError):
            # The calendar ends, and the series with it.
            return
        if day > end:
            return
        yield day


def _length(step: exp.Expr) -> tuple[str, int]:
    unit, amount = interval_of(step)
    return str(unit.value), amount


def _refused(reason: str, node: exp.Expr) -> QueryError:
    return QueryError(
        "a list of constants in FROM",
        reason,
        "write FROM GENERATE_SERIES(0, 23) AS s (h) LEFT JOIN visits v ON HOUR(v.at) = s.h",
        place_of(node),
    )
