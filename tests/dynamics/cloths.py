"""Cloths and runs that the tests of dynamics and contact share."""

from __future__ import annotations

import numpy as np

from unsnarl.dynamics.implicit import Options
from unsnarl.dynamics.pcg import Couplings
from unsnarl.energies.materials import Material
from unsnarl.simulation.scene import Scene
from unsnarl.simulation.simulate import Simulator

GRAVITY = 9.81  # [m/s^2]
EXACT = Options(tolerance=1e-13, most=20_000)


def fabric(*, density=0.2, warp=300.0, weft=None, shear=100.0, bend=1e-4, damping=0.0) -> Material:
    return Material("fabric", density, warp, warp if weft is None else weft, shear, bend, damping)


def settled(scene: Scene, *, step: float = 1.0, most: int = 200) -> Simulator:
    """The scene at rest: in so long steps [s], backward Euler goes straight to where all forces are in balance."""
    simulator = Simulator(scene.but(fps=1.0 / step, substeps=1, air=1.0), Options(tolerance=1e-6, most=20_000))
    for _ in range(most):
        if simulator.advance().stats["kinetic_energy"] < 1e-16:
            return simulator
    raise AssertionError(f"{scene.name} does not come to rest")


def momentum(simulator: Simulator) -> tuple[np.ndarray, np.ndarray]:
    """Linear (3,) [kg m/s] and angular (3,) about the origin [kg m^2/s]."""
    p = simulator.system.mass[:, None] * simulator.v
    return p.sum(axis=0), np.cross(simulator.x, p).sum(axis=0)


def dense(pattern, values) -> np.ndarray:
    """Block-CSR, whose blocks stand column by column, as a matrix (3 n, 3 n)."""
    n = len(pattern.start) - 1
    out = np.zeros((n, 3, n, 3))
    for i in range(n):
        for k in range(pattern.start[i], pattern.start[i + 1]):
            out[i, :, pattern.column[k], :] += values[k].T
    return out.reshape(3 * n, 3 * n)


def dense_couplings(couplings: Couplings, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The couplings' part of the matrix (3 n, 3 n), and of the right hand side (3 n,)."""
    matrix, b = np.zeros((3 * n, 3 * n)), np.zeros(3 * n)
    for vertex, weight, block, pull in zip(couplings.vertex, couplings.weight, couplings.block, couplings.pull):
        see = np.zeros((3, 3 * n))  # the relative point
        for v, w in zip(vertex, weight):
            see[:, 3 * v : 3 * v + 3] += w * np.eye(3)
        matrix += see.T @ block @ see
        b += see.T @ pull
    return matrix, b
