"""A manifest as text: the TOML of a document, which reads back as that very document."""

from collections.abc import Mapping
from datetime import date
from typing import Any


def written(document: Mapping[str, Any]) -> str:
    """Return a document as TOML: its sections, then each table with its columns."""
    parts = [_section(name, body) for name, body in document.items() if name != "tables"]
    for name, body in document.get("tables", {}).items():
        plain = {word: value for word, value in body.items() if word != "columns"}
        parts += [_section(f"tables.{key(name)}", plain)]
        parts += [_section(f"tables.{key(name)}.columns", body["columns"])] if "columns" in body else []
    return "\n".join(parts)


def _section(name: str, body: Mapping[str, Any]) -> str:
    width = max((len(key(word)) for word in body), default=0)
    lines = [f"{key(word):<{width}} = {_value(value)}" for word, value in body.items()]
    return "\n".join([f"[{name}]", *lines]) + "\n"


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case date():
            return value.isoformat()
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return f"{{ {', '.join(f'{key(word)} = {_value(one)}' for word, one in value.items())} }}"
        case _:
            return f'"{escaped(str(value))}"'


def key(name: str) -> str:
    """Return a name as TOML writes it before an equals sign."""
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else f'"{escaped(name)}"'


def escaped(text: str) -> str:
    """Return a text as TOML writes it between quotes."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in plain)
