"""The simulated scenes keep what they claim: no intersection on any frame, by our exact test and by ipctk."""

import pytest

from unsnarl.scenes.simulated import SIMULATED

QUICK = {
    "falling_sheet": 625,
    "hanging_cloth": 256,
    "flag_in_wind": 300,
    "ribbon_in_folds": 300,
    "stack_of_sheets": 810,
    "cloth_over_table_edge": 400,
}


@pytest.mark.parametrize("name", SIMULATED)
def test_quick(name):
    SIMULATED[name].check(QUICK[name])


@pytest.mark.prove
@pytest.mark.parametrize("name", SIMULATED)
def test_as_large_as_they_are_made(name):
    scene = SIMULATED[name]
    scene.check(scene.build.__defaults__[0])
