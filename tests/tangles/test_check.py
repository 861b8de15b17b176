"""`check`: segments, reports, several meshes, bodies, non-manifold input, and the second opinion."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unsnarl as us
from tests import oracles
from tests.mesh.shapes import grid
from unsnarl.scenes import folded_sheet
from unsnarl.tangles.segments import hit_points

X, FACES = grid(6, 6)
X = X / 6


def standing(offset=0.0):
    """A sheet through the middle of the flat one."""
    return np.stack([X[:, 0] * 0.613 + 0.2, np.full(len(X), 0.531) + offset, X[:, 1] - 0.517], axis=1), FACES


@settings(max_examples=150, deadline=None)
@given(st.integers(3, 5), st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 1000]))
def test_segments_are_the_pairs_of_crossing_faces(size, seed, cells):
    x, faces = grid(size, size)
    x = np.random.default_rng(seed).integers(0, cells, x.shape).astype(float)
    report = us.check((x, faces))
    assert {tuple(pair) for pair in report.segments.tolist()} == oracles.crossing_pairs(x, faces)
    ends = report.segment_list
    for (f, g), (first, second), loop in zip(ends.faces, ends.hits, ends.loop_vertex):
        shared = set(faces[f]) & set(faces[g])
        assert (second < 0) == (len(shared) == 1)
        assert loop == (shared.pop() if second < 0 else -1)
        for hit in (first, second) if second >= 0 else (first,):
            beside = report.mesh.edge_faces[report.hits.edge[hit]]
            assert {f, g} & set(beside) and report.hits.face[hit] in (f, g)


def test_points_of_hits_lie_on_their_edge_and_face():
    report = us.check(folded_sheet.build(3000))
    mesh, hits = report.mesh, report.hits
    p = hit_points(mesh, hits)
    a, b = (mesh.x[mesh.edges[hits.edge, k]] for k in range(2))
    along = np.linalg.norm(p - a, axis=1) + np.linalg.norm(p - b, axis=1) - np.linalg.norm(b - a, axis=1)
    assert np.abs(along).max() < 1e-12
    o, u, v = (mesh.x[mesh.faces[hits.face, k]] for k in range(3))
    normal = np.cross(u - o, v - o)
    height = np.einsum("ij,ij->i", p - o, normal) / np.linalg.norm(normal, axis=1)
    assert np.abs(height).max() < 1e-12


def test_one_mesh_as_mesh_as_arrays_and_as_lists():
    x = X.copy()
    x[:, 2] = 0.3 * np.sin(7 * x[:, 0] + 5 * x[:, 1])
    mesh = us.TriMesh(x, FACES)
    assert us.check(mesh).clean
    for same in ((x, FACES), [x, FACES], (x.tolist(), FACES.tolist()), [mesh], [(x, FACES)]):
        assert us.check(same).to_dict()["faces"] == len(FACES)


def test_several_meshes_and_who_crosses_whom():
    report = us.check([(X, FACES), standing(), (X + 5, FACES)])
    assert report.between() == {(0, 1): len(report.segments)}
    assert len(report.segments) > 0
    text = str(report)
    assert "mesh 0 with mesh 1" in text
    assert us.check([(X, FACES), (X + 5, FACES)]).clean


def test_bodies_count_against_cloth_only():
    crossing = [standing(), (X, FACES)]
    assert us.check((X + 5, FACES), bodies=crossing).clean
    report = us.check((X, FACES), bodies=[standing()])
    assert not report.clean
    assert [p.body for p in report.parts] == [False, True]
    assert report.second_opinion()["intersections"]
    assert not us.check((X + 5, FACES), bodies=crossing).second_opinion()["intersections"]


def test_report_as_json():
    report = us.check(folded_sheet.build(2000))
    content = json.loads(json.dumps(report.to_dict()))
    assert {"vertices", "faces", "ef_pairs", "segments", "counts", "paths", "seconds"} <= set(content)
    keys = {"kind", "segments", "length", "closed", "loop_vertices", "ends", "meshes", "inside"}
    assert all(set(path) == keys for path in content["paths"])
    assert sum(path["segments"] for path in content["paths"]) == content["segments"]
    assert content["ef_pairs"] == len(content["crossing"]["edges"]) == len(report.ef_pairs)
    assert content["segments"] == len(content["crossing"]["face_pairs"]) == len(report.segments)


def test_clean_report():
    report = us.check((X, FACES))
    assert report.clean and "no intersections" in str(report)
    assert report.segment_points.shape == (0, 2, 3)
    assert report.to_dict()["ef_pairs"] == 0
    assert report.between() == {}


def test_non_manifold_edges_are_named_or_split():
    pages = np.array([[0, 1, 2], [0, 1, 3], [0, 1, 4]])
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0.1], [0, 0, 1.0]])
    with pytest.raises(us.BadInput, match=r"0-1.*--split-non-manifold"):
        us.check((x, pages))
    assert us.check((x, pages), split_non_manifold=True).clean


@pytest.mark.parametrize("bad", [None, 7, [], "mesh.obj", (X,), {"x": X}, [None, None, None]])
def test_bad_arguments(bad):
    with pytest.raises(us.BadInput) as error:
        us.check(bad)
    assert "\n" not in str(error.value)


def test_scene_does_what_it_says():
    folded_sheet.check(1500)


@pytest.mark.parametrize("seed", range(3))
def test_ipctk_agrees_on_random_folds(seed):
    rng = np.random.default_rng(seed)
    for height in (0.0, 0.03, 0.1, 0.2):
        mesh = folded_sheet.build(1500, layers=int(rng.integers(2, 5)), bumps=rng.uniform(2, 5), height=height)
        report = us.check(mesh.moved(mesh.x + 1e-6 * rng.standard_normal(mesh.x.shape)))
        assert report.second_opinion()["intersections"] == (not report.clean)


def test_every_real_mesh_gets_a_report(data):
    for path in sorted(data.rglob("*")):
        if path.suffix.lower() in (".obj", ".ply", ".stl", ".usd", ".glb"):
            report = us.check(us.read_mesh(path), split_non_manifold=True)
            assert sum(path.segments for path in report.paths) == len(report.segments)
            assert sum(report.counts.values()) == len(report.paths)


def test_same_report_with_any_number_of_threads(monkeypatch):
    mesh = folded_sheet.build(40_000, layers=7, bumps=11, height=0.3, gap=0.1)
    reports = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("UNSNARL_THREADS", threads)
        reports.append({key: value for key, value in us.check(mesh).to_dict().items() if key != "seconds"})
    assert reports[0]["segments"] > 5000
    assert reports[0] == reports[1] == reports[2]
