"""Why loops end: a number that every turn decreases, or a coin that every turn tosses anew."""

from discreet.verify.check import CheckedProgram
from discreet.verify.syntax import (
    Assign,
    Binary,
    Expr,
    If,
    Number,
    Put,
    Return,
    Sample,
    Variable,
    While,
    assigned,
    names,
    statements,
)

ANEW = ("Bernoulli", "Response", "Uniform", "UniformInt")
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def ranking(checked: CheckedProgram) -> dict[int, Expr]:
    """Return for each loop an expression that each turn should decrease, read off the loop's condition."""
    found: dict[int, Expr] = {}
    for statement in statements(checked.program.body):
        if not isinstance(statement, While):
            continue
        # A list that only has elements changed keeps its size.
        changing = {
            s.target for s in statements(statement.body) if not isinstance(s, If | Put | Return | While)
        }
        for part in conjuncts(statement.condition):
            match part:
                case Binary("<" | "<=", low, high) | Binary(">" | ">=", high, low):
                    moved = {n for n in names(low) | names(high) if n in changing}
                    steady = all(_counts(n, statement, up=n in names(low)) for n in moved)
                    if moved and steady and statement.loop not in found:
                        found[statement.loop] = Binary("-", high, low)
                case _:
                    pass
    return found


def _counts(name: str, loop: While, *, up: bool) -> bool:
    """Return whether a loop changes a variable only by adding (or subtracting) numbers, at its top level."""
    top = [s for s in loop.body if isinstance(s, Assign) and s.target == name]
    deep = [s for s in statements(loop.body) if getattr(s, "target", None) == name]
    if len(top) != len(deep) or not top:
        return False
    return all(
        isinstance(s.value, Binary)
        and s.value.operator == ("+" if up else "-")
        and isinstance(s.value.left, Variable)
        and s.value.left.name == name
        and isinstance(s.value.right, Number)
        and s.value.right.value >= 1
        for s in top
    )


def tossed(loop: While) -> list[Expr]:
    """Return the conditions on draws, made anew by every turn, without which a loop does not go on."""
    drawn = {s.target: s for s in loop.body if isinstance(s, Sample) and s.law in ANEW}
    found: list[Expr] = []
    for part in conjuncts(loop.condition):
        match part:
            case Binary("<" | "<=" | ">" | ">=" as sign, bar, Variable(name)) if name in drawn:
                found.append(Binary(TURNED[sign], Variable(name), bar))
            case _ if names(part) & assigned(loop.body) and names(part) & assigned(loop.body) <= drawn.keys():
                found.append(part)
            case _:
                pass
    return found


def conjuncts(expression: Expr) -> list[Expr]:
    """Return the members of a conjunction."""
    match expression:
        case Binary("and", left, right):
            return conjuncts(left) + conjuncts(right)
    return [expression]
