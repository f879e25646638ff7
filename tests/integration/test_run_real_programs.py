"""Programs that nobody here wrote behave under `kinetograph run` as they do without it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from runs import PROGRAMS, Outcome, command, python, recorded

import kinetograph as kg


def without_times(outcome: Outcome) -> Outcome:
    """Nor what pytest draws around them: the longer the text, the shorter the line."""
    return outcome._replace(stdout=re.sub(rb"(=+ )?(.*?)\d+\.\d+s.*", rb"\2TIME", outcome.stdout))


def needs(*modules: str) -> pytest.MarkDecorator:
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "trace.json.gz"


@pytest.mark.slow
def test_pytest_on_the_tests_of_numpy(trace: Path, tmp_path: Path) -> None:
    tests = ["numpy.lib.tests.test_stride_tricks", "numpy.lib.tests.test_type_check"]
    program = ["-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:xdist", "--pyargs", *tests]
    plain = python(*program, cwd=tmp_path)
    assert b" passed" in plain.stdout
    assert without_times(recorded(trace, *program, cwd=tmp_path)) == without_times(plain)
    assert kg.load(trace).processes[0].name == "python -m pytest"


@pytest.mark.slow
def test_pytest_with_workers_records_each_of_them(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import kinetograph as kg, pytest\n"
        "@pytest.mark.parametrize('number', range(20))\n"
        "def test_it(number):\n"
        "    with kg.scope('tested'): assert number != 7\n"
    )
    program = ["-m", "pytest", "-n", "2", "-p", "no:cacheprovider", "-q", "--tb=short"]
    outcome = recorded(trace, *program, cwd=tmp_path)
    assert outcome.returncode == 1
    assert b"1 failed, 19 passed" in outcome.stdout
    found = kg.load(trace)
    assert sum(event.name == "tested" for event in found.events) == 20
    assert len({event.track.process.pid for event in found.events if event.name == "tested"}) == 2


@pytest.mark.slow
@needs("black")
def test_black_on_a_source_tree_with_its_pool_of_workers(trace: Path, tmp_path: Path) -> None:
    trees = [tmp_path / "plain", tmp_path / "recorded"]
    source = Path(json.__file__).parent
    for tree in trees:
        shutil.copytree(source, tree, ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"BLACK_CACHE_DIR": str(tmp_path / "cache")}
    program = ["-m", "black", "--workers", "2", "--line-length", "60", "."]
    plain = python(*program, cwd=trees[0], env=environment)
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    outcome = recorded(trace, *program, cwd=trees[1], env=environment)
    assert plain.returncode == outcome.returncode == 0
    # Workers finish in any order.
    said = [
        sorted(text.replace(b"/plain/", b"/recorded/").splitlines())
        for text in (plain.stderr, outcome.stderr)
    ]
    assert said[0] == said[1]
    formatted = [{file.name: file.read_bytes() for file in tree.iterdir()} for tree in trees]
    assert formatted[0] == formatted[1]
    assert len(kg.load(trace).processes) >= 3


def answers(port: int) -> list[object]:
    def get(number: int) -> object:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/square/{number}", timeout=30) as reply:
            return json.load(reply)

    get(0)  # werkzeug sets its log up with the first request, and not well with several at once
    with ThreadPoolExecutor(8) as clients:
        squares = list(clients.map(get, range(200)))
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/echo", data=b"back", timeout=30) as reply:
        echoed = reply.read()
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/broken", timeout=30)
    refused.value.close()
    return [*squares, echoed, refused.value.code]


def served(argv: list[str]) -> tuple[list[object], str, list[str], int]:
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        port, pid = map(int, server.stdout.readline().split())
        replies = answers(port)
        os.kill(pid, signal.SIGTERM)
        stdout, stderr = server.communicate(timeout=30)
    # Requests end in any order, at any time.
    lines = sorted(re.sub(r"\[\d.*?\]", "", line) for line in stderr.splitlines())
    return replies, stdout, lines, server.returncode


@pytest.mark.slow
@needs("flask")
def test_a_flask_application_under_load(trace: Path) -> None:
    program = str(PROGRAMS / "flask_app.py")
    plain = served([sys.executable, program])
    assert plain[0][12] == {"square": 144}
    assert served(command(program, options=("-q", "-o", trace))) == plain
    found = kg.load(trace)
    squares = [event for event in found.events if event.name == "square"]
    assert len(squares) == 201
    assert len({event.thread_id for event in squares}) > 1


@pytest.mark.slow
@needs("IPython")
def test_an_interactive_interpreter_takes_its_input(trace: Path, tmp_path: Path) -> None:
    program = ["-m", "IPython", "--no-banner", "--colors=nocolor", "--HistoryManager.enabled=False"]
    environment = os.environ | {"IPYTHONDIR": str(tmp_path / "ipython")}
    lines = b"6 * 7\n1 / 0\nexit(5)\n"
    python(*program, input=lines, env=environment)  # makes its directory
    plain = python(*program, input=lines, env=environment)
    assert recorded(trace, *program, input=lines, env=environment) == plain
