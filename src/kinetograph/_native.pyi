from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

RECORD_ABI: int = 1

def set_hook(name: str, callable: Callable[..., Any], /) -> None:
    """Connect the Python side of scopes."""

class ScopedFunction:
    """A function whose calls are recorded as a scope."""
    def __init__(self, scope: scope, function: Callable[..., Any], /) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...

def end_where_open(scope: scope, /) -> None:
    """End a scope on whatever lane of this thread it is open."""

_Function = TypeVar("_Function", bound=Callable[..., Any])

class scope:
    """
    A named span of the program: context manager and decorator, for functions, generators and `async def`.

    >>> with kg.scope("load"):
    ...     data = read()

    `args` is a text shown with the event, `inputs` are array-likes whose shapes and types are noted when the session
    asks for shapes, and `metadata` are further values. Without a session it costs one load.
    """
    def __new__(
        cls,
        name: str,
        /,
        args: str | None = None,
        *,
        kind: object = ...,
        inputs: Sequence[Any] | None = None,
        **metadata: Any,
    ) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def __call__(self, function: _Function) -> _Function: ...
    @property
    def name(self) -> str: ...

def mark(name: str, /) -> None:
    """
    Record an instant: something happened now.

    >>> kg.mark("cache miss")
    """

def counter(name: str, value: float, /) -> None:
    """
    Record the value of something that goes up and down.

    >>> kg.counter("queue", 12)
    """

class Trace:
    """Columns of events and the tables they refer to."""

    def __init__(self, directory: str = "") -> None: ...
    def __len__(self) -> int: ...
    @property
    def version(self) -> int: ...
    def column(self, name: str) -> Any: ...
    def names(self) -> list[str]: ...
    def args_of(self, row: int) -> str: ...
    def set_args(self, row: int, args_json: str) -> None: ...
    def set_link(self, row: int, link: int) -> None: ...
    @property
    def categories(self) -> list[str]: ...
    def processes(self) -> list[tuple[str, str, str, str]]: ...
    def tracks(self) -> list[tuple[int, str, str, str, int, int, int]]: ...
    def name_process(
        self, pid: object, name: str, labels: str = "", sort_index: int | None = None
    ) -> None: ...
    def name_track(
        self,
        pid: object,
        tid: object,
        name: str,
        sort_index: int | None = None,
        device_type: int = 0,
        device_index: int = -1,
    ) -> None: ...
    def notes(self) -> list[tuple[str, str]]: ...
    def add_note(self, kind: str, text: str) -> None: ...
    def metadata(self) -> list[tuple[str, str]]: ...
    def set_metadata(self, key: str, json: str) -> None: ...
    @property
    def device_properties(self) -> str: ...
    @device_properties.setter
    def device_properties(self, arg: str, /) -> None: ...
    @property
    def window(self) -> tuple[int, int]: ...
    @window.setter
    def window(self, arg: tuple[int, int], /) -> None: ...
    def append(
        self,
        name: str,
        category: str,
        kind: int,
        start_ns: int,
        duration_ns: int,
        pid: int | str,
        tid: int | str,
        *,
        track_name: str = "",
        args_json: str = "",
        correlation: int = 0,
        scope: int | None = None,
        flags: int = 0,
        sequence: int = -1,
        device_type: int = 0,
        device_index: int = -1,
    ) -> None: ...
    def sort(self) -> None: ...
    def write_chrome_json(self, target: int | Callable[[bytes], object], trace_name: str) -> None: ...
    def write_perfetto(self, target: int | Callable[[bytes], object]) -> None: ...
    @staticmethod
    def read_chrome_json(read: Callable[[], bytes], directory: str = "") -> Trace: ...
    @staticmethod
    def read_perfetto(read: Callable[[], bytes], directory: str = "") -> Trace: ...
    def averages(
        self,
        *,
        by_shapes: bool = False,
        by_overload: bool = False,
        stack_frames: int = 0,
        with_python: bool = False,
    ) -> tuple[Any, tuple[int, int, int]]: ...
    def call_tree(self, *, with_python: bool = True) -> tuple[Any, list[str]]: ...
    def write_folded(
        self, target: int | Callable[[bytes], object], *, metric: int = 0, with_python: bool = True
    ) -> None: ...

class ParseError(ValueError):
    args: tuple[str, int]

class TraceMerger:
    """Makes one trace of those appended. One thread at a time."""

    def __init__(self, directory: str = "") -> None: ...
    def append(self, trace: Trace, whose: str, host: str = "", is_labelled: bool = False) -> None: ...
    def finish(self) -> Trace: ...

class TraceJoiner:
    """The same for traces of one process, recorded one after another."""

    def __init__(self) -> None: ...
    def append(self, trace: Trace) -> None: ...
    def finish(self) -> Trace: ...

def start_session(
    all_threads: bool,
    starts_paused: bool,
    memory_limit_bytes: int,
    drop_at_limit: bool,
    ring_bytes: int,
    ring_ns: int,
    spill_directory: str,
    session_directory: str,
) -> int: ...
def stop_session(
    session: int,
    *,
    categories: int = ...,
    scopes: int = 0,
    input_shapes: bool = True,
    stacks: bool = True,
    samples: bool = True,
    device_work: bool = True,
    device_waits: bool = True,
    device_memory: bool = True,
    functions: bool = True,
    c_calls: bool = True,
    call_lines: bool = True,
    min_call_ns: int = 0,
    max_depth: int = ...,
    include: Sequence[str] = ...,
    exclude: Sequence[str] = ...,
) -> Trace: ...
def is_session_running(session: int) -> bool: ...
def join_session(session: int) -> bool: ...
def leave_session(session: int) -> bool: ...
def pause_session(session: int) -> bool: ...
def resume_session(session: int) -> bool: ...
def discard_session(session: int) -> None: ...
def sessions() -> list[tuple[int, int, bool]]: ...
def is_recording() -> bool: ...
def record_device_event(
    name: str,
    category: int,
    start_ns: int,
    end_ns: int,
    device_type: int,
    device_index: int,
    resource: int,
    correlation: int,
    args: bytes,
) -> None: ...
def record_instant(name: str, category: int, is_memory: bool, args: bytes) -> None: ...
def set_observing(on: bool) -> None: ...
def tick_source() -> str: ...
def scope_cost_ns() -> float: ...
def thread_count() -> int: ...
def memory_bytes() -> int: ...
def string_count() -> int: ...
def start_calls(
    *,
    include: Sequence[str],
    exclude: Sequence[str],
    max_depth: int,
    min_duration_ns: int,
    c_calls: bool,
    call_lines: bool,
    python_calls: bool,
    garbage_collection: bool,
    scope_stacks: bool,
) -> None:
    """Record Python calls from now on, or by other rules than before."""

def stop_calls() -> None: ...
def missed_calls() -> tuple[int, int, int, int]:
    """
    Threads whose hook another tool has taken, threads never seen, threads seen late, calls that ended unseen; all but the first since the process began.
    """

def stop_watching_garbage() -> None: ...
def record_other_threads(stacks: bool) -> None:
    """Record the names of the other threads, and the calls they have open."""

def start_samples(*, include: Sequence[str], exclude: Sequence[str], max_depth: int, hz: int) -> None:
    """Take stacks of all threads from now on, or by other rules than before."""

def stop_samples() -> None: ...
def sample_counts() -> tuple[int, int, int, int, int, int]:
    """
    Rounds, stacks, torn, too deep, missed and nanoseconds of CPU since the process began.
    """

def recover(
    path: str,
    *,
    is_never_stopped: bool = False,
    boot_id: str = "",
    wall_offset_ns: int = 0,
    ended_raw_ns: int = 0,
    keep_ns: int = 0,
    memory_limit_bytes: int = 1073741824,
    spill_directory: str = "",
    max_depth: int = ...,
) -> Trace: ...
def session_file_info(path: str) -> dict[str, Any]: ...
def trim_session_file(path: str) -> int: ...
def set_process_name(name: str) -> None: ...
def tell_note(kind: str, text: str) -> None: ...
def mark_end() -> None: ...
def start_cuda(
    synchronization: bool, memory: bool, whole_graphs: bool, crash_safe: bool, libraries: Sequence[str]
) -> int: ...
def flush_cuda(may_wait: bool) -> None: ...
def stop_cuda(use: int) -> None: ...
def push_external_id(kind: int, id: int) -> int: ...
def pop_external_id(kind: int, pushed: int) -> None: ...
def cuda_status() -> tuple[int, str, str, int, int]: ...
def cuda_is_mapped() -> bool: ...
def open_metrics(
    metrics: Sequence[str], per_kernel: bool, libraries: Sequence[str]
) -> tuple[int, str, list[str], list[list[str]], list[int]]: ...
def resume_metrics() -> None: ...
def pause_metrics() -> None: ...
def close_metrics() -> None: ...
def begin_metric_range(name: str) -> None: ...
def end_metric_range() -> None: ...
