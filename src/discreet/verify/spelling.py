"""Expressions as text that parses back to them."""

from discreet.verify.syntax import (
    Apply,
    Ask,
    Binary,
    Conditional,
    Element,
    Expr,
    Items,
    Number,
    Size,
    TruthValue,
    Unary,
    Variable,
)

_STRENGTH = {"or": 1, "and": 2, "=": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "++": 5, "xor": 5}
_STRENGTH |= {"+": 6, "-": 6, "*": 7, "/": 7, "mod": 7}


def _run(side: int) -> str:
    return f"{{{side}}}" if side else ""


def show(expression: Expr, strength: int = 0) -> str:
    """Return the expression as text that parses back to it."""
    match expression:
        case Number(value, whole):
            if value.denominator == 1:
                text = str(value) if whole else f"{value}.0"
                return text if value >= 0 or strength == 0 else f"({text})"
            return f"({value})" if strength >= 7 or value < 0 else str(value)
        case TruthValue(value):
            return "true" if value else "false"
        case Variable(name, side):
            return f"{name}{_run(side)}"
        case Unary(operator, operand):
            text = f"-{show(operand, 8)}" if operator == "-" else f"not {show(operand, 3)}"
            return f"({text})" if strength > (6 if operator == "-" else 3) else text
        case Binary(operator, left, right):
            own = _STRENGTH[operator]
            text = f"{show(left, own)} {operator} {show(right, own + 1)}"
            return f"({text})" if strength > own or (own == 4 and strength == 4) else text
        case Conditional(condition, positive, negative):
            text = f"if {show(condition)} then {show(positive)} else {show(negative)}"
            return f"({text})" if strength else text
        case Apply(function, arguments):
            return f"{function}({', '.join(show(a) for a in arguments)})"
        case Element(array, index, side):
            return f"{array}{_run(side)}[{show(index)}]"
        case Size(array, side):
            return f"size{_run(side)}({array})"
        case Ask(query, data, side):
            return f"{query}{_run(side)}({data})"
        case Items(items):
            return f"[{', '.join(show(item) for item in items)}]"
