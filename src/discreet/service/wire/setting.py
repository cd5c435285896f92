"""Settings of one connection: the price of questions, and what clients of PostgreSQL expect to say.

A value is text.  It lives until the connection ends; what is set in a transaction that is given up, or with
SET LOCAL, lives until that ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.service.wire.fault import Fault

VERSION = "16.0 (discreet)"

ABOUT: Mapping[str, str] = {
    "server_version": VERSION,
    "server_version_num": "160000",
    "server_encoding": "UTF8",
    "integer_datetimes": "on",
    "is_superuser": "off",
    "default_transaction_isolation": "read committed",
    "transaction_isolation": "read committed",
    "transaction isolation level": "read committed",
    "transaction_read_only": "on",
    "in_hot_standby": "off",
    "max_identifier_length": "63",
    "scram_iterations": "4096",
    "default_table_access_method": "heap",
    "max_index_keys": "32",
    "lc_collate": "C.UTF-8",
}
"""What can be seen and not be set."""

OURS: Mapping[str, str] = {
    "discreet.epsilon": "",
    "discreet.within": "",
    "discreet.confidence": "0.95",
    "discreet.delta": "",
    "discreet.intervals": "off",
    "discreet.postprocess": "on",
    "discreet.request_id": "",
    "discreet.rows_per_unit": "",
    "discreet.groups_per_unit": "",
    "discreet.rows_per_group": "",
    "discreet.rows_at_most": "",
    "discreet.weighted_keys": "off",
}

THEIRS: Mapping[str, str] = {
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "application_name": "",
    "extra_float_digits": "1",
    "client_min_messages": "notice",
    "search_path": '"$user", public',
    "bytea_output": "hex",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "default_transaction_read_only": "on",
    "default_transaction_deferrable": "off",
    "session_authorization": "",
    "row_security": "on",
    "jit": "off",
    "synchronize_seqscans": "on",
    "tcp_keepalives_idle": "0",
}
_ONLY = {
    "client_encoding": (("utf8", "utf-8", "unicode"), "UTF8"),
    "standard_conforming_strings": (("on", "true", "1", "yes"), "on"),
}
"""What can be set to one value alone, since another would change what bytes mean."""

TOLD = (
    "client_encoding",
    "standard_conforming_strings",
    "application_name",
    "TimeZone",
    "DateStyle",
    "IntervalStyle",
)
"""What clients are told of at once when it changes."""

_SPELT = {name.lower(): name for name in TOLD}
_DEAREST = 256


@dataclass(slots=True)
class SessionSettings:
    """The settings of a connection; `first` are the values it began with."""

    first: Mapping[str, str] = field(default_factory=dict)
    _now: dict[str, str] = field(default_factory=dict)
    _local: dict[str, str] = field(default_factory=dict)
    _before: dict[str, str] | None = None

    def show(self, name: str) -> str:
        """Return the value of a setting."""
        for known in (self._local, self._now, self.first, OURS, THEIRS, ABOUT):
            if name in known:
                return known[name]
        raise unknown(name)

    def all(self) -> list[tuple[str, str]]:
        """Return every setting with its value."""
        return [(name, self.show(name)) for name in sorted({*OURS, *THEIRS, *ABOUT})]

    def set(self, name: str, value: str | None, *, local: bool = False) -> tuple[str, str] | None:
        """Give a setting a value, or with None its first one; return what the client is to be told of it."""
        if value is None:
            self._local.pop(name, None)
            self._now.pop(name, None)
            self.show(name)
        else:
            if local and self._before is None:
                return None
            place = self._local if local else self._now
            place |= checked(name, value)
            if not local:
                self._local.pop(name, None)
        spelt = _SPELT.get(name)
        return None if spelt is None else (spelt, self.show(name))

    def reset(self) -> None:
        """Give every setting its first value."""
        self._now.clear()
        self._local.clear()

    def begin(self) -> None:
        """Remember the settings of before a transaction."""
        self._before = dict(self._now)

    def end(self, *, kept: bool) -> None:
        """Forget what was local to a transaction, and all that was set in it where it was given up."""
        if not kept and self._before is not None:
            self._now = self._before
        self._before = None
        self._local.clear()

    @property
    def intervals(self) -> bool:
        """Return whether rows come with the ends of their intervals."""
        return self.show("discreet.intervals") == "on"

    @property
    def postprocess(self) -> bool:
        """Return whether values are shown as they can be, or as they were drawn."""
        return self.show("discreet.postprocess") == "on"

    @property
    def key(self) -> str | None:
        """Return the key under which a question is paid once, if one is set."""
        return self.show("discreet.request_id") or None

    @property
    def price(self) -> dict[str, Any]:
        """Return what a question is to cost, as it is sent to whoever answers it."""
        limits: dict[str, int | bool] = {
            name: int(self.show(f"discreet.{name}"))
            for name in ("rows_per_unit", "groups_per_unit", "rows_per_group", "rows_at_most")
            if self.show(f"discreet.{name}")
        }
        if self.show("discreet.weighted_keys") == "on":
            limits["weighted_keys"] = True
        return {
            "epsilon": self.show("discreet.epsilon") or None,
            "within": self.show("discreet.within") or None,
            "confidence": self.show("discreet.confidence"),
            "delta": self.show("discreet.delta") or None,
            "limits": limits or None,
        }


def unknown(name: str) -> Fault:
    """Return the refusal of a setting that there is not."""
    known = ", ".join(OURS)
    return Fault("42704", f"there is no setting {name[:63]!r}", f"those of discreet are {known}")


def checked(name: str, value: str) -> dict[str, str]:
    """Return what changes when a setting gets this value."""
    if name in ABOUT:
        raise Fault("55P02", f"{name} cannot be changed", "leave it as it is")
    if name not in OURS and name not in THEIRS:
        raise unknown(name)
    if len(value) > _DEAREST or not value.isprintable():
        raise _no(name, f"a text of at most {_DEAREST} printable characters")
    if name in _ONLY:
        values, only = _ONLY[name]
        if value.lower().strip("'") not in values:
            raise _no(name, only)
        return {name: only}
    if name == "datestyle" and "iso" not in value.lower():
        raise _no(name, "ISO")
    if name in ("discreet.intervals", "discreet.postprocess", "discreet.weighted_keys"):
        return {name: _switch(name, value)}
    if name in ("discreet.epsilon", "discreet.within") and value:
        # A question has one of the two; the one that was said last is meant.
        return {"discreet.epsilon": "", "discreet.within": "", name: value}
    limit = name.endswith(("_per_unit", "_per_group", "_at_most"))
    if limit and value and not (value.isascii() and value.isdecimal()):
        raise _no(name, "a whole number")
    if (
        name == "discreet.request_id"
        and value
        and not (value.isascii() and " " not in value and len(value) <= 100)
    ):
        raise _no(name, "at most 100 characters of ASCII without spaces")
    return {name: value}


def _switch(name: str, value: str) -> str:
    match value.lower():
        case "on" | "true" | "yes" | "1":
            return "on"
        case "off" | "false" | "no" | "0" | "":
            return "off"
        case _:
            raise _no(name, "on or off")


def _no(name: str, instead: str) -> Fault:
    return Fault("22023", f"{name} cannot have this value", f"it can be {instead}")


def startup(said: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the settings a connection begins with, and the options of the protocol that are not known."""
    found: dict[str, str] = {}
    unheard: list[str] = []
    for name, value in said.items():
        if name.startswith("_pq_."):
            unheard.append(name)
        elif name == "options":
            for key, chosen in options(value):
                found |= checked(key, chosen)
        elif name not in ("user", "database", "replication"):
            found |= checked(name.lower(), value)
    return found, unheard


def options(text: str) -> list[tuple[str, str]]:
    """Return the settings in the words of a command line: -c name=value or --name=value."""
    words, word, escaped = [], "", False
    for one in f"{text} ":
        if escaped or (one != "\\" and not one.isspace()):
            word, escaped = word + one, False
        elif one == "\\":
            escaped = True
        elif word:
            words.append(word)
            word = ""
    found = []
    while words:
        first = words.pop(0)
        if first == "-c" and words:
            first = words.pop(0)
        elif first.startswith(("-c", "--")):
            first = first[2:]
        else:
            raise Fault("42601", "options are -c name=value", "write -c discreet.epsilon=0.1")
        name, _, value = first.partition("=")
        found.append((name.strip().lower().replace("-", "_"), value))
    return found
