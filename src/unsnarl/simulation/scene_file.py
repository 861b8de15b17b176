"""Scenes from TOML files; `docs/simulate.md` describes them.

The tables below say which keys there are and what kind of value each takes; what the values mean, and their ranges, is
checked where it is known: by `Scene`, `Cloth`, `Body`, `Wind`, `Material` and the readers of meshes. Whatever is wrong
comes out as one `BadInput` that names the file, the line and the key: `drape.toml: line 7: cloth[0].material: ...`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, create_model
from pydantic_core import PydanticCustomError

from unsnarl.energies.materials import MATERIALS, Material
from unsnarl.errors import BadInput
from unsnarl.io import Frames, read_frames, read_mesh, sequence
from unsnarl.io.corners import same_polygons
from unsnarl.io.indices import read_indices
from unsnarl.io.tables import Table, TableReader, only
from unsnarl.mesh import TriMesh, primitives, split_non_manifold
from unsnarl.mesh.rest import rest_from_positions, rest_from_uv
from unsnarl.simulation.scene import Body, Cloth, Scene, Wind, between_frames

_LONG = 3600.0  # for how long a body keeps its velocity [s]


@dataclass(frozen=True)
class SceneFile:
    """What a scene file says.

    output : where the frames go when the command does not say; a path as text (a folder may end in /), or None
    inputs : the scene file, and every file that it names
    """

    scene: Scene
    output: str | None
    inputs: tuple[Path, ...]


def read_scene(path: str | Path) -> Scene:
    """The scene in a TOML file. Paths in it are relative to the file."""
    return read_scene_file(path).scene


def read_scene_file(path: str | Path) -> SceneFile:
    return _Reader(Path(path)).read()


# --- what may be in a file ---


def _pins(value: Any) -> Any:
    """A name, whole numbers, or {box = [[x, y, z], [x, y, z]]}, which becomes an array (2, 3)."""
    if isinstance(value, str) or (isinstance(value, list) and all(type(v) is int for v in value)):
        return value
    if isinstance(value, dict) and set(value) == {"box"}:
        try:
            box = np.array(value["box"], dtype=np.float64)
        except (TypeError, ValueError):
            box = np.empty(0)
        if box.shape == (2, 3) and np.isfinite(box).all():
            return box
        raise PydanticCustomError("box", "box must be the two corners of a box: [[x, y, z], [x, y, z]]")
    raise PydanticCustomError(
        "pins",
        "must be 'boundary', 'corners', a list of vertices, {box = [[x, y, z], [x, y, z]]} or the name of a file",
    )


Pair = Annotated[list[float], Field(min_length=2, max_length=2)]
Triple = Annotated[list[float], Field(min_length=3, max_length=3)]


class _Sheet(Table):
    size: Pair
    resolution: Annotated[list[int], Field(min_length=2, max_length=2)] | None = None
    edge: float | None = None
    diagonals: Annotated[str, only("alternating", "parallel")] = "alternating"


class _Sphere(Table):
    radius: float
    center: Triple = (0.0, 0.0, 0.0)
    triangles: int = 1280


class _Box(Table):
    size: Triple
    resolution: Annotated[list[int], Field(min_length=3, max_length=3)] | None = None
    edge: float | None = None


class _Wind(Table):
    velocity: Triple | None = None
    drag: float | None = None
    lift: float | None = None
    gusts: float | None = None


class _Placed(Table):
    """What cloths and bodies have in common."""

    name: str | None = None
    mesh: str | None = None
    split_non_manifold: bool = False
    scale: float = 1.0
    rotate: Triple | None = None
    position: Triple | None = None
    velocity: Triple | None = None


class _Cloth(_Placed):
    sheet: _Sheet | None = None
    material: str | None = None
    pins: Annotated[Any, BeforeValidator(_pins)] = None
    pin_motion: str | None = None
    rest: str = "mesh"
    uv_scale: float = 1.0
    flat: bool | None = None


class _Body(_Placed):
    sphere: _Sphere | None = None
    box: _Box | None = None
    plane: _Sheet | None = None
    fps: float | None = None
    friction: float | None = None


_figures = {field.name: (float | None, None) for field in fields(Material)[1:]}
_Material = create_model("_Material", __base__=Table, like=(str | None, None), **_figures)


class _File(Table):
    name: str | None = None
    output: str | None = None
    frames: int | None = None
    fps: float | None = None
    substeps: int | None = None
    gravity: float | None = None
    up: Annotated[str, only("x", "y", "z")] = "y"  # here, because sheets are laid across it
    air: float | None = None
    thickness: float | None = None
    friction: float | None = None
    resolver: str | None = None
    untangle: str | None = None
    materials: dict[str, _Material] = Field(default_factory=dict)
    wind: _Wind | None = None
    cloth: list[_Cloth] = Field(default_factory=list)
    body: list[_Body] = Field(default_factory=list)


# --- from tables to a scene ---


class _Reader(TableReader):
    """One file. `key` is where something stands: ("cloth", 0, "mesh")."""

    def __init__(self, path: Path):
        super().__init__(path)
        self.inputs = [path]

    def read(self) -> SceneFile:
        file = self.validated(_File, self.toml())
        keys = ("frames", "fps", "substeps", "gravity", "up", "air", "thickness", "friction", "resolver", "untangle")
        name = self.path.stem if file.name is None else file.name
        materials = self._materials(file.materials)
        frame_rate = file.given("fps").get("fps", Scene.fps)
        if not file.cloth:
            raise self.trouble((), "there is no cloth in it: it needs a table [[cloth]]")
        if not frame_rate > 0:
            raise self.trouble(("fps",), f"must be a positive number, not {frame_rate}")
        cloths = [self._cloth(("cloth", k), c, file.up, frame_rate, materials) for k, c in enumerate(file.cloth)]
        bodies = [self._body(("body", k), b, file.up, frame_rate) for k, b in enumerate(file.body)]
        wind = None
        if file.wind is not None:
            with self.blame(("wind",), "wind", file.wind):
                wind = Wind(**file.wind.given("velocity", "drag", "lift", "gusts"))
        with self.blame((), name, file):
            scene = Scene(cloths, bodies, wind, **file.given(*keys), name=name)
        output = file.output
        if output is not None:
            output = str(self._file(output)) + ("/" if output.endswith(("/", "\\")) else "")
        return SceneFile(scene, output, tuple(self.inputs))

    # --- materials ---

    def _materials(self, tables: dict[str, Table]) -> dict[str, Material]:
        """All materials: the file's own go before those of the library."""
        known = dict(MATERIALS)
        for name in tables:
            known[name] = self._material(name, tables, ())
        return known

    def _material(self, name: str, tables: dict[str, Table], waiting: tuple[str, ...]) -> Material:
        """An own material; those `waiting` are like it."""
        key, table = ("materials", name), tables[name]
        values = {k: v for k, v in table.given(*type(table).model_fields).items() if k != "like"}
        if table.like is None:
            missing = [f.name for f in fields(Material)[1:] if f.name != "damping" and f.name not in values]
            if missing:
                raise self.trouble(key, f"{', '.join(missing)}: missing; or say which material it is like")
            with self.blame(key, f"material {name}", table):
                return Material(name, **values)
        if table.like == name and name in MATERIALS:
            base = MATERIALS[name]
        elif table.like in (name, *waiting):
            raise self.trouble((*key, "like"), f"goes in a circle: {' like '.join((*waiting, name, table.like))}")
        elif table.like in tables:
            base = self._material(table.like, tables, (*waiting, name))
        else:
            base = self._chosen((*key, "like"), table.like, {**MATERIALS, **tables})
        with self.blame(key, f"material {name}", table):
            return replace(base, name=name, **values)

    def _chosen(self, key: tuple, name: str, known: dict) -> Any:
        if name in known:
            return known[name]
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known))}"
        raise self.trouble(key, f"there is no material {name!r}; {hint}")

    # --- cloths and bodies ---

    def _cloth(self, key: tuple, table: _Cloth, up: str, fps: float, materials: dict[str, Material]) -> Cloth:
        self.one_of(key, table, "mesh", "sheet")
        for scale in ("scale", "uv_scale"):
            self.positive((*key, scale), getattr(table, scale))
        if table.mesh is not None:
            with self.blame((*key, "mesh")):
                mesh = read_mesh(self._input(table.mesh))
        else:
            with self.blame((*key, "sheet"), "sheet", table.sheet):
                mesh = self._sheet(table.sheet, up, "sheet")
        corners = None if table.sheet is None else primitives.sheet_corners(_resolution(table.sheet))
        mesh = self._at_rest(key, table, mesh)
        whole = mesh
        if table.split_non_manifold:
            mesh = split_non_manifold(mesh)
        mesh = self._placed(key, table, mesh)
        pins = self._pinned(key, table, mesh, corners)
        targets = None
        if table.pin_motion is not None:
            targets = self._pin_motion(key, table, whole, pins, fps)
        options = table.given("velocity", "flat")
        options["material"] = self._chosen((*key, "material"), table.material or Cloth.material, materials)
        with self.blame(key, mesh.name, table):
            return Cloth(mesh, pins=pins, targets=targets, **options)

    def _sheet(self, table: _Sheet, up: str, name: str) -> TriMesh:
        return primitives.sheet(
            table.size,
            table.resolution,
            edge=table.edge,
            alternating=table.diagonals == "alternating",
            up=up,
            name=name,
        )

    def _at_rest(self, key: tuple, table: _Cloth, mesh: TriMesh) -> TriMesh:
        """The mesh with its rest shapes, before it is placed."""
        if table.rest == "mesh":
            return mesh
        with self.blame((*key, "rest")):
            if table.rest == "uv":
                if mesh.uv is None:
                    raise BadInput(f"{mesh.name} has no texture coordinates")
                return mesh.with_rest(rest_from_uv(mesh.uv, mesh.face_uv) * (table.uv_scale / table.scale))
            file = self._input(table.rest)
            other = read_mesh(file)
            if not same_polygons(other, mesh):
                raise BadInput(f"{file}: has other vertices or faces than {mesh.name}")
            return mesh.with_rest(rest_from_positions(other.x, mesh.faces))

    def _pinned(self, key: tuple, table: _Cloth, mesh: TriMesh, corners: np.ndarray | None) -> Any:
        """What the file says about pins, as `Cloth` takes it."""
        key, pins = (*key, "pins"), table.pins
        if pins is None:
            return ()
        if isinstance(pins, np.ndarray):
            low, high = pins.min(axis=0), pins.max(axis=0)
            inside = np.flatnonzero(((mesh.x >= low) & (mesh.x <= high)).all(axis=1))
            if len(inside) == 0:
                raise self.trouble(key, f"no vertex of {mesh.name} is in the box")
            return inside
        if pins == "corners":
            if corners is None:
                raise self.trouble(key, "'corners' are those of a sheet; a mesh file needs a list of vertices")
            return corners
        if isinstance(pins, str) and pins != "boundary":
            file = self._file(pins)
            if not file.is_file():
                near = get_close_matches(pins, ("boundary", "corners"), 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise self.trouble(key, f"{pins!r} is neither 'boundary' nor 'corners', nor a file{hint}")
            self.inputs.append(file)
            with self.blame(key):
                return read_indices(file)
        return pins

    def _pin_motion(self, key: tuple, table: _Cloth, mesh: TriMesh, pins: Any, fps: float) -> np.ndarray:
        """(k, p, 3) where the pins are at the scene's frames [m]. mesh: as it came, neither split nor placed."""
        key = (*key, "pin_motion")
        with self.blame(key):
            file = self._input(table.pin_motion)
            motion = self._frames(file, fps, mesh if file.suffix.lower() == ".pc2" else None)
            if motion.x.shape[1] != len(mesh.x):
                raise BadInput(f"{file}: has {motion.x.shape[1]} vertices, the cloth has {len(mesh.x)}")
        split = split_non_manifold(mesh) if table.split_non_manifold else mesh
        if isinstance(pins, str):
            pins = np.flatnonzero(split.boundary_vertices)
        pins = np.asarray(pins, dtype=np.int64)
        if len(pins) == 0:
            raise self.trouble(key, "there are no pins to move")
        if pins.min() < 0 or pins.max() >= len(split.x):
            raise self.trouble((*key[:-1], "pins"), f"a pin is not one of the {len(split.x)} vertices")
        x = motion.x[:, pins if split.origin is None else split.origin[pins]]
        if motion.fps != fps:
            last = int(np.ceil((len(motion) - 1) / motion.fps * fps - 1e-9))
            x = np.stack([between_frames(x, k / fps * motion.fps) for k in range(last + 1)])
        return _moved(x, table)

    def _body(self, key: tuple, table: _Body, up: str, fps: float) -> Body:
        shape = self.one_of(key, table, "mesh", "sphere", "box", "plane")
        self.positive((*key, "scale"), table.scale)
        if table.fps is not None and (shape != "mesh" or not table.fps > 0):
            raise self.trouble((*key, "fps"), "must be a positive number, of a body whose mesh moves")
        with self.blame((*key, shape), shape, getattr(table, shape)):
            if shape == "mesh":
                file = self._input(table.mesh)
                motion = self._frames(file, fps)
                motion = motion if table.fps is None else replace(motion, fps=table.fps)
            else:
                mesh = self._primitive(table, up)
                motion = Frames(mesh, mesh.x[None], fps)
        if table.split_non_manifold:
            mesh = split_non_manifold(motion.mesh)
            motion = replace(motion, mesh=mesh, x=motion.x if mesh.origin is None else motion.x[:, mesh.origin])
        mesh = self._placed(key, table, motion.mesh)
        with self.blame(key, mesh.name):
            motion = Frames(mesh, _moved(motion.x, table), motion.fps)
        if table.velocity is not None:
            if len(motion) > 1:
                raise self.trouble((*key, "velocity"), "is for bodies that do not move by themselves")
            far = motion.x + _LONG * np.array(table.velocity)
            motion = Frames(motion.mesh, np.concatenate([motion.x, far]), 1 / _LONG)
        with self.blame(key, motion.mesh.name, table):
            return Body(motion, **table.given("friction"))

    def _primitive(self, table: _Body, up: str) -> TriMesh:
        if table.sphere is not None:
            mesh = primitives.sphere(table.sphere.radius, table.sphere.triangles)
            return mesh.moved(mesh.x + table.sphere.center)
        if table.box is not None:
            undivided = (1, 1, 1) if table.box.edge is None and table.box.resolution is None else None
            return primitives.box(table.box.size, table.box.resolution or undivided, edge=table.box.edge)
        plane = table.plane
        if plane.edge is None and plane.resolution is None:
            plane = plane.model_copy(update={"resolution": [1, 1]})
        return self._sheet(plane, up, "plane")

    def _frames(self, file: Path, fps: float, mesh: TriMesh | None = None) -> Frames:
        """A mesh in motion; numbered files and point caches have no frame rate, they are at the scene's frames."""
        motion = read_frames(file, mesh=mesh)
        no_rate = file.suffix.lower() == ".pc2" or file.is_dir() or sequence.is_numbered(file)
        return replace(motion, fps=fps) if no_rate else motion

    def _placed(self, key: tuple, table: _Placed, mesh: TriMesh) -> TriMesh:
        x = _moved(mesh.x, table)
        if not np.isfinite(x).all():
            raise self.trouble(key, f"{mesh.name} comes to lie too far away")
        mesh = mesh.moved(x)
        if table.scale != 1.0:
            mesh = mesh.with_rest(mesh.rest * table.scale)
        if table.name is None:
            return mesh
        if not table.name.strip():
            raise self.trouble((*key, "name"), "must not be empty")
        return mesh.named(table.name)

    # --- files and troubles ---

    def _file(self, name: str) -> Path:
        return self.path.parent / Path(name).expanduser()

    def _input(self, name: str) -> Path:
        self.inputs.append(self._file(name))
        return self.inputs[-1]


def _resolution(table: _Sheet) -> tuple[int, int]:
    """Squares along width and height of a sheet that could be made."""
    return tuple(primitives.squares(table.size, table.resolution, table.edge).tolist())


def _moved(x: np.ndarray, table: _Placed) -> np.ndarray:
    """x (..., 3) scaled, then turned about the axes x, y and z, in this order, then shifted."""
    with np.errstate(over="ignore", invalid="ignore"):
        x = x * table.scale
        for axis, degrees in enumerate(table.rotate or ()):
            x = x @ _turn(axis, degrees).T if degrees else x
        return x + (0.0 if table.position is None else np.array(table.position))


def _turn(axis: int, degrees: float) -> np.ndarray:
    """(3, 3) rotation about an axis; exact by right angles."""
    quarter = degrees / 90
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    if quarter == round(quarter):
        c, s = round(c), round(s)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[j, j] = matrix[k, k] = c
    matrix[j, k], matrix[k, j] = -s, s
    return matrix
