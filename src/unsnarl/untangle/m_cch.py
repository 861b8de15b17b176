"""m-CCH: red may cross red; red and green keep apart; green and green do not collide. [D §5.2]

A vertex and a face, or two edges, that are both red may pass through each other: that is how they get out. Of all other
pairs none may, so what is green stays green. Red and green keep a distance that is large enough to help: what is
shortened below it has to come out. This is a filter of collisions, so that it goes around any resolver.
"""

from __future__ import annotations

import numpy as np

from unsnarl.detect.sweep import KEEP, Collisions
from unsnarl.geometry.ccd import NO_COLLISION, edge_edge_ccd, point_triangle_ccd
from unsnarl.geometry.distance import edge_edge, point_triangle
from unsnarl.jit import kernel
from unsnarl.mesh import TriMesh
from unsnarl.tangles.colours import RedGreen


class RedCrossesRed:
    """What may cross what, in a step, by colour.

    apart : [m] that red and green keep (epsilon_RG); of green and green it is what the caller asks for
    """

    def __init__(self, mesh: TriMesh, colours: RedGreen, apart: float):
        self.mesh, self.colours, self.apart = mesh, colours, apart

    def cross(self, kind: np.ndarray, vertex: np.ndarray) -> np.ndarray:
        """(k,) bool, the pairs of features, as in `Collisions` and `Proximity`, that are red both."""
        return self._reds(kind, vertex) == 2

    def held(self, found: Collisions, x0, x1, separation: float) -> Collisions:
        """Of collisions at the distance `apart`, those that have to be stopped: green pairs, at `separation` [m]."""
        reds = self._reds(found.kind, found.vertex)
        green = np.flatnonzero(reds == 0)
        keep = reds == 1
        keep[green] = _collide(found.kind[green], found.vertex[green], x0, x1, separation)
        return found.only(keep)

    def _reds(self, kind, vertex):
        t, c = self.mesh.topology, self.colours
        return _reds(
            kind, vertex, self.mesh.faces, t.edges, t.star_start, t.star_edges, t.fan_start, t.fan_faces, c.vertices,
            c.edges, c.faces,
        )  # fmt: skip


@kernel
def _edge_is(edges, star_start, star_edges, red, red_edge, a, b):
    if red[a] or red[b]:
        return 1
    for i in range(star_start[a], star_start[a + 1]):
        e = star_edges[i]
        if edges[e, 0] + edges[e, 1] - a == b:
            return 1 if red_edge[e] else 0
    return 0


@kernel
def _reds(kind, vertex, faces, edges, star_start, star_edges, fan_start, fan_faces, red, red_edge, red_face):
    """(k,) how many of the two features of each pair are red."""
    out = np.zeros(kind.shape[0], np.int8)
    for row in range(kind.shape[0]):
        a, b, c, d = vertex[row, 0], vertex[row, 1], vertex[row, 2], vertex[row, 3]
        if kind[row] == 1:
            out[row] = _edge_is(edges, star_start, star_edges, red, red_edge, a, b)
            out[row] += _edge_is(edges, star_start, star_edges, red, red_edge, c, d)
            continue
        out[row] = 1 if red[a] else 0
        if red[b] or red[c] or red[d]:
            out[row] += 1
            continue
        for i in range(fan_start[b], fan_start[b + 1]):
            f = fan_faces[i]
            if red_face[f] and faces[f, 0] + faces[f, 1] + faces[f, 2] == b + c + d:
                has_c = faces[f, 0] == c or faces[f, 1] == c or faces[f, 2] == c
                if has_c:
                    out[row] += 1
                    break
    return out


@kernel
def _collide(kind, vertex, x0, x1, separation):
    """(k,) bool, whether features collide, as `find_collisions` has it."""
    out = np.zeros(kind.shape[0], np.bool_)
    for row in range(kind.shape[0]):
        a, b, c, d = vertex[row, 0], vertex[row, 1], vertex[row, 2], vertex[row, 3]
        if kind[row] == 0:
            near = KEEP * np.sqrt(point_triangle(x0, a, b, c, d)[0])
            out[row] = point_triangle_ccd(x0, x1, a, b, c, d, min(separation, near))[0] != NO_COLLISION
        else:
            near = KEEP * np.sqrt(edge_edge(x0, a, b, c, d)[0])
            out[row] = edge_edge_ccd(x0, x1, a, b, c, d, min(separation, near))[0] != NO_COLLISION
    return out
