"""unsnarl: says exactly where cloth is tangled, and gets it out of its own tangles.

    import unsnarl as us

    mesh = us.read_mesh("shirt.obj")
    report = us.check(mesh)
    print(report)

Lengths are in metres, times in seconds. What takes long to import is imported at first use.
"""

import sys
from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"

_HOME = {
    "BadInput": "errors",
    "Body": "simulation.scene",
    "Cloth": "simulation.scene",
    "Frame": "simulation.simulate",
    "Frames": "io.frames",
    "Material": "energies.materials",
    "Scene": "simulation.scene",
    "State": "simulation.simulate",
    "TangleReport": "tangles.report",
    "TriMesh": "mesh",
    "Wind": "simulation.scene",
    "character": "wardrobe.body",
    "check": "tangles.check",
    "dress": "wardrobe.dress",
    "garment": "wardrobe.pattern_file",
    "read_frames": "io",
    "read_garment": "wardrobe.pattern_file",
    "read_mesh": "io",
    "read_scene": "simulation.scene_file",
    "sew": "wardrobe.sew",
    "simulate": "simulation.simulate",
    "split_non_manifold": "mesh",
    "untangle": "simulation.untangle",
    "untangle_frames": "simulation.untangle",
    "write_frames": "io",
    "write_mesh": "io",
}

__all__ = sorted(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'unsnarl' has no attribute {name!r}")
    value = getattr(import_module(f"unsnarl.{_HOME[name]}"), name)
    if name != "untangle":
        globals()[name] = value
    return value


def __dir__():
    return [*__all__, "__version__"]


class _Package(ModuleType):
    """`unsnarl.untangle` is the function, although a folder has that name: importing it must not replace it."""

    @property
    def untangle(self):
        return __getattr__("untangle")

    @untangle.setter
    def untangle(self, folder):
        pass


sys.modules[__name__].__class__ = _Package
