"""Edges, fans, rings, loops and components against their slow twins, on sheets and on soups of triangles."""

import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from tests.mesh.shapes import BOOK, BOW_TIE, TETRAHEDRON, grid, meshes, moebius, points, sheets
from tests.oracles import border_loops, edges_of, fans_at, labels
from unsnarl.mesh import TriMesh


def mesh_of(n, faces):
    return TriMesh(points(n), faces)


def loop_edges(loop):
    """Edges (smaller vertex first) that a closed loop of vertices walks."""
    return [tuple(sorted(edge)) for edge in zip(loop.tolist(), np.roll(loop, -1).tolist())]


def assert_fans(mesh, v):
    """The faces at v once each, in runs: neighbours share a manifold edge at v, borders are at the ends."""
    faces, edges = mesh.faces.tolist(), edges_of(mesh.faces.tolist())
    walk = mesh.fan(v).tolist()
    at = 0
    remaining = [set(fan) for fan in fans_at(faces, v)]
    while at < len(walk):
        fan = next(fan for fan in remaining if walk[at] in fan)
        remaining.remove(fan)
        run = walk[at : at + len(fan)]
        assert set(run) == fan
        for f, g in pairwise(run):
            assert any(sorted(beside) == sorted((f, g)) for edge, beside in edges.items() if v in edge)
        ends = {f for edge, beside in edges.items() if v in edge and len(beside) != 2 for f in beside if f in fan}
        if ends:
            assert {run[0], run[-1]} == ends
        at += len(fan)
    assert not remaining


# --- by hand ---


def test_two_triangles():
    mesh = mesh_of(4, [[2, 1, 0], [1, 2, 3]])
    assert mesh.edges.tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    assert mesh.face_edges.tolist() == [[2, 0, 1], [2, 4, 3]]
    assert mesh.edge_faces.tolist() == [[0, -1], [0, -1], [0, 1], [1, -1], [1, -1]]
    assert mesh.topology.edge_face_count.tolist() == [1, 1, 2, 1, 1]
    assert mesh.boundary_edges.tolist() == [True, True, False, True, True]
    assert mesh.boundary_vertices.all()
    assert [loop.tolist() for loop in mesh.boundary_loops] == [[1, 0, 2, 3]]
    assert mesh.ring(1).tolist() in ([0, 2, 3], [3, 2, 0])


def test_tetrahedron_is_closed():
    mesh = mesh_of(4, TETRAHEDRON)
    assert len(mesh.edges) == 6
    assert (mesh.topology.edge_face_count == 2).all()
    assert mesh.boundary_loops == []
    assert not mesh.boundary_vertices.any()
    assert sorted(mesh.fan(0).tolist()) == [0, 1, 3]
    assert sorted(mesh.ring(0).tolist()) == [1, 2, 3]


def test_bow_tie_has_two_fans_and_two_loops():
    mesh = mesh_of(5, BOW_TIE)
    assert mesh.fan(0).tolist() == [0, 1]
    assert [sorted(loop.tolist()) for loop in mesh.boundary_loops] == [[0, 1, 2], [0, 3, 4]]
    assert mesh.vertex_component.tolist() == [0, 0, 0, 0, 0]


def test_two_cones_touching_at_their_tips():
    cone = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]])
    mesh = mesh_of(9, np.concatenate([np.where(cone > 0, cone + 4, 0)[::-1], cone])[[0, 4, 2, 6, 1, 5, 3, 7]])
    around = mesh.ring(0).tolist()
    for part in (around[:4], around[4:]):
        for a, b in zip(part, part[1:] + part[:1]):
            assert abs(a - b) in (1, 3)
    assert sorted(around) == list(range(1, 9))


def test_second_fan_of_a_bow_tie_is_walked_in_order():
    mesh = mesh_of(8, [[0, 1, 2], [0, 2, 3], [7, 0, 6], [0, 6, 5], [5, 4, 0]])
    first, second = mesh.ring(0).tolist()[:3], mesh.ring(0).tolist()[3:]
    assert first in ([1, 2, 3], [3, 2, 1])
    assert second in ([4, 5, 6, 7], [7, 6, 5, 4])


def test_moebius_strip_has_one_boundary_whatever_the_winding():
    faces = moebius(5)
    for flipped in (faces, [face[::-1] if i % 3 else face for i, face in enumerate(faces)]):
        mesh = mesh_of(10, flipped)
        (loop,) = mesh.boundary_loops
        assert len(loop) == 10
        assert Counter(loop_edges(loop)) == Counter(map(tuple, mesh.edges[mesh.boundary_edges].tolist()))


def test_sheet_with_a_hole_has_two_loops():
    x, faces = grid(3, 3)
    mesh = TriMesh(x, np.delete(faces, [8, 9], axis=0))
    assert sorted(len(loop) for loop in mesh.boundary_loops) == [4, 12]


def test_loops_run_as_their_faces_do():
    x, faces = grid(2, 3)
    (loop,) = TriMesh(x, faces).boundary_loops
    half_edges = {(a, b) for face in faces.tolist() for a, b in zip(face, face[1:] + face[:1])}
    assert set(zip(loop.tolist(), np.roll(loop, -1).tolist())) <= half_edges


def test_pages_of_a_book():
    mesh = mesh_of(5, BOOK)
    assert mesh.edges[mesh.non_manifold_edges].tolist() == [[0, 1]]
    assert mesh.topology.edge_face_count[0] == 3
    assert mesh.edge_faces[0].tolist() == [0, 1]
    assert sorted(map(len, mesh.boundary_loops)) == [3, 3, 3]
    assert sorted(mesh.ring(0).tolist()) == [1, 2, 3, 4]


def test_boundary_passes_a_non_manifold_edge_without_breaking():
    """A strip of three faces; its two outer edges are glued to two sheets each, the rest is open."""
    strip = [[0, 1, 2], [1, 3, 2], [2, 3, 4]]
    mesh = mesh_of(9, [*strip, [0, 1, 5], [0, 1, 6], [3, 4, 7], [3, 4, 8]])
    assert Counter(edge for loop in mesh.boundary_loops for edge in loop_edges(loop)) == sum(
        border_loops(mesh.faces.tolist()), Counter()
    )
    around_strip = [loop for loop in mesh.boundary_loops if set(loop.tolist()) == {0, 1, 2, 3, 4}]
    assert len(around_strip) == 1
    assert len(around_strip[0]) == 5


def test_isolated_vertices_belong_to_nothing():
    mesh = mesh_of(6, [[1, 2, 4]])
    assert mesh.vertex_component.tolist() == [0, 1, 1, 2, 1, 3]
    assert mesh.face_component.tolist() == [1]
    assert mesh.boundary_vertices.tolist() == [False, True, True, False, True, False]
    assert len(mesh.fan(0)) == len(mesh.fan(5)) == len(mesh.ring(0)) == 0
    assert mesh.ring(5).dtype == np.int32


# --- against the oracles ---


@settings(max_examples=500, deadline=None)
@given(meshes)
def test_edges(case):
    n, faces = case
    mesh, expected = mesh_of(n, faces), edges_of(faces)
    assert list(map(tuple, mesh.edges.tolist())) == list(expected)
    assert mesh.topology.edge_face_count.tolist() == [len(beside) for beside in expected.values()]
    assert mesh.edge_faces.tolist() == [(beside + [-1])[:2] for beside in expected.values()]
    for face, row in zip(faces, mesh.face_edges):
        for k in range(3):
            assert mesh.edges[row[k]].tolist() == sorted((face[k], face[(k + 1) % 3]))
    wide = {edge for edge, beside in expected.items() if len(beside) > 2}
    assert set(map(tuple, mesh.edges[mesh.non_manifold_edges].tolist())) == wide


@settings(max_examples=400, deadline=None)
@given(meshes)
def test_fans_are_walks(case):
    n, faces = case
    mesh = mesh_of(n, faces)
    assert mesh.topology.fan_start.tolist() == np.cumsum([0] + [sum(v in f for f in faces) for v in range(n)]).tolist()
    for v in range(n):
        assert_fans(mesh, v)


@settings(max_examples=400, deadline=None)
@given(meshes)
def test_rings_name_each_neighbour_once(case):
    n, faces = case
    mesh = mesh_of(n, faces)
    for v in range(n):
        ring = mesh.ring(v).tolist()
        assert len(ring) == len(set(ring))
        assert set(ring) == {u for edge in edges_of(faces) if v in edge for u in edge} - {v}


@settings(max_examples=400, deadline=None)
@given(sheets())
def test_rings_of_sheets_are_walks(case):
    n, faces = case
    mesh = mesh_of(n, faces)
    together = {frozenset(face) for face in faces}
    for v in range(n):
        ring = mesh.ring(v).tolist()
        for fan in fans_at(faces, v):
            around = {u for f in fan for u in faces[f]} - {v}
            part = ring[: len(around)]
            steps = [frozenset((v, a, b)) for a, b in pairwise(part)]
            if len(around) == len(fan):  # closed
                steps.append(frozenset((v, part[-1], part[0])))
            assert len(steps) == len({*steps})
            assert all(step in together for step in steps)
            ring = ring[len(part) :]
        assert ring == []


@settings(max_examples=500, deadline=None)
@given(meshes)
def test_loops(case):
    n, faces = case
    mesh = mesh_of(n, faces)
    loops = [Counter(loop_edges(loop)) for loop in mesh.boundary_loops]
    key = lambda loop: sorted(loop.items())  # noqa: E731
    assert sorted(loops, key=key) == sorted(border_loops(faces), key=key)
    boundary = {edge for edge, beside in edges_of(faces).items() if len(beside) == 1}
    assert Counter(edge for loop in loops for edge in loop.elements() if edge in boundary) == Counter(boundary)
    lowest = [min(edge for edge in loop if edge in boundary) for loop in loops]
    assert lowest == sorted(lowest)


@settings(max_examples=300, deadline=None)
@given(meshes)
def test_components(case):
    n, faces = case
    mesh = mesh_of(n, faces)
    expected = labels(range(n), edges_of(faces))
    assert mesh.vertex_component.tolist() == expected
    assert mesh.face_component.tolist() == [expected[face[0]] for face in faces]
    assert mesh.vertex_component.dtype == mesh.face_component.dtype == np.int32


@pytest.mark.parametrize("seed", range(4))
def test_larger_soups(seed):
    """Sixty vertices and up to two hundred faces: long fans, crowded edges, many pieces."""
    rng = np.random.default_rng(seed)
    n, m = 60, int(rng.integers(60, 200))
    faces = [rng.choice(n // (1 + seed), 3, replace=False).tolist() for _ in range(m)]
    mesh = mesh_of(n, faces)
    assert list(map(tuple, mesh.edges.tolist())) == list(edges_of(faces))
    for v in range(n):
        assert_fans(mesh, v)
    assert len(mesh.boundary_loops) == len(border_loops(faces))


def test_a_real_body(data):
    """The MakeHuman body is one closed surface."""
    body = np.load(data / "characters" / "makehuman_run_sit.npz")
    mesh = TriMesh(body["frames"][0], body["faces"])
    assert list(map(tuple, mesh.edges.tolist())) == list(edges_of(body["faces"].tolist()))
    assert (mesh.topology.edge_face_count == 2).all()
    assert mesh.boundary_loops == []
    assert mesh.vertex_component.max() == mesh.panels.max() == 0
    assert len(mesh.x) - len(mesh.edges) + len(mesh.faces) == 2
    for v in range(0, len(mesh.x), 500):
        ring = mesh.ring(v).tolist()
        together = {frozenset(face) for face in mesh.faces[mesh.fan(v)].tolist()}
        assert {frozenset((v, a, b)) for a, b in zip(ring, ring[1:] + ring[:1])} == together


def test_numbering_does_not_depend_on_the_type_of_the_faces():
    faces = np.array(TETRAHEDRON)
    first = mesh_of(4, faces).topology
    for kind in (np.uint8, np.int64, np.uint32):
        other = mesh_of(4, np.asfortranarray(faces.astype(kind))).topology
        assert (first.fan_faces == other.fan_faces).all()
        assert other.fan_faces.dtype == np.int32


def test_kernels_read_inside_their_arrays():
    """Uncompiled, over arrays that refuse negative indices, on random soups."""
    env = dict(os.environ, NUMBA_DISABLE_JIT="1")
    script = Path(__file__).with_name("strict_kernels.py")
    done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "600 soups\n"
