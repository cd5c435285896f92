"""Two runs of a program on neighbouring inputs, walked together: what must hold for a proof by alignment.

Theorem (alignment).  Fix neighbours D1, D2 and a value w of the discrete part of the output: which append
made each element of a returned list, and the integers and truth values among them and returned.  Let the
t-th draw of the second run be that of the first moved by s_t, a function of w, the inputs and the draws
before t.  If for all draws under which M(D1) outputs w the moved draws (i) take M(D2) through the same draws,
appends and turns of loops, (ii) to the same output, (iii) at total cost at most c, and (iv) stay in the
support of their laws, then Pr[M(D1) in S] <= exp(c) Pr[M(D2) in S] for all S.
Proof.  For fixed w the moves are triangular with unit Jacobian, hence injective and measure preserving, and
change the density by at most exp(c); sum over the countably many w.

That the first run outputs w speaks of the first run alone, so what it does later may be used earlier: an
obligation waits for it until the next loop, or until this loop comes round.  A variable that is returned has
its returned value as soon as nothing assigns it any more.

Theorem (costs).  A draw moved by t costs |t| / b for Laplace(b), for Geometric(b) with integer t, for
Exponential(b) that stays above 0, and for Gumbel(b) that moves up.  A Response(e) that is flipped costs e; a
uniform bit string combined by xor with another costs nothing.  ExpMech(e, u) that draws the same index costs
e B if the differences of two scores change by at most B.  Any other draw is the same from the same law, for
nothing.
Proof for Gumbel.  Its density at b z is proportional to exp(-z - exp(-z)), which from z to z + t, t >= 0,
falls by the factor exp(t + exp(-z - t) - exp(-z)) <= exp(t).

Theorem (concentration).  Under a claim of rho, or of epsilon and delta with Gaussian draws or where the proof
asks for it (advanced composition), there is no w and nothing waits.
The same Gaussian(s) around centres c apart costs rho = c**2 / (2 s**2), and so does
DiscreteGaussian(s) if c is an integer; what costs epsilon = c above costs rho = c**2 / 2, and ExpMech
c**2 / 8.  If the costs along every history of draws add up to at most rho, the program is rho-concentrated
private, and (rho + 2 sqrt(rho ln(1 / delta)), delta)-private for every delta in (0, 1).
Proof.  The Renyi divergence of order a between the draws is at most a times the cost, given any history,
hence in all (composition with a bound on the sum).  For Gaussians it is a c**2 / (2 s**2), for discrete ones
no more (Canonne, Kamath, Steinke 2020); an epsilon-private draw has at most a epsilon**2 / 2, and one whose
log-odds move by at most epsilon, as those of ExpMech, a epsilon**2 / 8 by Hoeffding's lemma (Cesar, Rogers
2021).  The last step is Bun and Steinke's (2016): with r = sqrt(rho) and l = sqrt(ln(1 / delta)) it asks
(r + l)**2 - l**2 <= epsilon.

Theorem (loops).  If an invariant holds on entry and every turn that both runs make together preserves it,
then it holds whenever the loop comes round, and after it.  Both runs make as many turns: that their
conditions agree may wait, within the turn or after the loop, as above.  In a loop that only computes a run
may sit out turns, as long as it takes a turn only where its own condition holds and both conditions fail in
the end.  A number that is not negative and falls by 1 at every turn bounds the turns; see also `tossed`.
"""

from collections.abc import Set
from dataclasses import dataclass, field, replace
from fractions import Fraction

import z3

from discreet.exact.number import exp_up, log_up, sqrt_down, sqrt_up
from discreet.verify import syntax as tree
from discreet.verify.kernel.meaning import TRUE, ZERO, Sight, Term, choose, equal, exact, real, refuse, whole
from discreet.verify.kernel.pair import Pair
from discreet.verify.kernel.state import START, Obligation, State, flipped, influenced, quiet, tossed

DRAWN: dict[str, tree.Kind] = {"UniformBits": "bits", "Bernoulli": "bool", "Response": "bool"}
DRAWN |= {"Geometric": "int", "DiscreteGaussian": "int", "UniformInt": "int", "ExpMech": "int"}
GAUSSIAN = ("Gaussian", "DiscreteGaussian")
PLACE = z3.Int("place(0)")
NOISE = ("Laplace", "Geometric", "Exponential", "Gumbel", *GAUSSIAN)


@dataclass(slots=True)
class Walk:
    """One walk through a program with one part of a certificate."""

    pair: Pair
    part: tree.Part
    reals: Set[str]
    """The variables that hold a real number although they may begin as an integer: a hint, never believed."""
    obligations: list[Obligation] = field(default_factory=list)
    ends: list[tuple[Term, ...]] = field(default_factory=list)
    """What is known where the program returns."""
    visits: dict[int, int] = field(default_factory=dict)
    prices: dict[int, Term] = field(default_factory=dict)
    concentrated: bool = False
    """Whether costs are those of zero-concentrated privacy."""

    def __post_init__(self) -> None:
        """Walk through the whole program."""
        body = self.pair.program.body
        draws = [s for s in tree.statements(body) if isinstance(s, tree.Sample)]
        if not self.part.moves.keys() <= {draw.site for draw in draws}:
            raise refuse("the certificate moves a draw that the program does not make")
        gaussian = any(draw.law in GAUSSIAN for draw in draws) or self.part.concentrated
        self.concentrated = gaussian or isinstance(self.pair.program.claim, tree.Rho)
        self.prices = {draw.site: self.price(draw) for draw in draws}
        fixed = influenced(body, set()) if self.part.notes else set()
        for term in (self.part.picked, *self.part.notes.values()):
            uses = {part.function for part in tree.subexpressions(term) if isinstance(part, tree.Apply)}
            if tree.names(term) & fixed or not uses <= {"result", "note", "drawn", "min", "max", "abs"}:
                raise refuse("what is noted may depend on a draw that moves")
        begin = [f"moved({site})" for site in self.prices] + [f"note({key})" for key in self.part.notes]
        states = [State({(name, 0): z3.RealVal(0) for name in begin})]
        for place, statement in enumerate(body):
            final = tree.assigned((statement,)) - tree.assigned(body[place + 1 :])
            states = [self.told(final, end) for begin in states for end in self.block((statement,), begin)]

    def told(self, final: set[str], state: State) -> State:
        """Note the results that are known by now: of variables that nothing assigns any more."""
        for place, value in enumerate(self.pair.program.returned, start=1):
            if isinstance(value, tree.Variable) and value.name in final and (value.name, 1) in state.values:
                state = self.fixed(z3.Int(f"result({place})"), state.values[value.name, 1], state)
        return state

    def fixed(self, part: Term, first: Term, state: State) -> State:
        """Note that the first run outputs a value, which is a part of the fixed output if it is discrete."""
        return self.assume(state, part == whole(first)) if z3.is_int(whole(first)) else state

    def price(self, draw: tree.Sample) -> Term:
        """Return the cost of moving a draw by 1, or of drawing it alike, in public constants."""
        flip, law = flipped(draw), draw.law
        if flip is None and law not in (*NOISE, "ExpMech"):
            return z3.RealVal(0)
        first, second = (real(term) for term in self.both(flip or draw.arguments[0], START))
        self.prove("the laws may differ", draw, START, first == second)
        self.prove("a scale may not be positive", draw, START, first > 0)
        price = 1 / first if law in NOISE else first * real(self.spread(draw)) if law == "ExpMech" else first
        return price * price / (8 if law == "ExpMech" else 2) if self.concentrated else price

    def tail(self, draw: tree.Sample) -> Fraction:
        """Return beyond how many scales a draw is given up."""
        if self.concentrated or draw not in self.pair.program.body or draw.law not in NOISE[:2]:
            raise refuse("only a Laplace or geometric draw that is surely made once has a tail", draw)
        return exact(self.formula(self.part.tails[draw.site], START))

    def spread(self, draw: tree.Sample) -> Term:
        """Return by how much the difference of two scores of ExpMech is said to change."""
        return self.formula(self.part.moves.get(draw.site, ZERO), START)

    # Obligations

    def prove(self, doubt: str, node: Term, state: State, goal: Term, side: int = 1) -> None:
        """Require a goal where the runs are now, if a run is live."""
        if not z3.is_true(goal := z3.simplify(z3.Implies(state.live[side - 1], goal))):
            self.obligations.append(Obligation(doubt, node, state.path, goal))

    def later(self, doubt: str, node: Term, state: State, goal: Term) -> State:
        """Require a goal, to be proved once more is known of the first run."""
        after = replace(state, due=(*state.due, Obligation(doubt, node, (), z3.Implies(state.live[0], goal))))
        return self.settle(after) if self.concentrated else after

    def settle(self, state: State) -> State:
        """Require everything that is due."""
        for item in state.due:
            self.prove(item.doubt, item.node, state, item.goal)
        return replace(state, due=())

    def assume(self, state: State, *facts: Term) -> State:
        """Note what the first run has done."""
        return replace(state, path=(*state.path, *(z3.Implies(state.live[0], fact) for fact in facts)))

    # Expressions

    def sight(self, state: State, side: int, *, ghosts: bool) -> Sight:
        """Return how names are looked up in a state; `ghosts` are what only certificates speak of."""

        def look(node: tree.Expr, index: Term = None) -> Term:
            match node:
                case tree.Variable(name, own) if (name, own or side) in state.values:
                    return state.values[name, own or side]
                case tree.Size(name) if (name, 0) in state.values:
                    return state.values[name, 0]
                case tree.Element(name, _, own) if (name, 0) in state.values:
                    sight.need(z3.And(index >= 0, index < state.values[name, 0]))
                    return z3.Select(state.values[name, own or side], index)
                case tree.Element() if not z3.substitute(index, (PLACE, z3.IntVal(0))).eq(index):
                    raise refuse("a fact about every place reads an input there", node)
                case tree.Apply(function, (tree.Variable(name, 0) | tree.Number(name),)) if ghosts:
                    return self.ghost(function, name, state)
            return self.pair.look(sight, side, node, index)

        sight = Sight(look)
        return sight

    def value(self, expression: tree.Expr, side: int, state: State) -> Term:
        """Return an expression in one run, which must have a value where it is live."""
        sight = self.sight(state, side, ghosts=False)
        term = z3.simplify(sight(expression))
        for need in sight.needs:
            self.prove("there may be no value", expression, state, need, side)
        return term

    def both(self, expression: tree.Expr, state: State) -> tuple[Term, Term]:
        """Return an expression in both runs."""
        return self.value(expression, 1, state), self.value(expression, 2, state)

    def formula(self, term: tree.Expr, state: State) -> Term:
        """Return a term of the certificate; it is total, since Z3 gives a quotient by zero some value."""
        return z3.simplify(self.sight(state, 1, ghosts=True)(term))

    def ghost(self, function: str, name: Term, state: State) -> Term:
        """Return what a draw has moved so far, a part of the fixed output, or where inputs differ."""
        if (f"{function}({name})", 0) in state.values:
            return state.values[f"{function}({name})", 0]
        if function == "position" and self.pair.kind(name) != "public":
            return self.pair.position(name)
        if function in ("result", "final") and not self.concentrated:
            return (z3.Int if function == "result" else z3.Real)(f"{function}({name})")
        if function in ("tag", "value") and (name, 0) in state.values and not self.concentrated:
            return output(function, name, state.values[name, 0])
        raise refuse(f"a term of the certificate applies {function}, which means nothing here")

    # Statements

    def block(self, block: tuple[tree.Statement, ...], state: State) -> list[State]:
        """Walk through statements; branches with loops inside do not meet again.

        There are no more paths than the certificate has invariants, one for each visit of a loop.
        """
        states = [state]
        for statement in block:
            states = [after for before in states for after in self.step(statement, before)]
        return states

    def step(self, statement: tree.Statement, state: State) -> list[State]:
        """Walk through one statement."""
        match statement:
            case tree.Assign(target, tree.Items(())):
                sort = z3.RealSort() if target in self.reals else z3.IntSort()
                blank = z3.Array(f"blank({target})", z3.IntSort(), sort)
                own, state = tree.remembered(self.pair.program), self.store(state, target, 0, z3.IntVal(0))
                return [self.set(state, target, (blank, blank)) if target in own else state]
            case tree.Assign(target, value):
                return [self.set(state, target, self.both(value, state))]
            case tree.Put(target, place, value):
                # What is changed must be there to be read.
                self.both(tree.Element(target, place, at=statement.at), state)
                return [self.keep(state, target, self.both(place, state), self.both(value, state))]
        rules: dict[Term, Term] = {tree.If: self.branch, tree.Append: self.append, tree.Sample: self.sample}
        rules |= {tree.While: self.loop, tree.Return: self.finish}
        if type(statement) not in rules:
            raise refuse("there is no rule for this statement", statement)
        return rules[type(statement)](statement, state)  # type: ignore[no-any-return]

    def store(self, state: State, target: str | int, side: int, term: Term) -> State:
        """Set a value, in one run or (side 0) of both."""
        term = real(term) if side and target in self.reals else term
        return replace(state, values={**state.values, (target, side): z3.simplify(term)})

    def set(self, state: State, target: str, terms: Term) -> State:
        """Set a value in both runs."""
        return self.store(self.store(state, target, 1, terms[0]), target, 2, terms[1])

    def keep(self, state: State, name: str, places: Term, terms: Term) -> State:
        """Set an element of a list in both runs, if the program reads or changes elements of it."""
        lists = [state.values[name, side] for side in (1, 2) if (name, side) in state.values]
        return self.set(state, name, [*map(z3.Store, lists, places, terms)]) if lists else state

    def branch(self, statement: tree.If, state: State) -> list[State]:
        """Let each run take its branch: the same, unless they only compute."""
        first, second = self.both(statement.condition, state)
        if not quiet((statement,)):
            state = self.later("the branches may differ", statement.condition, state, first == second)
            second = first
        ways = ((first, second), statement.positive), ((z3.Not(first), z3.Not(second)), statement.negative)
        if any(isinstance(inner, tree.While) for inner in tree.statements((statement,))):
            return [end for tests, block in ways for end in self.block(block, self.assume(state, tests[0]))]
        yes, no = (self.block(b, replace(state, live=(*map(z3.And, state.live, t),)))[0] for t, b in ways)
        sides = [(key, second if key[1] == 2 else first) for key in yes.values if key in no.values]
        values = {key: choose(test, yes.values[key], no.values[key]) for key, test in sides}
        path, due = (*yes.path, *no.path[len(state.path) :]), (*yes.due, *no.due[len(state.due) :])
        return [State(values, path, due, state.live)]

    def append(self, statement: tree.Append, state: State) -> list[State]:
        """Append in both runs; which append it was, and a discrete value, belong to the fixed output."""
        name, (first, second) = statement.target, self.both(statement.value, state)
        size = state.values[name, 0]
        after = self.keep(self.store(state, name, 0, size + 1), name, (size, size), (first, second))
        if name not in tree.growing(self.pair.program):
            return [after]
        after = self.assume(after, output("tag", name, size) == statement.tag)
        after = self.fixed(output("value", name, size), first, after)
        return [self.later("the outputs may differ", statement, after, equal(first, second))]

    def sample(self, draw: tree.Sample, state: State) -> list[State]:
        """Draw in both runs: the move is read before the draw, and the draw is a new symbol."""
        law, site, far = draw.law, draw.site, z3.RealVal(0)
        move = self.formula(self.part.moves.get(site, ZERO), state)
        kind = tree.Scalar(DRAWN.get(law, "real"), length=draw.length)
        first = second = noise = z3.FreshConst(self.pair.symbol("draw", kind).sort(), "draw")
        if law in NOISE:
            centres = self.both((*draw.arguments, ZERO)[1], state)
            gap, far = real(centres[1]) - real(centres[0]), real(z3.If(move >= 0, move, -move))
            if self.concentrated:
                self.prove("the centres may be further apart", draw, state, z3.And(gap <= move, -gap <= move))
                far, move = z3.If(gap == 0, z3.RealVal(0), real(move) * real(move)), -gap
            if site in self.part.tails:
                scales, most = self.prices[site] * real(noise), z3.RealVal(str(self.tail(draw)))
                state = self.assume(state, z3.If(most >= 0, scales <= most, scales >= most))
            missed = self.part.apart.get(site, tree.Variable("the second run knows of later draws", 2))
            if law not in DRAWN and 2 not in {getattr(e, "side", 0) for e in tree.subexpressions(missed)}:
                state = self.assume(state, noise != real(self.value(missed, 1, state)))
            if law in DRAWN:
                state = self.later("a move may not be an integer", draw, state, z3.IsInt(real(move)))
                move = z3.ToInt(real(move))
            if law == "Exponential":
                state = self.assume(state, noise >= 0)
            fits = {"Exponential": noise + move >= 0, "Gumbel": move >= 0}.get(law, TRUE)
            state = self.later("a move may leave the support, or may go down", draw, state, fits)
            first, second = centres[0] + noise, centres[1] + noise + move
        elif law == "UniformBits":
            second = noise if z3.is_arith(move) else noise ^ move
        elif flipped(draw) is not None:
            far, second = z3.If(move != 0, z3.RealVal(1), z3.RealVal(0)), z3.Xor(noise, move != 0)
        else:
            state, far = self.same(draw, noise, state), z3.RealVal(1 if law == "ExpMech" else 0)
        state = self.store(state, f"moved({site})", 0, state.values[f"moved({site})", 0] + far)
        state = self.note(draw, noise, move, state)
        return [self.set(state, draw.target, (first, second))]

    def note(self, draw: tree.Sample, noise: Term, move: Term, state: State) -> State:
        """Let notes be taken of a draw that is not picked, which must not move."""
        picked, seen = self.formula(self.part.picked, state), self.store(state, "drawn(0)", 0, noise)
        self.prove("a draw that is noted may move", draw, state, z3.Or(picked, move == 0))
        for key, update in self.part.notes.items():
            after = choose(picked, state.values[f"note({key})", 0], self.formula(update, seen))
            state = self.store(state, f"note({key})", 0, after)
        return state

    def same(self, draw: tree.Sample, noise: Term, state: State) -> State:
        """Draw the same value in both runs, from the same law but for the scores of ExpMech."""
        if draw.law == "ExpMech":
            name, other = draw.arguments[1].name, z3.FreshInt("another")  # type: ignore[union-attr]
            n, m = (self.pair.size(name, side) for side in (1, 2))
            self.prove("the laws may differ, or be impossible", draw, state, z3.And(n > 0, n == m))
            state = self.assume(state, noise >= 0, noise < n)
            here, there = (self.pair.read(name, k, 2) - self.pair.read(name, k, 1) for k in (noise, other))
            inside = self.assume(state, other >= 0, other < n)
            self.prove("the scores may change by more", draw, inside, here - there <= self.spread(draw))
            return state
        given = [self.both(argument, state) for argument in draw.arguments]
        for first, second in given:
            state = self.later("the laws may differ", draw, state, equal(first, second))
        low, high = given[0][0], given[-1][0]
        possible = {"Bernoulli": z3.And(low >= 0, low <= 1), "Uniform": low < high, "UniformInt": low <= high}
        self.prove("a parameter may be impossible", draw, state, possible[draw.law])
        return state if draw.law == "Bernoulli" else self.assume(state, noise >= low, noise <= high)

    def loop(self, statement: tree.While, state: State) -> list[State]:
        """Cut a loop at its invariant."""
        state, number = self.settle(state), statement.loop
        visit = self.visits[number] = self.visits.get(number, 0) + 1
        invariant, variant = self.part.invariants[number][visit - 1], self.part.variants.get(number, ZERO)
        for fact in invariant:
            self.prove("the invariant may not hold at first", statement, state, self.fact(fact, state))
        head = self.forget(statement, state)
        head = self.assume(head, *(z3.simplify(z3.ForAll(PLACE, self.fact(f, head))) for f in invariant))
        guards = self.both(statement.condition, head)
        waits = [self.formula(wait, head) for wait in self.part.waits.get(number, ())]
        on = z3.Or(*guards) if waits else guards[0]
        same = head if waits else self.later("the turns may differ", statement, head, guards[0] == guards[1])
        inside, after = self.assume(same, on), self.assume(same, z3.Not(on))
        for guard, wait in zip(guards, waits, strict=number in self.part.waits):
            self.prove("the turns may differ", statement, inside, z3.Or(guard, wait))
        before, draw = self.formula(variant, head), tossed(statement, variant)
        if draw is not None:
            self.prove("the loop may not end", statement, inside, z3.And(before, self.fails(variant, draw)))
        for end in self.turn(statement, inside, waits):
            end = self.settle(end)
            falls = z3.is_arith(before) and z3.And(before >= 0, self.formula(variant, end) <= before - 1)
            self.prove("the loop may not end", statement, end, falls if draw is None else TRUE)
            for fact in invariant:
                self.prove("a turn may break the invariant", statement, end, self.fact(fact, end))
            if any(term.sort() != end.values[key].sort() for key, term in head.values.items()):
                raise refuse("a variable that begins as an integer becomes a real number", statement)
        return [after]

    def fact(self, fact: tree.Expr, state: State) -> Term:
        """Return an invariant, which may speak of any place of the program's own lists."""
        return self.formula(fact, self.store(state, "place(0)", 0, PLACE))

    def fails(self, face: tree.Expr, draw: tree.Sample) -> Term:
        """Return that a condition on a draw fails with a chance above zero, whatever was drawn before."""
        ways, odds = [self.both(argument, START)[0] for argument in draw.arguments], z3.RealVal("1/2")
        match draw.law, face:
            case "Bernoulli" | "Response" as law, _:
                odds, ways = ways[0] if law == "Bernoulli" else odds, [TRUE, z3.Not(TRUE)]
            case "Uniform", tree.Binary("<" | "<=" | ">" | ">=" as sign, tree.Variable() as drawn, bar):
                self.value(bar, 1, START)  # no draw has a value there
                face = tree.Binary(f"{sign[0]}=", drawn, bar)
            case "Uniform", _:
                raise refuse("the loop may not end", draw)
        holds = [self.value(face, 1, State({(draw.target, 1): way})) for way in ways]
        return z3.And(odds > 0, odds < 1, z3.Not(z3.And(*holds)))

    def turn(self, statement: tree.While, state: State, waits: list[Term]) -> list[State]:
        """Let both runs make one turn, or one of them wait."""
        if not waits:
            return self.block(statement.body, state)
        if not quiet(statement.body):
            raise refuse("a run may wait only where both of them compute", statement)
        (after,) = self.block(statement.body, replace(state, live=(z3.Not(waits[0]), z3.Not(waits[1]))))
        values = {k: choose(waits[k[1] - 1], old, after.values[k]) for k, old in state.values.items() if k[1]}
        return [replace(state, values={**state.values, **values})]

    def forget(self, statement: tree.While, state: State) -> State:
        """Return a state that knows nothing of what a loop may change."""
        once = {f"moved({getattr(s, 'site', 0)})" for s in tree.statements(statement.body)}
        once |= {f"note({key})" for key in self.part.notes} | tree.lengthened(statement.body)
        touched = once, tree.assigned(statement.body), tree.assigned(statement.body)
        changing = [(key, old.sort()) for key, old in state.values.items() if key[0] in touched[key[1]]]
        fresh = {key: z3.FreshConst(sort, f"{key[0]}{{{key[1]}}}") for key, sort in changing}
        return replace(state, values={**state.values, **fresh})

    def finish(self, statement: tree.Return, state: State) -> list[State]:
        """Return the same from both runs, for no more than the claim."""
        for place, value in enumerate(statement.values, start=1):
            if not (isinstance(value, tree.Variable) and (value.name, 0) in state.values):
                first, second = self.both(value, state)
                state = self.fixed(z3.Int(f"result({place})"), first, state)
                state = self.later("the outputs may differ", value, state, equal(first, second))
            elif value.name not in tree.growing(self.pair.program):
                inside = z3.And(PLACE >= 0, state.values[value.name, 0] > PLACE)
                one, two = (z3.Select(state.values[value.name, side], PLACE) for side in (1, 2))
                state = self.later("the outputs may differ", value, state, z3.Implies(inside, one == two))
        notes = [z3.Real(f"final({key})") == state.values[f"note({key})", 0] for key in self.part.notes]
        state = self.settle(self.assume(state, *notes))
        spent = z3.Sum([price * state.values[f"moved({site})", 0] for site, price in self.prices.items()])
        within = z3.And(*(spent <= limit for limit in self.limits(State({}, state.path))))
        self.prove("the moves may cost too much", statement, state, within)
        self.ends.append(state.path)
        return []

    def limits(self, state: State) -> tuple[Term, ...]:
        """Return what the moves may cost, according to each run."""
        match self.pair.program.claim:
            case tree.Rho(rho):
                return self.both(rho, state)
            case tree.Secret() if not self.part.tails:
                return (z3.RealVal(0),)
            case tree.EpsilonClaim(epsilon, delta):
                slack, terms = self.both(delta or ZERO, state), self.both(epsilon, state)
                tails = [exact(self.formula(tail, START)) for tail in self.part.tails.values()]
                lost = z3.RealVal(str(sum((exp_up(-abs(tail)) for tail in tails), Fraction(0))))
                self.prove("delta may be too small", epsilon, state, z3.And(*(s >= lost for s in slack)))
                if not self.concentrated:
                    return terms
                most, chance = exact(terms[0]), exact(slack[0])
                if not 0 < chance < 1 or most < 0:
                    raise refuse("Gaussian noise needs a delta between 0 and 1", epsilon)
                log = log_up(1 / chance)
                root = max(sqrt_down(most + log) - sqrt_up(log), Fraction(0))
                return (z3.RealVal(str(root * root)),)
        raise refuse("a proof by alignment needs a claim")


def output(what: str, name: str, index: Term) -> Term:
    """Return which append made an element of the fixed output, or its discrete value."""
    return z3.Function(f"{what}({name})", z3.IntSort(), z3.IntSort())(index)
