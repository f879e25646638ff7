"""What the torch tests run, and how they look at it: traces of ours and of torch.profiler, in one form."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import kinetograph as kg

torch: Any
try:
    import torch
except ImportError:
    torch = None

__all__ = [
    "NEWEST",
    "STEPS",
    "Seen",
    "convolution_step",
    "is_counted_by_us",
    "modules_of",
    "of_the_newest",
    "operators_of",
    "ours",
    "relative",
    "residual_epoch",
    "theirs",
    "transformer_step",
]

NEWEST = torch is not None and torch.__version__ >= (2, 13)
of_the_newest = pytest.mark.skipif(not NEWEST, reason="names and defaults are those of PyTorch 2.13")

# Of the JSON only, or ours only; Record function id is 0 in torch's unless an execution trace is taken.
_OTHERS = ("External id", "Ev Idx", "Record function id", "flops", "Record scope", "Sequence number")


class Seen(NamedTuple):
    """An operator: how deep it lies, how it is called, and what was told of it."""

    depth: int
    name: str
    category: str
    args: dict[str, Any]
    sequence: int | None


def is_counted_by_us(operator: str) -> bool:
    """Torch's own profiler has no formula for its FLOPs."""
    return operator.startswith(("aten::convolution", "aten::linear", "aten::_scaled_dot_product_"))


def convolution_step() -> Callable[[], None]:
    """A step of training: convolution, linear layer and loss, forward and backward, and SGD."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(512, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images, labels = torch.randn(4, 3, 8, 8), torch.randint(0, 10, (4,))

    def step() -> None:
        with torch.profiler.record_function("step", "some text"):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()

    step()
    return step


def transformer_step() -> Callable[[], None]:
    """Attention, layer norms, and an optimizer that hands lists of tensors to its operators."""
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    tokens = torch.randn(2, 5, 16)

    def step() -> None:
        optimizer.zero_grad()
        model(tokens).square().mean().backward()
        optimizer.step()

    step()
    return step


STEPS = {"convolution": convolution_step, "transformer": transformer_step}


def ours(step: Callable[[], object], path: Path, **options: Any) -> Any:
    with kg.profile(**options) as profile:
        step()
        step()
    profile.export_chrome_trace(str(path))
    _end_of_loaders()
    return profile


def theirs(step: Callable[[], object], path: Path, **options: Any) -> Any:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options) as profile:
        step()
        step()
    profile.export_chrome_trace(str(path))
    _end_of_loaders()
    return profile


def _end_of_loaders() -> None:
    for thread in threading.enumerate():
        if thread.name == "QueueFeederThread":  # of queues that are closed
            thread.join()


def relative(seen: list[Seen]) -> list[Seen]:
    """Sequence numbers go on from one session to the next."""
    first = min((op.sequence for op in seen if op.sequence is not None), default=0)
    return [op._replace(sequence=None if op.sequence is None else op.sequence - first) for op in seen]


def residual_epoch() -> Callable[[], None]:
    """A small ResNet, with batches that a process loads (two would come in any order), and Adam."""
    torch.manual_seed(0)
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.convolutions = nn.Sequential(
                nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)
            )
            self.activation = nn.ReLU()

        def forward(self, images: Any) -> Any:
            return self.activation(images + self.convolutions(images))

    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), Block(), Block(), head)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.randn(8, 3, 8, 8), torch.randint(0, 10, (8,)))

    def epoch() -> None:
        for images, labels in torch.utils.data.DataLoader(data, batch_size=4, num_workers=1):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()

    epoch()
    return epoch


def modules_of(path: Path) -> list[list[tuple[int, str, int | None]]]:
    """Of each thread, in order: modules and the operators in them, by depth, name and number."""
    events = json.loads(path.read_text())["traceEvents"]
    spans = [
        e for e in events if e.get("ph") == "X" and (e.get("cat") == "cpu_op" or "nn.Module" in e["name"])
    ]
    threads = [tid for tid, _count in Counter(span["tid"] for span in spans).most_common()]
    return [
        [(seen.depth, seen.name, seen.args.get("Python module id")) for seen in nested]
        for nested in (_nested([span for span in spans if span["tid"] == tid]) for tid in threads)
    ]


def operators_of(path: Path) -> list[list[Seen]]:
    """Of each thread, in the order of the trace; the busiest thread first."""
    events = json.loads(path.read_text())["traceEvents"]
    spans = [e for e in events if e.get("ph") == "X" and e.get("cat") in ("cpu_op", "user_annotation")]
    threads = [tid for tid, _count in Counter(span["tid"] for span in spans).most_common()]
    return [list(_nested([span for span in spans if span["tid"] == tid])) for tid in threads]


def _nested(spans: list[dict[str, Any]]) -> Iterator[Seen]:
    open_until: list[float] = []
    for span in sorted(spans, key=lambda span: (span["ts"], -span["dur"])):
        while open_until and open_until[-1] <= span["ts"]:
            open_until.pop()
        told = {key: value for key, value in span["args"].items() if key not in _OTHERS}
        yield Seen(len(open_until), span["name"], span["cat"], told, span["args"].get("Sequence number"))
        open_until.append(span["ts"] + span["dur"])
