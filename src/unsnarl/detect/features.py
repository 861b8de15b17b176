"""The pairs of features that can touch first: a vertex and a face, or two edges, that have no vertex in common.

Each vertex and each edge belongs to the lowest-numbered face that has it. Of two faces, only the vertices and edges
that belong to them are paired, so over all pairs of faces every pair of features comes once. [Curtis et al. 2008]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.detect.bvh import LEAF, Bvh, build_bvh
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
    ids = np.arange(len(mesh.x), dtype=np.int32) if mesh.origin is None else mesh.origin
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


@kernel
def pairs_with(box, face_box, start, stop, skip, order, wanted, first, last, out):
    """As `bvh.touching_pairs`, but only pairs in which a face is wanted; those found from the faces first to last - 1.

    wanted : (m,) bool, by face. Triangles are given by their place in the tree's order; each pair comes once over all.
    """
    n = 0
    nodes = skip.shape[0]
    for p in range(first, last):
        if not wanted[order[p]]:
            continue
        node = 0
        while node < nodes:
            if (
                box[node, 0] > face_box[p, 3]
                or box[node, 3] < face_box[p, 0]
                or box[node, 1] > face_box[p, 4]
                or box[node, 4] < face_box[p, 1]
                or box[node, 2] > face_box[p, 5]
                or box[node, 5] < face_box[p, 2]
            ):
                node = skip[node]
                continue
            node += 1
            if skip[node - 1] != node:
                continue
            if n + LEAF >= out.shape[0]:
                more = np.empty((2 * out.shape[0] + LEAF, 2), np.int32)
                more[:n] = out[:n]
                out = more
            for q in range(start[node - 1], stop[node - 1]):
                if q == p or (q < p and wanted[order[q]]):
                    continue
                if (
                    face_box[q, 0] <= face_box[p, 3]
                    and face_box[q, 3] >= face_box[p, 0]
                    and face_box[q, 1] <= face_box[p, 4]
                    and face_box[q, 4] >= face_box[p, 1]
                    and face_box[q, 2] <= face_box[p, 5]
                    and face_box[q, 5] >= face_box[p, 2]
                ):
                    out[n, 0], out[n, 1] = p, q
                    n += 1
    return out, n
