"""Overlapping sessions record what any of them wants; each gets only what it asked for itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kinetograph as kg
from kinetograph.session.recording import Session

ARRAY = np.zeros((2, 3), dtype="float32")
SHAPES = {"Input Dims": [[2, 3]], "Input Strides": [[3, 1]], "Input type": ["float"]}


def record_in_two(**details: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of one scope, as a session with shapes and one without have them."""
    with_shapes = Session.start(kg.ProfilerConfig(report_input_shapes=True))
    without = Session.start(kg.ProfilerConfig())
    with kg.scope("op", **details):
        pass
    return without.stop().events[0].args, with_shapes.stop().events[0].args


def test_shapes_are_only_in_the_session_that_asked_for_them() -> None:
    assert record_in_two(inputs=[ARRAY]) == ({}, SHAPES)


def test_other_arguments_are_in_both_sessions() -> None:
    without, with_shapes = record_in_two(inputs=[ARRAY], args="text", step=3)
    assert without == {"args": "text", "step": 3}
    assert with_shapes == SHAPES | without


@pytest.mark.parametrize("inputs", [None, [ARRAY]])
def test_shapes_that_the_program_gives_itself_are_in_both_sessions(inputs: list[object] | None) -> None:
    given = {"Input Dims": [[7]]}
    assert record_in_two(inputs=inputs, **given) == (given, given)


def test_events_with_shapes_have_no_flag_of_it() -> None:
    session = Session.start(kg.ProfilerConfig(report_input_shapes=True))
    with kg.scope("op", inputs=[ARRAY]):
        pass
    assert session.stop().columns["flags"].tolist() == [0]
