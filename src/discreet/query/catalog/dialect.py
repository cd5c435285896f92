"""How a text file is written, as a manifest declares it: nothing about it is guessed from the file.

csv = { delimiter = ";", encoding = "latin-1", null = ["", "NA"] }
"""

from collections.abc import Callable
from typing import Any

from discreet.errors import CatalogError
from discreet.query.catalog.section import mapping, only

ENCODINGS = ("utf-8", "latin-1", "windows-1252")

Settings = tuple[tuple[str, Any], ...]


def dialect(value: object, where: str) -> Settings:
    """Return the declared settings, each checked."""
    body = mapping(value, where)
    only(body, _CHECKS, where)
    settings = tuple((key, _CHECKS[key](body[key], f"{where}.{key}")) for key in _CHECKS if key in body)
    signs = [
        sign for key, sign in ({"delimiter": ",", "quote": '"'} | dict(settings)).items() if key in _SIGNS
    ]
    signs = [sign for sign in signs if sign]
    if len(set(signs)) != len(signs):
        raise CatalogError(
            f"{where}: delimiter, quote and escape must differ; a doubled quote needs no escape"
        )
    return settings


def _sign(value: object, where: str) -> str:
    if isinstance(value, str) and len(value) == 1 and value.isascii() and value not in "\r\n\0":
        return value
    raise CatalogError(f"{where} must be a single ASCII character other than a line break, got {value!r}")


def _sign_or_none(value: object, where: str) -> str:
    return "" if value == "" else _sign(value, where)


def _header(value: object, where: str) -> bool | tuple[str, ...]:
    if value is True:
        return True
    if isinstance(value, list | tuple) and value and all(isinstance(name, str) and name for name in value):
        return tuple(value)
    raise CatalogError(f"{where} must be true, or the list of all column names where the file has no header")


def _encoding(value: object, where: str) -> str:
    if value in ENCODINGS:
        return str(value)
    raise CatalogError(
        f"{where} must be one of {', '.join(ENCODINGS)}, got {value!r}; convert other files first"
    )


def _null(value: object, where: str) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list | tuple) and all(isinstance(text, str) and "\0" not in text for text in texts):
        return tuple(texts)
    raise CatalogError(
        f'{where} must be a text or a list of texts that mean a missing cell, such as ["", "NA"]'
    )


def _flag(value: object, where: str) -> bool:
    if isinstance(value, bool):
        return value
    raise CatalogError(f"{where} must be true or false, got {value!r}")


_SIGNS = ("delimiter", "quote", "escape")
_CHECKS: dict[str, Callable[[object, str], Any]] = {
    "delimiter": _sign,
    "quote": _sign_or_none,
    "escape": _sign_or_none,
    "header": _header,
    "encoding": _encoding,
    "null": _null,
    "multiline": _flag,
}
