"""Segments: two faces that cross share a piece of line, from hit to hit or from a hit to a shared vertex. [A fig. 5]"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.detect.edge_face import Hits
from unsnarl.jit import kernel
from unsnarl.mesh import TriMesh


@dataclass(frozen=True, eq=False)
class Segments:
    """s segments, in the order of their first hits.

    faces       : (s, 2) int32, the two faces that cross, the lower first
    hits        : (s, 2) int32, the hits at both ends; the second is -1 where the segment ends at a loop vertex
    loop_vertex : (s,) int32, the vertex that both faces share and the segment ends at; -1 where there is none
    """

    faces: np.ndarray
    hits: np.ndarray
    loop_vertex: np.ndarray

    def __len__(self) -> int:
        return len(self.faces)


def build_segments(mesh: TriMesh, hits: Hits) -> Segments:
    """The segments between all pairs of crossing faces: each pair of a hit's face and a face beside its edge."""
    ids = mesh.faces if mesh.origin is None else mesh.origin[mesh.faces]
    faces, ends, loop_vertex, proper = _pair_up(hits.edge, hits.face, mesh.edge_faces, mesh.faces, ids)
    if not proper:
        raise AssertionError("two faces cross in one segment: they have two hits, or one and a shared vertex")
    return Segments(faces, ends, loop_vertex)


@kernel
def _pair_up(hit_edge, hit_face, edge_faces, faces, ids):
    """Collect the hits of each pair of faces in a hash table; returns the arrays of `Segments`, and if all is well."""
    h = hit_edge.shape[0]
    slots = 8
    while slots < 6 * h:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    pair = np.empty((2 * h, 2), np.int32)
    ends = np.full((2 * h, 2), -1, np.int32)
    n = 0
    proper = True
    for hit in range(h):
        for k in range(2):
            g = edge_faces[hit_edge[hit], k]
            if g < 0:
                continue
            low, high = min(g, hit_face[hit]), max(g, hit_face[hit])
            slot = (np.int64(low) * 2654435761 + np.int64(high) * 40503) & (slots - 1)
            while table[slot] >= 0 and (pair[table[slot], 0] != low or pair[table[slot], 1] != high):
                slot = (slot + 1) & (slots - 1)
            s = table[slot]
            if s < 0:
                table[slot] = n
                pair[n, 0] = low
                pair[n, 1] = high
                ends[n, 0] = hit
                n += 1
            elif ends[s, 1] < 0:
                ends[s, 1] = hit
            else:
                proper = False
    loop_vertex = np.full(n, -1, np.int32)
    for s in range(n):
        if ends[s, 1] < 0:
            for i in range(3):
                for j in range(3):
                    if ids[pair[s, 0], i] == ids[pair[s, 1], j]:
                        loop_vertex[s] = faces[pair[s, 0], i]
            proper = proper and loop_vertex[s] >= 0
    return pair[:n].copy(), ends[:n].copy(), loop_vertex, proper


def hit_points(mesh: TriMesh, hits: Hits) -> np.ndarray:
    """Where each edge passes through its face: (h, 3) [m], on the edge."""
    a, b = (mesh.x[mesh.edges[hits.edge, k]] for k in range(2))
    o, p, q = (mesh.x[mesh.faces[hits.face, k]] for k in range(3))
    normal = np.cross(p - o, q - o)
    da = np.einsum("ij,ij->i", normal, a - o)
    db = np.einsum("ij,ij->i", normal, b - o)
    apart = np.abs(da) + np.abs(db)
    t = np.divide(np.abs(da), apart, out=np.full(len(da), 0.5), where=apart > 0)[:, None]
    return (1 - t) * a + t * b


def segment_points(mesh: TriMesh, hits: Hits, segments: Segments) -> np.ndarray:
    """Both ends of each segment: (s, 2, 3) [m]."""
    at = hit_points(mesh, hits)
    if len(segments) == 0:
        return np.empty((0, 2, 3))
    last = np.where((segments.hits[:, 1] < 0)[:, None], mesh.x[segments.loop_vertex], at[segments.hits[:, 1]])
    return np.stack([at[segments.hits[:, 0]], last], axis=1)
