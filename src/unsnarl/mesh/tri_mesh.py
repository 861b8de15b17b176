"""`TriMesh`: a triangle mesh that keeps everything its file said about it.

A mesh is frozen: moving its vertices gives a new one (`moved`) that shares the connectivity. What follows
from the faces (edges, fans, loops, components, panels) is worked out when first asked for, once.

Input that real files contain, and what is done with it:

- isolated vertices are kept: they belong to no face, edge or boundary, and each is a component of its own;
- zero-area faces are faces like any other (the predicates of `geometry.predicates` are exact and never zero);
- duplicated faces are kept; where that gives an edge more than two faces, the edge is non-manifold;
- non-manifold edges (three or more faces) are kept and listed in `non_manifold_edges`; what needs a manifold
  refuses them by name, and `split_non_manifold` cuts the surface open along them;
- faces wound against their neighbours are kept: nothing here depends on the winding;
- a face that names a vertex twice, an index out of range, NaN or infinite positions, no faces: `BadInput`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.jit import ints
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
    origin   : (n,) int32, the vertex that each one is a copy of, after `split_non_manifold`; None: of itself
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
        fix(self, "name", " ".join(str(self.name).split()))
        fix(self, "x", _positions(self.x, self.name))
        fix(self, "faces", _faces(self.faces, len(self.x), self.name))
        m = len(self.faces)
        if (self.uv is None) != (self.face_uv is None):
            raise BadInput(f"{self.name}: uv and face_uv come together or not at all")
        if self.uv is not None:
            fix(self, "uv", _numbers(self.uv, f"{self.name}: uv must be numbers in rows of two"))
            fix(self, "face_uv", _whole(self.face_uv, f"{self.name}: face_uv must be whole numbers"))
            if self.uv.ndim != 2 or self.uv.shape[1] != 2 or self.face_uv.shape != (m, 3):
                raise BadInput(f"{self.name}: uv must be (k, 2) and face_uv ({m}, 3)")
            if not np.isfinite(self.uv).all():
                raise BadInput(f"{self.name}: a texture coordinate is NaN or infinite")
            if self.face_uv.min() < -1 or self.face_uv.max() >= len(self.uv):
                raise BadInput(f"{self.name}: a face names a texture coordinate that does not exist")
            fix(self, "face_uv", ints(self.face_uv))
        if self.rest is None:
            with np.errstate(over="ignore", invalid="ignore"):
                fix(self, "rest", rest_from_positions(self.x, self.faces))
            if not np.isfinite(self.rest).all():
                raise BadInput(f"{self.name}: coordinates are too large to measure a face with")
        else:
            fix(self, "rest", _numbers(self.rest, f"{self.name}: rest shapes must be numbers"))
            if self.rest.shape != (m, 2, 2) or not np.isfinite(self.rest).all():
                raise BadInput(f"{self.name}: rest shapes must be finite, of shape ({m}, 2, 2)")
        if self.origin is not None:
            origin = _whole(self.origin, f"{self.name}: origin must be whole numbers")
            if origin.shape != (len(self.x),):
                raise BadInput(f"{self.name}: origin must name one vertex for each of {len(self.x)}")
            if origin.min() < 0 or origin.max() >= len(self.x):
                raise BadInput(f"{self.name}: origin names a vertex that does not exist")
            fix(self, "origin", ints(origin))
        for group, members in self.groups.items():
            members = _whole(members, f"{self.name}: group {group!r} must hold whole numbers")
            if members.size and (members.min() < 0 or members.max() >= m):
                raise BadInput(f"{self.name}: group {group!r} names a face that does not exist")

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
        """(k,) int32, the neighbours of a vertex, each once, in the walking order of its fans."""
        faces = self.faces[self.fan(vertex)]
        far = faces[faces != vertex].reshape(-1, 2).tolist()  # each face's other corners, in either order
        ring = []
        last = -1  # the corner by which the walk left the face before
        for (a, b), following in zip(far, far[1:] + [[]]):
            begins = last not in (a, b)
            if last == b or (begins and a in following and b not in following):
                a, b = b, a
            ring += [a, b]
            last = b
        return np.array(list(dict.fromkeys(ring)), dtype=np.int32)

    @cached_property
    def vertex_component(self) -> np.ndarray:
        """(n,) int32, the connected piece of each vertex, numbered by lowest vertex."""
        return components(len(self.x), self.edges)

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
        x = _positions(x, self.name)
        if x.shape != self.x.shape:
            raise BadInput(f"{self.name}: expected positions of shape {self.x.shape}, got {x.shape}")
        return self._sharing(replace(self, x=x))

    def with_rest(self, rest: np.ndarray) -> TriMesh:
        """The same mesh with other rest shapes (m, 2, 2)."""
        return self._sharing(replace(self, rest=rest))

    def with_origin(self, origin: np.ndarray | None) -> TriMesh:
        """The same mesh whose vertices are copies of these (n,)."""
        return self._sharing(replace(self, origin=origin))

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
    """Several meshes as one, their vertices and faces one after the other; nothing is welded.

    Positions, faces, rest shapes and origins are kept; uv, groups, polygons and sources stay with the parts.
    """
    if not meshes:
        raise BadInput(f"{name}: there are no meshes to combine")
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

    Each vertex on such an edge gets a copy for every fan that meets there. Faces keep their number and order;
    the fan with the lowest face keeps the vertex, copies are appended at the end, and `origin` says of which
    vertex each is a copy.
    Copies of one vertex still count as the same point when intersections are looked for: a pocket sewn onto a
    shirt does not cross it along the seam.
    """
    bad = mesh.non_manifold_edges
    if len(bad) == 0:
        return mesh
    pairs = [np.stack(_corners_across(mesh, end), axis=1) for end in range(2)]
    fan = components(mesh.faces.size, np.concatenate(pairs))  # of corner 3 f + k, numbered by lowest corner
    _, first = np.unique(fan, return_index=True)
    vertex_of_fan = mesh.faces.ravel()[first]
    _, keeps = np.unique(vertex_of_fan, return_index=True)  # the first fan of each vertex
    on_bad = np.zeros(len(mesh.x), dtype=bool)
    on_bad[mesh.edges[bad]] = True
    moves = on_bad[vertex_of_fan]
    moves[keeps] = False
    copied = np.flatnonzero(moves)
    copied = copied[np.argsort(vertex_of_fan[copied], kind="stable")]
    parent = np.concatenate([np.arange(len(mesh.x)), vertex_of_fan[copied]])
    vertex_of_fan[copied] = np.arange(len(mesh.x), len(parent))
    return replace(
        mesh,
        x=mesh.x[parent],
        faces=vertex_of_fan[fan].reshape(-1, 3),
        origin=parent if mesh.origin is None else mesh.origin[parent],
        polygons=None,
        source=None,
    )


def _numbers(a, trouble: str) -> np.ndarray:
    """A C-contiguous float64 copy of `a`, or `BadInput`."""
    try:
        a = np.array(a, order="C")
        if a.size and a.dtype.kind not in "fiubO":  # text, complex numbers, dates
            raise BadInput(trouble)
        return np.ascontiguousarray(a, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(trouble) from None


def _whole(a, trouble: str) -> np.ndarray:
    """A C-contiguous copy of `a`, an array of whole numbers or an empty one, or `BadInput`."""
    try:
        a = np.array(a, order="C")
    except (TypeError, ValueError, OverflowError):
        raise BadInput(trouble) from None
    if a.size and a.dtype.kind not in "iu":
        raise BadInput(f"{trouble}, not {a.dtype}")
    return a


def _positions(x, name: str) -> np.ndarray:
    x = _numbers(x, f"{name}: vertices must be numbers in rows of three")
    if x.ndim != 2 or x.shape[1] != 3:
        raise BadInput(f"{name}: vertices must have shape (n, 3), not {x.shape}")
    if not np.isfinite(x).all():
        v = int(np.flatnonzero(~np.isfinite(x).all(axis=1))[0])
        raise BadInput(f"{name}: vertex {v} has a NaN or infinite coordinate")
    return x


def _faces(faces, vertices: int, name: str) -> np.ndarray:
    faces = _whole(faces, f"{name}: faces must be whole numbers in rows of three")
    if faces.size == 0:
        raise BadInput(f"{name}: there are no faces")
    if faces.ndim != 2 or faces.shape[1] != 3:
        raise BadInput(f"{name}: faces must have shape (m, 3), not {faces.shape}")
    if faces.min() < 0 or faces.max() >= vertices:
        f = int(np.flatnonzero(((faces < 0) | (faces >= vertices)).any(axis=1))[0])
        named = faces[f].tolist()
        raise BadInput(f"{name}: face {f} names a vertex out of range ({named}, vertices: {vertices})")
    a, b, c = faces.T
    twice = (a == b) | (b == c) | (c == a)
    if twice.any():
        f = int(np.flatnonzero(twice)[0])
        raise BadInput(f"{name}: face {f} names a vertex twice ({faces[f].tolist()})")
    return ints(faces)


def components(n: int, pairs: np.ndarray) -> np.ndarray:
    """(n,) int32, the connected piece of each of n things, `pairs` (p, 2) of which are connected; by lowest member."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs), dtype=np.int8), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.int32)


def _corners_across(mesh: TriMesh, end: int) -> tuple[np.ndarray, np.ndarray]:
    """The corners (3 f + k) of the two faces beside each edge that has two, at its vertex `end` (0 or 1)."""
    t = mesh.topology
    inside = t.edge_face_count == 2
    v = t.edges[inside, end]
    f, g = t.edge_faces[inside].T
    return tuple(3 * side + np.argmax(mesh.faces[side] == v[:, None], axis=1) for side in (f, g))


def _panels_and_seams(mesh: TriMesh) -> tuple[np.ndarray, np.ndarray]:
    t = mesh.topology
    inside = np.flatnonzero(t.edge_face_count == 2)
    same = np.ones(len(inside), dtype=bool)
    if mesh.uv is not None:
        uv = np.concatenate([mesh.uv, [[np.nan, np.nan]]])  # the row at -1 equals none, itself included
        for end in range(2):
            row_f, row_g = (mesh.face_uv.ravel()[corner] for corner in _corners_across(mesh, end))
            same &= (row_f == row_g) | (uv[row_f] == uv[row_g]).all(axis=1)
    panels = components(len(mesh.faces), t.edge_faces[inside[same]])
    return panels, inside[~same].astype(np.int32)
