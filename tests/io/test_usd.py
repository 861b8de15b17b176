"""USD: read is what usd-core computes, what is written comes back, and of damage one clear line is said."""

import math
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.io.polygon_meshes import (
    assert_same,
    assert_same_polygons,
    bits,
    corner_uv,
    polygon_mesh,
    polygon_meshes,
    single_numbers,
)
from unsnarl.errors import BadInput
from unsnarl.io import read_frames, read_mesh, usd, write_frames, write_mesh
from unsnarl.io.frames import Frames
from unsnarl.mesh import TriMesh

pytest.importorskip("pxr")
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, UsdSkel, Vt

SQUARE = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (2, 0, 0), (2, 1, 0.5)]
COUNTS, CORNERS = [4, 3, 3], [0, 1, 2, 3, 1, 4, 2, 4, 5, 2]


def define(stage, path, points=SQUARE, counts=COUNTS, corners=CORNERS):
    mesh = UsdGeom.Mesh.Define(stage, path)
    if points is not None:
        mesh.CreatePointsAttr(points)
    mesh.CreateFaceVertexCountsAttr(counts)
    mesh.CreateFaceVertexIndicesAttr(corners)
    return mesh


def new_stage(path, metres=1.0):
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, metres)
    return stage


def one_line(error) -> str:
    text = str(error.value)
    assert "\n" not in text and text.strip()
    return text


# --- reading ---


def animated_stage(path, time_range=True):
    """Z up, in centimetres: points, a transform and its parent's move, each with samples at other times."""
    stage = new_stage(path, 0.01)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    stage.SetTimeCodesPerSecond(30)
    if time_range:
        stage.SetStartTimeCode(1)
        stage.SetEndTimeCode(7)
    above = UsdGeom.Xform.Define(stage, "/world/above")
    turn = above.AddRotateZOp()
    for time, angle in ((1, 0.0), (5, 80.0)):
        turn.Set(angle, time)
    above.AddScaleOp().Set((1, -2, 0.5))
    cloth = define(stage, "/world/above/cloth", None)
    shift = cloth.AddTranslateOp()
    for time in (2, 4, 7):
        shift.Set((time * 10.0, 3.0, -time), time)
    for time in (1, 3, 7):
        points = [(x + 0.1 * time, y * time, z + math.sin(time)) for x, y, z in SQUARE]
        cloth.GetPointsAttr().Set(Vt.Vec3fArray([Gf.Vec3f(*p) for p in points]), time)
    define(stage, "/world/still").AddTranslateOp().Set((0, 0, 100))
    stage.Save()
    return stage


def computed(stage, time):
    """Positions in metres, point by point, by usd-core."""
    transforms = UsdGeom.XformCache(time)
    x = []
    for prim in stage.Traverse():
        if prim.IsA(UsdGeom.Mesh):
            matrix = transforms.GetLocalToWorldTransform(prim)
            for point in UsdGeom.Mesh(prim).GetPointsAttr().Get(time):
                x.append([c * UsdGeom.GetStageMetersPerUnit(stage) for c in matrix.Transform(Gf.Vec3d(point))])
    return np.array(x)


def test_animated_points_and_transforms_are_those_of_usd_core(tmp_path):
    stage = animated_stage(tmp_path / "a.usda")
    frames = read_frames(tmp_path / "a.usda")
    assert frames.x.shape == (7, 12, 3) and frames.fps == 30
    for k in range(7):
        np.testing.assert_allclose(frames.x[k], computed(stage, 1 + k), rtol=1e-12, atol=1e-14)
    assert np.abs(frames.x[3, :6] - frames.x[2, :6]).max() > 0.01
    assert bits(frames.x[0, 6:]) == bits(frames.x[6, 6:])
    assert frames.mesh.source.up_axis == "Z"
    assert bits(read_mesh(tmp_path / "a.usda").x) == bits(frames.x[0])  # nothing has a value at the default time


@pytest.mark.parametrize("end", [None, 1e300, -5])
def test_without_a_sensible_time_range_the_frames_are_the_samples(tmp_path, end):
    stage = animated_stage(tmp_path / "a.usdc", time_range=False)
    if end is not None:
        stage.SetStartTimeCode(0)
        stage.SetEndTimeCode(end)
        stage.Save()
    frames = read_frames(tmp_path / "a.usdc")
    times = [1, 2, 3, 4, 5, 7]
    assert len(frames) == len(times)
    for x, time in zip(frames.x, times):
        np.testing.assert_allclose(x, computed(stage, time), rtol=1e-12, atol=1e-14)


def test_a_still_stage_has_one_frame_even_with_a_time_range(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(100)
    define(stage, "/m").AddTranslateOp().Set((0, 1, 0), 12)
    stage.Save()
    frames = read_frames(tmp_path / "a.usda")
    assert len(frames) == 1
    np.testing.assert_array_equal(frames.x[0], np.array(SQUARE) + [0, 1, 0])


def test_the_rest_pose_is_the_value_at_the_default_time(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    mesh = define(stage, "/m")
    for time in (0, 1):
        mesh.GetPointsAttr().Set(Vt.Vec3fArray([Gf.Vec3f(*p) + Gf.Vec3f(5 + time) for p in SQUARE]), time)
    stage.Save()
    frames = read_frames(tmp_path / "a.usda")
    np.testing.assert_array_equal(frames.mesh.x, np.array(SQUARE))
    np.testing.assert_array_equal(frames.x, np.array(SQUARE) + np.array([5, 6])[:, None, None])


def skinned_stage(path):
    """A strip along z; its upper half turns about y at height 1, by 0, 45, 90 degrees at times 1, 5, 9."""
    stage = new_stage(path)
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(9)
    root = UsdSkel.Root.Define(stage, "/figure")
    root.AddTranslateOp().Set((10, 0, 0))
    skeleton = UsdSkel.Skeleton.Define(stage, "/figure/bones")
    at = [Gf.Matrix4d(1), Gf.Matrix4d(1).SetTranslate((0, 0, 1))]
    skeleton.CreateJointsAttr(["a", "a/b"])
    skeleton.CreateBindTransformsAttr(at)
    skeleton.CreateRestTransformsAttr(at)
    motion = UsdSkel.Animation.Define(stage, "/figure/motion")
    motion.CreateJointsAttr(["a", "a/b"])
    motion.CreateTranslationsAttr([(0, 0, 0), (0, 0, 1)])
    motion.CreateScalesAttr([Gf.Vec3h(1, 1, 1)] * 2)
    turns = motion.CreateRotationsAttr()
    for time, angle in ((1, 0), (5, 45), (9, 90)):
        half = math.radians(angle / 2)
        turns.Set(Vt.QuatfArray([Gf.Quatf(1), Gf.Quatf(math.cos(half), 0, math.sin(half), 0)]), time)
    mesh = define(stage, "/figure/strip", [(0, 0, 0), (1, 0, 0), (1, 0, 2), (0, 0, 2)], [4], [0, 1, 2, 3])
    mesh.AddTranslateOp().Set((0, 5, 0))
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets(["/figure/bones"])
    binding.CreateJointIndicesPrimvar(False, 1).Set([0, 0, 1, 1])
    binding.CreateJointWeightsPrimvar(False, 1).Set([1.0, 1.0, 1.0, 1.0])
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets(["/figure/motion"])
    UsdSkel.BindingAPI.Apply(root.GetPrim())
    stage.Save()


@pytest.mark.parametrize("copies", [0, 2])
def test_skeletons_move_their_meshes_also_in_instances(tmp_path, copies):
    path = tmp_path / "figure.usda"
    skinned_stage(path)
    as_made = path.read_bytes()
    if copies:
        stage = new_stage(tmp_path / "crowd.usda")
        stage.SetStartTimeCode(1)
        stage.SetEndTimeCode(9)
        for i in range(copies):
            prim = stage.DefinePrim(f"/figure{i}")
            prim.GetReferences().AddReference("./figure.usda", "/figure")
            prim.SetInstanceable(True)
        stage.Save()
    frames = read_frames(tmp_path / "crowd.usda" if copies else path)
    assert frames.x.shape == (9, 4 * max(copies, 1), 3)
    for k in range(9):
        a = math.radians(90 * k / 8)
        turned = [[x * math.cos(a) + math.sin(a), 0, 1 - x * math.sin(a) + math.cos(a)] for x in (1, 0)]
        hand = np.array([[0, 0, 0], [1, 0, 0], *turned]) + [10, 0, 0]
        np.testing.assert_allclose(frames.x[k], np.tile(hand, (max(copies, 1), 1)), atol=1e-5)
    assert bits(frames.mesh.x) == bits(frames.x[0])
    assert path.read_bytes() == as_made


def test_which_prims_are_read(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    stage.CreateClassPrim("/_pattern")
    define(stage, "/_pattern/mesh")
    define(stage, "/b_first")
    define(stage, "/guide").CreatePurposeAttr(UsdGeom.Tokens.guide)
    define(stage, "/off").GetPrim().SetActive(False)
    for i in range(2):
        copy = UsdGeom.Xform.Define(stage, f"/copy{i}")
        copy.AddTranslateOp().Set((0, 0, 10 * (i + 1)))
        copy.GetPrim().GetReferences().AddInternalReference("/_pattern")
        copy.GetPrim().SetInstanceable(True)
    define(stage, "/a_last")
    stage.Save()
    mesh = read_mesh(tmp_path / "a.usda")
    paths = ["/b_first", "/copy0/mesh", "/copy1/mesh", "/a_last"]
    assert list(mesh.groups) == paths and [p.path for p in mesh.source.prims] == paths
    assert mesh.x[::6, 2].tolist() == [0, 10, 20, 0]
    assert mesh.groups["/copy0/mesh"].tolist() == [4, 5, 6, 7]
    write_mesh(tmp_path / "b.usdc", mesh)
    assert_same(read_mesh(tmp_path / "b.usdc"), mesh.named("b"))


def corner_values(interpolation, values):
    """The uv at each polygon corner, by a loop."""
    found, corner = [], 0
    for polygon, count in enumerate(COUNTS):
        for _ in range(count):
            element = {"faceVarying": corner, "uniform": polygon, "constant": 0}
            found.append(values[element.get(interpolation, CORNERS[corner])])
            corner += 1
    return found


@pytest.mark.parametrize("indexed", [False, True])
def test_texture_coordinates_of_every_interpolation(tmp_path, indexed):
    """All in one stage, with a prim without any in between."""
    sizes = {"vertex": 6, "varying": 6, "faceVarying": 10, "uniform": 3, "constant": 1}
    stage = new_stage(tmp_path / "a.usdc")
    hand = []
    for i, (interpolation, size) in enumerate(sizes.items()):
        mesh = define(stage, f"/m{i}")
        name, kind = [("st", "texCoord2f[]"), ("uv", "float2[]"), ("my_coordinates", "texCoord2d[]")][i % 3]
        primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(name, Sdf.ValueTypeNames.Find(kind), interpolation)
        values = [(i + k / 8, k / 4) for k in range(size)]
        primvar.Set(values)
        if indexed:
            index = [(3 * k + 1) % size for k in range(size)]
            primvar.SetIndices(index)
            values = [values[k] for k in index]
        hand += corner_values(interpolation, values)
        define(stage, f"/plain{i}")
        hand += [(np.nan, np.nan)] * len(CORNERS)
    stage.Save()
    mesh = read_mesh(tmp_path / "a.usdc")
    np.testing.assert_array_equal(corner_uv(mesh), np.array(hand)[mesh.polygons.face_corner])
    write_mesh(tmp_path / "b.usda", mesh)
    np.testing.assert_array_equal(corner_uv(read_mesh(tmp_path / "b.usda")), corner_uv(mesh))


def test_a_mirrored_left_handed_prim_is_right_handed_in_the_world(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    for name, left, scale in (("a", True, 1), ("b", True, -1), ("c", False, -1), ("d", False, 1)):
        mesh = define(stage, f"/{name}")
        mesh.CreateOrientationAttr(UsdGeom.Tokens.leftHanded if left else UsdGeom.Tokens.rightHanded)
        mesh.AddScaleOp().Set((scale, 1, 1))
    stage.Save()
    mesh = read_mesh(tmp_path / "a.usda")
    assert [p.left_handed for p in mesh.source.prims] == [True, False, True, False]
    write_mesh(tmp_path / "b.usda", mesh)
    assert read_mesh(tmp_path / "b.usda").source == mesh.source


def test_the_shirt(data, tmp_path):
    shirt = read_mesh(data / "garments" / "unisex_shirt.usd")
    assert (len(shirt.x), len(shirt.faces), shirt.name) == (6436, 12736, "unisex_shirt")
    assert 0.5 < shirt.diagonal < 1.5
    assert list(shirt.groups) == ["/root/shirt"] and len(shirt.non_manifold_edges) == 0
    for ending in usd.EXTENSIONS:
        write_mesh(tmp_path / f"shirt{ending}", shirt)
        again = read_mesh(tmp_path / f"shirt{ending}")
        assert bits(again.x) == bits(shirt.x.astype(np.float32).astype(np.float64))
        assert bits(again.faces) == bits(shirt.faces) and list(again.groups) == ["/root/shirt"]


# --- writing ---


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mesh=polygon_meshes(single_numbers))
def test_any_mesh_comes_back(tmp_path, mesh):
    write_mesh(tmp_path / "a.usdc", mesh)
    once = read_mesh(tmp_path / "a.usdc")
    assert bits(once.x) == bits(mesh.x) and bits(once.faces) == bits(mesh.faces)
    assert_same_polygons(once, mesh)
    if mesh.uv is None:
        assert once.uv is None
    else:
        np.testing.assert_array_equal(corner_uv(once), corner_uv(mesh))
    sets = [faces.tolist() for path, faces in once.groups.items() if path.count("/") == 2]
    assert sets == [faces.tolist() for faces in mesh.groups.values()]


@pytest.mark.parametrize("ending", usd.EXTENSIONS)
def test_the_second_time_around_is_the_same_bit_for_bit(tmp_path, ending):
    uv = [[0.1, 0.2], [1 / 3, 0], [1, 1], [0, 1], [0.5, 0.5]]
    x = np.random.default_rng(0).normal(size=(6, 3))
    mesh = polygon_mesh(
        x, [[0, 1, 2, 3], [1, 4, 2], [4, 5, 2]], uv, [[0, 1, 2, 3], [1, 4, 2], [-1, 0, -1]], {"hem": [0, 2]}
    )
    write_mesh(tmp_path / f"once{ending}", mesh)
    once = read_mesh(tmp_path / f"once{ending}")
    assert bits(once.x) == bits(x.astype(np.float32).astype(np.float64))
    write_mesh(tmp_path / f"twice{ending}", once)
    twice = read_mesh(tmp_path / f"twice{ending}")
    assert_same(twice, once)
    assert twice.source == once.source and list(once.groups) == ["/mesh", "/mesh/hem"]


def test_frames_come_back(tmp_path):
    rng = np.random.default_rng(1)
    mesh = polygon_mesh(rng.normal(size=(4, 3)).astype(np.float32), [[0, 1, 2, 3]], name="sheet")
    x = rng.normal(size=(5, 4, 3)).astype(np.float32)
    write_frames(tmp_path / "a.usdz", Frames(mesh, x, 25.0))
    back = read_frames(tmp_path / "a.usdz")
    assert back.fps == 25.0 and bits(back.x) == bits(x.astype(np.float64))
    assert bits(back.mesh.x) == bits(mesh.x)
    assert_same_polygons(back.mesh, mesh)


def test_frames_of_a_stage_keep_its_prims_up_axis_and_time_codes(tmp_path):
    animated_stage(tmp_path / "a.usda")
    frames = read_frames(tmp_path / "a.usda")
    write_frames(tmp_path / "b.usdc", frames)
    back = read_frames(tmp_path / "b.usdc")
    assert bits(back.x) == bits(frames.x.astype(np.float32).astype(np.float64)) and back.fps == 30
    assert back.mesh.source == frames.mesh.source
    stage = Usd.Stage.Open(str(tmp_path / "b.usdc"))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (1, 7)
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and UsdGeom.GetStageMetersPerUnit(stage) == 1
    cloth = UsdGeom.Mesh(stage.GetPrimAtPath("/world/above/cloth"))
    assert cloth.GetSubdivisionSchemeAttr().Get() == "none"
    low, high = np.array(cloth.GetExtentAttr().Get(3))
    points = np.array(cloth.GetPointsAttr().Get(3))
    np.testing.assert_array_equal([low, high], [points.min(axis=0), points.max(axis=0)])


def test_materials_stay_bound(tmp_path, capfd):
    stage = new_stage(tmp_path / "a.usda")
    UsdGeom.Xform.Define(stage, "/shop").AddTranslateOp().Set((7, 0, 0))
    mesh = define(stage, "/shop/shirt")
    for name in ("cotton", "silk"):
        material = UsdShade.Material.Define(stage, f"/shop/looks/{name}")
        shader = UsdShade.Shader.Define(stage, f"/shop/looks/{name}/surface")
        shader.CreateIdAttr("UsdPreviewSurface")
        shader.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(0.25)
        shader.CreateInput("file", Sdf.ValueTypeNames.Asset).Set("./weave.png")
        material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
    collar = UsdGeom.Subset.CreateGeomSubset(mesh, "collar", "face", [2], "materialBind")
    for owner, name in ((mesh, "cotton"), (collar, "silk")):
        material = UsdShade.Material(stage.GetPrimAtPath(f"/shop/looks/{name}"))
        UsdShade.MaterialBindingAPI.Apply(owner.GetPrim()).Bind(material)
    stage.Save()
    read = read_mesh(tmp_path / "a.usda")
    assert {k: v.tolist() for k, v in read.groups.items()} == {
        "/shop/shirt": [0, 1, 2, 3],
        "/shop/shirt/collar": [3],
    }
    write_mesh(tmp_path / "b.usdc", read)
    assert_same(read_mesh(tmp_path / "b.usdc"), read)
    stage = Usd.Stage.Open(str(tmp_path / "b.usdc"))
    for owner, name in (("/shop/shirt", "cotton"), ("/shop/shirt/collar", "silk")):
        bound = UsdShade.MaterialBindingAPI(stage.GetPrimAtPath(owner)).ComputeBoundMaterial()[0]
        assert bound.GetPath() == f"/shop/looks/{name}"
        assert bound.ComputeSurfaceSource()[0].GetInput("roughness").Get() == 0.25
    write_mesh(tmp_path / "without.usdz", read)
    (tmp_path / "weave.png").write_bytes(b"pixels of the weave")
    write_mesh(tmp_path / "with.usdz", read_mesh(tmp_path / "a.usda"))
    assert b"pixels of the weave" in (tmp_path / "with.usdz").read_bytes()
    for name in ("with", "without"):
        assert_same(read_mesh(tmp_path / f"{name}.usdz"), read)
    assert capfd.readouterr() == ("", "")


def test_names_that_are_no_identifiers_and_numbers_that_are_too_large(tmp_path):
    mesh = TriMesh(np.eye(3), [[0, 1, 2]], name="2 shirts", groups={"a b": [0], "a_b": [0], "/x//": [0]})
    write_mesh(tmp_path / "a.usda", mesh)
    assert len(read_mesh(tmp_path / "a.usda").groups) == 4
    with pytest.raises(BadInput, match="32-bit") as error:
        write_mesh(tmp_path / "b.usda", TriMesh(1e100 * np.eye(3), [[0, 1, 2]]))
    one_line(error)
    assert not (tmp_path / "b.usda").exists()


def test_other_faces_are_written_plainly(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    define(stage, "/p/a")
    define(stage, "/p/b")
    stage.Save()
    mesh = read_mesh(tmp_path / "a.usda")
    joined = TriMesh(mesh.x, [[0, 1, 7]] * 8, name="joined", source=mesh.source)
    write_mesh(tmp_path / "b.usda", joined)
    assert list(read_mesh(tmp_path / "b.usda").groups) == ["/joined"]


# --- what cannot be read ---


def empty(stage):
    UsdGeom.Xform.Define(stage, "/nothing")


def no_unit(stage):
    define(stage, "/m")
    UsdGeom.SetStageMetersPerUnit(stage, 0)


def too_few_indices(stage):
    define(stage, "/m", corners=CORNERS[:-1])


def outside(stage):
    define(stage, "/m", corners=[*CORNERS[:-1], 6])


def two_corners(stage):
    define(stage, "/m", counts=[4, 2, 4])


def wrong_uv(stage):
    primvars = UsdGeom.PrimvarsAPI(define(stage, "/m"))
    primvars.CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, "vertex").Set([(0, 0)] * 5)


def not_a_number(stage):
    define(stage, "/m", [(math.nan, 0, 0), *SQUARE[1:]])


def other_faces_later(stage):
    define(stage, "/m").GetFaceVertexIndicesAttr().Set(CORNERS[::-1], 3)


def more_points_later(stage):
    attribute = define(stage, "/m").GetPointsAttr()
    for time in (1, 2):
        attribute.Set(Vt.Vec3fArray(SQUARE + SQUARE[: time - 1]), time)


def endless(stage):
    UsdSkel.Root.Define(stage, "/figure")
    define(stage, "/figure/m")
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(1e300)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (empty, "no mesh"),
        (no_unit, "metersPerUnit"),
        (too_few_indices, "/m: .*10 corners.*9"),
        (outside, "/m: .*out of range"),
        (two_corners, "/m: face 1 has 2 corners"),
        (wrong_uv, "/m: .*6 texture coordinates, there are 5"),
        (not_a_number, "vertex 0 has a NaN"),
        (other_faces_later, "/m changes its faces"),
        (more_points_later, "/m changes its number of points"),
        (endless, "time range"),
    ],
)
def test_stages_that_are_no_mesh(tmp_path, make, said):
    path = tmp_path / "a.usda"
    stage = new_stage(path)
    make(stage)
    stage.Save()
    with pytest.raises(BadInput, match=said) as error:
        read_frames(path)
    assert one_line(error).startswith(f"{path}: ") and one_line(error).count(str(path)) == 1


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import os; os.abort()", "damaged"),
        ("import time; time.sleep(60)", "does not come to an end"),
        ("import sys, json; json.dump({'missing': 'no pxr'}, open(sys.argv[3], 'w'))", "no pxr"),
    ],
)
def test_a_reading_process_that_fails_is_bad_input(tmp_path, monkeypatch, script, said):
    (tmp_path / "script.py").write_text(script)
    (tmp_path / "a.usd").write_bytes(b"")
    monkeypatch.setattr(usd, "_SCRIPT", tmp_path / "script.py")
    monkeypatch.setattr(usd, "_PATIENCE", 0.5)
    with pytest.raises(BadInput, match=said) as error:
        read_mesh(tmp_path / "a.usd")
    one_line(error)


def test_the_reading_process_is_light_and_reading_leaves_pxr_alone(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    define(stage, "/m")
    stage.Save()
    arguments = [str(usd._SCRIPT), *(str(tmp_path / name) for name in ("a.usda", "arrays", "answer")), "rest"]
    script = f"""
import runpy, sys
sys.argv = {arguments}
runpy.run_path({str(usd._SCRIPT)!r})
assert "pxr.Usd" in sys.modules
assert not {{"numpy", "numba", "trimesh", "unsnarl"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    script = f"""
import sys
from unsnarl.io import read_mesh
read_mesh({str(tmp_path / "a.usda")!r})
assert "pxr" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Cut off, with flipped bits, or with a few bytes replaced, often near the end, where the tables are."""
    data = bytearray(data)
    kind = chance.randrange(4)
    if kind == 0:
        return bytes(data[: chance.randrange(len(data))])
    if kind == 1:
        for _ in range(chance.choice([1, 4, 40])):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        return bytes(data)
    at = chance.randrange(len(data)) if kind == 2 else len(data) - 1 - chance.randrange(min(1500, len(data)))
    size = chance.choice([1, 4, 8, 16])
    data[at : at + size] = bytes(chance.choice([0, 1, 127, 128, 255, chance.randrange(256)]) for _ in range(size))
    return bytes(data)


def survive(path, whole: bytes, many: int, seed: int, capfd) -> None:
    chance = random.Random(seed)
    good = bad = 0
    for _ in range(many):
        path.write_bytes(damaged(whole, chance))
        try:
            assert len(read_frames(path).mesh.faces) > 0
            good += 1
        except BadInput as error:
            assert "\n" not in str(error) and str(error).startswith(f"{path}: ")
            bad += 1
    assert bad > many // 10 and good + bad == many
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("ending", [".usda", ".usdc", ".usdz"])
def test_damaged_stages(tmp_path, ending, capfd):
    animated_stage(tmp_path / "whole.usdc")
    write_frames(tmp_path / f"whole{ending}", read_frames(tmp_path / "whole.usdc"))
    survive(tmp_path / f"a{ending}", (tmp_path / f"whole{ending}").read_bytes(), 15, 0, capfd)


@pytest.mark.prove
@pytest.mark.parametrize("ending", usd.EXTENSIONS)
def test_many_damaged_stages(data, tmp_path, ending, capfd):
    animated_stage(tmp_path / "moving.usdc")
    write_frames(tmp_path / f"moving{ending}", read_frames(tmp_path / "moving.usdc"))
    write_mesh(tmp_path / f"shirt{ending}", read_mesh(data / "garments" / "unisex_shirt.usd"))
    for seed, name in enumerate(("moving", "shirt")):
        survive(tmp_path / f"a{ending}", (tmp_path / f"{name}{ending}").read_bytes(), 300, seed, capfd)


@pytest.mark.parametrize(
    "metadata, inside", [("(subLayers = [@nope.usda@])", ""), ("", "(references = @nope.usda@</a>)")]
)
def test_what_a_stage_refers_to_has_to_be_there(tmp_path, metadata, inside):
    path = tmp_path / "outfit.usda"
    path.write_text(
        f"""#usda 1.0
{metadata}
def Mesh "shirt" {inside}
{{
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
}}
"""
    )
    with pytest.raises(BadInput, match=r"not there: .*nope"):
        read_mesh(path)
