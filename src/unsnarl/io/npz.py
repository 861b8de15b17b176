"""NumPy archives (.npz): a mesh and its motion as plain arrays, without losing a bit.

Keys, with n vertices, m faces and k frames:
  faces (m, 3); x (n, 3) positions; frames (k, n, 3); fps ()
  uv (c, 2) and face_uv (m, 3); rest (m, 2, 2); origin (n,); name ()
  polygon_start, polygon_vertices, face_corner, face_polygon: see `mesh.Polygons`
  group_names (g,), group_start (g + 1,), group_faces: those of group i begin at group_start[i]
`vertices` may stand for x, and x or vertices of shape (k, n, 3) for frames. Only faces and positions must be
there; other keys are left alone. Nothing is unpickled.
"""

from __future__ import annotations

import math
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.frames import Frames
from unsnarl.mesh import Polygons, TriMesh

EXTENSIONS = (".npz",)

_MOST_DEFLATED = 1040  # zip cannot shrink by more


def read(path: Path) -> TriMesh:
    return read_frames(path).mesh


def read_frames(path: Path) -> Frames:
    arrays = _arrays(path)
    mesh, x = _mesh(arrays, path.stem)
    fps = arrays.get("fps", np.float64(24))
    if fps.size != 1:
        raise BadInput("fps must be one number")
    frames = Frames(mesh, x, float(fps.reshape(())))
    return replace(frames, mesh=mesh.named(str(arrays["name"]))) if "name" in arrays else frames


def write(path: Path, mesh: TriMesh) -> None:
    _save(path, {"x": mesh.x, **_connectivity(mesh)})


def write_frames(path: Path, frames: Frames) -> None:
    arrays = {"x": frames.mesh.x, "frames": frames.x, "fps": np.float64(frames.fps)}
    _save(path, {**arrays, **_connectivity(frames.mesh)})


def _save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


def _connectivity(mesh: TriMesh) -> dict[str, np.ndarray]:
    arrays = {"faces": mesh.faces, "rest": mesh.rest}
    if mesh.uv is not None:
        arrays |= {"uv": mesh.uv, "face_uv": mesh.face_uv}
    if mesh.origin is not None:
        arrays["origin"] = mesh.origin
    if mesh.polygons is not None:
        p = mesh.polygons
        arrays |= {"polygon_start": p.start, "polygon_vertices": p.vertices}
        arrays |= {"face_corner": p.face_corner, "face_polygon": p.face_polygon}
    if mesh.groups:
        faces = [np.asarray(f, dtype=np.int32) for f in mesh.groups.values()]
        arrays["group_names"] = np.array(list(mesh.groups))
        arrays["group_start"] = np.cumsum([0] + [len(f) for f in faces])
        arrays["group_faces"] = np.concatenate(faces)
    return arrays


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays with a meaning here, each checked against the bytes that are there before it is made."""
    known = {"x", "vertices", "frames", "faces", "fps", "uv", "face_uv", "rest", "origin"}
    known |= {"polygon_start", "polygon_vertices", "face_corner", "face_polygon"}
    known |= {"group_names", "group_start", "group_faces", "name"}
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            key = info.filename.removesuffix(".npy")
            if key in known:
                with archive.open(info) as file:
                    arrays[key] = _array(file, key, min(info.file_size, _MOST_DEFLATED * info.compress_size))
    return arrays


def _array(file, key: str, most: int) -> np.ndarray:
    """One array from a file object that holds `most` bytes at most."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise BadInput(f"{key}: an array of the unknown version {version}")
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read_header(file)
    if dtype.hasobject or dtype.kind not in "iufU":
        raise BadInput(f"{key}: must not hold {dtype}")
    size = math.prod(shape) * dtype.itemsize
    if size > most or min(shape, default=0) < 0:
        raise BadInput(f"{key}: its header says {shape}, the file is too short for that")
    data = file.read(size)
    if len(data) < size:
        raise BadInput(f"{key}: its header says {shape}, but the data end early")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C")


def _mesh(arrays: dict[str, np.ndarray], name: str) -> tuple[TriMesh, np.ndarray]:
    """The mesh, and its frames (k, n, 3)."""
    still = next((arrays[key] for key in ("x", "vertices") if key in arrays), None)
    frames = arrays.get("frames")
    if frames is None and still is not None and still.ndim == 3:
        still, frames = None, still
    if still is None and frames is None:
        raise BadInput("there are no positions: one of x, frames or vertices is needed")
    if "faces" not in arrays:
        raise BadInput("there is no array called faces")
    for key, array in arrays.items():
        if (array.dtype.kind == "U") != (key in ("group_names", "name")):
            raise BadInput(f"{key}: must not hold {array.dtype}")
    if frames is not None and (frames.ndim != 3 or len(frames) == 0):
        raise BadInput(f"frames must have shape (k, n, 3), not {frames.shape}")
    faces = arrays["faces"]
    mesh = TriMesh(
        frames[0] if still is None else still,
        faces,
        name=name,
        uv=arrays.get("uv"),
        face_uv=_whole_numbers(arrays, "face_uv"),
        rest=arrays.get("rest"),
        groups=_groups(arrays, len(faces)),
        polygons=_polygons(arrays, faces),
        origin=_whole_numbers(arrays, "origin"),
    )
    return mesh, mesh.x[None] if frames is None else frames


def _whole_numbers(arrays, key) -> np.ndarray | None:
    """An array of int32, or None if it is not there."""
    array = arrays.get(key)
    if array is None:
        return None
    if array.dtype.kind not in "iu" or (array.size and (array.min() < -1 or array.max() > np.iinfo(np.int32).max)):
        raise BadInput(f"{key}: must hold whole numbers from -1 on")
    return array.astype(np.int32)


def _groups(arrays, faces: int) -> dict[str, np.ndarray]:
    names = arrays.get("group_names")
    start, members = _whole_numbers(arrays, "group_start"), _whole_numbers(arrays, "group_faces")
    if names is None or start is None or members is None:
        return {}
    good = (
        names.ndim == members.ndim == 1
        and start.shape == (len(names) + 1,)
        and start[0] == 0
        and start[-1] == len(members)
        and (np.diff(start) >= 0).all()
    )
    if not good:
        raise BadInput("group_names, group_start and group_faces do not go together")
    if members.size and (members.min() < 0 or members.max() >= faces):
        raise BadInput("a group names a face that does not exist")
    return {str(name): members[a:b] for name, a, b in zip(names.tolist(), start[:-1], start[1:])}


def _polygons(arrays, faces) -> Polygons | None:
    keys = ("polygon_start", "polygon_vertices", "face_corner", "face_polygon")
    parts = [_whole_numbers(arrays, key) for key in keys]
    if any(part is None for part in parts):
        return None
    start, vertices, corner, polygon = parts
    size = np.diff(start.ravel())
    good = (
        start.ndim == vertices.ndim == 1
        and len(start) > 1
        and start[0] == 0
        and start[-1] == len(vertices)
        and size.min() >= 3
        and corner.shape == faces.shape
        and np.array_equal(polygon, np.repeat(np.arange(len(size)), size - 2))
        and corner.min() >= 0
        and corner.max() < len(vertices)
        and np.array_equal(vertices[corner], faces)
        and (start[polygon][:, None] <= corner).all()
        and (corner < start[polygon + 1][:, None]).all()
        and len(np.unique(corner)) == len(vertices)
    )
    if not good:
        raise BadInput("the polygons do not go together with the faces")
    return Polygons(*parts)
