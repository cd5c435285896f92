"""The inputs of two neighbouring runs, as terms: the header's formula, read by the prover.

A list is never enumerated.  Reading it at an index creates a symbol for the element in the first run and
a term for its distance in the second; two readings at the same index term are the same symbol, and
readings at different terms are unrelated, which forgets facts but invents none.  What is assumed of the
symbols is what the formula says of them at that index, and nothing else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NoReturn

import z3

from discreet.verify.check import CheckedProgram
from discreet.verify.domain import INDEX, Domain, cases, domain, relation, same_length, senses, sided
from discreet.verify.spelling import show
from discreet.verify.syntax import (
    Apply,
    Array,
    Ask,
    Element,
    Expr,
    Neighbours,
    Scalar,
    SensitiveQuery,
    Size,
    TextPosition,
    Variable,
)
from discreet.verify.term import Reader, Term, UnsupportedError, cast, constants, number, real, symbol

Direction = str
"""A case of the neighbour relation."""


def directions(checked: CheckedProgram) -> tuple[Direction, ...]:
    """Return the cases of the neighbour relation that must be proved separately."""
    return cases(checked.program)


@dataclass(frozen=True, slots=True)
class Instance:
    """Concrete list sizes and public constants, for bounded exploration; empty for a proof."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    constants: Mapping[str, Fraction] = field(default_factory=dict)


@dataclass(slots=True)
class Inputs:
    """The two runs' inputs, and the facts known of the symbols made for them."""

    checked: CheckedProgram
    direction: Direction
    instance: Instance = field(default_factory=Instance)
    facts: list[Term] = field(default_factory=list)
    """What holds of the global symbols: assumptions of the program and bounds of the neighbours."""
    element_facts: dict[int, list[Term]] = field(default_factory=dict)
    """What holds of each element symbol, by the identity of the symbol."""
    elements: dict[tuple[str, int], tuple[Term, Term]] = field(default_factory=dict)
    indices: dict[tuple[str, int], Term] = field(default_factory=dict)
    loose: set[tuple[str, int]] = field(default_factory=set)
    """Elements at places on which the runs may differ, or that only the output knows."""
    remembered: list[Term] = field(default_factory=list)
    scalars: dict[str, tuple[Term, Term]] = field(default_factory=dict)
    formula: Domain = field(init=False)
    sense: Mapping[str, str] = field(init=False)
    positions: dict[str, Term] = field(default_factory=dict)
    deltas: dict[str, Term] = field(default_factory=dict)

    def __post_init__(self) -> None:
        program = self.checked.program
        self.formula = domain(program, self.direction)
        self.sense = senses(program, self.direction)
        for parameter in program.parameters:
            if not parameter.private:
                continue
            found = relation(program, parameter.name)
            if found is None:
                self._refuse(
                    f"say how {parameter.name} may differ: neighbours {parameter.name} ...", parameter.at
                )
            if isinstance(parameter.type, Scalar):
                kind = parameter.type.kind
                first, second = (symbol(f"{parameter.name}{{{side}}}", kind) for side in (1, 2))
                self.scalars[parameter.name] = first, second
            elif isinstance(parameter.type, Array):
                self._private_list(parameter.name, parameter.type, found)
        self.facts += [self.header(clause) for clause in self.formula.always]
        for parameter in program.parameters:
            changed = self.relation(parameter.name)
            if parameter.name in self.deltas and changed is not None and isinstance(parameter.type, Array):
                self._change_facts(parameter.name, parameter.type.element, changed)
        self.facts = [f for f in map(z3.simplify, self.facts) if not z3.is_true(f)]

    def _refuse(self, message: str, at: TextPosition) -> NoReturn:
        raise UnsupportedError(f"line {at.line}, column {at.column}: {message}")

    def relation(self, name: str) -> Neighbours | None:
        """Return how a private input may differ, or None for a public one."""
        parameter = self.checked.program.parameter(name)
        return relation(self.checked.program, name) if parameter is not None and parameter.private else None

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

    def size(self, name: str, side: int) -> Term:
        """Return the length of a list in one run."""
        program = self.checked.program
        if program.parameter(name) is None:
            raise UnsupportedError(f"the length of the output list {name} is not tracked as a number")
        base = self.instance.sizes.get(name)
        length = z3.IntVal(base) if base is not None else z3.Int(f"size({name})")
        if same_length(program, name):
            return length
        sense = self.sense.get(name)
        if sense is not None:
            # The symbol is the length of the longer list.
            return length - 1 if (sense == "remove") == (side == 2) else length
        return length if side == 1 or base is not None else z3.Int(f"size({name}){{2}}")

    def header(self, expression: Expr, index: Term = None, pair: tuple[Term, Term] | None = None) -> Term:
        """Return a term for an expression of the formula; `pair` are the elements at the index."""

        def name(node: Variable) -> Term:
            if node.name == INDEX:
                return index
            if node.name in self.formula.positions.values():
                return z3.Int(node.name)
            if node.side:
                return self.scalars[node.name][node.side - 1]
            return self.public(node.name)

        def element(node: Element, place: Term) -> Term:
            if pair is None:
                return self.element(node.array, place, node.side, shared=True)
            return pair[(node.side or 1) - 1]

        def apply(call: Apply | Size | Ask) -> Term:
            if isinstance(call, Size):
                return self.size(call.array, call.side or 1)
            raise UnsupportedError(f"{show(call)} cannot be used in the header")

        def remainder(kind: str, left: Term, right: Term) -> Term:
            return left % right

        # A clause without a value cannot hold: it is read as implying that it has one.
        return Reader(name, element, apply, remainder, self.facts.append)(expression)

    # Private lists

    def _private_list(self, name: str, kind: Array, found: Neighbours) -> None:
        if kind.element.kind in ("bool", "bits"):
            self._refuse(f"lists of {kind.element.kind} are not supported by the prover", found.at)
        if name in self.formula.positions:
            self.positions[name] = z3.Int(self.formula.positions[name])
        if found.kind in ("one", "replace"):
            self.deltas[name] = symbol(f"change({name})", kind.element.kind)
        if found.kind == "add-remove":
            if sum(p.private for p in self.checked.program.parameters) > 1:
                self._refuse("a list that may lose an element must be the only private input", found.at)
            self.deltas[name] = symbol(f"extra({name})", kind.element.kind)

    def _change_facts(self, name: str, kind: Scalar, found: Neighbours) -> None:
        """Note what the formula says of the one element that changes, wherever it stands."""
        delta = self.deltas[name]
        if found.kind == "add-remove":
            longer = 1 if self.sense[name] == "remove" else 2
            extra = (delta, delta)
            self.facts += [
                self.header(sided(clause, longer), self.positions[name], extra)
                for clause in self.formula.ranges[name]
            ]
            return
        # Where nothing changes the distance is zero, so it is always within the bound, which is not negative.
        distance = real(delta)
        if found.bound is not None:
            bound = real(self.header(found.bound))
            self.facts += [distance <= bound, distance >= -bound]
        for width in self._widths(kind, found):
            within = z3.And(distance <= width, distance >= -width)
            self.facts.append(within if z3.is_rational_value(width) else z3.Or(delta == 0, within))

    def _widths(self, kind: Scalar, found: Neighbours) -> Iterator[Term]:
        """Yield the lengths of the intervals that elements are taken from."""
        if kind.low is not None and kind.high is not None:
            yield z3.RealVal(kind.high - kind.low)
        if found.low is not None and found.high is not None:
            yield z3.simplify(real(self.header(found.high)) - real(self.header(found.low)))

    def element(self, name: str, index: Term, side: int, *, shared: bool) -> Term:
        """Return the element of a list at an index; of one that is not shared, how it relates to others."""
        index = z3.simplify(index)
        key = (name, index.get_id())
        if key not in self.elements:
            self.indices[key] = index  # also keeps the identity from being reused
            self.elements[key] = self._new_element(name, index)
            if not shared:
                self.loose.add(key)
            for other in self.elements:
                if other[0] == name and other != key and (not shared or other in self.loose):
                    self._link(key, other)
        return self.elements[key][side - 1]

    def _link(self, key: tuple[str, int], other: tuple[str, int]) -> None:
        """Note that elements at equal places are equal."""
        (first, second), (one, two) = self.elements[key], self.elements[other]
        same = z3.Implies(self.indices[key] == self.indices[other], z3.And(first == one, second == two))
        for made in constants(first, second):
            if made in self.element_facts:
                self.element_facts[made] = [*self.element_facts[made], same]

    def _new_element(self, name: str, index: Term) -> tuple[Term, Term]:
        parameter = self.checked.program.parameter(name)
        if parameter is None or not isinstance(parameter.type, Array):
            raise UnsupportedError(f"{name} is not an input list")
        kind, found = parameter.type.element.kind, self.relation(name)
        serial = len(self.elements) + 1
        first = symbol(f"{name}[{serial}]", kind)
        if found is None:
            return self._known(name, index, (first, first), first)
        if found.kind == "any":
            second = symbol(f"{name}{{2}}[{serial}]", kind)
            return self._known(name, index, (first, second), first, second)
        if found.kind == "add-remove":
            self._known(name, index, (first, first), first)
            element = z3.If(index == self.positions[name], self.deltas[name], first)
            return element, element
        if found.kind in ("one", "replace"):
            change = z3.If(index == self.positions[name], self.deltas[name], 0)
            return self._known(name, index, (first, cast(first + change, kind)), first)
        distance = symbol(f"distance({name})[{serial}]", kind)
        pair = first, cast(first + distance, kind)
        self._known(name, index, pair, first, distance)
        links = [self.header(clause, index, pair) for clause in self.formula.links[name]]
        self.element_facts[first.get_id()] += links
        return pair

    def _known(self, name: str, index: Term, pair: tuple[Term, Term], *symbols: Term) -> tuple[Term, Term]:
        """Note of the symbols of an element what the formula says of it in each run; return the element."""
        ranges = self.formula.ranges[name]
        facts = [self.header(sided(clause, side), index, pair) for clause in ranges for side in (1, 2)]
        facts = [f for f in map(z3.simplify, facts) if not z3.is_true(f)]
        for made in symbols:
            self.element_facts[made.get_id()] = facts
            self.remembered.append(made)
        return pair

    def query(self, function: str, data: str, side: int) -> Term:
        """Return f(d) in one run: any two reals no further apart than the global sensitivity."""
        name = f"{function}({data})"
        first, second = z3.Real(f"{name}{{1}}"), z3.Real(f"{name}{{2}}")
        if name not in self.scalars:
            self.scalars[name] = first, second
            parameter = self.checked.program.parameter(function)
            if parameter is None or not isinstance(parameter.type, SensitiveQuery):
                raise UnsupportedError(f"{function} is not a query")
            bound = self.public(parameter.type.sensitivity)
            self.facts += [second - first <= bound, first - second <= bound]
        return self.scalars[name][side - 1]

    def inhabited(self) -> list[Term]:
        """Return what must be possible for there to be inputs at all: a list has elements, or none."""
        found: list[Term] = []
        for parameter in self.checked.program.parameters:
            kind = parameter.type
            if isinstance(kind, Array) and kind.element.kind not in ("bool", "bits"):
                place = z3.Int(f"somewhere({parameter.name})")
                element = self.element(parameter.name, place, 1, shared=True)
                known = [f for key in constants(element) for f in self.element_facts.get(key, [])]
                found.append(z3.Or(self.size(parameter.name, 1) == 0, z3.And(*known)))
        return found

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
