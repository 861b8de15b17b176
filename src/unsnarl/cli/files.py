"""What the subcommands share about files: reading with a word about it, and writing reports."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path

from unsnarl.errors import BadInput


@contextmanager
def working(what: str):
    """Show on a terminal what is going on, and for how long, until it is done."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what, total=None)
        yield


@contextmanager
def counting(what: str, total: int):
    """Yields a function to call after each of `total` pieces of work; on a terminal it moves a bar."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(bar_width=30), TimeRemainingColumn(), TextColumn("left")
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.update(task, advance=1)


@contextmanager
def portioned(what: str):
    """Yields a function to call with what is being done and the share of it that is done; on a terminal, a bar."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda doing, share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(bar_width=30), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda doing, share: progress.update(task, description=doing, completed=share)


def read_meshes(paths: list[Path]) -> list:
    """Read several meshes, each named by its file: by the path where two have one name, numbered where two are one."""
    from unsnarl.io import read_mesh

    meshes = []
    for path, name in zip(paths, names_of(paths)):
        with working(f"reading {path}"):
            meshes.append(read_mesh(path).named(name))
    return meshes


def names_of(paths: list[Path]) -> list[str]:
    """What messages and reports call meshes that are read from files: see `read_meshes`."""
    names = []
    for k, path in enumerate(paths):
        once = sum(other.name == path.name for other in paths) == 1
        again = paths[:k].count(path)
        names.append((path.name if once else str(path)) + (f" ({again + 1})" if again else ""))
    return names


def refuse_to_replace(target: Path | None, suffix: str, others: list[Path | None]) -> None:
    """Raise `BadInput` where a report would destroy something else: an input, another report, a file of another kind.

    A report of the same kind is replaced.
    """
    if target is None or str(target) == "-":
        return
    if any(path is not None and target.resolve() == path.resolve() for path in others):
        raise BadInput(f"{target}: is named twice; an input or another report will not be written over")
    if target.is_dir():
        raise BadInput(f"{target}: cannot be written: it is a folder")
    if target.is_file() and target.suffix.lower() != suffix:
        raise BadInput(f"{target}: exists and is not a {suffix} file; it will not be written over")
    if not target.resolve().parent.is_dir():
        raise BadInput(f"{target}: cannot be written: there is no folder {target.parent}")


def write_json(target: Path, content: dict) -> None:
    """Write a report, whole or not at all; `-` is standard output."""
    from unsnarl.io.whole import whole_file

    text = json.dumps(content, indent=1)
    if str(target) == "-":
        sys.stdout.write(text + "\n")
        return
    if target.exists() and not target.is_file():  # a device, such as /dev/null
        target.write_text(text + "\n", encoding="utf-8")
        return
    with whole_file(target) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
