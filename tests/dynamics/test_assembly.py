"""Forces and the stiffness matrix: against element after element in plain numpy, and what holds of any cloth."""

import numba
import numpy as np
import pytest

from tests.dynamics.cloths import dense, fabric
from tests.oracles import elastic_by_element
from unsnarl.dynamics.assembly import build_pattern
from unsnarl.dynamics.system import build_system, elastic, elastic_energy
from unsnarl.mesh import TriMesh
from unsnarl.mesh.primitives import flat_grid, sheet
from unsnarl.mesh.rest import rest_from_uv

H = 0.01  # [s]
MATERIALS = [
    fabric(density=0.1, warp=300.0, weft=200.0, shear=90.0, bend=2.0, damping=0.02),
    fabric(density=0.3, warp=50.0, weft=400.0, shear=150.0, bend=5.0, damping=0.0),
]


def crumpled(seed):
    """A cloth of two materials at a random state: its system, the state, and the arguments of the slow version.

    Two pieces of irregular triangles, some wound the other way round, and a vertex without faces; some folds are flat
    at rest, some are not.
    """
    rng = np.random.default_rng(seed)
    uv, faces = flat_grid(np.arange(4.0), np.arange(3.0), alternating=True)
    uv += rng.uniform(-0.2, 0.2, uv.shape)
    uv = np.concatenate([uv, uv, [[0.0, 0.0]]])
    faces = np.concatenate([faces, faces + 12])
    back = rng.random(len(faces)) < 0.3
    faces[back] = faces[back][:, ::-1]
    x = np.column_stack([uv, np.zeros(len(uv))]) + rng.uniform(-0.3, 0.3, (len(uv), 3))
    mesh = TriMesh(x, faces, rest=rest_from_uv(uv, faces))
    of_face, flat = rng.integers(0, 2, len(faces)), rng.random(len(faces)) < 0.6
    system = build_system(mesh, MATERIALS, of_face, flat)
    state = x + rng.uniform(-0.4, 0.4, x.shape)
    return system, state, (mesh.faces, mesh.rest, [MATERIALS[k] for k in of_face], flat, x)


@pytest.mark.parametrize("seed", range(6))
def test_forces_and_matrix_are_those_of_the_elements_one_by_one(seed):
    system, x, cloth = crumpled(seed)
    force, values = elastic(system, x, H)
    energy, force_slow, matrix = elastic_by_element(x, *cloth, H)
    assert elastic_energy(system, x) == pytest.approx(energy, rel=1e-12)
    assert force == pytest.approx(force_slow, rel=1e-10, abs=1e-10 * abs(force_slow).max())
    assert dense(system.pattern, values) == pytest.approx(matrix, rel=1e-10, abs=1e-10 * abs(matrix).max())


def test_the_damping_alone_is_what_is_left_at_small_steps():
    system, x, _ = crumpled(0)
    damping = elastic(system, x, H, stiffness=0.0)[1]
    matrix = elastic(system, x, H)[1]
    stiffness = elastic(system, x, 1.0)[1] - elastic(system, x, 1.0, stiffness=0.0)[1]
    assert matrix - damping == pytest.approx(H * H * stiffness, abs=1e-12 * abs(matrix).max())
    assert damping == pytest.approx(H * elastic(system, x, 1.0, stiffness=0.0)[1], rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_force_is_minus_the_derivative_of_the_energy(seed):
    system, x, _ = crumpled(seed)
    force, _ = elastic(system, x, H)
    steps = 0.02 * 0.5 ** np.arange(20)
    for along in np.random.default_rng(seed + 100).standard_normal((3, *x.shape)):
        along /= np.linalg.norm(along)
        slopes = [
            (elastic_energy(system, x + e * along) - elastic_energy(system, x - e * along)) / (2 * e) for e in steps
        ]
        errors = abs(np.array(slopes) + (force * along).sum()) / np.linalg.norm(force)
        assert errors.min() < 1e-9
        assert np.log2(errors[2] / errors[5]) / 3 == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("seed", range(4))
def test_matrix_is_symmetric_positive_semi_definite_and_blind_to_translations(seed):
    system, x, _ = crumpled(seed)
    matrix = dense(system.pattern, elastic(system, x, H)[1])
    size = np.linalg.eigvalsh(matrix)
    assert matrix == pytest.approx(matrix.T, abs=1e-14 * size.max())
    assert size.min() > -1e-12 * size.max()
    everywhere = np.tile(np.eye(3), (len(x), 1))
    assert abs(matrix @ everywhere).max() < 1e-12 * size.max()


def test_forces_add_up_to_nothing_and_turn_nothing():
    system, x, _ = crumpled(7)
    force, _ = elastic(system, x, H)
    assert abs(force.sum(axis=0)).max() < 1e-12 * abs(force).sum()
    assert abs(np.cross(x, force).sum(axis=0)).max() < 1e-12 * abs(force).sum()


@pytest.mark.parametrize("flat", [True, False])
def test_nothing_pulls_at_rest(flat):
    mesh = sheet((1.0, 1.0), (5, 4))
    bent = mesh.x.copy()
    if not flat:  # rolled up: nothing is stretched but what the chords of the roll take
        bent = np.column_stack([np.sin(mesh.x[:, 0]), mesh.x[:, 1], np.cos(mesh.x[:, 0])])
    mesh = TriMesh(bent, mesh.faces)
    system = build_system(mesh, MATERIALS, np.zeros(len(mesh.faces), int), np.full(len(mesh.faces), flat))
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    turn *= np.linalg.det(turn)
    at = bent @ turn.T + [3.0, -2.0, 1.0]
    assert abs(elastic(system, at, H)[0]).max() < 1e-10
    assert elastic_energy(system, at) < 1e-20


def test_a_third_of_each_face_weighs_on_its_corners():
    system, x, (faces, rest, materials, *_) = crumpled(3)
    mass = np.zeros(len(x))
    for face, shape, material in zip(faces, rest, materials):
        mass[face] += material.density * 0.5 * abs(np.linalg.det(shape)) / 3
    assert system.mass[:-1] == pytest.approx(mass[:-1], rel=1e-12)
    assert system.mass[-1] == pytest.approx(mass[:-1].mean())  # the vertex without faces


def test_a_vertex_without_faces_has_a_row_and_no_force():
    system, x, _ = crumpled(3)
    force, values = elastic(system, x, H)
    last = len(x) - 1
    row = slice(system.pattern.start[last], system.pattern.start[last + 1])
    assert system.pattern.column[row].tolist() == [last]
    assert not values[row].any()
    assert not force[last].any()


def test_pattern_has_just_the_pairs_of_vertices_that_share_an_element():
    rng = np.random.default_rng(5)
    triples = np.array([rng.choice(9, 3, replace=False) for _ in range(6)], np.int32)
    fours = np.array([rng.choice(9, 4, replace=False) for _ in range(3)], np.int32)
    pattern = build_pattern(10, triples, fours)
    pairs = {(i, i) for i in range(10)}
    pairs |= {(int(a), int(b)) for corners in (triples, fours) for e in corners for a in e for b in e}
    found = [(i, int(j)) for i in range(10) for j in pattern.column[pattern.start[i] : pattern.start[i + 1]]]
    assert found == sorted(pairs)
    assert [found[k] for k in pattern.diagonal] == [(i, i) for i in range(10)]


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one core")
def test_the_same_bits_on_any_number_of_threads():
    mesh = sheet((1.0, 1.0), (20, 20))
    system = build_system(mesh, MATERIALS, np.arange(len(mesh.faces)) % 2, np.ones(len(mesh.faces), bool))
    x = mesh.x + np.random.default_rng(0).uniform(-0.02, 0.02, mesh.x.shape)
    before, found = numba.get_num_threads(), []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            found.append(elastic(system, x, H))
    finally:
        numba.set_num_threads(before)
    assert all(np.array_equal(a, b) for a, b in zip(*found))
