"""The clauses around the aggregates, read as formulas over released values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from discreet.errors import QueryError
from discreet.query.check import function
from discreet.query.check.aggregate import Measuring
from discreet.query.check.formula import Constant, Formula, Key, Operation, Windowed
from discreet.query.check.measurement import KeyColumn
from discreet.query.check.scope import Lineage, resolve
from discreet.query.name import same
from discreet.query.plan import (
    Aggregate,
    Among,
    Block,
    Call,
    Case,
    Column,
    Item,
    Literal,
    Scalar,
    Window,
    aggregates,
    has_window,
    window_of,
)

FORMULA_LIMIT = 20_000

OPERATIONS = frozenset(
    (
        *("add", "subtract", "multiply", "divide", "absolute", "least", "greatest", "clamp", "sqrt", "round"),
        *("floor", "ceil", "power", "ln", "exp", "sign", "modulo", "quotient", "to_real", "to_whole"),
        *("eq", "ne", "lt", "le", "gt", "ge", "distinct", "and", "or", "not", "is_null", "coalesce"),
        *("nullif", "lower", "upper", "trim", "length", "concat", "left", "right", "substring"),
        *("ltrim", "rtrim", "replace", "split_part", "lpad", "rpad", "reverse", "initcap", "repeat"),
        *("starts_with", "like", "ilike", "to_text", "day_at", "moment_at", "to_day", "to_moment"),
    )
)
"""What may be computed from released values."""


def composed(scalar: Scalar, clause: str, read: Callable[[Scalar, str], Formula]) -> Formula:
    """Return a scalar of released values as a formula; `read` reads its parts."""
    match scalar:
        case Literal(value):
            return Constant(value)
        case Call("instant", (Literal(value),)):
            return Constant(value)
        case Call("window") as call:
            return _windowed(window_of(call), clause, read)
        case Call("negate", (argument,)):
            return Operation("subtract", (Constant(0), read(argument, clause)))
        case Call("divide_whole", arguments):
            # Released values are numbers with decimals, in every dialect.
            return Operation("divide", tuple(read(argument, clause) for argument in arguments))
        case Call("part" | "trunc" | "shift" | "difference" as name, (Literal(unit), *arguments)):
            return Operation(name, (Constant(unit), *(read(one, clause) for one in arguments)))
        case Call(name, arguments) if name in OPERATIONS:
            return Operation(name, tuple(read(argument, clause) for argument in arguments))
        case Call("interval_low" | "interval_high" as end):
            raise QueryError(
                f"DP_{end.upper()}", "stands alone in its column", "select it without arithmetic"
            )
        case Call():
            raise QueryError(
                clause, "this function cannot be applied to released values", "apply it to the answer"
            )
        case Case(branches, otherwise):
            parts = [read(part, clause) for branch in branches for part in branch]
            return Operation("case", (*parts, read(otherwise, clause)))
        case Among(argument, values):
            constants = tuple(Constant(value.value) for value in values)
            return Operation("among", (read(argument, clause), *constants))
        case _:
            raise QueryError(
                clause,
                "every column must be grouped by or aggregated",
                "add it to GROUP BY, or aggregate it",
            )


def _windowed(window: Window, clause: str, read: Callable[[Scalar, str], Formula]) -> Formula:
    if clause == "HAVING":
        raise QueryError(
            "a window function in HAVING", "is computed after it", "write QUALIFY, or filter a subquery"
        )
    return Windowed(
        window.function,
        tuple(read(part, clause) for part in window.arguments),
        tuple(read(part, clause) for part in window.partition),
        tuple((read(term.scalar, clause), term.descending, term.nulls_first) for term in window.order),
        window.frame,
    )


@dataclass(frozen=True, slots=True)
class Reading:
    """How the clauses around the aggregates are read: as keys, output names, and formulas."""

    scope: Lineage
    block: Block
    columns: tuple[KeyColumn, ...]
    measuring: Measuring
    labels: Mapping[str, Formula]
    steps: Iterator[int] = field(default_factory=count)

    def formula(self, scalar: Scalar, clause: str) -> Formula:
        """Return a clause as a formula over released values."""
        if next(self.steps) > FORMULA_LIMIT:
            # Output names that use each other can double with every one.
            raise QueryError(clause, "has too many parts", "compute it from the answer")
        if isinstance(scalar, Column) and scalar.relation is None:
            label = next((label for name, label in self.labels.items() if same(name, scalar.name)), None)
            if label is not None:
                return label
        if not aggregates(scalar) and not has_window(scalar):
            found = self._key(scalar)
            if found is not None:
                return found
        match scalar:
            case Aggregate():
                return self.measuring.formula(scalar)
            case Column(None, name) if (item := self._item(name)) is not None and item.scalar != scalar:
                return self.formula(item.scalar, clause)
            case Call("grouping", arguments):
                return self._grouping(arguments, clause)
            case _:
                return composed(scalar, clause, self.formula)

    def _grouping(self, arguments: tuple[Scalar, ...], clause: str) -> Formula:
        """Return which columns a row of subtotals leaves out, as bits: there it is NULL, and nowhere else."""
        total: Formula = Constant(0)
        for argument in arguments:
            key = self.formula(argument, clause)
            if not isinstance(key, Key) or None in (self.columns[key.position].values or ()):
                raise QueryError("GROUPING", "takes columns that are grouped by", "write GROUPING(a)")
            left_out = Operation("is_null", (key,)) if self.block.sets is not None else Constant(False)
            bit = Operation("case", (left_out, Constant(1), Constant(0)))
            doubled = Operation("multiply", (total, Constant(2)))
            total = bit if total == Constant(0) else Operation("add", (doubled, bit))
        return total

    def _item(self, name: str) -> Item | None:
        return next((item for item in self.block.items if same(item.name, name)), None)

    def _key(self, scalar: Scalar) -> Formula | None:
        if scalar in self.block.group:
            return Key(self.block.group.index(scalar))
        if isinstance(scalar, Literal):
            return None
        try:
            resolved = function.settle(resolve(scalar, self.scope, "SELECT")).scalar
        except QueryError:
            if isinstance(scalar, Column) and self._item(scalar.name) is None:
                raise
            return None
        matches = [position for position, column in enumerate(self.columns) if column.scalar == resolved]
        return Key(matches[0]) if matches else None
