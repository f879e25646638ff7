"""Nodes of an execution trace, told by the observer for torch."""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any

from kinetograph.errors import StateError
from kinetograph.frameworks.torch.operators import loaded_observer, observer_lock
from kinetograph.frameworks.torch.ranges import traces_of_nodes

__all__ = ["TracedNodes", "tell_process_groups"]

_AT_ONCE = 8  # most_traces of observer/execution_trace.cpp
_RANGES = "ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE"


class TracedNodes:
    """The operators of all threads between `start` and `stop`, which may come again, as text to `take`."""

    def __init__(self, torch: Any) -> None:
        self._library = loaded_observer(torch)
        with observer_lock:
            self._place = self._library.kinetograph_torch_trace_open(os.environ.get(_RANGES) == "1")
        if self._place < 0:
            raise StateError(
                f"there are {_AT_ONCE} execution traces already, and no place for another",
                hint="unregister_callback() finishes one",
            )

    def start(self) -> None:
        with observer_lock:
            self._library.kinetograph_torch_trace_start(self._place)
            traces_of_nodes.add(self._place)

    def stop(self) -> None:
        with observer_lock:
            traces_of_nodes.discard(self._place)
            self._library.kinetograph_torch_trace_stop(self._place)

    def wait(self) -> None:
        """Until there is more to take, or somebody calls `wake`."""
        self._library.kinetograph_torch_trace_wait(self._place)

    def wake(self) -> None:
        self._library.kinetograph_torch_trace_wake(self._place)

    def take(self, *, is_last: bool = False) -> bytes:
        text = ctypes.c_void_p()
        take = self._library.kinetograph_torch_trace_take
        take.restype = ctypes.c_size_t
        size = take(self._place, is_last, ctypes.byref(text))
        return ctypes.string_at(text, size) if size else b""

    def close(self) -> int:
        """How many bytes were lost, for they came faster than they could be written."""
        close = self._library.kinetograph_torch_trace_close
        close.restype = ctypes.c_uint64
        with observer_lock:
            traces_of_nodes.discard(self._place)
            return int(close(self._place))


def tell_process_groups(torch: Any) -> None:
    """As a node, the way torch does it: replays look for its name."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        groups = distributed.distributed_c10d._world.pg_config_info
        torch.autograd._record_function_with_args_enter(
            "## process_group:init ##", json.dumps(groups, default=int)
        )
