"""D's six rudimentary cases, and BLI, which it leaves out, each at ten resolutions. [D §9.1, fig. 13]

for kind in RUDIMENTARY:
    for resolution in RESOLUTIONS:
        state = build(kind, resolution)
"""

from __future__ import annotations

import numpy as np

from unsnarl.scenes.tangles.canonical import canonical
from unsnarl.tangles.check import check as find
from unsnarl.wardrobe.tanglers.state import Tangled

RUDIMENTARY = ("closed", "ll", "eight", "cross", "bb_ii", "bi_bi")  # in D's order
LEFT_OUT = "bli"
RESOLUTIONS = (12, 15, 18, 21, 24, 27, 30, 33, 36, 40)  # squares along the longest side of a sheet


def build(kind: str, resolution: int, seed: int | None = None) -> Tangled:
    """A state whose paths are all of one kind; without a seed, the plain shape."""
    rng = None if seed is None else np.random.default_rng([seed, resolution, *kind.encode()])
    return canonical(kind, resolution, rng)


def check(kind: str, resolution: int, seed: int | None = None) -> dict[str, int]:
    """There are paths, of this kind and of no other. Returns how many."""
    counts = find(build(kind, resolution, seed).meshes).counts
    assert set(counts) == {kind.upper()}, f"{kind} at {resolution}: there are paths of kinds {', '.join(counts)}"
    return counts
