"""Collisions found through the tree are those of all pairs of features, however degenerate the motion."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from tests.mesh.shapes import grid
from unsnarl.detect.features import faces_apart, largest_face, surfaces
from unsnarl.detect.nearby import Nearby
from unsnarl.detect.sweep import KEEP, find_collisions
from unsnarl.mesh import TriMesh, combine, split_non_manifold
from unsnarl.mesh.primitives import sphere


def rows(found):
    return [(kind, *vertex) for kind, vertex in zip(found.kind.tolist(), found.vertex.tolist())]


def same(a, b):
    return all(np.array_equal(getattr(a, key), getattr(b, key)) for key in a.__dataclass_fields__)


def assert_collisions_are_right(mesh, cloth, x0, x1, separation, changed):
    """find_collisions says what all pairs say, at the same times; `changed` leaves out just what it should."""
    on = surfaces(mesh, cloth)
    found = find_collisions(on, x0, x1, separation)
    expected = oracles.collisions_of(x0, x1, mesh.faces, on.ids, cloth, separation, KEEP)
    assert list(zip(rows(found), found.time.tolist())) == expected
    np.testing.assert_allclose(found.weight.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(np.abs(found.weight).sum(axis=1), 2, atol=1e-12)
    assert np.isin(np.round(np.linalg.norm(found.normal, axis=1), 9), (0.0, 1.0)).all()
    some = find_collisions(on, x0, x1, separation, changed)
    those = changed[found.vertex].any(axis=1)
    assert same(some, type(found)(*(getattr(found, key)[those] for key in found.__dataclass_fields__)))
    assert_same_from_what_is_known(on, x0, x1, separation, changed, found)
    return found


def assert_same_from_what_is_known(on, x0, x1, separation, strays, found):
    """The same is found if the step was searched before, for a motion that is not quite the one it comes to."""
    rng = np.random.default_rng(len(x0))
    size = np.abs(x0).max() + separation
    for share in (1.0, 0.9999, 1e-3):  # of the room that there is, by which vertices are off
        for more in (1e-6, 0.1, 3.0):
            off = rng.standard_normal(x1.shape)
            off *= 0.5 * share * more * size / np.maximum(np.linalg.norm(off, axis=1), 1e-300)[:, None]
            for expected in (x1 + off, x1 + off * np.where(strays, 100.0, 1.0)[:, None]):
                nearby = Nearby(on)
                nearby.pairs(x0, expected, separation + more * size)
                for _ in range(2):
                    assert same(found, find_collisions(on, x0, x1, separation, nearby=nearby))


coordinates = {
    "tiny integer grid": st.integers(0, 2).map(float),
    "flat": st.sampled_from([0.0, 0.0, 0.0, 1.0]),
    "floats": st.integers(-(2**53), 2**53).map(lambda k: k / 2**53),
    "nearly equal": st.sampled_from([1.0, 1.0 + 2**-52, 1.0 - 2**-53, 2.0]),
    "far away": st.integers(-(2**20), 2**20).map(lambda k: 1e4 + k / 2**29),
}


@st.composite
def moving_soups(draw):
    """Triangles between a few points that move: the mesh, how much of it is cloth, x0, x1, and some vertices.

    Vertices and faces are duplicated, faces have no area, edges have more than two faces; or the mesh is cut open along
    those, and the copies do not keep together. Motions may be in one plane, of few vertices only, or of all alike.
    """
    n = draw(st.integers(4, 8))
    coordinate = coordinates[draw(st.sampled_from(sorted(coordinates)))]
    point = st.tuples(coordinate, coordinate, coordinate)
    points = st.lists(point, min_size=n, max_size=n).map(np.array)
    face = st.lists(st.integers(0, n - 1), min_size=3, max_size=3, unique=True)
    x0, x1 = draw(points), draw(points)
    mesh = TriMesh(x0, np.array(draw(st.lists(face, min_size=1, max_size=8))))
    motion = draw(st.sampled_from(["all", "one", "plane", "shift", "none"]))
    if motion == "one":
        x1 = np.where((np.arange(n) == n - 1)[:, None], x1, x0)
    elif motion == "plane":
        x0[:, 2] = x1[:, 2] = x0[0, 2]
    elif motion in ("shift", "none"):
        x1 = x0 + (x1[0] - x0[0] if motion == "shift" else 0.0)
    mesh = mesh.moved(x0)
    if draw(st.booleans()):
        mesh = split_non_manifold(mesh)
        x0, x1 = mesh.x, x1[:n] if mesh.origin is None else x1[mesh.origin]
        if draw(st.booleans()):
            x0, x1 = x0.copy(), x1.copy()
            for v in range(n, len(x0)):
                x0[v], x1[v] = draw(point), draw(point)
    cloth = len(x0)
    if draw(st.booleans()):
        body = TriMesh(draw(points), np.array(draw(st.lists(face, min_size=1, max_size=3))))
        mesh = combine([mesh, body])
        x0, x1 = np.concatenate([x0, body.x]), np.concatenate([x1, draw(points)])
    changed = np.array(draw(st.lists(st.booleans(), min_size=len(x0), max_size=len(x0))))
    return mesh, cloth, x0, x1, changed


def check_soup(soup, separation):
    mesh, cloth, x0, x1, changed = soup
    if abs(x0[0, 0]) > 1e3:
        separation *= 1e-3
    assert_collisions_are_right(mesh, cloth, x0, x1, separation, changed)


separations = st.sampled_from([0.0, 1e-3, 0.05, 0.5, 3.0])


@settings(max_examples=600, deadline=None)
@given(moving_soups(), separations)
def test_soups(soup, separation):
    check_soup(soup, separation)


@pytest.mark.prove
@settings(max_examples=6000, deadline=None)
@given(moving_soups(), separations)
def test_many_soups(soup, separation):
    check_soup(soup, separation)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["grid", "slide", "fall", "crumple", "stretch"]))
def test_sheets_and_bodies(seed, motion):
    """Two sheets and a body, numbered at random; they slide within a plane, fall flat on each other, crumple."""
    rng = np.random.default_rng(seed)
    x, faces = grid(2, 3)
    x2, faces2 = grid(3, 2)
    shift = np.array([*rng.integers(-1, 2, 2), rng.integers(0, 2)])
    parts = [TriMesh(x, rng.permutation(faces)), TriMesh(x2 + shift, rng.permutation(faces2))]
    parts.append(sphere(1.0, 20).moved(sphere(1.0, 20).x + [1, 1, -2]))
    mesh = combine(parts)
    cloth = len(x) + len(x2)
    x0 = mesh.x.copy()
    if motion == "grid":
        x0[:cloth] = rng.integers(0, 4, (cloth, 3))
        x1 = rng.integers(0, 4, x0.shape).astype(float)
    elif motion == "slide":
        x1 = x0.copy()
        x1[len(x) : cloth, :2] += rng.integers(-2, 3, 2)
    elif motion == "fall":
        x1 = x0 - [0, 0, 2]
        x1[: len(x)] = x0[: len(x)]
    elif motion == "stretch":
        x1 = x0 * rng.uniform(0, 3, 3)
    else:
        x1 = x0 + 0.7 * rng.standard_normal(x0.shape)
    x1[cloth:] = x0[cloth:] + rng.integers(-1, 2, 3)
    changed = rng.random(len(x0)) < 0.2
    found = assert_collisions_are_right(mesh, cloth, x0, x1, 0.01, changed)
    if motion == "crumple":
        at = x0[found.vertex] + found.time[:, None, None] * (x1 - x0)[found.vertex]
        between = (found.weight[:, :, None] * at).sum(axis=1)
        start = found.time > 0
        np.testing.assert_allclose(between[start], 0.01 * found.normal[start], atol=1e-9)


def check_that_nothing_is_missed(soup):
    """Every pair of features that touches on its way, by exact arithmetic, is among the collisions, and not later."""
    mesh, cloth, x0, x1, _ = soup
    on = surfaces(mesh, cloth)
    found = find_collisions(on, x0, x1, 1e-3)
    times = dict(zip(rows(found), found.time.tolist()))
    for pair in oracles.feature_pairs(mesh.faces, on.ids, cloth):
        corners = list(pair[1:])
        low, high = np.minimum(x0, x1)[corners], np.maximum(x0, x1)[corners]
        one = slice(0, 1) if pair[0] == 0 else slice(0, 2)
        other = slice(1, 4) if pair[0] == 0 else slice(2, 4)
        if (low[one].min(0) > high[other].max(0)).any() or (low[other].min(0) > high[one].max(0)).any():
            continue
        true = oracles.first_contact(x0[corners], x1[corners], pair[0] == 0)
        assert true is None or times[pair] <= true


@settings(max_examples=50, deadline=None)
@given(moving_soups())
def test_nothing_that_meets_is_missed(soup):
    check_that_nothing_is_missed(soup)


@pytest.mark.prove
@settings(max_examples=600, deadline=None)
@given(moving_soups())
def test_nothing_is_missed_in_many_soups(soup):
    check_that_nothing_is_missed(soup)


def test_by_hand():
    """A vertex falls on a face, and an edge on an edge."""
    x0 = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0], [1, 1, 1], [1, 2, 2], [2, 1, 2.0]])
    mesh = TriMesh(x0, np.array([[0, 1, 2], [3, 4, 5]]))
    x1 = x0.copy()
    x1[3:, 2] -= 1.5
    found = find_collisions(surfaces(mesh, 6), x0, x1, 0.25)
    assert rows(found) == [(0, 3, 0, 1, 2)]
    np.testing.assert_allclose(found.time, [0.5], atol=1e-9)
    np.testing.assert_allclose(found.weight, [[1, -0.5, -0.25, -0.25]], atol=1e-9)
    np.testing.assert_allclose(found.normal, [[0, 0, 1]], atol=1e-9)

    x0 = np.array([[-1, 0, 0], [3, 0, 0], [0, 0, -5], [0, -1, 1], [0, 1, 1], [0, 0, 6.0]])
    mesh = TriMesh(x0, np.array([[0, 1, 2], [3, 4, 5]]))
    x1 = x0.copy()
    x1[3:, 2] -= 1.0
    found = find_collisions(surfaces(mesh, 6), x0, x1, 0.25)
    assert rows(found) == [(1, 0, 1, 3, 4)]
    np.testing.assert_allclose(found.time, [0.75], atol=1e-9)
    np.testing.assert_allclose(found.weight, [[0.75, 0.25, -0.5, -0.5]], atol=1e-9)
    np.testing.assert_allclose(found.normal, [[0, 0, -1]], atol=1e-9)


def crumpled(size, seed, scale=0.02):
    x, faces = grid(size, size)
    rng = np.random.default_rng(seed)
    x = x / size
    for c in range(3):
        x[:, c] += 0.1 * np.sin(9 * x @ rng.standard_normal(3) + rng.uniform(0, 6))
    return TriMesh(x + scale / size * rng.standard_normal(x.shape), faces), rng


def test_same_answer_with_any_number_of_threads(monkeypatch):
    mesh, rng = crumpled(40, 0)
    on = surfaces(mesh, len(mesh.x))
    x1 = mesh.x + 0.02 * rng.standard_normal(mesh.x.shape)
    changed = rng.random(len(mesh.x)) < 0.5
    answers = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("UNSNARL_THREADS", threads)
        answers.append([find_collisions(on, mesh.x, x1, 1e-3, some) for some in (None, changed)])
    assert len(answers[0][0]) > 1000
    for other in answers[1:]:
        assert same(answers[0][0], other[0]) and same(answers[0][1], other[1])
    assert rows(answers[0][0]) == sorted(rows(answers[0][0]))


def test_answer_does_not_depend_on_the_tree():
    """A tree that was built elsewhere and refitted gives the same rows in the same order, bit for bit."""
    mesh, rng = crumpled(20, 1)
    x1 = mesh.x + 0.03 * rng.standard_normal(mesh.x.shape)
    first = find_collisions(surfaces(mesh, len(mesh.x)), mesh.x, x1, 1e-3)
    elsewhere = mesh.moved(rng.standard_normal(mesh.x.shape))
    assert same(first, find_collisions(surfaces(elsewhere, len(mesh.x)), mesh.x, x1, 1e-3))
    assert len(first) > 300


def test_what_moves_as_one_never_collides():
    """Not even if it starts much nearer than the separation; but where distances shrink below KEEP, it does."""
    mesh, rng = crumpled(12, 2)
    both = combine([mesh, mesh.moved(mesh.x + [0, 0, 1e-5])])
    on = surfaces(both, len(both.x))
    x0, centre = both.x, both.x.mean(axis=0)
    assert len(find_collisions(on, x0, x0.copy(), 0.05)) == 0
    assert len(find_collisions(on, x0, x0 + rng.standard_normal(3), 0.05)) == 0
    for degrees, clean in ((60, True), (70, True), (80, False)):  # cos(half the angle) is 0.87, 0.82, 0.77
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        turned = centre + (x0 - centre) @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]).T
        assert (len(find_collisions(on, x0, turned, 0.05)) == 0) == clean
    closer = x0.copy()
    closer[len(mesh.x) :, 2] -= 0.1e-5
    assert len(find_collisions(on, x0, closer, 0.05)) == 0
    closer[len(mesh.x) :, 2] -= 0.2e-5
    assert len(find_collisions(on, x0, closer, 0.05)) > 0


# --- faces_apart ---


def pairs_within(x0, x1, faces, ids, least):
    """Pairs of features of two faces that come within `least`, exactly; the fast test goes first: it never misses."""
    found = []
    for (kind, *corners), _ in oracles.collisions_of(x0, x1, faces, ids, len(x0), least, np.inf):
        if oracles.first_contact(x0[corners], x1[corners], kind == 0, least) is not None:
            found.append((kind, *corners))
    return found


@st.composite
def faces_at_the_limit(draw):
    """Two faces, of which some features are about `least` apart, along the very direction that faces_apart tries.

    They share no corner, one, or copies of one that may be in different places.
    """
    seed = draw(st.integers(0, 2**32 - 1))
    shared = draw(st.sampled_from(["none", "corner", "copy", "stray copy"]))
    rng = np.random.default_rng(seed)
    height = draw(st.sampled_from([1e-6, 1e-3, 0.1, 1.0]))
    wide = draw(st.sampled_from([1e-3, 1.0, 50.0]))

    def spread(k):  # points in the plane z = 0, with their mean in the middle
        p = rng.standard_normal((k, 3)) * [wide, wide, 0]
        return p - p.mean(axis=0)

    def state():
        if shared == "none":
            return np.concatenate([spread(3) + [0, 0, height], spread(3)])
        stray = rng.standard_normal(3) * wide if shared == "stray copy" else 0.0
        return np.concatenate(
            [np.zeros((1, 3)), spread(2) + [0, 0, height], [np.zeros(3) + stray], spread(2) - [0, 0, height]]
        )

    x0 = state()
    x1 = state() if draw(st.booleans()) else x0.copy()
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0] if draw(st.booleans()) else np.eye(3)
    size = draw(st.sampled_from([1e-9, 1e-3, 1.0, 1e6]))
    offset = draw(st.sampled_from([0.0, 1.0, 1e4])) * rng.standard_normal(3)
    x0, x1 = x0 @ turn * size + offset, x1 @ turn * size + offset
    faces = np.array([[0, 1, 2], [3, 4, 5]], dtype=np.int32)
    ids = np.arange(6, dtype=np.int32)
    if shared == "corner":
        faces[1, 0] = 0
    elif shared != "none":
        ids[3] = 0
    faces = np.array([np.roll(face, rng.integers(3)) for face in faces], dtype=np.int32)
    factor = draw(st.sampled_from([0.5, 1 - 1e-6, 1 - 2e-9, 1 - 1e-12, 1.0, 1 + 1e-12, 1 + 1e-6, 1.5]))
    return x0, x1, faces, ids, height * size * factor


@settings(max_examples=800, deadline=None)
@given(faces_at_the_limit(), st.booleans())
def test_faces_apart_never_hides_what_comes_near(case, swap):
    x0, x1, faces, ids, least = case
    size = 4.0 * (largest_face(x0, x1, faces) + least)
    f, g = (1, 0) if swap else (0, 1)
    if faces_apart(x0, x1, True, faces, ids, f, g, least, size):
        assert pairs_within(x0, x1, faces, ids, least) == []
    if faces_apart(x0, x1, False, faces, ids, f, g, least, size):
        assert pairs_within(x0, x0, faces, ids, least) == []


def test_faces_apart_rules_out_what_is_clearly_apart():
    """It is of some use: for the pairs of faces above, with half the distance asked for, it mostly says so."""
    x = np.array([[0, 0, 0], [-1, 0, 1], [1, 0, 1], [0, -1, -1], [0, 1, -1.0], [0, 0, 0]])
    ids = np.array([0, 1, 2, 3, 4, 0], dtype=np.int32)
    for faces in ([[0, 1, 2], [0, 3, 4]], [[0, 1, 2], [5, 3, 4]]):
        faces = np.array(faces, dtype=np.int32)
        assert faces_apart(x, x, True, faces, ids, 0, 1, 0.5, 10.0)
        assert faces_apart(x, x, True, faces, ids, 1, 0, 0.5, 10.0)
        assert not faces_apart(x, x, True, faces, ids, 0, 1, 1.0, 10.0)


def test_copies_that_drift_apart_are_not_ruled_out():
    """The copy of a shared corner has wandered into the other face, through the plane between the rest of the two."""
    x = np.array([[0, 0, -3], [-1, 0, 1], [1, 0, 1], [0, 0, 0], [0, -1, -1], [0.2, 1, -1.0]])
    mesh = TriMesh(x, np.array([[0, 1, 2], [3, 4, 5]]), origin=np.array([0, 1, 2, 0, 4, 5]))
    on = surfaces(mesh, 6)
    assert not faces_apart(x, x, True, mesh.faces, on.ids, 0, 1, 0.1, 20.0)
    assert not faces_apart(x, x, True, mesh.faces, on.ids, 1, 0, 0.1, 20.0)


@pytest.mark.parametrize("scale", [1e-170, 1e-155, 1e-90, 1e-6, 1e150])
def test_extreme_sizes(scale):
    """Where squares overflow or vanish, the test of one pair has to give up; of what it then calls a collision, only
    that is ruled out which certainly is none."""
    rng = np.random.default_rng(3)
    x, faces = grid(2, 2)
    x0 = (x + 0.1 * rng.standard_normal(x.shape)) * scale
    x1 = x0 + scale * rng.standard_normal(x0.shape)
    mesh = TriMesh(x0, faces, rest=np.tile(np.eye(2), (len(faces), 1, 1)))
    on = surfaces(mesh, len(x0))
    for separation in (0.0, 1e-3):
        found = set(rows(find_collisions(on, x0, x1, separation)))
        expected = {pair for pair, _ in oracles.collisions_of(x0, x1, faces, on.ids, len(x0), separation, KEEP)}
        assert found <= expected
        for kind, *corners in expected - found:
            assert oracles.first_contact(x0[corners], x1[corners], kind == 0) is None
