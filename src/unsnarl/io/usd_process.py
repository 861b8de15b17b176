"""What is in a USD stage, told by a process of its own. `usd.py` runs this file; nothing imports it.

A damaged file can crash usd-core, or make it ask for any amount of memory; here that ends this process and no
other. It needs Python and usd-core only, so that it starts quickly:

    python usd_process.py STAGE ARRAYS ANSWER rest|frames

ARRAYS gets the bytes of all arrays, one after the other. ANSWER gets one JSON object, where an array is given
as [first byte, format character, shape]; {"error": line} says what is wrong with the stage, {"missing": line}
that there is no usd-core. The poses of a mesh are its points in its own space and the matrix that takes them
to the world (for row vectors: p M): first those at rest, then, if asked for, one pair for each frame.
"""

import json
import os
import re
import sys

MOST_FRAMES = 100_000  # more than an hour at 24 frames per second
TEXTURE_NAMES = ("st", "uv", "map1")
TEXTURE_TYPES = ("texCoord2f[]", "texCoord2d[]", "texCoord2h[]")


class Refused(Exception):
    """The stage cannot be used; the message says why."""


def main(stage_file: str, arrays_file: str, answer_file: str, what: str) -> None:
    with open(arrays_file, "wb") as arrays:

        def put(array):
            bytes_of = memoryview(array)
            place = [arrays.tell(), bytes_of.format, list(bytes_of.shape)]
            arrays.write(bytes_of)
            return place

        memory = limit_memory()
        try:
            stage = Usd.Stage.Open(stage_file)
            refuse_incomplete(stage)
            answer = describe(stage, put, what == "frames", memory)
        except Refused as error:
            answer = {"error": str(error)}
        except Exception as error:  # whatever usd-core or its Python side makes of a damaged stage
            line = re.search(r":(\d+):\d+: parse error", str(error))
            answer = {"error": "cannot be read as USD" + (f": it makes no sense in line {line[1]}" if line else "")}
    with open(answer_file, "w", encoding="utf-8") as out:
        json.dump(answer, out)


def refuse_incomplete(stage) -> None:
    """A layer or reference that is not there would be left out without a word."""
    for error in stage.GetCompositionErrors():
        named = re.search(r"@([^@]+)@", str(error))
        raise Refused(f"refers to something that is not there: {named[1] if named else str(error)[:120]}")


def limit_memory() -> int:
    """Give this process half of the machine's memory, where the platform can; returns how much [bytes].

    What is limited are addresses, of which usd-core and its threads take some without ever using them.
    """
    try:
        import resource

        half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = half + (2 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))
    except (ImportError, AttributeError, ValueError, OSError):
        return 8 << 30
    return half


def describe(stage, put, with_frames: bool, memory: int) -> dict:
    codes = authored_codes(stage)
    skinned = bake_skeletons(stage, codes, with_frames)
    meshes = [prim for prim in prims_of(stage) if prim.IsA(UsdGeom.Mesh) and not is_guide(prim)]
    timed = {a.GetPath(): a for prim in meshes for a in attributes_that_place(prim)}.values()
    timed = [(a, a.GetTimeSamples()) for a in timed if a.GetNumTimeSamples() > 0]
    moving = set().union(*(times for _, times in timed if len(times) > 1))
    codes = (codes or sorted(moving)) if moving else []

    rest = Usd.TimeCode.Default()
    if skinned or any(a.Get() is None for a, _ in timed):
        rest = Usd.TimeCode(codes[0]) if codes else Usd.TimeCode.EarliestTime()
    poses = [rest]
    if with_frames:
        points = sum(len(points_at(prim, rest)) for prim in meshes)
        if len(codes) > MOST_FRAMES or 36 * points * len(codes) > memory:
            raise Refused(f"{len(codes)} frames of {points} points are too many")
        poses += [Usd.TimeCode(code) for code in codes] or [rest]

    said = [about(prim, rest, put) for prim in meshes]
    for pose in poses:
        place = UsdGeom.XformCache(pose)
        for prim, mesh in zip(meshes, said):
            still = mesh["points"] and UsdGeom.Mesh(prim).GetPointsAttr().GetNumTimeSamples() == 0
            mesh["points"].append(mesh["points"][0] if still else put(points_at(prim, pose)))
            mesh["matrices"].append(put(place.GetLocalToWorldTransform(prim)))
    materials = {path for mesh in said for path in mesh["materials"].values()}
    return {
        "up": str(UsdGeom.GetStageUpAxis(stage)),
        "metres": UsdGeom.GetStageMetersPerUnit(stage),
        "fps": stage.GetTimeCodesPerSecond(),
        "start": codes[0] if codes else 0.0,
        "meshes": said,
        "looks": looks(stage, sorted(materials)) if materials else "",
    }


def authored_codes(stage) -> list[float]:
    """The frames of the stage's own time range; none if it gives none, or one that cannot be meant."""
    start, end = stage.GetStartTimeCode(), stage.GetEndTimeCode()
    if not stage.HasAuthoredTimeCodeRange() or not 0 <= end - start < MOST_FRAMES:
        return []
    return [start + k for k in range(int(end - start + 1e-6) + 1)]


def bake_skeletons(stage, codes: list[float], with_frames: bool) -> bool:
    """Skin what has a skeleton, in the session layer, which is never saved. Was there any?"""
    if not any(prim.IsA(UsdSkel.Root) for prim in prims_of(stage)):
        return False
    if stage.HasAuthoredTimeCodeRange() and not codes:
        raise Refused(f"its time range, {stage.GetStartTimeCode():g} to {stage.GetEndTimeCode():g}, has no frames")
    stage.SetEditTarget(stage.GetSessionLayer())
    while instances := [prim for prim in stage.Traverse() if prim.IsInstance()]:
        for prim in instances:  # nothing can be written into instances
            prim.SetInstanceable(False)
    span = Gf.Interval.GetFullInterval() if with_frames or not codes else Gf.Interval(codes[0])
    for prim in stage.Traverse():
        if prim.IsA(UsdSkel.Root) and not UsdSkel.BakeSkinning(UsdSkel.Root(prim), span):
            raise Refused(f"the skeleton of {prim.GetPath()} cannot be evaluated")
    return True


def prims_of(stage):
    return Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies())


def is_guide(prim) -> bool:
    return UsdGeom.Imageable(prim).ComputePurpose() == UsdGeom.Tokens.guide


def attributes_that_place(prim):
    """The attributes that the positions of a mesh in the world depend on."""
    yield UsdGeom.Mesh(prim).GetPointsAttr()
    while prim:
        if prim.IsA(UsdGeom.Xformable):
            for operation in UsdGeom.Xformable(prim).GetOrderedXformOps():
                yield operation.GetAttr()
        prim = prim.GetParent()


def value(attribute, time):
    """The value at a time; that of the earliest sample where there is none at the default time."""
    found = attribute.Get(time)
    return attribute.Get(Usd.TimeCode.EarliestTime()) if found is None else found


def points_at(prim, time):
    found = value(UsdGeom.Mesh(prim).GetPointsAttr(), time)
    return Vt.Vec3fArray() if found is None else found


def about(prim, rest, put) -> dict:
    """Everything but the poses of one mesh."""
    mesh = UsdGeom.Mesh(prim)
    topology = []
    for attribute in (mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr()):
        array = value(attribute, rest)
        if any(attribute.Get(t) != array for t in attribute.GetTimeSamples()):
            raise Refused(f"{prim.GetPath()} changes its faces over time")
        topology.append(put(Vt.IntArray() if array is None else array))
    subsets = [s for s in UsdGeom.Subset.GetAllGeomSubsets(mesh) if s.GetElementTypeAttr().Get() == "face"]
    bound = {s.GetPrim(): UsdShade.MaterialBindingAPI(s).GetDirectBinding().GetMaterialPath() for s in subsets}
    material = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]
    bound[prim] = material.GetPath() if material else ""
    return {
        "path": str(prim.GetPath()),
        "counts": topology[0],
        "indices": topology[1],
        "left_handed": value(mesh.GetOrientationAttr(), rest) == UsdGeom.Tokens.leftHanded,
        "uv": texture_coordinates(prim, rest, put),
        "subsets": {str(s.GetPath()): put(value(s.GetIndicesAttr(), rest) or Vt.IntArray()) for s in subsets},
        "materials": {str(owner.GetPath()): str(path) for owner, path in bound.items() if path},
        "points": [],
        "matrices": [],
    }


def texture_coordinates(prim, rest, put) -> dict | None:
    primvars = [p for p in UsdGeom.PrimvarsAPI(prim).GetPrimvarsWithValues() if has_two_numbers(p)]
    named = {p.GetPrimvarName(): p for p in primvars}
    typed = [p for p in primvars if p.GetTypeName() in TEXTURE_TYPES]
    chosen = next((named[name] for name in TEXTURE_NAMES if name in named), typed[0] if typed else None)
    if chosen is None:
        return None
    indices = value(chosen.GetIndicesAttr(), rest) if chosen.IsIndexed() else None
    return {
        "values": put(value(chosen, rest)),
        "indices": None if indices is None else put(indices),
        "interpolation": str(chosen.GetInterpolation()),
        "none": chosen.GetUnauthoredValuesIndex(),
    }


def has_two_numbers(primvar) -> bool:
    return str(primvar.GetTypeName()).rstrip("fdh[]").endswith("2") and primvar.GetTypeName().isArray


def looks(stage, materials: list[str]) -> str:
    """The materials by themselves, at their own paths, as the text of a layer."""
    mask = Usd.StagePopulationMask(materials)
    flat = Usd.Stage.OpenMasked(stage.GetRootLayer(), mask, Usd.Stage.LoadAll).Flatten()
    layer = Sdf.Layer.CreateAnonymous(".usda")
    for path in materials:
        if flat.GetPrimAtPath(path):
            parent = Sdf.CreatePrimInLayer(layer, path).nameParent
            Sdf.CopySpec(flat, path, layer, path)
            while parent and parent.path != Sdf.Path.absoluteRootPath:
                parent.specifier = Sdf.SpecifierDef
                parent = parent.nameParent
    return layer.ExportToString()


try:
    from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, UsdSkel, Vt
except ImportError as missing:
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        json.dump({"missing": str(missing)}, out)
else:
    main(*sys.argv[1:])
