"""`kinetograph doctor`: what is there on this machine, what is not, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import kinetograph as kg

if TYPE_CHECKING:
    from kinetograph.session.features import Feature

__all__ = ["doctor"]


@click.command()
def doctor() -> None:
    """Say what is there on this machine, what is not, and why.

    \b
    Example:
      kinetograph doctor
    """
    table = kg.features()
    width = max(len(feature.name) for feature in table)
    for feature in table:
        click.echo(_line(feature, width))


def _line(feature: Feature, width: int) -> str:
    mark = "yes" if feature.is_available else "no "
    line = f"{feature.name:<{width}}  {mark}  {feature.detail}"
    return f"{line}\n{'':<{width + 7}}hint: {feature.hint}" if feature.hint else line
