"""Self-collision off for a few steps: clothes are shaken while cloth may pass through cloth. [D §9.3]

What shakes them: a smooth field of velocities, gusts of wind, and in some draws the person, who moves too quickly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unsnarl.simulation.scene import Wind
from unsnarl.wardrobe.tanglers.state import OUTFIT, Tangled, direction, draped, let_go, moving, noise

WORN = ("tshirt", "shirt", "trousers", OUTFIT, OUTFIT)
MOTIONS = ("arms_down", "elbow_bent", "walk", "spin")


def draw(rng: np.random.Generator) -> Tangled:
    """Clothes after at most 12 steps, fewer if they pass through themselves in 3 to 600 hits sooner."""
    worn = draped(WORN[rng.integers(len(WORN))])
    length, speed = rng.uniform(0.08, 0.3), rng.uniform(1.0, 6.0)
    cloths = [
        replace(c, velocity=speed * np.stack([noise(rng, c.mesh.x, length) for _ in range(3)], axis=1))
        for c in worn.cloths
    ]
    settings = {"wind": Wind(tuple(rng.uniform(0.0, 12.0) * direction(rng)), gusts=0.6)}
    if rng.random() < 0.5:
        settings["bodies"] = [moving(str(rng.choice(MOTIONS)), rng.uniform(2.0, 4.0))]
    return let_go(worn, 12, enough=np.exp(rng.uniform(1.0, 6.5)), cloths=cloths, **settings)
