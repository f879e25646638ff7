"""Kineto's configuration text: made of a request of ours, or checked where somebody else wrote it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from kinetograph.checks import path_text
from kinetograph.errors import NotAvailable, UsageError
from kinetograph.ondemand.request import CaptureRequest

__all__ = ["checked_config", "config_for", "file_of_process"]

_LOG_FILE = "ACTIVITIES_LOG_FILE"
_MOST_CONFIG_BYTES = 16 * 1024
_NS_PER_MS = 1_000_000
_SWITCHES = {
    "report_input_shapes": "PROFILE_REPORT_INPUT_SHAPES",
    "profile_memory": "PROFILE_PROFILE_MEMORY",
    "with_stack": "PROFILE_WITH_STACK",
    "with_flops": "PROFILE_WITH_FLOPS",
    "with_modules": "PROFILE_WITH_MODULES",
}
_HOST_TYPES = "cpu_op,user_annotation,python_function,cpu_instant_event"
# What a request may set. Left out: what belongs to the configuration of a process, names other files, or, as
# PROFILE_MEMORY does without a GPU, leaves a thread that spins for ever.
_MAY_SET = {
    _LOG_FILE,
    *_SWITCHES.values(),
    "ACTIVITIES_DURATION_MSECS",
    "ACTIVITIES_DURATION_SECS",
    "ACTIVITIES_ENABLED",
    "ACTIVITIES_ITERATIONS",
    "ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB",
    "ACTIVITIES_DISPLAY_CUDA_SYNC_WAIT_EVENTS",
    "ACTIVITIES_WARMUP_ITERATIONS",
    "ACTIVITIES_WARMUP_PERIOD_SECS",
    "ACTIVITY_TYPES",
    "CLIENT_INTERFACE_ENABLE_OP_INPUTS_COLLECTION",
    "CUPTI_PER_THREAD_BUFFER_ENABLED",
    "PROFILE_START_ITERATION",
    "PROFILE_START_ITERATION_ROUNDUP",
    "PROFILE_START_TIME",
    "PYTHON_STACK_TRACE",
    "REQUEST_GROUP_TRACE_ID",
    "REQUEST_TRACE_ID",
}


def config_for(request: CaptureRequest, path: str) -> str:
    """The text that has a process of PyTorch record this, and write it to `path` with its pid inserted."""
    if request.ring_dump or request.memory_profile:
        what = "keeps no ring" if request.ring_dump else "profiles no memory this way"
        raise NotAvailable(f"PyTorch's own recorder {what}", hint="import kinetograph in that program")
    settings = {_LOG_FILE: path, **_window(request), **_activities(request)}
    settings |= {key: "true" for option, key in _SWITCHES.items() if getattr(request, option)}
    if request.trace_id:
        settings["REQUEST_TRACE_ID"] = request.trace_id
    return _spelled(settings)


def _window(request: CaptureRequest) -> dict[str, str]:
    if request.steps is None:
        # Kineto rounds to milliseconds, and records nothing in none.
        window = {"ACTIVITIES_DURATION_MSECS": str(max(1, round(request.window_ns / _NS_PER_MS)))}
    else:
        window = {"ACTIVITIES_ITERATIONS": str(request.steps)}
    if request.start_time_ns is not None:
        window["PROFILE_START_TIME"] = str(request.start_time_ns // _NS_PER_MS)
    elif request.start_step is not None:
        window["PROFILE_START_ITERATION"] = str(request.start_step)
    elif request.starts_at_step:
        window["PROFILE_START_ITERATION_ROUNDUP"] = str(request.start_step_multiple or 1)
    return window


def _activities(request: CaptureRequest) -> dict[str, str]:
    """A warm-up is for devices; by default it takes five seconds for everybody."""
    chosen = {name.upper() for name in request.activities}
    unknown = sorted(chosen - {"CPU", "CUDA"})
    if unknown:
        raise NotAvailable(f"PyTorch's own recorder is asked for CPU and CUDA only, got {unknown[0]!r}")
    if "CUDA" in chosen:
        return {"ACTIVITIES_WARMUP_PERIOD_SECS": "1"}
    return {"ACTIVITIES_WARMUP_PERIOD_SECS": "0", "ACTIVITY_TYPES": _HOST_TYPES}


def _spelled(settings: Mapping[str, str]) -> str:
    for key, value in settings.items():
        # A second = ends Kineto's reading of it, # begins a comment; a line would be a setting of its own.
        if not value.isprintable() or any(letter in value for letter in "=#") or value != value.strip():
            raise UsageError(
                f"Kineto's text has no place for {value!r} as {key}", hint="leave out =, # and spaces around"
            )
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def checked_config(text: str, roots: Iterable[str]) -> tuple[str, str]:
    """The same settings, of those that a request may make, and where the trace goes: into one of `roots`."""
    if len(text.encode(errors="replace")) > _MOST_CONFIG_BYTES:
        raise UsageError(f"config: expected at most {_MOST_CONFIG_BYTES} bytes")
    settings = dict(_setting(line) for line in _lines(text))
    for key in settings:
        if key not in _MAY_SET:
            raise UsageError(f"config: {key[:100]!r} is not passed on to processes", hint="leave it out")
    path = _confined(settings.get(_LOG_FILE, ""), roots)
    settings[_LOG_FILE] = path
    return _spelled(settings), path


def _lines(text: str) -> list[str]:
    lines = (line.partition("#")[0].strip(" \t\r") for line in text.split("\n"))
    return [line for line in lines if line]


def _setting(line: str) -> tuple[str, str]:
    parts = [part.strip(" \t") for part in line.split("=")]
    if len(parts) != 2:
        raise UsageError(f"config: expected KEY=VALUE, got {line[:100]!r}")
    return parts[0], parts[1]


def _confined(path: str, roots: Iterable[str]) -> str:
    """Links are followed in the directory; the file is named after the pid of the process that writes."""
    path_text("config", path or "-")
    if not os.path.isabs(path) or not path.endswith(".json"):
        raise UsageError(f"config: expected {_LOG_FILE}=/a/path.json, got {path[:200]!r}")
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    # There the pid would be inserted, and name a directory that nobody has looked at.
    if ".json" in os.path.dirname(path):
        raise UsageError(f"config: expected a directory without .json in its name, got {path[:200]!r}")
    allowed = [os.path.realpath(root) for root in roots]
    if not any(os.path.commonpath([root, path]) == root for root in allowed):
        raise UsageError(
            f"config: {path[:200]!r} lies outside of the directories that this daemon allows",
            hint=f"these are {', '.join(allowed)}; --output-directory names others",
        )
    return path


def file_of_process(path: str, pid: int) -> str:
    """Where Kineto writes to, when it is told `path`: its pid comes before the first of these endings."""
    for ending in (".pt.trace.json", ".json"):
        before, found, after = path.partition(ending)
        if found:
            return f"{before}_{pid}{found}{after}"
    return path
