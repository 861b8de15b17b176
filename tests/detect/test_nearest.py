"""Nearest points are those of all faces, and the side is right for every closed surface."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from tests.mesh.shapes import TETRAHEDRON, grid
from unsnarl.detect.bvh import build_bvh
from unsnarl.detect.nearest import nearest, pseudo_normals
from unsnarl.mesh import TriMesh
from unsnarl.mesh.primitives import box, sphere


def query(mesh, points, reach=np.inf):
    points = np.ascontiguousarray(points, dtype=float).reshape(-1, 3)
    tree, normals = build_bvh(mesh.x, mesh.faces), pseudo_normals(mesh, mesh.x)
    return nearest(mesh, mesh.x, tree, normals, points, np.full(len(points), float(reach)))


def on_surface(mesh, face, weight):
    return (weight[:, :, None] * mesh.x[mesh.faces[face]]).sum(axis=1)


def torus(around=16, across=10, radius=1.0, thick=0.3):
    u, v = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    a, b = 2 * np.pi * u / around, 2 * np.pi * v / across
    ring = radius + thick * np.cos(b)
    x = np.stack([ring * np.cos(a), ring * np.sin(a), thick * np.sin(b)], axis=-1).reshape(-1, 3)
    number = np.arange(around * across).reshape(around, across)
    east, north = np.roll(number, -1, axis=0), np.roll(number, -1, axis=1)
    both = np.roll(east, -1, axis=1)
    return TriMesh(x, np.stack([number, east, both, number, both, north], axis=-1).reshape(-1, 3), name="torus")


def outward(mesh):
    """The same with normals that point outwards."""
    a, b, c = mesh.x[mesh.faces].swapaxes(0, 1)
    return mesh if (a * np.cross(b, c)).sum() > 0 else TriMesh(mesh.x, mesh.faces[:, ::-1])


@st.composite
def solids(draw):
    """Closed surfaces that do not cross themselves: smooth, spiky, thin, with edges much sharper than a right angle."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["tetrahedron", "needle", "flake", "star", "pancake", "box", "thin box", "torus"]))
    if kind in ("tetrahedron", "needle", "flake"):
        x = rng.standard_normal((4, 3))
        if kind == "needle":
            x[1:] = x[1] + 0.03 * rng.standard_normal((3, 3))
        elif kind == "flake":
            x[:, 2] *= 1e-3
        mesh = TriMesh(x, np.array(TETRAHEDRON))
    elif kind == "star":
        mesh = sphere(1.0, 80)
        mesh = mesh.moved(mesh.x * rng.uniform(0.2, 2, (len(mesh.x), 1)))
    elif kind == "pancake":
        mesh = sphere(1.0, 80)
        mesh = mesh.moved(mesh.x * [1, 1, 0.01])
    elif kind == "torus":
        mesh = torus(8, 5)
    else:
        mesh = box((1, 0.7, 1e-4 if kind == "thin box" else 0.5), (3, 2, 1))
    if draw(st.booleans()):
        mesh = mesh.moved(mesh.x @ np.linalg.qr(rng.standard_normal((3, 3)))[0] + rng.standard_normal(3))
    return outward(mesh), rng


def scattered(mesh, rng, count):
    """Points anywhere, and near faces, edges and vertices at all distances."""
    face = mesh.faces[rng.integers(len(mesh.faces), size=3 * count)]
    weight = rng.dirichlet([1, 1, 1], 3 * count)
    weight[count : 2 * count, 0] = 0.0  # edges
    weight[2 * count :, 1:] = 0.0  # vertices
    at = (weight / weight.sum(axis=1, keepdims=True))[:, :, None] * mesh.x[face]
    away = 10 ** rng.uniform(-6, 0, (3 * count, 1)) * rng.standard_normal((3 * count, 3))
    return np.concatenate([mesh.x.mean(axis=0) + rng.standard_normal((count, 3)), at.sum(axis=1) + away])


def check_solid(mesh, rng):
    points = scattered(mesh, rng, 10)
    face, weight, normal, distance = query(mesh, points)
    true = np.array([oracles.distance_to_faces(mesh.x, mesh.faces, p).min() for p in points])
    np.testing.assert_allclose(np.abs(distance), true, rtol=1e-9, atol=1e-12)
    winding = np.array([oracles.winding_number(mesh.x, mesh.faces, p) for p in points])
    clear = true > 1e-9
    assert (np.abs(winding - np.round(winding))[clear] < 1e-3).all()
    assert ((distance < 0) == (winding > 0.5))[clear].all()
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1, atol=1e-9)
    foot = on_surface(mesh, face, weight)
    np.testing.assert_allclose(foot + distance[:, None] * normal, points, atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(solids())
def test_inside_and_outside_of_closed_surfaces(solid):
    check_solid(*solid)


@pytest.mark.prove
@settings(max_examples=800, deadline=None)
@given(solids())
def test_inside_and_outside_of_many_closed_surfaces(solid):
    check_solid(*solid)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["floats", "integers", "flat", "far away"]))
def test_distance_from_soups(seed, kind):
    """Zero-area and duplicated faces among them; and nothing beyond the reach is found, nothing within it missed."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(3, 9), rng.integers(1, 20)
    faces = np.array([rng.choice(n, 3, replace=False) for _ in range(m)])
    x, points = rng.standard_normal((n, 3)), rng.standard_normal((20, 3))
    if kind == "integers":
        x, points = rng.integers(0, 3, (n, 3)).astype(float), rng.integers(0, 5, (20, 3)) / 2.0
    elif kind == "flat":
        x[:, 2], points[::2, 2] = 0.0, 0.0
    elif kind == "far away":
        x, points = x + 1e4, points + 1e4
    mesh = TriMesh(x, faces)
    true = np.array([oracles.distance_to_faces(x, faces, p) for p in points])
    face, weight, _, distance = query(mesh, points)
    found = face >= 0
    assert (found | (true.min(axis=1) < 1e-9)).all()  # on a face without area there is no direction
    np.testing.assert_allclose(np.abs(distance[found]), true.min(axis=1)[found], rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(true[found, face[found]], true.min(axis=1)[found], rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(weight[found].sum(axis=1), 1)
    assert (weight >= -1e-15).all()
    reach = float(np.median(true.min(axis=1)))
    face, _, _, distance = query(mesh, points, reach)
    sure = np.abs(true.min(axis=1) - reach) > 1e-9
    assert ((face >= 0) == (true.min(axis=1) < reach))[found & sure].all()
    assert (distance[(face < 0) & found] == np.inf).all()


def test_by_hand():
    """Around a box: over a face, at an edge, at a corner, inside; on the surface itself."""
    cube = box((2, 2, 2), (1, 1, 1))
    r = np.sqrt(0.5)
    expected = {
        (0.3, 0.2, 3.0): (2.0, (0, 0, 1)),
        (0.3, -4.0, 0.1): (3.0, (0, -1, 0)),
        (2.0, 0.3, 2.0): (np.sqrt(2), (r, 0, r)),
        (2.0, 2.0, 2.0): (np.sqrt(3), (3**-0.5, 3**-0.5, 3**-0.5)),
        (0.9, 0.1, 0.2): (-0.1, (1, 0, 0)),
        (0.1, 0.2, 1.0): (0.0, (0, 0, 1)),
        (1.0, 0.25, 1.0): (0.0, (r, 0, r)),
        (-1.0, -1.0, 1.0): (0.0, (-(3**-0.5), -(3**-0.5), 3**-0.5)),
    }
    _, _, normal, distance = query(cube, list(expected))
    np.testing.assert_allclose(distance, [d for d, _ in expected.values()], atol=1e-12)
    np.testing.assert_allclose(normal, [n for _, n in expected.values()], atol=1e-12)


@pytest.mark.parametrize("mesh", [sphere(1.0, 320), box((1, 1, 1e-3), (4, 4, 1)), torus()], ids=lambda m: m.name)
def test_points_on_the_surface(mesh):
    """Vertices, points on edges and points on faces: nearly no distance, and the normal is that of the feature."""
    normals = pseudo_normals(mesh, mesh.x)
    face, weight, normal, distance = query(mesh, mesh.x)
    assert (np.abs(distance) < 1e-12).all()
    assert all(v in mesh.faces[f] for v, f in enumerate(face))
    wanted = normals.vertex / np.linalg.norm(normals.vertex, axis=1)[:, None]
    np.testing.assert_allclose(normal, wanted, atol=1e-9)
    middle = mesh.x[mesh.edges].mean(axis=1)
    face, weight, normal, distance = query(mesh, middle)
    assert (np.abs(distance) < 1e-12).all()
    assert all(f in mesh.edge_faces[e] for e, f in enumerate(face))
    inside = mesh.x[mesh.faces].mean(axis=1)
    face, weight, normal, distance = query(mesh, inside)
    assert (np.abs(distance) < 1e-12).all()
    np.testing.assert_allclose(weight, 1 / 3, atol=1e-9)
    np.testing.assert_allclose(normal, normals.face, atol=1e-9)
    step = 0.3e-3
    for side in (1, -1):
        _, _, _, distance = query(mesh, inside + side * step * normals.face)
        np.testing.assert_allclose(distance, side * step, atol=1e-12)


def test_fine_sphere_and_torus_are_the_round_ones():
    rng = np.random.default_rng(1)
    points = rng.uniform(-1.5, 1.5, (700, 3))
    _, _, normal, distance = query(sphere(1.0, 20 * 24**2), points)
    length = np.linalg.norm(points, axis=1)
    np.testing.assert_allclose(distance, length - 1, atol=2e-3)
    np.testing.assert_allclose(normal, points / length[:, None], atol=0.1)
    _, _, _, distance = query(torus(120, 60), points)
    ring = np.hypot(np.hypot(points[:, 0], points[:, 1]) - 1.0, points[:, 2]) - 0.3
    np.testing.assert_allclose(distance, ring, atol=2e-3)


def test_sharp_edge_is_not_taken_for_a_face():
    """Beyond the edge of a thin wedge, one of the faces beside it is seen from behind."""
    x = np.array([[0, 0, 0], [0, 1, 0], [1, 0.5, 0.02], [1, 0.5, -0.02]])
    wedge = outward(TriMesh(x, np.array(TETRAHEDRON)))
    for turn in range(3):
        mesh = TriMesh(x, np.roll(wedge.faces, turn, axis=1))
        share = np.random.default_rng(turn).uniform(0.01, 0.99, 300)
        points = np.stack([np.full(300, -0.1), share, np.full(300, 0.03)], axis=1)
        _, weight, normal, distance = query(mesh, points)
        assert (distance > 0).all()
        assert ((weight == 0).sum(axis=1) == 1).all()  # exactly on the edge
        np.testing.assert_allclose(normal, np.tile([-0.1, 0, 0.03] / np.hypot(0.1, 0.03), (300, 1)), atol=1e-9)


def test_open_surface_has_two_sides():
    x, faces = grid(4, 4)
    mesh = TriMesh(x, faces)
    up = np.sign(np.cross(x[faces[0, 1]] - x[faces[0, 0]], x[faces[0, 2]] - x[faces[0, 0]])[2])
    rng = np.random.default_rng(2)
    points = rng.uniform(0, 4, (200, 3)) - [0, 0, 2]
    _, _, normal, distance = query(mesh, points)
    np.testing.assert_allclose(distance, up * points[:, 2], atol=1e-12)
    np.testing.assert_allclose(normal, np.tile([0, 0, up], (200, 1)), atol=1e-9)
    beside = query(mesh, [[6.0, 2.0, 0.0], [6.0, 2.0, up], [6.0, 2.0, -up]])
    np.testing.assert_allclose(np.abs(beside[3]), [2, np.sqrt(5), np.sqrt(5)])
    assert beside[3][1] > 0 > beside[3][2]


def test_refitted_trees_and_threads_change_nothing(monkeypatch):
    mesh = sphere(1.0, 1280)
    rng = np.random.default_rng(3)
    bent = mesh.moved(mesh.x * [1, 0.5, 2] + 0.1 * np.sin(5 * mesh.x[:, ::-1]) + 100.0)
    points = np.ascontiguousarray(100 + rng.uniform(-2, 2, (1000, 3)))
    reach = rng.uniform(0, 1, 1000)
    answers = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("UNSNARL_THREADS", threads)
        refitted = build_bvh(mesh.x, mesh.faces)
        refitted.refit(bent.x, bent.faces)
        for tree in (refitted, build_bvh(bent.x, bent.faces)):
            answers.append(nearest(bent, bent.x, tree, pseudo_normals(bent, bent.x), points, reach))
    assert 200 < (answers[0][0] >= 0).sum() < 900
    for other in answers[1:]:
        np.testing.assert_array_equal(answers[0][0] < 0, other[0] < 0)
        np.testing.assert_allclose(answers[0][3], other[3], rtol=1e-12)
        np.testing.assert_allclose(answers[0][2], other[2], atol=1e-9)
    for one, other in zip(answers[0], answers[2]):
        np.testing.assert_array_equal(one, other)
