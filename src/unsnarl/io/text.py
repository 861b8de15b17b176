"""Numbers in a text file: read in bulk, and replaced in place so that every other byte stays as it came."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from unsnarl.errors import BadInput

_BLANK = np.zeros(256, dtype=bool)
_BLANK[[9, 10, 11, 12, 13, 32]] = True


def parse_floats(text: bytes, count: int, where: Callable[[int], str]) -> np.ndarray:
    """The `count` numbers between blanks in `text`, as (count,) float64, each the nearest to its decimals.

    where : says for the i-th number where it stands, for the message about one that is none.
    """
    if count == 0:
        return np.zeros(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            values = np.fromstring(text, sep=" ")
    except (ValueError, DeprecationWarning):
        values = np.zeros(0)
    if len(values) == count:
        return values
    words = text.split()
    values = np.empty(count)
    for i in range(count):
        if i == len(words):
            raise BadInput(f"{where(i)}: the numbers end there, {count} are needed")
        try:
            values[i] = float(words[i])
        except ValueError:
            raise BadInput(f"{where(i)}: {shown(words[i])} is not a number") from None
    return values


def words(text: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the words of a text begin and end, and which line (from 0) each is on: three (w,) arrays."""
    letters = np.frombuffer(text, dtype=np.uint8)
    inside = np.concatenate([[False], ~_BLANK[letters], [False]])
    edge = np.flatnonzero(inside[1:] != inside[:-1])
    start, end = edge[::2], edge[1::2]
    return start, end, np.searchsorted(np.flatnonzero(letters == 10), start)


def line_number(text: bytes, at: int) -> int:
    """The line, counted from 1 as editors do, that byte `at` of the text is on."""
    newline = b"\n" if b"\n" in text else b"\r"
    return text.count(newline, 0, at) + 1


def replaced(text: bytes, place: np.ndarray, new: list[str]) -> bytes:
    """`text` with the bytes place[i, 0] : place[i, 1] replaced by new[i]; places do not overlap."""
    pieces = []
    at = 0
    for i in np.argsort(place[:, 0], kind="stable").tolist():
        a, b = place[i].tolist()
        pieces += (text[at:a], new[i].encode())
        at = b
    pieces.append(text[at:])
    return b"".join(pieces)


def exact(rows: np.ndarray) -> list[str]:
    """Three numbers a row, each in the fewest decimals that give the same bits again."""
    return [f"{x!r} {y!r} {z!r}" for x, y, z in rows.tolist()]


def rounded(rows: np.ndarray) -> list[str]:
    """Three numbers a row, to six decimals: enough for unit vectors."""
    return [f"{x:.6f} {y:.6f} {z:.6f}" for x, y, z in rows.tolist()]


def shown(word: bytes) -> str:
    """A word of a file as a message quotes it: printable, and not longer than is useful."""
    text = word[:40].decode("utf-8", "replace")
    return repr(text + "..." if len(word) > 40 else text)
