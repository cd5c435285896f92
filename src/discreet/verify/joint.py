"""What a formula of neighbours may speak of: of a private input, always in one of the two runs."""

from collections.abc import Iterator

from discreet.verify.syntax import (
    Apply,
    Ask,
    Element,
    Expr,
    Number,
    Program,
    TextPosition,
    Variable,
    subexpressions,
)


def without_run(program: Program, formula: Expr) -> Iterator[tuple[str, TextPosition]]:
    """Yield what is wrong with a formula, and where."""
    for part in subexpressions(formula):
        match part:
            case Variable(name, side, at):
                found = program.parameter(name)
                private = found is not None and found.private
                if private and not side:
                    yield f"{name} may differ: say in which run, {name}{{1}} or {name}{{2}}", at
                if side and not private:
                    yield f"{name} is public, and the same in both runs: write {name}", at
            case Element(array, _, 0, at):
                yield f"say in which run {array} is read: {array}{{1}}[...] or {array}{{2}}[...]", at
            case Element(_, index, _, at) if not isinstance(index, Number):
                yield "the place of an element is a number here", at
            case Ask(at=at):
                yield "a query already says how far apart its values are", at
            case Apply("exp", at=at):
                yield "exp has no exact value; it may only appear in the parameter of a law", at
