"""Coins in a program's text: draws that may be flipped, and those that decide whether a loop goes on."""

from fractions import Fraction

from discreet.verify import syntax as tree
from discreet.verify.kernel.meaning import refuse


def flipped(draw: tree.Sample) -> tree.Expr | None:
    """Return the log-odds of a draw that may be flipped: Response(e), Bernoulli(exp(e) / (1 + exp(e)))."""
    match draw.law, draw.arguments:
        case "Response", (logit,):
            return logit
        case "Bernoulli", (
            tree.Binary("/", tree.Apply("exp", (logit,)) as odds, tree.Binary("+", one, two)),
        ):
            return logit if {one, two} == {tree.Number(Fraction(1)), odds} else None
    return None


def coins(condition: tree.Expr) -> set[str]:
    """Return the variables that must be true, or that must be false, for a condition to hold."""
    match condition:
        case tree.Variable(name) | tree.Unary("not", tree.Variable(name)):
            return {name}
        case tree.Binary("and", left, right):
            return coins(left) | coins(right)
    return set()


def tossed(loop: tree.While) -> tree.Expr:
    """Return the chance of the coin that every turn of a loop tosses anew to decide whether to go on."""
    for name in coins(loop.condition):
        match [s for s in loop.body if name in tree.assigned((s,))]:
            case [*_, tree.Sample(_, "Bernoulli", (chance,))]:
                return chance
    raise refuse("the loop may not end", loop)
