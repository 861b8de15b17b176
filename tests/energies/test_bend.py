"""Angles of hinges, their derivatives, and the bending energy of a plate."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.energies.terms import central, rotation
from tests.mesh.shapes import grid
from unsnarl.energies import bend
from unsnarl.mesh import TriMesh

ALL4 = (0, 1, 2, 3)
EDGE = [[0.0, 0, 0], [2.0, 0, 0]]
COORDINATE = st.floats(-1.0, 1.0).map(lambda c: round(c, 6))


def hinge(theta, s=0.7, t=1.3, height=1.5):
    """A hinge on the x axis of that angle, face 0 in the plane z = 0."""
    x3 = [t, -math.cos(theta), -math.sin(theta)]
    return np.array([*EDGE, [s, height, 0.0], x3])


def slope(x):
    out = np.full((4, 3), np.nan)
    return bend.angle_gradient(x, *ALL4, out), out


@pytest.mark.parametrize("theta", np.radians([0, 1e-6, 10, 90, 135, 179.9999, 180, -1e-6, -45, -90, -179.9999]))
def test_angle_by_hand(theta):
    assert bend.angle(hinge(theta), *ALL4) == pytest.approx(theta, abs=1e-14)
    assert slope(hinge(theta))[0] == bend.angle(hinge(theta), *ALL4)


def test_ridge_is_positive_and_valley_negative():
    """Seen from where the normals point; both faces (0, 1, 2) and (1, 0, 3) have theirs upwards."""
    flat = np.array([*EDGE, [1.0, 1, 0], [1.0, -1, 0]])
    assert bend.angle(flat, *ALL4) == 0.0
    for i in (2, 3):
        down, up = flat.copy(), flat.copy()
        down[i, 2], up[i, 2] = -0.1, 0.1
        assert bend.angle(down, *ALL4) == pytest.approx(math.atan(0.1))
        assert bend.angle(up, *ALL4) == pytest.approx(-math.atan(0.1))


def test_folded_shut_is_plus_pi():
    x = np.array([*EDGE, [1.0, 1, 0], [0.5, 2, 0]])
    assert bend.angle(x, *ALL4) == math.pi
    x[3, 2] = 0.0 * -1.0
    assert bend.angle(x, *ALL4) == math.pi


@settings(max_examples=1000, deadline=None)
@given(st.lists(COORDINATE, min_size=12, max_size=12))
def test_angle_is_that_between_the_normals(numbers):
    x = np.array(numbers).reshape(4, 3)
    e = x[1] - x[0]
    m, n = np.cross(e, x[2] - x[0]), np.cross(x[3] - x[0], e)
    if min(np.linalg.norm(m), np.linalg.norm(n)) < 1e-3:
        return
    m, n = m / np.linalg.norm(m), n / np.linalg.norm(n)
    theta = bend.angle(x, *ALL4)
    assert math.cos(theta) == pytest.approx(m @ n, abs=1e-9)
    assert math.sin(theta) * np.linalg.norm(e) == pytest.approx(np.cross(m, n) @ e, abs=1e-9)
    assert math.cos(bend.angle(x, 1, 0, 3, 2) - theta) == pytest.approx(1.0)  # seen from the other end
    assert math.cos(bend.angle(x * [1.0, 1.0, -1.0], *ALL4) + theta) == pytest.approx(1.0)  # in a mirror


@pytest.mark.parametrize("theta", np.radians([0.0, 1.0, -30.0, 90.0, 179.0, -179.0]))
def test_angle_gradient_by_differences(theta):
    rng = np.random.default_rng(3)
    steps = 0.02 * 0.5 ** np.arange(16)
    for s, t in rng.uniform(-1.0, 3.0, (10, 2)):
        x = hinge(theta, s, t) @ rotation(rng).T + rng.standard_normal(3)
        true = slope(x)[1]

        def turned(y, x=x):  # relative to where it is, for a smooth function beyond +-pi
            return bend.away(bend.angle(y.reshape(4, 3), *ALL4), bend.angle(x, *ALL4))

        errors = np.array([abs(central(turned, x.ravel(), h) - true.ravel()).max() for h in steps])
        assert errors.min() < 1e-9
        assert errors[3] < 0.3 * errors[2] or errors[2] < 1e-7


def test_hessian_at_rest_is_the_whole_hessian():
    """Where theta = rest, k slope slope^T is d2E/dx2, by differences of the gradient."""
    rng = np.random.default_rng(4)
    for theta in (0.0, 0.5, -2.0):
        x = hinge(theta) @ rotation(rng).T
        now = bend.angle(x, *ALL4)

        def gradient(y, rest=now):
            out = np.zeros((4, 3))
            angle, g = slope(y.reshape(4, 3))
            bend.gradient(angle, rest, 1.7, g, out)
            return out.ravel()

        found = np.zeros((12, 12))
        bend.hessian_psd(1.7, slope(x)[1], found)
        assert abs(found - 1.7 * np.outer(slope(x)[1], slope(x)[1])).max() < 1e-15 * abs(found).max()
        errors = [abs(central(gradient, x.ravel(), h) - found).max() for h in (1e-2, 1e-3, 1e-4, 1e-5)]
        assert errors[1] < 0.02 * errors[0]
        assert min(errors) < 1e-8


def test_energy_goes_the_short_way_round():
    assert bend.energy(math.radians(175), math.radians(-175), 2.0) == pytest.approx(math.radians(10) ** 2)
    assert bend.energy(math.pi, 0.0, 2.0) == pytest.approx(math.pi**2)
    assert bend.away(math.radians(-175), math.radians(175)) == pytest.approx(math.radians(10))
    assert bend.away(-math.pi, 0.0) == math.pi
    assert bend.away(0.3, 0.1) == pytest.approx(0.2)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((4, 3)),
        np.array([*EDGE, [1.0, 0, 0], [1.0, -1, 0]]),  # x2 on the edge
        np.array([*EDGE, [1.0, 1e-9, 0], [1.0, -1, 0]]),
        np.array([*EDGE, [5.0, 1, 0], [9.0, 0, 0]]),  # x3 beyond its end
        np.array([[0.0, 0, 0], [0, 0, 0], [1, 1, 0], [1, -1, 0]]),  # no edge
        np.array([[0.0, 0, 0], [1e-9, 0, 0], [1, 1, 0], [1, -1, 0]]),
        np.array([*EDGE, EDGE[0], EDGE[1]]),
    ],
)
@pytest.mark.parametrize("size", [1.0, 1e-5, 1e4])
def test_sliver_has_no_slope(x, size):
    theta, g = slope(size * x)
    assert math.isfinite(theta)
    assert (g == 0.0).all()


def test_slivers_are_told_by_shape_not_by_size():
    theta, g = slope(1e-9 * hinge(0.4))
    assert theta == pytest.approx(0.4)
    assert g == pytest.approx(1e9 * slope(hinge(0.4))[1], rel=1e-12)


def hinges_of(mesh):
    """(h, 4) edge and opposite vertices, of edges with two faces."""
    inside = np.flatnonzero(~np.isin(np.arange(len(mesh.edges)), mesh.boundary_edges))
    rows = []
    for e in inside:
        ends = mesh.edges[e]
        rows.append([*ends, *(np.setdiff1d(mesh.faces[f], ends)[0] for f in mesh.edge_faces[e])])
    return np.array(rows), mesh.edge_faces[inside]


def test_crumpled_sheet_pushes_and_turns_itself_nowhere():
    rng = np.random.default_rng(5)
    x, faces = grid(6, 7)
    x += 0.3 * rng.standard_normal(x.shape)
    force = np.zeros_like(x)
    for row in hinges_of(TriMesh(x, faces))[0]:
        g, out = np.empty((4, 3)), np.zeros((4, 3))
        theta = bend.angle_gradient(x, *row, g)
        bend.gradient(theta, 0.2, 1.5, g, out)
        assert abs(out.sum(axis=0)).max() < 1e-13 * abs(out).max()
        np.add.at(force, row, out)
    assert abs(force).max() > 1.0
    assert abs(force.sum(axis=0)).max() < 1e-12 * abs(force).max()
    assert abs(np.cross(x, force).sum(axis=0)).max() < 1e-11 * abs(force).max()


def plate_energy(flat, bent, faces, rigidity):
    """Bending energy per rest area, without the faces at the border, which have fewer hinges."""
    mesh = TriMesh(flat, faces)
    hinges, sides = hinges_of(mesh)
    length = np.linalg.norm(flat[hinges[:, 0]] - flat[hinges[:, 1]], axis=1)
    k = bend.hinge_stiffness(rigidity, length, mesh.areas[sides[:, 0]], mesh.areas[sides[:, 1]])
    energy = np.array([bend.energy(bend.angle(bent, *h), 0.0, s) for h, s in zip(hinges, k)])
    middle = flat[faces].mean(axis=1)
    low, high = np.quantile(middle, 0.25, axis=0), np.quantile(middle, 0.75, axis=0)
    inner = ((middle >= low) & (middle <= high)).all(axis=1)
    share = np.zeros(len(faces))
    np.add.at(share, sides, 0.5 * energy[:, None])  # each of the two faces has half of a hinge
    return share[inner].sum() / mesh.areas[inner].sum()


def rolled(flat, axis, turn, spacing):
    """Points rolled about the axis: the fold lines are `spacing` apart, with an angle of `turn` at each."""
    across = 1 - axis
    at = np.arange(math.ceil(np.ptp(flat[:, across]) / spacing) + 1)
    way = np.concatenate([[[0.0, 0.0]], spacing * np.cumsum(np.stack([np.cos(at * turn), np.sin(at * turn)], 1), 0)])
    line = np.rint((flat[:, across] - flat[:, across].min()) / spacing).astype(int)
    out = np.empty_like(flat)
    out[:, axis], out[:, across], out[:, 2] = flat[:, axis], way[line, 0], way[line, 1]
    return out


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("cell", [(0.01, 0.01), (0.01, 0.03)])
def test_grid_bent_to_a_cylinder_stores_that_of_a_plate(axis, cell):
    flat, faces = grid(16, 16)
    flat[:, :2] *= cell
    turn = 0.05
    bent = rolled(flat, axis, turn, cell[1 - axis])
    kappa = turn / cell[1 - axis]
    assert plate_energy(flat, bent, faces, 2e-5) == pytest.approx(0.5 * 2e-5 * kappa**2, rel=1e-9)


@pytest.mark.parametrize("axis", [0, 1])
def test_equilateral_triangles_bent_to_a_cylinder(axis):
    """Across edges it is exact but for sin and cos; along them no fold lies on the cylinder, and it is a limit."""
    flat, faces = grid(40, 40)
    flat[:, 0] += 0.5 * flat[:, 1]
    flat[:, 1] *= math.sqrt(0.75)
    kappa = 0.01
    bent = flat.copy()
    bent[:, 1 - axis] = np.sin(kappa * flat[:, 1 - axis]) / kappa
    bent[:, 2] = (1.0 - np.cos(kappa * flat[:, 1 - axis])) / kappa
    faces = faces.reshape(-1, 6)[:, [0, 1, 5, 1, 2, 5]].reshape(-1, 3)  # the short diagonal
    assert plate_energy(flat, bent, faces, 1.0) == pytest.approx(0.5 * kappa**2, rel=1e-5)


@pytest.mark.parametrize("along, times", [((1, 1), 3.0), ((1, -1), 1.0)])
def test_diagonals_all_one_way_make_a_grid_stiff_along_them(along, times):
    """What the docstring of `hinge_stiffness` warns of."""
    flat, faces = grid(20, 20)
    kappa, u, v = 0.01, flat[:, :2] @ along / math.sqrt(2), flat[:, 1::-1] @ (along * np.array([1, -1])) / math.sqrt(2)
    bent = np.column_stack([np.sin(kappa * u) / kappa, v, (1.0 - np.cos(kappa * u)) / kappa])
    assert plate_energy(flat, bent, faces, 1.0) == pytest.approx(times * 0.5 * kappa**2, rel=1e-4)


def test_hinge_stiffness_of_numbers_arrays_and_nothing():
    assert bend.hinge_stiffness(2.0, 3.0, 1.0, 2.0) == 6.0
    found = bend.hinge_stiffness(np.array([2.0, 2.0]), np.array([3.0, 0.0]), np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    assert found.tolist() == [6.0, 0.0]
