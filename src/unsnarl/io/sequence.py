"""Motion as numbered files: cloth_0000.obj, cloth_0001.obj, ...

A pattern has one run of two or more # (a digit each), or one %d, %04d, in the file name. Numbers ascend in
even steps; a gap is an error, because time would jump there. All files must have the same polygons: their
positions may lead to other cuts into triangles, and the cuts of the first file are used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.corners import same_polygons
from unsnarl.io.frames import Frames
from unsnarl.mesh import TriMesh

_PLACE = re.compile(r"##+|%(0\d)?d")


def is_pattern(path: Path) -> bool:
    """Has the file name one place for a number?"""
    return len(_PLACE.findall(path.name)) == 1


def is_numbered(path: Path) -> bool:
    """A pattern, and not a file whose name happens to look like one."""
    return is_pattern(path) and not path.is_file()


def files(path: Path) -> list[Path]:
    """The numbered files of a pattern or a folder, by ascending number; at least one."""
    return _in_folder(path) if path.is_dir() else _of_pattern(path)


def read_frames(found: list[Path], read_mesh: Callable[[Path], TriMesh]) -> Frames:
    """A frame from each file; the connectivity, and all else that does not move, is that of the first."""
    first = read_mesh(found[0])
    x = np.empty((len(found), *first.x.shape))
    x[0] = first.x
    for k, file in enumerate(found[1:], start=1):
        mesh = read_mesh(file)
        if not same_polygons(first, mesh):
            raise BadInput(f"{file}: has other vertices or faces than {found[0].name}")
        x[k] = mesh.x
    return Frames(first, x)


def files_to_write(path: Path, count: int, first: int = 0) -> list[Path]:
    """A file for each frame, numbered from `first`; a name without a pattern gets _#### before its extension."""
    if not is_pattern(path):
        path = path.with_name(f"{path.stem}_####{path.suffix}")
    further = [number for number in _numbers(path) if not first <= number < first + count]
    if further:
        there = _name(path, further[0])
        raise BadInput(f"{there} is there already and would be taken for one more frame; remove it first")
    return [path.with_name(_name(path, k)) for k in range(first, first + count)]


def with_name_inside(path: Path, name: str) -> Path:
    """`path` with one more name in it: out.usd -> out_NAME.usd, out_####.obj -> out_NAME_####.obj."""
    place = _PLACE.search(path.name) if is_pattern(path) else None
    at = len(path.stem) if place is None else place.start()
    before, after = path.name[:at], path.name[at:]
    gap = "" if not before or before[-1] in "_-. " else "_"
    return path.with_name(f"{before}{gap}{name}{'' if place is None else '_'}{after}")


def _name(path: Path, number: int) -> str:
    """The file name of a pattern with the number in its place."""
    place = _PLACE.search(path.name)
    mark = place.group()
    width = len(mark) if mark[0] == "#" else int(mark[1:-1] or 0)
    return f"{path.name[: place.start()]}{number:0{width}d}{path.name[place.end() :]}"


def _numbers(path: Path) -> list[int]:
    """The numbers, ascending, that a pattern has files for."""
    place = _PLACE.search(path.name)
    name = re.compile(re.escape(path.name[: place.start()]) + r"(\d{1,15})" + re.escape(path.name[place.end() :]))
    found = [name.fullmatch(file.name) for file in path.parent.iterdir()] if path.parent.is_dir() else []
    numbers = {int(f[1]) for f in found if f and _name(path, int(f[1])) == f[0]}
    return sorted(numbers)


def _of_pattern(path: Path) -> list[Path]:
    numbers = _numbers(path)
    if not numbers:
        raise BadInput("there are no files with this pattern")
    _check_steps(numbers)
    return [path.with_name(_name(path, number)) for number in numbers]


def _in_folder(folder: Path) -> list[Path]:
    """The one numbered sequence in a folder: files that differ only in the last number of their names."""
    from unsnarl.io import EXTENSIONS

    sequences: dict[tuple[str, str], dict[int, Path]] = {}
    for file in sorted(folder.iterdir()):
        found = re.fullmatch(r"(.*?)(\d{1,15})(\D*)", file.stem, re.ASCII)
        if found and file.suffix.lower() in EXTENSIONS and not file.name.startswith(".") and file.is_file():
            numbered = sequences.setdefault((found[1], found[3] + file.suffix), {})
            if int(found[2]) in numbered:
                raise BadInput(f"{numbered[int(found[2])].name} and {file.name} have the same number")
            numbered[int(found[2])] = file
    if len(sequences) != 1:
        names = ", ".join(f"{before}#{after}" for before, after in list(sequences)[:5]) or "none"
        raise BadInput(f"expected one sequence of numbered mesh files in this folder, found {names}")
    numbered = next(iter(sequences.values()))
    _check_steps(sorted(numbered))
    return [numbered[number] for number in sorted(numbered)]


def _check_steps(numbers: list[int]) -> None:
    """Ascending numbers must be evenly spaced, as closely as the two nearest are."""
    steps = np.diff(numbers)
    if len(steps) and steps.max() != steps.min():
        at = int(np.argmax(steps > steps.min()))
        raise BadInput(f"number {numbers[at] + steps.min()} is missing")
