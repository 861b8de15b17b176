"""Cutting and merging: both sides of seams are divided alike, and what is sewn is the surface that is meant."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unsnarl.errors import BadInput
from unsnarl.wardrobe.cut import _parts, area, cut, edge_for, merge
from unsnarl.wardrobe.pattern import Panel, Pattern, Piece, Seam
from unsnarl.wardrobe.pattern_file import GARMENTS, garment

EDGE = 0.05
LOOPS = {"tshirt": 4, "shirt": 4, "trousers": 3, "dress": 4, "circle_skirt": 2, "jacket": 3, "handkerchief": 1}


@cache
def known(name, vertices=1_000):
    """A garment of the wardrobe, its edge, and how it is cut and merged."""
    pattern = garment(name)
    edge = edge_for(pattern, vertices)
    pieces = cut(pattern, edge)
    return pattern, edge, pieces, merge(pieces.mesh, pieces.stitches)


def piece(text):
    """ "a.3 0:0.5" as a Piece."""
    where, _, share = text.partition(" ")
    panel, _, edge = where.partition(".")
    return Piece(panel, int(edge), *(float(t) for t in share.split(":"))) if share else Piece(panel, int(edge))


def seam(one, two):
    return Seam(*(tuple(piece(text) for text in side.split(", ")) for side in (one, two)))


def sewn(panels, *seams):
    return Pattern("garment", panels, [seam(*sides) for sides in seams])


def box(name, width=0.5, height=0.3, at=(0.0, 0.0, 0.0)):
    """Its edges, from 0: bottom, right, top, left."""
    return Panel(name, np.array([(0, 0), (width, 0), (width, height), (0, height)]), position=at)


def edges_of_outline(pieces, panel):
    """For each edge of a panel the vertices of the cut mesh on it, from corner to corner."""
    mine = np.unique(pieces.mesh.faces[pieces.mesh.groups[panel.name]])
    around = mine[: pieces.mesh.boundary_vertices[mine].sum()]  # the outline comes first
    corners = panel.placed(panel.corners)
    at = [int(np.linalg.norm(pieces.mesh.x[around] - c, axis=1).argmin()) for c in corners]
    assert at[0] == 0 and at == sorted(set(at))
    assert np.abs(pieces.mesh.x[around[at]] - corners).max() < 1e-12
    around = np.append(around, around[0])
    return [around[a : b + 1] for a, b in zip(at, [*at[1:], len(around) - 1])]


def on_side(pattern, pieces, side):
    """The vertices on the pieces of a side, in each piece's own direction."""
    found = []
    for part in side:
        panel = pattern.panel(part.panel)
        vertices = edges_of_outline(pieces, panel)[part.edge]
        lengths = np.linalg.norm(np.diff(pieces.mesh.uv[vertices], axis=0), axis=1)
        share = np.concatenate([[0], np.cumsum(lengths)]) / lengths.sum()
        within = (share > part.first - 0.01) & (share < part.last + 0.01)  # curves are measured by their chords here
        found.append(vertices[within])
    return found


def pairs(pieces):
    return {tuple(sorted(pair)) for pair in pieces.stitches.tolist()}


def places(pieces):
    """Where the two ends of each stitch are; rounded, at places where nothing of the tests lies."""
    points = (pieces.mesh.x[pieces.stitches] / 1e-7 + 0.271828).round().astype(int).tolist()
    return {frozenset(map(tuple, pair)) for pair in points}


def check_seams(pattern, pieces):
    """Each vertex on one side of a seam is sewn to one on the other, in order, and nothing else is sewn."""
    stitches, seen = pairs(pieces), set()
    for each in pattern.seams:
        one, two = (on_side(pattern, pieces, side) for side in (each.one, each.two))
        if len(one) == len(two) == 1:
            assert len(one[0]) == len(two[0])
        first, second = ({int(v) for part in side for v in part} for side in (one, two))
        here = {(a, b) for p, q in stitches for a, b in ((p, q), (q, p)) if a in first and b in second}
        common = first & second  # the tip of a dart
        assert {a for a, _ in here} | common >= first and {b for _, b in here} | common >= second
        assert not any(v in pair for v in common for pair in here)
        # both sides are gone along together
        place = [{int(v): k for k, v in enumerate(np.concatenate(side))} for side in (one, two)]
        if len(one) == len(two) == 1:
            assert len(here) == len(one[0]) - len(common)
            order = sorted((place[0][a], place[1][b]) for a, b in here)
            steps = np.diff(order, axis=0)
            assert (steps[:, 0] == 1).all() and (abs(steps[:, 1]) == 1).all() and len(np.unique(steps[:, 1])) <= 1
        seen |= {tuple(sorted(pair)) for pair in here}
    assert seen == stitches


def swapped(pattern):
    return replace(pattern, seams=tuple(Seam(s.two, s.one) for s in pattern.seams))


# ---- garments of the wardrobe


@pytest.mark.parametrize("name", GARMENTS)
def test_both_sides_of_every_seam_are_divided_alike(name):
    pattern, _, pieces, _ = known(name)
    check_seams(pattern, pieces)


@pytest.mark.parametrize("name", GARMENTS)
def test_the_sides_of_a_seam_may_be_swapped(name):
    pattern, edge, pieces, _ = known(name)
    other = cut(swapped(pattern), edge)
    assert places(other) == places(pieces)


@pytest.mark.parametrize("name", GARMENTS)
def test_cutting_twice_gives_the_same_bits(name):
    pattern, edge, pieces, merged = known(name)
    again = cut(pattern, edge)
    for a, b in ((pieces.mesh, again.mesh), (merged, merge(again.mesh, again.stitches))):
        assert all((getattr(a, k) == getattr(b, k)).all() for k in ("x", "faces", "uv", "face_uv", "rest"))
    assert (pieces.stitches == again.stitches).all()


def check_rest(pieces, merged):
    """Rest shapes are those of the flat panels, whatever was turned."""
    before, after = pieces.mesh, merged
    assert len(before.faces) == len(after.faces)
    for mesh in (before, after):
        a, b, c = (mesh.uv[mesh.face_uv[:, k]] for k in range(3))
        assert np.abs(mesh.rest - np.stack([b - a, c - a], axis=2)).max() < 1e-12
    turned = (before.face_uv != after.face_uv).any(axis=1)
    assert (np.sort(before.face_uv, axis=1) == np.sort(after.face_uv, axis=1)).all()
    assert (np.sign(np.linalg.det(before.rest)) == 1).all()
    assert (np.sign(np.linalg.det(after.rest)) == np.where(turned, -1, 1)).all()
    assert (before.uv == after.uv).all() and before.groups.keys() == after.groups.keys()
    assert all(len(np.unique(turned[f])) == 1 for f in after.groups.values())  # panels are turned as a whole


def check_merged(pieces, merged):
    """Seams are the sewn edges, panels the panels, and neighbours agree which way they face."""
    x, y = pieces.mesh, merged
    new = np.empty(len(x.x), dtype=int)
    new[y.face_uv.ravel()] = y.faces.ravel()  # of each vertex before, which is its row of uv
    assert all(new[a] == new[b] for a, b in pieces.stitches)
    alone = np.setdiff1d(np.arange(len(x.x)), pieces.stitches)
    assert (y.x[new[alone]] == x.x[alone]).all()
    border = np.sort(new[x.edges[x.boundary_edges]], axis=1)
    unique, count = np.unique(border, axis=0, return_counts=True)
    assert count.max(initial=1) <= 2
    assert {tuple(e) for e in y.edges[y.seams].tolist()} == {tuple(e) for e in unique[count == 2].tolist()}
    assert {tuple(e) for e in y.edges[y.boundary_edges].tolist()} == {tuple(e) for e in unique[count == 1].tolist()}
    assert len(np.unique(y.panels)) == len(y.groups)
    assert all(len(np.unique(y.panels[faces])) == 1 for faces in y.groups.values())
    ways = np.concatenate([y.faces[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))])
    assert len(np.unique(ways, axis=0)) == len(ways)  # no edge is followed twice in the same direction
    assert len(y.non_manifold_edges) == 0 and len(np.unique(y.faces)) == len(y.x)


@pytest.mark.parametrize("name", GARMENTS)
def test_merged_garments(name):
    pattern, _, pieces, merged = known(name)
    check_rest(pieces, merged)
    check_merged(pieces, merged)
    assert list(merged.groups) == [p.name for p in pattern.panels] and merged.name == pattern.name
    assert merged.face_component.max() == 0
    assert 0.5 * np.abs(np.linalg.det(merged.rest)).sum() == pytest.approx(area(pattern), rel=0.01)


@pytest.mark.parametrize("name", GARMENTS)
def test_boundaries_of_garments(name):
    """They are spheres with holes: the Euler characteristic is 2 less the number of openings."""
    _, _, _, merged = known(name)
    assert len(merged.boundary_loops) == LOOPS.get(name, len(merged.boundary_loops))
    assert len(merged.x) - len(merged.edges) + len(merged.faces) == 2 - len(merged.boundary_loops)


@pytest.mark.parametrize("vertices", [1_000, 2_500, 10_000])
@pytest.mark.parametrize("name", GARMENTS)
def test_sizes_of_garments(name, vertices):
    _, edge, pieces, merged = known(name, vertices)
    assert len(merged.x) == pytest.approx(vertices, rel=0.1)
    lengths = np.linalg.norm(np.diff(pieces.mesh.uv[pieces.mesh.edges], axis=1), axis=2)
    assert lengths.min() > 0.25 * edge and lengths.max() < 2.5 * edge


def test_darts_of_the_dress():
    """Seams within one panel; the tip is a vertex like others."""
    pattern, _, pieces, merged = known("dress")
    f, g = merged.edge_faces[merged.seams].T
    within = merged.panels[f] == merged.panels[g]
    names = [p.name for p in pattern.panels]
    assert {names[merged.panels[k]] for k in f[within]} == {"bodice_front", "bodice_back"}
    for each in pattern.seams[:4]:
        (one,), (two,) = (on_side(pattern, pieces, side) for side in (each.one, each.two))
        tip = set(one) & set(two)
        assert len(tip) == 1 and not (pieces.stitches == tip.pop()).any()
        assert all(tuple(sorted(pair)) in pairs(pieces) for pair in zip(one[:-1], two[:0:-1]))


# ---- darts, pieces and chains by hand


@pytest.mark.parametrize("opening", [0.01, 0.1, 0.3, 0.5])
def test_darts_are_sewn_from_the_tip(opening):
    """However wide they are: the last is wider than a right angle."""
    half = 0.5 * opening
    corners = [(-0.4, 0), (-half, 0), (0, 0.2), (half, 0), (0.4, 0), (0.4, 0.5), (-0.4, 0.5)]
    pattern = sewn([Panel("a", np.array(corners))], ("a.1", "a.2"))
    pieces = cut(pattern, EDGE)
    check_seams(pattern, pieces)
    x = pieces.mesh.x
    for a, b in pieces.stitches:
        assert x[a] == pytest.approx(x[b] * [-1, 1, 1], abs=1e-12) and x[a, 0] != 0
    merged = merge(pieces.mesh, pieces.stitches)
    check_rest(pieces, merged)
    check_merged(pieces, merged)
    assert len(merged.boundary_loops) == 1 and (merged.panels == 0).all() and len(merged.seams) == len(pieces.stitches)


def test_an_edge_is_folded_upon_itself():
    pattern = sewn([box("a", 0.4)], ("a.2 0:0.5", "a.2 0.5:1"))
    pieces = cut(pattern, EDGE)
    x = pieces.mesh.x
    assert len(pieces.stitches) == 4
    for a, b in pieces.stitches:
        assert x[a] + x[b] == pytest.approx(np.array([0.4, 0.6, 0.0])) and x[a, 0] != pytest.approx(0.2)
    merged = merge(pieces.mesh, pieces.stitches)
    check_merged(pieces, merged)
    assert len(merged.boundary_loops) == 1


def test_a_cylinder():
    pattern = sewn([box("a")], ("a.1", "a.3"))
    pieces = cut(pattern, EDGE)
    check_seams(pattern, pieces)
    for heights in pieces.mesh.x[pieces.stitches][:, :, 1].T:
        assert heights == pytest.approx(np.linspace(0, 0.3, 7))
    merged = merge(pieces.mesh, pieces.stitches)
    check_merged(pieces, merged)
    assert len(merged.boundary_loops) == 2 and len(merged.x) - len(merged.edges) + len(merged.faces) == 0


def test_a_cylinder_of_two_panels_is_turned_outwards():
    """The back is described as seen from the front: its faces have to be turned."""
    front, back = box("front", at=(0, 0, 0.1)), box("back", at=(0, 0, -0.1))
    pattern = sewn([front, back], ("front.1", "back.1"), ("front.3", "back.3"))
    pieces = cut(pattern, EDGE)
    merged = merge(pieces.mesh, pieces.stitches)
    check_rest(pieces, merged)
    check_merged(pieces, merged)
    inner = ~np.isin(merged.faces, np.flatnonzero(merged.x[:, 2] == 0)).any(axis=1)
    normals = np.cross(*(merged.x[merged.faces[inner, k]] - merged.x[merged.faces[inner, 0]] for k in (1, 2)))
    assert (np.sign(normals[:, 2]) == np.sign(merged.x[merged.faces[inner, 0], 2])).all()


def test_pieces_of_edges():
    """A long edge, the ends of which are sewn to two short ones, and the middle to nothing."""
    panels = [box("a", 1.0), box("b", 0.3, at=(0, -0.31, 0)), box("c", 0.4, at=(0.6, -0.31, 0))]
    pattern = sewn(panels, ("a.0 0:0.3", "b.2"), ("a.0 0.6:1", "c.2"))
    pieces = cut(pattern, EDGE)
    check_seams(pattern, pieces)
    x = pieces.mesh.x
    bottom = np.sort(x[edges_of_outline(pieces, panels[0])[0], 0])
    assert {0.3, 0.6} <= set(bottom.round(9)) and np.diff(bottom).max() < 1.3 * EDGE > np.diff(
        bottom
    ).min() > 0.7 * EDGE
    a, b = pieces.stitches.T
    assert x[a, 0] == pytest.approx(x[b, 0]) and not ((x[a, 0] > 0.31) & (x[a, 0] < 0.59)).any()
    merged = merge(pieces.mesh, pieces.stitches)
    check_merged(pieces, merged)
    assert len(merged.boundary_loops) == 1 and len(merged.seams) == 6 + 8


def test_a_chain_against_one_edge():
    """Over a dart: the corners at its mouth are sewn to one vertex of the other side, and so to each other."""
    corners = [(0, 0), (0.25, 0), (0.3, 0.15), (0.35, 0), (0.6, 0), (0.6, 0.4), (0, 0.4)]
    bodice = Panel("a", np.array(corners))
    for chain in ("a.0, a.3", "a.3, a.0"):
        pattern = sewn([bodice, box("b", 0.5, at=(0.05, -0.31, 0))], (chain, "b.2"), ("a.1", "a.2"))
        pieces = cut(pattern, EDGE)
        check_seams(pattern, pieces)
        merged = merge(pieces.mesh, pieces.stitches)
        check_merged(pieces, merged)
        assert len(merged.boundary_loops) == 1 and len(merged.x) - len(merged.edges) + len(merged.faces) == 1
        ends = {int(np.linalg.norm(pieces.mesh.x[:, :2] - c, axis=1).argmin()) for c in ((0.25, 0), (0.35, 0))}
        assert tuple(sorted(ends)) in pairs(pieces)


def test_a_chain_on_a_panel_with_few_corners():
    """Which way a chain goes is what it passes over that decides: here more corners are in the dart than beyond."""
    corners = [(0, 0), (0.25, 0), (0.3, 0.15), (0.35, 0), (0.6, 0)]
    half_moon = Panel("a", np.array(corners), {4: [(0.7, -0.8), (0.3, -0.8)]})
    pattern = sewn([half_moon, box("b", 0.5, at=(0.05, -0.31, 0))], ("a.0, a.3", "b.2"))
    pieces = cut(pattern, EDGE)
    check_seams(pattern, pieces)
    x = pieces.mesh.x
    a, b = pieces.stitches[pieces.stitches.max(axis=1) >= len(np.unique(pieces.mesh.faces[pieces.mesh.groups["a"]]))].T
    assert np.corrcoef(x[a, 0], x[b, 0])[0, 1] > 0.97


def strip(name, reaches, height, y):
    """A strip whose side at v = 0 has corners at these places; its chain runs over edges 0, 1, ..."""
    reaches = np.asarray(reaches)
    side = np.column_stack([reaches, np.zeros(len(reaches))])
    return Panel(name, np.concatenate([side, [(reaches[-1], height), (reaches[0], height)]]), position=(0, y, 0))


def chain(name, count):
    return ", ".join(f"{name}.{k}" for k in range(count))


def test_corners_that_nearly_meet_are_sewn_to_each_other():
    upper, lower = strip("a", [0, 0.3, 0.71, 1.0], 0.2, 0.0), strip("b", [0, 0.31, 0.7, 1.0], -0.2, -0.01)
    pattern = sewn([upper, lower], (chain("a", 3), chain("b", 3)))
    pieces = cut(pattern, EDGE)
    check_seams(pattern, pieces)
    at = [[edge[0] for edge in edges_of_outline(pieces, p)[:4]] for p in (upper, lower)]
    assert all(tuple(sorted(pair)) in pairs(pieces) for pair in zip(*at))
    assert len(pieces.stitches) == 21


def test_corners_that_do_not_meet_lie_within_edges():
    upper, lower = strip("a", [0, 0.3, 1.0], 0.2, 0.0), strip("b", [0, 0.5, 1.0], -0.2, -0.01)
    pieces = cut(sewn([upper, lower], (chain("a", 2), chain("b", 2))), EDGE)
    x = pieces.mesh.x[pieces.stitches][:, :, 0]
    assert x[:, 0] == pytest.approx(x[:, 1])
    assert {0.3, 0.5} <= set(x[:, 0].round(9)) and np.diff(np.sort(x[:, 0])) == pytest.approx(np.full(20, 0.05))


def test_many_corners_near_each_other():
    """Of several corners within reach, each is sewn to one at most, and in order."""
    upper = strip("a", [0, 0.49, 0.5, 0.51, 0.52, 1.0], 0.2, 0.0)
    lower = strip("b", [0, 0.485, 0.505, 0.515, 1.0], -0.2, -0.01)
    pattern = sewn([upper, lower], (chain("a", 5), chain("b", 4)))
    pieces = cut(pattern, EDGE)
    check_seams(pattern, pieces)
    a, b = pieces.mesh.x[np.sort(pieces.stitches, axis=1)][:, :, 0].T
    order = np.argsort(a)
    assert (np.diff(a[order]) > 0).all() and (np.diff(b[order]) > 0).all()
    assert places(cut(swapped(pattern), EDGE)) == places(pieces)


def test_halves_are_rounded_alike_from_both_sides():
    """A stretch of two and a half edges is a bit longer measured on one side of a seam, a bit shorter on the other."""
    assert _parts(2.5 - 1e-13) == _parts(2.5 + 1e-13) == 2 and _parts(3.5 - 1e-13) == _parts(3.5 + 1e-13) == 4
    assert _parts(0.2) == 1


@st.composite
def chains(draw):
    """Two strips, their sides of one to five edges each, not quite equally long."""
    panels = []
    for name, height, y in (("a", 0.2, 0.0), ("b", -0.2, -0.01)):
        parts = draw(st.lists(st.floats(0.6 * EDGE, 6 * EDGE), min_size=1, max_size=5))
        panels.append((name, np.concatenate([[0], np.cumsum(parts)]), height, y))
    ease = draw(st.floats(0.9, 1.1))
    name, reaches, height, y = panels[1]
    panels[1] = (name, reaches * ease * panels[0][1][-1] / reaches[-1], height, y)
    return sewn([strip(*p) for p in panels], tuple(chain(p[0], len(p[1]) - 1) for p in panels))


@given(chains())
@settings(max_examples=40, deadline=None)
def test_chains(pattern):
    pieces = cut(pattern, EDGE)
    check_seams(pattern, pieces)
    assert places(cut(swapped(pattern), EDGE)) == places(pieces)
    merged = merge(pieces.mesh, pieces.stitches)
    check_rest(pieces, merged)
    check_merged(pieces, merged)
    assert len(merged.boundary_loops) == 1 and len(merged.seams) == len(pieces.stitches) - 1
    shortest = min(p.length(k) for p in pattern.panels for k in range(len(p.corners)))
    sides = pieces.mesh.x[pieces.mesh.edges[pieces.mesh.boundary_edges]]
    assert np.linalg.norm(np.diff(sides, axis=1), axis=2).min() > 0.25 * min(EDGE, shortest)


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.floats(0.01, 0.2))
@settings(max_examples=40, deadline=None)
def test_pieces_of_any_share(first, second, edge):
    """Two seams side by side on one edge, and what is left over."""
    low, high = sorted((first, second))
    panels = [box("a", 1.0), box("b", 0.4, at=(0, -0.31, 0)), box("c", 0.4, at=(0.6, -0.31, 0))]
    seams = [(f"a.0 0:{low!r}", "b.2")]
    if high > low + 0.02:
        seams.append((f"a.0 {low!r}:{high!r}", "c.2"))
    pattern = sewn(panels, *seams)
    try:
        pieces = cut(pattern, edge)
        merged = merge(pieces.mesh, pieces.stitches)
    except BadInput as error:  # a few large triangles cannot be sewn to each other in every way
        assert edge > 0.05 and "one line" in str(error)
        return
    check_merged(pieces, merged)
    count = sum(max(1, round(max(b - a, 0.4) / edge)) for a, b in ((0, low), (low, high))[: len(seams)])
    assert len(merged.seams) == count


# ---- what cannot be


def test_seams_of_three_layers_are_refused():
    panels = [box(name, at=(0, 0, 0.1 * k)) for k, name in enumerate("abc")]
    pieces = cut(sewn(panels, ("a.0", "b.0"), ("c.0", "b.2")), EDGE)
    bottoms = [edges_of_outline(pieces, p)[0] for p in panels]
    by_hand = np.concatenate([np.column_stack([bottoms[0], other]) for other in bottoms[1:]])
    with pytest.raises(BadInput) as caught:
        merge(pieces.mesh, by_hand)
    assert str(caught.value) == "garment: three or more pieces of cloth are sewn together along one line: panel a, b, c"


def test_a_sharp_corner_sewn_to_itself_is_refused():
    with pytest.raises(BadInput, match="one face wide is sewn to itself: panel a"):
        pieces = cut(sewn([box("a")], ("a.0", "a.1")), EDGE)
        merge(pieces.mesh, pieces.stitches)


def test_a_face_sewn_to_itself_is_refused():
    pieces = cut(sewn([box("a")]), EDGE)
    with pytest.raises(BadInput, match="one face wide is sewn to itself: panel a"):
        merge(pieces.mesh, pieces.mesh.edges[:1])


def test_sides_that_make_no_sense():
    panels = [box("a"), box("b", at=(0, 0, 1))]
    with pytest.raises(BadInput, match="one side of a seam is on two panels: a and b"):
        cut(sewn(panels, ("a.0, b.0", "b.2")), EDGE)
    five = Panel("five", np.array([(0, 0), (1, 0), (1.3, 1), (0.5, 1.6), (-0.3, 1)]))
    with pytest.raises(BadInput, match="not in the order of the outline: five: 0, 3, 1, 4, 2"):
        cut(sewn([five, panels[1]], ("five.0, five.3, five.1, five.4, five.2", "b.0")), EDGE)


@pytest.mark.parametrize("edge", [0, -1, np.nan, np.inf, "0.1", None, True, 1e-7, 1e-300])
def test_edges_that_make_no_sense(edge):
    with pytest.raises(BadInput, match=r"^garment: "):
        cut(sewn([box("a")]), edge)


@pytest.mark.parametrize("vertices", [0, -5, np.nan, np.inf, "many", None, True])
def test_numbers_of_vertices_that_make_no_sense(vertices):
    with pytest.raises(BadInput, match="garment: vertices must be"):
        edge_for(sewn([box("a")]), vertices)


def test_an_outline_that_crosses_itself_is_named():
    bow = Panel("bow", np.array([(0, 0), (1, 1), (1, 0), (0, 1)]))
    with pytest.raises(BadInput, match="garment: panel bow: outline: the sides after points"):
        cut(sewn([bow]), 0.2)


def test_a_pattern_without_seams():
    pieces = cut(sewn([box("a"), box("b", at=(0, 0, 1))]), EDGE)
    assert pieces.stitches.shape == (0, 2) and pieces.stitches.dtype == np.int32
    merged = merge(pieces.mesh, pieces.stitches)
    assert (merged.x == pieces.mesh.x).all() and merged.face_component.max() == 1 and len(merged.seams) == 0


@pytest.mark.parametrize("edge", [0.3, 1.0, 10.0])
def test_coarse_patterns(edge):
    """As coarse as it may be, a pattern is cut, or it is said what is in the way."""
    for name in GARMENTS:
        try:
            pieces = cut(garment(name), edge)
            check_merged(pieces, merge(pieces.mesh, pieces.stitches))
        except BadInput as error:
            assert str(error).startswith(f"{name}: ")
