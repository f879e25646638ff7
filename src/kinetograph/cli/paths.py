"""What a verb reads or writes, as it is given it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

__all__ = ["FILE", "FILE_NAME", "FOLDER_NAME", "NAME_TO_FILL_IN"]


class _Path(click.Path):
    """A shell gives an empty name for a variable that is not set, and `Path("")` is the current folder."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if value == "":
            self.fail("the name is empty", param, ctx)
        return super().convert(value, param, ctx)


FILE = _Path(dir_okay=False, path_type=Path)
FILE_NAME = _Path(dir_okay=False)
FOLDER_NAME = _Path(file_okay=False)
# With {pid} and its like, no file has this name yet: nothing is asked of one before they are filled in.
NAME_TO_FILL_IN = _Path(readable=False)
