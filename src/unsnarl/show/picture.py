"""Pictures: a mesh, its crossing faces in red, and the lines along which they cross."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput, need
from unsnarl.io.whole import whole_file
from unsnarl.tangles.report import TangleReport

CLOTH = ["#9db4c8", "#c9b48f", "#a3bf9a", "#b9a3c4", "#c79b9b"]
BODY = "#dcd6cf"
CROSSING = "#d1332e"
LINE = "#ffd23f"


def draw_report(report: TangleReport, path: str | Path, *, up: str = "y", size: tuple[int, int] = (1600, 1200)) -> None:
    """Draw what `check` found into a PNG file.

    Crossing faces are red, the lines along which they cross yellow; bodies are see-through.
    up : the axis that points upwards, "y" or "z"
    """
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise BadInput(f"{path}: pictures are written as PNG: name the file *.png")
    plotter = offscreen().Plotter(off_screen=True, window_size=size)
    plotter.set_background("white")
    add_report(plotter, report)
    _look(plotter, report.mesh.x, up)
    plotter.enable_anti_aliasing("ssaa")
    with whole_file(path) as temporary:
        plotter.screenshot(temporary)
    plotter.close()


def add_report(plotter, report: TangleReport) -> None:
    """Add the meshes of a report, and where they cross."""
    pyvista = offscreen()
    crossing = np.zeros(len(report.mesh.faces), dtype=bool)
    crossing[report.crossing_faces] = True
    edges = len(report.mesh.faces) <= 30_000
    cloths = 0
    for part in report.parts:
        colour = BODY if part.body else CLOTH[cloths % len(CLOTH)]
        cloths += not part.body
        here = np.arange(part.first_face, part.first_face + part.faces)
        for faces, shade, opacity in (
            (here[~crossing[here]], colour, 0.35 if part.body else 1.0),
            (here[crossing[here]], CROSSING, 1.0),
        ):
            if len(faces):
                surface = pyvista.PolyData.from_regular_faces(report.mesh.x, report.mesh.faces[faces])
                plotter.add_mesh(
                    surface, color=shade, opacity=opacity, show_edges=edges, edge_opacity=0.25, line_width=1,
                    smooth_shading=False, ambient=0.25, diffuse=0.75,
                )  # fmt: skip
    lines = report.segment_points
    if len(lines):
        plotter.add_mesh(
            pyvista.line_segments_from_points(lines.reshape(-1, 3)),
            color=LINE,
            line_width=8,
            render_lines_as_tubes=True,
        )


def offscreen():
    """pyvista, without a screen and without its messages about having none."""
    pyvista = need("pyvista", "drawing a picture", "pictures")
    from vtkmodules.vtkCommonCore import vtkLogger, vtkObject

    vtkObject.GlobalWarningDisplayOff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    return pyvista


def _look(plotter, x: np.ndarray, up: str) -> None:
    """Look down at the middle from the front."""
    front = np.array([0.6, 0.5, 1.0]) if up == "y" else np.array([0.6, -1.0, 0.8])
    centre = 0.5 * (x.min(axis=0) + x.max(axis=0))
    plotter.camera_position = [tuple(centre + front), tuple(centre), tuple(np.eye(3)["xyz".index(up)])]
    plotter.reset_camera()
    plotter.camera.zoom(1.1)
