"""Correlation ids nest, and belong to the thread that pushed them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kinetograph import _native, kineto
from kinetograph.errors import KinetographError


@pytest.fixture(autouse=True)
def _clean_thread() -> Iterator[None]:
    kineto.reset_tls()
    yield
    kineto.reset_tls()


def test_ids_nest_and_the_two_kinds_are_apart() -> None:
    kineto.push_correlation_id(1)
    kineto.push_correlation_id(2)
    kineto.push_user_correlation_id(9)
    assert (kineto.correlation_id(), kineto.user_correlation_id()) == (2, 9)
    kineto.pop_correlation_id()
    kineto.pop_user_correlation_id()
    assert (kineto.correlation_id(), kineto.user_correlation_id()) == (1, 0)


def test_whoever_records_calls_of_cuda_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int] | tuple[str, int, int]] = []
    monkeypatch.setattr(
        _native, "push_external_id", lambda whose, pushed: told.append(("push", whose, pushed))
    )
    monkeypatch.setattr(_native, "pop_external_id", lambda whose: told.append(("pop", whose)))
    kineto.push_correlation_id(5)
    kineto.push_user_correlation_id(6)
    kineto.pop_user_correlation_id()
    kineto.pop_correlation_id()
    kineto.pop_correlation_id()
    assert told == [("push", 0, 5), ("push", 1, 6), ("pop", 1), ("pop", 0)]


def test_popping_more_than_was_pushed_is_harmless() -> None:
    kineto.pop_correlation_id()
    kineto.pop_user_correlation_id()
    assert kineto.correlation_id() == 0


def test_another_thread_sees_none_of_them() -> None:
    kineto.push_correlation_id(5)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(kineto.correlation_id).result() == 0


def test_reset_forgets_them() -> None:
    kineto.push_correlation_id(5)
    kineto.push_user_correlation_id(6)
    kineto.reset_tls()
    assert (kineto.correlation_id(), kineto.user_correlation_id()) == (0, 0)


@pytest.mark.parametrize("push", [kineto.push_correlation_id, kineto.push_user_correlation_id])
@pytest.mark.parametrize("value", ["x", -1, 1.5])
def test_an_id_is_a_whole_number(push: Callable[[Any], None], value: object) -> None:
    with pytest.raises(KinetographError, match="correlation_id: expected"):
        push(value)
