"""Running a script of the peers in their own environment."""

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / ".venv-peers" / "bin" / "python"


def ask(script: str, *arguments: str, timeout: float = 600) -> dict[str, Any]:
    """Return the JSON that a peer's script prints, or nothing when the peers are not installed."""
    if not PYTHON.exists():
        return {}
    path = ROOT / "benchmarks" / "peers" / f"{script}.py"
    done = subprocess.run(
        [str(PYTHON), str(path), *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 and lines else {}
