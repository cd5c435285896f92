"""Reading program expressions and moves in a state of the two runs, as terms.

A program expression is read in one run, together with what must hold for it to have a value.  A move is
read in both: x{1} and x{2} are the values of x in the two runs, and tag(r), value(r), result(k) speak of
the fixed discrete output.  Names that a move does not know, or that the runs may disagree on, are
refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import z3

from discreet.verify.check import CheckedProgram
from discreet.verify.neighbours import Inputs
from discreet.verify.obligation import PairState
from discreet.verify.spelling import show
from discreet.verify.syntax import Apply, Ask, Element, Expr, Number, Size, Variable, subexpressions
from discreet.verify.term import Reader, Term, UnsupportedError


@dataclass(slots=True)
class SymbolReading:
    """How names, elements and ghosts are looked up; remembers the symbols it has made."""

    checked: CheckedProgram
    inputs: Inputs
    unknowns: Mapping[str, Term]
    ghosts: dict[tuple[str, str, int], Term] = field(default_factory=dict)
    abstracted: dict[tuple[str, int, int], Term] = field(default_factory=dict)
    remembered: list[Term] = field(default_factory=list)
    walking: dict[str, Term] = field(default_factory=dict)
    """The counter of the one-sided loop being walked, with its value in the run with the longer list."""

    def read(self, expression: Expr, side: int, state: PairState) -> tuple[Term, list[Term]]:
        """Return the value of a program expression in one run, and what must hold for it to have one."""
        needs: list[Term] = []
        variables = state.left if side == 1 else state.right

        def name(node: Variable) -> Term:
            if node.name in variables:
                return variables[node.name]
            if node.name in self.inputs.scalars:
                return self.inputs.scalars[node.name][side - 1]
            return self.inputs.public(node.name)

        def element(node: Element, index: Term) -> Term:
            if node.array in state.length:
                reader.need(z3.And(index >= 0, index < state.length[node.array]))
                return z3.Select(variables[node.array], index)
            reader.need(z3.And(index >= 0, index < self.inputs.size(node.array, side)))
            relation = self.inputs.relation(node.array)
            if relation is not None and relation.kind == "add-remove":
                return self._walked(node, side)
            return self.inputs.element(node.array, index, side, shared=self.checked.is_shared(node.index))

        def apply(call: Apply | Size | Ask) -> Term:
            return self._apply(call, side, state)

        reader = Reader(name, element, apply, self._abstract, needs.append)
        return reader(expression), needs

    def _walked(self, node: Element, side: int) -> Term:
        """Read a list that may lose an element, inside the loop that walks over it.

        The loop's "step" obligation says that the shorter run's counter lags by one behind the extra
        element, so both runs look at the same element of the longer list, the one under the longer run's
        counter.
        """
        if not isinstance(node.index, Variable) or node.index.name not in self.walking:
            raise UnsupportedError(
                f"line {node.at.line}, column {node.at.column}: a list that may lose an element can only be "
                "read under the counter of the loop that walks over it"
            )
        return self.inputs.element(node.array, self.walking[node.index.name], side, shared=True)

    def _apply(self, call: Apply | Size | Ask, side: int, state: PairState) -> Term:
        match call:
            case Size(array) if array in state.length:
                return state.length[array]
            case Size(array):
                return self.inputs.size(array, side)
            case Ask(query, data):
                return self.inputs.query(query, data, side)
        raise UnsupportedError(
            f"line {call.at.line}, column {call.at.column}: {call.function} cannot be used in a proof here"
        )

    def _abstract(self, kind: str, left: Term, right: Term) -> Term:
        left, right = z3.simplify(left), z3.simplify(right)
        key = (kind, left.get_id(), right.get_id())
        if key not in self.abstracted:
            self.remembered += [left, right]
            self.abstracted[key] = z3.Int(f"{kind}#{len(self.abstracted) + 1}")
        return self.abstracted[key]

    def formula(self, expression: Expr, state: PairState) -> Term:
        """Return a relational expression: x{1} and x{2} in the two runs, unmarked names where they agree."""

        def name(node: Variable) -> Term:
            if node.name in self.unknowns:
                return self.unknowns[node.name]
            if node.side:
                return self.read(Variable(node.name), node.side, state)[0]
            if node.name not in self.checked.shared and not self.checked.is_shared(node):
                raise UnsupportedError(
                    f"a move mentions {node.name}, on which the runs may differ, without a side"
                )
            return self.read(node, 1, state)[0]

        def element(node: Element, index: Term) -> Term:
            if not self.checked.is_shared(node.index) or not node.side:
                raise UnsupportedError("a move may only read lists at public positions, in a given run")
            if node.array in state.length:
                return z3.Select((state.left if node.side == 1 else state.right)[node.array], index)
            told = any(isinstance(part, Apply) for part in subexpressions(node.index))
            return self.inputs.element(node.array, index, node.side, shared=not told)

        def apply(call: Apply | Size | Ask) -> Term:
            match call:
                case Apply("tag" | "value" as ghost, (Variable(target),)) if (
                    target in self.checked.returned_lists and target in state.length
                ):
                    return self.ghost(ghost, target, state.length[target])
                case Apply("result", (Number(which),)):
                    return z3.Int(f"result({int(which)})")
                case Size(side=side):
                    return self._apply(call, side or 1, state)
                case Ask(side=1 | 2 as side):
                    return self._apply(call, side, state)
            raise UnsupportedError(f"{show(call)} cannot be used in a move")

        # Z3 gives a division by zero some value, the same in every place: a total function, which is all that
        # a move has to be.
        return Reader(name, element, apply, self._abstract, lambda _: None)(expression)

    def ghost(self, kind: str, target: str, index: Term) -> Term:
        """Return the tag or the discrete value that the fixed output w has at a place of a list."""
        index = z3.simplify(index)
        key = (kind, target, index.get_id())
        if key not in self.ghosts:
            self.remembered.append(index)
            self.ghosts[key] = z3.Int(f"{kind}({target})#{len(self.ghosts) + 1}")
        return self.ghosts[key]
