"""Reading programs: recursive descent over words that know where they stand.

Blocks are marked by indentation, semicolons are optional, and the usual blackboard spellings are
understood: `private`/`priv`, `public`/`pub`, `size d` and `size(d)`, `{0,1} list`, `{0,1}^n`, `:= $`.
`eps` is a positive public constant unless the program declares it itself, and every name that only the
header mentions is a public constant too.  A file holds one or more procedures; a procedure may call earlier
ones, and the last one is the program.

    NoisyCount (d : private {0,1} list) : public real
      neighbours d replace
      ensures epsilon eps
      s := 0; i := 0
      while i < size d
        s := s + d[i]
        i := i + 1
      z := $ Laplace(1/eps, s)
      return z
"""

from fractions import Fraction

from discreet.verify.cursor import INSTEAD, LAWS, Cursor, cursor
from discreet.verify.expression import expression, listed, whole
from discreet.verify.header import adjacency, claim, differing, formula, parameters, presumed, type_
from discreet.verify.lexer import Token
from discreet.verify.syntax import (
    Append,
    Array,
    Assign,
    Binary,
    Claim,
    Expr,
    If,
    Items,
    Neighbours,
    Number,
    Program,
    Put,
    Return,
    Sample,
    Scalar,
    Statement,
    TextPosition,
    TruthValue,
    Type,
    Variable,
    While,
)


def parse_file(text: str) -> tuple[Program, ...]:
    """Return the procedures of a file as written, without resolving names or checking."""
    at = cursor(text)
    programs: list[Program] = []
    at.skip_lines()
    while at.word.kind != "end":
        program = procedure(at)
        if any(program.name == other.name for other in programs):
            at.fail(f"there are two procedures called {program.name}", program.at)
        programs.append(program)
        at.skip_lines()
    if not programs:
        at.fail("the file contains no procedure")
    return tuple(programs)


def parse_formula(text: str) -> Expr:
    """Read a relational expression, in which x{1} and x{2} are the values of x in the two runs."""
    at = cursor(text, relational=True)
    value = whole(at)
    at.mark("newline")
    if at.word.kind != "end":
        at.fail(f"expected the end of the formula, found {at.word.text!r}")
    return value


def procedure(at: Cursor) -> Program:
    """Read a procedure: its head, its clauses and its body."""
    head = at.declared("the name of a procedure")
    if not at.sees("("):
        at.fail(f"expected the parameters of {head.text} in parentheses, found {at.word.text!r}")
    given = parameters(at)
    result = returned_type(at) if at.accept(":") else None
    at.mark("newline")
    if not at.mark("indent"):
        at.fail("expected the indented body of the procedure")
    neighbours: list[Neighbours] = []
    requires: list[Expr] = []
    claimed: Claim | None = None
    together: Expr = TruthValue(True)
    while at.sees("neighbours", "requires", "ensures"):
        place = at.word.at
        match at.take().text:
            case "neighbours" if at.accept("by"):
                if together != TruthValue(True):
                    at.fail("there is already a `neighbours by` clause: join the two with `and`", place)
                together = formula(at)
            case "neighbours":
                neighbours.append(adjacency(at, place))
            case "requires":
                requires.append(whole(at))
            case _:
                if claimed is not None:
                    at.fail("there is already an ensures clause", place)
                claimed = claim(at, place)
        end_of_statement(at)
    body = rest_of_block(at)
    clauses = differing(given, tuple(neighbours), together)
    known = presumed(given, clauses)
    return Program(head.text, known, clauses, tuple(requires), claimed, body, head.at, result, together)


def returned_type(at: Cursor) -> Type:
    """Read the type of the result, which is public: it is what the program gives away."""
    if at.sees("private", "priv"):
        at.fail("what a program returns is public")
    at.accept("public", "pub")
    kind = type_(at)
    if isinstance(kind, Array) and kind.width:
        at.fail("a program returns plain lists, and as many as it likes")
    return kind


def end_of_statement(at: Cursor) -> None:
    """Step over the end of a statement."""
    if at.accept(";"):
        at.mark("newline")
    elif at.word.kind not in ("dedent", "end") and not at.mark("newline"):
        at.unexpected("the end of the statement")


def rest_of_block(at: Cursor) -> tuple[Statement, ...]:
    """Read statements up to the end of their block."""
    found: list[Statement] = []
    while not at.mark("dedent"):
        found.append(statement(at))
    return tuple(found)


def block(at: Cursor) -> tuple[Statement, ...]:
    """Read an indented block, or one statement on the same line."""
    if not at.mark("newline"):
        return (statement(at),)
    if not at.mark("indent"):
        at.fail("expected an indented block")
    return rest_of_block(at)


def statement(at: Cursor) -> Statement:
    """Read one statement."""
    with at.deeper("blocks"):
        if at.word.kind == "indent":
            at.fail("this line is indented more deeply than its block")
        place = at.word.at
        if at.accept("while"):
            condition = whole(at)
            at.accept("do", ":")
            return While(condition, block(at), at=place)
        if at.accept("if"):
            return branches(at, whole(at), place)
        if at.accept("return"):
            values = returned(at)
            end_of_statement(at)
            return Return(values, place)
        found = assignment(at)
        end_of_statement(at)
        return found


def branches(at: Cursor, condition: Expr, place: TextPosition) -> If:
    """Read the branches of a conditional."""
    at.accept("then", ":")
    positive = block(at)
    negative: tuple[Statement, ...] = ()
    if at.accept("else"):
        at.accept(":")
        negative = block(at)
    return If(condition, positive, negative, place)


def returned(at: Cursor) -> tuple[Expr, ...]:
    """Read what is returned: one expression, or several in parentheses."""
    mark = at.next
    if at.accept("("):
        values = [expression(at)]
        while at.accept(","):
            values.append(expression(at))
        if len(values) > 1:
            at.expect(")")
            return tuple(values)
        at.next = mark
    return (whole(at),)


def assignment(at: Cursor) -> Statement:
    """Read an assignment, a draw or an append."""
    target = at.identifier("a statement")
    if not at.sees(":=") and target.text in INSTEAD:
        at.fail(INSTEAD[target.text], target.at)
    if at.sees("="):
        at.fail(f"an assignment is written {target.text} := ...")
    at.free(target)
    if at.accept("["):
        return changed(at, target)
    at.expect(":=")
    if at.accept("$"):
        return draw(at, target)
    value = whole(at)
    match value:
        case Binary("++", Variable(name), Items((item,))) if name == target.text:
            return Append(target.text, item, at=target.at)
        case Binary("++", at=place):
            at.fail("lists grow one element at a time: write r := r ++ [e]", place)
    return Assign(target.text, value, target.at)


def changed(at: Cursor, target: Token) -> Put:
    """Read `a[i] := e`, after the opening bracket."""
    index = whole(at)
    at.expect("]")
    at.expect(":=")
    if at.sees("$"):
        at.fail(f"draw first, then change the list: x := $ ..., and then {target.text}[...] := x")
    return Put(target.text, index, whole(at), target.at)


def draw(at: Cursor, target: Token) -> Sample:
    """Read a law and its parameters, after the dollar sign."""
    law = at.identifier("the name of a law")
    if law.text not in LAWS:
        at.fail(f"unknown law {law.text!r}; use one of {', '.join(LAWS)}", law.at)
    at.expect("(")
    if not at.sees("{"):
        return Sample(target.text, law.text, listed(at, ")"), at=target.at)
    place = at.word.at
    if law.text != "Uniform":
        at.fail("only the uniform law is drawn from a set", place)
    kind = type_(at)
    at.expect(")")
    match kind:
        case Scalar("bits", length=length):
            return Sample(target.text, "UniformBits", (), at=target.at, length=length)
        case Scalar("int", int(low), int(high)):
            ends = (Number(Fraction(low), at=place), Number(Fraction(high), at=place))
            return Sample(target.text, "UniformInt", ends, at=target.at)
    return at.fail("a uniform law needs {a..b} or {0,1}^n", place)
