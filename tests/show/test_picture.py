"""Pictures show what was found: red where faces cross, none of it where nothing does."""

import numpy as np
import pytest

import unsnarl as us
from unsnarl.scenes import folded_sheet
from unsnarl.show.picture import draw_report

pytest.importorskip("pyvista")


def red_pixels(path):
    from pyvista import read

    rgb = np.asarray(read(path).active_scalars).astype(int)
    return int(((rgb[:, 0] > 120) & (rgb[:, 1] < 90) & (rgb[:, 2] < 90)).sum()), len(rgb)


def test_crossing_faces_are_red(tmp_path):
    for height in (0.1, 0.0):
        path = tmp_path / f"{height}.png"
        draw_report(us.check(folded_sheet.build(3000, height=height)), path, size=(400, 300))
        red, total = red_pixels(path)
        assert (red > 0.003 * total) == (height > 0)
        assert red < 0.3 * total


def test_bodies_and_several_meshes(tmp_path):
    sheet = folded_sheet.build(500)
    report = us.check([sheet, sheet.moved(sheet.x + [0, 0, 0.03])], bodies=[sheet.moved(sheet.x + [0.2, 0, 0])])
    draw_report(report, tmp_path / "all.png", size=(300, 200))
    assert red_pixels(tmp_path / "all.png")[0] > 0


def test_only_png(tmp_path):
    with pytest.raises(us.BadInput, match="PNG"):
        draw_report(us.check(folded_sheet.build(200)), tmp_path / "a.jpg")
    assert list(tmp_path.iterdir()) == []
