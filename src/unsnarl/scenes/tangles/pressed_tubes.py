"""Closed tubes pressed into each other: two that lie across or clasp each other, or one in a knot drawn too tight."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from unsnarl.energies.materials import material
from unsnarl.scenes.tangles.tube import along, arc, capsule
from unsnarl.wardrobe.tanglers.state import Tangled


def draw(rng: np.random.Generator) -> Tangled:
    """One or two tubes of 5 to 8 cm across; in the clean state they are straight, side by side."""
    return _knot(rng) if rng.random() < 0.4 else _pair(rng)


def _pair(rng: np.random.Generator) -> Tangled:
    """Two arcs whose middles are less than their width apart; bent towards each other they clasp."""
    radius, around = rng.uniform(0.025, 0.04), int(rng.integers(10, 16))
    clean, meshes = [], []
    for k, side in enumerate((-1.0, 1.0)):
        length = rng.uniform(9.0, 14.0) * radius
        tube = capsule(length, radius, around, name=f"tube {k}")
        tube = tube.moved(tube.x + [0.0, 0.0, 4.0 * k * radius])
        bowed = rng.uniform(20.0, min(200.0, np.degrees(length / (1.8 * radius))))
        turn = Rotation.from_euler("xy", [rng.choice([0.0, np.pi]), rng.uniform(-0.6, 0.6) + 0.5 * np.pi * k])
        x = along(capsule(length, radius, around), length * arc(bowed, turn))
        clean.append(tube)
        meshes.append(tube.moved(x + [0.0, side * rng.uniform(0.3, 0.8) * radius, 0.0]))
    return Tangled(tuple(meshes), tuple(clean), (material("cotton"),) * 2)


def _knot(rng: np.random.Generator) -> Tangled:
    """Most of the way along a trefoil that is too flat for the tube."""
    t = np.linspace(0.0, 2.0 * np.pi * rng.uniform(0.85, 0.97), 801) + rng.uniform(0.0, 2.0 * np.pi)
    reach = rng.uniform(0.35, 0.45)
    wide = 1.0 + reach * np.cos(3.0 * t)
    curve = np.column_stack([wide * np.cos(2.0 * t), rng.uniform(0.08, 0.25) * np.sin(3.0 * t), wide * np.sin(2.0 * t)])
    size = np.linalg.norm(np.diff(curve, axis=0), axis=1).sum()
    radius = rng.uniform(0.025, 0.035)
    tube = capsule(radius * size / rng.uniform(0.2, 0.28), radius, int(rng.integers(10, 15)), name="knot")
    return Tangled((tube.moved(along(tube, curve)),), (tube,), (material("cotton"),))
