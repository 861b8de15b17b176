"""Paths: hits and segments traced into curves in space, and each curve's two images on the surface. [A §5.3, E §4]

A hit on an inner edge ends two segments, on a boundary edge one; a segment may also end at a loop vertex. So following
segments from hit to hit gives chains with two ends or none: a chain is a path, but for two chains from a loop vertex
to the boundary that share that vertex and no other chain does: they are one path (CROSS, E §4.1).

Along a path two sheets cross. At a hit, an edge of one sheet passes through a face of the other: the image on the
first crosses that edge and goes on in the next face, the image on the second stays in its face. At a loop vertex the
two images meet; an image that goes on there passes beside the vertex, across the edges around it on the side with the
smaller angle, so that the vertex too is on one side of the curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.detect.edge_face import Hits
from unsnarl.jit import kernel
from unsnarl.mesh import TriMesh
from unsnarl.mesh.topology import across, edge_at
from unsnarl.tangles.segments import Segments

KINDS = ("CLOSED", "EIGHT", "LL", "BLI", "CROSS", "BB_II", "BI_BI")
CLOSED, EIGHT, LL, BLI, CROSS, BB_II, BI_BI = range(7)


@dataclass(frozen=True, eq=False)
class Paths:
    """p paths over s segments; a path of k segments has k + 1 nodes, the last being the first if it is closed.

    kind     : (p,) int8, index into KINDS
    start    : (p + 1,) int32, the segments of path i are segment[start[i] : start[i + 1]]
    segment  : (s,) int32, segments in walking order; each occurs once
    face     : (s, 2) int32, the face of image 0 and of image 1 along each segment
    node     : (s + p,) int32, path i's begin at start[i] + i: a hit, or -1 - v for loop vertex v
    images   : (p,) int8, 2, or 1 where the two are one curve (LL, BLI; CLOSED on a one-sided surface)
    edge_start, edge   : (2 p + 1,), (c,) int32, the mesh edges that image k of path i crosses, in order, at 2 i + k
    face_start, run    : (2 p + 1,), (r,) int32, the faces that it runs through, in order
    divides  : (2 p,) bool, images that are closed or go from boundary to boundary: they may partition the surface
    tip      : (p,) int32, for BLI the place in `run` of the last face before the loop vertex; -1 else
    """

    kind: np.ndarray
    start: np.ndarray
    segment: np.ndarray
    face: np.ndarray
    node: np.ndarray
    images: np.ndarray
    edge_start: np.ndarray
    edge: np.ndarray
    face_start: np.ndarray
    run: np.ndarray
    divides: np.ndarray
    tip: np.ndarray

    def __len__(self) -> int:
        return len(self.kind)


def trace_paths(mesh: TriMesh, hits: Hits, segments: Segments) -> Paths:
    """All paths, from the lowest-numbered segment on: first those with ends, then the closed ones."""
    t = mesh.topology
    chain_start, segment, face, node, swapped = _chains(
        hits.edge, hits.face, t.edge_faces, segments.faces, segments.hits, segments.loop_vertex
    )
    start, segment, face, node, swapped = _join_crosses(
        chain_start, segment, face, node, swapped, hits.edge, t.edge_faces
    )
    kind, images, edge_start, edge, face_start, run, divides, tip = _images(
        start, face, node, swapped, hits.edge, hits.face, t.edges, t.face_edges, t.edge_faces, t.edge_face_count,
        mesh.faces, mesh.x, int(np.diff(t.fan_start).max()),
    )  # fmt: skip
    return Paths(kind, start, segment, face, node, images, edge_start, edge, face_start, run, divides, tip)


@kernel
def _chains(hit_edge, hit_face, edge_faces, seg_faces, seg_hits, loop_vertex):
    """Follow segments from hit to hit. Returns start, segment, face, node as in `Paths`, and whether a closed chain
    comes back with its two images exchanged."""
    s = seg_faces.shape[0]
    h = hit_edge.shape[0]
    beside = np.full((h, 2), -1, np.int32)  # the segments at each hit
    for i in range(s):
        for k in range(2):
            hit = seg_hits[i, k]
            if hit >= 0:
                beside[hit, 0 if beside[hit, 0] < 0 else 1] = i
    start = np.zeros(s + 1, np.int32)
    segment = np.empty(s, np.int32)
    face = np.empty((s, 2), np.int32)
    node = np.empty(2 * s, np.int32)
    swapped = np.zeros(s, np.bool_)
    seen = np.zeros(s, np.bool_)
    chains = 0
    at = 0
    for closed in range(2):
        for first in range(s):
            if seen[first]:
                continue
            if closed:
                enter = seg_hits[first, 0]
            elif seg_hits[first, 1] < 0:
                enter = -1
            elif edge_faces[hit_edge[seg_hits[first, 0]], 1] < 0:
                enter = seg_hits[first, 0]
            elif edge_faces[hit_edge[seg_hits[first, 1]], 1] < 0:
                enter = seg_hits[first, 1]
            else:
                continue
            begin = at
            i = first
            a, b = seg_faces[i, 0], seg_faces[i, 1]
            node[at + chains] = enter if enter >= 0 else -1 - loop_vertex[i]
            while True:
                seen[i] = True
                segment[at] = i
                face[at, 0] = a
                face[at, 1] = b
                at += 1
                leave = seg_hits[i, 1] if seg_hits[i, 0] == enter else seg_hits[i, 0]
                node[at + chains] = leave if leave >= 0 else -1 - loop_vertex[i]
                if leave < 0 or edge_faces[hit_edge[leave], 1] < 0:
                    break
                i = beside[leave, 1] if beside[leave, 0] == i else beside[leave, 0]
                stays = hit_face[leave]
                goes = seg_faces[i, 1] if seg_faces[i, 0] == stays else seg_faces[i, 0]
                if a == stays:
                    b = goes
                else:
                    a, b = goes, stays
                enter = leave
                if i == first:
                    swapped[chains] = a != face[begin, 0]
                    break
            chains += 1
            start[chains] = at
    return start[: chains + 1].copy(), segment, face, node[: s + chains].copy(), swapped[:chains].copy()


@kernel
def _owns(edge_faces, hit_edge, node, face, k):
    """Whether image k has the boundary edge at a boundary node, `face` being the images' faces there."""
    return edge_faces[hit_edge[node], 0] == face[k]


@kernel
def _join_crosses(start, segment, face, node, swapped, hit_edge, edge_faces):
    """Join two chains from one loop vertex to the boundary where no third chain ends there; turn every chain with one
    loop vertex and one boundary end so that it begins at the boundary, with image 0 on the sheet of that edge."""
    chains = start.shape[0] - 1
    vertices = 0
    for n in node:
        vertices = max(vertices, -n)
    ends = np.zeros(vertices + 1, np.int32)  # how many chains end at a loop vertex
    half = np.full((vertices + 1, 2), -1, np.int32)  # the chains from there to the boundary
    halves = np.zeros(vertices + 1, np.int32)
    for c in range(chains):
        lo, hi = start[c], start[c + 1]
        n0, n1 = node[lo + c], node[hi + c]
        if n0 < 0:
            ends[-n0] += 1
        if n1 < 0:
            ends[-n1] += 1
        if (n0 < 0) != (n1 < 0):
            v = max(-n0, -n1)
            if halves[v] < 2:
                half[v, halves[v]] = c
            halves[v] += 1
            if n0 < 0:  # turn it around
                segment[lo:hi] = segment[lo:hi][::-1].copy()
                face[lo:hi] = face[lo:hi][::-1].copy()
                node[lo + c : hi + c + 1] = node[lo + c : hi + c + 1][::-1].copy()
            if not _owns(edge_faces, hit_edge, node[lo + c], face[lo], 0):
                for i in range(lo, hi):
                    face[i, 0], face[i, 1] = face[i, 1], face[i, 0]

    new_start = np.zeros(chains + 1, np.int32)
    new_segment = np.empty_like(segment)
    new_face = np.empty_like(face)
    new_node = np.empty_like(node)
    new_swapped = np.empty_like(swapped)
    paths = 0
    at = 0
    for c in range(chains):
        lo, hi = start[c], start[c + 1]
        last = node[hi + c]
        v = -last if last < 0 and node[lo + c] >= 0 else 0
        crossing = v > 0 and halves[v] == 2 and ends[v] == 2
        if crossing and half[v, 1] == c:
            continue
        for i in range(lo, hi):
            new_segment[at + i - lo] = segment[i]
            new_face[at + i - lo] = face[i]
        for i in range(lo, hi + 1):
            new_node[at + paths + i - lo] = node[i + c]
        at += hi - lo
        if crossing:
            d = half[v, 1]
            lo, hi = start[d], start[d + 1]
            for i in range(hi - lo):
                new_segment[at + i] = segment[hi - 1 - i]
                new_face[at + i] = face[hi - 1 - i]
                new_node[at + paths + i + 1] = node[hi - 1 - i + d]
            at += hi - lo
        new_swapped[paths] = swapped[c]
        paths += 1
        new_start[paths] = at
    return (
        new_start[: paths + 1].copy(),
        new_segment,
        new_face,
        new_node[: at + paths].copy(),
        new_swapped[:paths].copy(),
    )


@kernel
def _angle(x, faces, f, v):
    """The angle of face f at vertex v."""
    k = 0 if faces[f, 0] == v else (1 if faces[f, 1] == v else 2)
    a = x[faces[f, (k + 1) % 3]] - x[v]
    b = x[faces[f, (k + 2) % 3]] - x[v]
    c0 = a[1] * b[2] - a[2] * b[1]
    c1 = a[2] * b[0] - a[0] * b[2]
    c2 = a[0] * b[1] - a[1] * b[0]
    return np.arctan2(np.sqrt(c0 * c0 + c1 * c1 + c2 * c2), a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@kernel
def _walk_around(v, f, g, first, edges, face_edges, edge_faces, count, faces, x, out_edge, out_face):
    """Walk around vertex v from face f, leaving by edge `first`, to face g. Returns how many edges were crossed (-1 if
    a border came first) and the angle passed; the edges and the faces entered go into out_edge and out_face."""
    n = 0
    angle = 0.0
    e = first
    while f != g:
        f = across(edge_faces, count, e, f)
        if f < 0 or n == out_edge.shape[0]:
            return -1, np.inf
        out_edge[n] = e
        out_face[n] = f
        n += 1
        if f != g:
            angle += _angle(x, faces, f, v)
            e = edge_at(face_edges, edges, f, v, e)
    return n, angle


@kernel
def _pass_beside(
    v, f, g, edges, face_edges, edge_faces, count, faces, x, walk_edge, walk_face, edge, ne, run, nf
):  # fmt: skip
    """Append the edges and faces of the way around vertex v from face f to face g that has the smaller angle."""
    e0 = edge_at(face_edges, edges, f, v, -1)
    e1 = edge_at(face_edges, edges, f, v, e0)
    n0, angle0 = _walk_around(v, f, g, e0, edges, face_edges, edge_faces, count, faces, x, walk_edge[0], walk_face[0])
    n1, angle1 = _walk_around(v, f, g, e1, edges, face_edges, edge_faces, count, faces, x, walk_edge[1], walk_face[1])
    way, n = (0, n0) if angle0 <= angle1 else (1, n1)
    for j in range(n):
        edge[ne + j] = walk_edge[way, j]
        run[nf + j] = walk_face[way, j]
    return ne + max(n, 0), nf + max(n, 0)


@kernel
def _kind(first, last, crossing, first_face, last_face, hit_edge, edge_faces):
    """The kind of a path from its end nodes and the images' faces there; see `Paths`."""
    if first < 0 and last < 0:
        return EIGHT if first == last else LL
    if first < 0 or last < 0:
        return BLI
    if crossing:
        return CROSS
    if edge_faces[hit_edge[first], 1] >= 0:
        return CLOSED
    same = _owns(edge_faces, hit_edge, first, first_face, 0) == _owns(edge_faces, hit_edge, last, last_face, 0)
    return BB_II if same else BI_BI


@kernel
def _images(start, face, node, swapped, hit_edge, hit_face, edges, face_edges, edge_faces, count, faces, x, valence):
    """Kinds, and the edges and faces of both images of every path."""
    paths = start.shape[0] - 1
    s = face.shape[0]
    kind = np.empty(paths, np.int8)
    images = np.full(paths, 2, np.int8)
    divides = np.zeros(2 * paths, np.bool_)
    tip = np.full(paths, -1, np.int32)
    edge_start = np.zeros(2 * paths + 1, np.int32)
    face_start = np.zeros(2 * paths + 1, np.int32)
    room = 4 * (s + paths) + 64
    edge = np.empty(room, np.int32)
    run = np.empty(room, np.int32)
    ne = 0
    nf = 0
    walk_edge = np.empty((2, valence), np.int32)
    walk_face = np.empty((2, valence), np.int32)
    for p in range(paths):
        lo, hi = start[p], start[p + 1]
        first, last = node[lo + p], node[hi + p]
        middle = -1  # the segment before the loop vertex inside a CROSS
        for i in range(lo + 1, hi):
            if node[i + p] < 0:
                middle = i - 1
        kind[p] = _kind(first, last, middle >= 0, face[lo], face[hi - 1], hit_edge, edge_faces)
        k = kind[p]
        joined = k in (LL, BLI) or (k == CLOSED and swapped[p])
        if joined:
            images[p] = 1
        for image in range(2):
            # image 1 of a joined pair goes back along the path and is appended to image 0
            begin = face_start[2 * p] if joined and image == 1 else nf
            for step in range(hi - lo + 1):
                backwards = joined and image == 1 and k != CLOSED
                i = hi - 1 - step if backwards else lo + step  # the segment entered
                entered = step < hi - lo
                n = node[hi + p - step] if backwards else node[lo + p + step]
                before = (i + 1 if backwards else i - 1) if step > 0 else -1
                if ne + valence + 2 > edge.shape[0]:
                    more = np.empty(2 * edge.shape[0] + valence, np.int32)
                    more[:ne] = edge[:ne]
                    edge = more
                if nf + valence + 2 > run.shape[0]:
                    more = np.empty(2 * run.shape[0] + valence, np.int32)
                    more[:nf] = run[:nf]
                    run = more
                if n >= 0:  # a hit: does this image cross its edge?
                    at = face[i if entered else before, image]
                    if hit_face[n] != at and not (k == CLOSED and step == hi - lo):
                        edge[ne] = hit_edge[n]
                        ne += 1
                    if entered and (nf == begin or run[nf - 1] != face[i, image]):
                        run[nf] = face[i, image]
                        nf += 1
                    continue
                # a loop vertex: from which face to which does this image pass?
                if k == CROSS:
                    f, g = face[before, image], face[i, image]
                elif k == EIGHT and not entered:
                    f, g = face[hi - 1, image], face[lo, image]
                elif joined and not entered:
                    f = face[hi - 1, 0] if image == 0 else face[lo, 1]
                    g = face[hi - 1, 1] if image == 0 else face[lo, 0]
                else:
                    f = g = -1
                if k == BLI and image == 0:
                    tip[p] = nf - 1
                if f != g:
                    ne, nf = _pass_beside(
                        -1 - n, f, g, edges, face_edges, edge_faces, count, faces, x, walk_edge, walk_face, edge, ne,
                        run, nf,
                    )  # fmt: skip
                if entered and (nf == begin or run[nf - 1] != face[i, image]):
                    run[nf] = face[i, image]
                    nf += 1
            if joined and image == 0:
                continue
            slot = 2 * p + image
            if joined:  # all of it belongs to image 0
                edge_start[2 * p + 1] = ne
                face_start[2 * p + 1] = nf
                edge_start[2 * p + 2] = ne
                face_start[2 * p + 2] = nf
                divides[2 * p] = k != BLI
            else:
                edge_start[slot + 1] = ne
                face_start[slot + 1] = nf
                if k in (CLOSED, EIGHT):
                    divides[slot] = True
                elif k in (BB_II, CROSS):
                    divides[slot] = _owns(edge_faces, hit_edge, first, face[lo], image)
    return kind, images, edge_start, edge[:ne].copy(), face_start, run[:nf].copy(), divides, tip
