"""Tangled states by family and seed, to try methods of untangling on.

    state = family("bent_tube", 7)
    report = us.check(state.meshes, bodies=state.bodies)

First one family for each kind of path (`canonical`), then sheets, closed tubes, and the wardrobe's tanglers. A seed's
state is the first that is drawn in which cloth passes through cloth, of 200 to 2,000 vertices and not stretched too
far. The same seed gives the same state, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.scenes.tangles import bent_tube, canonical, crumpled_sheet, folded_sheet, layered_sheets, pressed_tubes
from unsnarl.tangles.check import check
from unsnarl.wardrobe.dress import strains
from unsnarl.wardrobe.motions import named
from unsnarl.wardrobe.tanglers import TANGLERS, Tangled, check_state

__all__ = ["FAMILIES", "Tangled", "family"]

LONGEST = 3.0  # times as long as at rest may an edge be
VERTICES = (200, 2_000)  # of all meshes together
RESOLUTIONS = (12, 40)  # of the canonical states
TRIES = 100


def _of_one_kind(kind: str, rng: np.random.Generator) -> Tangled:
    return canonical.canonical(kind, int(rng.integers(RESOLUTIONS[0], RESOLUTIONS[1] + 1)), rng)


_DRAW = {kind: partial(_of_one_kind, kind) for kind in canonical.KINDS} | {
    "crumpled_sheet": crumpled_sheet.draw,
    "folded_sheet": folded_sheet.draw,
    "layered_sheets": layered_sheets.draw,
    "bent_tube": bent_tube.draw,
    "pressed_tubes": pressed_tubes.draw,
}


def _first_tangled(name: str, seed: int) -> Tangled:
    rng = np.random.default_rng([seed, *name.encode()])
    for _ in range(TRIES):
        state = replace(_DRAW[name](rng), name=name, seed=seed)
        if _is_fit(state):
            return state
    raise RuntimeError(f"{name}: seed {seed}: nothing tangled in {TRIES} draws")


def _is_fit(state: Tangled) -> bool:
    if not VERTICES[0] <= sum(len(mesh.x) for mesh in state.meshes) <= VERTICES[1]:
        return False
    if 1.0 + max(strains(mesh).max() for mesh in state.meshes) > LONGEST:
        return False
    return not check_state(state).clean and check(state.clean).clean


def _let_go(seed: int) -> Tangled:
    """Pinched, and the bodies have opened again: as long as they pass through themselves there is no room for cloth."""
    state = TANGLERS["pinch"](seed)
    return replace(state, bodies=state.clean_bodies)


FAMILIES: dict[str, Callable[[int], Tangled]] = (
    {name: partial(_first_tangled, name) for name in _DRAW} | TANGLERS | {"pinch": _let_go}
)


def family(name: str, seed: int) -> Tangled:
    """The state of a family that belongs to a seed, a whole number from 0 on."""
    states = named(FAMILIES, name, "family of tangles")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise BadInput(f"a seed is a whole number from 0 on, not {seed!r}")
    return states(int(seed))
