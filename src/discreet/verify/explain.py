"""Verdicts in words that a student can follow."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from discreet.verify.certificate import Certificate, CertificatePart
from discreet.verify.check import CheckedProgram
from discreet.verify.grammar import read
from discreet.verify.law import logistic
from discreet.verify.shared import is_concentrated
from discreet.verify.spelling import show
from discreet.verify.syntax import Conditional, Expr, Number, Sample, Unary, names, statements
from discreet.verify.witness import Witness

EITHER = "Let the two inputs be neighbours in either order."
DIRECTIONS = {
    "up": "Let {} lie above in the second input.",
    "down": "Let {} lie below in the second input.",
    "remove": "Let {} lack one element in the second input.",
    "add": "Let {} have one element more in the second input.",
}


def proof_in_words(checked: CheckedProgram, certificate: Certificate) -> str:
    """Tell a proof: which noise moves by how much, what it costs, and what stays true in each loop."""
    if certificate.method == "enumeration":
        return (
            "All inputs and all draws have finitely many values. For every pair of neighbouring inputs and "
            "every output the two probabilities were computed as functions of eps, and the claim "
            f"({certificate.claim}) holds for all of them."
        )
    lines = [
        "Run the program twice, on neighbouring inputs x{1} and x{2}. Whatever noise the first run draws, "
        "let the second run draw noise moved as follows; then both runs output the same. Below, moved(k) is "
        "how far draw k has been moved so far, in total.",
    ]
    drawn = {s.target for s in statements(checked.program.body) if isinstance(s, Sample)}
    concentrated = certificate.method == "concentration" or is_concentrated(checked.program)
    for part in certificate.parts:
        lines.append("")
        lines += [DIRECTIONS[way].format(name) for name, way in part.direction.items()] or [EITHER]
        lines += _moves(checked, part, concentrated=concentrated)
        for site, far in part.tails.items():
            lines.append(f"  Runs in which draw {site} is beyond {far} scales are left to delta.")
        for key, note in part.notes.items():
            lines.append(
                f"  Note {key}, taken of every draw unless {part.picked}: {note}; it ends as final({key})."
            )
        for loop, visits in part.invariants.items():
            for visit in visits:
                lines.append(f"  Whenever the loop {loop} comes round:")
                lines += [f"    {text}" for text in visit] or ["    (nothing needs to be known)"]
        for loop, both in part.waits.items():
            for run, text in enumerate(both, start=1):
                if text != "false":
                    lines.append(f"  Run {run} sits out a turn of the loop {loop} when {text}.")
        for loop, variant in part.variants.items():
            why = f"{variant} decreases at every turn"
            if names(read(variant)) & drawn:
                why = f"it goes on only where {variant}, which every turn draws anew"
            lines.append(f"  The loop {loop} ends because {why}.")
    lines.append("")
    lines.append(f"Adding up what the moves cost gives at most the claim: {certificate.claim}.")
    return "\n".join(lines)


def _moves(checked: CheckedProgram, part: CertificatePart, *, concentrated: bool) -> Iterator[str]:
    for statement in statements(checked.program.body):
        if isinstance(statement, Sample):
            text = part.moves.get(statement.site)
            move = read(text) if text is not None else Number(Fraction(0))
            place = f"draw {statement.site}, {statement.target} (line {statement.at.line})"
            yield f"  {place}: {_move(statement, move, concentrated=concentrated)}"


def _move(statement: Sample, move: Expr, *, concentrated: bool) -> str:
    argument = show(statement.arguments[0]) if statement.arguments else ""
    match statement.law:
        case "Laplace" | "Geometric" | "Gaussian" | "DiscreteGaussian" if concentrated:
            return (
                f"the same value in both runs; the centres are at most {show(move)} apart, "
                f"which costs rho ({show(move)})^2 / (2 ({argument})^2) each time they differ"
            )
        case "ExpMech" if concentrated:
            cost = f"for c = {argument} times the change of the scores"
            return f"the same choice in both runs, which costs rho c^2 / 8 {cost}"
        case "ExpMech":
            return f"the same choice in both runs, which costs {argument} times the change of the scores"
        case "UniformBits":
            return f"combined by xor with {show(move)}, which costs nothing"
        case "Response" | "Bernoulli" if statement.law == "Response" or logistic(statement.arguments[0]):
            return f"flipped when {show(move)} is not 0, which costs its log-odds"
        case "Laplace" | "Geometric" | "Exponential" | "Gumbel":
            return "; ".join(_cases(move, argument))
    return "the same value in both runs, which costs nothing"


def _cases(move: Expr, scale: str) -> Iterator[str]:
    match move:
        case Conditional(condition, positive, negative):
            yield f"if {condition_in_words(condition)}: {_shift(positive, scale)}"
            if isinstance(negative, Conditional):
                yield from _cases(negative, scale)
            else:
                yield f"otherwise: {_shift(negative, scale)}"
        case _:
            yield _shift(move, scale)


def _shift(move: Expr, scale: str) -> str:
    if isinstance(move, Number) and move.value == 0:
        return "not moved, free"
    return f"moved by {show(move)}, at cost |{show(move)}| / ({scale})"


def condition_in_words(condition: Expr) -> str:
    """Return a case of a move as words about the output."""
    text = show(condition)
    if text.startswith("tag("):
        name, _, tag = text[4:].partition(") = ")
        return f"the next element of {name} will come from append number {tag}"
    if text.startswith("value("):
        name, _, value = text[6:].partition(") = ")
        return f"the next element of {name} will be {'true' if value == '1' else value}"
    if text.startswith("result("):
        return f"the returned value will be {text.partition(' = ')[2]}"
    if isinstance(condition, Unary):
        return f"it is not the case that {show(condition.operand)}"
    return text


def counterexample_facts(witness: Witness) -> list[tuple[str, str]]:
    """Return what a counterexample consists of, each part with its name."""
    how = (
        "computed exactly, with certified sign"
        if witness.method == "exact"
        else f"estimated from samples, confidence {float(witness.confidence):.9f}, as executed on a grid"
    )
    loss = "infinite" if witness.loss == float("inf") else f"at least {witness.loss:.6f}"
    slack = f" with delta {float(witness.delta):g}" if witness.delta else ""
    claim = "claimed" if witness.rho is None else f"claimed rho {float(witness.rho):g} allows for this event"
    fixed = [("with", values_in_words(witness.constants))] if witness.constants else []
    return [
        *fixed,
        ("first input", values_in_words(witness.first)),
        ("second input", values_in_words(witness.second)),
        ("event", witness.event),
        ("probability", f"{_interval(witness.first_probability)} on the first input"),
        ("", f"{_interval(witness.second_probability)} on the second ({how})"),
        ("privacy loss", f"{loss}, {claim} {float(witness.epsilon):g}{slack}"),
    ]


def counterexample_in_words(witness: Witness) -> str:
    """Tell a counterexample: the inputs, the event, the probabilities and the loss."""
    return "\n".join(f"  {name:<14}{text}" for name, text in counterexample_facts(witness))


def values_in_words(values: Mapping[str, object]) -> str:
    """Return inputs as text."""
    return ", ".join(f"{name} = {_show(value)}" for name, value in values.items() if not callable(value))


def _interval(bounds: tuple[Fraction, Fraction]) -> str:
    low, high = (float(b) for b in bounds)
    return f"{low:.9g}" if high - low <= 1e-9 * high else f"{low:.6g} .. {high:.6g}"


def _show(value: object) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_show(v) for v in value) + "]"
    return str(value)
