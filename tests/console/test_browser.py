"""The stories in a real browser: with and without JavaScript, hostile names, double clicks, a broken line."""

import os
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from tests.console.served import FLAGS, STILL, Served, jumps, serve, sound
from tests.console.world import BY_WARD, COUNT, IMAGE, SCRIPT

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    running = serve(tmp_path_factory.mktemp("served"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A real browser; where there is none the tests that need one fail, and say what to install.

    It runs a loop of its own in this thread, so it must be gone before any test of another module.
    """
    found = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    if found is None:
        pytest.fail("there is no browser: install the package chromium, or deselect the marker `browser`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


def spent(page: Any, served: Served) -> float:
    page.goto(f"{served.data}/budget")
    words = page.locator(".gauge .said").first.inner_text()
    return float(re.search(r"epsilon ([\d.]+) of", words)[1])  # type: ignore[index]


def test_an_analyst_asks_watches_the_price_and_pays_once(served: Served, chromium: Browser):
    with served.visit(chromium, "analyst") as page:
        before = spent(page, served)
        sound(page)
        page.goto(f"{served.url}/console/")
        sound(page)
        page.goto(f"{served.data}/")
        sound(page)
        page.get_by_role("link", name="Ask about visits").click()
        expect(page.get_by_label("Question, in SQL")).to_have_value(re.compile("SELECT ward"))
        # The quote comes by itself, and follows the slider.
        expect(page.locator("#quote")).to_contain_text("epsilon 0.1")
        near = page.locator("#slid").inner_text()
        page.locator("#slider").press("ArrowRight")
        expect(page.locator("#quote")).to_contain_text("epsilon 0.13")
        assert page.locator("#slid").inner_text() != near
        page.locator("#epsilon").fill("0.5")
        expect(page.locator("#pay button")).to_have_text("Pay epsilon 0.5 and ask")
        page.get_by_text("Why this is private").click()
        expect(page.locator(".tree")).to_be_visible()
        sound(page)
        page.locator("#pay button").dblclick()
        page.wait_for_url("**/answers/*")
        # Hostile keys are words in the table and in the chart, and nothing else.
        expect(page.locator("tbody")).to_contain_text(SCRIPT)
        expect(page.locator("tbody")).to_contain_text(IMAGE)
        expect(page.locator(".chart svg")).to_be_visible()
        assert page.locator("main img, main script").count() == 0
        sound(page)
        answer = page.url.partition("?")[0]
        svg = page.request.get(f"{answer}.svg").text()
        assert svg.startswith("<svg")
        assert SCRIPT not in svg
        assert SCRIPT.replace("<", "&lt;").replace(">", "&gt;") in svg
        assert page.request.get(f"{answer}.png").body().startswith(b"\x89PNG")
        page.go_back()
        expect(page.locator("#pay button")).to_have_text("Pay epsilon 0.5 and ask")
        page.locator("#pay button").click()
        page.wait_for_url("**/answers/*")
        assert page.url.partition("?")[0] == answer
        page.reload()
        # Another tab with the same question: whoever pays second is told that it was free.
        tabs = [page.context.new_page() for _ in range(2)]
        for tab in tabs:
            tab.goto(f"{served.data}/ask")
            tab.get_by_label("Question, in SQL").fill(f"{BY_WARD} ORDER BY n")
            expect(tab.locator("#pay button")).to_have_text("Pay epsilon 0.1 and ask")
        for tab, words in zip(tabs, ("Paid: epsilon 0.1.", "so it was free"), strict=True):
            tab.locator("#pay button").click()
            expect(tab.get_by_role("status")).to_contain_text(words)
            tab.close()
        assert spent(page, served) - before == pytest.approx(0.6)
        page.goto(f"{served.data}/answers")
        sound(page)


def test_several_questions_are_asked_at_once_and_one_is_simulated(served: Served, chromium: Browser):
    with served.visit(chromium, "curator") as page:
        page.goto(f"{served.data}/batch")
        page.get_by_label("Questions, in SQL").fill(f"{COUNT};\n{BY_WARD};")
        page.get_by_role("button", name="Quote, free").click()
        expect(page.get_by_role("status")).to_contain_text("Asked together")
        sound(page)
        page.get_by_role("button", name="once and ask all").click()
        page.wait_for_url("**/batch/*")
        expect(page.locator("tbody").last).to_contain_text(SCRIPT)
        sound(page)
        page.goto(f"{served.data}/ask")
        page.get_by_label("Question, in SQL").fill(f"{BY_WARD} -- 'by' ward")
        expect(page.locator(".colours .sql-function")).to_have_text("COUNT")
        expect(page.locator(".colours .sql-remark")).to_have_text("-- 'by' ward")
        assert page.locator(".colours").inner_text().strip() == f"{BY_WARD} -- 'by' ward"
        page.get_by_role("button", name="Simulate, free").click()
        expect(page.get_by_role("status")).to_contain_text("Made-up data. This is not an answer.")
        expect(page.locator(".made-up svg")).to_be_visible()
        assert page.locator("main img, main script").count() == 0
        sound(page)


def test_a_curator_drafts_a_manifest_and_a_stream_grows(served: Served, chromium: Browser):
    with served.visit(chromium, "curator") as page:
        page.get_by_role("link", name="New dataset").click()
        sound(page)
        page.get_by_label("File, or table").fill("clinic.parquet")
        page.get_by_label("File, or table").press("Enter")
        expect(page.locator("#result pre")).to_contain_text("[tables.clinic]")
        expect(page.get_by_label("A person is known by")).to_have_value("column:person")
        page.get_by_label("Dataset").fill("drafted")
        stay = page.locator('.column[data-name="stay"]')
        stay.get_by_label("Least").fill("0")
        stay.get_by_label("Most").fill("30")
        expect(page.locator("#result")).to_contain_text("SUM(stay)")
        expect(page.locator('.column[data-name="person"]')).to_be_hidden()
        expect(page.locator("#result pre")).to_contain_text('"<b>odd</b>"')
        assert page.locator("main b, main img, main script").count() == 0
        sound(page)
        page.get_by_role("button", name="Save as a new file").press("Enter")
        expect(page.get_by_role("status")).to_contain_text("drafted.toml is saved")
        sound(page)
        page.goto(f"{served.data}/streams")
        page.get_by_label("Name").fill(SCRIPT.replace("/", "|"))
        page.get_by_label("Epsilon").press("Enter")
        sound(page)
        page.get_by_role("button", name="once and begin").click()
        page.get_by_label("Counted").fill("3 4 5")
        page.get_by_role("button", name="Count, and release step 1").click()
        expect(page.locator(".chart svg")).to_be_visible()
        assert page.locator("main img, main script").count() == 0
        sound(page)


def test_every_other_page_is_for_everybody(served: Served, chromium: Browser):
    with served.visit(chromium, "curator", viewport={"width": 390, "height": 800}) as page:
        for place in ("mechanism", "composition", "optimal", "attack"):
            page.goto(f"{served.url}/console/laboratory/{place}")
            expect(page.locator("#result h2, #result table").first).to_be_visible()
            sound(page)
        page.goto(f"{served.data}/budget")
        expect(page.get_by_role("heading", name="Outlook")).to_be_visible()
        page.get_by_text("Do limits of rows per person hide much?").click()
        page.get_by_label("Project", exact=True).fill(f"{SCRIPT} times")
        page.get_by_label("Epsilon the project may spend").fill("2")
        page.locator("#project-reason").fill("agreed in June")
        page.get_by_role("button", name="Set the limits of the project").click()
        expect(page.get_by_role("alert")).to_contain_text("could be taken for another name")
        sound(page)
        page.go_back()
        page.get_by_label("Project", exact=True).fill("Waiting times")
        page.get_by_label("Epsilon the project may spend").fill("2")
        page.locator("#project-reason").fill("agreed in June")
        page.get_by_role("button", name="Set the limits of the project").click()
        expect(page.get_by_role("meter", name="project waiting times")).to_be_visible()
        sound(page)
        page.goto(f"{served.data}/people")
        page.get_by_text("Change plain").click()
        page.locator("details[open]").get_by_label("Works for").select_option("waiting times")
        page.locator("details[open]").get_by_role("button", name="Change the project").click()
        expect(page.get_by_role("status")).to_contain_text("counts for: project waiting times")
        sound(page)
        page.goto(f"{served.data}/ledger")
        wide = page.locator(".entries").evaluate("(one) => one.scrollWidth - one.parentElement.clientWidth")
        assert wide <= 0, "on a phone the ledger is read downwards"
        sound(page)
        # A page that jumps is found out: words that come late push everything down.
        page.wait_for_timeout(600)
        late = "const one = document.createElement('h1'); one.textContent = 'late'; return one;"
        page.evaluate(
            f"() => document.querySelector('main').prepend(...Array.from({{length: 9}}, () => {{{late}}}))"
        )
        page.wait_for_timeout(100)
        assert jumps(page) > STILL
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Token")).to_be_visible()
        sound(page)


def test_a_student_moves_epsilon_and_sees_what_it_does(served: Served, chromium: Browser):
    with served.visit(chromium, "auditor") as page:
        page.get_by_role("link", name="Laboratory").click()
        farthest = page.locator("#result tbody tr").last
        expect(farthest).to_contain_text("99.9 %")
        near = int(farthest.locator("td").inner_text())
        for _ in range(5):
            page.get_by_label("Move epsilon").press("ArrowLeft")
        expect(page.locator("#result svg")).to_contain_text("ε = 0.16")
        assert int(farthest.locator("td").inner_text()) > 2 * near
        sound(page)
        page.get_by_role("link", name="Composition").click()
        expect(page.locator("#result svg")).to_contain_text("advanced")
        page.get_by_label("How many releases").fill("7")
        expect(page.locator("#result")).to_contain_text("the sum of their epsilons is 3.5.")
        page.get_by_role("link", name="Best mechanism").click()
        page.get_by_label("Loss of a wrong guess").select_option("squared")
        expect(page.get_by_role("img", name="The law of the report")).to_be_visible()
        expect(page.get_by_role("region", name="Best guess for every report")).to_be_visible()
        page.get_by_role("link", name="Attacks").click()
        page.get_by_label("Which attack").select_option("difference")
        expect(page.locator("#result .notice")).to_contain_text("Where the ledger stops it")
        page.get_by_role("link", name="Programs").click()
        program = page.get_by_label("Program")
        program.fill(program.input_value().replace("ensures epsilon eps", "ensures epsilon eps/2"))
        page.get_by_role("button", name="Prove or refute").click()
        expect(page.get_by_role("heading", name="Refuted")).to_be_visible()
        expect(page.locator("mark")).to_have_text("ensures epsilon eps/2")
        sound(page)


def test_writing_is_completed_by_keys_and_a_refusal_leads_to_its_place(served: Served, chromium: Browser):
    phone = {"width": 390, "height": 800}
    with served.visit(chromium, "analyst", color_scheme="dark", viewport=phone) as page:
        page.goto(f"{served.data}/ask")
        editor = page.get_by_label("Question, in SQL")
        editor.press_sequentially("SELECT COUNT(*) AS n\nFROM vis")
        expect(page.get_by_role("option", name="visits table")).to_be_visible()
        editor.press("Enter")
        expect(editor).to_have_value("SELECT COUNT(*) AS n\nFROM visits")
        editor.press("End")
        editor.press_sequentially(f"\nWHERE nothing = '{SCRIPT}'")
        expect(page.locator("#quote mark")).to_have_text("nothing")
        sound(page)
        page.get_by_role("button", name="Go there").click()
        assert page.evaluate("() => getSelection().toString()") == "nothing"
        editor.fill("SELECT wrd, COUNT(*) AS n FROM visits GROUP BY wrd")
        page.get_by_role("button", name="Use this question").click()
        expect(editor).to_have_value("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
        expect(page.locator("#pay button")).to_be_visible()
        page.goto(f"{served.url}/console/laboratory/program")
        page.get_by_role("button", name="Prove or refute").click()
        expect(page.get_by_role("heading", name="Proved")).to_be_visible()
        sound(page)


def test_everything_works_without_javascript(served: Served, chromium: Browser):
    with served.visit(
        chromium, "plain", java_script_enabled=False, viewport={"width": 390, "height": 800}
    ) as page:
        page.goto(f"{served.data}/ask")
        page.get_by_label("Question, in SQL").fill(COUNT)
        page.get_by_role("button", name="Quote, free").click()
        page.get_by_role("button", name="Pay epsilon 0.1 and ask").click()
        page.wait_for_url("**/answers/*")
        expect(page.locator("tbody td")).to_contain_text("±")
        page.goto(f"{served.data}/answers")
        page.get_by_role("link", name="Show again, free").click()
        expect(page.locator("h1")).to_contain_text("Answer")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("status")).to_have_text("You have been signed out.")
        page.goto(f"{served.data}/answers")
        expect(page.get_by_label("Token")).to_be_visible()


def test_a_line_that_breaks_after_paying_loses_nothing(served: Served, chromium: Browser):
    with served.visit(chromium, "analyst") as page:
        before = spent(page, served)
        page.goto(f"{served.data}/ask")
        page.get_by_label("Question, in SQL").fill(BY_WARD)
        page.locator("#epsilon").fill("0.25")
        expect(page.locator("#pay button")).to_have_text("Pay epsilon 0.25 and ask")

        def broken(route: Any) -> None:
            route.fetch(max_redirects=0)
            route.abort()

        page.route("**/ask", broken)
        page.locator("#pay button").click(no_wait_after=True)
        page.wait_for_event("requestfailed")
        page.unroute("**/ask")
        page.goto(f"{served.data}/answers")
        page.get_by_role("link", name="Show again, free").first.click()
        expect(page.locator("h1")).to_contain_text("Answer")
        assert spent(page, served) - before == pytest.approx(0.25)


def test_a_curator_enters_somebody_and_checks_the_ledger(served: Served, chromium: Browser):
    with served.visit(chromium, "curator", color_scheme="dark") as page:
        page.goto(f"{served.data}/people")
        sound(page)
        page.get_by_label("Name").fill("ben")
        page.locator("#epsilon").fill("0.5")
        page.locator("#reason").fill(SCRIPT)
        page.get_by_role("button", name="Enter and show the token").click()
        served.tokens["ben"] = page.locator("#token").inner_text()
        page.reload()
        assert page.locator("#token").count() == 0
        page.goto(f"{served.data}/ledger")
        expect(page.locator("tbody")).to_contain_text(f"{SCRIPT} (curator, in the console)")
        page.get_by_role("button", name="Check every entry").click()
        expect(page.get_by_role("status")).to_contain_text("is sealed")
        sound(page)
    with served.visit(chromium, "ben") as page:
        page.goto(f"{served.data}/people")
        expect(page.get_by_role("alert")).to_contain_text("not for your role")
        sound(page)
    with served.visit(chromium, "auditor") as page:
        page.goto(f"{served.data}/ask")
        expect(page.get_by_role("alert")).to_contain_text("not for your role")


def test_a_page_of_somebody_else_can_neither_frame_nor_send_anything(served: Served, chromium: Browser):
    with served.visit(chromium, "analyst") as page:
        before = spent(page, served)
        other = page.context.new_page()
        fields = {"do": "ask", "sql": COUNT, "epsilon": "9", "key": f"console-{'0' * 32}-9", "cost": '["9"]'}
        inputs = "".join(f"<input name={name} value='{value}'>" for name, value in fields.items())
        other.set_content(f'<form method=post action="{served.data}/ask">{inputs}<button>x</button></form>')
        other.get_by_role("button").click()
        other.wait_for_load_state()
        assert "Answer" not in other.inner_text("body")
        other.set_content(f'<iframe src="{served.data}/ask"></iframe>')
        other.wait_for_timeout(300)
        assert other.frames[-1].locator("#sql").count() == 0
        other.close()
        assert spent(page, served) == before
