"""Files appear whole or not at all: write to a temporary file beside the target, then rename."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unsnarl.errors import BadInput

_unfinished: set[Path] = set()


def remove_unfinished() -> None:
    """Remove the temporary files that are being written; for a program that is about to end abruptly."""
    for temporary in list(_unfinished):
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path with the same extension, in the same folder; rename it to `path` if all went well.

    Whatever goes wrong, an interruption included, the temporary file is removed and `path` is as it was before.
    """
    path = Path(path).resolve()  # a link stays; what it points to is replaced
    if path.is_dir():
        raise BadInput(f"{path}: cannot be written: it is a folder")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
    os.close(handle)
    temporary = Path(name)
    _unfinished.add(temporary)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
        _unfinished.discard(temporary)
