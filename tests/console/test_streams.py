"""Streams on pages: begun once, stepped once, read again, and nobody else's."""

import csv
import io
import json
import re
from fractions import Fraction

import pytest
from tests.console.world import SCRIPT, Browser, Console, Shown

STREAMS = "/console/data/clinic/streams"


def quoted(browser: Browser, **fields: str) -> Shown:
    form = browser.get(STREAMS).form(do="quote")
    return browser.submit(form, **({"name": "visits", "length": "20", "epsilon": "0.5"} | fields))


def taken(browser: Browser, place: str, increments: str, **fields: str) -> Shown:
    form = next(form for form in browser.get(place).forms() if "increments" in form)
    return browser.submit(form, increments=increments, **fields)


def test_a_stream_is_quoted_free_begun_once_and_grows_step_by_step(site: Console):
    browser, entries, before = site.browser("analyst"), site.entries, site.spent
    page = quoted(browser)
    assert page.status == 200
    assert re.search(r"off by about [\d.]+ at step 1, [\d.]+ at step 10 and [\d.]+ at step 20", page.text)
    assert site.entries == entries
    begin = page.form(do="begin")
    led = [browser.submit(begin) for _ in range(2)]
    assert {one.where for one in led} == {f"{STREAMS}/visits"}
    paid = site.spent - before
    assert 0 < paid <= Fraction(1, 2)
    place = led[0].where
    assert "No step was released yet." in browser.get(place).text
    form = next(form for form in browser.get(place).forms() if "increments" in form)
    assert browser.submit(form, increments="40").status == 303
    first = browser.get(place)
    assert "Step 1 is released." in first.text
    shown = re.search(r'<th scope="row" class="number">1</th><td class="number">([-\d.,]+)', first.text)[1]
    # A second click, or another tab: the step was released, and nothing is counted again.
    assert browser.submit(form, increments="1000000").status == 303
    again = browser.get(place).text
    assert "had been released before" in again
    assert f'<td class="number">{shown}</td>' in again
    assert taken(browser, place, "1 2\n3").status == 303
    assert "Steps 2 to 4 are released." in browser.get(place).text
    assert f'href="{place}">Show the line, free' in browser.get("/console/data/clinic/answers").text
    assert "4 of 20 steps" in browser.get(place).text
    assert site.spent - before == paid
    rows = list(csv.reader(io.StringIO(browser.get(f"{place}?as=csv").text)))
    assert [row[0] for row in rows] == ["step", "1", "2", "3", "4"]
    whole = json.loads(browser.get(f"{place}?as=json").text)
    assert [one["step"] for one in whole["counts"]] == [1, 2, 3, 4]
    assert browser.get(f"{place}?as=exe").status == 404
    assert 'href="/console/data/clinic/streams/visits"' in site.browser("analyst").get(STREAMS).text


def test_a_stream_belongs_to_who_began_it(site: Console):
    browser = site.browser("analyst")
    browser.submit(quoted(browser, name="mine").form(do="begin"))
    place, other = f"{STREAMS}/mine", site.browser("second")
    assert "mine" not in other.get(STREAMS).text
    missing = other.get(f"{STREAMS}/nothing")
    for page in (other.get(place), other.get(f"{place}?as=csv"), site.browser("curator").get(place)):
        assert (page.status, len(page.body)) == (missing.status, len(missing.body)) or page.status == 404
    seal = other.get(STREAMS).form(do="quote")["seal"]
    assert other.post(place, {"seal": seal, "first": "1", "increments": "5"}).status == 404
    assert site.browser("auditor").get(STREAMS).status == 403
    assert site.browser("stranger").get(STREAMS).status == 404
    entries = site.entries
    form = next(form for form in browser.get(place).forms() if "increments" in form)
    assert browser.submit(form, increments="5", seal="0" * 64).status == 403
    assert browser.submit(browser.get(STREAMS).form(do="quote"), do="begin", seal="").status == 403
    assert site.entries == entries


@pytest.mark.parametrize(
    "fields",
    [
        {"length": "0"},
        {"length": "x"},
        {"length": "9" * 15},
        {"contribution": "0"},
        {"epsilon": ""},
        {"epsilon": "-1"},
        {"epsilon": "1e999999999"},
        {"name": ""},
        {"name": "a/b"},
        {"name": ".."},
        {"name": "bell\a"},
        {"epsilon": "1000"},
    ],
)
def test_a_stream_that_cannot_be_begun_costs_nothing(site: Console, fields: dict[str, str]):
    browser, entries = site.browser("analyst"), site.entries
    page = quoted(browser, **({"name": "odd"} | fields))
    begun = quoted(browser, **({"name": "odd"} | fields), do="begin")
    assert begun.status in (422, 402)
    assert page.status == (200 if fields == {"epsilon": "1000"} else 422)
    assert 'role="alert"' in begun.text
    assert site.entries == entries


def test_another_stream_under_a_taken_name_is_refused_and_hostile_names_are_words(site: Console):
    browser = site.browser("analyst")
    browser.submit(quoted(browser, name=SCRIPT[:100].replace("/", "|")).form(do="begin"))
    name = SCRIPT.replace("/", "|")
    entries = site.entries
    again = browser.submit(browser.get(STREAMS).form(do="quote"), name=name, length="9", do="begin")
    assert again.status == 409
    assert site.entries == entries
    listed = browser.get(STREAMS)
    place = next(
        said["href"] for tag, said in listed.tags() if tag == "a" and "%3Cscript" in said.get("href", "")
    )
    page = browser.get(place)
    assert page.status == 200
    for shown in (listed, page, again):
        assert name not in shown.text
        assert all("src" in said for tag, said in shown.tags() if tag == "script")
    for odd in ("", "x", "1.5", "1 " * 1001, "9" * 20, "=1+1"):
        assert taken(browser, place, odd).status == 422
    assert taken(browser, place, "5", first="7").status == 409
    assert site.entries == entries


def test_the_line_is_drawn_with_its_band_and_taken_away(site: Console):
    browser = site.browser("analyst")
    browser.submit(quoted(browser, name="drawn", length="5").form(do="begin"))
    place = f"{STREAMS}/drawn"
    taken(browser, place, "3 4 5 6 7")
    site.pool.lost = set()
    try:
        page = browser.get(place)
        assert 'role="img"' in page.text
        assert "<path" in page.text
        assert "All 5 steps are released." in page.text
        assert len(page.body) < 200_000
        assert browser.get(f"{place}?as=svg").body.startswith(b"<svg")
    finally:
        site.pool.lost = {"picture"}
