"""Untangling by force: one method per file, each with `respond(report, reach) -> Response`.

`simulation.simulate` takes the response into each time step; `simulation.untangle` makes a quasi-static run of that,
which is what `us.untangle` and `unsnarl untangle` are.
"""

from unsnarl.untangle import boundary, gia, icm, rbf

RESPONSES = {
    "rbf": rbf.respond,
    "gia": gia.respond,
    "icm": icm.respond,
    "gia+icm": gia.respond_with_contours,
    "boundary": boundary.respond,
}
METHODS = ("auto", *RESPONSES, "uv")  # those that work while simulating
