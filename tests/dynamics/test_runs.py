"""Runs of the simulator: pins, restarts, threads, and steps that fail."""

import io

import numba
import numpy as np
import pytest

from tests.dynamics.cloths import fabric
from unsnarl.dynamics import coarse
from unsnarl.errors import BadInput
from unsnarl.io.frames import Frames
from unsnarl.mesh.primitives import sheet, sheet_corners, sphere
from unsnarl.simulation import simulate
from unsnarl.simulation.scene import Body, Cloth, Scene, Wind
from unsnarl.simulation.simulate import Simulator


def busy_scene():
    """Everything at once: two cloths fall on each other and on a ball that moves, one held at moving pins, in wind."""
    lower, upper = sheet((0.8, 0.8), (13, 13)), sheet((0.5, 0.5), (9, 9))
    upper = upper.moved(upper.x @ np.array([[0.96, 0, 0.28], [0, 1, 0], [-0.28, 0, 0.96]]) + [0.02, 0.01, 0.15])
    corners = sheet_corners((13, 13))[:2]
    at = lower.x[corners] + np.array([0.0, 0.05, 0.02])[None] * np.arange(12)[:, None, None]
    ball = sphere(0.2, 320)
    rolling = Frames(ball, ball.x[None] + [0, 0, -0.22] + np.array([0.02, 0, 0.03]) * np.arange(12)[:, None, None])
    cloths = [Cloth(lower, "silk", pins=corners, targets=at), Cloth(upper, "cotton", velocity=(0, 0, -1))]
    return Scene(
        cloths, [Body(rolling, 0.4)], wind=Wind((1.0, 0.5, 0.0), gusts=0.3), up="z", substeps=2, thickness=0.008
    )


def run(simulator, frames):
    return [simulator.advance() for _ in range(frames)]


def assert_same(one, other):
    for a, b in zip(one, other):
        assert a.number == b.number
        for s, t in zip(a.states, b.states):
            assert np.array_equal(s.x, t.x) and np.array_equal(s.v, t.v)


@pytest.fixture(params=[False, True], ids=["fine", "coarse"])
def level(request, monkeypatch):
    """Without a coarse level, and with one, which small cloths have not."""
    if request.param:
        monkeypatch.setattr(coarse, "LEAST", 0)


@pytest.mark.usefixtures("level")
def test_a_restarted_run_goes_on_bit_for_bit_the_same():
    first = Simulator(busy_scene())
    run(first, 6)
    file = io.BytesIO()
    np.savez(file, **first.snapshot())
    assert first.stats["contacts"] > 0 and first.stats["touching"] > 0
    expected = run(first, 4)
    assert sum(frame.stats["contacts"] for frame in expected) > 0

    file.seek(0)
    second = Simulator(busy_scene())
    second.restore(dict(np.load(file)))
    assert second.frame().number == 6
    assert_same(expected, run(second, 4))


def test_a_snapshot_is_not_changed_by_what_follows():
    simulator = Simulator(busy_scene())
    run(simulator, 3)
    taken = simulator.snapshot()
    kept = {key: value.copy() for key, value in taken.items()}
    once = run(simulator, 2)
    assert all(np.array_equal(kept[key], taken[key]) for key in kept)
    simulator.restore(taken)
    assert_same(once, run(simulator, 2))
    assert all(np.array_equal(kept[key], taken[key]) for key in kept)


def test_a_snapshot_of_another_cloth_is_refused():
    taken = Simulator(Scene([sheet((1.0, 1.0), (3, 3))])).snapshot()
    with pytest.raises(BadInput, match="checkpoint"):
        Simulator(Scene([sheet((1.0, 1.0), (4, 4))])).restore(taken)


@pytest.mark.usefixtures("level")
@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one core")
def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    """One frame, in the midst of contacts: more would take long where the cores are busy."""
    monkeypatch.setenv("UNSNARL_THREADS", "1")
    one = Simulator(busy_scene())
    run(one, 5)
    start = one.snapshot()
    expected = run(one, 1)
    assert expected[0].stats["contacts"] > 0 and expected[0].stats["touching"] > 0
    before = numba.get_num_threads()
    try:
        monkeypatch.setenv("UNSNARL_THREADS", "2")
        two = Simulator(busy_scene())
        assert numba.get_num_threads() == 2
        two.restore(start)
        assert_same(expected, run(two, 1))
    finally:
        numba.set_num_threads(before)


def test_pins_stay_and_follow_their_targets_exactly():
    mesh = sheet((0.5, 0.5), (6, 6))
    corners, rng = sheet_corners((6, 6)), np.random.default_rng(0)
    targets = mesh.x[corners[2:]] + np.cumsum(rng.normal(0, 0.004, (8, 2, 3)), axis=0)
    still = Cloth(mesh, pins=corners[:2])
    moving = Cloth(mesh.moved(mesh.x + [0, 0, 0.5]), pins=corners[2:], targets=targets + [0, 0, 0.5])
    targets = moving.targets
    simulator = Simulator(Scene([still, moving], up="z", fps=30.0, substeps=4))
    for k in range(1, 11):
        first, second = simulator.advance().states
        assert np.array_equal(first.x[corners[:2]], mesh.x[corners[:2]]) and not first.v[corners[:2]].any()
        assert second.x[corners[2:]] == pytest.approx(targets[min(k, 7)], abs=1e-15)
        speed = 30.0 * (targets[k] - targets[k - 1]) if k < 8 else np.zeros((2, 3))  # at rest after the last
        assert second.v[corners[2:]] == pytest.approx(speed, abs=1e-12)


def test_a_step_that_fails_is_tried_in_halves():
    """Velocities that would tear the cloth apart in one step; it calms down, and goes on in whole steps."""
    mesh = sheet((0.5, 0.5), (10, 10))
    v = np.random.default_rng(0).normal(0, 60.0, mesh.x.shape)
    simulator = Simulator(Scene([Cloth(mesh, fabric(damping=0.01), velocity=v)], up="z", fps=24.0, substeps=1))
    frames = run(simulator, 8)
    assert frames[0].stats["halvings"] > 0
    assert frames[0].stats["steps"] == frames[0].stats["halvings"] + 1  # each failure makes two steps of one
    assert frames[-1].stats["halvings"] == 0 and frames[-1].stats["steps"] == 1
    assert all(frame.stats["ef_pairs"] == 0 for frame in frames)
    assert abs(simulator.v).max() < 100.0
    edges = mesh.edges
    lengths = np.linalg.norm(simulator.x[edges[:, 0]] - simulator.x[edges[:, 1]], axis=1)
    assert lengths.max() < 4.0 * 0.5 / 10


def test_a_step_that_fails_leaves_no_trace(monkeypatch):
    """Steps that fail and are halved end where half steps from the start on end."""
    scene = busy_scene().but(fps=32.0)  # halves of its steps are exact
    halved, twice = Simulator(scene.but(substeps=1)), Simulator(scene)
    resolve, failed = simulate.resolve, []

    def fail_at_first(*arguments):
        done = resolve(*arguments)
        if len(failed) < halved.number + 1:
            failed.append(halved.number)
            done.clean = False
        return done

    for _ in range(6):
        monkeypatch.setattr(simulate, "resolve", fail_at_first)
        frame = halved.advance()
        monkeypatch.setattr(simulate, "resolve", resolve)
        assert frame.stats["halvings"] == 1 and frame.stats["steps"] == 2
        assert_same([frame], [twice.advance()])
    assert frame.stats["contacts"] > 0 and frame.stats["touching"] > 0


@pytest.mark.parametrize("size", [(1e-6, 1e-6), (1.0, 1e-9)])
def test_what_grows_beyond_all_measure_is_said(size):
    """Cloth of micrometres is beyond what steps of a frame can follow: it must not end as if all were well."""
    with pytest.raises(BadInput, match="went astray"):
        for _ in simulate.simulate(Scene([Cloth(sheet(size, (4, 4)))], frames=8, up="z")):
            pass
