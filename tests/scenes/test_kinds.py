"""The canonical scenes: each is of its kind, at any resolution, wherever it is put, and when it is shaken a little."""

import numpy as np
import pytest

import unsnarl as us
from tests.tangles.test_paths import assert_invariants
from unsnarl.scenes import folded_sheet
from unsnarl.scenes.kinds import CANONICAL
from unsnarl.scenes.sheets import bent, flat_grid
from unsnarl.tangles.paths import KINDS

RESOLUTIONS = (8, 13, 20, 28, 40)


def moved(meshes, rng):
    """The meshes after a random rotation, scaling and shift, all together."""
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    scale, shift = 10 ** rng.uniform(-3, 3), rng.standard_normal(3)
    return [m.moved((m.x @ turn.T + shift) * scale) for m in meshes]


def shaken(meshes, rng, share=1e-3):
    """The meshes with noise of this share of an edge's length."""
    length = min(np.linalg.norm(m.x[m.edges[:, 0]] - m.x[m.edges[:, 1]], axis=1).mean() for m in meshes)
    return [m.moved(m.x + share * length * rng.standard_normal(m.x.shape)) for m in meshes]


def assert_kind(kind, resolution, times):
    meshes = CANONICAL[kind].build(resolution)
    rng = np.random.default_rng(resolution)
    for _ in range(times):
        assert us.check(moved(meshes, rng)).counts == {kind: 1}
        assert us.check(shaken(meshes, rng)).counts == {kind: 1}


def test_there_is_a_scene_for_every_kind():
    assert set(CANONICAL) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_scene_does_what_it_says(kind):
    for resolution in (*RESOLUTIONS, 6, 61):
        CANONICAL[kind].check(resolution)
    assert_invariants(us.check(CANONICAL[kind].build(13)))


@pytest.mark.parametrize("resolution", RESOLUTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_survive_motion_and_noise(kind, resolution):
    assert_kind(kind, resolution, 10)


@pytest.mark.prove
@pytest.mark.parametrize("resolution", RESOLUTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_survive_200_motions(kind, resolution):
    assert_kind(kind, resolution, 200)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_the_inside_of_a_cone_lies_within_its_disc(resolution):
    """[E §4.2, fig. 3] The smaller side of the path, no further from the tip than the nearer end of the path."""
    report = us.check(CANONICAL["BLI"].build(resolution))
    (path,) = report.paths
    mesh = report.mesh
    tip = mesh.x[path.loop_vertices[0]]
    inside = path.inside[0]
    assert 0 < len(inside) < 0.3 * len(mesh.x)
    assert np.linalg.norm(mesh.x[inside] - tip, axis=1).max() <= 1.1 * path.length
    t = np.abs(mesh.uv[inside, 0])  # the loop of the profile is around t = 0
    assert t.max() < 0.5 * np.sqrt(0.6 * 1.25) + 0.5 * 2 / resolution


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_a_bump_through_the_next_layer_of_one_mesh(resolution):
    """Two closed images on one surface. [A fig. 6]"""
    uv, faces = flat_grid(np.linspace(-1, 1, 4 * resolution + 1), np.linspace(-0.5, 0.5, 2 * resolution + 1))
    u, v = uv.T
    turn = np.pi * (u + 1) / 2
    bump = 0.35 * np.exp(-40 * ((np.abs(np.cos(turn)) - 0.5) ** 2 + v**2)) * -np.sign(u)
    x = np.column_stack([np.sin(turn), v, -0.2 * np.cos(turn) + bump * (np.abs(u) > 0.2)])
    report = us.check(bent(uv, faces, x, "fold"))
    assert report.counts == {"CLOSED": 1}
    assert all(len(inside) > 0 for inside in report.paths[0].inside)


def borders_touch_at_a_loop(squares):
    """BLB: a fold through itself up to a border, whose two parts meet in one point."""
    uv, faces = flat_grid(np.linspace(-1, 1, 2 * squares + 1), np.linspace(-1, 1, 2 * squares + 1))
    t, v = uv.T
    return [bent(uv, faces, np.column_stack([t**3 - 0.25 * v * t, v, t**2]), "blb")]


def borders_touch_between_two_loops(squares):
    """BLLB: a fold through itself across a strip, with the two borders meeting in one point each."""
    uv, faces = flat_grid(np.linspace(-1, 1, 2 * squares + 1), np.linspace(-1, 1, 2 * squares + 1))
    t, v = uv.T
    return [bent(uv, faces, np.column_stack([t**3 - (1 - v**2) * t, v, t**2]), "bllb")]


def border_ends_on_a_border(squares):
    """BB_BI: an upright sheet whose border meets the border of the flat one in one point."""
    uv, faces = flat_grid(np.arange(2 * squares + 1.0), np.arange(2 * squares + 1.0))
    u, v = uv.T
    flat = bent(uv, faces, np.column_stack([u, v, 0 * u]), "flat")
    return [flat, bent(uv, faces, np.column_stack([0.5 * u, 0 * u + squares, v - squares]), "upright")]


@pytest.mark.parametrize("scene", [borders_touch_at_a_loop, borders_touch_between_two_loops, border_ends_on_a_border])
@pytest.mark.parametrize("squares", [1, 2, 3, 4, 8])
def test_touching_borders_give_one_of_the_seven_kinds(scene, squares):
    """E's BLB, BLLB and BB_BI need two borders to meet in exactly one point: perturbation always decides it."""
    rng = np.random.default_rng(squares)
    for _ in range(10):
        renumbered = []
        for mesh in scene(squares):
            new = rng.permutation(len(mesh.x))
            x = np.empty_like(mesh.x)
            x[new] = mesh.x
            renumbered.append((x, new[mesh.faces]))
        report = us.check(renumbered)
        assert set(report.counts) <= set(KINDS)
        assert_invariants(report)


def test_folded_sheet():
    folded_sheet.check(3000)
    assert_invariants(us.check(folded_sheet.build(1500)))


@pytest.mark.parametrize("triangles", [3_000, 7_000, 20_000, 50_000])
def test_the_inside_of_a_fold_at_the_border_grows_with_the_mesh(triangles):
    """The share of the vertices inside does not depend on how fine the mesh is."""
    report = us.check(folded_sheet.build(triangles))
    (path,) = [path for path in report.paths if path.kind == "BLI"]
    assert 0.02 < len(path.inside[0]) / len(report.mesh.x) < 0.05
