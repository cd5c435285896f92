"""From a plan to a checked question: what to measure, how far one person moves it, what to make of it.

Everything here is a function of the question and the declarations; the data is never looked at, so a
refusal reveals nothing.
"""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeGuard

from discreet.errors import QueryError
from discreet.exact.number import flag
from discreet.query.catalog import manifest as declared
from discreet.query.catalog.kind import Day, Moment, Nothing, Opaque, Real, domain, word
from discreet.query.check import distribution, function
from discreet.query.check.aggregate import Measuring
from discreet.query.check.assembling import assembled
from discreet.query.check.averaged import averaged
from discreet.query.check.capping import capped
from discreet.query.check.entropy import informed
from discreet.query.check.formula import Constant, Formula, Key, NoisyTerm, Operation
from discreet.query.check.grid import on_grid
from discreet.query.check.implied import implied
from discreet.query.check.joins import settled
from discreet.query.check.lifting import aggregating, lifted
from discreet.query.check.limits import Bounding
from discreet.query.check.lineage import trace
from discreet.query.check.measurement import (
    Checked,
    Declared,
    Joint,
    KeyColumn,
    Keys,
    Measurement,
    ModeChoice,
    Ordering,
    Output,
    Private,
    RunningGroups,
    Sets,
    Sort,
)
from discreet.query.check.option import Options, options
from discreet.query.check.ranking import narrowed
from discreet.query.check.reading import Reading
from discreet.query.check.released import NUMBER, Kinds, kind_of, kind_word
from discreet.query.check.scope import Lineage, condition, names, resolve
from discreet.query.check.share import bounded_shares
from discreet.query.check.summary import summarised
from discreet.query.check.tables import cells
from discreet.query.check.tables import tables as tables_of
from discreet.query.check.wellformed import require_wellformed, require_whole
from discreet.query.check.within import left, within
from discreet.query.name import folded
from discreet.query.plan import (
    Aggregate,
    Block,
    Call,
    Item,
    Scalar,
    aggregates,
    aggregates_of,
    asked_of,
    given,
    has_window,
)

GROUP_LIMIT = 200_000
SUBSET_LIMIT = 1_024
RUNNING_LIMIT = 1_024


@dataclass(frozen=True, slots=True)
class Limits:
    """A question's own contribution limits; each can only tighten what the table declares.

    With `rows_at_most`, a number of rows that nobody is assumed to exceed, the people above the limit are
    counted too, privately, and intervals allow for what the limit takes away.  With `weighted_keys`, keys
    that are found in the data are found by weights that fall with the number of a person's groups.
    """

    rows_per_unit: int | None = None
    groups_per_unit: int | None = None
    rows_per_group: int | None = None
    rows_at_most: int | None = None
    weighted_keys: bool = False


def check(
    block: Block, catalog: declared.Catalog, limits: Limits | None = None, *, batched: bool = False
) -> Checked:
    """Return the checked question, or refuse with the clause, the reason and a way out.

    A question of a batch is measured with others, so all of them count rows alike.
    """
    require_wellformed(block, catalog)
    own, settled_block = options(block.privacy), settled(block, catalog)

    def one(part: Block) -> Checked:
        return _one(part, catalog, limits or Limits(), own, batched=batched)

    found = assembled(settled_block, catalog, one)
    return replace(one(settled_block) if found is None else found, asks=own.price)


def _one(block: Block, catalog: declared.Catalog, limits: Limits, own: Options, *, batched: bool) -> Checked:
    """Return a question about rows of people, all of whose names and joins are settled."""
    block = summarised(informed(block), catalog)
    require_whole(block)
    block = _keyed(lifted(block))
    scope = trace(block.source, catalog, names())
    own.require_unit(scope)
    bounded = bounded_shares(block, scope)
    if bounded is not block:
        block, scope = bounded, trace(bounded.source, catalog, names())
    if not scope.private:
        raise QueryError("FROM", "only public tables are named, which need no privacy", "query them directly")
    scope = replace(
        scope,
        sole=scope.rows == 1,
        rows=_tighter(_tighter(scope.rows, limits.rows_per_unit), own.rows),
        groups=_tighter(_tighter(scope.groups, limits.groups_per_unit), own.groups),
        per_group=_tighter(scope.per_group, limits.rows_per_group),
    )
    block = on_grid(implied(block, scope), scope)
    if not block.items:
        raise QueryError("SELECT *", "a private row cannot be released", "list aggregates such as COUNT(*)")
    if not block.group and not any(aggregates(scalar) for scalar in asked_of(block)):
        if any(has_window(scalar) for scalar in asked_of(block)):
            raise QueryError(
                "a window function",
                "over rows of people lets one row see other people's rows",
                "use it over aggregates: SUM(COUNT(*)) OVER (ORDER BY ward)",
            )
        raise QueryError(
            "SELECT", "asks for rows of people", "ask for aggregates, such as COUNT(*) or AVG(x)"
        )
    most = _said_once(limits.rows_at_most, own.most)
    if most is not None and batched:
        raise QueryError("rows_at_most", "is for a question by itself", "leave it out of the batch")
    weighted = own.finds_by_weights(flag(limits.weighted_keys, "weighted_keys"))
    found = _question(scope, block, most, batched=batched, weighted=weighted)
    own.require_known(found.keys)
    return found


def _said_once(one: int | None, other: int | None) -> int | None:
    if one is not None and other is not None and one != other:
        raise QueryError("rows_at_most", "is another one than in OPTIONS", "say it in one place")
    return other if one is None else one


def _keyed(block: Block) -> Block:
    """Return SELECT DISTINCT of columns as what it asks for: the groups that there are."""
    if not block.distinct or not block.items or aggregating(block):
        return block
    return replace(block, group=tuple(dict.fromkeys(item.scalar for item in block.items)), distinct=False)


def _tighter(declared_limit: int | None, own: int | None) -> int | None:
    if own is None:
        return declared_limit
    if type(own) is not int:
        raise QueryError("contribution limits", "must be whole numbers", "write Limits(rows_per_unit=2)")
    if own < 1 or (declared_limit is not None and own > declared_limit):
        raise QueryError(
            "contribution limits",
            "can only be lowered by a question, to 1 at least",
            "ask the curator to raise them",
        )
    return own


def _keys(scope: Lineage, block: Block, kept: Scalar | None) -> tuple[KeyColumn, ...]:
    """Return the group keys, each with the values that it can have in rows that a condition keeps."""
    if not block.group:
        return ()
    columns, narrow = [], within(scope, kept)
    for position, term in enumerate(block.group):
        if aggregates(term):
            raise QueryError("GROUP BY", "cannot contain an aggregate", "group by columns")
        typed = function.settle(resolve(term, scope, "GROUP BY"))
        if scope.personal(typed.scalar):
            raise QueryError(
                "GROUP BY", "one group per person would release people", "group by something they share"
            )
        if isinstance(typed.kind, Real | Moment | Opaque | Nothing):
            raise QueryError(
                "GROUP BY",
                f"{word(typed.kind)} values are too fine to be group keys",
                "use FLOOR(x), a CASE with ranges, or DATE_TRUNC('month', d)",
            )
        name = next((item.name for item in block.items if item.scalar == term), f"key{position + 1}")
        values = domain(
            typed.kind if kept is None else function.settle(resolve(term, narrow, "GROUP BY")).kind
        )
        values = left(typed.scalar, values, kept)
        columns.append(KeyColumn(name, typed.scalar, values, isinstance(typed.kind, Day)))
    return tuple(columns)


def _question(scope: Lineage, block: Block, most: int | None, *, batched: bool, weighted: bool) -> Checked:
    where = None if block.where is None else condition(block.where, scope, "WHERE")
    scope = narrowed(scope, where)
    block = averaged(block, scope)
    # Questions of a batch share their cells, so there a condition says nothing about keys.
    columns = _keys(scope, block, None if batched else where)
    asked = aggregates_of(block)
    spread = _distribution(block, asked)
    if (spread is not None and spread.function != "histogram") or block.sets is not None:
        # Limits per group are for groups that do not overlap; the total limits these.
        scope = replace(scope, groups=None, per_group=None)
    bounding = Bounding(scope, None)
    # Rows and people lose differently by a limit, so one does not stand for the other where that is asked.
    alone = not (columns or batched or block.sets is not None or spread is not None or most is not None)
    measuring = Measuring(bounding, asked, alone, where, weighted=weighted)
    if spread is not None:
        columns = (*columns, measuring.cells(spread, len(columns)))
    if all(column.values is not None for column in columns):
        measuring.bounding = bounding = Bounding(scope, Declared(columns).size)
    shown = {} if spread is None else _labels(spread, columns, block)
    reading = Reading(scope, block, columns, measuring, shown)
    outputs = _outputs(block, reading, spread)
    having = None if block.having is None else reading.formula(block.having, "HAVING")
    qualify = None if block.qualify is None else reading.formula(block.qualify, "QUALIFY")
    order = tuple(
        Ordering(reading.formula(term.scalar, "ORDER BY"), term.descending, term.nulls_first)
        for term in block.order
    )
    kinds = _kinds(scope, block, measuring)
    outputs = tuple(kinds.shown(one) for one in outputs)
    order = tuple(replace(one, formula=kinds.sound(one.formula, "ORDER BY")) for one in order)
    having = None if having is None else kinds.condition(having, "HAVING")
    qualify = None if qualify is None else kinds.condition(qualify, "QUALIFY")
    if columns and not measuring.found and all(column.values is not None for column in columns):
        having = _occupied(measuring, having)
    keys = _groups(block, columns, measuring, spread)
    if not measuring.found:
        raise QueryError(
            "SELECT", "asks for nothing that depends on the data", "add an aggregate such as COUNT(*)"
        )
    sorts = {measured.sort for measured in measuring.found if isinstance(measured, Measurement)}
    weighed = sorts & {Sort.ROWS, Sort.SUM} or len(sorts) == 0
    weighed = weighed or any(not isinstance(measured, Measurement) for measured in measuring.found)
    found = Checked(
        keys=keys,
        measurements=tuple(measuring.found),
        columns=outputs,
        having=having,
        order=order,
        limit=block.limit,
        distinct=block.distinct,
        rows=bounding.rows(where, people=bool(sorts & {Sort.PEOPLE, Sort.KEY_WEIGHTS})),
        contribution=bounding.sums() if weighed else None,
        tables=scope.tables,
        notes=tuple(dict.fromkeys(measuring.notes)),
        offset=block.offset,
        qualify=qualify,
    )
    return found if most is None else capped(found, bounding, most)


def _kinds(scope: Lineage, block: Block, measuring: Measuring) -> Kinds:
    """Return the kinds of what a question releases."""
    keys = [kind_word(function.settle(resolve(term, scope, "GROUP BY")).kind) for term in block.group]
    measured = [
        kind_of(next(iter(one.values), None)) if isinstance(one, ModeChoice) else NUMBER
        for one in measuring.found
    ]
    # A distribution has one key more, the number of a cell.
    return Kinds((*keys, NUMBER), measured)


def _occupied(measuring: Measuring, having: Formula | None) -> Formula:
    """Return the condition on which declared keys are listed that nothing else is asked about."""
    measuring.notes.append("a group is listed if its noisy number of people is above zero")
    there = Operation("gt", (NoisyTerm(measuring.people()), Constant(0)))
    return there if having is None else Operation("and", (there, having))


def _distribution(block: Block, asked: tuple[Aggregate, ...]) -> Aggregate | None:
    """Return the question's CDF, HISTOGRAM or QUANTILES, which must be its only aggregate."""
    found = [item.scalar for item in block.items if _spreads(item.scalar)]
    hidden = [part for part in asked if _spreads(part) and part not in found]
    if hidden:
        raise QueryError(
            hidden[0].function.upper(),
            "has many values, so nothing can be computed from it here",
            "select it as a column of its own",
        )
    if not found:
        return None
    only = found[0]
    if any(part != only for part in asked) or len(found) > 1 or block.sets is not None:
        raise QueryError(
            only.function.upper(),
            "has a row for each of its values, so it stands alone among aggregates",
            "ask for the others in a question of their own, or in one batch",
        )
    return only


def _spreads(scalar: Scalar) -> TypeGuard[Aggregate]:
    return isinstance(scalar, Aggregate) and scalar.function in distribution.KINDS


def _labels(spread: Aggregate, columns: tuple[KeyColumn, ...], block: Block) -> dict[str, Formula]:
    """Return the columns that say which value of a distribution a row is about."""
    name, (low, high) = columns[-1].name, given(columns[-1].ends)
    match spread.function:
        case "histogram":
            labels = {f"{name}_from": low, f"{name}_to": high}
        case "cdf":
            labels = {name: high}
        case _:
            labels = {"level": Key(len(columns) - 1)}
    taken = {folded(item.name) for item in block.items}

    def free(name: str) -> str:
        return name if folded(name) not in taken else free(f"{name}_cell")

    return {free(name): label for name, label in labels.items()}


def _outputs(block: Block, reading: Reading, spread: Aggregate | None) -> tuple[Output, ...]:
    found: list[Output] = []
    for item in block.items:
        if spread is not None and item.scalar == spread:
            found += [Output(name, label) for name, label in reading.labels.items()]
        found.append(_output(item, reading))
    return tuple(found)


def _output(item: Item, reading: Reading) -> Output:
    """Return an output column: a value, or an end of its interval."""
    match item.scalar:
        case Call("interval_low" | "interval_high" as end, (argument,)):
            return Output(item.name, reading.formula(argument, "SELECT"), end.removeprefix("interval_"))
        case scalar:
            return Output(item.name, reading.formula(scalar, "SELECT"))


def _groups(
    block: Block,
    columns: tuple[KeyColumn, ...],
    measuring: Measuring,
    spread: Aggregate | None,
) -> Keys:
    """Return the groups of a question, refusing overlapping ones that cannot be measured together."""
    unknown = [column for column in columns if column.values is None]
    running = spread is not None and spread.function != "histogram"
    if not running and block.sets is None:
        keys: Keys = Private(columns, measuring.selector()) if unknown else Declared(columns)
        return _sized(keys) if isinstance(keys, Declared) else keys
    clause = "GROUP BY" if spread is None else spread.function.upper()
    if unknown:
        raise QueryError(
            f"{clause}, {unknown[0].name}",
            "groups that overlap cannot be found in the data",
            f"declare values for {unknown[0].name} in the manifest",
        )
    for measured in measuring.found:
        linear = isinstance(measured, Measurement) and measured.sort in (Sort.ROWS, Sort.SUM)
        if not linear and not (
            isinstance(measured, Measurement)
            and measured.sort is Sort.PEOPLE
            and measuring.bounding.scope.bound == 1
        ):
            raise QueryError(
                f"{clause}, {measured.name}",
                "does not add up over groups that overlap",
                "use COUNT(*), SUM or AVG there, and ask for the rest without CUBE, ROLLUP or GROUPING SETS",
            )
    if spread is not None:
        return _sized(RunningGroups(columns, spread.levels))
    return _sized(Sets(columns, given(block.sets)))


def _sized(keys: Declared | Joint) -> Keys:
    """Return groups that are not too many to be written down."""
    tables = () if isinstance(keys, Declared) else tables_of(keys)
    sizes = [cells(keys, chosen).size for chosen in tables if not isinstance(keys, Declared)]
    if max(keys.size, *sizes, 0) > GROUP_LIMIT:
        raise QueryError(
            "GROUP BY", f"has more than {GROUP_LIMIT} declared groups", "group by fewer or coarser columns"
        )
    if isinstance(keys, Sets) and not _few_subsets(tables):
        raise QueryError(
            "GROUP BY",
            f"has sets of columns with more than {SUBSET_LIMIT} subsets, all of which are planned for",
            "list smaller sets in GROUPING SETS (...)",
        )
    if isinstance(keys, RunningGroups) and Declared(keys.columns[:-1]).size > RUNNING_LIMIT:
        raise QueryError(
            "GROUP BY",
            f"has more than {RUNNING_LIMIT} groups with a distribution each",
            "group by fewer or coarser columns",
        )
    return keys


def _few_subsets(tables: tuple[tuple[int, ...], ...]) -> bool:
    """Whether the sets of columns have few subsets, counting each once."""
    if any(2 ** len(chosen) > SUBSET_LIMIT for chosen in tables):
        return False
    found: set[tuple[int, ...]] = set()
    for chosen in tables:
        found.update(subset for size in range(len(chosen) + 1) for subset in combinations(chosen, size))
        if len(found) > SUBSET_LIMIT:
            return False
    return True
