"""Cloth at rest, against what is known by hand: how strips stretch, hang and bend, and finer meshes come nearer."""

import numpy as np
import pytest
from scipy.optimize import brentq

from tests.dynamics.cloths import GRAVITY, fabric, settled
from unsnarl.dynamics.system import elastic_energy
from unsnarl.mesh.primitives import sheet
from unsnarl.simulation.scene import Cloth, Scene


def hanging_strip(rows, *, along):
    """Errors of the length and of the elastic energy of a strip that hangs by its upper edge.

    Tension at s from the top is density g (L - s) per width, and strain that over the stiffness: it gets longer by
    density g L^2 / 2 k, and stores density^2 g^2 L^3 / 6 k per width.
    along : "warp" or "weft", the thread that it hangs by; the other one is much stiffer
    """
    length, width, density, k = 1.0, 0.2, 0.2, 40.0
    if along == "warp":
        flat = sheet((length, width), (rows, 2))
        down, across, material = flat.x[:, 0], flat.x[:, 1], fabric(density=density, warp=k, weft=900.0)
    else:
        flat = sheet((width, length), (2, rows))
        across, down, material = flat.x[:, 0], flat.x[:, 1], fabric(density=density, warp=900.0, weft=k)
    mesh = flat.moved(np.column_stack([across, -down, 0 * down]))
    scene = Scene([Cloth(mesh, material, pins=np.flatnonzero(down < -0.499 * length))], resolver="none", up="y")
    strip = settled(scene)
    longer = -0.5 * length - strip.x[:, 1].min()
    energy = elastic_energy(strip.system, strip.x) / width
    weight = density * GRAVITY
    return longer / (weight * length**2 / (2 * k)) - 1, energy / (weight**2 * length**3 / (6 * k)) - 1


@pytest.mark.parametrize("along", ["warp", "weft"])
def test_hanging_strip_stretches_under_its_weight(along):
    errors = abs(np.array([hanging_strip(rows, along=along) for rows in (4, 8, 16, 32)]))
    assert (errors[1] < 0.01).all() and (errors[-1] < 5e-4).all()
    assert (errors[1:] < errors[:-1]).all()
    assert np.log2(errors[:-1, 1] / errors[1:, 1]) == pytest.approx(2.1, abs=0.2)  # of the energy


def chord_angle(overhang, pitch, bend):
    """The angle [degrees] by which the chord of a clamped strip dips.

    A row of hinges stands for the pitch around it, half of it before the clamp: so much longer is the strip that bends.
    """
    rows = round(overhang / pitch - 0.5)
    pitch = overhang / (rows + 0.5)
    mesh = sheet(((rows + 1) * pitch, 2 * pitch), (rows + 1, 2))
    at = mesh.x[:, 0] - mesh.x[:, 0].min()
    cloth = Cloth(mesh, fabric(warp=1e3, shear=1e3, bend=bend), pins=np.flatnonzero(at < 1.5 * pitch))
    x = settled(Scene([cloth], resolver="none", up="z")).x
    tip, clamp = x[at > at.max() - 0.1 * pitch].mean(axis=0), x[abs(at - pitch) < 0.1 * pitch].mean(axis=0)
    return np.degrees(np.arctan2(clamp[2] - tip[2], tip[0] - clamp[0]))


def test_cantilever_bends_by_its_bending_length():
    """c = (B / density g)^(1/3); a strip that hangs over by 2 c dips 41.5 degrees. [Peirce 1930; BS 3356]

    Where its vertices are free the sheet is softer than where they are held on a cylinder, for which the hinges'
    stiffness is made: folds along diagonals help, and 0.8 B is left (see `energies.bend`, whose factor is for the
    latter), 0.93 c.
    """
    rigidities = 1e-6 * np.array([1.0, 5.5, 30.0])
    lengths = []
    for bend in rigidities:
        c = (bend / (0.2 * GRAVITY)) ** (1 / 3)
        overhangs = c * np.array([1.7, 1.85, 2.0, 2.15])
        angles = [chord_angle(overhang, 1e-3, bend) for overhang in overhangs]
        assert (np.diff(angles) > 0).all()
        lengths.append(np.interp(41.5, angles, overhangs) / 2 / c)
    lengths = np.array(lengths)
    assert lengths == pytest.approx(1.0, abs=0.1)
    assert lengths == pytest.approx(0.8 ** (1 / 3), abs=0.025)
    exponent = 1 / 3 + np.polyfit(np.log(rigidities), np.log(lengths), 1)[0]
    assert exponent == pytest.approx(1 / 3, abs=0.01)


def test_slack_strip_hangs_in_a_catenary():
    span = 0.8  # of a strip of 1 m
    a = brentq(lambda a: 2 * a * np.sinh(span / (2 * a)) - 1, 0.05, 5)
    sag = a * (np.cosh(span / (2 * a)) - 1)
    errors = []
    for rows in (8, 16, 32):
        mesh = sheet((1.0, 0.1), (rows, 2))
        u = 2 * mesh.x[:, 0]
        x = np.column_stack([0.5 * span * u, mesh.x[:, 1], -0.25 * (1 - u**2)])
        cloth = Cloth(mesh.moved(x), fabric(warp=1e4, shear=1e3, bend=1e-6), pins=np.flatnonzero(abs(u) > 0.999))
        errors.append(abs(settled(Scene([cloth], resolver="none", up="z")).x[:, 2].min() / -sag - 1))
    assert errors[0] > errors[1] > errors[2] and errors[2] < 2e-3


def drape(squares, step=1.0):
    """A sheet held at its border: the sag in the middle [m], and its whole energy [J]."""
    mesh = sheet((1.0, 1.0), (squares, squares))
    at_rest = settled(Scene([Cloth(mesh, fabric(), pins="boundary")], resolver="none", up="z"), step=step)
    height = at_rest.x[:, 2]
    return -height[len(mesh.x) // 2], elastic_energy(at_rest.system, at_rest.x) + GRAVITY * at_rest.system.mass @ height


def test_finer_meshes_come_nearer():
    found = np.array([drape(squares) for squares in (4, 8, 16, 32)])
    changes = abs(np.diff(found, axis=0))
    assert (changes[-1] / abs(found[-1]) < [1e-3, 1e-2]).all()
    assert np.log2(changes[:-1] / changes[1:]).min() > 1.7  # second order


def test_where_it_comes_to_rest_does_not_depend_on_the_step():
    assert drape(8, step=0.05) == pytest.approx(drape(8, step=2.0), rel=1e-4)
