"""`gia`: near features attract, ignore or repel each other, by their colours. [A §6]

1. A particle that is black_i and a triangle whose three corners are white_i, or the other way round, have passed
   through each other: they attract. So do two edges of these colours.
2. A red_i particle and a triangle with a red_i corner are on cloth that is folded through itself: nothing is done.
3. All others repel, as they do where nothing is tangled (`contact.repulsion`).

Paths without an inside have no colours, and LL and BLI are left to the rest of the cloth: A does not untangle these.
"""

from __future__ import annotations

import numpy as np

from unsnarl.detect.features import surfaces
from unsnarl.detect.proximity import find_proximity
from unsnarl.jit import kernel
from unsnarl.tangles.report import TangleReport
from unsnarl.untangle.icm import contour_pulls
from unsnarl.untangle.response import Response, pulls, sheets_around

NEAR = 1.0  # mean edge lengths within which features attract each other


def respond(report: TangleReport, reach: float) -> Response:
    """Pulls between near features of opposite colours. reach : [m] by which they are drawn past each other."""
    attraction = _attraction(report, reach)
    return pulls([attraction], sheets_around(report))


def respond_with_contours(report: TangleReport, reach: float) -> Response:
    """`gia+icm`: A's rules where a path has an inside, contours made shorter elsewhere. [D §2]"""
    attraction = _attraction(report, reach)
    inside = np.diff(report.regions.start).reshape(-1, 2).min(axis=1) > 0
    contours = contour_pulls(report, ~inside[report.path_of_hit])
    return pulls([attraction, contours], sheets_around(report))


def _attraction(report: TangleReport, reach: float):
    mesh, colours = report.mesh, report.colours
    none = np.zeros((0, 4), np.int32), np.zeros((0, 4)), np.zeros((0, 3))
    if len(colours.path) == 0:
        return none
    cloth = min((p.first_vertex for p in report.parts if p.body), default=len(mesh.x))
    edge = float(np.linalg.norm(np.diff(mesh.x[mesh.edges], axis=1), axis=2).mean())
    coloured = np.diff(colours.start) > 0
    thickness = np.where(coloured, max(NEAR * edge, reach), 0.0)
    near = find_proximity(surfaces(mesh, cloth), mesh.x, mesh.x, thickness)
    path = _opposite(near.kind, near.vertex, colours.start, colours.path, colours.colour)
    keep = path >= 0
    way = -(near.distance + reach)[:, None] * near.normal
    return near.vertex[keep], near.weight[keep], way[keep]


@kernel
def _has(start, path, colour, v, p, c):
    found = False
    for i in range(start[v], start[v + 1]):
        found = found or (path[i] == p and colour[i] == c)
    return found


@kernel
def _opposite(kind, vertex, start, path, colour):
    """(k,) the path of which one feature is black and the other white; -1 where there is none."""
    out = np.full(kind.shape[0], -1, np.int32)
    for row in range(kind.shape[0]):
        split = 1 if kind[row] == 0 else 2
        v = vertex[row, 0]
        for i in range(start[v], start[v + 1]):
            if colour[i] > 1:
                continue
            fits = True
            for j in range(1, 4):
                wanted = colour[i] if j < split else 1 - colour[i]
                fits = fits and _has(start, path, colour, vertex[row, j], path[i], wanted)
            if fits:
                out[row] = path[i]
                break
    return out
