"""A lookbook: outfits on the body, each from the front and, below it, from behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unsnarl.io.whole import whole_file
from unsnarl.show.picture import BODY, offscreen
from unsnarl.show.stills import BACK
from unsnarl.wardrobe.dress import Dressed

CLOTH = ("#5f86a8", "#b5654a", "#7a9a6b", "#c2a14d", "#8b6f9c", "#b86b7f", "#4f8f8b")


def draw_lookbook(outfits: Sequence[Dressed], path: str | Path, cell: tuple[int, int] = (420, 700)) -> None:
    """Draw outfits into one PNG, each under its name: in the upper row from the front, in the lower from behind."""
    pyvista = offscreen()
    columns = len(outfits)
    plotter = pyvista.Plotter(
        off_screen=True, shape=(2, columns), window_size=(columns * cell[0], 2 * cell[1]), border=False
    )
    for column, outfit in enumerate(outfits):
        for row, side in enumerate((1.0, -1.0)):
            plotter.subplot(row, column)
            plotter.set_background("white", top=BACK)
            _draw(pyvista, plotter, outfit, column, side)
            if row == 0:
                plotter.add_text(outfit.name.replace("_", " "), position="upper_edge", font_size=11, color="black")
    plotter.enable_anti_aliasing("ssaa", all_renderers=True)
    with whole_file(path) as temporary:
        plotter.screenshot(temporary)
    plotter.close()


def _draw(pyvista, plotter, outfit: Dressed, number: int, side: float) -> None:
    for body in outfit.bodies:
        surface = pyvista.PolyData.from_regular_faces(body.at(0.0), body.mesh.faces)
        plotter.add_mesh(surface, color=BODY, smooth_shading=True, ambient=0.25, diffuse=0.75)
    for k, mesh in enumerate(outfit.meshes):
        surface = pyvista.PolyData.from_regular_faces(mesh.x, mesh.faces)
        plotter.add_mesh(
            surface,
            color=CLOTH[(number + k) % len(CLOTH)],
            smooth_shading=True,
            ambient=0.2,
            diffuse=0.8,
            specular=0.05,
        )
        seams = mesh.x[mesh.edges[mesh.seams]]
        if len(seams):
            lines = pyvista.line_segments_from_points(seams.reshape(-1, 3))
            plotter.add_mesh(lines, color="#303030", line_width=1.5, opacity=0.6)
    x = np.concatenate([body.at(0.0) for body in outfit.bodies] + [mesh.x for mesh in outfit.meshes])
    centre = 0.5 * (x.min(axis=0) + x.max(axis=0))
    away = side * np.array([0.25, 0.0, 1.0]) + [0.0, 0.12, 0.0]
    plotter.camera_position = [tuple(centre + 4.3 * away / np.linalg.norm(away)), tuple(centre), (0.0, 1.0, 0.0)]
    plotter.camera.view_angle = 27.0
