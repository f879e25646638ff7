"""The `kinetograph` command. One file per verb, and a verb's file is imported only when it is asked for."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import click

from kinetograph.cli.streams import discard_stdout, spell_out_foreign_letters
from kinetograph.errors import KinetographError

__all__ = ["main"]


class Verb(NamedTuple):
    """Where a verb lives, and what `--help` says of it without importing it."""

    module: str
    summary: str


VERBS = {
    "run": Verb("run", "Profile a Python program and all its processes, from start to end."),
    "demo": Verb("demo", "Profile a small program and show what comes out."),
    "summary": Verb("summary", "Print where the time went in TRACE."),
    "convert": Verb("convert", "Rewrite trace A as B, in the format of B's suffix."),
    "merge": Verb("merge", "Make one trace of several."),
    "view": Verb("view", "Open TRACE in Perfetto's UI, in the browser."),
    "recover": Verb("recover", "Build traces from what a dead process left in DIR."),
    "ps": Verb("ps", "List the processes that can be captured."),
    "capture": Verb("capture", "Record a window of processes that run."),
    "doctor": Verb("doctor", "Say what is there on this machine, what is not, and why."),
    "build": Verb("build", "Build what records the operators of an installed framework."),
    "daemon": Verb("daemon", "Pass capture requests on to processes, of PyTorch and from other hosts."),
}


class Failure(click.ClickException):
    """One of our errors on its way to stderr; the exit status is 1."""

    def show(self, file: Any = None) -> None:
        click.echo(f"kinetograph: {self.message}", err=True)


class VerbGroup(click.Group):
    """A group that knows its verbs by the table above."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        module = import_module(f"kinetograph.cli.{verb.module}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Where `--help` and `--version` print."""
        with _told():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        spell_out_foreign_letters()
        with _told():
            return super().invoke(ctx)


@contextmanager
def _told() -> Iterator[None]:
    """Errors that a user can do something about, without a traceback."""
    try:
        yield
    except KinetographError as error:
        raise Failure(str(error)) from error
    except OSError as error:
        # Files are the business of those who open them; what has no name is stdout. Click ends quietly
        # when the reader of a pipe has gone.
        if error.filename is not None or error.errno == errno.EPIPE:
            raise
        discard_stdout()
        raise Failure(f"cannot write to stdout: {error.strerror or error}") from error


def _print_version(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    if not asked or ctx.resilient_parsing:
        return
    from importlib.metadata import version

    click.echo(f"kinetograph {version('kinetograph')}")
    ctx.exit()


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version.",
)
def main() -> None:
    """Profile Python programs: every layer at once, on one clock, in one trace.

    \b
    Examples:
      kinetograph run app.py                  profile a program and all its processes
      kinetograph demo                        see what it does, in a second
      kinetograph summary trace.json.gz       where did the time go
      kinetograph convert trace.json trace.pftrace
      kinetograph view trace.pftrace          look at it in Perfetto's UI
      kinetograph capture --pid 4711 -o .     look into a process that runs
      kinetograph doctor                      what can be recorded here

    \b
    In a program:
      import kinetograph as kg
      with kg.scope("load"):
          ...
    """
