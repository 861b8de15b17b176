"""What is simulated: cloths, bodies, wind, and how. Plain frozen objects; `simulation.scene_file` reads them from TOML.

scene = us.Scene([us.Cloth(sheet, material="silk", pins=[0, 99])], bodies=[us.Body(sphere)], up="z")
for frame in us.simulate(scene): ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unsnarl.energies.materials import Material, material
from unsnarl.errors import BadInput
from unsnarl.io.frames import Frames
from unsnarl.jit import floats, ints
from unsnarl.mesh import TriMesh, as_mesh
from unsnarl.untangle import METHODS as UNTANGLING

RESOLVERS = ("zones", "none")
METHODS = ("none", *UNTANGLING)  # of untangling while simulating
FARTHEST = 1e9  # [m] from the origin that anything is, and ...
FASTEST = 1e6  # ... [m/s] that anything goes: far beyond any use, and still with room for squares and cubes


@dataclass(frozen=True, eq=False)
class Cloth:
    """A piece of cloth.

    mesh     : TriMesh, or (vertices (n, 3) [m], faces (m, 3)); its `rest` shapes are those without stretch
    material : a name in `energies.materials`, or a Material
    pins     : vertices that stay where they are: indices, or "boundary"
    targets  : None, or Frames-like motion of the pins, (k, p, 3) [m] at the scene's frames: where each pin is at each
               frame; linear in between, and at rest after the last
    stitches : pairs of vertices, (s, 2), that are drawn together: a seam that is being closed
    velocity : (3,) or (n, 3) at the start [m/s]
    flat     : True: folds at rest are flat (dihedral angle 0); False: they are those of the mesh's positions
    """

    mesh: TriMesh
    material: Material | str = "cotton"
    pins: Sequence[int] | str = ()
    targets: np.ndarray | None = None
    stitches: np.ndarray | None = None
    velocity: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0)
    flat: bool = True

    def __post_init__(self):
        fix = object.__setattr__
        fix(self, "mesh", as_mesh(self.mesh, "cloth"))
        name, n = self.mesh.name, len(self.mesh.x)
        fix(self, "material", material(self.material))
        if len(self.mesh.non_manifold_edges):
            raise BadInput(f"{name}: an edge has three or more faces; split_non_manifold cuts the surface open there")
        if (np.abs(np.linalg.det(self.mesh.rest)) <= 1e-12 * np.abs(self.mesh.rest).max() ** 2).any():
            f = int(np.argmin(np.abs(np.linalg.det(self.mesh.rest))))
            raise BadInput(f"{name}: face {f} has no area at rest")
        if not isinstance(self.flat, (bool, np.bool_)):
            raise BadInput(f"{name}: flat must be true or false, not {self.flat!r}")
        if isinstance(self.pins, str):
            if self.pins != "boundary":
                raise BadInput(f"{name}: pins are vertices or 'boundary', not {self.pins!r}")
            fix(self, "pins", np.flatnonzero(self.mesh.boundary_vertices).astype(np.int32))
        else:
            pins = np.asarray(self.pins)
            if pins.size and (pins.ndim != 1 or pins.dtype.kind not in "iu"):
                raise BadInput(f"{name}: pins must be a list of whole numbers")
            if pins.size and (pins.min() < 0 or pins.max() >= n):
                raise BadInput(f"{name}: pin {pins[(pins < 0) | (pins >= n)][0]} is not one of the {n} vertices")
            if len(np.unique(pins)) != len(pins):
                raise BadInput(f"{name}: a vertex is pinned twice")
            fix(self, "pins", ints(pins.reshape(-1)))
        if self.stitches is not None:
            try:
                stitches = np.asarray(self.stitches)
            except ValueError:
                raise BadInput(f"{name}: stitches must be pairs of vertices") from None
            if stitches.size == 0:
                stitches = np.zeros((0, 2), np.int32)
            if stitches.ndim != 2 or stitches.shape[1] != 2 or stitches.dtype.kind not in "iu":
                raise BadInput(f"{name}: stitches must be pairs of vertices")
            if stitches.size and (stitches.min() < 0 or stitches.max() >= n):
                raise BadInput(f"{name}: a stitch names a vertex that is not one of the {n}")
            fix(self, "stitches", ints(stitches))
        _within(self.mesh.x, FARTHEST, f"{name}: position", "m")
        velocity = _within(_numbers(self.velocity, f"{name}: velocity"), FASTEST, f"{name}: velocity", "m/s")
        if velocity.shape not in ((3,), (n, 3)):
            raise BadInput(f"{name}: velocity must have shape (3,) or ({n}, 3), not {velocity.shape}")
        fix(self, "velocity", np.broadcast_to(velocity, (n, 3)).copy())
        if self.targets is not None:
            targets = _within(_numbers(self.targets, f"{name}: targets"), FARTHEST, f"{name}: target", "m")
            if targets.ndim != 3 or targets.shape[1:] != (len(self.pins), 3) or len(targets) == 0:
                raise BadInput(f"{name}: targets must have shape (frames, {len(self.pins)}, 3), not {targets.shape}")
            fix(self, "targets", targets)


@dataclass(frozen=True, eq=False)
class Body:
    """Something solid that cloth collides with: it moves as it is told to, or not at all.

    motion   : TriMesh (static), Frames (linear between its frames; at rest before the first and after the last), or
               (vertices, faces); closed surfaces with outward normals have an inside
    friction : Coulomb's coefficient
    """

    motion: TriMesh | Frames
    friction: float = 0.3

    def __post_init__(self):
        if not isinstance(self.motion, Frames):
            mesh = as_mesh(self.motion, "body")
            object.__setattr__(self, "motion", Frames(mesh, mesh.x[None]))
        _within(self.motion.x, FARTHEST, f"{self.mesh.name}: position", "m")
        in_range(self.friction, 0, 100, f"{self.mesh.name}: friction")
        if len(self.mesh.non_manifold_edges):
            raise BadInput(f"{self.mesh.name}: an edge has three or more faces; split_non_manifold cuts it open there")

    @property
    def mesh(self) -> TriMesh:
        return self.motion.mesh

    def at(self, t: float) -> np.ndarray:
        """(n, 3) positions at time t [s]."""
        return between_frames(self.motion.x, t * self.motion.fps)


@dataclass(frozen=True)
class Wind:
    """The same everywhere; what it does to a face is said in `dynamics.wind`.

    velocity : (3,) [m/s]
    drag     : coefficient along the air's motion
    lift     : coefficient across it
    gusts    : 0 for a steady wind; share of the speed by which it swells and fades, and radians by which it veers
    """

    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    drag: float = 1.0
    lift: float = 0.5
    gusts: float = 0.0

    def __post_init__(self):
        velocity = _within(_numbers(self.velocity, "wind: velocity"), FASTEST, "wind: velocity", "m/s")
        if velocity.shape != (3,):
            raise BadInput("wind: velocity must be three numbers")
        object.__setattr__(self, "velocity", tuple(velocity.tolist()))
        for key, most in (("drag", 100), ("lift", 100), ("gusts", 1)):
            in_range(getattr(self, key), 0, most, f"wind: {key}")


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that a simulation needs.

    cloths    : at least one
    bodies    : any number
    frames    : how many are made, the first (number 0) being the start
    fps       : frames per second
    substeps  : time steps per frame; a step that fails is tried again in halves
    gravity   : [m/s^2], against the `up` axis ("x", "y" or "z")
    air       : how fast velocities fade in still air [1/s]
    thickness : of the cloth [m]: nearer than that, cloth pushes cloth away; None: a quarter of the mean edge, or 5 mm
                if that is less
    friction  : Coulomb's coefficient between cloths
    resolver  : "zones": cloth never passes through cloth or body; "none": nothing holds it
    untangle  : a method of `untangle` that undoes tangles while simulating, "auto", or "none"
    """

    cloths: Sequence[Cloth]
    bodies: Sequence[Body] = ()
    wind: Wind | None = None
    frames: int = 100
    fps: float = 24.0
    substeps: int = 3
    gravity: float = 9.81
    up: str = "y"
    air: float = 0.1
    thickness: float | None = None
    friction: float = 0.3
    resolver: str = "zones"
    untangle: str = "none"
    name: str = "scene"

    def __post_init__(self):
        fix = object.__setattr__
        if any(some is None or isinstance(some, str) for some in (self.cloths, self.bodies)):
            raise BadInput(f"{self.name}: cloths and bodies are lists of Cloth and Body")
        if not isinstance(self.name, str):
            raise BadInput(f"a scene's name must be text, not {self.name!r}")
        if self.wind is not None and not isinstance(self.wind, Wind):
            raise BadInput(f"{self.name}: wind must be a Wind, not {type(self.wind).__name__}")
        cloths = [self.cloths] if isinstance(self.cloths, (Cloth, TriMesh)) else list(self.cloths)
        bodies = [self.bodies] if isinstance(self.bodies, (Body, TriMesh, Frames)) else list(self.bodies)
        fix(self, "cloths", tuple(c if isinstance(c, Cloth) else Cloth(c) for c in cloths))
        fix(self, "bodies", tuple(b if isinstance(b, Body) else Body(b) for b in bodies))
        if not self.cloths:
            raise BadInput(f"{self.name}: there is no cloth to simulate")
        for key, least, most in (("frames", 1, 10**7), ("substeps", 1, 10_000)):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
                raise BadInput(f"{self.name}: {key} must be a whole number from {least} to {most:,}, not {value!r}")
        for key, least, most in (("fps", 1e-3, 1e6), ("gravity", -1e4, 1e4), ("air", 0, 1e4), ("friction", 0, 100)):
            in_range(getattr(self, key), least, most, f"{self.name}: {key}")
        for key, known in (("up", ("x", "y", "z")), ("resolver", RESOLVERS), ("untangle", METHODS)):
            if getattr(self, key) not in known:
                raise BadInput(f"{self.name}: {key} must be one of {', '.join(known)}, not {getattr(self, key)!r}")
        if self.thickness is None:
            lengths = [np.linalg.norm(np.diff(c.mesh.x[c.mesh.edges], axis=1), axis=2).mean() for c in self.cloths]
            fix(self, "thickness", float(min(0.005, 0.25 * min(lengths))))
        in_range(self.thickness, 1e-9, 1.0, f"{self.name}: thickness")

    def but(self, **changes) -> Scene:
        """The same scene with something changed."""
        return replace(self, **changes)


def between_frames(x: np.ndarray, at: float) -> np.ndarray:
    """x (k, n, 3) at frame number `at`, linear between frames, at rest before the first and after the last."""
    last = len(x) - 1
    low = int(np.clip(np.floor(at), 0, last))
    share = min(max(at - low, 0.0), 1.0)
    if low == last or share == 0.0:
        return x[low]
    return (1.0 - share) * x[low] + share * x[low + 1]


def _numbers(a, what: str) -> np.ndarray:
    try:
        a = floats(a)
    except (TypeError, ValueError):
        raise BadInput(f"{what} must be numbers") from None
    if not np.isfinite(a).all():
        raise BadInput(f"{what} must be finite numbers")
    return a


def _within(a: np.ndarray, most: float, what: str, unit: str) -> np.ndarray:
    """a; raise `BadInput` if a number in it is beyond +- most."""
    if a.size and not np.abs(a).max() <= most:
        raise BadInput(f"{what}: {a.flat[np.abs(a).argmax()]:g} {unit} is beyond the limit of {most:g} {unit}")
    return a


def in_range(value, least: float, most: float, what: str) -> None:
    """Raise `BadInput` unless value is a number from least to most."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not (number and least <= value <= most):
        raise BadInput(f"{what} must be a number from {least:g} to {most:g}, not {value!r}")
