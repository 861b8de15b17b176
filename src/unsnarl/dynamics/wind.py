"""Wind on cloth: drag along the air's motion past a face, lift across it. [Ling et al. 1996; Keckeisen et al. 2004]

With u the air's velocity past the face, n its normal turned along u, and s = n . u / |u| (1 for a face held across):

    force = 1/2 density area |u|^2 s (drag u/|u| + lift (n - s u/|u|))

shared by the three corners. Drag is implicit: how it falls when a corner moves along goes into the solve.
"""

from __future__ import annotations

import numpy as np

from unsnarl.jit import kernel

AIR = 1.2  # density [kg/m^3]


@kernel
def add_wind(x, v, faces, velocity, drag, lift, force, resistance):
    """Add the wind's force (n, 3) [N] and how it falls with velocity, resistance (n, 3, 3) [N s/m].

    velocity : (3,) of the air [m/s]; drag, lift : coefficients
    """
    for f in range(faces.shape[0]):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        n = np.cross(x[j] - x[i], x[k] - x[i])
        size = np.sqrt(n @ n)
        u = velocity - (v[i] + v[j] + v[k]) / 3.0
        speed = np.sqrt(u @ u)
        if size == 0.0 or speed == 0.0:
            continue
        n /= size
        s = (n @ u) / speed
        if s < 0.0:
            n, s = -n, -s
        third = 0.5 * AIR * (0.5 * size) * speed * s / 3.0
        across = n - (s / speed) * u
        for corner in range(3):
            p = faces[f, corner]
            for c in range(3):
                force[p, c] += third * (drag * (velocity[c] - v[p, c]) + lift * speed * across[c])
                resistance[p, c, c] += third * drag
