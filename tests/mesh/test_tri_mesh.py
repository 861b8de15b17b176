"""`TriMesh`: what it refuses, what it keeps when it moves, its panels and seams, and several as one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mesh.shapes import TETRAHEDRON, grid, meshes, points
from tests.oracles import panels_and_seams
from unsnarl.errors import BadInput
from unsnarl.mesh import Polygons, TriMesh, as_mesh, combine

X = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
F = [[0, 1, 2]]
UV = [[0, 0], [1, 0], [0, 1]]
NAN, INF = float("nan"), float("inf")


def refusal(*args, **kwargs) -> str:
    """The message with which `TriMesh` refuses; one line that begins with the mesh's name."""
    with pytest.raises(BadInput) as caught:
        TriMesh(*args, name="shirt", **kwargs)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("shirt: ")
    return message


# --- bad input ---


@pytest.mark.parametrize(
    ("x", "says"),
    [
        ([[0, 0, 0], [1, NAN, 0], [0, 1, 0]], "vertex 1 has a NaN or infinite"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, -INF]], "vertex 2 has a NaN or infinite"),
        ([[0, 0, 0], [1, 0, 0], [0, None, 0]], "vertex 2 has a NaN or infinite"),
        ([[0, 0], [1, 0], [0, 1]], "shape (n, 3), not (3, 2)"),
        ([0, 1, 2], "shape (n, 3), not (3,)"),
        ([], "shape (n, 3)"),
        (np.zeros((1, 3, 3)), "shape (n, 3)"),
        (None, "shape (n, 3)"),
        (np.zeros((0, 3)), "out of range"),
        ([[0, 0, 0], [1, 0]], "numbers in rows of three"),
        ([["a", "b", "c"]] * 3, "numbers in rows of three"),
        ([[object()] * 3] * 3, "numbers in rows of three"),
        ([[10**400, 0, 0]] * 3, "numbers in rows of three"),
        (object(), "numbers in rows of three"),
        ([[1e308, 0, 0], [-1e308, 0, 0], [0, 1e308, 0]], "too large"),
    ],
)
def test_bad_positions(x, says):
    assert says in refusal(x, F)


@pytest.mark.parametrize(
    ("faces", "says"),
    [
        ([], "no faces"),
        (np.zeros((0, 3), dtype=int), "no faces"),
        ([[0, 1, 3]], "face 0 names a vertex out of range ([0, 1, 3], vertices: 3)"),
        ([[0, 1, 2], [0, 1, 2**40]], "face 1 names a vertex out of range"),
        ([[0, 1, 2], [0, -1, 2]], "face 1 names a vertex out of range"),
        (np.array([[0, 1, 2**63]], dtype=np.uint64), "out of range"),
        ([[0, 1, 2**70]], "whole numbers"),
        ([[0, 1, 2], [2, 1, 2]], "face 1 names a vertex twice ([2, 1, 2])"),
        ([[1, 1, 2]], "face 0 names a vertex twice"),
        ([[0, 1, 1]], "face 0 names a vertex twice"),
        ([[0.0, 1.0, 2.0]], "whole numbers in rows of three, not float64"),
        ([[False, True, True]], "whole numbers"),
        ([["0", "1", "2"]], "whole numbers"),
        ([[0, 1, None]], "whole numbers"),
        ([[0, 1, 2], [0, 1]], "whole numbers"),
        (None, "whole numbers"),
        (object(), "whole numbers"),
        ([0, 1, 2], "shape (m, 3), not (3,)"),
        ([[0, 1, 2, 0]], "shape (m, 3), not (1, 4)"),
        (np.zeros((1, 3, 1), dtype=int), "shape (m, 3)"),
    ],
)
def test_bad_faces(faces, says):
    assert says in refusal(X, faces)


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ({"uv": UV}, "come together"),
        ({"face_uv": F}, "come together"),
        ({"uv": [[0, 0, 0]] * 3, "face_uv": F}, "uv must be (k, 2)"),
        ({"uv": UV, "face_uv": [[0, 1]]}, "face_uv (1, 3)"),
        ({"uv": UV, "face_uv": []}, "face_uv (1, 3)"),
        ({"uv": [[0, 0], [1, NAN], [0, 1]], "face_uv": F}, "NaN or infinite"),
        ({"uv": UV, "face_uv": [[0, 1, 3]]}, "does not exist"),
        ({"uv": UV, "face_uv": [[0, 1, -2]]}, "does not exist"),
        ({"uv": UV, "face_uv": [[0, 1, 2**32]]}, "does not exist"),
        ({"uv": np.zeros((0, 2)), "face_uv": F}, "does not exist"),
        ({"uv": UV, "face_uv": [[0.0, 1.5, 2.0]]}, "whole numbers"),
        ({"uv": UV, "face_uv": [[0, 1, NAN]]}, "whole numbers"),
        ({"uv": [[0, 0], [1]], "face_uv": F}, "uv must be numbers"),
        ({"uv": "no", "face_uv": F}, "uv must be numbers"),
        ({"rest": np.eye(2)}, "of shape (1, 2, 2)"),
        ({"rest": [[[1, NAN], [0, 1]]]}, "finite"),
        ({"rest": [[[1, 0], [0]]]}, "must be numbers"),
        ({"origin": [0, 1]}, "one vertex for each of 3"),
    ],
)
def test_bad_extras(extra, says):
    assert says in refusal(X, F, **extra)


@pytest.mark.parametrize("mesh", [None, 3, "a", [X], [X, F, F], object()])
def test_what_is_not_a_mesh(mesh):
    with pytest.raises(BadInput) as caught:
        as_mesh(mesh)
    assert "\n" not in str(caught.value)


def test_two_meshes_are_not_a_pair_of_arrays():
    mesh = TriMesh(X, F)
    with pytest.raises(BadInput):
        as_mesh((mesh, mesh))


def test_plain_arrays_are_a_mesh():
    mesh = as_mesh((X, F), name="plain")
    assert mesh.name == "plain"
    assert mesh.x.dtype == np.float64
    assert mesh.faces.dtype == np.int32
    assert as_mesh(mesh) is mesh


def test_a_mesh_keeps_its_own_arrays():
    x, faces, uv = np.array(X, float), np.array(F, np.int32), np.array(UV, float)
    mesh = TriMesh(x, faces, uv=uv, face_uv=faces)
    x[:], uv[:], faces[:] = 7, 7, 0
    assert mesh.x.tolist() == X
    assert mesh.faces.tolist() == mesh.face_uv.tolist() == F
    assert mesh.uv.tolist() == UV


# --- what stays when it moves ---


def dressed() -> TriMesh:
    """A mesh that has one of everything."""
    x, faces = grid(2, 2)
    square = [[0, 1, 2], [0, 2, 3]]
    quads = Polygons(
        np.arange(0, 17, 4, dtype=np.int32),
        faces.reshape(4, 6)[:, [0, 1, 2, 5]].ravel().astype(np.int32),
        np.concatenate([np.array(square, dtype=np.int32) + 4 * i for i in range(4)]),
        np.repeat(np.arange(4, dtype=np.int32), 2),
    )
    return TriMesh(
        x,
        faces,
        name="shirt",
        uv=x[:, :2] * 3,
        face_uv=faces,
        rest=np.tile(np.eye(2), (8, 1, 1)),
        groups={"left": np.arange(4, dtype=np.int32)},
        polygons=quads,
        origin=np.arange(9)[::-1],
        source=("obj", "mtllib"),
    )


FIELDS = ("x", "faces", "name", "uv", "face_uv", "rest", "groups", "polygons", "origin", "source")


def assert_same_but(changed, before, after):
    for name in set(FIELDS) - {changed}:
        a, b = getattr(before, name), getattr(after, name)
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b, name


def test_new_meshes_share_what_follows_from_the_faces():
    mesh = dressed()
    known = (
        mesh.topology,
        mesh.boundary_loops,
        mesh.vertex_component,
        mesh.face_component,
        mesh.panels,
        mesh.seams,
    )
    rest = mesh.rest * 2
    for changed, other in (
        ("x", mesh.moved(mesh.x + 1)),
        ("rest", mesh.with_rest(rest)),
        ("name", mesh.named("coat")),
    ):
        assert_same_but(changed, mesh, other)
        now = (
            other.topology,
            other.boundary_loops,
            other.vertex_component,
            other.face_component,
            other.panels,
            other.seams,
        )
        assert all(a is b for a, b in zip(known, now))
    assert (mesh.moved(mesh.x + 1).x == mesh.x + 1).all()
    assert (mesh.with_rest(rest).rest == rest).all()
    assert mesh.named("coat").name == "coat"


def test_moving_does_not_move_the_original_or_its_rest():
    mesh = TriMesh(X, F)
    moved = mesh.moved(np.array(X) * 5.0)
    assert mesh.x.tolist() == X
    assert (moved.rest == mesh.rest).all()
    assert moved.areas[0] == pytest.approx(25 * mesh.areas[0])


@pytest.mark.parametrize("x", [X[:2], [[0, 0, NAN]] * 3, [[0, 0], [0]], "no", np.zeros((4, 3)), None])
def test_bad_moves(x):
    with pytest.raises(BadInput) as caught:
        TriMesh(X, F, name="shirt").moved(x)
    assert str(caught.value).startswith("shirt: ")
    assert "\n" not in str(caught.value)


def test_bad_rest():
    with pytest.raises(BadInput, match="rest shapes"):
        TriMesh(X, F).with_rest(np.zeros((2, 2, 2)))


# --- panels and seams ---


def test_two_panels_sewn_along_an_edge():
    """Two triangles that share the edge (1, 2) in space and nothing in uv."""
    uv = [[0, 0], [1, 0], [0, 1], [5, 0], [5, 1], [6, 1]]
    mesh = TriMesh(points(4), [[0, 1, 2], [1, 3, 2]], uv=uv, face_uv=[[0, 1, 2], [3, 5, 4]])
    assert mesh.panels.tolist() == [0, 1]
    assert mesh.edges[mesh.seams].tolist() == [[1, 2]]


def test_a_dart_is_a_seam_inside_one_panel():
    """A disc around vertex 0 whose first and last face meet on an edge in space, with a wedge open in uv."""
    faces = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5], [0, 5, 1]]
    angle = np.linspace(0, 1.7 * np.pi, 6)
    uv = [[0, 0], *np.stack([np.cos(angle), np.sin(angle)], axis=1)]
    face_uv = [[0, i, i + 1] for i in range(1, 6)]
    mesh = TriMesh(points(6), faces, uv=uv, face_uv=face_uv)
    assert mesh.panels.tolist() == [0, 0, 0, 0, 0]
    assert mesh.edges[mesh.seams].tolist() == [[0, 1]]


def test_equal_uv_in_two_rows_is_no_seam():
    uv = [[0, 0], [1, 0], [0, 1], [1, 0], [1, 1], [0, 1]]
    mesh = TriMesh(points(4), [[0, 1, 2], [1, 3, 2]], uv=uv, face_uv=[[0, 1, 2], [3, 4, 5]])
    assert mesh.panels.tolist() == [0, 0]
    assert len(mesh.seams) == 0


def test_without_uv_panels_hang_together_across_edges():
    mesh = TriMesh(points(7), [[0, 1, 2], [1, 3, 2], [3, 4, 5]])
    assert mesh.panels.tolist() == [0, 0, 1]
    assert mesh.face_component.tolist() == [0, 0, 0]
    assert len(mesh.seams) == 0


@pytest.mark.parametrize("uv", [np.zeros((0, 2)), UV])
def test_faces_without_uv_are_a_panel_of_their_own(uv):
    mesh = TriMesh(points(4), TETRAHEDRON, uv=uv, face_uv=np.full((4, 3), -1))
    assert mesh.panels.tolist() == [0, 0, 0, 0]
    assert len(mesh.seams) == 0


def test_a_corner_without_uv_is_not_the_last_row():
    """Row -1 must not be read as the last row of the table, which the neighbour names."""
    mesh = TriMesh(points(4), [[0, 1, 2], [1, 3, 2]], uv=UV, face_uv=[[0, 1, 2], [1, 0, -1]])
    assert mesh.panels.tolist() == [0, 1]
    assert mesh.edges[mesh.seams].tolist() == [[1, 2]]


@settings(max_examples=500, deadline=None)
@given(meshes, st.data())
def test_panels_and_seams(case, data):
    n, faces = case
    uv = data.draw(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=4))
    if data.draw(st.booleans()):  # mostly the vertex's own row, so that panels have more than one face
        uv = [(v, v % 2) for v in range(n)] + uv
        row = lambda v: st.sampled_from([v] * 6 + [-1, len(uv) - 1])  # noqa: E731
        face_uv = [[data.draw(row(v)) for v in face] for face in faces]
    else:
        face_uv = [[data.draw(st.integers(-1, len(uv) - 1)) for _ in face] for face in faces]
    mesh = TriMesh(points(n), faces, uv=uv, face_uv=face_uv)
    panels, seams = panels_and_seams(faces, uv, face_uv)
    assert mesh.panels.tolist() == panels
    assert list(map(tuple, mesh.edges[mesh.seams].tolist())) == seams
    # the same whichever way the faces are listed or wound
    back = TriMesh(points(n), [f[::-1] for f in faces[::-1]], uv=uv, face_uv=[f[::-1] for f in face_uv[::-1]])
    assert back.seams.tolist() == mesh.seams.tolist()
    together = mesh.panels[:, None] == mesh.panels
    assert ((back.panels[:, None] == back.panels)[::-1, ::-1] == together).all()


# --- several as one ---


def test_combine():
    one = TriMesh(points(4, 1), TETRAHEDRON)
    two = TriMesh(points(3, 2), F, rest=[[[2, 0], [0, 3]]], origin=[0, 0, 2])
    both = combine([one, two, one], name="outfit")
    assert both.name == "outfit"
    assert (both.x == np.concatenate([one.x, two.x, one.x])).all()
    assert both.faces.tolist() == TETRAHEDRON + [[4, 5, 6]] + (np.array(TETRAHEDRON) + 7).tolist()
    assert (both.rest == np.concatenate([one.rest, two.rest, one.rest])).all()
    assert both.origin.tolist() == [0, 1, 2, 3, 4, 4, 6, 7, 8, 9, 10]
    assert both.origin.dtype == both.faces.dtype == np.int32
    assert both.vertex_component.tolist() == [0] * 4 + [1] * 3 + [2] * 4


def test_combine_keeps_rest_shapes_of_meshes_that_moved():
    one = TriMesh(X, F).moved(np.array(X) * 2.0)
    both = combine([one, one])
    assert (both.rest == np.concatenate([one.rest, one.rest])).all()
    assert both.origin is None


def test_combine_one_and_none():
    mesh = TriMesh(X, F)
    assert combine([mesh]) is mesh
    with pytest.raises(BadInput, match="no meshes"):
        combine([])


# --- shape ---


def test_diagonal_and_repr():
    mesh = TriMesh([[0, 0, 0], [3, 0, 0], [0, 4, 12]], F, name="shirt")
    assert mesh.diagonal == 13
    assert repr(mesh) == "TriMesh('shirt', 3 vertices, 1 faces)"
