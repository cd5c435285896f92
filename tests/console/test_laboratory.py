"""The laboratory: laws, compositions and programs in pages, and a bench that falls alone."""

import asyncio
import html
import json
import math
import re
from pathlib import Path

import pytest
from tests.console.world import SCRIPT, Console

from discreet.console import bench, process
from discreet.console.laboratory import EXAMPLE, STORIES
from discreet.console.process import Process

LAB = "/console/laboratory"
PROGRAMS = Path(__file__).parents[2] / "examples/programs"


def test_a_mechanism_shows_its_accuracy_and_what_is_not_understood_is_said(site: Console):
    browser = site.browser("auditor")
    page = browser.get(f"{LAB}/mechanism?name=geometric&epsilon=1&sensitivity=1")
    assert page.status == 200
    # Of the geometric law with alpha = 1/e, 3 is the least radius that is left with probability 5 %.
    assert '<th scope="row">95 %</th><td class="number">3</td>' in page.text
    for odd in ("epsilon=0", "epsilon=x", "name=nothing", "sensitivity=-1", "name=gaussian&delta=2"):
        page = browser.get(f"{LAB}/mechanism?{odd}")
        assert page.status == 422
        assert 'role="alert"' in page.text


@pytest.mark.parametrize("name", ["geometric", "laplace"])
def test_the_law_the_ratio_and_the_accuracy_against_epsilon_are_drawn(name: str):
    asked = {"name": name, "epsilon": "1/2", "sensitivity": "1", "delta": "1e-6"}
    (law, ratio, _), (curve, now) = (
        part.get("vconcat") or part["layer"] for part in bench.mechanism(asked)["chart"]["vconcat"]
    )
    rows = curve["data"]["values"]
    assert [row["x"] for row in rows] == sorted(row["x"] for row in rows)
    assert [row["y"] for row in rows] == sorted((row["y"] for row in rows), reverse=True)
    (here,) = now["data"]["values"]
    assert here in rows
    assert law["height"] > ratio["height"]


def test_what_releases_promise_as_they_become_more_is_drawn_by_three_routes():
    asked = {"name": "geometric", "epsilon": "1/2", "sensitivity": "1", "delta": "1e-6", "count": "400"}
    rows = bench.composition(asked)["chart"]["data"]["values"]
    by = {(row["series"], row["x"]): row["y"] for row in rows}
    assert {series for series, _ in by} == {"basic", "advanced", "together"}
    assert by["basic", 400] == pytest.approx(200)
    assert by["together", 400] < by["advanced", 400] < by["basic", 400]
    assert bench.composition({**asked, "count": "1"})["chart"]["data"]["values"]


def test_many_releases_cost_less_together_than_their_sum(site: Console):
    page = site.browser("analyst").get(f"{LAB}/composition?name=geometric&epsilon=0.1&count=100&delta=1e-6")
    low, high, basic = map(
        float, re.search(r"between epsilon ([\d.]+) and ([\d.]+); .* is ([\d.]+)\.", page.text).groups()
    )
    assert 0 < low <= high < basic == 10
    assert site.browser("analyst").get(f"{LAB}/composition?count=999999").status == 422


def test_the_best_mechanism_is_shown_with_its_bound_and_its_remap(site: Console):
    browser = site.browser("analyst")
    page = browser.get(f"{LAB}/optimal?size=2&loss=zero-one&prior=uniform&epsilon=1")
    loss, bound = map(
        float,
        re.search(r"Expected loss ([\d.]+); no private mechanism gets below ([\d.]+)\.", page.text).groups(),
    )
    # With alpha = 1/e the report of a count of 0, 1 or 2 is right with 1/(1+a), (1-a)/(1+a), 1/(1+a).
    alpha = math.exp(-1)
    assert loss == bound == pytest.approx(1 - (2 + 1 - alpha) / (1 + alpha) / 3, abs=1e-5)
    assert "Best guess for every report" in page.text
    for odd in ("size=0", "size=25", "size=x", "loss=none", "prior=none", "epsilon=-1"):
        assert browser.get(f"{LAB}/optimal?{odd}").status == 422


def test_an_attack_is_told_and_where_it_is_stopped(site: Console):
    browser = site.browser("auditor")
    page = browser.get(f"{LAB}/attack?epsilon=1")
    assert "Where the ledger stops it: after 2 pairs" in page.text
    assert "73.1%" in page.text
    naive = float(re.search(r"naive noise</td><td>[\d.]+%</td><td>([\d.]+)%", page.text)[1])
    assert naive > 80
    for odd in ("epsilon=0.1", "epsilon=1000", "epsilon=x", "story=none"):
        assert browser.get(f"{LAB}/attack?{odd}").status == 422
    assert [story for story in STORIES if f'value="{story}"' in page.text] == list(STORIES)
    assert "low bits" in browser.get(f"{LAB}/attack?story=float").text


def test_a_program_is_proved_refuted_or_wrong_at_its_place(site: Console):
    browser = site.browser("analyst")
    form = browser.get(f"{LAB}/program").form(text=EXAMPLE)
    assert "<h2>Proved</h2>" in browser.submit(form).text
    bad = (PROGRAMS / "bad_histogram.dp").read_text()
    refuted = browser.submit(form, text=bad).text
    assert "<h2>Refuted</h2>" in refuted
    assert "What line 6 claims is false." in refuted
    assert "<mark>ensures epsilon eps</mark>" in refuted
    page = browser.submit(form, text=f"Count {SCRIPT}")
    assert page.status == 422
    assert "line 1, column" in page.text
    assert html.escape(SCRIPT[0]) in re.search(r"<mark>(.*?)</mark>", page.text)[1]
    assert not [tag for tag, said in page.tags() if tag == "script" and "src" not in said]
    assert browser.post(f"{LAB}/program", {"text": EXAMPLE}).status == 403


def test_a_text_is_never_taken_for_the_name_of_a_file(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(PROGRAMS)
    found = json.loads(bench.work({"what": "program", "text": "histogram.dp"}))
    assert "refused" in found
    assert found["line"] == 1


def test_whoever_has_not_signed_in_has_no_bench(site: Console):
    for place in ("mechanism", "composition", "program"):
        assert site.browser().get(f"{LAB}/{place}").status == 303


SLOW = "import time\nfrom discreet.console.process import attend\n"
BENCHES = {
    "slow": "time.sleep(60)",
    "dead": "import os; os._exit(3)",
    "failing": "raise ValueError('secret')",
}


@pytest.mark.parametrize("kind", BENCHES)
def test_a_bench_that_falls_is_another_one_the_next_time(tmp_path: Path, monkeypatch, kind: str):
    body = f"def work(head):\n    if head['odd']:\n        {BENCHES[kind]}\n    return b'whole'\n\n"
    (tmp_path / "falling.py").write_text(f"{SLOW}{body}attend(work)\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(process.__file__).parents[2]}")

    async def story() -> list[bytes | None]:
        own = Process("falling", 20.0 if kind != "slow" else 3.0)
        found = [await own.ask({"odd": odd}) for odd in (False, True, False)]
        await own._end()
        return found

    assert asyncio.run(story()) == [b"whole", None, b"whole"]
