"""One step of backward Euler: forces where the step ends, linearised where it begins. [Baraff and Witkin 1998]

    (M (1 + h air) + h Drag + W + couplings) dv = h f - h air M v - W v + pull,   x1 = x + h (v + dv)

with W = sum_e (h^2 + h damping_e) K_e, K_e the positive semi-definite Hessian: stable for any step size. With
`newton` above 1 the forces f are linearised again where the last iteration, dv_k, ended: -W v becomes
W dv_k - Damping (v + dv_k).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.dynamics.coarse import Coarse
from unsnarl.dynamics.momentum import keep_momentum
from unsnarl.dynamics.pcg import Constraints, Couplings, multiply, solve
from unsnarl.dynamics.system import Scratch, System, elastic


@dataclass(frozen=True)
class Options:
    """How a step is solved.

    tolerance : of the linear solve
    most      : iterations of it, at most
    newton    : linearisations per step
    """

    tolerance: float = 5e-3
    most: int = 500
    newton: int = 1


@dataclass(frozen=True, eq=False)
class Outside:
    """Forces from outside the cloth.

    force : (n, 3) [N] at the beginning of the step: gravity, wind, friction
    drag  : (n, 3, 3) [N s/m], by how much it falls with velocity
    air   : how fast velocities fade [1/s]
    """

    force: np.ndarray
    drag: np.ndarray
    air: float = 0.0


@dataclass(frozen=True, eq=False)
class Linear:
    """The equations of a step, linearised where it begins.

    values   : (blocks, 3, 3) W
    elastic  : (n, 3) the elastic part of b
    diagonal : (n, 3, 3) and known (n, 3): masses and forces from outside
    """

    values: np.ndarray
    elastic: np.ndarray
    diagonal: np.ndarray
    known: np.ndarray


def linearise(
    system: System, x, v, h: float, outside: Outside, before: Linear | None = None, scratch: Scratch | None = None
) -> Linear:
    """The equations of a step of h [s] from x, v (n, 3).

    before  : of the same step, with other forces from outside: its elastic part is taken over
    scratch : where to work; what is returned holds until the next call with it
    """
    mass = system.mass[:, None]
    diagonal = h * outside.drag
    diagonal[:, [0, 1, 2], [0, 1, 2]] += mass * (1.0 + h * outside.air)
    known = h * (outside.force - outside.air * mass * v)
    if before is not None:
        return Linear(before.values, before.elastic, diagonal, known)
    force, values = elastic(system, x, h, scratch=scratch)
    return Linear(values, h * force - _product(system, values, v), diagonal, known)


def implicit_step(
    system: System,
    x,
    v,
    h: float,
    linear: Linear,
    couplings: Couplings,
    constraints: Constraints,
    guess: np.ndarray,
    options: Options,
    coarse: Coarse | None = None,
    inverse: np.ndarray | None = None,
):
    """The velocity (n, 3) at the end of a step of h [s], the solver's iterations, and the constraint impulses (n, 3).

    linear : from `linearise`; the same one serves for other couplings and constraints
    coarse, inverse : a coarse level for the solver, and its `coarse_inverse`
    constraints.change is relative to v; guess : (n, 3) of the change of velocity, such as that of the step before.
    """
    iterations, dv = 0, guess
    for again in range(options.newton):
        values, b = linear.values, linear.known + linear.elastic
        if again:
            at = x + h * (v + dv)
            force, values = elastic(system, at, h)
            _, damping = elastic(system, at, h, stiffness=0.0)
            b = linear.known + h * force - _product(system, damping, v + dv) + _product(system, values, dv)
        dv, count, impulse = solve(
            system.pattern, linear.diagonal, values, couplings, constraints, b, dv, options.tolerance, options.most,
            coarse, inverse,
        )  # fmt: skip
        keep_momentum(system.mesh.vertex_component, couplings, constraints, linear.diagonal, dv, impulse)
        iterations += count
    return v + dv, iterations, impulse


def _product(system: System, values, p) -> np.ndarray:
    out = np.empty_like(p)
    multiply(system.pattern.start, system.pattern.column, values, p, out)
    return out
