"""Ranges that torch.compile and Inductor make: stages of a compilation, graphs, launches of Triton's kernels.

They are `torch._C._profiler._RecordFunctionFast`, which tells nobody unless torch's own profiler runs. All
who use it look it up there each time. So while sessions record torch, ours stands in its place, and makes
scopes of our own instead. An execution trace wants torch's own, as nodes, and what a range is called with
only torch knows how to tell: `HeardRange` has it do so.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from kinetograph import _native
from kinetograph.checks import spelled
from kinetograph.trace.words import RecordScope

__all__ = ["Ranges", "traces_of_nodes"]

traces_of_nodes: set[int] = set()
"""Execution traces of ours that run, by their place in the observer."""

_NAME = "_RecordFunctionFast"
# The one around all of the compilation of a frame, in which torch keeps account of it.
_COMPILATION = "_compile.compile_inner"
_ACCOUNT = {
    "function": "co_name",
    "file": "co_filename",
    "line": "co_firstlineno",
    "recompile_reason": "recompile_reason",
    "fail_reason": "fail_reason",
}
_MOST_SCOPES = 4096
_PLAIN = (str, int, float, type(None))
# What a keyword of `scope` itself would be taken for.
_OWN_KEYWORDS = frozenset({"args", "kind", "inputs"})


class Ranges:
    """In the place of torch's own from `install` to `remove`; what is missing there is `missing`.

    >>> ranges = Ranges(torch)
    >>> ranges.install(observer, with_inputs=True)
    >>> ranges.remove()
    """

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._home = getattr(torch._C, "_profiler", None)
        self._torchs: Any = getattr(self._home, _NAME, None)
        self._ours: type | None = None
        self._scopes: dict[Any, Any] = {}
        self._observer: ctypes.CDLL | None = None
        self.with_inputs = False

    @property
    def missing(self) -> str:
        """Why ranges are not recorded, if they are not."""
        if self._torchs is not None:
            return ""
        return (
            f"ranges of torch.compile are not recorded: torch {self._torch.__version__} has no "
            f"torch._C._profiler.{_NAME}"
        )

    def install(self, observer: ctypes.CDLL, *, with_inputs: bool) -> None:
        self._observer = observer
        self.with_inputs = with_inputs
        if self._torchs is None or getattr(self._home, _NAME, None) is self._ours:
            return
        # One for ever: compiled code that has seen it is compiled again for another.
        if self._ours is None:
            self._ours = _standing_for(self, self._torchs)
        setattr(self._home, _NAME, self._ours)

    def remove(self) -> None:
        """Unless somebody else has put theirs over ours: that goes on to use what it found."""
        if self._ours is not None and getattr(self._home, _NAME, None) is self._ours:
            setattr(self._home, _NAME, self._torchs)
        self._scopes.clear()

    def made(self, name: str, inputs: Sequence[Any] | None, keywords: dict[str, Any] | None) -> Any:
        """A context manager: torch's own where it is heard, for then it comes to us as well."""
        if self._is_heard():
            return self._torchs(name, inputs or (), keywords or {})
        if name.startswith(_COMPILATION):
            return _Compilation(self._torch, name)
        if traces_of_nodes or (inputs and self.with_inputs and not _is_told_elsewhere()):
            return HeardRange(self._observer, self._torchs, name, inputs or (), keywords or {})
        if inputs and self.with_inputs:
            return _scope(name, keywords or {}, inputs)
        return self._known_scope(name, keywords or {})

    def _is_heard(self) -> bool:
        """Exactly what torch's own asks: a profiler of torch, of this thread or of all."""
        active = self._torch._C._autograd._profiler_type()
        return bool(active != self._torch._C._profiler.ActiveProfilerType.NONE)

    def _known_scope(self, name: str, keywords: dict[str, Any]) -> Any:
        """Launches tell the same again and again, and a scope that has no inputs never changes."""
        key = (name, *((key, type(value), value) for key, value in keywords.items()))
        # Nothing else can be looked up, or would not live longer for being kept here.
        if not all(isinstance(value, _PLAIN) for value in keywords.values()):
            return _scope(name, keywords)
        known = self._scopes.get(key)
        if known is None:
            known = _scope(name, keywords)
            if len(self._scopes) < _MOST_SCOPES:
                self._scopes[key] = known
        return known


def _is_told_elsewhere() -> bool:
    """To a tool or to callbacks of ours, which only scopes of ours are."""
    return _native.is_emitting() or _native.is_observing()


def _scope(name: str, keywords: dict[str, Any], inputs: Sequence[Any] | None = None) -> Any:
    is_users = keywords.get("scope") == "user_scope"
    members = {str(key): value for key, value in keywords.items() if key not in _OWN_KEYWORDS}
    kind = RecordScope.USER_SCOPE if is_users else RecordScope.FUNCTION
    made = _native.scope(name, kind=kind, inputs=inputs, **members)
    # Torch runs a compiled backward pass in a copy of the context, and that pass is no task of its own.
    # Graphs of Inductor's are scopes of the user.
    return _native.run_by_operators(made)


def _standing_for(ranges: Ranges, torchs: type) -> type:
    class Standing:
        __doc__ = torchs.__doc__

        def __new__(cls, name: str, input_values: Any = None, keyword_values: Any = None) -> Any:
            # Torch's own ends the process.
            if not isinstance(name, str):
                raise TypeError(f"{_NAME} expects a name of type str, got {spelled(name)}")
            return ranges.made(name, input_values, keyword_values)

    Standing.__name__ = Standing.__qualname__ = _NAME
    return Standing


class HeardRange:
    """A range of torch's own that tells although no profiler of torch's runs. So it comes to us, too.

    Each time that it is entered is a range of torch's of its own, for it may be entered while it is open.
    """

    def __init__(
        self, observer: Any, kind: Any, name: str, inputs: Sequence[Any], keywords: dict[str, Any]
    ) -> None:
        self._observer = observer
        self._kind = kind
        plain = {key: value for key, value in keywords.items() if _is_plain(value)}
        # What torch has no type for is no error to the program: then it is told less.
        less = ((name, (), keywords), (name, inputs, plain), (name, (), plain))
        self._calls = ((name, inputs, keywords), *less)
        self._open: list[Any] = []
        kind(name, inputs, keywords)  # what torch's own would not be made with is an error here as well

    def __enter__(self) -> None:
        self._open.append(self._heard())

    def __exit__(self, *_error: object) -> None:
        # Let go of, it ends, and needs nobody to hear it: torch's profiler, had it begun this one and
        # stopped, would take a silent one for itself.
        if self._open:
            self._open.pop()

    def _heard(self) -> Any:
        # Looked up before, and made silent whatever came of it: Ctrl-C may raise wherever a call returns.
        hear_no_more = self._observer.kinetograph_torch_hear_no_more
        try:
            self._observer.kinetograph_torch_hear_ranges()
            return self._begun()
        finally:
            hear_no_more()

    def _begun(self) -> Any:
        for call in self._calls:
            begun = self._kind(*call)
            try:
                begun.__enter__()
                return begun
            except Exception:
                continue
            finally:
                del begun  # who keeps what Ctrl-C raised, as notebooks do, would keep it open
        return None


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, float)) or (isinstance(value, int) and -1 << 63 <= value < 1 << 63)


class _Compilation:
    """The range of one compilation, with what torch has found out by its end: of what function, and why."""

    def __init__(self, torch: Any, name: str) -> None:
        self._torch = torch
        made = _native.scope(name, kind=RecordScope.FUNCTION, compile_id=self._number())
        self._scope: Any = _native.run_by_operators(made)

    def __enter__(self) -> None:
        self._scope.__enter__()

    def __exit__(self, *error: object) -> None:
        self._scope._details.metadata.update(self._account())
        self._scope.__exit__(None, None, None)

    def _number(self) -> str:
        """`0/1` is the first frame, compiled for the second time."""
        try:
            return str(self._torch._guards.CompileContext.current_compile_id())
        except Exception:
            return ""

    def _account(self) -> dict[str, Any]:
        """Of the interior of torch: where that looks different, nothing more is told."""
        try:
            metrics = self._torch._dynamo.utils.get_metrics_context()._metrics
            return {ours: metrics[key] for ours, key in _ACCOUNT.items() if metrics.get(key) is not None}
        except Exception as error:
            return {"account": f"torch tells nothing of it: {spelled(error)}"}
