"""The whole analysis of a folded sheet, tangled and clean, beside ipctk (yes or no) and pymeshlab (face list).

The analysis: hits, paths, kinds, regions, colours.

The times are those of an answer for new positions of a known mesh: connectivity is made before, trees are built anew.
The peers get the same arrays. pymeshlab has no clean separation of the two and is given its loaded mesh.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from unsnarl.bench.peers import PYMESHLAB, run_peer
from unsnarl.bench.result import BenchResult, best_time, peak_memory
from unsnarl.io import write_mesh
from unsnarl.mesh import TriMesh
from unsnarl.scenes import folded_sheet
from unsnarl.tangles.check import check
from unsnarl.tangles.report import TangleReport

LAYERS, BUMPS, HEIGHT, GAP = 7, 11, 0.3, 0.1
NO_IPCTK = "skipped: not installed (pip install 'unsnarl[certify]')"


def sheet(triangles: int, tangled: bool) -> TriMesh:
    """The sheet of this bench: about 23,000 hits at 100,000 triangles when tangled, none when clean."""
    return folded_sheet.build(triangles, layers=LAYERS, bumps=BUMPS, height=HEIGHT if tangled else 0.0, gap=GAP)


def analyse(mesh: TriMesh) -> TangleReport:
    """Hits, paths, kinds, regions and colours."""
    report = check(mesh)
    assert report.colours is not None
    return report


def run(sizes: tuple[int, ...] = (100_000, 1_000_000)) -> BenchResult:
    """Rows by size and state; ratios at the first size; `growth` is our time at the last size over the first."""
    result = BenchResult("check")
    times = {}
    for triangles in sizes:
        for tangled in (True, False):
            mesh = sheet(triangles, tangled)
            analyse(mesh)  # connectivity made, kernels loaded
            first = triangles == sizes[0]
            seconds, report = best_time(lambda mesh=mesh: analyse(mesh), 7 if first else 3)
            times[triangles, tangled] = seconds
            judge, verdict = _ipctk(mesh, 5 if first else 1)
            faces = _pymeshlab(mesh) if first else None
            state = "tangled" if tangled else "clean"
            result.add(
                {
                    "sheet": state,
                    "triangles": len(mesh.faces),
                    "hits": len(report.hits),
                    "paths": len(report.path_list),
                    "crossing faces": len(report.crossing_faces),
                    "unsnarl s": seconds,
                    "ipctk s": judge,
                    "ipctk verdict": verdict,
                    "pymeshlab s": faces["seconds"] if isinstance(faces, dict) else None,
                    "pymeshlab faces": faces["faces"] if isinstance(faces, dict) else None,
                    "peak MiB": peak_memory(),
                }
            )
            if first:
                result.ratios[f"ipctk, {state}"] = NO_IPCTK if judge is None else judge / seconds
                result.ratios[f"pymeshlab, {state}"] = faces if isinstance(faces, str) else faces["seconds"] / seconds
    if len(sizes) > 1:
        for tangled in (True, False):
            growth = times[sizes[-1], tangled] / times[sizes[0], tangled]
            state = "tangled" if tangled else "clean"
            result.ratios[f"unsnarl at {sizes[-1]:,} over {sizes[0]:,} triangles, {state}"] = growth
    return result


def _ipctk(mesh: TriMesh, repeat: int):
    """(seconds, verdict) of ipctk's yes or no; (None, None) where it is not installed."""
    try:
        import ipctk
    except ImportError:
        return None, None
    judge = ipctk.CollisionMesh(mesh.x, mesh.edges, mesh.faces)
    seconds, verdict = best_time(lambda: ipctk.has_intersections(judge, mesh.x), repeat)
    return seconds, "intersects" if verdict else "clean"


def _pymeshlab(mesh: TriMesh) -> dict | str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sheet.ply"
        write_mesh(path, mesh)
        return run_peer(PYMESHLAB, str(path))
