"""The slow, obvious versions of what the library does fast: plain Python, one idea at a time."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise, zip_longest
from math import gcd, lcm

import numpy as np

from unsnarl.geometry.ccd import NO_COLLISION, edge_edge_ccd, point_triangle_ccd
from unsnarl.geometry.distance import edge_edge, point_triangle

# --- mesh ---


def edges_of(faces) -> dict[tuple[int, int], list[int]]:
    """Edge (a, b) with a < b -> its faces in ascending order; edges in lexicographic order."""
    found = {}
    for f, (a, b, c) in enumerate(faces):
        for u, v in ((a, b), (b, c), (c, a)):
            found.setdefault((min(u, v), max(u, v)), []).append(f)
    return dict(sorted(found.items()))


def pieces(nodes, pairs) -> list[list]:
    """Connected pieces of a graph, each sorted, by their lowest node."""
    beside = {node: [] for node in nodes}
    for a, b in pairs:
        beside[a].append(b)
        beside[b].append(a)
    found, seen = [], set()
    for node in sorted(beside):
        if node in seen:
            continue
        piece, todo = [], [node]
        seen.add(node)
        while todo:
            at = todo.pop()
            piece.append(at)
            for other in beside[at]:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        found.append(sorted(piece))
    return found


def labels(nodes, pairs) -> list[int]:
    """The number of each node's piece."""
    number = {node: i for i, piece in enumerate(pieces(nodes, pairs)) for node in piece}
    return [number[node] for node in sorted(number)]


def fans_at(faces, v) -> list[list[int]]:
    """The faces at v, in pieces that hang together across edges at v with exactly two faces."""
    pairs = [beside for edge, beside in edges_of(faces).items() if v in edge and len(beside) == 2]
    return pieces([f for f, face in enumerate(faces) if v in face], pairs)


def border_loops(faces) -> list[Counter]:
    """The edges of every loop along borders that has a boundary edge in it, with how often they are walked.

    A side (face, edge) is a border where the edge has other than two faces. At a vertex, the two sides that
    end one fan go on into each other.
    """
    edges = edges_of(faces)
    sides = [(f, edge) for edge, beside in edges.items() if len(beside) != 2 for f in beside]
    joints = []
    for v in {v for face in faces for v in face}:
        for fan in fans_at(faces, v):
            ends = [(f, edge) for f, edge in sides if f in fan and v in edge]
            assert len(ends) in (0, 2)
            if ends:
                joints.append(tuple(ends))
    loops = [Counter(edge for _, edge in piece) for piece in pieces(sides, joints)]
    return [loop for loop in loops if any(len(edges[edge]) == 1 for edge in loop)]


def panels_and_seams(faces, uv, face_uv) -> tuple[list[int], list[tuple[int, int]]]:
    """The panel of every face, and the edges whose two faces do not have the same uv at both ends."""

    def at(f, v):
        row = face_uv[f][list(faces[f]).index(v)]
        return None if row < 0 else tuple(uv[row])

    joined, seams = [], []
    for (a, b), beside in edges_of(faces).items():
        if len(beside) == 2:
            f, g = beside
            if at(f, a) == at(g, a) and at(f, b) == at(g, b):
                joined.append((f, g))
            else:
                seams.append((a, b))
    return labels(range(len(faces)), joined), seams


def split_faces(faces, n) -> tuple[list[list[int]], list[int]]:
    """Faces cut open along edges with three or more faces, and the vertex that each vertex is a copy of."""
    out, parent = [list(face) for face in faces], list(range(n))
    for v in sorted({v for edge, beside in edges_of(faces).items() if len(beside) > 2 for v in edge}):
        for fan in fans_at(faces, v)[1:]:
            for f in fan:
                out[f][list(faces[f]).index(v)] = len(parent)
            parent.append(v)
    return out, parent


# --- intersections ---


def as_integers(x) -> list[tuple[int, int, int]]:
    """The points of x as whole numbers: all coordinates times one power of two, exactly."""
    ratios = [[float(v).as_integer_ratio() for v in point] for point in x]
    common = max(bottom for point in ratios for _, bottom in point)
    return [tuple(top * (common // bottom) for top, bottom in point) for point in ratios]


def determinant(a, b, c) -> int:
    """of three rows of three whole numbers."""
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0])


def orient(points, i, j, k, m) -> int:
    """The sign of (p_i - p_m) . ((p_j - p_m) x (p_k - p_m)); where that is zero, of the same after moving the points.

    Coordinate c of the point with rank r among the four indices moves by d^(2^(3 r + c)), with a d so small that the
    first power of d decides. Moves with 3 r + c > 6 are left out: d^(4 + 16 + 64) alone has the factor 1 already.
    Whole numbers, times a power of 1 / d.
    """

    def sign_of(p, q, r, s):
        value = determinant(*([u - v for u, v in zip(row, s)] for row in (p, q, r)))
        return (value > 0) - (value < 0)

    sign = sign_of(points[i], points[j], points[k], points[m])
    if sign != 0:
        return sign
    rank = {v: r for r, v in enumerate(sorted((i, j, k, m)))}
    bits = 3 * max(abs(c).bit_length() for v in rank for c in points[v]) + 12
    unit = 1 << bits * 2**6

    def moved(v):
        return [
            coordinate * unit + (unit >> bits * 2 ** (3 * rank[v] + c) if 3 * rank[v] + c <= 6 else 0)
            for c, coordinate in enumerate(points[v])
        ]

    return sign_of(moved(i), moved(j), moved(k), moved(m))


def crosses(points, edge, face) -> bool:
    """Whether an edge crosses the interior of a face, by five signs."""
    (a, b), (i, j, k) = edge, face
    if {a, b} & {i, j, k}:
        return False
    if orient(points, i, j, k, a) == orient(points, i, j, k, b):
        return False
    return orient(points, a, b, i, j) == orient(points, a, b, j, k) == orient(points, a, b, k, i)


def hits_of(x, faces) -> list[tuple[int, int]]:
    """All (edge, face) with the edge crossing the face, edges numbered as in `edges_of`, in ascending order.

    Every edge with every face whose box it touches (comparing floats is exact); faces are sorted by where they begin
    along x, so that those which begin beyond the edge, or more than the widest face before it, are passed over.
    """
    x, faces = np.asarray(x, dtype=float), np.asarray(faces)
    points = as_integers(x)
    edges = list(edges_of(faces.tolist()))
    low, high = x[faces].min(axis=1), x[faces].max(axis=1)
    by_x = np.argsort(low[:, 0])
    begins = low[by_x, 0]
    widest = (high - low)[:, 0].max() * (1 + 1e-9)
    found = []
    for e, (a, b) in enumerate(edges):
        first, last = np.minimum(x[a], x[b]), np.maximum(x[a], x[b])
        some = by_x[np.searchsorted(begins, first[0] - widest) : np.searchsorted(begins, last[0], side="right")]
        near = some[(low[some] <= last).all(axis=1) & (high[some] >= first).all(axis=1)]
        found += [(e, f) for f in sorted(near.tolist()) if crosses(points, (a, b), faces[f].tolist())]
    return found


def crossing_pairs(x, faces) -> set[tuple[int, int]]:
    """All pairs of faces of which an edge of one crosses the other."""
    edge_faces = list(edges_of(np.asarray(faces).tolist()).values())
    return {tuple(sorted((f, g))) for e, f in hits_of(x, faces) for g in edge_faces[e]}


# --- tangles ---


def two_sides(vertices: int, edges, cut: set[int], start: int) -> dict[int, int] | None:
    """Put what is connected to `start` on side 0 or 1, so that just the cut edges join the two; None if impossible."""
    beside = {}
    for e, (a, b) in enumerate(edges):
        beside.setdefault(a, []).append((b, e in cut))
        beside.setdefault(b, []).append((a, e in cut))
    side, todo = {start: 0}, [start]
    while todo:
        v = todo.pop()
        for w, is_cut in beside[v]:
            wanted = side[v] ^ is_cut
            if w not in side:
                side[w] = wanted
                todo.append(w)
            elif side[w] != wanted:
                return None
    return side


# --- distance and motion ---


def nearest_squared(corners, triangle: bool) -> Fraction:
    """The squared distance of the origin from a triangle, or from a parallelogram whose third and fourth corner are
    beside the first and the second; exact, from all features. corners : whole numbers."""

    def dot(a, b):
        return sum(p * q for p, q in zip(a, b))

    def cross(a, b):
        return [a[k - 2] * b[k - 1] - a[k - 1] * b[k - 2] for k in range(3)]

    def less(a, b):
        return [p - q for p, q in zip(a, b)]

    a, b, c = corners[:3]
    ring = [a, b, c] if triangle else [a, b, corners[3], c]
    found = [Fraction(dot(p, p)) for p in ring]
    for p, q in zip(ring, ring[1:] + ring[:1]):
        e = less(q, p)
        if -dot(p, e) > 0 and dot(q, e) > 0:
            found.append(Fraction(dot(cross(p, e), cross(p, e)), dot(e, e)))
    e, g = less(b, a), less(c, a)
    n = cross(e, g)
    area, v, w = dot(n, n), dot(n, cross(g, a)), dot(n, cross(a, e))
    if area and v >= 0 and w >= 0 and (v + w <= area if triangle else v <= area and w <= area):
        found.append(Fraction(dot(n, a) ** 2, area))
    return min(found)


def differences(x, triangle: bool) -> tuple[list[list[int]], int]:
    """The corners of what is between a point and a triangle, or between two edges, times a whole number; that number.

    x : (4, 3), the point and the triangle, or the ends of the edges; or several of those, one after the other.
    """
    whole = as_integers(x)
    ratio = max(float(v).as_integer_ratio()[1] for v in np.ravel(x))
    pairs = [(0, 1), (0, 2), (0, 3)] if triangle else [(0, 2), (1, 2), (0, 3), (1, 3)]
    corners = [
        [q - p for p, q in zip(whole[at + i], whole[at + j])] for at in range(0, len(whole), 4) for i, j in pairs
    ]
    return corners, ratio


class Polynomial:
    """A polynomial in t with whole coefficients, the constant first. Sturm's theorem counts its distinct roots."""

    def __init__(self, coefficients):
        self.c = list(coefficients)
        while self.c and self.c[-1] == 0:
            self.c.pop()
        self._sturm = None

    def __bool__(self):
        return bool(self.c)

    def __add__(self, other):
        return Polynomial(a + b for a, b in zip_longest(self.c, other.c, fillvalue=0))

    def __neg__(self):
        return Polynomial(-a for a in self.c)

    def __sub__(self, other):
        return self + -other

    def __mul__(self, other):
        out = [0] * (len(self.c) + len(other.c))
        for i, a in enumerate(self.c):
            for j, b in enumerate(other.c):
                out[i + j] += a * b
        return Polynomial(out)

    def sign(self, t: Fraction) -> int:
        value = 0
        for i, a in enumerate(reversed(self.c)):
            value = value * t.numerator + a * t.denominator**i
        return (value > 0) - (value < 0)

    def slope(self):
        return Polynomial(i * a for i, a in enumerate(self.c) if i)

    def primitive(self):
        """Divided by what the coefficients share."""
        shared = gcd(*self.c)
        return Polynomial(a // shared for a in self.c) if self else self

    def remainder(self, other):
        """A positive multiple of what is left after division."""
        rest, lead = self, other.c[-1]
        while len(rest.c) >= len(other.c):
            shift = [0] * (len(rest.c) - len(other.c))
            factor = rest.c[-1] * (1 if lead > 0 else -1)
            rest = Polynomial(abs(lead) * a for a in rest.c) - Polynomial([*shift, *(factor * b for b in other.c)])
            rest = rest.primitive()
        return rest

    def shared_with(self, other):
        """The greatest common divisor."""
        p, q = self, other
        while q:
            p, q = q, p.remainder(q)
        return p.primitive()

    def sturm(self):
        """Sturm's chain. Repeated factors do no harm: they are divided out of the whole chain."""
        if self._sturm is None:
            chain = [self.primitive(), self.slope().primitive()]
            while chain[-1]:
                chain.append(-chain[-2].remainder(chain[-1]))
            chain.pop()
            self._sturm = [p.divided_by(chain[-1]) for p in chain]
        return self._sturm

    def divided_by(self, other):
        """The quotient times a positive number, where nothing is left."""
        rest, out = [Fraction(a) for a in self.c], [Fraction(0)] * (len(self.c) - len(other.c) + 1)
        for shift in reversed(range(len(out))):
            out[shift] = rest[shift + len(other.c) - 1] / abs(other.c[-1])
            for i, b in enumerate(other.c):
                rest[i + shift] -= out[shift] * b * (1 if other.c[-1] > 0 else -1)
        bottom = lcm(*(a.denominator for a in out))
        return Polynomial(int(a * bottom) for a in out).primitive()

    def count(self, low, high) -> int:
        """How many roots are above low, and at most high."""

        def changes(t):
            signs = [s for s in (p.sign(t) for p in self.sturm()) if s != 0]
            return sum(a != b for a, b in pairwise(signs))

        return changes(low) - changes(high)

    def roots(self):
        """(low, high) for each root in [0, 1], in ascending order: above low and at most high, or at 0 if both are."""
        if self.sign(Fraction(0)) == 0:
            yield Fraction(0), Fraction(0)
        todo = [(Fraction(0), Fraction(1))]
        while todo:
            low, high = todo.pop()
            n = self.count(low, high)
            if n == 1:
                yield low, high
            elif n > 1:
                middle = (low + high) / 2
                todo += [(middle, high), (low, middle)]

    def narrow(self, low, high):
        """A shorter interval around the same root."""
        middle = (low + high) / 2
        return (low, middle) if self.count(low, middle) else (middle, high)

    def sign_at_root(self, of, low, high) -> int:
        """The sign at the root of another polynomial in (low, high]."""
        if low == high or not self:
            return self.sign(high)
        if self.shared_with(of).count(low, high):
            return 0
        while self.count(low, high):
            low, high = of.narrow(low, high)
        return self.sign(high)


def first_contact(x0, x1, triangle: bool, separation: float = 0.0) -> Fraction | None:
    """When a point and a triangle, or two edges, first come within the separation; None if never. Exact.

    x0, x1 : (4, 3) positions at times 0 and 1: of the point and the triangle, or of the ends of the edges.
    The time is at most 2^-70 later than the true one.

    The differences between their points form a triangle or parallelogram. Either it is as near to the origin as that at
    time 0, or there is a first time when its plane, a border or a corner is, at a foot that belongs to the set. These
    times are roots of polynomials. A polynomial that is zero all the time does not count: a foot gets into the set at a
    border or a corner, which then is as near.
    """
    corners, ratio = differences([*x0, *x1], triangle)
    m = len(corners) // 2
    squared = Fraction(separation) ** 2 * ratio**2
    if nearest_squared(corners[:m], triangle) <= squared:
        return Fraction(0)

    def dot(a, b):
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]

    def cross(a, b):
        return [a[k - 2] * b[k - 1] - a[k - 1] * b[k - 2] for k in range(3)]

    def less(a, b):
        return [p - q for p, q in zip(a, b)]

    def near(top, bottom):
        """Zero where top / bottom is the square of the separation."""
        return top * Polynomial([squared.denominator]) - bottom * Polynomial([squared.numerator])

    moving = [[Polynomial([s, e - s]) for s, e in zip(p, q)] for p, q in zip(corners[:m], corners[m:])]
    a, b, c = moving[:3]
    ring = [a, b, c] if triangle else [a, b, moving[3], c]
    features = [(near(dot(p, p), Polynomial([1])), []) for p in ring]  # when it may be, and what must be >= 0 then
    for p, q in zip(ring, ring[1:] + ring[:1]):
        e = less(q, p)
        line = cross(p, e)
        features.append((near(dot(line, line), dot(e, e)), [dot(e, e), -dot(p, e), dot(q, e)]))
    e, g = less(b, a), less(c, a)
    n = cross(e, g)
    area, v, w = dot(n, n), dot(n, cross(g, a)), dot(n, cross(a, e))
    inside = [area, v, w, area - v - w] if triangle else [area, v, w, area - v, area - w]
    volume = dot(n, a)
    features.append((near(volume * volume, area) if separation else volume, inside))
    if not separation and volume and all(area.sign_at_root(volume, *root) for root in volume.roots()):
        features = features[-1:]  # for speed: what touches is in one plane, and then the rest says nothing new
    times = []
    for time, conditions in features:
        if not time:
            continue
        for low, high in time.roots():
            signs = [p.sign_at_root(time, low, high) for p in conditions]
            if all(s >= 0 for s in signs) and (not signs or signs[0] > 0):
                while high - low > Fraction(1, 2**70):
                    low, high = time.narrow(low, high)
                times.append(high)
                break
    return min(times, default=None)


# --- dynamics ---


def clamped(a) -> np.ndarray:
    """A symmetric matrix, its negative eigenvalues set to 0."""
    size, axes = np.linalg.eigh(a)
    return (axes * np.maximum(size, 0.0)) @ axes.T


def membrane_terms(f, warp, weft, shear) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Energy, gradient (6,) and Hessian (6, 6), not clamped, of each term of a triangle with F = (f[:3], f[3:])."""
    terms = []
    for k, column in ((warp, slice(0, 3)), (weft, slice(3, 6))):
        length = np.linalg.norm(f[column])
        along = f[column] / length
        gradient, hessian = np.zeros(6), np.zeros((6, 6))
        gradient[column] = k * (length - 1) * along
        hessian[column, column] = k * (np.outer(along, along) + (1 - 1 / length) * (np.eye(3) - np.outer(along, along)))
        terms.append((0.5 * k * (length - 1) ** 2, gradient, hessian))
    dot, other, swap = f[:3] @ f[3:], np.roll(f, 3), np.kron([[0, 1], [1, 0]], np.eye(3))
    terms.append((0.5 * shear * dot**2, shear * dot * other, shear * (np.outer(other, other) + dot * swap)))
    return terms


def fold_angle(p) -> tuple[float, np.ndarray]:
    """The angle of a hinge p (4, 3), and its derivatives (4, 3), by complex steps: exact but for rounding."""

    def sine_and_cosine(p):
        edge = p[1] - p[0]
        m, n = np.cross(edge, p[2] - p[0]), np.cross(p[3] - p[0], edge)
        return (np.cross(m, n) * edge).sum() / np.sqrt((edge * edge).sum()), (m * n).sum()

    s, c = sine_and_cosine(np.asarray(p, dtype=float))
    slope = np.empty((4, 3))
    for k in np.ndindex(4, 3):
        moved = np.array(p, dtype=complex)
        moved[k] += 1e-30j
        ds, dc = (value.imag / 1e-30 for value in sine_and_cosine(moved))
        slope[k] = (c * ds - s * dc) / (s * s + c * c)
    return np.arctan2(s, c), slope


def elastic_by_element(x, faces, rest, fabric, flat, x_rest, h) -> tuple[float, np.ndarray, np.ndarray]:
    """Energy [J], forces (n, 3) [N] and W (3 n, 3 n) = sum_e (h^2 + h damping_e) K_e of a cloth, one element at a time.

    fabric : a Material for each face; flat : whether a face's folds are flat at rest, else as at x_rest
    """
    n = len(x)
    energy, force, matrix = 0.0, np.zeros((n, 3)), np.zeros((3 * n, 3 * n))

    def add(corners, slope, hessian, weight):
        rows = np.concatenate([np.arange(3 * v, 3 * v + 3) for v in corners])
        np.subtract.at(force.ravel(), rows, slope)
        matrix[np.ix_(rows, rows)] += weight * hessian

    def length_at_rest(f, edge):
        corner = [np.zeros(2), rest[f][:, 0], rest[f][:, 1]]
        return np.linalg.norm(np.subtract(*(corner[list(faces[f]).index(v)] for v in edge)))

    for f, face in enumerate(faces):
        area, inverse = 0.5 * abs(np.linalg.det(rest[f])), np.linalg.inv(rest[f])
        by_corner = np.vstack([-inverse.sum(axis=0), inverse])  # F = sum_i x_i by_corner_i^T
        to_f = np.kron(by_corner.T, np.eye(3))
        m = fabric[f]
        for value, gradient, hessian in membrane_terms(to_f @ x[face].ravel(), m.stretch_warp, m.stretch_weft, m.shear):
            energy += area * value
            weight = h * h + h * m.damping
            add(face, area * gradient @ to_f, area * to_f.T @ clamped(hessian) @ to_f, weight)

    for (a, b), beside in edges_of(np.asarray(faces).tolist()).items():
        if len(beside) != 2:
            continue
        hinge = [a, b, *(next(v for v in faces[f] if v not in (a, b)) for f in beside)]
        length = np.mean([length_at_rest(f, (a, b)) for f in beside])
        areas = sum(0.5 * abs(np.linalg.det(rest[f])) for f in beside)
        k = np.mean([fabric[f].bend for f in beside]) * length**2 / areas
        theta, slope = fold_angle(x[hinge])
        turn = theta - (0.0 if all(flat[f] for f in beside) else fold_angle(x_rest[hinge])[0])
        turn -= 2 * np.pi * np.round(turn / (2 * np.pi))
        energy += 0.5 * k * turn**2
        slope = slope.ravel()
        damping = np.mean([fabric[f].damping for f in beside])
        add(hinge, k * turn * slope, k * np.outer(slope, slope), h * h + h * damping)
    return energy, force, matrix


def solve_with_kept(matrix, b, directions, values) -> np.ndarray:
    """y with directions (k, n) y = values (k,), and matrix y = b in all other directions; y : (n,)."""
    k, n = directions.shape
    whole = np.block([[matrix, directions.T], [directions, np.zeros((k, k))]])
    return np.linalg.solve(whole, np.concatenate([b, values]))[:n]


# --- pairs of features ---


def feature_pairs(faces, ids, cloth: int) -> list[tuple[int, int, int, int, int]]:
    """All (0, vertex, corners of a face) and (1, ends of an edge, ends of another) with no vertex in common, sorted.

    ids : the vertex that each is, or is a copy of; from `cloth` on they are bodies', which are not paired among each
    other. An edge runs as in its lowest-numbered face, and of two the one whose such face is lower comes first.
    """
    faces, ids = np.asarray(faces).tolist(), np.asarray(ids).tolist()
    pairs = [
        (0, v, *face)
        for v in {v for face in faces for v in face}
        for face in faces
        if ids[v] not in {ids[c] for c in face} and min(v, face[0]) < cloth
    ]
    edges = []
    for edge, beside in edges_of(faces).items():
        a, b, c = faces[beside[0]]
        edges += [(beside[0], *way) for way in ((a, b), (b, c), (c, a)) if tuple(sorted(way)) == edge]
    edges.sort(key=lambda edge: edge[0])
    for i, (_, a, b) in enumerate(edges):
        for _, c, d in edges[i + 1 :]:
            if not {ids[a], ids[b]} & {ids[c], ids[d]} and min(a, c) < cloth:
                pairs.append((1, a, b, c, d))
    return sorted(pairs)


def collisions_of(x0, x1, faces, ids, cloth: int, separation: float, keep: float) -> list[tuple[tuple, float]]:
    """(pair, time) of all pairs of features that come within the separation on their way, or within a share `keep` of
    their distance at the beginning where that is less."""
    found = []
    for pair in feature_pairs(faces, ids, cloth):
        kind, corners = pair[0], pair[1:]
        distance = point_triangle if kind == 0 else edge_edge
        meet = point_triangle_ccd if kind == 0 else edge_edge_ccd
        time = meet(x0, x1, *corners, min(separation, keep * np.sqrt(distance(x0, *corners)[0])))[0]
        if time != NO_COLLISION:
            found.append((pair, time))
    return found


# --- nearest points ---


def distance_to_faces(x, faces, point) -> np.ndarray:
    """(m,) distances of a point from all faces: from their edges, and from their planes where it is above the face."""
    point = np.asarray(point, dtype=float)
    a, b, c = (np.asarray(x)[np.asarray(faces)[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1)
    thick = length > 1e-12 * (((b - a) ** 2).sum(axis=1) + ((c - a) ** 2).sum(axis=1))
    normal /= np.where(length > 0, length, 1.0)[:, None]
    height = ((point - a) * normal).sum(axis=1)
    foot = point - height[:, None] * normal
    best, above = np.full(len(a), np.inf), thick
    for p, q in ((a, b), (b, c), (c, a)):
        way = q - p
        square = (way**2).sum(axis=1)
        share = np.clip(((point - p) * way).sum(axis=1) / np.where(square > 0, square, 1.0), 0.0, 1.0)
        best = np.minimum(best, np.linalg.norm(point - p - share[:, None] * way, axis=1))
        above = above & ((np.cross(way, foot - p) * normal).sum(axis=1) >= 0)
    return np.where(above, np.minimum(best, np.abs(height)), best)


def winding_number(x, faces, point) -> float:
    """How often a closed surface goes around a point: 1 inside, 0 outside. [van Oosterom and Strackee 1983]"""
    a, b, c = (np.asarray(x)[np.asarray(faces)[:, k]] - point for k in range(3))
    p, q, r = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    top = (a * np.cross(b, c)).sum(axis=1)
    bottom = p * q * r + (a * b).sum(axis=1) * r + (b * c).sum(axis=1) * p + (c * a).sum(axis=1) * q
    return float(np.arctan2(top, bottom).sum() / (2 * np.pi))


def near_pairs_of(x, x1, faces, ids, cloth: int, thickness, slant: float) -> dict[tuple, tuple]:
    """{pair of features: (weights, direction, distance now along it, limit)} as `detect.proximity` defines them."""
    faces = np.asarray(faces).tolist()
    edges = edges_of(faces)
    neighbours = {}
    for a, b in edges:
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)

    def opposite(edge, face):
        """The vertex across an edge of a face, in the other of the edge's first two faces; none at a boundary."""
        others = [faces[f] for f in edges[edge][:2] if f != face]
        return [next(v for v in other if v not in edge) for other in others[:1]]

    def beside(vertex, face, weights, direction, t):
        """Whether something else around, of the face's side or of the vertex's, is clearly nearer."""

        def towards(i, j, direction):
            way = (1.0 - t) * (x[j] - x[i]) + t * (x1[j] - x1[i])
            dot = way[0] * direction[0] + way[1] * direction[1] + way[2] * direction[2]
            return dot > 0 and dot * dot > slant * slant * (way[0] * way[0] + way[1] * way[1] + way[2] * way[2])

        at = [v for v, weight in zip(faces[face], weights) if weight != 0]
        if len(at) == 3:
            return False
        if any(towards(vertex, v, -direction) for v in neighbours[vertex]):
            return True
        if len(at) == 1:
            return any(towards(at[0], v, direction) for v in neighbours[at[0]])
        edge = tuple(sorted(at))
        return any(towards(edge[0], v, direction) for v in opposite(edge, face))

    found = {}
    for pair in feature_pairs(faces, ids, cloth):
        kind, corners = pair[0], list(pair[1:])
        if kind == 0 and corners[1] >= cloth:
            continue  # a vertex of cloth and a face of a body
        limit, t = min(thickness[corners]), 0.0
        distance, meet = (point_triangle, point_triangle_ccd) if kind == 0 else (edge_edge, edge_edge_ccd)
        squared, *_, v, w = distance(x, *corners)
        if np.sqrt(squared) >= limit:
            t, v, w = meet(x, x1, *corners, limit)
            if t == NO_COLLISION:
                continue
        if kind == 1 and (v in (0.0, 1.0) or w in (0.0, 1.0)):
            continue
        weights = np.array([1.0, v + w - 1.0, -v, -w] if kind == 0 else [1.0 - v, v, w - 1.0, -w])
        at = x[corners] + t * (x1[corners] - x[corners])
        way = weights[0] * at[0] + weights[1] * at[1] + weights[2] * at[2] + weights[3] * at[3]
        if not way.any():
            continue
        direction = way / np.sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2])
        if kind == 0 and beside(corners[0], faces.index(corners[1:]), weights[1:], direction, t):
            continue
        found[pair] = weights, direction, direction @ (weights @ x[corners]), limit
    return found
