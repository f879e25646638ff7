"""The shim's log: quiet after `suppress_log_messages`, unless KINETO_LOG_LEVEL says otherwise."""

from __future__ import annotations

import logging
import os

__all__ = ["logger", "suppress_log_messages"]

logger = logging.getLogger("kinetograph.kineto")

# Kineto's levels 0 verbose, 1 info, 2 warning, 3 stage, 4 error, 5 usdt; nothing of ours is above an error.
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.ERROR, logging.CRITICAL)


def suppress_log_messages() -> None:
    """Log errors only, or what KINETO_LOG_LEVEL (0 verbose to 5 nearly nothing) asks for."""
    wish = os.environ.get("KINETO_LOG_LEVEL")
    if wish is None:
        logger.setLevel(logging.ERROR)
        return
    logger.setLevel(_LEVELS[_level_index(wish)])
    # The variable asks to see these lines even where the program has set up no logging.
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())


def _level_index(wish: str) -> int:
    """As Kineto reads it: what is no number is 0, which shows everything."""
    return min(max(int(wish), 0), len(_LEVELS) - 1) if wish.lstrip("-").isdecimal() else 0
