"""A bounding-volume hierarchy over triangles: built once, refitted whenever they move.

The triangles are sorted along a Morton curve through their centres; a binary tree splits that order where the highest
bit of the code changes. Nodes stand in depth-first order, so a node's first child is the next node, and `skip` names
the node that follows its whole subtree. A walk needs no stack:

    node = skip[node] if the box of node is missed else node + 1

All leaves after leaf i are met by walking on from i + 1, so walking from every leaf meets each pair of leaves once.

Boxes are float32 in a frame around the centre of the triangles, widened outwards by more than the rounding: they may be
a little too large, never too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.jit import floats, in_threads, ints, kernel, thread_count

LEAF = 4  # triangles in a leaf, at most
MANY = 4000  # triangles, from which on threads pay


@dataclass(frozen=True, eq=False)
class Bvh:
    """A tree over m triangles.

    order    : (m,) int32, the triangles in tree order
    box      : (nodes, 6) float32, low and high corner of each node
    face_box : (m, 6) float32, of each triangle, in tree order
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
    start: np.ndarray
    stop: np.ndarray
    skip: np.ndarray
    leaves: np.ndarray
    active: int
    frame: np.ndarray

    def refit(self, x: np.ndarray, faces: np.ndarray, x1: np.ndarray | None = None, margin: float = 0.0) -> None:
        """Fit the boxes to new positions x (n, 3); the tree stays, in place.

        x1     : (n, 3) positions to which the vertices move from x: the boxes hold the whole way
        margin : [m] by which they are wider on all sides
        """
        self.frame[:] = _boxes(x, faces, self.order, x1, margin, self.face_box)
        _fit(self.face_box, self.start, self.stop, self.skip, self.box)


def build_bvh(x: np.ndarray, faces: np.ndarray, passive: np.ndarray | None = None) -> Bvh:
    """The tree over faces (m, 3) at positions x (n, 3).

    passive : (m,) bool, faces that are never tested against each other (of bodies); they come last in the order.
    """
    boxes = np.empty((len(faces), 6), np.float32)
    frame = _boxes(x, faces, ints(np.arange(len(faces))), None, 0.0, boxes)
    if passive is None:
        passive = np.zeros(len(faces), dtype=np.bool_)
    order, code = _morton_order(boxes, passive)
    start, stop, skip, leaves = _tree(code)
    box, face_box = np.empty((len(start), 6), np.float32), boxes[order]
    _fit(face_box, start, stop, skip, box)
    still = int(passive.sum())
    active = int(np.searchsorted(start[leaves], len(faces) - still))
    return Bvh(order, box, face_box, start, stop, skip, leaves, active, frame)


def _boxes(x, faces, order, x1, margin: float, out: np.ndarray) -> np.ndarray:
    """Boxes around the faces in this order, into out (m, 6) float32; returns the frame of their coordinates.

    x1, margin : as in `Bvh.refit`
    """
    x, moving = floats(x), x1 is not None
    x1, m = floats(x1) if moving else x, len(faces)
    frame = _frame(x, x1, moving, float(margin))
    parts = 1 if m < MANY else thread_count()

    def part(k):
        some = slice(m * k // parts, m * (k + 1) // parts)
        _face_boxes(x, x1, faces, order[some], moving, float(margin), frame, out[some])

    in_threads(part, parts)
    return frame


@kernel
def _frame(x, x1, moving, margin):
    """(4,) centre and scale of all positions x, and x1 if moving, with the margin around them."""
    low = np.full(3, np.inf)
    high = np.full(3, -np.inf)
    for v in range(x.shape[0]):
        for c in range(3):
            low[c] = min(low[c], x[v, c])
            high[c] = max(high[c], x[v, c])
    if moving:
        for v in range(x.shape[0]):
            for c in range(3):
                low[c] = min(low[c], x1[v, c])
                high[c] = max(high[c], x1[v, c])
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
def _face_boxes(x, x1, faces, order, moving, margin, frame, out):
    """Boxes around triangles on their way from x to x1, in the frame's coordinates; see the module's text."""
    scale = frame[3]
    for at in range(order.shape[0]):
        f = order[at]
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        for c in range(3):
            lo = min(x[i, c], x[j, c], x[k, c])
            hi = max(x[i, c], x[j, c], x[k, c])
            if moving:
                lo = min(lo, x1[i, c], x1[j, c], x1[k, c])
                hi = max(hi, x1[i, c], x1[j, c], x1[k, c])
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


@kernel
def touching_pairs(box, face_box, start, stop, skip, leaves, first, last, out):
    """The pairs of triangles with touching boxes, one in the leaves first to last - 1, the other there or further on.

    Triangles are given by their place in the tree's order. out : (room, 2) int32, reused; returns it, or a larger
    one, and the number of pairs. Over all leaves each pair comes once.
    """
    n = 0
    nodes = skip.shape[0]
    for at in range(first, last):
        leaf = leaves[at]
        x0, y0, z0 = box[leaf, 0], box[leaf, 1], box[leaf, 2]
        x1, y1, z1 = box[leaf, 3], box[leaf, 4], box[leaf, 5]
        node = leaf
        while node < nodes:
            if (
                box[node, 0] > x1
                or box[node, 3] < x0
                or box[node, 1] > y1
                or box[node, 4] < y0
                or box[node, 2] > z1
                or box[node, 5] < z0
            ):
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
                for q in range(max(start[node - 1], p + 1), stop[node - 1]):
                    out[n, 0] = p  # kept only if n is counted up: no branch that could be guessed wrongly
                    out[n, 1] = q
                    n += (
                        (face_box[q, 0] <= face_box[p, 3])
                        & (face_box[q, 3] >= face_box[p, 0])
                        & (face_box[q, 1] <= face_box[p, 4])
                        & (face_box[q, 4] >= face_box[p, 1])
                        & (face_box[q, 2] <= face_box[p, 5])
                        & (face_box[q, 5] >= face_box[p, 2])
                    )
    return out, n
