"""Say exactly what crosses what: each mesh with itself, with the other meshes, and with the bodies.

Formats: OBJ, PLY, STL, OFF, GLB/glTF, USD, npz. Lengths in metres."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  unsnarl check shirt.obj
  unsnarl check shirt.obj trousers.obj --body character.glb --picture tangles.png
  unsnarl check dress.usd --json report.json --certify"""


def check(
    meshes: Annotated[
        list[Path], typer.Argument(metavar="MESH", help="Meshes to check, together.", show_default=False)
    ],
    body: Annotated[
        list[Path] | None, typer.Option(help="A body: checked against the meshes only. Repeatable.")
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="F.json", help="Write the report as JSON; - for stdout.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="F.png", help="Draw the crossing faces in red.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="F.html", help="Write a page to look around in.")] = None,
    certify: Annotated[bool, typer.Option("--certify", help="Ask ipctk as well, and say whether it agrees.")] = False,
    split_non_manifold: Annotated[
        bool,
        typer.Option("--split-non-manifold", help="Cut surfaces open where an edge has three or more faces."),
    ] = False,
) -> int:
    from unsnarl.cli.files import read_meshes, refuse_to_replace, working, write_json
    from unsnarl.errors import BadInput
    from unsnarl.jit import announce_compilation

    bodies = body or []
    for target, suffix, rest in (
        (json, ".json", [picture, html]),
        (picture, ".png", [json, html]),
        (html, ".html", [json, picture]),
    ):
        refuse_to_replace(target, suffix, [*meshes, *bodies, *rest])
    if picture is not None and picture.suffix.lower() != ".png":
        raise BadInput(f"{picture}: pictures are written as PNG: name the file *.png")
    if html is not None and html.suffix.lower() != ".html":
        raise BadInput(f"{html}: pages are written as HTML: name the file *.html")
    announce_compilation()
    read = read_meshes([*meshes, *bodies])
    cloths, solids = read[: len(meshes)], read[len(meshes) :]

    from unsnarl.tangles.check import check as find

    with working("looking for intersections"):
        report = find(cloths, bodies=solids, split_non_manifold=split_non_manifold)
    lines = [str(report)]
    opinion = None
    if certify:
        with working("asking ipctk"):
            opinion = report.second_opinion()
        lines.append(_in_words(opinion, report.clean))
    if picture is not None:
        from unsnarl.show.picture import draw_report

        with working("drawing"):
            draw_report(report, picture)
        lines.append(f"picture: {picture}")
    if html is not None:
        from unsnarl.show.html import write_html

        with working("writing the page"):
            write_html(report, html)
        lines.append(f"page: {html}")
    if json is not None:
        write_json(json, report.to_dict() | ({"certified": opinion} if opinion else {}))
        if str(json) != "-":
            lines.append(f"report: {json}")
    typer.echo("\n".join(lines), err=str(json) == "-")
    return 0 if report.clean else 1


def _in_words(opinion: dict, clean: bool) -> str:
    says = "finds intersections" if opinion["intersections"] else "finds no intersection"
    if opinion["intersections"] == (not clean):
        return f"certified: {opinion['by']} agrees: it {says}"
    return f"NOT certified: {opinion['by']} disagrees: it {says} (expected only where surfaces just touch)"
