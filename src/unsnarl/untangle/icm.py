"""`icm`: intersection contours are made shorter. [Volino and Magnenat-Thalmann 2006]

At each hit an edge passes through a face, and the contour goes on from there into the faces beside the edge. Moving the
edge by d against the face changes the contour's length by -G . d, with G = sum (R - 2 (E . R) / (E . N) N) over the
faces beside the edge: E the edge's direction, N the face's normal, R the contour's direction into each. So edges are
moved along G and faces against it. It looks at hits one by one, and needs no regions.
"""

from __future__ import annotations

import numpy as np

from unsnarl.jit import kernel
from unsnarl.tangles.report import TangleReport
from unsnarl.tangles.segments import segment_points
from unsnarl.untangle.response import Response, pulls, sheets_around

STEEP = 0.05  # E . N is not taken for less than this
SHARE = 0.5  # of the mean length of the hit edges is the way at a hit, at most


def respond(report: TangleReport, reach: float) -> Response:
    """Pulls at every hit, on an edge and a face. `reach` is not used."""
    return pulls([contour_pulls(report)], sheets_around(report))


def contour_pulls(report: TangleReport, of_hit: np.ndarray | None = None):
    """(vertex (k, 5), weight (k, 5), way (k, 3)): edges along G, at the hits where `of_hit` (h,) bool holds."""
    mesh, hits, segments = report.mesh, report.hits, report.segment_list
    if of_hit is not None and not of_hit.any():
        return np.zeros((0, 5), np.int32), np.zeros((0, 5)), np.zeros((0, 3))
    gradient = _gradients(
        mesh.x, mesh.edges, mesh.faces, hits.edge, hits.face, segments.hits,
        segment_points(mesh, hits, segments), STEEP,
    )  # fmt: skip
    vertex, weight = hit_points(report)
    size = np.sqrt((gradient**2).sum(axis=1))
    edge = np.linalg.norm(np.diff(mesh.x[mesh.edges[hits.edge]], axis=1), axis=2)
    way = gradient * (SHARE * edge.mean() / np.sqrt(1.0 + size**2))[:, None] if len(hits) else gradient
    keep = slice(None) if of_hit is None else of_hit
    return vertex[keep], weight[keep], way[keep]


def hit_points(report: TangleReport):
    """(vertex (h, 5), weight (h, 5)): at each hit, the point on the edge less that on the face: 0 in space."""
    mesh, hits = report.mesh, report.hits
    vertex = np.concatenate([mesh.edges[hits.edge], mesh.faces[hits.face]], axis=1).astype(np.int32)
    return vertex, _weights(mesh.x, vertex)


@kernel
def _weights(x, vertex):
    """Weights of the ends of an edge, positive, and of the corners of a face, negative, where one passes the other."""
    out = np.empty((vertex.shape[0], 5))
    for i in range(vertex.shape[0]):
        a, b, o = x[vertex[i, 0]], x[vertex[i, 1]], x[vertex[i, 2]]
        e, g = x[vertex[i, 3]] - o, x[vertex[i, 4]] - o
        normal = np.cross(e, g)
        da, db = abs(normal @ (a - o)), abs(normal @ (b - o))
        t = da / (da + db) if da + db > 0.0 else 0.5
        r = (1.0 - t) * a + t * b - o
        square = normal @ normal
        v, w = 1.0 / 3.0, 1.0 / 3.0
        if square > 0.0:
            v, w = normal @ np.cross(r, g) / square, normal @ np.cross(e, r) / square
        v, w = min(max(v, 0.0), 1.0), min(max(w, 0.0), 1.0)
        if v + w > 1.0:
            v, w = v / (v + w), w / (v + w)
        out[i, 0], out[i, 1] = 1.0 - t, t
        out[i, 2], out[i, 3], out[i, 4] = v + w - 1.0, -v, -w
    return out


@kernel
def _gradients(x, edges, faces, hit_edge, hit_face, segment_hits, points, steep):
    """(h, 3) G of each hit."""
    out = np.zeros((hit_edge.shape[0], 3))
    for s in range(segment_hits.shape[0]):
        for k in range(2):
            hit = segment_hits[s, k]
            if hit < 0:
                continue
            r = points[s, 1 - k] - points[s, k]
            length = np.sqrt(r @ r)
            if length == 0.0:
                continue
            r /= length
            e = x[edges[hit_edge[hit], 1]] - x[edges[hit_edge[hit], 0]]
            f = hit_face[hit]
            n = np.cross(x[faces[f, 1]] - x[faces[f, 0]], x[faces[f, 2]] - x[faces[f, 0]])
            e_size, n_size = np.sqrt(e @ e), np.sqrt(n @ n)
            if e_size == 0.0 or n_size == 0.0:
                continue
            e /= e_size
            n /= n_size
            both = e @ n
            if abs(both) < steep:
                both = steep if both >= 0.0 else -steep
            # a segment in which the hit's own face is not pierced: the edge is of the other face, beside it
            out[hit] += r - 2.0 * (e @ r) / both * n
    return out
