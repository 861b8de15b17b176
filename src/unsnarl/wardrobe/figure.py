"""The shape of a person: lofts around the bones of `skeleton`, blended into each other.

Metres; y is up, z to the front, x to the figure's left. Soles are at y = 0. What stands in the tables is the middle and
the left half; the right one is its mirror image.
"""

from __future__ import annotations

import numpy as np

from unsnarl.wardrobe.loft import Group, Loft, Shape, ellipsoid
from unsnarl.wardrobe.skeleton import BONES, INDEX, JOINTS, TIPS, mirrored, to_segments

HEIGHT = 1.75


def _heights(low: float, high: float, *rows) -> tuple:
    """Sections by height instead of share of the axis."""
    return tuple(((y - low) / (high - low), *row) for y, *row in rows)


def _at(bone: str, end: int) -> tuple:
    return tuple((JOINTS, TIPS)[end][INDEX[bone]])


X, Z = (1, 0, 0), (0, 0, 1)
OUT = (np.sqrt(0.5), -np.sqrt(0.5), 0.0)  # along the left arm
_WRIST = np.array(_at("hand_left", 0))
_TRUNK = Loft(
    ("hips", "spine", "chest"), (0, 0.86, 0), (0, 1.44, 0), X,
    _heights(
        0.86, 1.44,
        (0.86, 0.122, 0.084, 0, -0.019),
        (0.92, 0.162, 0.107, 0, -0.010),
        (0.98, 0.159, 0.112, 0, -0.003),
        (1.03, 0.146, 0.112, 0, 0.002),
        (1.08, 0.139, 0.112, 0, 0.004),
        (1.15, 0.143, 0.112, 0, 0.002),
        (1.22, 0.154, 0.115, 0, -0.003),
        (1.29, 0.165, 0.117, 0, -0.011),
        (1.35, 0.157, 0.105, 0, -0.021),
        (1.40, 0.130, 0.088, 0, -0.022),
        (1.44, 0.085, 0.065, 0, -0.025),
    ),
    (0.04, 0.03),
)  # fmt: skip
_NECK = Loft(
    ("neck",), (0, 1.42, -0.035), (0, 1.58, 0.0), X,
    ((0.0, 0.058, 0.060, 0, 0), (0.45, 0.0495, 0.0515, 0, 0), (1.0, 0.051, 0.052, 0, 0)), (0.03, 0.03), 0.035,
)  # fmt: skip
_HEAD = (
    ellipsoid("head", (0, 1.656, -0.010), (0.076, 0.096, 0.094), 0.02),
    ellipsoid("head", (0, 1.586, 0.036), (0.054, 0.056, 0.064), 0.03),
    ellipsoid("head", (0, 1.549, 0.066), (0.024, 0.024, 0.020), 0.04),
    ellipsoid("head", (0, 1.618, 0.090), (0.011, 0.014, 0.024), 0.025),
)
_CROTCH = ellipsoid("hips", (0, 0.880, -0.014), (0.048, 0.078, 0.058), 0.05)
_CHEST = (
    ellipsoid("chest", (0.072, 1.275, 0.058), (0.070, 0.058, 0.062)),
    ellipsoid("chest", (0.105, 1.345, 0.020), (0.075, 0.052, 0.045), 0.04),
)
_SEAT = (ellipsoid("hips", (0.072, 0.885, -0.065), (0.078, 0.068, 0.085)),)
_SHOULDER = (
    Loft(("clavicle_left",), (0.03, 1.464, -0.034), (0.168, 1.396, -0.025), Z,
         ((0.0, 0.042, 0.034, 0, 0), (0.5, 0.046, 0.032, 0, 0), (1.0, 0.048, 0.034, 0, 0)), (0.03, 0.03)),
)  # fmt: skip
_ARM = (
    Loft(
        ("forearm_left", "upper_arm_left"), _at("hand_left", 0), _at("upper_arm_left", 0), Z,
        (
            (0.00, 0.0265, 0.0215, 0, 0),
            (0.20, 0.0345, 0.0325, 0, 0),
            (0.35, 0.0425, 0.0405, 0, 0),
            (0.46, 0.0405, 0.0400, 0, 0),
            (0.60, 0.0445, 0.0435, 0, 0),
            (0.75, 0.0495, 0.0470, 0, 0),
            (0.88, 0.0530, 0.0490, 0, 0),
            (1.00, 0.0500, 0.0450, 0, 0),
        ),
        (0.02, 0.055),
    ),
    Loft(
        ("hand_left",), tuple(_WRIST), tuple(_WRIST + 0.15 * np.array(OUT) + (0, 0, 0.012)), Z,
        (
            (0.00, 0.0240, 0.0170, 0, 0),
            (0.35, 0.0400, 0.0190, 0, 0),
            (0.60, 0.0410, 0.0165, 0, -0.002),
            (0.85, 0.0350, 0.0135, 0, -0.007),
            (1.00, 0.0270, 0.0120, 0, -0.012),
        ),
        (0.02, 0.022),
    ),
    Loft(
        ("hand_left",), tuple(_WRIST + 0.030 * np.array(OUT) + (-0.004, -0.004, 0.022)),
        tuple(_WRIST + 0.088 * np.array(OUT) + (-0.012, -0.012, 0.062)), Z,
        ((0.0, 0.016, 0.016, 0, 0), (0.6, 0.0135, 0.0135, 0, 0), (1.0, 0.012, 0.012, 0, 0)), (0.015, 0.014), 0.015,
    ),
)  # fmt: skip
_LEG = (
    Loft(
        ("shin_left", "thigh_left"), (0.150, 0.08, -0.025), (0.094, 0.92, -0.005), X,
        _heights(
            0.08, 0.92,
            (0.08, 0.032, 0.039, 0, 0.000),
            (0.20, 0.041, 0.046, 0, -0.003),
            (0.33, 0.056, 0.060, 0, -0.010),
            (0.42, 0.053, 0.057, 0, -0.004),
            (0.49, 0.055, 0.059, 0, 0.006),
            (0.56, 0.061, 0.067, 0, 0.008),
            (0.66, 0.076, 0.084, 0, 0.008),
            (0.76, 0.088, 0.096, 0, 0.004),
            (0.84, 0.0835, 0.094, 0, 0.000),
            (0.92, 0.072, 0.082, 0, 0.000),
        ),
        (0.03, 0.07),
    ),
    ellipsoid("foot_left", (0.146, 0.034, -0.042), (0.034, 0.040, 0.046)),
    Loft(
        ("foot_left",), (0.148, 0.030, -0.02), (0.170, 0.014, 0.145), X,
        (
            (0.00, 0.034, 0.050, 0, 0),
            (0.30, 0.037, 0.050, 0, 0),
            (0.65, 0.044, 0.035, 0, 0),
            (0.90, 0.043, 0.027, 0, 0),
            (1.00, 0.040, 0.025, 0, 0),
        ),
        (0.03, 0.040),
        0.03,
    ),
)  # fmt: skip
FIGURE = Shape(
    (
        Group((_TRUNK, _CROTCH, _NECK, *_HEAD)),
        Group(_CHEST, 0.035, mirrored=True),
        Group(_SEAT, 0.045, mirrored=True),
        Group(_SHOULDER, 0.05, mirrored=True),
        Group(_ARM, 0.055, mirrored=True),
        Group(_LEG, 0.035, mirrored=True),
    )
)


def owners(x: np.ndarray) -> np.ndarray:
    """(n,) int, the bone (number in `BONES`) that each point x (n, 3) of the skin belongs to.

    It is the nearest of those that the nearest loft belongs to.
    """
    lofts = FIGURE.lofts
    nearest = FIGURE.distances(x).reshape(len(x), -1).argmin(axis=1)
    allowed = np.zeros((2 * len(lofts), len(BONES)), dtype=bool)
    for k, loft in enumerate(lofts):
        for bone in loft.bones:
            allowed[k, INDEX[bone]] = allowed[len(lofts) + k, INDEX[mirrored(bone)]] = True
    return np.where(allowed[nearest], to_segments(x, JOINTS, TIPS), np.inf).argmin(axis=1)
