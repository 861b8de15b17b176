"""Run the kernels of the mesh layer as plain Python (NUMBA_DISABLE_JIT=1) with every index checked.

Started by test_topology.py in its own process. numpy refuses indices past the end, `Strict` negative ones.
"""

import sys

import numba
import numpy as np

from unsnarl.mesh import topology
from unsnarl.mesh.polygons import _clip_ears


class Strict(np.ndarray):
    def __getitem__(self, key):
        for i in key if isinstance(key, tuple) else (key,):
            if isinstance(i, (int, np.integer)) and i < 0:
                raise IndexError(f"negative index {key}")
        return super().__getitem__(key)


def strict(*arrays):
    return [np.ascontiguousarray(a).view(Strict) for a in arrays]


assert numba.config.DISABLE_JIT
rng = np.random.default_rng(5)
soups = 0
for _ in range(600):
    n = int(rng.integers(3, 9))
    faces = np.array([rng.permutation(n)[:3] for _ in range(rng.integers(1, 21))], dtype=np.int32)
    faces = faces[rng.integers(0, len(faces), len(faces))]
    (faces,) = strict(faces)
    edges, face_edges, edge_faces, count = strict(*topology._edges(faces, n))
    start, fan = topology._fans(faces, edges, face_edges, edge_faces, count, n)
    assert start[-1] == len(fan) == faces.size
    assert sorted(fan.tolist()) == sorted(3 * list(range(len(faces))))
    topology._walk_boundary(faces, edges, face_edges, edge_faces, count)
    (corners,) = strict(rng.integers(0, 3, (int(rng.integers(3, 9)), 2)).astype(float))
    assert len(_clip_ears(corners)) == len(corners) - 2
    soups += 1
sys.stdout.write(f"{soups} soups\n")
