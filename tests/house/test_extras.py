"""What `pip install discreet` brings is enough for questions, mechanisms, the ledger and charts in notebooks.

The laboratory's solvers and the renderer of files are extras; whatever needs one says so, in one way.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRAS = {"highspy": "lab", "scipy": "lab", "z3": "lab", "vl_convert": "pictures"}

BLOCKED = f"""
import sys

MODULES = {sorted(EXTRAS)!r}

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocker())
import discreet as dp
from discreet.errors import ExtraError
"""

BASE = """
from pathlib import Path

import pandas as pd
from typer.testing import CliRunner

from discreet.cli import app

rows = [f"{person},{20 + person % 60},{'ABC'[person % 3]}" for person in range(400)]
Path("visits.csv").write_text("person,age,ward\\n" + "\\n".join(rows))
Path("visits.toml").write_text('''
[dataset]
name = "visits"
ledger = "visits.ledger"
[budget]
epsilon = 100
[tables.visits]
source = "visits.csv"
unit = "person"
rows_per_unit = 1
[tables.visits.columns]
age = {type = "integer", low = 0, high = 100}
ward = {type = "text", values = ["A", "B", "C"]}
''')
with dp.open("visits.toml") as data:
    answer = data.query("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1)
    assert len(answer.rows) == 3
    assert answer.plot("chart.json").to_dict()["data"] and "<table" in answer._repr_html_()
    for text in (
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY CUBE (ward)",
        "SELECT CDF(age, 16) AS share FROM visits",
    ):
        assert data.query(text, epsilon=1).rows
    assert data.ledger.verify().trusted
    assert "spent" in str(data.budget)
frame = pd.DataFrame({"person": range(50), "age": [30] * 50})
ages = {"age": {"type": "integer", "low": 0, "high": 99}}
with dp.open(people=frame, unit="person", rows_per_unit=1, epsilon=9, columns=ages) as data:
    assert data.query("SELECT SUM(age) AS total FROM people", epsilon=1).rows
noise = dp.Geometric.calibrate(epsilon=1, sensitivity=1)
assert isinstance(noise.sample(3), int)
assert dp.compose([noise.guarantee(1)] * 4).epsilon(delta="1e-9").high <= 4
for words in (
    ["query", "visits.toml", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "1"],
    ["budget", "visits.toml", "--verify"],
    ["mechanism", "geometric", "--epsilon", "1"],
    ["workload", "prefix:16", "--epsilon", "1"],
):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (words, done.output)
"""

DOORS = r"""
from discreet.show import bars, save

def missing(action, extra):
    try:
        action()
    except ExtraError as error:
        assert isinstance(error, dp.DiscreetError)
        assert f"run: pip install 'discreet[{extra}]'" in str(error), str(error)
        return
    raise AssertionError(f"nothing was missed: {action}")

def command(*words):
    done = CliRunner().invoke(app, words)
    if done.exception is not None:
        raise done.exception

for module in MODULES:
    try:
        __import__(module)
    except ModuleNotFoundError:
        continue
    raise AssertionError(f"{module} was not blocked")
rooms = {"discreet.verify", "discreet.verify.noise", "discreet.verify.python", "discreet.audit"}
names = [name for name, home in dp._WHERE.items() if home in rooms]
assert len(names) > 10
for name in names:
    missing(lambda name=name: getattr(dp, name), "lab")
missing(lambda: command("optimal", "6", "--graph", "cycle", "--loss", "circular"), "lab")
missing(lambda: command("optimal", "4", "--delta", "0.001"), "lab")
Path("program.dp").write_text("P (x : real) : real\n  return x\n")
missing(lambda: command("verify", "program.dp"), "lab")
missing(lambda: command("audit", "math:sqrt", "--left", "1", "--right", "2"), "lab")
missing(lambda: command("attack", "trace"), "lab")
chart = bars([{"x": "a", "y": 1.0}, {"x": "b", "y": 2.0}], x="x", y="y")
for ending in ("svg", "png", "html"):
    missing(lambda: save(chart, f"chart.{ending}"), "pictures")
missing(lambda: command("mechanism", "geometric", "--epsilon", "1", "--plot", "chart.svg"), "pictures")
"""


def test_the_base_does_without_the_extras_and_whatever_lacks_one_says_so(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED + BASE + DOORS],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_extras_bring_what_the_base_lacks():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = " ".join(project["dependencies"])
    names = {"highspy": "highspy", "scipy": "scipy", "z3": "z3-solver", "vl_convert": "vl-convert-python"}
    for module, extra in EXTRAS.items():
        assert names[module] not in needed
        assert any(line.startswith(names[module]) for line in project["optional-dependencies"][extra])


def test_only_rooms_that_ask_at_their_door_import_an_extra_outright():
    """Everybody else goes through `library`, which says what is missing."""
    outright = re.compile(rf"^\s*(?:import|from) (?:{'|'.join(EXTRAS)})\b", re.MULTILINE)
    asking = ("audit/", "console/", "verify/")
    source = ROOT / "src" / "discreet"
    found = [
        path.relative_to(source).as_posix()
        for path in sorted(source.rglob("*.py"))
        if outright.search(path.read_text(encoding="utf-8"))
    ]
    assert [place for place in found if not place.startswith(asking)] == []
    assert any(place.startswith("verify/kernel/") for place in found)
