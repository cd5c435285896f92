"""The analyst's story without JavaScript: look, quote, confirm, pay once, read, take away, find again."""

import csv
import html
import io
import json
import re
import threading
from pathlib import Path

import pyarrow
import pyarrow.ipc
import pytest
from jinja2 import Environment
from tests.console.world import BY_WARD, COUNT, FORMULA, IMAGE, SCRIPT, Console, console
from tests.ledger.test_growth import lengthen

from discreet.console.language import FUNCTIONS
from discreet.console.page import english
from discreet.console.picture import harmless
from discreet.console.view import HEAVIEST, fitting, lines

ONE = "/console/data/clinic"
ROOM = Path(__file__).parents[2] / "src/discreet/console"


def test_the_catalogue_says_in_words_what_is_declared(site: Console):
    page = site.browser("analyst").get(f"{ONE}/").text
    assert "Privacy protects each person, known by person" in page
    assert "A person with more than 4 rows counts as 4." in page
    assert "between 0 and 30" in page
    assert "between 2025-01-01 and 2025-12-31" in page


def test_a_quote_is_free_and_says_price_error_and_what_is_left(site: Console):
    browser, entries = site.browser("analyst"), site.entries
    page = browser.quote(BY_WARD, epsilon="0.5")
    assert page.status == 200
    assert "epsilon 0.5" in page.text
    assert re.search(r"suffices for about \d+ such questions", page.text)
    assert "± at 95 %" in page.text
    assert re.search(r"<td>(Geometric|Staircase)", page.text)
    assert '<ul class="tree">' in page.text
    assert site.entries == entries
    assert "query" not in site.pool.verbs[-4:]


def test_accuracy_first_pays_the_price_that_was_quoted_to_the_last_digit(site: Console):
    browser = site.browser("analyst")
    pay = browser.quote(COUNT, by="within", within="17.5").form(do="ask")
    before = site.spent
    assert "/" in pay["epsilon"]
    page = browser.get(browser.submit(pay).where)
    assert page.status == 200
    assert str(site.spent - before) == json.loads(pay["cost"])[0]


def test_the_whole_story_pays_once_however_often_its_form_is_sent(site: Console):
    browser = site.browser("analyst")
    pay = browser.quote(BY_WARD, epsilon="0.25").form(do="ask")
    before, entries = site.spent, site.entries
    first = browser.submit(pay)
    # A double click, the back button, a reload: the same form again.
    again = [browser.submit(pay) for _ in range(3)]
    assert {page.where.partition("?")[0] for page in (first, *again)} == {first.where}
    assert site.spent - before == 0.25
    assert site.entries == entries + 2
    verbs = len(site.pool.verbs)
    page = browser.get(first.where)
    assert "Paid: epsilon 0.25" in page.text
    assert "query" not in site.pool.verbs[verbs:]
    assert site.entries == entries + 2
    assert "paid for before, so it was free" in browser.get(again[0].where).text


def test_two_clicks_at_the_same_moment_pay_once(site: Console):
    browser = site.browser("analyst")
    pay = browser.quote(COUNT, epsilon="0.31").form(do="ask")
    before, led = site.spent, []
    both = [threading.Thread(target=lambda: led.append(browser.submit(pay))) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len({page.where.partition("?")[0] for page in led}) == 1
    assert site.spent - before == pytest.approx(0.31)


def test_two_tabs_with_the_same_question_pay_once(site: Console):
    browser = site.browser("analyst")
    tabs = [browser.quote(COUNT, epsilon="0.33").form(do="ask") for _ in range(2)]
    assert tabs[0]["key"] != tabs[1]["key"]
    before = site.spent
    one, other = (browser.submit(tab).where for tab in tabs)
    assert other == f"{one}?before"
    assert float(site.spent - before) == pytest.approx(0.33)


def test_a_connection_lost_in_the_middle_of_a_paid_question_loses_nothing(site: Console):
    browser = site.browser("analyst")
    pay = browser.quote(COUNT, epsilon="0.41").form(do="ask")
    before = site.spent
    site.pool.lost = {"query"}
    page = browser.submit(pay)
    site.pool.lost = {"picture"}
    assert page.status == 500
    assert float(site.spent - before) == pytest.approx(0.41)
    # The page offers the same form with the same key, and the history has the answer.
    assert page.form(do="ask")["key"] == pay["key"]
    found = re.search(rf"{ONE}/answers/\d+", browser.get(f"{ONE}/answers").text)
    assert found
    assert browser.get(found[0]).status == 200
    assert browser.submit(page.form(do="ask")).where == f"{found[0]}?before"
    assert float(site.spent - before) == pytest.approx(0.41)


def test_nobody_pays_another_price_than_was_confirmed(site: Console):
    browser = site.browser("analyst")
    pay = browser.quote(COUNT, epsilon="0.11").form(do="ask")
    entries = site.entries
    page = browser.submit(pay, epsilon="9")
    assert page.status == 409
    assert "not the one you confirmed" in page.text
    assert browser.submit(pay, key="").status == 400
    assert browser.submit(pay, key="analyst/other").status == 400
    assert site.entries == entries


def test_a_key_that_stands_for_another_question_is_refused(site: Console):
    browser = site.browser("analyst")
    pay = browser.quote(COUNT, epsilon="0.12").form(do="ask")
    other = browser.quote(BY_WARD, epsilon="0.13").form(do="ask")
    assert browser.submit(pay).status == 303
    entries = site.entries
    page = browser.submit({**other, "key": pay["key"]})
    assert page.status == 409
    assert "another question" in page.text
    assert site.entries == entries


def test_a_refusal_is_shown_at_its_clause_with_advice_and_costs_nothing(site: Console):
    browser, entries = site.browser("analyst"), site.entries
    page = browser.quote("SELECT ward,\n  COUNT(*) AS n\nFROM visits\nWHERE nothing = 1\nGROUP BY ward")
    assert page.status == 422
    assert "Line 4, column 7" in page.text
    assert "<mark>nothing</mark>" in page.text
    assert "Instead" in page.text
    assert 'value="ask"' not in page.text
    assert site.entries == entries


def test_a_refusal_has_a_rewriting_one_click_away(site: Console):
    browser, entries = site.browser("analyst"), site.entries
    page = browser.quote(
        f"SELECT wrd, COUNT(*) AS n FROM visits WHERE ward <> '{SCRIPT}' GROUP BY wrd", epsilon="0.07"
    )
    better = next(form for form in page.forms() if form.get("sql", "").startswith("SELECT ward"))
    assert SCRIPT not in page.text
    quoted = browser.submit(better)
    assert quoted.status == 200
    assert "Pay epsilon 0.07 and ask" in quoted.text
    assert site.entries == entries


def test_the_marked_part_is_the_clause_where_it_stands_and_never_beyond_the_text():
    said = {"line": 2, "column": 3, "clause": "STAY"}
    (first, second) = lines("SELECT 1\n  stay, x", said)
    assert (first.marked, second.before, second.marked, second.after) == ("", "  ", "stay", ", x")
    assert lines("x", {"line": 9, "column": 9, "clause": "x"})[0].marked == ""
    assert lines("x", {"line": 1, "column": 9, "clause": "x"})[0].marked == " "
    assert lines("x", {}) == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"epsilon": ""},
        {"epsilon": "x"},
        {"epsilon": "-1"},
        {"epsilon": "1e999999999"},
        {"by": "within", "within": "0"},
        {"by": "within", "within": "0", "epsilon": "1"},
        {"confidence": "2"},
        {"sql": ""},
        {"sql": "SELECT " + "x" * 9000},
    ],
)
def test_what_is_not_understood_is_said_and_costs_nothing(site: Console, fields: dict[str, str]):
    browser, entries = site.browser("analyst"), site.entries
    page = browser.quote(**({"sql": COUNT} | fields))
    assert page.status == 422
    assert 'class="refusal"' in page.text
    assert site.entries == entries


def test_an_answer_has_table_card_and_downloads_also_where_no_chart_can_be_drawn(site: Console):
    browser = site.browser("analyst")
    where = browser.ask(BY_WARD, epsilon="0.6").where.partition("?")[0]
    page = browser.get(where)
    assert page.text.count("±") >= 5
    assert "There is no chart of this answer." in page.text
    assert "Protects" in page.text
    wider = browser.get(f"{where}?confidence=0.99")
    assert "99 % confidence" in wider.text
    rows = list(csv.DictReader(io.StringIO(browser.get(f"{where}.csv").text)))
    assert {row["ward"] for row in rows} == {"A", SCRIPT, IMAGE, f"'{FORMULA}", "{{ 7*7 }}"}
    table = pyarrow.ipc.open_stream(browser.get(f"{where}.arrow").body).read_all()
    assert [row["n"] for row in table.to_pylist()] == [float(row["n"]) for row in rows]
    whole = browser.get(f"{where}.json")
    assert json.loads(whole.body)["question"] == BY_WARD
    assert "attachment" in whole.headers["content-disposition"]
    assert browser.get(f"{where}.svg").status == 404
    assert browser.get(f"{where}.md").text.startswith("###")
    assert browser.get(f"{where}.exe").status == 404


def test_an_answer_is_taken_away_as_a_report_that_stands_alone(site: Console):
    browser = site.browser("analyst")
    where = browser.ask(BY_WARD, epsilon="0.61").where.partition("?")[0]
    site.pool.lost = set()
    shown = browser.get(f"{where}.html?confidence=0.9")
    assert "attachment" in shown.headers["content-disposition"]
    assert shown.text.count("<svg") == 1
    assert "90 % confidence" in shown.text
    assert shown.text.count("±") >= 5
    assert "Protects" in shown.text
    tags = shown.tags()
    assert not [tag for tag, _ in tags if tag in ("script", "img", "link", "form", "a")]
    assert not [name for _, said in tags for name in said if name in ("src", "href", "style")]
    assert {name[:2] for _, said in tags for name in said} & {"on"} == set()
    assert html.escape(SCRIPT, quote=False) in shown.text
    receipt = json.loads(browser.get(f"{where}.json").body)["receipt"]
    assert receipt in html.unescape(shown.text)
    for who in ("second", "curator"):
        assert site.browser(who).get(f"{where}.html").status == 404


def test_an_answer_is_for_whoever_asked_and_for_nobody_else(site: Console):
    one, other = site.browser("analyst"), site.browser("second")
    where = one.ask(COUNT, epsilon="0.71").where
    for path in (where, f"{where}.csv"):
        assert one.get(path).status == 200
        assert other.get(path).status == 404
        assert site.browser("curator").get(path).status == 404
    assert "0.71" not in other.get(f"{ONE}/answers").text
    # Another visit of the same person finds it by their history.
    assert site.browser("analyst").get(where).status == 200
    # Whoever asks the same has it too, free.
    before = site.spent
    again = other.ask(COUNT, epsilon="0.71")
    assert again.where == f"{where}?before"
    assert other.get(again.where).status == 200
    assert site.spent == before


def test_history_leads_to_the_answer_and_to_the_question_again(site: Console):
    browser = site.browser("second")
    where = browser.ask(BY_WARD, epsilon="0.05").where
    page = browser.get(f"{ONE}/answers")
    assert f'href="{where}"' in page.text
    again = re.findall(rf'href="({ONE}/ask\?again=\d+)"', page.text)
    form = browser.get(again[0]).form(do="quote")
    assert (form["sql"], form["epsilon"]) == (BY_WARD, "0.05")


def test_an_exhausted_budget_is_said_before_and_refused_after(tmp_path: Path):
    with console(tmp_path) as own:
        browser = own.browser("analyst")
        pay = browser.quote(COUNT, epsilon="60").form(do="ask")
        other = browser.quote(BY_WARD, epsilon="60").form(do="ask")
        assert browser.submit(pay).status == 303
        page = browser.submit(other)
        assert page.status == 402
        assert "budget" in page.text
        page = browser.quote(BY_WARD, epsilon="60")
        assert "The budget does not suffice for this." in page.text
        assert re.search(r'<button class="main" disabled>', page.text)
        assert "60 %" in browser.get(f"{ONE}/budget").text


def test_every_function_on_offer_is_understood(site: Console):
    browser = site.browser("analyst")
    seal = browser.get("/console/").forms()[0]["seal"]
    for name, example in FUNCTIONS.items():
        sql = example.format(table="visits", number="stay", key="ward", day="day", unit="person")
        assert name in sql
        page = browser.post(f"{ONE}/quote", {"seal": seal, "sql": sql, "epsilon": "1"})
        assert page.status == 200, (name, page.text)


def test_the_live_quote_is_a_part_of_the_page_and_needs_its_seal(site: Console):
    browser = site.browser("analyst")
    assert browser.post(f"{ONE}/quote", {"sql": COUNT, "epsilon": "1"}).status == 403
    seal = browser.get("/console/").forms()[0]["seal"]
    part = browser.post(f"{ONE}/quote", {"seal": seal, "sql": COUNT, "epsilon": "1"})
    assert part.text.lstrip().startswith('<section class="card quote" id="quote"')


def test_all_words_are_in_one_place_and_all_of_them_are_used():
    sources = [*ROOM.glob("templates/*.html"), *ROOM.glob("*.py")]
    text = "\n".join(path.read_text() for path in sources)
    known = {f"{part}.{key}" for part, words in english().items() for key in words}
    said = set(re.findall(r"""["']([a-z_]+\.[a-z_]+)["']""", text)) & known
    called = set(re.findall(r"""say\(\s*["']([a-z_]+\.[a-z_]+)["']""", text))
    assert called <= known
    # Words that are chosen by a name: `say("site." ~ role)`.
    chosen = {found[0] for found in re.findall(r"""say\(f?["']([a-z_]+)\.(["']|\{)""", text)}
    assert {key.partition(".")[0] for key in known - said} <= chosen


def test_showing_again_what_was_never_asked_pays_nothing(site: Console):
    session, entries = site.pool.sessions["clinic"], site.entries
    assert session.recall(COUNT, epsilon="0.123") is None
    assert site.entries == entries
    paid = session.query(COUNT, epsilon="0.123")
    again = session.recall(COUNT, epsilon="0.123", confidence="0.5")
    assert again is not None
    assert again.free
    assert again.noisy == paid.noisy
    assert site.entries == entries + 2


SVG = '<svg xmlns="http://www.w3.org/2000/svg">{}</svg>'


@pytest.mark.parametrize(
    "drawn",
    [
        "<script>alert(1)</script>",
        '<rect onload="alert(1)"></rect>',
        "<foreignObject><b>x</b></foreignObject>",
        '<text xmlns:x="http://www.w3.org/1999/xlink" x:href="//evil">x</text>',
        '<image href="//evil"></image>',
        '<g fill="url(javascript:x)"></g>',
        "<style>*{}</style>",
        "<g>",
        "<!-- x -->",
    ],
)
def test_a_picture_with_more_in_it_than_a_picture_is_not_shown(drawn: str):
    assert harmless(SVG.format(drawn).encode()) is None


def test_a_picture_is_shown_without_styles_and_its_words_stay_words():
    shown = harmless(SVG.format('<text style="x" fill="red">&lt;script&gt;</text>').encode())
    assert shown == '<svg aria-hidden="true"><text fill="red">&lt;script&gt;</text></svg>'


def test_a_picture_too_large_for_a_page_is_not_shown_there():
    drawn = SVG.format('<path aria-label="x" role="graphics-symbol" d="M0,0"></path>' * 2000).encode()
    assert len(str(harmless(drawn))) < len(drawn) / 3
    assert harmless(drawn, 30_000) is None
    assert harmless(SVG.format("<g></g>" * 300_000).encode(), 10**9) is None


@pytest.mark.parametrize("cell", ["x", "<" * 400, "ß" * 300, '"' * 90_000])
def test_rows_of_a_page_have_so_much_room_and_no_more(cell: str):
    rows = fitting([[cell, "1"]] * 3000, 500)
    cells = '{% for cell in row %}<td class="number">{{ cell }}</td>{% endfor %}'
    written = Environment(autoescape=True).from_string(
        "{% for row in rows %}<tr>" + cells + "</tr>{% endfor %}"
    )
    assert len(rows) <= 500
    assert len(written.render(rows=rows).encode()) <= HEAVIEST
    assert len(rows) == 500 or len(written.render(rows=[[cell, "1"]] * (len(rows) + 1)).encode()) > HEAVIEST


def test_no_page_grows_with_its_answer(site: Console):
    browser = site.browser("second")
    sql = "SELECT day, ward, COUNT(*) AS n FROM visits GROUP BY day, ward -- " + "long " * 1500
    where = browser.ask(sql, epsilon="0.9").where
    page = browser.get(where)
    assert "1,325 more rows are in the files" in page.text
    assert len(page.body) < 200_000
    assert len(browser.get(f"{where}.csv").text.splitlines()) == 365 * 5 + 1
    assert len(browser.get(f"{ONE}/answers").body) < 200_000


def test_names_of_columns_are_no_formulas_and_no_markup_either(site: Console):
    browser = site.browser("second")
    where = browser.ask(
        f'SELECT COUNT(*) AS "=1+1", SUM(stay) AS "{SCRIPT}" FROM visits', epsilon="0.8"
    ).where
    assert browser.get(f"{where}.csv").text.startswith("'=1+1,")
    tags = [tag for tag, said in browser.get(where).tags() if tag == "script"]
    assert tags == []


def test_a_price_of_too_many_digits_is_refused_before_it_is_paid(site: Console):
    page = site.browser("analyst").quote(COUNT, epsilon="0." + "123456789" * 6)
    assert page.status == 422
    assert "too many digits" in page.text


@pytest.mark.parametrize("who", ["second", "curator"])
def test_history_goes_back_behind_whatever_others_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str
):
    monkeypatch.setattr("discreet.console.past.LISTED", 2)
    with console(tmp_path) as site:
        browser = site.browser(who)
        for price in ("0.5", "0.25", "0.125"):
            assert browser.submit(browser.quote(COUNT, epsilon=price).form(do="ask")).status == 303
        lengthen(site.pool.sessions["clinic"].ledger, 2500)
        page = site.browser(who).get(f"{ONE}/answers")
        assert ("epsilon 0.25" in page.text, "epsilon 0.5" in page.text) == (True, False)
        (link,) = re.findall(r'href="([^"]*/answers\?before=\d+)"', page.text)
        earlier = site.browser(who).get(link)
        assert ("epsilon 0.25" in earlier.text, "epsilon 0.5" in earlier.text) == (False, True)
        assert "before=" not in earlier.text
        (answer,) = re.findall(r'href="([^"]*/answers/\d+)"', earlier.text)
        assert "Paid: epsilon 0.5" in site.browser(who).get(answer).text
        assert site.browser("analyst").get(answer).status == 404
        assert "You have not asked anything yet" in site.browser("analyst").get(f"{ONE}/answers").text
        monkeypatch.setattr("discreet.ledger.past.SEARCHED", 100)
        looked = site.browser(who).get(f"{ONE}/answers").text
        assert "None of the entries that were looked at is yours" in looked
        assert "?before=" in looked


def test_the_ledger_is_read_page_by_page(tmp_path: Path):
    with console(tmp_path) as site:
        lengthen(site.pool.sessions["clinic"].ledger, 1500)
        auditor = site.browser("auditor")
        page = auditor.get(f"{ONE}/ledger?kind=reserved&q=fill")
        (link,) = re.findall(r'href="([^"]*/ledger\?before=[^"]*)"', page.text)
        assert "q=fill" in html.unescape(link)
        earlier = auditor.get(html.unescape(link))
        assert "earlier entries" in earlier.text
        shown = [int(one) for one in re.findall(r'data-word="entry">(\d+)<', earlier.text)]
        assert max(shown) <= 501
        assert "before=" not in auditor.get(f"{ONE}/ledger?before=500").text
        assert auditor.get(f"{ONE}/ledger?before=x").status == 200
