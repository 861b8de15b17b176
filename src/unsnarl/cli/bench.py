"""Measure unsnarl and its peers here, in one run. Without a NAME: list the benches."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  unsnarl bench
  unsnarl bench check --json check.json
  unsnarl bench tangles --family closed --family bent_tube --seeds 0:9 --method rbf --save failures
  unsnarl bench convergence --part handkerchief --seeds 0:9 --picture curve.png"""

BENCHES = {
    "check": "the whole analysis, beside ipctk and pymeshlab, at 100,000 and 1,000,000 triangles",
    "paths": "E's table 1: our times beside the paper's, and growth up to 1,000,000 segments",
    "falling_sheet": "a sheet falls on a sphere, beside Blender and Newton, up to 40,000 vertices",
    "tangles": "tangled states of many families and seeds, untangled by several methods: how often, how fast",
    "convergence": "D's experiments by its own method: steps, finesses by type (table 1), dragging (some minutes)",
}
_OPTIONS = {  # option -> the benches that have it
    "families": ("--family", ("tangles",)),
    "parts": ("--part", ("convergence",)),
    "seeds": ("--seeds", ("tangles", "convergence")),
    "methods": ("--method", ("tangles",)),
    "max_steps": ("--max-steps", ("tangles", "convergence")),
    "save": ("--save", ("tangles",)),
    "picture": ("--picture", ("convergence",)),
}


def bench(
    name: Annotated[str | None, typer.Argument(help="A bench.", show_default=False)] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="F.json", help="Write the figures as JSON; - for stdout.")
    ] = None,
    family: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="tangles: a family of states; by default all of them.")
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="convergence: rudimentary, bli, handkerchief, ensembles or dragging; by default all of them.",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="A:B",
            help="Seeds A to B, both included; by default 0:49 for tangles, and 0:99 for convergence's handkerchief.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(metavar="M", help="tangles: a method; by default rbf, icm and gia+icm.")
    ] = None,
    max_steps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Steps at most; by default 400 for tangles and 2000 for convergence.",
            show_default=False,
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="DIR", help="tangles: keep states that were not untangled in a new folder.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="F.png", help="convergence: draw red vertices and time over the steps of one handkerchief."
        ),
    ] = None,
) -> int:
    given = {
        "families": family, "parts": part, "seeds": seeds, "methods": method, "max_steps": max_steps, "save": save,
        "picture": picture,
    }  # fmt: skip
    options = {key: value for key, value in given.items() if value not in (None, [])}
    for option, benches in (_OPTIONS[key] for key in options):
        if name not in benches:
            of = " and ".join(f"`unsnarl bench {b}`" for b in benches)
            raise typer.BadParameter(f"{option} is an option of {of} only")
    if name is None:
        width = max(map(len, BENCHES))
        typer.echo("\n".join(f"{key:<{width}}  {text}" for key, text in BENCHES.items()))
        return 0
    if name not in BENCHES:
        raise typer.BadParameter(f"no bench is called {name!r}; there are: {', '.join(BENCHES)}")

    from unsnarl.cli.files import portioned, refuse_to_replace, working, write_json
    from unsnarl.errors import BadInput, need
    from unsnarl.jit import announce_compilation

    if seeds is not None:
        options["seeds"] = _seeds(seeds)
    refuse_to_replace(json, ".json", [save, picture])
    refuse_to_replace(picture, ".png", [json])
    if picture is not None:
        if "handkerchief" not in options.get("parts", ["handkerchief"]):
            raise typer.BadParameter("--picture shows a handkerchief: it needs --part handkerchief")
        if picture.suffix.lower() != ".png":
            raise BadInput(f"{picture}: pictures are written as PNG: name the file *.png")
        need("matplotlib.figure", "drawing a picture", "pictures")
    announce_compilation()
    if name in ("tangles", "convergence"):
        options.pop("picture", None)
        with portioned(f"bench {name}") as tell:
            result = import_module(f"unsnarl.bench.{name}").run(**options, progress=tell)
    else:
        with working(f"bench {name}"):
            result = import_module(f"unsnarl.bench.{name}").run()
    if picture is not None:
        from unsnarl.show.convergence import draw_convergence

        curve = result.curve
        draw_convergence(curve["red"], curve["ms"], picture, title=f"exploded handkerchief, seed {curve['seed']}")
    typer.echo(str(result), err=str(json) == "-")
    if json is not None:
        write_json(json, result.to_dict())
    return 0


def _seeds(text: str) -> range:
    """The seeds of A:B."""
    start, colon, end = text.partition(":")
    if not colon or not all(part.isascii() and part.isdigit() and len(part) < 9 for part in (start, end)):
        raise typer.BadParameter(f"--seeds takes A:B with whole numbers, as in 0:9, not {text!r}")
    if int(end) < int(start):
        raise typer.BadParameter(f"--seeds {text}: seed {end} comes before seed {start}")
    return range(int(start), int(end) + 1)
