"""Motions begin in the A-pose, stay on the ground, are smooth, and press skin into skin where they say."""

import numpy as np
import pytest

import unsnarl as us
from unsnarl.errors import BadInput
from unsnarl.wardrobe.body import character
from unsnarl.wardrobe.motions import MOTIONS, POSES
from unsnarl.wardrobe.skeleton import INDEX, to_segments


@pytest.fixture(scope="module")
def person():
    return character(5_000)


@pytest.fixture(scope="module", params=MOTIONS)
def frames(request, person):
    return request.param, person.motion(request.param)


def test_they_begin_in_the_a_pose(frames, person):
    np.testing.assert_allclose(frames[1].x[0], person.mesh.x, atol=1e-12)


def test_they_take_as_long_as_they_say(frames):
    name, motion = frames
    assert (len(motion) - 1) / motion.fps == pytest.approx(MOTIONS[name].seconds, abs=1 / motion.fps)


def test_the_lowest_point_is_always_on_the_ground(frames):
    np.testing.assert_allclose(frames[1].x[:, :, 1].min(axis=1), 0, atol=1e-9)


def test_they_are_smooth(frames, person):
    name, _ = frames
    motion = person.motion(name, fps=48)
    velocity = np.diff(motion.x, axis=0) * motion.fps
    fastest = np.linalg.norm(velocity, axis=2).max()
    assert fastest < (11 if name == "spin" else 8)  # [m/s]
    assert np.linalg.norm(velocity[0], axis=1).max() < 0.5  # they start gently
    assert np.linalg.norm(np.diff(velocity, axis=0), axis=2).max() < 0.4 * max(fastest, 2.0)  # and do not jump


@pytest.mark.parametrize("name", sorted(set(MOTIONS) & set(POSES)))
def test_a_motion_into_a_pose_ends_in_it(name, person):
    x, pose = person.motion(name).x[-1], person.pose(name).x
    shift = (x - pose).mean(axis=0)
    np.testing.assert_allclose(x, pose + shift, atol=1e-9)
    assert abs(shift[1]) < 1e-9


def crossings(person, name):
    """Centroids of crossing faces in a pose, the bone that leads each, and the joints."""
    mesh = person.pose(name)
    faces = mesh.faces[us.check(mesh).crossing_faces]
    lead = person.weights[faces].sum(axis=1).argmax(axis=1)
    return mesh.x[faces].mean(axis=1), lead, person.joints(name)


def far_from(points, *joints):
    return np.min([np.linalg.norm(points - joint, axis=1) for joint in joints], axis=0)


def along(points, *joints):
    return to_segments(points, np.array(joints[:-1]), np.array(joints[1:])).min(axis=1)


def bones(lead):
    return {name for name, b in INDEX.items() if b in lead}


def test_arms_that_hang_down_cross_the_sides_of_the_torso(person):
    at, lead, joint = crossings(person, "arms_down")
    for side, sign in (("left", 1), ("right", -1)):
        here = sign * at[:, 0] > 0
        arm = [joint[f"{bone}_{side}"] for bone in ("upper_arm", "forearm", "hand")]
        assert here.sum() > 20
        assert along(at[here], *arm).max() < 0.07
        assert {f"upper_arm_{side}", "spine"} <= bones(lead[here])


def test_an_arm_pressed_into_the_torso_crosses_it_on_that_side_only(person):
    at, lead, joint = crossings(person, "arm_into_torso")
    assert len(at) > 50
    assert (at[:, 0] > 0.03).all()
    assert along(at, joint["upper_arm_left"], joint["forearm_left"], joint["hand_left"]).max() < 0.08
    assert {"upper_arm_left", "spine", "chest"} <= bones(lead)


def test_sharply_bent_elbows_cross_at_the_elbows(person):
    at, lead, joint = crossings(person, "elbow_bent")
    elbows = joint["forearm_left"], joint["forearm_right"]
    assert far_from(at, *elbows).max() < 0.16
    for elbow in elbows:
        assert far_from(at, elbow).min() < 0.06
    assert bones(lead) == {"upper_arm_left", "forearm_left", "upper_arm_right", "forearm_right"}


def test_a_deep_squat_crosses_behind_the_knees_and_at_the_groin(person):
    at, lead, joint = crossings(person, "deep_squat")
    knees, hips = ([joint[f"{bone}_{side}"] for side in ("left", "right")] for bone in ("shin", "thigh"))
    assert far_from(at, *knees, *hips).max() < 0.25
    for place in (*knees, *hips):
        assert (far_from(at, place) < 0.12).sum() > 5
    assert {"thigh_left", "shin_left", "thigh_right", "shin_right", "hips"} <= bones(lead)


def test_a_hand_that_rubs_the_belly_crosses_it(person):
    at, lead, joint = crossings(person, "belly_rub")
    hand, elbow = joint["hand_left"], joint["forearm_left"]
    on_belly = far_from(at, elbow) > 0.12  # the bent elbow may cross itself too
    assert on_belly.sum() > 20
    assert far_from(at[on_belly], hand).max() < 0.25
    assert (at[on_belly, 2] > 0.05).all()
    assert {"hand_left", "spine"} <= bones(lead[on_belly])


def test_the_hand_stays_on_the_belly_and_goes_round(person):
    motion = person.motion("belly_rub")
    hand = person.weights.argmax(axis=1) == INDEX["hand_left"]
    middle = motion.x[24:, hand].mean(axis=1)
    assert np.ptp(middle[:, 1]) > 0.05
    assert np.ptp(middle[:, 0]) > 0.05
    assert not any(us.check(motion[k]).clean for k in range(30, len(motion), 9))


@pytest.mark.parametrize("name", ["walk", "spin"])
def test_walking_and_spinning_cross_nothing(name, person):
    """They are fast, not tangled."""
    motion = person.motion(name)
    assert all(us.check(motion[k]).clean for k in range(0, len(motion), 12))


def feet(person, motion):
    bone = person.weights.argmax(axis=1)
    return [motion.x[:, bone == INDEX[f"foot_{side}"]] for side in ("left", "right")]


def test_feet_stay_where_they_are_in_a_squat(person):
    motion = person.motion("deep_squat")
    for foot in feet(person, motion):
        assert np.abs(foot.mean(axis=1) - foot[0].mean(axis=0)).max() < 0.05
        assert foot[:, :, 1].min(axis=1).max() < 0.01
    assert motion.x[-1, :, 1].max() < 1.2


def test_walking_goes_forwards_on_feet_that_do_not_slide(person):
    motion = person.motion("walk", fps=48)
    assert motion.x[-1].mean(axis=0)[2] > 1.5
    left, right = feet(person, motion)
    above = left[:, :, 1].min(axis=1) - right[:, :, 1].min(axis=1)
    lifted = np.sign(above[np.abs(above) > 0.02])
    assert np.count_nonzero(np.diff(lifted)) == 6  # a step each half second, and half a one at either end
    for foot, other in ((left, -above), (right, above)):
        stands = np.minimum(other[1:], other[:-1]) > 0.02
        slide = np.linalg.norm(np.diff(foot.mean(axis=1), axis=0)[:, [0, 2]], axis=1) * motion.fps
        assert np.median(slide[stands]) < 0.1  # [m/s]


def test_spinning_turns_twice_about_the_upright_axis(person):
    x = person.motion("spin").x
    np.testing.assert_allclose(x[-1], person.mesh.x, atol=1e-9)
    nose = person.mesh.x[:, 2].argmax()
    angle = np.unwrap(np.arctan2(x[:, nose, 0], x[:, nose, 2] + 0.005))
    assert angle[-1] - angle[0] == pytest.approx(4 * np.pi, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "fps", "says"),
    [("fly", 24, "no motion 'fly'"), (3, 24, "no motion 3"), ("walk", 0, "frames per second"), ("walk", "x", "frames")],
)
def test_wrong_names_and_rates_are_bad_input(person, name, fps, says):
    with pytest.raises(BadInput, match=says) as error:
        person.motion(name, fps)
    assert "\n" not in str(error.value)
