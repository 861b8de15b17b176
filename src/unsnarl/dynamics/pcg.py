"""Modified preconditioned conjugate gradients: a linear solve in which directions of some particles are prescribed.

Solves S A S y = S (b - A z), dv = y + z, where S filters out the constrained directions and z holds what is prescribed
in them. [Baraff and Witkin 1998 §5; Ascher and Boxerman 2003]

A = diag(D) + W + sum_c w_c w_c^T (x) G_c: 3x3 blocks D on the diagonal (masses, drag), the block-CSR matrix W of
`assembly` (already weighted by the time step), and couplings of up to six particles each, which change from step to
step and so have no place in the pattern. The preconditioner is the inverse of the filtered diagonal blocks, and for
large meshes a coarse level (`dynamics.coarse`).

The iteration is arranged so that threads seldom meet: after all that is local to a particle, for the couplings and the
coarse level, and after the product with A, in which both scalar products are made. [Chronopoulos and Gear 1989] A team
of threads goes through the whole solve in step (`jit.as_team`). Sums over all particles are made chunk by chunk, then
over the chunks in order: the same on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import prange

from unsnarl.dynamics.assembly import Pattern
from unsnarl.dynamics.blocks import row_product
from unsnarl.jit import as_team, inlined, kernel, meet, parallel, thread_count

CHUNK = 128  # particles
SMALL = 1000  # particles, below which one thread is as fast as several


@dataclass(frozen=True, eq=False)
class Couplings:
    """c springs between some particles each: they see u = sum_i weight_i u_i.

    vertex : (c, w) int32, w being 4 or 6 (repeat one with weight 0 where there are fewer)
    weight : (c, w)
    block  : (c, 3, 3) G, symmetric, weighted by the time step: impulse per velocity of the relative point [kg]
    pull   : (c, 3) impulse at the relative point at zero change of velocity [N s]
    start, entry, share : where they act: on vertex i, couplings entry[start[i] : start[i + 1]], each with its weight
    """

    vertex: np.ndarray
    weight: np.ndarray
    block: np.ndarray
    pull: np.ndarray
    start: np.ndarray
    entry: np.ndarray
    share: np.ndarray


def couple(vertices: int, vertex: np.ndarray, weight: np.ndarray, block: np.ndarray, pull: np.ndarray) -> Couplings:
    return Couplings(vertex, weight, block, pull, *_by_vertex(vertices, vertex, weight))


def joined(one: Couplings, two: Couplings) -> Couplings:
    """Both, over the same particles."""
    if len(one.vertex) == 0 or len(two.vertex) == 0:
        return two if len(one.vertex) == 0 else one
    width = max(one.vertex.shape[1], two.vertex.shape[1])

    def both(key):
        parts = [getattr(c, key) for c in (one, two)]
        if key in ("vertex", "weight"):
            parts = [np.pad(p, ((0, 0), (0, width - p.shape[1]))) for p in parts]
        return np.concatenate(parts)

    return couple(len(one.start) - 1, *map(both, ("vertex", "weight", "block", "pull")))


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


def solve(
    pattern: Pattern, diagonal, values, couplings: Couplings, constraints: Constraints, b, guess, tolerance, most,
    coarse=None, inverse=None,
):  # fmt: skip
    """The change of velocity dv (n, 3), the iterations it took, and the residual A dv - b (n, 3): constraint impulses.

    diagonal : (n, 3, 3) D
    values : (blocks, 3, 3) W, blocks as columns; D is added to it, and taken out again
    b : (n, 3), without the couplings' pull, which is added here
    guess : (n, 3) of dv: the best multiple of it is what the iteration starts from, so a bad one does no harm
    tolerance : stop when the residual, measured by the diagonal's inverse, is this share of that at dv = z
    most : iterations at most
    coarse, inverse : a Coarse, and its `coarse_inverse`; None for the diagonal alone
    """
    n = len(b)
    if coarse is None:
        none = np.zeros((0, 4), np.int32)
        level = (
            none,
            none.astype(np.float64),
            np.zeros(1, np.int32),
            np.zeros(0, np.int32),
            np.zeros(0),
            np.zeros((0, 0)),
        )
    else:
        level = coarse.node, coarse.weight, coarse.start, coarse.vertex, coarse.share, inverse
    dv, residual = guess.copy(), np.empty((n, 3))
    nodes = len(level[2]) - 1
    work = (
        np.empty((n, 3, 3)), np.empty((n, 3, 3)), np.empty((5, n, 3)), np.empty((3, (n + CHUNK - 1) // CHUNK)),
        np.empty((len(couplings.vertex), 3)), np.empty(3 * nodes), np.zeros(3 * nodes),
    )  # fmt: skip
    threads = thread_count() if n >= SMALL else 1

    def part(member, team):
        return _solve(
            member, team, threads, pattern.start, pattern.column, pattern.diagonal, diagonal, values, couplings.vertex,
            couplings.weight, couplings.block, couplings.pull, couplings.start, couplings.entry, couplings.share,
            constraints.kept, constraints.free, constraints.change, *level, b, float(tolerance), int(most), dv,
            residual, *work,
        )  # fmt: skip

    return dv, as_team(part, threads)[0], residual


@parallel
def multiply(start, column, values, p, out):
    """out = W p."""
    for i in prange(start.shape[0] - 1):
        out[i, 0], out[i, 1], out[i, 2] = row_product(values, column, p, np.int64(start[i]), np.int64(start[i + 1]))


@kernel
def _by_vertex(vertices, vertex, weight):
    start = np.zeros(vertices + 1, np.int32)
    for c in range(vertex.shape[0]):
        for k in range(vertex.shape[1]):
            start[vertex[c, k] + 1] += weight[c, k] != 0.0
    for v in range(vertices):
        start[v + 1] += start[v]
    at = start[:-1].copy()
    entry, share = np.empty(start[vertices], np.int32), np.empty(start[vertices])
    for c in range(vertex.shape[0]):
        for k in range(vertex.shape[1]):
            if weight[c, k] != 0.0:
                v = vertex[c, k]
                entry[at[v]], share[at[v]] = c, weight[c, k]
                at[v] += 1
    return start, entry, share


@inlined
def invert(a, out):
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
def _couple(chunk, vertex, weight, block, p, through):
    """through[c] = G_c times the relative point of p, for a chunk of couplings."""
    for c in range(chunk * CHUNK, min(vertex.shape[0], (chunk + 1) * CHUNK)):
        x = y = z = 0.0
        for k in range(vertex.shape[1]):
            v, w = vertex[c, k], weight[c, k]
            x += w * p[v, 0]
            y += w * p[v, 1]
            z += w * p[v, 2]
        through[c, 0], through[c, 1], through[c, 2] = _through(block[c], x, y, z)


@inlined
def _row(i, start, column, values, c_start, c_entry, c_share, through, p):
    """Row i of A p; D is in the values."""
    x, y, z = row_product(values, column, p, np.int64(start[i]), np.int64(start[i + 1]))
    for k in range(c_start[i], c_start[i + 1]):
        c, w = c_entry[k], c_share[k]
        x += w * through[c, 0]
        y += w * through[c, 1]
        z += w * through[c, 2]
    return x, y, z


@inlined
def _restrict(c, start, vertex, share, r, out):
    """Node c of P^T r; r is filtered already."""
    x = y = z = 0.0
    for k in range(start[c], start[c + 1]):
        i, q = vertex[k], share[k]
        x += q * r[i, 0]
        y += q * r[i, 1]
        z += q * r[i, 2]
    out[3 * c], out[3 * c + 1], out[3 * c + 2] = x, y, z


@inlined
def _dot(a, b):
    """a . b, four sums at a time: the compiler must not reorder them, but may then keep them apart."""
    s0 = s1 = s2 = s3 = 0.0
    whole = a.shape[0] // 4 * 4
    for k in range(0, whole, 4):
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
    for k in range(whole, a.shape[0]):
        s0 += a[k] * b[k]
    return (s0 + s1) + (s2 + s3)


@inlined
def _precondition(chunk, inverse, r, kept, free, node, share, smooth, u):
    """u = S (D^-1 r + P smooth) for a chunk of particles; returns its part of r . D^-1 r."""
    sum_ = 0.0
    for i in range(chunk * CHUNK, min(r.shape[0], (chunk + 1) * CHUNK)):
        x, y, z = _through(inverse[i], r[i, 0], r[i, 1], r[i, 2])
        sum_ += x * r[i, 0] + y * r[i, 1] + z * r[i, 2]
        if smooth.shape[0] > 0:
            for k in range(node.shape[1]):
                c, q = 3 * node[i, k], share[i, k]
                x += q * smooth[c]
                y += q * smooth[c + 1]
                z += q * smooth[c + 2]
        if kept[i] > 0:
            x, y, z = _through(free[i], x, y, z)
        u[i, 0], u[i, 1], u[i, 2] = x, y, z
    return sum_


@inlined
def _sum(part):
    total = 0.0
    for k in range(part.shape[0]):
        total += part[k]
    return total


@inlined
def _go_on(direction, new, beta, total, alpha):
    """direction = new + beta direction, and total += alpha direction."""
    for k in range(direction.shape[0]):
        direction[k] = new[k] + beta * direction[k]
        total[k] += alpha * direction[k]


@kernel
def _solve(
    me, team, threads, start, column, diagonal_block, diagonal, values, vertex, weight, block, pull, c_start, c_entry,
    c_share, kept, free, change, node, share, n_start, n_vertex, n_share, small, b, tolerance, most, dv, residual,
    inverse, own, vectors, sums, through, rough, smooth,
):  # fmt: skip
    """What member `me` of a team does: its chunks of particles, couplings and nodes, in step with the others.

    All members come to the same decisions, since they add up the same sums in the same order.
    """
    n = b.shape[0]
    r, u, w, p, s = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    part, whole, norm = sums[0], sums[1], sums[2]
    chunks = part.shape[0]
    coupled = (vertex.shape[0] + CHUNK - 1) // CHUNK
    nodes = n_start.shape[0] - 1
    first, last_chunk = chunks * me // threads, chunks * (me + 1) // threads
    first_c, last_c = coupled * me // threads, coupled * (me + 1) // threads
    first_n, last_n = nodes * me // threads, nodes * (me + 1) // threads
    low, high = first * CHUNK, min(n, last_chunk * CHUNK)  # particles

    for chunk in range(first_c, last_c):
        _couple(chunk, vertex, weight, block, change, through)
    if not meet(team, threads):
        return 0
    a = np.empty((3, 3))
    t = np.empty((3, 3))
    for chunk in range(first, last_chunk):  # r = S (b - A z), the preconditioner, u = S guess
        sum_ = 0.0
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            k = diagonal_block[i]
            for row in range(3):
                for col in range(3):
                    own[i, row, col] = values[k, row, col]
                    values[k, row, col] += diagonal[i, row, col]
                    a[row, col] = values[k, row, col]
            x, y, z = _row(i, start, column, values, c_start, c_entry, c_share, through, change)
            x, y, z = b[i, 0] - x, b[i, 1] - y, b[i, 2] - z
            for k in range(c_start[i], c_start[i + 1]):
                c, q = c_entry[k], c_share[k]
                x += q * pull[c, 0]
                y += q * pull[c, 1]
                z += q * pull[c, 2]
                for row in range(3):
                    for col in range(3):
                        a[row, col] += q * q * block[c, row, col]
            u[i, 0], u[i, 1], u[i, 2] = dv[i, 0], dv[i, 1], dv[i, 2]
            if kept[i] > 0:  # S a S + (1 - S), then filtered on the way out
                size = (a[0, 0] + a[1, 1] + a[2, 2]) / 3.0
                f = free[i]
                for row in range(3):
                    for col in range(3):
                        t[row, col] = f[row, 0] * a[0, col] + f[row, 1] * a[1, col] + f[row, 2] * a[2, col]
                for row in range(3):
                    for col in range(3):
                        one = 1.0 if row == col else 0.0
                        a[row, col] = t[row, 0] * f[0, col] + t[row, 1] * f[1, col] + t[row, 2] * f[2, col]
                        a[row, col] += size * (one - f[row, col])
                x, y, z = _through(f, x, y, z)
                u[i, 0], u[i, 1], u[i, 2] = _through(f, dv[i, 0], dv[i, 1], dv[i, 2])
            invert(a, inverse[i])
            r[i, 0], r[i, 1], r[i, 2] = x, y, z
            px, py, pz = _through(inverse[i], x, y, z)
            sum_ += x * px + y * py + z * pz
        norm[chunk] = sum_
    if not meet(team, threads):
        return 0
    goal = tolerance * tolerance * _sum(norm)
    for chunk in range(first_c, last_c):
        _couple(chunk, vertex, weight, block, u, through)
    if not meet(team, threads):
        return 0
    _multiply(
        first, last_chunk, start, column, values, c_start, c_entry, c_share, through, kept, free, u, r, w,
        part, whole,
    )  # fmt: skip
    if not meet(team, threads):
        return 0
    power = _sum(part)
    alpha = _sum(whole) / power if power > 0.0 else 0.0  # the best multiple of the guess: never worse than none
    for i in range(low, high):
        for c in range(3):
            dv[i, c] = change[i, c] + alpha * u[i, c]
            r[i, c] -= alpha * w[i, c]
            p[i, c] = s[i, c] = 0.0

    iterations = 0
    last = 1.0
    while True:
        if nodes > 0:
            if not meet(team, threads):
                return 0
            for c in range(first_n, last_n):
                _restrict(c, n_start, n_vertex, n_share, r, rough)
            if not meet(team, threads):
                return 0
            for c in range(3 * first_n, 3 * last_n):
                smooth[c] = _dot(small[c], rough)
            if not meet(team, threads):
                return 0
        if nodes > 0 or iterations == 0:
            for chunk in range(first, last_chunk):
                norm[chunk] = _precondition(chunk, inverse, r, kept, free, node, share, smooth, u)
        if not meet(team, threads):
            return 0
        if not (_sum(norm) > goal and iterations < most):
            break
        if coupled > 0:
            for chunk in range(first_c, last_c):
                _couple(chunk, vertex, weight, block, u, through)
            if not meet(team, threads):
                return 0
        _multiply(
            first, last_chunk, start, column, values, c_start, c_entry, c_share, through, kept, free, u, r, w,
            part, whole,
        )  # fmt: skip
        if not meet(team, threads):
            return 0
        rho, power = _sum(whole), _sum(part)
        beta = 0.0
        if iterations > 0:
            beta = rho / last
            power -= beta * rho / alpha
        if not (rho > 0.0 and power > 0.0):
            break
        iterations += 1
        last = rho
        alpha = rho / power
        for chunk in range(first, last_chunk):
            some = slice(chunk * CHUNK, min(n, (chunk + 1) * CHUNK))
            _go_on(p[some].ravel(), u[some].ravel(), beta, dv[some].ravel(), alpha)
            _go_on(s[some].ravel(), w[some].ravel(), beta, r[some].ravel(), -alpha)
            if nodes == 0:
                norm[chunk] = _precondition(chunk, inverse, r, kept, free, node, share, smooth, u)
    if not meet(team, threads):
        return 0
    for chunk in range(first_c, last_c):
        _couple(chunk, vertex, weight, block, dv, through)
    if not meet(team, threads):
        return 0
    for i in range(low, high):
        x, y, z = _row(i, start, column, values, c_start, c_entry, c_share, through, dv)
        x, y, z = x - b[i, 0], y - b[i, 1], z - b[i, 2]
        for k in range(c_start[i], c_start[i + 1]):
            c, q = c_entry[k], c_share[k]
            x -= q * pull[c, 0]
            y -= q * pull[c, 1]
            z -= q * pull[c, 2]
        residual[i, 0], residual[i, 1], residual[i, 2] = x, y, z
        values[diagonal_block[i]] = own[i]
    return iterations


@inlined
def _multiply(first, last, start, column, values, c_start, c_entry, c_share, through, kept, free, u, r, w, part, whole):
    """w = S A u for chunks of particles, with their parts of u . w and u . r."""
    n = u.shape[0]
    for chunk in range(first, last):
        sum_ = sum_r = 0.0
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            x, y, z = _row(i, start, column, values, c_start, c_entry, c_share, through, u)
            if kept[i] > 0:
                x, y, z = _through(free[i], x, y, z)
            w[i, 0], w[i, 1], w[i, 2] = x, y, z
            sum_ += u[i, 0] * x + u[i, 1] * y + u[i, 2] * z
            sum_r += u[i, 0] * r[i, 0] + u[i, 1] * r[i, 1] + u[i, 2] * r[i, 2]
        part[chunk], whole[chunk] = sum_, sum_r
