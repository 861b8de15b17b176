"""A ribbon, let down onto the floor, lays itself in folds, one on the other. [Volino et al. 1995; A §2]"""

from __future__ import annotations

import numpy as np

from unsnarl.mesh.primitives import sheet
from unsnarl.scenes.claims import clean_frames, stretches
from unsnarl.simulation.scene import Body, Cloth, Scene


def build(vertices: int = 1_800, *, frames: int = 90) -> Scene:
    """A ribbon of 5 cm by 1.2 m, upright and a little wavy, just above a floor at z = 0; it falls freely."""
    across = max(2, round(np.sqrt(vertices / 24)) - 1)
    along = 24 * across
    flat = sheet((0.05, 1.2), (across, along), name="ribbon")
    height = flat.x[:, 1] + 0.61
    sway = 0.004 * np.sin(9.0 * height) + 0.002 * np.sin(23.0 * height)
    ribbon = Cloth(flat.moved(np.column_stack([flat.x[:, 0], sway, height])), "leather", velocity=(0.0, 0.0, -0.5))
    floor = sheet((1.6, 1.6), (8, 8), name="floor")
    return Scene([ribbon], [Body(floor, friction=0.6)], frames=frames, substeps=4, up="z", name="ribbon_in_folds")


def check(vertices: int = 600, *, frames: int = 90) -> None:
    """It lies in a low pile of several layers, its edges about as long as before."""
    scene = build(vertices, frames=frames)
    for frame in clean_frames(scene):
        x = frame.states[0].x
    assert x[:, 2].min() > 0.0, "it is in the floor"
    assert x[:, 2].max() < 0.3, f"it still stands {x[:, 2].max():.2f} m high"
    assert np.ptp(x[:, 1]) < 0.6, f"it is spread over {np.ptp(x[:, 1]):.2f} m and not in folds"
    assert np.percentile(stretches(scene.cloths[0].mesh, x), 99) < 1.1
