"""Judgements c1 ~ c2 : P => Q about finite programs, decided pair by pair of memories.

Definition.  A program takes a memory to a subdistribution over memories; mass is missing where it does not
end. The quadruple c1 ~ c2 : P => Q is valid when for every pair of memories related by P the two resulting
subdistributions are in the lifting of Q: they have a coupling whose every pair of memories is related by Q.

So true => equal is perfect secrecy, equal => equal of results is non-interference, adjacent => equal up to
exp(epsilon) and delta is privacy (with `slack`), and any other P and Q are decided alike.  What makes an
instance valid is shown, one coupling for every related pair, and what makes it invalid too: the pair of
memories, and a set of results with more mass than everything related to it (Strassen).

References.  Barthe, Gregoire, Zanella Beguelin, POPL 2009.  Approximate liftings: Barthe, Koepf, Olmedo,
Zanella Beguelin, POPL 2012; Sato, MFPS 2016.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.verify.coupling import Coupling, Law, NoCoupling, Relation, couple, lifted_delta

Memory = Hashable
Program = Callable[[Memory], Law]
"""From a memory to the (sub)distribution of memories that it may end in."""


@dataclass(frozen=True, slots=True)
class Valid:
    """The judgement holds; `couplings` shows why for every pair of memories that P relates."""

    couplings: Mapping[tuple[Memory, Memory], Coupling]


@dataclass(frozen=True, slots=True)
class Invalid:
    """The judgement fails on these memories, which P relates, for this reason."""

    memories: tuple[Memory, Memory]
    reason: NoCoupling


def valid(
    first: Program, second: Program, before: Relation, after: Relation, memories: Iterable[Memory]
) -> Valid | Invalid:
    """Decide first ~ second : before => after over all pairs of these memories."""
    known = list(memories)
    couplings = {}
    for pair in [(one, two) for one in known for two in known if before(one, two)]:
        found = couple(first(pair[0]), second(pair[1]), after)
        if isinstance(found, NoCoupling):
            return Invalid(pair, found)
        couplings[pair] = found
    return Valid(couplings)


def slack(
    first: Program,
    second: Program,
    before: Relation,
    after: Relation,
    memories: Iterable[Memory],
    factor: Fraction = Fraction(1),
) -> Fraction:
    """Return the least delta such that the judgement holds up to `factor` = exp(epsilon) and delta.

    That is, for all memories that P relates and all sets S of results of the first program:
    mu1(S) <= factor * mu2(Q(S)) + delta.
    """
    known = list(memories)
    pairs = [(one, two) for one in known for two in known if before(one, two)]
    return max(
        (lifted_delta(first(one), second(two), after, factor) for one, two in pairs), default=Fraction(0)
    )
