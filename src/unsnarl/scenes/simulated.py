"""The scenes that are simulated, by name."""

from __future__ import annotations

from unsnarl.scenes import (
    cloth_over_table_edge,
    falling_sheet,
    flag_in_wind,
    hanging_cloth,
    ribbon_in_folds,
    stack_of_sheets,
)

SIMULATED = {
    scene.__name__.rsplit(".", 1)[-1]: scene
    for scene in (falling_sheet, hanging_cloth, flag_in_wind, ribbon_in_folds, stack_of_sheets, cloth_over_table_edge)
}
