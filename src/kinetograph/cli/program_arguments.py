"""Where the options of `kinetograph run` end and the program begins: as for `python`, also at -m and -c."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import click

__all__ = ["ProgramCommand", "set_program_apart"]


class ProgramCommand(click.Command):
    """A command whose last argument is a program with arguments of its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = [parameter for parameter in self.params if isinstance(parameter, click.Option)]
        with_value = {name for option in options if not option.is_flag for name in option.opts}
        return super().parse_args(ctx, set_program_apart(args, with_value))


def set_program_apart(arguments: Sequence[str], with_value: Collection[str]) -> list[str]:
    """Put `--` behind `-m` and `-c`, which end the options, and take off what is attached to them.

    >>> set_program_apart(["-o", "x.json", "-qmpytest", "-v"], {"-o"})
    ['-o', 'x.json', '-q', '-m', '--', 'pytest', '-v']
    """
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] not in ("-", "--"):
        option = arguments[at]
        if option.startswith("--"):
            at += 2 if option in with_value else 1
            continue
        position = _end_of_flags(option, with_value)
        letter, attached = option[position : position + 1], option[position + 1 :]
        if letter in ("m", "c"):
            flags = [option[:position]] if position > 1 else []
            rest = [attached] if attached else []
            return [*arguments[:at], *flags, f"-{letter}", "--", *rest, *arguments[at + 1 :]]
        at += 1 if attached or not letter else 2
    return list(arguments)


def _end_of_flags(option: str, with_value: Collection[str]) -> int:
    """Where in `-qo` the first letter stands that is no flag."""
    for position, letter in enumerate(option[1:], 1):
        if letter in ("m", "c") or f"-{letter}" in with_value:
            return position
    return len(option)
