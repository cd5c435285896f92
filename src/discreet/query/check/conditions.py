"""What a row can say about several conditions and group keys at once.

A column that is only compared with constants has finitely many values that stand for all, declared or not,
and conditions are evaluated on them; a condition that cannot be evaluated so may be true or false in any
cell.  That decides how good a plan is, never whether it is private: a row in a cell that was thought
impossible is left out.  Only where a text is declared with nullable = false are its declared values taken to
be all of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, floor, prod

from discreet.errors import QueryError
from discreet.query.catalog.column import DeclaredColumn
from discreet.query.catalog.kind import Text, Whole, domain
from discreet.query.catalog.kind import Truth as TruthKind
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.formula import Constant, Formula, Key, Operation, Public, evaluate
from discreet.query.check.measurement import Cell, Checked, KeyColumn
from discreet.query.plan import Among, Call, Case, Column, Literal, Scalar, given, walk
from discreet.query.statement import StoredTable

COMBINATIONS = 20_000
"""The most combinations of declared values on which conditions are evaluated beforehand."""

WRITTEN = 64
"""A distribution of more cells has its cell computed, instead of asked for one by one."""

NUMBERED, SPELLED = 2**53, 2**126
"""Up to the first, cells have numbers, which stay different even as doubles; up to the second, texts."""

COMPARED = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
EVALUATED = COMPARED | {"and", "or", "not", "is_null", "coalesce", "add", "subtract", "multiply", "clamp"}


Truth = tuple[tuple[bool, ...], tuple[Public, ...]]
"""What one cell says: which conditions hold, and the value of every group key (None: not a declared one)."""


@dataclass(frozen=True, slots=True)
class Truths:
    """The conditions and group keys of a batch, and the columns whose values decide about them."""

    conditions: list[Scalar | None]
    keys: list[KeyColumn]
    worlds: dict[Scalar, tuple[Public, ...]]
    open: frozenset[int]
    """Conditions that cannot be evaluated beforehand."""

    @classmethod
    def of(
        cls, conditions: list[Scalar | None], keys: list[KeyColumn], catalog: Catalog, first: Checked
    ) -> "Truths":
        """Return what decides about the conditions and keys of questions about one table."""
        worlds: dict[Scalar, tuple[Public, ...]] = {
            key.scalar: (*(key.values or ()), *_other(_column(key.scalar, catalog, first))) for key in keys
        }
        listed = {key.scalar: key.values or () for key in keys}
        undecided = set()
        for number, condition in enumerate(conditions):
            found = None if condition is None else _worlds(condition, conditions, listed, catalog, first)
            if condition is not None and found is None:
                undecided.add(number)
            elif found is not None and prod(len(v) for v in {**worlds, **found}.values()) <= COMBINATIONS:
                worlds |= found
            elif found is not None:
                undecided.add(number)
        if prod(len(values) for values in worlds.values()) * 2 ** len(undecided) > COMBINATIONS:
            raise QueryError(
                "the batch",
                f"has more than {COMBINATIONS} combinations of conditions and groups",
                "ask fewer questions at once, or use GROUP BY GROUPING SETS for tables",
            )
        made = cls(conditions, keys, worlds, frozenset(undecided))
        if made.numbers > SPELLED:
            raise QueryError("the batch", "has too many different conditions", "ask fewer questions at once")
        return made

    @property
    def numbers(self) -> int:
        """How many numbers of cells there are, possible ones or not."""
        conditions = sum(condition is not None for condition in self.conditions)
        return (1 << conditions) * prod(len(key.values or ()) + 1 for key in self.keys)

    def feasible(self) -> Iterator[Truth]:
        """Yield what rows can say."""
        scalars = list(self.worlds)
        declared = [(scalars.index(key.scalar), frozenset(key.values or ())) for key in self.keys]
        formulas = [
            None if number in self.open or condition is None else given(_formula(condition, scalars))
            for number, condition in enumerate(self.conditions)
        ]
        seen: set[Truth] = set()
        for world in product(*self.worlds.values()):
            values = tuple(world[place] if world[place] in listed else None for place, listed in declared)
            known = [
                condition is None or (formula is not None and evaluate(formula, world, {}) is True)
                for condition, formula in zip(self.conditions, formulas, strict=True)
            ]
            for guess in product((False, True), repeat=len(self.open)):
                for number, true in zip(sorted(self.open), guess, strict=True):
                    known[number] = true
                truth = (tuple(known), values)
                if truth not in seen:
                    seen.add(truth)
                    yield truth

    def code(self, truth: Truth) -> Cell:
        """Return the name of a cell: one digit for each condition and key."""
        true, values = truth
        digits = [
            (int(holds), 2)
            for condition, holds in zip(self.conditions, true, strict=True)
            if condition is not None
        ]
        for key, value in zip(self.keys, values, strict=True):
            listed = key.values or ()
            digits.append((0 if value is None else 1 + listed.index(value), len(listed) + 1))
        if self.numbers > NUMBERED:
            return "".join(_spelled(*digit) for digit in digits)
        code = 0
        for digit, base in digits:
            code = base * code + digit
        return code

    def scalar(self) -> Scalar:
        """Return the name of a row's cell, as the engine computes it.

        A number that does not fit would be an error of the engine, and whether it occurs would depend on the
        data; so there are texts instead, of one length, which no digit can make too long.
        """
        branches: list[tuple[tuple[Scalar, ...], int]] = [
            ((condition,), 2) for condition in self.conditions if condition is not None
        ]
        for key in self.keys:
            listed = key.values or ()
            equal = tuple(Call("eq", (key.scalar, Literal(value))) for value in listed)
            branches.append((equal, len(listed) + 1))
        if self.numbers > NUMBERED:
            return Call("concat", tuple(_chosen(tests, base, _spelled) for tests, base in branches))
        code: Scalar = Literal(0)
        runs = dict(enumerate(map(_running_digit, self.keys), len(branches) - len(self.keys)))
        for place, (tests, base) in enumerate(branches):
            digit = runs.get(place) or _chosen(tests, base, lambda number, _: number)
            code = (
                digit if code == Literal(0) else Call("add", (Call("multiply", (code, Literal(base))), digit))
            )
        return code


def _spelled(digit: int, base: int) -> str:
    """Return a digit as a text that is as long as that of any other of this base."""
    return str(digit).zfill(len(str(base - 1)))


def _chosen(tests: Sequence[Scalar], base: int, name: Callable[[int, int], Cell]) -> Scalar:
    """Return the digit that says which of some conditions is the first to hold; zero if none does."""
    branches = tuple((test, Literal(name(number, base))) for number, test in enumerate(tests, 1))
    return Case(branches, Literal(name(0, base)))


def _running_digit(key: KeyColumn) -> Scalar | None:
    """Return the digit of a long distribution's cell, whose number says it: cell k of 0, 1, ... has k + 1.

    Short ones are written out, as they always were; a long one would be a text of megabytes.
    """
    cells = key.values or ()
    if key.ends is None or len(cells) <= WRITTEN or cells != tuple(range(len(cells))):
        return None
    last = Literal(len(cells) - 1)
    there = Call("and", (Call("ge", (key.scalar, Literal(0))), Call("le", (key.scalar, last))))
    inside = key.scalar
    if not (
        isinstance(inside, Call) and inside.function == "clamp" and inside.arguments[1:] == (Literal(0), last)
    ):
        inside = Call("clamp", (inside, Literal(0), last))
    return Case(((there, Call("add", (inside, Literal(1)))),), Literal(0))


def _worlds(
    condition: Scalar,
    conditions: Sequence[Scalar | None],
    listed: Mapping[Scalar, tuple[Public, ...]],
    catalog: Catalog,
    first: Checked,
) -> dict[Scalar, tuple[Public, ...]] | None:
    """Return finitely many values of each column of a condition that stand for all, or None.

    `listed` are the group keys with their values, each of which stands for itself.
    """
    found: dict[Scalar, tuple[Public, ...]] = {}
    for column in (part for part in walk(condition) if isinstance(part, Column)):
        declared = _column(column, catalog, first)
        values = _values(column, condition, conditions, listed.get(column, ()), declared)
        if values is None:
            return None
        found[column] = values
    return found if _formula(condition, list(found)) is not None else None


def _values(
    column: Column,
    condition: Scalar,
    conditions: Sequence[Scalar | None],
    listed: tuple[Public, ...],
    declared: DeclaredColumn | None,
) -> tuple[Public, ...] | None:
    null = () if declared is not None and not declared.nullable else (None,)
    if declared is not None and (isinstance(declared.kind, TruthKind) or _complete(declared)):
        return (*given(domain(declared.kind)), *null)
    if _points(column, condition) is None:
        return None
    points = {point for other in conditions for point in _points(column, other) or ()}
    whole = declared is not None and isinstance(declared.kind, Whole)
    # With the first and last key, what lies between two points is either declared or not.
    around = _around({*points, *listed[:1], *listed[-1:]}, whole=whole)
    return None if around is None else tuple(dict.fromkeys((*listed, *around, *null)))


def _column(scalar: Scalar, catalog: Catalog, first: Checked) -> DeclaredColumn | None:
    """Return the declaration of a column of the one table that is counted."""
    source = first.rows.source
    table = catalog.table(source.table) if isinstance(source, StoredTable) else None
    return table.column(scalar.name) if table is not None and isinstance(scalar, Column) else None


def _complete(declared: DeclaredColumn) -> bool:
    """Whether a column can hold nothing but its declared values; bounds only say where numbers are cut."""
    return (
        not declared.nullable and isinstance(declared.kind, Text | TruthKind) and bool(domain(declared.kind))
    )


def _other(declared: DeclaredColumn | None) -> tuple[None, ...]:
    """Return NULL, which stands for all values of a key that are not declared, unless there can be none."""
    return () if declared is not None and _complete(declared) else (None,)


def _points(column: Column, condition: Scalar | None) -> set[Public] | None:
    """Return the constants that a column is compared with, or None if something else is done with it."""
    points: set[Public] = set()
    uses = 0
    for part in () if condition is None else walk(condition):
        uses += part == column
        match part:
            case Call(name, (left, Literal(value))) if left == column and name in COMPARED:
                found = [value]
            case Among(argument, values) if argument == column:
                found = [constant.value for constant in values]
            case Call("is_null", (argument,)) if argument == column:
                found = []
            case _:
                continue
        points.update(map(_seen, found))
        uses -= 1
    return None if uses else points


def _around(points: set[Public], *, whole: bool) -> tuple[Public, ...] | None:
    """Return the points and values between and beyond them, or None for what has no such order."""
    kinds = {type(point) for point in points}
    if kinds <= {int, Fraction}:
        numbers = [Fraction(point) for point in points] or [Fraction(0)]  # type: ignore[arg-type]
        return _whole_numbers(numbers) if whole else _numbers(sorted(numbers))
    if kinds == {str}:
        # No text lies between one and the same with the first of all characters behind it.
        return tuple(f"{point}{more}" for point in ("", *points) for more in ("", "\0"))
    if kinds == {date}:
        days = [point for point in points if isinstance(point, date)]
        if min(days) == date.min or max(days) == date.max:
            return None
        return tuple(day + timedelta(days=more) for day in days for more in (-1, 0, 1))
    return None


def _whole_numbers(points: Sequence[Fraction]) -> tuple[int, ...]:
    return tuple(number for point in points for number in range(ceil(point) - 1, floor(point) + 2))


def _numbers(points: Sequence[Fraction]) -> tuple[Fraction, ...]:
    between = [(one + other) / 2 for one, other in pairwise(points)]
    return (points[0] - 1, *points, *between, points[-1] + 1)


def _seen(value: Public) -> Public:
    """Return a constant as the engine sees it: fractions are binary there."""
    return Fraction(float(value)) if isinstance(value, Fraction) else value


def _formula(scalar: Scalar, columns: Sequence[Scalar]) -> Formula | None:
    """Return a condition as a formula over the values of columns, or None where that is not exact."""
    if scalar in columns:
        return Key(columns.index(scalar))
    match scalar:
        case Literal(value):
            return Constant(_seen(value))
        case Call(name, arguments) if name in EVALUATED:
            parts = [_formula(argument, columns) for argument in arguments]
            return _whole_formula(name, parts)
        case Among(argument, values):
            return _whole_formula(
                "among", [_formula(argument, columns), *(Constant(_seen(value.value)) for value in values)]
            )
        case Case(branches, otherwise):
            parts = [_formula(part, columns) for branch in branches for part in branch]
            return _whole_formula("case", [*parts, _formula(otherwise, columns)])
        case _:
            return None


def _whole_formula(name: str, parts: Sequence[Formula | None]) -> Formula | None:
    known = tuple(part for part in parts if part is not None)
    return Operation(name, known) if len(known) == len(parts) else None
