"""Lists of vertices in a text file: whole numbers from 0, between blanks or commas; # begins a comment."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.io.text import shown


def read_indices(path: str | Path) -> np.ndarray:
    """(k,) int32, in the order of the file."""
    path = Path(path)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        for word in re.split(rb"[\s,]+", line.split(b"#")[0].strip()):
            if word and not re.fullmatch(rb"\d{1,9}", word):
                raise BadInput(f"{path}: line {number}: {shown(word)} is not the number of a vertex")
            found += [int(word)] if word else []
    if not found:
        raise BadInput(f"{path}: there are no numbers of vertices in it")
    return np.array(found, dtype=np.int32)
