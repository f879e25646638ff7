"""`kinetograph run app.py`: profile a program and all its child processes, from start to end."""

from __future__ import annotations

from typing import Any

import click

from kinetograph.cli.activities import ACTIVITIES
from kinetograph.cli.paths import NAME_TO_FILL_IN
from kinetograph.cli.program_arguments import ProgramCommand
from kinetograph.cli.sizes import BYTES, DURATION_NS

__all__ = ["run"]


@click.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
@click.option("-m", "form", flag_value="-m", help="PROGRAM is a module, as with python -m.")
@click.option("-c", "form", flag_value="-c", help="PROGRAM is code, as with python -c.")
@click.option(
    "-o",
    "--output",
    type=NAME_TO_FILL_IN,
    metavar="FILE",
    help="Where to write the trace; its suffix is the format. {host} {rank} {pid} {time} are filled in.",
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Say nothing unless something goes wrong, or the observer for torch has to be built.",
)
@click.option(
    "--top",
    "--limit",
    "top",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Rows of the summary.",
)
@click.option(
    "--ring",
    "ring_seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Keep only the newest SECONDS of each process.",
)
@click.option(
    "--memory-limit",
    "memory_limit_bytes",
    type=BYTES,
    default="1G",
    show_default=True,
    help="Memory that a process may use for recording, and the launcher for the trace.",
)
@click.option(
    "--activities", type=ACTIVITIES, metavar="NAMES", help="What to record, separated by commas: cpu,cuda."
)
@click.option(
    "--cuda", is_flag=True, help="Record CUDA: kernels, copies, calls. The same as --activities cpu,cuda."
)
@click.option("--record-shapes", "report_input_shapes", is_flag=True, help="Note the shapes of inputs.")
@click.option("--profile-memory", is_flag=True, help="Record allocations.")
@click.option("--with-stack", is_flag=True, help="Give events their Python stack.")
@click.option("--with-flops", is_flag=True, help="Estimate the FLOPs of operators.")
@click.option("--with-modules", is_flag=True, help="Give operators their module.")
@click.option("--calls/--no-calls", default=True, help="Record Python calls (the default), or scopes only.")
@click.option(
    "--include", multiple=True, metavar="WHAT", help="Calls of this module or path only; repeatable."
)
@click.option("--exclude", multiple=True, metavar="WHAT", help="No calls of this module or path; repeatable.")
@click.option("--max-depth", type=click.IntRange(min=1), metavar="N", help="No calls nested deeper.")
@click.option(
    "--min-duration",
    "min_duration_ns",
    type=DURATION_NS,
    default=None,
    metavar="TIME",
    help="No calls that are shorter, such as 10us.",
)
@click.option("--c-calls", is_flag=True, help="Calls of functions written in C as well.")
@click.option("--call-lines", is_flag=True, help="Note the line that each call was made from.")
@click.option(
    "--sample",
    "sample_hz",
    type=click.IntRange(1, 10_000),
    metavar="HZ",
    help="Take samples of all stacks instead, so many a second.",
)
@click.option(
    "--wait",
    "wait_seconds",
    type=click.FloatRange(min=0),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for child processes that outlive the program.",
)
@click.option("--agent", is_flag=True, help="Let `kinetograph capture` look into the program, too.")
@click.option(
    "--session-dir",
    type=click.Path(exists=True, file_okay=False, writable=True),
    metavar="DIR",
    help="Where to keep what is recorded until the trace is made; the temporary files if not given. "
    "A run inside another run keeps it there.",
)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="PROGRAM [ARGS]...")
def run(**options: Any) -> None:
    """Profile a Python PROGRAM from start to end, and every Python process it starts.

    PROGRAM runs as `python PROGRAM` would run it, with the same output, exit status and signals. When it has
    ended, one trace of all processes is written, and where it is and where the time went is told on stderr.

    \b
    Examples:
      kinetograph run app.py --its-own --options
      kinetograph run -o trace.json.gz -m pytest tests
      kinetograph run -c 'import app; app.main()'
      kinetograph run --ring 30 server.py              only the last 30 seconds
      kinetograph run --cuda train.py                  what the GPU did as well
      mpirun -n 4 kinetograph run -o 'trace-{rank}.json.gz' train.py

    Under a launcher such as torchrun, mpirun or srun a name without {rank} or {pid} gets the rank added, so
    that no process overwrites the trace of another. If the launcher itself is killed, the program goes on,
    and `kinetograph recover DIR` makes the trace.
    """
    from kinetograph.cli.running import RunReport
    from kinetograph.run.launcher import end_like
    from kinetograph.run.output import DEFAULT_OUTPUT, output_path
    from kinetograph.run.program import ProgramRun
    from kinetograph.run.settings import RunSettings
    from kinetograph.session.availability import require_cuda

    path = output_path(options.pop("output") or DEFAULT_OUTPUT)
    report = RunReport(path, options.pop("quiet"), options.pop("top"), options.pop("wait_seconds"))
    program, form = options.pop("program"), options.pop("form")
    parent = options.pop("session_dir")
    with_agent = options.pop("agent")
    if options.pop("cuda"):
        require_cuda()
        options["activities"] = options["activities"] or ("CPU", "CUDA")
    options["min_duration_ns"] = options["min_duration_ns"] or 0
    started = ProgramRun(RunSettings(**options), program, form=form, parent=parent, with_agent=with_agent)
    ending = started.start_and_wait()
    report.make(started, ending)
    end_like(ending)
