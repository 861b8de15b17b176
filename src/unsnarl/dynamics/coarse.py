"""A coarse level under the mesh, for the solver: what is slow to settle from neighbour to neighbour settles at once.

About a hundred vertices, spread evenly over the cloth, are nodes. Every vertex follows its nearest nodes with smooth
weights, P (n, nodes), which depend on the rest shape alone. The preconditioner becomes

    D^-1 + S P (P^T S A S P)^-1 P^T S

[additive Schwarz with a coarse space: Dryja and Widlund 1987], whose inner inverse is a small dense matrix, made once a
frame: a preconditioner may be a little out of date. Iterations then grow less as meshes get finer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.dynamics.assembly import Pattern
from unsnarl.dynamics.pcg import Constraints
from unsnarl.jit import in_threads, inlined, ints, kernel
from unsnarl.mesh import TriMesh

NEAREST = 4  # nodes that a vertex follows
LEAST = 7_500  # vertices, below which the coarse level does not pay
PARTS = 4  # of the rows, for threads


@dataclass(frozen=True, eq=False)
class Coarse:
    """P, by rows and by columns; without nodes where it does not pay.

    node, weight : (n, NEAREST) the nodes that each vertex follows, and how much
    start, vertex, share : the vertices vertex[start[c] : start[c + 1]] follow node c, each by its share
    """

    node: np.ndarray
    weight: np.ndarray
    start: np.ndarray
    vertex: np.ndarray
    share: np.ndarray

    @property
    def nodes(self) -> int:
        return len(self.start) - 1


def build_coarse(mesh: TriMesh, lengths: np.ndarray, wanted: int | None = None) -> Coarse:
    """lengths : (e,) of the mesh's edges at rest [m]; wanted : nodes, about; by default what pays."""
    n = len(mesh.x)
    if wanted is None:
        wanted = 0 if n < LEAST else int(np.clip(n / 160, 60, 160))
    if wanted == 0:
        none = np.zeros((0, NEAREST))
        return Coarse(ints(none), none, np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0))
    node, distance = _nearest_nodes(mesh, lengths, wanted)
    reach = distance[:, NEAREST]
    weight = np.where(
        reach[:, None] > 0, np.maximum(0.0, 1.0 - distance[:, :NEAREST] / (1.05 * reach[:, None])) ** 2, 0
    )
    lonely = weight.sum(axis=1) == 0
    weight[lonely, 0] = 1.0
    weight /= weight.sum(axis=1)[:, None]
    node = ints(node[:, :NEAREST])
    entry = np.argsort(node.ravel(), kind="stable")
    start = np.searchsorted(node.ravel()[entry], np.arange(node.max() + 2))
    return Coarse(node, np.ascontiguousarray(weight), ints(start), ints(entry // NEAREST), weight.ravel()[entry])


def _nearest_nodes(mesh: TriMesh, lengths, wanted: int):
    """(n, NEAREST + 1) nodes by distance along the edges, and the distances; missing ones are as far as the search."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    n = len(mesh.x)
    (i, j), two = mesh.edges.T, np.concatenate([lengths, lengths])
    graph = csr_array((two, (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n))
    area = 0.5 * np.abs(np.linalg.det(mesh.rest)).sum()
    apart = 1.1 * np.sqrt(area / wanted)
    far = 3.0 * apart
    node, distance = np.zeros((n, NEAREST + 1), np.int64), np.full((n, NEAREST + 1), far)
    nodes = 0
    for v in range(n):
        if distance[v, 0] <= apart:
            continue
        d = dijkstra(graph, indices=v, limit=far)
        reached = np.flatnonzero(d < distance[:, -1])
        rows, ids = distance[reached], node[reached]
        rows[:, -1], ids[:, -1] = d[reached], nodes
        order = np.argsort(rows, axis=1, kind="stable")
        distance[reached], node[reached] = np.take_along_axis(rows, order, 1), np.take_along_axis(ids, order, 1)
        nodes += 1
    return node, distance


def coarse_inverse(coarse: Coarse, pattern: Pattern, diagonal, values, constraints: Constraints) -> np.ndarray:
    """(P^T S A S P)^-1, (3 nodes, 3 nodes), without the couplings."""
    if coarse.nodes == 0:
        return np.zeros((0, 0))
    from scipy.linalg.lapack import dpotrf, dpotri
    from threadpoolctl import threadpool_limits

    def part(k):
        return _project(
            coarse.node, coarse.weight, coarse.nodes, pattern.start, pattern.column, pattern.diagonal, diagonal, values,
            constraints.kept, constraints.free, k, PARTS,
        )  # fmt: skip

    small = np.sum(in_threads(part, PARTS), axis=0)  # of the same parts in the same order on any number of threads
    small = 0.5 * (small + small.T)
    size = np.einsum("ii->i", small)
    size += 1e-9 * size.mean()  # a node all of whose vertices are held
    with threadpool_limits(1):  # the same bits on any number of threads
        half, failed = dpotrf(small, lower=1)
        if failed:  # as good as singular: the diagonal has to do alone
            return np.zeros_like(small)
        half, _ = dpotri(half, lower=1)
    half = np.tril(half)
    return half + np.tril(half, -1).T


@inlined
def _times(a, b, out):
    """out = a b, of (3, 3) each; out is neither a nor b."""
    for r in range(3):
        for c in range(3):
            out[r, c] = a[r, 0] * b[0, c] + a[r, 1] * b[1, c] + a[r, 2] * b[2, c]


@kernel
def _project(node, weight, nodes, start, column, diagonal_block, diagonal, values, kept, free, part, parts):
    """P^T S A S P of one part of A's rows."""
    out = np.zeros((3 * nodes, 3 * nodes))
    most = 64
    seen = np.empty(most, np.int32)
    row = np.empty((most, 3, 3))
    at = np.full(nodes, -1, np.int32)
    a, filtered = np.empty((3, 3)), np.empty((3, 3))
    n = start.shape[0] - 1
    for i in range(n * part // parts, n * (part + 1) // parts):
        count = 0
        for k in range(start[i], start[i + 1]):
            j = column[k]
            own = k == diagonal_block[i]
            for r in range(3):
                for s in range(3):
                    a[r, s] = values[k, s, r] + (diagonal[i, r, s] if own else 0.0)
            if kept[j] > 0:
                _times(a, free[j], filtered)
                a, filtered = filtered, a
            for q in range(NEAREST):
                w = weight[j, q]
                if w == 0.0:
                    continue
                c = node[j, q]
                if at[c] < 0:
                    if count == most:
                        continue  # far more nodes around than there should be: the preconditioner is a bit worse
                    at[c] = count
                    seen[count] = c
                    row[count] = 0.0
                    count += 1
                to = at[c]
                for r in range(3):
                    for s in range(3):
                        row[to, r, s] += w * a[r, s]
        for m in range(count):
            c = seen[m]
            at[c] = -1
            if kept[i] > 0:
                _times(free[i], row[m], filtered)
                row[m] = filtered
            for q in range(NEAREST):
                w = weight[i, q]
                b = node[i, q]
                for r in range(3):
                    for s in range(3):
                        out[3 * b + r, 3 * c + s] += w * row[m, r, s]
    return out
