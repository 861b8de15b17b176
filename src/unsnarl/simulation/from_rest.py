"""`from_rest`: from a clean state of the same cloth back towards the input, without letting anything in.

The net under everything: it does not ask what is tangled, nor how. It looks for a way from the input to a clean state,
through anything: the cloth is let go, in steps, until nothing crosses, and else laid out in its rest shape, or, where
that is not clean either, deflated. Then it comes back along this way, now with collisions: springs draw every vertex
to where it was in the state before, and a step after which the exact test finds anything is undone. What was not
tangled gets back to where it was; what was tangled ends beside what is in its way. So the result is clean whenever a
clean state is known, by construction.

Pinned vertices are drawn to their pins like the others, only more strongly, and put there exactly where nothing is in
the way; else they stay as near to them as they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import splu

from unsnarl.detect.edge_face import find_hits
from unsnarl.detect.features import surfaces
from unsnarl.dynamics.system import fold_angles
from unsnarl.errors import BadInput
from unsnarl.mesh import TriMesh
from unsnarl.simulation.quasi_static import STEP, STILL, TIGHT, Run, entry_of
from unsnarl.simulation.simulate import Anchors

FREE = 40  # steps in which the cloth is let go, at most
DRAW = 1.0  # stiffness of the springs that draw along the way, in units of mass / step^2
WEAK = 0.3  # the same where the input is tangled
PIN = 100.0  # the same at pins
HOLD = 1.0  # the same of what was not tangled, in the end
LOOSE = 0.3  # the same of what was tangled, in the end
FAR = 4.0  # mean edges: from farther away, springs do not draw more
LEAP = 20.0  # mean edges: what moves farther in a step has gone astray
CALM = 0.03  # mean edges (root mean square): if nothing moves farther in a step, that is enough
STRIDE = 1.0  # mean edges between the states of a way to which the cloth is drawn back
BACK = 40  # of these, at most
SETTLE = 40  # steps at the end, at most, until nothing moves
PUSHED = 25  # steps in which bodies push cloth out, at most
TIGHTER = (0.9, 0.8)  # lengths of cloth that is drawn tightly over bodies, as shares of those at rest: tried in turn
DOUBT = 0.1  # weight of what is tangled when shapes are laid out
FAIR = (0.25, 1.5)  # shares of its length at rest and in the input between which an edge of what is spanned has to be
RINGS = (1, 1, 2, 4, 8)  # by which what is tangled is grown until it can be spanned, one after the other
UNDONE = 4  # rings around what would cross, at most, that do not take part in a step
TRIES = 3  # of a step, each with springs a tenth as stiff
BLENDS = (0.25, 0.5, 0.75, 1.0)  # shares of the way from where the cloth was let go to a placed clean shape
APART = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # diagonals by which cloths are tried to be moved apart
SMOOTH = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0)  # implicit steps that deflate
LEAST = (0.0, 0.25, 1.0)  # share of its extents that what is deflated keeps in each direction: tried in turn


def from_rest(
    run: Run,
    max_steps: int,
    progress: Callable[[dict], None] | None = None,
    stop: Callable[[], bool] | None = None,
    record: int = 0,
) -> bool:
    """Untangle a run by going to a clean state and back; whether one was found: then `run.best` is clean.

    The history goes on with the states on the way back, the first of which is the clean state. If there is none,
    `run.best` stays what it is.
    """
    told = _Told(run, progress, record)
    if not run.history:
        told.tell(run.start, len(run.before.hits))
        run.best, run.best_hits = run.start.copy(), len(run.before.hits)
    if run.best_hits == 0:
        return True
    if run.steps >= max_steps or (stop is not None and stop()):
        return False
    run.simulator.take_shapes(None)
    way = clean_start(run, stop)
    if way is None:
        return False
    run.best, run.best_hits = way[-1].copy(), 0
    run.steps += 1
    told.tell(run.best, 0)
    draw_back(run, way, max_steps, stop, told.tell)
    return True


class _Told:
    """Keeps the history of a run, and some shapes."""

    def __init__(self, run: Run, progress, record: int):
        self.run, self.progress, self.record, self.every = run, progress, record, 1

    def tell(self, x: np.ndarray, hits: int) -> None:
        run = self.run
        entry = entry_of(run.steps, run.before, len(x)) if hits else dict.fromkeys(_KEYS, 0) | {"step": run.steps}
        run.history.append(entry)
        if self.record and run.steps % self.every == 0:
            run.shapes.append((run.steps, x / run.scale))
            if len(run.shapes) >= 2 * self.record:
                run.shapes, self.every = run.shapes[::2], 2 * self.every
        if self.progress is not None:
            self.progress(entry)


_KEYS = ("step", "ef_pairs", "paths", "red_vertices")


# --- back ---


def draw_back(
    run: Run,
    way: Sequence[np.ndarray],
    max_steps: int,
    stop: Callable[[], bool] | None = None,
    tell: Callable[[np.ndarray, int], None] | None = None,
) -> None:
    """Draw the cloth from the last state of a way, which is clean, to the first; `run.best` is where it gets.

    way : states (n, 3), scaled as in the run
    """
    simulator, tangled = run.simulator, _tangled(run)
    system, pins = simulator.system, _Pins(run)
    kept = ~np.isin(system.hinges, tangled).any(axis=1)

    def step(target: np.ndarray, hold: float, weak: float) -> bool:
        strength = np.full(len(target), hold)
        strength[tangled] = weak
        strength[pins.vertices] = PIN
        if not _step(run, target, strength):
            return False
        run.steps += 1
        if tell is not None:
            tell(run.best, 0)
        return True

    def over() -> bool:
        return run.steps >= max_steps or (stop is not None and stop())

    with _gently(run, tangled):
        system.fold[kept, 1] = fold_angles(way[0], system.hinges)[kept]
        simulator.x = run.best = way[-1].copy()
        try:
            pins.let_go()
            for target in _in_strides(run, way):
                if over():
                    return
                step(target, DRAW, WEAK)
            calm = True
            for _ in range(SETTLE):
                if over():
                    return
                before = run.best
                if calm and not pins.held:
                    pins.hold()
                    if not step(way[0], HOLD, LOOSE):
                        pins.let_go()
                if run.best is before and not step(way[0], HOLD, LOOSE):
                    return
                was, calm = calm, np.sqrt(((run.best - before) ** 2).sum(axis=1).mean()) < CALM * run.edge
                if calm and (was or pins.held):
                    return
        finally:
            pins.hold()


class _Pins:
    """The pinned vertices of a run: held, they are put at their pins in each step; let go, they move like others."""

    def __init__(self, run: Run):
        self.simulator, self.vertices = run.simulator, run.simulator.pinned
        free = [replace(c, pins=(), targets=None) if len(c.pins) else c for c in self.simulator.scene.cloths]
        mobility = self.simulator.inverse_mass.copy()
        mobility[self.vertices] = 1.0 / self.simulator.system.mass[self.vertices]
        self.tied = self.simulator.scene, self.vertices, self.simulator.inverse_mass
        self.loose = replace(self.simulator.scene, cloths=free), self.vertices[:0], mobility
        self.held = True

    def hold(self) -> None:
        self.simulator.scene, self.simulator.pinned, self.simulator.inverse_mass = self.tied
        self.held = True

    def let_go(self) -> None:
        if len(self.vertices):
            self.simulator.scene, self.simulator.pinned, self.simulator.inverse_mass = self.loose
            self.held = False


def _step(run: Run, target: np.ndarray, strength: np.ndarray) -> bool:
    """A step from rest towards a target (n, 3), by springs in units of mass / step^2 (n,); whether there was one.

    If it lets anything in, it is undone around there; where that is not enough, it is made again with weaker springs.
    """
    simulator = run.simulator
    way = target - run.best
    far = np.sqrt((way**2).sum(axis=1, keepdims=True))
    target = run.best + way * np.minimum(1.0, FAR * run.edge / np.maximum(far, 1e-300))
    for again in range(TRIES):
        simulator.anchors = Anchors(target, 0.1**again * strength * simulator.system.mass / STEP**2)
        x = _kept_out(run, simulator.x) if _go_on(run) else None
        simulator.x = run.best.copy() if x is None else x
        if x is not None:
            run.best = x.copy()
            return True
    return False


def _kept_out(run: Run, x: np.ndarray) -> np.ndarray | None:
    """Positions x (n, 3), with what crosses and some rings around it where it was before; None if that is not clean."""
    mesh, bvh = run.simulator.surfaces.mesh, run.simulator.surfaces.bvh
    run.everything[: len(x)] = x
    hits = find_hits(mesh, run.everything, bvh)
    if len(hits) == 0:
        return x
    stays = np.zeros(len(mesh.x), np.bool_)
    stays[mesh.edges[hits.edge]] = stays[mesh.faces[hits.face]] = True
    for _ in range(UNDONE):
        stays[mesh.faces[stays[mesh.faces].any(axis=1)]] = True
        y = np.where(stays[: len(x), None], run.best, x)
        if _is_clean(run, y) and not stays[run.simulator.pinned].any():
            return y
    return None


def _go_on(run: Run) -> bool:
    """A step from rest; whether it ended anywhere near."""
    run._rest()
    before = run.simulator.x
    try:
        run.simulator.go_on()
    except BadInput:  # it went astray, as it does where faces have no area, or nearly none
        return False
    return bool(np.abs(run.simulator.x - before).max() < LEAP * run.edge)


def _in_strides(run: Run, way: Sequence[np.ndarray]) -> list[np.ndarray]:
    """States to draw the cloth to, one after the other: those of a way from its end, about as far from each other."""
    back = way[::-1]
    moves = [np.sqrt(((b - a) ** 2).sum(axis=1).max()) for a, b in pairwise(back)]
    far = np.concatenate([[0.0], np.cumsum(moves)])
    count = int(np.clip(np.ceil(far[-1] / (STRIDE * run.edge)), 1, BACK))
    at = np.linspace(0.0, far[-1], count + 1)[1:]
    out = []
    for s in at:
        k = min(int(np.searchsorted(far, s)), len(back) - 1)
        share = (s - far[k - 1]) / max(far[k] - far[k - 1], 1e-300)
        out.append(back[k - 1] + min(share, 1.0) * (back[k] - back[k - 1]))
    return out


def _tangled(run: Run) -> np.ndarray:
    """(k,) the vertices that are tangled in the input."""
    report = run.before
    corners = report.mesh.faces[report.path_list.run].ravel()
    tangled = np.unique(np.concatenate([report.regions.vertex, corners]))
    return tangled[tangled < len(run.start)]


@contextmanager
def _gently(run: Run, tangled: np.ndarray) -> Iterator[None]:
    """The simulator as it has to be to let nothing in."""
    simulator, system = run.simulator, run.simulator.system
    before = {key: getattr(simulator, key) for key in ("scene", "respond", "rounds", "halvings", "anchors")}
    membrane, fold = system.membrane.copy(), system.fold.copy()
    simulator.respond, simulator.known, simulator.rounds, simulator.halvings = None, None, 2, 2
    system.membrane[:, :3] *= TIGHT
    system.membrane[_shapeless(run), :3] = 0.0
    if not run.folds_known:
        system.fold[np.isin(system.hinges, tangled).any(axis=1), 1] = 0.0
    try:
        yield
    finally:
        system.membrane[...], system.fold[...] = membrane, fold
        for key, value in before.items():
            setattr(simulator, key, value)


def _shapeless(run: Run) -> np.ndarray:
    """(m,) bool, faces without any area at rest: they have been given one, but pull at nothing here."""
    area = np.concatenate([np.abs(np.linalg.det(rest.rest)) for rest in run.rest])
    return area <= 1e-8 * (run.edge / run.scale) ** 2


def _is_clean(run: Run, x: np.ndarray) -> bool:
    """Whether nothing crosses anything where the cloths are at x (n, 3), scaled."""
    run.everything[: len(x)] = x
    return len(find_hits(run.simulator.surfaces.mesh, run.everything, run.simulator.surfaces.bvh)) == 0


# --- there ---


def clean_start(run: Run, stop: Callable[[], bool] | None = None) -> list[np.ndarray] | None:
    """A way from the input to a clean state: states (n, 3), scaled as in the run, of which only the last is clean.

    First what is tangled is spanned by what is around it. Then the cloths are let go, through anything but bodies,
    which takes them towards their rest shapes. What is still not clean is laid out: each cloth in its rest shape where
    it is, all of them by one rigid motion, or all as given. What passes through bodies only is pushed out of them, and
    otherwise drawn tightly over them. At last the cloths are moved apart and off the bodies. A cloth whose rest shape
    is not clean in itself is deflated.
    None: nothing of that is clean, or somebody said stop.
    """
    way = [run.start.copy()]

    def found(states: Iterator[np.ndarray], every: bool) -> bool:
        """Whether one of the states is clean; the way then ends there. every : and the others belong to it too"""
        with closing(states):
            for x in states:
                clean = _is_clean(run, x)
                if clean or every:
                    way.append(x)
                if clean or stopped():
                    return clean
        return False

    def pushed_out(x: np.ndarray) -> bool:
        """Whether it gets clean from x on by being pushed out of bodies."""
        alone = len(find_hits(run.simulator.system.mesh, x)) == 0
        return alone and found(_let_go(run, x, PUSHED, through=False), every=False)

    def stopped() -> bool:
        return stop is not None and stop()

    if found(_filled(run), every=False):
        return way
    if found(_let_go(run, run.start, FREE), every=True):
        return way
    shapes = _shapes(run)
    if shapes is None or stopped():
        return None
    placed = _placed(run, shapes, way[-1])
    for x in placed:
        if _is_clean(run, x):
            return way + _until_clean(run, [(1.0 - s) * way[-1] + s * x for s in BLENDS])
    if run.bodies:
        if any(pushed_out(x) for x in _filled(run)):
            return way
        for share in TIGHTER:
            if found(_let_go(run, way[-1], PUSHED, share), every=False):
                return way
        if any(pushed_out(x) for x in placed):
            return way
    return way if found(_apart(run, placed[0]), every=False) else None


def _until_clean(run: Run, states: list[np.ndarray]) -> list[np.ndarray]:
    """The states up to the first that is clean; the last one is."""
    return states[: 1 + next(k for k, x in enumerate(states) if _is_clean(run, x))]


def _let_go(run: Run, x: np.ndarray, most: int, share: float = 1.0, through: bool = True) -> Iterator[np.ndarray]:
    """At most so many states of the cloths as they take their rest shapes from x (n, 3) on, and get out of bodies.

    share   : how long edges are at rest, of what they should be
    through : whether cloth passes through cloth
    """
    simulator = run.simulator
    system, on = simulator.system, simulator.surfaces
    shape = system.shape.copy()
    with _gently(run, _tangled(run)):
        system.shape[...] = shape / share
        if through:
            simulator.scene = replace(simulator.scene, resolver="none")
        else:
            simulator.surfaces = surfaces(system.mesh, len(x))
        simulator.halvings, simulator.anchors, simulator.x = 0, None, x.copy()
        try:
            for _ in range(most):
                before = simulator.x
                if not _go_on(run):
                    return
                simulator.surfaces, ours = on, simulator.surfaces
                yield simulator.x.copy()
                simulator.surfaces = ours
                if np.abs(simulator.x - before).max() < STILL * run.edge:
                    return
        finally:
            system.shape[...], simulator.surfaces = shape, on


def _filled(run: Run) -> Iterator[np.ndarray]:
    """States in which what is tangled, and more and more around it, is spanned smoothly by what is not."""
    mesh, x = run.simulator.system.mesh, run.start
    laplacian = _laplacian(mesh)
    spring = laplacian @ laplacian
    edges, rest = mesh.edges, run.simulator.edge_length
    given = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    least, most = FAIR[0] * np.minimum(rest, given), FAIR[1] * np.maximum(rest, given)
    moves = np.zeros(len(x), np.bool_)
    moves[_tangled(run)] = True
    pins = run.simulator.pinned
    for rings in RINGS:
        for _ in range(rings):
            moves[mesh.faces[moves[mesh.faces].any(axis=1)]] = True
        moves[pins] = False
        free, fixed = np.flatnonzero(moves), np.flatnonzero(~moves)
        held = np.bincount(mesh.vertex_component[fixed], minlength=len(x)) > 0
        if not len(free) or not held[mesh.vertex_component[free]].all():
            return
        rows = spring[free]
        y = x.copy()
        y[free] = splu(rows[:, free].tocsc()).solve(-(rows[:, fixed] @ x[fixed]))
        length = np.linalg.norm(y[edges[:, 0]] - y[edges[:, 1]], axis=1)
        if (length >= least).all() and (length <= most).all():
            yield y


def _laplacian(mesh: TriMesh) -> csr_array:
    """(n, n) of the graph of edges."""
    n = len(mesh.x)
    a, b = mesh.edges.T
    beside = csr_array((np.ones(2 * len(a)), (np.r_[a, b], np.r_[b, a])), shape=(n, n))
    return csr_array((beside.sum(axis=1), (np.arange(n), np.arange(n))), shape=(n, n)) - beside


def _shapes(run: Run) -> list[np.ndarray] | None:
    """A clean shape (k, 3) of each cloth: at rest, or deflated; None if one has none."""
    shapes = []
    for mesh, rest in zip(run.cloths, run.rest):
        x = run.scale * rest.x
        if len(find_hits(rest, x)):
            x = _deflated(mesh, run.scale * mesh.x)
            if x is None:
                return None
        shapes.append(x)
    return shapes


def _parts(run: Run) -> list[slice]:
    """The vertices of each cloth."""
    ends = np.cumsum([0] + [len(m.x) for m in run.cloths])
    return [slice(a, b) for a, b in pairwise(ends)]


def _placed(run: Run, shapes: Sequence[np.ndarray], x: np.ndarray) -> list[np.ndarray]:
    """The shapes laid out (n, 3): each at its cloth in x (n, 3), all by one rigid motion at the input, and as given."""
    weight = np.ones(len(x))
    weight[_tangled(run)] = DOUBT
    each = [_aligned(s, x[own], weight[own]) for s, own in zip(shapes, _parts(run))]
    given = np.concatenate(shapes)
    return [np.concatenate(each), _aligned(given, run.start, weight), given]


def _aligned(shape: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The shape (n, 3) moved rigidly to a target (n, 3); what does not fit counts less and less."""
    w = weight
    for _ in range(10):
        a, b = (w @ x / w.sum() for x in (shape, target))
        u, _, vt = np.linalg.svd((w[:, None] * (target - b)).T @ (shape - a))
        turn = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt)) or 1.0]) @ vt
        placed = (shape - a) @ turn.T + b
        off = ((placed - target) ** 2).sum(axis=1)
        w = weight / (1.0 + off / (np.median(off) + 1e-12 * off.max() + 1e-300))
    return placed


def _apart(run: Run, x: np.ndarray) -> Iterator[np.ndarray]:
    """The cloths moved apart and off the bodies: a bit in some direction, and at last beside each other's boxes."""
    bodies = run.everything[len(x) :]
    parts = _parts(run)
    middles = [x[own].mean(axis=0) for own in parts] + ([bodies.mean(axis=0)] if len(bodies) else [])
    middle = np.mean(middles, axis=0)
    size = np.linalg.norm(np.ptp(x, axis=0))
    ways = [np.stack([m - middle for m in middles[: len(parts)]])]  # as they lie already
    along = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][::-1]  # least extent first
    rank = np.arange(len(parts)) - (0.0 if len(bodies) else 0.5 * (len(parts) - 1))
    for direction in along:
        ordered = np.argsort(np.argsort([m @ direction for m in middles[: len(parts)]]))
        for order in (ordered, ordered[::-1]):
            ways.append(np.outer(rank[order] + (1.0 if len(bodies) else 0.0), direction))
            ways.append(-ways[-1])
    for far in APART:
        for w in ways:
            longest = np.linalg.norm(w, axis=1).max()
            if longest > 1e-9 * size:
                out = x.copy()
                for own, shift in zip(parts, w):
                    out[own] += far * size * shift / longest
                yield out
    out, taken = x.copy(), ([bodies] if len(bodies) else [])
    for own in parts:
        if taken:
            others = np.concatenate(taken)
            room = np.stack([others.max(axis=0) - out[own].min(axis=0), out[own].max(axis=0) - others.min(axis=0)])
            side, axis = np.unravel_index(room.argmin(), room.shape)
            out[own, axis] += (1.0 if side == 0 else -1.0) * max(0.0, room[side, axis] + 0.05 * size)
        taken.append(out[own])
    yield out


# --- deflating ---


def _deflated(mesh: TriMesh, x: np.ndarray) -> np.ndarray | None:
    """A cloth at x (n, 3) smoothed until it is clean in itself; None if it does not get clean.

    It is kept as large as it is: as a whole first, and if that leads nowhere also in each of the three directions in
    which its points lie, since what is smoothed becomes flat, and then a line.
    """
    for least in LEAST:
        for state in _smoothed(mesh, x, least):
            if len(find_hits(mesh, state)) == 0:
                return state
    return None


def _smoothed(mesh: TriMesh, x: np.ndarray, least: float) -> Iterator[np.ndarray]:
    """States (n, 3) of a mesh, each smoother. least : share of its extents that it keeps in each direction"""
    n, laplacian = len(x), _laplacian(mesh)
    middle = x.mean(axis=0)
    extent = np.linalg.svd(x - middle, compute_uv=False)
    y = x - middle
    for step in SMOOTH:
        y = splu((eye_array(n) + step * laplacian).tocsc()).solve(np.ascontiguousarray(y))
        y -= y.mean(axis=0)
        u, s, vt = np.linalg.svd(y, full_matrices=False)
        s *= np.linalg.norm(extent) / max(np.linalg.norm(s), 1e-300)
        y = np.ascontiguousarray((u * np.maximum(s, least * extent)) @ vt)
        yield y + middle
