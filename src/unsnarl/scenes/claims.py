"""What scenes claim about themselves, for their `check()`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unsnarl.mesh import TriMesh
from unsnarl.simulation.scene import Scene
from unsnarl.simulation.simulate import Frame, simulate
from unsnarl.tangles.check import check
from unsnarl.tangles.report import TangleReport


def assert_one_path(kind: str, meshes: list[TriMesh]) -> None:
    """The meshes cross along one path, of this kind."""
    found = check(meshes).counts
    assert found == {kind: 1}, f"expected one {kind}, found {found}"


def clean_frames(scene: Scene) -> Iterator[Frame]:
    """The frames of a scene, none of which has an intersection: by the exact test, and by ipctk if it is there."""
    for frame in simulate(scene):
        cloths = [cloth.mesh.moved(state.x) for cloth, state in zip(scene.cloths, frame.states)]
        report = check(cloths, bodies=[body.mesh.moved(body.at(frame.t)) for body in scene.bodies])
        assert report.clean, f"{scene.name}, frame {frame.number}: {len(report.hits)} edges cross faces"
        assert not judge_disagrees(report), f"{scene.name}, frame {frame.number}: ipctk finds an intersection"
        yield frame


def stretches(mesh: TriMesh, x: np.ndarray) -> np.ndarray:
    """(e,) how long the edges are at x (n, 3), relative to the mesh's own positions."""
    now, before = (np.linalg.norm(y[mesh.edges[:, 0]] - y[mesh.edges[:, 1]], axis=1) for y in (x, mesh.x))
    return now / before


def judge_disagrees(report: TangleReport) -> bool:
    """Whether ipctk, if it is there, finds an intersection."""
    try:
        import ipctk  # noqa: F401
    except ImportError:
        return False
    return report.second_opinion()["intersections"]
