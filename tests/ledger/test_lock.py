"""Locks and files beside a ledger: nothing is inherited, left behind, followed or readable by others."""

import os
import signal
import stat
import threading
import time
from pathlib import Path

import pytest
from tests.ledger.world import NOBODY, Place, ask

from discreet.errors import LedgerError
from discreet.ledger.anchor import FileAnchor, Mark
from discreet.ledger.lock import Locks, locks_at
from discreet.privacy.filter import PureBudget

pytestmark = [pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"), pytest.mark.timeout(60)]


def forked(act) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = int(not act())
        finally:
            os._exit(status)
    return child


def succeeds(act) -> bool:
    return os.waitstatus_to_exitcode(os.waitpid(forked(act), 0)[1]) == 0


def test_one_process_holds_a_name_until_it_lets_go(tmp_path: Path):
    locks = locks_at(tmp_path / "locks")
    assert locks.take("a")
    assert not locks.take("a")
    assert not succeeds(lambda: locks_at(tmp_path / "locks").take("a"))
    assert succeeds(lambda: locks_at(tmp_path / "locks").take("b"))
    locks.free("a")
    assert succeeds(lambda: locks_at(tmp_path / "locks").take("a"))


def test_a_kill_frees_every_name_and_leaves_no_file(file: Place):
    with file.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.answer(ledger.reserve(ask("first")), b"1")
    home = Path(file.location).parent

    def run_for_ever() -> bool:
        ledger = file.open()
        for turn in range(20):
            ledger.reserve(ask(f"r{turn}", epsilon="1/100"))
        (home / "ready").touch()
        time.sleep(60)
        return True

    before = {path.name for path in home.rglob("*")}
    child = forked(run_for_ever)
    while not (home / "ready").exists():
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    (home / "ready").unlink()
    with file.open() as ledger:
        assert ledger.reserve(ask("r3", epsilon="1/100")).attempt == 2
    assert {path.name for path in home.rglob("*")} <= before | {"test.ledger-wal", "test.ledger-shm"}


def test_a_forked_child_does_not_keep_the_anchors_lock(tmp_path: Path):
    anchor = FileAnchor(tmp_path / "anchor")
    anchor.start("me")
    end = os.pipe()
    with anchor._turn():
        child = forked(lambda: os.read(end[0], 1) == b"x")
    moved = threading.Thread(target=lambda: anchor.move(anchor.read(), "clinic", Mark(1, "aa")), daemon=True)
    moved.start()
    moved.join(20)
    os.write(end[1], b"x")
    os.waitpid(child, 0)
    assert anchor.read().heads == {"clinic": Mark(1, "aa")}
    assert not moved.is_alive()


def test_a_forked_child_does_not_keep_a_question_running(file: Place):
    end = os.pipe()
    with file.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ready = os.pipe()

        def parent_of_a_child() -> bool:
            own = file.open()
            own.reserve(ask("a"))
            forked(lambda: os.read(end[0], 1) == b"x")
            os.write(ready[1], b"r")
            return True  # dies here, while its own child lives on

        child = forked(parent_of_a_child)
        os.read(ready[0], 1)
        os.waitpid(child, 0)
        assert ledger.reserve(ask("a")).attempt == 2
        os.write(end[1], b"x")


def test_waiting_for_an_anchor_is_bounded(tmp_path: Path, monkeypatch):
    import discreet.ledger.anchor as module

    monkeypatch.setattr(module, "PATIENCE", 0.05)
    anchor = FileAnchor(tmp_path / "anchor")
    anchor.start("me")
    told, end = os.pipe(), os.pipe()

    def hold() -> bool:
        with FileAnchor(tmp_path / "anchor")._turn():
            os.write(told[1], b"h")
            return os.read(end[0], 1) == b"x"

    child = forked(hold)
    os.read(told[0], 1)
    with pytest.raises(LedgerError, match="busy"):
        anchor.move(anchor.read(), "clinic", Mark(1, "aa"))
    os.write(end[1], b"x")
    os.waitpid(child, 0)
    anchor.move(anchor.read(), "clinic", Mark(1, "aa"))


def test_closing_another_ledger_of_the_same_file_keeps_what_is_held(file: Place):
    """Record locks go when any descriptor of their file is closed; ours must not."""
    with file.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.reserve(ask("a"))
        file.open().close()
        name = Path(f"{file.location}.locks")
        assert not succeeds(lambda: _every_held_name_is_free(name, locks_at(name)))


def _every_held_name_is_free(name: Path, fresh: Locks) -> bool:
    import fcntl

    try:
        fcntl.lockf(fresh._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the whole file
    except OSError:
        return False
    return name.exists()


def test_links_planted_beside_an_anchor_are_not_followed(tmp_path: Path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "anchor.new").symlink_to(victim)
    FileAnchor(tmp_path / "anchor").start("me")
    assert victim.read_text() == "precious"
    (tmp_path / "locks").symlink_to(victim)
    with pytest.raises(LedgerError, match="cannot be opened"):
        locks_at(tmp_path / "locks")
    assert FileAnchor(tmp_path / "anchor").read() is not None


def test_an_anchor_behind_a_link_is_rewritten_where_the_link_leads(tmp_path: Path):
    volume = tmp_path / "volume"
    volume.mkdir()
    (tmp_path / "anchor").symlink_to(volume / "anchor")
    FileAnchor(tmp_path / "anchor").start("me")
    assert (tmp_path / "anchor").is_symlink()
    assert (volume / "anchor").exists()


def test_nothing_beside_a_ledger_is_open_to_others_whatever_the_umask(tmp_path: Path, monkeypatch):
    from discreet.ledger import open_ledger

    for variable in ("DISCREET_LEDGER_KEY", "DISCREET_LEDGER_ANCHOR"):
        monkeypatch.delenv(variable, raising=False)
    before = os.umask(0)
    try:
        with open_ledger(tmp_path / "a.ledger") as ledger:
            ledger.create_dataset("clinic", PureBudget(1), reason="opened")
            ledger.answer(ledger.reserve(ask("a")), b"1")
            found = sorted(tmp_path.rglob("*"))
            assert len(found) >= 6
            for path in found:
                assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path.name
    finally:
        os.umask(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator gives files away")
def test_a_key_that_belongs_to_somebody_else_is_refused(tmp_path: Path, monkeypatch):
    from discreet.ledger import open_ledger

    for variable in ("DISCREET_LEDGER_KEY", "DISCREET_LEDGER_ANCHOR"):
        monkeypatch.delenv(variable, raising=False)
    open_ledger(tmp_path / "a.ledger").close()
    os.chown(tmp_path / "a.ledger.key", NOBODY, NOBODY)
    with pytest.raises(LedgerError, match="belongs to another user"):
        open_ledger(tmp_path / "a.ledger")


def holder(path: Path, release: int, told: int) -> bool:
    """Hold a name until somebody says so."""
    locks = locks_at(path)
    taken = locks.take("a")
    os.write(told, b"held")
    os.read(release, 1)
    locks.free("a")
    return taken


def test_a_wait_that_was_broken_off_keeps_nothing_and_a_longer_one_is_woken(tmp_path: Path):
    path, (release, go), (ready, told) = tmp_path / "locks", os.pipe(), os.pipe()
    child = forked(lambda: holder(path, release, told))
    assert os.read(ready, 4) == b"held"
    locks = locks_at(path)
    assert not locks.take("a", 0.05)
    assert not locks.take("a", 0.05)
    assert locks.take("b", 0.05), "another name is free"
    woken: list[bool] = []
    waiting = threading.Thread(target=lambda: woken.append(locks.take("a", 30)))
    waiting.start()
    time.sleep(0.05)
    assert not woken
    os.write(go, b"!")
    waiting.join()
    assert woken == [True]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not succeeds(lambda: locks_at(path).take("a"))
    locks.free("a")
    assert succeeds(lambda: locks_at(path).take("a", 5))


def test_a_crowd_that_queues_holds_a_name_one_after_the_other(tmp_path: Path):
    path, witness = tmp_path / "locks", tmp_path / "witness"

    def client() -> bool:
        for _ in range(20):
            with locks_at(path).holding("a", 30):
                descriptor = os.open(witness, os.O_CREAT | os.O_EXCL)
                os.close(descriptor)
                time.sleep(0.0005)
                witness.unlink()
        return True

    children = [forked(client) for _ in range(4)]
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
