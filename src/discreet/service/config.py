"""One file that says how a service is run: the same names as the options of `discreet serve`."""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError
from discreet.service.people import FILE
from discreet.service.settings import Settings

_PATHS = frozenset(("people", "certificate", "key", "drafts"))
_PORTS = frozenset(("postgres_port", "metrics_port"))


def configured(path: Path) -> Settings:
    """Return the settings that a file declares; paths in it are relative to it."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ParameterError(f"the configuration {path} cannot be read: {error}") from None
    manifests = found.pop("manifests", None)
    if not isinstance(manifests, list) or not manifests or not all(isinstance(one, str) for one in manifests):
        raise ParameterError(f'{path}: say manifests = ["clinic.toml"]')
    given = {name: _value(path, name, value) for name, value in found.items()}
    places = tuple(path.parent / one for one in manifests)
    given.setdefault("people", places[0].parent / FILE)
    if "rate" in given:
        given.setdefault("burst", 2 * given["rate"])
    return Settings(places, **given)


def _value(path: Path, name: str, value: Any) -> Any:
    known = {field.name: field.default for field in fields(Settings) if field.name != "manifests"}
    if name not in known:
        raise ParameterError(f"{path}: {name!r} is no setting of the service; known: {', '.join(known)}")
    words, right = _form(name, known[name], value)
    if not right:
        raise ParameterError(f"{path}: {name} is {words}, got {value!r}")
    if name == "sources":
        return tuple(one if "://" in one else str(path.parent / one) for one in value)
    return path.parent / value if name in _PATHS else value


def _form(name: str, usual: Any, value: Any) -> tuple[str, bool]:
    """Return in words what a setting is, and whether a value is that."""
    truth = isinstance(value, bool)
    if name == "sources":
        return "a list of texts", isinstance(value, list) and all(isinstance(one, str) for one in value)
    if name in _PATHS or isinstance(usual, str):
        return "a text", isinstance(value, str)
    if isinstance(usual, bool):
        return "true or false", truth
    if name in _PORTS or isinstance(usual, int):
        return "a whole number", isinstance(value, int) and not truth
    return "a number", isinstance(value, int | float) and not truth
