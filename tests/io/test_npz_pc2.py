"""Archives of arrays, and point caches with a mesh beside them."""

import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.io.polygon_meshes import assert_same, bits, polygon_mesh, polygon_meshes
from unsnarl.errors import BadInput
from unsnarl.io import Frames, read_frames, read_mesh, write_frames, write_mesh
from unsnarl.mesh import TriMesh, split_non_manifold

X = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
FACES = np.array([[0, 1, 2], [0, 2, 3]])
MOTION = np.stack([X, X + 0.25, X * 2])


def refused(path, reader=read_mesh):
    """The message, after the path, with which a file is refused."""
    with pytest.raises(BadInput) as error:
        reader(path)
    said = str(error.value)
    assert said.startswith(f"{path}: ") and said.count(path.name) == 1 and "\n" not in said
    return said.removeprefix(f"{path}: ")


# --- npz ---


@settings(max_examples=80, deadline=None)
@given(polygon_meshes(), st.integers(1, 4), st.floats(0.1, 1000))
def test_npz_round_trip(tmp_path_factory, mesh, k, fps):
    folder = tmp_path_factory.mktemp("npz")
    mesh = mesh.with_rest(mesh.rest / 3)
    write_mesh(folder / "a.npz", mesh)
    again = read_mesh(folder / "a.npz")
    assert_same(mesh, again)
    assert bits(mesh.rest) == bits(again.rest)

    motion = np.random.default_rng(k).standard_normal((k, *mesh.x.shape))
    write_frames(folder / "b.npz", Frames(mesh, motion, fps))
    frames = read_frames(folder / "b.npz")
    assert_same(mesh, frames.mesh)
    assert bits(mesh.rest) == bits(frames.mesh.rest)
    assert bits(frames.x) == bits(motion)
    assert frames.fps == fps
    assert_same(read_mesh(folder / "b.npz"), mesh)


def test_npz_keeps_copies_of_a_split_mesh(tmp_path):
    mesh = split_non_manifold(TriMesh(np.eye(5, 3), [[0, 1, 2], [1, 0, 3], [0, 1, 4]]))
    write_mesh(tmp_path / "a.npz", mesh)
    assert read_mesh(tmp_path / "a.npz").origin.tolist() == mesh.origin.tolist()


@pytest.mark.parametrize("key", ["x", "frames", "vertices"])
def test_npz_of_motion_under_any_key(tmp_path, key):
    np.savez_compressed(tmp_path / "a.npz", **{key: np.asfortranarray(MOTION)}, faces=FACES.astype(np.uint16), fps=30)
    frames = read_frames(tmp_path / "a.npz")
    assert np.array_equal(frames.x, MOTION) and frames.fps == 30
    assert np.array_equal(frames.mesh.x, X) and frames.mesh.name == "a"
    assert np.array_equal(read_mesh(tmp_path / "a.npz").x, X)


def test_npz_of_a_still_mesh_has_one_frame_and_may_have_a_name(tmp_path):
    np.savez(tmp_path / "a.npz", vertices=X.astype(np.float32), faces=FACES, name="shirt", other=[1])
    frames = read_frames(tmp_path / "a.npz")
    assert len(frames) == 1 and frames.mesh.name == "shirt" and frames.fps == 24


GROUPS = {"group_names": np.array(["a", "b"]), "group_start": [0, 1, 2], "group_faces": [0, 1]}


@pytest.mark.parametrize(
    "arrays, message",
    [
        ({"faces": FACES}, "there are no positions"),
        ({"x": X}, "there is no array called faces"),
        ({"x": X[:, :2], "faces": FACES}, "vertices must have shape (n, 3)"),
        ({"x": X, "faces": FACES + 2}, "face 0 names a vertex out of range"),
        ({"x": X, "faces": FACES + 0.5}, "faces must be whole numbers"),
        ({"x": X.astype(str), "faces": FACES}, "x: must not hold <U32"),
        ({"x": X.astype(complex), "faces": FACES}, "x: must not hold complex128"),
        ({"frames": MOTION[:0], "faces": FACES}, "frames must have shape (k, n, 3)"),
        ({"frames": MOTION[:, :3], "x": X, "faces": FACES}, "frames must have shape (k, 4, 3)"),
        ({"frames": MOTION * [[[1], [1], [np.nan], [1]]], "x": X, "faces": FACES}, "frame 0 has a NaN"),
        ({"x": X, "faces": FACES, "fps": [1, 2]}, "fps must be one number"),
        ({"x": X, "faces": FACES, "fps": -1}, "frames per second must be positive"),
        ({"x": X, "faces": FACES, "uv": X[:, :2]}, "uv and face_uv come together or not at all"),
        (
            {"x": X, "faces": FACES, "uv": X[:, :2], "face_uv": FACES * 1.0},
            "face_uv: must hold whole numbers",
        ),
        ({"x": X, "faces": FACES, "rest": X}, "rest shapes must be finite"),
        ({"x": X, "faces": FACES, "origin": [0, 1, 2, 9]}, "origin names a vertex that does not exist"),
        (
            {"x": X, "faces": FACES, **GROUPS, "group_start": [0, 2, 1]},
            "group_names, group_start and group_faces",
        ),
        (
            {"x": X, "faces": FACES, **GROUPS, "group_faces": [0, 2]},
            "a group names a face that does not exist",
        ),
    ],
)
def test_bad_npz(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    assert refused(tmp_path / "a.npz", read_frames).startswith(message)


def test_npz_polygons_must_fit_the_faces(tmp_path):
    write_mesh(tmp_path / "a.npz", polygon_mesh(X, [[0, 1, 2, 3]]))
    good = dict(np.load(tmp_path / "a.npz"))
    assert read_mesh(tmp_path / "a.npz").polygons is not None
    for key, wrong in (
        ("polygon_start", [0, 3]),
        ("polygon_vertices", [0, 1, 3, 2]),
        ("face_corner", [[0, 1, 2], [0, 2, 4]]),
        ("face_polygon", [0, 1]),
    ):
        np.savez(tmp_path / "b.npz", **{**good, key: wrong})
        assert refused(tmp_path / "b.npz") == "the polygons do not go together with the faces"


def test_npz_is_not_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([X], dtype=object), faces=FACES)
    assert refused(tmp_path / "a.npz") == "x: must not hold object"


def test_npz_header_that_promises_too_much(tmp_path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 3)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", head.getvalue() + bytes(24))
    assert refused(tmp_path / "a.npz") == "x: its header says (1000000000000, 3), the file is too short for that"


@pytest.mark.parametrize("name", ["makehuman_run_sit", "makehuman_fly", "mannequin_kick"])
def test_real_characters(data, name):
    frames = read_frames(data / "characters" / f"{name}.npz")
    arrays = np.load(data / "characters" / f"{name}.npz")
    assert np.array_equal(frames.x, arrays["frames"]) and np.array_equal(frames.mesh.faces, arrays["faces"])
    assert frames.fps == 24 or name == "mannequin_kick"


# --- PC2 ---


def cache(x, version=1, points=None, samples=None):
    k, n, _ = x.shape
    head = struct.pack("<12siiffi", b"POINTCACHE2\0", version, points or n, 0, 1, samples or k)
    return head + x.astype("<f4").tobytes()


def test_cache_layout(tmp_path):
    write_frames(tmp_path / "a.pc2", Frames(TriMesh(X, FACES), MOTION))
    assert (tmp_path / "a.pc2").read_bytes() == cache(MOTION)


@settings(max_examples=40, deadline=None)
@given(polygon_meshes(numbers=st.floats(-100, 100)), st.integers(1, 3))
def test_cache_round_trip(tmp_path_factory, mesh, k):
    """The motion in single precision; the mesh beside it, in its rest pose, with nothing lost."""
    folder = tmp_path_factory.mktemp("pc2")
    motion = np.random.default_rng(k).standard_normal((k, *mesh.x.shape))
    write_frames(folder / "a.pc2", Frames(mesh, motion))
    assert sorted(p.name for p in folder.iterdir()) == ["a.obj", "a.pc2"]
    frames = read_frames(folder / "a.pc2")
    assert np.array_equal(frames.x, motion.astype(np.float32))
    assert_same(frames.mesh, mesh)
    assert_same(read_mesh(folder / "a.pc2"), mesh)
    assert frames.fps == 24


def test_cache_uses_the_mesh_that_is_there(tmp_path):
    mesh = TriMesh(X, FACES, uv=X[:, :2], face_uv=FACES)
    write_mesh(tmp_path / "a.ply", mesh)
    write_frames(tmp_path / "a.pc2", Frames(mesh, MOTION))
    assert not (tmp_path / "a.obj").exists()
    assert read_frames(tmp_path / "a.pc2").mesh.uv is not None


def test_cache_beside_another_mesh(tmp_path):
    write_mesh(tmp_path / "a.obj", TriMesh(X, FACES[:1]))
    before = (tmp_path / "a.obj").read_bytes()
    with pytest.raises(BadInput, match=r"a\.pc2: cannot be written: a\.obj beside it is another mesh"):
        write_frames(tmp_path / "a.pc2", Frames(TriMesh(X, FACES), MOTION))
    assert (tmp_path / "a.obj").read_bytes() == before and not (tmp_path / "a.pc2").exists()


def test_cache_with_a_mesh_from_elsewhere(tmp_path):
    (tmp_path / "a.pc2").write_bytes(cache(MOTION))
    write_mesh(tmp_path / "b.off", TriMesh(X, FACES))
    for mesh in (TriMesh(X, FACES), tmp_path / "b.off", str(tmp_path / "b.off")):
        assert np.array_equal(read_frames(tmp_path / "a.pc2", mesh=mesh).x, MOTION)
    with pytest.raises(BadInput, match=r"b\.off: has faces of its own"):
        read_frames(tmp_path / "b.off", mesh=TriMesh(X, FACES))


def test_one_mesh_as_a_cache(tmp_path):
    write_mesh(tmp_path / "a.pc2", TriMesh(X, FACES))
    assert len(read_frames(tmp_path / "a.pc2")) == 1


def test_cache_refuses_what_it_cannot_hold(tmp_path):
    with pytest.raises(BadInput, match=r"a\.pc2: a coordinate is too large for a point cache"):
        write_frames(tmp_path / "a.pc2", Frames(TriMesh(X, FACES), MOTION * 1e50))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "not a PC2 point cache"),
        (b"POINTCACHE2", "not a PC2 point cache"),
        (cache(MOTION, version=2), "a point cache of the unknown version 2"),
        (cache(MOTION)[:-1], "the header says 3 frames of 4 points, the file is too short for that"),
        (cache(MOTION, points=-4), "the header says 3 frames of -4 points"),
        (
            cache(MOTION, points=2**31 - 1, samples=2**31 - 1),
            "the header says 2147483647 frames of 2147483647",
        ),
        (cache(MOTION[:, :3]), "the cache has 3 points, the mesh 4 vertices"),
        (cache(np.full_like(MOTION, np.inf)), "frame 0 has a NaN or infinite coordinate"),
    ],
)
def test_bad_cache(tmp_path, content, message):
    write_mesh(tmp_path / "a.obj", TriMesh(X, FACES))
    (tmp_path / "a.pc2").write_bytes(content)
    assert refused(tmp_path / "a.pc2").startswith(message)


def test_cache_without_a_mesh(tmp_path):
    (tmp_path / "a.pc2").write_bytes(cache(MOTION))
    assert refused(tmp_path / "a.pc2").startswith("a point cache has no faces, and there is no mesh beside it: a.obj")
