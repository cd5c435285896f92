"""Faults in the verifier's front, prover and refuter: each would prove, refute or accept something wrong."""

from tests.mutants.fault import Fault

_DOMAIN = ("tests/verify/test_domain.py",)
_NAMES = ("tests/verify/test_names.py",)
_HOSTILE = ("tests/verify/test_hostile.py",)
_LANGUAGE = ("tests/verify/test_language.py",)
_RUN = ("tests/verify/test_run.py",)


def _stated(name: str) -> tuple[str, ...]:
    return (f"tests/verify/test_corpus.py::test_the_verdict_is_the_stated_one[{name}]",)


def _trap(*names: str) -> tuple[str, ...]:
    head = "tests/verify/test_prover.py::test_a_program_that_fails_by_one_obligation_is_not_proved"
    return tuple(f"{head}[{name}]" for name in names)


def _sound(*names: str) -> tuple[str, ...]:
    head = "tests/verify/test_prover.py::test_what_the_traps_are_made_from_is_proved"
    return tuple(f"{head}[{name}]" for name in names)


def _program(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/verify/test_corpus.py::test_the_verdict_is_the_stated_one[{name}]" for name in names)


def _old_trap(name: str) -> tuple[str, ...]:
    return (f"tests/verify/test_soundness.py::test_a_trap_is_never_proved[{name}]",)


_RACE = ("tests/verify/test_race.py",)
_FORMULA = ("tests/verify/test_formula.py",)
_MERGED = ("tests/verify/test_merged.py",)

FAULTS = (
    # Paths that are put together
    Fault(
        "verify/merged.py",
        "for name, value in run.values.items() if not _noisy(value)}",
        "for name, value in run.values.items()}",
        _MERGED,
        "noise outlives the turn whose conditions it met",
    ),
    Fault(
        "verify/merged.py",
        "product_of(chance, path_probability(path, ()))",
        "path_probability(path, ())",
        _MERGED,
        "what happened in earlier turns has no weight",
    ),
    Fault(
        "verify/merged.py",
        "(env, sum_quotients(chances))",
        "(env, chances[0])",
        _MERGED,
        "one path stands for all that come to the same values",
    ),
    Fault(
        "verify/merged.py",
        "env[name] == items[: len(env[name])]",
        "len(env[name]) <= len(items)",
        _MERGED,
        "states are followed that cannot output what is wanted, until there are too many",
    ),
    # Appends that a coin chooses between
    Fault(
        "verify/resolve.py",
        "Conditional(statement.condition, x, y, x.at)",
        "Conditional(statement.condition, y, x, x.at)",
        ("tests/verify/test_run.py::test_a_coin_chooses_what_is_appended_and_where",),
        "the branches of a coin are exchanged",
    ),
    Fault(
        "verify/resolve.py",
        "coin in coins and r == s",
        "coin in coins",
        ("tests/verify/test_run.py::test_a_coin_chooses_what_is_appended_and_where",),
        "what belongs to one list is appended to another",
    ),
    # Formulas of neighbours
    Fault(
        "verify/header.py",
        'return Binary("and", *ways, found.at)',
        "return found",
        _FORMULA,
        "neighbours in one order only",
    ),
    Fault(
        "verify/header.py",
        'return Binary("and", *ways, found.at)',
        "return ways[0]",
        _FORMULA,
        "neighbours in one order, where the other has no value",
    ),
    Fault(
        "verify/domain.py",
        "always += [] if program.adjacency == TruthValue(True) else [program.adjacency]",
        "always += []",
        _FORMULA,
        "the formula of neighbours is not read",
    ),
    Fault(
        "verify/joint.py",
        "if private and not side:",
        "if False:",
        _FORMULA,
        "a formula that does not say which run it speaks of",
    ),
    Fault(
        "verify/certificate.py",
        'joint = (f"by {show(first)}, in either order",)',
        "joint = ()",
        _FORMULA,
        "a certificate does not say for which neighbours it holds",
    ),
    # Gumbel noise and other races
    Fault(
        "verify/race.py",
        "add(total, weight), size + count",
        "add(total, own), size + count",
        _RACE,
        "every score of a race counts as the first",
    ),
    Fault("verify/race.py", "if child in parents:", "if False:", _RACE, "one noise below two others"),
    Fault("verify/race.py", "if seen != len(children.keys() | parents):", "if False:", _RACE, "a circle"),
    Fault(
        "verify/race.py",
        "if densities[first] != densities[second]:",
        "if False:",
        _RACE,
        "Gumbel noise of two scales",
    ),
    Fault("verify/race.py", "location - lead", "location + lead", _RACE, "the score ahead is behind"),
    Fault(
        "verify/run.py",
        "low.is_exact() and low == high",
        "low.is_exact()",
        _RACE,
        "a Gumbel draw is told before its floor is known",
    ),
    Fault(
        "verify/run.py",
        "return _misused() if isinstance(value, Symbolic) else value",
        "return value",
        _RACE,
        "a number without an exact value leaves the program",
    ),
    # Names
    Fault(
        "verify/cursor.py",
        'RESERVED = KEYWORDS | {"size"} | set(LAWS) | set(FUNCTIONS)',
        "RESERVED = KEYWORDS",
        _NAMES,
        "a query may be called size, and its value is read as a length",
    ),
    Fault(
        "verify/resolve.py",
        "return name in self.earlier and not hidden",
        "return name in self.earlier",
        _NAMES,
        "an earlier procedure takes the place of a query parameter",
    ),
    Fault(
        "verify/resolve.py",
        '        while found in taken:\n            found += "\'"\n',
        "",
        _NAMES,
        "an inlined variable may be one of the caller's",
    ),
    Fault(
        "verify/resolve.py",
        "if isinstance(parameter.type, SensitiveQuery) and parameter.type.sensitivity in own | local:",
        "if False:",
        _NAMES,
        "an argument called GSg is overwritten by a sensitivity",
    ),
    Fault(
        "verify/resolve.py",
        "            if constant in own | local:\n",
        "            if False:\n",
        _NAMES,
        "the callee's eps becomes the caller's variable of that name",
    ),
    Fault(
        "verify/resolve.py",
        "mapping[parameter.type.sensitivity] = Variable(given.type.sensitivity, at=call.at)",
        "pass",
        _NAMES,
        "the sensitivity does not follow the query that is passed",
    ),
    Fault(
        "verify/resolve.py",
        "                changed[target] == 1\n",
        "                changed[target] >= 1\n",
        _LANGUAGE,
        "a variable that changes later is replaced by its first value",
    ),
    Fault(
        "verify/resolve.py",
        "if program.parameter(target) is not None:",
        "if False:",
        _LANGUAGE,
        "a private parameter may be overwritten",
    ),
    Fault(
        "verify/resolve.py",
        "if name not in used | own | bounds | {EPSILON} and not together:",
        "if False:",
        _HOSTILE,
        "a misprinted constant is assumed something of",
    ),
    Fault(
        "verify/kinds.py",
        '                if first != second:\n                    self.fail(f"a string of',
        '                if False:\n                    self.fail(f"a string of',
        _NAMES,
        "a key of one bit masks a message of eight",
    ),
    Fault(
        "verify/header.py",
        'if not p.stated and p.type in (Scalar("int"), Scalar("real")) and p.name not in differing',
        "if not p.stated and isinstance(p.type, Scalar)",
        _program("unmarked_bit"),
        "an unmarked bit is taken as public",
    ),
    # The formula of the inputs
    Fault(
        "verify/domain.py",
        "    yield from (_within(first, second, bound) for bound in bounds)\n",
        "",
        _DOMAIN,
        "the distance of a neighbours clause is forgotten",
    ),
    Fault(
        "verify/domain.py",
        '        yield Binary("or", _equal(here, place), _equal(first, second))\n',
        "        yield from ()\n",
        _DOMAIN,
        "all elements may change where only one may",
    ),
    Fault(
        "verify/domain.py",
        "        yield _at_least(value, found.low)\n",
        "",
        _DOMAIN,
        "the lower end of an interval is ignored",
    ),
    Fault(
        "verify/domain.py",
        '        yield Binary("<=", value, Number(Fraction(kind.high)))\n',
        "",
        _DOMAIN,
        "the upper end of a type's range is ignored",
    ),
    Fault(
        "verify/domain.py",
        "    always = [e for condition in single for e in _both(program, condition)]\n",
        "    always: list[Expr] = []\n",
        _DOMAIN,
        "what is required of the inputs is forgotten",
    ),
    Fault(
        "verify/domain.py",
        '            found.append((clause.name, ("up", "down")))\n',
        '            found.append((clause.name, ("down", "down")))\n',
        _trap("one-sided noise hides one direction only"),
        "one direction of monotone lists is never looked at",
    ),
    Fault(
        "verify/domain.py",
        "    combinations = list(product(*(senses for _, senses in oriented)))\n",
        "    combinations = [tuple(s[k] for _, s in oriented) for k in (0, 1)]\n",
        _DOMAIN,
        "two lists are assumed to move in the same direction",
    ),
    Fault(
        "verify/domain.py",
        'return found is not None and found.kind not in ("add-remove", "any")',
        'return found is not None and found.kind != "add-remove"',
        _trap("a private length"),
        "any two lists are assumed to be equally long",
    ),
    Fault(
        "verify/domain.py",
        'source = Conditional(Binary("<", here, place), Element(name, here, longer), after)',
        "source = Element(name, here, longer)",
        _DOMAIN,
        "only the last element may be missing",
    ),
    Fault(
        "verify/relate.py",
        "if shared and first[name] != second[name]:",
        "if False:",
        (
            "tests/verify/test_domain.py::test_neighbours_agree_on_what_is_public_and_satisfy_what_is_required",
        ),
        "neighbours may differ in what is public",
    ),
    Fault(
        "verify/relate.py",
        "return isinstance(value, Fraction | int) and value.denominator == 1",
        "return isinstance(value, Fraction | int)",
        _DOMAIN,
        "half an integer is a neighbour of an integer",
    ),
    Fault(
        "verify/relate.py",
        "if table.setdefault(tuple(given[name]), value) != value:",
        "if False:",
        _DOMAIN,
        "a query answers differently about equal data",
    ),
    Fault(
        "verify/relate.py",
        "if seen and max(seen) - min(seen) > first[parameter.type.sensitivity]:",
        "if False:",
        _DOMAIN,
        "a query moves further than its sensitivity",
    ),
    Fault(
        "verify/call.py",
        "    require_valid(checked, values)\n",
        "",
        _DOMAIN,
        "a program runs on inputs that its header excludes",
    ),
    # What the prover assumes
    Fault(
        "verify/neighbours.py",
        "self.facts += [distance <= bound, distance >= -bound]",
        "self.facts += [distance <= bound / 2, distance >= -bound / 2]",
        _DOMAIN,
        "a change is assumed to be half of what it may be",
    ),
    Fault(
        "verify/neighbours.py",
        "yield z3.RealVal(kind.high - kind.low)",
        "yield z3.RealVal(kind.high - kind.low - 1)",
        _trap("the range of a type is wider than the noise"),
        "a range is assumed to be narrower than it is",
    ),
    Fault(
        "verify/neighbours.py",
        "yield z3.simplify(real(self.header(found.high)) - real(self.header(found.low)))",
        "yield z3.simplify(real(self.header(found.high)) - real(self.header(found.low)) - 1)",
        _trap("an interval is wider than the noise"),
        "an interval is assumed to be narrower than it is",
    ),
    Fault(
        "verify/neighbours.py",
        "self.facts += [second - first <= bound, first - second <= bound]",
        "self.facts += [second == first]",
        _trap("a query without noise"),
        "a query is assumed to give the same answer about neighbours",
    ),
    Fault(
        "verify/neighbours.py",
        "facts = [self.header(sided(clause, side), index, pair) for clause in ranges for side in (1, 2)]",
        "facts = []",
        _sound("a list of zeros"),
        "the range of an element is never used",
    ),
    Fault(
        "verify/shared.py",
        "same = is_synchronised(statement) or agrees(condition, frozenset(shared), program)",
        "same = True",
        _trap("a private branch is no public value"),
        "what a private branch assigns counts as public",
    ),
    Fault(
        "verify/shared.py",
        "        case Ask():\n            return False\n",
        "        case Ask():\n            return True\n",
        _trap("a query that is kept in a variable"),
        "a query's answer counts as public",
    ),
    Fault(
        "verify/shared.py",
        "                    if not (agreed and _drawn_alike(statement, frozenset(shared), program)):\n",
        "                    if not agreed:\n",
        _trap("the price is a little too high"),
        "noise counts as equal in both runs",
    ),
    # Obligations
    Fault(
        "verify/product.py",
        'return walk.later(state, "same output", at, _equal(first, second))',
        "return state",
        _trap("the prices of all turns add up"),
        "lists need not be the same in both runs",
    ),
    Fault(
        "verify/product.py",
        'state = walk.later(state, "same output", value.at, _equal(first, second))',
        "pass",
        _trap("a query without noise", "the price is a little too high"),
        "returned values need not be the same in both runs",
    ),
    Fault(
        "verify/product.py",
        "        state, first = walk.agree(condition, state)\n        second = first\n",
        "        state, first, _ = walk.value(condition, state)\n        second = first\n",
        _old_trap("a private branch that decides whether to draw"),
        "runs may draw in different branches",
    ),
    Fault(
        "verify/walker.py",
        '                state = self.before(state, "defined", expression.at, z3.Implies(live, need))\n',
        "                pass\n",
        _trap("a list may be too short", "an element before the first"),
        "a list may be read outside its bounds",
    ),
    Fault(
        "verify/walker.py",
        "            known = state if item.path is None else replace(state, path=item.path)\n",
        "            known = state\n",
        _trap("a choice among none where the program leaks"),
        "a law is assumed to exist before that is proved",
    ),
    Fault(
        "verify/draw.py",
        '            state = walk.before(state, "possible law", at, exists)\n',
        "",
        _trap("an interval is empty where the program leaks"),
        "an empty interval makes everything provable",
    ),
    Fault(
        "verify/draw.py",
        '            state = walk.before(state, "possible law", at, size >= 1)\n',
        "",
        _trap("nothing can be chosen"),
        "a choice from an empty list makes everything provable",
    ),
    Fault(
        "verify/draw.py",
        "z3.And(chance >= 0, chance <= 1)",
        "chance >= 0",
        _trap("a probability of three is never used"),
        "a probability may be above 1",
    ),
    Fault(
        "verify/draw.py",
        "spent = spent + real(absolute(distance))",
        "spent = spent + real(distance)",
        _trap("one draw moves up and another down"),
        "moving noise downwards earns money",
    ),
    Fault(
        "verify/draw.py",
        'state = walk.later(state, "support", at, noise + distance >= 0)',
        "pass",
        _trap("one-sided noise hides one direction only"),
        "one-sided noise may move out of its support",
    ),
    Fault(
        "verify/draw.py",
        'if law == "Geometric" and not z3.is_int(distance):',
        "if False:",
        _trap("integer noise hides no real number"),
        "integer noise may move by a fraction",
    ),
    Fault(
        "verify/draw.py",
        'state = walk.later(state, "centres", statement.at, z3.And(apart <= limit, -apart <= limit))',
        "pass",
        _trap("centres further apart than paid for"),
        "Gaussian centres may be any distance apart",
    ),
    Fault(
        "verify/draw.py",
        "spent = spent + choose(moved, z3.RealVal(1), z3.RealVal(0))",
        "spent = spent + z3.RealVal(0)",
        _trap("a response twice as honest as claimed"),
        "flipping an answer is free",
    ),
    Fault(
        "verify/law.py",
        'return Binary("*", Number(Fraction(2)), found.bound) if found.kind == "all" else found.bound',
        "return found.bound",
        _trap("a choice costs twice its rate"),
        "a choice among scores that all move costs its rate once",
    ),
    Fault(
        "verify/law.py",
        "_half_square(scale.inverse(), 2)",
        "_half_square(scale.inverse(), 4)",
        _old_trap("Gaussian noise with half the variance"),
        "Gaussian noise costs half of what it does",
    ),
    Fault(
        "verify/law.py",
        "    if not checked.is_shared(expression):\n        raise",
        "    if False:\n        raise",
        ("tests/verify/test_examples.py::test_the_verdict_is_the_stated_one[scale_mentions_data]",),
        "a scale may depend on private data",
    ),
    Fault(
        "verify/claim.py",
        'else (">=", "<")',
        'else ("<", ">=")',
        ("tests/verify/test_corpus.py::test_the_verdict_is_the_stated_one[claim_of_the_larger]",),
        "the larger of two rates is the smaller one",
    ),
    Fault(
        "verify/ratio.py",
        "total = plus(total, scaled(share, -1))",
        "total = plus(total, share)",
        _trap("the price is a little too high", "the prices of two draws add up"),
        "what is spent is added to what is allowed",
    ),
    Fault(
        "verify/loop.py",
        'walk.add(Clause("entry", statement.at, state.path, state.uses, (relation, values)))',
        "pass",
        _trap("the invariant fails on entry"),
        "an invariant is not checked on entry",
    ),
    Fault(
        "verify/loop.py",
        'walk.add(Clause("again", statement.at, end.path, end.uses, (relation, again)))',
        "pass",
        _trap("the invariant is not preserved", "the prices of all turns add up"),
        "an invariant is not checked after a turn",
    ),
    Fault(
        "verify/loop.py",
        '    state = walk.later(state, "step", at, lag)\n',
        "",
        _old_trap("the counter of a walk jumps over the element that may be missing"),
        "runs over lists of different lengths need not keep step",
    ),
    Fault(
        "verify/discharge.py",
        "    query.add(*inputs.facts, *inputs.inhabited())\n    return bool(query.check() != z3.unsat)\n",
        "    return True\n",
        _trap("contradictory assumptions"),
        "a claim about no input at all is proved",
    ),
    Fault(
        "verify/discharge.py",
        "*inputs.facts, *inputs.inhabited()",
        "*inputs.facts",
        _trap("an empty interval of data"),
        "a claim about data from an empty interval is proved",
    ),
    # Unknown epsilon, enumeration
    Fault(
        "verify/linear.py",
        "if slope else Fraction(constant)",
        "if slope or constant == 0 else Fraction(constant)",
        _DOMAIN,
        "0 * eps is not 0",
    ),
    Fault(
        "verify/linear.py",
        "return found | {0} if self.interval.contains(root) else found",
        "return found",
        _DOMAIN,
        "an end of the interval is forgotten in a comparison",
    ),
    Fault(
        "verify/explore.py",
        "    if isinstance(value, Linear) or value != 0:\n        raise",
        "    if not isinstance(value, Linear):\n        return Fraction(value)\n    if True:\n        raise",
        _program("response_of_one", "choice_at_rate_one"),
        "an exponent of 1 is read as eps",
    ),
    Fault(
        "verify/finite.py",
        "right = shifted(multiply(there.numerator, here.denominator), factor)",
        "right = shifted(multiply(there.numerator, here.denominator), 2 * factor)",
        ("tests/verify/test_finite.py",),
        "twice the claimed epsilon is allowed",
    ),
    Fault(
        "verify/finite.py",
        "            if single and sum(x != y for x, y in zip(a, b, strict=True)) > 1:\n",
        "            if single and sum(x != y for x, y in zip(a, b, strict=True)) > 0:\n",
        ("tests/verify/test_finite.py",),
        "lists of which one element differs are not compared",
    ),
    Fault(
        "verify/finite.py",
        "    low = exp_down(interval.low / period)\n",
        "    low = exp_up(interval.low / period) + 1\n",
        _DOMAIN,
        "small values of epsilon are not looked at",
    ),
    Fault(
        "verify/positive.py",
        "    yield left\n",
        "",
        _DOMAIN,
        "the sign before a root is not looked at",
    ),
    Fault(
        "verify/positive.py",
        "        elif count > 1:\n",
        "        elif count > 2:\n",
        _DOMAIN,
        "two roots close together hide the sign between them",
    ),
    # Refutations, comparisons, limits, texts
    Fault(
        "verify/space.py",
        "return pair if are_neighbours(self.checked, pair.first, pair.second) else None",
        "return pair",
        _program("integers_move_by_whole_steps"),
        "a counterexample need not be neighbours",
    ),
    Fault(
        "verify/candidate.py",
        "        if are_neighbours(checked, one, two):\n",
        "        if True:\n",
        _program("integers_move_by_whole_steps", "replaced_by_at_most_one"),
        "an arrangement is believed to be neighbours",
    ),
    Fault(
        "verify/bell.py",
        "    if not (below > 0 and above > below):\n        return None\n",
        "    if not (below > 0 and above > below):\n        return Fraction(0)\n",
        ("tests/verify/test_bell.py",),
        "a probability that cannot be told from zero counts as zero, and a concentrated claim as broken",
    ),
    Fault(
        "verify/bell.py",
        "    return _above(ball(-item.constant) / ball(variance).sqrt())\n",
        "    return _above(ball(-item.constant) / ball(variance))\n",
        ("tests/verify/test_bell.py",),
        "a half-space under normal noise weighs too much or too little",
    ),
    Fault(
        "verify/bell.py",
        "    everything = _sum(scale, 1, None) * 2 + 1\n",
        "    everything = _sum(scale, 1, None) * 2\n",
        ("tests/verify/test_bell.py",),
        "integer noise is never zero, and weighs more elsewhere",
    ),
    Fault(
        "verify/refute.py",
        "epsilon, delta = max(claim[0], other[0]), max(claim[1], other[1])",
        "epsilon, delta = claim[0] / 2, claim[1]",
        _program("response_truth", "laplace_exact", "geometric_exact"),
        "half of the claim counts as broken",
    ),
    Fault(
        "verify/equal.py",
        "if not all(_valid(inputs, real(a) == real(b)) for a, b in zip(first, second, strict=True)):",
        "if False:",
        _HOSTILE,
        "draws of different scales count as equal",
    ),
    Fault(
        "verify/equal.py",
        "    if valid(one.program) != valid(other.program):\n",
        "    if False:\n",
        _HOSTILE,
        "programs with different assumptions are compared",
    ),
    Fault(
        "verify/lexer.py",
        r"(?P<number>[0-9]+\.[0-9]+|[0-9]+)",
        r"(?P<number>\d+\.\d+|\d+)",
        _HOSTILE,
        "digits of other scripts are numbers",
    ),
    Fault(
        "verify/limit.py",
        "ends = _end.set(min(_end.get(), time.process_time() + max(seconds, 0.0)))",
        "ends = _end.set(time.process_time() + max(seconds, 0.0))",
        _HOSTILE,
        "an inner limit extends an outer one",
    ),
    Fault(
        "verify/limit.py",
        "if asked % EVERY == 0 and 0 < _most.get() < resident():",
        "if False:",
        _HOSTILE,
        "the limit of memory is never looked at",
    ),
    Fault(
        "verify/run.py",
        '    require(value > 0, "the scale must be positive", statement)\n',
        "",
        _RUN,
        "noise of a negative scale is drawn",
    ),
    Fault(
        "verify/run.py",
        "isinstance(second, int | Fraction) and second <= 0:",
        "False:",
        _HOSTILE,
        "a remainder by zero ends in an error of the machine",
    ),
    # Loops of secret length, lists read back, variables that begin anew: without them nothing is proved.
    Fault(
        "verify/shared.py",
        "apart = is_quiet(body) and not agrees(condition, frozenset(shared), program)",
        "apart = False",
        _stated("turns_of_a_secret_number"),
        "runs agree on what turns of their own compute",
    ),
    Fault(
        "verify/loop.py",
        "merge(second, state.right, head.right)",
        "merge(first, state.right, head.right)",
        _stated("turns_of_a_secret_number"),
        "the second run waits where the first does",
    ),
    Fault(
        "verify/written.py",
        "| {loop: _own_ends(s) for loop, s in apart.items()}",
        "",
        _stated("turns_of_a_secret_number"),
        "a proof does not say where runs wait",
    ),
    Fault(
        "verify/template.py",
        "assigned(checked.program.body if fills else body)",
        "assigned(body)",
        _stated("max_read_back"),
        "a draw into a list decides nothing",
    ),
    Fault(
        "verify/contribution.py",
        "z3.Or(result != PLACE, counter <= PLACE, PLACE < 0)",
        "z3.Or(result != PLACE, counter <= PLACE)",
        _stated("max_read_back"),
        "a list is ahead before its beginning",
    ),
    Fault(
        "verify/lifetimes.py",
        "if isinstance(types[name], Scalar) and name not in checked.shared:",
        "if False:",
        _stated("one_counter_twice"),
        "a counter that begins anew is the old one",
    ),
    Fault(
        "verify/lifetimes.py",
        "return Variable(_original(name), side, at)",
        "return Variable(name, side, at)",
        _stated("one_counter_twice"),
        "a proof speaks of names that the program does not have",
    ),
    Fault(
        "verify/loop.py",
        "if walk.concentrated:\n        return ()\n    found",
        "if True:\n        return ()\n    found",
        _stated("best_of_every_round"),
        "what a round will tell is not known inside it",
    ),
    Fault(
        "verify/refute.py",
        'back = Predicate("<=", low) if a > b',
        'back = Predicate("<=", low) if a >= b',
        _stated("count_shown_above_a_low_bar"),
        "noise that the other input does not tell is looked at from one side",
    ),
)
