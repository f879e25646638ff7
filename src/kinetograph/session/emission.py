"""`emit_nvtx`, `emit_itt`: the scopes of a program as ranges of NVTX or tasks of ITT, for other tools.

The native scope sends them itself; here is only who wants that, and for how long.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import TracebackType

from kinetograph import _native
from kinetograph.checks import require_bool
from kinetograph.errors import ArgumentError, KinetographError, NotAvailable, StateError
from kinetograph.hints import Any, ClassVar, TypeVar
from kinetograph.session.scopes import load_emission_side

__all__ = ["emit_itt", "emit_nvtx"]

# One each: who stops again, because Ctrl-C came between, takes nothing from others.
_numbers = itertools.count(1)

_EmissionT = TypeVar("_EmissionT", bound="_Emission")
_InitializeT = TypeVar("_InitializeT", bound=Callable[..., None])


def _told_by_its_class(initialize: _InitializeT) -> _InitializeT:
    """Wrong use names what was called; Python would name the class that both share."""

    def told(self: _Emission, *arguments: Any, **options: Any) -> None:
        try:
            initialize(self, *arguments, **options)
        except KinetographError:
            raise
        except TypeError as error:
            text = str(error).replace(initialize.__qualname__, type(self).__name__)
            raise ArgumentError(
                text, hint="expected are enabled, record_shapes, and with_calls by its name"
            ) from None

    told.__wrapped__ = initialize  # type: ignore[attr-defined]
    return told  # type: ignore[return-value]


class _Emission:
    _to_itt: ClassVar[bool]
    kinds = 0xFFFF_FFFF
    """Of scopes that are sent, a bit for each."""

    @_told_by_its_class
    def __init__(
        self, enabled: bool = True, record_shapes: bool = False, *, with_calls: bool = False
    ) -> None:
        require_bool("enabled", enabled, hint="False leaves the block as it is")
        require_bool("record_shapes", record_shapes)
        require_bool("with_calls", with_calls)
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.with_calls = with_calls
        self.is_on = False
        self._number = next(_numbers)

    def __enter__(self: _EmissionT) -> _EmissionT:
        self.start()
        return self

    @_native.ends_block
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        finally:  # Ctrl-C may have come between, and there is no other stop behind this one
            self.stop()

    def start(self) -> None:
        """Send the scopes that begin from now on, in all threads."""
        if not self.enabled:
            return
        if self.is_on:
            raise StateError(
                f"this {type(self).__name__} is on already", hint="make another one to nest them"
            )
        self._require_interface()
        load_emission_side()
        self.is_on = True  # first, and False last: whatever Ctrl-C leaves undone, a stop makes up for
        try:
            self._begin()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Send no more. Scopes that are open are still told to end."""
        if not self.is_on:
            return
        if self.with_calls:
            from kinetograph.session import emitted_calls

            emitted_calls.stop(self._to_itt, self._number)
        _native.stop_emission(self._number)
        if self.record_shapes:
            self._emissions_with_shapes().discard(self)
        self.is_on = False

    def _begin(self) -> None:
        _native.start_emission(self._to_itt, self._number, self.kinds)
        if not _native.emits_to(self._to_itt):  # without a tool nobody looks at shapes, or is told of calls
            return
        if self.record_shapes:
            self._emissions_with_shapes().add(self)
        if self.with_calls:
            from kinetograph.session import emitted_calls

            emitted_calls.start(self._to_itt, self._number)

    @staticmethod
    def _emissions_with_shapes() -> set[object]:
        from kinetograph.session.details import emissions_with_shapes

        return emissions_with_shapes

    def _require_interface(self) -> None:
        """Raise if this build cannot do it."""


class emit_nvtx(_Emission):  # noqa: N801  (PyTorch's name)
    """Every scope of the program is a range of NVTX within the block, in all threads.

    >>> with kg.emit_nvtx():
    ...     train()

    Nothing is recorded by this; a session beside it may. The ranges have the domain "kinetograph", the kind
    of the scope as category, and what `kg.scope(name, color=, category=, payload=)` is given. Marks and
    counters are sent, too. `record_shapes` adds the shapes of a scope's `inputs` to its name. `with_calls`
    sends the Python calls of this thread, and of threads that start within the block.
    """

    _to_itt = False

    def _require_interface(self) -> None:
        if not _native.nvtx_is_built():
            from kinetograph.session.availability import NO_NVTX

            raise NotAvailable(
                f"emit_nvtx is not available here: {NO_NVTX}",
                hint="pip install --force-reinstall kinetograph, or build it with nvidia-nvtx installed",
            )


class emit_itt(_Emission):  # noqa: N801
    """The same with tasks of ITT, for VTune and its like. A payload is metadata of the task.

    >>> with kg.emit_itt():
    ...     train()
    """

    _to_itt = True
