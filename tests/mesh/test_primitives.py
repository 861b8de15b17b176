"""Meshes made by rule: closed where they should be, the right size, the right side out."""

import numpy as np
import pytest

from unsnarl.errors import BadInput
from unsnarl.mesh.primitives import box, flat_grid, sheet, sheet_corners, sphere
from unsnarl.mesh.rest import rest_from_positions


def volume(mesh):
    a, b, c = mesh.x[mesh.faces].transpose(1, 0, 2)
    return np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6


def normals(mesh):
    a, b, c = mesh.x[mesh.faces].transpose(1, 0, 2)
    return np.cross(b - a, c - a)


@pytest.mark.parametrize("alternating", [False, True])
@pytest.mark.parametrize("up", "xyz")
def test_sheet(alternating, up):
    s = sheet((0.6, 0.4), (3, 5), alternating=alternating, up=up)
    assert len(s.x) == 4 * 6 and len(s.faces) == 2 * 3 * 5
    assert np.isclose(s.areas.sum(), 0.24) and np.allclose(s.x.mean(axis=0), 0)
    assert np.allclose(normals(s) / np.linalg.norm(normals(s), axis=1)[:, None], np.eye(3)["xyz".index(up)])
    assert s.boundary_edges.sum() == 2 * (3 + 5)
    flat = rest_from_positions(s.x, s.faces)
    assert np.allclose(s.rest.transpose(0, 2, 1) @ s.rest, flat.transpose(0, 2, 1) @ flat)
    corners = s.x[sheet_corners((3, 5))]
    assert np.allclose(np.linalg.norm(corners, axis=1), np.hypot(0.3, 0.2))
    assert len(np.unique(corners, axis=0)) == 4


def test_diagonals_alternate():
    _, faces = flat_grid(np.arange(3), np.arange(3), alternating=True)
    cuts = {tuple(sorted(set(faces[2 * k]) & set(faces[2 * k + 1]))) for k in range(4)}
    assert cuts == {(0, 4), (2, 4), (4, 6), (4, 8)}


def test_edge_length_chooses_the_resolution():
    assert len(sheet((1.0, 0.5), edge=0.1).faces) == 2 * 10 * 5
    assert len(sheet((1.0, 0.5), edge=5).faces) == 2
    assert len(box((1.0, 0.5, 0.2), edge=0.1).faces) == 4 * (50 + 20 + 10)


@pytest.mark.parametrize("triangles, made", [(20, 20), (80, 80), (180, 180), (1000, 980), (1280, 1280)])
def test_sphere(triangles, made):
    s = sphere(0.5, triangles)
    assert len(s.faces) == made and len(s.x) - len(s.edges) + len(s.faces) == 2
    assert (s.topology.edge_face_count == 2).all()
    assert np.allclose(np.linalg.norm(s.x, axis=1), 0.5)
    middle = s.x[s.faces].mean(axis=1)
    assert (np.einsum("ij,ij->i", normals(s), middle) > 0).all()
    assert 1 - 12 / made < volume(s) / (np.pi / 6) < 1


def test_box():
    b = box((1.0, 2.0, 3.0), (2, 3, 4))
    assert np.isclose(volume(b), 6) and np.isclose(b.areas.sum(), 22)
    assert (b.topology.edge_face_count == 2).all()
    assert np.allclose(b.x.min(axis=0), [-0.5, -1, -1.5]) and np.allclose(b.x.max(axis=0), [0.5, 1, 1.5])


@pytest.mark.parametrize(
    "make",
    [
        lambda: sheet((1, 0), (2, 2)),
        lambda: sheet((1, np.nan), (2, 2)),
        lambda: sheet("wide", (2, 2)),
        lambda: sheet((1, 1)),
        lambda: sheet((1, 1), (2, 2), edge=0.1),
        lambda: sheet((1, 1), (2, 0)),
        lambda: sheet((1, 1), (2, 2.5)),
        lambda: sheet((1, 1), edge=-1.0),
        lambda: sheet((1, 1), edge=1e-9),
        lambda: box((1, 1), edge=0.1),
        lambda: sphere(0.0),
        lambda: sphere(1.0, 4),
    ],
)
def test_what_cannot_be_made(make):
    with pytest.raises(BadInput):
        make()
