"""Bending of cloth at the edge between two faces: E = k/2 (theta - rest)^2, theta the angle between their normals.

A hinge is four points: the edge (x0, x1), x2 of face 0 = (x0, x1, x2), and x3 of face 1 = (x1, x0, x3). Its angle is 0
where it is flat, and positive where the faces bend away from their normals: a ridge seen from the side the normals
point to; a valley is negative [A §3]. The energy is a function of the angle: first `angle_gradient`, then the verbs.
"""

from __future__ import annotations

import math

import numpy as np

from unsnarl.jit import inlined

SLIVER = 1e-4  # a face whose height over the hinge is less than this times its size has no direction to bend in


@inlined
def angle(x, i0, i1, i2, i3):
    """Signed angle of a hinge [rad], in (-pi, pi]; 0 for a face without area. x : (n, 3) float64 [m]."""
    ex, ey, ez = x[i1, 0] - x[i0, 0], x[i1, 1] - x[i0, 1], x[i1, 2] - x[i0, 2]
    ax, ay, az = x[i2, 0] - x[i0, 0], x[i2, 1] - x[i0, 1], x[i2, 2] - x[i0, 2]
    bx, by, bz = x[i3, 0] - x[i0, 0], x[i3, 1] - x[i0, 1], x[i3, 2] - x[i0, 2]
    mx, my, mz = ey * az - ez * ay, ez * ax - ex * az, ex * ay - ey * ax
    nx, ny, nz = by * ez - bz * ey, bz * ex - bx * ez, bx * ey - by * ex
    return _between(ex, ey, ez, bx, by, bz, mx, my, mz, nx, ny, nz)


@inlined
def angle_gradient(x, i0, i1, i2, i3, out):
    """The angle of a hinge [rad], and its derivatives written to out : (4, 3) float64 [rad/m], a row per point.

    A point opposite the edge turns its face by its way along the normal over its height; the ends of the edge take
    the counterparts, so that moving and turning all four changes nothing. All 0 where a face is a sliver.
    x : (n, 3) float64 [m].
    """
    ex, ey, ez = x[i1, 0] - x[i0, 0], x[i1, 1] - x[i0, 1], x[i1, 2] - x[i0, 2]
    ax, ay, az = x[i2, 0] - x[i0, 0], x[i2, 1] - x[i0, 1], x[i2, 2] - x[i0, 2]
    bx, by, bz = x[i3, 0] - x[i0, 0], x[i3, 1] - x[i0, 1], x[i3, 2] - x[i0, 2]
    mx, my, mz = ey * az - ez * ay, ez * ax - ex * az, ex * ay - ey * ax  # normal of face 0, of twice its area
    nx, ny, nz = by * ez - bz * ey, bz * ex - bx * ez, bx * ey - by * ex  # normal of face 1
    theta = _between(ex, ey, ez, bx, by, bz, mx, my, mz, nx, ny, nz)

    ee = ex * ex + ey * ey + ez * ez
    mm, nn = mx * mx + my * my + mz * mz, nx * nx + ny * ny + nz * nz
    size0, size1 = ee + ax * ax + ay * ay + az * az, ee + bx * bx + by * by + bz * bz
    least = SLIVER * SLIVER
    if not (mm > least * size0 * ee and nn > least * size1 * ee and ee > least * max(size0, size1)):
        out[:4, :3] = 0.0
        return theta

    length = math.sqrt(ee)
    to0, to1 = -length / mm, -length / nn
    s, t = (ax * ex + ay * ey + az * ez) / ee, (bx * ex + by * ey + bz * ez) / ee  # where x2 and x3 are along the edge
    out[2, 0], out[2, 1], out[2, 2] = to0 * mx, to0 * my, to0 * mz
    out[3, 0], out[3, 1], out[3, 2] = to1 * nx, to1 * ny, to1 * nz
    for c in range(3):
        out[0, c] = -(1.0 - s) * out[2, c] - (1.0 - t) * out[3, c]
        out[1, c] = -s * out[2, c] - t * out[3, c]
    return theta


@inlined
def away(theta, rest):
    """theta - rest the short way round [rad], in (-pi, pi]; both angles are in (-pi, pi]."""
    turn = theta - rest
    if turn > math.pi:
        return turn - 2.0 * math.pi
    if turn <= -math.pi:
        return turn + 2.0 * math.pi
    return turn


@inlined
def energy(theta, rest, k):
    """Energy of a hinge [J]. theta, rest : angle and angle at rest [rad]; k : stiffness [J/rad^2]."""
    return 0.5 * k * away(theta, rest) ** 2


@inlined
def gradient(theta, rest, k, slope, out):
    """Add dE/dx [N] to out : (4, 3) float64. slope : (4, 3), the derivatives from `angle_gradient`."""
    moment = k * away(theta, rest)
    for p in range(4):
        for c in range(3):
            out[p, c] += moment * slope[p, c]


@inlined
def hessian_psd(k, slope, out):
    """Add k slope slope^T [N/m] to out : (12, 12) float64, three rows and columns per point.

    The Gauss-Newton part of d2E/dx2: all of it where theta = rest, and positive semi-definite anywhere. What is left
    out, (theta - rest) times the second derivative of the angle, is indefinite, and computing and clamping it does
    not pay: it costs more than all else of a hinge.
    """
    for p in range(4):
        for c in range(3):
            row = k * slope[p, c]
            for q in range(4):
                for d in range(3):
                    out[3 * p + c, 3 * q + d] += row * slope[q, d]


def hinge_stiffness(rigidity, edge_length, area0, area1):
    """Stiffness k of hinges [J/rad^2] that together bend like a plate: B |e|^2 / (A0 + A1), all at rest.

    The form of Grinspun et al. (2003, "Discrete Shells"), with the factor for which grids of right and of equilateral
    triangles, bent to a cylinder of curvature kappa along a grid axis, store B kappa^2 / 2 per area. Obliquely the
    former are stiffer: three times so along their diagonals if these all go one way.

    rigidity : B [N m]; edge_length [m]; area0, area1 : of the two faces [m^2]; numbers or arrays. 0 where
    both areas are.
    """
    areas = np.add(area0, area1)
    return np.divide(rigidity * np.square(edge_length), areas, out=np.zeros(np.shape(areas)), where=areas > 0.0)


@inlined
def _between(ex, ey, ez, bx, by, bz, mx, my, mz, nx, ny, nz):
    """Angle from the normal m to the normal n about the edge e; b goes from the edge to the point of n's face.

    Since n = b x e, the sine m x n . e / |e| is -|e| m . b. It is taken from 0 so that it is never -0, for which atan2
    would be -pi when folded flat.
    """
    sine = 0.0 - math.sqrt(ex * ex + ey * ey + ez * ez) * (mx * bx + my * by + mz * bz)
    return math.atan2(sine, mx * nx + my * ny + mz * nz)
