"""Moving points, triangles and edges: never a miss, never too late, hardly ever a false alarm.

By hand, then invariants, then exact arithmetic (`oracles.first_contact`), others' queries with ground truth, and ipctk
as a second opinion. A kind of queries is a function (triangle, rng, k) -> x0, x1 of shape (k, 4, 3).
"""

from fractions import Fraction
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from unsnarl.geometry.ccd import (
    NO_COLLISION,
    apart_edge_edge,
    apart_point_triangle,
    edge_edge_ccd,
    edge_edge_ccd_many,
    point_triangle_ccd,
    point_triangle_ccd_many,
)
from unsnarl.geometry.distance import edge_edge, point_triangle
from unsnarl.jit import kernel

both = pytest.mark.parametrize("triangle", [True, False], ids=["point-triangle", "edge-edge"])


def times(triangle, x0, x1, separation=0.0):
    return (point_triangle_ccd_many if triangle else edge_edge_ccd_many)(x0, x1, separation)


def time(triangle, x0, x1, separation=0.0):
    return times(triangle, np.asarray(x0)[None], np.asarray(x1)[None], separation)[0]


# --- by hand ---

FLAT = np.array([(0, 0, 0), (4, 0, 0), (0, 4, 0)], dtype=float)


def point_and_triangle(start, stop, still=FLAT, moved=FLAT):
    return np.array([start, *still], dtype=float), np.array([stop, *moved], dtype=float)


@pytest.mark.parametrize(
    "start, stop, when",
    [
        ((1, 1, 1), (1, 1, -1), 0.5),  # through the face
        ((1, 1, 1), (1, 1, -3), 0.25),
        ((1, 1, 1), (1, 1, 0), 1),  # touches at the end
        ((1, 1, 0), (1, 1, 1), 0),  # touches at the beginning
        ((2, 0, 1), (2, 0, -1), 0.5),  # through an edge
        ((0, 0, 1), (0, 0, -1), 0.5),  # through a corner
        ((-1, 1, 0), (3, 1, 0), 0.25),  # within the plane
        ((0, 0, 1), (8, 8, -1), None),  # past the longest edge
        ((1, 1, 2), (1, 1, 1), None),  # does not get there
        ((1, 1, 1e-12), (3, 0.5, 1e-12), None),  # slides along
        ((-1e-12, 1, 1), (-1e-12, 1, -1), None),  # past an edge, closely
    ],
)
def test_point_and_still_triangle(start, stop, when):
    t = time(True, *point_and_triangle(start, stop))
    assert t == (NO_COLLISION if when is None else pytest.approx(when, abs=1e-12))


def test_weights_are_those_of_the_contact():
    x0, x1 = point_and_triangle((1, 2, 1), (1, 2, -1))
    assert point_triangle_ccd(x0, x1, 0, 1, 2, 3, 0.0) == pytest.approx((0.5, 0.25, 0.5))
    x0 = np.array([(0, 0, 1), (4, 0, 1), (1, -1, 0), (1, 3, 0)], dtype=float)
    x1 = x0 - np.array([(0, 0, 4), (0, 0, 4), (0, 0, 0), (0, 0, 0)])
    assert edge_edge_ccd(x0, x1, 0, 1, 2, 3, 0.0) == pytest.approx((0.25, 0.25, 0.25))


def test_triangle_that_turns():
    """The triangle sweeps over the point and is back on its old side at the end: only in between do they meet."""
    x0, x1 = point_and_triangle((1, 0, 0.5), (1, 0, 0.5), moved=[(0, 0, 2), (4, 0, -2), (0, 4, -2)])
    t = time(True, x0, x1)
    assert 0 < t < 1
    at = (1 - t) * x0 + t * x1
    assert point_triangle(at, 0, 1, 2, 3)[0] < 1e-20


def test_separation_is_reached_earlier():
    x0, x1 = point_and_triangle((1, 1, 1), (1, 1, -1))
    assert time(True, x0, x1, 0.5) == pytest.approx(0.25)
    x0, x1 = point_and_triangle((-2, 1, 0.3), (2, 1, 0.3))
    assert time(True, x0, x1, 0.5) == pytest.approx((2 - 0.4) / 4)  # from the side: 0.3^2 + 0.4^2 = 0.5^2
    assert time(True, x0, x1, 0.29) == NO_COLLISION


def test_edges_that_slide_along_each_other():
    x0 = np.array([(0, 0, 0), (1, 0, 0), (2, 1e-9, 0), (3, 1e-9, 0)])
    x1 = x0 + np.array([(5, 0, 0), (5, 0, 0), (0, 0, 0), (0, 0, 0)])
    assert time(False, x0, x1) == NO_COLLISION
    x0[2:, 1] = x1[2:, 1] = 0
    assert time(False, x0, x1) == pytest.approx(0.2)


@both
def test_nothing_moves(triangle):
    x = np.random.default_rng(1).standard_normal((4, 3))
    assert time(triangle, x, x) == NO_COLLISION
    assert time(triangle, x, x, 10.0) == 0
    assert time(triangle, 0 * x, 0 * x) == 0


def test_vertices_of_a_mesh():
    """Indices pick the vertices, also from int32 arrays."""
    x0 = np.random.default_rng(2).standard_normal((9, 3))
    x1 = x0 + np.random.default_rng(3).standard_normal((9, 3))
    for pick in np.random.default_rng(4).permuted(np.tile(np.arange(9, dtype=np.int32), (50, 1)), axis=1)[:, :4]:
        assert point_triangle_ccd(x0, x1, *pick, 0.01)[0] == time(True, x0[pick], x1[pick], 0.01)
        assert edge_edge_ccd(x0, x1, *pick, 0.01)[0] == time(False, x0[pick], x1[pick], 0.01)


# --- kinds of queries ---


def general(triangle, rng, k):
    x0 = rng.random((k, 4, 3))
    return x0, x0 + rng.standard_normal((k, 4, 3)) * 10.0 ** rng.uniform(-2, 0, (k, 1, 1))


def coplanar(triangle, rng, k):
    """All in one plane all the time: exactly for every other query, up to rounding for the rest."""
    x0, x1 = general(triangle, rng, k)
    x0[..., 2] = x1[..., 2] = 0
    turned, _ = np.linalg.qr(rng.standard_normal((k, 3, 3)))
    turned[::2] = np.eye(3)
    return x0 @ turned, x1 @ turned


def parallel(triangle, rng, k):
    """Edges that are parallel at both ends, or a point that moves along an edge; the gap is 1e-16 to 1."""
    x0, x1 = general(triangle, rng, k)
    gap = rng.standard_normal((k, 3)) * 10.0 ** rng.uniform(-16, 0, (k, 1))
    s, length = rng.uniform(-1.5, 1.5, (k, 1)), rng.uniform(0.2, 1.5, (k, 1))
    if triangle:
        x1[:, 1:] = x0[:, 1:]
        for x, at in ((x0, s), (x1, s + length)):
            x[:, 0] = x[:, 1] + at * (x[:, 2] - x[:, 1]) + gap
        return x0, x1
    for x in (x0, x1):
        x[:, 2] = x[:, 0] + s * (x[:, 1] - x[:, 0]) + gap
        x[:, 3] = x[:, 2] + length * (x[:, 1] - x[:, 0])
    leaving = rng.random(k) < 0.5
    x1[leaving, 2:] += rng.standard_normal((leaving.sum(), 1, 3))
    return x0, x1


def touching(triangle, rng, k):
    """(k, 4, 3) positions that touch, up to rounding: at an inner point, on an edge or at a corner."""
    x = rng.random((k, 4, 3))
    where = rng.integers(0, 3, k)
    if triangle:
        weights = rng.dirichlet((1, 1, 1), k)
        weights[where == 1, 2] = 0
        weights[where == 2, 1:] = 0
        x[:, 0] = np.einsum("ki,kij->kj", weights / weights.sum(axis=1, keepdims=True), x[:, 1:])
        return x
    s, t = rng.random((2, k, 1))
    s[where > 0] = 0
    t[where == 2] = 1
    for _ in range(2):
        x[:, 2:] += ((1 - s) * x[:, 0] + s * x[:, 1] - (1 - t) * x[:, 2] - t * x[:, 3])[:, None]
    return x


def through(triangle, rng, k, gap=0.0):
    """They touch at half time, up to rounding or a gap. In half of the queries only the point or one vertex moves."""
    middle = touching(triangle, rng, k)
    motion = rng.standard_normal((k, 4, 3)) * 10.0 ** rng.uniform(-3, 0, (k, 1, 1))
    motion[rng.random(k) < 0.5, 1:] = 0
    way = rng.standard_normal((k, 1, 3))
    middle[:, : 1 if triangle else 2] += gap * way / np.linalg.norm(way, axis=2, keepdims=True)
    return middle - motion, middle + motion


def near(triangle, rng, k):
    """At half time, they are 1e-15 to 1e-6 from touching."""
    return through(triangle, rng, k, 10.0 ** rng.uniform(-15, -6, (k, 1, 1)))


def offset(triangle, rng, k):
    """Far from the origin, up to 1e6."""
    x0, x1 = through(triangle, rng, k)
    far = rng.standard_normal((k, 1, 3)) * 10.0 ** rng.uniform(1, 6, (k, 1, 1))
    return x0 + far, x1 + far


def tiny(triangle, rng, k):
    """Motions of 1e-12 to 1e-6, as far from touching."""
    middle = touching(triangle, rng, k)
    motion = rng.standard_normal((k, 4, 3)) * 10.0 ** rng.uniform(-12, -6, (k, 1, 1))
    middle[:, : 1 if triangle else 2] += rng.standard_normal((k, 1, 3)) * 10.0 ** rng.uniform(-12, -6, (k, 1, 1))
    return middle - motion, middle + motion


def grid(triangle, rng, k):
    """Small whole numbers: everything degenerate happens."""
    reach = rng.integers(1, 4, (k, 1, 1))
    return tuple(np.rint((2 * rng.random((k, 4, 3)) - 1) * reach) for _ in range(2))


KINDS = {f.__name__: f for f in (general, coplanar, parallel, through, near, offset, tiny, grid)}
kinds = pytest.mark.parametrize("kind", KINDS)


# --- invariants ---


@kernel
def least_distances(triangle, x0, x1, t):
    """(k, len(t)) distances at the times t."""
    out = np.empty((x0.shape[0], t.shape[0]))
    for i in range(x0.shape[0]):
        for j in range(t.shape[0]):
            x = (1 - t[j]) * x0[i] + t[j] * x1[i]
            out[i, j] = np.sqrt(point_triangle(x, 0, 1, 2, 3)[0] if triangle else edge_edge(x, 0, 1, 2, 3)[0])
    return out


@kernel
def cheap_tests(triangle, x0, x1, separation):
    out = np.empty(x0.shape[0], np.bool_)
    for i in range(x0.shape[0]):
        if triangle:
            out[i] = apart_point_triangle(x0[i], x1[i], 0, 1, 2, 3, separation)
        else:
            out[i] = apart_edge_edge(x0[i], x1[i], 0, 1, 2, 3, separation)
    return out


@both
@kinds
def test_not_later_than_the_first_sample_within_the_separation(kind, triangle):
    x0, x1 = KINDS[kind](triangle, np.random.default_rng(5), 2000)
    samples = np.linspace(0, 1, 33)
    d = least_distances(triangle, x0, x1, samples)
    for separation in (1e-6, 0.01, 0.3):
        t = times(triangle, x0, x1, separation)
        sampled = np.where(d < separation * (1 - 1e-9) - 1e-15, samples, np.inf).min(axis=1)
        assert (t <= sampled).all()
        assert not cheap_tests(triangle, x0, x1, separation)[t <= 1].any()
        found = (t > 0) & (t <= 1)
        at = np.array([least_distances(triangle, p[None], q[None], s[None])[0, 0] for p, q, s in
                       zip(x0[found], x1[found], t[found])])  # fmt: skip
        size = np.abs(x0[found]).max(axis=(1, 2)) + np.abs(x1[found]).max(axis=(1, 2))
        assert (np.abs(at - separation) < 1e-10 * size).all()


@both
@kinds
def test_a_larger_separation_is_reached_no_later(kind, triangle):
    x0, x1 = KINDS[kind](triangle, np.random.default_rng(6), 3000)
    t = np.array([times(triangle, x0, x1, separation) for separation in (0.0, 1e-9, 1e-4, 0.1, 1.0)])
    assert (np.diff(t, axis=0) <= 1e-9).all()


@both
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-3, 0.2]))
def test_translation_and_order_do_not_matter(triangle, seed, separation):
    rng = np.random.default_rng(seed)
    x0, x1 = general(triangle, rng, 20)
    t = times(triangle, x0, x1, separation)
    moved = [np.rint(x * 2**20) / 2**20 for x in (x0, x1)]  # coarse enough to be moved without rounding
    t_moved = times(triangle, *moved, separation)
    assert np.array_equal(times(triangle, *(x + [8.0, -16.0, 3.0] for x in moved), separation), t_moved)
    for order in [[0, 2, 3, 1], [0, 2, 1, 3]] if triangle else [[1, 0, 2, 3], [0, 1, 3, 2], [2, 3, 0, 1]]:
        assert times(triangle, x0[:, order], x1[:, order], separation) == pytest.approx(t, abs=1e-9)


# --- against exact arithmetic ---


def judge(triangle, x0, x1, separation=0.0, t=None):
    """How many queries collide, and how many of those are false alarms; none may be missed or too late. Exact."""
    t = times(triangle, x0, x1, separation) if t is None else t
    collisions = false = 0
    for p, q, when in zip(x0, x1, t):
        true = oracles.first_contact(p, q, triangle, separation)
        if true is None:
            false += when != NO_COLLISION
        else:
            assert Fraction(when) <= true, f"missed or too late: {triangle=} {separation=}\n{p!r}\n{q!r}"
        collisions += when != NO_COLLISION
    return collisions, false


grid_query = st.lists(st.tuples(*[st.integers(-2, 2).map(float)] * 3), min_size=8, max_size=8)


@both
@settings(max_examples=300, deadline=None)
@given(grid_query, st.sampled_from([0.0, 0.5, 1.0]))
def test_small_grids_are_decided_exactly(triangle, points, separation):
    x = np.array(points)
    t = times(triangle, x[None, :4], x[None, 4:], separation)
    true = oracles.first_contact(x[:4], x[4:], triangle, separation)
    if true is None and separation == 0:
        assert t[0] == NO_COLLISION
    elif true is not None:
        assert true - Fraction(1, 1000) < Fraction(t[0]) <= true


@both
@kinds
def test_every_kind_exactly(kind, triangle, count=60):
    rng = np.random.default_rng(7)
    _, false = judge(triangle, *KINDS[kind](triangle, rng, count))
    assert false <= 0.05 * count
    _, false = judge(triangle, *KINDS[kind](triangle, rng, count // 6), separation=0.01)
    assert false == 0


def sample_queries(folder):
    """(k, 8, 3) positions and (k,) verdicts of the queries of a folder; their fractions are doubles, exactly."""
    rows = [[int(v) for v in line.split(",")] for file in sorted(folder.glob("*.csv")) for line in file.open()]
    fractions = [[Fraction(row[i], row[i + 1]) for i in (0, 2, 4)] for row in rows]
    x = np.array([[float(v) for v in point] for point in fractions])
    assert all(Fraction(v) == f for point, row in zip(x.tolist(), fractions) for v, f in zip(point, row))
    return x.reshape(-1, 8, 3), np.array([row[6] for row in rows[::8]], dtype=bool)


@both
def test_sample_queries(data, triangle):
    """Continuous-Collision-Detection/Sample-Queries: no miss and, at this size, no false alarm."""
    folders = sorted(f for f in (data / "ccd").iterdir() if f.is_dir())
    assert len(folders) == 8
    total = 0
    for folder in folders:
        x, truth = sample_queries(folder / ("vertex-face" if triangle else "edge-edge"))
        found = times(triangle, x[:, :4], x[:, 4:]) != NO_COLLISION
        assert np.array_equal(found, truth), folder.name
        total += len(x)
    assert total == (2000 if triangle else 1824)


@both
@pytest.mark.prove
def test_oracle_agrees_with_the_sample_queries(data, triangle):
    """The judge judged: its verdicts are those of the people who made the queries."""
    for folder in sorted(f for f in (data / "ccd").iterdir() if f.is_dir()):
        x, truth = sample_queries(folder / ("vertex-face" if triangle else "edge-edge"))
        assert [oracles.first_contact(q[:4], q[4:], triangle) is not None for q in x] == truth.tolist()
        judge(triangle, x[:, :4], x[:, 4:])


# --- a second opinion ---


def second_opinion(triangle, x0, x1):
    """Queries in which we find no collision and ipctk does, (k,) bool.

    ipctk is conservative, with a tolerance of 1e-6: it may be wrong. Without a limit to its steps, a single query in a
    plane can take it minutes, and all memory.
    """
    ipctk = pytest.importorskip("ipctk")
    ipctk.set_logger_level(ipctk.LoggerLevel.error)
    ccd = ipctk.TightInclusionCCD(tolerance=1e-6, max_iterations=10_000)
    ask = ccd.point_triangle_ccd if triangle else ccd.edge_edge_ccd
    doubted = np.zeros(len(x0), dtype=bool)
    for i in np.flatnonzero(times(triangle, x0, x1) == NO_COLLISION):
        doubted[i] = ask(*x0[i], *x1[i])[0]
    return doubted


@both
@pytest.mark.parametrize("kind", ["general", "grid"])
def test_second_opinion(kind, triangle, count=5000):
    x0, x1 = KINDS[kind](triangle, np.random.default_rng(8), count)
    doubted = second_opinion(triangle, x0, x1)
    assert judge(triangle, x0[doubted], x1[doubted]) == (0, 0)
    assert doubted.mean() < 0.01


# How many of each, for points and triangles and for edges; the slow ones first. ipctk says "collision" of nearly all
# that comes within 1e-6, so the kinds made to do that go to the exact oracle at once; so do tiny ones, of which some
# take ipctk half an hour and all memory.
PROOF = {
    "parallel": 20_000,
    "through": 60_000,
    "near": 50_000,
    "offset": 50_000,
    "coplanar": 50_000,
    "tiny": 80_000,
    "grid": 1_000_000,
    "general": 3_690_000,
}
PART = 10_000


def _prove(job):
    """A part of a kind: (kind, queries, collisions, doubted, judged, false alarms among the judged collisions)."""
    kind, triangle, seed = job
    x0, x1 = KINDS[kind](triangle, np.random.default_rng([seed, triangle, *kind.encode()]), PART)
    t = times(triangle, x0, x1)
    found = t != NO_COLLISION
    asked = kind in ("general", "grid")
    doubted = second_opinion(triangle, x0, x1) if asked else ~found
    judge(triangle, x0[doubted], x1[doubted], t=t[doubted])
    some = np.flatnonzero(found)[:: 100 if asked else 20]
    collisions, false = judge(triangle, x0[some], x1[some], t=t[some])
    return kind, PART, found.sum(), doubted.sum(), collisions, false


@pytest.mark.prove
def test_ten_million(capsys):
    jobs = [
        (kind, triangle, seed) for kind, n in PROOF.items() for triangle in (True, False) for seed in range(n // PART)
    ]
    assert len(jobs) * PART == 10_000_000
    with get_context("spawn").Pool(2, maxtasksperchild=40) as pool:  # ProcessPoolExecutor hangs with that: gh-115634
        results = pool.map(_prove, jobs, chunksize=1)
    with capsys.disabled():
        for kind in PROOF:
            n, found, doubted, judged, false = np.sum([r[1:] for r in results if r[0] == kind], axis=0)
            print(f"\n{kind}: {n} queries, {found} collisions; {doubted} of the rest certified by the oracle; "
                  f"{false} of {judged} judged collisions false", end="")  # fmt: skip
