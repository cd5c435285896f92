"""Words of others stay text in Markdown, by the judgement of a reader of Markdown that is not ours."""

import re
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from discreet.show.markdown import code, plain, words

READER = MarkdownIt("commonmark", {"html": True})
TEXTS = st.text(st.sampled_from("`` \\*_<>[]()!&#~|\n\tab1.:/\"'-+="), max_size=30) | st.text(max_size=30)
HOSTILE = "a` <script>alert(1)</script> ``b``` [x](javascript:y) ![z](w) <http://v> &lt; \\` *e*"


def shown(line: str) -> str:
    """Return the HTML of words in a line of a list, without what every such line has."""
    html = READER.render(f"- **Fact** {line}.")
    found = re.fullmatch(r"<ul>\n<li><strong>Fact</strong> (.*)\.</li>\n</ul>\n", html, re.DOTALL)
    assert found is not None, html
    return found[1]


@given(TEXTS)
@example(HOSTILE)
@example("`")
@example(" `` ")
@example("a`b``c")
@example("x\n\n<script>")
@example("a\u2028- b")
def test_a_code_span_holds_its_text_and_nothing_leaves_it(text: str):
    line = " ".join(text.split())
    if not line:
        assert code(text) == ""
        return
    assert "\n" not in code(text)
    found = re.fullmatch("<code>(.*)</code>", shown(code(text)), re.DOTALL)
    assert found is not None
    assert unescape(found[1]) == line.replace("\0", "\ufffd")


@given(TEXTS)
@example(HOSTILE)
@example("[a][b]")
@example("<!-- x -->")
def test_plain_words_have_no_tags_links_or_code(text: str):
    html = shown(f"x{plain(text)}x")
    assert not re.search(r"<(?!/?em>)", html), html


@given(TEXTS)
@example(HOSTILE)
@example("a `b` c")
def test_what_was_written_is_read_back(text: str):
    line = " ".join(text.split())
    assert words(code(text)) == line
    assert words(plain(text)) == line
    assert words(f"{code(text)}: ± 3; {plain(text)}") == f"{line}: ± 3; {line}"


@pytest.mark.parametrize("careless", [lambda text: f"`{text}`", lambda text: f"`` {text} ``"])
def test_the_reader_catches_a_span_that_can_be_left(careless):
    assert "<script>" in shown(careless("a ` b `` <script>"))
