"""Modified preconditioned conjugate gradients: a linear solve in which some directions of some particles are prescribed.

Solves S A S y = S (b - A z), dv = y + z, where S filters out the constrained directions and z holds what is prescribed
in them. [Baraff and Witkin 1998 §5; Ascher and Boxerman 2003]

A = diag(D) + W + sum_c w_c w_c^T (x) G_c: 3x3 blocks D on the diagonal (masses, drag), the block-CSR matrix W of
`assembly` (already weighted by the time step), and couplings of up to four particles each, which change from step to
step and so have no place in the pattern. The preconditioner is the inverse of the filtered diagonal blocks.

Sums over all particles are made chunk by chunk, then over the chunks in order: the same on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import prange

from unsnarl.dynamics.assembly import Pattern
from unsnarl.jit import inlined, kernel, parallel

CHUNK = 128  # particles


@dataclass(frozen=True, eq=False)
class Couplings:
    """c springs between up to four particles each: they see u = sum_i weight_i u_i.

    vertex : (c, 4) int32 (repeat one with weight 0 where there are fewer)
    weight : (c, 4)
    block  : (c, 3, 3) G, symmetric, weighted by the time step: impulse per velocity of the relative point [kg]
    pull   : (c, 3) impulse at the relative point at zero change of velocity [N s]
    start, entry : where they act: vertex i has entry[start[i] : start[i + 1]] = 4 coupling + corner
    """

    vertex: np.ndarray
    weight: np.ndarray
    block: np.ndarray
    pull: np.ndarray
    start: np.ndarray
    entry: np.ndarray


def couple(vertices: int, vertex: np.ndarray, weight: np.ndarray, block: np.ndarray, pull: np.ndarray) -> Couplings:
    start, entry = _by_vertex(vertices, vertex)
    return Couplings(vertex, weight, block, pull, start, entry)


def no_couplings(vertices: int) -> Couplings:
    none = np.zeros((0, 4))
    return couple(vertices, none.astype(np.int32), none, np.zeros((0, 3, 3)), np.zeros((0, 3)))


@dataclass(frozen=True, eq=False)
class Constraints:
    """Which directions of which particles are prescribed.

    kept   : (n,) uint8, how many directions are: 0 to 3
    free   : (n, 3, 3) the projection S onto the others; the identity where kept is 0
    change : (n, 3) z, the change of velocity in the kept directions, 0 elsewhere
    """

    kept: np.ndarray
    free: np.ndarray
    change: np.ndarray


def no_constraints(vertices: int) -> Constraints:
    return Constraints(np.zeros(vertices, np.uint8), np.tile(np.eye(3), (vertices, 1, 1)), np.zeros((vertices, 3)))


def solve(pattern: Pattern, diagonal, values, couplings: Couplings, constraints: Constraints, b, guess, tolerance, most):
    """The change of velocity dv (n, 3), the iterations it took, and the residual A dv - b (n, 3): constraint impulses.

    diagonal : (n, 3, 3) D; values : (blocks, 3, 3) W; b : (n, 3), without the couplings' pull, which is added here
    guess : (n, 3) of dv: the best multiple of it is what the iteration starts from, so a bad one does no harm
    tolerance : stop when the residual, measured by the preconditioner, is this share of that at dv = z
    most : iterations at most
    """
    n = len(b)
    dv, residual = guess.copy(), np.empty((n, 3))
    iterations = _solve(
        pattern.start, pattern.column, pattern.diagonal, diagonal, values, couplings.vertex, couplings.weight,
        couplings.block, couplings.pull, couplings.start, couplings.entry, constraints.kept, constraints.free,
        constraints.change, b, float(tolerance), int(most), dv, residual,
    )  # fmt: skip
    return dv, iterations, residual


@parallel
def multiply(start, column, values, p, out):
    """out = W p."""
    for i in prange(start.shape[0] - 1):
        x = y = z = 0.0
        for k in range(start[i], start[i + 1]):
            j = column[k]
            p0, p1, p2 = p[j, 0], p[j, 1], p[j, 2]
            x += values[k, 0, 0] * p0 + values[k, 0, 1] * p1 + values[k, 0, 2] * p2
            y += values[k, 1, 0] * p0 + values[k, 1, 1] * p1 + values[k, 1, 2] * p2
            z += values[k, 2, 0] * p0 + values[k, 2, 1] * p1 + values[k, 2, 2] * p2
        out[i, 0], out[i, 1], out[i, 2] = x, y, z


@kernel
def _by_vertex(vertices, vertex):
    start = np.zeros(vertices + 1, np.int32)
    for v in vertex.ravel():
        start[v + 1] += 1
    for v in range(vertices):
        start[v + 1] += start[v]
    at = start[:-1].copy()
    entry = np.empty(vertex.size, np.int32)
    flat = vertex.ravel()
    for k in range(flat.shape[0]):
        entry[at[flat[k]]] = k
        at[flat[k]] += 1
    return start, entry


@inlined
def _invert(a, out):
    """The inverse of a symmetric 3x3 matrix."""
    c00 = a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1]
    c01 = a[1, 2] * a[2, 0] - a[1, 0] * a[2, 2]
    c02 = a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0]
    d = 1.0 / (a[0, 0] * c00 + a[0, 1] * c01 + a[0, 2] * c02)
    out[0, 0], out[0, 1], out[0, 2] = c00 * d, c01 * d, c02 * d
    out[1, 0], out[2, 0] = out[0, 1], out[0, 2]
    out[1, 1] = (a[0, 0] * a[2, 2] - a[0, 2] * a[2, 0]) * d
    out[1, 2] = (a[0, 2] * a[1, 0] - a[0, 0] * a[1, 2]) * d
    out[2, 1] = out[1, 2]
    out[2, 2] = (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]) * d


@inlined
def _through(s, x, y, z):
    """s (3, 3) times (x, y, z)."""
    return (
        s[0, 0] * x + s[0, 1] * y + s[0, 2] * z,
        s[1, 0] * x + s[1, 1] * y + s[1, 2] * z,
        s[2, 0] * x + s[2, 1] * y + s[2, 2] * z,
    )


@inlined
def _couple(c, vertex, weight, block, p, through):
    """through[c] = G_c times the relative point of p."""
    x = y = z = 0.0
    for k in range(4):
        v, w = vertex[c, k], weight[c, k]
        x += w * p[v, 0]
        y += w * p[v, 1]
        z += w * p[v, 2]
    through[c, 0], through[c, 1], through[c, 2] = _through(block[c], x, y, z)


@inlined
def _row(i, start, column, diagonal, values, weight, c_start, c_entry, through, p):
    """Row i of A p."""
    x, y, z = _through(diagonal[i], p[i, 0], p[i, 1], p[i, 2])
    for k in range(start[i], start[i + 1]):
        j = column[k]
        p0, p1, p2 = p[j, 0], p[j, 1], p[j, 2]
        x += values[k, 0, 0] * p0 + values[k, 0, 1] * p1 + values[k, 0, 2] * p2
        y += values[k, 1, 0] * p0 + values[k, 1, 1] * p1 + values[k, 1, 2] * p2
        z += values[k, 2, 0] * p0 + values[k, 2, 1] * p1 + values[k, 2, 2] * p2
    for k in range(c_start[i], c_start[i + 1]):
        c, w = c_entry[k] // 4, weight[c_entry[k] // 4, c_entry[k] % 4]
        x += w * through[c, 0]
        y += w * through[c, 1]
        z += w * through[c, 2]
    return x, y, z


@parallel
def _solve(
    start, column, diagonal_block, diagonal, values, vertex, weight, block, pull, c_start, c_entry, kept, free, change,
    b, tolerance, most, dv, residual,
):  # fmt: skip
    n = b.shape[0]
    chunks = (n + CHUNK - 1) // CHUNK
    couplings = vertex.shape[0]
    through = np.empty((couplings, 3))
    inverse = np.empty((n, 3, 3))
    p, q, r = np.zeros((n, 3)), np.empty((n, 3)), np.empty((n, 3))
    part, whole = np.empty(chunks), np.empty(chunks)
    for c in prange(couplings):
        _couple(c, vertex, weight, block, change, through)
    for chunk in prange(chunks):  # r = S (b - A z), the preconditioner, p = S guess
        a = np.empty((3, 3))
        t = np.empty((3, 3))
        sum_ = 0.0
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            x, y, z = _row(i, start, column, diagonal, values, weight, c_start, c_entry, through, change)
            x, y, z = b[i, 0] - x, b[i, 1] - y, b[i, 2] - z
            for row in range(3):
                for col in range(3):
                    a[row, col] = diagonal[i, row, col] + values[diagonal_block[i], row, col]
            for k in range(c_start[i], c_start[i + 1]):
                c, w = c_entry[k] // 4, weight[c_entry[k] // 4, c_entry[k] % 4]
                x += w * pull[c, 0]
                y += w * pull[c, 1]
                z += w * pull[c, 2]
                for row in range(3):
                    for col in range(3):
                        a[row, col] += w * w * block[c, row, col]
            p[i, 0], p[i, 1], p[i, 2] = dv[i, 0], dv[i, 1], dv[i, 2]
            if kept[i] > 0:  # S a S + (1 - S), then filtered on the way out
                size = (a[0, 0] + a[1, 1] + a[2, 2]) / 3.0
                s = free[i]
                for row in range(3):
                    for col in range(3):
                        t[row, col] = s[row, 0] * a[0, col] + s[row, 1] * a[1, col] + s[row, 2] * a[2, col]
                for row in range(3):
                    for col in range(3):
                        one = 1.0 if row == col else 0.0
                        a[row, col] = t[row, 0] * s[0, col] + t[row, 1] * s[1, col] + t[row, 2] * s[2, col]
                        a[row, col] += size * (one - s[row, col])
                x, y, z = _through(s, x, y, z)
                p[i, 0], p[i, 1], p[i, 2] = _through(s, dv[i, 0], dv[i, 1], dv[i, 2])
            _invert(a, inverse[i])
            r[i, 0], r[i, 1], r[i, 2] = x, y, z
            px, py, pz = _through(inverse[i], x, y, z)
            sum_ += x * px + y * py + z * pz
        part[chunk] = sum_
    goal = 0.0
    for chunk in range(chunks):
        goal += part[chunk]
    goal *= tolerance * tolerance
    for c in prange(couplings):
        _couple(c, vertex, weight, block, p, through)
    for chunk in prange(chunks):  # q = S A p
        sum_ = sum_r = 0.0
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            x, y, z = _row(i, start, column, diagonal, values, weight, c_start, c_entry, through, p)
            if kept[i] > 0:
                x, y, z = _through(free[i], x, y, z)
            q[i, 0], q[i, 1], q[i, 2] = x, y, z
            sum_ += p[i, 0] * x + p[i, 1] * y + p[i, 2] * z
            sum_r += p[i, 0] * r[i, 0] + p[i, 1] * r[i, 1] + p[i, 2] * r[i, 2]
        part[chunk], whole[chunk] = sum_, sum_r
    power = match = 0.0
    for chunk in range(chunks):
        power += part[chunk]
        match += whole[chunk]
    alpha = match / power if power > 0.0 else 0.0  # the best multiple of the guess: never worse than none
    for chunk in prange(chunks):
        sum_ = 0.0
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            for c in range(3):
                dv[i, c] = change[i, c] + alpha * p[i, c]
                r[i, c] -= alpha * q[i, c]
            x, y, z = _through(inverse[i], r[i, 0], r[i, 1], r[i, 2])
            if kept[i] > 0:
                x, y, z = _through(free[i], x, y, z)
            p[i, 0], p[i, 1], p[i, 2] = x, y, z
            sum_ += r[i, 0] * x + r[i, 1] * y + r[i, 2] * z
        part[chunk] = sum_
    rho = 0.0
    for chunk in range(chunks):
        rho += part[chunk]
    iterations = 0
    while rho > goal and iterations < most:
        iterations += 1
        for c in prange(couplings):
            _couple(c, vertex, weight, block, p, through)
        for chunk in prange(chunks):
            sum_ = 0.0
            for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
                x, y, z = _row(i, start, column, diagonal, values, weight, c_start, c_entry, through, p)
                if kept[i] > 0:
                    x, y, z = _through(free[i], x, y, z)
                q[i, 0], q[i, 1], q[i, 2] = x, y, z
                sum_ += p[i, 0] * x + p[i, 1] * y + p[i, 2] * z
            part[chunk] = sum_
        power = 0.0
        for chunk in range(chunks):
            power += part[chunk]
        if not power > 0.0:
            break
        alpha = rho / power
        for chunk in prange(chunks):
            sum_ = 0.0
            for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
                for c in range(3):
                    dv[i, c] += alpha * p[i, c]
                    r[i, c] -= alpha * q[i, c]
                x, y, z = _through(inverse[i], r[i, 0], r[i, 1], r[i, 2])
                if kept[i] > 0:
                    x, y, z = _through(free[i], x, y, z)
                q[i, 0], q[i, 1], q[i, 2] = x, y, z
                sum_ += r[i, 0] * x + r[i, 1] * y + r[i, 2] * z
            part[chunk] = sum_
        last, rho = rho, 0.0
        for chunk in range(chunks):
            rho += part[chunk]
        beta = rho / last
        for chunk in prange(chunks):
            for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
                for c in range(3):
                    p[i, c] = q[i, c] + beta * p[i, c]
    for c in prange(couplings):
        _couple(c, vertex, weight, block, dv, through)
    for chunk in prange(chunks):
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            x, y, z = _row(i, start, column, diagonal, values, weight, c_start, c_entry, through, dv)
            x, y, z = x - b[i, 0], y - b[i, 1], z - b[i, 2]
            for k in range(c_start[i], c_start[i + 1]):
                c, w = c_entry[k] // 4, weight[c_entry[k] // 4, c_entry[k] % 4]
                x -= w * pull[c, 0]
                y -= w * pull[c, 1]
                z -= w * pull[c, 2]
            residual[i, 0], residual[i, 1], residual[i, 2] = x, y, z
    return iterations
