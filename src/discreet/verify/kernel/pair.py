"""Two neighbouring inputs, as the header of a program declares them.

Definition.  Two inputs are neighbours when both satisfy every `requires` clause and every declared type, the
public parameters are equal, and each private parameter is related as its `neighbours` clause says:
    one, replace   lists of one length that agree but at one position (scalars: any two), a column
                   of a list of rows at the same position as the first column;
    all, monotone  lists of one length; monotone: the second nowhere below the first ("up"), or above it
                   ("down");
    add-remove     the second lacks one element of the first ("remove"), or the other way round ("add");
    any            no relation;
`by B` bounds the change of every element, `in [L, H]` every element.  Where there is a formula it holds too.
A query f moves by at most the public constant that bounds it.

A list is an unknown function of the index.  Each index that is read yields one symbol, the declared facts of
that element, and its equality with earlier symbols where the indices are equal; nothing else is assumed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import z3

from discreet.verify import syntax as tree
from discreet.verify.kernel.meaning import TRUE, Sight, Term, real, refuse
from discreet.verify.kernel.state import shapely

WAYS = {"monotone": ("up", "down"), "add-remove": ("remove", "add")}


def relation_of(program: tree.Program, parameter: tree.Parameter) -> tree.Neighbours:
    """Return how a parameter may differ."""
    found = next((r for r in program.neighbours if r.name == parameter.name), None)
    if found is None and parameter.private:
        raise refuse(f"nothing says how {parameter.name} may differ", parameter)
    return found or tree.Neighbours(parameter.name, "public")


def directions(program: tree.Program) -> list[dict[str, str]]:
    """Return every order of the neighbours that needs its own proof."""
    ways = [[(r.name, way) for way in WAYS[r.kind]] for r in program.neighbours if r.kind in WAYS]
    return [dict(chosen) for chosen in product(*ways)]


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
        shapely(self.program)
        for parameter in self.program.parameters:
            name, kind = parameter.name, parameter.type
            if isinstance(kind, tree.Scalar):
                sides = self.scalar(name, 1), self.scalar(name, 2)
                self.facts += self.related(parameter, sides, [TRUE, TRUE])
            elif isinstance(kind, tree.Array):
                self.facts += [self.size(name, side) >= 0 for side in (1, 2)]
                if self.kind(name) in ("one", "replace", "add-remove"):
                    (first, second), place = self.element(name, self.position(name)), self.position(name)
                    same = z3.And(self.kind(name) != "add-remove", first == second)  # any place will do
                    self.facts += [z3.Or(same, z3.And(place >= 0, place < self.longest(name, 1)))]
        clauses = (*self.program.requires, self.program.adjacency)
        self.facts += [self.header(clause, side) for clause in clauses for side in (1, 2)]

    def symbol(self, name: str, kind: tree.Scalar) -> Term:
        """Return a constant of the sort that represents a type; bit strings of each length have their own."""
        if kind.kind == "bits":
            return z3.BitVec(name, self.widths.setdefault(kind.length, len(self.widths) + 1))
        return {"bool": z3.Bool, "int": z3.Int, "real": z3.Real}[kind.kind](name)

    def position(self, name: str) -> Term:
        """Return where two lists differ: at a place of their own, or of another list."""
        along = relation_of(self.program, self.parameter(name, tree.Array)[0]).along
        return z3.Int(f"position({along or name})")

    def parameter(self, name: str, kind: type) -> tuple[tree.Parameter, Term]:
        """Return a parameter that must be of a type, with its type."""
        parameter = self.program.parameter(name)
        if parameter is None or not isinstance(parameter.type, kind):
            raise refuse(f"{name} has no such value here")
        return parameter, parameter.type

    def kind(self, name: str) -> str:
        """Return how a list may differ, `public` if it may not."""
        return relation_of(self.program, self.parameter(name, tree.Array)[0]).kind

    def scalar(self, name: str, side: int) -> Term:
        """Return a scalar input of one run."""
        parameter, kind = self.parameter(name, tree.Scalar)
        return self.symbol(f"{name}{{{side}}}" if parameter.private else name, kind)

    def size(self, name: str, side: int) -> Term:
        """Return the length of an input list in one run."""
        return self.longest(name, side) - (1 if self.shorter(name, side) else 0)

    def longest(self, name: str, side: int) -> Term:
        """Return the length of an input list in one run; of lists that lose one, of the longer list."""
        return z3.Int(f"size({name})" + (f"{{{side}}}" if self.kind(name) == "any" else ""))

    def shorter(self, name: str, side: int) -> bool:
        """Return whether a run lacks an element of a list."""
        return self.direction.get(name) == ("add" if side == 1 else "remove")

    def ask(self, query: str, data: str, side: int) -> Term:
        """Return the value of a query in one run."""
        bound = real(self.scalar(self.parameter(query, tree.SensitiveQuery)[1].sensitivity, 1))
        sides = z3.Real(f"{query}({data}){{1}}"), z3.Real(f"{query}({data}){{2}}")
        self.facts += [sides[1] - sides[0] <= bound, sides[0] - sides[1] <= bound]
        return sides[side - 1]

    def look(self, sight: Sight, side: int, node: tree.Expr, index: Term = None) -> Term:
        """Return an input in one run, or in the run that the node names."""
        match node:
            case tree.Variable(name, own):
                return self.scalar(name, own or side)
            case tree.Element(array, _, own) if z3.is_int(index):
                sight.need(z3.And(index >= 0, index < self.size(array, own or side)))
                return self.read(array, index, own or side)
            case tree.Size(array, own):
                return self.size(array, own or side)
            case tree.Ask(query, data, own):
                return self.ask(query, data, own or side)
        raise refuse("there is no rule for this expression", node)

    def header(self, expression: tree.Expr, side: int) -> Term:
        """Return an expression of the header; a clause can only hold where it has a value."""
        for part in tree.subexpressions(expression):
            loose = isinstance(part, tree.Variable | tree.Element) and not part.side
            if loose and tree.names(part) & {p.name for p in self.program.parameters if p.private}:
                raise refuse("the header speaks of a private input without saying in which run", part)
        sight = Sight(lambda *node: self.look(sight, side, *node), exactly=True)
        term = sight(expression)
        self.facts += sight.needs
        return term

    def related(self, parameter: tree.Parameter, sides: tuple[Term, Term], inside: list[Term]) -> list[Term]:
        """Return what is known of one value in the two runs, for each run where it is inside its list."""
        relation = relation_of(self.program, parameter)
        kind: Term = getattr(parameter.type, "element", parameter.type)
        spans = [] if kind.low is None else [(kind.low, kind.high)]
        if relation.low is not None and relation.high is not None:
            spans.append((self.header(relation.low, 1), self.header(relation.high, 1)))
        each = list(zip(sides, inside, strict=True))
        found = [z3.Implies(here, z3.And(v >= low, v <= high)) for low, high in spans for v, here in each]
        if relation.bound is not None:
            bound, gap = real(self.header(relation.bound, 1)), real(sides[1]) - real(sides[0])
            way, zero = self.direction.get(parameter.name), z3.RealVal(0)
            most, least = zero if way == "down" else bound, zero if way == "up" else -bound
            found.append(z3.Implies(z3.And(*inside), z3.And(gap <= most, gap >= least, bound >= 0)))
        return found

    def element(self, name: str, index: Term) -> tuple[Term, Term]:
        """Return the element at an index in both runs; of lists that lose one, in the longer list."""
        (parameter, type_), how, index = self.parameter(name, tree.Array), self.kind(name), z3.simplify(index)
        for known, one, two in self.seen.setdefault(name, []):
            if known.eq(index):
                return one, two
        number = len(self.seen[name]) + 1
        first = second = self.symbol(f"{name}[{number}]", type_.element)
        if how in ("one", "replace"):
            second = z3.If(index == self.position(name), self.symbol(f"other({name})", type_.element), first)
        elif how in ("all", "monotone", "any"):
            second = self.symbol(f"{name}[{number}]{{2}}", type_.element)
        inside = [z3.And(index >= 0, index < self.longest(name, side)) for side in (1, 2)]
        self.facts += self.related(parameter, (first, second), inside)
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
