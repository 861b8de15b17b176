"""Colours: what the regions say about each vertex, edge and face. [A §5.4, D §3]

A: a vertex inside image 0 of path i is black_i, inside image 1 white_i; where both images are one curve it is red_i. A
vertex may have any number of colours.

D: a vertex inside any image is red. An edge is red if an end is, or if it passes through a face; a face is red if a
corner is, or if it crosses another. An out-most red vertex has a green neighbour. A red* face has three
green corners and exactly one red edge. What is not red is green.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.detect.edge_face import Hits
from unsnarl.mesh import TriMesh
from unsnarl.tangles.paths import Paths
from unsnarl.tangles.regions import Regions
from unsnarl.tangles.segments import Segments

BLACK, WHITE, RED = range(3)


@dataclass(frozen=True, eq=False)
class Colours:
    """A's colours of n vertices.

    start  : (n + 1,) int32, the colours of vertex v are start[v] : start[v + 1]
    path   : (c,) int32, the path of each colour
    colour : (c,) int8, BLACK, WHITE or RED
    """

    start: np.ndarray
    path: np.ndarray
    colour: np.ndarray

    def of(self, vertex: int) -> list[tuple[int, str]]:
        """The colours of a vertex as (path, "black", "white" or "red")."""
        names = ("black", "white", "red")
        here = range(self.start[vertex], self.start[vertex + 1])
        return [(int(self.path[i]), names[self.colour[i]]) for i in here]


@dataclass(frozen=True, eq=False)
class RedGreen:
    """D's colours: bool masks over vertices (n,), edges (e,) and faces (m,)."""

    vertices: np.ndarray
    edges: np.ndarray
    faces: np.ndarray
    outmost: np.ndarray
    red_star: np.ndarray


def colour_vertices(mesh: TriMesh, paths: Paths, regions: Regions) -> Colours:
    """A's colours of every vertex, in the order of the paths."""
    image = np.repeat(np.arange(2 * len(paths), dtype=np.int32), np.diff(regions.start))
    path = image // 2
    colour = np.where(paths.images[path] == 1, RED, image % 2).astype(np.int8)
    order = np.argsort(regions.vertex, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(regions.vertex, minlength=len(mesh.x)))]).astype(np.int32)
    return Colours(start, path[order], colour[order])


def inside(mesh: TriMesh, regions: Regions) -> np.ndarray:
    """(n,) bool, the vertices inside of some path."""
    vertices = np.zeros(len(mesh.x), dtype=bool)
    vertices[regions.vertex] = True
    return vertices


def red_and_green(mesh: TriMesh, hits: Hits, segments: Segments, vertices: np.ndarray) -> RedGreen:
    """D's colours of every vertex, edge and face. vertices : (n,) bool, the red ones"""
    ends = vertices[mesh.edges]
    edges = ends.any(axis=1)
    edges[hits.edge] = True
    faces = vertices[mesh.faces].any(axis=1)
    red_star = ~faces & (edges[mesh.face_edges].sum(axis=1) == 1)
    faces[segments.faces] = True
    outmost = np.zeros(len(mesh.x), dtype=bool)
    outmost[mesh.edges[ends[:, 0] != ends[:, 1]]] = True
    return RedGreen(vertices, edges, faces, outmost & vertices, red_star)
