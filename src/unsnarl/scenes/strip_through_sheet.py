"""A strip stands in a wider sheet: the path goes from border to border of the strip, inside the sheet. [E fig. 1f]"""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.scenes.claims import assert_one_path
from unsnarl.scenes.sheets import bent, flat_grid

KIND = "BB_II"


def build(resolution: int = 20) -> list[TriMesh]:
    """A flat sheet of 1 m, resolution squares along each side, and a strip 0.5 m wide, upright through it."""
    uv, faces = flat_grid(np.linspace(-0.5, 0.5, resolution + 1), np.linspace(-0.5, 0.5, resolution + 1))
    sheet = bent(uv, faces, np.column_stack([uv, np.zeros(len(uv))]), "sheet")
    u, v = uv.T
    strip = bent(
        uv * [0.5, 0.8], faces, np.column_stack([0.5 * u + 0.013, 0.05 * np.sin(4 * u) + 0.007, 0.8 * v + 0.2]), "strip"
    )
    return [sheet, strip]


def check(resolution: int = 20) -> None:
    """There is one path, and it is of this kind."""
    assert_one_path(KIND, build(resolution))
