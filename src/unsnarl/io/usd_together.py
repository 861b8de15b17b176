"""Several meshes in one USD stage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unsnarl.errors import need
from unsnarl.io.corners import face_polygon, polygon_corners
from unsnarl.io.usd import UsdSource, source_of
from unsnarl.mesh import Polygons, TriMesh


def together(meshes: list[TriMesh], *, name: str, up: str = "y", start: float = 0.0) -> TriMesh:
    """The meshes as one mesh that the USD writer makes one stage of; their vertices follow each other.

    Each is a prim called like the mesh, below one called `name`; what came from USD keeps its prims, below that. A
    mesh that is alone stays where it was.
    up    : the stage's up axis; USD knows y and z, for x it says y
    start : time code of the first frame
    """
    need("pxr.Usd", "writing USD", "formats")
    from pxr import Tf

    root, used, parts = Tf.MakeValidIdentifier(name), set(), []
    for mesh in meshes:
        own = Tf.MakeValidIdentifier(mesh.name)
        while own in used:
            own += "_"
        used.add(own)
        alone = f"/{own}" if len(meshes) == 1 else f"/{root}/{own}"
        source = source_of(mesh, alone)
        moves = source is mesh.source and len(meshes) > 1
        parts.append(_below(alone, mesh, source) if moves else (mesh, source))
    source = UsdSource(
        tuple(prim for _, source in parts for prim in source.prims),
        "Z" if up == "z" else "Y",
        start,
        {owner: path for _, source in parts for owner, path in source.materials.items()},
        _merged([source.looks for _, source in parts if source.looks]),
    )
    if len(parts) == 1:
        return replace(parts[0][0], source=source)
    return _one([mesh for mesh, _ in parts], name, source)


def _below(root: str, mesh: TriMesh, source: UsdSource) -> tuple[TriMesh, UsdSource]:
    """A mesh from USD with all its paths below `root`."""
    from pxr import Sdf

    paths = {prim.path for prim in source.prims}

    def is_path(name: str) -> bool:
        return name in paths or (Sdf.Path.IsValidPathString(name) and str(Sdf.Path(name).GetParentPath()) in paths)

    looks = ""
    if source.looks:
        old, new = Sdf.Layer.CreateAnonymous(".usda"), Sdf.Layer.CreateAnonymous(".usda")
        old.ImportFromString(source.looks)
        for path in sorted(set(source.materials.values())):
            if old.GetPrimAtPath(path):
                parent = Sdf.CreatePrimInLayer(new, root + path).nameParent
                Sdf.CopySpec(old, path, new, root + path)
                while parent and parent.path != Sdf.Path.absoluteRootPath:
                    parent.specifier = Sdf.SpecifierDef
                    parent = parent.nameParent
        looks = new.ExportToString()
    moved = UsdSource(
        tuple(replace(prim, path=root + prim.path) for prim in source.prims),
        source.up_axis,
        source.start,
        {root + owner: root + path for owner, path in source.materials.items()},
        looks,
    )
    groups = {root + name if is_path(name) else name: faces for name, faces in mesh.groups.items()}
    return replace(mesh, groups=groups), moved


def _merged(looks: list[str]) -> str:
    """The text of one layer with everything that is in several, all at different paths."""
    from pxr import Sdf

    if len(looks) < 2:
        return looks[0] if looks else ""
    whole = Sdf.Layer.CreateAnonymous(".usda")
    for text in looks:
        layer = Sdf.Layer.CreateAnonymous(".usda")
        layer.ImportFromString(text)
        for prim in layer.rootPrims:  # the root that all share: what is below it differs
            if not whole.GetPrimAtPath(prim.path):
                Sdf.CreatePrimInLayer(whole, prim.path).specifier = Sdf.SpecifierDef
            for child in prim.nameChildren:
                Sdf.CopySpec(layer, child.path, whole, child.path)
    return whole.ExportToString()


def _one(meshes: list[TriMesh], name: str, source: UsdSource) -> TriMesh:
    """All as one mesh, with uv, polygons and groups."""
    vertex = np.cumsum([0] + [len(m.x) for m in meshes])
    face = np.cumsum([0] + [len(m.faces) for m in meshes])
    rows = np.cumsum([0] + [0 if m.uv is None else len(m.uv) for m in meshes])
    corners = [polygon_corners(m) for m in meshes]
    corner = np.cumsum([0] + [len(c[1]) for c in corners])
    polygon = np.cumsum([0] + [len(c[0]) - 1 for c in corners])
    uv = face_uv = polygons = None
    if rows[-1]:
        uv = np.concatenate([m.uv for m in meshes if m.uv is not None])
        face_uv = np.concatenate(
            [
                np.full((len(m.faces), 3), -1) if m.uv is None else np.where(m.face_uv < 0, -1, m.face_uv + at)
                for m, at in zip(meshes, rows)
            ]
        )
    if any(m.polygons is not None for m in meshes):
        face_corner = [
            np.arange(3 * len(m.faces)).reshape(-1, 3) if m.polygons is None else m.polygons.face_corner for m in meshes
        ]
        polygons = Polygons(
            np.concatenate([[0], *(c[0][1:] + at for c, at in zip(corners, corner))]).astype(np.int32),
            np.concatenate([c[1] + at for c, at in zip(corners, vertex)]).astype(np.int32),
            np.concatenate([c + at for c, at in zip(face_corner, corner)]).astype(np.int32),
            np.concatenate([face_polygon(m) + at for m, at in zip(meshes, polygon)]).astype(np.int32),
        )
    groups: dict[str, np.ndarray] = {}
    for m, at in zip(meshes, face):
        for key, faces in m.groups.items():
            groups[key] = np.concatenate([groups.get(key, np.empty(0, dtype=np.int32)), np.asarray(faces) + at])
    return TriMesh(
        np.concatenate([m.x for m in meshes]),
        np.concatenate([m.faces + at for m, at in zip(meshes, vertex)]),
        name=name,
        uv=uv,
        face_uv=face_uv,
        rest=np.concatenate([m.rest for m in meshes]),
        groups=groups,
        polygons=polygons,
        source=source,
    )
