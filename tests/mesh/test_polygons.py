"""`triangulate`: the triangles tile the polygon, in any plane, from any corner, whatever its shape."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.oracles import edges_of
from unsnarl.errors import BadInput
from unsnarl.mesh import TriMesh
from unsnarl.mesh.polygons import triangulate

ARROW = [[0, 0], [2, 1], [0, 2], [0.5, 1]]
COMB = [[0, 0], [7, 0], [7, 3], [6, 3], [6, 1], [5, 1], [5, 3], [4, 3], [4, 1], [3, 1], [3, 3], [0, 3]]
KEYHOLE = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0], [1, 1], [1, 3], [3, 3], [3, 1], [1, 1]]


def area_vectors(x, faces):
    p = np.asarray(x)[faces]
    return np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]) / 2


def flat_area(polygon):
    """Signed area by the shoelace formula."""
    x, y = np.array(polygon, dtype=float).T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def spiral(turns, corners):
    """A ribbon wound up: two spiral arms joined at their ends."""
    t = np.linspace(1, turns, corners)
    inner = np.stack([t * np.cos(6 * t), t * np.sin(6 * t)], axis=1)
    return [*inner.tolist(), *(1.2 * inner[::-1]).tolist()]


def crosses(a, b, c, d):
    """Whether segments ab and cd (corners on a grid) meet in any point; exact."""

    def side(p, q, r):
        return np.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    def within(p, q, r):
        return side(p, q, r) == 0 and all(min(p[i], q[i]) <= r[i] <= max(p[i], q[i]) for i in range(2))

    if side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0:
        return True
    return within(a, b, c) or within(a, b, d) or within(c, d, a) or within(c, d, b)


def is_simple(polygon):
    k = len(polygon)
    for i in range(k):
        for j in range(i + 1, k):
            a, b, c, d = polygon[i], polygon[(i + 1) % k], polygon[j], polygon[(j + 1) % k]
            if j == i + 1 or (j + 1) % k == i:  # neighbours: only a turn straight back is wrong
                p, q, r = (a, b, d) if j == i + 1 else (c, a, b)
                u, v = (q[0] - p[0], q[1] - p[1]), (r[0] - q[0], r[1] - q[1])
                if u[0] * v[1] == u[1] * v[0] and u[0] * v[0] + u[1] * v[1] < 0:
                    return False
            elif crosses(a, b, c, d):
                return False
    return True


@st.composite
def simple_polygons(draw):
    """Corners on a coarse grid (many in line with others), chains turned round until no sides cross."""
    corner = st.tuples(st.integers(0, 6), st.integers(0, 6))
    polygon = draw(st.lists(corner, min_size=4, max_size=11, unique=True))
    for _ in range(60):
        k = len(polygon)
        bad = [
            (i, j)
            for i in range(k)
            for j in range(i + 2, k)
            if (j + 1) % k != i and crosses(polygon[i], polygon[i + 1], polygon[j], polygon[(j + 1) % k])
        ]
        if not bad:
            break
        i, j = bad[0]
        polygon = polygon[: i + 1] + polygon[i + 1 : j + 1][::-1] + polygon[j + 1 :]
    assume(is_simple(polygon) and flat_area(polygon) != 0)
    return polygon


def placed(polygon, seed):
    """The flat polygon turned and shifted into space, and its normal there times its signed area."""
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    turn *= np.sign(np.linalg.det(turn))
    x = np.c_[np.array(polygon, dtype=float), np.zeros(len(polygon))] @ turn.T + rng.standard_normal(3)
    return x, turn[:, 2] * flat_area(polygon)


def cut(x):
    """Triangulate one polygon with corners x (k, 3), and check what holds for any."""
    k = len(x)
    faces, polygons = triangulate(x, [0, k], np.arange(k))
    assert faces.shape == (k - 2, 3)
    assert faces.dtype == np.int32
    assert (polygons.face_corner == faces).all()
    assert (np.diff(np.sort(faces, axis=1)) > 0).all()
    outline = {tuple(sorted((i, (i + 1) % k))) for i in range(k)}
    inner = {edge: beside for edge, beside in edges_of(faces.tolist()).items() if edge not in outline}
    assert all(len(beside) == 2 for beside in inner.values())
    half_edges = [(a, b) for face in faces.tolist() for a, b in zip(face, face[1:] + face[:1])]
    assert {(i, (i + 1) % k) for i in range(k)} <= set(half_edges)  # wound as the polygon is
    assert len(half_edges) == len(set(half_edges))
    return faces


def assert_tiles(polygon, seed=0):
    """All triangles face as the polygon does, and their areas sum up to its own: they cover it, once."""
    x, whole = placed(polygon, seed)
    share = area_vectors(x, cut(x)) @ whole / (whole @ whole)
    assert share.min() > 1e-9
    assert share.sum() == pytest.approx(1)


# --- by hand ---


def test_triangles_stay_as_they_are():
    faces, polygons = triangulate(np.eye(3), [0, 3, 6], [0, 1, 2, 2, 1, 0])
    assert faces.tolist() == [[0, 1, 2], [2, 1, 0]]
    assert polygons.all_triangles
    assert polygons.face_polygon.tolist() == [0, 1]


def test_mixed_polygons_in_order():
    x = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0.5, 0]])
    faces, polygons = triangulate(x, [0, 4, 7], [0, 1, 2, 3, 1, 4, 2])
    assert faces.tolist() == [[0, 1, 2], [0, 2, 3], [1, 4, 2]]
    assert polygons.start.tolist() == [0, 4, 7]
    assert polygons.vertices.tolist() == [0, 1, 2, 3, 1, 4, 2]
    assert polygons.face_corner.tolist() == [[0, 1, 2], [0, 2, 3], [4, 5, 6]]
    assert polygons.face_polygon.tolist() == [0, 0, 1]
    assert not polygons.all_triangles
    assert (polygons.vertices[polygons.face_corner] == faces).all()


@pytest.mark.parametrize("first", range(4))
def test_arrow_is_cut_through_its_notch(first):
    x = np.c_[np.roll(ARROW, -first, axis=0), np.zeros(4)]
    notch = (3 - first) % 4
    assert all(notch in face for face in cut(x).tolist())


@pytest.mark.parametrize("first", range(12))
def test_comb(first):
    assert_tiles(COMB[first:] + COMB[:first], seed=first)


def test_spirals():
    assert_tiles(spiral(3, 80))
    assert_tiles(spiral(2, 700)[::-1])


def test_keyhole_is_covered_once():
    """A square with a square hole, joined by a bridge that is walked twice."""
    x, whole = placed(KEYHOLE, 3)
    share = area_vectors(x, cut(x)) @ whole / (whole @ whole)
    assert share.sum() == pytest.approx(1)
    assert share.min() > -1e-12


def test_corners_in_line_give_no_flat_triangle_where_there_is_a_better_cut():
    """Corner 0 is in the middle of a straight side: its fan would start with a flat triangle."""
    assert_tiles([[0, 0], [1, 0], [2, 0], [2, 2], [-2, 2], [-2, 0], [-1, 0]])


def test_far_from_the_origin():
    x, whole = placed(COMB, 1)
    x = x * 0.01 + np.array([4e4, -3e4, 5e4])
    share = area_vectors(x, cut(x)) @ whole
    assert share.min() > 0


def test_four_thousand_corners_in_and_out():
    angle = np.linspace(0, 2 * np.pi, 4000, endpoint=False)
    radius = 1 + 0.5 * np.cos(1000 * angle)
    assert_tiles((radius * [np.cos(angle), np.sin(angle)]).T.tolist())


# --- any polygon ---


@settings(max_examples=800, deadline=None)
@given(simple_polygons(), st.integers(0, 2**16))
def test_simple_polygons_are_tiled(polygon, seed):
    x, whole = placed(polygon, seed)
    share = area_vectors(x, cut(x)) @ whole / (whole @ whole)
    assert share.sum() == pytest.approx(1)
    assert share.min() > 1e-9


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(0.05, 1), min_size=4, max_size=40), st.integers(0, 2**16))
def test_stars_are_tiled(radii, seed):
    angle = np.linspace(0, 2 * np.pi, len(radii), endpoint=False)
    x, whole = placed((np.array(radii) * [np.cos(angle), np.sin(angle)]).T, seed)
    share = area_vectors(x, cut(x)) @ whole / (whole @ whole)
    assert share.sum() == pytest.approx(1)
    assert share.min() > -1e-12


@settings(max_examples=800, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-1, 1)] * 3), min_size=3, max_size=12))
def test_any_corners_are_cut(corners):
    """Crossing, warped, in line, or all in one place: the outline is triangulated nevertheless."""
    x = np.array(corners, dtype=float)
    total = area_vectors(x, cut(x)).sum(axis=0)
    assert total == pytest.approx(np.cross(x, np.roll(x, -1, axis=0)).sum(axis=0) / 2)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(*[st.floats()] * 3), min_size=3, max_size=8))
def test_no_number_crashes_it(corners):
    with np.errstate(all="ignore"):
        cut(np.array(corners))


@settings(max_examples=200, deadline=None)
@given(st.lists(simple_polygons(), min_size=1, max_size=5))
def test_many_polygons_are_cut_as_each_alone(shapes):
    start = np.cumsum([0] + [len(p) for p in shapes])
    x = np.concatenate([placed(p, seed)[0] for seed, p in enumerate(shapes)])
    order = np.random.default_rng(len(x)).permutation(len(x))  # vertices anywhere in the file
    scattered = np.empty_like(x)
    scattered[order] = x
    faces, polygons = triangulate(scattered, start, order)
    alone = [cut(x[a:b]) + a for a, b in pairwise(start)]
    assert (polygons.face_corner == np.concatenate(alone)).all()
    assert (faces == order[polygons.face_corner]).all()
    assert polygons.face_polygon.tolist() == np.repeat(np.arange(len(shapes)), np.diff(start) - 2).tolist()
    assert len(TriMesh(scattered, faces, polygons=polygons).faces) == start[-1] - 2 * len(shapes)


@pytest.mark.parametrize(
    ("start", "vertices", "says"),
    [
        ([0, 3, 5], [0, 1, 2, 0, 1], "polygon 1 has fewer than three corners"),
        ([0, 0], [], "polygon 0 has fewer than three corners"),
        ([0, 3, 7], [0, 1, 2, 0, 1, 4, 2], r"polygon 1 names a vertex out of range \(4, vertices: 3\)"),
        ([0, 4], [0, 1, 2, -1], "polygon 0 names a vertex out of range"),
        ([0, 3], [0, 1, 2**40], "polygon 0 names a vertex out of range"),
    ],
)
def test_bad_polygons(start, vertices, says):
    with pytest.raises(BadInput, match=says) as caught:
        triangulate(np.eye(3), start, vertices)
    assert "\n" not in str(caught.value)


def test_no_polygons_at_all():
    faces, polygons = triangulate(np.eye(3), [0], np.zeros(0, dtype=int))
    assert faces.shape == (0, 3)
    assert len(polygons.face_polygon) == 0
