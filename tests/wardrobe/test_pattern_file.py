"""Pattern files: what they say becomes a pattern, and what is wrong with one is said in a line."""

import json
import random
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from unsnarl.errors import BadInput
from unsnarl.wardrobe.cut import cut, edge_for, merge
from unsnarl.wardrobe.pattern import Piece, Seam
from unsnarl.wardrobe.pattern_file import GARMENTS, garment, read_garment

WHOLE = """\
name = "tunic"
material = "linen"
pose = "t_pose"
[[panel]]
name = "front"
corners = [[-0.3, -0.6], [0.3, -0.6], [0.25, 0], [0.1, 0.05], [-0.1, 0.05], [-0.25, 0]]
edges = ["hem", "left", "shoulder_left", "neck", "shoulder_right", "right"]
curves = { neck = [0.5, 0.6], hem = [0.3, -0.1, 0.7, -0.1] }
position = [0, 1.5, 0.2]

[[panel]]
name = "back"
corners = [[-0.3, -0.6], [0.3, -0.6], [0.25, 0], [0.1, 0.05], [-0.1, 0.05], [-0.25, 0]]
position = [0, 1.5, -0.2]
rotate = [0, 180, 0]

[[panel]]
name = "sleeve"
corners = [[-0.2, -0.3], [0.2, -0.3], [0.2, 0], [-0.2, 0]]
edges = ["cuff", "under_back", "cap", "under_front"]
position = [0.4, 1.4, 0]
rotate = [0, 90, 40]
wrap = 0.08

[[panel]]
name = "other sleeve"
mirror = "sleeve"

[[seam]]
between = ["front.shoulder_left", "back.4"]
[[seam]]
between = ["front.shoulder_right", "back.2"]
[[seam]]
between = ["sleeve.under_back", "sleeve.under_front"]
[[seam]]
between = ["front.left 0:0.6", "back.5 0:0.6"]
[[seam]]
between = [["back.0 0:0.5", "back.0 0.5:1"], "other sleeve.cap"]
"""

PATTERNS = {  # panels, stitches, openings
    "dress": (8, 18, 4),
    "jacket": (7, 12, 3),
    "pants_straight_sides": (4, 6, 3),
    "skirt_2_panels": (2, 4, 2),
    "skirt_4_panels": (4, 8, 2),
    "tee": (6, 12, 4),
    "tee_hood": (8, 18, 4),
}
CODE = {
    "pattern": {
        "panels": {
            "front": {
                "vertices": [[0, 0], [40, 0], [40, 30], [0, 30]],
                "edges": [
                    {"endpoints": [0, 1]},
                    {"endpoints": [2, 1], "curvature": [0.25, 0.1]},
                    {"endpoints": [2, 3]},
                    {"endpoints": [3, 0]},
                ],
                "translation": [0, 150, 20],
                "rotation": [0, 0, 0],
            },
            "back": {
                "vertices": [[0, 0], [40, 0], [40, 30], [0, 30]],
                "edges": [{"endpoints": [k, (k + 1) % 4]} for k in range(4)],
                "translation": [40, 150, -20],
                "rotation": [0, 180, 0],
            },
        },
        "stitches": [[{"panel": "front", "edge": 1}, {"panel": "back", "edge": 3}]],
    },
    "properties": {"units_in_meter": 100, "curvature_coords": "relative"},
}


def read(folder, content, kind="toml"):
    path = folder / f"tunic.{kind}"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_garment(path)


def refused(folder, content, kind="toml"):
    with pytest.raises(BadInput) as caught:
        read(folder, content, kind)
    message, path = str(caught.value), folder / f"tunic.{kind}"
    assert "\n" not in message and message.startswith(f"{path}: ") and message.count(str(path)) == 1
    return message.removeprefix(f"{path}: ")


# ---- our own


def test_a_whole_pattern(tmp_path):
    pattern = read(tmp_path, WHOLE)
    assert pattern.name == "tunic" and pattern.material.name == "linen" and pattern.pose == "t_pose"
    front, back, sleeve, other = pattern.panels
    assert [p.name for p in pattern.panels] == ["front", "back", "sleeve", "other sleeve"]
    assert front.edges[3] == "neck" and back.edges == ("0", "1", "2", "3", "4", "5") and other.edges == sleeve.edges
    assert front.curves[3].tolist() == [[0.5, 0.6]] and front.curves[0].tolist() == [[0.3, -0.1], [0.7, -0.1]]
    assert front.placed(front.corners[:1]) == pytest.approx(np.array([(-0.3, 0.9, 0.2)]))
    assert back.placed(back.corners[:1]) == pytest.approx(np.array([(0.3, 0.9, -0.2)]))  # as seen from behind
    assert sleeve.wrap == other.wrap == 0.08 and front.wrap is None
    uv = np.array([(0.0, 0.0), (0.0, 0.2)])
    assert sleeve.rotation @ [0, 0, 1] == pytest.approx(np.array([np.cos(np.radians(40)), np.sin(np.radians(40)), 0]))
    assert sleeve.placed(uv) * [-1, 1, 1] == pytest.approx(other.placed(uv))
    assert pattern.seams[0] == Seam((Piece("front", 2),), (Piece("back", 4),))
    assert pattern.seams[3] == Seam((Piece("front", 1, 0.0, 0.6),), (Piece("back", 5, 0.0, 0.6),))
    assert pattern.seams[4].one == (Piece("back", 0, 0.0, 0.5), Piece("back", 0, 0.5, 1.0))
    assert pattern.seams[4].two == (Piece("other sleeve", 2),)
    assert len(cut(pattern, 0.05).stitches) > 20


def same(one, two):
    assert one.name == two.name and one.material == two.material and one.pose == two.pose
    assert one.seams == two.seams
    for a, b in zip(one.panels, two.panels, strict=True):
        assert (a.name, a.edges, a.wrap) == (b.name, b.edges, b.wrap) and a.curves.keys() == b.curves.keys()
        assert all((getattr(a, key) == getattr(b, key)).all() for key in ("corners", "rotation", "position"))
        assert all((a.curves[k] == b.curves[k]).all() for k in a.curves)


def test_the_same_tables_in_json(tmp_path):
    same(read(tmp_path, tomllib.loads(WHOLE), "json"), read(tmp_path, WHOLE))


@pytest.mark.parametrize("name", GARMENTS)
def test_garments_of_the_wardrobe(tmp_path, name):
    pattern = garment(name)
    assert pattern.name == name
    path = tmp_path / f"{name}.json"
    text = (files("unsnarl.wardrobe") / "garments" / f"{name}.toml").read_text()
    path.write_text(json.dumps(tomllib.loads(text)))
    same(read_garment(path), pattern)


def test_what_is_not_said(tmp_path):
    pattern = read(tmp_path, '[[panel]]\nname = "rag"\ncorners = [[0, 0], [1, 0], [0, 1]]\n')
    (panel,) = pattern.panels
    assert (
        pattern.name == "tunic" and pattern.material.name == "cotton" and pattern.seams == () and pattern.pose is None
    )
    assert (panel.rotation == np.eye(3)).all() and (panel.position == 0).all() and panel.edges == ("0", "1", "2")


def test_the_example_in_the_documentation(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "garments.md").read_text()
    pattern = read(tmp_path, page.partition("```toml\n")[2].partition("```")[0])
    pieces = cut(pattern, 0.04)
    merged = merge(pieces.mesh, pieces.stitches)
    assert len(merged.boundary_loops) == 2 and len(merged.x) - len(merged.edges) + len(merged.faces) == 0
    listed = re.findall(r"^\| `(\w+)` \|", page.partition("## The wardrobe")[2].partition("\n## ")[0], re.MULTILINE)
    assert sorted(listed) == sorted(GARMENTS)


def test_curves_of_the_newer_kind(tmp_path):
    """Quadratic and cubic, also on an edge that is followed backwards."""
    square = [[0, 0], [100, 0], [100, 100], [0, 100]]
    cubic = {"type": "cubic", "params": [[0.2, 0.1], [0.7, -0.1]]}
    for ends, wanted in (([1, 2], [[0.2, 0.1], [0.7, -0.1]]), ([2, 1], [[0.3, 0.1], [0.8, -0.1]])):
        edges = [{"endpoints": [0, 1], "curvature": {"type": "quadratic", "params": [[0.5, -0.2]]}},
                 {"endpoints": ends, "curvature": cubic}, {"endpoints": [2, 3]}, {"endpoints": [3, 0]}]  # fmt: skip
        file = tmp_path / "square.json"
        file.write_text(json.dumps({"pattern": {"panels": {"a": {"vertices": square, "edges": edges}}}}))
        panel = read_garment(file).panels[0]
        np.testing.assert_allclose(panel.curves[0], [[0.5, -0.2]])
        np.testing.assert_allclose(panel.curves[1], wanted)


def test_names_with_dots_and_spaces(tmp_path):
    text = WHOLE.replace('"other sleeve"', '"sleeve no. 2"').replace("other sleeve.cap", " sleeve no. 2.cap ")
    assert read(tmp_path, text).seams[4].two == (Piece("sleeve no. 2", 2),)
    text = WHOLE.replace("0:0.6", " \t 0.0:6e-1")
    assert read(tmp_path, text).seams[3].one == (Piece("front", 1, 0.0, 0.6),)


BAD = [  # what is replaced in WHOLE, by what, and how the message begins
    ('name = "tunic"', "name = 3", "line 1: name: must be text in quotes, not 3"),
    ('name = "tunic"', 'nme = "tunic"', "line 1: nme: is not known; did you mean name?"),
    ('material = "linen"', 'material = "lemon"', "line 2: material: there is no material 'lemon'; there are"),
    ('material = "linen"', "material = ", "line 2, column 12: not TOML: "),
    ('pose = "t_pose"', 'pose = "tea"', "line 3: pose: there is no pose 'tea'; there are a_pose, t_pose"),
    ('name = "front"', "", "line 4: panel[0].name: is missing"),
    ('name = "front"', 'name = ["front"]', "line 5: panel[0].name: must be text in quotes"),
    ('name = "front"', 'name = "front"\nfront = 1', "line 6: panel[0].front: is not known; known are name, corners"),
    ('name = "back"', 'name = "front"', "line 12: panel[1].name: 'front' is taken"),
    ("[[panel]]", "[panel]", "line 11, column 8: not TOML: "),
    ("[[-0.3, -0.6], [0.3, -0.6], [0.25, 0]", "[[-0.3, -0.6, 0], [0.25, 0]", "line 6: panel[0].corners[0]: must have"),
    ("[[-0.3, -0.6]", "[-0.3, [-0.6, 1]", "line 6: panel[0].corners[0]: must be a list, not -0.3"),
    ("[[-0.3, -0.6]", "[[nan, -0.6]", "line 6: panel[0].corners[0][0]: must be a finite number, not nan"),
    ("[[-0.3, -0.6]", '[["-0.3", -0.6]', "line 6: panel[0].corners[0][0]: must be a number, not '-0.3'"),
    ("[[-0.3, -0.6]", "[[-300, -0.6]", "line 4: panel[0]: a corner is more than 100 m away: units are metres"),
    ("[[-0.3, -0.6]", "[[0.3, -0.6]", "line 4: panel[0]: two corners in a row are at the same place"),
    (WHOLE[WHOLE.index("corners") : WHOLE.index("edges")], "", "line 4: panel[0]: it needs corners, or the panel that"),
    ("corners = [[-0.2, -0.3], [0.2, -0.3], [0.2, 0], [-0.2, 0]]", "corners = [[0, 0], [1, 1]]",
     "line 19: panel[2].corners: must have 3 entries, not 2"),
    ('"hem", "left"', '"hem"', "line 7: panel[0].edges: must be 6 different names, one for each corner"),
    ('"hem", "left"', '"hem", "hem"', "line 7: panel[0].edges: must be 6 different names, one for each corner"),
    ('"hem", "left"', '"hem", 2', "line 7: panel[0].edges[1]: must be text in quotes, not 2"),
    ("curves = { neck", "curves = { nek", "line 8: panel[0].curves: there is no edge 'nek'; there are hem, left"),
    ("neck = [0.5, 0.6]", "neck = [0.5]", "line 8: panel[0].curves: neck: must be [along, left], or that of two"),
    ("neck = [0.5, 0.6]", "neck = [0.5, 0.1, 0.2]", "line 8: panel[0].curves: neck: must be [along, left]"),
    ("neck = [0.5, 0.6]", "neck = 0.5", "line 8: panel[0].curves.neck: must be a list, not 0.5"),
    ("neck = [0.5, 0.6]", "neck = [0.5, inf]", "line 8: panel[0].curves.neck[1]: must be a finite number, not inf"),
    ("neck = [0.5, 0.6]", "neck = [0.5, 1e99]", "line 8: panel[0].curves: must be within 100 lengths"),
    ("position = [0, 1.5, 0.2]", "position = [0, 1.5]", "line 9: panel[0].position: must have 3 entries, not 2"),
    ("position = [0, 1.5, 0.2]", "position = [0, 1e9, 0]", "line 9: panel[0].position: must be three numbers"),
    ("position = [0, 1.5, 0.2]", f"position = [0, 1{400 * '0'}, 0]", "line 9: panel[0].position[1]: must be a number"),
    ("position = [0, 1.5, 0.2]", f"position = [0, 1{5000 * '0'}, 0]", "not TOML: a number has too many digits"),
    ("rotate = [0, 180, 0]", "rotate = 180", "line 15: panel[1].rotate: must be a list, not 180"),
    ("rotate = [0, 180, 0]", "rotate = [0, nan, 0]", "line 15: panel[1].rotate[1]: must be a finite number, not nan"),
    ("wrap = 0.08", "wrap = 0", "line 23: panel[2].wrap: must be a radius from 0.001 to 100 m, not 0"),
    ("wrap = 0.08", "wrap = true", "line 23: panel[2].wrap: must be a number, not true"),
    ('mirror = "sleeve"', 'mirror = "glove"', "line 27: panel[3].mirror: there is no panel 'glove' before this one"),
    ('mirror = "sleeve"', 'mirror = "other sleeve"', "line 27: panel[3].mirror: there is no panel 'other sleeve'"),
    ('mirror = "sleeve"', 'mirror = "sleeve"\nwrap = 1', "line 28: panel[3].wrap: is that of the mirrored panel"),
    ("[[seam]]", "[[sea]]", "line 29: sea: is not known; did you mean seam?"),
    ('between = ["front.shoulder_left", "back.4"]', "", "line 29: seam[0].between: is missing"),
    ('"front.shoulder_left", "back.4"', '"back.4"', "line 30: seam[0].between: must have 2 entries, not 1"),
    ('"front.shoulder_left"', "7", 'line 30: seam[0].between[0]: must be an edge, "panel.edge", or a list of edges'),
    ('"front.shoulder_left"', "[]", 'line 30: seam[0].between[0]: must be an edge, "panel.edge", or a list'),
    ('"front.shoulder_left"', '["front.hem", 3]', 'line 30: seam[0].between[0]: must be an edge, "panel.edge", or a'),
    ('"front.shoulder_left"', '"front"', 'line 30: seam[0].between[0]: must be "panel.edge" or "panel.edge 0:0.5"'),
    ('"front.shoulder_left"', '"from.hem"', "line 30: seam[0].between[0]: there is no panel 'from'; there are front"),
    ('"front.shoulder_left"', '"front.ham"', "line 30: seam[0].between[0]: front has no edge 'ham'; it has hem, left"),
    ("front.left 0:0.6", "front.left 0:1.6", "line 36: seam[3].between[0]: 0:1.6 must be two numbers from 0 to 1"),
    ("front.left 0:0.6", "front.left 0.6:0.6", "line 36: seam[3].between[0]: 0.6:0.6 must be two numbers from 0 to 1"),
    ("front.left 0:0.6", "front.left 0:1e-9", "line 35: seam[3]: a seam takes 0.0 to 1e-09 of an edge, not two"),
    ("front.left 0:0.6", "front.left 1.2.3:1", "line 36: seam[3].between[0]: 1.2.3:1 must be two numbers from 0 to 1"),
    ("front.left 0:0.6", "front.left 0-0.6", "line 36: seam[3].between[0]: there is no panel 'front.left 0-0'"),
    ("back.0 0.5:1", "back.0 0.4:1", "line 37: seam[4]: back.0 is sewn twice"),
    ("back.5 0:0.6", "back.4 0.5:0.7", "line 35: seam[3]: back.4 is sewn twice"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), BAD)
def test_what_is_wrong_is_said_with_line_and_key(tmp_path, old, new, said):
    assert old in WHOLE
    message = refused(tmp_path, WHOLE.replace(old, new, 1))
    assert message.startswith(said), message


def test_files_that_are_none(tmp_path):
    assert refused(tmp_path, "") == "there is no panel"
    assert refused(tmp_path, "{}", "json") == "there is no panel"
    assert refused(tmp_path, "panel = 3") == "line 1: panel: must be a list, not 3"
    assert refused(tmp_path, '[panel]\nname = "a"') == "line 1: panel: must be a list of tables: write [[panel]]"
    assert refused(tmp_path, b"name = '\xff'").startswith("is not text in UTF-8")
    assert refused(tmp_path, "[3]", "json") == "must be a table"
    assert refused(tmp_path, '{"panel": [\n3}', "json").startswith("line 2: not JSON: ")
    assert refused(tmp_path, '{"a": ' + 200_000 * "[", "json") == "not JSON: it is nested too deeply"
    assert refused(tmp_path, '{"a": 1' + 5_000 * "0" + "}", "json") == "not JSON: a number has too many digits"
    assert refused(tmp_path, "a = " + 200_000 * "[") == "not TOML: it is nested too deeply"
    assert refused(tmp_path, "x", "svg") == "patterns are .toml or .json files"
    with pytest.raises(BadInput, match=r"nowhere.toml: cannot be read: No such file"):
        read_garment(tmp_path / "nowhere.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(BadInput, match=r"folder.toml: cannot be read: "):
        read_garment(tmp_path / "folder.toml")


@pytest.mark.parametrize("name", ["toga", "", "../garments/dress", "dress.toml", None, 3, ["dress"]])
def test_garments_that_are_not_in_the_wardrobe(name):
    with pytest.raises(BadInput, match=r"no garment is called .*; there are circle_skirt, "):
        garment(name)


# ---- GarmentCode's


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_of_garment_code(data, name):
    path = data / "patterns" / f"{name}.json"
    file, pattern = json.loads(path.read_text()), read_garment(path)
    tables, stitches, openings = PATTERNS[name]
    assert len(pattern.panels) == tables and len(pattern.seams) == stitches and pattern.name == name
    unit = file["properties"]["units_in_meter"]
    for panel in pattern.panels:
        table = file["pattern"]["panels"][panel.name]
        points = np.array(table["vertices"]) / unit
        assert len(panel.corners) == len(table["edges"])
        assert {tuple(p) for p in panel.corners.round(9)} == {tuple(p) for p in points.round(9)}
        assert len(panel.curves) == sum("curvature" in edge for edge in table["edges"])
        assert panel.placed(np.zeros((1, 2)))[0] == pytest.approx(np.array(table["translation"]) / unit)
        for edge in table["edges"]:  # each is there with its control point, in one direction or the other
            a, b = points[edge["endpoints"]]
            found = [k for k in range(len(points)) if {*ends(panel, k)} == {(*a.round(9),), (*b.round(9),)}]
            assert len(found) == 1
            if "curvature" in edge:
                along, left = edge["curvature"]
                control = a + along * (b - a) + left * np.array([-(b - a)[1], (b - a)[0]])
                middle = 0.25 * a + 0.5 * control + 0.25 * b
                fine = panel.along(found[0], np.linspace(0, 1, 2001))
                assert np.linalg.norm(fine - middle, axis=1).min() < 1e-3
    for seam, stitch in zip(pattern.seams, file["pattern"]["stitches"], strict=True):
        for (piece,), side in zip((seam.one, seam.two), stitch, strict=True):
            table = file["pattern"]["panels"][side["panel"]]
            there = np.array(table["vertices"])[table["edges"][side["edge"]]["endpoints"]] / unit
            assert piece.panel == side["panel"] and (piece.first, piece.last) == (0.0, 1.0)
            assert {*ends(pattern.panel(piece.panel), piece.edge)} == {tuple(p) for p in there.round(9)}
    edge = edge_for(pattern, 1_000)
    pieces = cut(pattern, edge)
    merged = merge(pieces.mesh, pieces.stitches)
    assert len(merged.x) == pytest.approx(1_000, rel=0.1) and len(merged.non_manifold_edges) == 0
    assert len(merged.boundary_loops) == openings and merged.face_component.max() == 0
    assert len(merged.x) - len(merged.edges) + len(merged.faces) == 2 - openings
    lengths = np.linalg.norm(np.diff(pieces.mesh.uv[pieces.mesh.edges], axis=1), axis=2)
    assert lengths.min() > 0.25 * edge


def ends(panel, edge):
    return [tuple(panel.corners[k % len(panel.corners)].round(9)) for k in (edge, edge + 1)]


def changed(change):
    """CODE after `change(pattern, panel front, properties)`."""
    content = json.loads(json.dumps(CODE))
    change(content["pattern"], content["pattern"]["panels"]["front"], content["properties"])
    return content


def test_edges_of_garment_code_may_run_backwards(tmp_path):
    pattern = read(tmp_path, CODE, "json")
    front = pattern.panels[0]
    assert front.corners == pytest.approx(np.array([(0, 0), (0.4, 0), (0.4, 0.3), (0, 0.3)]))
    assert front.curves[1] == pytest.approx(np.array([(0.75, -0.1)]))
    assert front.along(1, [0.5])[0, 0] > 0.4  # to the left of the way down
    assert pattern.seams == (Seam((Piece("front", 1),), (Piece("back", 3),)),)

    shuffled = changed(lambda pattern, front, _: front["edges"].reverse())
    shuffled["pattern"]["stitches"][0][0]["edge"] = 2
    again = read(tmp_path, shuffled, "json")
    seam = again.seams[0].one[0]
    assert {*ends(again.panels[0], seam.edge)} == {*ends(front, 1)}


def test_units_of_garment_code(tmp_path):
    metres = read(tmp_path, changed(lambda p, f, properties: properties.update(units_in_meter=1000)), "json")
    assert np.ptp(metres.panels[0].corners, axis=0) == pytest.approx([0.04, 0.03])
    assert metres.panels[0].position == pytest.approx([0, 0.15, 0.02])
    plain = changed(lambda *_: None)
    del plain["properties"]
    assert np.ptp(read(tmp_path, plain, "json").panels[0].corners, axis=0) == pytest.approx([0.4, 0.3])


FRONT = "pattern.panels.front"
BAD_CODE = [  # how CODE is changed, and how the message begins
    (lambda p, f, s: p.update(panels=[]), "pattern.panels: must be a table"),
    (lambda p, f, s: p.update(panels={}), "pattern.panels: must have 1 entries, not 0"),
    (lambda p, f, s: p.pop("panels"), "pattern.panels: is missing"),
    (lambda p, f, s: p["panels"].update(front=3), f"{FRONT}: must be a table, not 3"),
    (lambda p, f, s: p.update(stitches=3), "pattern.stitches: must be a list, not 3"),
    (lambda p, f, s: p["stitches"][0].pop(), "pattern.stitches[0]: must have 2 entries, not 1"),
    (lambda p, f, s: p["stitches"][0].append(p["stitches"][0][0]), "pattern.stitches[0]: must have 2 entries, not 3"),
    (lambda p, f, s: p["stitches"][0][0].pop("edge"), "pattern.stitches[0][0].edge: is missing"),
    (lambda p, f, s: p["stitches"][0][0].update(edge="1"), "pattern.stitches[0][0].edge: must be a whole number"),
    (lambda p, f, s: p["stitches"][0][0].update(edge=4), "pattern.stitches[0][0].edge: front has no edge 4"),
    (lambda p, f, s: p["stitches"][0][0].update(edge=-1), "pattern.stitches[0][0].edge: front has no edge -1"),
    (lambda p, f, s: p["stitches"][0][1].update(panel="hood"), "pattern.stitches[0][1].panel: there is no panel"),
    (lambda p, f, s: p["stitches"][0][1].update(panel="front", edge=1), "pattern.stitches[0]: front.1 is sewn twice"),
    (lambda p, f, s: p["stitches"].append(p["stitches"][0]), "pattern.stitches[1]: front.1 is sewn twice"),
    (lambda p, f, s: f.pop("vertices"), f"{FRONT}.vertices: is missing"),
    (lambda p, f, s: f.pop("edges"), f"{FRONT}.edges: is missing"),
    (lambda p, f, s: f.update(edges=[]), f"{FRONT}.edges: must have 3 entries, not 0"),
    (lambda p, f, s: f["edges"].pop(), f"{FRONT}.edges: do not end where they begin"),
    (lambda p, f, s: f["edges"].pop(1), f"{FRONT}.edges: do not follow each other around the panel"),
    (lambda p, f, s: f["edges"][0].pop("endpoints"), f"{FRONT}.edges[0].endpoints: is missing"),
    (lambda p, f, s: f["edges"][0].update(endpoints=[0, 9]), f"{FRONT}.edges[0].endpoints: must be vertices from 0"),
    (lambda p, f, s: f["edges"][0].update(endpoints=[0, -3]), f"{FRONT}.edges[0].endpoints: must be vertices"),
    (lambda p, f, s: f["edges"][0].update(endpoints=[0, 0.5]), f"{FRONT}.edges[0].endpoints[1]: must be a whole"),
    (lambda p, f, s: f["edges"][0].update(endpoints=[0]), f"{FRONT}.edges[0].endpoints: must have 2 entries, not 1"),
    (lambda p, f, s: f["edges"][0].update(curvature=0.3), f"{FRONT}.edges[0].curvature: must be a"),
    (lambda p, f, s: f["edges"][0].update(curvature={"type": "cubic"}), f"{FRONT}.edges[0].curvature: must be"),
    (lambda p, f, s: f["edges"][0].update(curvature=[0.5, np.nan]), f"{FRONT}.edges[0].curvature: must be a"),
    (lambda p, f, s: f["edges"][0].update(curvature=[0.5, 1e9]), f"{FRONT}: curves must be within 100 lengths"),
    (lambda p, f, s: f["vertices"].__setitem__(1, ["40", 0]), f"{FRONT}.vertices[1][0]: must be a number, not '40'"),
    (lambda p, f, s: f["vertices"].__setitem__(1, [40, 0, 0]), f"{FRONT}.vertices[1]: must have 2 entries, not 3"),
    (lambda p, f, s: f["vertices"].__setitem__(1, [np.inf, 0]), f"{FRONT}.vertices[1][0]: must be a finite number"),
    (lambda p, f, s: f["vertices"].__setitem__(1, [10**400, 0]), f"{FRONT}.vertices[1][0]: must be a number"),
    (lambda p, f, s: f["vertices"].__setitem__(1, [0, 0]), f"{FRONT}: two corners in a row are at the same place"),
    (lambda p, f, s: f.update(translation=[0, 1]), f"{FRONT}.translation: must have 3 entries, not 2"),
    (lambda p, f, s: f.update(translation=[0, 1e9, 0]), f"{FRONT}: position must be three numbers from -100 to 100 m"),
    (lambda p, f, s: f.update(rotation=[0, np.nan, 0]), f"{FRONT}.rotation[1]: must be a finite number, not nan"),
    (lambda p, f, s: s.update(units_in_meter=0), "properties.units_in_meter: must be a positive number, not 0"),
    (lambda p, f, s: s.update(units_in_meter=-1), "properties.units_in_meter: must be a positive number, not -1"),
    (lambda p, f, s: s.update(units_in_meter="cm"), "properties.units_in_meter: must be a number, not 'cm'"),
    (lambda p, f, s: s.update(units_in_meter=1), f"{FRONT}: position must be three numbers from -100 to 100 m"),
    (lambda p, f, s: s.update(units_in_meter=1e-300), f"{FRONT}: "),
    (lambda p, f, s: s.update(units_in_meter=1e300), f"{FRONT}: two corners in a row are at the same place"),
    (lambda p, f, s: s.update(curvature_coords="absolute"), "properties.curvature_coords: must be 'relative'"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said"), BAD_CODE)
def test_what_is_wrong_with_garment_code_is_said_with_its_key(tmp_path, change, said):
    message = refused(tmp_path, changed(change), "json")
    assert message.startswith(said), message


def test_parts_of_garment_code_that_are_no_tables(tmp_path):
    assert refused(tmp_path, {"pattern": 3}, "json") == "pattern: must be a table, not 3"
    assert refused(tmp_path, {**CODE, "properties": []}, "json") == "properties: must be a table, not []"
    assert read(tmp_path, {**CODE, "parameters": 7}, "json").name == "tunic"


# ---- damage of any kind


def damaged(text, chance):
    """A text in which a few random pieces are deleted, doubled, swapped or replaced."""
    words = re.split(r"(\s+|[\[\]{},:=])", text)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        at = chance.randrange(len(words))
        what = chance.randrange(6)
        if what == 0:
            words[at] = ""
        elif what == 1:
            words[at] = chance.choice(words)
        elif what == 2:
            words[at] = chance.choice(STRANGE)
        elif what == 3:
            words[at] *= 2
        elif what == 4:
            end = at + chance.randrange(30)
            del words[at:end]
            words.append("")
        else:
            number = [k for k, word in enumerate(words) if re.fullmatch(r"-?\d+(\.\d+)?", word)]
            if number:
                words[chance.choice(number)] = chance.choice(NUMBERS)
    return "".join(words)


NUMBERS = ("0", "-1", "1e-12", "7", "0.5", "1e6", "1e308", "-1e-320", "NaN", "nan", "inf", "Infinity", "1" + 500 * "0")
STRANGE = (*NUMBERS, "null", "true", '""', '"front"', "[]", "{}", "[[]]", "\x00", "\ufeff", "é", '"', "#", "\\", "[")


@pytest.mark.parametrize("source", ["toml", "json", "code"])
def test_damaged_files_are_read_or_refused(tmp_path, source):
    chance = random.Random(f"damage of {source}")
    text = {"toml": WHOLE, "json": json.dumps(tomllib.loads(WHOLE)), "code": json.dumps(CODE)}[source]
    count = {"read": 0, "cut": 0, "refused": 0}
    for _ in range(250):
        path = tmp_path / f"tunic.{'toml' if source == 'toml' else 'json'}"
        path.write_text(damaged(text, chance), encoding="utf-8")
        try:
            pattern = read_garment(path)
        except BadInput as error:
            assert "\n" not in str(error) and str(error).startswith(f"{path}: ")
            count["refused"] += 1
            continue
        count["read"] += 1
        try:
            pieces = cut(pattern, 0.1)
            merge(pieces.mesh, pieces.stitches)
            count["cut"] += 1
        except BadInput as error:
            assert "\n" not in str(error) and str(error).startswith(f"{pattern.name}: ")
    assert min(count.values()) > 20, count
