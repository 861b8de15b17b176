"""A jacket is dragged through itself by hand while it is untangled; let alone, it gets free. [D §9.3, fig. 16 e]

It has 4,183 vertices, as D's garment has, and is open in front. Between two steps the hand puts a patch of vertices a
bit further along a bowed way that leads through other cloth, whatever is there: that is how it gets tangled, again and
again, while the simulation goes on and undoes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from unsnarl.scenes.claims import judge_disagrees
from unsnarl.simulation.scene import Scene
from unsnarl.simulation.simulate import Anchors, Simulator
from unsnarl.tangles.report import TangleReport
from unsnarl.untangle.auto import Auto
from unsnarl.untangle.uv import Finesse, UvPulls
from unsnarl.wardrobe.dress import Dressed, dress
from unsnarl.wardrobe.tanglers.drag import way
from unsnarl.wardrobe.tanglers.state import outside

VERTICES = 4_192  # asked for; 4,183 come of it
FPS = 50.0  # a step is 0.02 s, as D's are
DRAGS, LONG, PAUSE = 6, 20, 5  # so many times, for so many steps, with so many between
ALONE = 150  # steps after the last drag
SEED = 0
HOLD = 10.0  # stiffness of the hand, in units of mass / step^2


@dataclass(frozen=True, eq=False)
class Session:
    """What came of it.

    reports  : what is tangled at the start of each step and at the end
    red      : how many vertices are red [D §3], at the same times
    seconds  : of each step, the look at what is tangled included
    dragged  : steps until the hand let go for the last time
    finesses : what `uv` completed; empty for another method
    original : whether the rest shapes at the end are those of the start, to the bit
    """

    reports: list[TangleReport]
    red: list[int]
    seconds: list[float]
    dragged: int
    finesses: list[Finesse]
    original: bool

    @property
    def hits(self) -> list[int]:
        return [len(report.hits) for report in self.reports]

    @property
    def free(self) -> int | None:
        """Steps that it took to get free after it was let alone, and to stay so; None if something is left."""
        crossing = np.flatnonzero(self.hits)
        last = int(crossing[-1]) + 1 if len(crossing) else 0
        return max(0, last - self.dragged) if last < len(self.hits) else None

    @property
    def steps_per_second(self) -> float:
        return len(self.seconds) / sum(self.seconds)


def build(vertices: int = VERTICES, *, untangle: str = "uv") -> Scene:
    """The jacket on the wardrobe's person, about to be dragged; a frame is a time step."""
    frames = DRAGS * (LONG + PAUSE) - PAUSE + ALONE + 1
    return _worn(vertices).scene(frames=frames, fps=FPS, substeps=1, untangle=untangle, name="dragged_jacket")


def run(scene: Scene, progress: Callable[[float], None] | None = None) -> Session:
    """Drag and simulate; progress is called with the share that is done."""
    simulator = Simulator(scene)
    simulator.halvings = 0  # nobody waits for a step that is tried again in halves
    rng = np.random.default_rng(SEED)
    shapes = simulator.system.shape.copy()
    reports, red, seconds = [], [], []
    steps = scene.frames - 1
    for k in range(steps):
        began = time.perf_counter()
        drag, number = divmod(k, LONG + PAUSE)
        if drag < DRAGS and number == 0:
            patch, at = _way(rng, simulator)
        if drag < DRAGS and number < LONG:
            _drag(simulator, patch, at[number + 1])
        else:
            simulator.anchors = None
        simulator.known = _look(simulator)
        reports.append(simulator.known)
        simulator.go_on()
        seconds.append(time.perf_counter() - began)
        red.append(_red(simulator, reports[-1]))
        if progress:
            progress((k + 1) / steps)
    reports.append(_look(simulator))
    red.append(_red(simulator, reports[-1]))
    method = _uv(simulator)
    return Session(
        reports, red, seconds, DRAGS * (LONG + PAUSE) - PAUSE,
        [] if method is None else method.finesses, np.array_equal(simulator.system.shape, shapes),
    )  # fmt: skip


def check(vertices: int = VERTICES) -> Session:
    """Dragging tangles it, and left alone it gets free, with the rest shapes that it had. Returns the session."""
    session = run(build(vertices))
    hits = session.hits
    assert max(hits) >= 100, f"dragging makes only {max(hits)} edges cross faces"
    assert hits[session.dragged] > 0, "it is not tangled when the hand lets go"
    assert session.free is not None, f"{hits[-1]} edges cross faces at the end"
    assert not judge_disagrees(session.reports[-1]), "ipctk finds an intersection"
    assert session.original, "rest shapes are not those of the start"
    rises = risen(session.red[session.dragged :])
    assert not rises, f"let alone, red vertices become more in {rises} steps"
    return session


def risen(red: list[int]) -> int:
    """In how many steps red vertices become more."""
    return int((np.diff(red) > 0).sum())


def _way(rng: np.random.Generator, simulator: Simulator) -> tuple[np.ndarray, np.ndarray]:
    """A patch of vertices (p,), and where each is to be at each step of a drag, (LONG + 1, p, 3) [m]."""
    (cloth,), bodies = simulator.scene.cloths, simulator.scene.bodies
    patch, shift = way(rng, cloth.mesh.moved(simulator.x), LONG)
    at = simulator.x[patch] + shift[:, None]
    return patch, outside(at.reshape(-1, 3), [b.mesh.moved(b.at(0.0)) for b in bodies]).reshape(at.shape)


def _drag(simulator: Simulator, patch: np.ndarray, at: np.ndarray) -> None:
    """Put a patch (p,) to places (p, 3) [m], whatever is in between, and hold it there for a step."""
    simulator.x[patch], simulator.v[patch] = at, 0.0
    where, stiffness = simulator.x.copy(), np.zeros(len(simulator.x))
    stiffness[patch] = HOLD * simulator.system.mass[patch] * FPS**2
    simulator.anchors = Anchors(where, stiffness)
    method = _uv(simulator)
    if method is not None:  # what was green may have been put on the other side of something
        method.forget_sides()


def _uv(simulator: Simulator) -> UvPulls | None:
    method = simulator.respond
    return method.uv if isinstance(method, Auto) else method if isinstance(method, UvPulls) else None


def _look(simulator: Simulator) -> TangleReport:
    """What is tangled where the simulation stands."""
    scene = simulator.scene
    bodies = [b.at(simulator.number / scene.fps) for b in scene.bodies]
    return simulator.tangle(np.concatenate([simulator.x, *bodies]))


def _red(simulator: Simulator, report: TangleReport) -> int:
    method = _uv(simulator)
    colours = report.red_green if method is None else method.see(report)
    return int(colours.vertices[: len(simulator.x)].sum())


@cache
def _worn(vertices: int) -> Dressed:
    return dress("jacket", vertices=vertices)
