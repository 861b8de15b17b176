"""Features near each other, found through the tree, are those of all pairs of features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from tests.mesh.shapes import grid
from unsnarl.detect.features import surfaces
from unsnarl.detect.proximity import SLANT, Proximity, as_proximity, find_proximity
from unsnarl.detect.sweep import find_collisions
from unsnarl.mesh import TriMesh, combine, split_non_manifold
from unsnarl.mesh.primitives import sphere


def rows(found):
    return [(kind, *vertex) for kind, vertex in zip(found.kind.tolist(), found.vertex.tolist())]


def same(a, b):
    return all(np.array_equal(getattr(a, key), getattr(b, key)) for key in a.__dataclass_fields__)


def assert_pairs_are_right(mesh, cloth, x, x1, thickness):
    on = surfaces(mesh, cloth)
    found = find_proximity(on, x, x1, thickness)
    expected = oracles.near_pairs_of(x, x1, mesh.faces, on.ids, cloth, thickness, SLANT)
    assert rows(found) == sorted(expected)
    scale = np.abs(x).max() + np.abs(x1).max()
    for i, pair in enumerate(rows(found)):
        weight, _, distance, limit = expected[pair]
        np.testing.assert_allclose(found.weight[i], weight, atol=1e-12)
        if np.linalg.norm(weight @ x[list(pair[1:])]) > 1e-9 * scale:
            np.testing.assert_allclose(found.distance[i], distance, atol=1e-12 * scale)
        np.testing.assert_allclose(np.linalg.norm(found.normal[i]), 1, atol=1e-9)
        assert found.limit[i] == limit
    return found


coordinates = {
    "tiny integer grid": st.integers(0, 2).map(float),
    "flat": st.sampled_from([0.0, 0.0, 0.0, 1.0]),
    "floats": st.integers(-(2**40), 2**40).map(lambda k: k / 2**40),
    "thin": st.integers(-(2**40), 2**40).map(lambda k: 0.05 * k / 2**40),
}


@st.composite
def moving_soups(draw):
    """Different triangles between a few points, and a body; where they are and where they are expected."""
    n = draw(st.integers(4, 8))
    coordinate = coordinates[draw(st.sampled_from(sorted(coordinates)))]
    height = coordinates[draw(st.sampled_from(sorted(coordinates)))]
    points = st.lists(st.tuples(coordinate, coordinate, height), min_size=n, max_size=n).map(np.array)
    face = st.lists(st.integers(0, n - 1), min_size=3, max_size=3, unique=True)
    some = st.lists(face, min_size=1, max_size=8, unique_by=lambda f: tuple(sorted(f)))
    mesh = TriMesh(draw(points), np.array(draw(some)))
    x1 = draw(points)
    if draw(st.booleans()):
        mesh = split_non_manifold(mesh)
        x1 = x1 if mesh.origin is None else x1[mesh.origin]
    cloth = len(mesh.x)
    if draw(st.booleans()):
        body = TriMesh(draw(points), np.array(draw(some)))
        mesh = combine([mesh, body])
        x1 = np.concatenate([x1, draw(points)])
    x1 = mesh.x + draw(st.sampled_from([0.0, 0.01, 1.0])) * (x1 - mesh.x)
    thickness = draw(st.sampled_from([1e-3, 0.05, 0.5]))
    finer = st.sampled_from([thickness, thickness, 0.3 * thickness])
    return mesh, cloth, x1, np.array(draw(st.lists(finer, min_size=len(x1), max_size=len(x1))))


@settings(max_examples=400, deadline=None)
@given(moving_soups())
def test_soups(soup):
    mesh, cloth, x1, thickness = soup
    assert_pairs_are_right(mesh, cloth, mesh.x, x1, thickness)


@pytest.mark.prove
@settings(max_examples=6000, deadline=None)
@given(moving_soups())
def test_many_soups(soup):
    mesh, cloth, x1, thickness = soup
    assert_pairs_are_right(mesh, cloth, mesh.x, x1, thickness)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05, 0.5]))
def test_sheets_on_a_body(seed, speed):
    rng = np.random.default_rng(seed)
    x, faces = grid(3, 3)
    ball = sphere(1.0, 20)
    lower, upper = (x + [0.3, 0.2, z] + 0.02 * rng.standard_normal(x.shape) for z in (0.0, 0.1))
    mesh = combine([TriMesh(lower, faces), TriMesh(upper, faces), ball.moved(ball.x + [1.7, 1.6, -0.95])])
    cloth = 2 * len(x)
    x1 = mesh.x + speed * rng.standard_normal(mesh.x.shape)
    found = assert_pairs_are_right(mesh, cloth, mesh.x, x1, np.full(len(mesh.x), 0.15))
    assert (found.kind == 0).any() and (found.kind == 1).any()
    assert not (found.vertex >= cloth).all(axis=1).any()


def test_by_hand():
    """A vertex above a face: now, or only at the end of the step."""
    x = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0], [1, 1, 0.5], [1, 2, 5], [2, 1, 5.0]])
    mesh = TriMesh(x, np.array([[0, 1, 2], [3, 4, 5]]))
    on = surfaces(mesh, 6)
    found = find_proximity(on, x, x, np.full(6, 1.0))
    assert rows(found) == [(0, 3, 0, 1, 2)]
    np.testing.assert_allclose(found.weight, [[1, -0.5, -0.25, -0.25]])
    np.testing.assert_allclose(found.normal, [[0, 0, 1]])
    np.testing.assert_allclose(found.distance, [0.5])
    assert len(find_proximity(on, x, x, np.full(6, 0.5))) == 0
    x1 = x.copy()
    x1[3:, 2] -= 0.25
    found = find_proximity(on, x, x1, np.full(6, 0.3))
    assert rows(found) == [(0, 3, 0, 1, 2)]
    np.testing.assert_allclose(found.distance, [0.5])
    np.testing.assert_allclose(found.limit, [0.3])
    assert len(find_proximity(on, x, x1, np.full(6, 0.2))) == 0


def test_what_collides_on_its_way_is_near():
    """Two sheets and a body are thrown at each other: what collides, less what contact has no use for."""
    rng = np.random.default_rng(3)
    x, faces = grid(6, 6)
    ball = sphere(1.0, 80)
    mesh = combine([TriMesh(x, faces), TriMesh(x + [0.31, 0.22, 0.4], faces), ball.moved(ball.x + [3.0, 3.0, -1.3])])
    cloth = 2 * len(x)
    x1 = mesh.x + 0.1 * rng.standard_normal(mesh.x.shape)
    x1[len(x) : cloth, 2] -= 0.7
    x1[cloth:, 2] += 0.5
    thickness = np.full(len(mesh.x), 0.2)
    thickness[rng.random(len(x1)) < 0.1] = 0.0
    found = find_collisions(surfaces(mesh, cloth), mesh.x, x1, 0.02)
    near = as_proximity(found, mesh.x, thickness, cloth)
    use = [
        i
        for i, (kind, *vertex) in enumerate(rows(found))
        if thickness[vertex].min() > 0
        and not (kind == 0 and vertex[1] >= cloth)
        and not (kind == 1 and 0.0 in found.weight[i])
    ]
    assert rows(near) == [rows(found)[i] for i in use] and 30 < len(use) < len(found)
    assert np.array_equal(near.weight, found.weight[use]) and np.array_equal(near.normal, found.normal[use])
    for i in range(len(near)):
        relative = near.weight[i] @ mesh.x[near.vertex[i]]
        assert near.distance[i] == pytest.approx(relative @ near.normal[i], abs=1e-14)
        assert near.limit[i] == thickness[near.vertex[i]].min()
    assert (near.distance > 0).mean() > 0.9  # these turn little on their way
    assert len(as_proximity(found.only(np.zeros(len(found), bool)), mesh.x, thickness, cloth)) == 0


def test_a_flat_sheet_is_not_near_itself():
    """With a thickness below half the height of its triangles."""
    x, faces = grid(6, 6)
    mesh = TriMesh(x, faces)
    assert len(find_proximity(surfaces(mesh, len(x)), x, x, np.full(len(x), 0.49 / np.sqrt(2)))) == 0


def test_one_sheet_over_another_is_near_in_each_vertex():
    """Every vertex of one over the other is near one of its faces, at the height of the sheet, or at an edge."""
    x, faces = grid(5, 5)
    mesh = combine([TriMesh(x, faces), TriMesh(x + [0.31, 0.22, 0.1], faces)])
    found = find_proximity(surfaces(mesh, len(mesh.x)), mesh.x, mesh.x, np.full(len(mesh.x), 0.2))
    np.testing.assert_allclose(found.distance, 0.1)
    np.testing.assert_allclose(np.abs(found.normal[:, 2]), 1)
    upper = {v for kind, v, *_ in rows(found) if kind == 0 and v >= len(x)}
    over = {len(x) + v for v in range(len(x)) if (x[v, :2] + [0.31, 0.22] <= 5).all()}
    assert upper == over


def test_same_answer_with_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(0)
    x, faces = grid(30, 30)
    mesh = combine([TriMesh(x, faces), TriMesh(x + [0.3, 0.2, 0.05], faces)])
    y = mesh.x + 0.05 * rng.standard_normal(mesh.x.shape)
    y1 = y + 0.05 * rng.standard_normal(y.shape)
    on, answers = surfaces(mesh, len(y)), []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("UNSNARL_THREADS", threads)
        answers.append(find_proximity(on, y, y1, np.full(len(y), 0.2)))
    assert len(answers[0]) > 1000
    assert same(answers[0], answers[1]) and same(answers[0], answers[2])
    assert rows(answers[0]) == sorted(rows(answers[0]))
    elsewhere = surfaces(mesh.moved(rng.standard_normal(y.shape)), len(y))
    assert same(answers[0], find_proximity(elsewhere, y, y1, np.full(len(y), 0.2)))


def test_joined():
    """Of pairs that are in both, those of the other; the rest of each; in order."""

    def some(pairs, distance):
        pairs = np.array(pairs, dtype=np.int32)
        k = len(pairs)
        figures = np.zeros((k, 4)), np.zeros((k, 3)), np.full(k, distance), np.ones(k)
        return Proximity(pairs[:, 0].copy(), pairs[:, 1:].copy(), *figures)

    one = some([[0, 1, 2, 3, 4], [0, 5, 2, 3, 4], [1, 1, 2, 3, 4]], 1.0)
    two = some([[0, 3, 6, 7, 8], [0, 5, 2, 3, 4]], 2.0)
    both = one.joined(two)
    assert rows(both) == [(0, 1, 2, 3, 4), (0, 3, 6, 7, 8), (0, 5, 2, 3, 4), (1, 1, 2, 3, 4)]
    assert both.distance.tolist() == [1.0, 2.0, 2.0, 1.0]
