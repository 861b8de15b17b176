"""Families of tangles, many seeds of each, untangled by several methods: how often it works, how fast, at what cost.

A state is untangled with its clean state as the rest shape, and with its bodies. Figures are over all seeds of a
family, those that failed included. States are worked on in several processes, each on one thread: figures but for the
seconds do not depend on how many there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from unsnarl.bench.result import BenchResult
from unsnarl.bench.workers import worked_on
from unsnarl.errors import BadInput
from unsnarl.io import write_mesh
from unsnarl.io.whole import whole_file
from unsnarl.jit import thread_count
from unsnarl.mesh import TriMesh
from unsnarl.scenes.tangles import FAMILIES, Tangled, family
from unsnarl.scenes.tangles.canonical import canonical
from unsnarl.simulation.untangle import METHODS, Untangled, untangle
from unsnarl.tangles.paths import KINDS
from unsnarl.wardrobe.motions import named

SEEDS = range(50)
DEFAULT = ("rbf", "icm", "gia+icm")
STEPS = 400
_PERCENT = {"success", "edge change p95", "displacement max"}
_MOST_FAILURES = 12  # seeds that a table names


class TanglesResult(BenchResult):
    """Rows by family and method; `ratios` are shares of success, those of one method over those of the others.

    success          : share of the seeds at which no intersection is left
    kinds            : which kinds of path the states have
    steps, steps p95 : median and 95th percentile over the seeds
    seconds          : median
    edge change p95  : median of what 95 % of the edges have changed by, as a share of their length at rest
    displacement max : median of how far the vertex went that went farthest, as a share of the diagonal
    failures         : the seeds at which intersections are left
    disagree         : results called converged in which ipctk finds an intersection; None without ipctk
    topology         : results with other faces, uv or another number of vertices than the input
    errors           : runs that ended with an error; they count as failures
    """

    def __str__(self) -> str:
        keys = list(self.rows[0])
        cells = [keys] + [[_cell(key, row[key]) for key in keys] for row in self.rows]
        width = [max(len(row[i]) for row in cells) for i in range(len(keys))]
        lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, width)).rstrip() for row in cells]
        lines += ["", "untangled, of all states:"]
        lines += [f"  {method}: {_cell('success', share)}" for method, share in _shares(self.rows).items()]
        lines += [f"  {name}: {x if isinstance(x, str) else f'{x:.4g}'}" for name, x in self.ratios.items()]
        return "\n".join(lines)


def run(
    families: Iterable[str] | None = None,
    seeds: Iterable[int] = SEEDS,
    methods: Sequence[str] = DEFAULT,
    max_steps: int = STEPS,
    save: str | Path | None = None,
    workers: int | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> TanglesResult:
    """Rows by family and method (see `TanglesResult`).

    families : names in `FAMILIES`; by default all of them
    save     : a folder, new or empty, for the states that were not untangled: FAMILY-SEED-METHOD/ has the input
               (mesh_0.npz, rest_0.npz, body_0.npz, ...), the best state (best_0.npz, ...) and report.json
    workers  : processes, each on one thread; by default one for each core. 1: no other process is started
    progress : called after each state with which one it was, and the share that is done
    """
    families, seeds, methods = _listed(families, seeds, methods)
    _whole(max_steps, 0, "max_steps")
    workers = thread_count() if workers is None else _whole(workers, 1, "workers")
    folder = None if save is None else _empty_folder(Path(save))
    jobs = [(name, seed, methods, int(max_steps), folder) for name in families for seed in seeds]
    runs: dict[tuple[str, int], list[dict]] = {}
    for name, seed, found in worked_on(_work, jobs, min(workers, len(jobs)), partial(_warm_up, methods)):
        runs[name, seed] = found
        if progress is not None:
            progress(f"{name} {seed}", len(runs) / len(jobs))
    result = TanglesResult("tangles")
    for name in families:
        kinds = [kind for kind in KINDS if any(kind in r["kinds"] for seed in seeds for r in runs[name, seed])]
        for k, method in enumerate(methods):
            result.rows.append(_row(name, method, kinds, {seed: runs[name, seed][k] for seed in seeds}))
    shares = _shares(result.rows)
    base = "rbf" if "rbf" in methods else methods[0]
    for method in methods:
        if method != base:
            ratio = shares[base] / shares[method] if shares[method] else f"{method} untangled none"
            result.ratios[f"success of {base} over {method}"] = ratio
    return result


def markdown(rows: list[dict]) -> str:
    """The rows as a Markdown table."""
    keys = list(rows[0])
    lines = [keys, ["---"] * len(keys)] + [[_cell(key, row[key]) for key in keys] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# --- what is asked for ---


def _listed(families, seeds, methods) -> tuple[list[str], list[int], list[str]]:
    """Names and seeds in order, each once; `BadInput` where one does not exist."""
    families = list(dict.fromkeys(FAMILIES if families is None else families))
    seeds, methods = list(dict.fromkeys(seeds)), list(dict.fromkeys(methods))
    for what, given in (("family", families), ("seed", seeds), ("method", methods)):
        if not given:
            raise BadInput(f"there is no {what} to run")
    for name in families:
        named(FAMILIES, name, "family of tangles")
    for method in methods:
        if method not in METHODS:
            raise BadInput(f"there is no method {method!r}; there are {', '.join(METHODS)}")
    return families, [_whole(seed, 0, "a seed") for seed in seeds], methods


def _whole(value, least: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise BadInput(f"{what} must be a whole number from {least} on, not {value!r}")
    return int(value)


def _empty_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        full = any(folder.iterdir())
    except OSError as error:
        raise BadInput(f"{folder}: is not a folder to save to: {error.strerror}") from None
    if full:
        raise BadInput(f"{folder}: there is something in it already; failing states go into a new or empty folder")
    return folder.resolve()


# --- one state ---


def _warm_up(methods: list[str]) -> None:
    state = canonical("closed", 12)
    for method in methods:
        untangle(state.meshes, rest=state.clean, method=method, max_steps=20)


def _work(job: tuple) -> tuple[str, int, list[dict]]:
    """All methods on one state."""
    name, seed, methods, max_steps, folder = job
    try:
        state = family(name, seed)
    except Exception as error:  # one state less is better than a bench that ends after hours
        return name, seed, [_failed(error) for _ in methods]
    return name, seed, [_try(state, method, max_steps, folder) for method in methods]


def _try(state: Tangled, method: str, max_steps: int, folder: Path | None) -> dict:
    """One method on one state: what rows are made of. Where it fails, the state is kept in the folder."""
    result = None
    try:
        result = untangle(state.meshes, rest=state.clean, bodies=state.bodies, method=method, max_steps=max_steps)
        report = result.to_dict()
        out = {
            "kinds": list(result.before.counts),
            "converged": report["converged"],
            "steps": report["steps"],
            "seconds": report["seconds"],
            "edge_change": report["edge_change"]["p95"],
            "displacement": report["displacement"]["max"],
            "judged": report["certified"]["intersections"] is not None,
            "disagree": bool(report["converged"] and report["certified"]["intersections"]),
            "topology": not _same_cloth(state.meshes, result.meshes),
        }
    except Exception as error:
        out = report = _failed(error)
    good = out["converged"] and not out["disagree"] and not out["topology"]
    if folder is not None and not good:
        about = {"family": state.name, "seed": state.seed, "method": method, "max_steps": max_steps}
        _save(folder / f"{state.name}-{state.seed}-{method}", state, result, about | report)
    return out


def _failed(error: Exception) -> dict:
    """What rows are made of where there is no result."""
    said = f"{type(error).__name__}: {error}"
    return {"kinds": [], "converged": False, "judged": False, "disagree": False, "topology": False, "error": said}


def _same_cloth(before: Sequence[TriMesh], after: Sequence[TriMesh]) -> bool:
    return len(before) == len(after) and all(
        len(a.x) == len(b.x)
        and np.array_equal(a.faces, b.faces)
        and _equal(a.uv, b.uv)
        and _equal(a.face_uv, b.face_uv)
        for a, b in zip(before, after)
    )


def _equal(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)


def _save(folder: Path, state: Tangled, result: Untangled | None, report: dict) -> None:
    folder.mkdir()
    best = () if result is None else result.meshes
    for stem, meshes in (("mesh", state.meshes), ("rest", state.clean), ("body", state.bodies), ("best", best)):
        for k, mesh in enumerate(meshes):
            write_mesh(folder / f"{stem}_{k}.npz", mesh)
    with whole_file(folder / "report.json") as temporary:
        temporary.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


# --- rows ---


def _row(name: str, method: str, kinds: list[str], runs: dict[int, dict]) -> dict:
    """runs : seed -> what came of it"""
    failures = [seed for seed, r in runs.items() if not r["converged"]]

    def over_seeds(key: str, share: float = 0.5) -> float | None:
        values = [r[key] for r in runs.values() if key in r]
        return float(np.quantile(values, share)) if values else None

    return {
        "family": name,
        "method": method,
        "seeds": len(runs),
        "success": 1.0 - len(failures) / len(runs),
        "kinds": kinds,
        "steps": over_seeds("steps"),
        "steps p95": over_seeds("steps", 0.95),
        "seconds": over_seeds("seconds"),
        "edge change p95": over_seeds("edge_change"),
        "displacement max": over_seeds("displacement"),
        "failures": failures,
        "disagree": sum(r["disagree"] for r in runs.values()) if any(r["judged"] for r in runs.values()) else None,
        "topology": sum(r["topology"] for r in runs.values()),
        "errors": sum("error" in r for r in runs.values()),
    }


def _shares(rows: list[dict]) -> dict[str, float]:
    """method -> the share of all states that it untangled."""
    methods = dict.fromkeys(row["method"] for row in rows)
    of = {method: [row for row in rows if row["method"] == method] for method in methods}
    return {
        method: 1.0 - sum(len(r["failures"]) for r in some) / sum(r["seeds"] for r in some)
        for method, some in of.items()
    }


def _cell(key: str, value) -> str:
    if value is None:
        return "-"
    if key == "kinds":
        return " ".join(value) or "-"
    if key == "failures":
        more = len(value) - _MOST_FAILURES
        return (" ".join(map(str, value[:_MOST_FAILURES])) or "-") + (f" and {more} more" if more > 0 else "")
    if key in _PERCENT:
        return f"{100 * value:.1f} %"
    if key.startswith("steps"):
        return f"{value:,.0f}"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
