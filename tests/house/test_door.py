"""The public door: exact names, light to open, and no promise in the README that does not work."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import discreet

ROOT = Path(__file__).parents[2]
HEAVY = (
    "duckdb",
    "flint",
    "highspy",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "scipy",
    "sqlglot",
    "z3",
)


def test_every_public_name_exists_and_the_list_is_sorted():
    assert list(discreet.__all__) == sorted(discreet.__all__)
    for name in discreet.__all__:
        assert getattr(discreet, name) is not None
    assert set(discreet.__all__) <= set(dir(discreet))


def test_a_name_that_does_not_exist_is_an_attribute_error():
    assert not hasattr(discreet, "registry")


def typed_names() -> set[str]:
    """The names that a type checker sees at the door."""
    tree = ast.parse((ROOT / "src/discreet/__init__.pyi").read_text())
    return {
        alias.asname or "" for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }


def test_type_checkers_see_exactly_the_public_names():
    assert typed_names() == set(discreet.__all__)
    assert (ROOT / "src/discreet/py.typed").exists()


PROGRAM = """
import discreet as dp

with dp.open("clinic.toml") as data:
    reveal_type(data)
    reveal_type(data.quote("SELECT COUNT(*) FROM visits", epsilon=1))
    reveal_type(data.query("SELECT COUNT(*) FROM visits", epsilon=1))
    reveal_type(data.budget)
reveal_type(dp.Geometric.calibrate(epsilon=1, sensitivity=1).radius("0.05"))
reveal_type(dp.compose([dp.Geometric.calibrate(epsilon=1, sensitivity=1).guarantee(1)]).epsilon(delta="1e-9"))
reveal_type(dp.verify("program.dp"))
dp.nonsense
"""


def test_a_small_program_is_typed_through_the_door(tmp_path):
    """What an editor shows: true types, and an error for a name that does not exist."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    # With the settings and from the place of `make types`, so that what it found out need not be found again.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(program)],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": "src"},
        capture_output=True,
        text=True,
        check=False,
    )
    seen = re.findall(r'Revealed type is "(.*)"', done.stdout)
    last = [" | ".join(part.rsplit(".", 1)[-1] for part in kind.split(" | ")) for kind in seen]
    assert last == [
        *("Session", "Quote", "Release", "BudgetView", "int", "Bounds", "Proved | Refuted | Unknown")
    ], done.stdout
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1, done.stdout
    assert 'has no attribute "nonsense"' in errors[0]


def test_importing_the_package_loads_nothing_heavy():
    code = f"import sys, discreet; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_module_says_what_it_is_for():
    for path in (ROOT / "src").rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path


def tracked_text() -> list[Path]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in done.stdout.splitlines() if (ROOT / line).is_file()]


def test_pinned_files_name_no_download_address():
    for path in tracked_text():
        if re.search(r"constraints|requirements|\.lock$|pyproject", path.name):
            text = path.read_text().replace("http://www.apache.org", "")
            assert not re.search(r"https?:", text), path


def test_no_unfinished_place_is_left_in_the_source():
    marker = re.compile(r"\b(TODO|FIXME|XXX|raise NotImplementedError)\b")
    for path in (ROOT / "src").rglob("*.py"):
        assert not marker.search(path.read_text()), path


def test_pickle_is_never_used():
    for path in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"\bimport (pickle|marshal|shelve)\b", path.read_text()), path
