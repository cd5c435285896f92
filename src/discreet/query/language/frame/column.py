"""Where expressions begin: columns, constants and cases."""

from decimal import Decimal

from discreet.errors import QueryError
from discreet.query.language.frame.expression import Expression, Operand, scalar_of
from discreet.query.language.named import plain_name
from discreet.query.plan import Case, Column, Value


def col(name: str) -> Expression:
    """Return a column, as "name" or "table.name"."""
    if not isinstance(name, str) or not name:
        raise QueryError("col", "needs the name of a column", 'write col("age")')
    relation, dot, column = name.rpartition(".")
    return Expression(Column(plain_name(relation) if dot else None, plain_name(column)))


def lit(value: Value | float | Decimal) -> Expression:
    """Return a constant."""
    return Expression(scalar_of(value))


def when(condition: Expression, then: Operand, otherwise: Operand = None) -> Expression:
    """Return one value where a condition is true and another elsewhere."""
    return cases((condition, then), otherwise=otherwise)


def cases(*branches: tuple[Expression, Operand], otherwise: Operand = None) -> Expression:
    """Return the value of the first condition that is true, else `otherwise`."""
    if not branches:
        raise QueryError(
            "cases", "needs a condition", "write cases((col('age') < 18, 'child'), otherwise='adult')"
        )
    found = tuple((scalar_of(condition), scalar_of(value)) for condition, value in branches)
    return Expression(Case(found, scalar_of(otherwise)))
