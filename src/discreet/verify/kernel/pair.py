"""Two neighbouring inputs, as the header of a program declares them.

Definition.  Two inputs are neighbours when both satisfy every `requires` clause and every declared type, the
public parameters are equal, and each private parameter is related as its `neighbours` clause says:
    one, replace   lists of one length that agree but at one position (scalars: any two);
    all, monotone  lists of one length; monotone: the second nowhere below the first ("up"), or above it
                   ("down");
    add-remove     the second lacks one element of the first ("remove"), or the other way round ("add");
    any            no relation;
`by B` bounds the change of every element, `in [L, H]` every element; a finite type or bool without a clause
is `replace`, a bit string `any`.  A query f moves by at most the public constant that bounds it.

A list is an unknown function of the index.  Each index that is read yields one symbol, the declared facts of
that element, and its equality with earlier symbols where the indices are equal; nothing else is assumed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import z3

from discreet.verify import syntax as tree
from discreet.verify.kernel.meaning import TRUE, Sight, Term, real, refuse

WAYS = {"monotone": ("up", "down"), "add-remove": ("remove", "add")}
Two = tuple[Term, Term]
"""A value in the first and in the second run."""
BOUNDED = {"one": True, "all": True, "monotone": True, "any": False, "add-remove": False}


def relation_of(program: tree.Program, parameter: tree.Parameter) -> tree.Neighbours:
    """Return how a private parameter may differ."""
    kind = parameter.type.element if isinstance(parameter.type, tree.Array) else parameter.type
    for relation in program.neighbours:
        if relation.name == parameter.name:
            if BOUNDED.get(relation.kind, relation.bound is not None) != (relation.bound is not None):
                raise refuse(f"{relation.kind} neighbours need a bound, or cannot have one", relation)
            if relation.kind in WAYS and not isinstance(parameter.type, tree.Array):
                raise refuse(f"{relation.kind} is a relation of lists", relation)
            return relation
    if isinstance(kind, tree.Scalar) and (kind.low is not None or kind.kind in ("bool", "bits")):
        return tree.Neighbours(parameter.name, "any" if kind.kind == "bits" else "replace")
    raise refuse(f"nothing says how {parameter.name} may differ", parameter)


def directions(program: tree.Program) -> list[dict[str, str]]:
    """Return every order of the neighbours that needs its own proof."""
    found: list[dict[str, str]] = [{}]
    for relation in program.neighbours:
        if relation.kind in WAYS:
            found = [{**d, relation.name: way} for d in found for way in WAYS[relation.kind]]
    return found


@dataclass(slots=True)
class Pair:
    """The inputs of both runs as terms, and the facts known of their symbols."""

    program: tree.Program
    direction: Mapping[str, str]
    facts: list[Term] = field(default_factory=list)
    seen: dict[str, list[tuple[Term, Term, Term]]] = field(default_factory=dict)
    """The indices read of each list, with the elements of the first and of the second run."""
    widths: dict[object, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for parameter in self.program.parameters:
            name, kind = parameter.name, parameter.type
            if isinstance(kind, tree.Scalar):
                sides = (self.scalar(name, 1), self.scalar(name, 2))
                self.facts += self.related(parameter, kind, sides, (TRUE, TRUE))
            elif isinstance(kind, tree.Array):
                self.facts += [self.size(name, side) >= 0 for side in (1, 2)]
                if self.kind(name) in ("one", "replace", "add-remove"):
                    # Without a change, any position will do.
                    first, second = self.element(name, self.position(name))
                    inside = z3.And(self.position(name) >= 0, self.position(name) < z3.Int(f"size({name})"))
                    alike = z3.And(self.kind(name) != "add-remove", first == second)
                    self.facts += [z3.Or(inside, alike)]
        self.facts += [self.header(clause, side) for clause in self.program.requires for side in (1, 2)]

    def symbol(self, name: str, kind: tree.Scalar) -> Term:
        """Return a constant of the sort that represents a type; bit strings of each length have their own."""
        if kind.kind == "bits":
            return z3.BitVec(name, self.widths.setdefault(kind.length, len(self.widths) + 1))
        return {"bool": z3.Bool, "int": z3.Int, "real": z3.Real}[kind.kind](name)

    def position(self, name: str) -> Term:
        """Return where two lists differ."""
        return z3.Int(f"position({name})")

    def parameter(self, name: str, kind: type) -> tuple[tree.Parameter, Any]:
        """Return a parameter that must be of a type, with its type."""
        parameter = self.program.parameter(name)
        if parameter is None or not isinstance(parameter.type, kind):
            raise refuse(f"{name} has no such value here")
        return parameter, parameter.type

    def kind(self, name: str) -> str:
        """Return how a list may differ, `public` if it may not."""
        parameter, _ = self.parameter(name, tree.Array)
        return relation_of(self.program, parameter).kind if parameter.private else "public"

    def scalar(self, name: str, side: int) -> Term:
        """Return a scalar input of one run."""
        parameter, kind = self.parameter(name, tree.Scalar)
        return self.symbol(f"{name}{{{side}}}" if parameter.private else name, kind)

    def size(self, name: str, side: int) -> Term:
        """Return the length of an input list in one run."""
        if self.kind(name) == "any":
            return z3.Int(f"size({name}){{{side}}}")
        return z3.Int(f"size({name})") - (1 if self.shorter(name, side) else 0)

    def shorter(self, name: str, side: int) -> bool:
        """Return whether a run lacks an element of a list."""
        return self.direction.get(name) == ("add" if side == 1 else "remove")

    def ask(self, query: str, data: str, side: int) -> Term:
        """Return the value of a query in one run."""
        bound = real(self.scalar(self.parameter(query, tree.SensitiveQuery)[1].sensitivity, 1))
        sides = z3.Real(f"{query}({data}){{1}}"), z3.Real(f"{query}({data}){{2}}")
        self.facts += [sides[1] - sides[0] <= bound, sides[0] - sides[1] <= bound]
        return sides[side - 1]

    def header(self, expression: tree.Expr, side: int) -> Term:
        """Return an expression of the header; a clause can only hold where it has a value."""

        def look(node: tree.Expr, *_: Term) -> Term:
            if isinstance(node, tree.Size):
                return self.size(node.array, side)
            if not isinstance(node, tree.Variable) or self.parameter(node.name, tree.Scalar)[0].private:
                raise refuse("the header speaks of more than public constants and sizes", expression)
            return self.scalar(node.name, side)

        sight = Sight(look)
        term = sight(expression)
        self.facts += sight.needs
        return term

    def related(self, parameter: tree.Parameter, kind: tree.Scalar, sides: Two, inside: Two) -> list[Term]:
        """Return what is known of one value in the two runs, for each run where it is inside its list."""
        found: list[Term] = []
        relation = relation_of(self.program, parameter) if parameter.private else None
        for term, here in zip(sides, inside, strict=True):
            found += [z3.Implies(here, term >= kind.low)] if kind.low is not None else []
            found += [z3.Implies(here, term <= kind.high)] if kind.high is not None else []
            if relation is not None and relation.low is not None and relation.high is not None:
                low, high = (real(self.header(limit, 1)) for limit in (relation.low, relation.high))
                found += [z3.Implies(here, z3.And(real(term) >= low, real(term) <= high))]
        if relation is not None and relation.bound is not None:
            bound, gap = real(self.header(relation.bound, 1)), real(sides[1]) - real(sides[0])
            way, zero = self.direction.get(parameter.name), z3.RealVal(0)
            most, least = zero if way == "down" else bound, zero if way == "up" else -bound
            found += [z3.Implies(z3.And(*inside), z3.And(gap <= most, gap >= least, bound >= 0))]
        return found

    def element(self, name: str, index: Term) -> Two:
        """Return the element at an index in both runs; of lists that lose one, in the longer list."""
        (parameter, array), how, index = self.parameter(name, tree.Array), self.kind(name), z3.simplify(index)
        for known, one, two in self.seen.setdefault(name, []):
            if known.eq(index):
                return one, two
        kind, number = array.element, len(self.seen[name]) + 1
        first = second = self.symbol(f"{name}[{number}]", kind)
        if how in ("one", "replace"):
            change, here = self.symbol(f"change({name})", kind), index == self.position(name)
            second = first + z3.If(here, change, 0) if z3.is_arith(first) else z3.If(here, change, first)
        elif how in ("all", "monotone", "any"):
            second = self.symbol(f"{name}'[{number}]", kind)
        sizes = [self.size(name, side) if how == "any" else z3.Int(f"size({name})") for side in (1, 2)]
        inside = z3.And(index >= 0, index < sizes[0]), z3.And(index >= 0, index < sizes[1])
        self.facts += self.related(parameter, kind, (first, second), inside)
        for known, one, two in self.seen[name]:
            self.facts += [z3.Implies(known == index, z3.And(one == first, two == second))]
        self.seen[name].append((index, first, second))
        return first, second

    def read(self, name: str, index: Term, side: int) -> Term:
        """Return the element of a list in one run."""
        if self.shorter(name, side):
            here, beyond = self.element(name, index)[0], self.element(name, index + 1)[0]
            return z3.If(index < self.position(name), here, beyond)
        return self.element(name, index)[side - 1]
