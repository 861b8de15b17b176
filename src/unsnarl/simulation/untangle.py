"""`untangle`: a quasi-static run that ends when the exact test finds no intersection.

Each step draws what is tangled back (`untangle`) and solves for the cloth's new shape, starting from rest: elastic
forces hold it together, nothing that is not tangled is let through anything. When the number of hits does not fall for
a while, the pulls change. Once nothing crosses, the cloth relaxes towards its rest shape and towards where it was,
without letting an intersection in.

The cloth is a felt that does not exist: bending is as stiff as stretching over the length of an edge, so that it does
not crumple while it is drawn about; and it is so soft that in one step a pull is felt some edges away, not everywhere.
Meshes are scaled by a power of two while they are worked on, so that units do not matter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from unsnarl.detect.edge_face import find_hits
from unsnarl.dynamics.implicit import Options
from unsnarl.dynamics.system import rest_lengths
from unsnarl.energies.materials import Material
from unsnarl.errors import BadInput
from unsnarl.io.frames import Frames
from unsnarl.jit import ints
from unsnarl.mesh import TriMesh
from unsnarl.simulation.scene import Body, Cloth, Scene
from unsnarl.simulation.simulate import Anchors, Pulling, Simulator
from unsnarl.tangles.check import check, meshes_of
from unsnarl.tangles.report import TangleReport
from unsnarl.untangle import RESPONSES
from unsnarl.untangle.layers import in_layers

METHODS = ("auto", *RESPONSES)
SIZE = 0.02  # [m], about the mean edge while meshes are worked on
STEP = 0.02  # [s]
DENSITY = 0.15  # [kg/m^2]
FELT = 6.0  # edges that a pull reaches in a step
STIFF = 1.0  # bending in units of stretching times the square of an edge
EFFORTS = (
    Pulling(strength=100.0, most=0.5, past=1.0, farthest=1.0),
    Pulling(strength=400.0, most=0.5, past=2.0, farthest=1.0),
    Pulling(strength=100.0, most=1.0, past=4.0, farthest=2.0),
)  # taken in turn
STALL = 12  # steps without fewer hits, after which the next effort is tried
HOLD = 0.02  # stiffness of the springs that hold what is not tangled where it was, in units of mass / step^2
FOLLOW, FOLLOW_STEPS = 1.0, 100  # the same while a clean mesh is drawn to where it should be
TIGHT = 10.0  # times as stiff is the felt, in its plane, while it relaxes
RELAX = 80  # steps, at most, after the last intersection is gone
STILL = 2e-2  # mean edges: if nothing moves farther in a step, the cloth is at rest
LOOSE = Options(tolerance=1e-2, most=100)


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
        lines = [f"{head} in {self.steps:,} steps, {self.seconds:.1f} s ({self.method})"]
        for key, unit in (("displacement", "of the diagonal"), ("edge_change", "of the length at rest")):
            mean, p95, most = (100 * figures[key][k] for k in ("mean", "p95", "max"))
            name = key.replace("_", " ")
            lines.append(f"{name:<14}{mean:7.2f} % on average, 95 % below {p95:.2f} %, largest {most:.1f} % {unit}")
        by, found = self.certified["by"], self.certified["intersections"]
        if by:
            lines.append(f"{by} finds {'intersections' if found else 'no intersection'}")
        if not self.converged:
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
    if method not in METHODS:
        raise BadInput(f"the method must be one of {', '.join(METHODS)}, not {method!r}")
    if isinstance(max_steps, bool) or not isinstance(max_steps, (int, np.integer)) or max_steps < 0:
        raise BadInput(f"max_steps must be a whole number from 0 on, not {max_steps!r}")
    run = _Run(cloths, _rest(cloths, rest), solids, _pins(cloths, pins), method)
    run.folds_known = rest is not None
    if layers and len(cloths) > 1:
        run.simulator.respond = in_layers(run.simulator.respond, cloths)
    run.go(max_steps, progress, stop, record)
    if run.best_hits == 0 and run.steps:
        run.relax(stop)
    report = run.report_at(run.best)
    return Untangled(
        meshes=tuple(run.moved()),
        rest=tuple(run.rest),
        converged=report.clean,
        method=method,
        steps=run.steps,
        history=run.history,
        report=report,
        before=run.before,
        certified=_second_opinion(report),
        shapes=run.shapes,
        seconds=time.perf_counter() - began,
    )


class _Run:
    """A quasi-static run. Positions are scaled in here, and in their own units outside."""

    def __init__(self, cloths: list[TriMesh], rest: list[TriMesh], bodies: list[TriMesh], pins, method: str):
        self.cloths, self.rest, self.bodies = cloths, rest, bodies
        edge = float(np.concatenate([_sides(m) for m in rest]).mean()) or 1.0
        self.scale = 2.0 ** np.round(np.log2(SIZE / edge))
        edge *= self.scale
        stretch = FELT**2 * edge**2 * DENSITY / STEP**2
        felt = Material("felt", DENSITY, stretch, stretch, 0.3 * stretch, STIFF * stretch * edge**2, 0.0)
        pieces = [
            Cloth(
                _scaled(r, self.scale), felt, pins=p, targets=self.scale * m.x[p][None] if len(p) else None, flat=False
            )
            for m, r, p in zip(cloths, rest, pins)
        ]
        scene = Scene(
            pieces, [Body(_scaled(b, self.scale), 0.0) for b in bodies], frames=1, fps=1.0 / STEP, substeps=1,
            gravity=0.0, air=0.0, friction=0.0, untangle=method, name="untangle",
        )  # fmt: skip
        self.simulator = Simulator(scene, LOOSE)
        self.start = self.scale * np.concatenate([m.x for m in cloths])
        self.everything = np.concatenate([self.start, *(self.scale * b.x for b in bodies)])
        self.edge = edge
        self.folds_known = True  # or whether those of tangled cloth are part of the tangle
        self.before = self.report_at(self.start)
        self.history: list[dict] = []
        self.shapes: list[tuple[int, np.ndarray]] = []
        self.best, self.best_hits, self.steps = self.start, np.inf, 0

    def analyse(self, x: np.ndarray) -> TangleReport:
        self.everything[: len(x)] = x
        return self.simulator.tangle(self.everything)

    def report_at(self, x: np.ndarray) -> TangleReport:
        """What is tangled at x (n, 3), in the meshes' own units."""
        return self.simulator.tangle(np.concatenate([x / self.scale, *(b.x for b in self.bodies)]))

    def moved(self) -> list[TriMesh]:
        x = self.best / self.scale
        ends = np.cumsum([0] + [len(m.x) for m in self.cloths])
        return [m.moved(x[a:b]) for m, a, b in zip(self.cloths, ends, ends[1:])]

    def go(self, max_steps: int, progress, stop, record: int) -> None:
        """Until nothing crosses, or there is no step left."""
        simulator = self.simulator
        simulator.x = self.start.copy()
        simulator.rounds, simulator.halvings = 2, 0
        fewest, since, effort = np.inf, 0, 0
        every = 1
        while True:
            report = self.analyse(simulator.x)
            hits = len(report.hits)
            entry = _entry(self.steps, report, len(simulator.x))
            self.history.append(entry)
            if hits < self.best_hits:
                self.best, self.best_hits = simulator.x.copy(), hits
            if record and self.steps % every == 0:
                self.shapes.append((self.steps, simulator.x / self.scale))
                if len(self.shapes) >= 2 * record:
                    self.shapes, every = self.shapes[::2], 2 * every
            if progress is not None:
                progress(entry)
            if hits == 0 or self.steps >= max_steps or (stop is not None and stop()):
                return
            if hits < fewest:
                fewest, since = hits, 0
            else:
                since += 1
                if since >= STALL:
                    effort, since, fewest = (effort + 1) % len(EFFORTS), 0, hits
            simulator.pulling = EFFORTS[effort]
            self._hold(report)
            self._rest()
            simulator.known = report
            simulator.go_on()
            self.steps += 1

    def _hold(self, report: TangleReport | None, hold: float = HOLD) -> None:
        """Hold what is not tangled where it was."""
        n = len(self.start)
        strength = np.full(n, hold)
        if report is not None:
            corners = report.mesh.faces[report.path_list.run].ravel()
            tangled = np.concatenate([report.regions.vertex, corners])
            tangled = tangled[tangled < n]
            strength[tangled] = 0.0
            if not self.folds_known:
                system = self.simulator.system
                system.fold[np.isin(system.hinges, tangled).any(axis=1), 1] = 0.0
        self.simulator.anchors = Anchors(self.start, strength * self.simulator.system.mass / STEP**2)

    def _rest(self) -> None:
        """Nothing moves."""
        for a in (self.simulator.v, self.simulator.pull, self.simulator.push):
            a[...] = 0.0

    def relax(self, stop, hold: float = HOLD, steps: int = RELAX) -> None:
        """Towards the rest shape and where it was; nothing may cross any more."""
        simulator = self.simulator
        simulator.respond, simulator.rounds, simulator.halvings = None, 2, 2
        simulator.system.membrane[:, :3] *= TIGHT
        self._hold(None, hold)
        for _ in range(steps):
            if stop is not None and stop():
                return
            self._rest()
            simulator.go_on()
            self.everything[: len(self.start)] = simulator.x
            if len(find_hits(simulator.surfaces.mesh, self.everything, simulator.surfaces.bvh)):
                return
            far = np.abs(simulator.x - self.best).max()
            self.best = simulator.x.copy()
            if far < STILL * self.edge:
                return


def _entry(step: int, report: TangleReport, cloth: int) -> dict:
    """A line of the history; red are the vertices inside of some path, of the `cloth` first ones."""
    red = np.unique(report.regions.vertex)
    return {
        "step": step,
        "ef_pairs": len(report.hits),
        "paths": len(report.path_list),
        "red_vertices": int((red < cloth).sum()),
    }


def _scaled(mesh: TriMesh, scale: float) -> TriMesh:
    rest = scale * mesh.rest
    area = np.abs(np.linalg.det(rest))
    edge = scale * float(_sides(mesh).mean())
    flat = area <= 1e-8 * edge**2  # no shape to keep: a small one
    rest[flat] = 0.1 * edge * np.array([[1.0, 0.5], [0.0, 0.75**0.5]])
    return mesh.moved(scale * mesh.x).with_rest(rest)


def _sides(mesh: TriMesh) -> np.ndarray:
    """(3 m,) lengths of the sides of each face at rest [m]."""
    return rest_lengths(mesh)[mesh.face_edges].ravel()


def _edge_change(mesh: TriMesh, rest: TriMesh) -> np.ndarray:
    """(3 m,) how much longer or shorter each side of each face is than at rest, as a share of that."""
    p = mesh.x[mesh.faces]
    now = np.linalg.norm(p - np.roll(p, -1, axis=1), axis=2).ravel()
    wanted = _sides(rest)
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
        if last is not None and not check(mesh, bodies=solids).clean:
            result = _follow(last, mesh, **shared)
        if result is None or not result.converged:
            result = untangle(mesh, max_steps=max_steps, **shared)
        results.append(result)
        out[k] = result.mesh.x
        last = result.mesh if result.converged else last
        if stop is not None and stop():
            break
    return Frames(frames.mesh, out, frames.fps), results


def _follow(last: TriMesh, mesh: TriMesh, rest, bodies, pins, method, progress, stop) -> Untangled | None:
    """`mesh` untangled by drawing the clean mesh `last` to it; None if `last` is not clean beside the bodies."""
    began = time.perf_counter()
    solids = meshes_of(bodies, "body")
    run = _Run([mesh], _rest([mesh], rest), solids, _pins([mesh], pins), "none")
    run.best = run.scale * last.x
    if not run.report_at(run.best).clean:
        return None
    run.simulator.x = run.best.copy()
    run.relax(stop, FOLLOW, FOLLOW_STEPS)
    report = run.report_at(run.best)
    entries = [(0, run.before), (1, report)]
    history = [_entry(k, r, len(mesh.x)) for k, r in entries]
    if progress is not None:
        progress(history[-1])
    return Untangled(
        tuple(run.moved()), tuple(run.rest), report.clean, method, 1, history, report, run.before,
        _second_opinion(report), seconds=time.perf_counter() - began,
    )  # fmt: skip
