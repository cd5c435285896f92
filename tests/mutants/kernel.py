"""The verifier's kernel with each of its rules weakened once."""

from tests.mutants.fault import Fault

RULES = ("tests/verify/test_rules.py",)
FORGED = ("tests/verify/test_forgery.py",)
TRAP = "tests/verify/test_prover.py::test_a_program_that_fails_by_one_obligation_is_not_proved"


def weaker(module: str, old: str, new: str, why: str, tests: tuple[str, ...] = RULES) -> Fault:
    return Fault(f"verify/kernel/{module}.py", old, new, tests, why)


def dropped(old: str, why: str, new: str = "") -> Fault:
    """Return the walk without an obligation."""
    return weaker("walk", old, new, why)


FAULTS = (
    # Ends and results.
    weaker(
        "walk",
        "odds > 0, odds < 1, z3.Not(z3.And(*holds))",
        "z3.Not(z3.And(*holds))",
        "a loop ends by a coin that never falls",
    ),
    weaker(
        "walk",
        "z3.And(before, self.fails(variant, draw))",
        "self.fails(variant, draw)",
        "a loop ends by a draw that it does not ask",
    ),
    weaker(
        "walk", "odds < 1, z3.Not(z3.And(*holds))", "odds < 1", "a loop ends by a condition that always holds"
    ),
    weaker("walk", 'f"{sign[0]}="', "sign", "a bar at the edge of a law ends a loop"),
    weaker("walk", 'tree.Binary("<" | "<=" | ">" | ">=" as sign', "tree.Binary(sign", "a point is hit"),
    weaker(
        "walk",
        "                self.value(bar, 1, START)  # no draw has a value there\n",
        "",
        "a bar gives way where the draw stands",
    ),
    weaker(
        "state",
        "drawn[-1] if drawn and isinstance(drawn[-1], tree.Sample) and drawn[-1].law in laws else None",
        "next((d for d in drawn if isinstance(d, tree.Sample) and d.law in laws), None)",
        "a draw may be overruled after it was made",
    ),
    weaker("state", 'laws = "Bernoulli", ', 'laws = "Laplace", "Bernoulli", ', "any noise ends a loop"),
    weaker(
        "walk",
        "final = tree.assigned((statement,)) - tree.assigned(body[place + 1 :])",
        "final = tree.assigned((statement,))",
        "a result is taken for final before it is",
    ),
    # What is asked at all.
    weaker(
        "__init__",
        "z3.Not(item.goal)) != z3.unsat:",
        "z3.Not(item.goal)) is None:",
        "nothing has to be proved",
    ),
    weaker(
        "__init__",
        "if not any(question(deadline, *walk.pair.facts, *end) == z3.sat for end in walk.ends):",
        "if False:",
        "a proof about no input is accepted",
    ),
    weaker(
        "__init__",
        "if [dict(part.direction) for part in parts] != directions(program):",
        "if False:",
        "one order of the neighbours is proved for all",
    ),
    weaker("walk", "for item in state.due:", "for item in state.due[:0]:", "what waits is forgotten"),
    # Costs.
    weaker(
        "walk",
        "z3.And(*(spent <= limit for limit in self.limits(State({}, state.path))))",
        "z3.BoolVal(True)",
        "the cost is not compared with the claim",
    ),
    weaker(
        "walk",
        "price = 1 / first if law in NOISE",
        "price = 1 / (2 * first) if law in NOISE",
        "noise is half price",
    ),
    weaker("walk", '(8 if law == "ExpMech" else 2)', '(8 if law == "ExpMech" else 4)', "rho is half price"),
    weaker("walk", '(8 if law == "ExpMech" else 2)', "9", "a choice under rho is cheaper"),
    weaker("walk", "if self.concentrated else price\n", "\n", "epsilon is squared like rho"),
    weaker("walk", "log = log_up(1 / chance)", "log = log_up(1 / chance) / 2", "delta counts for its root"),
    weaker("walk", "if not 0 < chance < 1 or most < 0:", "if False:", "Gaussian noise without a delta"),
    weaker("walk", "z3.And(*(s >= lost for s in slack))", "TRUE", "delta may be negative"),
    weaker("walk", "z3.If(move >= 0, move, -move)", "move", "a move backwards earns"),
    weaker(
        "walk",
        "z3.If(move != 0, z3.RealVal(1), z3.RealVal(0))",
        "z3.RealVal(0)",
        "a flip is free",
    ),
    weaker("walk", 'z3.RealVal(1 if law == "ExpMech" else 0)', "z3.RealVal(0)", "a choice is free"),
    weaker("walk", "here - there <= ", "here <= ", "only one of two scores changes"),
    weaker("walk", "z3.And(n > 0, n == m)", "n > 0", "one run chooses among more"),
    weaker(
        "walk",
        """once = {f"moved({getattr(s, 'site', 0)})" for s in tree.statements(statement.body)}""",
        "once = set()",
        "what a loop moves is not counted",
    ),
    # Tails.
    weaker("walk", "or draw not in self.pair.program.body or", "or", "a tail of every turn"),
    weaker("walk", "draw.law not in NOISE[:2]:", "False:", "a tail of any law"),
    weaker(
        "walk",
        "exp_up(-abs(tail))",
        "exp_up(-abs(tail)) / 3",
        "a tail at a third of its price",
    ),
    weaker("walk", "scales <= most, scales >= most", "scales <= most, scales <= -most", "the other tail"),
    weaker(
        "walk", "case tree.Secret() if not self.part.tails:", "case tree.Secret():", "a tail keeps a secret"
    ),
    weaker("walk", '"Gumbel": move >= 0', '"Gumbel": TRUE', "Gumbel noise may move down"),
    weaker("pair", "| tree.Element) and not part.side", ") and False", "a header without runs"),
    # Foresight.
    dropped("z3.Or(picked, move == 0)", "noted draws may move", "TRUE"),
    dropped("tree.names(term) & fixed or", "notes know of draws that move", ""),
    dropped(
        'not uses <= {"result", "note", "drawn", "min", "max", "abs"}:', "notes know their end", "False:"
    ),
    weaker(
        "state", "if not isinstance(s, tree.Sample) and any(", "if False and any(", "draws decide on draws"
    ),
    dropped("if law not in DRAWN and 2 not in", "integers never tie", "if 2 not in"),
    dropped(
        "if law not in DRAWN and 2 not in",
        "the second run is known before",
        "if law not in DRAWN and 3 not in",
    ),
    dropped(
        'choose(picked, state.values[f"note({key})", 0],',
        "notes are taken of the winner",
        'choose(z3.BoolVal(False), state.values[f"note({key})", 0],',
    ),
    dropped(
        'function in ("result", "final") and not self.concentrated',
        "rho is foreseen",
        'function in ("result", "final")',
    ),
    # Laws.
    weaker(
        "walk",
        'self.prove("the laws may differ", draw, START, first == second)',
        "pass",
        "a scale may be private",
    ),
    weaker(
        "walk",
        'self.prove("a scale may not be positive", draw, START, first > 0)',
        "pass",
        "a scale may be negative",
    ),
    weaker(
        "walk",
        'state = self.later("the laws may differ", draw, state, equal(first, second))',
        "pass",
        "a parameter may be private",
    ),
    weaker("walk", "z3.And(low >= 0, low <= 1)", "low == low", "a chance may be anything"),
    weaker("walk", '"Uniform": low < high', '"Uniform": low == low', "an interval may be empty"),
    weaker("walk", "z3.And(n > 0, n == m)", "n == m", "a choice among none"),
    weaker("walk", "noise + move >= 0, ", "noise >= 0, ", "noise leaves its support"),
    weaker(
        "walk",
        "move = z3.ToInt(real(move))",
        "state = replace(state, due=state.due[:-1])",
        "half a step of integers",
    ),
    weaker("walk", "z3.And(gap <= move, -gap <= move)", "gap <= gap", "centres may be anywhere"),
    weaker(
        "walk", "statement, head, guards[0] == guards[1])", "statement, head, TRUE)", "turns differ freely"
    ),
    # Both runs do the same.
    weaker(
        "walk",
        "statement.condition, state, first == second)",
        "statement.condition, state, TRUE)",
        "branches differ",
    ),
    weaker("walk", "statement, after, equal(first, second))", "statement, after, TRUE)", "lists differ"),
    weaker("walk", "value, state, equal(first, second))", "value, state, TRUE)", "outputs differ"),
    # Loops.
    weaker("walk", "statement, inside, z3.Or(guard, wait))", "statement, inside, TRUE)", "turns differ"),
    weaker("walk", "statement, state, self.fact(fact, state))", "statement, state, TRUE)", "no entry"),
    weaker("walk", "statement, end, self.fact(fact, end))", "statement, end, TRUE)", "no preservation"),
    weaker(
        "walk",
        "z3.And(before >= 0, self.formula(variant, end) <= before - 1)",
        "before >= 0",
        "no variant falls",
    ),
    weaker(
        "walk", "z3.And(before >= 0, self.formula", "z3.And(TRUE, self.formula", "a variant falls for ever"
    ),
    weaker("walk", "if key[0] in touched[key[1]]]", "if key[0] in ()]", "a loop changes nothing"),
    weaker("walk", "choose(waits[k[1] - 1], old, after.values[k])", "after.values[k]", "nobody waits"),
    weaker("walk", "if not quiet(statement.body):", "if False:", "a run that waits may draw"),
    weaker("walk", "if not quiet((statement,)):", "if False:", "branches that draw may differ"),
    weaker("walk", "second if key[1] == 2 else first", "first", "the second run takes the first's branch"),
    # Meaning.
    weaker("walk", "state, need, side)", "state, TRUE, side)", "everything has a value"),
    weaker("meaning", "self.need(right != 0)", "self.need(right == right)", "one may divide by zero"),
    weaker("pair", "self.size(array, own or side)))\n", "index + 1))\n", "lists have no end"),
    weaker("state", "if len(set(numbers)) != len(numbers):", "if False:", "two draws have one number"),
    weaker("state", "if len(set(names)) != len(names) or", "if", "two parameters have one name"),
    # Neighbours.
    weaker(
        "pair",
        "clauses = (*self.program.requires, self.program.adjacency)",
        "clauses = self.program.requires",
        "the formula of neighbours is not read",
    ),
    weaker(
        "pair", 'if self.kind(name) == "any" else ""', 'if False else ""', "any two lists have one length"
    ),
    weaker("pair", 'f"{name}{{{side}}}" if parameter.private else name', "name", "scalars are public"),
    weaker("pair", "index == self.position(name)", "index != index", "nothing changes"),
    weaker("pair", 'zero if way == "up" else -bound', "zero", "changes only grow"),
    weaker(
        "pair",
        "bound = real(self.scalar(self.parameter(query, tree.SensitiveQuery)[1].sensitivity, 1))",
        "bound = real(self.scalar(self.parameter(query, tree.SensitiveQuery)[1].sensitivity, 1)) / 2",
        "queries move by half",
    ),
    weaker(
        "pair",
        "self.widths.setdefault(kind.length, len(self.widths) + 1)",
        "1",
        "all strings have one length",
    ),
    # Tables.
    weaker("table", "if table.holds(*run, *other)]", "]", "every neighbour will do"),
    weaker("table", "*(e > 0 for e in table.open)", "", "a constant that is left open may be negative"),
    weaker(
        "table",
        "found += [pair.size(name, side) == len(given) for name, given in lists.items()]",
        "pass",
        "an input is its beginning",
    ),
    weaker("table", "if self.is_nonnegative(b - a):", "if True:", "a chance may be above one"),
    weaker("table", ")) < 0 and not stated:", ")) is None:", "a chance may be below zero"),
    weaker(
        "table",
        "if not self.is_nonnegative(gap):",
        "if self.is_nonnegative(-gap):",
        "a sum of excesses is none",
    ),
    weaker(
        "table",
        "all(c >= 0 for c in shifted.coeffs())",
        "any(c >= 0 for c in shifted.coeffs())",
        "some sign will do",
    ),
    weaker(
        "table", "excess * b * d - gap * total, total * b * d", "-gap, b * d", "only the last excess counts"
    ),
    weaker("table", "if not inputs or question", "if question", "no input is needed"),
    weaker("table", "*pair.facts, here) != z3.sat:", "here) is None:", "laws on other inputs", FORGED),
    weaker("walk", "= gaussian or isinstance", "= self.part.concentrated or isinstance", "Gaussian noise"),
    weaker("table", "z3.Not(possible)) != z3.unsat:", "z3.Not(possible)) is None:", "inputs may be missing"),
    weaker(
        "table",
        "stated.keys() != law.keys() or any(a * law[o][1] != law[o][0] * b for o, (a, b) in stated.items())",
        "False",
        "weights are not added up",
        FORGED,
    ),
    weaker(
        "meaning",
        "number = z3.simplify(real(whole(term)))",
        "number = z3.simplify(z3.substitute(real(whole(term)), (z3.Real('eps'), z3.RealVal(1))))",
        "an open constant is a number",
    ),
    # Lists that are read and changed.
    weaker("walk", "index >= 0, index < state.values[name, 0]", "TRUE", "a list is read anywhere"),
    weaker(
        "walk",
        "index >= 0, index < state.values[name, 0]",
        "index < state.values[name, 0]",
        "a place below 0",
    ),
    dropped("self.both(tree.Element(target, place, at=statement.at), state)", "changed anywhere", "pass"),
    weaker(
        "walk",
        "[*map(z3.Store, lists, places, terms)]",
        "[z3.Store(kept, places[0], terms[0]) for kept in lists]",
        "both runs write what the first does",
    ),
    weaker(
        "walk",
        "elif value.name not in tree.growing(self.pair.program):",
        "elif False:",
        "changed and returned",
    ),
    weaker(
        "walk",
        "once, tree.assigned(statement.body), tree.assigned(statement.body)",
        "once, set(), set()",
        "a loop changes no element",
    ),
    weaker("walk", " | tree.lengthened(statement.body)", "", "a loop makes no list longer"),
    weaker(
        "walk",
        "case tree.Element() if not z3",
        "case tree.Element() if False and z3",
        "inputs at every place",
    ),
    weaker("walk", "for name in begin})]", 'for name in [*begin, "place(0)"]})]', "a move knows a place"),
    weaker(
        "table",
        "self.value(tree.Element(target, place), env)  # what is changed must be there",
        "pass",
        "a table changes what is not there",
    ),
    weaker("table", "(*items[:k], self.value(value, env), *items[k + 1 :])", "items", "nothing changes"),
    weaker(
        "table",
        "*(str([t.get_id() for t in flat(v)]) for v in held)",
        "*(t.get_id() for v in held for t in flat(v))",
        "lists in a row are one list",
    ),
    Fault(
        "verify/syntax.py",
        "isinstance(v, Variable)} - revised(program.body)",
        "isinstance(v, Variable)}",
        RULES,
        "changed, yet fixed",
    ),
    Fault(
        "verify/merged.py",
        "checked.returned_lists - changed",
        "checked.returned_lists",
        ("tests/verify/test_merged.py",),
        "a list that is changed is said to begin as it ends",
    ),
    Fault(
        "verify/run.py",
        "if not 0 <= place < len(self.values[array]):",
        "if not place < len(self.values[array]):",
        ("tests/verify/test_run.py",),
        "a change counts from the end",
    ),
    # Lists of rows.
    weaker("pair", "position({along or name})", "position({name})", "columns differ at places of their own"),
    Fault(
        "verify/rows.py",
        "Number(Fraction(-1), at=at)",
        "row",
        ("tests/verify/test_run.py", *RULES),
        "an entry that is not there is the first",
    ),
    Fault(
        "verify/rows.py",
        "*map(change, program.requires), *same",
        "*map(change, program.requires),",
        ("tests/verify/test_corpus.py::test_the_verdict_is_the_stated_one[rows_sums_of_columns]",),
        "columns of different lengths",
    ),
    Fault(
        "verify/domain.py",
        '    place = Variable(f"position({found.along or name})")',
        '    place = Variable(f"position({name})")',
        ("tests/verify/test_corpus.py::test_the_verdict_is_the_stated_one[rows_at_one_place]",),
        "the formula lets columns differ in different rows",
    ),
    # Runs that have not ended.
    Fault(
        "verify/ended.py",
        "return _minus(Quotient(UNIT, UNIT), outside)",
        "return inside",
        ("tests/verify/test_merged.py",),
        "what has not ended never happens",
    ),
    # Names and prints.
    weaker(
        "pair",
        'f"{name}[{number}]{{2}}"',
        'f"{name}\'[{number}]"',
        "the second run of q is the first of q'",
        FORGED,
    ),
    weaker(
        "table",
        "or z3.is_true(v) or z3.is_false(v) else exact(v) for v in values)",
        "or True else exact(v) for v in values)",
        "outputs that are printed in part are one",
        FORGED,
    ),
    Fault(
        "verify/python.py",
        " or changed & read:",
        ":",
        ("tests/verify/test_python.py",),
        "a range follows the list that it was read from",
    ),
    Fault(
        "verify/python.py",
        "longer = stored | _heads(body, ast.Attribute, ast.Load)",
        "longer = stored",
        ("tests/verify/test_python.py",),
        "a range follows a list that grows",
    ),
    Fault(
        "verify/python.py",
        'if hasattr(function, "__wrapped__"):',
        "if False:",
        ("tests/verify/test_python.py",),
        "a function is verified without what is wrapped around it",
    ),
    Fault(
        "verify/term.py",
        "self.need(right > 0)",
        "self.need(right != 0)",
        (f"{TRAP}[a remainder that may have no value]",),
        "a remainder by a negative number is computed",
    ),
    weaker(
        "meaning",
        "z3.And(right > 0, unknown",
        "z3.And(right != 0, unknown",
        "a remainder by a negative number has a value",
    ),
    weaker("pair", ", exactly=True)", ")", "a remainder of the header may be anything"),
)
