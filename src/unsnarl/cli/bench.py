"""Measure unsnarl and its peers here, in one run. Without a NAME: list the benches."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  unsnarl bench
  unsnarl bench check --json check.json"""

BENCHES = {
    "check": "the whole analysis, beside ipctk and pymeshlab, at 100,000 and 1,000,000 triangles",
    "paths": "E's table 1: our times beside the paper's, and growth up to 1,000,000 segments",
    "falling_sheet": "a sheet falls on a sphere, beside Blender and Newton, up to 40,000 vertices",
}


def bench(
    name: Annotated[str | None, typer.Argument(help="A bench.", show_default=False)] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="F.json", help="Write the figures as JSON; - for stdout.")
    ] = None,
) -> int:
    if name is None:
        width = max(map(len, BENCHES))
        typer.echo("\n".join(f"{key:<{width}}  {text}" for key, text in BENCHES.items()))
        return 0
    if name not in BENCHES:
        raise typer.BadParameter(f"no bench is called {name!r}; there are: {', '.join(BENCHES)}")

    from unsnarl.cli.files import refuse_to_replace, working, write_json
    from unsnarl.jit import announce_compilation

    refuse_to_replace(json, ".json", [])
    announce_compilation()
    with working(f"bench {name}"):
        result = import_module(f"unsnarl.bench.{name}").run()
    typer.echo(str(result), err=str(json) == "-")
    if json is not None:
        write_json(json, result.to_dict())
    return 0
