"""What untangling did, drawn: before, after and the way between; as a picture, and as a page in a real browser."""

import json
import re
from base64 import b64decode

import numpy as np
import pytest

import unsnarl as us
from tests.show.test_html import EVIL, browse
from tests.show.test_picture import red_pixels
from unsnarl.scenes.tangles.canonical import canonical
from unsnarl.show import untangled
from unsnarl.show.untangled import draw_untangled, write_untangled


@pytest.fixture(scope="module")
def result():
    return us.untangle([mesh.named(EVIL) for mesh in canonical("closed", 14).meshes], record=40)


@pytest.fixture(scope="module")
def with_body():
    """Not a step is taken."""
    body, cloth = canonical("closed", 14).meshes
    return us.untangle(cloth, bodies=[body], max_steps=0)


def written(result, folder):
    """(the text of the page, its data with the arrays decoded)."""
    path = folder / "page.html"
    write_untangled(result, path)
    text = path.read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)[1])
    for name, value in data.items():
        if isinstance(value, list) and value and value[0] in ("f4", "u4", "u2"):
            data[name] = np.frombuffer(b64decode(value[1], validate=True), f"<{value[0]}")
    return text, data


def test_the_picture_shows_before_and_after(result, tmp_path):
    pytest.importorskip("pyvista")
    from matplotlib.image import imread

    path = tmp_path / "p.png"
    draw_untangled(result, path, size=(800, 600))
    rgb = np.round(255 * imread(path)[:, :, :3]).astype(int)
    assert rgb.shape == (600, 800, 3)
    panels, plot = rgb[40:380], rgb[420:]
    red = (panels[..., 0] > 120) & (panels[..., 1] < 90) & (panels[..., 2] < 90)
    assert red[:, :400].sum() > 1000 and red[:, 400:].sum() == 0
    for half in (panels[:, :400], panels[:, 400:]):
        assert 0.1 < (half != 255).any(axis=2).mean() < 0.9
    for colour in ([0x35, 0x61, 0x8F], [0xD1, 0x33, 0x2E]):
        assert (plot == colour).all(axis=2).sum() > 100


def test_a_picture_without_steps_and_with_a_body(with_body, tmp_path):
    pytest.importorskip("pyvista")
    draw_untangled(with_body, tmp_path / "p.png", size=(400, 300))
    assert red_pixels(tmp_path / "p.png")[0] > 100
    with pytest.raises(us.BadInput, match="PNG"):
        draw_untangled(with_body, tmp_path / "p.jpg")
    assert [path.name for path in tmp_path.iterdir()] == ["p.png"]


def test_the_page_holds_the_way(result, tmp_path):
    text, data = written(result, tmp_path)
    assert len(data["at"]) == len(result.shapes) + 1
    assert data["at"].tolist() == [step for step, _ in result.shapes] + [result.steps]
    assert data["hits"].tolist()[:-1] == [result.history[step]["ef_pairs"] for step, _ in result.shapes]
    assert data["hits"][0] == 66 and data["hits"][-1] == 0
    for key in ("step", "ef_pairs", "red_vertices"):
        assert data[key].tolist() == [entry[key] for entry in result.history]
    x = data["moving"].reshape(len(data["at"]), -1, 3) / 32767.5 - 1
    every = np.stack([x for _, x in result.shapes] + [result.report.mesh.x])
    low, high = every.min(axis=(0, 1)), every.max(axis=(0, 1))
    scale = (high - low).max() / 2
    assert x * scale + (low + high) / 2 == pytest.approx(every, abs=4e-5 * scale)
    red = np.split(data["red"], data["red_start"][1:-1])
    assert red[0].tolist() == result.before.crossing_faces.tolist() and len(red[-1]) == 0
    assert (data["tri"].reshape(-1, 3) == result.report.mesh.faces).all()
    assert not re.search(r"https?://|\bsrc\s*=|\bhref\s*=|@import|url\(|\bimport\b|fetch\(|XMLHttpRequest", text)
    assert "default-src 'none'" in text and "@" not in re.sub("@media", "", text.split("<script")[0])
    assert text.count("<script") == text.count("</script") == 2 and "stolen'</" not in text


def test_the_page_stays_small(result, tmp_path, monkeypatch):
    monkeypatch.setattr(untangled, "MOST", 1)
    _, data = written(result, tmp_path)
    assert data["at"].tolist() == [0, result.steps] and data["hits"].tolist() == [66, 0]


def test_a_page_without_steps_and_with_a_body(with_body, tmp_path):
    _, data = written(with_body, tmp_path)
    assert data["at"].tolist() == [0, 0] and data["hits"].tolist() == [66, 66] and not data["converged"]
    assert [part["body"] for part in data["parts"]] == [False, True]
    assert len(data["still"]) == 3 * data["parts"][1]["vertices"]
    with pytest.raises(us.BadInput, match="HTML"):
        write_untangled(with_body, tmp_path / "p.txt")


LISTEN = """<script>
const complain = (...what) => { document.documentElement.dataset.complaint = what.join(" "); };
console.error = console.warn = complain;
window.addEventListener("securitypolicyviolation", event => complain(event.violatedDirective));
</script></head>"""
USE_IT = """<script>
const looks = [];
function look() {
  frame();
  const pixels = new Uint8Array(4 * canvas.width * canvas.height);
  gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
  let red = 0;
  for (let i = 0; i < pixels.length; i += 4) red += pixels[i] > 120 && pixels[i + 1] < 80 && pixels[i + 2] < 80;
  const marker = Number($("marker").getAttribute("x1"));
  looks.push([Number(slider.value), $("which").textContent, $("hits").textContent, marker, red > 200]);
}
const slider = $("slider");
look();
for (let k = 1; k <= Number(slider.max); k++) {
  slider.value = k;
  slider.dispatchEvent(new Event("input"));
  look();
}
const box = $("plot").getBoundingClientRect();
$("plot").dispatchEvent(new PointerEvent("pointerdown", { clientX: box.left + 1 }));
look();
for (const box of document.querySelectorAll("input[type=checkbox]")) { box.click(); frame(); }
look();
for (const box of document.querySelectorAll("input[type=checkbox]")) { box.click(); frame(); }
document.body.dataset.looks = JSON.stringify(looks);
$("play").click();
document.body.dataset.playing = $("play").title;
</script></body>"""


def attribute(dom, name):
    """The attribute of an element, as it was."""
    from html import unescape

    return unescape(re.search(f'{name}="(.*?)"', dom)[1])


def test_it_runs_in_chromium(result, tmp_path):
    text, data = written(result, tmp_path)
    page = tmp_path / "page.html"
    page.write_text(text.replace("</head>", LISTEN).replace("</body>", USE_IT))
    dom = browse(page, "--virtual-time-budget=8000")
    assert 'data-state="ready"' in dom and "data-complaint" not in dom
    looks = json.loads(attribute(dom, "data-looks"))
    count = len(data["at"])
    assert [look[0] for look in looks] == [*range(count), 0, 0]
    assert looks[0][1:3] == [f"step 0 of {result.steps}", "66 edges through faces"]
    assert looks[count - 1][1:3] == ["result", "nothing crosses"]
    assert looks[0][3] < looks[1][3] < looks[count - 1][3]
    assert [look[4] for look in looks] == [n > 0 for n in data["hits"]] + [True, False]
    assert attribute(dom, "data-playing") == "pause"
    assert 'title="play"' in dom and '<span id="which">result</span>' in dom  # it has played to the end
    assert '<p id="status" class="good">Untangled: nothing crosses</p>' in dom


def test_a_link_to_a_step_with_a_body_and_without_webgl(with_body, tmp_path):
    written(with_body, tmp_path)
    dom = browse(tmp_path / "page.html", anchor="#shown=1")
    assert (
        'data-state="ready"' in dom and '<span id="which">result</span>' in dom and "Not untangled: 66 edges go" in dom
    )
    dom = browse(tmp_path / "page.html", "--disable-3d-apis")
    assert 'data-state="no-webgl"' in dom and '<b id="hits" class="bad">66 edges through faces</b>' in dom
