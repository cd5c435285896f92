"""Pinning an account: the manifest names the one account that pays for its dataset.

The first opening creates the account and writes its name into the manifest.  From then on a ledger that is
missing, emptied, renamed or another's is refused instead of beginning with a full budget.
"""

import os
import secrets
import tomllib
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

from discreet.errors import CatalogError
from discreet.ledger.signing import Name


def pin(manifest: Path, name: Name, *, instead_of: str | None = None) -> None:
    """Write the name of an account into a manifest, which otherwise stays as it is.

    Raises CatalogError, with the line to write by hand, where that cannot be done.
    """
    line = f'account = "{name}"'
    try:
        text = manifest.read_text(encoding="utf-8")
        document = tomllib.loads(text)
        if document.get("dataset", {}).get("account", instead_of) not in (instead_of, str(name)):
            raise CatalogError(f"the manifest {manifest} names another account meanwhile; open it again")
        pinned = _with_line(text, "dataset", "account", line)
        if tomllib.loads(pinned) != _expected(document, name):
            raise ValueError
        _replace(manifest, pinned)
    except (OSError, ValueError) as problem:
        if isinstance(problem, CatalogError):
            raise
        raise CatalogError(
            f"the account of this dataset was created, but its name cannot be written into {manifest}; add "
            f"this line to its section [dataset], and open it again: {line}"
        ) from None


def recap(manifest: Path, epsilon: Fraction) -> Callable[[], None]:
    """Return what writes another cap into a manifest, which otherwise stays as it is.

    Raises CatalogError where that cannot be done, before anything was.
    """
    line = f"epsilon = {epsilon}" if epsilon.denominator == 1 else f'epsilon = "{epsilon}"'
    try:
        text = manifest.read_text(encoding="utf-8")
        document = tomllib.loads(text)
        changed = _with_line(text, "budget", "epsilon", line)
        found = tomllib.loads(changed)
        if Fraction(found["budget"].pop("epsilon")) != epsilon:
            raise ValueError
        document["budget"].pop("epsilon")
        if found != document or not os.access(manifest.resolve().parent, os.W_OK):
            raise ValueError
    except (OSError, ValueError, TypeError, KeyError):
        raise CatalogError(
            f"the cap cannot be written into {manifest.name}: declare it there in a section [budget] of its "
            "own, in a folder that may be written"
        ) from None
    return lambda: _replace(manifest, changed)


def _with_line(text: str, section: str, key: str, line: str) -> str:
    """Return the text of a manifest with a line in one of its sections, in the place of one like it."""
    ends = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    heads = [number for number, found in enumerate(lines) if found.split("#")[0].strip() == f"[{section}]"]
    if not heads:
        return ends.join([*lines, "", f"[{section}]", line, ""])
    after = heads[0] + 1
    end = next((n for n in range(after, len(lines)) if lines[n].lstrip().startswith("[")), len(lines))
    kept = [found for found in lines[after:end] if found.split("=")[0].strip() != key]
    last = max((n for n, found in enumerate(kept, 1) if found.strip()), default=0)
    return ends.join([*lines[:after], *kept[:last], line, *kept[last:], *lines[end:], ""])


def _expected(document: dict[str, object], name: Name) -> dict[str, object]:
    dataset = document.get("dataset", {})
    return {**document, "dataset": {**(dataset if isinstance(dataset, dict) else {}), "account": str(name)}}


def _replace(path: Path, text: str) -> None:
    """Exchange a file for another text, whole or not at all, for whoever may read it now."""
    place = Path(os.path.realpath(path))
    status = place.stat()
    draft = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(
            draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, status.st_mode & 0o777
        )
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            os.fchmod(file.fileno(), status.st_mode & 0o777)
            with suppress(PermissionError):
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, place)
    finally:
        draft.unlink(missing_ok=True)
