"""Whatever the text, the answer is a verdict or a ProgramError, and limits of time and memory hold."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.errors import ParameterError, ProgramError
from discreet.verify import Equal, Proved, Refuted, Unknown, parse, run, same_law, verify
from discreet.verify.cursor import FUNCTIONS, INSTEAD, KEYWORDS, LAWS
from discreet.verify.header import RELATIONS
from discreet.verify.limit import LimitError, tick, within

ROOT = Path(__file__).parents[2]
TEXTS = [
    path.read_text()
    for folder in (ROOT / "examples" / "programs", Path(__file__).parent / "corpus")
    for path in sorted(folder.glob("*.dp"))
]
HEAD = (
    "P (x : private {0,1}) (q : private real list) : public real\n"
    "  neighbours q one by 1\n  ensures epsilon eps\n"
)
WORDS = re.compile(r"\s+|\w+|[^\w\s]+")
STRANGE = [
    "0",
    "1",
    "-1",
    "1/0",
    "eps",
    "size(q)",
    "q",
    "d",
    "[",
    "]",
    "(",
    ")",
    "real",
    "list",
    "private",
    "public",
    "bool",
    "bits",
    "{0,1}^2",
    "{0..3}",
    "Laplace",
    "Uniform",
    "Bernoulli",
    "ExpMech",
    "Geometric",
    "Gaussian",
    "xor",
    "mod",
    "not",
    "and",
    "true",
    "any",
    "replace",
    "monotone",
    "while",
    "if",
    "then",
    "else",
    "return",
    "exp(eps)",
    "max(1,2)",
    "99999999999999999999",
    "requires",
    "ensures",
    "secret",
    "rho",
    "delta",
    "$",
    "++",
    ":=",
    "١",
    "１",
    "\x00",
]


def broken(pick):
    words = WORDS.findall(pick.choice(TEXTS))
    for _ in range(pick.randint(1, 4)):
        place = pick.randrange(len(words))
        match pick.randrange(4):
            case 0:
                del words[place]
            case 1:
                words[place] = pick.choice(words)
            case 2:
                words.insert(place, pick.choice(words))
            case _:
                words[place] = pick.choice(STRANGE)
    return "".join(words)


def only_deliberate(seeds):
    for seed in seeds:
        text = broken(random.Random(seed))
        try:
            verify(text, seconds=0.2)
        except ProgramError:
            continue


def test_broken_programs_get_a_verdict_or_a_program_error():
    only_deliberate(range(60))


@pytest.mark.fuzz
def test_many_broken_programs_get_a_verdict_or_a_program_error():
    only_deliberate(range(1000, 4000))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("for i in q", "there is no `for`"),
        ("i += 1", "there is no `+=`"),
        ("y := x ** 2", "there is no `**`"),
        ("y := 1e-3", "write 1e-3 as a fraction"),
        ("y := .5", "write 0.5"),
        ("break", "there is no `break`"),
        ("y = 1", "an assignment is written y := ..."),
        ("y := 2eps", "write 2 * eps"),
        ("elif x = 1", "there is no `elif`"),
        ("y := True", "True has no value here"),
        ("i++", "there is no `++`"),
        ("y ~ Laplace(1)", "a draw is written"),
        ("q[0] := 1", "q is a parameter and cannot be assigned"),
        ("y := Laplace(1)", "a draw is written x := $ Laplace(...)"),
        ("y := min", "min is a function: write min(a, b)"),
        ("y := (1, 2)", "a pair can only be returned"),
    ],
)
def test_newcomers_are_told_what_to_write_instead(line, words):
    with pytest.raises(ProgramError) as caught:
        parse(HEAD + f"  {line}\n  return 1\n")
    assert words in str(caught.value)
    assert caught.value.line == 4


def test_every_advice_names_a_word_that_is_not_ours():
    assert not set(INSTEAD) & (KEYWORDS | set(LAWS) | set(FUNCTIONS))


@pytest.mark.parametrize(
    "value",
    [
        "+".join(["1"] * 1500),
        "-" * 1500 + "1",
        "not " * 1500 + "true",
        "(" * 1500 + "1" + ")" * 1500,
        "9" * 5000,
    ],
    ids=["sum", "signs", "negations", "parentheses", "digits"],
)
def test_monstrous_expressions_are_refused_at_their_place(value):
    with pytest.raises(ProgramError) as caught:
        parse(HEAD + f"  y := {value}\n  return 1\n")
    assert caught.value.line == 4


def test_digits_of_other_scripts_are_no_numbers():
    for digit in ("\uff11", "\u0661"):
        with pytest.raises(ProgramError, match="unexpected character"):
            parse(HEAD + f"  return {digit}\n")


def test_half_a_character_is_refused():
    with pytest.raises(ProgramError, match="half a character"):
        parse(HEAD + "  return 1 # \ud800\n")


@pytest.mark.parametrize("x", [0, -3])
def test_a_remainder_by_what_is_not_positive_is_an_error_of_the_program(x):
    with pytest.raises(ProgramError, match="not positive"):
        run("P (x : public int) : public int\n  return 1 mod x\n", x=x, eps=1)


@pytest.mark.parametrize("limit", ["seconds", "megabytes", "samples"])
@pytest.mark.parametrize("value", [-5, 10**12, None, "1", True, float("nan")])
def test_a_limit_that_is_none_is_refused_by_its_name(limit, value):
    with pytest.raises(ParameterError, match=f"^{limit} must be"):
        verify(TEXTS[0], **{limit: value})


@pytest.mark.parametrize("thing", [object(), None, 3, b"P", ["P"]])
def test_what_is_no_program_is_refused(thing):
    with pytest.raises(ParameterError, match="a program is a text"):
        verify(thing)


def test_numbers_that_would_fill_the_memory_are_refused():
    head = "P (x : public real) : public real\n  i := 0; y := x\n"
    text = head + "  while i < 60\n    y := y * y\n    i := i + 1\n"
    with pytest.raises(ProgramError, match="bits"):
        run(text + "  return y\n", x=3, eps=1)


BOMBS = {
    "a long list of bits": """
P (d : private {0,1} list) : public int
  requires size(d) = 30
  ensures epsilon eps
  b := $ Response(eps)
  y := d[0]
  return y
""",
    "doubling paths": "P (q : private real list) : public real list\n  neighbours q all by 1\n"
    "  ensures epsilon eps\n  r := []; i := 0\n"
    + "".join(
        f"  x{k} := $ Laplace(1/eps)\n  if x{k} > 0 then\n    while i < {k}\n      i := i + 1\n"
        for k in range(16)
    )
    + "  return r\n",
    "a large grid": """
P (a : private {0..40} list) : public int
  requires size(a) = 2
  ensures epsilon eps
  b := $ ExpMech(eps, a)
  c := $ ExpMech(eps, a)
  return b + c
""",
}


@pytest.mark.parametrize("name", BOMBS)
def test_the_limit_of_time_holds_in_every_phase(name):
    """A phase without a limit would take hours, or all the memory."""
    assert isinstance(verify(BOMBS[name], seconds=1.0), Unknown | Refuted)


def test_an_inner_limit_never_extends_an_outer_one():
    with within(0.0), within(100.0), pytest.raises(LimitError):
        tick()


def test_the_limit_of_memory_is_noticed():
    def hoard():
        found = []
        for _ in range(2000):
            found.append(bytearray(b"x") * (1 << 20))
            tick()

    with within(100.0, 0), pytest.raises(LimitError, match="memory"):
        hoard()


def test_no_time_at_all_is_an_honest_unknown():
    assert isinstance(verify(TEXTS[0], seconds=0), Unknown)


SAME = "P (x : private real){more} : public real\n  neighbours x one by 1\n{header}{first}  return z\n"


def test_draws_of_different_scales_are_never_equal():
    """Parameters that read the same were never evaluated, and others were read at the end of the program."""
    one = SAME.format(more="", header="", first="  b := 2/eps\n  z := $ Laplace(b, x)\n")
    other = SAME.format(more="", header="", first="  b := 100/eps\n  z := $ Laplace(b, x)\n")
    assert not isinstance(same_law(one, other), Equal)
    late = "  b := {first}/eps\n  if x > 0 then\n    b := b + 0\n  z := $ Laplace(b, x)\n  b := 7/eps\n"
    two, hundred = (SAME.format(more="", header="", first=late.format(first=n)) for n in (2, 100))
    assert not isinstance(same_law(two, hundred), Equal)
    assert isinstance(same_law(two, two), Equal)


def test_programs_that_assume_different_things_are_not_compared():
    one = SAME.format(
        more=" (k : public real)", header="  requires k = 2\n", first="  z := $ Laplace(k/eps, x)\n"
    )
    other = SAME.format(more=" (k : public real)", header="", first="  z := $ Laplace(2/eps, x)\n")
    assert not isinstance(same_law(one, other), Equal)
    assert not isinstance(same_law(other, one), Equal)


def test_the_editor_knows_every_word_of_the_language():
    folder = ROOT / "editors" / "vscode"
    grammar = json.loads((folder / "syntaxes" / "discreet.tmLanguage.json").read_text())
    package = json.loads((folder / "package.json").read_text())
    assert (folder / package["contributes"]["grammars"][0]["path"]).is_file()
    patterns = [re.compile(p["match"]) for p in grammar["patterns"] if "variable" not in p["name"]]
    for word in {*KEYWORDS, *LAWS, *FUNCTIONS, *RELATIONS, "size", "neighbours", "requires", "ensures"}:
        assert any(p.fullmatch(word) for p in patterns), word


def certificate(seed):
    """The certificate of a program as another process finds it, with its own order of sets."""
    code = "import sys; from discreet.verify import verify; print(verify(sys.argv[1]).certificate.to_json())"
    text = (ROOT / "examples" / "programs" / "geometric_count.dp").read_text()
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", code, text]
    return subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout


def test_certificates_do_not_change_from_run_to_run():
    assert certificate(1) == certificate(2)


@pytest.mark.parametrize(
    ("header", "line", "words"),
    [
        ("requires Q > 0", "return 1", "Q is mentioned nowhere else"),
        ("requires exp(eps) > 1", "return 1", "exp has no exact value"),
        ("neighbours m any in [0, 1]", "return 1", "m is no number"),
        ("neighbours q all by true", "return 1", "a number is needed"),
        ("requires q[0] > 0", "return 1", "only public constants"),
        ("requires eps > 0", "return true", "the first line says real, and bool is returned"),
        ("requires eps > 0", "return m", "the first line says real, and bits is returned"),
    ],
)
def test_what_nothing_uses_is_an_error(header, line, words):
    text = f"P (q : private real list) (m : private bits) : public real\n  {header}\n  {line}\n"
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert words in str(caught.value)


def test_a_result_is_public_and_of_the_stated_shape():
    with pytest.raises(ProgramError, match="is public"):
        parse("P (x : public real) : private real\n  return x\n")
    with pytest.raises(ProgramError, match="not what the first line says"):
        parse("P (x : public real) : real list\n  return x\n")


@pytest.mark.parametrize("leak", ["x8", "z"])
def test_more_private_inputs_than_can_be_varied_together_are_no_error(leak):
    inputs = [f"x{n}" for n in range(9)]
    head = "P " + " ".join(f"({x} : private real)" for x in inputs) + "\n"
    clauses = "".join(f"  neighbours {x} one by 1\n" for x in inputs)
    text = f"{head}{clauses}  ensures epsilon eps\n  z := $ Laplace(1/eps, x8)\n  return {leak}\n"
    assert isinstance(verify(text, seconds=5), Refuted if leak == "x8" else Proved)
