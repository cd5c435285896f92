"""Pictures of the console for its documentation, from the real thing: `make pictures`."""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from subprocess import PIPE, Popen

from playwright.sync_api import Browser, sync_playwright
from tests.console.served import FLAGS
from tests.service.world import COMMAND

TARGET = Path(__file__).parents[2] / "docs" / "pictures"
QUESTION = """SELECT ward, COUNT(*) AS visits, AVG(waited) AS minutes
FROM visits
GROUP BY ward
ORDER BY visits DESC"""

SEVERAL = """SELECT COUNT(*) AS visits FROM visits;
SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward;
SELECT ward, COUNT(*) AS long FROM visits WHERE ward <> 'Oncology' GROUP BY ward;"""


def main() -> int:
    found = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    if found is None:
        sys.stderr.write("pictures need a browser: install the package chromium\n")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        command = [*COMMAND, "demo", "--serve", "--people", "20000", "--port", "0", "--folder", folder]
        with Popen(command, stdout=PIPE, text=True) as process, sync_playwright() as playwright:
            said = [process.stdout.readline().split()[-1] for _ in range(3)]  # type: ignore[union-attr]
            browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
            analyst(browser, said[2], said[0])
            curator(browser, said[2], said[1])
            browser.close()
            process.terminate()
    return 0


def signed_in(browser: Browser, url: str, token: str, scheme: str):
    page = browser.new_page(viewport={"width": 1040, "height": 700}, color_scheme=scheme)
    page.goto(url)
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    return page


def analyst(browser: Browser, url: str, token: str) -> None:
    page = signed_in(browser, url, token, "light")
    page.goto(f"{url}/console/data/clinic/ask")
    page.get_by_label("Question, in SQL").fill(QUESTION)
    page.locator("#epsilon").fill("0.5")
    page.get_by_text("Pay epsilon 0.5").wait_for()
    page.screenshot(path=TARGET / "console-ask.png")
    page.get_by_text("Pay epsilon 0.5").click()
    page.wait_for_url("**/answers/*")
    page.set_viewport_size({"width": 1040, "height": 960})
    page.screenshot(path=TARGET / "console-answer.png")
    page.set_viewport_size({"width": 1040, "height": 700})
    page.goto(f"{url}/console/data/clinic/batch")
    page.get_by_label("Questions, in SQL").fill(SEVERAL)
    page.get_by_role("button", name="Quote, free").click()
    page.get_by_role("status").wait_for()
    page.screenshot(path=TARGET / "console-batch.png")
    page.goto(f"{url}/console/laboratory/mechanism?epsilon=0.5")
    page.screenshot(path=TARGET / "console-laboratory.png")


def curator(browser: Browser, url: str, token: str) -> None:
    page = signed_in(browser, url, token, "dark")
    page.goto(f"{url}/console/data/clinic/ledger")
    page.get_by_role("button", name="Check every entry").click()
    page.screenshot(path=TARGET / "console-ledger.png")


if __name__ == "__main__":
    sys.exit(main())
