"""E's table 1: the time to analyse tangles of two meshes, ours beside the paper's; and how it grows with the segments.

The paper's times are for segments, paths and correspondences on a 3 GHz Pentium 4; ours is the whole analysis (hits,
segments, paths, kinds, regions, colours). The tangles are folded sheets with about as many triangles and segments.
"""

from __future__ import annotations

from unsnarl.bench.check import analyse
from unsnarl.bench.result import BenchResult, best_time, peak_memory
from unsnarl.mesh import TriMesh, combine
from unsnarl.scenes import folded_sheet

# triangles, the sheet that has about the paper's segments, the paper's segments, paths and total [ms]
TABLE = (
    (2_450, {"layers": 3, "bumps": 2.0, "height": 0.09}, 154, 4, 34),
    (2_450, {"layers": 6, "bumps": 5.0, "height": 0.28, "gap": 0.08}, 1_976, 23, 391),
    (31_250, {"layers": 2, "bumps": 3.0, "height": 0.07}, 284, 8, 376),
    (31_250, {"layers": 6, "bumps": 5.0, "height": 0.16, "gap": 0.1}, 4_540, 30, 7_906),
)
COPIES = (5, 50, 490)  # of the second tangle, side by side: about 10,000, 100,000 and 1,000,000 segments


def run(table=TABLE, copies: tuple[int, ...] = COPIES) -> BenchResult:
    """Rows of the table and of growing tangles; ratios: the paper's total over ours, and our growth per segment."""
    result = BenchResult("paths")
    for triangles, options, segments, paths, total in table:
        mesh = folded_sheet.build(triangles, **options)
        seconds, report = _time(mesh, 9)
        result.add(_row("E table 1", report, seconds, segments, paths, total))
        result.ratios[f"E, {triangles:,} triangles, {segments:,} segments"] = total / 1e3 / seconds
    per_segment = []
    for count in copies:
        seconds, report = _time(_side_by_side(count), 3)
        result.add(_row(f"{count} copies", report, seconds))
        per_segment.append(seconds / len(report.segments))
    if len(per_segment) > 1:
        result.ratios["unsnarl, time per segment at the most over that at the fewest"] = (
            per_segment[-1] / per_segment[0]
        )
    return result


def _side_by_side(count: int) -> TriMesh:
    triangles, options, *_ = TABLE[1]
    mesh = folded_sheet.build(triangles, **options)
    return combine([mesh.moved(mesh.x + [1.1 * (k % 20), 1.3 * (k // 20), 0]) for k in range(count)])


def _time(mesh, repeat: int):
    analyse(mesh)
    return best_time(lambda: analyse(mesh), repeat)


def _row(name, report, seconds, segments=None, paths=None, total=None) -> dict:
    return {
        "tangle": name,
        "triangles": len(report.mesh.faces),
        "segments": len(report.segments),
        "paths": len(report.path_list),
        "inside": len(report.regions.vertex),
        "unsnarl ms": 1e3 * seconds,
        "paper segments": segments,
        "paper paths": paths,
        "paper ms": total,
        "peak MiB": peak_memory(),
    }
