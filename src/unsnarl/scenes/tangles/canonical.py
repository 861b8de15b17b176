"""One kind of path at a time: small states in which every path is of the wanted kind. [A fig. 4, 6, 7; E fig. 1]

closed : a bump of one sheet through another, or two; or a sheet bent so that two regions of it meet
eight  : a fold whose layers cross in a drop, with its tip at the crease
ll     : a fold that is turned inside out along a piece of its crease
bli    : the same, up to the border
cross  : a fold whose layers cross in a wedge, from the crease to the border
bb_ii  : a strip through a wider sheet; or the narrow end of a curled sheet through the sheet
bi_bi  : two sheets slid into each other; or the end of a sheet that is curled askew

The four folds are one shape. Across the crease a half circle joins two layers; `crease` is its radius along the
crease, `layer` half of the height between the layers. Where these are negative, the layers have changed places.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from unsnarl.energies.materials import material
from unsnarl.errors import BadInput
from unsnarl.mesh import TriMesh
from unsnarl.mesh.primitives import flat_grid
from unsnarl.scenes.sheets import bent
from unsnarl.tangles.check import check
from unsnarl.wardrobe.motions import named
from unsnarl.wardrobe.tanglers.state import Tangled, blob, noise

FINEST, COARSEST = 100, 8  # squares along a side
TRIES = 200
Pairs = list[tuple[TriMesh, np.ndarray]]  # clean meshes, and their positions (n, 3) when tangled
OPEN = 0.06  # sides of a sheet: half of the height between the layers of a clean fold


def canonical(kind: str, resolution: int, rng: np.random.Generator | None = None) -> Tangled:
    """A state whose paths are all of one kind.

    kind       : "closed", "eight", "ll", "bli", "cross", "bb_ii" or "bi_bi"
    resolution : squares along the longest side of a sheet
    rng        : draws shape, size, place and tilt; None: the plain shape in the middle of what may be drawn
    """
    shapes = named(_SHAPES, kind, "kind of path")
    whole = isinstance(resolution, (int, np.integer)) and not isinstance(resolution, bool)
    if not whole or not COARSEST <= resolution <= FINEST:
        raise BadInput(f"resolution is a whole number from {COARSEST} to {FINEST}, not {resolution!r}")
    for _ in range(1 if rng is None else TRIES):
        shape = shapes[0] if rng is None else shapes[rng.integers(len(shapes))]
        state = _placed(shape(int(resolution), rng), kind, rng)
        if set(check(state.meshes).counts) == {kind.upper()} and check(state.clean).clean:
            return state
    raise RuntimeError(f"{kind}: resolution {resolution}: no such path")


def _placed(pairs: Pairs, kind: str, rng: np.random.Generator | None) -> Tangled:
    """The state from meshes with sides of about 1: made 30 to 60 cm large, tilted and shifted."""
    size = _between(rng, 0.3, 0.6)
    turn = Rotation.from_rotvec(np.zeros(3) if rng is None else rng.uniform(-0.6, 0.6, 3))
    shift = np.zeros(3) if rng is None else rng.uniform(-0.2, 0.2, 3)
    clean = tuple(bent(size * m.uv, m.faces, size * turn.apply(m.x) + shift, m.name) for m, _ in pairs)
    tangled = tuple(c.moved(size * turn.apply(x) + shift) for c, (_, x) in zip(clean, pairs))
    return Tangled(tangled, clean, (material("cotton"),) * len(clean), name=kind)


def _between(rng: np.random.Generator | None, low: float, high: float) -> float:
    """A number from low to high: drawn, or the middle."""
    return 0.5 * (low + high) if rng is None else float(rng.uniform(low, high))


def _upright(x: np.ndarray, y: np.ndarray, height: np.ndarray) -> np.ndarray:
    """(n, 3) positions, y pointing upwards."""
    return np.column_stack([x, height, -y])


def _grid(width: float, depth: float, resolution: int) -> tuple[np.ndarray, np.ndarray]:
    """uv (n, 2) of a sheet around the origin, in squares of which so many make a length of 1, and its faces."""
    a, b = (max(2, round(resolution * side)) for side in (width, depth))
    return flat_grid(
        np.linspace(-0.5 * width, 0.5 * width, a + 1), np.linspace(-0.5 * depth, 0.5 * depth, b + 1), alternating=True
    )


def _waves(rng: np.random.Generator | None, uv: np.ndarray, height: float) -> np.ndarray:
    """(n,) low waves, so that no sheet is quite flat."""
    return height * noise(np.random.default_rng(0) if rng is None else rng, uv, 0.7)


# --- closed ---


def _one_bump(resolution: int, rng) -> Pairs:
    middle = (_between(rng, -0.08, 0.08), _between(rng, -0.04, 0.04))
    return _bumps(resolution, rng, [(*middle, _between(rng, 0.2, 0.27))])


def _two_bumps(resolution: int, rng) -> Pairs:
    return _bumps(
        resolution,
        rng,
        [(way * 0.2, _between(rng, -0.08, 0.08), _between(rng, 0.14, 0.19)) for way in (-1.0, 1.0)],
    )


def _bumps(resolution: int, rng, bumps: list[tuple[float, float, float]]) -> Pairs:
    """A sheet with bumps at (u, v) of a radius each, through the sheet above it."""
    uv, faces = _grid(1.0, 0.6, resolution)
    gap, slant = _between(rng, 0.03, 0.045), _between(rng, -0.03, 0.03)
    above = bent(uv, faces, _upright(*uv.T, gap + slant * uv[:, 0] + _waves(rng, uv, 0.004)), "upper sheet")
    uv, faces = _grid(0.84, 0.6, resolution)
    below = bent(uv, faces, _upright(*(uv.T + [[0.013], [0.007]]), _waves(rng, uv, 0.004)), "lower sheet")
    height = sum(_between(rng, 0.4, 0.6) * r * blob(np.linalg.norm(uv - (u, v), axis=1), r) for u, v, r in bumps)
    return [(below, below.x + np.outer(height, [0.0, 1.0, 0.0])), (above, above.x)]


def _bent_over(resolution: int, rng) -> Pairs:
    """A sheet bent like a U, with a bump on either side, each towards the other. [A fig. 6]"""
    uv, faces = _grid(1.0, 1.0, resolution)
    u, v = uv.T
    radius = _between(rng, 0.045, 0.06)
    u = u - _between(rng, -0.03, 0.03)

    def positions(bump: Callable) -> np.ndarray:
        angle = np.clip(u / radius, -0.5 * np.pi, 0.5 * np.pi)
        s = np.maximum(np.abs(u) - 0.5 * np.pi * radius, 0.0)
        height = radius * np.sin(angle) - np.sign(u) * bump(s)
        return _upright(radius * (1.0 - np.cos(angle)) + s * np.where(u < 0, 1.02, 1.0), v + 0.03 * s * (u < 0), height)

    at, across = _between(rng, 0.19, 0.22), _between(rng, -0.12, 0.12)
    wide, high = _between(rng, 0.16, 0.18), _between(rng, 1.25, 1.6) * radius
    clean = bent(uv, faces, positions(lambda s: np.zeros_like(s)), "bent sheet")
    return [(clean, positions(lambda s: high * blob(np.hypot(s - at, v - across), wide)))]


# --- folds ---


def _fold(resolution: int, rng, crease: Callable, layer: Callable, aside: float = 0.0) -> Pairs:
    """A sheet folded along a line of its vertices.

    crease : (n,) from v (n,), the place along the crease
    layer  : (n,) from s and v, both (n,): how far away from the crease, and the place along it
    aside  : how far the crease is from the middle
    """
    most = resolution // 10
    along = 0 if rng is None else int(rng.integers(-most, most + 1))
    across = round(aside * resolution) + (0 if rng is None else int(rng.integers(0, most + 1)))
    column, row = resolution // 2 + across, resolution // 2 + along
    column += (column + row) % 2  # where eight edges meet: a vertex of four is too blunt for the tip of a drop
    uv, faces = flat_grid(*((np.arange(resolution + 1) - k) / resolution for k in (column, row)), alternating=True)
    untangled = _folded(uv, lambda v: np.full_like(v, OPEN), lambda s, v: OPEN + 0.1 * s)
    return [(bent(uv, faces, untangled, "folded sheet"), _folded(uv, crease, layer))]


def _folded(uv: np.ndarray, crease: Callable, layer: Callable) -> np.ndarray:
    """(n, 3); lengths across the crease are kept but for the slope of the layers, the left layer being a bit longer."""
    u, v = uv.T
    turned = crease(v)
    radius = np.abs(turned)
    angle = np.clip(np.divide(u, radius, out=np.zeros_like(u), where=radius > 0), -0.5 * np.pi, 0.5 * np.pi)
    s = np.maximum(np.abs(u) - 0.5 * np.pi * radius, 0.0)
    x = radius * (1.0 - np.cos(angle)) + s
    height = np.where(s > 0, np.sign(u) * layer(s, v), turned * np.sin(angle))
    left = u < 0
    return _upright(np.where(left, 1.03 * x, x), v + np.where(left, 0.05 * x, 0.0), height)


def _eight(resolution: int, rng) -> Pairs:
    steep, long, wide = _between(rng, 0.13, 0.25), _between(rng, 0.3, 0.4), _between(rng, 2.5, 4.0)

    def drop(s):  # half of its width: at its tip less than a square
        s = np.minimum(s, 1.15 * long)
        return s * (0.25 + wide * s) * (1.0 - s / long)

    return _fold(resolution, rng, lambda v: steep * np.abs(v), lambda s, v: steep * (np.abs(v) - drop(s)))


def _cross(resolution: int, rng) -> Pairs:
    steep, wide = _between(rng, 0.13, 0.25), _between(rng, 0.25, 0.45)
    return _fold(resolution, rng, lambda v: steep * np.abs(v), lambda s, v: steep * (np.abs(v) - wide * s), aside=0.06)


def _loop(resolution: int, rng) -> Pairs:
    half, slope, deep = _between(rng, 0.2, 0.3), _between(rng, 0.2, 0.35), _between(rng, 0.14, 0.22)

    def crease(v):
        beyond = (v / half) ** 2 - 1.0
        return slope * deep * beyond / (1.0 + np.maximum(beyond, 0.0))

    return _fold(resolution, rng, crease, lambda s, v: crease(v) + slope * s)


def _cone(resolution: int, rng) -> Pairs:
    tip, slope, deep = _between(rng, -0.12, 0.08), _between(rng, 0.2, 0.35), _between(rng, 0.14, 0.22)

    def crease(v):
        return slope * deep * np.clip((tip - v) / (0.5 - tip), -1.0, 1.0)

    return _fold(resolution, rng, crease, lambda s, v: crease(v) + slope * s)


# --- from border to border ---


def _strip(resolution: int, rng) -> Pairs:
    """A strip that stands in a sheet."""
    lying, standing = _lying(resolution, rng, 0.7), _grid(_between(rng, 0.3, 0.45), 0.8, resolution)
    way = [_between(rng, -0.2, 0.2), _between(rng, -0.08, 0.08)]
    return _standing_in(lying, standing, way, _between(rng, -0.2, 0.2), rng)


def _slid(resolution: int, rng) -> Pairs:
    """A sheet that stands in another and sticks out of it at one side."""
    lying, standing = _lying(resolution, rng, 0.55), _grid(1.0, 0.55, resolution)
    way = [_between(rng, 0.3, 0.7), _between(rng, -0.1, 0.1)]
    return _standing_in(lying, standing, way, _between(rng, -0.15, 0.15), rng)


def _lying(resolution: int, rng, depth: float) -> TriMesh:
    uv, faces = _grid(1.0, depth, resolution)
    return bent(uv, faces, _upright(*uv.T, _waves(rng, uv, 0.01)), "sheet")


def _standing_in(lying: TriMesh, standing, way, rise: float, rng) -> Pairs:
    uv, faces = standing
    turn = Rotation.from_euler("yx", [_between(rng, -0.3, 0.3), _between(rng, -0.5, 0.5)])
    x = turn.apply(np.column_stack([uv, 0.02 + _waves(rng, uv, 0.012)])) + [way[0] + 0.013, rise + 0.017, way[1]]
    return [(lying, lying.x), (bent(uv, faces, x + [0.0, 0.8, 0.0], "standing sheet"), x)]


def _curled(resolution: int, rng) -> Pairs:
    """A sheet that narrows, curled up until its narrow end passes through it."""
    return _curl(resolution, rng, narrow=_between(rng, 0.3, 0.5), askew=_between(rng, -0.08, 0.08))


def _curled_askew(resolution: int, rng) -> Pairs:
    """A sheet curled up along an oblique line, until half of its end passes through it."""
    return _curl(resolution, rng, narrow=1.0, askew=_between(rng, 0.2, 0.45))


def _curl(resolution: int, rng, narrow: float, askew: float) -> Pairs:
    """A flat piece, an arc of 220 to 280 degrees, and a flat end; lengths are kept."""
    uv, faces = _grid(1.0, 0.7, resolution)
    uv = uv * np.column_stack([np.ones(len(uv)), np.interp(uv[:, 0], [-0.5, 0.5], [1.0, narrow])])
    cos, sin = np.cos(askew), np.sin(askew)
    u, v = cos * uv[:, 0] - sin * uv[:, 1], sin * uv[:, 0] + cos * uv[:, 1]
    radius, turn = _between(rng, 0.06, 0.08), np.radians(_between(rng, 220.0, 280.0))
    u = u - _between(rng, -0.05, 0.05)
    clean = bent(uv, faces, _upright(u, v, np.zeros_like(u)), "curled sheet")
    angle = np.clip(u / radius, 0.0, turn)
    end = np.maximum(u - turn * radius, 0.0)
    x = np.minimum(u, 0.0) + radius * np.sin(angle) + end * np.cos(turn)
    height = radius * (1.0 - np.cos(angle)) + end * np.sin(turn)
    return [(clean, _upright(x, v, height))]


_SHAPES = {
    "closed": (_one_bump, _two_bumps, _bent_over),
    "eight": (_eight,),
    "ll": (_loop,),
    "bli": (_cone,),
    "cross": (_cross,),
    "bb_ii": (_strip, _curled),
    "bi_bi": (_slid, _curled_askew),
}
KINDS = tuple(_SHAPES)
