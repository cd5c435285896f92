"""Asking several questions at once, simulating one on made-up data, and what a curator is told to expect."""

import json
from datetime import date
from fractions import Fraction

import pyarrow
import pyarrow.ipc
import pytest
from tests.console.world import BY_WARD, COUNT, SCRIPT, Console

from discreet.console import bench, outlook
from discreet.console.madeup import made_up
from discreet.console.together import statements
from discreet.query.catalog.kind import Day, Real, Text, Whole
from discreet.query.catalog.manifest import declare
from discreet.service.catalogue import published

ONE = "/console/data/clinic"
BATCH = f"{ONE}/batch"
TWO = f"{COUNT};\n{BY_WARD};"


def quoted(browser, sql: str, epsilon: str = "0.5"):
    form = browser.get(BATCH).form(do="quote")
    return browser.submit(form, sql=sql, epsilon=epsilon)


def test_a_batch_is_quoted_with_its_saving_paid_once_and_read_again(site: Console):
    browser = site.browser("analyst")
    entries, before = site.entries, site.spent
    page = quoted(browser, TWO)
    assert page.status == 200
    assert "smaller" in page.text
    assert page.text.count('<tr><th scope="row">') == 2
    assert site.entries == entries
    led = browser.submit(page.form(do="ask"))
    again = browser.submit(page.form(do="ask"))
    assert (led.status, led.where.partition("?")[0]) == (303, again.where.partition("?")[0])
    assert site.spent == before + Fraction(1, 2)
    shown = browser.get(led.where)
    assert shown.text.count("<h2>Question") == 2
    assert SCRIPT not in shown.text
    later = site.browser("analyst")
    assert f'href="{led.where}"' in later.get(f"{ONE}/answers").text
    assert later.get(led.where).text.count("<h2>Question") == 2
    assert site.spent == before + Fraction(1, 2)
    for who in ("second", "curator"):
        assert site.browser(who).get(led.where).status == 404
    assert site.browser("auditor").get(BATCH).status == 403


def test_the_answers_of_a_batch_have_charts_files_and_the_saving(site: Console):
    browser = site.browser("analyst")
    where = browser.submit(quoted(browser, TWO, "0.75").form(do="ask")).where
    entries, place = site.entries, where.partition("?")[0]
    site.pool.lost = set()
    page = browser.get(f"{place}?confidence=0.9")
    assert "errors are about" in page.text
    assert "90 % confidence" in page.text
    assert page.text.count("<svg") == 2
    assert SCRIPT not in page.text
    assert len(page.body) < 200_000
    by_ward = json.loads(browser.get(f"{place}/2.json").text)
    assert by_ward["question"] == BY_WARD
    whole = json.loads(browser.get(f"{place}.json").text)
    assert whole["answers"][1]["exact"] == by_ward["exact"]
    sheet = browser.get(f"{place}/2.csv")
    assert sheet.headers["content-disposition"].startswith("attachment; filename=")
    assert "'=1+1" in sheet.text
    table = pyarrow.ipc.open_stream(browser.get(f"{place}/2.arrow").body).read_all()
    assert table.num_rows == 5
    svg = browser.get(f"{place}/2.svg").text
    assert svg.startswith("<svg")
    assert SCRIPT not in svg
    report = browser.get(f"{place}.html")
    assert report.text.count("<svg") == 2
    assert not [tag for tag, _ in report.tags() if tag in ("script", "img", "link")]
    assert "**Protects**" in browser.get(f"{place}/1.md").text
    for odd in ("0.csv", "3.csv", "99.svg", "1.exe", "1.csv/", "-1.csv"):
        assert browser.get(f"{place}/{odd}").status == 404
    for who in ("second", "curator"):
        for form in ("/1.csv", "/1.svg", ".json", ".html"):
            assert site.browser(who).get(f"{place}{form}").status == 404
    assert site.entries == entries


def test_a_batch_that_cannot_be_asked_costs_nothing(site: Console):
    browser, entries = site.browser("analyst"), site.entries
    for sql, words in (
        ("", "write 1 to 20 questions"),
        (";" * 30, "write 1 to 20 questions"),
        (f"{COUNT};" * 21, "write 1 to 20 questions"),
        ("SELECT * FROM visits", "private row"),
        (f"{COUNT}; SELECT MEDIAN(stay) AS a FROM visits", "does not add up"),
    ):
        page = quoted(browser, sql)
        assert page.status == 422
        assert words in page.text
    page = quoted(browser, TWO)
    for odd, status in (({"cost": '["0"]'}, 409), ({"key": "batch-1"}, 400), ({"seal": "x"}, 403)):
        assert browser.submit({**page.form(do="ask"), **odd}).status == status
    assert site.entries == entries


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a; b;", ["a", "b"]),
        ("SELECT ';' ; b", ["SELECT ';'", "b"]),
        ("SELECT 'it''s; ' ; b", ["SELECT 'it''s; '", "b"]),
        ('SELECT "a;b"', ['SELECT "a;b"']),
        ("a -- not; here\n; b", ["a -- not; here", "b"]),
        ("a - b; 'open ; x", ["a - b", "'open", "x"]),
        (" ; ; ", []),
    ],
)
def test_questions_end_at_semicolons_outside_of_quotes_and_remarks(text: str, found: list[str]):
    assert statements(text) == found


def test_a_simulation_is_free_marked_and_made_of_declarations_alone(site: Console):
    browser = site.browser("analyst")
    entries = site.entries
    site.pool.verbs.clear()
    page = browser.quote(BY_WARD, epsilon="0.5")
    form = next(form for form in page.forms() if form[""].endswith("/simulation"))
    shown = browser.submit(form)
    assert shown.status == 200
    assert "Made-up data. This is not an answer." in shown.text
    assert "&lt;script&gt;" in shown.text
    assert SCRIPT not in shown.text
    assert site.entries == entries
    assert not {"query", "batch", "recall"} & set(site.pool.verbs)
    assert browser.submit(form, sql="SELECT * FROM visits").status == 422
    assert browser.submit(form, epsilon="-1").status == 422
    assert browser.submit({**form, "seal": "x"}).status == 403
    assert site.browser("auditor").submit(form).status == 403


def test_made_up_rows_keep_to_what_is_declared(site: Console):
    catalog = declare(published(site.pool.sessions["clinic"].catalog))
    (rows,) = (made_up(catalog)[table.name] for table in catalog.tables)
    assert rows.equals(made_up(catalog)["visits"])
    found = rows.to_pydict()
    assert max(found["person"].count(person) for person in set(found["person"])) <= 4
    for column in catalog.tables[0].columns:
        match column.kind:
            case Text(values):
                assert set(found[column.name]) <= set(values)
            case Whole(low, high) | Real(low, high) | Day(low, high):
                assert low <= min(found[column.name]) <= max(found[column.name]) <= high


def test_every_kind_of_declaration_can_be_made_up():
    document = {
        "dataset": {"name": "all"},
        "budget": {"epsilon": "1"},
        "tables": {
            "t": {
                "unit": "who",
                "rows_per_unit": 2,
                "columns": {
                    "who": {"type": "text"},
                    "w": {"type": "integer"},
                    "below": {"type": "integer", "low": "-9", "high": "-5"},
                    "r": {"type": "decimal", "low": "-1", "high": "1", "step": "1/4"},
                    "b": {"type": "boolean"},
                    "d": {"type": "date"},
                    "m": {"type": "timestamp"},
                    "x": {"type": "text"},
                },
            },
            "p": {"public": True, "columns": {"k": {"type": "integer", "unique": True}, "n": "text"}},
        },
    }
    asked = {"what": "simulation", "catalogue": document, "epsilon": "9", "confidence": "0.95"}
    for sql in (
        "SELECT b, COUNT(*) AS n FROM t GROUP BY b",
        "SELECT SUM(r) AS s FROM t WHERE d > DATE '2025-02-01'",
    ):
        found = json.loads(bench.work({**asked, "sql": sql}))
        assert found.get("cells"), found


def entry(day: str, epsilon: str) -> dict[str, object]:
    return {"event": "reserved", "time": f"{day}T10:00:00+00:00", "cost": [epsilon, "0", "0"]}


def budget(used: float, *paces: dict[str, object]) -> dict[str, object]:
    limit = {
        "project": None,
        "analyst": None,
        "budget": ["pure", "10"],
        "spent": ["0", "0", "0"],
        "used": used,
    }
    return {"limits": [{**limit, "remaining": {"rho": "0"}}], "paces": list(paces)}


def test_the_outlook_says_how_long_the_cap_lasts():
    now = date(2026, 3, 14)
    days = outlook.spending(
        [entry("2026-03-05", "1"), entry("2026-03-14", "1"), {"event": "answered"}], budget(0.2)
    )
    assert days == {date(2026, 3, 5): Fraction(1, 10), date(2026, 3, 14): Fraction(1, 10)}
    assert "since 2026-03-05 the cap is reached in about 40 days, on 2026-04-23" in outlook.forecast(
        days, budget(0.2), now
    )
    assert "in about a day, on 2026-03-15" in outlook.forecast({now: Fraction(1, 2)}, budget(0.5), now)
    assert "the cap is reached today" in outlook.forecast({now: Fraction(9, 10)}, budget(0.9), now)
    assert "Nothing is left" in outlook.forecast(days, budget(1.0), now)
    assert "Nothing was spent" in outlook.forecast({}, budget(0.0), now)
    assert "more than ten years" in outlook.forecast({now: Fraction(1, 10**6)}, budget(0.0), now)


def test_warnings_are_about_a_day_that_took_most_and_about_whoever_is_near_a_limit():
    calm = outlook.spending([entry("2026-03-05", "1"), entry("2026-03-06", "0.9")], budget(0.2))
    assert outlook.warnings({}, budget(0.2)) == ()
    assert len(outlook.warnings(calm, budget(0.2))) == 1
    first = date(2026, 3, 5)
    assert outlook.warnings({first: Fraction(2, 5)}, budget(0.4)) == ()
    assert outlook.warnings({first: Fraction(1, 2)}, budget(0.5)) == (
        "On 2026-03-05 alone, 50 % of the whole cap was spent.",
    )
    even = {date(2026, 3, day): Fraction(1, 20) for day in (1, 2, 3)}
    assert outlook.warnings(even, budget(0.2)) == ()
    near = {"project": None, "analyst": "ann", "used": 0.9, "per": "day"}
    assert outlook.warnings(even, budget(0.95, near, {**near, "per": "question"})) == (
        "Everybody together: 95 % of the limit is used.",
        "analyst ann: 90 % of today's limit is used.",
    )


def test_the_outlook_is_for_whoever_sees_all_and_its_question_can_be_asked(site: Console):
    assert "Outlook" not in site.browser("analyst").get(f"{ONE}/budget").text
    assert "Outlook" in site.browser("auditor").get(f"{ONE}/budget").text
    assert "Do limits of rows per person hide much?" in site.browser("curator").get(f"{ONE}/budget").text
    session = site.pool.sessions["clinic"]
    ((_, sql),) = outlook.binding(published(session.catalog))
    curator, entries = site.browser("curator"), site.entries
    quoted = curator.submit(curator.get(f"{ONE}/budget").form(do="quote", sql=sql))
    assert quoted.form(do="ask")["sql"] == sql
    assert site.entries == entries
