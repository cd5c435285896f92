"""Which values two runs on neighbouring inputs share.

A variable is shared when both runs must agree on it, provided they take the same synchronised branches: it is
computed from public values only, and never under a branch that the two runs may take differently.
"""

from discreet.verify.domain import same_length
from discreet.verify.syntax import (
    Append,
    Apply,
    Ask,
    Assign,
    Element,
    Expr,
    If,
    Items,
    Number,
    Program,
    Put,
    Rho,
    Sample,
    Size,
    Statement,
    TruthValue,
    Variable,
    While,
    assigned,
    children,
    statements,
    subexpressions,
)


def is_synchronised(statement: If) -> bool:
    """Return whether both runs must take the same branch: it draws, appends or loops."""
    inner = (*statements(statement.positive), *statements(statement.negative))
    return any(isinstance(s, Sample | Append | While) for s in inner)


def is_quiet(block: tuple[Statement, ...]) -> bool:
    """Return whether statements only compute, so that each run may make turns of its own."""
    return all(isinstance(s, Assign | Put | If) for s in statements(block))


def agrees(expression: Expr, shared: frozenset[str], program: Program) -> bool:
    """Return whether both runs agree on an expression, given the variables on which they agree."""
    match expression:
        case Number() | TruthValue():
            return True
        case Variable(name):
            parameter = program.parameter(name)
            return name in shared if parameter is None else not parameter.private
        case Size(name):
            return program.parameter(name) is None or same_length(program, name)
        case Ask():
            return False
        case Element(array, index):
            return agrees(Variable(array), shared, program) and agrees(index, shared, program)
        case _:
            return all(agrees(child, shared, program) for child in children(expression))


def shared_variables(program: Program) -> frozenset[str]:
    """Return the greatest set of variables on which both runs agree."""
    shared = assigned(program.body)

    def visit(block: tuple[Statement, ...], agreed: bool) -> None:
        for statement in block:
            match statement:
                case Assign(_, Items()):
                    pass
                case Put(target, index, value):
                    if not (agreed and all(agrees(e, frozenset(shared), program) for e in (index, value))):
                        shared.discard(target)
                case Assign(target, value) | Append(target, value):
                    if not (agreed and agrees(value, frozenset(shared), program)):
                        shared.discard(target)
                case Sample(target):
                    if not (agreed and _drawn_alike(statement, frozenset(shared), program)):
                        shared.discard(target)
                case If(condition, positive, negative):
                    same = is_synchronised(statement) or agrees(condition, frozenset(shared), program)
                    visit(positive, agreed and same)
                    visit(negative, agreed and same)
                case While(condition, body):
                    apart = is_quiet(body) and not agrees(condition, frozenset(shared), program)
                    visit(body, agreed and not apart and not is_one_sided(statement, program))
                case _:
                    pass

    while True:
        before = set(shared)
        visit(program.body, True)
        if shared == before:
            return frozenset(shared)


def is_concentrated(program: Program) -> bool:
    """Return whether a proof counts costs as zero-concentrated privacy does."""
    draws = [s for s in statements(program.body) if isinstance(s, Sample)]
    return isinstance(program.claim, Rho) or any(s.law in ("Gaussian", "DiscreteGaussian") for s in draws)


def _drawn_alike(draw: Sample, shared: frozenset[str], program: Program) -> bool:
    """Return whether proofs let both runs draw the same value."""
    if is_concentrated(program) or draw.law == "ExpMech":
        return True
    if draw.law == "Bernoulli" and any(isinstance(part, Apply) for part in draw.arguments):
        return False
    alike = draw.law in ("Uniform", "UniformInt", "Bernoulli")
    return alike and all(agrees(argument, shared, program) for argument in draw.arguments)


def is_one_sided(loop: While, program: Program) -> bool:
    """Return whether a loop walks over a list of which the two runs have different lengths."""
    unequal = {r.name for r in program.neighbours if r.kind == "add-remove"}
    return any(isinstance(part, Size) and part.array in unequal for part in subexpressions(loop.condition))
