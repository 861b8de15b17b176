"""Whole simulations, looked at after every time step: nothing ever crosses anything, and nothing flies away."""

import numpy as np
import pytest

from tests.resolve.runs import DRIVEN, STILL, random_scene, run

pytest.importorskip("ipctk")
HALVED = 40  # steps of a frame, at most
LASTING = 4  # frames within which a spike of energy has to be gone


def named(scenes):
    return pytest.mark.parametrize("scene", scenes, ids=lambda s: s.__name__)


def assert_quiet(figures):
    """Nothing gives energy to the cloth, but for spikes of stretch where something stops within a step.

    Motion and height never have more than at the start, save the little that folds had stored then.
    """
    assert max(figures["mechanical"]) < 1.02 * figures["mechanical"][0]
    start = figures["energy"][0]
    energy = np.array(figures["energy"])
    assert energy.max() < 20 * start
    assert np.median(energy) < 1.5 * start
    assert np.lib.stride_tricks.sliding_window_view(energy, LASTING).min(axis=1).max() < 1.2 * start
    assert max(figures["halvings"]) <= HALVED


@named(STILL)
def test_still_scenes(scene):
    assert_quiet(run(scene(8).but(name=scene.__name__)))


@named(DRIVEN)
def test_driven_scenes(scene):
    figures = run(scene(8).but(name=scene.__name__))
    assert max(figures["halvings"]) <= HALVED
    assert max(figures["stretch"]) < 2.0


def check_random(seed, frames):
    scene = random_scene(seed, frames)
    figures = run(scene)
    assert max(figures["halvings"]) <= HALVED
    if not any(len(cloth.pins) for cloth in scene.cloths):  # some fabrics are soft enough to hang down a long way
        assert max(figures["stretch"]) < 3.0


@pytest.mark.parametrize("seed", range(6))
def test_random_scenes(seed):
    check_random(seed, 12)


@pytest.mark.prove
@named(STILL)
def test_still_scenes_long(scene):
    figures = run(scene(120).but(name=scene.__name__))
    assert_quiet(figures)
    assert figures["energy"][-1] < figures["energy"][0]


@pytest.mark.prove
@named(DRIVEN)
def test_driven_scenes_long(scene):
    figures = run(scene(120).but(name=scene.__name__))
    assert max(figures["halvings"]) <= HALVED
    assert max(figures["stretch"]) < 3.0


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(100, 140))
def test_random_scenes_long(seed):
    check_random(seed, 100)
