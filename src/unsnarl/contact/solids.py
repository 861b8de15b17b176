"""Cloth on bodies: hard contact constraints, one direction of a particle each. [A §3; Baraff and Witkin 1998 §5]

A particle that would end the step nearer to a body than the gap is told where to end along the body's normal: at the
gap, moving with the body. The constraint overrides all forces. Its impulse comes out of the solve: where it pulls,
the particle is let go; where it pushes, Coulomb friction brakes the sliding, up to the push times the coefficient.
Friction goes into the solve as drag towards the body's velocity, with the push of the step before.
A particle at two bodies is constrained in two directions, at three in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unsnarl.detect.bvh import Bvh, build_bvh
from unsnarl.detect.nearest import PseudoNormals, nearest, pseudo_normals
from unsnarl.dynamics.pcg import Constraints
from unsnarl.jit import kernel
from unsnarl.mesh import TriMesh

CREEP = 1e-3  # [m/s] slower than that, friction holds like honey instead of braking at full strength
SHARP = 0.35  # [rad]
ROOM = 0.01  # share of the gap that may be missing before it is made sure that there is room to make up for it
RISE = 0.5  # share of the gap by which a particle is moved out of a body in one step, at most


@dataclass(eq=False)
class Solid:
    """A body as contact sees it.

    mesh, friction : what it is
    x0, x1         : (n, 3) where it is at the beginning and the end of the step
    """

    mesh: TriMesh
    friction: float
    x0: np.ndarray
    x1: np.ndarray
    bvh: Bvh
    normals: PseudoNormals

    def move(self, x0: np.ndarray, x1: np.ndarray) -> None:
        """The next step goes from x0 to x1."""
        if x0 is not self.x0 and not np.array_equal(x0, self.x0):
            self.bvh.refit(x0, self.mesh.faces)
            self.normals = pseudo_normals(self.mesh, x0)
        self.x0, self.x1 = x0, x1


def solid(mesh: TriMesh, friction: float) -> Solid:
    return Solid(mesh, friction, mesh.x, mesh.x, build_bvh(mesh.x, mesh.faces), pseudo_normals(mesh, mesh.x))


def sharp_vertices(mesh: TriMesh) -> np.ndarray:
    """(n,) bool, the vertices of a body at a boundary or at an edge that turns by more than SHARP.

    Cloth held by its vertices alone would sag through these.
    """
    sharp = np.zeros(len(mesh.x), dtype=bool)
    sharp[mesh.boundary_vertices] = True
    normal = pseudo_normals(mesh, mesh.x).face
    inside = mesh.topology.edge_face_count == 2
    f, g = mesh.edge_faces[inside].T
    turns = (normal[f] * normal[g]).sum(axis=1) < np.cos(SHARP)
    sharp[mesh.edges[inside][turns]] = True
    return sharp


@dataclass(frozen=True, eq=False)
class Touch:
    """Contacts of one solid with n particles: where `on`.

    on     : (n,) bool
    normal : (n, 3) away from the body
    body   : (n, 3) velocity of the body there [m/s]
    speed  : (n,) wanted along the normal [m/s]
    ahead  : (n,) bool, not at the gap yet, but expected to get there in this step
    """

    on: np.ndarray
    normal: np.ndarray
    body: np.ndarray
    speed: np.ndarray
    ahead: np.ndarray


def touch(
    solid: Solid, x, v, h: float, gap: float, released: np.ndarray, spared: np.ndarray, before: Touch | None = None
) -> Touch:
    """The particles x (n, 3) that would end a step of h [s] nearer than `gap` [m] to a solid.

    v        : (n, 3) [m/s] at which they are expected to move in the step
    released : (n,) bool, particles that were let go in the step before: they are caught only when they come back
    spared   : (n,) bool, particles that are left alone
    before   : touches found in this step already, which stay
    """
    move = solid.x1 - solid.x0
    fastest = float(np.sqrt((move**2).sum(axis=1).max()))
    reach = gap * (1.0 + 1e-6) + h * np.sqrt((v**2).sum(axis=1)) + fastest  # a bit more: what rests at the gap counts
    face, weight, normal, distance = nearest(solid.mesh, solid.x0, solid.bvh, solid.normals, x, reach)
    rise = _rise(solid, x, face, normal, distance, gap)
    on, body, speed = _wanted(face, weight, normal, distance, solid.mesh.faces, move, v, h, gap, rise, released)
    if before is not None:
        stay = before.on
        on[stay], normal[stay], body[stay], speed[stay] = (
            True,
            before.normal[stay],
            before.body[stay],
            before.speed[stay],
        )
    on[spared] = False
    return Touch(on, normal, body, speed, distance > 1.05 * gap)


def _rise(solid: Solid, x, face, normal, distance, gap: float) -> np.ndarray:
    """(n,) [m] by how much particles are moved along the normal in this step, towards the gap.

    In a crease that is narrower than two gaps, such as an armpit, the way out leads towards the other wall: what would
    not get farther from the body by it stays where it is.
    """
    rise = np.minimum(gap - distance, RISE * gap)
    inside = np.flatnonzero((face >= 0) & (distance < (1.0 - ROOM) * gap))
    if len(inside):
        there = x[inside] + rise[inside, None] * normal[inside]
        reach = np.full(len(inside), gap)
        _, _, _, later = nearest(solid.mesh, solid.x0, solid.bvh, solid.normals, there, reach)
        later = np.where(np.isfinite(later), later, gap)
        rise[inside[later - distance[inside] < 0.5 * rise[inside]]] = 0.0
    return rise


@kernel
def _wanted(face, weight, normal, distance, faces, move, v, h, gap, rise, released):
    n = v.shape[0]
    on = np.zeros(n, np.bool_)
    body = np.zeros((n, 3))
    speed = np.zeros(n)
    for i in range(n):
        if face[i] < 0:
            continue
        along = 0.0  # how much nearer the particle comes
        for c in range(3):
            for k in range(3):
                body[i, c] += weight[i, k] * move[faces[face[i], k], c] / h
            along += normal[i, c] * (v[i, c] - body[i, c])
        margin = -0.1 * gap if released[i] else 1e-9 * gap
        if distance[i] + h * along < gap + margin:
            on[i] = True
            speed[i] = rise[i] / h
            for c in range(3):
                speed[i] += normal[i, c] * body[i, c]
    return on, body, speed


def constrain(touches: Sequence[Touch], frictions, v, h: float, mass, push: np.ndarray, pinned, pin_velocity, gravity):
    """Constraints from touches and pins; friction as drag; and what has to be known after the step.

    push : (n,) [N] with which each particle pressed on a body in the step before; 0 for a new contact
    pinned, pin_velocity : (p,) int32 particles and (p, 3) how they move in this step [m/s]
    gravity : (3,) [m/s^2]
    Returns Constraints, the force of friction at v (n, 3) [N] and how it falls with velocity, drag (n, 3, 3) [N s/m],
    after : (n, 3) velocity along the normals that is to be taken out of the particles after the step (the way to the
    gap is no lasting motion), and normal (n, 3) of the contact that counts for the push.
    """
    n = len(v)
    kept, free = np.zeros(n, np.uint8), np.zeros((n, 3, 3))
    free[:, [0, 1, 2], [0, 1, 2]] = 1.0
    change, after, normal = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    force, drag = np.zeros((n, 3)), np.zeros((n, 3, 3))
    for t, friction in zip(touches, frictions):
        _constrain(
            t.on, t.normal, t.body, t.speed, friction, v, h, mass, push, gravity, kept, free, change, after, normal,
            force, drag,
        )  # fmt: skip
    if len(pinned):
        kept[pinned], free[pinned], after[pinned] = 3, 0.0, 0.0
        change[pinned] = pin_velocity - v[pinned]
        force[pinned], drag[pinned], normal[pinned] = 0.0, 0.0, 0.0
    return Constraints(kept, free, change), force, drag, after, normal


@kernel
def _constrain(
    on, normals, body, speed, friction, v, h, mass, push, gravity, kept, free, change, after, normal, force, drag
):
    q, slide = np.empty(3), np.empty(3)
    for i in range(v.shape[0]):
        if not on[i] or kept[i] == 3:
            continue
        n = normals[i]
        q[:] = free[i] @ n
        size = np.sqrt(q @ q)
        if size < 0.1:  # this direction is kept already
            continue
        q /= size
        along = 0.0
        lasting = 0.0
        for c in range(3):
            along += n[c] * (v[i, c] + change[i, c])
            lasting += n[c] * body[i, c]
        more = (speed[i] - along) / size
        passing = (speed[i] - lasting - after[i] @ n) / size
        for c in range(3):
            change[i, c] += more * q[c]
            after[i, c] += passing * q[c]
        for r in range(3):
            for c in range(3):
                free[i, r, c] -= q[r] * q[c]
        kept[i] += 1
        normal[i] += n
        press = push[i]
        if press <= 0.0:  # a new contact: what stops it, and its weight
            press = mass[i] * (max(0.0, lasting - (v[i] @ n)) / h + max(0.0, -(gravity @ n)))
        for c in range(3):
            slide[c] = v[i, c] - body[i, c] - (v[i] @ n - lasting) * n[c]
        k = friction * press / max(np.sqrt(slide @ slide), CREEP)
        for r in range(3):
            force[i, r] -= k * slide[r]
            for c in range(3):
                drag[i, r, c] += k * ((1.0 if r == c else 0.0) - n[r] * n[c])
