"""The verifier's kernel with each of its rules weakened once."""

from tests.mutants.fault import Fault

RULES = ("tests/verify/test_rules.py",)
FORGED = ("tests/verify/test_forgery.py",)


def weaker(module: str, old: str, new: str, why: str, tests: tuple[str, ...] = RULES) -> Fault:
    return Fault(f"verify/kernel/{module}.py", old, new, tests, why)


def dropped(old: str, why: str, new: str = "") -> Fault:
    """Return the walk without an obligation."""
    return weaker("walk", old, new, why)


FAULTS = (
    # Ends and results.
    weaker("walk", "z3.And(chance > 0, chance < 1)", "TRUE", "a loop ends by a coin that never falls"),
    weaker(
        "coin",
        'case [*_, tree.Sample(_, "Bernoulli", (chance,))]:',
        'case [*_, tree.Sample(_, "Bernoulli", (chance,))] | [*_, tree.Sample(_, _, (chance,)), _]:',
        "a coin may be overruled after it was tossed",
    ),
    weaker(
        "walk",
        "final = tree.assigned((statement,)) - tree.assigned(body[place + 1 :])",
        "final = tree.assigned((statement,))",
        "a result is taken for final before it is",
    ),
    # What is asked at all.
    weaker("__init__", "deadline) != z3.unsat:", "deadline) == None:", "nothing has to be proved"),
    weaker(
        "__init__",
        "if not any(_question(walk.pair, end, deadline) == z3.sat for end in walk.ends):",
        "if False:",
        "a proof about no input is accepted",
    ),
    weaker(
        "__init__",
        "if sorted(sorted(way.items()) for way in wanted) != sorted(sorted(way.items()) for way in given):",
        "if False:",
        "one order of the neighbours is proved for all",
    ),
    weaker("walk", "for item in state.due:", "for item in state.due[:0]:", "what waits is forgotten"),
    # Costs.
    weaker(
        "walk",
        "z3.And(*(spent <= limit for limit in limits))",
        "z3.BoolVal(True)",
        "the cost is not compared with the claim",
    ),
    weaker(
        "walk",
        "price = first if flip is not None else 1 / first",
        "price = first if flip is not None else 1 / (2 * first)",
        "noise is half price",
    ),
    weaker("walk", '(8 if law == "ExpMech" else 2)', '(8 if law == "ExpMech" else 4)', "rho is half price"),
    weaker("walk", '(8 if law == "ExpMech" else 2)', "9", "a choice under rho is cheaper"),
    weaker("walk", "if self.concentrated else price\n", "\n", "epsilon is squared like rho"),
    weaker("walk", "log = log_up(1 / chance)", "log = log_up(1 / chance) / 2", "delta counts for its root"),
    weaker("walk", "if not 0 < chance < 1 or most < 0:", "if False:", "Gaussian noise without a delta"),
    weaker("walk", "epsilon, state, side >= 0)", "epsilon, state, TRUE)", "delta may be negative"),
    weaker("walk", "z3.If(move >= 0, move, -move)", "move", "a move backwards earns"),
    weaker(
        "walk",
        "z3.If(move != 0, z3.RealVal(1), z3.RealVal(0))",
        "z3.RealVal(0)",
        "a flip is free",
    ),
    weaker("walk", 'z3.RealVal(1 if law == "ExpMech" else 0)', "z3.RealVal(0)", "a choice is free"),
    weaker(
        "walk", 'Fraction(2 if relation.kind == "all" else 1)', "Fraction(1)", "all scores change for one"
    ),
    weaker(
        "walk",
        'moved[inner.site] = z3.Real(f"moved({inner.site})@{self.fresh}")',
        "pass",
        "what a loop moves is not counted",
    ),
    # Laws.
    weaker(
        "walk",
        'self.prove("the laws may differ", draw, state, first == second)',
        "pass",
        "a scale may be private",
    ),
    weaker(
        "walk",
        'self.prove("a scale may not be positive", draw, state, first > 0)',
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
    weaker("walk", "possible = low < high if", "possible = low == low if", "an interval may be empty"),
    weaker("walk", "draw, state, size >= 1)", "draw, state, size == size)", "a choice among none"),
    weaker("walk", "draw, state, noise + move >= 0)", "draw, state, noise >= 0)", "noise leaves its support"),
    weaker(
        "walk",
        "move = z3.ToInt(real(move))",
        "state = replace(state, due=state.due[:-1])",
        "half a step of integers",
    ),
    weaker("walk", "z3.And(gap <= move, -gap <= move)", "gap <= gap", "centres may be anywhere"),
    weaker(
        "walk",
        "self.concentrated = gaussian or isinstance",
        "self.concentrated = isinstance",
        "Gaussian noise costs epsilon",
    ),
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
    weaker("walk", "statement, state, self.formula(fact, state))", "statement, state, TRUE)", "no entry"),
    weaker("walk", "statement, end, self.formula(fact, end))", "statement, end, TRUE)", "no preservation"),
    weaker("walk", "z3.And(before >= 0, now <= before - 1)", "before >= 0", "no variant falls"),
    weaker("walk", "z3.And(before >= 0, now <= before - 1)", "now <= before - 1", "a variant falls for ever"),
    weaker(
        "walk", "            if name in touched:\n", "            if name in ():\n", "a loop changes nothing"
    ),
    weaker(
        "walk",
        "values = {key: choose(wait, term, after.values[key]) for key, term in state.values.items()}",
        "values = {key: after.values[key] for key in state.values}",
        "nobody waits",
    ),
    # Meaning.
    weaker("walk", "state, z3.Implies(live, need))", "state, TRUE)", "everything has a value"),
    weaker("meaning", "self.need(right != 0)", "self.need(right == right)", "one may divide by zero"),
    weaker("walk", "self.pair.size(array, own or side)))\n", "index + 1))\n", "lists have no end"),
    weaker("state", "if len(set(numbers)) != len(numbers):", "if False:", "two draws have one number"),
    weaker("state", "if len(set(names)) != len(names) or", "if", "two parameters have one name"),
    # Neighbours.
    weaker("pair", 'if self.kind(name) == "any":', "if False:", "any two lists have one length"),
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
    weaker(
        "table",
        "sum(gap != 0 for gap in gaps) > 1",
        "sum(gap != 0 for gap in gaps) > 0",
        "nobody has neighbours",
    ),
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
        "table", "excess * b * d - gap * whole, whole * b * d", "-gap, b * d", "only the last excess counts"
    ),
    weaker("table", "if not inputs or", "if", "no input is needed"),
    weaker("table", "!= laws.keys()", "== None", "inputs may be missing", FORGED),
    weaker(
        "table",
        "stated.keys() != law.keys() or any(a * law[o][1] != law[o][0] * b for o, (a, b) in stated.items())",
        "False",
        "weights are not added up",
        FORGED,
    ),
    weaker("table", "if not isinstance(truth, bool):", "if False:", "an open comparison is true"),
)
