"""Small scenes with nasty contacts, and a simulator that is watched at every step."""

from __future__ import annotations

import numpy as np

from tests.resolve.states import rotation
from unsnarl.detect.certify import ipctk_finds_intersections
from unsnarl.detect.edge_face import find_hits
from unsnarl.dynamics.system import elastic_energy
from unsnarl.energies.materials import MATERIALS, Material
from unsnarl.io.frames import Frames
from unsnarl.mesh import combine
from unsnarl.mesh.primitives import box, sheet, sphere
from unsnarl.simulation.scene import Body, Cloth, Scene, Wind
from unsnarl.simulation.simulate import Simulator

FPS = 24.0


class Watched(Simulator):
    """After every step, also after those that come of a halved one, nothing crosses anything; else it stops."""

    def _step(self, t0, t1, counts, depth):
        super()._step(t0, t1, counts, depth)
        assert np.isfinite(self.x).all() and np.isfinite(self.v).all(), f"{self.scene.name}: NaN at {t1:.4f} s"
        hits = find_hits(self.surfaces.mesh, self._with_bodies(self.x, t1), self.surfaces.bvh)
        assert len(hits) == 0, f"{self.scene.name}: {len(hits)} edges cross faces at {t1:.4f} s"

    def mechanical_energy(self) -> float:
        """[J] of motion and of height."""
        mass, up = self.system.mass, "xyz".index(self.scene.up)
        return float(0.5 * (mass[:, None] * self.v**2).sum() + self.scene.gravity * (mass * self.x[:, up]).sum())

    def energy(self) -> float:
        """[J] of motion, of height, and of stretch and bend."""
        return self.mechanical_energy() + elastic_energy(self.system, self.x)

    def stretch(self) -> np.ndarray:
        """(e,) lengths of the edges, relative to those at rest."""
        ends = self.x[self.system.mesh.edges]
        return np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) / self.edge_length


def run(scene: Scene, judge: bool = True) -> dict:
    """Simulate a scene step by step, watched; figures of the run."""
    simulator = Watched(scene)
    assert simulator.stats["ef_pairs"] == 0, f"{scene.name} is not clean to begin with"
    start = {"energy": [simulator.energy()], "mechanical": [simulator.mechanical_energy()]}
    out = start | {"halvings": [0], "zones": 0, "collisions": 0, "stretch": [1.0]}
    while simulator.number < scene.frames - 1:
        stats = simulator.advance().stats
        assert stats["ef_pairs"] == 0
        if judge:
            x = simulator._with_bodies(simulator.x, simulator.number / scene.fps)
            crosses, name = ipctk_finds_intersections(x, simulator.surfaces.mesh.faces, simulator.surfaces.cloth)
            assert not crosses, f"{scene.name}, frame {simulator.number}: {name} finds an intersection"
        out["energy"].append(simulator.energy())
        out["mechanical"].append(simulator.mechanical_energy())
        out["halvings"].append(stats["halvings"])
        out["stretch"].append(simulator.stretch().max())
        out["zones"] += stats["zones"]
        out["collisions"] += stats["collisions"]
    return out


def _moving(mesh, at, frames) -> Body:
    """at : (t [s]) -> (n, 3)"""
    return Body(Frames(mesh, np.stack([at(k / FPS) for k in range(frames + 1)]), FPS), friction=0.8)


def _floor(height=0.0) -> Body:
    flat = sheet((4, 4), (4, 4), name="floor")
    return Body(flat.moved(flat.x + [0, 0, height]), friction=0.5)


def ribbon_falls_on_itself(frames):
    """Upright silk, 5 cm by 80 cm, hits the floor at 1 m/s."""
    flat = sheet((0.05, 0.8), (2, 40))
    x = np.column_stack([flat.x[:, 0], 0.004 * np.sin(20 * flat.x[:, 1]), flat.x[:, 1] + 0.42])
    return Scene([Cloth(flat.moved(x), "silk", velocity=(0, 0, -1))], [_floor()], frames=frames, up="z")


def crumpled_sheet_is_dropped(frames):
    """A sheet shaken out of shape, its rest shape flat, falls on the floor and opens up."""
    flat, rng = sheet((0.6, 0.6), (16, 16)), np.random.default_rng(0)
    x = flat.x
    for _ in range(60):
        shaken = x + 0.004 * rng.standard_normal(x.shape)
        x = x if len(find_hits(flat, shaken)) else shaken
    x = x @ rotation([1, 1, 0], 1.0).T + [0, 0, 0.4]
    return Scene([Cloth(flat.moved(x), "jersey", velocity=(0, 0, -2))], [_floor()], frames=frames, up="z")


def cloth_on_a_spinning_box(frames):
    """Two turns a second under a sheet: its corners wind themselves around the box and beat each other."""
    flat, body = sheet((0.9, 0.9), (18, 18)), box((0.3, 0.3, 0.3), (3, 3, 3))
    spin = _moving(body, lambda t: body.x @ rotation([0, 0, 1], 12.0 * t).T, frames)
    return Scene([Cloth(flat.moved(flat.x + [0.05, 0.02, 0.17]))], [spin], frames=frames, up="z")


def cloth_on_a_tumbling_box(frames):
    flat, body = sheet((0.9, 0.9), (18, 18)), box((0.3, 0.3, 0.3), (3, 3, 3))
    spin = _moving(body, lambda t: body.x @ rotation([1, 0.3, 0.1], 9.0 * t).T, frames)
    return Scene([Cloth(flat.moved(flat.x + [0.05, 0.02, 0.25]), "silk")], [spin], frames=frames, up="z")


def ten_sheets(frames):
    """One on the other, of three fabrics and finenesses."""
    cloths = []
    for k in range(10):
        flat = sheet((0.3, 0.3), (6 + k % 3, 6))
        x = flat.x @ rotation([0, 0, 1], 0.7 * k).T + [0.01 * k, 0, 0.02 + 0.015 * k]
        cloths.append(Cloth(flat.moved(x), ("cotton", "silk", "denim")[k % 3]))
    return Scene(cloths, [_floor()], frames=frames, up="z")


def fine_mesh(frames):
    """Edges of 4 mm, much shorter than the thickness of 1 cm."""
    flat = sheet((0.1, 0.1), (25, 25))
    x = flat.x @ rotation([1, 0.2, 0], 1.4).T + [0, 0, 0.065]
    return Scene([Cloth(flat.moved(x), "silk")], [_floor()], frames=frames, up="z", thickness=0.01)


def coarse_mesh(frames):
    """Edges of 33 cm, much longer than the thickness of half a millimetre, thrown on a ball."""
    flat, ball = sheet((2, 2), (6, 6)), sphere(0.3, 80)
    x = flat.x @ rotation([1, 0.3, 0], 1.5).T + [0, 0, 1.7]
    bodies = [_floor(), Body(ball.moved(ball.x + [0, 0, 0.32]))]
    cloth = Cloth(flat.moved(x), "fleece", velocity=(0, 0, -3))
    return Scene([cloth], bodies, frames=frames, up="z", thickness=5e-4)


def pressed_between_bodies(frames):
    """A ball comes down on a sheet on a box, until there is half a millimetre left, and goes on sideways."""
    flat, low, ball = sheet((0.6, 0.6), (14, 14)), box((0.3, 0.3, 0.2), (3, 3, 2)), sphere(0.15, 180)
    seconds = frames / FPS

    def at(t):
        down = np.sin(0.5 * np.pi * min(1.0, 2 * t / seconds)) ** 2
        return ball.x + [max(0.0, 0.1 * (t / seconds - 0.5)), 0, 0.3005 - 0.05 * down]

    bodies = [Body(low), _moving(ball, at, frames)]
    return Scene([Cloth(flat.moved(flat.x + [0, 0, 0.11]))], bodies, frames=frames, up="z", thickness=0.004)


def body_that_changes_shape(frames):
    """A ball breathes and bends under a sheet: nothing about it is rigid."""
    flat, ball = sheet((1.0, 1.0), (22, 22)), sphere(0.3, 720)

    def at(t):
        x = ball.x * (1 + 0.25 * np.sin(6 * t) * np.array([1, -1, 0.5]))
        return x + np.outer(0.1 * np.sin(5 * t) * x[:, 2] ** 2 / 0.09, [1, 0, 0])

    cloth = Cloth(flat.moved(flat.x + [0, 0, 0.31]), "jersey")
    return Scene([cloth], [_moving(ball, at, frames)], frames=frames, up="z")


def random_scene(seed, frames):
    """Up to four cloths of any fabric, thrown, in wind; with up to two bodies that may spin and swing, or pinned."""
    rng = np.random.default_rng(seed)
    bodies, kind = [], rng.integers(4)
    if kind > 0:
        body = (sphere(0.15, 180), box((0.3, 0.2, 0.25), (2, 2, 2)), sphere(0.2, 320))[rng.integers(3)]
        body = body.moved(body.x * rng.uniform(0.3, 1.5, 3)) if rng.integers(2) else body
        axis, rate = rng.standard_normal(3), rng.uniform(-8, 8) * rng.integers(2)
        swing, pace = 0.15 * rng.integers(2) * rng.standard_normal(3), rng.uniform(1, 8)
        bodies.append(_moving(body, lambda t: body.x @ rotation(axis, rate * t).T + swing * np.sin(pace * t), frames))
    if kind > 1:
        bodies.append(_floor(-0.6))
    solid, cloths = [b.mesh.moved(b.at(0)) for b in bodies], []
    for _ in range(rng.integers(1, 5)):
        across, size = int(rng.integers(3, 14)), 10 ** rng.uniform(-0.8, 0.1)
        flat = sheet((size, size * rng.uniform(0.1, 1)), (across, max(1, int(across * rng.uniform(0.3, 1)))))
        x = flat.x @ rotation(rng.standard_normal(3), rng.uniform(0, 3)).T
        x = x + 0.02 * size * np.sin(9 * x / size + rng.uniform(0, 6, 3))
        if rng.integers(3):
            fabric = sorted(MATERIALS)[rng.integers(len(MATERIALS))]
        else:
            fabric = Material("odd", *(10 ** rng.uniform([-1.5, 1, 1, -1, -7], [0, 5, 5, 3, -3])))
        velocity = rng.choice([0, 1, 5]) * rng.standard_normal(3)
        pins = [0] if rng.integers(2) and not bodies else []  # a body could run over a pin
        for attempt in range(60):
            placed = flat.moved(x + rng.uniform(-0.4, 0.4, 3) + [0, 0, 0.3 + 0.02 * attempt])
            if len(find_hits(combine([*(c.mesh for c in cloths), placed, *solid]))) == 0:
                cloths.append(Cloth(placed, fabric, velocity=velocity, pins=pins))
                break
    return Scene(
        cloths,
        bodies,
        frames=frames,
        substeps=int(rng.integers(1, 5)),
        up="z",
        thickness=None if rng.integers(2) else float(10 ** rng.uniform(-3.3, -1.7)),
        friction=rng.uniform(0, 1),
        wind=None if rng.integers(3) else Wind(tuple(4 * rng.standard_normal(3)), gusts=0.5),
        name=f"random scene {seed}",
    )


STILL = (ribbon_falls_on_itself, crumpled_sheet_is_dropped, ten_sheets, fine_mesh, coarse_mesh)  # nothing gives energy
DRIVEN = (cloth_on_a_spinning_box, cloth_on_a_tumbling_box, pressed_between_bodies, body_that_changes_shape)
