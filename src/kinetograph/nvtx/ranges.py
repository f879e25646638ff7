"""What `kg.nvtx` consists of. Arguments are checked here; the calls themselves are native."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from kinetograph import _native
from kinetograph.checks import require_int, require_text, spelled
from kinetograph.errors import ArgumentError, UsageError

__all__ = [
    "Domain",
    "StringHandle",
    "domain",
    "is_available",
    "is_listening",
    "mark",
    "name_thread",
    "range",
    "range_end",
    "range_pop",
    "range_push",
    "range_start",
    "string_handle",
]

_MOST_CATEGORIES = (1 << 32) - 1
_NO_COLOR = -1
# Others who name categories of the same domain, such as PyPI's nvtx, count from 1.
_FIRST_CATEGORY = 0x4B47_0020
# What a native call takes: message or number of a registered one, domain, color, category, payload.
_Event = tuple[Any, int, int, int, Any]


class Domain:
    """A namespace of ranges, categories and strings: the part of a program that a tool shows by itself.

    >>> data = kg.nvtx.domain("data")
    >>> data.range_push("decode", category="jpeg")
    >>> data.range_pop()

    Ranges that are pushed nest within a thread and a domain. There is one object for each name.
    """

    __slots__ = ("__weakref__", "_categories", "_handle", "_numbers", "name")

    def __init__(self, name: str, handle: int, first_category: int | None = None) -> None:
        self.name = name
        self._handle = handle
        self._categories: dict[str, int] = {}
        self._numbers = itertools.count(first_category or _FIRST_CATEGORY)

    def range_push(
        self,
        message: str | StringHandle,
        color: str | int | None = None,
        category: str | int | None = None,
        payload: float | None = None,
    ) -> int:
        """Begin a range of the calling thread; the level it lies on, negative if no tool tells."""
        return _native.nvtx_push(*self._event(message, color, category, payload))

    def range_pop(self) -> int:
        """End the range that this thread has pushed last."""
        return _native.nvtx_pop(self._handle)

    def range_start(
        self,
        message: str | StringHandle,
        color: str | int | None = None,
        category: str | int | None = None,
        payload: float | None = None,
    ) -> int:
        """Begin a range that may cross others and end in another thread; `range_end` takes its number."""
        return _native.nvtx_start(*self._event(message, color, category, payload))

    def range_end(self, range_id: int) -> None:
        _native.nvtx_end(_range_id(range_id), self._handle)

    def mark(
        self,
        message: str | StringHandle,
        color: str | int | None = None,
        category: str | int | None = None,
        payload: float | None = None,
    ) -> None:
        """Something happened now."""
        _native.nvtx_mark(*self._event(message, color, category, payload))

    def range(
        self,
        message: str | StringHandle,
        color: str | int | None = None,
        category: str | int | None = None,
        payload: float | None = None,
    ) -> range:
        return range(message, color, self, category, payload)

    def string_handle(self, text: str) -> StringHandle:
        """A text that the tool keeps: to be made once, and used as a message often."""
        return StringHandle(self, text)

    def category(self, name: str) -> int:
        """The number of a category of this name, which the tool is told once."""
        known = self._categories.get(name)
        return self._new_category(name) if known is None else known

    def _new_category(self, name: str) -> int:
        require_text("category", name, hint="a name, or its number")
        # Without a lock, which a fork might leave closed: whoever comes second has a number too many.
        number = next(self._numbers)
        _native.nvtx_name_category(self._handle, number, name)
        return self._categories.setdefault(name, number)

    def _event(self, message: Any, color: Any, category: Any, payload: Any) -> _Event:
        if type(message) is not str:
            message = self._registered(message)
        return (
            message,
            self._handle,
            _NO_COLOR if color is None else _argb(color),
            0 if category is None else self._category_number(category),
            None if payload is None else _number(payload),
        )

    def _registered(self, message: Any) -> Any:
        if isinstance(message, str):
            return str(message)
        if not isinstance(message, StringHandle):
            raise ArgumentError(
                f"message: expected a string or a string handle, got {spelled(message)}"
                f" ({type(message).__name__})",
                hint="write str(value) for the message",
            )
        if message.domain is not self:
            raise UsageError(
                f"the string handle {message.text!r} belongs to {message.domain!r}, not to {self!r}",
                hint="make it by the string_handle() of the domain that it is used in",
            )
        return message._message

    def _category_number(self, category: Any) -> int:
        if isinstance(category, str):
            return self.category(category)
        return require_int("category", category, 0, _MOST_CATEGORIES, hint="a name, or its number")

    def __repr__(self) -> str:
        return f"<NVTX domain {self.name!r}>" if self.name else "<the default domain of NVTX>"


class StringHandle:
    """A message that the tool has been given before: what it costs to send is its number."""

    __slots__ = ("_message", "domain", "text")

    def __init__(self, domain: Domain, text: str) -> None:
        require_text("text", text, hint="write str(value) for the text")
        self.domain = domain
        self.text = text
        # The default domain has no strings of its own, and a tool may have none at all.
        self._message = (_native.nvtx_string(domain._handle, text) if domain._handle else 0) or text

    def __repr__(self) -> str:
        return f"<NVTX string {self.text!r} of {self.domain!r}>"


_default = Domain("", 0)
_domains: dict[str, Domain] = {"": _default}


def domain(name: str) -> Domain:
    """The domain of this name; the same object each time."""
    known = _domains.get(name) if isinstance(name, str) else None
    if known is not None:
        return known
    require_text("domain", name, hint='kg.nvtx.domain("data")')
    return _domains.setdefault(name, Domain(name, _native.nvtx_domain(name)))


def string_handle(text: str, domain: Domain | str | None = None) -> StringHandle:
    """A text to be used as a message often. Only domains other than the default one keep any."""
    return StringHandle(_domain_of(domain), text)


def is_available() -> bool:
    """Whether this build can send NVTX ranges. Whether a tool takes them says `is_listening`."""
    return _native.nvtx_is_built()


def is_listening() -> bool:
    """Whether a tool takes what is sent. The first question, or call, settles that for the process."""
    return _native.nvtx_is_listening()


def range_push(
    message: str | StringHandle,
    color: str | int | None = None,
    domain: Domain | str | None = None,
    category: str | int | None = None,
    payload: float | None = None,
) -> int:
    """Begin a range of the calling thread; the level it lies on, negative if no tool tells.

    >>> kg.nvtx.range_push("step", color="green", domain="training", category="epoch", payload=7)

    `color` is a name, "#rrggbb", or a number 0xAARRGGBB; `category` a name, or the number of one; `payload`
    an int or a float. `domain` is that of NVTX itself unless given.
    """
    if type(message) is str and color is None and domain is None and category is None and payload is None:
        return _native.nvtx_push(message)
    return _domain_of(domain).range_push(message, color, category, payload)


def range_pop(domain: Domain | str | None = None) -> int:
    """End the range that this thread has pushed last in the domain; the level it lay on."""
    return _native.nvtx_pop() if domain is None else _domain_of(domain).range_pop()


def range_start(
    message: str | StringHandle,
    color: str | int | None = None,
    domain: Domain | str | None = None,
    category: str | int | None = None,
    payload: float | None = None,
) -> int:
    """Begin a range that may cross others and end in another thread: `range_end` takes what this gives."""
    return _domain_of(domain).range_start(message, color, category, payload)


def range_end(range_id: int, domain: Domain | str | None = None) -> None:
    """End a range that `range_start` began in the same domain."""
    _domain_of(domain).range_end(range_id)


def mark(
    message: str | StringHandle,
    color: str | int | None = None,
    domain: Domain | str | None = None,
    category: str | int | None = None,
    payload: float | None = None,
) -> None:
    """Something happened now."""
    _domain_of(domain).mark(message, color, category, payload)


def name_thread(name: str) -> None:
    """Tell the tool what to call the calling thread."""
    require_text("name", name, hint="write str(value) for the name")
    _native.nvtx_name_thread(name)


class range:  # noqa: N801  (PyTorch's name)
    """A range around a block or a function.

    >>> with kg.nvtx.range("load", color="blue"):
    ...     load()
    >>> @kg.nvtx.range("decode", domain="data")
    ... def decode(image): ...
    """

    __slots__ = ("_event",)

    def __init__(
        self,
        message: str | StringHandle,
        color: str | int | None = None,
        domain: Domain | str | None = None,
        category: str | int | None = None,
        payload: float | None = None,
    ) -> None:
        self._event = _domain_of(domain)._event(message, color, category, payload)

    def __enter__(self) -> range:
        _native.nvtx_push(*self._event)
        return self

    def __exit__(self, *_error: object) -> None:
        _native.nvtx_pop(self._event[1])

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        from kinetograph.ranged import ranged

        return ranged(self, function, "kg.nvtx.range")


def _domain_of(domain_or_name: Domain | str | None) -> Domain:
    if domain_or_name is None:
        return _default
    return domain_or_name if isinstance(domain_or_name, Domain) else domain(domain_or_name)


def _argb(color: object) -> int:
    from kinetograph.nvtx.colors import argb

    return argb(color)


def _number(payload: Any) -> int | float:
    from kinetograph.ranged import payload_number

    return payload_number(payload)


def _range_id(range_id: object) -> int:
    return require_int("range_id", range_id, 0, (1 << 64) - 1, hint="pass what range_start() gave")
