"""Stretch, shear and spring: values by hand, and the closed clamp against a numerical one."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.energies.terms import projected
from unsnarl.energies import shear, spring, stretch

MANY = settings(max_examples=2000, deadline=None)
SOME = settings(max_examples=500, deadline=None)
ACROSS = st.floats(-2.0, 2.0)
SIZE = st.sampled_from([1.0, 1.0, 1.0, 0.3, 1e-3, 1e-6, 30.0])
TINY = 1e-150  # below it squares underflow
STIFF = st.floats(0.0, 1e4)
VECTOR = st.builds(lambda x, y, z, size: size * np.array([x, y, z]), ACROSS, ACROSS, ACROSS, SIZE)


@st.composite
def columns(draw):
    """Two columns of F: independent, nearly parallel or opposite, or exactly so."""
    a, b = draw(VECTOR), draw(VECTOR)
    near = draw(st.sampled_from([None, None, 0.0, 1e-12, 1e-8, 1e-3]))
    if near is not None:
        b = draw(st.sampled_from([1.0, -1.0, 0.5, -2.0])) * a + near * b
    return np.concatenate([a, b])


def spring_hessian(f, k):
    """d2E/df2 as it is, not clamped: k ((1 - 1/l) Id + f f^T / l^3)."""
    length = np.linalg.norm(f)
    return k * ((1.0 - 1.0 / length) * np.eye(3) + np.outer(f, f) / length**3)


def shear_hessian(f, k):
    """d2E/df2 as it is, not clamped."""
    a, b = f[:3], f[3:]
    g = np.concatenate([b, a])
    return k * (np.outer(g, g) + a @ b * np.kron([[0, 1], [1, 0]], np.eye(3)))


def psd(module, size, f, *stiffness):
    out = np.zeros((size, size))
    module.hessian_psd(f, *stiffness, out)
    return out


def close(found, true, scale):
    assert np.isfinite(found).all()
    assert abs(found - true).max() <= 1e-13 * scale + TINY


@MANY
@given(VECTOR.filter(lambda f: np.linalg.norm(f) > 1e-8), STIFF)
@example(np.array([1.0, 0, 0]), 1.0)
def test_spring_clamped(f, k):
    true = spring_hessian(f, k)
    close(psd(spring, 3, f, k), projected(true), abs(true).max())


@SOME
@given(columns().filter(lambda f: min(np.linalg.norm(f[:3]), np.linalg.norm(f[3:])) > 1e-8), STIFF, STIFF)
def test_stretch_clamped(f, ku, kv):
    true = np.zeros((6, 6))
    true[:3, :3], true[3:, 3:] = spring_hessian(f[:3], ku), spring_hessian(f[3:], kv)
    close(psd(stretch, 6, f, ku, kv), projected(true), abs(true).max())


@MANY
@given(columns(), STIFF)
@example(np.array([1.0, 0, 0, 1, 0, 0]), 1.0)
@example(np.array([1.0, 0, 0, -1, 0, 0]), 1.0)
@example(np.array([1.0, 0, 0, 0, 1, 0]), 1.0)
@example(np.array([1.0, 0, 0, 0, 0, 0]), 1.0)
@example(np.array([1.0, 0, 0, -1, 2e-162, 0]), 1.0)
@example(np.zeros(6), 1.0)
def test_shear_clamped(f, k):
    true = shear_hessian(f, k)
    close(psd(shear, 6, f, k), projected(true), abs(true).max())


@SOME
@given(columns(), STIFF)
def test_eigenvalues_of_shear_are_those_of_its_docstring(f, k):
    a, b = f[:3], f[3:]
    dot, half = a @ b, 0.5 * (a @ a + b @ b)
    root = np.sqrt(half**2 + 3.0 * dot**2)
    named = k * np.array([dot, dot, -dot, -dot, half + root, half - root])
    true = np.linalg.eigvalsh(shear_hessian(f, k))
    assert true == pytest.approx(np.sort(named), abs=1e-13 * k * (half + root) + TINY)


def test_spring_by_hand():
    f, out = np.array([0.0, 3.0, 4.0]), np.ones(3)
    assert spring.energy(f, 2.0) == 16.0  # 2/2 (5 - 1)^2
    spring.gradient(f, 2.0, out)
    assert out == pytest.approx([1.0, 1.0 + 8.0 * 0.6, 1.0 + 8.0 * 0.8])  # added to what was there
    hessian = psd(spring, 3, f, 2.0)
    assert hessian @ f == pytest.approx(2.0 * f)
    assert hessian @ [1, 0, 0] == pytest.approx([1.6, 0, 0])  # 2 (1 - 1/5)


def test_compressed_spring_does_not_push_aside():
    assert psd(spring, 3, np.array([0.5, 0, 0]), 2.0) == pytest.approx(np.diag([2.0, 0, 0]))


def test_stretch_is_a_spring_for_each_thread():
    f = np.array([1.1, 0.2, 0.3, -0.4, 0.9, 0.1])
    assert stretch.energy(f, 3.0, 5.0) == spring.energy(f[:3], 3.0) + spring.energy(f[3:], 5.0)
    assert stretch.energy(np.array([1.01, 0, 0, 0, 1, 0]), 8000.0, 1.0) == pytest.approx(0.5 * 8000.0 * 0.01**2)


def test_shear_stiffness_is_force_per_radian():
    """Threads at an angle of pi/2 - gamma: E = k/2 gamma^2, so the shear force is k gamma."""
    gamma, k = 1e-3, 40.0
    f = np.array([1.0, 0, 0, np.sin(gamma), np.cos(gamma), 0])
    assert shear.energy(f, k) == pytest.approx(0.5 * k * gamma**2, rel=1e-6)
    assert shear.energy(np.array([1.0, 0, 0, 0, 2.0, 0]), k) == 0.0


@pytest.mark.parametrize("f", [np.zeros(6), np.full(6, 1e-200), np.array([0, 0, 0, 1.0, 0, 0])])
def test_collapsed_elements_are_finite(f):
    for module, stiffness in ((stretch, (2.0, 3.0)), (shear, (2.0,))):
        gradient, hessian = np.zeros(6), psd(module, 6, f, *stiffness)
        module.gradient(f, *stiffness, gradient)
        assert np.isfinite(module.energy(f, *stiffness))
        assert np.isfinite(gradient).all()
        assert np.isfinite(hessian).all()
        assert (gradient[:3] == 0).all()
        assert (hessian[:3, :3] == 0).all() or module is shear
