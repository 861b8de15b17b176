"""Clean in, clean out, whatever is wished; momentum is kept; nothing is moved that need not or must not be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.resolve.states import STATES, WISHES, rotation
from unsnarl.detect.edge_face import find_hits
from unsnarl.detect.features import surfaces
from unsnarl.detect.sweep import find_collisions
from unsnarl.mesh import TriMesh, combine
from unsnarl.mesh.primitives import box, sheet, sphere
from unsnarl.resolve import zones
from unsnarl.resolve.zones import resolve

try:
    import ipctk
except ImportError:
    ipctk = None


class Case:
    """A clean state x0 of cloths and bodies, a wish x1, and what resolve makes of it."""

    def __init__(self, rng, state, wish, *, pins=0, motion="still", friction=None):
        cloths, bodies = STATES[state](rng)
        self.mesh = combine([*cloths, *bodies])
        self.cloth = sum(len(m.x) for m in cloths)
        self.on = surfaces(self.mesh, self.cloth)
        self.x0 = self.mesh.x
        n = len(self.x0)
        self.wish = WISHES[wish](rng, self.x0, self.mesh.vertex_component)
        self.mass = rng.uniform(0.5, 2, n)
        self.inverse = 1 / self.mass
        self.inverse[self.cloth :] = 0
        self.inverse[rng.choice(self.cloth, pins, replace=False)] = 0
        self.fixed = self.inverse == 0
        self.wish[self.fixed] = self.carried(rng, motion)[self.fixed]
        self.friction = np.full(n, rng.choice([0, 0.5]) if friction is None else friction, dtype=float)
        self.separation = 10 ** rng.uniform(-5, -2.3)

    def carried(self, rng, motion):
        """Where everything is after the motion of what cannot be moved."""
        if motion == "still":
            return self.x0
        if motion == "as one":  # a translation and a rotation
            centre = rng.standard_normal(3)
            turn = rotation(rng.standard_normal(3), rng.uniform(0, 0.3))
            return centre + (self.x0 - centre) @ turn.T + 0.05 * rng.standard_normal(3)
        return (
            self.x0 + 0.02 * rng.standard_normal((self.mesh.vertex_component.max() + 1, 3))[self.mesh.vertex_component]
        )

    def resolved(self):
        assert len(find_hits(self.mesh, self.x0, self.on.bvh)) == 0
        before = self.x0.copy(), self.wish.copy()
        done = resolve(
            self.on, self.x0, self.wish, self.inverse, self.friction, self.separation, 5 * self.separation
        )  # fmt: skip
        assert np.array_equal(before[0], self.x0) and np.array_equal(before[1], self.wish)
        assert np.array_equal(done.x1[self.fixed], self.wish[self.fixed])
        assert np.isfinite(done.x1).all()
        assert done.clean == (len(find_collisions(self.on, self.x0, done.x1, self.separation)) == 0)
        return done

    def assert_clean(self, done):
        """By our own tests, and by ipctk's, at the end and on the way."""
        assert done.clean
        bodies = self.mesh.faces[:, 0] >= self.cloth
        assert len(find_hits(self.mesh, done.x1, passive=bodies)) == 0
        if ipctk is not None:
            judge = ipctk.CollisionMesh(self.mesh.x, self.mesh.edges, self.mesh.faces)
            if self.cloth < len(self.x0):
                judge.can_collide = ipctk.make_static_obstacle_filter(self.cloth)
            assert not ipctk.has_intersections(judge, done.x1)
            exactly = ipctk.TightInclusionCCD(1e-9, 10_000_000, 1 - 1e-8)  # by default, it keeps its distance too
            assert ipctk.is_step_collision_free(judge, self.x0, done.x1, 0.0, None, exactly)

    def energy(self, x1):
        return float((self.mass[:, None] * (x1 - self.x0) ** 2)[~self.fixed].sum())

    def momentum(self, x1):
        return (self.mass[:, None] * (x1 - self.x0)).sum(axis=0)

    def spin(self, x1):
        return (self.mass[:, None] * np.cross(self.x0, x1 - self.x0)).sum(axis=0)


seeds, wishes = st.integers(0, 2**32 - 1), st.sampled_from(sorted(WISHES))
free = st.sampled_from(["folds", "stack", "crumpled", "snow"])


def check_free(seed, state, wish):
    """Nothing holds the cloth: it always ends clean, with its momentum, and with no more energy."""
    case = Case(np.random.default_rng(seed), state, wish)
    done = case.resolved()
    case.assert_clean(done)
    size = np.abs(case.mass[:, None] * (case.wish - case.x0)).sum() + 1e-9
    np.testing.assert_allclose(case.momentum(done.x1), case.momentum(case.wish), atol=1e-9 * size)
    assert case.energy(done.x1) <= case.energy(case.wish) * (1 + 1e-9)
    if done.collisions == 0:
        assert np.array_equal(done.x1, case.wish)


def check_held(seed, state, wish, pins, motion):
    """Bodies and pins that stay, or move as one, leave a way out."""
    case = Case(np.random.default_rng(seed), state, wish, pins=pins, motion=motion)
    done = case.resolved()
    case.assert_clean(done)
    if motion == "still":
        assert case.energy(done.x1) <= case.energy(case.wish) * (1 + 1e-9)


@settings(max_examples=80, deadline=None)
@given(seeds, free, wishes)
def test_free_cloth(seed, state, wish):
    check_free(seed, state, wish)


@settings(max_examples=80, deadline=None)
@given(seeds, st.sampled_from(sorted(STATES)), wishes, st.integers(0, 4), st.sampled_from(["still", "as one"]))
def test_cloth_with_bodies_and_pins(seed, state, wish, pins, motion):
    check_held(seed, state, wish, pins, motion)


@settings(max_examples=40, deadline=None)
@given(seeds, free, wishes)
def test_zones_alone(seed, state, wish):
    """Without impulses, zones do it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zones, "ROUNDS", 0)
        check_free(seed, state, wish)


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from(sorted(STATES)), wishes, st.integers(0, 4), st.sampled_from(["still", "as one"]))
def test_zones_alone_with_bodies_and_pins(seed, state, wish, pins, motion):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zones, "ROUNDS", 0)
        check_held(seed, state, wish, pins, motion)


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from(["on_a_body", "between_bodies"]), wishes, st.integers(0, 3))
def test_bodies_that_go_different_ways(seed, state, wish, pins):
    """They may squeeze the cloth so that there is no way out: then it says so, and they are not moved."""
    case = Case(np.random.default_rng(seed), state, wish, pins=pins, motion="each its own")
    done = case.resolved()
    if done.clean:
        case.assert_clean(done)


@pytest.mark.prove
@settings(max_examples=1200, deadline=None)
@given(seeds, free, wishes)
def test_free_cloth_much(seed, state, wish):
    check_free(seed, state, wish)


@pytest.mark.prove
@settings(max_examples=1200, deadline=None)
@given(seeds, st.sampled_from(sorted(STATES)), wishes, st.integers(0, 4), st.sampled_from(["still", "as one"]))
def test_cloth_with_bodies_and_pins_much(seed, state, wish, pins, motion):
    check_held(seed, state, wish, pins, motion)


@pytest.mark.prove
@settings(max_examples=800, deadline=None)
@given(seeds, st.sampled_from(sorted(STATES)), wishes, st.integers(0, 4), st.sampled_from(["still", "as one"]))
def test_zones_alone_much(seed, state, wish, pins, motion):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zones, "ROUNDS", 0)
        check_held(seed, state, wish, pins, motion)


# --- momentum ---


@pytest.mark.parametrize("seed", range(8))
def test_zones_keep_angular_momentum(seed, monkeypatch):
    """As long as they turn little: what is off grows with the square of the angle."""
    monkeypatch.setattr(zones, "ROUNDS", 0)
    rng = np.random.default_rng(seed)
    case = Case(rng, "stack", "trembling", friction=0)
    centre = case.x0.mean(axis=0)
    case.wish = centre + (case.x0 - centre) * [1, 1, -1] + 0.002 * np.cross([0, 0, 1], case.x0 - centre)
    case.wish += 0.001 * np.sin(6 * case.x0 @ rng.standard_normal((3, 3)))
    done = case.resolved()
    assert done.clean and done.zones > 0
    size = np.abs(case.mass[:, None] * np.cross(case.x0, case.wish - case.x0)).sum()
    np.testing.assert_allclose(case.spin(done.x1), case.spin(case.wish), atol=1e-3 * size)
    assert np.abs(case.spin(case.wish)).max() > 0.01 * size


@pytest.mark.parametrize("seed", range(8))
def test_impulse_acts_along_the_line_between_the_features(seed):
    """One vertex falls on one face: no angular momentum comes of it, taken where they meet."""
    rng = np.random.default_rng(seed)
    x0 = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0.3, 0.1], [0.3, 0.4, 1], [0.4, 0.3, 1.0]])
    x0 = x0 @ rotation(rng.standard_normal(3), 1.0).T
    mesh = TriMesh(x0, np.array([[0, 1, 2], [3, 4, 5]]))
    on = surfaces(mesh, 6)
    down = np.cross(x0[2] - x0[0], x0[1] - x0[0])
    wish = x0 + 0.01 * rng.standard_normal(x0.shape)
    wish[3:] += 0.2 * down
    mass = rng.uniform(0.5, 2, 6)
    found = find_collisions(on, x0, wish, 1e-3)
    assert len(found) == 1
    done = resolve(on, x0, wish, 1 / mass, np.zeros(6), 1e-3, 5e-3)
    assert done.clean and done.rounds == 1
    change = mass[:, None] * (done.x1 - wish)
    assert np.abs(change).max() > 0.01
    np.testing.assert_allclose(change.sum(axis=0), 0, atol=1e-15)
    there = x0 + found.time[0] * (wish - x0)
    np.testing.assert_allclose(np.cross(there, change).sum(axis=0), 0, atol=1e-10)
    pushed = np.linalg.norm(np.cross(change, found.normal[0]), axis=1)
    np.testing.assert_allclose(pushed, 0, atol=1e-12)  # all along the normal


def test_friction_brakes_but_does_not_push_back():
    """A sheet that slides over a box while it sinks: the more friction, the less way it makes, down to none."""
    flat, body = sheet((0.3, 0.3), (3, 3)), box((4, 4, 0.2), (1, 1, 1))
    mesh = combine([flat.moved(flat.x + [0, 0, 0.101]), body])
    on, n = surfaces(mesh, len(flat.x)), len(flat.x)
    wish = mesh.x.copy()
    wish[:n] += [0.05, 0, -0.02]
    inverse = np.ones(len(wish))
    inverse[n:] = 0
    ways = []
    for friction in (0.0, 0.1, 0.5, 1.0, 10.0):
        done = resolve(on, mesh.x, wish, inverse, np.full(len(wish), friction), 1e-4, 5e-4)
        assert done.clean
        ways.append((done.x1 - mesh.x)[:n, 0].mean())
        assert ((done.x1 - mesh.x)[:n, 0] > -1e-12).all()
    assert ways == sorted(ways, reverse=True)
    np.testing.assert_allclose(ways[0], 0.05)
    np.testing.assert_allclose(ways[1], 0.05 - 0.1 * 0.0195, atol=1e-6)
    np.testing.assert_allclose(ways[-1], 0.0, atol=1e-9)


# --- who is moved ---


def test_what_is_far_from_any_collision_goes_where_it_wants():
    """Bit for bit: of two stacks, one collides; and of the other, nothing is moved."""
    rng = np.random.default_rng(0)
    flat = sheet((1, 1), (6, 6))
    parts = [flat.moved(flat.x + [3 * k, 0, 0.05 * j]) for k in range(2) for j in range(3)]
    mesh = combine(parts)
    wish = mesh.x + 0.001 * rng.standard_normal(mesh.x.shape)
    wish[len(flat.x) : 2 * len(flat.x), 2] -= 0.2
    n = len(mesh.x)
    for rounds in (zones.ROUNDS, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(zones, "ROUNDS", rounds)
            done = resolve(surfaces(mesh, n), mesh.x, wish, np.ones(n), np.zeros(n), 1e-3, 5e-3)
        assert done.clean and done.collisions > 0
        moved = (done.x1 != wish).any(axis=1)
        assert moved[: n // 2].any() and not moved[n // 2 :].any()


def test_nothing_to_do():
    flat = sheet((1, 1), (6, 6))
    n = len(flat.x)
    done = resolve(surfaces(flat, n), flat.x, flat.x + [0, 0, 1], np.ones(n), np.zeros(n), 1e-3, 5e-3)
    assert (done.collisions, done.rounds, done.zones, done.clean) == (0, 0, 0, True)
    assert np.array_equal(done.x1, flat.x + [0, 0, 1])


def test_known_collisions_may_be_passed_on():
    case = Case(np.random.default_rng(1), "stack", "through each other")
    found = find_collisions(case.on, case.x0, case.wish, case.separation)
    assert len(found) > 0
    some = case.on, case.x0, case.wish, case.inverse, case.friction, case.separation, 5 * case.separation
    assert np.array_equal(resolve(*some).x1, resolve(*some, found).x1)


def test_same_answer_with_any_number_of_threads(monkeypatch):
    answers = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("UNSNARL_THREADS", threads)
        rng = np.random.default_rng(4)
        flat = sheet((1, 1), (20, 20))
        mesh = combine([flat, flat.moved(flat.x + [0, 0, 0.02])])
        n = len(mesh.x)
        wish = mesh.x + 0.04 * rng.standard_normal(mesh.x.shape)
        done = resolve(surfaces(mesh, n), mesh.x, wish, np.ones(n), np.full(n, 0.3), 1e-3, 5e-3)
        assert done.clean and done.collisions > 100
        answers.append(done.x1)
    assert np.array_equal(answers[0], answers[1]) and np.array_equal(answers[0], answers[2])


# --- zones and bodies ---


@pytest.mark.parametrize("degrees", [1, 10, 40])
def test_zone_follows_a_body_that_turns(degrees, monkeypatch):
    """A sheet that hugs a ball is carried along as the ball turns and moves, at the distance that it had."""
    monkeypatch.setattr(zones, "ROUNDS", 0)
    ball = sphere(0.5, 320)
    cap = ball.faces[(ball.x[ball.faces][:, :, 2] > 0.2).all(axis=1)]
    used, faces = np.unique(cap, return_inverse=True)
    patch = TriMesh(1.002 * ball.x[used], faces.reshape(-1, 3))
    mesh = combine([patch, ball])
    n = len(patch.x)
    turn = rotation([1, 2, 0.5], np.radians(degrees))
    carried = mesh.x @ turn.T + [0.3, -0.2, 0.1]
    wish = carried.copy()
    wish[:n] = mesh.x[:n] - [0, 0, 0.3]  # right through the ball
    inverse = np.ones(len(wish))
    inverse[n:] = 0
    done = resolve(surfaces(mesh, n), mesh.x, wish, inverse, np.zeros(len(wish)), 1e-3, 5e-3)
    assert done.clean and done.largest > n
    zone = (done.x1 != wish).any(axis=1)
    assert zone[:n].mean() > 0.9
    np.testing.assert_allclose(done.x1[zone], carried[zone], atol=1e-9)


def test_zone_stays_with_its_pins(monkeypatch):
    """Two sheets collide; one is pinned at three corners, which stay: so does the zone."""
    monkeypatch.setattr(zones, "ROUNDS", 0)
    flat = sheet((1, 1), (4, 4))
    mesh = combine([flat, flat.moved(flat.x + [0.05, 0.03, 0.02])])
    n = len(mesh.x)
    inverse = np.ones(n)
    inverse[[0, 4, 20]] = 0
    wish = mesh.x.copy()
    wish[n // 2 :] -= [0, 0, 0.1]
    done = resolve(surfaces(mesh, n), mesh.x, wish, inverse, np.zeros(n), 1e-3, 5e-3)
    assert done.clean and done.zones == 1
    np.testing.assert_allclose(done.x1, mesh.x, atol=1e-12)


def test_a_wild_spin_is_slowed_down_rather_than_folded(monkeypatch):
    """In a turn by half a circle on straight ways everything would meet in the middle."""
    monkeypatch.setattr(zones, "ROUNDS", 0)
    flat = sheet((1, 1), (4, 4))
    mesh = combine([flat, flat.moved(flat.x + [0.05, 0.03, 0.01])])
    n = len(mesh.x)
    centre = mesh.x.mean(axis=0)
    wish = mesh.x + 5.0 * np.cross([0.2, 0.1, 1.0], mesh.x - centre)
    wish[n // 2 :, 2] -= 0.1
    done = resolve(surfaces(mesh, n), mesh.x, wish, np.ones(n), np.zeros(n), 1e-3, 5e-3)
    assert done.clean and done.largest == n


def test_squeezed_cloth_is_reported():
    """Two boxes close on a sheet between them: there is no room, and `clean` says so, at once."""
    low, flat = box((1, 1, 0.2), (1, 1, 1)), sheet((0.8, 0.8), (4, 4))
    mesh = combine([flat.moved(flat.x + [0, 0, 0.15]), low, low.moved(low.x + [0, 0, 0.3])])
    n = len(flat.x)
    wish = mesh.x.copy()
    wish[n + len(low.x) :, 2] -= 0.15
    inverse = np.ones(len(wish))
    inverse[n:] = 0
    done = resolve(surfaces(mesh, n), mesh.x, wish, inverse, np.zeros(len(wish)), 1e-3, 5e-3)
    assert not done.clean
    assert np.array_equal(done.x1[n:], wish[n:])
