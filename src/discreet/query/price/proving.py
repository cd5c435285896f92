"""What a priced question claims, written down for the checker of statements."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.mechanisms.key_weight import KeyWeight
from discreet.query.catalog.manifest import Catalog, DeclaredTable
from discreet.query.check.measurement import (
    Checked,
    Declared,
    KeyColumn,
    Measurement,
    ModeChoice,
    Private,
    QuantileChoice,
    families,
)
from discreet.query.check.tables import cells, output, tables
from discreet.query.plan import given
from discreet.query.price.expected import Quote
from discreet.query.price.mechanism import MeasurementShare
from discreet.query.price.sparse import Sparse
from discreet.query.price.together import Together
from discreet.query.proof import (
    Blended,
    Chosen,
    Claim,
    Declarations,
    Divided,
    Kept,
    KeptByWeight,
    Noised,
    Proof,
    ProvedStatement,
    Reached,
    Swapped,
    SwappedAmong,
    TableDeclaration,
    Through,
    prove,
    prove_preparation,
)
from discreet.query.proof.declared import Keys, Release
from discreet.query.rewrite.prepared import prepared_rows
from discreet.query.rewrite.statements import statements


def proof_of(priced: Quote, catalog: Catalog) -> Proof:
    """Return the derivation of what a quote claims from the statements that will run, or refuse."""
    if priced.parts:
        return _joint([proof_of(part, catalog) for part in priced.parts])
    running = statements(priced.checked)
    claims = [_claim(priced, statement.outputs) for statement in running]
    return prove(running, declarations(catalog), claims)


def proved(priced: Quote, catalog: Catalog) -> Quote:
    """Return a quote with the derivation of what it claims, and so each of its parts."""
    parts = tuple(proved(part, catalog) for part in priced.parts)
    proof = _joint([given(part.proof) for part in parts]) if parts else proof_of(priced, catalog)
    return replace(priced, parts=parts, proof=proof)


def _joint(proofs: Sequence[Proof]) -> Proof:
    """Return the derivation of several questions with one price."""
    return Proof(tuple(proved for proof in proofs for proved in proof.statements))


def preparation(table: DeclaredTable) -> ProvedStatement:
    """Return the statement whose rows are the prepared table, with the proof that they keep its promise."""
    raw = declared(replace(table, prepared=False))
    return prove_preparation(prepared_rows(table), Declarations((raw,)), declared(table))


def declarations(catalog: Catalog) -> Declarations:
    """Return what a catalog declares about people."""
    return Declarations(tuple(declared(table) for table in catalog.tables))


def declared(table: DeclaredTable) -> TableDeclaration:
    """Return what is declared about the people of one table."""
    return TableDeclaration(
        table.name,
        table.offered,
        table.unit,
        table.adjacency,
        table.rows_per_unit if table.prepared else None,
        table.public,
        None if table.link is None else Through(table.link.column, table.link.table, table.link.key),
    )


def _claim(priced: Quote, outputs: tuple[str, ...]) -> Claim:
    """Return how the outputs of one statement are released, and for which groups."""
    keys = priced.checked.keys
    places = {
        output(position, place): (position, place)
        for position in range(len(priced.shares))
        for place in range(1 if isinstance(keys, Declared | Private) else len(tables(keys)))
    }
    together = families(priced.checked.measurements)
    family = {position: positions for positions in together for position in positions}
    releases = []
    for name in outputs:
        position, place = places[name]
        if len(family[position]) == 1:
            releases.append(_release(name, priced.shares[position]))
        elif position == family[position][0]:
            named = tuple(output(other, place) for other in family[position])
            releases.append(_blend(named, priced.shares[position]))
    return Claim(_keys(priced.checked, places[outputs[0]][1]), tuple(releases))


def _blend(names: tuple[str, ...], share: MeasurementShare) -> Release:
    joint = share.mechanism
    if not isinstance(joint, Together):
        return Blended(names, share.measured.sensitivity)
    return Blended(names, joint.reach) if joint.swaps is None else SwappedAmong(names, joint.reach)


def _keys(checked: Checked, place: int) -> Keys:
    match checked.keys:
        case Private():
            return None
        case Declared(columns):
            return _values(columns)
        case joint:
            return _values(cells(joint, tables(joint)[place]).columns)


def _values(columns: tuple[KeyColumn, ...]) -> Keys:
    return tuple(column.values or () for column in columns)


def _release(name: str, share: MeasurementShare) -> Release:
    match share.measured, share.mechanism:
        case _, KeyWeight(weights=weights):
            return KeptByWeight(name, weights, int(share.measured.sensitivity.l2_squared))
        case _, KeyCount() | KeyGaussian():
            return Kept(name, share.measured.sensitivity.l0 or 0)
        case _, Together() as joint:
            swaps = joint.swaps
            return Reached(name, joint.reach) if swaps is None else Swapped(name, joint.reach, swaps.back)
        case _, Sparse() as blocks:
            return Divided(name, blocks.reach)
        case Measurement(sensitivity=sensitivity), _:
            return Noised(name, sensitivity)
        case QuantileChoice(level=level, size=size) as choice, _:
            return Chosen(name, Fraction(choice.sensitivity.l1), level, size)
        case ModeChoice() as choice, _:
            return Chosen(name, Fraction(choice.sensitivity.l1), None, choice.candidates, choice.monotone)
