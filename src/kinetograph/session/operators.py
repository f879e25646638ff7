"""Whether a session records the operators and modules of a framework, and how."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Set
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from kinetograph.errors import NotAvailable
from kinetograph.session.activity import ActivityType
from kinetograph.session.scopes import load_torch_side

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kinetograph.frameworks.torch.emitted import EmittedOperators
    from kinetograph.frameworks.torch.operators import OperatorUse
    from kinetograph.session.config import ProfilerConfig

__all__ = ["Operators", "build_observer", "imported_torch"]

_IMPORTED_MEANWHILE = (
    "operators of torch are not recorded: the program imported torch while this session ran; "
    'import it before, or pass frameworks=["torch"]'
)
_RECORDED_BESIDE = (
    "operators of torch are recorded while another session watches them, and no others: the program imported "
    'torch while this session ran; import it before, or pass frameworks=["torch"]'
)


def build_observer() -> Path:
    """Where the observer for torch is kept; built if it has to be."""
    torch = imported_torch()
    from kinetograph.frameworks.torch.build import built_library

    return built_library(torch)


class Operators:
    """The operators of one session: made before it starts, so that nothing of that is recorded."""

    def __init__(self, config: ProfilerConfig, activities: Set[ActivityType]) -> None:
        self._config = config
        self._use: OperatorUse | EmittedOperators | None = None
        self._note = ""
        self._has_modules = False
        self._is_asked_for = "torch" in (config.frameworks or ())
        is_taken = config.frameworks is None
        self._is_wanted = ActivityType.CPU in activities and (self._is_asked_for or is_taken)
        self._observed_before = _times_observed()
        if not self._is_wanted:
            return
        torch = imported_torch() if self._is_asked_for else _torch_of_the_program()
        if torch is None:
            return
        self._see_modules(torch)
        try:
            self._use = _torch_use(torch, config)
        except Exception as error:
            self._go_on_without(error, torch)

    def _see_modules(self, torch: Any) -> None:
        if not self._config.names_modules:
            return
        load_torch_side()
        from kinetograph.frameworks.torch.modules import name_modules

        self._has_modules = name_modules(torch)

    def start(self) -> None:
        if self._use is None:
            return
        try:
            self._use.start()
        except Exception as error:
            self._go_on_without(error)

    def _go_on_without(self, error: Exception, torch: Any = None) -> None:
        """Whatever is wrong with them, unless they were asked for by name.

        Torch itself may still tell their names.
        """
        self._use = None
        if self._is_asked_for:
            raise error
        self._note = f"operators of torch are not recorded: {_told(error)}"
        if torch is None:
            return
        try:
            self._use = _emitted_use(torch, _told(error).partition("\n")[0])
            self._note = ""
        except Exception as other:
            self._note += f"\n{_told(other)}"

    def follow_imports(self, around: Callable[[], AbstractContextManager[object]]) -> None:
        """For a session that begins before the program does: record torch once it has been imported.

        What has to be built is built inside of `around`, which keeps that out of the recording.
        """
        if self._is_wanted and self._use is None and "torch" not in sys.modules:
            from kinetograph.session.late_import import AfterImport

            AfterImport("torch", lambda torch: self._attach(torch, around)).install()

    def _attach(self, torch: Any, around: Callable[[], AbstractContextManager[object]]) -> None:
        if self._use is not None:
            return
        self._see_modules(torch)
        with nullcontext() if _is_built(torch) else around():
            try:
                self._use = _torch_use(torch, self._config, may_build=True)
            except Exception as error:
                self._go_on_without(error, torch)
        self.start()

    def settle(self) -> None:
        """Before the session stops."""
        if self._use is not None:
            self._use.settle()

    def release(self) -> None:
        if self._use is not None:
            self._use.release()

    def notes(self) -> Iterator[tuple[str, str]]:
        if self._config.with_modules and not self._has_modules:
            yield (
                "partial",
                "with_modules: modules are those of torch, which the program had not imported, or whose "
                "Module.__call__ is no Python function here",
            )
        if self._use is not None:
            yield from (("torch", sentence) for sentence in self._use.notes())
        if self._note:
            yield "torch", self._note
        elif self._use is not None:
            return
        elif self._is_wanted and _torch_of_the_program() is not None:
            was_observed = _times_observed() != self._observed_before
            yield "torch", _RECORDED_BESIDE if was_observed else _IMPORTED_MEANWHILE
        elif self._config.with_flops:
            yield (
                "partial",
                "with_flops: FLOPs are those of operators, and the program had not imported torch",
            )


def _torch_use(torch: Any, config: ProfilerConfig, *, may_build: bool = False) -> OperatorUse:
    load_torch_side()
    from kinetograph.frameworks.torch.operators import OperatorUse

    return OperatorUse(
        torch,
        shapes=config.report_input_shapes,
        flops=config.with_flops,
        overload_names=config.experimental_config.capture_overload_names,
        modules=config.with_modules,
        may_build=may_build,
    )


def _emitted_use(torch: Any, because: str) -> EmittedOperators:
    load_torch_side()
    from kinetograph.frameworks.torch.emitted import EmittedOperators

    return EmittedOperators(torch, because)


def _times_observed() -> int:
    """How many sessions of this process have watched operators of torch, so that all others had them, too."""
    observing = sys.modules.get("kinetograph.frameworks.torch.operators")
    return 0 if observing is None else int(observing.times_observed)


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, NotAvailable) else f"{type(error).__name__}: {error}"


def _is_built(torch: Any) -> bool:
    load_torch_side()
    from kinetograph.frameworks.torch.build import is_built

    return is_built(torch)


def _torch_of_the_program() -> Any:
    """None unless it is there, as a whole: a session may begin while it is being imported."""
    torch = sys.modules.get("torch")
    spec = getattr(torch, "__spec__", None)
    is_whole = spec is not None and not getattr(spec, "_initializing", False)
    return torch if is_whole and hasattr(torch, "autograd") else None


def imported_torch(what_else: str = "operators of torch cannot be recorded") -> Any:
    from importlib import import_module

    try:
        return import_module("torch")
    except ImportError as error:
        raise NotAvailable(f"{what_else}: {error}", hint="pip install 'kinetograph[torch]'") from error
