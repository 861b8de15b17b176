"""Flat sheets as the scenes bend them: a grid of two triangles a square, with its flat shape as rest shape and uv."""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.mesh.rest import rest_from_uv


def flat_grid(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The grid over the coordinates u (a,) and v (b,): uv (a b, 2), u running fastest, and faces (m, 3)."""
    uu, vv = np.meshgrid(u, v)
    number = np.arange(uu.size).reshape(len(v), len(u))
    a, b = number[:-1, :-1].ravel(), number[:-1, 1:].ravel()
    c, d = number[1:, 1:].ravel(), number[1:, :-1].ravel()
    return np.stack([uu.ravel(), vv.ravel()], axis=1), np.stack([a, b, c, a, c, d], axis=1).reshape(-1, 3)


def bent(uv: np.ndarray, faces: np.ndarray, x: np.ndarray, name: str) -> TriMesh:
    """The sheet with flat shape uv (n, 2) [m], bent to positions x (n, 3) [m]."""
    return TriMesh(x, faces, name=name, uv=uv, face_uv=faces, rest=rest_from_uv(uv, faces))
