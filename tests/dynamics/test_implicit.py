"""Steps of backward Euler: what they keep, how fast they converge, and what equation they solve."""

from itertools import pairwise

import numpy as np
import pytest

from tests.dynamics.cloths import EXACT, GRAVITY, dense, fabric, momentum
from unsnarl.dynamics.implicit import Options, Outside, implicit_step, linearise
from unsnarl.dynamics.pcg import no_constraints, no_couplings
from unsnarl.dynamics.system import build_system, elastic
from unsnarl.mesh.primitives import sheet
from unsnarl.simulation.scene import Cloth, Scene
from unsnarl.simulation.simulate import Simulator


def tumbling(*, steps, time=0.2, damping=0.0, seed=0, options=EXACT):
    """A free cloth without gravity and air, after `steps` steps, and its first momentum."""
    mesh = sheet((1.0, 1.0), (8, 8))
    rng = np.random.default_rng(seed)
    v = np.cross([0.3, 2.0, 0.5], mesh.x)
    for _ in range(4):
        v = v + 0.3 * np.sin(mesh.x @ rng.normal(0, 4, (3, 1)) + rng.uniform(0, 6)) * rng.normal(0, 1, 3)
    cloth = Cloth(mesh, fabric(warp=20.0, shear=7.0, bend=1e-3, damping=damping), velocity=v)
    scene = Scene([cloth], fps=1.0 / time, substeps=steps, gravity=0.0, air=0.0, resolver="none")
    simulator = Simulator(scene, options)
    before = momentum(simulator)
    simulator.advance()
    return simulator, before


@pytest.mark.parametrize(
    "options", [EXACT, Options(), Options(tolerance=0.5, newton=2)], ids=["exact", "usual", "rough"]
)
@pytest.mark.parametrize("damping", [0.0, 0.01])
def test_linear_momentum_is_kept(damping, options):
    for seed in range(3):
        simulator, before = tumbling(steps=50, damping=damping, seed=seed, options=options)
        size = (simulator.system.mass[:, None] * abs(simulator.v)).sum()
        assert abs(momentum(simulator)[0] - before[0]).max() < 1e-12 * size
        assert abs(simulator.x - simulator.system.mesh.x).max() > 0.1  # it did move


def test_angular_momentum_is_kept_to_first_order():
    drifts = []
    for steps in (80, 160, 320):
        simulator, before = tumbling(steps=steps)
        drifts.append(np.linalg.norm(momentum(simulator)[1] - before[1]) / np.linalg.norm(before[1]))
    assert drifts[0] < 0.05
    assert np.log2(np.divide(drifts[:-1], drifts[1:])) == pytest.approx(1.0, abs=0.15)


def test_flat_cloth_falls_like_a_stone_and_slows_down_in_air():
    mesh = sheet((1.0, 1.0), (6, 6))
    scene = Scene([Cloth(mesh, "silk")], up="z", fps=10.0, substeps=10, air=0.0, resolver="none")
    falling = Simulator(scene, EXACT)
    falling.advance()
    assert falling.v[:, 2] == pytest.approx(-GRAVITY * 0.1, rel=1e-9)
    assert falling.x[:, 2] == pytest.approx(-GRAVITY * 0.1**2 / 2 * 1.1, rel=1e-9)  # a step further: 10 * 11 / 2 steps
    assert falling.x[:, :2] == pytest.approx(mesh.x[:, :2], abs=1e-9)

    cloth = Cloth(mesh, "silk", velocity=(1.0, 2.0, 3.0))
    drifting = Simulator(scene.but(cloths=[cloth], gravity=0.0, air=2.0), EXACT)
    drifting.advance()
    assert drifting.v == pytest.approx(np.tile([1.0, 2.0, 3.0], (len(mesh.x), 1)) * 1.02**-10, rel=1e-9)


def test_the_path_converges_with_the_step():
    """A sheet held at its border drops and swings back: its positions are right to first order."""
    mesh, paths = sheet((1.0, 1.0), (8, 8)), []
    for steps in (20, 40, 80, 160, 320):
        cloth = Cloth(mesh, fabric(warp=30.0, shear=10.0, damping=0.002), pins="boundary")
        simulator = Simulator(Scene([cloth], up="z", fps=5.0, substeps=steps, resolver="none"), Options(tolerance=1e-8))
        paths.append(simulator.advance().states[0].x)
    changes = np.array([abs(a - b).max() for a, b in pairwise(paths)])
    assert paths[-1][:, 2].min() < -0.15 and changes[-1] < 1e-3
    assert np.log2(changes[:-1] / changes[1:]) == pytest.approx(1.0, abs=0.25)


class Shaken:
    """One step of a cloth far from rest, in air and a syrup that drags on each particle."""

    def __init__(self, seed=0, h=0.005, damping=0.005):
        rng = np.random.default_rng(seed)
        mesh = sheet((1.0, 1.0), (6, 6))
        material = fabric(bend=1e-3, damping=damping)
        self.system = build_system(mesh, [material], np.zeros(len(mesh.faces), int), np.ones(len(mesh.faces), bool))
        self.x = mesh.x + rng.normal(0, 0.01, mesh.x.shape)
        self.v = rng.normal(0, 1.0, mesh.x.shape)
        self.h, n = h, len(mesh.x)
        mass = self.system.mass[:, None]
        self.outside = Outside(mass * [0.0, 0.0, -GRAVITY], 0.3 * mass[:, :, None] * np.eye(3), air=0.5)
        self.free = no_couplings(n), no_constraints(n), np.zeros((n, 3))

    def step(self, newton):
        linear = linearise(self.system, self.x, self.v, self.h, self.outside)
        options = Options(tolerance=1e-12, most=5000, newton=newton)
        return implicit_step(self.system, self.x, self.v, self.h, linear, *self.free, options)

    def residual(self, v1):
        """Of M dv/h = f(x1) + damping + gravity + air + drag, all taken at the end of the step [N s]."""
        h, system, outside = self.h, self.system, self.outside
        x1, mass = self.x + h * v1, system.mass[:, None]
        force, values = elastic(system, x1, h, stiffness=0.0)
        damped = dense(system.pattern, values) @ v1.ravel()
        dragged = np.einsum("nij,nj->ni", outside.drag, v1 - self.v)
        outer = outside.force - outside.air * mass * v1 - dragged
        return np.linalg.norm(mass * (v1 - self.v) - h * (force + outer) + damped.reshape(-1, 3))


@pytest.mark.parametrize("seed", range(3))
def test_more_linearisations_solve_the_equation_of_the_end_of_the_step(seed):
    shaken = Shaken(seed)
    start = shaken.residual(shaken.v)
    residuals = [shaken.residual(shaken.step(newton)[0]) / start for newton in (1, 2, 5, 20)]
    assert residuals[0] < 0.1
    assert residuals[1] < 0.3 * residuals[0]
    assert residuals[2] < 0.01 * residuals[0]
    assert residuals[3] < 1e-10


def test_one_linearisation_is_right_to_second_order():
    """The forces that are left over after one linearisation fall with the step, so its change of velocity twice so."""
    left = []
    for h in (5e-4, 2.5e-4, 1.25e-4):
        shaken = Shaken(h=h, damping=0.0)
        left.append(shaken.residual(shaken.step(1)[0]) / h)
    assert np.log2(np.divide(left[:-1], left[1:])) == pytest.approx(1.1, abs=0.3)


def test_iterations_of_all_linearisations_are_counted():
    counts = [Shaken().step(newton)[1] for newton in (1, 3)]
    assert 0 < counts[0] < counts[1]
