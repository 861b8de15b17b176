"""The bones of the figure, how they turn, and how the skin follows them.

A bone turns about its joint, in a frame of its own that turns with its parent: bend about the frame's x axis, twist
about its y axis, side about its z axis. Negative bend takes what hangs down forwards, and positive side takes it to the
figure's left. The frames are those of the world, and of the turns, side comes first, then bend, then twist. An arm's
frame has its -y axis along the arm at rest, and there the order is twist, bend, side.

The skin follows by linear blend skinning, x = sum_b w_b (R_b x_rest + t_b). The weights are the equilibrium of heat on
the skin where each bone warms its own part (Baran and Popovic 2007, section 4): (L + H) w_b = H p_b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix, diags
from scipy.sparse.linalg import splu
from scipy.spatial.transform import Rotation

from unsnarl.errors import BadInput
from unsnarl.mesh import TriMesh

SLOPE = 45.0  # of the arms at rest, below the horizontal [degrees]
_HALF = {  # bone: parent, joint, tip [m]; the left ones have a mirror image
    "hips": (None, (0.0, 0.90, -0.005), (0.0, 1.04, 0.0)),
    "spine": ("hips", (0.0, 1.04, 0.0), (0.0, 1.20, -0.01)),
    "chest": ("spine", (0.0, 1.20, -0.01), (0.0, 1.44, -0.03)),
    "neck": ("chest", (0.0, 1.44, -0.03), (0.0, 1.555, -0.005)),
    "head": ("neck", (0.0, 1.555, -0.005), (0.0, 1.72, 0.0)),
    "clavicle_left": ("chest", (0.025, 1.42, -0.015), (0.172, 1.383, -0.02)),
    "upper_arm_left": ("clavicle_left", (0.172, 1.383, -0.02), (0.377, 1.178, -0.015)),
    "forearm_left": ("upper_arm_left", (0.377, 1.178, -0.015), (0.554, 1.001, 0.005)),
    "hand_left": ("forearm_left", (0.554, 1.001, 0.005), (0.645, 0.899, 0.016)),
    "thigh_left": ("hips", (0.092, 0.895, -0.005), (0.121, 0.49, 0.005)),
    "shin_left": ("thigh_left", (0.121, 0.49, 0.005), (0.149, 0.085, -0.025)),
    "foot_left": ("shin_left", (0.149, 0.085, -0.025), (0.168, 0.025, 0.14)),
}


def mirrored(name: str) -> str:
    """The bone on the other side; a bone of the middle is its own."""
    return name.replace("_right", "_left") if "_right" in name else name.replace("_left", "_right")


def _both_sides() -> dict[str, tuple]:
    bones = {}
    for name, (parent, joint, tip) in _HALF.items():
        bones[name] = (parent, np.array(joint), np.array(tip))
        if name.endswith("_left"):
            flip = np.array([-1.0, 1.0, 1.0])
            bones[mirrored(name)] = (mirrored(parent), flip * joint, flip * tip)
    return bones


_BONES = _both_sides()
BONES = tuple(_BONES)
INDEX = {name: k for k, name in enumerate(BONES)}
JOINTS, TIPS = (np.array([bone[end] for bone in _BONES.values()]) for end in (1, 2))


@dataclass(frozen=True, eq=False)
class Skeleton:
    """b bones, parents before children; bone 0 is the root.

    names   : of the bones
    parents : (b,) int, -1 for the root
    joints  : (b, 3), where each bone begins and turns, at rest [m]
    tips    : (b, 3), where it ends [m]
    frames  : (b, 3, 3), columns are the axes that a bone turns about, at rest
    arms    : (b,) bool, bones of the arms
    """

    names: tuple[str, ...]
    parents: np.ndarray
    joints: np.ndarray
    tips: np.ndarray
    frames: np.ndarray
    arms: np.ndarray

    def angles(self, rotations) -> np.ndarray:
        """(b, 3) degrees (bend, twist, side) from a mapping bone -> three angles, or from such an array."""
        if not isinstance(rotations, Mapping):
            return _degrees(rotations, "rotations", (len(self.names), 3))
        angles = np.zeros((len(self.names), 3))
        for name, three in rotations.items():
            if name not in self.names:
                raise BadInput(f"there is no bone {name!r}; bones are {', '.join(self.names)}")
            angles[self.names.index(name)] = _degrees(three, f"rotation of {name}", (3,))
        return angles

    def transforms(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where bones take the rest pose: turn (b, 3, 3) and shift (b, 3), x = turn x_rest + shift.

        angles : (b, 3) degrees (bend, twist, side)
        """
        local = np.empty((len(angles), 3, 3))
        for order, columns, which in (("ZXY", [2, 0, 1], self.arms), ("YXZ", [1, 0, 2], ~self.arms)):
            local[which] = Rotation.from_euler(order, angles[which][:, columns], degrees=True).as_matrix()
        local = self.frames @ local @ self.frames.transpose(0, 2, 1)
        turn, shift = local.copy(), self.joints - np.einsum("bij,bj->bi", local, self.joints)
        for b, parent in enumerate(self.parents):
            if parent >= 0:
                turn[b] = turn[parent] @ local[b]
                shift[b] = turn[parent] @ shift[b] + shift[parent]
        return turn, shift

    def posed_joints(self, angles: np.ndarray) -> np.ndarray:
        """(b, 3) joints [m] for angles (b, 3) [degrees]."""
        turn, shift = self.transforms(angles)
        return np.einsum("bij,bj->bi", turn, self.joints) + shift


def skeleton() -> Skeleton:
    """The skeleton of the figure."""
    arms = np.array([name.startswith(("upper_arm", "forearm", "hand")) for name in BONES])
    slope = np.where(arms, (90.0 - SLOPE) * np.sign(JOINTS[:, 0]), 0.0)
    frames = Rotation.from_euler("z", slope[:, None], degrees=True).as_matrix()
    parents = np.array([INDEX.get(bone[0], -1) for bone in _BONES.values()])
    return Skeleton(BONES, parents, JOINTS, TIPS, frames, arms)


def skinned(x: np.ndarray, weights: np.ndarray, turn: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """(n, 3) positions of the skin; x (n, 3) at rest, weights (n, b), turn (b, 3, 3), shift (b, 3)."""
    blend = weights @ np.concatenate([turn.reshape(-1, 9), shift], axis=1)
    return np.einsum("nij,nj->ni", blend[:, :9].reshape(-1, 3, 3), x) + blend[:, 9:]


def to_segments(x: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """(n, b) distances [m] from points x (n, 3) to the segments from start (b, 3) to end (b, 3)."""
    along = end - start
    share = np.einsum("nbi,bi->nb", x[:, None] - start, along) / np.einsum("bi,bi->b", along, along)
    return np.linalg.norm(x[:, None] - start - np.clip(share, 0.0, 1.0)[..., None] * along, axis=2)


def heat_weights(mesh: TriMesh, bones: Skeleton, owner: np.ndarray) -> np.ndarray:
    """(n, b) float64, how much each vertex follows each bone: smooth, none negative, rows sum to 1.

    owner : (n,) int, the bone that warms each vertex. Heat 1 / distance^2, as in the paper.
    """
    n = len(mesh.x)
    i, j, weight = _cotangents(mesh)
    laplacian = coo_matrix((np.r_[weight, weight], (np.r_[i, j], np.r_[j, i])), shape=(n, n)).tocsc()
    area = np.bincount(mesh.faces.ravel(), np.repeat(mesh.areas / 3.0, 3), minlength=n)
    far = to_segments(mesh.x, bones.joints, bones.tips)[np.arange(n), owner]
    heat = area / np.maximum(far, 1e-3) ** 2
    matrix = diags(np.asarray(laplacian.sum(axis=1)).ravel() + heat) - laplacian
    warm = np.zeros((n, len(bones.names)))
    warm[np.arange(n), owner] = heat
    solved = splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(warm)
    solved = np.where(solved < 1e-6, 0.0, solved)
    return solved / solved.sum(axis=1, keepdims=True)


def _cotangents(mesh: TriMesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends i, j and half the cotangent of the corner across, for each side of each face.

    Negative ones are dropped: then no weight is negative.
    """
    i, j, k = (np.concatenate([mesh.faces[:, (c + s) % 3] for c in range(3)]) for s in range(3))
    a, b = mesh.x[i] - mesh.x[k], mesh.x[j] - mesh.x[k]
    cotangent = np.einsum("ij,ij->i", a, b) / np.linalg.norm(np.cross(a, b), axis=1)
    return i, j, 0.5 * np.maximum(cotangent, 1e-3)


def _degrees(a, what: str, shape: tuple[int, ...]) -> np.ndarray:
    try:
        a = np.array(a, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"{what} must be numbers [degrees]") from None
    if a.shape != shape or not np.isfinite(a).all():
        raise BadInput(f"{what} must be finite numbers of shape {shape} [degrees]")
    return a
