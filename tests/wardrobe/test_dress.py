"""Garments are sewn and come to rest on the body: no intersection, little stretch, panels as they were cut."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import unsnarl as us
from unsnarl.mesh.primitives import sphere
from unsnarl.simulation.scene import Body
from unsnarl.wardrobe.body import character
from unsnarl.wardrobe.cut import cut, edge_for, merge
from unsnarl.wardrobe.dress import OUTFITS, dress, hang, strains
from unsnarl.wardrobe.pattern import Panel, Pattern, Piece, Seam
from unsnarl.wardrobe.pattern_file import GARMENTS, garment, read_garment
from unsnarl.wardrobe.sew import sew

PERSON = 6_000  # triangles

# Files of ../shared/data/patterns: how large the body is, how far down it stands for their origin, and its pose. They
# are made for a smaller person, some with arms held out.
FITTED = {
    "skirt_2_panels": (0.90, 1.05, "a_pose"),
    "skirt_4_panels": (0.90, 1.05, "t_pose"),
    "tee": (0.85, 0.97, "t_pose"),
    "dress": (0.82, 0.93, "t_pose"),
}


def assert_at_rest(dressed, vertices=None):
    """No intersection by our test and ipctk's, 95 % of the edges stretched by less than 10 %."""
    report = us.check(dressed.meshes, bodies=[body.mesh for body in dressed.bodies])
    assert report.clean, f"{dressed.name}: {len(report.hits)} edges cross faces"
    assert not report.second_opinion()["intersections"], f"{dressed.name}: ipctk finds an intersection"
    for mesh in dressed.meshes:
        assert np.percentile(np.abs(strains(mesh)), 95) < 0.10, mesh.name
        if vertices:
            assert abs(len(mesh.x) / vertices - 1) < 0.1


def outside(dressed):
    """Whether all of the cloth is outside of the body: its vertices, since nothing crosses."""
    from unsnarl.contact.solids import solid
    from unsnarl.detect.nearest import nearest

    body = solid(dressed.bodies[0].mesh, 0.0)
    for mesh in dressed.meshes:
        far = np.full(len(mesh.x), 0.3)
        _, _, _, distance = nearest(body.mesh, body.mesh.x, body.bvh, body.normals, mesh.x, far)
        if (distance < 0).any():
            return False
    return True


@cache
def worn(name):
    return dress(name, character(PERSON), vertices=1_000, seconds=0.8)


@pytest.mark.parametrize("name", OUTFITS)
def test_every_outfit(name):
    dressed = worn(name)
    assert [m.name for m in dressed.meshes] == list(OUTFITS[name])
    assert_at_rest(dressed, 1_000)
    assert outside(dressed)


@pytest.mark.prove
@pytest.mark.parametrize("name", OUTFITS)
def test_every_outfit_in_detail(name):
    dressed = dress(name, character(), vertices=5_000)
    assert_at_rest(dressed, 5_000)
    assert outside(dressed)


@pytest.mark.prove
@pytest.mark.parametrize("name", ["tshirt", "trousers", "circle_skirt"])
def test_sewn_at_forty_thousand(name):
    person, pattern = character(), garment(name)
    body = person.mesh if pattern.pose is None else person.pose(pattern.pose)
    mesh, _ = sew(pattern, bodies=[body], vertices=40_000)
    assert us.check(mesh, bodies=[body]).clean
    assert abs(len(mesh.x) / 40_000 - 1) < 0.1


@pytest.mark.parametrize("name", FITTED)
def test_patterns_of_others(data, name):
    """Files of the Garment-Pattern-Generator (Korosteleva and Lee 2021), on a body scaled to fit."""
    scale, down, pose = FITTED[name]
    body = character(PERSON).pose(pose)
    body = body.moved(body.x * scale - [0, down, 0])
    pattern = read_garment(data / "patterns" / f"{name}.json")
    dressed = dress(pattern, body, vertices=1_500, seconds=1.0)
    assert_at_rest(dressed)
    assert outside(dressed)
    mesh = dressed.meshes[0]
    sewn = cut(pattern, edge_for(pattern, 1_500))
    assert len(mesh.x) == len(merge(sewn.mesh, sewn.stitches).x)  # every stitch is closed
    assert mesh.panels.max() + 1 == len(pattern.panels)
    assert (mesh.vertex_component == 0).all()
    assert mesh.x[:, 1].max() > -0.35, "it has slid down"


def test_shapes_are_those_of_the_flat_panels():
    pattern = garment("tshirt")
    pieces = cut(pattern, edge_for(pattern, 1_000))
    mesh, _ = sew(pattern, bodies=[character(PERSON).mesh], vertices=1_000)
    assert np.array_equal(mesh.panels, pieces.mesh.panels)
    assert {mesh.panels[f[0]] for f in mesh.groups.values()} == {0, 1, 2, 3}
    flat = np.linalg.norm(np.diff(pieces.mesh.uv[pieces.mesh.face_uv[:, [0, 1, 2, 0]]], axis=1), axis=2)
    ab, ac = mesh.rest[:, :, 0], mesh.rest[:, :, 1]
    rest = np.stack([np.linalg.norm(e, axis=1) for e in (ab, ac - ab, ac)], axis=1)
    assert np.abs(np.sort(rest, axis=1) - np.sort(flat, axis=1)).max() < 1e-12
    within = mesh.panels[mesh.edge_faces[mesh.seams, 0]] == mesh.panels[mesh.edge_faces[mesh.seams, 1]]
    sleeves = np.isin(
        mesh.edge_faces[mesh.seams, 0], np.concatenate([mesh.groups[f"sleeve_{s}"] for s in ("left", "right")])
    )
    assert within.any()
    assert (sleeves | ~within).all(), "only sleeves are sewn to themselves"


def test_deterministic():
    one, two = (sew(garment("tshirt"), bodies=[character(PERSON).mesh], vertices=1_000)[0].x for _ in range(2))
    assert np.array_equal(one, two)


def test_worn_cloth_is_kept_below():
    inner, outer = worn("shirt_under_jacket").meshes
    chest = np.array([0.0, 1.25, 0.0])
    reach = [
        np.linalg.norm((m.x - chest)[(np.abs(m.x[:, 1] - 1.2) < 0.05) & (m.x[:, 0] > 0.05)][:, [0, 2]], axis=1).min()
        for m in (inner, outer)
    ]
    assert reach[0] < reach[1]


# --- what cannot be sewn ---


def square(name, at, size=0.3):
    corners = np.array([[0, 0], [size, 0], [size, size], [0, size]])
    return Panel(name, corners, position=np.array(at, dtype=float))


def two_squares(distance=0.1):
    return Pattern(
        "two",
        (square("a", (0, 0, 0)), square("b", (0.3 + distance, 0, 0))),
        (Seam((Piece("a", 1),), (Piece("b", 3),)),),
    )


def test_two_squares_become_one():
    mesh, below = sew(two_squares(), vertices=200)
    assert below == []
    assert len(mesh.boundary_loops) == 1
    assert us.check(mesh).clean


def test_a_body_in_the_way():
    wall = us.TriMesh(*_box((0.02, 2, 2), (0.35, 0.15, 0.0)), name="wall")
    with pytest.raises(us.BadInput, match=r"two: could not be sewn: .* stitches are open, .* between a and b"):
        sew(two_squares(), bodies=[wall], vertices=60)


def test_panels_that_cross_at_the_start():
    ball = sphere(0.1)
    with pytest.raises(us.BadInput, match="two: before it is sewn, these cross: panel a and sphere"):
        sew(two_squares(), bodies=[ball.moved(ball.x + [0.15, 0.15, 0])], vertices=200)


def test_three_in_a_row():
    pattern = Pattern(
        "three",
        tuple(square(n, (0, 0.5 * k, 0.1 * k)) for k, n in enumerate("abc")),
        (Seam((Piece("a", 0),), (Piece("b", 0),)), Seam((Piece("b", 2),), (Piece("c", 0),))),
    )
    mesh, _ = sew(pattern, vertices=150)
    assert len(mesh.boundary_loops) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: sew(3),
        lambda: sew(two_squares(), vertices="x"),
        lambda: sew(two_squares(), vertices=2),
        lambda: sew(two_squares(), edge=0.0),
        lambda: sew(two_squares(), edge=0.1, vertices=100),
        lambda: sew(two_squares(), bodies=5),
        lambda: sew(two_squares(), worn=None),
        lambda: sew(two_squares(), thickness=float("nan")),
        lambda: us.Cloth(sphere(1.0), stitches=[[0, 3], [1]]),
        lambda: replace(two_squares(), pose=3),
        lambda: Pattern("p", (square("a", (0, 0, 0)),), (Seam((Piece("a", 0),), (Piece("a", 2),), stage="x"),)),
        lambda: read_garment(None),
        lambda: read_garment("a\0b.toml"),
        lambda: garment(np.zeros(3)),
        lambda: dress(3),
        lambda: dress([]),
        lambda: dress("toga"),
        lambda: dress("handkerchief", seconds="x"),
        lambda: dress(["circle_skirt", "tshirt"], character(PERSON)),
        lambda: garment("toga"),
    ],
)
def test_bad_input(call):
    with pytest.raises(us.BadInput) as trouble:
        call()
    assert "\n" not in str(trouble.value)


def test_hanging_goes_on_from_where_it_was():
    dressed = worn("circle_skirt")
    later = hang(dressed, 0.1)
    assert us.check(later.meshes, bodies=[body.mesh for body in later.bodies]).clean
    assert 0.0 < np.abs(later.meshes[0].x - dressed.meshes[0].x).max() < 0.2
    assert isinstance(later.bodies[0], Body)


def test_all_garments_are_worn():
    assert {g for outfit in OUTFITS.values() for g in outfit} == set(GARMENTS)


def _box(size, at):
    from unsnarl.mesh.primitives import box

    mesh = box(size, (1, 4, 4))
    return mesh.x + np.array(at), mesh.faces


def test_mirrored_patterns_fit_the_other_side():
    left = garment("shirt").panel("sleeve_left")
    right = replace(left.mirrored("x").mirrored("y"), name="sleeve_left")
    assert np.allclose(left.placed(left.corners), right.placed(right.corners))
