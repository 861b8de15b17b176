"""Wind: forces on a plate by hand, and what it does to cloth."""

import numpy as np
import pytest

from tests.dynamics.cloths import GRAVITY, fabric
from unsnarl.dynamics.wind import AIR, add_wind
from unsnarl.mesh.primitives import sheet
from unsnarl.simulation.scene import Cloth, Scene, Wind
from unsnarl.simulation.simulate import Simulator


def wind_on(x, v, faces, velocity, drag=1.0, lift=0.0):
    force, resistance = np.zeros((len(x), 3)), np.zeros((len(x), 3, 3))
    add_wind(x, v, faces, np.array(velocity, dtype=float), drag, lift, force, resistance)
    return force, resistance


def test_drag_on_a_plate_held_across_the_wind():
    plate = sheet((0.5, 0.4), (3, 4))
    force, resistance = wind_on(plate.x, np.zeros_like(plate.x), plate.faces, (0.0, 0.0, 7.0), drag=1.1, lift=0.5)
    assert force.sum(axis=0) == pytest.approx([0.0, 0.0, 0.5 * AIR * 0.2 * 7.0**2 * 1.1])
    assert resistance.sum(axis=0) == pytest.approx(0.5 * AIR * 0.2 * 7.0 * 1.1 * np.eye(3))


@pytest.mark.parametrize("angle", [0.2, 0.7, 1.3, 2.0, 3.0])
def test_drag_and_lift_on_a_slanted_plate(angle):
    """Drag along the wind; lift across it, to the side that the plate is turned to; both less than held across."""
    plate = sheet((0.5, 0.4), (3, 4))
    wind = 5.0 * np.array([np.sin(angle), 0.0, np.cos(angle)])
    force = wind_on(plate.x, np.zeros_like(plate.x), plate.faces, wind, drag=0.8, lift=0.6)[0].sum(axis=0)
    pressure = 0.5 * AIR * 0.2 * 5.0**2
    along, s = wind / 5.0, abs(np.cos(angle))
    normal = np.array([0.0, 0.0, np.sign(np.cos(angle))])
    assert force @ along == pytest.approx(pressure * s * 0.8)
    assert force == pytest.approx(pressure * s * (0.8 * along + 0.6 * (normal - s * along)))
    assert np.linalg.norm(force - (force @ along) * along) == pytest.approx(pressure * s * 0.6 * np.sin(angle))


def test_only_the_air_s_motion_past_the_cloth_counts():
    rng = np.random.default_rng(0)
    plate = sheet((0.5, 0.4), (3, 4))
    x, v = plate.x + rng.normal(0, 0.05, plate.x.shape), rng.normal(0, 1.0, plate.x.shape)
    still = wind_on(x, v, plate.faces, (1.0, 2.0, 3.0), 0.9, 0.4)
    moving = wind_on(x, v + [4.0, -1.0, 2.0], plate.faces, (5.0, 1.0, 5.0), 0.9, 0.4)
    assert moving[0] == pytest.approx(still[0], rel=1e-9, abs=1e-12)
    assert moving[1] == pytest.approx(still[1], rel=1e-9, abs=1e-12)
    along = wind_on(plate.x, np.tile([1.0, 2.0, 3.0], (len(x), 1)), plate.faces, (1.0, 2.0, 3.0))
    assert not along[0].any() and not along[1].any()  # drifts with the wind


def test_the_side_that_faces_are_wound_to_does_not_matter():
    rng = np.random.default_rng(1)
    plate = sheet((0.5, 0.4), (3, 4))
    x, v = plate.x + rng.normal(0, 0.05, plate.x.shape), rng.normal(0, 1.0, plate.x.shape)
    back = np.ascontiguousarray(plate.faces[:, ::-1])
    for one, other in zip(wind_on(x, v, plate.faces, (3, 1, 2), 1.0, 0.5), wind_on(x, v, back, (3, 1, 2), 1.0, 0.5)):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-14)


def test_a_face_without_area_feels_nothing():
    x = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
    force, resistance = wind_on(x, np.zeros((3, 3)), np.array([[0, 1, 2]], np.int32), (0.0, 0.0, 5.0), 1.0, 1.0)
    assert not force.any() and not resistance.any()


def test_falling_sheet_reaches_its_terminal_speed():
    """Where drag is weight: 1/2 AIR drag v^2 = density g."""
    mesh = sheet((0.5, 0.5), (5, 5))
    cloth = Cloth(mesh, fabric(density=0.05, bend=1.0))
    scene = Scene([cloth], wind=Wind(drag=1.2, lift=0.0), air=0.0, up="z", fps=20.0, substeps=10, resolver="none")
    simulator = Simulator(scene)
    expected = np.sqrt(2 * 0.05 * GRAVITY / (AIR * 1.2))
    for _ in range(10):
        speeds = -simulator.advance().states[0].v[:, 2]
        assert speeds.max() < expected * 1.05
    assert speeds == pytest.approx(expected, rel=0.02)


def test_flag_is_blown_downwind():
    """The stronger the wind, the further its end streams; it stays at its pole, and without wind in its plane."""
    flat = sheet((0.6, 0.3), (12, 6))
    mesh = flat.moved(flat.x - flat.x.min(axis=0))  # the pole is along y
    pole, end = np.flatnonzero(mesh.x[:, 0] < 1e-6), mesh.x[:, 0] > 0.599
    reached = []
    for speed in (0.0, 3.0, 10.0, -10.0):
        wind = Wind((0.0, 0.0, speed), gusts=0.1)
        simulator = Simulator(Scene([Cloth(mesh, "silk", pins=pole)], wind=wind, up="y", resolver="none"))
        ends = [simulator.advance().states[0].x[end, 2].mean() for _ in range(36)]
        reached.append(np.mean(ends[18:]))
        assert np.array_equal(simulator.x[pole], mesh.x[pole])
    assert reached[0] == pytest.approx(0.0, abs=1e-6)
    assert 0.1 < reached[1] < reached[2] < 0.65
    assert reached[2] > 0.5 and reached[3] == pytest.approx(-reached[2], abs=0.05)
