"""A cloth held at two corners swings down and comes to hang in a curve between them."""

from __future__ import annotations

import numpy as np

from unsnarl.mesh.primitives import sheet, sheet_corners
from unsnarl.scenes.claims import clean_frames, stretches
from unsnarl.simulation.scene import Cloth, Scene


def build(vertices: int = 2_500, *, frames: int = 60) -> Scene:
    """A sheet of 1 m, flat at first, held at two corners that come a little nearer to each other; z is up."""
    squares = max(2, round(np.sqrt(vertices)) - 1)
    flat = sheet((1.0, 1.0), (squares, squares), name="cloth")
    corners = sheet_corners((squares, squares))[2:]
    start, near = flat.x[corners], flat.x[corners] * [0.7, 1.0, 1.0]
    share = np.clip(np.arange(frames) / 12.0, 0.0, 1.0)[:, None, None]
    targets = (1 - share) * start + share * near
    cloth = Cloth(flat, "silk", pins=corners, targets=targets)
    return Scene([cloth], frames=frames, up="z", air=1.0, name="hanging_cloth")


def check(vertices: int = 900, *, frames: int = 60) -> None:
    """It hangs below the corners, sags between them, and is hardly stretched."""
    scene = build(vertices, frames=frames)
    for frame in clean_frames(scene):
        x = frame.states[0].x
    cloth = scene.cloths[0]
    held = x[cloth.pins]
    assert np.abs(held - cloth.targets[-1]).max() == 0.0, "a corner is not where it is held"
    between = x[cloth.pins[0] : cloth.pins[1] + 1]
    assert between[:, 2].min() < -0.1, f"between the corners it sags by {-between[:, 2].min():.3f} m only"
    assert x[:, 2].min() < -0.9, f"the hem hangs at {x[:, 2].min():.3f} m"
    assert np.percentile(stretches(cloth.mesh, x), 99) < 1.05
