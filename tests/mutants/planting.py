"""The sources with one fault in them: links to all files but one."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.mutants.fault import ROOT, Fault


@contextmanager
def planted(fault: Fault) -> Iterator[Path]:
    """Yield a folder with the package and the fault in it."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        # What was compiled before is there too: the changed file is newer than its own.
        shutil.copytree(ROOT / "src", source, copy_function=os.symlink)
        fault.plant(source)
        yield source
