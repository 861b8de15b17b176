"""`unsnarl`, the command. Exit codes: 0 nothing crosses, 1 something does, 2 bad input or usage (one line, stderr)."""

from __future__ import annotations

import sys

import typer

import unsnarl
from unsnarl.cli import bench, check, demo
from unsnarl.errors import BadInput

UsageError = typer.BadParameter.__base__  # of the click that typer brings along

INTERRUPTED = 130

app = typer.Typer(
    name="unsnarl",
    help="Says exactly where cloth is tangled, and gets it out of its own tangles.",
    epilog="Exit codes: 0 no intersections, 1 some are left, 2 bad input or usage.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unsnarl {unsnarl.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", help="Say the version and leave.", callback=_version, is_eager=True
    ),
) -> None:
    pass


app.command("check", help=check.__doc__, epilog=check.EXAMPLES)(check.check)
app.command("demo", help=demo.__doc__, epilog=demo.EXAMPLES)(demo.demo)
app.command("bench", help=bench.__doc__, epilog=bench.EXAMPLES)(bench.bench)


def run(arguments: list[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    arguments = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        code = app(args=arguments, prog_name="unsnarl", standalone_mode=False)
    except UsageError as error:
        return _refuse(error.format_message())
    except (BadInput, MemoryError) as error:
        return _refuse(str(error) or "out of memory")
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    if code == INTERRUPTED:  # typer makes this of Ctrl-C itself
        typer.echo("unsnarl: interrupted; nothing half-written is left behind", err=True)
    return code if isinstance(code, int) else 0


def _refuse(message: str) -> int:
    typer.echo("unsnarl: " + " ".join(message.split()), err=True)
    return 2


def main() -> None:
    sys.exit(run())
