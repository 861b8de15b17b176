"""The exploded handkerchief: vertices around its middle are put at random points of a ball. [D §9.2]

It has 388 triangles as D's has: 14 squares by 14, cut along alternating diagonals, and without the four triangles at
its corners. As in D, a point of the ball has random spherical coordinates, so that the middle is the densest. The ball
does not reach the border, so that no path ends there.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from unsnarl.energies.materials import material
from unsnarl.mesh import TriMesh
from unsnarl.mesh.primitives import flat_grid
from unsnarl.mesh.rest import rest_from_uv
from unsnarl.wardrobe.tanglers.state import Tangled

SIDE, SQUARES = 0.6, 14  # [m], and how many along it


@cache
def handkerchief() -> TriMesh:
    """388 triangles, flat in the plane y = 0."""
    v = np.linspace(-0.5 * SIDE, 0.5 * SIDE, SQUARES + 1)
    u = np.concatenate([[v[0] - SIDE / SQUARES], v])  # a column more, left out again: else diagonals end in the corners
    uv, faces = flat_grid(u, v, alternating=True)
    faces = faces[(uv[faces, 0] >= v[0]).all(axis=1)]
    faces = faces[(np.bincount(faces.ravel())[faces] > 1).all(axis=1)]
    used, faces = np.unique(faces, return_inverse=True)
    uv, faces = uv[used], faces.reshape(-1, 3)
    x = np.column_stack([uv[:, 0], np.zeros(len(uv)), -uv[:, 1]])
    return TriMesh(x, faces, name="handkerchief", uv=uv, face_uv=faces, rest=rest_from_uv(uv, faces))


def draw(rng: np.random.Generator) -> Tangled:
    """The handkerchief with its middle, 3 to 21 cm around, exploded within 2 to 20 cm."""
    return exploded(rng, rng.uniform(0.03, 0.21), rng.uniform(0.02, 0.2))


def exploded(rng: np.random.Generator, radius: float, reach: float) -> Tangled:
    """The handkerchief with all vertices within a radius of its middle [m] put into a ball of radius `reach` [m]."""
    flat = handkerchief()
    moved = np.flatnonzero(np.linalg.norm(flat.x, axis=1) < radius)
    r, phi, psi = (rng.uniform(a, b, len(moved)) for a, b in ((0, reach), (0, 2 * np.pi), (-np.pi, np.pi)))
    x = flat.x.copy()
    x[moved] = (r * [np.cos(phi) * np.cos(psi), np.sin(psi), np.sin(phi) * np.cos(psi)]).T
    return Tangled((flat.moved(x),), (flat,), (material("cotton"),))
