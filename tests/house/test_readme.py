"""What the README shows runs as shown."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCKS = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S))
]


@pytest.mark.parametrize("code", BLOCKS)
def test_the_python_that_is_shown_runs(code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "page", "exec"), {})  # noqa: S102


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_a_page_links_to_exists(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_the_manifest_of_the_guide_is_understood():
    from discreet.query.catalog import declare

    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "guide.md").read_text(), flags=re.S)
    catalog = declare(tomllib.loads(text))
    assert [table.name for table in catalog.tables] == ["visits", "wards"]


def test_every_command_the_readme_names_exists():
    from discreet.cli.commands import COMMANDS

    for name in set(re.findall(r"`discreet ([a-z]+)", README)):
        assert name in COMMANDS, name


def test_every_make_target_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    for name in set(re.findall(r"^make ([a-z]+)", README, flags=re.M)):
        assert re.search(rf"^{name}:", makefile, flags=re.M), name
