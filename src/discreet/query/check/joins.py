"""What joins and names leave unsaid, settled with the declarations: the plan afterwards says everything.

FROM a, b takes its conditions from WHERE; USING and NATURAL name columns that are equal; a subquery that a
condition asks becomes one grouped by what it is compared with; a name that is no column means the output
column of that name.  Nothing here decides about privacy: whatever comes out is checked like any other plan.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import is_
from typing import TypeAlias, assert_never

from discreet.errors import QueryError
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.stack import BOTH
from discreet.query.check.timed import timed
from discreet.query.check.wellformed import check_names
from discreet.query.name import HIDDEN, folded, same
from discreet.query.plan import (
    COMMA,
    NATURAL,
    STAR,
    USING,
    Block,
    Call,
    Column,
    Item,
    Join,
    Nested,
    Relation,
    Scalar,
    Scan,
    UnionAll,
    aggregates,
    change_asked,
    conjunction,
    conjuncts,
    rebuilt,
    walk,
)

Named: TypeAlias = tuple[str, str]
"""A column with the alias of its relation, both as they were written."""


def settled(block: Block, catalog: Catalog) -> Block:
    """Return a block in which every join has its condition and every name its meaning."""
    merged: dict[str, Column] = {}
    source = _relation(block.source, catalog, merged)
    if merged:
        block = _each(block, lambda scalar: _merged(scalar, merged))
    if not block.items and block.qualify is not None:
        # What ranks rows adds a column to them, which is nobody's.
        block = replace(block, items=(STARRED,))
    if any(item == STARRED for item in block.items):
        block = replace(block, items=tuple(_starred(block.items, visible(source, catalog))))
        check_names(block)
    names = [name for _, name in visible(source, catalog)]
    block = _each(block, lambda scalar: timed(scalar, names))
    source, where = _commas(source, block.where, catalog)
    return _unaliased(replace(block, source=source, where=where), catalog)


STARRED = Item(STAR, Column(None, STAR))


def _starred(items: Sequence[Item], known: Sequence[Named]) -> Iterator[Item]:
    """Yield the items, with all columns in place of the one that stands for them."""
    for item in items:
        if item != STARRED:
            yield item
            continue
        shown = [(alias, name) for alias, name in known if not alias.startswith(f"{HIDDEN}in")]
        if len({folded(name) for _, name in shown}) != len(shown):
            raise QueryError(
                "SELECT *", "two joined tables have a column of the same name", "list the columns you need"
            )
        yield from (Item(name, Column(alias, name)) for alias, name in shown)


def _each(block: Block, change: Callable[[Scalar], Scalar]) -> Block:
    """Return a block with every clause changed."""
    changed, where = change_asked(block, change), None if block.where is None else change(block.where)
    group = tuple(map(change, block.group))
    same = where is block.where and all(map(is_, group, block.group))
    return changed if same else replace(changed, where=where, group=group)


def _merged(scalar: Scalar, merged: dict[str, Column]) -> Scalar:
    def meant(part: Scalar) -> Scalar | None:
        return merged.get(folded(part.name)) if isinstance(part, Column) and part.relation is None else None

    return rebuilt(scalar, meant)


def visible(relation: Relation, catalog: Catalog) -> list[Named]:
    """Return the columns that a relation offers."""
    match relation:
        case Scan(path, alias):
            table = catalog.meant(path)
            names = [] if table is None else [column.name for column in table.columns]
            if table is not None and table.unit is not None and table.column(table.unit) is None:
                names.append(table.unit)
            return [(alias, name) for name in names]
        case Nested(block, alias):
            if block.items:
                return [(alias, item.name) for item in block.items]
            return [(alias, name) for _, name in visible(block.source, catalog)]
        case Join(left, right):
            return visible(left, catalog) + visible(right, catalog)
        case UnionAll(blocks, alias):
            return [(alias, name) for _, name in visible(Nested(blocks[0], alias), catalog)]
        case _:
            assert_never(relation)


def _relation(relation: Relation, catalog: Catalog, merged: dict[str, Column]) -> Relation:
    match relation:
        case Scan():
            return relation
        case Nested(block):
            return replace(relation, block=settled(block, catalog))
        case UnionAll(blocks):
            return replace(relation, blocks=tuple(settled(block, catalog) for block in blocks))
        case Join(left, Nested() as asked, Call("exists", arguments)):
            return _asked(_relation(left, catalog, merged), asked, arguments, catalog)
        case Join(left, right, on):
            left, right = _relation(left, catalog, merged), _relation(right, catalog, merged)
            on = _condition(left, right, on, catalog, merged, full=relation.full)
            names = [name for side in (left, right) for _, name in visible(side, catalog)]
            return replace(relation, left=left, right=right, on=timed(on, names))
        case _:
            assert_never(relation)


def _condition(
    left: Relation, right: Relation, on: Scalar, catalog: Catalog, merged: dict[str, Column], *, full: bool
) -> Scalar:
    """Return the condition of a join, with the columns that USING and NATURAL make equal."""
    if not (isinstance(on, Call) and on.function in (USING, NATURAL)):
        return on
    ours, theirs = visible(left, catalog), visible(right, catalog)
    names = [str(part.value) for part in on.arguments] if on.function == USING else _shared(ours, theirs)  # type: ignore[union-attr]
    if not names:
        raise QueryError(
            "NATURAL JOIN", "the tables have no column of the same name", "say ON a.person = b.person"
        )
    pairs: list[Scalar] = []
    for name in names:
        one, other = (_of(name, side, on.function.upper()) for side in (ours, theirs))
        merged.setdefault(folded(name), Column(BOTH, name) if full else one)
        pairs.append(Call("eq", (one, other)))
    condition = pairs[0]
    for pair in pairs[1:]:
        condition = Call("and", (condition, pair))
    return condition


def _shared(ours: Sequence[Named], theirs: Sequence[Named]) -> list[str]:
    known = {folded(name) for _, name in theirs}
    return list(dict.fromkeys(name for _, name in ours if folded(name) in known))


def _of(name: str, side: Sequence[Named], clause: str) -> Column:
    found = [Column(alias, own) for alias, own in side if same(own, name)]
    if not found:
        raise QueryError(f"{clause} {name}", "is not a column of both sides", "say ON a.x = b.y")
    return found[0]


def _asked(left: Relation, asked: Nested, arguments: Sequence[Scalar], catalog: Catalog) -> Join:
    """Return the left join that a subquery inside a condition stands for.

    The rows of the subquery are grouped by its column, and by everything that its condition equates with
    something outside, so that a row outside meets at most one of them.
    """
    block = asked.block
    inside = visible(block.source, catalog)
    keys = list(zip((item.scalar for item in block.items), arguments, strict=True))
    kept: list[Scalar] = []
    for part in conjuncts(block.where):
        if all(_within(column, inside) for column in _columns(part)):
            kept.append(part)
            continue
        pair = _pair(part, inside)
        if pair is None or (block.group and not arguments):
            raise QueryError(
                "a subquery inside a condition",
                "is tied to the outer rows by something other than equal columns",
                "write inner.x = outer.y, joined by AND",
            )
        keys.append(pair)
    if not keys:
        raise QueryError(
            "EXISTS", "says nothing about the outer row", "tie them: WHERE inner.person = outer.person"
        )
    group = tuple(dict.fromkeys(key for key, _ in keys))
    items = tuple(Item(f"k{number}", key) for number, (key, _) in enumerate(keys))
    inner = settled(replace(block, items=items, group=group, where=conjunction(tuple(kept))), catalog)
    pairs = tuple(
        Call("eq", (outside, Column(asked.alias, item.name)))
        for (_, outside), item in zip(keys, items, strict=True)
    )
    condition = conjunction(pairs)
    return Join(left, replace(asked, block=inner), COMMA if condition is None else condition, outer=True)


def _pair(part: Scalar, inside: Sequence[Named]) -> tuple[Scalar, Scalar] | None:
    """Return the inner and the outer side of an equation between the two."""
    match part:
        case Call("eq", (one, other)):
            for inner, outer in ((one, other), (other, one)):
                here, there = _columns(inner), _columns(outer)
                if here and there and all(_within(column, inside) for column in here):
                    return None if any(_within(column, inside) for column in there) else (inner, outer)
    return None


def _columns(scalar: Scalar) -> list[Column]:
    return [part for part in walk(scalar) if isinstance(part, Column)]


def _within(column: Column, side: Sequence[Named]) -> bool:
    return any(
        same(name, column.name) and (column.relation is None or same(alias, column.relation))
        for alias, name in side
    )


def _commas(source: Relation, where: Scalar | None, catalog: Catalog) -> tuple[Relation, Scalar | None]:
    """Return the rows of FROM a, b with the conditions of WHERE that tie them together, and the others."""
    leaves = _leaves(source)
    if not any(on == COMMA and not outer for _, on, outer in leaves[1:]):
        return source, where
    if _has_full(source):
        raise QueryError("FULL JOIN", "beside FROM a, b has no place of its own", "write JOIN ... ON for all")
    names = [visible(leaf, catalog) for leaf, _, _ in leaves]
    ties: list[tuple[frozenset[int], Scalar]] = []
    rest: list[Scalar] = []
    for part in conjuncts(where):
        touched = None if aggregates(part) else _touched(part, names)
        if touched is not None and len(touched) > 1:
            ties.append((touched, part))
        else:
            rest.append(part)
    if not any(outer for _, _, outer in leaves):
        for place, (_, on, _) in enumerate(leaves[1:], 1):
            for part in conjuncts(on) if on != COMMA else ():
                touched = _touched(part, names)
                ties.append((frozenset((place,)) if touched is None else touched | {place}, part))
        order = _order(len(leaves), ties)
        leaves = [(leaves[place][0], COMMA, False) for place in order]
    else:
        order = list(range(len(leaves)))
    joined, unused = _rejoined(leaves, order, ties)
    return joined, conjunction((*rest, *unused))


def _has_full(source: Relation) -> bool:
    return isinstance(source, Join) and (source.full or _has_full(source.left) or _has_full(source.right))


def _leaves(source: Relation) -> list[tuple[Relation, Scalar, bool]]:
    """Return the relations that are joined one after the other, each with its condition."""
    if isinstance(source, Join):
        return [*_leaves(source.left), (source.right, source.on, source.outer)]
    return [(source, COMMA, False)]


def _touched(part: Scalar, names: Sequence[Sequence[Named]]) -> frozenset[int] | None:
    """Return the relations whose columns a condition reads, or None where that is not clear."""
    found: set[int] = set()
    for column in _columns(part):
        places = [place for place, side in enumerate(names) if _within(column, side)]
        if len(places) != 1:
            return None
        found.update(places)
    return frozenset(found)


def _order(count: int, ties: Sequence[tuple[frozenset[int], Scalar]]) -> list[int]:
    """Return an order in which every relation is tied to one before it, as far as there is one."""
    order, left = [0], list(range(1, count))
    while left:
        tied = (
            place
            for place in left
            if any(place in t and t <= {*order, place} and len(t) > 1 for t, _ in ties)
        )
        chosen = next(tied, left[0])
        left.remove(chosen)
        order.append(chosen)
    return order


def _rejoined(
    leaves: Sequence[tuple[Relation, Scalar, bool]],
    order: Sequence[int],
    ties: Sequence[tuple[frozenset[int], Scalar]],
) -> tuple[Relation, tuple[Scalar, ...]]:
    """Return the relations joined one after the other, each on the conditions that it completes."""
    source, seen, left = leaves[0][0], {order[0]}, list(ties)
    for (leaf, on, outer), place in zip(leaves[1:], order[1:], strict=True):
        seen.add(place)
        if on == COMMA and not outer:
            found = [tie for tie in left if tie[0] <= seen]
            left = [tie for tie in left if tie not in found]
            on = conjunction(tuple(part for _, part in found)) or COMMA
        source = Join(source, leaf, on, outer)
    # What ties a relation of an outer join to the others is asked after it.
    return source, tuple(part for _, part in left)


def _unaliased(block: Block, catalog: Catalog) -> Block:
    """Return a block whose clauses have columns, or windows, in place of output names that are no columns."""
    known = visible(block.source, catalog)
    outputs = {folded(item.name): item.scalar for item in block.items if not aggregates(item.scalar)}

    def meant(part: Scalar) -> Scalar | None:
        if isinstance(part, Column) and part.relation is None and not _within(part, known):
            return outputs.get(folded(part.name))
        return None

    group = tuple(rebuilt(term, meant) for term in block.group)
    where = None if block.where is None else rebuilt(block.where, meant)
    qualify = None if block.qualify is None else rebuilt(block.qualify, meant)
    same = where is block.where and qualify is block.qualify and all(map(is_, group, block.group))
    return block if same else replace(block, group=group, where=where, qualify=qualify)
