"""Untangling by force: one method per file, each with `respond(report, reach) -> Response`."""

from unsnarl.untangle import boundary, gia, icm, rbf

RESPONSES = {
    "rbf": rbf.respond,
    "gia": gia.respond,
    "icm": icm.respond,
    "gia+icm": gia.respond_with_contours,
    "boundary": boundary.respond,
}
AUTO = "rbf"  # what "auto" stands for while simulating
