"""`unsnarl simulate`: scene file in, frames out; exit codes, statistics, resuming after kill -9 and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import unsnarl as us
from tests.cli.test_cli import refused
from unsnarl.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
SCENE = """\
frames = 12
output = "drape.npz"
[[cloth]]
sheet = {size = [0.5, 0.5], resolution = [8, 8]}
position = [0, 0.25, 0]
[[body]]
sphere = {radius = 0.15, triangles = 320}
position = [0, 0.08, 0]
"""


@pytest.fixture
def toml(tmp_path):
    path = tmp_path / "drape.toml"
    path.write_text(SCENE)
    return path


def simulate(*arguments):
    return run(["simulate", *map(str, arguments)])


def without_seconds(file):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def test_scene_file_in_frames_out(fake, toml, tmp_path, capsys):
    assert simulate(toml) == 0
    out = capsys.readouterr().out
    assert "frames              0 to 11\n" in out and "intersections left  0\n" in out and "drape.npz" in out
    assert len(us.read_frames(tmp_path / "drape.npz")) == 12
    assert simulate(toml, "-o", tmp_path / "o.usd", "--stats", tmp_path / "s.jsonl") == 0
    out = capsys.readouterr().out
    assert str(tmp_path / "o.usd") in out and "drape.npz" not in out and "s.jsonl" in out
    assert [line["frame"] for line in without_seconds(tmp_path / "s.jsonl")] == list(range(12))
    assert simulate(toml, "-o", f"{tmp_path}/many/") == 0
    assert "(12 files)" in capsys.readouterr().out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["drape.npz", "drape.toml", "many", "o.usd", "s.jsonl"]


def test_exit_code_when_intersections_are_left(fake, toml, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fake, "ef_pairs", 7)
    assert simulate(toml) == 1
    assert "intersections left  7\n" in capsys.readouterr().out and (tmp_path / "drape.npz").exists()


def test_statistics_on_stdout_are_alone_there(fake, toml, capsys):
    assert simulate(toml, "--stats", "-") == 0
    out, err = capsys.readouterr()
    assert [json.loads(line)["frame"] for line in out.splitlines()] == list(range(12)) and "intersections left" in err


@pytest.mark.parametrize(
    "frames, written",
    [("3:5", [3, 4, 5]), ("2", [0, 1, 2]), (":1", [0, 1]), ("10:", [10, 11]), ("11:13", [11, 12, 13]), ("4:4", [4])],
)
def test_frames(fake, toml, tmp_path, frames, written):
    assert simulate(toml, "-o", tmp_path / "o_##.obj", "--frames", frames) == 0
    expected = [f"o_{k:02d}.obj" for k in written]
    assert sorted(p.name for p in tmp_path.glob("*.obj")) == expected


@pytest.mark.parametrize("frames", ["", "5:3", "a:b", "-1:3", "1:2:3", "1.5", "99999999999", "²"])
def test_bad_frames(fake, toml, capsys, frames):
    if frames == "":
        assert simulate(toml, f"--frames={frames}") in (0, 2)
    else:
        refused(capsys, "simulate", toml, f"--frames={frames}")


def test_bad_usage(fake, toml, tmp_path, capsys):
    assert "resolver must be one of zones" in refused(capsys, "simulate", toml, "--resolver", "magic")
    assert "untangle must be one of" in refused(capsys, "simulate", toml, "--untangle", "magic")
    refused(capsys, "simulate")
    refused(capsys, "simulate", toml, "--checkpoint", "0")
    refused(capsys, "simulate", toml, "--nonsense")
    assert "No such file" in refused(capsys, "simulate", tmp_path / "no.toml")
    assert "unknown" in refused(capsys, "simulate", toml, "-o", tmp_path / "o.xyz")
    toml.write_text(SCENE.replace('output = "drape.npz"\n', ""))
    assert "give -o OUT" in refused(capsys, "simulate", toml)
    toml.write_text(SCENE.replace("sheet =", "shet ="))
    assert "drape.toml: line 4: cloth[0].shet: is not known; did you mean sheet?" in refused(capsys, "simulate", toml)
    assert [p.name for p in tmp_path.iterdir()] == ["drape.toml"]


def test_nothing_is_written_over_unasked(fake, toml, tmp_path, capsys):
    assert simulate(toml, "--stats", tmp_path / "s.jsonl") == 0
    before = (tmp_path / "drape.npz").read_bytes()
    capsys.readouterr()
    assert "drape.npz: exists already; --overwrite" in refused(capsys, "simulate", toml)
    assert "s.jsonl: exists already" in refused(
        capsys, "simulate", toml, "-o", tmp_path / "p.npz", "--stats", tmp_path / "s.jsonl"
    )
    toml.write_text(SCENE.replace("frames = 12", "frames = 6"))
    assert (tmp_path / "drape.npz").read_bytes() == before
    assert simulate(toml, "--stats", tmp_path / "s.jsonl", "--overwrite") == 0
    assert len(us.read_frames(tmp_path / "drape.npz")) == 6 and len(without_seconds(tmp_path / "s.jsonl")) == 6


def test_pictures(fake, toml, tmp_path, capsys):
    pytest.importorskip("pyvista")
    assert simulate(toml, "--frames", "2", "--picture", tmp_path / "p.png") == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    for picture, says in (("p.png", "exists already"), ("p.jpg", "*.png"), ("no/p.png", "no folder")):
        said = refused(capsys, "simulate", toml, "--overwrite" if picture != "p.png" else "--resume",
                       "--picture", tmp_path / picture)  # fmt: skip
        assert says in said


def command(*arguments, faked=True):
    module = "tests.simulation.fake" if faked else "unsnarl"
    return [sys.executable, "-m", module, "simulate", *map(str, arguments)]


def wait_for(file, lines, process):
    """Wait until a statistics file has so many lines."""
    for _ in range(6000):
        if file.exists() and file.read_bytes().count(b"\n") >= lines:
            return
        assert process.poll() is None, "it ended too early"
        time.sleep(0.01)
    pytest.fail("it does not get anywhere")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_broken_off_and_resumed(toml, tmp_path, how):
    environment = os.environ | {"FAKE_PAUSE": "0.03"}
    options = ["--checkpoint", 2, "--frames", "1:11"]
    once = command(toml, "-o", tmp_path / "once.npz", "--stats", tmp_path / "once.jsonl", *options)
    subprocess.run(once, check=True, cwd=ROOT, capture_output=True)
    twice = command(toml, "-o", tmp_path / "o.npz", "--stats", tmp_path / "o.jsonl", *options)
    process = subprocess.Popen(
        twice, cwd=ROOT, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    wait_for(tmp_path / "o.jsonl", 6, process)
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    assert out == ""
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert err.startswith("unsnarl: interrupted; --resume goes on after frame ") and err.count("\n") == 1
    else:
        assert process.returncode == -how
    assert not (tmp_path / "o.npz").exists() and (tmp_path / "o.npz.run").is_dir()
    again = subprocess.run([*twice], cwd=ROOT, capture_output=True, text=True)
    assert again.returncode == 2 and "--resume goes on, --overwrite begins anew" in again.stderr
    resumed = subprocess.run([*twice, "--resume"], cwd=ROOT, capture_output=True, text=True)
    assert resumed.returncode == 0 and "going on after frame" in resumed.stderr
    assert (tmp_path / "o.npz").read_bytes() == (tmp_path / "once.npz").read_bytes()
    assert without_seconds(tmp_path / "o.jsonl") == without_seconds(tmp_path / "once.jsonl")
    left = {p.name for p in tmp_path.iterdir()}
    assert left == {"drape.toml", "once.npz", "once.jsonl", "o.npz", "o.jsonl"}


def test_a_changed_scene_file_is_not_resumed(toml, tmp_path):
    process = subprocess.Popen(
        command(toml, "--stats", tmp_path / "s.jsonl"), cwd=ROOT, env=os.environ | {"FAKE_PAUSE": "0.1"}
    )
    wait_for(tmp_path / "s.jsonl", 3, process)
    process.kill()
    process.wait()
    toml.write_text(SCENE.replace("0.25", "0.26"))
    done = subprocess.run(command(toml, "--resume"), cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "the scene has changed since (cloth[0])" in done.stderr


def test_a_terminal_shows_a_bar(toml, tmp_path):
    pty = pytest.importorskip("pty")
    import threading

    ours, theirs = pty.openpty()
    environment = os.environ | {"FAKE_PAUSE": "0.1", "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(command(toml), cwd=ROOT, env=environment, stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    seen = bytearray()

    def read():
        try:
            while data := os.read(ours, 1000):
                seen.extend(data)
        except OSError:  # the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    assert process.wait(timeout=60) == 0
    reader.join()
    os.close(ours)
    process.stdout.close()
    assert b"12" in seen and b"intersections" in seen and b"frame" in seen


# --- with the real simulator ---


def test_a_sheet_falls_on_a_ball(toml, tmp_path, capsys):
    assert simulate(toml, "--stats", tmp_path / "s.jsonl") == 0
    frames = us.read_frames(tmp_path / "drape.npz")
    assert np.isfinite(frames.x).all() and frames.x[-1, :, 1].mean() < 0.25
    lines = without_seconds(tmp_path / "s.jsonl")
    for key in ("frame", "t", "steps", "halvings", "pcg_iterations", "contacts", "collisions", "zones", "ef_pairs"):
        assert all(key in line for line in lines[1:]), key
    assert all(line["ef_pairs"] == 0 for line in lines)


def test_the_real_simulator_resumes_bit_for_bit(toml, tmp_path):
    options = ["--checkpoint", 3, "--stats"]
    subprocess.run(
        command(toml, "-o", tmp_path / "once.usdc", *options, tmp_path / "once.jsonl", faked=False), check=True
    )
    twice = command(toml, "-o", tmp_path / "o.usdc", *options, tmp_path / "o.jsonl", faked=False)
    process = subprocess.Popen(twice)
    wait_for(tmp_path / "o.jsonl", 8, process)
    process.kill()
    process.wait()
    subprocess.run([*twice, "--resume"], check=True, env=os.environ | {"UNSNARL_THREADS": "1"})
    assert (tmp_path / "o.usdc").read_bytes() == (tmp_path / "once.usdc").read_bytes()
    assert without_seconds(tmp_path / "o.jsonl") == without_seconds(tmp_path / "once.jsonl")
