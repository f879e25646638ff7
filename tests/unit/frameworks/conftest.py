"""What all tests of torch need; its modules are skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def _one_cache_for_all_runs() -> Iterator[None]:
    """The observer is built once, and kept with what else is built here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(Path(__file__).parents[3] / "build" / "cache"))
        yield


@pytest.fixture(autouse=True)
def _no_threads_but_ours() -> Iterator[None]:
    """Those among which torch divides the work of an operator run operators too, as it happens to fall."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
