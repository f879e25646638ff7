"""Callbacks at the begin and end of scopes: PyTorch's RecordFunction observers, in Python.

The native scope calls `at_enter` and `at_exit` while at least one callback exists; nothing of this runs
otherwise.
"""

from __future__ import annotations

import contextvars
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence

from kinetograph import _native
from kinetograph.checks import require_bool, require_callable, spelled
from kinetograph.errors import KinetographError
from kinetograph.hints import Any
from kinetograph.session.handover import call_program
from kinetograph.session.members import members_of
from kinetograph.session.scopes import load_python_side
from kinetograph.trace.words import RecordScope

__all__ = [
    "ErrorLog",
    "RecordFunction",
    "add_global_callback",
    "add_thread_local_callback",
    "at_enter",
    "at_exit",
    "is_observing",
    "remove_callback",
]

OnEnter = Callable[["RecordFunction"], Any]
OnExit = Callable[["RecordFunction", Any], object]


class RecordFunction:
    """What a callback is told about the scope; `inputs` only if it needs them, and only at enter."""

    __slots__ = ("inputs", "name", "scope", "sequence_number", "thread_id")

    def __init__(
        self,
        name: str,
        scope: RecordScope,
        thread_id: int,
        inputs: Sequence[object] = (),
        sequence_number: int = -1,
    ) -> None:
        self.name = name
        self.scope = scope
        self.thread_id = thread_id
        self.inputs = inputs
        self.sequence_number = sequence_number

    def __repr__(self) -> str:
        return f"<RecordFunction {self.name!r} {self.scope.name} in thread {self.thread_id}>"


class _Callback:
    __slots__ = ("handle", "needs_inputs", "on_enter", "on_exit", "sampling_probability", "scopes")

    def __init__(
        self,
        on_enter: OnEnter | None,
        on_exit: OnExit | None,
        scopes: Iterable[object],
        needs_inputs: bool,
        sampling_probability: float,
    ) -> None:
        self.handle = next(_handles)
        self.on_enter = on_enter
        self.on_exit = on_exit
        self.scopes = members_of(RecordScope, scopes, what="scopes")
        self.needs_inputs = needs_inputs
        self.sampling_probability = sampling_probability

    def wants(self, scope: RecordScope) -> bool:
        if self.scopes and scope not in self.scopes:
            return False
        return self.sampling_probability >= 1.0 or _is_sampled(self.sampling_probability)


def _is_sampled(probability: float) -> bool:
    # Here, for it brings hashlib and more, and few callbacks are sampled.
    import random

    return random.random() < probability


class ErrorLog:
    """What callbacks raised while a session ran: a sentence for each. None of it reaches the program.

    >>> log = ErrorLog()
    >>> log.close()
    ['on_enter raised ValueError(3); further errors of it are not reported']
    """

    def __init__(self) -> None:
        self._sentences: dict[int, str] = {}
        with _lock:
            _error_logs.append(self)

    def close(self) -> list[str]:
        with _lock:
            if self in _error_logs:
                _error_logs.remove(self)
        return list(self._sentences.values())

    def take(self, callback: _Callback, error: BaseException) -> None:
        if callback.handle not in self._sentences:
            name = getattr(callback.on_enter or callback.on_exit, "__qualname__", "callback")
            sentence = f"{name} raised {_spelled(error)}; further errors of it are not reported"
            self._sentences[callback.handle] = sentence


def _spelled(error: BaseException) -> str:
    try:
        return repr(error)
    except BaseException:
        return type(error).__name__


class _ThreadCallbacks(threading.local):
    def __init__(self) -> None:
        self.callbacks: tuple[_Callback, ...] = ()
        self.is_calling = False
        """A callback runs: the scopes it uses are not observed, or it would call itself for ever."""


class _Calls:
    """The callbacks that saw a scope begin, and what each of them returned."""

    __slots__ = ("__weakref__", "key", "made", "thread_id")

    def __init__(self, key: object, made: list[tuple[_Callback, RecordFunction, Any]]) -> None:
        self.key = key
        self.made = made
        self.thread_id = threading.get_ident()


# One that a signal handler may take in the middle of either.
_lock = threading.RLock()
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
_error_logs: list[ErrorLog] = []
os.register_at_fork(after_in_child=_error_logs.clear)
_handles = itertools.count(1)
_global_callbacks: tuple[_Callback, ...] = ()
_thread = _ThreadCallbacks()
_alive: set[int] = set()

# The scopes that were observed when they began, innermost first, per asyncio task: (key, calls, outer).
_Observed = tuple[object, _Calls, "_Observed | None"]
_observed: contextvars.ContextVar[Any] = contextvars.ContextVar("kinetograph_observed", default=None)
# Ends that are still owed. Weak: without callbacks, those of a task or thread that is gone do not matter.
_owed: weakref.WeakSet[_Calls] = weakref.WeakSet()
# The newest of them, in order: while there are callbacks, a scope may be left where it was not entered, even
# when the task or thread that entered it is gone.
_owed_elsewhere: dict[_Calls, None] = {}
_MOST_OWED_ELSEWHERE = 10_000


def add_global_callback(
    on_enter: OnEnter | None = None,
    on_exit: OnExit | None = None,
    *,
    scopes: Iterable[object] = (),
    needs_inputs: bool = False,
    sampling_probability: float = 1.0,
) -> int:
    """Call `on_enter(fn)` and `on_exit(fn, what on_enter returned)` around scopes of all threads.

    >>> handle = kg.add_global_callback(lambda fn: print("begin", fn.name))
    >>> kg.remove_callback(handle)
    """
    global _global_callbacks
    callback = _make(on_enter, on_exit, scopes, needs_inputs, sampling_probability)
    with _lock:
        _global_callbacks = (*_global_callbacks, callback)
        _note_alive(callback)
    return callback.handle


def add_thread_local_callback(
    on_enter: OnEnter | None = None,
    on_exit: OnExit | None = None,
    *,
    scopes: Iterable[object] = (),
    needs_inputs: bool = False,
    sampling_probability: float = 1.0,
) -> int:
    """The same, for scopes of the calling thread only."""
    callback = _make(on_enter, on_exit, scopes, needs_inputs, sampling_probability)
    with _lock:
        _thread.callbacks = (*_thread.callbacks, callback)
        _note_alive(callback)
    return callback.handle


def remove_callback(handle: int) -> None:
    """Take a callback off again. Scopes it saw begin still get their end."""
    global _global_callbacks
    with _lock:
        if not isinstance(handle, int) or handle not in _alive:
            raise KinetographError(
                f"there is no callback {handle!r}", hint="pass what add_global_callback returned, once"
            )
        _global_callbacks = tuple(each for each in _global_callbacks if each.handle != handle)
        _thread.callbacks = tuple(each for each in _thread.callbacks if each.handle != handle)
        _alive.discard(
            handle
        )  # behind these, or an interrupt would leave what nobody could take off any more
        if not _alive:
            _owed_elsewhere.clear()
        _native.set_observing(is_observing())


def is_observing() -> bool:
    return bool(_alive or _owed)


def at_enter(scope: Any) -> None:
    if _thread.is_calling:
        return
    kind = RecordScope(scope._kind)
    key = _key(scope)
    calls = _Calls(key, _enter_all(scope, kind))
    outer = _observed.get()
    if calls.made:
        _owe(calls)
        _settle()
    elif _find(key, outer) is None:
        return
    # One that nobody wants is kept inside another begin of the same scope, or it would take that one's end.
    _observed.set((key, calls, outer))


def at_exit(scope: Any) -> None:
    if _thread.is_calling:
        return
    key = _key(scope)
    observed = _observed.get()
    ended = _find(key, observed)
    if ended is not None:
        _observed.set(_without(ended, observed))
    calls = _entered_elsewhere(key) if ended is None else ended[1]
    if calls is None or not _take_owed(calls):
        return
    _leave_all(calls.made)
    _settle()


def _owe(calls: _Calls) -> None:
    with _lock:
        _owed.add(calls)
        if _alive:
            _owed_elsewhere[calls] = None
        if len(_owed_elsewhere) > _MOST_OWED_ELSEWHERE:
            del _owed_elsewhere[next(iter(_owed_elsewhere))]


def _take_owed(calls: _Calls) -> bool:
    """False if somebody else has had this end."""
    with _lock:
        is_owed = calls in _owed
        _owed.discard(calls)
        _owed_elsewhere.pop(calls, None)
        return is_owed


def _key(scope: Any) -> object:
    """What a begin and its end have in common: the name, as in the recorder, unless the scope has details."""
    return scope.name if scope._details is None else scope


def _entered_elsewhere(key: object) -> _Calls | None:
    """The last begin of this scope in another context, rather of this thread than of another.

    One that began before there was a callback has none of its own: it may take the end of another of its name
    then, which that one does not get again.
    """
    with _lock:
        begun = [calls for calls in _owed_elsewhere if calls.key == key]
    here = [calls for calls in begun if calls.thread_id == threading.get_ident()]
    candidates = here or begun
    return candidates[-1] if candidates else None


def _settle() -> None:
    """After the last callback was removed, maybe by itself, scopes call us until no end is owed any more."""
    if not _alive:
        with _lock:
            _native.set_observing(is_observing())


def _find(key: object, observed: _Observed | None) -> _Observed | None:
    """The innermost begin of this scope."""
    while observed is not None and observed[0] != key:
        observed = observed[2]
    return observed


def _without(ended: _Observed, observed: _Observed) -> _Observed | None:
    above = []
    while observed is not ended:
        above.append(observed)
        assert observed[2] is not None
        observed = observed[2]
    rest = ended[2]
    for key, calls, _outer in reversed(above):
        rest = (key, calls, rest)
    return rest


def _make(
    on_enter: OnEnter | None,
    on_exit: OnExit | None,
    scopes: Iterable[object],
    needs_inputs: bool,
    probability: float,
) -> _Callback:
    if on_enter is None and on_exit is None:
        raise KinetographError(
            "a callback needs on_enter, on_exit or both", hint="pass a function of one argument"
        )
    for name, function in (("on_enter", on_enter), ("on_exit", on_exit)):
        if function is not None:
            require_callable(name, function, hint=f"leave {name} out if nothing is to be called")
    require_bool("needs_inputs", needs_inputs)
    if not isinstance(probability, (int, float)) or not 0.0 <= probability <= 1.0:
        raise KinetographError(
            f"sampling_probability: expected 0 to 1, got {spelled(probability)}", hint="1.0 is every scope"
        )
    return _Callback(on_enter, on_exit, scopes, needs_inputs, probability)


def _note_alive(callback: _Callback) -> None:
    _alive.add(callback.handle)
    _native.set_observing(True)


def _current() -> tuple[_Callback, ...]:
    mine = tuple(callback for callback in _thread.callbacks if callback.handle in _alive)
    return _global_callbacks + mine


def _enter_all(scope: Any, kind: RecordScope) -> list[tuple[_Callback, RecordFunction, Any]]:
    """If the program is interrupted meanwhile the scope does not begin: who was told is told its end."""
    made: list[tuple[_Callback, RecordFunction, Any]] = []
    try:
        for callback in _current():
            if callback.wants(kind):
                made.append(_enter(callback, scope, kind))
    except BaseException:
        _leave_all(made)
        raise
    return made


def _leave_all(made: list[tuple[_Callback, RecordFunction, Any]]) -> None:
    """Who was told last of the begin comes first; nobody is left out, even if the program is interrupted."""
    while made:
        callback, function, context = made.pop()
        try:
            if callback.on_exit is not None:
                _call(callback, callback.on_exit, function, context)
        except BaseException:
            _leave_all(made)
            raise


def _enter(callback: _Callback, scope: Any, kind: RecordScope) -> tuple[_Callback, RecordFunction, Any]:
    details = scope._details
    inputs = details.inputs or () if callback.needs_inputs and details is not None else ()
    function = RecordFunction(scope.name, kind, threading.get_native_id(), inputs)
    context = None if callback.on_enter is None else _call(callback, callback.on_enter, function)
    # The inputs belong to the program: not held until the scope ends.
    without_inputs = RecordFunction(function.name, kind, function.thread_id) if inputs else function
    return callback, without_inputs, context


def _call(callback: _Callback, function: Callable[..., Any], *args: Any) -> Any:
    _thread.is_calling = True
    try:
        return call_program(function, *args)
    except BaseException as error:
        # Here, for few callbacks fail; and under the lock that a fork waits for.
        load_python_side()
        from kinetograph.session.signal_handlers import is_of_a_signal_handler

        if is_of_a_signal_handler(error):
            raise
        for log in tuple(_error_logs):
            log.take(callback, error)
        return None
    finally:
        _thread.is_calling = False


_native.set_hook("observe_enter", at_enter)
_native.set_hook("observe_exit", at_exit)
