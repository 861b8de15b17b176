"""Every seed of every tangler is tangled, came from a clean state of the same cloth, and is the same each time."""

import time

import numpy as np
import pytest

import unsnarl as us
from unsnarl.errors import BadInput
from unsnarl.tangles.paths import KINDS
from unsnarl.wardrobe.dress import strains
from unsnarl.wardrobe.tanglers import TANGLERS, Tangled, check_state, count_kinds, tangle
from unsnarl.wardrobe.tanglers.explode import handkerchief
from unsnarl.wardrobe.tanglers.state import GARMENTS, OUTFIT, draped

QUICK = {  # seeds that need few garments, since dressing takes the most time
    "collisions_off": (0, 9), "sewn_across": (5, 8), "explode": (0, 1), "drag": (0, 8), "fold_and_press": (0, 1),
    "wrong_layers": (0, 2), "pinch": (4, 5),
}  # fmt: skip


@pytest.fixture(scope="module", params=[(n, s) for n in QUICK for s in QUICK[n]], ids=lambda p: f"{p[0]}-{p[1]}")
def state(request) -> Tangled:
    return tangle(*request.param)


def test_cloth_passes_through_cloth(state):
    assert any(other < len(state.meshes) for _, other in check_state(state).between())


def test_the_clean_state_is_clean(state):
    assert us.check(state.clean, bodies=state.clean_bodies).clean


def test_the_clean_state_is_clean_for_ipctk(state):
    pytest.importorskip("ipctk")
    assert not us.check(state.clean, bodies=state.clean_bodies).second_opinion()["intersections"]


def test_it_is_the_same_cloth(state):
    assert len(state.meshes) == len(state.clean) == len(state.materials)
    assert len(state.bodies) == len(state.clean_bodies)
    for tangled, clean in zip(state.meshes, state.clean):
        np.testing.assert_array_equal(tangled.faces, clean.faces)
        np.testing.assert_array_equal(tangled.rest, clean.rest)


def test_it_is_still_cloth(state):
    longest = 1 + max(strains(mesh).max() for mesh in state.meshes)
    assert longest <= {"explode": np.inf, "drag": 6}.get(state.name, 3)
    assert sum(len(mesh.x) for mesh in state.meshes) <= 2_500


def test_the_same_seed_gives_the_same_state(state):
    again = tangle(state.name, state.seed)
    for one, two in zip((*state.meshes, *state.clean, *state.bodies), (*again.meshes, *again.clean, *again.bodies)):
        np.testing.assert_array_equal(one.x, two.x)
        np.testing.assert_array_equal(one.faces, two.faces)


def test_other_seeds_give_other_states():
    shapes = {tangle("explode", seed).meshes[0].x.tobytes() for seed in range(10)}
    assert len(shapes) == 10


def test_the_handkerchief_is_that_of_the_paper():
    mesh = handkerchief()
    assert len(mesh.faces) == 388
    assert len(mesh.boundary_loops) == 1
    np.testing.assert_allclose(mesh.areas, 0.5 * (0.6 / 14) ** 2)


def test_an_exploded_handkerchief_has_no_path_to_its_border():
    """Whatever the seed, paths are closed, or end at loop vertices."""
    for seed in range(20):
        state = tangle("explode", seed)
        border = state.clean[0].boundary_vertices
        np.testing.assert_array_equal(state.meshes[0].x[border], state.clean[0].x[border])
        assert set(check_state(state).counts) <= {"CLOSED", "EIGHT", "LL"}


def test_kinds_are_counted():
    shares = []
    counts = count_kinds("explode", range(4), shares.append)
    reports = [check_state(tangle("explode", seed)) for seed in range(4)]
    assert counts.seeds == counts.tangled == 4
    assert counts.extent == (min(len(r.hits) for r in reports), max(len(r.hits) for r in reports))
    assert counts.hits == np.median([len(r.hits) for r in reports])
    assert counts.kinds == {k: sum(r.counts.get(k, 0) for r in reports) for k in counts.kinds}
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_counting_needs_a_seed():
    with pytest.raises(BadInput, match="no seed"):
        count_kinds("explode", [])


def test_an_unknown_tangler_is_named():
    with pytest.raises(BadInput, match="no tangler 'knot'; there are collisions_off"):
        tangle("knot", 0)


@pytest.mark.parametrize("seed", [-1, 0.5, "1", True, None])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(BadInput, match="whole number"):
        tangle("explode", seed)


@pytest.mark.prove
def test_all_seeds_are_tangled_and_all_kinds_occur(capsys):
    for garments in (*GARMENTS, OUTFIT):
        draped(garments)
    table = []
    for name in TANGLERS:
        began = time.perf_counter()
        table.append((count_kinds(name, range(100)), time.perf_counter() - began))
    head = ("tangler", "tangled", "hits, median", "fewest", "most", *KINDS, "s per state")
    rows = [head, ("---",) * len(head)]
    for c, seconds in table:
        rows.append(
            (c.name, c.tangled, f"{c.hits:g}", *c.extent, *(c.kinds[k] for k in KINDS), f"{seconds / c.seeds:.2f}")
        )
    with capsys.disabled():
        print("\n" + "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows))
    assert all(c.tangled == c.seeds == 100 for c, _ in table)
    assert set().union(*(c.kinds for c, _ in table)) == set(KINDS)
