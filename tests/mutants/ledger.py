"""Faults in the ledger: dropped checks, wrong comparisons, reused nonces, anchors that look away."""

from tests.mutants.fault import Fault

SECRET = ("tests/ledger/test_secret.py",)
NAME = ("tests/ledger/test_name.py",)
ACCOUNT = ("tests/ledger/test_account.py", "tests/ledger/test_book.py")
BOOK = ("tests/ledger/test_book.py",)
MACHINE = (
    "tests/ledger/test_machine.py::"
    "test_any_sequence_of_acts_leaves_the_ledger_saying_what_the_model_says[some]",
)
TAMPER = (
    "tests/ledger/test_tamper.py::test_every_byte_of_every_column_of_the_last_three_entries_is_under_the_seal",
    "tests/ledger/test_tamper.py::test_an_edit_in_the_store_is_refused_on_opening",
    "tests/ledger/test_tamper.py::test_an_edit_is_noticed_by_a_ledger_that_is_already_open",
    "tests/ledger/test_tamper.py::test_running_totals_cannot_be_edited",
    "tests/ledger/test_tamper.py::test_entries_of_another_ledger_or_dataset_do_not_fit",
)
REPLAY = (
    "tests/ledger/test_tamper.py::test_verify_replays_the_rules_even_if_the_seals_are_right",
    "tests/ledger/test_tamper.py::test_an_old_edit_that_nobody_looks_at_is_found_by_verify",
    "tests/ledger/test_tamper.py::test_verify_finds_an_entry_that_seals_other_totals_than_its_history_has",
)
VERIFYING = "tests/ledger/test_verifying.py::test_"
SAME = (
    f"{VERIFYING}histories_of_every_kind_lead_to_the_same_account",
    f"{VERIFYING}every_edit_is_found_at_the_same_entry_in_the_same_words",
    f"{VERIFYING}entries_of_two_true_histories_cannot_be_spliced",
    f"{VERIFYING}whatever_broken_code_with_the_key_has_written_is_found_by_both",
    f"{VERIFYING}both_stop_a_budget_that_adds_up_renyi_costs_at_the_same_payment",
)
ORDERS = ("tests/ledger/test_orders.py",)
FOLLOWING = ("tests/ledger/test_following.py",)
POOL = ("tests/ledger/test_pool.py::test_a_connection_that_cannot_be_made_keeps_no_place",)
CHAIN = ("tests/ledger/test_chain.py", "tests/ledger/test_codec.py")
COPIES = ("tests/ledger/test_copies.py",)
ROLLBACK = (
    "tests/ledger/test_tamper.py::test_yesterdays_copy_is_refused",
    "tests/ledger/test_tamper.py::test_yesterdays_copy_is_refused_by_a_ledger_that_is_already_open",
    "tests/ledger/test_tamper.py::test_cutting_off_the_end_is_refused",
)
ANCHOR = ("tests/ledger/test_anchor.py", "tests/ledger/test_faults.py")
BACKUP = ("tests/ledger/test_backup.py",)
ROTATION = ("tests/ledger/test_rotation.py",)
SERVER = ("tests/ledger/test_server.py",)
PINNING = ("tests/ledger/test_pinning.py",)
TOGETHER = (
    "tests/ledger/test_concurrency.py::test_a_request_in_flight_is_waited_for_not_run_twice",
    "tests/ledger/test_together.py::test_waiting_for_the_same_question_is_bounded_and_free",
)
STREAMING = ("tests/ledger/test_streaming.py", *MACHINE)
PACE = ("tests/ledger/test_pace.py",)
LOCK = ("tests/ledger/test_lock.py",)
SHARING = ("tests/ledger/test_sharing.py",)
DISK = (
    "tests/ledger/test_faults.py::test_whatever_anybody_was_told_survives_a_power_cut",
    "tests/ledger/test_faults.py::test_a_log_that_fails_to_sync_lets_nothing_leave_and_ends_the_connection",
)

FAULTS = (
    Fault(
        "ledger/secret.py",
        "nonce = secrets.token_bytes(NONCE)",
        "nonce = bytes(NONCE)",
        SECRET,
        "one nonce for all states",
    ),
    Fault(
        "ledger/secret.py",
        'cipher.encrypt(nonce, state, b"%d" % step)',
        'cipher.encrypt(nonce, state, b"0")',
        SECRET,
        "a state of any step is the state of this one",
    ),
    Fault(
        "ledger/secret.py",
        'dataset.encode(), b"%d" % reservation',
        'dataset.encode(), b"0"',
        SECRET,
        "all streams share a key",
    ),
    Fault(
        "ledger/rotation.py",
        "nonce = secrets.token_bytes(NONCE)",
        "nonce = bytes(NONCE)",
        SECRET,
        "one nonce for all former keys",
    ),
    Fault(
        "ledger/rotation.py",
        'framed(ledger.encode(), dataset.encode(), b"%d" % number)',
        "framed(ledger.encode(), dataset.encode())",
        SECRET,
        "a former key is at home at any entry",
    ),
    Fault(
        "release/stream.py",
        "text.ljust(-(-len(text) // room) * room)",
        "text",
        SECRET,
        "the length of a state tells its counts",
    ),
    Fault("ledger/name.py", ".casefold())", ")", NAME, "another case is another person"),
    Fault(
        "ledger/name.py",
        'name = " ".join(folded.split())',
        "name = folded",
        NAME,
        "a blank makes another person",
    ),
    Fault(
        "ledger/name.py",
        "if len(scripts) > 1 and not scripts <= TOGETHER:",
        "if len(scripts) > 2:",
        NAME,
        "a foreign letter hides among others",
    ),
    Fault(
        "ledger/name.py",
        "if scripts - telling:",
        "if False:",
        NAME,
        "a name in look-alike letters is accepted",
    ),
    Fault(
        "ledger/account.py",
        "if not admits(self.limits[scope], self.spending(scope) + request.cost):",
        "if not admits(self.limits[scope], request.cost):",
        BOOK,
        "a limit counts nothing that was spent before",
    ),
    Fault(
        "ledger/account.py",
        "return EVERYBODY, Scope(project), Scope(None, analyst), Scope(project, analyst)",
        "return EVERYBODY, Scope(project), Scope(None, analyst)",
        BOOK,
        "a limit on an analyst within a project is forgotten",
    ),
    Fault(
        "ledger/account.py",
        "used if self.lost is Cost.zero else used + self.lost",
        "used",
        BACKUP,
        "what a restored backup lost counts for nothing",
    ),
    Fault(
        "ledger/account.py",
        "if attempt != run.attempts + 1 or attempt > ATTEMPTS:",
        "if attempt != run.attempts + 1:",
        REPLAY + ACCOUNT,
        "a question runs as often as it likes",
    ),
    Fault(
        "ledger/account.py",
        "return replace(self, lost=self.lost + lost, running={}, streams=stopped, daily=daily)",
        "return replace(self, lost=self.lost + lost, running=self.running, streams=stopped, daily=daily)",
        BACKUP,
        "what ran at the backup is released from twice",
    ),
    Fault(
        "ledger/account.py",
        'stopped = {n: Standing(standing.step, "") for n, standing in self.streams.items()}',
        "stopped = self.streams",
        BACKUP,
        "a restored stream draws its steps again",
    ),
    Fault(
        "ledger/account.py",
        "if self.analysts is not None and analyst not in self.analysts:",
        "if False:",
        BOOK,
        "whoever is not listed may ask",
    ),
    Fault(
        "ledger/chain.py",
        'for piece in (len(part).to_bytes(8, "big"), part)',
        "for piece in (part,)",
        CHAIN,
        "two histories share the input of a seal",
    ),
    Fault(
        "ledger/chain.py",
        "if stat.S_IMODE(status.st_mode) & 0o077:",
        "if False:",
        CHAIN + LOCK,
        "a key that everybody can read",
    ),
    Fault(
        "ledger/chain.py",
        "if status.st_uid not in (0, os.geteuid()):",
        "if False:",
        LOCK,
        "somebody else's key",
    ),
    Fault(
        "ledger/check.py",
        "if not _payload_agrees(row, entry):",
        "if False:",
        TAMPER,
        "another answer under the same seal",
    ),
    Fault(
        "ledger/check.py",
        'if not _columns_agree(row, body["event"]["kind"], entry):',
        "if False:",
        TAMPER,
        "an answer filed under another question",
    ),
    Fault(
        "ledger/check.py",
        "holds = tally_seal(own, self.total) == entry.state",
        "holds = True",
        REPLAY,
        "totals that the history contradicts",
    ),
    Fault(
        "ledger/abacus.py",
        "            if not within(limit.used, limit.most):\n                raise _Refused\n",
        "",
        SAME,
        "a limit that was passed is not found",
    ),
    Fault(
        "ledger/amount.py",
        "elif most.scale * (packed >> LANE * rung & WHOLE) + (order * plain << BITS) <= reach:",
        "elif (order * plain << BITS) <= reach:",
        SAME,
        "Renyi costs are not counted",
    ),
    Fault(
        "ledger/orders.py",
        "divergence = e - (first - (1 + step ** (32 + rung)).ln()) * 64 / rung",
        "divergence = e - first * 64 / rung",
        ORDERS,
        "a release is read back for less than it costs",
    ),
    Fault(
        "ledger/orders.py",
        "MAIN, REST = Fraction(97, 100), Fraction(3, 400)",
        "MAIN, REST = Fraction(98, 100), Fraction(3, 400)",
        ORDERS,
        "routes share more than delta",
    ),
    Fault(
        "ledger/abacus.py",
        "if self._closed or not purse.admitted:",
        "if False:",
        SAME,
        "whoever may not ask has asked",
    ),
    Fault(
        "ledger/abacus.py",
        'if self._tally_mac(self._total.to_bytes(32, "big")).hex() != seal:',
        "if False:",
        SAME + REPLAY,
        "sealed sums that nobody compares",
    ),
    Fault(
        "ledger/abacus.py",
        "purse.spent.flat = times(purse.spent.flat, by)",
        "pass",
        SAME,
        "what was spent shrinks when the denominator grows",
    ),
    Fault(
        "ledger/sieve.py",
        "if self._seal(number, previous, body.encode()) != mac:",
        "if False:",
        SAME,
        "an edited entry passes the sieve",
    ),
    Fault(
        "ledger/sieve.py",
        "answer = hashlib.sha256(payload).hexdigest()",
        """answer = body.partition('"digest":"')[2][:64]""",
        SAME,
        "an edited answer passes the sieve",
    ),
    Fault(
        "ledger/sieve.py",
        "if hashlib.sha256(meaning.encode()).hexdigest() != asked:",
        "if False:",
        SAME,
        "a payment that is filed under another question passes the sieve",
    ),
    Fault(
        "ledger/verifying.py",
        "if stretch.items and stretch.previous != mac:",
        "if False:",
        SAME,
        "stretches that are not linked",
    ),
    Fault(
        "ledger/sieve.py",
        "elif values[7] != link:",
        "elif False:",
        SAME,
        "entries that are not linked",
    ),
    Fault(
        "ledger/following.py",
        "if not admits(account.limits[scope], used[scope] + account.lost):",
        "if False:",
        FOLLOWING,
        "a limit that others passed is not noticed",
    ),
    Fault(
        "ledger/following.py",
        "if account.analysts is not None and member[1] not in account.analysts:",
        "if False:",
        FOLLOWING,
        "whoever is not on the list spends through others",
    ),
    Fault(
        "ledger/pool.py",
        "except BaseException:\n            self._places.release()\n            raise",
        "except BaseException:\n            raise",
        POOL,
        "connections that could not be made use up all places",
    ),
    Fault(
        "ledger/lock.py",
        "if not wait.end(got=got):\n                self._let_go(place)",
        "wait.end(got=got)",
        LOCK,
        "a lock that comes too late is never let go of",
    ),
    Fault(
        "ledger/check.py",
        "if number >= until:\n                break",
        "if number > until:\n                break",
        ROTATION,
        "the first entry under a new key is sealed by the old one",
    ),
    Fault(
        "ledger/check.py",
        "self.ring(dataset)[: 1 + sum(number < until for until in older)]",
        "self.ring(dataset)",
        ROTATION,
        "an old key vouches for new marks and receipts",
    ),
    Fault(
        "ledger/codec.py",
        "canonical([request.snapshot, request.question, price, list(request.mechanisms)])",
        "canonical([request.snapshot, request.question, list(request.mechanisms)])",
        BOOK + CHAIN,
        "a question is the same at any price",
    ),
    Fault(
        "ledger/turn.py",
        "if entry.anchor is None or tally_seal(own, total) != entry.state:",
        "if entry.anchor is None:",
        TAMPER,
        "edited totals are believed",
    ),
    Fault(
        "ledger/turn.py",
        "if mark.number > head.number:\n        raise rolled_back(dataset, mark.number, head.number)",
        "if False:\n        raise rolled_back(dataset, mark.number, head.number)",
        ROLLBACK,
        "yesterday's copy goes on",
    ),
    Fault(
        "ledger/turn.py",
        "if row is None or row.mac.hex() != mark.mac:\n        raise LedgerError(\n"
        '            f"dataset {dataset} does not contain',
        'if row is None:\n        raise LedgerError(\n            f"dataset {dataset} does not contain',
        COPIES,
        "an anchor is compared by number only",
    ),
    Fault(
        "ledger/turn.py",
        "if reached and (dataset not in marks.heads or marks.heads[dataset].number < reached):",
        "if False:",
        COPIES,
        "an anchor may be cut",
    ),
    Fault(
        "ledger/turn.py",
        "if row is None or row.mac.hex() != found.mac:",
        "if False:",
        COPIES,
        "of two copies both go on",
    ),
    Fault(
        "ledger/turn.py",
        "if standing.number:\n        fasten(",
        "if False:\n        fasten(",
        ROLLBACK,
        "nothing is anchored",
    ),
    Fault(
        "ledger/anchor.py",
        "if found == mark or (found is not None and others and (follows is None or not follows(found))):",
        "if found == mark:",
        ANCHOR + COPIES,
        "a mark is moved whoever moved it before",
    ),
    Fault(
        "ledger/anchor.py",
        "draft.unlink(missing_ok=True)\n            descriptor = os.open("
        "draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)",
        "descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)",
        LOCK,
        "a link planted beside the anchor is followed",
    ),
    Fault(
        "ledger/asking.py",
        "if orphan is not None:\n        return orphan",
        "if False:\n        return orphan",
        BOOK,
        "a run that broke off is paid for again",
    ),
    Fault("ledger/asking.py", "fingerprint(earlier) == asked:", "True:", BOOK, "one id for two questions"),
    Fault(
        "ledger/asking.py",
        "turn.store.settle(lease_key(turn.seals.ledger, granted.request))",
        "pass",
        SHARING,
        "what is answered is held as if it were still being run",
    ),
    Fault(
        "ledger/sharing.py",
        "if turn.standing is not before:",
        "if False:",
        SHARING,
        "what an errand wrote before it was refused stays in the turn of the others",
    ),
    Fault(
        "ledger/sharing.py",
        "return all(isinstance(outcome.result, Granted)",
        "return any(isinstance(outcome.result, Granted)",
        SHARING,
        "an answer that shares its turn with a payment leaves before the anchor is on the disk",
    ),
    Fault(
        "ledger/sharing.py",
        "            except Apart:\n                pass\n        return",
        "            except Exception:\n                pass\n        return",
        SHARING,
        "what may have been committed is tried again",
    ),
    Fault(
        "ledger/sharing.py",
        "self._waiting.remove(errand)\n                raise",
        "raise",
        SHARING,
        "who has gone away pays all the same",
    ),
    Fault(
        "ledger/sharing.py",
        "self._waiting.remove(errand)\n                self._led",
        "pass\n                self._led",
        SHARING,
        "who was first and has gone away pays all the same",
    ),
    Fault(
        "ledger/sharing.py",
        "                    self._waiting[0].leads = True\n",
        "",
        SHARING,
        "who is called before their errand is done goes away without an answer",
    ),
    Fault(
        "ledger/turn.py",
        "if before != mark:\n        store.sync()",
        "if False:\n        store.sync()",
        DISK,
        "a mark is set, and an answer leaves, before the log is on the disk",
    ),
    Fault(
        "ledger/sqlite.py",
        'self._database.close()\n            raise LedgerError(f"the ledger {self.name} cannot be synced',
        'raise LedgerError(f"the ledger {self.name} cannot be synced',
        DISK,
        "a connection goes on after a failed sync",
    ),
    Fault(
        "ledger/postgres.py",
        "if found is None or not self._mine.added.isdisjoint((request, asked)):",
        "if found is None:",
        SHARING,
        "an errand does not see what those before it in the same turn have left",
    ),
    Fault(
        "ledger/phrase.py",
        "return bytes(escaping.escape_literal(value.encode()))",
        "return b\"'%b'\" % value.encode()",
        SHARING,
        "what an analyst asks becomes a statement",
    ),
    Fault(
        "ledger/anchor.py",
        'return line if b"\\\\" in name else name',
        "return name",
        ANCHOR,
        "two datasets are taken for one because their names begin alike",
    ),
    Fault(
        "ledger/book.py",
        "found = self._wait_for(lease, request)",
        "found = None",
        TOGETHER,
        "the same question at once is paid for by each",
    ),
    Fault(
        "ledger/book.py",
        "if not same or name.public not in known:",
        "if not same and name.public not in known:",
        PINNING,
        "a full budget after a ledger was exchanged",
    ),
    Fault(
        "ledger/streaming.py",
        "if stream.analyst != stream.request.analyst:",
        "if False:",
        STREAMING,
        "anybody takes another's steps",
    ),
    Fault(
        "ledger/check.py",
        "if secret is None or digest(secret) != standing.secret:",
        "if secret is None:",
        STREAMING,
        "a stream goes on from an older state",
    ),
    Fault(
        "ledger/backup.py",
        "return name == before.name and number >= reached and number >= shown",
        "return name == before.name and number >= reached",
        BACKUP,
        "an old anchor is believed against a receipt",
    ),
    Fault(
        "ledger/backup.py",
        "rho, delta = max(Fraction(0), *left), max(Fraction(0), slack - spent.delta)",
        "rho, delta = max(Fraction(0), left[0]), max(Fraction(0), slack - spent.delta)",
        BACKUP,
        "a lost history leaves one route open",
    ),
    Fault(
        "ledger/granting.py",
        'database.execute(sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {} FROM {}").format(schema, role))',
        "pass",
        SERVER,
        "an old duty's rights are kept",
    ),
    Fault(
        "ledger/tables.py",
        "WHEN (NEW.kind NOT IN ('reserved', 'retried', 'answered', 'failed', 'advanced'))",
        "WHEN (NEW.kind = 'nothing')",
        SERVER,
        "analysts decide",
    ),
    Fault(
        "release/opening.py",
        'return open_ledger(place, key=Path(f"{place}.key"), anchor=Path(f"{place}.anchor"))',
        "return open_ledger(place)",
        PINNING,
        "a scratch session takes the anchor of another ledger",
    ),
    Fault(
        "ledger/pace.py",
        "return self if day <= self.day else Daily(day)",
        "return self if day == self.day else Daily(day)",
        PACE,
        "a clock that is put back begins a day again",
    ),
    Fault(
        "ledger/pace.py",
        "daily.on(day).spent)).can_spend(cost)",
        "Cost.zero)).can_spend(cost)",
        PACE,
        "a day forgets what was spent on it",
    ),
    Fault(
        "ledger/abacus.py",
        "after = [Held() if (day or 0) > tempo.latest else replace(tempo.used) for _, tempo in counted]",
        "after = [Held() for _, tempo in counted]",
        (f"{VERIFYING}histories_of_every_kind_lead_to_the_same_account",),
        "verification counts only the last payment of a day",
    ),
    Fault(
        "ledger/abacus.py",
        "if not all(within(price.whole, tempo.question) for _, tempo in purse.tempos):",
        "if False:",
        (f"{VERIFYING}whatever_broken_code_with_the_key_has_written_is_found_by_both",),
        "verification knows no limit per question",
    ),
    Fault(
        "ledger/check.py",
        "return day_of(datetime.fromisoformat(entry.time)) == day",
        "return True",
        PACE,
        "a payment counts on any day that it says",
    ),
)
