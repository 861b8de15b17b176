"""What a scene is, in few letters: to notice that it has changed since a run began."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from unsnarl.simulation.scene import Scene

_LEFT_OUT = ("source", "frames")  # what a format has beside the mesh, which moves nothing; how long the scene goes on


def digests(scene: Scene) -> dict[str, str]:
    """Part of the scene, as in "cloth[0]", "wind" or "fps" -> digest of all its arrays and numbers."""
    parts = {f"cloth[{k}]": cloth for k, cloth in enumerate(scene.cloths)}
    parts |= {f"body[{k}]": body for k, body in enumerate(scene.bodies)}
    parts |= {f.name: getattr(scene, f.name) for f in fields(scene) if f.name not in ("cloths", "bodies", *_LEFT_OUT)}
    return {key: digest(part) for key, part in parts.items()}


def digest(thing: Any) -> str:
    """The same for things that are equal bit for bit, and else another."""
    sha = hashlib.sha256()
    _feed(sha, thing)
    return sha.hexdigest()[:32]


def _feed(sha, thing: Any) -> None:
    if isinstance(thing, np.ndarray):
        sha.update(f"<{thing.dtype.str} {thing.shape}>".encode())
        sha.update(np.ascontiguousarray(thing).tobytes())
    elif is_dataclass(thing):
        sha.update(f"<{type(thing).__name__}>".encode())
        for field in fields(thing):
            if field.name not in _LEFT_OUT:
                sha.update(f"<.{field.name}>".encode())
                _feed(sha, getattr(thing, field.name))
    elif isinstance(thing, dict):
        sha.update(f"<dict {len(thing)}>".encode())
        for key, value in thing.items():
            _feed(sha, key)
            _feed(sha, value)
    elif isinstance(thing, (list, tuple)):
        sha.update(f"<list {len(thing)}>".encode())
        for value in thing:
            _feed(sha, value)
    else:
        thing = thing.item() if isinstance(thing, np.generic) else thing
        sha.update(f"<{thing!r}>".encode())
