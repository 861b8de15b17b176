"""Forces and the stiffness matrix of all elements, gathered into 3x3 block-CSR.

Two shapes of elements cover everything here:

- **simplices** (springs, triangles, tetrahedra): F = sum_i x_i B_i^T is linear in the positions, an energy is a
  function of F alone, and with H = d2E/dF2 (3d x 3d) the block between corners a and b is sum_pq B_ap B_bq H_pq;
- **hinges**: one angle of four points, whose Hessian is taken as k g g^T (see `energies.bend`).

First each element's gradient and H are worked out, then every vertex gathers its force, and every block on and above
the diagonal its sum, from the elements around it, in ascending order; below the diagonal are the same blocks,
transposed. No two threads write to the same place, so the sums are the same bit for bit on any number of threads. The
pattern (which blocks there are, and which elements add to each) is built once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import prange

from unsnarl.jit import inlined, ints, kernel, parallel

CHUNK = 64  # blocks


@dataclass(frozen=True, eq=False)
class Incidence:
    """Where elements (e, k) add to: the entries start[i] : start[i + 1] to place i.

    start   : (places + 1,) int32
    element : (entries,) int32, ascending for each place
    corner  : (entries, 1 or 2) int32, which of the element's corners is the vertex, or the block's row and column
    """

    start: np.ndarray
    element: np.ndarray
    corner: np.ndarray


@dataclass(frozen=True, eq=False)
class Pattern:
    """Block-CSR over n vertices: row i has the blocks start[i] : start[i + 1], in columns `column`, ascending.

    start, column : (n + 1,), (b,) int32
    diagonal      : (n,) int32, the block of each vertex with itself
    upper, lower  : (u,) int32, the blocks on and above the diagonal by row and column, and what each is when transposed
    of_vertex, of_upper : incidences with vertices and with upper blocks, one for each array of elements
    """

    start: np.ndarray
    column: np.ndarray
    diagonal: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    of_vertex: tuple[Incidence, ...]
    of_upper: tuple[Incidence, ...]


def build_pattern(vertices: int, *elements: np.ndarray) -> Pattern:
    """The pattern of `elements`, each (e, k) int32 corners, over `vertices` vertices."""
    keys = [np.arange(vertices, dtype=np.int64) * (vertices + 1)]  # the diagonal: row * vertices + column
    for corners in elements:
        wide = corners.astype(np.int64)
        keys.append((wide[:, :, None] * vertices + wide[:, None, :]).ravel())
    key = np.unique(np.concatenate(keys))
    row, column = key // vertices, key % vertices
    start = np.searchsorted(row, np.arange(vertices + 1))
    upper = np.flatnonzero(row <= column)
    of_vertex, of_upper = [], []
    for corners in elements:
        k, wide = corners.shape[1], corners.astype(np.int64)
        of_vertex.append(_incidence(np.arange(vertices), wide, np.arange(k)[:, None]))
        pairs = np.stack(np.divmod(np.arange(k * k), k), axis=1)
        i, j = wide[:, pairs[:, 0]], wide[:, pairs[:, 1]]
        of_upper.append(_incidence(key[upper], np.where(i <= j, i * vertices + j, -1), pairs))
    lower = np.searchsorted(key, column[upper] * vertices + row[upper])
    parts = start, column, np.searchsorted(key, keys[0]), upper, lower
    return Pattern(*map(ints, parts), tuple(of_vertex), tuple(of_upper))


def _incidence(places: np.ndarray, keys: np.ndarray, corners: np.ndarray) -> Incidence:
    """places : their keys, ascending; keys (e, c) of what element e adds to for corners[c], -1 for nothing."""
    order = np.argsort(keys.ravel(), kind="stable")
    sorted_keys = keys.ravel()[order]
    start = np.append(np.searchsorted(sorted_keys, places), keys.size)
    order = order[start[0] :]
    return Incidence(ints(start - start[0]), ints(order // len(corners)), ints(corners[order % len(corners)]))


def gather(pattern: Pattern, simplices, hinges, values: np.ndarray, force: np.ndarray) -> None:
    """Sum the elements into `values` (b, 3, 3), blocks as columns, and `force` (n, 3), replacing what was there.

    simplices : (B (e, k, d), gradient (e, 3 d), hessian (e, 3 d, 3 d)), the energy's derivatives by F, times volume
    hinges    : (gradient (h, 4, 3) of the angle, moment (h,), stiffness (h,)): force -moment g, block stiffness g g^T
    """
    shape, gradient, hessian = simplices
    angle, moment, stiffness = hinges
    axes = (0,) * shape.shape[2]  # as a tuple, so that kernels know how many there are when they are compiled
    first, second = pattern.of_upper
    _gather_blocks(
        pattern.upper, pattern.lower, first.start, first.element, first.corner, shape, hessian, second.start,
        second.element, second.corner, angle, stiffness, axes, values,
    )  # fmt: skip
    first, second = pattern.of_vertex
    _gather_forces(
        first.start, first.element, first.corner, shape, gradient, second.start, second.element, second.corner, angle,
        moment, axes, force,
    )  # fmt: skip


@parallel
def _gather_blocks(
    upper,
    lower,
    s_start,
    s_element,
    s_corner,
    shape,
    hessian,
    h_start,
    h_element,
    h_corner,
    angle,
    stiffness,
    axes,
    values,
):
    d, count = len(axes), upper.shape[0]
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for i in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            k00 = k01 = k02 = k10 = k11 = k12 = k20 = k21 = k22 = 0.0
            for at in range(s_start[i], s_start[i + 1]):
                e, a, b = s_element[at], s_corner[at, 0], s_corner[at, 1]
                for p in range(d):
                    for q in range(d):
                        w = shape[e, a, p] * shape[e, b, q]
                        r, c = 3 * p, 3 * q
                        k00 += w * hessian[e, r, c]
                        k01 += w * hessian[e, r, c + 1]
                        k02 += w * hessian[e, r, c + 2]
                        k10 += w * hessian[e, r + 1, c]
                        k11 += w * hessian[e, r + 1, c + 1]
                        k12 += w * hessian[e, r + 1, c + 2]
                        k20 += w * hessian[e, r + 2, c]
                        k21 += w * hessian[e, r + 2, c + 1]
                        k22 += w * hessian[e, r + 2, c + 2]
            for at in range(h_start[i], h_start[i + 1]):
                e, a, b = h_element[at], h_corner[at, 0], h_corner[at, 1]
                k = stiffness[e]
                kx, ky, kz = k * angle[e, a, 0], k * angle[e, a, 1], k * angle[e, a, 2]
                x, y, z = angle[e, b, 0], angle[e, b, 1], angle[e, b, 2]
                k00 += kx * x
                k01 += kx * y
                k02 += kx * z
                k10 += ky * x
                k11 += ky * y
                k12 += ky * z
                k20 += kz * x
                k21 += kz * y
                k22 += kz * z
            _put(values[lower[i]], k00, k01, k02, k10, k11, k12, k20, k21, k22)  # transposed, as columns: as it is
            _put(values[upper[i]], k00, k10, k20, k01, k11, k21, k02, k12, k22)


@inlined
def _put(block, k00, k01, k02, k10, k11, k12, k20, k21, k22):
    block[0, 0], block[0, 1], block[0, 2] = k00, k01, k02
    block[1, 0], block[1, 1], block[1, 2] = k10, k11, k12
    block[2, 0], block[2, 1], block[2, 2] = k20, k21, k22


@parallel
def _gather_forces(
    s_start, s_element, s_corner, shape, gradient, h_start, h_element, h_corner, angle, moment, axes, force
):
    d = len(axes)
    for i in prange(force.shape[0]):
        x = y = z = 0.0
        for at in range(s_start[i], s_start[i + 1]):
            e, a = s_element[at], s_corner[at, 0]
            for p in range(d):
                x -= shape[e, a, p] * gradient[e, 3 * p]
                y -= shape[e, a, p] * gradient[e, 3 * p + 1]
                z -= shape[e, a, p] * gradient[e, 3 * p + 2]
        for at in range(h_start[i], h_start[i + 1]):
            e, a = h_element[at], h_corner[at, 0]
            x -= moment[e] * angle[e, a, 0]
            y -= moment[e] * angle[e, a, 1]
            z -= moment[e] * angle[e, a, 2]
        force[i, 0], force[i, 1], force[i, 2] = x, y, z


@kernel
def shape_gradients(rest):
    """B (m, 3, 2) of triangles with rest shapes (m, 2, 2): F = sum_i x_i B_i^T; and their areas (m,)."""
    m = rest.shape[0]
    shape = np.empty((m, 3, 2))
    area = np.empty(m)
    for f in range(m):
        a, b, c, d = rest[f, 0, 0], rest[f, 0, 1], rest[f, 1, 0], rest[f, 1, 1]
        det = a * d - b * c
        area[f] = 0.5 * abs(det)
        shape[f, 1, 0], shape[f, 1, 1] = d / det, -b / det
        shape[f, 2, 0], shape[f, 2, 1] = -c / det, a / det
        for p in range(2):
            shape[f, 0, p] = -shape[f, 1, p] - shape[f, 2, p]
    return shape, area
