"""A fold that passes through itself in the middle of a sheet and comes out again on both sides. [A fig. 7, E fig. 1c]

Across the sheet the profile is (t^3 - a t, t^2), which makes a loop where a > 0; a falls off to both sides.
"""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.scenes.claims import assert_one_path
from unsnarl.scenes.sheets import bent, flat_grid

KIND = "LL"


def build(resolution: int = 20) -> list[TriMesh]:
    """A sheet of 1 m by 1 m, resolution squares along each side."""
    uv, faces = flat_grid(np.linspace(-1, 1, resolution + 1), np.linspace(-1, 1, resolution + 1))
    t, v = uv.T
    a = 0.45 - 1.3 * v**2
    x = np.column_stack([0.5 * (t**3 - a * t), 0.5 * v, 0.4 * t**2])
    return [bent(0.5 * uv, faces, x, "pinched")]


def check(resolution: int = 20) -> None:
    """There is one path, and it is of this kind."""
    assert_one_path(KIND, build(resolution))
