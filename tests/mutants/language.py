"""Faults in how other dialects are read and in what is computed from released values."""

from tests.mutants.fault import Fault

SPELLING = ("tests/query/test_spelling.py",)
AFTER = ("tests/query/test_afterwards.py",)
VENDOR = ("tests/query/test_vendor.py",)
CORPUS = ("tests/query/test_corpus.py",)

KEYS = ("tests/query/test_units_through_keys.py",)
RANKS = ("tests/query/test_ranking.py",)
FORMATS = ("tests/query/test_formats.py",)
UNIONS = ("tests/query/test_union.py",)
WINDOWS = ("tests/query/test_series.py",)

DIALECTS = ("tests/query/test_dialects.py",)
FACES = ("tests/query/test_frame.py",)
ASSUMED = ("tests/query/test_assumed.py",)
IBIS = ("tests/query/test_ibis.py",)
HOSTILE = ("tests/attacks/test_sql_hostile.py",)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "query/language/dialect.py",
        "value, base = parts if manner.base_last else parts[::-1]",
        "value, base = parts",
        DIALECTS,
        "a logarithm is taken of its base",
    ),
    Fault(
        "query/language/dialect.py",
        "    if kind is TokenType.DPIPE and not manner.pipes:",
        "    if kind is TokenType.DPIPE and manner.pipes and not manner.words:",
        DIALECTS,
        "an OR is read as joined texts",
    ),
    Fault(
        "query/language/dialect.py",
        'if comment.startswith("!"):',
        'if comment.startswith("!!"):',
        HOSTILE,
        "what a server would run is taken for a comment",
    ),
    Fault(
        "query/language/dialect.py",
        "    if not manner.whole or not isinstance(node, exp.Div)",
        "    if manner.whole or not isinstance(node, exp.Div)",
        DIALECTS,
        "whole numbers are divided with decimals where the dialect has none",
    ),
    Fault(
        "query/language/dialect.py",
        "return exp.Paren(this=exp.Add(this=plain, expression=exp.Literal.number(manner.sunday)))",
        "return plain",
        DIALECTS,
        "days of the week are numbered from another day",
    ),
    Fault(
        "query/language/semi.py",
        'return exp.Not(this=found) if kind == "ANTI" else found',
        "return found",
        CORPUS,
        "an anti-join keeps the rows that it should leave out",
    ),
    Fault(
        "query/language/flat.py",
        "where=conjunction(filters),",
        "where=maybe(block.where),",
        IBIS,
        "a filter of a subquery is lost",
    ),
    Fault(
        "query/language/frame/relation.py",
        "replace(order, descending=not order.descending)",
        "order",
        FACES,
        "the last rows of a person are the first",
    ),
    Fault(
        "query/language/written.py",
        'words = [self.text(order.scalar), *(["DESC"] if order.descending else [])]',
        "words = [self.text(order.scalar)]",
        FACES,
        "a question is shown in another order",
    ),
    Fault(
        "query/price/assumed.py",
        "laws, beta) * ROUNDED) / count",
        "laws, beta) * ROUNDED) / (2 * count)",
        ASSUMED,
        "a mean is promised to be closer than it may be",
    ),
    Fault(
        "query/price/assumed.py",
        "(1.0, 0.25 + top, 1.0)",
        "(0.1, 0.025, 0.1)",
        ASSUMED,
        "a variance is promised to be closer than it may be",
    ),
    Fault(
        "query/language/bounded.py",
        "inside = [*head, *value, comma, *ends[0], comma, *ends[1], close]",
        "inside = [*head, *value, comma, *ends[0], comma, *ends[0], close]",
        CORPUS,
        "a vendor's bounds are read with one end twice",
    ),
    Fault(
        "query/check/stack.py",
        "return sum(known) if len(known) == len(limits) else None",
        "return max(known) if len(known) == len(limits) else None",
        UNIONS,
        "the limits of a union are those of its largest part",
    ),
    Fault(
        "query/proof/stack.py",
        "rows = None if None in limits else sum(limit or 0 for limit in limits)",
        "rows = None if None in limits else max(limit or 0 for limit in limits)",
        UNIONS,
        "the checker lets a person have the rows of the largest part of a union only",
    ),
    Fault(
        "query/proof/stack.py",
        "if len(owners) != len(parts):",
        "if not owners:",
        UNIONS,
        "public rows among people's have no person, and are counted",
    ),
    Fault(
        "query/check/stack.py",
        "Pile(alone.source, (*columns, *(other for _, _, other in extra)), alone.unit, nobody),",
        "Pile(alone.source, (*columns, *(other for _, _, other in extra)), alone.unit),",
        UNIONS,
        "a full join repeats the rows that met somebody",
    ),
    Fault(
        "query/proof/series.py",
        "if not partition & owner.people:",
        "if not partition:",
        WINDOWS,
        "the checker lets a window see other people's rows",
    ),
    Fault(
        "query/proof/series.py",
        "if not _decided(window) and not any(unique <= partition | order for unique in source.unique):",
        "if not _decided(window) and not order:",
        WINDOWS,
        "the checker lets a tie decide a window",
    ),
    Fault(
        "query/check/series.py",
        "window = replace(window, order=(*window.order, Order(Column(None, PLACE))))",
        "window = replace(window, order=window.order)",
        WINDOWS,
        "ties of a window are not broken",
    ),
    Fault(
        "engines/reference/window.py",
        "return range(len(keys) - keys[::-1].index(keys[place]))",
        "return range(place + 1)",
        WINDOWS,
        "a range ends before rows that are equal in the order",
    ),
    Fault(
        "query/check/people.py",
        'source = replace(source, on=Call("and", (source.on, people)))',
        "source = replace(source, on=source.on)",
        KEYS,
        "a join along a key that several people hold mixes them",
    ),
    Fault(
        "query/check/people.py",
        "node == other and frozenset((one, two)) in equated",
        "frozenset((one, two)) in equated",
        KEYS,
        "keys of different tables are taken for one",
    ),
    Fault(
        "query/check/ranking.py",
        "return key in inner.units and not any(term.nulls_first for term in window.order)",
        "return not any(term.nulls_first for term in window.order)",
        RANKS,
        "rows are numbered among other people's",
    ),
    Fault(
        "query/check/lineage.py",
        "ranks=person.ranks if once else (),",
        "ranks=person.ranks,",
        RANKS,
        "a first row that meets many public rows is still one",
    ),
    Fault(
        "query/language/regular.py",
        'return f"!{character}" if character in "%_!" else character',
        "return character",
        FORMATS,
        "a percent sign in a regular expression is any text",
    ),
    Fault(
        "query/language/expression.py",
        'return Call("not", (found,)) if parts.get("negate") else found',
        "return found",
        SPELLING,
        "NOT LIKE is read as LIKE",
    ),
    Fault(
        "query/language/expression.py",
        'both = condition if inner.where is None else Call("and", (inner.where, condition))',
        "both = condition",
        SPELLING,
        "FILTER replaces the condition of COUNT_IF",
    ),
    Fault(
        "query/language/date.py",
        "(Literal(unit), other, one) if last else",
        "(Literal(unit), one, other) if last else",
        CORPUS,
        "a difference whose unit stands last has the wrong sign",
    ),
    Fault(
        "query/language/inside.py",
        "exp.Case(ifs=[exp.If(this=missing, true=exp.Null())], default=met)",
        "exp.Paren(this=met)",
        SPELLING,
        "NULL is outside of every list",
    ),
    Fault(
        "query/check/joins.py",
        "items=items, group=group, where=",
        "items=items, where=",
        SPELLING,
        "a row is counted once for each time it is in a list",
    ),
    Fault(
        "query/check/joins.py",
        "if touched is not None and len(touched) > 1:",
        "if touched is not None and len(touched) > 2:",
        CORPUS,
        "FROM a, b finds none of its conditions",
    ),
    Fault(
        "query/check/function/number.py",
        "    if left.kind.low >= 0:\n        return down\n",
        "    return down\n",
        SPELLING,
        "a quotient of negative numbers is rounded down",
    ),
    Fault(
        "query/language/parameter.py",
        "if unused is not None:",
        "if False:",
        SPELLING,
        "a value that is not used is ignored",
    ),
    Fault(
        "query/check/option.py",
        "if not any(same(self.unit, name) for name in people):",
        "if not people:",
        VENDOR,
        "any column may be called the person",
    ),
    Fault(
        "query/check/question.py",
        "rows=_tighter(_tighter(scope.rows, limits.rows_per_unit), own.rows),",
        "rows=_tighter(scope.rows, limits.rows_per_unit),",
        VENDOR,
        "a limit in the text is ignored",
    ),
    Fault(
        "release/pricing.py",
        "if other is not None or (given is not None and rational(given, name) != said):",
        "if other is not None:",
        VENDOR,
        "the price in the text overrides the one that was given",
    ),
    Fault(
        "query/check/question.py",
        "before, after = ((), (where,)) if ranked else ((where,), ())",
        "before, after = (where,), ()",
        AFTER,
        "a filter above windows is applied before them",
    ),
    Fault(
        "query/check/released.py",
        "    if len(known) > 1:\n",
        "    if len(known) > 9:\n",
        AFTER,
        "a text is compared with a number after the price is paid",
    ),
    Fault(
        "release/window.py",
        'last + 1 if kind == "range" else',
        'place + 1 if kind == "range" else',
        AFTER,
        "rows that tie are left out of a running total",
    ),
    Fault(
        "query/check/function/text.py",
        "text, longest = short(text), LONGEST",
        "longest = LONGEST",
        ("tests/query/test_growing_text.py",),
        "a text grows eightfold again and again",
    ),
    Fault(
        "query/proof/word.py",
        "old and len(new) <= 8 and _short(scalars[0])",
        "old and len(new) <= 8",
        ("tests/query/test_growing_text.py",),
        "the checker lets any text grow",
    ),
    Fault(
        "query/proof/stack.py",
        "if owners[0].united and (None in told or len(told) != 1):",
        "if None in told:",
        ("tests/query/test_union.py",),
        "the checker unites people who are spelt differently",
    ),
    Fault(
        "query/check/lineage.py",
        "    if len(found) > 1:\n        raise QueryError(\n            clause,",
        "    if len(found) > 9:\n        raise QueryError(\n            clause,",
        ("tests/query/test_union.py",),
        "a person who is spelt differently in two tables counts as two",
    ),
)
