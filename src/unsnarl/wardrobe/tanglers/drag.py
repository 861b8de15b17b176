"""Dragged by hand: a few vertices with their neighbours are taken along bowed ways through the cloth. [D §9.3]

Each way leads outwards at first, then to another place of the garment and a bit beyond. The rest of the cloth follows
as it can.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.wardrobe.tanglers.state import GARMENTS, Tangled, direction, draped, let_go, normals

STEPS = 12


def draw(rng: np.random.Generator) -> Tangled:
    """A garment of which one to three patches were dragged 6 to 25 cm."""
    worn = draped(str(rng.choice(GARMENTS)))
    cloth = worn.cloths[0]
    ways = [way(rng, cloth.mesh, STEPS) for _ in range(rng.integers(1, 4))]
    pins, first = np.unique(np.concatenate([patch for patch, _ in ways]), return_index=True)
    shift = np.concatenate([np.repeat(to[:, None], len(patch), axis=1) for patch, to in ways], axis=1)[:, first]
    cloth = replace(cloth, pins=pins, targets=cloth.mesh.x[pins] + shift)
    return let_go(worn, STEPS, cloths=[cloth])


def way(rng: np.random.Generator, mesh: TriMesh, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The vertices of a patch, and how far it has come at each step, (steps + 1, 3) [m]."""
    held = int(rng.integers(len(mesh.x)))
    patch = np.linalg.norm(mesh.x - mesh.x[held], axis=1) < rng.uniform(0.03, 0.06)
    reach = rng.uniform(0.06, 0.25)
    far = np.abs(np.linalg.norm(mesh.x - mesh.x[held], axis=1) - reach)
    goal = int(rng.choice(np.argsort(far, kind="stable")[:20]))
    ahead = (mesh.x[goal] - mesh.x[held]) * (1.0 + rng.uniform(0.02, 0.08) / reach)
    bow = reach * (rng.uniform(0.1, 0.5) * normals(mesh)[held] + 0.2 * direction(rng))
    s = np.linspace(0.0, 1.0, steps + 1)[:, None]
    return np.flatnonzero(patch), s * ahead + np.sin(np.pi * s) * bow
