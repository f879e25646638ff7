"""These need an NVIDIA GPU and PyTorch for it: `make gpu-test`. Elsewhere they are skipped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def _why_not() -> str | None:
    if not Path("/proc/driver/nvidia/version").exists():
        return "no NVIDIA driver"
    # Or torch before 2.12 keeps CUPTI from its first profile on, and nobody else can record.
    os.environ.setdefault("TEARDOWN_CUPTI", "1")
    try:
        import torch
    except ImportError:
        return "no torch"
    return None if torch.cuda.is_available() else "torch finds no CUDA"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in Path(item.path).parents]
    reason = _why_not() if ours else None
    for item in ours:
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def torch() -> Any:
    """With a context, and nothing of the GPU's still to be done."""
    import torch

    torch.zeros(64, device="cuda").add_(1)
    torch.cuda.synchronize()
    return torch
