"""Poses and motions by name: angles (bend, twist, side) in degrees for the bones of `skeleton`.

A motion is a table of poses and times, or a function of time; all begin in the A-pose, in which all angles are zero.
Angles between poses are interpolated without overshoot (monotone cubics), at rest at both ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

from unsnarl.errors import BadInput
from unsnarl.wardrobe.skeleton import BONES, INDEX, mirrored, skeleton

Pose = Mapping[str, tuple[float, float, float]]


def _smooth(s: np.ndarray) -> np.ndarray:
    """From 0 at s = 0 to 1 at s = 1, without a jolt at either."""
    s = np.clip(s, 0.0, 1.0)
    return s**3 * (s * (6.0 * s - 15.0) + 10.0)


def _both(**bones) -> dict:
    """The same on both sides: name of a left bone without its side -> angles."""
    pose = {}
    for name, (bend, twist, side) in bones.items():
        pose[f"{name}_left"] = (bend, twist, side)
        pose[f"{name}_right"] = (bend, -twist, -side)
    return pose


def _level(pose: Pose) -> dict:
    """The pose with soles that are level."""
    bones = skeleton()
    pose = dict(pose)
    for foot in ("foot_left", "foot_right"):
        turn, _ = bones.transforms(bones.angles(pose | {foot: (0, 0, 0)}))
        twist, bend, side = Rotation.from_matrix(turn[INDEX[foot]].T).as_euler("YXZ", degrees=True)
        pose[foot] = (bend, twist, side)
    return pose


def _other_side(pose: Pose) -> dict:
    return {mirrored(name): (bend, -twist, -side) for name, (bend, twist, side) in pose.items()}


_DOWN = _both(upper_arm=(0, 0, -48), forearm=(-12, 0, 15))
_RELAXED = {**_both(upper_arm=(0, 0, -37), forearm=(-12, 0, 0)), "head": (8, 0, 0)}


def _rub(arm: tuple, forearm: float, hand: tuple) -> dict:
    return _RELAXED | {"upper_arm_left": arm, "forearm_left": (forearm, 0, 0), "hand_left": hand}


_RUB_HIGH = _rub((-13, -64, -6), -110, (-10, 0, -19))
_RUB_OUT = _rub((-7, -65, -4), -104, (-6, 0, -16))
_RUB_LOW = _rub((-13, -70, -11), -92, (-4, 0, -22))
_RUB_IN = _rub((-22, -73, -16), -95, (-11, 0, -27))
_SWAY = {
    "hips": (0, 12, 6), "spine": (0, -6, -6), "chest": (0, -8, -8), "head": (0, -8, 6),
    "thigh_left": (-6, 0, -6), "thigh_right": (-32, 0, -8), "shin_right": (48, 0, 0), "foot_right": (-14, 0, 0),
    "upper_arm_left": (-20, 0, 80), "forearm_left": (-55, 0, 0), "clavicle_left": (0, 0, 14),
    "upper_arm_right": (-30, 20, 25), "forearm_right": (-95, 0, 0),
}  # fmt: skip
_DIP = _level({
    "hips": (8, 0, 0), "spine": (8, 0, 0), "chest": (4, 0, 0), "head": (-12, 0, 0),
    **_both(thigh=(-48, 0, 8), shin=(72, 0, 0), upper_arm=(-35, 0, -15), forearm=(-80, -30, 0)),
})  # fmt: skip
_REACH = {"chest": (-8, 0, 0), "head": (-10, 0, 0), **_both(clavicle=(0, 0, 16), upper_arm=(-10, 0, 105))}


def _squat(depth: float) -> dict:
    """From standing, 0, to sitting on the heels, 1. Knees go outwards late: then feet stay where they are."""
    pose = {
        "hips": (18, 0, 0), "spine": (14, 0, 0), "chest": (8, 0, 0), "neck": (-12, 0, 0), "head": (-18, 0, 0),
        **_both(thigh=(-132, 0, 16 * depth**2), shin=(136, 0, 0), upper_arm=(-75, 0, -35), forearm=(-15, 0, 0)),
    }  # fmt: skip
    return _level({bone: tuple(depth * angle for angle in angles) for bone, angles in pose.items()})


POSES: dict[str, Pose] = {
    "a_pose": {},
    "t_pose": _both(upper_arm=(0, 0, 45)),
    "arms_down": _DOWN,
    "arm_into_torso": {
        "upper_arm_left": (0, 0, -52), "forearm_left": (-62, 0, 0), "clavicle_left": (0, 0, -4),
        "upper_arm_right": (0, 0, 20),
    },
    "elbow_bent": _both(upper_arm=(-15, 0, -10), forearm=(-136, 0, 0)),
    "deep_squat": _squat(1.0),
    "belly_rub": _RUB_HIGH,
}  # fmt: skip


def _walk(t: np.ndarray) -> np.ndarray:
    """Steps of half a second, swelling from the first moment on."""
    angles = np.zeros((len(t), len(BONES), 3))
    begun = _smooth(t / 0.8)
    for sign, side in ((1.0, "left"), (-1.0, "right")):
        phase = 2.0 * np.pi * t + (0.0 if sign > 0 else np.pi)  # the foot swings forwards where the cosine is positive
        thigh = -20.0 * np.sin(phase) - 4.0
        shin = 10.0 + 52.0 * np.maximum(np.cos(phase + 0.3), 0.0) ** 2
        push = 28.0 * np.maximum(-np.sin(phase - 0.3), 0.0) ** 2  # off the ground, with the toes
        angles[:, INDEX[f"thigh_{side}"], 0] = begun * thigh
        angles[:, INDEX[f"shin_{side}"], 0] = begun * shin
        angles[:, INDEX[f"foot_{side}"], 0] = begun * (np.clip(-(thigh + shin), -18.0, 16.0) + push)
        angles[:, INDEX[f"upper_arm_{side}"], 0] = begun * 22.0 * np.sin(phase)
        angles[:, INDEX[f"upper_arm_{side}"], 2] = -36.0 * sign * begun
        angles[:, INDEX[f"forearm_{side}"], 0] = begun * (-18.0 + 8.0 * np.sin(phase))
    turn = 6.0 * begun * np.sin(2.0 * np.pi * t)
    angles[:, INDEX["hips"], 1], angles[:, INDEX["spine"], 1], angles[:, INDEX["chest"], 1] = -turn, turn, turn
    return angles


def _spin(t: np.ndarray) -> np.ndarray:
    """Two turns in a second and a half, up to 1,000 degrees per second."""
    angles = np.zeros((len(t), len(BONES), 3))
    angles[:, INDEX["hips"], 1] = 720.0 * _smooth(t / 1.5)
    return angles


@dataclass(frozen=True)
class Motion:
    """seconds : how long it takes
    keys    : (time [s], pose), the first at 0 in the A-pose; or a function from times (k,) [s] to angles (k, b, 3)
    planted : the feet on the ground stay where they are, and the body moves instead
    """

    seconds: float
    keys: tuple | Callable
    planted: bool = True

    def angles(self, t: np.ndarray) -> np.ndarray:
        """(k, b, 3) degrees at times t (k,) [s]."""
        if callable(self.keys):
            return self.keys(t)
        times, poses = zip(*self.keys)
        table = np.array([pose_angles(pose) for pose in (poses[0], *poses, poses[-1])])
        return PchipInterpolator([times[0] - 1.0, *times, times[-1] + 1.0], table)(t)


def _into(name: str, seconds: float) -> Motion:
    """From the A-pose into a pose, and a quarter of a second in it."""
    return Motion(seconds + 0.25, ((0.0, {}), (seconds, POSES[name]), (seconds + 0.25, POSES[name])))


_TURNS = (_RUB_HIGH, _RUB_OUT, _RUB_LOW, _RUB_IN)
MOTIONS: dict[str, Motion] = {
    "arms_down": _into("arms_down", 1.0),
    "arm_into_torso": _into("arm_into_torso", 1.0),
    "deep_squat": Motion(1.5, (*((1.25 * s, _squat(_smooth(s))) for s in np.linspace(0, 1, 9)), (1.5, _squat(1.0)))),
    "elbow_bent": _into("elbow_bent", 1.0),
    "belly_rub": Motion(3.0, ((0.0, {}), *((1.0 + 0.25 * k, _TURNS[k % 4]) for k in range(9)))),
    "walk": Motion(3.0, _walk),
    "spin": Motion(1.75, _spin, planted=False),
    "dance": Motion(
        4.0,
        (
            (0.0, {}), (0.5, _DIP), (1.0, _SWAY), (1.5, _DIP), (2.0, _other_side(_SWAY)), (2.5, _DIP), (3.0, _REACH),
            (3.5, _DIP), (4.0, {}),
        ),
        planted=False,
    ),
}  # fmt: skip


def pose_angles(pose: Pose) -> np.ndarray:
    """(b, 3) degrees, as `Skeleton.angles` gives them, of a pose in the tables here."""
    angles = np.zeros((len(BONES), 3))
    for name, three in pose.items():
        angles[INDEX[name]] = three
    return angles


def named(table: Mapping, name: str, what: str):
    """The entry of a table, or `BadInput` with the names there are."""
    if not isinstance(name, str) or name not in table:
        raise BadInput(f"there is no {what} {name!r}; there are {', '.join(table)}")
    return table[name]
