"""The curator's story: budgets, people and tokens, limits with reasons, and a ledger that can be checked."""

import html
import re
from fractions import Fraction
from pathlib import Path

import pytest
from tests.console.world import BY_WARD, COUNT, Console, Shown, console

import discreet as dp
from discreet.service.role import Role

ONE = "/console/data/clinic"
PEOPLE, LEDGER = f"{ONE}/people", f"{ONE}/ledger"


@pytest.fixture
def own(tmp_path: Path):
    with console(tmp_path) as opened:
        yield opened


def decide(browser, **fields: str) -> Shown:
    seal = browser.get(PEOPLE).form(do="add")["seal"]
    return browser.post(PEOPLE, {"seal": seal, **fields})


def token_on(page: Shown) -> str | None:
    found = re.search(r"dsc_[0-9a-f]{16}_[0-9a-f]{64}", page.text)
    return found[0] if found else None


def test_somebody_is_entered_limited_from_the_first_moment_and_shown_their_token_once(own: Console):
    curator = own.browser("curator")
    form = curator.get(PEOPLE).form(do="add")
    led = curator.submit(form, name="ben", role="analyst", epsilon="0.5", reason="a study of <i>waiting</i>")
    assert (led.status, led.where) == (303, PEOPLE)
    page = curator.get(PEOPLE)
    token = token_on(page)
    assert token
    assert token_on(curator.get(PEOPLE)) is None
    ben = own.browser()
    assert ben.sign_in(token).status == 303
    assert ben.ask(COUNT, epsilon="0.4").status == 303
    refused = ben.submit(ben.quote(BY_WARD, epsilon="0.2").form(do="ask"))
    assert refused.status == 402
    assert "analyst ben" in curator.get(f"{ONE}/budget").text
    told = curator.get(LEDGER).text
    assert "a study of &lt;i&gt;waiting&lt;/i&gt; (curator, in the console)" in told


def test_a_limit_is_raised_with_a_reason_and_not_without(own: Console):
    curator, analyst = own.browser("curator"), own.browser("analyst")
    assert decide(curator, do="limit", name="analyst", epsilon="0.1", reason="small").status == 303
    assert analyst.submit(analyst.quote(COUNT, epsilon="0.2").form(do="ask")).status == 402
    entries = own.entries
    for odd in (
        {"epsilon": "1", "reason": " "},
        {"epsilon": "", "reason": "x"},
        {"epsilon": "-1", "reason": "x"},
    ):
        assert decide(curator, do="limit", name="analyst", **odd).status == 422
    assert decide(curator, do="limit", name="nobody", epsilon="1", reason="x").status == 404
    assert decide(curator, do="limit", name="stranger", epsilon="1", reason="x").status == 404
    assert own.entries == entries
    assert decide(curator, do="limit", name="analyst", epsilon="0.3", reason="more is needed").status == 303
    assert analyst.ask(COUNT, epsilon="0.2").status == 303


def test_questions_and_days_are_limited_for_one_and_for_everybody(own: Console):
    curator, analyst = own.browser("curator"), own.browser("analyst")
    assert decide(curator, do="limit", name="analyst", per_question="0.2", reason="slowly").status == 303
    assert "One question may cost at most epsilon 0.2" in curator.get(PEOPLE).text
    quoted = analyst.quote(COUNT, epsilon="0.3")
    assert "A limit on questions or on today does not admit it." in quoted.text
    refused = analyst.submit(quoted.form(do="ask"))
    assert refused.status == 402
    assert "limit per question on analyst analyst" in refused.text
    page = curator.get(f"{ONE}/budget")
    slow = page.form(**{"": f"{ONE}/pace"})
    assert curator.submit(slow, reason="nothing said").status == 422
    assert curator.submit(slow, per_day="x", reason="odd").status == 422
    led = curator.submit(slow, per_day="0.25", reason="for everybody")
    assert (led.status, led.where) == (303, f"{ONE}/budget")
    assert "Everybody together, today" in curator.get(f"{ONE}/budget").text
    assert analyst.ask(COUNT, epsilon="0.2").status == 303
    assert "suffices for about 5." in analyst.quote(COUNT, epsilon="0.01").text
    second = own.browser("second")
    assert second.submit(second.quote(COUNT, epsilon="0.06").form(do="ask")).status == 402
    assert "Everybody together: per question no limit, per day epsilon 0.25" in curator.get(LEDGER).text
    assert "analyst analyst, one question" not in second.get(f"{ONE}/budget").text
    seal = second.get("/console/").forms()[0]["seal"]
    assert second.submit({**slow, "seal": seal, "per_day": "9", "reason": "me"}).status == 403
    decide(curator, do="limit", name="analyst", per_question="none", reason="trusted now")
    assert "may cost at most" not in curator.get(PEOPLE).text


def test_a_project_has_a_limit_that_binds_whoever_works_for_it_and_nobody_else(own: Console):
    curator, analyst, second = (own.browser(who) for who in ("curator", "analyst", "second"))
    form = curator.get(f"{ONE}/budget").form(project="")
    act = {"project": " Waiting  Times", "epsilon": "0.3", "reason": "a study of <i>queues</i>"}
    entries = own.entries
    for odd in ({"project": " "}, {"epsilon": ""}, {"reason": ""}, {"epsilon": "x"}, {"project": "wаiting"}):
        assert curator.submit({**form, **act, **odd}).status == 422
    for browser in (analyst, own.browser("auditor")):
        seal = browser.get("/console/").forms()[0]["seal"]
        assert browser.submit({**form, **act, "seal": seal}).status == 403
    assert decide(curator, do="assign", name="analyst", project="waiting times").status == 422
    assert own.entries == entries
    assert curator.submit({**form, **act}).where == f"{ONE}/budget"
    page = curator.get(f"{ONE}/budget").text
    assert "The limits of project waiting times are set." in page
    assert "a study of &lt;i&gt;queues&lt;/i&gt; (curator, in the console)" in curator.get(LEDGER).text
    for odd, status in (({"project": "else"}, 422), ({"name": "stranger"}, 404), ({"name": "nobody"}, 404)):
        fields = {"do": "assign", "name": "analyst", "project": "waiting times", **odd}
        assert decide(curator, **fields).status == status
    assert decide(curator, do="assign", name="analyst", project="waiting times").status == 303
    assert "counts for: project waiting times." in curator.get(PEOPLE).text
    assert analyst.ask(COUNT, epsilon="0.25").status == 303
    refused = analyst.submit(analyst.quote(BY_WARD, epsilon="0.1").form(do="ask"))
    assert refused.status == 402
    assert "project waiting times" in refused.text
    assert second.ask(BY_WARD, epsilon="0.1").status == 303
    assert "waiting" not in second.get(f"{ONE}/budget").text
    assert "project waiting times" in analyst.get(f"{ONE}/budget").text
    told = curator.get(f"{ONE}/budget").text
    assert "project waiting times: 83 % of the limit is used." in told
    assert "<td>waiting times</td><td>epsilon 0.25</td>" in told


def test_somebody_is_entered_for_a_project_and_leaves_it_with_what_was_spent_staying_there(own: Console):
    curator = own.browser("curator")
    form = curator.get(f"{ONE}/budget").form(project="")
    assert curator.submit({**form, "project": "waiting", "per_day": "0.2", "reason": "slowly"}).status == 303
    form = curator.get(PEOPLE).form(do="add", project="project")
    curator.submit(form, name="ben", role="analyst", project="waiting", reason="new")
    ben = own.browser()
    assert ben.sign_in(str(token_on(curator.get(PEOPLE)))).status == 303
    assert ben.ask(COUNT, epsilon="0.2").status == 303
    wanted = ben.quote(BY_WARD, epsilon="0.2").form(do="ask")
    assert ben.submit(wanted).status == 402
    assert decide(curator, do="assign", name="ben", project="project").status == 303
    assert ben.submit(wanted).status == 303
    spent = {member[:2]: member[2].epsilon for member in own.pool.sessions["clinic"].budget.members}
    assert spent == {("waiting", "ben"): Fraction(1, 5), ("project", "ben"): Fraction(1, 5)}


def test_pages_of_a_dataset_with_delta_show_what_was_paid(tmp_path: Path):
    with console(tmp_path, delta="1e-6") as opened:
        analyst, curator = opened.browser("analyst"), opened.browser("curator")
        for epsilon in ("0.5", "0.25"):
            assert analyst.ask(COUNT, epsilon=epsilon).status == 303
        for page in (f"{ONE}/", f"{ONE}/ask", f"{ONE}/answers", f"{ONE}/budget"):
            assert analyst.get(page).status == 200
        for page in (f"{ONE}/budget", PEOPLE, LEDGER):
            assert curator.get(page).status == 200


def test_a_token_is_rotated_or_revoked_and_its_visits_end_at_once(own: Console):
    curator, analyst = own.browser("curator"), own.browser("analyst")
    assert decide(curator, do="rotate", name="analyst").status == 303
    assert analyst.get("/console/").status == 303
    token = token_on(curator.get(PEOPLE))
    analyst = own.browser()
    assert analyst.sign_in(str(token)).status == 303
    assert decide(curator, do="revoke", name="analyst").status == 303
    assert "worth nothing from now on" in curator.get(PEOPLE).text
    assert analyst.get("/console/").status == 303


def test_nobody_becomes_somebody_else_through_the_console(own: Console):
    own.people.add("dora", Role.CURATOR, "clinic")
    own.people.add("wide", Role.ANALYST, "clinic")
    own.people.allow("wide", "other")
    curator = own.browser("curator")
    for name in ("dora", "curator", "wide"):
        for act in ("rotate", "revoke"):
            assert decide(curator, do=act, name=name).status == 403
            assert token_on(curator.get(PEOPLE)) is None
    assert decide(curator, do="rotate", name="stranger").status == 404
    made = decide(curator, do="add", name="eve", role="curator", days="9", reason="x", epsilon="1")
    assert made.status == 422
    taken = decide(curator, do="add", name="stranger", role="analyst", days="9", reason="x", epsilon="1")
    assert taken.status == 409
    assert "the name stranger cannot be entered" in taken.text
    assert not own.people.knows("eve")
    page = curator.get(PEOPLE).text
    assert "stranger" not in page


@pytest.mark.parametrize(
    "odd",
    [
        {"name": "<b>"},
        {"name": ""},
        {"days": "0"},
        {"days": "x"},
        {"days": "9999999"},
        {"do": "else"},
        {"reason": ""},
    ],
)
def test_what_is_not_understood_enters_nobody(site: Console, odd: dict[str, str]):
    before = [person.name for person in site.people.all()]
    fields = {"do": "add", "name": "new", "role": "analyst", "days": "9", "reason": "x", "epsilon": ""}
    assert decide(site.browser("curator"), **(fields | odd)).status in (400, 422)
    assert [person.name for person in site.people.all()] == before


def test_the_ledger_is_a_timeline_that_can_be_searched_and_checked(own: Console):
    analyst, auditor = own.browser("analyst"), own.browser("auditor")
    analyst.ask(BY_WARD, epsilon="0.5")
    analyst.ask(COUNT, epsilon="0.25")
    page = auditor.get(LEDGER)
    assert page.text.count("<td>paid</td>") == 2
    assert page.text.count("<td>answered</td>") == 2
    found = auditor.get(f"{LEDGER}?q=group+by&kind=reserved").text
    assert found.count("<td>paid</td>") == 1
    assert "<td>answered</td>" not in found
    assert "Nothing was found." in auditor.get(f"{LEDGER}?q=nowhere").text
    checked = auditor.submit(auditor.get(LEDGER).form(do="verify"))
    assert "Every one of 5 entries is sealed" in checked.text


def test_a_ledger_that_was_edited_is_called_broken(own: Console, monkeypatch):
    from discreet.ledger.check import Finding, Report

    session = own.pool.sessions["clinic"]
    broken = Report("x", (Finding("clinic", 1, 1, "entry 1 was edited"),), None)
    monkeypatch.setattr(type(session.ledger), "verify", lambda _: broken)
    curator = own.browser("curator")
    page = curator.submit(curator.get(LEDGER).form(do="verify"))
    assert "The ledger does not hold" in page.text
    assert "sealed, linked" not in page.text


def test_budgets_of_everybody_are_for_curators_and_auditors_and_an_analyst_sees_their_own(own: Console):
    curator = own.browser("curator")
    for name, epsilon in (("analyst", "1"), ("second", "2")):
        decide(curator, do="limit", name=name, epsilon=epsilon, reason="shares")
    own.browser("second").ask(COUNT, epsilon="1.9")
    for who in ("curator", "auditor"):
        page = own.browser(who).get(f"{ONE}/budget").text
        assert "analyst second" in page
        assert "Most of this limit is used." in page
    page = own.browser("analyst").get(f"{ONE}/budget").text
    assert "analyst analyst" in page
    assert "second" not in page


def test_the_cap_is_raised_with_a_reason_and_the_token_and_the_data_opens_again(own: Console):
    curator = own.browser("curator")
    form = curator.get(f"{ONE}/budget").form(reason="", token="")
    act = {"epsilon": "120.5", "reason": "a second year", "token": own.tokens["curator"]}
    entries = own.entries
    for odd, status in (
        ({"token": ""}, 403),
        ({"token": own.tokens["analyst"]}, 403),
        ({"reason": ""}, 422),
        ({"epsilon": "100"}, 422),
        ({"epsilon": "x"}, 422),
        ({"known": '["pure", "7"]'}, 409),
        ({"known": "x"}, 409),
    ):
        assert curator.submit({**form, **act, **odd}).status == status
    assert own.entries == entries
    analyst = own.browser("analyst")
    seal = analyst.get("/console/").forms()[0]["seal"]
    assert analyst.submit({**form, **act, "seal": seal}).status == 403
    manifest = (own.folder / "clinic.toml").read_text()
    assert curator.submit({**form, **act}).status == 303
    page = curator.get(f"{ONE}/budget").text
    assert "The cap is raised" in page
    assert "of epsilon 120.50" in page
    assert "a second year (curator, in the console)" in curator.get(LEDGER).text
    changed = (own.folder / "clinic.toml").read_text()
    assert changed == manifest.replace("epsilon = 100", 'epsilon = "241/2"')
    own.pool.sessions["clinic"].close()
    with dp.open(own.folder / "clinic.toml") as opened:
        assert opened.budget.limits[0].budget.epsilon == Fraction(241, 2)
        own.pool.sessions = {**own.pool.sessions, "clinic": opened}
        assert curator.submit({**form, **act, "epsilon": "130"}).status == 409


def test_a_cap_that_the_manifest_cannot_hold_is_not_raised(own: Console):
    manifest = own.folder / "clinic.toml"
    text = manifest.read_text().replace("[budget]\nepsilon = 100\n", "")
    manifest.write_text("budget = { epsilon = 100 }\n" + text)
    curator, entries = own.browser("curator"), own.entries
    form = curator.get(f"{ONE}/budget").form(reason="", token="")
    page = curator.submit({**form, "epsilon": "200", "reason": "x", "token": own.tokens["curator"]})
    assert page.status == 422
    assert "section [budget] of its" in page.text
    assert own.entries == entries


def test_a_receipt_is_checked_and_that_of_the_newest_entry_is_kept(site: Console):
    analyst, auditor = site.browser("analyst"), site.browser("auditor")
    answer = analyst.get(analyst.ask(COUNT, epsilon="0.19").where)
    receipt = html.unescape(re.search(r'<code class="long">([^<]+)</code>', answer.text)[1])
    form = auditor.get(LEDGER).form(do="receipt")
    good = auditor.submit(form, receipt=receipt)
    assert re.search(r"The receipt is good: it proves entry \d+, answered", good.text)
    for odd in (receipt[:-3], receipt.replace("clinic", "other"), "<b>x</b>", "", "x" * 2000):
        page = auditor.submit(form, receipt=odd)
        assert page.status == 200
        assert "does not hold what the receipt says" in page.text
        assert "<b>x</b>" not in page.text
    head = auditor.submit(auditor.get(LEDGER).form(do="head"))
    newest = html.unescape(re.search(r'<code class="long">([^<]+)</code>', head.text)[1])
    assert "The receipt is good" in auditor.submit(form, receipt=newest).text
    seal = analyst.get("/console/").forms()[0]["seal"]
    for do in ("receipt", "head", "verify"):
        assert analyst.post(LEDGER, {"seal": seal, "do": do, "receipt": receipt}).status == 403
