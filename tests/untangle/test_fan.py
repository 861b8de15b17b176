"""Fans: in a flat panel, across seams and around darts; what the inversion test says, against looking at every face."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unsnarl.mesh import TriMesh
from unsnarl.mesh.rest import rest_from_uv
from unsnarl.untangle.fan import room_for, unfold


def flower(angles, lengths, closed=True):
    """A fan around vertex 0: petals of these angles, edges of these lengths; each face has a rest shape of its own."""
    k = len(angles)
    faces, rest = [], []
    for i, angle in enumerate(angles):
        j = (i + 1) % k if closed else i + 1
        corners = np.array([[0.0, 0.0], [lengths[i], 0.0], [lengths[j] * np.cos(angle), lengths[j] * np.sin(angle)]])
        turn = 0.7 * i  # as panels lie, anyhow
        corners = corners @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        first = i % 3  # nor does it matter which corner is the first
        order = np.roll(np.arange(3), first)
        faces.append(np.array([0, i + 1, j + 1])[order])
        corners = corners[order]
        rest.append(np.stack([corners[1] - corners[0], corners[2] - corners[0]], axis=1))
    n = k + 1 if closed else k + 2
    x = np.column_stack([np.arange(n), np.arange(n) ** 2, np.zeros(n)]).astype(float)
    return TriMesh(x, np.array(faces), rest=np.array(rest))


def fan_of(mesh):
    t = mesh.topology
    return mesh.faces, mesh.rest, t.edge_face_count, t.face_edges, t.edges, t.fan_start, t.fan_faces


def moved(mesh, goal, share, v=0):
    """The faces around v with v moved by a share of the way to its neighbour: (k, 3, 2) corners, v first."""
    faces = mesh.fan(v)
    move = np.zeros((len(faces), 2))
    assert unfold(v, goal, *fan_of(mesh), move)
    out = []
    for f, d in zip(faces, move):
        corners = np.concatenate([np.zeros((1, 2)), mesh.rest[f].T])
        at = int(np.flatnonzero(mesh.faces[f] == v)[0])
        corners[at] += share * d
        out.append(np.roll(corners, -at, axis=0))
    return np.array(out)


def sizes(corners):
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


def plane_flower(rng, k, closed=True):
    """A fan in the plane: its mesh, and the corners there."""
    total = 2.0 * np.pi if closed else rng.uniform(1.0, 5.5)
    angles = rng.dirichlet(np.full(k, 8.0)) * total
    lengths = rng.uniform(0.5, 1.5, k if closed else k + 1)
    theta = np.concatenate([[0.0], np.cumsum(angles)])[: len(lengths)]
    ring = lengths[:, None] * np.column_stack([np.cos(theta), np.sin(theta)])
    return flower(angles, lengths, closed), ring, angles


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 9), st.booleans())
def test_in_the_plane_it_is_moving_the_vertex(seed, k, closed):
    """D §5.1.2: every face gets the sides that it has in the plane once the vertex has moved there."""
    rng = np.random.default_rng(seed)
    mesh, ring, angles = plane_flower(rng, k, closed)
    if angles.max() > 3.0:
        return
    goal, share = int(rng.integers(len(ring))), rng.uniform(0.0, 1.0)
    now = share * ring[goal]
    for f, corners in zip(mesh.fan(0), moved(mesh, goal + 1, share)):
        others = [ring[w - 1] for w in np.roll(mesh.faces[f], -int(np.flatnonzero(mesh.faces[f] == 0)[0]))[1:]]
        wanted = [np.linalg.norm(p - now) for p in others]
        assert np.linalg.norm(corners[1:] - corners[0], axis=1) == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 9), st.floats(0.6, 1.6))
def test_around_darts_the_edge_is_scaled_exactly_and_faces_fit(seed, k, fullness):
    """Where angles do not add up to 2 pi: the edge to the goal gets as short as asked, in both its faces; the faces
    still agree on the lengths of the edges that they share, as well as the scaling of angles lets them."""
    rng = np.random.default_rng(seed)
    angles = rng.dirichlet(np.full(k, 20.0)) * 2.0 * np.pi * fullness
    lengths = rng.uniform(0.8, 1.2, k)
    if angles.max() > 2.5 or angles.max() / fullness > 2.5:
        return
    mesh, goal, share = flower(angles, lengths), int(rng.integers(k)), rng.uniform(0.0, 0.9)
    corners = moved(mesh, goal + 1, share)
    for f, c in zip(mesh.fan(0), corners):
        names = np.roll(mesh.faces[f], -int(np.flatnonzero(mesh.faces[f] == 0)[0]))[1:]
        for w, p in zip(names, c[1:]):
            if w == goal + 1:
                assert np.linalg.norm(p - c[0]) == pytest.approx((1.0 - share) * lengths[goal], rel=1e-9)
    if room_for(0, 0, goal + 1, *fan_of(mesh)) == 1.0:
        assert (sizes(corners) > 0.0).all()


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 9), st.booleans())
def test_inversion_against_every_face_in_the_plane(seed, k, closed):
    rng = np.random.default_rng(seed)
    mesh, ring, angles = plane_flower(rng, k, closed)
    if angles.max() > 3.0:
        return
    goal = int(rng.integers(len(ring)))
    size = sizes(moved(mesh, goal + 1, 1.0))
    least = size.min() / np.abs(sizes(moved(mesh, goal + 1, 0.0))).max()
    if abs(least) < 1e-6 and least < -1e-12:
        return
    room = room_for(0, 0, goal + 1, *fan_of(mesh))
    assert (room == 1.0) == (least > -1e-9)
    if room < 1.0:
        assert (sizes(moved(mesh, goal + 1, room)) >= 0.0).all()


def test_a_star_has_less_room_than_it_would_need():
    """D's appendix C: where no neighbour passes the test, the vertex can still be drawn into the fan's kernel."""
    k = 10
    lengths = np.where(np.arange(k) % 2, 0.25, 1.0)
    mesh = flower(np.full(k, 2.0 * np.pi / k), lengths)
    room = [room_for(0, 0, v, *fan_of(mesh)) for v in range(1, k + 1)]
    assert max(room) < 1.0 and min(room) > 0.0


def test_shrinking_a_face_scales_two_of_its_sides():
    """Both ends of an edge drawn to the third corner of a face: its height falls as asked, and no face inverts."""
    u, v = np.meshgrid(np.arange(4.0), np.arange(4.0))
    uv = np.column_stack([u.ravel(), v.ravel()])
    faces = np.array(
        [[a, a + 1, a + 5] for a in range(11) if a % 4 < 3] + [[a, a + 5, a + 4] for a in range(11) if a % 4 < 3]
    )
    mesh = TriMesh(np.column_stack([uv, np.zeros(16)]), faces, rest=rest_from_uv(uv, faces))
    a, b, goal = 5, 6, 10
    assert room_for(a, b, goal, *fan_of(mesh)) == 1.0
    (f,) = [f for f in mesh.fan(a) if set(mesh.faces[f]) == {a, b, goal}]
    for end in (a, b):
        corners = moved(mesh, goal, 0.75, end)[list(mesh.fan(end)).index(f)]
        names = np.roll(mesh.faces[f], -int(np.flatnonzero(mesh.faces[f] == end)[0]))[1:]
        to = corners[1 + list(names).index(goal)]
        assert np.linalg.norm(to - corners[0]) == pytest.approx(0.25 * np.linalg.norm(uv[goal] - uv[end]))
