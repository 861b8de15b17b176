"""A fold that passes through itself up to the border of a sheet: a cone with the loop vertex at its tip. [E fig. 3]

The profile is that of `pinched_fold`, with the loop growing towards one border.
"""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.scenes.claims import assert_one_path
from unsnarl.scenes.sheets import bent, flat_grid

KIND = "BLI"


def build(resolution: int = 20) -> list[TriMesh]:
    """A sheet of about 1 m, resolution squares along each side; the border is oblique, so that its two parts differ."""
    uv, faces = flat_grid(np.linspace(-1, 1, resolution + 1), np.linspace(-1, 1, resolution + 1))
    t, v = uv.T
    v = v + 0.25 * t * (v > 0) * v
    x = np.column_stack([0.5 * (t**3 - 0.6 * v * t), 0.5 * v, 0.4 * t**2])
    return [bent(0.5 * np.column_stack([t, v]), faces, x, "cone")]


def check(resolution: int = 20) -> None:
    """There is one path, and it is of this kind."""
    assert_one_path(KIND, build(resolution))
