"""A sheet of 2 m falls on a sphere, with self-collision, 40 frames at 24 fps: beside Blender's cloth and Newton's VBD.

Times are per frame, without set-up and compilation; the peers run at once after us at each size, on the same meshes.
`hits` are edges through faces, of the sheet with itself and with the sphere, by our exact check: for us the most on any
frame, for a peer those left on its last one.

    unsnarl : jersey, two steps a frame, each with as many rounds of contact and solve as it takes.
    Blender : cloth modifier, quality 5, self-collision. The same thickness, but 5 mm at least from the
              sphere: thinner, it falls through; at its default distances it takes several times as long. The
              material is its default too, with which the sheet drapes, and stretches by up to a half. With weight and
              stiffness as ours and no damping it does not: at 2,500 vertices the hem is at 0.40 m after 40 frames, at
              0.22 m with quality 20, where ours hangs to -0.64 m.
    Newton  : VBD on the CPU, 10 substeps of 10 iterations. The same weight, thickness, friction and damping, stiffness
              as the mean of warp and weft, bending as the mean over the hinges; the sphere is a true one. It stops
              after `NEWTON_SECONDS`; `newton frames` says how far it came, and its time is the mean of these.

Blender is left out above 22,500 vertices and Newton above 10,000.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from unsnarl.bench.peers import BLENDER, NEWTON, run_peer
from unsnarl.bench.result import BenchResult, peak_memory
from unsnarl.dynamics.system import build_system
from unsnarl.scenes import falling_sheet
from unsnarl.simulation.scene import Scene
from unsnarl.simulation.simulate import simulate

SIZES = (2_500, 10_000, 22_500, 40_000)
MOST = {"Blender": 22_500, "Newton": 10_000}  # vertices
NEWTON_SECONDS = 240


def run(sizes: tuple[int, ...] = SIZES, frames: int = 40) -> BenchResult:
    """Rows by size; ratios by peer and size, and the growth of our time per vertex up to the last size.

    The growth is over the size that comes nearest to a quarter of the last.
    """
    result = BenchResult("falling_sheet")
    _unsnarl(falling_sheet.build(sizes[0], frames=frames))  # kernels loaded, those for the folds that come late too ...
    _unsnarl(falling_sheet.build(max(sizes), frames=2))  # ... and those that only large meshes need
    per_vertex = {}
    for vertices in sizes:
        scene = falling_sheet.build(vertices, frames=frames)
        seconds, hits = _unsnarl(scene)
        count = len(scene.cloths[0].mesh.x)
        per_vertex[vertices] = seconds / count
        peers = {name: _peer(name, scene) for name, most in MOST.items() if vertices <= most}
        for name, found in peers.items():
            result.ratios[f"{name}, {count:,} vertices"] = (
                found if isinstance(found, str) else found["seconds"] / seconds
            )
        blender, newton = (found if isinstance(found := peers.get(name), dict) else {} for name in MOST)
        result.add(
            {
                "vertices": count,
                "unsnarl s/frame": seconds,
                "unsnarl s/vertex": per_vertex[vertices],
                "hits": hits,
                "blender s/frame": blender.get("seconds"),
                "blender hits": blender.get("hits"),
                "newton s/frame": newton.get("seconds"),
                "newton hits": newton.get("hits"),
                "newton frames": newton.get("frames"),
                "peak MiB": peak_memory(),
            }
        )
    last = sizes[-1]
    base = min(sizes[:-1], key=lambda size: abs(4 * size - last), default=last)
    if base != last:
        growth = per_vertex[last] / per_vertex[base]
        result.ratios[f"unsnarl, time per vertex at {last:,} over {base:,}"] = growth
    return result


def _unsnarl(scene: Scene) -> tuple[float, int]:
    """(seconds per frame, the most hits on any frame)."""
    seconds, hits = 0.0, 0
    frames = iter(simulate(scene))
    next(frames)  # sets up
    for _ in range(scene.frames - 1):
        began = time.perf_counter()
        frame = next(frames)
        seconds += time.perf_counter() - began
        hits = max(hits, len(falling_sheet.tangles(scene, frame.states[0].x).hits))
    return seconds / (scene.frames - 1), hits


def _peer(name: str, scene: Scene) -> dict | str:
    """What the peer measured, and the hits on its last frame; or why it was skipped."""
    with tempfile.TemporaryDirectory() as folder:
        given, final = Path(folder) / "scene.npz", Path(folder) / "final.npy"
        np.savez(given, **_for_peers(scene))
        if name == "Blender":
            found = run_peer(BLENDER, str(given), str(final))
        else:
            found = run_peer(NEWTON, str(given), str(final), str(NEWTON_SECONDS))
        if isinstance(found, dict):
            found["hits"] = len(falling_sheet.tangles(scene, np.load(final)).hits)
        return found


def _for_peers(scene: Scene) -> dict[str, np.ndarray | float]:
    """The scene as plain arrays and numbers in SI units, for scripts that know nothing of unsnarl."""
    (cloth,), (body,) = scene.cloths, scene.bodies
    fabric, mesh = cloth.material, cloth.mesh
    system = build_system(mesh, [fabric], np.zeros(len(mesh.faces), int), np.ones(len(mesh.faces), bool))
    hinges = system.hinges
    length = np.linalg.norm(mesh.x[hinges[:, 0]] - mesh.x[hinges[:, 1]], axis=1)
    return {
        "x": mesh.x,
        "faces": mesh.faces,
        "body": body.mesh.x,
        "body_faces": body.mesh.faces,
        "radius": falling_sheet.RADIUS,
        "frames": scene.frames,
        "fps": scene.fps,
        "gravity": scene.gravity,
        "thickness": scene.thickness,
        "friction": scene.friction,
        "density": fabric.density,
        "stretch": 0.5 * (fabric.stretch_warp + fabric.stretch_weft),
        "bend": float((system.fold[:, 0] / length).mean()),  # moment per length of a hinge and radian [N]
        "damping": fabric.damping,
    }
