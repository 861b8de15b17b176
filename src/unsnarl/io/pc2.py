"""PC2 point caches: where each vertex of a mesh is at each frame, in single precision, and nothing else.

The mesh itself is a file beside the cache, of the same name: looked for when reading, made (as .obj, in its
rest pose) when writing if there is none. A cache has no frame rate either; 24 per second are assumed.

Layout, little endian: "POINTCACHE2\\0", int32 version (1), int32 points, float32 start frame, float32 sample
rate, int32 samples, then float32 (samples, points, 3).
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.corners import same_polygons
from unsnarl.io.frames import Frames
from unsnarl.mesh import TriMesh

EXTENSIONS = (".pc2",)

_HEADER = struct.Struct("<12siiffi")
_MAGIC = b"POINTCACHE2\0"
_BESIDE = (".obj", ".ply", ".usd", ".usda", ".usdc", ".usdz", ".npz", ".glb", ".gltf", ".off")


def read(path: Path) -> TriMesh:
    """The mesh beside the cache, in its rest pose."""
    return read_frames(path).mesh


def read_frames(path: Path, mesh: TriMesh | None = None) -> Frames:
    """mesh : the mesh that the cache moves; by default the one beside it."""
    x = _points(path.read_bytes())
    if mesh is None:
        from unsnarl.io import read_mesh

        beside = _mesh_beside(path)
        if beside is None:
            names = f"{path.stem}{_BESIDE[0]} ({' '.join(_BESIDE[1:])})"
            raise BadInput(f"a point cache has no faces, and there is no mesh beside it: {names} is missing")
        mesh = read_mesh(beside).named(path.stem)
    if x.shape[1] != len(mesh.x):
        raise BadInput(f"the cache has {x.shape[1]} points, the mesh {len(mesh.x)} vertices")
    return Frames(mesh, x)


def write(path: Path, mesh: TriMesh) -> None:
    """A cache of one frame."""
    write_frames(path, Frames(mesh, mesh.x[None]))


def write_frames(path: Path, frames: Frames) -> None:
    with np.errstate(over="ignore"):
        x = frames.x.astype("<f4")
    if not np.isfinite(x).all():
        raise BadInput("a coordinate is too large for a point cache, which has single precision")
    with path.open("wb") as file:
        file.write(_HEADER.pack(_MAGIC, 1, x.shape[1], 0.0, 1.0, len(x)))
        file.write(x.tobytes())


def mesh_to_write_beside(path: Path, mesh: TriMesh) -> Path | None:
    """The mesh file that the cache at `path` still needs; None if a fitting one is there."""
    from unsnarl.io import read_mesh

    beside = _mesh_beside(path)
    if beside is None:
        return path.with_suffix(".obj")
    if not same_polygons(read_mesh(beside), mesh):
        raise BadInput(f"cannot be written: {beside.name} beside it is another mesh and would be taken for this one")
    return None


def _mesh_beside(path: Path) -> Path | None:
    return next((p for p in map(path.with_suffix, _BESIDE) if p.is_file()), None)


def _points(data: bytes) -> np.ndarray:
    """(samples, points, 3) float64."""
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        raise BadInput("not a PC2 point cache")
    _, version, points, _, _, samples = _HEADER.unpack_from(data)
    if version != 1:
        raise BadInput(f"a point cache of the unknown version {version}")
    if points <= 0 or samples <= 0 or 12 * points * samples > len(data) - _HEADER.size:
        raise BadInput(f"the header says {samples} frames of {points} points, the file is too short for that")
    x = np.frombuffer(data, "<f4", 3 * points * samples, offset=_HEADER.size)
    return x.reshape(samples, points, 3).astype(np.float64)
