"""`TangleReport`: what `check` found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unsnarl.detect.certify import ipctk_finds_intersections
from unsnarl.detect.edge_face import Hits
from unsnarl.mesh import TriMesh
from unsnarl.tangles.colours import Colours, RedGreen, colour_vertices, inside, red_and_green
from unsnarl.tangles.paths import CLOSED, KINDS, Paths
from unsnarl.tangles.regions import Regions
from unsnarl.tangles.segments import Segments, hit_points, segment_points


@dataclass(frozen=True)
class Part:
    """One of the meshes that were checked together.

    name, vertices, faces : what it is called and how large it is
    first_vertex, first_face : where it begins in the numbering of the whole
    body : whether it is a body, whose crossings with itself and with other bodies do not count
    """

    name: str
    vertices: int
    faces: int
    first_vertex: int
    first_face: int
    body: bool


@dataclass(frozen=True, eq=False)
class Path:
    """One curve along which surfaces cross.

    kind          : CLOSED, EIGHT, LL, BLI, CROSS, BB_II or BI_BI
    points        : (k + 1, 3), the curve in space [m]; the last point is the first where it is closed
    closed        : whether it is closed in space
    loop_vertices : (l,) int32, vertices at which the surface crosses itself, 0 to 2 of them
    ends          : (b, 2) int32, the vertices of the boundary edges at which it ends, 0 to 2 of them
    meshes        : the parts that cross along it: (a, b), or (a, a) for one with itself
    inside        : the vertices inside of each image, two arrays; the second is empty where the images are one
    partitions    : whether each image has an inside at all (which may hold no vertex)
    edges, faces  : for each image, the mesh edges it crosses and the faces it runs through, in order
    """

    kind: str
    points: np.ndarray
    closed: bool
    loop_vertices: np.ndarray
    ends: np.ndarray
    meshes: tuple[int, int]
    inside: tuple[np.ndarray, np.ndarray]
    partitions: tuple[bool, bool]
    edges: tuple[np.ndarray, np.ndarray]
    faces: tuple[np.ndarray, np.ndarray]

    @property
    def segments(self) -> int:
        """How many pairs of faces cross along it."""
        return len(self.points) - 1

    @property
    def length(self) -> float:
        """Length in space [m]."""
        return float(np.linalg.norm(np.diff(self.points, axis=0), axis=1).sum())

    def to_dict(self) -> dict:
        return {
            "kind": self.kind,
            "segments": self.segments,
            "length": self.length,
            "closed": self.closed,
            "loop_vertices": self.loop_vertices.tolist(),
            "ends": self.ends.tolist(),
            "meshes": list(self.meshes),
            "inside": [region.tolist() for region in self.inside],
        }


@dataclass(frozen=True, eq=False)
class TangleReport:
    """The intersections of one or several meshes. Vertices, edges and faces are numbered through all meshes.

    mesh     : all meshes as one
    parts    : the meshes, in order
    hits     : edges that cross faces
    segment_list, path_list, regions : the segments, paths and insides, as arrays
    seconds  : how long the check took [s]
    """

    mesh: TriMesh
    parts: tuple[Part, ...]
    hits: Hits
    segment_list: Segments
    path_list: Paths
    regions: Regions
    seconds: float

    @property
    def clean(self) -> bool:
        """Whether nothing crosses anything."""
        return len(self.hits) == 0

    @property
    def ef_pairs(self) -> np.ndarray:
        """(h, 2) int32, (edge, face) for each edge that crosses a face; `mesh.edges` has the edges' vertices."""
        return np.stack([self.hits.edge, self.hits.face], axis=1)

    @property
    def segments(self) -> np.ndarray:
        """(s, 2) int32, the pairs of faces that cross."""
        return self.segment_list.faces

    @property
    def segment_points(self) -> np.ndarray:
        """(s, 2, 3), both ends of the line in which each pair of faces crosses [m]."""
        return segment_points(self.mesh, self.hits, self.segment_list)

    @property
    def crossing_faces(self) -> np.ndarray:
        """(k,) int32, the faces that cross some other face."""
        return np.unique(self.segments)

    @cached_property
    def paths(self) -> list[Path]:
        """The curves along which faces cross; each segment lies on one of them."""
        return [self._path(i) for i in range(len(self.path_list))]

    def _path(self, i: int) -> Path:
        p = self.path_list
        node = p.node[p.start[i] + i : p.start[i + 1] + i + 1]
        loop = -1 - node[node < 0]
        ends = node[[0, -1]][(node[[0, -1]] >= 0)] if p.kind[i] != CLOSED else node[:0]
        meshes = self.part_of_face(p.face[p.start[i]])
        images = (2 * i, 2 * i + 1)
        return Path(
            kind=KINDS[p.kind[i]],
            points=self.node_points[p.start[i] + i : p.start[i + 1] + i + 1],
            closed=bool(p.kind[i] == CLOSED or KINDS[p.kind[i]] == "EIGHT"),
            loop_vertices=loop[np.sort(np.unique(loop, return_index=True)[1])],
            ends=self.mesh.edges[self.hits.edge[ends]],
            meshes=(int(min(meshes)), int(max(meshes))),
            inside=tuple(self.regions.inside(k) for k in images),
            partitions=tuple(bool(self.regions.partitions[k]) for k in images),
            edges=tuple(p.edge[p.edge_start[k] : p.edge_start[k + 1]] for k in images),
            faces=tuple(p.run[p.face_start[k] : p.face_start[k + 1]] for k in images),
        )

    @property
    def counts(self) -> dict[str, int]:
        """How many paths there are of each kind that occurs."""
        found = Counter(self.path_list.kind.tolist())
        return {KINDS[k]: found[k] for k in sorted(found)}

    @cached_property
    def colours(self) -> Colours:
        """A's colours: black_i, white_i and red_i of every vertex."""
        return colour_vertices(self.mesh, self.path_list, self.regions)

    @cached_property
    def red_green(self) -> RedGreen:
        """D's colours of vertices, edges and faces."""
        return red_and_green(self.mesh, self.hits, self.segment_list, inside(self.mesh, self.regions))

    @cached_property
    def path_of_hit(self) -> np.ndarray:
        """(h,) the path that each hit lies on."""
        p = self.path_list
        of_node = np.repeat(np.arange(len(p)), np.diff(p.start) + 1)
        out = np.full(len(self.hits), -1)
        out[p.node[p.node >= 0]] = of_node[p.node >= 0]
        return out

    @cached_property
    def node_points(self) -> np.ndarray:
        """(s + p, 3) where the nodes of all paths are [m]."""
        node, at = self.path_list.node, hit_points(self.mesh, self.hits)
        if len(at) == 0:
            return np.zeros((0, 3))
        return np.where((node < 0)[:, None], self.mesh.x[np.maximum(-1 - node, 0)], at[np.maximum(node, 0)])

    def part_of_face(self, faces: np.ndarray) -> np.ndarray:
        """The number of the part that each face belongs to."""
        return np.searchsorted([p.first_face for p in self.parts], faces, side="right") - 1

    def between(self) -> dict[tuple[int, int], int]:
        """How many pairs of faces cross, by pair of parts (a, b) with a <= b; pairs without any are left out."""
        a, b = np.sort(self.part_of_face(self.segments), axis=1).T
        pairs, count = np.unique(np.stack([a, b], axis=1), axis=0, return_counts=True)
        return {(int(p), int(q)): int(n) for (p, q), n in zip(pairs, count)}

    def second_opinion(self) -> dict:
        """ipctk's verdict on the same meshes: {"by": name and version, "intersections": whether it finds any}."""
        bodies = [p.first_vertex for p in self.parts if p.body]
        points = self.mesh.faces if self.mesh.origin is None else self.mesh.origin[self.mesh.faces]
        found, judge = ipctk_finds_intersections(self.mesh.x, points, min(bodies, default=None))
        return {"by": judge, "intersections": found}

    def to_dict(self) -> dict:
        """The report as plain numbers and lists, ready for JSON."""
        return {
            "vertices": len(self.mesh.x),
            "faces": len(self.mesh.faces),
            "ef_pairs": len(self.hits),
            "segments": len(self.segments),
            "counts": self.counts,
            "paths": [path.to_dict() for path in self.paths],
            "meshes": [{"name": p.name, "vertices": p.vertices, "faces": p.faces, "body": p.body} for p in self.parts],
            "crossing": {
                "edges": self.mesh.edges[self.hits.edge].tolist(),
                "edge_faces": self.hits.face.tolist(),
                "face_pairs": self.segments.tolist(),
            },
            "seconds": self.seconds,
        }

    def _path_table(self, most: int = 20) -> list[str]:
        """A line for each of the longest paths."""
        longest = np.argsort(-np.diff(self.path_list.start), kind="stable")[:most]
        lines = ["", f"{'path':>6}  {'kind':<7}{'segments':>9}{'length m':>12}   inside vertices"]
        for i in longest:
            path = self._path(i)
            inside = " + ".join(f"{len(r):,}" for r, has in zip(path.inside, path.partitions) if has) or "-"
            lines.append(f"{i:>6}  {path.kind:<7}{path.segments:>9,}{path.length:>12.4g}   {inside}")
        if len(self.path_list) > most:
            lines.append(f"   ... and {len(self.path_list) - most:,} shorter ones")
        return lines

    def __str__(self) -> str:
        name_width = max(4, *(len(p.name) for p in self.parts))
        lines = [f"{'mesh':<{name_width}}  {'vertices':>10}  {'faces':>10}"]
        for p in self.parts:
            lines.append(f"{p.name:<{name_width}}  {p.vertices:>10,}  {p.faces:>10,}{'  body' if p.body else ''}")
        lines.append("")
        if self.clean:
            lines.append("no intersections")
        else:
            lines.append(f"{'edges through faces':<28}{len(self.hits):>10,}")
            lines.append(f"{'crossing pairs of faces':<28}{len(self.segments):>10,}")
            lines.append(f"{'faces involved':<28}{len(self.crossing_faces):>10,}")
            lines.append(f"{'paths':<28}{len(self.path_list):>10,}")
            lines += [f"  {kind:<26}{count:>10,}" for kind, count in self.counts.items()]
            lines += self._path_table()
            if len(self.parts) > 1:
                lines += ["", "pairs of faces, by mesh"]
                for (a, b), count in self.between().items():
                    who = f"{self.parts[a].name} with {'itself' if a == b else self.parts[b].name}"
                    lines.append(f"  {who:<26}{count:>10,}")
        return "\n".join(lines)
