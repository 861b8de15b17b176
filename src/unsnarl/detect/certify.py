"""A second opinion: ipctk's verdict on whether anything crosses, by code that shares nothing with ours."""

from __future__ import annotations

import numpy as np

from unsnarl.errors import need


def ipctk_finds_intersections(x: np.ndarray, faces: np.ndarray, first_body_vertex: int | None = None):
    """Whether ipctk finds an intersection (bool), and the judge's name and version (str).

    x, faces          : (n, 3) positions [m], (m, 3) vertices
    first_body_vertex : vertices from this one on are bodies', which are not judged against each other

    ipctk works in floating point and knows no perturbation: where surfaces only touch, it may say otherwise than
    the exact test.
    """
    ipctk = need("ipctk", "--certify", "certify")
    mesh = ipctk.CollisionMesh(x, ipctk.edges(faces), faces)
    if first_body_vertex is not None and first_body_vertex < len(x):
        mesh.can_collide = ipctk.make_static_obstacle_filter(first_body_vertex)
    return bool(ipctk.has_intersections(mesh, x)), f"ipctk {ipctk.__version__}"
