"""The checker: reads the statement that will run, derives how far one person moves it, and compares.

It knows the operators of statements and the rules of this package, and nothing of how a statement came
about.  What no rule derives is refused; so is a derived bound above what was claimed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from discreet.errors import ProofError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.plan import Among, Call, Column, Scalar, conjuncts
from discreet.query.proof.added import Body, added, fallen, masked
from discreet.query.proof.blend import blended
from discreet.query.proof.declared import (
    Blended,
    Chosen,
    Claim,
    Declarations,
    Divided,
    Kept,
    KeptByWeight,
    Noised,
    Reached,
    Release,
    Swapped,
    SwappedAmong,
    TableDeclaration,
    outputs_of,
)
from discreet.query.proof.demand import TRUTHS
from discreet.query.proof.derivation import Proof, ProvedStatement, Step, minted
from discreet.query.proof.function import evaluate
from discreet.query.proof.reach import Reach
from discreet.query.proof.relation import (
    Relation,
    apart,
    filtered,
    fold,
    used,
)
from discreet.query.proof.select import ReadScope, prepared, select, source_of
from discreet.query.proof.value import Kind
from discreet.query.statement import Query, Statement


def prove(statements: Sequence[Statement], declarations: Declarations, claims: Sequence[Claim]) -> Proof:
    """Return the derivations of a question's statements, or refuse."""
    if len(statements) != len(claims):
        raise ProofError("a question", "has claims for other statements")
    names = [name for claim in claims for release in claim for name in outputs_of(release)]
    if len(set(names)) != len(names):
        raise ProofError("a question", "releases one output twice")
    apart([table.name for table in declarations.tables], "the declarations")
    kept = sum(isinstance(release, Kept | KeptByWeight) for claim in claims for release in claim)
    found = {claim.keys is None for claim in claims}
    if found not in ({False}, {True}) or (found == {True}) != (kept == 1):
        raise ProofError("group keys", "are declared, or found in the data by one threshold for all")
    with _readable():
        return Proof(tuple(_proved(*pair, declarations) for pair in zip(statements, claims, strict=True)))


def prove_preparation(
    statement: Statement, declarations: Declarations, table: TableDeclaration
) -> ProvedStatement:
    """Return the derivation that a statement's rows are a prepared table.

    Rule.  The rows of a personal relation may replace those of its table: neighbouring data give neighbouring
    tables, with the same people.  Needs: every row's person is kept under the unit's name and known; at most
    `kept` rows each; the same columns.
    """
    with _readable():
        relation = prepared(select(statement.body, _scope(statement, declarations)))
    owner = relation.owner
    if owner is None or ("", table.unit) not in owner.people:
        raise ProofError("a prepared table", "does not keep the column of its unit")
    if relation.rows is None or table.kept is None or relation.rows > table.kept:
        raise ProofError("a prepared table", "keeps more rows of a person than declared")
    if [name for name, _ in table.columns] != [name for name, _ in statement.body.items]:
        raise ProofError("a prepared table", "has other columns than declared")
    kinds = [(name, relation.columns["", name].kind) for name, _ in table.columns]
    if kinds != [(name, Kind(kind)) for name, kind in table.columns]:
        raise ProofError("a prepared table", "has columns of other types than declared")
    if statement.keys or statement.outputs or owner.adjacency is not table.adjacency:
        raise ProofError("a prepared table", "has no outputs, and the same neighbours")
    step = Step("prepared table", f"{table.name}: at most {relation.rows} rows of a person", (relation.step,))
    return minted(statement, step)


@contextmanager
def _readable() -> Iterator[None]:
    """Refuse what is not even a statement: calls with missing arguments, constants of strange types."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        unread = ProofError("a statement", "is not one that the checker can read")
    else:
        return
    # Raised here and not while handling the other, so that nothing holds on to it.
    raise unread


def _scope(statement: Statement, declarations: Declarations) -> ReadScope:
    """Return the judgements about the parts of a statement, each from those before it."""
    apart([name for name, _ in statement.parts], "the parts of a statement")
    scope = ReadScope(declarations, {}, frozenset())
    for name, query in statement.parts:
        hidden = scope.hidden | {fold(name)}
        relation = select(query, replace(scope, hidden=hidden))
        scope = ReadScope(declarations, {**scope.parts, name: relation}, hidden)
    return scope


def _proved(statement: Statement, claim: Claim, declarations: Declarations) -> ProvedStatement:
    scope = _scope(statement, declarations)
    query = statement.body
    apart([name for name, _ in query.items], "the outputs")
    # Integers are read by their place after the keys.
    if len(statement.outputs) != len(query.items) - statement.keys or statement.keys < 0:
        raise ProofError("the outputs", "are not the columns after the keys")
    if sorted(name for release in claim for name in outputs_of(release)) != sorted(statement.outputs):
        raise ProofError("the outputs", "are not those that are claimed")
    if statement.cells and (statement.keys < 1 or len(statement.outputs) != 1):
        raise ProofError("a selection", "has one output for each candidate")
    groups = statement.keys - 1 if statement.cells else statement.keys
    if claim.keys is not None and len(claim.keys) != groups:
        raise ProofError("the group keys", "are not those that are declared")
    # Groups are read by equality, which takes 1 and true for one.
    if any(len(set(values)) != len(values) for values in claim.keys or ()):
        raise ProofError("the group keys", "are declared twice")
    # NULL equals nothing, so no rule about equal keys speaks of it.
    if any(None in values for values in claim.keys or ()):
        raise ProofError("the group keys", "hold NULL, which is no key")
    source = source_of(query.source, scope)
    rows = filtered(source, query.where)
    owner = rows.owner
    if owner is None:
        raise ProofError("the statement", "reads no private rows")
    if not owner.known:
        raise ProofError("the statement", "adds up rows that have no person")
    _only_keys(query, rows)
    body = Body(query, rows, owner, scope.parts, claim.keys, statement.cells)
    steps = tuple(_released(body, statement, release) for release in claim)
    person = "each person" if owner.united else "each row"
    says = (
        f"{person}, {owner.adjacency}; groups {'found by a threshold' if claim.keys is None else 'declared'}"
    )
    named = tuple(Step(f"part {name}", _rows(part), (part.step,)) for name, part in scope.parts.items())
    final = Step("rows that are added up", _rows(rows), (rows.step,))
    return minted(statement, Step("statement", says, (*named, final, *steps)))


def _rows(rows: Relation) -> str:
    return "any number of rows of a person" if rows.rows is None else f"at most {rows.rows} rows of a person"


def _only_keys(query: Query, rows: Relation) -> None:
    """Refuse conditions on groups that speak of anything but keys.

    Rule.  A condition on the keys alone only takes whole groups away, the same ones whatever the data.  Any
    other could show or hide a group because of one person.
    """
    keys = {(key.relation or "", key.name) for key in query.group if isinstance(key, Column)}
    for part in conjuncts(query.having):
        if not query.group or not used(part) <= keys:
            raise ProofError("a condition on groups", "must be about the keys alone")
        if evaluate(_plain(part), rows.leaf).kind not in TRUTHS:
            raise ProofError("a condition on groups", "is not a condition")


def _plain(scalar: Scalar) -> Scalar:
    """Return a condition on keys with the guard of empty groups left out."""
    match scalar:
        case Call("grouped", (inner,)):
            return inner
        case Call(name, arguments):
            return Call(name, tuple(map(_plain, arguments)))
        case Among(argument, values):
            return Among(_plain(argument), values)
        case _:
            return scalar


def _blended(body: Body, statement: Statement, release: Blended | SwappedAmong) -> Step:
    named = ", ".join(release.outputs)
    if statement.cells or len(release.outputs) < 2:
        raise ProofError(f"the outputs {named}", "are not sums that are released together")
    places = [statement.keys + statement.outputs.index(output) for output in release.outputs]
    corners, why = blended(body, statement, [body.query.items[place][1] for place in places])
    if isinstance(release, SwappedAmong):
        if body.owner.adjacency is not Adjacency.REPLACE:
            raise ProofError(f"the outputs {named}", "are not of people who are replaced")
        moves = corners.moves(Adjacency.ADD_REMOVE)
        _at_most(named, "l1", moves.l1, release.each)
        says = f"hold at most {moves.l1} of a person in l1 together, none of it negative"
        return Step(f"outputs {named}", says, (why,))
    moves = corners.moves(body.owner.adjacency)
    if isinstance(release.claimed, Sensitivity):
        _compare(named, moves, release.claimed)
    else:
        _at_most(named, "l1", moves.l1, release.claimed)
    return Step(f"outputs {named}", f"move by at most {moves.l1} in l1 together", (why,))


def _released(body: Body, statement: Statement, release: Release) -> Step:
    if isinstance(release, Blended | SwappedAmong):
        return _blended(body, statement, release)
    _, scalar = body.query.items[statement.keys + statement.outputs.index(release.output)]
    if statement.cells != isinstance(release, Chosen):
        raise ProofError(f"the output {release.output}", "is released by another kind of mechanism")
    if isinstance(release, KeptByWeight):
        return _weighed(body, statement, release, scalar)
    series = not body.query.group and isinstance(scalar, Call) and scalar.function == "series"
    reach, why = masked(body, statement, scalar) if series else added(body, statement, scalar)
    match release:
        case Noised(_, claimed):
            moves = reach.moves(body.owner.adjacency, body.size)
            _compare(release.output, moves, claimed)
            says = f"moves by at most {moves.l1} in l1, {moves.linf} in one group"
        case Reached(_, claimed_reach):
            moves = reach.moves(body.owner.adjacency, body.size)
            _at_most(release.output, "l1", moves.l1, claimed_reach)
            says = f"cells move by at most {moves.l1} in l1"
        case Swapped(_, each, back):
            if body.owner.adjacency is not Adjacency.REPLACE or not reach.leaning <= back:
                raise ProofError(f"the output {release.output}", "is not counts of people who are replaced")
            moves = reach.moves(Adjacency.ADD_REMOVE, body.size)
            _at_most(release.output, "l1", moves.l1, each)
            signs = f"of the other sign at most {back} of it" if back else "none of it negative"
            says = f"cells hold at most {moves.l1} of a person in l1, {signs}"
        case Divided(_, claimed_reach):
            if body.keys is None or len(statement.outputs) != 1:
                raise ProofError(f"the output {release.output}", "is divided, and needs declared cells alone")
            moves = reach.moves(body.owner.adjacency, body.size)
            _at_most(release.output, "l1", moves.l1, claimed_reach)
            says = f"cells move by at most {moves.l1} in l1, one by one"
        case Kept(_, groups):
            moves = reach.moves(body.owner.adjacency, body.size)
            _at_most(release.output, "one key", moves.linf, 1)
            _at_most(release.output, "the number of keys", moves.l0, groups)
            says = f"a person adds one to at most {moves.l0} keys"
        case Chosen():
            says = _chosen(body, statement, release, reach)
    return Step(f"output {release.output}", says, (why,))


def _weighed(body: Body, statement: Statement, release: KeptByWeight, scalar: Scalar) -> Step:
    """Compare what a person adds to each key with what the threshold and its noise are calibrated for."""
    if body.keys is not None:
        raise ProofError(f"the output {release.output}", "finds keys that are declared")
    told, why = fallen(body, statement, scalar)
    if len(told) > len(release.weights):
        raise ProofError(f"the output {release.output}", "is for people in fewer groups")
    times = 2 if body.owner.adjacency is Adjacency.REPLACE else 1
    for number, (own, claimed) in enumerate(zip(told, release.weights, strict=False), 1):
        _at_most(release.output, f"a key of {number}", own, claimed)
        _at_most(release.output, f"l2 squared over {number} keys", times * number * own**2, release.squares)
    says = f"a person in m keys, of at most {len(told)}, adds a weight to each: {told[0]}, ..., {told[-1]}"
    return Step(f"output {release.output}", says, (why,))


def _chosen(body: Body, statement: Statement, release: Chosen, reach: Reach) -> str:
    _, candidate = body.query.items[statement.keys - 1]
    value = evaluate(candidate, body.rows.leaf)
    if release.level is not None and not (
        value.kind is Kind.WHOLE and 0 <= value.low <= value.high < release.size
    ):
        raise ProofError(f"the output {release.output}", "has candidates outside of the grid")
    if release.monotone and body.owner.adjacency != "add-remove":
        raise ProofError(f"the output {release.output}", "has scores that move both ways")
    if (reach.low, reach.high) != (0, 1):
        raise ProofError(f"the output {release.output}", "must add up weights of candidates")
    moves = reach.scores(body.owner.adjacency, body.size, release.level)
    _at_most(release.output, "the scores", moves, release.moves)
    return f"scores move by at most {moves}, summed over groups"


def _compare(output: str, derived: Sensitivity, claimed: Sensitivity) -> None:
    """Compare in every norm that is claimed."""
    _at_most(output, "l1", derived.l1, claimed.l1)
    _at_most(output, "l2 squared", derived.l2_squared, claimed.l2_squared)
    _at_most(output, "linf", derived.linf, claimed.linf)
    if claimed.l0 is not None:
        _at_most(output, "l0", derived.l0, claimed.l0)


def _at_most(output: str, what: str, derived: object, claimed: object) -> None:
    # Asked so that what is no number is more than nothing.
    if derived is None or not derived <= claimed:  # type: ignore[operator]
        raise ProofError(
            f"the output {output}", f"moves further than claimed in {what}: {derived} > {claimed}"
        )
