"""A sheet folded to and fro like a letter, whose bumps pass through the layer above and below.

Each fold is a half turn of x = cos, and the height rises evenly, so that neighbouring layers have a gap between them.
Bumps up on one layer and down on the next close the gap where they are high enough.
"""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.scenes.sheets import bent, flat_grid


def build(
    triangles: int = 7000, *, layers: int = 3, bumps: float = 3.0, height: float = 0.1, gap: float = 0.125
) -> TriMesh:
    """The folded sheet, 1 m wide, with its flat shape as rest shape and uv.

    triangles : about how many; they are about as long as they are wide
    layers    : how many times the sheet lies over itself
    bumps     : half waves across the width
    height    : of the bumps [m]; 0 gives a clean sheet
    gap       : between the layers [m]
    """
    fine = np.linspace(0, 1, 2001)
    length = np.hypot(np.diff(0.32 * np.cos(layers * np.pi * fine)), np.diff(gap * layers * fine)).sum()
    rows = max(2, round(np.sqrt(triangles / 2 / length)))  # squares across, each of two triangles
    columns = max(2, round(triangles / 2 / rows))
    uv, faces = flat_grid(np.linspace(0, 1, columns + 1), np.linspace(0, 1, rows + 1))
    u, v = uv.T
    turn = layers * np.pi * u
    x = 0.32 * np.cos(turn)
    bump = np.sin(turn) * np.sin(bumps * np.pi * v + 0.4 + 2 * x) * np.cos(10.8 * x + 0.3)
    z = gap / np.pi * turn + height * bump
    x = np.stack([x, v + 0.02 * np.sin(5 * turn), z], axis=1)
    return bent(uv * [length, 1], faces, x, "folded_sheet")


def check(triangles: int = 7000) -> None:
    """The sheet is tangled with bumps and clean without."""
    from unsnarl.tangles.check import check as find

    assert not find(build(triangles)).clean
    assert find(build(triangles, height=0.0)).clean
