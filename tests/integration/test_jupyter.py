"""`%%kinetograph` in a real IPython."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg
from kinetograph import _native
from kinetograph.session.recording import Session

IPython = pytest.importorskip("IPython")


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=config)
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture(autouse=True)
def _extension(shell: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    shell.run_line_magic("load_ext", "kinetograph")
    shell.run_cell("import kinetograph as kg")


def test_a_cell_runs_in_the_notebook_and_its_table_is_shown(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    result = shell.run_cell("%%kinetograph\nwith kg.scope('load'):\n    loaded = 42\nprint('out')")
    assert result.success
    assert shell.user_ns["loaded"] == 42
    told = capsys.readouterr().out
    assert told.startswith("out\n")
    assert re.search(r"user_annotation\s+load$", told, flags=re.MULTILINE)


def test_the_value_of_the_last_line_is_shown(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%kinetograph\n6 * 7")
    assert "42" in capsys.readouterr().out


def test_the_trace_is_written_when_asked_for(shell: Any, tmp_path: Path) -> None:
    shell.run_cell("%%kinetograph -o cell.json.gz --no-calls --sort-by total\nwith kg.scope('load'): pass")
    assert [event.name for event in kg.load(tmp_path / "cell.json.gz").events] == ["load"]


def test_what_runs_the_cell_is_not_shown(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    code = "%%kinetograph --top 10000\nimport json\ndef mine():\n    json.dumps([])\nmine()"
    assert shell.run_cell(code).success
    told = capsys.readouterr().out
    assert re.search(r"\): mine$", told, flags=re.MULTILINE)
    assert re.search(r"json/__init__.py\(\d+\): dumps$", told, flags=re.MULTILINE)
    assert not re.search(r" (IPython|ipykernel|traitlets)/", told)
    # Of the cells, the one with the magic is not shown, the one inside is.
    assert len(re.findall(r"^.* <?ipython-input.*: <module>$", told, flags=re.MULTILINE)) == 1


def test_the_trace_is_written_where_the_cell_began(shell: Any, tmp_path: Path) -> None:
    shell.run_cell("%%kinetograph -o cell.json\nimport os\nos.chdir('/')")
    assert (tmp_path / "cell.json").exists()


def test_an_error_of_the_cell_is_shown_once_and_without_our_frames(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    result = shell.run_cell("%%kinetograph\nwith kg.scope('load'):\n    1 / 0")
    told = capsys.readouterr().out
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert told.count("ZeroDivisionError: division by zero") == 1
    assert "magic.py" not in told
    assert "load" in told


def test_a_syntax_error_of_the_cell_is_shown_once(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = shell.run_cell("%%kinetograph\nif:")
    assert isinstance(result.error_in_exec, SyntaxError)
    assert capsys.readouterr().out.count("SyntaxError") == 1


def test_await_works_at_the_top_of_a_cell(shell: Any) -> None:
    assert shell.run_cell("%%kinetograph\nimport asyncio\nawait asyncio.sleep(0)\nslept = True").success
    assert shell.user_ns["slept"]


@pytest.mark.parametrize("name", ["start", "stop"])
def test_a_notebook_that_is_interrupted_is_not_recorded_any_more(
    shell: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(Session, name)

    def interrupted(*arguments: Any, **options: Any) -> None:
        if name == "start":
            real(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, name, interrupted)
    assert isinstance(shell.run_cell("%%kinetograph\npass").error_in_exec, KeyboardInterrupt)
    assert not _native.sessions()


@pytest.mark.parametrize(
    "line", ["--sort-by colour", "--no-such-option", "-o trace.xml", "-o nowhere/x.json", "-o ''", "'"]
)
def test_wrong_options_are_told(shell: Any, line: str) -> None:
    result = shell.run_cell(f"%%kinetograph {line}\nraise AssertionError('not run')")
    assert isinstance(result.error_in_exec, kg.KinetographError)
