"""`rbf`: what is inside is drawn to the points it has passed through, extrapolated from the path. [E §5.1, §5.2]

Along a path two sheets meet: each point of one image has a partner on the other. A thin-plate spline through 5 to 30 of
these pairs, from one sheet laid flat to the other, says for a vertex inside which point of the other sheet it should
not have passed. The two are drawn together, and past each other by the cloth's thickness. This serves every path that
has an inside: CLOSED, EIGHT, CROSS and BB_II image by image; LL and BLI, whose two images are one curve, within a
single sheet: the spline takes each half to the other. Where an inside holds no vertex, the middles of the edges that go
in and out again are drawn instead.

A straight path says nothing about what lies beside it; there the map is a similarity, to the side on which the sheets
are nearer in space. BI_BI paths have no inside: `boundary`. Closed paths on handles, and insides within one face,
have nothing to be drawn either: their contours are made shorter (`icm`).
"""

from __future__ import annotations

import numpy as np

from unsnarl.jit import in_threads, ints, kernel, thread_count
from unsnarl.tangles.paths import BI_BI
from unsnarl.tangles.report import TangleReport
from unsnarl.untangle.boundary import boundary_pulls
from unsnarl.untangle.icm import contour_pulls, hit_points
from unsnarl.untangle.patch import grow, locate, put_back, unfold
from unsnarl.untangle.response import Response, pulls, sheets_around
from unsnarl.untangle.spline import evaluate, fit, scale

CENTRES = 30  # at most
FAR = 1.5  # times as far from the path as the vertex may its target be
RINGS = 2  # of faces around what is inside


def respond(report: TangleReport, reach: float, only: np.ndarray | None = None) -> Response:
    """Pulls for every path. reach : [m] by which sheets are drawn past each other; only : (p,) bool, for these paths"""
    paths = report.path_list
    asked = np.ones(len(paths), np.bool_) if only is None else only
    vertex, weight, image, target = find_targets(report)
    way = _ways(report.mesh.x, report.mesh.faces, vertex, weight, target, reach)
    served = np.zeros(len(paths), np.bool_)
    served[image // 2] = True
    border = paths.kind == BI_BI
    keep = asked[image // 2]
    vertex, weight, way, image, target = vertex[keep], weight[keep], way[keep], image[keep], target[keep]
    rest = [contour_pulls(report, (asked & ~served & ~border)[report.path_of_hit])]
    if (asked & border).any():
        rest.append(boundary_pulls(report))
    other = np.where(paths.images[image // 2] == 1, image, image ^ 1)
    more = np.repeat(other, 3), report.mesh.faces[target].ravel()
    return pulls([(vertex, weight, way), *rest], sheets_around(report, more).only(asked))


def find_targets(report: TangleReport):
    """What is drawn to what.

    Returns vertex (k, 5) int32 and weight (k, 5): the point inside (a vertex twice, or the ends of an edge), less its
    target on a face; image (k,) that it is inside of; target (k,) the face.
    """
    mesh, hits, p = report.mesh, report.hits, report.path_list
    t = mesh.topology
    points = report.node_points
    _, hit_weight = hit_points(report)
    star_start, star_faces = t.fan_start, t.fan_faces
    count = len(p)
    parts = 1 if count < 8 or len(p.node) < 500 else 2 * thread_count()

    def part(k):
        return _targets(
            k, parts, p.kind, p.start, p.face, p.node, p.images, p.face_start, p.run, points, hits.edge, hits.face,
            np.ascontiguousarray(hit_weight[:, 1]), report.regions.partitions, report.regions.start,
            report.regions.vertex, mesh.x, mesh.faces, mesh.rest, t.edges, t.face_edges, t.edge_faces,
            t.edge_face_count, star_start, star_faces,
        )  # fmt: skip

    found = list(zip(*in_threads(part, parts)))
    vertex, weight, image, target = (np.concatenate(f) for f in found)
    order = np.argsort(image, kind="stable")
    return ints(vertex[order]), weight[order], image[order], target[order]


@kernel
def _ways(x, faces, vertex, weight, target, reach):
    """(k, 3) the way to the target and past it by `reach`."""
    out = np.empty((vertex.shape[0], 3))
    for i in range(vertex.shape[0]):
        r = np.zeros(3)
        for j in range(5):
            r += weight[i, j] * x[vertex[i, j]]
        f = target[i]
        length = np.sqrt(r @ r)
        n = np.cross(x[faces[f, 1]] - x[faces[f, 0]], x[faces[f, 2]] - x[faces[f, 0]])
        size = np.sqrt(n @ n)
        if length > 1e-9 * reach:
            out[i] = -(length + reach) / length * r
        elif size > 0.0:  # on its target: past it, across the face
            out[i] = (-reach if n @ r >= 0.0 else reach) / size * n
        else:
            out[i] = 0.0
    return out


@kernel
def _faces_around(run, inside, faces, fan_start, fan_faces):
    """Faces along an image and around the vertices inside it, with repetitions."""
    total = run.shape[0]
    for v in inside:
        total += fan_start[v + 1] - fan_start[v]
    out = np.empty(total, np.int32)
    n = run.shape[0]
    out[:n] = run
    for v in inside:
        for i in range(fan_start[v], fan_start[v + 1]):
            out[n] = fan_faces[i]
            n += 1
    return out


@kernel
def _depth(run, inside, faces, fan_start, fan_faces, member, ring):
    """(rings of faces from an image to the innermost vertex inside, the face there)."""
    for v in inside:
        member[v] = True
    queue = np.empty(inside.shape[0], np.int32)
    n = 0
    deepest, last = 0, run[run.shape[0] // 2]
    for f in run:
        for k in range(3):
            v = faces[f, k]
            if member[v] and ring[v] < 0:
                ring[v] = 1
                queue[n] = v
                n += 1
    i = 0
    while i < n:
        v = queue[i]
        i += 1
        deepest, last = ring[v], fan_faces[fan_start[v]]
        for j in range(fan_start[v], fan_start[v + 1]):
            for k in range(3):
                w = faces[fan_faces[j], k]
                if member[w] and ring[w] < 0:
                    ring[w] = ring[v] + 1
                    queue[n] = w
                    n += 1
    for v in inside:
        member[v] = False
        ring[v] = -1
    return deepest, last


@kernel
def _flat_point(x, faces, flat, f, p):
    """Where a point p in space, on face f, is on the flat sheet."""
    o = x[faces[f, 0]]
    e, g, r = x[faces[f, 1]] - o, x[faces[f, 2]] - o, p - o
    n = np.cross(e, g)
    square = n @ n
    v = w = 1.0 / 3.0
    if square > 0.0:
        v, w = n @ np.cross(r, g) / square, n @ np.cross(e, r) / square
    u = 1.0 - v - w
    i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
    return u * flat[i, 0] + v * flat[j, 0] + w * flat[k, 0], u * flat[i, 1] + v * flat[j, 1] + w * flat[k, 1]


@kernel
def _in_space(x, faces, flat, f, dx, dy):
    """The direction in space of a direction (dx, dy) on the flat face f."""
    i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
    ex, ey = flat[j, 0] - flat[i, 0], flat[j, 1] - flat[i, 1]
    gx, gy = flat[k, 0] - flat[i, 0], flat[k, 1] - flat[i, 1]
    area = ex * gy - ey * gx
    if area == 0.0:
        return np.zeros(3)
    a, b = (dx * gy - dy * gx) / area, (ex * dy - ey * dx) / area
    return a * (x[j] - x[i]) + b * (x[k] - x[i])


@kernel
def _side(x, faces, flat0, flat1, centres, values, middle_face, inside, middle):
    """1 or -1: whether the map across a straight path keeps orientation, so that it leads to the nearer side."""
    k = centres.shape[0]
    cx, cy = centres[k - 1, 0] - centres[0, 0], centres[k - 1, 1] - centres[0, 1]
    gx, gy = values[k - 1, 0] - values[0, 0], values[k - 1, 1] - values[0, 1]
    mx, my = 0.5 * (centres[0, 0] + centres[k - 1, 0]), 0.5 * (centres[0, 1] + centres[k - 1, 1])
    towards = np.zeros(3)
    across = 0.0
    for v in inside:
        across += -cy * (flat0[v, 0] - mx) + cx * (flat0[v, 1] - my)
        towards += x[v] - middle
    other = _in_space(x, faces, flat1, middle_face, -gy, gx)
    s1 = 1.0 if across >= 0.0 else -1.0
    s2 = 1.0 if towards @ other >= 0.0 else -1.0
    return s1 * s2


@kernel
def _targets(
    part, parts, kind, start, path_face, node, images, face_start, run, points, hit_edge, hit_face, hit_share,
    partitions, region_start, region, x, faces, rest, edges, face_edges, edge_faces, edge_face_count, fan_start,
    fan_faces,
):  # fmt: skip
    n, m = x.shape[0], faces.shape[0]
    flat = np.zeros((2, n, 2))
    at = np.full((2, n), -1, np.int32)
    place = np.full((2, m), -1, np.int32)
    ring, vertex_ring, member = np.full(m, -1, np.int32), np.full(n, -1, np.int32), np.zeros(n, np.bool_)
    vertex, weight = np.empty((256, 5), np.int32), np.empty((256, 5))
    image, target = np.empty(256, np.int32), np.empty(256, np.int32)
    count = 0
    for p in range(part, kind.shape[0], parts):
        if kind[p] == BI_BI or not (partitions[2 * p] or partitions[2 * p + 1]):
            continue
        joined = images[p] == 1
        lo, hi = start[p], start[p + 1]
        nodes = hi - lo + 1
        depth, deepest = np.zeros(2, np.int32), np.zeros(2, np.int32)
        for k in range(1 if joined else 2):
            inside = region[region_start[2 * p + k] : region_start[2 * p + k + 1]]
            depth[k], deepest[k] = _depth(
                run[face_start[2 * p + k] : face_start[2 * p + k + 1]], inside, faces, fan_start, fan_faces, member,
                vertex_ring,
            )  # fmt: skip
        laid0, laid1 = run[:0], run[:0]
        for k in range(1 if joined else 2):
            inside = region[region_start[2 * p + k] : region_start[2 * p + k + 1]]
            along = run[face_start[2 * p + k] : face_start[2 * p + k + 1]]
            seeds = _faces_around(along, inside, faces, fan_start, fan_faces)
            rings = RINGS + (0 if joined else max(0, depth[1 - k] - depth[k]))
            some, _ = grow(seeds, faces, fan_start, fan_faces, rings, ring)
            laid = unfold(
                some, deepest[k], faces, face_edges, edge_faces, edge_face_count, rest, place[k], flat[k], at[k]
            )
            if k == 0:
                laid0 = laid
            else:
                laid1 = laid

        # centres: pairs of points along the path
        most = min(nodes, max(5, min(CENTRES, nodes // 2)))
        total = 2 * most if joined else most
        centre = np.empty((2, total, 2))
        centre_face = np.empty((2, total), np.int32)
        found = 0
        for c in range(most):
            j = c * (nodes - 1) // max(most - 1, 1)
            if kind[p] == 0 and c == most - 1 and most > 3:
                continue  # the last node of a closed path is the first
            s = lo + min(j, hi - lo - 1)
            f, g = path_face[s, 0], path_face[s, 1]
            second = 0 if joined else 1
            if place[0, f] < 0 or place[second, g] < 0:
                continue
            fx, fy = _flat_point(x, faces, flat[0], f, points[lo + p + j])
            gx, gy = _flat_point(x, faces, flat[second], g, points[lo + p + j])
            for turn in range(2 if joined else 1):
                a = turn if joined else 0
                centre[a, found, 0], centre[a, found, 1], centre_face[a, found] = fx, fy, f
                centre[1 - a, found, 0], centre[1 - a, found, 1], centre_face[1 - a, found] = gx, gy, g
                found += 1
        for k in range(1 if joined else 2):
            if not partitions[2 * p + k] or found < 3:
                continue
            inside = region[region_start[2 * p + k] : region_start[2 * p + k + 1]]
            second = 0 if joined else 1 - k
            centres, values = centre[k, :found].copy(), centre[1 - k, :found].copy()
            half = nodes // 2
            s = lo + min(half, hi - lo - 1)
            side = 1.0
            if len(inside) > 0 and not joined:
                side = _side(
                    x, faces, flat[k], flat[second], centres, values, path_face[s, 1 - k], inside, points[lo + p + half]
                )
            elif joined:
                side = -1.0
            size = scale(centres)
            w, affine = fit(centres, values, side)
            # the points inside: vertices, or where there are none, middles of edges that go in and out again
            tries = len(inside)
            if tries == 0:
                tries = nodes
            for i in range(tries):
                if len(inside) > 0:
                    a = b = inside[i]
                    share = 0.0
                else:
                    h = node[lo + p + i]
                    s = lo + min(i, hi - lo - 1)
                    if h < 0 or hit_face[h] == path_face[s, k] or (kind[p] == 0 and i == nodes - 1):
                        continue
                    other = -1
                    for j in range(i + 1, nodes):
                        q = node[lo + p + j]
                        if q >= 0 and q != h and hit_edge[q] == hit_edge[h]:
                            other = q
                            break
                    if other < 0:
                        continue
                    a, b = edges[hit_edge[h], 0], edges[hit_edge[h], 1]
                    share = 0.5 * (hit_share[h] + hit_share[other])
                if at[k, a] < 0 or at[k, b] < 0:
                    continue
                px = (1.0 - share) * flat[k, a, 0] + share * flat[k, b, 0]
                py = (1.0 - share) * flat[k, a, 1] + share * flat[k, b, 1]
                qx, qy = evaluate(centres, w, affine, size, px, py)
                near, nearest = np.inf, 0
                for j in range(found):
                    d = (px - centres[j, 0]) ** 2 + (py - centres[j, 1]) ** 2
                    if d < near:
                        near, nearest = d, j
                dx, dy = qx - values[nearest, 0], qy - values[nearest, 1]
                far = np.sqrt(dx * dx + dy * dy)
                if far > FAR * np.sqrt(near):
                    shrink = FAR * np.sqrt(near) / far
                    qx, qy = values[nearest, 0] + shrink * dx, values[nearest, 1] + shrink * dy
                f, u, v, z = locate(
                    qx, qy, centre_face[1 - k, nearest], faces, face_edges, edge_faces, edge_face_count, flat[second],
                    place[second], 4 * len(laid0) + 4 * len(laid1),
                )  # fmt: skip
                own = False
                for j in range(3):
                    own = own or faces[f, j] == a or faces[f, j] == b
                if own:
                    continue
                if count == vertex.shape[0]:
                    vertex, weight = _longer(vertex), _longer(weight)
                    image, target = _longer(image), _longer(target)
                vertex[count, 0], vertex[count, 1] = a, b
                weight[count, 0], weight[count, 1] = 1.0 - share, share
                vertex[count, 2], vertex[count, 3], vertex[count, 4] = faces[f, 0], faces[f, 1], faces[f, 2]
                weight[count, 2], weight[count, 3], weight[count, 4] = -u, -v, -z
                image[count], target[count] = 2 * p + k, f
                count += 1
        put_back(laid0, faces, place[0], at[0])
        put_back(laid1, faces, place[1], at[1])
    return vertex[:count].copy(), weight[:count].copy(), image[:count].copy(), target[:count].copy()


@kernel
def _longer(a):
    """Twice the room."""
    more = np.empty((2 * a.shape[0], *a.shape[1:]), a.dtype)
    more[: a.shape[0]] = a
    return more
