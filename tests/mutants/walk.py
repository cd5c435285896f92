"""Faults along the walk of a question, which the checker of statements must refuse before anything is paid.

Each lets some question claim less than one person moves, or reads other rows than the claim is about.  The
first test fails because the checker refuses; the other must still pass, because no question that the
checker accepts may be broken by a neighbour.
"""

from tests.mutants.fault import Fault

GATE = "tests/query/gate/test_walk.py"
REFUSED = (f"{GATE}::test_the_checker_refuses_no_question_of_the_gate",)
KEPT = (f"{GATE}::test_what_the_checker_accepts_no_neighbour_breaks",)


def walked(module: str, old: str, new: str, why: str) -> Fault:
    return Fault(f"query/{module}.py", old, new, REFUSED, why, KEPT)


CLAIMS = (
    walked(
        "check/contribution",
        "                Fraction(limits.total * reach),\n"
        "                Fraction(limits.squares * reach**2),\n",
        "                Fraction(limits.cell * reach),\n"
        "                Fraction((limits.cell * reach) ** 2),\n",
        "a limit per group stands for the total",
    ),
    walked(
        "check/contribution",
        "times = 1 if limits.adjacency is Adjacency.ADD_REMOVE else 2",
        "times = 1",
        "replacing moves the corners of a simplex once",
    ),
    walked(
        "check/contribution",
        "limits.touched * corners,",
        "limits.touched,",
        "the corners of a simplex are one place",
    ),
    walked(
        "check/contribution",
        "Fraction(limits.squares * reach**2),",
        "Fraction(limits.cell**2 * reach**2),",
        "squares of one group stand for those of all",
    ),
    walked(
        "check/contribution",
        "                Fraction(limits.cell * reach),\n",
        "                Fraction(reach),\n",
        "one row stands for all of a group",
    ),
    walked("check/contribution", "reach = max(above, below)", "reach = above", "only the high end counts"),
    walked(
        "check/contribution",
        "reach = max(above, below)",
        "reach = above or below",
        "the wrong end of a sum counts",
    ),
    walked(
        "check/contribution",
        "                Fraction(2 * limits.total * reach),\n"
        "                Fraction(2 * limits.squares * (above**2 + below**2)),\n",
        "                Fraction(limits.total * reach),\n"
        "                Fraction(limits.squares * (above**2 + below**2)),\n",
        "someone who is replaced only leaves",
    ),
    walked(
        "check/contribution",
        "Fraction(2 * limits.squares * (above**2 + below**2)),",
        "Fraction(limits.squares * (above**2 + below**2)),",
        "the factor 2 of replacing is forgotten in squares",
    ),
    walked(
        "check/contribution",
        "                Fraction(limits.cell * (above + below)),\n",
        "                Fraction(limits.cell * reach),\n",
        "replacing moves one group as far as adding does",
    ),
    walked(
        "check/contribution",
        "Sensitivity.of(limits.cell * (above + below))",
        "Sensitivity.of(limits.cell * reach)",
        "replacing moves a single number as far as adding does",
    ),
    walked(
        "check/contribution",
        "return full * self.cell**2 + rest**2",
        "return full * self.cell**2",
        "the group that is filled in part is forgotten in squares",
    ),
    walked(
        "check/contribution",
        "return self.groups if self.adjacency is Adjacency.ADD_REMOVE else 2 * self.groups",
        "return self.groups",
        "someone who is replaced touches no other groups",
    ),
    walked(
        "check/contribution",
        "full, rest = divmod(self.total, self.cell)",
        "full, rest = 1, 0",
        "squares of a person in one group only",
    ),
    walked(
        "check/measurement",
        "(min(self.low, 0), max(self.high, 0))",
        "(min(self.low, 0), max(-self.low, 0))",
        "the ends of an interval change places",
    ),
    walked(
        "check/measurement",
        "top: int = (self.high - self.low) ** self.degree",
        "top: int = max(self.high, 0) ** self.degree",
        "corners are as far apart as the upper bound from zero",
    ),
    walked(
        "check/measurement",
        "top: int = (self.high - self.low) ** self.degree",
        "top: int = self.high - self.low",
        "squares are no larger than what is squared",
    ),
    walked(
        "check/aggregate",
        "claim(self.bounding.sums(), least * weight, most * weight)",
        "claim(self.bounding.sums(), least, most)",
        "a row of a sum weighs one unit",
    ),
    walked(
        "check/aggregate",
        "sensitivity = claim(self.bounding.people(), 0, whole)",
        "sensitivity = claim(self.bounding.people(), 0, 1)",
        "a person weighs one unit",
    ),
    walked(
        "check/aggregate",
        "sensitivity = claim(self.bounding.pairs(), 0, 1)",
        "sensitivity = claim(self.bounding.people(), 0, 1)",
        "a person has no more values than groups",
    ),
    walked(
        "check/aggregate",
        "sensitivity=self._score(max(up, down), up + down),",
        "sensitivity=self._score(min(up, down), up + down),",
        "the scores of a quantile move by the smaller share",
    ),
    walked(
        "check/aggregate",
        "return Sensitivity.of(one * total)",
        "return Sensitivity.of(total)",
        "the scores of a quantile move as weights do",
    ),
    walked(
        "check/aggregate",
        "return Sensitivity.of(both * total)",
        "return Sensitivity.of(one * total)",
        "a row that is replaced moves scores as one that is added",
    ),
    walked(
        "check/aggregate",
        "return Sensitivity.of(max(2 * one, both) * total)",
        "return Sensitivity.of(both * total)",
        "a row that changes its group moves the scores of one",
    ),
    walked(
        "check/aggregate",
        "total = limits.total * self.bounding.weight",
        "total = limits.total",
        "a row of a selection weighs one unit",
    ),
    walked(
        "check/aggregate",
        "total = limits.total * self.bounding.weight",
        "total = self.bounding.weight",
        "scores move as for a person with one row",
    ),
    walked(
        "check/aggregate",
        "monotone = self.bounding.scope.adjacency is Adjacency.ADD_REMOVE",
        "monotone = True",
        "weights only grow, also where people are replaced",
    ),
    walked(
        "check/aggregate",
        "size=fixed.high - fixed.low + 1,",
        "size=fixed.high - fixed.low,",
        "the last position lies outside of the grid",
    ),
    walked(
        "check/bounds",
        "(level.denominator if both else max(level.numerator, level.denominator - level.numerator))",
        "max(level.numerator, level.denominator - level.numerator)",
        "replacing moves the scores of bounds as adding does",
    ),
    walked(
        "check/bounds",
        "max(level.numerator, level.denominator - level.numerator))",
        "level.numerator)",
        "the scores of a lower bound hardly move",
    ),
    walked(
        "check/bounds",
        "                limits.total\n                * weight\n",
        "                limits.total\n",
        "a row weighs one unit when bounds are found",
    ),
    walked(
        "check/bounds",
        'inside = Call("clamp", (level, Literal(1), Literal(top)))',
        "inside: Scalar = level",
        "huge numbers lie outside of the grid of bounds",
    ),
    walked(
        "check/bounds",
        'argument=Call("add", (argument, Literal(reach))),',
        "argument=argument,",
        "negative numbers lie outside of the grid of bounds",
    ),
    walked(
        "check/bounds", "size=2 * reach + 1,", "size=2 * reach,", "the grid of bounds lacks its last cell"
    ),
    walked(
        "check/batch",
        "moves = claim(limits, 0, scale)",
        "moves = claim(limits, 0, 1)",
        "a row of a batch weighs one unit",
    ),
    walked(
        "check/batch",
        "claim_simplex(limits, family[0].fixed.top * family[0].weight, len(family))",
        "claim_simplex(limits, family[0].weight, len(family))",
        "values of a batch are at most one step apart",
    ),
    walked(
        "check/batch",
        "(end * family[0].weight for end in family[0].fixed.ends)",
        "(end for end in family[0].fixed.ends)",
        "sums of a batch forget the weights of rows",
    ),
    walked(
        "price/together",
        "max(ceil(measurement.sensitivity.l1 / (2 if swaps else 1)), 1)",
        "1",
        "overlapping groups move by one",
    ),
    walked(
        "price/together",
        "max(ceil(measurement.sensitivity.l1 / (2 if swaps else 1)), 1)",
        "max(ceil(measurement.sensitivity.linf / (2 if swaps else 1)), 1)",
        "overlapping groups move as far as one of them",
    ),
    walked(
        "price/together",
        "max(ceil(measurement.sensitivity.l1 / (2 if swaps else 1)), 1)",
        "max(ceil(measurement.sensitivity.l1 / measurement.scale / (2 if swaps else 1)), 1)",
        "overlapping groups move by rows, not by their weights",
    ),
)
"""Claims that are too small for what the statement does."""

LIMITS = (
    walked(
        "check/limits",
        "rows=None if self.structural else scope.rows,",
        "rows=None,",
        "the limit of rows is not enforced",
    ),
    walked(
        "check/limits",
        "per_group=scope.per_group if self.cellwise else None,",
        "per_group=None,",
        "the limit per group is not enforced",
    ),
    walked(
        "check/limits",
        "people=self._most_people() if people else None,",
        "people=None,",
        "the limit of groups is not enforced",
    ),
    walked(
        "check/limits",
        "return 1 if self.structural and not self.cellwise else WEIGHT",
        "return 1",
        "claims forget the weight of a row",
    ),
    walked(
        "check/limits",
        "found = None if found is None else replace(found, groups=reach)",
        "found = None if found is None else replace(found, groups=groups)",
        "weights are thought to keep people in few groups",
    ),
    walked(
        "check/limits",
        "groups = scope.bound if self.structural else None",
        "groups = scope.bound if self.structural else scope.groups",
        "rows in all are thought to keep people in few groups",
    ),
    walked(
        "check/limits",
        "groups = min(known) if self.person == 1 else self.size",
        "groups = min(known)",
        "weighted people are thought to be in few groups",
    ),
    walked(
        "check/limits",
        "return Contribution(scope.adjacency, min(known), 1, groups, self.single)",
        "return Contribution(scope.adjacency, 1, 1, groups, self.single)",
        "a person counts in one group",
    ),
    walked(
        "check/limits",
        "if not given or (free and min(given) >= min(free)):",
        "if not given or free:",
        "declared groups are taken for a limit that holds",
    ),
    walked(
        "check/limits",
        "found = contribution(self.scope.adjacency, rows, None, rows, single=self.single)",
        "found = contribution(self.scope.adjacency, 1, None, 1, single=self.single)",
        "a person has one distinct value",
    ),
    walked("check/limits", "return self.size == 1", "return self.size is not None", "many groups are one"),
    walked(
        "check/question",
        "measuring.bounding = bounding = Bounding(scope, Declared(columns).size)",
        "measuring.bounding = bounding = Bounding(scope, 1)",
        "every question has one group",
    ),
    walked(
        "check/lineage",
        "bound=table.rows_per_unit if table.prepared else (None if units else 1),",
        "bound=table.rows_per_unit if units else 1,",
        "a declared limit holds by construction",
    ),
    walked(
        "check/lineage",
        "        adjacency=table.adjacency,\n        bound=",
        "        bound=",
        "the declared neighbours are forgotten",
    ),
    walked(
        "check/lineage",
        "units = (Column(own, table.unit),)",
        "units = (Column(own, table.columns[1].name),)",
        "another column is the person",
    ),
    walked(
        "check/lineage",
        "        items.append((UNIT, inner.unit))\n    columns = tuple(",
        "        items.append((UNIT, items[0][1]))\n    columns = tuple(",
        "a subquery's first column is the person",
    ),
    walked(
        "check/lineage",
        "if bare(key) in public.unique and all(column.relation in own for column in columns):",
        "if bare(key) in public.unique:",
        "a public key equated with public columns bounds a join",
    ),
    walked(
        "check/lineage",
        "    bound = person.bound if once else None\n",
        "    bound = person.bound\n",
        "a join that fans out keeps its bound",
    ),
    walked(
        "check/lineage",
        "if matched is not None and (bound is not None or person.ranks):",
        "if False:",
        "a public table is joined without being grouped",
    ),
    walked(
        "check/lineage",
        "once = Inner(Query(tuple(items), table, None, (key,)), own)",
        "once = Inner(Query(tuple(items), table, None, tuple(stored)), own)",
        "a public table is grouped by all of its columns",
    ),
    walked(
        "check/people",
        "bound=left.bound * right.bound if both else None,",
        "bound=left.bound,",
        "a join keeps the bound of its left side",
    ),
    walked(
        "check/people",
        "bound=left.bound * right.bound if both else None,",
        "bound=left.bound if left.bound is not None else right.bound,",
        "a join keeps the bound of one side",
    ),
    walked(
        "check/people",
        "        if not _same_key(left, right, equated):\n",
        "        if False:\n",
        "people are joined with other people",
    ),
    walked(
        "check/lineage",
        "if outer and not left.private and right.private:",
        "if False:",
        "public rows without a person stay in an outer join",
    ),
    walked(
        "check/per_person",
        "values = domain(key_typed.kind) if key_typed.held else None",
        "values = domain(key_typed.kind)",
        "declared keys bound the rows of a person",
    ),
    walked(
        "check/per_person",
        "bound * (len(values) + 1)",
        "bound * len(values)",
        "NULL is no key",
    ),
    walked(
        "check/per_person",
        "if inner.private and key_typed.scalar not in inner.units:",
        "if False:",
        "a person has one row whatever else is grouped by",
    ),
    walked(
        "check/per_person",
        "key = next(key.scalar for key in keys if key.scalar in inner.units)",
        "key = keys[-1].scalar",
        "the last key of a subquery is the person",
    ),
    walked(
        "check/per_person",
        "where, grouping, having)",
        "where, grouping[1:], having)",
        "a subquery is not grouped by the person",
    ),
)
"""Limits that are neither enforced nor facts."""

FACTS = (
    walked(
        "catalog/kind", "    held: bool = False\n", "    held: bool = True\n", "what is declared is a fact"
    ),
    walked(
        "catalog/kind",
        'return Typed(Call("clamp", (typed.scalar, *ends)), Whole(low, high), held=True)',
        "return Typed(typed.scalar, Whole(low, high), held=True)",
        "the clamp of declared bounds is forgotten",
    ),
    walked(
        "catalog/kind",
        "return tuple(range(low, high + 1))",
        "return tuple(range(low, high))",
        "a range lacks its last number",
    ),
    walked(
        "catalog/kind",
        "return Whole(_least(one.low, other.low), _most(one.high, other.high))",
        "return Whole(one.low, one.high)",
        "the first of two numbers bounds both",
    ),
    walked(
        "catalog/kind",
        "return Text(tuple(sorted({*mine, *theirs})))",
        "return Text(mine)",
        "the first of two texts stands for both",
    ),
    walked("catalog/kind", "WHOLE_LIMIT = 2**62", "WHOLE_LIMIT = 2**200", "integers never overflow"),
    walked(
        "check/scope",
        "return Typed(Case(branches, parts[-1].scalar), kind, parts[0].held)",
        "return Typed(Case(branches, parts[-1].scalar), kind, held=True)",
        "CASE makes facts of declared values",
    ),
    walked(
        "check/function/logic",
        'return Typed(Call("coalesce", tuple(part.scalar for part in parts)), kind, parts[0].held)',
        'return Typed(Call("coalesce", tuple(part.scalar for part in parts)), kind, held=True)',
        "COALESCE makes facts of declared values",
    ),
    walked(
        "check/function/logic",
        "parts[0].kind, parts[0].held)",
        "parts[0].kind, held=True)",
        "NULLIF makes facts of declared values",
    ),
    walked(
        "check/function/agreement",
        "    held = all(part.held for part in settled)\n",
        "    held = any(part.held for part in settled)\n",
        "one constant branch makes facts of the others",
    ),
    walked(
        "check/function/text",
        "Typed(Call(name, (_text(name, arguments[0]),)), Text(after))",
        "Typed(Call(name, (_text(name, arguments[0]),)), Text(after), held=True)",
        "LOWER and TRIM make facts of declared values",
    ),
    walked(
        "check/function/cast",
        'return Typed(Call("to_text", (argument.scalar,)), kind, argument.held)',
        'return Typed(Call("to_text", (argument.scalar,)), kind, held=True)',
        "CAST AS TEXT makes facts of declared values",
    ),
    walked(
        "check/function/cast",
        "Whole(0, 1), held=True)",
        "Whole(0, 0), held=True)",
        "a condition is never 1",
    ),
    walked(
        "check/function/day",
        "kind, moment.held)",
        "kind, held=True)",
        "truncated dates lie where they are declared",
    ),
    walked(
        "check/function/number",
        "if number.held and kind.low is not None and kind.high is not None:",
        "if kind.low is not None and kind.high is not None:",
        "a wide clamp is as narrow as what is declared",
    ),
    walked(
        "check/function/number",
        "low = 0 if left.kind.low is not None and left.kind.low >= 0 else -reach",
        "low = 0",
        "no remainder is negative",
    ),
    walked(
        "check/function/number",
        "ends = max(low, -high, Fraction(0)), max(abs(low), abs(high))",
        "ends = max(low, -high, Fraction(0)), abs(high)",
        "negative numbers have no size",
    ),
    walked(
        "check/function/number", "Whole(-1, 1), held=True)", "Whole(0, 1), held=True)", "no sign is negative"
    ),
    walked(
        "check/function/number",
        "return one.low + other.low, one.high + other.high",
        "return one.low + other.low, one.high",
        "a sum is no larger than its first part",
    ),
    walked(
        "check/function/number",
        "return one.low - other.high, one.high - other.low",
        "return one.low - other.low, one.high - other.high",
        "differences are those of the ends",
    ),
    walked(
        "check/function/number",
        "corners = [a * b for a in (one.low, one.high) for b in (other.low, other.high)]",
        "corners = [one.low * other.low, one.high * other.high]",
        "products are those of the ends",
    ),
)
"""What is taken for true of a value and is not."""

NUMBERS = (
    walked(
        "check/fixed_point",
        '        return Call("clamp", (scalar, Literal(low), Literal(high)))\n',
        "        return scalar\n",
        "integers are not clamped before they are added",
    ),
    walked(
        "check/fixed_point",
        "Literal(Fraction(low)), Literal(Fraction(high))))",
        "Literal(Fraction(low)), Literal(Fraction(high + 1))))",
        "decimals are clamped one unit too high",
    ),
    walked(
        "check/fixed_point",
        "Literal(Fraction(low)), Literal(Fraction(high))))",
        "Literal(Fraction(low - 1)), Literal(Fraction(high))))",
        "decimals are clamped one unit too low",
    ),
    walked(
        "check/fixed_point",
        'return Call("subtract", (integer, Literal(fixed.low))) if fixed.low else integer',
        "return integer",
        "positions of a grid are not counted from its low end",
    ),
    walked(
        "rewrite/integers",
        'above: Scalar = Call("subtract", (column, Literal(fixed.low))) if fixed.low else column',
        "above: Scalar = column",
        "the lower bound is not taken off",
    ),
    walked(
        "rewrite/integers",
        "[Literal(many)] * (many > 1)",
        "[Literal(many + 1)] * (many > 1)",
        "the mixed term of a square counts three times",
    ),
    walked(
        "rewrite/integers",
        "fixed.scale, fixed.low, fixed.high)",
        "fixed.scale, 2 * fixed.low, 2 * fixed.high)",
        "numbers are clamped to twice their bounds",
    ),
    walked(
        "rewrite/integers",
        '"multiply_long" if narrow else "multiply_wide"',
        '"multiply_long"',
        "weighted sums are taken in 64 bits",
    ),
)
"""Numbers that are not what the claim is about."""

WEIGHTS = (
    walked(
        "rewrite/integers",
        "return checked.rows.rows is None and checked.rows.per_group is None",
        "return True",
        "rows are neither weighted nor chosen",
    ),
    walked(
        "rewrite/integers",
        '(name for name, _ in named)), 1, "r")',
        '(name for name, _ in named)), 2, "r")',
        "people who count for one row keep two",
    ),
    walked(
        "rewrite/integers",
        "chosen = limit is not None and (whole or not isinstance(checked.keys, Declared))",
        "chosen = limit is not None and not isinstance(checked.keys, Declared)",
        "people who count whole are weighted",
    ),
    walked(
        "rewrite/integers",
        "bounded = cap.in_all if checked.rows.per_group is None else cap.per_group",
        "bounded = cap.in_all",
        "limits per group are those in all",
    ),
    walked(
        "rewrite/integers",
        "    if limit is not None and chosen:\n",
        "    if False:\n",
        "people keep all of the groups that are found",
    ),
    walked(
        "rewrite/integers",
        '        Inner(person_rows(checked, (), unit=True), "r"),\n'
        '        None,\n        columns("r", names),\n',
        '        Inner(person_rows(checked, (), unit=True), "r"),\n',
        "people are counted without being distinct",
    ),
    walked(
        "rewrite/integers",
        'Call("bits_set", (Column("p", "b"),))',
        "Literal(1)",
        "a person in many groups counts fully in each",
    ),
    walked(
        "rewrite/integers",
        'rows = person_rows(checked, (("x", value),), unit=limit is not None)\n    if limit is None:\n',
        'rows = person_rows(checked, (("x", value),), unit=limit is not None)\n    if True:\n',
        "distinct values are counted without a limit",
    ),
    walked(
        "rewrite/integers",
        'parts, source, total = rows.parts, rows.source, Call("sum", (rows.weight,))',
        'parts, source, total = rows.parts, rows.source, Call("sum", (Literal(WEIGHT),))',
        "candidates weigh as if everybody had few rows",
    ),
    walked(
        "rewrite/weights",
        'Call("least", (Literal(one), Call("quotient", (Literal(one * limit), count))))',
        'Call("quotient", (Literal(one * limit), count))',
        "a person in one group counts as several",
    ),
    walked(
        "rewrite/weights",
        'Call("quotient", (Literal(one * limit), count))',
        'Call("quotient", (Literal(one * (limit + 1)), count))',
        "one row too many is admitted",
    ),
    walked(
        "rewrite/weights",
        'Call("quotient", (Literal(one * limit), count))',
        'Call("add", (Call("quotient", (Literal(one * limit), count)), Literal(1)))',
        "weights are rounded up",
    ),
    walked(
        "rewrite/weights",
        'share(WEIGHT, limit, Call("count_rows", ()))',
        'share(WEIGHT, limit, Call("count_distinct", (person,)))',
        "the limit in all counts people instead of rows",
    ),
    walked(
        "rewrite/weights",
        "if limits.cell == limits.total:",
        "if True:",
        "the limit per group is lost",
    ),
    walked(
        "rewrite/weights",
        "_cells(cell, limits.cell * limits.total)",
        "_cells(cell, limits.total * limits.total)",
        "crowded cells weigh as much as all",
    ),
    walked(
        "rewrite/weights",
        'Call("coalesce", (Column("c", "w"), Column("w", "w")))',
        'Column("w", "w")',
        "crowded cells weigh like the others",
    ),
    walked(
        "rewrite/weights",
        'Call("ge", (beyond, Literal(allowed)))',
        'Call("gt", (beyond, Literal(allowed)))',
        "a cell with one row too many is passed over",
    ),
    walked(
        "rewrite/weights",
        'Call("gt", (count, Literal(allowed)))',
        'Call("gt", (count, Literal(allowed + 1)))',
        "a cell with one row too many is not crowded",
    ),
    walked(
        "rewrite/weights",
        'Call("subtract", (Column("c", "n"), Literal(allowed)))',
        'Column("c", "n")',
        "all rows of crowded cells are too many",
    ),
    walked(
        "rewrite/weights",
        'divisor = Call("greatest", (Literal(total), counted))',
        "divisor = counted",
        "people with few rows weigh as much as allowed",
    ),
    walked(
        "rewrite/weights",
        'Call("quotient", (Literal(WEIGHT * total), divisor))',
        'Call("quotient", (Literal(WEIGHT * (total + 1)), divisor))',
        "one row too many is admitted beside a limit per group",
    ),
    walked(
        "rewrite/weights",
        'Call("quotient", (weight, Column("c", "n")))',
        "weight",
        "the rows of a crowded cell do not share its weight",
    ),
    walked(
        "rewrite/weights",
        '("b", Call("bits_set", (Call("bits_or", (bit,)),)))',
        '("b", Call("count_rows", ()))',
        "everybody's rows are thought to lie in different groups",
    ),
    walked(
        "rewrite/weights",
        'Call("le", (Column(alias, "j"), Literal(limit)))',
        'Call("le", (Column(alias, "j"), Literal(limit + 1)))',
        "one group too many is kept",
    ),
    walked(
        "rewrite/weights",
        'Call("rank", (own[0], keyed, *own[1:]))',
        'Call("rank", (own[-1], keyed, *own[1:]))',
        "groups are chosen among people instead of for them",
    ),
    walked(
        "rewrite/weights",
        "MASK = 60",
        "MASK = 600",
        "more groups than bits",
    ),
    walked(
        "rewrite/person_rows",
        "        conditions.append(present(rows.unit))\n",
        "        conditions.append(Literal(True))\n",
        "rows of nobody are admitted",
    ),
    walked(
        "rewrite/person_rows",
        "Column(right, name))) for name in names)",
        "Column(right, name))) for name in names[1:])",
        "weights are those of anybody",
    ),
    walked("rewrite/person_rows", 'PERSON = "u"', 'PERSON = "k0"', "the person has the name of a key"),
    walked("check/scope", 'UNIT = "u"', 'UNIT = "c0"', "the person has the name of a column"),
    walked(
        "check/scope",
        'return (f"t{number}" for number in count())',
        'return ("t0" for _ in count())',
        "all relations of a statement have one name",
    ),
    walked(
        "rewrite/integers",
        'f"a{len(raws)}"',
        '"a0"',
        "all numbers of a statement have one name",
    ),
    walked(
        "rewrite/prepared",
        "Literal(table.rows_per_unit)",
        "Literal(table.rows_per_unit + 1)",
        "a preparation keeps one row too many",
    ),
    walked(
        "rewrite/prepared",
        'Call("rank", (unit, keyed, *own))',
        'Call("rank", (own[1], keyed, *own))',
        "a preparation keeps rows of wards instead of people",
    ),
    walked(
        "rewrite/prepared",
        '        Call("not", (Call("is_null", (unit,)),)),\n',
        "        Literal(True),\n",
        "a preparation keeps rows of nobody",
    ),
    walked(
        "rewrite/prepared",
        'Call("le", (Column("r", "__j"), Literal(table.rows_per_unit))),',
        "None,",
        "a preparation keeps everything",
    ),
)
"""Weights, choices and names of the statement itself."""

FAULTS: tuple[Fault, ...] = (*CLAIMS, *LIMITS, *FACTS, *NUMBERS, *WEIGHTS)
