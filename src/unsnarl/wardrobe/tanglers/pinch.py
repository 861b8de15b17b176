"""Pinched by a body: skin that presses on skin, or two balls that close, trap cloth and push it through itself.

The person presses an arm into the side, bends the elbows or squats, several times too quickly; the body passes through
itself there. Or two balls meet within a folded sheet.
"""

from __future__ import annotations

import numpy as np

from unsnarl.io.frames import Frames
from unsnarl.mesh.primitives import sphere
from unsnarl.simulation.scene import Body, Cloth
from unsnarl.wardrobe.dress import Dressed
from unsnarl.wardrobe.tanglers.fold_and_press import flat_sheet, folded_sheet
from unsnarl.wardrobe.tanglers.state import FPS, Tangled, draped, let_go, motion, moving

WORN = {"arm_into_torso": ("tshirt", "shirt"), "elbow_bent": ("shirt",), "deep_squat": ("trousers", "dress")}
STEPS = 12


def draw(rng: np.random.Generator) -> Tangled:
    """A garment on a person in motion, or a sheet between two balls."""
    return _between_balls(rng) if rng.random() < 0.5 else _on_a_person(rng)


def _on_a_person(rng: np.random.Generator) -> Tangled:
    name = str(rng.choice(list(WORN)))
    worn = draped(str(rng.choice(WORN[name])))
    seconds = len(motion(name)) / motion(name).fps
    body = moving(name, rng.uniform(0.7, 1.1) * seconds * FPS / STEPS)
    return let_go(worn, STEPS, bodies=[body])


def _between_balls(rng: np.random.Generator) -> Tangled:
    """They come from above and from below, until they are 0 to 3 cm apart."""
    mesh = folded_sheet(rng, flat_sheet(rng))
    low, high = mesh.x[:, 1].min(), mesh.x[:, 1].max()
    radius = rng.uniform(0.04, 0.1)
    place = mesh.x[rng.integers(len(mesh.x))] * [1, 0, 1]
    at = np.linspace(0.0, 1.0, STEPS + 1)
    bodies = []
    for way, start in ((1.0, low - radius - 0.01), (-1.0, high + radius + 0.01)):
        ball = sphere(radius, 320, name="ball")
        end = 0.5 * (low + high) - way * (radius + rng.uniform(0.0, 0.015))
        centre = place + np.outer(start + at * (end - start), [0, 1, 0])
        bodies.append(Body(Frames(ball.moved(ball.x + centre[0]), ball.x + centre[:, None], FPS), 0.6))
    held = Dressed("sheet", (Cloth(mesh),), tuple(bodies))
    return let_go(held, STEPS, gravity=0.0, air=2.0)
