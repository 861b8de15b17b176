"""glTF: poses are those of the slow, plain formulas; what is written comes back; damage is one clear line."""

import base64
import copy
import json
import math
import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.io.polygon_meshes import bits, corner_uv, polygon_meshes, single_numbers
from unsnarl.errors import BadInput
from unsnarl.io import read_frames, read_mesh, write_frames, write_mesh
from unsnarl.io.frames import Frames
from unsnarl.io.weld import weld
from unsnarl.mesh import TriMesh

CHARACTERS = ("CesiumMan", "Fox", "RiggedFigure")

# --- the slow, plain way: lists and loops, number by number ---


def plain_parts(path):
    """The JSON and the binary chunk of a GLB."""
    data = path.read_bytes()
    size = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + size]), data[28 + size :]


def plain_accessor(document, binary, index):
    a = document["accessors"][index]
    view = document["bufferViews"][a["bufferView"]]
    width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}[a["type"]]
    letter, size = {5121: ("B", 1), 5123: ("H", 2), 5125: ("I", 4), 5126: ("f", 4)}[a["componentType"]]
    stride = view.get("byteStride", width * size)
    at = view.get("byteOffset", 0) + a.get("byteOffset", 0)
    return [struct.unpack_from(f"<{width}{letter}", binary, at + i * stride) for i in range(a["count"])]


def times_matrix(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(4)) for j in range(4)] for i in range(4)]


def rotated(q, v):
    """q v q*, with quaternions x y z w."""
    x, y, z, w = q
    cross = [y * v[2] - z * v[1] + w * v[0], z * v[0] - x * v[2] + w * v[1], x * v[1] - y * v[0] + w * v[2]]
    twice = [y * cross[2] - z * cross[1], z * cross[0] - x * cross[2], x * cross[1] - y * cross[0]]
    return [v[i] + 2 * twice[i] for i in range(3)]


def plain_local(node):
    if "matrix" in node:
        return [[node["matrix"][4 * j + i] for j in range(4)] for i in range(4)]
    q = node.get("rotation", (0, 0, 0, 1))
    length = math.sqrt(sum(c * c for c in q))
    q = [c / length for c in q]
    scale, shift = node.get("scale", (1, 1, 1)), node.get("translation", (0, 0, 0))
    columns = [rotated(q, [scale[j] if i == j else 0 for i in range(3)]) for j in range(3)]
    return [[columns[j][i] for j in range(3)] + [shift[i]] for i in range(3)] + [[0, 0, 0, 1]]


def plain_between(path, a, b, u):
    if path != "rotation":
        return [(1 - u) * p + u * q for p, q in zip(a, b)]
    cosine = sum(p * q for p, q in zip(a, b))
    if cosine < 0:
        b, cosine = [-q for q in b], -cosine
    angle = math.acos(min(cosine, 1))
    if angle < 1e-4:
        return [(1 - u) * p + u * q for p, q in zip(a, b)]
    first, second = math.sin((1 - u) * angle) / math.sin(angle), math.sin(u * angle) / math.sin(angle)
    return [first * p + second * q for p, q in zip(a, b)]


def plain_pose(document, binary, time):
    """The points of the first skinned mesh, in the order of the file; time None: at rest."""
    nodes = copy.deepcopy(document["nodes"])
    if time is not None:
        animation = document["animations"][0]
        for channel in animation["channels"]:
            sampler = animation["samplers"][channel["sampler"]]
            keys = [t[0] for t in plain_accessor(document, binary, sampler["input"])]
            values = plain_accessor(document, binary, sampler["output"])
            path = channel["target"]["path"]
            k = max([i for i in range(len(keys)) if keys[i] <= time], default=0)
            if time <= keys[0] or k == len(keys) - 1:
                value = values[0 if time <= keys[0] else -1]
            else:
                value = plain_between(path, values[k], values[k + 1], (time - keys[k]) / (keys[k + 1] - keys[k]))
            nodes[channel["target"]["node"]][path] = value

    parent = {child: i for i, node in enumerate(nodes) for child in node.get("children", [])}

    def world(i):
        local = plain_local(nodes[i])
        return times_matrix(world(parent[i]), local) if i in parent else local

    shown = next(node for node in nodes if "skin" in node)
    skin = document["skins"][shown["skin"]]
    bind = plain_accessor(document, binary, skin["inverseBindMatrices"])
    joints = []
    for joint, m in zip(skin["joints"], bind):
        joints.append(times_matrix(world(joint), [[m[4 * j + i] for j in range(4)] for i in range(4)]))
    (primitive,) = document["meshes"][shown["mesh"]]["primitives"]
    names = ("POSITION", "JOINTS_0", "WEIGHTS_0")
    columns = [plain_accessor(document, binary, primitive["attributes"][name]) for name in names]
    points = []
    for p, rows, weights in zip(*columns):
        point = [0.0, 0.0, 0.0]
        for j, w in zip(rows, weights):
            for i in range(3):
                m = joints[j][i]
                point[i] += w * (m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3])
        points.append(point)
    return np.array(points)


# --- real characters ---


@pytest.mark.parametrize("name", CHARACTERS)
def test_characters_move_as_the_plain_formulas_say(data, name):
    path = data / "characters" / f"{name}.glb"
    document, binary = plain_parts(path)
    frames = read_frames(path)
    vertex = frames.mesh.source.vertex
    close = {"rtol": 0, "atol": 1e-6 * frames.mesh.diagonal}
    np.testing.assert_allclose(frames.mesh.x[vertex], plain_pose(document, binary, None), **close)
    assert bits(read_mesh(path).x) == bits(frames.mesh.x)
    for k in {0, 1, 11, len(frames) // 2, len(frames) - 1}:
        time = float(np.float32(k / 24))
        np.testing.assert_allclose(frames.x[k][vertex], plain_pose(document, binary, time), **close)


@pytest.mark.parametrize(("name", "frames"), [("CesiumMan", 49), ("Fox", 83), ("RiggedFigure", 31)])
def test_characters_are_closed_once_welded(data, name, frames):
    motion = read_frames(data / "characters" / f"{name}.glb")
    mesh = motion.mesh
    assert len(motion) == frames and motion.fps == 24
    assert not mesh.boundary_edges.any() and len(mesh.non_manifold_edges) == 0
    assert len(mesh.x) - len(mesh.edges) + len(mesh.faces) == 2  # a sphere
    assert len(mesh.source.vertex) > len(mesh.x)


def test_the_monkey(data):
    monkey = read_mesh(data / "broken" / "monkey.glb")
    assert (len(monkey.source.vertex), len(monkey.x), len(monkey.faces)) == (1966, 505, 968)
    assert list(monkey.groups) == ["Suzanne"] and monkey.name == "monkey"
    assert np.abs(np.ptp(monkey.x, axis=0) - [2.734375, 1.96875, 1.703125]).max() < 1e-6


@pytest.mark.parametrize("ending", [".glb", ".gltf"])
@pytest.mark.parametrize("name", ["characters/CesiumMan", "characters/Fox", "broken/monkey"])
def test_real_files_are_written_with_their_own_vertices(data, tmp_path, name, ending):
    mesh = read_mesh(data / f"{name}.glb")
    moved = mesh.moved(mesh.x + np.sin(5 * mesh.x[:, ::-1]) * 0.01)
    write_mesh(tmp_path / f"a{ending}", moved)
    back = read_mesh(tmp_path / f"a{ending}")
    assert bits(back.x) == bits(moved.x.astype(np.float32).astype(np.float64))
    assert bits(back.faces) == bits(mesh.faces)
    assert bits(back.uv) == bits(mesh.uv) and bits(back.face_uv) == bits(mesh.face_uv)
    assert {k: v.tolist() for k, v in back.groups.items()} == {k: v.tolist() for k, v in mesh.groups.items()}
    assert bits(back.source.vertex) == bits(mesh.source.vertex)
    assert back.source.parts[0].vertices == mesh.source.parts[0].vertices
    if ending == ".glb":
        document, binary = plain_parts(tmp_path / "a.glb")
        attributes = document["meshes"][0]["primitives"][0]["attributes"]
        points = plain_accessor(document, binary, attributes["POSITION"])
        assert bits(np.array(points)) == bits(back.x[mesh.source.vertex])
        original, original_binary = plain_parts(data / f"{name}.glb")
        assert ("NORMAL" in attributes) == ("NORMAL" in original["meshes"][0]["primitives"][0]["attributes"])
        for key in ("materials", "textures", "samplers"):
            assert document.get(key) == original.get(key)
        for a, b in zip(document.get("images", []), original.get("images", []), strict=True):
            assert image_bytes(document, binary, a) == image_bytes(original, original_binary, b)


def image_bytes(document, binary, image):
    view = document["bufferViews"][image["bufferView"]]
    return binary[view.get("byteOffset", 0) :][: view["byteLength"]]


def test_normals_are_smooth_where_they_were(data, tmp_path):
    """Written in the pose of the file, they are close to the ones that it had."""
    path = data / "characters" / "CesiumMan.glb"
    mesh = read_mesh(path)
    document, binary = plain_parts(path)
    bind = np.array(plain_accessor(document, binary, 3))
    had = np.array(plain_accessor(document, binary, 2))
    write_mesh(tmp_path / "a.glb", mesh.moved(bind[np.unique(mesh.source.vertex, return_index=True)[1]]))
    document, binary = plain_parts(tmp_path / "a.glb")
    accessor = document["meshes"][0]["primitives"][0]["attributes"]["NORMAL"]
    has = np.array(plain_accessor(document, binary, accessor))
    np.testing.assert_allclose(np.linalg.norm(has, axis=1), 1, atol=1e-6)
    assert np.quantile((had * has).sum(axis=1), 0.1) > 0.95


def test_frames_are_written_as_morph_targets(data, tmp_path):
    frames = read_frames(data / "characters" / "RiggedFigure.glb")
    write_frames(tmp_path / "a.glb", Frames(frames.mesh, frames.x, 30.0))
    back = read_frames(tmp_path / "a.glb")
    assert back.fps == 30 and back.x.shape == frames.x.shape
    np.testing.assert_allclose(back.x, frames.x, rtol=0, atol=3e-7)
    assert bits(back.mesh.x) == bits(frames.mesh.x.astype(np.float32).astype(np.float64))
    assert bits(back.mesh.faces) == bits(frames.mesh.faces)
    with pytest.raises(BadInput, match="at most"):
        write_frames(tmp_path / "b.glb", Frames(frames.mesh, np.repeat(frames.x[:1], 2001, axis=0)))
    assert not (tmp_path / "b.glb").exists()


# --- made by hand ---

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype="<f4")
TWO = np.array([0, 1, 2, 0, 2, 3], dtype="<u2")


class Maker:
    """Puts a document together: arrays into one buffer, accessors for them."""

    def __init__(self):
        self.binary = b""
        self.document = {
            "asset": {"version": "2.0"},
            "accessors": [],
            "bufferViews": [],
            "nodes": [],
            "meshes": [],
        }

    def view(self, data: bytes, **more) -> int:
        self.binary += bytes(-len(self.binary) % 4)
        place = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": len(data)}
        self.document["bufferViews"].append(place | more)
        self.binary += data
        return len(self.document["bufferViews"]) - 1

    def accessor(self, a: np.ndarray, **more) -> int:
        kind = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}[a.dtype.str[1:]]
        shape = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}[a[0].size]
        about = {"componentType": kind, "count": len(a), "type": shape}
        if "bufferView" not in more and "sparse" not in more:
            about["bufferView"] = self.view(a.tobytes())
        self.document["accessors"].append(about | more)
        return len(self.document["accessors"]) - 1

    def mesh(self, attributes, indices=TWO, name="square", **more) -> int:
        """A mesh of one primitive; attributes : name -> array or accessor."""
        attributes = {k: v if isinstance(v, int) else self.accessor(v) for k, v in attributes.items()}
        primitive = {"attributes": attributes} | more
        if indices is not None:
            primitive["indices"] = self.accessor(indices)
        self.document["meshes"].append({"name": name, "primitives": [primitive]})
        return len(self.document["meshes"]) - 1

    def node(self, **about) -> int:
        self.document["nodes"].append(about)
        return len(self.document["nodes"]) - 1

    def animate(self, *channels) -> None:
        """Each: node, path, interpolation, times, values."""
        animation = {"samplers": [], "channels": []}
        for node, path, interpolation, times, values in channels:
            sampler = {
                "input": self.accessor(np.array(times, dtype="<f4")),
                "output": self.accessor(np.array(values, dtype="<f4")),
                "interpolation": interpolation,
            }
            animation["samplers"].append(sampler)
            target = {"sampler": len(animation["channels"]), "target": {"node": node, "path": path}}
            animation["channels"].append(target)
        self.document.setdefault("animations", []).append(animation)

    def save(self, path, beside=None):
        buffer = {"byteLength": len(self.binary)}
        if beside is not None:
            (path.parent / beside).write_bytes(self.binary)
            buffer["uri"] = beside.replace(" ", "%20")
        elif path.suffix == ".gltf":
            body = base64.b64encode(self.binary).decode()
            buffer["uri"] = f"data:application/octet-stream;base64,{body}"
        document = self.document | {"buffers": [buffer]}
        text = json.dumps(document).encode()
        if path.suffix == ".gltf":
            path.write_bytes(text)
        else:
            text += b" " * (-len(text) % 4)
            binary = self.binary + bytes(-len(self.binary) % 4)
            head = struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + len(binary), len(text), 0x4E4F534A)
            path.write_bytes(head + text + struct.pack("<II", len(binary), 0x4E4942) + binary)
        return path


@pytest.mark.parametrize("way", ["glb", "data", "beside"])
def test_buffers_inside_in_the_text_and_beside(tmp_path, way):
    maker = Maker()
    maker.node(mesh=maker.mesh({"POSITION": SQUARE}))
    path = maker.save(tmp_path / f"a.{'glb' if way == 'glb' else 'gltf'}", "my data.bin" if way == "beside" else None)
    mesh = read_mesh(path)
    assert bits(mesh.x) == bits(SQUARE.astype(float)) and mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert list(mesh.groups) == ["square"] and len(read_frames(path)) == 1
    if way == "beside":
        (tmp_path / "my data.bin").unlink()
        with pytest.raises(BadInput, match=r"my%20data\.bin"):
            read_mesh(path)


def test_strided_sparse_and_normalized_accessors(tmp_path):
    maker = Maker()
    mixed = np.zeros(4, dtype=[("pad", "<f4"), ("p", "<f4", 3), ("uv", "<u2", 2)])
    mixed["p"], mixed["uv"] = SQUARE, [[0, 0], [65535, 0], [65535, 65535], [0, 13107]]
    view = maker.view(mixed.tobytes(), byteStride=mixed.dtype.itemsize)
    points = maker.accessor(mixed["p"], bufferView=view, byteOffset=4)
    uv = maker.accessor(mixed["uv"], bufferView=view, byteOffset=16, normalized=True)
    lifted = {
        "count": 2,
        "indices": {"bufferView": maker.view(np.array([1, 3], dtype="u1").tobytes()), "componentType": 5121},
        "values": {"bufferView": maker.view(np.array([[9, 0, 1], [9, 0, 3]], dtype="<f4").tobytes())},
    }
    replaced = maker.accessor(SQUARE, bufferView=maker.view(SQUARE.tobytes()), sparse=lifted)
    from_nothing = maker.accessor(SQUARE, sparse=lifted)
    whole = np.array([[-128, 0, 127], [-127, 1, 0], [0, 0, 0], [127, 127, 127]], dtype="i1")
    small = maker.accessor(whole, normalized=True)
    for accessor in (points, replaced, from_nothing, small):
        maker.node(mesh=maker.mesh({"POSITION": accessor, "TEXCOORD_0": uv}))
    mesh = read_mesh(maker.save(tmp_path / "a.gltf"))
    vertex = mesh.source.vertex
    hand = SQUARE.astype(float)
    np.testing.assert_array_equal(mesh.x[vertex[:4]], hand)
    hand[[1, 3]] = [[9, 0, 1], [9, 0, 3]]
    np.testing.assert_array_equal(mesh.x[vertex[4:8]], hand)
    hand[[0, 2]] = 0
    np.testing.assert_array_equal(mesh.x[vertex[8:12]], hand)
    np.testing.assert_array_equal(mesh.x[vertex[12:]], np.maximum(whole / 127, -1))
    np.testing.assert_allclose(mesh.uv[:4], [[0, 1], [1, 1], [1, 0], [0, 0.8]], atol=1e-12)
    assert vertex[8] == vertex[10]  # both at the origin: the faces between them are gone
    assert len(mesh.faces) == 2 + 2 + 0 + 2


def test_strips_and_fans(tmp_path):
    maker = Maker()
    strip = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 2, 0]], dtype="<f4")
    maker.node(mesh=maker.mesh({"POSITION": strip}, None, mode=5))
    maker.node(mesh=maker.mesh({"POSITION": SQUARE}, np.array([3, 0, 1, 2], dtype="u1"), mode=6))
    maker.node(mesh=maker.mesh({"POSITION": SQUARE}, None, mode=1))
    mesh = read_mesh(maker.save(tmp_path / "a.glb"))
    assert mesh.faces.tolist() == [[0, 1, 2], [1, 3, 2], [2, 3, 4], [5, 6, 8], [6, 7, 8]]
    p = mesh.x[mesh.faces]
    assert (np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])[:, 2] > 0).all()


def test_nodes_names_and_materials(tmp_path):
    """One mesh at two nodes, one below a turned and scaled parent; two primitives share their vertices."""
    maker = Maker()
    mesh = maker.mesh({"POSITION": SQUARE}, TWO[:3], material=1)
    primitives = maker.document["meshes"][mesh]["primitives"]
    primitives.append(primitives[0] | {"indices": maker.accessor(TWO[3:]), "material": 0})
    half = math.sqrt(0.5)
    top = maker.node(rotation=[0, 0, half, half], scale=[2, 2, 2], translation=[0, 0, 5], children=[1])
    maker.node(name="below", mesh=mesh, matrix=[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 10, 0, 0, 1])
    alone = maker.node(mesh=mesh)
    maker.node(name="in another scene", mesh=mesh)
    maker.document |= {
        "materials": [{"name": "silk"}, {"name": "below"}],
        "scenes": [{"nodes": [3]}, {"nodes": [top, alone]}],
        "scene": 1,
    }
    path = maker.save(tmp_path / "a.glb")
    found = read_mesh(path)
    hand = [[-2 * y, 2 * (x + 10), 5] for x, y, _ in SQUARE] + SQUARE.tolist()
    np.testing.assert_allclose(found.x, hand, atol=1e-12)
    assert {k: v.tolist() for k, v in found.groups.items()} == {
        "below": [0, 1],
        "below (material)": [0, 2],
        "silk": [1, 3],
        "square": [2, 3],
    }
    write_mesh(tmp_path / "b.glb", found)
    back = read_mesh(tmp_path / "b.glb")
    assert bits(back.x) == bits(found.x.astype(np.float32).astype(np.float64))
    assert list(back.groups) == list(found.groups)
    assert [p.vertices for p in back.source.parts] == [(0, 4), (0, 4), (4, 8), (4, 8)]


def test_morph_targets_and_interpolations(tmp_path):
    up, aside = np.zeros((4, 3), dtype="<f4"), np.zeros((4, 3), dtype="<f4")
    up[2, 2], aside[0, 0] = 1, 1
    keys = [0, 0.5, 1]
    ways = {
        "LINEAR": [[0, 0], [1, 0], [0, 1]],
        "STEP": [[0, 0], [1, 0], [0, 1]],
        "CUBICSPLINE": [[0, 0], [0, 0], [2, 0], [0, 0], [1, 0], [0, 0], [0, 4], [0, 1], [0, 0]],
    }
    for way, values in ways.items():
        maker = Maker()
        targets = [{"POSITION": maker.accessor(up)}, {"POSITION": maker.accessor(aside)}]
        node = maker.node(mesh=maker.mesh({"POSITION": SQUARE}, targets=targets), weights=[0.25, 0])
        maker.animate((node, "weights", way, keys, np.ravel(values)[:, None]))
        frames = read_frames(maker.save(tmp_path / "a.gltf"))
        assert len(frames) == 25 and frames.mesh.x[2, 2] == 0.25
        for k, x in enumerate(frames.x):
            t = k / 24
            u = t % 0.5 / 0.5
            early = t < 0.5
            if way == "LINEAR":
                hand = (u, 0) if early else (1 - u, u)
            elif way == "STEP":
                hand = (0, 0) if early else (1, 0)
            else:
                low, high = 1 - 3 * u**2 + 2 * u**3, 3 * u**2 - 2 * u**3
                if early:
                    hand = (high + 0.5 * 2 * (u**3 - 2 * u**2 + u), 0)
                else:
                    hand = (low, high + 0.5 * 4 * (u**3 - u**2))
            if k == 24:
                hand = (0, 1)
            np.testing.assert_allclose([x[2, 2], x[0, 0]], hand, atol=1e-6)


def test_rotations_take_the_shorter_way_and_stay_rotations(tmp_path):
    """From 0 to 100 degrees about z, the second key with its sign turned; then as a cubic spline."""
    maker = Maker()
    node = maker.node(mesh=maker.mesh({"POSITION": SQUARE}), name="turning")
    half = math.radians(50)
    keys = [[0, 0, 0, 1], [0, 0, -math.sin(half), -math.cos(half)]]
    maker.animate((node, "rotation", "LINEAR", [0, 1], keys))
    maker.animate((node, "translation", "LINEAR", [0, 9], [[0, 0, 0], [9, 0, 0]]))  # the second one: not looked at
    frames = read_frames(maker.save(tmp_path / "a.glb"))
    assert len(frames) == 25
    for k, x in enumerate(frames.x):
        a = math.radians(100 * k / 24)
        np.testing.assert_allclose(x[1], [math.cos(a), math.sin(a), 0], atol=1e-6)
    zero = [0, 0, 0, 0]
    spline = [zero, keys[0], [0.5, 0, 0, 0], [0, 1, 0, 0], [-c for c in keys[1]], zero]
    maker.document["animations"] = []
    maker.animate((node, "rotation", "CUBICSPLINE", [0, 1], spline))
    frames = read_frames(maker.save(tmp_path / "b.glb"))
    lengths = np.linalg.norm(frames.x, axis=2)
    np.testing.assert_allclose(lengths, np.tile(np.linalg.norm(SQUARE, axis=1), (25, 1)), atol=1e-12)
    assert np.abs(frames.x[12][:, 2]).max() > 0.01


def test_two_sets_of_joints_and_weights_that_do_not_add_up(tmp_path):
    maker = Maker()
    joints = [maker.node(translation=[0, 0, float(10**k)]) for k in range(5)]
    first = np.array([[0, 1, 2, 3]] * 4, dtype="u1")
    weights = np.array([[64, 64, 64, 64], [0, 255, 0, 0], [0, 0, 0, 0], [0, 0, 0, 51]], dtype="u1")
    second = np.array([[4, 99, 99, 99]] * 4, dtype="u1")
    more = np.array([[0, 0, 0, 0], [255, 0, 0, 0], [0, 0, 0, 0], [153, 0, 0, 0]], dtype="u1")
    attributes = {
        "POSITION": SQUARE,
        "JOINTS_0": first,
        "WEIGHTS_0": maker.accessor(weights, normalized=True),
        "JOINTS_1": second,
        "WEIGHTS_1": maker.accessor(more, normalized=True),
    }
    maker.node(mesh=maker.mesh(attributes), skin=0, translation=[0, 500, 0])  # the node's own place plays no part
    maker.document["skins"] = [{"joints": joints}]
    mesh = read_mesh(maker.save(tmp_path / "a.glb"))
    hand = [1111 / 4, (10 + 10000) / 2, 1, (1000 + 3 * 10000) / 4]
    np.testing.assert_allclose(mesh.x, SQUARE + np.array([[0, 0, z] for z in hand]), atol=1e-9)


def test_vertices_that_move_differently_are_not_welded(tmp_path):
    maker = Maker()
    points = np.concatenate([SQUARE, SQUARE, SQUARE])
    weights = np.tile(np.array([[1, 0, 0, 0]], dtype="<f4"), (12, 1))
    weights[4:8] = [0.5, 0.5, 0, 0]
    weights[8:, 0] += 5e-7
    attributes = {"POSITION": points, "JOINTS_0": np.tile(np.array([[0, 1, 0, 0]], dtype="u1"), (12, 1))}
    indices = np.concatenate([TWO, TWO + 4, TWO + 8]).astype("<u2")
    maker.node(mesh=maker.mesh(attributes | {"WEIGHTS_0": weights}, indices), skin=0)
    maker.node(translation=[0, 0, 1])
    maker.node()
    maker.document["skins"] = [{"joints": [1, 2]}]
    mesh = read_mesh(maker.save(tmp_path / "a.glb"))
    assert mesh.source.vertex.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3]
    np.testing.assert_allclose(mesh.x[:, 2], [1] * 4 + [0.5] * 4, atol=1e-6)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_weld_is_what_comparing_all_pairs_gives(data):
    n = data.draw(st.integers(1, 12))
    number = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-50])
    weight = st.sampled_from([0.0, 1e-7, 0.5, 0.5 + 4e-7, 1.0])
    points = np.array([[data.draw(number) for _ in range(2)] for _ in range(n)])
    joints = np.array([data.draw(st.sampled_from([(0, 1), (1, 0), (0, 2), (2, 1)])) for _ in range(n)])
    weights = np.array([[data.draw(weight) for _ in range(2)] for _ in range(n)])
    vertex, first = weld(points, joints, weights)

    def influences(i):
        return sorted((j, w) for j, w in zip(joints[i].tolist(), weights[i].tolist()) if w > 1e-6)

    def same(i, j):
        a, b = influences(i), influences(j)
        return (
            (points[i] == points[j]).all()
            and [joint for joint, _ in a] == [joint for joint, _ in b]
            and all(abs(p - q) <= 1e-6 for (_, p), (_, q) in zip(a, b))
        )

    for i in range(n):
        for j in range(n):
            assert same(i, j) == (vertex[i] == vertex[j])
    assert [vertex.tolist().index(k) for k in range(len(first))] == first.tolist()
    assert (np.diff(first) > 0).all()


# --- writing meshes that are not from glTF ---


@settings(max_examples=50, deadline=None)
@given(mesh=polygon_meshes(single_numbers, groups=False))
def test_any_mesh_with_distinct_vertices_comes_back(tmp_path_factory, mesh):
    mesh = mesh.moved(np.round(mesh.x) + np.arange(len(mesh.x))[:, None] * [4096, 0, 0])
    path = tmp_path_factory.mktemp("glb") / "a.glb"
    write_mesh(path, mesh)
    once = read_mesh(path)
    np.testing.assert_array_equal(once.x, mesh.x)
    assert bits(once.faces) == bits(mesh.faces)
    if mesh.uv is None:
        assert once.uv is None
    else:
        np.testing.assert_allclose(corner_uv(once), np.nan_to_num(corner_uv(mesh)), rtol=1e-6, atol=1e-6)
    write_mesh(path, once)
    twice = read_mesh(path)
    np.testing.assert_array_equal(twice.x, once.x)
    assert bits(twice.source.vertex) == bits(once.source.vertex) and bits(twice.face_uv) == bits(once.face_uv)


def test_only_what_differs_is_split(tmp_path):
    """Two triangles with a seam along their common edge: its two vertices are there twice, and no other."""
    uv = [[0, 0], [1, 0], [1, 1], [0, 1], [5, 5], [6, 6]]
    mesh = TriMesh(SQUARE, [[0, 1, 2], [0, 2, 3]], uv=uv, face_uv=[[0, 1, 2], [4, 5, 3]], name="panel")
    write_mesh(tmp_path / "a.glb", mesh)
    document, _ = plain_parts(tmp_path / "a.glb")
    assert document["accessors"][0]["count"] == 6 and document["nodes"] == [{"name": "panel", "mesh": 0}]
    back = read_mesh(tmp_path / "a.glb")
    assert bits(back.x) == bits(mesh.x) and len(back.seams) == 1
    np.testing.assert_array_equal(corner_uv(back), corner_uv(mesh))
    write_mesh(tmp_path / "b.glb", TriMesh(SQUARE, mesh.faces))
    assert plain_parts(tmp_path / "b.glb")[0]["accessors"][0]["count"] == 4


def test_a_mesh_with_other_uv_than_its_file_is_written_with_its_own(tmp_path):
    maker = Maker()
    maker.node(mesh=maker.mesh({"POSITION": SQUARE, "TEXCOORD_0": SQUARE[:, :2].copy()}))
    mesh = read_mesh(maker.save(tmp_path / "a.glb"))
    other = TriMesh(mesh.x, mesh.faces, uv=[[0.5, 0.25]], face_uv=[[0] * 3] * 2, source=mesh.source)
    write_mesh(tmp_path / "b.glb", other)
    np.testing.assert_array_equal(corner_uv(read_mesh(tmp_path / "b.glb")), corner_uv(other))


# --- what cannot be read ---


def square_file(change=None):
    maker = Maker()
    node = maker.node(mesh=maker.mesh({"POSITION": SQUARE}))
    maker.animate((node, "translation", "LINEAR", [0, 1], [[0, 0, 0], [1, 0, 0]]))
    if change is not None:
        change(maker.document)
    return maker


def require(extension):
    return lambda d: d.update(extensionsRequired=[extension])


def put(*path_and_value):
    *path, value = path_and_value

    def change(document):
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (require("KHR_draco_mesh_compression"), "Draco"),
        (require("EXT_meshopt_compression"), "meshopt"),
        (put("asset", "version", "1.0"), "version 2"),
        (put("nodes", 0, "children", [0]), "circle"),
        (put("nodes", 0, "children", [7]), "nodes '7' does not exist"),
        (put("nodes", 0, "mesh", -1), "meshes '-1' does not exist"),
        (put("nodes", 0, "skin", 0), "joints"),
        (put("nodes", 0, "rotation", [0, 0, 0, 0]), "rotation"),
        (put("nodes", 0, "translation", [math.inf, 0, 0]), "infinite"),
        (put("nodes", []), "no triangles"),
        (put("meshes", 0, "primitives", 0, "mode", 0), "no triangles"),
        (put("meshes", 0, "primitives", 0, "attributes", {}), "not a valid glTF"),
        (put("accessors", 0, "count", 5), "do not fit"),
        (put("accessors", 0, "count", 10**15), "do not fit"),
        (put("accessors", 0, {"count": 10**15, "type": "VEC3", "componentType": 5126}), "more than the file"),
        (put("accessors", 0, "count", 3), "out of range"),
        (put("accessors", 0, "count", "4"), "not a number"),
        (put("accessors", 1, "componentType", 5126), "whole numbers|do not fit"),
        (put("bufferViews", 0, "byteOffset", 10**9), "past the end"),
        (put("accessors", 2, "max", [1000.0]), "claims to end"),
        (put("animations", 0, "extras", {"fps": 1e9}), "too long"),
    ],
)
def test_files_that_are_no_mesh(tmp_path, change, said):
    for ending in ("glb", "gltf"):
        path = square_file(change).save(tmp_path / f"a.{ending}")
        with pytest.raises(BadInput, match=said) as error:
            read_frames(path)
        assert "\n" not in str(error.value) and str(error.value).count(str(path)) == 1


def test_files_that_are_cut_off_or_something_else(tmp_path):
    whole = square_file().save(tmp_path / "whole.glb").read_bytes()
    path = tmp_path / "a.glb"
    for data in (
        *(whole[:k] for k in range(0, len(whole) - 1, 37)),
        b"{}",
        b"[" * 100_000,
        b"\xff\xfe",
        b"null",
    ):
        path.write_bytes(data)
        with pytest.raises(BadInput) as error:
            read_mesh(path)
        assert "\n" not in str(error.value) and str(error.value).startswith(f"{path}: ")


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Cut off, with flipped bits, with bytes replaced, or with a number in the JSON replaced."""
    data = bytearray(data)
    kind = chance.randrange(4)
    if kind == 0:
        return bytes(data[: chance.randrange(len(data))])
    if kind == 1:
        for _ in range(chance.choice([1, 4, 40])):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        return bytes(data)
    if kind == 2:
        at = chance.randrange(len(data))
        data[at : at + 16] = bytes(chance.randrange(256) for _ in data[at : at + 16])
        return bytes(data)
    digits = [i for i in range(20, len(data)) if chr(data[i]) in "0123456789"][:20_000]
    for _ in range(chance.choice([1, 3])):
        data[chance.choice(digits)] = ord(chance.choice('0123456789-.e"[]{}n'))
    return bytes(data)


@pytest.mark.parametrize("name", ["CesiumMan.glb", "Fox.glb", "RiggedFigure.glb", "morphs.glb", "square.gltf"])
def test_damaged_files(data, tmp_path, name):
    if name == "morphs.glb":
        frames = read_frames(data / "characters" / "RiggedFigure.glb")
        write_frames(tmp_path / name, Frames(frames.mesh, frames.x[:5]))
    source = data / "characters" / name if name in {f"{c}.glb" for c in CHARACTERS} else tmp_path / name
    if name == "square.gltf":
        square_file().save(source)
    whole = source.read_bytes()
    path = tmp_path / f"damaged{source.suffix}"
    chance = random.Random(name)
    good = bad = 0
    for _ in range(200):
        path.write_bytes(damaged(whole, chance))
        try:
            assert len(read_frames(path).mesh.faces) > 0
            good += 1
        except BadInput as error:
            assert "\n" not in str(error) and str(error).startswith(f"{path}: ")
            bad += 1
    assert good > 0 and bad > 10
