"""pymeshlab's self-intersecting faces. Run by the peers' Python: peer_pymeshlab.py MESH.ply.

Prints {"seconds": best of three, "faces": how many}.
"""

import json
import sys
import time

import pymeshlab


def main(mesh_file):
    times = []
    for _ in range(3):
        meshes = pymeshlab.MeshSet()
        meshes.load_new_mesh(mesh_file)
        began = time.perf_counter()
        meshes.compute_selection_by_self_intersections_per_face()
        times.append(time.perf_counter() - began)
    print(json.dumps({"seconds": min(times), "faces": int(meshes.current_mesh().selected_face_number())}))


if __name__ == "__main__":
    main(*sys.argv[1:])
