"""Run every benchmark: python -m benchmarks [NAME ...]."""

import sys
from importlib import import_module
from pathlib import Path

APART = {"__main__", "__init__", "field", "peer"}


def main() -> None:
    names = sys.argv[1:] or sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in APART)
    for name in names:
        print(f"\n=== {name} ===", flush=True)
        # What a benchmark is told by itself chooses among its parts.
        sys.argv[1:] = []
        import_module(f"benchmarks.{name}").main()


main()
