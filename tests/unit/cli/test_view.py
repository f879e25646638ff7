"""`kinetograph view`, with a plain HTTP client in the place of the browser."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from click.testing import CliRunner

from kinetograph.cli import main
from kinetograph.cli.one_file_server import serving
from sample_traces import gpu_trace

UI = "https://ui.perfetto.dev"


class Viewer:
    """A running `kinetograph view`, and the address that it printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self.process = process
        self.printed = process.stdout.readline()
        match = re.fullmatch(rf"open {re.escape(UI)}/#!/\?url=(\S+)\n", self.printed)
        assert match, self.printed
        self.url = unquote(match[1])
        self.path = urlsplit(self.url).path
        self.host = urlsplit(self.url).netloc

    def ask(self, method: str, path: str | None = None, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.host, timeout=30)
        names = {"origin": "Origin", "host": "Host"}
        connection.request(
            method, path or self.path, headers={names[key]: text for key, text in headers.items()}
        )
        return connection.getresponse()

    def end(self) -> int:
        return self.process.wait(timeout=30)


@contextmanager
def viewing(trace: Path, *options: str) -> Iterator[Viewer]:
    command = [sys.executable, "-m", "kinetograph", "view", "--port", "0", *options, str(trace)]
    environment = {key: text for key, text in os.environ.items() if "DISPLAY" not in key and key != "BROWSER"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    with process:
        try:
            yield Viewer(process)
        finally:
            process.kill()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "my trace # 100 %.pftrace"
    gpu_trace().save(path)
    return path


def test_the_file_is_served_once_and_the_command_ends(trace: Path) -> None:
    with viewing(trace) as viewer:
        assert viewer.url.endswith("/my%20trace%20%23%20100%20%25.pftrace")
        answer = viewer.ask("GET", origin=UI)
        assert answer.status == 200
        assert answer.headers["Access-Control-Allow-Origin"] == UI
        assert answer.read() == trace.read_bytes()
        assert viewer.end() == 0


def test_head_tells_the_size_and_does_not_end_it(trace: Path) -> None:
    with viewing(trace, "--no-browser") as viewer:
        answer = viewer.ask("HEAD")
        assert (answer.status, answer.read()) == (200, b"")
        assert int(answer.headers["Content-Length"]) == trace.stat().st_size
        assert viewer.ask("GET").status == 200
        assert viewer.end() == 0


def test_nothing_but_that_file_is_served(trace: Path) -> None:
    (trace.parent / "secret").write_text("secret")
    with viewing(trace) as viewer:
        for path in ("/", "/secret", f"{viewer.path}/../secret", f"{viewer.path}?x=1", "//etc/passwd"):
            assert viewer.ask("GET", path).status == 404
        assert viewer.process.poll() is None


@pytest.mark.parametrize("headers", [{"origin": "https://evil.example"}, {"host": "evil.example:9001"}])
def test_pages_of_other_sites_get_nothing(trace: Path, headers: dict[str, str]) -> None:
    with viewing(trace) as viewer:
        answer = viewer.ask("GET", **headers)
        assert answer.status == 403
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert viewer.process.poll() is None


def test_a_browser_that_asks_first_is_told_that_it_may(trace: Path) -> None:
    with viewing(trace) as viewer:
        answer = viewer.ask("OPTIONS", origin=UI)
        assert answer.status == 204
        assert answer.headers["Access-Control-Allow-Private-Network"] == "true"
        assert viewer.ask("OPTIONS", origin="https://evil.example").status == 403
        assert viewer.ask("POST").status == 501


def test_only_loopback_is_listened_on(trace: Path) -> None:
    with viewing(trace) as viewer:
        assert viewer.host.startswith("127.0.0.1:")
        elsewhere = ("127.0.0.2", int(viewer.host.partition(":")[2]))
        with pytest.raises(ConnectionRefusedError), socket.create_connection(elsewhere, timeout=10):
            pass


def test_a_silent_connection_holds_up_nobody(trace: Path) -> None:
    with viewing(trace) as viewer:
        place = ("127.0.0.1", int(viewer.host.partition(":")[2]))
        with socket.create_connection(place, timeout=30):
            assert viewer.ask("GET").read() == trace.read_bytes()
            assert viewer.end() == 0


def test_a_client_that_leaves_early_may_come_again(tmp_path: Path) -> None:
    large = tmp_path / "large.pftrace"
    large.write_bytes(b"[]".ljust(64 << 20))
    with viewing(large) as viewer:
        answer = viewer.ask("GET")
        answer.read(1000)
        answer.close()
        assert len(viewer.ask("GET").read()) == 64 << 20
        assert viewer.end() == 0


@pytest.mark.parametrize("content", [b"", b"no trace", b'{"name": "package"}', bytes(100)], ids=str)
def test_a_file_that_is_no_trace_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    result = CliRunner().invoke(main, ["view", "--no-browser", "--port", "0", "--timeout", "9", str(path)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is no trace" in result.stderr


def test_a_trace_that_begins_with_much_else_is_served(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(b'{"kept": "%s", "traceEvents": []}' % (b"x" * (3 << 20)))
    with viewing(path) as viewer:
        assert viewer.ask("GET").read() == path.read_bytes()


def test_ctrl_c_ends_it_without_a_traceback(trace: Path) -> None:
    with viewing(trace) as viewer:
        assert viewer.process.stderr
        assert "Ctrl-C ends" in viewer.process.stderr.readline()
        viewer.process.send_signal(signal.SIGINT)
        assert viewer.end() == 130
        assert viewer.process.stderr.read() == ""


def test_nobody_comes_within_the_timeout(trace: Path) -> None:
    result = CliRunner().invoke(
        main, ["view", "--no-browser", "--port", "0", "--timeout", "0.05", str(trace)]
    )
    assert result.exit_code == 1
    assert "no browser has fetched the trace within 0.05 s" in result.stderr


def test_a_port_in_use_says_what_to_do(trace: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        result = CliRunner().invoke(main, ["view", "--no-browser", "--port", port, str(trace)])
    assert result.exit_code == 1
    assert f"port {port} is in use" in result.stderr
    assert "hint: end the other viewer" in result.stderr


def test_the_browser_gets_the_address(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import webbrowser

    opened: list[str] = []
    monkeypatch.setenv("BROWSER", "anything")
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    result = CliRunner().invoke(main, ["view", "--port", "0", "--timeout", "0.05", str(trace)])
    assert [f"opened {address}" for address in opened] == result.stdout.splitlines()
    assert opened[0].startswith(f"{UI}/#!/?url=http%3A%2F%2F127.0.0.1%3A")


def test_a_ui_of_ones_own_is_the_only_one_let_in(trace: Path) -> None:
    arguments = ["view", "--ui", "not a page", str(trace)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "--ui: expected the address of a web page" in result.stderr


def test_a_file_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    assert CliRunner().invoke(main, ["view", str(tmp_path / "nothing.json")]).exit_code == 2


def test_a_page_whose_address_is_none_is_refused(tmp_path: Path) -> None:
    gpu_trace().save(tmp_path / "trace.json")
    result = CliRunner().invoke(main, ["view", "--ui", "http://[::1", str(tmp_path / "trace.json")])
    assert result.exit_code == 1
    assert "expected the address of a web page" in result.output


def test_a_file_whose_name_is_no_text_has_an_address(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.json"))
    gpu_trace().save(path)
    with serving(path, 0, UI) as server:
        assert server.url.endswith("/bad%FF.json")
