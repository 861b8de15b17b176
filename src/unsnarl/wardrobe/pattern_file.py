"""Patterns from files: our own (TOML, or the same tables in JSON), and the JSON of GarmentCode's pattern generator.

`docs/garments.md` describes ours. In GarmentCode's (Korosteleva and Lee 2021), panels have vertices, edges between them
with the control point of a quadratic curve relative to the edge, a translation and a rotation; stitches join an edge of
one panel to one of another; `units_in_meter` says how long a unit is.
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from unsnarl.energies.materials import MATERIALS
from unsnarl.errors import BadInput
from unsnarl.io.tables import Table, TableReader, only
from unsnarl.wardrobe.motions import POSES
from unsnarl.wardrobe.pattern import Panel, Pattern, Piece, Seam

Triple = Annotated[list[float], Field(min_length=3, max_length=3)]
Point = Annotated[list[float], Field(min_length=2, max_length=2)]


class _Panel(Table):
    name: str
    corners: Annotated[list[Point], Field(min_length=3)] | None = None
    edges: list[str] | None = None
    curves: dict[str, list[float]] = Field(default_factory=dict)
    mirror: str | None = None
    position: Triple | None = None
    rotate: Triple | None = None
    wrap: float | None = None


class _Seam(Table):
    between: Annotated[list[Any], Field(min_length=2, max_length=2)]
    stage: Annotated[int, Field(ge=1, le=100)] = 1


class _Garment(Table):
    name: str | None = None
    material: str | None = None
    pose: str | None = None
    panel: list[_Panel] = Field(default_factory=list)
    seam: list[_Seam] = Field(default_factory=list)


class _Foreign(Table):
    """A table of another program's file: what is not known here is passed over."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, table: Any) -> Any:
        if not isinstance(table, dict):
            raise PydanticCustomError("table", "must be a table")
        return table


def _curvature(value: Any) -> Any:
    """Control points: [along, left], or {type = "quadratic" or "cubic", params = [[along, left], ...]}."""
    points = value
    if isinstance(value, dict):
        count = {"quadratic": 1, "cubic": 2}.get(value.get("type"))
        points = value.get("params")
        if count is None or not isinstance(points, list) or len(points) != count:
            raise PydanticCustomError("curve", "must be quadratic or cubic, with one or two control points")
    elif isinstance(value, list):
        points = [value]
    try:
        points = np.array(points, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        points = np.empty(0)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise PydanticCustomError("curve", "must be a control point, two numbers")
    return points


class _CodeEdge(_Foreign):
    endpoints: Annotated[list[int], Field(min_length=2, max_length=2)]
    curvature: Annotated[Any, BeforeValidator(_curvature)] = None


class _CodePanel(_Foreign):
    vertices: list[Point]
    edges: Annotated[list[_CodeEdge], Field(min_length=3)]
    translation: Triple = Field(default_factory=lambda: [0.0, 0.0, 0.0])
    rotation: Triple = Field(default_factory=lambda: [0.0, 0.0, 0.0])


class _CodeSide(_Foreign):
    panel: str
    edge: int


class _CodePattern(_Foreign):
    panels: Annotated[dict[str, _CodePanel], Field(min_length=1)]
    stitches: list[Annotated[list[_CodeSide], Field(min_length=2, max_length=2)]] = Field(default_factory=list)


class _CodeProperties(_Foreign):
    curvature_coords: Annotated[str, only("relative")] = "relative"
    units_in_meter: float = 100.0


class _Code(_Foreign):
    pattern: _CodePattern
    properties: _CodeProperties = Field(default_factory=_CodeProperties)


def read_garment(path: str | Path) -> Pattern:
    """The pattern in a file: TOML, JSON with the same tables, or GarmentCode's JSON."""
    if not isinstance(path, (str, Path)) or "\0" in str(path):
        raise BadInput(f"a pattern is read from a file, not from {path!r}")
    return _Reader(Path(path)).read()


def garment(name: str) -> Pattern:
    """A garment of the wardrobe, by name."""
    if not isinstance(name, str) or name not in GARMENTS:
        raise BadInput(f"no garment is called {name!r}; there are {', '.join(GARMENTS)}")
    return read_garment(_FOLDER / f"{name}.toml")


_FOLDER = Path(str(files("unsnarl.wardrobe") / "garments"))
GARMENTS = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


class _Reader(TableReader):
    def read(self) -> Pattern:
        kind = self.path.suffix.lower()
        if kind not in (".toml", ".json"):
            raise BadInput(f"{self.path}: patterns are .toml or .json files")
        content = self.toml() if kind == ".toml" else self.json()
        if "pattern" in content and "panel" not in content:
            return self._garment_code(self.validated(_Code, content))
        return self._garment(self.validated(_Garment, content))

    def _pattern(self, key: tuple, name: str, panels: dict[str, Panel], seams: list[Seam], *more) -> Pattern:
        """The pattern; what is wrong with a seam is said of its place in the list at `key`."""
        try:
            return Pattern(name, tuple(panels.values()), tuple(seams), *more)
        except BadInput:
            for count in range(len(seams) + 1):
                with self.blame((*key, count - 1) if count else (), name):
                    Pattern(name, tuple(panels.values()), tuple(seams[:count]), *more)
            raise

    # --- our own ---

    def _garment(self, file: _Garment) -> Pattern:
        panels: dict[str, Panel] = {}
        for k, table in enumerate(file.panel):
            key = ("panel", k)
            if table.name in panels:
                raise self.trouble((*key, "name"), f"{table.name!r} is taken")
            panels[table.name] = self._panel(key, table, panels)
        seams = [self._seam(("seam", k, "between"), table, panels) for k, table in enumerate(file.seam)]
        material = file.material or "cotton"
        if material not in MATERIALS:
            raise self.trouble(("material",), f"there is no material {material!r}; there are {', '.join(MATERIALS)}")
        if file.pose is not None and file.pose not in POSES:
            raise self.trouble(("pose",), f"there is no pose {file.pose!r}; there are {', '.join(POSES)}")
        return self._pattern(("seam",), file.name or self.path.stem, panels, seams, material, file.pose)

    def _panel(self, key: tuple, table: _Panel, others: dict[str, Panel]) -> Panel:
        if table.mirror is not None:
            given = table.given("corners", "edges", "curves", "position", "rotate", "wrap")
            if given:
                raise self.trouble((*key, next(iter(given))), "is that of the mirrored panel already")
            if table.mirror not in others:
                raise self.trouble((*key, "mirror"), f"there is no panel {table.mirror!r} before this one")
            return others[table.mirror].mirrored(table.name)
        if table.corners is None:
            raise self.trouble(key, "it needs corners, or the panel that it mirrors")
        names = table.edges or [str(k) for k in range(len(table.corners))]
        if len(names) != len(table.corners) or len(set(names)) != len(names):
            raise self.trouble((*key, "edges"), f"must be {len(table.corners)} different names, one for each corner")
        curves = {}
        for name, control in table.curves.items():
            if name not in names:
                raise self.trouble((*key, "curves"), f"there is no edge {name!r}; there are {', '.join(names)}")
            if len(control) not in (2, 4):
                raise self.trouble((*key, "curves"), f"{name}: must be [along, left], or that of two control points")
            curves[names.index(name)] = np.reshape(control, (-1, 2))
        with self.blame(key, f"panel {table.name}", table):
            return Panel(
                table.name, np.array(table.corners), curves, tuple(names), _rotation(table.rotate or (0, 0, 0)),
                np.array(table.position or (0, 0, 0)), table.wrap,
            )  # fmt: skip

    def _seam(self, key: tuple, table: _Seam, panels: dict[str, Panel]) -> Seam:
        sides = []
        for k, side in enumerate(table.between):
            side = [side] if isinstance(side, str) else side
            if not isinstance(side, list) or not side or not all(isinstance(s, str) for s in side):
                raise self.trouble((*key, k), 'must be an edge, "panel.edge", or a list of edges')
            sides.append(tuple(self._piece((*key, k), text, panels) for text in side))
        return Seam(*sides, stage=table.stage)

    def _piece(self, key: tuple, text: str, panels: dict[str, Panel]) -> Piece:
        """A piece of an edge from "panel.edge", or "panel.edge 0:0.5" for a part of it."""
        found = re.fullmatch(r"\s*(.+?)\.([^.\s]+)(?:\s+([0-9.eE+-]+):([0-9.eE+-]+))?\s*", text)
        if not found:
            raise self.trouble(key, f'must be "panel.edge" or "panel.edge 0:0.5", not {text!r}')
        panel, edge, first, last = found.groups()
        if panel not in panels:
            raise self.trouble(key, f"there is no panel {panel!r}; there are {', '.join(panels)}")
        if edge not in panels[panel].edges:
            raise self.trouble(key, f"{panel} has no edge {edge!r}; it has {', '.join(panels[panel].edges)}")
        try:
            share = (float(first), float(last)) if first else (0.0, 1.0)
        except ValueError:
            raise self.trouble(key, f"{first}:{last} must be two numbers from 0 to 1") from None
        if not 0 <= share[0] < share[1] <= 1:
            raise self.trouble(key, f"{first}:{last} must be two numbers from 0 to 1, the smaller first")
        return Piece(panel, panels[panel].edges.index(edge), *share)

    # --- GarmentCode's ---

    def _garment_code(self, file: _Code) -> Pattern:
        self.positive(("properties", "units_in_meter"), file.properties.units_in_meter)
        unit = 1.0 / file.properties.units_in_meter
        panels, place = {}, {}
        for name, table in file.pattern.panels.items():
            panels[name], place[name] = self._walked(("pattern", "panels", name), name, table, unit)
        seams = []
        for k, stitch in enumerate(file.pattern.stitches):
            sides = []
            for side, ends in enumerate(stitch):
                key = ("pattern", "stitches", k, side)
                if ends.panel not in panels:
                    known = ", ".join(panels)
                    raise self.trouble((*key, "panel"), f"there is no panel {ends.panel!r}; there are {known}")
                if ends.edge not in place[ends.panel]:
                    raise self.trouble((*key, "edge"), f"{ends.panel} has no edge {ends.edge}")
                sides.append((Piece(ends.panel, place[ends.panel][ends.edge]),))
            seams.append(Seam(*sides))
        return self._pattern(("pattern", "stitches"), self.path.stem, panels, seams)

    def _walked(self, key: tuple, name: str, table: _CodePanel, unit: float) -> tuple[Panel, dict[int, int]]:
        """A panel whose edges follow each other, and the place of each edge of the file in it."""
        points = np.array(table.vertices) * unit
        edges = [tuple(edge.endpoints) for edge in table.edges]
        for k, ends in enumerate(edges):
            if not all(0 <= end < len(points) for end in ends):
                raise self.trouble((*key, "edges", k, "endpoints"), f"must be vertices from 0 to {len(points) - 1}")
        corner, order, corners, curves = edges[0][0], [], [], {}
        while len(order) < len(edges):
            ahead = [k for k, ends in enumerate(edges) if corner in ends and k not in order]
            if not ahead:
                raise self.trouble((*key, "edges"), "do not follow each other around the panel")
            k = next((k for k in ahead if edges[k][0] == corner), ahead[0])
            forward = edges[k][0] == corner
            if table.edges[k].curvature is not None:
                control = table.edges[k].curvature
                curves[len(order)] = control if forward else ([1, 0] - control)[::-1]
            order.append(k)
            corners.append(points[corner])
            corner = edges[k][1] if forward else edges[k][0]
        if corner != edges[0][0]:
            raise self.trouble((*key, "edges"), "do not end where they begin")
        with self.blame(key, f"panel {name}"):
            position = np.array(table.translation) * unit
            panel = Panel(name, np.array(corners), curves, (), _rotation(table.rotation), position)
        return panel, {k: place for place, k in enumerate(order)}


def _rotation(degrees) -> np.ndarray:
    """(3, 3), turning about x, then y, then z, by these angles."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_euler("xyz", degrees, degrees=True).as_matrix()
