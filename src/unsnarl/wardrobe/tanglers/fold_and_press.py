"""Folded and pressed: cloth is folded one to three times, and its layers are then pressed into each other.

A fold rolls everything beyond a line up around a cylinder that is wider than the stack is high, so that layers stay
apart. Pressing squeezes the stack and lets each piece of cloth rise and sink by more than the layers are apart.
"""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.mesh.primitives import sheet
from unsnarl.simulation.scene import Cloth
from unsnarl.wardrobe.dress import Dressed
from unsnarl.wardrobe.tanglers.state import GARMENTS, Tangled, blob, draped, let_go, noise

FLAT = 0.12  # share of its depth to which a garment is laid flat before it is folded


def draw(rng: np.random.Generator) -> Tangled:
    """A sheet, or a garment laid flat, folded and pressed."""
    if rng.random() < 0.6:
        flat = flat_sheet(rng)
        return _pressed(rng, flat.x, Cloth(folded_sheet(rng, flat)))
    cloth = draped(str(rng.choice(GARMENTS))).cloths[0]
    return _pressed(rng, cloth.mesh.x, Cloth(_folded_garment(rng, cloth.mesh), cloth.material))


def flat_sheet(rng: np.random.Generator) -> TriMesh:
    """A sheet of 30 to 60 cm, of 300 to 700 squares."""
    width, height = rng.uniform(0.3, 0.6, 2)
    return sheet((width, height), edge=np.sqrt(width * height / rng.integers(300, 700)), up="y")


def folded_sheet(rng: np.random.Generator, flat: TriMesh) -> TriMesh:
    """The sheet, folded one to three times."""
    x, radius = flat.x, 0.012
    for _ in range(rng.integers(1, 4)):
        x, radius = _folded(rng, x, radius)
    return flat.moved(x)


def _folded_garment(rng: np.random.Generator, mesh: TriMesh) -> TriMesh:
    x = mesh.x - mesh.x.mean(axis=0)
    x = np.column_stack([x[:, 0], FLAT * x[:, 2], -x[:, 1]])  # on its back
    x, _ = _folded(rng, x, 0.6 * np.ptp(x[:, 1]) + 0.02)
    return mesh.moved(x)


def _folded(rng: np.random.Generator, x: np.ndarray, radius: float) -> tuple[np.ndarray, float]:
    """Positions folded up along a random line, and the radius that the next fold needs, so that it holds this one."""
    x = x - [0.0, x[:, 1].min(), 0.0]
    turn = rng.uniform(0.0, 2.0 * np.pi)
    across, along = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    u, w, y = x[:, ::2] @ across, x[:, ::2] @ along, x[:, 1]
    u = u - np.quantile(u, rng.uniform(0.35, 0.65))
    angle = np.clip(u / radius, 0.0, np.pi)
    beyond = np.maximum(u - np.pi * radius, 0.0)
    u = np.minimum(u, 0.0) + (radius - y) * np.sin(angle) - beyond
    y = radius - (radius - y) * np.cos(angle)
    level = np.outer(u, across) + np.outer(w, along)
    return np.column_stack([level[:, 0], y, level[:, 1]]), 1.3 * y.max()


def _pressed(rng: np.random.Generator, before: np.ndarray, cloth: Cloth) -> Tangled:
    """The folded cloth, pressed around a place. before : (n, 3) its positions when it was not folded [m]."""
    mesh = cloth.mesh
    place = mesh.x[rng.integers(len(mesh.x)), ::2]
    press = blob(np.linalg.norm(mesh.x[:, ::2] - place, axis=1), rng.uniform(0.08, 0.5))
    squeeze, height = rng.uniform(0.2, 0.9), mesh.x[:, 1].max()
    rough = rng.uniform(0.2, 0.9) * height * noise(rng, before, rng.uniform(0.08, 0.3))
    y = (1.0 - squeeze * press) * mesh.x[:, 1] + (1.0 - squeeze) * press * rough
    pressed = Cloth(mesh.moved(np.column_stack([mesh.x[:, 0], y, mesh.x[:, 2]])), cloth.material)
    return let_go(Dressed("folded", (cloth,), ()), 2, cloths=[pressed], gravity=0.0, air=10.0)
