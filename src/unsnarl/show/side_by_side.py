"""The same cloth at several times, side by side and seen alike, its crossing faces in red."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unsnarl.io.whole import whole_file
from unsnarl.show.picture import add_report, offscreen
from unsnarl.show.stills import BACK
from unsnarl.tangles.report import TangleReport

FROM = {"y": (0.45, 0.15, 1.0), "z": (0.45, -1.0, 0.15)}  # where it is looked at from


def draw_side_by_side(
    reports: dict[str, TangleReport], path: str | Path, *, up: str = "y", cell: tuple[int, int] = (480, 560)
) -> None:
    """Draw reports into one PNG, from left to right, each under its title; `up` is the axis that points upwards."""
    pyvista = offscreen()
    plotter = pyvista.Plotter(
        off_screen=True, shape=(1, len(reports)), window_size=(len(reports) * cell[0], cell[1]), border=False
    )
    x = np.concatenate([report.mesh.x for report in reports.values()])
    centre, away = 0.5 * (x.min(axis=0) + x.max(axis=0)), np.array(FROM[up])
    far = 1.9 * float(np.linalg.norm(np.ptp(x, axis=0)))
    for column, (title, report) in enumerate(reports.items()):
        plotter.subplot(0, column)
        plotter.set_background("white", top=BACK)
        add_report(plotter, report)
        plotter.add_text(title, position="upper_edge", font_size=10, color="black")
        at = centre + far * away / np.linalg.norm(away)
        plotter.camera_position = [tuple(at), tuple(centre), tuple(np.eye(3)["xyz".index(up)])]
        plotter.reset_camera_clipping_range()
    plotter.enable_anti_aliasing("ssaa", all_renderers=True)
    with whole_file(path) as temporary:
        plotter.screenshot(temporary)
    plotter.close()
