"""The inputs of two neighbouring runs, as terms: what they share, and how far apart the rest may be.

Privacy bounds Pr[M(D1) in S] by Pr[M(D2) in S] for all neighbours in both orders.  A symmetric relation is
proved once; for monotone lists the second run is proved both above and below the first ("up", "down"); for
add-remove the second run both lacks and has the extra element ("remove", "add").

A list is never enumerated.  Reading it at an index creates a symbol for the element in the first run and
a term for its distance in the second; two readings at the same index term are the same symbol, and
readings at different terms are unrelated, which forgets facts but invents none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NoReturn

import z3

from discreet.verify.check import Checked
from discreet.verify.syntax import (
    Apply,
    Array,
    Ask,
    Element,
    Expr,
    Neighbours,
    Position,
    Query,
    Scalar,
    Size,
    show,
)
from discreet.verify.term import Reader, Term, UnsupportedError, cast, constants, number, real, symbol

Direction = Literal["both", "up", "down", "remove", "add"]


def directions(checked: Checked) -> tuple[Direction, ...]:
    """Return the orders of the neighbours that must be proved separately."""
    kinds = {relation.kind for relation in checked.program.neighbours}
    if {"monotone", "add-remove"} <= kinds:
        raise UnsupportedError("monotone and add-remove inputs cannot be combined in one proof")
    if "monotone" in kinds:
        return ("up", "down")
    if "add-remove" in kinds:
        return ("remove", "add")
    return ("both",)


@dataclass(frozen=True, slots=True)
class Instance:
    """Concrete list sizes and public constants, for bounded exploration; empty for a proof."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    constants: Mapping[str, Fraction] = field(default_factory=dict)


@dataclass(slots=True)
class Inputs:
    """The two runs' inputs, and the facts known of the symbols made for them."""

    checked: Checked
    direction: Direction
    instance: Instance = field(default_factory=Instance)
    facts: list[Term] = field(default_factory=list)
    """What holds of the global symbols: assumptions of the program and bounds of the neighbours."""
    element_facts: dict[int, list[Term]] = field(default_factory=dict)
    """What holds of each element symbol, by the identity of the symbol."""
    elements: dict[tuple[str, int, int], tuple[Term, Term]] = field(default_factory=dict)
    remembered: list[Term] = field(default_factory=list)
    scalars: dict[str, tuple[Term, Term]] = field(default_factory=dict)
    positions: dict[str, Term] = field(default_factory=dict)
    deltas: dict[str, Term] = field(default_factory=dict)

    def __post_init__(self) -> None:
        program = self.checked.program
        for parameter in program.parameters:
            match parameter.type:
                case Array():
                    self.facts.append(self.size(parameter.name, 1) >= 0)
                    self.facts.append(self.size(parameter.name, 2) >= 0)
                case Query():
                    pass
                case Scalar():
                    if not parameter.private:
                        self._public_facts(parameter.name, parameter.type)
        for condition in program.requires:
            self.facts.append(self.header(condition))
        for parameter in program.parameters:
            relation = self.relation(parameter.name)
            if not parameter.private or isinstance(parameter.type, Query):
                continue
            if relation is None:
                self._refuse(
                    f"say how {parameter.name} may differ: neighbours {parameter.name} ...", parameter.at
                )
            if isinstance(parameter.type, Scalar):
                self._private_scalar(parameter.name, parameter.type, relation)
            else:
                self._private_list(parameter.name, parameter.type, relation)
        self.facts = [f for f in map(z3.simplify, self.facts) if not z3.is_true(f)]

    def _refuse(self, message: str, at: Position) -> NoReturn:
        raise UnsupportedError(f"line {at.line}, column {at.column}: {message}")

    def relation(self, name: str) -> Neighbours | None:
        """Return the relation of a private input; finite types default to replace, bit strings to any."""
        found = next((r for r in self.checked.program.neighbours if r.name == name), None)
        if found is not None:
            return found
        parameter = self.checked.program.parameter(name)
        element = parameter.type.element if parameter and isinstance(parameter.type, Array) else None
        scalar = element or (parameter.type if parameter and isinstance(parameter.type, Scalar) else None)
        if scalar is not None and (scalar.low is not None or scalar.kind == "bool"):
            return Neighbours(name, "replace")
        if scalar is not None and scalar.kind == "bits":
            return Neighbours(name, "any")
        return None

    # Public values

    def public(self, name: str) -> Term:
        """Return a public constant."""
        if name in self.instance.constants:
            return number(self.instance.constants[name])
        parameter = self.checked.program.parameter(name)
        if parameter is None or parameter.private:
            raise UnsupportedError(f"{name} is not a public constant")
        kind = self.checked.types[name]
        return symbol(name, kind.kind if isinstance(kind, Scalar) else "real")

    def _public_facts(self, name: str, kind: Scalar) -> None:
        if kind.low is not None and kind.high is not None:
            term = self.public(name)
            self.facts += [term >= kind.low, term <= kind.high]

    def size(self, name: str, side: int) -> Term:
        """Return the length of a list in one run."""
        parameter = self.checked.program.parameter(name)
        if parameter is None:
            raise UnsupportedError(f"the length of the output list {name} is not tracked as a number")
        base = self.instance.sizes.get(name)
        length = z3.IntVal(base) if base is not None else z3.Int(f"size({name})")
        relation = self.relation(name)
        if relation is not None and relation.kind == "add-remove":
            # The symbol is the length of the longer list.
            shorter = (self.direction == "remove") == (side == 2)
            return length - 1 if shorter else length
        return length

    def header(self, expression: Expr) -> Term:
        """Return a term for an expression of the header."""

        def apply(call: Apply | Size | Ask) -> Term:
            if isinstance(call, Size):
                return self.size(call.array, 1)
            raise UnsupportedError(f"{show(call)} cannot be used in the header")

        def no_element(element: Element, _: Term) -> Term:
            raise UnsupportedError(f"{element.array} cannot be read in the header")

        def divide(kind: str, left: Term, right: Term) -> Term:
            return left % right

        # A clause without a value cannot be assumed: it is read as implying that it has one.
        return Reader(lambda name: self.public(name.name), no_element, apply, divide, self.facts.append)(
            expression
        )

    # Private values

    def _private_scalar(self, name: str, kind: Scalar, relation: Neighbours) -> None:
        first, second = symbol(f"{name}{{1}}", kind.kind), symbol(f"{name}{{2}}", kind.kind)
        self.scalars[name] = first, second
        if kind.kind in ("bool", "bits"):
            if relation.kind not in ("any", "replace"):
                self._refuse(f"{name} can only be replaced: neighbours {name} replace", relation.at)
            return
        for term in (first, second):
            self.facts += self._bounds(term, kind, relation)
        match relation.kind:
            case "one" | "all":
                bound = real(self.header(self._bound(relation)))
                distance = real(second) - real(first)
                self.facts += [bound >= 0, distance <= bound, distance >= -bound]
            case "replace" | "any":
                pass
            case _:
                self._refuse(f"{relation.kind} is a relation between lists", relation.at)

    def _bounds(self, term: Term, kind: Scalar, relation: Neighbours) -> list[Term]:
        found: list[Term] = []
        if kind.low is not None:
            found.append(term >= kind.low)
        if kind.high is not None:
            found.append(term <= kind.high)
        if relation.low is not None and relation.high is not None:
            found += [
                real(term) >= real(self.header(relation.low)),
                real(term) <= real(self.header(relation.high)),
            ]
        return found

    def _bound(self, relation: Neighbours) -> Expr:
        if relation.bound is None:
            raise UnsupportedError(f"the neighbours of {relation.name} have no bound")
        return relation.bound

    def _private_list(self, name: str, kind: Array, relation: Neighbours) -> None:
        if kind.element.kind in ("bool", "bits"):
            self._refuse(f"lists of {kind.element.kind} are not supported by the prover", relation.at)
        if relation.kind in ("one", "replace", "add-remove"):
            # A position beyond the end means that nothing changes, which neighbours may also be.
            position = self.positions[name] = z3.Int(f"position({name})")
            self.facts.append(position >= 0)
        if relation.kind in ("one", "replace"):
            delta = self.deltas[name] = symbol(f"change({name})", kind.element.kind)
            if relation.bound is not None:
                bound = real(self.header(relation.bound))
                self.facts += [bound >= 0, real(delta) <= bound, real(delta) >= -bound]
            width = self._width(kind.element, relation)
            if width is not None:
                self.facts += [real(delta) <= width, real(delta) >= -width]
        if relation.kind == "add-remove":
            if sum(p.private and not isinstance(p.type, Query) for p in self.checked.program.parameters) > 1:
                self._refuse("a list that may lose an element must be the only private input", relation.at)
            length = self.size(name, 1 if self.direction == "remove" else 2)
            self.facts.append(position < length)
            extra = self.deltas[name] = symbol(f"extra({name})", kind.element.kind)
            self.facts += self._bounds(extra, kind.element, relation)

    def _width(self, kind: Scalar, relation: Neighbours) -> Term | None:
        """Return the length of the interval that elements are taken from."""
        if relation.low is not None and relation.high is not None:
            return real(self.header(relation.high)) - real(self.header(relation.low))
        if kind.low is not None and kind.high is not None:
            return z3.RealVal(kind.high - kind.low)
        return None

    def element(self, name: str, index: Term, side: int, *, shared: bool) -> Term:
        """Return the element of a list at an index; a shared index is the same in both runs."""
        index = z3.simplify(index)
        key = (name, index.get_id(), 0 if shared else side)
        if key not in self.elements:
            self.remembered.append(index)  # keeps the identity from being reused
            self.elements[key] = self._new_element(name, index, key[2])
        return self.elements[key][side - 1]

    def _new_element(self, name: str, index: Term, side: int) -> tuple[Term, Term]:
        parameter = self.checked.program.parameter(name)
        if parameter is None or not isinstance(parameter.type, Array):
            raise UnsupportedError(f"{name} is not an input list")
        kind = parameter.type.element
        serial = len(self.elements) + 1
        first = symbol(f"{name}[{serial}]", kind.kind)
        facts = self.element_facts[first.get_id()] = []
        self.remembered.append(first)
        relation = self.relation(name) if parameter.private else None
        if relation is None:
            return first, first
        facts += self._bounds(first, kind, relation)
        if side or relation.kind == "any":
            return self._unrelated(name, serial, kind, relation, first)
        if relation.kind == "add-remove":
            element = z3.If(index == self.positions[name], self.deltas[name], first)
            return element, element
        if relation.kind in ("one", "replace"):
            second = first + z3.If(index == self.positions[name], self.deltas[name], 0)
        else:
            distance = symbol(f"d{name}[{serial}]", kind.kind)
            bound = real(self.header(self._bound(relation)))
            low = z3.RealVal(0) if self.direction == "up" else -bound
            high = z3.RealVal(0) if self.direction == "down" else bound
            facts += [real(distance) >= low, real(distance) <= high]
            self.element_facts[distance.get_id()] = facts
            self.remembered.append(distance)
            second = first + distance
        facts += self._bounds(second, kind, relation)
        return first, cast(second, kind.kind)

    def _unrelated(
        self, name: str, serial: int, kind: Scalar, relation: Neighbours, first: Term
    ) -> tuple[Term, Term]:
        second = symbol(f"{name}'[{serial}]", kind.kind)
        self.element_facts[second.get_id()] = self._bounds(second, kind, relation)
        self.remembered.append(second)
        return first, second

    def query(self, function: str, data: str, side: int) -> Term:
        """Return f(d) in one run: any two reals no further apart than the global sensitivity."""
        name = f"{function}({data})"
        first, second = z3.Real(f"{name}{{1}}"), z3.Real(f"{name}{{2}}")
        if name not in self.scalars:
            self.scalars[name] = first, second
            parameter = self.checked.program.parameter(function)
            if parameter is None or not isinstance(parameter.type, Query):
                raise UnsupportedError(f"{function} is not a query")
            bound = self.public(parameter.type.sensitivity)
            self.facts += [second - first <= bound, first - second <= bound]
        return self.scalars[name][side - 1]

    def facts_for(self, terms: list[Term]) -> list[Term]:
        """Return the global facts and those of the elements that occur in the terms."""
        found = list(self.facts)
        seen: set[int] = set()
        pending = list(terms)
        while pending:
            fresh = {k: v for k, v in constants(*pending).items() if k not in seen}
            seen |= fresh.keys()
            pending = [fact for key in fresh for fact in self.element_facts.get(key, [])]
            found += pending
        return found
