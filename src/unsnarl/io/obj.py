"""Wavefront OBJ, read and written without losing a byte.

The reader keeps the whole text. Writing the mesh back replaces in it the coordinates of the vertices that
have moved, and the normals that follow from them; comments, materials, smoothing, colours, curves, lines that
nobody understands, and the way faces were written stay as they are, where they are. A mesh that did not come
from an OBJ is written plainly: v, vt, g and f lines.

- A comment runs from # to the end of its line. Other lines that end with a backslash go on in the next one.
- `g` may name several groups, `o` names one object; both are groups of the mesh, one for each name.
- Lines that begin with anything else than v, vt, vn, f, g or o are kept and not looked at.
- Coordinates are written as the shortest decimals that give the same bits again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.corners import face_polygon, new_normals, polygon_corners
from unsnarl.io.kept import Kept
from unsnarl.io.text import exact, line_number, parse_floats, replaced, rounded, shown
from unsnarl.jit import kernel
from unsnarl.mesh import TriMesh
from unsnarl.mesh.polygons import triangulate

EXTENSIONS = (".obj",)

_OTHER, _V, _VT, _VN, _F, _G, _O = range(7)  # kinds of lines
_NONE, _OUTSIDE = (
    -1,
    -2,
)  # corners without an index, and with one that points before the first line of its kind
_CHUNK = 100_000  # polygons formatted at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class ObjText(Kept):
    """The text of an OBJ, and where in it the numbers stand that change when the mesh moves.

    at_v   : (n, 2) int64, first byte of the first coordinate and end of the third, for each v line
    at_vn  : (k, 2) int64, the same for each vn line
    normal : (m, 3) int32, the vn line at each triangle corner, -1 without one
    """

    text: bytes
    at_v: np.ndarray
    at_vn: np.ndarray
    normal: np.ndarray


def read(path: Path) -> TriMesh:
    """The mesh of an OBJ; groups come from g and o lines, and hold at least one face each."""
    text = path.read_bytes()
    letters = np.frombuffer(text, dtype=np.uint8)
    newline = 10 if b"\n" in text else 13
    begin, end, kind = _lines(letters, 3 if text.startswith(b"\xef\xbb\xbf") else 0, newline)

    x, at_v = _numbers(text, begin[kind == _V], end[kind == _V], 3, 3)
    uv, _ = _numbers(text, begin[kind == _VT], end[kind == _VT], 2, 1)
    vn = kind == _VN
    at_vn = _first_words(letters, begin[vn], end[vn], 3)[2]
    start, corners = _faces(text, begin, end, kind, len(x), len(uv))

    if (np.diff(start) == 3).all():
        faces, polygons, polygon = corners[:, 0].reshape(-1, 3), None, np.arange(len(start) - 1)
        face_uv, normal = corners[:, 1].reshape(-1, 3), corners[:, 2].reshape(-1, 3)
    else:
        faces, polygons = triangulate(x, start, corners[:, 0])
        face_uv, normal = corners[polygons.face_corner, 1], corners[polygons.face_corner, 2]
        polygon = polygons.face_polygon
    if not (face_uv >= 0).any():
        uv = face_uv = None
    normal = np.where((normal >= 0) & (normal < len(at_vn)), normal, _NONE)
    groups = _groups(text, begin, end, kind, polygon)
    source = ObjText(
        x=x,
        faces=faces,
        uv=uv,
        face_uv=face_uv,
        groups=groups,
        text=text,
        at_v=at_v,
        at_vn=at_vn,
        normal=normal,
    )
    return TriMesh(x, faces, name=path.stem, uv=uv, face_uv=face_uv, groups=groups, polygons=polygons, source=source)


def write(path: Path, mesh: TriMesh) -> None:
    """The file as it was read with the vertices where they are now, or a plain OBJ."""
    kept = mesh.source
    if isinstance(kept, ObjText) and kept.fits(mesh):
        path.write_bytes(_as_it_came(kept, mesh))
    else:
        path.write_text(_plain(mesh), encoding="utf-8", newline="\n")


# --- reading ---


def _numbers(text, begin, end, want, need):
    """The first `want` numbers of each line, (k, want), 0 for those beyond `need` that are missing.

    Returns also where they stand, (k, 2).
    """
    letters = np.frombuffer(text, dtype=np.uint8)
    found, count, place = _first_words(letters, begin, end, want)
    if (count < need).any():
        i = int(np.argmax(count < need))
        raise BadInput(f"line {line_number(text, begin[i])}: {need} numbers are needed, there are {count[i]}")

    def where(i):
        return f"line {line_number(text, begin[i // want])}"

    return parse_floats(found.tobytes(), len(begin) * want, where).reshape(-1, want), place


def _faces(text, begin, end, kind, vertices, uvs):
    """Polygons: start (p + 1,) and corners (c, 3), the rows of v, vt and vn; only the vn need not exist."""
    start, corners, bad, fault = _corners(np.frombuffer(text, dtype=np.uint8), begin, end, kind)
    if bad >= 0:
        at = begin[bad]
        if fault == 0:
            raise BadInput(f"line {line_number(text, at)}: a face needs at least 3 corners")
        raise BadInput(f"line {line_number(text, at)}: not a face: {shown(text[at : end[bad]].strip())}")
    for column, many, what in ((0, vertices, "vertex"), (1, uvs, "texture coordinate")):
        row = corners[:, column]
        outside = (row == _OUTSIDE) | (row >= many)
        if outside.any():
            polygon = np.searchsorted(start, np.argmax(outside), side="right") - 1
            line = line_number(text, begin[kind == _F][polygon])
            raise BadInput(f"line {line}: the face names a {what} that does not exist (there are {many})")
    return start, corners


def _groups(text, begin, end, kind, polygon):
    """name -> faces. polygon : (m,) ascending, the f line of each triangle."""
    at = np.flatnonzero((kind == _G) | (kind == _O))
    faces_before = np.searchsorted(polygon, np.cumsum(kind == _F)[at])
    ranges: dict[str, list[tuple[int, int]]] = {}
    since: dict[int, tuple[int, list[str]]] = {_G: (0, []), _O: (0, [])}  # what is open, from which face on

    def close(which, now):
        first, names = since[which]
        if first < now:
            for name in names:
                ranges.setdefault(name, []).append((first, now))

    for line, now in zip(at.tolist(), faces_before.tolist()):
        close(kind[line], now)
        said = re.sub(rb"\\\r?\n|\\\r|\s#.*", b" ", text[begin[line] : end[line]])
        names = said.decode("utf-8", "replace").split(None, 1)[1:]
        since[kind[line]] = (now, " ".join(names).split() if kind[line] == _G else [n.strip() for n in names])
    for which in (_O, _G):
        close(which, len(polygon))
    return {
        name: np.unique(np.concatenate([np.arange(a, b, dtype=np.int32) for a, b in parts]))
        for name, parts in ranges.items()
    }


@kernel
def _is_blank(letters, i):
    """Blanks, and the backslash that continues a line."""
    c = letters[i]
    if c == 92:
        return i + 1 < len(letters) and (letters[i + 1] == 10 or letters[i + 1] == 13)
    return c == 32 or (c >= 9 and c <= 13)


@kernel
def _lines(letters, first, newline):
    """Begin, end and kind of each line, continuations included in the line that they continue."""
    n = len(letters)
    most = 1
    for c in letters:
        if c == newline:
            most += 1
    begin = np.empty(most, np.int64)
    end = np.empty(most, np.int64)
    kind = np.empty(most, np.uint8)
    k = 0
    i = first
    while i < n:
        begin[k] = i
        comment = False
        e = i
        while e < n:
            c = letters[e]
            if c == 35:
                comment = True
            if c == newline:
                last = e - 1
                if newline == 10 and last >= i and letters[last] == 13:
                    last -= 1
                if comment or last < i or letters[last] != 92:
                    break
            e += 1
        end[k] = e
        a = i
        while a < e and _is_blank(letters, a):
            a += 1
        b = a
        while b < e and not _is_blank(letters, b):
            b += 1
        kind[k] = _OTHER
        if b - a == 1:
            if letters[a] == 118:
                kind[k] = _V
            elif letters[a] == 102:
                kind[k] = _F
            elif letters[a] == 103:
                kind[k] = _G
            elif letters[a] == 111:
                kind[k] = _O
        elif b - a == 2 and letters[a] == 118:
            if letters[a + 1] == 116:
                kind[k] = _VT
            elif letters[a + 1] == 110:
                kind[k] = _VN
        k += 1
        i = e + 1
    return begin[:k].copy(), end[:k].copy(), kind[:k].copy()


@kernel
def _next_word(letters, i, end):
    """Begin and end of the first word in i : end; both are `end` where there is none before a comment."""
    while i < end and _is_blank(letters, i):
        i += 1
    if i == end or letters[i] == 35:
        return end, end
    j = i
    while j < end and not _is_blank(letters, j) and letters[j] != 35:
        j += 1
    return i, j


@kernel
def _first_words(letters, begin, end, want):
    """The first `want` words after the keyword of each line, in one text between blanks, 0 for missing ones.

    Returns that text, how many words each line had, and from where to where they stand.
    """
    size = 0
    for k in range(len(begin)):
        size += end[k] - begin[k] + 2 * want
    found = np.empty(size, np.uint8)
    count = np.zeros(len(begin), np.int64)
    place = np.empty((len(begin), 2), np.int64)
    at = 0
    for k in range(len(begin)):
        b = _next_word(letters, begin[k], end[k])[1]
        place[k, 0] = b
        place[k, 1] = b
        for w in range(want):
            a, b = _next_word(letters, b, end[k])
            if a == b:
                found[at] = 48
                at += 1
            else:
                if w == 0:
                    place[k, 0] = a
                place[k, 1] = b
                count[k] += 1
                for i in range(a, b):
                    found[at] = letters[i]
                    at += 1
            found[at] = 32
            at += 1
    return found[:at].copy(), count, place


@kernel
def _corner(letters, a, b, lines, row):
    """Read v, v/vt, v//vn or v/vt/vn in a : b into row (3,); False if it is none of these.

    lines : (3,), how many v, vt and vn lines there were before: negative numbers count back from there.
    """
    i = a
    for part in range(3):
        row[part] = _NONE
        sign = 1
        if i < b and (letters[i] == 45 or letters[i] == 43):
            sign = -1 if letters[i] == 45 else 1
            i += 1
        digits = i
        value = 0
        while i < b and letters[i] >= 48 and letters[i] <= 57:
            value = min(10 * value + np.int64(letters[i]) - 48, 1 << 31)
            i += 1
        if i > digits:
            if value == 0:
                return False
            row[part] = value - 1 if sign > 0 else lines[part] - value
            if row[part] < 0:
                row[part] = _OUTSIDE
        elif part == 0 or (i > a and letters[i - 1] != 47):
            return False
        if i == b:
            for rest in range(part + 1, 3):
                row[rest] = _NONE
            return True
        if letters[i] != 47:
            return False
        i += 1
    return False


@kernel
def _corners(letters, begin, end, kind):
    """The polygons of all f lines: start (p + 1,), corners (c, 3), the first bad line or -1, and its fault.

    Faults are 0: fewer than three corners, 1: a corner that cannot be read.
    """
    polygons = 0
    most = 0
    for k in range(len(begin)):
        if kind[k] == _F:
            polygons += 1
            most += (end[k] - begin[k]) // 2
    start = np.zeros(polygons + 1, np.int64)
    corners = np.empty((most, 3), np.int64)
    lines = np.zeros(3, np.int64)  # v, vt, vn so far
    p = 0
    c = 0
    for k in range(len(begin)):
        if kind[k] == _V or kind[k] == _VT or kind[k] == _VN:
            lines[kind[k] - _V] += 1
        elif kind[k] == _F:
            b = _next_word(letters, begin[k], end[k])[1]
            a, b = _next_word(letters, b, end[k])
            while a < b:
                if not _corner(letters, a, b, lines, corners[c]):
                    return start, corners[:0].copy(), k, 1
                c += 1
                a, b = _next_word(letters, b, end[k])
            if c - start[p] < 3:
                return start, corners[:0].copy(), k, 0
            p += 1
            start[p] = c
    return start, corners[:c].copy(), -1, 0


# --- writing ---


def _as_it_came(kept: ObjText, mesh: TriMesh) -> bytes:
    moved = kept.moved(mesh)
    if not moved.any():
        return kept.text
    place = [kept.at_v[moved]]
    new = exact(mesh.x[moved])
    if (kept.normal >= 0).any():
        normals = new_normals(mesh, moved, kept.normal, len(kept.at_vn))
        fresh = np.isfinite(normals).all(axis=1)
        place.append(kept.at_vn[fresh])
        new += rounded(normals[fresh])
    return replaced(kept.text, np.concatenate(place), new)


def _plain(mesh: TriMesh) -> str:
    pieces = ["v %r %r %r\n" * len(mesh.x) % tuple(mesh.x.ravel().tolist())]
    start, vertices, uv_row = polygon_corners(mesh)
    size = np.diff(start)
    if uv_row is None:
        template = {k: "f" + " %d" * k + "\n" for k in set(size.tolist())}
        lines = [template[k] for k in size.tolist()]
        numbers = vertices + 1
        first = start
    else:
        pieces.append("vt %r %r\n" * len(mesh.uv) % tuple(mesh.uv.ravel().tolist()))
        corner = np.array([" %d", " %d/%d"], dtype=object)[(uv_row >= 0).astype(int)].tolist()
        ends = start.tolist()
        lines = ["f" + "".join(corner[a:b]) + "\n" for a, b in pairwise(ends)]
        numbers = np.stack([vertices + 1, uv_row + 1], axis=1).ravel()
        keep = np.stack([np.ones(len(uv_row), dtype=bool), uv_row >= 0], axis=1).ravel()
        first = np.concatenate([[0], np.cumsum(keep)])[2 * start]
        numbers = numbers[keep]
    for polygon, line in _group_lines(mesh):
        lines[polygon] = line.replace("%", "%%") + lines[polygon]
    for a in range(0, len(lines), _CHUNK):
        b = min(a + _CHUNK, len(lines))
        pieces.append("".join(lines[a:b]) % tuple(numbers[first[a] : first[b]].tolist()))
    return "".join(pieces)


def _group_lines(mesh: TriMesh):
    """Before which polygon which g line goes: wherever the groups differ from those of the polygon before."""
    if not mesh.groups:
        return
    names = ["_".join(re.sub(r"^#|\\", "_", name).split()) or "_" for name in mesh.groups]
    polygon_of = face_polygon(mesh)
    polygon = [np.unique(polygon_of[np.asarray(faces, dtype=np.int64)]) for faces in mesh.groups.values()]
    group = np.repeat(np.arange(len(names)), [len(p) for p in polygon])
    polygon = np.concatenate(polygon)
    order = np.lexsort((group, polygon))
    polygon, group = polygon[order], group[order]

    polygons = int(polygon_of[-1]) + 1
    count = np.bincount(polygon, minlength=polygons)
    start = np.concatenate([[0], np.cumsum(count)])
    before = np.concatenate([[0], count[:-1]])
    differs = count != before
    inside = ~differs[polygon]  # pairs whose polygon has as many groups as the one before: are they the same?
    back = np.flatnonzero(inside) - count[polygon[inside]]
    differs[polygon[inside][group[inside] != group[back]]] = True
    for p in np.flatnonzero(differs).tolist():
        yield p, " ".join(["g", *(names[g] for g in group[start[p] : start[p + 1]].tolist())]) + "\n"
