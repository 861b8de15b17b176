"""Regions: which side of a path's image is inside. [A §5.4, E §4.2]

An image that is closed, or goes from boundary to boundary, cuts the edges that it crosses an odd number of times. The
vertices of the faces it runs through are put on the two sides of the cut; then both sides are filled at once across
edges that are not cut, always growing the one with less area so far. The one that ends first with the smaller area is
inside, so the cost is that of the smaller side. If the fills meet, the image does not partition the surface (a closed
curve need not, on a surface with handles): there is no inside. Area is that of the rest shape, a third of each face for
each of its vertices.

A BLI image does not partition anything. Within a disc around its loop vertex, of the radius at which the nearer of its
two ends lies (E's heuristic, with distances along edges), its part through that vertex does; where the mesh is too
coarse for that, the disc is made smaller until it does, or nothing is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from unsnarl.jit import in_threads, inlined, kernel, thread_count
from unsnarl.mesh import TriMesh
from unsnarl.tangles.paths import BLI, Paths


@dataclass(frozen=True, eq=False)
class Regions:
    """The insides of 2 p images, numbered as in `Paths`.

    partitions : (2 p,) bool, whether the image has an inside at all; the inside may still hold no vertex
    start      : (2 p + 1,) int32, the inside of image i is vertex[start[i] : start[i + 1]]
    vertex     : (k,) int32, ascending for each image
    """

    partitions: np.ndarray
    start: np.ndarray
    vertex: np.ndarray

    def inside(self, image: int) -> np.ndarray:
        return self.vertex[self.start[image] : self.start[image + 1]]


def fill_regions(mesh: TriMesh, paths: Paths) -> Regions:
    """The inside of every image of every path."""
    t = mesh.topology
    if len(paths) == 0:
        return Regions(np.zeros(0, np.bool_), np.zeros(1, np.int32), np.zeros(0, np.int32))
    a, b = mesh.rest[:, 0], mesh.rest[:, 1]
    area = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 6
    vertex_area = np.bincount(mesh.faces.ravel(), np.repeat(area, 3), len(mesh.x))
    bli = paths.kind == BLI
    discs = _discs(
        bli,
        paths.start,
        paths.node,
        paths.face_start,
        paths.run,
        mesh.faces,
        mesh.x,
        t.edges,
        t.star_start,
        t.star_edges,
    )
    images = 2 * len(paths)
    parts = 1 if len(paths.edge) < 2000 else 4 * thread_count()

    def part(k):
        return _fill(
            images * k // parts, images * (k + 1) // parts, paths.edge_start, paths.edge, paths.face_start, paths.run,
            paths.divides, paths.tip, *discs, mesh.faces, t.edges, t.face_edges, t.star_start, t.star_edges,
            vertex_area,
        )  # fmt: skip

    partitions, count, vertex = (np.concatenate(found) for found in zip(*in_threads(part, parts)))
    start = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)
    return Regions(partitions, start, vertex)


@kernel
def _discs(bli, start, node, face_start, run, faces, x, edges, star_start, star_edges):
    """For each BLI path: the radius of its disc, and the vertices in it with their distances (CSR)."""
    paths = bli.shape[0]
    radius = np.zeros(paths)
    disc_start = np.zeros(paths + 1, np.int32)
    vertex = np.empty(1024, np.int32)
    distance = np.empty(1024)
    found = 0
    best = np.full(x.shape[0] if bli.any() else 0, np.inf)
    for p in range(paths):
        if bli[p]:
            loop = np.int64(-1 - node[start[p + 1] + p])
            first, last = run[face_start[2 * p]], run[face_start[2 * p + 1] - 1]
            best[loop] = 0.0
            touched = [loop]
            queue = [(0.0, loop)]
            reached = np.inf  # distance to the nearest end
            while len(queue) > 0:
                d, v = heappop(queue)
                if d > best[v]:
                    continue
                if d > reached:
                    break
                if found == vertex.shape[0]:
                    more = np.empty(2 * found, np.int32)
                    more[:found] = vertex
                    vertex = more
                    further = np.empty(2 * found)
                    further[:found] = distance
                    distance = further
                vertex[found] = v
                distance[found] = d
                found += 1
                radius[p] = d
                if v != loop:
                    for k in range(3):
                        if faces[first, k] == v or faces[last, k] == v:
                            reached = min(reached, d)
                for i in range(star_start[v], star_start[v + 1]):
                    w = np.int64(edges[star_edges[i], 0] + edges[star_edges[i], 1] - v)
                    longer = d + np.sqrt(((x[w] - x[v]) ** 2).sum())
                    if longer < best[w]:
                        if best[w] == np.inf:
                            touched.append(w)
                        best[w] = longer
                        heappush(queue, (longer, w))
            for v in touched:
                best[v] = np.inf
        disc_start[p + 1] = found
    return radius, disc_start, vertex[:found].copy(), distance[:found].copy()


@kernel
def _fill(
    first_image, last_image, edge_start, edge, face_start, run, divides, tip, radius, disc_start, disc_vertex,
    disc_distance, faces, edges, face_edges, star_start, star_edges, vertex_area,
):  # fmt: skip
    """For some images: whether they partition, how many vertices are inside, and which."""
    n = star_start.shape[0] - 1
    edge_count = edges.shape[0]
    partitions = np.zeros(last_image - first_image, np.bool_)
    count = np.zeros(last_image - first_image, np.int32)
    out = np.empty(1024, np.int32)
    found = 0
    cut = np.full(edge_count, -1, np.int32)  # the attempt in which an edge was crossed an odd number of times
    vertex_mark = np.full(n, -1, np.int32)  # the attempt in which a vertex was put on a side
    side = np.zeros(n, np.int8)
    reach = np.full(n, np.inf)  # distance within the disc of a BLI
    queue = np.empty((2, n), np.int32)
    attempt = 0
    for image in range(first_image, last_image):
        p = image // 2
        limited = tip[p] >= 0 and image % 2 == 0
        if limited:
            for i in range(disc_start[p], disc_start[p + 1]):
                reach[disc_vertex[i]] = disc_distance[i]
        limit = radius[p] if limited else np.inf
        while divides[image] or limited:
            inside, length = _two_fills(
                image, attempt, limited, limit, tip[p], edge_start, edge, face_start, run, faces, edges, face_edges,
                star_start, star_edges, vertex_area, cut, vertex_mark, side, reach, queue,
            )  # fmt: skip
            attempt += 1
            if inside >= 0:
                partitions[image - first_image] = True
                count[image - first_image] = length
                if found + length > out.shape[0]:
                    more = np.empty(2 * out.shape[0] + length, np.int32)
                    more[:found] = out[:found]
                    out = more
                out[found : found + length] = np.sort(queue[inside, :length])
                found += length
                break
            if not limited:
                break
            closer = 0.0  # the next smaller disc
            for i in range(disc_start[p], disc_start[p + 1]):
                if disc_distance[i] < limit:
                    closer = max(closer, disc_distance[i])
            if closer == 0.0:
                break
            limit = closer
        if limited:
            for i in range(disc_start[p], disc_start[p + 1]):
                reach[disc_vertex[i]] = np.inf
    return partitions, count, out[:found].copy()


@kernel
def _touches(faces, f, reach, limit):
    """Whether a corner of face f is within the disc."""
    return reach[faces[f, 0]] <= limit or reach[faces[f, 1]] <= limit or reach[faces[f, 2]] <= limit


@inlined
def _put(v, s, attempt, vertex_mark, side, queue, length, area, vertex_area):
    """Put vertex v on side s, to be filled from."""
    vertex_mark[v] = attempt
    side[v] = s
    queue[s, length[s]] = v
    length[s] += 1
    area[s] += vertex_area[v]


@kernel
def _two_fills(
    image, attempt, limited, limit, tip, edge_start, edge, face_start, run, faces, edges, face_edges, star_start,
    star_edges, vertex_area, cut, vertex_mark, side, reach, queue,
):  # fmt: skip
    """(the inside's row of `queue`, its length), or (-1, 0) where the image does not partition."""
    first, last = face_start[image], face_start[image + 1]
    first_edge, last_edge = edge_start[image], edge_start[image + 1]
    if limited:  # the part of the curve on both sides of the loop vertex up to where it leaves the disc
        if last - first != last_edge - first_edge:
            return -1, 0
        whole_first, whole_last = first, last
        first, last = tip, tip + 1
        while first > whole_first and _touches(faces, run[first - 1], reach, limit):
            first -= 1
        while last < whole_last and _touches(faces, run[last], reach, limit):
            last += 1
        first_edge, last_edge = first_edge + first - whole_first, first_edge + last - whole_first
    for i in range(first_edge, last_edge):
        e = edge[i]
        cut[e] = -1 if cut[e] == attempt else attempt
    length = np.zeros(2, np.int64)
    area = np.zeros(2)
    # the corners of the faces along the image, face by face: each shares a coloured corner with those before
    for i in range(first, last):
        f = run[i]
        known = -1
        for k in range(3):
            if vertex_mark[faces[f, k]] == attempt:
                known = k
        if known < 0:
            if length[0] > 0:
                return -1, 0
            for k in range(3):
                if not limited or reach[faces[f, k]] <= limit:
                    known = k
            if known < 0:
                continue
            _put(faces[f, known], 0, attempt, vertex_mark, side, queue, length, area, vertex_area)
        for step in range(3):  # around the face and back to where it began
            a, b = faces[f, (known + step) % 3], faces[f, (known + step + 1) % 3]
            e = face_edges[f, (known + step) % 3]
            if limited and (reach[a] > limit or reach[b] > limit):
                continue
            if vertex_mark[a] != attempt:
                a, b = b, a
            s = side[a]
            if cut[e] == attempt:
                s = 1 - s
            if vertex_mark[b] == attempt:
                if side[b] != s:
                    return -1, 0
            else:
                _put(b, s, attempt, vertex_mark, side, queue, length, area, vertex_area)
    done = np.zeros(2, np.int64)
    while True:
        open0, open1 = done[0] < length[0], done[1] < length[1]
        if not open0 and not open1:
            s = 0 if area[0] < area[1] or (area[0] == area[1] and length[0] <= length[1]) else 1
            return s, length[s]
        if not open0 and area[0] <= area[1]:
            return 0, length[0]
        if not open1 and area[1] <= area[0]:
            return 1, length[1]
        s = 0 if open0 and (area[0] <= area[1] or not open1) else 1
        v = queue[s, done[s]]
        done[s] += 1
        for i in range(star_start[v], star_start[v + 1]):
            e = star_edges[i]
            if cut[e] == attempt:
                continue
            w = edges[e, 0] + edges[e, 1] - v
            if limited and reach[w] > limit:
                continue
            if vertex_mark[w] == attempt:
                if side[w] != s:
                    return -1, 0
            else:
                _put(w, s, attempt, vertex_mark, side, queue, length, area, vertex_area)
