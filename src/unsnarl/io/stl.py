"""STL, text and binary, read into a mesh whose vertices are shared.

STL has no vertices, only the corners of triangles. Corners at equal positions (bit for bit, but -0.0 is 0.0)
become one vertex; vertices are numbered by first appearance, and a triangle that has lost its corners by that
(two of them were at one place) is left out. Coordinates have single precision in a binary file, which is what
is written; the 80 bytes of its header and the two bytes of each triangle (some programs keep colours there)
are written back as they came.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.kept import Kept
from unsnarl.io.text import line_number, parse_floats
from unsnarl.mesh import TriMesh

EXTENSIONS = (".stl",)

_HEADER = 84  # bytes: a text of 80, and the number of triangles
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("x", "<f4", (3, 3)), ("attribute", "<u2")])
_LOOP = re.compile(rb"^[ \t]*(?:vertex[ \t]+([^\r\n]*)|endloop)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, eq=False, kw_only=True)
class StlBytes(Kept):
    """header : the first 80 bytes; attribute : (m,) uint16."""

    header: bytes
    attribute: np.ndarray


def read(path: Path) -> TriMesh:
    data = path.read_bytes()
    if _is_binary(data):
        triangles = np.frombuffer(data, _TRIANGLE, _count(data), offset=_HEADER)
        corners, attribute = triangles["x"].astype(np.float64), triangles["attribute"]
        header = data[:80]
    else:
        corners = _text_corners(data)
        attribute, header = np.zeros(len(corners), dtype=np.uint16), bytes(80)
    x, faces = _weld(corners.reshape(-1, 3))
    whole = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    faces = faces[whole]
    source = StlBytes(x=x, faces=faces, groups={}, header=header, attribute=attribute[whole])
    return TriMesh(x, faces, name=path.stem, source=source)


def write(path: Path, mesh: TriMesh) -> None:
    """Write a binary STL, with normals that follow from the positions."""
    with np.errstate(over="ignore"):
        corners = mesh.x.astype(np.float32)[mesh.faces]
    if not np.isfinite(corners).all():
        raise BadInput("a coordinate is too large for STL, which has single precision")
    p = corners.astype(np.float64)
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    triangles = np.zeros(len(corners), dtype=_TRIANGLE)
    triangles["x"] = corners
    triangles["normal"] = np.divide(normal, length, out=np.zeros_like(normal), where=length > 0)
    header = bytes(80)
    if isinstance(mesh.source, StlBytes) and mesh.source.fits(mesh):
        triangles["attribute"] = mesh.source.attribute
        header = mesh.source.header
    path.write_bytes(header + len(triangles).to_bytes(4, "little") + triangles.tobytes())


def _count(data: bytes) -> int:
    return int.from_bytes(data[80:_HEADER], "little")


def _is_binary(data: bytes) -> bool:
    """The size decides: binary files may begin with "solid" too. Bytes after the last triangle are let be."""
    triangles = (len(data) - _HEADER) // _TRIANGLE.itemsize
    if len(data) >= _HEADER and len(data) == _HEADER + _count(data) * _TRIANGLE.itemsize:
        return True
    if data.lstrip()[:5].lower() == b"solid" and b"\0" not in data:
        return False
    if len(data) < _HEADER or _count(data) > triangles:
        raise BadInput(f"neither an STL text nor a whole binary STL ({len(data)} bytes)")
    return True


def _text_corners(data: bytes) -> np.ndarray:
    """The corners (m, 3, 3) of an STL text."""
    found = list(_LOOP.finditer(data))
    for k, match in enumerate(found):
        if (match[1] is None) != (k % 4 == 3):
            raise BadInput(f"line {line_number(data, match.start())}: a facet must have 3 vertices")
    if len(found) % 4:
        raise BadInput("the text ends inside a facet")
    rows = [match[1] for match in found if match[1] is not None]
    for match, row in zip((match for match in found if match[1] is not None), rows):
        if len(row.split()) != 3:
            raise BadInput(f"line {line_number(data, match.start())}: a vertex must have 3 coordinates")

    def where(i):
        return f"vertex {i // 3 + 1}"

    return parse_floats(b" ".join(rows), 3 * len(rows), where).reshape(-1, 3, 3)


def _weld(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3), in order of first appearance, and faces (m, 3) of triangles with corners (3 m, 3)."""
    bits = np.ascontiguousarray(corners + 0.0)  # -0.0 + 0.0 is 0.0
    _, first, label = np.unique(bits.view("V24").ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return corners[first[order]], rank[label.ravel()].reshape(-1, 3).astype(np.int32)
