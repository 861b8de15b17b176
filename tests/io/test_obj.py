"""OBJ: nothing is lost on the way in and out, whatever way the file was written in."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.io.polygon_meshes import (
    assert_same,
    assert_same_but_positions,
    bits,
    polygon_mesh,
    polygon_meshes,
)
from unsnarl.errors import BadInput
from unsnarl.io import read_mesh, write_mesh
from unsnarl.mesh import TriMesh

TRICKY = b"""\xef\xbb\xbf# made by hand \xe9
 mtllib some materials.mtl
o first object  # named
v 0 0 0 0.5 0.25 1\r
\tv  1.0 0 0.\t
v 1 1 0 1.0 # with a weight

junk from: somewhere
v 0 \\
  1 .0
v .5e0 2 +0
vt 0 0 0
vt 1 0
vt 1
vn 0 0 1
g quad, two words
usemtl red
s 1
f 1/1/1 2/2/1 3/3/1 4//1 # a quad
l 1 2
g
f -2/-1 \\
-3 -1
vn 0 0 -1
p 1
g two
s off
unknown \\
f 1 2 3
f 1//2 3//2 2//9
# f 1 2 3 \\
f 3 4 5
"""


def read(tmp_path, text, name="a.obj"):
    path = tmp_path / name
    path.write_bytes(text)
    return read_mesh(path)


def rewritten(tmp_path, mesh, name="b.obj"):
    write_mesh(tmp_path / name, mesh)
    return (tmp_path / name).read_bytes()


def other_lines(text):
    """All lines that say neither where a vertex nor what a normal is."""
    return [line for line in text.splitlines() if not re.match(rb"\s*(v|vn)\s", line)]


def test_tricky_file(tmp_path):
    mesh = read(tmp_path, TRICKY)
    assert mesh.name == "a"
    assert mesh.x.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 2, 0]]
    assert mesh.polygons.start.tolist() == [0, 4, 7, 10, 13]
    assert mesh.polygons.vertices.tolist() == [0, 1, 2, 3, 3, 2, 4, 0, 2, 1, 2, 3, 4]
    assert mesh.uv.tolist() == [[0, 0], [1, 0], [1, 0]]
    corner = dict(zip(mesh.polygons.face_corner.ravel().tolist(), mesh.face_uv.ravel().tolist()))
    assert [corner[c] for c in range(13)] == [0, 1, 2, -1, 2, -1, -1, -1, -1, -1, -1, -1, -1]
    groups = {name: np.unique(mesh.polygons.face_polygon[faces]).tolist() for name, faces in mesh.groups.items()}
    assert groups == {"first object": [0, 1, 2, 3], "quad,": [0], "two": [0, 2, 3], "words": [0]}


def test_unmoved_file_is_written_byte_for_byte(tmp_path):
    assert rewritten(tmp_path, read(tmp_path, TRICKY)) == TRICKY


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_line_ends(tmp_path, newline):
    text = TRICKY.replace(b"\r", b"").replace(b"\n", newline)
    mesh = read(tmp_path, text)
    assert_same(mesh, read(tmp_path, TRICKY, "b.obj"))
    assert rewritten(tmp_path, mesh) == text


def test_moved_vertices_are_all_that_changes(tmp_path):
    mesh = read(tmp_path, TRICKY)
    x = mesh.x.copy()
    x[0], x[3] = [1 / 3, -0.0, 1e-308], [0.1, 1.5, 0.25]
    text = rewritten(tmp_path, mesh.moved(x))
    again = read_mesh(tmp_path / "b.obj")
    assert bits(again.x) == bits(x)
    assert_same_but_positions(again, mesh)
    assert b"v 0.3333333333333333 -0.0 1e-308 0.5 0.25 1\r\n" in text  # the colour stays
    assert b"v 0.1 1.5 0.25\n" in text  # a continued line becomes one
    assert b"\tv  1.0 0 0.\t\n" in text  # not moved
    kept = TRICKY.replace(b"v 0 \\\n  1 .0", b"v 0 1 0")
    assert other_lines(text) == other_lines(kept)


def test_faces_may_come_before_their_vertices(tmp_path):
    mesh = read(tmp_path, b"f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0")
    assert mesh.faces.tolist() == [[0, 1, 2]]


CUBE = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
CUBE_X = np.array([[i >> 0 & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)], dtype=float)


def normals_of(text):
    return np.array([line.split()[1:4] for line in text.splitlines() if line.startswith(b"vn")], dtype=float)


def test_hard_edges_stay_hard_when_the_mesh_moves(tmp_path):
    normals = [[0, 0, -1], [0, 0, 1], [0, -1, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 0], [0.6, 0.8, 0]]
    lines = ["v {} {} {}".format(*p) for p in CUBE_X] + ["vn {} {} {}".format(*n) for n in normals]
    lines += ["f " + " ".join(f"{v + 1}//{k + 1}" for v in p) for k, p in enumerate(CUBE)]
    mesh = read(tmp_path, "\n".join(lines).encode())
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    text = rewritten(tmp_path, mesh.moved(mesh.x @ turn.T))
    assert np.allclose(normals_of(text)[:6], np.array(normals[:6]) @ turn.T)
    assert normals_of(text)[6].tolist() == normals[6]  # used by no face: as it was


def test_soft_normals_are_area_weighted(tmp_path):
    roof = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 2 0\nvn 0 0 1\nvn 0 0 1\nf 1//1 2//1 3//2\nf 1//1 3//1 4//1\n"
    mesh = read(tmp_path, roof)
    x = mesh.x.copy()
    x[3, 2] = 1.0
    a, b = (np.cross(x[i] - x[0], x[j] - x[0]) for i, j in ((1, 2), (2, 3)))
    got = normals_of(rewritten(tmp_path, mesh.moved(x)))
    assert np.allclose(got[0], (a + b) / np.linalg.norm(a + b), atol=1e-6)
    assert got[1].tolist() == [0, 0, 1]  # its only face has not moved


def test_other_faces_are_written_plainly(tmp_path):
    mesh = read(tmp_path, TRICKY)
    other = TriMesh(mesh.x, mesh.faces[:1], source=mesh.source)
    assert rewritten(tmp_path, other).count(b"f ") == 1


@settings(max_examples=150, deadline=None)
@given(polygon_meshes())
def test_plain_round_trip(tmp_path_factory, mesh):
    folder = tmp_path_factory.mktemp("obj")
    write_mesh(folder / "a.obj", mesh)
    again = read_mesh(folder / "a.obj")
    assert_same(mesh, again)
    write_mesh(folder / "b.obj", again)
    assert (folder / "b.obj").read_bytes() == (folder / "a.obj").read_bytes()


@settings(max_examples=100, deadline=None)
@given(polygon_meshes(), st.integers(0, 1000))
def test_moved_round_trip(tmp_path_factory, mesh, seed):
    rng = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("obj")
    write_mesh(folder / "a.obj", mesh)
    read_back = read_mesh(folder / "a.obj")
    x = read_back.x.copy()
    some = rng.random(len(x)) < 0.5
    x[some] = rng.choice([-0.0, 5e-324, 1 / 3, *rng.standard_normal(3)], (some.sum(), 3))
    write_mesh(folder / "b.obj", read_back.moved(x))
    again = read_mesh(folder / "b.obj")
    assert bits(again.x) == bits(x)
    before, after = (other_lines((folder / f).read_bytes()) for f in ("a.obj", "b.obj"))
    assert before == after


def test_groups_that_overlap_or_have_odd_names(tmp_path):
    x = np.random.default_rng(0).standard_normal((6, 3))
    groups = {"a": [0, 1], "b": [1, 2], "two words": [3], "#c": [3]}
    mesh = polygon_mesh(x, [[0, 1, 2], [1, 2, 3], [2, 3, 4, 5], [0, 2, 5], [0, 4, 5]], groups=groups)
    write_mesh(tmp_path / "a.obj", mesh)
    assert [line for line in (tmp_path / "a.obj").read_text().splitlines() if line[0] == "g"] == [
        "g a",
        "g a b",
        "g b",
        "g two_words _c",
        "g",
    ]


# --- against a reader that is slow and obvious ---


def slow_read(text):
    """Positions, uv and polygons ((vertex, uv row) corners) of an OBJ without odd numbers."""
    lines = re.sub(r"#.*", "", text).replace("\\\n", " ").splitlines()
    x, uv, polygons = [], [], []
    for line in lines:
        word, *rest = line.split() or [""]
        if word == "v":
            x.append([float(w) for w in rest[:3]])
        elif word == "vt":
            uv.append([float(w) for w in rest[:2]])
        elif word == "f":
            polygons.append([])
            for corner in rest:
                v, vt, *_ = *corner.split("/"), ""
                polygons[-1].append((_row(v, len(x)), _row(vt, len(uv))))
    return x, uv, polygons


def _row(word, count):
    number = int(word or 0)
    return number - 1 if number >= 0 else count + number


@st.composite
def obj_texts(draw):
    """A text with n vertices and k uv, faces in all notations between them, blanks and comments anywhere."""
    blank = st.sampled_from([" ", "  ", "\t", " \\\n", " \\\n\t"])
    n, k = draw(st.integers(4, 7)), draw(st.integers(1, 4))
    number = st.one_of(
        st.floats(-10, 10).map(repr), st.integers(-5, 5).map(str), st.sampled_from(["1.", ".5", "+2e-3"])
    )
    rows = [["v", *(draw(number) for _ in range(draw(st.sampled_from([3, 3, 4, 6]))))] for _ in range(n)]
    rows += [["vt", *(draw(number) for _ in range(draw(st.sampled_from([2, 3]))))] for _ in range(k)]
    for _ in range(draw(st.integers(1, 5))):
        corners = draw(st.permutations(range(n)))[: draw(st.integers(3, 4))]
        notation = draw(st.sampled_from(["{v}", "{v}/{t}", "{v}//1", "{v}/{t}/2", "{v}/", "{v}//", "-{b}", "-{b}/-1"]))
        rows.append(["f", *(notation.format(v=v + 1, t=v % k + 1, b=n - v) for v in corners)])
    text = ""
    for row in rows:
        text += draw(st.sampled_from(["", " ", "\t", "# f 1 2 \\\n", "\n", "vp 1 2\n", "g x\n", "of f 1\n"]))
        text += draw(blank).join(row) + draw(st.sampled_from(["\n", " \n", " # 3 4\n", "# \\\n"]))
    return text


@settings(max_examples=200, deadline=None)
@given(obj_texts())
def test_reader_against_the_slow_one(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("obj") / "a.obj"
    path.write_text(text, newline="")
    mesh = read_mesh(path)
    x, uv, polygons = slow_read(text)
    assert mesh.x.tolist() == x
    if mesh.polygons is None:
        vertices, start = mesh.faces.ravel(), np.arange(0, 3 * len(mesh.faces) + 1, 3)
        corner = np.arange(3 * len(mesh.faces)).reshape(-1, 3)
    else:
        vertices, start, corner = mesh.polygons.vertices, mesh.polygons.start, mesh.polygons.face_corner
    assert np.diff(start).tolist() == [len(p) for p in polygons]
    assert vertices.tolist() == [v for p in polygons for v, _ in p]
    rows = np.array([t for p in polygons for _, t in p])
    if (rows >= 0).any():
        assert mesh.uv.tolist() == uv
        assert mesh.face_uv.tolist() == rows[corner].tolist()
    else:
        assert mesh.uv is None


# --- bad files ---

BASE = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\n"


@pytest.mark.parametrize(
    "text, message",
    [
        (BASE + b"f 1 2\n", "line 5: a face needs at least 3 corners"),
        (BASE + b"\nf # 1 2 3\n", "line 6: a face needs at least 3 corners"),
        (BASE + b"f 1 2 x\n", "line 5: not a face: 'f 1 2 x'"),
        (BASE + b"f 0 1 2\n", "line 5: not a face"),
        (BASE + b"f 1 2 3/1/1/1\n", "line 5: not a face"),
        (BASE + b"f 1 2 -\n", "line 5: not a face"),
        (BASE + b"f 1 2 /1\n", "line 5: not a face"),
        (BASE + b"f 1 2 3\nf 1 2 4\n", "line 6: the face names a vertex that does not exist (there are 3)"),
        (BASE + b"f 1 2 99999999999999999999999\n", "line 5: the face names a vertex that does not exist"),
        (BASE + b"f -4 2 3\n", "line 5: the face names a vertex that does not exist"),
        (BASE + b"f 1/1 2/2 3/1\n", "line 5: the face names a texture coordinate that does not exist"),
        (BASE + b"f 1/-2 2 3\n", "line 5: the face names a texture coordinate that does not exist"),
        (BASE + b"f 1 1 2\n", "face 0 names a vertex twice"),
        (b"v 0 0\nv 1 0 0\n", "line 1: 3 numbers are needed, there are 2"),
        (b"v 0 0 0\nv 1 zero 0\n", "line 2: 'zero' is not a number"),
        (b"v 0 0 0\nv 1 0-1 0\n", "line 2: '0-1' is not a number"),
        (b"v 0 0 1e999\nv 1 0 0\nv 0 1 0\nf 1 2 3", "vertex 0 has a NaN or infinite coordinate"),
        (BASE, "there are no faces"),
        (b"", "there are no faces"),
    ],
)
def test_bad_files_are_named_with_the_line(tmp_path, text, message):
    with pytest.raises(BadInput) as error:
        read(tmp_path, text)
    said = str(error.value)
    assert said.startswith(f"{tmp_path / 'a.obj'}: {message}")
    assert said.count("a.obj") == 1 and "\n" not in said


# --- real files ---

FILES = {
    "garments/dress-v5k-f10k.obj": (5563, 10180),
    "garments/tshirt1900.obj": (1921, 3726),
    "garments/tshirt1900-folding-biFolded.obj": (1921, 3726),
    "broken/quadknot.obj": (1440, 2880),
    "broken/rabbit.obj": (644, 1252),
}


@pytest.mark.parametrize("name", FILES)
def test_real_files(data, tmp_path, name):
    mesh = read_mesh(data / name)
    assert (len(mesh.x), len(mesh.faces)) == FILES[name]
    text = (data / name).read_bytes()
    assert rewritten(tmp_path, mesh) == text
    moved = mesh.moved(mesh.x * 1.5 + 1 / 3)
    assert other_lines(rewritten(tmp_path, moved)) == other_lines(text)
    again = read_mesh(tmp_path / "b.obj")
    assert bits(again.x) == bits(moved.x)
    assert_same_but_positions(again, mesh)


def test_the_two_shirts_have_the_same_faces(data):
    flat, folded = (read_mesh(data / "garments" / f"tshirt1900{s}.obj") for s in ("", "-folding-biFolded"))
    assert np.array_equal(flat.faces, folded.faces)
