"""`split_non_manifold`: every edge has at most two faces afterwards, and nothing else changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mesh.shapes import BOOK, BOW_TIE, TETRAHEDRON, grid, meshes, moebius, points, soups
from tests.oracles import edges_of, split_faces
from unsnarl.mesh import TriMesh, combine, split_non_manifold


def assert_split(mesh, split):
    """What holds after every split."""
    n = len(mesh.x)
    assert len(split.non_manifold_edges) == 0
    assert all(len(beside) <= 2 for beside in edges_of(split.faces.tolist()).values())
    assert (split.x[:n] == mesh.x).all()
    assert (split.x[split.faces] == mesh.x[mesh.faces]).all()
    assert (split.rest == mesh.rest).all()
    assert set(split.faces.ravel().tolist()) >= set(range(n, len(split.x)))
    assert split_non_manifold(split) is split


def test_manifold_meshes_are_left_alone():
    for n, faces in ((4, TETRAHEDRON), (5, BOW_TIE), (6, moebius(3)), (3, [[0, 1, 2], [0, 1, 2]])):
        mesh = TriMesh(points(n), faces)
        assert split_non_manifold(mesh) is mesh


def test_pages_of_a_book_come_apart():
    split = split_non_manifold(TriMesh(points(5), BOOK))
    assert split.faces.tolist() == [[0, 1, 2], [7, 5, 3], [6, 8, 4]]
    assert split.origin.tolist() == [0, 1, 2, 3, 4, 0, 0, 1, 1]
    assert split.origin.dtype == np.int32


def test_t_junction():
    """A fin stands on the middle row of a sheet: the sheet comes apart there into its halves, and the fin."""
    x, faces = grid(2, 3)
    fin = [[4, 5, 12], [5, 13, 12], [5, 6, 13]]
    mesh = TriMesh(np.concatenate([x, [[1, 0.5, 1], [1, 1.5, 1]]]), np.concatenate([faces, fin]))
    assert mesh.edges[mesh.non_manifold_edges].tolist() == [[4, 5], [5, 6]]
    split = split_non_manifold(mesh)
    assert_split(mesh, split)
    # vertices 4 and 5 have three fans (two halves and the fin), 6 has two: the halves hang together there
    assert np.bincount(split.origin)[[4, 5, 6]].tolist() == [3, 3, 2]
    assert split.vertex_component.max() == 1


def test_duplicated_faces():
    mesh = TriMesh(points(3), [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
    split = split_non_manifold(mesh)
    assert_split(mesh, split)
    assert len(split.x) == 9


def test_a_pocket_that_closes_on_itself_keeps_its_edge():
    """A closed tetrahedron with a sheet hung on one of its edges: only the sheet comes off."""
    mesh = TriMesh(points(5), [*TETRAHEDRON, [0, 1, 4]])
    split = split_non_manifold(mesh)
    assert_split(mesh, split)
    assert split.faces[:4].tolist() == TETRAHEDRON
    assert split.faces[4].tolist() == [5, 6, 4]


@settings(max_examples=800, deadline=None)
@given(meshes)
def test_split(case):
    n, faces = case
    mesh = TriMesh(points(n), faces)
    split = split_non_manifold(mesh)
    assert_split(mesh, split)
    expected, parent = split_faces(faces, n)
    assert split.faces.tolist() == expected
    if len(mesh.non_manifold_edges):
        assert split.origin.tolist() == parent
        assert (split.x == mesh.x[split.origin]).all()


@settings(max_examples=200, deadline=None)
@given(st.lists(soups(), min_size=2, max_size=3))
def test_combining_and_splitting_go_in_either_order(cases):
    """Up to the names of the vertices: the origins at each corner are the same."""
    parts = [TriMesh(points(n, seed), faces) for seed, (n, faces) in enumerate(cases)]
    first, last = combine([split_non_manifold(p) for p in parts]), split_non_manifold(combine(parts))
    assert len(first.x) == len(last.x)
    assert (first.x[first.faces] == last.x[last.faces]).all()
    assert split_non_manifold(first) is first
    pairs = {*zip(first.faces.ravel().tolist(), last.faces.ravel().tolist())}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


@settings(max_examples=300, deadline=None)
@given(soups(), st.integers(0, 2**16))
def test_a_split_mesh_that_is_glued_and_split_again_remembers_the_first_vertices(case, seed):
    """Faces are added to a split and moved mesh; copies lie where the vertex they were made from lies now."""
    n, faces = case
    split = split_non_manifold(TriMesh(points(n), faces))
    rng = np.random.default_rng(seed)
    k = len(split.x)
    more = [rng.permutation(k)[:3] for _ in range(4)]
    origin = np.arange(k) if split.origin is None else split.origin
    mesh = TriMesh(points(k, seed), np.concatenate([split.faces, more]), origin=origin)
    again = split_non_manifold(mesh)
    assert_split(mesh, again)
    assert (again.origin[again.faces] == mesh.origin[mesh.faces]).all()
    assert again.origin.max() < n


def test_uv_groups_and_rest_survive():
    uv = [[0, 0], [1, 0], [0, 1], [1, 1], [2, 2]]
    mesh = TriMesh(
        points(5),
        BOOK,
        name="book",
        uv=uv,
        face_uv=BOOK,
        rest=np.arange(12.0).reshape(3, 2, 2),
        groups={"cover": np.array([0, 2], dtype=np.int32)},
    )
    split = split_non_manifold(mesh)
    assert_split(mesh, split)
    assert split.name == "book"
    assert split.uv.tolist() == uv
    assert split.face_uv.tolist() == BOOK
    assert split.groups["cover"].tolist() == [0, 2]


@pytest.mark.parametrize("pages", [3, 3000])
def test_many_pages(pages):
    faces = np.stack([np.zeros(pages, int), np.ones(pages, int), np.arange(2, pages + 2)], axis=1)
    split = split_non_manifold(TriMesh(points(pages + 2), faces))
    assert len(split.x) == 3 * pages
    assert (np.bincount(split.origin)[:2] == pages).all()
