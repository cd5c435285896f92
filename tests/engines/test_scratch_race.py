"""Two engines that open at the same moment do not take each other's scratch space for left behind."""

import threading

from discreet.engines import scratch
from discreet.engines.scratch import Scratch


def test_a_directory_is_never_swept_between_its_making_and_its_lock(monkeypatch):
    taken = []
    lock = scratch.fcntl.flock

    def swept_just_before(handle: int, how: int) -> None:
        if threading.current_thread() is threading.main_thread() and not taken:
            taken.append(handle)
            sweeper = threading.Thread(target=scratch._sweep)
            sweeper.start()
            sweeper.join()
        lock(handle, how)

    monkeypatch.setattr(scratch.fcntl, "flock", swept_just_before)
    monkeypatch.setattr(scratch, "PREFIX", "discreet-spill-test-")
    found = Scratch()
    assert taken
    assert found.path.is_dir()
    assert found.path.name.startswith("discreet-spill-test-")
    found.close()
    assert not found.path.exists()
