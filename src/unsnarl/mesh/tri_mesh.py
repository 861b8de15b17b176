"""`TriMesh`: a triangle mesh that keeps everything its file said about it.

A mesh is frozen: moving its vertices gives a new one (`moved`) that shares the connectivity. What follows from the
faces (edges, fans, loops, components, panels) is worked out when first asked for, once.

Input that real files contain, and what is done with it:

- isolated vertices are kept: they belong to no face, edge or boundary, and each is a component of its own;
- zero-area faces are faces like any other (the predicates of `geometry.predicates` are exact and never zero);
- duplicated faces are kept; where that gives an edge more than two faces, the edge is non-manifold;
- non-manifold edges (three or more faces) are kept and listed in `non_manifold_edges`; what needs a manifold
  refuses them by name, and `split_non_manifold` cuts the surface open along them;
- faces wound against their neighbours are kept: nothing here depends on the winding;
- a face that names a vertex twice, an index out of range, NaN or infinite positions, or no face at all: `BadInput`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.jit import floats, ints
from unsnarl.mesh.polygons import Polygons
from unsnarl.mesh.rest import face_areas, rest_from_positions
from unsnarl.mesh.topology import Topology, boundary_loops, build_topology

_FROM_FACES = ("topology", "boundary_loops", "face_component", "vertex_component", "_panels_and_seams")


@dataclass(frozen=True, eq=False, repr=False)
class TriMesh:
    """Triangles with n vertices and m faces.

    x        : (n, 3) float64, positions [m]
    faces    : (m, 3) int32, vertices of each triangle
    name     : what messages and reports call it
    uv       : (k, 2) float64, texture or panel coordinates; None without
    face_uv  : (m, 3) int32, the row of `uv` at each corner, -1 where a corner has none; None without
    rest     : (m, 2, 2) float64, rest shapes [m] (see `mesh.rest`); by default the shape in `x`
    groups   : name -> (k,) int32 faces (OBJ groups, prims of a USD file, ...); groups may overlap
    polygons : the polygons that the triangles were cut from, when some had more than three corners
    origin   : (n,) int32, the vertex that each one is a copy of, after `split_non_manifold`; None if all are themselves
    source   : what the file's own format has beside this, for its writer alone
    """

    x: np.ndarray
    faces: np.ndarray
    name: str = "mesh"
    uv: np.ndarray | None = None
    face_uv: np.ndarray | None = None
    rest: np.ndarray | None = None
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)
    polygons: Polygons | None = None
    origin: np.ndarray | None = None
    source: object | None = None

    def __post_init__(self):
        fix = object.__setattr__
        fix(self, "x", _positions(self.x, self.name))
        fix(self, "faces", _faces(self.faces, len(self.x), self.name))
        m = len(self.faces)
        if (self.uv is None) != (self.face_uv is None):
            raise BadInput(f"{self.name}: uv and face_uv come together or not at all")
        if self.uv is not None:
            fix(self, "uv", floats(self.uv).copy())
            fix(self, "face_uv", ints(self.face_uv).copy())
            if self.uv.ndim != 2 or self.uv.shape[1] != 2 or self.face_uv.shape != (m, 3):
                raise BadInput(f"{self.name}: uv must be (k, 2) and face_uv ({m}, 3)")
            if not np.isfinite(self.uv).all():
                raise BadInput(f"{self.name}: a texture coordinate is NaN or infinite")
            if self.face_uv.min() < -1 or self.face_uv.max() >= len(self.uv):
                raise BadInput(f"{self.name}: a face names a texture coordinate that does not exist")
        if self.rest is None:
            fix(self, "rest", rest_from_positions(self.x, self.faces))
        else:
            fix(self, "rest", floats(self.rest).copy())
            if self.rest.shape != (m, 2, 2) or not np.isfinite(self.rest).all():
                raise BadInput(f"{self.name}: rest shapes must be finite, of shape ({m}, 2, 2)")

    def __repr__(self) -> str:
        return f"TriMesh({self.name!r}, {len(self.x)} vertices, {len(self.faces)} faces)"

    # --- connectivity ---

    @cached_property
    def topology(self) -> Topology:
        return build_topology(self.faces, len(self.x))

    @property
    def edges(self) -> np.ndarray:
        """(e, 2) int32, the smaller vertex first, in lexicographic order."""
        return self.topology.edges

    @property
    def face_edges(self) -> np.ndarray:
        """(m, 3) int32, edge k of a face joins its corners k and (k + 1) % 3."""
        return self.topology.face_edges

    @property
    def edge_faces(self) -> np.ndarray:
        """(e, 2) int32, the faces beside each edge, -1 where there is none."""
        return self.topology.edge_faces

    @property
    def boundary_edges(self) -> np.ndarray:
        """(e,) bool, edges with one face."""
        return self.topology.edge_face_count == 1

    @property
    def boundary_vertices(self) -> np.ndarray:
        """(n,) bool, ends of boundary edges."""
        flags = np.zeros(len(self.x), dtype=bool)
        flags[self.edges[self.boundary_edges]] = True
        return flags

    @property
    def non_manifold_edges(self) -> np.ndarray:
        """(k,) int32, edges with three or more faces."""
        return np.flatnonzero(self.topology.edge_face_count > 2).astype(np.int32)

    @cached_property
    def boundary_loops(self) -> list[np.ndarray]:
        """The boundary as closed loops of vertices."""
        return boundary_loops(self.topology, self.faces)

    def fan(self, vertex: int) -> np.ndarray:
        """The faces around a vertex, in walking order."""
        t = self.topology
        return t.fan_faces[t.fan_start[vertex] : t.fan_start[vertex + 1]]

    def ring(self, vertex: int) -> np.ndarray:
        """The neighbours of a vertex, in the walking order of its fan."""
        corners = self.faces[self.fan(vertex)].ravel()
        corners = corners[corners != vertex]
        seen, first = np.unique(corners, return_index=True)
        ring = seen[np.argsort(first, kind="stable")]
        if len(self.fan(vertex)) > 1:  # a face's two far corners come in either order: enter by the one not shared
            first_face, next_face = self.faces[self.fan(vertex)[:2]]
            shared = np.isin(ring[:2], next_face)
            if shared[0] and not shared[1]:
                ring[:2] = ring[1::-1].copy()
        return ring

    @cached_property
    def vertex_component(self) -> np.ndarray:
        """(n,) int32, the connected piece of each vertex, numbered by lowest vertex."""
        return _components(len(self.x), self.edges)

    @cached_property
    def face_component(self) -> np.ndarray:
        """(m,) int32, the connected piece of each face: that of its vertices."""
        return self.vertex_component[self.faces[:, 0]]

    # --- panels ---

    @cached_property
    def _panels_and_seams(self) -> tuple[np.ndarray, np.ndarray]:
        return _panels_and_seams(self)

    @property
    def panels(self) -> np.ndarray:
        """(m,) int32, the flat panel (uv island) of each face; without uv, pieces connected by edges."""
        return self._panels_and_seams[0]

    @property
    def seams(self) -> np.ndarray:
        """(s,) int32, edges whose two faces have different uv there: between two panels, or a dart in one."""
        return self._panels_and_seams[1]

    # --- shape ---

    @property
    def areas(self) -> np.ndarray:
        """(m,) areas of the faces [m^2]."""
        return face_areas(self.x, self.faces)

    @property
    def diagonal(self) -> float:
        """Length of the bounding box's diagonal [m]."""
        return float(np.linalg.norm(np.ptp(self.x, axis=0)))

    # --- new meshes from this one ---

    def moved(self, x: np.ndarray) -> TriMesh:
        """The same mesh with its vertices at x (n, 3); rest shapes, names and everything else stay."""
        if np.shape(x) != self.x.shape:
            raise BadInput(f"{self.name}: expected positions of shape {self.x.shape}, got {np.shape(x)}")
        return self._sharing(replace(self, x=x))

    def with_rest(self, rest: np.ndarray) -> TriMesh:
        """The same mesh with other rest shapes (m, 2, 2)."""
        return self._sharing(replace(self, rest=rest))

    def named(self, name: str) -> TriMesh:
        return self._sharing(replace(self, name=name))

    def _sharing(self, other: TriMesh) -> TriMesh:
        for key in _FROM_FACES:
            if key in self.__dict__:
                other.__dict__[key] = self.__dict__[key]
        return other


def as_mesh(mesh, name: str = "mesh") -> TriMesh:
    """A `TriMesh` from one, or from a pair (vertices (n, 3), faces (m, 3))."""
    if isinstance(mesh, TriMesh):
        return mesh
    try:
        x, faces = mesh
    except (TypeError, ValueError):
        raise BadInput(f"expected a TriMesh or a pair (vertices, faces), got {type(mesh).__name__}") from None
    return TriMesh(x, faces, name=name)


def combine(meshes: list[TriMesh], name: str = "all") -> TriMesh:
    """Several meshes as one, their vertices and faces one after the other; nothing is welded."""
    if len(meshes) == 1:
        return meshes[0]
    vertex = np.cumsum([0] + [len(m.x) for m in meshes])
    origin = None
    if any(m.origin is not None for m in meshes):
        origin = np.concatenate(
            [(np.arange(len(m.x)) if m.origin is None else m.origin) + at for m, at in zip(meshes, vertex)]
        )
    return TriMesh(
        np.concatenate([m.x for m in meshes]),
        np.concatenate([m.faces + at for m, at in zip(meshes, vertex)]),
        name=name,
        rest=np.concatenate([m.rest for m in meshes]),
        origin=origin,
    )


def split_non_manifold(mesh: TriMesh) -> TriMesh:
    """The mesh cut open along its edges with three or more faces, so that every edge has at most two.

    Each vertex on such an edge gets a copy for every fan that meets there. Faces keep their number and order; the
    first fan keeps the vertex, copies are appended at the end, and `origin` names the vertex each is a copy of.
    Copies of one vertex still count as the same point when intersections are looked for: a pocket sewn onto a
    shirt does not cross it along the seam.
    """
    bad = mesh.non_manifold_edges
    if len(bad) == 0:
        return mesh
    faces = mesh.faces.copy()
    origin = list(np.arange(len(mesh.x)) if mesh.origin is None else mesh.origin)
    t = mesh.topology
    for v in np.unique(t.edges[bad]):
        label = {}
        fan = mesh.fan(v)
        for f in fan:  # join faces across manifold edges at v
            label[f] = f
        for f in fan:
            for e in t.face_edges[f]:
                if t.edge_face_count[e] == 2 and v in t.edges[e]:
                    a, b = sorted(_root(label, g) for g in t.edge_faces[e])
                    label[b] = a
        roots = sorted({_root(label, f) for f in fan})
        for root in roots[1:]:
            copy = len(origin)
            origin.append(origin[v])
            for f in fan:
                if _root(label, f) == root:
                    faces[f][faces[f] == v] = copy
    origin = np.array(origin, dtype=np.int32)
    n = len(mesh.x)
    x = np.concatenate([mesh.x, mesh.x[origin[n:]] if mesh.origin is None else _first(mesh, origin[n:])])
    split = replace(mesh, x=x, faces=faces, origin=origin, polygons=None, source=None)
    return split


def _root(label: dict, f):
    while label[f] != f:
        f = label[f]
    return f


def _first(mesh: TriMesh, origins: np.ndarray) -> np.ndarray:
    """Positions of the first vertex with each origin."""
    values, first = np.unique(mesh.origin, return_index=True)
    return mesh.x[first[np.searchsorted(values, origins)]]


def _positions(x, name: str) -> np.ndarray:
    try:
        x = np.array(x, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise BadInput(f"{name}: vertices must be numbers in rows of three") from None
    if x.ndim != 2 or x.shape[1] != 3:
        raise BadInput(f"{name}: vertices must have shape (n, 3), not {x.shape}")
    if not np.isfinite(x).all():
        v = int(np.flatnonzero(~np.isfinite(x).all(axis=1))[0])
        raise BadInput(f"{name}: vertex {v} has a NaN or infinite coordinate")
    return x


def _faces(faces, vertices: int, name: str) -> np.ndarray:
    faces = np.asarray(faces)
    if faces.size == 0:
        raise BadInput(f"{name}: there are no faces")
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu":
        raise BadInput(f"{name}: faces must be whole numbers of shape (m, 3), not {faces.dtype} {faces.shape}")
    if faces.min() < 0 or faces.max() >= vertices:
        f = int(np.flatnonzero(((faces < 0) | (faces >= vertices)).any(axis=1))[0])
        raise BadInput(f"{name}: face {f} names a vertex out of range ({faces[f].tolist()}, vertices: {vertices})")
    a, b, c = faces.T
    twice = (a == b) | (b == c) | (c == a)
    if twice.any():
        f = int(np.flatnonzero(twice)[0])
        raise BadInput(f"{name}: face {f} names a vertex twice ({faces[f].tolist()})")
    return np.array(faces, dtype=np.int32, order="C")


def _components(n: int, pairs: np.ndarray) -> np.ndarray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs), dtype=np.int8), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.int32)


def _panels_and_seams(mesh: TriMesh) -> tuple[np.ndarray, np.ndarray]:
    t = mesh.topology
    inside = np.flatnonzero(t.edge_face_count == 2)
    f, g = t.edge_faces[inside].T
    if mesh.uv is None:
        same = np.ones(len(inside), dtype=bool)
    else:
        same = np.ones(len(inside), dtype=bool)
        for end in range(2):
            v = t.edges[inside, end]
            uv_f = mesh.face_uv[f, np.argmax(mesh.faces[f] == v[:, None], axis=1)]
            uv_g = mesh.face_uv[g, np.argmax(mesh.faces[g] == v[:, None], axis=1)]
            same &= (uv_f == uv_g) | ((mesh.uv[uv_f] == mesh.uv[uv_g]).all(axis=1) & (uv_f >= 0) & (uv_g >= 0))
    panels = _components(len(mesh.faces), np.stack([f[same], g[same]], axis=1))
    return panels, inside[~same].astype(np.int32)
