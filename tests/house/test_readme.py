"""What the README shows runs as shown, and leads where it says."""

import re
from pathlib import Path

import pytest

from cell import run

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TEXT = README.read_text()
PAGES = sorted([README, *(ROOT / "docs").rglob("*.md")])
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


def shown_commands(text: str) -> list[tuple[str, list[str]]]:
    """The commands that a page shows, in a console or between backticks, each with its options."""
    text = text.replace("\\\n", " ")
    name = r"((?:(?:analyst|ledger) )?[a-z]+)"
    found = re.findall(rf"^\$ discreet {name}(.*)$|`discreet {name}([^`]*)`", text, flags=re.M)
    return [(a or b, re.findall(r"(?<=\s)--?[a-z][a-z0-9-]*", c or d)) for a, c, b, d in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_a_page_shows_exists_with_its_options(page):
    import typer

    from discreet.cli import app

    commands = dict(typer.main.get_command(app).commands)
    for group in [name for name, command in commands.items() if hasattr(command, "commands")]:
        commands |= {f"{group} {name}": command for name, command in commands[group].commands.items()}
    for name, options in shown_commands(page.read_text()):
        assert name in commands, name
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert set(options) <= known | {"--help"}, (name, options)


def test_commands_and_options_that_do_not_exist_are_noticed():
    assert shown_commands("$ discreet ask x --nicely") == [("ask", ["--nicely"])]
    assert shown_commands("say `discreet query x --epsilon 1`") == [("query", ["--epsilon"])]


def named_tests(text: str) -> set[str]:
    """The files of tests that a page names by where they lie in `tests/`."""
    return set(re.findall(r"`((?:[a-z]+/)+test_\w+\.py)`", text))


def test_every_test_that_a_page_names_exists():
    named = {page.name: named_tests(page.read_text()) for page in PAGES}
    assert len(named["security.md"]) > 30
    for page, files in named.items():
        assert not {file for file in files if not (ROOT / "tests" / file).exists()}, page


def test_a_test_that_a_page_names_is_found_where_it_stands():
    assert named_tests("(`query/proof/test_x.py`, `test_y.py`), z/test_z.py") == {"query/proof/test_x.py"}


def test_every_make_target_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    for name in set(re.findall(r"(?:`|\$ )make ([a-z]+)", TEXT)):
        assert re.search(rf"^{name}:", makefile, flags=re.M), name
