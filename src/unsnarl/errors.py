"""The one error that means: the input is at fault, not the program."""

from __future__ import annotations


class BadInput(ValueError):
    """Input that cannot be used. Its message is one clear line: what (which file), and what is wrong with it.

    The command line prints the message and exits with 2.
    """


def need(module: str, what: str, extra: str):
    """Import `module`, or raise `BadInput` saying which extra of unsnarl brings it.

    module : dotted name, e.g. "pxr.Usd"
    what   : what needs it, e.g. "reading USD"
    extra  : the extra in pyproject that has it, e.g. "formats"
    """
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise BadInput(f"{what} needs the package of {module!r}: pip install 'unsnarl[{extra}]' ({error})") from error
