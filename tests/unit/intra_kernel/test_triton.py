"""The names of the guide, and what is said where Triton is missing."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from kinetograph.errors import NotAvailable
from kinetograph.intra_kernel import triton


@pytest.mark.skipif(find_spec("triton") is not None, reason="Triton is installed")
def test_without_triton_its_names_say_what_is_missing() -> None:
    with pytest.raises(NotAvailable, match="needs Triton"):
        from kinetograph.intra_kernel.triton import Profiler  # noqa: F401


def test_names_of_the_host_need_no_triton() -> None:
    for name in set(triton.__all__) - {"Profiler", "tid"}:
        assert callable(getattr(triton, name))


def test_other_names_are_missing_in_the_usual_way() -> None:
    assert not hasattr(triton, "no_such_name")
