"""Sheets laid flat, points found on them, and thin-plate splines."""

import numpy as np
import pytest

from unsnarl.mesh import TriMesh
from unsnarl.mesh.primitives import sheet
from unsnarl.untangle.patch import grow, locate, put_back, unfold
from unsnarl.untangle.spline import evaluate, fit, scale


def laid(mesh, some, first):
    t = mesh.topology
    place, at = np.full(len(mesh.faces), -1, np.int32), np.full(len(mesh.x), -1, np.int32)
    flat = np.zeros((len(mesh.x), 2))
    order = unfold(
        some, first, mesh.faces, t.face_edges, t.edge_faces, t.edge_face_count, mesh.rest, place, flat, at
    )  # fmt: skip
    return order, flat, place, at


def bent(mesh):
    """The sheet rolled up, with its rest shapes kept."""
    a = 3.0 * mesh.x[:, 0]
    return mesh.moved(np.column_stack([np.sin(a) / 3, mesh.x[:, 1], np.cos(a) / 3]))


def test_a_panel_comes_out_as_it_was_cut():
    mesh = bent(sheet((1.0, 0.7), (12, 12)))
    some = np.arange(len(mesh.faces), dtype=np.int32)
    order, flat, place, at = laid(mesh, some, 37)
    assert sorted(order.tolist()) == some.tolist() and (at >= 0).all()
    original = sheet((1.0, 0.7), (12, 12)).x[:, :2]
    i, j = np.random.default_rng(0).integers(0, len(flat), (2, 300))
    assert np.linalg.norm(flat[i] - flat[j], axis=1) == pytest.approx(np.linalg.norm(original[i] - original[j], axis=1))
    put_back(order, mesh.faces, place, at)
    assert (place == -1).all() and (at == -1).all()


def test_only_connected_faces_are_laid():
    mesh = sheet((1.0, 1.0), (6, 6))
    x = mesh.x[mesh.faces[:, 0], 0]
    some = np.flatnonzero(np.abs(x) > 0.3).astype(np.int32)
    order, *_ = laid(mesh, some, int(some[0]))
    assert 0 < len(order) < len(some)


def test_rings_of_faces():
    mesh = sheet((1.0, 1.0), (10, 10))
    t = mesh.topology
    ring = np.full(len(mesh.faces), -1, np.int32)
    seed = np.array([100], np.int32)
    expected = {100}
    for rings in range(4):
        found, level = grow(seed, mesh.faces, t.fan_start, t.fan_faces, rings, ring)
        assert set(found.tolist()) == expected and level.max() == rings and (ring == -1).all()
        touched = np.isin(mesh.faces, mesh.faces[list(expected)]).any(axis=1)
        expected = set(np.flatnonzero(touched).tolist())


def test_points_are_found_on_the_flat_sheet():
    mesh = bent(sheet((1.0, 0.7), (12, 12)))
    t = mesh.topology
    some = np.arange(len(mesh.faces), dtype=np.int32)
    order, flat, place, _ = laid(mesh, some, 37)
    rng = np.random.default_rng(1)
    for f in rng.integers(0, len(mesh.faces), 200):
        w = rng.dirichlet([1, 1, 1])
        p = w @ flat[mesh.faces[f]]
        g, *got = locate(
            p[0], p[1], int(rng.integers(len(mesh.faces))), mesh.faces, t.face_edges, t.edge_faces, t.edge_face_count,
            flat, place, 4 * len(order),
        )  # fmt: skip
        assert np.array(got) @ flat[mesh.faces[g]] == pytest.approx(p)
    far = flat.max(axis=0) + 5.0
    g, *got = locate(
        far[0], far[1], 0, mesh.faces, t.face_edges, t.edge_faces, t.edge_face_count, flat, place, 4 * len(order)
    )
    assert min(got) >= 0 and sum(got) == pytest.approx(1)
    assert (t.edge_face_count[t.face_edges[g]] == 1).any()  # it ends at the border


def values_at(centres, values, points, side=1.0):
    w, affine = fit(centres, values, side)
    return np.array([evaluate(centres, w, affine, scale(centres), *p) for p in points])


def test_splines_take_centres_to_values():
    rng = np.random.default_rng(2)
    angle = np.linspace(0, 5, 20)
    centres = np.column_stack([np.cos(angle), np.sin(angle)]) * 0.01 + 3.0
    values = np.column_stack([np.cos(2 * angle), angle]) * 0.02
    assert values_at(centres, values, centres) == pytest.approx(values, abs=2e-3 * np.ptp(values))
    turn = np.array([[0.3, -1.2], [0.8, 0.5]])
    more = rng.normal(size=(10, 2)) * 0.05 + 3.0
    assert values_at(centres, centres @ turn.T + 1.0, more) == pytest.approx(more @ turn.T + 1.0)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_on_a_straight_line_the_map_is_a_similarity(side):
    t = np.linspace(-1, 1, 9)[:, None]
    along, goal = np.array([0.6, 0.8]), np.array([0.0, 2.0])
    centres, values = 5.0 + t * along, -1.0 + t * goal
    across, there = np.array([-0.8, 0.6]), side * np.array([-2.0, 0.0])
    points = 5.0 + 0.3 * along + np.outer([0.0, 0.5, -2.0], across)
    expected = -1.0 + 0.3 * goal + np.outer([0.0, 0.5, -2.0], there)
    assert values_at(centres, values, points, side) == pytest.approx(expected)


def test_one_point_is_only_shifted():
    centres = np.full((5, 2), 2.0)
    assert values_at(centres, centres + 1.0, [(7.0, 8.0)]) == pytest.approx(np.array([[8.0, 9.0]]))


def test_points_that_only_rounding_tells_apart_are_one_point():
    """As the nodes of a path around two vertices in the same place."""
    centres = np.full((5, 2), (0.009042756878261842, 0.012765029046769913))
    centres[2:5:2, 0] += np.spacing(centres[0, 0]) * np.array([1, -1])
    assert values_at(centres, centres + 1.0, [(7.0, 8.0)]) == pytest.approx(np.array([[8.0, 9.0]]))


def test_meshes_without_uv_and_across_seams():
    """A tube of quads: unfolded from one face, neighbours keep their distances; the far side is torn somewhere."""
    n, m = 16, 6
    a = 2 * np.pi * np.arange(n) / n
    x = np.array([(np.cos(t), np.sin(t), 0.3 * k) for k in range(m) for t in a])
    quads = [
        (k * n + i, k * n + (i + 1) % n, (k + 1) * n + (i + 1) % n, (k + 1) * n + i)
        for k in range(m - 1)
        for i in range(n)
    ]
    mesh = TriMesh(x, np.array([(q[i], q[j], q[k]) for q in quads for i, j, k in ((0, 1, 2), (0, 2, 3))]))
    some = np.arange(len(mesh.faces), dtype=np.int32)
    order, flat, _, _ = laid(mesh, some, 60)
    assert len(order) == len(some)
    near = order[:40]
    p, q = x[mesh.faces[near]], flat[mesh.faces[near]]
    space = np.linalg.norm(p - np.roll(p, 1, axis=1), axis=2)
    assert np.linalg.norm(q - np.roll(q, 1, axis=1), axis=2) == pytest.approx(space)
