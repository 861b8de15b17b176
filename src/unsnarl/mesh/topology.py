"""Edges, fans and boundary loops of a triangle list, in linear time.

An edge is named by its two vertices, the smaller first; edges are numbered in lexicographic order, so the
numbering depends on the faces alone. Faces need not be wound consistently, and an edge may have any number of
faces.

The fan of a vertex is its faces in the order in which one walks around it. A vertex where several fans meet
(a bow tie) has them one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.jit import ints, kernel


@dataclass(frozen=True, eq=False)
class Topology:
    """What is connected to what, for n vertices, m faces and e edges.

    edges           : (e, 2) int32, vertices of each edge, the smaller first
    face_edges      : (m, 3) int32, edge k of a face joins its corners k and (k + 1) % 3
    edge_faces      : (e, 2) int32, the first two faces of an edge, in ascending order; -1 where there is none
    edge_face_count : (e,) int32, how many faces the edge has: 1 on the boundary, 2 inside, more: non-manifold
    star_start      : (n + 1,) int32, the edges at vertex v are star_edges[star_start[v] : star_start[v + 1]]
    star_edges      : (2 e,) int32, in ascending order
    fan_start       : (n + 1,) int32, the faces around vertex v are fan_faces[fan_start[v] : fan_start[v + 1]]
    fan_faces       : (3 m,) int32, in walking order; each fan of the vertex starts at a border (an edge with
                      other than two faces) if it has one
    """

    edges: np.ndarray
    face_edges: np.ndarray
    edge_faces: np.ndarray
    edge_face_count: np.ndarray
    star_start: np.ndarray
    star_edges: np.ndarray
    fan_start: np.ndarray
    fan_faces: np.ndarray


def build_topology(faces: np.ndarray, vertices: int) -> Topology:
    """The topology of `faces` ((m, 3) int32, valid indices) over `vertices` vertices."""
    faces = ints(faces)
    edges, face_edges, edge_faces, count = _edges(faces, vertices)
    fan_start, fan_faces = _fans(faces, edges, face_edges, edge_faces, count, vertices)
    star_start, star_edges = _stars(edges, vertices)
    return Topology(edges, face_edges, edge_faces, count, star_start, star_edges, fan_start, fan_faces)


def boundary_loops(topology: Topology, faces: np.ndarray) -> list[np.ndarray]:
    """The boundary as closed loops of vertices, each a (k,) int32 array, by their lowest boundary edge.

    At a vertex where several boundaries touch, a loop goes on along the border of the fan that it came by.
    Where that border is an edge with three or more faces, the loop follows it, so that it always closes.
    Every boundary edge is in one loop, once.
    """
    t = topology
    loop_of, walked = _walk_boundary(ints(faces), t.edges, t.face_edges, t.edge_faces, t.edge_face_count)
    if len(walked) == 0:
        return []
    cuts = np.flatnonzero(np.diff(loop_of)) + 1
    return np.split(walked, cuts)


@kernel
def _sorted_by(key, order, buckets):
    """`order` sorted stably by key[order], a whole number below `buckets` (counting sort)."""
    start = np.zeros(buckets + 1, np.int32)
    for k in key:
        start[k + 1] += 1
    for b in range(buckets):
        start[b + 1] += start[b]
    out = np.empty_like(order)
    for i in order:
        out[start[key[i]]] = i
        start[key[i]] += 1
    return out


@kernel
def _edges(faces, vertices):
    """Sort the 3 m half-edges by their larger, then by their smaller vertex, and number the runs."""
    m = faces.shape[0]
    low = np.empty(3 * m, np.int32)  # ends of half-edge 3 f + k
    high = np.empty(3 * m, np.int32)
    for f in range(m):
        for k in range(3):
            a, b = faces[f, k], faces[f, (k + 1) % 3]
            low[3 * f + k] = min(a, b)
            high[3 * f + k] = max(a, b)
    order = _sorted_by(high, np.arange(3 * m).astype(np.int32), vertices)
    order = _sorted_by(low, order, vertices)

    edge_of_half = np.empty(3 * m, np.int32)
    edges = np.empty((3 * m, 2), np.int32)
    e = -1
    for i in range(3 * m):
        h = order[i]
        if i == 0 or low[h] != low[order[i - 1]] or high[h] != high[order[i - 1]]:
            e += 1
            edges[e, 0] = low[h]
            edges[e, 1] = high[h]
        edge_of_half[h] = e

    edge_count = e + 1
    count = np.zeros(edge_count, np.int32)
    edge_faces = np.full((edge_count, 2), -1, np.int32)
    face_edges = np.empty((m, 3), np.int32)
    for f in range(m):
        for k in range(3):
            e = edge_of_half[3 * f + k]
            face_edges[f, k] = e
            if count[e] < 2:
                edge_faces[e, count[e]] = f
            count[e] += 1
    return edges[:edge_count].copy(), face_edges, edge_faces, count


@kernel
def _stars(edges, vertices):
    start = np.zeros(vertices + 1, np.int32)
    for v in edges.ravel():
        start[v + 1] += 1
    for v in range(vertices):
        start[v + 1] += start[v]
    return start, _sorted_by(edges.ravel(), np.arange(edges.size).astype(np.int32), vertices) // np.int32(2)


@kernel
def edge_at(face_edges, edges, f, v, other_than):
    """The edge of face f at vertex v that is not `other_than` (the first of the two if that is -1)."""
    for k in range(3):
        e = face_edges[f, k]
        if e != other_than and (edges[e, 0] == v or edges[e, 1] == v):
            return e
    return -1


@kernel
def across(edge_faces, edge_face_count, e, f):
    """The face on the other side of edge e from face f; -1 at a boundary or a non-manifold edge."""
    if edge_face_count[e] != 2:
        return -1
    return edge_faces[e, 1] if edge_faces[e, 0] == f else edge_faces[e, 0]


@kernel
def _fans(faces, edges, face_edges, edge_faces, count, vertices):
    m = faces.shape[0]
    start = np.zeros(vertices + 1, np.int32)
    for v in faces.ravel():
        start[v + 1] += 1
    for v in range(vertices):
        start[v + 1] += start[v]
    corners = np.arange(3 * m).astype(np.int32)
    around = _sorted_by(faces.ravel(), corners, vertices)  # corners 3 f + k by vertex, f ascending

    fan = np.empty(3 * m, np.int32)
    seen = np.full(m, -1, np.int32)  # the vertex for which a face was placed last
    for v in range(vertices):
        at = start[v]
        for closed in range(2):  # first the fans that begin at a border, then the closed ones
            for i in range(start[v], start[v + 1]):
                f = around[i] // 3
                if seen[f] == v:
                    continue
                e = edge_at(face_edges, edges, f, v, -1)
                leave = edge_at(face_edges, edges, f, v, e)
                if closed == 0 and across(edge_faces, count, e, f) >= 0:
                    if across(edge_faces, count, leave, f) >= 0:
                        continue
                    leave = e
                while f >= 0 and seen[f] != v:
                    seen[f] = v
                    fan[at] = f
                    at += 1
                    f = across(edge_faces, count, leave, f)
                    if f >= 0:
                        leave = edge_at(face_edges, edges, f, v, leave)
    return start, fan


@kernel
def _walk_boundary(faces, edges, face_edges, edge_faces, count):
    """The loop of each step along the boundary, and the vertex that it leaves from."""
    most = 0
    for e in range(edges.shape[0]):
        if count[e] != 2:
            most += count[e]
    walked = np.empty(most, np.int32)
    loop_of = np.empty(most, np.int32)
    seen = np.zeros(edges.shape[0], np.uint8)
    at = 0
    loop = 0
    for first in range(edges.shape[0]):
        if count[first] != 1 or seen[first]:
            continue
        # along the direction in which the edge's face runs
        f = edge_faces[first, 0]
        v = -1
        for k in range(3):
            if face_edges[f, k] == first:
                v = faces[f, k]
        e = first
        while True:
            seen[e] = 1
            walked[at] = v
            loop_of[at] = loop
            at += 1
            v = edges[e, 0] + edges[e, 1] - v  # step to its other end
            e = edge_at(face_edges, edges, f, v, e)
            while count[e] == 2:  # turn around v inside the fan
                f = across(edge_faces, count, e, f)
                e = edge_at(face_edges, edges, f, v, e)
            if e == first:
                break
        loop += 1
    return loop_of[:at], walked[:at]
