"""Python functions as programs: what is verified is what runs.

A function in a small subset of Python is written out in the verifier's language, statement by statement, and
every position in the result is that of the Python source.  The docstring holds the header's clauses, one on a
line; arguments are public unless their annotation says `Private[...]`.

    def first_hit(q: Private[list[float]], bar: float, eps: float) -> int:
        '''The place of the first answer above a bar.

        neighbours q all by 1
        requires eps > 0
        ensures epsilon eps
        '''
        noisy_bar = laplace(2 / eps, bar)
        found = -1
        i = 0
        while i < len(q) and found < 0:
            if q[i] + laplace(4 / eps) >= noisy_bar:
                found = i
            i += 1
        return found

The subset: assignments and `+=`, draws, `if`, `elif`, `else`, `while`, `for i in range(...)`, `for x in xs`,
lists that start empty, grow by `append` and change by `a[i] = e`, one `return` at the end; numbers, truth
values, arithmetic, comparisons, `and`, `or`, `not`, `a if c else b`, `len`, `abs`, `min`, `max`.  Everything
else is refused where it stands.  A number written 0.1 means a tenth.
"""

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from decimal import Decimal
from typing import Any, NoReturn

from discreet.errors import ProgramError
from discreet.verify.call import run
from discreet.verify.check import CheckedProgram, check
from discreet.verify.noise import LAWS
from discreet.verify.parse import parse_file
from discreet.verify.resolve import resolve
from discreet.verify.syntax import TextPosition

CLAUSES = ("neighbours ", "requires ", "ensures ")
TYPES = {"float": "real", "int": "int", "bool": "bool"}
OPERATORS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "mod"}
COMPARED: dict[type, str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
COMPARED |= {ast.Eq: "=", ast.NotEq: "!="}
INSTEAD: dict[type, str] = {
    ast.Break: "there is no `break`: put the condition into the `while`",
    ast.Continue: "there is no `continue`: put the rest of the loop's body into an `if`",
    ast.Return: "a program returns once, at its end",
    ast.Pow: "there is no `**`: write a product, x * x",
    ast.FloorDiv: "there is no `//`: divide with `/`",
    ast.ListComp: "there are no comprehensions: start with [] and append",
    ast.Subscript: "lists are read and changed at one place: d[i]",
    ast.Pass: "there is no `pass`: an `if` may do without an `else`",
}
"""What to write instead of what is not in the subset."""
UNKNOWN = "this is not in the subset of Python that is verified"


@dataclass(frozen=True, slots=True)
class Translated:
    """A function as a program; positions in `checked` are those of the Python source."""

    text: str
    checked: CheckedProgram


class PythonProgram:
    """A Python function that can be verified, and that runs as it was verified, in exact arithmetic."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.__wrapped__ = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._translated = translate(function)

    @property
    def text(self) -> str:
        """The program in the verifier's language."""
        return self._translated.text

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run once with exact secure noise; numbers become the rationals that they are."""
        bound = inspect.signature(self.__wrapped__).bind(*arguments, **named)
        bound.apply_defaults()
        return run(self._translated.checked, **bound.arguments)


def program(function: Callable[..., object]) -> PythonProgram:
    """Make a program of a Python function: verified and run as one and the same thing."""
    return PythonProgram(function)


def translate(function: Callable[..., object]) -> Translated:
    """Return a function as a program; raises ProgramError at the place of whatever is not in the subset."""
    if isinstance(function, PythonProgram):
        return function._translated
    if hasattr(function, "__wrapped__"):
        raise ProgramError("this function is wrapped in another, which may do more than its text says", 1, 1)
    try:
        lines, start = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        raise ProgramError("the source of this function cannot be read", 1, 1) from None
    if not isinstance(tree, ast.FunctionDef):
        raise ProgramError("only functions written with `def` can be verified", start, 1)
    writer = Writer(function, tree, start - 1, len(lines[0]) - len(lines[0].lstrip()))
    writer.header()
    writer.block(writer.body, 1, last=True)
    text = "\n".join(writer.lines) + "\n"
    try:
        procedures = parse_file(text)
    except ProgramError as problem:
        place = writer.places[min(problem.line, len(writer.places)) - 1]
        raise ProgramError(str(problem).partition(": ")[2], place.line, place.column) from None
    return Translated(text, check(resolve(_relocated(procedures, writer.places)), text))


def _relocated(tree: Any, places: list[TextPosition]) -> Any:
    """Return a tree whose positions are those of the Python source."""
    if isinstance(tree, TextPosition):
        return places[tree.line - 1] if 0 < tree.line <= len(places) else tree
    if isinstance(tree, tuple):
        return tuple(_relocated(part, places) for part in tree)
    if is_dataclass(tree) and not isinstance(tree, type):
        return replace(tree, **{f.name: _relocated(getattr(tree, f.name), places) for f in fields(tree)})
    return tree


@dataclass(slots=True)
class Writer:
    """Writes a function down in the language, one line for each statement, and notes where each came from."""

    function: Callable[..., object]
    tree: ast.FunctionDef
    above: int
    indent: int
    lines: list[str] = field(default_factory=list)
    places: list[TextPosition] = field(default_factory=list)
    drawn: int = 0
    named: dict[ast.expr, str] = field(default_factory=dict)
    """The variables that hold what parts of an expression have drawn."""

    def refuse(self, message: str, node: Any) -> NoReturn:
        """Refuse a function, at a place."""
        place = self.at(node)
        raise ProgramError(message, place.line, place.column)

    def at(self, node: Any) -> TextPosition:
        """Return where a part of the function stands in its file."""
        return TextPosition(self.above + node.lineno, self.indent + node.col_offset + 1)

    def put(self, text: str, depth: int, node: Any) -> None:
        """Write a line."""
        self.lines.append("  " * depth + text)
        self.places.append(self.at(node))

    # The header

    @property
    def body(self) -> list[ast.stmt]:
        """The statements after the docstring."""
        return self.tree.body[1:] if ast.get_docstring(self.tree) is not None else self.tree.body

    def header(self) -> None:
        """Write the name, the parameters and the clauses."""
        own = self.tree.args
        if own.vararg or own.kwarg or own.posonlyargs or own.kwonlyargs or own.defaults:
            self.refuse("the arguments of a program are plain names without defaults", self.tree)
        given = " ".join(f"({a.arg} : {self.parameter(a)})" for a in own.args)
        self.put(f"{self.tree.name} {given or '()'}{self.result()}", 0, self.tree)
        first = self.tree.body[0]
        if ast.get_docstring(self.tree) is not None and isinstance(first, ast.Expr):
            text = first.value.value if isinstance(first.value, ast.Constant) else ""
            for number, line in enumerate(str(text).splitlines()):
                if line.strip().startswith(CLAUSES):
                    self.lines.append(f"  {line.strip()}")
                    self.places.append(TextPosition(self.above + first.lineno + number, 1))

    def parameter(self, argument: ast.arg) -> str:
        """Return the type of an argument, with who may know it."""
        kind = argument.annotation
        if isinstance(kind, ast.Subscript) and _last(kind.value) == "Private":
            return f"private {self.type(kind.slice, argument)}"
        return f"public {self.type(kind, argument)}"

    def type(self, kind: ast.expr | None, node: Any) -> str:
        """Return a type of the language."""
        match kind:
            case ast.Name(name) if name in TYPES:
                return TYPES[name]
            case ast.Subscript(ast.Name("list"), ast.Subscript(ast.Name("tuple"), ast.Tuple(entries))) if (
                len({ast.unparse(entry) for entry in entries}) == 1
            ):
                return f"{self.type(entries[0], node)}[{len(entries)}] list"
            case ast.Subscript(ast.Name("list"), element):
                return f"{self.type(element, node)} list"
            case ast.Subscript(value, ast.Tuple(items)) if _last(value) == "Literal":
                numbers = [int(ast.unparse(item)) for item in items if _whole(item)]
                if numbers and numbers == list(range(numbers[0], numbers[0] + len(items))):
                    return f"{{{numbers[0]}..{numbers[-1]}}}"
        return self.refuse(
            "say what this is: float, int, bool, Literal[0, 1], or a list of one of them, private as in "
            "Private[list[float]]",
            node,
        )

    def result(self) -> str:
        """Return the type that the function says it returns, if it is a single one."""
        kind = self.tree.returns
        if kind is None or (isinstance(kind, ast.Subscript) and _last(kind.value) == "tuple"):
            return ""
        return f" : public {self.type(kind, self.tree)}"

    # Statements

    def block(self, statements: list[ast.stmt], depth: int, *, last: bool = False) -> None:
        """Write statements; only the last of the function may return."""
        for place, statement in enumerate(statements):
            ends = last and place == len(statements) - 1
            match statement:
                case ast.Return(ast.Tuple(values)) if ends and len(values) > 1:
                    parts = [self.plain(value, depth) for value in values]
                    self.put(f"return ({', '.join(parts)})", depth, statement)
                case ast.Return(ast.expr() as value) if ends:
                    self.put(f"return {self.plain(value, depth)}", depth, statement)
                case _:
                    self.statement(statement, depth)

    def statement(self, statement: ast.stmt, depth: int) -> None:
        """Write one statement."""
        match statement:
            case ast.Assign([ast.Name(target)], value) | ast.AnnAssign(
                ast.Name(target), _, ast.expr() as value
            ):
                law = self.law(value)
                if isinstance(value, ast.List) and not value.elts:
                    self.put(f"{target} := []", depth, statement)
                elif law is not None:
                    self.put(f"{target} := $ {law}", depth, statement)
                else:
                    self.put(f"{target} := {self.plain(value, depth)}", depth, statement)
            case ast.Assign([ast.Subscript(ast.Name(array), index)], value) if _plain(index):
                text, place = self.plain(value, depth), self.plain(index, depth)
                self.put(f"{array}[{place}] := {text}", depth, statement)
            case ast.AugAssign(ast.Subscript(ast.Name(array), index), operator, value) if _plain(index):
                if type(operator) not in OPERATORS:
                    self.refuse(INSTEAD.get(type(operator), UNKNOWN), statement)
                place, added = self.plain(index, depth), self.plain(value, depth)
                text = f"{array}[{place}] {OPERATORS[type(operator)]} {added}"
                self.put(f"{array}[{place}] := {text}", depth, statement)
            case ast.AugAssign(ast.Name(target), ast.Add(), ast.List([item])):
                self.put(f"{target} := {target} ++ [{self.plain(item, depth)}]", depth, statement)
            case ast.AugAssign(ast.Name(target) as name, operator, value):
                changed = ast.BinOp(ast.Name(target, ast.Load()), operator, value)
                ast.copy_location(changed, name)
                ast.copy_location(changed.left, name)
                self.put(f"{target} := {self.plain(changed, depth)}", depth, statement)
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(target), "append"), [item], [])):
                self.put(f"{target} := {target} ++ [{self.plain(item, depth)}]", depth, statement)
            case ast.If(test, positive, negative):
                self.put(f"if {self.plain(test, depth)} then", depth, statement)
                self.block(positive, depth + 1)
                if negative:
                    self.put("else", depth, negative[0])
                    self.block(negative, depth + 1)
            case ast.While(test, body, []):
                self.put(f"while {self.expression(test)}", depth, statement)
                self.block(body, depth + 1)
            case ast.For(ast.Name(target), each, body, []):
                self.loop(target, each, body, depth, statement)
            case _:
                self.refuse(INSTEAD.get(type(statement), UNKNOWN), statement)

    def loop(self, target: str, each: ast.expr, body: list[ast.stmt], depth: int, node: ast.For) -> None:
        """Write a `for` as a `while`; the counter is the target itself where nobody else looks at that."""
        stored = {name for s in body for name in _stored(s)}
        if target in stored:
            self.refuse(f"{target} is changed by its own loop", node)
        uses = sum(isinstance(n, ast.Name) and n.id == target for n in ast.walk(self.tree))
        own = uses == 1 + sum(isinstance(n, ast.Name) and n.id == target for s in body for n in ast.walk(s))
        match each:
            case ast.Call(ast.Name("range"), [*ends], []) if 1 <= len(ends) <= 2:
                self.builtin("range", each)
                limit, start = self.expression(ends[-1]), self.expression(ends[0]) if len(ends) == 2 else "0"
                counter, reading = (target, None) if own else (f"{target}'", f"{target}'")
            case ast.Name(array):
                limit, start = f"size({array})", "0"
                counter, reading = f"{target}'", f"{array}[{target}']"
            case _:
                self.refuse("loops go over range(n), range(a, b) or a list that is an argument", node)
        # A range is made once, before the loop; the condition of a `while` is read at every turn.
        longer = stored | _heads(body, ast.Attribute, ast.Load)
        read, changed = _heads([each], ast.Subscript, ast.Load), _heads(body, ast.Subscript, ast.Store)
        if longer & {n.id for n in ast.walk(each) if isinstance(n, ast.Name)} or changed & read:
            self.refuse("what a loop goes over cannot be changed inside it", node)
        self.put(f"{counter} := {start}", depth, node)
        self.put(f"while {counter} < {limit}", depth, node)
        if reading is not None:
            self.put(f"{target} := {reading}", depth + 1, node)
        self.block(body, depth + 1)
        self.put(f"{counter} := {counter} + 1", depth + 1, node)

    # Expressions

    def plain(self, expression: ast.expr, depth: int) -> str:
        """Return an expression; what it draws is drawn before it, in the order of the text."""
        for part in _certain(expression):
            law = self.law(part)
            if law is not None:
                self.drawn += 1
                self.put(f"noise'{self.drawn} := $ {law}", depth, part)
                self.named[part] = f"noise'{self.drawn}"
        return self.expression(expression)

    def law(self, expression: ast.expr) -> str | None:
        """Return a law with its parameters, if an expression draws from one."""
        if not isinstance(expression, ast.Call) or expression in self.named:
            return None
        found = self.meaning(expression.func)
        if found not in LAWS:
            return None
        if expression.keywords:
            self.refuse("the parameters of a draw are given by place", expression)
        return f"{LAWS[found]}({', '.join(self.expression(a) for a in expression.args)})"

    def meaning(self, expression: ast.expr) -> Any:
        """Return what a name or an attribute from outside of the function stands for."""
        if isinstance(expression, ast.Attribute):
            return getattr(self.meaning(expression.value), expression.attr, None)
        if isinstance(expression, ast.Name) and expression.id not in self.local():
            outside = {**self.function.__globals__, **inspect.getclosurevars(self.function).nonlocals}
            return outside.get(expression.id, getattr(builtins, expression.id, None))
        return None

    def local(self) -> set[str]:
        """Return the names that the function itself gives a meaning."""
        return {a.arg for a in self.tree.args.args} | set(_stored(self.tree))

    def builtin(self, name: str, node: ast.Call) -> None:
        """Require that a built-in function means what it always does."""
        if self.meaning(node.func) is not getattr(builtins, name):
            self.refuse(f"{name} has another meaning here", node)

    def expression(self, expression: ast.expr) -> str:
        """Return an expression in the language, in parentheses where it has parts."""
        if expression in self.named:
            return self.named[expression]
        match expression:
            case ast.Constant(bool(value)):
                return "true" if value else "false"
            case ast.Constant(int(value)):
                return str(value)
            case ast.Constant(float(value)) if value == value and abs(value) != float("inf"):
                text = f"{Decimal(repr(value)):f}"
                return text if "." in text else f"{text}.0"
            case ast.Name(name):
                if name not in self.local():
                    self.refuse(f"{name} is neither an argument nor a variable of this function", expression)
                return name
            case ast.UnaryOp(ast.USub(), operand):
                return f"(-{self.expression(operand)})"
            case ast.UnaryOp(ast.Not(), operand):
                return f"(not {self.expression(operand)})"
            case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
                word = OPERATORS[type(operator)]
                return f"({self.expression(left)} {word} {self.expression(right)})"
            case ast.BinOp(_, operator, _):
                self.refuse(INSTEAD.get(type(operator), "this operator is not in the subset"), expression)
            case ast.BoolOp(operator, values):
                word = " and " if isinstance(operator, ast.And) else " or "
                return f"({word.join(self.expression(value) for value in values)})"
            case ast.Compare(left, operators, rights) if all(type(o) in COMPARED for o in operators):
                terms = [self.expression(part) for part in (left, *rights)]
                pairs = zip(terms, operators, terms[1:], strict=False)
                return f"({' and '.join(f'{a} {COMPARED[type(o)]} {b}' for a, o, b in pairs)})"
            case ast.IfExp(test, positive, negative):
                parts = [self.expression(part) for part in (test, positive, negative)]
                return "(if {} then {} else {})".format(*parts)
            case ast.Subscript(ast.Name(array), index) if _plain(index):
                return f"{array}[{self.expression(index)}]"
            case ast.Subscript(ast.Subscript(ast.Name(array), row), entry) if _plain(row) and _plain(entry):
                return f"{array}[{self.expression(row)}][{self.expression(entry)}]"
            case ast.Call(ast.Name("len"), [ast.Name(array)], []):
                self.builtin("len", expression)
                return f"size({array})"
            case ast.Call(ast.Name("abs" | "min" | "max" as name), arguments, []):
                self.builtin(name, expression)
                return f"{name}({', '.join(self.expression(a) for a in arguments)})"
            case ast.Call() if self.law(expression) is not None:
                self.refuse("a draw cannot depend on a condition: draw before it", expression)
            case ast.Call():
                self.refuse("only draws, len, abs, min and max can be called", expression)
        return self.refuse(INSTEAD.get(type(expression), UNKNOWN), expression)


def _certain(expression: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of an expression that are evaluated whatever the others are, in order."""
    match expression:
        case ast.BoolOp(_, [first, *_]) | ast.IfExp(first):
            yield from _certain(first)
        case ast.Compare(left, _, [right]):
            yield from _certain(left)
            yield from _certain(right)
        case ast.BinOp(left, _, right):
            yield from _certain(left)
            yield from _certain(right)
        case ast.UnaryOp(_, operand):
            yield from _certain(operand)
        case ast.Call():
            for argument in expression.args:
                yield from _certain(argument)
            yield expression


def _stored(tree: ast.AST) -> Iterator[str]:
    """Yield the names that are given a value somewhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _heads(trees: Sequence[ast.AST], kind: type[ast.expr], context: type[ast.expr_context]) -> set[str]:
    """Return the names of which a method is called, or an element read or changed."""
    found = [n for tree in trees for n in ast.walk(tree) if isinstance(n, kind)]
    return {_last(n.value) for n in found if isinstance(n.ctx, context)}  # type: ignore[attr-defined]


def _plain(index: ast.expr) -> bool:
    return not isinstance(index, ast.Slice | ast.Tuple)


def _whole(item: ast.expr) -> bool:
    return ast.unparse(item).lstrip("-").isdecimal()


def _last(expression: ast.expr) -> str:
    return expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")
