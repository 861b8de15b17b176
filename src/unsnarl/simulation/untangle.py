"""`untangle`: meshes are moved until nothing crosses anything; and the result, with its figures.

The work is done by a quasi-static run (`simulation.quasi_static`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.frames import Frames
from unsnarl.jit import ints
from unsnarl.mesh import TriMesh
from unsnarl.simulation.from_rest import draw_back, from_rest
from unsnarl.simulation.quasi_static import Run, entry_of, sides
from unsnarl.simulation.scene import Cloth
from unsnarl.tangles.check import check, meshes_of
from unsnarl.tangles.report import TangleReport
from unsnarl.untangle import METHODS as UNTANGLING
from unsnarl.untangle.layers import in_layers
from unsnarl.untangle.uv import Finesse

METHODS = (*UNTANGLING, "from_rest")
WORN = 0.05  # of the edges' lengths: if they differ more than that, `auto` asks what `from_rest` makes of it
NET = 100  # steps that `auto` keeps for `from_rest`, of many
FOLLOW = 100  # steps, at most, in which a clean mesh is drawn to where it should be


@dataclass(frozen=True, eq=False)
class Untangled:
    """What came of untangling.

    meshes    : the meshes, moved; nothing else about them is changed
    rest      : in the shape that they should have
    converged : whether the exact test finds no intersection, of cloths with themselves, each other and bodies
    method    : how
    steps     : that it took, without those of relaxing
    history   : for each step {"step", "ef_pairs", "paths", "red_vertices"}, the first being the input
    report    : what is left
    before    : what there was
    certified : {"by", "intersections"}, ipctk's verdict; both None where it is not installed
    turns     : the methods that had their turn, one after the other: of `auto` there may be several
    finesses  : what `uv` pulled out, one after the other
    shapes    : [(step, x (n, 3) of all cloths)], if they were asked for
    seconds   : how long it took
    """

    meshes: tuple[TriMesh, ...]
    rest: tuple[TriMesh, ...]
    converged: bool
    method: str
    steps: int
    history: list[dict]
    report: TangleReport
    before: TangleReport
    certified: dict
    turns: tuple[str, ...] = ()
    finesses: list[Finesse] = field(default_factory=list)
    shapes: list[tuple[int, np.ndarray]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def mesh(self) -> TriMesh:
        """The mesh, where there is only one."""
        if len(self.meshes) != 1:
            raise BadInput(f"{len(self.meshes)} meshes were untangled: they are in `meshes`")
        return self.meshes[0]

    def to_dict(self) -> dict:
        """The result as plain numbers, ready for JSON."""
        n = sum(len(m.x) for m in self.meshes)
        x0, x1 = self.before.mesh.x[:n], self.report.mesh.x[:n]
        diagonal = float(np.linalg.norm(np.ptp(x0, axis=0))) or 1.0
        out = {
            "converged": self.converged,
            "method": self.method,
            "steps": self.steps,
            "initial_ef_pairs": len(self.before.hits),
            "final_ef_pairs": len(self.report.hits),
            "history": self.history,
            "displacement": _spread(np.linalg.norm(x1 - x0, axis=1) / diagonal),
            "edge_change": _spread(np.concatenate([_edge_change(m, r) for m, r in zip(self.meshes, self.rest)])),
            "flipped_faces": sum(_flipped(m, x0[a : a + len(m.x)]) for m, a in zip(self.meshes, self._first())),
            "certified": self.certified,
            "seconds": self.seconds,
        }
        if not self.converged:
            out["left"] = [path.to_dict() | {"at": path.points.mean(axis=0).tolist()} for path in self.report.paths]
        return out

    def _first(self) -> np.ndarray:
        return np.cumsum([0] + [len(m.x) for m in self.meshes[:-1]])

    def __str__(self) -> str:
        figures = self.to_dict()
        hits = f"{figures['initial_ef_pairs']:,} edges through faces"
        head = (
            f"untangled: {hits} undone"
            if self.converged
            else f"NOT untangled: of {hits}, {len(self.report.hits):,} are left"
        )
        how = self.method if self.turns[1:] == () else f"{self.method}: {', '.join(self.turns)}"
        lines = [f"{head} in {self.steps:,} steps, {self.seconds:.1f} s ({how})"]
        for key, unit in (("displacement", "of the diagonal"), ("edge_change", "of the length at rest")):
            mean, p95, most = (100 * figures[key][k] for k in ("mean", "p95", "max"))
            name = key.replace("_", " ")
            lines.append(f"{name:<14}{mean:7.2f} % on average, 95 % below {p95:.2f} %, largest {most:.1f} % {unit}")
        by, found = self.certified["by"], self.certified["intersections"]
        if by:
            lines.append(f"{by} finds {'intersections' if found else 'no intersection'}")
        if not self.converged:
            if self.method == "from_rest" and not self.steps:
                lines.append("no clean state to start from was found")
            lines += ["", "left:", str(self.report)]
        return "\n".join(lines)


def untangle(
    meshes,
    *,
    rest=None,
    bodies=(),
    pins=(),
    layers: bool = False,
    method: str = "auto",
    max_steps: int = 2000,
    progress: Callable[[dict], None] | None = None,
    stop: Callable[[], bool] | None = None,
    record: int = 0,
) -> Untangled:
    """Move vertices until nothing crosses anything.

    meshes   : a TriMesh, a pair (vertices (n, 3) [m], faces (m, 3)), or a sequence of these
    rest     : the same meshes in the shape that they should have; by default that is their `rest`, and folds stay
    bodies   : meshes that are not moved, and that cloth may not pass through
    pins     : vertices that are not moved: "boundary", numbers, or for several meshes a sequence of these
    layers   : whether the order of the meshes says who is inside, the innermost first
    method   : one of METHODS
    progress : called with each entry of `history`
    stop     : asked before each step; once it says True, the best state so far is returned
    record   : how many shapes on the way are kept, about, in `shapes`

    Vertices, their order, faces, uv, names and groups stay as they are. Deterministic.
    """
    began = time.perf_counter()
    cloths, solids = meshes_of(meshes, "mesh"), meshes_of(bodies, "body")
    if not cloths:
        raise BadInput("there is no mesh to untangle")
    if method not in METHODS:
        raise BadInput(f"the method must be one of {', '.join(METHODS)}, not {method!r}")
    if isinstance(max_steps, bool) or not isinstance(max_steps, (int, np.integer)) or max_steps < 0:
        raise BadInput(f"max_steps must be a whole number from 0 on, not {max_steps!r}")
    own = method == "from_rest"  # it does not pull at what is tangled
    run = Run(cloths, _rest(cloths, rest), solids, _pins(cloths, pins), "none" if own else method)
    run.folds_known = rest is not None
    if layers and len(cloths) > 1 and not own:
        run.simulator.respond = in_layers(run.simulator.respond, cloths)
    if own:
        from_rest(run, max_steps, progress, stop, record)
    else:
        net = method == "auto" and not layers  # which does not know of layers
        run.go(max_steps - min(NET, max_steps // 4) * net, progress, stop, record)
        if run.best_hits == 0 and run.steps:
            run.relax(stop)
            if net and _worn(run) > WORN:
                other = Run(cloths, run.rest, solids, _pins(cloths, pins), "none")
                other.folds_known = run.folds_known
                if from_rest(other, max_steps, stop=stop) and other.at_pins(other.best) and _worn(other) < _worn(run):
                    run.best = other.best
                    run.turns.append("from_rest")
        elif net and run.best_hits:
            before, known = (run.best, run.best_hits, run.steps), len(run.history)
            if from_rest(run, max_steps, progress, stop, record) and run.at_pins(run.best):
                run.turns.append("from_rest")
            else:  # clean, but not where it is pinned, is not what was asked for
                run.best, run.best_hits, run.steps = before
                del run.history[known:]
    report = run.report_at(run.best)
    return Untangled(
        meshes=tuple(run.moved()),
        rest=tuple(run.rest),
        converged=report.clean,
        method=method,
        turns=tuple(run.turns),
        steps=run.steps,
        history=run.history,
        report=report,
        before=run.before,
        certified=_second_opinion(report),
        shapes=run.shapes,
        finesses=run.finesses,
        seconds=time.perf_counter() - began,
    )


def _worn(run: Run) -> float:
    """95 % of the edges differ by less from their length at rest, where the run got best."""
    return float(np.quantile(np.concatenate([_edge_change(m, r) for m, r in zip(run.moved(), run.rest)]), 0.95))


def _edge_change(mesh: TriMesh, rest: TriMesh) -> np.ndarray:
    """(3 m,) how much longer or shorter each side of each face is than at rest, as a share of that."""
    p = mesh.x[mesh.faces]
    now = np.linalg.norm(p - np.roll(p, -1, axis=1), axis=2).ravel()
    wanted = sides(rest)
    return np.abs(now - wanted) / np.maximum(wanted, 1e-12 * max(wanted.max(), 1e-300))


def _flipped(mesh: TriMesh, before: np.ndarray) -> int:
    """How many faces look the other way than they did."""
    normals = [
        np.cross(x[mesh.faces[:, 1]] - x[mesh.faces[:, 0]], x[mesh.faces[:, 2]] - x[mesh.faces[:, 0]])
        for x in (before, mesh.x)
    ]
    return int(((normals[0] * normals[1]).sum(axis=1) < 0).sum())


def _spread(values: np.ndarray) -> dict:
    return {"mean": float(values.mean()), "p95": float(np.quantile(values, 0.95)), "max": float(values.max())}


def _second_opinion(report: TangleReport) -> dict:
    try:
        return report.second_opinion()
    except BadInput:  # ipctk is not installed
        return {"by": None, "intersections": None}


def _rest(cloths: list[TriMesh], rest) -> list[TriMesh]:
    """The meshes in the shape they should have."""
    if rest is None:
        return cloths
    given = meshes_of(rest, "rest mesh")
    if len(given) != len(cloths):
        raise BadInput(f"{len(given)} rest meshes for {len(cloths)} meshes")
    for mesh, r in zip(cloths, given):
        if r.faces.shape != mesh.faces.shape or len(r.x) != len(mesh.x) or (r.faces != mesh.faces).any():
            raise BadInput(
                f"{r.name}: the rest mesh of {mesh.name} must have the same vertices and faces: it has "
                f"{len(r.x):,} and {len(r.faces):,}, not {len(mesh.x):,} and {len(mesh.faces):,}"
                if r.faces.shape != mesh.faces.shape or len(r.x) != len(mesh.x)
                else f"{r.name}: the rest mesh of {mesh.name} has other faces"
            )
    return given


def _pins(cloths: list[TriMesh], pins) -> list[np.ndarray]:
    """(p,) int32 for each mesh."""
    if not hasattr(pins, "__len__") or getattr(pins, "ndim", 1) == 0:
        raise BadInput(f"pins must be 'boundary' or a list of vertices, not {pins!r}")
    several = (
        len(cloths) > 1 and not isinstance(pins, str) and any(isinstance(p, (str, Sequence, np.ndarray)) for p in pins)
    )
    each = list(pins) if several else ([pins] * len(cloths) if isinstance(pins, str) or len(cloths) == 1 else None)
    if each is None:
        if len(pins):
            raise BadInput("pins of several meshes are a list for each of them")
        each = [()] * len(cloths)
    if len(each) != len(cloths):
        raise BadInput(f"pins are given for {len(each)} meshes, not {len(cloths)}")
    return [ints(Cloth(m.moved(m.x), pins=p).pins) if len(p) else np.zeros(0, np.int32) for m, p in zip(cloths, each)]


def untangle_frames(
    frames: Frames,
    *,
    rest=None,
    bodies=(),
    pins=(),
    method: str = "auto",
    max_steps: int = 2000,
    progress: Callable[[dict], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> tuple[Frames, list[Untangled]]:
    """Untangle one frame after the other: the frames, and what came of each.

    A frame that is clean stays as it is. One that is tangled begins where the last clean one ended, and is drawn to
    where it should be without letting an intersection in, so that nothing jumps to another side between frames. Only
    if there is none before it is it untangled by itself.
    bodies   : meshes, or Frames with as many frames as the cloth has, which move along
    progress : called with each entry of the histories, which then has "frame" as well
    The other arguments are those of `untangle`. After `stop` the frames that are left stay as they are.
    """
    for body in bodies:
        if isinstance(body, Frames) and len(body.x) not in (1, len(frames.x)):
            raise BadInput(f"{body.mesh.name}: has {len(body.x)} frames, not {len(frames.x)}")
    out, results, last = np.array(frames.x, dtype=float), [], None
    for k in range(len(frames.x)):
        tell = None if progress is None else lambda entry, k=k: progress({"frame": k} | entry)
        mesh = frames.mesh.moved(frames.x[k])
        solids = [b.mesh.moved(b.x[min(k, len(b.x) - 1)]) if isinstance(b, Frames) else b for b in bodies]
        shared = {"rest": rest, "bodies": solids, "pins": pins, "method": method, "progress": tell, "stop": stop}
        result = None
        if last is not None and max_steps and not check(mesh, bodies=solids).clean:
            result = _follow(last, mesh, max_steps=max_steps, **shared)
        if result is None or not result.converged:
            result = untangle(mesh, max_steps=max_steps, **shared)
        results.append(result)
        out[k] = result.mesh.x
        last = result.mesh if result.converged else last
        if stop is not None and stop():
            break
    return Frames(frames.mesh, out, frames.fps), results


def _follow(last: TriMesh, mesh: TriMesh, rest, bodies, pins, method, max_steps, progress, stop) -> Untangled | None:
    """`mesh` untangled by drawing the clean mesh `last` to it; None if `last` is not clean beside the bodies,
    or pins are not reached."""
    began = time.perf_counter()
    solids = meshes_of(bodies, "body")
    run = Run([mesh], _rest([mesh], rest), solids, _pins([mesh], pins), "none")
    run.best = run.scale * last.x
    if not run.report_at(run.best).clean:
        return None
    draw_back(run, [run.start, run.best], min(FOLLOW, max_steps), stop)
    pinned = run.simulator.pinned
    if (run.best[pinned] != run.start[pinned]).any():
        return None
    report = run.report_at(run.best)
    entries = [(0, run.before), (1, report)]
    history = [entry_of(k, r, len(mesh.x)) for k, r in entries]
    if progress is not None:
        progress(history[-1])
    return Untangled(
        tuple(run.moved()), tuple(run.rest), report.clean, method, 1, history, report, run.before,
        _second_opinion(report), seconds=time.perf_counter() - began,
    )  # fmt: skip
