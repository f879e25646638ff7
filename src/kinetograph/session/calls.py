"""Python calls: what to record of them, and the collectors that all sessions share.

One collector traces calls, another takes samples of stacks; each does what all sessions together want of it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence

from kinetograph import _native
from kinetograph.checks import pattern_tuple, require_bools, require_choice, require_int
from kinetograph.errors import KinetographError, NotAvailable, UsageError
from kinetograph.hints import Literal
from kinetograph.session.values import Value

__all__ = ["CallOptions", "Use", "record_calls", "release_calls"]

_ANY_DEPTH = (1 << 32) - 1
_MOST = (1 << 62) - 1
_ONLY_IN_MODE = {"min_duration_ns": "trace", "c_calls": "trace", "call_lines": "trace", "sample_hz": "sample"}


class CallOptions(Value):
    """Which Python calls to record, and how.

    >>> CallOptions(include=["mypackage"], c_calls=True)
    >>> CallOptions(exclude=["importlib", "*/site-packages/*"], min_duration_ns=10_000)

    `include` and `exclude` name modules with all that lies below them (`torch.nn`), or paths of files and
    folders (whatever has a slash or ends in `.py`); both may hold `*`. What is excluded is left out whatever
    `include` says, and from Python 3.12 on costs nothing. `c_calls` adds calls of C functions. `call_lines`
    tells the line each call was made from. `max_depth` counts calls from where the session began: functions
    that were running then are shown and not counted, and 1 adds the calls they make themselves. Samples are
    cut at that many functions from the outermost.

    Mode "sample" looks at the stacks of all threads `sample_hz` times a second instead of following each
    call: the program runs at full speed, and what is shorter than the time between two looks may go unseen.
    Mode "off" records no calls, and lets `with_stack` find the stack of each scope by looking at the frames.
    """

    mode: Literal["trace", "sample", "off"] = "trace"
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    max_depth: int | None = None
    min_duration_ns: int = 0
    c_calls: bool = False
    call_lines: bool = False
    sample_hz: int = 100

    def __post_init__(self) -> None:
        require_choice("mode", self.mode, ("trace", "sample", "off"))
        for name in ("include", "exclude"):
            object.__setattr__(self, name, pattern_tuple(name, getattr(self, name)))
        if self.max_depth is not None:
            require_int("max_depth", self.max_depth, 1, _ANY_DEPTH, hint="1 records no calls within calls")
        require_int("min_duration_ns", self.min_duration_ns, 0, _MOST, hint="nanoseconds; 0 records all")
        require_bools(self)
        require_int("sample_hz", self.sample_hz, 1, 10_000, hint="samples a second; 100 is a good begin")
        self._refuse_options_of_other_modes()

    @property
    def traced_depth(self) -> int:
        """How deep traced calls may be nested; samples are cut when they are taken."""
        return self.max_depth if self.max_depth is not None and self.mode == "trace" else _ANY_DEPTH

    def _refuse_options_of_other_modes(self) -> None:
        for name, mode in _ONLY_IN_MODE.items():
            # "off" keeps the options of tracing: one may want to switch it off for a while.
            is_other = self.mode != mode and not (self.mode == "off" and mode == "trace")
            if is_other and getattr(self, name) != self.defaults[name]:
                raise UsageError(
                    f"{name} has no meaning in mode {self.mode!r}",
                    hint=f"leave {name} out, or pass mode={mode!r}",
                )


class Use:
    """What one session wants of the collectors while it runs."""

    def __init__(
        self, calls: CallOptions | None, garbage_collection: bool, scope_stacks: bool, modules: bool
    ) -> None:
        self.calls = calls
        self.garbage_collection = garbage_collection
        self.scope_stacks = scope_stacks
        self.modules = modules
        self.process = os.getpid()
        self.traces = calls is not None and calls.mode == "trace"
        self.samples = calls is not None and calls.mode == "sample"
        self.hooks = self.traces or modules
        """Whether it needs to be told of calls, be it of modules alone."""
        self._counts_before = _native.sample_counts()
        self._missed_before = _native.missed_calls()
        self._missed = self._missed_before

    def look_around(self) -> None:
        """Before the session stops: what this thread knows of the others, which may have recorded nothing."""
        if self.hooks or self.samples:
            _native.record_other_threads(self.hooks)
        if self.hooks:
            self._missed = _native.missed_calls()

    def notes(self) -> Iterator[tuple[str, str]]:
        """What was lost, and what sampling cost, as kinds and texts of notes."""
        if self.hooks:
            yield from self._notes_on_tracing()
        if self.samples:
            yield from self._notes_on_sampling()

    def _notes_on_tracing(self) -> Iterator[tuple[str, str]]:
        taken, *_totals = self._missed
        _taken, unseen, late, ends = (b - a for a, b in zip(self._missed_before, self._missed, strict=True))
        if taken:
            where = f" in {taken} threads" if sys.version_info < (3, 12) else ""
            yield (
                "missing",
                f"another tool has taken the place of our hook{where}: calls made since then are missing",
            )
        if unseen:
            yield "missing", f"{unseen} threads were over before their calls could be recorded"
        if late:
            yield (
                "missing",
                f"{late} threads were not started by the threading module: what they called first is missing",
            )
        if ends:
            yield (
                "late_ends",
                f"{ends} calls that were open at the start ended without a sign: "
                "they seem to last until the next call of their thread",
            )

    def _notes_on_sampling(self) -> Iterator[tuple[str, str]]:
        assert self.calls is not None
        before, now = self._counts_before, _native.sample_counts()
        rounds, stacks, torn, too_deep, missed, cpu_ns = (b - a for a, b in zip(before, now, strict=True))
        yield (
            "cost",
            f"sampling used {cpu_ns / 1e6:.1f} ms of CPU in a thread of its own: "
            f"{stacks} stacks in {rounds} rounds at {self.calls.sample_hz} Hz or more",
        )
        if torn:
            yield "torn", f"{torn} stacks changed while they were read, and were left out"
        if too_deep:
            yield "too_deep", f"{too_deep} stacks had more than 10000 frames, and were left out"
        if missed:
            yield "missed", f"{missed} rounds of samples were left out: the sampler came too late for them"


# What the sessions of this process want, in the order they came.
_uses: list[Use] = []
_lock = threading.RLock()
# Held across a fork, as in low_level.py.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release)


def record_calls(
    calls: CallOptions | None, *, garbage_collection: bool, scope_stacks: bool, modules: bool = False
) -> Use | None:
    """Begin to record for one session; None if it wants nothing. `release_calls` ends it.

    `modules` are calls that are named by object (`_native.name_calls_by_object`): all of them, and no others.
    """
    if calls is None and not garbage_collection and not scope_stacks and not modules:
        return None
    use = Use(calls, garbage_collection, scope_stacks, modules)
    with _lock:
        _uses.append(use)
        try:
            _apply(use)
        except BaseException:
            _uses.remove(use)
            raise
    return use


def release_calls(use: Use | None) -> None:
    with _lock:
        if use is None:
            return
        if use in _uses:
            _uses.remove(use)
        _apply(use)  # also behind an interrupt, which may have come before this


def _apply(change: Use) -> None:
    """Let each collector that a use came to, or went from, do what all uses together want."""
    if change.hooks or change.garbage_collection or change.scope_stacks:
        _trace()
    if change.samples:
        _sample()


def _sample() -> None:
    wanted = [use.calls for use in _uses if use.calls is not None and use.samples]
    if not wanted:
        _native.stop_samples()
        return
    try:
        _native.start_samples(
            include=_together(options.include for options in wanted),
            exclude=_in_all([options.exclude for options in wanted]),
            max_depth=max(options.max_depth or _ANY_DEPTH for options in wanted),
            hz=max(options.sample_hz for options in wanted),
        )
    except RuntimeError as error:
        raise NotAvailable(f"stacks cannot be sampled here: {error}", hint="use mode='trace'") from error


def _trace() -> None:
    wanted = [use.calls for use in _uses if use.calls is not None and use.traces]
    if not wanted and not any(use.garbage_collection or use.scope_stacks or use.modules for use in _uses):
        _native.stop_calls()
        return
    try:
        _start_tracing(wanted)
    except RuntimeError as error:
        raise KinetographError(f"cannot record Python calls: {error}") from error


def _start_tracing(wanted: list[CallOptions]) -> None:
    modules = any(use.modules for use in _uses)
    # Whoever wants modules alone wants them wherever they are called.
    has_depth = all(use.traces for use in _uses if use.hooks)
    _native.start_calls(
        include=_together(options.include for options in wanted),
        exclude=_in_all([options.exclude for options in wanted]),
        max_depth=max(options.max_depth or _ANY_DEPTH for options in wanted)
        if wanted and has_depth
        else _ANY_DEPTH,
        min_duration_ns=min((options.min_duration_ns for options in wanted), default=0),
        c_calls=any(options.c_calls for options in wanted),
        call_lines=any(options.call_lines for options in wanted),
        python_calls=bool(wanted) or modules,
        garbage_collection=any(use.garbage_collection for use in _uses),
        scope_stacks=any(use.scope_stacks for use in _uses),
        functions=bool(wanted),
        objects=modules,
    )


def _together(lists: Iterable[Sequence[str]]) -> list[str]:
    """All that somebody wants; an empty list wants everything."""
    wanted: list[str] = []
    for patterns in lists:
        if not patterns:
            return []
        wanted += patterns
    return wanted


def _in_all(lists: list[Sequence[str]]) -> list[str]:
    """What nobody wants."""
    return [pattern for pattern in (lists[0] if lists else ()) if all(pattern in other for other in lists)]


def _start_clean_in_child() -> None:
    # Sessions do not survive a fork; one that a child has started before we come here does.
    _lock.release()
    mine = os.getpid()
    gone = [use for use in _uses if use.process != mine]
    _uses[:] = [use for use in _uses if use.process == mine]
    for use in gone:
        _apply(use)


os.register_at_fork(after_in_child=_start_clean_in_child)
