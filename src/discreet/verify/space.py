"""Neighbouring inputs found by solving: the header's formula for lists of given sizes, and wishes.

A wish asks that some symbol have some value, in order of importance.  Each is granted if the formula, with
the wishes granted before, still has a solution; what nobody wished for is whatever the solver likes.  So the
pair that comes out is always one of neighbours, and as close to what was asked for as the header allows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import z3

from discreet.verify.check import CheckedProgram
from discreet.verify.discharge import solver
from discreet.verify.domain import domain, expanded
from discreet.verify.limit import milliseconds, tick
from discreet.verify.relate import are_neighbours
from discreet.verify.run import Value
from discreet.verify.spelling import show
from discreet.verify.syntax import (
    Apply,
    Array,
    Ask,
    Element,
    Expr,
    Kind,
    Scalar,
    SensitiveQuery,
    Size,
    Variable,
)
from discreet.verify.term import Reader, Term, UnsupportedError, real, symbol

PATIENCE = 400
"""Milliseconds for one wish."""


@dataclass(frozen=True, slots=True)
class NeighbourPair:
    """Two complete neighbouring inputs; `private` names what may differ."""

    first: Mapping[str, Value]
    second: Mapping[str, Value]
    private: tuple[str, ...]


Wish = tuple[str, Fraction | int | bool]
"""The name of a symbol (x, x{1}, q{2}[0], f(d){1}) and the value it should have."""


@dataclass(frozen=True, slots=True)
class TabledQuery:
    """A query as a table; the lists that it is asked about are few."""

    table: Mapping[tuple[Value, ...], Value]

    def __call__(self, data: Sequence[Value]) -> Value:
        """Return the answer about a list."""
        return self.table[tuple(data)]


@dataclass(slots=True)
class Space:
    """All neighbouring pairs of one case with lists of given sizes."""

    checked: CheckedProgram
    case: str
    sizes: Mapping[str, tuple[int, int]]
    known: dict[str, Term] = field(default_factory=dict)
    query: z3.Solver = field(init=False)

    def __post_init__(self) -> None:
        self.query = solver(PATIENCE)
        program = self.checked.program
        for parameter in program.parameters:
            match parameter.type:
                case Scalar(kind):
                    if kind == "bits":
                        self._bits(parameter.name, parameter.type, private=parameter.private)
                    elif parameter.private:
                        for side in (1, 2):
                            self.known[f"{parameter.name}{{{side}}}"] = symbol(
                                f"{parameter.name}{{{side}}}", kind
                            )
                    else:
                        self.known[parameter.name] = symbol(parameter.name, kind)
                case Array(element):
                    for side, size in enumerate(self.sizes[parameter.name], start=1):
                        shared = side if parameter.private else 1
                        for place in range(size):
                            made = symbol(f"{parameter.name}{{{shared}}}[{place}]", _kind(element))
                            self.known[f"{parameter.name}{{{side}}}[{place}]"] = made
                            if element.kind == "bits":
                                self.query.add(made >= 0, made < 2 ** _bits_of(element))
                case SensitiveQuery():
                    pass
        formula = domain(program, self.case)
        for name in formula.positions.values():
            self.known[name] = z3.Int(name)
        for clause in expanded(formula, self.sizes):
            self.query.add(self.read(clause))
        self._queries()

    def _bits(self, name: str, kind: Scalar, *, private: bool) -> None:
        for key in (f"{name}{{1}}", f"{name}{{2}}") if private else (name,):
            self.known[key] = z3.Int(key)
            self.query.add(self.known[key] >= 0, self.known[key] < 2 ** _bits_of(kind))

    def _queries(self) -> None:
        """Let every query be one function with values no further apart than its sensitivity."""
        program = self.checked.program
        lists = [p.name for p in program.parameters if isinstance(p.type, Array) and p.private]
        for parameter in program.parameters:
            if not isinstance(parameter.type, SensitiveQuery):
                continue
            points = [(name, side) for name in lists for side in (1, 2)]
            for name, side in points:
                key = f"{parameter.name}({name}){{{side}}}"
                self.known[key] = z3.Real(key)
            bound = real(self.known[parameter.type.sensitivity])
            for place, (name, side) in enumerate(points):
                here = self.known[f"{parameter.name}({name}){{{side}}}"]
                for other, run in points[:place]:
                    there = self.known[f"{parameter.name}({other}){{{run}}}"]
                    self.query.add(here - there <= bound, there - here <= bound)
                    self.query.add(z3.Or(self._differ(name, side, other, run), here == there))

    def _differ(self, name: str, side: int, other: str, run: int) -> Term:
        length, width = self.sizes[name][side - 1], self.sizes[other][run - 1]
        if length != width:
            return z3.BoolVal(True)
        pairs = [
            (self.known[f"{name}{{{side}}}[{i}]"], self.known[f"{other}{{{run}}}[{i}]"])
            for i in range(length)
        ]
        return z3.Or(*(a != b for a, b in pairs if z3.is_bool(a) == z3.is_bool(b)))

    def read(self, expression: Expr) -> Term:
        """Return a relational expression about this pair as a term."""

        def name(node: Variable) -> Term:
            return self.known[f"{node.name}{{{node.side}}}" if node.side else node.name]

        def element(node: Element, index: Term) -> Term:
            place = z3.simplify(index)
            key = f"{node.array}{{{node.side or 1}}}[{place}]"
            if not z3.is_int_value(place) or key not in self.known:
                raise UnsupportedError(f"{show(node)} is outside its list")
            return self.known[key]

        def apply(call: Apply | Size | Ask) -> Term:
            if isinstance(call, Size):
                return z3.IntVal(self.sizes[call.array][(call.side or 1) - 1])
            raise UnsupportedError(f"{show(call)} cannot be used in the header")

        def remainder(kind: str, left: Term, right: Term) -> Term:
            return left % right

        return Reader(name, element, apply, remainder, self.query.add)(expression)

    def pair(self, wishes: Iterable[Wish], also: Iterable[Term] = ()) -> NeighbourPair | None:
        """Return neighbours that grant as many wishes as possible, the first ones first."""
        tick()
        self.query.push()
        try:
            self.query.add(*also)
            self.query.set("timeout", milliseconds(PATIENCE))
            if self.query.check() != z3.sat:
                return None
            model = self.query.model()
            for name, value in wishes:
                if name not in self.known:
                    continue
                tick()
                wish = self.known[name] == _literal(self.known[name], value)
                if z3.is_true(model.eval(wish, model_completion=True)):
                    self.query.add(wish)
                    continue
                self.query.push()
                self.query.add(wish)
                if self.query.check() == z3.sat:
                    model = self.query.model()
                else:
                    self.query.pop()
            return self._pair(model)
        finally:
            while self.query.num_scopes():
                self.query.pop()

    def _pair(self, model: z3.ModelRef) -> NeighbourPair | None:
        values = {
            name: value_of(model.eval(term, model_completion=True)) for name, term in self.known.items()
        }
        if any(v is None for v in values.values()):
            return None
        inputs: list[dict[str, Value]] = []
        program = self.checked.program
        for side in (1, 2):
            found: dict[str, Value] = {}
            for parameter in program.parameters:
                name = parameter.name
                match parameter.type:
                    case Scalar():
                        found[name] = values[f"{name}{{{side}}}" if parameter.private else name]
                    case Array():
                        size = self.sizes[name][side - 1]
                        found[name] = [values[f"{name}{{{side}}}[{i}]"] for i in range(size)]
                    case SensitiveQuery():
                        pass
            inputs.append(found)
        self._answers(inputs, values)
        names = tuple(p.name for p in program.parameters if p.private)
        pair = NeighbourPair(inputs[0], inputs[1], names)
        return pair if are_neighbours(self.checked, pair.first, pair.second) else None

    def _answers(self, inputs: list[dict[str, Value]], values: Mapping[str, Value]) -> None:
        program = self.checked.program
        lists = [p.name for p in program.parameters if isinstance(p.type, Array) and p.private]
        for parameter in program.parameters:
            if isinstance(parameter.type, SensitiveQuery):
                table = {
                    tuple(found[name]): values[f"{parameter.name}({name}){{{side}}}"]
                    for side, found in enumerate(inputs, start=1)
                    for name in lists
                }
                for found in inputs:
                    found[parameter.name] = TabledQuery(table)


def _kind(element: Scalar) -> Kind:
    return "int" if element.kind == "bits" else element.kind


def _bits_of(kind: Scalar) -> int:
    """Return how many bits a string has; one where its length is left open."""
    return kind.length if isinstance(kind.length, int) else 1


def _literal(term: Term, value: Fraction | int | bool) -> Term:
    if z3.is_bool(term):
        return z3.BoolVal(bool(value))
    if z3.is_int(term):
        return z3.IntVal(int(value)) if Fraction(value).denominator == 1 else z3.RealVal(str(Fraction(value)))
    return z3.RealVal(str(Fraction(value)))


def value_of(term: Term) -> Value:
    """Return the rational, integer or truth value of a numeral; None for an irrational number."""
    if z3.is_int_value(term):
        return term.as_long()
    if z3.is_rational_value(term):
        return term.as_fraction()
    if z3.is_true(term) or z3.is_false(term):
        return z3.is_true(term)
    return None
