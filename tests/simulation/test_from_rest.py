"""From a clean state back: clean whatever the tangle, near the input, and honest where there is no clean state."""

import json

import numpy as np
import pytest

import unsnarl as us
from tests.simulation.test_untangle import certify
from unsnarl.mesh.primitives import box, sheet, sphere
from unsnarl.scenes.tangles import FAMILIES, family
from unsnarl.scenes.tangles.canonical import KINDS, canonical
from unsnarl.simulation.from_rest import clean_start, draw_back, from_rest
from unsnarl.simulation.quasi_static import Run

NONE = np.zeros(0, np.int32)


def untangled(meshes, **options):
    return us.untangle(meshes, method="from_rest", **options)


def run_of(state) -> Run:
    return Run(list(state.meshes), list(state.clean), list(state.bodies), [NONE] * len(state.meshes), "none")


def klein_bottle(around: int = 24, along: int = 36) -> us.TriMesh:
    """The figure of eight turned by half a turn on its way around: closed, and without a clean state in space."""
    u, v = np.meshgrid(2 * np.pi * np.arange(along) / along, 2 * np.pi * np.arange(around) / around, indexing="ij")
    across = 2.0 + np.cos(u / 2) * np.sin(v) - np.sin(u / 2) * np.sin(2 * v)
    x = np.stack([across * np.cos(u), across * np.sin(u), np.sin(u / 2) * np.sin(v) + np.cos(u / 2) * np.sin(2 * v)], 2)
    number = np.arange(along * around).reshape(along, around)
    ahead = np.vstack([number[1:], number[:1, -np.arange(around)]])  # v turns round
    a, b, c, d = number, np.roll(number, -1, axis=1), ahead, np.roll(ahead, -1, axis=1)
    faces = np.concatenate([np.stack(f, axis=2).reshape(-1, 3) for f in ((a, c, d), (a, d, b))])
    return us.TriMesh(x.reshape(-1, 3), faces, name="bottle")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_undone_near_where_it_was(kind):
    state = canonical(kind, 18)
    result = untangled(list(state.meshes), rest=list(state.clean))
    figures = json.loads(json.dumps(result.to_dict()))
    assert result.converged and figures["certified"]["intersections"] is False
    certify(result)
    other = us.untangle(list(state.meshes), rest=list(state.clean), method="rbf", max_steps=200).to_dict()
    assert figures["displacement"]["mean"] < 1.2 * other["displacement"]["mean"]
    assert figures["edge_change"]["p95"] < 0.12
    assert all((a.faces == b.faces).all() for a, b in zip(result.meshes, state.meshes))


@pytest.mark.parametrize("name", ["folded_sheet", "crumpled_sheet", "bent_tube", "pressed_tubes", "layered_sheets"])
@pytest.mark.parametrize("known", [True, False])
def test_with_and_without_a_rest_mesh(name, known):
    """Without one the input is what edges are compared with, and it is tangled itself."""
    state = family(name, 3)
    meshes = list(state.meshes) if known else [(m.x, m.faces) for m in state.meshes]
    result = untangled(meshes, rest=list(state.clean) if known else None)
    assert result.converged
    certify(result)


def test_history_shapes_and_steps():
    state = canonical("closed", 16)
    told = []
    result = untangled(list(state.meshes), progress=told.append, record=100)
    assert told == result.history and [e["step"] for e in told] == list(range(result.steps + 1))
    assert told[0]["ef_pairs"] == len(result.before.hits) > 0
    assert all(e["ef_pairs"] == e["paths"] == e["red_vertices"] == 0 for e in told[1:])
    assert [step for step, _ in result.shapes] == list(range(result.steps + 1))
    for _, x in result.shapes[1:]:
        at = np.cumsum([0] + [len(m.x) for m in state.meshes])
        assert us.check([m.moved(x[a:b]) for m, a, b in zip(state.meshes, at, at[1:])]).clean


def test_what_is_clean_stays_to_the_bit():
    mesh = sheet((1.0, 0.6), (10, 6))
    result = untangled(mesh)
    assert result.converged and result.steps == 0 and (result.mesh.x == mesh.x).all()


def test_what_was_not_tangled_ends_where_it_was():
    state = family("explode", 1)
    result = untangled(list(state.meshes), rest=list(state.clean))
    far = np.linalg.norm(result.mesh.x - state.meshes[0].x, axis=1) / state.meshes[0].diagonal
    assert result.converged and np.median(far) < 1e-3


def test_stopped_at_once_it_is_clean_as_soon_as_started():
    state = family("folded_sheet", 1)
    told = []
    result = untangled(list(state.meshes), rest=list(state.clean), progress=told.append, stop=lambda: len(told) > 1)
    assert result.converged and result.steps == 1
    never = untangled(list(state.meshes), rest=list(state.clean), stop=lambda: True)
    assert not never.converged and (never.mesh.x == state.meshes[0].x).all()
    few = untangled(list(state.meshes), rest=list(state.clean), max_steps=5)
    assert few.converged and few.steps == 5
    assert not untangled(list(state.meshes), rest=list(state.clean), max_steps=0).converged


def test_pins_end_at_their_places():
    state = canonical("bb_ii", 16)
    result = untangled(list(state.meshes), rest=list(state.clean), pins=["boundary", ()])
    border = state.meshes[0].boundary_vertices
    assert result.converged and (result.meshes[0].x[border] == state.meshes[0].x[border]).all()


def test_pins_that_cannot_be_reached():
    """The middle of a sheet is pinned inside a block: the sheet comes as near as it can, and is clean."""
    block = box((0.2, 0.2, 0.2), (2, 2, 2))
    cloth = sheet((0.6, 0.6), (12, 12))
    middle = int(np.linalg.norm(cloth.x, axis=1).argmin())
    result = untangled(cloth, bodies=[block], pins=[middle])
    assert result.converged and np.abs(result.mesh.x[middle]).max() > 0.1
    certify(result, [block])


@pytest.mark.parametrize("height", [0.08, 0.0])
def test_cloth_in_a_body_comes_out(height):
    ball, cloth = sphere(0.1, 320), sheet((0.5, 0.5), (24, 24))
    result = untangled(cloth.moved(cloth.x + (0.0, 0.0, height)), bodies=[ball])
    assert result.converged and result.to_dict()["displacement"]["max"] < 0.3
    certify(result, [ball])


def test_two_that_have_passed_through_each_other():
    """Both are as they should be: they only have to be taken apart."""
    one = sheet((0.4, 0.4), (12, 12))
    turned = sheet((0.4, 0.4), (12, 12)).x[:, [0, 2, 1]] + (0.013, 0.017, 0.19)
    result = untangled([one, one.moved(turned)])
    assert result.converged
    certify(result)


def test_no_clean_state():
    mesh = klein_bottle()
    assert not us.check(mesh).clean and not mesh.boundary_edges.any()
    result = untangled(mesh)
    assert not result.converged and result.steps == 0 and (result.mesh.x == mesh.x).all()
    assert "no clean state to start from was found" in str(result)


def test_on_a_run_that_has_begun():
    """As `auto` uses it: the run, its steps and its history go on; what the simulator was set to do is left alone."""
    state = canonical("closed", 16)
    run = Run(list(state.meshes), list(state.clean), [], [NONE] * len(state.meshes), "rbf")
    run.go(0, None, None, 0)
    before = run.simulator.respond, run.simulator.system.membrane.copy(), run.simulator.system.fold.copy()
    assert len(run.history) == 1 and from_rest(run, 50)
    assert run.best_hits == 0 and run.report_at(run.best).clean and len(run.history) == run.steps + 1
    after = run.simulator.respond, run.simulator.system.membrane, run.simulator.system.fold
    assert before[0] is after[0] and (before[1] == after[1]).all() and (before[2] == after[2]).all()


def test_a_way_leads_from_the_input_to_a_clean_state():
    run = run_of(family("folded_sheet", 2))
    way = clean_start(run)
    assert (way[0] == run.start).all() and run.report_at(way[-1]).clean
    assert not any(run.report_at(x).clean for x in way[:-1])
    draw_back(run, way, 100)
    assert run.report_at(run.best).clean
    far = [np.linalg.norm(x - run.start, axis=1).mean() for x in (way[-1], run.best)]
    assert far[1] < 0.5 * far[0]


def test_same_bits_every_time(monkeypatch):
    state = family("fold_and_press", 2)
    results = []
    for threads in ("1", "2"):
        monkeypatch.setenv("UNSNARL_THREADS", threads)
        results.append(untangled(list(state.meshes), rest=list(state.clean)))
    assert results[0].converged and (results[0].mesh.x == results[1].mesh.x).all()


def test_faces_without_area_and_doubled_vertices():
    state = canonical("closed", 14)
    x = state.meshes[0].x.copy()
    x[state.meshes[0].faces[3, 1]] = x[state.meshes[0].faces[3, 0]]
    result = untangled([(x, state.meshes[0].faces), *((m.x, m.faces) for m in state.meshes[1:])])
    assert result.converged == us.check(list(result.meshes)).clean
    assert np.isfinite(result.meshes[0].x).all()


def test_not_while_simulating():
    """There is no clean state to start from in the middle of a simulation."""
    with pytest.raises(us.BadInput, match="untangle"):
        us.Scene([us.Cloth(sheet((1.0, 1.0), (4, 4)))], untangle="from_rest")


@pytest.mark.prove
@pytest.mark.parametrize("name", FAMILIES)
def test_families(name):
    """Whatever is clean at rest ends clean: no exception."""
    for seed in range(1000, 1010):
        state = family(name, seed)
        result = untangled(list(state.meshes), rest=list(state.clean), bodies=list(state.bodies), max_steps=400)
        assert result.converged and all((a.faces == b.faces).all() for a, b in zip(result.meshes, state.meshes))
        certify(result, state.bodies)
