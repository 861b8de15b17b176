"""Spring: resistance to a change of length in one direction. E = k/2 (|f| - 1)^2.

f is one column of the deformation gradient: for an edge at rest of length L, f = (x1 - x0) / L and k is a force [N]
per relative stretch, E an energy per rest length. `stretch` uses the same three kernels for each thread direction of
cloth, where k is in [N/m] and E per rest area; `at` says where in `f` the column begins.

The Hessian has eigenvalue k along f and k (1 - 1/|f|) across it; the latter is negative under compression, where it is
clamped at 0. A column of length 0 has no direction: it pushes nowhere, and its Hessian is 0.
"""

from __future__ import annotations

import math

from unsnarl.jit import inlined


@inlined
def energy(f, k, at=0):
    """Energy per unit of rest. f : (at + 3 or more,) float64; k : stiffness."""
    length = math.sqrt(f[at] * f[at] + f[at + 1] * f[at + 1] + f[at + 2] * f[at + 2])
    return 0.5 * k * (length - 1.0) * (length - 1.0)


@inlined
def gradient(f, k, out, at=0):
    """Add dE/df to out[at : at + 3]."""
    length = math.sqrt(f[at] * f[at] + f[at + 1] * f[at + 1] + f[at + 2] * f[at + 2])
    if length > 0.0:
        pull = k * (length - 1.0) / length
        for i in range(at, at + 3):
            out[i] += pull * f[i]


@inlined
def hessian_psd(f, k, out, at=0):
    """Add d2E/df2, its negative eigenvalues set to 0, to out[at : at + 3, at : at + 3]."""
    length = math.sqrt(f[at] * f[at] + f[at + 1] * f[at + 1] + f[at + 2] * f[at + 2])
    if length > 0.0:
        across = k * max(0.0, 1.0 - 1.0 / length)
        for i in range(at, at + 3):
            along = (k - across) * (f[i] / length)
            for j in range(at, at + 3):
                out[i, j] += along * (f[j] / length)
            out[i, i] += across
