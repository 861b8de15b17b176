"""Sheets as the scenes bend them: a grid of two triangles a square, with its flat shape as rest shape and uv."""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.mesh.primitives import flat_grid
from unsnarl.mesh.rest import rest_from_uv

__all__ = ["bent", "flat_grid"]


def bent(uv: np.ndarray, faces: np.ndarray, x: np.ndarray, name: str) -> TriMesh:
    """The sheet with flat shape uv (n, 2) [m], bent to positions x (n, 3) [m]."""
    return TriMesh(x, faces, name=name, uv=uv, face_uv=faces, rest=rest_from_uv(uv, faces))
