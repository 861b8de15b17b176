"""The canonical scenes: one for every kind of path."""

from __future__ import annotations

from unsnarl.scenes import (
    ball_through_sheet,
    fold_open_at_the_border,
    pinched_fold,
    sheets_slid_together,
    strip_through_sheet,
    two_lobes_at_a_point,
    wedge_of_a_fold,
)

CANONICAL = {
    scene.KIND: scene
    for scene in (
        ball_through_sheet,
        two_lobes_at_a_point,
        pinched_fold,
        fold_open_at_the_border,
        wedge_of_a_fold,
        strip_through_sheet,
        sheets_slid_together,
    )
}
