"""Two sheets slid into each other: the path ends on the border of one and on the border of the other. [E fig. 1g]"""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.scenes.claims import assert_one_path
from unsnarl.scenes.sheets import bent, flat_grid

KIND = "BI_BI"


def build(resolution: int = 20) -> list[TriMesh]:
    """Two sheets of 1 m, one flat, one upright, each half inside the other; resolution squares along each side."""
    uv, faces = flat_grid(np.linspace(-0.5, 0.5, resolution + 1), np.linspace(-0.5, 0.5, resolution + 1))
    u, v = uv.T
    flat = bent(uv, faces, np.column_stack([u, v, np.zeros(len(uv))]), "flat")
    upright = bent(uv, faces, np.column_stack([u + 0.52, 0.03 * np.sin(5 * u) + 0.011, v + 0.017]), "upright")
    return [flat, upright]


def check(resolution: int = 20) -> None:
    """There is one path, and it is of this kind."""
    assert_one_path(KIND, build(resolution))
