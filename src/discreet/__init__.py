"""discreet answers questions about people without giving any one of them away.

    import discreet as dp

    data = dp.open("clinic.toml")      # or dp.open(people=frame, unit="person_id", epsilon=1)
    print(data.query("SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon=0.1))

The public names are listed once, in the stub `__init__.pyi`, where type checkers read them too.  Each is
loaded when it is first used, so importing the package is quick.
"""

from importlib import import_module
from sys import modules
from typing import Any

__version__ = "0.1.0"


def _stated() -> dict[str, str]:
    """Return where each public name lives, as the stub beside this file says it to type checkers."""
    stub = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi").decode()
    imports = (line.split() for line in stub.splitlines() if line.startswith("from "))
    return {words[3]: words[1] for words in imports}


_WHERE = _stated()

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    home = import_module(module)
    # A room named after its main function is callable: `dp.audit` is the same thing whoever loads it first.
    value = modules.get(f"discreet.{name}") or getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
