"""Locks that are held across a fork."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kinetograph.fork_locks import hold_across_forks

Hooks = dict[str, Callable[[], None]]


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Hooks:
    """What would be called at forks; Python forgets nothing that was registered."""
    registered: Hooks = {}

    def register(**functions: Any) -> None:
        registered.update(functions)

    monkeypatch.setattr(os, "register_at_fork", register)
    return registered


def is_free(lock: Any) -> bool:
    """For another thread."""
    free: list[bool] = []
    thread = threading.Thread(target=lambda: free.append(lock.acquire(blocking=False)))
    thread.start()
    thread.join()
    return free[0]


@pytest.mark.parametrize("side", ["after_in_parent", "after_in_child"])
def test_a_lock_is_held_while_the_process_forks_and_free_afterwards(hooks: Hooks, side: str) -> None:
    lock = threading.RLock()
    hold_across_forks(lock)
    hooks["before"]()
    assert not is_free(lock)
    hooks[side]()
    assert is_free(lock)


def test_a_lock_that_came_in_the_middle_of_a_fork_is_let_be(hooks: Hooks) -> None:
    lock = threading.RLock()
    hold_across_forks(lock)
    hooks["after_in_parent"]()  # and nothing before
    assert is_free(lock)


def in_another_thread(function: Callable[[], object]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def test_a_lock_that_another_thread_holds_for_its_own_fork_is_let_be(hooks: Hooks) -> None:
    lock = threading.RLock()
    hold_across_forks(lock)

    def fork_that_begins_before_the_other_ends() -> None:
        hooks["before"]()
        in_another_thread(hooks["after_in_parent"])  # of a fork that began before there was this lock
        assert not is_free(lock)
        hooks["after_in_parent"]()

    in_another_thread(fork_that_begins_before_the_other_ends)
    assert is_free(lock)


def test_a_child_has_the_lock_whoever_held_it(hooks: Hooks) -> None:
    lock = threading.RLock()
    was_free: list[bool] = []
    hold_across_forks(lock, lambda: was_free.append(is_free(lock)))
    in_another_thread(hooks["before"])
    hooks["after_in_child"]()
    assert was_free == [True]
