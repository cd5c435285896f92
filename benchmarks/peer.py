"""Running a script of the peers in an environment of theirs."""

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def ask(
    script: str, *arguments: str, timeout: float = 600, environment: str = ".venv-peers"
) -> dict[str, Any]:
    """Return the JSON that a peer's script prints, or nothing when the peer is not installed."""
    python = ROOT / environment / "bin" / "python"
    if not python.exists():
        return {}
    path = ROOT / "benchmarks" / "peers" / f"{script}.py"
    done = subprocess.run(
        [str(python), str(path), *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 and lines else {}
