"""The nearest point of a surface, and on which side of it one is.

The side is that of the pseudo-normal of the nearest feature: a face's normal, the sum of two at an edge, the sum
weighted by angle at a vertex. With these the sign is right for every closed surface. [Baerentzen and Aanaes 2005]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.detect.bvh import Bvh
from unsnarl.geometry.distance import point_triangle
from unsnarl.jit import in_threads, kernel, thread_count
from unsnarl.mesh import TriMesh


@dataclass(frozen=True, eq=False)
class PseudoNormals:
    """face : (m, 3) unit; edge : (e, 3); vertex : (n, 3): not of unit length, only their direction counts."""

    face: np.ndarray
    edge: np.ndarray
    vertex: np.ndarray


def pseudo_normals(mesh: TriMesh, x: np.ndarray) -> PseudoNormals:
    """Of a mesh at positions x (n, 3); outward where the faces are wound counter-clockwise seen from outside."""
    return PseudoNormals(*_pseudo_normals(x, mesh.faces, mesh.face_edges, len(mesh.edges)))


def nearest(mesh: TriMesh, x, bvh: Bvh, normals: PseudoNormals, points: np.ndarray, reach: np.ndarray):
    """For points (p, 3), the nearest point of a surface within reach (p,) [m].

    bvh : fitted to x (n, 3). Returns face (p,) int32, -1 where there is none; weights (p, 3) of its corners;
    normal (p, 3) unit, away from the surface on its outer side; distance (p,), negative inside.
    """
    p = len(points)
    face, weight = np.full(p, -1, np.int32), np.zeros((p, 3))
    normal, distance = np.zeros((p, 3)), np.full(p, np.inf)
    parts = 1 if p < 500 else 4 * thread_count()
    both = np.concatenate([points, x])

    def part(k):
        some = slice(p * k // parts, p * (k + 1) // parts)
        _nearest(
            both, some.start, p, mesh.faces, mesh.face_edges, bvh.order, bvh.box, bvh.start, bvh.stop, bvh.skip,
            bvh.frame, normals.face, normals.edge, normals.vertex, reach[some], face[some], weight[some], normal[some],
            distance[some],
        )  # fmt: skip

    in_threads(part, parts)
    return face, weight, normal, distance


@kernel
def _pseudo_normals(x, faces, face_edges, edges):
    m = faces.shape[0]
    of_face = np.zeros((m, 3))
    of_edge = np.zeros((edges, 3))
    of_vertex = np.zeros((x.shape[0], 3))
    for f in range(m):
        a, b, c = x[faces[f, 0]], x[faces[f, 1]], x[faces[f, 2]]
        n = np.cross(b - a, c - a)
        size = np.sqrt(n @ n)
        if size == 0.0:
            continue
        n /= size
        of_face[f] = n
        for k in range(3):
            of_edge[face_edges[f, k]] += n
            u = x[faces[f, (k + 1) % 3]] - x[faces[f, k]]
            v = x[faces[f, (k + 2) % 3]] - x[faces[f, k]]
            w = np.cross(u, v)
            of_vertex[faces[f, k]] += np.arctan2(np.sqrt(w @ w), u @ v) * n
    return of_face, of_edge, of_vertex


@kernel
def _nearest(
    x, first, shift, faces, face_edges, order, box, start, stop, skip, frame, face_normal, edge_normal, vertex_normal,
    reach, out_face, out_weight, out_normal, out_distance,
):  # fmt: skip
    """x : (shift + n, 3), the points first; those from `first` on are looked at, one for each row of `reach`."""
    nodes = skip.shape[0]
    away = np.empty(3)
    for i in range(reach.shape[0]):
        point = first + i
        q0 = (x[point, 0] - frame[0]) * frame[3]
        q1 = (x[point, 1] - frame[1]) * frame[3]
        q2 = (x[point, 2] - frame[2]) * frame[3]
        best = reach[i] * reach[i]
        limit = best * frame[3] * frame[3]
        node = 0
        while node < nodes:
            d0 = max(box[node, 0] - q0, 0.0, q0 - box[node, 3])
            d1 = max(box[node, 1] - q1, 0.0, q1 - box[node, 4])
            d2 = max(box[node, 2] - q2, 0.0, q2 - box[node, 5])
            if d0 * d0 + d1 * d1 + d2 * d2 > limit:
                node = skip[node]
                continue
            node += 1
            if skip[node - 1] != node:
                continue
            for at in range(start[node - 1], stop[node - 1]):
                f = order[at]
                d, u, v, w = point_triangle(x, point, shift + faces[f, 0], shift + faces[f, 1], shift + faces[f, 2])
                if d < best or (d == best and out_face[i] >= 0 and f < out_face[i]):
                    best = d
                    limit = best * frame[3] * frame[3]
                    out_face[i] = f
                    out_weight[i, 0], out_weight[i, 1], out_weight[i, 2] = u, v, w
        f = out_face[i]
        if f < 0:
            continue
        zeros = 0
        other = -1  # the corner that the nearest point lies opposite to, or the one that it is
        for k in range(3):
            if out_weight[i, k] == 0.0:
                zeros += 1
                other = k
        if zeros == 0:
            n = face_normal[f]
        elif zeros == 1:
            n = edge_normal[face_edges[f, (other + 1) % 3]]
        else:
            for k in range(3):
                if out_weight[i, k] != 0.0:
                    other = k
            n = vertex_normal[faces[f, other]]
        for c in range(3):
            away[c] = x[point, c]
            for k in range(3):
                away[c] -= out_weight[i, k] * x[shift + faces[f, k], c]
        size = np.sqrt(best)
        side = 1.0 if away @ n >= 0.0 else -1.0
        out_distance[i] = side * size
        if size > 1e-9 * (1.0 / frame[3]):
            out_normal[i] = away * (side / size)
        else:  # on the surface: the direction is that of the normal
            length = np.sqrt(n @ n)
            if length > 0.0:
                out_normal[i] = n / length
            else:
                out_face[i] = -1
