"""Libraries that not everybody needs: whatever lacks one says which extra brings it, in one way."""

from importlib import import_module
from typing import Any

from discreet.errors import ExtraError


def library(module: str, extra: str, purpose: str) -> Any:
    """Return a module of a library that belongs to an extra, or say what needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise ExtraError(purpose, extra) from None
