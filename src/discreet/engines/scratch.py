"""A private place for what does not fit into memory.

An engine that may not leave memory fails where one person's rows are many, and the failure tells that they
are.  So it may: into a directory that only this user can enter, of limited size, removed when the engine is
closed.  What a killed process leaves behind is removed by the next one, which knows by its lock that nobody
uses it.
"""

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path
from shutil import rmtree
from weakref import finalize

PREFIX = "discreet-spill-"
_UNNAMED = "discreet-new-"
_LOCK = "in-use"


class Scratch:
    """A directory of mode 0700 that exists as long as this value, or until `close`."""

    def __init__(self) -> None:
        _sweep()
        # Locked before it has the name that others look for: nobody takes it for left behind.
        made = Path(tempfile.mkdtemp(prefix=_UNNAMED))
        held = os.open(made / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = made.rename(made.with_name(made.name.replace(_UNNAMED, PREFIX)))
        self.close = finalize(self, _remove, str(self.path), held, os.getpid())


def _remove(path: str, held: int, owner: int) -> None:
    # A forked child shares the directory with its parent, who still needs it.
    if os.getpid() == owner:
        rmtree(path, ignore_errors=True)
        os.close(held)


def _sweep() -> None:
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for left in [entry for entry in entries if entry.name.startswith(PREFIX)]:
            with contextlib.suppress(OSError):
                if left.is_symlink() or left.stat().st_uid != os.getuid():
                    continue
                lock = os.open(os.path.join(left.path, _LOCK), os.O_RDWR | os.O_NOFOLLOW)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    rmtree(left.path, ignore_errors=True)
                finally:
                    os.close(lock)
