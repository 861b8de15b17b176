"""Meshes and frames in files: one module per format, chosen by the file's extension.

A format module has `EXTENSIONS`, `read(path) -> TriMesh`, `write(path, mesh)` and, where the format holds
motion, `read_frames(path) -> Frames` and `write_frames(path, frames)`. Whatever is wrong with a file comes
out as one `BadInput` that names it; what is written appears whole or not at all.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io import sequence
from unsnarl.io.frames import Frames
from unsnarl.io.whole import whole_file
from unsnarl.mesh import TriMesh, as_mesh

__all__ = ["EXTENSIONS", "Frames", "format_of", "frame_files", "read_frames", "read_mesh", "write_frames", "write_mesh"]

_MODULE = {
    ".obj": "obj",
    ".ply": "ply",
    ".off": "off",
    ".stl": "stl",
    ".npz": "npz",
    ".pc2": "pc2",
    ".usd": "usd",
    ".usda": "usd",
    ".usdc": "usd",
    ".usdz": "usd",
    ".gltf": "gltf",
    ".glb": "gltf",
}
EXTENSIONS = tuple(_MODULE)


def read_mesh(path: str | Path) -> TriMesh:
    """The mesh in a file; where a file or numbered files hold motion, its rest pose, or else frame 0."""
    path = _path(path)
    with _reading(path):
        if path.is_dir():
            raise BadInput("is a folder, not a mesh file")
        numbered = sequence.files(path) if sequence.is_numbered(path) else None
    if numbered:
        return read_mesh(numbered[0])
    module = format_of(path)
    with _reading(path):
        _only_files(path)
        return module.read(path)


def write_mesh(path: str | Path, mesh: TriMesh) -> None:
    """Write a mesh (or a pair of arrays, vertices (n, 3) and faces (m, 3)). An existing file is replaced."""
    path = _path(path)
    mesh = as_mesh(mesh, path.stem)
    module = format_of(path)
    with _writing(path), whole_file(path) as temporary:
        module.write(temporary, mesh)
        _write_beside(module, path, mesh)


def read_frames(path: str | Path, *, mesh: TriMesh | str | Path | None = None) -> Frames:
    """A mesh in motion.

    path : a file; or numbered files, as a pattern ("cloth_####.obj", "cloth_%04d.obj") or as the folder that
           holds them and no others of their kind. A file without motion gives one frame.
    mesh : the mesh that a point cache (.pc2, which has no faces) moves, or its file; by default the mesh file
           beside the cache, of the same name.
    """
    path = _path(path)
    with _reading(path):
        numbered = sequence.files(path) if path.is_dir() or sequence.is_numbered(path) else None
        if mesh is not None and (numbered or path.suffix.lower() != ".pc2"):
            raise BadInput("has faces of its own: another mesh is for point caches (.pc2) only")
    if numbered:
        return sequence.read_frames(numbered, read_mesh)
    if mesh is not None and not isinstance(mesh, TriMesh):
        mesh = read_mesh(mesh)
    module = format_of(path)
    with _reading(path):
        _only_files(path)
        if mesh is not None:
            return module.read_frames(path, mesh)
        if hasattr(module, "read_frames"):
            return module.read_frames(path)
        still = module.read(path)
        return Frames(still, still.x[None])


def write_frames(path: str | Path, frames: Frames, *, first: int = 0) -> None:
    """Write a mesh in motion.

    A format without motion gets numbered files: "cloth_####.obj" and "cloth_%04d.obj" say how, and "cloth.obj"
    stands for "cloth_####.obj" unless there is one frame. A point cache gets a mesh beside it.
    first : number of the first file
    """
    path = _path(path)
    if not isinstance(frames, Frames):
        raise BadInput(f"{path}: expected Frames to write, got {type(frames).__name__}")
    module = format_of(path)
    files = frame_files(path, len(frames), first)
    if files != [path]:
        for k, file in enumerate(files):
            write_mesh(file, frames[k])
    elif not hasattr(module, "write_frames"):
        write_mesh(path, frames[0])
    else:
        with _writing(path), whole_file(path) as temporary:
            module.write_frames(temporary, frames)
            _write_beside(module, path, frames.mesh)


def frame_files(path: str | Path, count: int, first: int = 0) -> list[Path]:
    """The files that `write_frames` writes for so many frames, but for the mesh beside a point cache."""
    path = _path(path)
    module = format_of(path)
    if sequence.is_pattern(path) or (not hasattr(module, "write_frames") and count > 1):
        with _writing(path):
            return sequence.files_to_write(path, count, first)
    return [path]


def _path(path) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise BadInput(f"expected the path of a file, got {type(path).__name__}") from None


def format_of(path: Path):
    """The module for the extension of `path`."""
    name = _MODULE.get(path.suffix.lower())
    if name is None:
        said = f"of the unknown format {path.suffix!r}" if path.suffix else "without an extension"
        raise BadInput(f"{path}: a file {said}; known are {' '.join(EXTENSIONS)}")
    return importlib.import_module(f"unsnarl.io.{name}")


def _only_files(path: Path) -> None:
    """A pipe would be waited for, a device might never end."""
    if path.exists() and not path.is_file():
        raise BadInput("is not a file that can be read from end to end")
    path.open("rb").close()


def _write_beside(module, path: Path, mesh: TriMesh) -> None:
    """A format without faces needs a second file that has them."""
    beside = module.mesh_to_write_beside(path, mesh) if hasattr(module, "mesh_to_write_beside") else None
    if beside is not None:
        write_mesh(beside, mesh)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever goes wrong inside is the fault of the file; numbers too large are told of at the end."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except BadInput as error:
        raise BadInput(_message(path, error)) from error
    except OSError as error:
        raise BadInput(_message(path, f"cannot be read: {error.strerror or error}")) from error
    except MemoryError as error:
        raise BadInput(f"{path}: does not fit into memory") from error
    except Exception as error:  # a decoder met what it did not expect
        what = shorten(f"{type(error).__name__}: {error}", 200)
        raise BadInput(_message(path, f"damaged, or no {path.suffix.lower()} file ({what})")) from error


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except BadInput as error:
        raise BadInput(_message(path, error)) from error
    except OSError as error:
        raise BadInput(_message(path, f"cannot be written: {error.strerror or error}")) from error


def _message(path: Path, what: BadInput | str) -> str:
    """One line that names the file once: a mesh under construction calls itself by the stem."""
    stem = " ".join(path.stem.split())
    said = str(what).removeprefix(f"{path}: ").removeprefix(f"{path.stem}: ").removeprefix(f"{stem}: ")
    return f"{path}: {' '.join(said.split())}"
