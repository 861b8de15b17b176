"""Exact sums and products of floating-point numbers.

An expansion is a sum of doubles, smallest first, that do not overlap in their bits: it holds a number that one double
cannot. Sign of the number = sign of the last term. Zero terms are left out, so that numbers which happen to be short
(integers, for one) stay short. Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
Predicates", 1997: the theorems that these algorithms rest on are numbered in the code.

Exact as long as nothing overflows or underflows: see `predicates.SAFE_EXPONENTS`.
"""

from __future__ import annotations

from unsnarl.jit import kernel

_SPLITTER = 134217729.0  # 2^27 + 1


@kernel
def two_sum(a, b):
    """a + b as (rounded, error). [theorem 7]"""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


@kernel
def two_product(a, b):
    """a * b as (rounded, error). [theorem 18]"""
    p = a * b
    c = _SPLITTER * a
    ah = c - (c - a)
    al = a - ah
    c = _SPLITTER * b
    bh = c - (c - b)
    bl = b - bh
    return p, al * bl - (((p - ah * bh) - al * bh) - ah * bl)


@kernel
def difference(a, b, out):
    """a - b into out[:2]; returns its length."""
    s, e = two_sum(a, -b)
    n = 0
    if e != 0.0:
        out[0] = e
        n = 1
    if s != 0.0:
        out[n] = s
        n += 1
    return n


@kernel
def add(e, ne, f, nf, out):
    """e[:ne] + f[:nf] into out (ne + nf long); returns its length. [theorem 13: merge, then one sweep of sums]"""
    i = 0
    j = 0
    n = 0
    q = 0.0
    for _ in range(ne + nf):
        if j == nf or (i < ne and abs(e[i]) < abs(f[j])):
            term = e[i]
            i += 1
        else:
            term = f[j]
            j += 1
        q, error = two_sum(q, term)
        if error != 0.0:
            out[n] = error
            n += 1
    if q != 0.0:
        out[n] = q
        n += 1
    return n


@kernel
def scale(e, ne, b, out):
    """e[:ne] * b into out (2 ne long); returns its length. [theorem 19]"""
    n = 0
    q = 0.0
    for i in range(ne):
        p, low = two_product(e[i], b)
        q, error = two_sum(q, low)
        if error != 0.0:
            out[n] = error
            n += 1
        q, error = two_sum(p, q)
        if error != 0.0:
            out[n] = error
            n += 1
    if q != 0.0:
        out[n] = q
        n += 1
    return n


@kernel
def multiply(e, ne, f, nf, out, spare):
    """e[:ne] * f[:nf], nf <= 2, into out (2 ne nf long); spare is 4 ne long. Returns the length."""
    if ne == 0 or nf == 0:
        return 0
    if nf == 1:
        return scale(e, ne, f[0], out)
    n0 = scale(e, ne, f[0], spare)
    n1 = scale(e, ne, f[1], spare[2 * ne :])
    return add(spare, n0, spare[2 * ne :], n1, out)


@kernel
def cross_difference(a, na, b, nb, c, nc, d, nd, out, spare):
    """a * b - c * d for numbers of at most two terms each, into out (16 long); spare is 24 long. Returns the length."""
    n0 = multiply(a, na, b, nb, spare, spare[16:])
    n1 = multiply(c, nc, d, nd, spare[8:], spare[16:])
    for i in range(n1):
        spare[8 + i] = -spare[8 + i]
    return add(spare, n0, spare[8:], n1, out)
