"""A sheet folded over; the two layers pass through each other in a drop whose tip is a vertex of the fold. [E fig. 1b]

In space the path is a loop from that vertex to itself; on the sheet it is an eight, one lobe on each layer.
"""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.scenes.claims import assert_one_path
from unsnarl.scenes.sheets import bent, flat_grid

KIND = "EIGHT"


def build(resolution: int = 20) -> list[TriMesh]:
    """A sheet of 2 m by 1 m, folded at half its length, resolution squares to the width."""
    half = max(2, resolution // 2)
    uv, faces = flat_grid(np.linspace(-1, 1, 4 * half + 1), np.linspace(-0.5, 0.5, 2 * half + 1))
    u, v = uv.T
    s = np.abs(u)
    # negative inside a drop with its tip at the middle of the fold; at the tip it is narrower than half a square
    drop = np.abs(v) - s * (0.3 + 0.8 * s) * (1 - s / 0.8)
    z = np.where(s > 0, np.sign(u) * 0.5 * drop, 0.0)
    return [bent(uv, faces, np.column_stack([s * np.where(u > 0, 1.0, 1.03), v, z]), "folded")]


def check(resolution: int = 20) -> None:
    """There is one path, and it is of this kind."""
    assert_one_path(KIND, build(resolution))
