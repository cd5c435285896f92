"""The state of two runs walked together, what is to be proved of them, and the shapes of statements."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.verify import syntax as tree
from discreet.verify.kernel.meaning import TRUE, Term, refuse

ONE = tree.Number(Fraction(1))
Node = tree.Statement | tree.Expr


@dataclass(frozen=True, slots=True)
class Obligation:
    """Something to prove: the hypotheses imply the goal; until then there is a doubt."""

    doubt: str
    node: Node
    hypotheses: tuple[Term, ...]
    goal: Term


@dataclass(frozen=True, slots=True)
class State:
    """Both runs at one moment; `path` is what the first run has done, `due` what is still to be proved."""

    values: Mapping[tuple[str | int, int], Term]
    """Variables by name and run; with 0 for the run, lengths of lists, and by number how far draws moved."""
    path: tuple[Term, ...] = ()
    due: tuple[Obligation, ...] = ()
    live: tuple[Term, ...] = (TRUE, TRUE)
    """When each run comes here at all, within branches in which both only compute."""


START = State({})


def quiet(block: tuple[tree.Statement, ...]) -> bool:
    """Return whether statements only compute, so that each run may take its own branches."""
    return all(isinstance(s, tree.Assign | tree.If) for s in tree.statements(block))


def shapely(program: tree.Program) -> None:
    """Refuse a tree in which one number, name or list could mean two things."""
    everything, names = list(tree.statements(program.body)), [p.name for p in program.parameters]
    for kind, number in ((tree.Sample, "site"), (tree.Append, "tag"), (tree.While, "loop")):
        numbers = [getattr(s, number) for s in everything if isinstance(s, kind)]
        if len(set(numbers)) != len(numbers):
            raise refuse(f"two statements have one {number}")
    starts = [s for s in everything if isinstance(s, tree.Assign) and isinstance(s.value, tree.Items)]
    if len({s.target for s in starts}) != len(starts) or any(s not in program.body for s in starts):
        raise refuse("a list starts once, outside of loops and branches")
    if len(set(names)) != len(names) or tree.assigned(program.body) & set(names):
        raise refuse("a parameter has its name and its value for itself")
    if [s for s in everything if isinstance(s, tree.Return)] != [*program.body[-1:]]:
        raise refuse("a program returns once, at its end")


def influenced(body: tuple[tree.Statement, ...], known: set[str]) -> set[str]:
    """Return the variables on which a draw, or one of the known ones, has an influence.

    A draw that is made or not, or more or less often, because of such a variable is refused.
    """
    touched = [s for s in tree.statements(body) if isinstance(s, tree.Sample) or tree.mentioned(s) & known]
    for s in touched:
        if not isinstance(s, tree.Sample) and any(isinstance(i, tree.Sample) for i in tree.statements((s,))):
            raise refuse("whether a draw is made may depend on other draws", s)
    found = tree.assigned(tuple(touched))
    return found if found == known else influenced(body, found)


def chance_of(draw: tree.Sample) -> tree.Expr | None:
    """Return the chance that a draw is true: p of Bernoulli(p), exp(e) / (1 + exp(e)) of Response(e)."""
    match draw.law, draw.arguments:
        case "Bernoulli", (chance,):
            return chance
        case "Response", (logit,):
            odds = tree.Apply("exp", (logit,))
            return tree.Binary("/", odds, tree.Binary("+", ONE, odds))
    return None


def flipped(draw: tree.Sample) -> tree.Expr | None:
    """Return the log-odds of a draw that may be flipped: its chance is exp(e) / (1 + exp(e))."""
    match chance_of(draw):
        case tree.Binary("/", tree.Apply("exp", (logit,)) as odds, tree.Binary("+", one, two)):
            return logit if {one, two} == {ONE, odds} else None
    return None


def tossed(loop: tree.While, face: tree.Expr) -> tree.Sample | None:
    """Return the draw that a condition is about: made anew by every turn of a loop, and left as it falls.

    Theorem (waiting).  A loop ends almost surely if it goes on only where a condition holds of a draw
    that every turn makes anew, from one law, and if that condition fails with a chance above zero.  It
    does if it fails for a face of a coin of chance p, 0 < p < 1, or for the least or the greatest
    integer of a uniform law; or if a uniform real number u between a and b is compared with a bar c, as
    u < c or u <= c where b > c, or as u > c or u >= c where a < c.
    Proof.  A turn is the last with a chance of at least f > 0, whatever was drawn before, so n turns go
    on with a chance of at most (1 - f)**n.  A face or an integer has a chance of its own; u exceeds c <
    b with a chance of at least min(1, (b - c) / (b - a)), and so on.
    """
    drawn = [s for s in loop.body if tree.assigned((s,)) & tree.names(face)]
    laws = "Bernoulli", "Response", "Uniform", "UniformInt"
    return drawn[-1] if drawn and isinstance(drawn[-1], tree.Sample) and drawn[-1].law in laws else None
