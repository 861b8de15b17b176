"""Patterns: lengths and places by closed forms, mirror images, and everything wrong with one in a line."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from unsnarl.errors import BadInput
from unsnarl.wardrobe.pattern import Panel, Pattern, Piece, Seam

SQUARE = ((0.0, 0.0), (0.4, 0.0), (0.4, 0.4), (0.0, 0.4))
TURN = Rotation.from_euler("xyz", (20, -70, 130), degrees=True).as_matrix()


def square(name="square", **changes):
    return Panel(name, np.array(SQUARE), **changes)


def measured(points):
    return np.linalg.norm(np.diff(points, axis=0), axis=1).sum()


@st.composite
def panels(draw):
    """Some corners around the origin, any edges curved by one control point or two, anywhere in space."""
    count = draw(st.integers(3, 6))
    angles = 2 * np.pi * np.arange(count) / count
    radii = np.array(draw(st.lists(st.floats(0.1, 0.5), min_size=count, max_size=count)))
    corners = radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    control = st.lists(st.floats(-2, 2), min_size=2, max_size=2)
    curves = draw(st.dictionaries(st.integers(0, count - 1), st.lists(control, min_size=1, max_size=2)))
    turn = Rotation.from_euler("xyz", draw(st.tuples(*3 * [st.floats(-180, 180)])), degrees=True).as_matrix()
    position = draw(st.tuples(*3 * [st.floats(-2, 2)]))
    return Panel(
        "panel", corners, curves, rotation=turn, position=position, wrap=draw(st.none() | st.floats(0.05, 1.0))
    )  # fmt: skip


# ---- curves


def test_a_straight_edge():
    panel = square()
    assert [panel.length(k) for k in range(4)] == pytest.approx([0.4] * 4)
    assert panel.along(1, [0.0, 0.25, 1.0]) == pytest.approx(np.array([(0.4, 0), (0.4, 0.1), (0.4, 0.4)]))
    assert panel.along(3, [0.5]) == pytest.approx(np.array([(0, 0.2)]))  # the last edge ends at the first corner


@pytest.mark.parametrize("height", [0.1, -0.5, 2.0])
def test_one_control_point_in_the_middle_makes_a_parabola(height):
    panel = square(curves={0: [(0.5, height)]})
    chord, rise = 0.4, 0.5 * height * 0.4
    steep = 4 * rise / chord
    assert panel.length(0) == pytest.approx(
        0.5 * chord * np.sqrt(1 + steep**2) + 0.5 * chord * np.arcsinh(steep) / steep, rel=3e-5
    )
    u, v = panel.along(0, np.linspace(0, 1, 9)).T
    assert v == pytest.approx(4 * rise * u / chord * (1 - u / chord), abs=1e-12)  # to the left, which is up here


@pytest.mark.parametrize("control", [[(0.2, 0.7)], [(0.35, 0.1), (0.6, -0.15)], [(-0.5, 1.0), (1.5, 1.0)]])
def test_lengths_along_a_curve(control):
    """Against the integral of the speed."""
    panel = square(curves={2: control})
    a, b = (panel.corners[k] for k in (2, 3))
    points = [a] + [a + along * (b - a) + left * np.array([-(b - a)[1], (b - a)[0]]) for along, left in control] + [b]

    def slope(t):  # by de Casteljau: the last difference
        row = points
        while len(row) > 2:
            row = [(1 - t) * p + t * q for p, q in pairwise(row)]
        return np.linalg.norm(row[1] - row[0]) * (len(points) - 1)

    whole = quad(slope, 0, 1, limit=200)[0]
    assert panel.length(2) == pytest.approx(whole, rel=1e-4)
    for share in (0.1, 0.5, 0.83):
        assert measured(panel.along(2, np.linspace(0, share, 400))) == pytest.approx(share * whole, rel=1e-3)


@pytest.mark.parametrize("degrees", [30, 60, 90])
def test_an_arc_of_a_circle(degrees):
    """Two control points at 4/3 tan(angle / 4) radii along the tangents are a circle to 3 in 10,000."""
    angle, radius = np.radians(degrees), 0.3
    reach = 4 / 3 * np.tan(angle / 4) * radius
    chord = 2 * radius * np.sin(angle / 2)
    along, left = reach * np.cos(angle / 2) / chord, reach * np.sin(angle / 2) / chord
    corners = radius * np.array([(1, 0), (np.cos(angle), np.sin(angle)), (0, 0)])
    panel = Panel("sector", corners, {0: [(along, -left), (1 - along, -left)]})  # the centre is on its left
    assert panel.length(0) == pytest.approx(radius * angle, rel=3e-4)
    points = panel.along(0, np.linspace(0, 1, 50))
    assert np.linalg.norm(points, axis=1) == pytest.approx(np.full(50, radius), rel=3e-4)
    assert np.arctan2(points[:, 1], points[:, 0]) == pytest.approx(np.linspace(0, angle, 50), abs=3e-4)


@given(panels())
@settings(max_examples=50, deadline=None)
def test_edges_run_from_corner_to_corner_evenly(panel):
    t = np.linspace(0, 1, 33)
    for k in range(len(panel.corners)):
        points = panel.along(k, t)
        assert (points[0] == panel.corners[k]).all() and (points[-1] == panel.corners[k - len(panel.corners) + 1]).all()
        fine = panel.along(k, np.linspace(0, 1, 32 * 64 + 1))
        parts = np.linalg.norm(np.diff(fine, axis=0), axis=1).reshape(32, 64).sum(axis=1)
        assert parts == pytest.approx(np.full(32, panel.length(k) / 32), rel=0.05, abs=1e-4)
        assert panel.length(k) == pytest.approx(measured(fine), rel=1e-3)
        assert (panel.along(k, t[5:9]) == points[5:9]).all()  # a point does not depend on the others


# ---- in space


def test_a_flat_panel_in_space():
    panel = square(rotation=TURN, position=(1, 2, 3))
    uv = np.array([(0.0, 0.0), (0.1, 0.0), (0.0, 0.2)])
    assert panel.placed(uv) == pytest.approx([1, 2, 3] + np.column_stack([uv, np.zeros(3)]) @ TURN.T)


def test_a_wrapped_panel_lies_on_a_cylinder():
    panel = square(wrap=0.1)
    u = np.linspace(-0.3, 0.3, 41)
    x, y, z = panel.placed(np.column_stack([u, 2 * u])).T
    assert np.hypot(x, z + 0.1) == pytest.approx(np.full(41, 0.1)) and (y == 2 * u).all()
    assert np.arctan2(x, z + 0.1)[20:40] == pytest.approx(u[20:40] / 0.1)  # to the right of u = 0, seen from outside
    assert panel.placed(np.array([(0.0, 0.3)])) == pytest.approx(np.array([(0, 0.3, 0)]))


@given(panels(), st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_laying_a_panel_on_a_cylinder_keeps_lengths(panel, seed):
    t = np.linspace(0, 1, 2001)
    for k in range(len(panel.corners)):
        flat = panel.along(k, t)
        assert measured(panel.placed(flat)) == pytest.approx(measured(flat), rel=1e-3)
    ends = np.random.default_rng(seed).uniform(-0.5, 0.5, (2, 2))
    line = ends[0] + t[:, None] * (ends[1] - ends[0])
    assert measured(panel.placed(line)) == pytest.approx(measured(line), rel=1e-3)


@given(panels())
@settings(max_examples=50, deadline=None)
def test_the_mirror_image(panel):
    image, t = panel.mirrored("image"), np.linspace(0, 1, 17)
    assert image.name == "image" and image.edges == panel.edges and image.wrap == panel.wrap
    for k in range(len(panel.corners)):
        one, two = (p.placed(p.along(k, t)) for p in (panel, image))
        assert two == pytest.approx(one * [-1, 1, 1], abs=1e-12)
        assert image.length(k) == pytest.approx(panel.length(k))
    back = image.mirrored("panel")
    assert (back.corners == panel.corners).all() and (back.position == panel.position).all()
    assert (back.rotation == panel.rotation).all() and back.curves.keys() == panel.curves.keys()
    assert all((back.curves[k] == panel.curves[k]).all() for k in panel.curves)


def test_a_pattern_is_scaled_and_shifted():
    panel = square(curves={0: [(0.5, 0.3)]}, rotation=TURN, position=(1, 2, 3), wrap=0.2)
    pattern = Pattern("cloth", [panel], material="silk")
    moved = pattern.moved((0.5, 0, -1), scale=2.0)
    assert moved.material.name == "silk" and moved.name == "cloth"
    for k in range(4):
        t = np.linspace(0, 1, 9)
        one, two = (p.placed(p.along(k, t)) for p in (panel, moved.panels[0]))
        assert two == pytest.approx(2 * one + [0.5, 0, -1])
    for wrong in (0.0, -1.0, np.nan, "2", None, 1e9):
        with pytest.raises(BadInput):
            pattern.moved(scale=wrong)
    for wrong in ((0, 0), (0, 0, np.nan), "abc", (0, 0, 1e9)):
        with pytest.raises(BadInput):
            pattern.moved(wrong)


# ---- what is wrong


BAD_PANELS = [  # arguments, and what the message says
    ({"name": 3}, "a panel's name must be text"),
    ({"corners": "abc"}, "corners must be"),
    ({"corners": None}, "corners must be"),
    ({"corners": []}, "corners must be"),
    ({"corners": [(0, 0), (1, 0)]}, "corners must be"),
    ({"corners": [(0, 0, 0), (1, 0, 0), (0, 1, 0)]}, "corners must be"),
    ({"corners": [(0, 0), (1, 0), (0,)]}, "corners must be"),
    ({"corners": [("0", "0"), ("1", "0"), ("0", "1")]}, "corners must be"),
    ({"corners": [(0, 0), (1, 0), (np.nan, 1)]}, "corners must be"),
    ({"corners": [(0, 0), (1, 0), (0, np.inf)]}, "corners must be"),
    ({"corners": [(0, 0), (1, 0), (0, 10**400)]}, "corners must be"),
    ({"corners": [(0, 0), (1j, 0), (0, 1)]}, "corners must be"),
    ({"corners": [(0, 0), (300, 0), (0, 300)]}, "units are metres"),
    ({"corners": [(0, 0), (1e300, 0), (0, 1)]}, "units are metres"),
    ({"corners": [(0, 0), (1, 0), (1, 1e-10), (0, 1)]}, "at the same place"),
    ({"corners": [(0, 0), (1, 0), (0, 1), (0, 0)]}, "at the same place"),
    ({"edges": ("a", "b", "c")}, "edges must be 4 different names"),
    ({"edges": ("a", "b", "c", "a")}, "edges must be 4 different names"),
    ({"edges": ("a", "b", "c", 4)}, "edges must be 4 different names"),
    ({"edges": 4}, "edges must be 4 different names"),
    ({"curves": {4: [(0.5, 0.1)]}}, "curves must be told by edge, 0 to 3, not 4"),
    ({"curves": {-1: [(0.5, 0.1)]}}, "curves must be told by edge"),
    ({"curves": {"hem": [(0.5, 0.1)]}}, "curves must be told by edge, 0 to 3, not 'hem'"),
    ({"curves": {True: [(0.5, 0.1)]}}, "curves must be told by edge"),
    ({"curves": {0.0: [(0.5, 0.1)]}}, "curves must be told by edge"),
    ({"curves": [(0.5, 0.1)]}, "curves must be told by edge"),
    ({"curves": {0: [(0.5, 0.1)] * 3}}, "curves must have one or two control points"),
    ({"curves": {0: (0.5, 0.1, 0.2, 0.3)}}, "curves must have one or two control points"),
    ({"curves": {0: [(0.5, np.nan)]}}, "curves must have one or two control points"),
    ({"curves": {0: "round"}}, "curves must have one or two control points"),
    ({"curves": {0: None}}, "curves must have one or two control points"),
    ({"curves": {0: [(0.5, 1e200)]}}, "curves must be within 100 lengths"),
    ({"rotation": np.ones((3, 3))}, "rotation must be"),
    ({"rotation": 2 * np.eye(3)}, "rotation must be"),
    ({"rotation": np.full((3, 3), np.nan)}, "rotation must be"),
    ({"rotation": np.eye(2)}, "rotation must be"),
    ({"rotation": "upright"}, "rotation must be"),
    ({"position": (0, 0)}, "position must be three numbers"),
    ({"position": (0, np.nan, 0)}, "position must be three numbers"),
    ({"position": (0, 1e200, 0)}, "position must be three numbers"),
    ({"position": None}, "position must be three numbers"),
    ({"wrap": 0}, "wrap must be a radius"),
    ({"wrap": -0.1}, "wrap must be a radius"),
    ({"wrap": 1e9}, "wrap must be a radius"),
    ({"wrap": np.nan}, "wrap must be a radius"),
    ({"wrap": "0.1"}, "wrap must be a radius"),
    ({"wrap": True}, "wrap must be a radius"),
]


@pytest.mark.parametrize(("arguments", "said"), BAD_PANELS)
def test_what_is_wrong_with_a_panel(arguments, said):
    with pytest.raises(BadInput) as caught:
        Panel(**{"name": "front", "corners": SQUARE, **arguments})
    message = str(caught.value)
    assert said in message and "\n" not in message
    assert "name" in arguments or message.startswith("panel front: ")


def seam(one, two):
    return Seam((Piece(*one),), (Piece(*two),))


BAD_PATTERNS = [
    ({"name": None}, "a pattern's name must be text"),
    ({"panels": []}, "there is no panel"),
    ({"panels": square()}, "panels must be a list of Panel"),
    ({"panels": ["front"]}, "panels must be a list of Panel"),
    ({"panels": None}, "panels must be a list of Panel"),
    ({"panels": [square("a"), square("a")]}, "two panels have the same name"),
    ({"seams": 3}, "seams must be a list of Seam"),
    ({"seams": [("a.0", "b.0")]}, "seams must be a list of Seam"),
    ({"seams": [Seam((), (Piece("a", 0),))]}, "each side of a seam must be one Piece or more"),
    ({"seams": [Seam("a", (Piece("a", 0),))]}, "each side of a seam must be one Piece or more"),
    ({"seams": [Seam(None, None)]}, "each side of a seam must be one Piece or more"),
    ({"seams": [seam(("a", 0), ("c", 0))]}, "there is no panel 'c'; there are a, b"),
    ({"seams": [seam(("a", 0), (None, 0))]}, "there is no panel None"),
    ({"seams": [seam(("a", 4), ("b", 0))]}, "edge 4 of panel a, which has 4"),
    ({"seams": [seam(("a", -1), ("b", 0))]}, "edge -1 of panel a"),
    ({"seams": [seam(("a", 0.5), ("b", 0))]}, "edge 0.5 of panel a"),
    ({"seams": [seam(("a", "0"), ("b", 0))]}, "edge 0 of panel a"),
    ({"seams": [seam(("a", 0, 0.5, 0.5), ("b", 0))]}, "a seam takes 0.5 to 0.5 of an edge"),
    ({"seams": [seam(("a", 0, 0.5, 0.5 + 1e-12), ("b", 0))]}, "of an edge"),
    ({"seams": [seam(("a", 0, 0.7, 0.5), ("b", 0))]}, "a seam takes 0.7 to 0.5"),
    ({"seams": [seam(("a", 0, -0.1, 0.5), ("b", 0))]}, "a seam takes -0.1 to 0.5"),
    ({"seams": [seam(("a", 0, 0, 1.1), ("b", 0))]}, "a seam takes 0 to 1.1"),
    ({"seams": [seam(("a", 0, np.nan, 1), ("b", 0))]}, "a seam takes nan to 1"),
    ({"seams": [seam(("a", 0, 0, 1e300), ("b", 0))]}, "a seam takes 0 to 1e+300"),
    ({"seams": [seam(("a", 0, "0", "1"), ("b", 0))]}, "a seam takes 0 to 1 of an edge, not two numbers"),
    ({"seams": [seam(("a", 0), ("a", 0))]}, "a.0 is sewn twice"),
    ({"seams": [seam(("a", 0), ("b", 0)), seam(("a", 1), ("b", 0))]}, "b.0 is sewn twice"),
    ({"seams": [seam(("a", 0, 0, 0.6), ("b", 0)), seam(("a", 0, 0.5, 1), ("b", 1))]}, "a.0 is sewn twice"),
    ({"seams": [seam(("a", 0, 0.2, 0.3), ("a", 0, 0, 1))]}, "a.0 is sewn twice"),
    ({"material": "tin"}, "no material 'tin'"),
    ({"material": None}, "no material None"),
]


@pytest.mark.parametrize(("arguments", "said"), BAD_PATTERNS)
def test_what_is_wrong_with_a_pattern(arguments, said):
    with pytest.raises(BadInput) as caught:
        Pattern(**{"name": "shirt", "panels": [square("a"), square("b")], **arguments})
    message = str(caught.value)
    assert said in message and "\n" not in message
    assert {"name", "material"} & arguments.keys() or message.startswith("shirt: ")


def test_parts_of_an_edge_may_be_sewn_to_different_edges():
    seams = [
        seam(("a", 0, 0, 0.5), ("b", 0)),
        seam(("a", 0, 0.5, 1), ("b", 1)),
        seam(("a", 1, 0, 0.3), ("a", 1, 0.3, 1)),
    ]
    pattern = Pattern("shirt", [square("a"), square("b")], seams)
    assert len(pattern.seams) == 3 and pattern.panel("b") is pattern.panels[1]
