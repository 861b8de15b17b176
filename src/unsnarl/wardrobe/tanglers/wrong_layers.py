"""Layers put on in the wrong place: what belongs below comes out above, somewhere or along a whole side.

Sheets that lie on one another, or trousers under a dress: the lower one is blown up in a few places, or moved and
turned as a whole, so that it passes through the upper one and back.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from unsnarl.energies.materials import material
from unsnarl.mesh import TriMesh
from unsnarl.mesh.primitives import sheet
from unsnarl.wardrobe.tanglers.state import OUTFIT, Tangled, blob, direction, draped, noise, normals

APART = 0.02  # [m] between the sheets


def draw(rng: np.random.Generator) -> Tangled:
    """Two or three sheets, or two garments."""
    if rng.random() < 0.6:
        clean, bodies = _stack(rng), ()
        materials, outwards = (material("cotton"),) * len(clean), np.array([0.0, 1.0, 0.0])
    else:
        worn = draped(OUTFIT)
        clean, bodies = tuple(worn.meshes), tuple(b.mesh for b in worn.bodies)
        materials, outwards = tuple(c.material for c in worn.cloths), normals(clean[0])
    lowest = clean[0]
    if rng.random() < 0.65:
        x = lowest.x.copy()
        for _ in range(rng.integers(1, 5)):
            far = np.linalg.norm(lowest.x - lowest.x[rng.integers(len(x))], axis=1)
            x += rng.uniform(1.2, 3.0) * APART * blob(far, rng.uniform(0.06, 0.25))[:, None] * outwards
    else:
        turn = Rotation.from_rotvec(np.radians(rng.uniform(2.0, 12.0)) * direction(rng))
        middle = lowest.x.mean(axis=0)
        x = turn.apply(lowest.x - middle) + middle + rng.uniform(0.0, 2.0) * APART * direction(rng)
    return Tangled((lowest.moved(x), *clean[1:]), clean, materials, bodies, bodies)


def _stack(rng: np.random.Generator) -> tuple[TriMesh, ...]:
    """Two or three sheets, each turned, on one wavy ground."""
    waves = rng.integers(2**32)
    meshes = []
    for k in range(rng.integers(2, 4)):
        size = rng.uniform(0.3, 0.5, 2)
        flat = sheet(size, edge=0.022, up="y", name=f"sheet {k}")
        turn = Rotation.from_rotvec([0.0, rng.uniform(0.0, np.pi), 0.0])
        x = turn.apply(flat.x) + rng.uniform(-0.08, 0.08, 3) * [1.0, 0.0, 1.0]
        x[:, 1] = APART * k + 0.015 * noise(np.random.default_rng(waves), x[:, ::2], 0.3)
        meshes.append(flat.moved(x))
    return tuple(meshes)
