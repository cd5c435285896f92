"""Random programs: whatever they do, none is both proved and refuted.

The prover reasons about all inputs symbolically; the refuter integrates on concrete ones.  They share the
parser and nothing else, so a contradiction would be a bug in one of them.
"""

import random

import pytest

from discreet.verify import parse
from discreet.verify.prove import NoProof, prove
from discreet.verify.refute import refute


def expression(pick, names):
    first, second = pick.choice(names), pick.choice(names)
    return pick.choice([first, f"{first} + {second}", f"{first} - {second}", f"2 * {first}", f"{first} / 2"])


def draw(pick, indent, number):
    target = pick.choice(["x", "y", f"z{number}"])
    law = pick.choice(["Laplace", "Laplace", "Exponential"])
    return target, f"{indent}{target} := $ {law}({pick.choice(['1', '2', '4', '1/2'])}/eps)"


def branch(pick, indent, names, counters):
    test = f"{expression(pick, names)} {pick.choice(['>', '<', '>='])} {expression(pick, names)}"
    lines = [f"{indent}if {test} then"]
    if pick.random() < 0.5:
        value = pick.choice(["1", expression(pick, names)])
        return [*lines, f"{indent}  r := r ++ [{value}]", f"{indent}else", f"{indent}  r := r ++ [0]"]
    change = pick.choice(["w + 1", "1", *counters])
    return [*lines, f"{indent}  w := {change}", f"{indent}  {pick.choice('xy')} := {expression(pick, names)}"]


def program(seed):
    pick = random.Random(seed)
    lines = [
        "P (q : private real list) (T : public real) : public TYPE",
        f"  neighbours q {pick.choice(['one', 'all', 'monotone'])} by 1",
        "  requires size(q) >= 2",
        f"  ensures epsilon {pick.choice(['eps', '2*eps', 'eps/2', '3*eps'])}",
        "  r := []; x := 0.0 + q[0]; y := 0.0 + q[1]; w := 0",
    ]
    names, counters, indent = ["q[0]", "q[1]", "T", "x", "y"], [], "  "
    if pick.random() < 0.4:
        lines += ["  i := 0", "  while i < size q"]
        names, counters, indent = ["q[i]", "T", "x", "y"], ["i"], "    "
    for number in range(pick.randint(2, 5)):
        kind = pick.random()
        if kind < 0.45:
            target, line = draw(pick, indent, number)
            lines.append(line)
            names = [*names, target] if target not in names else names
        elif kind < 0.6:
            lines.append(f"{indent}{pick.choice('xy')} := {expression(pick, names)}")
        elif kind < 0.8:
            lines += branch(pick, indent, names, counters)
        else:
            lines.append(f"{indent}r := r ++ [{expression(pick, names)}]")
    if counters:
        lines.append("    i := i + 1")
    returned = pick.choice(["r", "w", "x", "(r, w)", "(w, y)"])
    kind = "real list" if returned == "r" else "real"
    return "\n".join([*lines, f"  return {returned}"]).replace("TYPE", kind) + "\n"


@pytest.mark.parametrize(
    "start", [0, *(pytest.param(start, marks=pytest.mark.fuzz) for start in range(3, 96, 3))]
)
def test_no_random_program_is_both_proved_and_refuted(start):
    for seed in range(start, start + 3):
        checked = parse(program(seed))
        if not isinstance(prove(checked, 0.25), NoProof):
            assert refute(checked, 0.25) is None, program(seed)


@pytest.mark.fuzz
def test_the_random_programs_include_both_kinds():
    proved = sum(not isinstance(prove(parse(program(seed)), 0.5), NoProof) for seed in range(8))
    refuted = sum(refute(parse(program(seed)), 0.5) is not None for seed in range(8))
    assert proved >= 1
    assert refuted >= 3
