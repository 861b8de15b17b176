"""Bones, how they turn, and how the skin follows."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial.transform import Rotation

from unsnarl.errors import BadInput
from unsnarl.mesh.primitives import box
from unsnarl.wardrobe.body import character
from unsnarl.wardrobe.figure import FIGURE
from unsnarl.wardrobe.skeleton import BONES, INDEX, Skeleton, heat_weights, mirrored, skeleton, to_segments


@pytest.fixture(scope="module")
def person():
    return character(5_000)


def test_bones_are_a_tree_with_parents_first_and_two_equal_sides():
    bones = skeleton()
    assert len(bones.names) == 19
    assert bones.parents[0] == -1
    assert all(0 <= parent < b for b, parent in enumerate(bones.parents) if b)
    for name, b in INDEX.items():
        np.testing.assert_allclose(bones.joints[INDEX[mirrored(name)]], bones.joints[b] * [-1, 1, 1])


def test_bones_are_within_the_body():
    bones = skeleton()
    assert FIGURE.distance(bones.joints).max() < -0.015
    assert FIGURE.distance(bones.tips).max() < -0.005


def test_weights_are_shares(person):
    assert person.weights.shape == (len(person.mesh.x), 19)
    assert person.weights.min() >= 0
    np.testing.assert_allclose(person.weights.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("bone", BONES)
def test_a_bone_leads_one_connected_part_of_the_skin(person, bone):
    leads = person.weights.argmax(axis=1) == INDEX[bone]
    assert leads.sum() > 10
    edges = person.mesh.edges[leads[person.mesh.edges].all(axis=1)]
    n = len(leads)
    part = connected_components(coo_matrix((np.ones(len(edges)), edges.T), shape=(n, n)), directed=False)[1]
    assert len(np.unique(part[leads])) == 1
    far = to_segments(person.mesh.x, *(a[[INDEX[bone]]] for a in (person.skeleton.joints, person.skeleton.tips)))[:, 0]
    assert far[leads].max() < 0.25
    assert person.weights[far > 0.5, INDEX[bone]].max(initial=0) < 0.01


def test_weights_are_smooth(person):
    step = np.abs(np.diff(person.weights[person.mesh.edges], axis=1)).max(axis=(1, 2))
    assert np.median(step) < 0.05
    assert step.max() < 0.6  # across one edge, where a limb is thin


def test_heat_along_a_bar_falls_off_as_a_cosh():
    """On a thin long box with two bones, w solves w'' = (w - p) / d^2: in the middle half, with slope -1 / 2d."""
    bar = box((4.0, 0.2, 0.2), (160, 2, 2))
    start, end = np.array([[-2.0, 0, 0], [0, 0, 0]]), np.array([[0, 0, 0], [2.0, 0, 0]])
    bones = Skeleton(("a", "b"), np.array([-1, 0]), start, end, np.tile(np.eye(3), (2, 1, 1)), np.zeros(2, bool))
    weights = heat_weights(bar, bones, (bar.x[:, 0] > 0).astype(int))
    d = np.sqrt((0.1**2 * 4 + np.hypot(0.1, 0.1) ** 2 * 4) / 8)  # the ring has corners and middles of sides
    for x in (-0.5, -0.2, 0.2, 0.5):
        here = np.isclose(bar.x[:, 0], x)
        expected = 1 - 0.5 * np.exp(-abs(x) / d) if x < 0 else 0.5 * np.exp(-abs(x) / d)
        assert weights[here, 0].mean() == pytest.approx(expected, abs=0.03)


def test_no_turn_gives_back_the_rest_mesh(person):
    for pose in ({}, "a_pose", np.zeros((19, 3)), {"head": (0, 0, 0)}):
        np.testing.assert_allclose(person.pose(pose).x, person.mesh.x, atol=1e-12)


def test_turning_the_root_moves_everything_rigidly(person):
    x = person.pose({"hips": (30, -70, 20)}).x
    turn = Rotation.from_euler("YXZ", [-70, 30, 20], degrees=True)
    expected = turn.apply(person.mesh.x - person.skeleton.joints[0])
    expected += x[0] - expected[0]
    np.testing.assert_allclose(x, expected, atol=1e-12)
    assert x[:, 1].min() == pytest.approx(0, abs=1e-12)


def test_bending_the_elbow_takes_the_forearm_forwards(person):
    joint = person.joints({"forearm_left": (-90, 0, 0)})
    rest = person.joints("a_pose")
    length = np.linalg.norm(rest["hand_left"] - rest["forearm_left"])
    np.testing.assert_allclose(joint["forearm_left"], rest["forearm_left"])
    np.testing.assert_allclose(joint["hand_left"] - joint["forearm_left"], [0, 0, length], atol=0.1 * length)
    np.testing.assert_allclose(joint["hand_right"], rest["hand_right"])


def test_the_t_pose_has_level_arms(person):
    joint = person.joints("t_pose")
    heights = [joint[f"{bone}_{side}"][1] for bone in ("upper_arm", "forearm", "hand") for side in ("left", "right")]
    assert np.ptp(heights) < 0.01
    assert joint["hand_left"][0] > 0.65


def test_the_skin_follows_its_bone_and_leaves_others_alone(person):
    pose = {"forearm_left": (-90, 0, 0)}
    x, joint = person.pose(pose).x, person.joints(pose)["hand_left"]
    hand = person.weights[:, INDEX["hand_left"]] > 0.99
    before = np.linalg.norm(person.mesh.x[hand] - person.skeleton.joints[INDEX["hand_left"]], axis=1)
    np.testing.assert_allclose(np.linalg.norm(x[hand] - joint, axis=1), before, atol=2e-3)
    legs = person.mesh.x[:, 1] < 0.7
    np.testing.assert_allclose(x[legs], person.mesh.x[legs], atol=2e-3)


def test_mirrored_angles_give_mirrored_joints(person):
    pose = {"upper_arm_left": (-30, 25, 40), "thigh_left": (-50, 10, 15), "hips": (10, 20, 5), "chest": (5, -10, 8)}
    other = {mirrored(bone): (bend, -twist, -side) for bone, (bend, twist, side) in pose.items()}
    one, two = person.skeleton.angles(pose), person.skeleton.angles(other)
    left, right = person.skeleton.posed_joints(one), person.skeleton.posed_joints(two)
    for name, b in INDEX.items():
        np.testing.assert_allclose(right[INDEX[mirrored(name)]], left[b] * [-1, 1, 1], atol=1e-12)


@pytest.mark.parametrize(
    ("pose", "says"),
    [
        ("handstand", "no pose 'handstand'"),
        ({"tail": (0, 0, 0)}, "no bone 'tail'"),
        ({"head": (0, 0)}, "rotation of head must be finite numbers of shape"),
        ({"head": "up"}, "rotation of head must be numbers"),
        ({"head": (0, np.nan, 0)}, "rotation of head must be finite"),
        (np.zeros((3, 3)), "rotations must be finite numbers of shape"),
        (None, "rotations must be"),
        (7, "rotations must be"),
    ],
)
def test_a_wrong_pose_is_bad_input(person, pose, says):
    with pytest.raises(BadInput, match=says) as error:
        person.pose(pose)
    assert "\n" not in str(error.value)
