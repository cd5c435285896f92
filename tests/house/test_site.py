"""The documentation builds without a warning: every block of every page runs, every link leads somewhere."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from cell import PageError, cells, run
from discreet.query import catalog
from discreet.query.catalog import declare
from live import own_names

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINE = "import discreet as dp\nassert dp.Geometric.calibrate(epsilon=1).pmf(0) > 1\n"


def build(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-E", "-W", "--keep-going", "-q", "-b", "html"]
    return subprocess.run(
        [*command, "-c", str(DOCS), str(source), str(target)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
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


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> dict[Path, Page]:
    target = tmp_path_factory.mktemp("site")
    done = build(DOCS, target)
    assert done.returncode == 0, done.stderr
    return {path: Page(path.read_text()) for path in sorted(target.rglob("*.html"))}


def test_every_link_within_the_site_leads_to_a_page_and_a_place_on_it(site):
    assert len(site) > 3
    for path, page in site.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            file, _, place = link.partition("#")
            found = (path.parent / unquote(file)).resolve() if file else path
            assert found in site, (path.name, link)
            assert not place or place in site[found].ids, (path.name, link)


def test_no_two_things_on_a_page_share_an_id(site):
    for path, page in site.items():
        twice = {name for name in page.ids if page.ids.count(name) > 1}
        assert not twice, (path, twice)


def test_reading_the_site_tells_nobody(site):
    for path, page in site.items():
        assert not [address for address in page.loads if "//" in address], path


def test_every_picture_says_in_words_what_it_shows(site):
    for path in site:
        for tag in re.findall(r'<div class="picture"[^>]*>', path.read_text()):
            assert re.search(r'aria-label="[^"]+"', tag), path


def test_a_block_that_fails_fails_the_build_and_is_named(tmp_path):
    (tmp_path / "index.md").write_text(f"# Title\n\n```{{live}} A picture\n{LINE}```\n")
    done = build(tmp_path, tmp_path / "out")
    assert done.returncode != 0
    assert "index.md:5: WARNING: AssertionError" in done.stderr


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
    tree = ast.parse(Path(catalog.__file__).read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) == 3]
    known = [node.args[1] for node in calls if isinstance(node.func, ast.Name) and node.func.id == "_only"]
    keys = {part.value for names in known for part in ast.walk(names) if isinstance(part, ast.Constant)}
    assert {"source", "unit", "bounds", "delta"} <= keys
    for key in keys - {"dataset", "budget", "tables", "columns"}:
        assert re.search(rf"`{key}\b", text), key
        assert re.search(rf"\b{key} *=", manifest), key
