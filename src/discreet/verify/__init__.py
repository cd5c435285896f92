"""Programs and their privacy: read them, run them, prove them private, or refute them with a witness."""

from discreet.verify.check import Checked, parse
from discreet.verify.run import run

__all__ = ["Checked", "parse", "run"]
