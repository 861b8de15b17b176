"""Cloth on bodies: contact constraints by hand, then sheets that land, slide, are lifted, carried and hit."""

import numpy as np
import pytest

from tests.dynamics.cloths import GRAVITY
from unsnarl.contact.solids import Touch, constrain, solid, touch
from unsnarl.io.frames import Frames
from unsnarl.mesh.primitives import box, sheet, sheet_corners, sphere
from unsnarl.simulation.scene import Body, Cloth, Scene
from unsnarl.simulation.simulate import Simulator

THICK = 0.004  # [m]


def floor(size=3.0):
    """A box with its top at z = 0."""
    mesh = box((size, size, 0.2), (1, 1, 1), name="floor")
    return mesh.moved(mesh.x - [0, 0, 0.1])


def tilted(degrees):
    """Turns about y: x then points downhill."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def motion(mesh, shifts, fps=24.0):
    """A body that is shifted by shifts (k, 3) at its frames."""
    return Frames(mesh, mesh.x[None] + np.asarray(shifts)[:, None], fps)


def lying(mesh=None, **changes):
    """A cloth on the floor, at rest."""
    mesh = sheet((0.4, 0.4), (8, 8)) if mesh is None else mesh
    return Cloth(mesh.moved(mesh.x + [0, 0, THICK]), **changes)


def weight(simulator):
    return GRAVITY * simulator.system.mass.sum()


# --- by hand ---


def touching(normal, body=(0.0, 0.0, 0.0), speed=None):
    """A touch of one particle, with the body's own speed along the normal unless told otherwise."""
    normal, body = np.array([normal], dtype=float), np.array([body], dtype=float)
    normal /= np.linalg.norm(normal)
    speed = float(normal[0] @ body[0]) if speed is None else speed
    return Touch(np.array([True]), normal, body, np.array([speed]), np.array([False]))


def constrained(touches, v, *, friction=0.0, push=0.0, pins=(), pin_velocity=(), h=0.01, mass=2.0):
    return constrain(
        touches, [friction] * len(touches), np.array([v], dtype=float), h, np.array([mass]), np.array([push]),
        np.array(pins, np.int32), np.array(pin_velocity, dtype=float).reshape(-1, 3), np.array([0.0, 0.0, -GRAVITY]),
    )  # fmt: skip


def nobody(n):
    """Nobody is released, nobody spared."""
    return np.zeros(n, bool), np.zeros(n, bool)


def test_who_touches_and_how_fast_it_is_to_go():
    plane, h = solid(floor(), 0.5), 0.01
    height = np.array([0.0039, 0.004, 0.0041, 0.0041, 0.2, 0.001, -0.003, 0.004])
    x = np.column_stack([np.linspace(-0.5, 0.5, 8), 0 * height, height])
    v = np.zeros((8, 3))
    v[3, 2], v[4, 2], v[7, 2] = -0.1, -50.0, 0.1
    found = touch(plane, x, v, h, THICK, *nobody(8))
    assert found.on.tolist() == [True, True, False, True, True, True, True, False]
    assert found.normal[found.on] == pytest.approx(np.tile([0.0, 0.0, 1.0], (6, 1)))
    rise = np.minimum(THICK - height, 0.5 * THICK)  # to the gap, though not at once from deep inside
    assert found.speed[found.on] == pytest.approx((rise / h)[found.on], abs=1e-12)


def test_a_body_s_motion_counts():
    plane, h = solid(floor(), 0.5), 0.01
    plane.move(plane.x0, plane.x0 + [0.01, 0.0, 0.02])
    x, v = np.array([[0.0, 0.0, 0.015], [0.0, 0.1, 0.03]]), np.zeros((2, 3))
    found = touch(plane, x, v, h, THICK, *nobody(2))
    assert found.on.tolist() == [True, False]
    assert found.body[0] == pytest.approx([1.0, 0.0, 2.0])
    assert h * found.speed[0] == pytest.approx(0.02 + THICK - 0.015)


def test_what_was_let_go_is_caught_only_when_it_comes_back():
    plane = solid(floor(), 0.5)
    x, v = np.array([[0.0, 0.0, height] for height in (0.00399, 0.0037, 0.0035)]), np.zeros((3, 3))
    released, spared = nobody(3)
    assert touch(plane, x, v, 0.01, THICK, released, spared).on.all()
    assert touch(plane, x, v, 0.01, THICK, ~released, spared).on.tolist() == [False, False, True]
    assert not touch(plane, x, v, 0.01, THICK, released, ~spared).on.any()


def test_touches_found_before_stay():
    """What was to be stopped at the speed it had is still stopped where the solve would have sent it elsewhere."""
    plane, h = solid(floor(), 0.5), 0.01
    x = np.array([[0.0, 0.0, 0.01], [0.1, 0.0, 0.01], [0.2, 0.0, 0.01]])
    down, up = np.tile([0.0, 0.0, -1.0], (3, 1)), np.tile([0.0, 0.0, 1.0], (3, 1))
    down[2] = up[1] = 0.0
    first = touch(plane, x, down, h, THICK, *nobody(3))
    assert first.on.tolist() == [True, True, False] and first.ahead.all()
    second = touch(plane, x, up, h, THICK, *nobody(3), first)
    assert second.on.tolist() == [True, True, False]
    assert second.speed[:2] == pytest.approx(first.speed[:2]) and second.normal[:2] == pytest.approx(first.normal[:2])
    third = touch(plane, x, np.tile([0.0, 0.0, -1.0], (3, 1)), h, THICK, *nobody(3), second)
    assert third.on.all()


def test_one_touch_keeps_one_direction():
    constraints, _, _, after, _ = constrained([touching((0, 0, 1), speed=0.3)], (1.0, 2.0, -5.0))
    assert constraints.kept.tolist() == [1]
    assert constraints.change[0] == pytest.approx([0.0, 0.0, 5.3])
    assert constraints.free[0] == pytest.approx(np.diag([1.0, 1.0, 0.0]))
    assert after[0] == pytest.approx([0.0, 0.0, 0.3])  # the way to the gap is no lasting motion


@pytest.mark.parametrize("second", [(1, 0, 0), (1, 0, 1), (0.3, -0.5, 0.2), (1, 0, -0.8)], ids=str)
def test_two_touches_keep_two_directions(second):
    """Both speeds are met, and after the step both bodies' own: nothing of the way to the gaps lasts."""
    one, two = touching((0, 0, 1), (0, 0, 0.2), 0.5), touching(second, (1.0, 0.5, 0.0), 2.0)
    v = np.array([1.0, 2.0, -5.0])
    constraints, _, _, after, _ = constrained([one, two], v)
    n, m = one.normal[0], two.normal[0]
    assert constraints.kept.tolist() == [2]
    ends = v + constraints.change[0]
    assert (n @ ends, m @ ends) == pytest.approx((0.5, 2.0))
    free = constraints.free[0]
    across = np.cross(n, m) / np.linalg.norm(np.cross(n, m))
    assert free == pytest.approx(np.outer(across, across), abs=1e-12)
    lasting = ends - after[0]
    assert (n @ lasting, m @ lasting) == pytest.approx((0.2, m @ two.body[0]))
    assert across @ after[0] == pytest.approx(0.0, abs=1e-12)


def test_three_touches_keep_all_and_a_fourth_changes_nothing():
    touches = [
        touching(n, speed=s) for n, s in (((0, 0, 1), 0.1), ((1, 0, 1), 0.2), ((0, 1, 1), 0.3), ((1, 1, 1), 9.0))
    ]
    constraints = constrained(touches, (1.0, 2.0, -5.0))[0]
    assert constraints.kept.tolist() == [3]
    assert constraints.free[0] == pytest.approx(np.zeros((3, 3)), abs=1e-12)
    ends = constraints.change[0] + [1.0, 2.0, -5.0]
    assert [t.normal[0] @ ends for t in touches[:3]] == pytest.approx([0.1, 0.2, 0.3])


def test_the_same_direction_twice_is_kept_once():
    constraints = constrained([touching((0, 0, 1)), touching((0, 1e-3, 1))], (0.0, 0.0, -1.0))[0]
    assert constraints.kept.tolist() == [1]


def test_a_pin_overrides_touches():
    constraints, force, drag, after, normal = constrained(
        [touching((0, 0, 1), speed=0.3)], (1.0, 2.0, -5.0), friction=0.5, pins=[0], pin_velocity=[7.0, 8.0, 9.0]
    )
    assert constraints.kept.tolist() == [3] and not constraints.free.any()
    assert constraints.change[0] == pytest.approx([6.0, 6.0, 14.0])
    assert not force.any() and not drag.any() and not after.any() and not normal.any()


def friction_force(touches, v, friction, push):
    """On the particle at its velocity, and how it falls with it."""
    _, force, drag, _, _ = constrained(touches, v, friction=friction, push=push)
    return force[0], drag[0]


def test_friction_is_as_strong_as_the_push_and_against_the_sliding():
    force, drag = friction_force([touching((0, 0, 1), (1.0, 0.0, 0.0))], (4.0, 4.0, 0.0), 0.5, 20.0)
    assert force == pytest.approx(-10.0 * np.array([0.6, 0.8, 0.0]))  # slides at (3, 4) past the body
    assert drag == pytest.approx(2.0 * np.diag([1.0, 1.0, 0.0]))


def test_friction_at_two_bodies_is_that_of_each():
    """Between two belts that run against each other: their pulls cancel."""
    belts = [touching((0, 0, 1), (0.0, 1.0, 0.0)), touching((1, 0, 0), (0.0, -1.0, 0.0))]
    force, drag = friction_force(belts, (0.0, 0.0, 0.0), 0.5, 20.0)
    assert force == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    assert drag[1, 1] == pytest.approx(2 * 10.0)


def test_the_press_of_a_new_contact_is_what_stops_it_and_its_weight():
    force, _ = friction_force([touching((0, 0, 1))], (3.0, 0.0, -0.5), 0.5, 0.0)
    assert force == pytest.approx([-0.5 * 2.0 * (0.5 / 0.01 + GRAVITY), 0.0, 0.0])


# --- in motion ---


def test_sheet_lands_and_stays_at_the_gap():
    mesh = sheet((0.5, 0.5), (8, 8))
    for ground in (floor(), sheet((3.0, 3.0), (1, 1))):  # solid, and without an inside
        simulator = Simulator(Scene([Cloth(mesh.moved(mesh.x + [0, 0, 0.1]))], [Body(ground)], up="z", thickness=THICK))
        assert simulator.advance().stats["touching"] == 0
        for _ in range(9):
            stats = simulator.advance().stats
            assert simulator.x[:, 2].min() > 0.5 * THICK
        assert simulator.x[:, 2] == pytest.approx(THICK, abs=1e-9)
        assert stats["kinetic_energy"] < 1e-12
        assert simulator.push.sum() == pytest.approx(weight(simulator), rel=1e-6)
        assert not simulator.released.any()


def slid(degrees, friction, frames, *, speed=0.0, substeps=3):
    """Velocities [m/s] downhill of a sheet on a slope at each frame, and how far it came."""
    turn, mesh, slope = tilted(degrees), sheet((0.5, 0.5), (6, 6)), box((40, 4, 0.2), (1, 1, 1))
    cloth = Cloth(mesh.moved((mesh.x + [0, 0, THICK]) @ turn.T), velocity=speed * turn[:, 0])
    body = Body(slope.moved((slope.x - [0, 0, 0.1]) @ turn.T), friction)
    scene = Scene([cloth], [body], up="z", thickness=THICK, air=0.0, substeps=substeps)
    simulator = Simulator(scene)
    speeds = [simulator.advance().states[0].v.mean(axis=0) @ turn[:, 0] for _ in range(frames)]
    assert simulator.x @ turn[:, 2] == pytest.approx(THICK, abs=1e-6)
    return np.array(speeds), (simulator.x.mean(axis=0) @ turn[:, 0]) - THICK * turn[:, 2] @ turn[:, 0]


@pytest.mark.parametrize(("degrees", "friction"), [(10, 0.2), (20, 0.5), (30, 0.6)])
def test_sheet_sticks_on_a_gentle_slope(degrees, friction):
    assert np.tan(np.radians(degrees)) < friction
    speeds, way = slid(degrees, friction, 24)
    assert abs(speeds).max() < 1.01e-3  # creeps: see `solids.CREEP`
    assert abs(way) < 1.01e-3


@pytest.mark.parametrize(("degrees", "friction"), [(30, 0.0), (30, 0.1), (30, 0.3), (45, 0.5)])
def test_sheet_slides_down_a_steep_slope(degrees, friction):
    angle = np.radians(degrees)
    expected = GRAVITY * (np.sin(angle) - friction * np.cos(angle))
    speeds, _ = slid(degrees, friction, 24)
    assert (speeds[-1] - speeds[7]) / (16 / 24) == pytest.approx(expected, rel=0.04)


def test_sliding_sheet_comes_to_rest_where_friction_has_eaten_its_energy():
    speeds, way = slid(0, 0.4, 24, speed=2.0, substeps=6)
    assert way == pytest.approx(2.0**2 / (2 * 0.4 * GRAVITY), rel=0.05)
    assert abs(speeds[-1]) < 1e-6


def test_a_lifted_sheet_is_let_go():
    """Lifted by its corners: contact does not hold it back; once up, nothing is left of it."""
    mesh = sheet((0.4, 0.4), (8, 8))
    corners = sheet_corners((8, 8))
    rise = np.arange(13)[:, None, None] * [0.0, 0.0, 0.02]
    cloth = lying(mesh, pins=corners, targets=mesh.x[corners] + [0, 0, THICK] + rise)
    simulator = Simulator(Scene([cloth], [Body(floor())], up="z", thickness=THICK))
    on = []
    for _ in range(12):
        stats = simulator.advance().stats
        on.append(int((simulator.push > 0).sum()))
        assert (simulator.push >= 0).all()
        assert stats["collisions"] == 0 and simulator.x[:, 2].min() > 0.8 * THICK
    assert 0 < on[0] < len(mesh.x) - 4  # some are lifted at once
    assert on[-4:] == [0, 0, 0, 0]
    assert simulator.x[:, 2].min() > 0.15 and not simulator.released.any()


def test_contact_does_not_pull():
    """A ball is thrown up from the floor as cloth: it flies as if there had been no floor."""
    mesh = sheet((0.4, 0.4), (6, 6))
    fly = [
        Simulator(Scene([lying(mesh, velocity=(0, 0, 0.5))], bodies, up="z", thickness=THICK)).advance().states[0].x
        for bodies in ([Body(floor())], [])
    ]
    assert fly[0] == pytest.approx(fly[1], abs=1e-12)


def test_half_lifted_sheet_comes_to_rest():
    """Held at one side above the floor, the rest lies: at the line between, contacts do not come and go for ever."""
    mesh = sheet((0.4, 0.4), (8, 8))
    side = np.flatnonzero(mesh.x[:, 0] > 0.199)
    rise = np.arange(9)[:, None, None] * [-0.003, 0.0, 0.01]
    cloth = lying(mesh, pins=side, targets=mesh.x[side] + [0, 0, THICK] + rise)
    simulator = Simulator(Scene([cloth], [Body(floor())], up="z", thickness=THICK, air=1.0))
    for _ in range(48):
        stats = simulator.advance().stats
    assert stats["kinetic_energy"] < 1e-8
    lies = simulator.push > 0
    assert 0 < lies.sum() < len(mesh.x) - len(side)
    assert simulator.x[lies, 2] == pytest.approx(THICK, abs=1e-4 * THICK)
    assert simulator.push.sum() < weight(simulator)


def test_a_moving_body_carries_cloth_along():
    t = np.arange(37) / 24
    way = np.where(t < 0.5, 0.5 * t**2, 0.5 * (t - 0.25))  # 1 m/s^2 up to 0.5 m/s
    shifts = np.column_stack([way, 0 * t, 0 * t])
    for friction, carried in ((0.5, True), (0.02, False)):
        body = Body(motion(floor(), shifts), friction)
        simulator = Simulator(Scene([lying()], [body], up="z", thickness=THICK))
        for _ in range(36):
            simulator.advance()
        behind = way[-1] - simulator.x[:, 0].mean()
        assert simulator.x[:, 2] == pytest.approx(THICK, abs=1e-9)
        if carried:
            assert simulator.v[:, 0] == pytest.approx(0.5, abs=1e-3) and behind < 5e-3
        else:
            assert simulator.v[:, 0] == pytest.approx(0.02 * GRAVITY * t[-1], rel=0.15) and behind > 0.2


def test_a_lift_that_goes_up_and_down_keeps_the_cloth_on_it():
    t = np.arange(37) / 24
    shifts = np.column_stack([0 * t, 0 * t, 0.1 * np.sin(4 * t)])  # less than 1 g
    simulator = Simulator(Scene([lying()], [Body(motion(floor(), shifts))], up="z", thickness=THICK))
    for k in range(1, 37):
        simulator.advance()
        assert simulator.x[:, 2] - shifts[k, 2] == pytest.approx(THICK, abs=1e-9)


def test_a_turntable_turns_the_cloth():
    table, angles = floor(), 1.5 * np.arange(25) / 24
    turns = [np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]]) for a in angles]
    body = Body(Frames(table, np.array([table.x @ turn.T for turn in turns])), 1.0)
    simulator = Simulator(
        Scene([lying(velocity=np.cross([0, 0, 1.5], lying().mesh.x))], [body], up="z", thickness=THICK)
    )
    for _ in range(24):
        simulator.advance()
    assert simulator.x == pytest.approx(lying().mesh.x @ turns[-1].T, abs=0.01)


def times_above(x, faces, point):
    """How often a ray straight up from a point goes through a surface, from below less from above."""
    a, b, c = (x[faces[:, k]] - point for k in range(3))
    turns = [p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0] for p, q in ((b, c), (c, a), (a, b))]
    area = sum(turns)
    inside = np.all([t * np.sign(area) > 0 for t in turns], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        height = (turns[0] * a[:, 2] + turns[1] * b[:, 2] + turns[2] * c[:, 2]) / area
    return int(np.sign(area)[inside & (height > 0)].sum())


@pytest.mark.parametrize("speed", [3.0, 8.0, 25.0])
@pytest.mark.parametrize("pins", [(), "boundary"], ids=["free", "held"])
def test_a_fast_ball_does_not_pass_through_thin_cloth(speed, pins):
    cloth, ball = sheet((0.6, 0.6), (12, 12)), sphere(0.1, 320)
    ball = ball.moved(ball.x + [0.013, 0.007, -0.15])
    way = np.minimum(speed * np.arange(9) / 24, 0.25)
    body = Body(motion(ball, np.column_stack([0 * way, 0 * way, way])))
    simulator = Simulator(Scene([Cloth(cloth, pins=pins)], [body], up="z", thickness=0.001))
    for k in range(1, 9):
        frame = simulator.advance()
        assert frame.stats["ef_pairs"] == 0
        assert times_above(simulator.x, cloth.faces, body.motion.x[k].mean(axis=0)) == 1
    assert simulator.x[:, 2].max() > 0.17


def groove(friction=0.0):
    """Two bodies whose tops meet in a groove along x, each at 45 degrees."""
    slab, c = box((2.0, 1.0, 0.2), (1, 1, 1)), np.sqrt(0.5)
    sides = []
    for side in (1, -1):
        x = (slab.x + [0, 0.5 * side, -0.1]) @ np.array([[1, 0, 0], [0, c, side * c], [0, -side * c, c]])
        sides.append(Body(slab.moved(x), friction))
    return sides


def folded_strip(height):
    """A strip folded along its middle line, so that it fits into the groove, this high over where it rests."""
    mesh, c = sheet((0.4, 0.05), (16, 2)), np.sqrt(0.5)
    y = mesh.x[:, 1]
    return mesh.moved(np.column_stack([mesh.x[:, 0], c * y, c * abs(y) + THICK / c + height])), abs(y) < 1e-6


def test_cloth_in_a_groove_is_held_in_two_directions():
    mesh, middle = folded_strip(0.001)
    simulator = Simulator(Scene([Cloth(mesh, "silk")], groove(), up="z", thickness=THICK, air=1.0))
    for _ in range(12):
        stats = simulator.advance().stats
    assert simulator.x[middle, 1] == pytest.approx(0.0, abs=1e-9)
    assert simulator.x[middle, 2] == pytest.approx(THICK * np.sqrt(2), abs=1e-9)
    assert stats["kinetic_energy"] < 1e-12 and stats["ef_pairs"] == 0
    touches = [touch(s, simulator.x, simulator.v, 0.01, THICK, *nobody(len(mesh.x))) for s in simulator.solids]
    assert np.array_equal(touches[0].on & touches[1].on, middle)
    pins = simulator.pinned, np.zeros((0, 3))
    held, *_ = constrain(
        touches, [0.0, 0.0], simulator.v, 0.01, simulator.system.mass, simulator.push, *pins, simulator.gravity
    )
    assert (held.kept[middle] == 2).all() and (held.kept[~middle] == 1).all()
    assert held.free[middle] == pytest.approx(np.tile(np.diag([1.0, 0, 0]), (middle.sum(), 1, 1)), abs=1e-6)


def test_a_strip_slides_along_a_groove_braked_by_both_sides():
    ends = []
    for friction in (0.0, 0.2):
        cloth = Cloth(folded_strip(0.0)[0], "silk", velocity=(1.0, 0.0, 0.0))
        simulator = Simulator(Scene([cloth], groove(friction), up="z", thickness=THICK, air=0.0))
        for _ in range(4):
            simulator.advance()
        ends.append(simulator.v[:, 0].mean())
    assert ends[0] == pytest.approx(1.0, abs=1e-6)
    braked = 0.2 * GRAVITY * 4 / 24  # by a floor; the sides push sqrt(2) times as strongly
    assert 1.2 * braked < 1.0 - ends[1] < 2.0 * braked
