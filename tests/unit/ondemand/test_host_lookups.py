"""Hosts are asked all at once, whatever becomes of the names of some."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from kinetograph.ondemand.hosts import Host
from kinetograph.ondemand.many_hosts import processes_on_hosts
from kinetograph.ondemand.visitor import Access


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
