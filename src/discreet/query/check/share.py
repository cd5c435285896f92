"""Bounds of what one person adds to a group: the sums of each person first, clamped, and then added up.

SUM(x, contribution_bounds_per_group => (a, b)) is SUM(CLAMP(s, a, b)) over the sums s of each person in each
group; a count is a sum of counts, an average that of the people's own averages.  The block that comes out is
an ordinary one over a subquery that groups by the person, and is checked as such.
"""

from dataclasses import replace
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.check.scope import Lineage
from discreet.query.name import HIDDEN
from discreet.query.plan import (
    Aggregate,
    Block,
    Call,
    Column,
    Item,
    Literal,
    Nested,
    Scalar,
    aggregates_of,
    change_asked,
    rebuilt,
)

SHARES = f"{HIDDEN}shares"


def bounded_shares(block: Block, scope: Lineage) -> Block:
    """Return a question with bounds per person and group as one about the sums of each person."""
    asked = list(dict.fromkeys(aggregates_of(block)))
    if all(one.within is None for one in asked):
        return block
    person = next((column for column in scope.columns if column.typed.scalar in scope.units), None)
    if person is None or block.sets is not None:
        raise QueryError(
            "contribution_bounds_per_group",
            "needs the person's column, and plain groups",
            "sum per person first: SELECT SUM(CLAMP(s, 0, 100)) FROM (SELECT person, SUM(x) AS s FROM t "
            "GROUP BY person)",
        )
    own = Column(person.alias, person.name)
    keys = {term: f"key{place}" for place, term in enumerate(block.group)}
    sums = {one: f"share{place}" for place, one in enumerate(asked)}
    people = [one for one in asked if _counts_people(one, scope)]
    items = [Item(name, term) for term, name in keys.items()]
    items += [Item(sums[one], replace(one, within=None)) for one in asked if one not in people]
    shares = Block(
        block.source,
        (Item(person.name, own), *items),
        block.where,
        (own, *(term for term in block.group if term != own)),
    )

    def meant(scalar: Scalar) -> Scalar | None:
        if isinstance(scalar, Aggregate):
            return _outer(scalar, Column(SHARES, person.name if scalar in people else sums[scalar]))
        return Column(SHARES, keys[scalar]) if scalar in keys else None

    return replace(
        change_asked(block, lambda scalar: rebuilt(scalar, meant)),
        source=Nested(shares, SHARES),
        where=None,
        group=tuple(Column(SHARES, name) for name in keys.values()),
    )


def _counts_people(one: Aggregate, scope: Lineage) -> bool:
    """Whether an aggregate is the number of people, which no bound changes."""
    argument = one.argument
    if one.function != "count" or not one.distinct or not isinstance(argument, Column) or one.where:
        return False
    named = [c for c in scope.columns if c.name == argument.name and argument.relation in (None, c.alias)]
    return len(named) == 1 and named[0].typed.scalar in scope.units


def _outer(one: Aggregate, share: Column) -> Scalar:
    if one.function == "count" and one.distinct and one.within is None:
        return Aggregate("count", share, distinct=True)
    if one.within is None and (one.function not in ("count", "sum") or one.distinct):
        raise QueryError(
            f"{one.function.upper()} beside contribution_bounds_per_group",
            "is not made of what each person adds",
            "ask for it in a question of its own",
        )
    value = share if one.within is None else Call("clamp", (share, *map(_constant, one.within)))
    return Aggregate("avg" if one.function == "avg" else "sum", value)


def _constant(number: Fraction) -> Literal:
    return Literal(int(number) if number.denominator == 1 else number)
