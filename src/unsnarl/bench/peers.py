"""Peers that need an environment of their own run there, as subprocesses; `make peers` makes it.

`peer_*.py` beside this file are the scripts that run there: they know nothing of unsnarl and get their input in files.

The environment is looked for in UNSNARL_PEERS (its Python), then in `.venv-peers` in the current folder and in those
above it.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

BLENDER, NEWTON, PYMESHLAB = (
    Path(__file__).with_name(f"peer_{name}.py") for name in ("blender", "newton", "pymeshlab")
)
NOT_INSTALLED = "skipped: not installed (make peers)"


def peers_python() -> str | None:
    """The Python of the peers' environment, or None."""
    if os.environ.get("UNSNARL_PEERS"):
        return os.environ["UNSNARL_PEERS"]
    for folder in (Path.cwd(), *Path.cwd().parents):
        python = folder / ".venv-peers" / "bin" / "python"
        if python.exists():
            return str(python)
    return None


def run_peer(script: Path, *arguments: str, timeout: float = 1800) -> dict | str:
    """Run a script with the peers' Python; its last line of output is JSON. A str says why there is no result."""
    python = peers_python()
    if python is None:
        return NOT_INSTALLED
    try:
        done = subprocess.run([python, str(script), *arguments], capture_output=True, text=True, timeout=timeout)
    except OSError as error:
        return f"skipped: {python}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"skipped: not done after {timeout:g} s"
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return NOT_INSTALLED if "ModuleNotFoundError" in last else f"skipped: failed: {last}"
    return json.loads(done.stdout.strip().splitlines()[-1])
