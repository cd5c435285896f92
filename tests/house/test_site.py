"""The documentation builds without a warning: every block of every page runs, every link leads somewhere."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest

import discreet as dp
import docstring
from cell import PageError, cells, run
from discreet.query.catalog import column as declared_column
from discreet.query.catalog import manifest as catalog
from discreet.query.catalog.manifest import declare
from live import own_names
from refusal import refusals

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINE = "import discreet as dp\nassert dp.Geometric.calibrate(epsilon=1).pmf(0) > 1\n"


LONG_PAGES = (
    *("companion/2-programs", "companion/5-utility", "how-to/attacks", "how-to/auditing"),
    *("how-to/accuracy", "how-to/connect", "how-to/http", "how-to/local", "how-to/made-up", "how-to/optimal"),
    *("how-to/postgresql", "how-to/sampling", "how-to/tpch", "how-to/verification", "how-to/workloads"),
)
"""Pages whose cells take more than half of the time of all; `make docs` and `make fuzz` run them too."""


def build(source: Path, target: Path, at_rest: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-E", "-W", "--keep-going", "-q", "-b", "html"]
    command += ["-D", f"pages_at_rest={','.join(at_rest)}"]
    return subprocess.run(
        [*command, "-c", str(DOCS), str(source), str(target)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"},
    )


class Page(HTMLParser):
    """The ids of a built page, where it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe", "source", "use") and found.get("src"):
            self.loads.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "preload", "icon"):
            self.loads.append(found["href"])


# On a machine where much else runs this takes a while.
@pytest.mark.timeout(900)
@pytest.mark.parametrize("at_rest", [LONG_PAGES, pytest.param((), marks=pytest.mark.fuzz)], ids=len)
def test_the_site_builds_without_a_warning_and_holds_together(tmp_path, at_rest):
    assert all((DOCS / f"{page}.md").exists() for page in at_rest)
    done = build(DOCS, tmp_path, at_rest)
    assert done.returncode == 0, done.stderr
    site = {path: Page(path.read_text()) for path in sorted(tmp_path.rglob("*.html"))}
    assert {"start.html", "sql.html", "api.html", "covered.html"} <= {path.name for path in site}
    every_link_leads_to_a_page_and_a_place_on_it(site)
    for path, page in site.items():
        assert len(page.ids) == len(set(page.ids)), f"{path.name}: two things share an id"
        assert not [name for name in page.loads if "//" in name], f"{path.name}: reading it tells somebody"
        for tag in re.findall(r'<div class="picture"[^>]*>', path.read_text()):
            assert re.search(r'aria-label="[^"]+"', tag), f"{path.name}: a picture is not told in words"


def every_link_leads_to_a_page_and_a_place_on_it(site: dict[Path, Page]) -> None:
    for path, page in site.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            file, _, place = link.partition("#")
            found = (path.parent / unquote(file)).resolve() if file else path
            assert found in site, (path.name, link)
            assert not place or place in site[found].ids, (path.name, link)


def test_a_link_that_leads_nowhere_is_noticed(tmp_path):
    page = tmp_path / "index.html"
    with pytest.raises(AssertionError, match="elsewhere"):
        every_link_leads_to_a_page_and_a_place_on_it({page: Page('<a href="elsewhere.html">x</a>')})
    with pytest.raises(AssertionError, match="#place"):
        every_link_leads_to_a_page_and_a_place_on_it({page: Page('<a href="#place">x</a>')})


def test_a_block_that_fails_fails_the_build_and_is_named(tmp_path):
    (tmp_path / "index.md").write_text(f"# Title\n\n```{{live}} A picture\n{LINE}```\n")
    done = build(tmp_path, tmp_path / "out")
    assert done.returncode != 0
    assert "index.md:5: WARNING: AssertionError" in done.stderr


def test_printed_markdown_takes_the_place_of_its_block(tmp_path):
    code = "print('| a |\\n|---|\\n| first |\\n\\n## Second\\n\\nthird')"
    (tmp_path / "index.md").write_text(f"# Title\n\n```{{live}}\n:markdown:\n{code}\n```\n\nfourth\n")
    done = build(tmp_path, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    shown = (tmp_path / "out" / "index.html").read_text().partition("<h1>")[2]
    places = [shown.index(word) for word in ("<p>first", "<h2>Second", "<p>third", "<p>fourth")]
    assert places == sorted(places)
    assert "print(" not in shown


def test_a_page_that_is_missing_fails_the_build(tmp_path):
    (tmp_path / "index.md").write_text("# Title\n\n[nowhere](elsewhere.md)\n")
    assert build(tmp_path, tmp_path / "out").returncode != 0


def test_pictures_of_one_page_keep_their_names_apart():
    drawing = '<svg><clipPath id="a"/><g clip-path="url(#a)"/><use href="#a"/><g id="ab"/></svg>'
    named = own_names(drawing, "p-")
    assert named == (
        '<svg><clipPath id="p-a"/><g clip-path="url(#p-a)"/><use href="#p-a"/><g id="p-ab"/></svg>'
    )


def test_the_blocks_of_a_page_share_their_names_and_only_live_ones_show(tmp_path):
    text = "```python\nx = 2\nprint('unseen')\n```\n\n```{live} Caption\n:hide-code:\nprint(x)\nx * 3\n```\n"
    (outcome,) = run(text, tmp_path / "page.md")
    assert (outcome.printed, outcome.value, outcome.cell.line) == ("2\n", 6, 8)


def test_what_is_only_quoted_does_not_run(tmp_path):
    text = "````\n```python\n1 / 0\n```\n````\n\n```console\n$ false\n```\n"
    assert not list(cells(text))


def test_a_failing_block_says_where(tmp_path):
    with pytest.raises(PageError, match="line 5: ZeroDivisionError"):
        list(run("# Title\n\n```python\nx = 0\n1 / x\n```\n", tmp_path / "page.md"))


def test_the_page_on_manifests_shows_one_that_is_understood_and_explains_every_key():
    text = (DOCS / "how-to" / "manifest.md").read_text()
    (manifest,) = re.findall(r"```toml\n(.*?)```", text, flags=re.S)
    assert [table.name for table in declare(tomllib.loads(manifest)).tables] == ["visits", "wards"]
    trees = [ast.parse(Path(module.__file__).read_text()) for module in (catalog, declared_column)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    calls = [node for node in nodes if isinstance(node, ast.Call) and len(node.args) == 3]
    known = [node.args[1] for node in calls if isinstance(node.func, ast.Name) and node.func.id == "only"]
    keys = {part.value for names in known for part in ast.walk(names) if isinstance(part, ast.Constant)}
    assert {"source", "unit", "bounds", "delta"} <= keys
    for key in keys - {"dataset", "budget", "tables", "columns", "views"}:
        assert re.search(rf"`{key}\b", text), key
        assert re.search(rf"\b{key} *=", manifest), key


def test_a_block_that_leaves_the_program_fails_its_page(tmp_path):
    with pytest.raises(PageError, match="line 2: SystemExit"):
        list(run("```python\nraise SystemExit(2)\n```\n", tmp_path / "page.md"))


def test_docstrings_are_shown_as_they_are():
    lines = ["Return a**|k| of `values`.", "", "    Pr[Z = k] = a**|k|", "", "Not a *list* of links_."]
    docstring.plain(None, "function", "f", None, None, lines)
    assert lines == [
        r"Return a\*\*\|k\| of ``values``.",
        "",
        "::",
        "",
        "       Pr[Z = k] = a**|k|",
        "",
        r"Not a \*list\* of links\_.",
        "",
    ]


def test_a_refusal_that_is_met_is_among_those_that_are_listed():
    listed = [tuple(map(pattern, refusal[1:])) for refusal in refusals()]
    assert len(listed) > 100
    people = pd.DataFrame({"person": [1, 2], "name": ["a", "b"], "age": [1, 2]})
    columns = {"age": "integer"}
    with dp.open(people=people, unit="person", rows_per_unit=1, epsilon=1, columns=columns) as data:
        for question in (
            "SELECT * FROM people",
            "SELECT AVG(age) FROM people",
            "SELECT COUNT(*) FROM nobody",
            "SELECT COUNT(*) FROM people LIMIT 1 + x",
            "SELECT COUNT(*) FROM people GROUP BY person",
            "SELECT COUNT(*) FROM people WHERE age IN (SELECT 1)",
        ):
            with pytest.raises(dp.QueryError) as met:
                data.quote(question, epsilon=1)
            words = (met.value.clause, met.value.reason, met.value.instead)
            assert any(
                all(re.fullmatch(want, word) for want, word in zip(wanted, words, strict=True))
                for wanted in listed
            ), words


def pattern(text: str) -> str:
    """What a listed refusal stands for: an ellipsis for anything."""
    return ".*".join(re.escape(part) for part in text.split("…"))
