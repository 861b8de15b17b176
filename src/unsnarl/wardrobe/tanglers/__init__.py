"""Tanglers: the ways in which cloth gets tangled in practice, each a family of states by seed.

    state = tangle("fold_and_press", 7)
    report = us.check(state.meshes, bodies=state.bodies)

Each tangler is a file here with `draw`, which makes a state from a random generator. A seed's state is the first that
is drawn in which cloth passes through cloth without being stretched too far. The same seed gives the same state, bit
for bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.tangles.check import check
from unsnarl.tangles.report import TangleReport
from unsnarl.wardrobe.dress import strains
from unsnarl.wardrobe.motions import named
from unsnarl.wardrobe.tanglers import (
    collisions_off,
    drag,
    explode,
    fold_and_press,
    pinch,
    sewn_across,
    wrong_layers,
)
from unsnarl.wardrobe.tanglers.state import Tangled

__all__ = ["TANGLERS", "Counts", "Tangled", "check_state", "count_kinds", "tangle"]

LONGEST = 3.0  # times as long as at rest may an edge be
WILD = {"explode": np.inf, "drag": 6.0}  # where it may be longer
TRIES = 100

_DRAW = {
    "collisions_off": collisions_off.draw,
    "sewn_across": sewn_across.draw,
    "explode": explode.draw,
    "drag": drag.draw,
    "fold_and_press": fold_and_press.draw,
    "wrong_layers": wrong_layers.draw,
    "pinch": pinch.draw,
}


def _first_tangled(name: str, seed: int) -> Tangled:
    rng = np.random.default_rng([seed, *name.encode()])
    for _ in range(TRIES):
        state = replace(_DRAW[name](rng), name=name, seed=seed)
        if _is_tangled(state) and check(state.clean, bodies=state.clean_bodies).clean:
            return state
    raise RuntimeError(f"{name}: seed {seed}: nothing tangled in {TRIES} draws")


def _is_tangled(state: Tangled) -> bool:
    """Whether cloth passes through cloth, not only through a body, and is not stretched too far."""
    if 1.0 + max(strains(mesh).max() for mesh in state.meshes) > WILD.get(state.name, LONGEST):
        return False
    return _through_itself(state, check_state(state))


def _through_itself(state: Tangled, report: TangleReport) -> bool:
    return any(other < len(state.meshes) for _, other in report.between())


TANGLERS: dict[str, Callable[[int], Tangled]] = {name: partial(_first_tangled, name) for name in _DRAW}


def tangle(name: str, seed: int) -> Tangled:
    """The state that a tangler makes from a seed, a whole number from 0 on."""
    tangler = named(TANGLERS, name, "tangler")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise BadInput(f"a seed is a whole number from 0 on, not {seed!r}")
    return tangler(int(seed))


def check_state(state: Tangled) -> TangleReport:
    """What is tangled in a state."""
    return check(state.meshes, bodies=state.bodies)


@dataclass(frozen=True)
class Counts:
    """What a tangler's states have.

    name    : the tangler
    seeds   : how many were asked for
    tangled : in how many states cloth passes through cloth
    hits    : edges through faces, of bodies too: the median over the states
    extent  : the fewest and the most hits of a state
    kinds   : kind -> how many paths there are in all states together
    """

    name: str
    seeds: int
    tangled: int
    hits: float
    extent: tuple[int, int]
    kinds: Counter


def count_kinds(name: str, seeds: Iterable[int], progress: Callable[[float], None] | None = None) -> Counts:
    """Count what a tangler makes from these seeds; progress is called with the share that is done."""
    seeds = list(seeds)
    tangled, hits, kinds = 0, [], Counter()
    for k, seed in enumerate(seeds):
        state = tangle(name, seed)
        report = check_state(state)
        tangled += _through_itself(state, report)
        hits.append(len(report.hits))
        kinds.update(report.counts)
        if progress:
            progress((k + 1) / len(seeds))
    if not hits:
        raise BadInput(f"{name}: there is no seed to count")
    return Counts(name, len(seeds), tangled, float(np.median(hits)), (min(hits), max(hits)), kinds)
