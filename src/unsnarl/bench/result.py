"""What a bench returns: rows of figures, and how much faster than each peer we were in the same run."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass, field


@dataclass
class BenchResult:
    """name   : of the bench
    rows   : one dict a line of the table, all with the same keys
    ratios : peer -> the peer's time / ours (above 1: we are faster), or why the peer was skipped
    """

    name: str
    rows: list[dict] = field(default_factory=list)
    ratios: dict[str, float | str] = field(default_factory=dict)

    def add(self, row: dict) -> None:
        """Add a row; on a terminal, say so at once."""
        self.rows.append(row)
        if sys.stderr is not None and sys.stderr.isatty():
            done = (f"{key} {_text(value)}" for key, value in row.items() if value is not None)
            sys.stderr.write(f"{self.name}: {', '.join(done)}\n")

    def to_dict(self) -> dict:
        return {"name": self.name, "rows": self.rows, "ratios": self.ratios}

    def __str__(self) -> str:
        keys = list(self.rows[0])
        cells = [[_text(row[key]) for key in keys] for row in self.rows]
        width = [max(len(key), *(len(row[i]) for row in cells)) for i, key in enumerate(keys)]
        lines = ["  ".join(key.rjust(w) for key, w in zip(keys, width))]
        lines += ["  ".join(cell.rjust(w) for cell, w in zip(row, width)) for row in cells]
        lines += ["", "the peer's time / ours (above 1: unsnarl is faster):"]
        lines += [f"  {peer}: {_text(ratio)}" for peer, ratio in self.ratios.items()]
        return "\n".join(lines)


def _text(value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def best_time(function, repeat: int = 5):
    """(the shortest of several wall-clock times [s], what the function returned)."""
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        value = function()
        times.append(time.perf_counter() - began)
    return min(times), value


def peak_memory() -> float:
    """The most memory that this process has held so far [MiB]."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
