"""The hand-written hooks of `benchmarks/floor/hooks.c`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from benchmarks.floor import load_hooks
from benchmarks.traced import Traced, in_all_programs, monitored

hooks = load_hooks()
PYTHON_CALLS = {
    **dict.fromkeys(("PY_START", "PY_RESUME", "PY_THROW"), hooks.on_start),
    **dict.fromkeys(("PY_RETURN", "PY_YIELD", "PY_UNWIND"), hooks.on_end),
}
C_CALLS = {"CALL": hooks.on_call, "C_RETURN": hooks.on_c_end, "C_RAISE": hooks.on_c_end}


def hooked(
    install: Callable[[], None], remove: Callable[[], None]
) -> Callable[[], AbstractContextManager[None]]:
    @contextmanager
    def session() -> Iterator[None]:
        install()
        try:
            yield
        finally:
            remove()

    return session


def contenders() -> list[Traced]:
    """First those of the kind that ours is: they are measured next to it."""
    profile = in_all_programs("floor: profile hook", hooked(hooks.profile, hooks.no_profile))
    with_c_calls = hooked(hooks.profile_with_c_calls, hooks.no_profile)
    profile_c_calls = in_all_programs("floor: profile hook, C calls", with_c_calls)
    eval_frame = in_all_programs("floor: eval-frame hook", hooked(hooks.eval_frame, hooks.no_eval_frame))
    if sys.version_info < (3, 12):
        return [*eval_frame, *profile_c_calls, *profile]
    return [
        *in_all_programs("floor: sys.monitoring", lambda: monitored(PYTHON_CALLS)),
        *in_all_programs("floor: sys.monitoring, C calls", lambda: monitored(PYTHON_CALLS | C_CALLS)),
        *eval_frame,
        *profile_c_calls,
        *profile,
    ]
