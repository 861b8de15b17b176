"""What a file says beside its mesh, kept to be written back while the mesh is still the one that was read.

A mesh may have moved since; with other faces, texture coordinates or groups it is another mesh, and is
written plainly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from unsnarl.mesh import TriMesh


@dataclass(frozen=True, eq=False, kw_only=True)
class Kept:
    """The arrays of a mesh as they were read (see `TriMesh`); the record of each format adds its own."""

    x: np.ndarray
    faces: np.ndarray
    uv: np.ndarray | None = None
    face_uv: np.ndarray | None = None
    groups: Mapping[str, np.ndarray]

    def fits(self, mesh: TriMesh) -> bool:
        """Is `mesh` the mesh that was read, but for its positions?"""
        return (
            self.x.shape == mesh.x.shape
            and np.array_equal(self.faces, mesh.faces)
            and _same(self.uv, mesh.uv)
            and _same(self.face_uv, mesh.face_uv)
            and list(self.groups) == list(mesh.groups)
            and all(np.array_equal(faces, mesh.groups[name]) for name, faces in self.groups.items())
        )

    def moved(self, mesh: TriMesh) -> np.ndarray:
        """(n,) bool, the vertices whose position is no longer, bit for bit, the one that was read."""
        return (self.x.view(np.int64) != mesh.x.view(np.int64)).any(axis=1)


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)
