"""What nothing holds keeps its momentum, however roughly the step is solved.

A solver that stops early leaves forces that are not there, and these push free cloth about. Moving a piece as a whole
stretches nothing: of the matrix, only the diagonal (masses, drag) sees it. So the sum of the forces left over on what
hangs together and is otherwise free says at once by how much it has to be moved to make that sum zero. In the norm of
the matrix this is always a step towards the solution (a Galerkin correction).
"""

from __future__ import annotations

import numpy as np

from unsnarl.dynamics.pcg import Constraints, Couplings, invert
from unsnarl.jit import kernel


def keep_momentum(piece: np.ndarray, couplings: Couplings, constraints: Constraints, diagonal, dv, residual) -> None:
    """Change dv (n, 3) so that the residuals of every free group of pieces sum to zero; residual (n, 3) goes along.

    piece    : (n,) int32, the piece of cloth that each particle is of: elastic forces act within pieces only
    diagonal : (n, 3, 3) masses and drag; residual : A dv - b [N s]

    Pieces that are coupled are a group; it is free if none of its particles is constrained, or coupled to a body.
    """
    _keep(piece, couplings.vertex, couplings.weight, constraints.kept, diagonal, dv, residual)


@kernel
def _group(parent, p):
    while parent[p] != p:
        p = parent[p]
    return p


@kernel
def _keep(piece, vertex, weight, kept, diagonal, dv, residual):
    pieces = 0
    for i in range(piece.shape[0]):
        pieces = max(pieces, piece[i] + 1)
    held = np.zeros(pieces, np.bool_)
    parent = np.arange(pieces)
    for i in range(piece.shape[0]):
        held[piece[i]] |= kept[i] > 0
    for c in range(vertex.shape[0]):
        first = -1
        balance = 0.0
        for k in range(vertex.shape[1]):
            if weight[c, k] != 0.0:
                group = _group(parent, piece[vertex[c, k]])
                if first >= 0:
                    parent[max(first, group)] = min(first, group)
                    group = min(first, group)
                first = group
                balance += weight[c, k]
        if first >= 0 and abs(balance) > 1e-9:  # its other end is not a particle
            held[first] = True
    for p in range(pieces):
        held[_group(parent, p)] |= held[p]
    force, mass = np.zeros((pieces, 3)), np.zeros((pieces, 3, 3))
    for i in range(piece.shape[0]):
        group = _group(parent, piece[i])
        if not held[group]:
            for r in range(3):
                force[group, r] += residual[i, r]
                for c in range(3):
                    mass[group, r, c] += diagonal[i, r, c]
    change, inverse = np.zeros((pieces, 3)), np.empty((3, 3))
    for p in range(pieces):
        if parent[p] == p and not held[p]:
            invert(mass[p], inverse)
            for r in range(3):
                for c in range(3):
                    change[p, r] -= inverse[r, c] * force[p, c]
    for i in range(piece.shape[0]):
        group = _group(parent, piece[i])
        if not held[group]:
            for r in range(3):
                dv[i, r] += change[group, r]
                for c in range(3):
                    residual[i, r] += diagonal[i, r, c] * change[group, c]
