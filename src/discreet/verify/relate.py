"""Whether concrete inputs satisfy the header's formula: one input by itself, and two as neighbours."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from discreet.errors import ParameterError
from discreet.verify.check import CheckedProgram
from discreet.verify.domain import INDEX, Domain, cases, domain, expanded, valid
from discreet.verify.run import ExactDraws, FaultError, Run, Value
from discreet.verify.spelling import show
from discreet.verify.substitute import mapped
from discreet.verify.syntax import (
    Array,
    Element,
    Expr,
    Scalar,
    SensitiveQuery,
    Size,
    Type,
    Variable,
    names,
)


def violated(checked: CheckedProgram, values: Mapping[str, Value]) -> str | None:
    """Return the first clause that an input violates, as text, or None if it is a valid input."""
    for parameter in checked.program.parameters:
        if not _typed(parameter.type, values[parameter.name]):
            return f"{parameter.name} is of its declared type"
    always, ranges = valid(checked.program)
    for clause in always:
        if not _holds(checked, clause, values):
            return show(clause)
    for name, clauses in ranges.items():
        for place in range(len(values[name])):
            for clause in clauses:
                if not _holds(checked, clause, {**values, INDEX: place}):
                    return show(clause).replace(INDEX, str(place))
    return None


@dataclass(slots=True)
class Judge:
    """Decides which inputs of one program are neighbours; remembers the formula for lists of each size."""

    checked: CheckedProgram
    known: dict[tuple[tuple[int, int], ...], list["Formula"]] = field(default_factory=dict)

    def are_neighbours(self, first: Mapping[str, Value], second: Mapping[str, Value]) -> bool:
        """Return whether two complete inputs are valid neighbours."""
        program = self.checked.program
        for parameter in program.parameters:
            name = parameter.name
            shared = not parameter.private and not isinstance(parameter.type, SensitiveQuery)
            if shared and first[name] != second[name]:
                return False
            if not (_typed(parameter.type, first[name]) and _typed(parameter.type, second[name])):
                return False
        values: dict[str, Value] = {}
        for side, given in ((1, first), (2, second)):
            values |= {f"{name}{{{side}}}": value for name, value in given.items()}
        values |= {p.name: first[p.name] for p in program.parameters if not p.private}
        return self._related(values) and _queries_agree(self.checked, first, second)

    def _related(self, values: Mapping[str, Value]) -> bool:
        lists = [p.name for p in self.checked.program.parameters if isinstance(p.type, Array)]
        sizes = {name: (len(values[f"{name}{{1}}"]), len(values[f"{name}{{2}}"])) for name in lists}
        key = tuple(sizes.values())
        if key not in self.known:
            self.known[key] = list(self._formulas(sizes))
        for fixed, moving, witnesses in self.known[key]:
            if not all(_holds(self.checked, clause, values) for clause in fixed):
                continue
            for witness in witnesses:
                if all(_holds(self.checked, clause, {**values, **witness}) for clause in moving):
                    return True
        return False

    def _formulas(self, sizes: Mapping[str, tuple[int, int]]) -> Iterator["Formula"]:
        for case in cases(self.checked.program):
            formula = domain(self.checked.program, case)
            places = set(formula.positions.values())
            clauses = [marked(e) for e in expanded(formula, sizes)]
            fixed = [clause for clause in clauses if not names(clause) & places]
            moving = [clause for clause in clauses if names(clause) & places]
            yield fixed, moving, _witnesses(formula, sizes)


Formula = tuple[list[Expr], list[Expr], list[dict[str, int]]]
"""What holds whatever place changes, what holds for a place, and the places."""


def are_neighbours(checked: CheckedProgram, first: Mapping[str, Value], second: Mapping[str, Value]) -> bool:
    """Return whether two complete inputs of a program are valid neighbours."""
    return Judge(checked).are_neighbours(first, second)


def _typed(kind: Type, value: Value) -> bool:
    """Return whether a value is one of a type: whole numbers where they must be, bits that fit."""
    match kind:
        case Array(element):
            return all(_typed(element, item) for item in value)
        case SensitiveQuery():
            return callable(value)
        case Scalar("bool"):
            return isinstance(value, bool)
        case Scalar("bits", length=length):
            return value >= 0 and (not isinstance(length, int) or value < 2**length)
        case Scalar("int"):
            return isinstance(value, Fraction | int) and value.denominator == 1
        case _:
            return not isinstance(value, bool)


def _witnesses(formula: Domain, sizes: Mapping[str, tuple[int, int]]) -> list[dict[str, int]]:
    names = list(formula.positions)
    places = [range(max(sizes[name]) + 1) for name in names]
    return [
        {formula.positions[name]: place for name, place in zip(names, chosen, strict=True)}
        for chosen in product(*places)
    ]


def _queries_agree(checked: CheckedProgram, first: Mapping[str, Value], second: Mapping[str, Value]) -> bool:
    """Return whether each query is one function with values no further apart than its sensitivity.

    A function whose values on some lists lie in an interval of the length of its sensitivity can be continued
    to all lists by a constant, so no more than this is asked.
    """
    lists = [p.name for p in checked.program.parameters if isinstance(p.type, Array) and p.private]
    for parameter in checked.program.parameters:
        if not isinstance(parameter.type, SensitiveQuery):
            continue
        table: dict[tuple[Value, ...], Value] = {}
        for given in (first, second):
            for name in lists:
                value = given[parameter.name](given[name])
                if table.setdefault(tuple(given[name]), value) != value:
                    return False
        seen = list(table.values())
        if seen and max(seen) - min(seen) > first[parameter.type.sensitivity]:
            return False
    return True


def marked(expression: Expr) -> Expr:
    """Return a relational expression in which x{1} and x{2} are names of their own."""
    match expression:
        case Variable(name, int(side)) if side:
            return Variable(f"{name}{{{side}}}")
        case Element(array, index, int(side)) if side:
            return Element(f"{array}{{{side}}}", marked(index))
        case Size(array, side):
            return Size(f"{array}{{{side or 1}}}")
        case _:
            return mapped(expression, marked)


def _holds(checked: CheckedProgram, clause: Expr, values: Mapping[str, Value]) -> bool:
    """Return whether a clause holds; one that has no value does not."""
    try:
        return bool(Run(checked, ExactDraws(), dict(values)).value(clause))
    except FaultError:
        return False


def require_valid(checked: CheckedProgram, values: Mapping[str, Value]) -> None:
    """Refuse an input that violates the header."""
    clause = violated(checked, values)
    if clause is not None:
        raise ParameterError(f"the program's header says {clause}, which these inputs violate")
