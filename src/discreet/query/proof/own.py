"""What a person's rows count for where each has that person's share: a product of aggregates of one group."""

from discreet.query.plan import Call, Scalar
from discreet.query.proof.demand import fitting
from discreet.query.proof.function import Leaf, evaluate
from discreet.query.proof.value import Kind, Value
from discreet.query.proof.weight import bare, shared_out

COUNT = Call("count_rows", ())


def own_count(scalar: Scalar, leaf: Leaf) -> Value | None:
    """Return what is known of a count of a group's rows times a share of them, None for anything else.

    Rule.  In a group of n >= 1 rows let 0 <= w <= floor(A / n), and let c be the number of its rows or of
    those with a value, so 0 <= c <= n.  Then 0 <= c w <= n floor(A / n) <= A, and where A fits into 64 bits
    so does all that is computed.  Needs: w divides by the number of all rows of this very group, and never by
    zero: a group has a row, but without groups there may be none.
    """
    match scalar:
        case Call("multiply_long", (Call("count_rows" | "count_values") as count, weight)):
            most = shared_out(bare(weight), COUNT)
            counted, held = evaluate(count, leaf), evaluate(weight, leaf)
            if most is None or held.kind is not Kind.WHOLE or min(counted.low, held.low) < 0:
                return None
            return fitting("multiply_long", 0, most, max(64, held.bits), null=held.null)
        case _:
            return None
