"""Layers: cloths of which it is known who is worn over whom, the innermost first.

Between two layers no path has to be read: what lies on the wrong side of the layer below is drawn across its nearest
point, wherever it is nearer than some edges. Each layer is compared with all those below it. Tangles of a layer with
itself, and with bodies, are left to the method that is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from unsnarl.detect.bvh import build_bvh
from unsnarl.detect.nearest import nearest, pseudo_normals
from unsnarl.jit import ints
from unsnarl.mesh import TriMesh
from unsnarl.tangles.report import TangleReport
from unsnarl.untangle.response import Response, Several, Sheets, pulls

REACH = 6.0  # mean edges within which a layer is looked for
OPEN = 0.5  # a surface whose normals add up to more than this share of its area is a sheet, without an inside


def in_layers(
    respond: Callable[[TangleReport, float], Response], layers: list[TriMesh]
) -> Callable[[TangleReport, float], Response]:
    """The method `respond`, but between cloths by their order. layers : the cloths, wherever they are."""

    def both(report: TangleReport, reach: float) -> Response:
        part = np.searchsorted([p.first_vertex for p in report.parts], np.arange(len(report.mesh.x)), side="right") - 1
        cloths = len(layers)
        answer = respond(report, reach)
        first = part[answer.vertex[:, 0]]
        other = np.where(answer.weight < 0, part[answer.vertex], -1).max(axis=1)
        own = (first == other) | (first >= cloths) | (other >= cloths)
        rows = [(answer.vertex[own], answer.weight[own], answer.way[own])]
        sheets = [answer.sheets]
        for outer in range(1, cloths):
            for inner in range(outer):
                found = _wrong_side(report, inner, outer, layers[inner], reach)
                rows.append(found[:3])
                sheets.append(found[3])
        return replace(pulls(rows, Several(sheets)), rest=answer.rest)

    return both


def _wrong_side(report: TangleReport, inner: int, outer: int, layer: TriMesh, reach: float):
    """Pulls for what is on the wrong side of a layer, as (vertex (k, 4), weight (k, 4), way (k, 3), sheets)."""
    a, b = report.parts[inner], report.parts[outer]
    below = layer.moved(report.mesh.x[a.first_vertex : a.first_vertex + a.vertices])
    points = report.mesh.x[b.first_vertex : b.first_vertex + b.vertices]
    edge = float(np.linalg.norm(np.diff(below.x[below.edges], axis=1), axis=2).mean())
    bvh, normals = build_bvh(below.x, below.faces), pseudo_normals(below, below.x)
    face, weight, normal, distance = nearest(
        below, below.x, bvh, normals, np.ascontiguousarray(points), np.full(len(points), REACH * edge)
    )
    near = face >= 0
    sign = _outwards(below, distance[near])
    wrong = np.flatnonzero(near & (sign * distance < 0.0))
    corners = below.faces[face[wrong]]
    vertex = np.concatenate([wrong[:, None] + b.first_vertex, corners + a.first_vertex], axis=1)
    weights = np.concatenate([np.ones((len(wrong), 1)), -weight[wrong]], axis=1)
    way = sign * (np.abs(distance[wrong]) + reach)[:, None] * normal[wrong]
    crossing = report.mesh.faces[report.segments]
    of = report.part_of_face(report.segments)
    between = (np.sort(of, axis=1) == [inner, outer]).all(axis=1)
    upper = np.concatenate([vertex[:, 0], crossing[between][of[between] == outer].ravel()])
    lower = np.concatenate([vertex[:, 1:].ravel(), crossing[between][of[between] == inner].ravel()])
    two = [_with_ring(report.mesh, np.unique(v)) for v in (upper, lower)]
    sheets = Sheets(ints(np.cumsum([0, len(two[0]), len(two[1])])), ints(np.concatenate(two)), np.zeros(1, np.bool_))
    return ints(vertex), weights, way, sheets


def _outwards(mesh: TriMesh, distance: np.ndarray) -> float:
    """1 if the normals of a layer point to where the next one belongs, else -1.

    Away from the middle, where the layer goes around something; on a sheet, to where most of the next one is.
    """
    p = mesh.x[mesh.faces]
    normal = 0.5 * np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    area = np.linalg.norm(normal, axis=1)
    if np.linalg.norm(normal.sum(axis=0)) > OPEN * area.sum():
        return 1.0 if np.sign(distance).sum() >= 0 else -1.0
    middle = p.mean(axis=1)
    centre = (area[:, None] * middle).sum(axis=0) / max(area.sum(), 1e-300)
    return 1.0 if (normal * (middle - centre)).sum() >= 0 else -1.0


def _with_ring(mesh: TriMesh, vertices: np.ndarray) -> np.ndarray:
    """These vertices and their neighbours."""
    some = np.zeros(len(mesh.x), np.bool_)
    some[vertices] = True
    return np.unique(np.concatenate([vertices, mesh.faces[some[mesh.faces].any(axis=1)].ravel()]))
