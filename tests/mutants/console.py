"""Faults in the console: visits, forms, prices, roles, and what a page lets through."""

from tests.mutants.fault import Fault

VISITS = "tests/console/test_visits.py"
ASKING = "tests/console/test_asking.py"
CURATING = "tests/console/test_curating.py"
WIZARD = "tests/console/test_wizard.py"
STREAMS = "tests/console/test_streams.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "console/visit.py",
        '        wanted = self.seal(identity or "")\n',
        "        wanted = given\n",
        (f"{VISITS}::test_a_forged_form_does_nothing",),
        "any form of a visit is believed",
    ),
    Fault(
        "console/visit.py",
        "if person is None or at - known.begun > LONGEST or at - known.seen > IDLE:",
        "if person is None or at - known.begun > LONGEST:",
        (f"{VISITS}::test_a_visit_ends_with_its_token_and_with_time",),
        "a visit that was left alone goes on",
    ),
    Fault(
        "console/visit.py",
        "        identity = fresh()\n",
        '        identity = "0" * 64\n',
        (f"{VISITS}::test_the_oldest_visits_are_forgotten_first",),
        "everybody has the same cookie",
    ),
    Fault(
        "console/visit.py",
        "HttpOnly; SameSite=Strict",
        "HttpOnly; SameSite=Lax",
        (f"{VISITS}::test_the_cookie_is_strict_and_the_token_is_nowhere",),
        "other sites send the cookie along",
    ),
    Fault(
        "console/door.py",
        "script-src 'self'; style-src",
        "script-src 'self' 'unsafe-inline'; style-src",
        (f"{VISITS}::test_every_response_has_the_same_guarding_headers",),
        "scripts in a page run",
    ),
    Fault(
        "console/room.py",
        "        if not may(visit.person.role, verb):\n            raise refusal(problem.FORBIDDEN)\n",
        "",
        (f"{VISITS}::test_every_page_is_for_the_roles_it_is_for_and_no_others",),
        "pages are for everybody",
    ),
    Fault(
        "console/page.py",
        "autoescape=True",
        "autoescape=False",
        (f"{VISITS}::test_no_page_has_a_script_style_or_handler_of_its_own_or_anything_from_elsewhere",),
        "names are markup",
    ),
    Fault(
        "console/analyst.py",
        'if json.dumps(priced["cost"]) != given.get("cost"):',
        "if False:",
        (f"{ASKING}::test_nobody_pays_another_price_than_was_confirmed",),
        "another price than the confirmed one is paid",
    ),
    Fault(
        "console/analyst.py",
        "sent, kind=JSON, key=key)",
        "sent, kind=JSON)",
        (f"{ASKING}::test_a_key_that_stands_for_another_question_is_refused",),
        "the key of a form is not sent on",
    ),
    Fault(
        "console/analyst.py",
        'if asked is not None and asked["analyst"] == visit.person.name and asked["text"]:',
        'if asked is not None and asked["text"]:',
        (f"{ASKING}::test_an_answer_is_for_whoever_asked_and_for_nobody_else",),
        "a curator reads what others paid for",
    ),
    Fault(
        "service/curating.py",
        'return None if person.datasets <= curator.datasets else "elsewhere"',
        "return None",
        (f"{CURATING}::test_nobody_becomes_somebody_else_through_the_console",),
        "a curator takes a token that opens datasets of others",
    ),
    Fault(
        "service/curating.py",
        "    if person.role is Role.CURATOR:",
        "    if False:",
        (f"{CURATING}::test_nobody_becomes_somebody_else_through_the_console",),
        "a curator becomes another curator",
    ),
    Fault(
        "console/curator.py",
        "if holder is None or holder.name != visit.person.name:",
        "if False:",
        (f"{CURATING}::test_the_cap_is_raised_with_a_reason_and_the_token_and_the_data_opens_again",),
        "an open visit is enough to raise the cap",
    ),
    Fault(
        "service/deciding.py",
        "    declare()\n",
        "",
        (f"{CURATING}::test_the_cap_is_raised_with_a_reason_and_the_token_and_the_data_opens_again",),
        "the ledger has another cap than the manifest",
    ),
    Fault(
        "console/sign.py",
        'if _OURS.fullmatch(wanted) and "//" not in wanted else',
        "if wanted else",
        (f"{VISITS}::test_nobody_is_led_to_another_site",),
        "signing in leads anywhere",
    ),
    Fault(
        "release/session.py",
        "stored = self.ledger.find(self._request(question, priced, None))",
        "stored, _ = self._find(priced, self._request(question, priced, None))",
        (f"{ASKING}::test_showing_again_what_was_never_asked_pays_nothing",),
        "looking for an answer pays for one",
    ),
    Fault(
        "console/surveyor.py",
        "if not file.is_relative_to(folder) or not file.is_file()",
        "if not file.is_file()",
        (f"{WIZARD}::test_nothing_outside_of_the_allowed_places_is_opened",),
        "the wizard opens any file",
    ),
    Fault(
        "console/surveyor.py",
        'and "header" not in settings and not all(map(_HEADING.fullmatch, names)):',
        'and "header" not in settings and not names:',
        (f"{WIZARD}::test_a_file_without_a_header_shows_nobody",),
        "somebody's row stands there as names of columns",
    ),
    Fault(
        "console/surveyor.py",
        'target.open("x", encoding="utf-8")',
        'target.open("w", encoding="utf-8")',
        (f"{WIZARD}::test_decisions_become_a_new_manifest_that_opens_and_errs_as_it_was_shown",),
        "a draft overwrites a manifest",
    ),
    Fault(
        "console/surveyor.py",
        "    if not _NAME.fullmatch(name):\n",
        "    if not name:\n",
        (f"{WIZARD}::test_what_cannot_be_declared_is_refused_in_words_and_saved_nowhere",),
        "a draft is saved wherever its name leads",
    ),
    Fault(
        "console/wizard.py",
        "    if not may(visit.person.role, Verb.DRAFT):\n        raise refusal(problem.FORBIDDEN)\n",
        "",
        (f"{WIZARD}::test_the_wizard_is_for_curators_and_its_forms_cannot_be_forged",),
        "everybody drafts manifests",
    ),
    Fault(
        "console/decisions.py",
        "SHARE * catalog.budget.epsilon)",
        "catalog.budget.epsilon)",
        (f"{WIZARD}::test_decisions_become_a_new_manifest_that_opens_and_errs_as_it_was_shown",),
        "errors are shown that nobody would be quoted",
    ),
    Fault(
        "engines/duckdb/schema.py",
        '            engine.connection.execute("SET enable_external_access = false")\n',
        "            pass\n",
        (f"{WIZARD}::test_a_view_in_a_file_of_tables_leads_to_no_other_file",),
        "a view shows the first line of another file",
    ),
    Fault(
        "query/catalog/written.py",
        """.replace('"', '\\\\"')""",
        "",
        (f"{WIZARD}::test_a_manifest_reads_back_as_what_was_written",),
        "a name writes sections of its own into a manifest",
    ),
    Fault(
        "ledger/streaming.py",
        "case Reserved(request) if request.analyst == analyst:",
        "case Reserved(request):",
        (f"{STREAMS}::test_a_stream_belongs_to_who_began_it",),
        "everybody's streams are listed",
    ),
    Fault(
        "console/streams.py",
        '"first": int(first), "increments"',
        '"first": 1, "increments"',
        (f"{STREAMS}::test_a_stream_is_quoted_free_begun_once_and_grows_step_by_step",),
        "every step is the first",
    ),
)
