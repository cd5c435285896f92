"""Several relations, one after the other."""

from collections.abc import Sequence

from discreet.errors import ProofError
from discreet.query.proof.derivation import Step
from discreet.query.proof.relation import Owner, Relation
from discreet.query.proof.value import Value, union


def stacked(parts: Sequence[Relation]) -> Relation:
    """The rows of several relations, which have the same columns in the same types.

    Rule.  Let R and S be personal, for the same neighbours, with people told apart in both or in neither.
    Then R with S below it is the disjoint union over p of R_p with S_p below it, a function of the rows of
    p, so it is personal, and |R_p| + |S_p| bounds a person's rows: even where every row is a person, the
    same table may stand in both.  A column holds the person where it does in every part.  Because the types
    are the same, and identifiers of undeclared type come from one stored column, equal values mean one
    person; and because the tables declare the person alike, one person has equal values: 007 would be 7 as
    an integer.  What was unique in a part need not be so in all.  Public relations below each other are
    public; public rows below a person's would belong to nobody, and are refused.
    """
    first = parts[0]
    columns = {name: _value([part.columns[name] for part in parts]) for name in first.columns}
    owners = [part.owner for part in parts if part.owner is not None]
    step = Step("union", f"{len(parts)} relations, one after the other", tuple(part.step for part in parts))
    if not owners:
        return Relation(columns, None, step)
    if len(owners) != len(parts):
        raise ProofError("a union", "puts public rows among those of people, which belong to nobody")
    if len({owner.adjacency for owner in owners}) != 1:
        raise ProofError("a union", "mixes different neighbours")
    if len({owner.united for owner in owners}) != 1:
        raise ProofError("a union", "mixes people told apart by a column with rows that are people")
    told = {owner.told for owner in owners}
    if owners[0].united and (None in told or len(told) != 1):
        raise ProofError("a union", "has tables that declare the person differently, who may be two people")
    limits = [part.rows for part in parts]
    people = frozenset.intersection(*(owner.people for owner in owners))
    owner = Owner(
        owners[0].adjacency, people, all(one.known for one in owners), owners[0].united, owners[0].told
    )
    rows = None if None in limits else sum(limit or 0 for limit in limits)
    return Relation(columns, owner, step, rows)


def _value(values: Sequence[Value]) -> Value:
    """What a column holds in one part or another, refusing types that an engine would have to cast."""
    joint = union(values)
    if joint is None or len({value.kind for value in values}) != 1:
        raise ProofError("a union", "has a column of different types")
    return joint
