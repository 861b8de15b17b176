"""OFF, the text form: a line of three coordinates per vertex, a line of corners per polygon.

What else the lines hold (colours, normals, texture coordinates of COFF, NOFF, STOFF ...) and comments stay in
the text, which is kept: writing the mesh back replaces coordinates that have moved, and the normals of NOFF
that follow from them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.corners import new_normals, polygon_corners
from unsnarl.io.kept import Kept
from unsnarl.io.text import exact, parse_floats, replaced, rounded, words
from unsnarl.mesh import TriMesh
from unsnarl.mesh.polygons import triangulate

EXTENSIONS = (".off",)

_KEYWORD = re.compile(rb"(?:\xef\xbb\xbf)?\s*((?:ST)?C?(N?)(4?n?)OFF)\b[ \t]*(BINARY\b)?")


@dataclass(frozen=True, eq=False, kw_only=True)
class OffText(Kept):
    """The text, and where it has the coordinates (n, 2) and normals (n, 2, or None): first byte and end."""

    text: bytes
    at_x: np.ndarray
    at_normal: np.ndarray | None


def read(path: Path) -> TriMesh:
    text = path.read_bytes()
    bare = re.sub(rb"#[^\r\n]*", lambda comment: b" " * len(comment[0]), text)  # offsets stay what they are
    if b"\n" not in bare:
        bare = bare.replace(b"\r", b"\n")
    keyword = _KEYWORD.match(bare)
    if keyword is None:
        raise BadInput("not an OFF file: it does not begin with the line 'OFF'")
    if keyword[3] or keyword[4]:
        kind = "binary" if keyword[4] else keyword[1].decode()
        raise BadInput(f"{kind} OFF is not read, only the text form with three coordinates a vertex")
    bare = re.sub(rb"[^\n]", b" ", keyword[0]) + bare[keyword.end() :]

    begin, end, line = words(bare)
    values = parse_floats(bare, len(begin), lambda i: f"line {line[i] + 1}")
    first = np.flatnonzero(np.diff(line, prepend=-1))  # the first word of each line that has some
    count = np.diff(first, append=len(line))
    if len(first) == 0 or count[0] < 2:
        raise BadInput("the numbers of vertices and faces are missing")
    vertices, polygons = _whole(values[:2], line[:2])
    if min(vertices, polygons) < 0 or vertices + polygons > len(first) - 1:
        raise BadInput(f"{vertices} vertices and {polygons} faces are announced, the file is too short for that")
    if polygons == 0:
        raise BadInput("there are no faces")

    v, f = first[1 : vertices + 1], first[vertices + 1 : vertices + 1 + polygons]
    _check(count[1 : vertices + 1] >= 3, line[v], "a vertex needs 3 coordinates")
    x = values[v[:, None] + np.arange(3)]
    size = _whole(values[f], line[f])
    _check(size >= 3, line[f], "a face needs at least 3 corners")
    _check(
        count[vertices + 1 : vertices + 1 + polygons] > size,
        line[f],
        "the face has fewer corners than it says",
    )
    start = np.concatenate([[0], np.cumsum(size)])
    at = np.repeat(f + 1 - start[:-1], size) + np.arange(start[-1])
    corners = _whole(values[at], line[at])
    _check(
        (corners >= 0) & (corners < vertices),
        line[at],
        f"the face names a vertex that is none of the {vertices}",
    )

    faces, cut = triangulate(x, start, corners)
    at_x = np.stack([begin[v], end[v + 2]], axis=1)
    at_normal = None
    if keyword[2] and (count[1 : vertices + 1] >= 6).all():
        at_normal = np.stack([begin[v + 3], end[v + 5]], axis=1)
    source = OffText(x=x, faces=faces, groups={}, text=text, at_x=at_x, at_normal=at_normal)
    return TriMesh(x, faces, name=path.stem, polygons=None if cut.all_triangles else cut, source=source)


def write(path: Path, mesh: TriMesh) -> None:
    """The file as it was read with the vertices where they are now, or a plain OFF."""
    kept = mesh.source
    if not isinstance(kept, OffText) or not kept.fits(mesh):
        path.write_text(_plain(mesh), newline="\n")
        return
    moved = kept.moved(mesh)
    place, new = kept.at_x[moved], exact(mesh.x[moved])
    if kept.at_normal is not None:
        normals = new_normals(mesh, moved, mesh.faces, len(mesh.x))
        fresh = np.isfinite(normals).all(axis=1)
        place = np.concatenate([place, kept.at_normal[fresh]])
        new += rounded(normals[fresh])
    path.write_bytes(replaced(kept.text, place, new))


def _whole(values: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Numbers that must be whole ones, as int64."""
    _check((values == np.floor(values)) & (np.abs(values) < 2**31), line, "a whole number is needed")
    return values.astype(np.int64)


def _check(good: np.ndarray, line: np.ndarray, what: str) -> None:
    """line : the line, from 0, that each of `good` is about."""
    if not good.all():
        raise BadInput(f"line {line[int(np.argmin(good))] + 1}: {what}")


def _plain(mesh: TriMesh) -> str:
    start, corners, _ = polygon_corners(mesh)
    ends, corners = start.tolist(), corners.tolist()
    lines = ["OFF", f"{len(mesh.x)} {len(start) - 1} 0"]
    lines += exact(mesh.x)
    lines += [" ".join(map(str, [b - a, *corners[a:b]])) for a, b in pairwise(ends)]
    return "\n".join([*lines, ""])
