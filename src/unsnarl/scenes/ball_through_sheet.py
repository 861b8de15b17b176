"""A ball pokes through a sheet: one closed path, a disc inside on either surface. [A fig. 4, E fig. 1a]"""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.scenes.claims import assert_one_path
from unsnarl.scenes.sheets import bent, flat_grid

KIND = "CLOSED"


def build(resolution: int = 20) -> list[TriMesh]:
    """A flat sheet of 1 m, resolution squares along each side, and a dome of 0.8 m whose top is through it."""
    uv, faces = flat_grid(np.linspace(-0.5, 0.5, resolution + 1), np.linspace(-0.5, 0.5, resolution + 1))
    sheet = bent(uv, faces, np.column_stack([uv, np.zeros(len(uv))]), "sheet")
    x, y = 0.8 * uv.T + [[0.03], [0.017]]
    ball = bent(0.8 * uv, faces, np.column_stack([x, y, 0.11 - 2.0 * (x**2 + y**2)]), "ball")
    return [sheet, ball]


def check(resolution: int = 20) -> None:
    """There is one path, and it is of this kind."""
    assert_one_path(KIND, build(resolution))
