"""Scopes timed by CUDA events, through Python, with libraries of ours in the place of NVIDIA's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fake_cuda import Play

PROGRAM = Path(__file__).parent / "programs" / "fake_cuda_events_program.py"
MILLISECOND = 900_000  # nearly: the rate of the clock is not known well in the first moments of a process


def by_name(result: dict[str, Any]) -> dict[str, Any]:
    return {event["name"]: event for event in result["timed"]}


def check_nested_scopes(result: dict[str, Any]) -> None:
    outer, inner = by_name(result)["outer"], by_name(result)["inner"]
    assert outer["scope"] == "outer"
    assert inner["scope"] == "inner"
    assert outer["device"] == inner["device"] == "CUDA"
    assert inner["ns"] >= 3 * MILLISECOND
    assert outer["ns"] >= inner["ns"] + 2 * MILLISECOND
    assert result["averages"] == {
        "outer": [outer["ns"], outer["ns"] - inner["ns"]],
        "inner": [inner["ns"], inner["ns"]],
    }
    assert any("scopes were timed by CUDA events" in note for note in result["notes"])


@pytest.mark.parametrize("state", ["CUDA", "KINETO_GPU_FALLBACK"])
@pytest.mark.parametrize("suffix", ["json", "pftrace"])
def test_asked_for_by_state_scopes_are_timed_and_cupti_is_not_touched(
    play: Play, tmp_path: Path, state: str, suffix: str
) -> None:
    result = play("asked_for_by_state", state, tmp_path / f"trace.{suffix}")
    check_nested_scopes(result)
    assert result["is_subscribed"] == 0
    assert result["categories"] == ["gpu_user_annotation", "user_annotation"]
    assert "Self CUDA time total" in result["table"]
    assert result["again"] == result["averages"]


def test_where_another_tool_owns_cupti_scopes_are_timed_instead(play: Play) -> None:
    result = play("another_tool_owns_cupti")
    check_nested_scopes(result)
    notes = "\n".join(result["notes"])
    assert "another tool" in notes
    assert "TEARDOWN_CUPTI=1" in notes
    assert "kernel" in result["again"]["categories"]
    assert result["events"] == 0


def test_scopes_are_timed_from_when_cupti_turns_out_to_be_anothers(play: Play) -> None:
    result = play("cupti_is_refused_while_recording")
    assert result["averages"].pop("before CUDA") == [0, 0]
    check_nested_scopes(result)
    assert "another tool" in "\n".join(result["notes"])
    assert result["callbacks"] == 0


def test_why_scopes_were_timed_is_told_although_a_later_session_got_cupti(play: Play) -> None:
    result = play("a_later_session_has_more_luck")
    check_nested_scopes(result)
    assert sum("another tool" in note for note in result["notes"]) == 1
    assert "kernel" not in result["categories"]
    assert "kernel" in result["later"]["categories"]
    assert "another tool" not in "\n".join(result["later"]["notes"])


def test_it_does_not_matter_who_sees_first_that_cupti_is_refused(play: Play) -> None:
    result = play("cupti_is_refused_and_a_pause_sees_it_first")
    check_nested_scopes(result)
    assert result["callbacks"] == 0


def test_while_torch_profiles_cupti_is_left_alone_although_it_would_let_us(play: Play) -> None:
    result = play("torch_is_profiling")
    check_nested_scopes(result)
    assert result["is_subscribed"] == 0
    assert "another tool" in "\n".join(result["notes"])
    assert "torch.profiler was running" in "\n".join(result["notes"])
    assert "kernel" in result["after"]["categories"]


def test_the_stream_is_that_of_the_framework_that_is_loaded(play: Play) -> None:
    result = play("streams_of_frameworks")
    assert result == {"alone": 2, "cupy": 12, "torch": 34, "broken": 2}


def test_scopes_on_a_captured_stream_are_left_out_and_counted(play: Play) -> None:
    result = play("a_stream_is_captured")
    assert list(by_name(result)) == ["timed"]
    assert "3 scopes not timed by CUDA events: their stream was being captured" in result["notes"]


def test_a_program_without_cuda_is_told_so(play: Play) -> None:
    result = play("cuda_never_appears")
    assert result["timed"] == []
    assert "did not initialise CUDA" in "\n".join(result["notes"])


def test_decorated_functions_are_timed_and_our_own_calls_are_not_recorded(play: Play) -> None:
    result = play("decorated_and_with_calls")
    assert by_name(result)["decorated"]["scope"] == "decorated"
    assert not [name for name in result["calls"] if "kinetograph/session" in name or "cuda_events.py" in name]


def test_sessions_get_what_they_asked_for_and_not_what_others_did(play: Play) -> None:
    result = play("beside_a_session_that_records_the_gpu")
    assert "kernel" in result["cupti"]["categories"]
    assert [event["scope"] for event in result["cupti"]["timed"]] == ["step"]
    assert result["events"]["categories"] == ["gpu_user_annotation", "user_annotation"]
    assert result["events"]["timed"][0]["ns"] >= MILLISECOND
    assert result["cupti"]["timed"][0]["ns"] != result["events"]["timed"][0]["ns"]


def test_a_forked_child_times_nothing_and_the_parent_goes_on(play: Play) -> None:
    result = play("forks_in_a_timed_scope")
    assert result["child"] == 0
    assert by_name(result)["parent"]["ns"] >= MILLISECOND
