"""The quasi-static run behind `untangle`: each step draws what is tangled back, and begins at rest.

Each step asks a method (`unsnarl.untangle`) what to draw where, and solves for the cloth's new shape, starting from
rest: elastic forces hold it together, nothing that is not tangled is let through anything. When the number of hits
does not fall for a while, the pulls change. Once nothing crosses, the cloth relaxes towards its rest shape and towards
where it was, without letting an intersection in.

The cloth is a felt that does not exist: bending is as stiff as stretching over the length of an edge, so that it does
not crumple while it is drawn about; and it is so soft that in one step a pull is felt some edges away, not everywhere.
Meshes are scaled by a power of two while they are worked on, so that units do not matter.
"""

from __future__ import annotations

import numpy as np

from unsnarl.detect.edge_face import find_hits
from unsnarl.dynamics.implicit import Options
from unsnarl.dynamics.system import rest_lengths
from unsnarl.energies.materials import Material
from unsnarl.mesh import TriMesh
from unsnarl.simulation.scene import Body, Cloth, Scene
from unsnarl.simulation.simulate import Anchors, Pulling, Simulator
from unsnarl.tangles.colours import inside
from unsnarl.tangles.report import TangleReport
from unsnarl.untangle.auto import Auto
from unsnarl.untangle.uv import Finesse, UvPulls

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
TIGHT = 10.0  # times as stiff is the felt, in its plane, while it relaxes
EASY = 0.005  # stiffness of the springs of HOLD while the cloth relaxes
RELAX = 120  # steps, at most, after the last intersection is gone
STILL = 2e-2  # mean edges: if nothing moves farther in a step, the cloth is at rest
LOOSE = Options(tolerance=1e-2, most=100)


class Run:
    """A quasi-static run. Positions are scaled in here, and in their own units outside."""

    def __init__(self, cloths: list[TriMesh], rest: list[TriMesh], bodies: list[TriMesh], pins, method: str):
        self.cloths, self.rest, self.bodies = cloths, rest, bodies
        edge = float(np.concatenate([sides(m) for m in rest]).mean()) or 1.0
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
        self.method = self.simulator.respond
        if isinstance(self.method, (UvPulls, Auto)):
            (self.method.uv if isinstance(self.method, Auto) else self.method).helped = True
        self.turns = ["rbf" if method == "auto" else method]
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

    def at_pins(self, x: np.ndarray) -> bool:
        """Whether the pinned vertices are where they belong, at x (n, 3), scaled."""
        pins = self.simulator.pinned
        return bool(np.abs(x[pins] - self.start[pins]).max(initial=0.0) < 1e-9 * self.edge)

    @property
    def finesses(self) -> list[Finesse]:
        return self.method.finesses if isinstance(self.method, (UvPulls, Auto)) else []

    def go(self, max_steps: int, progress, stop, record: int) -> None:
        """Until nothing crosses, or there is no step left, or all of `auto` has stalled."""
        simulator = self.simulator
        simulator.x = self.start.copy()
        simulator.rounds, simulator.halvings = 2, 0
        fewest, since, effort = np.inf, 0, 0
        every = 1
        while True:
            report = self.analyse(simulator.x)
            hits = len(report.hits)
            if isinstance(self.method, Auto) and self.method.watch(report):
                if self.method.lost:
                    return
                self.turns.append("uv")
                simulator.x, fewest, since, effort = self.best.copy(), np.inf, 0, 0
                report = self.analyse(simulator.x)
                hits = len(report.hits)
            red = self.method.red_of(report) if isinstance(self.method, (UvPulls, Auto)) else None
            entry = entry_of(self.steps, report, len(simulator.x), red)
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

    def relax(self, stop) -> None:
        """Towards the rest shape and where it was; nothing may cross any more."""
        simulator = self.simulator
        simulator.respond, simulator.rounds, simulator.halvings = None, 2, 2
        simulator.system.membrane[:, :3] *= TIGHT
        self._hold(None, EASY)
        for _ in range(RELAX):
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


def entry_of(step: int, report: TangleReport, cloth: int, red: np.ndarray | None = None) -> dict:
    """A line of the history; of the `cloth` first vertices red are those inside of some path, or `red` (n,) bool."""
    red = inside(report.mesh, report.regions) if red is None else red
    return {
        "step": step,
        "ef_pairs": len(report.hits),
        "paths": len(report.path_list),
        "red_vertices": int(red[:cloth].sum()),
    }


def _scaled(mesh: TriMesh, scale: float) -> TriMesh:
    rest = scale * mesh.rest
    area = np.abs(np.linalg.det(rest))
    edge = scale * float(sides(mesh).mean())
    flat = area <= 1e-8 * edge**2  # no shape to keep: a small one
    rest[flat] = 0.1 * edge * np.array([[1.0, 0.5], [0.0, 0.75**0.5]])
    return mesh.moved(scale * mesh.x).with_rest(rest)


def sides(mesh: TriMesh) -> np.ndarray:
    """(3 m,) lengths of the sides of each face at rest [m]."""
    return rest_lengths(mesh)[mesh.face_edges].ravel()
