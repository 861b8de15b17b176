"""Several meshes in one stage: each at a path of its own name, with its polygons, uv, groups and materials."""

import numpy as np
import pytest

import unsnarl as us
from tests.io.polygon_meshes import polygon_mesh
from unsnarl.io.usd_together import together
from unsnarl.mesh.primitives import sheet, sphere

Usd = pytest.importorskip("pxr.Usd")
UsdGeom, UsdShade = (pytest.importorskip(f"pxr.{name}") for name in ("UsdGeom", "UsdShade"))


def material_stage(path):
    stage = Usd.Stage.CreateNew(str(path))
    mesh = UsdGeom.Mesh.Define(stage, "/shop/shirt")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)])
    mesh.CreateFaceVertexCountsAttr([4])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
    material = UsdShade.Material.Define(stage, "/shop/looks/blue")
    shader = UsdShade.Shader.Define(stage, "/shop/looks/blue/surface")
    shader.CreateIdAttr("UsdPreviewSurface")
    material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(material)
    stage.Save()
    return us.read_mesh(path)


def test_each_mesh_is_a_prim(tmp_path):
    a, b = sheet((1, 1), (2, 2)), sphere(0.5, 20)
    whole = together([a, b, a], name="my scene", up="z", start=5)
    x = np.stack([whole.x, whole.x + 1])
    us.write_frames(tmp_path / "o.usda", us.Frames(whole, x, 30))
    stage = Usd.Stage.Open(str(tmp_path / "o.usda"))
    meshes = [str(p.GetPath()) for p in stage.Traverse() if p.IsA(UsdGeom.Mesh)]
    assert meshes == ["/my_scene/sheet", "/my_scene/sphere", "/my_scene/sheet_"]
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and str(stage.GetDefaultPrim().GetPath()) == "/my_scene"
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (5, 6, 30)
    read = us.read_frames(tmp_path / "o.usda")
    assert np.allclose(read.x, x, atol=1e-6) and np.array_equal(read.mesh.faces, whole.faces)
    corners = read.mesh.uv[read.mesh.face_uv[: len(a.faces)]]
    assert np.allclose(corners, a.uv[a.face_uv]) and (read.mesh.face_uv[8:28] == -1).all()


def test_polygons_and_groups_survive(tmp_path):
    x = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0]]
    q = polygon_mesh(x, [[0, 1, 2, 3], [1, 4, 2]], groups={"part": [0]}, name="kite")
    whole = together([sheet((1, 1), (1, 1)), q], name="scene")
    us.write_mesh(tmp_path / "o.usdc", whole)
    read = us.read_mesh(tmp_path / "o.usdc")
    assert np.array_equal(np.diff(read.polygons.start), [3, 3] + np.diff(q.polygons.start).tolist())
    assert len(read.groups[f"/scene/{q.name}/part"]) == 2


def test_materials_of_two_stages_stay_bound(tmp_path):
    (tmp_path / "one").mkdir()
    first, second = material_stage(tmp_path / "one" / "shirt.usda"), material_stage(tmp_path / "shirt.usda")
    us.write_mesh(tmp_path / "o.usda", together([first, second, sheet((1, 1), (1, 1))], name="scene"))
    stage = Usd.Stage.Open(str(tmp_path / "o.usda"))
    for own in ("shirt", "shirt_"):
        prim = stage.GetPrimAtPath(f"/scene/{own}/shop/shirt")
        bound = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]
        assert str(bound.GetPath()) == f"/scene/{own}/shop/looks/blue"
        surface = bound.ComputeSurfaceSource()[0]
        assert str(surface.GetPath()) == f"/scene/{own}/shop/looks/blue/surface"


def test_one_mesh_stays_where_it_was(tmp_path):
    mesh = material_stage(tmp_path / "shirt.usda")
    alone = together([mesh], name="scene", up="z")
    assert [p.path for p in alone.source.prims] == ["/shop/shirt"] and alone.source.up_axis == "Z"
    assert [p.path for p in together([sheet((1, 1), (1, 1))], name="scene").source.prims] == ["/sheet"]
