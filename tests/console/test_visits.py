"""Who comes in: tokens, cookies, forms that cannot be forged, roles, and what every response carries."""

import re
from pathlib import Path

import pytest
from tests.console.world import COUNT, Browser, Console, console

from discreet.console import visit
from discreet.console.sign import onward
from discreet.console.visit import IDLE, LONGEST, OWN, Cookie, Visits
from discreet.service.people import People
from discreet.service.role import Role

ONE = "/console/data/clinic"
PAGES = {
    "/console/": ("analyst", "auditor", "curator"),
    f"{ONE}/": ("analyst", "auditor", "curator"),
    f"{ONE}/budget": ("analyst", "auditor", "curator"),
    f"{ONE}/ask": ("analyst", "curator"),
    f"{ONE}/answers": ("analyst", "curator"),
    f"{ONE}/batch": ("analyst", "curator"),
    f"{ONE}/streams": ("analyst", "curator"),
    "/console/wizard": ("curator",),
    f"{ONE}/people": ("curator",),
    f"{ONE}/ledger": ("auditor", "curator"),
}


def test_whoever_has_not_signed_in_is_led_to_where_one_does_and_back(site: Console):
    browser = site.browser()
    led = browser.get(f"{ONE}/budget")
    assert (led.status, led.where) == (303, "/console/sign-in?next=%2Fconsole%2Fdata%2Fclinic%2Fbudget")
    page = browser.get(led.where)
    back = browser.submit(page.form(token=""), token=site.tokens["analyst"])
    assert (back.status, back.where) == (303, f"{ONE}/budget")
    assert browser.get(back.where).status == 200


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_for_the_roles_it_is_for_and_no_others(site: Console, path: str):
    for role in ("analyst", "auditor", "curator"):
        page = site.browser(role).get(path)
        assert page.status == (200 if role in PAGES[path] else 403)
        if page.status == 403:
            assert "not for your role" in page.text


@pytest.mark.parametrize("path", [path for path in PAGES if "clinic" in path])
def test_what_is_not_yours_and_what_does_not_exist_look_the_same(site: Console, path: str):
    if "analyst" not in PAGES[path]:
        return
    stranger, own = site.browser("stranger"), site.browser("analyst")
    missing = stranger.get(path.replace("clinic", "nowhere"))
    assert (
        stranger.get(path).status
        == missing.status
        == own.get(path.replace("clinic", "nowhere")).status
        == 404
    )
    seal = re.compile(r'value="[0-9a-f]{64}"')
    assert seal.sub("", stranger.get(path).text) == seal.sub("", missing.text)


def test_forms_of_other_roles_are_refused_also_when_they_are_sent(site: Console):
    entries = site.entries
    analyst, auditor = site.browser("analyst"), site.browser("auditor")
    seal = analyst.get("/console/").forms()[0]["seal"]
    act = {"seal": seal, "do": "limit", "name": "analyst", "epsilon": "99", "reason": "mine"}
    assert analyst.post(f"{ONE}/people", act).status == 403
    assert analyst.post(f"{ONE}/ledger", {"seal": seal}).status == 403
    seal = auditor.get("/console/").forms()[0]["seal"]
    assert auditor.post(f"{ONE}/ask", {"seal": seal, "do": "ask", "sql": COUNT, "epsilon": "1"}).status == 403
    assert auditor.post(f"{ONE}/quote", {"seal": seal, "sql": COUNT, "epsilon": "1"}).status == 403
    assert auditor.post(f"{ONE}/people", {"seal": seal, "do": "revoke", "name": "analyst"}).status == 403
    assert site.entries == entries


def test_a_wrong_token_signs_nobody_in_and_is_not_repeated(site: Console):
    good = site.tokens["analyst"]
    wrong = good[:-1] + ("0" if good[-1] != "0" else "1")
    for token in (wrong, "", "nonsense", SCRIPTED):
        browser = site.browser()
        page = browser.sign_in(token)
        assert page.status == 401
        assert not token or token not in page.text
        assert browser.get("/console/").status == 303


SCRIPTED = "<script>alert(3)</script>"


def test_the_cookie_is_strict_and_the_token_is_nowhere(site: Console):
    browser = site.browser("analyst")
    assert re.fullmatch(r"discreet=[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Strict", browser.set_cookie)
    for path in PAGES:
        page = browser.get(path)
        assert site.tokens["analyst"] not in page.text + str(page.headers)
    assert Cookie(secure=True).write("0" * 64).startswith("__Host-discreet=")
    assert Cookie(secure=True).write("0" * 64).endswith("; Secure")


def test_signing_in_begins_a_new_identity_and_signing_out_ends_it(site: Console):
    browser = site.browser()
    browser.get("/console/sign-in")
    before = browser.cookie
    browser.sign_in(site.tokens["analyst"])
    after = browser.cookie
    assert before != after
    form = browser.get("/console/").form()
    assert browser.submit(form).status == 303
    stolen = Browser(site, after)
    assert stolen.get("/console/").status == 303
    assert Browser(site, before).get("/console/").status == 303


def test_a_visit_ends_with_its_token_and_with_time(tmp_path: Path):
    with console(tmp_path) as own:
        browser = own.browser("analyst")
        own.people.rotate("analyst")
        assert browser.get("/console/").status == 303
        browser = own.browser("second")
        own.people.revoke("second")
        assert browser.get("/console/").status == 303
        idle, long = own.browser("curator"), own.browser("curator")
        own.at[0] += IDLE - 1
        assert long.get("/console/").status == 200
        own.at[0] += 2
        assert idle.get("/console/").status == 303
        for _ in range(int(LONGEST // (IDLE - 1)) + 1):
            own.at[0] += IDLE - 1
            last = long.get("/console/").status
        assert last == 303


def test_the_oldest_visits_are_forgotten_first(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(visit, "MOST", 2)
    people = People(tmp_path / "people")
    token = people.add("ada", Role.ANALYST, "clinic")
    visits = Visits(people)
    first = visits.begin(token, 0.0)
    second = visits.begin(token, 0.0)
    assert visits.find(first, 0.0) is not None
    assert visits.begin(token, 0.0) is not None
    assert visits.find(first, 0.0) is None
    assert visits.find(second, 0.0) is not None


def test_one_token_has_so_many_visits_and_no_more(tmp_path: Path):
    people = People(tmp_path / "people")
    one, other = (people.add(name, Role.ANALYST, "clinic") for name in ("ada", "ben"))
    visits = Visits(people)
    kept = visits.begin(other, 0.0)
    own = [visits.begin(one, 0.0) for _ in range(OWN + 2)]
    assert [visits.find(identity, 0.0) is not None for identity in own] == [False] * 2 + [True] * OWN
    assert visits.find(kept, 0.0) is not None


def test_a_forged_form_does_nothing(site: Console):
    analyst, second = site.browser("analyst"), site.browser("second")
    pay = analyst.quote(COUNT, epsilon="0.37").form(do="ask")
    entries = site.entries
    other = second.get("/console/").forms()[0]["seal"]
    for seal in ("", "0" * 64, other, pay["seal"][:-1], "é"):
        refused = analyst.submit(pay, seal=seal)
        assert refused.status == 403
        assert "not from a page of this visit" in refused.text
    without = {name: value for name, value in pay.items() if name != "seal"}
    assert analyst.submit(without).status == 403
    assert analyst.post(pay[""], pay, sec_fetch_site="cross-site").status == 403
    assert analyst.post(pay[""], pay, sec_fetch_site="same-site").status == 403
    assert Browser(site).post(pay[""], pay).status in (303, 403)
    assert site.entries == entries
    assert analyst.post(pay[""], pay, sec_fetch_site="same-origin").status == 303
    assert site.entries == entries + 2


def test_signing_in_and_out_cannot_be_forged_either(site: Console):
    token = site.tokens["analyst"]
    assert Browser(site).post("/console/sign-in", {"token": token}).status == 403
    planted = Browser(site, "discreet=" + "0" * 64)
    assert planted.post("/console/sign-in", {"token": token, "seal": "0" * 64}).status == 403
    signed = site.browser("analyst")
    assert signed.post("/console/sign-out", {}).status == 403
    assert signed.get("/console/").status == 200


def test_two_cookies_of_one_name_are_none(site: Console):
    browser = site.browser("analyst")
    twice = Browser(site, f"{browser.cookie}; {browser.cookie}")
    assert twice.get("/console/").status == 303


@pytest.mark.parametrize(
    "path",
    ["/console/", "/console/sign-in", f"{ONE}/ask", "/console/nowhere", "/console/static/console.css", "/"],
)
def test_every_response_has_the_same_guarding_headers(site: Console, path: str):
    page = site.browser("analyst").get(path)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cross-origin-opener-policy"] == "same-origin"
    cached = "max-age=3600" if "/static/" in path else "no-store"
    assert page.headers["cache-control"] == cached


def test_no_page_has_a_script_style_or_handler_of_its_own_or_anything_from_elsewhere(site: Console):
    curator = site.browser("curator")
    where = curator.ask(COUNT, epsilon="0.21").where
    for path in (*PAGES, where, f"{ONE}/ask?table=visits"):
        page = curator.get(path)
        assert len(page.body) < 200_000
        tags = page.tags()
        assert not [tag for tag, said in tags if tag == "style" or (tag == "script" and "src" not in said)]
        assert not [name for _, said in tags for name in said if name == "style" or name.startswith("on")]
        loading = [said for tag, said in tags if tag in ("script", "link", "img")]
        loaded = [said.get("src") or said["href"] for said in loading]
        assert loaded
        assert all(name.startswith("/console/static/") for name in loaded)
        for name in loaded:
            assert curator.get(name.partition("?")[0]).status == 200


def test_the_service_behind_the_door_is_as_it_was(site: Console):
    browser = site.browser("analyst")
    assert browser.get("/v1/me").status == 401
    me = browser.get("/v1/me", authorization=f"Bearer {site.tokens['analyst']}")
    assert me.status == 200
    assert browser.get("/health").status == 200
    assert browser.get("/consolation").status == 401


@pytest.mark.parametrize(
    "wanted",
    ["//evil.example", "https://evil.example/console/", "/console//evil", "/\\evil", "javascript:x", ""],
)
def test_nobody_is_led_to_another_site(wanted: str):
    assert onward(wanted) == "/console/"


def test_only_files_of_ours_are_sent_by_their_exact_names(site: Console):
    browser = site.browser()
    for name in ("../english.toml", "..%2Fenglish.toml", "console.css/", "nothing.css", "", "%00"):
        assert browser.get(f"/console/static/{name}").status == 404


def test_odd_requests_are_answered_in_words(site: Console):
    browser = site.browser("analyst")
    assert browser.send("PUT", f"{ONE}/ask", b"", {}).status == 405
    assert browser.send("POST", f"{ONE}/ask", b"x" * 70_000, {}).status == 413
    assert browser.send("POST", f"{ONE}/ask", b"\xff\xfe=%zz", {}).status == 400
    assert browser.send("POST", f"{ONE}/ask", b"a=1&a=2", {}).status == 400
    assert browser.send("POST", f"{ONE}/ask", b"&".join(b"a%d=1" % i for i in range(99)), {}).status == 400
    assert browser.get(f"{ONE}/answers/99999").status == 404
    assert browser.get(f"{ONE}/answers/nothing").status == 404
