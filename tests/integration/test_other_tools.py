"""Scopes in other people's tools, which here are libraries of ours that write down what they are told."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from runs import with_variables

import fake_tools
from fake_tools import Call, named, nesting, of_thread

PROGRAM = Path(__file__).parent / "programs" / "emits.py"
VARIABLES = {"nvtx": "NVTX_INJECTION64_PATH", "itt": "INTEL_LIBITTNOTIFY64", "jit": "INTEL_JIT_PROFILER64"}


class Seen(NamedTuple):
    """What a program has printed, and what its tool was told."""

    printed: dict[str, Any]
    calls: list[Call]


Emit = Callable[..., Seen]


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_tools.build(tmp_path_factory.mktemp("fake_tools"))


@pytest.fixture
def emit(tools: Path, tmp_path: Path) -> Emit:
    """Runs a function of the program under tools; each in a process of its own, for libraries stay."""

    def emit(function: str, target: str = "", /, **libraries: str) -> Seen:
        log = tmp_path / "log"
        chosen = libraries or {target: target}
        paths = {VARIABLES[key]: str(tools / f"{name}.so") for key, name in chosen.items()}
        return Seen(run(function, target, FAKE_TOOL_LOG=str(log), **paths), fake_tools.read_log(log))

    return emit


def run(function: str, target: str, **variables: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(finished(function, target, **variables).stdout)
    return result


def finished(function: str, target: str, **variables: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), function, target],
        env=with_variables(**variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def ranges(calls: list[Call]) -> list[tuple[str, str]]:
    """Begins and ends as they came; an end has the name of its begin."""
    found, names, stack = [], {}, []
    for call in calls:
        if call["call"] == "push":
            stack.append(call["text"])
        elif call["call"] == "start":
            names[call["range"]] = call["text"]
        text = call.get("text") or (
            stack.pop() if call["call"] == "pop" else names.get(call.get("range"), "")
        )
        if call["call"] in ("push", "pop", "start", "end"):
            found.append((call["call"], text))
    return found


BOTH = pytest.mark.parametrize("target", ["nvtx", "itt"])


@BOTH
def test_scopes_within_the_block_are_ranges_that_nest(emit: Emit, target: str) -> None:
    seen = emit("scopes", target)
    assert nesting(seen.calls) == ["outer", "  inner", "  inner", "decorated", "  naïve ünïcode"]
    assert {call["domain"] for call in named(seen.calls, "push")} == {"kinetograph"}
    assert [call["text"] for call in named(seen.calls, "mark")] == ["here"]
    assert [(call["text"], call["value"]) for call in named(seen.calls, "sample")] == [("queue", 2.5)]
    assert seen.printed == {"is_emitting": False}


def test_a_name_is_registered_once(emit: Emit) -> None:
    calls = emit("scopes", "nvtx").calls
    assert [call["text"] for call in named(calls, "register")].count("inner") == 1
    assert all(call["is_registered"] for call in named(calls, "push"))


def test_nvtx_ranges_have_category_color_and_payload(emit: Emit) -> None:
    calls = emit("looks", "nvtx").calls
    categories = {call["category"]: call["text"] for call in named(calls, "name_category")}
    plain, looks, big, real, operator = named(calls, "push")
    assert categories[plain["category"]] == "USER_SCOPE"
    assert plain["payload"] is None
    assert plain["color"] >> 24 == 0xFF
    assert (categories[looks["category"]], looks["color"], looks["payload"]) == ("mine", 0xFFFF0000, -3)
    assert big["payload"] == 2**63
    assert (real["payload"], real["color"]) == (0.5, plain["color"])
    assert categories[operator["category"]] == "FUNCTION"
    assert operator["color"] != plain["color"]


def test_itt_tasks_have_their_payload_as_metadata(emit: Emit) -> None:
    calls = emit("looks", "itt").calls
    assert [call["payload"] for call in named(calls, "metadata")] == [-3, 2**63, 0.5]
    assert {call["text"] for call in named(calls, "metadata")} == {"payload"}
    order = [call["call"] for call in calls if call["call"] in ("push", "metadata", "pop")]
    assert order == ["push", "pop", *["push", "metadata", "pop"] * 3, "push", "pop"]


@BOTH
def test_a_color_or_payload_that_is_none_is_left_out_with_one_warning(emit: Emit, target: str) -> None:
    seen = emit("odd_looks", target)
    assert nesting(seen.calls) == ["odd", "odd", "odd", "raises"]
    assert all(is_of_the_program for is_of_the_program, _text in seen.printed)
    expected = [
        ("odd", "color", "expected the name of a color, got 'no such color'\nhint: "),
        ("odd", "category", "expected a string, got 5 (int)\nhint: "),
        ("odd", "payload", "expected an int or a float, got 'a text' (str)\nhint: "),
        ("raises", "payload", "two numbers are not one"),
    ]
    told = expected if target == "nvtx" else expected[2:]  # ITT has neither colors nor categories
    assert len(seen.printed) == len(told)
    for (_is_of_the_program, text), (scope, what, why) in zip(seen.printed, told, strict=True):
        assert text.startswith(f"the scope '{scope}' goes to another tool without its {what}. {what}: {why}")


def test_where_warnings_are_errors_the_rest_of_a_look_is_sent_all_the_same(
    tools: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    library = {VARIABLES["nvtx"]: str(tools / "nvtx.so")}
    done = finished("odd_looks_as_errors", "nvtx", FAKE_TOOL_LOG=str(log), **library)
    calls = fake_tools.read_log(log)
    categories = {call["category"]: call["text"] for call in named(calls, "name_category")}
    first, second = named(calls, "push")
    assert (categories[first["category"]], first["payload"]) == ("mine", 7)
    assert (second["color"], second["payload"]) == (0xFFFF0000, None)
    assert json.loads(done.stdout) == {"is_emitting": False}
    told = [line for line in done.stderr.splitlines() if not line.startswith("hint: ")]
    assert [line.partition(". ")[0] for line in told] == [
        f"kinetograph: the scope 'odd' goes to another tool without its {what}"
        for what in ("color", "payload")
    ]


@BOTH
def test_shapes_are_in_the_name_if_asked_for(emit: Emit, target: str) -> None:
    texts = [call["text"] for call in named(emit("shapes", target).calls, "push")]
    assert texts == ["matmul, sizes = [[2, 3], []]", "matmul"]


@BOTH
def test_each_thread_has_its_own_ranges(emit: Emit, target: str) -> None:
    seen = emit("many_threads", target)
    for number, tid in enumerate(seen.printed["tids"]):
        assert nesting(of_thread(seen.calls, tid)) == [f"outer {number}", "  inner"] * 50
    assert not seen.printed["is_emitting"]


@BOTH
def test_our_own_recording_has_scopes_once_and_a_domain_called_like_us_as_any_other(target: str) -> None:
    printed = run("to_our_own_recording", target)
    assert not printed["is_emitting"]
    events = [
        ["scope", "user_annotation"],
        ["mark", "cpu_instant_event"],
        ["the program's", "kinetograph"],
        ["kinetograph", "kinetograph"],
    ]
    assert printed["recorded"] == [events] * 3


@BOTH
def test_a_scope_that_is_open_at_the_end_of_the_block_still_ends(emit: Emit, target: str) -> None:
    seen = emit("open_at_the_end", target)
    assert nesting(of_thread(seen.calls, seen.printed["tid"])) == ["long"]
    assert seen.printed["was_emitting"]
    assert not seen.printed["is_emitting"]


@BOTH
def test_a_thread_that_ends_within_a_scope_leaves_nothing_on(emit: Emit, target: str) -> None:
    assert ranges(emit("left_open", target).calls) == [("push", "never ends")]


@BOTH
def test_blocks_nest_and_cross(emit: Emit, target: str) -> None:
    seen = emit("nested_emissions", target)
    assert nesting(seen.calls) == ["twice", "still"]
    assert seen.printed == {"is_emitting": False}


@BOTH
def test_a_scope_that_ends_below_others_cuts_those_in_two(emit: Emit, target: str) -> None:
    assert ranges(emit("out_of_order", target).calls) == [
        ("push", "generator"),
        ("push", "body"),
        ("pop", "body"),
        ("pop", "generator"),
        ("push", "body"),
        ("push", "inside"),
        ("pop", "inside"),
        ("pop", "body"),
    ]


@BOTH
def test_tasks_that_take_turns_have_ranges_that_cross(emit: Emit, target: str) -> None:
    assert ranges(emit("tasks", target).calls) == [
        ("push", "one"),
        ("start", "two"),
        ("pop", "one"),
        ("push", "alone"),
        ("pop", "alone"),
        ("end", "two"),
    ]


@BOTH
def test_ends_without_a_begin_in_their_thread_are_not_told(emit: Emit, target: str) -> None:
    assert ranges(emit("ends_elsewhere", target).calls) == [("push", "handed over"), ("pop", "handed over")]


@BOTH
def test_a_forked_child_goes_on(emit: Emit, target: str) -> None:
    seen = emit("forks", target)
    assert seen.printed["status"] == 0
    of_child = [call for call in seen.calls if call["pid"] == seen.printed["child"]]
    of_parent = [call for call in seen.calls if call["pid"] != seen.printed["child"]]
    assert [call["call"] for call in of_child if call["call"] != "register"] == ["push", "pop", "pop"]
    assert nesting(of_parent) == ["both", "  parent"]


@BOTH
def test_nothing_is_left_on_in_a_child_that_is_forked_after_the_block(emit: Emit, target: str) -> None:
    assert emit("forks_after_the_end", target).printed == {"status": 0}


@BOTH
def test_a_recording_beside_it_has_the_same_scopes(emit: Emit, target: str) -> None:
    seen = emit("beside_a_recording", target)
    assert nesting(seen.calls) == ["both"]
    assert seen.printed["recorded"] == ["both", "moment"]


def test_both_interfaces_at_once(emit: Emit, tmp_path: Path) -> None:
    calls = emit("both_tools", nvtx="nvtx", itt="itt").calls
    assert [call["text"] for call in named(calls, "push")] == ["nvtx only", "both", "both"]
    assert len(named(calls, "pop")) == 3


@BOTH
def test_a_session_of_this_state_records_nothing(emit: Emit, target: str) -> None:
    seen = emit("session", target)
    assert nesting(seen.calls) == ["session"]
    (note,) = seen.printed.pop("notes")
    assert note.startswith(f"ProfilerState.{target.upper()}: scopes were sent to the {target.upper()} tool")
    assert seen.printed == {"records": False, "events": 0, "is_emitting": False}


@BOTH
def test_a_forked_child_goes_on_with_a_session_of_this_state_and_may_end_it(emit: Emit, target: str) -> None:
    seen = emit("session_forks", target)
    child = seen.printed.pop("child")
    assert seen.printed == {"status": 0, "is_over": True}
    assert nesting([call for call in seen.calls if call["pid"] == child]) == ["child"]
    assert nesting([call for call in seen.calls if call["pid"] != child]) == ["parent"]


@BOTH
def test_a_forked_child_waits_for_no_thread_that_it_has_not(emit: Emit, target: str) -> None:
    assert emit("session_forks_while_it_ends", target).printed == {"status": 0}


@BOTH
def test_sessions_of_this_state_send_scopes_of_the_kinds_that_were_chosen(emit: Emit, target: str) -> None:
    seen = emit("session_of_kinds", target)
    assert nesting(seen.calls) == ["FUNCTION", "BACKWARD_FUNCTION"]
    assert len(named(seen.calls, "mark")) == 3
    assert seen.printed == {"is_emitting": False, "warnings": 0}


CALLS = [
    "outer",
    "  scope",
    "    inner",
    "      inner",
    "        numbers",
    "        numbers",
    "        raises",
]


def named_after_program(calls: list[Call]) -> list[str]:
    """The ranges of the program as text, without where its functions stand; those of others are left out."""
    lines = [line for line in nesting(calls) if "emits.py(" in line or "(" not in line]
    return [re.sub(r"\S*emits\.py\(\d+\): ", "", line) for line in lines]


@BOTH
def test_calls_are_ranges_if_asked_for(emit: Emit, target: str) -> None:
    seen = emit("calls", target)
    main = named_after_program(of_thread(seen.calls, seen.printed["main"]))
    assert main[: len(CALLS)] == CALLS
    assert "outer" not in main[len(CALLS) :]
    worker = named_after_program(of_thread(seen.calls, seen.printed["tid"]))
    assert [line.strip() for line in worker] == ["work", *(line.strip() for line in CALLS)]
    assert not any(seen.printed["left"])


@BOTH
def test_calls_that_are_open_at_the_end_still_end(emit: Emit, target: str) -> None:
    seen = emit("stopped_further_in", target)
    assert named_after_program(seen.calls) == ["around", "  stops"]
    assert seen.printed == {"left": False, "is_emitting": False}


@BOTH
def test_a_profiler_that_takes_over_is_told_of_and_leaves_nothing_open(emit: Emit, target: str) -> None:
    seen = emit("taken_over", target)
    assert named_after_program(seen.calls) == ["takes_over", "  scope", "behind"]
    (told,) = seen.printed["told"]
    assert "another profile function took over" in told
    assert not seen.printed["is_emitting"]


def test_another_profiler_is_not_disturbed(emit: Emit) -> None:
    seen = emit("beside_another_profiler", "nvtx")
    assert "another tool has it" in seen.printed["refusal"]
    assert not seen.printed["is_emitting"]


def test_names_beyond_those_that_are_kept_are_sent_as_they_are(emit: Emit) -> None:
    calls = emit("too_many_names", "nvtx").calls
    (beyond,) = named(calls, "push")
    assert (beyond["text"], beyond["is_registered"]) == ("beyond", 0)
    assert [call["text"] for call in named(calls, "mark")] == [f"n{number}" for number in range(32_800)]


@pytest.mark.parametrize("collector", ["itt_legacy", "itt_sparse"])
def test_collectors_of_other_kinds_are_served(emit: Emit, collector: str) -> None:
    calls = emit("scopes", "itt", itt=collector).calls
    assert nesting(calls) == ["outer", "  inner", "  inner", "decorated", "  naïve ünïcode"]
    assert {call["domain"] for call in named(calls, "push")} == {"kinetograph"}
    assert [(call["text"], call["value"]) for call in named(calls, "sample")] == [("queue", 2.5)]


KIND = 0x4B470020  # the first category of a domain


def test_nvtx_calls_arrive_as_they_were_made(emit: Emit) -> None:
    seen = emit("nvtx_api", "nvtx")
    assert seen.printed["levels"] == [0, 1, 1, 0]
    assert seen.printed["is_listening"]
    assert seen.printed["length"] == 2
    categories = {
        (call["domain"], call["text"]): call["category"] for call in named(seen.calls, "name_category")
    }
    assert categories == {("", "kind"): KIND, ("data", "kind"): KIND}
    plain, rich, kept, function = named(seen.calls, "push")
    assert (plain["text"], plain["domain"], plain["color"], plain["category"]) == ("plain", "", -1, 0)
    assert (rich["color"], rich["category"], rich["payload"]) == (0xFF102030, KIND, 7)
    assert (kept["text"], kept["is_registered"], kept["domain"]) == ("kept", 1, "data")
    assert (kept["color"], kept["category"], kept["payload"]) == (0x80FF0000, 9, 1.5)
    assert function["text"] == "function"
    start, end = *named(seen.calls, "start"), *named(seen.calls, "end")
    assert start["range"] == end["range"] == seen.printed["crossing"]
    assert start["domain"] == end["domain"] == "data"
    assert start["tid"] != end["tid"]
    assert [(call["text"], call["domain"]) for call in named(seen.calls, "mark")] == [
        ("point", "data"),
        ("alone", ""),
    ]
    (named_thread,) = named(seen.calls, "name_thread")
    assert (named_thread["thread"], named_thread["text"]) == (named_thread["tid"], "worker")


def test_subclasses_of_str_and_lone_surrogates_are_messages_too(emit: Emit) -> None:
    name, surrogate, *_numbers = named(emit("nvtx_odd_arguments", "nvtx").calls, "mark")
    assert name["text"] == "name"
    # It is spelled out, for it has no UTF-8; the log is JSON, which reads that again as the letter.
    assert surrogate["text"] == "\udc80"


def test_numbers_of_numpy_are_payloads(emit: Emit) -> None:
    *_messages, integer, real = named(emit("nvtx_odd_arguments", "nvtx").calls, "mark")
    assert (integer["payload"], real["payload"]) == (-3, 0.5)


def test_itt_calls_arrive_as_they_were_made(emit: Emit) -> None:
    seen = emit("itt_api", "itt")
    told = [
        (call["call"], call.get("domain"), call.get("text"))
        for call in seen.calls
        if call["call"] not in ("initialize", "domain", "register")
    ]
    assert told == [
        ("push", "python", "plain"),
        ("push", "data", "rich"),
        ("metadata", "data", "payload"),
        ("pop", "data", None),
        ("pop", "python", None),
        ("push", "python", "kept"),
        ("metadata", "python", "payload"),
        ("mark", "python", "point"),
        ("pop", "python", None),
        ("start", "data", "crossing"),
        ("metadata", "data", "payload"),
        ("end", "data", None),
        ("name_thread", None, "worker"),
        ("pause", None, None),
        ("resume", None, None),
        ("detach", None, None),
    ]
    assert [call["payload"] for call in named(seen.calls, "metadata")] == [7, 1.5, 2**63]
    (start,), (end,) = named(seen.calls, "start"), named(seen.calls, "end")
    assert start["range"] == end["range"] == seen.printed["crossing"]
    assert start["tid"] != end["tid"]
    assert named(seen.calls, "initialize")[0]["is_client"]


def test_a_listener_is_told_of_code_that_was_made(emit: Emit) -> None:
    seen = emit("jit_api", "jit")
    first, second = named(seen.calls, "loaded")
    assert (first["text"], first["address"], first["size"]) == ("kernel", 0x7F0000001000, 64)
    assert (first["file"], first["lines"], first["last_line"]) == ("kernel.py", 2, 4)
    assert (second["text"], second["file"], second["lines"]) == ("other", "", 0)
    assert seen.printed["methods"] == [first["method"], second["method"]]
    assert [call["method"] for call in named(seen.calls, "unloaded")] == [first["method"]]
    assert seen.printed["is_active"]
    assert seen.printed["unloaded"]


def test_a_listener_that_is_idle_is_told_nothing(emit: Emit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_JIT_IDLE", "1")
    seen = emit("jit_api", "jit")
    assert seen.calls == []
    assert seen.printed == {"is_active": False, "methods": [0, 0], "unloaded": False}


@pytest.mark.parametrize("path", ["", "/no/such/library.so", str(PROGRAM)])
@BOTH
def test_without_a_tool_nothing_happens(target: str, path: str) -> None:
    variables = {VARIABLES[target]: path}
    assert run("scopes", target, **variables) == {"is_emitting": False}
    printed = run(f"{target}_api", target, **variables)
    assert printed["is_available"]
    assert not printed["is_listening"]
    assert printed["crossing"] == 0


@BOTH
def test_a_session_without_a_tool_is_as_empty(target: str) -> None:
    printed = run("session", target)
    assert printed["notes"] == [
        f"ProfilerState.{target.upper()}: no {target.upper()} tool was there, and no scope was recorded"
    ]
    assert printed["events"] == 0
    assert not printed["is_emitting"]


def test_without_a_listener_code_is_told_to_nobody() -> None:
    assert run("jit_api", "jit") == {"is_active": False, "methods": [0, 0], "unloaded": False}
