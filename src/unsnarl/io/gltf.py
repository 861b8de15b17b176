"""glTF 2.0 (.glb, .gltf), read without trimesh: poses need the raw accessors, which it does not hand out.

All triangles that a scene shows are one mesh here, each node and each material a group of its name. glTF
splits vertices wherever texture coordinates or normals differ; they are welded again (`weld.py`), node by
node, and faces that then name a vertex twice are dropped. The rows of `uv` are the vertices of the file, with
v upwards as in the other formats (glTF counts it downwards). Metres, y up. Lines and points are not read, and
of several sets of texture coordinates only the first.

Written is what the scene looks like now: the file's own vertices in its own order, with its materials,
textures and names, if the mesh came from glTF; otherwise the mesh with its vertices split where uv differ.
Skins and animations become positions, which are stored as float32. Textures in other files stay there.
"""

from __future__ import annotations

import base64
import copy
import json
import struct
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.corners import new_normals
from unsnarl.io.frames import Frames
from unsnarl.io.gltf_file import GltfFile, open_gltf
from unsnarl.io.skinning import Channel, Nodes, Shape, positions, trs, unit, world_matrices
from unsnarl.io.weld import weld
from unsnarl.mesh import TriMesh

EXTENSIONS = (".glb", ".gltf")

FPS = 24.0  # frames per second at which animations are read
_MOST_FRAMES = 100_000  # more than an hour: a damaged time
_MOST_BYTES = 8 << 30  # of frames
MOST_TARGETS = 2000  # frames that are written: every one is a morph target with a weight at every frame
_TRIANGLES = (4, 5, 6)  # modes: list, strip, fan
_PATHS = {"translation": 3, "rotation": 4, "scale": 3, "weights": 1}
_LOOK = ("materials", "textures", "samplers", "images")
_LOOK_EXTENSIONS = ("KHR_materials_", "KHR_texture_", "EXT_texture_")
_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True)
class Part:
    """A primitive of the file.

    node, name      : the node that shows it, and what that is called
    vertices, faces : from where to where they are among all of the file's
    material        : row of the file's materials, or None
    textured        : has it texture coordinates?
    """

    node: int
    name: str
    vertices: tuple[int, int]
    faces: tuple[int, int]
    material: int | None = None
    textured: bool = False


@dataclass(frozen=True, eq=False)
class GltfSource:
    """What a glTF file has beside its mesh, for N vertices in the file.

    vertex  : (N,) int32, the vertex of the mesh that each was welded into
    corners : (m, 3) int32, the file's vertex at each corner
    smooth  : (N,) int32, vertices with the same number share a normal; None without normals
    look    : the parts of the document that say how the surface looks
    images  : row of an image -> its bytes, for those inside the file
    """

    vertex: np.ndarray
    corners: np.ndarray
    parts: tuple[Part, ...]
    smooth: np.ndarray | None = None
    look: dict = field(default_factory=dict)
    images: dict[int, bytes] = field(default_factory=dict)


def read(path: Path) -> TriMesh:
    """The scene at rest, as a viewer shows it: nodes and joints where they are without animation."""
    return _read(path, moving=False).mesh


def read_frames(path: Path) -> Frames:
    """The scene in motion: its first animation (any others are not looked at), from 0 s to its end.

    There are 24 frames per second, or as many as the animation's extras give as "fps". Without an animation
    there is one frame.
    """
    return _read(path, moving=True)


def write(path: Path, mesh: TriMesh) -> None:
    _write(path, mesh)


def write_frames(path: Path, frames: Frames) -> None:
    """Every frame is a morph target; an animation goes from one to the next. The mesh itself is at rest."""
    if len(frames) > MOST_TARGETS:
        raise BadInput(f"glTF takes {MOST_TARGETS} frames at most, not {len(frames)}: use USD, PC2 or npz")
    _write(path, frames.mesh, frames)


# --- reading ---


@dataclass(frozen=True, eq=False)
class _Vertices:
    """The n vertices of a primitive: see `Shape`; uv (n, 2) and normals (n, 3) may be missing."""

    points: np.ndarray
    targets: np.ndarray
    joints: np.ndarray
    weights: np.ndarray
    uv: np.ndarray | None
    normals: np.ndarray | None


def _read(path: Path, moving: bool) -> Frames:
    try:
        with np.errstate(all="ignore"):
            return _scene(open_gltf(path), path.stem, moving)
    except BadInput:
        raise
    except _MALFORMED as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        raise BadInput(f"not a valid glTF file ({what})") from error


def _scene(file: GltfFile, name: str, moving: bool) -> Frames:
    nodes = _nodes(file)
    shapes, vertex, corners, blocks, parts = [], [], [], [], []
    welded = 0
    for node in _shown(file, nodes):
        first = sum(len(b.points) for b in blocks)
        own_blocks, own_corners, own_parts = _primitives(file, node, first, sum(map(len, corners)))
        if not own_blocks:
            continue
        shape = _shape(file, node, own_blocks)
        moves_with = np.concatenate([shape.points, *shape.targets], axis=1)
        joined, kept = weld(moves_with, *((shape.joints, shape.weights) if shape.skin else ()))
        shapes.append(shape.chosen(kept))
        vertex.append(joined + welded)
        corners += own_corners
        blocks += own_blocks
        parts += own_parts
        welded += len(kept)
    if not parts:
        raise BadInput("there are no triangles in it")

    vertex, corners = np.concatenate(vertex), np.concatenate(corners)
    faces = vertex[corners]
    proper = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    kept_before = np.concatenate([[0], np.cumsum(proper)])
    parts = tuple(replace(p, faces=tuple(kept_before[list(p.faces)].tolist())) for p in parts)
    faces, corners = faces[proper], corners[proper].astype(np.int32)

    uv = face_uv = smooth = None
    if any(p.textured for p in parts):
        uv = np.concatenate([np.zeros((len(b.points), 2)) if b.uv is None else b.uv for b in blocks])
        face_uv = _where_textured(parts, corners)
    if all(b.normals is not None for b in blocks):
        smooth = weld(np.column_stack([vertex, np.concatenate([b.normals for b in blocks])]))[0]

    rest = np.zeros(1)
    world = world_matrices(nodes, [], rest)
    x = np.concatenate([positions(shape, world, [], rest) for shape in shapes], axis=1)
    mesh = TriMesh(
        x[0],
        faces,
        name=name,
        uv=uv,
        face_uv=face_uv,
        groups=_groups(file, parts),
        source=GltfSource(vertex, corners, parts, smooth, *_look(file)),
    )
    channels, fps = _animation(file) if moving else ([], FPS)
    if channels:
        times = _frame_times(channels, fps, 24 * welded + 128 * len(nodes.parent))
        world = world_matrices(nodes, channels, times)
        x = np.empty((len(times), welded, 3))
        at = 0
        for shape in shapes:
            x[:, at : at + len(shape.points)] = positions(shape, world, channels, times)
            at += len(shape.points)
    return Frames(mesh, x, fps)


def _nodes(file: GltfFile) -> Nodes:
    found = file.json.get("nodes", [])
    parent = np.full(len(found), -1)
    for i, node in enumerate(found):
        for child in node.get("children", []):
            file.item("nodes", child)
            if parent[child] >= 0:
                raise BadInput(f"node {child} has two parents")
            parent[child] = i
    order = np.flatnonzero(parent < 0).tolist()
    for i in order:
        order.extend(found[i].get("children", []))
    if len(order) != len(found):
        raise BadInput("its nodes go around in a circle")

    def all_of(key, default):
        rows = [np.array(node.get(key, default), dtype=np.float64) for node in found]
        return np.stack([row.reshape(len(default)) for row in rows]) if rows else np.empty((0, len(default)))

    translation, scale = all_of("translation", [0.0] * 3), all_of("scale", [1.0] * 3)
    rotation = unit(all_of("rotation", [0.0, 0.0, 0.0, 1.0]))
    matrix = trs(translation, rotation, scale)
    for i, node in enumerate(found):
        if "matrix" in node:
            matrix[i] = np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    return Nodes(parent, order, matrix, translation, rotation, scale)


def _shown(file: GltfFile, nodes: Nodes) -> list[int]:
    """The nodes with a mesh in the scene that is shown, parents before children."""
    if file.json.get("scenes"):
        todo = list(file.item("scenes", file.json.get("scene", 0)).get("nodes", []))[::-1]
    else:
        todo = np.flatnonzero(nodes.parent < 0).tolist()[::-1]
    shown, seen = [], set()
    while todo:
        i = todo.pop()
        node = file.item("nodes", i)
        if i not in seen:
            seen.add(i)
            todo += node.get("children", [])[::-1]
            if "mesh" in node:
                shown.append(i)
    return shown


def _primitives(file: GltfFile, node: int, first_vertex: int, first_face: int):
    """The vertices, corners ((m, 3), numbers of the file's vertices) and parts of the mesh at a node.

    Primitives that name the same accessors share their vertices.
    """
    about = file.item("nodes", node)
    mesh = file.item("meshes", about["mesh"])
    name = _name(about) or _name(mesh) or f"node {node}"
    blocks, corners, parts = [], [], []
    place: dict[str, tuple[int, int]] = {}
    for primitive in mesh["primitives"]:
        if primitive.get("mode", 4) not in _TRIANGLES:
            continue
        key = json.dumps([primitive["attributes"], primitive.get("targets")], sort_keys=True)
        if key not in place:
            blocks.append(_vertices(file, primitive, "skin" in about))
            place[key] = (first_vertex, first_vertex + len(blocks[-1].points))
            first_vertex = place[key][1]
        start, end = place[key]
        faces = _triangles(file, primitive, end - start)
        material = primitive.get("material")
        if material is not None:
            file.item("materials", material)
        span = (first_face, first_face + len(faces))
        textured = "TEXCOORD_0" in primitive["attributes"]
        corners.append(faces + start)
        parts.append(Part(node, name, (start, end), span, material, textured))
        first_face = span[1]
    return blocks, corners, parts


def _vertices(file: GltfFile, primitive: dict, skinned: bool) -> _Vertices:
    attributes = primitive["attributes"]
    points = file.numbers(attributes["POSITION"], 3)
    n = len(points)

    def own(values: np.ndarray) -> np.ndarray:
        if len(values) != n:
            raise BadInput(f"an attribute has {len(values)} values for {n} vertices")
        return values

    morphs = primitive.get("targets", [])
    targets = np.zeros((len(morphs), n, 3))
    for t, target in enumerate(morphs):
        if "POSITION" in target:
            targets[t] = own(file.numbers(target["POSITION"], 3))
    joints, weights = np.zeros((n, 4), dtype=np.int64), np.zeros((n, 4))
    if skinned:
        sets = [k for k in range(len(attributes)) if f"JOINTS_{k}" in attributes]
        if not sets:
            raise BadInput("a mesh with a skin does not say which joints move it")
        joints = np.concatenate([own(file.integers(attributes[f"JOINTS_{k}"], 4)) for k in sets], axis=1)
        weights = np.concatenate([own(file.numbers(attributes[f"WEIGHTS_{k}"], 4)) for k in sets], axis=1)
        joints[weights == 0] = 0
        total = weights.sum(axis=1, keepdims=True)
        weights[total[:, 0] == 0, 0] = 1.0  # what no joint moves goes with the first one
        weights /= np.where(total == 0, 1.0, total)
    uv = normals = None
    if "TEXCOORD_0" in attributes:
        uv = own(file.numbers(attributes["TEXCOORD_0"], 2)) * [1.0, -1.0] + [0.0, 1.0]
    if "NORMAL" in attributes:
        normals = own(file.numbers(attributes["NORMAL"], 3))
    return _Vertices(points, targets, joints, weights, uv, normals)


def _triangles(file: GltfFile, primitive: dict, vertices: int) -> np.ndarray:
    """(m, 3), corners of the triangles of a list, strip or fan."""
    index = np.arange(vertices)
    if "indices" in primitive:
        index = file.integers(primitive["indices"], 1)[:, 0]
        if len(index) and not (index.min() >= 0 and index.max() < vertices):
            raise BadInput(f"a face names a vertex out of range (vertices: {vertices})")
    mode = primitive.get("mode", 4)
    if mode == 4:
        return index.reshape(-1, 3)
    i = np.arange(max(len(index) - 2, 0))
    if mode == 5:
        return index[np.stack([i, i + 1 + i % 2, i + 2 - i % 2], axis=1)]
    return index[np.stack([i + 1, i + 2, 0 * i], axis=1)]


def _shape(file: GltfFile, node: int, blocks: list[_Vertices]) -> Shape:
    about = file.item("nodes", node)
    influences = max(b.joints.shape[1] for b in blocks)

    def padded(rows: np.ndarray) -> np.ndarray:
        return np.pad(rows, ((0, 0), (0, influences - rows.shape[1])))

    points = np.concatenate([b.points for b in blocks])
    targets = np.concatenate([b.targets for b in blocks], axis=1)
    morph = about.get("weights", file.item("meshes", about["mesh"]).get("weights", [0.0] * len(targets)))
    morph = np.array(morph, dtype=np.float64).reshape(len(targets))
    if "skin" not in about:
        return Shape(node, points, targets, morph)
    skin = file.item("skins", about["skin"])
    for joint in skin["joints"]:
        file.item("nodes", joint)
    bind = np.tile(np.eye(4), (len(skin["joints"]), 1, 1))
    if "inverseBindMatrices" in skin:
        given = file.numbers(skin["inverseBindMatrices"], 16)[: len(bind)]
        bind = given.reshape(bind.shape).transpose(0, 2, 1)
    joints = np.concatenate([padded(b.joints) for b in blocks])
    if joints.size and not (joints.min() >= 0 and joints.max() < len(bind)):
        raise BadInput(f"a vertex names a joint that its skin does not have (joints: {len(bind)})")
    weights = np.concatenate([padded(b.weights) for b in blocks])
    return Shape(node, points, targets, morph, (np.array(skin["joints"]), bind), joints, weights)


def _animation(file: GltfFile) -> tuple[list[Channel], float]:
    """What moves in the first animation, and at how many frames per second."""
    animations = file.json.get("animations", [])
    if not animations:
        return [], FPS
    channels = []
    for channel in animations[0]["channels"]:
        target = channel["target"]
        if "node" not in target or target["path"] not in _PATHS:
            continue
        file.item("nodes", target["node"])
        sampler = animations[0]["samplers"][channel["sampler"]]
        interpolation = sampler.get("interpolation", "LINEAR")
        times = file.numbers(sampler["input"], 1)[:, 0]
        values = file.numbers(sampler["output"], _PATHS[target["path"]])
        if len(times) == 0 or not (np.isfinite(times).all() and (np.diff(times) >= 0).all()):
            raise BadInput("the times of its animation do not ascend")
        end = file.item("accessors", sampler["input"]).get("max", times[-1:])[0]
        if not abs(times[-1] - end) <= 1e-3 * max(1.0, abs(end)):
            raise BadInput(f"its animation ends at {times[-1]:g} s, but claims to end at {end:g} s")
        rows = len(times) * (3 if interpolation == "CUBICSPLINE" else 1)
        if target["path"] == "weights":
            values = values.reshape(rows, -1)
        if len(values) != rows:
            raise BadInput(f"its animation has {len(values)} values where {rows} are needed")
        channels.append(Channel(target["node"], target["path"], interpolation, times, values))
    return channels, float(animations[0].get("extras", {}).get("fps", FPS))


def _frame_times(channels: list[Channel], fps: float, size: int) -> np.ndarray:
    """(k,) [s], rounded to float32 as the keys are, so that a frame at a key is exactly that.

    size : bytes that a frame takes
    """
    end = max(c.times[-1] for c in channels)
    if not (fps > 0 and end * fps < _MOST_FRAMES and end * fps * size < _MOST_BYTES):
        raise BadInput(f"its animation of {end:g} s at {fps:g} frames per second is too long")
    return (np.arange(int(max(end, 0.0) * fps + 1e-3) + 1) / fps).astype(np.float32).astype(np.float64)


def _name(about: dict) -> str | None:
    name = about.get("name")
    return name if isinstance(name, str) else None


def _where_textured(parts: tuple[Part, ...], corners: np.ndarray) -> np.ndarray:
    """`corners` with -1 in the faces of parts without texture coordinates."""
    face_uv = corners.copy()
    for p in parts:
        if not p.textured:
            face_uv[slice(*p.faces)] = -1
    return face_uv


def _groups(file: GltfFile, parts: tuple[Part, ...]) -> dict[str, np.ndarray]:
    """Faces by the names of their node and their material; nodes, or materials, of one name are one group."""
    groups: dict[str, list[np.ndarray]] = {}
    nodes = {p.name for p in parts}
    for p in parts:
        names = [p.name]
        if p.material is not None:
            material = _name(file.item("materials", p.material)) or f"material {p.material}"
            names.append(f"{material} (material)" if material in nodes else material)
        for name in names:
            groups.setdefault(name, []).append(np.arange(*p.faces, dtype=np.int32))
    return {name: np.concatenate(faces) for name, faces in groups.items()}


def _look(file: GltfFile) -> tuple[dict, dict[int, bytes]]:
    look = {key: file.json[key] for key in _LOOK if key in file.json}
    for key in ("extensionsUsed", "extensionsRequired"):
        kept = [name for name in file.json.get(key, []) if name.startswith(_LOOK_EXTENSIONS)]
        if kept:
            look[key] = kept
    images = enumerate(look.get("images", []))
    return look, {i: bytes(file.bytes_of(image["bufferView"])) for i, image in images if "bufferView" in image}


# --- writing ---


def _write(path: Path, mesh: TriMesh, frames: Frames | None = None) -> None:
    document, binary = _document(mesh, frames)
    if path.suffix.lower() == ".gltf":
        data = base64.b64encode(binary).decode()
        document["buffers"][0]["uri"] = f"data:application/octet-stream;base64,{data}"
        path.write_text(json.dumps(document), encoding="utf-8")
        return
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    length = 28 + len(text) + len(binary)
    if length >= 1 << 32:
        raise BadInput("a GLB file cannot be larger than 4 GiB")
    with path.open("wb") as out:
        out.write(struct.pack("<4sIIII", b"glTF", 2, length, len(text), 0x4E4F534A) + text)
        out.write(struct.pack("<I4s", len(binary), b"BIN\0") + binary)


def _document(mesh: TriMesh, frames: Frames | None) -> tuple[dict, bytes]:
    """The JSON of a mesh, and of its frames if there are any, and the bytes of its buffer."""
    source, uv = (mesh.source, mesh.uv) if _fits(mesh) else _split(mesh)
    x = _floats(mesh.x[source.vertex])
    poses = [] if frames is None else [_floats(f[source.vertex]) - x for f in frames.x]
    normals = None if source.smooth is None else _normals(mesh, source)
    document = {"asset": {"version": "2.0", "generator": "unsnarl"}, "scene": 0, "scenes": [{"nodes": []}]}
    document |= {"nodes": [], "meshes": [], "accessors": [], "bufferViews": [], "buffers": []}
    document |= copy.deepcopy(source.look)
    binary = bytearray()

    def view(data: bytes) -> int:
        document["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data)})
        binary.extend(data + bytes(-len(data) % 4))
        return len(document["bufferViews"]) - 1

    def accessor(values: np.ndarray, **more) -> int:
        kind = 5126 if values.dtype == np.float32 else 5125
        shape = {1: "SCALAR", 2: "VEC2", 3: "VEC3"}[values.shape[1] if values.ndim == 2 else 1]
        about = {
            "bufferView": view(values.tobytes()),
            "componentType": kind,
            "count": len(values),
            "type": shape,
        }
        document["accessors"].append(about | more)
        return len(document["accessors"]) - 1

    def placed(values: np.ndarray) -> int:
        return accessor(values, min=values.min(axis=0).tolist(), max=values.max(axis=0).tolist())

    written: dict[tuple[int, int], dict] = {}  # what primitives with the same vertices share
    nodes: dict[int, dict] = {}
    for part in source.parts:
        own = slice(*part.vertices)
        if part.vertices not in written:
            attributes = {"POSITION": placed(x[own])}
            if normals is not None:
                attributes["NORMAL"] = accessor(normals[own])
            if part.textured:
                attributes["TEXCOORD_0"] = accessor(_floats(uv[own] * [1.0, -1.0] + [0.0, 1.0]))
            written[part.vertices] = {"attributes": attributes}
            if poses:
                written[part.vertices]["targets"] = [{"POSITION": placed(pose[own])} for pose in poses]
        corners = source.corners[slice(*part.faces)] - part.vertices[0]
        primitive = written[part.vertices] | {"indices": accessor(corners.astype(np.uint32).ravel())}
        if part.material is not None:
            primitive["material"] = part.material
        if part.node not in nodes:
            nodes[part.node] = {"name": part.name, "primitives": []}
        nodes[part.node]["primitives"].append(primitive)
    for row, about in enumerate(nodes.values()):
        document["scenes"][0]["nodes"].append(row)
        document["nodes"].append({"name": about["name"], "mesh": row})
        document["meshes"].append(about)
    if poses:
        _animate(document, len(poses), frames.fps, accessor)
    for row, data in source.images.items():
        document["images"][row]["bufferView"] = view(data)
    document["buffers"].append({"byteLength": len(binary)})
    return document, bytes(binary)


def _animate(document: dict, frames: int, fps: float, accessor) -> None:
    """At frame k, morph target k has weight 1 and all others 0."""
    times = (np.arange(frames) / fps).astype(np.float32)
    keys = accessor(times, min=[float(times[0])], max=[float(times[-1])])
    sampler = {"input": keys, "output": accessor(np.eye(frames, dtype=np.float32).ravel())}
    targets = [{"node": i, "path": "weights"} for i in range(len(document["nodes"]))]
    channels = [{"sampler": 0, "target": target} for target in targets]
    for about in document["meshes"]:
        about["weights"] = [0.0] * frames
    document["animations"] = [{"samplers": [sampler], "channels": channels, "extras": {"fps": fps}}]


def _fits(mesh: TriMesh) -> bool:
    """Has the mesh the faces and texture coordinates that were read from a glTF file?"""
    s = mesh.source
    if not isinstance(s, GltfSource) or s.vertex.max() + 1 != len(mesh.x):
        return False
    if not np.array_equal(s.vertex[s.corners], mesh.faces):
        return False
    if mesh.uv is None:
        return not any(p.textured for p in s.parts)
    return len(mesh.uv) == len(s.vertex) and np.array_equal(mesh.face_uv, _where_textured(s.parts, s.corners))


def _split(mesh: TriMesh) -> tuple[GltfSource, np.ndarray | None]:
    """A record for a mesh that is not from glTF, its vertices split where uv differ, and their uv (N, 2).

    Split vertices stay in the order of the mesh. Where a corner has no texture coordinates it gets 0, 0.
    """
    n, m = len(mesh.x), len(mesh.faces)
    rows = 1 if mesh.uv is None else len(mesh.uv) + 1
    at_corner = np.zeros((m, 3), dtype=np.int64) if mesh.uv is None else mesh.face_uv.astype(np.int64) + 1
    alone = np.setdiff1d(np.arange(n), mesh.faces)
    pair = np.concatenate([(mesh.faces.astype(np.int64) * rows + at_corner).ravel(), alone * rows])
    pair, place = np.unique(pair, return_inverse=True)
    corners = place.ravel()[: 3 * m].reshape(m, 3)
    part = Part(0, mesh.name, (0, len(pair)), (0, m), textured=mesh.uv is not None)
    uv = None if mesh.uv is None else np.concatenate([[[0.0, 0.0]], mesh.uv])[pair % rows]
    return GltfSource(pair // rows, corners, (part,)), uv


def _normals(mesh: TriMesh, source: GltfSource) -> np.ndarray:
    """(N, 3) float32, of length 1, smooth wherever the file was."""
    everywhere = np.ones(len(mesh.x), dtype=bool)
    normals = new_normals(mesh, everywhere, source.smooth[source.corners], int(source.smooth.max()) + 1)
    normals = np.where(np.isfinite(normals).all(axis=1)[:, None], normals, [0.0, 0.0, 1.0])
    return normals[source.smooth].astype(np.float32)


def _floats(a: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        a = np.ascontiguousarray(a, dtype=np.float32)
    if not np.isfinite(a).all():
        raise BadInput("cannot be written as glTF: a coordinate is too large for its 32-bit numbers")
    return a
