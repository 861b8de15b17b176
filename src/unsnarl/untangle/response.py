"""What a method answers to a tangle: which points are drawn where, and what may pass through what meanwhile.

A pull acts between two points of the cloth, each on a vertex, an edge or a face, along one line: momentum and angular
momentum stay as they are. Parts that have to cross back through each other are spared from repulsion and from
collision handling, those and no others. [E §5.2]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unsnarl.detect.sweep import Collisions
from unsnarl.dynamics.pcg import Couplings, couple
from unsnarl.jit import ints, kernel
from unsnarl.tangles.report import TangleReport

WIDTH = 6  # vertices of a pull, at most: of two faces


@dataclass(frozen=True, eq=False)
class Sheets:
    """For each path, the two parts of the surface that have to cross back through each other; they may be one.

    start : (2 p + 1,) int32, part k of path i is vertex[start[2 i + k] : start[2 i + k + 1]]
    vertex : (s,) int32
    one    : (p,) bool, where both parts are the first
    """

    start: np.ndarray
    vertex: np.ndarray
    one: np.ndarray
    apart = 0.0  # [m] nothing has to keep more apart than it would anyway

    def held(self, found: Collisions, x0, x1, separation: float) -> Collisions:
        """Of collisions between x0 and x1 at this separation [m], those that have to be stopped."""
        return found.only(~self.cross(found.kind, found.vertex))

    def cross(self, kind: np.ndarray, vertex: np.ndarray) -> np.ndarray:
        """(k,) bool, the pairs of features, as in `Collisions` and `Proximity`, that belong to two such parts."""
        return _cross(kind, vertex, *self._parts, self.one)

    def only(self, which: np.ndarray) -> Sheets:
        """The same of these paths (p,) bool alone; the others have no parts."""
        if which.all():
            return self
        size = np.diff(self.start) * np.repeat(which, 2)
        keep = np.repeat(np.repeat(which, 2), np.diff(self.start))
        return Sheets(ints(np.concatenate([[0], np.cumsum(size)])), self.vertex[keep], self.one)

    @cached_property
    def _parts(self) -> tuple[np.ndarray, np.ndarray]:
        """The parts that each vertex is in, up to the last that is in one: start, part."""
        return _by_vertex(self.start, self.vertex, int(self.vertex.max(initial=-1)) + 1)


@dataclass(frozen=True, eq=False)
class Several:
    """What may cross what, by any of several answers; each as `Sheets` or `RedCrossesRed`."""

    answers: list

    @property
    def apart(self) -> float:
        return max(some.apart for some in self.answers)

    def cross(self, kind: np.ndarray, vertex: np.ndarray) -> np.ndarray:
        return np.any([some.cross(kind, vertex) for some in self.answers], axis=0)

    def held(self, found: Collisions, x0, x1, separation: float) -> Collisions:
        for some in self.answers:
            found = some.held(found, x0, x1, separation)
        return found


@dataclass(frozen=True, eq=False)
class Response:
    """k pulls.

    vertex : (k, WIDTH) int32 and weight : (k, WIDTH): they act on the relative point r = sum_i weight_i x_i
    way    : (k, 3) [m], by which r is to change
    sheets : what may cross what; `m_cch.RedCrossesRed` says it by colour
    rest   : (m, 2, 2) [m], the shapes at rest that faces are to have in this step; None: their own
    """

    vertex: np.ndarray
    weight: np.ndarray
    way: np.ndarray
    sheets: Sheets
    rest: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.vertex)

    def couplings(self, v, h: float, inverse_mass: np.ndarray, cloth: int, strength: float, most: float) -> Couplings:
        """The pulls for the implicit solve: stiff springs along their lines.

        v : (n, 3) [m/s] of cloths and bodies; h : [s]; inverse_mass : (n,) [1/kg], 0 for what cannot be moved
        cloth : how many of the vertices are cloth; strength : spring constant in units of mass / h^2
        most  : [m] way in a step, at most
        """
        rows = _springs(self.vertex, self.weight, self.way, v, h, inverse_mass, cloth, float(strength), float(most))
        return couple(cloth, *rows)


def pulls(parts, sheets: Sheets) -> Response:
    """A response from (vertex (k, w), weight (k, w), way (k, 3)) of several kinds, w being WIDTH or less."""
    vertex, weight, way = [np.zeros((0, WIDTH), np.int32)], [np.zeros((0, WIDTH))], [np.zeros((0, 3))]
    for v, w, d in parts:
        missing = WIDTH - v.shape[1]
        vertex.append(np.concatenate([v, np.repeat(v[:, :1], missing, axis=1)], axis=1))
        weight.append(np.concatenate([w, np.zeros((len(w), missing))], axis=1))
        way.append(d)
    return Response(ints(np.concatenate(vertex)), np.concatenate(weight), np.concatenate(way), sheets)


def sheets_around(report: TangleReport, more: tuple[np.ndarray, np.ndarray] | None = None) -> Sheets:
    """For each path, what is inside its images, and the faces along them and around these.

    more : (image, vertex), further vertices of images 2 i + k: such as those that are drawn to
    """
    paths, faces = report.path_list, report.mesh.faces
    count = 2 * len(paths)
    image, vertex = _around(
        paths.face_start, paths.run, report.regions.start, report.regions.vertex, faces, report.mesh.topology.fan_start,
        report.mesh.topology.fan_faces,
    )  # fmt: skip
    image, vertex = [image], [vertex]
    if more is not None:
        image.append(more[0])
        vertex.append(more[1])
    one = paths.images == 1
    image, vertex = np.concatenate(image), np.concatenate(vertex)
    image = np.where(one[image // 2], image // 2 * 2, image)  # both images in the first part
    key = np.unique(image.astype(np.int64) * len(report.mesh.x) + vertex)
    image, vertex = key // len(report.mesh.x), key % len(report.mesh.x)
    return Sheets(ints(np.searchsorted(image, np.arange(count + 1))), ints(vertex), one)


@kernel
def _around(run_start, run, region_start, region, faces, fan_start, fan_faces):
    """(image, vertex), each pair once: what is inside images, the faces along them, and those around."""
    seen = np.full(fan_start.shape[0] - 1, -1, np.int32)
    image, vertex = np.empty(1024, np.int32), np.empty(1024, np.int32)
    n = 0
    for i in range(run_start.shape[0] - 1):
        begin = n
        for source in range(3):  # inside, along, around
            if source == 0:
                low, high = region_start[i], region_start[i + 1]
            elif source == 1:
                low, high = 3 * run_start[i], 3 * run_start[i + 1]
            else:
                low, high = begin, n
            for j in range(low, high):
                v = region[j] if source == 0 else (faces[run[j // 3], j % 3] if source == 1 else vertex[j])
                first, last = (fan_start[v], fan_start[v + 1]) if source == 2 else (0, 1)
                for k in range(first, last):
                    for c in range(3 if source == 2 else 1):
                        w = faces[fan_faces[k], c] if source == 2 else v
                        if seen[w] != i:
                            seen[w] = i
                            if n == image.shape[0]:
                                image = np.concatenate((image, image))
                                vertex = np.concatenate((vertex, vertex))
                            image[n], vertex[n] = i, w
                            n += 1
    return image[:n].copy(), vertex[:n].copy()


@kernel
def _by_vertex(start, vertex, n):
    """The parts that each vertex is in: start (n + 1,), part."""
    begin = np.zeros(n + 1, np.int32)
    for v in vertex:
        begin[v + 1] += 1
    for v in range(n):
        begin[v + 1] += begin[v]
    at = begin[:-1].copy()
    part = np.empty(vertex.shape[0], np.int32)
    for p in range(start.shape[0] - 1):
        for i in range(start[p], start[p + 1]):
            part[at[vertex[i]]] = p
            at[vertex[i]] += 1
    return begin, part


@kernel
def _in(begin, part, v, p):
    """Whether vertex v is in part p."""
    found = False
    if v + 1 >= begin.shape[0]:
        return found
    for i in range(begin[v], begin[v + 1]):
        found = found or part[i] == p
    return found


@kernel
def _cross(kind, vertex, begin, part, one):
    out = np.zeros(kind.shape[0], np.bool_)
    for row in range(kind.shape[0]):
        split = 1 if kind[row] == 0 else 2  # the first feature has so many vertices
        v = vertex[row, 0]
        if v + 1 >= begin.shape[0]:
            continue
        for i in range(begin[v], begin[v + 1]):
            p = part[i]
            other = p if one[p // 2] else p ^ 1
            all_in = True
            for j in range(1, 4):
                all_in = all_in and _in(begin, part, vertex[row, j], p if j < split else other)
            if all_in:
                out[row] = True
                break
    return out


@kernel
def _springs(vertex, weight, way, v, h, inverse_mass, cloth, strength, most):
    """The arrays of `couple`. Pulls that have no way to go, or nothing to move, are left out."""
    k, width = vertex.shape
    kept = 0
    some_vertex, some_weight = np.empty((k, width), np.int32), np.empty((k, width))
    block, pull = np.empty((k, 3, 3)), np.empty((k, 3))
    for i in range(k):
        length = np.sqrt(way[i] @ way[i])
        mobility = along = 0.0
        for j in range(width):
            mobility += weight[i, j] ** 2 * inverse_mass[vertex[i, j]]
            for c in range(3):
                along += weight[i, j] * v[vertex[i, j], c] * way[i, c]
        if length == 0.0 or mobility == 0.0:
            continue
        along /= length
        stiffness = strength / mobility
        for r in range(3):
            pull[kept, r] = stiffness * (min(length, most) / h - along) * way[i, r] / length
            for c in range(3):
                block[kept, r, c] = stiffness * way[i, r] * way[i, c] / (length * length)
        for j in range(width):
            body = vertex[i, j] >= cloth
            some_vertex[kept, j] = 0 if body else vertex[i, j]
            some_weight[kept, j] = 0.0 if body else weight[i, j]
        kept += 1
    return some_vertex[:kept].copy(), some_weight[:kept].copy(), block[:kept].copy(), pull[:kept].copy()
