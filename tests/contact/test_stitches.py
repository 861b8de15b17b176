"""Stitches: pairs of vertices by hand, and sheets that are drawn together without passing through anything."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import unsnarl as us
from tests.dynamics.cloths import EXACT, dense_couplings, fabric, momentum
from unsnarl.contact.stitches import SHARE, SPEED, Stitches, pull_together
from unsnarl.mesh.primitives import sheet
from unsnarl.simulation.scene import Cloth, Scene
from unsnarl.simulation.simulate import Simulator
from unsnarl.wardrobe.cut import cut, merge
from unsnarl.wardrobe.pattern import Panel, Pattern, Piece, Seam

H = 0.01  # [s]
CLOTH = fabric(warp=1000.0, damping=1e-3)


def stitches(*pairs, stiffness=1e4):
    return Stitches(np.array(pairs, dtype=np.int32).reshape(-1, 2), np.full(len(pairs), stiffness))


# ---- which vertices are one point


LINE = np.array([(0.0, 0, 0), (0.001, 0, 0), (0.002, 0, 0), (0.5, 0, 0), (0.0015, 0, 0), (0.003, 0, 0)])


def test_near_ends_are_one_point():
    assert stitches((3, 2), (1, 0)).ids(LINE, None, 0.01).tolist() == [0, 0, 2, 3, 4, 5]
    assert stitches((3, 2), (1, 0)).ids(LINE, None, 1.0).tolist() == [0, 0, 2, 2, 4, 5]
    assert stitches((0, 1)).ids(LINE, None, 0.001).tolist() == [0, 1, 2, 3, 4, 5]  # as far as `near` is not near
    assert stitches((0, 1)).ids(LINE, None, 0.01).dtype == np.int32


def test_one_point_is_transitive():
    """Where three panels meet, what is sewn to the same vertex is one point, however far the outer ones are apart."""
    chain = stitches((5, 2), (2, 1), (0, 1), (3, 4))
    assert chain.ids(LINE, None, 0.0012).tolist() == [0, 0, 0, 3, 4, 0]
    assert chain.ids(LINE, None, 0.0005).tolist() == [0, 1, 2, 3, 4, 5]


def test_copies_stay_one_point():
    origin = np.array([0, 1, 2, 3, 3, 5], dtype=np.int32)  # vertex 4 is a copy of 3
    assert stitches((0, 1)).ids(LINE, origin, 0.01).tolist() == [0, 0, 2, 3, 3, 5]
    assert stitches((4, 1), (0, 2)).ids(LINE, origin, 0.01).tolist() == [0, 1, 0, 1, 1, 5]


def test_no_stitches():
    none = stitches()
    assert len(none) == 0 and none.ids(LINE, None, 1.0).tolist() == [0, 1, 2, 3, 4, 5]
    assert Cloth(sheet((1, 1), (2, 2)), stitches=[]).stitches.shape == (0, 2)


@pytest.mark.parametrize("wrong", [[(0, 99)], [(-1, 0)], [0, 1], [(0.5, 1)], "ab", [(0, 1, 2)]])
def test_stitches_that_make_no_sense(wrong):
    with pytest.raises(us.BadInput, match="stitch"):
        Cloth(sheet((1, 1), (2, 2)), stitches=wrong)


# ---- what a stitch does


def velocities_after(gap, v=((0, 0, 0), (0, 0, 0)), mass=(1.0, 3.0), stiffness=1e9):
    """Of two free particles that are this far apart: (2, 3)."""
    x, v, mass = np.array([(0.1, 0.2, 0.3), np.subtract((0.1, 0.2, 0.3), gap)]), np.array(v, float), np.array(mass)
    matrix, pull = dense_couplings(pull_together(stitches((0, 1), stiffness=stiffness), x, v, H, 2), 2)
    assert matrix == pytest.approx(matrix.T) and np.linalg.eigvalsh(matrix).min() > -1e-9 * np.abs(matrix).max()
    return v + np.linalg.solve(matrix + np.diag(np.repeat(mass, 3)), pull).reshape(-1, 3)


def test_a_near_gap_is_closed_by_a_share_in_each_step():
    gap = np.array([0.003, -0.004, 0.0])
    v = velocities_after(gap)
    assert gap + H * (v[0] - v[1]) == pytest.approx((1 - SHARE) * gap, rel=1e-3)


def test_a_wide_gap_is_closed_with_a_steady_speed():
    gap = np.array([0.0, 0.3, -0.4])
    v = velocities_after(gap, v=((0, 0, 5.0), (1.0, 0, 0)))
    assert v[0] - v[1] == pytest.approx(-SPEED * gap / 0.5, abs=1e-4)  # whatever the speed was before


def test_a_stitch_without_a_gap_holds():
    assert np.diff(velocities_after((0, 0, 0), v=((0, 0, 1.0), (0, 0, -1.0))), axis=0) == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("stiffness", [1.0, 1e3, 1e6])
def test_a_stitch_pulls_both_ends_alike(stiffness):
    """Particles at rest: the pull is along the gap, so that neither kind of momentum is made."""
    gap, mass = np.array([0.03, 0.01, -0.02]), np.array([1.0, 3.0])
    v = velocities_after(gap, mass=mass, stiffness=stiffness)
    assert mass @ v == pytest.approx(np.zeros(3), abs=1e-12)
    assert np.cross(gap, v[0]) == pytest.approx(np.zeros(3), abs=1e-12) and v[0] @ gap < 0
    moving = np.array([(1.0, 2.0, 3.0), (0.0, -1.0, 0.5)])
    assert mass @ velocities_after(gap, moving, mass, stiffness) == pytest.approx(mass @ moving, rel=1e-9)


# ---- sheets


def panel(name, width, height, at, degrees=(0, 0, 0)):
    """Its right edge is 1, its left edge 3."""
    turn = Rotation.from_euler("xyz", degrees, degrees=True).as_matrix()
    return Panel(name, np.array([(0, 0), (width, 0), (width, height), (0, height)]), rotation=turn, position=at)


def sewing(one, two, seam=(1, 3), edge=0.08, more=(), options=None, **changes):
    """A simulator of two panels whose edges are drawn together, and how they were cut."""
    pieces = cut(Pattern("pair", [one, two], [Seam((Piece(one.name, seam[0]),), (Piece(two.name, seam[1]),))]), edge)
    assert len(pieces.mesh.x) < 150
    settings = {"fps": 60, "substeps": 1, "gravity": 0.0, "air": 0.0, "friction": 0.0, "thickness": 0.005, **changes}
    return Simulator(Scene([Cloth(pieces.mesh, CLOTH, stitches=pieces.stitches), *more], **settings), options), pieces


def gaps(simulator, pieces):
    a, b = simulator.x[pieces.stitches].swapaxes(0, 1)
    return np.linalg.norm(a - b, axis=1)


def sizes(simulator):
    """What the changes of linear and angular momentum are measured by."""
    p = simulator.system.mass[:, None] * simulator.v
    return np.abs(p).sum(), np.linalg.norm(np.cross(simulator.x, p), axis=1).sum()


@pytest.mark.parametrize("degrees", [0, 40])
def test_sheets_come_together_and_keep_their_momentum(degrees):
    """Mirror images of each other that drift; their far ends are bent back by `degrees`."""
    left = panel("a", 0.3, 0.25, (0.05, 0, 0), (0, degrees, 0))
    right = left.mirrored("b")
    simulator, pieces = sewing(right, left, seam=(3, 3), options=EXACT)
    simulator.v += [0.0, 0.3, 0.2]
    before = momentum(simulator)
    for _ in range(14):
        stats = simulator.advance().stats
        linear, angular = (np.abs(b - a).max() for a, b in zip(before, momentum(simulator)))
        assert linear < 1e-9 * sizes(simulator)[0] and angular < 1e-6 * sizes(simulator)[1]
        assert stats["ef_pairs"] == 0
    assert gaps(simulator, pieces).max() < 0.005
    merged = merge(pieces.mesh.moved(simulator.x), pieces.stitches)
    assert us.check(merged).clean and len(merged.boundary_loops) == 1
    assert len(merged.x) == len(simulator.x) - len(pieces.stitches)


def test_sheets_come_together_from_anywhere():
    """Aslant, turned and moving: what is linear is kept, and nothing is hit on the way."""
    simulator, pieces = sewing(
        panel("a", 0.3, 0.25, (0, 0, 0)), panel("b", 0.25, 0.3, (0.4, 0.05, 0.08), (20, 10, 5)), options=EXACT
    )  # fmt: skip
    simulator.v += [0.1, 0.2, 0.05] + np.cross([0, 0, 1.0], simulator.x)
    before, _ = momentum(simulator)
    widest = [gaps(simulator, pieces).max()]
    for _ in range(16):
        assert simulator.advance().stats["ef_pairs"] == 0
        widest.append(gaps(simulator, pieces).max())
        assert np.abs(momentum(simulator)[0] - before).max() < 1e-9 * sizes(simulator)[0]
    assert widest[-1] < 0.005 and (np.diff(widest) < 1e-3).all()
    assert np.diff(widest).min() > -1.3 * SPEED / 60  # they are not thrown
    assert us.check(merge(pieces.mesh.moved(simulator.x), pieces.stitches)).clean


def test_a_sheet_is_rolled_up_by_its_own_seam():
    roll = Panel("roll", np.array([(-0.3, 0), (0.3, 0), (0.3, 0.2), (-0.3, 0.2)]), wrap=0.12)
    pieces = cut(Pattern("roll", [roll], [Seam((Piece("roll", 1),), (Piece("roll", 3),))]), 0.06)
    cloth = Cloth(pieces.mesh, CLOTH, stitches=pieces.stitches)
    simulator = Simulator(Scene([cloth], fps=60, substeps=1, gravity=0.0, air=5.0, thickness=0.005))
    assert gaps(simulator, pieces).max() > 0.05
    for _ in range(20):
        assert simulator.advance().stats["ef_pairs"] == 0
    merged = merge(pieces.mesh.moved(simulator.x), pieces.stitches)
    assert gaps(simulator, pieces).max() < 0.005 and us.check(merged).clean and len(merged.boundary_loops) == 2


def test_a_closed_seam_stays_closed_and_carries():
    """Two sheets sewn at the start, the upper one held at its top: the lower one hangs from the seam."""
    upper, lower = panel("a", 0.25, 0.25, (0, 0.001, 0)), panel("b", 0.25, 0.2, (0, -0.2, 0))
    pieces = cut(Pattern("pair", [upper, lower], [Seam((Piece("a", 0),), (Piece("b", 2),))]), 0.08)
    pins = np.flatnonzero(pieces.mesh.x[:, 1] > 0.25)
    cloth = Cloth(pieces.mesh, CLOTH, stitches=pieces.stitches, pins=pins)
    simulator = Simulator(Scene([cloth], fps=24, substeps=2, thickness=0.005, air=1.0))
    for _ in range(12):
        assert simulator.advance().stats["ef_pairs"] == 0
        assert gaps(simulator, pieces).max() < 0.0015
    assert simulator.x[:, 1].min() > -0.25


def test_stitches_do_not_pull_cloth_through_cloth():
    """The straight way of every stitch leads through a third sheet, which is held."""
    wall = sheet((0.9, 0.7), (7, 5))
    wall = Cloth(wall, pins=np.arange(len(wall.x)), material=CLOTH)
    above, below = panel("a", 0.3, 0.25, (-0.3, -0.12, 0.05)), panel("b", 0.3, 0.25, (0, -0.12, -0.05))
    simulator, pieces = sewing(above, below, more=[wall], air=5.0)
    one = np.unique(pieces.mesh.faces[pieces.mesh.groups["a"]])
    two = np.unique(pieces.mesh.faces[pieces.mesh.groups["b"]])
    for _ in range(25):
        assert simulator.advance().stats["ef_pairs"] == 0
        assert simulator.x[one, 2].min() > 0 > simulator.x[two, 2].max()
    wide = gaps(simulator, pieces)
    assert wide.min() > 0.001 and wide.max() < 0.03  # as near as the sheet between them lets them


def test_a_free_sheet_between_is_not_cut():
    between = sheet((0.3, 0.3), (4, 4))
    between = between.moved(between.x[:, [2, 1, 0]] + [0.0, 0.12, 0.0])  # across the way
    simulator, pieces = sewing(
        panel("a", 0.3, 0.25, (-0.36, 0, 0)), panel("b", 0.3, 0.25, (0.06, 0, 0)), more=[Cloth(between, CLOTH)], air=5.0
    )  # fmt: skip
    for _ in range(20):
        cloth, free = simulator.advance().states
        assert us.check([pieces.mesh.moved(cloth.x), between.moved(free.x)]).clean
    assert gaps(simulator, pieces).max() < 0.01
