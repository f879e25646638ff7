"""Why hardware metrics cannot be had, as errors that say what to do."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import NamedTuple

from kinetograph.errors import KinetographError, NotAvailable, StateError, UsageError
from kinetograph.session.cuda_library import COUNTER_PERMISSION

__all__ = ["Answer", "MetricOption", "require_metrics"]

Answer = tuple[int, str, list[str], list[list[str]], list[int]]
"""Problem, text, the metrics it is about, for each of them names near to it, and passes that each takes."""

# Numbers of native/collect/cupti/metrics.h.
_NONE, _NO_CONTEXT, _IN_USE, _UNSUPPORTED, _UNKNOWN_METRIC, _TOO_MANY_PASSES, _NO_PERMISSION = range(7)


class MetricOption(NamedTuple):
    """How a session asks for metrics, and why and how they have to fit into one pass."""

    name: str
    one_pass: str
    fewer: str


def require_metrics(option: MetricOption, answer: Answer) -> None:
    """Raise unless they can be had."""
    problem, text, metrics, candidates, passes = answer
    if problem == _NONE:
        return
    if problem == _UNKNOWN_METRIC:
        raise _unknown(option, metrics, candidates)
    if problem == _TOO_MANY_PASSES:
        raise _too_many_passes(option, text, metrics, passes)
    make: Callable[..., KinetographError] = StateError if problem in (_NO_CONTEXT, _IN_USE) else NotAvailable
    hints = {
        _NO_CONTEXT: "do something on the GPU before the session starts, such as torch.zeros(1).cuda()",
        _IN_USE: "end the other one first",
        _UNSUPPORTED: "kinetograph doctor says what is there",
        _NO_PERMISSION: COUNTER_PERMISSION,
    }
    raise make(f"{option.name} cannot be measured: {text}", hint=hints[problem])


def _unknown(option: MetricOption, metrics: list[str], candidates: list[list[str]]) -> KinetographError:
    near = [name for metric, known in zip(metrics, candidates, strict=True) for name in _near(metric, known)]
    hint = f"near to that: {', '.join(near)}" if near else "ncu --query-metrics lists all names"
    return UsageError(f"{option.name}: this GPU has no {', '.join(metrics)}", hint=hint)


def _near(metric: str, known: list[str]) -> list[str]:
    """Whole names where the begin is right, else begins."""
    base = metric.partition(".")[0]
    wanted = metric if any("." in name for name in known) else base
    return difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)


def _too_many_passes(
    option: MetricOption, passes: str, metrics: list[str], each: list[int]
) -> KinetographError:
    counts = ", ".join(f"{metric} ({count})" for metric, count in zip(metrics, each, strict=True))
    return UsageError(
        f"{option.name}: these need the GPU to run everything {passes} times, and {option.one_pass}; "
        f"passes of each alone: {counts}",
        hint=option.fewer,
    )
