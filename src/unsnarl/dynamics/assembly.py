"""Forces and the stiffness matrix of all elements, gathered vertex by vertex into 3x3 block-CSR.

Two shapes of elements cover everything here:

- **simplices** (springs, triangles, tetrahedra): F = sum_i x_i B_i^T is linear in the positions, an energy is a
  function of F alone, and with H = d2E/dF2 (3d x 3d) the block between corners a and b is sum_pq B_ap B_bq H_pq;
- **hinges**: one angle of four points, whose Hessian is taken as k g g^T (see `energies.bend`).

First each element's gradient and H are worked out, then every vertex gathers its row from the elements around it, in
ascending order. No two threads write to the same place, so the sums are the same bit for bit on any number of threads.
The pattern (which blocks there are, and where each element adds to them) is built once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import prange

from unsnarl.jit import inlined, ints, kernel, parallel


@dataclass(frozen=True, eq=False)
class Incidence:
    """Where elements (e, k) add to: for vertex i the entries start[i] : start[i + 1].

    start  : (n + 1,) int32
    entry  : (e k,) int32, element * k + corner, ascending for each vertex
    block  : (e k, k) int32, the block of row i that corner b of the element belongs to
    """

    start: np.ndarray
    entry: np.ndarray
    block: np.ndarray


@dataclass(frozen=True, eq=False)
class Pattern:
    """Block-CSR over n vertices: row i has the blocks start[i] : start[i + 1], in columns `column`, ascending.

    start, column : (n + 1,), (b,) int32
    diagonal      : (n,) int32, the block of each vertex with itself
    incidence     : one for each array of elements
    """

    start: np.ndarray
    column: np.ndarray
    diagonal: np.ndarray
    incidence: tuple[Incidence, ...]


def build_pattern(vertices: int, *elements: np.ndarray) -> Pattern:
    """The pattern of `elements`, each (e, k) int32 corners, over `vertices` vertices."""
    keys = [np.arange(vertices, dtype=np.int64) * (vertices + 1)]  # the diagonal: row * vertices + column
    for corners in elements:
        wide = corners.astype(np.int64)
        keys.append((wide[:, :, None] * vertices + wide[:, None, :]).ravel())
    key = np.unique(np.concatenate(keys))
    row, column = key // vertices, key % vertices
    start = np.searchsorted(row, np.arange(vertices + 1))
    incidence = []
    for corners in elements:
        k = corners.shape[1]
        entry = np.argsort(corners.ravel(), kind="stable")
        of = corners.ravel()[entry]
        wide = of.astype(np.int64)[:, None] * vertices + corners[entry // k]
        incidence.append(
            Incidence(ints(np.searchsorted(of, np.arange(vertices + 1))), ints(entry), ints(np.searchsorted(key, wide)))
        )
    return Pattern(ints(start), ints(column), ints(np.searchsorted(key, keys[0])), tuple(incidence))


def gather(pattern: Pattern, simplices, hinges, values: np.ndarray, force: np.ndarray) -> None:
    """Sum the elements into `values` (b, 3, 3) and `force` (n, 3), replacing what was there.

    simplices : (B (e, k, d), gradient (e, 3 d), hessian (e, 3 d, 3 d)), the energy's derivatives by F, times volume
    hinges    : (gradient (h, 4, 3) of the angle, moment (h,), stiffness (h,)): force -moment g, block stiffness g g^T
    """
    first, second = pattern.incidence
    _gather(
        pattern.start, first.start, first.entry, first.block, *simplices, second.start, second.entry, second.block,
        *hinges, values, force,
    )  # fmt: skip


@inlined
def _add(block, k00, k01, k02, k10, k11, k12, k20, k21, k22):
    block[0, 0] += k00
    block[0, 1] += k01
    block[0, 2] += k02
    block[1, 0] += k10
    block[1, 1] += k11
    block[1, 2] += k12
    block[2, 0] += k20
    block[2, 1] += k21
    block[2, 2] += k22


@parallel
def _gather(
    row_start, f_start, f_entry, f_block, shape, gradient, hessian, h_start, h_entry, h_block, angle, moment, stiffness,
    values, force,
):  # fmt: skip
    k, d = shape.shape[1], shape.shape[2]
    for i in prange(row_start.shape[0] - 1):
        values[row_start[i] : row_start[i + 1]] = 0.0
        fx = fy = fz = 0.0
        for at in range(f_start[i], f_start[i + 1]):
            e, a = f_entry[at] // k, f_entry[at] % k
            for p in range(d):
                fx -= shape[e, a, p] * gradient[e, 3 * p]
                fy -= shape[e, a, p] * gradient[e, 3 * p + 1]
                fz -= shape[e, a, p] * gradient[e, 3 * p + 2]
            for b in range(k):
                k00 = k01 = k02 = k10 = k11 = k12 = k20 = k21 = k22 = 0.0
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
                _add(values[f_block[at, b]], k00, k01, k02, k10, k11, k12, k20, k21, k22)
        for at in range(h_start[i], h_start[i + 1]):
            e, a = h_entry[at] // 4, h_entry[at] % 4
            gx, gy, gz = angle[e, a, 0], angle[e, a, 1], angle[e, a, 2]
            fx -= moment[e] * gx
            fy -= moment[e] * gy
            fz -= moment[e] * gz
            kx, ky, kz = stiffness[e] * gx, stiffness[e] * gy, stiffness[e] * gz
            for b in range(4):
                g0, g1, g2 = angle[e, b, 0], angle[e, b, 1], angle[e, b, 2]
                _add(
                    values[h_block[at, b]], kx * g0, kx * g1, kx * g2, ky * g0, ky * g1, ky * g2, kz * g0, kz * g1,
                    kz * g2,
                )  # fmt: skip
        force[i, 0], force[i, 1], force[i, 2] = fx, fy, fz


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
