"""Fabrics by name, their units, and what is refused."""

import math
from dataclasses import FrozenInstanceError, replace

import pytest

from unsnarl.energies.materials import MATERIALS, Material, _kes, _wang, material
from unsnarl.errors import BadInput

EACH = pytest.mark.parametrize("fabric", MATERIALS.values(), ids=str)


def test_names():
    wanted = {"cotton", "silk", "denim", "wool", "leather", "jersey", "linen", "polyester", "fleece"}
    assert wanted <= set(MATERIALS)
    for name, fabric in MATERIALS.items():
        assert fabric.name == name
        assert material(name) is fabric
        assert material(fabric) is fabric


@pytest.mark.parametrize("name", ["tweed", "", None, 3, ["cotton"]])
def test_unknown_name_lists_the_known(name):
    with pytest.raises(BadInput, match="cotton, denim, fleece"):
        material(name)


@pytest.mark.parametrize("field", ["density", "stretch_warp", "stretch_weft", "shear", "bend", "damping"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, "stiff", None])
def test_bad_numbers_are_refused_by_name(field, value):
    with pytest.raises(BadInput, match=f"material silk: {field} is a number"):
        replace(MATERIALS["silk"], **{field: value})


def test_what_may_be_zero():
    still = replace(MATERIALS["silk"], shear=0, bend=0, damping=0)
    assert (still.shear, still.bend, still.damping) == (0.0, 0.0, 0.0)
    for field in ("density", "stretch_warp", "stretch_weft"):
        with pytest.raises(BadInput, match="> 0"):
            replace(still, **{field: 0})
    with pytest.raises(BadInput, match=r"density is at most 1e\+08, not 1e\+300"):
        replace(still, density=1e300)
    with pytest.raises(BadInput, match="name"):
        replace(still, name="")
    with pytest.raises(FrozenInstanceError):
        still.bend = 1.0


def test_units():
    one = _kes("one", weight=1.0, emt=(1.0, 100.0), g=1.0, b=1.0)
    assert one.density == pytest.approx(0.01)
    assert one.stretch_warp == pytest.approx(100 * 490.3325)
    assert one.stretch_weft == pytest.approx(490.3325)
    assert one.shear == pytest.approx(56.19, rel=1e-3)
    assert one.bend == pytest.approx(9.80665e-5)
    assert _wang("two", 0.2, 3.0, 5.0, 7.0, 8e-6) == Material("two", 0.2, 6.0, 10.0, 7.0, 2e-6)


@EACH
def test_fabrics_are_within_what_fabrics_are(fabric):
    assert 0.03 < fabric.density < 1.0
    for stretch in (fabric.stretch_warp, fabric.stretch_weft):
        assert 50.0 < stretch < 5e4
        assert 1.0 * fabric.density * 9.81 / stretch < 0.1  # a metre of it hangs without getting a tenth longer
        assert fabric.shear < stretch  # it shears more easily than it stretches
    assert fabric.shear > 1.0
    bending_length = (fabric.bend / (9.81 * fabric.density)) ** (1 / 3)
    assert 0.01 < bending_length < 0.03  # limp to stiff clothes


def test_fabrics_differ_as_one_expects():
    silk, cotton, denim, jersey = (MATERIALS[name] for name in ("silk", "cotton", "denim", "jersey"))
    assert silk.density < cotton.density < denim.density
    assert silk.bend < cotton.bend < denim.bend
    assert jersey.stretch_weft < 0.1 * cotton.stretch_weft
