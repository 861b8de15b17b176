"""Stitches: pairs of vertices that are drawn together until they are one, as a thread does when a seam is closed.

Each is a stiff spring without length, implicit in the solve. It aims at closing a share of the gap in every step, but
no faster than `SPEED`, so that panels come together without being thrown. Once the ends of a stitch are nearer than the
cloth is thick they count as one point, so that collisions do not keep the seam open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.dynamics.pcg import Couplings, couple
from unsnarl.jit import ints
from unsnarl.mesh.tri_mesh import components

SHARE = 0.5  # of the gap that is closed in a step
SPEED = 1.0  # [m/s]


@dataclass(frozen=True, eq=False)
class Stitches:
    """s stitches.

    pairs     : (s, 2) int32, the vertices
    stiffness : (s,) [N/m]
    """

    pairs: np.ndarray
    stiffness: np.ndarray

    def __len__(self) -> int:
        return len(self.pairs)

    def ids(self, x: np.ndarray, origin: np.ndarray | None, near: float) -> np.ndarray:
        """(n,) int32, the vertex that each counts as: stitches with gaps below `near` [m] are one point.

        x : (n, 3) [m]; origin : (n,) int32, what vertices are copies of without stitches, or None
        """
        n = len(x)
        a, b = self.pairs.T
        same = self.pairs[((x[a] - x[b]) ** 2).sum(axis=1) < near * near]
        if origin is not None:
            same = np.concatenate([same, np.column_stack([np.arange(n), origin])])
        piece = components(n, same)
        return ints(np.unique(piece, return_index=True)[1][piece])


def pull_together(stitches: Stitches, x, v, h: float, vertices: int) -> Couplings:
    """Couplings between `vertices` particles that close the stitches at x, v (n, 3) in a step of h [s]."""
    a, b = stitches.pairs.T
    gap, u = x[a] - x[b], v[a] - v[b]
    size = np.sqrt((gap**2).sum(axis=1))
    share = np.minimum(SHARE / h, SPEED / np.maximum(size, 1e-30))
    strength = stitches.stiffness * h * h
    block = strength[:, None, None] * np.eye(3)
    pull = strength[:, None] * (-share[:, None] * gap - u)
    vertex = np.column_stack([a, b, a, a]).astype(np.int32)
    weight = np.tile([1.0, -1.0, 0.0, 0.0], (len(a), 1))
    return couple(vertices, vertex, weight, block, pull)
