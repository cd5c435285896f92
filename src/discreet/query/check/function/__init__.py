"""The scalar functions of a question: each is total, and each says in which interval its value lies.

A function is made total when the question is checked: 64-bit integers are used only where the inferred
interval proves that they cannot overflow, and doubles otherwise; doubles never raise, and what is not
finite becomes NULL before it is compared, chosen or added up; division by zero is NULL; every cast is one
that yields NULL instead of an error.  So no cell value can raise or show in an error, whatever the data.

What is known about the arguments is lost unless a rule says why it stays: a result is `held` only where the
rule states it, and beside it why.
"""

from collections.abc import Sequence

from discreet.errors import QueryError
from discreet.query.catalog.kind import Typed
from discreet.query.check.function import cast, day, logic, number, span, text, zone
from discreet.query.check.function.agreement import Rule, agree, graded, settle, to_real
from discreet.query.plan import too_large

__all__ = ["FUNCTIONS", "agree", "apply", "graded", "settle", "to_real"]

FUNCTIONS: dict[str, Rule] = {
    **number.RULES,
    **logic.RULES,
    **text.RULES,
    **day.RULES,
    **span.RULES,
    **cast.RULES,
    **zone.RULES,
}
"""Every scalar function a question may use, by the name the plan gives it."""


def apply(function: str, arguments: Sequence[Typed]) -> Typed:
    """Return the total form of a function applied to checked arguments."""
    rule = FUNCTIONS.get(function, {**day.STEPS, **number.BY_DIALECT}.get(function))
    if function in ("interval_low", "interval_high"):
        raise QueryError(
            f"DP_{function.upper()}", "is an end of a released value", "select it of an aggregate"
        )
    if rule is None:
        raise QueryError(
            "a window function",
            "over rows of people lets one row see other people's rows",
            "use it over aggregates, or use GROUP BY, or a subquery grouped by the person",
        )
    found = rule(function, arguments)
    if too_large(found.scalar):
        raise QueryError("an expression", "has too many parts", "compute it in steps, or more simply")
    return found
