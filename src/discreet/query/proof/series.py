"""Windows over the rows of each person."""

from collections.abc import Sequence

from discreet.errors import ProofError
from discreet.query.plan import WINDOW, Call, Column, Literal, Scalar, Window, constant, window_of
from discreet.query.proof.function import COUNTED, aggregate, evaluate
from discreet.query.proof.relation import Name, Relation
from discreet.query.proof.value import MOST_ROWS, Value, union, whole
from discreet.query.statement import Query

RANKED = frozenset(("row_number", "rank", "dense_rank"))
PICKED = frozenset(("lag", "lead", "first_value", "last_value", "min", "max"))
ALL_ROWS, SO_FAR = ("rows", None, None), ("range", None, 0)


def is_window(scalar: Scalar) -> bool:
    """Whether a scalar is a window."""
    return isinstance(scalar, Call) and scalar.function == WINDOW


def windowed(query: Query, source: Relation) -> tuple[dict[Name, Value], tuple[frozenset[Name], ...]]:
    """What the columns of a query with windows hold, and which of them number a person's rows.

    Rule.  Let the partition of a window have a column that holds the person.  Then every row sees rows of its
    own person alone, so with its windows beside them the rows of p are a function of R_p, and they are as
    many as before.  That needs a value for each row which the rows and not their order in an engine decide:

        RANK, DENSE_RANK, and aggregates of the whole partition or of all rows up to the last that is equal in
        the order, are functions of a multiset of rows;
        any other window needs an order without ties: some columns that no two rows of a person agree in are
        all ordered by, or partitioned by.  NTH_VALUE(x, n) is then x of one of the rows that the frame has,
        or NULL where it has fewer.  NTILE(n) deals the rows of such an order out to n parts, whose
        numbers are 1 to n.

    ROW_NUMBER by the person alone is different in any two rows of a person.  Sums are of whole numbers.
    """
    owner = source.owner
    if owner is None or not owner.people:
        raise ProofError("a window", "has no person to see the rows of")
    columns: dict[Name, Value] = {}
    numbers: list[frozenset[Name]] = []
    for name, scalar in query.items:
        if isinstance(scalar, Column):
            columns["", name] = source.value(scalar)
            continue
        if not isinstance(scalar, Call) or not is_window(scalar):
            raise ProofError("a window", "must stand alone beside plain columns")
        window = _read(scalar)
        partition, order = _columns(window.partition), _columns([term.scalar for term in window.order])
        if not partition & owner.people:
            raise ProofError("a window", "sees rows of other people")
        if not partition | order <= source.columns.keys():
            raise ProofError("a window", "has a partition or order that does not exist there")
        if not _decided(window) and not any(unique <= partition | order for unique in source.unique):
            raise ProofError("a window", "may be decided by a tie between different rows")
        columns["", name] = _value(window, source)
        if window.function == "row_number" and partition <= owner.people:
            numbers.append(frozenset((("", name),)))
    return columns, tuple(numbers)


def _read(call: Call) -> Window:
    """Return the window that a call stands for, refusing one that stands for none."""
    head = [part.value if isinstance(part, Literal) else None for part in call.arguments[:3]]
    if [type(part) for part in head] != [str, int, int]:
        raise ProofError("a window", "is not written as one")
    return window_of(call)


def _columns(scalars: Sequence[Scalar]) -> frozenset[Name]:
    if not all(isinstance(scalar, Column) for scalar in scalars):
        raise ProofError("a window", "is partitioned and ordered by plain columns")
    return frozenset((scalar.relation or "", scalar.name) for scalar in scalars if isinstance(scalar, Column))


def _decided(window: Window) -> bool:
    """Whether a window is a function of a multiset of rows, whatever the order of ties."""
    if window.function in ("rank", "dense_rank"):
        return True
    return window.function in ("sum", "count", "min", "max") and (
        window.frame == ALL_ROWS or (window.frame == SO_FAR and bool(window.order))
    )


def _value(window: Window, source: Relation) -> Value:
    kind, *ends = window.frame
    if kind not in ("rows", "range") or not all(end is None or type(end) is int for end in ends):
        raise ProofError("a window", "has a frame that is not one of rows")
    if kind == "range" and window.frame != SO_FAR:
        raise ProofError("a window", "has a range that is not all rows so far")
    match window.function, window.arguments:
        case function, () if function in RANKED:
            return whole(1, MOST_ROWS, null=False)
        case "ntile", (Literal() as parts,):
            count = constant(parts)
            if count is not None and 1 <= count <= 10**6:
                return whole(1, count, null=False)
        case "count", (argument,):
            evaluate(argument, source.leaf)
            return COUNTED
        case "sum", (argument,):
            total = aggregate(Call("sum", (argument,)), source.leaf, source.rows, grouped=True)
            if total is not None:
                return total
        case (("lag" | "lead"), (Column() as argument, Literal() as distance)):
            steps = constant(distance)
            held = union([source.value(argument)])
            if steps is not None and 0 <= steps <= 10**6 and held is not None:
                return held
        case "nth_value", (Column() as argument, Literal() as number):
            place = constant(number)
            held = union([source.value(argument)])
            if place is not None and 1 <= place <= 10**6 and held is not None:
                return held
        case function, (Column() as argument,) if function in PICKED - {"lag", "lead"}:
            held = union([source.value(argument)])
            if held is not None:
                return held
    raise ProofError("a window", "has a function or arguments that the checker does not know")
