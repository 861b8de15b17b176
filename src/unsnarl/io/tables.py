"""Files of tables (TOML, JSON), checked by pydantic: whatever is wrong comes out as one line with file, line and key.

`Table` is the base of what may be in a file; `TableReader` reads one file and says what is wrong with it:
`drape.toml: line 7: cloth[0].material: ...`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from unsnarl.errors import BadInput
from unsnarl.io.toml_lines import line_of, lines_of_keys


class Table(BaseModel):
    """What may be in a table of a file: its fields are the keys."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, table: Any) -> Any:
        if not isinstance(table, dict):
            raise PydanticCustomError("table", "must be a table")
        for key in table:
            if key not in cls.model_fields:
                near = get_close_matches(key, cls.model_fields, 1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(cls.model_fields)}"
                raise PydanticCustomError("unknown", "is not known; {hint}", {"key": key, "hint": hint})
        return table

    def given(self, *keys: str) -> dict[str, Any]:
        """Those of the keys that are in the file, with their values."""
        return {key: getattr(self, key) for key in keys if key in self.model_fields_set}


def only(*allowed: str):
    """A validator: one of these."""

    def check(value: Any) -> Any:
        if value not in allowed:
            raise PydanticCustomError("choice", f"must be {' or '.join(map(repr, allowed))}")
        return value

    return BeforeValidator(check)


_SAID = {
    "missing": "is missing",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text in quotes",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a table",
}


class TableReader:
    """One file. `key` is where something stands: ("cloth", 0, "mesh")."""

    def __init__(self, path: Path):
        self.path = path
        self.lines: dict = {}

    def text(self) -> str:
        try:
            return self.path.read_bytes().decode().removeprefix("\ufeff")
        except OSError as error:
            raise BadInput(f"{self.path}: cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise BadInput(f"{self.path}: is not text in UTF-8 (byte {error.start})") from None

    def json(self) -> dict:
        text = self.text()
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            raise BadInput(f"{self.path}: line {error.lineno}: not JSON: {error.msg.lower()}") from None
        except RecursionError:
            raise BadInput(f"{self.path}: not JSON: it is nested too deeply") from None
        except ValueError:  # what Python says of whole numbers with thousands of digits
            raise BadInput(f"{self.path}: not JSON: a number has too many digits") from None
        if not isinstance(content, dict):
            raise BadInput(f"{self.path}: must be a table")
        return content

    def toml(self) -> dict:
        text = self.text()
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            said = re.fullmatch(r"(.*) \(at (.*)\)", str(error), re.DOTALL)
            what, where = said.groups() if said else (str(error), "some place")
            raise BadInput(f"{self.path}: {where}: not TOML: {what[:1].lower()}{what[1:]}") from None
        except RecursionError:
            raise BadInput(f"{self.path}: not TOML: it is nested too deeply") from None
        except ValueError:  # what Python says of whole numbers with thousands of digits
            raise BadInput(f"{self.path}: not TOML: a number has too many digits") from None
        self.lines = lines_of_keys(text)
        return content

    def validated(self, model: type[Table], content: dict) -> Any:
        """The content as a `model`."""
        try:
            return model.model_validate(content)
        except ValidationError as error:
            raise self._from_pydantic(error) from None

    def one_of(self, key: tuple, table: Table, *names: str) -> str:
        given = [name for name in names if getattr(table, name) is not None]
        if len(given) != 1:
            found = f"both {given[0]} and {given[1]} are there" if given else "none is there"
            raise self.trouble(key, f"it needs one of {', '.join(names[:-1])} or {names[-1]}; {found}")
        return given[0]

    def positive(self, key: tuple, value: float) -> None:
        if not value > 0:
            raise self.trouble(key, f"must be a positive number, not {value}")

    def trouble(self, key: tuple, what: str) -> BadInput:
        line = line_of(key, self.lines)
        where = "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in key).removeprefix(".")
        said = [str(self.path), f"line {line}" if line else "", where, " ".join(what.split())]
        return BadInput(": ".join(part for part in said if part))

    @contextmanager
    def blame(self, key: tuple, name: str = "", table: Table | str | None = None) -> Iterator[None]:
        """What goes wrong inside is the fault of `key`, or of the key of its table that the message begins with.

        name : what the message may call the object, which the key says already
        """
        try:
            yield
        except BadInput as error:
            said = " ".join(str(error).split()).removeprefix(f"{' '.join(name.split())}: ")
            first, _, rest = said.partition(" ")
            known = type(table).model_fields if isinstance(table, Table) else ()
            if first in known:
                key, said = (*key, first), rest
            elif "pins" in known and re.search(r"\bpin", said):
                key = (*key, "pins")
            raise self.trouble(key, said) from error

    def _from_pydantic(self, error: ValidationError) -> BadInput:
        """The first trouble in the file."""
        errors = error.errors(include_url=False)
        first = min(errors, key=lambda e: line_of(self._key(e), self.lines) or 0)
        kind, key, value = first["type"], self._key(first), first["input"]
        what = _SAID.get(kind, first["msg"])
        if len(key) == 1 and kind == "list_type" and isinstance(value, dict):
            what = f"must be a list of tables: write [[{key[0]}]]"
        elif kind in ("too_short", "too_long"):
            context = first["ctx"]
            what = f"must have {context.get('min_length', context.get('max_length'))} entries, not {len(value)}"
        elif kind not in ("missing", "unknown"):
            what += f", not {_shown(value)}"
        return self.trouble(key, what)

    @staticmethod
    def _key(error: dict) -> tuple:
        unknown = (error["ctx"]["key"],) if error["type"] == "unknown" else ()
        return (*error["loc"], *unknown)


def _shown(value: Any) -> str:
    text = "a table" if isinstance(value, dict) else repr(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
