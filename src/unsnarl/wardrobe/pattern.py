"""Patterns: what a garment is cut from and how it is sewn. Plain frozen objects; `wardrobe.pattern_file` reads them.

A panel is a flat outline of corners, joined by straight or curved edges, and where it hangs before it is sewn. A seam
joins two sides, each a piece of an edge or several edges in a row; a dart is a seam between two edges of one panel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real

import numpy as np

from unsnarl.energies.materials import Material, material
from unsnarl.errors import BadInput
from unsnarl.jit import floats

_FINE = 256  # pieces by which the length along a curve is measured
_FAR = 100.0  # [m] from the origin, and lengths of the edge from it: nothing of a garment is farther
_LEAST = 1e-6  # share of an edge that is sewn, at least


@dataclass(frozen=True, eq=False)
class Panel:
    """A flat piece of cloth.

    name     : what seams and messages call it
    corners  : (p, 2) [m], in order around it, either way; (u, v): u to the right, v up, u along the warp
    curves   : edge number -> (1 or 2, 2) control points of a Bezier curve, relative to the edge: the first number along
               it (0 at its first corner, 1 at the next), the second to its left, both in lengths of the edge
    edges    : names of the edges; edge k goes from corner k to the next
    rotation : (3, 3), from (u, v, outward) to space
    position : (3,) [m], of the panel's (0, 0)
    wrap     : radius [m] of the cylinder about the line u = 0, `wrap` behind it, that the panel is laid on; None: flat
    """

    name: str
    corners: np.ndarray
    curves: dict[int, np.ndarray] = field(default_factory=dict)
    edges: tuple[str, ...] = ()
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    wrap: float | None = None

    def __post_init__(self):
        fix = object.__setattr__
        if not isinstance(self.name, str):
            raise BadInput(f"a panel's name must be text, not {self.name!r}")
        corners = _numbers(self.corners)
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
            raise BadInput(f"panel {self.name}: corners must be three or more points (u, v)")
        if np.abs(corners).max() > _FAR:
            raise BadInput(f"panel {self.name}: a corner is more than {_FAR:g} m away: units are metres")
        fix(self, "corners", corners)
        if (np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1) < 1e-9).any():
            raise BadInput(f"panel {self.name}: two corners in a row are at the same place")
        names = tuple(self.edges) if isinstance(self.edges, Sequence) else (None,)
        names = names or tuple(str(k) for k in range(len(corners)))
        if {type(n) for n in names} != {str} or len(names) != len(corners) or len(set(names)) != len(names):
            raise BadInput(f"panel {self.name}: edges must be {len(corners)} different names, one for each corner")
        fix(self, "edges", names)
        curves = {}
        for k, control in self.curves.items() if isinstance(self.curves, Mapping) else [(None, None)]:
            if not _is(k, Integral) or not 0 <= k < len(names):
                raise BadInput(f"panel {self.name}: curves must be told by edge, 0 to {len(names) - 1}, not {k!r}")
            control = np.atleast_2d(_numbers(control))
            if control.shape not in ((1, 2), (2, 2)):
                raise BadInput(f"panel {self.name}: curves must have one or two control points each ({names[k]})")
            if np.abs(control).max() > _FAR:
                raise BadInput(f"panel {self.name}: curves must be within {_FAR:g} lengths of the edge ({names[k]})")
            curves[int(k)] = control
        fix(self, "curves", curves)
        rotation, position = _numbers(self.rotation), _numbers(self.position)
        if rotation.shape != (3, 3) or np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-6:
            raise BadInput(f"panel {self.name}: rotation must be a matrix (3, 3) that turns")
        if position.shape != (3,) or np.abs(position).max() > _FAR:
            raise BadInput(f"panel {self.name}: position must be three numbers from -{_FAR:g} to {_FAR:g} m")
        fix(self, "rotation", rotation)
        fix(self, "position", position)
        if self.wrap is not None and not (_is(self.wrap, Real) and 1e-3 <= self.wrap <= _FAR):
            raise BadInput(f"panel {self.name}: wrap must be a radius from 0.001 to {_FAR:g} m, not {self.wrap!r}")

    def along(self, edge: int, t: np.ndarray) -> np.ndarray:
        """Points (k, 2) [m] at shares t (k,) of the length of an edge; 0 and 1 are its corners, to the bit."""
        a, b = self.corners[edge], self.corners[(edge + 1) % len(self.corners)]
        t = np.asarray(t, dtype=np.float64)[:, None]
        if edge in self.curves:
            reach = self._reach(edge)
            points = self._bezier(edge, np.interp(t[:, 0] * reach[-1], reach, np.linspace(0, 1, _FINE + 1))[:, None])
        else:
            points = (1 - t) * a + t * b
        points[t[:, 0] <= 0], points[t[:, 0] >= 1] = a, b
        return points

    def length(self, edge: int) -> float:
        """Length of an edge [m]."""
        if edge in self.curves:
            return float(self._reach(edge)[-1])
        return float(np.linalg.norm(self.corners[(edge + 1) % len(self.corners)] - self.corners[edge]))

    def placed(self, uv: np.ndarray) -> np.ndarray:
        """Points (k, 2) of the panel, in space (k, 3) [m]; laid on the cylinder, lengths stay what they are."""
        u, v = uv.T
        if self.wrap is None:
            flat = np.column_stack([u, v, np.zeros(len(uv))])
        else:
            turn = u / self.wrap
            flat = np.column_stack([self.wrap * np.sin(turn), v, self.wrap * (np.cos(turn) - 1)])
        return flat @ self.rotation.T + self.position

    def mirrored(self, name: str) -> Panel:
        """The panel on the other side of the plane x = 0."""
        flip = np.diag([-1.0, 1.0, 1.0])
        curves = {k: control * [1, -1] for k, control in self.curves.items()}
        return replace(
            self, name=name, corners=self.corners * [-1, 1], curves=curves, rotation=flip @ self.rotation @ flip,
            position=flip @ self.position,
        )  # fmt: skip

    def _reach(self, edge: int) -> np.ndarray:
        """Lengths along a curve up to each of its _FINE parts."""
        fine = self._bezier(edge, np.linspace(0, 1, _FINE + 1)[:, None])
        return np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(fine, axis=0), axis=1))])

    def _bezier(self, edge: int, t: np.ndarray) -> np.ndarray:
        a, b = self.corners[edge], self.corners[(edge + 1) % len(self.corners)]
        way = b - a
        control = a + self.curves[edge] @ np.array([way, [-way[1], way[0]]])
        if len(control) == 1:
            return (1 - t) ** 2 * a + 2 * t * (1 - t) * control[0] + t**2 * b
        return (1 - t) ** 3 * a + 3 * t * (1 - t) * ((1 - t) * control[0] + t * control[1]) + t**3 * b


@dataclass(frozen=True)
class Piece:
    """A piece of an edge: the shares `first` to `last` of its length, in the panel's direction."""

    panel: str
    edge: int
    first: float = 0.0
    last: float = 1.0


@dataclass(frozen=True)
class Seam:
    """What is sewn to what: pieces in the order in which they follow each other along the seam, on either side.

    stage : seams of a stage are sewn once those of the stages before are closed: sleeves are set in last
    """

    one: tuple[Piece, ...]
    two: tuple[Piece, ...]
    stage: int = 1


@dataclass(frozen=True, eq=False)
class Pattern:
    """A garment before it is cut.

    name     : what messages and the mesh call it
    material : what it is made of
    pose     : pose of the wardrobe's body in which it is sewn (`motions.POSES`); None: at rest
    """

    name: str
    panels: tuple[Panel, ...]
    seams: tuple[Seam, ...] = ()
    material: Material | str = "cotton"
    pose: str | None = None

    def __post_init__(self):
        fix = object.__setattr__
        if not isinstance(self.name, str):
            raise BadInput(f"a pattern's name must be text, not {self.name!r}")
        for key, kind in (("panels", Panel), ("seams", Seam)):
            parts = getattr(self, key)
            if not isinstance(parts, Sequence) or not all(isinstance(part, kind) for part in parts):
                raise BadInput(f"{self.name}: {key} must be a list of {kind.__name__}")
            fix(self, key, tuple(parts))
        fix(self, "material", material(self.material))
        names = [p.name for p in self.panels]
        if not names:
            raise BadInput(f"{self.name}: there is no panel")
        if len(set(names)) != len(names):
            raise BadInput(f"{self.name}: two panels have the same name")
        if any(isinstance(s.stage, bool) or not isinstance(s.stage, int) or s.stage < 1 for s in self.seams):
            raise BadInput(f"{self.name}: the stage of a seam must be a whole number from 1 on")
        if self.pose is not None and not isinstance(self.pose, str):
            raise BadInput(f"{self.name}: pose must be the name of one, not {self.pose!r}")
        taken: dict[tuple[str, int], list[tuple[float, float]]] = {}
        for seam in self.seams:
            for side in (seam.one, seam.two):
                if not isinstance(side, Sequence) or not side or not all(isinstance(piece, Piece) for piece in side):
                    raise BadInput(f"{self.name}: each side of a seam must be one Piece or more")
            for piece in (*seam.one, *seam.two):
                panel = self.panel(piece.panel)
                if not _is(piece.edge, Integral) or not 0 <= piece.edge < len(panel.corners):
                    raise BadInput(f"{self.name}: a seam names edge {piece.edge} of panel {piece.panel}, "
                                   f"which has {len(panel.corners)}")  # fmt: skip
                share = (piece.first, piece.last)
                if not all(_is(s, Real) for s in share) or not (0 <= share[0] <= share[1] - _LEAST and share[1] <= 1):
                    raise BadInput(f"{self.name}: a seam takes {share[0]} to {share[1]} of an edge, not two numbers "
                                   f"from 0 to 1, the smaller first")  # fmt: skip
                others = taken.setdefault((piece.panel, piece.edge), [])
                if any(piece.first < b - 1e-9 and a < piece.last - 1e-9 for a, b in others):
                    raise BadInput(f"{self.name}: {piece.panel}.{panel.edges[piece.edge]} is sewn twice")
                others.append((piece.first, piece.last))

    def panel(self, name: str) -> Panel:
        for panel in self.panels:
            if panel.name == name:
                return panel
        raise BadInput(f"{self.name}: there is no panel {name!r}; there are {', '.join(p.name for p in self.panels)}")

    def moved(self, shift: Sequence[float] = (0, 0, 0), scale: float = 1.0) -> Pattern:
        """The pattern with its panels scaled about the origin, then shifted by (3,) [m]."""
        if not _is(scale, Real) or not scale > 0:
            raise BadInput(f"{self.name}: scale must be a positive number, not {scale!r}")
        shift = _numbers(shift)
        if shift.shape != (3,):
            raise BadInput(f"{self.name}: shift must be three numbers")
        panels = [
            replace(
                p, corners=p.corners * scale, position=p.position * scale + shift,
                wrap=None if p.wrap is None else p.wrap * scale,
            )
            for p in self.panels
        ]  # fmt: skip
        return replace(self, panels=tuple(panels))


def _is(value, kind: type) -> bool:
    """Whether it is a number of this kind; True and False are none."""
    return isinstance(value, kind) and not isinstance(value, bool)


def _numbers(a) -> np.ndarray:
    """`a` as floats, or an empty array if something in it is not a finite number."""
    try:
        a = np.asarray(a)
    except (TypeError, ValueError, OverflowError):
        a = np.empty(0)
    return floats(a) if a.dtype.kind in "fiu" and np.isfinite(a).all() else np.empty(0)
