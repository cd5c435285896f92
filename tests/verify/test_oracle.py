"""Every verdict against the oracle: a proof with a counterexample, or a counterexample that is none, fails.

The oracle shares the parser with the verifier and nothing else: it resolves calls, reads neighbours, computes
laws and compares them by its own means.  The short forms run with the ordinary tests; `make fuzz` runs them
on thousands of programs.
"""

import os
import random
import re
from fractions import Fraction
from pathlib import Path

import pytest
from tests.verify import oracle, programs

from discreet.errors import DiscreetError, ProgramError
from discreet.verify import Proved, Refuted, verify
from discreet.verify.parse import parse_file

CORPUS = sorted((Path(__file__).parents[2] / "examples" / "programs").glob("*.dp"))
CORPUS += sorted((Path(__file__).parent / "corpus").glob("*.dp"))
START = int(os.environ.get("FUZZ_SEED", "0"))


def exact(item):
    """Return a value of a witness as the oracle writes it."""
    if isinstance(item, list | tuple):
        return tuple(exact(x) for x in item)
    return item if isinstance(item, bool) else Fraction(item)


def replayed(text, witness):
    """Return whether a counterexample is one: its pair are neighbours, and their laws break the claim."""
    procedures, pair = replayed_pair(text, witness)
    program, machine = procedures[-1], oracle.Machine(procedures, spread=20)
    laws = [machine.law(env) for env in pair]
    claim = oracle.claimed(program, *pair)
    return oracle.breaks(*laws, *claim) or oracle.breaks(*laws, *claim, surely=False)


def judged(text, seed, seconds):
    """Return the verdict on a text after holding it against the oracle, and whether the oracle could tell."""
    try:
        verdict = verify(text, seconds=seconds)
    except ProgramError:
        return "error", False
    except DiscreetError as problem:
        raise AssertionError(f"{problem!r}\n{text}") from problem
    name = type(verdict).__name__
    lattice = "Laplace" in text or "Exponential" in text
    try:
        if isinstance(verdict, Proved):
            found = oracle.attack(parse_file(text), random.Random(seed))
            assert found is None, f"a wrong proof: {found}\n{text}\n{verdict.certificate.to_json()}"
            return name, True
        if isinstance(verdict, Refuted) and not lattice:
            assert replayed(text, verdict.witness), f"a wrong refutation: {verdict.witness}\n{text}"
            return name, True
        if isinstance(verdict, Refuted):
            replayed_pair(text, verdict.witness)
            return name, True
    except (oracle.BeyondError, oracle.MeaninglessError):
        pass
    return name, False


def replayed_pair(text, witness):
    """Return the procedures and the two inputs of a counterexample, which must be neighbours."""
    procedures = parse_file(text)
    program = procedures[-1]
    if any(isinstance(p.type, oracle.tree.SensitiveQuery) for p in program.parameters):
        raise oracle.BeyondError("a query")
    pair = []
    for private in (witness.first, witness.second):
        env = {name: exact(v) for name, v in {**witness.constants, **private}.items()}
        for table in {name.partition("'")[0] for name in env if "'" in name}:
            width = sum(name.startswith(f"{table}'") for name in env)
            env[table] = tuple(zip(*(env.pop(f"{table}'{k}") for k in range(width)), strict=True))
        pair.append({**dict.fromkeys(oracle.constants(program), Fraction(1)), **env})
    assert oracle.are_neighbours(program, *pair), f"not neighbours: {pair}\n{text}"
    return procedures, pair


def judge_random(seeds, seconds, made=programs.program):
    """Judge random programs; return how many verdicts of each kind the oracle could hold against itself."""
    found = {}
    for seed in seeds:
        name, told = judged(made(random.Random(seed)), seed, seconds)
        found[name, told] = found.get((name, told), 0) + 1
    return found


@pytest.mark.parametrize("start", [0])
def test_verdicts_on_random_programs_hold_against_the_oracle(start):
    found = judge_random(range(start, start + 20), seconds=0.25)
    assert sum(count for (_, told), count in found.items() if told) >= 6


QUICK = ("geometric_count", "randomized_response", "two_time_pad", "exponential_mechanism", "histogram")


@pytest.mark.parametrize("path", [p for p in CORPUS if p.stem in QUICK], ids=lambda p: p.stem)
def test_mutants_of_the_corpus_hold_against_the_oracle(path):
    pick = random.Random(path.stem)
    for number, mutant in enumerate(programs.mutants(path.read_text(), pick, 6)):
        judged(mutant, number, 0.4)


@pytest.mark.fuzz
@pytest.mark.parametrize("start", range(0, 5000, 100))
def test_verdicts_on_thousands_of_random_programs_hold_against_the_oracle(start):
    first = START + 10_000 + start
    found = judge_random(range(first, first + 100), seconds=2.0)
    assert found.get(("Proved", True), 0) >= 10
    assert found.get(("Refuted", True), 0) >= 10


def changing(pick):
    return programs.with_changes(programs.program(pick), pick)


@pytest.mark.fuzz
@pytest.mark.parametrize("start", range(0, 1000, 50))
def test_verdicts_on_random_programs_that_change_lists_hold_against_the_oracle(start):
    first = START + 50_000 + start
    found = judge_random(range(first, first + 50), 2.0, changing)
    assert sum(count for (name, told), count in found.items() if told and name != "error") >= 10


@pytest.mark.fuzz
@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_the_corpus_and_its_mutants_hold_against_the_oracle(path):
    text = path.read_text()
    judged(text, 0, 10.0)
    pick = random.Random(f"{path.stem} {START}")
    for number, mutant in enumerate(programs.mutants(text, pick, 16)):
        judged(mutant, number, 1.5)


# The oracle itself: it must catch what is wrong, and it must be right where the truth is known.

GEOMETRIC = """
P (x : private {{0..2}})
  neighbours x one by 1
  ensures epsilon {claim}
  z := $ Geometric({scale}, x)
  return z
"""


def attacked(text, **options):
    return oracle.attack(parse_file(text), random.Random(1), **options)


@pytest.mark.parametrize(
    ("claim", "scale", "wrong"),
    [("eps", "1/eps", False), ("eps", "2/eps", False), ("eps/2", "1/eps", True), ("eps", "9/(10*eps)", True)],
)
def test_the_oracle_tells_enough_noise_from_too_little(claim, scale, wrong):
    assert bool(attacked(GEOMETRIC.format(claim=claim, scale=scale))) == wrong


BROKEN = {
    "a leak": "P (x : private {0,1})\n  ensures epsilon 4*eps\n  return x\n",
    "a leak in a rare branch": """
P (x : private {0,1})
  ensures epsilon eps
  b := $ Bernoulli(1/10)
  y := 0
  if b then
    y := x
  return y
""",
    "a leak through a call": """
Q (z : public int)
  ensures epsilon 0
  return z + 1

P (x : private {0,1})
  ensures epsilon eps
  y := Q(x)
  return y
""",
    "the same noise twice": """
P (q : private {0..2} list)
  neighbours q all by 1
  requires size(q) = 2
  ensures epsilon eps
  z := $ Geometric(1/eps)
  r := []; i := 0
  while i < size(q)
    r := r ++ [q[i] + z]
    i := i + 1
  return r
""",
    "the length of the list": """
P (q : private {0,1} list)
  neighbours q add-remove in [0, 1]
  ensures epsilon eps
  i := 0
  while i < size(q)
    i := i + 1
  return i
""",
    "a row that counts twice": """
P (q : private {0,1}[2] list)
  neighbours q replace
  requires size(q) = 1
  ensures epsilon eps
  z := $ Geometric(1/eps, q[0][0] + q[0][1])
  return z
""",
    "too small a delta": """
P (x : private {0,1})
  ensures epsilon eps delta 1/20
  b := $ Bernoulli(1/10)
  y := 0
  if b then
    y := x
  return y
""",
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_oracle_catches_what_is_not_private(name):
    one, two, outputs = attacked(BROKEN[name])
    assert one != two
    assert outputs


def test_the_oracle_accepts_a_delta_that_is_large_enough():
    assert attacked(BROKEN["too small a delta"].replace("1/20", "1/10")) is None


def test_the_laws_of_the_oracle_add_up_to_one_with_what_is_cut_off():
    text = BROKEN["the same noise twice"]
    machine = oracle.Machine(parse_file(text), spread=6)
    law = machine.law({"q": (Fraction(0), Fraction(2)), "eps": Fraction(1)})
    low = sum(w[0] for w in law.outputs.values()) + law.lost[0]
    high = sum(w[1] for w in law.outputs.values()) + law.lost[1]
    assert low <= oracle.ONE <= high
    assert high - low < oracle.ONE >> 100
    assert law.lost[0] > oracle.ONE >> 10


RELATIONS = [
    ("{0..2} list", "one by 1", (0, 1), (0, 2), True),
    ("{0..2} list", "one by 1", (0, 0), (0, 2), False),
    ("{0..2} list", "one by 1", (0, 1), (1, 2), False),
    ("{0..2} list", "all by 1", (0, 1), (1, 2), True),
    ("{0..2} list", "all by 1", (0, 1), (1,), False),
    ("{0..2} list", "monotone by 1", (0, 1), (1, 2), True),
    ("{0..2} list", "monotone by 1", (1, 1), (2, 0), False),
    ("{0..2} list", "replace", (0, 1), (2, 1), True),
    ("{0..2} list", "replace by 1", (0, 1), (2, 1), False),
    ("{0..2} list", "replace in [0, 1]", (0, 1), (2, 1), False),
    ("{0..2} list", "replace", (0, 1), (3, 1), False),
    ("{0..2} list", "add-remove in [0, 2]", (0, 1), (1,), True),
    ("{0..2} list", "add-remove in [0, 2]", (0, 1, 2), (0, 2), True),
    ("{0..2} list", "add-remove in [0, 2]", (0, 1), (0, 1), False),
    ("{0..2} list", "add-remove in [0, 1]", (0, 2), (0,), False),
    ("{0..2} list", "any", (0, 1), (2, 2, 2), True),
    ("{0..2}[2] list", "one by 1", ((0, 1), (1, 1)), ((1, 0), (1, 1)), True),
    ("{0..2}[2] list", "one by 1", ((0, 0), (1, 1)), ((0, 2), (1, 1)), False),
    ("{0..2}[2] list", "one by 1", ((0, 1), (1, 1)), ((1, 1), (1, 0)), False),
    ("{0..2}[2] list", "all by 1", ((0, 1), (1, 1)), ((1, 1), (1, 0)), True),
    ("{0..2}[2] list", "replace", ((0, 1), (1, 1)), ((2, 2), (1, 1)), True),
    ("{0..2}[2] list", "replace in [0, 1]", ((0, 1), (1, 1)), ((0, 2), (1, 1)), False),
]


@pytest.mark.parametrize(("kind", "clause", "one", "two", "truth"), RELATIONS)
def test_neighbours_mean_the_same_to_the_oracle_and_to_the_verifier(kind, clause, one, two, truth):
    from discreet.verify.check import parse
    from discreet.verify.relate import are_neighbours

    text = f"P (q : private {kind})\n  neighbours q {clause}\n  ensures epsilon eps\n  return 0\n"
    program = parse_file(text)[-1]
    for first, second in ((one, two), (two, one)):
        pair = [{"q": exact(v), "eps": Fraction(1)} for v in (first, second)]
        assert oracle.are_neighbours(program, *pair) == truth
        given = [{"q": list(v), "eps": Fraction(1)} for v in (first, second)]
        if "[2]" in kind:
            given = [
                {"q'0": [r[0] for r in v], "q'1": [r[1] for r in v], "eps": Fraction(1)}
                for v in (first, second)
            ]
        assert are_neighbours(parse(text), *given) == truth


def test_the_random_programs_use_every_kind_of_neighbours_and_draw():
    texts = "\n".join(programs.program(random.Random(seed)) for seed in range(300))
    for word in (
        "one by",
        "all by",
        "monotone by",
        "replace",
        "add-remove",
        " any",
        "requires",
        "delta",
        "secret",
    ):
        assert word in texts
    for law in ("Geometric", "Response", "Uniform", "Bernoulli", "ExpMech"):
        assert re.search(rf"\$ {law}\(", texts)
    assert "while" in texts
    assert "else" in texts
