"""A sheet of 2 m falls on a sphere and drapes itself over it: folds hang down on all sides and meet each other.

It is tilted a little, so that nothing about the fall is symmetric.
"""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.mesh.primitives import sheet, sphere
from unsnarl.scenes.claims import clean_frames, stretches
from unsnarl.simulation.scene import Body, Cloth, Scene
from unsnarl.tangles.check import check as find
from unsnarl.tangles.report import TangleReport

SIZE, RADIUS, HEIGHT, TILT = 2.0, 0.5, 0.6, 5.0  # [m], [m], [m], [degrees]


def build(vertices: int = 10_000, *, frames: int = 40) -> Scene:
    """The sheet over the sphere, whose centre is the origin; z is up.

    vertices : about how many the sheet has, as many along as across
    """
    squares = max(1, round(np.sqrt(vertices)) - 1)
    flat = sheet((SIZE, SIZE), (squares, squares))
    tilt = np.radians(TILT)
    turn = np.array([[np.cos(tilt), 0, np.sin(tilt)], [0, 1, 0], [-np.sin(tilt), 0, np.cos(tilt)]])
    cloth = Cloth(flat.moved(flat.x @ turn + [0, 0, HEIGHT]), "jersey")
    return Scene([cloth], [Body(sphere(RADIUS, 5120))], frames=frames, substeps=2, up="z", name="falling_sheet")


def tangles(scene: Scene, x: np.ndarray) -> TangleReport:
    """What the sheet at positions x (n, 3) [m] crosses: itself, and the sphere."""
    return find(scene.cloths[0].mesh.moved(x), bodies=scene.bodies[0].mesh)


def check(vertices: int = 2_500, *, frames: int = 40) -> None:
    """The sheet ends up over the sphere, folds hanging down, and is hardly stretched."""
    scene = build(vertices, frames=frames)
    *_, last = clean_frames(scene)
    x, flat, ball = last.states[0].x, scene.cloths[0].mesh, scene.bodies[0].mesh
    assert np.linalg.norm(x, axis=1).min() > _inner_radius(ball), "part of the sheet is inside the sphere"
    middle = x[np.linalg.norm(flat.uv, axis=1).argmin()]
    assert np.linalg.norm(middle - [0, 0, RADIUS]) < 0.3 * RADIUS, f"the middle of the sheet has slid to {middle}"
    assert x[:, 2].min() < 0, f"the hem hangs no lower than {x[:, 2].min():.2f} m"
    stretch = stretches(flat, x)
    assert abs(stretch.mean() - 1) < 0.02 and stretch.max() < 1.2, (
        f"edges are {stretch.mean():.3f} times as long as at rest, and up to {stretch.max():.3f} times"
    )


def _inner_radius(ball: TriMesh) -> float:
    """Of the largest sphere around the origin within the ball [m]."""
    a, b, c = ball.x[ball.faces].swapaxes(0, 1)
    normal = np.cross(b - a, c - a)
    return float(((normal * a).sum(1) / np.linalg.norm(normal, axis=1)).min())
