"""Ten sheets fall, one after the other, onto a small block and come to lie on each other, their sides hanging down."""

from __future__ import annotations

import numpy as np

from unsnarl.mesh.primitives import box, sheet
from unsnarl.scenes.claims import clean_frames, stretches
from unsnarl.simulation.scene import Body, Cloth, Scene

FABRICS = ("cotton", "jersey", "wool", "silk", "linen")


def build(vertices: int = 9_000, *, sheets: int = 10, frames: int = 60) -> Scene:
    """Sheets of 0.6 m, each turned a little and of another fabric, above a block of 0.3 m; z is up.

    vertices : of all sheets together, about
    """
    squares = max(2, round(np.sqrt(vertices / sheets)) - 1)
    cloths = []
    for k in range(sheets):
        flat = sheet((0.6, 0.6), (squares, squares), name=f"sheet {k}")
        turn = 0.35 * k
        c, s = np.cos(turn), np.sin(turn)
        x = flat.x @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + [0.0, 0.0, 0.02 + 0.025 * k]
        cloths.append(Cloth(flat.moved(x), FABRICS[k % len(FABRICS)]))
    block = box((0.3, 0.3, 0.1), (6, 6, 2), name="block")
    return Scene(
        cloths, [Body(block.moved(block.x - [0, 0, 0.05]), friction=0.5)], frames=frames, up="z", thickness=0.004,
        friction=0.5, name="stack_of_sheets",
    )  # fmt: skip


def check(vertices: int = 1_440, *, sheets: int = 10, frames: int = 60) -> None:
    """The sheets lie above each other in their order, none has slid off."""
    scene = build(vertices, sheets=sheets, frames=frames)
    *_, last = clean_frames(scene)
    middles = []
    for cloth, state in zip(scene.cloths, last.states):
        middle = np.linalg.norm(cloth.mesh.uv, axis=1).argmin()
        middles.append(state.x[middle, 2])
        assert np.linalg.norm(state.x[middle, :2]) < 0.12, f"{cloth.mesh.name} has slid off"
        assert np.percentile(stretches(cloth.mesh, state.x), 99) < 1.1
    assert (np.diff(middles) > 0).all(), f"the sheets have changed places: {np.round(middles, 4)}"
    assert middles[-1] < 0.15, f"the topmost sheet is at {middles[-1]:.3f} m"
