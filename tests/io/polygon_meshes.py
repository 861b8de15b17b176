"""Meshes of polygons with seams and groups, at random and with odd numbers, and what it means to be the same."""

import numpy as np
from hypothesis import strategies as st

from unsnarl.mesh import TriMesh
from unsnarl.mesh.polygons import triangulate

ODD = (0.0, -0.0, 1 / 3, 0.1, 1e-308, 5e-324, -1e-30, 1e22, 123456789.12345679, -1.7976931348623157e100)
odd_numbers = st.one_of(st.sampled_from(ODD), st.floats(-1e6, 1e6))
single_numbers = st.floats(-1024, 1024, width=32)


def polygon_mesh(x, polygons, uv=None, uv_rows=None, groups=None, name="mesh"):
    """x (n, 3); polygons and uv_rows: lists of corners; groups: name -> polygons."""
    start = np.cumsum([0] + [len(p) for p in polygons])
    faces, record = triangulate(np.array(x, dtype=float), start, np.concatenate(polygons))
    face_uv = None if uv is None else np.concatenate(uv_rows)[record.face_corner]
    return TriMesh(
        x,
        faces,
        name=name,
        uv=uv,
        face_uv=face_uv,
        groups={g: np.flatnonzero(np.isin(record.face_polygon, p)) for g, p in (groups or {}).items()},
        polygons=None if record.all_triangles else record,
    )


@st.composite
def polygon_meshes(draw, numbers=odd_numbers, uv=True, groups=True):
    """Up to 6 polygons with up to 6 corners over up to 9 vertices; some corners have a uv, some faces groups."""
    n = draw(st.integers(3, 9))
    x = [[draw(numbers) for _ in range(3)] for _ in range(n)]
    polygon = st.permutations(range(n)).flatmap(lambda order: st.integers(3, min(n, 6)).map(lambda k: list(order[:k])))
    polygons = draw(st.lists(polygon, min_size=1, max_size=6))
    table = rows = None
    if uv and draw(st.booleans()):
        table = [[draw(numbers), draw(numbers)] for _ in range(draw(st.integers(1, 5)))]
        rows = [[draw(st.integers(-1, len(table) - 1)) for _ in p] for p in polygons]
        rows[0][0] = 0
    members = {}
    if groups:
        for name in draw(st.lists(st.sampled_from(["shirt", "é%d", "a#1", "100%", "g"]), unique=True)):
            chosen = st.lists(st.integers(0, len(polygons) - 1), min_size=1, unique=True)
            members[name] = draw(chosen)
    return polygon_mesh(x, polygons, table, rows, members)


def bits(a):
    """An array as something that tells -0.0 from 0.0."""
    return None if a is None else (a.shape, a.tobytes())


def assert_same(a, b):
    """The same mesh, bit for bit: positions, faces, uv, polygons and groups."""
    assert bits(a.x) == bits(b.x)
    assert_same_but_positions(a, b)


def assert_same_but_positions(a, b):
    assert a.x.shape == b.x.shape
    assert bits(a.faces) == bits(b.faces)
    assert bits(a.uv) == bits(b.uv)
    assert bits(a.face_uv) == bits(b.face_uv)
    assert_same_polygons(a, b)
    assert {k: v.tolist() for k, v in a.groups.items()} == {k: v.tolist() for k, v in b.groups.items()}


def assert_same_polygons(a, b):
    assert (a.polygons is None) == (b.polygons is None)
    if a.polygons is not None:
        for key in ("start", "vertices", "face_corner", "face_polygon"):
            assert bits(getattr(a.polygons, key)) == bits(getattr(b.polygons, key))


def corner_uv(mesh):
    """The texture coordinates at each triangle corner (m, 3, 2), NaN where there is none; None without uv."""
    if mesh.uv is None:
        return None
    return np.where(mesh.face_uv[..., None] >= 0, mesh.uv[mesh.face_uv], np.nan)
