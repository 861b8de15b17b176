"""`simulate`: from a scene to its frames, one after the other.

A time step, downwards through the folders: what is tangled (`tangles`) is drawn back (`untangle`), what is near
(`detect`) pushes and brakes (`contact`), the implicit solve finds the velocities (`dynamics`), and what would pass
through something is stopped (`resolve`), unless it has to cross back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from unsnarl.contact.repulsion import repel
from unsnarl.contact.solids import constrain, sharp_vertices, solid, touch
from unsnarl.contact.stitches import Stitches, pull_together
from unsnarl.detect.edge_face import find_hits
from unsnarl.detect.features import surfaces
from unsnarl.detect.nearby import Nearby
from unsnarl.detect.proximity import as_proximity, find_proximity
from unsnarl.detect.sweep import find_collisions
from unsnarl.dynamics.assembly import shape_gradients
from unsnarl.dynamics.coarse import build_coarse, coarse_inverse
from unsnarl.dynamics.implicit import Options, Outside, implicit_step, linearise
from unsnarl.dynamics.pcg import joined, no_couplings
from unsnarl.dynamics.system import Scratch, build_system, rest_lengths
from unsnarl.dynamics.wind import add_wind
from unsnarl.errors import BadInput
from unsnarl.jit import use_threads
from unsnarl.mesh import combine
from unsnarl.resolve.strain import mend, tears
from unsnarl.resolve.zones import resolve
from unsnarl.simulation.scene import Scene, between_frames
from unsnarl.tangles.check import analyse, parts_of
from unsnarl.tangles.report import TangleReport
from unsnarl.untangle import RESPONSES
from unsnarl.untangle.auto import Auto
from unsnarl.untangle.response import Response
from unsnarl.untangle.uv import UvPulls

SEPARATION = 0.1  # share of the thickness that nothing comes nearer than
GAP = 0.5  # share of the thickness at which impulses stop what approaches
COUNTED = (
    "steps", "halvings", "solves", "pcg_iterations", "contacts", "touching", "collisions", "zones", "largest_zone"
)  # fmt: skip
_CARRIED = ("x", "v", "push", "released", "pull")  # from step to step
ROUNDS = 4  # of contact and solve in a step, at most
FEW = 0.01  # collisions per vertex that are left to the resolver without another round
HALVINGS = 5  # of a step that fails, at most
STUCK = 2  # the same where pins and bodies left no room in the frame before: no step would be small enough
STITCH = 10.0  # times as stiff as the cloth is a stitch
SEAM = 0.1  # of the thickness: that of seams while they are open, so that their sides do not push each other away
NEAR = 0.5  # of the thickness: gap at which the ends of a stitch are one point for collisions
ASTRAY = 1e7  # [m/s] faster than anything can be that is simulated
CLOSED = 0.15  # the same when intersections are counted


@dataclass(frozen=True)
class Pulling:
    """How what is tangled is drawn back.

    strength : stiffness of the pulls, in units of mass / step^2
    most     : of a mean edge, the way in a step, at most
    past     : of the thickness, by how much sheets are drawn past each other
    farthest : mean edges that anything moves in a step while something is tangled, at most
    """

    strength: float = 10_000.0
    most: float = 0.3
    past: float = 2.0
    farthest: float = 10.0


@dataclass(frozen=True, eq=False)
class Anchors:
    """Springs without length that hold particles. at : (n, 3) [m], where; stiffness : (n,) [N/m]."""

    at: np.ndarray
    stiffness: np.ndarray


@dataclass(frozen=True, eq=False)
class State:
    """Where a cloth is, and how it moves. x, v : (n, 3) [m], [m/s]; t : [s]."""

    x: np.ndarray
    v: np.ndarray
    t: float


@dataclass(frozen=True, eq=False)
class Frame:
    """One frame: a State for each cloth of the scene, and what it took to get there (`stats`, plain numbers)."""

    t: float
    states: tuple[State, ...]
    number: int = 0
    stats: dict = field(default_factory=dict)


class StepFailed(Exception):
    """A time step that has to be tried again in halves."""


class Simulator:
    """A scene in motion: call `advance` once a frame. `snapshot` and `restore` carry it over to another process."""

    def __init__(self, scene: Scene, options: Options | None = None):
        self.scene, self.options = scene, options or Options()
        use_threads()
        cloths, bodies = [c.mesh for c in scene.cloths], [b.mesh.moved(b.at(0.0)) for b in scene.bodies]
        mesh = combine(cloths)
        of_face = np.repeat(np.arange(len(cloths)), [len(m.faces) for m in cloths])
        flat = np.array([c.flat for c in scene.cloths])[of_face]
        self.system = build_system(mesh, [c.material for c in scene.cloths], of_face, flat)
        self.first = np.cumsum([0] + [len(m.x) for m in cloths])  # vertex of each cloth
        self.solids = [solid(m, b.friction) for m, b in zip(bodies, scene.bodies)]
        self.surfaces = surfaces(combine([*cloths, *bodies]), len(mesh.x))
        self.pinned = np.concatenate([c.pins + at for c, at in zip(scene.cloths, self.first)]).astype(np.int32)
        inverse = 1.0 / self.system.mass
        inverse[self.pinned] = 0.0
        self.inverse_mass = np.concatenate([inverse, np.zeros(sum(len(m.x) for m in bodies))])
        self.friction = np.full(len(self.inverse_mass), float(scene.friction))
        at = len(mesh.x)
        for m, b in zip(bodies, scene.bodies):
            self.friction[at : at + len(m.x)] = b.friction
            at += len(m.x)
        self.stitches = _stitches(scene.cloths, self.first)
        sharp = [scene.thickness * sharp_vertices(m) for m in bodies]  # elsewhere, constraints on the vertices will do
        self.thickness = np.concatenate([_thickness(mesh, scene.thickness), *sharp])
        self.thickness[self.stitches.pairs] *= SEAM
        self.edge_length = rest_lengths(mesh)
        self.parts = parts_of([*cloths, *bodies], len(cloths))
        self.respond = self.method(scene.untangle)
        self.own_shapes = True  # of the faces at rest, not ones that a method has given them
        self.pulling = Pulling()
        self.rounds, self.halvings = ROUNDS, HALVINGS
        self.anchors: Anchors | None = None
        self.known: TangleReport | None = None  # what `tangle` says of where it stands, if somebody has asked
        self.scratch = Scratch()
        self.coarse = build_coarse(mesh, self.edge_length)
        self.inverse = None  # of the coarse level, made in the first step of a frame
        self.gravity = np.zeros(3)
        self.gravity["xyz".index(scene.up)] = -scene.gravity
        self.number = 0  # of the frame that it stands at
        self.x, self.v = mesh.x.copy(), np.concatenate([c.velocity for c in scene.cloths])
        self.push = np.zeros(len(mesh.x))  # [N] on bodies, in the step before
        self.released = np.zeros(len(mesh.x), np.bool_)  # let go by a body in the step before
        self.pull = np.zeros_like(self.v)  # [m/s^2] acceleration in the step before
        self.stats = self._measured({}, time.perf_counter())

    def frame(self) -> Frame:
        """The frame that the simulation stands at."""
        t = self.number / self.scene.fps
        ends = zip(self.first, self.first[1:])
        states = tuple(State(self.x[a:b].copy(), self.v[a:b].copy(), t) for a, b in ends)
        return Frame(t, states, self.number, dict(self.stats))

    def advance(self) -> Frame:
        """Simulate up to the next frame."""
        counts, began = self.go_on()
        self.stats = self._measured(counts, began)
        return self.frame()

    def go_on(self) -> tuple[dict, float]:
        """`advance` without looking at what came of it: what it took, and when it began."""
        began = time.perf_counter()
        counts = dict.fromkeys(COUNTED, 0)
        self.inverse = None
        steps = self.scene.substeps
        for k in range(steps):
            t0, t1 = ((self.number + share / steps) / self.scene.fps for share in (k, k + 1))
            self._advance(t0, t1, 0, counts)
        self.number += 1
        return counts, began

    def method(self, name: str):
        """The method of untangling of this name, ready to be asked; None for "none"."""
        if name not in ("uv", "auto"):
            return RESPONSES.get(name)
        uv = UvPulls([c.mesh for c in self.scene.cloths], len(self.inverse_mass), self.inverse_mass == 0.0)
        return uv if name == "uv" else Auto(uv)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Everything that the further run depends on, as arrays; after `restore` it goes on bit for bit the same."""
        keep = {key: getattr(self, key).copy() for key in _CARRIED}
        more = self.respond.snapshot() if isinstance(self.respond, (UvPulls, Auto)) else {}
        return {"number": np.int64(self.number), **keep, **more}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        for key in _CARRIED:
            value, now = arrays[key], getattr(self, key)
            if value.shape != now.shape or value.dtype != now.dtype:
                raise BadInput(f"the checkpoint's {key} is {value.dtype} {value.shape}, not {now.dtype} {now.shape}")
            setattr(self, key, np.ascontiguousarray(value))
        if isinstance(self.respond, (UvPulls, Auto)):
            self.respond.restore(arrays)
        self.number = int(arrays["number"])
        self.stats = self._measured({}, time.perf_counter())

    def _measured(self, counts: dict, began: float) -> dict:
        mesh, x = self.surfaces.mesh, self._with_bodies(self.x, self.number / self.scene.fps)
        if len(self.stitches):
            mesh = mesh.with_origin(self.stitches.ids(x, mesh.origin, CLOSED * self.scene.thickness))
        hits = find_hits(mesh, x, self.surfaces.bvh)
        moving = 0.5 * float((self.system.mass[:, None] * self.v**2).sum())
        return {
            "frame": self.number,
            "t": self.number / self.scene.fps,
            **counts,
            "kinetic_energy": moving,
            "ef_pairs": len(hits),
            "seconds": time.perf_counter() - began,
        }

    def tangle(self, everything: np.ndarray) -> TangleReport:
        """What is tangled where cloths and bodies are at `everything` (n, 3)."""
        mesh = self.surfaces.mesh
        return analyse(mesh.moved(everything), self.parts, find_hits(mesh, everything, self.surfaces.bvh))

    def _answer(self, everything: np.ndarray) -> Response | None:
        """What the method of untangling does about it; None if there is nothing to be done."""
        if self.respond is None:
            return None
        report, self.known = self.known, None
        watched = report is None and isinstance(self.respond, Auto)
        report = report or self.tangle(everything)
        if report.clean and isinstance(self.respond, (UvPulls, Auto)):
            self.respond.begin_again()
        elif watched:
            self.respond.watch(report)
        return None if report.clean else self.respond(report, self.pulling.past * self.scene.thickness)

    def _with_bodies(self, x: np.ndarray, t: float) -> np.ndarray:
        return np.concatenate([x, *(b.at(t) for b in self.scene.bodies)]) if self.scene.bodies else x

    def _advance(self, t0: float, t1: float, depth: int, counts: dict) -> None:
        try:
            self._step(t0, t1, counts, depth)
        except StepFailed:
            counts["halvings"] += 1
            middle = 0.5 * (t0 + t1)
            self._advance(t0, middle, depth + 1, counts)
            self._advance(middle, t1, depth + 1, counts)

    def _step(self, t0: float, t1: float, counts: dict, depth: int) -> None:
        """One time step, halved `depth` times; one that cannot be halved any more ends as well as it can."""
        last = depth == self.halvings
        scene, system, h = self.scene, self.system, t1 - t0
        x, v, n = self.x, self.v, len(self.x)
        everything = self._with_bodies(x, t0)
        if len(self.stitches):
            self.surfaces.ids[:] = self.stitches.ids(everything, self.surfaces.mesh.origin, NEAR * scene.thickness)

        force = system.mass[:, None] * self.gravity
        drag = np.zeros((n, 3, 3))
        if scene.wind is not None:
            add_wind(x, v, system.mesh.faces, self._wind(t0), scene.wind.drag, scene.wind.lift, force, drag)
        if self.anchors is not None:
            k = self.anchors.stiffness
            force += k[:, None] * (self.anchors.at - x)
            drag[:, [0, 1, 2], [0, 1, 2]] += h * k[:, None]
        for s, body in zip(self.solids, scene.bodies):
            s.move(body.at(t0), body.at(t1))
        pins = self._pins(t1)
        pin_velocity = (pins - self._pins(t0)) / h
        frictions = [s.friction for s in self.solids]
        moving = np.concatenate([v, *((b.at(t1) - b.at(t0)) / h for b in scene.bodies)])

        answer = self._answer(everything)
        self.take_shapes(None if answer is None else answer.rest)
        separation, held = SEPARATION * scene.thickness, None
        if answer is not None:
            least, separation = separation, max(separation, answer.sheets.apart)

            def held(found, x1):
                return answer.sheets.held(found, everything, x1, least)

        share = 0.5**depth  # of a step, so that halving one does not double the speed of what is pulled
        pulls = no_couplings(n)
        if answer is not None:
            most = share * self.pulling.most * float(self.edge_length.mean())
            pulls = answer.couplings(moving, h, self.inverse_mass, n, self.pulling.strength, most)
        holding = scene.resolver != "none"
        linear = near = found = None
        nearby = Nearby(self.surfaces)
        left = np.inf  # collisions after the round before
        spared = np.zeros(n, np.bool_)  # particles that a body would have to pull
        touches, pull = [None] * len(self.solids), self.pull
        expected = self._with_bodies(x + h * (v + h * pull), t1)
        for again in range(self.rounds):  # what the solve sends into each other is near in the next round
            # as they move now, at first: where they were stopped, the acceleration of the step before would lift them
            will = v if again == 0 else (expected[:n] - x) / h
            touches = [
                touch(s, x, will, h, scene.thickness, self.released, spared, b) for s, b in zip(self.solids, touches)
            ]
            constraints, hold, grip, after, normal = constrain(
                touches, frictions, v, h, system.mass, self.push, self.pinned, pin_velocity, self.gravity
            )
            outside = Outside(force + hold, drag + grip, scene.air)
            linear = linearise(system, x, v, h, outside, linear, self.scratch)
            if self.inverse is None:
                self.inverse = coarse_inverse(self.coarse, system.pattern, linear.diagonal, linear.values, constraints)
            couplings = pulls
            if holding:
                if found is None:
                    more = find_proximity(self.surfaces, everything, expected, self.thickness, nearby)
                else:
                    more = as_proximity(found, everything, self.thickness, n)
                if answer is not None:
                    more = more.only(~answer.sheets.cross(more.kind, more.vertex))
                near = more if near is None else near.joined(more)
                couplings = joined(couplings, repel(near, moving, h, self.inverse_mass, self.friction, n))
            if len(self.stitches):
                couplings = joined(couplings, pull_together(self.stitches, x, v, h, n))
            v1, iterations, impulse = implicit_step(
                system,
                x,
                v,
                h,
                linear,
                couplings,
                constraints,
                h * pull,
                self.options,
                self.coarse,
                self.inverse,
            )
            counts["pcg_iterations"] += iterations
            if not np.abs(v1).max() < (ASTRAY if answer is None else np.inf):  # NaN neither; what is pulled has a limit
                raise StepFailed if not last else BadInput(f"{scene.name}: the simulation went astray at {t0:.4g} s")
            if answer is not None:
                v1 = _no_farther(v1, share * self.pulling.farthest * float(self.edge_length.mean()) / h)
            x1 = x + h * v1
            x1[self.pinned] = pins
            torn = not last and tears(x, x1, system.mesh.edges, self.edge_length)
            if torn and mend(x, x1, system.mesh.edges, self.edge_length, self.inverse_mass[:n], constraints):
                torn, v1 = False, (x1 - x) / h
            pull = (v1 - v) / h
            if not holding:
                break
            expected = self._with_bodies(x1, t1)
            found = find_collisions(self.surfaces, everything, expected, separation, let_go=True, nearby=nearby)
            if held is not None:
                found = held(found, expected)
            press = _along(impulse, normal)
            pulled = (press < 0.0) & np.any([t.on & t.ahead for t in touches], axis=0) if touches else spared
            trouble = len(found) + int(pulled.sum())
            if trouble <= FEW * n or trouble > 0.7 * left:
                break
            left = trouble
            spared |= pulled
        if torn:
            raise StepFailed
        if holding:
            done = resolve(
                self.surfaces, everything, expected, self.inverse_mass, self.friction, separation,
                max(GAP * scene.thickness, separation), found, held,
            )  # fmt: skip
            halvings = STUCK if done.stuck and self.stats["ef_pairs"] else HALVINGS
            if depth < min(halvings, self.halvings) and (
                not done.clean or tears(x, done.x1, system.mesh.edges, self.edge_length)
            ):
                raise StepFailed
            moved = (done.x1[:n] != x1).any(axis=1)
            after[moved] = 0.0
            x1 = done.x1[:n].copy()
            v1[moved] = (x1[moved] - x[moved]) / h
            counts["collisions"] += done.collisions
            counts["zones"] += done.zones
            counts["largest_zone"] = max(counts["largest_zone"], done.largest)
        on = constraints.kept > 0
        on[self.pinned] = False
        press = _along(impulse, normal)
        self.push = np.where(on, np.maximum(press, 0.0) / h, 0.0)
        self.released = on & (press < 0.0)
        self.x, self.v, self.pull = x1, v1 - after, pull
        counts["steps"] += 1
        counts["contacts"] += 0 if near is None else len(near)
        counts["solves"] += again + 1
        counts["touching"] += int(on.sum())

    def take_shapes(self, rest: np.ndarray | None) -> None:
        """Have the faces these shapes at rest (m, 2, 2) [m], with the masses that they had; None: their own."""
        if rest is None and self.own_shapes:
            return
        self.own_shapes = rest is None
        shape, area = shape_gradients(self.system.mesh.rest if rest is None else rest)
        self.system.shape[...], self.system.area[...] = shape, area

    def _pins(self, t: float) -> np.ndarray:
        """(p, 3) where the pins are at time t."""
        parts = [
            c.mesh.x[c.pins] if c.targets is None else between_frames(c.targets, t * self.scene.fps)
            for c in self.scene.cloths
        ]
        return np.concatenate(parts)

    def _wind(self, t: float) -> np.ndarray:
        """The air's velocity; gusts swell, fade and veer about the up axis, in periods that do not repeat soon."""
        wind = self.scene.wind
        swell = 0.6 * np.sin(2 * np.pi * t / 1.3) + 0.4 * np.sin(2 * np.pi * t / 0.47)
        veer = wind.gusts * (0.6 * np.sin(2 * np.pi * t / 0.83) + 0.4 * np.sin(2 * np.pi * t / 0.31))
        up = np.zeros(3)
        up["xyz".index(self.scene.up)] = 1.0
        along = np.array(wind.velocity)
        level = along - (along @ up) * up
        turned = (along @ up) * up + np.cos(veer) * level + np.sin(veer) * np.cross(up, level)
        return turned * (1.0 + wind.gusts * swell)


def _stitches(cloths, first) -> Stitches:
    """The stitches of all cloths; each is stiffer than the cloth by STITCH."""
    some = [(c, at) for c, at in zip(cloths, first) if c.stitches is not None]
    stiff = [np.full(len(c.stitches), STITCH * max(c.material.stretch_warp, c.material.stretch_weft)) for c, _ in some]
    none = np.zeros((0, 2), np.int32)
    return Stitches(np.concatenate([none, *(c.stitches + at for c, at in some)]), np.concatenate([np.zeros(0), *stiff]))


def simulate(scene: Scene) -> Iterator[Frame]:
    """Frames 0 to scene.frames - 1, each as soon as it is simulated."""
    if not isinstance(scene, Scene):
        raise BadInput(f"expected a Scene to simulate (read_scene reads one from a file), got {type(scene).__name__}")
    simulator = Simulator(scene)
    yield simulator.frame()
    while simulator.number < scene.frames - 1:
        yield simulator.advance()


def _no_farther(v, most: float) -> np.ndarray:
    """v (n, 3), those longer than `most` made as long as that."""
    return v * np.minimum(1.0, most / np.maximum(np.sqrt((v**2).sum(axis=1)), 1e-300))[:, None]


def _along(impulse, normal) -> np.ndarray:
    """(n,) the part of impulses (n, 3) along normals (n, 3) of any length."""
    return np.einsum("ni,ni->n", impulse, normal) / np.maximum(np.sqrt((normal**2).sum(axis=1)), 1e-30)


def _thickness(mesh, thickness: float) -> np.ndarray:
    """(n,) the thickness, or less where the mesh is fine: half the smallest height at rest of the faces around."""
    rest = mesh.rest
    sides = np.stack([rest[:, :, 0], rest[:, :, 1], rest[:, :, 1] - rest[:, :, 0]])
    longest = np.sqrt((sides**2).sum(axis=2)).max(axis=0)
    height = np.abs(np.linalg.det(rest)) / np.maximum(longest, 1e-300)
    out = np.full(len(mesh.x), thickness)
    np.minimum.at(out, mesh.faces.ravel(), np.repeat(0.5 * height, 3))
    return out
