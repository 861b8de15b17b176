"""Fans that are said to be open are: none of their faces cross, by whole-number arithmetic."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from tests.mesh.shapes import grid, moebius
from unsnarl.detect.fans import open_fans
from unsnarl.mesh import TriMesh


def assert_open_fans_do_not_cross(mesh):
    t = mesh.topology
    said = open_fans(mesh.x, mesh.faces, t.fan_start, t.fan_faces)
    crossing = oracles.crossing_pairs(mesh.x, mesh.faces)
    for f, g in crossing:
        for v in set(mesh.faces[f]) & set(mesh.faces[g]):
            assert not said[v]
    return said


@settings(max_examples=600, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.sampled_from([0, 2, 4]), st.booleans())
def test_random_sheets(seed, noise, cells, one_sided):
    rng = np.random.default_rng(seed)
    x, faces = grid(3, 3)
    if one_sided:
        x, faces = x[:14], np.array(moebius(7))
    x = x + noise * rng.standard_normal(x.shape)
    if cells:
        x = np.round(x * cells) / cells
    faces = np.array([rng.permutation(f) for f in faces])
    assert_open_fans_do_not_cross(TriMesh(x, faces))


@settings(max_examples=600, deadline=None)
@given(st.integers(3, 9), st.integers(0, 2**32 - 1), st.booleans(), st.integers(1, 2))
def test_stars_that_wind_once_or_twice(spokes, seed, closed, turns):
    """Faces around one vertex, seen from above at ascending angles, over one or two turns."""
    rng = np.random.default_rng(seed)
    step = np.sort(rng.uniform(0, 2 * np.pi * turns, spokes))
    r = rng.uniform(0.5, 2, spokes)
    x = np.column_stack([r * np.cos(step), r * np.sin(step), 0.3 * rng.standard_normal(spokes)])
    x = np.concatenate([[[0, 0, 0]], x])
    faces = [[0, k, k + 1] for k in range(1, spokes)] + ([[0, spokes, 1]] if closed else [])
    assert_open_fans_do_not_cross(TriMesh(x, np.array(faces)))


def test_flat_and_gently_curved_sheets_are_open_everywhere():
    x, faces = grid(6, 6)
    for bend in (0.0, 0.2):
        mesh = TriMesh(np.column_stack([x[:, :2], bend * x[:, 0] ** 2]), faces)
        inner = np.diff(mesh.topology.fan_start) > 1
        assert assert_open_fans_do_not_cross(mesh)[inner].all()
