"""The checker: reads the statement that will run, derives how far one person moves it, and compares.

It knows the operators of statements and the rules of this package, and nothing of how a statement came
about.  What no rule derives is refused; so is a derived bound above what was claimed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from discreet.errors import ProofError
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.plan import Among, Call, Case, Column, Literal, Scalar, conjuncts
from discreet.query.proof.declared import (
    Chosen,
    Claim,
    Declarations,
    Kept,
    Keys,
    Noised,
    Reached,
    Release,
    Table,
)
from discreet.query.proof.derivation import MINT, Proof, Proved, Step
from discreet.query.proof.function import TRUTHS, evaluate
from discreet.query.proof.reach import Reach
from discreet.query.proof.relation import (
    Owner,
    Relation,
    Restriction,
    apart,
    filtered,
    fold,
    restricted,
    used,
)
from discreet.query.proof.select import Scope, prepared, select, source_of
from discreet.query.proof.value import Kind
from discreet.query.proof.weight import BitShare, Heavy, Light, Parts, Share, fact_of, implied, present
from discreet.query.statement import Query, Statement


def prove(statements: Sequence[Statement], declarations: Declarations, claims: Sequence[Claim]) -> Proof:
    """Return the derivations of a question's statements, or refuse."""
    if len(statements) != len(claims):
        raise ProofError("a question", "has claims for other statements")
    names = [release.output for claim in claims for release in claim]
    if len(set(names)) != len(names):
        raise ProofError("a question", "releases one output twice")
    found = any(claim.keys is None for claim in claims)
    if found != any(isinstance(release, Kept) for claim in claims for release in claim):
        raise ProofError("group keys found in the data", "need a threshold, and others must not have one")
    return Proof(tuple(_proved(*pair, declarations) for pair in zip(statements, claims, strict=True)))


def prove_preparation(statement: Statement, declarations: Declarations, table: Table) -> Proved:
    """Return the derivation that a statement's rows are a prepared table.

    Rule.  The rows of a personal relation may replace those of its table: neighbouring data give neighbouring
    tables, with the same people.  Needs: every row's person is kept under the unit's name and known; at most
    `kept` rows each; the same columns.
    """
    relation = prepared(select(statement.body, _scope(statement, declarations)))
    owner = relation.owner
    if owner is None or ("", table.unit) not in owner.people:
        raise ProofError("a prepared table", "does not keep the column of its unit")
    if relation.rows is None or table.kept is None or relation.rows > table.kept:
        raise ProofError("a prepared table", "keeps more rows of a person than declared")
    if [name for name, _ in table.columns] != [name for name, _ in statement.body.items]:
        raise ProofError("a prepared table", "has other columns than declared")
    if statement.keys or statement.outputs:
        raise ProofError("a prepared table", "has no outputs")
    step = Step("prepared table", f"{table.name}: at most {relation.rows} rows of a person", (relation.step,))
    return Proved(statement, step, MINT)


def _scope(statement: Statement, declarations: Declarations) -> Scope:
    """Return the judgements about the parts of a statement, each from those before it."""
    apart([name for name, _ in statement.parts], "the parts of a statement")
    scope = Scope(declarations, {}, frozenset())
    for name, query in statement.parts:
        hidden = scope.hidden | {fold(name)}
        relation = select(query, replace(scope, hidden=hidden))
        scope = Scope(declarations, {**scope.parts, name: relation}, hidden)
    return scope


@dataclass(frozen=True, slots=True)
class _Body:
    """The final query of a statement over its filtered rows, and which groups leave."""

    query: Query
    rows: Relation
    owner: Owner
    parts: Parts
    keys: Keys
    allowed: Restriction
    """What the rows of groups that leave satisfy, by columns of the embedded part."""

    @property
    def size(self) -> int | None:
        """How many groups can leave."""
        return None if self.keys is None else prod(len(values) for values in self.keys)

    @property
    def group(self) -> frozenset[tuple[str, str]]:
        """The columns that are grouped by."""
        return frozenset((c.relation or "", c.name) for c in self.query.group if isinstance(c, Column))


def _proved(statement: Statement, claim: Claim, declarations: Declarations) -> Proved:
    scope = _scope(statement, declarations)
    query = statement.body
    apart([name for name, _ in query.items], "the outputs")
    # Integers are read by their place after the keys.
    if len(statement.outputs) != len(query.items) - statement.keys or statement.keys < 0:
        raise ProofError("the outputs", "are not the columns after the keys")
    if sorted(release.output for release in claim) != sorted(statement.outputs):
        raise ProofError("the outputs", "are not those that are claimed")
    if statement.cells and (statement.keys < 1 or len(statement.outputs) != 1):
        raise ProofError("a selection", "has one output for each candidate")
    groups = statement.keys - 1 if statement.cells else statement.keys
    if claim.keys is not None and len(claim.keys) != groups:
        raise ProofError("the group keys", "are not those that are declared")
    source = source_of(query.source, scope)
    rows = filtered(source, query.where)
    owner = rows.owner
    if owner is None:
        raise ProofError("the statement", "reads no private rows")
    if not owner.known:
        raise ProofError("the statement", "adds up rows that have no person")
    body = _Body(query, rows, owner, scope.parts, claim.keys, _allowed(query, rows, claim.keys))
    steps = tuple(_released(body, statement, release) for release in claim)
    person = "each person" if owner.united else "each row"
    says = (
        f"{person}, {owner.adjacency}; groups {'found by a threshold' if claim.keys is None else 'declared'}"
    )
    named = tuple(Step(f"part {name}", _rows(part), (part.step,)) for name, part in scope.parts.items())
    final = Step("rows that are added up", _rows(rows), (rows.step,))
    return Proved(statement, Step("statement", says, (*named, final, *steps)), MINT)


def _rows(rows: Relation) -> str:
    return "any number of rows of a person" if rows.rows is None else f"at most {rows.rows} rows of a person"


def _allowed(query: Query, rows: Relation, keys: Keys) -> Restriction:
    """Return what the rows of groups that leave satisfy.

    Rule.  Only groups whose keys are declared values are ever read, and conditions on groups may speak of
    keys alone: then they only take groups away.  Any other condition on groups could show or hide a group
    because of one person, and is refused.
    """
    if not query.group:
        if query.having is not None:
            raise ProofError("a condition on groups", "needs groups")
        return Restriction()
    alias = next(iter(rows.embeds), "")
    parts = [*conjuncts(query.having)]
    for part in parts:
        if not used(part) <= {(k.relation or "", k.name) for k in query.group if isinstance(k, Column)}:
            raise ProofError("a condition on groups", "must be about the keys alone")
        if evaluate(_plain(part), rows.leaf).kind not in TRUTHS:
            raise ProofError("a condition on groups", "is not a condition")
    found = restricted(Restriction(), [p for p in parts if all(a == alias for a, _ in used(p))], alias)
    where = restricted(
        Restriction(), [p for p in conjuncts(query.where) if all(a == alias for a, _ in used(p))], alias
    )
    sets = dict(found.sets if found is not None else {})
    for place, key in enumerate(query.group):
        if keys is not None and place < len(keys) and isinstance(key, Column) and key.relation == alias:
            held, values = sets.get(key.name), frozenset(keys[place])
            sets[key.name] = values if held is None else frozenset(v for v in values if v in held)
    for name, held in (where.sets if where is not None else {}).items():
        sets[name] = frozenset(v for v in sets[name] if v in held) if name in sets else held
    return Restriction(sets, None, where.others if where is not None else frozenset())


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


def _released(body: _Body, statement: Statement, release: Release) -> Step:
    _, scalar = body.query.items[statement.keys + statement.outputs.index(release.output)]
    if statement.cells != isinstance(release, Chosen):
        raise ProofError(f"the output {release.output}", "is released by another kind of mechanism")
    series = not body.query.group and isinstance(scalar, Call) and scalar.function == "series"
    reach, why = _masked(body, statement, scalar) if series else _added(body, statement, scalar)
    match release:
        case Noised(_, claimed):
            moves = reach.moves(body.owner.adjacency, body.size)
            _compare(release.output, moves, claimed)
            says = f"moves by at most {moves.l1} in l1, {moves.linf} in one group"
        case Reached(_, claimed_reach):
            moves = reach.moves(body.owner.adjacency, body.size)
            _at_most(release.output, "l1", moves.l1, claimed_reach)
            says = f"cells move by at most {moves.l1} in l1"
        case Kept(_, groups):
            moves = reach.moves(body.owner.adjacency, body.size)
            _at_most(release.output, "one key", moves.linf, 1)
            _at_most(release.output, "the number of keys", moves.l0, groups)
            says = f"a person adds one to at most {moves.l0} keys"
        case Chosen():
            says = _chosen(body, statement, release, reach)
    return Step(f"output {release.output}", says, (why,))


def _chosen(body: _Body, statement: Statement, release: Chosen, reach: Reach) -> str:
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
    if derived is None or derived > claimed:  # type: ignore[operator]
        raise ProofError(
            f"the output {output}", f"moves further than claimed in {what}: {derived} > {claimed}"
        )


def _added(body: _Body, statement: Statement, scalar: Scalar) -> tuple[Reach, Step]:
    """An aggregate of groups.

    Rule.  Where the groups are exactly the key columns, each row is added to one group's integer, and that
    is a count of rows, of rows with a value, of different values, or a sum of integers w q: in every case a
    person moves a group by no more than the sum of w |q| over that person's rows in it.
    """
    keys = tuple(scalar for _, scalar in body.query.items[: statement.keys])
    if body.query.group != keys or not all(isinstance(key, Column) for key in keys):
        raise ProofError("the groups", "are not exactly the key columns")
    for key in keys:
        body.rows.value(key)
    match scalar:
        case Call("count_rows", ()):
            return _unweighted(body, 0, 1, "counts rows")
        case Call("count_values" | "count_distinct", (argument,)):
            evaluate(argument, body.rows.leaf)
            return _unweighted(body, 0, 1, "counts rows with a value, or different values of them")
        case Call("sum", (argument,)):
            return _summed(body, argument)
        case _:
            raise ProofError("an output", "is neither a count nor a sum of integers")


def _summed(body: _Body, scalar: Scalar) -> tuple[Reach, Step]:
    value = evaluate(scalar, body.rows.leaf)
    if value.kind is not Kind.WHOLE:
        raise ProofError("a sum", "does not add up integers")
    if max(abs(value.low), abs(value.high)) >= 2**78:
        raise ProofError("a sum", "may leave the integers of 128 bits")
    match scalar:
        case Case(((_, weight),), Literal(None)) if _is_weight(weight, body.rows):
            return _weighted(body, weight, 0, 1)
        case Call("multiply" | "multiply_long" | "multiply_wide", (factor, weight)) if _is_weight(
            weight, body.rows
        ):
            held = evaluate(factor, body.rows.leaf)
            return _weighted(body, weight, held.low, held.high)
        case _ if _is_weight(scalar, body.rows):
            return _weighted(body, scalar, 0, 1)
        case _:
            return _unweighted(body, value.low, value.high, f"adds integers from {value.low} to {value.high}")


def _is_weight(scalar: Scalar, rows: Relation) -> bool:
    match scalar:
        case Column():
            return isinstance(fact_of(scalar, rows), Share)
        case Call("coalesce", (heavy, light)):
            return isinstance(fact_of(heavy, rows), Heavy) and isinstance(fact_of(light, rows), Light)
        case _:
            return False


def _cell_rows(body: _Body) -> int | None:
    """How many rows of a person can lie in one group: one, where its columns are unique for a person."""
    single = any(names <= body.group for names in body.rows.unique)
    return 1 if single else body.rows.rows


def _groups(body: _Body) -> int | None:
    known = [bound for bound in (body.size, body.rows.rows) if bound is not None]
    return min(known, default=None)


def _unweighted(body: _Body, low: int, high: int, what: str) -> tuple[Reach, Step]:
    total, cell = body.rows.rows, _cell_rows(body)
    if total is None and cell == 1 and body.size is not None:
        # At most one row of a person in each group that leaves.
        total = body.size
    if total is None or cell is None:
        raise ProofError("an output", "adds up any number of rows of one person")
    if cell == 1 and body.size is not None:
        total = min(total, body.size)
    reach = Reach(total, min(cell, total), _groups(body), low, high)
    return reach, Step("rows of a person", f"{what}: at most {total} in all, {reach.cell} in one group")


def _weighted(body: _Body, weight: Scalar, low: int, high: int) -> tuple[Reach, Step]:
    if isinstance(weight, Call):
        return _dealt(body, weight, low, high)
    share = fact_of(weight, body.rows)
    if not isinstance(share, Share):
        raise ProofError("a weight", "is not one that the checker knows")
    _counted(body, share.part, share.where)
    value = evaluate(weight, body.rows.leaf)
    totals = [share.most] + ([] if body.rows.rows is None else [body.rows.rows * value.high])
    cells = _cell_rows(body)
    total = min(totals)
    cell = total if cells is None else min(total, cells * value.high)
    reach = Reach(total, cell, _groups(body), low, high)
    says = (
        f"n rows of {share.part} weigh at most {share.most} / n each, so {total} in all, {cell} in one group"
    )
    return reach, Step("shares", says)


def _counted(body: _Body, part: str, where: Restriction) -> None:
    """Refuse weights that count other rows than those that are added up.

    Rule.  The rows added up are different rows of the part (`embeds`), and all of them satisfy the condition
    under which the weight counted; so they are at most as many as were counted.
    """
    if part not in body.rows.embeds.values():
        raise ProofError("the weights", "count other rows than the sum adds up")
    if not implied(body.allowed, where, part, body.parts):
        raise ProofError("the weights", "leave out rows that the sum adds up")


def _dealt(body: _Body, weight: Call, low: int, high: int) -> tuple[Reach, Step]:
    """Weights that bound each group and the total.

    Theorem.  Let t >= max(m, sum over k of min(n_pk, c)), let a row weigh floor(A / t) in cells with
    n_pk <= c and floor(B / (t n_pk)) in the others, with B <= c A.  Cell k weighs at most min(n_pk, c) A / t,
    hence at most c A / m, and all cells at most A.  Needs: cells are groups or finer; the crowd contains
    every cell that leaves with more than c rows, and its rows do find their weight.
    """
    heavy, light = (fact_of(argument, body.rows) for argument in weight.arguments)
    if not isinstance(heavy, Heavy) or not isinstance(light, Light) or heavy.divisor != light.divisor:
        raise ProofError("the weights", "do not belong together")
    crowd = light.divisor.crowd
    alias = next((alias for alias, part in body.rows.embeds.items() if part == crowd.part), None)
    column = weight.arguments[0]
    if not isinstance(column, Column) or body.rows.met.get(column.relation or "") != crowd:
        raise ProofError("the weights", "do not reach the rows of crowded cells")
    if alias is None or not frozenset((alias, key) for key in crowd.keys) <= body.group:
        raise ProofError("the weights", "are for other groups")
    _counted(body, crowd.part, crowd.where)
    if not implied(body.allowed, crowd.shown, crowd.part, body.parts):
        raise ProofError("the weights", "leave out crowded cells")
    if not present(crowd.keys, body.allowed, body.parts[crowd.part]):
        raise ProofError("the weights", "do not reach cells without a key")
    if heavy.parts > crowd.allowed * light.parts:
        raise ProofError("the weights", "of crowded cells are too large")
    total, cell = light.parts, crowd.allowed * light.parts // light.divisor.total
    reach = Reach(total, min(cell, total), _groups(body), low, high)
    says = f"a person's weights sum to at most {total}, in one group to {reach.cell}"
    return reach, Step("shares per group", says)


def _masked(body: _Body, statement: Statement, scalar: Scalar) -> tuple[Reach, Step]:
    """Groups as bits.

    Theorem.  Let each person have one row with a mask and a weight w >= 0, and let output i sum w times the
    bit at place z_i of the mask, the z_i being different.  A person adds w for each of these bits that is
    set, so at most w b in all with b the bits set in the mask, and at most w to one output.  The keys of the
    outputs are constants; nothing else is grouped or filtered by group.
    """
    size = _series_keys(body, statement)
    sums = scalar.arguments if isinstance(scalar, Call) else ()
    if len(sums) != size or (body.size is not None and body.size < size) or body.keys is None:
        raise ProofError("groups as bits", "need one sum for each declared key")
    if body.rows.rows != 1:
        raise ProofError("groups as bits", "need one row for each person")
    first = _bit(sums[0])
    places = {_bit(part)[2] for part in sums}
    if any(_bit(part)[:2] != first[:2] for part in sums) or len(places) != size:
        raise ProofError("groups as bits", "must read different bits of one mask")
    weight, mask, _ = first
    for part in sums:
        evaluate(part.arguments[0], body.rows.leaf) if isinstance(part, Call) else None
    held, word = evaluate(weight, body.rows.leaf), evaluate(mask, body.rows.leaf)
    if held.kind is not Kind.WHOLE or held.low < 0:
        raise ProofError("groups as bits", "need weights that are not negative")
    bits = size if word.ones is None else min(size, word.ones)
    fact, total = fact_of(weight, body.rows), bits * held.high
    if isinstance(fact, BitShare) and isinstance(mask, Column) and fact.mask == mask.name:
        total = min(total, fact.most)
    reach = Reach(total, min(held.high, total), bits, 0, 1)
    return reach, Step(
        "bits of groups", f"a person's weights sum to at most {total}, in one group to {reach.cell}"
    )


def _series_keys(body: _Body, statement: Statement) -> int:
    keys = [scalar for _, scalar in body.query.items[: statement.keys]]
    columns: list[tuple[object, ...]] = []
    for key in keys:
        match key:
            case Call("series", parts) if all(isinstance(part, Literal) for part in parts):
                columns.append(tuple(part.value for part in parts if isinstance(part, Literal)))
            case _:
                raise ProofError("groups as bits", "have keys that are not constants")
    rows = list(zip(*columns, strict=True))
    if not rows or len(set(rows)) != len(rows):
        raise ProofError("groups as bits", "have keys that are not different")
    return len(rows)


def _bit(scalar: Scalar) -> tuple[Scalar, Scalar, int]:
    match scalar:
        case Call("sum", (Call("multiply", (weight, Call("bit_at", (mask, Literal(int(place)))))),)):
            return weight, mask, place
    raise ProofError("groups as bits", "must sum a weight times a bit")
