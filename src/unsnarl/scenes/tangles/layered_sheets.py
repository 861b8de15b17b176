"""Three to five sheets on one another, each with waves of its own, so that neighbours cross."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from unsnarl.energies.materials import material
from unsnarl.mesh.primitives import sheet
from unsnarl.wardrobe.tanglers.state import Tangled, noise

APART = 0.02  # [m] between the sheets


def draw(rng: np.random.Generator) -> Tangled:
    """Sheets of 25 to 45 cm; in the clean state they are flat, each above the one before."""
    clean, meshes = [], []
    count = int(rng.integers(3, 6))
    squares = rng.integers(400, 1_600) / count
    for k in range(count):
        size = rng.uniform(0.25, 0.45, 2)
        flat = sheet(size, edge=np.sqrt(size.prod() / squares), up="y", name=f"sheet {k}")
        turn = Rotation.from_rotvec([0.0, rng.uniform(0.0, np.pi), 0.0])
        x = turn.apply(flat.x) + [rng.uniform(-0.05, 0.05), APART * k, rng.uniform(-0.05, 0.05)]
        wave = APART * rng.uniform(0.4, 1.0) * noise(rng, x[:, ::2], rng.uniform(0.15, 0.35))
        clean.append(flat.moved(x))
        meshes.append(flat.moved(x + np.outer(wave, [0.0, 1.0, 0.0])))
    return Tangled(tuple(meshes), tuple(clean), (material("cotton"),) * count)
