"""Segments: two faces that cross share a piece of line, from hit to hit or from a hit to a shared vertex. [A fig. 5]"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.detect.edge_face import Hits
from unsnarl.mesh import TriMesh


@dataclass(frozen=True, eq=False)
class Segments:
    """s segments, in ascending order of their faces.

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
    m = np.int64(len(mesh.faces))
    beside = mesh.edge_faces[hits.edge].astype(np.int64)
    face = np.repeat(hits.face.astype(np.int64), 2)
    hit = np.repeat(np.arange(len(hits), dtype=np.int32), 2)
    there = beside.ravel() >= 0
    beside, face, hit = beside.ravel()[there], face[there], hit[there]
    key = np.minimum(beside, face) * m + np.maximum(beside, face)
    key, hit = _sorted_by_key(key, hit, m * m, len(hits))
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.empty(0, np.int64)
    count = np.diff(np.append(first, len(key)))
    if not np.isin(count, (1, 2)).all():
        raise AssertionError("two faces cross in one segment: they have one or two hits between them")
    ends = np.stack([hit[first], np.where(count == 2, hit[np.minimum(first + 1, len(key) - 1)], -1)], axis=1)
    faces = np.stack([key[first] // m, key[first] % m], axis=1).astype(np.int32)
    return Segments(faces, ends.astype(np.int32), _shared_vertex(mesh, faces, count == 1))


def _sorted_by_key(key: np.ndarray, hit: np.ndarray, keys: int, hits: int) -> tuple[np.ndarray, np.ndarray]:
    """Both, sorted by key and then by hit; packed into one number each where that fits, which sorts faster."""
    if int(keys) * max(int(hits), 1) < 2**63:
        packed = np.sort(key * max(hits, 1) + hit)
        return packed // max(hits, 1), (packed % max(hits, 1)).astype(np.int32)
    order = np.argsort(key, kind="stable")
    return key[order], hit[order]


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


def _shared_vertex(mesh: TriMesh, faces: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The vertex that two faces share, where it is wanted; -1 elsewhere."""
    ids = mesh.faces if mesh.origin is None else mesh.origin[mesh.faces]
    same = ids[faces[:, 0]][:, :, None] == ids[faces[:, 1]][:, None, :]
    corner = np.argmax(same.any(axis=2), axis=1)
    shared = mesh.faces[faces[:, 0], corner]
    return np.where(wanted, shared, -1).astype(np.int32)
