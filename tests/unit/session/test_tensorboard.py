"""Files as TensorBoard's plug-in looks for them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import kinetograph as kg


def written(folder: Path, **options: object) -> list[str]:
    handler = kg.tensorboard_trace_handler(folder, **options)  # type: ignore[arg-type]
    with kg.profile(on_trace_ready=handler):
        kg.mark("here")
    return sorted(path.name for path in folder.glob("*"))


def test_the_folder_is_made_and_the_file_named_after_host_and_process(tmp_path: Path) -> None:
    (name,) = written(tmp_path / "a" / "b")
    worker = re.escape(f"{os.uname().nodename}_{os.getpid()}")
    assert re.fullmatch(rf"{worker}\.\d{{19}}\.pt\.trace\.json", name)
    assert [event.name for event in kg.load(tmp_path / "a" / "b" / name).events] == ["here"]


def test_the_worker_can_be_named_and_the_file_compressed(tmp_path: Path) -> None:
    (name,) = written(tmp_path, worker_name="rank 3", use_gzip=True)
    assert re.fullmatch(r"rank 3\.\d{19}\.pt\.trace\.json\.gz", name)
    assert len(kg.load(tmp_path / name)) == 1


def test_each_trace_gets_a_file(tmp_path: Path) -> None:
    handler = kg.tensorboard_trace_handler(tmp_path, "w")
    with kg.profile(schedule=kg.schedule(wait=0, warmup=1, active=1), on_trace_ready=handler) as prof:
        for _ in range(6):
            prof.step()
    assert len(list(tmp_path.glob("w.*"))) == 3


def test_a_folder_that_cannot_be_made_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(kg.KinetographError, match=r"cannot make the folder .*file/below"):
        written(tmp_path / "file" / "below")


@pytest.mark.parametrize("worker_name", ["a/b", "a\0b", 3])
def test_a_worker_that_can_be_no_part_of_a_file_name_is_refused(tmp_path: Path, worker_name: object) -> None:
    with pytest.raises(kg.KinetographError, match="worker_name"):
        kg.tensorboard_trace_handler(tmp_path, worker_name)  # type: ignore[arg-type]
