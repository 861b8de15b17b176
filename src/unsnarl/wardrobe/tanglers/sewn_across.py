"""Tangled from the start: panels hang in the wrong place, and are sewn without anything that keeps cloth apart.

Some panels are shifted and turned before they are sewn, so that they meet their seams across others. What is sewn to
what stays, and with it the mesh: the clean state is the same garment, properly sewn and draped.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

from unsnarl.mesh.tri_mesh import components
from unsnarl.simulation.scene import Cloth
from unsnarl.wardrobe.cut import Cut, cut, edge_for
from unsnarl.wardrobe.dress import Dressed
from unsnarl.wardrobe.pattern_file import garment
from unsnarl.wardrobe.tanglers.state import GARMENTS, VERTICES, Tangled, direction, draped, let_go

STEPS = 20  # of 1/30 s


@cache
def _pieces(name: str) -> Cut:
    pattern = garment(name)
    return cut(pattern, edge_for(pattern, VERTICES))


def draw(rng: np.random.Generator) -> Tangled:
    """A garment, sewn wrongly in the air."""
    name = str(rng.choice(GARMENTS))
    pieces, sewn = _pieces(name), draped(name).cloths[0]
    x = pieces.mesh.x.copy()
    panels = list(pieces.mesh.groups.values())
    for k in rng.permutation(len(panels))[: rng.integers(1, 4)]:
        own = np.unique(pieces.mesh.faces[panels[k]])
        turn = Rotation.from_rotvec(np.radians(rng.uniform(5.0, 60.0)) * direction(rng))
        middle = x[own].mean(axis=0)
        x[own] = turn.apply(x[own] - middle) + middle + rng.uniform(0.0, 0.2) * direction(rng)
    cloth = Cloth(pieces.mesh.moved(x), sewn.material, stitches=pieces.stitches)
    drawn = let_go(Dressed(name, (cloth,), ()), STEPS, fps=30.0, gravity=0.0, air=5.0)
    vertex = components(len(x), pieces.stitches)
    x = np.stack([np.bincount(vertex, c) for c in drawn.meshes[0].x.T], axis=1) / np.bincount(vertex)[:, None]
    return Tangled((sewn.mesh.moved(x),), (sewn.mesh,), (sewn.material,))
