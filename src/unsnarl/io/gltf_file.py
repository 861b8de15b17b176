"""The container of glTF 2.0: its JSON, its buffers, and accessors as arrays.

A file is either GLB (a header and chunks, the JSON first) or plain JSON; buffers are the binary chunk, data:
URIs or files beside it. Everything that an accessor names is checked against the size of its buffer before it
is looked at.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from unsnarl.errors import BadInput

_NUMBER = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTH = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_COMPRESSED = {
    "KHR_draco_mesh_compression": "compressed with Draco",
    "EXT_meshopt_compression": "compressed with meshopt",
    "KHR_meshopt_compression": "compressed with meshopt",
    "EXT_mesh_gpu_instancing": "instanced on the GPU",
}


@dataclass(frozen=True, eq=False)
class GltfFile:
    """json : the document; buffers : the bytes of each buffer."""

    json: dict
    buffers: list[bytes]

    def item(self, kind: str, index) -> dict:
        """Object `index` of one of the document's lists: nodes, meshes, accessors, ..."""
        found = self.json.get(kind, [])
        if type(index) is not int or not 0 <= index < len(found):
            raise BadInput(f"{kind} {str(index)[:20]!r} does not exist")
        return found[index]

    def bytes_of(self, view: int) -> memoryview:
        """The bytes of a buffer view."""
        v = self.item("bufferViews", view)
        self.item("buffers", v["buffer"])
        data = self.buffers[v["buffer"]]
        start, size = _whole(v.get("byteOffset", 0)), _whole(v["byteLength"])
        if start + size > len(data):
            raise BadInput(f"buffer view {view} reaches past the end of its buffer")
        return memoryview(data)[start : start + size]

    def numbers(self, accessor: int, width: int) -> np.ndarray:
        """(count, width) float64; normalized integers are taken to 0 .. 1 or -1 .. 1."""
        raw = self.raw(accessor, width)
        values = raw.astype(np.float64)
        if raw.dtype.kind != "f" and self.item("accessors", accessor).get("normalized", False):
            values = np.maximum(values / np.iinfo(raw.dtype).max, -1.0)
        return values

    def integers(self, accessor: int, width: int) -> np.ndarray:
        """(count, width) int64."""
        raw = self.raw(accessor, width)
        if raw.dtype.kind == "f":
            raise BadInput(f"accessor {accessor} has to hold whole numbers")
        return raw.astype(np.int64)

    def raw(self, accessor: int, width: int) -> np.ndarray:
        """(count, width) of the type in the file."""
        a = self.item("accessors", accessor)
        count, kind = _whole(a["count"]), np.dtype(_NUMBER[a["componentType"]])
        if _WIDTH.get(a["type"]) != width:
            raise BadInput(f"accessor {accessor} does not hold {width} numbers in a row")
        if "bufferView" in a:
            values = self._rows(a["bufferView"], a.get("byteOffset", 0), kind, count, width)
        else:
            if count > sum(map(len, self.buffers)):
                raise BadInput(f"accessor {accessor} claims {count} values, more than the file has bytes")
            values = np.zeros((count, width), dtype=kind)
        if "sparse" not in a:
            return values
        sparse = a["sparse"]
        many, at, new = _whole(sparse["count"]), sparse["indices"], sparse["values"]
        index_kind = np.dtype(_NUMBER[at["componentType"]])
        where = self._rows(at["bufferView"], at.get("byteOffset", 0), index_kind, many, 1)[:, 0].astype(np.int64)
        if many and not (where.min() >= 0 and where.max() < count):
            raise BadInput(f"accessor {accessor} replaces values that it does not have")
        values = values.copy()
        values[where] = self._rows(new["bufferView"], new.get("byteOffset", 0), kind, many, width)
        return values

    def _rows(self, view: int, offset, kind: np.dtype, count: int, width: int) -> np.ndarray:
        data = self.bytes_of(view)
        size = kind.itemsize * width
        stride = _whole(self.item("bufferViews", view).get("byteStride", 0)) or size
        if _whole(offset) + (stride * (count - 1) + size if count else 0) > len(data):
            raise BadInput(f"{count} values do not fit into buffer view {view}")
        return np.ndarray((count, width), kind, data, offset, (stride, kind.itemsize))


def open_gltf(path: Path) -> GltfFile:
    """Read a .glb or .gltf; which of the two it is, its first bytes say."""
    data = path.read_bytes()
    binary = None
    if data[:4] == b"glTF":
        data, binary = _chunks(data)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"its JSON cannot be read ({error})") from None
    if not isinstance(document, dict) or str(document["asset"]["version"]).split(".")[0] != "2":
        raise BadInput("not glTF of version 2")
    for name in document.get("extensionsRequired", []):
        if name in _COMPRESSED:
            raise BadInput(f"its meshes are {_COMPRESSED[name]} ({name}), which is not supported")
    buffers = []
    for i, buffer in enumerate(document.get("buffers", [])):
        found = binary if i == 0 and "uri" not in buffer else _at_uri(path, buffer.get("uri"))
        if found is None or len(found) < _whole(buffer["byteLength"]):
            raise BadInput(f"buffer {i} is shorter than the {buffer['byteLength']} bytes that it should have")
        buffers.append(found)
    return GltfFile(document, buffers)


def _chunks(data: bytes) -> tuple[bytes, bytes | None]:
    """The JSON and the binary chunk of a GLB."""
    if len(data) < 20:
        raise BadInput("cut off within its header")
    _, version, length, size, kind = struct.unpack_from("<4sIII4s", data)
    if version != 2:
        raise BadInput(f"glTF of version {version}, only 2 can be read")
    if length > len(data) or 20 + size > length or kind != b"JSON":
        raise BadInput("cut off, or not a GLB file")
    text, rest = data[20 : 20 + size], data[20 + size : length]
    if len(rest) < 8:
        return text, None
    size, kind = struct.unpack_from("<I4s", rest)
    if kind != b"BIN\0" or 8 + size > len(rest):
        raise BadInput("its binary part is cut off")
    return text, rest[8 : 8 + size]


def _at_uri(path: Path, uri) -> bytes | None:
    """The bytes of a data: URI, or of a file beside `path`."""
    if uri is None:
        return None
    if uri.startswith("data:"):
        head, _, body = uri.partition(",")
        if not head.endswith(";base64"):
            raise BadInput("a buffer is given in another encoding than base64")
        try:
            return base64.b64decode(body, validate=True)
        except binascii.Error as error:
            raise BadInput(f"a buffer is not base64 ({error})") from None
    beside = path.parent / unquote(uri)
    if beside.exists() and not beside.is_file():
        raise BadInput(f"its buffer {uri[:80]!r} is not a file")
    try:
        return beside.read_bytes()
    except (OSError, ValueError):
        raise BadInput(f"its buffer {uri[:80]!r} cannot be read") from None


def _whole(value) -> int:
    """A number of things or bytes, as JSON should have it."""
    if type(value) is not int or value < 0:
        raise BadInput(f"{str(value)[:40]!r} is not a number of bytes or values")
    return value
