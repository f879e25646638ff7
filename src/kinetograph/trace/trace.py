"""`Trace`: everything that was recorded, whatever recorded it and whatever reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from os import PathLike

from kinetograph import _native
from kinetograph.checks import require_text
from kinetograph.errors import ArgumentError, UsageError
from kinetograph.hints import TYPE_CHECKING, Any, TypeVar
from kinetograph.trace.columns import Columns
from kinetograph.trace.events import Events
from kinetograph.trace.formats import saver_for
from kinetograph.trace.json_text import encodable, from_json, to_json
from kinetograph.trace.words import RESERVED_METADATA, DeviceType, counted

if TYPE_CHECKING:
    from kinetograph.trace.tables import Note, Process, Track

__all__ = ["Trace", "require_free_key"]

_Result = TypeVar("_Result")


class Metadata(MutableMapping[str, Any]):
    """Top-level keys of the file, as Python values. Assignment replaces; nothing is ever deleted."""

    def __init__(self, native: _native.Trace) -> None:
        self._native = native

    def __getitem__(self, key: str) -> Any:
        found = dict(self._native.metadata())
        return from_json(found[encodable(key) if isinstance(key, str) else key])

    def __setitem__(self, key: str, value: Any) -> None:
        require_free_key(key)
        try:
            self._native.set_metadata(encodable(key), _json_of(key, value))
        except _native.ParseError as error:
            raise UsageError(
                f"metadata[{key!r}]: {error.args[0]}", hint="files hold values of up to 128 levels"
            ) from None

    def __delitem__(self, key: str) -> None:
        raise TypeError("metadata of a trace can be replaced but not deleted")

    def __iter__(self) -> Iterator[str]:
        return (key for key, _json in self._native.metadata())

    def __len__(self) -> int:
        return len(self._native.metadata())

    def __repr__(self) -> str:
        return repr(dict(self))


class Trace:
    """Columns of events, and the tables they refer to.

    >>> trace = kg.load("trace.json.gz")
    >>> len(trace), trace.events[0].name
    (1066, 'aten::add_')

    `native` is the native object; whoever fills a trace uses it, whoever reads one need not.
    """

    def __init__(self, native: _native.Trace | None = None) -> None:
        self.native = _native.Trace() if native is None else native
        self.columns = Columns(self.native)
        self._tracks: list[Track] = []
        self._tracks_version = -1
        self._computed: dict[Callable[[Trace], Any], tuple[int, Any]] = {}

    def __len__(self) -> int:
        return len(self.native)

    @property
    def events(self) -> Events:
        """By track, then start; a parent stands before its children."""
        return Events(self, range(len(self)))

    @property
    def names(self) -> list[str]:
        """Names by id, as the `name` column holds them."""
        return self.native.names()

    @property
    def categories(self) -> list[str]:
        return self.native.categories

    @property
    def processes(self) -> list[Process]:
        from kinetograph.trace.tables import Process

        return [
            Process(_scalar(pid), name, labels) for pid, name, labels, _sort_index in self.native.processes()
        ]

    @property
    def tracks(self) -> list[Track]:
        if self._tracks_version != self.native.version:
            self._tracks = list(_tracks(self.native, self.processes))
            self._tracks_version = self.native.version
        return self._tracks

    @property
    def notes(self) -> list[Note]:
        from kinetograph.trace.tables import Note

        return [Note(kind, text) for kind, text in self.native.notes()]

    def add_note(self, kind: str, text: str) -> None:
        require_text("kind", kind, hint="one word, such as 'partial'")
        require_text("text", text, hint="one sentence")
        self.native.add_note(encodable(kind), encodable(text))

    @property
    def metadata(self) -> Metadata:
        return Metadata(self.native)

    @property
    def device_properties(self) -> list[dict[str, Any]]:
        properties: list[dict[str, Any]] = from_json(self.native.device_properties)
        return properties

    @property
    def start_ns(self) -> int:
        """Begin of the recorded window, else of the first event."""
        start_ns, end_ns = self.native.window
        if end_ns or not len(self):
            return start_ns
        return int(self.columns["start_ns"].min())

    @property
    def end_ns(self) -> int:
        """End of the recorded window, else of the last event."""
        _start_ns, end_ns = self.native.window
        if end_ns or not len(self):
            return end_ns
        return int((self.columns["start_ns"] + self.columns["duration_ns"]).max())

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python: bool = False,
    ) -> Any:
        """Counts and times by name, as `kinetograph.analysis.averages.Averages`.

        >>> print(trace.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
        """
        from kinetograph.trace.reports import report

        options = (group_by_input_shape, group_by_stack_n, group_by_overload_name, include_python)
        return report("key_averages")(self, *options)

    def _once(self, compute: Callable[[Trace], _Result]) -> _Result:
        """`compute(self)`, again only when rows have changed: for what events tell of the whole trace."""
        version, result = self._computed.get(compute, (-1, None))
        if version != self.native.version:
            version, result = self._computed[compute] = self.native.version, compute(self)
        found: _Result = result
        return found

    def save(self, path: str | PathLike[str]) -> None:
        """Write the trace in the format of the suffix: `.json` or `.pftrace`, also with `.gz`; `.folded`."""
        saver_for(path)(self, path)

    def __repr__(self) -> str:
        return f"<Trace of {counted(len(self), 'event')} on {counted(len(self.native.tracks()), 'track')}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied as the file that it would be, so that workers can send theirs."""
        pieces: list[bytes] = []
        self.native.write_chrome_json(pieces.append, "")
        return _from_chrome_json, (b"".join(pieces),)


def _from_chrome_json(text: bytes) -> Trace:
    pieces = [text]
    return Trace(_native.Trace.read_chrome_json(lambda: pieces.pop() if pieces else b""))


def _tracks(native: _native.Trace, processes: list[Process]) -> Iterator[Track]:
    from kinetograph.trace.tables import Track

    for process, tid, name, _sort_index, parent, device_type, device_index in native.tracks():
        thread = None if parent < 0 else parent
        yield Track(processes[process], _scalar(tid), name, thread, _device(device_type), device_index)


def require_free_key(key: str) -> None:
    """Raise for a top-level key of the file that the writer fills itself; it would stand there twice."""
    require_text("key", key, hint="keys of a JSON object are strings")
    if key in RESERVED_METADATA:
        raise UsageError(
            f"metadata[{key!r}]: this key of the file is written from the trace itself",
            hint=f"name it {'user.' + key!r}",
        )


def _json_of(key: str, value: object) -> str:
    try:
        return to_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"metadata[{key!r}]: expected a value that JSON has, got {type(value).__name__}: {error}",
            hint="pass text, numbers, lists and dicts of them, or None; str(value) makes text of anything",
        ) from None


def _scalar(text: str) -> int | str:
    """A pid or tid as it stands in JSON."""
    value = from_json(text)
    if isinstance(value, float):
        return int(value) if value.is_integer() else text
    return value if isinstance(value, int) else str(value)


def _device(number: int) -> DeviceType:
    return DeviceType(number) if number in DeviceType._value2member_map_ else DeviceType.PRIVATEUSE1
