"""Fans: the faces around a vertex laid into one plane, the vertex moved in it, and every face's rest shape with it.

The angles of the faces are scaled so that they fill 2 pi, where the vertex is inside of the cloth; at a border they
stay, up to nearly 2 pi. The vertex moves towards a neighbour in that plane. Each face takes the motion over as seen
from its own rest shape: in a flat panel nothing is scaled, and this is what D §5.1.2 does; across a seam, or around a
dart, lengths along the edge to the neighbour are exact, and what lies beside it is scaled as the angles are.
"""

from __future__ import annotations

import numpy as np

from unsnarl.jit import kernel

LADDER = 20  # shares of the way at which faces are looked at


@kernel
def room_for(a, b, goal, faces, original, edge_face_count, face_edges, edges, fan_start, fan_faces):
    """Share of the way to `goal` that a and b (or a alone, b being a) can go without inverting a face: 1 for all of it.

    [D §5.1.2] Less than 1 leaves a bit of room.
    """
    size = fan_start[a + 1] - fan_start[a]
    move_a = np.zeros((size, 2))
    if not unfold(a, goal, faces, original, edge_face_count, face_edges, edges, fan_start, fan_faces, move_a):
        return 0.0
    move_b = np.zeros((fan_start[b + 1] - fan_start[b], 2))
    if b != a and not unfold(
        b, goal, faces, original, edge_face_count, face_edges, edges, fan_start, fan_faces, move_b
    ):
        return 0.0
    p = np.zeros((3, 2))
    least = LADDER
    for side in range(1 if a == b else 2):
        v = a if side == 0 else b
        other = b if side == 0 else a
        for i in range(fan_start[v], fan_start[v + 1]):
            f = fan_faces[i]
            at = -1  # of this face in the other fan
            if a != b:
                for j in range(fan_start[other], fan_start[other + 1]):
                    if fan_faces[j] == f:
                        at = j - fan_start[other]
            whole = original[f, 0, 0] * original[f, 1, 1] - original[f, 0, 1] * original[f, 1, 0]
            for step in range(1, least + 1):
                share = step / LADDER
                p[:] = 0.0
                p[1, 0], p[1, 1] = original[f, 0, 0], original[f, 1, 0]
                p[2, 0], p[2, 1] = original[f, 0, 1], original[f, 1, 1]
                for k in range(3):
                    for c in range(2):
                        if faces[f, k] == v:
                            p[k, c] += share * (move_a if side == 0 else move_b)[i - fan_start[v], c]
                        elif at >= 0 and faces[f, k] == other:
                            p[k, c] += share * (move_b if side == 0 else move_a)[at, c]
                now = (p[1, 0] - p[0, 0]) * (p[2, 1] - p[0, 1]) - (p[2, 0] - p[0, 0]) * (p[1, 1] - p[0, 1])
                if now * whole < -1e-9 * whole * whole:
                    least = step - 1
                    break
    return 1.0 if least == LADDER else 0.95 * least / LADDER


@kernel
def unfold(v, goal, faces, original, edge_face_count, face_edges, edges, fan_start, fan_faces, move):
    """move (faces of the fan, 2): the way of v to its neighbour `goal`, in the rest shape of each face around it.

    The fan is laid into a plane: the face it begins with has the angle 0 on the side it is entered by. Where several
    fans meet in v, those without the goal stay as they are. False if nothing could be done.
    """
    first, last = fan_start[v], fan_start[v + 1]
    move[:] = 0.0
    begin = first
    while begin < last:
        end = begin + 1  # of this fan
        enter = _enters(v, fan_faces[begin], fan_faces[end] if end < last else -1, faces)
        here, there = enter, np.int64(-1)
        total = 0.0
        found, angle, length = False, 0.0, 0.0
        end = begin
        while end < last:
            f = fan_faces[end]
            if end > begin and not _has(faces, f, here):
                break
            there = np.int64(faces[f, 0]) + faces[f, 1] + faces[f, 2] - v - here
            lx, ly, rx, ry = _sides(v, here, f, faces, original)
            if here == goal:
                found, angle, length = True, total, np.sqrt(lx * lx + ly * ly)
            total += abs(np.arctan2(lx * ry - ly * rx, lx * rx + ly * ry))
            if there == goal:
                found, angle, length = True, total, np.sqrt(rx * rx + ry * ry)
            here = there
            end += 1
            if here == enter:
                break
        if found:
            closed = here == enter and end - begin > 2
            scale = 2.0 * np.pi / total if closed else min(1.0, 1.9 * np.pi / max(total, 1e-300))
            sx, sy = length * np.cos(angle * scale), length * np.sin(angle * scale)
            here, theta = enter, 0.0
            for i in range(begin, end):
                f = fan_faces[i]
                there = np.int64(faces[f, 0]) + faces[f, 1] + faces[f, 2] - v - here
                lx, ly, rx, ry = _sides(v, here, f, faces, original)
                own = np.arctan2(lx * ry - ly * rx, lx * rx + ly * ry)
                alpha = abs(own)
                left, right = np.sqrt(lx * lx + ly * ly), np.sqrt(rx * rx + ry * ry)
                if alpha <= 0.0 or left == 0.0 or right == 0.0:
                    return False
                if here == goal:  # to the bit along the edge, whatever the other side of a seam says
                    move[i - first, 0], move[i - first, 1] = lx, ly
                elif there == goal:
                    move[i - first, 0], move[i - first, 1] = rx, ry
                else:
                    # the way as seen from the side that is entered by, then back from the scaled angle to its own
                    ax, ay = np.cos(theta * scale), np.sin(theta * scale)
                    along, beside = sx * ax + sy * ay, sy * ax - sx * ay
                    stretched = np.sin(scale * alpha) / np.sin(alpha)
                    if scale * alpha < 0.98 * np.pi and stretched > 0.05:
                        beside /= stretched
                        along -= (np.cos(scale * alpha) - np.cos(alpha)) / np.sin(alpha) * beside
                    sign = 1.0 if own > 0.0 else -1.0
                    ux, uy = lx / left, ly / left
                    move[i - first, 0] = along * ux - sign * beside * uy
                    move[i - first, 1] = along * uy + sign * beside * ux
                theta += alpha
                here = there
            return True
        begin = end
    return False


@kernel
def _has(faces, f, v):
    return faces[f, 0] == v or faces[f, 1] == v or faces[f, 2] == v


@kernel
def _enters(v, f, following, faces):
    """The corner of face f, not v, that it does not share with the next face of the fan."""
    for k in range(3):
        w = np.int64(faces[f, k])
        if w != v and (following < 0 or not _has(faces, following, w)):
            return w
    for k in range(3):  # two faces that share all corners
        if faces[f, k] != v:
            return np.int64(faces[f, k])
    return np.int64(-1)


@kernel
def _sides(v, here, f, faces, original):
    """The edges of face f at v in its rest shape: to `here`, then to its third corner."""
    px = py = hx = hy = tx = ty = 0.0
    for k in range(3):
        qx = 0.0 if k == 0 else original[f, 0, k - 1]
        qy = 0.0 if k == 0 else original[f, 1, k - 1]
        if faces[f, k] == v:
            px, py = qx, qy
        elif faces[f, k] == here:
            hx, hy = qx, qy
        else:
            tx, ty = qx, qy
    return hx - px, hy - py, tx - px, ty - py
