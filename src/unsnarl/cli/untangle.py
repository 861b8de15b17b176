"""Move the vertices of meshes until nothing crosses anything: no mesh itself, another one, or a body.

One mesh is written to the file OUT, several into the folder OUT, each under its own name; a mesh in motion (USD, PC2,
npz, glTF, numbered files) is untangled frame by frame. Only positions change. Ctrl-C stops after the step that is
under way, and the best state so far is written; pressed again, it leaves at once."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from unsnarl.io import Frames
    from unsnarl.simulation.untangle import Untangled

EXAMPLES = """\b
Examples:
  unsnarl untangle shirt.obj -o clean.obj
  unsnarl untangle shirt.obj -o clean.obj --body character.glb --pin boundary --html steps.html
  unsnarl untangle trousers.obj shirt.obj coat.obj -o out/ --layers --body character.glb --report report.json
  unsnarl untangle walk.usd -o clean.usd"""

KEPT = 40  # steps on a page, about


def untangle(
    meshes: Annotated[
        list[Path], typer.Argument(metavar="MESH", help="Meshes to untangle, together.", show_default=False)
    ],
    output: Annotated[str, typer.Option("-o", "--output", metavar="OUT", help="A file; for several meshes a folder.")],
    rest: Annotated[
        list[Path] | None,
        typer.Option(metavar="MESH", help="The shape a mesh should have: one for each mesh, in the same order."),
    ] = None,
    body: Annotated[
        list[Path] | None, typer.Option(metavar="MESH", help="A body: stays where it is. Repeatable.")
    ] = None,
    pin: Annotated[
        str | None,
        typer.Option(metavar="boundary|FILE", help="Vertices that stay where they are: a file of numbers, from 0 on."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="auto|gia|rbf|icm|gia+icm|boundary|uv|from_rest",
            help="How. from_rest: from a clean state, such as --rest, back towards the mesh.",
        ),
    ] = "auto",
    max_steps: Annotated[int, typer.Option(metavar="N", min=0, help="Steps, at most (of each frame).")] = 2000,
    report: Annotated[Path | None, typer.Option(metavar="F.json", help="Write figures as JSON; - for stdout.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="F.png", help="Draw before and after.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="F.html", help="Write a page that shows the steps.")] = None,
    layers: Annotated[
        bool, typer.Option("--layers", help="The order of the meshes says who is inside: innermost first.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")] = False,
    split_non_manifold: Annotated[
        bool,
        typer.Option("--split-non-manifold", help="Cut surfaces open where an edge has three or more faces."),
    ] = False,
) -> int:
    from unsnarl.cli.files import read_meshes, working, write_json
    from unsnarl.errors import BadInput, need
    from unsnarl.jit import announce_compilation

    rests, bodies = rest or [], body or []
    if rests and len(rests) != len(meshes):
        raise BadInput(f"{len(rests)} rest meshes for {len(meshes)} meshes: give one for each, in the same order")
    pin_file = None if pin in (None, "boundary") else Path(pin)
    if pin_file is not None and len(meshes) > 1:
        raise BadInput(f"{pin_file}: a file of pins is for one mesh, not for {len(meshes)}")
    announce_compilation()

    from unsnarl.simulation import untangle as driver

    if method not in driver.METHODS:
        raise BadInput(f"the method must be one of {', '.join(driver.METHODS)}, not {method!r}")
    pieces = _read(meshes, split_non_manifold)
    moving = pieces[0].moves
    solids = [piece.frames if moving else piece.still for piece in _read_bodies(bodies, moving, split_non_manifold)]
    shapes = [_usable(_frames(mesh), split_non_manifold)[0].mesh for mesh in read_meshes(rests)]
    pins = pin or ()
    if pin_file is not None:
        pins = _pins(pin_file, pieces[0])

    place = _Place(output, pieces, overwrite)
    inputs = [*meshes, *rests, *bodies, *([pin_file] if pin_file is not None else [])]
    place.refuse(inputs[len(meshes) :])
    for target, suffix in ((report, ".json"), (picture, ".png"), (html, ".html")):
        others = [p for p in (report, picture, html) if p is not target]
        _refuse_report(target, suffix, [*inputs, *place.files, *others], place.new_folder, overwrite)
    if picture is not None:
        need("pyvista", "drawing a picture", "pictures")

    options = {"rest": shapes or None, "bodies": solids, "pins": pins, "method": method, "max_steps": max_steps}
    with _stoppable() as stop, _stepping(len(pieces[0].frames) if moving else 0) as progress:
        if moving:
            frames, results = driver.untangle_frames(pieces[0].frames, **options, progress=progress, stop=stop)
        else:
            options |= ({"layers": True} if layers else {}) | {"record": KEPT if html is not None else 0}
            results = [driver.untangle([p.still for p in pieces], **options, progress=progress, stop=stop)]
            frames = None
        stopped = stop()

    with working("writing"):
        files = place.write(results[0].meshes if frames is None else frames)
    clean = all(result.converged for result in results) and len(results) == (len(frames) if moving else 1)
    lines = [_summary(results, len(frames)) if moving else str(results[0])]
    lines += ["stopped before the end: this is the best state so far"] if stopped and not clean else []
    lines += _file_lines(files)
    shown = max(range(len(results)), key=lambda k: (len(results[k].report.hits), len(results[k].before.hits)))
    which = f" (frame {shown})" if moving else ""
    if report is not None:
        write_json(report, _figures(results, clean) if moving else results[0].to_dict())
        lines += [f"report: {report}"] if str(report) != "-" else []
    if picture is not None:
        from unsnarl.show.untangled import draw_untangled

        with working("drawing"):
            draw_untangled(results[shown], picture)
        lines.append(f"picture: {picture}{which}")
    if html is not None:
        from unsnarl.show.untangled import write_untangled

        with working("writing the page"):
            write_untangled(results[shown], html)
        lines.append(f"page: {html}{which}")
    typer.echo("\n".join(lines), err=str(report) == "-")
    return 0 if clean else 1


# --- reading ---


@dataclass(frozen=True, eq=False)
class _Piece:
    """A mesh, still or in motion, from a file.

    frames : named by its file; cut open where that was wanted
    own    : the name that the file gives the mesh
    copies : (n,) the vertex of the file that each vertex is, where it was cut open
    """

    path: Path
    frames: Frames
    own: str
    copies: object | None = None

    @property
    def moves(self) -> bool:
        """More than one frame; or one that is not the mesh itself, as in a point cache."""
        return len(self.frames) > 1 or bool((self.frames.x[0] != self.frames.mesh.x).any())

    @property
    def still(self):
        return self.frames.mesh


def _read(paths: list[Path], may_split: bool) -> list[_Piece]:
    """Meshes to untangle; only one that is alone may be in motion."""
    from unsnarl.errors import BadInput

    pieces = [_piece(path, name, may_split) for path, name in zip(paths, _names(paths))]
    if len(pieces) > 1:
        for piece in pieces:
            if piece.moves:
                frames = "one frame" if len(piece.frames) == 1 else f"{len(piece.frames)} frames"
                raise BadInput(f"{piece.path}: is in motion ({frames}): such a mesh has to be untangled alone")
    return pieces


def _read_bodies(paths: list[Path], moving: bool, may_split: bool) -> list[_Piece]:
    """Bodies; they move along with a cloth that moves."""
    pieces = [_piece(path, name, may_split) for path, name in zip(paths, _names(paths))]
    for piece in pieces:
        if piece.moves and not moving and sys.stderr is not None:
            typer.echo(f"unsnarl: {piece.path}: is in motion, and the mesh is not: it stands as at the start", err=True)
    return pieces


def _names(paths: list[Path]) -> list[str]:
    from unsnarl.cli.files import names_of

    return names_of(paths)


def _piece(path: Path, name: str, may_split: bool) -> _Piece:
    from unsnarl.cli.files import working
    from unsnarl.io import read_frames

    with working(f"reading {path}"):
        return _Piece(path, *_named(read_frames(path), name, may_split))


def _named(frames: Frames, name: str, may_split: bool):
    """The frames under that name and fit for use, their own name, and what was copied."""
    own = frames.mesh.name
    usable, copies = _usable(replace(frames, mesh=frames.mesh.named(name)), may_split)
    return usable, own, copies


def _frames(mesh) -> Frames:
    from unsnarl.io import Frames

    return Frames(mesh, mesh.x[None])


def _usable(frames: Frames, may_split: bool):
    """Frames without edges of three or more faces, and (n,) the vertex that each is a copy of, if any are."""
    from unsnarl.mesh import split_non_manifold
    from unsnarl.tangles.check import check

    mesh = frames.mesh
    if len(mesh.non_manifold_edges) == 0:
        return frames, None
    if not may_split:
        check(mesh)  # refuses it, and names the edges
    cut = split_non_manifold(mesh.with_origin(None))
    copies = cut.origin
    if mesh.origin is not None:
        cut = cut.with_origin(mesh.origin[copies])
    return replace(frames, mesh=cut, x=frames.x[:, copies]), copies


def _pins(path: Path, piece: _Piece):
    """(p,) the vertices that a file of whole numbers names, ascending."""
    import numpy as np

    from unsnarl.errors import BadInput

    try:
        words = path.read_text(encoding="utf-8").split()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: is not a text file of whole numbers") from None
    for word in words:
        if not re.fullmatch(r"[0-9]{1,18}", word):
            raise BadInput(f"{path}: pins are whole numbers from 0 on, separated by white space, not {word[:40]!r}")
    pins = np.unique(np.array(words, dtype=np.int64))
    count = len(piece.still.x) if piece.copies is None else int(piece.copies.max()) + 1
    if len(pins) and pins[-1] >= count:
        raise BadInput(f"{path}: pin {pins[-1]} is not one of the {count:,} vertices of {piece.still.name}")
    return pins if piece.copies is None else np.flatnonzero(np.isin(piece.copies, pins))


# --- writing ---


class _Place:
    """Where the result goes.

    targets    : a file, or a pattern of files, for each mesh
    files      : all the files that will be there, but for the mesh beside a point cache
    new_folder : the folder that has to be made, or None
    """

    def __init__(self, output: str, pieces: list[_Piece], overwrite: bool):
        from unsnarl.errors import BadInput
        from unsnarl.io import EXTENSIONS, frame_files

        self.pieces, self.overwrite = pieces, overwrite
        path = Path(output)
        is_folder = output.endswith(("/", os.sep)) or path.is_dir()
        if len(pieces) > 1 and not is_folder and path.suffix.lower() in EXTENSIONS:
            raise BadInput(f"{output}: several meshes are written into a folder: name one, such as {path.stem}/")
        if is_folder or len(pieces) > 1:
            if path.exists() and not path.is_dir():
                raise BadInput(f"{output}: is a file; several meshes are written into a folder")
            names = [_file_name(piece.path) for piece in pieces]
            for k, name in enumerate(names):
                if name.lower() in (other.lower() for other in names[:k]):
                    raise BadInput(f"{output}: two of the meshes would be written to the same file, {name}")
            self.new_folder = None if path.exists() else path
            self.targets = [path / name for name in names]
        else:
            self.new_folder, self.targets = None, [path]
        self.first = _first_number(pieces[0].path)
        self._check_folder(path if self.new_folder is not None or path.is_dir() else path.parent)
        count = len(pieces[0].frames) if pieces[0].moves else 1
        self.files = [
            file
            for piece, target in zip(pieces, self.targets)
            for file in (frame_files(target, count, self.first) if piece.moves else [target])
        ]

    def _check_folder(self, folder: Path) -> None:
        from unsnarl.errors import BadInput

        if self.new_folder is not None:
            folder = next(parent for parent in folder.absolute().parents if parent.exists())
        if not folder.is_dir():
            raise BadInput(f"{self.targets[0]}: cannot be written: there is no folder {folder}")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise BadInput(f"{self.targets[0]}: cannot be written: no permission to write in {folder}")

    def refuse(self, inputs: list[Path]) -> None:
        """What cannot be written, or must not be: better now than after the last step.

        inputs : all but the meshes themselves, which --overwrite replaces
        """
        from unsnarl.errors import BadInput

        taken = {file.resolve() for path in inputs for file in _files_of(path)}
        for file in self.files:
            if file.is_dir():
                raise BadInput(f"{file}: cannot be written: it is a folder")
            if file.resolve() in taken:
                raise BadInput(f"{file}: is an input and will not be written over")
            if file.exists() and not self.overwrite:
                raise BadInput(f"{file}: exists already; --overwrite replaces it")
        for piece, target in zip(self.pieces, self.targets):
            _try_to_write(piece, target)

    def write(self, what) -> list[Path]:
        """Write meshes, or frames, under the names that their files gave them; returns the files."""
        from unsnarl.errors import BadInput
        from unsnarl.io import Frames, write_frames, write_mesh

        if self.new_folder is not None:
            try:
                self.new_folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise BadInput(f"{self.new_folder}: cannot be made: {error.strerror}") from None
        if isinstance(what, Frames):
            own = replace(what, mesh=what.mesh.named(self.pieces[0].own))
            write_frames(self.targets[0], own, first=self.first)
        else:
            for piece, target, mesh in zip(self.pieces, self.targets, what):
                write_mesh(target, mesh.named(piece.own))
        return self.files


def _files_of(path: Path) -> list[Path]:
    from unsnarl.io import sequence

    return sequence.files(path) if path.is_dir() or sequence.is_numbered(path) else [path]


def _file_name(path: Path) -> str:
    """The name of a mesh's file, or a pattern for the numbered files in a folder."""
    from unsnarl.io import sequence

    if not path.is_dir():
        return path.name
    first = sequence.files(path)[0]
    before, digits, after = re.fullmatch(r"(.*?)(\d+)(\D*)", first.stem).groups()
    return f"{before}{'#' * len(digits) if len(digits) > 1 else '%d'}{after}{first.suffix}"


def _first_number(path: Path) -> int:
    """The number of the first of numbered files; 0 where there are none."""
    from unsnarl.io import sequence

    if path.is_dir():
        return int(re.search(r"(\d+)\D*$", sequence.files(path)[0].stem)[1])
    if sequence.is_numbered(path):
        at = re.search(r"##+|%(0\d)?d", path.name).start()
        return int(re.match(r"\d+", sequence.files(path)[0].name[at:])[0])
    return 0


def _try_to_write(piece: _Piece, target: Path) -> None:
    """Write the input to where nobody looks, in the format of the output."""
    from tempfile import TemporaryDirectory

    from unsnarl.errors import BadInput
    from unsnarl.io import format_of, write_frames, write_mesh

    module, count = format_of(target), len(piece.frames)
    if piece.moves and count > getattr(module, "MOST_TARGETS", count):
        raise BadInput(f"{target}: glTF takes {module.MOST_TARGETS} frames at most, not {count}: use USD, PC2 or npz")
    with TemporaryDirectory(prefix="unsnarl-") as folder:
        try:
            if hasattr(module, "mesh_to_write_beside"):
                module.mesh_to_write_beside(target, piece.still)
            trial = Path(folder, target.name)
            if piece.moves:
                write_frames(trial, replace(piece.frames, x=piece.frames.x[:1]))
            else:
                write_mesh(trial, piece.still.named(piece.own))
        except BadInput as error:
            said = str(error).replace(folder, str(target.parent))
            raise BadInput(said if said.startswith(str(target)) else f"{target}: {said}") from None


def _refuse_report(target: Path | None, suffix: str, others: list, new_folder: Path | None, overwrite: bool) -> None:
    """Where a report, a picture or a page cannot or must not be written."""
    from unsnarl.cli.files import refuse_to_replace
    from unsnarl.errors import BadInput

    if target is None or str(target) == "-":
        return
    if suffix != ".json" and target.suffix.lower() != suffix:
        what = "pictures are written as PNG" if suffix == ".png" else "pages are written as HTML"
        raise BadInput(f"{target}: {what}: name the file *{suffix}")
    if new_folder is not None and target.resolve().parent == new_folder.resolve():
        if any(other is not None and target.resolve() == other.resolve() for other in others):
            raise BadInput(f"{target}: is named twice")
        return
    refuse_to_replace(target, suffix, others)
    if target.is_file() and not overwrite:
        raise BadInput(f"{target}: exists already; --overwrite replaces it")


# --- while it runs ---


@contextmanager
def _stoppable() -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether Ctrl-C was pressed. The second time, what it did before is done at once."""
    asked = False
    before = signal.getsignal(signal.SIGINT) or signal.default_int_handler

    def ask(number, frame) -> None:
        nonlocal asked
        if asked:
            signal.signal(signal.SIGINT, before)
            signal.raise_signal(signal.SIGINT)
            return
        asked = True
        if sys.stderr is not None:
            alone = "\r\x1b[2K" if sys.stderr.isatty() else ""  # over the line that shows progress
            os.write(2, f"{alone}unsnarl: stopping after this step ... (Ctrl-C again leaves at once)\n".encode())

    try:
        signal.signal(signal.SIGINT, ask)
    except ValueError:  # not the main thread, which alone hears of signals
        yield lambda: False
        return
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _stepping(frames: int) -> Iterator[Callable[[dict], None] | None]:
    """Yields a function to call with each entry of the history; on a terminal it says how far it has got."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("looking for intersections", total=None)

        def show(entry: dict) -> None:
            where = f"frame {entry['frame']:,} of {frames:,}, " if "frame" in entry else ""
            left = (
                f"{entry['ef_pairs']:,} edges through faces left" if entry["ef_pairs"] else "nothing crosses: relaxing"
            )
            progress.update(task, description=f"{where}step {entry['step']:,}: {left}")

        yield show


# --- what it says ---


def _figures(results: list[Untangled], clean: bool) -> dict:
    """The report on several frames: sums, and the report on each frame."""
    each = [result.to_dict() for result in results]
    sums = {key: sum(r[key] for r in each) for key in ("steps", "initial_ef_pairs", "final_ef_pairs", "seconds")}
    return {"converged": clean, "method": each[0]["method"]} | sums | {"frames": each}


def _summary(results: list[Untangled], frames: int) -> str:
    tangled = [k for k, result in enumerate(results) if not result.before.clean]
    left = [k for k, result in enumerate(results) if not result.converged]
    hits, steps, seconds = (
        sum(values) for values in zip(*((len(result.before.hits), result.steps, result.seconds) for result in results))
    )
    were = f"{len(tangled):,} of {frames:,} frames {'was' if len(tangled) == 1 else 'were'} tangled"
    took = f"in {steps:,} steps, {seconds:.1f} s ({results[0].method})"
    done = not left and len(results) == frames
    lines = [f"{'untangled' if done else 'NOT untangled'}: {were} ({hits:,} edges through faces), {took}"]
    for k in left[:20]:
        result = results[k]
        lines.append(
            f"  frame {k}: of {len(result.before.hits):,} edges through faces {len(result.report.hits):,} are left"
        )
    lines += [f"  ... and {len(left) - 20:,} more frames"] if len(left) > 20 else []
    if len(results) < frames:
        lines.append(f"  frames {len(results)} to {frames - 1} are as they were")
    return "\n".join(lines)


def _file_lines(files: list[Path]) -> list[str]:
    if len(files) > 4:
        return [f"mesh: {files[0]} ... {files[-1]} ({len(files):,} files)"]
    return [f"mesh: {file}" for file in files]
