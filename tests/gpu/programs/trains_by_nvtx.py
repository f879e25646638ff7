"""A step of training, recorded by us and by torch's profiler: arguments are a folder, and a device."""

from __future__ import annotations

import sys
from pathlib import Path

import kinetograph as kg

kg.nvtx.install()

import torch  # noqa: E402

folder, device = Path(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(512, 10)
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
images = torch.randn(4, 3, 8, 8, device=device)
labels = torch.randint(0, 10, (4,), device=device)


def step() -> None:
    with torch.profiler.record_function("step"):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    if device == "cuda":
        torch.cuda.synchronize()


step()
step()
with kg.profile(activities=["cpu", "cuda"] if device == "cuda" else ["cpu"]) as ours:
    step()
ours.export_chrome_trace(str(folder / "ours.json"))
assert not torch._C._autograd._profiler_enabled()
assert not torch.autograd.profiler._is_profiler_enabled
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
    step()
theirs.export_chrome_trace(str(folder / "theirs.json"))
if device == "cuda":
    torch.cuda.synchronize()  # or torch, with TEARDOWN_CUPTI=1, waits at its end for a call that never comes
