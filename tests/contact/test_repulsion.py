"""Cloth near cloth: what pairs of features do to each other by hand, and sheets that meet."""

import numpy as np
import pytest

from tests.dynamics.cloths import EXACT, GRAVITY, dense_couplings, fabric, momentum
from unsnarl.contact.repulsion import repel
from unsnarl.detect.features import surfaces
from unsnarl.detect.proximity import Proximity, find_proximity
from unsnarl.mesh import combine
from unsnarl.mesh.primitives import sheet
from unsnarl.resolve import zones
from unsnarl.simulation.scene import Cloth, Scene
from unsnarl.simulation.simulate import Simulator

H = 0.01  # [s]
LIMIT = 0.005  # [m]


def vertex_over_face(height, weights=(0.5, 0.3, 0.2)):
    """A vertex (0) this high over a face (1, 2, 3)."""
    return Proximity(
        np.zeros(1, np.int32), np.array([[0, 1, 2, 3]], np.int32), np.array([[1.0, *(-w for w in weights)]]),
        np.array([[0.0, 0.0, 1.0]]), np.array([height]), np.array([LIMIT]),
    )  # fmt: skip


def velocities_after(near, v, *, friction=0.0, mass=(1.0, 2.0, 1.0, 3.0), body=False):
    """What free particles do under the couplings alone: (n, 3), v + dv with (M + matrix) dv = pull."""
    v, mass = np.array(v, dtype=float), np.array(mass)
    cloth = 1 if body else 4
    inverse = np.where(np.arange(4) < cloth, 1 / mass, 0.0)
    couplings = repel(near, v, H, inverse, np.full(4, friction), cloth)
    matrix, pull = dense_couplings(couplings, cloth)
    matrix += np.diag(np.repeat(mass[:cloth], 3))
    v[:cloth] += np.linalg.solve(matrix, pull).reshape(-1, 3)
    return v, len(couplings.vertex)


def relative(near, v):
    return near.weight[0] @ v


APPROACH = [[1.0, 2.0, -3.0], [0.0, 0.0, 0.5], [0.0, 0.0, 1.0], [0.2, 0.0, 0.0]]


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_what_pushes_keeps_momentum(friction):
    near, mass = vertex_over_face(0.004), np.array([1.0, 2.0, 1.0, 3.0])
    after, pairs = velocities_after(near, APPROACH, friction=friction, mass=mass)
    assert pairs == 1
    assert mass @ after == pytest.approx(mass @ np.array(APPROACH), abs=1e-12)


def test_an_approach_is_stopped():
    """To a few per cent, and nothing is thrown off: no more comes back than the missing distance in a step."""
    near = vertex_over_face(0.004)
    before = relative(near, np.array(APPROACH))[2]
    after = relative(near, velocities_after(near, APPROACH)[0])[2]
    assert before < -3.0
    assert 0.06 * before < after < 0.001 / H


def test_nothing_happens_to_what_parts():
    after, _ = velocities_after(vertex_over_face(0.004), [[0, 0, 1.0], [0, 0, 0], [0, 0, 0], [0, 0, 0]], friction=0.5)
    assert after == pytest.approx(np.array([[0, 0, 1.0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]))


def test_without_friction_nothing_is_changed_across_the_normal():
    after, _ = velocities_after(vertex_over_face(0.004), APPROACH)
    assert after[:, :2] == pytest.approx(np.array(APPROACH)[:, :2], abs=1e-12)


def test_friction_brakes_the_sliding_and_never_turns_it_round():
    near = vertex_over_face(0.002)
    sliding = [[0.3, 0.4, -0.2], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    slides = [
        relative(near, velocities_after(near, sliding, friction=friction)[0])[:2] for friction in (0.0, 0.1, 0.5, 100.0)
    ]
    sizes = [np.linalg.norm(s) for s in slides]
    assert sizes[0] == pytest.approx(0.5)
    assert sizes[0] > sizes[1] > sizes[2] > sizes[3] >= 0.0 and sizes[3] < 0.01
    for slide in slides:
        assert slide @ [0.6, 0.8] >= 0.0  # not turned round
        assert slide @ [0.8, -0.6] == pytest.approx(0.0, abs=1e-12)  # nor aside


def test_a_body_is_not_moved_but_its_motion_counts():
    """The vertex (cloth) is pushed by a face (body) that comes up; the body's vertices have no place in the solve."""
    near = vertex_over_face(0.004)
    v = [[0.0, 0, 0], [0, 0, 1.0], [0, 0, 1.0], [0, 0, 1.0]]
    after, pairs = velocities_after(near, v, body=True)
    assert pairs == 1
    assert np.array_equal(after[1:], np.array(v)[1:])
    assert 0.9 < after[0, 2] < 1.0 + 0.001 / H


def test_what_cannot_be_moved_is_left_alone():
    couplings = repel(vertex_over_face(0.002), np.array(APPROACH), H, np.zeros(4), np.zeros(4), 4)
    assert len(couplings.vertex) == 0


@pytest.mark.parametrize("seed", range(3))
def test_flat_sheets_push_each_other_across_and_never_aside(seed):
    """Pairs of a sheet that is, or comes, over another: the borders of faces on the way are in none."""
    rng = np.random.default_rng(seed)
    lower, upper = sheet((1.0, 1.0), (8, 8)), sheet((0.5, 0.5), (5, 5))
    angle, shift = rng.uniform(0, 6), [*rng.uniform(-0.1, 0.1, 2), 0.8 * LIMIT]
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    both = combine([lower, upper.moved(upper.x @ turn.T + shift)])
    moved = both.x + np.where(np.arange(len(both.x)) < len(lower.x), 0.0, 1.0)[:, None] * [0.03, 0.02, -0.3 * LIMIT]
    near = find_proximity(surfaces(both, len(both.x)), both.x, moved, np.full(len(both.x), LIMIT))
    assert abs(near.normal[:, 2]).min() > 0.999
    over = near.vertex[near.kind == 0, 0]
    assert set(range(len(lower.x), len(both.x))) <= set(over.tolist())  # all of the upper sheet is held


# --- in motion ---


def crumpling(friction, frames, *, speed=1.0, substeps=3):
    """A corrugated sheet pressed together, in free space: its folds meet."""
    mesh = sheet((1.0, 1.0), (14, 14))
    rng = np.random.default_rng(0)
    x = np.column_stack([0.55 * mesh.x[:, 0], mesh.x[:, 1], 0.12 * np.sin(9 * mesh.x[:, 0])])
    v = speed * (np.column_stack([-6 * x[:, 0], 0 * x[:, 0], 0 * x[:, 0]]) + rng.normal(0, 0.5, x.shape))
    cloth = Cloth(mesh.moved(x), fabric(warp=200.0, shear=70.0, bend=1e-5), velocity=v)
    scene = Scene([cloth], fps=40.0, substeps=substeps, gravity=0.0, air=0.0, friction=friction)
    simulator = Simulator(scene, EXACT)
    before, size = momentum(simulator), simulator.system.mass[:, None] * abs(simulator.v)
    arms = np.linalg.norm(np.cross(simulator.x, simulator.system.mass[:, None] * simulator.v), axis=1)
    stats = [simulator.advance().stats for _ in range(frames)]
    linear, angular = (abs(b - a).max() for a, b in zip(before, momentum(simulator)))
    return linear / size.sum(), angular / arms.sum(), stats


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_self_contact_keeps_momentum(friction):
    linear, angular, stats = crumpling(friction, 10)
    assert sum(s["contacts"] for s in stats) > 100
    assert linear < 1e-10
    assert angular < 0.02
    assert all(s["ef_pairs"] == 0 for s in stats)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_impulses_keep_momentum(friction):
    """So fast that it takes the resolver."""
    linear, angular, stats = crumpling(friction, 6, speed=4.0, substeps=1)
    assert sum(s["collisions"] for s in stats) > 100
    assert linear < 1e-10
    assert angular < 0.1
    assert all(s["ef_pairs"] == 0 for s in stats)


def test_rigid_zones_keep_momentum(monkeypatch):
    monkeypatch.setattr(zones, "ROUNDS", 0)  # no impulses: all that collides is gathered into zones
    linear, angular, stats = crumpling(0.0, 6, speed=4.0, substeps=1)
    assert sum(s["zones"] for s in stats) > 0
    assert linear < 1e-10
    assert angular < 0.1
    assert all(s["ef_pairs"] == 0 for s in stats)


def two_sheets(*, friction, velocity=(0.0, 0.0, 0.0), height=0.02, degrees=0.0, **changes):
    """A small sheet above a larger one that is held all over; tilted, so that x points downhill."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    lower, upper = sheet((1.0, 0.5), (20, 10)), sheet((0.3, 0.3), (7, 7))
    lower = Cloth(lower.moved(lower.x @ turn.T), pins=np.arange(len(lower.x)))
    upper = Cloth(upper.moved((upper.x + [-0.2, 0.01, height]) @ turn.T), velocity=turn @ np.array(velocity))
    scene = Scene([lower, upper], up="z", friction=friction, thickness=LIMIT, **changes)
    return Simulator(scene), turn


def test_a_sheet_comes_to_rest_on_another():
    simulator, _ = two_sheets(friction=0.3)
    for _ in range(30):
        stats = simulator.advance().stats
        assert stats["ef_pairs"] == 0
    height = simulator.frame().states[1].x[:, 2]
    assert height.min() > 0.3 * LIMIT and height.max() < 1.1 * LIMIT
    assert stats["kinetic_energy"] < 1e-6


def sliding(friction, speed, frames):
    """Mean velocities at each frame of a sheet that slides along another."""
    simulator, _ = two_sheets(friction=friction, velocity=(speed, 0, 0), height=0.9 * LIMIT, air=0.0)
    return [simulator.advance().states[1].v.mean(axis=0) for _ in range(frames)]


@pytest.mark.parametrize("speed", [0.2, 0.8])
def test_without_friction_a_sheet_slides_along_another_for_ever(speed):
    """Nothing of a flat sheet stands in the way of what slides along it: no border of a face, no vertex."""
    assert np.array(sliding(0.0, speed, 10))[:, 0] == pytest.approx(speed, rel=0.01)


def test_friction_stops_a_sheet_on_another():
    speeds = np.array(sliding(0.3, 0.8, 12))[:, 0]
    assert (np.diff(speeds) < 1e-3).all()
    assert speeds[-1] == pytest.approx(0.0, abs=1e-3) and speeds.min() > -1e-3
    assert speeds[5] < 1.2 * (0.8 - 0.3 * GRAVITY * 6 / 24)  # no less than Coulomb's; see `repulsion`


def test_a_sheet_sticks_on_a_slope_of_cloth():
    simulator, turn = two_sheets(friction=0.5, height=LIMIT, degrees=15.0)
    start = simulator.frame().states[1].x.mean(axis=0)
    for _ in range(24):
        simulator.advance()
    way = (simulator.frame().states[1].x.mean(axis=0) - start) @ turn[:, 0]
    assert abs(way) < 0.01
