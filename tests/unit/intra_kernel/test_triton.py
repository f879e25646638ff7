"""The names of the intra-kernel part exist and say that it is not here."""

from __future__ import annotations

import pytest

from kinetograph.errors import NotAvailable
from kinetograph.intra_kernel import triton


def test_importing_a_name_says_what_is_missing() -> None:
    with pytest.raises(NotAvailable, match="comes with the intra-kernel part"):
        from kinetograph.intra_kernel.triton import Profiler  # noqa: F401


def test_other_names_are_missing_in_the_usual_way() -> None:
    assert not hasattr(triton, "no_such_name")
