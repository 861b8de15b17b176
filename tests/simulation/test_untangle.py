"""Untangling: every kind at three resolutions, what is kept, what is held, and what is said when it does not work."""

import json
from dataclasses import replace

import numpy as np
import pytest

import unsnarl as us
from unsnarl.detect.certify import ipctk_finds_intersections
from unsnarl.mesh.primitives import box, sheet, sphere
from unsnarl.scenes.tangles import FAMILIES, family
from unsnarl.scenes.tangles.canonical import KINDS, canonical
from unsnarl.simulation.scene import Body, Cloth, Scene
from unsnarl.simulation.simulate import Simulator
from unsnarl.simulation.untangle import METHODS

KEYS = {
    "converged", "method", "steps", "initial_ef_pairs", "final_ef_pairs", "history", "displacement", "edge_change",
    "flipped_faces", "certified", "seconds",
}  # fmt: skip


def certify(result, bodies=()):
    """Ours and ipctk's test again, on what is handed out."""
    assert us.check(list(result.meshes), bodies=list(bodies)).clean
    at, x, faces = 0, [], []
    for mesh in (*result.meshes, *bodies):
        x.append(mesh.x)
        faces.append(mesh.faces + at)
        at += len(mesh.x)
    first = sum(len(m.x) for m in result.meshes) if bodies else None
    assert not ipctk_finds_intersections(np.concatenate(x), np.concatenate(faces), first)[0]


@pytest.mark.parametrize("resolution", [14, 24, 36])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_resolved_by_rbf(kind, resolution):
    state = canonical(kind, resolution)
    before = us.check(list(state.meshes))
    result = us.untangle(list(state.meshes), rest=list(state.clean), method="rbf", max_steps=300)
    assert set(before.counts) == {kind.upper()}
    assert result.converged and result.steps < 300 and result.certified["intersections"] is False
    certify(result)
    for mesh, given in zip(result.meshes, state.meshes):
        assert mesh.faces is given.faces or (mesh.faces == given.faces).all()


def test_without_a_rest_mesh_and_without_uv():
    state = canonical("closed", 16)
    bare = [us.TriMesh(m.x, m.faces) for m in state.meshes]
    result = us.untangle([(m.x, m.faces) for m in bare])
    assert result.converged
    certify(result)
    with_uv = us.untangle(list(state.meshes))
    assert with_uv.converged and all((a.uv == b.uv).all() for a, b in zip(with_uv.meshes, state.meshes))
    assert max(result.to_dict()["displacement"].values()) < 0.2


def test_ll_is_undone_by_rbf_but_not_drawn_by_a():
    """A does nothing about LL (rule 2): without elastic forces, nothing would happen."""
    state = canonical("ll", 16)
    bent = [us.TriMesh(m.x, m.faces, name=m.name) for m in state.meshes]  # its folds are its rest shape
    stays = us.untangle(bent, method="gia", max_steps=20)
    assert not stays.converged
    assert us.untangle(bent, method="rbf", max_steps=100).converged


def test_methods_are_the_documented_ones():
    assert {"auto", "gia", "rbf", "icm", "gia+icm"} <= set(METHODS)
    state = canonical("closed", 14)
    for method in ("gia", "icm", "gia+icm"):
        assert us.untangle(list(state.meshes), rest=list(state.clean), method=method).converged


def test_what_is_clean_stays_to_the_bit():
    mesh = sheet((1.0, 0.6), (10, 6))
    result = us.untangle(mesh)
    assert result.converged and result.steps == 0 and (result.mesh.x == mesh.x).all()
    assert result.history == [{"step": 0, "ef_pairs": 0, "paths": 0, "red_vertices": 0}]


def test_everything_but_positions_is_kept():
    state = canonical("bb_ii", 16)
    mesh = replace(state.meshes[0], groups={"front": np.arange(5, dtype=np.int32)}, name="skirt")
    result = us.untangle([mesh, *state.meshes[1:]], rest=list(state.clean))
    got = result.meshes[0]
    assert got.name == "skirt" and list(got.groups) == ["front"] and (got.groups["front"] == np.arange(5)).all()
    assert (got.rest == mesh.rest).all() and (got.uv == mesh.uv).all() and (got.face_uv == mesh.face_uv).all()
    assert (got.x != mesh.x).any()


def test_units_do_not_matter():
    state = canonical("closed", 14)
    one = us.untangle([(m.x, m.faces) for m in state.meshes])
    for factor in (1024.0, 2.0**-7):
        other = us.untangle([(factor * m.x, m.faces) for m in state.meshes])
        assert all((a.x * factor == b.x).all() for a, b in zip(one.meshes, other.meshes))
    odd = us.untangle([(1000.0 * m.x, m.faces) for m in state.meshes])
    assert odd.converged


def test_same_bits_every_time(monkeypatch):
    state = family("fold_and_press", 2)
    results = []
    for threads in ("1", "2"):
        monkeypatch.setenv("UNSNARL_THREADS", threads)
        results.append(us.untangle(list(state.meshes), rest=list(state.clean)))
    assert results[0].converged and (results[0].mesh.x == results[1].mesh.x).all()


def test_pins_do_not_move():
    state = canonical("closed", 16)
    flat = int(np.argmin([np.ptp(m.x, axis=0).min() for m in state.meshes]))
    pins = [() for _ in state.meshes]
    pins[flat] = "boundary"
    result = us.untangle(list(state.meshes), pins=pins)
    border = state.meshes[flat].boundary_vertices
    assert result.converged
    assert (result.meshes[flat].x[border] == state.meshes[flat].x[border]).all()
    assert (result.meshes[flat].x != state.meshes[flat].x).any()


def test_cloth_in_a_body_comes_out():
    ball = sphere(0.1, 320)
    cloth = sheet((0.5, 0.5), (24, 24))
    cloth = cloth.moved(cloth.x + (0.0, 0.0, 0.08))
    assert not us.check(cloth, bodies=[ball]).clean
    result = us.untangle(cloth, bodies=[ball], max_steps=200)
    assert result.converged
    certify(result, [ball])
    assert np.linalg.norm(result.mesh.x, axis=1).min() > 0.09


def test_no_room_between_bodies():
    """A sheet whose middle is held inside a block: it says so, gives the best it had, and where the rest is."""
    block = box((0.2, 0.2, 0.2), (2, 2, 2))
    cloth = sheet((0.6, 0.6), (12, 12))
    middle = int(np.linalg.norm(cloth.x, axis=1).argmin())
    result = us.untangle(cloth, bodies=[block], pins=[middle], max_steps=30)
    figures = result.to_dict()
    assert not result.converged and 20 <= result.steps <= 30 and len(result.history) == result.steps + 1
    assert figures["final_ef_pairs"] == min(e["ef_pairs"] for e in result.history) > 0
    assert len(figures["left"]) == len(result.report.paths)
    assert np.abs(figures["left"][0]["at"]).max() < 0.15
    assert "NOT untangled" in str(result) and "left" in str(result)
    json.dumps(figures)


def test_stopping_gives_the_best_state():
    state = family("crumpled_sheet", 2)
    asked = []
    result = us.untangle(list(state.meshes), method="icm", stop=lambda: len(asked) >= 5, progress=asked.append)
    assert result.steps == 4 and len(asked) == 5 == len(result.history)
    assert len(result.report.hits) == min(e["ef_pairs"] for e in asked)


def test_report():
    state = canonical("closed", 16)
    result = us.untangle(list(state.meshes), record=10)
    figures = json.loads(json.dumps(result.to_dict()))
    assert set(figures) == KEYS
    assert figures["initial_ef_pairs"] == len(us.check(list(state.meshes)).hits) == result.history[0]["ef_pairs"]
    assert figures["final_ef_pairs"] == 0 == result.history[-1]["ef_pairs"]
    assert figures["history"][0]["red_vertices"] == len(np.unique(result.before.regions.vertex))
    x = np.concatenate([m.x for m in state.meshes])
    moved = np.linalg.norm(np.concatenate([m.x for m in result.meshes]) - x, axis=1)
    assert figures["displacement"]["max"] == pytest.approx(moved.max() / np.linalg.norm(np.ptp(x, axis=0)))
    assert [step for step, _ in result.shapes] == list(range(result.steps + 1))
    assert (result.shapes[0][1] == x).all()
    assert figures["edge_change"]["p95"] < 0.1


def test_layers():
    """Two sheets that have passed through each other nearly everywhere: only their order says which way is out."""
    lower = sheet((0.4, 0.4), (16, 16), name="lower")
    upper = sheet((0.4, 0.4), (14, 14), name="upper")
    upper = upper.moved(upper.x + np.stack([0 * upper.x[:, 0], 0 * upper.x[:, 0], 0.01 + 0.2 * upper.x[:, 0]], axis=1))
    above = us.untangle([lower, upper], layers=True)
    assert above.converged
    certify(above)
    inner, outer = above.meshes
    # of a sheet, outside is where most of the other one is: here above
    assert outer.x[:, 2].mean() > inner.x[:, 2].mean() + 0.005


def test_frames():
    """A fold that closes and opens again: clean frames stay, tangled ones follow the frame before."""
    state = family("ll", 1)
    clean, tangled = state.clean[0].x, state.meshes[0].x
    shares = (0.0, 0.3, 0.8, 1.0, 0.2)
    frames = us.Frames(state.meshes[0], np.stack([clean + s * (tangled - clean) for s in shares]), 24.0)
    told = []
    out, results = us.untangle_frames(frames, rest=state.clean[0], progress=told.append)
    assert all(r.converged for r in results) and len(results) == len(shares) == len(out.x) and out.fps == 24.0
    was_clean = [len(r.before.hits) == 0 for r in results]
    assert was_clean[0] and not all(was_clean)
    for k, same in enumerate(was_clean):
        assert (out.x[k] == frames.x[k]).all() == same
        assert us.check(out.mesh.moved(out.x[k])).clean
    assert {e["frame"] for e in told} == set(range(len(shares)))
    jumps = np.linalg.norm(np.diff(out.x, axis=0), axis=2).max()
    assert jumps < 3 * np.linalg.norm(np.diff(frames.x, axis=0), axis=2).max()


def test_first_frame_tangled():
    state = family("ll", 1)
    frames = us.Frames(state.meshes[0], np.stack([state.meshes[0].x] * 2), 24.0)
    out, results = us.untangle_frames(frames, rest=state.clean[0])
    assert all(r.converged for r in results)
    assert np.linalg.norm(out.x[1] - out.x[0], axis=1).max() < 0.05 * state.meshes[0].diagonal


@pytest.mark.parametrize(
    "options, message",
    [
        ({"method": "magic"}, "the method must be one of"),
        ({"max_steps": -1}, "max_steps must be a whole number from 0 on, not -1"),
        ({"max_steps": 2.5}, "max_steps must be a whole number"),
        ({"pins": 5}, "pins must be 'boundary' or a list of vertices, not 5"),
        ({"pins": None}, "pins must be 'boundary' or a list of vertices, not None"),
        ({"rest": sheet((1.0, 1.0), (3, 3))}, "must have the same vertices and faces: it has 16 and 18, not 25 and 32"),
        ({"pins": [99]}, "pin 99 is not one of the 25 vertices"),
        ({"pins": "edge"}, "pins are vertices or 'boundary'"),
        ({"rest": [sheet((1.0, 1.0), (4, 4))] * 3}, "3 rest meshes for 1 meshes"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(us.BadInput, match=message):
        us.untangle(sheet((1.0, 1.0), (4, 4)), **options)


def test_other_faces_at_rest():
    mesh = sheet((1.0, 1.0), (4, 4))
    other = us.TriMesh(mesh.x, mesh.faces[:, [1, 2, 0]])
    with pytest.raises(us.BadInput, match="has other faces"):
        us.untangle(mesh, rest=other)
    with pytest.raises(us.BadInput, match="there is no mesh to untangle"):
        us.untangle([])
    with pytest.raises(us.BadInput, match="pins of several meshes are a list for each"):
        us.untangle([mesh, mesh], pins=[1, 2])
    with pytest.raises(us.BadInput, match="2 meshes were untangled"):
        _ = us.untangle([mesh, mesh.moved(mesh.x + 5.0)]).mesh


def test_faces_without_area_and_doubled_vertices():
    """Nothing to keep the shape of: still untangled, or said that it is not."""
    state = canonical("closed", 14)
    mesh = state.meshes[0]
    x = mesh.x.copy()
    x[mesh.faces[3, 1]] = x[mesh.faces[3, 0]]
    result = us.untangle([(x, mesh.faces), *((m.x, m.faces) for m in state.meshes[1:])], max_steps=200)
    assert result.converged == us.check(list(result.meshes)).clean
    assert np.isfinite(result.meshes[0].x).all()


@pytest.mark.prove
@pytest.mark.parametrize("name", FAMILIES)
def test_families(name):
    """Of ten states of each family nine get clean at least, all certified, with nothing changed but positions."""
    done = 0
    for seed in range(1000, 1010):
        state = family(name, seed)
        result = us.untangle(list(state.meshes), rest=list(state.clean), bodies=list(state.bodies), max_steps=400)
        done += result.converged
        assert all((a.faces == b.faces).all() for a, b in zip(result.meshes, state.meshes))
        if result.converged:
            certify(result, state.bodies)
    assert done >= 9


def test_edges_are_compared_with_the_rest_mesh_that_was_given():
    state = canonical("closed", 14)
    bare = [us.TriMesh(m.x, m.faces) for m in state.meshes]
    rest = [us.TriMesh(1.5 * m.x, m.faces) for m in state.clean]
    figures = us.untangle(bare, rest=rest, max_steps=0).to_dict()
    assert 0.2 < figures["edge_change"]["mean"] < 0.5


def test_where_there_is_no_room_nothing_is_thrown_about():
    """A tangled cloth that is pinned, in a body that coincides with it: it cannot get free, but stays where it is."""
    mesh = family("ll", 1).meshes[0]
    scene = Scene([Cloth(mesh, pins="boundary")], bodies=[Body(mesh)], fps=600.0, substeps=1, untangle="rbf", frames=2)
    simulator = Simulator(scene)
    simulator.halvings = 2
    simulator.advance()
    edge = np.linalg.norm(np.diff(mesh.x[mesh.edges], axis=1), axis=2).mean()
    assert np.abs(simulator.x - mesh.x).max() < 20 * edge
