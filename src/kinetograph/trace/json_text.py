"""JSON for the modules that `import kinetograph` loads: the parser comes with the first text to read."""

from __future__ import annotations

from typing import Any

__all__ = ["from_json", "to_json"]


def from_json(text: str) -> Any:
    import json

    return json.loads(text)


def to_json(value: object) -> str:
    import json

    return json.dumps(value)
