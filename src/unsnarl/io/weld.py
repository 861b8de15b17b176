"""Vertices that are one point of the surface, made one again.

Files that keep one texture coordinate or normal per vertex split the surface along every seam; welded by
position it is whole. Only vertices are joined that stay together: what moves them, and how much, must agree
too.
"""

from __future__ import annotations

import numpy as np

_TOLERANCE = 1e-6  # of weights
_ROUNDS = 100  # as many different influences are told apart at one point; any more are left as they are


def weld(points: np.ndarray, joints: np.ndarray | None = None, weights: np.ndarray | None = None):
    """Join vertices with equal rows of `points`, bit for bit (but 0 is -0).

    points  : (n, c), positions, and displacements if there are any
    joints  : (n, q) int, and weights (n, q): what moves a vertex and how much
    Returns vertex (n,) int32, the joined vertex of each, and first (k,) int32, ascending, the first vertex of
    each joined one.
    """
    rows = np.ascontiguousarray(points + 0.0)
    rows = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, at_first, place = np.unique(rows, return_index=True, return_inverse=True)
    leader = at_first[place]
    if joints is not None:
        leader = _told_apart(place.ravel(), *_in_order(joints, weights))
    first = np.unique(leader)
    return np.searchsorted(first, leader).astype(np.int32), first.astype(np.int32)


def _in_order(joints: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Influences in one order, those that do not count as joint -1 of weight 0."""
    counts = weights > _TOLERANCE
    joints, weights = np.where(counts, joints, -1), np.where(counts, weights, 0.0)
    order = np.argsort(joints, axis=1, kind="stable")
    return np.take_along_axis(joints, order, axis=1), np.take_along_axis(weights, order, axis=1)


def _told_apart(place: np.ndarray, joints: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n,) the first vertex at the same place with the same influences."""
    leader = np.arange(len(place))
    left = leader
    for _ in range(_ROUNDS):
        _, at_first, inverse = np.unique(place[left], return_index=True, return_inverse=True)
        head = left[at_first[inverse.ravel()]]
        same = (joints[head] == joints[left]).all(axis=1)
        same &= (np.abs(weights[head] - weights[left]) <= _TOLERANCE).all(axis=1)
        leader[left[same]] = head[same]
        left = left[~same & (head != left)]
        if len(left) == 0:
            break
    return leader
