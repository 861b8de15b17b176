"""`untangle`: a quasi-static run that ends when the exact test finds no intersection.

Each step draws what is tangled back (`untangle`) and solves for the cloth's new shape, starting from rest: elastic
forces hold it together, nothing that is not tangled is let through anything. When the number of hits does not fall for
a while, the pulls get stronger, then cloth is let through cloth until it falls again. Once nothing crosses, the cloth
relaxes towards its rest shape and towards where it was, without letting an intersection in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from unsnarl.dynamics.implicit import Options
from unsnarl.mesh import TriMesh
from unsnarl.simulation.scene import Body, Cloth, Scene
from unsnarl.simulation.simulate import Pulling, Simulator

STEP = 0.02  # [s]
SIZE = 0.02  # [m], about the mean edge: meshes are scaled to it, by a power of two, while they are worked on
STALL = 12  # steps without fewer hits, after which the pulls are changed
EFFORTS = (
    Pulling(),
    Pulling(strength=100.0, most=0.5, past=2.0),
    Pulling(strength=100.0, most=0.5, past=2.0, loose=True),
    Pulling(strength=400.0, most=1.0, past=4.0, loose=True),
)


def prototype(meshes, bodies=(), method="rbf", max_steps=300, rest=None, flat=True, say=None, reach2=25.0, beta=0.05, **settings):
    sizes = np.concatenate([np.linalg.norm(np.diff(m.x[m.edges], axis=1), axis=2).ravel() for m in meshes])
    from unsnarl.energies.materials import Material
    L = sizes.mean()
    S = reach2 * L**2 * 0.15 / STEP**2
    felt = Material("felt", density=0.15, stretch_warp=S, stretch_weft=S, shear=0.3*S, bend=beta * S * L**2, damping=0.0)
    cloths = [Cloth(m, felt, flat=flat) for m in (meshes if rest is None else rest)]
    scene = Scene(cloths, [Body(b, 0.0) for b in bodies], gravity=0.0, air=0.0, fps=1 / STEP, substeps=1, friction=0.0,
                  untangle=method, frames=max_steps + 1, **settings)
    sim = Simulator(scene, Options(tolerance=1e-2, most=100))
    sim.x = np.concatenate([m.x for m in meshes])
    history = []
    best, since, level = None, 0, 0
    for step in range(max_steps + 1):
        everything = sim._with_bodies(sim.x, 0.0)
        report = sim.tangle(everything)
        hits = len(report.hits)
        history.append(hits)
        if say:
            say(step, report, level)
        if hits == 0:
            break
        if best is None or hits < best:
            best, since = hits, 0
            level = max(level - (step % 3 == 0), 0)
        else:
            since += 1
            if since >= STALL:
                level, since = (level + 1) % len(EFFORTS), 0
                best = hits
        sim.pulling = EFFORTS[level]
        sim.v[:] = 0.0
        sim.pull[:] = 0.0
        sim.push[:] = 0.0
        sim.advance()
    return sim, history
