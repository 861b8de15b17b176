"""What is connected to what, and the shape at rest."""

from unsnarl.mesh.polygons import Polygons
from unsnarl.mesh.tri_mesh import TriMesh, as_mesh, combine, split_non_manifold

__all__ = ["Polygons", "TriMesh", "as_mesh", "combine", "split_non_manifold"]
