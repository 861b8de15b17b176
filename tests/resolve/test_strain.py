"""Edges that a step stretches too far are drawn together, and nothing else is touched."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dynamics.cloths import EXACT, fabric
from unsnarl.dynamics.pcg import Constraints, no_constraints
from unsnarl.mesh.primitives import sheet
from unsnarl.resolve import strain
from unsnarl.resolve.strain import BACK, FEW, TEAR, mend, tears
from unsnarl.simulation import simulate
from unsnarl.simulation.scene import Cloth, Scene
from unsnarl.simulation.simulate import Simulator

SHEET = sheet((1.0, 1.0), (30, 30))
EDGES = SHEET.edges
REST = np.linalg.norm(SHEET.x[EDGES[:, 0]] - SHEET.x[EDGES[:, 1]], axis=1)


def lengths(x):
    return np.linalg.norm(x[EDGES[:, 0]] - x[EDGES[:, 1]], axis=1)


def kicked(seed, size):
    """(x0, x1, 1 / mass): the sheet, a bit shaken, then one of its vertices and all of it moved away."""
    rng = np.random.default_rng(seed)
    x0 = SHEET.x + rng.normal(0, 0.002, SHEET.x.shape)
    x1 = x0 + rng.normal(0, 0.1, 3) + rng.normal(0, 0.001, x0.shape)
    x1[rng.integers(len(x1))] += size * rng.normal(0, 1, 3)
    return x0, x1, rng.uniform(0.5, 2.0, len(x0))


def test_one_edge_by_hand():
    """Ends of masses 1 and 3, 2 m apart, a third of that at rest: the lighter one goes three quarters of the way."""
    x0 = np.array([[0.0, 0, 0], [2 / 3, 0, 0]])
    x1 = np.array([[0.0, 0, 0], [2.0, 0, 0]])
    edges = np.array([[0, 1]] + 600 * [[0, 0]], np.int32)  # edges that are never too long
    rest = np.array([2 / 3] + 600 * [1.0])
    assert tears(x0, x1, edges, rest) == 1
    assert mend(x0, x1, edges, rest, np.array([1.0, 1 / 3]), no_constraints(2))
    shorter = 2.0 - BACK * 2 / 3
    assert x1 == pytest.approx(np.array([[0.75 * shorter, 0, 0], [2.0 - 0.25 * shorter, 0, 0]]))


@settings(deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 0.05))
def test_what_does_not_tear_stays_and_what_does_is_mended(seed, size):
    x0, x1, inverse_mass = kicked(seed, size)
    x0[0] += 0.05  # an edge that was long before may stay so
    x1[0] += 0.05
    before = x1.copy()
    too_long = lengths(x1) > TEAR * np.maximum(REST, lengths(x0))
    assert tears(x0, x1, EDGES, REST) == too_long.sum()
    few = too_long.sum() <= FEW * len(EDGES)
    done = mend(x0, x1, EDGES, REST, inverse_mass, no_constraints(len(x1)))
    assert few or not done
    if done:
        assert (lengths(x1) <= (1 + 1e-12) * TEAR * np.maximum(REST, lengths(x0))).all()
        assert too_long.any() or np.array_equal(x1, before)
        mass = 1 / inverse_mass[:, None]
        assert (mass * (x1 - before)).sum(axis=0) == pytest.approx(0, abs=1e-12)
        assert np.cross(before, mass * (x1 - before)).sum(axis=0) == pytest.approx(
            0, abs=0.1 * abs(mass * (x1 - before)).max() + 1e-12
        )  # the ends move along the edge, as it is by then


def test_a_kick_is_mended():
    x0, x1, inverse_mass = kicked(3, 0.03)
    assert tears(x0, x1, EDGES, REST)
    assert mend(x0, x1, EDGES, REST, inverse_mass, no_constraints(len(x1)))
    assert not tears(x0, x1, EDGES, REST)


def test_constraints_are_kept():
    """Vertices on a floor stay on it, and pins where they are."""
    x0, x1 = SHEET.x.copy(), SHEET.x.copy()
    middle = int(np.argmin((SHEET.x**2).sum(axis=1)))
    x1[middle] += [0.02, 0.01, 0.0]
    around = np.unique(EDGES[(middle == EDGES).any(axis=1)])
    pinned = around[around != middle][:2]
    held = no_constraints(len(x1))
    kept, free = held.kept, held.free
    kept[:], free[:] = 1, np.diag([1.0, 1.0, 0.0])
    kept[pinned], free[pinned] = 3, 0.0
    inverse_mass = np.ones(len(x1))
    inverse_mass[pinned] = 0.0
    assert tears(x0, x1, EDGES, REST)
    assert mend(x0, x1, EDGES, REST, inverse_mass, Constraints(kept, free, held.change))
    assert not tears(x0, x1, EDGES, REST)
    assert not x1[:, 2].any() and np.array_equal(x1[pinned], x0[pinned])
    kept[:], free[:] = 3, 0.0
    x1[middle] += [0.1, 0.0, 0.0]
    assert not mend(x0, x1, EDGES, REST, inverse_mass, Constraints(kept, free, held.change))


def test_too_many_are_left_as_they_are():
    x0 = SHEET.x
    x1 = 1.5 * x0
    assert tears(x0, x1, EDGES, REST)
    assert not mend(x0, x1, EDGES, REST, np.ones(len(x0)), no_constraints(len(x0)))
    assert np.array_equal(x1, 1.5 * x0)


def test_a_kick_in_a_simulation_needs_no_smaller_steps(monkeypatch):
    """One vertex flies off: the step is not halved, momentum is kept, and no edge gets too long."""
    mesh = sheet((1.0, 1.0), (80, 80))
    v = np.zeros_like(mesh.x)
    v[len(v) // 2] = [8.0, 5.0, 40.0]
    scene = Scene([Cloth(mesh, fabric(), velocity=v)], fps=48.0, substeps=1, gravity=0.0, air=0.0, resolver="none")
    simulator = Simulator(scene, EXACT)
    momentum = simulator.system.mass @ v
    mended = []
    monkeypatch.setattr(simulate, "mend", lambda *given: mended.append(strain.mend(*given)) or mended[-1])
    before = simulator.x
    for _ in range(2):
        assert simulator.advance().stats["halvings"] == 0
        assert not tears(before, simulator.x, mesh.edges, simulator.edge_length)
        before = simulator.x
        assert simulator.system.mass @ simulator.v == pytest.approx(momentum, abs=1e-9 * abs(momentum).max())
    assert mended and all(mended)
    monkeypatch.setattr(simulate, "mend", lambda *given: False)
    assert Simulator(scene, EXACT).advance().stats["halvings"] > 0
