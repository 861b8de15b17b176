"""Hits against brute force in whole numbers, on purpose mostly where everything is degenerate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from tests.mesh.shapes import grid
from unsnarl.detect.bvh import build_bvh
from unsnarl.detect.edge_face import find_hits
from unsnarl.mesh import TriMesh, combine, split_non_manifold
from unsnarl.tangles.segments import build_segments


def sheet(size):
    """A flat sheet over the unit square with size x size vertices: x (n, 3), faces (m, 3)."""
    x, faces = grid(size - 1, size - 1)
    return x / (size - 1), faces


def pairs(hits):
    return list(zip(hits.edge.tolist(), hits.face.tolist()))


def assert_hits_are_exact(x, faces):
    mesh = TriMesh(x, faces)
    hits = find_hits(mesh)
    assert pairs(hits) == oracles.hits_of(mesh.x, mesh.faces)
    if len(mesh.non_manifold_edges) == 0:
        found = {tuple(pair) for pair in build_segments(mesh, hits).faces.tolist()}
        assert found == oracles.crossing_pairs(mesh.x, mesh.faces)
    return hits


coordinates = {
    "tiny integer grid": st.integers(0, 2).map(float),
    "flat": st.sampled_from([0.0, 0.0, 0.0, 1.0]),
    "floats": st.integers(-(2**53), 2**53).map(lambda k: k / 2**53),
    "nearly equal": st.sampled_from([1.0, 1.0 + 2**-52, 1.0 - 2**-53, 2.0]),
}


@st.composite
def soups(draw):
    """Triangles between a few points: duplicated vertices and faces, zero-area faces, non-manifold edges."""
    n = draw(st.integers(4, 9))
    coordinate = coordinates[draw(st.sampled_from(sorted(coordinates)))]
    x = draw(st.lists(st.tuples(coordinate, coordinate, coordinate), min_size=n, max_size=n))
    face = st.lists(st.integers(0, n - 1), min_size=3, max_size=3, unique=True)
    return np.array(x), np.array(draw(st.lists(face, min_size=2, max_size=12)))


@settings(max_examples=2500, deadline=None)
@given(soups())
def test_soups(soup):
    assert_hits_are_exact(*soup)


@settings(max_examples=300, deadline=None)
@given(st.integers(3, 5), st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 100]))
def test_crumpled_sheets_on_integer_grids(size, seed, cells):
    x, faces = sheet(size)
    x = np.random.default_rng(seed).integers(0, cells, x.shape).astype(float)
    assert_hits_are_exact(x, faces)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_stacked_sheets(seed, coplanar):
    """Two copies of a sheet in one plane, shifted by whole cells, numbered at random."""
    rng = np.random.default_rng(seed)
    x, faces = sheet(4)
    x = np.round(x * 3)
    shift = np.array([*rng.integers(-1, 2, 2), 0 if coplanar else rng.integers(0, 2)])
    x = np.concatenate([x, x + shift])
    faces = np.concatenate([faces, faces + 16])
    new = rng.permutation(32)
    moved = np.empty_like(x)
    moved[new] = x
    assert_hits_are_exact(moved, new[faces])


def test_edge_through_triangle_by_hand():
    x = np.array([[0, 0, 0], [3, 0, 0], [0, 3, 0], [1, 1, -1], [1, 1, 1], [5, 5, 1.0]])
    faces = np.array([[0, 1, 2], [3, 4, 5]])
    hits = assert_hits_are_exact(x, faces)
    mesh = TriMesh(x, faces)
    assert [tuple(mesh.edges[e]) for e in hits.edge] == [(1, 2), (3, 4)]
    assert hits.face.tolist() == [1, 0]
    assert build_segments(mesh, hits).faces.tolist() == [[0, 1]]


def test_flat_and_coinciding_sheets_do_not_cross():
    x, faces = sheet(12)
    assert len(assert_hits_are_exact(x, faces)) == 0
    both = combine([TriMesh(x, faces), TriMesh(x, faces)])
    assert len(find_hits(both)) == 0


def test_several_meshes_and_passive_bodies():
    x, faces = sheet(8)
    up = np.stack([x[:, 0], np.full(len(x), 0.511), x[:, 1] - 0.503], axis=1)
    across = np.stack([np.full(len(x), 0.487), x[:, 0] - 0.011, x[:, 1] - 0.489], axis=1)
    parts = [TriMesh(x, faces), TriMesh(up, faces), TriMesh(across, faces)]
    whole = combine(parts)
    everything = pairs(assert_hits_are_exact(whole.x, whole.faces))
    owner = np.repeat([0, 1, 2], len(faces))
    passive = owner > 0
    seen = pairs(find_hits(whole, passive=passive))
    edge_owner = owner[whole.edge_faces[:, 0]]
    assert seen == [(e, f) for e, f in everything if not (edge_owner[e] > 0 and owner[f] > 0)]
    assert 0 < len(seen) < len(everything)


def crumpled(seed=0, size=40, scale=0.08):
    x, faces = sheet(size)
    rng = np.random.default_rng(seed)
    wave = rng.standard_normal((3, 4))
    for c in range(3):
        x[:, c] += scale * np.sin(12 * x @ rng.standard_normal(3) + wave[c, 0]) * (1 + wave[c, 1] * x[:, 1])
    return TriMesh(x + 0.01 * rng.standard_normal(x.shape), faces)


def test_same_answer_with_any_number_of_threads(monkeypatch):
    mesh = crumpled(size=60)
    answers = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("UNSNARL_THREADS", threads)
        answers.append(pairs(find_hits(mesh)))
    assert len(answers[0]) > 100
    assert answers[0] == answers[1] == answers[2]


def test_same_hits_after_rotation_and_scaling():
    mesh = crumpled()
    rng = np.random.default_rng(5)
    expected = pairs(find_hits(mesh))
    assert len(expected) > 50
    for _ in range(20):
        rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        moved = mesh.moved(mesh.x @ rotation.T * 10 ** rng.uniform(-3, 3) + rng.standard_normal(3))
        assert pairs(find_hits(moved)) == expected


def test_a_refitted_tree_gives_the_same_hits():
    mesh = crumpled(1)
    bvh = build_bvh(mesh.x, mesh.faces)
    for seed in range(2, 6):
        x = crumpled(seed).x
        assert pairs(find_hits(mesh, x, bvh)) == pairs(find_hits(mesh, x))


def test_extreme_sizes():
    mesh = crumpled()
    expected = pairs(find_hits(mesh))
    for power in (-900, -300, 300, 900):
        assert pairs(find_hits(mesh.moved(np.ldexp(mesh.x, power)))) == expected


def test_a_pocket_sewn_onto_a_shirt_does_not_cross_it():
    x, faces = sheet(6)
    pocket = np.concatenate([x, x[[14, 15]] + [0, 0.1, 0.5]])
    mesh = TriMesh(pocket, np.concatenate([faces, [[14, 15, 37], [14, 37, 36]]]))
    assert len(mesh.non_manifold_edges) == 1
    split = split_non_manifold(mesh)
    assert len(split.non_manifold_edges) == 0
    assert len(find_hits(split)) == 0
    through = mesh.x.copy()
    through[37] = [0.45, 0.9, -0.3]  # now the pocket's corner pokes through
    through[36] = [0.3, 0.9, 0.4]
    assert len(find_hits(split_non_manifold(mesh.moved(through)))) > 0


def test_tree_holds_every_pair_of_touching_boxes():
    mesh = crumpled(3, size=15)
    bvh = build_bvh(mesh.x, mesh.faces)
    assert sorted(bvh.order.tolist()) == list(range(len(mesh.faces)))
    low, high = mesh.x[mesh.faces].min(axis=1), mesh.x[mesh.faces].max(axis=1)
    m = len(mesh.faces)
    touching = {(f, g) for f in range(m) for g in range(f) if (low[f] <= high[g]).all() and (low[g] <= high[f]).all()}
    found = set()
    for leaf in bvh.leaves:
        node = leaf
        while node < len(bvh.skip):
            missed = (bvh.box[node, :3] > bvh.box[leaf, 3:]).any() or (bvh.box[node, 3:] < bvh.box[leaf, :3]).any()
            if not missed and bvh.skip[node] == node + 1:
                for p in bvh.order[bvh.start[leaf] : bvh.stop[leaf]]:
                    for q in bvh.order[bvh.start[node] : bvh.stop[node]]:
                        found.add((max(p, q), min(p, q)))
            node = bvh.skip[node] if missed else node + 1
    assert touching <= found


@pytest.mark.parametrize("seed", range(4))
def test_verdict_is_ipctk_s_in_general_position(seed):
    ipctk = pytest.importorskip("ipctk")
    for scale in (0.0, 0.01, 0.03, 0.08):
        mesh = crumpled(seed, size=24, scale=scale)
        judge = ipctk.CollisionMesh(mesh.x, mesh.edges, mesh.faces)
        assert ipctk.has_intersections(judge, mesh.x) == (len(find_hits(mesh)) > 0)
