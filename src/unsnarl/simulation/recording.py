"""Simulating into files, so that nothing is lost: not by a crash, a full disk or a power cut.

Beside the output there is a folder for the time of the run, `drape.usd.run`:

    run.json                 what is simulated (digests of the scene's parts), and how far it has got
    positions_0.f64          (k, n, 3) float64 little endian, the finished frames of cloth 0; a file for each cloth
    stats.jsonl              a line for each finished frame
    checkpoint_00000020.npz  what the simulation goes on from, every few frames; the last two are kept
    lock                     held by the process that is writing

Positions and statistics only ever grow. A checkpoint, which appears whole, says how long they were and what their
checksums were; resuming cuts them to that length, and a file that is damaged sends it to the checkpoint before. The
output is written in the folder, put in place when it is whole, and then the folder goes. Since the simulation is
deterministic, all that leads to the same bytes as an uninterrupted run, but for the `seconds` in the statistics.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import unsnarl
from unsnarl.errors import BadInput
from unsnarl.io.whole import whole_file
from unsnarl.simulation import simulate
from unsnarl.simulation.digest import digests
from unsnarl.simulation.output import Output
from unsnarl.simulation.scene import Scene

VERSION = 1  # of the run folder
_OURS = re.compile(
    r"(run\.json|lock|stats\.jsonl|positions_\d+\.f64|checkpoint_\d+\.npz|out|trial|\.(run|checkpoint_\d+)-.*)"
)
_DAMAGED = (BadInput, OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)
_going: Recording | None = None  # what an interruption would break off


class Recording:
    """A simulation and the files that it is written to; a context, since the run folder is held by one at a time.

        with Recording(scene, "drape.usd") as recording:
            for line in recording.run(): ...
            recording.finish()

    scene     : its `frames` say where it ends
    out       : the output, see `Output`
    first     : the first frame that is written; those before are only simulated
    stats     : None, or a file for a line of JSON a frame, or "-" for standard output
    every     : frames from checkpoint to checkpoint
    resume    : go on with an unfinished run, if there is one
    overwrite : replace what is there: output, statistics and, without `resume`, an unfinished run
    inputs    : files that must not be written over
    say       : called with a line about anything unusual
    """

    def __init__(
        self,
        scene: Scene,
        out: str | Path,
        *,
        first: int = 0,
        stats: str | Path | None = None,
        every: int = 10,
        resume: bool = False,
        overwrite: bool = False,
        inputs: tuple[Path, ...] = (),
        say: Callable[[str], None] = lambda line: None,
    ):
        self.scene, self.first, self.every, self.say = scene, first, every, say
        self.last = scene.frames - 1
        self.number = -1  # of the last frame that is stored
        self.line: dict[str, Any] = {}  # its statistics
        if every < 1:
            raise BadInput(f"checkpoints must be at least one frame apart, not {every}")
        if not 0 <= first <= self.last:
            raise BadInput(f"{scene.name}: frames {first} to {self.last} are none")
        self.output = Output(out, scene, first, scene.frames - first)
        self.output.refuse_inputs(inputs)
        self.folder = self.output.path.with_name(f"{self.output.path.name}.run")
        self._run = {
            "format": VERSION,
            "unsnarl": unsnarl.__version__,
            "frames": [first, self.last],
            "overwrite": overwrite,
            "stage": "simulating",
            "stats": None if stats is None else str(Path(stats).resolve()),
            "scene": digests(scene),
        }
        self._files: list[_Growing] = []
        there = self._found(resume, overwrite)
        if not (overwrite or (there and (there["overwrite"] or there["stage"] == "placing"))):
            self.output.refuse_existing()
        same_stats = there is not None and there["stats"] == self._run["stats"]
        self._stats_file = _StatsFile(stats, inputs, self.output, may_exist=overwrite or same_stats)
        self._refuse_too_large()
        self.simulator = simulate.Simulator(scene)
        self._lock: BinaryIO | None = None
        self._open(there)

    def __enter__(self) -> Recording:
        global _going
        _going = self
        return self

    def __exit__(self, *_) -> None:
        global _going
        _going = None
        self._close()

    # --- what is there ---

    def _found(self, resume: bool, overwrite: bool) -> dict | None:
        """What run.json of an unfinished run says, if that is to be gone on with; None to begin anew."""
        with suppress(OSError):  # an empty folder is what may be left of a run that was done
            self.folder.rmdir()
        if not os.path.exists(self.folder):
            if resume:
                if not overwrite:
                    self.output.refuse_existing()
                self.say(f"{self.folder}: there is no unfinished run; beginning with frame 0")
            return None
        if not self.folder.is_dir() or not all(_OURS.fullmatch(file.name) for file in self.folder.iterdir()):
            raise BadInput(f"{self.folder}: is not a run folder of unsnarl; it is in the way")
        there = self._read_run()
        if there is not None and there["stage"] == "done":  # only removing it was left to do
            shutil.rmtree(self.folder, ignore_errors=True)
            return None
        if not resume:
            if not overwrite:
                raise BadInput(f"{self.folder}: an unfinished run is there: --resume goes on, --overwrite begins anew")
            return None
        if there is None:
            self.say(f"{self.folder}: run.json is missing or damaged; beginning with frame 0")
            return None
        self._refuse_changed(there)
        return there

    def _read_run(self) -> dict | None:
        try:
            found = json.loads((self.folder / "run.json").read_bytes())
            return found if set(found) == set(self._run) and isinstance(found["scene"], dict) else None
        except (OSError, ValueError, TypeError):
            return None

    def _refuse_changed(self, there: dict) -> None:
        now = self._run
        anew = "--overwrite begins anew"
        version, own = (f"{run['unsnarl']}, format {run['format']}" for run in (there, now))
        if version != own:
            raise BadInput(f"{self.folder}: was made by another version of unsnarl ({version}; this is {own}); {anew}")
        changed = [k for k in {**there["scene"], **now["scene"]} if there["scene"].get(k) != now["scene"].get(k)]
        if changed:
            raise BadInput(f"{self.folder}: the scene has changed since ({', '.join(changed)}); {anew}")
        if there["frames"] != now["frames"]:
            before, after = ("{}:{}".format(*run["frames"]) for run in (there, now))
            raise BadInput(f"{self.folder}: frames {before} were to be written, not {after}; {anew}")

    def _refuse_too_large(self) -> None:
        """All positions are stored in double precision, then written once more, in single precision at least."""
        stored = sum(f.stat().st_size for f in self.folder.glob("positions_*")) if os.path.isdir(self.folder) else 0
        points = self.output.count * sum(len(cloth.mesh.x) for cloth in self.scene.cloths)
        try:
            free = shutil.disk_usage(self.output.path.parent).free
        except OSError:
            return
        if (needed := 36 * points - stored) > free:
            space = f"{needed / 1e6:,.1f} MB of disk space at least, {free / 1e6:,.1f} MB are free"
            raise BadInput(f"{self.output.path}: cannot be written: it needs {space}")

    # --- beginning, anew or again ---

    def _open(self, there: dict | None) -> None:
        new = False
        try:
            if not os.path.isdir(self.folder):
                self.folder.mkdir()
                new = True
            self._lock = _lock(self.folder / "lock")
            if there is None:
                for file in self.folder.iterdir():
                    if file.name != "lock":
                        shutil.rmtree(file) if file.is_dir() else file.unlink()
            else:
                self._run |= {"overwrite": self._run["overwrite"] or there["overwrite"], "stage": there["stage"]}
            self.output.refuse_impossible(self.folder / "trial")
            self._stage(self._run["stage"])
            self._begin() if there is None else self._resume()
            self._stats_file.begin(self._lines())
        except BaseException as error:
            self._close()
            if new:
                shutil.rmtree(self.folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise BadInput(f"{self.output.path}: cannot be written: {error.strerror or error}") from error
            raise

    def _begin(self) -> None:
        self._files = [_Growing(file, 0, 0) for file in self._growing()]

    def _growing(self) -> list[Path]:
        positions = [self.folder / f"positions_{k}.f64" for k in range(len(self.scene.cloths))]
        return [*positions, self.folder / "stats.jsonl"]

    def _resume(self) -> None:
        """Stand where the last checkpoint that can be used was made."""
        for file in sorted(self.folder.glob("checkpoint_*.npz"), reverse=True):
            try:
                about, arrays = _read_checkpoint(file)
                if about["format"] != VERSION or len(about["files"]) != len(self._growing()):
                    raise BadInput("it is of another format")
                lengths = [(path, *place) for path, place in zip(self._growing(), about["files"])]
                for path, length, checksum in lengths:
                    _check(path, length, checksum)
                self.simulator.restore(arrays)
            except _DAMAGED as error:
                self.say(f"{file}: damaged, looking for the one before ({' '.join(str(error).split())})")
                if not isinstance(error, OSError):  # which may pass
                    file.unlink(missing_ok=True)
                continue
            self._files = [_Growing(*place) for place in lengths]
            self.number = about["frame"]
            self.line = json.loads(self._lines().splitlines()[-1])
            self.say(f"{self.folder}: going on after frame {self.number}")
            return
        self.say(f"{self.folder}: has no checkpoint that can be used; beginning with frame 0")
        self.simulator = simulate.Simulator(self.scene)
        self._begin()

    def _lines(self) -> bytes:
        """The statistics so far."""
        return self._files[-1].path.read_bytes()

    # --- frame by frame ---

    def run(self) -> Iterator[dict[str, Any]]:
        """Simulate what is missing; yields the statistics of each frame when it is stored."""
        while self.number < self.last:
            began = time.perf_counter()
            frame = self.simulator.frame() if self.number < 0 else self.simulator.advance()
            self._keep(frame, time.perf_counter() - began)
            yield self.line

    def _keep(self, frame: simulate.Frame, seconds: float) -> None:
        for state, cloth in zip(frame.states, self.scene.cloths):
            if not np.isfinite(state.x).all():
                raise BadInput(f"{self.scene.name}: {cloth.mesh.name} has flown apart in frame {frame.number}")
        line = {"frame": frame.number, "t": frame.t, "seconds": seconds} | frame.stats
        line = {key: _plain(value) for key, value in line.items()}
        text = json.dumps(line, allow_nan=False).encode() + b"\n"
        try:
            if frame.number >= self.first:
                for state, file in zip(frame.states, self._files):
                    file.add(np.ascontiguousarray(state.x, dtype="<f8").tobytes())
            self._files[-1].add(text)
            if frame.number == self.last or (frame.number > 0 and frame.number % self.every == 0):
                self._checkpoint(frame.number)
            self._stats_file.add(text)
        except OSError as error:
            what = f"frame {frame.number} cannot be stored: {error.strerror or error}"
            raise BadInput(f"{self.folder}: {what}; {self.farewell()}") from error
        except BadInput as error:
            raise BadInput(f"{error}; {self.farewell()}") from error
        self.number, self.line = frame.number, line

    def _checkpoint(self, number: int) -> None:
        for file in self._files:
            file.settle()
        about = {"format": VERSION, "frame": number, "files": [[f.length, f.checksum] for f in self._files]}
        arrays = {f"state.{key}": np.asarray(value) for key, value in self.simulator.snapshot().items()}
        if any(array.dtype.hasobject for array in arrays.values()):
            raise TypeError("a snapshot must consist of arrays of numbers")
        path = self.folder / f"checkpoint_{number:08d}.npz"
        with whole_file(path) as temporary, temporary.open("wb") as file:
            np.savez(file, about=np.array(json.dumps(about)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        for old in sorted(self.folder.glob("checkpoint_*.npz"))[:-2]:
            old.unlink(missing_ok=True)

    def farewell(self) -> str:
        """How to go on, for a message about something that keeps this run from going on itself."""
        done = [int(file.stem.rpartition("_")[2]) for file in self.folder.glob("checkpoint_*.npz")]
        return f"--resume goes on after frame {max(done)}" if done else "--resume begins with frame 0"

    # --- at the end ---

    def positions(self) -> list[np.ndarray]:
        """(k, n, 3) of each cloth at the frames that are stored, from `first` on; not in memory but in the files."""
        shapes = [(-1, len(cloth.mesh.x), 3) for cloth in self.scene.cloths]
        return [np.memmap(f.path, dtype="<f8", mode="r").reshape(shape) for f, shape in zip(self._files, shapes)]

    def finish(self) -> list[Path]:
        """Write the output and remove the folder; returns the files of the output."""
        try:
            made = self.output.write(self.folder / "out", self.positions())
            self._stage("placing")
            placed = self.output.place(made)
        except BadInput as error:
            raise BadInput(f"{error}; all frames are kept: {self.farewell()}") from error
        self._stage("done")
        for file in self.folder.iterdir():  # run.json last: as long as it is there, it says that all is done
            if file.name not in ("run.json", "lock"):
                shutil.rmtree(file, ignore_errors=True) if file.is_dir() else file.unlink(missing_ok=True)
        for name in ("lock", "run.json"):
            with suppress(OSError):
                (self.folder / name).unlink()
        shutil.rmtree(self.folder, ignore_errors=True)
        return placed

    def _close(self) -> None:
        for file in (*self._files, self._stats_file, self._lock):
            if file is not None:
                file.close()

    def _stage(self, stage: str) -> None:
        self._run["stage"] = stage
        with whole_file(self.folder / "run.json") as temporary:
            temporary.write_text(json.dumps(self._run, indent=1), encoding="utf-8")


def farewell() -> str:
    """What an interrupted command says about the run that it leaves behind; empty if there is none."""
    return "" if _going is None or not _going.folder.is_dir() else _going.farewell()


class _Growing:
    """A file that only grows, cut to a length where its first bytes have a known checksum."""

    def __init__(self, path: Path, length: int, checksum: int):
        self.path, self.length, self.checksum = path, length, checksum
        self._file = path.open("r+b" if path.exists() else "w+b", buffering=0)
        self._file.truncate(length)
        self._file.seek(length)

    def add(self, data: bytes) -> None:
        _write_all(self._file, data)
        self.length += len(data)
        self.checksum = zlib.crc32(data, self.checksum)

    def settle(self) -> None:
        """See to it that the bytes survive a power cut."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


class _StatsFile:
    """The statistics where the user wants them: a copy of the run's own, line by line."""

    def __init__(self, path: str | Path | None, inputs: tuple[Path, ...], output: Output, may_exist: bool):
        self.path = None if path is None or str(path) == "-" else Path(path)
        self._to_stdout = str(path) == "-"
        self._file: BinaryIO | None = None
        if self.path is None:
            return
        taken = {file.resolve() for file in (*inputs, *output.files, output.path)}
        if self.path.resolve() in taken:
            raise BadInput(f"{path}: is named twice; an input or the output will not be written over")
        if self.path.is_dir() or not self.path.resolve().parent.is_dir():
            what = "it is a folder" if self.path.is_dir() else f"there is no folder {self.path.parent}"
            raise BadInput(f"{path}: cannot be written: {what}")
        if self.path.is_file() and not may_exist:
            raise BadInput(f"{path}: exists already; --overwrite replaces it")

    def begin(self, lines: bytes) -> None:
        if self._to_stdout:
            self.add(lines)
        if self.path is None:
            return
        try:
            self._file = self.path.open("wb", buffering=0)
            self.add(lines)
        except OSError as error:
            raise BadInput(f"{self.path}: cannot be written: {error.strerror}") from error

    def add(self, text: bytes) -> None:
        if self._to_stdout:
            sys.stdout.write(text.decode())
            sys.stdout.flush()
        if self._file is not None:
            try:
                _write_all(self._file, text)
            except OSError as error:
                raise BadInput(f"{self.path}: cannot be written: {error.strerror}") from error

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _write_all(file: BinaryIO, data: bytes) -> None:
    """Write to an unbuffered file, which may take less than it is given."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _plain(value: Any) -> Any:
    """A number as JSON has it; what is not finite becomes null."""
    value = value.item() if isinstance(value, (np.generic, np.ndarray)) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _read_checkpoint(file: Path) -> tuple[dict, dict[str, np.ndarray]]:
    with np.load(file, allow_pickle=False) as arrays:
        about = json.loads(str(arrays["about"]))
        return about, {key.removeprefix("state."): arrays[key] for key in arrays.files if key.startswith("state.")}


def _check(path: Path, length: int, checksum: int) -> None:
    """Are the first bytes of a file those that were written?"""
    found, left = 0, length
    with path.open("rb") as file:
        while left > 0 and (data := file.read(min(left, 1 << 24))):
            found = zlib.crc32(data, found)
            left -= len(data)
    if left or found != checksum:
        raise BadInput(f"{path.name} is not what it was")


def _lock(path: Path):
    """Hold a file as long as this process lives; two of them would write into each other's frames."""
    file = path.open("ab")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # not here, on Windows: there an open file cannot be removed
        pass
    except OSError:
        file.close()
        raise BadInput(f"{path.parent}: another process is writing there") from None
    return file
