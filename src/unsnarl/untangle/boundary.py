"""BI_BI paths: each sheet is pushed over the other to the border that it came in by. [E §5.3]

Such a path goes from the border of one sheet to that of the other, and no side of it is inside. Along the path, the way
to the border on the other sheet is averaged by length; one sheet is moved along it, the other against its own. The
points in which the forces act coincide in space.

E goes down the field of distances to the nearest border. Where the path runs across the middle between two borders,
that pushes to both sides at once and nothing moves; so the border meant is the one that the path begins at, and the way
there is along the path, unless the nearest one is much nearer.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from unsnarl.dynamics.system import rest_lengths
from unsnarl.jit import kernel
from unsnarl.mesh import TriMesh
from unsnarl.tangles.paths import BI_BI
from unsnarl.tangles.report import TangleReport
from unsnarl.untangle.icm import hit_points
from unsnarl.untangle.response import Response, pulls, sheets_around

MARGIN = 0.5  # of an edge beyond the border
NEARER = 0.3  # of the length of the path: if no point of it is farther from a border, that one is meant


def respond(report: TangleReport, reach: float) -> Response:
    """Pulls for the BI_BI paths alone."""
    return pulls([boundary_pulls(report)], sheets_around(report))


def boundary_pulls(report: TangleReport):
    """(vertex (k, 5), weight (k, 5), way (k, 3)) at the hits of all BI_BI paths."""
    mesh, paths = report.mesh, report.path_list
    which, of_hit = np.flatnonzero(paths.kind == BI_BI), report.path_of_hit
    chosen = np.isin(of_hit, which)
    vertex, weight = hit_points(report)
    if not chosen.any():
        return vertex[:0], weight[:0], np.zeros((0, 3))
    distance = border_distance(mesh)
    points = report.node_points
    first = _edge_on_image_0(paths.start, paths.face, paths.node, report.hits.face)
    way = np.zeros((len(paths), 2, 3))
    _average(which, paths.start, paths.face, paths.node, points, first, mesh.x, mesh.faces, distance, way)
    length = np.linalg.norm(np.diff(mesh.x[mesh.edges[report.hits.edge[chosen]]], axis=1), axis=2).mean()
    # image 0 moves over the sheet of image 1, so along its field; and the other way round
    relative = way[:, 1] - way[:, 0]
    size = np.sqrt((relative**2).sum(axis=1, keepdims=True))
    relative *= 1.0 + MARGIN * length / np.maximum(size, 1e-300)
    sign = np.where(first[chosen], 1.0, -1.0)
    return vertex[chosen], weight[chosen], sign[:, None] * relative[of_hit[chosen]]


def border_distance(mesh: TriMesh) -> np.ndarray:
    """(n,) [m] along edges at rest from each vertex to the nearest border; infinite where there is none."""
    t = mesh.topology
    border = np.zeros(len(mesh.x), np.bool_)
    border[mesh.edges[mesh.boundary_edges]] = True
    return _distance(border, t.edges, t.star_start, t.star_edges, rest_lengths(mesh))


@kernel
def _distance(border, edges, star_start, star_edges, length):
    out = np.full(border.shape[0], np.inf)
    queue = [(0.0, np.int64(0))]
    queue.clear()
    for v in range(border.shape[0]):
        if border[v]:
            out[v] = 0.0
            heappush(queue, (0.0, np.int64(v)))
    while len(queue) > 0:
        d, v = heappop(queue)
        if d > out[v]:
            continue
        for i in range(star_start[v], star_start[v + 1]):
            e = star_edges[i]
            w = np.int64(edges[e, 0] + edges[e, 1] - v)
            if d + length[e] < out[w]:
                out[w] = d + length[e]
                heappush(queue, (out[w], w))
    return out


@kernel
def _average(which, start, face, node, points, first, x, faces, distance, way):
    """way[p, k] = the mean over path p of the way to the border on the sheet of image k [m]."""
    for p in which:
        lo, hi = start[p], start[p + 1]
        own = 0 if first[node[lo + p]] else 1  # the image whose border the path begins at
        length = 0.0
        for s in range(lo, hi):
            d = points[s + p + 1] - points[s + p]
            length += np.sqrt(d @ d)
        for k in range(2):
            end = points[lo + p] if k == own else points[hi + p]
            field, straight = np.zeros(3), np.zeros(3)
            depth = 0.0
            for s in range(lo, hi):
                a, b = points[s + p], points[s + p + 1]
                share = (np.sqrt((b - a) @ (b - a)) + 1e-12) / (length + 1e-12 * (hi - lo))
                straight += share * (end - 0.5 * (a + b))
                f = face[s, k]
                o = x[faces[f, 0]]
                e, g = x[faces[f, 1]] - o, x[faces[f, 2]] - o
                n = np.cross(e, g)
                square = n @ n
                d0, d1, d2 = distance[faces[f, 0]], distance[faces[f, 1]], distance[faces[f, 2]]
                if square == 0.0 or not np.isfinite(d0 + d1 + d2):
                    continue
                slope = ((d1 - d0) * np.cross(g, n) + (d2 - d0) * np.cross(n, e)) / square
                size = np.sqrt(slope @ slope)
                if size > 0.0:
                    field -= share * (d0 + d1 + d2) / 3.0 / size * slope
                depth = max(depth, (d0 + d1 + d2) / 3.0)
            if depth < NEARER * length:
                straight = field
            way[p, k] = 2.0 * straight


@kernel
def _edge_on_image_0(start, face, node, hit_face):
    """(h,) bool: whether the edge of a hit is on the sheet of image 0, its face being on that of image 1."""
    out = np.zeros(hit_face.shape[0], np.bool_)
    for p in range(start.shape[0] - 1):
        for s in range(start[p], start[p + 1]):
            for j in range(2):
                h = node[s + p + j]
                if h >= 0:
                    out[h] = hit_face[h] == face[s, 1]
    return out
