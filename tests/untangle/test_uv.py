"""D's method: red never increases, green never crosses anything, fans do not interfere, rest shapes come back."""

from itertools import pairwise

import numpy as np
import pytest

import unsnarl as us
from unsnarl.detect.features import surfaces
from unsnarl.detect.sweep import find_collisions
from unsnarl.geometry.ccd import NO_COLLISION, edge_edge_ccd, point_triangle_ccd
from unsnarl.mesh.primitives import sheet
from unsnarl.scenes.tangles import exploded_handkerchief, family
from unsnarl.scenes.tangles.canonical import canonical
from unsnarl.simulation.scene import Cloth, Scene
from unsnarl.simulation.simulate import Simulator
from unsnarl.tangles.report import TangleReport
from unsnarl.untangle import rbf, uv
from unsnarl.untangle.auto import PATIENCE, Auto
from unsnarl.untangle.m_cch import RedCrossesRed
from unsnarl.untangle.response import pulls, sheets_around

SIX = ("closed", "eight", "ll", "cross", "bb_ii", "bi_bi")


@pytest.fixture
def watched(monkeypatch):
    """A list of what each step began with: report, colours, paths left to E, and the state of the method."""
    seen = []
    edit = uv.UvPulls._edit

    def look(self, report, colours):
        edit(self, report, colours)
        state = {key: getattr(self, key).copy() for key in ("doing", "target", "face", "count", "rest")}
        seen.append((report, colours, self._seen[2].copy(), state, self.original))

    monkeypatch.setattr(uv.UvPulls, "_edit", look)
    return seen


def untangled(state, steps=300):
    return us.untangle(state.meshes, rest=state.clean, bodies=state.bodies, method="uv", max_steps=steps)


def red(result):
    return [entry["red_vertices"] for entry in result.history]


def assert_monotone(result):
    counts = red(result)
    assert all(a >= b for a, b in pairwise(counts)), counts


CASES = [("closed", 0), ("eight", 1), ("ll", 3), ("bb_ii", 1), ("cross", 4), ("bi_bi", 4), ("explode", 3), ("bli", 2)]


@pytest.mark.parametrize("name, seed", CASES)
def test_each_kind_gets_free_and_red_never_increases(name, seed):
    state = family(name, seed)
    result = untangled(state)
    assert result.converged and not result.certified["intersections"]
    assert result.turns == ("uv",)
    assert_monotone(result)
    assert all((m.rest == s.rest).all() for m, s in zip(result.meshes, state.meshes))


@pytest.mark.prove
@pytest.mark.parametrize("name", [*SIX, "explode", "layered_sheets", "pressed_tubes", "bent_tube"])
def test_red_never_increases_over_five_hundred_states(name):
    for seed in range(1000, 1050):
        assert_monotone(untangled(family(name, seed), 120))


@pytest.mark.parametrize("name, seed", [("ll", 3), ("ll", 5), ("bb_ii", 1), ("cross", 4)])
def test_what_is_green_crosses_nothing(watched, name, seed):
    """[D §7] From step to step no green vertex passes a face, and no face that is not red is passed; seen from outside,
    by continuous detection along straight ways. Only steps in which D's method was alone."""
    untangled(family(name, seed))
    looked = 0
    for (before, colours, left, *_), (after, *_) in pairwise(watched):
        if left.any():
            continue
        looked += 1
        mesh = before.mesh
        found = find_collisions(surfaces(mesh, len(mesh.x)), mesh.x, after.mesh.x, 0.0, let_go=True)
        corners = found.vertex[found.kind == 0]
        through = [
            row for row in corners
            if point_triangle_ccd(mesh.x, after.mesh.x, *row, 0.0)[0] != NO_COLLISION
        ]  # fmt: skip
        assert all(colours.vertices[v] for v, *_ in through)
    assert looked >= 3


@pytest.mark.parametrize("name, seed", [("ll", 3), ("explode", 5), ("bb_ii", 1)])
def test_fans_that_are_edited_do_not_touch(watched, name, seed):
    """[D §6, cases 1 to 3] and nothing inverts: every face keeps the sense of its rest shape."""
    untangled(family(name, seed))
    busy = 0
    for report, colours, _, state, original in watched:
        doing, target, face = state["doing"], state["target"], state["face"]
        a, b = report.mesh.edges.T
        both = (doing[a] > 0) & (doing[b] > 0)
        partners = (doing[a] == uv.SHRINK) & (doing[b] == uv.SHRINK) & (face[a] == face[b])
        assert partners[both].all()
        pulled = np.flatnonzero(doing == uv.PULL)
        assert colours.vertices[pulled].all() and not colours.vertices[target[pulled]].any()
        shrunk = np.flatnonzero(doing == uv.SHRINK)
        assert colours.red_star[face[shrunk]].all()
        busy += len(pulled) + len(shrunk)
        same = np.linalg.det(state["rest"]) * np.linalg.det(original)
        assert (same > 0.0).all()
        moved = (state["rest"] != original).any(axis=(1, 2))
        around = (doing[report.mesh.faces[: len(original)]] > 0).any(axis=1)
        assert not moved[~around].any()  # bit for bit
    assert busy > 10


def test_shapes_are_the_old_ones_once_nothing_is_pulled(watched):
    state = family("eight", 1)
    result = untangled(state)
    assert result.converged
    simulator = Simulator(Scene([Cloth(state.clean[0])], untangle="uv"))
    simulator.respond.rest *= 0.5
    simulator.respond.begin_again()
    assert (simulator.respond.rest == simulator.respond.original).all()


def brute_reds(report: TangleReport, colours, kind, row):
    mesh = report.mesh

    def edge(a, b):
        e = int(np.flatnonzero((mesh.edges == sorted((a, b))).all(axis=1))[0])
        return bool(colours.edges[e])

    if kind == 1:
        return edge(row[0], row[1]) + edge(row[2], row[3])
    f = int(np.flatnonzero((np.sort(mesh.faces, axis=1) == sorted(row[1:])).all(axis=1))[0])
    return bool(colours.vertices[row[0]]) + bool(colours.faces[f])


@pytest.mark.parametrize("name, seed", [("ll", 1), ("cross", 4), ("explode", 3)])
def test_m_cch_lets_red_cross_red_alone(name, seed):
    """Against the definition, pair by pair: red and red may cross; red and green keep APART, green and green less."""
    state = family(name, seed)
    report = us.check(list(state.meshes))
    colours, mesh = report.red_green, report.mesh
    rng = np.random.default_rng(seed)
    edge = float(np.linalg.norm(np.diff(mesh.x[mesh.edges], axis=1), axis=2).mean())
    x1 = mesh.x + rng.normal(scale=0.5 * edge, size=mesh.x.shape)
    apart, least = 0.1 * edge, 0.01 * edge
    m_cch = RedCrossesRed(mesh, colours, apart)
    found = find_collisions(surfaces(mesh, len(mesh.x)), mesh.x, x1, apart)
    held = m_cch.held(found, mesh.x, x1, least)
    kept = {(int(k), *map(int, row)) for k, row in zip(held.kind, held.vertex)}
    crossing = m_cch.cross(found.kind, found.vertex)
    counts = np.zeros(3, int)
    some = rng.permutation(len(found))[:400]
    for k, row, cross in zip(found.kind[some], found.vertex[some], crossing[some]):
        reds = brute_reds(report, colours, k, row.tolist())
        counts[reds] += 1
        assert cross == (reds == 2)
        ask = point_triangle_ccd if k == 0 else edge_edge_ccd
        if reds == 0 and (int(k), *map(int, row)) not in kept:
            assert ask(mesh.x, x1, *row, 0.0)[0] == NO_COLLISION
        elif reds:
            assert ((int(k), *map(int, row)) in kept) == (reds == 1)
    assert (counts > 0).all(), counts


def test_seams_between_panels_and_within_one():
    """A seam between two panels, and a dart: panel by panel, as the table of D asks."""
    uv_rows = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [2, 0], [2, 1], [3, 0], [3, 1]], float)
    faces = np.array([[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]])
    x = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0], [2, 1, 0]], float)
    two = us.TriMesh(x, faces, uv=uv_rows, face_uv=np.array([[0, 1, 2], [0, 2, 3], [4, 6, 7], [4, 7, 5]]))
    assert [uv.KINDS[k] for k in uv.seam_kinds(two)] == [
        "OffSeam",
        "OnSeam-A",
        "OnSeam-A",
        "OffSeam",
        "OffSeam",
        "OffSeam",
    ]
    one = us.TriMesh(x, faces, uv=uv_rows, face_uv=np.array([[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]]))
    assert not uv.seam_kinds(one).any()
    # a dart: the fan around vertex 0 is open in the panel and closed in space
    ring = np.linspace(0.0, 1.5 * np.pi, 7)
    flat = np.concatenate([[[0, 0]], np.column_stack([np.cos(ring), np.sin(ring)])])
    cone = np.array([[0, i, i + 1] for i in range(1, 6)] + [[0, 6, 1]])
    tips = np.concatenate([[[0, 0, 1.0]], np.column_stack([np.cos(a := np.arange(6)), np.sin(a), np.zeros(6)])])
    dart = us.TriMesh(tips, cone, uv=flat, face_uv=np.array([[0, i, i + 1] for i in range(1, 7)]))
    assert [uv.KINDS[k] for k in uv.seam_kinds(dart)[:3]] == ["OnSeam-B", "OnSeam-B", "OffSeam"]


def test_exploded_as_much_as_in_the_paper():
    state = exploded_handkerchief.build(0)
    report = us.check(list(state.meshes))
    assert len(state.meshes[0].faces) == 388 and len(report.segments) > 3000
    result = untangled(state)
    assert result.converged and result.steps <= 75
    assert_monotone(result)


@pytest.mark.parametrize("method", ["uv", "auto"])
def test_going_on_from_a_snapshot_gives_the_same_bits(method):
    state = family("ll", 3)
    scene = Scene([Cloth(state.meshes[0])], gravity=0.0, fps=50.0, substeps=1, untangle=method, frames=100)
    once, again = Simulator(scene), Simulator(scene)
    for _ in range(3):
        once.advance()
    again.restore(once.snapshot())
    for _ in range(3):
        once.advance()
        again.advance()
    assert (once.x == again.x).all() and (once.v == again.v).all()


def test_in_a_simulation_it_frees_the_cloth_and_gives_its_shapes_back():
    state = canonical("closed", 14)
    scene = Scene(
        [Cloth(m) for m in state.meshes], gravity=0.0, air=5.0, fps=50.0, substeps=1, untangle="uv", frames=200
    )
    simulator = Simulator(scene)
    shape = simulator.system.shape.copy()
    for _ in range(120):
        if simulator.advance().stats["ef_pairs"] == 0:
            break
    simulator.advance()
    assert simulator.stats["ef_pairs"] == 0
    assert (simulator.system.shape == shape).all()


def test_auto_goes_over_when_forces_stall():
    """The watchdog: as long as hits become less it is the turn of the forces; then it is that of `uv`, and back."""
    state = family("ll", 3)
    report = us.check(list(state.meshes))
    auto = Auto(uv.UvPulls(state.meshes, len(report.mesh.x), np.zeros(len(report.mesh.x), bool)))
    turned = [auto.watch(report) for _ in range(PATIENCE[0] + 1)]
    assert turned == [False] * PATIENCE[0] + [True] and auto.turn == 1 and auto.lost == 0
    assert auto.red_of(report).any()
    turned = [auto.watch(report) for _ in range(PATIENCE[1] + 1)]
    assert turned[-1] and auto.turn == 0 and auto.lost == 1 and auto.red_of(report) is None


def test_auto_leaves_a_clean_mesh_to_itself():
    mesh = sheet((0.4, 0.4), (4, 4))
    result = us.untangle(mesh)
    assert result.converged and result.steps == 0 and result.turns == ("rbf",) and (result.mesh.x == mesh.x).all()


def test_auto_falls_into_the_net_where_all_else_stalls(monkeypatch):
    """With forces and `uv` that do nothing, the result is that of `from_rest`, and it is clean."""

    def nothing(report, reach, only=None):
        return pulls([], sheets_around(report))

    monkeypatch.setattr(uv.UvPulls, "__call__", lambda self, report, reach: nothing(report, reach))
    monkeypatch.setattr(rbf, "respond", nothing)
    wide, narrow = sheet((0.4, 0.4), (8, 8)), sheet((0.1, 0.3), (3, 9))
    upright = narrow.moved(narrow.x @ np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]]) + [0.01, 0.013, 0.017])
    result = us.untangle([wide, upright], max_steps=400)
    assert result.converged and result.turns == ("rbf", "uv", "from_rest")
