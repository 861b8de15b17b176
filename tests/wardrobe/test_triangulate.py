"""Panels become discs of well-shaped triangles with exactly their outline around them, whatever the outline."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unsnarl.errors import BadInput
from unsnarl.wardrobe.triangulate import triangulate

EDGE = 0.02  # [m]


# ---- outlines


def along(*lines, step=EDGE):
    """A closed outline of lines, each from where the last one ended, with points about every `step` on each."""
    parts = []
    for line in lines:
        line = np.asarray(line, dtype=float)
        reach = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
        t = np.linspace(0, reach[-1], max(1, round(reach[-1] / step)) + 1)[:-1]
        parts.append(np.stack([np.interp(t, reach, line[:, 0]), np.interp(t, reach, line[:, 1])], axis=1))
    return np.concatenate(parts)


def sampled(corners, step=EDGE):
    """A polygon with points about every `step` on its sides."""
    return along(*zip(corners, [*corners[1:], corners[0]]), step=step)


def arc(centre, radii, start, end):
    """An arc of an ellipse between two angles [degrees]."""
    angles = np.radians(np.linspace(start, end, 200))
    return np.asarray(centre) + np.asarray(radii) * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def bodice(step=EDGE):
    """With a neckline and two armholes."""
    neck = arc((0, 0.7), (0.08, 0.09), 0, -180)
    right, left = arc((0.25, 0.64), (0.07, 0.22), 270, 180), arc((-0.25, 0.64), (0.07, 0.22), 0, -90)
    hem = [left[-1], (-0.25, 0)], [(-0.25, 0), (0.25, 0)], [(0.25, 0), right[0]]
    return along(*hem, right, [right[-1], neck[0]], neck, [neck[-1], left[0]], left, step=step)


def sector(inner, outer, angle, step=EDGE):
    """Of an annulus: a flared skirt."""
    far, near = arc((0, 0), (outer, outer), 0, angle), arc((0, 0), (inner, inner), angle, 0)
    return along(far, [far[-1], near[0]], near, [near[-1], far[0]], step=step)


DART = [(0, 0), (0.2, 0), (0.21, 0.1), (0.22, 0), (0.45, 0), (0.4, 0.5), (0, 0.5)]
SLIT = [(0, 0), (0.2, 0), (0.2, 0.1), (0.201, 0.1), (0.201, 0), (0.4, 0), (0.4, 0.3), (0, 0.3)]
SLEEVE = [(-0.1, 0), (0.1, 0), (0.18, 0.4), (0.1, 0.47), (0, 0.5), (-0.1, 0.47), (-0.18, 0.4)]
GARMENT = {
    "bodice": bodice(),
    "dart": sampled(DART),
    "sleeve": sampled(SLEEVE),
    "skirt": sector(0.15, 0.6, 120),
    "yoke": sector(0.2, 0.4, 270),
    "circle": along(arc((0, 0), (0.3, 0.3), 0, 360)),
    "square": sampled([(0, 0), (0.4, 0), (0.4, 0.4), (0, 0.4)]),
}
AWKWARD = {
    "slit": sampled(SLIT),
    "band": sampled([(0, 0), (0.8, 0), (0.8, EDGE), (0, EDGE)]),
    "narrow band": sampled([(0, 0), (0.8, 0), (0.8, 0.004), (0, 0.004)]),
    "wide band": sampled([(0, 0), (0.8, 0), (0.8, 2 * EDGE), (0, 2 * EDGE)]),
    "sharp": sampled([(0, 0), (0.5, 0), (0.5, 0.5 * np.tan(np.radians(10)))]),
    "triangle": np.array([(0, 0), (0.02, 0), (0.01, 0.018)]),
    "collinear run": np.array([(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (2, 1)]) * 0.1,
    "far away": sampled(DART) + 1e6,
    "needle": np.array([(0, 0), (1, 1e-9), (2, 0), (1, 2e-9)]),
    "fan": np.concatenate([[(0, 0)], arc((0, 0), (1, 1), 0, 1)]),
}


@st.composite
def stars(draw):
    """Star-shaped around the origin."""
    k = draw(st.integers(3, 40))
    radii = draw(st.lists(st.floats(0.05, 1.0), min_size=k, max_size=k))
    shift = draw(st.floats(0, 0.9))
    angles = 2 * np.pi * (np.arange(k) + shift * np.sin(np.arange(k))) / k
    return np.asarray(radii)[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1), draw(st.floats(0.05, 2.0))


@st.composite
def combs(draw):
    """Teeth and gaps of any width and depth, and darts down to slits."""
    x, corners = 0.0, []
    for _ in range(draw(st.integers(1, 6))):
        tooth, gap = draw(st.floats(0.01, 0.2)), draw(st.sampled_from([0.0, 1e-9, 0.001, 0.02, 0.05]))
        depth = draw(st.floats(0.01, 0.3))
        corners += [(x, 0), (x + tooth, 0), (x + tooth, depth)] + ([(x + tooth + gap, depth)] if gap else [])
        x += tooth + max(gap, 0.01)
    step = draw(st.sampled_from([0.3, 1.0, 2.0])) * EDGE
    return sampled([*corners, (x, 0), (x + 0.05, 0), (x + 0.05, 0.4), (0, 0.4)], step), EDGE


@st.composite
def staircases(draw):
    """Whole numbers, right angles, points on lines and on circles all over."""
    pairs = draw(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 4)), min_size=1, max_size=8))
    top = [(i + d, h) for i, (h, _) in enumerate(pairs) for d in (0, 1)]
    bottom = [(i + d, -h) for i, (_, h) in enumerate(pairs) for d in (0, 1)]
    corners = bottom + top[::-1]
    corners = [p for p, q in zip(corners, [*corners[1:], corners[0]]) if p != q]
    return sampled(corners, 1.0), draw(st.sampled_from([0.5, 1.0, 1.7, 5.0]))


def scribbles():
    """A few whole-number points in any order: most of these touch or cross themselves."""
    return st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=6, unique=True)


# ---- what holds for all


def whole(points):
    """Points as whole numbers (object arrays of Python's), all multiplied by one power of two: nothing is rounded."""
    ratios = [float(t).as_integer_ratio() for t in np.ravel(points)]
    shared = max(below for _, below in ratios)
    return np.array([above * (shared // below) for above, below in ratios], dtype=object).reshape(-1, 2)


def turn(a, b, c):
    """Twice the area of a triangle of whole-number points, or of many of them at once."""
    (ax, ay), (bx, by), (cx, cy) = np.transpose(a), np.transpose(b), np.transpose(c)
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)


def is_simple(points):
    """Whether a closed polygon of whole-number points is one, by trying all pairs of sides."""
    k = len(points)
    if len(set(points)) < k:
        return False
    sides = [(points[i], points[(i + 1) % k]) for i in range(k)]

    def has(a, b, p):
        return turn(a, b, p) == 0 and all(min(a[c], b[c]) <= p[c] <= max(a[c], b[c]) for c in (0, 1))

    for (a, b), (c, d) in combinations(sides, 2):
        ends = {a, b} & {c, d}
        if any(has(a, b, p) for p in {c, d} - ends) or any(has(c, d, p) for p in {a, b} - ends):
            return False
        if not ends and turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0:
            return False
    return True


def edges_of(faces):
    """Edges (e, 2) and how many faces each has."""
    return np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0, return_counts=True)


def double_area(points):
    """Twice the area of a polygon, without a sign."""
    x, y = points.T
    return abs(np.sum(x * (np.roll(y, -1) - np.roll(y, 1))))


def is_inside(outline, p):
    """Strictly, for whole numbers: the sides that a ray to the right crosses are odd in number, and p is on none."""
    a, b = outline, np.roll(outline, -1, axis=0)
    across = (a[:, 1] <= p[1]) != (b[:, 1] <= p[1])
    a, b = a[across], b[across]
    side = turn(a, b, p) * np.where(b[:, 1] > a[:, 1], 1, -1)
    return (side != 0).all() and np.sum(side > 0) % 2 == 1


def check(outline, edge, exactly=True):
    """Triangulate, and check all that has to hold. Returns points and faces."""
    k = len(outline)
    points, faces = triangulate(outline, edge)
    assert points.dtype == np.float64 and faces.dtype == np.int32
    assert points[:k].tobytes() == np.ascontiguousarray(outline, dtype=np.float64).tobytes()
    assert len(np.unique(points, axis=0)) == len(points)
    assert (np.unique(faces) == np.arange(len(points))).all()

    edges, count = edges_of(faces)
    sides = np.sort(np.stack([np.arange(k), (np.arange(k) + 1) % k], axis=1), axis=1)
    assert count.max() <= 2
    assert np.array_equal(edges[count == 1], np.unique(sides, axis=0))
    assert len(points) - len(edges) + len(faces) == 1
    directed = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    assert len(np.unique(directed, axis=0)) == len(directed)  # neighbours look the same way

    if exactly:
        x = whole(points)
        doubles = turn(x[faces[:, 0]], x[faces[:, 1]], x[faces[:, 2]])
        assert min(doubles) > 0
        assert sum(doubles) == double_area(x[:k])
        assert all(is_inside(x[:k], p) for p in x[k:])
    else:
        p = points[faces]
        doubles = np.linalg.det(p[:, 1:] - p[:, :1])
        assert (doubles > 0).all()
        assert abs(doubles.sum() / double_area(outline) - 1) < 1e-12
    return points, faces


@given(st.one_of(stars(), combs(), staircases()), st.booleans())
@settings(max_examples=80, deadline=None)
def test_any_outline_becomes_a_disc(panel, turned):
    outline, edge = panel
    check(outline[::-1] if turned else outline, edge)


@given(scribbles(), st.sampled_from([0.4, 1.0, 9.0]))
@settings(max_examples=250, deadline=None)
def test_polygons_are_taken_exactly_if_simple(points, edge):
    if is_simple(points):
        check(np.array(points), edge)
    else:
        with pytest.raises(BadInput):
            triangulate(np.array(points), edge)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_panels(name):
    for outline in (AWKWARD[name], AWKWARD[name][::-1]):
        check(outline, EDGE)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_depends_on_where_the_outline_begins(seed):
    """What holds, holds for all ways to number it, and for a panel turned by any angle."""
    rng = np.random.default_rng(seed)
    for outline in (*GARMENT.values(), *AWKWARD.values()):
        angle = rng.uniform(0, 7)
        c, s = np.cos(angle), np.sin(angle)
        check(np.roll(outline, rng.integers(len(outline)), axis=0) @ np.array([[c, s], [-s, c]]), EDGE)


def test_the_same_panel_gives_the_same_bits():
    a, b = triangulate(GARMENT["bodice"], EDGE), triangulate(GARMENT["bodice"].copy(), EDGE)
    assert a[0].tobytes() == b[0].tobytes() and a[1].tobytes() == b[1].tobytes()


def test_a_symmetric_panel_is_nearly_symmetric():
    points, _ = triangulate(GARMENT["bodice"], EDGE)
    mirrored = points * (-1, 1)
    apart = np.linalg.norm(points[:, None] - mirrored[None], axis=2).min(axis=1)
    assert (apart < 0.2 * EDGE).mean() > 0.9


def test_a_lattice_stays_one():
    """A hexagon whose sides are whole edges is cut into equilateral triangles."""
    hexagon = sampled([(np.cos(a), np.sin(a)) for a in np.arange(6) * np.pi / 3], 0.1)
    points, faces = triangulate(hexagon, 0.1)
    assert len(faces) == 600
    np.testing.assert_allclose(angles_of(points, faces), 60, atol=1e-6)


# ---- quality


def angles_of(points, faces):
    """(m, 3) [degrees]"""
    p = points[faces]
    u, v = np.roll(p, -1, axis=1) - p, np.roll(p, -2, axis=1) - p
    return np.degrees(np.arctan2(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0], (u * v).sum(axis=2)))


@pytest.mark.parametrize("name", GARMENT)
def test_garment_panels_are_well_shaped(name):
    outline = GARMENT[name]
    points, faces = check(outline, EDGE)
    smallest = angles_of(points, faces).min(axis=1)
    edges, count = edges_of(faces)
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)[count == 2] / EDGE
    assert (smallest >= 20).all() and (smallest >= 30).mean() > 0.99 and smallest.mean() > 53
    assert ((lengths > 0.5) & (lengths < 1.7)).all() and ((lengths > 0.7) & (lengths < 1.5)).mean() > 0.99
    expected = double_area(outline) / (np.sqrt(3) * EDGE**2) + len(outline) / 2 + 1  # after Pick
    assert abs(len(points) / expected - 1) < 0.08


@pytest.mark.parametrize("step", [0.3, 0.5, 0.7, 1.4, 2.0])
def test_sides_may_be_shorter_or_longer_than_the_edges(step):
    step *= EDGE
    for outline in (bodice(step), sector(0.2, 0.4, 270, step), sampled([(0, 0), (0.4, 0), (0.4, 0.4), (0, 0.4)], step)):
        points, faces = check(outline, EDGE)
        assert angles_of(points, faces).min() > 20


def test_sides_of_all_lengths_in_one_outline():
    corners = np.array([(0, 0), (0.3, 0), (0.3, 0.3), (0, 0.3), (0, 0)])
    points, faces = check(
        np.concatenate(
            [along(pair, step=s * EDGE) for pair, s in zip(np.stack([corners[:-1], corners[1:]], 1), (0.3, 1, 2, 0.5))]
        ),
        EDGE,
    )
    assert angles_of(points, faces).min() > 20


@pytest.mark.parametrize("name", GARMENT)
def test_two_like_panels_can_be_sewn_together_all_around(name):
    """No inner edge has both ends on the outline: the two panels would have it in common."""
    edges, count = edges_of(triangulate(GARMENT[name], EDGE)[1])
    assert (edges[count == 2].max(axis=1) >= len(GARMENT[name])).all()


def test_vertices_grow_with_the_area():
    """Four times as many with half the edge, and for a panel twice as wide and high."""
    count = [len(triangulate(bodice(EDGE / 2**i), EDGE / 2**i)[0]) for i in range(4)]
    inner = [n - len(bodice(EDGE / 2**i)) for i, n in enumerate(count)]
    np.testing.assert_allclose(np.array(inner[1:]) / inner[:-1], 4, rtol=0.1)
    points, faces = check(bodice(EDGE / 8), EDGE / 8, exactly=False)
    assert len(points) > 50_000 and angles_of(points, faces).min() > 20


# ---- bad input

SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]


@pytest.mark.parametrize(
    ("outline", "edge", "says"),
    [
        (SQUARE[:2], 1, "3 to"),
        ([(0, 0, 0)] * 3, 1, "2 coordinates"),
        ("abc", 1, "2 coordinates"),
        ([], 1, "3 to"),
        ([(0, 0), (1, 0), (1, np.nan)], 1, "point 2 is not finite"),
        ([(0, 0), (np.inf, 0), (1, 1)], 1, "point 1 is not finite"),
        ([(0, 0), (1e99, 0), (1, 1)], 1, "between"),
        ([(0, 0), (1e-99, 0), (1, 1)], 1, "between"),
        ([*SQUARE, (0, 0)], 1, "points 0 and 4 are the same"),
        ([(0, 0), (1, 0), (3, 0)], 1, "no area"),
        ([(0, 0), (1, 1), (3, 3), (2, 2)], 1, "no area"),
        ([(0, 0), (1, 1), (1, 0), (0, 1)], 1, "after points 0 and 2 touch or cross"),
        ([(0, 0), (2, 0), (2, 2), (1, 0), (0, 2)], 1, "touch or cross"),  # a point on a side
        ([(0, 0), (2, 0), (1, 0), (1, 1)], 1, "after points 0 and 1 touch or cross"),  # back upon itself
        (SQUARE, 0, "edge"),
        (SQUARE, -1, "edge"),
        (SQUARE, np.nan, "edge"),
        (SQUARE, np.inf, "edge"),
        (SQUARE, None, "edge"),
        (SQUARE, "1", "edge"),
        (SQUARE, 1e-4, "more than 2,000,000 triangles"),
        (SQUARE, 1e-300, "too short"),
        (np.array(SQUARE) + 1e9, 0.5, "too short"),
        ([(0, 0), (1, 1), (1, 1.00001)], 1e-5, "more than 2,000,000 triangles"),  # by its box
    ],
)
def test_bad_input_is_one_clear_line(outline, edge, says):
    with pytest.raises(BadInput, match=says) as error:
        triangulate(outline, edge)
    assert "\n" not in str(error.value)


def test_an_edge_longer_than_the_panel_adds_no_point():
    for edge in (1, 1e9, 1e300):
        points, faces = check(sampled(SQUARE, 1.0), edge)
        assert len(points) == 4 and len(faces) == 2


def test_any_array_will_do():
    points, faces = triangulate(GARMENT["dart"], EDGE)
    for same in (
        GARMENT["dart"].tolist(),
        np.asfortranarray(GARMENT["dart"]),
        np.repeat(GARMENT["dart"], 2, axis=0)[::2],
    ):
        again = triangulate(same, np.float64(EDGE))
        assert np.array_equal(again[0], points) and np.array_equal(again[1], faces)


def test_the_outline_is_not_touched():
    outline = sampled(DART)
    before = outline.copy()
    triangulate(outline, EDGE)
    assert np.array_equal(outline, before)
