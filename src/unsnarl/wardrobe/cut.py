"""Cutting: panels become triangles, and seams pairs of vertices.

Both sides of a seam are divided alike, at the same shares of their lengths, so that they are sewn vertex by vertex: one
side may be longer than the other (it is eased in), and corners of one side may lie within an edge of the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.jit import ints
from unsnarl.mesh import TriMesh
from unsnarl.mesh.rest import rest_from_uv
from unsnarl.mesh.tri_mesh import components
from unsnarl.wardrobe.pattern import Panel, Pattern, Piece
from unsnarl.wardrobe.triangulate import triangulate

SAME = 1e-9  # share of an edge below which two places on it are one
NEAR = 0.4  # of the wanted edge: corners of the two sides of a seam that are so near are sewn to each other
MOST = 200_000  # vertices around all panels


@dataclass(frozen=True, eq=False)
class Cut:
    """Panels in space, not sewn yet.

    mesh     : all panels, unconnected; groups are the panels; uv is the flat panels side by side [m], rest their shape
    stitches : (s, 2) int32, vertices that are to become one
    stage    : (s,) int32, of the seam that each belongs to
    """

    mesh: TriMesh
    stitches: np.ndarray
    stage: np.ndarray


def cut(pattern: Pattern, edge: float) -> Cut:
    """The pattern cut into triangles with edges of about `edge` [m]."""
    if isinstance(edge, bool) or not isinstance(edge, Real) or not (np.isfinite(edge) and edge > 0):
        raise BadInput(f"{pattern.name}: edge must be a positive number, not {edge!r}")
    if sum(p.length(k) for p in pattern.panels for k in range(len(p.corners))) > MOST * edge:
        raise BadInput(f"{pattern.name}: edges of {edge:g} m make more than {MOST:,} vertices around the panels")
    shares = {(p.name, k): [np.array([0.0, 1.0])] for p in pattern.panels for k in range(len(p.corners))}
    sewn = []
    for seam in pattern.seams:
        one, two = _same_way(pattern, _in_a_row(pattern, seam.one), _in_a_row(pattern, seam.two))
        for side in _divide(pattern, one, two, edge):
            for piece, t in side:
                shares[piece.panel, piece.edge].append(t)
            sewn.append((side, seam.stage))
    outlines, numbers = {}, {}
    for panel in pattern.panels:
        parts = []
        for k in range(len(panel.corners)):
            t = _with_the_rest(shares[panel.name, k], panel.length(k), edge)
            numbers[panel.name, k] = sum(map(len, parts)), t
            parts.append(panel.along(k, t[:-1]))
        outlines[panel.name] = np.concatenate(parts)
    return _assemble(pattern, outlines, numbers, sewn, edge)


def area(pattern: Pattern) -> float:
    """Of all panels [m^2]."""
    total = 0.0
    for panel in pattern.panels:
        outline = np.concatenate([panel.along(k, np.linspace(0, 1, 33)[:-1]) for k in range(len(panel.corners))])
        u, v = outline.T
        total += 0.5 * abs(float(np.dot(u, np.roll(v, -1)) - np.dot(v, np.roll(u, -1))))
    return total


def edge_for(pattern: Pattern, vertices: int) -> float:
    """The edge length [m] at which the sewn garment has about so many vertices."""
    if isinstance(vertices, bool) or not isinstance(vertices, Real) or not 1 <= vertices <= 1e9:
        raise BadInput(f"{pattern.name}: vertices must be a number from 1 to 1,000,000,000, not {vertices!r}")
    boundary = sum(p.length(k) for p in pattern.panels for k in range(len(p.corners)))
    sewn = sum(
        pattern.panel(p.panel).length(p.edge) * (p.last - p.first) for s in pattern.seams for p in (*s.one, *s.two)
    )
    # area / (sqrt(3) / 2 edge^2) + (boundary - sewn) / (2 edge) = vertices
    a, b = area(pattern) * 2 / np.sqrt(3), 0.5 * (boundary - sewn)
    return float((b + np.sqrt(b * b + 4 * a * vertices)) / (2 * vertices))


# --- where a seam is divided ---


def _in_a_row(pattern: Pattern, pieces: tuple[Piece, ...]) -> list[tuple[Piece, bool]]:
    """Pieces of a side, each with whether it is followed in the panel's own direction."""
    panel = pattern.panel(pieces[0].panel)
    for piece in pieces:
        if piece.panel != panel.name:
            raise BadInput(f"{pattern.name}: one side of a seam is on two panels: {panel.name} and {piece.panel}")
    length = [panel.length(k) for k in range(len(panel.corners))]
    reach = np.concatenate([[0], np.cumsum(length)])
    ends = [[reach[p.edge] + t * length[p.edge] for t in (p.first, p.last)] for p in pieces]
    around, sewn = reach[-1], sum(last - first for first, last in ends)

    def passed(gaps: list[float]) -> float:  # over, from each piece to the next
        return sum(gap % around for gap in gaps if gap % around < around * (1 - SAME))

    forward = passed([b[0] - a[1] for a, b in pairwise(ends)])
    backward = passed([a[0] - b[1] for a, b in pairwise(ends)])
    if min(forward, backward) + sewn > around * (1 + SAME):
        names = ", ".join(panel.edges[p.edge] for p in pieces)
        raise BadInput(f"{pattern.name}: one side of a seam is not in the order of the outline: {panel.name}: {names}")
    return [(piece, bool(forward <= backward)) for piece in pieces]


def _ends(pattern: Pattern, side: list[tuple[Piece, bool]]) -> np.ndarray:
    """(2, 3) where a side begins and ends in space."""
    points = []
    for (piece, forward), begin in ((side[0], True), (side[-1], False)):
        panel = pattern.panel(piece.panel)
        t = piece.first if forward == begin else piece.last
        points.append(panel.placed(panel.along(piece.edge, np.array([t])))[0])
    return np.array(points)


def _corners(pattern: Pattern, side: list[tuple[Piece, bool]]) -> list[tuple[str, int, float]]:
    """Where a side begins and ends: panel, edge and share of it, its end being the beginning of the next."""
    found = []
    for (piece, forward), begin in ((side[0], True), (side[-1], False)):
        t = piece.first if forward == begin else piece.last
        last = t > 1 - SAME
        count = len(pattern.panel(piece.panel).corners)
        found.append((piece.panel, (piece.edge + last) % count, 0.0 if last else t))
    return found


def _meet(a: tuple[str, int, float], b: tuple[str, int, float]) -> bool:
    return a[:2] == b[:2] and abs(a[2] - b[2]) < SAME


def _same_way(pattern: Pattern, one, two):
    """Both sides in the same direction.

    One of a single edge is followed so that its ends are near the other's, or from the point that they have in common:
    the tip of a dart.
    """
    if len(one) > 1 and len(two) > 1:
        return one, two  # both are listed in their order
    a, b = _corners(pattern, one), _corners(pattern, two)
    along, against = any(map(_meet, a, b)), any(map(_meet, a, b[::-1]))
    if along == against:
        a, b = _ends(pattern, one), _ends(pattern, two)
        along = ((a - b) ** 2).sum() < ((a - b[::-1]) ** 2).sum() * (1 - 1e-9)
    if along:
        return one, two
    if len(two) > 1:
        return [(piece, not forward) for piece, forward in one], two
    return one, [(piece, not forward) for piece, forward in two]


def _divide(pattern: Pattern, one, two, edge: float):
    """Yields, for each stretch of a seam between corners of either side, [(piece, t of the vertices), twice].

    A corner of one side that nearly meets a corner of the other is sewn to it, so that no edge gets too short.
    """
    reaches = []
    for side in (one, two):
        lengths = [pattern.panel(p.panel).length(p.edge) * (p.last - p.first) for p, _ in side]
        reaches.append(np.concatenate([[0], np.cumsum(lengths)]))
    longest = max(reach[-1] for reach in reaches)
    mine, other = (reach / reach[-1] for reach in reaches)  # shares of the length at which there are corners
    met = _sewn_corners(mine, other, NEAR * edge / longest)
    breaks = np.unique(np.concatenate([mine, np.interp(other, met[:, 1], met[:, 0])]).round(12))
    for low, high in pairwise(breaks):
        wide = max(high - low, np.ptp(np.interp([low, high], met[:, 0], met[:, 1])))
        s = np.linspace(low, high, _parts(wide * longest / edge) + 1)
        both = []
        for side, reach, share in ((one, reaches[0], s), (two, reaches[1], np.interp(s, met[:, 0], met[:, 1]))):
            at = share * reach[-1]
            k = min(int(np.searchsorted(reach, 0.5 * (at[0] + at[-1])) - 1), len(side) - 1)
            piece, forward = side[k]
            within = np.clip((at - reach[k]) / (reach[k + 1] - reach[k]), 0, 1)
            t = piece.first + (piece.last - piece.first) * (within if forward else 1 - within)
            t[t < SAME], t[t > 1 - SAME] = 0.0, 1.0
            both.append((piece, t))
        yield both


def _parts(count: float) -> int:
    """Of how many edges a stretch is made; a half is one to the last digit whichever side it was measured on."""
    return max(1, round(round(count, 9)))


def _sewn_corners(mine: np.ndarray, other: np.ndarray, near: float) -> np.ndarray:
    """(k, 2) increasing: a share of one side, and that of the other which it is sewn to. The ends are, and corners if
    they are nearer than `near` once those are sewn that are still nearer."""
    met = np.array([(0.0, 0.0), (1.0, 1.0)])
    left = [(a, b) for a in mine[1:-1] for b in other[1:-1]]
    while left:
        a, b = np.array(left).T
        apart = np.minimum(
            np.abs(a - np.interp(b, met[:, 1], met[:, 0])), np.abs(b - np.interp(a, met[:, 0], met[:, 1]))
        )
        best = np.lexsort([a + b, apart.round(12)])[0]
        if apart[best] >= near:
            break
        met = np.sort(np.concatenate([met, [left[best]]]), axis=0)
        left = [pair for pair in left if (pair[0] - a[best]) * (pair[1] - b[best]) > 0]
    return met


def _with_the_rest(parts: list[np.ndarray], length: float, edge: float) -> np.ndarray:
    """All shares of an edge at which there are vertices: those of its seams, and evenly elsewhere."""
    seams = [(t.min(), t.max()) for t in parts[1:]]
    t = np.sort(np.concatenate(parts))
    t = t[np.concatenate([[True], np.diff(t) > SAME])]
    more = []
    for low, high in pairwise(t):
        middle = 0.5 * (low + high)
        if not any(a <= middle <= b for a, b in seams):
            count = _parts((high - low) * length / edge)
            more.append(np.linspace(low, high, count + 1)[1:-1])
    return np.sort(np.concatenate([t, *more]))


# --- from outlines to a mesh ---


def _assemble(pattern: Pattern, outlines, numbers, sewn, edge: float) -> Cut:
    x, uv, faces, rest, groups, first = [], [], [], [], {}, {}
    vertices = count = 0
    right = 0.0
    for panel in pattern.panels:
        try:
            points, own = triangulate(outlines[panel.name], edge)
        except BadInput as error:
            raise BadInput(f"{pattern.name}: panel {panel.name}: {error}") from None
        first[panel.name] = vertices
        x.append(panel.placed(points))
        uv.append(points + [right - points[:, 0].min(), 0.0])
        right = uv[-1][:, 0].max() + 2 * edge
        rest.append(rest_from_uv(points, own))
        faces.append(own + vertices)
        groups[panel.name] = ints(np.arange(count, count + len(own)))
        vertices, count = vertices + len(points), count + len(own)

    def vertex(panel: Panel, piece: Piece, t: np.ndarray) -> np.ndarray:
        start, known = numbers[panel.name, piece.edge]
        at = np.searchsorted(known, t - 0.5 * SAME)
        last = (piece.edge == len(panel.corners) - 1) & (at == len(known) - 1)
        return first[panel.name] + np.where(last, 0, start + at)

    rows = [np.zeros((0, 3), np.int64)]
    for side, stage in sewn:
        a, b = (vertex(pattern.panel(piece.panel), piece, t) for piece, t in side)
        rows.append(np.column_stack([np.minimum(a, b), np.maximum(a, b), np.full(len(a), stage)])[a != b])
    rows = np.unique(np.concatenate(rows), axis=0)  # by pair, the earliest stage first
    rows = rows[np.unique(rows[:, :2], axis=0, return_index=True)[1]]
    every = np.concatenate(faces)
    mesh = TriMesh(
        np.concatenate(x), every, name=pattern.name, uv=np.concatenate(uv), face_uv=every, rest=np.concatenate(rest),
        groups=groups,
    )  # fmt: skip
    return Cut(mesh, ints(rows[:, :2]), ints(rows[:, 2]))


def merge(mesh: TriMesh, stitches: np.ndarray) -> TriMesh:
    """The mesh with stitched vertices (s, 2) made one, in their middle, and its panels turned so that neighbours agree.

    Vertices are numbered by the first of those they are made of; uv, groups and the shape of the panels stay.
    """
    return _facing_one_way(join(mesh, stitches)[0])


def join(mesh: TriMesh, stitches: np.ndarray) -> tuple[TriMesh, np.ndarray]:
    """The mesh with stitched vertices made one, in their middle, and what became of each vertex (n,)."""
    vertex = components(len(mesh.x), stitches)
    count = np.bincount(vertex)
    x = np.stack([np.bincount(vertex, mesh.x[:, c]) / count for c in range(3)], axis=1)
    alone = count[vertex] == 1
    x[vertex[alone]] = mesh.x[alone]  # to the bit
    faces = vertex[mesh.faces]
    flat = (faces == np.roll(faces, 1, axis=1)).any(axis=1)
    if flat.any():
        raise BadInput(f"{mesh.name}: cloth that is one face wide is sewn to itself: panel {_of(mesh, flat)}")
    joined = replace(mesh, x=x, faces=faces, origin=None)
    if len(joined.non_manifold_edges):
        a, b = joined.edges[joined.non_manifold_edges[0]]
        there = (faces == a).any(axis=1) & (faces == b).any(axis=1)
        raise BadInput(
            f"{mesh.name}: three or more pieces of cloth are sewn together along one line: panel {_of(mesh, there)}"
        )
    return joined, vertex


def _of(mesh: TriMesh, faces: np.ndarray) -> str:
    """The groups that some of these faces (m,) bool are in."""
    return ", ".join(name for name, own in mesh.groups.items() if faces[own].any())


def _facing_one_way(mesh: TriMesh) -> TriMesh:
    """Panels turned so that neighbours agree, and that most of each connected piece looks away from its middle."""
    turn = _panels_to_turn(mesh)[mesh.panels]
    a, b, c = (mesh.x[mesh.faces[:, k]] for k in range(3))
    normal, middle = np.cross(b - a, c - a) * np.where(turn, -1.0, 1.0)[:, None], (a + b + c) / 3
    for piece in range(mesh.face_component.max() + 1):
        here = mesh.face_component == piece
        if (normal[here] * (middle[here] - middle[here].mean(axis=0))).sum() < 0:
            turn[here] ^= True
    order = np.where(turn[:, None], [2, 1, 0], [0, 1, 2])
    faces, face_uv = (np.take_along_axis(a, order, 1) for a in (mesh.faces, mesh.face_uv))
    ab, ac = mesh.rest[:, :, 0], mesh.rest[:, :, 1]
    rest = np.where(turn[:, None, None], np.stack([ab - ac, -ac], axis=2), mesh.rest)  # edges from c, if it comes first
    return replace(mesh, faces=faces, face_uv=face_uv, rest=rest)


def _panels_to_turn(mesh: TriMesh) -> np.ndarray:
    """(panels,) bool, those to turn so that both sides of a seam face the same way."""
    f, g = mesh.edge_faces[mesh.seams].T
    ends = mesh.edges[mesh.seams]

    def follows(face):  # whether the seam's edge is followed from its first end to its second
        corners = mesh.faces[face]
        at = np.argmax(corners == ends[:, :1], axis=1)
        return corners[np.arange(len(face)), (at + 1) % 3] == ends[:, 1]

    p, q = mesh.panels[f], mesh.panels[g]
    disagree = follows(f) == follows(g)
    turn = np.zeros(mesh.panels.max() + 1, dtype=bool)
    done = turn.copy()
    for root in range(len(turn)):
        waiting = [] if done[root] else [root]
        done[root] = True
        while waiting:
            panel = waiting.pop()
            for here, there in ((p, q), (q, p)):
                for other in np.unique(there[here == panel]):
                    if not done[other]:
                        vote = disagree[(here == panel) & (there == other)].mean() > 0.5
                        turn[other], done[other] = turn[panel] ^ vote, True
                        waiting.append(int(other))
    return turn
