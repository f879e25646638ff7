"""Settings reach the processes of a run as they were given."""

from __future__ import annotations

import pytest

import kinetograph as kg
from kinetograph.run.settings import RunSettings


def test_settings_come_back_from_their_file_as_they_were() -> None:
    settings = RunSettings(("CPU",), ring_seconds=2.5, exclude=("a", "b"), memory_limit_bytes=1 << 20)
    assert RunSettings.from_json(settings.to_json()) == settings


def test_a_process_of_a_run_records_into_a_file_of_its_directory() -> None:
    recording = RunSettings(ring_seconds=2.5).config("/somewhere").recording
    assert (recording.crash_safe, recording.directory, recording.mode) == (True, "/somewhere", "ring")
    assert not RunSettings().config().recording.crash_safe


def test_options_of_profile_are_passed_on() -> None:
    assert RunSettings(report_input_shapes=True).config().report_input_shapes


@pytest.mark.skipif("calls" in kg.ProfilerConfig.defaults, reason="Python calls can be recorded here")
def test_asking_for_calls_says_that_they_are_not_here_yet() -> None:
    with pytest.raises(kg.NotAvailable, match="max_depth"):
        RunSettings(max_depth=3).config()
