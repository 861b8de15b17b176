"""The linear solve with prescribed directions: against numpy's, on small systems made at random."""

from functools import cached_property

import numba
import numpy as np
import pytest

from tests.dynamics.cloths import dense, dense_couplings
from tests.oracles import solve_with_kept
from unsnarl.dynamics.assembly import build_pattern
from unsnarl.dynamics.pcg import couple, multiply, no_constraints, no_couplings, solve
from unsnarl.mesh.primitives import sheet

SEEDS = range(5)


class Problem:
    """A random system over the vertices of a small sheet.

    kept : how many directions of each particle may be prescribed; stiffness : of W, over that of the diagonal
    """

    def __init__(self, seed, *, kept=(0, 1, 2, 3), couplings=8, size=4, stiffness=10.0):
        rng = np.random.default_rng(seed)
        faces = sheet((1.0, 1.0), (size, size)).faces
        n = self.n = faces.max() + 1
        self.pattern = build_pattern(n, faces)
        w = np.zeros((n, 3, n, 3))
        for face in faces:
            half = rng.standard_normal((4, 9))
            block = (stiffness * half.T @ half).reshape(3, 3, 3, 3)
            for a, i in enumerate(face):
                for b, j in enumerate(face):
                    w[i, :, j] += block[a, :, b]
        row = np.repeat(np.arange(n), np.diff(self.pattern.start))
        self.values = np.ascontiguousarray(w.transpose(0, 2, 3, 1)[row, self.pattern.column])
        half = rng.standard_normal((n, 3, 3))
        self.diagonal = rng.uniform(0.5, 2.0, (n, 1, 1)) * np.eye(3) + half @ half.swapaxes(1, 2)  # mass and drag
        self.couplings = no_couplings(n)
        if couplings:
            vertex = np.array([rng.choice(n, 4, replace=False) for _ in range(couplings)], np.int32)
            weight = rng.standard_normal((couplings, 4))
            vertex[0, 2:], weight[0, 2:] = vertex[0, 1], 0.0  # a pair
            half = rng.standard_normal((couplings, 3, 3))
            block, pull = stiffness * half @ half.swapaxes(1, 2), rng.standard_normal((couplings, 3))
            self.couplings = couple(n, vertex, weight, block, pull)
        self.b, self.guess = rng.standard_normal((2, n, 3))
        self.constraints, self.directions, self.wanted = no_constraints(n), np.zeros((0, 3 * n)), np.zeros(0)
        self.free_axes = []
        for i in range(n):
            count = rng.choice(kept)
            axes = np.linalg.qr(rng.standard_normal((3, 3)))[0] if 0 < count < 3 else np.eye(3)
            change = rng.standard_normal(count)
            self.free_axes.append(axes[count:])
            self.constraints.kept[i] = count
            self.constraints.free[i] = axes[count:].T @ axes[count:]
            self.constraints.change[i] = axes[:count].T @ change
            rows = np.zeros((count, 3 * n))
            rows[:, 3 * i : 3 * i + 3] = axes[:count]
            self.directions = np.concatenate([self.directions, rows])
            self.wanted = np.concatenate([self.wanted, change])
        together, pulls = dense_couplings(self.couplings, n)
        self.matrix = dense(self.pattern, self.values) + together
        for i in range(n):
            self.matrix[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] += self.diagonal[i]
        self.right = self.b.ravel() + pulls

    def solve(self, *, guess=None, tolerance=1e-12, most=1000):
        guess = np.zeros((self.n, 3)) if guess is None else guess
        return solve(
            self.pattern, self.diagonal, self.values, self.couplings, self.constraints, self.b, guess, tolerance, most
        )

    @cached_property
    def exact(self):
        return solve_with_kept(self.matrix, self.right, self.directions, self.wanted).reshape(-1, 3)

    def residual(self, dv):
        """What is left in the free directions, measured by the preconditioner: the inverse of the diagonal blocks."""
        left = (self.right - self.matrix @ dv.ravel()).reshape(-1, 3)
        total = 0.0
        for i, free in enumerate(self.free_axes):
            block = free @ self.matrix[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] @ free.T
            total += free @ left[i] @ np.linalg.solve(block, free @ left[i])
        return np.sqrt(total)

    def distance(self, dv):
        """From the solution, in the norm of the matrix."""
        d = (dv - self.exact).ravel()
        return np.sqrt(d @ self.matrix @ d)


@pytest.mark.parametrize("kept", [(0,), (1,), (2,), (3,), (0, 1, 2, 3)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_solves_like_numpy(seed, kept):
    problem = Problem(seed, kept=kept)
    dv, iterations, _ = problem.solve()
    assert dv == pytest.approx(problem.exact, rel=1e-9, abs=1e-9 * abs(problem.exact).max())
    assert iterations > 0 or kept == (3,)


def test_without_couplings_and_constraints_too():
    problem = Problem(0, kept=(0,), couplings=0)
    expected = np.linalg.solve(problem.matrix, problem.b.ravel()).reshape(-1, 3)
    assert problem.solve()[0] == pytest.approx(expected, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_prescribed_components_come_out_exactly(seed):
    problem = Problem(seed)
    dv = problem.solve(guess=problem.guess, tolerance=1e-2)[0]
    kept, change = problem.constraints.kept, problem.constraints.change
    assert (kept == 3).any() and np.array_equal(dv[kept == 3], change[kept == 3])  # bit for bit
    assert problem.directions @ dv.ravel() == pytest.approx(problem.wanted, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_impulses_are_in_kept_directions_only(seed):
    problem = Problem(seed)
    dv, _, impulse = problem.solve()
    assert impulse.ravel() == pytest.approx(problem.matrix @ dv.ravel() - problem.right, abs=1e-10)
    free = np.einsum("nij,nj->ni", problem.constraints.free, impulse)
    assert abs(free).max() < 1e-9 * abs(impulse).max()
    kept = problem.constraints.kept
    assert np.linalg.norm(impulse[kept > 0], axis=1).min() > 1e-6  # where something is prescribed, it takes a push


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-6, 1e-10])
def test_stops_when_the_residual_is_the_tolerance_times_that_at_the_start(seed, tolerance):
    problem = Problem(seed)
    start = problem.residual(problem.constraints.change)
    for guess in (np.zeros((problem.n, 3)), problem.guess):
        dv, iterations, _ = problem.solve(guess=guess, tolerance=tolerance)
        assert problem.residual(dv) <= tolerance * start * (1 + 1e-6) + 1e-13 * start
        before = problem.solve(guess=guess, tolerance=tolerance, most=iterations - 1)[0]
        assert iterations == 0 or problem.residual(before) > tolerance * start * (1 - 1e-6)  # not one too many


def test_never_more_iterations_than_it_may():
    problem = Problem(0, kept=(0,), stiffness=1e4)
    assert problem.solve(most=7)[1] == 7


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bad_guess_does_no_harm(seed):
    problem = Problem(seed)
    none = problem.solve(most=0)[0]
    assert np.array_equal(none, problem.constraints.change)
    fewest = problem.solve(tolerance=1e-2)[1]
    for guess in (problem.guess, 1e6 * problem.guess, -1e-6 * problem.exact, -problem.exact):
        assert problem.distance(problem.solve(guess=guess, most=0)[0]) <= problem.distance(none) * (1 + 1e-12)
        dv, iterations, _ = problem.solve(guess=guess, tolerance=1e-2)
        assert problem.residual(dv) < 1.01e-2 * problem.residual(none)
        assert iterations <= fewest + 10


@pytest.mark.parametrize("scale", [1.0, -3.0, 1e-6])
def test_a_multiple_of_the_solution_is_a_perfect_guess(scale):
    problem = Problem(1)
    change = problem.constraints.change
    dv, iterations, _ = problem.solve(guess=scale * (problem.exact - change), tolerance=1e-9)
    assert iterations == 0
    assert problem.distance(dv) < 1e-9 * problem.distance(change)


def test_what_it_is_given_stays_as_it_is():
    problem = Problem(5)
    before = problem.values.copy(), problem.diagonal.copy(), problem.b.copy(), problem.guess.copy()
    problem.solve(guess=problem.guess, tolerance=1e-3)
    assert all(map(np.array_equal, before, (problem.values, problem.diagonal, problem.b, problem.guess)))


def test_nothing_to_do():
    problem = Problem(0, couplings=0, kept=(0,))
    problem.b[:] = 0.0
    dv, iterations, impulse = problem.solve()
    assert iterations == 0 and not dv.any() and not impulse.any()


def test_stiff_systems_are_solved_as_well_as_they_can_be():
    problem = Problem(2, stiffness=1e8, size=6)
    dv, _, _ = problem.solve(tolerance=1e-10, most=100_000)
    assert problem.residual(dv) <= 1e-9 * problem.residual(problem.constraints.change)


def test_multiply():
    problem = Problem(4)
    out = np.empty((problem.n, 3))
    multiply(problem.pattern.start, problem.pattern.column, problem.values, problem.guess, out)
    expected = dense(problem.pattern, problem.values) @ problem.guess.ravel()
    assert out.ravel() == pytest.approx(expected, rel=1e-12, abs=1e-12 * abs(expected).max())


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one core")
def test_the_same_bits_on_any_number_of_threads():
    problem = Problem(3, size=20, couplings=50)  # several chunks
    before, found = numba.get_num_threads(), []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            found.append(problem.solve(guess=problem.guess, tolerance=1e-4))
    finally:
        numba.set_num_threads(before)
    assert all(np.array_equal(a, b) for a, b in zip(*found))
