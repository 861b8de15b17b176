"""orient3d against whole-number arithmetic: random, nearly degenerate and fully degenerate points."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from unsnarl.geometry.predicates import orient2d_exact, orient3d, orient3d_exact, safe_positions
from unsnarl.jit import kernel

coordinate = st.one_of(
    st.integers(-2, 2).map(float),
    st.floats(-1e3, 1e3, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-80),
    st.sampled_from([1.0, 1.0 + 2**-52, 1.0 - 2**-53, 1e-80, 1e80, 1 / 3]),
)
four_points = st.lists(st.tuples(coordinate, coordinate, coordinate), min_size=4, max_size=4)


def near_planes(rng, count):
    """(count, 4, 3): four points each, the last on the plane of the others up to rounding, at many scales."""
    p = rng.standard_normal((count, 4, 3)) * 10.0 ** rng.integers(-6, 6, (count, 1, 3))
    s, t = rng.integers(-3, 4, (2, count, 1)) / rng.integers(1, 5, (2, count, 1))
    p[:, 3] = p[:, 0] + s * (p[:, 1] - p[:, 0]) + t * (p[:, 2] - p[:, 0])
    return p


@kernel
def signs(p):
    out = np.empty((p.shape[0], 2), np.int64)
    for i in range(p.shape[0]):
        out[i, 0] = orient3d(p[i], 0, 1, 2, 3)
        out[i, 1] = orient3d_exact(p[i], 0, 1, 2, 3)
    return out


def exact_signs(p):
    """The exact signs of many quadruples at once, in whole numbers (numpy's object arrays)."""
    mantissa, exponent = np.frexp(p)
    exponent = np.where(p == 0, 0, exponent)
    shift = (exponent - exponent.min(axis=(1, 2), keepdims=True)).astype(object)
    whole = np.ldexp(mantissa, 53).astype(np.int64).astype(object) * 2**shift
    a, b, c = (whole[:, k] - whole[:, 3] for k in range(3))
    det = (
        a[:, 0] * (b[:, 1] * c[:, 2] - b[:, 2] * c[:, 1])
        - a[:, 1] * (b[:, 0] * c[:, 2] - b[:, 2] * c[:, 0])
        + a[:, 2] * (b[:, 0] * c[:, 1] - b[:, 1] * c[:, 0])
    )
    return (det > 0).astype(int) - (det < 0).astype(int)


def test_by_hand():
    x = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [1, 1, 1]])
    assert orient3d(x, 0, 1, 2, 3) == 1
    assert orient3d(x, 0, 1, 2, 4) == -1


@settings(max_examples=3000, deadline=None)
@given(four_points)
def test_sign_is_the_oracle_s(points):
    x = np.array(points)
    whole = oracles.as_integers(x)
    assert orient3d(x, 0, 1, 2, 3) == oracles.orient(whole, 0, 1, 2, 3)
    exact = oracles.determinant(*([a - b for a, b in zip(whole[r], whole[3])] for r in range(3)))
    assert orient3d_exact(x, 0, 1, 2, 3) == (exact > 0) - (exact < 0)


@settings(max_examples=2000, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=4, max_size=4))
def test_perturbed_sign_on_integer_grids(points):
    x = np.array(points, dtype=float)
    for order in permutations(range(4)):
        assert orient3d(x, *order) == oracles.orient(points, *order)


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.tuples(*[coordinate] * 2), min_size=3, max_size=3))
def test_orient2d_is_exact(points):
    (p, q, r) = oracles.as_integers([(*point, 0.0) for point in points])
    exact = (p[0] - r[0]) * (q[1] - r[1]) - (p[1] - r[1]) * (q[0] - r[0])
    flat = [float(v) for point in points for v in point]
    assert orient2d_exact(*flat) == (exact > 0) - (exact < 0)


def test_odd_permutations_change_the_sign():
    rng = np.random.default_rng(1)
    for _ in range(50):
        x = rng.integers(0, 2, (4, 3)).astype(float)
        sign = orient3d(x, 0, 1, 2, 3)
        for order in permutations(range(4)):
            swaps = sum(a > b for a, b in combinations(order, 2))
            assert orient3d(x, *order) == sign * (-1) ** swaps


def test_perturbed_signs_never_contradict_each_other():
    """Five points in general position satisfy the Grassmann-Plücker relations; perturbed ones must as well."""
    rng = np.random.default_rng(2)
    for _ in range(300):
        x = rng.integers(0, 2, (6, 3)).astype(float)
        for a, b, c, d, e, f in permutations(range(6)):
            if a > b or c > d:
                continue
            # {ab cd}{ab ef} - {ab ce}{ab df} + {ab cf}{ab de} = 0: three terms cannot all have one sign
            terms = {
                orient3d(x, a, b, c, d) * orient3d(x, a, b, e, f),
                -orient3d(x, a, b, c, e) * orient3d(x, a, b, d, f),
                orient3d(x, a, b, c, f) * orient3d(x, a, b, d, e),
            }
            assert terms == {-1, 1}


@pytest.mark.parametrize("kind", ["random", "near planes", "integers", "huge offsets"])
def test_many_at_once(kind, count=25_000):
    check_many(kind, count)


@pytest.mark.prove
@pytest.mark.parametrize("kind", ["random", "near planes", "integers", "huge offsets"])
def test_millions(kind):
    for seed in range(20):
        check_many(kind, 50_000, seed)


def check_many(kind, count, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "random":
        p = rng.standard_normal((count, 4, 3))
    elif kind == "near planes":
        p = near_planes(rng, count)
    elif kind == "integers":
        p = rng.integers(-3, 4, (count, 4, 3)).astype(float)
    else:
        p = near_planes(rng, count) + rng.choice([0.0, 1e3, 1e9], (count, 1, 3))
    got = signs(np.ascontiguousarray(p))
    exact = exact_signs(p)
    assert np.array_equal(got[:, 1], exact)
    assert np.array_equal(got[exact != 0, 0], exact[exact != 0])
    assert (got[:, 0] != 0).all()


def test_extreme_coordinates_are_brought_into_range():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((4, 3))
    for power in (-1000, -400, 400, 1000):
        scaled = np.ldexp(x, power)
        assert orient3d(safe_positions(scaled), 0, 1, 2, 3) == orient3d(x, 0, 1, 2, 3)
    assert safe_positions(x) is x
