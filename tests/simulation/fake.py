"""A simulator for tests of what is around it: fast, deterministic, and not the least about cloth."""

import os
import signal
import sys
import time

import numpy as np

from unsnarl.simulation.simulate import Frame, State


class FakeSimulator:
    """Every vertex flies on its own; each frame depends on all bits of the one before."""

    ef_pairs = 0  # as many are claimed in every frame
    pause = float(os.environ.get("FAKE_PAUSE", "0"))  # seconds that a frame takes

    def __init__(self, scene):
        self.scene, self.number = scene, 0
        self.ends = np.cumsum([0] + [len(c.mesh.x) for c in scene.cloths])
        self.x = np.concatenate([c.mesh.x for c in scene.cloths])
        self.v = np.concatenate([c.velocity for c in scene.cloths])

    def frame(self):
        t = self.number / self.scene.fps
        states = tuple(State(self.x[a:b].copy(), self.v[a:b].copy(), t) for a, b in zip(self.ends, self.ends[1:]))
        stats = {"frame": self.number, "t": t, "steps": 4 * (self.number > 0), "ef_pairs": np.int64(self.ef_pairs)}
        return Frame(t, states, self.number, stats | {"ratio": float("nan"), "seconds": time.perf_counter()})

    def advance(self):
        time.sleep(self.pause)
        h = 1 / self.scene.fps
        self.v = self.v + h * np.sin(37 * self.x[:, [1, 2, 0]])
        self.v["xyz".index(self.scene.up)] -= h * self.scene.gravity
        self.x = self.x + h * self.v
        self.number += 1
        return self.frame()

    def snapshot(self):
        return {"x": self.x.copy(), "v": self.v.copy(), "number": np.int64(self.number)}

    def restore(self, arrays):
        self.x, self.v, self.number = arrays["x"], arrays["v"], int(arrays["number"])


def kill_at(event: int, folder) -> None:
    """Let the process be killed, as by kill -9, just before it touches a file in `folder` for the n-th time."""
    seen = 0
    watched = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod")

    def hook(name, arguments):
        nonlocal seen
        if name in watched and any(str(folder) in str(a) for a in arguments):
            seen += 1
            if seen == event:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


if __name__ == "__main__":  # the command with this simulator in it
    from unsnarl.cli.main import main
    from unsnarl.simulation import simulate

    simulate.Simulator = FakeSimulator
    main()
