"""Shapes made of lofts: a smooth union, as a distance whose zero level is the surface.

A loft is an axis with an ellipse across it at every height, and half an ellipsoid on each end; one without length is an
ellipsoid. With k = |(u/a, v/b, e/c)|, u and v across the axis, e beyond its end, its distance is nearly
k (k - 1) / |(u/a^2, v/b^2, e/c^2)|. Two distances are blended over a width r by a smooth minimum,
min(p, q) - max(r - |p - q|, 0)^2 / 4r.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import PchipInterpolator

from unsnarl.jit import floats, in_threads, inlined, kernel, thread_count

_SAMPLES = 96  # of a loft's sections
_FAR = 0.08  # beyond which a loft may be taken for a round one: more than any blend [m]
_GROUND = 0.008  # width over which the edge on the ground is rounded [m]


@dataclass(frozen=True)
class Loft:
    """One volume of the figure.

    bones    : those it belongs to; a point of it belongs to the nearest of them
    start    : beginning of the axis, or centre of an ellipsoid [m]
    end      : end of the axis [m], or direction of an ellipsoid's
    across   : about the direction of the half-width a; that of b is the cross product of it and the axis
    sections : rows (share of the axis, a, b, centre along a, centre along b) [m]; one row for an ellipsoid
    caps     : how far the rounded ends go beyond the axis [m]
    blend    : width of the blend with what comes before in its group [m]
    """

    bones: tuple[str, ...]
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    across: tuple[float, float, float]
    sections: tuple
    caps: tuple[float, float]
    blend: float = 0.02


def ellipsoid(bone, centre, radii, blend=0.02, axis=(0, 1, 0), across=(1, 0, 0)) -> Loft:
    """Radii (a, b, c) along `across`, the cross product of it and the axis, and the axis: x, z and y by default."""
    return Loft((bone,), centre, axis, across, ((0.0, radii[0], radii[1], 0.0, 0.0),), (radii[2], radii[2]), blend)


@dataclass(frozen=True)
class Group:
    """Lofts that are blended with each other, one after the other, and then with the groups before, over `blend` [m].

    mirrored : the lofts are those of the left half, and have a mirror image at -x
    """

    lofts: tuple[Loft, ...]
    blend: float = 0.0
    mirrored: bool = False


@dataclass(frozen=True)
class Shape:
    """What groups of lofts make together, above the ground y = 0."""

    groups: tuple[Group, ...]

    @property
    def lofts(self) -> tuple[Loft, ...]:
        return tuple(loft for group in self.groups for loft in group.lofts)

    def distance(self, x: np.ndarray) -> np.ndarray:
        """(n,) about the signed distance of points x (n, 3) from the surface [m], negative inside."""
        x = floats(x)
        found = np.empty(len(x))
        _in_parts(len(x), lambda low, high: _distances(*self._tables, x[low:high], found[low:high]))
        return found

    def onto_surface(self, x: np.ndarray, steps: int = 3) -> tuple[np.ndarray, np.ndarray]:
        """Points x (n, 3) brought onto the surface by Newton steps, and its normals (n, 3) as of the last step."""
        x = np.array(x, dtype=np.float64, order="C")
        normals = np.empty_like(x)
        _in_parts(len(x), lambda low, high: _project(*self._tables, x[low:high], normals[low:high], steps))
        return x, normals

    def distances(self, x: np.ndarray) -> np.ndarray:
        """(n, 2, l) about the distance of points x (n, 3) from each loft and from its mirror image [m]."""
        both = [_each(*self._tables[:2], floats(x * [sign, 1.0, 1.0])) for sign in (1.0, -1.0)]
        return np.stack(both, axis=1)

    @cached_property
    def _tables(self) -> tuple[np.ndarray, ...]:
        """For the kernels: lofts (l, 17), sections (l, samples, 4), groups (g, 4)."""
        rows, sections, groups = [], [], []
        for group in self.groups:
            groups.append((len(rows), len(rows) + len(group.lofts), group.blend, group.mirrored))
            for loft in group.lofts:
                row, section = _table(loft)
                rows.append(row)
                sections.append(section)
        return floats(rows), floats(sections), floats(groups)


def _table(loft: Loft) -> tuple[list[float], np.ndarray]:
    start, end, across = (np.array(a, dtype=np.float64) for a in (loft.start, loft.end, loft.across))
    at, *columns = np.array(loft.sections, dtype=np.float64).T
    point = len(at) == 1
    axis = end if point else end - start
    length = np.linalg.norm(axis)
    axis = axis / length
    u = across - (across @ axis) * axis
    u /= np.linalg.norm(u)
    columns = np.stack(columns, axis=1)
    if point:
        length, sections = 0.0, np.repeat(columns, _SAMPLES, axis=0)
    else:
        sections = PchipInterpolator(at, columns)(np.linspace(0.0, 1.0, _SAMPLES))
    girdle = max(*(sections[:, :2].max(axis=1) + np.abs(sections[:, 2:]).sum(axis=1)), *loft.caps)
    return [*start, *u, *np.cross(u, axis), *axis, length, *loft.caps, loft.blend, girdle], sections


def _in_parts(n: int, work) -> None:
    parts = min(thread_count(), max(1, n // 2000))
    cuts = np.linspace(0, n, parts + 1).astype(int)
    in_threads(lambda part: work(cuts[part], cuts[part + 1]), parts)


@inlined
def _blend(p, q, width):
    both = max(width - abs(p - q), 0.0)
    return min(p, q) - (0.25 * both * both / width if width > 0.0 else 0.0)


@kernel
def _loft(loft, sections, x, y, z):
    """Distance from one loft; far away, from a round one about it."""
    x, y, z = x - loft[0], y - loft[1], z - loft[2]
    w = x * loft[9] + y * loft[10] + z * loft[11]
    length, girdle = loft[12], loft[16]
    inside = min(max(w, 0.0), length)
    far = x * x + y * y + z * z - inside * (2.0 * w - inside)
    if far > (girdle + _FAR) ** 2:
        return np.sqrt(far) - girdle
    u = x * loft[3] + y * loft[4] + z * loft[5]
    v = x * loft[6] + y * loft[7] + z * loft[8]
    cap = loft[13] if w < 0.0 else loft[14]
    at = inside / length * (len(sections) - 1) if length > 0.0 else 0.0
    low = min(int(at), len(sections) - 2)
    t = at - low
    a = (1.0 - t) * sections[low, 0] + t * sections[low + 1, 0]
    b = (1.0 - t) * sections[low, 1] + t * sections[low + 1, 1]
    u -= (1.0 - t) * sections[low, 2] + t * sections[low + 1, 2]
    v -= (1.0 - t) * sections[low, 3] + t * sections[low + 1, 3]
    u, v, w = u / a, v / b, (w - inside) / cap
    k = np.sqrt(u * u + v * v + w * w)
    slope = np.sqrt((u / a) ** 2 + (v / b) ** 2 + (w / cap) ** 2)
    return k * (k - 1.0) / slope if k > 1e-9 else -min(a, b)


@kernel
def _figure(lofts, sections, groups, x, y, z):
    found = 1e9
    for g in range(len(groups)):
        own = 1e9
        for side in range(2 if groups[g, 3] > 0.0 else 1):
            half = 1e9
            for k in range(int(groups[g, 0]), int(groups[g, 1])):
                half = _blend(half, _loft(lofts[k], sections[k], -x if side else x, y, z), lofts[k, 15])
            own = _blend(own, half, groups[g, 2]) if side else half
        found = _blend(found, own, groups[g, 2])
    return -_blend(-found, y, _GROUND)


@kernel
def _distances(lofts, sections, groups, x, found):
    for i in range(len(x)):
        found[i] = _figure(lofts, sections, groups, x[i, 0], x[i, 1], x[i, 2])


@kernel
def _project(lofts, sections, groups, x, normals, steps):
    h = 1e-5  # the values at four corners of a cube give the slope, and their mean the value in its middle
    for i in range(len(x)):
        for _ in range(steps):
            a, b, c = x[i]
            p = _figure(lofts, sections, groups, a + h, b + h, c + h)
            q = _figure(lofts, sections, groups, a + h, b - h, c - h)
            r = _figure(lofts, sections, groups, a - h, b + h, c - h)
            s = _figure(lofts, sections, groups, a - h, b - h, c + h)
            gx, gy, gz = p + q - r - s, p - q + r - s, p - q - r + s
            size = np.sqrt(gx * gx + gy * gy + gz * gz) + 1e-30
            far = min(max((p + q + r + s) * h / size, -0.02), 0.02)
            normals[i, 0], normals[i, 1], normals[i, 2] = gx / size, gy / size, gz / size
            for j in range(3):
                x[i, j] -= far * normals[i, j]


@kernel
def _each(lofts, sections, x):
    found = np.empty((len(x), len(lofts)))
    for i in range(len(x)):
        for k in range(len(lofts)):
            found[i, k] = _loft(lofts[k], sections[k], x[i, 0], x[i, 1], x[i, 2])
    return found
