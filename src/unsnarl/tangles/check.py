"""`check`: from meshes to a report of what is tangled."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from unsnarl.detect.edge_face import Hits, find_hits
from unsnarl.errors import BadInput
from unsnarl.mesh import TriMesh, as_mesh, combine
from unsnarl.mesh import split_non_manifold as split
from unsnarl.tangles.paths import trace_paths
from unsnarl.tangles.regions import fill_regions
from unsnarl.tangles.report import Part, TangleReport
from unsnarl.tangles.segments import build_segments


def check(meshes, *, bodies=(), split_non_manifold: bool = False) -> TangleReport:
    """Find all intersections of meshes with themselves, with each other, and with bodies.

    meshes : a TriMesh, a pair (vertices (n, 3) [m], faces (m, 3)), or a sequence of these
    bodies : the same; what bodies do with themselves and with each other is not looked at
    split_non_manifold : cut surfaces open along edges with three or more faces, instead of refusing them

    Exact: whether an edge crosses a face is decided without rounding, and touching is decided consistently (see
    `geometry.predicates`). Raises `BadInput` for a mesh that cannot be used.
    """
    cloths, solids = meshes_of(meshes, "mesh"), meshes_of(bodies, "body")
    if not cloths:
        raise BadInput("there is no mesh to check")
    every = [_manifold(mesh, split_non_manifold) for mesh in [*cloths, *solids]]
    began = time.perf_counter()
    whole = combine(every)
    parts = parts_of(every, len(cloths))
    passive = np.repeat([p.body for p in parts], [p.faces for p in parts])
    return analyse(whole, parts, find_hits(whole, passive=passive), began)


def analyse(mesh: TriMesh, parts: tuple[Part, ...], hits: Hits, began: float | None = None) -> TangleReport:
    """The report on a mesh whose hits are known. began : [s] on `time.perf_counter`, from where on it is timed."""
    began = time.perf_counter() if began is None else began
    segments = build_segments(mesh, hits)
    paths = trace_paths(mesh, hits, segments)
    regions = fill_regions(mesh, paths)
    return TangleReport(mesh, parts, hits, segments, paths, regions, time.perf_counter() - began)


def meshes_of(meshes, name: str) -> list[TriMesh]:
    """A list of meshes from one mesh, or from a sequence of them; a pair of arrays is one mesh."""
    if isinstance(meshes, TriMesh):
        return [meshes]
    if not isinstance(meshes, Sequence):
        raise BadInput(f"expected a TriMesh, a pair (vertices, faces) or a list of these, got {type(meshes).__name__}")
    if len(meshes) == 2 and not any(isinstance(m, TriMesh) or _is_pair(m) for m in meshes):
        return [as_mesh(meshes, name)]
    if len(meshes) == 1:
        return [as_mesh(meshes[0], name)]
    return [as_mesh(mesh, f"{name} {k}") for k, mesh in enumerate(meshes)]


def _is_pair(mesh) -> bool:
    """Whether this is (vertices, faces): two tables of three columns."""
    return isinstance(mesh, Sequence) and len(mesh) == 2 and all(np.ndim(a) == 2 and np.shape(a)[1] == 3 for a in mesh)


def _manifold(mesh: TriMesh, may_split: bool) -> TriMesh:
    bad = mesh.non_manifold_edges
    if len(bad) == 0:
        return mesh
    if may_split:
        return split(mesh)
    shown = ", ".join(f"{a}-{b}" for a, b in mesh.edges[bad[:5]]) + (", ..." if len(bad) > 5 else "")
    edges = "1 edge has" if len(bad) == 1 else f"{len(bad)} edges have"
    raise BadInput(
        f"{mesh.name}: {edges} three or more faces (between vertices {shown}); "
        "--split-non-manifold (split_non_manifold=True) cuts the surface open there"
    )


def parts_of(meshes: list[TriMesh], cloths: int) -> tuple[Part, ...]:
    """The parts of meshes that are taken as one; those from number `cloths` on are bodies."""
    vertex = np.cumsum([0] + [len(m.x) for m in meshes])
    face = np.cumsum([0] + [len(m.faces) for m in meshes])
    return tuple(
        Part(m.name, len(m.x), len(m.faces), int(vertex[k]), int(face[k]), body=k >= cloths)
        for k, m in enumerate(meshes)
    )
