"""Simulate the cloth of a scene file, and write its frames.

Frames are kept as they are made: after a crash, Ctrl-C or a full disk, --resume goes on from the last checkpoint.
Formats: USD, PC2, npz, GLB/glTF, numbered files (out_####.obj, .ply ...), or a folder for OBJ files (out/)."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  unsnarl simulate drape.toml -o drape.usd
  unsnarl simulate drape.toml -o drape.usd --resume
  unsnarl simulate drape.toml -o frames/drape_####.obj --frames 20:80 --stats drape.jsonl"""


def simulate(
    scene: Annotated[Path, typer.Argument(metavar="SCENE.toml", help="The scene file.", show_default=False)],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="OUT", help="Where the frames go; else the scene file has to say it."),
    ] = None,
    frames: Annotated[
        str | None,
        typer.Option(metavar="A:B", help="Write frames A to B, both included; B alone is 0:B, and A: goes to the end."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace output that is there, or begin an unfinished run anew.")
    ] = False,
    untangle: Annotated[str | None, typer.Option(metavar="METHOD", help="Instead of the scene's method.")] = None,
    resolver: Annotated[str | None, typer.Option(help="Instead of the scene's resolver.")] = None,
    checkpoint: Annotated[int, typer.Option(metavar="N", min=1, help="Frames from checkpoint to checkpoint.")] = 10,
    stats: Annotated[
        str | None, typer.Option(metavar="F.jsonl", help="Write a line of JSON for every frame; - for stdout.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(metavar="F.png", help="Draw the last frame.")] = None,
) -> int:
    from unsnarl.cli.files import working
    from unsnarl.errors import BadInput
    from unsnarl.jit import announce_compilation
    from unsnarl.simulation.scene_file import read_scene_file

    announce_compilation()
    with working(f"reading {scene}"):
        file = read_scene_file(scene)
    output = output or file.output
    if output is None:
        raise BadInput(f'{scene}: does not say where the output goes: give -o OUT, or output = "..." in the file')
    changes = {key: value for key, value in (("untangle", untangle), ("resolver", resolver)) if value is not None}
    first, last = _range(frames, file.scene.frames)
    what = file.scene.but(frames=last + 1, **changes)
    if picture is not None:
        _refuse_picture(picture, [*file.inputs, Path(output), Path(stats or "-")], overwrite)

    from unsnarl.simulation.recording import Recording

    options = {"first": first, "stats": stats, "every": checkpoint, "resume": resume, "overwrite": overwrite}
    with working("preparing"):
        recording = Recording(what, output, **options, inputs=file.inputs, say=_say)
    with recording:
        made, seconds = 0, 0.0
        with _progress(recording) as show:
            for line in recording.run():
                made += 1
                seconds += line["seconds"]
                if line["frame"] == 0 and line["ef_pairs"]:
                    _say(f"the start has {line['ef_pairs']:,} intersections (edges through faces): these may stay")
                show(line)
        drawn = [x[-1].copy() for x in recording.positions()] if picture is not None else []
        with working("writing"):
            files = recording.finish()
    if picture is not None:
        _draw(what, drawn, picture)
    left = recording.line["ef_pairs"]
    typer.echo(_table(recording, made, seconds, left, files, stats, picture), err=stats == "-")
    return 1 if left else 0


def _range(frames: str | None, count: int) -> tuple[int, int]:
    """The first and the last frame of A:B, :B, A: or B."""
    if frames is None:
        return 0, count - 1
    start, _, end = frames.partition(":") if ":" in frames else ("", "", frames)
    if not all(part == "" or (part.isascii() and part.isdigit() and len(part) < 9) for part in (start, end)):
        raise typer.BadParameter(f"--frames takes A:B with whole numbers, as in 20:80, not {frames!r}")
    first, last = int(start or 0), int(end) if end else count - 1
    if last < first:
        raise typer.BadParameter(f"--frames {frames}: frame {last} comes before frame {first}")
    return first, last


def _refuse_picture(picture: Path, others: list[Path], overwrite: bool) -> None:
    from unsnarl.cli.files import refuse_to_replace
    from unsnarl.errors import BadInput, need

    if picture.suffix.lower() != ".png":
        raise BadInput(f"{picture}: pictures are written as PNG: name the file *.png")
    refuse_to_replace(picture, ".png", others)
    if picture.exists() and not overwrite:
        raise BadInput(f"{picture}: exists already; --overwrite replaces it")
    need("pyvista", "drawing a picture", "pictures")


def _say(line: str) -> None:
    if sys.stderr is not None:
        typer.echo(f"unsnarl: {line}", err=True)


@contextmanager
def _progress(recording):
    """Yields a function that is called with each frame's statistics; on a terminal it moves a bar."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda line: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("frame"),
        MofNCompleteColumn(),
        BarColumn(bar_width=30),
        TimeRemainingColumn(),
        TextColumn("left"),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=recording.last + 1, completed=recording.number + 1)

        def show(line: dict) -> None:
            figures = (("ef_pairs", "intersections"), ("steps", "steps"), ("contacts", "contacts"), ("zones", "zones"))
            said = ", ".join(f"{line[key]:,} {name}" for key, name in figures if key in line)
            progress.update(task, completed=line["frame"] + 1, description=said)

        yield show


def _draw(scene, positions: list, picture: Path) -> None:
    from unsnarl.cli.files import working
    from unsnarl.show.picture import draw_report
    from unsnarl.tangles.check import check

    at = (scene.frames - 1) / scene.fps
    with working("drawing"):
        cloths = [cloth.mesh.moved(x) for cloth, x in zip(scene.cloths, positions)]
        bodies = [body.mesh.moved(body.at(at)) for body in scene.bodies]
        draw_report(check(cloths, bodies=bodies), picture, up=scene.up)


def _table(recording, made: int, seconds: float, left: int, files: list[Path], stats, picture) -> str:
    """What a person wants to know at the end."""
    per_frame = f"{seconds / made:.3g}" if made else "-"
    rows = [
        ("frames", f"{recording.first} to {recording.last}"),
        ("simulated now", f"{made:,}"),
        ("seconds", f"{seconds:.3g}"),
        ("seconds per frame", per_frame),
        ("intersections left", f"{left:,}"),
    ]
    if len(files) > 4:
        files = [f"{files[0]} ... {files[-1]}  ({len(files):,} files)"]
    rows += [("output", file) for file in files]
    rows += [("statistics", stats)] if stats not in (None, "-") else []
    rows += [("picture", picture)] if picture is not None else []
    return "\n".join(f"{name:<20}{value}" for name, value in rows)
