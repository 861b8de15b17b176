"""Features that are near each other, or will be: vertices and faces, and pairs of edges. [A §6]

Near is closer than the cloth is thick, now or on the way to where the features are expected at the end of the step.
Where the way is known better than that, and swept already (`detect.sweep`), what collides on it is what will be near.

A vertex that slides along a surface comes near the borders of the faces ahead, although it will be over them and not
beside them: such a pair would brake it. Where the nearest point of a face is on its border, the pair counts only if it
is the nearest around, seen from both sides; else one of the faces beside it is nearer, and is in a pair of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.detect.features import Surfaces, pair_up
from unsnarl.detect.nearby import Nearby, by_parts
from unsnarl.detect.sweep import Collisions
from unsnarl.geometry.ccd import NO_COLLISION, edge_edge_ccd, point_triangle_ccd
from unsnarl.geometry.distance import edge_edge, point_triangle
from unsnarl.jit import inlined, kernel

SLANT = 1e-2  # sine of the angle from which on one thing counts as nearer than another


@dataclass(frozen=True, eq=False)
class Proximity:
    """k pairs of features, in ascending order of kind and vertices.

    kind     : (k,) int32, 0: vertex and face, 1: two edges
    vertex   : (k, 4) int32
    weight   : (k, 4), of the relative point sum_i weight_i x_i: 1 for the vertex, negative for the face
    normal   : (k, 3) unit, the direction of the relative point: now if they are near now, else when they come near
    distance : (k,) [m] now, along the normal
    limit    : (k,) [m], below which they count as near
    """

    kind: np.ndarray
    vertex: np.ndarray
    weight: np.ndarray
    normal: np.ndarray
    distance: np.ndarray
    limit: np.ndarray

    def __len__(self) -> int:
        return len(self.kind)

    def only(self, which: np.ndarray) -> Proximity:
        """Those where `which` (k,) bool holds."""
        return Proximity(*(getattr(self, k)[which] for k in self.__dataclass_fields__))

    def joined(self, other: Proximity) -> Proximity:
        """These and the others; of a pair that is in both, as it is in the others."""
        rows = np.concatenate([np.column_stack([p.kind, p.vertex]) for p in (other, self)])
        _, first = np.unique(rows, axis=0, return_index=True)
        return Proximity(
            *(np.concatenate([getattr(other, k), getattr(self, k)])[first] for k in self.__dataclass_fields__)
        )


def find_proximity(
    on: Surfaces, x: np.ndarray, expected: np.ndarray, thickness: np.ndarray, nearby: Nearby | None = None
) -> Proximity:
    """All pairs of features, one of cloth, that are or come nearer than the smallest thickness of their vertices.

    Left out are vertices of cloth near faces of bodies: these are constrained (`contact.solids`).
    expected : (n, 3) [m] where everything will be at the end of the step, more or less

    x : (n, 3) [m]; thickness : (n,) [m], smaller where the mesh is fine, so that a sheet is not near itself at rest
    nearby : what knows of the step already, or gets to know
    """
    top = on.mesh.topology
    pairs = (nearby or Nearby(on)).pairs(x, expected, float(thickness.max()))

    def part(some):
        return _near(
            x, expected, thickness, on.mesh.faces, on.ids, on.owned, on.cloth, top.edges, top.face_edges,
            top.edge_faces, top.star_start, top.star_edges, some,
        )  # fmt: skip

    rows, figures = by_parts(part, pairs)
    parts = rows[:, 0], rows[:, 1:], figures[:, :4], figures[:, 4:7], figures[:, 7], figures[:, 8]
    return Proximity(*map(np.ascontiguousarray, parts))


def as_proximity(found: Collisions, x: np.ndarray, thickness: np.ndarray, cloth: int) -> Proximity:
    """Those of `find_proximity` among the pairs that collide on their way from x (n, 3) [m].

    thickness : (n,) [m]; cloth : how many of the vertices are cloth
    """
    limit = thickness[found.vertex].min(axis=1)
    on_body = (found.kind == 0) & (found.vertex[:, 1] >= cloth)
    at_end = (found.kind == 1) & (found.weight == 0.0).any(axis=1)
    some = found.only((limit > 0.0) & ~on_body & ~at_end)
    distance = np.einsum("ki,kij,kj->k", some.weight, x[some.vertex], some.normal)
    return Proximity(some.kind, some.vertex, some.weight, some.normal, distance, thickness[some.vertex].min(axis=1))


@inlined
def _never(thickness, faces, f):
    """Whether no feature of face f is ever near anything."""
    return max(thickness[faces[f, 0]], thickness[faces[f, 1]], thickness[faces[f, 2]]) <= 0.0


@inlined
def _approach(x, x1, a, b, c, d):
    """[m] by how much two features of these vertices can come nearer on their way from x to x1, at most."""
    most = 0.0
    for other in (b, c, d):
        square = 0.0
        for k in range(3):
            way = (x1[other, k] - x[other, k]) - (x1[a, k] - x[a, k])
            square += way * way
        most = max(most, square)
    return 2.0 * np.sqrt(most)


@inlined
def _is(faces, f, b, c, d):
    """Whether face f has these corners, in this order."""
    return faces[f, 0] == b and faces[f, 1] == c and faces[f, 2] == d


@inlined
def _towards(x, x1, t, i, j, u0, u1, u2):
    """Whether vertex j lies, seen from vertex i, clearly towards the unit vector u; at time t between x and x1."""
    dot = square = 0.0
    for k in range(3):
        way = (1.0 - t) * (x[j, k] - x[i, k]) + t * (x1[j, k] - x1[i, k])
        dot += way * (u0 if k == 0 else u1 if k == 1 else u2)
        square += way * way
    return dot > 0.0 and dot * dot > SLANT * SLANT * square


@inlined
def _any_towards(x, x1, t, i, u0, u1, u2, edges, star_start, star_edges):
    """Whether a neighbour of vertex i does."""
    for s in range(star_start[i], star_start[i + 1]):
        e = star_edges[s]
        if _towards(x, x1, t, i, edges[e, 0] + edges[e, 1] - i, u0, u1, u2):
            return True
    return False


@inlined
def _beside(
    x, x1, t, vertex, face, w1, w2, w3, u0, u1, u2, faces, edges, face_edges, edge_faces, star_start, star_edges
):
    """Whether a vertex over the border of a face is nearer to another face there, or that to one beside the vertex.

    w : weights of the face's corners; u : unit vector from there to the vertex
    """
    on_border = w1 == 0.0 or w2 == 0.0 or w3 == 0.0
    if not on_border:
        return False
    if _any_towards(x, x1, t, vertex, -u0, -u1, -u2, edges, star_start, star_edges):
        return True
    for k in range(3):  # an edge from corner k
        one, two = (w1, w2) if k == 0 else (w2, w3) if k == 1 else (w3, w1)
        last = w3 if k == 0 else w1 if k == 1 else w2
        if last == 0.0 and one != 0.0 and two != 0.0:
            e = face_edges[face, k]
            for side in range(2):
                g = edge_faces[e, side]
                if g >= 0 and g != face:
                    other = faces[g, 0] + faces[g, 1] + faces[g, 2] - edges[e, 0] - edges[e, 1]
                    return _towards(x, x1, t, edges[e, 0], other, u0, u1, u2)
            return False
        if one != 0.0 and two == 0.0 and last == 0.0:
            return _any_towards(x, x1, t, faces[face, k], u0, u1, u2, edges, star_start, star_edges)
    return False


@kernel
def _near(
    x, x1, thickness, faces, ids, owned, cloth, edges, face_edges, edge_faces, star_start, star_edges, pairs
):  # fmt: skip
    features = np.empty((15, 5), np.int32)
    rows = np.empty((64, 5), np.int32)
    figures = np.empty((64, 9))
    n = 0
    for i in range(pairs.shape[0]):
        f, g = pairs[i, 0], pairs[i, 1]
        if _never(thickness, faces, f) or _never(thickness, faces, g):
            continue
        for k in range(pair_up(faces, ids, owned, f, g, features)):
            kind, a, b, c, d = features[k, 0], features[k, 1], features[k, 2], features[k, 3], features[k, 4]
            if kind == 0 and b >= cloth:
                continue
            limit = min(min(thickness[a], thickness[b]), min(thickness[c], thickness[d]))
            if limit <= 0.0:
                continue
            if kind == 0:
                near, _, v, w = point_triangle(x, a, b, c, d)
            else:
                near, v, w = edge_edge(x, a, b, c, d)
            near = np.sqrt(near)
            t = 0.0
            if near >= limit:  # not yet
                if near - limit >= _approach(x, x1, a, b, c, d):
                    continue
                if kind == 0:
                    t, v, w = point_triangle_ccd(x, x1, a, b, c, d, limit)
                else:
                    t, v, w = edge_edge_ccd(x, x1, a, b, c, d, limit)
                if t == NO_COLLISION:
                    continue
            if kind == 0:
                w0, w1, w2, w3 = 1.0, v + w - 1.0, -v, -w
            elif v == 0.0 or v == 1.0 or w == 0.0 or w == 1.0:
                continue  # at an end of an edge it is a matter of vertices and faces
            else:
                w0, w1, w2, w3 = 1.0 - v, v, w - 1.0, -w
            if n == rows.shape[0]:
                more = np.empty((2 * n, 5), np.int32)
                more[:n] = rows
                rows = more
                further = np.empty((2 * n, 9))
                further[:n] = figures
                figures = further
            square = 0.0
            for col in range(3):
                value = w0 * (x[a, col] + t * (x1[a, col] - x[a, col]))
                value += w1 * (x[b, col] + t * (x1[b, col] - x[b, col]))
                value += w2 * (x[c, col] + t * (x1[c, col] - x[c, col]))
                value += w3 * (x[d, col] + t * (x1[d, col] - x[d, col]))
                figures[n, 4 + col] = value
                square += value * value
            if square == 0.0:
                continue
            length = np.sqrt(square)
            u0, u1, u2 = figures[n, 4] / length, figures[n, 5] / length, figures[n, 6] / length
            if kind == 0 and _beside(
                x, x1, t, a, f if _is(faces, f, b, c, d) else g, w1, w2, w3, u0, u1, u2, faces, edges, face_edges,
                edge_faces, star_start, star_edges,
            ):  # fmt: skip
                continue
            rows[n] = features[k]
            figures[n, 0], figures[n, 1], figures[n, 2], figures[n, 3] = w0, w1, w2, w3
            figures[n, 7] = 0.0
            figures[n, 4], figures[n, 5], figures[n, 6] = u0, u1, u2
            for col in range(3):
                now = w0 * x[a, col] + w1 * x[b, col] + w2 * x[c, col] + w3 * x[d, col]
                figures[n, 7] += figures[n, 4 + col] * now
            figures[n, 8] = limit
            n += 1
    return rows[:n].copy(), figures[:n].copy()
