"""A page to look around in: the mesh, its paths and their insides, in one HTML file that needs nothing else.

The page is the template `report.html` with the style and the script of `viewer.html`, which all pages share, and one
block of JSON in it: numbers of the report, names, and arrays as [type, base64 of the little-endian bytes]. Names occur
only there, and the page's script shows them as plain text.
Positions are centred, and scaled so that the longest side of what is drawn goes from -1 to 1.
"""

from __future__ import annotations

import json
from base64 import b64encode
from importlib.resources import files
from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.whole import whole_file
from unsnarl.tangles.paths import CLOSED, KINDS
from unsnarl.tangles.report import TangleReport
from unsnarl.tangles.segments import hit_points

VIEWER = "viewer.html"
LARGEST = 300_000  # faces; of a larger mesh only the surroundings of what crosses are drawn
RINGS = 20  # of faces around those that cross, at most
PLAIN, LOOP, END = range(3)  # marks of the points of a path


def write_html(report: TangleReport, path: str | Path) -> None:
    """Write what `check` found as one HTML page, to be opened in any browser with WebGL."""
    write_page("report.html", _content(report), Path(path))


def write_page(template: str, content: dict, path: Path) -> None:
    """Fill a template with what the pages share, and with what it shows."""
    if path.suffix.lower() != ".html":
        raise BadInput(f"{path}: pages are written as HTML: name the file *.html")
    page, viewer = (files("unsnarl.show").joinpath(name).read_text(encoding="utf-8") for name in (template, VIEWER))
    for place, tag in (("@STYLE@", "style"), ("@VIEWER@", "script")):
        page = page.replace(place, viewer.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip("\n"))
    before, after = page.split("@DATA@")
    data = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    with whole_file(path) as temporary:
        temporary.write_text(before + data + after, encoding="utf-8")


def _content(report: TangleReport) -> dict:
    """What the page shows, ready for JSON."""
    mesh, p = report.mesh, report.path_list
    kept = faces_to_draw(report)
    used = np.zeros(len(mesh.x), dtype=bool)
    used[mesh.faces[kept]] = True
    number = np.cumsum(used) - 1
    points = _path_points(report)
    to_page = placing(np.concatenate([mesh.x[used], points]) if len(kept) else mesh.x)
    shown = used[report.regions.vertex]
    image = np.repeat(np.arange(2 * len(p)), np.diff(report.regions.start))
    return {
        "vertices": len(mesh.x),
        "faces": len(mesh.faces),
        "hits": len(report.hits),
        "segments": len(report.segments),
        "counts": report.counts,
        "kinds": KINDS,
        "parts": parts(report, kept),
        "up": 2 if np.argmin(half_extent(mesh.x)) == 2 else 1,
        "x": array(to_page(mesh.x[used]), "f4"),
        "tri": array(number[mesh.faces[kept]], "u4"),
        "kind": array(p.kind, "u1"),
        "joined": array(p.images == 1, "u1"),
        "meshes": array([path.meshes for path in report.paths], "u4"),
        "length": array([path.length for path in report.paths], "f4"),
        "point_start": array(p.start + np.arange(len(p) + 1), "u4"),
        "point": array(to_page(points), "f4"),
        "mark": array(_marks(report), "u1"),
        "inside_count": array(np.diff(report.regions.start), "u4"),
        "inside_start": array(np.concatenate([[0], np.cumsum(np.bincount(image[shown], minlength=2 * len(p)))]), "u4"),
        "inside": array(number[report.regions.vertex[shown]], "u4"),
    }


def parts(report: TangleReport, kept: np.ndarray) -> list[dict]:
    """The meshes, and how many of their faces are among those that the page has."""
    drawn = np.bincount(report.part_of_face(kept), minlength=len(report.parts))
    return [
        {"name": text(part.name), "vertices": part.vertices, "faces": part.faces, "body": part.body, "drawn": int(n)}
        for part, n in zip(report.parts, drawn)
    ]


def faces_to_draw(report: TangleReport) -> np.ndarray:
    """(k,) the faces that the page has, ascending: all, or those around what crosses."""
    faces = report.mesh.faces
    if len(faces) <= LARGEST:
        return np.arange(len(faces))
    near = np.zeros(len(report.mesh.x), dtype=bool)
    near[faces[report.crossing_faces]] = True
    kept = np.flatnonzero(near[faces].any(axis=1))
    for _ in range(RINGS - 1):
        near[faces[kept]] = True
        wider = np.flatnonzero(near[faces].any(axis=1))
        if len(wider) > LARGEST:
            break
        kept = wider
    return kept


def _path_points(report: TangleReport) -> np.ndarray:
    """(s + p, 3), the points of all paths, one after the other [m]."""
    node = report.path_list.node
    if len(node) == 0:
        return np.zeros((0, 3))
    at = hit_points(report.mesh, report.hits)
    return np.where((node < 0)[:, None], report.mesh.x[np.maximum(-1 - node, 0)], at[np.maximum(node, 0)])


def _marks(report: TangleReport) -> np.ndarray:
    """(s + p,), PLAIN, LOOP or END for each of those points."""
    p = report.path_list
    mark = np.where(p.node < 0, LOOP, PLAIN)
    number = np.arange(len(p))
    ends = np.concatenate([p.start[:-1] + number, p.start[1:] + number])[np.tile(p.kind != CLOSED, 2)]
    mark[ends[p.node[ends] >= 0]] = END
    return mark


def placing(x: np.ndarray):
    """The map from positions [m] to those of the page."""
    centre = 0.5 * x.min(axis=0) + 0.5 * x.max(axis=0)
    scale = half_extent(x).max() or 1.0
    return lambda points: (points - centre) / scale


def half_extent(x: np.ndarray) -> np.ndarray:
    return 0.5 * x.max(axis=0) - 0.5 * x.min(axis=0)


def text(name: str) -> str:
    """The name with ? for what is no character: a file's name may have bytes that are none."""
    return name.encode("utf-8", "replace").decode("utf-8")


def array(values, kind: str) -> list[str]:
    return [kind, b64encode(np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()).decode("ascii")]
