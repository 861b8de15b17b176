"""`auto`: forces where they are quick, edited rest shapes where forces stall.

It begins with E's targets (`rbf`), which take whole regions back in a few steps. A watchdog counts the steps in which
no state had fewer edges through faces than the best so far; after PATIENCE of them it goes over to `uv`, whose red
vertices never become more, and after PATIENCE more it begins again. Both look only at what is tangled. The quasi-static
run asks `lost`, and then goes over to the net under everything, `simulation.from_rest`.
"""

from __future__ import annotations

import numpy as np

from unsnarl.tangles.report import TangleReport
from unsnarl.untangle import rbf
from unsnarl.untangle.response import Response
from unsnarl.untangle.uv import Finesse, UvPulls

PATIENCE = (40, 60)  # steps without fewer hits, or with `uv` fewer red vertices: of forces, and of `uv`


class Auto:
    """The method, with what it remembers: called with a report, it answers as the one of its methods whose turn it is.

    turn : 0 while forces pull, 1 while `uv` does
    lost : how often both have stalled, one after the other
    """

    def __init__(self, uv: UvPulls):
        self.uv = uv
        self.turn, self.lost = 0, 0
        self._fewest, self._since = np.inf, 0

    @property
    def finesses(self) -> list[Finesse]:
        return self.uv.finesses

    def __call__(self, report: TangleReport, reach: float) -> Response:
        return (self.uv if self.turn else rbf.respond)(report, reach)

    def watch(self, report: TangleReport) -> bool:
        """Look at a state, before asking what to do about it; whether the turn has changed."""
        left = len(report.hits)
        if self.turn:  # what is inside counts first: contours may grow while it gets less
            left += 10 * int(self.uv.see(report).vertices.sum())
        if left < self._fewest:
            self._fewest, self._since = left, 0
            return False
        self._since += 1
        if self._since < PATIENCE[self.turn]:
            return False
        self.lost += self.turn
        self.turn = 1 - self.turn
        self._fewest, self._since = np.inf, 0
        self.uv.begin_again()
        return True

    def begin_again(self) -> None:
        self.turn, self.lost, self._fewest, self._since = 0, 0, np.inf, 0
        self.uv.begin_again()

    def red_of(self, report: TangleReport) -> np.ndarray | None:
        return self.uv.red_of(report) if self.turn else None

    def snapshot(self) -> dict[str, np.ndarray]:
        figures = np.array([self.turn, self.lost, self._fewest, self._since], dtype=float)
        return self.uv.snapshot() | {"auto": figures}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.uv.restore(arrays)
        turn, lost, self._fewest, since = arrays["auto"]
        self.turn, self.lost, self._since = int(turn), int(lost), int(since)
