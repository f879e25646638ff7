"""Kernels with records, compiled by Numba for GPUs that are not here."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cuda_compilers import tool
from emulated_run import ELSEWHERE, EmulatedRun
from recorded_events import NAMES, told, told_by_steps

from kinetograph.errors import NotAvailable
from kinetograph.intra_kernel import numba as front_end


@pytest.mark.skipif(find_spec("numba") is not None, reason="Numba is installed")
def test_without_numba_its_names_say_what_is_missing() -> None:
    with pytest.raises(NotAvailable, match="needs Numba"):
        from kinetograph.intra_kernel.numba import record  # noqa: F401


def test_names_of_the_host_need_no_numba() -> None:
    for name in set(front_end.__all__) - {"create_profiler", "mark", "record"}:
        assert callable(getattr(front_end, name))
    assert not hasattr(front_end, "no_such_name")


@pytest.fixture(scope="module")
def kernels() -> ModuleType:
    pytest.importorskip("numba")
    return import_module("numba_kernels")


def compiled(kernel: Any) -> str:
    """PTX of a kernel of the signature of `steps`."""
    from numba import cuda, types

    floats = types.float32[::1]
    text, _returned = cuda.compile_ptx(kernel, (types.int64[::1], floats, floats, types.int32), cc=(8, 0))
    return str(text)


def body(text: str) -> list[str]:
    """The instructions of the only kernel, whatever it is called."""
    return [re.sub(r"_ZN\w+", "", line).strip() for line in text[text.index(".entry") :].splitlines()[1:]]


def test_a_profiler_that_is_off_leaves_the_kernel_as_it_was(kernels: ModuleType) -> None:
    assert body(compiled(kernels.steps_of(is_on=False))) == body(compiled(kernels.plain_steps))


def test_records_are_in_the_kernel_itself_predicated_and_without_fences(kernels: ModuleType) -> None:
    text = compiled(kernels.steps_of(is_on=True))
    stores = Counter(re.findall(r"@leads (st\.\S+)", text))
    # The loop is unrolled: a start of the whole and of three steps, two marks, four ends and six payloads.
    assert stores == {"st.global.v4.u32": 6, "st.global.v2.u32": 4, "st.volatile.global.v4.u32": 6}
    assert not re.search(r"\b(bra|call|membar|fence)\b", text)


def test_a_kernel_records_what_the_same_one_does_in_cuda(kernels: ModuleType) -> None:
    text = compiled(kernels.steps_of(is_on=True))
    [name] = re.findall(r"\.entry (\w+)", text)
    arrays = [field for data in (None, ELSEWHERE, ELSEWHERE) for field in (0, 0, 32, 8, data, 32, 8)]
    run = EmulatedRun(text, 32, name, *arrays, 0)
    assert run.stores_outside() == []
    assert told(run.trace(NAMES)) == told_by_steps(blocks=1, threads=32)


def test_groups_of_threads_have_rows_of_their_own(kernels: ModuleType) -> None:
    text = compiled(kernels.warps)
    assert len(re.findall(r"@leads (st\.\S+)", text)) == 3
    assert "%laneid" in text


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_what_numba_makes_is_machine_code(kernels: ModuleType, capability: int, tmp_path: Path) -> None:
    source = tmp_path / "steps.ptx"
    source.write_text(compiled(kernels.steps_of(is_on=True)))
    command = [tool("ptxas"), f"-arch=sm_{capability}", source, "-o", tmp_path / "steps.cubin"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
