"""What a tangler gives, and what all of them begin with: draped garments, motions, smooth noise, a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from unsnarl.contact.solids import solid
from unsnarl.detect.edge_face import find_hits
from unsnarl.detect.nearest import nearest
from unsnarl.dynamics.implicit import Options
from unsnarl.energies.materials import Material
from unsnarl.io.frames import Frames
from unsnarl.mesh import TriMesh
from unsnarl.simulation.scene import Body, Scene
from unsnarl.simulation.simulate import Simulator
from unsnarl.wardrobe.body import character
from unsnarl.wardrobe.dress import Dressed, dress

OUTFIT = ("trousers", "dress")  # that are worn one over the other
GARMENTS = ("tshirt", "shirt", "dress", "trousers")
VERTICES = 1_000  # of a garment: with fewer it is not sewn reliably
FPS = 60.0  # steps per second while nothing is held
GAP = 0.008  # [m] at which bodies then hold cloth: wider than usual, since nothing is tried twice
DEEP = 0.1  # [m] within a body from which cloth is brought back to its surface
QUICK = Options(tolerance=2e-2, most=80)  # good enough for cloth that is thrown about


@dataclass(frozen=True, eq=False)
class Tangled:
    """Cloth that is tangled, and how it was before; y points upwards.

    meshes       : tangled, each with its own rest shapes; the innermost or lowest first where they are layers
    clean        : the same meshes without any intersection: where they came from, or the garment properly sewn
    materials    : what each is made of
    bodies       : as they stand when the cloth is tangled
    clean_bodies : as they stood when it was clean
    name, seed   : which one it is
    """

    meshes: tuple[TriMesh, ...]
    clean: tuple[TriMesh, ...]
    materials: tuple[Material, ...]
    bodies: tuple[TriMesh, ...] = ()
    clean_bodies: tuple[TriMesh, ...] = ()
    name: str = ""
    seed: int = 0


@cache
def draped(garments: str | tuple[str, ...]) -> Dressed:
    """Garments at rest on the wardrobe's person, made once in a process."""
    return dress(garments, vertices=VERTICES)


@cache
def motion(name: str) -> Frames:
    """A motion of the wardrobe's person."""
    return character().motion(name)


def moving(name: str, quicker: float, friction: float = 0.4) -> Body:
    """The wardrobe's person in a motion that is so many times quicker than it should be."""
    frames = motion(name)
    return Body(Frames(frames.mesh, frames.x, frames.fps * quicker), friction)


def let_go(
    dressed: Dressed, steps: int, *, enough: float = np.inf, cloths: Sequence | None = None, **settings
) -> Tangled:
    """The garments after so many steps in which nothing keeps cloth from passing through cloth.

    enough   : hits of cloth with cloth at which it ends sooner
    cloths   : instead of those of `dressed`, with other velocities, pins or targets
    settings : of the `Scene`
    """
    settings = {"bodies": dressed.bodies, "fps": FPS, "thickness": GAP} | settings
    scene = Scene(cloths or dressed.cloths, frames=steps + 1, substeps=1, resolver="none", **settings)
    simulator = Simulator(scene, QUICK)
    for _ in range(steps):
        frame = simulator.advance()
        if np.isfinite(enough) and len(find_hits(simulator.system.mesh, simulator.x)) >= enough:
            break
    bodies = tuple(b.mesh.moved(b.at(frame.t)) for b in scene.bodies)
    return Tangled(
        meshes=tuple(c.mesh.moved(outside(state.x, bodies)) for c, state in zip(scene.cloths, frame.states)),
        clean=tuple(c.mesh for c in dressed.cloths),
        materials=tuple(c.material for c in dressed.cloths),
        bodies=bodies,
        clean_bodies=tuple(b.mesh.moved(b.at(0.0)) for b in scene.bodies),
    )


def outside(x: np.ndarray, bodies: Sequence[TriMesh]) -> np.ndarray:
    """Positions x (n, 3) with those that are inside a body put on its surface, half the gap above it."""
    for body in bodies:
        s, reach = solid(body, 0.0), np.full(len(x), DEEP)
        face, _, normal, distance = nearest(body, body.x, s.bvh, s.normals, x, reach)
        inside = (face >= 0) & (distance < 0.5 * GAP)
        x = x + np.where(inside, 0.5 * GAP - distance, 0.0)[:, None] * np.where(inside[:, None], normal, 0.0)
    return x


def direction(rng: np.random.Generator) -> np.ndarray:
    """(3,) of length 1, all directions being alike."""
    way = rng.normal(size=3)
    return way / np.linalg.norm(way)


def noise(rng: np.random.Generator, points: np.ndarray, wavelength: float, waves: int = 8) -> np.ndarray:
    """(n,) a smooth random function of points (n, d) [m], about -1 to 1: plane waves of about one length [m]."""
    way = rng.normal(size=(waves, points.shape[1]))
    way *= 2.0 * np.pi / wavelength * rng.uniform(0.6, 1.2, (waves, 1)) / np.linalg.norm(way, axis=1, keepdims=True)
    return np.cos(points @ way.T + rng.uniform(0.0, 2.0 * np.pi, waves)).sum(axis=1) / np.sqrt(waves)


def blob(distance: np.ndarray, radius: float) -> np.ndarray:
    """(n,) 1 at a distance of 0, falling smoothly to 0 at the radius [m]."""
    share = np.clip(distance / radius, 0.0, 1.0)
    return (1.0 - share**2) ** 2


def normals(mesh: TriMesh) -> np.ndarray:
    """(n, 3) of the vertices, by area, of length 1."""
    a, b, c = (mesh.x[mesh.faces[:, k]] for k in range(3))
    total = np.zeros_like(mesh.x)
    np.add.at(total, mesh.faces, np.cross(b - a, c - a)[:, None])
    return total / np.linalg.norm(total, axis=1, keepdims=True)
