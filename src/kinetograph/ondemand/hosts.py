"""Which hosts are meant: named one by one, in a file, or by a job of Slurm."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from typing import NamedTuple

from kinetograph.errors import KinetographError, NotAvailable, UsageError

__all__ = ["DEFAULT_PORT", "Host", "SlurmJob", "hosts_in_file", "hosts_named", "slurm_job", "spelled"]

# The same as dynolog's.
DEFAULT_PORT = 1778
_MOST_HOSTS = 10_000
_SLURM_SECONDS = 30
# An address of IPv6 stands in brackets where a port follows.
_SPELLED = re.compile(
    r"(?:(?P<name>\w[\w.-]*)|\[(?P<bracketed>[\w:.%]+)\])(?::(?P<port>\d{1,5}))?"
    r"|(?P<bare>[\w.%]*:[\w:.%]*:[\w:.%]*)"
)


class Host(NamedTuple):
    name: str
    port: int = DEFAULT_PORT

    def __str__(self) -> str:
        return self.name if self.port == DEFAULT_PORT else spelled(self.name, self.port)


def spelled(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def hosts_named(names: Iterable[str], port: int = DEFAULT_PORT) -> list[Host]:
    """Each once, in their order. A name may have a port of its own behind a colon."""
    found = list(dict.fromkeys(_host(name.strip(), port) for name in names if name.strip()))
    if not found:
        raise UsageError("no host is named", hint="--hosts node1,node2")
    if len(found) > _MOST_HOSTS:
        raise UsageError(f"{len(found)} hosts are more than {_MOST_HOSTS}")
    return found


def hosts_in_file(path: str, port: int = DEFAULT_PORT) -> list[Host]:
    """One a line; what follows a # is a remark."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            names = [line.partition("#")[0] for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the hosts in {path}: {error}") from error
    return hosts_named(names, port)


class SlurmJob(NamedTuple):
    """The hosts that it runs on now."""

    hosts: list[Host]
    ids: tuple[str, ...]
    """As its processes have them in SLURM_JOB_ID: each task of an array, of 815_3 say, has one of its own."""


def slurm_job(job: str, port: int = DEFAULT_PORT) -> SlurmJob:
    if not re.fullmatch(r"[\w.+-]+", job) or job.startswith("-"):
        raise UsageError(f"expected the id of a job, got {job!r}")
    said = _said_by("squeue", "--noheader", "--states=RUNNING", f"--jobs={job}", "--format=%A %N")
    running = [words for words in map(str.split, said.splitlines()) if len(words) == 2]
    names = [
        name
        for listed in dict.fromkeys(nodes for _, nodes in running)
        for name in _said_by("scontrol", "show", "hostnames", listed).split()
    ]
    if not names:
        raise UsageError(f"job {job} runs on no host", hint=f"squeue --jobs={job}")
    return SlurmJob(hosts_named(names, port), tuple(dict.fromkeys(number for number, _ in running)))


def _host(name: str, port: int) -> Host:
    found = _SPELLED.fullmatch(name)
    own_port = int(found["port"] or port) if found else 0
    if found is None or not 0 < own_port < 65536 or not _can_be_asked_for(found["name"] or ""):
        raise UsageError(f"expected a host, or a host:port, got {name!r}")
    return Host(found["name"] or found["bracketed"] or found["bare"], own_port)


def _can_be_asked_for(name: str) -> bool:
    """By the system, which takes no name with an empty part, or with one that is too long."""
    try:
        name.encode("idna")
    except UnicodeError:
        return False
    return True


def _said_by(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SLURM_SECONDS)
    except FileNotFoundError:
        raise NotAvailable(
            f"there is no {command[0]} here", hint="--hosts or --hosts-file name hosts without Slurm"
        ) from None
    except subprocess.TimeoutExpired:
        raise KinetographError(f"{command[0]} has not answered within {_SLURM_SECONDS} s") from None
    if done.returncode:
        raise KinetographError(f"{' '.join(command)} failed: {done.stderr.strip()[:1000]}")
    return done.stdout
