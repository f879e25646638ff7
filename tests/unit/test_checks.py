"""What users pass is checked at the door, and the message survives whatever it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinetograph import checks
from kinetograph.errors import KinetographError


class WithoutRepr:
    def __repr__(self) -> str:
        raise ValueError


def test_a_value_without_a_repr_and_a_long_one_do_not_spoil_the_message() -> None:
    with pytest.raises(KinetographError, match="got <WithoutRepr without a repr>"):
        checks.require_bool("on", WithoutRepr())
    with pytest.raises(KinetographError) as caught:
        checks.require_bool("on", "x" * 10_000)
    assert len(str(caught.value)) < 400


def test_whole_numbers_of_any_type_count_and_others_do_not() -> None:
    assert checks.require_int("n", np.int32(7), 0, 9, hint="") == 7
    for wrong in (1.0, "1", None, 10, -1, True):
        with pytest.raises(KinetographError, match="n: expected"):
            checks.require_int("n", wrong, 0, 9, hint="count")


def test_a_limit_that_nobody_meant_is_not_in_the_message() -> None:
    for wrong, limits in ((0, "at least 1"), (1 << 63, "at most 9223372036854775807")):
        with pytest.raises(KinetographError, match=f"^n: expected {limits}, got"):
            checks.require_int("n", wrong, 1, (1 << 63) - 1, hint="count")
    with pytest.raises(KinetographError, match=r"^n: expected 1 to 10000, got 0"):
        checks.require_int("n", 0, 1, 10_000, hint="count")


@pytest.mark.parametrize("value", [3, b"x", "", None, "a\0b", "\ud800", object()])
def test_what_the_system_cannot_take_is_no_path(value: object) -> None:
    with pytest.raises(KinetographError, match="path: expected a path, got"):
        checks.path_text("path", value)


def test_paths_are_strings_or_path_objects() -> None:
    assert checks.path_text("path", Path("a") / "b") == "a/b"


def test_a_folder_must_exist_and_take_files(tmp_path: Path) -> None:
    checks.require_folder("path", str(tmp_path))
    with pytest.raises(KinetographError, match="path: there is no folder"):
        checks.require_folder("path", str(tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KinetographError, match=r"path: the folder '/proc' cannot be written to"):
        checks.require_folder("path", "/proc")
