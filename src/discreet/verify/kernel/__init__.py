"""The kernel: believes a proof only after deriving from the program's tree everything that must hold.

It knows few rules, each stated as a theorem where it stands: `pair` says which inputs are neighbours, `walk`
what an alignment must satisfy and cost, `table` what the laws of a finite program must satisfy.  What no rule
derives is refused; a proof about no input, or of which no run comes to its end, is refused too.

What is trusted: that the tree is the one of the text (the parser, and the resolver that writes calls out and
constants in), these modules, exact integers and rationals (Python and FLINT), the enclosure of exp, and the
answer "unsat" of Z3; `walks` hands the same questions to any other solver.  Nothing of the search is
trusted: a proof consists of terms of the tree, whose every symbol and operator gets its meaning here.
"""

import time
from collections.abc import Sequence, Set

import z3

from discreet.verify import syntax as tree
from discreet.verify.kernel.meaning import question, refuse
from discreet.verify.kernel.pair import Pair, directions
from discreet.verify.kernel.table import FinerError, accept_laws
from discreet.verify.kernel.walk import Walk

Part = tree.Part
Parts = Sequence[Part]
__all__ = ["FinerError", "Part", "accept", "accept_laws", "walks"]


def accept(program: tree.Program, parts: Parts, seconds: float = 60.0, reals: Set[str] = frozenset()) -> int:
    """Return how many obligations a proof by alignment took; raises CertificateError if it proves nothing."""
    deadline, count = time.monotonic() + seconds, 0
    for walk in walks(program, parts, reals):
        if not any(question(deadline, *walk.pair.facts, *end) == z3.sat for end in walk.ends):
            raise refuse("no input satisfies the assumptions of the program, or no run comes to its end")
        for item in walk.obligations:
            if question(deadline, *walk.pair.facts, *item.hypotheses, z3.Not(item.goal)) != z3.unsat:
                raise refuse(f"the certificate does not prove the program private: {item.doubt}", item.node)
        count += len(walk.obligations)
    return count


def walks(program: tree.Program, parts: Parts, reals: Set[str] = frozenset()) -> list[Walk]:
    """Return what must be proved for each order of the neighbours."""
    if [dict(part.direction) for part in parts] != directions(program):
        raise refuse("the certificate does not treat every order of the neighbours once")
    return [Walk(Pair(program, part.direction), part, reals) for part in parts]
