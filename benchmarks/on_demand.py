"""Looking into processes: from the request to the file, what an idle agent costs, and how long `ps` takes."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.report import Claim, claims_table, table
from kinetograph.ondemand.capture import capture
from kinetograph.ondemand.processes import AgentProcess, processes
from kinetograph.ondemand.request import CaptureRequest

AGENTS = 200

STEPPING = """
import time
import kinetograph as kg
while True:
    with kg.scope("work"):
        time.sleep(0.001)
    kg.step()
"""
# Counts, and tells how long that took, whenever it is asked.
COUNTING = """
import sys, time
import kinetograph
def count():
    begin = time.thread_time_ns()
    for _ in range(2_000_000):
        pass
    return (time.thread_time_ns() - begin) / 2_000_000
print("ready", flush=True)
for _ in sys.stdin:
    print(count(), flush=True)
"""
FORKING = """
import os, signal, sys
for _ in range(int(sys.argv[1]) - 1):
    if os.fork() == 0:
        signal.pause()
print("ready", flush=True)
sys.stdin.read()
os.killpg(0, signal.SIGKILL)
"""

Figures = dict[str, list[float]]


def run(*, quick: bool) -> str:
    rounds = 2 if quick else 15
    agents = 8 if quick else AGENTS
    with own_directories():
        figures = captures(rounds) | starts(rounds) | idle(rounds) | lists(agents, rounds)
    return "\n".join(["# On demand", "", figures_table(figures), "", claims_table(claims(figures, agents))])


def claims(figures: Figures, agents: int) -> list[Claim]:
    with_agent, without = figures["count, idle agent, ns"], figures["count, no agent, ns"]
    ratio = statistics.median(one / other for one, other in zip(with_agent, without, strict=True))
    longer = [
        one - other
        for one, other in zip(
            figures["start and exit, agent, ms"], figures["start and exit, no agent, ms"], strict=True
        )
    ]
    return [
        Claim("capture of 200 ms, request to file, s", quiet(figures, "capture of 200 ms, ms") / 1e3, 1),
        Claim("a busy loop with an idle agent over one without", ratio, at_most=1.02),
        Claim("start and exit with an agent over import alone, ms", statistics.median(longer), at_most=10),
        Claim(f"ps of {agents} agents, s", quiet(figures, "ps, ms") / 1e3, at_most=0.5),
    ]


def captures(rounds: int) -> Figures:
    """Of a program that takes steps, as `kinetograph capture` asks it."""
    request = CaptureRequest(duration_ns=200_000_000)
    with program(STEPPING, KINETOGRAPH_AGENT="1"), tempfile.TemporaryDirectory() as into:
        (process,) = found(1)
        return {"capture of 200 ms, ms": [capture_ms(process, request, into) for _ in range(rounds)]}


def capture_ms(process: AgentProcess, request: CaptureRequest, into: str) -> float:
    begin = time.perf_counter()
    (outcome,) = capture([process], request, into, ignore)
    elapsed = time.perf_counter() - begin
    assert outcome.path is not None, outcome.reason
    os.unlink(outcome.path)
    return elapsed * 1e3


def starts(rounds: int) -> Figures:
    """Wall time of an interpreter that imports kinetograph and ends, with an agent and without."""
    figures: Figures = {"start and exit, no agent, ms": [], "start and exit, agent, ms": []}
    for _ in range(rounds):
        for value, name in zip("01", figures, strict=True):
            begin = time.perf_counter()
            command = [sys.executable, "-c", "import kinetograph"]
            subprocess.run(command, env=os.environ | {"KINETOGRAPH_AGENT": value}, check=True)
            figures[name].append((time.perf_counter() - begin) * 1e3)
    return figures


def idle(rounds: int) -> Figures:
    """CPU time of one turn of an empty loop, in turns with an agent and without."""
    figures: Figures = {"count, no agent, ns": [], "count, idle agent, ns": []}
    with program(COUNTING, KINETOGRAPH_AGENT="0") as without, program(COUNTING, KINETOGRAPH_AGENT="1") as one:
        for _ in range(rounds):
            for counting, name in zip((without, one), figures, strict=True):
                figures[name].append(float(asked(counting)))
    return figures


def asked(counting: "subprocess.Popen[str]") -> str:
    assert counting.stdin is not None
    assert counting.stdout is not None
    counting.stdin.write("go\n")
    counting.stdin.flush()
    return counting.stdout.readline()


def lists(agents: int, rounds: int) -> Figures:
    """The whole command `kinetograph ps`, and what of it is asking."""
    figures: Figures = {"ps, ms": [], "ps, asking alone, ms": []}
    with program("import os; os.setpgid(0, 0)" + FORKING, str(agents), KINETOGRAPH_AGENT="1"):
        found(agents)
        for _ in range(rounds):
            begin = time.perf_counter()
            command = [sys.executable, "-m", "kinetograph", "ps", "--json"]
            listed = subprocess.run(command, check=True, capture_output=True).stdout
            middle = time.perf_counter()
            assert len(processes(ignore)) == len(listed.splitlines()) == agents
            end = time.perf_counter()
            figures["ps, ms"].append((middle - begin) * 1e3)
            figures["ps, asking alone, ms"].append((end - middle) * 1e3)
    return figures


@contextmanager
def program(code: str, *arguments: str, **variables: str) -> "Iterator[subprocess.Popen[str]]":
    """Runs when this returns, if it says that it is ready; and ends when it has nothing to read any more."""
    started = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    if "ready" in code:
        assert started.stdout is not None
        started.stdout.readline()
    try:
        yield started
    finally:
        assert started.stdin is not None
        started.stdin.close()
        if "stdin" not in code:
            started.kill()
        started.wait()


def found(count: int) -> list[AgentProcess]:
    """As soon as there are so many."""
    while len(listed := processes(ignore)) != count or not all(process.answers for process in listed):
        time.sleep(0.01)
    return listed


@contextmanager
def own_directories() -> Iterator[None]:
    """So that nobody else's agents are listed."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="kg-") as directory:
        sockets = Path(directory) / "sockets"
        os.environ.update(KINETOGRAPH_RUNTIME_DIR=str(sockets), TMPDIR=directory)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def quiet(figures: Figures, name: str) -> float:
    """Of wall times, which a busy machine makes longer: the lower quartile."""
    return sorted(figures[name])[len(figures[name]) // 4]


def figures_table(figures: Figures) -> str:
    rows = [
        (name, f"{statistics.median(values):.3g}", f"{min(values):.3g}", f"{max(values):.3g}")
        for name, values in figures.items()
    ]
    return table(("what", "median", "best", "worst"), rows)


def ignore(_text: str) -> None:
    pass
