"""The shim's log: quiet after `suppress_log_messages`, unless KINETO_LOG_LEVEL says otherwise."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger

__all__ = ["logger", "suppress_log_messages"]

# Kineto's levels 0 verbose, 1 info, 2 warning, 3 stage, 4 error, 5 usdt; nothing of ours is above an error.
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "ERROR", "CRITICAL")


def logger() -> Logger:
    # Here, for logging is a third of what `import kinetograph` may cost, and most programs never log with us.
    import logging

    return logging.getLogger("kinetograph.kineto")


def suppress_log_messages() -> None:
    """Log errors only, or what KINETO_LOG_LEVEL (0 verbose to 5 nearly nothing) asks for."""
    wish = os.environ.get("KINETO_LOG_LEVEL")
    if wish is None:
        logger().setLevel("ERROR")
        return
    logger().setLevel(_LEVELS[_level_index(wish)])
    _show_lines()


def _show_lines() -> None:
    """The variable asks to see our lines even where the program has set up no logging."""
    import logging

    if not logger().hasHandlers():
        logger().addHandler(logging.StreamHandler())


def _level_index(wish: str) -> int:
    """As Kineto reads it: what is no number is 0, which shows everything."""
    return min(max(int(wish), 0), len(_LEVELS) - 1) if wish.lstrip("-").isdecimal() else 0
