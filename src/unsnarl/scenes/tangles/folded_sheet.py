"""A sheet folded two or three times along random lines, each fold a bit further than flat, through what it lies on.

A fold turns everything beyond a line around a cylinder, by more than half a turn: the flap dips into the layers below
it. Where layers are folded that lie higher than the cylinder's axis, they pass through each other too.
"""

from __future__ import annotations

import numpy as np

from unsnarl.energies.materials import material
from unsnarl.mesh.primitives import sheet
from unsnarl.wardrobe.tanglers.state import Tangled


def draw(rng: np.random.Generator) -> Tangled:
    """A sheet of 30 to 60 cm; the clean state is flat."""
    size = rng.uniform(0.3, 0.6, 2)
    flat = sheet(size, edge=np.sqrt(size.prod() / rng.integers(300, 1_200)), up="y", name="folded sheet")
    x = flat.x
    for _ in range(rng.integers(2, 4)):
        x = _folded(rng, x)
    return Tangled((flat.moved(x),), (flat,), (material("cotton"),))


def _folded(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Positions x (n, 3) [m] folded up along a random level line, by 178 to 200 degrees."""
    turn = rng.uniform(0.0, 2.0 * np.pi)
    across, along = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    u, w, y = x[:, ::2] @ across, x[:, ::2] @ along, x[:, 1] - np.median(x[:, 1])
    u = u - np.quantile(u, rng.uniform(0.4, 0.7))
    radius = max(rng.uniform(0.008, 0.02), rng.uniform(0.6, 1.1) * y.max())
    whole = np.radians(rng.uniform(178.0, 200.0))
    angle = np.clip(u / radius, 0.0, whole)
    beyond = np.maximum(u - whole * radius, 0.0)
    out = np.minimum(u, 0.0) + (radius - y) * np.sin(angle) + beyond * np.cos(whole)
    up = radius - (radius - y) * np.cos(angle) + beyond * np.sin(whole)
    level = np.outer(out, across) + np.outer(w, along)
    return np.column_stack([level[:, 0], up, level[:, 1]])
