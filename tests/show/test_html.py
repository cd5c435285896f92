"""In a notebook, values show what decides, in well-formed HTML that quotes nothing unescaped and no data."""

import ast
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

import discreet as dp
from discreet.ledger import Scope
from discreet.markup import card, figure, table
from discreet.show import format_number
from discreet.utility import path
from discreet.verify import Unknown

HOSTILE = "<script>alert('x')</script>&"
SECRET = 271828

MECHANISMS = {
    "exponential": dp.Exponential.calibrate(epsilon=1, sensitivity=1),
    "gaussian": dp.Gaussian.calibrate(epsilon=1, delta="1e-6"),
    "geometric": dp.Geometric.calibrate(epsilon=1),
    "hadamard response": dp.HadamardResponse.calibrate(epsilon=1, categories=5),
    "heavy hitters": dp.HeavyHitters(1, bits=24),
    "k-norm": dp.KNorm.calibrate(epsilon=1, dimension=3, ball="linf"),
    "laplace": dp.Laplace.calibrate(epsilon=1),
    "noisy max": dp.NoisyMax.calibrate(epsilon=1, sensitivity=1),
    "noisy threshold": dp.NoisyThreshold.calibrate(epsilon=1, delta="1e-6"),
    "permute and flip": dp.PermuteAndFlip.calibrate(epsilon=1, sensitivity=1),
    "randomized response": dp.RandomizedResponse.calibrate(epsilon=1),
    "sparse vector": dp.SparseVector.calibrate(epsilon=1, sensitivity=1, answers=2),
    "staircase": dp.Staircase.calibrate(epsilon=1, sensitivity=10),
    "subset selection": dp.SubsetSelection.calibrate(epsilon=1, categories=5),
    "table": dp.Table((0, 1), (0, 1), ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))),
    "threshold": dp.Threshold.calibrate(epsilon=1, delta="1e-6"),
    "truncated gaussian": dp.TruncatedGaussian.calibrate(epsilon=1, delta="1e-2", bound=9),
    "truncated geometric": dp.TruncatedGeometric.calibrate(epsilon=1, low=0, high=10),
    "truncated laplace": dp.TruncatedLaplace.calibrate(epsilon=1, low=0, high=10, step="0.01"),
    "unary encoding": dp.UnaryEncoding.calibrate(epsilon=1, categories=5),
}


def words(value: object) -> str:
    """The text of a value's HTML, which must be well-formed and free of markup that runs."""
    html = value._repr_html_()  # type: ignore[attr-defined]
    tree = ElementTree.fromstring(html)  # noqa: S314
    assert tree.tag == "table"
    assert {each.tag for each in tree.iter()} <= {
        "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td",
    }  # fmt: skip
    assert all(set(each.attrib) <= {"style", "colspan"} for each in tree.iter())
    return " ".join(" ".join(tree.itertext()).split())


@pytest.fixture
def session():
    people = pd.DataFrame({"person": range(SECRET), "city": ["A", "B"] * (SECRET // 2), "wage": 50_000})
    columns = {"city": {"values": ["A", "B"]}, "wage": {"type": "integer", "low": 0, "high": 100_000}}
    with dp.open(people=people, unit="person", rows_per_unit=1, epsilon=2, columns=columns) as data:
        yield data


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_shows_its_name_and_what_one_release_promises(name):
    mechanism = MECHANISMS[name]
    shown = words(mechanism)
    assert type(mechanism).__name__ in shown
    assert mechanism.guarantee().words in shown


@pytest.mark.parametrize("name", ["gaussian", "geometric", "laplace", "staircase", "truncated geometric"])
def test_noise_shows_how_far_it_strays(name):
    assert f"within ± {figure(MECHANISMS[name].radius('0.05'))}, 95 times in 100" in words(MECHANISMS[name])


@pytest.mark.parametrize("name", ["exponential", "noisy max", "permute and flip"])
def test_a_selection_shows_how_far_it_falls_short(name):
    choice = MECHANISMS[name]
    assert f"within {choice.shortfall('0.05', candidates=10)} of the best of 10" in words(choice)


def test_every_exported_mechanism_is_shown():
    homes = {name: getattr(dp, name) for name in dp.__all__}
    public = {
        name
        for name, home in homes.items()
        if hasattr(home, "guarantee") and home.__module__.startswith("discreet.mechanisms.")
    }
    assert {type(mechanism).__name__ for mechanism in MECHANISMS.values()} == public


def test_a_large_table_is_not_written_out():
    size = 40
    row = tuple(Fraction(1, size) for _ in range(size))
    wide = dp.Table(tuple(range(size)), tuple(range(size)), (row,) * size)
    assert "40 inputs, 40 outputs" in words(wide)
    assert "1/40" not in words(wide)


def test_labels_of_a_table_are_escaped():
    half = (Fraction(1, 2), Fraction(1, 2))
    assert HOSTILE in words(dp.Table((HOSTILE, "b"), ("c", HOSTILE + "d"), (half, half)))


def test_guarantees_show_their_numbers_and_what_they_mean():
    assert "ε 0.1 meaning no event becomes more than 1.105 times likelier" in words(dp.Pure("0.1"))
    shown = words(dp.Approximate(1, "1e-6"))
    assert "δ 1e-06" in shown
    assert "more than 2.718 times likelier, but for a chance of 1e-06" in shown
    assert "exp(1,000) times" in words(dp.Pure(1000))


def test_concentrated_privacy_shows_the_epsilon_it_is_worth():
    shown = words(dp.Concentrated("0.1"))
    assert "ρ 0.1" in shown
    assert f"ε at δ = 1e-6 {dp.Concentrated('0.1').epsilon('1e-6')}" in shown


def test_a_profile_says_when_nothing_is_promised_without_a_delta():
    profile = dp.Gaussian.calibrate(epsilon=1, delta="1e-6").profile()
    assert "ε at δ = 0 unbounded" in words(profile)
    assert f"ε at δ = 1e-6 {profile.epsilon('1e-6')}" in words(profile)


def test_bounds_show_both_ends_and_the_theorem():
    bounds = dp.compose([dp.Pure("0.1")] * 50).epsilon("1e-6")
    assert str(bounds) in words(bounds)
    assert bounds.route in words(bounds)


def test_an_explanation_shows_every_route():
    told = dp.compose([(dp.Geometric.calibrate(epsilon="0.1"), 20)]).explain("1e-6")
    shown = words(told)
    assert f"ε at δ = 1e-06: {told.bounds}" in shown
    for line in told.lines:
        assert f"{line.route} {figure(line.epsilon)} " in shown if line.epsilon else line.route in shown


def test_advice_shows_every_mechanism_beside_the_best_possible():
    advice = dp.advise(path(5), 1, dp.Loss.absolute(range(6)), dp.Prior.uniform(6))
    shown = words(advice)
    assert shown.startswith("Expected loss at ε = 1")
    assert all(f"{each.name} {each.loss}" in shown for each in advice.candidates)
    assert shown.endswith(f"the best possible {float(advice.best.loss):.9g}")


def test_a_quote_shows_price_and_errors_and_nothing_of_the_data(session):
    quote = session.quote("SELECT COUNT(*) AS n, SUM(wage) AS total FROM people", epsilon="0.5")
    shown = words(quote)
    assert "Quote: epsilon 0.5" in shown
    assert f"n {format_number(quote.expected[0].radius)} Geometric" in shown
    assert str(SECRET) not in shown.replace(",", "")


def test_an_answer_shows_released_values_only(session):
    answer = session.query("SELECT city, COUNT(*) AS n FROM people GROUP BY city", epsilon="0.001")
    shown = words(answer).replace(",", "")
    for _, noisy in answer:
        assert format_number(noisy).replace(",", "") in shown
    assert "epsilon 0.001" in shown


def test_names_of_an_answer_are_escaped(session):
    answer = session.query(f'SELECT COUNT(*) AS "{HOSTILE}" FROM people', epsilon="0.1")
    assert HOSTILE in words(answer)
    assert HOSTILE in words(answer.quote)


def test_a_budget_shows_every_limit_with_what_is_left(tmp_path):
    with dp.open_ledger(tmp_path / "clinic.ledger") as ledger:
        ledger.create_dataset("clinic", dp.PureBudget(3), analysts=["ada"], reason="opened")
        ledger.set_limit("clinic", Scope(analyst="ada"), dp.ApproximateBudget(1, "1e-6"), reason="trainee")
        budget = ledger.budget("clinic")
    shown = words(budget)
    assert "Dataset clinic" in shown
    assert "epsilon 3 epsilon 0 epsilon 3 0.0%" in shown
    assert "epsilon 1, delta 1e-06" in shown
    assert "ada" in words(budget.limits[1])


def test_what_a_session_has_spent_is_shown(session):
    session.query("SELECT COUNT(*) AS n FROM people", epsilon="0.5")
    assert "epsilon 2 epsilon 0.5 epsilon 1.5 25.0%" in words(session.budget)


PROGRAM = """
Count (d : private {0,1} list) : public int
  neighbours d replace
  ensures epsilon eps
  i := 0; c := 0
  while i < size d
    c := c + d[i]
    i := i + 1
  z := $ Geometric(SCALE, c)
  return z
"""


def test_a_proof_shows_its_claim_and_a_refutation_its_numbers():
    proved = dp.verify(PROGRAM.replace("SCALE", "1/eps"))
    assert words(proved).startswith("PROVED claim epsilon eps neighbours d replace")
    refuted = dp.verify(PROGRAM.replace("SCALE", "1/(2*eps)"))
    shown = words(refuted)
    assert shown.startswith("REFUTED")
    assert f"at least {refuted.witness.loss:.6f}" in shown
    assert refuted.witness.event in shown


def test_an_open_verdict_says_why_and_escapes_it():
    assert words(Unknown(HOSTILE)) == f"UNKNOWN why {HOSTILE}"


def test_an_audit_shows_its_evidence_and_not_its_inputs():
    noise = dp.Geometric.calibrate(epsilon=2)
    inputs = (("Ada", 0), ("Ada", 1))
    verdict = dp.audit(lambda person: noise.sample(person[1]), *inputs, epsilon=1, runs=20_000)
    shown = words(verdict)
    assert shown.startswith("VIOLATED claimed epsilon 1")
    assert f"epsilon at least {verdict.epsilon_lower:.4f}" in shown
    consistent = dp.audit(lambda x: noise.sample(x), 0, 1, epsilon=3, runs=2_000)
    assert words(consistent).startswith("Consistent claimed epsilon 3")
    assert "Ada" not in shown
    assert "Ada" not in repr(verdict)


def test_every_word_of_a_card_and_a_table_is_escaped():
    for html in (
        card(HOSTILE, [(HOSTILE, HOSTILE)], note=HOSTILE),
        table([HOSTILE], [[HOSTILE]], caption=HOSTILE),
    ):
        assert "<script" not in html
        assert "".join(ElementTree.fromstring(html).itertext()).count(HOSTILE) >= 3  # noqa: S314


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (12_345, "12,345"),
        (Fraction(1, 3), "1/3 ≈ 0.333333"),
        (Fraction(1, 2), "0.5"),
        (Fraction(10**20), "1e+20"),
        (Fraction(1, 10**6), "1e-06"),
    ],
)
def test_numbers_are_exact_where_that_is_short(value, shown):
    assert figure(value) == shown


def test_what_has_a_face_in_a_notebook_has_one_in_a_terminal():
    """Mechanisms and guarantees print the call that makes them; everything else prints what it says."""
    root = Path(dp.__file__).parent
    for file in root.rglob("*.py"):
        if file.relative_to(root).parts[0] == "mechanisms" or file.name == "guarantee.py":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                own = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
                assert "_repr_html_" not in own or "__repr__" in own, f"{file.name}: {node.name}"


def test_verdicts_print_themselves_in_a_few_lines():
    proved, refuted = (
        dp.verify(PROGRAM.replace("SCALE", "1/eps")),
        dp.verify(PROGRAM.replace("SCALE", "1/(2*eps)")),
    )
    for verdict, word in ((proved, "PROVED"), (refuted, "REFUTED"), (Unknown("a reason"), "UNKNOWN")):
        assert repr(verdict).startswith(f"{word}\n  ")
        assert len(repr(verdict).splitlines()) <= 12
        assert len(repr(verdict)) < 1200
