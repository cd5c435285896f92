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

Theorem (costs).  A draw moved by t costs |t| / b for Laplace(b), for Geometric(b) with integer t, and for
Exponential(b) that stays above 0.  A Response(e) that is flipped costs e; a uniform bit string combined by
xor with another costs nothing.  ExpMech(e, u) that draws the same index costs e B where one score changes by
at most B, or all in one direction, and 2 e B where all change.  Any other draw is the same from the same law,
for nothing.

Theorem (concentration).  Under a claim of rho, or of epsilon and delta with Gaussian draws, there is no w
and nothing waits.  The same Gaussian(s) around centres c apart costs rho = c**2 / (2 s**2), and so does
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
the end.  A number that is not negative and falls by 1 at every turn bounds the turns.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import z3

from discreet.exact.number import log_up, sqrt_down, sqrt_up
from discreet.verify import syntax as tree
from discreet.verify.kernel.coin import flipped, tossed
from discreet.verify.kernel.meaning import TRUE, Sight, Term, choose, discrete, equal, real, refuse, whole
from discreet.verify.kernel.pair import Pair, relation_of
from discreet.verify.kernel.state import Node, Obligation, Part, State, WiderError, merged, quiet, shapely

ZERO = tree.Number(Fraction(0))
WHOLE = ("Geometric", "DiscreteGaussian", "UniformInt", "ExpMech")
DRAWN: dict[str, tree.Kind] = {"UniformBits": "bits", "Bernoulli": "bool", "Response": "bool"}
GAUSSIAN = ("Gaussian", "DiscreteGaussian")
NOISE = ("Laplace", "Geometric", "Exponential", *GAUSSIAN)


@dataclass(slots=True)
class Walk:
    """One walk through a program with one part of a certificate."""

    pair: Pair
    part: Part
    reals: set[str]
    """The variables that hold a real number at some loop."""
    obligations: list[Obligation] = field(default_factory=list)
    ends: list[tuple[Term, ...]] = field(default_factory=list)
    """What is known where the program returns."""
    visits: dict[int, int] = field(default_factory=dict)
    prices: dict[int, Term] = field(default_factory=dict)
    fresh: int = 0
    concentrated: bool = False
    """Whether costs are those of zero-concentrated privacy."""

    def start(self) -> None:
        """Walk through the whole program."""
        shapely(self.pair.program)
        draws = [s for s in tree.statements(self.pair.program.body) if isinstance(s, tree.Sample)]
        state = State({}, {draw.site: z3.RealVal(0) for draw in draws}, {})
        if not self.part.moves.keys() <= state.moved.keys():
            raise refuse("the certificate moves a draw that the program does not make")
        gaussian = any(draw.law in GAUSSIAN for draw in draws)
        self.concentrated = gaussian or isinstance(self.pair.program.claim, tree.Rho)
        for draw in draws:
            self.prices[draw.site] = self.price(draw, state)
        states, body = [state], self.pair.program.body
        for place, statement in enumerate(body):
            ends = [end for begin in states for end in self.block((statement,), begin)]
            final = tree.assigned((statement,)) - tree.assigned(body[place + 1 :])
            states = [self.told(final, end) for end in ends]

    def told(self, final: set[str], state: State) -> State:
        """Note the results that are known by now: of variables that nothing assigns any more."""
        for place, value in enumerate(self.pair.program.body[-1].values, start=1):  # type: ignore[union-attr]
            if isinstance(value, tree.Variable) and value.name in final & {name for name, _ in state.values}:
                state = self.result(place, state.values[value.name, 1], state)
        return state

    def result(self, place: int, first: Term, state: State) -> State:
        """Note that the first run returns a value, which belongs to the fixed output if it is discrete."""
        if self.concentrated or not discrete(first):
            return state
        return self.assume(state, z3.Int(f"result({place})") == whole(first))

    def price(self, draw: tree.Sample, state: State) -> Term:
        """Return the cost of moving a draw by 1, or of drawing it alike, in public constants."""
        flip, law, arguments = flipped(draw), draw.law, draw.arguments
        if flip is None and law not in (*NOISE, "ExpMech"):
            return z3.RealVal(0)
        first, second = (real(term) for term in self.both(flip or arguments[0], state))
        self.prove("the laws may differ", draw, state, first == second)
        self.prove("a scale may not be positive", draw, state, first > 0)
        price = first if flip is not None else 1 / first
        if law == "ExpMech":
            price = first * real(self.both(self.change(arguments[1]), state)[0])
        return price * price / (8 if law == "ExpMech" else 2) if self.concentrated else price

    def change(self, scores: tree.Expr) -> tree.Expr:
        """Return how much the log-odds of two indices of ExpMech may change, per unit of its rate."""
        parameter, array = self.pair.parameter(scores.name, tree.Array)  # type: ignore[union-attr]
        relation = relation_of(self.pair.program, parameter)
        if relation.bound is not None:
            return tree.Binary("*", tree.Number(Fraction(2 if relation.kind == "all" else 1)), relation.bound)
        if relation.kind == "replace" and relation.low is not None and relation.high is not None:
            return tree.Binary("-", relation.high, relation.low)
        if relation.kind == "replace" and array.element.high is not None:
            return tree.Number(Fraction(array.element.high - array.element.low))
        raise refuse("the scores may change by any amount", scores)

    # Obligations

    def prove(self, doubt: str, node: Node, state: State, goal: Term) -> None:
        """Require a goal where the runs are now."""
        if not z3.is_true(goal := z3.simplify(goal)):
            self.obligations.append(Obligation(doubt, node, state.path, goal))

    def later(self, doubt: str, node: Node, state: State, goal: Term) -> State:
        """Require a goal, to be proved once more is known of the first run."""
        if self.concentrated:
            self.prove(doubt, node, state, goal)
            return state
        return replace(state, due=(*state.due, Obligation(doubt, node, (), goal)))

    def settle(self, state: State) -> State:
        """Require everything that is due."""
        for item in state.due:
            self.prove(item.doubt, item.node, state, item.goal)
        return replace(state, due=())

    def assume(self, state: State, *facts: Term) -> State:
        """Note what the first run has done."""
        if not all(z3.is_bool(fact) for fact in facts):
            raise refuse("the certificate states something that is neither true nor false")
        return replace(state, path=(*state.path, *facts))

    # Expressions

    def sight(self, state: State, side: int, *, ghosts: bool) -> Sight:
        """Return how names are looked up in a state; `ghosts` are what only certificates speak of."""

        def look(node: tree.Expr, index: Term = None) -> Term:
            match node:
                case tree.Variable(name, own):
                    held = state.values.get((name, own or side))
                    return self.pair.scalar(name, own or side) if held is None else held
                case tree.Element(array, _, own) if z3.is_int(index):
                    sight.need(z3.And(index >= 0, index < self.pair.size(array, own or side)))
                    return self.pair.read(array, index, own or side)
                case tree.Size(array, own):
                    held = state.length.get(array)
                    return self.pair.size(array, own or side) if held is None else held
                case tree.Ask(query, data, own):
                    return self.pair.ask(query, data, own or side)
                case tree.Apply(function, (tree.Variable(name, 0) | tree.Number(name),)) if ghosts:
                    return self.ghost(function, name, state)
            raise refuse("there is no rule for this expression", node)

        sight = Sight(look)
        return sight

    def value(self, expression: tree.Expr, side: int, state: State, live: Term) -> Term:
        """Return an expression in one run, which must have a value where it is live."""
        sight = self.sight(state, side, ghosts=False)
        term = z3.simplify(sight(expression))
        for need in sight.needs:
            self.prove("there may be no value", expression, state, z3.Implies(live, need))
        return term

    def both(self, expression: tree.Expr, state: State) -> tuple[Term, Term]:
        """Return an expression in both runs."""
        return self.value(expression, 1, state, TRUE), self.value(expression, 2, state, TRUE)

    def formula(self, term: tree.Expr, state: State) -> Term:
        """Return a term of the certificate; it is total, since Z3 gives a quotient by zero some value."""
        return z3.simplify(self.sight(state, 1, ghosts=True)(term))

    def ghost(self, function: str, name: Any, state: State) -> Term:
        """Return what only a certificate speaks of: moves so far, the fixed output, the change of inputs."""
        if function == "moved" and name in state.moved:
            return state.moved[name]
        if function == "result" and not self.concentrated:
            return z3.Int(f"result({name})")
        if function in ("tag", "value") and name in state.length and not self.concentrated:
            return z3.Function(f"{function}({name})", z3.IntSort(), z3.IntSort())(state.length[name])
        if function in ("position", "change", "extra") and self.pair.kind(name) != "public":
            first, second = self.pair.element(name, self.pair.position(name))
            values = {"position": self.pair.position(name), "extra": first}
            return values[function] if function in values else second - first
        raise refuse(f"a term of the certificate applies {function}, which means nothing here")

    # Statements

    def block(self, block: tuple[tree.Statement, ...], state: State) -> list[State]:
        """Walk through statements; branches with loops inside do not meet again."""
        states = [state]
        for statement in block:
            states = [after for before in states for after in self.step(statement, before)]
            if len(states) > MOST:
                raise refuse(f"more than {MOST} paths lead through loops", statement)
        return states

    def step(self, statement: tree.Statement, state: State) -> list[State]:
        """Walk through one statement."""
        match statement:
            case tree.Assign(target, tree.Items(())):
                return [replace(state, length={**state.length, target: z3.IntVal(0)})]
            case tree.Assign() | tree.If() if quiet((statement,)):
                return [self.alone((statement,), 2, self.alone((statement,), 1, state, TRUE), TRUE)]
            case tree.If():
                return self.branch(statement, state)
            case tree.Append():
                return [self.append(statement, state)]
            case tree.Sample():
                return [self.sample(statement, state)]
            case tree.While():
                return [self.loop(statement, state)]
            case tree.Return():
                return self.finish(statement, state)
        raise refuse("there is no rule for this statement", statement)

    def alone(self, block: tuple[tree.Statement, ...], side: int, state: State, live: Term) -> State:
        """Execute statements that only compute, in one run, where it is live."""
        for statement in block:
            match statement:
                case tree.Assign(target, value) if not isinstance(value, tree.Items):
                    state = self.store(state, target, side, self.value(value, side, state, live))
                case tree.If(condition, positive, negative):
                    test = self.value(condition, side, state, live)
                    yes = self.alone(positive, side, state, z3.And(live, test))
                    no = self.alone(negative, side, state, z3.And(live, z3.Not(test)))
                    state = replace(state, values=merged(test, yes.values, no.values))
                case _:
                    raise refuse("there is no rule for this statement here", statement)
        return state

    def store(self, state: State, target: str, side: int, term: Term) -> State:
        """Assign in one run."""
        term = real(term) if target in self.reals else term
        return replace(state, values={**state.values, (target, side): z3.simplify(term)})

    def branch(self, statement: tree.If, state: State) -> list[State]:
        """Let both runs take the same branch."""
        first, second = self.both(statement.condition, state)
        state = self.later("the branches may differ", statement.condition, state, first == second)
        ways = ((first, statement.positive), (z3.Not(first), statement.negative))
        if any(isinstance(inner, tree.While) for inner in tree.statements((statement,))):
            return [end for test, block in ways for end in self.block(block, self.assume(state, test))]
        plain = replace(state, due=())
        ends = [(test, self.block(block, self.assume(plain, test))[0]) for test, block in ways]
        path = [z3.Implies(test, fact) for test, end in ends for fact in end.path[len(state.path) + 1 :]]
        due = [replace(item, goal=z3.Implies(test, item.goal)) for test, end in ends for item in end.due]
        (_, yes), (_, no) = ends
        values, moved = merged(first, yes.values, no.values), merged(first, yes.moved, no.moved)
        length = merged(first, yes.length, no.length)
        return [State(values, moved, length, (*state.path, *path), (*state.due, *due))]

    def append(self, statement: tree.Append, state: State) -> State:
        """Append in both runs; which append it was, and a discrete value, belong to the fixed output."""
        name, (first, second) = statement.target, self.both(statement.value, state)
        after = replace(state, length={**state.length, name: z3.simplify(state.length[name] + 1)})
        if tree.Variable(name) not in self.pair.program.body[-1].values:  # type: ignore[union-attr]
            return after
        if not self.concentrated:
            after = self.assume(after, self.ghost("tag", name, state) == statement.tag)
        if not self.concentrated and discrete(first):
            after = self.assume(after, self.ghost("value", name, state) == whole(first))
        return self.later("the outputs may differ", statement, after, equal(first, second))

    def sample(self, draw: tree.Sample, state: State) -> State:
        """Draw in both runs: the move is read before the draw, and the draw is a new symbol."""
        law, site, flip = draw.law, draw.site, flipped(draw) is not None
        move, cost = self.formula(self.part.moves.get(site, ZERO), state), z3.RealVal(0)
        if not z3.is_arith(move) and law != "UniformBits":
            raise refuse("a move is a number", draw)
        self.fresh += 1
        kind = tree.Scalar("int" if law in WHOLE else DRAWN.get(law, "real"), length=draw.length)
        noise = self.pair.symbol(f"draw {self.fresh}", kind)
        first, second = noise, noise
        if law in NOISE:
            centres = self.both(draw.arguments[1], state) if len(draw.arguments) == 2 else (z3.IntVal(0),) * 2
            gap = real(centres[1]) - real(centres[0])
            if self.concentrated:
                self.prove("the centres may be further apart", draw, state, z3.And(gap <= move, -gap <= move))
                cost, move = z3.If(gap == 0, z3.RealVal(0), real(move) * real(move)), -gap
            else:
                cost = real(z3.If(move >= 0, move, -move))
            if law in WHOLE:
                state = self.later("a move may not be an integer", draw, state, z3.IsInt(real(move)))
                move = z3.ToInt(real(move))
            if law == "Exponential":
                state = self.assume(state, noise >= 0)
                state = self.later("a move may leave the support", draw, state, noise + move >= 0)
            first, second = centres[0] + noise, centres[1] + noise + move
        elif flip:
            cost, second = z3.If(move != 0, z3.RealVal(1), z3.RealVal(0)), z3.Xor(noise, move != 0)
        elif law == "UniformBits":
            second = noise if z3.is_arith(move) else noise ^ move
        else:
            state, cost = self.same(draw, noise, state), z3.RealVal(1 if law == "ExpMech" else 0)
        state = replace(state, moved={**state.moved, site: z3.simplify(state.moved[site] + cost)})
        return self.store(self.store(state, draw.target, 1, first), draw.target, 2, second)

    def same(self, draw: tree.Sample, noise: Term, state: State) -> State:
        """Draw the same value in both runs, from the same law but for the scores of ExpMech."""
        if draw.law == "ExpMech":
            size = self.pair.size(draw.arguments[1].name, 1)  # type: ignore[union-attr]
            self.prove("a parameter may be impossible", draw, state, size >= 1)
            return self.assume(state, noise >= 0, noise < size)
        given = [self.both(argument, state) for argument in draw.arguments]
        for first, second in given:
            state = self.later("the laws may differ", draw, state, equal(first, second))
        low, high = given[0][0], given[-1][0]
        if draw.law == "Bernoulli":
            self.prove("a parameter may be impossible", draw, state, z3.And(low >= 0, low <= 1))
            return state
        if draw.law not in ("Uniform", "UniformInt"):
            raise refuse(f"there is no rule for {draw.law}", draw)
        possible = low < high if draw.law == "Uniform" else low <= high
        self.prove("a parameter may be impossible", draw, state, possible)
        return self.assume(state, noise >= low, noise <= high)

    # Loops and the end

    def loop(self, statement: tree.While, state: State) -> State:
        """Cut a loop at its invariant."""
        state, number = self.settle(state), statement.loop
        visit = self.visits[number] = self.visits.get(number, 0) + 1
        invariant, variant = self.part.invariants[number][visit - 1], self.part.variants.get(number)
        if variant is None:
            chance = self.both(tossed(statement), State({}, {}, {}))[0]
            self.prove("the loop may not end", statement, state, z3.And(chance > 0, chance < 1))
        for fact in invariant:
            self.prove("the invariant may not hold at first", statement, state, self.formula(fact, state))
        head = self.forget(statement, state, invariant)
        head = self.assume(head, *(self.formula(fact, head) for fact in invariant))
        guards = self.both(statement.condition, head)
        waits = [self.formula(wait, head) for wait in self.part.waits.get(number, ())]
        if number in self.part.waits:
            inside, after = self.assume(head, z3.Or(*guards)), self.assume(head, z3.Not(z3.Or(*guards)))
            for guard, wait in zip(guards, waits, strict=True):
                self.prove("the turns may differ", statement, inside, z3.Or(guard, wait))
        else:
            same = self.later("the turns may differ", statement, head, guards[0] == guards[1])
            inside, after = self.assume(same, guards[0]), self.assume(same, z3.Not(guards[0]))
        for end in self.turn(statement, inside, waits):
            end = self.settle(end)
            if variant is not None:
                before, now = self.formula(variant, head), self.formula(variant, end)
                self.prove("the loop may not end", statement, end, z3.And(before >= 0, now <= before - 1))
            for fact in invariant:
                self.prove("a turn may break the invariant", statement, end, self.formula(fact, end))
            for key, term in head.values.items():
                if z3.is_int(term) and not z3.is_int(end.values[key]):
                    raise WiderError(key[0])
        return after

    def turn(self, statement: tree.While, state: State, waits: list[Term]) -> list[State]:
        """Let both runs make one turn, or one of them wait."""
        if statement.loop not in self.part.waits:
            return self.block(statement.body, state)
        for side, wait in enumerate(waits, start=1):
            after = self.alone(statement.body, side, state, z3.Not(wait))
            values = {key: choose(wait, term, after.values[key]) for key, term in state.values.items()}
            state = replace(state, values=values)
        return [state]

    def forget(self, statement: tree.While, state: State, invariant: tuple[tree.Expr, ...]) -> State:
        """Return a state that knows nothing of what a loop may change."""
        self.fresh += 1
        touched, same = tree.assigned(statement.body), set()
        for fact in invariant:
            match fact:
                case tree.Binary("=", tree.Variable(left, 1), tree.Variable(right, 2)) if left == right:
                    same.add(left)  # the invariant says so: one symbol stands for both
        values, moved, length = dict(state.values), dict(state.moved), dict(state.length)
        for (name, side), old in state.values.items():
            if name in touched:
                mark = f"{name}{{{1 if name in same else side}}}@{self.fresh}"
                values[name, side] = z3.Const(mark, old.sort())
        for inner in tree.statements(statement.body):
            if isinstance(inner, tree.Sample):
                moved[inner.site] = z3.Real(f"moved({inner.site})@{self.fresh}")
            if isinstance(inner, tree.Append):
                length[inner.target] = z3.Int(f"size({inner.target})@{self.fresh}")
        return replace(state, values=values, moved=moved, length=length)

    def finish(self, statement: tree.Return, state: State) -> list[State]:
        """Return the same from both runs, for no more than the claim."""
        for place, value in enumerate(statement.values, start=1):
            if not (isinstance(value, tree.Variable) and value.name in state.length):
                first, second = self.both(value, state)
                state = self.result(place, first, state)
                state = self.later("the outputs may differ", value, state, equal(first, second))
        state, spent = self.settle(state), z3.Sum([self.prices[k] * term for k, term in state.moved.items()])
        limits = self.limits(self.pair.program.claim, State({}, {}, {}, state.path))
        within = z3.And(*(spent <= limit for limit in limits))
        self.prove("the moves may cost too much", statement, state, within)
        self.ends.append(state.path)
        return []

    def limits(self, claim: tree.Claim | None, state: State) -> tuple[Term, ...]:
        """Return what the moves may cost, according to each run."""
        match claim:
            case tree.Rho(rho):
                return self.both(rho, state)
            case tree.EpsilonClaim(epsilon, delta) if not self.concentrated:
                for side in self.both(delta or ZERO, state):
                    self.prove("delta may be negative", epsilon, state, side >= 0)
                return self.both(epsilon, state)
            case tree.EpsilonClaim(epsilon, delta) if delta is not None:
                terms = self.both(epsilon, state)[0], self.both(delta, state)[0]
                most, chance = (Fraction(str(z3.simplify(real(term)).as_fraction())) for term in terms)
                if not 0 < chance < 1 or most < 0:
                    raise refuse("Gaussian noise needs a delta between 0 and 1", delta)
                log = log_up(1 / chance)
                root = max(sqrt_down(most + log) - sqrt_up(log), Fraction(0))
                return (z3.RealVal(str(root * root)),)
            case tree.Secret() if not self.concentrated:
                return (z3.RealVal(0),)
        raise refuse("a proof by alignment needs a claim of epsilon, rho or secrecy that fits its draws")


MOST = 64
"""Paths that are followed separately."""
