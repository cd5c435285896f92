"""From the procedures of a file to one closed program in which every name means one thing.

Scope.  A procedure knows its parameters, its variables, the constants that only its header mentions, `eps`,
for each query parameter f the constant GSf that bounds its sensitivity, and the procedures before it.  What
is declared inside hides a procedure of the same name; the words of the language cannot be declared at all.

A call `x := P(a, b)` is replaced by P's body with fresh names for everything that is P's own, so that nothing
of the caller is captured and privacy composes by being proved again for the whole, never by trusting P's own
claim: what P assumes and ensures is checked when P itself is verified.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import NoReturn

from discreet.errors import ProgramError
from discreet.verify.cursor import FUNCTIONS, LAWS
from discreet.verify.expression import TALLEST, height
from discreet.verify.rows import columns
from discreet.verify.substitute import mapped, substitute, substitute_block
from discreet.verify.syntax import (
    Append,
    Apply,
    Array,
    Ask,
    Assign,
    Binary,
    Conditional,
    EpsilonClaim,
    Expr,
    If,
    Items,
    Number,
    Parameter,
    ProcedureCall,
    Program,
    Put,
    Return,
    Rho,
    Sample,
    Scalar,
    SensitiveQuery,
    Statement,
    TextPosition,
    TruthValue,
    Unary,
    Variable,
    While,
    assigned,
    expressions,
    names,
    statements,
    subexpressions,
)

COINS = ("Response", "Bernoulli")
LARGEST = 2000
"""Statements of a program after inlining."""
EPSILON = "eps"
"""The constant that every program knows."""


@dataclass(frozen=True, slots=True)
class ClosedProcedure:
    """A procedure whose names are resolved; `given` are the parameters that a call must provide."""

    program: Program
    given: tuple[Parameter, ...]


Earlier = dict[str, ClosedProcedure]


def resolve(procedures: tuple[Program, ...]) -> Program:
    """Return the last procedure of a file as one closed program."""
    done: Earlier = {}
    for procedure in procedures:
        done[procedure.name] = _close(procedure, done)
    return _number(_join(propagate(done[procedures[-1].name].program)))


def _error(message: str, at: TextPosition) -> NoReturn:
    raise ProgramError(message, at.line, at.column)


def _close(program: Program, earlier: Earlier) -> ClosedProcedure:
    program = columns(program)
    for statement in statements(program.body):
        target = getattr(statement, "target", "")
        if program.parameter(target) is not None:
            _error(f"{target} is a parameter and cannot be assigned", statement.at)
    given = tuple(_with_sensitivity(p) for p in program.parameters)
    scope = _Scope(replace(program, parameters=given), earlier)
    body = scope.block(program.body)
    header = tuple(scope.expression(e) for e in header_expressions(program))
    closed = replace(scope.program, body=body)
    closed = _declare(closed, header, {c.procedure: earlier[c.procedure] for c in _calls(body)})
    taken = {p.name for p in closed.parameters} | assigned(body) | set(earlier)
    inlined = _inline(body, closed, earlier, taken, count(1))
    if sum(1 for _ in statements(inlined)) > LARGEST:
        _error(f"with its calls written out, {program.name} has more than {LARGEST} statements", program.at)
    return ClosedProcedure(replace(closed, body=inlined), given)


def _with_sensitivity(parameter: Parameter) -> Parameter:
    if isinstance(parameter.type, SensitiveQuery):
        return replace(parameter, type=SensitiveQuery(f"GS{parameter.name}"))
    return parameter


def header_expressions(program: Program) -> tuple[Expr, ...]:
    """Return every expression that the header of a procedure contains."""
    return (*program.requires, *neighbour_expressions(program), *claim_expressions(program))


def neighbour_expressions(program: Program) -> tuple[Expr, ...]:
    """Return the bounds and limits of the neighbours clauses, and the formula that joins them."""
    parts = (e for r in program.neighbours for e in (r.bound, r.low, r.high))
    return (*(e for e in parts if e is not None), program.adjacency)


def claim_expressions(program: Program) -> tuple[Expr, ...]:
    """Return the expressions of the claim."""
    match program.claim:
        case EpsilonClaim(epsilon, delta):
            return (epsilon,) if delta is None else (epsilon, delta)
        case Rho(rho):
            return (rho,)
        case _:
            return ()


def _calls(block: tuple[Statement, ...]) -> list[ProcedureCall]:
    return [s for s in statements(block) if isinstance(s, ProcedureCall)]


@dataclass(frozen=True, slots=True)
class _Scope:
    """What the names of one procedure stand for."""

    program: Program
    earlier: Earlier

    def block(self, block: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(self.statement(s) for s in block)

    def statement(self, statement: Statement) -> Statement:
        match statement:
            case Assign(target, Apply(function, arguments), at) if self.is_procedure(function):
                return ProcedureCall(target, function, tuple(self.expression(a) for a in arguments), at)
            case Assign(target, value, at):
                return Assign(target, self.expression(value), at)
            case Append(target, value, tag, at):
                return Append(target, self.expression(value), tag, at)
            case Put(target, index, value, at):
                return Put(target, self.expression(index), self.expression(value), at)
            case Sample(_, _, arguments):
                return replace(statement, arguments=tuple(self.expression(a) for a in arguments))
            case If(condition, positive, negative, at):
                return If(self.expression(condition), self.block(positive), self.block(negative), at)
            case While(condition, body, loop, at):
                return While(self.expression(condition), self.block(body), loop, at)
            case Return(values, at):
                return Return(tuple(self.expression(v) for v in values), at)
            case ProcedureCall():
                return statement

    def is_procedure(self, name: str) -> bool:
        hidden = self.program.parameter(name) is not None or name in assigned(self.program.body)
        return name in self.earlier and not hidden

    def expression(self, expression: Expr) -> Expr:
        """Return an expression whose applications are built-in functions or queries."""
        applied = [part for part in subexpressions(expression) if isinstance(part, Apply)]
        for part in applied:
            if part.function not in FUNCTIONS:
                self.query(part)
        return _with_queries(expression) if applied else expression

    def query(self, call: Apply) -> None:
        name, at = call.function, call.at
        parameter = self.program.parameter(name)
        if parameter is not None and isinstance(parameter.type, SensitiveQuery):
            if len(call.arguments) != 1 or not isinstance(call.arguments[0], Variable):
                _error(f"{name} is applied to one private list: {name}(d)", at)
        elif parameter is not None or name in assigned(self.program.body):
            _error(f"{name} is not a function", at)
        elif name in self.earlier:
            _error(f"call {name} on a line of its own: x := {name}(...)", at)
        else:
            known = ", ".join(("size", *FUNCTIONS))
            _error(f"unknown function {name!r}; there are {known}", at)


def _with_queries(expression: Expr) -> Expr:
    match expression:
        case Apply(function, (Variable(data),), at) if function not in FUNCTIONS:
            return Ask(function, data, 0, at)
        case _:
            return mapped(expression, _with_queries)


def _declare(program: Program, header: tuple[Expr, ...], called: Earlier) -> Program:
    """Add the constants that are not parameters: eps, sensitivities, those of the header and of calls."""
    own, local = {p.name for p in program.parameters}, assigned(program.body)
    for parameter in program.parameters:
        if isinstance(parameter.type, SensitiveQuery) and parameter.type.sensitivity in own | local:
            name = parameter.type.sensitivity
            _error(
                f"{name} already means the sensitivity of {parameter.name}; choose another name", parameter.at
            )
    wanted: dict[str, TextPosition] = {}
    for expression in header:
        for part in subexpressions(expression):
            if isinstance(part, Variable):
                wanted.setdefault(part.name, part.at)
    for name, at in wanted.items():
        if name in local - own:
            _error(f"{name} is a constant of the header and cannot be assigned", at)
        if name in LAWS or name in FUNCTIONS:
            _error(f"{name} is built into the language; choose another name", at)
    _mentioned_once(program, wanted, own)
    if EPSILON not in local:
        wanted.setdefault(EPSILON, program.at)
    sensitivities = {
        p.type.sensitivity: p.at for p in program.parameters if isinstance(p.type, SensitiveQuery)
    }
    wanted |= sensitivities
    for name, closed in called.items():
        for constant in _constants(closed):
            if constant in own | local:
                text = f"{name} uses the constant {constant}, which means something else here"
                _error(f"{text}; make it a parameter of {name}", program.at)
            wanted.setdefault(constant, program.at)
    extra = tuple(Parameter(n, Scalar("real"), False, at) for n, at in wanted.items() if n not in own)
    positive = [n for n in (EPSILON, *sensitivities) if n in wanted and n not in own]
    zero = Number(Fraction(0))
    assumed = tuple(Binary(">", Variable(n), zero, program.at) for n in positive)
    return replace(program, parameters=program.parameters + extra, requires=program.requires + assumed)


def _mentioned_once(program: Program, wanted: dict[str, TextPosition], own: set[str]) -> None:
    """Refuse a constant that only an assumption speaks of: nothing would depend on it."""
    used = {n for s in statements(program.body) for e in expressions(s) for n in names(e)}
    used |= {n for e in (*neighbour_expressions(program), *claim_expressions(program)) for n in names(e)}
    bounds = {p.type.sensitivity for p in program.parameters if isinstance(p.type, SensitiveQuery)}
    for name, at in wanted.items():
        together = any(name in names(e) and names(e) & (used | own) for e in program.requires)
        if name not in used | own | bounds | {EPSILON} and not together:
            _error(f"{name} is mentioned nowhere else; is it a misprint?", at)


def _constants(closed: ClosedProcedure) -> list[str]:
    """Return the constants that the body of a procedure uses without being given them."""
    used = {n for s in statements(closed.program.body) for e in expressions(s) for n in names(e)}
    given = {p.name for p in closed.given}
    bound = {p.type.sensitivity for p in closed.given if isinstance(p.type, SensitiveQuery)}
    return [p.name for p in closed.program.parameters if p.name in used - given - bound]


def _inline(
    block: tuple[Statement, ...], caller: Program, earlier: Earlier, taken: set[str], serial: Iterator[int]
) -> tuple[Statement, ...]:
    result: list[Statement] = []
    for statement in block:
        match statement:
            case ProcedureCall():
                result += _expand(statement, earlier[statement.procedure], caller, taken, next(serial))
            case If(condition, positive, negative, at):
                first = _inline(positive, caller, earlier, taken, serial)
                result.append(If(condition, first, _inline(negative, caller, earlier, taken, serial), at))
            case While(condition, body, loop, at):
                result.append(While(condition, _inline(body, caller, earlier, taken, serial), loop, at))
            case _:
                result.append(statement)
        if len(result) > LARGEST:
            _error(f"with its calls written out, this block has more than {LARGEST} statements", statement.at)
    return tuple(result)


def _expand(
    call: ProcedureCall, callee: ClosedProcedure, caller: Program, taken: set[str], number: int
) -> tuple[Statement, ...]:
    if callee.program.tables:
        _error(f"{call.procedure} cannot be called: it takes a list of rows", call.at)
    if len(callee.given) != len(call.arguments):
        _error(f"{call.procedure} takes {len(callee.given)} arguments, got {len(call.arguments)}", call.at)
    body = callee.program.body
    returned = body[-1] if body else None
    if not isinstance(returned, Return) or len(returned.values) != 1:
        _error(f"{call.procedure} cannot be called: it must return exactly one value", call.at)

    def fresh(name: str) -> str:
        found = f"{name}'{number}"
        while found in taken:
            found += "'"
        taken.add(found)
        return found

    mapping: dict[str, Expr] = {name: Variable(fresh(name)) for name in sorted(assigned(body))}
    before: list[Statement] = []
    for parameter, argument in zip(callee.given, call.arguments, strict=True):
        match parameter.type:
            case Scalar():
                own = fresh(parameter.name)
                mapping[parameter.name] = Variable(own)
                before.append(Assign(own, argument, call.at))
            case Array() | SensitiveQuery():
                given = caller.parameter(argument.name) if isinstance(argument, Variable) else None
                if given is None or type(given.type) is not type(parameter.type):
                    what = "an input list" if isinstance(parameter.type, Array) else "a query"
                    _error(f"{parameter.name} of {call.procedure} must be {what}, given by its name", call.at)
                mapping[parameter.name] = Variable(given.name, at=call.at)
                if isinstance(parameter.type, SensitiveQuery) and isinstance(given.type, SensitiveQuery):
                    mapping[parameter.type.sensitivity] = Variable(given.type.sensitivity, at=call.at)
    value = returned.values[0]
    grows = {s.target for s in statements(body) if isinstance(s, Append)}
    if isinstance(value, Variable) and value.name in grows:
        mapping[value.name] = Variable(call.target)
        return (*before, *substitute_block(body[:-1], mapping))
    last = Assign(call.target, substitute(value, mapping), call.at)
    return (*before, *substitute_block(body[:-1], mapping), last)


def propagate(program: Program) -> Program:
    """Replace variables that are set once, at the top, to an expression over public constants.

    After this, a scale written `b := 2 / eps` and one written in place are the same scale.  The assignment
    stays: its value may not exist, or have the wrong type, which must not be forgotten.
    """
    publics = {p.name for p in program.parameters if not p.private and isinstance(p.type, Scalar)}
    changed: dict[str, int] = {}
    for statement in statements(program.body):
        if isinstance(statement, Assign | Sample | Append | Put):
            changed[statement.target] = changed.get(statement.target, 0) + 1
    rigid = publics - changed.keys()
    kept: list[Statement] = []
    mapping: dict[str, Expr] = {}
    used: set[str] = set()
    for statement in program.body:
        match statement:
            case Assign(target, value) if (
                changed[target] == 1
                and target not in used
                and not isinstance(value, Items | TruthValue)
                and names(final := substitute(value, mapping)) <= rigid
                and height(final) <= TALLEST
                and sum(1 for _ in subexpressions(final)) <= TALLEST
            ):
                mapping[target] = final
                kept.append(replace(statement, value=final))
            case _:
                kept += substitute_block((statement,), mapping)
                for inner in statements((statement,)):
                    used |= {name for e in expressions(inner) for name in names(e)}
    return replace(program, body=tuple(kept))


def _join(program: Program) -> Program:
    """Let a coin choose what is appended, not which append does it: the output does not tell how it fell.

    `if b then r := r ++ [x] else r := r ++ [y]` is `r := r ++ [if b then x else y]`: of a conditional only
    the part that is chosen is evaluated.
    """
    coins = {s.target for s in statements(program.body) if isinstance(s, Sample) and s.law in COINS}

    def visit(block: tuple[Statement, ...]) -> tuple[Statement, ...]:
        result: list[Statement] = []
        for statement in block:
            match statement:
                case If(Variable(coin) | Unary("not", Variable(coin)), (Append(r, x),), (Append(s, y),)) if (
                    coin in coins and r == s
                ):
                    result.append(Append(r, Conditional(statement.condition, x, y, x.at), at=statement.at))
                case If(_, positive, negative):
                    result.append(replace(statement, positive=visit(positive), negative=visit(negative)))
                case While(_, body):
                    result.append(replace(statement, body=visit(body)))
                case _:
                    result.append(statement)
        return tuple(result)

    return replace(program, body=visit(program.body))


def _number(program: Program) -> Program:
    sites, tags, loops = count(1), count(1), count(1)

    def visit(block: tuple[Statement, ...]) -> tuple[Statement, ...]:
        result: list[Statement] = []
        for statement in block:
            match statement:
                case Sample():
                    result.append(replace(statement, site=next(sites)))
                case Append():
                    result.append(replace(statement, tag=next(tags)))
                case If():
                    positive = visit(statement.positive)
                    result.append(replace(statement, positive=positive, negative=visit(statement.negative)))
                case While():
                    number = next(loops)
                    result.append(replace(statement, loop=number, body=visit(statement.body)))
                case _:
                    result.append(statement)
        return tuple(result)

    return replace(program, body=visit(program.body))
