"""D's experiments, by its own method: does it converge, in how many steps, and do red vertices ever become more?

    rudimentary : D's six cases, at ten resolutions each                                        [D §9.1, fig. 13]
    bli         : the kind that D leaves out, at ten resolutions, several seeds each
    handkerchief: the exploded handkerchief, beside `gia+icm` and D's figures                   [D §9.2, fig. 14, 15]
    ensembles   : four ensembles with seams; how many finesses of which type, and how long      [D §9.3, table 1]
    dragging    : a jacket that is dragged about by hand while it is untangled                  [D §9.3, fig. 16 e]

Every result that is called converged is judged by ipctk. States are worked on in several processes, each on one thread:
figures but for the seconds do not depend on how many there are. Dragging is timed alone, on all threads.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from unsnarl.bench.result import BenchResult
from unsnarl.bench.workers import worked_on
from unsnarl.errors import BadInput
from unsnarl.jit import thread_count
from unsnarl.scenes import dragged_jacket, shaken_ensembles
from unsnarl.scenes.claims import judge_disagrees
from unsnarl.scenes.dragged_jacket import Session, risen
from unsnarl.scenes.tangles import exploded_handkerchief, rudimentary
from unsnarl.simulation.untangle import untangle
from unsnarl.tangles.check import check
from unsnarl.untangle.uv import KINDS as TYPES
from unsnarl.wardrobe.tanglers.state import Tangled

PARTS = ("rudimentary", "bli", "handkerchief", "ensembles", "dragging")
SEEDS = exploded_handkerchief.SEEDS
MANY = 50  # of the seeds, at most, for BLI
STEPS = 2_000  # at most; D gave the methods before it 2,000 more than its own
BALLS = {"44 others": exploded_handkerchief.RADIUS, "7,800 segments": exploded_handkerchief.WIDER}
TITLES = {
    "rudimentary": "D's six rudimentary cases: steps until nothing crosses, by squares along a side",
    "bli": "BLI, which D leaves out",
    "handkerchief": "the exploded handkerchief",
    "ensembles": "ensembles, tangled while cloth could pass through cloth",
    "table 1": "D's table 1: finesses by type, and steps from their beginning to their end",
    "dragging": "a garment that is dragged by hand while it is untangled",
}
_HIDDEN = {"part", "paper", "steps looked at", "resolutions", "by resolution"}
_MOST_FAILURES = 12  # seeds that a table names

# The paper's figures. Table 1 calls fig. 16 a to e fig. 15; the last share of d is printed as 5.64, but 74 of 1,593 are
# 4.65.
PAPER_STEPS, PAPER_SEGMENTS, PAPER_RED, PAPER_LEFT = 75, 7_801, 163, {"LL": 3}  # the exploded handkerchief
PAPER_ENSEMBLES = 161  # steps on average
PAPER_FPS, PAPER_VERTICES = 1.56, 4_183  # while dragging
TABLE_1 = {  # type -> number, share [%], steps
    "trousers_and_tshirt": {"OffSeam": (571, 92.24, 6.10), "OnSeam-A": (42, 6.79, 7.86), "OnSeam-B": (6, 0.97, 6.30)},
    "shirt_under_jacket": {
        "OffSeam": (1_390, 91.27, 9.88),
        "OnSeam-A": (121, 7.94, 10.57),
        "OnSeam-B": (12, 0.79, 11.01),
    },
    "circle_skirt": {"OffSeam": (898, 90.25, 7.53), "OnSeam-A": (75, 7.54, 7.10), "OnSeam-B": (22, 2.21, 6.90)},
    "dress_over_trousers": {
        "OffSeam": (1_451, 91.09, 6.84),
        "OnSeam-A": (68, 4.27, 7.02),
        "OnSeam-B": (74, 5.64, 6.59),
    },
    "dragged_jacket": {"OffSeam": (2_192, 82.81, 5.76), "OnSeam-A": (357, 13.49, 5.90), "OnSeam-B": (98, 3.70, 5.11)},
}
PAPER_SCENE = dict(zip(TABLE_1, "abcde"))


class ConvergenceResult(BenchResult):
    """Rows of several tables; `part` says which. `curve` is fig. 15's: see `show.convergence`.

    resolved  : results in which the exact test finds no intersection
    steps     : median over those, and `p95` their 95th percentile
    rises     : steps of `uv`, in which red vertices became more than they were in the step before
    disagree  : results called converged in which ipctk finds an intersection; None without ipctk
    failures  : what was not resolved
    """

    curve: dict | None = None

    def to_dict(self) -> dict:
        return super().to_dict() | {"counts": self.counts, "curve": self.curve}

    @property
    def counts(self) -> dict[str, int | None]:
        """Over all rows: results called converged, those that ipctk disputes, steps of `uv`, those with more red."""
        judged = [row for row in self.rows if row.get("disagree") is not None]
        return {
            "converged": sum(row.get("resolved", 0) for row in self.rows if not row.get("paper")),
            "disagree": sum(row["disagree"] for row in judged) if judged else None,
            "steps": sum(row.get("steps looked at") or 0 for row in self.rows),
            "rises": sum(row.get("rises") or 0 for row in self.rows),
        }

    def __str__(self) -> str:
        lines = []
        for title, cells in tables(self.rows):
            width = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
            lines += [title, *("  ".join(c.rjust(w) for c, w in zip(row, width)).rstrip() for row in cells), ""]
        counts = self.counts
        said = (
            "ipctk is not installed" if counts["disagree"] is None else f"of which ipctk disputes {counts['disagree']}"
        )
        lines += [
            f"results called converged: {counts['converged']:,}, {said}",
            f"steps in which red vertices became more: {counts['rises']:,} of {counts['steps']:,}",
            *(f"{name}: {ratio:.3g}" for name, ratio in self.ratios.items()),
        ]
        return "\n".join(lines)


def run(
    seeds: Iterable[int] = SEEDS,
    parts: Sequence[str] = PARTS,
    max_steps: int = STEPS,
    workers: int | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> ConvergenceResult:
    """Rows of the parts that are asked for (see `ConvergenceResult`).

    seeds    : of the handkerchief; the first 50 of them are BLI's too
    workers  : processes, each on one thread; by default one for each core. 1: no other process is started
    progress : called after each state with which one it was, and the share that is done
    """
    seeds, parts = list(dict.fromkeys(seeds)), list(dict.fromkeys(parts))
    _refuse(seeds, parts, max_steps, workers)
    tell = progress or (lambda what, share: None)
    jobs = [job for part in PARTS if part in parts for job in _jobs(part, seeds)]
    alone = len(jobs) // 10 + 1 if "dragging" in parts else 0  # what it counts for in the progress
    found: dict[tuple, dict] = {}
    if jobs:
        work = partial(_work, max_steps)
        workers = min(thread_count() if workers is None else workers, len(jobs))
        for job, what in worked_on(work, jobs, workers, _warm_up):
            found[job] = what
            tell(" ".join(map(str, job)), len(found) / (len(jobs) + alone))
    result = ConvergenceResult("convergence")
    for part in PARTS:
        if part in parts and part != "dragging":
            _ROWS[part](result, {job: what for job, what in found.items() if job[0] == part})
    if "dragging" in parts:
        done = len(jobs) / (len(jobs) + alone)
        session = dragged_jacket.run(dragged_jacket.build(), lambda share: tell("dragging", done + (1 - done) * share))
        _dragging(result, session)
    return result


def tables(rows: list[dict]) -> list[tuple[str, list[list[str]]]]:
    """(title, cells by row, the first row being the head), for each part of which there are rows."""
    out = []
    for part, title in TITLES.items():
        some = [row for row in rows if row["part"] == part]
        if not some:
            continue
        by = some[0].get("resolutions", [])
        keys = [key for key in some[0] if key not in _HIDDEN]
        cells = [keys + [str(r) for r in by]]
        for row in some:
            cells.append(
                [_cell(key, row[key]) for key in keys] + [_cell("steps", s) for s in row.get("by resolution", [])]
            )
        out.append((title, cells))
    return out


def markdown(rows: list[dict]) -> str:
    """The tables in Markdown."""
    blocks = []
    for title, (head, *body) in tables(rows):
        lines = [head, ["---"] * len(head), *body]
        blocks.append(f"**{title}**\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines))
    return "\n\n".join(blocks)


def _refuse(seeds, parts, max_steps, workers) -> None:
    """`BadInput` for what there is not."""
    for part in parts:
        if part not in PARTS:
            raise BadInput(f"there is no part {part!r}; there are {', '.join(PARTS)}")
    for what, given in (("part", parts), ("seed", seeds)):
        if not given:
            raise BadInput(f"there is no {what} to run")
    for what, given, least in (
        *(("a seed", s, 0) for s in seeds),
        ("max_steps", max_steps, 0),
        ("workers", workers, 1),
    ):
        if what == "workers" and given is None:
            continue
        if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < least:
            raise BadInput(f"{what} must be a whole number from {least} on, not {given!r}")


# --- one state ---


def _jobs(part: str, seeds: list[int]) -> list[tuple]:
    """(part, method, what makes the state) for each state of a part."""
    if part == "rudimentary":
        return [(part, "uv", kind, n) for kind in rudimentary.RUDIMENTARY for n in rudimentary.RESOLUTIONS]
    if part == "bli":
        return [(part, "uv", n, seed) for n in rudimentary.RESOLUTIONS for seed in seeds[:MANY]]
    if part == "handkerchief":
        return [(part, m, ball, s) for ball in BALLS for m in ("uv", "gia+icm") for s in seeds]
    return [(part, "uv", name) for name in shaken_ensembles.ENSEMBLES] if part == "ensembles" else []


def _state(part: str, *which) -> Tangled:
    if part == "rudimentary":
        return rudimentary.build(*which)
    if part == "bli":
        return rudimentary.build(rudimentary.LEFT_OUT, *which)
    if part == "handkerchief":
        return exploded_handkerchief.build(which[1], BALLS[which[0]])
    return shaken_ensembles.build(*which)


def _warm_up() -> None:
    state = rudimentary.build("closed", 12)
    for method in ("uv", "gia+icm"):
        untangle(state.meshes, rest=state.clean, method=method, max_steps=20)


def _work(max_steps: int, job: tuple) -> tuple[tuple, dict]:
    """The job, and what came of its state."""
    part, method, *which = job
    state = _state(part, *which)
    before = check(state.meshes, bodies=state.bodies)
    times = []
    result = untangle(
        state.meshes, rest=state.clean, bodies=state.bodies, method=method, max_steps=max_steps,
        progress=lambda entry: times.append(time.perf_counter()),
    )  # fmt: skip
    red = [entry["red_vertices"] for entry in result.history]
    return job, {
        "vertices": sum(len(mesh.x) for mesh in state.meshes),
        "hits": len(before.hits),
        "kinds": before.counts,
        "segments": len(before.segments),
        "triangles": len(before.crossing_faces),
        "converged": result.converged,
        "steps": result.steps,
        "seconds": result.seconds,
        "red": red,
        "ms": [1e3 * t for t in np.diff(times)],
        "rises": risen(red),
        "judged": result.certified["intersections"] is not None,
        "disagree": bool(result.converged and result.certified["intersections"]),
        "left": result.report.counts,
        "finesses": [(finesse.kind, finesse.steps) for finesse in result.finesses],
        "original": all(np.array_equal(a.rest, b.rest) for a, b in zip(state.meshes, result.meshes)),
    }


# --- rows ---


def _over(some: Sequence[dict], of_uv: bool = True) -> dict:
    """What all rows have that are made of several states."""
    converged = [one for one in some if one["converged"]]
    steps = [one["steps"] for one in converged]
    return {
        "resolved": len(converged),
        "steps": float(np.median(steps)) if steps else None,
        "steps p95": float(np.quantile(steps, 0.95)) if steps else None,
        "most": max(steps, default=None),
        "disagree": sum(one["disagree"] for one in some) if any(one["judged"] for one in some) else None,
        "rises": sum(one["rises"] for one in some) if of_uv else None,
        "steps looked at": sum(one["steps"] for one in some) if of_uv else None,
    }


def _rudimentary(result: ConvergenceResult, found: dict) -> None:
    for kind in rudimentary.RUDIMENTARY:
        some = {job[3]: one for job, one in found.items() if job[2] == kind}
        resolutions = sorted(some)
        over = _over(list(some.values()))
        del over["steps p95"], over["most"]
        result.rows.append(
            {"part": "rudimentary", "kind": kind.upper(), "states": len(some)}
            | over
            | {"resolutions": resolutions, "by resolution": [_steps(some[n]) for n in resolutions]}
        )


def _bli(result: ConvergenceResult, found: dict) -> None:
    for n in rudimentary.RESOLUTIONS:
        some = {job[3]: one for job, one in sorted(found.items()) if job[2] == n}
        failures = [seed for seed, one in some.items() if not one["converged"]]
        result.rows.append(
            {"part": "bli", "resolution": n, "states": len(some)} | _over(list(some.values())) | {"failures": failures}
        )


def _handkerchief(result: ConvergenceResult, found: dict) -> None:
    def row(name, states, segments, triangles, over: dict, left: dict, failures=(), paper=True) -> dict:
        return {
            "part": "handkerchief", "method": name, "states": states, "segments": segments, "triangles": triangles,
            **over, "left": left, "failures": list(failures), "paper": paper,
        }  # fmt: skip

    for ball in BALLS:
        for method in ("uv", "gia+icm"):
            some = {job[3]: one for job, one in sorted(found.items()) if job[1:3] == (method, ball)}
            over = _over(list(some.values()), method == "uv")
            left = Counter()
            for one in some.values():
                left.update(one["left"])
            size = [float(np.median([one[key] for one in some.values()])) for key in ("segments", "triangles")]
            failures = [seed for seed, one in some.items() if not one["converged"]]
            result.rows.append(row(f"{method}, {ball}", len(some), *size, over, left, failures, paper=False))
            if method == "uv" and over["steps"] is not None:
                result.ratios[f"handkerchief of {ball}: D's steps over ours"] = PAPER_STEPS / max(over["steps"], 1.0)
            if method == "uv" and result.curve is None:
                seed, one = next(iter(some.items()))
                result.curve = {"seed": seed, "red": one["red"], "ms": one["ms"]}
    for name, resolved, steps, left in (
        ("D's method, in D", 1, PAPER_STEPS, {}),
        ("those before it, in D", 0, None, PAPER_LEFT),
    ):
        over = dict.fromkeys(_over([])) | {"resolved": resolved, "steps": steps, "most": steps}
        result.rows.append(row(name, 1, PAPER_SEGMENTS, PAPER_RED, over, left))


def _ensembles(result: ConvergenceResult, found: dict) -> None:
    for (_, _, name), one in found.items():
        over = _over([one])
        result.rows.append(
            {
                "part": "ensembles", "ensemble": name, "vertices": one["vertices"], "hits": one["hits"],
                "kinds": one["kinds"], "resolved": over["resolved"], "steps": one["steps"],
                "D's, on average": PAPER_ENSEMBLES, "rest shapes kept": one["original"], "seconds": one["seconds"],
                "left": one["left"], "disagree": over["disagree"], "rises": over["rises"],
                "steps looked at": over["steps looked at"],
            }
        )  # fmt: skip
    for (_, _, name), one in found.items():
        _table_1(result, name, one["finesses"])
    steps = [one["steps"] for one in found.values()]
    result.ratios["ensembles: D's steps on average over ours"] = PAPER_ENSEMBLES / max(float(np.mean(steps)), 1.0)


def _table_1(result: ConvergenceResult, name: str, finesses: list[tuple[str, int]]) -> None:
    for kind in TYPES:
        steps = [s for k, s in finesses if k == kind]
        number, share, long = TABLE_1[name][kind]
        result.rows.append(
            {
                "part": "table 1", "scene": name, "type": kind, "number": len(steps),
                "share": len(steps) / len(finesses) if finesses else None,
                "steps": float(np.mean(steps)) if steps else None, "D's": f"fig. 16 {PAPER_SCENE[name]}",
                "D's number": number, "D's share": share / 100.0, "D's steps": long,
            }
        )  # fmt: skip


def _dragging(result: ConvergenceResult, session: Session) -> None:
    alone = session.red[session.dragged :]
    end = session.reports[-1]
    result.rows.append(
        {
            "part": "dragging", "vertices": len(end.mesh.x) - sum(p.vertices for p in end.parts if p.body),
            "steps": len(session.seconds), "dragged": session.dragged, "most hits": max(session.hits),
            "hits when let go": session.hits[session.dragged], "resolved": int(session.free is not None),
            "steps until free": session.free, "left": end.counts, "rest shapes kept": session.original,
            "steps a second": session.steps_per_second, "D's": PAPER_FPS,
            "slowest ms": 1e3 * max(session.seconds), "threads": thread_count(),
            "disagree": int(judge_disagrees(end)) if end.clean else 0,
            "rises": risen(alone), "steps looked at": len(alone) - 1,
        }
    )  # fmt: skip
    _table_1(result, "dragged_jacket", [(finesse.kind, finesse.steps) for finesse in session.finesses])
    result.ratios["dragging: our steps a second over D's"] = session.steps_per_second / PAPER_FPS


_ROWS = {"rudimentary": _rudimentary, "bli": _bli, "handkerchief": _handkerchief, "ensembles": _ensembles}


def _steps(one: dict) -> int | None:
    return one["steps"] if one["converged"] else None


def _cell(key: str, value) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return " ".join(f"{kind} {n}" for kind, n in value.items()) or "-"
    if isinstance(value, list):
        more = len(value) - _MOST_FAILURES
        return (" ".join(map(str, value[:_MOST_FAILURES])) or "-") + (f" and {more} more" if more > 0 else "")
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if "share" in key:
        return f"{100 * value:.1f} %"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
