"""Each test of the shim meets a process in which nobody has used it yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from kinetograph import kineto
from kinetograph.errors import KinetographError
from kinetograph.kineto import control


@pytest.fixture(autouse=True)
def _fresh_shim() -> Iterator[None]:
    control._start_clean()
    yield
    with suppress(KinetographError):
        kineto.stop_trace()  # a failing test must not leave its trace running for the next one
    control._start_clean()
