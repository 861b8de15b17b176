"""Stretch of cloth along its threads: E = ku/2 (|fu| - 1)^2 + kv/2 (|fv| - 1)^2 per rest area.

fu and fv are the columns of the deformation gradient, so the condition of Baraff and Witkin (1998, section 4.2) as an
energy of F [A §3]. With this factor ku and kv are the measured membrane stiffnesses: force per width per relative
stretch. The two directions do not share a term, so that each is a `spring`.
"""

from __future__ import annotations

from unsnarl.energies import spring
from unsnarl.jit import inlined


@inlined
def energy(f, ku, kv):
    """Energy per rest area [J/m^2]. f : (6,) float64, fu then fv; ku, kv : stiffness along u and v [N/m]."""
    return spring.energy(f, ku, 0) + spring.energy(f, kv, 3)


@inlined
def gradient(f, ku, kv, out):
    """Add dE/df to out : (6,) float64."""
    spring.gradient(f, ku, out, 0)
    spring.gradient(f, kv, out, 3)


@inlined
def hessian_psd(f, ku, kv, out):
    """Add d2E/df2, its negative eigenvalues set to 0, to out : (6, 6) float64."""
    spring.hessian_psd(f, ku, out, 0)
    spring.hessian_psd(f, kv, out, 3)
