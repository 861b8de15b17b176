"""The families of tangled states: what each promises, for a few seeds."""

import numpy as np
import pytest

import unsnarl as us
from tests.tangles.test_paths import assert_invariants
from unsnarl.errors import BadInput
from unsnarl.scenes import tangles
from unsnarl.scenes.tangles import FAMILIES, family
from unsnarl.scenes.tangles.canonical import KINDS, canonical
from unsnarl.scenes.tangles.tube import along, arc, capsule
from unsnarl.tangles import paths
from unsnarl.wardrobe.dress import strains
from unsnarl.wardrobe.tanglers import TANGLERS, Tangled, check_state, tangle

SHEETS = ("crumpled_sheet", "folded_sheet", "layered_sheets")
TUBES = ("bent_tube", "pressed_tubes")
MADE_HERE = (*KINDS, *SHEETS, *TUBES)
RESOLUTIONS = (10, 27, 60)


@pytest.fixture(scope="module", params=[(n, s) for n in MADE_HERE for s in range(3)], ids=lambda p: f"{p[0]}-{p[1]}")
def state(request) -> Tangled:
    return family(*request.param)


def edge_lengths(mesh, x) -> np.ndarray:
    return np.linalg.norm(x[mesh.edges[:, 0]] - x[mesh.edges[:, 1]], axis=1)


def volume(mesh) -> float:
    a, b, c = (mesh.x[mesh.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def assert_same(one: Tangled, two: Tangled) -> None:
    assert (one.name, one.seed) == (two.name, two.seed)
    assert len(one.meshes) == len(two.meshes)
    for a, b in zip((*one.meshes, *one.clean), (*two.meshes, *two.clean)):
        np.testing.assert_array_equal(a.x, b.x)
        np.testing.assert_array_equal(a.faces, b.faces)
        np.testing.assert_array_equal(a.rest, b.rest)


def test_the_families_come_in_order():
    assert tuple(k.upper() for k in KINDS) == paths.KINDS
    assert list(FAMILIES) == [*MADE_HERE, *TANGLERS]


# --- every state ---


def test_cloth_passes_through_cloth(state):
    report = check_state(state)
    assert len(report.hits) > 0
    if state.name in KINDS:
        assert set(report.counts) == {state.name.upper()}
    assert_invariants(report)


def test_the_clean_state_is_clean(state):
    assert us.check(state.clean).clean


def test_the_clean_state_is_clean_for_ipctk(state):
    pytest.importorskip("ipctk")
    assert not us.check(state.clean).second_opinion()["intersections"]


def test_it_is_the_same_cloth(state):
    assert len(state.meshes) == len(state.clean) == len(state.materials) > 0
    for tangled, clean in zip(state.meshes, state.clean):
        np.testing.assert_array_equal(tangled.faces, clean.faces)
        np.testing.assert_array_equal(tangled.rest, clean.rest)
        assert (tangled.uv is None) == (state.name in TUBES)
        assert strains(clean).max() < 0.05
    assert 200 <= sum(len(mesh.x) for mesh in state.meshes) <= 2_000


def test_it_is_not_stretched_far(state):
    stretch = np.concatenate([strains(mesh) for mesh in state.meshes])
    assert stretch.max() < (2.0 if state.name == "folded_sheet" else 0.8)
    assert np.abs(np.median(stretch)) < 0.05


def test_the_same_seed_gives_the_same_state(state):
    assert_same(state, family(state.name, state.seed))


@pytest.mark.parametrize("name", MADE_HERE)
def test_seeds_differ_by_more_than_place_and_size(name):
    """How long the paths are, relative to the cloth, does not depend on where it is and how large."""
    seeds = range(5)
    states = [family(name, seed) for seed in seeds]
    shares = [sum(p.length for p in check_state(s).paths) / s.clean[0].diagonal for s in states]
    assert np.diff(np.sort(shares)).min() > 1e-4
    assert len({len(s.clean[0].x) for s in states}) > 1


# --- one kind at a time ---


@pytest.mark.parametrize("resolution", RESOLUTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_plain_shape_is_of_its_kind_at_any_resolution(kind, resolution):
    plain = canonical(kind, resolution)
    assert us.check(plain.meshes).counts == {kind.upper(): 1}
    assert us.check(plain.clean).clean
    assert_same(plain, canonical(kind, resolution))
    square = np.median([np.median(edge_lengths(m, m.x)) for m in plain.clean])
    assert square * resolution == pytest.approx(0.45, rel=0.15)  # the middle of 30 to 60 cm


@pytest.mark.parametrize("resolution", RESOLUTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_is_of_its_kind_at_any_resolution(kind, resolution):
    rng = np.random.default_rng(resolution)
    drawn = [canonical(kind, resolution, rng) for _ in range(4)]
    assert all(set(us.check(s.meshes).counts) == {kind.upper()} for s in drawn)
    assert len({s.meshes[0].x.tobytes() for s in drawn}) == 4


def test_closed_has_both_cases_of_two_meshes_and_that_of_one():
    """[A fig. 4a, 4c, 6]"""
    found = {(len(s.meshes), *check_state(s).counts.values()) for s in (family("closed", seed) for seed in range(8))}
    assert found == {(2, 1), (2, 2), (1, 1)}


@pytest.mark.parametrize("kind", ["bb_ii", "bi_bi"])
def test_paths_between_borders_are_between_two_sheets_or_within_one(kind):
    assert {len(family(kind, seed).meshes) for seed in range(12)} == {1, 2}


@pytest.mark.parametrize("kind", ["eight", "ll", "bli", "cross"])
def test_folds_have_their_loop_vertices_on_the_crease(kind):
    for seed in range(3):
        (mesh,) = family(kind, seed).meshes
        (path,) = us.check(mesh).paths
        square = np.diff(np.unique(mesh.uv[:, 0].round(9))).min()
        assert len(path.loop_vertices) == (2 if kind == "ll" else 1)
        assert np.abs(mesh.uv[path.loop_vertices, 0]).max() < 1.5 * square
        if kind in ("eight", "cross"):  # their tip is one vertex, by construction
            np.testing.assert_allclose(mesh.uv[path.loop_vertices], 0.0, atol=1e-12)


# --- sheets and tubes ---


def test_there_are_three_to_five_layers_and_neighbours_cross():
    for seed in range(6):
        state = family("layered_sheets", seed)
        assert 3 <= len(state.meshes) <= 5
        assert any(b == a + 1 for a, b in check_state(state).between())


def test_most_of_a_folded_or_crumpled_sheet_keeps_its_lengths():
    for name in ("folded_sheet", "crumpled_sheet"):
        for seed in range(3):
            (mesh,) = family(name, seed).meshes
            assert np.median(np.abs(strains(mesh))) < 0.1
            assert np.ptp(mesh.x[:, 1]) > 0.02  # it is flat no more


def test_tubes_are_closed_and_pressed_ones_are_one_or_two():
    states = [family(name, seed) for name in TUBES for seed in range(4)]
    for state in states:
        for mesh in state.clean:
            assert not mesh.boundary_edges.any()
            assert len(mesh.x) - len(mesh.edges) + len(mesh.faces) == 2
            assert volume(mesh) > 0
    assert {len(s.meshes) for s in states if s.name == "pressed_tubes"} == {1, 2}


@pytest.mark.parametrize("around", [6, 11, 40])
def test_a_capsule_has_the_volume_of_one(around):
    length, radius = 1.1, 0.13
    tube = capsule(length, radius, around)
    exact = np.pi * radius**2 * (length - 2 * radius) + 4 / 3 * np.pi * radius**3
    assert volume(tube) == pytest.approx(exact, rel=8 / around**2)
    assert volume(tube) < exact
    assert us.check(tube).clean
    longest = edge_lengths(tube, tube.x).max()
    assert longest < 1.3 * 2 * np.pi * radius / around


def test_along_a_straight_line_a_tube_keeps_its_shape():
    tube = capsule(0.7, 0.05, 12)
    x = along(tube, np.outer(np.linspace(0, 3, 50), [0.3, -0.5, 0.8]))
    np.testing.assert_allclose(edge_lengths(tube, x), edge_lengths(tube, tube.x), rtol=1e-9)


def test_along_an_arc_a_tube_is_stretched_outside_as_the_radii_say():
    """Outside lengths grow by r / R, inside they shrink by as much; rings stay as they are."""
    length, radius = 1.0, 0.05
    tube = capsule(length, radius, 24)
    curve = arc(120.0)
    assert np.linalg.norm(np.diff(curve, axis=0), axis=1).sum() == pytest.approx(1.0, rel=1e-4)
    change = edge_lengths(tube, along(tube, curve)) / edge_lengths(tube, tube.x) - 1.0
    most = radius / (length / np.radians(120.0))
    assert 0.6 * most < change.max() <= 1.02 * most
    assert 0.6 * most < -change.min() <= 1.02 * most


# --- the registry ---


def test_tanglers_go_by_their_own_names():
    assert_same(family("explode", 3), tangle("explode", 3))


def test_draws_that_are_not_fit_are_drawn_again(monkeypatch):
    good = family("layered_sheets", 0)
    untangled = Tangled(good.clean, good.clean, good.materials)
    never_clean = Tangled(good.meshes, good.meshes, good.materials)
    large = tuple(m.moved(4.0 * m.x) for m in good.meshes)
    stretched = Tangled(large, good.clean, good.materials)
    draws = iter([untangled, never_clean, stretched, good])
    monkeypatch.setitem(tangles._DRAW, "layered_sheets", lambda rng: next(draws))
    assert family("layered_sheets", 5).meshes == good.meshes
    monkeypatch.setitem(tangles._DRAW, "layered_sheets", lambda rng: untangled)
    with pytest.raises(RuntimeError, match="layered_sheets: seed 5: nothing tangled"):
        family("layered_sheets", 5)


@pytest.mark.parametrize("name", ["knot", "CLOSED", None])
def test_an_unknown_family_is_named(name):
    with pytest.raises(BadInput, match=f"no family of tangles {name!r}; there are closed, eight"):
        family(name, 0)


@pytest.mark.parametrize("seed", [-1, 0.5, "1", True, None])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(BadInput, match="whole number"):
        family("closed", seed)


def test_an_unknown_kind_is_named():
    with pytest.raises(BadInput, match="no kind of path 'knot'; there are closed"):
        canonical("knot", 20)


@pytest.mark.parametrize("resolution", [7, 101, 20.0, "20", True])
def test_a_resolution_is_a_whole_number_in_range(resolution):
    with pytest.raises(BadInput, match="resolution is a whole number from 8 to 100"):
        canonical("closed", resolution)


@pytest.mark.prove
def test_twenty_seeds_of_each_are_as_promised():
    for name in MADE_HERE:
        for seed in range(20):
            state = family(name, seed)
            counts = check_state(state).counts
            assert counts and us.check(state.clean).clean
            assert name not in KINDS or set(counts) == {name.upper()}
