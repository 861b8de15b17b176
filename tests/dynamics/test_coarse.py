"""The coarse level: what it is made of, that it changes no solution, and that it is worth it."""

import numpy as np
import pytest

from tests.dynamics.cloths import dense, fabric
from unsnarl.dynamics.coarse import build_coarse, coarse_inverse
from unsnarl.dynamics.pcg import no_constraints, no_couplings, solve
from unsnarl.dynamics.system import build_system, elastic, rest_lengths
from unsnarl.mesh import combine
from unsnarl.mesh.primitives import sheet


def wrinkled(squares, *, pieces=1, seed=0):
    """A stiff sheet, or several side by side, with some noise, and the equations of a step of 0.02 s."""
    meshes = [sheet((1.0, 1.0), (squares, squares)) for _ in range(pieces)]
    mesh = combine([m.moved(m.x + [1.5 * k, 0, 0]) for k, m in enumerate(meshes)])
    system = build_system(mesh, [fabric(warp=2000.0)], np.zeros(len(mesh.faces), int), np.ones(len(mesh.faces), bool))
    rng = np.random.default_rng(seed)
    x = mesh.x + rng.normal(0, 0.1 / squares, mesh.x.shape)
    force, values = elastic(system, x, 0.02)
    diagonal = system.mass[:, None, None] * np.eye(3)
    constraints = no_constraints(len(x))
    held = np.arange(squares + 1)
    constraints.kept[held], constraints.free[held] = 3, 0.0
    some = rng.choice(np.arange(squares + 1, len(x)), len(x) // 5, replace=False)
    normal = rng.normal(size=(len(some), 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    constraints.kept[some] = 1
    constraints.free[some] = np.eye(3) - normal[:, :, None] * normal[:, None, :]
    b = 0.02 * (force + system.mass[:, None] * [0, 0, -9.81])
    return mesh, system, diagonal, values, constraints, b


def projection(coarse, n):
    p = np.zeros((n, coarse.nodes))
    for k in range(coarse.node.shape[1]):
        np.add.at(p, (np.arange(n), coarse.node[:, k]), coarse.weight[:, k])
    return p


@pytest.mark.parametrize("pieces", [1, 3])
def test_weights_share_every_vertex_among_nodes_of_its_own_piece(pieces):
    mesh, *_ = wrinkled(12, pieces=pieces)
    coarse = build_coarse(mesh, rest_lengths(mesh), 20 * pieces)
    p = projection(coarse, len(mesh.x))
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-14)
    assert 10 * pieces < coarse.nodes < 40 * pieces
    piece = mesh.vertex_component
    for c in range(coarse.nodes):
        assert len(np.unique(piece[p[:, c] > 0])) == 1
    for c in range(coarse.nodes):  # by columns it is the same
        some = slice(coarse.start[c], coarse.start[c + 1])
        vertex, place = np.nonzero(coarse.node == c)
        assert np.array_equal(coarse.vertex[some], vertex)
        assert np.array_equal(coarse.share[some], coarse.weight[vertex, place])
    assert len(coarse.vertex) == coarse.node.size


def test_inverse_is_that_of_the_projected_matrix():
    mesh, system, diagonal, values, constraints, _ = wrinkled(9)
    n = len(mesh.x)
    coarse = build_coarse(mesh, rest_lengths(mesh), 8)
    free = np.zeros((3 * n, 3 * n))
    a = dense(system.pattern, values)
    for i in range(n):
        at = slice(3 * i, 3 * i + 3)
        a[at, at] += diagonal[i]
        free[at, at] = constraints.free[i]
    p = free @ np.kron(projection(coarse, n), np.eye(3))
    inverse = coarse_inverse(coarse, system.pattern, diagonal, values, constraints)
    np.testing.assert_allclose(inverse @ (p.T @ a @ p), np.eye(3 * coarse.nodes), atol=1e-6)


@pytest.mark.parametrize("pieces", [1, 2])
def test_same_solution_in_fewer_iterations(pieces):
    mesh, system, diagonal, values, constraints, b = wrinkled(30, pieces=pieces)
    problem = system.pattern, diagonal, values, no_couplings(len(b)), constraints, b, np.zeros_like(b)
    coarse = build_coarse(mesh, rest_lengths(mesh), 60 * pieces)
    inverse = coarse_inverse(coarse, system.pattern, diagonal, values, constraints)
    alone, many, _ = solve(*problem, 1e-10, 10_000)
    both, few, residual = solve(*problem, 1e-10, 10_000, coarse, inverse)
    np.testing.assert_allclose(both, alone, atol=1e-8 * np.abs(alone).max())
    assert few < 0.7 * many, (few, many)
    assert np.abs(np.einsum("nij,nj->ni", constraints.free, residual)).max() < 1e-8 * np.abs(b).max()


def test_small_meshes_do_without():
    mesh, *_ = wrinkled(9)
    assert build_coarse(mesh, rest_lengths(mesh)).nodes == 0
