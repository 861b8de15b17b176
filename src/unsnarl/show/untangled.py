"""What untangling did: a picture of before and after, and a page that shows it step by step.

The page is the template `untangled.html` (see `show.html`). Positions on the way are whole numbers from 0 to 65535, of
the cube from -1 to 1 that everything lies in; which faces are red is decided here, by the exact test.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unsnarl.detect.edge_face import find_hits
from unsnarl.errors import BadInput, need
from unsnarl.io.whole import whole_file
from unsnarl.show.html import array, faces_to_draw, half_extent, parts, placing, write_page
from unsnarl.show.picture import CROSSING, add_report, offscreen
from unsnarl.simulation.untangle import Untangled
from unsnarl.tangles.report import TangleReport
from unsnarl.tangles.segments import build_segments

MOST = 24_000_000  # bytes of positions on a page; with more, some of the steps are left out
FLAT = 0.3  # of the middle extent: what is thinner along z lies on the ground, and z points upwards
MARGIN = 1.08
INK, GOOD, RED_VERTICES = "#222b36", "#1f7a4a", "#35618f"


# --- the picture ---


def draw_untangled(result: Untangled, path: str | Path, *, size: tuple[int, int] = (1600, 1200)) -> None:
    """Draw the input, the result, and below them what was left after each step, into a PNG file.

    Crossing faces are red, the lines along which they cross yellow; bodies are see-through.
    """
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise BadInput(f"{path}: pictures are written as PNG: name the file *.png")
    figure_class = need("matplotlib.figure", "drawing a picture", "pictures").Figure
    width, height = size
    tall = round(0.64 * height)
    n = sum(len(mesh.x) for mesh in result.meshes)
    cloths = np.concatenate([result.before.mesh.x[:n], result.report.mesh.x[:n]])
    figure = figure_class(figsize=(width / 100, height / 100), dpi=100, facecolor="white")
    for k, (when, report) in enumerate((("before", result.before), ("after", result.report))):
        still = _rendered(report, cloths, (width // 2, tall))
        panel = figure.add_axes((0.5 * k, 0.95 - tall / height, 0.5, tall / height))
        panel.imshow(still, interpolation="none", aspect="auto")
        panel.axis("off")
        figure.text(
            0.25 + 0.5 * k, 0.972, f"{when}: {_hits(len(report.hits))}", ha="center", va="center",
            fontsize=0.0125 * height, color=GOOD if report.clean else CROSSING, weight="bold",
        )  # fmt: skip
    _plot(figure.add_axes((0.06, 0.075, 0.915, 0.245)), result.history, 0.0092 * height)
    with whole_file(path) as temporary:
        figure.savefig(temporary, dpi=100)


def _rendered(report: TangleReport, x: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """(height, width, 3): what a report is about, seen from where all points x (n, 3) are in view."""
    plotter = offscreen().Plotter(off_screen=True, window_size=size)
    plotter.set_background("white")
    add_report(plotter, report)
    plotter.camera_position = _camera(x, size[0] / size[1], np.radians(plotter.camera.view_angle))
    plotter.reset_camera_clipping_range()
    plotter.enable_anti_aliasing("ssaa")
    still = plotter.screenshot(return_img=True)
    plotter.close()
    return still


def _camera(x: np.ndarray, aspect: float, angle: float) -> list[tuple]:
    """Where to stand, what to look at and what is upwards, so that all points x (n, 3) just fit into the picture.

    aspect, angle : width / height, and the angle from the lower to the upper end of what is seen [rad]
    """
    upwards = np.eye(3)[_up(x)]
    back = np.array([0.6, 0.5, 1.0]) if _up(x) == 1 else np.array([0.6, -1.0, 0.8])
    back /= np.linalg.norm(back)
    right = np.cross(upwards, back)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(back, right), back])
    seen = x @ axes.T
    centre = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
    half = np.abs(seen - centre)[:, :2] / (aspect, 1.0)
    distance = (seen[:, 2] - centre[2] + MARGIN * half.max(axis=1) / np.tan(0.5 * angle)).max() or 1.0
    return [tuple((centre + [0.0, 0.0, distance]) @ axes), tuple(centre @ axes), tuple(upwards)]


def _plot(axes, history: list[dict], font: float) -> None:
    steps = [entry["step"] for entry in history]
    for key, label, colour in (
        ("ef_pairs", "edges through faces", CROSSING),
        ("red_vertices", "red vertices: inside a path", RED_VERTICES),
    ):
        values = [entry[key] for entry in history]
        axes.plot(steps, values, label=label, color=colour, lw=2, marker="o" if len(steps) <= 60 else None, ms=5)
    top = max(max(entry["ef_pairs"], entry["red_vertices"]) for entry in history)
    axes.set_yscale("symlog", linthresh=1.0, linscale=0.4)
    axes.set_ylim(0.0, max(1.5, 1.6 * top))
    axes.set_yticks([0] + [10**k for k in range(len(str(top)))])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlim(0, max(1, steps[-1]))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("step", fontsize=font, color=INK)
    axes.tick_params(labelsize=font, colors=INK)
    axes.grid(color="#dfe3e8")
    axes.set_axisbelow(True)
    for line in axes.lines:
        line.set_clip_on(False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=font, frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)


def _hits(n: int) -> str:
    return "none" if n == 0 else f"{n:,} edge{'s' if n > 1 else ''} through faces"


def _up(x: np.ndarray) -> int:
    """The axis that points upwards: y, or z where all of it lies flat in the other two."""
    extent = half_extent(x)
    return 2 if extent[2] < FLAT * np.sort(extent)[1] else 1


# --- the page ---


def write_untangled(result: Untangled, path: str | Path) -> None:
    """Write the steps that were kept (`result.shapes`) and the result as one HTML page, with a slider over them."""
    write_page("untangled.html", _content(result), Path(path))


def _content(result: Untangled) -> dict:
    """What the page shows, ready for JSON."""
    before, n = result.before, sum(len(mesh.x) for mesh in result.meshes)
    mesh = before.mesh
    kept = faces_to_draw(before)
    used = np.zeros(len(mesh.x), dtype=bool)
    used[mesh.faces[kept]] = True
    number = np.cumsum(used) - 1
    moving, still = used[:n], mesh.x[n:][used[n:]]
    shapes = _shapes(result, int(moving.sum()))
    to_page = placing(np.concatenate([*(x[moving] for _, x in shapes), still]) if len(kept) else mesh.x)
    red, hits = zip(*(_crossing(result, x) for _, x in shapes))
    red = [np.flatnonzero(np.isin(kept, faces)) for faces in red]
    figures = result.to_dict()
    keys = ("converged", "method", "steps", "displacement", "edge_change", "flipped_faces", "certified", "seconds")
    return {key: figures[key] for key in keys} | {
        "vertices": len(mesh.x),
        "faces": len(mesh.faces),
        "parts": parts(before, kept),
        "up": _up(mesh.x),
        "step": array([entry["step"] for entry in result.history], "u4"),
        "ef_pairs": array([entry["ef_pairs"] for entry in result.history], "u4"),
        "red_vertices": array([entry["red_vertices"] for entry in result.history], "u4"),
        "at": array([step for step, _ in shapes], "u4"),
        "hits": array(hits, "u4"),
        "moving": array([_whole(to_page(x[moving])) for _, x in shapes], "u2"),
        "still": array(to_page(still), "f4"),
        "tri": array(number[mesh.faces[kept]], "u4"),
        "red_start": array(np.cumsum([0] + [len(faces) for faces in red]), "u4"),
        "red": array(np.concatenate(red), "u4"),
    }


def _shapes(result: Untangled, vertices: int) -> list[tuple[int, np.ndarray]]:
    """[(step, x (n, 3))]: the input, as many of the steps that were kept as fit on a page, and the result."""
    n = sum(len(mesh.x) for mesh in result.meshes)
    left = [entry["ef_pairs"] for entry in result.history]
    best = result.history[int(np.argmin(left))]["step"]
    shapes = [*(result.shapes or [(0, result.before.mesh.x[:n])]), (best, result.report.mesh.x[:n])]
    most = max(2, MOST // (6 * max(vertices, 1)))
    return [shapes[k] for k in np.unique(np.linspace(0, len(shapes) - 1, min(most, len(shapes))).round().astype(int))]


def _crossing(result: Untangled, x: np.ndarray) -> tuple[np.ndarray, int]:
    """The faces that cross others when the cloths are at x (n, 3), and how many edges pass through faces."""
    report = result.before
    mesh = report.mesh.moved(np.concatenate([x, report.mesh.x[len(x) :]]))
    hits = find_hits(mesh, passive=np.repeat([p.body for p in report.parts], [p.faces for p in report.parts]))
    return np.unique(build_segments(mesh, hits).faces), len(hits)


def _whole(page: np.ndarray) -> np.ndarray:
    return np.round(32767.5 * (np.clip(page, -1.0, 1.0) + 1.0))
