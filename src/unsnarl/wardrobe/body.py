"""A person to dress: mesh, skeleton and skin weights in one, with poses and motions by name.

body = character(12_000)
scene = us.Scene(cloths, bodies=[us.Body(body.motion("arms_down"))])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Real

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull

from unsnarl.errors import BadInput
from unsnarl.io.frames import Frames
from unsnarl.mesh import TriMesh
from unsnarl.wardrobe.coarsen import coarsened
from unsnarl.wardrobe.figure import FIGURE, HEIGHT, owners
from unsnarl.wardrobe.motions import MOTIONS, POSES, named
from unsnarl.wardrobe.skeleton import BONES, INDEX, Skeleton, heat_weights, skeleton, skinned
from unsnarl.wardrobe.surface_nets import surface_nets

_CELLS = ((20_000, 0.0105), (60_000, 0.008))  # of the grid that bodies of up to so many triangles come from [m]
FEWEST, MOST = 3_000, 60_000  # triangles
# lengths of edges on these parts, against those of the rest
_EDGES = {"hand": 0.5, "foot": 0.7, "forearm": 0.75, "head": 0.75, "neck": 0.8, "upper_arm": 0.85}


@dataclass(frozen=True, eq=False, repr=False)
class Character:
    """A person at rest in the A-pose: y up, facing +z, the left hand at +x, soles at y = 0.

    mesh      : closed surface, normals outwards, named "body"
    skeleton  : b bones
    weights   : (n, b), how much each vertex follows each bone; rows sum to 1
    landmarks : name -> (3,) point [m] inside the body, for the rest pose
    """

    mesh: TriMesh
    skeleton: Skeleton
    weights: np.ndarray
    landmarks: Mapping[str, np.ndarray]

    def __repr__(self) -> str:
        return f"Character({len(self.mesh.faces)} faces, {len(self.skeleton.names)} bones)"

    def girth(self, at, normal=(0.0, 1.0, 0.0)) -> float:
        """Length of a tape around the body at rest [m]: see `girth`. at : a landmark's name, or a point [m]."""
        if isinstance(at, str):
            if at not in self.landmarks:
                raise BadInput(f"there is no landmark {at!r}; landmarks are {', '.join(self.landmarks)}")
            at = self.landmarks[at]
        return girth(self.mesh, at, normal)

    def pose(self, pose) -> TriMesh:
        """The mesh in a pose, its lowest point on the ground.

        pose : a name in `motions.POSES`, or bone -> (bend, twist, side) in degrees, or all angles (b, 3)
        """
        return self.mesh.moved(self._grounded(self._angles(pose))[0])

    def joints(self, pose) -> dict[str, np.ndarray]:
        """Where each bone begins in a pose: bone -> (3,) [m]. pose : as in `pose`."""
        angles = self._angles(pose)
        _, drop = self._grounded(angles)
        return dict(zip(self.skeleton.names, self.skeleton.posed_joints(angles) - [0.0, drop, 0.0]))

    def motion(self, name: str, fps: float = 24.0) -> Frames:
        """One of `motions.MOTIONS`, from the A-pose on, the lowest point always on the ground."""
        motion = named(MOTIONS, name, "motion")
        if isinstance(fps, bool) or not isinstance(fps, Real) or not 1.0 <= fps <= 10_000.0:
            raise BadInput(f"frames per second must be a number from 1 to 10,000, not {fps!r}")
        times = np.arange(int(motion.seconds * fps + 1e-9) + 1) / fps
        x = np.stack([self._grounded(angles)[0] for angles in motion.angles(times)])
        if motion.planted:
            x += self._planted(x)
        return Frames(self.mesh, x, fps)

    def _angles(self, pose) -> np.ndarray:
        return self.skeleton.angles(named(POSES, pose, "pose") if isinstance(pose, str) else pose)

    def _grounded(self, angles: np.ndarray) -> tuple[np.ndarray, float]:
        """Positions (n, 3) with the lowest at y = 0, and how far that took them down [m]."""
        x = skinned(self.mesh.x, self.weights, *self.skeleton.transforms(angles))
        drop = x[:, 1].min()
        x[:, 1] -= drop
        return x, drop

    def _planted(self, x: np.ndarray) -> np.ndarray:
        """(k, 1, 3) shifts along the ground by which the lower foot stays where it is in positions x (k, n, 3)."""
        bone = self.weights.argmax(axis=1)
        feet = [x[:, bone == INDEX[foot]] for foot in ("foot_left", "foot_right")]
        left, right = (foot[:, :, 1].min(axis=1) for foot in feet)
        share = 1.0 / (1.0 + np.exp(np.clip((left - right) / 0.005, -50.0, 50.0)))  # of the left foot; half if level
        moves = np.stack([np.diff(foot.mean(axis=1), axis=0) for foot in feet])
        share = 0.5 * (share[1:] + share[:-1])[:, None]
        shift = np.concatenate([np.zeros((1, 3)), -np.cumsum(share * moves[0] + (1.0 - share) * moves[1], axis=0)])
        return (shift * [1.0, 0.0, 1.0])[:, None]


def character(triangles: int = 12_000) -> Character:
    """The person in so many triangles, 3,000 to 60,000; the same one again for the same number."""
    number = isinstance(triangles, (int, np.integer)) and not isinstance(triangles, bool)
    if not (number and FEWEST <= triangles <= MOST):
        raise BadInput(f"a body has {FEWEST:,} to {MOST:,} triangles, not {triangles!r}")
    return _character(int(triangles))


def girth(mesh: TriMesh, at, normal=(0.0, 1.0, 0.0)) -> float:
    """Length of a tape [m] laid around the part of a closed mesh about the point `at`, in the plane across `normal`.

    A tape does not follow hollows: it is the convex hull of the cut.
    """
    at, normal = _three(at, "point"), _three(normal, "normal")
    if not normal.any():
        raise BadInput("a normal must not be zero")
    normal = normal / np.linalg.norm(normal)
    height = (mesh.x - at) @ normal
    p, q = height[mesh.edges].T
    cut = np.flatnonzero((p < 0) != (q < 0))
    if len(cut) == 0:
        raise BadInput(f"{mesh.name}: there is nothing to measure at {np.round(at, 3).tolist()}")
    share = p[cut] / (p[cut] - q[cut])
    points = mesh.x[mesh.edges[cut, 0]] * (1 - share)[:, None] + mesh.x[mesh.edges[cut, 1]] * share[:, None]
    number = np.full(len(mesh.edges), -1)
    number[cut] = np.arange(len(cut))
    ends = number[mesh.face_edges]
    ends = np.sort(ends[(ends >= 0).sum(axis=1) == 2], axis=1)[:, 1:]
    joined = coo_matrix((np.ones(len(ends)), ends.T), shape=(len(cut), len(cut)))
    count, part = connected_components(joined, directed=False)
    far = [np.linalg.norm(points[part == k].mean(axis=0) - at) for k in range(count)]
    across = np.linalg.svd(normal[None])[2][1:]  # two directions in the plane
    return float(ConvexHull(points[part == np.argmin(far)] @ across.T).area)  # in the plane, area is circumference


@cache
def _fine(cell: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A mesh that others are made from, and the lengths of edges that are wanted on it."""
    x, faces = surface_nets(FIGURE.distance, (-0.76, -0.03, -0.2), (0.76, HEIGHT + 0.03, 0.25), cell)
    size = np.ones(len(x))
    bone = owners(x)
    for part, length in _EDGES.items():
        size[np.isin(bone, [k for k, name in enumerate(BONES) if name.startswith(part)])] = length
    return x, faces, size


@cache
def _character(triangles: int) -> Character:
    x, faces, size = _fine(next(cell for most, cell in _CELLS if triangles <= most))
    x, faces = coarsened(x, faces, triangles, FIGURE.onto_surface, size)
    mesh = TriMesh(x, faces, name="body")
    bones = skeleton()
    return Character(mesh, bones, heat_weights(mesh, bones, owners(x)), _landmarks(bones))


def _landmarks(bones: Skeleton) -> dict[str, np.ndarray]:
    """Points inside the body at rest, by name [m]."""
    at = dict(zip(bones.names, bones.joints))
    below = np.stack([np.zeros(2000), np.linspace(0.9, 0.7, 2000), np.full(2000, at["hips"][2])], axis=1)
    points = {
        "head": at["head"],
        "neck": 0.5 * (at["neck"] + at["head"]),
        "chest": np.array([0.0, 1.28, 0.0]),
        "waist": np.array([0.0, 1.08, 0.0]),
        "hip": np.array([0.0, 0.885, 0.0]),
        "crotch": below[np.argmax(FIGURE.distance(below) > 0)],
    }
    for side in ("left", "right"):
        arm, elbow, wrist = (at[f"{bone}_{side}"] for bone in ("upper_arm", "forearm", "hand"))
        leg, knee, ankle = (at[f"{bone}_{side}"] for bone in ("thigh", "shin", "foot"))
        parts = {
            "shoulder": arm, "bicep": 0.5 * (arm + elbow), "elbow": elbow, "wrist": wrist,
            "thigh": 0.6 * leg + 0.4 * knee, "knee": knee, "calf": 0.6 * knee + 0.4 * ankle, "ankle": ankle,
        }  # fmt: skip
        points |= {f"{part}_{side}": point for part, point in parts.items()}
    return points


def _three(a, what: str) -> np.ndarray:
    try:
        a = np.asarray(a, dtype=np.float64)
    except (TypeError, ValueError):
        a = np.empty(0)
    if a.shape != (3,) or not np.isfinite(a).all():
        raise BadInput(f"a {what} must be three finite numbers")
    return a
