"""A cloth on a table is pulled over the edge by two of its corners."""

from __future__ import annotations

import numpy as np

from unsnarl.mesh.primitives import box, sheet, sheet_corners
from unsnarl.scenes.claims import clean_frames, stretches
from unsnarl.simulation.scene import Body, Cloth, Scene

TOP = 0.05  # height of the table's upper side [m]


def build(vertices: int = 2_500, *, frames: int = 60) -> Scene:
    """A cloth of 0.8 m on a table of 1 m, pulled by two corners along x and down past the edge; z is up."""
    squares = max(2, round(np.sqrt(vertices)) - 1)
    flat = sheet((0.8, 0.8), (squares, squares), name="cloth")
    start = flat.x + [0.05, 0.0, TOP + 0.006]
    corners = sheet_corners((squares, squares))[[1, 3]]
    t = np.arange(frames) / 24.0
    go = np.clip((t - 0.2) / 1.6, 0.0, 1.0)
    go = go * go * (3 - 2 * go)  # gently off, gently to a stop
    along = np.clip(go / 0.5, 0.0, 1.0)[:, None, None] * np.array([0.16, 0.0, 0.02])
    down = np.clip((go - 0.4) / 0.6, 0.0, 1.0)[:, None, None] * np.array([0.02, 0.0, -0.22])
    cloth = Cloth(flat.moved(start), "cotton", pins=corners, targets=start[corners] + along + down)
    table = box((1.0, 1.2, 2 * TOP), (10, 12, 2), name="table")
    return Scene([cloth], [Body(table, friction=0.5)], frames=frames, up="z", name="cloth_over_table_edge")


def check(vertices: int = 900, *, frames: int = 60) -> None:
    """It bends around the edge: part of it hangs, part of it lies on the table, and nothing is in the table."""
    scene = build(vertices, frames=frames)
    for frame in clean_frames(scene):
        x = frame.states[0].x
    cloth = scene.cloths[0]
    assert np.abs(x[cloth.pins] - cloth.targets[-1]).max() == 0.0
    on = (np.abs(x[:, 0]) < 0.5) & (np.abs(x[:, 1]) < 0.6)
    assert x[on, 2].min() > TOP, "part of it is in the table"
    assert on.mean() > 0.3 and (x[:, 2] < TOP - 0.1).mean() > 0.05
    assert np.percentile(stretches(cloth.mesh, x), 99) < 1.1
