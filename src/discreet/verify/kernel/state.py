"""The state of two runs walked together, what is to be proved of them, and the shapes of statements.

Theorem (tails).  Under a claim of epsilon and delta a proof may leave out runs on the first input in which a
Laplace(b) or Geometric(b) draw that is made at most once exceeds m b, or falls below -m b, at the price
exp(-m) of delta.
Proof.  Either happens with probability at most exp(-m).  On what is left the map of the alignment theorem is
still injective, so Pr[M(D1) in S] <= Pr[tail] + exp(c) Pr[M(D2) in S].

Theorem (misses).  It may be assumed that a continuous draw differs from a value that the first run had before
it: that fails with probability zero.
"""

from dataclasses import dataclass

from discreet.verify import syntax as tree
from discreet.verify.kernel.meaning import ONE, TRUE, Term, refuse


@dataclass(frozen=True, slots=True)
class Obligation:
    """Something to prove: the hypotheses imply the goal; until then there is a doubt."""

    doubt: str
    node: Term
    hypotheses: tuple[Term, ...]
    goal: Term


@dataclass(frozen=True, slots=True)
class State:
    """Both runs at one moment; `path` is what the first run has done, `due` what is still to be proved.

    Theorem (lists).  The elements of a list that the program reads or changes are a function of the
    place, in each run its own; both runs append to it together, so that its length is one.  Only places
    inside are read or changed, so whatever lies beyond may be taken as equal.  A list of which elements
    were changed is no part of w: at the end its elements are the same in both runs, at any place inside.
    What is shown of any place, and holds whenever a loop comes round, holds there of every place: nothing
    else that a proof says knows which one is meant, and no input is read there.
    """

    values: dict[tuple[str | int, int], Term]
    """Variables and elements of lists by name and run; with 0 for the run, lengths and movements."""
    path: tuple[Term, ...] = ()
    due: tuple[Obligation, ...] = ()
    live: tuple[Term, ...] = (TRUE, TRUE)
    """When each run comes here at all, within branches in which both only compute."""


START = State({})


def quiet(block: tuple[tree.Statement, ...]) -> bool:
    """Return whether statements only compute, so that each run may take its own branches."""
    return all(isinstance(s, tree.Assign | tree.Put | tree.If) for s in tree.statements(block))


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

    Theorem (foresight).  Let notes be numbers that every draw that is not picked changes, and no picked
    one, by terms of the notes, that draw, w, the inputs, and variables on which no draw has an influence;
    let the same be true of which draws are picked, and of which are made.  If draws that are not picked
    do not move, then the moves of picked ones may also depend on what the notes are in the end.
    Proof.  For fixed w the notes are functions of draws that do not move.  Given these the notes are
    constants, and the map on the picked draws is triangular with unit Jacobian, as before; integrate over
    the others.
    """
    touched = [s for s in tree.statements(body) if isinstance(s, tree.Sample) or tree.mentioned(s) & known]
    for s in touched:
        if not isinstance(s, tree.Sample) and any(isinstance(i, tree.Sample) for i in tree.statements((s,))):
            raise refuse("whether a draw is made may depend on other draws", s)
    found = tree.assigned(tuple(touched))
    return found if found == known else influenced(body, found)


def chance_of(draw: tree.Sample) -> tree.Expr | None:
    """Return the chance that a draw is true: p of Bernoulli(p), exp(e) / (1 + exp(e)) of Response(e)."""
    if draw.law != "Response":
        return draw.arguments[0] if draw.law == "Bernoulli" else None
    odds = tree.Apply("exp", draw.arguments)
    return tree.Binary("/", odds, tree.Binary("+", ONE, odds))


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
