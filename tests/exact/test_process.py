"""What is used once stays used once, through forks, threads, signals, copies and pickles."""

import copy
import ctypes
import os
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest

import discreet as dp
from discreet.exact import coins as coins_module
from discreet.exact import process
from discreet.exact.coins import Keystream, SystemCoins, source
from discreet.privacy.adjacency import Adjacency
from discreet.workload import Stream

PATIENCE = 60
"""Seconds after which a child counts as hanging."""


def answer_of(fork, work):
    """Return what a child writes when it does this work, or None when it hangs."""
    read, write = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.write(write, work())
        finally:
            os._exit(0)
    os.close(write)
    deadline = time.monotonic() + PATIENCE
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)
            return None
        time.sleep(0.002)
    with os.fdopen(read, "rb") as answer:
        return answer.read()


def unseen_fork():
    """Fork as a library in C would: Python's own hooks do not run."""
    return ctypes.PyDLL(None).fork()


@pytest.fixture
def one_pid(monkeypatch):
    """Give parent and child the same process id, as two namespaces do."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    source().bits(64)


@pytest.mark.usefixtures("one_pid")
def test_a_child_of_the_same_process_id_draws_other_noise():
    theirs = answer_of(os.fork, lambda: source().words(16, 64).tobytes())
    assert theirs != source().words(16, 64).tobytes()
    assert len(theirs) == 128


@pytest.mark.usefixtures("one_pid")
def test_where_no_memory_is_emptied_python_s_own_forks_are_noticed(monkeypatch):
    monkeypatch.setattr(process, "_page", None)
    theirs = answer_of(os.fork, lambda: source().words(16, 64).tobytes())
    assert theirs != source().words(16, 64).tobytes()


@pytest.mark.usefixtures("one_pid")
@pytest.mark.skipif(process._page is None, reason="this system has no memory that children find empty")
def test_a_fork_that_python_does_not_see_draws_other_noise():
    theirs = answer_of(unseen_fork, lambda: source().words(16, 64).tobytes())
    assert theirs != source().words(16, 64).tobytes()
    assert len(theirs) == 128


@pytest.mark.usefixtures("one_pid")
def test_a_twin_that_compares_process_ids_only_repeats_its_noise(monkeypatch):
    monkeypatch.setattr(coins_module, "this_process", os.getpid)
    coins = SystemCoins()
    coins.bits(8)
    theirs = answer_of(os.fork, lambda: coins.words(16, 64).tobytes())
    assert theirs == coins.words(16, 64).tobytes()


def test_a_child_forked_while_others_draw_does_not_hang():
    stop = threading.Event()
    # Long draws, made outside the interpreter's lock, are where a fork would find a lock held.
    threads = [
        threading.Thread(target=lambda: [source().words(1 << 18, 64) for _ in iter(stop.is_set, True)])
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    try:
        drawn = [answer_of(os.fork, lambda: source().words(4, 64).tobytes()) for _ in range(8)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert None not in drawn
    assert len(set(drawn)) == len(drawn)


def test_threads_share_no_word():
    coins, words = SystemCoins(), []
    threads = [
        threading.Thread(target=lambda: words.extend(coins.bits(64) for _ in range(2000))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(words)) == len(words) == 16_000


def test_a_signal_in_the_middle_of_a_draw_gets_words_of_its_own():
    """A handler that draws, run between any two lines of a draw that it interrupts."""
    code = Keystream._from_pool.__code__
    for line in sorted({line for _, _, line in code.co_lines() if line}):
        coins, inner = SystemCoins(), []
        coins.bits(64)

        def trace(frame, event, _, line=line, coins=coins, inner=inner):
            if frame.f_code is code and event == "line" and frame.f_lineno == line and not inner:
                inner.append(None)
                inner.append(coins.bits(64))
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            outer = coins.bits(64)
        finally:
            sys.settrace(before)
        words = [outer, coins.bits(64), *inner[1:]]
        assert len(set(words)) == len(words)


def always_above():
    return dp.SparseVector.calibrate(epsilon=1, answers=1).start(-(10**9))


def stream():
    return Stream.create(1000, dp.Pure(1), Adjacency.ADD_REMOVE)


def test_a_session_shared_by_threads_gives_only_the_answers_it_may():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            session, found = always_above(), []
            barrier = threading.Barrier(8)

            def ask(session=session, found=found, barrier=barrier):
                barrier.wait()
                for _ in range(5):
                    try:
                        found.append(session.ask(0))
                    except dp.BudgetError:
                        return

            threads = [threading.Thread(target=ask) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len([each for each in found if each is not None]) == 1
            assert session.left == 0
    finally:
        sys.setswitchinterval(before)


def test_a_session_asked_from_within_its_own_answer_refuses(monkeypatch):
    from discreet.mechanisms import sparse_vector

    session, refused = always_above(), []
    plain = sparse_vector.geometric

    def interrupted(alpha):
        with pytest.raises(dp.BudgetError, match="middle of an answer"):
            session.ask(0)
        refused.append(alpha)
        return plain(alpha)

    monkeypatch.setattr(sparse_vector, "geometric", interrupted)
    assert session.ask(0) is not None
    assert refused
    assert session.left == 0


def test_a_stream_shared_by_threads_takes_every_step_once():
    shared, steps = stream(), []
    threads = [
        threading.Thread(target=lambda: steps.extend(shared.add(1).step for _ in range(50))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(steps) == list(range(1, 301))


@pytest.mark.parametrize("make", [always_above, stream], ids=["session", "stream"])
@pytest.mark.parametrize("second", [copy.copy, copy.deepcopy, pickle.dumps])
def test_nothing_that_is_spent_can_be_copied(make, second):
    with pytest.raises(dp.BudgetError, match="cannot be copied"):
        second(make())


@pytest.mark.parametrize(
    ("make", "use"), [(always_above, lambda each: each.ask(0)), (stream, lambda each: each.add(1))]
)
def test_nothing_that_is_spent_goes_on_in_a_fork(make, use):
    once = make()

    def work():
        try:
            use(once)
        except dp.BudgetError as refusal:
            return str(refusal).encode()
        return b"a second life"

    assert b"fork of that process" in answer_of(os.fork, work)
    assert use(once) is not None


def test_a_forked_child_refuses_at_once_though_another_thread_has_the_turn():
    session, inside, stop = always_above(), threading.Event(), threading.Event()

    def hold():
        with session._life.turn():
            inside.set()
            stop.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(PATIENCE)

    def work():
        try:
            session.ask(0)
        except dp.BudgetError:
            return b"refused"
        return b"answered"

    try:
        assert answer_of(os.fork, work) == b"refused"
    finally:
        stop.set()
        thread.join()


def test_the_answers_left_cannot_be_set():
    with pytest.raises(AttributeError):
        always_above().left = 5


def test_a_truth_among_more_categories_than_a_machine_word_holds():
    response = dp.RandomizedResponse(3, 2**80)
    assert all(0 <= report < 2**80 for report in (response.sample(2**80 - 1) for _ in range(20)))
    truths = np.array([2**79, 5, 2**80 - 1], dtype=object)
    reports = response.sample(truths)
    assert reports.shape == (3,)
    near = dp.RandomizedResponse(3, 2**63 + 7)
    for truth in (2**63 - 1, 2**62 + 1):
        drawn = near.sample(np.full(400, truth))
        assert all(0 <= int(report) < 2**63 + 7 for report in drawn)
        # The lies are uniform over all categories: a wrapped sum would leave the upper part empty.
        assert any(int(report) > 2**62 for report in drawn)
    with pytest.raises(dp.ParameterError, match="not written out"):
        near.pmf(0)
    with pytest.raises(dp.ParameterError, match="not written out"):
        dp.RandomizedResponse(3, 2**20).channel()
