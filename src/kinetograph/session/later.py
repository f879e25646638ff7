"""The names that later parts bring. They exist from the start, and using one says what is missing.

This is the one table of them: a part that lands takes its lines out of here.
"""

from __future__ import annotations

from kinetograph.errors import NotAvailable
from kinetograph.hints import NoReturn

__all__ = [
    "Later",
    "register_backend",
]


class Later:
    """Stands for a function, class or module that is not here yet; calling it or a member says so."""

    def __init__(self, name: str, missing: str, *, instead: str | None = None, members: str = "") -> None:
        self.__name__ = name
        self.__doc__ = f"Not available yet: {missing}."
        self._error = f"kinetograph.{name} is not available yet: {missing}"
        self._instead = instead
        for member in members.split():
            setattr(self, member, Later(f"{name}.{member}", missing, instead=instead))

    def __call__(self, *args: object, **options: object) -> NoReturn:
        raise NotAvailable(self._error, hint=self._instead)

    def __getattr__(self, member: str) -> Later:
        # AttributeError, not NotAvailable: tools probe every object for names of their own.
        # Not self.__name__: a copy that is being made has none yet, and would look for it here.
        raise AttributeError(f"kinetograph.{vars(self).get('__name__', '?')} has no {member!r}")

    def __repr__(self) -> str:
        return f"<kinetograph.{self.__name__}: not available yet>"


register_backend = Later(
    "register_backend",
    "activity profilers written in Python come with the backend part",
    instead="kg.report_event records spans of other devices today",
)
