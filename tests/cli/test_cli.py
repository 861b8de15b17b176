"""The command: exit codes, one line for what is wrong, files whole or not at all."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import unsnarl as us
from unsnarl.cli.main import run
from unsnarl.scenes import folded_sheet


@pytest.fixture
def tangled(tmp_path):
    path = tmp_path / "tangled.obj"
    us.write_mesh(path, folded_sheet.build(1000))
    return path


@pytest.fixture
def clean(tmp_path):
    path = tmp_path / "clean.ply"
    us.write_mesh(path, folded_sheet.build(1000, height=0.0))
    return path


def refused(capsys, *arguments):
    """Run what has to be refused: exit code 2, nothing on stdout, one line on stderr, which is returned."""
    assert run([str(a) for a in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("unsnarl: ") and err.count("\n") == 1 and "Traceback" not in err
    return err


def test_exit_codes(tangled, clean, capsys):
    assert run(["check", str(clean)]) == 0
    assert "no intersections" in capsys.readouterr().out
    assert run(["check", str(tangled)]) == 1
    assert "edges through faces" in capsys.readouterr().out
    assert run(["check", str(clean), "--body", str(tangled)]) == 1


def test_json_and_picture(tangled, tmp_path, capsys):
    report, picture = tmp_path / "r.json", tmp_path / "p.png"
    assert run(["check", str(tangled), "--json", str(report), "--picture", str(picture), "--certify"]) == 1
    content = json.loads(report.read_text())
    assert content["ef_pairs"] > 0 and content["certified"]["intersections"]
    assert content["meshes"][0]["name"] == "tangled.obj"
    assert picture.read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert "agrees" in out and str(picture) in out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.png", "r.json", "tangled.obj"]


def test_json_to_stdout_is_only_json(tangled, capsys):
    assert run(["check", str(tangled), "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)["ef_pairs"] > 0


@pytest.mark.parametrize(
    "name, content, says",
    [
        ("missing.obj", None, "No such file"),
        ("mesh.xyz", "v 0 0 0", "unknown format"),
        ("mesh", "v 0 0 0", "without an extension"),
        ("nan.obj", "v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3", "NaN or infinite"),
        ("inf.off", "OFF\n3 1 0\n0 0 inf\n1 0 0\n0 1 0\n3 0 1 2", "NaN or infinite"),
        ("range.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4", "does not exist"),
        ("empty.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0", "no faces"),
        ("nothing.obj", "", "no faces"),
        ("twice.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 2", "twice"),
        ("book.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 1 1\nf 1 2 3\nf 1 2 4\nf 1 2 5", "--split-non-manifold"),
    ],
)
def test_bad_meshes(name, content, says, tmp_path, capsys):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    report = tmp_path / "r.json"
    err = refused(capsys, "check", path, "--json", report)
    assert name in err and says in err
    assert not report.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "--nonsense"],
        ["check", "a.obj", "--json"],
        ["nonsense"],
        ["--nonsense"],
        ["demo", "nonsense"],
        ["bench", "nonsense"],
    ],
)
def test_bad_usage(arguments, capsys):
    refused(capsys, *arguments)


def test_nothing_else_is_written_over(tangled, tmp_path, capsys):
    before = tangled.read_bytes()
    refused(capsys, "check", tangled, "--json", tangled)
    refused(capsys, "check", tangled, "--picture", tangled)
    refused(capsys, "check", tangled, "--json", tmp_path / "no such folder" / "r.json")
    refused(capsys, "check", tangled, "--picture", tmp_path / "p.jpg")
    refused(capsys, "check", tangled, "--picture", tmp_path)
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    refused(capsys, "check", tangled, "--json", other)
    assert other.read_text() == "mine" and tangled.read_bytes() == before


def test_split_non_manifold(tmp_path):
    path = tmp_path / "book.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 1 1\nf 1 2 3\nf 1 2 4\nf 1 2 5")
    assert run(["check", str(path), "--split-non-manifold"]) == 0


def test_two_files_of_one_name_are_told_apart(tangled, tmp_path, capsys):
    other = tmp_path / "other" / "tangled.obj"
    other.parent.mkdir()
    other.write_bytes(tangled.read_bytes())
    run(["check", str(tangled), str(other), "--json", "-"])
    names = [mesh["name"] for mesh in json.loads(capsys.readouterr().out)["meshes"]]
    assert names == [str(tangled), str(other)]


def test_lists(capsys):
    assert run(["demo"]) == 0 and "folded_sheet" in capsys.readouterr().out
    assert run(["bench"]) == 0 and "check" in capsys.readouterr().out
    assert run(["--version"]) == 0 and us.__version__ in capsys.readouterr().out
    assert run(["check", "--help"]) == 0 and "Examples" in capsys.readouterr().out


def test_demo_makes_its_files(tmp_path, capsys):
    assert run(["demo", "folded_sheet", "-o", str(tmp_path / "new" / "out")]) == 0
    out = capsys.readouterr().out
    for end in ("obj", "png", "json"):
        assert (tmp_path / "new" / "out" / f"folded_sheet.{end}").stat().st_size > 1000
        assert f"folded_sheet.{end}" in out


def test_help_does_not_load_the_heavy_libraries():
    code = (
        "import sys; from unsnarl.cli.main import run; run(['--help']); print([m for m in sys.modules if m in HEAVY])"
    )
    heavy = "HEAVY = {'numba', 'scipy', 'pyvista', 'pxr', 'ipctk', 'numpy'}; "
    done = subprocess.run([sys.executable, "-c", heavy + code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_compiling_is_announced_once_with_an_empty_cache(clean, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "unsnarl", "check", str(clean)]
    first = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert first.returncode == 0 and first.stderr.count("compiling") == 1 and first.stderr.count("\n") == 1
    second = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert second.returncode == 0 and second.stderr == ""


@pytest.mark.parametrize("after", [0.3, 0.8, 1.0, 1.2, 1.4, 1.8])
def test_interrupting_leaves_nothing_behind(tmp_path, after):
    sheet = folded_sheet.build(400_000, layers=7, bumps=11, height=0.3, gap=0.1)
    us.write_mesh(tmp_path / "sheet.npz", sheet)
    command = [sys.executable, "-m", "unsnarl", "check", "sheet.npz", "--json", "r.json", "--picture", "p.png"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    left = {p.name for p in tmp_path.iterdir()}
    if process.returncode == 1:  # it was done before
        assert left == {"sheet.npz", "r.json", "p.png"}
    elif after >= 0.8:  # before that Python itself is still starting
        assert process.returncode == 130
        assert "interrupted" in err and "Traceback" not in err
        assert left <= {"sheet.npz", "p.png", "r.json"}


def test_nothing_is_written_when_one_output_is_impossible(tangled, tmp_path, capsys):
    (tmp_path / "folder.json").mkdir()
    refused(capsys, "check", tangled, "--picture", tmp_path / "p.png", "--json", tmp_path / "folder.json")
    refused(capsys, "check", tangled, "--picture", tmp_path / "same.png", "--json", tmp_path / "same.png")
    assert not (tmp_path / "p.png").exists() and not (tmp_path / "same.png").exists()


def test_output_that_cannot_be_written_is_not_called_a_tangle(clean):
    command = f"{sys.executable} -m unsnarl check {clean}"
    for end in ("> /dev/full", "--json - > /dev/full", "--json /dev/full"):
        done = subprocess.run(f"{command} {end}", shell=True, capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "No space" in done.stderr
    assert subprocess.run(f"{command} --json /dev/null", shell=True, capture_output=True).returncode == 0
    assert subprocess.run(f"{command} 2>&-", shell=True, capture_output=True).returncode == 0
    assert subprocess.run(f"{command}.missing.obj 2>&-", shell=True, capture_output=True).returncode == 2


@pytest.mark.parametrize("threads", ["0", "-1", "abc", "²", "1000000", ""])
def test_odd_numbers_of_threads(clean, threads, monkeypatch):
    monkeypatch.setenv("UNSNARL_THREADS", threads)
    assert run(["check", str(clean)]) == 0


def test_a_link_to_a_report_stays_a_link(clean, tmp_path):
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    assert run(["check", str(clean), "--json", str(tmp_path / "link.json")]) == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["ef_pairs"] == 0


def test_pipes_are_not_waited_for(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.obj")
    refused(capsys, "check", tmp_path / "pipe.obj")


def test_the_same_file_twice(clean, capsys):
    run(["check", str(clean), "--body", str(clean), "--json", "-"])
    names = [mesh["name"] for mesh in json.loads(capsys.readouterr().out)["meshes"]]
    assert len(set(names)) == 2
