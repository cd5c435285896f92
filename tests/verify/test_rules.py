"""Every rule of the kernel, held against a proof that only its absence would let through."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import CertificateError
from discreet.verify import foresight, kernel, parse
from discreet.verify.acceptance import reals_of, refusing
from discreet.verify.certificate import listed
from discreet.verify.grammar import read
from discreet.verify.kernel import Part
from discreet.verify.syntax import Sample, statements


def part(moves=(), invariants=(), variants=(), waits=(), direction=(), concentrated=False, tails=()):
    """Return a part whose terms are texts; of invariants, one visit for each loop."""
    return Part(
        dict(direction),
        {k: read(v) for k, v in dict(moves).items()},
        {k: read(v) for k, v in dict(variants).items()},
        {k: (tuple(read(f) for f in v),) for k, v in dict(invariants).items()},
        {k: tuple(read(w) for w in v) for k, v in dict(waits).items()},
        concentrated,
        {k: read(v) for k, v in dict(tails).items()},
    )


def program(header, *body, claim="epsilon eps"):
    head, *clauses = header.split("; ")
    lines = [f"P {head}", *(f"  {c}" for c in clauses), f"  ensures {claim}", *(f"  {line}" for line in body)]
    return "\n".join(lines) + "\n"


Q = "(q : private real list); neighbours q one by 1; requires size(q) >= 1"
LOOP = ["i := 0; s := 0.0", "while i < size(q)", "  s := s + q[i]", "  i := i + 1"]
COUNTED = {"variants": {1: "size(q) - i{1}"}}
TOGETHER = "i{1} = i{2}"
DATA = "(q : private real list); neighbours q one by 2; requires size(q) >= 1"

COINS = ["k := 0", "t := $ Bernoulli(1/2)", "while t", "  k := k + 1"]
WAITING = {"invariants": {1: ["u{1} = u{2}"]}}


def waiting(law, condition, *more):
    """Return a loop that draws until a condition fails."""
    start = "u := 1" if "{" in law else "u := 1.0"
    return program(Q, start, f"while {condition}", f"  u := $ {law}", *more, "return u")


CLOSED = "(x : private {0..5}) (p : public bool); neighbours x replace"

TESTED = "(f : private real) (g : private int); neighbours g one by 1"
TESTED += "; neighbours by abs(f{1} - f{2}) <= 1 or (g{1} <= 0 and g{2} <= 0)"
TEST = ["h := $ Laplace(1, g)", "r := 0.0", "if h > 15 then", "  r := $ Laplace(1, f)", "return r"]
TESTING = {"moves": {1: "g{1} - g{2}", 2: "f{1} - f{2}"}}
PROPOSED = program(TESTED, *TEST, claim="epsilon 2 delta 1/1000000")
OFTEN = ["i := 0", "while i < 20", *(f"  {line}" for line in TEST[:-1]), "  i := i + 1", "return i"]
STILL = ["f{1} - f{2} <= 1", "f{2} - f{1} <= 1", "i{1} = i{2}", "moved(1) <= 0", "moved(2) <= 0"]

ROWS = "(q : private {0,1}[2] list); neighbours q replace; requires size(q) = 2"
BIT = "(x : private {0,1}); neighbours x replace"
PAIR = "(d : private {0,1} list); neighbours d replace; requires size(d) = 2"
CELLS = ["h := []", "h := h ++ [0]", "h := h ++ [0]"]
ONCE = ["i := 0", "while i < 1"]
COUNTING = {"variants": {1: "1 - i{1}"}}

WRONG = {
    "a list read outside": (program(BIT, "h := []", "h := h ++ [7]", "return h[x]"), {}, "may be no value"),
    "a list changed outside": (
        program(BIT, "h := []", "h := h ++ [0]", "h[2 * x] := 0", "return 0"),
        {},
        "may be no value",
    ),
    "a list changed before its beginning": (
        program(BIT, "h := []", "h := h ++ [0]", "h[-x] := 0", "return 0"),
        {},
        "may be no value",
    ),
    "an element of each run's own": (
        program(BIT, *CELLS, "h[0] := x", "return h[0]"),
        {},
        "outputs may differ",
    ),
    "an appended element": (
        program(BIT, "h := []", "h := h ++ [x]", "return h[0]"),
        {},
        "outputs may differ",
    ),
    "a place of each run's own": (program(BIT, *CELLS, "h[x] := 1", "return h[0]"), {}, "outputs may differ"),
    "a returned list that was changed": (
        program(BIT, *CELLS, "h[1] := x", "return h"),
        {},
        "outputs may differ",
    ),
    "a list changed in a private branch": (
        program(BIT, *CELLS, "if x = 1 then", "  h[0] := 1", "return h"),
        {},
        "outputs may differ",
    ),
    "a list changed in a loop": (
        program(BIT, *CELLS, *ONCE, "  h[0] := x", "  i := i + 1", "return h[0]"),
        {"invariants": {1: [TOGETHER]}, **COUNTING},
        "outputs may differ",
    ),
    "a list that grows in a loop": (
        program(
            BIT,
            *CELLS,
            *ONCE,
            "  h := h ++ [0]",
            "  i := i + 1",
            "y := x",
            "if size(h) = 2 then",
            "  y := 0",
            "return y",
        ),
        {"invariants": {1: [TOGETHER]}, **COUNTING},
        "outputs may differ",
    ),
    "an entry of each row": (
        program(ROWS.replace("replace", "one by 1"), "z := $ Laplace(1/eps, q[0][0] + q[0][1])", "return z"),
        {"moves": {1: "q'0{1}[0] + q'1{1}[0] - q'0{2}[0] - q'1{2}[0]"}},
        "cost too much",
    ),
    "an entry that is not there": (
        program(f"{ROWS} and j < 3".replace(")", ") (j : public int)", 1), "return 0 * q[0][j]"),
        {},
        "may be no value",
    ),
    "every place of an input": (
        program(PAIR, *ONCE, "  i := i + 1", "j := 0", "while j < 1", "  j := j + 1", "return d[1] - d[0]"),
        {
            "invariants": {
                1: [TOGETHER, *(f"place(0) != 0 or d{{{s}}}[place(0)] = d{{{s}}}[0]" for s in (1, 2))],
                2: ["j{1} = j{2}", *(f"place(0) != 1 or d{{{s}}}[1] = d{{{s}}}[0]" for s in (1, 2))],
            },
            "variants": {1: "1 - i{1}", 2: "1 - j{1}"},
        },
        "reads an input",
    ),
    "every place of an input, in other words": (
        program(PAIR, *ONCE, "  i := i + 1", "return d[1]"),
        {
            "invariants": {1: [TOGETHER, "d{1}[if place(0.0) = 1 then 0 else 1] >= 0"]},
            **COUNTING,
        },
        "reads an input",
    ),
    "a move that knows the place": (
        program(BIT, "z := $ Laplace(1/eps, x)", "return z"),
        {"moves": {1: "place(0)"}},
        "means nothing",
    ),
    "a variant that knows the place": (
        program(BIT, *ONCE, "  i := i + 1", "return 0"),
        {"invariants": {1: [TOGETHER]}, "variants": {1: "1 - i{1} + place(0)"}},
        "means nothing",
    ),
    "a fact about every place that holds of one": (
        program(BIT, *CELLS, "h[1] := x", *ONCE, "  i := i + 1", "return h[1]"),
        {"invariants": {1: [TOGETHER, "place(0) = 1 or h{1}[place(0)] = h{2}[place(0)]"]}, **COUNTING},
        "outputs may differ",
    ),
    "a fact about every place that a turn breaks": (
        program(BIT, *CELLS, *ONCE, "  h[1] := x", "  i := i + 1", "return h[1]"),
        {"invariants": {1: [TOGETHER, "h{1}[place(0)] = h{2}[place(0)]"]}, **COUNTING},
        "break the invariant",
    ),
    "a tail that costs more than delta": (
        PROPOSED,
        {**TESTING, "tails": {1: "13.8"}},
        "delta may be too small",
    ),
    "no tail": (PROPOSED, TESTING, "cost too much"),
    "the other tail": (PROPOSED, {**TESTING, "tails": {1: "-14"}}, "cost too much"),
    "the tail of another draw": (PROPOSED, {**TESTING, "tails": {2: "14"}}, "surely made once"),
    "a tail without delta": (
        PROPOSED.replace(" delta 1/1000000", ""),
        {**TESTING, "tails": {1: "14"}},
        "delta may be too small",
    ),
    "a tail of every turn": (
        program(TESTED, *OFTEN, claim="epsilon 2 delta 1/1000000"),
        {**TESTING, "tails": {1: "14"}, "invariants": {1: STILL}, "variants": {1: "20 - i{1}"}},
        "surely made once",
    ),
    "a tail of a law that has another": (
        program(Q, "z := $ Gumbel(1)", "return q[0] + z", claim="epsilon 1 delta 1/2"),
        {"tails": {1: "-2"}},
        "surely made once",
    ),
    "a tail for a secret": (
        program(Q, "z := $ Laplace(1)", "return z > 9 and q[0] > 0", claim="secret"),
        {"tails": {1: "9"}},
        "needs a claim",
    ),
    "Gumbel noise that moves down": (
        program(Q, "z := $ Gumbel(1/eps)", "return q[0] + z"),
        {"moves": {1: "q{1}[0] - q{2}[0]"}},
        "may go down",
    ),
    "a response whose fall is changed": (
        program(Q, *COINS, "  t := $ Response(1)", "  t := k > 0", "return k"),
        {"invariants": {1: ["k{1} = k{2}", "t{1} = t{2}"]}, "variants": {1: "t"}},
        "may not end",
    ),
    "a coin that always falls one way": (
        program(Q, *COINS, "  t := $ Bernoulli(1)", "return k"),
        {"invariants": {1: ["k{1} = k{2}", "t{1} = t{2}"]}, "variants": {1: "t"}},
        "may not end",
    ),
    "a coin whose fall is changed": (
        program(Q, *COINS, "  t := $ Bernoulli(1/2)", "  t := k > 0", "return k"),
        {"invariants": {1: ["k{1} = k{2}", "t{1} = t{2}"]}, "variants": {1: "t"}},
        "may not end",
    ),
    "a coin that is not asked": (
        program(Q, *COINS[:2], "while t or k < 1", "  t := $ Bernoulli(1/2)", "  k := k + 0", "return k"),
        {"invariants": {1: ["k{1} = k{2}", "t{1} = t{2}"]}, "variants": {1: "t"}},
        "may not end",
    ),
    "a coin that only some turns toss": (
        program(Q, *COINS, "  if k > 3 then", "    t := $ Bernoulli(1/2)", "return k"),
        {"invariants": {1: ["k{1} = k{2}", "t{1} = t{2}"]}, "variants": {1: "t"}},
        "may not end",
    ),
    "a point that a number never hits": (
        waiting("Uniform(0, 2)", "u != 2"),
        {**WAITING, "variants": {1: "u != 2"}},
        "may not end",
    ),
    "a bar at the edge": (
        waiting("Uniform(0, 2)", "u < 2"),
        {**WAITING, "variants": {1: "u < 2"}},
        "may not end",
    ),
    "a bar below the edge": (
        waiting("Uniform(0, 2)", "u >= 0"),
        {**WAITING, "variants": {1: "u >= 0"}},
        "may not end",
    ),
    "a bar that gives way where the draw stands": (
        waiting("Uniform(0, 2)", "u <= (if u = 2 then 0 else 3)"),
        {**WAITING, "variants": {1: "u <= (if u = 2 then 0 else 3)"}},
        "u has no such value here",
    ),
    "a bar that is not the loop's": (
        waiting("Uniform(0, 2)", "u < 3"),
        {**WAITING, "variants": {1: "u < 1"}},
        "may not end",
    ),
    "an integer that is always there": (
        waiting("Uniform({0..3})", "u <= 3"),
        {**WAITING, "variants": {1: "u <= 3"}},
        "may not end",
    ),
    "a number that is changed after it was drawn": (
        waiting("Uniform(0, 2)", "u < 2", "  u := u / 2"),
        {**WAITING, "variants": {1: "u < 2"}},
        "may not end",
    ),
    "a law that another draw narrows": (
        program(
            Q, "u := 0.0; v := 1.0", "while u < 1", "  v := v / 2", "  u := $ Uniform(0, 1 + v)", "return u"
        ),
        {"invariants": {1: ["u{1} = u{2}", "v{1} = v{2}", "v{1} > 0"]}, "variants": {1: "u < 1"}},
        "v has no such value here",
    ),
    "noise that is no waiting": (
        waiting("Laplace(1)", "u < 1"),
        {**WAITING, "variants": {1: "u < 1"}},
        "may not end",
    ),
    "a result that is not final": (
        program(CLOSED, "r := 7", "if not p then", "  r := x", "return r", claim="secret"),
        {},
        "outputs may differ",
    ),
    "cost": (
        program(DATA, "z := $ Laplace(1/eps, q[0])", "return z"),
        {"moves": {1: "q{1}[0] - q{2}[0]"}},
        "cost too much",
    ),
    "a move that earns": (
        program(DATA, "z := $ Laplace(1/eps, q[0])", "y := $ Laplace(1/eps)", "return z"),
        {"moves": {1: "q{1}[0] - q{2}[0]", 2: "-1"}},
        "cost too much",
    ),
    "rho": (
        program(Q, "z := $ Gaussian(1, q[0])", "return z", claim="rho 1/4"),
        {"moves": {1: "1"}},
        "cost too much",
    ),
    "centres": (program(Q, "z := $ Gaussian(1, q[0])", "return z", claim="rho 1/4"), {}, "centres"),
    "Gaussian noise under epsilon": (
        program(Q, "z := $ Gaussian(1, q[0])", "return z", claim="epsilon 1/2"),
        {"moves": {1: "1"}},
        "between 0 and 1",
    ),
    "Laplace noise under rho": (
        program(Q, "z := $ Laplace(2, q[0])", "return z", claim="rho 1/9"),
        {"moves": {1: "1"}},
        "cost too much",
    ),
    "a choice under rho": (
        program(Q, "j := $ ExpMech(2, q)", "return j", claim="rho 49/100"),
        {"moves": {1: "1"}},
        "cost too much",
    ),
    "Laplace noise counted as rho under epsilon alone": (
        program(Q, "z := $ Laplace(1/2, q[0])", "return z", claim="epsilon 1"),
        {"moves": {1: "1"}, "concentrated": True},
        "between 0 and 1",
    ),
    "Laplace noise counted as rho that knows its output": (
        program(Q, "z := $ Laplace(9)", "return q[0] + z > 0", claim="epsilon 1 delta 1/1000"),
        {"moves": {1: "if result(1) = 1 then 1 else 0"}, "concentrated": True},
        "means nothing here",
    ),
    "Laplace noise counted as rho for too small a delta": (
        program(Q, "z := $ Laplace(1, q[0])", "return z", claim="epsilon 3/4 delta 1/100000"),
        {"moves": {1: "1"}, "concentrated": True},
        "cost too much",
    ),
    "Gaussian and Laplace noise together": (
        program(Q, "y := $ Laplace(2, q[0])", "z := $ Gaussian(1, q[0])", "return y + z", claim="rho 5/9"),
        {"moves": {1: "1", 2: "1"}},
        "cost too much",
    ),
    "a Laplace centre under rho": (
        program(Q, "z := $ Laplace(2, q[0])", "return z", claim="rho 1/8"),
        {"moves": {1: "1/2"}},
        "centres",
    ),
    "discrete noise for real data": (
        program(
            Q, "z := $ DiscreteGaussian(1)", "y := $ Geometric(1, z)", "return q[0] + y", claim="rho 1/2"
        ),
        {},
        "outputs may differ",
    ),
    "too small a delta for Gaussian noise": (
        program(Q, "z := $ Gaussian(5, q[0])", "return z", claim="epsilon 1 delta 1/10000000"),
        {"moves": {1: "1"}},
        "cost too much",
    ),
    "no delta for Gaussian noise": (
        program(Q, "z := $ Gaussian(5, q[0])", "return z", claim="epsilon 1 delta 0"),
        {"moves": {1: "1"}},
        "between 0 and 1",
    ),
    "changes go both ways": (
        program(Q, "z := $ Exponential(1/eps)", "return z - q[0]"),
        {"moves": {1: "q{2}[0] - q{1}[0]"}},
        "leave the support",
    ),
    "nobody waits where a list has ended": (
        program(
            "(x : private {0..9}); neighbours x one by 1",
            "i := 0",
            "while i < x",
            "  i := i + 1",
            "return i",
        ),
        {
            "invariants": {1: [TOGETHER]},
            "variants": {1: "x{1} + x{2} - i{1}"},
            "waits": {1: ["false", "false"]},
        },
        "turns may differ",
    ),
    "the end of a loop that one run leaves earlier": (
        program(
            "(x : private {0..9}); neighbours x one by 1",
            "i := 0",
            "while i < x",
            "  i := i + 1",
            "return i",
        ),
        {"invariants": {1: [TOGETHER]}, "variants": {1: "x{1} - i{1}"}},
        "turns may differ",
    ),
    "a negative delta": (
        program(Q, "z := $ Laplace(1/eps, q[0])", "return z", claim="epsilon eps delta -1/10"),
        {"moves": {1: "q{1}[0] - q{2}[0]"}},
        "delta may be too small",
    ),
    "support": (
        program(Q, "z := $ Exponential(1/eps)", "return q[0] + z"),
        {"moves": {1: "q{1}[0] - q{2}[0]"}},
        "leave the support",
    ),
    "integer noise for real data": (
        program(Q, "z := $ Geometric(1/eps)", "return q[0] + z"),
        {"moves": {1: "q{1}[0] - q{2}[0]"}},
        "not be an integer",
    ),
    "negative scale": (
        program(Q, "z := $ Laplace(0 - 1/eps, q[0])", "return z"),
        {"moves": {1: "q{1}[0] - q{2}[0]"}},
        "not be positive",
    ),
    "private scale": (
        program("(x : private {0,1}); neighbours x replace", "z := $ Laplace((1 + x)/eps)", "return z"),
        {},
        "laws may differ",
    ),
    "private chance": (
        program("(x : private {0,1}); neighbours x replace", "z := $ Bernoulli(x/2)", "return z"),
        {},
        "laws may differ",
    ),
    "impossible chance": (
        program(
            "(x : private {0,1}) (T : public int); neighbours x replace", "z := $ Bernoulli(T)", "return z"
        ),
        {},
        "parameter may be impossible",
    ),
    "empty interval": (
        program(
            "(x : private {0,1}) (T : public int); neighbours x replace",
            "y := 0; r := []",
            "if T > 0 then",
            "  u := $ Uniform(1, 0)",
            "  y := x",
            "return y",
        ),
        {},
        "parameter may be impossible",
    ),
    "no candidates": (
        program(
            "(q : private {0,1} list) (x : private {0,1}); neighbours q replace; neighbours x replace",
            "k := $ ExpMech(eps, q)",
            "y := 0",
            "if size(q) = 0 then",
            "  y := x",
            "return y",
        ),
        {},
        "be impossible",
    ),
    "scores that all change": (
        program(
            "(q : private {0,1} list); neighbours q all by 1; requires size(q) >= 1",
            "k := $ ExpMech(eps, q)",
            "return k",
        ),
        {"moves": {1: "2"}},
        "cost too much",
    ),
    "scores that change by more": (
        program(
            "(q : private {0,1} list); neighbours q all by 1; requires size(q) >= 1",
            "k := $ ExpMech(eps, q)",
            "return k",
        ),
        {"moves": {1: "1"}},
        "change by more",
    ),
    "scores of which one run has more": (
        program(
            "(q : private real list); neighbours q any; requires size(q) >= 1",
            "k := $ ExpMech(eps, q)",
            "return k",
        ),
        {},
        "laws may differ",
    ),
    "a spread that depends on what happened": (
        program(
            Q,
            "z := $ Laplace(1/eps)",
            "k := $ ExpMech(eps, q)",
            "return k",
        ),
        {"moves": {1: "1", 2: "moved(1)"}},
        "means nothing here",
    ),
    "a flip": (
        program(
            "(x : private bool); neighbours x replace",
            "b := $ Response(2*eps)",
            "y := b",
            "if x then",
            "  y := not b",
            "return y",
        ),
        {"moves": {1: "if x{1} = x{2} then 0 else 1"}},
        "cost too much",
    ),
    "branches": (
        program(Q, "r := []", "if q[0] > 0 then", "  r := r ++ [1]", "else", "  r := r ++ [0]", "return r"),
        {},
        "branches may differ",
    ),
    "appended": (program(Q, "r := []", "r := r ++ [q[0]]", "return r"), {}, "outputs may differ"),
    "returned": (program(Q, "return q[0]"), {}, "outputs may differ"),
    "entry": (
        program(Q, "s := q[0]", "i := 0", "while i < 1", "  i := i + 1", "  s := s + 0", "return s"),
        {"invariants": {1: [TOGETHER, "s{1} = s{2}"]}, "variants": {1: "1 - i{1}"}},
        "not hold at first",
    ),
    "preservation": (
        program(Q, *LOOP, "return s"),
        {"invariants": {1: [TOGETHER, "s{1} = s{2}", "i{1} >= 0"]}, **COUNTED},
        "break the invariant",
    ),
    "an invariant that says too little": (
        program(Q, *LOOP, "return s"),
        {"invariants": {1: [TOGETHER, "i{1} >= 0"]}, **COUNTED},
        "outputs may differ",
    ),
    "noise in a loop": (
        program(
            "(q : private real list); neighbours q all by 1",
            "i := 0; r := []",
            "while i < size(q)",
            "  z := $ Laplace(1/eps, q[i])",
            "  r := r ++ [z]",
            "  i := i + 1",
            "return r",
        ),
        {
            "moves": {1: "q{1}[i] - q{2}[i]"},
            "invariants": {1: [TOGETHER, "i{1} >= 0", "moved(1) <= i{1}"]},
            **COUNTED,
        },
        "cost too much",
    ),
    "a loop without end": (
        program(Q, "i := 0", "while i < 1", "  i := i + 0", "return 0"),
        {"invariants": {1: [TOGETHER]}, "variants": {1: "1 - i{1}"}},
        "not end",
    ),
    "a variant below zero": (
        program(Q, "i := 0", "while i < size(q)", "  i := i + 1", "return 0"),
        {"invariants": {1: [TOGETHER]}, "variants": {1: "0 - i{1}"}},
        "not end",
    ),
    "private turns": (
        program(
            "(x : private {0,1}); neighbours x replace",
            "i := 0; r := []",
            "while i < x",
            "  r := r ++ [0]",
            "  i := i + 1",
            "return r",
        ),
        {"invariants": {1: [TOGETHER]}, "variants": {1: "x{1} - i{1}"}},
        "turns may differ",
    ),
    "a wait that never ends": (
        program(
            "(x : private {0,1}); neighbours x replace",
            "i := 0",
            "while i < x",
            "  i := i + 1",
            "return i",
        ),
        {
            "invariants": {1: [TOGETHER]},
            "variants": {1: "x{1} + x{2} - i{1} - i{2}"},
            "waits": {1: ["true", "true"]},
        },
        "not end",
    ),
    "a private branch": (
        program(
            "(x : private {0,1}); neighbours x replace", "y := 0", "if x = 1 then", "  y := 1", "return y"
        ),
        {},
        "outputs may differ",
    ),
    "a wait in which a run draws": (
        program(
            "(x : private {0,1}); neighbours x replace",
            "i := 0; s := 0.0",
            "while i < x",
            "  z := $ Laplace(1/eps)",
            "  s := s + z",
            "  i := i + 1",
            "return 0",
        ),
        {
            "invariants": {1: ["i{1} >= 0", "i{2} >= 0", "i{1} <= x{1}", "i{2} <= x{2}"]},
            "variants": {1: "x{1} - i{1} + x{2} - i{2}"},
            "waits": {1: ["i{1} >= x{1}", "i{2} >= x{2}"]},
        },
        "wait only where",
    ),
    "division by zero": (program(Q, "y := 1 / q[0]", "return 0"), {}, "no value"),
    "a remainder by less than nought": (
        program("(n : public int); requires n < 0", "y := 7 mod n", "return y"),
        {},
        "no value",
    ),
    "outside the list": (program(Q, "y := q[1]", "return 0"), {}, "no value"),
    "division in a branch": (
        program(Q, "y := 0.0", "if q[0] > 1 then", "  y := 1 / (q[0] - 2)", "return 0"),
        {},
        "no value",
    ),
    "a remainder that no number leaves": (
        program("(n : public int); requires 7 mod n = 100", "return 0"),
        {},
        "no input satisfies",
    ),
    "contradictory assumptions": (
        program(f"{Q}; requires size(q) <= 0", "return q[0]"),
        {},
        "no input satisfies",
    ),
    "the length of any list": (
        program("(q : private real list); neighbours q any", "return size(q)", claim="secret"),
        {},
        "outputs may differ",
    ),
    "a secret": (
        program("(x : private {0,1}); neighbours x replace", "return x", claim="secret"),
        {},
        "outputs may differ",
    ),
    "a query that moves": (
        program(
            "(d : private data) (f : public data -> real); neighbours d one by 1",
            "z := $ Laplace(GSf/(2*eps), f(d))",
            "return z",
        ),
        {"moves": {1: "f{1}(d) - f{2}(d)"}},
        "cost too much",
    ),
    "an element that changes": (
        program(
            "(q : private real list); neighbours q replace in [0, 2]; requires size(q) >= 1",
            "z := $ Laplace(1/eps, q[0])",
            "return z",
        ),
        {"moves": {1: "q{1}[0] - q{2}[0]"}},
        "cost too much",
    ),
    "a range that is not declared": (
        program("(x : private int); neighbours x any", "z := $ Geometric(1/eps, x)", "return z"),
        {"moves": {1: "x{1} - x{2}"}},
        "cost too much",
    ),
    "an output known too early": (
        program(Q, "z := $ Laplace(1/eps)", "return q[0] + z > 0"),
        {"moves": {1: "if result(1) = 1 then 0 else 0"}},
        "outputs may differ",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_without_this_rule_a_wrong_proof_would_pass(name):
    text, terms, doubt = WRONG[name]
    with pytest.raises(CertificateError, match=doubt):
        kernel.accept(parse(text).program, [part(**terms)])


RIGHT = {
    "rows that differ in one place": (
        program(ROWS, "z := $ Laplace(1/eps, q[0][0] + q[1][1])", "return z"),
        {"moves": {1: "q'0{1}[0] + q'1{1}[1] - q'0{2}[0] - q'1{2}[1]"}},
    ),
    "a secret that is wiped": (
        program(BIT, *CELLS, "h[x] := 1", "h[0] := 7", "h[1] := 7", "return h"),
        {},
    ),
    "every place of a list": (
        program(BIT, *CELLS, *ONCE, "  h[x] := 0", "  i := i + 1", "return h"),
        {
            "invariants": {
                1: [TOGETHER, *(f"place(0) < 0 or place(0) > 1 or h{{{s}}}[place(0)] = 0" for s in (1, 2))]
            },
            **COUNTING,
        },
    ),
    "a coin ends a loop almost surely": (
        program(Q, *COINS, "  t := $ Bernoulli(1/2)", "return k"),
        {"invariants": {1: ["k{1} = k{2}", "t{1} = t{2}"]}, "variants": {1: "t"}},
    ),
    "a uniform number is drawn until it is large": (
        waiting("Uniform(0, 2)", "u <= 3/2"),
        {**WAITING, "variants": {1: "u <= 3/2"}},
    ),
    "a die is thrown until it shows no three": (
        waiting("Uniform({0..3})", "u >= 3"),
        {**WAITING, "variants": {1: "u >= 3"}},
    ),
    "noise": (program(Q, "z := $ Laplace(1/eps, q[0])", "return z"), {"moves": {1: "q{1}[0] - q{2}[0]"}}),
    "a sum": (
        program(Q, *LOOP, "z := $ Laplace(1/eps, s)", "return z"),
        {
            "moves": {1: "s{1} - s{2}"},
            "invariants": {
                1: [
                    TOGETHER,
                    "i{1} >= 0",
                    "s{2} - s{1} = (if position(q) < i{1} then q{2}[position(q)] - q{1}[position(q)] else 0)",
                ]
            },
            **COUNTED,
        },
    ),
    "a Gaussian": (
        program(Q, "z := $ Gaussian(1, q[0])", "return z", claim="rho 1/2"),
        {"moves": {1: "1"}},
    ),
    "Laplace noise under rho": (
        program(Q, "z := $ Laplace(2, q[0])", "return z", claim="rho 1/8"),
        {"moves": {1: "1"}},
    ),
    "Laplace noise counted as rho": (
        program(Q, "z := $ Laplace(5, q[0])", "return z", claim="epsilon 1 delta 1/100000"),
        {"moves": {1: "1"}, "concentrated": True},
    ),
    "a choice under rho": (
        program(Q, "j := $ ExpMech(2, q)", "return j", claim="rho 1/2"),
        {"moves": {1: "1"}},
    ),
    "Gaussian noise with a delta": (
        program(Q, "z := $ Gaussian(5, q[0])", "return z", claim="epsilon 1 delta 1/100000"),
        {"moves": {1: "1"}},
    ),
    "pure privacy with a delta": (
        program(Q, "z := $ Laplace(1/eps, q[0])", "return z", claim="epsilon eps delta 1/10"),
        {"moves": {1: "q{1}[0] - q{2}[0]"}},
    ),
    "a flip": (
        program(
            "(x : private bool); neighbours x replace",
            "b := $ Response(eps)",
            "y := b",
            "if x then",
            "  y := not b",
            "return y",
        ),
        {"moves": {1: "if x{1} = x{2} then 0 else 1"}},
    ),
    "a comparison": (
        program(Q, "z := $ Laplace(1/eps)", "return q[0] + z > 0"),
        {"moves": {1: "q{1}[0] - q{2}[0]"}},
    ),
    "a choice": (
        program(
            "(q : private {0,1} list); neighbours q all by 1; requires size(q) >= 1",
            "k := $ ExpMech(eps/2, q)",
            "return k",
        ),
        {"moves": {1: "2"}},
    ),
    "a private branch that only computes": (
        program(
            "(x : private {0,1}); neighbours x replace",
            "y := 0",
            "if x = 1 then",
            "  y := 1 / 2",
            "z := $ Laplace(1/(2*eps), y)",
            "return z",
        ),
        {"moves": {1: "y{1} - y{2}"}},
    ),
    "private turns that only compute": (
        program(
            "(x : private {0,1}); neighbours x replace",
            "i := 0",
            "while i < x",
            "  i := i + 1",
            "z := $ Geometric(1/eps, i)",
            "return z",
        ),
        {
            "moves": {1: "i{1} - i{2}"},
            "invariants": {1: ["i{1} >= 0", "i{2} >= 0", "i{1} <= x{1}", "i{2} <= x{2}"]},
            "variants": {1: "x{1} - i{1} + x{2} - i{2}"},
            "waits": {1: ["i{1} >= x{1}", "i{2} >= x{2}"]},
        },
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_same_rule_lets_a_right_proof_pass(name):
    text, terms = RIGHT[name]
    assert kernel.accept(parse(text).program, [part(**terms)]) > 0


MONOTONE = program(
    "(q : private real list); neighbours q monotone by 1; requires size(q) >= 1",
    "z := $ Exponential(1/eps)",
    "return q[0] + z",
)


def test_every_order_of_the_neighbours_needs_its_own_proof():
    moves = {1: "q{1}[0] - q{2}[0]"}
    down, up = (part(moves, direction={"q": way}) for way in ("down", "up"))
    for parts in ([down], [down, down], [down, part(moves)], []):
        with pytest.raises(CertificateError, match="every order"):
            kernel.accept(parse(MONOTONE).program, parts)
    with pytest.raises(CertificateError, match="leave the support"):
        kernel.accept(parse(MONOTONE).program, [up, down])


def test_two_lists_have_four_orders():
    text = program(
        "(p : private int list) (q : private int list); "
        "neighbours p monotone by 1; neighbours q monotone by 1",
        "return 0",
    )
    ways = [{"p": a, "q": b} for a in ("up", "down") for b in ("up", "down")]
    assert kernel.accept(parse(text).program, [part(direction=way) for way in ways]) == 4
    with pytest.raises(CertificateError, match="every order"):
        kernel.accept(parse(text).program, [part(direction=way) for way in ways[:3]])


PAD = program("(m : private {0,1}^8)", "k := $ Uniform({0,1}^8)", "c := m xor k", "return c", claim="secret")


def test_strings_of_different_lengths_do_not_combine():
    tree = parse(PAD).program
    pad = part({1: "m{1} xor m{2}"})
    kernel.accept(tree, [pad])
    draw = next(s for s in statements(tree.body) if isinstance(s, Sample))
    short = replace(tree, body=tuple(replace(s, length=1) if s is draw else s for s in tree.body))
    with pytest.raises(CertificateError, match=r"cannot be read|different kinds"), refusing():
        kernel.accept(short, [pad])


def test_a_tree_in_which_numbers_mean_two_things_is_refused():
    text = program(Q, "z := $ Laplace(1/eps, q[0])", "y := $ Laplace(1/eps)", "return z")
    tree = parse(text).program
    twice = replace(tree, body=tuple(replace(s, site=1) if isinstance(s, Sample) else s for s in tree.body))
    with pytest.raises(CertificateError, match="one site"):
        kernel.accept(twice, [part({1: "q{1}[0] - q{2}[0]"})])
    renamed = replace(tree, parameters=(*tree.parameters, tree.parameters[0]))
    with pytest.raises(CertificateError, match="name and its value"):
        kernel.accept(renamed, [part({1: "q{1}[0] - q{2}[0]"})])


def test_no_time_proves_nothing():
    text, terms = RIGHT["a sum"]
    with pytest.raises(CertificateError, match="time limit"):
        kernel.accept(parse(text).program, [part(**terms)], seconds=0)


FINITE = """
P (d : private {0,1} list)
  neighbours d replace
  requires size(d) = 2
  ensures epsilon eps
  b := $ Response(eps)
  y := d[0]
  if b then
    y := 1 - d[0]
  return y
"""
GOOD = {"0": "1 / (1 + exp(eps))", "1": "exp(eps) / (1 + exp(eps))"}
BAD = {"1": GOOD["0"], "0": GOOD["1"]}
LAWS = {f"[{a}, {b}], eps": (BAD if a else GOOD) for a in (0, 1) for b in (0, 1)}


def laws(changes=()):
    return {k: {o: read(w) for o, w in law.items()} for k, law in {**LAWS, **dict(changes)}.items()}


def accepted(tree, stated):
    unit = Fraction(1)
    while True:
        try:
            return kernel.accept_laws(tree, listed(tree, stated), 20, unit)
        except kernel.FinerError as finer:
            unit /= int(str(finer))


def test_a_table_is_compared_for_all_neighbours_and_no_others():
    """Both bits are answered: inputs that differ in one of them lie eps apart, those in both 2 eps."""
    text = FINITE.replace(
        "return y", "c := $ Response(eps)\n  z := d[1]\n  if c then\n    z := 1 - d[1]\n  return (y, z)"
    )
    kept, turned = "1 / (1 + exp(eps))", "exp(eps) / (1 + exp(eps))"
    stated = {
        f"[{a}, {b}], eps": {
            f"{y}, {z}": read(f"({kept if y == a else turned}) * ({kept if z == b else turned})")
            for y in (0, 1)
            for z in (0, 1)
        }
        for a in (0, 1)
        for b in (0, 1)
    }
    assert accepted(parse(text).program, stated) == 4
    assert accepted(parse(FINITE).program, laws()) == 4
    assert accepted(parse(FINITE.replace("d replace", "d all by 1")).program, laws()) == 4
    with pytest.raises(CertificateError, match="not as private"):
        accepted(parse(text.replace("d replace", "d all by 1")).program, stated)
    with pytest.raises(CertificateError, match="every input"):
        accepted(parse(text).program, {k: law for k, law in stated.items() if "1, 1" not in k})


@pytest.mark.parametrize("claim", ["epsilon eps/2", "epsilon 9*eps/10", "secret"])
def test_a_table_proves_no_stronger_claim(claim):
    tree = parse(FINITE.replace("epsilon eps", claim)).program
    with pytest.raises(CertificateError, match="not as private"):
        accepted(tree, laws())


def test_a_table_must_state_the_laws_of_the_program():
    for changes in ({"[0, 0], eps": BAD}, {"[2, 0], eps": GOOD}, {"[0, 1], eps": {"0": "1"}}):
        with pytest.raises(CertificateError, match="the certificate"):
            accepted(parse(FINITE).program, laws(changes))


@pytest.mark.parametrize(("delta", "holds"), [("1/10", True), ("1/11", False)])
def test_what_is_in_excess_adds_up_to_at_most_delta(delta, holds):
    text = f"""
P (x : private {{0,1}})
  neighbours x replace
  requires eps = 1
  ensures epsilon 0 delta {delta}
  b := $ Bernoulli(1/10)
  y := 0
  if b then
    y := x
  return y
"""
    stated = {"0, 1": {"0": read("1")}, "1, 1": {"0": read("9/10"), "1": read("1/10")}}
    if holds:
        assert accepted(parse(text).program, stated) == 2
        return
    with pytest.raises(CertificateError, match="not as private"):
        accepted(parse(text).program, stated)


def test_what_is_in_excess_is_added_up_over_all_outputs():
    text = """
P (x : private {0,1})
  neighbours x replace
  requires eps = 1
  ensures epsilon 0 delta 3/4
  b := $ Bernoulli(1/2)
  y := 2 * x
  if b then
    y := 2 * x + 1
  return y
"""
    half = read("1/2")
    stated = {"0, 1": {"0": half, "1": half}, "1, 1": {"2": half, "3": half}}
    assert accepted(parse(text.replace("3/4", "1")).program, stated) == 2
    with pytest.raises(CertificateError, match="not as private"):
        accepted(parse(text).program, stated)


def test_a_ratio_must_hold_for_every_epsilon_that_is_left_open():
    """The ratio of the laws is 2: below exp(eps) for some eps, and above it for others."""
    text = """
P (x : private {0,1})
  neighbours x replace
  requires eps > 0
  ensures epsilon eps
  b := $ Bernoulli(1/3)
  y := x
  if b then
    y := 1 - x
  return y
"""
    stated = {"0, eps": {"0": read("2/3"), "1": read("1/3")}, "1, eps": {"1": read("2/3"), "0": read("1/3")}}
    with pytest.raises(CertificateError, match="not as private"):
        accepted(parse(text).program, stated)


def test_a_table_does_not_take_an_open_constant_for_a_number():
    text = """
P (x : private {0,1})
  neighbours x replace
  requires eps > 0
  ensures epsilon eps
  y := 0
  if eps = 1 then
    y := x
  return y
"""
    stated = {"0, eps": {"0": read("1")}, "1, eps": {"0": read("1")}}
    with pytest.raises(CertificateError, match="left open"):
        accepted(parse(text).program, stated)


def test_a_chance_in_a_table_lies_between_zero_and_one():
    for chance, doubt in (("x + 1", "impossible"), ("x - 1", "above zero")):
        text = program("(x : private {0,1}); neighbours x replace", f"b := $ Bernoulli({chance})", "return b")
        stated = {f"{x}, eps": {"True": read("1")} for x in (0, 1)}
        with pytest.raises(CertificateError, match=doubt):
            accepted(parse(text).program, stated)


def test_a_constant_that_is_left_open_must_be_positive():
    text = FINITE.replace("list)", "list) (t : public real)").replace("epsilon eps", "epsilon t")
    text = text.replace("Response(eps)", "Response(t)")
    stated = {
        k.replace("eps", "t, eps"): {o: w.replace("eps", "t") for o, w in v.items()} for k, v in LAWS.items()
    }
    terms = {k: {o: read(w) for o, w in law.items()} for k, law in stated.items()}
    assert accepted(parse(text.replace("size(d) = 2", "size(d) = 2\n  requires t > 1/2")).program, terms) == 4
    with pytest.raises(CertificateError, match="every input"):
        accepted(parse(text).program, terms)


def test_a_list_is_more_than_its_beginning():
    text = FINITE.replace("size(d) = 2", "size(d) >= 2")
    with pytest.raises(CertificateError, match="every input"):
        accepted(parse(text).program, laws())


def test_a_table_about_no_input_proves_nothing():
    text = FINITE.replace("size(d) = 2", "size(d) = 2\n  requires 1 > 2")
    with pytest.raises(CertificateError):
        accepted(parse(text).program, {})


def test_an_irrational_weight_is_decided_on_the_right_side():
    """The laws' ratio is e, as claimed at 1; the equality is exact, and a tenth less is too little."""
    text = """
P (x : private {0,1})
  neighbours x replace
  requires eps = 1
  ensures epsilon CLAIM
  b := $ Response(1)
  y := x
  if b then
    y := 1 - x
  return y
"""
    stated = {
        "0, 1": {"0": read("1 / (1 + exp(1))"), "1": read("exp(1) / (1 + exp(1))")},
        "1, 1": {"1": read("1 / (1 + exp(1))"), "0": read("exp(1) / (1 + exp(1))")},
    }
    for claim, holds in (("1", True), ("11/10", True), ("9/10", False)):
        tree = parse(text.replace("CLAIM", claim)).program
        if holds:
            assert accepted(tree, stated) == 2
        else:
            with pytest.raises(CertificateError, match="not as private"):
                accepted(tree, stated)


LEAD = (Path(__file__).parent / "corpus" / "max_with_lead.dp").read_text()


def lead(text=LEAD, **changes):
    """Return a program that tells the winner's lead, and its proof with some terms changed."""
    checked = parse(text)
    (parts,) = [
        p for p in foresight.candidates(checked) if (p.best, p.second, p.largest) == ("best", "second", True)
    ]
    proof = foresight.written(checked, parts, "both")
    return checked, replace(proof, **{k: reread(v) for k, v in changes.items()})


def reread(terms):
    return {k: read(v) for k, v in terms.items()} if isinstance(terms, dict) else read(terms)


def accepts(checked, proof):
    with refusing():
        return kernel.accept(checked.program, [proof], 20, reals_of(checked))


def test_the_lead_of_a_winner_is_proved_by_notes_of_the_others():
    assert accepts(*lead()) > 0


SHIFT = "q{1}[i] - q{2}[i] + final(2) - final(1)"
UNFORESEEN = {
    "a noted draw that moves": (
        {"moves": {1: f"if i = result(1) then {SHIFT} else final(1) / 9"}},
        "may move",
    ),
    "a note of the winner": ({"notes": {1: "max(note(1), best)", 2: "note(2)"}}, "may depend on a draw"),
    "a note of its own end": ({"notes": {1: "final(1)", 2: "final(2)"}}, "may depend on a draw"),
    "a note of the moves": ({"notes": {1: "moved(1)", 2: "moved(1)"}}, "may depend on a draw"),
    "a winner who is picked by draws": ({"picked": "i = w"}, "may depend on a draw"),
    "everybody is picked": ({"picked": "true"}, "break the invariant"),
    "ties": ({"apart": {}}, "break the invariant"),
    "ties in the second run": ({"apart": {1: "best{2} - q{1}[i]"}}, "break the invariant"),
    "a miss of a fixed output": ({"apart": {1: "result(1)"}}, "no rule"),
    "a miss of what is foreseen": ({"apart": {1: "final(1)"}}, "no rule"),
}


@pytest.mark.parametrize("name", UNFORESEEN)
def test_what_is_foreseen_does_not_depend_on_what_moves(name):
    changes, doubt = UNFORESEEN[name]
    with pytest.raises(CertificateError, match=doubt):
        accepts(*lead(**changes))


def test_a_draw_that_is_made_because_of_others_is_not_noted():
    drawn = "    z := $ Laplace(2/eps)\n"
    rare = f"    z := 0.0\n    if second < 100 then\n  {drawn}"
    with pytest.raises(CertificateError, match="whether a draw is made"):
        accepts(parse(LEAD.replace(drawn, rare)), lead()[1])


@pytest.mark.parametrize("law", ["Laplace(1)", "Geometric(1)"])
def test_only_continuous_noise_misses_a_value(law):
    header = "(x : private int); neighbours x one by 1"
    given = parse(program(header, f"z := $ {law}", "return z = 5 and x > 0", claim="secret")).program
    proof = replace(part(), apart={1: read("5")})
    if law == "Laplace(1)":
        assert kernel.accept(given, [proof]) > 0
    else:
        with pytest.raises(CertificateError, match="outputs may differ"):
            kernel.accept(given, [proof])


def test_nothing_is_foreseen_where_costs_are_those_of_rho():
    checked = parse(LEAD.replace("epsilon eps", "rho eps*eps"))
    with pytest.raises(CertificateError, match="means nothing here"):
        accepts(checked, lead()[1])


def test_a_tail_pays_for_what_it_leaves_out():
    right = part(**TESTING, tails={1: "14"})
    assert kernel.accept(parse(PROPOSED).program, [right]) > 0


def test_a_formula_of_neighbours_is_assumed_as_it_stands():
    text = program("(x : private real); neighbours by x{1} = x{2} + 1", "return x - x / 1", claim="secret")
    assert kernel.accept(parse(text).program, [part()]) >= 0
    leak = parse(text.replace("x - x / 1", "x")).program
    with pytest.raises(CertificateError, match="outputs may differ"):
        kernel.accept(leak, [part()])


@pytest.mark.parametrize("clause", ["x > 0", "q[0] > 0"])
def test_the_header_says_of_a_private_input_in_which_run(clause):
    header = "(x : private real) (q : private real list); neighbours x one by 1; neighbours q one by 1"
    given = parse(program(header, "return 0")).program
    for changed in (replace(given, requires=(read(clause),)), replace(given, adjacency=read(clause))):
        with pytest.raises(CertificateError, match="in which run"):
            kernel.accept(changed, [part()])


CHANGED = """
P (x : private {0,1})
  neighbours x replace
  ensures epsilon eps
  r := []
  r := r ++ [0]
  r := r ++ [0]
  r[PLACE] := 1
  return r
"""


def test_a_table_follows_what_is_changed():
    tree = parse(CHANGED.replace("PLACE", "1")).program
    right = {f"{x}, eps": {"[0, 1]": read("1")} for x in (0, 1)}
    assert accepted(tree, right) == 2
    for wrong in ("[0, 0]", "[1, 0]", "[1, 1]"):
        with pytest.raises(CertificateError, match="does not have"):
            accepted(tree, {given: {wrong: read("1")} for given in right})
    with pytest.raises(CertificateError, match="not as private"):
        accepted(
            parse(CHANGED.replace("PLACE", "x")).program,
            {"0, eps": {"[1, 0]": read("1")}, "1, eps": {"[0, 1]": read("1")}},
        )


@pytest.mark.parametrize("place", ["-1", "2", "2 * x", "x - 1"])
def test_a_table_has_no_law_where_a_list_is_changed_outside(place):
    tree = parse(CHANGED.replace("PLACE", place)).program
    with pytest.raises(CertificateError, match="no value"):
        accepted(tree, {f"{x}, eps": {"[0, 1]": read("1")} for x in (0, 1)})


TWO_LISTS = """
P (p : private {0..0} list) (q : private {0..0} list)
  neighbours p any
  neighbours q any
  requires size(p) + size(q) = 3 and size(p) >= 1 and size(q) >= 1
  ensures epsilon eps
  return size(p) + q[0]
"""


def test_a_table_tells_lists_of_different_lengths_apart():
    """In a row the elements of both lists are the same three zeros, whichever list is the longer one."""
    tree = parse(TWO_LISTS).program
    right = {"[0], [0, 0], eps": {"1": read("1")}, "[0, 0], [0], eps": {"2": read("1")}}
    with pytest.raises(CertificateError, match="not as private"):
        accepted(tree, right)
    with pytest.raises(CertificateError, match="does not have"):
        accepted(tree, {given: {"1": read("1")} for given in right})
