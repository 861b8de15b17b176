"""What holds of every energy: derivatives, positive semi-definiteness, and indifference to rigid motion."""

import numpy as np
import pytest

from tests.energies.terms import TERMS, central, projected, rotation

STEPS = 0.1 * 0.5 ** np.arange(0, 20)
ALL = pytest.mark.parametrize("term", TERMS, ids=str)
EXACT = pytest.mark.parametrize("term", [t for t in TERMS if t.exact], ids=str)


def states(term, count, seed=0):
    """Random states, none near where the energy has a kink: a column of length 0, a face without height."""
    rng = np.random.default_rng(seed)
    while count:
        f = rng.standard_normal(term.size)
        if np.linalg.norm(f.reshape(-1, 3), axis=1).min() < 0.5:
            continue
        if term.size == 12:
            x = f.reshape(4, 3)
            normals = [np.cross(x[1] - x[0], x[i] - x[0]) for i in (2, 3)]
            if min(np.linalg.norm(n) for n in normals) < 1.0 or abs(term.gradient(f)).max() < 0.1:
                continue
            if np.dot(*normals) / np.prod([np.linalg.norm(n) for n in normals]) > 0.9:  # the wrong side of +-pi is near
                continue
        count -= 1
        yield f


def assert_second_order(errors, scale):
    """Errors at `STEPS` fall by four for each half of the step, until rounding, and get small."""
    assert errors.min() < 1e-9 * scale
    falling = errors > 1e-6 * scale
    falling[np.argmin(falling) :] = False  # only before rounding sets in
    rates = np.log2(errors[:-1] / errors[1:])[falling[:-1] & falling[1:]]
    assert len(rates) >= 3
    assert rates[-3:] == pytest.approx(2.0, abs=0.15)


@ALL
def test_gradient_is_the_derivative_of_the_energy(term):
    for f in states(term, 20):
        gradient = term.gradient(f)
        errors = np.array([abs(central(term.energy, f, h) - gradient).max() for h in STEPS])
        assert_second_order(errors, 1.0 + abs(gradient).max())


@EXACT
def test_hessian_is_the_derivative_of_the_gradient_clamped(term):
    for f in states(term, 20):
        hessian = term.hessian_psd(f)
        errors = np.array([abs(projected(central(term.gradient, f, h)) - hessian).max() for h in STEPS])
        assert_second_order(errors, 1.0 + abs(hessian).max())


@ALL
def test_hessian_is_symmetric_and_positive_semi_definite(term):
    for f in states(term, 500):
        hessian = term.hessian_psd(f)
        scale = abs(hessian).max()
        assert abs(hessian - hessian.T).max() <= 1e-15 * scale
        assert np.linalg.eigvalsh(hessian).min() >= -1e-14 * scale


@ALL
def test_rotation_changes_no_energy_and_turns_the_rest(term):
    rng = np.random.default_rng(1)
    for f in states(term, 50):
        q = rotation(rng)
        every = np.kron(np.eye(term.size // 3), q)
        assert term.energy(every @ f) == pytest.approx(term.energy(f), rel=1e-12, abs=1e-14)
        scale = 1.0 + abs(term.hessian_psd(f)).max()
        assert term.gradient(every @ f) == pytest.approx(every @ term.gradient(f), abs=1e-12 * scale)
        turned = every @ term.hessian_psd(f) @ every.T
        assert abs(term.hessian_psd(every @ f) - turned).max() < 1e-12 * scale


@ALL
def test_no_torque(term):
    """Turning f changes nothing: the sum of f x gradient is 0, of columns as of points."""
    for f in states(term, 100):
        torque = np.cross(f.reshape(-1, 3), term.gradient(f).reshape(-1, 3)).sum(axis=0)
        assert abs(torque).max() < 1e-13 * (1.0 + abs(term.gradient(f)).max())


@ALL
def test_results_are_added_to_what_is_there(term):
    for f in states(term, 3):
        assert term.gradient(f, 5.0) - 5.0 == pytest.approx(term.gradient(f), abs=1e-14)
        assert term.hessian_psd(f, 5.0) - 5.0 == pytest.approx(term.hessian_psd(f), abs=1e-13)
