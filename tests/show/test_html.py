"""The page holds what the report says, needs nothing but itself, and runs in a real browser."""

import json
import re
import shutil
import subprocess
from base64 import b64decode

import numpy as np
import pytest

import unsnarl as us
from unsnarl.cli.main import run
from unsnarl.scenes import folded_sheet
from unsnarl.show import html
from unsnarl.show.html import END, LOOP, write_html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
EVIL = "</script><script>document.title='stolen'</script><!--\u2028'\"&\udc80"


@pytest.fixture(scope="module")
def report():
    return us.check(folded_sheet.build())


def written(report, folder):
    """(the text of the report's page, its data with the arrays decoded)."""
    path = folder / "page.html"
    write_html(report, path)
    text = path.read_text(encoding="utf-8")
    (block,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    data = json.loads(block)
    for name, value in data.items():
        if isinstance(value, list) and value and value[0] in ("f4", "u4", "u1"):
            data[name] = np.frombuffer(b64decode(value[1], validate=True), f"<{value[0]}")
    return text, data


def with_body():
    sheet = folded_sheet.build(1500)
    second = sheet.moved(sheet.x + [0.05, 0.02, 0.03])
    return us.check([sheet.named("a"), second.named(EVIL)], bodies=[sheet.moved(sheet.x + [0.2, 0, 0]).named("ball")])


def test_the_page_holds_the_report(report, tmp_path):
    _, data = written(report, tmp_path)
    mesh, paths = report.mesh, report.paths
    assert (data["vertices"], data["faces"]) == (len(mesh.x), len(mesh.faces))
    assert (data["hits"], data["segments"], data["counts"]) == (len(report.hits), len(report.segments), report.counts)
    assert (data["tri"].reshape(-1, 3) == mesh.faces).all()
    x, points = data["x"].reshape(-1, 3), data["point"].reshape(-1, 3)
    assert np.ptp(x, axis=0).max() == pytest.approx(2) and np.abs(x).max() <= 1
    scale = np.ptp(mesh.x, axis=0).max() / 2
    centre = (mesh.x.min(axis=0) + mesh.x.max(axis=0)) / 2
    assert x * scale + centre == pytest.approx(mesh.x, abs=1e-6)
    assert [data["kinds"][k] for k in data["kind"]] == [path.kind for path in paths]
    assert data["length"] == pytest.approx([path.length for path in paths])
    for i, path in enumerate(paths):
        here = slice(*data["point_start"][i : i + 2])
        assert points[here] * scale + centre == pytest.approx(path.points, abs=1e-6)
        assert len(np.unique(points[here][data["mark"][here] == LOOP], axis=0)) == len(path.loop_vertices)
        assert (data["mark"][here] == END).sum() == len(path.ends)
        for image in (2 * i, 2 * i + 1):
            inside = data["inside"][slice(*data["inside_start"][image : image + 2])]
            assert inside.tolist() == path.inside[image % 2].tolist()
            assert data["inside_count"][image] == len(inside)
    assert (data["mark"] == LOOP).any() and (data["mark"] == END).any()


def test_parts_and_bodies(tmp_path):
    report = with_body()
    _, data = written(report, tmp_path)
    assert [(p["name"], p["body"], p["drawn"]) for p in data["parts"]] == [
        (p.name.replace("\udc80", "?"), p.body, p.faces) for p in report.parts
    ]
    assert data["meshes"].reshape(-1, 2).tolist() == [list(path.meshes) for path in report.paths]


def test_it_needs_nothing_else_and_is_small(report, tmp_path):
    text, data = written(report, tmp_path)
    assert not re.search(r"https?://|\bsrc\s*=|\bhref\s*=|@import|url\(|\bimport\b|fetch\(|XMLHttpRequest", text)
    assert "default-src 'none'" in text
    assert len(text) < 4 / 3 * sum(v.nbytes for v in data.values() if isinstance(v, np.ndarray)) + 40_000


def test_names_are_harmless(tmp_path):
    text, data = written(with_body(), tmp_path)
    assert data["parts"][1]["name"].startswith("</script><script>") and data["parts"][1]["name"].endswith("&?")
    assert text.count("<script") == text.count("</script") == 2
    assert "stolen'</" not in text


def test_clean(tmp_path):
    _, data = written(us.check(folded_sheet.build(500, height=0.0)), tmp_path)
    assert data["hits"] == len(data["kind"]) == len(data["point"]) == len(data["inside"]) == 0
    assert len(data["tri"]) == 3 * data["faces"]


def test_of_a_large_mesh_only_the_surroundings(report, tmp_path, monkeypatch):
    monkeypatch.setattr(html, "LARGEST", 1000)
    monkeypatch.setattr(html, "RINGS", 1)
    _, data = written(report, tmp_path)
    faces = report.mesh.faces
    near = faces[np.isin(faces, faces[report.crossing_faces]).any(axis=1)]
    assert len(report.crossing_faces) < len(near) < len(faces)
    assert (np.unique(near)[data["tri"].reshape(-1, 3)] == near).all()
    assert data["parts"][0]["drawn"] == len(near) and len(data["x"]) == 3 * len(np.unique(near))
    assert np.unique(near)[data["inside"]].tolist() == [
        v for path in report.paths for region in path.inside for v in region if v in near
    ]
    assert data["inside_count"].tolist() == [len(region) for path in report.paths for region in path.inside]
    assert len(data["inside"]) < data["inside_count"].sum()
    monkeypatch.setattr(html, "RINGS", 2)
    monkeypatch.setattr(html, "LARGEST", len(faces) - 1)
    _, data = written(report, tmp_path)
    assert data["parts"][0]["drawn"] == np.isin(faces, near).any(axis=1).sum()
    monkeypatch.setattr(html, "LARGEST", len(near))
    _, data = written(report, tmp_path)
    assert data["parts"][0]["drawn"] == len(near)
    _, data = written(us.check(folded_sheet.build(2000, height=0.0)), tmp_path)
    assert len(data["tri"]) == 0 and data["faces"] > 1000


def test_huge_flat_and_tiny_numbers(tmp_path):
    faces = np.array([[0, 1, 2]])
    for size in (1e-300, 1e140):
        _, data = written(us.check((np.eye(3) * size, faces)), tmp_path)
        assert np.isfinite(data["x"]).all() and np.abs(data["x"]).max() == 1
    _, data = written(us.check((np.full((3, 3), 7.0), faces)), tmp_path)
    assert (data["x"] == 0).all()


def test_only_html(report, tmp_path):
    with pytest.raises(us.BadInput, match="HTML"):
        write_html(report, tmp_path / "page.txt")
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_it(tmp_path, capsys):
    mesh, page = tmp_path / "m.obj", tmp_path / "p.html"
    us.write_mesh(mesh, folded_sheet.build(1000))
    before = mesh.read_bytes()
    assert run(["check", str(mesh), "--html", str(page)]) == 1
    assert f"page: {page}" in capsys.readouterr().out
    assert page.read_text().startswith("<!doctype html>")
    (tmp_path / "notes.txt").write_text("mine")
    for target in (mesh, tmp_path / "notes.txt", tmp_path / "new.txt", tmp_path / "no" / "p.html", tmp_path):
        assert run(["check", str(mesh), "--html", str(target)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert mesh.read_bytes() == before and (tmp_path / "notes.txt").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.obj", "notes.txt", "p.html"]


USE_IT = """<script>
const press = (type, clientX, clientY, more) =>
  canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX, clientY, ...more }));
canvas.setPointerCapture = () => {};
const views = [JSON.stringify(camera)];
const see = () => { frame(); views.push(JSON.stringify(camera)); };
press("pointerdown", 100, 100);
press("pointermove", 150, 120);
see();
press("pointermove", 180, 140, { shiftKey: true });
see();
press("pointerup", 180, 140);
canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: 200 }));
see();
for (const box of document.querySelectorAll("input")) { box.click(); frame(); }
buttons[2].click();
for (const box of document.querySelectorAll("input")) { frame(); box.click(); }
frame();
document.body.dataset.views = new Set(views).size;
</script></body>"""


def browse(page, *flags, anchor=""):
    """The page's DOM after its script has run."""
    if CHROMIUM is None:
        pytest.skip("neither chromium nor chromium-browser is on the PATH")
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-background-networking", "--disable-component-update",
        "--disable-sync", "--no-first-run", f"--user-data-dir={page.parent / 'profile'}", "--enable-unsafe-swiftshader",
        "--use-gl=angle", "--use-angle=swiftshader", "--window-size=800,600", "--virtual-time-budget=3000", *flags,
        "--dump-dom", page.as_uri() + anchor,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_it_draws_in_chromium(tmp_path):
    text, data = written(with_body(), tmp_path)
    page = tmp_path / "page.html"
    page.write_text(text.replace("</body>", USE_IT))
    dom = browse(page)
    assert 'data-state="ready"' in dom and 'data-views="4"' in dom
    assert dom.count("<button aria-pressed=") == len(data["kind"]) and dom.count('aria-pressed="true"') == 1
    assert re.search("<title>(.*?)</title>", dom, re.DOTALL).group(1).endswith("unsnarl")


def test_a_link_to_a_path(report, tmp_path):
    written(report, tmp_path)
    for anchor, pressed in (("#path=3", 1), ("#path=999", 0), ("#path=x", 0)):
        dom = browse(tmp_path / "page.html", anchor=anchor)
        assert 'data-state="ready"' in dom and dom.count('aria-pressed="true"') == pressed
    assert dom.count("segments, ") == len(report.paths)


def test_nothing_to_draw(tmp_path, monkeypatch):
    monkeypatch.setattr(html, "LARGEST", 1)
    written(us.check(folded_sheet.build(500, height=0.0)), tmp_path)
    dom = browse(tmp_path / "page.html")
    assert 'data-state="ready"' in dom and '<p id="note">The mesh is too large to be drawn here.</p>' in dom


def test_clean_and_without_webgl(tmp_path):
    text, _ = written(us.check(folded_sheet.build(500, height=0.0)), tmp_path)
    page = tmp_path / "page.html"
    dom = browse(page)
    assert 'data-state="ready"' in dom and '<p id="clean">No intersections</p>' in dom
    dom = browse(page, "--disable-3d-apis")
    assert 'data-state="no-webgl"' in dom and "has no WebGL" in dom.split("<script")[0]
    page.write_text(text.replace("</body>", "<script>nothing.at.all()</script></body>"))
    assert 'data-state="error"' in browse(page)
