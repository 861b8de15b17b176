"""The slow, obvious versions of what the library does fast: plain Python, one idea at a time."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import gcd, lcm

import numpy as np

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


# --- motion ---
# Polynomials in t with whole coefficients, the constant first.


def poly_sum(p, q) -> list[int]:
    return trim([(p[i] if i < len(p) else 0) + (q[i] if i < len(q) else 0) for i in range(max(len(p), len(q)))])


def poly_product(p, q) -> list[int]:
    out = [0] * max(len(p) + len(q) - 1, 0)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            out[i + j] += a * b
    return trim(out)


def trim(p) -> list[int]:
    """p without zeros at the end, divided by what all its coefficients share."""
    p = list(p)
    while p and p[-1] == 0:
        p.pop()
    return p


def primitive(p) -> list[int]:
    shared = gcd(*p) if p else 1
    return [a // shared for a in p]


def remainder(p, q) -> list[int]:
    """A positive multiple of the remainder of p divided by q."""
    p = list(p)
    while len(p) >= len(q):
        factor, shift = p[-1] * (1 if q[-1] > 0 else -1), len(p) - len(q)
        p = [abs(q[-1]) * a for a in p]
        for i, b in enumerate(q):
            p[i + shift] -= factor * b
        p = primitive(trim(p[:-1]))
    return p


def shared_factor(p, q) -> list[int]:
    while q:
        p, q = q, remainder(p, q)
    return primitive(p)


def quotient(p, q) -> list[int]:
    """p / q, which leaves no remainder, times something."""
    out, p = [0] * (len(p) - len(q) + 1), [Fraction(a) for a in p]
    for shift in reversed(range(len(out))):
        out[shift] = p[shift + len(q) - 1] / q[-1]
        for i, b in enumerate(q):
            p[i + shift] -= out[shift] * b
    bottom = lcm(*(a.denominator for a in out))
    return primitive([int(a * bottom) for a in out])


def value_sign(p, t: Fraction) -> int:
    top, bottom, value = t.numerator, t.denominator, 0
    for i, a in enumerate(reversed(p)):
        value = value * top + a * bottom**i
    return (value > 0) - (value < 0)


class Roots:
    """The distinct roots of a polynomial that is not zero, counted by Sturm's theorem."""

    def __init__(self, p):
        slope = trim([i * a for i, a in enumerate(p)][1:])
        p = quotient(p, shared_factor(p, slope)) if slope else primitive(p)
        self.p, self.chain = p, [p, trim([i * a for i, a in enumerate(p)][1:])]
        while self.chain[-1]:
            self.chain.append([-a for a in remainder(self.chain[-2], self.chain[-1])])

    def changes(self, t) -> int:
        signs = [s for s in (value_sign(p, t) for p in self.chain) if s != 0]
        return sum(a != b for a, b in zip(signs, signs[1:]))

    def count(self, low, high) -> int:
        """Roots above low, up to and including high."""
        return self.changes(low) - self.changes(high)

    def between_0_and_1(self) -> list[tuple[Fraction, Fraction]]:
        """(low, high] around each root in [0, 1], in ascending order; (0, 0) for a root at 0."""
        todo, found = [(Fraction(0), Fraction(1))], []
        while todo:
            low, high = todo.pop()
            n = self.count(low, high)
            if n == 1:
                found.append((low, high))
            elif n > 1:
                middle = (low + high) / 2
                todo += [(middle, high), (low, middle)]
        return ([(Fraction(0), Fraction(0))] if value_sign(self.p, Fraction(0)) == 0 else []) + found

    def narrow(self, low, high):
        middle = (low + high) / 2
        return (low, middle) if self.count(low, middle) else (middle, high)

    def sign_there(self, q, low, high) -> int:
        """The sign of another polynomial at the root in (low, high]."""
        if not q or low == high:
            return value_sign(q, high)
        both = shared_factor(self.p, q)
        if len(both) > 1 and Roots(both).count(low, high):
            return 0
        others = Roots(q)
        while others.count(low, high):
            low, high = self.narrow(low, high)
        return value_sign(q, high)


def first_touch(x0, x1, triangle: bool) -> Fraction | None:
    """When a point and a triangle, or two edges, first touch, at most 2^-70 too late; None if never. Exact.

    x0, x1 : (4, 3) positions at times 0 and 1: the point and the triangle, or the ends of the edges.

    The differences between their points form a triangle or parallelogram; they touch when it contains the origin. That
    takes a time at which the origin is in its plane (the volume, a cubic, is zero), inside or on the border. If it is in
    the plane all the time, they touch at time 0 or first on the border.
    """
    whole = as_integers([*np.asarray(x0, dtype=float), *np.asarray(x1, dtype=float)])
    pairs = [(0, 1), (0, 2), (0, 3)] if triangle else [(0, 2), (1, 2), (0, 3), (1, 3)]
    corners = []
    for i, j in pairs:
        start = [q - p for p, q in zip(whole[i], whole[j])]
        stop = [q - p for p, q in zip(whole[i + 4], whole[j + 4])]
        corners.append([trim([s, e - s]) for s, e in zip(start, stop)])

    def less(p, q):
        return poly_sum(p, [-c for c in q])

    def dot(a, b):
        return poly_sum(poly_sum(poly_product(a[0], b[0]), poly_product(a[1], b[1])), poly_product(a[2], b[2]))

    def cross(a, b):
        return [
            less(poly_product(a[(k + 1) % 3], b[(k + 2) % 3]), poly_product(a[(k + 2) % 3], b[(k + 1) % 3]))
            for k in range(3)
        ]

    a, b, c = corners[:3]
    e, g = [less(q, p) for p, q in zip(a, b)], [less(q, p) for p, q in zip(a, c)]
    n = cross(e, g)
    volume = dot(n, a)
    area, v, w = dot(n, n), dot(n, cross(g, a)), dot(n, cross(a, e))
    inside = [v, w, less(less(area, v), w)] if triangle else [v, w, less(area, v), less(area, w)]
    ring = [a, b, c] if triangle else [a, b, corners[3], c]
    border = [(cross(p, q), dot(p, q)) for p, q in zip(ring, ring[1:] + ring[:1])]

    def contains(roots, low, high):
        if roots.sign_there(area, low, high):
            return all(roots.sign_there(q, low, high) >= 0 for q in inside)
        return any(
            not any(roots.sign_there(q, low, high) for q in line) and roots.sign_there(side, low, high) <= 0
            for line, side in border
        )

    def first(p, holds):
        roots = Roots(p)
        for low, high in roots.between_0_and_1():
            if holds(roots, low, high):
                while high - low > Fraction(1, 2**70):
                    low, high = roots.narrow(low, high)
                return high
        return None

    if volume:
        return first(volume, contains)
    if contains(Roots([0, 1]), Fraction(0), Fraction(0)):
        return Fraction(0)
    times = []
    for line, side in border:
        for q in line:
            if q:
                times.append(
                    first(
                        q,
                        lambda roots, low, high, line=line, side=side: (
                            not any(roots.sign_there(r, low, high) for r in line)
                            and roots.sign_there(side, low, high) <= 0
                        ),
                    )
                )
                break
        else:
            times.append(first(side, lambda *_: True) if side else Fraction(0))
    return min((t for t in times if t is not None), default=None)


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
