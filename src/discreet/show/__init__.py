"""Charts: pure functions from mechanisms or plain rows to pictures, and the files they are saved in.

The mechanisms that are drawn are heavy to load, so that waits until the first picture is asked for.
"""

from importlib import import_module
from typing import Any

from discreet.show.number import format_number
from discreet.show.save import html, png, save, svg

_LATER = {
    "chart": ("bars", "heatmap", "lines", "stacked", "steps"),
    "graph": ("network", "networks"),
    "law": ("accuracy", "laws", "log_ratios", "portrait"),
    "selection": (
        "channel",
        "choice_portrait",
        "choice_ratios",
        "choices",
        "detection",
        "keeping",
        "landscape",
        "shortfalls",
    ),
}
_HOME = {name: home for home, names in _LATER.items() for name in names}

__all__ = [*_HOME, "format_number", "html", "png", "save", "svg"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
