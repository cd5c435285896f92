"""The checker of statements with each of its rules weakened once."""

from tests.mutants.fault import Fault

HOSTILE = ("tests/query/proof/test_hostile.py",)
REACH = ("tests/query/proof/test_reach.py",)
PREPARED = ("tests/query/proof/test_preparation.py",)
SIMPLEX = ("tests/query/test_simplex.py",)


def weaker(module: str, old: str, new: str, why: str, tests: tuple[str, ...] = HOSTILE) -> Fault:
    return Fault(f"query/proof/{module}.py", old, new, tests, why)


KEYS = ("tests/query/test_units_through_keys.py",)

FAULTS = (
    # Units through keys.
    weaker("path", "or query.having is not None", "", "keys of several people may be dropped", KEYS),
    weaker("path", "query.where is not None", "False", "some rows of the parent may be left out", KEYS),
    weaker("path", "shown == key and first", "first", "any column may be the key", KEYS),
    weaker("path", "first == Column(*person) and", "", "anything may be the person", KEYS),
    weaker("path", "parent.name != through.table or", "", "another table may be looked into", KEYS),
    weaker(
        "path",
        'on.function == "eq" and set(on.arguments) == found',
        'on.function == "eq"',
        "a path may be joined on anything",
        KEYS,
    ),
    # Names and tables.
    weaker("relation", "{fold(name) for name in names}", "set(names)", "names that differ by case are two"),
    weaker("select", "if fold(name) in scope.hidden:", "if name in ():", "a part may hide a table"),
    weaker(
        "select",
        "if any(isinstance(key, Literal) for key in query.group):",
        "if False:",
        "a constant key may be the number of a column",
    ),
    weaker(
        "relation",
        "frozenset((person,)), False, True, dict",
        "frozenset((person,)), True, True, dict",
        "everybody is known",
    ),
    weaker("check", "if not owner.known:", "if False:", "rows of nobody are added up"),
    # Joins.
    weaker(
        "join",
        '            if (column.relation or "", column.name) != name '
        "or not used(value) <= other.columns.keys():\n"
        "                continue\n",
        '            if (column.relation or "", column.name) != name:\n'
        "                continue\n"
        "            if not used(value) <= other.columns.keys():\n"
        "                return True\n",
        "a key equated with itself is fixed",
    ),
    weaker(
        "join",
        "return one.kind is other.kind and alike((one, other))",
        "return True",
        "casts make keys equal",
    ),
    weaker("join", "rows=person.rows if single else None,", "rows=person.rows,", "a fan-out keeps the rows"),
    weaker(
        "join",
        "unique=person.unique if single else (),",
        "unique=person.unique,",
        "a fan-out keeps what was unique",
    ),
    weaker(
        "join",
        "embeds=person.embeds if single else {},",
        "embeds=person.embeds,",
        "rows that multiply are different",
    ),
    weaker(
        "join",
        "if not any(_same_person(a, b, left, right) for a, b in equal):",
        "if not equal:",
        "people are joined on anything",
    ),
    weaker(
        "join",
        "one.people if outer else one.people | other.people",
        "one.people | other.people",
        "an outer join's right side tells the person",
    ),
    weaker("join", "case _ if outer:", "case _ if False:", "public rows on the left of an outer join"),
    weaker("relation", "== len(listed.rows)\n    )", "> 0\n    )", "listed keys are unique"),
    weaker(
        "select",
        'unique = (frozenset(("", names[key]) for key in keys),) '
        "if all(key in names for key in keys) else ()",
        "unique = tuple(frozenset((column,)) for column in columns)",
        "every column of public groups is unique",
    ),
    # Groups of a person.
    weaker(
        "select", "    if not owners:\n        raise", "    if False:\n        raise", "groups may mix people"
    ),
    weaker(
        "relation",
        "return value.kind is not Kind.REAL and all(constant(one).kind is value.kind for one in constants)",
        "return True",
        "a comparison of doubles tells integers apart",
    ),
    weaker(
        "value",
        "        if self.domain is not None:\n            wide",
        "        if self.kind is Kind.TEXT and self.domain is None:\n"
        '            return frozenset(("a",))\n'
        "        if self.domain is not None:\n            wide",
        "texts have few values",
    ),
    weaker(
        "word",
        "replace(found, missing=True) if values[0].kind is Kind.NULL else found",
        "replace(found, missing=True)",
        "whatever was converted is taken for NULL",
    ),
    weaker(
        "value",
        "held = [value for value in known if not value.missing] or known",
        "held = known[:1]",
        "a choice is as wide as its first branch",
    ),
    # Choices.
    weaker(
        "value",
        "return max(self.domain.stop - self.domain.start, 0) + self.null",
        "return 1",
        "a choice of many rows is taken for one",
    ),
    weaker(
        "select",
        "    if person not in source.owner.people:\n",
        "    if False:\n",
        "a choice within something else than a person",
    ),
    weaker(
        "select",
        "    if not all(scalar in order or scalar == Column(alias, name) for _, scalar in plain):\n",
        "    if False:\n",
        "ties decide a choice",
    ),
    weaker(
        "value",
        "    return restrict(value, range(bottom, min(high, value.high) + 1))",
        "    return restrict(value, range(bottom, bottom + 2))",
        "a choice keeps two rows whatever it says",
    ),
    weaker(
        "value",
        "    return restrict(value, range(max(low, value.low), top))",
        "    return restrict(value, range(0, low))",
        "at least is read as at most",
    ),
    # Sums.
    weaker(
        "number",
        "    bottom, top = (min(max(end, ends[0]), ends[1]) for end in (value.low, value.high))",
        "    bottom, top = 0, 9",
        "every clamp is from 0 to 9",
    ),
    weaker(
        "number",
        "    return fitting(name, floor(low), ceil(high), 63)",
        "    return fitting(name, 0, 9, 63)",
        "fixed point is from 0 to 9",
    ),
    weaker(
        "added",
        '    if value.kind is not Kind.WHOLE:\n        raise ProofError("a sum"',
        '    if False:\n        raise ProofError("a sum"',
        "doubles are added up",
    ),
    weaker(
        "added",
        'case Call("sum", (argument,)):',
        'case Call("sum" | "max", (argument,)):',
        "an extreme is taken for a sum",
    ),
    weaker(
        "check",
        "if evaluate(_plain(part), rows.leaf).kind not in TRUTHS:",
        "if False:",
        "a condition on groups may count",
    ),
    weaker(
        "added",
        "if body.query.group != keys or",
        "if not set(keys) <= set(body.query.group) or",
        "groups may be finer than keys",
    ),
    weaker(
        "added",
        "    if total is None or cell is None:\n        raise",
        "    total, cell = total or 1, cell or 1\n    if False:\n        raise",
        "any number of rows is one",
    ),
    weaker(
        "added",
        "        return None if self.cells else self.size",
        "        return self.size",
        "candidates are groups",
    ),
    # Neighbours and norms.
    weaker("reach", "l1 = 2 * self.total * most", "l1 = self.total * most", "half of replace in l1"),
    weaker("reach", "l2 = min(2 * self.squares", "l2 = min(self.squares", "half of replace in l2"),
    weaker(
        "reach",
        "return full * self.cell**2 + rest**2",
        "return full * self.cell**2",
        "the rest of the squares is left out",
        REACH,
    ),
    weaker("check", '    _at_most(output, "linf", derived.linf, claimed.linf)\n', "", "linf is not compared"),
    weaker(
        "check",
        '    _at_most(output, "l2 squared", derived.l2_squared, claimed.l2_squared)\n',
        "",
        "l2 is not compared",
    ),
    weaker("check", '    _at_most(output, "l1", derived.l1, claimed.l1)\n', "", "l1 is not compared"),
    weaker(
        "reach",
        "return Fraction(2 * one * self.total)",
        "return Fraction(one * self.total)",
        "half of replace in scores",
        REACH,
    ),
    weaker(
        "reach",
        "one, both = max(up, unit - up), unit",
        "one, both = min(up, unit - up), unit",
        "the smaller side of a quantile",
        REACH,
    ),
    # Shares.
    weaker(
        "added",
        "    if not implied(allowed, where, part, body.parts):\n",
        "    if False:\n",
        "weights leave out rows",
    ),
    weaker(
        "weight",
        "    if not outer.others <= inner.others:\n        return False\n",
        "",
        "other conditions are implied",
    ),
    weaker(
        "added",
        "    if alias is None:\n        raise",
        '    alias = alias or next(iter(body.rows.embeds), "r")\n    if False:\n        raise',
        "weights of another part",
    ),
    weaker(
        "own", 'Call("count_rows" | "count_values") as count', "Call() as count", "sums at a count's share"
    ),
    weaker("own", "min(counted.low, held.low) < 0", "False", "own shares below zero"),
    weaker(
        "own", 'fitting("multiply_long", 0, most,', 'fitting("multiply_long", 0, 1,', "own shares for one"
    ),
    weaker("weight", "if divisor == count and most >= 0:", "if most >= 0:", "weights of another count"),
    weaker("added", "totals = [share.most]", "totals = [share.most // 2]", "shares are half as large"),
    # Bits.
    weaker("added", "if len(places) != size or not", "if not", "one bit is read twice"),
    weaker(
        "added",
        "    if body.rows.rows is None or body.rows.rows > 1:\n",
        "    if False:\n",
        "masks of several rows",
    ),
    weaker(
        "added",
        "        total = min(total, fact.most)\n",
        "        total = min(total, fact.most // 2)\n",
        "shares of bits are half as large",
    ),
    # Shares per group.
    weaker("weight", "if 1 <= least <= allowed:", "if 1 <= least:", "crowded cells are passed over"),
    weaker("weight", "crowd.allowed == allowed and once", "once", "an excess that is too large"),
    weaker(
        "added",
        "    if heavy.parts > crowd.allowed * light.parts:\n",
        "    if False:\n",
        "crowded cells weigh more",
    ),
    weaker("weight", "or not cells.keys <= keys:", "or False:", "a spread of other columns"),
    weaker(
        "added",
        'or body.rows.met.get(column.relation or "") != crowd:',
        "or False:",
        "crowded cells are not met",
    ),
    weaker(
        "join",
        "covers=_still_covered(left, right) if plain and not outer else None,",
        "covers=_still_covered(left, right),",
        "a crowd of some rows",
    ),
    weaker(
        "added",
        "    if not implied(allowed, crowd.shown, crowd.part, body.parts):\n",
        "    if False:\n",
        "a crowd of some cells",
    ),
    # Selections, thresholds, functions.
    weaker(
        "check",
        "value.kind is Kind.WHOLE and 0 <= value.low <= value.high < release.size",
        "value.kind is Kind.WHOLE",
        "candidates outside of the grid",
    ),
    weaker(
        "check",
        'if release.monotone and body.owner.adjacency != "add-remove":',
        "if False:",
        "scores that move both ways",
    ),
    weaker(
        "check",
        '            _at_most(release.output, "the number of keys", moves.l0, groups)\n',
        "",
        "any number of keys",
    ),
    weaker(
        "check", '            _at_most(release.output, "one key", moves.linf, 1)\n', "", "a threshold on rows"
    ),
    weaker("check", "or (found == {True}) != (kept == 1):", "or False:", "keys without a threshold"),
    weaker("demand", "    if not fits(low, high, bits):\n", "    if False:\n", "numbers may overflow"),
    weaker("number", "    if other.low < 1:\n", "    if False:\n", "divisors may be zero"),
    weaker("number", "other.low in (0, -1)", "other.low == 0", "remainders by minus one"),
    weaker(
        "demand",
        "    if len(kinds) > 1 and not kinds <= NUMBERS:\n",
        "    if False:\n",
        "texts are compared with numbers",
    ),
    weaker(
        "word",
        '(name != "like" and (not escape.isascii() or escape.isalpha()))',
        "False",
        "an escape whose case changes",
    ),
    weaker(
        "word",
        '        if pattern[place + 1 : place + 2] not in ("%", "_", escape):\n',
        "        if False:\n",
        "a pattern that ends in its escape",
    ),
    weaker(
        "function",
        '"to_day": word.convert(Kind.DAY, frozenset((Kind.DAY, Kind.MOMENT)))',
        '"to_day": word.convert(Kind.DAY, frozenset((Kind.DAY, Kind.MOMENT, Kind.TEXT)))',
        "casts of texts are taken to lie in the calendar",
    ),
    weaker(
        "word",
        "365 * before + before // 4 - before // 100 + before // 400",
        "366 * before",
        "all years are taken for leap years",
    ),
    weaker("value", "YEARS = (1, 9999)", "YEARS = (1, 9998)", "a year of the calendar is left out"),
    weaker(
        "function",
        "            if rule is None:\n",
        '            rule = rule or FUNCTIONS["length"]\n            if False:\n',
        "unknown functions are known",
    ),
    # Prepared tables and the seal.
    weaker("check", "relation.rows > table.kept:", "False:", "a prepared table keeps more rows", PREPARED),
    weaker(
        "check",
        'if owner is None or ("", table.unit) not in owner.people:',
        "if owner is None:",
        "another person's column",
        PREPARED,
    ),
    weaker("check", "or owner.adjacency is not table.adjacency:", "or False:", "other neighbours", PREPARED),
    weaker(
        "select",
        "or not owner.people or not owner.known:",
        "or not owner.people:",
        "prepared rows of nobody",
        PREPARED,
    ),
    weaker(
        "derivation",
        '        raise ProofError("a proved statement", "was not made by the checker")\n',
        '        object.__setattr__(self, "_mint", _Mint(self.statement))\n',
        "anybody makes proved statements",
        PREPARED,
    ),
    weaker(
        "derivation",
        "    if type(mint) is not _Mint or mint.statement is not proved.statement:\n        raise",
        '    if not hasattr(proved, "statement"):\n        return proved\n    if False:\n        raise',
        "an engine runs anything",
        PREPARED,
    ),
    weaker("derivation", "mint.statement is not proved.statement", "False", "a proof of another", PREPARED),
    weaker("number", "if values[0].bits > 64:", "if False:", "bits of 128-bit integers"),
    weaker("demand", "value.kind is Kind.WHOLE and value.bits > 64:", "False:", "constants beyond 64 bits"),
    weaker(
        "demand", "not kinds <= NUMBERS:", "not kinds <= NUMBERS and not kinds <= TIMES:", "dates as moments"
    ),
    weaker("function", "null = value.null or not grouped", "null = False", "a mask of NULLs is a number"),
    weaker("added", "kind not in TOLD_APART:", "kind is None:", "doubles as keys"),
    weaker(
        "check", "any(len(set(values)) != len(values) for values in claim.keys or ())", "False", "a key twice"
    ),
    weaker(
        "number",
        "    need(name, values[1:], NUMBERS - {Kind.NULL})",
        "    need(name, values[1:], NUMBERS)",
        "NULL ends",
    ),
    Fault(
        "query/plan.py",
        "type(self.value) is type(other.value) and self.value == other.value\n\n"
        "    def __hash__(self) -> int:\n"
        "        return hash((type(self.value), self.value))",
        "self.value == other.value\n\n    def __hash__(self) -> int:\n        return hash(self.value)",
        HOSTILE,
        "a double and an integer are one constant",
    ),
    weaker(
        "check",
        "sorted(name for release in claim for name in outputs_of(release)) != sorted(statement.outputs)",
        "False",
        "claims about other outputs",
        PREPARED,
    ),
    # What is missing.
    weaker("join", "if not outer or optional(fact)}", "}", "what is missing is known"),
    weaker(
        "join",
        "left.rows * max(right.rows, int(outer))",
        "left.rows * right.rows",
        "rows without a partner are none",
    ),
    weaker(
        "weight",
        "            return fact if relation.crowd == (alias, divisor.crowd) else None",
        "            return fact",
        "any cell has the weight of one",
    ),
    weaker("check", "any(None in values for values in claim.keys or ())", "False", "NULL is a key"),
    weaker(
        "check",
        "    if kinds != [(name, Kind(kind)) for name, kind in table.columns]:\n",
        "    if False:\n",
        "a prepared table of other types",
        PREPARED,
    ),
    # Corners of a simplex.
    weaker(
        "blend",
        "top = max(_largest(columns.pop(), [p for _, p in polynomials], body), sum(c for _, c in apart))",
        "top = _largest(columns.pop(), [p for _, p in polynomials], body)",
        "rows without a value count for nothing",
        SIMPLEX,
    ),
    weaker(
        "blend",
        "if value.kind is not Kind.WHOLE or value.low < 0:",
        "if value.kind is not Kind.WHOLE:",
        "corners may be negative",
        SIMPLEX,
    ),
    weaker(
        "blend",
        "if len(columns) != 1 or not polynomials:",
        "if not polynomials:",
        "corners may be of different columns",
        SIMPLEX,
    ),
    weaker("blend", "times * reach.squares", "reach.squares", "half of replace in l2", SIMPLEX),
    weaker("blend", "Fraction(times * reach.total", "Fraction(reach.total", "half of replace in l1", SIMPLEX),
    weaker("blend", "times * reach.groups * self.number", "reach.groups", "corners are one place", SIMPLEX),
    weaker("blend", "places = {value.low, value.high}", "places = {value.low}", "one end is enough", SIMPLEX),
)
