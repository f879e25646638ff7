"""Names of any kind and number, scopes nested in any way: recorded, written, and read back as they were."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hard_cases import run_program
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import kinetograph as kg
from recorded import Tree, names, notes, recording, tree

STRANGE_NAMES = {
    "empty": "",
    "space": " ",
    "nul": "a\0b",
    "only nul": "\0",
    "quotes": "say \"hello\" and 'bye'",
    "backslashes": "C:\\temp\\new \\u0041 \\",
    "newlines": "one\ntwo\r\nthree\u2028four",
    "every control character": "".join(map(chr, range(32))) + "\x7f\x80\x9f",
    "markup": "</script><b>&amp;",
    "json": '"},{"ph":"X","name":"forged"',
    "umlauts": "Größe in µs",
    "emoji": "🎥👩‍👩‍👧‍👦",
    "right to left": "\u202eאבג",
    "highest": "\U0010ffff\ufffe\uffff",
    "combining": "e\u0301" * 50,
    "percent": "%s %d %n {0} {name}",
}
# JSON in UTF-8 has no lone surrogates; they are spelled out instead.
SURROGATES = {
    "lone \ud800 high": "lone \\ud800 high",
    "\udc00low": "\\udc00low",
    "\udc00\ud800": "\\udc00\\ud800",
}


def saved_names(path: Path) -> list[str]:
    """As `json` reads them, which is not our code."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    events = json.loads(text.decode("utf-8"))["traceEvents"]
    return [event["name"] for event in events if event.get("cat") == "user_annotation"]


def roundtrip(recorded: list[str], path: Path) -> tuple[list[str], list[str], list[str]]:
    """In the trace, in the file according to `json`, in the file according to `kg.load`."""
    with recording(all_threads=False) as window:
        for name in recorded:
            with kg.scope(name):
                pass
    window.trace.save(path)
    return names(window.trace), saved_names(path), names(kg.load(path))


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_strange_names_are_the_same_in_trace_and_file(tmp_path: Path, suffix: str) -> None:
    expected = list(STRANGE_NAMES.values())
    in_trace, in_json, loaded = roundtrip(expected, tmp_path / f"trace{suffix}")
    assert in_trace == expected
    assert in_json == expected
    assert loaded == expected


def test_lone_surrogates_are_spelled_out(tmp_path: Path) -> None:
    expected = list(SURROGATES.values())
    assert roundtrip(list(SURROGATES), tmp_path / "trace.json") == (expected, expected, expected)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=20))
def test_any_names_survive_saving_and_loading(tmp_path: Path, recorded: list[str]) -> None:
    assert roundtrip(recorded, tmp_path / "trace.json") == (recorded, recorded, recorded)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.characters()), max_size=20))
def test_no_name_is_refused(recorded: list[str]) -> None:
    with recording(all_threads=False) as window:
        for name in recorded:
            kg.mark(name)
            kg.counter(name, 1)
            with kg.scope(name, **{"key": name}):
                pass
    assert len(window.trace) == 3 * len(recorded)
    for event in window.trace.events:
        assert event.args.get("key", event.name).encode("utf-8", "backslashreplace").decode() == event.name


@pytest.mark.parametrize("character", ["a", "ä", "🎥", "\0"])
def test_a_name_of_a_megabyte_is_cut_at_a_character_and_the_rest_goes_on(
    tmp_path: Path, character: str
) -> None:
    long = character * (1 << 20)
    in_trace, in_json, loaded = roundtrip(["before", long, "after"], tmp_path / "trace.json")
    assert in_trace == in_json == loaded
    assert (in_trace[0], in_trace[2]) == ("before", "after")
    assert long.startswith(in_trace[1])
    assert len(in_trace[1].encode()) > 32_000


def test_a_subclass_of_str_is_recorded_by_its_text() -> None:
    class Odd(str):
        def __eq__(self, other: object) -> bool:
            raise AssertionError("a name is not compared by the program's code")

        __hash__ = str.__hash__

    with recording(all_threads=False) as window, kg.scope(Odd("text")):
        pass
    assert names(window.trace) == ["text"]


def test_names_of_scopes_that_are_gone_do_not_turn_into_others() -> None:
    """Scopes are found by the address of their name; addresses are used again."""
    with recording(all_threads=False) as window:
        for number in range(50_000):
            with kg.scope("".join(["name ", str(number)])):
                pass
    assert names(window.trace) == [f"name {number}" for number in range(50_000)]


@pytest.mark.slow
def test_a_million_distinct_names_are_kept_written_and_then_forgotten(tmp_path: Path) -> None:
    told = run_program("million_names", 1_000_000, tmp_path / "trace.json")
    assert told["events"] == 1_000_000
    assert told["in_order"]
    assert told["losses"] == []
    assert told["loaded_same"]
    assert told["strings_kept"] < 10_000
    assert told["growth"] < 16 << 20


def test_more_names_than_the_memory_limit_allows_are_told_and_only_in_that_session() -> None:
    told = run_program("too_many_names", 60_000)
    assert told["events"] == 60_000
    assert len(told["notes"]) == 1
    assert "events lost their name: too many distinct names for the memory limit" in told["notes"][0]
    lost = int(told["notes"][0].split()[0])
    assert told["kept"] == 60_000 - lost
    assert told["later"] == {"notes": [], "names": ["name 59999"]}


# Nesting


def record(nested: Tree) -> None:
    for name, children in nested:
        with kg.scope(name):
            record(children)


trees = st.recursive(
    st.just([]),
    lambda children: st.lists(st.tuples(st.sampled_from("abc"), children), max_size=4),
    max_leaves=60,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees)
@example([])
def test_any_tree_of_scopes_reads_back_equal(tmp_path: Path, nested: Tree) -> None:
    with recording(all_threads=False) as window:
        record(nested)
    assert tree(window.trace) == nested
    window.trace.save(tmp_path / "trace.json")
    assert tree(kg.load(tmp_path / "trace.json")) == nested


def nest(depth: int) -> kg.Trace:
    scopes = [kg.scope(f"level {level}") for level in range(depth)]
    with recording(all_threads=False) as window:
        for scope in scopes:
            scope.__enter__()
        for scope in reversed(scopes):
            scope.__exit__(None, None, None)
        kg.mark("afterwards")
    return window.trace


def test_a_thousand_levels_of_nesting_are_kept(tmp_path: Path) -> None:
    trace = nest(1000)
    assert names(trace) == [*(f"level {level}" for level in range(1000)), "afterwards"]
    assert trace.columns["parent"].tolist() == [*range(-1, 999), -1]
    assert trace.columns["depth"].tolist() == [*range(1000), 0]
    trace.save(tmp_path / "trace.json")
    assert names(kg.load(tmp_path / "trace.json")) == names(trace)


def test_ten_thousand_levels_keep_the_outer_ones_and_count_the_rest() -> None:
    trace = nest(10_000)
    kept = len(trace) - 1
    assert kept >= 4000
    assert names(trace) == [*(f"level {level}" for level in range(kept)), "afterwards"]
    assert trace.columns["depth"].tolist() == [*range(kept), 0]
    assert notes(trace, "too_deep") == [f"{10_000 - kept} scopes were nested too deeply to be recorded"]
    assert notes(trace, "unbalanced") == []


def test_nesting_too_deeply_does_not_harm_what_comes_after() -> None:
    nest(10_000)
    trace = nest(100)
    assert len(trace) == 101
    assert notes(trace, "too_deep") == []
