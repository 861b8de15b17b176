"""Collisions: which features meet while all vertices move in straight lines from x0 to x1. None is missed.

Features collide when they come nearer than the separation, or, if they were that near to begin with, when they lose a
fifth of their distance: things that start close may stay so, and what keeps its distance never collides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.detect.features import Surfaces, largest_face, pair_up
from unsnarl.detect.nearby import Nearby, by_parts, search
from unsnarl.geometry.ccd import NO_COLLISION, apart_edge_edge, apart_point_triangle, edge_edge_ccd, point_triangle_ccd
from unsnarl.geometry.distance import edge_edge, point_triangle
from unsnarl.jit import kernel

TOUCHING = 1e-14  # distance, relative to the size of faces, that is none
KEEP = 0.8  # share of the distance at the beginning that has to be left


@dataclass(frozen=True, eq=False)
class Collisions:
    """k collisions, in ascending order of kind and vertices.

    kind   : (k,) int32, 0: vertex and face, 1: two edges
    vertex : (k, 4) int32
    weight : (k, 4), of the relative point sum_i weight_i x_i when they meet: 1 for the vertex, negative for the face
    normal : (k, 3) unit, the direction of the relative point when they meet
    time   : (k,) when they meet, 0 to 1
    """

    kind: np.ndarray
    vertex: np.ndarray
    weight: np.ndarray
    normal: np.ndarray
    time: np.ndarray

    def __len__(self) -> int:
        return len(self.kind)

    def only(self, which: np.ndarray) -> Collisions:
        """Those where `which` (k,) bool holds."""
        return Collisions(*(getattr(self, k)[which] for k in self.__dataclass_fields__))


def find_collisions(
    on: Surfaces, x0, x1, separation: float, changed: np.ndarray | None = None, let_go: bool = False,
    nearby: Nearby | None = None,
) -> Collisions:  # fmt: skip
    """All collisions between x0 and x1 (n, 3) [m].

    separation : [m]
    changed    : (n,) bool, vertices to look at: pairs of features without one of these are left out
    let_go     : leave out features that touch exactly at x0: they have no side to be kept on
    nearby     : what knows of the step already
    """
    faces = on.mesh.faces
    if changed is not None:
        pairs = search(on, x0, x1, separation, changed[faces].any(axis=1))
    else:
        pairs, changed = (nearby or Nearby(on)).pairs(x0, x1, separation), np.ones(len(x0), np.bool_)
    touching = TOUCHING * 4.0 * (largest_face(x0, x1, faces) + separation) if let_go else -1.0

    def part(some):
        return _sweep(x0, x1, separation, touching, faces, on.ids, on.owned, changed, some)

    rows, figures = by_parts(part, pairs)
    return Collisions(
        *map(np.ascontiguousarray, (rows[:, 0], rows[:, 1:], figures[:, :4], figures[:, 4:7], figures[:, 7]))
    )


@kernel
def _sweep(x0, x1, separation, touching, faces, ids, owned, changed, pairs):
    features = np.empty((15, 5), np.int32)
    rows = np.empty((16, 5), np.int32)
    figures = np.empty((16, 8))
    n = 0
    for i in range(pairs.shape[0]):
        f, g = pairs[i, 0], pairs[i, 1]
        for k in range(pair_up(faces, ids, owned, f, g, features)):
            kind, a, b, c, d = features[k, 0], features[k, 1], features[k, 2], features[k, 3], features[k, 4]
            if not (changed[a] or changed[b] or changed[c] or changed[d]):
                continue
            if kind == 0:
                if apart_point_triangle(x0, x1, a, b, c, d, separation):
                    continue
                near = KEEP * np.sqrt(point_triangle(x0, a, b, c, d)[0])
                if near <= touching:
                    continue
                t, v, w = point_triangle_ccd(x0, x1, a, b, c, d, min(separation, near))
            else:
                if apart_edge_edge(x0, x1, a, b, c, d, separation):
                    continue
                near = KEEP * np.sqrt(edge_edge(x0, a, b, c, d)[0])
                if near <= touching:
                    continue
                t, v, w = edge_edge_ccd(x0, x1, a, b, c, d, min(separation, near))
            if t == NO_COLLISION:
                continue
            if n == rows.shape[0]:
                more = np.empty((2 * n, 5), np.int32)
                more[:n] = rows
                rows = more
                further = np.empty((2 * n, 8))
                further[:n] = figures
                figures = further
            rows[n] = features[k]
            if kind == 0:
                figures[n, 0], figures[n, 1], figures[n, 2], figures[n, 3] = 1.0, v + w - 1.0, -v, -w
            else:
                figures[n, 0], figures[n, 1], figures[n, 2], figures[n, 3] = 1.0 - v, v, w - 1.0, -w
            length = 0.0
            for col in range(3):
                value = 0.0
                for j in range(4):
                    vertex = features[k, 1 + j]
                    at = x0[vertex, col] + t * (x1[vertex, col] - x0[vertex, col])
                    value += figures[n, j] * at
                figures[n, 4 + col] = value
                length += value * value
            length = np.sqrt(length)
            for col in range(3):
                figures[n, 4 + col] = figures[n, 4 + col] / length if length > 0.0 else 0.0
            figures[n, 7] = t
            n += 1
    return rows[:n].copy(), figures[:n].copy()
