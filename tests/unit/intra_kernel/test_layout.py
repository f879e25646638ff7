"""Front ends in Python write what the decoder reads."""

from __future__ import annotations

import re
from pathlib import Path

from kinetograph.intra_kernel import layout

HEADER = Path(__file__).parents[3] / "native" / "intra_kernel" / "layout.h"


def test_numbers_are_those_of_the_header() -> None:
    defined = re.findall(r"^#define KG_(\w+) (0x[0-9A-F]+|\d+)u", HEADER.read_text(), flags=re.MULTILINE)
    assert {name: int(value, 0) for name, value in defined} == {
        name: getattr(layout, name) for name in layout.__all__
    }
