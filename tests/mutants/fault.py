"""A planted fault as a value: where it goes, what it changes, and which tests claim to guard that place."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Fault:
    """One change of the source: `old`, which occurs once in `file`, becomes `new`.

    `file` is relative to `src/discreet`; `tests` are test files or node ids, relative to the repository,
    of which at least one must fail; `why` says what the fault would break.  The tests named by `passing`
    must pass with it: they say that something else, which the first tests watch, stands in its way.
    """

    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    why: str
    passing: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return where the fault is and what it does, in one line."""
        return f"{self.file}: {self.why}"

    def wrong(self) -> str | None:
        """Return what keeps the fault from being planted, if anything does."""
        path = ROOT / "src" / "discreet" / self.file
        if not path.is_file():
            return f"{self.name}: no such file"
        found = path.read_text(encoding="utf-8").count(self.old)
        if found != 1:
            return f"{self.name}: the text to change occurs {found} times"
        if self.old == self.new:
            return f"{self.name}: changes nothing"
        named = (*self.tests, *self.passing)
        missing = [test for test in named if not (ROOT / test.split("::")[0]).is_file()]
        if missing or not self.tests:
            return f"{self.name}: no test file {', '.join(missing) or 'is named'}"
        return None

    def plant(self, source: Path) -> None:
        """Change the copy of the package's sources in `source`, the folder that contains `discreet`."""
        path = source / "discreet" / self.file
        text = path.read_text(encoding="utf-8")
        # The file may be a link to the sound one.
        path.unlink()
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")
