"""Untangling while simulating: the tortured shirt of A's fig. 8, and small tangles that get free within 100 steps."""

import numpy as np
import pytest

import unsnarl as us
from unsnarl.scenes import tortured_shirt
from unsnarl.scenes.tangles import family


@pytest.mark.prove
def test_tortured_shirt():
    runs = tortured_shirt.check()
    assert runs["auto"].free <= 100 and runs["none"].free is None


def hits_after(method: str, steps: int = 100) -> tuple[list[int], np.ndarray]:
    state = family("layered_sheets", 0)
    cloths = [us.Cloth(mesh, material) for mesh, material in zip(state.meshes, state.materials)]
    scene = us.Scene(cloths, frames=steps + 1, fps=60.0, substeps=1, gravity=0.0, untangle=method)
    hits = []
    for frame in us.simulate(scene):
        hits.append(frame.stats["ef_pairs"])
        if hits[-1] == 0:
            break
    return hits, np.concatenate([s.x for s in frame.states])


@pytest.mark.parametrize("method", ["auto", "rbf", "gia+icm"])
def test_layers_get_free_while_they_are_simulated(method):
    hits, _ = hits_after(method)
    assert hits[0] > 100 and hits[-1] == 0 and len(hits) <= 101


def test_without_untangling_they_stay():
    hits, _ = hits_after("none", 20)
    assert len(hits) == 21 and min(hits) > 0.5 * hits[0]


def test_same_bits_on_any_number_of_threads(monkeypatch):
    ends = []
    for threads in ("1", "2"):
        monkeypatch.setenv("UNSNARL_THREADS", threads)
        ends.append(hits_after("auto")[1])
    assert (ends[0] == ends[1]).all()
