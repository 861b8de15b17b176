"""`zones`: after the step, no feature passes through another. Impulses with friction, then rigid impact zones.

[Bridson, Fedkiw, Anderson 2002; Provot 1997]. All vertices move in straight lines from x0, which is clean, to x1. While
some features collide on the way: first their motion is changed by impulses, pair by pair, those of earlier rounds
again, so that layers do not push each other to and fro; after some rounds, what still collides is gathered into zones
that move rigidly from x0, with the momentum and angular momentum that they have. Rigid motion keeps all distances, so
nothing within a zone collides; zones only grow, so this ends. A zone that holds something immovable (a pin, a body)
moves along with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unsnarl.detect.features import Surfaces
from unsnarl.detect.sweep import Collisions, find_collisions
from unsnarl.jit import kernel

ROUNDS = 30  # of impulses
SWEEPS = 10  # over the collisions of a round, at most
ZONE_ROUNDS = 60
TURN = (
    1.0  # [rad] by which a zone turns, at most: on straight ways, distances shrink to cos(TURN / 2), still above KEEP
)


@dataclass
class Resolved:
    """What came of it.

    x1 : (n, 3) where everything ends
    collisions, rounds, zones, largest : what it took
    clean : whether nothing collides
    stuck : whether that is because things that cannot be moved are in each other's way
    """

    x1: np.ndarray
    collisions: int = 0
    rounds: int = 0
    zones: int = 0
    largest: int = 0
    clean: bool = True
    stuck: bool = False


def resolve(
    on: Surfaces, x0, x1, inverse_mass, friction: np.ndarray, separation: float, gap: float, found=None,
    held: Callable[[Collisions, np.ndarray], Collisions] | None = None,
) -> Resolved:  # fmt: skip
    """Change x1 (n, 3) so that nothing collides on the way from x0 (n, 3).

    inverse_mass : (n,) [1/kg], 0 for what cannot be moved (pins, bodies)
    friction     : (n,) Coulomb's coefficient; of a pair, that of the vertices of bodies counts
    separation   : [m] nearest that features may come
    gap          : [m] at which impulses stop what approaches
    found        : the collisions, from `find_collisions` with this separation, if they are known
    held         : of collisions on the way to x1, those that have to be stopped; by default all
    """
    x1 = x1.copy()

    def find(changed=None) -> Collisions:
        some = find_collisions(on, x0, x1, separation, changed, let_go=True)
        return some if held is None else held(some, x1)

    found = find() if found is None else found
    result = Resolved(x1, collisions=len(found))
    known = found
    while len(found) and result.rounds < ROUNDS:
        result.rounds += 1
        changed = _impulses(
            known.vertex, known.weight, known.normal, x0, x1, inverse_mass, friction, on.cloth, gap, SWEEPS
        )
        if not changed.any():
            break
        found = _again(find, changed, found)
        if len(found):
            known = _joined(known, found)
    if len(found):
        _zones(find, x0, x1, inverse_mass, found, result)
    return result


def _again(find, changed, before: Collisions) -> Collisions:
    """Collisions after `changed` vertices (n,) bool moved; those before that have none of these are still there."""
    found = find(changed)
    still = ~changed[before.vertex].any(axis=1)
    if not still.any():
        return found
    parts = [np.concatenate([getattr(before, k)[still], getattr(found, k)]) for k in Collisions.__dataclass_fields__]
    order = np.lexsort((*parts[1].T[::-1], parts[0]))
    return Collisions(*(p[order] for p in parts))


def _joined(before: Collisions, found: Collisions) -> Collisions:
    """Those before and those found; of a pair that is in both, as it was found. The found ones have the last word."""
    rows = np.concatenate([np.column_stack([c.kind, c.vertex]) for c in (found, before)])
    _, first = np.unique(rows, axis=0, return_index=True)
    still = np.sort(first[first >= len(found)]) - len(found)
    return Collisions(
        *(np.concatenate([getattr(before, k)[still], getattr(found, k)]) for k in Collisions.__dataclass_fields__)
    )


@kernel
def _impulses(vertex, weight, normal, x0, x1, inverse_mass, friction, cloth, gap, sweeps):
    """Change x1 so that the features of each collision approach no further than the gap; (n,) bool, what was moved."""
    changed = np.zeros(x0.shape[0], np.bool_)
    u = np.empty(3)
    for _ in range(sweeps):
        moved = False
        for i in range(vertex.shape[0]):
            mobility = 0.0
            begin = 0.0
            u[:] = 0.0
            rough = -1.0
            for j in range(4):
                k = vertex[i, j]
                mobility += weight[i, j] ** 2 * inverse_mass[k]
                if k >= cloth:
                    rough = max(rough, friction[k])
                for c in range(3):
                    u[c] += weight[i, j] * (x1[k, c] - x0[k, c])
                    begin += weight[i, j] * x0[k, c] * normal[i, c]
            if mobility == 0.0:
                continue
            if rough < 0.0:
                rough = friction[vertex[i, 0]]
            along = u @ normal[i]
            wanted = -max(0.0, begin - gap)
            if along >= wanted - 1e-12 * gap:
                continue
            stop = wanted - along
            slide = 0.0
            for c in range(3):
                u[c] -= along * normal[i, c]
                slide += u[c] ** 2
            brake = 0.0
            if slide > 0.0:
                brake = min(1.0, rough * stop / np.sqrt(slide))
            for j in range(4):
                k = vertex[i, j]
                if inverse_mass[k] == 0.0:
                    continue
                share = weight[i, j] * inverse_mass[k] / mobility
                for c in range(3):
                    x1[k, c] += share * (stop * normal[i, c] - brake * u[c])
                changed[k] = True
            moved = True
        if not moved:
            break
    return changed


def _zones(find, x0, x1, inverse_mass, found: Collisions, result: Resolved) -> None:
    """Move what collides rigidly, in zones that grow until nothing collides; changes x1."""
    n = len(x0)
    parent = np.arange(n, dtype=np.int32)
    wish = x1.copy()  # where everything would go without zones: the momentum of a zone is that of its vertices there
    for _ in range(ZONE_ROUNDS):
        movable = (inverse_mass[found.vertex] > 0).any(axis=1)
        if not movable.any():  # what is left is between things that cannot be moved
            result.stuck = True
            break
        grown, any_grown = _unite(parent, found.vertex[movable])
        if not any_grown:  # a zone holds things that cannot be moved, and that do not move as one
            result.stuck = True
            break
        changed = _rigid(parent, grown, x0, wish, x1, inverse_mass)
        found = _again(find, changed, found)
        if not len(found):
            break
    result.clean = len(found) == 0
    root = _roots(parent)
    sizes = np.bincount(root, minlength=n)
    result.zones, result.largest = int((sizes > 1).sum()), int(sizes.max())


@kernel
def _root(parent, v):
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@kernel
def _roots(parent):
    out = np.empty_like(parent)
    for v in range(parent.shape[0]):
        out[v] = _root(parent, v)
    return out


@kernel
def _unite(parent, vertex):
    """Join the vertices of each row; (n,) bool, the roots of zones that grew, and whether any did."""
    any_grown = False
    for i in range(vertex.shape[0]):
        for j in range(1, 4):
            a, b = _root(parent, vertex[i, 0]), _root(parent, vertex[i, j])
            parent[max(a, b)] = min(a, b)
            any_grown = any_grown or a != b
    grown = np.zeros(parent.shape[0], np.bool_)
    for i in range(vertex.shape[0]):
        grown[_root(parent, vertex[i, 0])] = True
    return grown, any_grown


@kernel
def _rigid(parent, grown, x0, wish, x1, inverse_mass):
    """Move the zones with these roots rigidly from x0, into x1; (n,) bool, the vertices that were moved."""
    n = x0.shape[0]
    count = np.zeros(n + 1, np.int64)
    for v in range(n):
        if grown[_root(parent, v)]:
            count[_root(parent, v) + 1] += 1
    for v in range(n):
        count[v + 1] += count[v]
    at = count[:-1].copy()
    members = np.empty(count[n], np.int64)
    for v in range(n):
        root = _root(parent, v)
        if grown[root]:
            members[at[root]] = v
            at[root] += 1
    changed = np.zeros(n, np.bool_)
    for root in range(n):
        if not grown[root]:
            continue
        zone = members[count[root] : count[root + 1]]
        held = False
        for v in zone:
            held = held or inverse_mass[v] == 0.0
        total = 0.0
        centre, shift = np.zeros(3), np.zeros(3)
        for v in zone:
            if held and inverse_mass[v] > 0.0:
                continue
            m = 1.0 if held else 1.0 / inverse_mass[v]
            total += m
            centre += m * x0[v]
            shift += m * (wish[v] - x0[v])
        centre /= total
        shift /= total
        turn = np.eye(3)
        for _ in range(4 if held else 1):  # what cannot be moved is followed exactly, if it moves as one
            spin, inertia = np.zeros(3), np.zeros((3, 3))
            for v in zone:
                if held and inverse_mass[v] > 0.0:
                    continue
                m = 1.0 if held else 1.0 / inverse_mass[v]
                r = turn @ (x0[v] - centre)
                spin += m * np.cross(r, wish[v] - centre - shift - r)
                inertia += m * ((r @ r) * np.eye(3) - np.outer(r, r))
            turn = _turn(inertia, spin) @ turn
        for v in zone:
            if inverse_mass[v] == 0.0:
                continue
            r = x0[v] - centre
            x1[v] = centre + shift + turn @ r
            changed[v] = True
    return changed


@kernel
def _turn(inertia, spin):
    """The rotation with this angular momentum, by TURN at most; none about an axis that has no inertia."""
    size, axes = np.linalg.eigh(inertia)
    angle = np.zeros(3)
    for k in range(3):
        if size[k] > 1e-9 * size[2] and size[2] > 0.0:
            a = np.ascontiguousarray(axes[:, k])
            angle += a * ((a @ spin) / size[k])
    theta = np.sqrt(angle @ angle)
    if theta < 1e-14:
        return np.eye(3)
    a = angle / theta
    theta = min(theta, TURN)
    cross = np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
    return np.eye(3) + np.sin(theta) * cross + (1.0 - np.cos(theta)) * (cross @ cross)
