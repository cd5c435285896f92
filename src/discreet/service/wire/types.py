"""Types of values on the wire: their numbers and sizes, and how a value is written, as text and as bytes.

Between the processes a value is text, a list of texts (an array) or None; a parameter is a word for its kind
and a text.  Nothing is evaluated: a value that does not fit its type is a `Misfit`.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

MEDIA_TYPE = "application/vnd.discreet.wire+json"
"""How workers and the wire speak to each other; no request over HTTP can ask for it."""

Cell: TypeAlias = str | list[str | None] | None
Given: TypeAlias = tuple[str, str | None]
"""A parameter: whole, number, text, truth, date, moment, null or open (of no said type), and its text."""


class Misfit(Exception):  # noqa: N818
    """A value that its type cannot hold."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type of PostgreSQL: its number, its size (-1: it varies), and of what it is an array."""

    number: int
    size: int
    of: str | None = None


TYPES: dict[str, Type] = {
    "bool": Type(16, 1),
    "char": Type(18, 1),
    "name": Type(19, 64),
    "int8": Type(20, 8),
    "int2": Type(21, 2),
    "int4": Type(23, 4),
    "text": Type(25, -1),
    "oid": Type(26, 4),
    "float8": Type(701, 8),
    "varchar": Type(1043, -1),
    "date": Type(1082, 4),
    "timestamp": Type(1114, 8),
    "numeric": Type(1700, -1),
    "name[]": Type(1003, -1, "name"),
    "int2[]": Type(1005, -1, "int2"),
    "int4[]": Type(1007, -1, "int4"),
    "text[]": Type(1009, -1, "text"),
    "oid[]": Type(1028, -1, "oid"),
}
BY_NUMBER = {kind.number: name for name, kind in TYPES.items()}

EPOCH = date(2000, 1, 1)
_MOMENT = datetime(2000, 1, 1)
_PACKED = {"int2": "!h", "int4": "!i", "int8": "!q", "oid": "!I", "float8": "!d"}
_WORDS = frozenset(("text", "varchar", "name", "char"))

# What a client may name as the type of a parameter, and what that is here; unknown (0, 705) is left open.
_GIVEN = {21: "int2", 23: "int4", 20: "int8", 26: "oid", 700: "float4", 701: "float8", 1700: "numeric"}
_GIVEN |= {25: "text", 1043: "text", 1042: "text", 19: "text", 16: "bool", 1082: "date", 1114: "timestamp"}
OPEN = frozenset((0, 705))
_ARRAYS = frozenset(kind.number for kind in TYPES.values() if kind.of is not None)
"""What is taken as text only."""


def written(cell: Cell, kind: str, form: int) -> bytes | None:
    """Return a value as text (form 0) or as bytes (form 1)."""
    if cell is None:
        return None
    if isinstance(cell, list):
        return _array_text(cell).encode() if form == 0 else _array(cell, TYPES[kind].of or "text")
    return cell.encode() if form == 0 else packed(cell, kind)


def packed(cell: str, kind: str) -> bytes:
    """Return the bytes of a value of which the text is known."""
    try:
        if kind in _WORDS:
            return cell.encode()
        if kind == "bool":
            return b"\1" if cell == "t" else b"\0"
        if kind == "date":
            return struct.pack("!i", (date.fromisoformat(cell) - EPOCH).days)
        if kind == "timestamp":
            return struct.pack("!q", (datetime.fromisoformat(cell) - _MOMENT) // timedelta(microseconds=1))
        if kind == "numeric":
            return _numeric(Decimal(cell))
        return struct.pack(_PACKED[kind], float(cell) if kind == "float8" else int(cell))
    except (ValueError, KeyError, struct.error, InvalidOperation, OverflowError):
        raise Misfit(f"a value does not fit the type {kind}") from None


def _numeric(value: Decimal) -> bytes:
    """Return a decimal in digits to the base 10000."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise Misfit("a decimal is not finite")
    scale = max(-exponent, 0)
    whole = int("".join(map(str, digits)) or "0") * 10 ** max(exponent, 0) * 10 ** (-scale % 4)
    groups: list[int] = []
    while whole:
        whole, last = divmod(whole, 10_000)
        groups.insert(0, last)
    weight = len(groups) - 1 - (scale + 3) // 4
    while groups and not groups[-1]:
        groups.pop()
    head = struct.pack("!HhHH", len(groups), weight if groups else 0, 0x4000 if sign else 0, scale)
    return head + struct.pack(f"!{len(groups)}H", *groups)


def _array(cells: Sequence[str | None], kind: str) -> bytes:
    parts = [None if cell is None else packed(cell, kind) for cell in cells]
    head = struct.pack("!iiI", 1 if parts else 0, int(None in parts), TYPES[kind].number)
    sizes = struct.pack("!ii", len(parts), 1) if parts else b""
    told = [b"\xff\xff\xff\xff" if part is None else struct.pack("!i", len(part)) + part for part in parts]
    return head + sizes + b"".join(told)


def _array_text(cells: Sequence[str | None]) -> str:
    def quoted(cell: str | None) -> str:
        if cell is None:
            return "NULL"
        if cell and cell.upper() != "NULL" and not any(one in cell for one in '{}",\\ \t\n'):
            return cell
        escaped = cell.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    return f"{{{','.join(map(quoted, cells))}}}"


def given(value: bytes | None, number: int, form: int) -> Given:
    """Return a parameter that came as text (form 0) or as bytes (form 1) of the type of this number."""
    if value is None:
        return "null", None
    if number in OPEN and form == 0:
        return "open", _text(_decoded(value), "text")[1]
    kind = _GIVEN.get(number, "text" if form == 0 and number in _ARRAYS else None)
    if kind is None or form not in (0, 1):
        raise Misfit(f"parameters of the type number {number} are not understood")
    try:
        return _text(_decoded(value), kind) if form == 0 else _bytes(value, kind)
    except (ValueError, KeyError, struct.error, OverflowError, InvalidOperation):
        raise Misfit(f"a parameter is no {kind}") from None


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Misfit("a parameter is not UTF-8") from None


def _text(said: str, kind: str) -> Given:
    if "\0" in said:
        raise Misfit("a parameter has a zero byte")
    match kind:
        case "text":
            return "text", said
        case "int2" | "int4" | "int8" | "oid":
            return "whole", str(int(_plain(said)))
        case "bool":
            return "truth", _truth(_plain(said).lower())
        case "date":
            return "date", date.fromisoformat(said.strip()).isoformat()
        case "timestamp":
            return "moment", datetime.fromisoformat(said.strip()).isoformat(sep=" ")
        case _:
            return "number", _finite(Decimal(_plain(said)))


def _plain(said: str) -> str:
    """Return what stands for a number or a truth, without what Python alone would understand."""
    found = said.strip()
    if not found.isascii() or "_" in found:
        raise ValueError("not written as PostgreSQL does")
    return found


def _truth(said: str) -> str:
    """Return a truth value; what is neither is refused, since a guess would be paid for."""
    told = {"1": "true", "on": "true", "0": "false", "of": "false", "off": "false"}
    for word, meant in (("true", "true"), ("yes", "true"), ("false", "false"), ("no", "false")):
        told |= {word[:size]: meant for size in range(1, len(word) + 1)}
    return told[said]


def _bytes(value: bytes, kind: str) -> Given:
    match kind:
        case "text":
            return _text(value.decode(), kind)
        case "int2" | "int4" | "int8" | "oid":
            return "whole", str(struct.unpack(_PACKED[kind], value)[0])
        case "float4":
            return "number", _finite(Decimal(repr(struct.unpack("!f", value)[0])))
        case "float8":
            return "number", _finite(Decimal(repr(struct.unpack("!d", value)[0])))
        case "bool":
            return "truth", str(struct.unpack("!?", value)[0]).lower()
        case "date":
            return "date", (EPOCH + timedelta(days=struct.unpack("!i", value)[0])).isoformat()
        case "timestamp":
            micro = timedelta(microseconds=struct.unpack("!q", value)[0])
            return "moment", (_MOMENT + micro).isoformat(sep=" ")
        case _:
            return "number", _finite(_unpacked(value))


def _unpacked(value: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack("!HhHH", value[:8])
    digits = struct.unpack(f"!{count}H", value[8:])
    if sign not in (0, 0x4000) or any(digit > 9999 for digit in digits) or abs(weight) > 100 or scale > 400:
        raise ValueError("no plain decimal")
    # Written as digits and an exponent: a sum of decimals would be rounded.
    whole = tuple(int(one) for digit in digits for one in f"{digit:04d}")
    return Decimal((int(sign != 0), whole or (0,), 4 * (weight - count + 1)))


def _finite(value: Decimal) -> str:
    if not value.is_finite() or abs(value.adjusted()) > 400:
        raise Misfit("a parameter is not a finite number of ordinary size")
    return format(value, "f")
