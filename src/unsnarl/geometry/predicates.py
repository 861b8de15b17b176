"""The side of a plane on which a point lies: exact, and never "on it".

orient3d is the sign of the determinant of the four points in homogeneous coordinates. It is computed in three steps:
a floating-point value with a bound on its error; exact expansion arithmetic where the bound does not decide; and, where
the four points are exactly coplanar, symbolic perturbation (simulation of simplicity, Edelsbrunner and Mücke 1990).

Perturbation: coordinate c of the vertex with index i is thought to be moved by an infinitesimal d^(2^(3 i + c)). The
determinant becomes a polynomial in d, whose first non-zero coefficient decides; some coefficient is the constant 1, so
the sign is never zero. Only the order of the indices matters, so all signs over one mesh are those of one (infinitely
near) mesh in general position: they can never contradict each other.
"""

from __future__ import annotations

import numpy as np

from unsnarl.geometry.expansions import add, cross_difference, difference, multiply
from unsnarl.jit import floats, kernel

ROUNDING = 2.0**-53
BOUND_3D = (7.0 + 56.0 * ROUNDING) * ROUNDING  # Shewchuk 1997, §4.3
BOUND_2D = (3.0 + 16.0 * ROUNDING) * ROUNDING  # §4.2

# Powers of two between which non-zero coordinates must lie for the arithmetic to be exact: products of three
# differences neither overflow nor lose bits below the smallest double.
SAFE_EXPONENTS = (-288, 300)


def safe_positions(x: np.ndarray) -> np.ndarray:
    """Positions on which the predicates are exact: x itself, unless it is extremely large or small.

    x : (n, 3). Out of range, the whole is scaled by a power of two (which changes no sign) so that the largest
    coordinate is below 1, and what is then smaller than 2^-288 is taken as zero.
    """
    x = floats(x)
    size = np.abs(x)
    low, high = (2.0**e for e in SAFE_EXPONENTS)
    if size.size == 0 or (size.max() < high and not ((size < low) & (size > 0)).any()):
        return x
    _, exponent = np.frexp(size.max())
    scaled = np.ldexp(x, -int(exponent))
    scaled[np.abs(scaled) < low] = 0.0
    return scaled


@kernel
def orient3d(x, i, j, k, m):
    """+1 or -1: the side of the plane through vertices i, j, k on which vertex m lies; odd permutations change it.

    x : (n, 3) float64, `safe_positions`; i, j, k, m : four different vertices.
    Positive when (x_i - x_m) . ((x_j - x_m) x (x_k - x_m)) is, exactly or after perturbation.
    """
    ax, ay, az = x[i, 0] - x[m, 0], x[i, 1] - x[m, 1], x[i, 2] - x[m, 2]
    bx, by, bz = x[j, 0] - x[m, 0], x[j, 1] - x[m, 1], x[j, 2] - x[m, 2]
    cx, cy, cz = x[k, 0] - x[m, 0], x[k, 1] - x[m, 1], x[k, 2] - x[m, 2]
    p0, p1 = bx * cy, cx * by
    p2, p3 = cx * ay, ax * cy
    p4, p5 = ax * by, bx * ay
    det = az * (p0 - p1) + bz * (p2 - p3) + cz * (p4 - p5)
    size = abs(az) * (abs(p0) + abs(p1)) + abs(bz) * (abs(p2) + abs(p3)) + abs(cz) * (abs(p4) + abs(p5))
    if abs(det) > BOUND_3D * size:
        return 1 if det > 0.0 else -1
    if size != 0.0:
        sign = orient3d_exact(x, i, j, k, m)
        if sign != 0:
            return sign
    return _perturbed(x, i, j, k, m)


@kernel
def orient3d_exact(x, i, j, k, m):
    """The exact sign of the determinant: +1, 0 or -1, by expansions."""
    d = np.empty((9, 2))
    n = np.empty(9, np.int64)
    for c in range(3):
        n[c] = difference(x[i, c], x[m, c], d[c])
        n[3 + c] = difference(x[j, c], x[m, c], d[3 + c])
        n[6 + c] = difference(x[k, c], x[m, c], d[6 + c])
    minor = np.empty(16)
    term = np.empty(64)
    spare = np.empty(64)
    total = np.empty(192)
    sum_ = np.empty(192)
    length = 0
    for r in range(3):  # along the third column
        p, q = 3 * ((r + 1) % 3), 3 * ((r + 2) % 3)
        nm = cross_difference(d[p], n[p], d[q + 1], n[q + 1], d[q], n[q], d[p + 1], n[p + 1], minor, spare)
        nt = multiply(minor, nm, d[3 * r + 2], n[3 * r + 2], term, spare)
        length = add(total, length, term, nt, sum_)
        total, sum_ = sum_, total
    if length == 0:
        return 0
    return 1 if total[length - 1] > 0.0 else -1


@kernel
def orient2d_exact(px, py, qx, qy, rx, ry):
    """The exact sign of (p - r) x (q - r): +1, 0 or -1."""
    left = (px - rx) * (qy - ry)
    right = (py - ry) * (qx - rx)
    det = left - right
    size = abs(left) + abs(right)
    if abs(det) > BOUND_2D * size:
        return 1 if det > 0.0 else -1
    if size == 0.0:
        return 0
    d = np.empty((4, 2))
    n0 = difference(px, rx, d[0])
    n1 = difference(qy, ry, d[1])
    n2 = difference(py, ry, d[2])
    n3 = difference(qx, rx, d[3])
    out = np.empty(16)
    n = cross_difference(d[0], n0, d[1], n1, d[2], n2, d[3], n3, out, np.empty(24))
    if n == 0:
        return 0
    return 1 if out[n - 1] > 0.0 else -1


def _perturbation_table() -> np.ndarray:
    """The coefficients of the perturbed determinant in the order in which they decide.

    Rows 0 to 3 of the matrix are the points by ascending index, columns x, y, z, 1. A set of perturbed entries
    (row, column), no two in one row or column, leaves a minor of the other rows and columns, with the sign of the
    cofactor. Bit 3 row + column of `mask` stands for an entry; a smaller mask is a larger infinitesimal.
    Each row of the table: how many entries, rows left (three, -1: none), columns left (two, -1: none), sign.
    """
    table = []
    for mask in range(1, 1 << 12):
        entries = [(bit // 3, bit % 3) for bit in range(12) if mask >> bit & 1]
        rows = [r for r, _ in entries]
        columns = [c for _, c in entries]
        if len(set(rows)) < len(rows) or len(set(columns)) < len(columns):
            continue
        swaps = sum(columns[a] > columns[b] for a in range(len(columns)) for b in range(a + 1, len(columns)))
        sign = (-1) ** (sum(rows) + sum(columns) + swaps)
        rows_left = [r for r in range(4) if r not in rows]
        columns_left = [c for c in range(3) if c not in columns]
        table.append([len(entries), *(rows_left + [-1, -1])[:3], *(columns_left + [-1, -1])[:2], sign])
        if len(entries) == 3:  # the minor is the constant 1
            return np.array(table, dtype=np.int64)
    raise AssertionError("unreachable")


_TABLE = _perturbation_table()


@kernel
def _perturbed(x, i, j, k, m):
    """The sign of the determinant of four exactly coplanar points after symbolic perturbation."""
    v = np.array([i, j, k, m])
    sign = 1
    for a in range(3):  # sort by index; each swap of two rows changes the sign
        for b in range(3 - a):
            if v[b] > v[b + 1]:
                v[b], v[b + 1] = v[b + 1], v[b]
                sign = -sign
    for t in range(_TABLE.shape[0]):
        entries = _TABLE[t, 0]
        c = _TABLE[t, 4]
        coefficient = 1
        if entries == 1:
            p, q, r = v[_TABLE[t, 1]], v[_TABLE[t, 2]], v[_TABLE[t, 3]]
            e = _TABLE[t, 5]
            coefficient = orient2d_exact(x[p, c], x[p, e], x[q, c], x[q, e], x[r, c], x[r, e])
        elif entries == 2:
            p, q = x[v[_TABLE[t, 1]], c], x[v[_TABLE[t, 2]], c]
            coefficient = 1 if p > q else (-1 if p < q else 0)
        if coefficient != 0:
            return sign * _TABLE[t, 6] * coefficient
    return 0
