"""Hits: which edges cross which faces, exactly. [A §5.2, §5.3]

A hit is an edge that crosses the interior of a face with none of its vertices. Five signs decide it: the ends of the
edge lie on two sides of the face's plane, and the face's three edges turn around the edge in one direction. The signs
are exact and perturbed by vertex index (`geometry.predicates`), so the hits are those of a mesh in general position,
whatever the input: both faces beside an edge always agree, and no path ends where it should not.

One walk of the tree (`detect.bvh`) finds the pairs of triangles whose boxes touch, and decides all hits of a pair at
once: the sides of the corners from the other plane, then four turns. Sides are read off one dot product a corner where
that is clearly not zero. An edge between two faces is reported by the lower-numbered one only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.detect.bvh import Bvh, build_bvh, touching_pairs
from unsnarl.detect.fans import open_fans
from unsnarl.geometry.predicates import orient3d, safe_positions
from unsnarl.jit import in_threads, inlined, kernel, thread_count
from unsnarl.mesh import TriMesh

# |computed - exact| < PAIR_BOUND * L^3 for a volume of differences of at most 2 L in each coordinate: 6 products of 3
# factors, each with at most 8 roundings of 2^-53, and a factor of two to spare.
PAIR_BOUND = 1e-13
UNSURE = -1


@dataclass(frozen=True, eq=False)
class Hits:
    """h hits, in ascending order of (edge, face).

    edge : (h,) int32, edges of the mesh
    face : (h,) int32, the face that each crosses
    """

    edge: np.ndarray
    face: np.ndarray

    def __len__(self) -> int:
        return len(self.edge)


def find_hits(mesh: TriMesh, x: np.ndarray | None = None, bvh: Bvh | None = None, passive=None) -> Hits:
    """All hits of a mesh with itself. For several meshes, pass them as one (`mesh.combine`).

    x       : (n, 3) positions, if not those of the mesh
    bvh     : a tree from `build_bvh` over this mesh, refitted to x here; built anew if there is none
    passive : (m,) bool, faces that are not tested against each other; only used where the tree is built here
    """
    x = safe_positions(mesh.x if x is None else x)
    if bvh is None:
        bvh = build_bvh(x, mesh.faces, passive)
    else:
        bvh.refit(x, mesh.faces)
    t = mesh.topology
    if mesh.origin is None:
        corner, point = mesh.faces, x
    else:  # copies of one vertex are the same point, with the same index
        corner = mesh.origin[mesh.faces]
        point = x.copy()
        point[mesh.origin] = x
    spread = (
        np.zeros(len(x), np.bool_) if mesh.origin is not None else open_fans(x, mesh.faces, t.fan_start, t.fan_faces)
    )
    m = len(mesh.faces)
    parts = 1 if bvh.active < 256 else 8 * thread_count()
    tri, ids, edge = np.empty((m, 9)), np.empty((m, 3), np.int32), np.empty((m, 3), np.int32)

    def gather(k):
        some = slice(m * k // parts, m * (k + 1) // parts)
        _in_tree_order(point, corner, t.face_edges, t.edge_faces, bvh.order[some], tri[some], ids[some], edge[some])

    in_threads(gather, parts)
    face = bvh.order

    def part(k):
        return _walk(
            point, tri, ids, spread, edge, face, bvh.box, bvh.face_box, bvh.start, bvh.stop, bvh.skip, bvh.leaves,
            bvh.active, k, parts,
        )  # fmt: skip

    key = np.concatenate(in_threads(part, parts))
    key.sort()
    return Hits((key // m).astype(np.int32), (key % m).astype(np.int32))


@kernel
def _in_tree_order(x, corner, face_edges, edge_faces, order, tri, ids, edge):
    """Corner positions (m, 9), vertex ids (m, 3) and edges (m, 3) of the triangles in tree order, into the last three.

    An edge that another face owns (the lower-numbered of the two) is -1: its hits are found from there.
    """
    for at in range(order.shape[0]):
        f = order[at]
        for k in range(3):
            v = corner[f, k]
            ids[at, k] = v
            for c in range(3):
                tri[at, 3 * k + c] = x[v, c]
            e = face_edges[f, k]
            edge[at, k] = e if edge_faces[e, 0] == f else -1


def _shared_table() -> np.ndarray:
    """For the nine bits "corner i of one is corner j of the other", bit 3 i + j: 0 for none, 1 + 3 i + j for one,
    -1 for two or more."""
    bits = np.arange(512)[:, None] >> np.arange(9) & 1
    return np.where(bits.sum(axis=1) > 1, -1, bits @ np.arange(1, 10)).astype(np.int8)


_SHARED = _shared_table()


@inlined
def _shared(ids, p, q):
    """Which corners of triangles p and q are the same vertex, as in `_shared_table`."""
    i, j, k = ids[p, 0], ids[p, 1], ids[p, 2]
    u, v, w = ids[q, 0], ids[q, 1], ids[q, 2]
    bits = (i == u) | (i == v) << 1 | (i == w) << 2 | (j == u) << 3 | (j == v) << 4 | (j == w) << 5
    return np.int64(_SHARED[bits | (k == u) << 6 | (k == v) << 7 | (k == w) << 8])


@inlined
def _corner(tri, p, k, q, j):
    """Corner k of triangle p, seen from corner j of triangle q."""
    p3, q3 = 3 * k, 3 * j
    return tri[p, p3] - tri[q, q3], tri[p, p3 + 1] - tri[q, q3 + 1], tri[p, p3 + 2] - tri[q, q3 + 2]


@inlined
def _volume(a, b, c):
    """a . (b x c)."""
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])


@inlined
def _extent(a):
    return max(abs(a[0]), abs(a[1]), abs(a[2]))


@inlined
def _alone(s0, s1, s2):
    """The corner whose sign is unlike the other two, given that not all are alike."""
    return 2 if (s0 > 0) == (s1 > 0) else (1 if (s0 > 0) == (s2 > 0) else 0)


@inlined
def _bits(t11, t12, t21, t22, a, b):
    """The edges that cross, from the four turns of the edges at the corners a and b that are alone on their side.

    Both triangles meet the line in which their planes cross in an interval, bounded by the two edges at the corner
    that is alone. A bound lies inside the other interval when it lies between the other's bounds.
    """
    return (t11 != t12) << a | (t21 != t22) << (a + 2) % 3 | (t11 != t21) << 3 + b | (t12 != t22) << 3 + (b + 2) % 3


@inlined
def _cross(tri, p, q):
    """Which edges of triangles p and q, that share no vertex, cross the other; UNSURE where rounding could matter.

    One bit an edge, those of p first. Signs of volumes: the sides of the corners from the other plane, then turns.
    """
    a1, a2 = _corner(tri, q, 1, q, 0), _corner(tri, q, 2, q, 0)
    u0, u1, u2 = _corner(tri, p, 0, q, 0), _corner(tri, p, 1, q, 0), _corner(tri, p, 2, q, 0)
    size = max(_extent(a1), _extent(a2), _extent(u0), _extent(u1), _extent(u2))
    bound = PAIR_BOUND * size * size * size
    s0, s1, s2 = _volume(u0, a1, a2), _volume(u1, a1, a2), _volume(u2, a1, a2)
    if min(s0, s1, s2) > bound or max(s0, s1, s2) < -bound:
        return 0
    b1, b2 = _corner(tri, p, 1, p, 0), _corner(tri, p, 2, p, 0)
    v1, v2 = _corner(tri, q, 1, p, 0), _corner(tri, q, 2, p, 0)
    v0 = (-u0[0], -u0[1], -u0[2])
    r0, r1, r2 = _volume(v0, b1, b2), _volume(v1, b1, b2), _volume(v2, b1, b2)
    if min(r0, r1, r2) > bound or max(r0, r1, r2) < -bound:
        return 0
    if min(abs(s0), abs(s1), abs(s2), abs(r0), abs(r1), abs(r2)) <= bound:
        return UNSURE
    a, b = _alone(s0, s1, s2), _alone(r0, r1, r2)
    o = _corner(tri, q, b, p, a)
    e1, e2 = _corner(tri, p, (a + 1) % 3, p, a), _corner(tri, p, (a + 2) % 3, p, a)
    f1, f2 = _corner(tri, q, (b + 1) % 3, q, b), _corner(tri, q, (b + 2) % 3, q, b)
    t11, t12 = _volume(o, e1, f1), _volume(o, e1, f2)
    t21, t22 = _volume(o, e2, f1), _volume(o, e2, f2)
    if min(abs(t11), abs(t12), abs(t21), abs(t22)) <= bound:
        return UNSURE
    return _bits(t11 > 0, t12 > 0, t21 > 0, t22 > 0, a, b)


@inlined
def _cross_at(tri, p, a, q, b):
    """`_cross` for triangles whose corners a and b are the same vertex: only the edges opposite to it can cross.

    Both triangles meet the line in which their planes cross from the shared vertex up to the opposite edge. If both
    lie on the same ray, the shorter one ends inside the other triangle.
    """
    p1, p2 = _corner(tri, p, (a + 1) % 3, p, a), _corner(tri, p, (a + 2) % 3, p, a)
    q1, q2 = _corner(tri, q, (b + 1) % 3, q, b), _corner(tri, q, (b + 2) % 3, q, b)
    size = max(_extent(p1), _extent(p2), _extent(q1), _extent(q2))
    bound = PAIR_BOUND * size * size * size
    s1, s2 = _volume(p1, q1, q2), _volume(p2, q1, q2)
    if min(s1, s2) > bound or max(s1, s2) < -bound:
        return 0
    r1, r2 = _volume(q1, p1, p2), _volume(q2, p1, p2)
    if min(r1, r2) > bound or max(r1, r2) < -bound:
        return 0
    if min(abs(s1), abs(s2), abs(r1), abs(r2)) <= bound:
        return UNSURE
    if (s1 > 0) == (r1 > 0):  # on opposite rays
        return 0
    turn = s1 - s2 + r1 - r2
    if abs(turn) <= bound:
        return UNSURE
    return 1 << (a + 1) % 3 if (turn > 0) == (s1 > 0) else 1 << 3 + (b + 1) % 3


@inlined
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def _cross_product(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def _middle(a, b):
    """The unit vector in the middle of the angle between a and b."""
    a1, b1 = 1 / np.sqrt(_dot(a, a)), 1 / np.sqrt(_dot(b, b))
    m = (a1 * a[0] + b1 * b[0], a1 * a[1] + b1 * b[1], a1 * a[2] + b1 * b[2])
    m1 = 1 / np.sqrt(_dot(m, m))
    return m1 * m[0], m1 * m[1], m1 * m[2]


@inlined
def _separates(w, p0, p1, p2, q1, q2):
    """Whether direction w clearly has the corners p0, p1, p2 below the corners 0, q1, q2 of the other triangle.

    w is taken as it is, so only the dot products have rounding errors: at most 5 of 2^-53 in 3 products each.
    """
    size = max(_extent(p0), _extent(p1), _extent(p2), _extent(q1), _extent(q2))
    margin = 4e-15 * size * _extent(w)
    return max(_dot(w, p0), _dot(w, p1), _dot(w, p2)) + margin < min(0.0, _dot(w, q1), _dot(w, q2))


@inlined
def _apart_in_plane(tri, p, q):
    """Whether one of some directions, most of them in the plane of p or q, clearly separates the two triangles.

    This is for triangles in one plane, or nearly: flat and rolled cloth has many, and few of them overlap.
    """
    p0, p1, p2 = _corner(tri, p, 0, q, 0), _corner(tri, p, 1, q, 0), _corner(tri, p, 2, q, 0)
    q1, q2 = _corner(tri, q, 1, q, 0), _corner(tri, q, 2, q, 0)
    n = _cross_product(q1, q2)
    outward = _cross_product(q1, n)  # q runs counter-clockwise around n: this points out of q across its first edge
    if _separates((-outward[0], -outward[1], -outward[2]), p0, p1, p2, q1, q2):
        return True
    if _separates(_cross_product(q2, n), p0, p1, p2, q1, q2):
        return True
    e = (q2[0] - q1[0], q2[1] - q1[1], q2[2] - q1[2])
    if _separates(_cross_product(n, e), p0, p1, p2, q1, q2):
        return True
    e1, e2 = _corner(tri, p, 1, p, 0), _corner(tri, p, 2, p, 0)
    n = _cross_product(e1, e2)
    if _separates(_cross_product(e1, n), p0, p1, p2, q1, q2):
        return True
    if _separates(_cross_product(n, e2), p0, p1, p2, q1, q2):
        return True
    e = (e2[0] - e1[0], e2[1] - e1[1], e2[2] - e1[2])
    return _separates(_cross_product(e, n), p0, p1, p2, q1, q2)


@inlined
def _apart_at(tri, p, a, q, b):
    """Whether a plane through the vertex that two triangles share, their corners a and b, clearly separates them."""
    p1, p2 = _corner(tri, p, (a + 1) % 3, p, a), _corner(tri, p, (a + 2) % 3, p, a)
    q1, q2 = _corner(tri, q, (b + 1) % 3, q, b), _corner(tri, q, (b + 2) % 3, q, b)
    mp, mq = _middle(p1, p2), _middle(q1, q2)
    w = (mq[0] - mp[0], mq[1] - mp[1], mq[2] - mp[2])
    margin = 4e-15 * max(_extent(p1), _extent(p2), _extent(q1), _extent(q2)) * _extent(w)
    return max(_dot(w, p1), _dot(w, p2)) < -margin and min(_dot(w, q1), _dot(w, q2)) > margin


@kernel
def _cross_exactly(x, ids, p, q):
    """`_cross` by exact predicates."""
    i, j, k = ids[p, 0], ids[p, 1], ids[p, 2]
    u, v, w = ids[q, 0], ids[q, 1], ids[q, 2]
    s0, s1, s2 = orient3d(x, u, v, w, i), orient3d(x, u, v, w, j), orient3d(x, u, v, w, k)
    if s0 == s1 and s1 == s2:
        return 0
    r0, r1, r2 = orient3d(x, i, j, k, u), orient3d(x, i, j, k, v), orient3d(x, i, j, k, w)
    if r0 == r1 and r1 == r2:
        return 0
    a, b = _alone(s0, s1, s2), _alone(r0, r1, r2)
    p0, p1, p2 = ids[p, a], ids[p, (a + 1) % 3], ids[p, (a + 2) % 3]
    q0, q1, q2 = ids[q, b], ids[q, (b + 1) % 3], ids[q, (b + 2) % 3]
    return _bits(
        orient3d(x, p0, p1, q0, q1),
        orient3d(x, p0, p1, q0, q2),
        orient3d(x, p0, p2, q0, q1),
        orient3d(x, p0, p2, q0, q2),
        a,
        b,
    )


@kernel
def _cross_at_exactly(x, ids, p, a, q, b):
    """`_cross_at` by exact predicates."""
    v, p1, p2 = ids[p, a], ids[p, (a + 1) % 3], ids[p, (a + 2) % 3]
    q1, q2 = ids[q, (b + 1) % 3], ids[q, (b + 2) % 3]
    side = orient3d(x, p1, q1, q2, v)
    if side == orient3d(x, p2, q1, q2, v):
        return 0
    other = orient3d(x, q1, p1, p2, v)
    if other == side or other == orient3d(x, q2, p1, p2, v):
        return 0
    return 1 << (a + 1) % 3 if orient3d(x, p1, p2, q1, q2) == side else 1 << 3 + (b + 1) % 3


@inlined
def _keep(out, n, edge, face, p, q, bits):
    """Append the keys of the edges in bits that their triangle owns; returns the new count."""
    m = np.int64(face.shape[0])
    for k in range(3):
        if bits >> k & 1 and edge[p, k] >= 0:
            out[n] = edge[p, k] * m + face[q]
            n += 1
        if bits >> (3 + k) & 1 and edge[q, k] >= 0:
            out[n] = edge[q, k] * m + face[p]
            n += 1
    return n


@kernel
def _walk(x, tri, ids, spread, edge, face, box, face_box, start, stop, skip, leaves, active, part, parts):
    """Keys edge * m + face of the hits found from every parts-th block of active leaves."""
    block = 32
    out = np.empty(256, np.int64)
    pairs = np.empty((1024, 2), np.int32)
    at_vertex = np.empty((1024, 3), np.int32)
    n = 0
    for first in range(part * block, active, parts * block):
        last = min(first + block, active)
        pairs, count = touching_pairs(box, None, face_box, None, start, stop, skip, leaves, first, last, pairs)
        if n + 4 * count > out.shape[0]:
            more = np.empty(2 * out.shape[0] + 4 * count, np.int64)
            more[:n] = out[:n]
            out = more
        if count > at_vertex.shape[0]:
            at_vertex = np.empty((pairs.shape[0], 3), np.int32)
        alone = neighbours = 0
        for i in range(count):  # sorted by kind first, in place: the two loops below then run without surprises
            p, q = pairs[i, 0], pairs[i, 1]
            shared = _shared(ids, p, q)
            at_vertex[neighbours, 0], at_vertex[neighbours, 1], at_vertex[neighbours, 2] = p, q, shared
            neighbours += (shared > 0) & (not spread[ids[p, max(shared - 1, 0) // 3]])
            pairs[alone, 0], pairs[alone, 1] = p, q
            alone += shared == 0
        for i in range(alone):
            p, q = pairs[i, 0], pairs[i, 1]
            bits = _cross(tri, p, q)
            if bits == UNSURE:
                bits = 0 if _apart_in_plane(tri, p, q) else _cross_exactly(x, ids, p, q)
            if bits:
                n = _keep(out, n, edge, face, p, q, bits)
        for i in range(neighbours):
            p, q, shared = at_vertex[i, 0], at_vertex[i, 1], at_vertex[i, 2]
            a, b = (shared - 1) // 3, (shared - 1) % 3
            bits = _cross_at(tri, p, a, q, b)
            if bits == UNSURE:
                bits = 0 if _apart_at(tri, p, a, q, b) else _cross_at_exactly(x, ids, p, a, q, b)
            if bits:
                n = _keep(out, n, edge, face, p, q, bits)
    return out[:n].copy()
