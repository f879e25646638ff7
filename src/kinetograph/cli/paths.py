"""Files that a verb reads or writes, as it is given them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

__all__ = ["FILE"]


class _File(click.Path):
    """A shell gives an empty name for a variable that is not set, and `Path("")` is the current folder."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if value == "":
            self.fail("the name is empty", param, ctx)
        return super().convert(value, param, ctx)


FILE = _File(dir_okay=False, path_type=Path)
