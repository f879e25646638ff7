"""CUDA through Python, with libraries of ours in the place of NVIDIA's: the same C interface, and no GPU.

Each case is a program of its own, since libraries stay in a process for ever.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg
from fake_cuda import Play
from kinetograph.session.recover import recover_file

PROGRAM = Path(__file__).parent / "programs" / "fake_cuda_program.py"


def names(result: dict[str, Any], category: str) -> list[str]:
    return [event["name"] for event in result["events"] if event["category"] == category]


def texts(result: dict[str, Any]) -> str:
    return "\n".join(text for _kind, text in result["notes"])


@pytest.mark.parametrize("version", [18, 22, 26, 130001, 130401])
def test_a_kernel_is_recorded_with_every_version(play: Play, tmp_path: Path, version: int) -> None:
    result = play("kernel_in_scope", tmp_path / "trace.json", FAKE_CUPTI_VERSION=str(version))
    assert names(result, "kernel") == ["add(float*)"]
    assert names(result, "gpu_memcpy") == ["Memcpy HtoD (Pinned -> Device)"]
    assert names(result, "cuda_runtime") == ["cudaLaunchKernel", "cudaMemcpyAsync"]
    assert names(result, "gpu_user_annotation") == ["step"]
    assert result["metadata"]["cupti_version"] == version
    assert result["properties"][0]["name"] == 'Fake "H200"'
    assert result["properties"][0]["numSms"] == 132


# As cuptiGetVersion numbers CUDA 12.0 to 13.4, and one of which nothing is known.
VERSIONS = [18, 20, 21, 22, 23, 24, 26, 28, 130001, 130100, 130201, 130303, 130401, 130500]
FIRST_WITH_THREAD_OF_COMPILATION, FIRST_WITH_TIME_OF_EVENT, FIRST_WITH_PRIORITY = 22, 26, 130100
FAKE_PRIORITY = -3


@pytest.mark.parametrize("version", VERSIONS)
def test_every_kind_of_record_is_read_with_every_version(play: Play, version: int) -> None:
    result = play("every_kind_of_record", FAKE_CUPTI_VERSION=str(version))
    assert names(result, "kernel") == ["add(float*)"] * 2
    copies = ["Memcpy HtoD (Pinned -> Device)", "Memcpy PtoP (Device -> Device)"]
    assert names(result, "gpu_memcpy") == copies * 2
    assert names(result, "gpu_memset") == ["Memset (Device)"] * 2
    assert names(result, "cuda_sync") == ["Stream Wait Event"] * 2
    assert names(result, "cuda_event") == ["cudaEvent"] * 2 * (version >= FIRST_WITH_TIME_OF_EVENT)
    compilation = ["JIT PTX to cubin: compile"] * (version >= FIRST_WITH_THREAD_OF_COMPILATION)
    assert names(result, "overhead") == ["Buffer Flush", *compilation] * 2
    assert names(result, "cpu_instant_event") == ["[memory]"] * 2
    kernels = [event["args"] for event in result["events"] if event["category"] == "kernel"]
    priority = FAKE_PRIORITY if version >= FIRST_WITH_PRIORITY else None
    assert [kernel.get("priority") for kernel in kernels] == [priority] * 2
    (stream,) = result["metadata"]["cuda_streams"]
    assert stream == {"device": 1, "context": 2, "stream": 9, "priority": -5, "kind": "non-blocking"}
    assert "unknown kind" not in texts(result)


def test_kernels_lie_on_the_device_that_ran_them(play: Play) -> None:
    assert play("several_devices") == {
        "kernels": {"first": [0, 0], "second": [1, 1]},
        "tracks": 2,
        "drawn": 2,
        "properties": [0, 1],
    }


def test_device_time_counts_for_the_scope_that_launched(play: Play, tmp_path: Path) -> None:
    result = play("kernel_in_scope", tmp_path / "trace.json")
    self_time, total = result["averages"]["step"]
    assert self_time > 0
    assert total == self_time


def test_the_file_has_kinetos_arrows_and_arguments(play: Play, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    play("kernel_in_scope", path)
    written = json.loads(path.read_text())
    assert written["deviceProperties"][0]["computeMajor"] == 9
    events = written["traceEvents"]
    kernel = next(event for event in events if event.get("cat") == "kernel")
    launch = next(event for event in events if event.get("name") == "cudaLaunchKernel")
    scope = next(event for event in events if event.get("cat") == "user_annotation")
    assert kernel["pid"] == 0
    assert kernel["tid"] == 7
    assert kernel["args"]["grid"] == [264, 1, 1]
    assert kernel["args"]["correlation"] == launch["args"]["correlation"]
    assert kernel["args"]["External id"] == launch["args"]["External id"] == scope["args"]["External id"]
    arrows = [event for event in events if event.get("cat") == "ac2g"]
    assert [arrow["ph"] for arrow in arrows if arrow["id"] == kernel["args"]["correlation"]] == ["s", "f"]
    assert kg.load(path).events[0].name


def test_what_a_kernel_records_of_itself_stands_under_it(play: Play, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    result = play("a_kernel_records_what_it_does", path)
    [kernel] = [event for event in result["events"] if event["category"] == "kernel"]
    inside = [event for event in result["events"] if event["category"] == "intra_kernel"]
    assert len(inside) == 264
    assert {(event["name"], event["args"]["launch"]) for event in inside} == {("load", 0)}
    assert kernel["args"]["launch"] == 0
    assert result["metadata"]["intra_kernel_clock"][0]["source"] == "kernels"
    # One arrow to the kernel, one to its first record.
    arrows = [event for event in json.loads(path.read_text())["traceEvents"] if event.get("cat") == "ac2g"]
    assert sorted(arrow["ph"] for arrow in arrows) == ["f", "f", "s"]
    assert len({arrow["id"] for arrow in arrows}) == 1


def test_a_session_may_begin_before_cuda_is_there(play: Play) -> None:
    assert names(play("cuda_appears_while_recording"), "kernel") == ["add(float*)"]


def test_a_program_without_cuda_is_told_so(play: Play) -> None:
    result = play("cuda_never_appears")
    assert names(result, "user_annotation") == ["step"]
    assert "did not initialise CUDA" in texts(result)


def test_the_library_that_the_program_has_loaded_is_taken_before_the_one_that_is_named(
    play: Play, tmp_path: Path
) -> None:
    result = play("kernel_in_scope", tmp_path / "trace.json", KINETOGRAPH_CUPTI="/no/such/libcupti.so")
    assert names(result, "kernel") == ["add(float*)"]


def test_the_library_that_is_named_is_opened_where_the_program_has_loaded_none(play: Play) -> None:
    result = play("cupti_is_not_mapped")
    assert result["metadata"]["cupti_version"] == 130001


def test_a_library_that_cannot_be_used_is_named_and_scopes_are_timed_instead(
    play: Play, cuda_libraries: Path, tmp_path: Path
) -> None:
    text = tmp_path / "libcupti.so"
    text.write_text("no library")
    pipe = tmp_path / "pipe.so"
    os.mkfifo(pipe)
    for library, why in (
        (tmp_path / "missing.so", "cannot open shared object file"),
        (text, "file too short"),
        (pipe, "is not a file"),
        (cuda_libraries / "libcuda.so.1", "lacks functions that every libcupti since 11.8 has"),
    ):
        result = play("cupti_is_not_mapped", KINETOGRAPH_CUPTI=str(library))
        assert str(library) in texts(result)
        assert why in texts(result)
        assert names(result, "gpu_user_annotation") == ["step"]


def test_a_library_may_lie_where_names_are_not_utf8(play: Play, cuda_libraries: Path, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    library = folder / "libcupti.so.13"
    result = play("cupti_is_not_mapped", KINETOGRAPH_CUPTI=str(library))
    assert "cannot open shared object file" in texts(result)
    shutil.copy(cuda_libraries / library.name, library)
    result = play("cupti_is_not_mapped", KINETOGRAPH_CUPTI=str(library))
    assert result["metadata"]["cupti_version"] == 130001


def test_another_owner_of_cupti_costs_the_kernels_and_nothing_else(play: Play) -> None:
    result = play("another_tool_owns_cupti")
    assert names(result, "kernel") == []
    assert names(result, "user_annotation") == ["step"]
    assert "another tool" in texts(result)


@pytest.mark.parametrize("version", [22, 130001])
def test_a_tool_that_takes_cupti_over_can_have_it_with_every_version(play: Play, version: int) -> None:
    result = play("another_tool_takes_cupti_over", FAKE_CUPTI_VERSION=str(version))
    assert "took CUPTI over" in texts(result)
    assert result["is_subscribed"] == 0


def test_a_cycle_ends_where_another_tool_takes_cupti_over_and_the_next_one_works(play: Play) -> None:
    result = play("a_cycle_loses_cupti")
    stopped = ["DEVICE_STOPPED"] * 2
    assert result["actions"] == [
        "WARMUP",
        "RECORD",
        *stopped,
        "WARMUP",
        "RECORD",
        "RECORD",
        "RECORD_AND_SAVE",
    ]
    assert len(result["kernels"]) == 2
    assert result["kernels"][1] == 3
    assert any("stopped early, at step 2" in text for text in result["told"])


def test_without_a_thread_nothing_is_half_begun_and_signals_still_come(play: Play) -> None:
    result = play("no_thread_is_to_be_had")
    assert result == {"failures": 2, "blocked": 0, "kernels": 1, "state": 0}


def test_a_session_stops_while_another_thread_goes_on_launching(play: Play) -> None:
    assert play("stops_while_another_thread_goes_on") == {"notes": []}


def test_work_that_was_not_waited_for_is_told_of_whatever_the_reason(play: Play) -> None:
    result = play("the_driver_does_not_wait")
    assert names(result, "kernel") == []
    assert "not waited for" in texts(result)


def test_sessions_come_one_after_the_other_and_let_go_in_between(play: Play) -> None:
    assert play("sessions_one_after_the_other") == {"counts": [1, 1, 1], "finalizations": 3}


def test_a_session_that_did_not_ask_gets_nothing_of_the_device(play: Play) -> None:
    result = play("a_session_without_cuda_beside_one_with_it")
    assert "kernel" in result["gpu"]
    assert not {"kernel", "cuda_runtime"} & set(result["cpu"])


def test_waiting_is_for_those_who_ask(play: Play) -> None:
    result = play("waits_are_for_those_who_ask")
    assert "cuda_sync" in result["with"]
    assert "cuda_sync" not in result["without"]


def test_a_graph_is_its_nodes_or_one_event(play: Play) -> None:
    assert play("whole_graphs") == {"nodes": 3, "launches": 1}


def test_memory_is_for_those_who_ask(play: Play, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    result = play("memory_is_for_those_who_ask", path)
    changes = [event["args"] for event in result["events"] if event["name"] == "[memory]"]
    assert [change["Bytes"] for change in changes] == [100, 20, -100]
    assert [change["Total Allocated"] for change in changes] == [100, 120, 20]
    assert result["averages"]["step"] == [0, 20]
    assert result["averages"]["cudaMalloc"] == [120, 120]
    assert result["without"] == 0
    written = [event for event in json.loads(path.read_text())["traceEvents"] if event["name"] == "[memory]"]
    assert [event["args"]["Device Id"] for event in written] == [0, 0, 0]


def test_kernels_belong_to_the_scope_of_their_thread(play: Play) -> None:
    owners = play("threads_launch")["owners"]
    assert owners == {str(stream): [f"thread {stream}"] for stream in range(4)}


def test_kernels_belong_to_the_scope_of_their_task(play: Play) -> None:
    owners = play("tasks_launch")
    assert owners.pop("loop") == "loop"
    assert owners == {
        f"{task} {what}": task if what.startswith(("begins", "after")) else f"{task} {what}"
        for task in ("a", "b")
        for what in ("begins", "part 0", "after part 0", "part 1", "after part 1")
    }


def test_nothing_is_kept_of_a_pause(play: Play) -> None:
    assert play("paused_while_launching") == {"kernels": ["kept", "kept again"]}


def test_cuda_pauses_alone_only_where_it_is_recorded_alone(play: Play) -> None:
    result = play("paused_without_the_cpu")
    assert (result["alone"], result["both"]) == (["kept"], ["kept"])
    (said,) = result["said"]
    assert "CUDA is not switched alone" in said


def test_a_ring_keeps_what_is_newest_although_the_device_tells_of_it_late(play: Play) -> None:
    kept = play("fills_a_ring_until_the_end")
    # Where the ring begins, a step may have lost its launch, and a launch some of its kernels.
    assert 0 < kept["user_annotation"] <= kept["cuda_runtime"] + 1
    assert 3 * (kept["cuda_runtime"] - 1) <= kept["kernel"] <= 3 * kept["cuda_runtime"] + 3


def test_a_fork_leaves_the_child_clean_and_the_parent_recording(play: Play) -> None:
    assert play("forks_while_recording") == {"child": 0, "kernels": 2}


USES_CUDA = f"""
import multiprocessing, os, sys, time
sys.path.insert(0, {str(PROGRAM.parent)!r})
from fake_cuda_program import Cuda
from kinetograph import _native

def launch_ten():
    cuda = Cuda().initialise()
    while _native.cuda_status()[0] == 1: time.sleep(0.001)
    for _ in range(10): cuda.launch()
"""


def run_whole(program: str, environment: dict[str, str], folder: Path, ends_with: int = 0) -> kg.Trace:
    """The trace of this program, which has `launch_ten`."""
    (folder / "program.py").write_text(USES_CUDA + program)
    trace = folder / "trace.json"
    run = [sys.executable, "-m", "kinetograph", "run", "-q", "--cuda", "-o", trace, folder / "program.py"]
    # The loader finds the driver when the process starts, as a framework's library would need it.
    preload = {"LD_PRELOAD": f"{environment['FAKE_CUDA']}/libcuda.so.1"}
    done = subprocess.run(run, env=environment | preload, capture_output=True, timeout=120, check=False)
    assert done.returncode == ends_with, done.stderr
    return kg.load(trace)


def test_a_whole_program_is_recorded_with_its_kernels(
    cuda_environment: dict[str, str], tmp_path: Path
) -> None:
    trace = run_whole("launch_ten()", cuda_environment, tmp_path)
    assert sum(event.category == "kernel" for event in trace.events) == 10
    assert sum(event.name == "cudaLaunchKernel" for event in trace.events) == 10
    assert not [note for note in trace.notes if "may be missing" in note.text]


def test_a_worker_of_multiprocessing_brings_in_what_its_device_did(
    cuda_environment: dict[str, str], tmp_path: Path
) -> None:
    worker = "worker = multiprocessing.get_context('fork').Process(target=launch_ten)"
    trace = run_whole(f"{worker}\nworker.start()\nworker.join()", cuda_environment, tmp_path)
    assert sum(event.category == "kernel" for event in trace.events) == 10
    assert not [note for note in trace.notes if "may be missing" in note.text]


# Told in advance, for then nobody can any more.
def test_of_a_program_that_ends_at_once_the_trace_has_the_device_and_says_what_it_lacks(
    cuda_environment: dict[str, str], tmp_path: Path
) -> None:
    trace = run_whole("launch_ten()\nos._exit(3)", cuda_environment, tmp_path, ends_with=3)
    assert [note.kind for note in trace.notes if "may be missing" in note.text] == ["cuda"]
    assert trace.device_properties[0]["name"] == 'Fake "H200"'
    assert trace.metadata["cupti_version"] == 130001


def test_a_ring_of_a_program_that_ends_at_once_has_the_device_and_says_what_it_lacks(
    cuda_environment: dict[str, str], tmp_path: Path
) -> None:
    options = f"mode='ring', ring_bytes=4_000_000, crash_safe=True, directory={str(tmp_path)!r}"
    ring = f"kg.profile(activities=['cpu', 'cuda'], recording=kg.RecordOptions({options}))"
    lasts = "while kg._native.cuda_status()[4] < 200_000: cuda.launch()"
    program = f"import kinetograph as kg\ncuda = Cuda().initialise()\n{ring}.start()\n{lasts}\nos._exit(3)"
    done = subprocess.run([sys.executable, "-c", USES_CUDA + program], env=cuda_environment, check=False)
    assert done.returncode == 3
    (session,) = tmp_path.glob("*.kgsession")
    trace = recover_file(session)
    assert 0 < sum(event.category == "kernel" for event in trace.events) < 100_000
    assert trace.device_properties[0]["name"] == 'Fake "H200"'
    assert [note.kind for note in trace.notes if "may be missing" in note.text] == ["cuda"]


KILLED_BEHIND_WARM_UP = """
import kinetograph as kg

def looks():  # it sleeps after each
    for tid in os.listdir("/proc/self/task"):
        if open(f"/proc/self/task/{tid}/comm").read() == "kg-cupti\\n":
            status = open(f"/proc/self/task/{tid}/status").read()
            return int(status.partition("\\nvoluntary_ctxt_switches:")[2].split()[0])

def wait_for_looks(count):
    wanted = looks() + count
    while looks() < wanted: time.sleep(0.001)

def launch_until_recorded():  # with little else, for behind 200 KiB it is told again
    before = _native.cuda_status()[4]
    cuda.launch()
    while _native.cuda_status()[4] == before: time.sleep(0.001)

cuda = Cuda().initialise()
recording = kg.RecordOptions(crash_safe=True, directory=sys.argv[1])
profile = kg.profile(
    activities=["cpu", "cuda"], schedule=kg.schedule(wait=0, warmup=1, active=9), recording=recording
)
profile.start()
cuda.launch()
wait_for_looks(2)  # whether there is something to be told: the first may have begun before
profile.step()
launch_until_recorded()
launch_until_recorded()
os._exit(3)
"""


def test_of_a_program_that_ends_behind_a_warm_up_the_trace_has_the_device_and_says_what_it_lacks(
    cuda_environment: dict[str, str], tmp_path: Path
) -> None:
    program = [sys.executable, "-c", USES_CUDA + KILLED_BEHIND_WARM_UP, tmp_path]
    done = subprocess.run(program, env=cuda_environment, check=False, timeout=120)
    assert done.returncode == 3
    (session,) = tmp_path.glob("*.kgsession")
    trace = recover_file(session)
    assert any(event.category == "kernel" for event in trace.events)
    assert trace.device_properties[0]["name"] == 'Fake "H200"'
    assert [note.kind for note in trace.notes if "may be missing" in note.text] == ["cuda"]


def test_a_session_within_a_program_that_ends_at_once_does_not_hide_what_the_trace_lacks(
    cuda_environment: dict[str, str], tmp_path: Path
) -> None:
    inner = "import kinetograph as kg\nlaunch_ten()\nwith kg.profile(activities=['cuda']): pass"
    trace = run_whole(f"{inner}\nlaunch_ten()\nos._exit(3)", cuda_environment, tmp_path, ends_with=3)
    assert [note.kind for note in trace.notes if "may be missing" in note.text] == ["cuda"]


@pytest.mark.skipif(os.path.exists("/proc/driver/nvidia/version"), reason="there is a driver here")
def test_cuda_asked_for_by_name_is_refused_without_a_driver() -> None:
    with pytest.raises(kg.NotAvailable, match=r"ActivityType\.CUDA is not available here"):
        kg.profile(activities=["cuda"]).start()
    assert kg.supported_activities() == {kg.ActivityType.CPU}
