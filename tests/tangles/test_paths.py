"""Invariants of paths, images, regions and colours on random tangled meshes, degenerate ones on purpose."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unsnarl as us
from tests import oracles
from tests.mesh.shapes import grid, moebius
from unsnarl.mesh.rest import face_areas
from unsnarl.tangles.paths import BLI, KINDS

WITH_LOOPS = {"EIGHT", "LL", "BLI", "CROSS"}


def torus(a, b):
    """Faces of a closed surface of genus one over a * b vertices."""
    i, j = np.meshgrid(np.arange(a), np.arange(b), indexing="ij")
    corner = [((i + di) % a * b + (j + dj) % b).ravel() for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1))]
    return np.concatenate([np.stack([corner[0], corner[k], corner[k + 1]], axis=1) for k in (1, 2)])


def sphere(rounds, around):
    """Faces of a closed surface of genus zero over 2 + rounds * around vertices."""
    ring = 2 + np.arange(rounds * around).reshape(rounds, around)
    faces = []
    for k in range(around):
        n = (k + 1) % around
        faces += [[0, ring[0, k], ring[0, n]], [1, ring[-1, n], ring[-1, k]]]
        for r in range(rounds - 1):
            faces += [[ring[r, k], ring[r + 1, k], ring[r + 1, n]], [ring[r, k], ring[r + 1, n], ring[r, n]]]
    return np.array(faces)


SURFACES = {
    "sheet": grid(4, 5)[1],
    "strip": grid(1, 9)[1],
    "sphere": sphere(3, 5),
    "torus": torus(4, 5),
    "moebius": np.array(moebius(9)),
    "two sheets": np.concatenate([grid(3, 3)[1], grid(3, 3)[1] + 16]),
    "sheet and torus": np.concatenate([grid(3, 3)[1], torus(4, 4) + 16]),
}


@st.composite
def tangles(draw):
    """A surface with vertices at random points, of an integer grid or in general position."""
    faces = SURFACES[draw(st.sampled_from(sorted(SURFACES)))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = faces.max() + 1
    cells = draw(st.sampled_from([2, 3, 5, 0]))
    if cells:
        x = rng.integers(0, cells, (n, 3)).astype(float)
    else:
        smooth = np.stack([np.arange(n) % 5, np.arange(n) // 5, np.zeros(n)], axis=1)
        x = smooth + draw(st.sampled_from([0.3, 0.8, 2.0])) * rng.standard_normal((n, 3))
    new = rng.permutation(n)
    moved = np.empty_like(x)
    moved[new] = x
    return moved, new[faces][rng.permutation(len(faces))]


def assert_invariants(report):
    mesh, hits, segments, p = report.mesh, report.hits, report.segment_list, report.path_list
    boundary = mesh.boundary_edges
    # every segment and every hit lies on one path, and steps go from node to node along a segment
    assert sorted(p.segment.tolist()) == list(range(len(segments)))
    on_paths = Counter()
    ends = []
    for i in range(len(p)):
        node = p.node[p.start[i] + i : p.start[i + 1] + i + 1].tolist()
        closed = p.kind[i] == 0
        assert not closed or node[0] == node[-1]
        on_paths.update(v for v in node[: len(node) - closed] if v >= 0)
        for k, s in enumerate(p.segment[p.start[i] : p.start[i + 1]]):
            at = p.start[i] + k
            assert sorted(p.face[at].tolist()) == segments.faces[s].tolist()
            expected = {int(v) for v in segments.hits[s] if v >= 0} | {
                -1 - int(v) for v in [segments.loop_vertex[s]] if v >= 0
            }
            assert {node[k], node[k + 1]} == expected
        if not closed:
            for end in (node[0], node[-1]):
                assert end < 0 or boundary[hits.edge[end]]
                if end >= 0:
                    ends.append(end)
        inner = [v for v in node[1:-1] if v >= 0]
        assert not boundary[hits.edge[inner]].any()
    assert set(on_paths) == set(range(len(hits))) and set(on_paths.values()) <= {1}
    assert sorted(ends) == np.flatnonzero(boundary[hits.edge]).tolist()
    assert_regions(report)


def assert_regions(report):
    mesh, p = report.mesh, report.path_list
    edges = mesh.edges.tolist()
    share = np.bincount(mesh.faces.ravel(), np.repeat(face_areas(mesh.x, mesh.faces) / 3, 3), len(mesh.x))
    for i, path in enumerate(report.paths):
        assert path.kind == KINDS[p.kind[i]]
        for k in range(p.images[i]):
            crossed = Counter(path.edges[k].tolist())
            odd = {e for e, times in crossed.items() if times % 2}
            inside = np.zeros(len(mesh.x), dtype=bool)
            inside[path.inside[k]] = True
            assert inside.sum() == len(path.inside[k])
            for f, g in zip(path.faces[k][:-1], path.faces[k][1:]):
                assert f != g
                assert len(set(mesh.face_edges[f]) & set(mesh.face_edges[g]) & set(crossed)) >= 1
            if p.kind[i] == BLI or not p.divides[2 * i + k]:
                assert p.kind[i] == BLI or not inside.any()
                continue
            side = oracles.two_sides(len(mesh.x), edges, odd, int(mesh.faces[path.faces[k][0], 0]))
            assert path.partitions[k] == (side is not None)
            if side is None:
                assert not inside.any()
                continue
            across = inside[mesh.edges[:, 0]] != inside[mesh.edges[:, 1]]
            assert set(np.flatnonzero(across).tolist()) == odd
            sides = [[v for v, s in side.items() if s == which] for which in (0, 1)]
            assert sorted(path.inside[k].tolist()) in [sorted(s) for s in sides]
            other = next(s for s in sides if sorted(s) != sorted(path.inside[k].tolist()))
            assert share[path.inside[k]].sum() <= share[other].sum() * (1 + 1e-9)
        if p.images[i] == 1:
            assert len(path.inside[1]) == 0


@settings(max_examples=1500, deadline=None)
@given(tangles())
def test_invariants(tangle):
    assert_invariants(us.check(tangle))


@pytest.mark.prove
@settings(max_examples=8000, deadline=None)
@given(tangles())
def test_invariants_on_many_more(tangle):
    assert_invariants(us.check(tangle))


@settings(max_examples=200, deadline=None)
@given(tangles(), tangles())
def test_between_meshes_there_are_no_loop_vertices(one, other):
    report = us.check([one, other])
    assert_invariants(report)
    for path in report.paths:
        if path.meshes == (0, 1):
            assert path.kind not in WITH_LOOPS and len(path.loop_vertices) == 0


@settings(max_examples=300, deadline=None)
@given(tangles())
def test_colours_say_what_the_regions_say(tangle):
    report = us.check(tangle)
    expected = {}
    for i, path in enumerate(report.paths):
        joined = report.path_list.images[i] == 1
        for k, name in enumerate(("red",) if joined else ("black", "white")):
            for v in path.inside[k].tolist():
                expected.setdefault(v, []).append((i, name))
    for v in range(len(report.mesh.x)):
        assert report.colours.of(v) == expected.get(v, [])
    mesh, colours = report.mesh, report.red_green
    red = set(expected)
    pierced = set(report.hits.edge.tolist())
    crossing = set(report.crossing_faces.tolist())
    red_edges = {e for e, ends in enumerate(mesh.edges.tolist()) if red & set(ends)} | pierced
    assert set(np.flatnonzero(colours.vertices).tolist()) == red
    assert set(np.flatnonzero(colours.edges).tolist()) == red_edges
    faces = mesh.faces.tolist()
    assert set(np.flatnonzero(colours.faces).tolist()) == crossing | {f for f, c in enumerate(faces) if red & set(c)}
    neighbours = {v: set() for v in range(len(mesh.x))}
    for a, b in mesh.edges.tolist():
        neighbours[a].add(b)
        neighbours[b].add(a)
    assert set(np.flatnonzero(colours.outmost).tolist()) == {v for v in red if neighbours[v] - red}
    star = {
        f for f, c in enumerate(faces) if not red & set(c) and len(red_edges & set(mesh.face_edges[f].tolist())) == 1
    }
    assert set(np.flatnonzero(colours.red_star).tolist()) == star


def summary(report, name=lambda v: v):
    """What does not depend on the numbering: kinds, lengths and regions, with vertices renamed."""
    return sorted(
        (
            path.kind,
            round(path.length, 9),
            path.segments,
            sorted(sorted(name(v) for v in r.tolist()) for r in path.inside),
        )
        for path in report.paths
    )


@pytest.mark.parametrize("surface", sorted(SURFACES))
def test_numbering_does_not_matter_in_general_position(surface):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        faces = SURFACES[surface]
        n = faces.max() + 1
        x = np.stack([np.arange(n) % 5, np.arange(n) // 5, np.zeros(n)], axis=1) + 0.7 * rng.standard_normal((n, 3))
        expected = summary(us.check((x, faces)))
        for _ in range(4):
            new = rng.permutation(n)
            moved = np.empty_like(x)
            moved[new] = x
            turned = np.array([np.roll(f, rng.integers(3)) for f in new[faces]])
            back = np.argsort(new)
            assert (
                summary(us.check((moved, turned[rng.permutation(len(faces))])), lambda v, back=back: int(back[v]))
                == expected
            )
