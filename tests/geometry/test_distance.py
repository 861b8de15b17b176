"""Nearest points: by hand in every region, then against exact arithmetic, on degenerate input too."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests import oracles
from unsnarl.geometry.distance import FLAT, edge_edge, point_triangle
from unsnarl.jit import kernel

grid = st.integers(-2, 2).map(float)
coordinate = st.one_of(grid, st.floats(-10, 10), st.sampled_from([1e-8, 1.0 + 1e-9, 1.0 - 2**-53, 1 / 3]))
four_points = st.one_of(*(st.lists(st.tuples(c, c, c), min_size=4, max_size=4) for c in (grid, coordinate)))


@kernel
def many(triangle, x):
    """(k, 4): squared distance and weights of k queries x (k, 4, 3); for edges the fourth is zero."""
    out = np.zeros((x.shape[0], 4))
    for i in range(x.shape[0]):
        if triangle:
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = point_triangle(x[i], 0, 1, 2, 3)
        else:
            out[i, 0], out[i, 1], out[i, 2] = edge_edge(x[i], 0, 1, 2, 3)
    return out


def exact(x, triangle):
    """The distance by exact arithmetic, rounded."""
    corners, ratio = oracles.differences(x, triangle)
    return float(np.sqrt(float(oracles.nearest_squared(corners, triangle) / ratio**2)))


def check(x, triangle, got):
    size = np.ptp(x, axis=0).max()
    assert np.sqrt(got[0]) == pytest.approx(exact(x, triangle), abs=4 * 2**-53 / np.sqrt(FLAT) * size)
    if triangle:
        parts = got[1:]
        assert parts.sum() == pytest.approx(1, abs=1e-15)
        weights = np.array([-1.0, *parts])
    else:
        parts = s, t = got[1:3]
        weights = np.array([1 - s, s, t - 1, -t])
    assert min(parts) >= -1e-15 and max(parts) <= 1
    way = weights @ x
    assert np.sqrt(got[0]) == pytest.approx(np.sqrt(way @ way), abs=1e-15 * (size + np.abs(x).max()))


@pytest.mark.parametrize(
    "point, distance, weights",
    [
        ((0.25, 0.25, 2), 2, (0.5, 0.25, 0.25)),  # inside
        ((-3, -4, 0), 5, (1, 0, 0)),  # corners
        ((4, -4, 0), 5, (0, 1, 0)),
        ((-4, 4, 0), 5, (0, 0, 1)),
        ((0.25, -3, 4), 5, (0.75, 0.25, 0)),  # edges
        ((-3, 0.5, 4), 5, (0.5, 0, 0.5)),
        ((1, 1, 0), 0.5**0.5, (0, 0.5, 0.5)),
        ((0.5, 0, 0), 0, (0.5, 0.5, 0)),  # on it
    ],
)
def test_point_triangle_by_hand(point, distance, weights):
    x = np.array([point, (0, 0, 0), (1, 0, 0), (0, 1, 0)], dtype=float)
    squared, *got = point_triangle(x, 0, 1, 2, 3)
    assert squared == pytest.approx(distance**2)
    assert got == pytest.approx(weights)


@pytest.mark.parametrize(
    "second, distance, s, t",
    [
        (((1, -1, 3), (1, 1, 3)), 3, 0.5, 0.5),  # crossing
        (((5, 0, 4), (5, 1, 4)), 5, 1, 0),  # ends
        (((1, 3, 0), (1, 5, 0)), 3, 0.5, 0),
        (((1, -1, 0), (1, 1, 0)), 0, 0.5, 0.5),  # touching
        (((3, 1, 0), (6, 1, 0)), 2**0.5, 1, 0),  # parallel, beyond each other
        (((-4, 1, 0), (-1, 1, 0)), 2**0.5, 0, 1),
    ],
)
def test_edge_edge_by_hand(second, distance, s, t):
    x = np.array([(0, 0, 0), (2, 0, 0), *second], dtype=float)
    got = edge_edge(x, 0, 1, 2, 3)
    assert got == pytest.approx((distance**2, s, t))


def test_parallel_edges_beside_each_other():
    x = np.array([(0, 0, 0), (2, 0, 0), (1, 3, 0), (9, 3, 0)], dtype=float)
    squared, s, t = edge_edge(x, 0, 1, 2, 3)
    assert squared == 9
    assert 2 * s == pytest.approx(1 + 8 * t)


@pytest.mark.parametrize("triangle", [True, False])
def test_things_without_extent(triangle):
    """A triangle or edges shrunk to segments and points."""
    point, end = np.array([0.0, 3, 4]), np.array([2.0, 0, 0])
    x = np.array([point, 0 * end, 0 * end, 0 * end])
    assert many(triangle, x[None])[0, 0] == (25 if triangle else 0)
    x = np.array([point, point, end, end]) if not triangle else np.array([point, end, end, end])
    assert many(triangle, x[None])[0, 0] == pytest.approx(29)
    x = np.array([point + (1, 0, 0), -end, end, end])
    assert many(True, x[None])[0, 0] == pytest.approx(25)


@settings(max_examples=1500, deadline=None)
@given(four_points)
@example([(1e-08, 1, 1e-08), (1, 0, 1), (0, 1, 0), (0, 1, 1e-08)])  # above the inside of a sliver
def test_distance_is_exact_but_for_rounding(points):
    x = np.array(points, dtype=float)
    for triangle in (True, False):
        check(x, triangle, many(triangle, x[None])[0])


@pytest.mark.parametrize("triangle", [True, False])
def test_nearly_flat_and_nearly_parallel(triangle):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((600, 4, 3))
    lean = 10.0 ** rng.uniform(-17, 0, (600, 1))
    x[:, 3] = x[:, 2] + rng.uniform(-2, 2, (600, 1)) * (x[:, 1] - x[:, 0 if not triangle else 2]) + lean * x[:, 3]
    for one, got in zip(x, many(triangle, x)):
        check(one, triangle, got)


def test_order_does_not_matter():
    x = np.random.default_rng(2).standard_normal((500, 4, 3))
    by_triangle, by_edges = many(True, x), many(False, x)
    turned = many(True, x[:, [0, 2, 3, 1]])
    assert turned[:, 0] == pytest.approx(by_triangle[:, 0])
    assert turned[:, [3, 1, 2]] == pytest.approx(by_triangle[:, 1:], abs=1e-12)
    swapped = many(False, x[:, [2, 3, 0, 1]])
    assert swapped[:, 0] == pytest.approx(by_edges[:, 0])
    assert swapped[:, [2, 1]] == pytest.approx(by_edges[:, 1:3], abs=1e-12)
