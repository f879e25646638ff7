"""Tasks and marks of `kg.itt`. Arguments are checked here; the calls themselves are native."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinetograph import _native
from kinetograph.checks import require_int, require_text, spelled
from kinetograph.errors import ArgumentError

__all__ = [
    "Domain",
    "StringHandle",
    "domain",
    "mark",
    "range",
    "range_end",
    "range_pop",
    "range_push",
    "range_start",
    "string_handle",
]

# ITT has no default domain. Not that of our scopes, so that a tool tells the two apart.
_DEFAULT_DOMAIN = "python"


class Domain:
    """A namespace of tasks: the part of a program that a tool shows, or switches off, by itself.

    >>> data = kg.itt.domain("data")
    >>> data.range_push("decode")
    >>> data.range_pop()

    There is one object for each name.
    """

    __slots__ = ("__weakref__", "_made", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._made = -1

    @property
    def _handle(self) -> int:
        """Made by the first use: that is what loads the tool."""
        if self._made < 0:
            self._made = _native.itt_domain(self.name)
        return self._made

    def range_push(self, message: str | StringHandle, payload: float | None = None) -> None:
        """Begin a task of the calling thread."""
        _native.itt_begin(_text_of(message), self._handle, _number(payload))

    def range_pop(self) -> None:
        """End the task that this thread has begun last in the domain."""
        _native.itt_end(self._handle)

    def range_start(self, message: str | StringHandle, payload: float | None = None) -> int:
        """Begin a task that may cross others and end in another thread: `range_end` takes what this gives."""
        return _native.itt_begin_overlapped(_text_of(message), self._handle, _number(payload))

    def range_end(self, range_id: int) -> None:
        number = require_int("range_id", range_id, 0, (1 << 64) - 1, hint="pass what range_start() gave")
        _native.itt_end_overlapped(number, self._handle)

    def mark(self, message: str | StringHandle) -> None:
        """Something happened now."""
        _native.itt_mark(_text_of(message), self._handle)

    def range(self, message: str | StringHandle, payload: float | None = None) -> range:
        return range(message, self, payload)

    def __repr__(self) -> str:
        return f"<ITT domain {self.name!r}>"


class StringHandle:
    """A message that the tool has been given before: what it costs to send is its number."""

    __slots__ = ("_message", "text")

    def __init__(self, text: str) -> None:
        require_text("text", text, hint="write str(value) for the text")
        self.text = text
        self._message = _native.itt_string(text) or text

    def __repr__(self) -> str:
        return f"<ITT string {self.text!r}>"


_default = Domain(_DEFAULT_DOMAIN)
_domains: dict[str, Domain] = {_DEFAULT_DOMAIN: _default}


def domain(name: str) -> Domain:
    """The domain of this name; the same object each time."""
    known = _domains.get(name) if isinstance(name, str) else None
    if known is not None:
        return known
    require_text("domain", name, hint='kg.itt.domain("data")')
    return _domains.setdefault(name, Domain(name))


def string_handle(text: str) -> StringHandle:
    """A text to be used as a message often, in any domain."""
    return StringHandle(text)


def range_push(
    message: str | StringHandle, domain: Domain | str | None = None, payload: float | None = None
) -> None:
    """Begin a task of the calling thread.

    >>> kg.itt.range_push("step", domain="training", payload=7)

    `payload` is an int or a float, which the task carries as metadata. The domain is "python" unless given.
    """
    _domain_of(domain).range_push(message, payload)


def range_pop(domain: Domain | str | None = None) -> None:
    """End the task that this thread has begun last in the domain."""
    _domain_of(domain).range_pop()


def range_start(
    message: str | StringHandle, domain: Domain | str | None = None, payload: float | None = None
) -> int:
    """Begin a task that may cross others and end in another thread: `range_end` takes what this gives."""
    return _domain_of(domain).range_start(message, payload)


def range_end(range_id: int, domain: Domain | str | None = None) -> None:
    """End a task that `range_start` began in the same domain."""
    _domain_of(domain).range_end(range_id)


def mark(message: str | StringHandle, domain: Domain | str | None = None) -> None:
    """Something happened now."""
    _domain_of(domain).mark(message)


class range:  # noqa: N801  (PyTorch's name)
    """A task around a block or a function.

    >>> with kg.itt.range("load"):
    ...     load()
    """

    __slots__ = ("_domain", "_message", "_payload")

    def __init__(
        self, message: str | StringHandle, domain: Domain | str | None = None, payload: float | None = None
    ) -> None:
        self._domain = _domain_of(domain)
        self._message = _text_of(message)
        self._payload = _number(payload)

    def __enter__(self) -> range:
        _native.itt_begin(self._message, self._domain._handle, self._payload)
        return self

    def __exit__(self, *_error: object) -> None:
        self._domain.range_pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        from kinetograph.ranged import ranged

        return ranged(self, function, "kg.itt.range")


def _domain_of(domain_or_name: Domain | str | None) -> Domain:
    if domain_or_name is None:
        return _default
    return domain_or_name if isinstance(domain_or_name, Domain) else domain(domain_or_name)


def _text_of(message: Any) -> Any:
    if isinstance(message, str):
        return message
    if isinstance(message, StringHandle):
        return message._message
    raise ArgumentError(
        f"message: expected a string or a string handle, got {spelled(message)} ({type(message).__name__})",
        hint="write str(value) for the message",
    )


def _number(payload: Any) -> int | float | None:
    if payload is None:
        return None
    from kinetograph.ranged import payload_number

    return payload_number(payload)
