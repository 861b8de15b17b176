"""PLY, OFF and STL: round trips, what is kept beside the mesh, and files that are wrong."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings

from tests.io.polygon_meshes import (
    assert_same,
    assert_same_but_positions,
    assert_same_polygons,
    bits,
    corner_uv,
    polygon_mesh,
    polygon_meshes,
    single_numbers,
)
from unsnarl.errors import BadInput
from unsnarl.io import read_mesh, write_mesh
from unsnarl.io.ply import PlyElements
from unsnarl.mesh import TriMesh

SQUARE = [[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]


def read(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    return read_mesh(tmp_path / name)


def rewritten(tmp_path, name, mesh):
    write_mesh(tmp_path / name, mesh)
    return (tmp_path / name).read_bytes()


def fails(tmp_path, name, content):
    """The message, after the path, with which a file is refused."""
    with pytest.raises(BadInput) as error:
        read(tmp_path, name, content)
    said = str(error.value)
    assert said.startswith(f"{tmp_path / name}: ") and said.count(name) == 1 and "\n" not in said
    return said.removeprefix(f"{tmp_path / name}: ")


# --- PLY ---

HEADER = """ply
format {form} 1.0
comment made by hand
obj_info of four corners
element vertex 4
property float x
property double y
property float z
property float nx
property float ny
property float nz
property uchar red
property short s
property double t
element face 2
property list uchar uint vertex_indices
property char flag
property list ushort float weights
element camera 1
property double fov
property list int int8 tags
end_header
"""
FACES = [([0, 1, 2, 3], -1, []), ([0, 2, 1], 7, [0.5, 0.25])]
NUMBERS = [[0.1, 0.1, 2, 0, 0, 1, 255, 3, 1 / 3], [1, 0, 2, 0, 0, 1, 0, -3, 0.5]]
NUMBERS += [[1, 1, 2, 0, 0, 1, 7, 2, 0.25], [0, 1, 2, 0, 0, 1, 9, 1, 1e-308]]


def square(form):
    """A quad and a triangle with everything that PLY has, as text or packed."""
    head = HEADER.format(form=form).encode()
    if form == "ascii":
        rows = [" ".join(map(repr, row)) for row in NUMBERS]
        for corners, flag, weights in FACES:
            rows.append(" ".join(map(str, [len(corners), *corners, flag, len(weights), *weights])))
        return head + "\n".join([*rows, "50.5 3 -1 0 1"]).encode()
    order = "<" if "little" in form else ">"
    body = b"".join(struct.pack(order + "fdffffBhd", *row) for row in NUMBERS)
    for corners, flag, weights in FACES:
        body += struct.pack(f"{order}B{len(corners)}I", len(corners), *corners)
        body += struct.pack(f"{order}bH{len(weights)}f", flag, len(weights), *weights)
    return head + body + struct.pack(order + "di3b", 50.5, 3, -1, 0, 1)


FORMS = ["ascii", "binary_little_endian", "binary_big_endian"]


def columns_of(mesh):
    """Everything in the record of a PLY, by element and property."""
    return {
        (e.name, c.name): (c.type, c.count, c.values.tolist(), None if c.start is None else c.start.tolist())
        for e in mesh.source.elements
        for c in e.columns
    }


@pytest.mark.parametrize("form", FORMS)
def test_ply_keeps_everything(tmp_path, form):
    mesh = read(tmp_path, "a.ply", square(form))
    assert mesh.x[0].tolist() == [float(np.float32(0.1)), 0.1, 2.0]  # float and double
    assert mesh.polygons.vertices.tolist() == [0, 1, 2, 3, 0, 2, 1]
    assert mesh.uv.tolist() == [[3, 1 / 3], [-3, 0.5], [2, 0.25], [1, 1e-308]]
    assert np.array_equal(mesh.face_uv, mesh.faces)
    columns = columns_of(mesh)
    assert columns["face", "weights"] == ("f4", "u2", [0.5, 0.25], [0, 0, 2])
    assert columns["face", "flag"][2] == [-1, 7]
    assert columns["camera", "tags"] == ("i1", "i4", [-1, 0, 1], [0, 3])

    text = rewritten(tmp_path, "b.ply", mesh)
    again = read_mesh(tmp_path / "b.ply")
    assert_same(mesh, again)
    assert isinstance(again.source, PlyElements)
    assert again.source.form == form
    assert again.source.notes == ("comment made by hand", "obj_info of four corners")
    assert {k: v for k, v in columns_of(again).items() if k[1] not in "xz"} == {
        k: v for k, v in columns.items() if k[1] not in "xz"
    }
    assert rewritten(tmp_path, "c.ply", again) == text


@pytest.mark.parametrize("form", FORMS)
def test_moved_ply_has_new_positions_and_normals(tmp_path, form):
    mesh = read(tmp_path, "a.ply", square(form))
    turned = mesh.moved(mesh.x[:, [2, 0, 1]] / 3)
    write_mesh(tmp_path / "b.ply", turned)
    again = read_mesh(tmp_path / "b.ply")
    assert bits(again.x) == bits(turned.x)
    assert_same_but_positions(again, mesh)
    before, after = columns_of(mesh), columns_of(again)
    assert np.allclose([after["vertex", f"n{k}"][2] for k in "xyz"], [[1] * 4, [0] * 4, [0] * 4])
    for key in before:
        if key[1] not in ("x", "y", "z", "nx", "ny", "nz"):
            assert before[key] == after[key]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("form", FORMS)
def test_ply_header_line_ends(tmp_path, form, newline):
    head, end, body = square(form).partition(b"end_header\n")
    content = (head + end).replace(b"\n", newline) + body
    assert_same(read(tmp_path, "a.ply", content), read(tmp_path, "b.ply", square(form)))


@settings(max_examples=100, deadline=None)
@given(polygon_meshes(groups=False))
def test_plain_ply_round_trip(tmp_path_factory, mesh):
    folder = tmp_path_factory.mktemp("ply")
    write_mesh(folder / "a.ply", mesh)
    again = read_mesh(folder / "a.ply")
    assert bits(mesh.x) == bits(again.x)
    assert bits(mesh.faces) == bits(again.faces)
    assert_same_polygons(mesh, again)
    assert bits(corner_uv(mesh)) == bits(corner_uv(again))
    write_mesh(folder / "b.ply", again)
    assert (folder / "b.ply").read_bytes() == (folder / "a.ply").read_bytes()


def test_ply_seams_share_rows_of_uv(tmp_path):
    mesh = polygon_mesh(SQUARE, [[0, 1, 2], [0, 2, 3]], [[0, 0], [1, 0], [1, 1], [5, 5]], [[0, 1, 2], [0, 3, 1]])
    write_mesh(tmp_path / "a.ply", mesh)
    again = read_mesh(tmp_path / "a.ply")
    assert again.uv.tolist() == mesh.uv.tolist()
    assert again.face_uv.tolist() == mesh.face_uv.tolist()
    assert len(again.seams) == 1


def test_ply_polygon_of_many_corners(tmp_path):
    angle = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    mesh = polygon_mesh(np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1), [list(range(300))])
    write_mesh(tmp_path / "a.ply", mesh)
    assert_same(mesh, read_mesh(tmp_path / "a.ply"))


def edited(form, old, new):
    content = square(form)
    assert old in content
    return content.replace(old, new, 1)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "not a PLY file"),
        (b"ply\nformat ascii 1.0\nelement vertex 3\n", "the header has no end"),
        (b"ply\nelement vertex 0\nend_header\n", "the header names no format"),
        (edited("ascii", b"format ascii 1.0", b"format ascii 2.0"), "line 2: not a line of a PLY header"),
        (edited("ascii", b"element vertex 4", b"element vertex -4"), "line 5: not a line of a PLY header"),
        (edited("ascii", b"uchar uint", b"float uint"), "line 16: the length of a list cannot be a float"),
        (edited("ascii", b"element vertex 4", b"element vertex 5"), "the header says 2 rows of face"),
        (
            edited("binary_little_endian", b"vertex 4", b"vertex 999999999999999"),
            "the header says 999999999999999 rows of vertex",
        ),
        (
            edited("binary_little_endian", b"list uchar uint", b"list int uint"),
            "the header says 2 rows of face, which the file does not hold",
        ),
        (edited("ascii", b"property float z", b"property float w"), "there are no vertices with x, y and z"),
        (edited("ascii", b"vertex_indices", b"corners"), "there are no faces"),
        (edited("ascii", b"element face", b"element tristrips"), "its triangles are strips"),
        (edited("ascii", b"4 0 1 2 3 -1", b"4 0 1 2 4 -1"), "face 0 names the vertex 4 of 4"),
        (
            edited("ascii", b"4 0 1 2 3 -1 0\n3 0 2 1", b"4 0 1 2 3 -1 0\n2 0 2"),
            "face 1 has fewer than 3 corners",
        ),
        (
            edited("ascii", b"4 0 1 2 3 -1 0\n3 0", b"4 0 1 2 3 300 0\n3 0"),
            "a value of flag is none of its type",
        ),
        (edited("ascii", b"50.5", b"fifty"), "line 29: 'fifty' is not a number"),
        (edited("ascii", b"0.1 0.1", b"nan 0.1"), "vertex 0 has a NaN or infinite coordinate"),
    ],
)
def test_bad_ply(tmp_path, content, message):
    assert fails(tmp_path, "a.ply", content).startswith(message)


@pytest.mark.parametrize("form", FORMS)
def test_ply_cut_anywhere_is_refused(tmp_path, form):
    content = square(form)
    for size in range(len(content) - 2):
        (tmp_path / "a.ply").write_bytes(content[:size])
        with pytest.raises(BadInput):
            read_mesh(tmp_path / "a.ply")


# --- OFF ---

OFF = b"""# a comment
CNOFF 4 2 0 # as many

0 0 0  0 0 1  1 0 0 1
1 0 0  0 0 1  0 1 0 1 # green
1 1 0  0 0 1  0 0 1 1
  0 1 0  0 0 1  0 0 0 1
4 0 1 2 3  255 0 0
3\t0 2 1\r
# the end"""


def test_off_keeps_everything(tmp_path):
    mesh = read(tmp_path, "a.off", OFF)
    assert mesh.x.tolist() == SQUARE
    assert mesh.polygons.vertices.tolist() == [0, 1, 2, 3, 0, 2, 1]
    assert rewritten(tmp_path, "b.off", mesh) == OFF
    x = mesh.x[:, [2, 0, 1]].copy()
    x[:, 0] = 1 / 3
    text = rewritten(tmp_path, "b.off", mesh.moved(x))
    again = read_mesh(tmp_path / "b.off")
    assert bits(again.x) == bits(x)
    assert_same_but_positions(again, mesh)
    assert b"0.3333333333333333 1.0 0.0  1.000000 0.000000 0.000000  0 1 0 1 # green\n" in text
    assert text.partition(b"4 0 1")[1:] == OFF.partition(b"4 0 1")[1:]


@pytest.mark.parametrize("keyword", [b"OFF\n", b"OFF ", b"COFF\n", b"STCNOFF\r\n", b"\n OFF BIN\n"])
def test_off_keywords(tmp_path, keyword):
    body = OFF.partition(b"CNOFF")[2]
    if b"BIN" in keyword:
        assert "not a number" in fails(tmp_path, "a.off", keyword + body)
    else:
        assert read(tmp_path, "a.off", keyword + body).x.tolist() == SQUARE


@settings(max_examples=60, deadline=None)
@given(polygon_meshes(uv=False, groups=False))
def test_plain_off_round_trip(tmp_path_factory, mesh):
    folder = tmp_path_factory.mktemp("off")
    write_mesh(folder / "a.off", mesh)
    again = read_mesh(folder / "a.off")
    assert_same(mesh, again)
    write_mesh(folder / "b.off", again)
    assert (folder / "b.off").read_bytes() == (folder / "a.off").read_bytes()


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "not an OFF file"),
        (b"OFFICE 1 2 3", "not an OFF file"),
        (b"OFF BINARY\n\0\0\0", "binary OFF is not read"),
        (b"4OFF\n1 1 0\n", "4OFF OFF is not read"),
        (b"OFF\n", "the numbers of vertices and faces are missing"),
        (b"OFF\n3.5 1 0\n", "line 2: a whole number is needed"),
        (b"OFF\n99999999 1 0\n0 0 0\n", "99999999 vertices and 1 faces are announced"),
        (b"OFF\n3 0 0\n0 0 0\n1 0 0\n0 1 0\n", "there are no faces"),
        (OFF.replace(b"1 0 0  0 0 1  0 1 0 1", b"1 0"), "line 5: a vertex needs 3 coordinates"),
        (OFF.replace(b"3\t0 2 1", b"2 0 1"), "line 9: a face needs at least 3 corners"),
        (OFF.replace(b"3\t0 2 1", b"4 0 2 1"), "line 9: the face has fewer corners than it says"),
        (OFF.replace(b"3\t0 2 1", b"3 0 2 4"), "line 9: the face names a vertex that is none of the 4"),
        (OFF.replace(b"3\t0 2 1", b"3 0 2 0"), "polygon 1 names a vertex twice"),
        (OFF.replace(b"1 1 0  0", b"1 one 0  0"), "line 6: 'one' is not a number"),
    ],
)
def test_bad_off(tmp_path, content, message):
    assert fails(tmp_path, "a.off", content).startswith(message)


# --- STL ---


def binary_stl(corners, header=b"", attributes=None):
    """corners: (m, 3, 3)."""
    body = b""
    for k, triangle in enumerate(corners):
        body += struct.pack("<12fH", 0, 0, 0, *np.ravel(triangle), attributes[k] if attributes else 0)
    return header.ljust(80, b" ") + struct.pack("<I", len(corners)) + body


A, B, C, D = [0.0, 0, 0], [1.0, 0, 0], [1.0, 1, 0], [0.0, 1, 0]


def test_stl_corners_become_vertices_in_order(tmp_path):
    a = [-0.0, 0.0, -0.0]
    mesh = read(tmp_path, "a.stl", binary_stl([[B, C, A], [a, C, D], [A, a, D]]))
    assert mesh.x.tolist() == [B, C, A, D]
    assert mesh.faces.tolist() == [[0, 1, 2], [2, 1, 3]]  # the third triangle has lost a corner


def test_stl_binary_that_begins_with_solid(tmp_path):
    content = binary_stl([[A, B, C]], header=b"solid facet normal vertex")
    assert len(read(tmp_path, "a.stl", content).faces) == 1
    assert len(read(tmp_path, "a.stl", content + b"\0").faces) == 1


def test_stl_keeps_header_and_attributes(tmp_path):
    content = binary_stl([[A, B, C], [A, A, C], [A, C, D]], header=b"from a scanner", attributes=[1, 2, 3])
    mesh = read(tmp_path, "a.stl", content)
    text = rewritten(tmp_path, "b.stl", mesh.moved(mesh.x * 2))
    assert text[:80] == content[:80]
    assert [struct.unpack_from("<H", text, 84 + 50 * k + 48)[0] for k in range(2)] == [1, 3]
    assert struct.unpack_from("<3f", text, 84) == (0, 0, 1)  # the normal
    assert np.array_equal(read_mesh(tmp_path / "b.stl").x, mesh.x * 2)


STL = b"""  solid a vertex of 3
 facet normal 0 0 1
  outer loop
   vertex 0 0 0
   VERTEX 1.5e0 0 0
   vertex 0 .1 -0
  endloop
 endfacet
 facet normal 0 0 1\r
  outer loop
   vertex 1.5 0 0
   vertex 2 1 0
   vertex 0 0.1 0
  endloop
 endfacet
endsolid
"""


def test_stl_text(tmp_path):
    mesh = read(tmp_path, "a.stl", STL)
    assert mesh.x.tolist() == [[0, 0, 0], [1.5, 0, 0], [0, 0.1, 0], [2, 1, 0]]
    assert mesh.faces.tolist() == [[0, 1, 2], [1, 3, 2]]


@settings(max_examples=60, deadline=None)
@given(polygon_meshes(numbers=single_numbers, uv=False, groups=False))
def test_stl_round_trip(tmp_path_factory, mesh):
    """Single-precision triangles come back, but for those that have two corners at one place."""
    folder = tmp_path_factory.mktemp("stl")
    write_mesh(folder / "a.stl", mesh)
    corners = (mesh.x + 0.0)[mesh.faces]
    whole = [len({tuple(p) for p in t}) == 3 for t in corners.tolist()]
    if not any(whole):
        with pytest.raises(BadInput, match="there are no faces"):
            read_mesh(folder / "a.stl")
        return
    again = read_mesh(folder / "a.stl")
    assert np.array_equal(again.x[again.faces], corners[whole])
    assert len(np.unique(again.x, axis=0)) == len(again.x)
    write_mesh(folder / "b.stl", again)
    assert_same(again, read_mesh(folder / "b.stl"))


def test_stl_refuses_what_it_cannot_hold(tmp_path):
    mesh = TriMesh([[0, 0, 0], [1e50, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    with pytest.raises(BadInput, match=r"a\.stl: a coordinate is too large for STL"):
        write_mesh(tmp_path / "a.stl", mesh)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "neither an STL text nor a whole binary STL (0 bytes)"),
        (binary_stl([[A, B, C]])[:-1], "neither an STL text nor a whole binary STL (133 bytes)"),
        (b" " * 80 + b"\xff\xff\xff\xff", "neither an STL text"),
        (binary_stl([]), "there are no faces"),
        (binary_stl([[A, B, [np.nan, 0, 0]]]), "vertex 2 has a NaN or infinite coordinate"),
        (STL.replace(b"   vertex 2 1 0\n", b""), "line 13: a facet must have 3 vertices"),
        (STL[: STL.rindex(b"vertex")], "the text ends inside a facet"),
        (STL.replace(b"vertex 2 1 0", b"vertex 2 1"), "line 12: a vertex must have 3 coordinates"),
        (STL.replace(b"vertex 2 1 0", b"vertex 2 1 o"), "vertex 5: 'o' is not a number"),
    ],
)
def test_bad_stl(tmp_path, content, message):
    assert fails(tmp_path, "a.stl", content).startswith(message)


# --- real files ---

FILES = {
    "garments/cloth_ball92.ply": (46598, 92230),
    "broken/thick-cloth/t0.ply": (233, 404),
    "broken/thick-cloth/t1.ply": (233, 404),
    "broken/two-cubes-close.ply": (262, 480),
    "broken/two-cubes-far.ply": (262, 480),
    "broken/two-cubes-intersecting.ply": (262, 480),
    "broken/busted.STL": (1941, 3878),
    "broken/soup.stl": (300, 100),
}


@pytest.mark.parametrize("name", FILES)
def test_real_files(data, tmp_path, name):
    mesh = read_mesh(data / name)
    assert (len(mesh.x), len(mesh.faces)) == FILES[name]
    write_mesh(tmp_path / f"a{mesh.name[-4:]}{name[-4:].lower()}", mesh)
    again = read_mesh(next(tmp_path.iterdir()))
    assert_same(mesh, again)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".ply")])
def test_ply_against_trimesh(data, name):
    trimesh = pytest.importorskip("trimesh")
    other = trimesh.load(data / name, process=False)
    mesh = read_mesh(data / name)
    assert np.array_equal(mesh.x, other.vertices)
    assert np.array_equal(mesh.faces, other.faces)
