"""Kernels with records, compiled by Numba for GPUs that are not here."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from cuda_compilers import tool

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
    pytest.importorskip("numba_cuda")
    return import_module("numba_kernels")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], str]:
    """PTX of a kernel of the signature of `steps`. Device functions ask for a device that is there."""
    from numba.cuda import compile_ptx, dispatcher, types

    device = SimpleNamespace(compute_capability=(9, 0))
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: device)
    floats = types.float32[::1]
    signature = (types.int64[::1], floats, floats, types.int32)
    return lambda kernel: compile_ptx(kernel, signature, cc=(9, 0))[0]


def body(text: str) -> list[str]:
    """The instructions of the only kernel, whatever it is called."""
    return [re.sub(r"_ZN\w+", "", line).strip() for line in text[text.index(".entry") :].splitlines()[1:]]


def test_a_profiler_that_is_off_leaves_the_kernel_as_it_was(
    kernels: ModuleType, compiled: Callable[[Any], str]
) -> None:
    assert body(compiled(kernels.steps_of(is_on=False))) == body(compiled(kernels.plain_steps))


def test_records_are_in_the_kernel_itself_predicated_and_without_fences(
    kernels: ModuleType, compiled: Callable[[Any], str]
) -> None:
    text = compiled(kernels.steps_of(is_on=True))
    stores = Counter(re.findall(r"@leads (st\.\S+)", text))
    # The loop is unrolled: a start of the whole and of three steps, two marks, four ends and six payloads.
    assert stores == {"st.global.v4.u32": 6, "st.global.v2.u32": 4, "st.volatile.global.v4.u32": 6}
    assert "call" not in text
    assert "membar" not in text
    assert "fence" not in text


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_what_numba_makes_is_machine_code(
    kernels: ModuleType, compiled: Callable[[Any], str], capability: int, tmp_path: Path
) -> None:
    source = tmp_path / "steps.ptx"
    source.write_text(compiled(kernels.steps_of(is_on=True)).replace("sm_90", "sm_80"))
    command = [tool("ptxas"), f"-arch=sm_{capability}", source, "-o", tmp_path / "steps.cubin"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
