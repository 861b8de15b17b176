"""The scenes of D's experiments: what each promises."""

from types import SimpleNamespace

import numpy as np
import pytest

import unsnarl as us
from unsnarl.errors import BadInput
from unsnarl.mesh.primitives import sheet
from unsnarl.scenes import dragged_jacket, shaken_ensembles
from unsnarl.scenes.dragged_jacket import risen
from unsnarl.scenes.tangles import exploded_handkerchief, rudimentary
from unsnarl.wardrobe.dress import Dressed


@pytest.mark.parametrize("kind", rudimentary.RUDIMENTARY)
@pytest.mark.parametrize("resolution", [rudimentary.RESOLUTIONS[0], rudimentary.RESOLUTIONS[5]])
def test_rudimentary_cases_are_one_path(kind, resolution):
    assert rudimentary.check(kind, resolution) == {kind.upper(): 1}


def test_there_are_six_cases_at_ten_resolutions_and_bli():
    assert len(set(rudimentary.RUDIMENTARY)) == 6 and len(set(rudimentary.RESOLUTIONS)) == 10
    assert rudimentary.LEFT_OUT not in rudimentary.RUDIMENTARY
    for seed in (None, 0, 1):
        assert set(rudimentary.check(rudimentary.LEFT_OUT, 12, seed)) == {"BLI"}
    one, two, three = (rudimentary.build("bli", 12, seed).meshes[0].x for seed in (0, 0, 1))
    assert (one == two).all() and (one != three).any()


@pytest.mark.parametrize("radius", [exploded_handkerchief.RADIUS, exploded_handkerchief.WIDER])
def test_exploded_handkerchiefs(radius):
    for seed in range(3):
        exploded_handkerchief.check(seed, radius)
    state, again = exploded_handkerchief.build(1, radius), exploded_handkerchief.build(1, radius)
    assert (state.meshes[0].x == again.meshes[0].x).all() and us.check(state.clean).clean
    moved = (state.meshes[0].x != state.clean[0].x).any(axis=1)
    assert not moved[state.clean[0].boundary_vertices].any()


def test_they_are_as_tangled_as_the_papers_whichever_way_it_counts():
    for radius, segments, others in (
        (exploded_handkerchief.RADIUS, 3_900, 0.9 * 47.9),
        (exploded_handkerchief.WIDER, 7_600, 47.9),
    ):
        reports = [us.check(exploded_handkerchief.build(seed, radius).meshes) for seed in range(30)]
        assert np.median([len(r.segments) for r in reports]) > segments
        assert np.median([2 * len(r.segments) / len(r.crossing_faces) for r in reports]) > others


def test_an_ensemble_is_shaken(monkeypatch):
    """A sheet instead of the clothes."""
    cloth = us.Cloth(sheet((0.4, 0.4), edge=0.04, up="y"), material="silk")
    monkeypatch.setattr(shaken_ensembles, "_worn", lambda garments, vertices: Dressed("sheet", (cloth,), ()))
    one, two, other = (shaken_ensembles.build(name) for name in ("circle_skirt", "circle_skirt", "shirt_under_jacket"))
    assert one.name == "circle_skirt" and (one.clean[0].x == cloth.mesh.x).all()
    assert (one.meshes[0].x == two.meshes[0].x).all() and (one.meshes[0].x != other.meshes[0].x).any()
    with pytest.raises(AssertionError, match="without seams"):
        shaken_ensembles.check("circle_skirt")


def test_an_ensemble_that_there_is_not():
    with pytest.raises(BadInput, match="no ensemble 'toga'"):
        shaken_ensembles.build("toga")


@pytest.mark.prove
@pytest.mark.parametrize("name", shaken_ensembles.ENSEMBLES)
def test_every_ensemble_is_shaken(name):
    shaken_ensembles.check(name)
    for mesh in shaken_ensembles.build(name).meshes:
        assert 1_000 <= len(mesh.x) <= 3_000


def small_session(monkeypatch, method: str) -> dragged_jacket.Session:
    """A sheet instead of the jacket, and fewer steps."""
    cloth = us.Cloth(sheet((0.6, 0.6), edge=0.04, up="y"), pins="boundary")
    monkeypatch.setattr(dragged_jacket, "_worn", lambda vertices: Dressed("sheet", (cloth,), ()))
    for name, value in (("DRAGS", 2), ("LONG", 4), ("PAUSE", 2), ("ALONE", 3)):
        monkeypatch.setattr(dragged_jacket, name, value)
    told = []
    session = dragged_jacket.run(dragged_jacket.build(untangle=method), told.append)
    assert len(told) == len(session.seconds) == 13 and told[-1] == 1.0
    return session


@pytest.mark.parametrize("method", ["uv", "auto", "rbf"])
def test_a_session_of_dragging(monkeypatch, method):
    session = small_session(monkeypatch, method)
    assert session.dragged == 10 and len(session.hits) == len(session.red) == 14
    assert session.steps_per_second > 0 and isinstance(session.finesses, list)
    assert session.original or (method == "uv" and session.hits[-1] > 0)  # edited only while something is tangled
    again = small_session(monkeypatch, method)
    assert again.hits == session.hits and again.red == session.red


def test_how_long_it_takes_to_get_free():
    def free(hits):
        return dragged_jacket.Session([SimpleNamespace(hits=[0] * n) for n in hits], [], [], 2, [], True).free

    assert free([0, 3, 2, 1, 0, 0]) == 2
    assert free([0, 3, 0, 0]) == 0
    assert free([0, 3, 0, 1]) is None


def test_risen():
    assert risen([5, 4, 4, 0]) == 0 and risen([5, 6, 6, 7, 0]) == 2 and risen([3]) == 0


@pytest.mark.prove
def test_the_jacket_is_dragged_and_gets_free():
    session = dragged_jacket.check()
    assert len(session.reports[-1].mesh.x) - session.reports[-1].parts[-1].vertices == 4_183
