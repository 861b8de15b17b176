"""Which module reads what, and how trouble with files is told."""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest

from unsnarl import io
from unsnarl.errors import BadInput
from unsnarl.io import EXTENSIONS, Frames, read_frames, read_mesh, write_frames, write_mesh
from unsnarl.mesh import TriMesh

TRIANGLE = TriMesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])


def message(call, *arguments):
    with pytest.raises(BadInput) as error:
        call(*arguments)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_every_extension_has_a_module_that_claims_it(extension):
    module = importlib.import_module(f"unsnarl.io.{io._MODULE[extension]}")
    assert extension in module.EXTENSIONS
    assert set(module.EXTENSIONS) == {e for e, name in io._MODULE.items() if name == io._MODULE[extension]}
    assert callable(module.read) and callable(module.write)


@pytest.mark.parametrize("extension", [".obj", ".ply", ".off", ".stl", ".npz", ".pc2"])
def test_extensions_in_capitals_and_names_of_files(tmp_path, extension):
    path = tmp_path / f"My.Shirt{extension.upper()}"
    write_mesh(path, TRIANGLE)
    mesh = read_mesh(str(path))
    assert mesh.name == "My.Shirt" and np.array_equal(mesh.x, TRIANGLE.x)
    assert path.name in os.listdir(tmp_path)


def test_plain_arrays_can_be_written(tmp_path):
    write_mesh(tmp_path / "a.obj", (TRIANGLE.x, TRIANGLE.faces))
    assert read_mesh(tmp_path / "a.obj").faces.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("name", ["a.xyz", "a", "a.obj.gz"])
def test_unknown_formats(tmp_path, name):
    (tmp_path / name).write_text("")
    for call in (read_mesh, read_frames, lambda path: write_mesh(path, TRIANGLE)):
        said = message(call, tmp_path / name)
        assert said.startswith(f"{tmp_path / name}: a file ") and all(e in said for e in EXTENSIONS)
    assert (tmp_path / name).read_text() == ""


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_missing_files(tmp_path, extension):
    path = tmp_path / f"a{extension}"
    for reader in (read_mesh, read_frames):
        assert message(reader, path) == f"{path}: cannot be read: No such file or directory"


def test_folders(tmp_path):
    (tmp_path / "a.obj").mkdir()
    assert message(read_mesh, tmp_path / "a.obj") == f"{tmp_path / 'a.obj'}: is a folder, not a mesh file"
    assert "cannot be written: it is a folder" in message(write_mesh, tmp_path / "a.obj", TRIANGLE)
    path = tmp_path / "none" / "b.obj"
    assert message(write_mesh, path, TRIANGLE) == f"{path}: cannot be written: No such file or directory"
    frames = Frames(TRIANGLE, TRIANGLE.x[None].repeat(2, axis=0))
    assert message(write_frames, path, frames).endswith("cannot be written: No such file or directory")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_files_that_may_not_be_read(tmp_path):
    write_mesh(tmp_path / "a.obj", TRIANGLE)
    (tmp_path / "a.obj").chmod(0)
    assert message(read_mesh, tmp_path / "a.obj") == f"{tmp_path / 'a.obj'}: cannot be read: Permission denied"


@pytest.mark.parametrize("name", ["x" * 300 + ".obj", "x" * 300 + "##.obj", "a\0b.obj"])
def test_names_that_no_file_can_have(tmp_path, name):
    for reader in (read_mesh, read_frames):
        assert message(reader, tmp_path / name).startswith(str(tmp_path / name))


def test_a_decoder_that_stumbles(tmp_path, monkeypatch):
    from unsnarl.io import obj

    (tmp_path / "a.obj").write_text("")
    for trouble, said in (
        (KeyError("key\nof two lines"), "damaged, or no .obj file (KeyError: 'key\\nof two lines')"),
        (MemoryError(), "does not fit into memory"),
        (OSError(5, "Input/output error"), "cannot be read: Input/output error"),
        (BadInput("a: first\nsecond"), "first second"),
    ):

        def read(path, trouble=trouble):
            raise trouble

        monkeypatch.setattr(obj, "read", read)
        assert message(read_mesh, tmp_path / "a.obj") == f"{tmp_path / 'a.obj'}: {said}"


def test_the_file_is_named_once_and_as_it_is(tmp_path):
    path = tmp_path / "my  shirt: new.obj"
    path.write_text("v 0 0 0\n")
    assert message(read_mesh, path) == f"{path}: there are no faces"
    path = tmp_path / "no  folder" / "a.obj"
    assert message(write_mesh, path, TRIANGLE) == f"{path}: cannot be written: No such file or directory"


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.stl"
    write_mesh(path, TRIANGLE)
    before = path.read_bytes()
    with pytest.raises(BadInput):
        write_mesh(path, TRIANGLE.moved(TRIANGLE.x * 1e50))
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.stl"]


def test_formats_are_loaded_when_they_are_needed():
    code = "import sys, unsnarl.io; print([m for m in sys.modules if m.startswith(('pxr', 'trimesh'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
