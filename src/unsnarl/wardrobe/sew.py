"""Sewing: panels placed around a body are drawn together along their seams, and the vertices of each seam become one.

The panels are simulated without weight, their seams as stitches (`contact.stitches`), so that cloth passes neither
through itself nor through a body while it is sewn. When all gaps are smaller than the cloth is thick, stitched vertices
are merged, if that brings no intersection; else it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.frames import Frames
from unsnarl.mesh import TriMesh
from unsnarl.simulation.scene import Body, Cloth, Scene, in_range
from unsnarl.simulation.simulate import Simulator
from unsnarl.tangles.check import check
from unsnarl.wardrobe.body import Character
from unsnarl.wardrobe.cut import Cut, cut, edge_for, join, merge
from unsnarl.wardrobe.pattern import Pattern

FRAMES = 240  # of 1/60 s, after which seams must be closed
STUCK = 90  # frames without getting nearer, after which it is given up


def sew(
    pattern: Pattern,
    *,
    bodies: Sequence = (),
    worn: Sequence[Cloth] = (),
    vertices: int | None = None,
    edge: float | None = None,
    thickness: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[TriMesh, list[TriMesh]]:
    """The garment, sewn around bodies, and what was worn below as it is then.

    bodies   : TriMesh, Frames or `Body`, in the way; they stand still as at their first frame
    worn     : cloths that are there already
    vertices : about how many; or edge : [m] about how long the edges are. Default: 2,000 vertices
    thickness : of the cloth [m]; None: as a `Scene` has it
    progress : called with the share of the way that the widest gap has closed
    """
    if not isinstance(pattern, Pattern):
        raise BadInput(f"expected a Pattern (read_garment reads one from a file), got {type(pattern).__name__}")
    bodies = _several(bodies, "bodies", TriMesh, Frames, Body, Character)
    bodies = [b.mesh if isinstance(b, Character) else b for b in bodies]
    worn = [c if isinstance(c, Cloth) else Cloth(c) for c in _several(worn, "worn", TriMesh, Cloth)]
    if thickness is not None:
        in_range(thickness, 1e-6, 0.05, f"{pattern.name}: thickness")
    if vertices is not None and edge is not None:
        raise BadInput(f"{pattern.name}: give vertices or edge, not both")
    if vertices is not None:
        in_range(vertices, 20, 1_000_000, f"{pattern.name}: vertices")
    pieces = cut(pattern, edge_for(pattern, vertices or 2_000) if edge is None else edge)
    still = [Body(_at_rest(body), friction=0.0) for body in bodies]
    _check_start(pieces, worn, still)
    mesh, stitches, stage, below = pieces.mesh, pieces.stitches, pieces.stage, [c.mesh for c in worn]
    merge(mesh, stitches)  # raises where the garment would not be a surface
    stages = np.unique(stage)
    for k, now in enumerate(stages):
        share = (lambda s, k=k: progress((k + s) / len(stages))) if progress else None
        cloths = [Cloth(m, c.material) for m, c in zip(below, worn)]
        mesh, vertex, below = _close(mesh, stitches[stage == now], pattern, cloths, still, thickness, share)
        stitches, stage = vertex[stitches[stage > now]], stage[stage > now]
    return merge(mesh, np.zeros((0, 2), np.int32)), below


def _close(mesh: TriMesh, stitches, pattern: Pattern, worn: list[Cloth], bodies: list[Body], thickness, progress):
    """Close stitches: the mesh with their vertices made one, what became of its vertices, and the cloths below."""
    scene = Scene(
        [Cloth(mesh, pattern.material, stitches=stitches), *worn], bodies, frames=FRAMES, fps=60, substeps=1,
        gravity=0.0, air=5.0, friction=0.0, thickness=thickness, name=pattern.name,
    )  # fmt: skip
    simulator = Simulator(scene)
    first = widest = least = _widest(mesh.x, stitches)
    since = 0  # frames since the gaps were at their smallest
    while True:
        states = simulator.frame().states
        if widest <= scene.thickness:
            sewn, vertex = join(mesh.moved(states[0].x), stitches)
            below = [c.mesh.moved(state.x) for c, state in zip(worn, states[1:])]
            if check([sewn, *below], bodies=[b.mesh for b in bodies]).clean:
                return sewn, vertex, below
        since = 0 if widest < 0.99 * least or simulator.number == 0 else since + 1
        least = min(widest, least)
        if simulator.number >= FRAMES or since >= STUCK:
            raise BadInput(f"{pattern.name}: could not be sewn: {_open(mesh, stitches, states[0].x, scene.thickness)}")
        widest = _widest(simulator.advance().states[0].x, stitches)
        if progress:
            progress(min(1.0, (first - widest) / max(first - scene.thickness, 1e-9)))


def _several(things, what: str, *kinds: type) -> list:
    """A list of things, from one of these kinds or a sequence."""
    if isinstance(things, kinds):
        return [things]
    if not isinstance(things, Sequence):
        raise BadInput(f"{what} must be a list, not {type(things).__name__}")
    return list(things)


def _at_rest(body) -> TriMesh:
    body = body if isinstance(body, Body) else Body(body)
    return body.mesh.moved(body.at(0.0))


def _check_start(pieces: Cut, worn: Sequence[Cloth], bodies: Sequence[Body]) -> None:
    """Raise `BadInput` where panels cross something before they are sewn."""
    report = check([pieces.mesh, *(c.mesh for c in worn)], bodies=[b.mesh for b in bodies])
    if report.clean:
        return
    name = np.full(len(report.mesh.faces), "", dtype=object)
    for part in report.parts:
        name[part.first_face : part.first_face + part.faces] = part.name
    for panel, faces in pieces.mesh.groups.items():
        name[faces] = f"panel {panel}"
    crossing = sorted({" and ".join(sorted({name[f], name[g]})) for f, g in report.segments})
    raise BadInput(f"{pieces.mesh.name}: before it is sewn, these cross: {'; '.join(crossing[:4])}")


def _widest(x: np.ndarray, stitches: np.ndarray) -> float:
    """[m] the widest gap."""
    if len(stitches) == 0:
        return 0.0
    return float(np.linalg.norm(x[stitches[:, 0]] - x[stitches[:, 1]], axis=1).max())


def _open(mesh: TriMesh, stitches: np.ndarray, x: np.ndarray, closed: float) -> str:
    """Which seams are still open, and by how much."""
    gap = np.linalg.norm(x[stitches[:, 0]] - x[stitches[:, 1]], axis=1)
    if gap.max() <= closed:
        return "all seams are closed, but the cloth crosses itself along them"
    worst = int(gap.argmax())
    panels = []
    for vertex in stitches[worst]:
        panels += [p for p, f in mesh.groups.items() if (mesh.faces[f] == vertex).any()]
    return (
        f"{int((gap > closed).sum())} of {len(gap)} stitches are open, the widest by {1e3 * gap[worst]:.3g} mm "
        f"between {' and '.join(dict.fromkeys(panels))}"
    )
