"""Decimal group keys: a number on a declared grid is grouped by as the whole number of its steps.

Doubles are not told apart outside of an engine; whole numbers are.  What leaves is the number of steps, and
what is shown is that number times the step.
"""

from dataclasses import replace

from discreet.query.catalog.kind import Real
from discreet.query.check import function
from discreet.query.check.scope import Lineage, resolve
from discreet.query.plan import Aggregate, Block, Call, Item, Literal, Scalar, aggregates, rebuilt

FINEST = 10**6
"""Steps in 1; a finer grid is no longer one of keys that people share."""


def on_grid(block: Block, scope: Lineage) -> Block:
    """Return a block whose decimal keys with a step are whole numbers of steps."""
    steps = {term: found for term in block.group if (found := _steps(term, scope)) is not None}
    if not steps:
        return block
    whole = {
        term: Call("round", (Call("multiply", (term, Literal(count))),)) for term, count in steps.items()
    }

    def shown(scalar: Scalar) -> Scalar | None:
        if isinstance(scalar, Aggregate):
            return scalar
        return Call("divide", (whole[scalar], Literal(steps[scalar]))) if scalar in steps else None

    def change(scalar: Scalar) -> Scalar:
        return rebuilt(scalar, shown)

    return replace(
        block,
        items=tuple(Item(item.name, change(item.scalar)) for item in block.items),
        group=tuple(whole.get(term, term) for term in block.group),
        having=None if block.having is None else change(block.having),
        qualify=None if block.qualify is None else change(block.qualify),
        order=tuple(replace(order, scalar=change(order.scalar)) for order in block.order),
    )


def _steps(term: Scalar, scope: Lineage) -> int | None:
    """Return how many steps make 1 where a key is a decimal on a grid."""
    if aggregates(term) or isinstance(term, Literal):
        return None
    kind = function.settle(resolve(term, scope, "GROUP BY")).kind
    if not isinstance(kind, Real) or kind.step is None or kind.step.numerator != 1:
        return None
    return kind.step.denominator if kind.step.denominator <= FINEST else None
