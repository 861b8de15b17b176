"""Where the keys of a TOML file stand: `tomllib` says it only for text that it cannot read."""

from __future__ import annotations

import re

_KEY = re.compile(r"""[ \t]*("(?:\\.|[^"\\\n])*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*(\.?)""")
_PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|'
    r"'''.*?'{3,5}|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'[^'\n]*'|"
    r"#[^\n]*|"
    r"""[\[{\]}\n]|[^"'#\[\]{}\n]+""",
    re.DOTALL,
)


def lines_of_keys(text: str) -> dict[tuple[str | int, ...], int]:
    """Path of each table and key, as in ("cloth", 1, "mesh") -> its line, from 1. The text must be valid TOML.

    What is inside a value (an inline table) is not told apart: see `line_of`.
    """
    text = text.replace("\r\n", "\n")
    found: dict[tuple[str | int, ...], int] = {}
    count: dict[tuple[str | int, ...], int] = {}  # of the tables in each array of tables
    table: tuple[str | int, ...] = ()
    at = 0
    while at < len(text):
        line = text.count("\n", 0, at) + 1
        here = re.compile(r"[ \t]*").match(text, at).end()
        if text.startswith("[", here):
            array = text.startswith("[[", here)
            keys, at = _keys(text, here + 1 + array)
            table = _resolved(keys[:-1], count)
            if array:
                place = (*table, keys[-1])
                found.setdefault(place, line)
                table = (*place, count.get(place, 0))
                count[place] = count.get(place, 0) + 1
            else:
                table = _resolved(keys, count)
            found.setdefault(table, line)
        elif not text.startswith(("#", "\n"), here):
            keys, at = _keys(text, here)
            for k in range(len(keys)):
                found.setdefault((*table, *keys[: k + 1]), line)
        at = _end_of_value(text, at)
    return found


def line_of(path: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int]) -> int | None:
    """The line of a key, or of the nearest thing around it that has one; None for the file as a whole."""
    for k in range(len(path), 0, -1):
        if path[:k] in lines:
            return lines[path[:k]]
    return None


def _keys(text: str, at: int) -> tuple[list[str], int]:
    """The dotted keys at a place, and where they end."""
    keys = []
    while key := _KEY.match(text, at):
        at = key.end()
        keys.append(key[1][1:-1] if key[1][0] in "\"'" else key[1])
        if not key[2]:
            break
    return keys, at


def _resolved(keys: list[str], count: dict) -> tuple[str | int, ...]:
    """Keys of a header as a path: the last table so far stands for an array of tables."""
    path: tuple[str | int, ...] = ()
    for key in keys:
        path = (*path, key)
        if path in count:
            path = (*path, count[path] - 1)
    return path


def _end_of_value(text: str, at: int) -> int:
    """The place after the line break that ends a value, a header or a comment."""
    depth = 0
    while piece := _PIECE.match(text, at):
        at = piece.end()
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(piece[0], 0)
        if piece[0] == "\n" and depth <= 0:
            return at
    return len(text)
