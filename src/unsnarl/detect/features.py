"""The pairs of features that can touch first: a vertex and a face, or two edges, that have no vertex in common.

Each vertex and each edge belongs to the lowest-numbered face that has it. Of two faces, only the vertices and edges
that belong to them are paired, so over all pairs of faces every pair of features comes once. [Curtis et al. 2008]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.detect.bvh import Bvh, build_bvh
from unsnarl.jit import inlined, kernel
from unsnarl.mesh import TriMesh


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Cloths and bodies as one mesh, with a tree over it.

    mesh  : cloths first, then bodies
    cloth : how many of the vertices are cloth
    ids   : (n,) int32, the vertex that each is, or is a copy of
    owned : (m,) uint8, bit k: corner k belongs to the face; bit 3 + k: so does the edge from corner k
    bvh   : the faces of bodies are passive
    """

    mesh: TriMesh
    cloth: int
    ids: np.ndarray
    owned: np.ndarray
    bvh: Bvh


def surfaces(mesh: TriMesh, cloth: int) -> Surfaces:
    """mesh : cloths and bodies combined, the cloths' vertices being the first `cloth`."""
    ids = np.arange(len(mesh.x), dtype=np.int32) if mesh.origin is None else mesh.origin.copy()
    owned = _owned(mesh.faces, mesh.face_edges, mesh.edge_faces, len(mesh.x))
    passive = mesh.faces[:, 0] >= cloth
    return Surfaces(mesh, cloth, ids, owned, build_bvh(mesh.x, mesh.faces, passive))


@kernel
def _owned(faces, face_edges, edge_faces, vertices):
    owned = np.zeros(faces.shape[0], np.uint8)
    seen = np.zeros(vertices, np.bool_)
    for f in range(faces.shape[0]):
        for k in range(3):
            if not seen[faces[f, k]]:
                seen[faces[f, k]] = True
                owned[f] |= np.uint8(1 << k)
            if edge_faces[face_edges[f, k], 0] == f:
                owned[f] |= np.uint8(8 << k)
    return owned


@inlined
def _shared_corner(faces, ids, f, g):
    """(how many corners faces f and g share, that of f, that of g): the corners of the last one found."""
    count, i, j = 0, 0, 0
    for a in range(3):
        for b in range(3):
            if ids[faces[f, a]] == ids[faces[g, b]]:
                count, i, j = count + 1, a, b
    return count, i, j


@inlined
def _from(x, v, o):
    """Vertex v seen from vertex o."""
    return x[v, 0] - x[o, 0], x[v, 1] - x[o, 1], x[v, 2] - x[o, 2]


@inlined
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def _apart_along(w, shared, a0, a1, a2, b1, b2, enough):
    """Whether all of face a is beyond all of face b along w, by `enough` times its length; corner 0 of b is the origin.

    Where the faces share a corner, that is corner 0 of both, or a copy of it, which may be elsewhere.
    """
    square = _dot(w, w)
    if not square > 1e-280:  # too short: what follows could vanish
        return False
    enough *= np.sqrt(square)
    first, low, high = _dot(w, a0), min(_dot(w, a1), _dot(w, a2)), max(_dot(w, b1), _dot(w, b2))
    if shared == 1:
        return low - max(high, 0.0) > enough and min(low, first) - high > enough
    return min(low, first) - max(high, 0.0) > enough


@inlined
def faces_apart(x0, x1, moving, faces, ids, f, g, least, size):
    """True only if all features of faces f and g that share no vertex certainly keep farther apart than `least`.

    The features move in straight lines from x0 to x1 if moving, else x1 is not looked at. Two directions are tried:
    from centre to centre, and the normal of g. If along one of them everything of one face is beyond everything of the
    other at both times, it is so throughout, since projections are linear in time. Where the faces share a corner o,
    one has its other two corners above o and the other below: a feature without o then keeps its distance from o, and
    from all that lies on the other side.
    size : [m] no two points of faces whose boxes touch are farther apart than that; for the rounding
    """
    shared, i, j = _shared_corner(faces, ids, f, g)
    if shared > 1:
        return False
    f0, f1, f2 = faces[f, i], faces[f, (i + 1) % 3], faces[f, (i + 2) % 3]
    g0, g1, g2 = faces[g, j], faces[g, (j + 1) % 3], faces[g, (j + 2) % 3]
    a0, a1, a2 = _from(x0, f0, g0), _from(x0, f1, g0), _from(x0, f2, g0)
    b1, b2 = _from(x0, g1, g0), _from(x0, g2, g0)
    c0, c1, c2, d1, d2 = a0, a1, a2, b1, b2  # later
    if moving:
        c0, c1, c2 = _from(x1, f0, g0), _from(x1, f1, g0), _from(x1, f2, g0)
        d1, d2 = _from(x1, g1, g0), _from(x1, g2, g0)
    enough = least * (1.0 + 1e-9) + 1e-13 * size
    w = (
        (a0[0] + a1[0] + a2[0]) - (b1[0] + b2[0]),
        (a0[1] + a1[1] + a2[1]) - (b1[1] + b2[1]),
        (a0[2] + a1[2] + a2[2]) - (b1[2] + b2[2]),
    )
    if _apart_along(w, shared, a0, a1, a2, b1, b2, enough) and _apart_along(w, shared, c0, c1, c2, d1, d2, enough):
        return True
    if shared == 1:
        return False
    n = (b1[1] * b2[2] - b1[2] * b2[1], b1[2] * b2[0] - b1[0] * b2[2], b1[0] * b2[1] - b1[1] * b2[0])
    w = n if _dot(w, n) > 0.0 else (-n[0], -n[1], -n[2])
    return _apart_along(w, shared, a0, a1, a2, b1, b2, enough) and _apart_along(w, shared, c0, c1, c2, d1, d2, enough)


@kernel
def largest_face(x0, x1, faces):
    """[m] the largest extent of a face's box, in any coordinate, on its way from x0 to x1."""
    most = 0.0
    for f in range(faces.shape[0]):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        for c in range(3):
            high = max(max(x0[i, c], x0[j, c], x0[k, c]), max(x1[i, c], x1[j, c], x1[k, c]))
            low = min(min(x0[i, c], x0[j, c], x0[k, c]), min(x1[i, c], x1[j, c], x1[k, c]))
            most = max(most, high - low)
    return most


@inlined
def _among(ids, v, faces, f):
    """Whether vertex v is a corner of face f."""
    i = ids[v]
    return i == ids[faces[f, 0]] or i == ids[faces[f, 1]] or i == ids[faces[f, 2]]


@inlined
def pair_up(faces, ids, owned, f, g, rows):
    """The pairs of features of faces f and g, into rows (15, 5): kind, four vertices. Returns how many.

    kind 0: a vertex, and the three corners of a face; kind 1: the ends of one edge, and of another.
    """
    n = 0
    for side in range(2):
        first, other = (f, g) if side == 0 else (g, f)
        for k in range(3):
            v = faces[first, k]
            if owned[first] >> k & 1 and not _among(ids, v, faces, other):
                rows[n, 0], rows[n, 1] = 0, v
                rows[n, 2], rows[n, 3], rows[n, 4] = faces[other, 0], faces[other, 1], faces[other, 2]
                n += 1
    for j in range(3):
        if not owned[f] >> 3 + j & 1:
            continue
        a, b = faces[f, j], faces[f, (j + 1) % 3]
        for k in range(3):
            if not owned[g] >> 3 + k & 1:
                continue
            c, d = faces[g, k], faces[g, (k + 1) % 3]
            if ids[a] != ids[c] and ids[a] != ids[d] and ids[b] != ids[c] and ids[b] != ids[d]:
                rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3], rows[n, 4] = 1, a, b, c, d
                n += 1
    return n
