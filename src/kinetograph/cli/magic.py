"""`%%kinetograph`: profile a cell of a notebook and show the table under it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from kinetograph.analysis.summary_tables import SORT_KEYS
from kinetograph.cli.paths import FILE_NAME
from kinetograph.cli.summary import SummaryOptions, print_summary
from kinetograph.errors import KinetographError
from kinetograph.run.settings import RunSettings
from kinetograph.session.handover import call_program
from kinetograph.session.recording import Session
from kinetograph.trace.formats import usable_path

__all__ = ["profile_cell"]

# What runs a cell, and is not what the cell does.
_NOTEBOOK = (
    "IPython",
    "ipykernel",
    "ipykernel_launcher",
    "jupyter_client",
    "runpy",
    "tornado",
    "traitlets",
    "zmq",
)


@click.command(add_help_option=False)
@click.option("-o", "--output", type=FILE_NAME)
@click.option("--calls/--no-calls", default=True)
@click.option("--sort-by", "sort", type=click.Choice(SORT_KEYS), default="self")
@click.option("--top", "--limit", "top", type=click.IntRange(min=1), default=20)
def _options(**_options: Any) -> None:
    """Only parsed, never called."""


def profile_cell(shell: Any, line: str, cell: str) -> None:
    """Profile the cell, all threads, and show where the time went.

    %%kinetograph [-o FILE] [--no-calls] [--sort-by self|total|count|...] [--top ROWS]
    """
    # IPython shows no frames above this one.
    __tracebackhide__ = "__ipython_bottom__"
    options = _parsed(line)
    if options["output"]:
        options["output"] = usable_path("output", options["output"])  # the cell may change directory
    settings = RunSettings(calls=options["calls"], exclude=(*_NOTEBOOK, *_callers(shell)))
    started: list[Session] = []
    try:
        Session.start(settings.config(), kept=started)
        with _tracebacks_left_to_the_caller(shell):
            result = call_program(shell.run_cell, cell)
        trace = started[0].stop()
    finally:  # where the notebook was interrupted
        for session in started:
            session.discard()
    print_summary(trace, SummaryOptions(sort_by=options["sort"], limit=options["top"]))
    if options["output"]:
        trace.save(options["output"])
        click.echo(f"trace in {options['output']}")
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        raise error


def _parsed(line: str) -> dict[str, Any]:
    try:
        context = _options.make_context("%%kinetograph", shlex.split(line))
    except (click.ClickException, ValueError) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        raise KinetographError(
            f"%%kinetograph {line}: {text}", hint="%%kinetograph? lists the options"
        ) from None
    return dict(context.params)


def _callers(shell: Any) -> Iterator[str]:
    """The file of the cell that holds the magic: it waits until the cell inside it is done."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals is shell.user_global_ns:
            yield frame.f_code.co_filename
        frame = frame.f_back


@contextmanager
def _tracebacks_left_to_the_caller(shell: Any) -> Iterator[None]:
    """The error is raised again after the table, and the cell fails as it would without us."""
    shown = shell.showtraceback, shell.showsyntaxerror
    shell.showtraceback = shell.showsyntaxerror = lambda *_args, **_kwargs: None
    try:
        yield
    finally:
        shell.showtraceback, shell.showsyntaxerror = shown
