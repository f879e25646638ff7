"""The shim is quiet, unless KINETO_LOG_LEVEL asks otherwise."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from kinetograph import kineto

LOGGER = logging.getLogger("kinetograph.kineto")


@pytest.fixture(autouse=True)
def _logger_as_it_was() -> Iterator[None]:
    level, handlers = LOGGER.level, list(LOGGER.handlers)
    yield
    LOGGER.setLevel(level)
    LOGGER.handlers = handlers


def test_only_errors_are_logged_after_suppression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KINETO_LOG_LEVEL", raising=False)
    kineto.suppress_log_messages()
    assert not LOGGER.isEnabledFor(logging.WARNING)
    assert LOGGER.isEnabledFor(logging.ERROR)


@pytest.mark.parametrize(
    ("wish", "level"),
    [
        ("0", logging.DEBUG),
        ("1", logging.INFO),
        ("2", logging.WARNING),
        ("4", logging.ERROR),
        ("99", logging.CRITICAL),
        ("-3", logging.DEBUG),
        ("loud", logging.DEBUG),
    ],
)
def test_the_environment_overrides_suppression(
    monkeypatch: pytest.MonkeyPatch, wish: str, level: int
) -> None:
    monkeypatch.setenv("KINETO_LOG_LEVEL", wish)
    kineto.suppress_log_messages()
    assert LOGGER.level == level


def test_asked_for_lines_reach_stderr_without_any_logging_set_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KINETO_LOG_LEVEL", "1")
    monkeypatch.setattr(LOGGER, "propagate", False)
    kineto.suppress_log_messages()
    LOGGER.info("hello")
    assert capsys.readouterr().err == "hello\n"
