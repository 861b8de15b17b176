"""Blender's cloth on the falling sheet. Run by the peers' Python: peer_blender.py SCENE.npz RESULT.npy.

Writes the sheet's last positions (n, 3) [m] and prints {"seconds": per frame, "frames": how many were simulated}.
"""

import json
import sys
import time

import bpy
import numpy as np

QUALITY = 5  # steps a frame
LEAST = 0.005  # distance from the body [m]; at 3.8 mm the sheet of 22,500 vertices falls through it


def mesh_object(name, x, faces):
    """An object with this mesh, in the scene."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(x.tolist(), [], faces.tolist())
    mesh.update()
    made = bpy.data.objects.new(name, mesh)
    bpy.context.collection.objects.link(made)
    return made


def build(given):
    """(scene, sheet): the sheet with its cloth modifier, and the body that it falls on. Frame 1 is the start."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = int(given["fps"])
    scene.gravity = (0.0, 0.0, -float(given["gravity"]))

    thickness = float(given["thickness"])
    body = mesh_object("body", given["body"], given["body_faces"])
    body.modifiers.new("collision", "COLLISION")
    body.collision.thickness_outer = max(thickness, LEAST)

    sheet = mesh_object("sheet", given["x"], given["faces"])
    cloth = sheet.modifiers.new("cloth", "CLOTH")
    cloth.settings.quality = QUALITY
    cloth.collision_settings.use_collision = True
    cloth.collision_settings.distance_min = max(thickness, LEAST)
    cloth.collision_settings.use_self_collision = True
    cloth.collision_settings.self_distance_min = thickness
    cloth.point_cache.frame_start, cloth.point_cache.frame_end = 1, int(given["frames"])
    return scene, sheet


def positions(sheet):
    """(n, 3) of the sheet as the modifier leaves it."""
    mesh = sheet.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    x = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", x)
    return x.reshape(-1, 3).astype(float)


def main(scene_file, result_file):
    given = np.load(scene_file)
    frames = int(given["frames"]) - 1
    scene, sheet = build(given)
    scene.frame_set(1)  # sets up, simulates nothing
    began = time.perf_counter()
    for number in range(frames):
        scene.frame_set(2 + number)
    seconds = time.perf_counter() - began
    np.save(result_file, positions(sheet))
    print(json.dumps({"seconds": seconds / frames, "frames": frames}))


if __name__ == "__main__":
    main(*sys.argv[1:])
