"""Which faces may come near each other in a step: found once, for whatever is asked of the step's motion.

The faces are searched for on the way to where everything is expected, with a margin. What is asked later, about the way
to where it really goes and for less than the margin, is answered from the same pairs: a vertex that is off by half the
difference at most changes no distance, along any direction, by more than the difference. Only for faces with vertices
that strayed farther is the tree searched again; where these are many, for all faces, and the pairs are new.
"""

from __future__ import annotations

import numpy as np

from unsnarl.detect.bvh import LEAF, corners, missed, touching_pairs
from unsnarl.detect.features import Surfaces, faces_apart, largest_face
from unsnarl.jit import in_threads, kernel, thread_count

MANY = 0.3  # share of the faces: where more strayed, all are searched for again
BLOCK = 32  # leaves, or faces


class Nearby:
    """The pairs of faces that may come near each other in a step; what is asked for with more distance should come
    first, and is what the rest is answered from."""

    def __init__(self, on: Surfaces):
        self.on = on
        self.x0 = self.x1 = None  # the motion of which the pairs are known
        self.known = np.zeros((0, 2), np.int32)
        self.within = 0.0  # [m] how near these may come

    def pairs(self, x0: np.ndarray, x1: np.ndarray, least: float) -> np.ndarray:
        """(k, 2) int32: at least all pairs of faces, but for two of bodies, with features that come within `least` [m]

        while all vertices move in straight lines from x0 to x1 (n, 3). Features that share a vertex do not count.
        """
        room = 0.5 * (self.within - least) * (1.0 - 1e-6)
        if self.x0 is x0 and room > 0.0:
            strayed, many = _strayed(self.x1, x1, room, self.on.mesh.faces)
            if many <= MANY * len(strayed):
                left = _still_near(self.on, x0, x1, least, strayed, self.known)
                return np.concatenate([left, search(self.on, x0, x1, least, strayed)]) if many else left
            least = self.within
        self.within, self.x0, self.x1, self.known = least, x0, x1, search(self.on, x0, x1, least)
        return self.known


def _still_near(on: Surfaces, x0, x1, least: float, strayed: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Those of the pairs of which it is not certain either for this motion, without those that have strayed."""
    faces = on.mesh.faces
    size = 4.0 * (largest_face(x0, x1, faces) + least)
    parts = 1 if len(pairs) < 2000 else 2 * thread_count()

    def part(k):
        some = pairs[len(pairs) * k // parts : len(pairs) * (k + 1) // parts]
        return some[_which_are_near(x0, x1, least, size, faces, on.ids, strayed, some)]

    return np.concatenate(in_threads(part, parts))


def search(on: Surfaces, x0: np.ndarray, x1: np.ndarray, least: float, wanted: np.ndarray | None = None) -> np.ndarray:
    """(k, 2) int32: the pairs of faces of which it is not certain that they keep farther apart than `least` [m].

    wanted : (m,) bool: only pairs in which one of these faces is
    """
    mesh = on.mesh
    bvh = on.bvh.refit_moving(x0, x1, mesh.faces, 0.5 * least * (1 + 1e-9))
    size = 4.0 * (largest_face(x0, x1, mesh.faces) + least)
    partly = wanted is not None
    wanted = wanted if partly else np.ones(len(mesh.faces), np.bool_)
    parts = 1 if wanted.sum() < 500 else 2 * thread_count()

    def part(k):
        return _search(
            x0, x1, least, size, mesh.faces, on.ids, on.cloth, bvh.order, bvh.box, bvh.last, bvh.face_box,
            bvh.face_last, bvh.start, bvh.stop, bvh.skip, bvh.leaves, bvh.active, partly, wanted, k, parts,
        )  # fmt: skip

    return np.concatenate(in_threads(part, parts))


def by_parts(function, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a function (pairs) -> (rows (k, 5) int32, figures (k, c)) finds among these, in ascending order of rows."""
    parts = 1 if len(pairs) < 500 else 4 * thread_count()
    found = in_threads(lambda k: function(pairs[len(pairs) * k // parts : len(pairs) * (k + 1) // parts]), parts)
    rows, figures = (np.concatenate(some) for some in zip(*found))
    order = np.lexsort(rows.T[::-1])
    return rows[order], figures[order]


@kernel
def _strayed(expected, x, room, faces):
    """(m,) bool, faces with a vertex farther than `room` from where it was expected; and how many they are."""
    off = np.empty(x.shape[0], np.bool_)
    for v in range(x.shape[0]):
        square = 0.0
        for c in range(3):
            square += (x[v, c] - expected[v, c]) ** 2
        off[v] = not square <= room * room
    out = np.empty(faces.shape[0], np.bool_)
    many = 0
    for f in range(faces.shape[0]):
        out[f] = off[faces[f, 0]] or off[faces[f, 1]] or off[faces[f, 2]]
        many += out[f]
    return out, many


@kernel
def _which_are_near(x0, x1, least, size, faces, ids, strayed, pairs):
    out = np.empty(pairs.shape[0], np.bool_)
    for i in range(pairs.shape[0]):
        f, g = pairs[i, 0], pairs[i, 1]
        out[i] = not (strayed[f] or strayed[g] or faces_apart(x0, x1, True, faces, ids, f, g, least, size))
    return out


@kernel
def _search(
    x0, x1, least, size, faces, ids, cloth, order, box, last, face_box, face_last, start, stop, skip, leaves, active,
    partly, wanted, part, parts,
):  # fmt: skip
    pairs = np.empty((1024, 2), np.int32)
    out = np.empty((256, 2), np.int32)
    n = 0
    end = order.shape[0] if partly else active
    for first in range(part * BLOCK, end, parts * BLOCK):
        to = min(first + BLOCK, end)
        if partly:
            pairs, count = _pairs_with(
                box, last, face_box, face_last, start, stop, skip, order, wanted, first, to, pairs
            )
        else:
            pairs, count = touching_pairs(box, last, face_box, face_last, start, stop, skip, leaves, first, to, pairs)
        if n + count > out.shape[0]:
            more = np.empty((2 * out.shape[0] + count, 2), np.int32)
            more[:n] = out[:n]
            out = more
        for i in range(count):
            f, g = order[pairs[i, 0]], order[pairs[i, 1]]
            if faces[f, 0] >= cloth and faces[g, 0] >= cloth:
                continue
            f, g = min(f, g), max(f, g)  # the same answer, however the pair was met
            if not faces_apart(x0, x1, True, faces, ids, f, g, least, size):
                out[n, 0], out[n, 1] = f, g
                n += 1
    return out[:n].copy()


@kernel
def _pairs_with(box, last, face_box, face_last, start, stop, skip, order, wanted, begin, end, out):
    """As `bvh.touching_pairs`, but only pairs in which a face is wanted; those found from the faces begin to end - 1.

    wanted : (m,) bool, by face. Triangles are given by their place in the tree's order; each pair comes once over all.
    """
    n = 0
    nodes = skip.shape[0]
    for p in range(begin, end):
        if not wanted[order[p]]:
            continue
        c, d = corners(face_box, p), corners(face_last, p)
        node = 0
        while node < nodes:
            if missed(box, last, node, c, d):
                node = skip[node]
                continue
            node += 1
            if skip[node - 1] != node:
                continue
            if n + LEAF >= out.shape[0]:
                more = np.empty((2 * out.shape[0] + LEAF, 2), np.int32)
                more[:n] = out[:n]
                out = more
            for q in range(start[node - 1], stop[node - 1]):
                if q == p or (q < p and wanted[order[q]]):
                    continue
                if not missed(face_box, face_last, q, c, d):
                    out[n, 0], out[n, 1] = p, q
                    n += 1
    return out, n
