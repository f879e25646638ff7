"""Tables that fit."""

from __future__ import annotations

import pytest

from kinetograph.analysis.grid import Grid, Heading, ellipsis_for, fit, known_to, shortened

HEADINGS = (Heading("Self"), Heading("Max", rank=2), Heading("Total", rank=1), Heading("Name", True, True))


def test_plain_text_is_aligned_and_whole() -> None:
    grid = Grid(HEADINGS, [["1", "22", "3", "x" * 300], ["10", "2", "3", "y"]], "Title", ["the end"])
    lines = grid.plain().splitlines()
    assert lines[0] == "Title"
    assert lines[1] == "Self  Max  Total  Name"
    assert lines[2] == "   1   22      3  " + "x" * 300
    assert lines[3] == "  10    2      3  y"
    assert lines[4] == "the end"


@pytest.mark.parametrize(
    ("width", "columns"), [(200, [0, 1, 2, 3]), (50, [0, 2, 3]), (35, [0, 3]), (5, [0, 3])]
)
def test_a_narrow_terminal_gets_fewer_columns(width: int, columns: list[int]) -> None:
    shown, name_width = fit(HEADINGS, [8, 8, 8, 300], width)
    assert shown == columns
    assert name_width >= 1


def test_of_a_frame_the_folders_go_first() -> None:
    name = "/usr/lib/python/site-packages/package/module.py(12): function"
    assert shortened(name, 80, "...") == name
    assert shortened(name, 40, "...") == ".../package/module.py(12): function"
    assert shortened(name, 30, "...") == ".../module.py(12): function"
    assert shortened(name, 24, "...") == "module.py(12): function"
    assert shortened(name, 15, "...") == "module.py(12..."
    assert shortened("    " + name, 38, "...") == "    .../module.py(12): function"


def test_of_other_names_the_end_goes() -> None:
    assert shortened("abcdef", 5, "...") == "ab..."
    assert shortened("abc", 3, "...") == "abc"
    assert shortened("abcdef", 2, "...") == "..."
    assert shortened("void gemm<a/b>(float)", 10, "\u2026") == "void gemm<\u2026"[:9] + "\u2026"


def test_a_terminal_without_the_letters_gets_them_spelled_out() -> None:
    assert known_to("ascii", ["\xe9", "a"]) == ["\\xe9", "a"]
    assert known_to("utf-8", ["\xe9"]) == ["\xe9"]
    assert (ellipsis_for("ascii"), ellipsis_for("utf-8")) == ("...", "\u2026")
