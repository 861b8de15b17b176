"""Rest shapes are the triangles themselves, laid flat."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mesh.shapes import grid, points
from unsnarl.errors import BadInput
from unsnarl.mesh import TriMesh
from unsnarl.mesh.rest import face_areas, rest_from_positions, rest_from_uv

CORNERS = st.lists(
    st.tuples(*[st.floats(-100, 100, allow_subnormal=False).map(lambda c: round(c, 6))] * 3),
    min_size=3,
    max_size=3,
)
ONE = np.array([[0, 1, 2]])


def lengths(a, b):
    """Lengths of the two edges from corner 0 and of the third."""
    return [np.linalg.norm(a), np.linalg.norm(b), np.linalg.norm(b - a)]


def test_by_hand():
    rest = rest_from_positions(np.array([[1.0, 1, 1], [1, 1, 4], [1, 3, 2]]), ONE)
    assert rest.tolist() == [[[3, 1], [0, 2]]]
    assert face_areas(np.array([[1.0, 1, 1], [1, 1, 4], [1, 3, 2]]), ONE).tolist() == [3]


@settings(max_examples=500, deadline=None)
@given(CORNERS)
def test_laying_flat_keeps_lengths_and_area(corners):
    x = np.array(corners)
    (rest,) = rest_from_positions(x, ONE)
    size = 1e-12 * (1 + np.abs(x).max())
    assert lengths(*rest.T) == pytest.approx(lengths(x[1] - x[0], x[2] - x[0]), abs=size)
    assert rest[1, 0] == 0
    assert rest[0, 0] >= 0
    assert rest[1, 1] >= 0
    assert np.linalg.det(rest) / 2 == pytest.approx(face_areas(x, ONE)[0], abs=size * (1 + np.abs(x).max()))


@settings(max_examples=200, deadline=None)
@given(CORNERS, st.integers(0, 2**16))
def test_moving_rigidly_changes_nothing(corners, seed):
    x = np.array(corners)
    turn, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    here, there = rest_from_positions(x, ONE), rest_from_positions(x @ turn.T + 3, ONE)
    a, b = (
        here[0].T @ here[0],
        there[0].T @ there[0],
    )  # blind to rounding where the first edge is nearly nothing
    assert a == pytest.approx(b, abs=1e-10 * (1 + np.abs(x).max()) ** 2)


@pytest.mark.parametrize(
    "x",
    [
        [[1, 1, 1], [1, 1, 1], [1, 1, 1]],
        [[1, 1, 1], [1, 1, 1], [2, 1, 1]],
        [[0, 0, 0], [1, 1, 1], [3, 3, 3]],
        [[0, 0, 0], [1, 1, 1], [0, 0, 0]],
    ],
)
def test_faces_without_area(x):
    mesh = TriMesh(x, [[0, 1, 2]])
    assert np.isfinite(mesh.rest).all()
    assert np.linalg.det(mesh.rest[0]) == pytest.approx(0, abs=1e-14)
    assert lengths(*mesh.rest[0].T) == pytest.approx(lengths(*np.diff(mesh.x[[0, 1, 0, 2]], axis=0)[[0, 2]]))


@settings(max_examples=200, deadline=None)
@given(CORNERS)
def test_uv_panels_lie_as_they_are(corners):
    uv = np.array(corners)[:, :2]
    (rest,) = rest_from_uv(uv, ONE)
    assert (rest[:, 0] == uv[1] - uv[0]).all()
    assert (rest[:, 1] == uv[2] - uv[0]).all()
    (back,) = rest_from_uv(uv, ONE[:, [0, 2, 1]])
    assert np.linalg.det(back) == pytest.approx(-np.linalg.det(rest), abs=1e-9)
    lifted = rest_from_positions(np.c_[uv, np.zeros(3)], ONE)[0]
    assert lengths(*lifted.T) == pytest.approx(lengths(*rest.T), abs=1e-12)


def test_uv_that_is_not_there():
    with pytest.raises(BadInput, match="face 1 has no texture coordinates"):
        rest_from_uv(np.eye(2), np.array([[0, 1, 0], [0, -1, 1]]))


def test_rest_of_a_whole_mesh():
    x, faces = grid(3, 4)
    mesh = TriMesh(x, faces)
    assert mesh.areas == pytest.approx(np.full(24, 0.5))
    assert np.linalg.det(mesh.rest) == pytest.approx(np.ones(24))
    crumpled = mesh.moved(points(len(x)))
    assert (crumpled.rest == mesh.rest).all()
