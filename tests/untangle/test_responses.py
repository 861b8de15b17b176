"""Pulls and what may cross: momentum, contours that get shorter, A's rules one by one, the parts that cross back."""

import numpy as np
import pytest

import unsnarl as us
from unsnarl.scenes.tangles import family
from unsnarl.scenes.tangles.canonical import canonical
from unsnarl.tangles.report import TangleReport
from unsnarl.untangle import RESPONSES, gia, icm, rbf
from unsnarl.untangle.boundary import border_distance, boundary_pulls
from unsnarl.untangle.response import Response, Sheets, pulls, sheets_around

KINDS = ("closed", "eight", "ll", "bli", "cross", "bb_ii", "bi_bi")
STATES = [*((kind, 3) for kind in KINDS), ("fold_and_press", 2)]
REACH = 1e-3
NOTHING = Sheets(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0, bool))


def report_on(name: str, seed: int) -> TangleReport:
    state = family(name, seed)
    return us.check(list(state.meshes), bodies=list(state.bodies))


@pytest.mark.parametrize("method", RESPONSES)
@pytest.mark.parametrize("name, seed", STATES)
def test_pulls_keep_momentum_and_angular_momentum(name, seed, method):
    """Whatever the cloth does in the step: both points of a pull get opposite impulses along the line between them."""
    report = report_on(name, seed)
    x, n = report.mesh.x, len(report.mesh.x)
    answer = RESPONSES[method](report, REACH)
    rng = np.random.default_rng(0)
    v, mass = rng.normal(size=(n, 3)), rng.uniform(1e-5, 1e-4, n)
    c = answer.couplings(v, 0.02, 1 / mass, n, 50.0, 0.01)
    change = rng.normal(size=(n, 3))
    relative = np.einsum("cw,cwi->ci", c.weight, change[c.vertex])
    impulse = c.pull - np.einsum("cij,cj->ci", c.block, relative)
    total, turn = np.zeros(3), np.zeros(3)
    for k in range(c.vertex.shape[1]):
        each = c.weight[:, k : k + 1] * impulse
        total += each.sum(axis=0)
        turn += np.cross(x[c.vertex[:, k]], each).sum(axis=0)
    size = np.abs(impulse).sum() + 1e-300
    assert np.abs(total).max() < 1e-12 * size
    assert np.abs(turn).max() < 1e-10 * size * np.abs(x).max()
    if method in ("rbf", "icm", "gia+icm") or (method == "boundary" and name == "bi_bi"):
        assert len(c.vertex) > 0


def test_pulls_reach_their_way_in_a_step_if_nothing_holds_them():
    vertex, weight = np.array([[0, 1, 2, 3]], np.int32), np.array([[1.0, -0.5, -0.25, -0.25]])
    answer = pulls([(vertex, weight, np.array([[0.0, 0.0, 3e-3]]))], NOTHING)
    h, mass = 0.02, np.full(5, 1e-4)
    for most, moved in ((1.0, 3e-3), (1e-3, 1e-3)):
        c = answer.couplings(np.zeros((5, 3)), h, 1 / mass, 5, 1e9, most)
        w = c.weight[0]
        mobility = (w**2).sum() / mass[0]
        speed = (c.pull[0, 2] * mobility) / (1.0 + c.block[0, 2, 2] * mobility)
        assert h * speed == pytest.approx(moved, rel=1e-6)


def test_what_cannot_be_moved_is_not():
    vertex, weight = np.array([[0, 1, 2, 3]], np.int32), np.array([[1.0, -0.5, -0.25, -0.25]])
    way = np.array([[1e-3, 0.0, 0.0]])
    answer = pulls([(vertex, weight, way)], NOTHING)
    body = answer.couplings(np.zeros((4, 3)), 0.02, np.array([1e4, 0, 0, 0]), 1, 10.0, 1.0)
    assert body.vertex.max() == 0 and body.weight[0].tolist() == [1, 0, 0, 0, 0, 0]
    assert len(answer.couplings(np.zeros((4, 3)), 0.02, np.zeros(4), 4, 10.0, 1.0).vertex) == 0
    assert len(Response(*(a[:0] for a in (answer.vertex, answer.weight, answer.way)), answer.sheets)) == 0


def contour(report: TangleReport) -> float:
    return sum(path.length for path in report.paths)


@pytest.mark.parametrize(
    "name, seed", [("closed", 3), ("closed", 1), ("layered_sheets", 0), ("bb_ii", 0), ("bent_tube", 1)]
)
def test_contours_get_shorter_along_their_gradient(name, seed):
    """A small move of edges along G, and of faces against it, makes the contours shorter, the other way longer."""
    report = report_on(name, seed)
    answer = icm.respond(report, REACH)
    step = np.zeros_like(report.mesh.x)
    for k in range(answer.vertex.shape[1]):
        np.add.at(step, answer.vertex[:, k], answer.weight[:, k : k + 1] * answer.way)
    step *= 1e-4 * report.mesh.diagonal / np.abs(step).max()
    lengths = [contour(us.check(report.mesh.moved(report.mesh.x + s * step))) for s in (-1.0, 0.0, 1.0)]
    assert lengths[2] < lengths[1] < lengths[0]


def test_targets_are_where_the_sheets_meet():
    """A bump through a flat sheet: what is inside on either is drawn to what is inside on the other."""
    report = us.check(list(canonical("closed", 24).meshes))
    vertex, weight, image, target = rbf.find_targets(report)
    regions = [set(report.regions.inside(k).tolist()) for k in range(2 * len(report.path_list))]
    assert set(image.tolist()) == {k for k, r in enumerate(regions) if r}
    for k, region in enumerate(regions):
        assert set(vertex[image == k, 0].tolist()) == region
        around = regions[k ^ 1] | set(report.mesh.faces[report.paths[k // 2].faces[(k ^ 1) % 2]].ravel().tolist())
        inside = np.isin(report.mesh.faces[target[image == k]], list(around)).any(axis=1)
        assert inside.mean() > 0.9
    assert weight.sum(axis=1) == pytest.approx(0, abs=1e-12)


def test_loops_are_drawn_onto_themselves():
    """LL: the spline takes one half of what is inside to the other."""
    report = us.check(list(canonical("ll", 24).meshes))
    vertex, _, image, target = rbf.find_targets(report)
    inside = set(report.regions.inside(0).tolist())
    assert (image == 0).all() and set(vertex[:, 0].tolist()) <= inside
    assert len(vertex) > 0.5 * len(inside)
    near = inside | set(report.mesh.faces[report.paths[0].faces[0]].ravel().tolist())
    assert np.isin(report.mesh.faces[target], list(near)).any(axis=1).mean() > 0.9


def test_rules_of_a():
    """Black and white attract, red is left alone, and nothing without a colour is drawn."""
    closed = us.check(list(canonical("closed", 24).meshes))
    answer = gia.respond(closed, REACH)
    black, white = (set(closed.regions.inside(k).tolist()) for k in range(2))
    assert len(answer) > 0
    for vertex, weight in zip(answer.vertex, answer.weight):
        one, other = set(vertex[weight > 0].tolist()), set(vertex[weight < 0].tolist())
        assert (one <= black and other <= white) or (one <= white and other <= black)
    assert len(gia.respond(us.check(list(canonical("ll", 24).meshes)), REACH)) == 0
    assert len(gia.respond_with_contours(us.check(list(canonical("ll", 24).meshes)), REACH)) > 0


def test_distance_to_the_border():
    mesh = us.TriMesh(*_grid(9))
    distance = border_distance(mesh)
    to_border = np.minimum(mesh.x[:, :2], 8 - mesh.x[:, :2]).min(axis=1)
    assert distance == pytest.approx(to_border)
    closed = family("bent_tube", 0).meshes[0]
    assert np.isinf(border_distance(closed)).all()


def _grid(n):
    x = np.array([(i, j, 0.0) for j in range(n) for i in range(n)])
    faces = [(j * n + i, j * n + i + 1, j * n + i + n) for j in range(n - 1) for i in range(n - 1)]
    faces += [(j * n + i + 1, j * n + i + n + 1, j * n + i + n) for j in range(n - 1) for i in range(n - 1)]
    return x, np.array(faces)


def test_two_sheets_that_cross_at_their_borders_are_pushed_apart_along_the_path():
    """Two playing cards, each with an edge through the other: moved along the path, by its length and a bit."""
    x, faces = _grid(9)
    one = us.TriMesh(x + (0.03, 0.01, 0.0), faces)
    two = us.TriMesh(x[:, [2, 1, 0]] + (6.27, 0.4, -4.13), faces)
    report = us.check([one, two])
    assert report.counts == {"BI_BI": 1}
    vertex, _, way = boundary_pulls(report)
    assert len(vertex) == len(report.hits)
    path = report.paths[0]
    along = (path.points[-1] - path.points[0]) / np.linalg.norm(path.points[-1] - path.points[0])
    first_edges = vertex[:, 0] < len(x)  # the edge is of the first card: it moves so, against the second
    signed = np.where(first_edges[:, None], way, -way)
    assert np.ptp(signed, axis=0) == pytest.approx(0, abs=1e-12)
    assert abs(signed[0] @ along) > 0.9 * np.linalg.norm(signed[0])
    apart = us.check([one.moved(one.x + signed[0]), two])
    assert apart.clean


def test_what_may_cross_is_what_belongs_to_two_parts_of_one_path():
    rng = np.random.default_rng(3)
    paths, n = 5, 30
    parts = [np.sort(rng.choice(n, rng.integers(0, 9), replace=False)) for _ in range(2 * paths)]
    one = np.array([True, False, False, True, False])
    parts = [p[:0] if k % 2 and one[k // 2] else p for k, p in enumerate(parts)]
    start = np.cumsum([0] + [len(p) for p in parts]).astype(np.int32)
    sheets = Sheets(start, np.concatenate(parts).astype(np.int32), one)
    kind = rng.integers(0, 2, 4000).astype(np.int32)
    vertex = rng.integers(0, n, (4000, 4)).astype(np.int32)
    got = sheets.cross(kind, vertex)
    assert 0 < got.sum() < 2000
    for k, row, may in zip(kind, vertex.tolist(), got):
        a, b = set(row[: 1 + k]), set(row[1 + k :])
        expected = False
        for p in range(paths):
            first, second = set(parts[2 * p]), set(parts[2 * p] if one[p] else parts[2 * p + 1])
            expected = expected or (a <= first and b <= second) or (a <= second and b <= first)
        assert may == expected
    assert not NOTHING.cross(kind, vertex).any()


def test_parts_are_what_is_inside_and_one_ring_around_the_path():
    report = us.check(list(canonical("closed", 16).meshes))
    sheets = sheets_around(report)
    for k in range(2):
        got = set(sheets.vertex[sheets.start[k] : sheets.start[k + 1]].tolist())
        near = set(report.regions.inside(k).tolist()) | set(
            report.mesh.faces[report.paths[0].faces[k]].ravel().tolist()
        )
        ring = set(report.mesh.faces[np.isin(report.mesh.faces, list(near)).any(axis=1)].ravel().tolist())
        assert got == near | ring
