"""What the torch tests run, and how they look at it: traces of ours and of torch.profiler, in one form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

torch: Any
try:
    import torch
except ImportError:
    torch = None

__all__ = ["Seen", "convolution_step", "operators_of", "transformer_step"]

# Of the JSON only, or ours only; Record function id is 0 in torch's unless an execution trace is taken.
_OTHERS = ("External id", "Ev Idx", "Record function id", "flops", "Record scope", "Sequence number")


class Seen(NamedTuple):
    """An operator: how deep it lies, how it is called, and what was told of it."""

    depth: int
    name: str
    category: str
    args: dict[str, Any]
    sequence: int | None


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
