"""Writing the laws of a finite program down: every input, every output, and its weight as a term."""

from fractions import Fraction

from discreet.verify.check import CheckedProgram
from discreet.verify.finite import law
from discreet.verify.integrate import Number as Exponentials
from discreet.verify.opened import all_inputs, fixed, unknown
from discreet.verify.run import Value
from discreet.verify.syntax import Apply, Binary, Expr, Number, Parameter, Scalar, Variable


def laws(checked: CheckedProgram) -> dict[str, dict[str, Expr]]:
    """Return the law of the output on every input, as the kernel reads it."""
    found: dict[str, dict[str, Expr]] = {}
    for values in all_inputs(checked):
        open_ = unknown(values)
        given = [_named(checked, p, values[p.name]) for p in checked.program.parameters]
        found[_shown(given)] = {
            _shown(output): Binary("/", _sum(w.numerator, open_), _sum(w.denominator, open_))
            for output, w in law(checked, values).items()
            if w.numerator
        }
    return found


def _named(checked: CheckedProgram, parameter: Parameter, value: Value) -> Value:
    """Return a value, or the name of a constant that is left open."""
    constant = not parameter.private and parameter.type == Scalar("real")
    return parameter.name if constant and fixed(checked, Variable(parameter.name)) is None else value


def _shown(values: Value) -> str:
    return ", ".join(f"[{_shown(v)}]" if isinstance(v, list | tuple) else str(v) for v in values)


def _sum(terms: Exponentials, open_: str | None) -> Expr:
    total: Expr | None = None
    for exponent, coefficient in sorted(terms.items()):
        term = _term(exponent, coefficient, open_)
        total = term if total is None else Binary("+", total, term)
    return total if total is not None else Number(Fraction(0))


def _term(exponent: Fraction, coefficient: Fraction, open_: str | None) -> Expr:
    if not exponent:
        return Number(coefficient)
    power: Expr = Number(exponent) if open_ is None else Binary("*", Number(exponent), Variable(open_))
    factor = Apply("exp", (power,))
    return factor if coefficient == 1 else Binary("*", Number(coefficient), factor)
