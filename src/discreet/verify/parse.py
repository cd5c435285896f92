"""Reading programs: a lexer and a recursive-descent parser that know where every word stands.

Blocks are marked by indentation, semicolons are optional, and the usual blackboard spellings are
understood: `private`/`priv`, `public`/`pub`, `size d` and `size(d)`, `{0,1} list`, `{0,1}^n`, `:= $`.  A
list is private and a number public unless said otherwise; `eps` is a positive public constant, and every
name that only the header mentions is a public constant too.  A file holds one or more procedures; a
procedure may call earlier ones, and the last one is the program.

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
from typing import NoReturn

from discreet.errors import ProgramError
from discreet.verify.lexer import Token, tokens
from discreet.verify.syntax import (
    Append,
    Apply,
    Array,
    Assign,
    Binary,
    Call,
    Claim,
    Conditional,
    Element,
    Epsilon,
    Expr,
    If,
    Items,
    Kind,
    Name,
    Neighbours,
    Number,
    Parameter,
    Position,
    Program,
    Query,
    Return,
    Rho,
    Sample,
    Scalar,
    Secret,
    Statement,
    Truth,
    Type,
    Unary,
    While,
)

LAWS = (
    "Laplace",
    "Geometric",
    "Exponential",
    "Gaussian",
    "Uniform",
    "Bernoulli",
    "Response",
    "ExpMech",
)
"""The laws that can be drawn from; `Response(e)` is true with probability exp(e) / (1 + exp(e))."""

FUNCTIONS = {"size": 1, "abs": 1, "exp": 1, "min": 2, "max": 2}
GHOSTS = {"tag": 1, "value": 1, "result": 1}
_KEYWORDS = {"while", "do", "if", "then", "else", "return", "and", "or", "not", "mod", "xor", "true", "false"}
_KINDS = ("one", "all", "monotone", "increasing", "decreasing", "replace", "add-remove", "any")
DEEPEST = 100


class _Parser:
    """A cursor over the words; each method reads one construct of the grammar."""

    def __init__(self, text: str, *, relational: bool = False) -> None:
        self.words = tokens(text)
        self.next = 0
        self.relational = relational
        self.procedures: list[str] = []
        self.depth = 0

    @property
    def word(self) -> Token:
        return self.words[self.next]

    def fail(self, message: str, at: Position | None = None) -> NoReturn:
        place = at or self.word.at
        raise ProgramError(message, place.line, place.column)

    def take(self) -> Token:
        token = self.word
        self.next += 1
        return token

    def sees(self, *texts: str) -> bool:
        return self.word.kind in ("symbol", "name") and self.word.text in texts

    def accept(self, *texts: str) -> bool:
        if self.sees(*texts):
            self.next += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        if not self.sees(text):
            self.fail(f"expected {text!r}, found {self.word.text!r}")
        return self.take()

    def mark(self, kind: str) -> bool:
        if self.word.kind == kind:
            self.next += 1
            return True
        return False

    def identifier(self, what: str) -> Token:
        if self.word.kind != "name" or self.word.text in _KEYWORDS:
            self.fail(f"expected {what}, found {self.word.text!r}")
        return self.take()

    def skip_lines(self) -> None:
        while self.mark("newline") or self.accept(";"):
            pass

    # Procedures and their headers

    def file(self) -> tuple[Program, ...]:
        programs: list[Program] = []
        self.skip_lines()
        while self.word.kind != "end":
            program = self.procedure()
            if program.name in self.procedures:
                self.fail(f"there are two procedures called {program.name}", program.at)
            programs.append(program)
            self.procedures.append(program.name)
            self.skip_lines()
        if not programs:
            self.fail("the file contains no procedure")
        return tuple(programs)

    def procedure(self) -> Program:
        head = self.identifier("the name of a procedure")
        parameters: list[Parameter] = []
        if not self.sees("("):
            self.fail(f"expected the parameters of {head.text} in parentheses, found {self.word.text!r}")
        while self.accept("("):
            while not self.accept(")"):
                parameters.append(self.parameter())
                if not self.sees(")"):
                    self.expect(",")
        seen: set[str] = set()
        for parameter in parameters:
            if parameter.name in seen:
                self.fail(f"parameter {parameter.name} is declared twice", parameter.at)
            seen.add(parameter.name)
        if self.accept(":"):
            self.accept("public", "pub", "private", "priv")
            self.type()
        self.mark("newline")
        if not self.mark("indent"):
            self.fail("expected the indented body of the procedure")
        neighbours: list[Neighbours] = []
        requires: list[Expr] = []
        claim: Claim | None = None
        while self.sees("neighbours", "requires", "ensures"):
            at = self.word.at
            match self.take().text:
                case "neighbours":
                    neighbours.append(self.adjacency(at))
                case "requires":
                    requires.append(self.expression())
                case _:
                    if claim is not None:
                        self.fail("there is already an ensures clause", at)
                    claim = self.claim(at)
            self.end_of_statement()
        body = self.rest_of_block()
        return Program(head.text, tuple(parameters), tuple(neighbours), tuple(requires), claim, body, head.at)

    def parameter(self) -> Parameter:
        name = self.identifier("the name of a parameter")
        self.expect(":")
        private: bool | None = None
        if self.accept("private", "priv"):
            private = True
        elif self.accept("public", "pub"):
            private = False
        kind = self.type()
        return Parameter(name.text, kind, isinstance(kind, Array) if private is None else private, name.at)

    def type(self) -> Type:
        at = self.word.at
        scalar: Scalar
        if self.accept("{"):
            low = self.integer()
            if self.accept(".."):
                high = self.integer()
            else:
                high = low
                while self.accept(","):
                    value = self.integer()
                    if value != high + 1:
                        self.fail("a finite type lists consecutive integers, such as {0,1,2}", at)
                    high = value
            self.expect("}")
            if self.accept("^"):
                self.take()
                return Scalar("bits")
            if self.word.kind == "name" and self.word.text == "n":
                self.take()
                return Scalar("bits")
            scalar = Scalar("int", low, high)
        else:
            word = self.identifier("a type").text
            if word == "data":
                if self.accept("->"):
                    self.expect("real")
                    return Query()
                return Array(Scalar("real"))
            kinds: dict[str, Kind] = {
                "int": "int",
                "real": "real",
                "bool": "bool",
                "msg": "bits",
                "bits": "bits",
            }
            if word not in kinds:
                self.fail(
                    f"unknown type {word!r}; use int, real, bool, bits, data, {{a..b}} or a list of these", at
                )
            scalar = Scalar(kinds[word])
        return Array(scalar) if self.accept("list") else scalar

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        if self.word.kind != "number" or "." in self.word.text:
            self.fail(f"expected an integer, found {self.word.text!r}")
        return sign * int(self.take().text)

    def adjacency(self, at: Position) -> Neighbours:
        name = self.identifier("the private input that differs").text
        word = self.identifier("how it differs (one, all, monotone, replace, add-remove, any)")
        kind = word.text
        if kind == "add" and self.accept("-"):
            kind = "add-" + self.take().text
        if kind not in _KINDS:
            self.fail(f"unknown relation {kind!r}; use one of {', '.join(_KINDS)}", word.at)
        bound = low = high = None
        if self.accept("by"):
            bound = self.expression()
        if self.accept("in"):
            self.expect("[")
            low = self.expression()
            self.expect(",")
            high = self.expression()
            self.expect("]")
        if kind in ("increasing", "decreasing"):
            kind = "monotone"
        return Neighbours(name, kind, bound, low, high, at)  # type: ignore[arg-type]

    def claim(self, at: Position) -> Claim:
        word = self.identifier("a claim: epsilon, rho or secret")
        match word.text:
            case "epsilon":
                epsilon = self.expression()
                return Epsilon(epsilon, self.expression() if self.accept("delta") else None, at)
            case "rho":
                return Rho(self.expression(), at)
            case "secret":
                return Secret(at)
        return self.fail(f"unknown claim {word.text!r}; use epsilon, rho or secret", word.at)

    # Statements

    def end_of_statement(self) -> None:
        if self.accept(";"):
            self.mark("newline")
        elif self.word.kind not in ("dedent", "end") and not self.mark("newline"):
            self.fail(f"expected the end of the statement, found {self.word.text!r}")

    def rest_of_block(self) -> tuple[Statement, ...]:
        found: list[Statement] = []
        while not self.mark("dedent"):
            found.append(self.statement())
        return tuple(found)

    def block(self) -> tuple[Statement, ...]:
        if self.mark("newline"):
            if not self.mark("indent"):
                self.fail("expected an indented block")
            return self.rest_of_block()
        return (self.statement(),)

    def statement(self) -> Statement:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"blocks are nested more than {DEEPEST} deep")
        at = self.word.at
        if self.word.kind == "indent":
            self.fail("this line is indented more deeply than its block")
        try:
            if self.accept("while"):
                condition = self.expression()
                self.accept("do", ":")
                return While(condition, self.block(), at=at)
            if self.accept("if"):
                condition = self.expression()
                self.accept("then", ":")
                positive = self.block()
                negative: tuple[Statement, ...] = ()
                if self.accept("else"):
                    self.accept(":")
                    negative = self.block()
                return If(condition, positive, negative, at)
            if self.accept("return"):
                values = self.returned()
                self.end_of_statement()
                return Return(values, at)
            target = self.identifier("a statement")
            self.expect(":=")
            statement = self.right_hand_side(target)
            self.end_of_statement()
            return statement
        finally:
            self.depth -= 1

    def returned(self) -> tuple[Expr, ...]:
        mark = self.next
        if self.accept("("):
            values = [self.expression()]
            while self.accept(","):
                values.append(self.expression())
            if len(values) > 1:
                self.expect(")")
                return tuple(values)
            self.next = mark
        return (self.expression(),)

    def right_hand_side(self, target: Token) -> Statement:
        if self.accept("$"):
            law = self.identifier("the name of a law")
            if law.text not in LAWS:
                self.fail(f"unknown law {law.text!r}; use one of {', '.join(LAWS)}", law.at)
            self.expect("(")
            from_set = self.sees("{")
            arguments = self.law_arguments(law)
            kind = law.text
            if kind == "Uniform" and from_set:
                kind = "UniformInt" if arguments else "UniformBits"
            return Sample(target.text, kind, arguments, at=target.at)
        if self.word.kind == "name" and self.word.text in self.procedures:
            procedure = self.take().text
            self.expect("(")
            return Call(target.text, procedure, self.arguments(), target.at)
        value = self.expression()
        match value:
            case Binary("++", Name(name), Items((item,))) if name == target.text:
                return Append(target.text, item, at=target.at)
            case Binary("++", at=at):
                self.fail("lists grow one element at a time: write r := r ++ [e]", at)
        return Assign(target.text, value, target.at)

    def law_arguments(self, law: Token) -> tuple[Expr, ...]:
        if not self.sees("{"):
            return self.arguments()
        at = self.word.at
        if law.text != "Uniform":
            self.fail("only the uniform law is drawn from a set", at)
        match self.type():
            case Scalar("bits"):
                found: tuple[Expr, ...] = ()
            case Scalar("int", int(low), int(high)):
                found = (Number(Fraction(low), at=at), Number(Fraction(high), at=at))
            case _:
                self.fail("a uniform law needs {a..b} or {0,1}^n", at)
        self.expect(")")
        return found

    def arguments(self) -> tuple[Expr, ...]:
        found: list[Expr] = []
        while not self.accept(")"):
            found.append(self.expression())
            if not self.sees(")"):
                self.expect(",")
        return tuple(found)

    # Expressions, from weak to strong binding

    def expression(self) -> Expr:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"expressions are nested more than {DEEPEST} deep")
        try:
            at = self.word.at
            if self.accept("if"):
                condition = self.expression()
                self.expect("then")
                positive = self.expression()
                self.expect("else")
                return Conditional(condition, positive, self.expression(), at)
            return self.disjunction()
        finally:
            self.depth -= 1

    def disjunction(self) -> Expr:
        left = self.conjunction()
        while self.sees("or"):
            at = self.take().at
            left = Binary("or", left, self.conjunction(), at)
        return left

    def conjunction(self) -> Expr:
        left = self.negation()
        while self.sees("and"):
            at = self.take().at
            left = Binary("and", left, self.negation(), at)
        return left

    def negation(self) -> Expr:
        if self.sees("not"):
            at = self.take().at
            return Unary("not", self.negation(), at)
        return self.comparison()

    def comparison(self) -> Expr:
        left = self.sum()
        if self.sees("<", "<=", ">", ">=", "=", "!="):
            token = self.take()
            left = Binary(token.text, left, self.sum(), token.at)
            if self.sees("<", "<=", ">", ">=", "=", "!="):
                self.fail("comparisons do not chain: write a < b and b < c")
        return left

    def sum(self) -> Expr:
        left = self.product()
        while self.sees("+", "-", "++", "xor"):
            token = self.take()
            left = Binary(token.text, left, self.product(), token.at)
        return left

    def product(self) -> Expr:
        left = self.signed()
        while self.sees("*", "/", "mod"):
            token = self.take()
            left = Binary(token.text, left, self.signed(), token.at)
        return left

    def signed(self) -> Expr:
        if self.sees("-"):
            at = self.take().at
            operand = self.signed()
            if isinstance(operand, Number):
                return Number(-operand.value, operand.whole, at)
            return Unary("-", operand, at)
        return self.atom()

    def atom(self) -> Expr:
        at = self.word.at
        if self.word.kind == "number":
            text = self.take().text
            return Number(Fraction(text), "." not in text, at)
        if self.accept("true"):
            return Truth(True, at)
        if self.accept("false"):
            return Truth(False, at)
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.accept("["):
            items: list[Expr] = []
            while not self.accept("]"):
                items.append(self.expression())
                if not self.sees("]"):
                    self.expect(",")
            return Items(tuple(items), at)
        name = self.identifier("an expression")
        if name.text == "size" and self.word.kind == "name" and self.word.text not in _KEYWORDS:
            return Apply("size", (Name(self.take().text, 0, at),), at)
        if name.text in LAWS:
            self.fail(f"a draw is written x := $ {name.text}(...), on a line of its own", at)
        side = self.side() if self.relational else 0
        if self.accept("("):
            if name.text in self.procedures:
                self.fail(f"call {name.text} on a line of its own: x := {name.text}(...)", at)
            function = f"{name.text}{{{side}}}" if side else name.text
            return Apply(function, self.arguments(), at)
        if self.accept("["):
            index = self.expression()
            self.expect("]")
            return Element(name.text, index, side, at)
        return Name(name.text, side, at)

    def side(self) -> int:
        if not self.accept("{"):
            return 0
        side = self.integer()
        if side not in (1, 2):
            self.fail("a run is marked {1} or {2}")
        self.expect("}")
        return side


def parse_file(text: str) -> tuple[Program, ...]:
    """Return the procedures of a file as written, without checking or inlining."""
    return _Parser(text).file()


def parse_formula(text: str) -> Expr:
    """Read a relational expression, in which x{1} and x{2} are the values of x in the two runs."""
    parser = _Parser(text, relational=True)
    value = parser.expression()
    parser.mark("newline")
    if parser.word.kind != "end":
        parser.fail(f"expected the end of the formula, found {parser.word.text!r}")
    return value
