"""The standard library's JSON parser and encoder without their C parts, on a document of our own."""

import importlib
import sys
from types import ModuleType


def without_c_parts() -> ModuleType:
    """A second copy of the json package, imported as if its C extension did not exist."""
    kept = {name: sys.modules.pop(name) for name in imported_json()}
    sys.modules["_json"] = None  # type: ignore[assignment]  # makes `import _json` fail
    try:
        return importlib.import_module("json")
    finally:
        for name in imported_json():
            del sys.modules[name]
        sys.modules.update(kept)


def imported_json() -> list[str]:
    return [name for name in sys.modules if name.split(".")[0] in ("json", "_json")]


json = without_c_parts()


def document() -> str:
    stations = [
        {
            "name": f"station {number}",
            "note": 'a "quoted" \\ line\nand \u00e9',
            "position": [number / 7, -number / 3],
            "open": number % 3 == 0,
            "lines": [{"id": line, "stops": list(range(line)), "next": None} for line in range(4)],
        }
        for number in range(12)
    ]
    text: str = json.dumps({"stations": stations})
    return text


TEXT = document()


def run(count: int) -> int:
    """Parse and write the document `count` times."""
    return sum(len(json.dumps(json.loads(TEXT))) for _ in range(count))
