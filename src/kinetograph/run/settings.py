"""What a run records: a value that the launcher writes down and every process of the run reads."""

from __future__ import annotations

from typing import Any, Literal

from kinetograph.checks import require_bools
from kinetograph.session.config import CallOptions, ProfilerConfig, RecordOptions
from kinetograph.session.values import Value

__all__ = ["RunSettings"]

_CALL_OPTIONS = ("include", "exclude", "max_depth", "min_duration_ns", "c_calls", "call_lines", "sample_hz")
_PROFILE_OPTIONS = ("report_input_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")


class RunSettings(Value):
    """The options of `kinetograph run` that matter to the processes it records.

    >>> RunSettings(ring_seconds=10, activities=("CPU",))
    """

    activities: tuple[str, ...] | None = None
    report_input_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_flops: bool = False
    with_modules: bool = False
    ring_seconds: float | None = None
    memory_limit_bytes: int = 1 << 30
    calls: bool = True
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_depth: int | None = None
    min_duration_ns: int = 0
    c_calls: bool = False
    call_lines: bool = False
    sample_hz: int | None = None

    def __post_init__(self) -> None:
        require_bools(self)

    def config(self, directory: str | None = None) -> ProfilerConfig:
        """How a process records: into a file of `directory`, or, without one, into its own memory."""
        profile = {name: getattr(self, name) for name in _PROFILE_OPTIONS}
        return ProfilerConfig(recording=self._recording(directory), **profile, calls=self._calls())

    @property
    def traced_depth(self) -> int:
        return self._calls().traced_depth

    def _recording(self, directory: str | None) -> RecordOptions:
        return RecordOptions(
            mode="record" if self.ring_seconds is None else "ring",
            ring_seconds=self.ring_seconds,
            memory_limit_bytes=self.memory_limit_bytes,
            crash_safe=directory is not None,
            directory=directory,
        )

    def _calls(self) -> CallOptions:
        """The one place where Python calls are switched on: by default, unless told otherwise."""
        given = {name: getattr(self, name) for name in _CALL_OPTIONS if getattr(self, name)}
        mode: Literal["trace", "sample", "off"] = "off"
        if self.calls:
            mode = "sample" if self.sample_hz else "trace"
        return CallOptions(mode=mode, **given)

    def to_json(self) -> str:
        import json

        return json.dumps({name: getattr(self, name) for name in self.defaults})

    @classmethod
    def from_json(cls, text: str) -> RunSettings:
        import json

        members: dict[str, Any] = json.loads(text)
        return cls().replace(**{key: _from_json(value) for key, value in members.items()})


def _from_json(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
