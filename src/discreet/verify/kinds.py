"""The types of a program's variables, found by iteration, and what must hold of every expression."""

from typing import NoReturn, assert_never

from discreet.errors import ProgramError
from discreet.verify.cursor import FUNCTIONS
from discreet.verify.joint import without_run
from discreet.verify.syntax import (
    Append,
    Apply,
    Array,
    Ask,
    Assign,
    Binary,
    Conditional,
    Element,
    EpsilonClaim,
    Expr,
    If,
    Items,
    Kind,
    Length,
    Number,
    ProcedureCall,
    Program,
    Put,
    Return,
    Rho,
    Sample,
    Scalar,
    Secret,
    SensitiveQuery,
    Size,
    Statement,
    TextPosition,
    TruthValue,
    Type,
    Unary,
    Variable,
    While,
    assigned,
    names,
    remembered,
    statements,
    subexpressions,
)

ARITY = {
    "Laplace": (1, 2),
    "Geometric": (1, 2),
    "Exponential": (1, 1),
    "Gumbel": (1, 1),
    "Gaussian": (1, 2),
    "DiscreteGaussian": (1, 2),
    "Uniform": (2, 2),
    "UniformInt": (2, 2),
    "UniformBits": (0, 0),
    "Bernoulli": (1, 1),
    "Response": (1, 1),
    "ExpMech": (2, 2),
}
DRAWN: dict[str, Kind] = {
    "Laplace": "real",
    "Geometric": "int",
    "Exponential": "real",
    "Gumbel": "real",
    "Gaussian": "real",
    "DiscreteGaussian": "int",
    "Uniform": "real",
    "UniformInt": "int",
    "UniformBits": "bits",
    "Bernoulli": "bool",
    "Response": "bool",
    "ExpMech": "int",
}
EMPTY = Scalar("int", 1, 0)
"""The elements of a list of which no element is known."""


class Types:
    """The type environment of one program; each method checks one construct."""

    def __init__(self, program: Program, env: dict[str, Type]) -> None:
        self.program = program
        self.env = env

    def fail(self, message: str, at: TextPosition) -> NoReturn:
        """Refuse the program at a place."""
        raise ProgramError(message, at.line, at.column)

    def header(self) -> None:
        """Check the clauses of the header."""
        for relation in self.program.neighbours:
            parameter = self.program.parameter(relation.name)
            if parameter is None or not parameter.private:
                self.fail(f"{relation.name} is not a private parameter", relation.at)
            needs_bound = relation.kind in ("one", "all", "monotone")
            if needs_bound and relation.bound is None:
                self.fail(f"say by how much: neighbours {relation.name} {relation.kind} by 1", relation.at)
            if isinstance(parameter.type, Scalar) and relation.kind in ("monotone", "add-remove"):
                self.fail(f"{relation.kind} is a relation between lists", relation.at)
            kind = parameter.type.element if isinstance(parameter.type, Array) else parameter.type
            for expression in (relation.bound, relation.low, relation.high):
                if expression is None:
                    continue
                if isinstance(kind, Scalar) and kind.kind in ("bool", "bits"):
                    self.fail(
                        f"{relation.name} is no number: it has no distance and no interval", relation.at
                    )
                self.numeric(self.public(expression), expression)
        seen = [relation.name for relation in self.program.neighbours]
        for relation in self.program.neighbours:
            if seen.count(relation.name) > 1:
                self.fail(f"{relation.name} has two neighbours clauses", relation.at)
        self.together(self.program.adjacency)
        for condition in self.program.requires:
            if self.public(condition) != "bool":
                self.fail("a requires clause needs a condition", condition.at)
        match self.program.claim:
            case None | Secret():
                pass
            case EpsilonClaim(epsilon, delta):
                for part in (epsilon, delta):
                    if part is not None:
                        self.numeric(self.public(part), part)
            case Rho(rho):
                self.numeric(self.public(rho), rho)

    def together(self, formula: Expr) -> None:
        """Check the formula of neighbours."""
        for message, at in without_run(self.program, formula):
            self.fail(message, at)
        self.expect(formula, "bool")

    def public(self, expression: Expr) -> Kind:
        """Check an expression of the header: public constants and list sizes only."""
        for part in subexpressions(expression):
            match part:
                case Variable(name, at=at) if (found := self.program.parameter(name)) and found.private:
                    self.fail("only public constants and the sizes of lists may appear here", at)
                case Ask(at=at) | Element(at=at):
                    self.fail("only public constants and the sizes of lists may appear here", at)
                case Apply("exp", at=at):
                    self.fail("exp has no exact value; it may only appear in the parameter of a law", at)
                case _:
                    pass
        return self.scalar(expression)

    def infer(self) -> None:
        """Find the least type of every variable, by iteration from the assignments."""
        changed = True
        while changed:
            changed = False
            for statement in statements(self.program.body):
                found = self.assignment(statement)
                if found is None:
                    continue
                name, kind, at = found
                if self.program.parameter(name) is not None:
                    self.fail(f"{name} is a parameter and cannot be assigned", at)
                joined = self.join(name, self.env.get(name), kind, at)
                if joined != self.env.get(name):
                    self.env[name] = joined
                    changed = True
        for name, kind in self.env.items():
            if kind == Array(EMPTY):
                if name in remembered(self.program):
                    self.fail(f"{name} is read or changed, but nothing is appended to it", self.program.at)
                self.env[name] = Array(Scalar("real"))

    def assignment(self, statement: Statement) -> tuple[str, Type, TextPosition] | None:
        """Return what a statement says about the type of its target, if anything yet."""
        match statement:
            case Assign(target, Items(items), at):
                if items:
                    self.fail("a list starts empty, r := [], and grows by r := r ++ [e]", at)
                return target, Array(EMPTY), at
            case Assign(target, Variable(name), at) if isinstance(self.env.get(name), Array):
                self.fail(f"the list {name} cannot be copied", at)
            case Assign(target, value, at):
                kind = self.scalar_or_none(value)
                return None if kind is None else (target, self.typed(kind, value), at)
            case Append(target, value, at=at) | Put(target, _, value, at):
                kind = self.scalar_or_none(value)
                return None if kind is None else (target, Array(self.typed(kind, value)), at)
            case Sample(target, law, at=at, length=length):
                return target, Scalar(DRAWN[law], length=length), at
            case ProcedureCall(at=at):
                self.fail("calls must be inlined first", at)
        return None

    def join(self, name: str, old: Type | None, new: Type, at: TextPosition) -> Type:
        """Return the least type that covers two types of a variable."""
        if old is None or old == new:
            return new
        match old, new:
            case Array(first), Array(second):
                if EMPTY in (first, second):
                    return old if second == EMPTY else new
                return Array(self.join_scalars(name, first, second, at))
            case Scalar(), Scalar():
                return self.join_scalars(name, old, new, at)
        return self.fail(f"{name} is used both as a list and as a number", at)

    def join_scalars(self, name: str, old: Scalar, new: Scalar, at: TextPosition) -> Scalar:
        """Return the least kind that covers two kinds."""
        kinds = {old.kind, new.kind}
        if kinds == {"int", "real"}:
            return Scalar("real")
        if old.length != new.length:
            self.fail(f"{name} has both {old.length} and {new.length} bits", at)
        if len(kinds) == 1:
            return Scalar(old.kind, length=old.length)
        return self.fail(f"{name} is used both as {old.kind} and as {new.kind}", at)

    def typed(self, kind: Kind, expression: Expr) -> Scalar:
        """Return the type of a value of known kind."""
        return Scalar(kind, length=self.length(expression) if kind == "bits" else None)

    def length(self, expression: Expr) -> Length | None:
        """Return how many bits a bit string has; strings are only combined with strings of equal length."""
        match expression:
            case Variable(name):
                found = self.env.get(name)
                return found.length if isinstance(found, Scalar) else None
            case Element(array):
                kind = self.env.get(array)
                return kind.element.length if isinstance(kind, Array) else None
            case Binary("xor", left, right, at) | Conditional(_, left, right, at):
                first, second = self.length(left), self.length(right)
                if first != second:
                    self.fail(f"a string of {first} bits is combined with one of {second} bits", at)
                return first
        return None

    def scalar_or_none(self, expression: Expr) -> Kind | None:
        """Return the kind, or None while some variable inside has no type yet."""
        if any(name not in self.env for name in names(expression) if not self.is_known(name)):
            return None
        return self.scalar(expression)

    def is_known(self, name: str) -> bool:
        """Return whether a name has a type already, or never will."""
        return name in self.env or name not in assigned(self.program.body)

    def numeric(self, kind: Kind, expression: Expr) -> Kind:
        """Require a number."""
        if kind not in ("int", "real"):
            self.fail(f"a number is needed here, not {kind}", expression.at)
        return kind

    def scalar(self, expression: Expr) -> Kind:
        """Return the kind of an expression; refuses one that has none."""
        match expression:
            case Number(value, whole):
                return "int" if whole and value.denominator == 1 else "real"
            case TruthValue():
                return "bool"
            case Variable(name, at=at):
                match self.env.get(name):
                    case Scalar(kind):
                        return kind
                    case Array():
                        self.fail(f"{name} is a list; a single value is needed here", at)
                    case SensitiveQuery():
                        self.fail(f"{name} is a function; apply it to the data: {name}(d)", at)
                    case None:
                        self.fail(
                            f"{name} has no value here; declare it as a parameter or assign it first", at
                        )
            case Unary("not", operand):
                return self.expect(operand, "bool")
            case Unary(_, operand):
                return self.numeric(self.scalar(operand), operand)
            case Binary(operator, left, right, at):
                return self.binary(operator, left, right, at)
            case Conditional(condition, positive, negative, at):
                self.expect(condition, "bool")
                first, second = self.scalar(positive), self.scalar(negative)
                return self.join_scalars("this expression", Scalar(first), Scalar(second), at).kind
            case Apply(function, arguments, at):
                return self.apply(function, arguments, at)
            case Element(array, index, at=at):
                found = self.env.get(array)
                if not isinstance(found, Array):
                    self.fail(f"{array} is not a list", at)
                if self.program.parameter(array) is None and found.element.kind not in ("int", "real"):
                    self.fail(f"{array} holds no numbers: such a list can grow and be returned, not read", at)
                self.expect(index, "int")
                return found.element.kind
            case Size(array, at=at):
                if not isinstance(self.env.get(array), Array):
                    self.fail(f"size is applied to a list, and {array} is not one", at)
                return "int"
            case Ask(query, data, at=at):
                if not self.is_private_list(Variable(data)):
                    self.fail(f"{query} is applied to one private list: {query}(d)", at)
                return "real"
            case Items(at=at):
                self.fail("a list cannot be used here", at)
        assert_never(expression)

    def expect(self, expression: Expr, kind: Kind) -> Kind:
        """Require an expression of a kind."""
        found = self.scalar(expression)
        if found != kind:
            self.fail(f"{kind} is needed here, not {found}", expression.at)
        return kind

    def binary(self, operator: str, left: Expr, right: Expr, at: TextPosition) -> Kind:
        """Return the kind of an operation on two values."""
        if operator in ("and", "or"):
            self.expect(left, "bool")
            return self.expect(right, "bool")
        first, second = self.scalar(left), self.scalar(right)
        if operator == "xor":
            if first != second or first not in ("bool", "bits"):
                self.fail(f"xor needs two bit strings or two truth values, not {first} and {second}", at)
            if first == "bits":
                self.length(Binary("xor", left, right, at))
            return first
        if operator in ("=", "!=") and first == second == "bool":
            return "bool"
        if "bits" in (first, second):
            self.fail("bit strings can only be combined by xor and returned", at)
        self.numeric(first, left)
        self.numeric(second, right)
        if operator in ("=", "!=", "<", "<=", ">", ">="):
            return "bool"
        if operator == "mod":
            self.expect(left, "int")
            return self.expect(right, "int")
        if operator == "++":
            self.fail("lists grow by r := r ++ [e]", at)
        return "real" if operator == "/" or "real" in (first, second) else "int"

    def apply(self, function: str, arguments: tuple[Expr, ...], at: TextPosition) -> Kind:
        """Return the kind of a built-in function's value."""
        if function not in FUNCTIONS:
            self.fail(f"{function} cannot be used here", at)
        if len(arguments) != FUNCTIONS[function]:
            self.fail(f"{function} takes {FUNCTIONS[function]} argument(s), got {len(arguments)}", at)
        kinds = [self.numeric(self.scalar(a), a) for a in arguments]
        return "real" if function == "exp" or "real" in kinds else "int"

    def is_private_list(self, expression: Expr) -> bool:
        """Return whether an expression names a private input list."""
        parameter = self.program.parameter(expression.name) if isinstance(expression, Variable) else None
        return parameter is not None and parameter.private and isinstance(parameter.type, Array)

    def result(self, returned: Return) -> None:
        """Require a single returned value to be of the type that the procedure says it returns."""
        stated = self.program.result
        if stated is None or len(returned.values) != 1:
            return
        value = returned.values[0]
        listed = isinstance(value, Variable) and isinstance(self.env[value.name], Array)
        if isinstance(stated, SensitiveQuery) or listed != isinstance(stated, Array):
            self.fail("what is returned is not what the first line says", returned.at)
        if listed and isinstance(value, Variable):
            found = self.env[value.name]
            kind = found.element.kind if isinstance(found, Array) else "real"
        else:
            kind = self.scalar(value)
        wanted = stated.element.kind if isinstance(stated, Array) else stated.kind
        numbers = ("int", "real")
        if kind != wanted and not (kind in numbers and wanted in numbers):
            self.fail(f"the first line says {wanted}, and {kind} is returned", returned.at)

    def lists_start_once(self) -> None:
        """Require every list to start empty once and for all, so that its k-th element means one thing."""
        top = [s.target for s in self.program.body if isinstance(s, Assign) and isinstance(s.value, Items)]
        seen: set[str] = set()
        for statement in statements(self.program.body):
            if isinstance(statement, Assign) and isinstance(statement.value, Items):
                name = statement.target
                if name in seen or name not in top:
                    self.fail(f"the list {name} must start once, outside of loops and branches", statement.at)
                seen.add(name)

    def block(self, block: tuple[Statement, ...], ready: set[str], *, top: bool = False) -> set[str]:
        """Check a block given the variables that surely have a value; return those ready after it."""
        ready = set(ready)
        for position, statement in enumerate(block):
            if isinstance(statement, Return) and not (top and position == len(block) - 1):
                self.fail("return may only be the last statement of the procedure", statement.at)
            self.statement(statement, ready)
        return ready

    def statement(self, statement: Statement, ready: set[str]) -> None:
        """Check one statement and note what it makes ready."""
        match statement:
            case Assign(target, value):
                if not isinstance(value, Items):
                    self.used(value, ready)
                    self.scalar(value)
                ready.add(target)
            case Append(target, value, at=at):
                if target not in ready:
                    self.fail(f"{target} must start as an empty list: {target} := []", at)
                self.used(value, ready)
                self.scalar(value)
            case Put(target, index, value, at):
                element = Element(target, index, at=at)
                for part in (element, value):
                    self.used(part, ready)
                    self.scalar(part)
            case Sample(target, law, arguments, at=at):
                self.draw(law, arguments, at, ready)
                ready.add(target)
            case If(condition, positive, negative):
                self.used(condition, ready)
                self.expect(condition, "bool")
                ready |= self.block(positive, ready) & self.block(negative, ready)
            case While(condition, body):
                self.used(condition, ready)
                self.expect(condition, "bool")
                self.block(body, ready)
            case Return(values):
                for value in values:
                    self.used(value, ready)
                    if not (isinstance(value, Variable) and isinstance(self.env.get(value.name), Array)):
                        self.scalar(value)
            case ProcedureCall(at=at):
                self.fail("calls must be inlined first", at)

    def used(self, expression: Expr, ready: set[str]) -> None:
        """Require every variable of an expression to have a value."""
        for name in sorted(names(expression) - ready):
            if name not in self.env:
                self.fail(
                    f"{name} has no value here; declare it as a parameter or assign it first", expression.at
                )
            self.fail(f"{name} may have no value yet on some path to here", expression.at)

    def draw(self, law: str, arguments: tuple[Expr, ...], at: TextPosition, ready: set[str]) -> None:
        """Check the parameters of a law."""
        low, high = ARITY[law]
        if not low <= len(arguments) <= high:
            wanted = str(low) if low == high else f"{low} or {high}"
            self.fail(f"{law} takes {wanted} argument(s), got {len(arguments)}", at)
        if law == "ExpMech":
            if not self.is_private_list(arguments[1]):
                self.fail("ExpMech(e, u) takes a private list u of scores", at)
            arguments = arguments[:1]
        for argument in arguments:
            self.used(argument, ready)
            self.numeric(self.scalar(argument), argument)
        if law in ("Geometric", "DiscreteGaussian") and len(arguments) == 2:
            self.expect(arguments[1], "int")
