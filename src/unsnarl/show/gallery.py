"""One picture of several tangles: each scene in a cell of its own, its paths coloured by kind, its insides tinted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unsnarl.io.whole import whole_file
from unsnarl.show.picture import offscreen
from unsnarl.tangles.report import TangleReport

CLOTH = ("#b9c6d2", "#d9cdb6")
INSIDE = ("#e07a3f", "#3f8fc4", "#c43f6b")  # of image 0, of image 1, of both where they are one
PATH = {
    "CLOSED": "#1b7f3b",
    "EIGHT": "#7b3fa0",
    "LL": "#c2185b",
    "BLI": "#b26a00",
    "CROSS": "#5d4037",
    "BB_II": "#0057a8",
    "BI_BI": "#00838f",
}


def draw_gallery(
    reports: dict[str, TangleReport], path: str | Path, columns: int = 4, cell: int = 480, up: str = "z"
) -> None:
    """Draw reports into one PNG, each under its title; `up` is the axis that points upwards, "y" or "z"."""
    pyvista = offscreen()
    rows = -(-len(reports) // columns)
    plotter = pyvista.Plotter(
        off_screen=True, shape=(rows, columns), window_size=(columns * cell, rows * cell), border=False
    )
    for number in range(rows * columns):
        plotter.subplot(number // columns, number % columns)
        plotter.set_background("white")
    for number, (title, report) in enumerate(reports.items()):
        plotter.subplot(number // columns, number % columns)
        _draw(pyvista, plotter, report)
        plotter.add_text(title, position="upper_edge", font_size=11, color="black")
        x = report.mesh.x
        centre = 0.5 * (x.min(axis=0) + x.max(axis=0))
        away = [0.75, -1.0, 0.8] if up == "z" else [0.6, 0.4, 1.0]
        plotter.camera_position = [tuple(centre + away), tuple(centre), tuple(np.eye(3)["xyz".index(up)])]
        plotter.reset_camera()
        plotter.camera.zoom(1.15)
    plotter.enable_anti_aliasing("ssaa", all_renderers=True)
    with whole_file(path) as temporary:
        plotter.screenshot(temporary)
    plotter.close()


def _draw(pyvista, plotter, report: TangleReport) -> None:
    mesh = report.mesh
    tint = np.full(len(mesh.x), -1)
    for path, images in zip(report.paths, report.path_list.images):
        for k in range(images):
            tint[path.inside[k]] = 2 if images == 1 else k
    whole = tint[mesh.faces].min(axis=1)  # a face is tinted when all its corners are
    for part_number, part in enumerate(report.parts):
        here = np.arange(part.first_face, part.first_face + part.faces)
        for colour, faces in [(CLOTH[part_number % 2], here[whole[here] < 0])] + [
            (INSIDE[k], here[whole[here] == k]) for k in range(3)
        ]:
            if len(faces):
                surface = pyvista.PolyData.from_regular_faces(mesh.x, mesh.faces[faces])
                plotter.add_mesh(
                    surface, color=colour, show_edges=True, edge_opacity=0.2, opacity=0.8, smooth_shading=False
                )
    thickness = 0.006 * mesh.diagonal
    for path in report.paths:
        if path.length > 0:
            plotter.add_mesh(pyvista.lines_from_points(path.points).tube(radius=thickness), color=PATH[path.kind])
        for point in mesh.x[path.loop_vertices]:
            plotter.add_mesh(pyvista.Sphere(radius=2.5 * thickness, center=point), color="#ffd23f")
        for end in (0, -1) if len(path.ends) == 2 else (0,) if len(path.ends) else ():
            plotter.add_mesh(pyvista.Sphere(radius=2.2 * thickness, center=path.points[end]), color="black")
