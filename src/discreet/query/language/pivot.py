"""PIVOT: one column for each of some values, which is an aggregate with a condition for each."""

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.place import place_of
from discreet.query.language.refusal import fields
from discreet.query.name import folded

ROWS = "pivoted"


def written_out(node: exp.Expr) -> exp.Expr:
    """Return a pivoted subquery as one with GROUP BY and FILTER; any other relation is itself."""
    pivots = node.args.get("pivots")
    if not pivots:
        return node
    pivot, inner = pivots[0], node.this
    if pivot.args.get("unpivot"):
        raise QueryError("UNPIVOT", "turns columns into rows", "put one SELECT each under UNION ALL").at(
            place_of(pivot)
        )
    plain = isinstance(node, exp.Subquery) and isinstance(inner, exp.Select)
    places = pivot.args.get("fields") or []
    if len(pivots) > 1 or not plain or inner.find(exp.Star) in inner.expressions or len(places) != 1:
        raise QueryError(
            "PIVOT",
            "groups by every column that it does not name",
            "select those that matter first: FROM (SELECT ward, flag FROM visits) PIVOT (COUNT(*) FOR ...)",
        ).at(place_of(pivot))
    (place,) = places
    parts = fields(place, "this", "expressions")
    column, values = parts["this"], parts.get("expressions", ())
    if not isinstance(column, exp.Column) or not values:
        raise QueryError("PIVOT", "needs a column and its values", "write FOR ward IN ('A', 'B')").at(
            place_of(pivot)
        )
    totals = pivot.expressions
    used = {folded(one.name) for total in totals for one in total.find_all(exp.Column)} | {
        folded(column.name)
    }
    rest = [one.alias_or_name for one in inner.expressions if folded(one.alias_or_name) not in used]
    made = [
        exp.alias_(_only(total, column, value), _name(total, value, several=len(totals) > 1), quoted=True)
        for value in values
        for total in totals
    ]
    chosen = exp.Select(
        expressions=[*(exp.column(name) for name in rest), *made],
        from_=exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(ROWS)))),
    )
    if rest:
        chosen.set("group", exp.Group(expressions=[exp.column(name) for name in rest]))
    return exp.Subquery(this=chosen, alias=pivot.args.get("alias") or node.args.get("alias"))


def _only(total: exp.Expr, column: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return an aggregate of the rows with one value."""
    inner = total.this if isinstance(total, exp.Alias) else total
    constant = value.this if isinstance(value, exp.PivotAlias | exp.Alias) else value
    if isinstance(constant, exp.Column) and constant.this.args.get("quoted") and not constant.table:
        # FOR y IN ([2023], [2024]) names the columns that the values become.
        number = constant.name.isdecimal()
        constant = exp.Literal.number(constant.name) if number else exp.Literal.string(constant.name)
    test = exp.EQ(this=column.copy(), expression=constant.copy())
    return exp.Filter(this=inner.copy(), expression=exp.Where(this=test))


def _name(total: exp.Expr, value: exp.Expr, *, several: bool) -> str:
    """Return what a column is called: as its value, and as its aggregate where that has a name."""
    named = value.args.get("alias") if isinstance(value, exp.PivotAlias | exp.Alias) else None
    first = str(value.this.this if named is None and value.args.get("alias") else value.this)
    first = first if named is None else named.name
    if isinstance(total, exp.Alias):
        return f"{first}_{total.alias}"
    return f"{first}_{total.key}" if several else first
