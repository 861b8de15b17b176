"""A mesh in motion: the same connectivity at several times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.mesh import TriMesh, as_mesh


@dataclass(frozen=True, eq=False)
class Frames:
    """k frames of a mesh with n vertices.

    mesh : connectivity, uv, names and rest shapes; its positions are the file's rest pose, or frame 0 without one
    x    : (k, n, 3) float64, positions at each frame [m]
    fps  : frames per second
    """

    mesh: TriMesh
    x: np.ndarray
    fps: float = 24.0

    def __post_init__(self):
        object.__setattr__(self, "mesh", as_mesh(self.mesh))
        try:
            x, fps = np.ascontiguousarray(self.x, dtype=np.float64), float(self.fps)
        except (TypeError, ValueError):
            raise BadInput(f"{self.mesh.name}: frames and frames per second must be numbers") from None
        if x.ndim != 3 or x.shape[0] == 0 or x.shape[1:] != self.mesh.x.shape:
            raise BadInput(f"{self.mesh.name}: frames must have shape (k, {len(self.mesh.x)}, 3), not {x.shape}")
        if not np.isfinite(x).all():
            k = int(np.flatnonzero(~np.isfinite(x).all(axis=(1, 2)))[0])
            raise BadInput(f"{self.mesh.name}: frame {k} has a NaN or infinite coordinate")
        if not (np.isfinite(fps) and fps > 0):
            raise BadInput(f"{self.mesh.name}: frames per second must be positive, not {fps}")
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "fps", fps)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, k: int) -> TriMesh:
        """The mesh at frame k."""
        return self.mesh.moved(self.x[k])
