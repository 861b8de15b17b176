"""The bench of D's experiments: what its rows say, its tables, its picture and its options."""

import json

import numpy as np
import pytest

from tests.cli.test_cli import refused
from unsnarl.bench import convergence
from unsnarl.cli.main import run as command
from unsnarl.errors import BadInput
from unsnarl.scenes import dragged_jacket, shaken_ensembles
from unsnarl.scenes.tangles import rudimentary
from unsnarl.scenes.tangles.canonical import canonical
from unsnarl.simulation.scene import Cloth
from unsnarl.wardrobe.dress import Dressed

STEPS = 150


def make_small(patch: pytest.MonkeyPatch) -> None:
    """Fewer and smaller states, and no dressing."""
    patch.setattr(rudimentary, "RUDIMENTARY", ("closed", "eight"))
    patch.setattr(rudimentary, "RESOLUTIONS", (12, 15))
    patch.setattr(convergence, "BALLS", {"small": 0.13, "larger": 0.15})
    patch.setattr(shaken_ensembles, "ENSEMBLES", {"circle_skirt": None})
    patch.setattr(shaken_ensembles, "build", lambda name: canonical("closed", 12))
    cloth = Cloth(canonical("closed", 15).clean[0], pins="boundary")
    patch.setattr(dragged_jacket, "_worn", lambda vertices: Dressed("sheet", (cloth,), ()))
    for name, value in (("DRAGS", 1), ("LONG", 4), ("PAUSE", 1), ("ALONE", 2)):
        patch.setattr(dragged_jacket, name, value)


@pytest.fixture(scope="module")
def result() -> convergence.ConvergenceResult:
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        return convergence.run(range(1), max_steps=STEPS, workers=1)


def of(result, part: str) -> list[dict]:
    return [row for row in result.rows if row["part"] == part]


# --- rows ---


def test_every_part_has_rows(result):
    assert {row["part"] for row in result.rows} == {*convergence.PARTS, "table 1"}
    for part in convergence.TITLES:
        assert len({tuple(row) for row in of(result, part)}) == 1


def test_rudimentary_cases(result):
    for row, kind in zip(of(result, "rudimentary"), ("CLOSED", "EIGHT"), strict=True):
        assert row["kind"] == kind and row["states"] == row["resolved"] == 2
        assert row["resolutions"] == [12, 15] and all(0 < s <= STEPS for s in row["by resolution"])
        assert row["steps"] == np.median(row["by resolution"]) and row["rises"] == 0


def test_bli(result):
    rows = of(result, "bli")
    assert [row["resolution"] for row in rows] == [12, 15]
    for row in rows:
        assert row["states"] == 1 and row["resolved"] == 1 - len(row["failures"]) and row["rises"] == 0


def test_handkerchiefs_beside_other_methods_and_the_papers(result):
    *ours, papers, before = of(result, "handkerchief")
    assert [row["method"].partition(",")[0] for row in ours] == ["uv", "gia+icm"] * 2
    for row in ours[::2]:
        assert row["resolved"] == 1 and row["left"] == {} and row["failures"] == [] and row["rises"] == 0
        assert 0 < row["steps"] == row["steps p95"] == row["most"]
    for row in ours[1::2]:
        assert row["rises"] is None and (row["left"] == {}) == (row["resolved"] == 1)
    assert (papers["steps"], papers["segments"], papers["triangles"]) == (75, 7_801, 163)
    assert before["left"] == {"LL": 3} and before["resolved"] == 0
    assert ours[2]["segments"] > ours[0]["segments"] > 300


def test_the_curve_is_that_of_the_first_seed(result):
    red, ms = result.curve["red"], result.curve["ms"]
    assert result.curve["seed"] == 0 and len(red) == len(ms) + 1 == of(result, "handkerchief")[0]["steps"] + 1
    assert red[0] > 15 and red[-1] == 0 and min(ms) > 0


def test_table_1_counts_finesses_by_type(result):
    rows = [row for row in of(result, "table 1") if row["scene"] == "circle_skirt"]
    assert [row["type"] for row in rows] == ["OffSeam", "OnSeam-A", "OnSeam-B"]
    assert rows[0]["number"] > 0 and rows[0]["share"] == 1.0 and rows[0]["steps"] >= 1
    for row in rows[1:]:  # the sheets have no seams
        assert row["number"] == 0 and row["share"] == 0.0 and row["steps"] is None
    assert [(row["D's number"], row["D's steps"]) for row in rows] == [(898, 7.53), (75, 7.10), (22, 6.90)]
    assert rows[0]["D's"] == "fig. 16 c"


def test_ensembles(result):
    (row,) = of(result, "ensembles")
    assert row["resolved"] == 1 and row["rest shapes kept"] is True and row["left"] == {} and row["rises"] == 0
    assert row["D's, on average"] == 161 and row["kinds"] == {"CLOSED": 1}
    assert result.ratios["ensembles: D's steps on average over ours"] == 161 / row["steps"]


def test_dragging(result):
    (row,) = of(result, "dragging")
    assert row["steps"] == 6 and row["dragged"] == 4 and row["D's"] == 1.56
    assert row["vertices"] == len(canonical("closed", 15).clean[0].x)
    assert result.ratios["dragging: our steps a second over D's"] == row["steps a second"] / 1.56
    assert row["steps looked at"] == 2 and (row["steps until free"] is None) == (row["resolved"] == 0)


def test_the_counts_are_over_all_rows(result):
    counts = result.counts
    assert counts["rises"] == 0 < counts["steps"] and counts["disagree"] in (0, None)
    ours = [row for row in result.rows if not row.get("paper")]
    assert counts["converged"] == sum(row.get("resolved", 0) for row in ours)
    content = json.loads(json.dumps(result.to_dict()))
    assert content["name"] == "convergence" and content["rows"] == result.rows and content["counts"] == counts


def test_what_is_asked_for_and_nothing_else(monkeypatch):
    make_small(monkeypatch)
    told = []
    only = convergence.run([3], ["rudimentary"], max_steps=0, workers=1, progress=lambda *args: told.append(args))
    assert {row["part"] for row in only.rows} == {"rudimentary"} and only.curve is None
    assert [row["resolved"] for row in only.rows] == [0, 0] and only.rows[0]["by resolution"] == [None, None]
    assert [share for _, share in told] == [0.25, 0.5, 0.75, 1.0] and told[0][0] == "rudimentary uv closed 12"


def test_red_vertices_that_become_more_and_other_verdicts_are_counted():
    row = {"part": "bli", "resolution": 12, "states": 2, "resolved": 2, "disagree": 1, "rises": 3, "steps looked at": 9}
    counts = convergence.ConvergenceResult("convergence", [row, row | {"disagree": None}]).counts
    assert counts == {"converged": 4, "disagree": 1, "steps": 18, "rises": 6}


# --- the paper's table ---


def test_the_papers_table_is_as_printed():
    for name, types in convergence.TABLE_1.items():
        total = sum(number for number, _, _ in types.values())
        for kind, (number, share, _) in types.items():
            if (name, kind) != ("dress_over_trousers", "OnSeam-B"):
                assert abs(100 * number / total - share) < 0.02
    assert list(convergence.TABLE_1) == [*shaken_ensembles.ENSEMBLES, "dragged_jacket"]


# --- text, picture, command ---


def test_tables(result):
    text, marked = str(result), convergence.markdown(result.rows)
    for said in (*convergence.TITLES.values(), "7,801", "LL 3", "OnSeam-B", "red vertices became more: 0 of"):
        assert said in text
    for title, (head, *body) in convergence.tables(result.rows):
        assert f"**{title}**" in marked and all(len(row) == len(head) for row in body)


def test_the_picture(result, tmp_path):
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    from unsnarl.show.convergence import draw_convergence

    path = tmp_path / "curve.png"
    draw_convergence(result.curve["red"], result.curve["ms"], path, title="a handkerchief")
    rgb = np.round(255 * imread(path)[:, :, :3]).astype(int)
    assert rgb.shape == (500, 1100, 3)
    for colour in ([0xD1, 0x33, 0x2E], [0xB4, 0xC3, 0xD4]):
        assert (rgb == colour).all(axis=2).sum() > 500
    with pytest.raises(BadInput, match="pictures are written as PNG"):
        draw_convergence([1, 0], [1.0], tmp_path / "curve.jpg")


@pytest.fixture
def no_work(monkeypatch):
    """Nothing is untangled; returns the keywords that the bench was run with."""
    asked = {}

    def run(progress, **options):
        progress("bli uv 12 0", 1.0)
        asked.update(options)
        row = {"part": "bli", "resolution": 12, "states": 1, "resolved": 1, "disagree": 0, "rises": 0}
        result = convergence.ConvergenceResult("convergence", [row])
        result.curve = {"seed": 0, "red": [5, 3, 0], "ms": [20.0, 4.0]}
        return result

    monkeypatch.setattr(convergence, "run", run)
    return asked


def test_options_of_the_command(no_work, tmp_path, capsys):
    assert command(["bench", "convergence"]) == 0 and no_work == {}
    arguments = ["--part", "bli", "--part", "handkerchief", "--seeds", "2:3", "--max-steps", "7"]
    picture, report = tmp_path / "c.png", tmp_path / "c.json"
    assert command(["bench", "convergence", *arguments, "--picture", str(picture), "--json", str(report)]) == 0
    assert no_work == {"parts": ["bli", "handkerchief"], "seeds": range(2, 4), "max_steps": 7}
    assert picture.read_bytes().startswith(b"\x89PNG") and json.loads(report.read_text())["counts"]["rises"] == 0
    assert "BLI, which D leaves out" in capsys.readouterr().out
    assert command(["bench"]) == 0 and "convergence" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("check --part bli", "--part is an option of `unsnarl bench convergence` only"),
        ("tangles --picture p.png", "--picture is an option of `unsnarl bench convergence` only"),
        ("convergence --family closed", "--family is an option of `unsnarl bench tangles` only"),
        ("convergence --part knot", "no part 'knot'; there are rudimentary, bli"),
        ("convergence --part bli --picture p.png", "--picture shows a handkerchief"),
        ("convergence --picture p.jpg", "pictures are written as PNG"),
        ("convergence --picture same.png --json same.png", "named twice"),
    ],
)
def test_bad_usage(arguments, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert says in refused(capsys, "bench", *arguments.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seeds": []}, "no seed to run"),
        ({"seeds": [-1]}, "a seed must be a whole number from 0 on, not -1"),
        ({"parts": []}, "no part to run"),
        ({"max_steps": 1.5}, "max_steps must be a whole number"),
        ({"workers": 0}, "workers must be a whole number from 1 on"),
    ],
)
def test_what_there_is_not_is_refused(options, says):
    with pytest.raises(BadInput, match=says):
        convergence.run(**options)


# --- all of it ---


@pytest.mark.prove
@pytest.mark.parametrize("part", convergence.PARTS)
def test_everything_converges_and_red_never_rises(part):
    result = convergence.run(parts=[part])
    counts = result.counts
    assert counts["rises"] == 0 and not counts["disagree"]
    for row in result.rows:
        if "states" in row and not row.get("paper") and not str(row.get("method")).startswith("gia"):
            assert row["resolved"] == row["states"], row
        if row["part"] in ("ensembles", "dragging"):
            assert row["resolved"] == 1 and row["rest shapes kept"], row
    if part == "dragging":
        assert of(result, "dragging")[0]["vertices"] == convergence.PAPER_VERTICES
