"""Durable streams: what was released is on disk, and a crash at any point keeps the guarantee."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from fractions import Fraction
from hashlib import sha256

import pytest

from discreet.errors import LedgerError, ParameterError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.workload import Stream, counter_for, stream
from discreet.workload.codec import decode_counter, decode_state, encode_counter, encode_state
from discreet.workload.dummy import EachItem, EachPrefix
from discreet.workload.root import RootState
from discreet.workload.stream import advance

PURE = Pure(Fraction(1))
UNIT = Concentrated(Fraction(1, 2))
COUNTERS = [
    counter_for(50, PURE),
    counter_for(50, UNIT),
    counter_for(50, PURE, Adjacency.REPLACE),
    EachPrefix.calibrate(50, PURE),
    EachItem.calibrate(50, UNIT),
]
NAMES = [f"{type(c).__name__}{k}" for k, c in enumerate(COUNTERS)]


@pytest.mark.parametrize("counter", COUNTERS, ids=NAMES)
def test_counters_and_states_survive_being_written_as_text(counter):
    state = counter.start()
    for _ in range(37):
        state, _ = advance(counter, state, 2)
        assert decode_state(json.loads(json.dumps(encode_state(state)))) == state
    assert decode_counter(json.loads(json.dumps(encode_counter(counter)))) == counter


@pytest.mark.parametrize("counter", COUNTERS, ids=NAMES)
def test_a_reopened_stream_goes_on_where_it_stopped(counter, tmp_path):
    path = tmp_path / "visits.stream"
    with Stream.start(counter, path=path) as first:
        first.extend([1, 2, 3])
        last, state = first.add(4), first.state
    with Stream.open(path, at_least=4) as again:
        assert again.state == state
        assert again.last == (last,)
        assert again.guarantee == counter.guarantee
        assert again.add(1).step == 5


def test_asking_for_the_same_step_again_returns_the_same_answer(tmp_path):
    path = tmp_path / "s"
    with Stream.create(20, PURE, path=path) as opened:
        answer = opened.add(1, step=1)
        assert opened.add(1, step=1) == answer
        with pytest.raises(ParameterError, match="next step is 2"):
            opened.add(1, step=5)
    with Stream.open(path) as again:
        assert again.add(1, step=1) == answer
        again.add(1, step=2)
        with pytest.raises(ParameterError, match="not kept"):
            again.add(1, step=1)


class PowerCut(BaseException):
    """The machine stops."""


def cut(monkeypatch, name):
    def stop(*_args, **_kwargs):
        raise PowerCut

    monkeypatch.setattr(stream.os, name, stop)


@pytest.mark.parametrize("point", ["open", "fdopen", "fsync", "replace"])
def test_a_crash_at_any_point_releases_nothing_that_is_not_on_disk(point, tmp_path, monkeypatch):
    path = tmp_path / "s"
    opened = Stream.create(20, UNIT, path=path)
    opened.extend([1, 1])
    before = opened.state
    with monkeypatch.context() as patch:
        cut(patch, point)
        with pytest.raises(PowerCut):
            opened.add(1)
    with pytest.raises(LedgerError, match="open it again"):
        opened.add(1)
    with Stream.open(path, at_least=2) as again:
        assert again.state == before
        assert again.add(1).step == 3


def test_a_crash_after_the_replacement_hands_out_the_stored_answer(tmp_path, monkeypatch):
    path = tmp_path / "s"
    opened = Stream.create(20, PURE, path=path)
    calls = []
    real = os.fsync

    def second_fails(descriptor):
        calls.append(descriptor)
        if len(calls) == 2:
            raise PowerCut
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(stream.os, "fsync", second_fails)
        with pytest.raises(PowerCut):
            opened.add(1)
    with Stream.open(path) as again:
        assert again.steps == 1
        assert again.add(1, step=1) == again.last[0]


def test_the_check_catches_a_stream_that_answers_before_it_writes(tmp_path):
    """The broken twin: the answer leaves, the machine stops, and the same step is drawn again."""
    path = tmp_path / "s"
    with Stream.create(20, PURE, path=path) as opened:
        _, leaked = advance(opened.counter, opened.state, 1)  # handed out, never written
    with Stream.open(path) as again:
        redrawn = {advance(again.counter, again.state, 1)[1] for _ in range(60)} | {leaked}
    assert len(redrawn) > 1  # one step, two noises: what the write-ahead order rules out
    with pytest.raises(LedgerError, match="older version"):
        Stream.open(path, at_least=1)


def test_a_killed_process_never_released_more_than_its_file_knows(tmp_path):
    path = tmp_path / "s"
    script = textwrap.dedent(f"""
        from fractions import Fraction
        from discreet.privacy.guarantee import Pure
        from discreet.workload import Stream
        opened = Stream.create(10**5, Pure(Fraction(1)), path={str(path)!r})
        while True:
            answer = opened.add(1)
            print(answer.step, repr(answer.value), flush=True)
    """)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    )
    lines = [process.stdout.readline() for _ in range(3)]
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    lines += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    step, value = lines[-1].split()
    with Stream.open(path, at_least=int(step)) as again:
        assert again.steps in (int(step), int(step) + 1)
        if again.steps == int(step):
            assert repr(again.last[0].value) == value


def test_two_openings_of_one_stream_are_refused(tmp_path):
    path = tmp_path / "s"
    with Stream.create(20, PURE, path=path), pytest.raises(LedgerError, match="another process"):
        Stream.open(path)
    with pytest.raises(LedgerError, match="exists already"):
        Stream.create(20, PURE, path=path)
    Stream.open(path).close()  # the refusal above let go of the lock


def test_damaged_and_unknown_files_are_refused(tmp_path):
    path = tmp_path / "s"
    Stream.create(20, PURE, path=path).close()
    good = path.read_text()
    path.write_text(good.replace('"step":0', '"step":1'))
    with pytest.raises(LedgerError, match="checksum"):
        Stream.open(path)
    body = good.split("\n", 1)[1].replace("discreet-stream/1", "discreet-stream/9")
    path.write_text(sha256(body.encode()).hexdigest() + "\n" + body)
    with pytest.raises(LedgerError, match="does not know"):
        Stream.open(path)
    path.write_text("garbage")
    with pytest.raises(LedgerError, match="cannot be read"):
        Stream.open(path)
    for stored in (
        {"name": "tree/2"},
        {"name": "root/1", "length": 3, "noise": {"law": "cauchy"}, "each": 1},
    ):
        with pytest.raises(LedgerError):
            decode_counter(stored)
    with pytest.raises(LedgerError):
        decode_state({"name": "nothing"})


def test_the_file_is_private_to_its_owner(tmp_path):
    path = tmp_path / "s"
    with Stream.create(20, PURE, path=path) as opened:
        opened.add(1)
    assert path.stat().st_mode & 0o077 == 0


def test_a_state_of_another_counter_and_increments_that_are_not_integers_are_refused():
    with pytest.raises(LedgerError, match="does not belong"):
        advance(COUNTERS[0], RootState(0, 0.0, ()), 1)
    for increment in (True, 0.5, "1"):
        with pytest.raises(ParameterError, match="integer"):
            advance(COUNTERS[0], COUNTERS[0].start(), increment)


def test_counts_carry_their_deviation_and_the_whole_stream_one_guarantee():
    opened = Stream.create(100, PURE)
    counts = opened.extend([1] * 100)
    assert [c.step for c in counts] == list(range(1, 101))
    assert all(c.deviation > 0 for c in counts)
    assert opened.guarantee.cost <= 1
    assert opened.extend([]) == ()
    assert opened.last == counts
    with pytest.raises(ParameterError, match="100 steps"):
        opened.add(1)
