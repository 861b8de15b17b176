"""Make something, tangled or not, and show what unsnarl does with it. Without a NAME: list the demos."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  unsnarl demo
  unsnarl demo folded_sheet -o out
  unsnarl demo all"""

DEMOS = {
    "folded_sheet": "a sheet folded over itself, checked: mesh, picture and JSON report",
    "kinds": "every kind of path, drawn into one picture",
    "drape": "a scene file, simulated: a sheet over a sphere, as USD, statistics and picture",
    "scenes": "six simulated scenes, drawn into one picture (a minute or two)",
    "wardrobe": "garments sewn from panels and draped on a body: meshes, picture (a minute or two)",
    "tortured_shirt": "a tangled shirt, simulated with and without untangling: a picture (a minute)",
    "tanglers": "seven ways in which cloth gets tangled: a table of kinds, and a picture (a minute or two)",
}


def demo(
    name: Annotated[str | None, typer.Argument(help="A demo, or `all`.", show_default=False)] = None,
    folder: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where to put the files.")] = Path(
        "out"
    ),
) -> int:
    if name is None:
        width = max(map(len, DEMOS))
        typer.echo("\n".join(f"{key:<{width}}  {text}" for key, text in DEMOS.items()))
        return 0
    if name != "all" and name not in DEMOS:
        raise typer.BadParameter(f"no demo is called {name!r}; there are: {', '.join(DEMOS)}, all")

    from unsnarl.jit import announce_compilation

    _make_folder(folder)
    announce_compilation()
    for chosen, make in (
        ("folded_sheet", _folded_sheet),
        ("kinds", _kinds),
        ("drape", _drape),
        ("scenes", _scenes),
        ("wardrobe", _wardrobe),
        ("tortured_shirt", _tortured_shirt),
        ("tanglers", _tanglers),
    ):
        if name in (chosen, "all"):
            make(folder)
    return 0


def _make_folder(folder: Path) -> None:
    from unsnarl.errors import BadInput

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be made a folder: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise BadInput(f"{folder}: cannot be written into")


def _folded_sheet(folder: Path) -> None:
    from unsnarl.cli.files import working, write_json
    from unsnarl.io import write_mesh
    from unsnarl.scenes import folded_sheet
    from unsnarl.show.picture import draw_report
    from unsnarl.tangles.check import check

    mesh, picture, report_file = (folder / f"folded_sheet{end}" for end in (".obj", ".png", ".json"))
    sheet = folded_sheet.build()
    write_mesh(mesh, sheet)
    with working("looking for intersections"):
        report = check(sheet)
    with working("drawing"):
        draw_report(report, picture, up="z")
    write_json(report_file, report.to_dict())
    typer.echo(f"{report}\n\nmesh:    {mesh}\npicture: {picture}\nreport:  {report_file}")


def _kinds(folder: Path) -> None:
    from unsnarl.cli.files import working
    from unsnarl.scenes.kinds import CANONICAL
    from unsnarl.show.gallery import draw_gallery
    from unsnarl.tangles.check import check

    picture = folder / "kinds.png"
    with working("drawing every kind"):
        reports = {kind: check(scene.build(20)) for kind, scene in CANONICAL.items()}
        titles = {kind: scene.__name__.rsplit(".", 1)[-1].replace("_", " ") for kind, scene in CANONICAL.items()}
        draw_gallery({f"{' '.join(reports[kind].counts)}: {titles[kind]}": reports[kind] for kind in reports}, picture)
    for kind, report in reports.items():
        typer.echo(f"{kind:<8}{titles[kind]:<28}{' '.join(f'{k} x {n}' for k, n in report.counts.items())}")
    typer.echo(f"picture: {picture}")


DRAPE = """\
# A sheet over a sphere. Simulate it with: unsnarl simulate drape.toml -o drape.usd
frames = 40
up = "z"

[[cloth]]
sheet = { size = [2, 2], edge = 0.03 }
material = "jersey"
position = [0, 0, 0.6]
rotate = [0, 5, 0]

[[body]]
sphere = { radius = 0.5 }
"""


def _drape(folder: Path) -> None:
    from unsnarl.cli.simulate import simulate
    from unsnarl.io.whole import whole_file

    scene, output, stats, picture = (folder / f"drape{end}" for end in (".toml", ".usd", ".jsonl", ".png"))
    with whole_file(scene) as temporary:
        temporary.write_text(DRAPE, encoding="utf-8")
    simulate(
        scene, output=str(output), frames=None, resume=False, overwrite=True, untangle=None, resolver=None,
        checkpoint=10, stats=str(stats), picture=picture,
    )  # fmt: skip
    typer.echo(f"scene               {scene}")


SHOWN = {"hanging_cloth": 20, "flag_in_wind": 40, "ribbon_in_folds": 14}  # frames worth looking at; else the last one


def _scenes(folder: Path) -> None:
    from unsnarl.cli.files import counting
    from unsnarl.scenes.simulated import SIMULATED
    from unsnarl.show.stills import draw_stills
    from unsnarl.simulation.simulate import simulate

    picture = folder / "scenes.png"
    stills = []
    for name, module in SIMULATED.items():
        scene = module.build()
        wanted = SHOWN.get(name, scene.frames - 1)
        seconds = left = 0
        with counting(name.replace("_", " "), wanted + 1) as step:
            for frame in simulate(scene):
                seconds += frame.stats["seconds"]
                left = max(left, frame.stats["ef_pairs"])
                step()
                if frame.number == wanted:
                    break
        stills.append((name.replace("_", " "), scene, frame))
        vertices = sum(len(cloth.mesh.x) for cloth in scene.cloths)
        typer.echo(f"{name:<24}{vertices:>7,} vertices {seconds / (wanted or 1):8.3f} s a frame, intersections: {left}")
    draw_stills(stills, picture)
    typer.echo(f"picture: {picture}")


def _wardrobe(folder: Path) -> None:
    import time

    import numpy as np

    from unsnarl.cli.files import portioned, working
    from unsnarl.io import write_mesh
    from unsnarl.show.lookbook import draw_lookbook
    from unsnarl.tangles.check import check
    from unsnarl.wardrobe.body import character
    from unsnarl.wardrobe.dress import OUTFITS, dress, strains

    meshes, picture = folder / "wardrobe", folder / "wardrobe.png"
    _make_folder(meshes)
    person = character()
    write_mesh(meshes / "body.obj", person.mesh)
    outfits = []
    for name in OUTFITS:
        began = time.perf_counter()
        with portioned(name.replace("_", " ")) as tell:
            outfit = dress(name, person, vertices=3_000, progress=tell)
        seconds = time.perf_counter() - began
        report = check(outfit.meshes, bodies=[body.mesh for body in outfit.bodies])
        stretch = np.percentile(np.concatenate([np.abs(strains(mesh)) for mesh in outfit.meshes]), 95)
        for mesh in outfit.meshes:
            write_mesh(meshes / (f"{name}.obj" if len(outfit.meshes) == 1 else f"{name}_{mesh.name}.obj"), mesh)
        vertices = sum(len(mesh.x) for mesh in outfit.meshes)
        typer.echo(
            f"{name:<20}{vertices:>7,} vertices {seconds:7.1f} s, edges changed by {stretch:.1%} (95 % of them), "
            f"intersections: {len(report.hits)}"
        )
        outfits.append(outfit)
    with working("drawing"):
        draw_lookbook(outfits, picture)
    typer.echo(f"meshes:  {meshes}\npicture: {picture}")


def _tanglers(folder: Path, seeds: int = 10) -> None:
    from unsnarl.cli.files import portioned, working
    from unsnarl.show.gallery import draw_gallery
    from unsnarl.tangles.paths import KINDS
    from unsnarl.wardrobe.tanglers import TANGLERS, check_state, count_kinds, tangle

    picture = folder / "tanglers.png"
    typer.echo(f"{'':<16}{'tangled':>8}{'hits':>7}" + "".join(f"{kind:>8}" for kind in KINDS))
    reports = {}
    for name in TANGLERS:
        with portioned(name) as tell:
            counts = count_kinds(name, range(seeds), lambda share, name=name, tell=tell: tell(name, share))
        typer.echo(
            f"{name:<16}{counts.tangled:>8}{counts.hits:>7g}" + "".join(f"{counts.kinds[kind]:>8}" for kind in KINDS)
        )
        reports[name.replace("_", " ")] = check_state(tangle(name, 1))
    with working("drawing"):
        draw_gallery(reports, picture, up="y")
    typer.echo(f"of {seeds} seeds each; hits: the median\npicture: {picture}")


def _tortured_shirt(folder: Path) -> None:
    from unsnarl.cli.files import working
    from unsnarl.io.whole import whole_file
    from unsnarl.scenes import tortured_shirt as scene
    from unsnarl.show.side_by_side import draw_side_by_side
    from unsnarl.tangles.check import check

    with working("torturing a shirt, and simulating it twice"):
        runs = scene.check()
        shirt = scene.build().cloths[0].mesh
        reports = [check(shirt.moved(x)) for x in (shirt.x, runs["auto"].x, runs["none"].x)]
    captions = [
        f"tortured: {len(reports[0].hits)} edges through faces",
        f"{scene.WITH} steps with untangling: {len(reports[1].hits)}",
        f"{scene.WITHOUT} steps without: {len(reports[2].hits)}",
    ]
    picture = folder / "tortured_shirt.png"
    draw_side_by_side(dict(zip(captions, reports)), picture)
    hits = folder / "tortured_shirt.txt"
    with whole_file(hits) as temporary:
        temporary.write_text(scene.table(runs), encoding="utf-8")
    lines = [*captions, f"free after {runs['auto'].free} steps", f"hits over steps: {hits}", f"picture: {picture}"]
    typer.echo("\n".join(lines))
