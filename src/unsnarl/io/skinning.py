"""Where the points of a glTF scene are: nodes, animation, morph targets, skins.

Matrices act on column vectors: a point p of a node is at W p in the world, W = W(parent) T R S. A skinned
point is at sum_j w_j W(j) B_j p, with the inverse bind matrices B_j of its joints; the transform of the node
that has a skinned mesh plays no part (glTF 2.0, 3.7.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.errors import BadInput


@dataclass(frozen=True, eq=False)
class Channel:
    """What one node does over time: at times (k,) [s] it has the values (k, c).

    path          : "translation", "rotation", "scale" or "weights"
    interpolation : "LINEAR", "STEP", or "CUBICSPLINE", with values (3 k, c): in-tangent, value, out-tangent
    """

    node: int
    path: str
    interpolation: str
    times: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Nodes:
    """The j nodes of a scene.

    parent : (j,) -1 for roots; order : all nodes, parents first
    matrix : (j, 4, 4) local transforms at rest
    translation (j, 3), rotation (j, 4) as x y z w, scale (j, 3) : the same in parts, for nodes that move
    """

    parent: np.ndarray
    order: list[int]
    matrix: np.ndarray
    translation: np.ndarray
    rotation: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True, eq=False)
class Shape:
    """A mesh at a node: n points, t morph targets, q influences per point.

    points  : (n, 3), in the node's space (that of the bind pose, if there is a skin)
    targets : (t, n, 3), displacements; morph : (t,), how much of each at rest
    skin    : joints (s,), nodes, and inverse bind matrices (s, 4, 4); None without one
    joints  : (n, q) rows of the skin; weights : (n, q), of sum 1
    """

    node: int
    points: np.ndarray
    targets: np.ndarray
    morph: np.ndarray
    skin: tuple[np.ndarray, np.ndarray] | None = None
    joints: np.ndarray | None = None
    weights: np.ndarray | None = None

    def chosen(self, rows: np.ndarray) -> Shape:
        """Some of the points."""
        joints, weights = (None, None) if self.skin is None else (self.joints[rows], self.weights[rows])
        return Shape(self.node, self.points[rows], self.targets[:, rows], self.morph, self.skin, joints, weights)


def world_matrices(nodes: Nodes, channels: list[Channel], times: np.ndarray) -> np.ndarray:
    """(k, j, 4, 4), the nodes' transforms to the world at times (k,) [s]."""
    world = np.repeat(nodes.matrix[None], len(times), axis=0)  # local, until its turn comes
    moved = {c.node for c in channels if c.path != "weights"}
    parts = {
        "translation": {i: np.repeat(nodes.translation[i][None], len(times), axis=0) for i in moved},
        "rotation": {i: np.repeat(nodes.rotation[i][None], len(times), axis=0) for i in moved},
        "scale": {i: np.repeat(nodes.scale[i][None], len(times), axis=0) for i in moved},
    }
    for c in channels:
        if c.path != "weights":
            parts[c.path][c.node] = sample(c, times)
    for i in moved:
        world[:, i] = trs(parts["translation"][i], parts["rotation"][i], parts["scale"][i])
    for i in nodes.order:
        if nodes.parent[i] >= 0:
            world[:, i] = world[:, nodes.parent[i]] @ world[:, i]
    return world


def positions(shape: Shape, world: np.ndarray, channels: list[Channel], times: np.ndarray) -> np.ndarray:
    """(k, n, 3), the points of a shape in the world at times (k,), for world matrices (k, j, 4, 4)."""
    morph = np.repeat(shape.morph[None], len(times), axis=0)
    for c in channels:
        if c.path == "weights" and c.node == shape.node:
            morph = sample(c, times)
    x = np.empty((len(times), len(shape.points), 3))
    for k in range(len(times)):
        p = shape.points.copy()
        for t in np.flatnonzero(morph[k]):
            p += morph[k, t] * shape.targets[t]
        if shape.skin is None:
            x[k] = _apply(world[k, shape.node][None], p)
        else:
            nodes, bind = shape.skin
            joint = (world[k, nodes] @ bind)[:, :3]
            blend = np.zeros((len(p), 3, 4))
            for q in range(shape.joints.shape[1]):
                blend += shape.weights[:, q, None, None] * joint[shape.joints[:, q]]
            x[k] = _apply(blend, p)
    return x


def _apply(matrix: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Matrices (n or 1, 3 or 4, 4) applied to points (n, 3), each by itself: equal points give equal bits."""
    if len(matrix) == 1 and np.array_equal(matrix[0], np.eye(4)):
        return p
    columns = (matrix[:, :3, i] * p[:, i, None] for i in range(3))
    return sum(columns, start=matrix[:, :3, 3])


def trs(translation: np.ndarray, rotation: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(k, 4, 4) from translations (k, 3), unit quaternions x y z w (k, 4) and scales (k, 3): T R S."""
    x, y, z, w = rotation.T
    matrix = np.zeros((len(translation), 4, 4))
    matrix[:, 0, :3] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], axis=1)
    matrix[:, 1, :3] = np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], axis=1)
    matrix[:, 2, :3] = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=1)
    matrix[:, :3, :3] *= scale[:, None, :]
    matrix[:, :3, 3] = translation
    matrix[:, 3, 3] = 1.0
    return matrix


def sample(channel: Channel, times: np.ndarray) -> np.ndarray:
    """(k, c), the values at times (k,) [s]; before the first and after the last key they stay as there."""
    keys = channel.times
    after = np.clip(np.searchsorted(keys, times, side="right"), 1, max(len(keys) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(keys) - 1)
    step = keys[after] - keys[before]
    u = np.divide(times - keys[before], step, out=np.zeros(len(times)), where=step > 0)
    u = np.clip(u, 0.0, 1.0)[:, None]
    if channel.interpolation == "CUBICSPLINE":
        tangent_in, value, tangent_out = channel.values.reshape(len(keys), 3, -1).transpose(1, 0, 2)
        d = step[:, None]
        found = (
            (2 * u**3 - 3 * u**2 + 1) * value[before]
            + d * (u**3 - 2 * u**2 + u) * tangent_out[before]
            + (3 * u**2 - 2 * u**3) * value[after]
            + d * (u**3 - u**2) * tangent_in[after]
        )
        return unit(found) if channel.path == "rotation" else found
    a, b = channel.values[before], channel.values[after]
    if channel.interpolation == "STEP":
        return np.where(u < 1.0, a, b)
    return slerp(a, b, u) if channel.path == "rotation" else (1.0 - u) * a + u * b


def slerp(a: np.ndarray, b: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Quaternions (k, 4) between a and b along the shorter arc, at u (k, 1) in 0 .. 1."""
    a, b = unit(a), unit(b)
    cosine = np.einsum("ij,ij->i", a, b)[:, None]
    b = np.where(cosine < 0, -b, b)
    angle = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    sine = np.sin(angle)
    near = sine < 1e-6  # then the chord is as good as the arc
    sine = np.where(near, 1.0, sine)
    weight_a = np.where(near, 1.0 - u, np.sin((1.0 - u) * angle) / sine)
    weight_b = np.where(near, u, np.sin(u * angle) / sine)
    return unit(weight_a * a + weight_b * b)


def unit(q: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    if not (length > 0).all():
        raise BadInput("a rotation in it is no rotation")
    return q / length
