"""Faults in the wall: identity, roles, time, problems, and what the analyst's side believes."""

from tests.mutants.fault import Fault

PEOPLE = "tests/service/test_people.py"
PARTS = "tests/service/test_parts.py"
GATE = "tests/service/test_gate.py"
WIRE = "tests/service/test_wire_parts.py"
DOOR = "tests/service/test_wire_hostile.py"
CLIENTS = "tests/service/test_wire_clients.py"
TAMPERED = "tests/service/test_wire_fuzz.py"
ATTACKED = "tests/service/test_wire_attacked.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "service/people.py",
        "if row is None or not same:",
        "if row is None:",
        (f"{PEOPLE}::test_a_token_is_its_holders_and_nothing_near_it_is",),
        "any secret goes with a known number",
    ),
    Fault(
        "service/people.py",
        '"revoked" if self.revoked else "expired"',
        '"expired"',
        (f"{PEOPLE}::test_rotating_and_revoking_end_the_old_token",),
        "a revoked token goes on",
    ),
    Fault(
        "service/people.py",
        "if at >= self.expires",
        "if at > self.expires",
        (f"{PEOPLE}::test_a_token_ends_at_its_hour_and_not_before",),
        "a token lives on at its last moment",
    ),
    Fault(
        "service/people.py",
        'return f"dsc_{number}_{secret}", number, _hash(secret)',
        'return f"dsc_{number}_{secret}", number, bytes.fromhex(secret)',
        (f"{PEOPLE}::test_a_token_has_256_secret_bits_and_is_kept_only_as_a_hash",),
        "the secret itself is kept",
    ),
    Fault(
        "service/role.py",
        "Role.AUDITOR: _READING | {Verb.METRICS, Verb.VERIFY},",
        "Role.AUDITOR: _READING | ASKING | {Verb.METRICS, Verb.VERIFY},",
        (f"{PEOPLE}::test_roles_are_what_they_say",),
        "auditors spend",
    ),
    Fault(
        "service/pace.py",
        "max(math.ceil(elapsed / slot), 1) * slot - elapsed",
        "max(math.floor(elapsed / slot), 1) * slot - elapsed",
        (f"{PARTS}::test_an_answer_leaves_at_a_multiple_of_its_slot_and_never_early",),
        "what misses its slot leaves at once",
    ),
    Fault(
        "service/pace.py",
        "self._levels[name] = (level - count if admitted else level, at)",
        "self._levels[name] = (level, at)",
        (
            f"{PARTS}::test_nobody_asks_more_often_than_their_rate_and_nobody_pays_for_others",
            f"{PARTS}::test_whoever_waits_as_long_as_they_are_told_is_admitted",
        ),
        "nothing is ever counted against a rate",
    ),
    Fault(
        "service/problem.py",
        'return Problem("ledger", "it cannot be reached or trusted")',
        'return Problem("ledger", str(error))',
        (f"{PARTS}::test_what_is_secret_or_after_data_was_touched_is_told_in_one_way",),
        "paths of the machine are told",
    ),
    Fault(
        "service/settings.py",
        "not self.plain_text and not loopback(self.host)",
        "not self.plain_text and not self.host",
        (f"{PARTS}::test_nothing_is_served_readable_beyond_this_machine_unless_said",),
        "tokens cross the network readable",
    ),
    Fault(
        "service/line.py",
        "AGAIN = frozenset({429, 503})",
        "AGAIN = frozenset({429, 500, 503})",
        (f"{PARTS}::test_a_failure_after_payment_is_not_repeated_by_itself",),
        "a client repeats by itself what broke after it was paid",
    ),
    Fault(
        "cli/analyst.py",
        "if register.knows(person_name(name)):",
        "if False:",
        (f"{PEOPLE}::test_a_command_that_is_refused_changes_no_limit",),
        "a refused command raises somebody's limit",
    ),
    Fault(
        "service/api.py",
        "if verb in SLOTTED:",
        "if verb is Verb.QUERY:",
        (f"{GATE}::test_whatever_comes_of_a_question_leaves_at_the_end_of_a_slot",),
        "a batch leaves when it is ready",
    ),
    Fault(
        "service/gate.py",
        "if len(body) > limit:",
        'if len(body) > limit and not message.get("more_body", False):',
        (f"{GATE}::test_a_body_is_read_up_to_its_limit_in_whatever_pieces_it_comes",),
        "a body without an end is read for ever",
    ),
    Fault(
        "service/gate.py",
        "if wait > 0:",
        "if wait < 0:",
        (f"{GATE}::test_whoever_asks_too_often_is_told_when_to_come_again",),
        "nobody is sent away for asking too often",
    ),
    Fault(
        "service/wire/scram.py",
        'case "SCRAM-SHA-256", "y" if end_point is None:',
        'case "SCRAM-SHA-256", "y":',
        (f"{WIRE}::test_a_proof_is_bound_to_the_certificate_where_both_sides_can",),
        "somebody in between talks the binding away",
    ),
    Fault(
        "service/wire/scram.py",
        'same = fields.get("r") == self.nonce and',
        "same =",
        (f"{WIRE}::test_whoever_has_the_token_proves_it_and_nobody_else_does",),
        "the nonce of another exchange will do",
    ),
    Fault(
        "service/wire/login.py",
        "if entrance.encrypted and not secure:",
        "if False:",
        (f"{DOOR}::test_nothing_is_said_without_tls",),
        "TLS is offered and not demanded",
    ),
    Fault(
        "service/wire/door.py",
        "if self._buffer or self._tls is None:",
        "if self._tls is None:",
        (f"{DOOR}::test_what_was_said_in_the_open_before_tls_is_nobodys_word",),
        "bytes that came in the open are taken for what was said in TLS",
    ),
    Fault(
        "service/wire/door.py",
        "held.secret == wanted.secret and",
        "True and",
        (f"{DOOR}::test_a_cancelled_question_is_given_up_and_only_by_who_holds_the_key",),
        "anybody cancels anybody's question",
    ),
    Fault(
        "service/wire/door.py",
        "if len(self._strangers) > self.settings.strangers:",
        "if len(self._strangers) > 10**9:",
        (f"{DOOR}::test_whoever_only_stands_at_the_door_is_sent_away_when_others_come",),
        "strangers fill the place before the door",
    ),
    Fault(
        "service/wire/asking.py",
        "if not may(person.role, verb):",
        "if False:",
        (f"{DOOR}::test_each_role_does_what_it_may",),
        "the door relies on the worker alone",
        (f"{DOOR}::test_a_connection_ends_when_its_token_does",),
    ),
    Fault(
        "service/people.py",
        "if row is None or not number or row[2] != number:",
        "if row is None or not number:",
        (f"{WIRE}::test_a_register_tells_nobody_from_somebody_and_forgets_what_is_revoked",),
        "a connection outlives the token it was opened with",
    ),
    Fault(
        "service/wire/login.py",
        "if not 4 <= size <= limit + 4:",
        "if not 4 <= size:",
        (f"{DOOR}::test_long_messages_are_not_waited_for_before_somebody_is_known",),
        "strangers may send messages of any size",
    ),
    Fault(
        "service/wire/conversation.py",
        "return await self.ask(self.guest, Verb.DESCRIBE, body)",
        "return {**await self.ask(self.guest, Verb.QUERY, body), 'parameters': []}",
        (f"{DOOR}::test_a_question_is_asked_once_at_its_first_execute_and_never_before",),
        "describing a question asks it",
    ),
    Fault(
        "service/wire/conversation.py",
        'kept = what == "commit" and before == "T"',
        "kept = True",
        (f"{CLIENTS}::test_transactions_are_kept_track_of_and_give_nothing_back",),
        "a price set in a transaction that was given up stays",
    ),
    Fault(
        "service/wire/types.py",
        "return Decimal((int(sign != 0), whole or (0,), 4 * (weight - count + 1)))",
        "return Decimal((0, whole or (0,), 4 * (weight - count + 1)))",
        (f"{WIRE}::test_a_parameter_is_read_as_a_client_wrote_it_in_both_formats",),
        "a parameter loses its sign",
    ),
    Fault(
        "service/wire/statement.py",
        'if "ANALYZE" in options or "ANALYSE" in options:',
        'if "ANALYSE" in options:',
        (f"{WIRE}::test_what_would_do_more_than_ask_is_refused",),
        "EXPLAIN ANALYZE looks like an answer",
    ),
    Fault(
        "service/wire/frame.py",
        "if size < 0 or self.place > len(self.body):",
        "if size < 0:",
        (f"{WIRE}::test_messages_are_read_as_clients_write_them",),
        "a message that is cut short is taken for a whole one",
    ),
    Fault(
        "service/pace.py",
        "            given_up = True",
        "            raise",
        (
            f"{ATTACKED}::test_whoever_gives_up_is_told_at_the_end_of_the_slot_whether_or_not_there_was_an_answer",
        ),
        "by giving up at a chosen moment one learns whether there was an answer by then",
    ),
    Fault(
        "service/wire/door.py",
        "            self._outside(link)\n            link.close()",
        "            link.close()",
        (f"{ATTACKED}::test_guests_who_never_say_goodbye_are_strangers_again",),
        "sockets of those who were told goodbye heap up",
    ),
    Fault(
        "service/people.py",
        "row = _GHOST if found is None else found",
        "row = found\n            if row is None:\n                return Doorway(salt)",
        (f"{ATTACKED}::test_a_name_is_looked_up_in_the_same_steps_whether_or_not_anybody_has_it",),
        "how long it takes tells whether a name is known",
    ),
    Fault(
        "service/wire/reckon.py",
        "return within(evaluate(self, node, row))",
        "return evaluate(self, node, row)",
        (f"{ATTACKED}::test_nothing_about_the_catalogue_grows_without_end",),
        "a text about the catalogue doubles at every step",
    ),
    Fault(
        "service/wire/types.py",
        "    return told[said]",
        '    return told.get(said, "false")',
        (f"{ATTACKED}::test_a_word_that_is_no_truth_value_is_refused_and_not_taken_for_false",),
        "a word that means nothing is paid for as false",
    ),
)
