"""Stitches: pairs of vertices that are drawn together until they are one, as a thread does when a seam is closed.

Each is a stiff spring without length, implicit in the solve. It aims at closing a share of the gap in every step, but no
faster than `SPEED`, so that panels come together without being thrown.
"""

from __future__ import annotations

import numpy as np

from unsnarl.dynamics.pcg import Couplings, couple

SHARE = 0.5  # of the gap that is closed in a step
SPEED = 1.0  # [m/s]


def pull_together(pairs: np.ndarray, x, v, h: float, stiffness: np.ndarray, vertices: int) -> Couplings:
    """Couplings that close stitches (s, 2) int32 at x, v (n, 3) in a step of h [s].

    stiffness : (s,) [N/m]
    """
    a, b = pairs.T
    gap, u = x[a] - x[b], v[a] - v[b]
    size = np.sqrt((gap**2).sum(axis=1))
    share = np.minimum(SHARE / h, SPEED / np.maximum(size, 1e-30))
    strength = stiffness * h * h
    block = strength[:, None, None] * np.eye(3)
    pull = strength[:, None] * (-share[:, None] * gap - u)
    vertex = np.column_stack([a, b, a, a]).astype(np.int32)
    weight = np.tile([1.0, -1.0, 0.0, 0.0], (len(a), 1))
    return couple(vertices, vertex, weight, block, pull)
