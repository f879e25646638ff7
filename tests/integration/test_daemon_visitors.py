"""Who is let in at the daemon's TCP port, and what becomes of those who mean no good."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from agents import STEPPING, Agents, Peer, wait_until
from daemons import Daemon, Visiting, everything, own_daemon

TOKEN = "a token that nobody guesses"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def token_file(agents: Agents) -> Path:
    return written(agents.root / "token", TOKEN)


def written(path: Path, token: str, mode: int = 0o600) -> Path:
    path.write_text(f"{token}\n")
    path.chmod(mode)
    return path


def capture(daemon: Daemon, directory: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return daemon.agents.command(
        "capture", "--hosts", daemon.host, "--all", "--duration", "1ms", "-o", directory, *arguments
    )


# Tokens


def test_beyond_the_loopback_a_daemon_demands_something(agents: Agents) -> None:
    done = agents.command("daemon", "--no-kineto", "--listen", "0.0.0.0", "--port", 0)
    assert done.returncode == 1
    assert "0.0.0.0 can be reached from other hosts" in done.stderr
    assert "--token-file" in done.stderr
    assert "--tls-clients" in done.stderr


@pytest.mark.parametrize(
    ("token", "mode", "message"),
    [(TOKEN, 0o644, "can be read by others"), ("short", 0o600, "is guessed too soon")],
)
def test_a_token_that_is_none_is_refused(agents: Agents, token: str, mode: int, message: str) -> None:
    file = written(agents.root / "token", token, mode)
    done = agents.command("daemon", "--no-kineto", "--port", 0, "--token-file", file)
    assert done.returncode == 1
    assert message in done.stderr


def test_only_who_knows_the_token_is_let_in(agents: Agents, token_file: Path, tmp_path: Path) -> None:
    agents.start(STEPPING)
    wrong = written(agents.root / "wrong", TOKEN.replace("nobody", "somebody"))
    with own_daemon(agents, "--token-file", token_file, address="0.0.0.0") as daemon:
        assert capture(daemon, tmp_path, "--token-file", token_file).returncode == 0
        refused = capture(daemon, tmp_path, "--token-file", wrong)
        assert refused.returncode == 1
        assert "that is not the token of this daemon" in refused.stderr
        without = capture(daemon, tmp_path)
        assert without.returncode == 1
        assert "it demands a token" in without.stderr


def test_a_proof_is_of_one_challenge(agents: Agents, token_file: Path) -> None:
    with own_daemon(agents, "--token-file", token_file) as daemon:
        first = Visiting(daemon)
        first.say(b"H")
        challenge = str(first.answer()["challenge"])
        spelled = f"kinetograph visitor {challenge} {daemon.address} {daemon.port}"
        proof = hmac.new(TOKEN.encode(), spelled.encode(), hashlib.sha256).hexdigest()
        first.say(b"H", proof=proof)
        assert first.answer()["answer"] == "welcome"
        second = Visiting(daemon)
        second.say(b"H")
        second.answer()
        second.say(b"H", proof=proof)
        assert second.answer()["answer"] == "refused"
        assert second.hear() is None
        third = Visiting(daemon)
        third.say(b"L")  # without any hello
        assert third.hear() is None
        for visiting in (first, second, third):
            visiting.close()


def test_a_daemon_is_reached_by_version_6_of_ip(agents: Agents, token_file: Path, tmp_path: Path) -> None:
    if not _has_version_6():
        pytest.skip("no IPv6 here")
    program = agents.start(STEPPING)
    for token in ((), ("--token-file", token_file)):
        with own_daemon(agents, *token, address="::1") as daemon:
            host = f"[::1]:{daemon.port}"
            done = agents.command(
                "capture", "--hosts", host, *token, "--all", "--duration", "1ms", "-o", tmp_path
            )
            assert done.returncode == 0, done.stderr
            assert f"host {host}, process {program.pid} gave" in done.stderr


def _has_version_6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def test_who_passes_on_a_challenge_is_not_let_in_with_the_answer(
    agents: Agents, token_file: Path, tmp_path: Path
) -> None:
    """Another user may listen at a port where no daemon does, and be asked by somebody who has the token."""
    agents.start(STEPPING)
    with own_daemon(agents, "--token-file", token_file) as daemon, relay(daemon) as port:
        hosts = ("--hosts", f"127.0.0.1:{port}", "--token-file", token_file)
        refused = agents.command("capture", *hosts, "--all", "--duration", "1ms", "-o", tmp_path)
    assert refused.returncode == 1
    assert "that is not the token of this daemon" in refused.stderr


@contextmanager
def relay(daemon: Daemon) -> Iterator[int]:
    """Passes on what comes at another port, one connection, and what the daemon answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def pass_on() -> None:
            visitor, _ = listener.accept()
            with visitor, daemon.connection() as connection:
                back = threading.Thread(target=copy, args=(connection, visitor))
                back.start()
                copy(visitor, connection)
                back.join()

        thread = threading.Thread(target=pass_on)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while received := source.recv(1 << 16):
            target.sendall(received)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def test_clients_of_dynolog_send_the_token_itself(agents: Agents, token_file: Path) -> None:
    with own_daemon(agents, "--token-file", token_file) as daemon:
        refused = daemon.call("getStatus")
        assert refused is not None
        assert "demands its token" in str(refused["status"])
        assert daemon.call("getStatus", token="no") == refused
        assert daemon.call("getStatus", token=TOKEN) == {"status": 1}


# TLS


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """An authority, and what it signed for a daemon and a client; and a stranger, who signed for himself."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=tmp_path, check=True, capture_output=True)

    new = ("req", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    for name in ("authority", "stranger"):
        openssl(*new, "-x509", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    (tmp_path / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("daemon", "client"):
        openssl(*new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signing = ("-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days", "2")
        openssl("x509", "-req", "-in", f"{name}.csr", *signing, "-extfile", "names", "-out", f"{name}.pem")
    return tmp_path


def test_with_tls_a_visitor_shows_a_certificate(agents: Agents, certificates: Path, tmp_path: Path) -> None:
    agents.start(STEPPING)

    def files(name: str, *options: str) -> list[object]:
        endings = {"--tls-certificate": "pem", "--tls-key": "key"}
        return [part for option in options for part in (option, certificates / f"{name}.{endings[option]}")]

    own = ("--tls-certificate", "--tls-key")
    authority = certificates / "authority.pem"
    with own_daemon(agents, *files("daemon", *own), "--tls-clients", authority) as daemon:
        seen = capture(daemon, tmp_path / "a", "--tls-ca", authority, *files("client", *own))
        assert seen.returncode == 0, seen.stderr
        for shown in ([], files("stranger", *own)):
            refused = capture(daemon, tmp_path / "b", "--tls-ca", authority, *shown)
            assert refused.returncode == 1, refused.stderr
        # Nor is a daemon believed that somebody else signed for.
        other = certificates / "stranger.pem"
        refused = capture(daemon, tmp_path / "b", "--tls-ca", other, *files("client", *own))
        assert refused.returncode == 1
        assert "certificate verify failed" in refused.stderr
        assert capture(daemon, tmp_path / "b").returncode == 1


def test_handshakes_that_never_end_take_no_more_places_than_there_are(
    agents: Agents, certificates: Path, tmp_path: Path
) -> None:
    own = ("--tls-certificate", certificates / "daemon.pem", "--tls-key", certificates / "daemon.key")
    with own_daemon(agents, *own) as daemon:
        process = psutil.Process(daemon.process.pid)
        before = process.num_fds()
        strangers = [daemon.connection() for _ in range(100)]
        # Who is let go hears of it; each of the others has a descriptor of the daemon's.
        seen = agents.command("ps", "--hosts", daemon.host, "--tls-ca", certificates / "authority.pem")
        assert seen.returncode == 0, seen.stderr
        assert process.num_fds() <= before + 64
        for stranger in strangers:
            stranger.close()


# Those who mean no good

GARBAGE = {
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
    "a length of 10 GB": b"KG\x01H" + struct.pack(">I", 0xFFFF_FFFF) + b"{}",
    "a length of 2 GB for dynolog": struct.pack("=i", 2**31 - 1) + b"{}",
    "a negative length": struct.pack("=i", -1) + b"{}",
    "no length": struct.pack("=i", 0),
    "no JSON": struct.pack("=i", 3) + b"abc",
    "JSON too deep": struct.pack("=i", 60_000) + b"[" * 60_000,
    "no object": struct.pack("=i", 2) + b"[]",
    "another version": b"KG\x02H\x00\x00\x00\x00",
    "half a frame": b"KG\x01H\x00\x00",
    "a request without a hello": b"KG\x01L\x00\x00\x00\x00",
    "a kind that is none": b"KG\x01H\x00\x00\x00\x02{}KG\x01?\x00\x00\x00\x00",
    "bytes": bytes(range(256)) * 1000,
}


@pytest.mark.parametrize("sent", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_is_let_go_and_the_daemon_goes_on(daemon: Daemon, sent: bytes) -> None:
    before = psutil.Process(daemon.process.pid).memory_info().rss
    for _ in range(20):
        with daemon.connection() as connection:
            try:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                continue  # it has hung up already
            everything(connection)
    assert daemon.call("getStatus") == {"status": 1}
    assert psutil.Process(daemon.process.pid).memory_info().rss < before + (32 << 20)


@pytest.mark.slow
def test_half_open_connections_are_closed_and_leave_nothing(daemon: Daemon) -> None:
    """More than there is room for, of every sort of silence."""
    process = psutil.Process(daemon.process.pid)
    before = process.num_fds()
    starts = (b"", b"K", b"KG\x01", b"KG\x01H\x00\x00\x00\x09{", struct.pack("=i", 100) + b"{")
    connections = [daemon.connection() for _ in range(100)]
    for number, connection in enumerate(connections):
        with suppress(OSError):  # one too many
            connection.sendall(starts[number % len(starts)])
    for connection in connections:
        assert everything(connection) == b""
        connection.close()
    wait_until(lambda: process.num_fds() <= before)
    assert daemon.call("getStatus") == {"status": 1}


def test_strangers_cannot_keep_the_house_full(daemon: Daemon) -> None:
    strangers = [daemon.connection() for _ in range(64)]
    assert daemon.call("getStatus") == {"status": 1}
    for stranger in strangers:
        stranger.close()


def test_who_withdraws_a_thousand_times_holds_nobody_up(daemon: Daemon) -> None:
    """More often than what passes it on to a thread has room for; the thread waits for a process."""
    program = daemon.agents.start(STEPPING)
    visiting, peer = capturing(daemon, program.pid)
    program.send_signal(signal.SIGSTOP)
    for _ in range(2000):
        visiting.say(b"X")
    assert daemon.call("getStatus") == {"status": 1}
    program.send_signal(signal.SIGCONT)
    assert visiting.answer_of("outcome")["status"] == "cancelled"
    visiting.close()
    peer.close()


@needs_root
def test_a_connection_that_was_closed_is_not_taken_for_one_of_root(daemon: Daemon) -> None:
    """So the kernel lists it, whoever had opened it."""
    daemon.start_polling()
    config = f"ACTIVITIES_LOG_FILE={daemon.agents.captures}/x.json\nACTIVITIES_DURATION_MSECS=1\n"
    text = json.dumps({"fn": "setKinetOnDemandRequest", "config": config, "pids": []}).encode()
    code = f"""
import os, socket, struct
os.setgid(65534); os.setuid(65534)
with socket.socket() as call:
    call.connect(("127.0.0.1", {daemon.port}))
    call.sendall(struct.pack("=i", {len(text)}) + {text!r})
"""
    daemon.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, daemon.process.pid, os.WSTOPPED)
    assert daemon.agents.start_without_agent(code).wait() == 0
    wait_until(lambda: " 65534 " not in Path("/proc/net/tcp").read_text())
    daemon.process.send_signal(signal.SIGCONT)
    # Who comes later is served later: by now that one was heard, or not.
    assert daemon.call("setKinetOnDemandRequest", config=config, pids=[1 << 30]) is not None
    answer = daemon.call("setKinetOnDemandRequest", config=config, pids=[])
    assert answer is not None
    assert len(answer["activityProfilersTriggered"]) == 1


def test_a_process_with_an_endless_command_is_listed_too(daemon: Daemon) -> None:
    program = daemon.agents.start(STEPPING, "\U0001f600" * 20_000, KINETOGRAPH_JOB="\U0001f600" * 20_000)
    visiting = let_in(daemon)
    visiting.say(b"L")
    heard = visiting.hear()
    assert heard is not None
    assert len(heard[1]) <= 64 * 1024
    listed = json.loads(heard[1])
    assert (listed["pid"], len(listed["command"]), len(listed["job"])) == (program.pid, 4000, 200)
    visiting.close()


def test_a_visitor_can_fetch_nothing_but_what_it_captured(daemon: Daemon) -> None:
    visiting = let_in(daemon)
    files: list[Any] = [0, -1, "0", "/etc/passwd", None, 1 << 70, {}]
    for file in files:
        visiting.say(b"F", file=file)
        assert visiting.answer() == {"answer": "refused", "reason": "there is no such file"}
    visiting.close()


def test_a_request_cannot_name_a_file_elsewhere(daemon: Daemon) -> None:
    program = daemon.agents.start(STEPPING)
    visiting = let_in(daemon)
    for output in ("/etc/x.json", "../x.json", "/tmp/x.json"):
        visiting.say(b"C", pids=[program.pid], request={"output": output})
        outcome = visiting.answer_of("outcome")
        assert (outcome["status"], outcome["file"]) == ("refused", None)
        assert "lies outside of the directories" in outcome["reason"]
        assert visiting.answer_of("captured")
    visiting.close()


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"pids": []},
        {"pids": "all"},
        {"pids": [1], "request": {"nonsense": 1}},
        {"pids": [1], "request": {"duration_ns": -1}},
        {"pids": [1], "request": 7},
    ],
)
def test_a_request_that_cannot_be_meant_is_refused(daemon: Daemon, asked: dict[str, Any]) -> None:
    visiting = let_in(daemon)
    visiting.say(b"C", **asked)
    assert visiting.answer()["answer"] == "refused"
    visiting.say(b"L")
    assert visiting.answer() == {"answer": "listed"}
    visiting.close()


def test_a_visitor_that_goes_in_the_middle_ends_its_capture(daemon: Daemon) -> None:
    """What was recorded until then is kept by the process, and nothing is left running."""
    visiting, peer = capturing(daemon, daemon.agents.start(STEPPING).pid)
    visiting.close()
    wait_until(lambda: peer.asked(b"S")["state"] == "idle")
    peer.close()
    wait_until(lambda: [path.suffix for path in daemon.agents.captures.iterdir()] == [".gz"])
    assert psutil.Process(daemon.process.pid).num_threads() < 40


def test_a_daemon_that_ends_in_the_middle_leaves_what_was_recorded(daemon: Daemon, tmp_path: Path) -> None:
    visiting, peer = capturing(daemon, daemon.agents.start(STEPPING).pid, daemon.start_polling().pid)
    daemon.process.terminate()
    assert daemon.process.wait() == 0
    assert visiting.hear() is None or visiting.hear() is None
    wait_until(lambda: peer.asked(b"S")["state"] == "idle")
    assert list(daemon.agents.captures.glob("*.json.gz"))
    peer.close()
    visiting.close()


def test_a_visitor_can_cancel_and_ask_again(daemon: Daemon) -> None:
    program = daemon.agents.start(STEPPING)
    visiting, peer = capturing(daemon, program.pid)
    visiting.say(b"C", pids=[program.pid])
    assert visiting.answer_of("refused")["reason"] == "another capture is running"
    visiting.say(b"X")
    assert visiting.answer_of("outcome")["status"] == "cancelled"
    assert visiting.answer_of("captured")
    visiting.say(b"C", pids=[program.pid], request={"duration_ns": 1_000_000})
    assert visiting.answer_of("outcome")["status"] == "finished"
    visiting.close()
    peer.close()


def test_who_cancels_or_goes_at_once_is_heard(daemon: Daemon) -> None:
    program = daemon.agents.start(STEPPING)
    for last_word in (b"X", None):
        visiting = let_in(daemon)
        visiting.say(b"C", pids=[program.pid], request=AN_HOUR)
        if last_word is not None:
            visiting.say(last_word)
            assert visiting.answer_of("outcome")["status"] == "cancelled"
        visiting.close()
    peer = daemon.agents.peer(program.pid)
    captured = peer.captured(duration_ns=1_000_000)
    while captured["answer"] == "refused":  # until the last visit is over
        captured = peer.captured(duration_ns=1_000_000)
    assert captured["answer"] == "finished"
    peer.close()


def test_a_daemon_that_is_stopped_for_a_while_goes_on(daemon: Daemon) -> None:
    daemon.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, daemon.process.pid, os.WSTOPPED)
    with daemon.connection() as connection:
        connection.sendall(struct.pack("=i", 20) + b'{"fn": "getStatus" }')
        daemon.process.send_signal(signal.SIGCONT)
        assert everything(connection)


AN_HOUR = {"duration_ns": 3_600_000_000_000}


def capturing(daemon: Daemon, *pids: int) -> tuple[Visiting, Peer]:
    """A visitor whose capture of these records when this returns, and who can tell of the first of them."""
    visiting = let_in(daemon)
    visiting.say(b"C", pids=pids, request=AN_HOUR)
    peer = daemon.agents.peer(pids[0])
    wait_until(lambda: peer.asked(b"S")["state"] == "recording")
    return visiting, peer


def let_in(daemon: Daemon) -> Visiting:
    visiting = Visiting(daemon)
    visiting.say(b"H")
    hello = visiting.answer()
    assert (hello["answer"], hello["protocol"], hello["challenge"]) == ("hello", 1, None)
    return visiting
