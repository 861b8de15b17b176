"""`uv`: rest shapes are edited until internal forces alone pull the cloth out of its tangle. [D §4-8]

Vertices inside of a path are red, all others green (`tangles.colours`). Nothing green may cross anything, red may cross
red (`untangle.m_cch`): so red can only become less. What makes it less:

- **vertex pull**: an out-most red vertex is drawn, in the rest shapes of the faces around it, towards a green
  neighbour across the path, each step by GAMMA of what is left;
- **triangle shrinkage**: where all corners of a face are green but one of its edges is red, the ends of that edge are
  drawn towards the third corner;
- **revoke**: as soon as the vertex is green, or the edge, the faces get back their own rest shapes, to the bit.

A fan is edited where it is unfolded: its faces are laid around the vertex in one plane, their angles scaled so that
they fill 2 pi (at a border they keep them, up to 2 pi). The vertex moves in that plane, and each face takes the motion
over in its own rest shape. In one flat panel this is D §5.1.2; across seams and around darts it stands for D's
appendices A and B. The triangle inversion test (TIT) is made in the same shapes. A fan in which no neighbour passes it
waits; if nothing else is left to do, its vertex is drawn as far as nothing inverts (for D's appendix C).

Departures. A revoke takes one step, not as many as the pull took. A pull that has not helped in PATIENCE steps is
hindered (D §5.5): it is revoked, and another neighbour is tried. An edge is shortened to LEAST of its length, not to
nothing, so that shapes stay shapes. Which side of a path is inside is remembered: D takes the smaller one anew in each
step, which may change to the other side while a path grows together with others; here the side stays inside that has
less of what was green before. And forces help: where all is green contours are
made shorter (`icm`), and in runs whose steps begin at rest E's targets (`rbf`) are drawn to. What may cross what is not
touched by that: red never increases, it gets less sooner.

What D leaves out: BLI, where there is no side by counting, paths that have come to have something green inside, and
long ones without anything red. These are left to E, who lets the whole of both sheets along the path cross back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unsnarl.jit import kernel
from unsnarl.mesh import TriMesh
from unsnarl.tangles.colours import RedGreen, red_and_green
from unsnarl.tangles.paths import BLI
from unsnarl.tangles.report import TangleReport
from unsnarl.untangle import rbf
from unsnarl.untangle.fan import room_for, unfold
from unsnarl.untangle.icm import contour_pulls
from unsnarl.untangle.m_cch import RedCrossesRed
from unsnarl.untangle.response import Response, Several, pulls

GAMMA = 0.8  # of an edge's length at rest is left of it after a step. [D §9]
LEAST = 0.04  # of it is left at the end: less than APART, and still a shape
APART = 0.1  # mean edges that red and green keep from each other (D's epsilon_RG)
PATIENCE = 20  # steps
LONG = 12  # segments: longer paths that have nothing red are left to E
REST = 3  # steps that a hindered vertex waits
KINDS = ("OffSeam", "OnSeam-A", "OnSeam-B")
NONE, PULL, SHRINK = range(3)
_CARRIED = ("doing", "target", "face", "count", "room", "tries", "wait", "red")  # from step to step


@dataclass(frozen=True)
class Finesse:
    """An edge that was shortened until what it pulled was free. [D §5.3]

    kind  : "OffSeam"; "OnSeam-A": of a vertex on a seam between panels; "OnSeam-B": on one within a panel, as a dart
    steps : that it took
    """

    kind: str
    steps: int


class UvPulls:
    """The method, with what it remembers from step to step; called with a report, it edits `rest` and answers.

    rest     : (m, 2, 2) [m] the rest shapes as they are edited now
    finesses : what was completed so far
    """

    def __init__(self, cloths: Sequence[TriMesh], vertices: int, fixed: np.ndarray):
        """vertices : how many, of cloths and bodies; fixed : (vertices,) bool, those that are not moved"""
        self.original = np.concatenate([m.rest for m in cloths])
        self.rest = self.original.copy()
        self.fixed = fixed
        self.seam = np.concatenate([seam_kinds(m) for m in cloths])
        self.edge = float(np.sqrt(np.abs(np.linalg.det(self.original)).mean() * 2.0 / np.sqrt(3.0)))
        self.doing = np.zeros(vertices, np.int8)  # NONE, PULL or SHRINK
        self.target = np.full(vertices, -1, np.int32)  # the vertex that it is drawn to
        self.face = np.full(vertices, -1, np.int32)  # that shrinks
        self.count = np.zeros(vertices, np.int32)  # steps so far
        self.room = np.zeros(vertices)  # share of the way to the target that it is to go
        self.tries = np.zeros(vertices, np.int32)  # hindered so often
        self.wait = np.zeros(vertices, np.int32)  # steps
        self.red = np.ones(vertices, np.bool_)  # in the step before; at first anything may be
        self.helped = False  # by E's targets everywhere; only for steps that begin at rest, else cloth is thrown about
        self.finesses: list[Finesse] = []
        self._seen: tuple[TangleReport, RedGreen, np.ndarray] | None = None

    def __call__(self, report: TangleReport, reach: float) -> Response:
        """Edit the rest shapes for a step, and draw. reach : [m] by which E draws sheets past each other"""
        colours = self.see(report)
        if (colours.vertices & ~self.red).any():
            raise AssertionError("what was green is red")
        self.red = colours.vertices.copy()
        self._edit(report, colours)
        green, more = where_green(report, colours)
        crossing = RedCrossesRed(report.mesh, replace(colours, edges=colours.edges | more), APART * self.edge)
        contours = contour_pulls(report, green)
        left = self._seen[2]
        if not (self.helped or left.any()):
            return replace(pulls([contours], crossing), rest=self.rest)
        by_e = rbf.respond(report, reach, None if self.helped else left)
        drawn = by_e.vertex, by_e.weight, by_e.way
        sheets = Several([crossing, by_e.sheets.only(left)]) if left.any() else crossing
        return replace(pulls([contours, drawn], sheets), rest=self.rest)

    def see(self, report: TangleReport) -> RedGreen:
        """D's colours, the inside of each path being on the side that it was on."""
        if self._seen is None or self._seen[0] is not report:
            red, left = remembered(report, self.red)
            self._seen = report, red_and_green(report.mesh, report.hits, report.segment_list, red), left
        return self._seen[1]

    def red_of(self, report: TangleReport) -> np.ndarray | None:
        """(n,) bool, the red vertices."""
        return self.see(report).vertices

    def forget_sides(self) -> None:
        """Anything may be red again: somebody has moved cloth through cloth."""
        self.red[:], self._seen = True, None

    def begin_again(self) -> None:
        """Forget everything: rest shapes as they were, and anything may be red."""
        self.rest[:] = self.original
        self.doing[:], self.tries[:], self.wait[:] = NONE, 0, 0
        self.forget_sides()

    def snapshot(self) -> dict[str, np.ndarray]:
        return {f"uv_{key}": getattr(self, key).copy() for key in _CARRIED} | {"uv_rest": self.rest.copy()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        for key in (*_CARRIED, "rest"):
            getattr(self, key)[...] = arrays[f"uv_{key}"]
        self._seen = None

    def _edit(self, report: TangleReport, colours: RedGreen) -> None:
        mesh, t = report.mesh, report.mesh.topology
        cut = np.zeros(len(t.edges), np.bool_)
        cut[report.hits.edge] = True
        done, steps = _schedule(
            mesh.x, mesh.faces[: len(self.original)], self.original, self.rest, t.edges, t.face_edges,
            t.edge_face_count, t.star_start, t.star_edges, t.fan_start, t.fan_faces, colours.vertices, colours.edges,
            colours.outmost, colours.red_star, cut, self.fixed, self.doing, self.target, self.face, self.count,
            self.room, self.tries, self.wait,
        )  # fmt: skip
        self.finesses += [Finesse(KINDS[self.seam[v]], int(k)) for v, k in zip(done, steps)]


def where_green(report: TangleReport, colours: RedGreen) -> tuple[np.ndarray, np.ndarray]:
    """(h,) bool, the hits of edges and faces whose vertices are all green; (e,) bool, more edges that may cross red.

    There the contour is to leave the edge or the face, and all forces that make it shorter help. Two faces that cross
    from their common vertex on do so at any size, so shrinking them does not help; what does is that the edge of one
    passes an edge of the other at that vertex. These are the further edges.
    """
    mesh, hits, segments, red = report.mesh, report.hits, report.segment_list, colours.vertices
    green = ~red[mesh.edges[hits.edge]].any(axis=1) & ~red[mesh.faces[hits.face]].any(axis=1)
    more = np.zeros(len(mesh.edges), np.bool_)
    tip = segments.loop_vertex >= 0
    tip[tip] = ~red[mesh.edges[hits.edge[segments.hits[tip, 0]]]].any(axis=1) & ~red[segments.loop_vertex[tip]]
    edges = mesh.face_edges[segments.faces[tip]].reshape(-1, 6)
    more[edges[(mesh.edges[edges] == segments.loop_vertex[tip][:, None, None]).any(axis=2)]] = True
    return green, more


def seam_kinds(mesh: TriMesh) -> np.ndarray:
    """(n,) int8 index into KINDS: whether a vertex lies on a seam, and of how many panels."""
    out = np.zeros(len(mesh.x), np.int8)
    panel = mesh.panels[mesh.edge_faces[mesh.seams]]
    for kind, which in ((2, panel[:, 0] == panel[:, 1]), (1, panel[:, 0] != panel[:, 1])):
        out[mesh.edges[mesh.seams[which]]] = kind
    return out


def remembered(report: TangleReport, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) bool, the red vertices, where those of the step before are `before` (n,) bool; and (p,) bool, what E gets.

    Of a path that divides a piece of the surface, inside is the smaller side, unless that has more of what was green
    before. What was green stays green, even if it is inside now: a path runs through its loop vertices, and as it gets
    shorter they come to lie beside it, on either side. Paths with something green inside are left to E, and so are BLI,
    which do not divide anything. So are long paths without anything red (BI_BI among them): shrinkage would take these
    back from their ends, one face after the other.
    """
    regions, red = report.regions, np.zeros(len(before), np.bool_)
    bli = report.path_list.kind == BLI
    left = bli.copy()
    long = np.diff(report.path_list.start) > LONG
    piece = report.mesh.vertex_component
    sizes = green = None
    for image in np.flatnonzero((np.diff(regions.start) > 0) & ~np.repeat(bli, 2)):
        inside = regions.inside(image)
        new = int((~before[inside]).sum())
        if new:
            if green is None:
                sizes = np.bincount(piece)
                green = np.bincount(piece[~before], minlength=len(sizes))
            k = piece[inside[0]]
            if len(inside) < sizes[k] and green[k] - new < new:
                whole = piece == k
                whole[inside] = False
                inside = np.flatnonzero(whole)
            left[image // 2] |= not before[inside].all()
        long[image // 2] &= not before[inside].any()
        red[inside] = True
    return red & before, left | long


# --- Algorithm 2 ---


@kernel
def _schedule(
    x, faces, original, rest, edges, face_edges, edge_face_count, star_start, star_edges, fan_start, fan_faces, red,
    red_edge, outmost, red_star, cut, fixed, doing, target, face, count, room, tries, wait,
):  # fmt: skip
    """One update of the rest shapes; returns the vertices whose finesse is completed, and the steps it took."""
    n, m = doing.shape[0], faces.shape[0]
    done, steps = [np.int64(0)], [np.int64(0)]
    done.clear()
    steps.clear()
    was = doing != NONE
    # what is done, or hindered, is revoked (lines 10 to 13; first, so that its neighbours need not wait)
    for v in range(n):
        wait[v] = max(wait[v] - 1, 0)
        if doing[v] == PULL:
            if not red[v]:
                doing[v], tries[v] = NONE, 0
                done.append(v)
                steps.append(count[v])
            elif not outmost[v] or count[v] >= PATIENCE:
                doing[v] = NONE
                tries[v] += 1
                wait[v] = REST
        elif doing[v] == SHRINK:
            f = face[v]
            w = np.int64(faces[f, 0]) + faces[f, 1] + faces[f, 2] - v - target[v]  # the other end
            if w < v:
                continue
            first, second = _red_edge(faces, face_edges, red_edge, f)
            still = red_star[f] and min(first, second) == v and max(first, second) == w
            if not still:
                tries[v] = 0
                done.append(v)
                steps.append(count[v])
            if not still or count[v] >= PATIENCE:
                doing[v] = doing[w] = NONE
                wait[v] = REST if still else 0
    active = 0
    for f in range(m):  # lines 2 to 5
        if not red_star[f]:
            continue
        a, b = _red_edge(faces, face_edges, red_edge, f)
        if doing[a] == SHRINK and doing[b] == SHRINK and face[a] == f and face[b] == f:
            count[a] += 1
            count[b] += 1
            active += 1
            continue
        if fixed[a] or fixed[b] or wait[a] > 0 or wait[b] > 0:
            continue
        goal = np.int64(faces[f, 0]) + faces[f, 1] + faces[f, 2] - a - b
        if not _free(a, b, doing, edges, star_start, star_edges):
            continue
        if not _free(b, a, doing, edges, star_start, star_edges):
            continue
        if room_for(a, b, goal, faces, original, edge_face_count, face_edges, edges, fan_start, fan_faces) >= 1.0:
            _begin(a, SHRINK, goal, f, 1.0, doing, target, face, count, room)
            _begin(b, SHRINK, goal, f, 1.0, doing, target, face, count, room)
            active += 1
    for v in range(n):  # lines 6 to 9
        if not outmost[v] or fixed[v]:
            continue
        if doing[v] == PULL:
            count[v] += 1
            active += 1
            continue
        if wait[v] > 0 or not _free(v, v, doing, edges, star_start, star_edges):
            continue
        goal, share = _target(
            v, tries[v], x, faces, original, red, cut, edges, edge_face_count, face_edges, star_start, star_edges,
            fan_start, fan_faces,
        )  # fmt: skip
        if goal >= 0 and share >= 1.0:
            _begin(v, PULL, goal, -1, 1.0, doing, target, face, count, room)
            active += 1
    if active == 0:  # no fan passes: as far as nothing inverts
        for f in range(m):
            if not red_star[f]:
                continue
            a, b = _red_edge(faces, face_edges, red_edge, f)
            goal = np.int64(faces[f, 0]) + faces[f, 1] + faces[f, 2] - a - b
            if fixed[a] or fixed[b] or not _free(a, b, doing, edges, star_start, star_edges):
                continue
            if not _free(b, a, doing, edges, star_start, star_edges):
                continue
            share = room_for(a, b, goal, faces, original, edge_face_count, face_edges, edges, fan_start, fan_faces)
            if share > 0.0:
                _begin(a, SHRINK, goal, f, share, doing, target, face, count, room)
                _begin(b, SHRINK, goal, f, share, doing, target, face, count, room)
        for v in range(n):
            if outmost[v] and not fixed[v] and _free(v, v, doing, edges, star_start, star_edges):
                goal, share = _target(
                    v, tries[v], x, faces, original, red, cut, edges, edge_face_count, face_edges, star_start,
                    star_edges, fan_start, fan_faces,
                )  # fmt: skip
                if goal >= 0 and share > 0.0:
                    _begin(v, PULL, goal, -1, share, doing, target, face, count, room)
    for v in range(n):  # back to where it was: to the bit
        if was[v]:
            for i in range(fan_start[v], fan_start[v + 1]):
                rest[fan_faces[i]] = original[fan_faces[i]]
    move = np.zeros((fan_start[1:] - fan_start[:-1]).max() * 2, np.float64).reshape(-1, 2)
    for v in range(n):
        if doing[v] != NONE:
            share = room[v] * (1.0 - max(GAMMA ** count[v], LEAST))
            unfold(v, target[v], faces, original, edge_face_count, face_edges, edges, fan_start, fan_faces, move)
            for i in range(fan_start[v], fan_start[v + 1]):
                f = fan_faces[i]
                dx, dy = share * move[i - fan_start[v], 0], share * move[i - fan_start[v], 1]
                for k in range(3):
                    if faces[f, k] == v:
                        if k == 0:
                            rest[f, 0, 0] -= dx
                            rest[f, 0, 1] -= dx
                            rest[f, 1, 0] -= dy
                            rest[f, 1, 1] -= dy
                        else:
                            rest[f, 0, k - 1] += dx
                            rest[f, 1, k - 1] += dy
    out, long = np.empty(len(done), np.int64), np.empty(len(done), np.int64)
    for i in range(len(done)):
        out[i], long[i] = done[i], steps[i]
    return out, long


@kernel
def _begin(v, what, goal, f, share, doing, target, face, count, room):
    doing[v], target[v], face[v], count[v], room[v] = what, goal, f, 1, share


@kernel
def _red_edge(faces, face_edges, red_edge, f):
    """The ends of the first red edge of face f."""
    for k in range(3):
        if red_edge[face_edges[f, k]]:
            return np.int64(faces[f, k]), np.int64(faces[f, (k + 1) % 3])
    return np.int64(faces[f, 0]), np.int64(faces[f, 1])


@kernel
def _free(v, but, doing, edges, star_start, star_edges):
    """Whether nothing is done to v and its neighbours, `but` left out."""
    if doing[v] != NONE:
        return False
    for i in range(star_start[v], star_start[v + 1]):
        w = edges[star_edges[i], 0] + edges[star_edges[i], 1] - v
        if w != but and doing[w] != NONE:
            return False
    return True


@kernel
def _target(
    v, tries, x, faces, original, red, cut, edges, edge_face_count, face_edges, star_start, star_edges, fan_start,
    fan_faces,
):  # fmt: skip
    """The green neighbour of v across a path to draw it to, and how far: 1 if it passes the TIT.

    The nearest in space that passes; after `tries` pulls that were hindered, so many later. If none passes, the one
    with most room.
    """
    passing = [(0.0, np.int64(0))]
    passing.clear()
    best, most = np.int64(-1), 0.0
    for i in range(star_start[v], star_start[v + 1]):
        e = star_edges[i]
        w = np.int64(edges[e, 0]) + edges[e, 1] - v
        if red[w] or not cut[e]:
            continue
        share = room_for(v, v, w, faces, original, edge_face_count, face_edges, edges, fan_start, fan_faces)
        if share >= 1.0:
            square = 0.0
            for c in range(3):
                square += (x[w, c] - x[v, c]) ** 2
            passing.append((square, w))
        elif share > most:
            best, most = w, share
    if len(passing) == 0:
        return best, most
    passing.sort()
    return passing[tries % len(passing)][1], 1.0
