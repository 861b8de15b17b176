"""Four ensembles with seams are shaken while cloth may pass through cloth, and are tangled. [D §9.3, fig. 16 a to d]

The clothes are sewn, hang on the wardrobe's person until they are at rest, and then get a smooth field of velocities;
for a few steps nothing keeps them from passing through themselves and each other. The moment that is taken has no BLI:
D's method does not handle it, and D removed it by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from unsnarl.tangles.check import check as find
from unsnarl.wardrobe.dress import Dressed, dress, strains
from unsnarl.wardrobe.motions import named
from unsnarl.wardrobe.tanglers.state import Tangled, let_go, noise

STEPS = 8
LONGEST = 3.0  # times as long as at rest may an edge be


@dataclass(frozen=True)
class Shaken:
    """What is worn, innermost first, and how it is shaken.

    vertices : about how many each garment has
    speed    : [m/s] of the field of velocities; length : [m] over which it changes; seed : that it is drawn from
    """

    garments: tuple[str, ...]
    vertices: int
    speed: float
    length: float
    seed: int


ENSEMBLES = {
    "trousers_and_tshirt": Shaken(("trousers", "tshirt"), 2_000, 4.0, 0.2, 6),
    "shirt_under_jacket": Shaken(("shirt", "jacket"), 3_000, 2.5, 0.2, 4),
    "circle_skirt": Shaken(("circle_skirt",), 2_000, 4.0, 0.2, 7),
    "dress_over_trousers": Shaken(("trousers", "dress"), 2_000, 2.5, 0.2, 7),
}  # in the order of D's fig. 16 a to d


def build(name: str) -> Tangled:
    """The ensemble of this name, tangled: the same each time, bit for bit."""
    how = named(ENSEMBLES, name, "ensemble")
    worn, rng = _worn(how.garments, how.vertices), np.random.default_rng([how.seed, *name.encode()])
    cloths = [
        replace(c, velocity=how.speed * np.stack([noise(rng, c.mesh.x, how.length) for _ in range(3)], axis=1))
        for c in worn.cloths
    ]
    return replace(let_go(worn, STEPS, cloths=cloths), name=name, seed=how.seed)


def check(name: str) -> dict[str, int]:
    """Sewn garments, clean before and tangled now, in several places but without BLI. Returns the kinds of paths."""
    state = build(name)
    assert all(len(mesh.seams) for mesh in state.meshes), f"{name}: a garment without seams"
    assert find(state.clean, bodies=state.clean_bodies).clean, f"{name}: tangled before it was shaken"
    report = find(state.meshes, bodies=state.bodies)
    assert len(report.hits) >= 50, f"{name}: only {len(report.hits)} edges cross faces"
    assert "BLI" not in report.counts, f"{name}: there is BLI"
    longest = 1.0 + max(strains(mesh).max() for mesh in state.meshes)
    assert longest <= LONGEST, f"{name}: an edge is {longest:.1f} times as long as at rest"
    return report.counts


@cache
def _worn(garments: tuple[str, ...], vertices: int) -> Dressed:
    return dress(garments, vertices=vertices)
