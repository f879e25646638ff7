"""Where the options of `kinetograph run` end."""

from __future__ import annotations

import pytest

from kinetograph.cli.program_arguments import set_program_apart


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-m", "pytest", "-q"], ["-m", "--", "pytest", "-q"]),
        (["-mpytest", "-q"], ["-m", "--", "pytest", "-q"]),
        (["-c", "-1", "-m"], ["-c", "--", "-1", "-m"]),
        (["-qcprint()", "a"], ["-q", "-c", "--", "print()", "a"]),
        (["-o", "-m", "--top", "-c", "app.py", "-m"], ["-o", "-m", "--top", "-c", "app.py", "-m"]),
        (["-om", "--top=3", "-mx"], ["-om", "--top=3", "-m", "--", "x"]),
        (["-qo", "-m", "-m", "x"], ["-qo", "-m", "-m", "--", "x"]),
        (["--quiet", "-", "-m"], ["--quiet", "-", "-m"]),
        (["--", "-m"], ["--", "-m"]),
        (["-q"], ["-q"]),
        ([], []),
    ],
)
def test_m_and_c_end_the_options(arguments: list[str], expected: list[str]) -> None:
    assert set_program_apart(arguments, {"-o", "--output", "--top"}) == expected
