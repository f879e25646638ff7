"""What a capture is asked for: a value, made of the JSON that a peer sent and checked like all options."""

from __future__ import annotations

from collections.abc import Mapping

from kinetograph.checks import require_bools, require_int, require_text, text_tuple
from kinetograph.errors import UsageError
from kinetograph.hints import Any
from kinetograph.session.values import Value
from kinetograph.trace.json_text import strict_json, to_json

__all__ = ["CaptureRequest"]

_DEFAULT_DURATION_NS = 500_000_000
_LONGEST_NS = 24 * 3600 * 1_000_000_000
_MOST_STEPS = 1_000_000_000
_MOST_WALL_NS = (1 << 63) - 1
_LONGEST_TEXT = 4096
_NUMBERS: Mapping[str, tuple[int, int]] = {
    "duration_ns": (1, _LONGEST_NS),
    "steps": (1, _MOST_STEPS),
    "start_step": (0, _MOST_STEPS),
    "start_step_multiple": (1, _MOST_STEPS),
    "start_time_ns": (1, _MOST_WALL_NS),
}
_EXCLUSIVE = (
    ("duration_ns", "steps"),
    ("start_step", "start_step_multiple"),
    ("start_time_ns", "start_step"),
    ("start_time_ns", "start_step_multiple"),
    ("start_time_ns", "steps"),
)
# What says how to record, and when; a ring has been recorded before.
_OF_A_RECORDING = (
    *_NUMBERS,
    "activities",
    "report_input_shapes",
    "profile_memory",
    "with_stack",
    "with_flops",
    "with_modules",
    "memory_profile",
)


class CaptureRequest(Value):
    """The members of a `capture` request, as docs/concepts/on-demand.md has them."""

    activities: tuple[str, ...] = ("CPU",)
    report_input_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_flops: bool = False
    with_modules: bool = False
    duration_ns: int | None = None
    steps: int | None = None
    start_step: int | None = None
    start_step_multiple: int | None = None
    start_time_ns: int | None = None
    trace_id: str = ""
    output: str = ""
    ring_dump: bool = False
    memory_profile: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "activities", text_tuple("activities", self.activities))
        require_bools(self)
        for name, (least, most) in _NUMBERS.items():
            if getattr(self, name) is not None:
                require_int(name, getattr(self, name), least, most, hint=f"leave {name} out")
        for name in ("trace_id", "output"):
            require_text(name, getattr(self, name))
            if len(getattr(self, name)) > _LONGEST_TEXT:
                raise UsageError(f"{name} is longer than {_LONGEST_TEXT} letters")
        for one, other in _EXCLUSIVE:
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise UsageError(f"{one} and {other} exclude each other", hint="give one of them")
        if self.ring_dump:
            self._require_no_recording()

    def _require_no_recording(self) -> None:
        for name in _OF_A_RECORDING:
            if getattr(self, name) != self.defaults[name]:
                raise UsageError(
                    f"ring_dump and {name} exclude each other: the ring holds what was recorded before",
                    hint=f"leave {name} out, or record anew",
                )

    @property
    def window_ns(self) -> int:
        """How long to record, where no steps are counted."""
        return self.duration_ns or _DEFAULT_DURATION_NS

    @property
    def starts_at_step(self) -> bool:
        return any(value is not None for value in (self.steps, self.start_step, self.start_step_multiple))

    def first_step(self, current: int) -> int:
        """The step to begin with: one that has begun already cannot be recorded whole."""
        if self.start_step_multiple is not None:
            return (current // self.start_step_multiple + 1) * self.start_step_multiple
        return max(self.start_step or 0, current + 1)

    def to_json(self) -> str:
        """Only what is not the default, so that older agents understand newer commands."""
        chosen = {name: value for name, value in vars(self).items() if value != self.defaults[name]}
        return to_json(chosen)

    @classmethod
    def from_json(cls, payload: bytes) -> CaptureRequest:
        """Raises UsageError or ArgumentError, and nothing else, for whatever bytes."""
        members = _members(payload)
        unknown = sorted(set(members) - set(cls.defaults))
        if unknown:
            raise UsageError(f"this version knows no {unknown[0][:_LONGEST_TEXT]!r}", hint="leave it out")
        return cls(**members)


def _members(payload: bytes) -> dict[str, Any]:
    try:
        members = strict_json(payload.decode() or "{}")
    except ValueError as error:  # which bytes that are no UTF-8 raise, too
        raise UsageError(f"expected a JSON object, got {payload[:80]!r}: {error}") from None
    if not isinstance(members, dict):
        raise UsageError(f"expected a JSON object, got {type(members).__name__}")
    return members
