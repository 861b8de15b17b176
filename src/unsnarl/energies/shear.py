"""Shear between the threads of cloth: E = k/2 (fu . fv)^2 per rest area.

The condition of Baraff and Witkin (1998, section 4.2) as an energy of F [A §3]. For a small shear angle gamma,
fu . fv = gamma: k is the measured shear stiffness, force per width per radian [N/m].

With I = fu . fv, the gradient of I is (fv, fu), and the Hessian is k ((fv, fu) (fv, fu)^T + I S), where S swaps the two
columns. Changes of F that move both columns by w / sqrt 2 are kept by S, those that move them by w / sqrt 2 and
-w / sqrt 2 are negated. In these coordinates the gradient of I is (p, m) with p = (fv + fu) / sqrt 2 and
m = (fv - fu) / sqrt 2, and the eigenvalues over k are
    I    twice: both columns alike, across p;
    -I   twice: the columns against each other, across m;
    T/2 +- sqrt(T^2/4 + 3 I^2), T = |fu|^2 + |fv|^2, of the matrix [[T/2 + 2 I, |p||m|], [|p||m|, T/2 - 2 I]] on
         what is left: alike along p, and against each other along m.
Of the last two the lower is never positive, and of I and -I one is not: what stays after clamping is one pair and one
vector.
"""

from __future__ import annotations

import math

from unsnarl.jit import inlined


@inlined
def energy(f, k):
    """Energy per rest area [J/m^2]. f : (6,) float64, fu then fv; k : stiffness [N/m]."""
    dot = f[0] * f[3] + f[1] * f[4] + f[2] * f[5]
    return 0.5 * k * dot * dot


@inlined
def gradient(f, k, out):
    """Add dE/df to out : (6,) float64."""
    pull = k * (f[0] * f[3] + f[1] * f[4] + f[2] * f[5])
    for i in range(3):
        out[i] += pull * f[3 + i]
        out[3 + i] += pull * f[i]


@inlined
def hessian_psd(f, k, out):
    """Add d2E/df2, its negative eigenvalues set to 0, to out : (6, 6) float64."""
    dot, pp, mm = 0.0, 0.0, 0.0  # I, |p|^2, |m|^2
    for i in range(3):
        dot += f[i] * f[3 + i]
        pp += 0.5 * (f[3 + i] + f[i]) ** 2
        mm += 0.5 * (f[3 + i] - f[i]) ** 2
    half_trace = 0.5 * (pp + mm)
    root = math.sqrt(half_trace * half_trace + 3.0 * dot * dot)
    if root == 0.0:
        return

    # the 2x2 matrix: its upper eigenvalue, and cosine and sine of its eigenvector, the smaller from the larger
    off = math.sqrt(pp * mm)
    larger = math.sqrt(0.5 + abs(dot) / root)
    smaller = 0.5 * off / (root * larger)
    along_p, along_m = (larger, smaller) if dot > 0.0 else (smaller, larger)
    upper = k * (half_trace + root)

    # from fv + fu to the unit vector of p, and the same for m; if one is 0, its part of the eigenvector is 0 too
    to_p = math.sqrt(0.5) / math.sqrt(pp) if pp > 0.0 else 0.0
    to_m = math.sqrt(0.5) / math.sqrt(mm) if mm > 0.0 else 0.0
    pair = 0.5 * k * abs(dot)  # the half is of the two sqrt 2
    sign = 1.0 if dot > 0.0 else -1.0
    for i in range(3):
        pi, mi = to_p * (f[3 + i] + f[i]), to_m * (f[3 + i] - f[i])
        ui, vi = along_p * pi + along_m * mi, along_p * pi - along_m * mi
        qi = pi if dot > 0.0 else mi
        for j in range(3):
            pj, mj = to_p * (f[3 + j] + f[j]), to_m * (f[3 + j] - f[j])
            uj, vj = along_p * pj + along_m * mj, along_p * pj - along_m * mj
            qj = pj if dot > 0.0 else mj
            across = pair * ((1.0 if i == j else 0.0) - qi * qj)
            out[i, j] += 0.5 * upper * ui * uj + across
            out[3 + i, 3 + j] += 0.5 * upper * vi * vj + across
            out[i, 3 + j] += 0.5 * upper * ui * vj + sign * across
            out[3 + i, j] += 0.5 * upper * vi * uj + sign * across
