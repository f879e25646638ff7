"""Records of kernels find the launch that made them and the host's time, within the error that is stated."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from judges import needs_judges, perfetto_answers
from kinetograph import _native
from kinetograph.analysis.task_times import task_times
from kinetograph.cli import main
from kinetograph.trace import EventKind, Trace, load
from sample_traces import NOW_NS, parsed_contents

from synthetic import STEP_NS, Buffer, Device, inside, kernels_by_launch, stated_error_ns  # isort: skip


def check(device: Device, trace: Trace, launches: int) -> int:
    """Every record under the kernel that made it, where it was; gives the error that is stated."""
    kernels, events = kernels_by_launch(trace), inside(trace)
    error_ns = stated_error_ns(trace)
    assert len(kernels) == launches
    assert len(events) == launches * device.blocks * 2
    assert set(Counter(event.args["launch"] for event in events).values()) == {device.blocks * 2}
    for event in events:
        kernel = kernels[event.args["launch"]]
        assert kernel.start_ns <= event.args["payload"] + device.noise_ns
        assert event.args["payload"] <= kernel.end_ns + device.noise_ns
        assert event.start_ns >= kernel.start_ns - error_ns
        assert event.end_ns <= kernel.end_ns + error_ns
        assert abs(event.start_ns - event.args["payload"]) <= error_ns + device.noise_ns
    return error_ns


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    offset_ns=st.sampled_from([0, -7_000_000, 1_700_000_000_000_000_000 - NOW_NS, 3 * 10**15]),
    drift=st.floats(-50e-6, 50e-6),
    gap_ns=st.sampled_from([0, 100, 3_000, 1_000_000, 60_000_000]),
    noise_ns=st.sampled_from([0, 150]),
    is_measured=st.booleans(),
)
def test_every_launch_is_found_whatever_the_clocks_do(
    seed: int, offset_ns: int, drift: float, gap_ns: int, noise_ns: int, is_measured: bool
) -> None:
    device = Device(offset_ns, drift, noise_ns, seed=seed)
    at_ns = NOW_NS
    for number in range(40):
        at_ns = device.launch(at_ns + gap_ns + number * 7 + 500)
    trace = device.join(*[at_ns][: int(is_measured)])
    assert check(device, trace, 40) < 1_500
    assert not [note for note in trace.notes if note.kind != "clock" or is_measured]


def test_ends_that_may_be_too_early_are_told() -> None:
    """Of a kernel of five seconds: the clocks wrap after two, and the second range has no start behind it."""
    device = Device()
    at_ns = device.launch(NOW_NS, length_ns=1_000_000_000)
    assert not [note for note in device.join().notes if "early" in note.text]
    device = Device()
    at_ns = device.launch(at_ns, length_ns=5_000_000_000)
    [note] = [note for note in device.join().notes if "early" in note.text]
    assert note.kind == "clock"
    assert note.text.startswith(f"{2 * device.blocks} ends of ranges may be seconds too early")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), gap_ns=st.sampled_from([0, 300]))
def test_short_kernels_one_behind_the_other_are_told_apart(seed: int, gap_ns: int) -> None:
    """As in the replay of a graph: they are closer to each other than the calibration is to the truth."""
    device = Device(seed=seed)
    for block in range(device.blocks):
        device.run_block(block, NOW_NS - 30_000_000, 500)  # before the session
    at_ns = NOW_NS
    for _ in range(40):
        at_ns = device.launch(at_ns + gap_ns, length_ns=500)
    trace = device.join(at_ns + 100_000)
    assert check(device, trace, 40) < 1_500
    for event in inside(trace):
        assert abs(event.duration_ns - 245) < 60
    assert trace.metadata["intra_kernel_clock"][0]["source"] == "kernels"


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), off_ns=st.integers(-2_400, 2_400))
def test_pairs_of_short_kernels_are_told_apart_however_far_off_the_calibration_is(
    seed: int, off_ns: int
) -> None:
    """As in the replays of a graph with two of them: one begins where the other ends."""
    device = Device(seed=seed, noise_ns=30, margins_ns=(400, 430), blocks=16)
    at_ns = NOW_NS
    for number in range(40):
        at_ns = device.launch(at_ns + (0 if number % 2 else 12_000), length_ns=200)
    trace = device.join(at_ns + 100_000, off_ns=off_ns, error_ns=2_500)
    assert check(device, trace, 40) < 1_000
    assert trace.metadata["intra_kernel_clock"][0]["source"] == "kernels"


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    off_ns=st.integers(-600, 600),
    drift=st.floats(-20e-6, 20e-6),
    apart_ns=st.sampled_from([2_000_000, 10_000_000, 60_000_000]),
    is_measured_twice=st.booleans(),
)
def test_pairs_of_short_kernels_are_told_apart_over_seconds(
    seed: int, off_ns: int, drift: float, apart_ns: int, is_measured_twice: bool
) -> None:
    """The clocks drift by more between two pairs than lies between the kernels of one."""
    device = Device(seed=seed, drift=drift, margins_ns=(400, 600))
    at_ns = NOW_NS
    for number in range(60):
        at_ns = device.launch(NOW_NS + number * apart_ns, length_ns=200)
        at_ns = device.launch(at_ns, length_ns=200)
    measured_ns = [NOW_NS - 1_000_000][: int(is_measured_twice)]
    trace = device.join(*measured_ns, at_ns + 100_000, off_ns=off_ns, error_ns=2_500)
    assert check(device, trace, 120) < 1_000


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), off_ns=st.integers(-2_400, 2_400))
def test_neighbours_that_record_nothing_are_known_by_those_who_have_none(seed: int, off_ns: int) -> None:
    device = Device(seed=seed)
    at_ns = NOW_NS
    for number in range(24):
        at_ns = device.launch(at_ns + 12_000 + number * 7, length_ns=200)
        if number % 6:
            at_ns = device.launch(at_ns, length_ns=200, is_recorded=False)
    trace = device.join(at_ns + 100_000, off_ns=off_ns, error_ns=2_500)
    assert check(device, trace, 24) < 1_500


def test_what_may_as_well_be_of_a_neighbour_that_records_nothing_is_told() -> None:
    device = Device()
    at_ns = NOW_NS
    for _ in range(20):
        at_ns = device.launch(at_ns + 12_000, length_ns=200)
        at_ns = device.launch(at_ns, length_ns=200, is_recorded=False)
    trace = device.join(at_ns + 100_000, off_ns=1_500, error_ns=2_500)
    assert trace.metadata["intra_kernel_clock"][0]["source"] == "calibration"
    [note] = trace.notes
    assert note.text.startswith("80 blocks on GPU 0 may belong to another launch")
    for event in inside(trace):
        assert abs(event.start_ns - event.args["payload"]) <= stated_error_ns(trace)


def test_thousands_of_kernels_back_to_back_are_told_apart_by_where_they_end() -> None:
    """Nearly all of them would suit the kernel before their own as well."""
    device = Device(seed=1, blocks=1, buffer=Buffer(10_000))
    at_ns = NOW_NS
    for _ in range(10_000):
        at_ns = device.launch(at_ns, length_ns=200)
    trace = device.join(at_ns + 100_000)
    assert check(device, trace, 10_000) < 500


def test_where_the_first_kernels_are_missing_launches_are_not_moved_to_their_neighbours() -> None:
    """As where a session begins while the device is busy: CUPTI is silent on what was launched before."""
    device = Device(margins_ns=(400, 430))
    at_ns = NOW_NS
    for number in range(20):
        at_ns = device.launch(at_ns, length_ns=200, is_told=number > 0)
    trace = device.join(at_ns + 100_000, off_ns=200, error_ns=2_500)
    assert len(inside(trace)) >= 19 * device.blocks * 2
    for event in inside(trace):
        assert abs(event.start_ns - event.args["payload"]) <= stated_error_ns(trace)


def test_a_thousand_launches_over_a_minute_are_placed_within_a_microsecond() -> None:
    device = Device(drift=12e-6, noise_ns=100)
    for number in range(1000):
        device.launch(NOW_NS + number * 60_000_000)
    trace = device.join(NOW_NS + 61 * 10**9)
    assert check(device, trace, 1000) < 1_000
    assert not trace.notes
    [clock] = trace.metadata["intra_kernel_clock"]
    assert clock["source"] == "kernels"
    # It says how the offset changes with the globaltimer.
    assert clock["drift_ppm"] == pytest.approx(12, abs=0.5)


@pytest.mark.parametrize("length_ns", [200, 600, 1_500, 2_200, 3_900])
@pytest.mark.parametrize("with_a_long_one", [False, True])
def test_kernels_too_short_to_tell_the_rate_of_a_clock_have_that_of_others(
    length_ns: int, with_a_long_one: bool
) -> None:
    device = Device(noise_ns=0)
    at_ns = device.launch(NOW_NS, 50_000) if with_a_long_one else NOW_NS
    for number in range(30):
        at_ns = device.launch(at_ns + 3_000 + number * 7, length_ns)
    trace = device.join(at_ns)
    check(device, trace, device.launches)
    for event in inside(trace)[-8:]:
        assert event.duration_ns == pytest.approx(length_ns / 2, rel=0.03, abs=STEP_NS)


def test_one_short_launch_tells_the_rate_of_its_clock_by_all_its_blocks() -> None:
    device = Device(noise_ns=0, blocks=200)
    device.launch(NOW_NS, 900)
    alone = Trace(_native.decode_intra_kernel(device.buffer.contents()[0], ["load", "dot"]))
    for trace in (alone, device.join()):
        for event in inside(trace):
            assert event.duration_ns == pytest.approx(450, rel=0.02, abs=11)


def test_launches_that_are_all_alike_are_matched_from_the_last_one_and_that_is_said() -> None:
    device = Device()
    for number in range(100):
        device.launch(NOW_NS + number * 60_000_000)
    trace = device.join()
    check(device, trace, 100)
    assert any("taken for the last kernel" in note.text for note in trace.notes)


def test_kernels_of_the_same_grid_that_record_nothing_are_left_alone() -> None:
    device = Device()
    at_ns = NOW_NS
    for number in range(30):
        at_ns = device.launch(at_ns + 2_000, is_recorded=number % 3 == 0)
    trace = device.join(NOW_NS + 30_000_000)
    launched = [event.correlation_id for event in kernels_by_launch(trace).values()]
    assert sorted(launched) == [number + 1 for number in range(0, 30, 3)]
    check(device, trace, 10)


def test_kernels_of_two_streams_that_overlap_are_told_apart() -> None:
    device = Device(noise_ns=0)
    for number in range(20):
        begin_ns = NOW_NS + number * 100_000
        device.launch(begin_ns, 8_000, stream=7)
        device.launch(begin_ns + 3_000, 8_000, stream=8)
    trace = device.join(NOW_NS + 30_000_000)
    check(device, trace, 40)
    assert not trace.notes


def test_kernels_that_run_side_by_side_share_the_blocks_and_that_is_said() -> None:
    device = Device(noise_ns=0)
    for number in range(20):
        begin_ns = NOW_NS + number * 100_000
        for stream in (7, 8):
            device.launch(begin_ns, 8_000, stream=stream)
        device.launch(begin_ns + 50_000)
    trace = device.join(NOW_NS + 30_000_000)
    check(device, trace, 60)
    assert any("may belong to another launch" in note.text for note in trace.notes)


def test_what_was_recorded_before_and_after_the_session_is_no_part_of_it() -> None:
    device = Device()
    for number in range(30):
        device.launch(NOW_NS + number * 1_000_000)
    device.trace.native.sort()
    before_and_after = Trace()
    native = before_and_after.native
    native.name_track(0, 7, "stream 7 ", 7, device_type=1, device_index=0)
    for event in list(device.trace.events)[10:20]:
        native.append(
            event.name,
            "kernel",
            event.kind,
            event.start_ns,
            event.duration_ns,
            0,
            7,
            correlation=event.correlation_id,
            args_json='{"grid": [4, 1, 1]}',
        )
    native.window = (NOW_NS + 9_500_000, NOW_NS + 19_500_000)
    device.trace = before_and_after
    trace = device.join(NOW_NS + 30_000_000)
    check(device, trace, 10)
    assert not trace.notes


def test_records_that_no_kernel_can_have_made_are_counted_and_left_out() -> None:
    device = Device()
    for number in range(10):
        device.launch(NOW_NS + number * 1_000_000)
    lost, device.trace = device.trace, Trace()
    device.trace.native.name_track(0, 7, "stream 7 ", 7, device_type=1, device_index=0)
    for event in list(lost.events)[:9]:
        device._tell(event.correlation_id - 1, event.start_ns, event.end_ns, 7)
    trace = device.join(NOW_NS + 30_000_000)
    check(device, trace, 9)
    [note] = trace.notes
    assert note.text.startswith("4 blocks on GPU 0 recorded something")


def test_without_kernels_a_calibration_gives_the_time_and_its_error() -> None:
    device = Device(drift=5e-6)
    for number in range(3):
        device.launch(NOW_NS + number * 100_000)
    device.trace = Trace()
    trace = device.join(NOW_NS + 30_000_000)
    [clock] = trace.metadata["intra_kernel_clock"]
    assert clock["source"] == "calibration"
    assert len(inside(trace)) == 24
    for event in inside(trace):
        assert abs(event.start_ns - event.args["payload"]) <= clock["error_ns"]
    assert [process.name for process in trace.processes] == ["kernel of 4 blocks"] * 3


def test_calibrations_before_and_after_tell_the_rate() -> None:
    device = Device(drift=30e-6)
    for number in range(5):
        device.launch(NOW_NS + number * 1_000_000_000)
    device.trace = Trace()
    trace = device.join(NOW_NS - 1_000_000_000, NOW_NS + 5_000_000_000)
    [clock] = trace.metadata["intra_kernel_clock"]
    assert clock["source"] == "calibration"
    assert clock["error_ns"] < 10_000
    for event in inside(trace):
        assert abs(event.start_ns - event.args["payload"]) <= clock["error_ns"]


def test_without_anything_to_go_by_that_is_said() -> None:
    device = Device()
    device.launch(NOW_NS)
    device.trace = Trace()
    trace = device.join()
    assert len(inside(trace)) == 8
    assert "error_ns" not in trace.metadata["intra_kernel_clock"][0]
    assert "nothing tells" in trace.notes[0].text


def test_devices_have_clocks_of_their_own() -> None:
    first, second = Device(offset_ns=5_000), Device(offset_ns=-(10**12), index=1, seed=1)
    second.trace = first.trace
    for number in range(10):
        first.launch(NOW_NS + number * 50_000, stream=7)
    for number in range(10):
        second.launch(NOW_NS + number * 50_000, stream=9)
    first.trace.native.sort()
    buffers = [first.buffer.contents(), second.buffer.contents(device=1)]
    _native.join_intra_kernel(first.trace.native, buffers, [])
    assert len(kernels_by_launch(first.trace)) == 20
    clocks = first.trace.metadata["intra_kernel_clock"]
    assert [clock["device"] for clock in clocks] == [0, 1]
    for event in inside(first.trace):
        assert abs(event.start_ns - event.args["payload"]) < 1_500
        assert event.device_index in (0, 1)


def test_a_launch_has_a_group_with_a_track_for_each_sm_and_block() -> None:
    device = Device()
    for number in range(2):
        device.launch(NOW_NS + number * 50_000)
    trace = device.join()
    groups = [process for process in trace.processes if process.labels]
    assert [(group.name, group.labels) for group in groups] == [
        ("matmul", "GPU 0 stream 7, launch 0"),
        ("matmul", "GPU 0 stream 7, launch 1"),
    ]
    tracks = [track.name for track in trace.tracks if track.process == groups[1]]
    # Perfetto takes ids of 31 bits.
    assert all(0 < int(track.tid) < 1 << 31 for track in trace.tracks)
    assert tracks == [f"SM {block} block {block}" for block in range(4)]


def test_many_launches_share_a_group_with_few_tracks() -> None:
    device = Device()
    for number in range(70):
        device.launch(NOW_NS + number * 50_000)
    trace = device.join()
    assert [process.labels for process in trace.processes if process.labels] == [
        "GPU 0 stream 7, all launches"
    ]
    assert [track.name for track in trace.tracks if track.name.startswith("SM")] == [
        f"SM {block}" for block in range(4)
    ]
    check(device, trace, 70)


@pytest.mark.parametrize("suffix", [".json", ".pftrace"])
def test_the_file_gives_back_what_was_joined(tmp_path: Path, suffix: str) -> None:
    device = Device()
    device.trace.native.name_track(1, 1, "main", 1)
    device.trace.native.append(
        "cudaLaunchKernel", "cuda_runtime", EventKind.SPAN, NOW_NS - 900, 500, 1, 1, correlation=1
    )
    for number in range(3):
        device.launch(NOW_NS + number * 50_000)
    trace = device.join()
    first = min((event for event in inside(trace)), key=lambda event: event.start_ns)
    assert first.correlation_id == 1
    assert sum(event.correlation_id == 1 for event in inside(trace)) == 1
    path = tmp_path / f"trace{suffix}"
    trace.save(path)
    again = load(path)
    check(device, again, 3)
    assert parsed_contents(again)["processes"] == parsed_contents(trace)["processes"]
    assert parsed_contents(again)["tracks"] == parsed_contents(trace)["tracks"]


def test_buffers_that_hold_nothing_or_nonsense_leave_the_trace_as_it_was() -> None:
    device = Device()
    device.launch(NOW_NS)
    device.trace.native.sort()
    before = len(device.trace)
    _native.join_intra_kernel(device.trace.native, [Buffer(4).contents()], [])
    assert len(device.trace) == before
    assert not device.trace.notes
    _native.join_intra_kernel(device.trace.native, [(b"\x07" * 1000, [], 0), (b"", [], 0)], [])
    assert len(device.trace) == before
    assert [note.kind for note in device.trace.notes] == ["damaged"]


def test_ranks_that_are_merged_keep_their_launches_apart(tmp_path: Path) -> None:
    paths = []
    for rank, offset_ns in enumerate((5_000, -(10**12))):
        device = Device(offset_ns=offset_ns, seed=rank)
        for number in range(3):
            device.launch(NOW_NS + number * 50_000)
        trace = device.join()
        trace.metadata["distributedInfo"] = {"rank": rank, "world_size": 2}
        paths.append(str(tmp_path / f"rank{rank}.json"))
        trace.save(paths[-1])
    merged = tmp_path / "merged.json"
    done = CliRunner().invoke(main, ["merge", *paths, "-o", str(merged)])
    assert done.exit_code == 0, done.output
    trace = load(merged)
    assert len(inside(trace)) == 2 * 3 * 8
    assert len({(event.track.process.pid) for event in inside(trace)}) == 6
    for event in inside(trace):
        assert abs(event.start_ns - event.args["payload"]) < 1_500
    [load_row, dot_row] = task_times(trace)
    assert (load_row.count, dot_row.count) == (24, 24)
    clocks = trace.metadata["intra_kernel_clock"]
    assert [(clock["of"], clock["device"]) for clock in clocks] == [
        ("rank 0 in rank0.json", 0),
        ("rank 1 in rank1.json", 0),
    ]
    assert clocks[1]["offset_ns"] == pytest.approx(-(10**12), abs=2_000)


@pytest.mark.slow
@needs_judges
@pytest.mark.parametrize("suffix", [".json", ".pftrace"])
@pytest.mark.parametrize("launches", [3, 70])
def test_perfetto_finds_every_record_and_arrow(tmp_path: Path, suffix: str, launches: int) -> None:
    device = Device()
    device.trace.native.name_track(1, 1, "main", 1)
    for number in range(launches):
        at_ns = NOW_NS + number * 50_000
        call = (EventKind.SPAN, at_ns - 900, 500, 1, 1)
        device.trace.native.append("cudaLaunchKernel", "cuda_runtime", *call, correlation=number + 1)
        device.launch(at_ns)
    path = tmp_path / f"trace{suffix}"
    device.join(NOW_NS + 10_000_000).save(path)
    errors, [found], [arrows] = perfetto_answers(
        path,
        "select name, value from stats where value > 0 and severity != 'info'",
        "select count(*) as count from slice where category = 'intra_kernel'",
        "select count(*) as count from flow",
    )
    assert not errors
    assert (found["count"], arrows["count"]) == (launches * 8, launches * 2)
