"""`TangleReport`: what `check` found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.detect.certify import ipctk_finds_intersections
from unsnarl.detect.edge_face import Hits
from unsnarl.mesh import TriMesh
from unsnarl.tangles.segments import Segments, segment_points


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
class TangleReport:
    """The intersections of one or several meshes. Vertices, edges and faces are numbered through all meshes.

    mesh     : all meshes as one
    parts    : the meshes, in order
    hits     : edges that cross faces
    segments : faces that cross each other
    seconds  : how long the check took [s]
    """

    mesh: TriMesh
    parts: tuple[Part, ...]
    hits: Hits
    segment_list: Segments
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
            "meshes": [{"name": p.name, "vertices": p.vertices, "faces": p.faces, "body": p.body} for p in self.parts],
            "crossing": {
                "edges": self.mesh.edges[self.hits.edge].tolist(),
                "edge_faces": self.hits.face.tolist(),
                "face_pairs": self.segments.tolist(),
            },
            "seconds": self.seconds,
        }

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
            if len(self.parts) > 1:
                for (a, b), count in self.between().items():
                    who = f"{self.parts[a].name} with {'itself' if a == b else self.parts[b].name}"
                    lines.append(f"  {who:<26}{count:>10,}")
        return "\n".join(lines)
