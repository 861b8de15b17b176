"""The cloth as a mechanical system: masses, elements and their stiffness, worked out once from mesh and materials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import prange

from unsnarl.dynamics.assembly import Pattern, build_pattern, gather, shape_gradients
from unsnarl.energies import bend, shear, stretch
from unsnarl.energies.materials import Material
from unsnarl.jit import kernel, parallel
from unsnarl.mesh import TriMesh

CHUNK = 64  # elements


@dataclass(frozen=True, eq=False)
class System:
    """n particles, m triangles, k hinges (a hinge: an edge with two faces).

    mesh       : all cloths as one
    mass       : (n,) [kg]
    shape      : (m, 3, 2) F = sum_i x_i shape_i^T [1/m]
    area       : (m,) at rest [m^2]
    membrane   : (m, 4) stretch along warp and weft, shear [N/m], damping [s]
    hinges     : (k, 4) int32: the edge's two vertices, then the opposite ones
    fold       : (k, 3) stiffness [N m], angle at rest, damping [s]
    pattern    : of the stiffness matrix
    """

    mesh: TriMesh
    mass: np.ndarray
    shape: np.ndarray
    area: np.ndarray
    membrane: np.ndarray
    hinges: np.ndarray
    fold: np.ndarray
    pattern: Pattern


class Scratch:
    """Arrays to work in that are kept from call to call: making large ones anew costs more than filling them."""

    def __init__(self):
        self.arrays: dict[str, np.ndarray] = {}

    def array(self, name: str, *shape: int) -> np.ndarray:
        """The array of this name and shape, with whatever it holds."""
        if name not in self.arrays or self.arrays[name].shape != shape:
            self.arrays[name] = np.empty(shape)
        return self.arrays[name]


def build_system(mesh: TriMesh, materials: Sequence[Material], material_of_face: np.ndarray, flat_faces) -> System:
    """The system of a mesh whose face f is of materials[material_of_face[f]].

    flat_faces : (m,) bool, faces between which folds are flat at rest; elsewhere they are as in mesh.x
    """
    shape, area = shape_gradients(mesh.rest)
    table = np.array([[m.stretch_warp, m.stretch_weft, m.shear, m.damping, m.density, m.bend] for m in materials])
    of_face = table[material_of_face]
    mass = np.bincount(mesh.faces.ravel(), np.repeat(area * of_face[:, 4] / 3.0, 3), minlength=len(mesh.x))
    mass[mass == 0.0] = mass[mass > 0.0].mean()  # a vertex without faces only falls
    inside = np.flatnonzero(mesh.topology.edge_face_count == 2)
    ends, (f, g) = mesh.edges[inside], mesh.edge_faces[inside].T
    opposite = [mesh.faces[side].sum(axis=1) - ends.sum(axis=1) for side in (f, g)]
    hinges = np.column_stack([ends, *opposite]).astype(np.int32)
    length = rest_lengths(mesh)[inside]
    rigidity = 0.5 * (of_face[f, 5] + of_face[g, 5])
    fold = np.empty((len(hinges), 3))
    fold[:, 0] = bend.hinge_stiffness(rigidity, length, area[f], area[g])
    fold[:, 1] = np.where(flat_faces[f] & flat_faces[g], 0.0, fold_angles(mesh.x, hinges))
    fold[:, 2] = 0.5 * (of_face[f, 3] + of_face[g, 3])
    pattern = build_pattern(len(mesh.x), mesh.faces, hinges)
    return System(mesh, mass, shape, area, np.ascontiguousarray(of_face[:, :4]), hinges, fold, pattern)


def elastic(system: System, x: np.ndarray, h: float, stiffness: float = 1.0, scratch: Scratch | None = None):
    """Elastic forces (n, 3) [N] at x, and the matrix W (blocks, 3, 3) = sum_e (h^2 stiffness + h damping_e) K_e.

    stiffness : 1, or 0 for the damping's part alone
    scratch   : where to work; the matrix is then overwritten by the next call with it
    """
    scratch = scratch or Scratch()
    m, k = len(system.area), len(system.hinges)
    gradient, hessian = scratch.array("gradient", m, 6), scratch.array("hessian", m, 6, 6)
    _triangles(x, system.mesh.faces, system.shape, system.area, system.membrane, h, stiffness, gradient, hessian)
    angle, moment, weight = scratch.array("angle", k, 4, 3), scratch.array("moment", k), scratch.array("weight", k)
    _folds(x, system.hinges, system.fold, h, stiffness, angle, moment, weight)
    values = scratch.array("values", len(system.pattern.column), 3, 3)
    force = np.empty((len(x), 3))
    gather(system.pattern, (system.shape, gradient, hessian), (angle, moment, weight), values, force)
    return force, values


def elastic_energy(system: System, x: np.ndarray) -> float:
    """[J]"""
    return _energy(x, system.mesh.faces, system.shape, system.area, system.membrane, system.hinges, system.fold)


def rest_lengths(mesh: TriMesh) -> np.ndarray:
    """(e,) lengths of the edges at rest [m]; the mean where two faces say differently."""
    a, b = mesh.rest[:, :, 0], mesh.rest[:, :, 1]
    sides = np.linalg.norm(np.stack([a, b - a, b], axis=1), axis=2)  # edge k of a face joins its corners k and k + 1
    edge = mesh.face_edges.ravel()
    return np.bincount(edge, sides.ravel()) / np.bincount(edge)


@kernel
def fold_angles(x, hinges):
    out = np.empty(len(hinges))
    for k in range(len(hinges)):
        out[k] = bend.angle(x, hinges[k, 0], hinges[k, 1], hinges[k, 2], hinges[k, 3])
    return out


@kernel
def _deformation(x, faces, shape, e, f):
    """The columns of F of triangle e, into f (6,)."""
    for p in range(2):
        for c in range(3):
            f[3 * p + c] = (
                shape[e, 0, p] * x[faces[e, 0], c]
                + shape[e, 1, p] * x[faces[e, 1], c]
                + shape[e, 2, p] * x[faces[e, 2], c]
            )


@parallel
def _triangles(x, faces, shape, area, membrane, h, stiffness, gradient, hessian):
    m = faces.shape[0]
    for chunk in prange((m + CHUNK - 1) // CHUNK):
        f = np.empty(6)
        for e in range(chunk * CHUNK, min(m, (chunk + 1) * CHUNK)):
            _deformation(x, faces, shape, e, f)
            gradient[e] = 0.0
            hessian[e] = 0.0
            a = area[e]
            stretch.gradient(f, a * membrane[e, 0], a * membrane[e, 1], gradient[e])
            shear.gradient(f, a * membrane[e, 2], gradient[e])
            a *= h * (h * stiffness + membrane[e, 3])
            stretch.hessian_psd(f, a * membrane[e, 0], a * membrane[e, 1], hessian[e])
            shear.hessian_psd(f, a * membrane[e, 2], hessian[e])


@parallel
def _folds(x, hinges, fold, h, stiffness, angle, moment, weight):
    for e in prange(hinges.shape[0]):
        theta = bend.angle_gradient(x, hinges[e, 0], hinges[e, 1], hinges[e, 2], hinges[e, 3], angle[e])
        moment[e] = fold[e, 0] * bend.away(theta, fold[e, 1])
        weight[e] = h * (h * stiffness + fold[e, 2]) * fold[e, 0]


@kernel
def _energy(x, faces, shape, area, membrane, hinges, fold):
    f = np.empty(6)
    total = 0.0
    for e in range(faces.shape[0]):
        _deformation(x, faces, shape, e, f)
        total += area[e] * (stretch.energy(f, membrane[e, 0], membrane[e, 1]) + shear.energy(f, membrane[e, 2]))
    for e in range(hinges.shape[0]):
        theta = bend.angle(x, hinges[e, 0], hinges[e, 1], hinges[e, 2], hinges[e, 3])
        total += 0.5 * fold[e, 0] * bend.away(theta, fold[e, 1]) ** 2
    return total
