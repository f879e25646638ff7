"""`scope`, `mark`, `counter`: native, with their Python side connected.

The Python side is needed only for decorators and for scopes with more than a name; it is imported by the
first of them, or by the first session, and connects itself then, so that `import kinetograph` stays cheap.
"""

from __future__ import annotations

from collections.abc import Callable

from kinetograph import _native
from kinetograph._native import counter, mark, scope
from kinetograph.errors import ArgumentError
from kinetograph.fork_locks import loading
from kinetograph.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinetograph.session.details import Details

__all__ = [
    "counter",
    "load_emission_side",
    "load_profile_side",
    "load_python_side",
    "load_together",
    "load_torch_side",
    "mark",
    "patch_torch",
    "record_function",
    "scope",
    "unpatch_torch",
]

record_function = scope


def load_python_side() -> None:
    """Sessions call this before they record, so that the import is no part of what they see."""
    with loading:
        from kinetograph import injection  # noqa: F401
        from kinetograph.session import (  # noqa: F401
            cuda,
            decorate,
            details,
            distributed,
            inside_kernels,
            native_start,
            operators,
            signal_handlers,
            thread_names,
        )
        from kinetograph.trace import event_parts, reports, tables  # noqa: F401


def load_together(load: Callable[[], object]) -> None:
    """The same for what other threads of ours load."""
    with loading:
        load()


def load_profile_side() -> None:
    """The same for what only programs need that make a profile."""
    with loading:
        from kinetograph.session import (  # noqa: F401
            cycle,
            execution_trace,
            profile_options,
            reports,
            step_tracker,
        )


def load_emission_side() -> None:
    """The same for what sends scopes to other tools."""
    with loading:
        from kinetograph.session import details, emitted, emitted_calls  # noqa: F401


def load_torch_side() -> None:
    """The same for what only programs need that use PyTorch."""
    with loading:
        from kinetograph.export import execution_trace  # noqa: F401
        from kinetograph.frameworks.torch import build, emitted, modules, operators, patches  # noqa: F401
        from kinetograph.frameworks.torch import execution_trace as nodes  # noqa: F401


def patch_torch() -> None:
    """Let ranges of `torch.profiler.record_function` and `torch.cuda.nvtx` be scopes of ours as well.

    >>> kg.patch_torch()
    >>> with kg.profile(), torch.cuda.nvtx.range("load"):
    ...     load()

    For where they do not come by themselves: without the observer of operators, and without
    `kg.nvtx.install()`. No range is ever recorded twice. Torch is not imported for that; one that is imported
    later is patched then. `kinetograph run` does this by itself. `unpatch_torch` undoes it.
    """
    load_python_side()
    from kinetograph.session import patching

    patching.patch()


def unpatch_torch() -> None:
    """Give torch its own functions back; without `patch_torch` before, nothing happens."""
    from kinetograph.session import patching

    patching.undo()


def _prepare_first(*args: Any, **options: Any) -> tuple[int, Details | None]:
    load_python_side()
    from kinetograph.session import details

    return details.prepare(*args, **options)


def _decorate_first(scope: Any, function: Any) -> Any:
    load_python_side()
    from kinetograph.session import decorate

    return decorate.decorate(scope, function)


_native.set_hook("prepare", _prepare_first)
_native.set_hook("decorate", _decorate_first)
_native.set_hook("refuse", ArgumentError)
