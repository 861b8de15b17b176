"""Dressing: garments sewn around a body, one over the other, and then let hang until they come to rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.frames import Frames
from unsnarl.mesh import TriMesh
from unsnarl.simulation.scene import Body, Cloth, Scene, in_range
from unsnarl.simulation.simulate import Simulator
from unsnarl.wardrobe.body import Character, character
from unsnarl.wardrobe.motions import POSES, named
from unsnarl.wardrobe.pattern import Pattern
from unsnarl.wardrobe.pattern_file import garment
from unsnarl.wardrobe.sew import sew

OUTFITS = {
    "handkerchief": ("handkerchief",),
    "tshirt": ("tshirt",),
    "shirt": ("shirt",),
    "trousers": ("trousers",),
    "circle_skirt": ("circle_skirt",),
    "dress": ("dress",),
    "shirt_under_jacket": ("shirt", "jacket"),
}


@dataclass(frozen=True, eq=False)
class Dressed:
    """Garments at rest on a body.

    name   : what it is
    cloths : a `Cloth` for each garment, innermost first; its mesh is where it hangs
    bodies : what it hangs on
    up     : axis that points upwards
    """

    name: str
    cloths: tuple[Cloth, ...]
    bodies: tuple[Body, ...]
    up: str = "y"

    @property
    def meshes(self) -> list[TriMesh]:
        return [cloth.mesh for cloth in self.cloths]

    def scene(self, **changes) -> Scene:
        """A scene that goes on from here; changes as for `Scene`."""
        settings = {"bodies": self.bodies, "name": self.name, "up": self.up, **changes}
        return Scene(self.cloths, **settings)


def dress(
    garments: str | Pattern | Sequence[str | Pattern],
    body=None,
    *,
    vertices: int = 2_000,
    thickness: float | None = None,
    seconds: float = 2.5,
    progress: Callable[[str, float], None] | None = None,
) -> Dressed:
    """Sew garments around a body and let them hang.

    garments  : an outfit or a garment by name, a Pattern, or several of these, the innermost first
    body      : a Character, TriMesh, Frames or Body; default: the wardrobe's own person
    vertices  : about how many, of each garment: 1,000 to 40,000
    thickness : of the cloth [m]; None: as a `Scene` has it
    seconds   : that it hangs at most; it ends sooner once it is at rest
    progress  : called with what is being done, and the share of it that is done
    """
    name, patterns = _patterns(garments)
    in_range(seconds, 0, 1e4, "seconds")
    body = _body(name, patterns, character() if body is None else body)
    tell = progress or (lambda what, share: None)
    worn: list[Cloth] = []
    for pattern in patterns:
        sewn, below = sew(
            pattern, bodies=[body], worn=worn, vertices=vertices, thickness=thickness,
            progress=lambda s, p=pattern: tell(f"sewing {p.name}", s),
        )  # fmt: skip
        worn = [Cloth(m, c.material) for m, c in zip(below, worn)] + [Cloth(sewn, pattern.material)]
    return hang(Dressed(name, tuple(worn), (body,)), seconds, thickness, lambda s: tell(f"draping {name}", s))


STILL = 0.02  # [m/s] root mean square speed at which cloth counts as at rest
FRICTION = 0.4  # of bodies that do not say theirs
FPS = 30.0
LOWERING = 15  # frames in which a body that was dressed in another pose comes to rest


def hang(
    dressed: Dressed, seconds: float, thickness: float | None = None, progress: Callable[[float], None] | None = None
) -> Dressed:
    """The garments after hanging for a while, until they are at rest or `seconds` are over.

    Bodies that move do so first; those of the result stand still where they then are.
    """
    moving = max(len(b.motion) / b.motion.fps for b in dressed.bodies) if dressed.bodies else 0.0
    least = max(10, math.ceil(FPS * moving))
    frames = max(least, round(FPS * seconds))
    scene = dressed.scene(frames=frames + 1, fps=FPS, substeps=2, air=1.0, thickness=thickness)
    simulator = Simulator(scene)
    mass = simulator.system.mass.sum()
    for k in range(frames):
        frame = simulator.advance()
        if progress:
            progress((k + 1) / frames)
        if k >= least and 2 * frame.stats["kinetic_energy"] / mass < STILL**2:
            break
    states = simulator.frame().states
    cloths = tuple(Cloth(c.mesh.moved(s.x), c.material) for c, s in zip(dressed.cloths, states))
    bodies = tuple(Body(b.mesh.moved(b.at(states[0].t)), b.friction) for b in dressed.bodies)
    return Dressed(dressed.name, cloths, bodies, dressed.up)


def _body(name: str, patterns: list[Pattern], body) -> Body:
    """The body to be dressed; one that is dressed in another pose comes to rest afterwards."""
    if not isinstance(body, Character):
        return body if isinstance(body, Body) else Body(body, FRICTION)
    poses = {p.pose for p in patterns}
    if len(poses) > 1:
        raise BadInput(f"{name}: its garments are sewn in different poses, and cannot be put on together")
    pose = poses.pop()
    if pose is None:
        return Body(body.mesh, FRICTION)
    angles = body.skeleton.angles(named(POSES, pose, "pose"))
    ways = 0.5 * (1 + np.cos(np.linspace(0, np.pi, LOWERING)))
    return Body(Frames(body.mesh, np.stack([body.pose(way * angles).x for way in ways]), FPS), FRICTION)


def _patterns(garments) -> tuple[str, list[Pattern]]:
    if isinstance(garments, str):
        return garments, [garment(name) for name in OUTFITS.get(garments, (garments,))]
    if isinstance(garments, Pattern):
        return garments.name, [garments]
    if not isinstance(garments, Sequence):
        raise BadInput(f"expected garments by name or as Patterns, got {type(garments).__name__}")
    patterns = [p for each in garments for p in _patterns(each)[1]]
    if not patterns:
        raise BadInput("there is no garment to put on")
    return " and ".join(p.name for p in patterns), patterns


def strains(mesh: TriMesh) -> np.ndarray:
    """(e,) relative change of the edges' lengths against the rest shapes; of a seam, against the mean of its sides."""
    from unsnarl.dynamics.system import rest_lengths

    now = np.linalg.norm(mesh.x[mesh.edges[:, 0]] - mesh.x[mesh.edges[:, 1]], axis=1)
    return now / rest_lengths(mesh) - 1.0
