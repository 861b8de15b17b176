"""Thin-plate splines from the plane to the plane: r^2 log r with an affine part. [E §5.1]"""

from __future__ import annotations

import numpy as np

from unsnarl.jit import inlined, kernel

STRAIGHT = 0.02  # centres this much less wide than long are on a straight line
ONE = 1e-12  # centres this much closer to each other than to the origin are one point: the rest is rounding


@inlined
def _kernel(dx, dy):
    square = dx * dx + dy * dy
    return 0.5 * square * np.log(square) if square > 0.0 else 0.0


@kernel
def fit(centres, values, weight):
    """Weights (k, 2) and affine part (3, 2) of the spline that takes centres (k, 2) to values (k, 2).

    Centres on a straight line do not say what happens beside it: there the map is affine, of least squares, and across
    the line as along it; the caller says to which side by `weight`, 1 or -1, positive keeping the orientation.
    """
    k = centres.shape[0]
    middle, goal = np.zeros(2), np.zeros(2)
    for i in range(k):
        middle += centres[i] / k
        goal += values[i] / k
    xx = xy = yy = 0.0
    for i in range(k):
        dx, dy = centres[i, 0] - middle[0], centres[i, 1] - middle[1]
        xx, xy, yy = xx + dx * dx, xy + dx * dy, yy + dy * dy
    half, apart = 0.5 * (xx + yy), np.sqrt(0.25 * (xx - yy) ** 2 + xy * xy)
    long, wide = half + apart, max(half - apart, 0.0)
    w, affine = np.zeros((k, 2)), np.zeros((3, 2))
    if long <= k * ONE * ONE * (middle @ middle):
        affine[0] = goal - middle
        affine[1, 0] = affine[2, 1] = 1.0
        return w, affine
    if wide < STRAIGHT * STRAIGHT * long:
        angle = 0.5 * np.arctan2(2.0 * xy, xx - yy)
        cx, cy = np.cos(angle), np.sin(angle)
        gx = gy = 0.0  # how the goal changes along the line
        for i in range(k):
            t = (centres[i, 0] - middle[0]) * cx + (centres[i, 1] - middle[1]) * cy
            gx, gy = gx + t * (values[i, 0] - goal[0]) / long, gy + t * (values[i, 1] - goal[1]) / long
        sx, sy = -weight * gy, weight * gx  # across
        affine[1, 0], affine[2, 0] = gx * cx - sx * cy, gx * cy + sx * cx
        affine[1, 1], affine[2, 1] = gy * cx - sy * cy, gy * cy + sy * cx
        affine[0, 0] = goal[0] - affine[1, 0] * middle[0] - affine[2, 0] * middle[1]
        affine[0, 1] = goal[1] - affine[1, 1] * middle[0] - affine[2, 1] * middle[1]
        return w, affine
    size = np.sqrt(long / k)
    matrix, right = np.zeros((k + 3, k + 3)), np.zeros((k + 3, 2))
    for i in range(k):
        for j in range(k):
            matrix[i, j] = _kernel((centres[i, 0] - centres[j, 0]) / size, (centres[i, 1] - centres[j, 1]) / size)
        matrix[i, i] += 1e-3  # smooths a little: paths are jagged
        matrix[i, k] = matrix[k, i] = 1.0
        matrix[i, k + 1] = matrix[k + 1, i] = (centres[i, 0] - middle[0]) / size
        matrix[i, k + 2] = matrix[k + 2, i] = (centres[i, 1] - middle[1]) / size
        right[i] = values[i]
    found = np.linalg.solve(matrix, right)
    for i in range(k):
        w[i] = found[i]
    # to the form of `evaluate`: distances in metres, the affine part from the origin
    affine[1], affine[2] = found[k + 1] / size, found[k + 2] / size
    affine[0] = found[k] - affine[1] * middle[0] - affine[2] * middle[1]
    return w, affine


@kernel
def evaluate(centres, w, affine, size, x, y):
    """The spline at (x, y); size : [m] as `fit` had it, see `scale`."""
    u = affine[0, 0] + affine[1, 0] * x + affine[2, 0] * y
    v = affine[0, 1] + affine[1, 1] * x + affine[2, 1] * y
    for i in range(centres.shape[0]):
        value = _kernel((x - centres[i, 0]) / size, (y - centres[i, 1]) / size)
        u += w[i, 0] * value
        v += w[i, 1] * value
    return u, v


@kernel
def scale(centres):
    """[m] the unit of length in which the spline of these centres is fitted."""
    k = centres.shape[0]
    mx = my = xx = xy = yy = 0.0
    for i in range(k):
        mx, my = mx + centres[i, 0] / k, my + centres[i, 1] / k
    for i in range(k):
        dx, dy = centres[i, 0] - mx, centres[i, 1] - my
        xx, xy, yy = xx + dx * dx, xy + dx * dy, yy + dy * dy
    long = 0.5 * (xx + yy) + np.sqrt(0.25 * (xx - yy) ** 2 + xy * xy)
    return np.sqrt(long / k) if long > 0.0 else 1.0
