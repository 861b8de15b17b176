"""Closed tubes: a straight one with round ends, and the same laid along a curve."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from unsnarl.mesh import TriMesh


def capsule(length: float, radius: float, around: int, *, name: str = "tube") -> TriMesh:
    """A straight closed tube along x, from 0 to its length [m], with half balls as ends; its normals point outwards.

    around : vertices of a ring; along the tube edges are about as long
    """
    edge = 2.0 * np.pi * radius / around
    cap = max(2, round(0.5 * np.pi * radius / edge))
    turn = 0.5 * np.pi * np.arange(1, cap + 1) / cap
    middle = max(2, round((length - 2.0 * radius) / edge))
    straight = np.linspace(radius, length - radius, middle + 1)
    end = radius * (1.0 - np.cos(turn))
    along = np.concatenate([end[:-1], straight, length - end[-2::-1]])
    wide = np.concatenate([radius * np.sin(turn[:-1]), np.full(middle + 1, radius), radius * np.sin(turn[-2::-1])])
    phi = 2.0 * np.pi * (np.arange(around) + 0.5 * (np.arange(len(along)) % 2)[:, None]) / around
    rings = np.stack([np.broadcast_to(along[:, None], phi.shape), wide[:, None] * np.cos(phi),
                      wide[:, None] * np.sin(phi)], axis=2)  # fmt: skip
    x = np.concatenate([rings.reshape(-1, 3), [[0.0, 0.0, 0.0], [length, 0.0, 0.0]]])
    return TriMesh(x, _faces(len(along), around), name=name)


def _faces(rings: int, around: int) -> np.ndarray:
    """(m, 3) of rings, each turned by half a step against the one before, and of a vertex at either end."""
    number = np.arange(rings * around).reshape(rings, around)
    faces = []
    for k in range(rings - 1):
        a, b = number[k], number[k + 1]
        if k % 2:  # this ring is ahead of the next
            b = np.roll(b, -1)
            faces += [np.stack([a, np.roll(a, -1), b], axis=1), np.stack([a, b, np.roll(b, 1)], axis=1)]
        else:
            faces += [np.stack([a, np.roll(a, -1), b], axis=1), np.stack([np.roll(a, -1), np.roll(b, -1), b], axis=1)]
    first, last = np.full(around, number.size), np.full(around, number.size + 1)
    a, b = number[0], number[-1]
    faces += [np.stack([first, np.roll(a, -1), a], axis=1), np.stack([last, b, np.roll(b, -1)], axis=1)]
    return np.concatenate(faces)


def along(tube: TriMesh, curve: np.ndarray) -> np.ndarray:
    """(n, 3) positions of a straight tube [m] when its axis is laid along a curve, without twist.

    curve : (k, 3) points close to each other [m]; it is scaled to be as long as the tube
    """
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    length = tube.x[:, 0].max()
    curve, s = curve * (length / s[-1]), s * (length / s[-1])
    tangent = np.gradient(curve, s, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    aside = _carried(tangent)
    over = np.cross(tangent, aside)
    at = tube.x[:, 0]
    axis, one, two = (np.stack([np.interp(at, s, c) for c in a.T], axis=1) for a in (curve, aside, over))
    return axis + tube.x[:, 1:2] * one + tube.x[:, 2:3] * two


def _carried(tangent: np.ndarray) -> np.ndarray:
    """(k, 3) of length 1, across the tangents (k, 3): each is the one before, turned as its tangent is."""
    aside = np.empty_like(tangent)
    aside[0] = np.cross(tangent[0], np.eye(3)[np.abs(tangent[0]).argmin()])
    for k in range(1, len(tangent)):
        aside[k] = aside[k - 1] - (aside[k - 1] @ tangent[k]) * tangent[k]
        aside[k] /= np.linalg.norm(aside[k])
    aside[0] /= np.linalg.norm(aside[0])
    return aside


def arc(degrees: float, turned: Rotation | None = None) -> np.ndarray:
    """(k, 3) a circular arc of length 1 in the plane z = 0, its middle at the origin, along x there, bent towards y."""
    half = 0.5 * np.radians(degrees)
    t = np.linspace(-half, half, 201)
    points = np.column_stack([np.sin(t), 1.0 - np.cos(t), np.zeros_like(t)]) / (2.0 * half)
    return points if turned is None else turned.apply(points)
