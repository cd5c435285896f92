"""The abstract syntax of privacy programs: frozen trees whose every node knows where it was written.

A program is a procedure over private and public inputs, built from assignments, draws, conditionals, while
loops and lists.  Its header says which inputs are neighbours, what may be assumed of the public inputs, and
what the author claims.  Positions take no part in comparisons: equal trees mean the same program.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True, slots=True)
class TextPosition:
    """A place in the text, counted from line 1 and column 1."""

    line: int
    column: int


NOWHERE = TextPosition(0, 0)


@dataclass(frozen=True, slots=True)
class Number:
    """An exact rational literal; `whole` is false for literals written with a decimal point."""

    value: Fraction
    whole: bool = True
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TruthValue:
    """`true` or `false`."""

    value: bool
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or parameter; side 1 or 2 picks a run in relational formulas, side 0 means either."""

    name: str
    side: int = 0
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """`-e` or `not e`."""

    operator: Literal["-", "not"]
    operand: "Expr"
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """An arithmetic, comparison or logical operation on two operands."""

    operator: str
    left: "Expr"
    right: "Expr"
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Conditional:
    """`if c then a else b`, as an expression."""

    condition: "Expr"
    positive: "Expr"
    negative: "Expr"
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Apply:
    """A built-in function (`abs`, `exp`, `min`, `max`), or in a proof's formula a ghost of the output."""

    function: str
    arguments: tuple["Expr", ...]
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Element:
    """`d[i]`: one element of a list; side as for names."""

    array: str
    index: "Expr"
    side: int = 0
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Size:
    """`size(d)`: the length of a list; side as for names."""

    array: str
    side: int = 0
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ask:
    """`f(d)`: a query parameter applied to a private list; side as for names."""

    query: str
    data: str
    side: int = 0
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Items:
    """`[a, b, ...]`: a list written out."""

    items: tuple["Expr", ...]
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


Expr = Number | TruthValue | Variable | Unary | Binary | Conditional | Apply | Element | Size | Ask | Items


@dataclass(frozen=True, slots=True)
class Assign:
    """`x := e`."""

    target: str
    value: Expr
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sample:
    """`x := $ Law(arguments)`; `site` numbers the draws of a program from 1 in the order of the text.

    `length` is that of a uniform bit string, and None for every other law.
    """

    target: str
    law: str
    arguments: tuple[Expr, ...]
    site: int = 0
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)
    length: "Length | None" = None


@dataclass(frozen=True, slots=True)
class Append:
    """`r := r ++ [e]`; `tag` numbers the appends of a program from 1 in the order of the text."""

    target: str
    value: Expr
    tag: int = 0
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Put:
    """`a[i] := e`: a list of the program itself with one element changed."""

    target: str
    index: Expr
    value: Expr
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ProcedureCall:
    """`x := P(arguments)` for an earlier procedure P of the same file; gone after inlining."""

    target: str
    procedure: str
    arguments: tuple[Expr, ...]
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class If:
    """A conditional statement."""

    condition: Expr
    positive: tuple["Statement", ...]
    negative: tuple["Statement", ...]
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class While:
    """A loop; `loop` numbers the loops of a program from 1 in the order of the text."""

    condition: Expr
    body: tuple["Statement", ...]
    loop: int = 0
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Return:
    """`return e` or `return (a, b)`; always the last statement."""

    values: tuple[Expr, ...]
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


Statement = Assign | Sample | Append | Put | ProcedureCall | If | While | Return

Kind = Literal["int", "real", "bool", "bits"]

Length = int | str
"""How many bits a string has: a number, or a name that stands for the same number wherever it is written."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, a truth value or a bit string; integers may have a range, bit strings have a length."""

    kind: Kind
    low: int | None = None
    high: int | None = None
    length: Length | None = None


@dataclass(frozen=True, slots=True)
class Array:
    """A list of scalars, or of rows of so many scalars each."""

    element: Scalar
    width: int = 0


@dataclass(frozen=True, slots=True)
class SensitiveQuery:
    """A function from the data to the reals, of which only its global sensitivity is known.

    `sensitivity` is the public constant that bounds |f(d) - f(e)| for all neighbours d and e.
    """

    sensitivity: str = ""


Type = Scalar | Array | SensitiveQuery


@dataclass(frozen=True, slots=True)
class Parameter:
    """One input of a procedure; `stated` is false where the text leaves open whether it is private."""

    name: str
    type: Type
    private: bool
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)
    stated: bool = True


@dataclass(frozen=True, slots=True)
class Neighbours:
    """How a private input may differ between two neighbouring runs.

    one: a single element differs, by at most `bound`.  all: every element may, by at most `bound`.  monotone:
    as all, in one direction.  replace: a single element is any other of its type, or of [low, high].
    add-remove: one of [low, high] is added or removed.  any: no relation.  public: none; no text says so.
    """

    name: str
    kind: Literal["one", "all", "monotone", "replace", "add-remove", "any", "public"]
    bound: Expr | None = None
    low: Expr | None = None
    high: Expr | None = None
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)
    along: str = ""
    """The list at whose place this one differs, where that is not a place of its own."""


@dataclass(frozen=True, slots=True)
class EpsilonClaim:
    """The claim of epsilon-differential privacy, with delta where it is not zero."""

    epsilon: Expr
    delta: Expr | None = None
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Rho:
    """The claim of rho-zero-concentrated differential privacy."""

    rho: Expr
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Secret:
    """The claim that the output's law does not depend on the private inputs at all."""

    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)


Claim = EpsilonClaim | Rho | Secret


@dataclass(frozen=True, slots=True)
class Program:
    """A procedure with its neighbours, assumptions, claim, and the type that it says it returns."""

    name: str
    parameters: tuple[Parameter, ...]
    neighbours: tuple[Neighbours, ...]
    requires: tuple[Expr, ...]
    claim: Claim | None
    body: tuple[Statement, ...]
    at: TextPosition = field(default=NOWHERE, compare=False, repr=False)
    result: Type | None = None
    adjacency: Expr = TruthValue(True)
    """What must hold of two neighbours besides, in terms of x{1} and x{2}; it is symmetric."""
    tables: tuple[tuple[str, int], ...] = ()
    """The lists of rows that became one list for each column, with how many columns they had."""

    @property
    def returned(self) -> tuple[Expr, ...]:
        """Return what the last statement returns."""
        return next((s.values for s in self.body[-1:] if isinstance(s, Return)), ())

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of a name."""
        return next((p for p in self.parameters if p.name == name), None)


@dataclass(frozen=True, slots=True)
class Part:
    """The proof for one order of the neighbours: terms by the numbers of draws and loops."""

    direction: Mapping[str, str]
    moves: Mapping[int, Expr]
    variants: Mapping[int, Expr]
    invariants: Mapping[int, tuple[tuple[Expr, ...], ...]]
    """For each visit of a loop in the order of the text, what holds whenever the loop comes round."""
    waits: Mapping[int, tuple[Expr, ...]] = field(default_factory=dict)
    """When the first run, and when the second run, sits out a turn of a loop."""
    concentrated: bool = False
    """Whether costs are counted as zero-concentrated privacy counts them, although nothing demands it."""
    tails: Mapping[int, Expr] = field(default_factory=dict)
    """Beyond how many scales a draw is given up, upwards or (negative) downwards, for a part of delta."""
    apart: Mapping[int, Expr] = field(default_factory=dict)
    """A value that a continuous draw does not hit, which it would with probability zero."""
    picked: Expr = TruthValue(True)
    """Which draws may move and are not noted; with notes, the others do not move."""
    notes: Mapping[int, Expr] = field(default_factory=dict)
    """What becomes of each note after a draw that is not picked; moves may know how the notes end."""


def children(expression: Expr) -> tuple[Expr, ...]:
    """Return the direct subexpressions."""
    match expression:
        case Number() | TruthValue() | Variable() | Size() | Ask():
            return ()
        case Unary(_, only) | Element(_, only):
            return (only,)
        case Binary(_, left, right):
            return (left, right)
        case Conditional(condition, positive, negative):
            return (condition, positive, negative)
        case Apply(_, several) | Items(several):
            return several


def subexpressions(expression: Expr) -> Iterator[Expr]:
    """Yield the expression and everything inside it."""
    yield expression
    for child in children(expression):
        yield from subexpressions(child)


def statements(block: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement of a block, outer before inner."""
    for statement in block:
        yield statement
        match statement:
            case If(_, positive, negative):
                yield from statements(positive)
                yield from statements(negative)
            case While(_, body):
                yield from statements(body)


def expressions(statement: Statement) -> tuple[Expr, ...]:
    """Return the expressions written directly in a statement, not those of nested blocks."""
    match statement:
        case Assign(_, value) | Append(_, value):
            return (value,)
        case Put(_, index, value):
            return (index, value)
        case Sample(_, _, arguments) | ProcedureCall(_, _, arguments):
            return arguments
        case If(condition) | While(condition):
            return (condition,)
        case Return(values):
            return values


def mentioned(statement: Statement) -> set[str]:
    """Return the names that a statement mentions itself, not those of nested blocks."""
    return {name for expression in expressions(statement) for name in names(expression)}


def names(expression: Expr) -> set[str]:
    """Return the variables and lists that an expression mentions."""
    found: set[str] = set()
    for part in subexpressions(expression):
        match part:
            case Variable(name):
                found.add(name)
            case Element(array) | Size(array):
                found.add(array)
            case Ask(query, data):
                found |= {query, data}
    return found


def assigned(block: tuple[Statement, ...]) -> set[str]:
    """Return the variables that a block may change."""
    kinds = Assign | Sample | Append | Put | ProcedureCall
    return {s.target for s in statements(block) if isinstance(s, kinds)}


def lengthened(block: tuple[Statement, ...]) -> set[str]:
    """Return the lists that a block may make longer."""
    return {s.target for s in statements(block) if isinstance(s, Append)}


def growing(program: Program) -> set[str]:
    """Return the variables that are returned as they are, but for lists of which elements are changed."""
    return {v.name for v in program.returned if isinstance(v, Variable)} - revised(program.body)


def remembered(program: Program) -> set[str]:
    """Return the lists of a program's own that it reads or changes, so that their elements matter."""
    parts = (p for s in statements(program.body) for e in expressions(s) for p in subexpressions(e))
    read = {part.array for part in parts if isinstance(part, Element)} | revised(program.body)
    return read - {parameter.name for parameter in program.parameters}


def revised(block: tuple[Statement, ...]) -> set[str]:
    """Return the lists of which a block changes elements."""
    return {s.target for s in statements(block) if isinstance(s, Put)}
