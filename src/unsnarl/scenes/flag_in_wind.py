"""A flag on its pole in a gusty wind: it hangs at first, then is blown out and flutters."""

from __future__ import annotations

import numpy as np

from unsnarl.mesh.primitives import sheet
from unsnarl.scenes.claims import clean_frames, stretches
from unsnarl.simulation.scene import Cloth, Scene, Wind


def build(vertices: int = 2_400, *, frames: int = 80, speed: float = 6.0) -> Scene:
    """A flag of 1.5 m by 1 m, held along its left side; the wind blows along x at `speed` [m/s], z is up."""
    rows = max(2, round(np.sqrt(vertices / 1.5)) - 1)
    columns = round(1.5 * rows)
    flat = sheet((1.5, 1.0), (columns, rows), name="flag")
    x = np.column_stack([flat.x[:, 0] + 0.75, 0.02 * np.sin(4 * flat.x[:, 0]) * flat.x[:, 1], flat.x[:, 1]])
    flag = Cloth(flat.moved(x), "polyester", pins=np.arange(rows + 1) * (columns + 1))
    wind = Wind((speed, 0.0, 0.0), gusts=0.5)
    return Scene([flag], wind=wind, frames=frames, up="z", name="flag_in_wind")


def check(vertices: int = 600, *, frames: int = 80) -> None:
    """It is blown out to leeward, moves all the time, and stays on its pole."""
    scene = build(vertices, frames=frames)
    energy = []
    for frame in clean_frames(scene):
        x = frame.states[0].x
        energy.append(frame.stats["kinetic_energy"])
    cloth = scene.cloths[0]
    assert np.array_equal(x[cloth.pins], cloth.mesh.x[cloth.pins])
    assert x[:, :2].mean(axis=0) @ np.array([1.0, 0.0]) > 0.4, "it is not blown to leeward"
    assert min(energy[10:]) > 1e-3, "it has come to rest"
    assert np.percentile(stretches(cloth.mesh, x), 99) < 1.1
