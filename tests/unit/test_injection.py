"""Who is told of annotations, and what a trace says of those it lacks."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.libraries import needs

import kinetograph as kg
from kinetograph import _native, injection

LATE = """
import nvtx
{first}
import kinetograph as kg
from kinetograph import injection
{install}
with kg.profile() as p:
    with nvtx.annotate("range", domain="mine"):
        pass
print([event.name for event in p.trace.events if event.category == "mine"])
print(*(note.text for note in p.trace.notes if note.kind == "annotations"))
"""
OURS = """
import kinetograph as kg
{first}
with kg.profile() as p:
    with kg.{ours}.range("ours", domain="mine"):
        pass
for note in p.trace.notes:
    if note.kind == "annotations":
        print(note.text)
"""
INSTALL = "injection.install(injection.NVTX)"


@pytest.fixture(params=[injection.NVTX, injection.ITT], ids=lambda interface: interface.name)
def interface(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> injection.Interface:
    chosen: injection.Interface = request.param
    monkeypatch.setenv(chosen.variable, "")
    monkeypatch.setattr(injection, "_early", {})
    return chosen


def notes_on(interface: injection.Interface) -> list[str]:
    """Whatever tests before this one have annotated by the other."""
    return [note for note in injection.missed(_native.own_annotations()) if note.startswith(interface.name)]


def said(first: str, install: str) -> list[str]:
    return printed_by(LATE.format(first=first, install=install))


def test_installing_names_our_library_and_twice_is_once(interface: injection.Interface) -> None:
    assert not injection.is_installed(interface)
    injection.install(interface)
    injection.install(interface)
    assert injection.is_installed(interface)
    assert injection.owner(interface) == injection.library()


def test_another_tool_keeps_its_place(
    interface: injection.Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = _native.__file__  # a library; nobody loads it here
    monkeypatch.setenv(interface.variable, tool)
    with pytest.raises(kg.NotAvailable, match=rf"go to {tool}, which {interface.variable} names"):
        injection.install(interface)
    assert notes_on(interface) == [
        f"{interface.name} annotations went to {tool}, which {interface.variable} names"
    ]
    assert interface.variable not in injection.run_variables({interface.variable: tool})


def test_a_tool_that_is_not_there_gets_nothing(
    interface: injection.Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(interface.variable, "/another/tool.so")
    nowhere = f"nowhere: {interface.variable} names /another/tool.so, which does not exist"
    with pytest.raises(kg.NotAvailable, match=f"{interface.name} annotations go {nowhere}"):
        injection.install(interface)
    assert notes_on(interface) == [f"{interface.name} annotations went {nowhere}"]
    (feature,) = (feature for feature in kg.features() if feature.name == interface.name.lower())
    assert (feature.is_available, feature.detail) == (False, "/another/tool.so does not exist")
    assert interface.variable in feature.hint


@needs("nvtx")
def test_a_library_that_asked_too_early_is_named() -> None:
    names, note = said('nvtx.mark("first")', INSTALL)
    assert names == "[]"
    assert note == "NVTX annotations of nvtx may be missing: loaded before kg.nvtx.install()"


@needs("nvtx")
def test_a_library_that_was_loaded_and_had_not_asked_is_heard_without_a_note() -> None:
    assert said("", INSTALL) == ["['range']", ""]


@needs("nvtx")
def test_without_installing_the_note_says_how() -> None:
    names, note = said("", "")
    assert names == "[]"
    assert note.startswith("NVTX annotations of nvtx are not recorded: call kg.nvtx.install() before")


@pytest.mark.parametrize("ours", ["nvtx", "itt"])
def test_our_own_ranges_that_nobody_takes_are_named(ours: str) -> None:
    assert noted_of_ours(ours, "") == [
        f"{ours.upper()} annotations of kg.{ours} are not recorded: "
        f"call kg.{ours}.install() before the first of them, or use kinetograph run"
    ]


@pytest.mark.parametrize("ours", ["nvtx", "itt"])
def test_our_own_ranges_are_named_if_the_first_came_before_installing(ours: str) -> None:
    late = f"kg.{ours}.mark('first'); kg.{ours}.install()"
    assert noted_of_ours(ours, late) == [
        f"{ours.upper()} annotations of kg.{ours} may be missing: loaded before kg.{ours}.install()"
    ]


@pytest.mark.parametrize(
    ("ours", "question"),
    [
        ("nvtx", "kg.nvtx.is_listening()"),
        ("nvtx", "kg.nvtx.domain('mine')"),
        ("nvtx", "kg.nvtx.name_thread('mine')"),
        ("itt", "kg.itt.is_listening()"),
        ("itt", "kg.itt.string_handle('text')"),
        ("itt", "kg.itt.pause()"),
    ],
)
def test_our_own_ranges_are_named_if_a_question_came_before_installing(ours: str, question: str) -> None:
    assert noted_of_ours(ours, f"{question}; kg.{ours}.install()") == [
        f"{ours.upper()} annotations of kg.{ours} may be missing: loaded before kg.{ours}.install()"
    ]


@pytest.mark.parametrize("ours", ["nvtx", "itt"])
def test_our_own_ranges_that_are_heard_need_no_note_where_we_are_installed_again(ours: str) -> None:
    variable = {"nvtx": injection.NVTX, "itt": injection.ITT}[ours].variable
    again = f"import os; del os.environ['{variable}']; kg.{ours}.install()"
    assert noted_of_ours(ours, f"kg.{ours}.install(); kg.{ours}.mark('first'); {again}") == []


@pytest.mark.parametrize("ours", ["nvtx", "itt"])
def test_our_own_ranges_are_named_if_the_variable_was_gone_before_the_first(ours: str) -> None:
    variable = {"nvtx": injection.NVTX, "itt": injection.ITT}[ours].variable
    gone = f"kg.{ours}.install(); import os; del os.environ['{variable}']"
    assert noted_of_ours(ours, gone) == [
        f"{ours.upper()} annotations of kg.{ours} are not recorded: "
        f"{variable} was taken out of the environment before the first of them"
    ]
    assert noted_of_ours(ours, f"kg.{ours}.install(); kg.{ours}.mark('first'); {gone}") == []


@pytest.mark.parametrize("ours", ["nvtx", "itt"])
def test_our_own_ranges_before_a_session_need_no_note(ours: str) -> None:
    program = f"import kinetograph as kg\nkg.{ours}.mark('first')\nwith kg.profile() as p: pass\n"
    assert printed_by(program + "print([note.kind for note in p.trace.notes])") == ["['clock', 'cost']"]


@pytest.mark.parametrize("ours", ["nvtx", "itt"])
def test_our_own_ranges_that_are_recorded_need_no_note(ours: str) -> None:
    assert noted_of_ours(ours, f"kg.{ours}.install()") == []


def noted_of_ours(ours: str, first: str) -> list[str]:
    return printed_by(OURS.format(ours=ours, first=first))


def printed_by(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
