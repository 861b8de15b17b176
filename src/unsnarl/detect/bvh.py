"""A bounding-volume hierarchy over triangles: built once, refitted whenever they move.

The triangles are sorted along a Morton curve through their centres; a binary tree splits that order where the highest
bit of the code changes. Nodes stand in depth-first order, so a node's first child is the next node, and `skip` names
the node that follows its whole subtree. A walk needs no stack:

    node = skip[node] if the box of node is missed else node + 1

All leaves after leaf i are met by walking on from i + 1, so walking from every leaf meets each pair of leaves once.

Triangles that move have two boxes: where they begin, and where they end. Two of them that move in straight lines are
apart on the whole way if they are apart at both times, on the same side along the same axis: projections are linear in
time. This sees past a motion that both share, which a box around the whole way does not.

Boxes are float32 in a frame around the centre of the triangles, widened outwards by more than the rounding: they may be
a little too large, never too small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unsnarl.jit import floats, in_threads, inlined, ints, kernel, thread_count

LEAF = 4  # triangles in a leaf, at most
MANY = 4000  # triangles, from which on threads pay


@dataclass(frozen=True, eq=False)
class Bvh:
    """A tree over m triangles.

    order    : (m,) int32, the triangles in tree order
    box      : (nodes, 6) float32, low and high corner of each node
    face_box : (m, 6) float32, of each triangle, in tree order
    last, face_last : the same where a motion ends; None while nothing moves
    start    : (nodes + 1,) int32, the first triangle (in tree order) below each node
    stop     : (nodes,) int32, one past the last
    skip     : (nodes,) int32, the next node after the subtree; node + 1 for a leaf
    leaves   : (k,) int32, the nodes that are leaves, in order
    active   : how many of them hold triangles that are not passive: these come first
    frame    : (4,) float64, the centre and scale of the boxes' coordinates: (x - centre) * scale
    """

    order: np.ndarray
    box: np.ndarray
    face_box: np.ndarray
    last: np.ndarray | None
    face_last: np.ndarray | None
    start: np.ndarray
    stop: np.ndarray
    skip: np.ndarray
    leaves: np.ndarray
    active: int
    frame: np.ndarray

    def refit(self, x: np.ndarray, faces: np.ndarray, margin: float = 0.0) -> None:
        """Fit the boxes to new positions x (n, 3), wider by a margin [m] on all sides; the tree stays, in place."""
        x = floats(x)
        self.frame[:] = _frame(x, x, float(margin))
        _boxes(x, faces, self.order, margin, self.frame, self.face_box)
        _fit(self.face_box, self.start, self.stop, self.skip, self.box)

    def refit_moving(self, x0: np.ndarray, x1: np.ndarray, faces: np.ndarray, margin: float = 0.0) -> Bvh:
        """The tree with boxes around where the vertices begin and end, x0 and x1 (n, 3); see `refit`.

        Its boxes at the beginning, and all that does not change, are this tree's own.
        """
        x0, x1 = floats(x0), floats(x1)
        self.frame[:] = _frame(x0, x1, float(margin))
        moving = replace(self, last=np.empty_like(self.box), face_last=np.empty_like(self.face_box))
        ends = (x0, moving.face_box, moving.box), (x1, moving.face_last, moving.last)

        def part(k):
            x, face_box, box = ends[k]
            _face_boxes(x, faces, self.order, float(margin), self.frame, face_box)
            _fit(face_box, self.start, self.stop, self.skip, box)

        in_threads(part, 2)
        return moving


def build_bvh(x: np.ndarray, faces: np.ndarray, passive: np.ndarray | None = None) -> Bvh:
    """The tree over faces (m, 3) at positions x (n, 3).

    passive : (m,) bool, faces that are never tested against each other (of bodies); they come last in the order.
    """
    x, boxes = floats(x), np.empty((len(faces), 6), np.float32)
    frame = _frame(x, x, 0.0)
    _boxes(x, faces, ints(np.arange(len(faces))), 0.0, frame, boxes)
    if passive is None:
        passive = np.zeros(len(faces), dtype=np.bool_)
    order, code = _morton_order(boxes, passive)
    start, stop, skip, leaves = _tree(code)
    box, face_box = np.empty((len(start), 6), np.float32), boxes[order]
    _fit(face_box, start, stop, skip, box)
    still = int(passive.sum())
    active = int(np.searchsorted(start[leaves], len(faces) - still))
    return Bvh(order, box, face_box, None, None, start, stop, skip, leaves, active, frame)


def _boxes(x, faces, order, margin: float, frame: np.ndarray, out: np.ndarray) -> None:
    """Boxes around the faces in this order, in the frame's coordinates and wider by the margin, into out (m, 6)."""
    m = len(faces)
    parts = 1 if m < MANY else thread_count()

    def part(k):
        some = slice(m * k // parts, m * (k + 1) // parts)
        _face_boxes(x, faces, order[some], float(margin), frame, out[some])

    in_threads(part, parts)


@kernel
def _frame(x, x1, margin):
    """(4,) centre and scale of all positions x and x1, with the margin around them."""
    low = np.full(3, np.inf)
    high = np.full(3, -np.inf)
    for v in range(x.shape[0]):
        for c in range(3):
            low[c] = min(low[c], x[v, c], x1[v, c])
            high[c] = max(high[c], x[v, c], x1[v, c])
    frame = np.empty(4)
    frame[:3] = 0.5 * low + 0.5 * high
    size = margin
    for c in range(3):
        size = max(size, 0.5 * high[c] - 0.5 * low[c] + margin)
    scale = 1.0
    if size > 0.0:
        scale = 0.5 / size
    frame[3] = scale
    return frame


@kernel
def _face_boxes(x, faces, order, margin, frame, out):
    """Boxes around triangles, in the frame's coordinates; see the module's text."""
    scale = frame[3]
    for at in range(order.shape[0]):
        f = order[at]
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        for c in range(3):
            lo = min(x[i, c], x[j, c], x[k, c])
            hi = max(x[i, c], x[j, c], x[k, c])
            lo = (lo - frame[c] - margin) * scale
            hi = (hi - frame[c] + margin) * scale
            out[at, c] = lo - 6.1e-8 * abs(lo) - 1e-44
            out[at, 3 + c] = hi + 6.1e-8 * abs(hi) + 1e-44


@kernel
def _spread(v):
    """The 21 bits of v with two zero bits after each."""
    v &= 0x1FFFFF
    v = (v | v << 32) & 0x1F00000000FFFF
    v = (v | v << 16) & 0x1F0000FF0000FF
    v = (v | v << 8) & 0x100F00F00F00F00F
    v = (v | v << 4) & 0x10C30C30C30C30C3
    v = (v | v << 2) & 0x1249249249249249
    return v


@kernel
def _morton_order(boxes, passive):
    """Triangles sorted by (passive, Morton code of the centre, number), and the sorted codes, passive bit on top."""
    m = boxes.shape[0]
    code = np.empty(m, np.int64)
    order = np.empty(m, np.int32)
    for f in range(m):
        key = np.int64(0)
        for c in range(3):
            centre = 0.5 * (np.float64(boxes[f, c]) + np.float64(boxes[f, 3 + c]))  # in [-0.51, 0.51]
            cell = np.int64((centre + 0.52) * 1960.0)  # below 2^11
            key |= _spread(cell) << c
        code[f] = key | (np.int64(passive[f]) << 33)
        order[f] = f
    # radix sort, least significant digits first: stable
    other_code = np.empty(m, np.int64)
    other_order = np.empty(m, np.int32)
    for shift in (0, 12, 24):
        count = np.zeros(4097, np.int64)
        for f in range(m):
            count[((code[f] >> shift) & 4095) + 1] += 1
        for d in range(4096):
            count[d + 1] += count[d]
        for f in range(m):
            digit = (code[f] >> shift) & 4095
            at = count[digit]
            count[digit] += 1
            other_code[at] = code[f]
            other_order[at] = order[f]
        code, other_code = other_code, code
        order, other_order = other_order, order
    return order, code


@kernel
def _tree(code):
    """Nodes in depth-first order over sorted codes: start, stop, skip, leaves."""
    m = code.shape[0]
    room = 2 * m
    start = np.empty(room, np.int32)
    stop = np.empty(room, np.int32)
    stack = np.empty((256, 2), np.int32)
    stack[0, 0] = 0
    stack[0, 1] = m
    depth = 1
    nodes = 0
    leaf_count = 0
    while depth > 0:
        depth -= 1
        lo, hi = stack[depth, 0], stack[depth, 1]
        start[nodes] = lo
        stop[nodes] = hi
        nodes += 1
        mixed = (code[lo] ^ code[hi - 1]) >> 33 != 0  # passive and active never share a leaf
        if hi - lo <= LEAF and not mixed:
            leaf_count += 1
            continue
        split = (lo + hi) // 2
        differ = code[lo] ^ code[hi - 1]
        if differ != 0:
            bit = np.int64(1)
            while differ > 1:
                differ >>= 1
                bit <<= 1
            a, b = lo, hi - 1  # code[a] has the bit clear, code[b] set
            while b - a > 1:
                middle = (a + b) // 2
                if code[middle] & bit:
                    b = middle
                else:
                    a = middle
            split = b
        stack[depth, 0] = split
        stack[depth, 1] = hi
        stack[depth + 1, 0] = lo
        stack[depth + 1, 1] = split
        depth += 2
    skip = np.empty(nodes, np.int32)
    first_at = np.full(m + 1, nodes, np.int32)  # the first node, of those after this one, that starts at a triangle
    leaves = np.empty(leaf_count, np.int32)
    for node in range(nodes - 1, -1, -1):
        skip[node] = first_at[stop[node]]
        first_at[start[node]] = node
        if skip[node] == node + 1:
            leaf_count -= 1
            leaves[leaf_count] = node
    return start[:nodes].copy(), stop[:nodes].copy(), skip, leaves


@kernel
def _fit(face_box, start, stop, skip, box):
    """Boxes of all nodes, from the last to the first, so that children come before their parents."""
    for node in range(skip.shape[0] - 1, -1, -1):
        if skip[node] == node + 1:
            box[node] = face_box[start[node]]
            for f in range(start[node] + 1, stop[node]):
                for c in range(3):
                    box[node, c] = min(box[node, c], face_box[f, c])
                    box[node, 3 + c] = max(box[node, 3 + c], face_box[f, 3 + c])
        else:
            a, b = node + 1, skip[node + 1]
            for c in range(3):
                box[node, c] = min(box[a, c], box[b, c])
                box[node, 3 + c] = max(box[a, 3 + c], box[b, 3 + c])


@inlined
def corners(box, i):
    """Box i, to keep at hand."""
    return box[i, 0], box[i, 1], box[i, 2], box[i, 3], box[i, 4], box[i, 5]


@inlined
def missed(box, last, i, c, d):
    """Whether box i is apart from one of corners c and d, on the same side at both ends of the motion. No branches.

    last : None where nothing moves; d is not looked at then
    """
    if last is None:
        return (
            (box[i, 0] > c[3])
            | (box[i, 3] < c[0])
            | (box[i, 1] > c[4])
            | (box[i, 4] < c[1])
            | (box[i, 2] > c[5])
            | (box[i, 5] < c[2])
        )
    return (
        ((box[i, 0] > c[3]) & (last[i, 0] > d[3]))
        | ((box[i, 3] < c[0]) & (last[i, 3] < d[0]))
        | ((box[i, 1] > c[4]) & (last[i, 1] > d[4]))
        | ((box[i, 4] < c[1]) & (last[i, 4] < d[1]))
        | ((box[i, 2] > c[5]) & (last[i, 2] > d[5]))
        | ((box[i, 5] < c[2]) & (last[i, 5] < d[2]))
    )


@kernel
def touching_pairs(box, last, face_box, face_last, start, stop, skip, leaves, begin, end, out):
    """The pairs of triangles whose boxes are not `missed`: one in leaves begin to end - 1, the other there or later.

    Triangles are given by their place in the tree's order. out : (room, 2) int32, reused; returns it, or a larger
    one, and the number of pairs. Over all leaves each pair comes once.
    """
    n = 0
    nodes = skip.shape[0]
    for at in range(begin, end):
        leaf = leaves[at]
        c = corners(box, leaf)
        d = c if last is None else corners(last, leaf)
        node = leaf
        while node < nodes:
            if missed(box, last, node, c, d):
                node = skip[node]
                continue
            node += 1
            if skip[node - 1] != node:
                continue
            if n + LEAF * LEAF >= out.shape[0]:
                more = np.empty((2 * out.shape[0] + LEAF * LEAF, 2), np.int32)
                more[:n] = out[:n]
                out = more
            for p in range(start[leaf], stop[leaf]):
                cp = corners(face_box, p)
                dp = cp if face_last is None else corners(face_last, p)
                for q in range(max(start[node - 1], p + 1), stop[node - 1]):
                    out[n, 0] = p  # kept only if n is counted up: no branch that could be guessed wrongly
                    out[n, 1] = q
                    n += not missed(face_box, face_last, q, cp, dp)
    return out, n
