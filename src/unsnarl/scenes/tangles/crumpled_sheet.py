"""A crumpled sheet: pressed together from all sides, and let go while cloth may pass through cloth.

Its points are first gathered by smooth noise in all three directions, which changes lengths; some steps without any
forces from outside then let the cloth take back its lengths, and buckle where there is no room for them.
"""

from __future__ import annotations

import numpy as np

from unsnarl.mesh.primitives import sheet
from unsnarl.simulation.scene import Cloth
from unsnarl.wardrobe.dress import Dressed
from unsnarl.wardrobe.tanglers.state import Tangled, let_go, noise

STEPS = 8


def draw(rng: np.random.Generator) -> Tangled:
    """A sheet of 30 to 50 cm, gathered to 50 to 85 % of its width."""
    size = rng.uniform(0.3, 0.5, 2)
    flat = sheet(size, edge=np.sqrt(size.prod() / rng.integers(300, 900)), up="y", name="crumpled sheet")
    wave = rng.uniform(0.3, 0.6) * size.mean()
    rough = np.stack([noise(rng, flat.uv, wave) for _ in range(3)], axis=1)
    height = rng.uniform(0.08, 0.16) * wave / 0.4
    x = rng.uniform(0.5, 0.85) * flat.x + height * rough * [0.5, 1.0, 0.5]
    crumpled = Cloth(flat.moved(x))
    return let_go(Dressed("crumpled", (Cloth(flat),), ()), STEPS, cloths=[crumpled], gravity=0.0, air=10.0)
