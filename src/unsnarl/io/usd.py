"""USD (.usd .usda .usdc .usdz), by way of usd-core.

All meshes of a stage are one mesh here, in stage order, each prim a group named by its path. Prims that are
inactive, abstract or of purpose `guide` are left out; instances are read like copies; what a reference does
not find is not there, as in any viewer. Points are taken to the world by the transforms above them, and to
metres by the stage's `metersPerUnit`. The up axis is not turned: it is remembered, and written back. The rest
pose is the stage at its default time, or at its first frame if something that moves has no value there, or
has a skeleton.

Written are the same prims at the same paths: points of the world in metres without any transforms, the
polygons as they came, texture coordinates as `st`, groups as face sets, materials where they were bound. USD
stores points as float32, and writing rounds to that: what is read from a file written here is written again
bit for bit.

usd-core crashes on some damaged files. So the stage is read by another process (`usd_process.py`; it takes
0.2 s), which hands back arrays; if that crashes, hangs or runs out of memory, it is `BadInput` here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput, need
from unsnarl.io.corners import face_polygon, polygon_corners
from unsnarl.io.frames import Frames
from unsnarl.mesh import TriMesh
from unsnarl.mesh.polygons import triangulate

EXTENSIONS = (".usd", ".usda", ".usdc", ".usdz")

_PATIENCE = 60.0  # seconds that the reading process may go on without handing over anything
_NO_TIME = time.mktime((1980, 1, 1, 12, 0, 0, 0, 0, -1))
_SCRIPT = Path(__file__).with_name("usd_process.py")


@dataclass(frozen=True)
class Prim:
    """One mesh of a stage.

    vertices, polygons : how many of the mesh's are its own; they follow those of the prims before it
    left_handed        : do its polygons, in the world, run clockwise around their normals?
    """

    path: str
    vertices: int
    polygons: int
    left_handed: bool = False


@dataclass(frozen=True)
class UsdSource:
    """What a stage has beside its mesh.

    start     : time code of the first frame
    materials : path of a prim or face set -> path of the material bound to it
    looks     : the materials, as the text of a layer
    """

    prims: tuple[Prim, ...]
    up_axis: str = "Y"
    start: float = 0.0
    materials: dict[str, str] = field(default_factory=dict)
    looks: str = ""


def read(path: Path) -> TriMesh:
    """The meshes of a stage at rest, as one."""
    return _read(path, "rest")[0]


def read_frames(path: Path) -> Frames:
    """The meshes of a stage in motion, skeletons included, at every time code of its range.

    A stage without a time range has a frame for every time sample; one where nothing moves has one frame.
    """
    mesh, x, fps = _read(path, "frames")
    return Frames(mesh, x, fps)


def write(path: Path, mesh: TriMesh) -> None:
    _write(path, mesh)


def write_frames(path: Path, frames: Frames) -> None:
    """Points as time samples, one time code for each frame; at the default time they are at rest."""
    _write(path, frames.mesh, frames)


# --- reading ---


@np.errstate(over="ignore", invalid="ignore")
def _read(path: Path, what: str) -> tuple[TriMesh, np.ndarray, float]:
    """The mesh, its positions at the frames (k, n, 3), none for what="rest", and the frames per second."""
    answer, data = _ask(path, what)
    meshes, metres = answer["meshes"], answer["metres"]
    if not (np.isfinite(metres) and metres > 0):
        raise BadInput(f"metersPerUnit is {metres}")
    if not meshes:
        raise BadInput("there is no mesh in it")

    def array(place, columns: int | None = None) -> np.ndarray:
        at, kind, shape = place
        whole = len(shape) == 1 and np.dtype(kind).kind in "iu"
        rows = len(shape) == 2 and np.dtype(kind).kind == "f" and shape[1] == columns
        if not (whole if columns is None else rows):
            raise BadInput("cannot be read as USD: an array in it has the wrong type")
        return np.frombuffer(data, kind, int(np.prod(shape)), at).reshape(shape)

    sizes = [len(array(m["points"][0], 3)) for m in meshes]
    x = np.empty((len(meshes[0]["points"]), sum(sizes), 3))  # at rest, then the frames
    counts, corners, uv, uv_rows, prims, subsets = [], [], [], [], [], {}
    vertex = polygon = row = 0
    for m, size in zip(meshes, sizes):
        count, index = array(m["counts"]), array(m["indices"])
        _check_faces(m["path"], size, count, index)
        for k, (points, matrix) in enumerate(zip(m["points"], m["matrices"])):
            if len(array(points, 3)) != size:
                raise BadInput(f"{m['path']} changes its number of points over time")
            x[k, vertex : vertex + size] = _world(array(points, 3), array(matrix, 4)) * metres
        mirrored = np.linalg.det(array(m["matrices"][0], 4)[:3, :3]) < 0
        prims.append(Prim(m["path"], size, len(count), m["left_handed"] != bool(mirrored)))
        for name, place in m["subsets"].items():
            own = array(place)
            if own.size and not (own.min() >= 0 and own.max() < len(count)):
                raise BadInput(f"{name} names a face that does not exist")
            subsets[name] = own + polygon
        own_uv, own_row = _texture_coordinates(m, size, count, index, array)
        uv.append(own_uv)
        uv_rows.append(np.where(own_row < 0, -1, own_row + row))
        counts.append(count)
        corners.append(index + vertex)
        vertex += size
        polygon += len(count)
        row += len(own_uv)

    faces, polygons = triangulate(
        x[0], np.concatenate([[0], np.cumsum(np.concatenate(counts))]), np.concatenate(corners)
    )
    mesh = TriMesh(
        x[0],
        faces,
        name=path.stem,
        uv=np.concatenate(uv) if row else None,
        face_uv=np.concatenate(uv_rows)[polygons.face_corner] if row else None,
        groups=_groups(prims, subsets, polygons.face_polygon),
        polygons=None if polygons.all_triangles else polygons,
        source=UsdSource(
            tuple(prims),
            answer["up"],
            answer["start"],
            {owner: material for m in meshes for owner, material in m["materials"].items()},
            answer["looks"],
        ),
    )
    return mesh, x[1:], answer["fps"]


def _ask(path: Path, what: str) -> tuple[dict, bytes]:
    """Have another process read the stage: what it answers, and the bytes of the arrays."""
    with tempfile.TemporaryDirectory() as folder:
        arrays, answer = Path(folder, "arrays"), Path(folder, "answer.json")
        process = subprocess.Popen(
            [sys.executable, "-P", _SCRIPT, path.absolute(), arrays, answer, what],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, sys.path))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait(process, arrays)
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0 or not answer.exists():
            raise BadInput("cannot be read as USD: it is damaged, or does not fit into memory")
        said = json.loads(answer.read_text(encoding="utf-8"))
        if "missing" in said:
            need("pxr.Usd", "reading USD", "formats")
            raise BadInput(f"reading USD needs a complete usd-core ({said['missing']})")
        if "error" in said:
            raise BadInput(said["error"])
        return said, arrays.read_bytes()


def _wait(process: subprocess.Popen, arrays: Path) -> None:
    """Wait for a process to end, as long as the file that it writes keeps growing."""
    size = 0
    while True:
        try:
            process.wait(_PATIENCE)
            return
        except subprocess.TimeoutExpired:
            before, size = size, arrays.stat().st_size if arrays.exists() else 0
            if size == before:
                raise BadInput("cannot be read as USD: reading it does not come to an end") from None


def _world(points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """p M for every row p of points (n, 3); equal points come out equal bit for bit, wherever they stand."""
    p = points.astype(np.float64)
    if np.array_equal(matrix, np.eye(4)):
        return p
    return p[:, :1] * matrix[0, :3] + p[:, 1:2] * matrix[1, :3] + p[:, 2:] * matrix[2, :3] + matrix[3, :3]


def _check_faces(path: str, vertices: int, count: np.ndarray, index: np.ndarray) -> None:
    """count : (p,) corners of each polygon; index : (c,) the vertex at each corner."""
    if (count < 3).any():
        k = int(np.argmax(count < 3))
        raise BadInput(f"{path}: face {k} has {count[k]} corners")
    needed = int(count.sum(dtype=np.int64))
    if needed != len(index):
        raise BadInput(f"{path}: its faces have {needed} corners, but vertices are given for {len(index)}")
    if index.size and not (index.min() >= 0 and index.max() < vertices):
        raise BadInput(f"{path}: a face names a vertex out of range (vertices: {vertices})")


def _texture_coordinates(m: dict, vertices: int, count: np.ndarray, index: np.ndarray, array):
    """The uv table (k, 2) of a prim, empty without uv, and its row at each polygon corner (c,), or -1."""
    if m["uv"] is None:
        return np.empty((0, 2)), np.full(len(index), -1)
    values = array(m["uv"]["values"], 2).astype(np.float64)
    row = np.arange(len(values)) if m["uv"]["indices"] is None else array(m["uv"]["indices"])
    interpolations = {
        "vertex": (index, vertices),
        "varying": (index, vertices),
        "faceVarying": (np.arange(len(index)), len(index)),
        "uniform": (np.repeat(np.arange(len(count)), count), len(count)),
        "constant": (np.zeros(len(index), dtype=np.int64), 1),
    }
    if m["uv"]["interpolation"] not in interpolations:
        raise BadInput(f"{m['path']}: it does not say what its texture coordinates belong to")
    element, elements = interpolations[m["uv"]["interpolation"]]
    if len(row) != elements:
        raise BadInput(f"{m['path']}: it needs {elements} texture coordinates, there are {len(row)}")
    if row.size and not (row.min() >= 0 and row.max() < len(values)):
        raise BadInput(f"{m['path']}: a face names a texture coordinate that does not exist")
    return values, np.where(row == m["uv"]["none"], -1, row)[element]


def _groups(prims: list[Prim], subsets: dict[str, np.ndarray], polygon: np.ndarray) -> dict[str, np.ndarray]:
    """Path of a prim or face set -> faces. polygon : (m,) ascending, the polygon of each triangle."""
    ends = np.searchsorted(polygon, np.cumsum([0] + [prim.polygons for prim in prims]))
    groups = {prim.path: np.arange(a, b, dtype=np.int32) for prim, a, b in zip(prims, ends, ends[1:])}
    for name, own in subsets.items():
        groups[name] = np.flatnonzero(np.isin(polygon, own)).astype(np.int32)
    return groups


# --- writing ---


def _write(path: Path, mesh: TriMesh, frames: Frames | None = None) -> None:
    need("pxr.Usd", "writing USD", "formats")
    from pxr import Sdf, Tf, UsdUtils

    quiet = UsdUtils.CoalescingDiagnosticDelegate()  # as long as it lives, usd-core prints nothing
    try:
        layer = _layer(mesh, frames)
        if path.suffix.lower() != ".usdz":
            done = layer.Export(str(path))
        else:
            with tempfile.TemporaryDirectory() as folder:
                inside = Path(folder, f"{Tf.MakeValidIdentifier(mesh.name)}.usdc")
                done = layer.Export(str(inside))
                if done:
                    os.utime(inside, (_NO_TIME, _NO_TIME))  # the package would tell when it was made
                done = done and (
                    UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(inside)), str(path)) or _package_alone(inside, path)
                )
    except Tf.ErrorException as error:
        raise BadInput(f"cannot be written as USD ({str(error.args[0].commentary).strip()})") from error
    finally:
        del quiet
    if not done:
        raise BadInput("cannot be written as USD")


def _package_alone(layer: Path, path: Path) -> bool:
    """A .usdz of one layer, without its textures: some of them cannot be found."""
    from pxr import Sdf, Usd

    zips = Sdf if hasattr(Sdf, "ZipFileWriter") else Usd  # where it is depends on the version of usd-core
    package = zips.ZipFileWriter.CreateNew(str(path))
    return bool(package.AddFile(str(layer), layer.name)) and package.Save()


def _layer(mesh: TriMesh, frames: Frames | None):
    """The root layer of a stage with the mesh, and its frames if there are any."""
    from pxr import Sdf, Tf, Usd, UsdGeom

    source = source_of(mesh, f"/{Tf.MakeValidIdentifier(mesh.name)}")
    layer = Sdf.Layer.CreateAnonymous(".usda")
    if source.looks:
        layer.ImportFromString(source.looks)
    stage = Usd.Stage.Open(layer)
    UsdGeom.SetStageUpAxis(stage, source.up_axis)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    if frames is not None:
        stage.SetStartTimeCode(source.start)
        stage.SetEndTimeCode(source.start + len(frames) - 1)
        stage.SetTimeCodesPerSecond(frames.fps)
        stage.SetFramesPerSecond(frames.fps)

    start, vertices, uv_row = polygon_corners(mesh)
    vertex = polygon = 0
    for prim in source.prims:
        ends = start[polygon : polygon + prim.polygons + 1]
        own, corners = slice(vertex, vertex + prim.vertices), slice(ends[0], ends[-1])
        usd = UsdGeom.Mesh.Define(stage, prim.path)
        usd.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        if prim.left_handed:
            usd.CreateOrientationAttr(UsdGeom.Tokens.leftHanded)
        usd.CreateFaceVertexCountsAttr(_ints(np.diff(ends)))
        usd.CreateFaceVertexIndicesAttr(_ints(vertices[corners] - vertex))
        _set_points(usd, mesh.x[own], Usd.TimeCode.Default())
        for k in range(0 if frames is None else len(frames)):
            _set_points(usd, frames.x[k, own], source.start + k)
        if uv_row is not None:
            _set_uv(usd, mesh.uv, uv_row[corners])
        vertex += prim.vertices
        polygon += prim.polygons
    _set_face_sets(stage, mesh, source)
    _bind_materials(stage, source.materials)
    stage.SetDefaultPrim(stage.GetPrimAtPath(Sdf.Path(source.prims[0].path).GetPrefixes()[0]))
    return layer


def source_of(mesh: TriMesh, path: str) -> UsdSource:
    """The stage that the mesh came from; one prim at `path` if it came from none, or has other faces now."""
    start, vertices, _ = polygon_corners(mesh)
    whole = UsdSource((Prim(path, len(mesh.x), len(start) - 1),))
    if not isinstance(mesh.source, UsdSource):
        return whole
    vertex = np.cumsum([0] + [prim.vertices for prim in mesh.source.prims])
    polygon = np.cumsum([0] + [prim.polygons for prim in mesh.source.prims])
    if vertex[-1] != len(mesh.x) or polygon[-1] != len(start) - 1:
        return whole
    owner = np.repeat(np.arange(len(vertex) - 1), np.diff(start[polygon]))
    inside = (vertices >= vertex[owner]) & (vertices < vertex[owner + 1])
    return mesh.source if inside.all() else whole


def _ints(a: np.ndarray):
    from pxr import Vt

    return Vt.IntArray.FromNumpy(np.ascontiguousarray(a, dtype=np.int32))


def _floats(a: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        a = np.ascontiguousarray(a, dtype=np.float32)
    if not np.isfinite(a).all():
        raise BadInput("cannot be written as USD: a coordinate is too large for its 32-bit numbers")
    return a


def _set_points(usd, x: np.ndarray, time) -> None:
    from pxr import UsdGeom, Vt

    points = Vt.Vec3fArray.FromNumpy(_floats(x))
    usd.GetPointsAttr().Set(points, time)
    usd.GetExtentAttr().Set(UsdGeom.PointBased.ComputeExtent(points), time)


def _set_uv(usd, uv: np.ndarray, row: np.ndarray) -> None:
    """uv : (k, 2); row : (c,) its row at each polygon corner, -1 without one."""
    from pxr import Sdf, UsdGeom, Vt

    used = np.unique(row[row >= 0])
    if len(used) == 0:
        return
    st = UsdGeom.PrimvarsAPI(usd).CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.faceVarying)
    values, index = uv[used], np.searchsorted(used, row)
    if (row < 0).any():
        values = np.concatenate([values, [[0.0, 0.0]]])
        index[row < 0] = len(used)
        st.SetUnauthoredValuesIndex(len(used))
    st.Set(Vt.Vec2fArray.FromNumpy(_floats(values)))
    st.SetIndices(_ints(index))


def _set_face_sets(stage, mesh: TriMesh, source: UsdSource) -> None:
    """The groups that are no prims become face sets of the prims that they have faces of."""
    from pxr import Sdf, Tf, UsdGeom

    polygon = face_polygon(mesh)
    ends = np.cumsum([0] + [prim.polygons for prim in source.prims])
    paths = {prim.path for prim in source.prims}
    for name, faces in mesh.groups.items():
        if name in paths:
            continue
        chosen = np.unique(polygon[faces])
        for prim, a, b in zip(source.prims, ends, ends[1:]):
            own = chosen[(chosen >= a) & (chosen < b)] - a
            if Sdf.Path.IsValidPathString(name) and Sdf.Path(name).GetParentPath() == prim.path:
                path = name
            elif len(own):
                path = f"{prim.path}/{Tf.MakeValidIdentifier(name)}"
                while stage.GetPrimAtPath(path):
                    path += "_"
            else:
                continue
            face_set = UsdGeom.Subset.Define(stage, path)
            face_set.CreateElementTypeAttr(UsdGeom.Tokens.face)
            face_set.CreateIndicesAttr(_ints(own))
            if path in source.materials:
                face_set.CreateFamilyNameAttr("materialBind")


def _bind_materials(stage, materials: dict[str, str]) -> None:
    from pxr import UsdShade

    for owner, path in materials.items():
        prim, material = stage.GetPrimAtPath(owner), UsdShade.Material(stage.GetPrimAtPath(path))
        if prim and material:
            UsdShade.MaterialBindingAPI.Apply(prim).Bind(material)
