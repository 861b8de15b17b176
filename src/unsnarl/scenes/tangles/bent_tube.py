"""A closed tube bent until it passes through itself: a hairpin whose arms meet, or a ring whose ends do."""

from __future__ import annotations

import numpy as np

from unsnarl.energies.materials import material
from unsnarl.scenes.tangles.tube import along, capsule
from unsnarl.wardrobe.tanglers.state import Tangled, noise


def draw(rng: np.random.Generator) -> Tangled:
    """A tube of 6 to 10 cm across; the clean state is straight."""
    radius, around = rng.uniform(0.03, 0.05), int(rng.integers(10, 19))
    hairpin = rng.random() < 0.5
    straight = capsule(radius * (rng.uniform(12.0, 16.0) if hairpin else rng.uniform(16.0, 22.0)), radius, around)
    curve = (_hairpin if hairpin else _ring)(rng, straight.x[:, 0].max(), radius)
    return Tangled((straight.moved(along(straight, curve)),), (straight,), (material("cotton"),))


def _hairpin(rng: np.random.Generator, length: float, radius: float) -> np.ndarray:
    """(k, 3) straight, a bend of more than half a turn, and straight again."""
    return _turning(rng, length, rng.uniform(1.4, 2.0) * radius, np.radians(rng.uniform(190.0, 230.0)))


def _ring(rng: np.random.Generator, length: float, radius: float) -> np.ndarray:
    """(k, 3) a bit more than a full turn, the ends less than the tube's width apart."""
    whole = np.radians(rng.uniform(360.0, 420.0))
    curve = _turning(rng, length, 0.95 * length / whole, whole)
    rise = rng.uniform(0.5, 1.3) * radius
    return curve + np.outer(np.linspace(-0.5, 0.5, len(curve)), [0.0, rise, 0.0])


def _turning(rng: np.random.Generator, length: float, bend: float, whole: float) -> np.ndarray:
    """(k, 3) a curve of this length [m] that turns by an angle [rad] in a bend of a radius [m], about its middle."""
    s = np.linspace(0.0, length, 401)
    middle = 0.5 * length + rng.uniform(-0.5, 0.5) * (length - whole * bend) * 0.5
    turned = np.clip((s - middle) / bend, -0.5 * whole, 0.5 * whole)
    step = s[1] * np.column_stack([np.cos(turned), 0.0 * s, np.sin(turned)])
    curve = np.cumsum(step, axis=0)
    sway = noise(rng, s[:, None], length)
    return curve + np.outer(0.03 * length * sway, [0.0, 1.0, 0.0])
