"""Features that are near each other: vertices and faces, and pairs of edges, closer than the cloth is thick. [A §6]"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.detect.bvh import touching_pairs
from unsnarl.detect.features import Surfaces, faces_apart, largest_face, pair_up
from unsnarl.geometry.distance import edge_edge, point_triangle
from unsnarl.jit import in_threads, kernel, thread_count


@dataclass(frozen=True, eq=False)
class Proximity:
    """k pairs of features, in ascending order of kind and vertices.

    kind     : (k,) int32, 0: vertex and face, 1: two edges
    vertex   : (k, 4) int32
    weight   : (k, 4), of the relative point sum_i weight_i x_i: 1 for the vertex, negative for the face
    normal   : (k, 3) unit, the direction of the relative point
    distance : (k,) [m]
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


def find_proximity(on: Surfaces, x: np.ndarray, thickness: np.ndarray) -> Proximity:
    """All pairs of features nearer than the smallest thickness of their vertices, one of them of cloth.

    Left out are vertices of cloth near faces of bodies: these are constrained (`contact.solids`).

    x : (n, 3) [m]; thickness : (n,) [m], smaller where the mesh is fine, so that a sheet is not near itself at rest
    """
    mesh, bvh = on.mesh, on.bvh
    bvh.refit(x, mesh.faces, None, 0.5 * float(thickness.max()) * (1 + 1e-9))
    parts = 1 if len(mesh.faces) < 500 else 8 * thread_count()

    most = float(thickness.max())
    size = 4.0 * (largest_face(x, x, mesh.faces) + most)

    def part(k):
        return _near(
            x, thickness, most, size, mesh.faces, on.ids, on.owned, bvh.order, bvh.box, bvh.face_box, bvh.start, bvh.stop, bvh.skip,
            bvh.leaves, bvh.active, on.cloth, k, parts,
        )  # fmt: skip

    found = in_threads(part, parts)
    rows, figures = np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])
    order = np.lexsort(rows.T[::-1])
    rows, figures = rows[order], figures[order]
    parts = rows[:, 0], rows[:, 1:], figures[:, :4], figures[:, 4:7], figures[:, 7], figures[:, 8]
    return Proximity(*map(np.ascontiguousarray, parts))


@kernel
def _near(
    x, thickness, most, size, faces, ids, owned, order, box, face_box, start, stop, skip, leaves, active, cloth, part,
    parts,
):  # fmt: skip
    block = 32
    pairs = np.empty((1024, 2), np.int32)
    features = np.empty((15, 5), np.int32)
    rows = np.empty((64, 5), np.int32)
    figures = np.empty((64, 9))
    n = 0
    for first in range(part * block, active, parts * block):
        last = min(first + block, active)
        pairs, count = touching_pairs(box, face_box, start, stop, skip, leaves, first, last, pairs)
        for i in range(count):
            f, g = order[pairs[i, 0]], order[pairs[i, 1]]
            f, g = min(f, g), max(f, g)  # the same rows, however the pair was met
            if faces[f, 0] >= cloth and faces[g, 0] >= cloth:
                continue
            if faces_apart(x, x, False, faces, ids, f, g, most, size):
                continue
            for k in range(pair_up(faces, ids, owned, f, g, features)):
                kind, a, b, c, d = features[k, 0], features[k, 1], features[k, 2], features[k, 3], features[k, 4]
                limit = min(min(thickness[a], thickness[b]), min(thickness[c], thickness[d]))
                if kind == 0:
                    if b >= cloth:
                        continue
                    near, u, v, w = point_triangle(x, a, b, c, d)
                    if near >= limit * limit:
                        continue
                    w0, w1, w2, w3 = 1.0, -u, -v, -w
                else:
                    near, v, w = edge_edge(x, a, b, c, d)
                    if near >= limit * limit or v == 0.0 or v == 1.0 or w == 0.0 or w == 1.0:
                        continue  # at an end of an edge it is a matter of vertices and faces
                    w0, w1, w2, w3 = 1.0 - v, v, w - 1.0, -w
                if n == rows.shape[0]:
                    more = np.empty((2 * n, 5), np.int32)
                    more[:n] = rows
                    rows = more
                    further = np.empty((2 * n, 9))
                    further[:n] = figures
                    figures = further
                length = np.sqrt(near)
                if length == 0.0:
                    continue
                rows[n] = features[k]
                figures[n, 0], figures[n, 1], figures[n, 2], figures[n, 3] = w0, w1, w2, w3
                for col in range(3):
                    figures[n, 4 + col] = (w0 * x[a, col] + w1 * x[b, col] + w2 * x[c, col] + w3 * x[d, col]) / length
                figures[n, 7] = length
                figures[n, 8] = limit
                n += 1
    return rows[:n].copy(), figures[:n].copy()
