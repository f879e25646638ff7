"""How often each name ran and how long it took: `key_averages`, with PyTorch's names for the answers."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from kinetograph.analysis.average import FIELDS, Average
from kinetograph.checks import require_bool, require_int, require_text
from kinetograph.errors import UsageError
from kinetograph.trace import DeviceType, Event, Trace
from kinetograph.trace.event_parts import Totals
from kinetograph.trace.words import counted, key_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[Any]

__all__ = ["SORT_KEYS", "Average", "Averages", "Grouping", "key_averages", "single_events"]

_FIELD = {name: number for number, name in enumerate(FIELDS)}
# What a table can be sorted by: PyTorch's names, and the column or the total that is divided by the count.
SORT_KEYS = {
    "cpu_time": "cpu_time_total_ns",
    "cpu_time_total": "cpu_time_total_ns",
    "self_cpu_time_total": "self_cpu_time_total_ns",
    "device_time": "device_time_total_ns",
    "device_time_total": "device_time_total_ns",
    "self_device_time_total": "self_device_time_total_ns",
    "cpu_memory_usage": "cpu_memory_usage",
    "self_cpu_memory_usage": "self_cpu_memory_usage",
    "device_memory_usage": "device_memory_usage",
    "self_device_memory_usage": "self_device_memory_usage",
    "count": "count",
    "flops": "flops",
    "min_time": "min_ns",
    "max_time": "max_ns",
    "key": "",
}
_PER_CALL = ("cpu_time", "device_time")
_DEVICE_NAMES = ("cuda", "xpu", "hpu", "mtia", "privateuse1")


class Grouping(NamedTuple):
    """What tells the rows of a table apart, besides names."""

    shapes: bool = False
    stack_frames: int = 0
    overloads: bool = False


class LeftOut(NamedTuple):
    """The Python functions that no row tells of, and their time outside of the events that have rows."""

    functions: int = 0
    calls: int = 0
    time_ns: int = 0


class Averages(Sequence[Average]):
    """The rows of a report; each `Average` is made when asked for. Slices and sorted ones are views too.

    >>> averages = trace.key_averages()
    >>> print(averages.table(sort_by="self_cpu_time_total", row_limit=10))
    >>> averages.sort("count")[0].key
    'aten::add'
    """

    def __init__(self, trace: Trace, matrix: Matrix, grouping: Grouping, left_out: LeftOut) -> None:
        self.trace = trace
        self.left_out = left_out
        self._matrix = matrix
        self._grouping = grouping
        # Not at the first use: a cached_property of Python 3.11 has a lock, which a fork may leave closed.
        self.use_device = _device_of(trace)
        """The kind of device that did work, such as 'cuda'."""
        self.totals = Totals(self.self_cpu_time_total_ns, self.self_device_time_total_ns)
        """Of the host and of devices."""

    def __len__(self) -> int:
        return len(self._matrix)

    @overload
    def __getitem__(self, index: int) -> Average: ...
    @overload
    def __getitem__(self, index: slice) -> Averages: ...
    def __getitem__(self, index: int | slice) -> Average | Averages:
        if isinstance(index, slice):
            return self._of(self._matrix[index])
        return self._average(self._matrix[index].tolist())

    def _of(self, matrix: Matrix) -> Averages:
        return Averages(self.trace, matrix, self._grouping, self.left_out)

    def _average(self, numbers: list[int]) -> Average:
        event = Event(self.trace, numbers[0])
        by_shapes, stack_frames, by_overload = self._grouping
        shapes = event.input_shapes if by_shapes else ""
        stack = tuple(event.stack[:stack_frames]) if stack_frames else ()
        overload = event.overload_name if by_overload else ""
        known = (shapes, stack, overload, self.use_device, self.totals)
        return Average(key_of(event.name), event, *known, *numbers[1:])

    def column(self, name: str) -> Matrix:
        """The numbers of all rows under one of the names that `to_rows` gives."""
        return self._matrix[:, _FIELD[name]]

    @property
    def is_on_device(self) -> Matrix:
        """Of each row."""
        import numpy as np

        types = np.array([track.device_type for track in self.trace.tracks] or [DeviceType.CPU])
        on_device: Matrix = types[self.trace.columns["track"][self.column("row")]] != DeviceType.CPU
        return on_device

    def of_categories(self, *categories: str) -> Averages:
        """The rows whose events have one of these categories."""
        import numpy as np

        wanted = np.array([name in categories for name in self.trace.categories])
        return self._of(self._matrix[wanted[self._categories]])

    @property
    def _categories(self) -> Matrix:
        categories: Matrix = self.trace.columns["category"][self.column("row")]
        return categories

    def where(self, mask: Matrix) -> Averages:
        """The rows for which `mask` is true."""
        return self._of(self._matrix[mask])

    def sort(self, sort_by: str = "self_cpu_time_total") -> Averages:
        """A sorted one, largest first (`key`: by name). `self_cuda_time_total` and the like mean devices."""
        import numpy as np

        name = sort_name(sort_by)
        if name == "key":
            keys = [average.key for average in self]
            return self._of(self._matrix[sorted(range(len(self)), key=keys.__getitem__)])
        values = self.column(SORT_KEYS[name])
        if name in _PER_CALL:
            values = values / np.maximum(self.column("count"), 1)
        return self._of(self._matrix[np.argsort(-values, kind="stable")])

    def total_average(self) -> Average:
        """All rows in one, called 'Total'. Only self times count each moment once."""
        sums = self._matrix.sum(axis=0).tolist()[1:]
        if len(self):
            sums[_FIELD["min_ns"] - 1] = int(self.column("min_ns").min())
            sums[_FIELD["max_ns"] - 1] = int(self.column("max_ns").max())
        return Average("Total", None, "", (), "", self.use_device, self.totals, *sums)

    @property
    def self_cpu_time_total_ns(self) -> int:
        return int(self.column("self_cpu_time_total_ns").sum())

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of the host, each counted once."""
        return self.self_cpu_time_total_ns / 1e3

    @property
    def self_device_time_total_ns(self) -> int:
        """Work of devices, each counted once: for itself, not for the host event that launched it.

        Where only scopes were timed, that of the scopes.
        """
        import numpy as np

        is_work = self.is_on_device & ~np.isin(self._categories, _annotations(self.trace))
        column = self.column("self_device_time_total_ns")
        return int(column[is_work].sum() if is_work.any() else column[~self.is_on_device].sum())

    def to_rows(self) -> list[dict[str, Any]]:
        """A dict of plain values per row: for a data frame, or for JSON."""
        return [average.to_row() for average in self]

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write folded stacks of the whole trace, for flame graphs."""
        self.trace.events.export_stacks(path, metric)

    def supported_export_stacks_metrics(self) -> list[str]:
        return self.trace.events.supported_export_stacks_metrics()

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write the trace that the rows were made of as Chrome JSON; `.gz` compresses."""
        self.trace.events.export_chrome_trace(path)

    def key_averages(self, *_args: object, **_options: object) -> Averages:
        """Itself: so that what takes events takes averages too."""
        return self

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The table that PyTorch's profiler prints: same columns, units and footer, as text.

        `row_limit=-1` prints all rows, and a width of 0 leaves shapes or source lines out. There are columns
        for devices, memory and FLOPs if any were recorded.
        """
        from kinetograph.analysis.torch_table import TorchTable, Widths

        widths = Widths(
            _width("max_name_column_width", max_name_column_width),
            _width("max_shapes_column_width", max_shapes_column_width),
            _width("max_src_column_width", max_src_column_width),
        )
        if header is not None:
            require_text("header", header, hint="write str(value) for it")
        shown = self._shown(sort_by, top_level_events_only)
        return TorchTable(self, shown, time_unit).text(row_limit, widths, header, top_level_events_only)

    def rich_table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> Any:
        """The same for a terminal: `rich.print(averages)`, or this with options. It fits the width."""
        from kinetograph.analysis.torch_table import TorchTable

        return TorchTable(self, self._shown(sort_by, top_level_events_only), time_unit).grid(row_limit)

    def _shown(self, sort_by: str | None, top_level_events_only: bool) -> Averages:
        require_bool("top_level_events_only", top_level_events_only)
        rows = self if sort_by is None else self.sort(sort_by)
        return rows.where(rows.column("outermost_count") > 0) if top_level_events_only else rows

    def __rich__(self) -> Any:
        return self.rich_table()

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<Averages of {counted(len(self), 'row')}>"


def _annotations(trace: Trace) -> list[int]:
    names = ("gpu_user_annotation", "cuda_sync", "cuda_event", "cuda_profiler_range", "intra_kernel")
    return [number for number, name in enumerate(trace.categories) if name in names]


def _width(name: str, width: int | None) -> int | None:
    if width is None:
        return None
    return require_int(name, width, 0, 1 << 62, hint="None is for as wide as what stands in it")


def sort_name(sort_by: object) -> str:
    """The key of SORT_KEYS that is meant."""
    name = sort_by if isinstance(sort_by, str) else ""
    for device in _DEVICE_NAMES:
        name = name.replace(f"{device}_", "device_")
    if name not in SORT_KEYS:
        raise UsageError(
            f"sort_by: expected a column, got {sort_by!r}", hint=f"the columns are {', '.join(SORT_KEYS)}"
        )
    return name


def key_averages(
    trace: Trace,
    group_by_input_shape: bool = False,
    group_by_stack_n: int = 0,
    group_by_overload_name: bool = False,
    include_python: bool = False,
) -> Averages:
    """Put the spans of a trace together by name, and if wanted by shapes, by `n` stack frames, by overload.

    >>> key_averages(trace).table(sort_by="cpu_time_total")

    Python functions have no rows unless asked for: their time counts for the event around them.
    """
    require_bool("group_by_input_shape", group_by_input_shape)
    require_bool("group_by_overload_name", group_by_overload_name)
    require_bool("include_python", include_python)
    frames = require_int("group_by_stack_n", group_by_stack_n, 0, 1 << 16, hint="0 is for not by stack")
    matrix, left_out = trace.native.averages(
        by_shapes=group_by_input_shape,
        by_overload=group_by_overload_name,
        stack_frames=frames,
        with_python=include_python,
    )
    grouping = Grouping(group_by_input_shape, frames, group_by_overload_name)
    return Averages(trace, matrix, grouping, LeftOut(*left_out))


def single_events(trace: Trace, rows: range, include_python: bool = False) -> Averages:
    """Each span as a row of its own: the table of `trace.events`."""
    import numpy as np

    numbers = np.asarray(rows)
    columns = {name: trace.columns[name][numbers] for name in ("kind", "category", "parent", "duration_ns")}
    is_shown = columns["kind"] == 0
    if not include_python:
        is_shown &= columns["category"] != trace.categories.index("python_function")
    matrix = np.zeros((len(numbers), len(FIELDS)), dtype=np.int64)
    averages = Averages(trace, matrix, Grouping(shapes=True), LeftOut())
    matrix[:, _FIELD["row"]] = numbers
    matrix[:, _FIELD["count"]] = 1
    matrix[:, _FIELD["outermost_count"]] = columns["parent"] < 0
    is_on_host = ~averages.is_on_device
    matrix[:, _FIELD["cpu_time_total_ns"]] = columns["duration_ns"] * is_on_host
    matrix[:, _FIELD["self_cpu_time_total_ns"]] = trace.columns["self_ns"][numbers] * is_on_host
    matrix[:, _FIELD["min_ns"]] = matrix[:, _FIELD["max_ns"]] = columns["duration_ns"]
    matrix[:, _FIELD["device_time_total_ns"]] = trace.columns["device_ns"][numbers]
    matrix[:, _FIELD["self_device_time_total_ns"]] = trace.columns["self_device_ns"][numbers]
    return averages.where(is_shown)


def _device_of(trace: Trace) -> str | None:
    types = [track.device_type for track in trace.tracks if track.device_type is not DeviceType.CPU]
    return max(set(types), key=types.count).name.lower() if types else None
