"""PLY, text and binary, with everything in it: further properties and elements are kept and written back.

Polygons come from the lists vertex_indices / vertex_index of the element face. Texture coordinates come from
the vertex properties s t, u v, texture_u texture_v or texture_s texture_t, or from the face list texcoord
(two numbers a corner; NaN: none); they are written as s t where every vertex has one pair, else as texcoord.
Positions are written as double, so that no bit is lost; a mesh that came from another format is written in
binary, little endian. Vertex normals nx ny nz follow when the mesh has moved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.corners import new_normals, polygon_corners
from unsnarl.io.kept import Kept
from unsnarl.io.text import line_number, parse_floats, shown, words
from unsnarl.jit import kernel
from unsnarl.mesh import TriMesh
from unsnarl.mesh.polygons import triangulate

EXTENSIONS = (".ply",)

_TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"}
_TYPES |= {"float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2"}
_TYPES |= {"int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8"}
_NAMES = {
    "i1": "char",
    "u1": "uchar",
    "i2": "short",
    "u2": "ushort",
    "i4": "int",
    "u4": "uint",
    "f4": "float",
    "f8": "double",
}
_ORDER = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
_POSITION = ("x", "y", "z")
_NORMAL = ("nx", "ny", "nz")
_UV = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"), ("texture_s", "texture_t"))
_INDICES = ("vertex_indices", "vertex_index")


@dataclass(frozen=True, eq=False)
class Column:
    """One property of all rows of an element.

    type   : "i1" ... "f8"; count : the same for the length of a list, None for a single number
    values : (rows,), or the items of all lists one after the other, in `type`
    start  : (rows + 1,), the list of row i is values[start[i] : start[i + 1]]; None for a single number
    """

    name: str
    type: str
    count: str | None = None
    values: np.ndarray | None = None
    start: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Element:
    name: str
    rows: int
    columns: tuple[Column, ...]

    def column(self, *names: str) -> Column | None:
        """The first property with one of these names."""
        return next((c for c in self.columns if c.name in names), None)

    def block(self, names: tuple[str, ...]) -> np.ndarray | None:
        """Several single numbers side by side, (rows, k) float64; None unless all are there."""
        columns = [self.column(name) for name in names]
        if any(c is None or c.start is not None for c in columns):
            return None
        return np.stack([c.values for c in columns], axis=1).astype(np.float64)

    def with_columns(self, *new: Column) -> Element:
        """The same element with columns of the same names replaced, and others added at the end."""
        by_name = {c.name: c for c in new}
        columns = [by_name.pop(c.name, c) for c in self.columns]
        return replace(self, columns=(*columns, *by_name.values()))


@dataclass(frozen=True, eq=False, kw_only=True)
class PlyElements(Kept):
    """form : ascii, binary_little_endian or binary_big_endian; notes : comment and obj_info lines."""

    form: str
    notes: tuple[str, ...]
    elements: tuple[Element, ...]


def read(path: Path) -> TriMesh:
    data = path.read_bytes()
    form, notes, elements, body = _header(data)
    elements = _body(data, body, form, elements)
    by_name = {e.name: e for e in reversed(elements)}
    vertex, face = by_name.get("vertex"), by_name.get("face")
    x = None if vertex is None else vertex.block(_POSITION)
    if x is None:
        raise BadInput("there are no vertices with x, y and z")
    if "tristrips" in by_name and (face is None or face.rows == 0):
        raise BadInput("its triangles are strips (element tristrips), which are not read; save it with faces")
    indices = None if face is None else face.column(*_INDICES)
    if indices is None or indices.start is None or face.rows == 0:
        raise BadInput("there are no faces")
    size = np.diff(indices.start)
    if size.min() < 3:
        raise BadInput(f"face {int(np.argmin(size >= 3))} has fewer than 3 corners")
    corners = indices.values.astype(np.int64)
    if corners.min() < 0 or corners.max() >= len(x):
        bad = np.argmax((corners < 0) | (corners >= len(x)))
        polygon = np.searchsorted(indices.start, bad, side="right") - 1
        raise BadInput(f"face {polygon} names the vertex {corners[bad]} of {len(x)}")

    faces, polygons = triangulate(x, indices.start, corners)
    uv, corner_uv = _texture(vertex, face, indices.start, corners)
    face_uv = None if uv is None else corner_uv[polygons.face_corner]
    source = PlyElements(x=x, faces=faces, uv=uv, face_uv=face_uv, groups={}, form=form, notes=notes, elements=elements)
    polygons = None if polygons.all_triangles else polygons
    return TriMesh(x, faces, name=path.stem, uv=uv, face_uv=face_uv, polygons=polygons, source=source)


def write(path: Path, mesh: TriMesh) -> None:
    kept = mesh.source
    if isinstance(kept, PlyElements) and kept.fits(mesh):
        elements = [_moved(e, kept, mesh) if e.name == "vertex" else e for e in kept.elements]
        path.write_bytes(_encoded(kept.form, kept.notes, elements))
    else:
        path.write_bytes(_encoded("binary_little_endian", (), _plain(mesh)))


# --- reading ---


def _header(data: bytes) -> tuple[str, tuple[str, ...], list[Element], int]:
    """Format, notes, elements without values, and where the body begins."""
    if not re.match(rb"ply\s", data):
        raise BadInput("not a PLY file: it does not begin with the line 'ply'")
    newline = re.search(rb"\r\n|\n|\r", data)[0]
    end = data.find(newline + b"end_header")
    if end < 0:
        raise BadInput("the header has no end")
    form, notes, elements = None, [], []
    for number, line in enumerate(data[:end].decode("latin-1").split(newline.decode())[1:], start=2):
        said = line.split()
        match said:
            case []:
                pass
            case ["comment" | "obj_info", *_]:
                notes.append(line.strip())
            case ["format", name, "1.0"] if name in _ORDER:
                form = name
            case ["element", name, rows] if rows.isdecimal() and len(rows) < 16:
                elements.append(Element(name, int(rows), ()))
            case ["property", "list", count, item, name] if elements and count in _TYPES and item in _TYPES:
                if _TYPES[count][0] == "f":
                    raise BadInput(f"line {number}: the length of a list cannot be a {count}")
                elements[-1] = _wider(elements[-1], Column(name, _TYPES[item], _TYPES[count]))
            case ["property", item, name] if elements and item in _TYPES:
                elements[-1] = _wider(elements[-1], Column(name, _TYPES[item]))
            case _:
                raise BadInput(f"line {number}: not a line of a PLY header: {shown(line.encode())}")
    if form is None:
        raise BadInput("the header names no format")
    body = data.find(newline, end + len(newline))
    return form, tuple(notes), elements, len(data) if body < 0 else body + len(newline)


def _wider(element: Element, column: Column) -> Element:
    return replace(element, columns=(*element.columns, column))


def _body(data: bytes, body: int, form: str, elements: list[Element]) -> tuple[Element, ...]:
    """The elements with their values. A text is treated as a binary file whose numbers all have 8 bytes."""
    if form == "ascii":
        begin = words(data[body:])[0] + body

        def where(i):
            return f"line {line_number(data, int(begin[i]))}"

        numbers = parse_floats(data[body:], len(begin), where)
        with np.errstate(invalid="ignore"):
            lengths = np.where(numbers == np.floor(numbers), numbers, -1).astype("<i8")
        content, lengths = numbers.view(np.uint8), lengths.view(np.uint8)
    else:
        content = lengths = np.frombuffer(data, dtype=np.uint8, offset=body)

    at = 0
    filled = []
    for element in elements:
        if element.columns:
            element, at = _filled(element, content, lengths, at, form)
        filled.append(element)
    return tuple(filled)


def _filled(element: Element, content, lengths, at: int, form: str) -> tuple[Element, int]:
    """The element whose rows begin at byte `at` of `content`, and where they end."""
    text = form == "ascii"
    order = _ORDER[form]
    item = np.array([8 if text else int(c.type[1]) for c in element.columns])
    count = np.array([0 if c.count is None else 8 if text else int(c.count[1]) for c in element.columns])
    signed = np.array([text or (c.count is not None and c.count[0] == "i") for c in element.columns])
    least = int(np.where(count > 0, count, item).sum())
    end = -1
    if element.rows * least <= len(content) - at:
        offset, size, end = _walk(lengths, at, element.rows, item, count, signed, order == ">")
    if end < 0:
        raise BadInput(f"the header says {element.rows} rows of {element.name}, which the file does not hold")
    columns = []
    for k, column in enumerate(element.columns):
        start = None
        where = offset[:, k]
        if column.count is not None:
            start = np.concatenate([[0], np.cumsum(size[:, k])])
            where = np.repeat(where - start[:-1] * item[k], size[:, k]) + np.arange(start[-1]) * item[k]
        values = content[where[:, None] + np.arange(item[k])].view("f8" if text else order + column.type).ravel()
        columns.append(replace(column, values=_cast(values, column), start=start))
    return replace(element, columns=tuple(columns)), end


def _cast(values: np.ndarray, column: Column) -> np.ndarray:
    """Numbers as the type that the header says, in the machine's byte order."""
    if column.type[0] != "f" and values.dtype.kind == "f" and len(values):
        most = np.iinfo(column.type)
        if not ((values >= most.min) & (values <= most.max)).all():
            raise BadInput(f"a value of {column.name} is none of its type, {_NAMES[column.type]}")
    with np.errstate(over="ignore"):
        return values.astype(column.type)


@kernel
def _walk(data, at, rows, item, count, signed, big):
    """Where each property of each row is.

    item, count, signed : (k,), bytes of a number; of the length before a list, 0 without one; has it a sign?
    Returns offset (rows, k) of the first number, size (rows, k), and the end; -1 if the data end before, or a
    length is negative.
    """
    k = len(item)
    offset = np.empty((rows, k), np.int64)
    size = np.ones((rows, k), np.int64)
    for row in range(rows):
        for j in range(k):
            many = 1
            if count[j] > 0:
                if at + count[j] > len(data):
                    return offset, size, -1
                many = 0
                for b in range(count[j]):
                    byte = np.int64(data[at + b if big else at + count[j] - 1 - b])
                    if b == 0 and signed[j] and byte > 127:
                        return offset, size, -1
                    many = (many << 8) | byte
                at += count[j]
            if many > (len(data) - at) // item[j]:
                return offset, size, -1
            offset[row, j] = at
            size[row, j] = many
            at += many * item[j]
    return offset, size, at


def _texture(vertex: Element, face: Element, start: np.ndarray, corners: np.ndarray):
    """uv (k, 2), and its row at each polygon corner (-1: none); two times None without."""
    for names in _UV:
        uv = vertex.block(names)
        if uv is not None:
            return uv, corners
    texcoord = face.column("texcoord")
    if texcoord is None or not np.array_equal(texcoord.start, 2 * start):
        return None, None
    pairs = np.ascontiguousarray(texcoord.values.reshape(-1, 2), dtype=np.float64)
    there = ~np.isnan(pairs).any(axis=1)
    if not there.any():
        return None, None
    _, first, label = np.unique(pairs[there].view("V16").ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    row = np.full(len(corners), -1)
    row[there] = rank[label.ravel()]
    return pairs[there][first[order]], row


# --- writing ---


def _moved(vertex: Element, kept: PlyElements, mesh: TriMesh) -> Element:
    """The vertex element with the positions, and the normals if there are some, of the mesh."""
    new = [Column(name, "f8", values=mesh.x[:, k]) for k, name in enumerate(_POSITION)]
    moved = kept.moved(mesh)
    normals = vertex.block(_NORMAL)
    if normals is not None and moved.any():
        fresh = new_normals(mesh, moved, mesh.faces, len(mesh.x))
        normals = np.where(np.isnan(fresh), normals, fresh)
        for k, name in enumerate(_NORMAL):
            column = vertex.column(name)
            new.append(replace(column, values=normals[:, k].astype(column.type)))
    return vertex.with_columns(*new)


def _plain(mesh: TriMesh) -> list[Element]:
    start, corners, uv_row = polygon_corners(mesh)
    vertex = [Column(name, "f8", values=mesh.x[:, k]) for k, name in enumerate(_POSITION)]
    face = [_list("vertex_indices", "i4", corners, start)]
    if mesh.uv is not None:
        pairs = np.where(uv_row[:, None] >= 0, mesh.uv[uv_row], np.nan)
        of_vertex = np.zeros((len(mesh.x), 2))
        of_vertex[corners] = pairs
        if (uv_row >= 0).all() and of_vertex[corners].tobytes() == pairs.tobytes():
            vertex += [Column(name, "f8", values=of_vertex[:, k]) for k, name in enumerate(("s", "t"))]
        else:
            face.append(_list("texcoord", "f8", pairs.ravel(), 2 * start))
    return [Element("vertex", len(mesh.x), tuple(vertex)), Element("face", len(start) - 1, tuple(face))]


def _list(name: str, kind: str, values: np.ndarray, start: np.ndarray) -> Column:
    return Column(name, kind, "u1" if np.diff(start).max() < 256 else "i4", values.astype(kind), start)


def _encoded(form: str, notes: tuple[str, ...], elements: list[Element]) -> bytes:
    lines = ["ply", f"format {form} 1.0", *notes]
    for e in elements:
        lines.append(f"element {e.name} {e.rows}")
        for c in e.columns:
            kind = _NAMES[c.type] if c.count is None else f"list {_NAMES[c.count]} {_NAMES[c.type]}"
            lines.append(f"property {kind} {c.name}")
    header = "\n".join([*lines, "end_header", ""]).encode("latin-1")
    rows = _text_rows if form == "ascii" else _binary_rows
    return header + b"".join(rows(e, _ORDER[form]) for e in elements if e.columns)


def _binary_rows(element: Element, order: str) -> bytes:
    size = np.zeros(element.rows, dtype=np.int64)
    for c in element.columns:
        size += int(c.type[1]) if c.count is None else int(c.count[1]) + np.diff(c.start) * int(c.type[1])
    at = np.concatenate([[0], np.cumsum(size)])
    out = np.empty(at[-1], dtype=np.uint8)
    at = at[:-1]
    for c in element.columns:
        many = 1
        where = at
        if c.count is not None:
            many = np.diff(c.start)
            _put(out, at, many.astype(order + c.count))
            at = at + int(c.count[1])
            where = np.repeat(at - c.start[:-1] * int(c.type[1]), many) + np.arange(c.start[-1]) * int(c.type[1])
        _put(out, where, c.values.astype(order + c.type))
        at = at + many * int(c.type[1])
    return out.tobytes()


def _put(out: np.ndarray, where: np.ndarray, values: np.ndarray) -> None:
    """Write the bytes of each value at its place."""
    size = values.dtype.itemsize
    out[where[:, None] + np.arange(size)] = np.ascontiguousarray(values).view(np.uint8).reshape(-1, size)


def _text_rows(element: Element, order: str) -> bytes:
    columns = []
    for c in element.columns:
        numbers = [repr(v) for v in c.values.tolist()]
        if c.count is not None:
            ends = c.start.tolist()
            numbers = [" ".join([str(b - a), *numbers[a:b]]) for a, b in pairwise(ends)]
        columns.append(numbers)
    return ("\n".join(map(" ".join, zip(*columns))) + "\n").encode()
