"""What the README shows runs as shown, and leads where it says."""

import re
from pathlib import Path

import pytest

from cell import run

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TEXT = README.read_text()
LOOSE = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def test_the_python_of_the_readme_runs():
    list(run(TEXT, README))


def anchors(page: Path) -> set[str]:
    """The anchors of a Markdown page's headings, as forges write them."""
    titles = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S), flags=re.M
    )
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", LOOSE, ids=lambda page: page.name)
def test_every_file_and_heading_a_page_links_to_exists(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if target.startswith("http"):
            continue
        file, _, heading = target.partition("#")
        found = (page.parent / file) if file else page
        assert found.exists(), target
        assert not heading or heading in anchors(found), target


def test_every_command_the_readme_names_exists():
    from discreet.cli.commands import COMMANDS

    for name in set(re.findall(r"(?:`|\$ )discreet ([a-z]+)", TEXT)):
        assert name in COMMANDS, name


def test_every_make_target_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    for name in set(re.findall(r"(?:`|\$ )make ([a-z]+)", TEXT)):
        assert re.search(rf"^{name}:", makefile, flags=re.M), name
