"""`unsnarl`, the command. Exit codes: 0 nothing crosses, 1 something does, 2 bad input or usage (one line, stderr)."""

from __future__ import annotations

import os
import signal
import sys

import typer

import unsnarl
from unsnarl.cli import bench, check, demo, simulate, untangle
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
app.command("untangle", help=untangle.__doc__, epilog=untangle.EXAMPLES)(untangle.untangle)
app.command("simulate", help=simulate.__doc__, epilog=simulate.EXAMPLES)(simulate.simulate)
app.command("demo", help=demo.__doc__, epilog=demo.EXAMPLES)(demo.demo)
app.command("bench", help=bench.__doc__, epilog=bench.EXAMPLES)(bench.bench)


def run(arguments: list[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    arguments = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        code = app(args=arguments, prog_name="unsnarl", standalone_mode=False)
    except UsageError as error:
        return _refuse(error.format_message())
    except BadInput as error:
        return _refuse(str(error))
    except BrokenPipeError:  # nobody reads on, as with `| head`
        return _leave_quietly()
    except OSError as error:
        return _refuse(f"cannot go on: {error.strerror or error}")
    except MemoryError:
        return _refuse("there is not enough memory for this")
    except Exception as error:
        if os.environ.get("UNSNARL_TRACEBACK"):
            raise
        return _refuse(f"this is a fault of unsnarl: {type(error).__name__}: {error} (UNSNARL_TRACEBACK=1 says where)")
    return code if isinstance(code, int) else 0


def _refuse(message: str) -> int:
    if sys.stderr is not None:
        typer.echo("unsnarl: " + " ".join(message.split()), err=True)
    return 2


def _leave_quietly() -> int:
    """Keep Python from complaining about a closed pipe when it flushes at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def _interrupted(signal_number, frame) -> None:
    """Leave at once. An exception raised here could surface inside a compiled kernel, which does not survive it."""
    writer = sys.modules.get("unsnarl.io.whole")  # not imported here: an import may be under way
    if hasattr(writer, "remove_unfinished"):
        writer.remove_unfinished()
    if sys.stderr is not None:
        shown_again = "\x1b[?25h" if sys.stderr.isatty() else ""  # the cursor, which a progress bar hides
        run = sys.modules.get("unsnarl.simulation.recording")
        left = (hasattr(run, "farewell") and run.farewell()) or "nothing half-written is left"
        os.write(sys.stderr.fileno(), f"{shown_again}unsnarl: interrupted; {left}\n".encode())
    os._exit(INTERRUPTED)


def main() -> None:
    signal.signal(signal.SIGINT, _interrupted)
    code = run()
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _leave_quietly() if isinstance(error, BrokenPipeError) else _refuse(f"cannot go on: {error.strerror}")
        os._exit(code)
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(code)  # all files are closed; libraries that draw do not always find their end
