"""Activities as people write them on a command line: `cpu,cuda`."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["ACTIVITIES"]


class _Activities(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """The names of members of `ActivityType`."""
        from kinetograph.session.activity import ActivityType

        if isinstance(value, tuple):
            return value
        names = [name.strip() for name in value.split(",")]
        unknown = [name for name in names if name.upper() not in ActivityType.__members__]
        if unknown:
            known = ", ".join(member.name.lower() for member in ActivityType)
            self.fail(f"expected some of {known}, got {unknown[0]!r}", param, ctx)
        return tuple(name.upper() for name in names)


ACTIVITIES = _Activities()
