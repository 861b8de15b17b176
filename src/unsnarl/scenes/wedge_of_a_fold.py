"""A folded sheet; its layers pass through each other in a wedge from a vertex of the fold to the border. [E fig. 1e]"""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.scenes.claims import assert_one_path
from unsnarl.scenes.sheets import bent, flat_grid

KIND = "CROSS"


def build(resolution: int = 20) -> list[TriMesh]:
    """A sheet of about 2.2 m by 1 m, folded 1 m from one end, resolution squares to the width."""
    half = max(2, resolution // 2)
    square = 0.5 / half
    uv, faces = flat_grid(square * np.arange(-int(2.4 * half), 2 * half + 1), square * np.arange(-half, half + 1))
    u, v = uv.T
    s = np.abs(u)
    z = np.where(s > 0, np.sign(u) * 0.5 * (np.abs(v) - 0.35 * s), 0.0)  # at its tip narrower than half a square
    return [bent(uv, faces, np.column_stack([s * np.where(u > 0, 1.0, 1.03), v, z]), "wedge")]


def check(resolution: int = 20) -> None:
    """There is one path, and it is of this kind."""
    assert_one_path(KIND, build(resolution))
