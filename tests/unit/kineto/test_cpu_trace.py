"""Host activities that callers time themselves."""

from __future__ import annotations

import pytest

from kinetograph import kineto
from kinetograph.errors import KinetographError
from kinetograph.kineto import ActivityType, DeviceAndResource, TraceWrapper

PLACE = DeviceAndResource(10, 20)


def test_an_activity_keeps_what_it_was_given() -> None:
    activity = TraceWrapper(0, "ops").add_cpu_activity("mm", ActivityType.CPU_OP, PLACE, 7, 100, 250)
    assert (activity.name, activity.type, activity.place) == ("mm", ActivityType.CPU_OP, PLACE)
    assert (activity.correlation_id, activity.start_ns, activity.duration_ns) == (7, 100, 150)


def test_an_instant_has_no_end_and_no_span_ends_before_it_begins() -> None:
    wrapper = TraceWrapper(0, "ops")
    instant = wrapper.add_cpu_activity("[memory]", ActivityType.CPU_INSTANT_EVENT, PLACE, 0, 100, 250)
    backwards = wrapper.add_cpu_activity("mm", ActivityType.CPU_OP, PLACE, 0, 100, 99)
    assert (instant.duration_ns, backwards.duration_ns) == (0, 0)


def test_a_span_longer_than_an_int64_of_nanoseconds_is_refused_when_it_comes() -> None:
    wrapper = TraceWrapper(0, "ops")
    with pytest.raises(KinetographError, match="than an int64 holds"):
        wrapper.add_cpu_activity("mm", ActivityType.CPU_OP, PLACE, 0, -(1 << 63), (1 << 63) - 1)
    longest = wrapper.add_cpu_activity("mm", ActivityType.CPU_OP, PLACE, 0, 0, (1 << 63) - 1)
    assert longest.duration_ns == (1 << 63) - 1


@pytest.mark.filterwarnings("ignore:no trace is running")
def test_a_wrapper_is_true_until_it_has_handed_over_its_trace() -> None:
    wrapper = TraceWrapper(0, "ops")
    assert wrapper
    wrapper.transfer_cpu_trace(10)
    assert not wrapper
    with pytest.raises(KinetographError, match="handed over its trace already"):
        wrapper.add_cpu_activity("late", ActivityType.CPU_OP, PLACE, 0, 1, 2)
    with pytest.raises(KinetographError, match="handed over its trace already"):
        wrapper.transfer_cpu_trace(11)


def test_handing_over_without_a_running_trace_says_what_is_lost() -> None:
    wrapper = TraceWrapper(0, "ops")
    wrapper.add_cpu_activity("mm", ActivityType.CPU_OP, PLACE, 0, 1, 2)
    with pytest.warns(RuntimeWarning, match="no trace is running: 1 activities are dropped"):
        wrapper.transfer_cpu_trace(10)


def test_metadata_is_json_text_or_quoted() -> None:
    activity = TraceWrapper(0, "ops").add_cpu_activity("mm", ActivityType.CPU_OP, PLACE, 0, 1, 2)
    kineto.add_metadata(activity, "Input Dims", "[[2, 3]]")
    kineto.add_metadata(activity, "note", 'say "hi"', quote=True)
    assert activity.metadata == {"Input Dims": "[[2, 3]]", "note": '"say \\"hi\\""'}


def test_metadata_under_a_key_that_files_use_themselves_is_marked_as_the_programs_own() -> None:
    activity = TraceWrapper(0, "ops").add_cpu_activity("mm", ActivityType.CPU_OP, PLACE, 0, 1, 2)
    kineto.add_metadata(activity, "Ev Idx", "2")
    assert activity.metadata == {"user.Ev Idx": "2"}


@pytest.mark.parametrize(
    "text", ["no json", "", '"open', "[1,]", "NaN", "[" * 129 + "]" * 129, "[" * 100_000 + "]" * 100_000]
)
def test_metadata_that_would_break_the_file_is_refused(text: str) -> None:
    activity = TraceWrapper(0, "ops").add_cpu_activity("mm", ActivityType.CPU_OP, PLACE, 0, 1, 2)
    with pytest.raises(KinetographError, match="key: expected JSON text"):
        kineto.add_metadata(activity, "key", text)
    with pytest.raises(KinetographError, match="key: expected JSON text"):
        kineto.add_metadata_json("key", text)


def test_metadata_as_deep_as_a_file_can_hold_is_taken() -> None:
    activity = TraceWrapper(0, "ops").add_cpu_activity("mm", ActivityType.CPU_OP, PLACE, 0, 1, 2)
    kineto.add_metadata(activity, "key", "[" * 128 + "]" * 128)


def test_an_unknown_activity_type_is_refused() -> None:
    with pytest.raises(KinetographError, match="activity_type: expected a member of ActivityType, got 77"):
        TraceWrapper(0, "ops").add_cpu_activity("mm", 77, PLACE, 0, 1, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (0, 3, "name: expected a string, got 3"),
        (2, 3, "device_and_resource: expected two numbers, got 3"),
        (2, (1, 2, 3), "device_and_resource: expected two numbers"),
        (2, ("x", 1), "device: expected a whole number, got 'x'"),
        (3, "c", "correlation_id: expected a whole number"),
        (3, 1 << 70, "correlation_id: expected at most 9223372036854775807"),
        (4, 1.5, "start_ns: expected a whole number"),
        (5, None, "end_ns: expected a whole number"),
    ],
)
def test_a_wrong_value_is_told_when_it_comes_and_not_when_the_trace_ends(
    position: int, value: object, message: str
) -> None:
    arguments: list[object] = ["mm", ActivityType.CPU_OP, PLACE, 0, 100, 250]
    arguments[position] = value
    with pytest.raises(KinetographError, match=message):
        TraceWrapper(0, "ops").add_cpu_activity(*arguments)  # type: ignore[arg-type]


def test_a_wrong_end_leaves_the_wrapper_as_it_was() -> None:
    wrapper = TraceWrapper(0, "ops")
    with pytest.raises(KinetographError, match="end_ns: expected a whole number"):
        wrapper.transfer_cpu_trace("x")  # type: ignore[arg-type]
    assert wrapper


def test_metadata_of_an_activity_needs_a_key_of_text() -> None:
    activity = TraceWrapper(0, "ops").add_cpu_activity("mm", ActivityType.CPU_OP, PLACE, 0, 1, 2)
    with pytest.raises(KinetographError, match="key: expected a string, got 3"):
        kineto.add_metadata(activity, 3, "1")  # type: ignore[arg-type]
    with pytest.raises(KinetographError, match="activity: expected CpuActivity, got 3"):
        kineto.add_metadata(3, "a", "1")  # type: ignore[arg-type]
