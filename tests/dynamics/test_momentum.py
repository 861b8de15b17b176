"""Free pieces keep their momentum, whatever the solver left over; what is held is left alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dynamics.cloths import dense_couplings
from unsnarl.dynamics.momentum import keep_momentum
from unsnarl.dynamics.pcg import Constraints, couple, no_constraints
from unsnarl.mesh.primitives import sheet
from unsnarl.simulation.scene import Body, Cloth, Scene
from unsnarl.simulation.simulate import simulate


def problem(seed):
    """Particles in pieces, some held, some coupled: (piece, couplings, constraints, diagonal, matrix, b, dv)."""
    rng = np.random.default_rng(seed)
    pieces, n = rng.integers(1, 6), 24
    piece = np.sort(np.concatenate([np.arange(pieces), rng.integers(0, pieces, n - pieces)])).astype(np.int32)
    a = rng.normal(0, 0.2, (n, 3, 3))
    diagonal = a @ a.swapaxes(1, 2) + rng.uniform(0.5, 2.0, n)[:, None, None] * np.eye(3)
    kept = np.where(rng.random(n) < 0.04, rng.integers(1, 4, n), 0).astype(np.uint8)
    constraints = Constraints(kept, no_constraints(n).free, np.zeros((n, 3)))
    count = rng.integers(0, 4)
    vertex = np.array([rng.choice(n, 4, replace=False) for _ in range(count)], np.int32).reshape(-1, 4)
    weight = np.tile([1.0, -0.5, -0.25, -0.25], (count, 1))
    to_body = rng.random(count) < 0.2
    vertex[to_body, 1:], weight[to_body, 1:] = 0, 0.0
    block = np.tile(np.eye(3), (count, 1, 1))
    couplings = couple(n, vertex, weight, block, np.zeros((count, 3)))
    matrix, _ = dense_couplings(couplings, n)
    for i in range(n):
        matrix[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] += diagonal[i]
        for j in range(i):  # springs within pieces: moving a piece as a whole stretches none
            if piece[i] == piece[j] and rng.random() < 0.3:
                k = rng.uniform(1.0, 50.0) * np.eye(3)
                for r, c, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                    matrix[3 * r : 3 * r + 3, 3 * c : 3 * c + 3] += sign * k
    return piece, couplings, constraints, diagonal, matrix, rng.normal(0, 1, (n, 3)), rng.normal(0, 1, (n, 3))


def free_groups(piece, couplings, kept):
    """The obvious way: sets of pieces that are coupled, of which none is held."""
    groups = [{p} for p in range(piece.max() + 1)]
    held = set(piece[kept > 0])
    for vertex, weight in zip(couplings.vertex, couplings.weight):
        some = set(piece[vertex[weight != 0]])
        if abs(weight.sum()) > 1e-9:
            held |= some
        together = set.union(*(g for g in groups if g & some))
        groups = [g for g in groups if not g & some] + [together]
    return [g for g in groups if not g & held], held


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_forces_left_over_on_free_groups_sum_to_zero(seed):
    piece, couplings, constraints, diagonal, matrix, b, dv = problem(seed)
    n, before = len(b), dv.copy()
    residual = (matrix @ dv.ravel()).reshape(n, 3) - b
    keep_momentum(piece, couplings, constraints, diagonal, dv, residual)
    assert residual == pytest.approx((matrix @ dv.ravel()).reshape(n, 3) - b, abs=1e-9)
    free, _ = free_groups(piece, couplings, constraints.kept)
    moved = np.zeros(n, bool)
    for group in free:
        mine = np.isin(piece, list(group))
        moved |= mine
        assert residual[mine].sum(axis=0) == pytest.approx(0, abs=1e-10)
        assert (dv - before)[mine] == pytest.approx(np.tile((dv - before)[mine][0], (mine.sum(), 1)))
    assert np.array_equal(dv[~moved], before[~moved])
    solution = np.linalg.solve(matrix, b.ravel())

    def error(x):
        return (x.ravel() - solution) @ matrix @ (x.ravel() - solution)

    assert error(dv) <= error(before) * (1 + 1e-12)


def test_in_a_simulation_with_contact():
    """One sheet is shot at another; a third one rests on a floor, and takes nothing of theirs."""
    flat = sheet((0.3, 0.3), (12, 12))
    shot = Cloth(flat.moved(flat.x @ np.diag([0.5, 0.5, 1.0]) + [0.02, 0.01, 0.05]), velocity=(0.2, 0.1, -3.0))
    target, other = Cloth(flat, "silk"), Cloth(flat.moved(flat.x + [3.0, 0.0, 0.0]), velocity=(0.0, 0.0, -1.0))
    floor = sheet((1.0, 1.0), (2, 2))
    scene = Scene(
        [shot, target, other], [Body(floor.moved(floor.x + [3.0, 0.0, -0.05]))], up="z", gravity=0.0, air=0.0, frames=12
    )
    touching, collided = 0, False
    for frame in simulate(scene):
        momentum = [_momentum(cloth, state) for cloth, state in zip(scene.cloths, frame.states)]
        if frame.number == 0:
            before = momentum
        assert momentum[0] + momentum[1] == pytest.approx(before[0] + before[1], abs=1e-10 * abs(before[0]).max())
        touching += frame.stats.get("touching", 0)
        collided |= abs(momentum[1]).max() > 0.1 * abs(before[0]).max()
    assert collided and touching
    assert abs(momentum[2] - before[2]).max() > 0.1 * abs(before[2]).max()  # the floor held the third


def _momentum(cloth, state) -> np.ndarray:
    area = 0.5 * np.abs(np.linalg.det(cloth.mesh.rest))
    mass = np.bincount(cloth.mesh.faces.ravel(), np.repeat(cloth.material.density * area / 3, 3))
    return mass @ state.v
