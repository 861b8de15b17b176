"""Frames on disk: what is written where, and that neither kill -9 nor a full disk nor damage loses or changes any."""

import json
import os
import shutil
import signal
import subprocess

import numpy as np
import pytest

import unsnarl as us
from tests.simulation.fake import FakeSimulator, kill_at
from unsnarl.mesh.primitives import sheet, sphere
from unsnarl.simulation import recording
from unsnarl.simulation.digest import digests
from unsnarl.simulation.recording import Recording

FRAMES = 8


@pytest.fixture(autouse=True)
def always_fake(fake):
    return fake


def scene(cloths=1, frames=FRAMES, **options):
    meshes = [sheet((1, 1), (3, 2), name=name) for name in ("shirt", "shirt", "a/b #1")[:cloths]]
    return us.Scene([us.Cloth(m, velocity=(k, 1, 0)) for k, m in enumerate(meshes)], frames=frames, **options)


def record(what, out, stop_after=None, **options):
    """Record a scene; stop_after: leave it unfinished after that frame, as a crash would. Returns lines and files."""
    options.setdefault("every", 3)
    with Recording(what, out, **options) as r:
        lines = []
        for line in r.run():
            lines.append(line)
            if line["frame"] == stop_after:
                return lines, []
        return lines, r.finish()


def contents(folder):
    """Every file below a folder, with its bytes; the run's own times are left out of statistics."""
    found = {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}
    for name in found:
        if name.endswith(".jsonl"):
            lines = [json.loads(line) for line in found[name].splitlines()]
            found[name] = [{k: v for k, v in line.items() if k != "seconds"} for line in lines]
    return found


def true_positions(what):
    simulator = FakeSimulator(what)
    frames = [simulator.frame()] + [simulator.advance() for _ in range(what.frames - 1)]
    return [np.stack([f.states[k].x for f in frames]) for k in range(len(what.cloths))]


# --- what is written where ---


@pytest.mark.parametrize(
    "cloths, out, files",
    [
        (1, "o.usd", ["o.usd"]),
        (3, "o.usda", ["o.usda"]),
        (1, "o.npz", ["o.npz"]),
        (3, "o.npz", ["o_a_b_1.npz", "o_shirt.npz", "o_shirt_2.npz"]),
        (1, "o.pc2", ["o.obj", "o.pc2"]),
        (2, "o.pc2", ["o_shirt.obj", "o_shirt.pc2", "o_shirt_2.obj", "o_shirt_2.pc2"]),
        (1, "o.glb", ["o.glb"]),
        (1, "o.obj", [f"o_{k:04d}.obj" for k in range(FRAMES)]),
        (1, "o_##.ply", [f"o_{k:02d}.ply" for k in range(FRAMES)]),
        (2, "o_##.ply", [f"o_shirt{s}_{k:02d}.ply" for s in ("", "_2") for k in range(FRAMES)]),
        (2, "o%03d.off", [f"o_shirt{s}_{k:03d}.off" for s in ("", "_2") for k in range(FRAMES)]),
        (1, "o/", [f"o/shirt_{k:04d}.obj" for k in range(FRAMES)]),
        (2, "o/", [f"o/shirt{s}_{k:04d}.obj" for s in ("", "_2") for k in range(FRAMES)]),
    ],
)
def test_files(tmp_path, cloths, out, files):
    what = scene(cloths)
    lines, written = record(what, f"{tmp_path}/{out}")
    assert sorted(contents(tmp_path)) == sorted(files)
    assert sorted(str(f.relative_to(tmp_path)) for f in written) == sorted(files)
    assert [line["frame"] for line in lines] == list(range(FRAMES))
    x = true_positions(what)
    if out.endswith("/"):
        read = [tmp_path / out / f"{name}_####.obj" for name in ("shirt", "shirt_2")[:cloths]]
    elif cloths == 1 or out.endswith("usda"):
        read = [tmp_path / (out if out != "o.obj" else "o_####.obj")]
    else:
        stems = ["shirt", "shirt_2", "a_b_1"][:cloths]
        mark = {".ply": "_##", ".off": "_%03d"}.get(out[-4:], "")
        read = [tmp_path / f"o_{stem}{mark}{out[-4:]}" for stem in stems]
    found = [us.read_frames(path) for path in read]
    assert np.allclose(np.concatenate([f.x for f in found], axis=1), np.concatenate(x, axis=1), atol=1e-6)


def test_only_some_frames(tmp_path):
    what = scene()
    (x,) = true_positions(what)
    for out, read in (("o.usda", "o.usda"), ("o_##.obj", "o_##.obj"), ("o.npz", "o.npz")):
        lines, _ = record(what, tmp_path / out, first=5)
        assert len(lines) == FRAMES
        assert np.allclose(us.read_frames(tmp_path / read).x, x[5:], atol=1e-6)
    assert "startTimeCode = 5" in (tmp_path / "o.usda").read_text()
    assert sorted(f.name for f in tmp_path.glob("*.obj")) == ["o_05.obj", "o_06.obj", "o_07.obj"]
    record(what, tmp_path / "last.obj", first=FRAMES - 1)
    assert np.allclose(us.read_mesh(tmp_path / "last.obj").x, x[-1])


def test_usd_says_which_cloth_and_which_way_is_up(tmp_path):
    record(scene(3, up="z", fps=30.0, name="two shirts"), tmp_path / "o.usda")
    text = (tmp_path / "o.usda").read_text()
    assert 'upAxis = "Z"' in text and "timeCodesPerSecond = 30" in text
    for name in ('"two_shirts"', '"shirt"', '"shirt_"', '"a_b__1"'):
        assert f"def Xform {name}" in text or f"def {name}" in text or f"def Mesh {name}" in text


def test_what_a_cloth_came_with_survives(tmp_path):
    source = "# mine\nmtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\ng body\nusemtl red\nf 1/1 2/1 3/1 4/1\n"
    (tmp_path / "quad.obj").write_text(source)
    record(us.Scene([us.Cloth(us.read_mesh(tmp_path / "quad.obj"))], frames=2), tmp_path / "o_#.obj".replace("#", "##"))
    assert "usemtl red\nf 1/1 2/1 3/1 4/1\n" in (tmp_path / "o_01.obj").read_text()
    assert (tmp_path / "o_00.obj").read_text() == source


def test_statistics(tmp_path):
    lines, _ = record(scene(), tmp_path / "o.npz", stats=tmp_path / "s.jsonl")
    read = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert read == lines and [line["frame"] for line in read] == list(range(FRAMES))
    assert read[3]["ef_pairs"] == 0 and read[3]["ratio"] is None and read[3]["steps"] == 4
    assert np.isclose(read[3]["t"], 3 / 24) and read[3]["seconds"] >= 0


def test_statistics_come_line_by_line(tmp_path):
    with Recording(scene(), tmp_path / "o.npz", stats=tmp_path / "s.jsonl") as r:
        for line in r.run():
            assert json.loads((tmp_path / "s.jsonl").read_text().splitlines()[-1]) == line


# --- unfinished runs ---


@pytest.mark.parametrize("out", ["o.npz", "o.usdc", "o.usdz", "o.pc2", "o_##.obj", "o.glb", "o/"])
@pytest.mark.parametrize("stop", [0, 2, 3, 5, 7])
def test_resumed_is_the_same_bit_for_bit(tmp_path, out, stop):
    what = scene(2)
    for folder in ("once", "twice"):
        (tmp_path / folder).mkdir()
    record(what, f"{tmp_path}/once/{out}", stats=tmp_path / "once" / "s.jsonl")
    there = f"{tmp_path}/twice/{out}"
    record(what, there, stats=tmp_path / "twice" / "s.jsonl", stop_after=stop)
    assert (tmp_path / "twice" / f"{out.strip('/')}.run").is_dir()
    said = []
    lines, _ = record(what, there, stats=tmp_path / "twice" / "s.jsonl", resume=True, say=said.append)
    assert contents(tmp_path / "once") == contents(tmp_path / "twice")
    checkpoint = {0: -1, 2: -1, 3: 3, 5: 3, 7: 7}[stop]
    assert [line["frame"] for line in lines] == list(range(checkpoint + 1, FRAMES))
    assert len(said) == 1 and (f"going on after frame {checkpoint}" if checkpoint > 0 else "frame 0") in said[0]


def in_child(action) -> int:
    """Run something in a child process; returns the exit code, negative if a signal ended it."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            action()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at_every_file(tmp_path, out, cloths, events):
    """Kill a run when it touches a file for the n-th time, for each n, and resume it."""
    what = scene(cloths, frames=5)
    (tmp_path / "once").mkdir()
    record(what, f"{tmp_path}/once/{out}", every=2, stats=tmp_path / "once" / "s.jsonl")
    expected = contents(tmp_path / "once")
    kills = 0
    for event in events:
        folder = tmp_path / f"killed{event}"
        folder.mkdir()
        options = {"every": 2, "stats": folder / "s.jsonl"}

        def doomed(folder=folder, event=event, options=options):
            kill_at(event, folder)
            record(what, f"{folder}/{out}", **options)

        code = in_child(doomed)
        assert code in (0, -signal.SIGKILL)
        if code == 0:
            assert contents(folder) == expected
            return kills
        kills += 1
        for name, data in contents(folder).items():  # what is in its place is whole, but for statistics
            if not name.startswith((f"{out.strip('/')}.run", "s.jsonl")):
                assert data == expected[name]
        try:
            record(what, f"{folder}/{out}", resume=True, **options)
        except us.BadInput as error:  # it was done, but for tidying up
            assert "exists already" in str(error)
            record(what, f"{folder}/{out}", resume=True, overwrite=True, **options)
        assert contents(folder) == expected, f"killed at {event}"
        shutil.rmtree(folder)
    return kills


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("out, cloths", [("o.npz", 2), ("o_##.obj", 1), ("o.pc2", 1)])
def test_kill_9_at_some_moments(tmp_path, out, cloths):
    assert killed_at_every_file(tmp_path, out, cloths, range(2, 400, 4)) > 10


@pytest.mark.prove
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("out, cloths", [("o.npz", 2), ("o_##.obj", 1), ("o.pc2", 1), ("o.usdc", 2), ("o/", 2)])
def test_kill_9_at_any_moment(tmp_path, out, cloths):
    assert killed_at_every_file(tmp_path, out, cloths, range(1, 400)) > 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_again_and_again(tmp_path):
    what = scene(2)
    (tmp_path / "once").mkdir()
    (tmp_path / "often").mkdir()
    record(what, tmp_path / "once" / "o.npz", every=1)
    for _ in range(60):

        def doomed():
            kill_at(14, tmp_path / "often")
            record(what, tmp_path / "often" / "o.npz", every=1, resume=True)

        if in_child(doomed) == 0:
            break
    else:
        record(what, tmp_path / "often" / "o.npz", every=1, resume=True)
    assert contents(tmp_path / "often") == contents(tmp_path / "once")


def test_an_unfinished_run_is_not_touched_unasked(tmp_path):
    record(scene(), tmp_path / "o.npz", stop_after=4)
    before = contents(tmp_path)
    with pytest.raises(us.BadInput, match=r"o\.npz\.run: an unfinished run is there: --resume goes on, --over"):
        record(scene(), tmp_path / "o.npz")
    assert contents(tmp_path) == before
    lines, _ = record(scene(), tmp_path / "o.npz", overwrite=True)
    assert len(lines) == FRAMES and sorted(contents(tmp_path)) == ["o.npz"]


def test_existing_output_is_not_replaced_unasked(tmp_path):
    for out, there in (
        ("o.npz", "o.npz"),
        ("p_##.obj", "p_03.obj"),
        ("q.npz", "q_shirt_2.npz"),
        ("r/", "r/shirt_0002.obj"),
    ):
        (tmp_path / there).parent.mkdir(exist_ok=True)
        (tmp_path / there).write_text("mine")
        cloths = 2 if out == "q.npz" else 1
        for resume in (False, True):
            with pytest.raises(us.BadInput, match="exists already; --overwrite replaces it"):
                record(scene(cloths), f"{tmp_path}/{out}", resume=resume)
        assert (tmp_path / there).read_text() == "mine"
        record(scene(cloths), f"{tmp_path}/{out}", overwrite=True)
        assert (tmp_path / there).read_text(errors="replace") != "mine"
    (tmp_path / "p_99.obj").write_text("mine")
    with pytest.raises(us.BadInput, match="one more frame"):
        record(scene(), tmp_path / "p_##.obj", overwrite=True)
    (tmp_path / "s.jsonl").write_text("mine")
    with pytest.raises(us.BadInput, match=r"s\.jsonl: exists already"):
        record(scene(), tmp_path / "z.npz", stats=tmp_path / "s.jsonl")
    assert (tmp_path / "s.jsonl").read_text() == "mine" and not (tmp_path / "z.npz.run").exists()


def test_output_that_came_in_the_meantime_is_not_replaced(tmp_path):
    record(scene(), tmp_path / "o.npz", stop_after=4)
    (tmp_path / "o.npz").write_text("mine")
    with pytest.raises(us.BadInput, match="exists already"):
        record(scene(), tmp_path / "o.npz", resume=True)
    (tmp_path / "o.npz").unlink()
    (tmp_path / "s.jsonl").write_text("mine")
    with pytest.raises(us.BadInput, match="exists already"):
        record(scene(), tmp_path / "o.npz", resume=True, stats=tmp_path / "s.jsonl")
    record(scene(), tmp_path / "o.npz", resume=True)


def test_a_replacing_run_may_go_on_replacing(tmp_path):
    (tmp_path / "o.npz").write_text("old")
    record(scene(), tmp_path / "o.npz", overwrite=True, stop_after=4)
    assert (tmp_path / "o.npz").read_text() == "old"
    record(scene(), tmp_path / "o.npz", resume=True)
    assert us.read_frames(tmp_path / "o.npz").x.shape[0] == FRAMES


def test_a_changed_scene_is_not_resumed(tmp_path):
    other = sheet((1, 1), (3, 2), name="shirt")
    nudged = other.moved(other.x + np.eye(len(other.x), 3) * 1e-15)
    body = us.Body(sphere(0.1, 20))
    start = us.Scene([us.Cloth(other, pins=[0])], bodies=[body], wind=us.Wind((1, 0, 0)), frames=FRAMES)
    record(start, tmp_path / "o.npz", stop_after=4)
    changes = {
        r"\(cloth\[0\]\)": start.but(cloths=[us.Cloth(nudged, pins=[0])]),
        r"since \(cloth\[0\]\); --overwrite": start.but(cloths=[us.Cloth(other, pins=[0], material="silk")]),
        r"cloth\[0\]": start.but(cloths=[us.Cloth(other, pins=[1])]),
        r"cloth\[1\]": start.but(cloths=[us.Cloth(other, pins=[0]), us.Cloth(other)]),
        r"\(body\[0\]\)": start.but(bodies=[us.Body(sphere(0.2, 20))]),
        r"body\[0\]": start.but(bodies=[]),
        r"\(wind\)": start.but(wind=None),
        r"\(gravity\)": start.but(gravity=9.0),
        r"\(fps, friction\)": start.but(fps=25.0, friction=0.1),
        "frames 0:7 were to be written, not 0:8": start.but(frames=FRAMES + 1),
    }
    for says, changed in changes.items():
        with pytest.raises(us.BadInput, match=says):
            record(changed, tmp_path / "o.npz", resume=True)
    with pytest.raises(us.BadInput, match="frames 0:7 were to be written, not 1:7"):
        record(start, tmp_path / "o.npz", resume=True, first=1)
    record(start, tmp_path / "o.npz", resume=True)


def test_another_version_is_not_resumed(tmp_path, monkeypatch):
    record(scene(), tmp_path / "o.npz", stop_after=4)
    with monkeypatch.context() as patch:
        patch.setattr(us, "__version__", "99.0")
        with pytest.raises(us.BadInput, match=r"another version of unsnarl \(.*; this is 99.0, format 1\)"):
            record(scene(), tmp_path / "o.npz", resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(recording, "VERSION", 2)
        with pytest.raises(us.BadInput, match="another version"):
            record(scene(), tmp_path / "o.npz", resume=True)


def _truncate(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _flip(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("damage", [_truncate, _flip, lambda f: f.write_bytes(b""), lambda f: f.unlink()])
@pytest.mark.parametrize(
    "files, after",
    [
        (["checkpoint_00000006.npz"], 3),
        (["checkpoint_00000006.npz", "checkpoint_00000003.npz"], -1),
        (["run.json"], -1),
    ],
)
def test_damage_sends_it_further_back(tmp_path, damage, files, after):
    what = scene()
    (tmp_path / "once").mkdir()
    record(what, tmp_path / "once" / "o.npz")
    record(what, tmp_path / "o.npz", stop_after=6)
    for name in files:
        damage(tmp_path / "o.npz.run" / name)
    said = []
    if files == ["run.json"] and damage is _flip:  # in the middle there are digests
        with pytest.raises(us.BadInput, match="the scene has changed since"):
            record(what, tmp_path / "o.npz", resume=True, say=said.append)
        return
    lines, _ = record(what, tmp_path / "o.npz", resume=True, say=said.append)
    assert lines[0]["frame"] == after + 1
    assert (f"going on after frame {after}" if after >= 0 else "beginning with frame 0") in said[-1]
    assert (tmp_path / "o.npz").read_bytes() == (tmp_path / "once" / "o.npz").read_bytes()


@pytest.mark.parametrize("name", ["positions_0.f64", "stats.jsonl"])
@pytest.mark.parametrize("where, after", [(0.1, -1), (0.7, 3), (0.99, 6)])
def test_damaged_frames_are_simulated_again(tmp_path, name, where, after):
    what = scene()
    record(what, tmp_path / "once.npz")
    record(what, tmp_path / "o.npz", stop_after=7 if where > 0.9 else 6)
    file = tmp_path / "o.npz.run" / name
    data = bytearray(file.read_bytes())
    data[int(where * len(data))] ^= 1
    file.write_bytes(data)
    if where > 0.9:
        (tmp_path / "o.npz.run" / "checkpoint_00000007.npz").unlink()
    lines, _ = record(what, tmp_path / "o.npz", resume=True)
    assert lines[0]["frame"] == after + 1
    assert (tmp_path / "o.npz").read_bytes() == (tmp_path / "once.npz").read_bytes()


def test_nothing_to_resume(tmp_path):
    said = []
    lines, _ = record(scene(), tmp_path / "o.npz", resume=True, say=said.append)
    assert len(lines) == FRAMES and "there is no unfinished run" in said[0]


def test_one_process_at_a_time(tmp_path):
    with Recording(scene(), tmp_path / "o.npz", every=3) as r:
        for line in r.run():
            if line["frame"] == 4:
                break
        for options in ({"resume": True}, {"overwrite": True}):
            with pytest.raises(us.BadInput, match="another process is writing there"):
                record(scene(), tmp_path / "o.npz", **options)
        assert [line["frame"] for line in r.run()] == [5, 6, 7]
        r.finish()


@pytest.mark.parametrize("resume", [False, True])
def test_an_empty_run_folder_is_no_run(tmp_path, resume):
    """It is what a kill in the very last moment leaves."""
    (tmp_path / "o.npz.run").mkdir()
    lines, _ = record(scene(), tmp_path / "o.npz", resume=resume)
    assert len(lines) == FRAMES and sorted(contents(tmp_path)) == ["o.npz"]


def test_folders_of_others_are_left_alone(tmp_path):
    (tmp_path / "o.npz.run").mkdir()
    (tmp_path / "o.npz.run" / "thesis.txt").write_text("mine")
    for options in ({}, {"resume": True}, {"overwrite": True}):
        with pytest.raises(us.BadInput, match="is not a run folder of unsnarl"):
            record(scene(), tmp_path / "o.npz", **options)
    assert (tmp_path / "o.npz.run" / "thesis.txt").read_text() == "mine"


# --- where nothing can be written ---


def test_impossible_output_is_refused_before_anything_is_simulated(tmp_path, monkeypatch):
    monkeypatch.setattr(FakeSimulator, "advance", lambda self: pytest.fail("simulated"))
    (tmp_path / "file").write_text("")
    (tmp_path / "other.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    for out, says in (
        ("no/o.usd", "there is no folder"),
        ("o.xyz", "the format '.xyz' is unknown"),
        ("o", "it has no extension; known are .obj"),
        ("file/", "is a file, not a folder"),
        ("other.pc2", "other.obj beside it is another mesh"),
        (f"{'o' * 300}.usd", "cannot be written"),
    ):
        with pytest.raises(us.BadInput, match=says) as caught:
            record(scene(), f"{tmp_path}/{out}")
        assert "\n" not in str(caught.value)
    with pytest.raises(us.BadInput, match=r"/sys/o\.usd: cannot be written: "):
        record(scene(), "/sys/o.usd")
    with pytest.raises(us.BadInput, match="glTF takes 2000 frames at most"):
        record(scene(frames=2001), tmp_path / "o.glb")
    with pytest.raises(us.BadInput, match="frames 9 to 7 are none"):
        record(scene(), tmp_path / "o.npz", first=9)
    with pytest.raises(us.BadInput, match="at least one frame apart"):
        record(scene(), tmp_path / "o.npz", every=0)
    for stats in (tmp_path, tmp_path / "no" / "s.jsonl", tmp_path / "o.npz"):
        with pytest.raises(us.BadInput, match=r"cannot be written|named twice"):
            record(scene(), tmp_path / "o.npz", stats=stats)
    assert sorted(contents(tmp_path)) == ["file", "other.obj"]


def test_inputs_are_not_written_over(tmp_path):
    us.write_frames(tmp_path / "walk_##.obj", us.Frames(sheet((1, 1), (1, 1)), np.zeros((3, 4, 3))))
    us.write_mesh(tmp_path / "shirt.npz", sheet((1, 1), (1, 1)))
    inputs = (tmp_path / "walk_##.obj", tmp_path / "shirt.npz")
    before = contents(tmp_path)
    for out in ("walk_##.obj", "shirt.npz"):
        with pytest.raises(us.BadInput, match="is an input of the scene"):
            record(scene(), tmp_path / out, inputs=inputs, overwrite=True)
    with pytest.raises(us.BadInput, match="named twice"):
        record(scene(), tmp_path / "o.npz", inputs=inputs, stats=tmp_path / "shirt.npz", overwrite=True)
    assert contents(tmp_path) == before


@pytest.fixture
def small_disk(tmp_path):
    """A disk of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    try:
        made = subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        made = False
    if not made:
        pytest.skip("a small disk needs the right to mount one")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_disk_that_is_too_small_is_refused_at_once(small_disk):
    with pytest.raises(us.BadInput, match=r"needs [\d.,]+ MB of disk space at least, 1\.0 MB are free"):
        record(scene(frames=10_000), small_disk / "o.npz")
    assert contents(small_disk) == {}


@pytest.mark.parametrize("out", ["o.npz", "o.usdc", "o.usda", "o_##.obj", "o.pc2", "o.glb"])
@pytest.mark.parametrize("left", [3_000, 30_000, 60_000])
def test_a_disk_that_fills_up(small_disk, tmp_path, out, left):
    """Somewhere in the run there is no space; once there is again, the run goes on."""
    mesh = sheet((1, 1), (10, 10), name="shirt")
    what = us.Scene([us.Cloth(mesh)], frames=10)  # 29 kB of positions
    record(what, tmp_path / out)
    expected = {name: data for name, data in contents(tmp_path).items() if name.startswith("o")}
    r = Recording(what, small_disk / out, every=2)
    ballast = small_disk / "ballast"
    with r, pytest.raises(us.BadInput) as caught:
        for line in r.run():
            if line["frame"] == 3:
                free = shutil.disk_usage(small_disk).free
                ballast.write_bytes(bytes(max(0, free - left)))
        r.finish()
        pytest.skip(f"{left} bytes are enough")
    message = str(caught.value)
    assert "\n" not in message and "--resume goes on after frame" in message and str(small_disk) in message
    assert set(contents(small_disk)) - {"ballast"} == {f for f in contents(small_disk) if f.startswith(f"{out}.run")}
    ballast.unlink()
    record(what, small_disk / out, every=2, resume=True)
    assert contents(small_disk) == expected


def test_a_write_that_fails(tmp_path, monkeypatch):
    """The same without a disk of its own."""
    what = scene()
    record(what, tmp_path / "once.npz")

    def full(self, data):
        if self.path.name == "positions_0.f64" and self.length > 400:
            raise OSError(28, "No space left on device")
        return add(self, data)

    add = recording._Growing.add
    with monkeypatch.context() as patch:
        patch.setattr(recording._Growing, "add", full)
        with pytest.raises(us.BadInput, match="frame 2 cannot be stored: No space left on device; --resume begins"):
            record(what, tmp_path / "o.npz")
    assert not (tmp_path / "o.npz").exists()
    record(what, tmp_path / "o.npz", resume=True)
    assert (tmp_path / "o.npz").read_bytes() == (tmp_path / "once.npz").read_bytes()


def test_a_simulation_that_flies_apart(tmp_path, monkeypatch):
    def bad(self):
        frame = advance(self)
        frame.states[0].x[1] = np.nan
        return frame

    advance = FakeSimulator.advance
    monkeypatch.setattr(FakeSimulator, "advance", bad)
    with pytest.raises(us.BadInput, match="shirt has flown apart in frame 1"):
        record(scene(), tmp_path / "o.npz")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "real.npz").write_bytes(b"")
    (tmp_path / "link.npz").symlink_to(tmp_path / "far" / "real.npz")
    record(scene(), tmp_path / "link.npz", overwrite=True)
    assert (tmp_path / "link.npz").is_symlink() and len(us.read_frames(tmp_path / "far" / "real.npz")) == FRAMES
    assert not list(tmp_path.rglob("*.run"))


def test_a_fitting_mesh_beside_a_point_cache_stays(tmp_path):
    us.write_mesh(tmp_path / "o.ply", scene().cloths[0].mesh)
    before = (tmp_path / "o.ply").read_bytes()
    record(scene(), tmp_path / "o.pc2")
    assert sorted(contents(tmp_path)) == ["o.pc2", "o.ply"] and (tmp_path / "o.ply").read_bytes() == before


def test_digests_tell_scenes_apart():
    base = digests(scene(2))
    assert base == digests(scene(2)) == digests(scene(2, frames=99))
    assert base["cloth[0]"] != base["cloth[1]"]  # other velocities
    assert set(base) > {"cloth[0]", "cloth[1]", "fps", "substeps", "gravity", "up", "thickness", "resolver", "wind"}
