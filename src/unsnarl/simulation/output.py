"""Where the frames of a simulation go: which files, whether they can be written, and writing them.

drape.usd         one stage with all cloths (.usd .usda .usdc .usdz)
drape.npz         one file; with several cloths one for each: drape_SHIRT.npz (.pc2, .glb and .gltf too)
drape_####.obj    numbered files; with several cloths drape_SHIRT_####.obj (.ply and all others too)
drape/            a folder for numbered OBJ files: drape/SHIRT_####.obj
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io import EXTENSIONS, Frames, format_of, frame_files, sequence, write_frames
from unsnarl.mesh import TriMesh
from unsnarl.simulation.scene import Scene

_USD = (".usd", ".usda", ".usdc", ".usdz")


@dataclass(frozen=True, eq=False)
class Part:
    """A file or a pattern of files, the mesh that is written there, and the cloths that it is made of, by number."""

    path: Path
    mesh: TriMesh
    cloths: tuple[int, ...]


class Output:
    """The files for frames first to first + count - 1 of a scene.

    path  : what `-o` says
    parts : what is written where
    files : every file that will be there, but for the meshes beside point caches
    """

    def __init__(self, path: str | Path, scene: Scene, first: int, count: int):
        self.scene, self.first, self.count = scene, first, count
        is_folder = str(path).endswith(("/", os.sep)) or os.path.isdir(path)
        self.path = Path(path)
        if os.path.islink(path) or self.path.name in ("", ".."):
            self.path = self.path.resolve()
        self.folder = self.path if is_folder else self.path.parent
        if not is_folder and self.path.suffix.lower() not in EXTENSIONS:
            what = f"the format {self.path.suffix!r} is unknown" if self.path.suffix else "it has no extension"
            raise BadInput(f"{path}: {what}; known are {' '.join(EXTENSIONS)}, or a folder: {path}/")
        if not self.path.name:
            raise BadInput(f"{path}: cannot be written there; name a folder in it")
        if is_folder and self.path.exists() and not self.path.is_dir():
            raise BadInput(f"{path}: is a file, not a folder")
        if not self.path.parent.is_dir():
            raise BadInput(f"{path}: cannot be written: there is no folder {self.path.parent}")
        if self.folder.is_dir() and not os.access(self.folder, os.W_OK | os.X_OK):
            raise BadInput(f"{path}: cannot be written: no permission to write in {self.folder}")
        self.parts = self._parts(is_folder)
        self.files = [file for part in self.parts for file in frame_files(part.path, count, first)]
        most = getattr(format_of(self.parts[0].path), "MOST_TARGETS", count)
        if count > most:
            raise BadInput(f"{path}: glTF takes {most} frames at most, not {count}: use USD, PC2 or npz")

    def _parts(self, is_folder: bool) -> list[Part]:
        cloths = self.scene.cloths
        if not is_folder and self.path.suffix.lower() in _USD:
            from unsnarl.io.usd_together import together

            meshes = [cloth.mesh for cloth in cloths]
            mesh = together(meshes, name=self.scene.name, up=self.scene.up, start=float(self.first))
            return [Part(self.path, mesh, tuple(range(len(cloths))))]
        names = _file_names([cloth.mesh.name for cloth in cloths])
        if is_folder:
            paths = [self.folder / f"{name}_####.obj" for name in names]
        elif len(cloths) == 1:
            paths = [self.path]
        else:
            paths = [sequence.with_name_inside(self.path, name) for name in names]
        return [Part(path, cloth.mesh, (k,)) for k, (path, cloth) in enumerate(zip(paths, cloths))]

    def refuse_inputs(self, inputs: tuple[Path, ...]) -> None:
        """What the scene is read from is never written over."""
        taken = set()
        for path in inputs:
            numbered = path.is_dir() or sequence.is_numbered(path)
            taken |= {file.resolve() for file in (sequence.files(path) if numbered else [path])}
        for file in self.files:
            if file.resolve() in taken:
                raise BadInput(f"{file}: is an input of the scene and will not be written over")

    def refuse_existing(self) -> None:
        for file in self.files:
            if os.path.exists(file):
                raise BadInput(f"{file}: exists already; --overwrite replaces it")

    def refuse_impossible(self, trial: Path) -> None:
        """Write the start of the scene into the folder `trial`, and remove it: better now than after the last frame."""
        for part in self.parts:
            module = format_of(part.path)
            if hasattr(module, "mesh_to_write_beside"):
                try:
                    module.mesh_to_write_beside(part.path, part.mesh)
                except BadInput as error:
                    raise BadInput(f"{part.path}: {error}") from None
        try:
            self._write(trial, [cloth.mesh.x[None] for cloth in self.scene.cloths])
        finally:
            shutil.rmtree(trial, ignore_errors=True)

    def write(self, folder: Path, x: list[np.ndarray]) -> list[Path]:
        """Write all files into a folder beside the output, so that they can be put in place all at once.

        x : (count, n, 3) positions of each cloth [m]. Returns the files there.
        """
        shutil.rmtree(folder, ignore_errors=True)
        self._write(folder, x)
        return sorted(folder.iterdir())

    def _write(self, folder: Path, x: list[np.ndarray]) -> None:
        folder.mkdir(exist_ok=True)
        for part in self.parts:
            own = [x[k] for k in part.cloths]
            frames = Frames(part.mesh, own[0] if len(own) == 1 else np.concatenate(own, axis=1), self.scene.fps)
            try:
                write_frames(folder / part.path.name, frames, first=self.first)
            except BadInput as error:
                raise BadInput(str(error).replace(str(folder), str(part.path.parent))) from None

    def place(self, made: list[Path]) -> list[Path]:
        """Put files from `write` where they belong; returns where they are now."""
        try:
            self.folder.mkdir(exist_ok=True)
            kept = {self._mesh_beside(part) for part in self.parts}
            placed = []
            for file in made:
                target = self.folder / file.name
                if target in kept:
                    continue
                os.replace(file, target)
                placed.append(target)
        except OSError as error:
            raise BadInput(f"{self.path}: cannot be written: {error.strerror or error}") from error
        return placed

    def _mesh_beside(self, part: Part) -> Path | None:
        """The mesh that a new one beside a point cache is not needed for: a fitting one is there."""
        module = format_of(part.path)
        if not hasattr(module, "mesh_to_write_beside") or module.mesh_to_write_beside(part.path, part.mesh) is not None:
            return None
        return part.path.with_suffix(".obj")


def _file_names(names: list[str]) -> list[str]:
    """Names that any file system takes, all different."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^\w.-]+", "_", name).strip("._-") or "cloth"
        number = 1
        unique = plain
        while unique.lower() in (other.lower() for other in found):
            number += 1
            unique = f"{plain}_{number}"
        found.append(unique)
    return found
