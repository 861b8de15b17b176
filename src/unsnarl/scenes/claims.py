"""What scenes claim about themselves, for their `check()`."""

from __future__ import annotations

from unsnarl.mesh import TriMesh
from unsnarl.tangles.check import check


def assert_one_path(kind: str, meshes: list[TriMesh]) -> None:
    """The meshes cross along one path, of this kind."""
    found = check(meshes).counts
    assert found == {kind: 1}, f"expected one {kind}, found {found}"
