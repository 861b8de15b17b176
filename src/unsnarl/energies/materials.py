"""Fabrics: weight and stiffnesses in SI units, from published measurements where there are any.

Real fabrics of one name differ by a factor of two and more, and get stiffer as they are stretched: these are points to
start from, not standards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from unsnarl.errors import BadInput

MOST = 1e8  # of any figure: a thousand times stiffer than leather; beyond that, steps are not solved any more


@dataclass(frozen=True)
class Material:
    """What a cloth is made of.

    name         : for messages
    density      : mass per area [kg/m^2]
    stretch_warp : membrane stiffness along u: force per width per relative stretch [N/m]
    stretch_weft : the same along v [N/m]
    shear        : force per width per radian of shear [N/m]
    bend         : bending rigidity: moment per width per curvature [N m]
    damping      : Rayleigh damping in proportion to stiffness [s]: a mode of angular frequency w [1/s] has the damping
                   ratio damping w / 2. Chosen, not measured: what dampens real cloth is mostly air and dry friction
    """

    name: str
    density: float
    stretch_warp: float
    stretch_weft: float
    shear: float
    bend: float
    damping: float = 1e-3

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name:
            raise BadInput(f"a material's name is a word, not {self.name!r}")
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            positive = field.name in ("density", "stretch_warp", "stretch_weft")
            try:
                number = float(value)
            except (TypeError, ValueError):
                number = math.nan
            if not math.isfinite(number) or number < 0.0 or (positive and number == 0.0):
                raise BadInput(
                    f"material {self.name}: {field.name} is a number {'> 0' if positive else '>= 0'}, not {value!r}"
                )
            if number > MOST:
                raise BadInput(f"material {self.name}: {field.name} is at most {MOST:g}, not {value!r}")
            object.__setattr__(self, field.name, number)


def material(name: str | Material) -> Material:
    """The material of that name in `MATERIALS`; a Material is given back as it is."""
    if isinstance(name, Material):
        return name
    if not isinstance(name, str) or name not in MATERIALS:
        raise BadInput(f"no material {name!r}; there are {', '.join(sorted(MATERIALS))}")
    return MATERIALS[name]


def _kes(name, weight, emt, g, b):
    """A material in the units of the Kawabata system (KES-F).

    weight : [mg/cm^2] = 0.01 kg/m^2
    emt    : extension along warp and weft at 500 gf/cm = 490.3 N/m [%]; the stiffness is that load over the extension
    g      : shear stiffness [gf/(cm deg)] = 56.19 N/m per radian
    b      : bending rigidity [gf cm^2/cm] = 9.807e-5 N m
    """
    gf = 9.80665e-3  # [N]
    load = 500.0 * gf / 1e-2
    return Material(
        name,
        density=weight * 1e-2,
        stretch_warp=load / (emt[0] / 100.0),
        stretch_weft=load / (emt[1] / 100.0),
        shear=g * gf / 1e-2 * (180.0 / math.pi),
        bend=b * gf * 1e-2,
    )


def _wang(name, density, warp, weft, shear, ke):
    """A material of the data base of [W], as it is distributed with ARCSim.

    Its stress is c (F^T F - I), twice the strain, so that the stiffness is 2 c along a thread, and c33 in shear; its
    bending force is that of Bridson et al. (2003), whose k_e is four times the rigidity of a plate.

    density           : [kg/m^2]
    warp, weft, shear : c of the two directions, the stiffer as the warp, and c33 [N/m]: the mean of the six samples at
                        different strains, negative ones as 0
    ke                : [N m], the mean of both directions at curvatures up to 30/m
    """
    return Material(name, density, stretch_warp=2.0 * warp, stretch_weft=2.0 * weft, shear=shear, bend=ke / 4.0)


# Where the numbers are from.
# [K] Kawabata (1980), The Standardization and Analysis of Hand Evaluation, 2nd ed.: means of the men's winter suitings
#     that the hand equations KN-101 are based on: log W 1.4208, log G -0.0143, log B -0.8673, log WT 0.9621, LT 0.6082;
#     EMT = 2 WT / (500 LT).
# [M] Matsudaira, Masuda, Wada, Yokura (2015), Shape factor of flared skirts ..., J. Textile Engineering 61(6), table 1.
# [W] Wang, O'Brien, Ramamoorthi (2011), Data-driven elastic models for cloth: modeling and measurement, SIGGRAPH.
# [S] Memon, Chaklie, Yesuf, Zhu (2021), ... drapability of sheep garment leather, Materials 14(16) 4553: thickness 0.64
#     to 0.96 mm, drape coefficient 47 to 70 %.
# (t) typical: the middle of what KES-F gives for fabrics of the kind and weight, not one measured fabric.
_ALL = (
    _kes("cotton", weight=12.4, emt=(4.0, 6.0), g=1.0, b=0.118),  # broadcloth: weight, b [M]; emt, g (t)
    _kes("polyester", weight=10.4, emt=(3.0, 5.0), g=0.4, b=0.019),  # faille, silk-like: weight, b [M]; emt, g (t)
    _kes("wool", weight=26.4, emt=(6.0, 6.0), g=0.97, b=0.136),  # men's winter suiting: [K]
    _kes("silk", weight=6.5, emt=(4.0, 6.0), g=0.25, b=0.015),  # crepe de chine of 15 momme: (t)
    _kes("linen", weight=18.0, emt=(3.0, 4.0), g=0.8, b=0.2),  # plain weave for suits: (t)
    _wang("denim", density=0.324, warp=1048.0, weft=223.0, shear=69.0, ke=86e-6),  # 11 oz, stretchy weft: [W]
    _wang("jersey", density=0.187, warp=281.0, weft=84.0, shear=23.0, ke=24e-6),  # "gray interlock", for T-shirts: [W]
    _wang("fleece", density=0.224, warp=184.0, weft=65.0, shear=19.0, ke=38e-6),  # "navy sparkle sweat": [W]
    # sheepskin for garments: 0.8 mm [S] of 650 kg/m^3 (t); 3 MPa at small strain (t), and a third of it in shear, as of
    # an isotropic sheet that keeps its volume; B = 9.81 density c^3 with c = 1.9 cm, which is where the fabrics of [M]
    # have the drape coefficient of [S]
    Material("leather", density=0.52, stretch_warp=2400.0, stretch_weft=2400.0, shear=800.0, bend=3.5e-5),
)
MATERIALS = {fabric.name: fabric for fabric in _ALL}
