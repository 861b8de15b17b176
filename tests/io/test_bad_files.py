"""Damaged files of every format: each gives a mesh or one line that names the file; never a crash, a hang, or
an allocation out of proportion.

`SAMPLES` says how a good file is made; a new format needs one line there.
"""

import signal
import struct
import time
import tracemalloc
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

from tests.io.polygon_meshes import polygon_mesh
from unsnarl.errors import BadInput
from unsnarl.io import EXTENSIONS, Frames, read_mesh, write_frames, write_mesh
from unsnarl.mesh import TriMesh

SECONDS = 10  # for one file of some kilobytes
BYTES = 64 << 20  # the most memory that it may take


def grid(squares):
    """A sheet of quads with a seam, two groups and uv."""
    i, j = np.meshgrid(np.arange(squares + 1), np.arange(squares + 1), indexing="ij")
    x = np.stack([i / 3, j / 7, np.sin(i + 2 * j)], axis=-1).reshape(-1, 3)
    a = (i * (squares + 1) + j)[:-1, :-1].ravel()
    quads = np.stack([a, a + 1, a + squares + 2, a + squares + 1], axis=1).tolist()
    rows = [[v + (k % 2) * len(x) for v in q] for k, q in enumerate(quads)]
    uv = np.concatenate([x[:, :2], x[:, :2] + 10])
    return polygon_mesh(x, quads, uv, rows, {"left": [0, 1, 2], "right": list(range(3, len(quads)))})


MESH = grid(4)


def triangles():
    return TriMesh(MESH.x, MESH.faces)


def from_mesh(extension):
    def make(path):
        write_mesh(path.with_suffix(extension), MESH)
        return path.with_suffix(extension)

    return make


def in_motion(extension):
    def make(path):
        path = path.with_suffix(extension)
        write_frames(path, Frames(MESH, np.stack([MESH.x, MESH.x + 1, MESH.x * 2])))
        return path

    return make


def text_ply(path):
    path = path.with_suffix(".ply")
    write_mesh(path, triangles())
    mesh = read_mesh(path)
    rows = [" ".join(map(repr, p)) for p in mesh.x.tolist()]
    rows += [" ".join(map(str, [3, *f])) for f in mesh.faces.tolist()]
    head = path.read_bytes().partition(b"end_header\n")[0].replace(b"binary_little_endian", b"ascii")
    path.write_bytes(head + b"end_header\n" + "\n".join(rows).encode())
    return path


def text_stl(path):
    path = path.with_suffix(".stl")
    lines = ["solid sheet"]
    for corners in MESH.x[MESH.faces].tolist():
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += ["vertex {!r} {!r} {!r}".format(*p) for p in corners]
        lines += ["endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid sheet", ""]))
    return path


def obj_with_normals(path):
    path = path.with_suffix(".obj")
    write_mesh(path, MESH)
    lines = path.read_text().replace("f ", "mtllib a.mtl\ns 1\nf ", 1).splitlines()
    lines = ["vn 0 0 1", *lines, "f -1//-1 -2//1 -3", "l 1 2 3", "# end \\", "f 1 2 \\", " 3"]
    path.write_text("\n".join(lines))
    return path


# what it is: (how it is made, how many damaged copies)
SAMPLES = {
    "obj": (from_mesh(".obj"), 250),
    "obj with everything": (obj_with_normals, 250),
    "ply": (from_mesh(".ply"), 300),
    "ply text": (text_ply, 200),
    "off": (from_mesh(".off"), 250),
    "stl": (from_mesh(".stl"), 200),
    "stl text": (text_stl, 200),
    "npz": (from_mesh(".npz"), 200),
    "npz in motion": (in_motion(".npz"), 200),
    "pc2": (in_motion(".pc2"), 200),
    "glb": (from_mesh(".glb"), 150),
    "glb in motion": (in_motion(".glb"), 100),
    "gltf": (from_mesh(".gltf"), 150),
    "usda": (from_mesh(".usda"), 8),
    "usdc": (from_mesh(".usdc"), 8),
    "usdz": (from_mesh(".usdz"), 8),
    "usd in motion": (in_motion(".usd"), 8),
}
NEEDS = {"usd": "pxr.Usd"}


def make_sample(what, folder):
    """A good file, and its bytes; skips if the library that its format needs is not there."""
    for start, library in NEEDS.items():
        if what.startswith(start):
            pytest.importorskip(library)
    path = SAMPLES[what][0](folder / "sheet")
    assert len(read_mesh(path).faces) >= 32
    return path, path.read_bytes()


# --- kinds of damage: each takes the bytes and a random generator ---


def cut(data, rng):
    return data[: rng.integers(len(data))]


def headless(data, rng):
    return data[rng.integers(1, len(data)) :]


def flipped(data, rng):
    letters = np.frombuffer(data, dtype=np.uint8).copy()
    for at in rng.integers(len(letters), size=rng.integers(1, 9)):
        letters[at] ^= 1 << rng.integers(8)
    return letters.tobytes()


def flipped_head(data, rng):
    """Headers are small; most of what can go wrong is there."""
    return flipped(data[:120], rng) + data[120:]


def overwritten(data, rng):
    at, size = rng.integers(len(data)), rng.integers(1, 64)
    return data[:at] + rng.bytes(size) + data[at + size :]


def huge_count(data, rng):
    """Four or eight bytes that say: very many, or less than none."""
    word = struct.pack("<Iq"[:2] if rng.random() < 0.5 else "<q", int(rng.choice([2**31 - 1, 2**32 - 1, 2**30])))
    at = rng.integers(min(len(data), 600))
    return data[:at] + word + data[at + len(word) :]


def other_number(data, rng):
    """A number in a text becomes another one."""
    digits = [i for i, c in enumerate(data[:4000]) if 48 <= c <= 57]
    if not digits:
        return overwritten(data, rng)
    at = rng.choice(digits)
    numbers = [
        b"999999999999",
        b"-1",
        b"0",
        b"1e999",
        b"nan",
        b"4294967295",
        b"",
        b"2.5",
        b"1e-999",
        b"9" * 5000,
    ]
    return data[:at] + numbers[rng.integers(len(numbers))] + data[at + 1 :]


def spliced(data, rng):
    """A piece of the file once more, somewhere else."""
    a, b = sorted(rng.integers(len(data), size=2))
    at = rng.integers(len(data))
    return data[:at] + data[a:b] + data[at:]


def dropped(data, rng):
    a = rng.integers(len(data))
    return data[:a] + data[a + rng.integers(1, 200) :]


def noise(data, rng):
    return rng.bytes(rng.integers(1, 2000))


def noise_after_head(data, rng):
    return data[: rng.integers(4, 200)] + rng.bytes(rng.integers(1, 2000))


def empty(data, rng):
    return b""


DAMAGES = [cut, headless, flipped, flipped_head, overwritten, huge_count, other_number, spliced, dropped]
DAMAGES += [noise, noise_after_head]


# --- limits ---


class Hang(BaseException):
    """Not an Exception: nothing may catch it."""


@contextmanager
def limits():
    """Fail when what is inside takes too long or too much memory."""

    def stop(number, frame):
        raise Hang

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
    tracemalloc.start()
    begun = time.monotonic()
    try:
        yield
        assert time.monotonic() - begun < SECONDS
        assert tracemalloc.get_traced_memory()[1] < BYTES
    finally:
        tracemalloc.stop()
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


def check(path):
    """Read a file that may be damaged; True if it was refused."""
    with limits(), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            mesh = read_mesh(path)
        except BadInput as error:
            said = str(error)
            assert said.startswith(f"{path}: ") and said.count(str(path)) == 1
            assert "\n" not in said and len(said) < len(str(path)) + 300
            assert not said.endswith(": does not fit into memory")
            return True
        finally:
            assert not heard, heard[0]
    assert isinstance(mesh, TriMesh) and np.isfinite(mesh.x).all() and len(mesh.faces) > 0
    assert mesh.faces.min() >= 0 and mesh.faces.max() < len(mesh.x)
    return False


def test_enough_files_are_damaged():
    assert sum(many for _, many in SAMPLES.values()) >= 2000
    made = {what.split()[0] for what in SAMPLES}
    assert {e[1:] for e in EXTENSIONS} <= made


@pytest.mark.parametrize("what", SAMPLES)
def test_damaged_files(tmp_path, what):
    path, good = make_sample(what, tmp_path)
    refused = 0
    many = SAMPLES[what][1]
    for k in range(many):
        rng = np.random.default_rng([k, len(what)])
        damage = empty if k == 0 else DAMAGES[k % len(DAMAGES)]
        path.write_bytes(damage(good, rng))
        try:
            refused += check(path)
        except BaseException as error:
            error.add_note(f"damage {k} ({damage.__name__}) of {what}")
            raise
    assert refused > many // 4  # damage is seen where it can be


@pytest.mark.parametrize("what", SAMPLES)
def test_good_files_under_the_extension_of_another_format(tmp_path, what):
    path, good = make_sample(what, tmp_path)
    for extension in (".obj", ".ply", ".off", ".stl", ".npz", ".pc2", ".glb"):
        if extension[:3] != path.suffix[:3]:  # a .gltf may well be read as what it is
            other = tmp_path / f"other{extension}"
            other.write_bytes(good)
            assert check(other)
