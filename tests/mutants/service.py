"""Faults in the wall: identity, roles, time, problems, and what the analyst's side believes."""

from tests.mutants.fault import Fault

PEOPLE = "tests/service/test_people.py"
PARTS = "tests/service/test_parts.py"
GATE = "tests/service/test_gate.py"

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
        "self._levels[name] = (level - 1 if admitted else level, at)",
        "self._levels[name] = (level, at)",
        (f"{PARTS}::test_nobody_asks_more_often_than_their_rate_and_nobody_pays_for_others",),
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
)
