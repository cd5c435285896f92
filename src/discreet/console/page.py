"""Pages out of templates: every word in english.toml, every value escaped, nothing undefined passed over."""

import hashlib
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from discreet.console.door import PREFIX

ROOM = "discreet.console"


@cache
def english() -> Mapping[str, Any]:
    """Return all words that pages say."""
    return tomllib.loads(files(ROOM).joinpath("english.toml").read_text(encoding="utf-8"))


def say(key: str, **given: object) -> str:
    """Return the words of a key such as `ask.title`, with what was given in their places."""
    found: Any = english()
    for part in key.split("."):
        found = found[part]
    return str(found).format_map(given) if given else str(found)


@cache
def asset(name: str) -> str:
    """Return the address of a file of ours; a new version of it has a new address."""
    content = files(ROOM).joinpath("static").joinpath(name).read_bytes()
    return f"{PREFIX}/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader(ROOM),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"say": say, "asset": asset, "root": PREFIX}
    return made


def render(template: str, **shown: object) -> str:
    """Return a page."""
    return _environment().get_template(template).render(**shown)
