"""`unsnarl untangle`: meshes in, the same meshes without intersections out; exit codes, files, Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import unsnarl as us
from tests.cli import test_cli
from unsnarl.cli.main import run
from unsnarl.scenes.tangles import family
from unsnarl.scenes.tangles.canonical import canonical

KEYS = [
    "converged", "method", "steps", "initial_ef_pairs", "final_ef_pairs", "history", "displacement", "edge_change",
    "flipped_faces", "certified", "seconds",
]  # fmt: skip


@pytest.fixture(scope="module")
def sheets():
    """Two sheets, one with a bump through the other."""
    return canonical("closed", 14).meshes


@pytest.fixture
def two(sheets, tmp_path):
    paths = [tmp_path / "lower.obj", tmp_path / "upper.ply"]
    for path, mesh in zip(paths, sheets):
        us.write_mesh(path, mesh)
    return paths


@pytest.fixture
def one(sheets, tmp_path):
    """Both sheets as one mesh."""
    path = tmp_path / "sheets.obj"
    us.write_mesh(path, joined(sheets))
    return path


def joined(meshes):
    n = len(meshes[0].x)
    return us.TriMesh(np.concatenate([m.x for m in meshes]), np.concatenate([meshes[0].faces, meshes[1].faces + n]))


def untangle(*arguments):
    return run(["untangle", *map(str, arguments)])


def refused(capsys, *arguments):
    capsys.readouterr()
    return test_cli.refused(capsys, *arguments)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_one_mesh(one, tmp_path, capsys):
    out, report = tmp_path / "out.obj", tmp_path / "r.json"
    assert untangle(one, "-o", out, "--report", report) == 0
    said = capsys.readouterr().out
    assert said.startswith("untangled: 66 edges through faces undone")
    assert f"mesh: {out}\n" in said and f"report: {report}\n" in said
    before, after = us.read_mesh(one), us.read_mesh(out)
    assert us.check(after).clean and not us.check(before).clean
    assert (after.faces == before.faces).all()
    content = json.loads(report.read_text())
    assert list(content) == KEYS
    assert content["converged"] and content["final_ef_pairs"] == 0 and content["initial_ef_pairs"] == 66
    assert set(content["history"][0]) == {"step", "ef_pairs", "paths", "red_vertices"}
    assert set(content["displacement"]) == set(content["edge_change"]) == {"mean", "p95", "max"}
    assert set(content["certified"]) == {"by", "intersections"}
    assert names(tmp_path) == ["out.obj", "r.json", "sheets.obj"]


def test_no_step_left(one, tmp_path, capsys):
    out, report = tmp_path / "out.npz", tmp_path / "r.json"
    assert untangle(one, "-o", out, "--max-steps", 0, "--report", report) == 1
    assert "NOT untangled" in capsys.readouterr().out
    assert us.read_mesh(out).x == pytest.approx(us.read_mesh(one).x)
    content = json.loads(report.read_text())
    assert list(content) == [*KEYS, "left"] and content["steps"] == 0 and not content["converged"]
    assert content["final_ef_pairs"] == 66 and len(content["left"]) == 1
    assert content["left"][0]["kind"] == "CLOSED" and len(content["left"][0]["at"]) == 3


def test_several_meshes_to_a_folder(two, tmp_path, capsys):
    out = tmp_path / "new" / "out"
    assert untangle(*two, "-o", out, "--layers", "--report", out / "r.json") == 0
    assert names(out) == ["lower.obj", "r.json", "upper.ply"]
    assert us.check([us.read_mesh(out / path.name) for path in two]).clean
    assert f"mesh: {out / 'lower.obj'}" in capsys.readouterr().out
    assert str(out / "lower.obj") in refused(capsys, "untangle", *two, "-o", out)
    assert untangle(*two, "-o", out, "--overwrite", "--max-steps", 0) == 1


def test_one_mesh_to_a_folder(one, tmp_path):
    assert untangle(one, "-o", f"{tmp_path / 'out'}/", "--max-steps", 0) == 1
    assert names(tmp_path / "out") == ["sheets.obj"]


def test_the_order_of_layers_is_told(two, tmp_path, monkeypatch):
    import unsnarl.simulation.untangle as driver

    real, seen = driver.untangle, []

    def spy(meshes, **options):
        seen.append((len(meshes), options.pop("layers", None), options.get("record")))
        return real(meshes, **options)

    monkeypatch.setattr(driver, "untangle", spy)
    assert untangle(*two, "-o", tmp_path / "out", "--layers", "--max-steps", 0) == 1
    assert untangle(*two, "-o", tmp_path / "more", "--max-steps", 0) == 1
    assert seen == [(2, True, 0), (2, None, 0)]


def test_what_the_mesh_had_is_written_back(tmp_path):
    grid = 8
    lines = ["# quads, uv, groups and a material", "mtllib cloth.mtl", "o sheet"]
    for layer in range(2):
        for i in range(grid + 1):
            for j in range(grid + 1):
                bump = 0.03 * (layer == 0 and abs(i - 4) + abs(j - 4) < 2)
                lines.append(f"v {i / grid + 0.013 * layer} {0.02 * layer + bump} {j / grid + 0.007 * layer}")
    lines += [f"vt {i / grid} {j / grid}" for i in range(grid + 1) for j in range(grid + 1)]
    for layer in range(2):
        lines += [f"g layer_{layer}", "usemtl linen"]
        for i in range(grid):
            for j in range(grid):
                corners = [i * (grid + 1) + j + 1 + d for d in (0, 1, grid + 2, grid + 1)]
                lines.append("f " + " ".join(f"{layer * (grid + 1) ** 2 + c}/{c}" for c in corners))
    path, out = tmp_path / "quads.obj", tmp_path / "out.obj"
    path.write_text("\n".join(lines) + "\n")
    assert not us.check(us.read_mesh(path)).clean
    assert untangle(path, "-o", out) == 0
    without = [[line for line in p.read_text().splitlines() if not line.startswith("v ")] for p in (path, out)]
    assert without[0] == without[1]
    assert us.check(us.read_mesh(out)).clean
    assert untangle(path, "-o", tmp_path / "out.npz", "--max-steps", 0) == 1
    kept, read = us.read_mesh(tmp_path / "out.npz"), us.read_mesh(path)
    assert (kept.uv == read.uv).all() and kept.groups.keys() == read.groups.keys() and kept.polygons is not None


def test_units_do_not_matter(sheets, tmp_path):
    paths = [tmp_path / "metres.npz", tmp_path / "centimetres.npz"]
    for path, scale in zip(paths, (1.0, 100.0)):
        whole = joined(sheets)
        us.write_mesh(path, us.TriMesh(scale * whole.x, whole.faces))
        assert untangle(path, "-o", path.with_suffix(".out.npz")) == 0
    metres, centimetres = (us.read_mesh(path.with_suffix(".out.npz")) for path in paths)
    assert centimetres.x == pytest.approx(100 * metres.x, abs=1e-4 * 100 * metres.diagonal)
    whole = joined(sheets)
    us.write_mesh(paths[1], us.TriMesh(128 * whole.x, whole.faces))
    assert untangle(paths[1], "-o", paths[1].with_suffix(".out.npz"), "--overwrite") == 0
    assert (us.read_mesh(paths[1].with_suffix(".out.npz")).x == 128 * metres.x).all()


def test_pins_and_bodies(two, tmp_path, capsys):
    pins, out = tmp_path / "pins.txt", tmp_path / "out.obj"
    pins.write_text("0 5\n 7\t5")
    assert untangle(two[1], "-o", out, "--body", two[0], "--pin", pins) == 0
    before, after = us.read_mesh(two[1]), us.read_mesh(out)
    assert us.check(after, bodies=[us.read_mesh(two[0])]).clean
    assert after.x[[0, 5, 7]] == pytest.approx(before.x[[0, 5, 7]], abs=1e-9)
    assert untangle(*two, "-o", tmp_path / "folder", "--pin", "boundary") == 0
    rim = before.boundary_vertices
    assert us.read_mesh(tmp_path / "folder" / "upper.ply").x[rim] == pytest.approx(before.x[rim], abs=1e-9)
    assert "one mesh" in refused(capsys, "untangle", *two, "-o", tmp_path / "no", "--pin", pins)
    for text, says in (("1 x", "'x'"), ("-1", "'-1'"), ("1.5", "whole"), ("135", "135 vertices")):
        pins.write_text(text)
        assert says in refused(capsys, "untangle", two[1], "-o", tmp_path / "no.obj", "--pin", pins)
    assert "No such file" in refused(capsys, "untangle", two[1], "-o", tmp_path / "no.obj", "--pin", "missing.txt")
    assert not (tmp_path / "no").exists() and not (tmp_path / "no.obj").exists()


def test_rest_meshes(two, sheets, tmp_path, capsys):
    flat = [tmp_path / "flat_lower.obj", tmp_path / "flat_upper.obj"]
    for path, mesh in zip(flat, canonical("closed", 14).clean):
        us.write_mesh(path, mesh)
    assert untangle(*two, "-o", tmp_path / "out", "--rest", flat[0], "--rest", flat[1]) == 0
    assert "one for each" in refused(capsys, "untangle", *two, "-o", tmp_path / "no", "--rest", flat[0])
    err = refused(capsys, "untangle", *two, "-o", tmp_path / "no", "--rest", flat[1], "--rest", flat[0])
    assert "flat_upper.obj: the rest mesh of lower.obj must have the same vertices and faces" in err
    assert not (tmp_path / "no").exists()


def test_what_is_refused(one, two, tmp_path, capsys):
    there = names(tmp_path)
    out = tmp_path / "out.obj"
    for arguments, says in (
        ([], "Missing"),
        ([one], "-o"),
        ([tmp_path / "missing.obj", "-o", out], "missing.obj: cannot be read: No such file"),
        ([one, "-o", out, "--body", tmp_path / "missing.obj"], "missing.obj: cannot be read"),
        ([one, "-o", out, "--rest", tmp_path / "missing.obj"], "missing.obj: cannot be read"),
        ([one, "-o", out, "--method", "magic"], "auto, rbf"),
        ([one, "-o", out, "--max-steps", "-1"], "max-steps"),
        ([one, "-o", out, "--max-steps", "many"], "max-steps"),
        ([one, "-o", tmp_path / "out.xyz"], "unknown format"),
        ([one, "-o", tmp_path / "no folder" / "out.obj"], "there is no folder"),
        ([one, "-o", one], "exists already; --overwrite"),
        ([one, "-o", two[0], "--body", two[0], "--overwrite"], "is an input"),
        ([*two, "-o", out], "into a folder"),
        ([*two, "-o", one], "into a folder"),
        ([two[0], two[0], "-o", tmp_path / "out"], "same file"),
        ([one, "-o", out, "--report", out], "named twice"),
        ([one, "-o", out, "--report", two[0]], "not a .json file"),
        ([one, "-o", out, "--picture", tmp_path / "p.jpg"], "PNG"),
        ([one, "-o", out, "--html", tmp_path / "p.txt"], "HTML"),
        ([one, "-o", out, "--html", tmp_path / "no" / "p.html"], "no folder"),
    ):
        assert says in refused(capsys, "untangle", *arguments)
        assert names(tmp_path) == there


def test_nothing_is_overwritten_without_being_told(one, tmp_path, capsys):
    for option, name in (("-o", "o.obj"), ("--report", "r.json"), ("--picture", "p.png"), ("--html", "p.html")):
        (tmp_path / name).write_text("mine")
        arguments = [one, option, tmp_path / name] + ([] if option == "-o" else ["-o", tmp_path / "new.obj"])
        assert "--overwrite" in refused(capsys, "untangle", *arguments)
        assert (tmp_path / name).read_text() == "mine" and not (tmp_path / "new.obj").exists()
    before = one.read_text()
    assert untangle(one, "-o", one, "--overwrite", "--report", tmp_path / "r.json") == 0
    assert one.read_text() != before and us.check(us.read_mesh(one)).clean
    assert json.loads((tmp_path / "r.json").read_text())["converged"]


def test_report_to_stdout_is_only_json(one, tmp_path, capsys):
    assert untangle(one, "-o", tmp_path / "out.obj", "--report", "-", "--max-steps", 0) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["steps"] == 0 and "NOT untangled" in err


def test_non_manifold_edges(tmp_path, capsys):
    path, pins = tmp_path / "book.obj", tmp_path / "pins.txt"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 1 1\nf 1 2 3\nf 1 2 4\nf 1 2 5\n")
    pins.write_text("0")
    assert "--split-non-manifold" in refused(capsys, "untangle", path, "-o", tmp_path / "out.obj")
    arguments = [path, "-o", tmp_path / "out.obj", "--split-non-manifold", "--max-steps", 0, "--pin"]
    assert untangle(*arguments, pins) == 0
    assert len(us.read_mesh(tmp_path / "out.obj").faces) == 3
    pins.write_text("5")
    assert "5 vertices" in refused(capsys, "untangle", *arguments, pins, "--overwrite")


def test_a_mesh_in_motion(sheets, tmp_path, capsys):
    whole = joined(sheets)
    n = len(sheets[0].x)
    apart = whole.x.copy()
    apart[:n, 1] -= 0.2
    frames = us.Frames(whole, np.stack([apart, whole.x, apart]), 30.0)
    us.write_frames(tmp_path / "cloth_####.obj", frames, first=1001)
    report, picture = tmp_path / "r.json", tmp_path / "p.html"
    pattern, out = tmp_path / "cloth_####.obj", tmp_path / "out_####.obj"
    assert untangle(pattern, "-o", out, "--report", report, "--html", picture) == 0
    said = capsys.readouterr().out
    assert "untangled: 1 of 3 frames was tangled (66 edges through faces)" in said and "p.html (frame 1)" in said
    assert [path.name for path in sorted(tmp_path.glob("out_*"))] == [f"out_{k}.obj" for k in (1001, 1002, 1003)]
    content = json.loads(report.read_text())
    assert content["converged"] and [list(frame) for frame in content["frames"]] == [KEYS] * 3
    moved = us.read_frames(out)
    assert all(us.check(moved[k]).clean for k in range(3))
    us.write_frames(tmp_path / "cloth.npz", frames)
    assert untangle(tmp_path / "cloth.npz", "-o", tmp_path / "out.npz", "--max-steps", 0) in (0, 1)
    written = us.read_frames(tmp_path / "out.npz")
    assert len(written) == 3 and written.fps == 30.0
    assert "alone" in refused(
        capsys, "untangle", tmp_path / "cloth.npz", tmp_path / "cloth_1001.obj", "-o", tmp_path / "no"
    )
    assert untangle(tmp_path / "cloth_1001.obj", "-o", tmp_path / "still.obj", "--body", tmp_path / "cloth.npz") in (
        0,
        1,
    )
    assert "is in motion" in capsys.readouterr().err


def test_a_frame_that_stays_tangled(sheets, tmp_path, capsys):
    whole = joined(sheets)
    us.write_frames(tmp_path / "cloth.npz", us.Frames(whole, np.stack([whole.x, whole.x])))
    report = tmp_path / "r.json"
    assert untangle(tmp_path / "cloth.npz", "-o", tmp_path / "o.npz", "--max-steps", 0, "--report", report) == 1
    assert "  frame 1: of 66 edges through faces 66 are left\n" in capsys.readouterr().out
    content = json.loads(report.read_text())
    assert content["final_ef_pairs"] == 132 and not content["converged"]


def test_a_folder_of_numbered_files_to_a_folder(sheets, tmp_path):
    whole = joined(sheets)
    (tmp_path / "shot").mkdir()
    us.write_frames(tmp_path / "shot" / "c_###.obj", us.Frames(whole, np.stack([whole.x, whole.x])), first=7)
    assert untangle(tmp_path / "shot", "-o", f"{tmp_path / 'new'}/", "--max-steps", 0) == 1
    assert names(tmp_path / "new") == names(tmp_path / "shot") == ["c_007.obj", "c_008.obj"]


@pytest.fixture
def hard(tmp_path):
    us.write_mesh(tmp_path / "hard.npz", family("crumpled_sheet", 0).meshes[0])
    return [sys.executable, "-m", "unsnarl", "untangle", "hard.npz", "-o", "out.npz", "--method", "icm",
            "--max-steps", "1000000", "--report", "r.json"]  # fmt: skip


def on_a_terminal(command, folder):
    """The process, and a function that reads what it shows on its terminal until a pattern is there."""
    import pty

    master, slave = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, stderr=slave, stdout=subprocess.PIPE, text=True)
    os.close(slave)
    seen = ""

    def wait_for(pattern, seconds=60):
        nonlocal seen
        end = time.monotonic() + seconds
        while not re.search(pattern, seen):
            assert time.monotonic() < end and process.poll() is None, seen
            seen += os.read(master, 4096).decode(errors="replace")

    return process, wait_for


@pytest.mark.skipif(sys.platform == "win32", reason="terminals and signals are others there")
def test_interrupting_keeps_the_best_state(hard, tmp_path):
    process, wait_for = on_a_terminal(hard, tmp_path)
    wait_for(r"step [3-9]: [\d,]+ edges through faces left")
    process.send_signal(signal.SIGINT)
    wait_for("unsnarl: stopping after this step")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and "NOT untangled" in out and "stopped before the end" in out
    assert names(tmp_path) == ["hard.npz", "out.npz", "r.json"]
    content = json.loads((tmp_path / "r.json").read_text())
    after = us.check(us.read_mesh(tmp_path / "out.npz"))
    assert len(after.hits) == content["final_ef_pairs"] < content["initial_ef_pairs"]
    assert content["final_ef_pairs"] == min(entry["ef_pairs"] for entry in content["history"])


@pytest.mark.skipif(sys.platform == "win32", reason="terminals and signals are others there")
def test_interrupting_twice_leaves_at_once(hard, tmp_path):
    process, wait_for = on_a_terminal([*hard, "--overwrite"], tmp_path)
    wait_for(r"step \d+: ")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)  # both may become one
    wait_for("stopping")
    try:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    except ProcessLookupError:
        pass
    assert process.returncode in (1, 130)
    if process.returncode == 130:
        assert set(names(tmp_path)) <= {"hard.npz", "out.npz", "r.json"}


def test_interruptions_are_left_alone_otherwise(one, tmp_path):
    before = signal.getsignal(signal.SIGINT)
    assert untangle(one, "-o", tmp_path / "out.obj", "--max-steps", 0) == 1
    assert signal.getsignal(signal.SIGINT) is before
