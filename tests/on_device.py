"""What the tests on a GPU share: reading traces, and work to be recorded."""

from __future__ import annotations

from typing import Any

import pytest

import kinetograph as kg

BOTH = ["cpu", "cuda"]


def kernels(trace: kg.Trace) -> list[kg.Event]:
    """In the order in which they began."""
    found = [event for event in trace.events if event.category == "kernel"]
    return sorted(found, key=lambda event: event.start_ns)


def notes(trace: kg.Trace) -> str:
    return "\n".join(note.text for note in trace.notes)


def captured_graph(torch: Any, x: Any) -> Any:
    """Five additions."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(5):
            x.add_(1)
    return graph


def torch_where_granted(**options: Any) -> Any:
    """PyTorch, where a profile with these options may be had: counters need a permission."""
    import torch

    x = torch.ones(8, device="cuda")
    torch.cuda.synchronize()
    try:
        with kg.profile(**options):
            x.add_(1)
    except kg.NotAvailable as error:
        pytest.skip(str(error))
    return torch
