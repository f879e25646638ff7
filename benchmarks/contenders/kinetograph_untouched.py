"""A scope in a process that never had a session: shows whether sessions leave anything slower behind."""

import kinetograph as kg
from benchmarks.harness import Contender


def scope(count: int) -> None:
    for _ in range(count):
        with kg.scope("x"):
            pass


def contenders() -> list[Contender]:
    return [Contender("kg.scope off, before any session", scope)]
