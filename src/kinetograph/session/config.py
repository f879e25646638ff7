"""What one session shall record: a value, checked when it is made."""

from __future__ import annotations

from collections.abc import Iterable

from kinetograph.checks import require_bools, require_instance, require_text, spelled
from kinetograph.errors import ArgumentError, UsageError
from kinetograph.session.activity import ActivityType, ProfilerActivity
from kinetograph.session.calls import CallOptions
from kinetograph.session.experimental import ExperimentalConfig
from kinetograph.session.members import member_of
from kinetograph.session.options import RecordOptions
from kinetograph.session.state import ProfilerState
from kinetograph.session.values import Value

__all__ = [
    "ActivityType",
    "CallOptions",
    "ExperimentalConfig",
    "ProfilerActivity",
    "ProfilerConfig",
    "ProfilerState",
    "RecordOptions",
    "framework_names",
]

_FRAMEWORKS = ("torch",)


class ProfilerConfig(Value):
    """The options of a session; everything is off by default.

    >>> ProfilerConfig(report_input_shapes=True)
    >>> ProfilerConfig(ProfilerState.CPU, recording=RecordOptions(mode="ring", ring_seconds=10))

    Any combination that makes sense can be built; whether it can run here is asked when a session starts.
    """

    state: ProfilerState = ProfilerState.KINETO
    report_input_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_flops: bool = False
    with_modules: bool = False
    experimental_config: ExperimentalConfig = ExperimentalConfig()
    trace_id: str = ""
    recording: RecordOptions = RecordOptions()
    calls: CallOptions | None = None
    frameworks: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", member_of(ProfilerState, self.state, what="state"))
        require_bools(self)
        require_text("trace_id", self.trace_id)
        require_instance("experimental_config", self.experimental_config, ExperimentalConfig)
        require_instance("recording", self.recording, RecordOptions)
        if self.calls is not None:
            require_instance("calls", self.calls, CallOptions)
        object.__setattr__(self, "frameworks", framework_names(self.frameworks))

    @property
    def wants_shapes(self) -> bool:
        """FLOPs are counted from shapes, and a reader wants to see which."""
        return self.report_input_shapes or self.with_flops

    @property
    def wanted_calls(self) -> CallOptions | None:
        """How to record Python calls: as `calls` says, or plainly if only `with_stack` is on; None: not."""
        calls = CallOptions() if self.calls is None and self.with_stack else self.calls
        return calls if calls is not None and calls.mode != "off" else None

    @property
    def names_modules(self) -> bool:
        """Whether calls of modules are recorded, be it among all others."""
        calls = self.wanted_calls
        return self.with_modules or (calls is not None and calls.mode == "trace")

    @property
    def wants_scope_stacks(self) -> bool:
        """Whether scopes carry their stack themselves, for want of the calls around them."""
        calls = self.wanted_calls
        return self.with_stack and (calls is None or calls.mode == "sample")


def framework_names(frameworks: Iterable[object] | None) -> tuple[str, ...] | None:
    """Checked: only names of frameworks that we know how to record. None: those that the program uses."""
    if frameworks is None:
        return None
    if isinstance(frameworks, str) or not isinstance(frameworks, Iterable):
        raise ArgumentError(
            f"frameworks: expected a list of names, got {spelled(frameworks)}",
            hint='write frameworks=["torch"]',
        )
    names = tuple(frameworks)
    for name in names:
        if name not in _FRAMEWORKS:
            raise UsageError(
                f"frameworks: expected the name of a framework, got {spelled(name)}",
                hint=f"those that can be recorded: {', '.join(_FRAMEWORKS)}",
            )
    return names  # type: ignore[return-value]
