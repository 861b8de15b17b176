"""Cloth near cloth: what is nearer than the cloth is thick is pushed apart, and brakes when it slides.

Each pair of near features is a stiff spring, implicit in the solve, that stops their approach within the step and gives
back a part of the missing distance: as in a contact without bounce, no lasting velocity comes of it. It gets stiffer as
they get closer. Coulomb friction is drag across the spring's direction, as strong as the spring's push allows.
"""

from __future__ import annotations

import numpy as np

from unsnarl.detect.proximity import Proximity
from unsnarl.dynamics.pcg import Couplings, couple
from unsnarl.jit import kernel

STIFFNESS = 20.0  # spring constant, in units of mass / step^2, times thickness / distance
RECOVER = 10.0  # [1/s] how fast the missing distance is given back: slowly enough that nothing is thrown off
CREEP = 1e-3  # [m/s] below which friction holds like honey


def repel(
    near: Proximity, v: np.ndarray, h: float, inverse_mass: np.ndarray, friction: np.ndarray, cloth: int
) -> Couplings:
    """Couplings that push near features apart.

    v : (n, 3) [m/s] of cloths and bodies; h : [s]; inverse_mass : (n,) [1/kg], 0 for what cannot be moved
    friction : (n,) Coulomb's coefficient, that of a body counts; cloth : how many of the vertices are cloth
    """
    figures = near.vertex, near.weight, near.normal, near.distance, near.limit
    return couple(cloth, *_repel(*figures, v, h, inverse_mass, friction, cloth))


@kernel
def _repel(vertex, weight, normal, distance, limit, v, h, inverse_mass, friction, cloth):
    k = vertex.shape[0]
    kept = np.empty(k, np.int64)
    block = np.empty((k, 3, 3))
    pull = np.empty((k, 3))
    u = np.empty(3)
    n = 0
    for i in range(k):
        mobility = rough = 0.0
        u[:] = 0.0
        body = False
        for j in range(4):
            rough = friction[vertex[i, j]] if not body else rough
            body = body or vertex[i, j] >= cloth
            mobility += weight[i, j] ** 2 * inverse_mass[vertex[i, j]]
            for c in range(3):
                u[c] += weight[i, j] * v[vertex[i, j], c]
        along = u @ normal[i]
        room = distance[i] - limit[i]
        recovered = -room * (1.0 if room > 0.0 else min(RECOVER * h, 0.5))
        missing = recovered - h * along  # at the end of the step, if nothing is done
        if missing <= 0.0 or mobility == 0.0:
            continue
        stiffness = STIFFNESS * min(max(limit[i] / distance[i], 1.0), 10.0) / (mobility * h * h)
        slide = 0.0
        for c in range(3):
            slide += (u[c] - along * normal[i, c]) ** 2
        drag = rough * stiffness * max(0.0, min(missing, recovered)) / max(np.sqrt(slide), CREEP)
        for r in range(3):
            pull[n, r] = h * (stiffness * missing * normal[i, r] - drag * (u[r] - along * normal[i, r]))
            for c in range(3):
                both = normal[i, r] * normal[i, c]
                block[n, r, c] = h * h * stiffness * both + h * drag * ((1.0 if r == c else 0.0) - both)
        kept[n] = i
        n += 1
    some_vertex, some_weight = vertex[kept[:n]], weight[kept[:n]]
    for i in range(n):
        for j in range(4):
            if some_vertex[i, j] >= cloth:  # a body's motion is in the pull already
                some_vertex[i, j], some_weight[i, j] = 0, 0.0
    return some_vertex, some_weight, block[:n].copy(), pull[:n].copy()
