"""All energies, so that one test is a test of each; a new energy is one more line of `TERMS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unsnarl.energies import bend, shear, spring, stretch


@dataclass(frozen=True)
class Term:
    """An energy of `size` numbers: three for each column of F, or for each point.

    gradient, hessian_psd : functions of the state, and of what the kernel finds in `out`
    exact                 : `hessian_psd` is the Hessian, its negative eigenvalues set to 0, and not merely a part of it
    """

    name: str
    size: int
    energy: Callable
    gradient: Callable
    hessian_psd: Callable
    exact: bool = True

    def __str__(self):
        return self.name


def of_f(name, module, size, *stiffness):
    """An energy of the columns of F, with these stiffnesses."""

    def gradient(f, found=0.0):
        out = np.full(size, found)
        module.gradient(f, *stiffness, out)
        return out

    def hessian_psd(f, found=0.0):
        out = np.full((size, size), found)
        module.hessian_psd(f, *stiffness, out)
        return out

    return Term(name, size, lambda f: module.energy(f, *stiffness), gradient, hessian_psd)


def of_hinge(name, module, rest, k):
    """An energy of the angle of four points."""
    corners = (0, 1, 2, 3)

    def energy(x):
        return module.energy(module.angle(x.reshape(4, 3), *corners), rest, k)

    def gradient(x, found=0.0):
        slope, out = np.empty((4, 3)), np.full((4, 3), found)
        theta = module.angle_gradient(x.reshape(4, 3), *corners, slope)
        module.gradient(theta, rest, k, slope, out)
        return out.ravel()

    def hessian_psd(x, found=0.0):
        slope, out = np.empty((4, 3)), np.full((12, 12), found)
        module.angle_gradient(x.reshape(4, 3), *corners, slope)
        module.hessian_psd(k, slope, out)
        return out

    return Term(name, 12, energy, gradient, hessian_psd, exact=False)


TERMS = [
    of_f("spring", spring, 3, 2.5),
    of_f("stretch", stretch, 6, 3.0, 0.7),
    of_f("shear", shear, 6, 1.7),
    of_hinge("bend", bend, 0.4, 1.3),
]


def projected(hessian):
    """The nearest positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def central(function, f, step):
    """Derivatives of a function of f by central differences, one row for each number in f.

    Along oblique directions: along its numbers some energies are quadratic, and differences exact at any step.
    """
    directions = np.linalg.qr(np.random.default_rng(7).standard_normal((len(f), len(f))))[0]
    slopes = [(function(f + step * d) - function(f - step * d)) / (2.0 * step) for d in directions]
    return directions.T @ np.array(slopes)


def rotation(rng):
    """A random rotation (3, 3)."""
    q, r = np.linalg.qr(rng.standard_normal((3, 3)))
    q *= np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))
