"""Hosts are asked all at once, whatever becomes of the names of some."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kinetograph.ondemand import visitor
from kinetograph.ondemand.hosts import Host
from kinetograph.ondemand.many_hosts import processes_on_hosts
from kinetograph.ondemand.visitor import Access


@pytest.fixture(autouse=True)
def _lookups_end() -> Iterator[None]:
    """Nobody waits for the threads that look names up but this test, which gives them their answers."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(20)


def test_names_that_nobody_knows_do_not_keep_others_from_being_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    look_up = socket.getaddrinfo
    known_is_found = threading.Event()

    def look_up_slowly(name: Any, *arguments: Any, **options: Any) -> Any:
        if name == "localhost":
            known_is_found.set()
            return look_up(name, *arguments, **options)
        known_is_found.wait(10)  # longer than a host is waited for
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up_slowly)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and listens not
        known = Host("localhost", closed.getsockname()[1])
        unknown = [Host(f"unknown{number}") for number in range(60)]
        reports = processes_on_hosts([*unknown, known], Access())
    assert "nobody listens there" in reports[-1].reason
    assert {report.reason for report in reports[:-1]} == {"Name or service not known"}


def test_a_name_that_nobody_answers_for_is_not_waited_for_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    is_answered, has_waited = threading.Event(), threading.Event()

    def look_up_for_ever(*_arguments: Any, **_options: Any) -> Any:
        is_answered.wait(20)
        has_waited.set()
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", look_up_for_ever)
    monkeypatch.setattr(visitor, "_MOST_ARRIVING_SECONDS", 0.01)
    (report,) = processes_on_hosts([Host("slow")], Access())
    assert not has_waited.is_set()
    assert report.reason == "it does not answer"
    is_answered.set()
    assert has_waited.wait(20)  # before the name is another one's again


def test_a_host_is_reached_by_the_first_of_its_addresses_that_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.2", 0)) as server:
        port = server.getsockname()[1]
        told = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{last}", port)) for last in (3, 2)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_options: told)
        visitors: list[Any] = []
        accepting = threading.Thread(target=lambda: visitors.append(server.accept()[0].close()))
        accepting.start()
        (report,) = processes_on_hosts([Host("two", port)], Access())
        accepting.join()
    assert visitors
    assert report.reason in ("its daemon has hung up", "Connection reset by peer")
