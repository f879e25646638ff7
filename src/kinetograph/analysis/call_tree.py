"""The calls of a trace merged by path: where the time went, from the outermost caller down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kinetograph.analysis.grid import Grid, Heading
from kinetograph.checks import require_bool, require_int
from kinetograph.errors import KinetographError
from kinetograph.trace import Trace
from kinetograph.trace.words import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CallNode", "CallTree", "call_tree", "duration_text"]

# The columns of the native matrix; native/trace/call_tree.h says what they mean.
_PARENT, _NAME, _CATEGORY, _TOTAL, _DEVICE = 0, 1, 2, 4, 7
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))
_DEEPEST_INDENT = 16


def duration_text(time_ns: float) -> str:
    """
    >>> duration_text(48_200_000), duration_text(950)
    ('48.20 ms', '950 ns')
    """
    for unit_ns, unit in _UNITS:
        if time_ns >= unit_ns:
            value = time_ns / unit_ns
            decimals = 3 if value < 10 else 2 if value < 100 else 1
            return f"{value:,.{decimals}f} {unit}"
    return f"{time_ns:.0f} ns"


@dataclass(frozen=True, slots=True)
class CallNode:
    """All calls that were reached by the same names, on whatever thread."""

    index: int
    level: int
    name: str
    category: str
    count: int
    total_ns: int
    self_ns: int
    self_device_ns: int
    device_ns: int


class CallTree:
    """The merged calls; each `CallNode` is made when asked for.

    >>> tree = call_tree(trace)
    >>> [node.name for node in tree.children(tree.roots[0])]
    ['load', 'compute']
    """

    def __init__(self, trace: Trace, matrix: NDArray[Any], extra_names: list[str]) -> None:
        import numpy as np

        self._matrix = matrix
        self._names = trace.names
        self._extra_names = extra_names
        self._categories = trace.categories
        # By parent, and below each parent the longest first.
        self._order = np.lexsort((-matrix[:, _DEVICE], -matrix[:, _TOTAL], matrix[:, _PARENT]))
        self._parents = matrix[self._order, _PARENT]

    def __len__(self) -> int:
        return len(self._matrix)

    @property
    def roots(self) -> list[CallNode]:
        """The outermost calls, the longest first."""
        return self._below(-1, level=0)

    def children(self, node: CallNode) -> list[CallNode]:
        """The longest first."""
        return self._below(node.index, node.level + 1)

    def _below(self, parent: int, level: int) -> list[CallNode]:
        first, end = self._parents.searchsorted([parent, parent + 1]).tolist()
        return [self._node(index, level) for index in self._order[first:end].tolist()]

    def _node(self, index: int, level: int) -> CallNode:
        _parent, name, category, *numbers = self._matrix[index].tolist()
        return CallNode(index, level, self._name(name), self._categories[category], *numbers)

    def _name(self, name: int) -> str:
        return self._names[name] if name < len(self._names) else self._extra_names[name - len(self._names)]

    @property
    def total_ns(self) -> int:
        """Time of the host under all roots."""
        return int(self._matrix[self._matrix[:, _PARENT] < 0, _TOTAL].sum())

    @property
    def device_ns(self) -> int:
        return int(self._matrix[self._matrix[:, _PARENT] < 0, _DEVICE].sum())

    def walk(self, depth: int | None = None, min_percent: float = 0.0) -> Iterator[CallNode | LeftOut]:
        """From each root down, the longest first, without what is deeper or has a smaller share."""
        smallest = _Smallest(self.total_ns * min_percent / 100, self.device_ns * min_percent / 100)
        waiting: list[CallNode | LeftOut] = []
        self._wait_for(self.roots, smallest, waiting)
        while waiting:
            node = waiting.pop()
            yield node
            if isinstance(node, CallNode) and (depth is None or node.level + 1 < depth):
                self._wait_for(self.children(node), smallest, waiting)

    def _wait_for(
        self, nodes: list[CallNode], smallest: _Smallest, waiting: list[CallNode | LeftOut]
    ) -> None:
        small = [node for node in nodes if not smallest.is_reached_by(node)]
        small_ns = sum(node.total_ns for node in small)
        if small and small_ns >= smallest.host_ns:
            waiting.append(LeftOut(small[0].level, len(small), small_ns))
        waiting.extend(reversed([node for node in nodes if smallest.is_reached_by(node)]))

    def grid(self, depth: int | None = None, min_percent: float = 1.0) -> Grid:
        """As a table, the names indented."""
        check_tree_options(depth, min_percent)
        has_device = self.device_ns > 0
        headings = [*_HEADINGS[:3], *([_DEVICE_HEADING] if has_device else []), *_HEADINGS[3:]]
        rows = [self._cells(node, has_device) for node in self.walk(depth, min_percent)]
        return Grid(headings, rows)

    def _cells(self, node: CallNode | LeftOut, has_device: bool) -> list[str]:
        if isinstance(node, LeftOut):
            what = (
                f"{_indent(node.level)}({counted(node.nodes, 'more name')}, {duration_text(node.total_ns)})"
            )
            return [""] * (len(_HEADINGS) - 1 + has_device) + [what]
        times = self._host_cells(node)
        device = [duration_text(node.device_ns) if node.device_ns else ""] if has_device else []
        return [*times, *device, f"{node.count:,}", _indent(node.level) + node.name]

    def _host_cells(self, node: CallNode) -> list[str]:
        if node.device_ns and not node.total_ns:
            return ["", "", ""]
        share = f"{100 * node.total_ns / self.total_ns:.1f}" if self.total_ns else ""
        return [duration_text(node.total_ns), share, duration_text(node.self_ns)]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Calls too short to be told one by one, but not so together."""

    level: int
    nodes: int
    total_ns: int


@dataclass(frozen=True, slots=True)
class _Smallest:
    host_ns: float
    device_ns: float

    def is_reached_by(self, node: CallNode) -> bool:
        on_host = node.total_ns >= self.host_ns and (node.total_ns > 0 or self.host_ns == 0)
        return on_host or (node.device_ns > 0 and node.device_ns >= self.device_ns)


_HEADINGS = (
    Heading("Total"),
    Heading("Total %"),
    Heading("Self"),
    Heading("Calls", rank=1),
    Heading("Name", is_text=True, is_name=True),
)
_DEVICE_HEADING = Heading("Device", rank=2)


def _indent(level: int) -> str:
    """Two blanks for each level; where that would leave no room for names, a number."""
    if level <= _DEEPEST_INDENT:
        return "  " * level
    return f"{'  ' * _DEEPEST_INDENT}+{level - _DEEPEST_INDENT} "


def call_tree(trace: Trace, *, include_python: bool = True) -> CallTree:
    """Merge the calls of all threads by path. Work of devices is below the event that launched it.

    >>> print(call_tree(trace).grid(depth=4).plain())
    """
    require_bool("include_python", include_python)
    return CallTree(trace, *trace.native.call_tree(with_python=include_python))


def check_tree_options(depth: object, min_percent: object) -> None:
    """Raise for a depth or share that no tree has."""
    if depth is not None:
        require_int("depth", depth, 1, 1 << 30, hint="leave depth out for all levels")
    if not isinstance(min_percent, (int, float)) or not 0 <= min_percent <= 100:
        raise KinetographError(f"min_percent: expected 0 to 100, got {min_percent!r}")
