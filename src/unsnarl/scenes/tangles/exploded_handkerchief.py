"""A handkerchief explodes: its whole middle is put at random points of a ball, and is as tangled as D's. [D §9.2]

D's handkerchief has 388 triangles too. It counts 7,801 "intersection path fragments across 163 red triangles", and says
that "one red triangle intersected with 47 others": 163 times 47.9, so that a pair of triangles is counted from both
sides, and there are 3,900 segments. Of the 13,203 pairs of 163 triangles 7,801 could hardly cross; of ours a fifth do.

Both readings are here. `RADIUS`: about 5,000 segments of 230 triangles, each of which crosses 44 others. `WIDER`: about
7,800 segments of 280 triangles, half of all vertices being red. No path comes near the border, so there is no BLI.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unsnarl.tangles.check import check as find
from unsnarl.wardrobe.tanglers.explode import exploded
from unsnarl.wardrobe.tanglers.state import Tangled

RADIUS, WIDER = 0.24, 0.27  # [m] around the middle, in which all vertices are moved
REACH = 0.1  # [m] of the ball
SEEDS = range(100)
NAME = "exploded_handkerchief"


def build(seed: int = 0, radius: float = RADIUS) -> Tangled:
    """The handkerchief of a seed, a whole number from 0 on: the same one each time, bit for bit."""
    rng = np.random.default_rng([seed, *NAME.encode()])
    return replace(exploded(rng, radius, REACH), name=NAME, seed=seed)


def check(seed: int = 0, radius: float = RADIUS) -> dict[str, int]:
    """As many triangles as D's, about as tangled, and no path ends at the border. Returns the kinds of its paths."""
    state = build(seed, radius)
    report = find(state.meshes)
    assert len(state.meshes[0].faces) == 388
    assert len(report.segments) >= 3_500, f"only {len(report.segments)} segments"
    assert len(report.crossing_faces) >= 163, f"only {len(report.crossing_faces)} triangles cross others"
    assert set(report.counts) <= {"CLOSED", "EIGHT", "LL"}, f"there are paths of kinds {', '.join(report.counts)}"
    return report.counts
