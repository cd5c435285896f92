"""Pictures of the console for its documentation, from the real thing: `make pictures`.

Every page is taken at three widths, in light and in dark, as it stands after somebody used it; the six views
of a page make one sheet.  A few pages are also taken by themselves, large enough to be read.
"""

import base64
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from tests.console.served import FLAGS
from tests.service.world import COMMAND

TARGET = Path(__file__).parents[2] / "docs" / "pictures"
SHEETS = TARGET / "pages"
VIEWS = {"phone": (390, 150), "tablet": (820, 315), "desk": (1360, 520)}
"""How wide a window is, and how wide it is on a sheet."""

TALLEST = 1500
ALONE = {"width": 1040, "height": 760}
QUESTION = """SELECT ward, COUNT(*) AS visits, AVG(waited) AS minutes
FROM visits
GROUP BY ward
ORDER BY visits DESC"""

PAIRS = """SELECT ward, MONTH(day) AS month, COUNT(*) AS visits
FROM visits
GROUP BY ward, month"""

SEVERAL = """SELECT COUNT(*) AS visits FROM visits;
SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward;
SELECT ward, COUNT(*) AS long FROM visits WHERE ward <> 'Oncology' GROUP BY ward;"""

DAYS = "31 28 44 39 52 47 20 18 49 51 38 46 55 41 22 19 60 48 43 57"
BOUNDS = {
    "ward": {"values": "Cardiology\nEmergency\nOncology"},
    "cost": {"low": "0", "high": "2000", "step": "0.01"},
}
BOUNDS |= {"waited": {"low": "0", "high": "240"}, "day": {"low": "2025-01-01", "high": "2025-12-31"}}


def main() -> int:
    found = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    if found is None:
        sys.stderr.write("pictures need a browser: install the package chromium\n")
        return 1
    SHEETS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [*COMMAND, "demo", "--serve", "--people", "20000", "--port", "0", "--folder", "data"]
        with Popen(command, stdout=PIPE, text=True, cwd=folder) as process, sync_playwright() as playwright:
            said = [process.stdout.readline().split()[-1] for _ in range(3)]  # type: ignore[union-attr]
            browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
            try:
                taken(browser, said[2], {"analyst": said[0], "curator": said[1]})
            finally:
                browser.close()
                process.terminate()
    return 0


def taken(browser: Browser, url: str, tokens: dict[str, str]) -> None:
    paper = browser.new_page(viewport={"width": sum(wide for _, wide in VIEWS.values()) + 50, "height": 800})
    for who, tour in (("analyst", analyst), ("curator", curator)):
        page = browser.new_page(viewport=ALONE, color_scheme="light")
        page.set_default_timeout(90_000)
        page.goto(url)
        if who == "analyst":
            sheet(page, paper, "sign-in")
        page.get_by_label("Token").fill(tokens[who])
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/console/")
        for name in tour(page, f"{url}/console"):
            sheet(page, paper, name)
            page.set_viewport_size(ALONE)
        page.close()


def sheet(page: Page, paper: Page, name: str) -> None:
    """Make one picture of a page at every width, light above and dark below."""
    rows = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        shots = []
        for view, (width, wide) in VIEWS.items():
            page.set_viewport_size({"width": width, "height": 900})
            tall = min(TALLEST, page.evaluate("() => document.documentElement.scrollHeight"))
            overflow = page.evaluate("() => document.documentElement.scrollWidth > innerWidth")
            if overflow:
                sys.stderr.write(f"{name}, {view}: wider than its window\n")
            clip: Any = {"x": 0, "y": 0, "width": width, "height": tall}
            shot = page.screenshot(type="jpeg", quality=85, full_page=True, clip=clip)
            shots.append(
                f'<img width="{wide}" src="data:image/jpeg;base64,{base64.b64encode(shot).decode()}">'
            )
        rows.append(f"<div>{''.join(shots)}</div>")
    page.emulate_media(color_scheme="light")
    style = "body{margin:0;padding:10px;background:#888}"
    style += "div{display:flex;gap:10px;align-items:start;margin-bottom:10px}"
    paper.set_content(f"<style>{style}</style>{''.join(rows)}")
    paper.screenshot(path=SHEETS / f"{name}.jpg", type="jpeg", quality=62, full_page=True)


def alone(page: Page, name: str, height: int = 760, scheme: str = "light") -> None:
    page.evaluate("() => scrollTo(0, 0)")
    page.set_viewport_size({"width": 1040, "height": height})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.screenshot(path=TARGET / f"console-{name}.png")
    page.emulate_media(color_scheme="light")


def analyst(page: Page, root: str) -> Iterator[str]:
    data = f"{root}/data/clinic"
    yield "datasets"
    page.goto(f"{data}/")
    yield "catalogue"
    page.goto(f"{data}/ask")
    page.get_by_label("Question, in SQL").fill("SELECT name FROM visits\nWHERE waited > 60")
    page.locator("#quote .refusal").wait_for()
    yield "refusal"
    page.get_by_label("Question, in SQL").fill(QUESTION)
    page.locator("#epsilon").fill("0.5")
    page.get_by_text("Pay epsilon 0.5").wait_for()
    alone(page, "ask")
    yield "ask"
    page.get_by_role("button", name="Simulate, free").click()
    page.locator(".made-up svg").wait_for()
    yield "simulation"
    page.go_back()
    page.get_by_text("Pay epsilon 0.5").click()
    page.wait_for_url("**/answers/*")
    alone(page, "answer", 960)
    yield "answer"
    page.goto(f"{data}/ask")
    page.get_by_label("Question, in SQL").fill(PAIRS)
    page.locator("#epsilon").fill("0.2")
    page.get_by_text("Pay epsilon 0.2").click()
    page.wait_for_url("**/answers/*")
    yield "map"
    page.goto(f"{data}/batch")
    page.get_by_label("Questions, in SQL").fill(SEVERAL)
    page.get_by_role("button", name="Quote, free").click()
    page.get_by_role("status").wait_for()
    alone(page, "batch")
    yield "batch"
    page.get_by_role("button", name="once and ask all").click()
    page.wait_for_url("**/batch/*")
    alone(page, "batch-answers", 900)
    yield "batch-answers"
    page.goto(f"{data}/streams")
    page.get_by_label("Name").fill("visits to the emergency room")
    page.get_by_label("Epsilon").fill("0.4")
    page.get_by_role("button", name="Quote, free").click()
    page.locator("#pay").wait_for()
    yield "streams"
    page.locator("#pay button").click()
    page.get_by_label("Counted").fill(DAYS)
    page.get_by_role("button", name="release step 1").click()
    page.locator(".chart svg").wait_for()
    alone(page, "stream", 900)
    yield "stream"
    page.goto(f"{data}/answers")
    yield "answers"
    page.goto(f"{data}/budget")
    yield "own-budget"
    for place in ("mechanism", "composition", "optimal", "attack"):
        page.goto(f"{root}/laboratory/{place}")
        if place == "mechanism":
            alone(page, "laboratory")
        yield place
    page.goto(f"{root}/laboratory/program")
    page.get_by_role("button", name="Prove or refute").click()
    page.locator("#result h2").wait_for()
    yield "program"
    page.goto(f"{data}/people")
    yield "problem"


def curator(page: Page, root: str) -> Iterator[str]:
    data = f"{root}/data/clinic"
    page.goto(f"{data}/budget")
    page.get_by_label("Project", exact=True).fill("waiting times")
    page.get_by_label("Epsilon the project may spend").fill("1.5")
    page.locator("#project-reason").fill("agreed in June")
    page.get_by_role("button", name="Set the limits of the project").click()
    page.get_by_role("status").wait_for()
    page.goto(f"{data}/budget")
    alone(page, "budget", 900)
    yield "budget"
    page.goto(f"{data}/people")
    page.get_by_text("Change ada").click()
    yield "people"
    page.goto(f"{data}/ledger")
    page.get_by_role("button", name="Check every entry").click()
    alone(page, "ledger", 700, "dark")
    yield "ledger"
    page.goto(f"{root}/wizard")
    page.get_by_label("File, or table").fill("visits.parquet")
    yield "wizard"
    page.get_by_role("button", name="Read names and types").click()
    page.get_by_label("Dataset").fill("waiting-times")
    for name, said in BOUNDS.items():
        column = page.locator(".column").filter(has=page.locator("legend", has_text=name))
        for word, text in said.items():
            column.locator(f'[name$=".{word}"]').fill(text)
    with page.expect_response("**/wizard"):
        page.get_by_label("Epsilon").fill("2")
    page.get_by_text("SUM(cost)").first.wait_for()
    alone(page, "wizard", 1000)
    yield "decisions"
    page.get_by_role("button", name="Save as a new file").click()
    page.get_by_role("status").wait_for()
    yield "saved"


if __name__ == "__main__":
    sys.exit(main())
