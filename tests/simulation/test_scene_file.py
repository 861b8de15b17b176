"""Scene files: what they say becomes a scene, and what is wrong with one is said in a line with file, line and key."""

from pathlib import Path

import numpy as np
import pytest

import unsnarl as us
from unsnarl.energies.materials import MATERIALS
from unsnarl.io.toml_lines import line_of, lines_of_keys
from unsnarl.mesh.primitives import sheet
from unsnarl.simulation.scene import RESOLVERS
from unsnarl.simulation.scene_file import read_scene, read_scene_file

WHOLE = """\
name = "curtain and cloak"
frames = 30
fps = 30
substeps = 6
gravity = 9.8
up = "y"
air = 0.2
thickness = 0.004
friction = 0.4
resolver = "none"
untangle = "none"
output = "curtain.usd"

[materials.satin]
like = "silk"
bend = 1e-6

[materials.paper]
density = 0.08
stretch_warp = 5000
stretch_weft = 5000.0
shear = 2000.0
bend = 1e-4

[wind]
velocity = [1, 0, 0.5]
gusts = 0.2

[[cloth]]
name = "curtain"
sheet = {size = [1, 0.5], edge = 0.1}
material = "satin"
pins = "corners"
position = [0, 1, 0]
rotate = [90, 0, 0]
velocity = [0, 0, 0.1]

[[cloth]]
mesh = "meshes/cloak.obj"
material = "paper"
pins = {box = [[-9, -9, -9], [9, 9, -0.1]]}
scale = 2
flat = false

[[body]]
sphere = {radius = 0.2, center = [0, 0.5, 0], triangles = 320}
friction = 0.5
velocity = [0, 0.1, 0]

[[body]]
plane.size = [4, 3]
position = [0, -1, 0]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "meshes").mkdir()
    us.write_mesh(tmp_path / "meshes" / "cloak.obj", sheet((0.8, 0.6), (4, 3), up="y", name="cloak"))
    return tmp_path


def write(folder, text):
    (folder / "scene.toml").write_text(text)
    return folder / "scene.toml"


def refused(folder, text):
    path = write(folder, text)
    with pytest.raises(us.BadInput) as caught:
        read_scene(path)
    message = str(caught.value)
    assert "\n" not in message and message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_a_whole_scene(folder):
    file = read_scene_file(write(folder, WHOLE))
    scene = file.scene
    assert (scene.name, scene.frames, scene.fps, scene.substeps) == ("curtain and cloak", 30, 30.0, 6)
    assert (scene.gravity, scene.air, scene.thickness, scene.friction) == (9.8, 0.2, 0.004, 0.4)
    assert (scene.up, scene.resolver, scene.untangle) == ("y", "none", "none")
    assert file.output == str(folder / "curtain.usd")
    assert file.inputs == (folder / "scene.toml", folder / "meshes" / "cloak.obj")
    assert scene.wind.velocity == (1.0, 0.0, 0.5) and scene.wind.gusts == 0.2 and scene.wind.drag == us.Wind().drag

    curtain, cloak = scene.cloths
    assert curtain.mesh.name == "curtain" and cloak.mesh.name == "cloak"
    assert curtain.material.bend == 1e-6 and curtain.material.density == MATERIALS["silk"].density
    assert cloak.material.name == "paper" and cloak.material.stretch_warp == 5000.0
    assert np.allclose(curtain.mesh.x.min(axis=0), [-0.5, 0.75, 0]) and (curtain.mesh.x[:, 2] == 0).all()
    assert curtain.pins.tolist() == [0, 10, 55, 65] and (curtain.velocity == [0, 0, 0.1]).all()
    assert np.allclose(np.ptp(cloak.mesh.x, axis=0), [1.6, 0, 1.2])
    assert np.isclose(0.5 * np.abs(np.linalg.det(cloak.mesh.rest)).sum(), 1.6 * 1.2)
    assert (cloak.mesh.x[cloak.pins][:, 2] <= -0.1).all() and len(cloak.pins) == 10
    assert curtain.flat and not cloak.flat and cloak.targets is None

    sphere, plane = scene.bodies
    assert sphere.friction == 0.5 and plane.friction == us.Body(plane.mesh).friction
    assert np.allclose(sphere.at(0.0).mean(axis=0), [0, 0.5, 0]) and np.allclose(
        sphere.at(2.5).mean(axis=0), [0, 0.75, 0]
    )
    assert np.allclose(np.ptp(plane.mesh.x, axis=0), [4, 0, 3]) and (plane.mesh.x[:, 1] == -1).all()


def test_the_example_in_the_documentation(tmp_path):
    pytest.importorskip("pxr")
    page = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text()
    text = page.partition("```toml\n")[2].partition("```")[0]
    shirt = sheet((0.5, 0.8), (4, 8), up="z", name="shirt")
    shirt = shirt.moved(shirt.x + [0, 1.2, 0])
    us.write_mesh(tmp_path / "shirt.obj", shirt)
    us.write_frames(tmp_path / "shirt_pins.usd", us.Frames(shirt, np.stack([shirt.x, shirt.x + 1])))
    us.write_frames(tmp_path / "walk.usd", us.Frames(shirt, np.stack([shirt.x, shirt.x + 1])))
    scene = read_scene(write(tmp_path, text))
    assert [cloth.mesh.name for cloth in scene.cloths] == ["sheet", "shirt"] and len(scene.bodies) == 2
    assert len(scene.cloths[1].targets) == 2 and scene.cloths[0].material.name == "satin"
    defaults = us.Scene([us.Cloth(shirt)])
    for key in ("frames", "fps", "substeps", "gravity", "up", "air", "friction", "resolver", "untangle"):
        assert getattr(scene, key) == getattr(defaults, key)


def test_what_is_not_said_is_as_in_python(folder):
    scene = us.read_scene(write(folder, "[[cloth]]\nsheet = {size = [1, 1], resolution = [2, 2]}"))
    default = us.Scene([us.Cloth(sheet((1, 1), (2, 2), up="y"))])
    for key in ("frames", "fps", "substeps", "gravity", "up", "air", "thickness", "friction", "resolver", "untangle"):
        assert getattr(scene, key) == getattr(default, key)
    cloth = scene.cloths[0]
    assert scene.name == "scene" and cloth.mesh.name == "sheet" and cloth.material == default.cloths[0].material
    assert len(cloth.pins) == 0 and (cloth.velocity == 0).all() and scene.wind is None and not scene.bodies


@pytest.mark.parametrize("up", "xyz")
def test_sheets_lie_across_the_up_axis(folder, up):
    text = f'up = "{up}"\n[[cloth]]\nsheet = {{size = [1, 1], resolution = [2, 2]}}\n[[body]]\nplane.size = [1, 2]'
    scene = read_scene(write(folder, text))
    for mesh in (scene.cloths[0].mesh, scene.bodies[0].mesh):
        assert np.ptp(mesh.x, axis=0)["xyz".index(up)] == 0


def test_an_own_material_may_go_before_one_of_the_library(folder):
    text = '[materials.cotton]\nlike = "cotton"\nbend = 1.0\n[materials.stiff]\nlike = "cotton"\ndensity = 9\n'
    text += 2 * "[[cloth]]\nsheet = {size = [1, 1], edge = 0.5}\n" + 'material = "stiff"'
    plain, stiff = read_scene(write(folder, text)).cloths
    assert plain.material.bend == 1.0 and plain.material.shear == MATERIALS["cotton"].shear
    assert stiff.material.bend == 1.0 and stiff.material.density == 9.0 and stiff.material.name == "stiff"


def test_pins(folder):
    (folder / "pins.txt").write_text("# the top\n3, 1 2\n\n 0\n")
    for said, pins in (
        ('"boundary"', [0, 1, 2, 3, 5, 6, 7, 8]),
        ("[4, 2]", [4, 2]),
        ('"pins.txt"', [3, 1, 2, 0]),
        ("{box = [[9, 9, 0], [0, -9, 9]]}", [1, 2, 4, 5]),
    ):
        text = f"[[cloth]]\nsheet = {{size = [1, 1], resolution = [2, 2]}}\npins = {said}"
        scene = read_scene_file(write(folder, text))
        assert sorted(scene.scene.cloths[0].pins) == sorted(pins)
    assert read_scene_file(write(folder, text.replace(said, '"pins.txt"'))).inputs[-1] == folder / "pins.txt"


def test_pins_that_move(folder):
    mesh = us.read_mesh(folder / "meshes" / "cloak.obj")
    x = mesh.x + np.arange(4)[:, None, None] * [0.0, 0.1, 0.0]
    us.write_frames(folder / "lift.npz", us.Frames(mesh, x, 12.0))
    us.write_frames(folder / "cache.pc2", us.Frames(mesh, x))
    (folder / "cache.obj").unlink()  # the cloth itself is the mesh of the cache
    text = 'fps = {fps}\n[[cloth]]\nmesh = "meshes/cloak.obj"\npins = [0, 7]\nscale = 2\nposition = [1, 0, 0]\n'
    text += 'pin_motion = "{file}"'
    same = read_scene(write(folder, text.format(fps=12, file="lift.npz"))).cloths[0]
    assert np.allclose(same.targets, 2 * x[:, [0, 7]] + [1, 0, 0])
    assert np.allclose(same.targets[0], same.mesh.x[same.pins])
    finer = read_scene(write(folder, text.format(fps=30, file="lift.npz"))).cloths[0]
    assert finer.targets.shape == (9, 2, 3)  # a quarter of a second, and what is left
    assert np.allclose(finer.targets[5, 0], same.targets[2, 0]) and np.allclose(finer.targets[8], same.targets[3])
    assert np.allclose(finer.targets[1, 0], 0.6 * same.targets[0, 0] + 0.4 * same.targets[1, 0])
    cache = read_scene(write(folder, text.format(fps=30, file="cache.pc2"))).cloths[0]
    assert np.allclose(cache.targets, same.targets, atol=1e-6)  # a cache is at the scene's frames


def test_rest_shapes(folder):
    wide = sheet((1.6, 1.2), (4, 3), up="y", name="wide")
    us.write_mesh(folder / "wide.obj", wide)
    area = lambda scene: 0.5 * np.abs(np.linalg.det(scene.cloths[0].mesh.rest)).sum()  # noqa: E731
    text = '[[cloth]]\nmesh = "meshes/cloak.obj"\n'
    assert np.isclose(area(read_scene(write(folder, text))), 0.48)
    assert np.isclose(area(read_scene(write(folder, text + 'rest = "uv"'))), 0.48)
    assert np.isclose(area(read_scene(write(folder, text + 'rest = "uv"\nuv_scale = 3\nscale = 2'))), 0.48 * 9)
    assert np.isclose(area(read_scene(write(folder, text + 'rest = "wide.obj"'))), 4 * 0.48)
    assert np.isclose(area(read_scene(write(folder, text + 'rest = "wide.obj"\nscale = 0.5'))), 0.48)


def test_bodies(folder):
    mesh = us.read_mesh(folder / "meshes" / "cloak.obj")
    x = mesh.x + np.arange(3)[:, None, None] * [0.0, 1.0, 0.0]
    us.write_frames(folder / "walk_##.obj", us.Frames(mesh, x))
    us.write_frames(folder / "walk.npz", us.Frames(mesh, x, 10.0))
    text = """
        fps = 50
        [[cloth]]
        sheet = {size = [1, 1], edge = 0.5}
        [[body]]
        mesh = "walk_##.obj"
        scale = 3
        rotate = [0, 0, 90]
        [[body]]
        mesh = "walk.npz"
        [[body]]
        mesh = "walk.npz"
        fps = 25
        [[body]]
        mesh = "meshes/cloak.obj"
        name = "table"
        [[body]]
        box = {size = [1, 2, 3]}
        [[body]]
        box = {size = [1, 2, 3], edge = 0.5}
        rotate = [0, 90, 0]
    """
    turned, walk, faster, table, box, fine = read_scene(write(folder, text)).bodies
    assert np.allclose(turned.at(1 / 50) - turned.at(0), [-3, 0, 0])
    assert np.allclose(walk.at(0.1), x[1]) and np.allclose(faster.at(0.04), x[1])
    assert table.mesh.name == "table" and len(table.motion) == 1
    assert len(box.mesh.faces) == 12 and len(fine.mesh.faces) == 2 * 2 * (2 * 4 + 4 * 6 + 6 * 2)
    assert np.allclose(np.ptp(fine.mesh.x, axis=0), [3, 2, 1])


def test_surfaces_that_branch_can_be_cut_open(folder):
    (folder / "book.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 1 1\nf 1 2 3\nf 1 2 4\nf 1 2 5")
    text = '[[cloth]]\nmesh = "book.obj"\npins = [0, 5]\npin_motion = "book.obj"\n'
    assert "three or more faces" in refused(folder, text.replace("5", "4"))
    cloth = read_scene(write(folder, text + "split_non_manifold = true")).cloths[0]
    assert len(cloth.mesh.x) > 5 and np.allclose(cloth.targets[0], cloth.mesh.x[[0, 5]])
    assert "body[0]" in refused(folder, "[[cloth]]\nsheet = {size = [1, 1], edge = 1.0}\n[[body]]\nmesh = 'book.obj'")


BAD = [  # what is replaced in WHOLE, by what, and how the message begins and what is in it
    ("frames = 30", "frames = 3.5", "line 2: frames: must be a whole number, not 3.5", ""),
    ("frames = 30", "frames = 0", "line 2: frames: must be", "0"),
    ("frames = 30", "frames = true", "line 2: frames: must be a whole number, not true", ""),
    ("frames = 30", "frmes = 30", "line 2: frmes: is not known", "did you mean frames?"),
    ("frames = 30", "zzz = 30", "line 2: zzz: is not known", "known are name, output, frames"),
    ("fps = 30", 'fps = "30"', "line 3: fps: must be a number, not '30'", ""),
    ("fps = 30", "fps = 0", "line 3: fps: must be", ""),
    ("fps = 30", "fps = -2", "line 3: fps: must be", ""),
    ("fps = 30", "fps = nan", "line 3: fps: must be a finite number", ""),
    ("substeps = 6", "substeps = 0", "line 4: substeps: must be", ""),
    ("gravity = 9.8", "gravity = [0, 9.8, 0]", "line 5: gravity: must be a number", ""),
    ("gravity = 9.8", "gravity = 1e9", "line 5: gravity: must be", "1000000000"),
    ('up = "y"', 'up = "w"', "line 6: up: must be 'x' or 'y' or 'z', not 'w'", ""),
    ("air = 0.2", "air = -0.2", "line 7: air: must be", ""),
    ("thickness = 0.004", "thickness = 4", "line 8: thickness: must be", ""),
    ("friction = 0.4", "friction = -1", "line 9: friction: must be", ""),
    ('resolver = "none"', 'resolver = "zone"', "line 10: resolver: must be one of", RESOLVERS[0]),
    ('untangle = "none"', 'untangle = "magic"', "line 11: untangle: must be one of", "magic"),
    ('output = "curtain.usd"', "output = 3", "line 12: output: must be text in quotes, not 3", ""),
    ('like = "silk"', 'like = "slik"', "line 15: materials.satin.like: there is no material 'slik'", "'silk'"),
    ('like = "silk"', 'like = "xyzzy"', "line 15: materials.satin.like: there is no material", "there are cotton"),
    ('like = "silk"', 'like = "satin"', "line 15: materials.satin.like: goes in a circle", "satin like satin"),
    ("bend = 1e-6", "bent = 1e-6", "line 16: materials.satin.bent: is not known", "did you mean bend?"),
    ("bend = 1e-6", "bend = -1e-6", "line 16: materials.satin.bend: is a number", ""),
    ("bend = 1e-6", 'bend = "1e-6"', "line 16: materials.satin.bend: must be a number", ""),
    ("shear = 2000.0", "", "line 18: materials.paper: shear: missing", "like"),
    ("velocity = [1, 0, 0.5]", "velocity = [1, 0]", "line 26: wind.velocity: must have 3 entries, not 2", ""),
    ("velocity = [1, 0, 0.5]", "velocity = [1, 0, 0, 0]", "line 26: wind.velocity: must have 3 entries, not 4", ""),
    ("velocity = [1, 0, 0.5]", "velocity = 3", "line 26: wind.velocity: must be a list, not 3", ""),
    ("gusts = 0.2", "gusts = 2", "line 27: wind.gusts: must be", ""),
    ("gusts = 0.2", "gust = 2", "line 27: wind.gust: is not known; did you mean gusts?", ""),
    ("edge = 0.1", "edge = -0.1", "line 31: cloth[0].sheet.edge: must be a positive number", ""),
    ("edge = 0.1", "edge = 1e-9", "line 31: cloth[0].sheet: that makes more than", ""),
    ("edge = 0.1", "resolution = [1, 0]", "line 31: cloth[0].sheet.resolution: must be 2 whole numbers", ""),
    ("edge = 0.1", "resolution = [1, 0.5]", "line 31: cloth[0].sheet.resolution[1]: must be a whole number", ""),
    ("edge = 0.1", "resolution = [1, 1], edge = 1.0", "line 31: cloth[0].sheet: give its resolution or its edge", ""),
    (", edge = 0.1", "", "line 31: cloth[0].sheet: give its resolution or its edge", ""),
    ("edge = 0.1", 'edge = 0.1, diagonals = "x"', "line 31: cloth[0].sheet.diagonals: must be 'alternating' or", ""),
    ("size = [1, 0.5], ", "", "line 31: cloth[0].sheet.size: is missing", ""),
    ("size = [1, 0.5]", "size = [1, 0]", "line 31: cloth[0].sheet.size: must be 2 positive numbers", ""),
    ("sheet = {size = [1, 0.5], edge = 0.1}", "sheet = 3", "line 31: cloth[0].sheet: must be a table, not 3", ""),
    (
        "sheet = {size = [1, 0.5], edge = 0.1}",
        "",
        "line 29: cloth[0]: it needs one of mesh or sheet; none is there",
        "",
    ),
    ('material = "satin"', 'mesh = "a.obj"', "line 29: cloth[0]: it needs one of mesh or sheet; both", ""),
    ('material = "satin"', 'material = "stain"', "line 32: cloth[0].material: there is no material", "'satin'"),
    ('material = "satin"', 'materal = "satin"', "line 32: cloth[0].materal: is not known", "material?"),
    ('pins = "corners"', 'pins = "cornrs"', "line 33: cloth[0].pins: 'cornrs' is neither", "did you mean 'corners'?"),
    ('pins = "corners"', 'pins = "no.txt"', "line 33: cloth[0].pins: 'no.txt' is neither", "nor a file"),
    ('pins = "corners"', 'pins = "scene.toml"', "line 33: cloth[0].pins: ", "is not the number of a vertex"),
    ('pins = "corners"', "pins = 3", "line 33: cloth[0].pins: must be 'boundary'", "not 3"),
    ('pins = "corners"', "pins = [1, 2.5]", "line 33: cloth[0].pins: must be 'boundary'", "2.5"),
    ('pins = "corners"', "pins = [1, 200]", "line 33: cloth[0].pins: pin 200 is not one of the 66", ""),
    ('pins = "corners"', "pins = [1, -1]", "line 33: cloth[0].pins: pin -1 is not one of the 66", ""),
    ('pins = "corners"', "pins = [1, 1]", "line 33: cloth[0].pins: a vertex is pinned twice", ""),
    ("position = [0, 1, 0]", "position = [0, 1]", "line 34: cloth[0].position: must have 3 entries, not 2", ""),
    ("position = [0, 1, 0]", "position = [0, inf, 1]", "line 34: cloth[0].position[1]: must be a finite number", ""),
    ("position = [0, 1, 0]", "pin_motion = 'no.usd'", "line 34: cloth[0].pin_motion: ", "no.usd: cannot be read"),
    ("position = [0, 1, 0]", "pin_motion = 'meshes/cloak.obj'", "line 34: cloth[0].pin_motion: ", "20 vertices"),
    ("position = [0, 1, 0]", "rest = 'no.obj'", "line 34: cloth[0].rest: ", "no.obj: cannot be read"),
    ("position = [0, 1, 0]", "rest = 'meshes/cloak.obj'", "line 34: cloth[0].rest: ", "other vertices or faces"),
    ("velocity = [0, 0, 0.1]", "velocity = 'fast'", "line 36: cloth[0].velocity: must be a list", ""),
    (
        'mesh = "meshes/cloak.obj"',
        'mesh = "cloak.obj"',
        "line 39: cloth[1].mesh: ",
        "cloak.obj: cannot be read: No such",
    ),
    ('mesh = "meshes/cloak.obj"', 'mesh = "cloak.xyz"', "line 39: cloth[1].mesh: ", "unknown format"),
    ('mesh = "meshes/cloak.obj"', 'mesh = "meshes"', "line 39: cloth[1].mesh: ", "is a folder"),
    ('mesh = "meshes/cloak.obj"', "mesh = 3", "line 39: cloth[1].mesh: must be text in quotes, not 3", ""),
    (
        "pins = {box = [[-9, -9, -9], [9, 9, -0.1]]}",
        'pins = "corners"',
        "line 41: cloth[1].pins: 'corners' are",
        "sheet",
    ),
    ("[[-9, -9, -9], [9, 9, -0.1]]", "[[8, 8, 8], [9, 9, 9]]", "line 41: cloth[1].pins: no vertex of cloak", ""),
    ("[[-9, -9, -9], [9, 9, -0.1]]", "[[8, 8, 8]]", "line 41: cloth[1].pins: box must be the two corners", ""),
    ("scale = 2", "scale = 0", "line 42: cloth[1].scale: must be a positive number, not 0", ""),
    ("flat = false", "flat = 0", "line 43: cloth[1].flat: must be true or false, not 0", ""),
    ("flat = false", "uv_scale = -1", "line 43: cloth[1].uv_scale: must be a positive number", ""),
    ("radius = 0.2", "radius = 0", "line 46: body[0].sphere.radius: must be a positive number", ""),
    ("radius = 0.2", "radius = 0.2, colour = 3", "line 46: body[0].sphere.colour: is not known", "known are radius"),
    ("triangles = 320", "triangles = 3", "line 46: body[0].sphere.triangles: must be 20 to", ""),
    ("friction = 0.5", "friction = -0.5", "line 47: body[0].friction: must be", ""),
    ("friction = 0.5", "scale = 1e300", "line", "body[0]: position: "),
    ("friction = 0.5", "scale = 1e12", "line", "m is beyond the limit of 1e+09 m"),
    ("velocity = [1, 0, 0.5]", "velocity = [1, -1e7, 0.5]", "line 25: wind", "-1e+07 m/s is beyond the limit of"),
    (
        "velocity = [0, 0, 0.1]",
        "velocity = [0, 0, 1e7]",
        "line",
        "velocity: 1e+07 m/s is beyond the limit of 1e+06 m/s",
    ),
    ("position = [0, 1, 0]", "position = [0, 1e15, 0]", "line", "position: 1e+15 m is beyond the limit of 1e+09 m"),
    ("friction = 0.5", "fps = 30", "line 47: body[0].fps: ", "mesh"),
    ("[[body]]\nsphere", "[body]\nsphere", "", "not TOML"),
    ("[[cloth]]\nname", "[[cloth\nname", "line 29, column 8: not TOML: ", ""),
    ("scale = 2", "scale = 2\nscale = 3", "line 43, column 10: not TOML: ", ""),
    ("plane.size = [4, 3]", "plane.size = [4, 3", "line 52, column", "not TOML"),
    ("plane.size = [4, 3]", 'mesh = "no.usd"', "line 51: body[1].mesh: ", "no.usd: cannot be read"),
    ("plane.size = [4, 3]", "", "line 50: body[1]: it needs one of mesh, sphere, box or plane; none is there", ""),
    ("position = [0, -1, 0]", 'name = " "', "line 52: body[1].name: must not be empty", ""),
]


@pytest.mark.parametrize("old, new, begins, says", BAD, ids=[f"{old[:20]} -> {new[:30]}" for old, new, *_ in BAD])
def test_bad_scenes(folder, old, new, begins, says):
    assert WHOLE.count(old) >= 1
    message = refused(folder, WHOLE.replace(old, new, 1))
    assert message.startswith(begins) and says in message


def test_bad_files(folder):
    with pytest.raises(us.BadInput, match=r"no\.toml: cannot be read: No such file"):
        read_scene(folder / "no.toml")
    with pytest.raises(us.BadInput, match="cannot be read: Is a directory"):
        read_scene(folder)
    (folder / "scene.toml").write_bytes(b'name = "\xff"')
    with pytest.raises(us.BadInput, match="is not text in UTF-8"):
        read_scene(folder / "scene.toml")
    assert "there is no cloth in it" in refused(folder, "")
    assert "there is no cloth in it" in refused(folder, "frames = 3\ncloth = []")
    assert refused(folder, "[cloth]\nmesh = 'a.obj'").startswith(
        "line 1: cloth: must be a list of tables: write [[cloth]]"
    )
    assert "nested too deeply" in refused(folder, "a = " + 100_000 * "[")
    circle = '[materials.a]\nlike = "b"\n[materials.b]\nlike = "a"\n[[cloth]]\nsheet = {size = [1, 1], edge = 1.0}'
    assert "goes in a circle: a like b like a" in refused(folder, circle)
    moving = '[[cloth]]\nsheet = {size = [1, 1], edge = 1.0}\n[[body]]\nmesh = "walk.npz"\nvelocity = [1, 0, 0]'
    mesh = us.read_mesh(folder / "meshes" / "cloak.obj")
    us.write_frames(folder / "walk.npz", us.Frames(mesh, np.stack([mesh.x, mesh.x + 1])))
    assert refused(folder, moving).startswith("line 5: body[0].velocity: is for bodies that do not move")
    no_pins = '[[cloth]]\nmesh = "meshes/cloak.obj"\npin_motion = "walk.npz"'
    assert refused(folder, no_pins).startswith("line 3: cloth[0].pin_motion: there are no pins to move")
    (folder / "plain.off").write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    assert "no texture coordinates" in refused(folder, '[[cloth]]\nmesh = "plain.off"\nrest = "uv"')


def test_lines_of_keys():
    text = '# [no]\na = 1 # [\n"b c" = """x\n[no]\n"""\nd.e = [1,\n  2]\r\n[f."g.h"]\ni = \'\'\'[j\n]\'\'\'\n[[k]]\n'
    text += 'l = {m = [[0,\n 0], [1]]}\n[k.n]\no = 1\n[[k]]\n  p = "x\\"["\n[[k.q]]\nr = 1\n[[k.q]]\nr = 2'
    lines = lines_of_keys(text)
    for key, line in {
        ("a",): 2,
        ("b c",): 3,
        ("d", "e"): 6,
        ("f", "g.h"): 8,
        ("f", "g.h", "i"): 9,
        ("k", 0): 11,
        ("k", 0, "l"): 12,
        ("k", 0, "n", "o"): 15,
        ("k", 1, "p"): 17,
        ("k", 1, "q", 1, "r"): 21,
    }.items():
        assert lines[key] == line, key
    assert line_of(("k", 0, "l", "m"), lines) == 12 and line_of(("k", 1, "zz"), lines) == 16
    assert line_of(("zz",), lines) is None
