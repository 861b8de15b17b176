"""Cloth near cloth: what is nearer than the cloth is thick is pushed apart, and brakes when it slides.

Each pair of near features is a spring of the missing distance, implicit in the solve, with stiffness set by mass and
time step, so that it acts within a step or two whatever the cloth weighs. Coulomb friction is drag across the spring's
direction, as strong as the spring's push at the beginning of the step allows.
"""

from __future__ import annotations

import numpy as np

from unsnarl.detect.proximity import Proximity
from unsnarl.dynamics.pcg import Couplings, couple
from unsnarl.jit import kernel

STIFFNESS = 8.0  # spring constant, in units of mass / step^2
CREEP = 1e-3  # [m/s] below which friction holds like honey


def repel(near: Proximity, v: np.ndarray, h: float, inverse_mass: np.ndarray, friction: float) -> Couplings:
    """Couplings that push near features apart.

    v : (n, 3) [m/s]; h : [s]; inverse_mass : (n,) [1/kg], 0 for what cannot be moved
    """
    return couple(len(v), *_repel(near.vertex, near.weight, near.normal, near.distance, near.limit, v, h, inverse_mass, friction))  # fmt: skip


@kernel
def _repel(vertex, weight, normal, distance, limit, v, h, inverse_mass, friction):
    k = vertex.shape[0]
    kept = np.empty(k, np.int64)
    block = np.empty((k, 3, 3))
    pull = np.empty((k, 3))
    u = np.empty(3)
    n = 0
    for i in range(k):
        mobility = 0.0
        u[:] = 0.0
        for j in range(4):
            mobility += weight[i, j] ** 2 * inverse_mass[vertex[i, j]]
            for c in range(3):
                u[c] += weight[i, j] * v[vertex[i, j], c]
        along = u @ normal[i]
        missing = limit[i] - distance[i] - h * along  # at the end of the step, if nothing is done
        if missing <= 0.0 or mobility == 0.0:
            continue
        stiffness = STIFFNESS / (mobility * h * h)
        slide = 0.0
        for c in range(3):
            slide += (u[c] - along * normal[i, c]) ** 2
        drag = friction * stiffness * min(missing, limit[i] - distance[i]) / max(np.sqrt(slide), CREEP)
        for r in range(3):
            pull[n, r] = h * (stiffness * missing * normal[i, r] - drag * (u[r] - along * normal[i, r]))
            for c in range(3):
                both = normal[i, r] * normal[i, c]
                block[n, r, c] = h * h * stiffness * both + h * drag * ((1.0 if r == c else 0.0) - both)
        kept[n] = i
        n += 1
    kept = kept[:n]
    return vertex[kept], weight[kept], block[:n].copy(), pull[:n].copy()
