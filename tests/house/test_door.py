"""The public door: exact names, light to open, and no promise in the README that does not work."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import discreet

ROOT = Path(__file__).parents[2]
HEAVY = (
    "altair",
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
            assert "http" not in path.read_text().replace("http://www.apache.org", ""), path


def test_no_unfinished_place_is_left_in_the_source():
    marker = re.compile(r"\b(TODO|FIXME|XXX|raise NotImplementedError)\b")
    for path in (ROOT / "src").rglob("*.py"):
        assert not marker.search(path.read_text()), path


def test_pickle_is_never_used():
    for path in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"\bimport (pickle|marshal|shelve)\b", path.read_text()), path
