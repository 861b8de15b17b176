"""A sheet falls on a sphere: no frame has an intersection, and it ends up over the sphere."""

import pytest

from unsnarl.scenes import falling_sheet


def test_falling_sheet():
    falling_sheet.check(625)


@pytest.mark.prove
@pytest.mark.parametrize("vertices", [2_500, 10_000])
def test_falling_sheet_finely(vertices):
    falling_sheet.check(vertices)
