"""The product program: two runs on neighbouring inputs, walked in step, and what must be proved about them.

Theorem (alignment).  Fix neighbours D1, D2 and a value w of the discrete part of the output: the branches
that append, the lengths of lists, the integers and truth values returned.  Let a rule move the t-th draw
of the first run by s_t, a function of w, the inputs, and the draws before t only.  Suppose that for all
draws under which M(D1) outputs w, the moved draws (i) take M(D2) through the same draws, (ii) to the same
w and the same continuous outputs, (iii) at total cost at most c, and (iv) stay in the support of their
laws.  Then Pr[M(D1) in S] <= exp(c) Pr[M(D2) in S] for all S.

Proof.  For fixed w the moves form a triangular map with unit Jacobian, hence injective and measure
preserving; its density ratio is at most exp(c); sum over the countably many w.

So the two runs need to agree only where they draw, append or loop; elsewhere each takes its own branch.  The
hypothesis "the first run outputs w" speaks of the first run alone and may therefore be used at any time.

This module generates the obligations, given the moves.  It does no searching, and the certificate checker
trusts nothing else.  A draw is always a fresh symbol, and its move is read in the state before the draw:
a move that mentions the drawn variable speaks of its old value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import assert_never

import z3

from discreet.verify.check import Checked
from discreet.verify.claim import polynomial, within_claim
from discreet.verify.law import Site, site
from discreet.verify.neighbours import Direction, Inputs, Instance
from discreet.verify.obligation import Clause, Pending, Relation, State, System
from discreet.verify.reading import Reading
from discreet.verify.shared import is_one_sided, is_synchronised
from discreet.verify.syntax import (
    Append,
    Array,
    Assign,
    Call,
    Expr,
    If,
    Items,
    Name,
    Number,
    Position,
    Return,
    Rho,
    Sample,
    Scalar,
    Statement,
    While,
    assigned,
    statements,
)
from discreet.verify.term import (
    Term,
    UnsupportedError,
    absolute,
    cast,
    choose,
    constants,
    real,
    symbol,
)
from discreet.verify.walk import require_walk, walked

Then = Callable[[State], None]


def obligations(
    checked: Checked,
    direction: Direction,
    moves: Mapping[int, Expr],
    variants: Mapping[int, Expr] | None = None,
    *,
    unknowns: Mapping[str, Term] | None = None,
    instance: Instance | None = None,
    unroll: int = 0,
) -> System:
    """Return what must be proved; with `unroll`, loops are walked that many times instead of cut."""
    inputs = Inputs(checked, direction, instance or Instance())
    draws = [s for s in statements(checked.program.body) if isinstance(s, Sample)]
    sites = {s.site: site(checked, s, inputs) for s in draws}
    walk = _Walk(checked, direction, moves, variants, Reading(checked, inputs, unknowns or {}), sites, unroll)
    walk.start()
    return System(tuple(walk.relations), tuple(walk.clauses), walk.inputs, walk.sites)


@dataclass(slots=True)
class _Walk:
    checked: Checked
    direction: Direction
    moves: Mapping[int, Expr]
    variants: Mapping[int, Expr] | None
    reading: Reading
    sites: Mapping[int, Site]
    unroll: int
    relations: list[Relation] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    serial: count = field(default_factory=lambda: count(1))  # type: ignore[type-arg]
    waiting: Term = None
    """Whether the run with the shorter list waits, in the one-sided loop being walked."""

    @property
    def inputs(self) -> Inputs:
        return self.reading.inputs

    @property
    def concentrated(self) -> bool:
        return isinstance(self.checked.program.claim, Rho)

    def start(self) -> None:
        at = self.checked.program.at
        zero = {key: z3.RealVal(0) for key in self.sites}
        state = State({}, {}, zero, {})
        for entry in self.sites.values():
            for value in entry.positive:
                goal = z3.And(
                    polynomial(value.numerator, {}, self.inputs) > 0,
                    polynomial(value.denominator, {}, self.inputs) > 0,
                )
                self.emit("positive scale", entry.statement.at, state, goal)
            if self.concentrated and entry.statement.law != "Gaussian":
                raise UnsupportedError(f"a rho claim needs Gaussian noise only, not {entry.statement.law}")
            if not self.concentrated and entry.statement.law == "Gaussian":
                raise UnsupportedError(
                    "Gaussian noise needs a claim of zero-concentrated privacy: ensures rho ..."
                )
        self.block(self.checked.program.body, state, lambda _: None)
        if self.checked.program.claim is None:
            raise UnsupportedError(f"line {at.line}: the program claims nothing; add ensures epsilon ...")

    # Clauses

    def emit(self, kind: str, at: Position, state: State, goal: Term) -> None:
        goal = z3.simplify(goal)
        if not z3.is_true(goal):
            self.clauses.append(Clause(kind, at, state.path, state.uses, goal))

    def flush(self, state: State) -> State:
        for item in state.pending:
            self.emit(item.kind, item.at, state, item.formula)
        return replace(state, pending=())

    def later(self, state: State, kind: str, at: Position, goal: Term) -> State:
        goal = z3.simplify(goal)
        if z3.is_true(goal):
            return state
        return replace(state, pending=(*state.pending, Pending(kind, goal, at)))

    # Expressions

    def value(self, expression: Expr, state: State) -> tuple[State, Term, Term]:
        """Return an expression in both runs, noting that it is defined."""
        first, needs = self.reading.read(expression, 1, state)
        second, more = self.reading.read(expression, 2, state)
        if self.reading.walking:
            # The waiting run computes nothing, so nothing has to be defined for it.
            needs, more = (
                [z3.Implies(z3.Not(self.waiting), n) for n in group] if near else group
                for group, near in ((needs, self.direction == "add"), (more, self.direction == "remove"))
            )
        elif self.checked.is_shared(expression):
            more = []
        for need in (*needs, *more):
            state = self.later(state, "defined", expression.at, need)
        return state, first, second

    # Statements

    def block(self, block: tuple[Statement, ...], state: State, then: Then) -> None:
        for place, statement in enumerate(block):
            match statement:
                case While():
                    self.loop(statement, state, lambda s, rest=block[place + 1 :]: self.block(rest, s, then))  # type: ignore[misc]
                    return
                case If(condition, positive, negative) if _loops(statement):
                    state, first = self.agree(condition, state)
                    rest = block[place + 1 :]
                    self.block(positive + rest, replace(state, path=(*state.path, first)), then)
                    self.block(negative + rest, replace(state, path=(*state.path, z3.Not(first))), then)
                    return
                case _:
                    state = self.step(statement, state)
        then(state)

    def step(self, statement: Statement, state: State) -> State:
        match statement:
            case Assign(target, Items()):
                return replace(state, length={**state.length, target: z3.IntVal(0)})
            case Assign(target, value):
                state, first, second = self.value(value, state)
                return self.set(state, target, first, second)
            case Append():
                return self.append(statement, state)
            case Sample():
                return self.sample(statement, state)
            case If():
                return self.branch(statement, state)
            case Return():
                self.finish(statement, state)
                return replace(state, pending=())
            case While() | Call():
                raise UnsupportedError("loops and calls are not simple statements")
        assert_never(statement)

    def set(self, state: State, target: str, first: Term, second: Term) -> State:
        kind = self.checked.types[target]
        if not isinstance(kind, Scalar):
            raise UnsupportedError(f"{target} is not a number")
        first, second = z3.simplify(cast(first, kind.kind)), z3.simplify(cast(second, kind.kind))
        if target in self.checked.shared:
            second = first
        return replace(state, left={**state.left, target: first}, right={**state.right, target: second})

    def agree(self, condition: Expr, state: State) -> tuple[State, Term]:
        """Require both runs to decide a condition alike; return what the first run decides."""
        state, first, second = self.value(condition, state)
        if not self.checked.is_shared(condition):
            state = self.later(state, "same branch", condition.at, first == second)
        return state, z3.simplify(first)

    def branch(self, statement: If, state: State) -> State:
        condition = statement.condition
        if is_synchronised(statement):
            state, first = self.agree(condition, state)
            second = first
        else:
            state, first, second = self.value(condition, state)
            first, second = z3.simplify(first), z3.simplify(second)
            if self.checked.is_shared(condition):
                second = first
        base = replace(state, pending=(), path=())
        yes, no = base, base
        for inner in statement.positive:
            yes = self.step(inner, yes)
        for inner in statement.negative:
            no = self.step(inner, no)
        guarded = [
            replace(p, formula=z3.Implies(_either(c, second, statement), p.formula))
            for s, c in ((yes, first), (no, z3.Not(first)))
            for p in s.pending
        ]
        path = [z3.Implies(first, h) for h in yes.path] + [z3.Implies(z3.Not(first), h) for h in no.path]
        return replace(
            state,
            left=_merge(first, yes.left, no.left),
            right={
                key: term if key not in self.checked.shared else _merge(first, yes.left, no.left)[key]
                for key, term in _merge(second, yes.right, no.right).items()
            },
            cost={key: choose(first, yes.cost[key], no.cost[key]) for key in state.cost},
            length=_merge(first, yes.length, no.length),
            pending=(*state.pending, *guarded),
            path=(*state.path, *path),
        )

    def append(self, statement: Append, state: State) -> State:
        target, at = statement.target, statement.at
        state, first, second = self.value(statement.value, state)
        index = state.length[target]
        state = replace(state, length={**state.length, target: z3.simplify(index + 1)})
        if target not in self.checked.returned_lists:
            return state
        path: list[Term] = []
        if not self.concentrated:
            path.append(self.reading.ghost("tag", target, index) == statement.tag)
            kind = self.checked.types[target]
            if isinstance(kind, Array) and kind.element.kind in ("int", "bool"):
                path.append(self.reading.ghost("value", target, index) == _whole(first))
        state = replace(state, path=(*state.path, *path))
        return self.later(state, "same output", at, _equal(first, second))

    def sample(self, statement: Sample, state: State) -> State:
        entry = self.sites[statement.site]
        law, target, at = statement.law, statement.target, statement.at
        move = self.moves.get(statement.site, Number(0))  # type: ignore[arg-type]
        state, first, second = self.centre(statement, state)
        kind = self.checked.types[target]
        if not isinstance(kind, Scalar):
            raise UnsupportedError(f"{target} is not a number")
        drawn = "int" if law in ("Geometric", "UniformInt", "ExpMech") else kind.kind
        noise = symbol(
            f"{target}~{statement.site}.{next(self.serial)}", "bool" if entry.move == "flip" else drawn
        )
        spent = state.cost[statement.site]
        if entry.move != "same":
            if entry.move == "xor" and move == Number(0):  # type: ignore[arg-type]
                distance = z3.BoolVal(False)
            else:
                distance = z3.simplify(self.reading.formula(move, state))
        match entry.move:
            case "shift":
                if law == "Geometric" and not z3.is_int(distance):
                    state = self.later(state, "integer move", at, z3.IsInt(real(distance)))
                    distance = z3.ToInt(distance)
                if law == "Exponential":
                    state = replace(state, path=(*state.path, noise >= 0))
                    state = self.later(state, "support", at, noise + distance >= 0)
                spent = spent + real(absolute(distance))
                first, second = first + noise, second + noise + distance
            case "flip":
                if z3.is_bool(distance):
                    raise UnsupportedError("the move of a flip must be a number")
                moved = distance != 0
                spent = spent + choose(moved, z3.RealVal(1), z3.RealVal(0))
                first, second = noise, z3.Xor(noise, moved)
            case "xor":
                if not z3.is_bool(distance):
                    raise UnsupportedError("the move of a bit string must be a bit string")
                first, second = noise, z3.Xor(noise, distance)
            case "same":
                state, spent = self.fixed(statement, state, first, second, spent)
                if law == "Gaussian":
                    first = second = first + noise
                else:
                    first = second = noise
                if law == "ExpMech" and isinstance(statement.arguments[1], Name):
                    bound = self.inputs.size(statement.arguments[1].name, 1)
                    state = replace(state, path=(*state.path, noise >= 0, noise < bound))
                if law == "UniformInt":
                    low, high = (self.reading.read(a, 1, state)[0] for a in statement.arguments)
                    state = replace(state, path=(*state.path, noise >= low, noise <= high))
                if law == "Uniform":
                    low, high = (real(self.reading.read(a, 1, state)[0]) for a in statement.arguments)
                    state = replace(state, path=(*state.path, noise >= low, noise <= high))
        state = replace(state, cost={**state.cost, statement.site: z3.simplify(spent)})
        return self.set(state, target, first, second)

    def centre(self, statement: Sample, state: State) -> tuple[State, Term, Term]:
        if statement.law in ("Laplace", "Geometric", "Gaussian") and len(statement.arguments) == 2:
            return self.value(statement.arguments[1], state)
        return state, z3.IntVal(0), z3.IntVal(0)

    def fixed(
        self, statement: Sample, state: State, first: Term, second: Term, spent: Term
    ) -> tuple[State, Term]:
        """Charge a draw whose value is the same in both runs."""
        match statement.law:
            case "Gaussian":
                bound = self.moves.get(statement.site)
                if bound is None:
                    raise UnsupportedError("a Gaussian draw needs a bound on how far apart the centres are")
                if not self.checked.is_shared(bound):
                    raise UnsupportedError("the bound on a Gaussian's centres must be public")
                apart, limit = real(first) - real(second), real(self.reading.formula(bound, state))
                state = self.later(state, "centres", statement.at, z3.And(apart <= limit, -apart <= limit))
                return state, spent + choose(z3.simplify(apart == 0), z3.RealVal(0), limit * limit)
            case "ExpMech":
                return state, spent + 1
        return state, spent

    # Loops

    def loop(self, statement: While, state: State, then: Then) -> None:
        if is_one_sided(statement, self.checked.program):
            require_walk(statement)
        if self.unroll:
            self.unrolled(statement, state, then, self.unroll)
            return
        state = self.flush(state)
        relation = self.cut(statement, state)
        changing = self.changing(statement, state)
        self.clauses.append(Clause("entry", statement.at, state.path, state.uses, (relation, changing)))
        head = relation.state
        guard, head = self.guard(statement, head)
        head = self.flush(head)
        inside = replace(head, path=(*head.path, guard))

        def back(end: State) -> None:
            end = self.measure(statement, inside, self.waits(statement, inside, end))
            end = self.flush(end)
            again = self.changing(statement, end)
            self.clauses.append(Clause("again", statement.at, end.path, end.uses, (relation, again)))

        self.inner(statement, inside, back)
        then(replace(head, path=(*head.path, z3.Not(guard))))

    def guard(self, statement: While, state: State) -> tuple[Term, State]:
        if not is_one_sided(statement, self.checked.program):
            state, guard = self.agree(statement.condition, state)
            return guard, state
        state, first, second = self.value(statement.condition, state)
        array, counter = walked(statement)
        longer, shorter = (first, second) if self.direction == "remove" else (second, first)
        far, near = (state.left, state.right) if self.direction == "remove" else (state.right, state.left)
        position = self.inputs.positions[array]
        at = statement.condition.at
        lag = near[counter] == far[counter] - z3.If(position < far[counter], 1, 0)
        state = self.later(state, "step", at, lag)
        state = self.later(
            state, "same turns", at, z3.Implies(z3.And(longer, far[counter] != position), shorter)
        )
        state = self.later(state, "same end", at, z3.Implies(z3.Not(longer), z3.Not(shorter)))
        return longer, state

    def waits(self, statement: While, head: State, end: State) -> State:
        """In a one-sided loop, let the run with the shorter list wait at the extra element."""
        if not is_one_sided(statement, self.checked.program):
            return end
        array, counter = walked(statement)
        far = head.left if self.direction == "remove" else head.right
        waiting = far[counter] == self.inputs.positions[array]
        if self.direction == "remove":
            return replace(end, right=_merge(waiting, head.right, end.right))
        return replace(end, left=_merge(waiting, head.left, end.left))

    def unrolled(self, statement: While, state: State, then: Then, turns: int) -> None:
        guard, state = self.guard(statement, state)
        if not z3.is_true(guard):
            then(replace(state, path=(*state.path, z3.simplify(z3.Not(guard)))))
        if z3.is_false(guard) or turns == 0:
            return
        inside = replace(state, path=(*state.path, guard))

        def again(end: State) -> None:
            self.unrolled(statement, self.waits(statement, inside, end), then, turns - 1)

        self.inner(statement, inside, again)

    def inner(self, statement: While, inside: State, then: Then) -> None:
        """Walk through the body of a loop once."""
        if is_one_sided(statement, self.checked.program):
            array, counter = walked(statement)
            far = inside.left if self.direction == "remove" else inside.right
            self.reading.walking = {counter: far[counter]}
            self.waiting = far[counter] == self.inputs.positions[array]
            end = inside
            for part in statement.body:
                end = self.step(part, end)
            self.reading.walking = {}
            then(end)
        else:
            self.block(statement.body, inside, then)

    def measure(self, statement: While, head: State, end: State) -> State:
        """Require the loop's variant to stay non-negative and to decrease by one."""
        if self.variants is None:
            return end
        variant = self.variants.get(statement.loop)
        if variant is None:
            raise UnsupportedError(
                f"line {statement.at.line}: no bound on the number of turns of this loop was found"
            )
        side = 2 if self.direction == "add" and is_one_sided(statement, self.checked.program) else 1
        before, after = self.reading.read(variant, side, head)[0], self.reading.read(variant, side, end)[0]
        end = self.later(end, "terminates", statement.at, before >= 0)
        return self.later(end, "terminates", statement.at, after <= before - 1)

    def cut(self, statement: While, state: State) -> Relation:
        """Forget everything that the loop may change, and name what is left."""
        visit = sum(r.loop == statement.loop for r in self.relations) + 1
        suffix = f"@{statement.loop}" if visit == 1 else f"@{statement.loop}.{visit}"
        touched = assigned(statement.body)
        sites = {s.site for s in statements(statement.body) if isinstance(s, Sample)}
        left, right = dict(state.left), dict(state.right)
        changing: list[Term] = []
        for name in sorted(touched & state.left.keys()):
            kind = self.checked.types[name]
            if not isinstance(kind, Scalar):
                continue
            if name in self.checked.shared:
                left[name] = right[name] = symbol(f"{name}{suffix}", kind.kind)
                changing.append(left[name])
            else:
                left[name] = symbol(f"{name}{{1}}{suffix}", kind.kind)
                right[name] = symbol(f"{name}{{2}}{suffix}", kind.kind)
                changing += [left[name], right[name]]
        cost = dict(state.cost)
        for key in sorted(sites):
            cost[key] = z3.Real(f"moved({key}){suffix}")
            changing.append(cost[key])
        length = dict(state.length)
        for name in sorted(touched & state.length.keys()):
            length[name] = z3.Int(f"size({name}){suffix}")
            changing.append(length[name])
        fresh = replace(state, left=left, right=right, cost=cost, length=length)
        known = {term.get_id() for term in changing}
        kept = [*left.values(), *right.values(), *cost.values(), *length.values(), *self.inputs.facts]
        rigid = [t for key, t in constants(*kept).items() if key not in known]
        rigid += [t for key, t in self.result_symbols().items() if key not in {r.get_id() for r in rigid}]
        rigid.sort(key=str)
        relation = Relation(f"loop{suffix}", statement.loop, tuple(changing), tuple(rigid), fresh)
        relation = replace(relation, state=replace(fresh, uses=(*state.uses, relation)))
        self.relations.append(relation)
        return relation

    def changing(self, statement: While, state: State) -> tuple[Term, ...]:
        """Return the values that a state gives to what the loop may change, in the order of `cut`."""
        touched = assigned(statement.body)
        sites = {s.site for s in statements(statement.body) if isinstance(s, Sample)}
        values: list[Term] = []
        relation = next(r for r in reversed(self.relations) if r.loop == statement.loop)
        for name in sorted(touched & relation.state.left.keys()):
            if not isinstance(self.checked.types[name], Scalar):
                continue
            values.append(state.left[name])
            if name not in self.checked.shared:
                values.append(state.right[name])
        values += [state.cost[key] for key in sorted(sites)]
        values += [state.length[name] for name in sorted(touched & relation.state.length.keys())]
        return tuple(values)

    # The end

    def result_symbols(self) -> dict[int, Term]:
        returned = self.checked.program.body[-1]
        found: dict[int, Term] = {}
        if isinstance(returned, Return) and not self.concentrated:
            for place, value in enumerate(returned.values, start=1):
                if self.is_list(value) or self.checked.kind(value) not in ("int", "bool"):
                    continue
                term = z3.Int(f"result({place})")
                found[term.get_id()] = term
                self.reading.remembered.append(term)
        return found

    def is_list(self, value: Expr) -> bool:
        return isinstance(value, Name) and value.name in self.checked.returned_lists

    def finish(self, statement: Return, state: State) -> None:
        for place, value in enumerate(statement.values, start=1):
            if self.is_list(value):
                continue
            state, first, second = self.value(value, state)
            if self.checked.kind(value) in ("int", "bool") and not self.concentrated:
                state = replace(state, path=(*state.path, _whole(first) == z3.Int(f"result({place})")))
            state = self.later(state, "same output", value.at, _equal(first, second))
        state = self.later(
            state,
            "cost",
            statement.at,
            within_claim(self.checked.program.claim, self.sites, state.cost, self.inputs),
        )
        self.flush(state)


def _loops(statement: If) -> bool:
    return any(
        isinstance(s, While) for s in (*statements(statement.positive), *statements(statement.negative))
    )


def _either(first: Term, second: Term, statement: If) -> Term:
    """Return when a branch is taken by some run: an undefined value must not be computed in either."""
    return first if is_synchronised(statement) else z3.BoolVal(True)


def _merge(condition: Term, positive: Mapping[str, Term], negative: Mapping[str, Term]) -> dict[str, Term]:
    return {key: choose(condition, positive[key], negative[key]) for key in positive if key in negative}


def _whole(term: Term) -> Term:
    return z3.If(term, z3.IntVal(1), z3.IntVal(0)) if z3.is_bool(term) else term


def _equal(first: Term, second: Term) -> Term:
    if z3.is_arith(first):
        return real(first) == real(second)
    return first == second
