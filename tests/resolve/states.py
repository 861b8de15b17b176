"""Clean states and wild wishes: what the tests of resolvers throw at them."""

import numpy as np

from unsnarl.detect.edge_face import find_hits
from unsnarl.mesh import TriMesh
from unsnarl.mesh.primitives import box, sheet, sphere
from unsnarl.scenes import folded_sheet


def rotation(axis, angle):
    """The matrix that turns about an axis by an angle [rad]."""
    x, y, z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def folds(rng):
    """A sheet folded to and fro."""
    faces, layers = int(rng.integers(60, 250)), int(rng.integers(2, 6))
    return [folded_sheet.build(faces, layers=layers, height=0.0, gap=rng.uniform(0.02, 0.15))], []


def stack(rng):
    """Sheets of all finenesses over each other, turned at random."""
    gap, sheets = 10 ** rng.uniform(-3, -1), []
    for level in range(int(rng.integers(2, 6))):
        flat = sheet((1, 1), tuple(rng.integers(2, 7, 2)))
        turn = rotation([0, 0, 1], rng.uniform(0, 6))
        sheets.append(flat.moved(flat.x @ turn.T + [*rng.uniform(-0.2, 0.2, 2), level * gap]))
    return sheets, []


def crumpled(rng):
    """A sheet shaken as long as it stays clean."""
    flat = sheet((1, 1), (8, 8))
    x = flat.x
    for _ in range(20):
        shaken = x + 0.03 * rng.standard_normal(x.shape)
        x = x if len(find_hits(flat, shaken)) else shaken
    return [flat.moved(x)], []


def snow(rng):
    """Single triangles, at random in space."""
    centres = []
    for point in rng.uniform(0, 1, (300, 3)):
        if all(np.linalg.norm(point - other) > 0.21 for other in centres) and len(centres) < 30:
            centres.append(point)
    flakes = []
    for centre in centres:
        x = rng.standard_normal((3, 3))
        x -= x.mean(axis=0)
        flakes.append(TriMesh(centre + 0.1 * x / np.linalg.norm(x, axis=1).max(), np.array([[0, 1, 2]])))
    return flakes, []


def on_a_body(rng):
    """A sheet just above a ball or a box."""
    flat = sheet((1, 1), (8, 8))
    body = sphere(0.3, 80) if rng.integers(2) else box((0.5, 0.4, 0.6), (2, 2, 2))
    return [flat.moved(flat.x + [0, 0, 0.3 + 10 ** rng.uniform(-4, -1)])], [body]


def between_bodies(rng):
    """A sheet between a box and a ball."""
    flat, low, high = sheet((1, 1), (8, 8)), box((0.5, 0.5, 0.2), (2, 2, 1)), sphere(0.2, 80)
    return [flat.moved(flat.x + [0, 0, 0.11])], [low, high.moved(high.x + [0, 0, 0.35])]


STATES = {s.__name__: s for s in (folds, stack, crumpled, snow, on_a_body, between_bodies)}


def _through_each_other(rng, x, piece):
    return x + rng.standard_normal((piece.max() + 1, 3))[piece] * rng.uniform(0, 1.5)


def _spinning(rng, x, piece):
    out = x.copy()
    for k in range(piece.max() + 1):
        centre = x[piece == k].mean(axis=0)
        out[piece == k] = centre + (x[piece == k] - centre) @ rotation(rng.standard_normal(3), rng.uniform(0, 6)).T
    return out


def _linear(matrix):
    def wish(rng, x, piece):
        centre = x.mean(axis=0)
        return centre + (x - centre) @ matrix(rng).T + rng.choice([0, 1e-3]) * rng.standard_normal(x.shape)

    return wish


def _axis(rng):
    n = rng.standard_normal(3) if rng.integers(2) else np.array([0.0, 0.0, 1.0])
    return np.outer(n, n) / (n @ n)


# (rng, x0 (n, 3), the connected piece of each vertex) -> x1 (n, 3); sizes are about 1
WISHES = {
    "trembling": lambda rng, x, piece: x + rng.standard_normal(x.shape) * 10 ** rng.uniform(-4, -1.5),
    "random": lambda rng, x, piece: x + rng.standard_normal(x.shape) * 10 ** rng.uniform(-1.5, 0.5),
    "waves": lambda rng, x, piece: (
        x + 10 ** rng.uniform(-2, -0.5) * np.sin(6 * x @ rng.standard_normal((3, 3)) + rng.uniform(0, 6, 3))
    ),
    "sheared": _linear(lambda rng: np.eye(3) + 10 ** rng.uniform(-1, 0.5) * rng.standard_normal((3, 3))),
    "to a plane": _linear(lambda rng: np.eye(3) - _axis(rng)),
    "to a line": _linear(_axis),
    "to a point": _linear(lambda rng: np.zeros((3, 3))),
    "mirrored": _linear(lambda rng: np.eye(3) - 2 * _axis(rng)),
    "exploding": _linear(lambda rng: np.eye(3) * rng.uniform(1.5, 20)),
    "spinning": _spinning,
    "through each other": _through_each_other,
}
