"""The bench of tangles: what its rows say, what it keeps of failures, and its options."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

import unsnarl as us
from tests.cli.test_cli import refused
from unsnarl.bench import tangles
from unsnarl.bench.result import BenchResult
from unsnarl.cli.main import run as command
from unsnarl.errors import BadInput
from unsnarl.io import read_mesh
from unsnarl.scenes.tangles import FAMILIES, family
from unsnarl.simulation.untangle import Untangled
from unsnarl.wardrobe.tanglers import check_state

QUICK = ("closed", "explode")
KEYS = {
    "family", "method", "seeds", "success", "kinds", "steps", "steps p95", "seconds", "edge change p95",
    "displacement max", "failures", "disagree", "topology", "errors",
}  # fmt: skip


@pytest.fixture(scope="module")
def result() -> BenchResult:
    return tangles.run(QUICK, range(2), ("rbf", "icm"), workers=1)


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """No step is allowed: (the result, the folder with what was kept)."""
    folder = tmp_path_factory.mktemp("failed") / "new" / "states"
    return tangles.run(QUICK, [3, 1], ("rbf", "gia+icm"), max_steps=0, save=folder, workers=1), folder


@pytest.fixture
def no_work(monkeypatch):
    """Nothing is untangled; returns the keywords that the bench was run with."""
    asked = {}

    def run(progress, **options):
        progress("closed 0", 1.0)
        asked.update(options)
        return tangles.TanglesResult("tangles", [ROW], {})

    monkeypatch.setattr(tangles, "run", run)
    return asked


ROW = {
    "family": "closed", "method": "rbf", "seeds": 50, "success": 0.6, "kinds": ["CLOSED", "LL"], "steps": 12.5,
    "steps p95": 1400.0, "seconds": 1.234, "edge change p95": 0.0213, "displacement max": None,
    "failures": list(range(20)), "disagree": None, "topology": 0, "errors": 1,
}  # fmt: skip


def without_seconds(rows: list[dict]) -> list[dict]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


# --- rows ---


def test_a_row_for_each_family_and_method(result):
    assert [(row["family"], row["method"]) for row in result.rows] == [(f, m) for f in QUICK for m in ("rbf", "icm")]
    for row in result.rows:
        assert set(row) == KEYS and row["seeds"] == 2
        assert row["disagree"] in (0, None) and row["topology"] == row["errors"] == 0
        assert row["success"] == 1.0 - len(row["failures"]) / 2
        assert 0 < row["steps"] <= row["steps p95"] <= 400
        assert row["seconds"] > 0 and row["edge change p95"] >= 0 and row["displacement max"] > 0


def test_kinds_are_those_of_the_states(result):
    for row in result.rows:
        assert set(row["kinds"]) == set().union(*(check_state(family(row["family"], s)).counts for s in range(2)))


def test_success_of_rbf_is_set_beside_the_others(result):
    icm = np.mean([row["success"] for row in result.rows if row["method"] == "icm"])
    rbf = np.mean([row["success"] for row in result.rows if row["method"] == "rbf"])
    assert result.ratios == {"success of rbf over icm": pytest.approx(rbf / icm)}
    assert json.loads(json.dumps(result.to_dict()))["rows"] == result.rows


def test_figures_do_not_depend_on_the_number_of_processes(result):
    seen = []
    two = tangles.run(
        ["explode"], range(2), ["rbf"], workers=2, progress=lambda what, share: seen.append((what, share))
    )
    assert without_seconds(two.rows) == without_seconds(result.rows[2:3])
    assert {what for what, _ in seen} == {"explode 0", "explode 1"}
    assert [share for _, share in seen] == [0.5, 1.0]


def test_threads_are_as_before(monkeypatch):
    monkeypatch.setenv("UNSNARL_THREADS", "2")
    tangles.run(["explode"], [0], ["icm"], max_steps=0, workers=1)
    assert os.environ["UNSNARL_THREADS"] == "2"
    monkeypatch.delenv("UNSNARL_THREADS")
    tangles.run(["explode"], [0], ["icm"], max_steps=0, workers=1)
    assert "UNSNARL_THREADS" not in os.environ


# --- failures ---


def test_failures_are_counted(failed):
    result, _ = failed
    for row in result.rows:
        assert row["success"] == 0.0 and row["failures"] == [3, 1] and row["disagree"] in (0, None)
        assert row["steps"] == row["steps p95"] == row["displacement max"] == 0.0
    assert result.ratios == {"success of rbf over gia+icm": "gia+icm untangled none"}
    assert "untangled none" in str(result)


@pytest.mark.parametrize("name", QUICK)
def test_what_failed_is_kept_and_can_be_read_again(failed, name):
    _, folder = failed
    assert {f.name for f in folder.iterdir()} == {
        f"{f}-{s}-{m}" for f in QUICK for s in (1, 3) for m in ("rbf", "gia+icm")
    }
    kept, state = folder / f"{name}-3-gia+icm", family(name, 3)
    for k, (mesh, clean) in enumerate(zip(state.meshes, state.clean)):
        for stem, same in (("mesh", mesh), ("rest", clean), ("best", mesh)):
            again = read_mesh(kept / f"{stem}_{k}.npz")
            for key in ("x", "faces", "rest", "uv", "face_uv"):
                np.testing.assert_array_equal(getattr(again, key), getattr(same, key), err_msg=f"{stem} {key}")
    count = len(state.meshes)
    report = json.loads((kept / "report.json").read_text())
    assert (report["family"], report["seed"], report["method"], report["max_steps"]) == (name, 3, "gia+icm", 0)
    meshes = [read_mesh(kept / f"mesh_{k}.npz") for k in range(count)]
    assert report["initial_ef_pairs"] == report["final_ef_pairs"] == len(us.check(meshes).hits) > 0
    assert len(list(kept.iterdir())) == 3 * count + 1


def test_bodies_are_kept_too(tmp_path):
    state = family("closed", 0)
    body = us.TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    tangles._try(replace(state, bodies=(body,)), "rbf", 0, tmp_path)
    np.testing.assert_array_equal(read_mesh(tmp_path / "closed-0-rbf" / "body_0.npz").x, body.x)


def test_other_topology_and_other_verdicts_are_counted_and_kept(monkeypatch, tmp_path):
    true = tangles.untangle

    def false(meshes, **options) -> Untangled:
        result = true(meshes, **options)
        turned = [us.TriMesh(m.x, m.faces[::-1], uv=m.uv, face_uv=m.face_uv) for m in result.meshes]
        values = {key: getattr(result, key) for key in ("rest", "method", "steps", "history", "report", "before")}
        values |= {"converged": True, "certified": {"by": "a judge", "intersections": True}}
        return Untangled(tuple(turned), **values)

    monkeypatch.setattr(tangles, "untangle", false)
    (row,) = tangles.run(["explode"], [0], ["rbf"], max_steps=0, save=tmp_path, workers=1).rows
    assert row["success"] == 1.0 and row["disagree"] == row["topology"] == 1
    assert (tmp_path / "explode-0-rbf" / "best_0.npz").exists()


def test_an_error_is_a_failure_and_the_bench_goes_on(monkeypatch, tmp_path):
    def broken(meshes, method, **options):
        if method == "icm":
            raise ZeroDivisionError("no room")
        return true(meshes, method=method, **options)

    def no_state(seed):
        raise RuntimeError(f"seed {seed}: nothing tangled")

    true = tangles.untangle
    monkeypatch.setattr(tangles, "_warm_up", lambda methods: None)
    monkeypatch.setattr(tangles, "untangle", broken)
    monkeypatch.setitem(FAMILIES, "closed", no_state)
    result = tangles.run(QUICK, [0], ("rbf", "icm"), save=tmp_path, workers=1)
    assert [row["errors"] for row in result.rows] == [1, 1, 0, 1]
    assert [row["failures"] for row in result.rows] == [[0], [0], [], [0]]
    assert result.rows[0]["kinds"] == [] and result.rows[0]["steps"] is None is result.rows[3]["disagree"]
    report = json.loads((tmp_path / "explode-0-icm" / "report.json").read_text())
    assert report["error"] == "ZeroDivisionError: no room" and (tmp_path / "explode-0-icm" / "mesh_0.npz").exists()
    assert len(list(tmp_path.iterdir())) == 1  # there is no state of the other
    str(result), tangles.markdown(result.rows)


# --- tables ---


def test_tables():
    text = str(tangles.TanglesResult("tangles", [ROW], {"success of rbf over icm": 1.25}))
    for said in ("60.0 %", "CLOSED LL", "1,400", "1.23", "2.1 %", "11 and 8 more", "over icm: 1.25"):
        assert said in text
    head, line, row = tangles.markdown([ROW]).splitlines()
    assert head.startswith("| family | method | seeds | success | kinds |")
    assert head.count("|") == line.count("|") == row.count("|") == len(KEYS) + 1
    assert "| CLOSED LL |" in row and "| - | 0 1 2 3 " in row


# --- what is asked for ---


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"families": ["knot"]}, "no family of tangles 'knot'; there are closed"),
        ({"families": []}, "no family to run"),
        ({"seeds": []}, "no seed to run"),
        ({"seeds": [0, -1]}, "seed must be a whole number from 0 on, not -1"),
        ({"methods": ["magic"]}, "no method 'magic'; there are auto, rbf"),
        ({"methods": ()}, "no method to run"),
        ({"max_steps": -1}, "max_steps must be a whole number"),
        ({"workers": 0}, "workers must be a whole number from 1 on"),
    ],
)
def test_what_there_is_not_is_refused(options, says, tmp_path):
    with pytest.raises(BadInput, match=says):
        tangles.run(**options, save=tmp_path / "states")
    assert not (tmp_path / "states").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="something in it already"):
        tangles.run(save=tmp_path)
    with pytest.raises(BadInput, match=r"mine.txt: is not a folder"):
        tangles.run(save=tmp_path / "mine.txt")
    assert [f.name for f in tmp_path.iterdir()] == ["mine.txt"]


# --- the command ---


def test_command(tmp_path, capsys):
    target, folder = tmp_path / "r.json", tmp_path / "states"
    options = ["--family", "explode", "--seeds", "0:0", "--method", "icm", "--max-steps", "0"]
    assert command(["bench", "tangles", *options, "--save", str(folder), "--json", str(target)]) == 0
    assert "explode" in capsys.readouterr().out
    content = json.loads(target.read_text())
    assert content["name"] == "tangles" and content["rows"][0]["failures"] == [0] and content["ratios"] == {}
    assert (folder / "explode-0-icm" / "report.json").exists()


def test_options_of_the_command(no_work, tmp_path, capsys):
    assert command(["bench", "tangles"]) == 0 and no_work == {}
    arguments = ["--family", "bli", "--family", "ll", "--seeds", "3:5", "--method", "icm", "--method", "rbf"]
    arguments += ["--max-steps", "0"]
    assert command(["bench", "tangles", *arguments, "--save", str(tmp_path)]) == 0
    expected = {"families": ["bli", "ll"], "seeds": range(3, 6), "methods": ["icm", "rbf"], "max_steps": 0}
    assert no_work == expected | {"save": tmp_path}
    assert command(["bench"]) == 0 and "tangles" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("check --seeds 0:3", "--seeds is an option of `unsnarl bench tangles` and `unsnarl bench convergence` only"),
        ("paths --family closed", "--family is an option"),
        ("falling_sheet --method rbf", "--method is an option"),
        ("check --max-steps 0", "--max-steps is an option"),
        ("--save states", "--save is an option"),
        ("tangles --seeds 3", "--seeds takes A:B"),
        ("tangles --seeds a:b", "--seeds takes A:B"),
        ("tangles --seeds -1:2", "--seeds takes A:B"),
        ("tangles --seeds 5:2", "seed 2 comes before seed 5"),
        ("tangles --max-steps -1", "max-steps"),
        ("tangles --family knot", "no family of tangles 'knot'; there are closed"),
        ("tangles --method magic", "no method 'magic'; there are auto"),
        ("tangles --save same.json --json same.json", "named twice"),
    ],
)
def test_bad_usage(arguments, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert says in refused(capsys, "bench", *arguments.split())
    assert not list(tmp_path.iterdir())
