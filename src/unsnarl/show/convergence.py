"""How a tangle was undone, step by step: red vertices as a curve, the time of each step as bars. [D fig. 15]"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unsnarl.errors import BadInput, need
from unsnarl.io.whole import whole_file
from unsnarl.show.picture import CROSSING
from unsnarl.show.untangled import INK

BARS = "#b4c3d4"


def draw_convergence(red: Sequence[int], ms: Sequence[float], path: str | Path, *, title: str = "") -> None:
    """Draw into a PNG file.

    red : (k + 1,), how many vertices are red before each step and after the last
    ms  : (k,) of each step [ms]
    """
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise BadInput(f"{path}: pictures are written as PNG: name the file *.png")
    figure_class = need("matplotlib.figure", "drawing a picture", "pictures").Figure
    figure = figure_class(figsize=(11, 5), dpi=100, facecolor="white")
    times = figure.add_axes((0.075, 0.12, 0.85, 0.78))
    times.bar(range(1, len(ms) + 1), ms, width=0.7, color=BARS)
    times.set_yscale("log")
    times.set_ylabel("time of a step [ms]", color=INK)
    times.set_xlabel("step", color=INK)
    times.set_xlim(0, len(red))
    times.xaxis.get_major_locator().set_params(integer=True)
    times.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    times.spines[["top", "right"]].set_visible(False)
    count = times.twinx()
    (curve,) = count.plot(range(len(red)), red, color=CROSSING, lw=2)
    curve.set_clip_on(False)
    count.set_ylim(0, 1.05 * max(1, *red))
    count.set_ylabel("red vertices", color=CROSSING)
    count.tick_params(colors=CROSSING)
    count.spines[["top", "left"]].set_visible(False)
    count.spines["right"].set_color(CROSSING)
    times.tick_params(colors=INK)
    figure.text(0.5, 0.945, title, ha="center", color=INK)
    with whole_file(path) as temporary:
        figure.savefig(temporary, dpi=100)
