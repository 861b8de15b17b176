"""A shirt is tortured until it is tangled, then left to itself: untangling frees it, nothing else does. [A fig. 8]

It hangs by its collar. While nothing keeps cloth from passing through cloth, its cuffs are dragged through it and past
each other, its hem is wrung, and all of it is let go again. From there it is simulated as usual.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

from unsnarl.mesh import TriMesh
from unsnarl.scenes.claims import judge_disagrees
from unsnarl.simulation.scene import Cloth, Scene
from unsnarl.simulation.simulate import Simulator
from unsnarl.tangles.check import check as find
from unsnarl.wardrobe.dress import Dressed, dress
from unsnarl.wardrobe.tanglers.state import let_go

WITH, WITHOUT = 100, 500  # steps that are simulated, with untangling and without
DRAGGED, LOOSE = 24, 60  # steps of torture, and of hanging while nothing is held
FPS = 60.0
WAYS = (-0.75, -0.05, 0.0), (0.75, -0.12, 0.02)  # [m] of the left and the right cuff
WRUNG, LIFTED = 160.0, 0.15  # [degrees], [m] of the hem
AIR = 1.0  # [1/s]
FASTEST = 3.0  # [m/s] that nothing is to move at while it is untangled


@dataclass(frozen=True, eq=False)
class Run:
    """What came of a simulation.

    x       : (n, 3) [m] at its end
    hits    : edges through faces at the start and after each step
    fastest : [m/s] that a vertex moved at, at most, after each step
    seconds : that it took
    """

    x: np.ndarray
    hits: list[int]
    fastest: list[float]
    seconds: float

    @property
    def free(self) -> int | None:
        """Steps after which nothing crosses any more, up to the end; None if something does."""
        crossing = np.flatnonzero(self.hits)
        last = int(crossing[-1]) + 1 if len(crossing) else 0
        return last if last < len(self.hits) else None


def build(vertices: int = 1_000, *, untangle: str = "auto", steps: int = WITH) -> Scene:
    """The shirt, tortured, about to be simulated; a frame is a time step; y is up.

    vertices : about how many it has, 1,000 or more
    """
    shirt, collar = tortured(vertices)
    cloth = Cloth(shirt, _draped(vertices).cloths[0].material, pins=collar)
    return Scene([cloth], frames=steps + 1, fps=FPS, substeps=1, air=AIR, untangle=untangle, name="tortured_shirt")


@cache
def tortured(vertices: int = 1_000) -> tuple[TriMesh, np.ndarray]:
    """The shirt as it is after the torture, and the vertices of its collar, by which it hangs."""
    worn = _draped(vertices)
    hung = Dressed("shirt", worn.cloths, ())
    (cloth,) = hung.cloths
    x = cloth.mesh.x
    collar = (np.abs(x[:, 0]) < 0.12) & (x[:, 1] > 1.44)
    cuffs, hem = (x[:, 0] > 0.46, x[:, 0] < -0.46), x[:, 1] < 0.87
    middle = np.array([0.0, x[hem, 1].mean(), 0.0])
    at = np.repeat(x[None], DRAGGED + 1, axis=0)
    for k, share in enumerate(np.sin(np.pi * np.linspace(0.0, 1.0, DRAGGED + 1)) ** 2):
        for cuff, way in zip(cuffs, WAYS):
            at[k, cuff] += share * np.array(way)
        turn = Rotation.from_rotvec([0.0, share * np.radians(WRUNG), 0.0])
        at[k, hem] = turn.apply(x[hem] - middle) + middle + [0.0, share * LIFTED, 0.0]
    held = np.flatnonzero(collar | cuffs[0] | cuffs[1] | hem)
    dragged = let_go(hung, DRAGGED, cloths=[replace(cloth, pins=held, targets=at[:, held])], air=AIR)
    held = np.flatnonzero(collar)
    loose = let_go(hung, LOOSE, cloths=[replace(cloth, mesh=dragged.meshes[0], pins=held)], air=AIR)
    return loose.meshes[0], held


def run(scene: Scene, progress: Callable[[], None] | None = None) -> Run:
    """Simulate all frames of a scene; progress is called after each."""
    began = time.perf_counter()
    simulator = Simulator(scene)
    hits, fastest = [simulator.stats["ef_pairs"]], []
    while simulator.number < scene.frames - 1:
        hits.append(simulator.advance().stats["ef_pairs"])
        fastest.append(float(np.linalg.norm(simulator.v, axis=1).max()))
        if progress:
            progress()
    return Run(simulator.x.copy(), hits, fastest, time.perf_counter() - began)


def table(runs: dict[str, Run]) -> str:
    """The hits of runs over steps, as text; equal lines are left out."""
    lines = [f"{'step':>6}" + "".join(f"{name:>8}" for name in runs)]
    before = None
    for step in range(max(len(r.hits) for r in runs.values())):
        now = "".join(f"{r.hits[step]:>8}" if step < len(r.hits) else f"{'':>8}" for r in runs.values())
        if now != before or step % 100 == 0:
            lines.append(f"{step:>6}{now}".rstrip())
        before = now
    return "\n".join(lines) + "\n"


def check(vertices: int = 1_000, *, steps: tuple[int, int] = (WITH, WITHOUT)) -> dict[str, Run]:
    """With untangling the shirt gets free and is not thrown about; without, it stays tangled. Returns both runs."""
    scene = build(vertices, steps=steps[0])
    start = find(scene.cloths[0].mesh)
    assert len(start.hits) >= 200, f"only {len(start.hits)} edges cross faces after the torture"
    assert len(start.counts) >= 3, f"there are no kinds but {', '.join(start.counts)}"
    runs = {"auto": run(scene), "none": run(build(vertices, untangle="none", steps=steps[1]))}
    with_it, without = runs["auto"], runs["none"]
    assert with_it.free is not None, f"of {len(start.hits)} hits {with_it.hits[-1]} are left after {steps[0]} steps"
    end = find(scene.cloths[0].mesh.moved(with_it.x))
    assert end.clean, f"{len(end.hits)} edges cross faces"
    assert not judge_disagrees(end), "ipctk finds an intersection"
    assert max(with_it.fastest) < FASTEST, f"cloth is thrown about, at up to {max(with_it.fastest):.1f} m/s"
    left = find(end.mesh.moved(without.x))
    assert not left.clean, "it got free without untangling"
    return runs


@cache
def _draped(vertices: int) -> Dressed:
    return dress("shirt", vertices=vertices)
