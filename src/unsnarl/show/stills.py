"""Stills: frames of simulated scenes, several in one picture, cloth shaded smoothly as it would be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unsnarl.io.whole import whole_file
from unsnarl.show.picture import BODY, CLOTH, offscreen
from unsnarl.simulation.scene import Scene
from unsnarl.simulation.simulate import Frame

BACK = "#eef1f4"


def draw_stills(
    stills: Sequence[tuple[str, Scene, Frame]], path: str | Path, columns: int = 3, cell: int = 640
) -> None:
    """Draw frames of scenes into one PNG, each under its title; the camera looks at the cloth."""
    pyvista = offscreen()
    rows = -(-len(stills) // columns)
    plotter = pyvista.Plotter(
        off_screen=True, shape=(rows, columns), window_size=(columns * cell, rows * cell), border=False
    )
    for number in range(rows * columns):
        plotter.subplot(number // columns, number % columns)
        plotter.set_background("white", top=BACK)
        if number < len(stills):
            title, scene, frame = stills[number]
            _draw(pyvista, plotter, scene, frame)
            plotter.add_text(title, position="upper_edge", font_size=11, color="black")
    plotter.enable_anti_aliasing("ssaa", all_renderers=True)
    with whole_file(path) as temporary:
        plotter.screenshot(temporary)
    plotter.close()


def _draw(pyvista, plotter, scene: Scene, frame: Frame) -> None:
    for k, (cloth, state) in enumerate(zip(scene.cloths, frame.states)):
        surface = pyvista.PolyData.from_regular_faces(state.x, cloth.mesh.faces)
        plotter.add_mesh(
            surface, color=CLOTH[k % len(CLOTH)], smooth_shading=True, ambient=0.2, diffuse=0.8, specular=0.1
        )
    for body in scene.bodies:
        surface = pyvista.PolyData.from_regular_faces(body.at(frame.t), body.mesh.faces)
        plotter.add_mesh(surface, color=BODY, ambient=0.3, diffuse=0.7)
    x = np.concatenate([state.x for state in frame.states])
    centre = 0.5 * (x.min(axis=0) + x.max(axis=0))
    up = np.eye(3)["xyz".index(scene.up)]
    front, side = np.roll(up, 1), np.roll(up, 2)
    away = 1.15 * front + 0.75 * side + 0.75 * up if scene.up == "y" else 0.9 * front - 1.1 * side + 0.75 * up
    distance = 1.9 * np.linalg.norm(np.ptp(x, axis=0))
    plotter.camera_position = [
        tuple(centre + distance * away / np.linalg.norm(away)),
        tuple(centre),
        tuple(up),
    ]
