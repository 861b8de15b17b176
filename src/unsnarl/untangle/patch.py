"""A part of a surface laid flat: the faces around a path, unfolded one by one from rest shapes. [E §3, §5.1]

Faces are unfolded across edges, nearest first, from a chosen one: within a flat panel that gives the panel as it was
cut; across seams and on surfaces without uv, something near it. No parameterisation has to be given.
"""

from __future__ import annotations

import numpy as np

from unsnarl.jit import inlined, kernel


@inlined
def _corner(faces, f, v):
    return 0 if faces[f, 0] == v else (1 if faces[f, 1] == v else 2)


@inlined
def _at_rest(rest, f, k):
    """Corner k of face f at rest."""
    if k == 0:
        return 0.0, 0.0
    return rest[f, 0, k - 1], rest[f, 1, k - 1]


@kernel
def grow(seeds, faces, star_start, star_faces, rings, ring):
    """Faces within so many rings of vertices around seed faces, the seeds first; ring (m,) int32, -1 before and after.

    Returns (faces (k,), ring of each).
    """
    found = np.empty(faces.shape[0], np.int32)
    n = 0
    for f in seeds:
        if ring[f] < 0:
            ring[f] = 0
            found[n] = f
            n += 1
    i = 0
    while i < n:
        f = found[i]
        i += 1
        if ring[f] >= rings:
            continue
        for k in range(3):
            v = faces[f, k]
            for j in range(star_start[v], star_start[v + 1]):
                g = star_faces[j]
                if ring[g] < 0:
                    ring[g] = ring[f] + 1
                    found[n] = g
                    n += 1
    out, level = found[:n].copy(), np.empty(n, np.int32)
    for j in range(n):
        level[j] = ring[out[j]]
        ring[out[j]] = -1
    return out, level


@kernel
def unfold(some, first, faces, face_edges, edge_faces, edge_face_count, rest, place, flat, at):
    """Lay faces flat, from `first` on, across the edges between them, nearest first.

    some  : (k,) int32, the faces; flat : (n, 2) [m] gets the places of their vertices
    place : (m,) int32 and at : (n,) int32, -1 before: place gets i for each face some[i] that was laid, at gets the
            order in which vertices were; they are to be set back by `put_back`
    Returns the faces (k',), in the order they were laid.
    """
    member = np.zeros(faces.shape[0], np.bool_)
    for f in some:
        member[f] = True
    laid = np.empty(some.shape[0], np.int32)
    n = vertices = 0
    for k in range(3):
        v = faces[first, k]
        flat[v, 0], flat[v, 1] = _at_rest(rest, first, k)
        at[v] = vertices
        vertices += 1
    if rest[first, 0, 0] * rest[first, 1, 1] - rest[first, 0, 1] * rest[first, 1, 0] < 0.0:  # a panel seen from behind
        for k in range(3):
            flat[faces[first, k], 0] *= -1.0
    place[first] = 0
    laid[0] = first
    n = 1
    i = 0
    while i < n:
        f = laid[i]
        i += 1
        for k in range(3):
            e = face_edges[f, k]
            if edge_face_count[e] != 2:
                continue
            g = edge_faces[e, 0] + edge_faces[e, 1] - f
            if not member[g] or place[g] >= 0:
                continue
            a, b = faces[f, k], faces[f, (k + 1) % 3]
            c = faces[g, 0] + faces[g, 1] + faces[g, 2] - a - b
            if at[c] < 0:
                ax, ay = _at_rest(rest, g, _corner(faces, g, a))
                bx, by = _at_rest(rest, g, _corner(faces, g, b))
                cx, cy = _at_rest(rest, g, _corner(faces, g, c))
                bx, by, cx, cy = bx - ax, by - ay, cx - ax, cy - ay
                square = bx * bx + by * by
                if square == 0.0:
                    continue
                t, s = (cx * bx + cy * by) / square, abs(cx * by - cy * bx) / square
                ex, ey = flat[b, 0] - flat[a, 0], flat[b, 1] - flat[a, 1]
                o = faces[f, (k + 2) % 3]  # the new corner lies on the other side of the edge
                if ex * (flat[o, 1] - flat[a, 1]) - ey * (flat[o, 0] - flat[a, 0]) > 0.0:
                    s = -s
                flat[c, 0] = flat[a, 0] + t * ex - s * ey
                flat[c, 1] = flat[a, 1] + t * ey + s * ex
                at[c] = vertices
                vertices += 1
            place[g] = n
            laid[n] = g
            n += 1
    return laid[:n].copy()


@kernel
def put_back(laid, faces, place, at):
    """Make `place` and `at` of `unfold` as they were before."""
    for f in laid:
        place[f] = -1
        for k in range(3):
            at[faces[f, k]] = -1


@inlined
def _turn(flat, a, b, x, y):
    """Twice the signed area of the flat triangle a, b, (x, y)."""
    return (flat[b, 0] - flat[a, 0]) * (y - flat[a, 1]) - (flat[b, 1] - flat[a, 1]) * (x - flat[a, 0])


@kernel
def locate(x, y, start, faces, face_edges, edge_faces, edge_face_count, flat, place, most):
    """(face, u, v, w): where the flat point (x, y) is, walking from face `start` across laid faces.

    If the way leads out of them, it is the nearest point of the last face.
    """
    f = start
    before = -1
    for _ in range(most):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        area = _turn(flat, i, j, flat[k, 0], flat[k, 1])
        if area == 0.0:
            return f, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0
        w = _turn(flat, i, j, x, y) / area
        u = _turn(flat, j, k, x, y) / area
        v = _turn(flat, k, i, x, y) / area
        if u >= 0.0 and v >= 0.0 and w >= 0.0:
            return f, u, v, w
        nxt = -1
        worst = 0.0
        for side in range(3):  # across the edge that the point is farthest beyond, not back
            out = w if side == 0 else (u if side == 1 else v)
            e = face_edges[f, side]
            if out >= worst or edge_face_count[e] != 2:
                continue
            g = edge_faces[e, 0] + edge_faces[e, 1] - f
            if place[g] >= 0 and g != before:
                nxt, worst = g, out
        if nxt < 0:
            u, v, w = max(u, 0.0), max(v, 0.0), max(w, 0.0)
            total = u + v + w
            return f, u / total, v / total, w / total
        before, f = f, nxt
    i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
    return f, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0
